"""Recipes for actors whose weights are generated, each beside the plain MAPPO from which it differs in nothing else.

They are stages: the network alone, with smooth changes, with an anchor, and with both.
"""

from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.recipes.presets import mappo
from sparring.recipes.skirmish import smac_3m, smac_corridor
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig

SMOOTH, ALIGN = Schedule.parse(0.1), Schedule.parse(0.05)
SYNC = 100
"""Gradient steps after which the target is a new copy of the policy; the shadow moves once an iteration."""


def mappo_spread() -> RunConfig:
    """Cooperative navigation by MAPPO: one shared policy, a critic that sees all."""
    base = mappo()
    return RunConfig(
        game="particles:spread",
        total_steps=5_000_000,
        play=PlayConfig(worlds=128, steps=25),
        net=base.net,
        ppo=base.ppo,
        evaluation=EvalConfig(eval_every=50, eval_games=256),
    )


def mappo_3m() -> RunConfig:
    """`smac_3m`: three marines a side, with the settings that MAPPO ships."""
    return smac_3m()


def mappo_corridor() -> RunConfig:
    """`smac_corridor`: six zealots against 24 zerglings, with the settings that MAPPO ships."""
    return smac_corridor()


def hyper_mappo_spread() -> RunConfig:
    """`mappo_spread` with generated weights, smooth changes and an anchor."""
    return anchored(smoothed(generated(mappo_spread())))


def hyper_mappo_3m() -> RunConfig:
    """`mappo_3m` with generated weights, smooth changes and an anchor."""
    return anchored(smoothed(generated(mappo_3m())))


def hyper_mappo_corridor() -> RunConfig:
    """`mappo_corridor` with generated weights, smooth changes and an anchor."""
    return anchored(smoothed(generated(mappo_corridor())))


def hyper_net_spread() -> RunConfig:
    """The first stage: `mappo_spread` with generated weights, and nothing else."""
    return generated(mappo_spread())


def hyper_smooth_spread() -> RunConfig:
    """The second stage: generated weights that are to change little from step to step."""
    return smoothed(generated(mappo_spread()))


def hyper_align_spread() -> RunConfig:
    """The third stage: generated weights and an anchor, a copy of the policy that is renewed now and then."""
    return anchored(generated(mappo_spread()))


def generated(config: RunConfig) -> RunConfig:
    return replace(config, net=replace(config.net, hyper="residual"))


def smoothed(config: RunConfig) -> RunConfig:
    return replace(config, ppo=replace(config.ppo, smooth=SMOOTH))


def anchored(config: RunConfig) -> RunConfig:
    ppo = config.ppo
    every = max(1, round(SYNC / (ppo.epochs * ppo.minibatches)))
    return replace(config, ppo=replace(ppo, anchor=ALIGN, shadow_tau=Schedule.parse(1.0), shadow_every=every))
