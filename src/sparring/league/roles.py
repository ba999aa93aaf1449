"""The roles of a league of several learners (AlphaStar, Nature 575:350), written down as data.

Main agents shall beat everybody, main exploiters find weaknesses of the main agents, league exploiters those of the
whole league. Where the paper says nothing, the pseudocode published with it fills in; comments say where. In a league
of another kind, PSRO (arXiv:1711.00832), all are oracles: each learns a response to the meta-strategy over the past.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.schedules import Schedule
from sparring.core.sizes import LARGEST, MANY
from sparring.league.gates import NO_GATE, GateConfig
from sparring.league.meta_game import MetaSolver
from sparring.league.role import Among, Below, Branch, ResetRule, Role, SnapshotRule

RoleName = Literal["main", "main_exploiter", "league_exploiter", "oracle"]
Judge = Literal["rate", "bound"]
PATIENCE = {"main": 1, "main_exploiter": 2, "league_exploiter": 1, "oracle": 1}
"""Learner steps after which a copy is due in any case, in units of role_steps (the paper: 2, 4 and 2 billion)."""


@dataclass(frozen=True, kw_only=True)
class RolesConfig:
    mains: int = setting(0, least=0, most=MANY)
    """Learners that shall beat everybody; 0: no league of roles. AlphaStar: 1 for each race."""
    main_exploiters: int = setting(0, least=0, most=MANY)
    """Learners that look for weaknesses of the mains. AlphaStar: 1 for each main."""
    league_exploiters: int = setting(0, least=0, most=MANY)
    """Learners that look for weaknesses of the whole league. AlphaStar: 2 for each main."""
    role_steps: int = setting(0, least=0, most=LARGEST**2)
    """A learner's steps between two copies of a main or oracle; 0: a tenth of the run. Main exploiters: up to twice."""
    main_rule: Literal["shares", "elo_gaussian"] = "shares"
    """Mains: whom they meet: by the shares below, or anybody of the league, present or past, of a similar rating."""
    league_self_play: float = setting(0.35, least=0, most=1)
    """Mains: share of games against the current mains, themselves included."""
    league_pfsp: float = setting(0.5, least=0, most=1)
    """Mains: share against all past players; what is left goes to forgotten ones and strong exploiters."""
    struggling_below: float = setting(0.3, least=0, most=1)
    """Mains: at this rate or less against another main, meet its past instead."""
    exploiters_below: float = setting(0.3, least=0, most=1)
    """Mains: past main exploiters are strong when the rate against one is below this."""
    forgotten_below: float = setting(0.7, least=0, most=1)
    """Mains: past mains are forgotten when the rate against one is below this and a later one is easier."""
    exploiter_floor: float = setting(0.2, least=0, most=1)
    """Main exploiters: below this rate against a main, its past is met as well."""
    exploiter_share: float = setting(0.5, least=0, most=1)
    """Main exploiters: share of its past then."""
    beaten_above: float = setting(0.7, least=0, most=1)
    """Exploiters are done when their rate against everyone they are after is above this."""
    reset_share: float = setting(0.25, least=0, most=1)
    """League exploiters: how likely one that is done starts over; main exploiters always do."""
    reset_to: Literal["origin", "past_main"] = "origin"
    """Exploiters start over as they once began, or with the weights of a past main, drawn at random."""
    league_rule: Literal["pfsp_hard", "pfsp_capped"] = "pfsp_hard"
    """League exploiters: how past players are drawn."""
    judge: Judge = "rate"
    """What must pass these marks: the rate (AlphaStar; a few lucky games suffice), or an estimated bound of it."""
    oracles: int = setting(0, least=0, most=MANY)
    """PSRO: learners that each respond to the meta-strategy over past players, join them and start over; 0: none."""
    meta: MetaSolver = "nash"
    """PSRO: how the meta-strategy follows from games between past players."""
    meta_games: int = setting(1024, least=2)
    """PSRO: games of each pair of past players, half from each side."""

    @property
    def active(self) -> bool:
        """Whether there is a league of roles at all."""
        return self.mains > 0 or self.oracles > 0


def check_roles(config: RolesConfig) -> None:
    """Settings that need or exclude each other."""
    total = config.league_self_play + config.league_pfsp
    if total > 1:
        raise ConfigError(f"league_self_play and league_pfsp come to {total:g}, more than all. Lower them.")
    others = config.mains + config.main_exploiters + config.league_exploiters
    if config.oracles and others:
        raise ConfigError(
            f"A league has mains and exploiters, or oracles (PSRO), found oracles={config.oracles} beside {others} "
            "others. Leave one kind out."
        )
    if config.meta_games % 2:
        raise ConfigError(f"meta_games must be even, half from each side, found {config.meta_games}.")
    if not config.mains and (config.main_exploiters or config.league_exploiters):
        raise ConfigError("main_exploiters and league_exploiters need somebody to exploit, found mains=0. Raise it.")


def roles(config: RolesConfig) -> tuple[RoleName, ...]:
    """Of all learners, in their order."""
    return (
        *("main" for _ in range(config.mains)),
        *("main_exploiter" for _ in range(config.main_exploiters)),
        *("league_exploiter" for _ in range(config.league_exploiters)),
        *("oracle" for _ in range(config.oracles)),
    )


def role_names(config: RolesConfig) -> tuple[str, ...]:
    """Of the learners, numbered where a role has several; none where there are no roles."""
    found = roles(config)
    return tuple(
        role + (f"_{found[:place].count(role)}" if found.count(role) > 1 else "") for place, role in enumerate(found)
    )


def base_steps(config: RolesConfig, total_steps: int) -> int:
    """Steps between two copies of a main or an oracle; `total_steps` are those of one learner."""
    return config.role_steps or max(1, total_steps // 10)


def role_of(name: RoleName, config: RolesConfig, *, every: int, gate: GateConfig = NO_GATE) -> Role:
    """A role of the config; `every` are the steps of the run between two copies of a main."""
    branches = {
        "main": main_branches, "main_exploiter": main_exploiter_branches,
        "league_exploiter": league_exploiter_branches, "oracle": oracle_branches,
    }[name](config)  # fmt: skip
    prey = {"main_exploiter": MAINS, "league_exploiter": PAST}.get(name)
    chance = {"main": 0.0, "league_exploiter": config.reset_share}.get(name, 1.0)
    to = "none" if name == "main" else "origin" if name == "oracle" else config.reset_to
    return Role(
        name,
        branches,
        SnapshotRule(
            every=every * PATIENCE[name], beats=prey, above=config.beaten_above,
            gate=gate if name == "main" else NO_GATE, from_birth=name in ("main", "oracle"),
        ),
        ResetRule(to, chance),
        config.judge,
    )  # fmt: skip


PAST = Among(("past", "guest"))
MAINS = Among(("learner",), role="main")
TARGET = Among(("learner",), whose="target")
VERSIONS = Among(("past",), whose="target")
ALONE = Branch("alone", Among(("learner",), whose="own"))
"""There was nobody to draw, so the learner meets itself."""


share = Schedule.parse


def main_branches(config: RolesConfig) -> tuple[Branch, ...]:
    if config.main_rule == "elo_gaussian":
        return (Branch("rated", Among(("learner", "past", "guest")), draw="elo_gaussian"),)
    # The current main, or its past while that main is too strong; the paper gives no mark, the pseudocode does.
    struggling = Below(config.struggling_below, Among(("learner",), whose="target", others=True), or_equal=True)
    easier = Branch("history", VERSIONS, draw="pfsp_var", otherwise=Branch("self-play", TARGET))
    rest = 1.0 - (config.league_self_play + config.league_pfsp)

    def self_play(part: float) -> Branch:
        return Branch("self-play", TARGET, share(part), unless=struggling, otherwise=easier, target="main")

    # The paper names forgotten mains and past main exploiters in one breath. The order, the marks and the draw of one
    # main, whose versions may be forgotten and with whom self-play takes over, are the pseudocode's.
    forgotten = Branch(
        "forgotten", Among(("past",), whose="target", forgotten=True), draw="pfsp_hard",
        when=Below(config.forgotten_below), otherwise=self_play(1.0),
    )  # fmt: skip
    return (
        self_play(config.league_self_play),
        Branch("pfsp", PAST, share(config.league_pfsp), "pfsp_hard", otherwise=ALONE),
        Branch(
            "exploiter", Among(("past",), role="main_exploiter"), share(max(0.0, rest)), "pfsp_hard",
            when=Below(config.exploiters_below), otherwise=forgotten, target="main",
        ),
    )  # fmt: skip


def main_exploiter_branches(config: RolesConfig) -> tuple[Branch, ...]:
    # The paper sends the past half of the time and below a rate of 20 %, which may mean "and" or "or". We take both at
    # once; exploiter_share=1 leaves out the half, exploiter_floor=1 the rate. Without a past, the main itself is met.
    main = Branch("main", TARGET, share(1.0 - config.exploiter_share), target="main")
    losing = Below(config.exploiter_floor, TARGET)
    past = Branch(
        "history", VERSIONS, share(config.exploiter_share), "pfsp_var", when=losing, otherwise=main, target="main"
    )
    return (past, main)


def league_exploiter_branches(config: RolesConfig) -> tuple[Branch, ...]:
    return (Branch("pfsp", PAST, draw=config.league_rule, otherwise=ALONE),)


def oracle_branches(_: RolesConfig) -> tuple[Branch, ...]:
    """Past players by their weights in the meta-strategy; all alike while it is not known."""
    return (Branch("meta", PAST, draw="meta", otherwise=ALONE),)
