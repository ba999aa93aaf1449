"""Rollouts of games whose every step is known. Values are what `Reader` reads, so they are known as well."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.spec import ActionSpec
from sparring.nets.config import NetConfig
from sparring.play.rollout import Driver, Games, tally
from sparring.play.roster import stack
from sparring.play.seating import seat
from toy_games import timetable
from toy_players import Always, driver_of, learners_of, mirror, play, reader

PAY = [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]
"""A duel of 3 steps."""
CLOCKS = [0, 1]
"""World 0 is at the start of a game and world 1 one step on: their clocks read 0 1 2 0 1 and 1 2 0 1 2."""


def always(game, *choices: int, critic=None) -> Driver:
    policy = stack([Always.make(game, choice) for choice in choices])
    return Driver(policy, critic, jnp.arange(len(choices), dtype=jnp.uint32))


def duel(*, weight: float = 0.0, **options):
    """Two independent learners; leaves [T, L, W, N]."""
    game = timetable(PAY, **options)
    drivers = [always(game, 0, 0, critic=reader(2, weight=weight))]
    (rollout,), cursor, games = play(game, mirror(game, independent=True), drivers, steps=5, clock_V=CLOCKS)
    return rollout, cursor, games


@pytest.fixture(scope="module")
def over():
    return duel()


@pytest.fixture(scope="module")
def cut():
    return duel(cut=True, weight=100.0)


def test_every_seat_gets_its_own_reward_and_the_flags_of_its_own_world(over):
    rollout, _, _ = over
    np.testing.assert_array_equal(rollout.reward_TWN[:, 0, :, 0].T, [[1, 2, 4, 1, 2], [2, 4, 1, 2, 4]])
    np.testing.assert_array_equal(rollout.reward_TWN[:, 1, :, 0].T, [[10, 20, 40, 10, 20], [20, 40, 10, 20, 40]])
    np.testing.assert_array_equal(rollout.start_TW[:, 0].T, [[1, 0, 0, 1, 0], [1, 0, 1, 0, 0]])
    ends = [[0, 0, 1, 0, 0], [0, 1, 0, 0, 1]]
    for learner in (0, 1):
        np.testing.assert_array_equal(rollout.over_TWN[:, learner, :, 0].T, ends)
        np.testing.assert_array_equal(rollout.ended_TWN[:, learner, :, 0].T, ends)


def test_the_next_value_is_that_of_the_next_step(over):
    rollout, _, _ = over
    # The value of a seat is its clock. What follows an over game nobody reads: the next game's start stands there, and
    # after the last step the final observation.
    np.testing.assert_array_equal(rollout.value_TWN[:, 0, :, 0].T, [[0, 1, 2, 0, 1], [1, 2, 0, 1, 2]])
    np.testing.assert_array_equal(rollout.next_value_TWN[:, 0, :, 0].T, [[1, 2, 0, 1, 2], [2, 0, 1, 2, 3]])


def test_a_cut_game_is_ended_but_not_over(cut):
    rollout, _, _ = cut
    assert not rollout.over_TWN.any()
    np.testing.assert_array_equal(rollout.ended_TWN[:, 1, :, 0].T, [[0, 0, 1, 0, 0], [0, 1, 0, 0, 1]])


def test_the_next_value_of_a_cut_game_is_that_of_its_final_observation(cut):
    rollout, _, _ = cut
    # Value = clock + 100 times the steps the critic remembers, this one included; world 1 began with a blank memory.
    np.testing.assert_array_equal(
        rollout.value_TWN[:, 0, :, 0].T, [[100, 201, 302, 100, 201], [101, 202, 100, 201, 302]]
    )
    # A final observation has clock 3 and is remembered as a step more; the next game's first would be worth 100.
    next_value = [[201, 302, 403, 201, 302], [202, 303, 201, 302, 403]]
    np.testing.assert_array_equal(rollout.next_value_TWN[:, 0, :, 0].T, next_value)
    np.testing.assert_array_equal(rollout.next_value_TWN[:, 1, :, 0].T, next_value)


def test_the_step_after_the_rollout_is_judged_with_the_memory_of_its_game():
    # World 0 goes on at clock 2, its third step; world 1 ended its game at clock 3.
    rollout, cursor, _ = duel(weight=100.0)
    np.testing.assert_array_equal(rollout.next_value_TWN[-1, 0, :, 0], [302, 403])
    np.testing.assert_array_equal(cursor.start_BW, [[False, True]])


def test_returns_and_lengths_are_those_of_the_game_that_ended(over):
    _, cursor, games = over
    np.testing.assert_array_equal(games.finished_TBW[:, 0].T, [[0, 0, 1, 0, 0], [0, 1, 0, 0, 1]])
    done = games.finished_TBW[:, 0]
    np.testing.assert_array_equal(games.length_TBW[:, 0][done], [2, 3, 3])  # world 1's first, world 0's, world 1's next
    np.testing.assert_array_equal(games.return_TBWS[:, 0][done], [[6, 60], [7, 70], [7, 70]])
    np.testing.assert_array_equal(games.outcome_TBWK[:, 0][done], [[1, -1]] * 3)
    # World 0 is two steps into a game, world 1 at a start.
    np.testing.assert_array_equal(cursor.return_BWS, [[[3, 30], [0, 0]]])
    np.testing.assert_array_equal(cursor.length_BW, [[2, 0]])
    np.testing.assert_array_equal(cursor.state.clock, [2, 0])


def test_a_tally_counts_completed_games_only(over):
    _, _, games = over
    result = tally(jax.tree.map(jnp.asarray, games))
    assert (result.games_B.item(), result.length_B.item()) == (3, 8)
    np.testing.assert_array_equal(result.return_BS, [[20, 200]])
    np.testing.assert_array_equal(result.return_square_BS, [[36 + 49 + 49, 3600 + 4900 + 4900]])
    np.testing.assert_array_equal(result.won_BK, [[3, 0]])
    np.testing.assert_array_equal(result.lost_BK, [[0, 3]])
    np.testing.assert_array_equal(result.drawn_BK, [[0, 0]])


def test_a_tally_keeps_blocks_apart_and_reads_outcomes_only_where_a_game_ended():
    # Two steps, two blocks of one world, one seat: block 0 ends both games, block 1 its second.
    games = Games(
        finished_TBW=jnp.array([[[True], [False]], [[True], [True]]]),
        return_TBWS=jnp.array([[[[2.0]], [[50.0]]], [[[-3.0]], [[1.0]]]]),
        length_TBW=jnp.array([[[1], [8]], [[1], [9]]]),
        outcome_TBWK=jnp.array([[[[1.0]], [[-1.0]]], [[[-1.0]], [[0.0]]]]),
    )
    result = tally(games)
    np.testing.assert_array_equal(result.games_B, [2, 1])
    np.testing.assert_array_equal(result.length_B, [2, 9])
    np.testing.assert_array_equal(result.return_BS, [[-1], [1]])
    np.testing.assert_array_equal(result.return_square_BS, [[13], [1]])
    np.testing.assert_array_equal(result.won_BK, [[1], [0]])
    np.testing.assert_array_equal(result.drawn_BK, [[0], [1]])
    np.testing.assert_array_equal(result.lost_BK, [[1], [0]])


@pytest.fixture(scope="module")
def hunt():
    """Seats 0 and 2 against seat 1, 3 steps, echoing choices. Seat 2 leaves at step 1, seat 1 is idle at step 0."""
    game = timetable([[1.0, 2.0, 3.0]] * 3, side_of_seat=(0, 1, 0), leaves={2: 1}, idle=[(0, 1)], echo=10.0, cut=True)
    seating = seat(game.spec, game.spec.seats_of_side, family_BK=[["a", "b"]], learner_BK=[[0, 0]], worlds=1)
    drivers = [always(game, 1, critic=reader()), always(game, 2, critic=reader(sees="central"))]
    rollouts, _, _ = play(game, seating, drivers, steps=4, clock_V=[0])
    return rollouts


def test_sides_of_different_size_get_rollouts_of_their_own_seats(hunt):
    hunters, prey = hunt
    # 10 for the choice of the own driver (1 for hunters, 2 for prey) where it acts, plus the seat's pay.
    np.testing.assert_array_equal(hunters.reward_TWN[:, 0, 0], [[11, 13], [11, 13], [11, 3], [11, 13]])
    np.testing.assert_array_equal(prey.reward_TWN[:, 0, 0], [[2], [22], [22], [2]])
    np.testing.assert_array_equal(hunters.features_TWNF[:, 0, 0, :, 1], [[0, 2]] * 4)
    np.testing.assert_array_equal(prey.features_TWNF[:, 0, 0, :, 1], [[1]] * 4)
    assert hunters.views_TWVG is None
    np.testing.assert_array_equal(prey.views_TWVG[:, 0, 0, 0, 0], [0, 1, 2, 0])


def test_a_seat_that_leaves_is_over_then_and_absent_after_while_the_others_go_on(hunt):
    hunters, prey = hunt
    np.testing.assert_array_equal(hunters.over_TWN[:, 0, 0], [[0, 0], [0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(hunters.ended_TWN[:, 0, 0], [[0, 0], [0, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(hunters.present_TWN[:, 0, 0], [[1, 1], [1, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(hunters.acting_TWN[:, 0, 0], [[1, 1], [1, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(prey.over_TWN[:, 0, 0], [[0]] * 4)


def test_a_seat_that_does_not_act_is_present_and_its_choice_is_certain(hunt):
    _, prey = hunt
    np.testing.assert_array_equal(prey.present_TWN[:, 0, 0, 0], [1, 1, 1, 1])
    np.testing.assert_array_equal(prey.acting_TWN[:, 0, 0, 0], [0, 1, 1, 0])
    np.testing.assert_array_equal(prey.legal_TWNA[0, 0, 0, 0], [True, False, False])
    np.testing.assert_array_equal(prey.action.discrete_SD[:, 0, 0, 0, 0], [0, 2, 2, 0])
    assert prey.log_prob_TWN[0, 0, 0, 0] == 0.0


def test_the_game_gets_actions_within_bounds_and_the_rollout_the_raw_sample():
    action = ActionSpec(low=(-0.1, 0.0), high=(0.1, 0.2))
    game = timetable([[0.0]] * 2, echo=1.0, action=action)
    drivers = [driver_of(learners_of(game, NetConfig(hidden=(), initial_std=1.0), [0]))]
    (rollout,), _, _ = play(game, mirror(game, worlds=8), drivers, steps=2)
    raw = rollout.action.continuous_SC[:, 0, :, 0]
    assert (np.abs(raw) > 0.3).any()
    np.testing.assert_allclose(
        rollout.reward_TWN[:, 0, :, 0], np.clip(raw[..., 0], -0.1, 0.1) + np.clip(raw[..., 1], 0.0, 0.2), atol=1e-6
    )


def test_each_player_acts_in_its_own_seats_of_every_block():
    # Player rows choose 0, 1, 2. Block 0 seats rows 0 and 1; in block 1 they change sides; in block 2 row 2 of the
    # frozen family opposes. The reward echoes who sat where.
    game = timetable([[0.0, 100.0]], echo=1.0)
    seating = seat(
        game.spec,
        game.spec.seats_of_side,
        family_BK=[["a", "a"], ["a", "a"], ["b", "b"]],
        learner_BK=[[0, 1], [1, 0], [-1, -1]],
        worlds=1,
    )
    drivers = [always(game, 0, 1, critic=reader(2)), always(game, 2, 1)]
    (rollout,), _, games = play(game, seating, drivers, steps=1)
    np.testing.assert_array_equal(games.return_TBWS[0, :, 0], [[0, 101], [1, 100], [2, 101]])
    # Row 0 learns from side 0 of block 0 and side 1 of block 1, row 1 from the other two.
    np.testing.assert_array_equal(rollout.reward_TWN[0, :, :, 0], [[0, 100], [101, 1]])


def test_without_exploration_everyone_takes_the_likeliest_action():
    game = timetable(PAY)
    policy = stack([Always.make(game, 2, probability=0.6)] * 2)
    drivers = [Driver(policy, reader(2), jnp.arange(2, dtype=jnp.uint32))]
    seating = mirror(game, independent=True)
    (sampled,), _, _ = play(game, seating, drivers, steps=5, clock_V=CLOCKS)
    (likeliest,), _, _ = play(game, seating, drivers, steps=5, clock_V=CLOCKS, explore=False)
    assert set(np.unique(sampled.action.discrete_SD)) == {0, 2}
    assert set(np.unique(likeliest.action.discrete_SD)) == {2}
    np.testing.assert_allclose(likeliest.log_prob_TWN, np.log(0.6), rtol=1e-5)
