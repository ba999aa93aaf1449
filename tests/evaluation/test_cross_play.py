"""Cross-play of players whose every return is known."""

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.evaluation import tournament as room
from sparring.evaluation.cross_play import cross_play, half_width
from sparring.evaluation.tournament import Met
from sparring.games.kuhn import kuhn
from sparring.games.matrix import coordination, matching_pennies, stag_hunt
from sparring.games.particles.spread import spread
from sparring.play.scripted import Scripted
from sparring.ratings.conventions import conventions
from toy_players import Always, quick


@pytest.fixture(autouse=True)
def quick_sweeps(monkeypatch):
    monkeypatch.setattr(room, "sweep", quick(room.sweep.__wrapped__, static_argnames=("starts", "deterministic")))


def test_those_who_always_choose_the_same_are_two_conventions():
    game = coordination()
    players = {"left": 0, "right": 1, "left again": 0}
    cross = cross_play(game, {name: Always.make(game, choice) for name, choice in players.items()}, games=4)
    assert cross.names == ("left", "right", "left again")
    np.testing.assert_array_equal(cross.mean_MM, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    assert (cross.starts_MM == 2).all() and (cross.variance_MM == 0).all() and cross.games == 6 * 4
    found = conventions(cross)
    assert found.groups is not None
    assert [group.names for group in found.groups] == [("left", "left again"), ("right",)]
    assert found.gap is not None and found.gap.mean == pytest.approx(2 / 3)


def test_each_earns_its_own_return_with_the_other_whoever_is_at_home():
    game = stag_hunt()
    hunters = {"stag": Always.make(game, 0), "hare": Always.make(game, 1)}
    for names in (("stag", "hare"), ("hare", "stag")):
        cross = cross_play(game, {name: hunters[name] for name in names}, games=2)
        order = np.ix_([names.index("stag"), names.index("hare")], [names.index("stag"), names.index("hare")])
        np.testing.assert_array_equal(cross.mean_MM[order], [[4, 0], [3, 2]])


def test_two_copies_of_an_undecided_player_earn_the_same_and_fit():
    game = stag_hunt()
    twin = Always.make(game, 1, 0.5)
    cross = cross_play(game, {"one": twin, "two": twin}, games=64)
    # A start is played from both sides with the same numbers, so the two copies earn exactly the same.
    assert cross.mean_MM[0, 1] == cross.mean_MM[1, 0]
    assert cross.variance_MM[0, 1] == cross.variance_MM[1, 0] > 0
    # One start pays 4, 2, or 3 and 0, which is 1.5 each: 2.25 on average, with a variance of 17/16.
    assert abs(cross.mean_MM[0, 0] - 2.25) < 4 * np.sqrt(17 / 16 / 32)
    found = conventions(cross)
    assert found.groups is not None and len(found.groups) == 1


def test_in_kuhn_poker_what_one_gains_the_other_loses():
    game = kuhn()
    cross = cross_play(game, {"x": Scripted.make(game, "random"), "y": Scripted.make(game, "random")}, games=16)
    assert cross.mean_MM[0, 1] == -cross.mean_MM[1, 0] and cross.mean_MM[0, 0] == cross.mean_MM[1, 1] == 0


def test_pairs_play_on_until_their_returns_are_known():
    game = stag_hunt()
    players = {"stag": Always.make(game, 0), "mixed": Always.make(game, 1, 0.5)}
    cross = cross_play(game, players, games=8, precision=0.4, most_games=400)
    assert cross.starts_MM[0, 0] == 4, "nothing is unknown about a player without chance"
    assert cross.starts_MM[0, 1] == cross.starts_MM[1, 0] > 4
    # 0 or 4 with an even chance: 0.4 needs a bit more than (2 * 2 / 0.4)^2 games, half as many starts.
    for place in ((0, 1), (1, 0), (1, 1)):
        own = cross.interval(*place)
        assert own.high - own.mean <= 0.4, place


def test_the_wider_of_two_returns_is_what_is_unknown_of_a_pair():
    counts = (np.array([4, 0, 0]), np.array([0, 0, 0, 0, 2]))
    assert half_width(Met(*counts, np.array([[1.0, 1.0], [0.0, 2.0]]))) == pytest.approx(12.706, rel=1e-4)
    assert half_width(Met(*counts, np.array([[1.0], [0.0]]))) == np.inf


@pytest.mark.parametrize(
    ("game", "options", "told"),
    [
        (spread(), {}, "found one side"),
        (matching_pennies(), {}, "found unlike sides"),
        (coordination(players=3), {}, "found 3 sides"),
        (stag_hunt(), {"games": 3}, "games must be even"),
        (stag_hunt(), {"precision": 0.0}, "precision must be above 0"),
        (stag_hunt(), {"games": 8, "most_games": 6}, "most_games must be at least games=8"),
    ],
)
def test_what_cannot_be_played_is_refused(game, options, told):
    twin = Scripted.make(game, "random")
    with pytest.raises(ConfigError, match=told):
        cross_play(game, {"one": twin, "two": twin}, **options)


def test_one_player_has_no_strangers():
    game = stag_hunt()
    with pytest.raises(ConfigError, match="two players or more, found 1"):
        cross_play(game, {"one": Always.make(game, 0)})
