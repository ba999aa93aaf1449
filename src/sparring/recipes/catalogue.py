"""Full configurations by name. A recipe is a function that returns everything; flags may change any of it."""

from collections.abc import Callable
from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.recipes.hyper import (
    hyper_align_spread,
    hyper_mappo_3m,
    hyper_mappo_corridor,
    hyper_mappo_spread,
    hyper_net_spread,
    hyper_smooth_spread,
    mappo_3m,
    mappo_corridor,
    mappo_spread,
)
from sparring.recipes.minds import (
    hunters,
    hunters_actions,
    hunters_goals,
    hunters_imagine,
    hunters_influence,
    hunters_mappo,
    hunters_meta,
    hunters_minds,
    hunters_near,
    hunters_one_mind,
    hunters_one_plain,
    hunters_oracle,
    hunters_phases,
    hunters_prosocial,
    hunters_selfish,
    hunters_shared_policy,
    hunters_spatial,
    hunters_taught,
)
from sparring.recipes.skirmish import (
    debug,
    fast_2s3z,
    fast_3m,
    fast_5m_vs_6m,
    fast_corridor,
    smac_3m,
    smac_corridor,
)
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig, SeatsConfig


def spread() -> RunConfig:
    """Cooperative navigation by one shared policy (IPPO)."""
    return RunConfig(
        game="particles:spread",
        total_steps=3_000_000,
        play=PlayConfig(worlds=128, steps=25),
        ppo=PPOConfig(learning_rate=Schedule.parse("1e-3 -> 0"), epochs=8),
        evaluation=EvalConfig(eval_every=50, eval_games=256),
    )


def tag() -> RunConfig:
    """Predators and prey learn against each other, each side with its own policy."""
    return RunConfig(
        game="particles:tag",
        total_steps=8_000_000,
        play=PlayConfig(worlds=128, steps=25),
        ppo=PPOConfig(learning_rate=Schedule.parse("1e-3 -> 1e-4"), entropy=Schedule.parse("0.05 -> 0.005")),
        evaluation=EvalConfig(eval_every=100, eval_games=256),
    )


def chase() -> RunConfig:
    """Tag by self-play in about two minutes on two cores."""
    return replace(tag(), total_steps=10_000_000, evaluation=EvalConfig(eval_every=60, eval_games=128))


GUNS = (
    "gun_cone=20 gun_far=2000 gun_damage=2 start_offensive=0.5 arena=6000",
    "gun_cone=10 gun_far=1500 gun_damage=2 start_offensive=0.5 arena=6000",
    "gun_cone=5 gun_far=1200 start_offensive=0.4 arena=8000",
    "gun_cone=2.5 start_offensive=0.4",
    "gun_cone=1.5",
    "gun_cone=1",
)
"""From a gun that a beginner can hit with to the game's own, and from a small sky to the whole one."""


def guns_until(metric: str, *marks: float) -> tuple[str, ...]:
    """GUNS as stages: each until the metric exceeds its mark, the last for ever."""
    return *(f"{rules} until {metric} > {mark:.9g}" for rules, mark in zip(GUNS[:-1], marks, strict=True)), GUNS[-1]


def demo() -> RunConfig:
    """A dogfight by self-play in three minutes on two cores: from chance to beating the lower half of the bots.

    `pursuit` and the price of time (`survival` below 0) make learners fight: with potentials alone they learned to part
    and to wait for the end. `blunder` takes away the gain of crashing before one is shot. Half of the games are against
    bots, all of the lower half of the ladder: with less, some seeds never learn to finish those that turn. Small blocks
    let all bots be met in every iteration. Stages end by steps: with few worlds, marks on `cause/gun` are passed by
    luck.
    """
    return RunConfig(
        game="dogfight",
        total_steps=20_000_000,
        shaping=("posture=0.5", "aim=0.5", "safety=1", "hits=2", "pursuit=0.05", "survival=-3", "blunder=2"),
        stages=guns_until("steps", 2e6, 4e6, 6.5e6, 9e6, 11.5e6),
        play=PlayConfig(worlds=256, steps=64, blocks=32),
        opponents=OpponentsConfig(
            current=Schedule.parse(0.3), shadow=Schedule.parse(0.05), history=Schedule.parse(0.15),
            bots=Schedule.parse(0.5), ladder=("straight", "novice", "lag", "patient", "eager", "pure"),
            bot_sampler="pfsp_hard", shrink=2.0,
        ),
        net=NetConfig(hidden=(64, 64), initial_std=0.5),
        ppo=PPOConfig(
            epochs=3, learning_rate=Schedule.parse("3e-3 -> 3e-4"), entropy=Schedule.parse(0.002),
            discount=Schedule.parse(0.995), shadow_half_life=Schedule.parse(30),
        ),
        evaluation=EvalConfig(eval_games=48, eval_times=2),
    )  # fmt: skip


def dogfight() -> RunConfig:
    """A dogfight in about 15 minutes on two cores, against all bots: beats each of them."""
    base = demo()
    return replace(
        base,
        total_steps=100_000_000,
        shaping=(*(term for term in base.shaping if "pursuit" not in term), "pursuit=0.05 -> 0.01"),
        stages=guns_until("steps", 4e6, 8e6, 13e6, 18e6, 24e6),
        play=PlayConfig(worlds=512, steps=64, blocks=64),
        opponents=replace(base.opponents, ladder=(), bot_floor=0.01),
        ppo=replace(base.ppo, learning_rate=Schedule.parse("2e-3 -> 1e-4"), minibatches=8),
        evaluation=replace(base.evaluation, eval_times=10),
    )


def dogfight_gpu() -> RunConfig:
    """A dogfight on one large GPU, with thousands of worlds: beats every bot after some minutes."""
    base = dogfight()
    return replace(
        base,
        total_steps=600_000_000,
        stages=guns_until("cause/gun", 0.4, 0.5, 0.5, 0.4, 0.4),
        play=PlayConfig(worlds=8192, steps=32, blocks=128),
        pool=PoolConfig(pool_size=20),
        net=NetConfig(hidden=(256, 256), initial_std=0.5),
        ppo=replace(
            base.ppo,
            epochs=2,
            minibatches=16,
            learning_rate=Schedule.parse("1e-3 -> 1e-4"),
            entropy=Schedule.parse(0.004),
        ),
    )


def hunt() -> RunConfig:
    """Predators learn to catch a fleeing bot."""
    return RunConfig(
        game="particles:tag",
        total_steps=3_000_000,
        seats=SeatsConfig(opponent="flee", side=0),
        play=PlayConfig(worlds=128, steps=25),
        evaluation=EvalConfig(eval_every=100, eval_games=256),
    )


RECIPES: dict[str, Callable[[], RunConfig]] = {
    make.__name__: make
    for make in (
        chase, debug, demo, dogfight, dogfight_gpu, fast_2s3z, fast_3m, fast_5m_vs_6m, fast_corridor, hunt,
        hunters, hunters_actions, hunters_goals, hunters_imagine, hunters_influence, hunters_mappo, hunters_meta,
        hunters_minds, hunters_near, hunters_oracle, hunters_phases,
        hunters_one_mind, hunters_one_plain, hunters_prosocial, hunters_selfish, hunters_shared_policy,
        hunters_spatial, hunters_taught,
        hyper_align_spread, hyper_mappo_3m, hyper_mappo_corridor, hyper_mappo_spread, hyper_net_spread,
        hyper_smooth_spread, mappo_3m, mappo_corridor, mappo_spread, smac_3m, smac_corridor, spread, tag,
    )
}  # fmt: skip
