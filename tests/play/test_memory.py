"""Recurrent players in play: each game is remembered from its own start, across rollouts, and no further."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.nets.config import NetConfig
from sparring.play.collect import begin, collect
from sparring.play.seating import seat
from toy_games import timetable
from toy_players import driver_of, learners_of, quick

LENGTH, STEPS = 3, 4
GAME = timetable([[0.0, 0.0]] * LENGTH, cut=True, masks=True)
NETS = {
    "gru": NetConfig(hidden=(8,), memory="gru", memory_size=6),
    "lstm": NetConfig(hidden=(8,), memory="lstm", memory_size=6, critic="central"),
}
"""Drivers of side 0 and of side 1."""


@pytest.fixture(scope="module")
def learners():
    return [learners_of(GAME, net, [player], gain=500.0) for player, net in enumerate(NETS.values())]


@pytest.fixture(scope="module")
def rollouts(learners):
    """Two rollouts, one after the other, of 3 worlds that stand at the clocks 0, 1 and 2; stretches of 2 steps."""
    seating = seat(GAME.spec, GAME.spec.seats_of_side, family_BK=[list(NETS)], learner_BK=[[0, 0]], worlds=3)
    drivers = [driver_of(learner) for learner in learners]
    cursor = quick(lambda key: begin(GAME, seating, drivers, key))(jax.random.key(0))
    cursor = cursor._replace(state=cursor.state._replace(clock=jnp.arange(3)))
    run = quick(lambda cursor, key: collect(GAME, seating, drivers, cursor, key, steps=STEPS, sequence=2))
    first, cursor, _ = run(cursor, jax.random.key(1))
    second, _, _ = run(cursor, jax.random.key(2))
    return jax.tree.map(np.asarray, (first, second))


@pytest.fixture(params=[0, 1], ids=list(NETS))
def side(request):
    return request.param


def alone(learner, rollout, world: int, steps: range):
    """One game of one world, step by step from blank memories: log-probabilities, values, and the critic's memory."""
    model = jax.tree.map(lambda x: x[0], learner.model)
    memory = model.actor.initial(1), model.critic.initial(1)
    log_probs, values = [], []
    for t in steps:
        seen = rollout.features_TWNF[t, 0, world]
        distribution, actor_memory = ACTOR(model.actor, seen, rollout.legal_TWNA[t, 0, world], memory[0])
        views = seen if rollout.views_TWVG is None else rollout.views_TWVG[t, 0, world]
        value, critic_memory = CRITIC(model.critic, views, memory[1])
        action = Action(rollout.action.discrete_SD[t, 0, world], rollout.action.continuous_SC[t, 0, world])
        log_probs.append(np.asarray(distribution.log_p_A)[0, action.discrete_SD[0, 0]])
        values.append(value.item())
        memory = actor_memory, critic_memory
    return log_probs, values, memory[1]


ACTOR = quick(lambda actor, *inputs: actor(*inputs))
CRITIC = quick(lambda critic, *inputs: critic(*inputs))


def games_of(world: int) -> list[range]:
    """The steps of each game of 8: world w begins at clock w, so it ends its first game after 3 - w steps."""
    borders = [0, *range(LENGTH - world, 2 * STEPS, LENGTH), 2 * STEPS]
    return [range(a, b) for a, b in pairwise(borders)]


def joined(rollouts, side: int):
    """Both rollouts of a side as one of 8 steps; the kept memories come one after another too."""
    return jax.tree.map(lambda a, b: np.concatenate([a, b]), rollouts[0][side], rollouts[1][side])


def test_every_game_is_played_as_if_it_were_the_only_one(learners, rollouts, side):
    rollout = joined(rollouts, side)
    assert np.ptp(rollout.log_prob_TWN) > 0.5  # policies far from uniform, or equal numbers would say little
    for world in range(3):
        for game in games_of(world):
            log_probs, values, _ = alone(learners[side], rollout, world, game)
            np.testing.assert_allclose(rollout.log_prob_TWN[game, 0, world, 0], log_probs, atol=1e-5)
            np.testing.assert_allclose(rollout.value_TWN[game, 0, world, 0], values, atol=1e-5)


def test_what_follows_a_cut_is_the_value_of_its_final_observation_remembering_the_game(learners, rollouts, side):
    rollout = joined(rollouts, side)
    for world in range(3):
        for game in games_of(world)[:-1]:
            end = game[-1]
            *_, memory = alone(learners[side], rollout, world, game)
            seat_and_ticket = rollout.features_TWNF[end, 0, world, 0, 1:]
            final = [[3.0, *seat_and_ticket]] if rollout.views_TWVG is None else [[3.0, 0.0]]
            critic = jax.tree.map(lambda x: x[0], learners[side].model.critic)
            value, _ = CRITIC(critic, jnp.asarray(final, jnp.float32), memory)
            assert rollout.ended_TWN[end, 0, world, 0]
            assert rollout.next_value_TWN[end, 0, world, 0] == pytest.approx(value.item(), abs=1e-5)


def test_the_memory_kept_for_training_is_that_before_each_stretch(learners, rollouts, side):
    rollout = joined(rollouts, side)
    # World 0 is at clock 2 when its second stretch, step 2, begins: its game began at step 0.
    *_, memory = alone(learners[side], rollout, 0, range(0, 2))
    for kept, expected in zip(jax.tree.leaves(rollout.memory[1]), jax.tree.leaves(memory), strict=True):
        assert kept.shape[0] == 2 * STEPS // 2
        np.testing.assert_allclose(kept[1, 0, 0], expected, atol=1e-5)
        np.testing.assert_array_equal(kept[0], np.zeros_like(kept[0]))
