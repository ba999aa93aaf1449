"""Roles in a league of several learners (AlphaStar, Nature 575:350): who meets whom, is copied, or begins anew.

Main agents shall beat everybody, main exploiters find weaknesses of the main agents, league exploiters those of the
whole league. Where the paper says nothing, the pseudocode published with it fills in; comments say where. In a league
of another kind, PSRO (arXiv:1711.00832), all are oracles: each learns a response to the meta-strategy over the past.
Decisions only: no state, no weights. All chance comes in as numbers of [0, 1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple

import numpy as np

from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.sizes import LARGEST, MANY
from sparring.league.config import OpponentsConfig
from sparring.league.meta_game import MetaSolver
from sparring.league.player import Player
from sparring.league.sampling import Field, pick, probabilities, weights
from sparring.statistics.intervals import Interval

Role = Literal["main", "main_exploiter", "league_exploiter", "oracle"]
Judge = Literal["rate", "bound"]
Branch = Literal["rated", "self-play", "pfsp", "exploiter", "forgotten", "history", "main", "meta", "alone"]
"""Why an opponent was chosen; `alone`: there was nobody to draw, so the learner meets itself."""

PAPER = OpponentsConfig()
"""Its pfsp_power is the paper's."""
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
    """League exploiters: how likely one that is done begins anew; main exploiters always do."""
    league_rule: Literal["pfsp_hard", "pfsp_capped"] = "pfsp_hard"
    """League exploiters: how past players are drawn."""
    judge: Judge = "rate"
    """What must pass these marks: the rate (AlphaStar; a few lucky games suffice), or a bound of its interval."""
    oracles: int = setting(0, least=0, most=MANY)
    """PSRO: learners that each respond to the meta-strategy over past players, join them and begin anew; 0: none."""
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


def roles(config: RolesConfig) -> tuple[Role, ...]:
    """Of all learners, in their order."""
    return (
        *("main" for _ in range(config.mains)),
        *("main_exploiter" for _ in range(config.main_exploiters)),
        *("league_exploiter" for _ in range(config.league_exploiters)),
        *("oracle" for _ in range(config.oracles)),
    )


def role_of(config: RolesConfig, learner: int) -> Role:
    return roles(config)[learner]


def base_steps(config: RolesConfig, total_steps: int) -> int:
    """Steps between two copies of a main or an oracle; `total_steps` are those of one learner."""
    return config.role_steps or max(1, total_steps // 10)


class Rival(NamedTuple):
    """Another player as one learner knows it."""

    player: Player
    rate: float
    """The learner's rate against it, old games counting less; one half where unknown."""
    interval: Interval | None = None
    """Of that rate; None where rates decide: a league knows thousands of pairs."""
    rating: float = 0.0
    """Above the learner's own."""
    weight: float = 0.0
    """Of a past player in the meta-strategy of PSRO."""


class View(NamedTuple):
    """What one learner can see when it is given an opponent."""

    me: int
    """Its id as a player."""
    role: Role
    live: tuple[Rival, ...]
    """All learners of the league with their roles, itself included."""
    past: tuple[Rival, ...]
    """Frozen players, the oldest first; `parent` and `role` of a past self say whose copy it is."""


class Chosen(NamedTuple):
    player: int
    probability: float
    """Of this player by this branch, among all that could have been chosen."""
    branch: Branch


class Verdict(NamedTuple):
    snapshot: bool
    reset: bool
    """Only ever with a snapshot."""
    why: Literal["", "beat all", "steps"]

    @property
    def deeds(self) -> tuple[str, ...]:
        """In the order in which they must be carried out: a reset that came first would copy untrained weights."""
        return ("snapshot",) * self.snapshot + ("reset",) * self.reset


def choose(
    view: View, config: RolesConfig, number_B: np.ndarray, opponents: OpponentsConfig = PAPER
) -> tuple[Chosen, ...]:
    """An opponent for each of the learner's B blocks."""
    table = prospects(view, config, opponents)
    place_B = pick(np.array([chosen.probability for chosen in table]), np.asarray(number_B))
    return tuple(table[place] for place in place_B.tolist())


def prospects(view: View, config: RolesConfig, opponents: OpponentsConfig = PAPER) -> tuple[Chosen, ...]:
    """All that can be chosen, each player once in each branch, with probabilities of sum 1."""
    ways = {
        "main": _of_main, "main_exploiter": _of_main_exploiter, "league_exploiter": _of_league_exploiter,
        "oracle": _of_oracle,
    }  # fmt: skip
    total: dict[tuple[int, Branch], float] = defaultdict(float)
    for player, probability, branch in ways[view.role](view, config, opponents):
        total[player, branch] += probability
    return tuple(Chosen(player, share, branch) for (player, branch), share in total.items() if share > 0)


def verdict(view: View, config: RolesConfig, *, steps: int, base: int, number: float) -> Verdict:
    """Whether the learner is copied into the league now, and begins anew after that.

    `steps` are those since its last copy, `base` comes from `base_steps`.
    """
    late = steps >= base * PATIENCE[view.role]
    if view.role == "main":
        return Verdict(late, False, "steps" if late else "")
    if view.role == "oracle":  # the next one responds to another meta-strategy
        return Verdict(late, late, "steps" if late else "")
    prey = _mains(view) if view.role == "main_exploiter" else view.past
    # Nobody to beat is no victory: otherwise an empty league would be filled with untrained copies.
    victory = bool(prey) and all(_bounds(rival, config.judge)[0] > config.beaten_above for rival in prey)
    anew = 1.0 if view.role == "main_exploiter" else config.reset_share
    done = victory or late
    return Verdict(done, done and number < anew, "beat all" if victory else "steps" if late else "")


def forgotten(versions: Sequence[Rival]) -> tuple[Rival, ...]:
    """Of one main's versions, the oldest first, those before the last one that is easier than its predecessor.

    Newer versions are normally harder, so the longest suffix on which the rate never rises is as it should be and is
    stripped. (The pseudocode also keeps the easier version itself. The least rate, which is compared with the mark, is
    the same.) Rates decide here whatever the judge: this is an order, not a mark.
    """
    rises = np.flatnonzero(np.diff(_rates(versions)) > 0)
    return tuple(versions[: rises[-1] + 1]) if len(rises) else ()


def _of_main(view: View, config: RolesConfig, opponents: OpponentsConfig) -> list[Chosen]:
    if config.main_rule == "elo_gaussian":
        return _spread((*view.live, *view.past), "elo_gaussian", 1.0, "rated", opponents)
    mains, rest = _mains(view), 1.0 - (config.league_self_play + config.league_pfsp)
    rows = [row for main in mains for row in _self_play(view, main, config, config.league_self_play / len(mains))]
    rows += _spread(view.past, "pfsp_hard", config.league_pfsp, "pfsp", opponents) or _alone(view, config.league_pfsp)
    # The paper names forgotten mains and past main exploiters in one breath. The order, the marks and the draw of one
    # main, whose versions may be forgotten and with whom self-play takes over, are the pseudocode's.
    exploiters = [rival for rival in view.past if rival.player.role == "main_exploiter"]
    for main in mains:
        share, old = rest / len(mains), forgotten(_versions(view, main))
        if _any_below(exploiters, config.exploiters_below, config.judge):
            rows += _spread(exploiters, "pfsp_hard", share, "exploiter", opponents)
        elif _any_below(old, config.forgotten_below, config.judge):
            rows += _spread(old, "pfsp_hard", share, "forgotten", opponents)
        else:
            rows += _self_play(view, main, config, share)
    return rows


def _of_main_exploiter(view: View, config: RolesConfig, _: OpponentsConfig) -> list[Chosen]:
    # The paper sends the past half of the time and below a rate of 20 %, which may mean "and" or "or". We take both at
    # once; exploiter_share=1 leaves out the half, exploiter_floor=1 the rate. Without a past, the main itself is met.
    rows, mains = [], _mains(view)
    for main in mains:
        losing = _bounds(main, config.judge)[1] < config.exploiter_floor
        versions = _versions(view, main) if losing else ()
        past = config.exploiter_share if versions else 0.0
        rows += _spread(versions, "pfsp_var", past / len(mains), "history")
        rows.append(Chosen(main.player.id, (1.0 - past) / len(mains), "main"))
    return rows


def _of_league_exploiter(view: View, config: RolesConfig, opponents: OpponentsConfig) -> list[Chosen]:
    return _spread(view.past, config.league_rule, 1.0, "pfsp", opponents) or _alone(view, 1.0)


def _of_oracle(view: View, *_: object) -> list[Chosen]:
    """Past players by their weights in the meta-strategy; all alike while it is not known."""
    chance_M = probabilities(np.array([rival.weight for rival in view.past]))
    met = [Chosen(rival.player.id, float(p), "meta") for rival, p in zip(view.past, chance_M, strict=True)]
    return met or _alone(view, 1.0)


def _self_play(view: View, main: Rival, config: RolesConfig, share: float) -> list[Chosen]:
    """The current main, or its past while that main is too strong; the paper gives no mark, the pseudocode does."""
    struggling = main.player.id != view.me and _bounds(main, config.judge)[1] <= config.struggling_below
    easier = _spread(_versions(view, main), "pfsp_var", share, "history") if struggling else []
    return easier or [Chosen(main.player.id, share, "self-play")]


def _alone(view: View, share: float) -> list[Chosen]:
    return [Chosen(view.me, share, "alone")]


def _spread(
    rivals: Sequence[Rival], rule: str, share: float, branch: Branch, opponents: OpponentsConfig = PAPER
) -> list[Chosen]:
    """A share, spread over players by a rule of sampling; nothing where there are none."""
    none_M = np.zeros(len(rivals))
    rating_M = np.array([rival.rating for rival in rivals])
    known = Field(np.arange(len(rivals)), _rates(rivals), rating_M, 0.0, none_M, None)
    chance_M = share * probabilities(weights(rule, known, opponents))
    return [Chosen(rival.player.id, float(chance), branch) for rival, chance in zip(rivals, chance_M, strict=True)]


def _mains(view: View) -> tuple[Rival, ...]:
    return tuple(rival for rival in view.live if rival.player.role == "main")


def _versions(view: View, main: Rival) -> tuple[Rival, ...]:
    """Past selves of a main. Bots and guests are nobody's copy, whatever parent they carry by default."""
    return tuple(rival for rival in view.past if rival.player.kind == "past" and rival.player.parent == main.player.id)


def _rate(rival: Rival) -> float:
    return min(max(rival.rate, 0.0), 1.0) if isfinite(rival.rate) else 0.5


def _rates(rivals: Sequence[Rival]) -> np.ndarray:
    return np.array([_rate(rival) for rival in rivals], np.float64)


def _bounds(rival: Rival, judge: Judge) -> tuple[float, float]:
    """The least and the most that the rate may be: to win, the least must be above a mark; to lose, the most below."""
    if judge == "bound":
        assert rival.interval is not None, f"bounds of {rival.player.name} are to decide, but it came without any"
        return rival.interval.low, rival.interval.high
    rate = _rate(rival)
    return rate, rate


def _any_below(rivals: Sequence[Rival], mark: float, judge: Judge) -> bool:
    return any(_bounds(rival, judge)[1] < mark for rival in rivals)
