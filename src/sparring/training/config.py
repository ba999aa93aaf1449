"""Everything a run is made of. Each part stands beside its owner; this page joins them and checks how they combine."""

from dataclasses import dataclass, field
from math import inf, isqrt
from typing import Literal

from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.core.sizes import LARGEST, MANY, check_size
from sparring.league.config import (
    CurriculumConfig,
    DefeatsConfig,
    OpponentsConfig,
    PoolConfig,
    check_defeats,
    check_opponents,
)
from sparring.league.gates import GateConfig, check_gate
from sparring.league.population import HORIZONS, SHAPING, PopulationConfig, check_population
from sparring.league.roles import RolesConfig, check_roles, roles
from sparring.learn.config import COEFFICIENTS, NEUTRAL, PPOConfig, coefficient
from sparring.nets.config import NetConfig, check_net

HIGHEST = {"discount": 1.0, "decay": 1.0, "advantage_noise": 1.0, "value_norm_rate": 1.0, "shadow_tau": 1.0}
"""Coefficients with an upper bound; none may be negative."""
ABOVE_ZERO = ("temperature", "fixed_std", "value_norm_rate", "huber_delta", "clip", "max_grad_norm")


@dataclass(frozen=True, kw_only=True)
class SeatsConfig:
    share: Literal["auto", "all", "side", "seat"] = "auto"
    """Who shares weights: all sides one learner, one learner a side, or one a seat. Auto: all where sides are alike."""
    opponent: str = ""
    """A bot that drives the other sides; empty: learners meet each other (self-play)."""
    side: int = -1
    """With an opponent, the side that learns; -1: every side in turn, which needs sides that are alike."""


@dataclass(frozen=True, kw_only=True)
class PlayConfig:
    worlds: int = 128
    """Worlds that run side by side."""
    steps: int = 40
    """Steps of a rollout: every world plays that many between two updates."""
    blocks: int = 0
    """Where opponents change: blocks of worlds, each with one opponent at a time; 0: one for each 32 worlds."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    eval_every: int = 0
    """Iterations between two evaluations; 0: only at the end."""
    eval_first: bool = False
    """Also evaluate before the first iteration, to show what training changed."""
    eval_games: int = 32
    """Complete games of each line-up in an evaluation; 0: none, neither at the end nor before."""
    eval_deterministic: bool = False
    """Take the most likely action in evaluations instead of sampling."""


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    checkpoint_every: int = 100
    """Iterations between two checkpoints; 0: only at the end."""
    keep: int = 3
    """How many checkpoints stay on disk, at least 1."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    game: str = "particles:spread"
    """The game; `sparring games` lists them."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    total_steps: int = 1_000_000
    """Steps to train for, counted over all seats, rounded up to whole iterations."""
    schedule_steps: int = 0
    """Steps over which schedules run; from there on they hold their last value. 0: total_steps."""
    seed: int = 0
    """All chance of a run follows from it."""
    seeds: int = 1
    """Train this many seeds, from `seed` on, as one stacked program."""
    each: tuple[str, ...] = ()
    """Settings of single learners, in order: learning_rate=3e-4,1e-3 gives the second a larger one."""
    shaping: tuple[str, ...] = ()
    """Weights of the game's shaping terms: posture=0.5 or 'survival=0.1 -> 0'; `sparring games GAME` lists them."""
    stages: tuple[str, ...] = ()
    """Rules of the game in stages: 'gun_cone=15 until cause/gun > 0.4' 'gun_cone=5'; the last has no mark."""
    seats: SeatsConfig = field(default_factory=SeatsConfig)
    play: PlayConfig = field(default_factory=PlayConfig)
    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    pool: PoolConfig = field(default_factory=PoolConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    defeats: DefeatsConfig = field(default_factory=DefeatsConfig)
    gates: GateConfig = field(default_factory=GateConfig)
    roles: RolesConfig = field(default_factory=RolesConfig)
    population: PopulationConfig = field(default_factory=PopulationConfig)
    net: NetConfig = field(default_factory=NetConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvalConfig = field(default_factory=EvalConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def __post_init__(self) -> None:
        check_size("total_steps", self.total_steps, 1, LARGEST**2)
        check_size("schedule_steps", self.schedule_steps, 0, LARGEST**2)
        check_size("seeds", self.seeds, 1, MANY)
        check_size("seed", self.seed, 0, 2**32 - 1)
        check_size("blocks", self.play.blocks, 0, MANY)
        for name, value, least in (
            ("worlds", self.play.worlds, 1),
            ("steps", self.play.steps, 1),
            ("epochs", self.ppo.epochs, 1),
            ("minibatches", self.ppo.minibatches, 1),
            ("sequence", self.ppo.sequence, 1),
            ("burn_in", self.ppo.burn_in, 0),
            ("critic_epochs", self.ppo.critic_epochs, 0),
            ("eval_every", self.evaluation.eval_every, 0),
            ("eval_games", self.evaluation.eval_games, 0),
            ("checkpoint_every", self.checkpoint.checkpoint_every, 0),
            ("keep", self.checkpoint.keep, 1),
        ):
            check_size(name, value, least)
        check_net(self.net)
        if self.seed + self.seeds > 2**32:
            raise ConfigError(
                f"seed must leave room for all seeds below 2**32, found {self.seed}. Choose a smaller one."
            )
        check_learning(self.ppo, self.net)
        check_opponents(self.opponents, self.pool, self.curriculum)
        check_defeats(self.defeats)
        self.check_league()
        if self.opponents.shadow != Schedule.parse(0.0) and not self.ppo.has_shadow:
            raise ConfigError("shadow gives the shadow a share, and there is none. Set shadow_half_life or shadow_tau.")
        if self.pool.pool_size == 1 and not self.ppo.has_shadow and self.opponents.history != Schedule.parse(0.0):
            raise ConfigError("A pool of one is at times empty, and then the shadow steps in. Set shadow_half_life.")
        led = self.curriculum.curriculum and self.curriculum.weaken_levels > 0
        if led and not self.ppo.has_shadow and self.pool.pool_size == 0:
            raise ConfigError(
                "A curriculum weakens the shadow or past selves, and there is neither. "
                "Set shadow_half_life, raise pool_size, or set weaken_levels to 0."
            )
        if self.defeats.defeat_share and not self.changing:
            raise ConfigError("defeat_share replays defeats by others than the current self. Give others a share.")
        if self.ppo.on("imitation") and not self.defeats.defeat_share:
            raise ConfigError("imitation learns from the winners of lost games, and needs defeat_share above 0.")
        self.check_rows()

    def check_league(self) -> None:
        """Where learners have roles, these alone say who meets whom."""
        check_roles(self.roles)
        check_gate(self.gates)
        if self.gates.gate != "none":
            check_gated(self)
        check_population(self.population)
        if self.population.population:
            self.check_members()
        if not self.roles.active:
            return
        if self.opponents.history != Schedule.parse(0.0) or self.opponents.history_floor:
            raise ConfigError(
                "Roles say by themselves how often the past is met: history and history_floor have no place beside "
                "them. Leave them out, or set mains and oracles to 0."
            )
        if not self.pool.pool_size:
            raise ConfigError("A league of roles keeps past players in memory, found pool_size=0. Raise it.")
        if self.ppo.on("imitation"):
            raise ConfigError("imitation learns in the opponent's place, and roles never play there. Leave it out.")
        if self.roles.oracles and (self.pool.guests or self.gates.gate != "none"):
            raise ConfigError(
                "Oracles answer a meta-strategy over all past players: guests, whose payoffs nobody measured, and "
                "gates have no place there. Leave them out."
            )
        if self.roles.oracles and self.stages:
            raise ConfigError(
                "Payoffs between past players hold for the rules under which they were measured, and stages change "
                "those. Leave stages or oracles out."
            )

    def check_members(self) -> None:
        """What a population can be combined with."""
        check_explored(self.population, self.ppo, self.shaping)
        if self.roles.oracles:
            raise ConfigError("Oracles respond to a mixture one after another, and copy nobody. Leave population out.")
        if self.roles.active and self.roles.mains != self.population.population:
            raise ConfigError(
                f"In a league of roles the mains are the members of the population: found mains={self.roles.mains} and "
                f"population={self.population.population}. Make them equal, or leave one at 0."
            )
        if self.stages:
            raise ConfigError(
                "Members of a population are compared under the game's own rules, and stages change those. Leave one "
                "out."
            )

    def check_rows(self) -> None:
        """A rollout must fall into whole sequences, and those into whole minibatches."""
        steps, worlds, parts = self.play.steps, self.play.worlds, self.ppo.minibatches
        length = self.sequence
        if steps % length:
            raise ConfigError(
                f"sequence={length} does not divide the {steps} steps of a rollout. "
                f"Nearest that does: {nearest_divisor(steps, length)}."
            )
        burn_in = self.ppo.burn_in
        if burn_in and not self.recurrent:
            raise ConfigError(
                f"burn_in={burn_in} warms up a memory, found memory=none. Use gru or lstm, or leave it out."
            )
        if burn_in and length % burn_in:
            raise ConfigError(
                f"burn_in={burn_in} does not divide the sequence of {length} steps. "
                f"Nearest that does: {nearest_divisor(length, burn_in)}."
            )
        rows = steps // length * worlds
        check_size("steps x worlds, the rows of a rollout,", rows)
        if rows % parts:
            what = f"{steps} steps x {worlds} worlds" + (f" / sequences of {length}" if length > 1 else "")
            raise ConfigError(
                f"minibatches={parts} does not divide the {rows} rows of a rollout ({what}). "
                f"Nearest that does: {nearest_divisor(rows, parts)}."
            )

    @property
    def sequence(self) -> int:
        """Steps a training row spans: a policy without memory trains on single steps."""
        return self.ppo.sequence if self.recurrent else 1

    @property
    def changing(self) -> bool:
        """Whether anybody but the learners themselves opposes them, so that opponents change."""
        return self.opponents.shared or self.curriculum.curriculum or self.roles.active

    @property
    def learners(self) -> int:
        """Learners of one kind, where opponents change."""
        return len(roles(self.roles)) or self.population.population or 1

    @property
    def recurrent(self) -> bool:
        return self.net.memory != "none"


def check_gated(config: RunConfig) -> None:
    """A gate judges by games of training: whoever it asks about must be met."""
    gates, opponents, none = config.gates, config.opponents, Schedule.parse(0.0)
    if (opponents.history == none and not config.roles.active) or config.pool.pool_size < 2:
        raise ConfigError(
            "A gate lets the learner into a pool of past champions, which needs a share and two rows or more. "
            "Set --history 1 and a larger --pool-size."
        )
    if opponents.history_epsilon != none or opponents.history_temperature != Schedule.parse(1.0):
        raise ConfigError(
            "A gate goes by games against champions at full strength. Leave history_epsilon and history_temperature "
            "out."
        )
    if gates.gate_floor and "latest" in (opponents.sampler, opponents.late_sampler):
        raise ConfigError("gate_floor asks about all past champions, and sampler=latest meets one. Use pfsp_hard.")
    if gates.gate_anchor_floor and opponents.bots == none and not opponents.bot_floor:
        raise ConfigError("gate_anchor_floor asks about bots, which have no share. Set --bots 0.2.")


def check_explored(population: PopulationConfig, ppo: PPOConfig, shaping: tuple[str, ...]) -> None:
    """Coefficients that exist and act: a factor on one that is 0, off or at its bound would do nothing."""
    terms = {SHAPING + text.partition("=")[0].strip(): text for text in shaping}
    for knob in population.pbt_knobs:
        if knob in terms:
            continue
        if knob not in COEFFICIENTS:
            raise ConfigError(f"pbt_knobs: {unknown('coefficient', knob, (*COEFFICIENTS, *terms))}")
        schedule = coefficient(ppo, knob)
        off = knob in NEUTRAL and not ppo.on(knob)
        if off or schedule.start == 0 or (knob in HORIZONS and schedule.start == 1):
            raise ConfigError(
                f"pbt_knobs names {knob}, which is {schedule}: a factor would change nothing. Give it another value, "
                "or leave it out."
            )


def check_learning(ppo: PPOConfig, net: NetConfig) -> None:
    """Ranges of one learner's coefficients, and options that need each other."""
    for name in COEFFICIENTS:
        schedule, highest = coefficient(ppo, name), HIGHEST.get(name, inf)
        least, most = sorted((schedule.start, schedule.end))
        if not 0 <= least <= most <= highest:
            raise ConfigError(f"{name} must lie in [0, {highest:g}], found {schedule}.")
        if name in ABOVE_ZERO and least == 0:
            raise ConfigError(f"{name} must be above 0, found {schedule}.")
    if max(ppo.epsilon.start, ppo.epsilon.end) >= 1:
        raise ConfigError(f"epsilon must be below 1, found {ppo.epsilon}: a policy that only guesses cannot learn.")
    if ppo.on("shadow_half_life") and ppo.on("shadow_tau"):
        raise ConfigError("shadow_half_life and shadow_tau say the same in two ways, found both. Leave one out.")
    if ppo.on("shadow_half_life") and min(ppo.shadow_half_life.start, ppo.shadow_half_life.end) <= 0:
        raise ConfigError(f"shadow_half_life must be above 0 all the time, found {ppo.shadow_half_life}.")
    if ppo.on("anchor") and not ppo.has_shadow:
        raise ConfigError("anchor holds the policy near its shadow, and there is none. Set shadow_half_life.")
    if ppo.kl_weight <= 0:
        raise ConfigError(f"kl_weight must be above 0, found {ppo.kl_weight}.")
    if ppo.kl_min.start > ppo.kl_max.start or ppo.kl_min.end > ppo.kl_max.end:
        raise ConfigError(f"kl_min must not exceed kl_max, found {ppo.kl_min} and {ppo.kl_max}.")
    if ppo.on("advantage_noise") and ppo.normalise_advantage not in ("batch", "side"):
        raise ConfigError(
            "advantage_noise is a share of advantages of deviation 1, found "
            f"normalise_advantage={ppo.normalise_advantage}. Use batch or side."
        )
    if ppo.on("value_noise") and net.trunk == "shared":
        raise ConfigError("value_noise adds to what the critic sees, and a shared trunk sees for both. Use separate.")


def nearest_divisor(number: int, wanted: int) -> int:
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return min((*small, *(number // d for d in small)), key=lambda d: (abs(d - wanted), d))
