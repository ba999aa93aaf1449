"""Everything a run is made of. Each part stands beside its owner; this page joins them, `checks` says what combines."""

from dataclasses import dataclass, field
from typing import Literal

from sparring.core.fields import setting
from sparring.core.schedules import Schedule
from sparring.core.settings import explained
from sparring.core.sizes import LARGEST, MANY
from sparring.league.config import CurriculumConfig, DefeatsConfig, OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig, roles
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.opponent_models.config import MindConfig, PlanningConfig

AUTO = -1
"""A number that is left to the game and the length of the run."""


@dataclass(frozen=True, kw_only=True)
class SeatsConfig:
    share: Literal["auto", "all", "side", "seat"] = "auto"
    """Who shares weights: all sides one learner, one learner a side, or one a seat. Auto: all where sides are alike."""
    opponent: str = ""
    """A bot that drives the other sides; empty: learners meet each other (self-play)."""
    side: int = setting(-1, least=-1)
    """With an opponent, the side that learns; -1: every side in turn, which needs sides that are alike."""


@dataclass(frozen=True, kw_only=True)
class PlayConfig:
    worlds: int = setting(128, least=1, most=LARGEST)
    """Worlds, which are copies of the game, that run side by side."""
    steps: int = setting(40, least=1, most=LARGEST)
    """Steps of a rollout: every world plays that many between two updates."""
    blocks: int = setting(0, least=0, most=MANY)
    """Where opponents change: blocks of worlds, each with one opponent at a time; 0: one for each 32 worlds."""


@dataclass(frozen=True, kw_only=True)
class WorkersConfig:
    """Processes for environments of other people."""

    num_workers: int = setting(0, least=0, most=512)
    """Processes in which an environment of somebody else runs; 0: one for each core, at most 8."""
    envs_per_worker: int = setting(0, least=0, most=MANY)
    """Environments in each of them: there are then num_workers x envs_per_worker worlds; 0: as worlds says."""
    worker_timeout: float = setting(60.0, above=0.0)
    """Seconds without an answer after which a worker is taken to hang and is started again."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    eval_every: int = setting(0, least=0, most=LARGEST)
    """Iterations between two evaluations; 0: as eval_times says."""
    eval_times: int = setting(AUTO, least=AUTO, most=LARGEST)
    """Evaluations spread evenly over the run, the last at its end; 0: only at the end. -1: ten, or fewer where they
    would take a good part of the run, and none beside those of eval_every."""
    eval_first: bool = True
    """Also evaluate before the first iteration, to show what training changed."""
    eval_games: int = setting(AUTO, least=AUTO, most=LARGEST)
    """Complete games of each line-up in an evaluation; 0: none, neither at the end nor before. -1: 32, and up to 1024
    where games are short."""
    eval_deterministic: bool = False
    """Take the most likely action in evaluations instead of sampling."""


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    checkpoint_every: int = setting(100, least=0, most=LARGEST)
    """Iterations between two checkpoints; 0: only at the end."""
    keep: int = setting(3, least=1, most=LARGEST)
    """How many checkpoints stay on disk, at least 1."""


@explained
@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All settings of a run, in tables. `sparring train --help-all` lists them; `default_config` chooses for a game."""

    game: str = "particles:spread"
    """The game; `sparring games` lists them."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    total_steps: int = setting(1_000_000, least=1, most=LARGEST**2)
    """Steps to train for, counted over all seats, rounded up to whole iterations."""
    schedule_steps: int = setting(0, least=0, most=LARGEST**2)
    """Steps over which schedules run; from there on they hold their last value. 0: total_steps."""
    seed: int = setting(0, least=0, most=2**32 - 1)
    """All chance of a run follows from it."""
    seeds: int = setting(1, least=1, most=MANY)
    """Train this many seeds, from `seed` on, as one stacked program."""
    each: tuple[str, ...] = ()
    """Settings of single learners, in order: learning_rate=3e-4,1e-3 gives the second a larger one."""
    learner: tuple[str, ...] = setting((), by_name=True)
    """Settings of one learner alone, networks and algorithm too: hunter_2.memory=gru; [learner.hunter_2] in a file."""
    shaping: tuple[str, ...] = ()
    """Weights of the game's shaping terms: posture=0.5 or 'survival=0.1 -> 0'; `sparring games GAME` lists them."""
    stages: tuple[str, ...] = ()
    """Rules of the game, and bots in the learners' place, in stages: 'play=nearest_stag until steps > 200k'
    'gun_cone=15 until cause/gun > 0.4' 'gun_cone=5'; the last has no mark."""
    seats: SeatsConfig = field(default_factory=SeatsConfig)
    play: PlayConfig = field(default_factory=PlayConfig)
    workers: WorkersConfig = field(default_factory=WorkersConfig)
    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    pool: PoolConfig = field(default_factory=PoolConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    defeats: DefeatsConfig = field(default_factory=DefeatsConfig)
    gates: GateConfig = field(default_factory=GateConfig)
    roles: RolesConfig = field(default_factory=RolesConfig)
    population: PopulationConfig = field(default_factory=PopulationConfig)
    net: NetConfig = field(default_factory=NetConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    mind: MindConfig = field(default_factory=MindConfig)
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    evaluation: EvalConfig = field(default_factory=EvalConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    @property
    def sequence(self) -> int:
        """Steps a training row spans: a policy whose steps need not all those before them trains on single ones."""
        return self.ppo.sequence if self.net.by_sequences else 1

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
        """Whether a policy remembers anything from step to step."""
        return self.net.remembers


OPPOSING = ("seats", "opponents", "pool", "curriculum", "defeats", "gates", "roles", "population")
"""The tables that say who opposes whom."""

NONE, ALL = Schedule.parse(0.0), Schedule.parse(1.0)


def weakens(config: RunConfig) -> bool:
    """Whether noise is ever added to what opponents choose."""
    opponents = config.opponents
    flatter = (opponents.history_temperature, opponents.bot_temperature)
    random = (opponents.history_epsilon, opponents.bot_epsilon)
    return config.curriculum.curriculum or any(t != ALL for t in flatter) or any(share != NONE for share in random)


def has_selves(config: RunConfig) -> bool:
    """Whether the shadow or past selves ever oppose."""
    return config.ppo.has_shadow or has_pool(config)


def has_pool(config: RunConfig) -> bool:
    """Whether past selves are ever met, or weakened for a beginner."""
    opponents = config.opponents
    met = opponents.history != NONE or opponents.history_floor > 0 or config.pool.guests or config.roles.active
    return bool(met) or (config.curriculum.curriculum and not config.ppo.has_shadow)


def has_bots(config: RunConfig) -> bool:
    opponents = config.opponents
    return opponents.bots != NONE or opponents.bot_floor > 0 or config.curriculum.curriculum
