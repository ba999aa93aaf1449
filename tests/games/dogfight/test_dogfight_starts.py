"""How fights begin: far enough from every edge, alike for both sides, and as the rules say."""

import jax
import numpy as np
import pytest
from sky import rows

from sparring.core.errors import ConfigError
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.rules import Fight
from sparring.games.registry import make
from toy_players import quick

DUEL, PAIRS = dogfight(), dogfight_2v2()


@quick
def drawn(game: Dogfight) -> Fight:
    return jax.vmap(game.start)(jax.random.split(jax.random.key(1), 400))


def test_neutral_starts_are_point_symmetric() -> None:
    flight = drawn(DUEL.with_rules(start_offensive=0.0, start_uneven=0.0)).flight
    place, heading = rows(flight.place), rows(flight.heading)
    np.testing.assert_array_equal(place[:, 0, :2], -place[:, 1, :2])
    np.testing.assert_array_equal(heading[:, 0, :2], -heading[:, 1, :2])
    np.testing.assert_array_equal(place[:, 0, 2], place[:, 1, 2])
    distance = np.linalg.norm(place[:, 0] - place[:, 1], axis=-1)
    assert 1500 <= distance.min() < 1700 and 3800 < distance.max() <= 4001
    assert 4000 <= place[..., 2].min() < 4100 and 6900 < place[..., 2].max() <= 7000
    speed = np.asarray(flight.speed_S)
    assert 200 <= speed.min() < 205 and 275 < speed.max() <= 280


def test_neutral_starts_are_uneven_by_chance_for_either_side() -> None:
    """Headings within 30 degrees of the point-symmetric ones, heights 500 m about the middle, and one energy."""
    flight = drawn(DUEL.with_rules(start_offensive=0.0)).flight
    place, heading, speed = rows(flight.place), rows(flight.heading), np.asarray(flight.speed_S)
    turned = np.degrees(np.arccos(np.clip(-np.sum(heading[:, 0] * heading[:, 1], axis=-1), -1, 1)))
    assert 40 < turned.max() <= 60 and 15 < turned.mean() < 25
    higher = place[:, 0, 2] - place[:, 1, 2]
    assert higher.min() < -900 and higher.max() > 900 and abs(higher.mean()) < 60
    energy = place[..., 2] + speed**2 / (2 * 9.80665)
    np.testing.assert_allclose(energy[:, 0], energy[:, 1], rtol=1e-4)


def test_chases_are_given_to_both_sides_alike() -> None:
    """Nose within 11.25 degrees of the target, its tail within 34 degrees of the line, 500 to 1,500 m behind."""
    flight = drawn(DUEL.with_rules(start_offensive=1.0)).flight
    place, heading = rows(flight.place), rows(flight.heading)
    line = place[:, 1] - place[:, 0]
    distance = np.linalg.norm(line, axis=-1)
    ahead = np.einsum("wsx,wx->ws", heading, line / distance[:, None])
    first_chases = (ahead > 0).all(1)
    assert 0.4 < first_chases.mean() < 0.6
    assert (first_chases | (ahead < 0).all(1)).all()
    assert 500 <= distance.min() < 520 and 1480 < distance.max() <= 1500.01
    nose = np.degrees(np.arccos(np.where(first_chases, ahead[:, 0], -ahead[:, 1])))
    tail = np.degrees(np.arccos(np.where(first_chases, ahead[:, 1], -ahead[:, 0])))
    assert 10 < nose.max() <= 11.26 and 30 < tail.max() <= 34.0


@pytest.mark.parametrize(("share", "chased"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_drill_can_give_all_chases_to_one_side(share: float, chased: float) -> None:
    flight = drawn(DUEL.with_rules(start_offensive=1.0, start_defensive=share)).flight
    place, heading = rows(flight.place), rows(flight.heading)
    first_is_chased = np.sum(heading[:, 0] * (place[:, 1] - place[:, 0]), axis=-1) < 0
    assert first_is_chased.mean() == chased


def test_the_share_of_chases_is_a_rule() -> None:
    place = rows(drawn(DUEL.with_rules(start_offensive=0.3)).flight.place)
    chases = ~np.isclose(place[:, 0, :2], -place[:, 1, :2]).all(-1)
    assert 0.22 < chases.mean() < 0.38


def test_friends_begin_400_metres_abreast() -> None:
    flight = drawn(PAIRS).flight
    place, heading = rows(flight.place), rows(flight.heading)
    for one, two in ((0, 1), (2, 3)):
        apart = place[:, two] - place[:, one]
        np.testing.assert_allclose(np.linalg.norm(apart, axis=-1), 400.0, rtol=1e-4)
        np.testing.assert_allclose(np.sum(apart * heading[:, one], axis=-1), 0.0, atol=0.5)
        np.testing.assert_array_equal(heading[:, one], heading[:, two])


def test_no_rule_brings_an_edge_within_two_seconds() -> None:
    """The deck, the ceiling and the arena: nobody flies 800 m in that time."""
    cramped = DUEL.with_rules(
        hard_deck=6500.0, ceiling=8500.0, arena=6000.0, start_range_high=50_000.0, start_range_low=50_000.0,
        start_speed_high=900.0, start_offensive=0.0,
    )  # fmt: skip
    flight = drawn(cramped).flight
    place = rows(flight.place)
    assert place[..., 2].min() >= 7299 and place[..., 2].max() <= 7701
    assert np.linalg.norm(place[:, 0] - place[:, 1], axis=-1).max() <= 6000 - 1580
    assert flight.speed_S.max() <= 340


def test_lengths_follow_the_options() -> None:
    assert (DUEL.spec.shortest, DUEL.spec.longest) == (20, 1800)
    short = dogfight(seconds=1, decisions=5, substeps=4)
    assert (short.spec.shortest, short.spec.longest) == (5, 5)
    assert short.setting.dt == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seconds": 0}, "at least 1 second"),
        ({"decisions": 5, "substeps": 1}, "10 times a second at least, found decisions=5 and substeps=1"),
    ],
)
def test_options_out_of_range_are_refused(options: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make("dogfight:2v2", **options)
