"""Recipes for battles: as the authors of MAPPO ship them, the same with many worlds, and one that is over in seconds.

The shipped ones (marlbenchmark/on-policy de66d7a) play 8 worlds of 400 steps and learn from each rollout as one
minibatch, for 10 million steps of the game. The fast ones play many worlds for few steps, so that a machine is busy.
"""

from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.games.skirmish.maps import MAPS
from sparring.learn.config import PPOConfig
from sparring.recipes.presets import Preset, mappo, rmappo
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig

SHIPPED_STEPS = 10_000_000
"""Of the game; a run counts the steps of every agent."""
VIEWS = ("obs_kind=mappo", "state_kind=feature_pruned")
"""Of actor and critic, as in MAPPO's own environment."""


def smac_3m() -> RunConfig:
    """Three marines a side, with the settings that MAPPO ships: recurrent, 15 epochs, 8 worlds of 400 steps."""
    return _shipped("3m", rmappo(), epochs=15)


def smac_corridor() -> RunConfig:
    """Six zealots against 24 zerglings, with the settings that MAPPO ships: feed-forward, 5 epochs, 8 worlds."""
    return _shipped("corridor", mappo(), epochs=5)


def _shipped(name: str, base: Preset, *, epochs: int) -> RunConfig:
    return RunConfig(
        game=f"skirmish:{name}",
        options=VIEWS,
        total_steps=SHIPPED_STEPS * len(MAPS[name].kinds(0)),
        play=PlayConfig(worlds=8, steps=400),
        net=base.net,
        ppo=replace(base.ppo, epochs=epochs, target_kl=Schedule.parse(0.0)),
        evaluation=EvalConfig(eval_every=25, eval_games=32),
    )


def fast_3m() -> RunConfig:
    """Three marines a side with many worlds: wins nearly always after a minute or two on two cores."""
    return _fast("3m", total_steps=3_000_000, play=PlayConfig(worlds=256, steps=32))


def fast_2s3z() -> RunConfig:
    """Two stalkers and three zealots a side with many worlds, for one GPU."""
    return _fast("2s3z", total_steps=50_000_000)


def fast_5m_vs_6m() -> RunConfig:
    """Five marines against six with many worlds, for one GPU: careful steps, as MAPPO takes on this map."""
    base = _fast("5m_vs_6m", total_steps=100_000_000)
    careful = replace(base.ppo, epochs=10, minibatches=1, clip=Schedule.parse(0.05), learning_rate=Schedule.parse(5e-4))
    return replace(base, ppo=careful)


def fast_corridor() -> RunConfig:
    """Six zealots against 24 zerglings with many worlds, for one GPU."""
    return _fast("corridor", total_steps=120_000_000)


def _fast(name: str, *, total_steps: int, play: PlayConfig | None = None) -> RunConfig:
    base = mappo()
    return RunConfig(
        game=f"skirmish:{name}",
        options=VIEWS,
        total_steps=total_steps,
        play=play or PlayConfig(worlds=512, steps=64),
        net=base.net,
        ppo=replace(
            base.ppo,
            epochs=5,
            minibatches=4,
            learning_rate=Schedule.parse("1e-3 -> 1e-4"),
            target_kl=Schedule.parse(0.0),
        ),
        evaluation=EvalConfig(eval_every=20, eval_games=128),
    )


def debug() -> RunConfig:
    """Two marines against a zealot for a few thousand steps: does everything run? Over in seconds once compiled."""
    return RunConfig(
        game="skirmish:2m_vs_1z",
        options=VIEWS,
        total_steps=4096,
        play=PlayConfig(worlds=8, steps=16),
        net=mappo().net,
        ppo=PPOConfig(epochs=1, minibatches=1),
        evaluation=EvalConfig(eval_games=8),
    )
