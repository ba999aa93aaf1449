"""Our particles and the mpe2 package, side by side: same states and actions, same next states, views and rewards.

Both run in 64 bits, where a difference of 1e-9 is a difference of rules and not of rounding.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import mpe2.simple_spread.simple_spread as mpe2_spread
import mpe2.simple_tag.simple_tag as mpe2_tag
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.spread import spread
from sparring.games.particles.tag import tag

TOLERANCE = 1e-9


def in_64_bits() -> AbstractContextManager:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64  # its home before jax 0.8

    return enable_x64(True)


def random_state(game: Game, rng: np.random.Generator, crowd: float) -> ParticleState:
    """Places within `crowd` of the centre: 0.3 makes nearly everyone overlap, 1.2 sends some across the border."""
    landmarks = game.start(jax.random.key(0)).landmark_EX.shape[0]
    position_SX = rng.uniform(-crowd, crowd, (game.spec.seats, 2))
    velocity_SX = rng.normal(0.0, 0.8, (game.spec.seats, 2))
    landmark_EX = rng.uniform(-crowd, crowd, (landmarks, 2))
    return ParticleState(*map(jnp.asarray, (position_SX, velocity_SX, landmark_EX)), jnp.zeros((), jnp.int32))


def random_action(game: Game, rng: np.random.Generator) -> Action:
    seats = game.spec.seats
    if game.spec.action.heads:
        return Action(jnp.asarray(rng.integers(0, 5, (seats, 1)), jnp.int32), jnp.zeros((seats, 0)))
    return Action(jnp.zeros((seats, 0), jnp.int32), jnp.asarray(rng.uniform(0.0, 1.0, (seats, 5))))


def put(state: ParticleState, world: Any) -> None:
    for agent, place, velocity in zip(world.agents, state.position_SX, state.velocity_SX, strict=True):
        agent.state.p_pos, agent.state.p_vel = np.array(place), np.array(velocity)
        agent.state.c = np.zeros(world.dim_c)
    for landmark, place in zip(world.landmarks, state.landmark_EX, strict=True):
        landmark.state.p_pos, landmark.state.p_vel = np.array(place), np.zeros(2)


def compare(game: Game, oracle: Any, *, crowd: float, starts: int, steps: int, seed: int) -> int:
    """Play both from the same random states; returns how many contacts with reward were met on the way."""
    rng = np.random.default_rng(seed)
    step, observe = eqx.filter_jit(game.step), eqx.filter_jit(game.observe)
    rewarded = 0
    for _ in range(starts):
        oracle.reset(seed=0)
        state = random_state(game, rng, crowd)
        put(state, oracle.world)
        for _ in range(steps):
            check_views(np.asarray(observe(state).features_SF), oracle)
            action = random_action(game, rng)
            state, result = step(state, action, ())
            rows = action.discrete_SD[:, 0].tolist() if game.spec.action.heads else np.array(action.continuous_SC)
            for choice in rows:
                oracle.step(choice)
            agents = oracle.world.agents
            np.testing.assert_allclose(state.position_SX, [a.state.p_pos for a in agents], rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(state.velocity_SX, [a.state.p_vel for a in agents], rtol=0, atol=TOLERANCE)
            expected = [oracle.rewards[a.name] for a in agents]
            np.testing.assert_allclose(result.reward_S, expected, rtol=0, atol=TOLERANCE)
            rewarded += int(np.ptp(expected) > 0.4)
    return rewarded


def check_views(features_SF: np.ndarray, oracle: Any) -> None:
    for row_F, agent in zip(features_SF, oracle.world.agents, strict=True):
        expected = oracle.scenario.observation(agent, oracle.world)
        np.testing.assert_allclose(row_F[: len(expected)], expected, rtol=0, atol=TOLERANCE)
        assert not row_F[len(expected) :].any()


Oracle = Callable[..., Any]


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(("agents", "local_ratio"), [(3, 0.5), (4, 0.2)])
def test_spread_moves_sees_and_pays_as_mpe2(agents: int, local_ratio: float, continuous: bool) -> None:
    oracle = mpe2_spread.raw_env(N=agents, local_ratio=local_ratio, max_cycles=1000, continuous_actions=continuous)
    with in_64_bits():
        game = spread(agents=agents, local_ratio=local_ratio, continuous=continuous)
        compare(game, oracle, crowd=1.2, starts=6, steps=4, seed=1)
        assert compare(game, oracle, crowd=0.3, starts=12, steps=4, seed=2) > 0


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(("predators", "prey", "obstacles"), [(3, 1, 2), (2, 2, 1)])
def test_tag_moves_sees_and_pays_as_mpe2(predators: int, prey: int, obstacles: int, continuous: bool) -> None:
    oracle = mpe2_tag.raw_env(
        num_good=prey,
        num_adversaries=predators,
        num_obstacles=obstacles,
        max_cycles=1000,
        continuous_actions=continuous,
    )
    with in_64_bits():
        game = tag(predators=predators, prey=prey, obstacles=obstacles, continuous=continuous)
        compare(game, oracle, crowd=1.2, starts=6, steps=4, seed=1)
        assert compare(game, oracle, crowd=0.3, starts=12, steps=4, seed=2) > 0


@pytest.mark.parametrize(("ours", "theirs"), [(spread, mpe2_spread), (tag, mpe2_tag)])
def test_both_stop_by_a_time_limit_after_the_same_step(ours: Callable[..., Game], theirs: Any) -> None:
    game, oracle = ours(steps=3), theirs.raw_env(max_cycles=3)
    oracle.reset(seed=0)
    state = game.start(jax.random.key(0))
    still = Action(jnp.zeros((game.spec.seats, 1), jnp.int32), jnp.zeros((game.spec.seats, 0)))
    step = eqx.filter_jit(game.step)
    for _ in range(3):
        state, result = step(state, still, ())
        for _ in range(game.spec.seats):
            oracle.step(0)
        assert bool(result.cut) == any(oracle.truncations.values())
        assert not bool(result.over)
        assert not any(oracle.terminations.values())
    assert bool(result.cut)
