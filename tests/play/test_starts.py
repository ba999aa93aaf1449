from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.play.rollout import Driver
from sparring.play.roster import stack
from sparring.play.starts import draw, fresh_starts, starts_needed
from toy_games import timetable
from toy_players import Always, mirror, play, reader


def restarts(steps: int, first_end: int, length: int) -> int:
    """How often a world restarts whose running game ends at `first_end`, and whose later games have that length."""
    return sum(1 for step in range(steps) if step >= first_end and (step - first_end) % length == 0)


@pytest.mark.parametrize("shortest", [1, 2, 3, 7])
def test_there_are_as_many_starts_as_the_unluckiest_world_needs_and_no_more(shortest):
    for steps in range(1, 16):
        worst = max(restarts(steps, end, length) for end, length in product(range(steps), range(shortest, 20)))
        assert starts_needed(steps, shortest) == worst


def test_a_world_takes_its_own_next_unused_start():
    # Entry [r, v] is 10 r + v.
    bank_RV = {"ticket": jnp.arange(3)[:, None] * 10 + jnp.arange(4)}
    np.testing.assert_array_equal(draw(bank_RV, jnp.array([2, 0, 1, 0]))["ticket"], [20, 1, 12, 3])


def test_fresh_starts_are_all_different():
    tickets = fresh_starts(timetable([[0.0, 0.0]]), jax.random.key(0), 5, 4).ticket
    assert tickets.shape == (5, 4)
    assert len(np.unique(tickets)) == 20


def test_every_start_of_a_rollout_is_used_once():
    # World 1 stands before the last of 2 steps: it restarts at steps 0, 2, 4 and 6, which takes all 4 starts there are.
    game = timetable([[0.0, 0.0]] * 2)
    drivers = [Driver(stack([Always.make(game, 0)]), reader(), jnp.zeros(1, jnp.uint32))]
    (rollout,), cursor, games = play(game, mirror(game, worlds=4), drivers, steps=7, clock_V=[0, 1, 0, 1])
    tickets_TW = rollout.features_TWNF[:, 0, :4, 0, 2]
    restarts_W = games.finished_TBW[:, 0].sum(0)
    np.testing.assert_array_equal(restarts_W, [3, 4, 3, 4])
    # The last restart of worlds 1 and 3 is seen in the cursor only.
    assert len(np.unique([*tickets_TW.ravel(), *cursor.state.ticket])) == 4 + 3 + 4 + 3 + 4
    for world in range(4):
        assert len(np.unique([*tickets_TW[:, world], cursor.state.ticket[world]])) == 1 + restarts_W[world]
