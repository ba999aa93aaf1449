"""The settings of self-play: who opposes the learner, which past selves are kept, how a beginner is led upwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sparring.core.code import Code
from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.schedules import Schedule
from sparring.core.sizes import LARGEST, MANY

ByAge = Literal["latest", "uniform", "delta_uniform", "window", "recency_power", "geometric"]
"""Samplers that ask for age or chance alone."""
ByResults = Literal[
    "pfsp_hard", "pfsp_var", "pfsp_linear", "pfsp_capped", "quality", "elo_gaussian", "nash", "target_rate"
]
Sampler = Literal[ByAge, ByResults]
Eviction = Literal["oldest", "log_spaced", "redundant"]


@dataclass(frozen=True, kw_only=True)
class OpponentsConfig:
    """Shares count blocks of worlds; the four are scaled to sum 1."""

    current: Schedule = setting(Schedule.parse(1.0), least=0)
    """Share of blocks in which the learner meets its current self; both sides learn there."""
    shadow: Schedule = setting(Schedule.parse(0.0), least=0)
    """Share of blocks against the shadow, the slow average of the learner."""
    history: Schedule = setting(Schedule.parse(0.0), least=0)
    """Share of blocks against past selves and guests."""
    bots: Schedule = setting(Schedule.parse(0.0), least=0)
    """Share of blocks against the game's bots."""
    follow: Literal["time", "rate"] = "time"
    """What carries shares from their first to their last value: the time of the run, or how well the learner does."""
    follow_from: float = setting(0.5, least=0, most=1)
    """With follow=rate: the rate of winning, against everybody but learners, up to which the first values hold."""
    follow_to: float = setting(0.8, least=0, most=1)
    """With follow=rate: the rate from which the last values hold; above follow_from."""
    history_floor: float = setting(0.0, least=0, most=1)
    """Least share of past selves and guests, whatever the schedules say. Usual: 0.1 to 0.2."""
    bot_floor: float = setting(0.0, least=0, most=1)
    """Least share of each bot, whatever the schedules say. Usual: 0.02."""
    history_temperature: Schedule = setting(Schedule.parse(1.0), above=0)
    """Past selves and guests play weakened: above 1 their choices are flatter."""
    history_epsilon: Schedule = setting(Schedule.parse(0.0), least=0, most=1)
    """Past selves and guests play weakened: share of their actions that is random."""
    bot_temperature: Schedule = setting(Schedule.parse(1.0), above=0)
    """The same of bots."""
    bot_epsilon: Schedule = setting(Schedule.parse(0.0), least=0, most=1)
    """The same of bots."""
    ladder: tuple[str, ...] = ()
    """The bots used, weakest first; empty: all of the game but random, in its order."""

    sampler: Sampler | Code = "uniform"
    """How past selves and guests are drawn; mine.py:rule draws by a function of your own."""
    late_sampler: Literal["", Sampler] | Code = ""
    """How they are drawn late in the run; empty: as before."""
    late_from: float = setting(0.5, least=0, most=1)
    """Share of the run after which late_sampler takes over."""
    bot_sampler: Sampler | Code = "uniform"
    """How bots are drawn; rules of age take the order of the ladder, the last bot as the newest."""

    pfsp_power: float = setting(2.0, above=0)
    """pfsp_hard: power of the rate of not winning; larger looks more at the strongest."""
    delta: float = setting(0.5, least=0, most=1)
    """delta_uniform: the oldest share that is left out; 0 draws from all, 1 the newest alone."""
    window: int = setting(10, least=1)
    """window: how many of the newest are drawn from."""
    recency_power: float = setting(0.5, least=0)
    """recency_power: power of the rank, the oldest having rank 1."""
    recency_skip: int = setting(5, least=0)
    """recency_power: how many of the newest are left out."""
    recency_half_life: float = setting(0.0, least=0)
    """geometric: snapshots after which the weight has halved; 0: a quarter of the pool."""
    quality_rate: float = setting(0.01, above=0)
    """quality: how fast an opponent that was beaten loses its score."""
    elo_sigma: float = setting(1 / 6, above=0)
    """elo_gaussian: width around an expected rate of one half."""
    rate_target: float = setting(0.6, least=0, most=1)
    """target_rate: the learner's rate of winning that is aimed at."""
    rate_sigma: float = setting(0.15, above=0)
    """target_rate: width around it."""
    shrink: float = setting(0.0, least=0)
    """Virtual games at one half added to every rate; 2 keeps a single game from giving 0 or 1."""
    forget: float = setting(0.99, above=0, most=1)
    """What earlier games count after each new one, in (0, 1]: 0.99 remembers about 100 games, 1 all."""

    @property
    def shared(self) -> bool:
        """Whether anybody but the current self has a share."""
        others = (self.shadow, self.history, self.bots)
        return any(share != Schedule.parse(0.0) for share in others) or self.history_floor + self.bot_floor > 0


SHARES = ("current", "shadow", "history", "bots")
"""Who has a share of the blocks."""


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    pool_size: int = setting(30, least=0, most=MANY)
    """Most past selves and guests kept; 0: none."""
    snapshot_every: int = setting(0, least=0)
    """Steps between two snapshots of the learner; 0: a fiftieth of the run."""
    snapshot_mark: float = setting(0.0, least=0, most=1)
    """Also take one when the rate against the newest member surely exceeds this; 0: never. Usual: 0.7."""
    eviction: Eviction = "log_spaced"
    """Who leaves a full pool: the oldest, the one least missed among ages on a log scale, or the most redundant."""
    keep_evicted: bool = False
    """Leave the weights of members that left the pool on disk."""
    guests: tuple[str, ...] = ()
    """Policies of other runs that join the pool at the start, as paths."""


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig:
    curriculum: bool = False
    """Lead a beginner upwards: the bots of the ladder in order, then weakened selves, then the normal mixture."""
    curriculum_share: Schedule = setting(Schedule.parse(1.0), least=0, most=1)
    """Share of the blocks against others than the current self that the curriculum governs."""
    climb_rate: float = setting(0.6, least=0, most=1)
    """Climb when the rate at this level surely exceeds this, however often it is looked at."""
    retreat_rate: float = setting(0.3, least=0, most=1)
    """Retreat when it is surely below this."""
    level_games: int = setting(40, least=1)
    """Games at a level before it is judged."""
    weaken: Literal["epsilon", "temperature"] = "epsilon"
    """How a self is weakened: by random actions, or by a flatter choice."""
    weakest: float = setting(0.75, least=0, most=1)
    """Share of random actions of the weakest self; by temperature it plays at 1 + 3 times this."""
    weaken_levels: int = setting(4, least=0)
    """Levels of weakened selves."""


@dataclass(frozen=True, kw_only=True)
class DefeatsConfig:
    defeat_share: float = setting(0.0, least=0, most=0.2)
    """Largest share of games that start before an earlier defeat, against the same opponent; 0: none. Usual: 0.1."""
    defeat_size: int = setting(64, least=1, most=LARGEST)
    """Defeats that are kept."""
    defeat_reach: int = setting(16, least=1, most=LARGEST)
    """Steps before the defeat from which it is tried again at first; as the learner copes, it is from farther back."""
    defeat_coped: float = setting(0.6, least=0, most=1)
    """Go farther back when the points in such games surely exceed this."""


def check_opponents(opponents: OpponentsConfig, pool: PoolConfig, curriculum: CurriculumConfig) -> None:
    """Settings that need each other; `check_asked_of_game` has what the game and its blocks are asked for."""
    for when in ("start", "end"):
        if sum(getattr(getattr(opponents, name), when) for name in SHARES) <= 0:
            raise ConfigError(f"{', '.join(SHARES)} are all 0 at the {when} of the run. Raise one.")
    if opponents.follow_from >= opponents.follow_to:
        raise ConfigError(
            f"follow_from must be below follow_to, found {opponents.follow_from} and {opponents.follow_to}."
        )
    if opponents.bot_sampler == "nash":
        raise ConfigError("bot_sampler=nash needs games of bots among themselves, which training does not play.")
    if pool.pool_size == 0 and (opponents.history != Schedule.parse(0.0) or opponents.history_floor or pool.guests):
        raise ConfigError("history, history_floor and guests need a pool, found pool_size=0. Raise it.")
    if len(pool.guests) > pool.pool_size:
        raise ConfigError(f"pool_size={pool.pool_size} has no room for {len(pool.guests)} guests. Raise it.")
    if len(set(opponents.ladder)) < len(opponents.ladder):
        raise ConfigError(f"ladder must name each bot once, found {', '.join(opponents.ladder)}.")
    if curriculum.retreat_rate >= curriculum.climb_rate:
        raise ConfigError(
            f"retreat_rate must be below climb_rate, found {curriculum.retreat_rate} and {curriculum.climb_rate}."
        )


def check_asked_of_game(
    opponents: OpponentsConfig,
    curriculum: CurriculumConfig,
    *,
    bots: int,
    can_mirror: Sequence[bool],
    can_face: Sequence[bool],
) -> None:
    """What the settings ask of the game, which has `bots` in use, and of its blocks."""
    if not all(mirror or face for mirror, face in zip(can_mirror, can_face, strict=True)):
        raise ConfigError("Every block must be able to mirror or to face another player. Check the seating.")
    asked = {name: max(getattr(opponents, name).start, getattr(opponents, name).end) for name in SHARES}
    if (asked["bots"] or opponents.bot_floor) and not bots:
        raise ConfigError("bots have a share, but the game has none besides random. Set bots=0, or ladder=random.")
    floors = opponents.history_floor + bots * opponents.bot_floor
    if floors > 1:
        raise ConfigError(f"history_floor and bot_floor for {bots} bots come to {floors:g}, more than all. Lower them.")
    if not curriculum.curriculum:
        return
    others = asked["shadow"] + asked["history"] + asked["bots"] + floors
    if not any(can_face) or (others == 0 and all(can_mirror)):
        raise ConfigError("A curriculum governs blocks against others: give shadow, history or bots a share.")
    if not bots and not curriculum.weaken_levels:
        raise ConfigError("A curriculum needs levels, found no bots and weaken_levels=0. Raise weaken_levels.")
