"""A reward of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.games.contract import check_game
from sparring.games.own_parts import with_reward
from sparring.games.registry import make


def first_choice(before, action, after, step):
    del before, after, step
    return 2.0 * action.discrete_SD[:, 0]


def test_a_reward_of_ones_own_is_one_more_term_and_leaves_the_game_as_it_was():
    plain = make("matrix:rock_paper_scissors")
    game = with_reward(plain, first_choice)
    assert game.spec.terms_of("reward") == ("own",)
    state = game.start(jax.random.key(0))
    action = Action(jnp.asarray([[1], [2]]), jnp.zeros((2, 0)))
    _, step = game.step(state, action, game.chance(jax.random.key(1)))
    _, before = plain.step(state, action, plain.chance(jax.random.key(1)))
    np.testing.assert_array_equal(step.terms_SJ, [[2.0], [4.0]])
    np.testing.assert_array_equal(step.reward_S, before.reward_S)


def test_it_keeps_the_contract_and_the_bots_of_its_game():
    game = with_reward(make("kuhn"), first_choice)
    check_game(game, worlds=2, games=1, eager=False)
    assert game.bots().names == make("kuhn").bots().names


def test_rules_can_still_be_changed():
    game = with_reward(make("kuhn"), first_choice).with_rules(ante=3.0)
    assert float(game.inner.rules.ante) == 3.0


def test_a_name_that_is_taken_is_refused():
    game = with_reward(make("kuhn"), first_choice)
    with pytest.raises(ConfigError, match="another name"):
        with_reward(game, first_choice)
