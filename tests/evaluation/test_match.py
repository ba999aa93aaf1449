from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.seeding import Seed
from sparring.evaluation.match import Match, family_of, first_games, prepare_match
from sparring.games.matrix import matrix_game
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.play.chance import stream
from sparring.play.rollout import Games
from sparring.play.scripted import Scripted
from sparring.play.starts import fresh_starts
from toy_games import lottery, timetable
from toy_players import Always


def prepared(game, lineups, players, **options) -> Match:
    return prepare_match(game, lineups, players, **options)


def test_the_first_game_that_each_world_finished_is_the_one_that_counts():
    # Three steps, one block of two worlds: world 0 ends games of 1 and 2 steps, world 1 one of 3.
    record = Games(
        finished_TBW=jnp.array([[[True, False]], [[False, False]], [[True, True]]]),
        return_TBWS=jnp.array([[[[1.0], [10.0]]], [[[2.0], [20.0]]], [[[3.0], [30.0]]]]),
        length_TBW=jnp.array([[[1, 1]], [[1, 2]], [[2, 3]]]),
        outcome_TBWK=jnp.array([[[[1.0], [0.0]]], [[[0.0], [0.0]]], [[[-1.0], [-1.0]]]]),
        count_TBWSJ=jnp.arange(6).reshape(3, 1, 2, 1, 1),
    )
    counts, returns, lengths, outcomes, _, did = first_games(record)
    assert did.tolist() == [[[[0]], [[5]]]]
    np.testing.assert_array_equal(counts, [[True, True]])
    np.testing.assert_array_equal(returns, [[[1], [30]]])
    np.testing.assert_array_equal(lengths, [[1, 3]])
    np.testing.assert_array_equal(outcomes, [[[1], [-1]]])


def test_long_games_count_as_much_as_short_ones():
    # Half of the games last 1 step, half 3, and a match of 6 steps has room for several. Counting all that ended, or
    # the last of each world, would find more short ones.
    game, count = lottery(3, longest=6), 64
    players = {"a": Always.make(game, 0)}
    (games,) = prepared(game, [("a", "a")], players, games=count)(players, seed=5)
    assert games.length_G.shape == (count,)
    # Each world plays the one game it was given, and its outcome and return are that game's.
    key = stream(stream(jax.random.key(5), "match"), "first games")
    np.testing.assert_array_equal(games.length_G, fresh_starts(game, key, count).length)
    assert set(np.unique(games.length_G)) == {1, 3}
    np.testing.assert_array_equal(games.return_GS[:, 0], games.length_G)
    np.testing.assert_array_equal(games.outcome_GK[:, 1], np.where(games.length_G == 3, 1, -1))


@pytest.fixture(scope="module")
def undecided_match():
    """Returns say which entries were chosen."""
    game = timetable([[0.0, 0.0]], echo=1.0)
    players = {name: Always.make(game, 2, probability=0.6) for name in "ab"}
    return game, prepared(game, [("a", "b")], players, games=32)


def test_the_likeliest_action_is_played_only_if_asked_for(undecided_match):
    game, sampling = undecided_match
    players = {name: Always.make(game, 2, probability=0.6) for name in "ab"}
    (sampled,) = sampling(players, seed=0)
    (likeliest,) = prepared(game, [("a", "b")], players, games=32, deterministic=True)(players, seed=0)
    assert set(np.unique(sampled.return_GS)) == {0, 2}
    assert set(np.unique(likeliest.return_GS)) == {2}


PAYOFF = np.array([[[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]]])
"""Seat 0 is paid 1 + 2 a + b, seat 1 ten times that: every joint choice pays differently."""


def net_that_plays(game, choice: int, config: NetConfig) -> Actor:
    """A network whose last bias decides."""
    actor = Actor.make(Seed.of(1), game.spec, config)
    return replace(actor, head=replace(actor.head, bias_O=jnp.full(2, -50.0).at[choice].set(50.0)))


@pytest.fixture(scope="module")
def mixed():
    """A wide net, a narrow one, a recurrent one, one with another activation, two bots, and what they choose."""
    game = matrix_game(PAYOFF)
    nets = {
        "wide": NetConfig(hidden=(64,)),
        "narrow": NetConfig(hidden=(32,)),
        "recurrent": NetConfig(hidden=(32,), memory="gru", memory_size=4),
        "relu": NetConfig(hidden=(32,), activation="relu"),
    }
    choices = {"wide": 0, "narrow": 1, "recurrent": 1, "relu": 0, "always_0": 0, "always_1": 1}
    players = {name: net_that_plays(game, choices[name], net) for name, net in nets.items()}
    players |= {name: Scripted.make(game, name) for name in ("always_0", "always_1")}
    return game, players, choices


def test_players_of_different_architecture_meet_in_one_program_and_sit_where_the_line_up_says(mixed):
    game, players, choices = mixed
    names = [name for name in players if name != "relu"]
    lineups = [*zip(names, names[1:] + names[:1], strict=True), ("wide", "wide")]
    results = prepared(game, lineups, players, games=2)(players, seed=0)
    for (a, b), games in zip(lineups, results, strict=True):
        np.testing.assert_array_equal(games.return_GS, [PAYOFF[:, choices[a], choices[b]]] * 2)


def test_one_family_is_what_can_be_stacked(mixed):
    game, players, _ = mixed
    families = {name: family_of(player) for name, player in players.items()}
    assert families["always_0"] == families["always_1"]
    assert len(set(families.values())) == 5
    assert family_of(net_that_plays(game, 1, NetConfig(hidden=(64,)))) == families["wide"]


def test_a_match_can_be_called_again_with_other_weights_and_the_same_seed_repeats_it(undecided_match):
    game, match = undecided_match

    def returns(a: int, b: int, seed: int) -> np.ndarray:
        return match({"a": Always.make(game, a, 0.5), "b": Always.make(game, b, 0.5)}, seed=seed)[0].return_GS

    first = returns(1, 2, 0)
    assert set(np.unique(first[:, 0])) == {0, 1}
    assert set(np.unique(first[:, 1])) == {0, 2}
    # The same random numbers choose for the same name, whatever its weights.
    np.testing.assert_array_equal(first > 0, returns(2, 1, 0) > 0)
    np.testing.assert_array_equal(first, returns(1, 2, 0))
    assert not np.array_equal(first, returns(1, 2, 1))
