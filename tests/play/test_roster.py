import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.spec import ActionSpec
from sparring.games.matrix import matrix_game, rock_paper_scissors
from sparring.play.decide import look
from sparring.play.relay import decide_weakened, random_action
from sparring.play.rollout import Driver
from sparring.play.roster import split, stack, take
from sparring.play.scripted import Scripted, bot_names
from sparring.play.seating import seat
from sparring.play.starts import fresh_starts
from toy_games import timetable
from toy_players import Always, quick

CALL = quick(lambda policy, *inputs: policy(*inputs))


def test_rows_of_a_roster_are_the_policies_it_was_made_of():
    game = timetable([[0.0, 0.0]])
    roster = stack([Always.make(game, choice) for choice in (2, 0, 1)])
    assert [int(policy.choice) for policy in split(roster, 3)] == [2, 0, 1]
    assert int(take(roster, 1).choice) == 0
    np.testing.assert_array_equal(take(roster, np.array([2, 2, 0])).choice, [1, 1, 2])


def test_another_opponent_is_another_row_of_the_same_program():
    game = timetable([[0.0, 0.0]])
    roster = stack([Always.make(game, choice) for choice in (2, 0)])
    chosen = quick(lambda roster, row: take(roster, row).choice)
    assert [int(chosen(roster, jnp.asarray(row))) for row in (0, 1)] == [2, 0]
    assert chosen._cache_size() == 1


def test_random_play_is_uniform_over_what_is_legal():
    game = matrix_game(np.zeros((2, 4, 4)))
    legal_NA = np.array([[True, False, True, True], [True, False, False, False]])
    distribution, _ = CALL(Scripted.make(game, "random"), np.zeros((2, 1), np.float32), legal_NA, ())
    np.testing.assert_allclose(np.exp(distribution.log_p_A), [[1 / 3, 0, 1 / 3, 1 / 3], [1, 0, 0, 0]], rtol=1e-6)


def test_a_bot_plays_its_script_and_leaves_illegal_entries_alone():
    game = rock_paper_scissors()
    bot = Scripted.make(game, "always_1")
    assert bot.initial(4, 2) == ()
    legal_NA = np.array([[True, True, True], [True, False, True]])
    distribution, _ = CALL(bot, np.zeros((2, game.spec.features), np.float32), legal_NA, ())
    np.testing.assert_allclose(np.exp(distribution.log_p_A), [[0, 1, 0], [0.5, 0, 0.5]], atol=1e-6)


def test_random_play_of_continuous_actions_is_centred_in_the_bounds_with_half_their_width_as_deviation():
    game = timetable([[0.0]], action=ActionSpec(low=(-1.0, 0.0), high=(1.0, 8.0)))
    distribution, _ = CALL(Scripted.make(game, "random"), np.zeros((1, 3), np.float32), np.ones((1, 0), bool), ())
    np.testing.assert_allclose(distribution.mean_C, [[0.0, 4.0]])
    np.testing.assert_allclose(np.exp(distribution.log_std_C), [[1.0, 4.0]], rtol=1e-6)


def test_what_weakens_a_player_is_legal_and_anywhere_within_the_bounds():
    action = ActionSpec(heads=(3,), low=(1.0,), high=(3.0,))
    legal_NA = jnp.array([[True, False, True]] * 3)
    wild = random_action(action, legal_NA, jnp.array([[0.1], [0.4], [0.6]]), jnp.array([[0.0], [9.0], [-9.0]]))
    np.testing.assert_array_equal(wild.discrete_SD, [[0], [0], [2]])
    np.testing.assert_allclose(wild.continuous_SC, [[2.0], [3.0], [1.0]], atol=1e-6)


def test_a_weakened_player_chooses_at_random_in_as_large_a_share_as_was_asked_for():
    game = timetable([[0.0]])
    seating = seat(game.spec, ((0,),), family_BK=[["past"]], learner_BK=[[-1]], worlds=4)
    driver = Driver(stack([Always.make(game, 0)]), None, jnp.zeros(1, jnp.uint32), jnp.ones(1), jnp.array([0.25]))
    coin = jnp.array([0.1, 0.24, 0.26, 0.9]).reshape(1, 4, 1)
    noise = (jnp.full((1, 4, 1, 1), 0.99), jnp.zeros((1, 4, 1, 0)), coin)  # a random choice is the last entry

    @quick
    def drawn():
        sight = look(game, seating, [driver], fresh_starts(game, jax.random.key(0), 4))
        return decide_weakened(seating, seating.groups[0], driver, sight, (), noise).action.discrete_SD.ravel()

    last = game.spec.action.entries - 1
    np.testing.assert_array_equal(drawn(), [last, last, 0, 0])


def test_an_unknown_bot_is_an_error_that_names_the_nearest():
    game = rock_paper_scissors()
    assert bot_names(game)[:2] == ("random", "always_0")
    with pytest.raises(ConfigError, match=r"Unknown bot 'always1'\. Did you mean 'always_1'"):
        Scripted.make(game, "always1")
