from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.setup.beginning import first_state
from sparring.setup.config import PlayConfig
from toy_games import flip_flop

DISCOUNT = 0.8
VALUES = {
    # The chain goes on for ever: V(0) = 1 + 0.8 V(1) and V(1) = 0.8 V(0), so V(0) = 1 / (1 - 0.64).
    "cut": (True, [1 / 0.36, 0.8 / 0.36]),
    # Three steps 0, 1, 0 and nothing follows. Place 0 is seen at the first step, worth 1 + 0.64, and at the last,
    # worth 1: on average 1.32. Place 1 is worth 0.8.
    "over": (False, [1.32, 0.8]),
}


@pytest.mark.parametrize("value_norm", ["none", "popart"])
@pytest.mark.parametrize(("cut", "values"), VALUES.values(), ids=VALUES)
def test_a_critic_learns_the_value_beyond_a_time_limit_and_none_beyond_the_end(program, tiny, cut, values, value_norm):
    ppo = PPOConfig(
        value_norm=value_norm,
        epochs=4, minibatches=1, discount=Schedule.parse(DISCOUNT), decay=Schedule.parse(1.0),
        learning_rate=Schedule.parse("0.02 -> 0.0005"), value_weight=Schedule.parse(1.0), recompute_old=True,
    )  # fmt: skip
    # Rollouts of 6 steps hold whole games, so with decay 1 an over game's targets are its own rewards.
    config = replace(tiny, ppo=ppo, play=PlayConfig(worlds=4, steps=6), total_steps=150 * 24)
    built, iterate = program(config, flip_flop)
    game, state = flip_flop(cut), first_state(built)
    gaps = []
    for iteration in range(built.iterations):
        state, report = iterate(
            game, state, built.rosters, built.standing, built.knobs(iteration), built.seeds_R, iteration
        )
        gaps.append(report.stats[0].first_ratio_gap)
    critic = jax.tree.map(lambda x: x[0, 0], state.learners[0].model.critic)
    learned, _ = critic(jnp.eye(2), ())
    np.testing.assert_allclose(learned, values, atol=0.03)
    assert np.asarray(gaps).max() == 0.0
    assert report.tally.games_B.item() == 8
