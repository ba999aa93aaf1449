"""Who opposes the learner, by name, as published systems did it or as people believe they did.

A preset replaces the opponents, the pool, the curriculum, the roles, the gate and the shadow's settings; the rest
stays. Shares count blocks of worlds. Schedules run over the whole run: with total_steps=1e6, progress is steps / 1e6.
Every preset but `naive`, `psro` and `pbt` keeps a shadow as a candidate to deploy, also where its source has none: it
opposes nobody there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from sparring.core.errors import ConfigError, unknown
from sparring.core.fields import check_ranges
from sparring.core.schedules import Schedule
from sparring.games import registry
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.setup.config import RunConfig

schedule = Schedule.parse
NONE = schedule(0.0)
FIRST_MEMORY, LAST_MEMORY = 0.01, 0.2
"""Half-life of the shadow as a share of the run, at its start and at its end: nearly an average of all so far, which
forgets the beginning and outlasts a cycle (docs/log/2026-11-16-self-play.md)."""
ANCHOR, MAGNET_MEMORY = schedule(0.5), 0.05
"""Weight of the KL to a magnet, in deviations of the advantages, and its half-life at the end as a share of the run
(docs/log/2026-11-18-settling.md)."""
NO_ROLES = RolesConfig()
MEMBERS = 8
"""Of a population, where nobody says otherwise."""
MOST_FOR_BOTS = 0.2
"""Of all blocks, however many bots have a floor."""


@dataclass(frozen=True)
class SelfPlay:
    """What a preset sets; a shadow of neither half-life nor tau is none."""

    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    pool: PoolConfig = field(default_factory=PoolConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    roles: RolesConfig = field(default_factory=RolesConfig)
    gates: GateConfig = field(default_factory=GateConfig)
    population: PopulationConfig = field(default_factory=PopulationConfig)
    shadow_half_life: Schedule = NONE
    shadow_tau: Schedule = NONE
    shadow_every: int = 1
    anchor: Schedule = NONE
    anchor_price: Schedule = NONE
    learning: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of PPO by name, where the method is one of learning."""


class Pace(NamedTuple):
    """How a run goes with the opponents of a preset: what turns a source's numbers into ours."""

    steps: int
    """Of one iteration."""
    iterations: int


def pace(config: RunConfig, opponents: OpponentsConfig, roles: RolesConfig = NO_ROLES) -> Pace:
    from sparring.setup.build import (
        decisions,
        lined_up,
        steps_counted,
    )  # load JAX, which the list of names does not need

    game = registry.configured(config.game, config.options)
    if roles.active:  # whose home sides alone learn; flags may yet change who there is, so nobody is seated
        steps = decisions(game.spec, config.play.worlds * config.play.steps * len(game.spec.seats_of_side[0]))
    else:
        met = joined(config, SelfPlay(opponents, shadow_half_life=schedule(1.0)))
        steps = steps_counted(lined_up(game, met).seating, config.play.steps)
    return Pace(steps, -(-config.total_steps // steps))


def memory(pace: Pace, last: float = LAST_MEMORY) -> Schedule:
    """The shadow's half-life in updates, one for each iteration."""
    first, last = (max(1.0, round(share * pace.iterations, 1)) for share in (FIRST_MEMORY, last))
    return Schedule(first, last, "linear")


def sparring(config: RunConfig) -> SelfPlay:
    """The default: half current self, a fifth shadow, the rest past selves by PFSP (f_var, then f_hard); a few bots.

    Ours. AlphaStar (Nature 575:350) gives its main agents 35 % self-play and 50 % PFSP over the whole league, all the
    time; here the past keeps at least a tenth, and its 30 spread-out members are those of the whole run. f_hard alone
    would give a beaten opponent no weight, so it comes in the second half. A bot keeps 2 % where the game has any,
    all together at most a fifth. In a game that is not won or lost (a stag hunt) no rate of winning says who is hard to
    play with: there the past is drawn uniformly, and copies are made by steps alone.
    """
    game = registry.configured(config.game, config.options)
    bots = len(game.bots().names)
    opponents = OpponentsConfig(
        current=schedule(0.5), shadow=schedule(0.2), history=schedule(0.3), history_floor=0.1,
        bot_floor=min(0.02, MOST_FOR_BOTS / bots) if bots else 0.0,
        sampler="pfsp_var", late_sampler="pfsp_hard", late_from=0.5, shrink=2.0,
    )  # fmt: skip
    mark = 0.7
    if not game.spec.has_winners:
        opponents, mark = replace(opponents, sampler="uniform", late_sampler=""), 0.0
    if not game.spec.exchangeable_sides:  # each side meets the other's past, and bots drive one side alone
        opponents, mark = replace(opponents, bot_floor=0.0), 0.0
    return SelfPlay(
        opponents,
        PoolConfig(pool_size=30, snapshot_mark=mark, eviction="log_spaced"),
        shadow_half_life=memory(pace(config, opponents)),
    )


def naive(_: RunConfig) -> SelfPlay:
    """The current self alone, both sides learning, as in AlphaZero (arXiv:1712.01815). No shadow, no past.

    AlphaZero itself plays the newest network without a gate; the gate at 55 % is AlphaGo Zero's. In games with mixed
    equilibria the newest policy circles; its Elo need not show it.
    """
    return SelfPlay()


def averaged(config: RunConfig) -> SelfPlay:
    """`naive`, and its slow average is kept as the other candidate to deploy: it opposes nobody and changes no step.

    The control for whatever else is said to help: often the average does it, and not whom the learner met.
    """
    return SelfPlay(shadow_half_life=memory(pace(config, OpponentsConfig())))


def magnet(config: RunConfig) -> SelfPlay:
    """The current self alone, held back by a KL to its own slow average: the newest policy itself comes to rest.

    EMAgnet (arXiv:2606.23995); magnetic mirror descent (arXiv:2206.05825) with a magnet that moves. Advantages are
    scaled to deviation 1, so one weight means the same in every game. The average opposes nobody and is the other
    candidate to deploy. Where skill is to be found and not a balance, as in air combat, being held back costs speed.
    """
    found = pace(config, OpponentsConfig())
    return SelfPlay(shadow_half_life=memory(found, MAGNET_MEMORY), anchor=ANCHOR)


def mmd(config: RunConfig) -> SelfPlay:
    """Magnetic mirror descent (arXiv:2206.05825) as deep learning has it: an entropy bonus, a KL to the last policy.

    The bonus is the pull of a uniform magnet; it falls over the run, so that what is left at the end is the game's own
    equilibrium and not that of a game that pays for randomness. Weights as in a public sweep over games of hidden
    information. The KL is that of the old policy to the new, where the source has it the other way round.
    """
    fixed = {"loss": "clip_kl", "kl_weight": 0.05, "kl_min": NONE, "kl_max": schedule(1e6)}
    return SelfPlay(
        shadow_half_life=memory(pace(config, OpponentsConfig())),
        learning={**fixed, "entropy": schedule("0.05 -> 0.005")},
    )


def rnad(config: RunConfig) -> SelfPlay:
    """Regularised Nash dynamics (DeepNash, arXiv:2206.15378): the current self, in a game where leaving a fixed policy
    costs, and the opponent is paid for it.

    That policy is replaced by the newest after each twentieth of the run. Weight 0.2 as in the paper, of rewards
    scaled to deviation 1, so that it means the same in every game. Ours: PPO in place of NeuRD and V-trace, a fixed
    policy that is replaced at once instead of blended in, and no dropping of small probabilities at the end.
    """
    found = pace(config, OpponentsConfig())
    return SelfPlay(
        shadow_tau=schedule(1.0), shadow_every=max(1, found.iterations // 20), anchor_price=schedule(0.2),
        learning={"reward_scale": True},
    )  # fmt: skip


def half_history(config: RunConfig) -> SelfPlay:
    """Half current self, half uniform past, a pool of 100 from which the oldest leaves.

    A usual home-made rule. Copying the learner at every update would fill the pool with the last 100 updates; here a
    copy is made after each hundredth of the run, so the pool spans all of it.
    """
    opponents = OpponentsConfig(current=schedule(0.5), history=schedule(0.5), sampler="uniform")
    return SelfPlay(opponents, hundred(config), shadow_half_life=memory(pace(config, opponents)))


def three_way(config: RunConfig) -> SelfPlay:
    """A third each: the current self, one uniform member of the past, the shadow with tau 0.005.

    A usual home-made rule, sometimes told as OpenAI Five's; that had no slow average (see `openai_five`). Tau is taken
    once an update: a half-life of 138 updates. That shadow is also the one to deploy.
    """
    third = schedule(1 / 3)
    opponents = OpponentsConfig(current=third, shadow=third, history=third, sampler="uniform")
    return SelfPlay(opponents, hundred(config), shadow_tau=schedule(0.005))


def fading_history(config: RunConfig) -> SelfPlay:
    """History with 0.5 (1 - step / 1e6), the shadow with the rest, never the current self, no floor.

    The weights fall over the whole run, so total_steps=1e6 gives those very numbers; longer runs fade as slowly as they
    are long. It runs against AlphaStar, whose main agents meet the past half of the time to the end, and against
    arXiv:2004.09468, where cycles are widest in the middle of training: a history_floor of 0.1 to 0.2 is the cautious
    form. Shadow: tau 0.005, as in `three_way`.
    """
    opponents = OpponentsConfig(
        current=NONE, shadow=schedule("0.5 -> 1"), history=schedule("0.5 -> 0"), sampler="uniform"
    )
    return SelfPlay(opponents, hundred(config), shadow_tau=schedule(0.005))


def shadow(config: RunConfig) -> SelfPlay:
    """The newest policy against its own slow average alone; one side is updated. The cheapest: nothing is stored.

    Often told as what OpenAI Five did; the paper says otherwise (see `openai_five`). Slow averages are known as anchors
    and as what is deployed (arXiv:2606.23995, arXiv:2206.15378); as an opponent we measured it ourselves.
    """
    opponents = OpponentsConfig(current=NONE, shadow=schedule(1.0))
    return SelfPlay(opponents, shadow_half_life=memory(pace(config, opponents)))


def pool(config: RunConfig) -> SelfPlay:
    """Past selves alone, drawn uniformly from a pool of 100 that spans the whole run: sampled fictitious play.

    A usual home-made manager has a pool of 10, a copy every 10,000 steps and a shadow of tau 0.01 every 500 steps. That
    pool did not settle even on rock, paper, scissors (docs/log/2026-11-16-self-play.md; arXiv:2004.09468: small
    populations cycle), so this one is larger. The other is pool_size=10, snapshot_every=10000 and, since ours moves the
    shadow once an iteration, shadow_tau = 1 - 0.99 ** (steps of an iteration / 500).
    """
    opponents = OpponentsConfig(current=NONE, history=schedule(1.0), sampler="uniform")
    return SelfPlay(opponents, hundred(config), shadow_half_life=memory(pace(config, opponents)))


def openai_five(config: RunConfig) -> SelfPlay:
    """80 % current self, 20 % exact past selves by quality scores of rate 0.01 (arXiv:1912.06680).

    Popular belief has a slow average or a population here; the paper has neither. PFSP is AlphaStar's. A past self
    joins every 10 iterations, with the best score so far: snapshot_every is ten times the steps of an iteration, so set
    it again with worlds or steps. The source keeps all of them; ours 100, spread out in age. Our shadow plays no game.
    """
    opponents = OpponentsConfig(current=schedule(0.8), history=schedule(0.2), sampler="quality", quality_rate=0.01)
    found = pace(config, opponents)
    return SelfPlay(
        opponents, PoolConfig(pool_size=100, snapshot_every=10 * found.steps), shadow_half_life=memory(found)
    )


def bansal(config: RunConfig) -> SelfPlay:
    """Past selves alone, uniformly of the newer half (arXiv:1710.03748: delta 0.5, best for its humanoids).

    Its ants did best with delta 0, all of the past; the newest alone, delta 1, was worst for both. The source copies
    the learner at every iteration; ours after each hundredth of the run, which is the same draw in coarser steps.
    """
    opponents = OpponentsConfig(current=NONE, history=schedule(1.0), sampler="delta_uniform", delta=0.5)
    return SelfPlay(opponents, hundred(config), shadow_half_life=memory(pace(config, opponents)))


def alphago_zero(config: RunConfig) -> SelfPlay:
    """The learner against the best so far, which it replaces after more than 55 % of 400 games (Nature 550:354).

    The source plays those games apart, with weights that stand still; ours are the games of training, of a learner that
    goes on learning. Popular belief gives the gate to AlphaZero, which has none. A gate is a ratchet: chance lets
    somebody through in the end, and the rating of the champions rises without progress. `--gate-floor` looks at all
    past champions, who must then be met: add `--sampler pfsp_hard`.
    """
    opponents = OpponentsConfig(current=NONE, history=schedule(1.0), sampler="latest")
    return SelfPlay(
        opponents, PoolConfig(pool_size=30, eviction="log_spaced"), gates=GateConfig(gate="rate"),
        shadow_half_life=memory(pace(config, opponents)),
    )  # fmt: skip


def alphastar(config: RunConfig) -> SelfPlay:
    """AlphaStar's league (Nature 575:350): a main agent, a main exploiter and two league exploiters.

    The published pseudocode differs from the paper, and puts exploiters back before it copies them: where we follow
    which, docs/guide/leagues.md says. Steps scale with the run: a main is copied after each tenth of it. Marks are
    compared with rates, which two virtual games at one half keep from being 1 after a single win. Popular belief has
    half of a main's games against itself; it is 35 %. Our shadow plays no game.
    """
    return league_of(config, RolesConfig(mains=1, main_exploiters=1, league_exploiters=2))


def alphastar_safe(config: RunConfig) -> SelfPlay:
    """`alphastar`, but marks must be passed by an estimated bound of the rate, not by a rate that may be luck.

    The source compares rates over many thousands of games; with few games a rate of 0.7 is often an even match. The
    bound is that of a 95 % interval of fading counts, looked at in every iteration: careful, but no guarantee.
    """
    return league_of(config, RolesConfig(mains=1, main_exploiters=1, league_exploiters=2, judge="bound"))


def psro(_: RunConfig) -> SelfPlay:
    """PSRO (arXiv:1711.00832): one oracle after another learns a response to the Nash mixture of all before it.

    Ten of them, the first untrained; `--role-steps` makes them more and shorter, `--meta uniform` is fictitious play by
    whole policies. The result is the mixture of past players, not the newest oracle, which answers it and is easy to
    beat; so there is no shadow to deploy. Plain PSRO need not come nearer with every oracle: exploitability can rise
    from one to the next. The paper's oracles start over from scratch, as here; its DCH, several levels at once, is not
    here, and `--oracles 2` makes two responses to one mixture.
    """
    return SelfPlay(pool=PoolConfig(pool_size=64), roles=RolesConfig(oracles=1))


def pbt(config: RunConfig) -> SelfPlay:
    """Population-based training (arXiv:1711.09846) of eight members by plain self-play; all pairs meet to be ranked.

    Truncation at 20 %, factors of 0.8 and 1.2, weights copied with the coefficients, as in the paper. Two things are
    ours: a copy is made only where the winner is surely better, and the first member begins with the run's own
    coefficients. Each member has an eighth of the steps. With shares of shadow and history, as `--history 0.3
    --current 0.7`, every member has a pool of its own.
    """
    return SelfPlay(population=PopulationConfig(population=members(config)))


def ftw(config: RunConfig) -> SelfPlay:
    """For The Win (arXiv:1807.01281): a population that plays itself, matched by rating, with PBT on games won.

    Each member meets anybody of similar rating, members and their past alike, and copies a random other that did
    better in games against all. The paper has 30 members, evolves the weights of internal rewards (`--pbt-knobs
    shaping/NAME`) and takes its estimate of who is better from ratings. Ours are: eight members, games played for the
    comparison alone, copies only where the other is surely better, a learning rate that is explored too, and a shadow,
    which plays no game.
    """
    found = league_of(config, RolesConfig(mains=MEMBERS, main_rule="elo_gaussian"))
    return replace(found, population=PopulationConfig(population=members(config), pbt_select="tournament"))


def members(config: RunConfig) -> int:
    return config.population.population or MEMBERS


def league_of(config: RunConfig, roles: RolesConfig) -> SelfPlay:
    """In a population the mains are its members."""
    roles = replace(roles, mains=config.population.population or roles.mains)
    opponents = OpponentsConfig(shrink=2.0)
    half_life = memory(pace(config, opponents, roles))
    return SelfPlay(opponents, PoolConfig(pool_size=64), roles=roles, shadow_half_life=half_life)


def hundred(config: RunConfig) -> PoolConfig:
    """A hundred past selves over the whole run, the oldest out."""
    return PoolConfig(pool_size=100, snapshot_every=max(1, config.total_steps // 100), eviction="oldest")


SELF_PLAY: dict[str, Callable[[RunConfig], SelfPlay]] = {
    make.__name__: make
    for make in (
        sparring, naive, averaged, magnet, mmd, rnad, half_history, three_way, fading_history, shadow, pool,
        openai_five, bansal, alphago_zero, alphastar, alphastar_safe, psro, pbt, ftw,
    )
}  # fmt: skip


DEFAULT = sparring.__name__


def self_play(config: RunConfig, name: str) -> SelfPlay:
    """What the preset sets in this run."""
    if name not in SELF_PLAY:
        raise ConfigError(unknown("self-play preset", name, SELF_PLAY))
    check_ranges(config)  # a preset computes with the worlds and steps of a run that nobody has built yet
    return SELF_PLAY[name](config)


def apply(config: RunConfig, name: str) -> RunConfig:
    """The config with the preset's opponents, pool, curriculum, roles and shadow; all else stays."""
    return joined(config, self_play(config, name))


def joined(config: RunConfig, chosen: SelfPlay) -> RunConfig:
    parts = {one.name: getattr(chosen, one.name) for one in fields(chosen) if one.name != "learning"}
    of_ppo = {name: parts.pop(name) for name in tuple(parts) if name not in RunConfig.__dataclass_fields__}
    if not chosen.population.population:  # then a population is somebody's own, to go with any preset
        del parts["population"]
    return replace(config, **parts, ppo=replace(config.ppo, **of_ppo, **chosen.learning))
