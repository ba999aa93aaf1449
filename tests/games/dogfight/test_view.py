"""What pilots see, and what they may be paid for, worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sky import chase, fight, head_on, level, vector

from sparring.games.dogfight import view
from sparring.games.dogfight.airframe import GRAVITY
from sparring.games.dogfight.game import dogfight, dogfight_2v2
from sparring.games.dogfight.rules import Fight
from sparring.games.dogfight.shaping import LOOK_AHEAD, SAFE
from sparring.games.dogfight.view import Company, Other, Own, read
from toy_players import quick

DUEL, PAIRS = dogfight(), dogfight_2v2()
features = quick(lambda game, state: game.observe(state).features_SF)
potential = quick(lambda state: DUEL.potential(state))


def blocks(state: Fight) -> tuple[Own, Other]:
    """The own block and that of the other, in their own units, [S]."""
    seen_SF = features(DUEL, state)
    return read(Own, seen_SF[:, :14]), read(Other, seen_SF[:, 14:])


def test_the_own_block_of_level_flight() -> None:
    """250 m/s at 3 km, where sound makes 328.6 m/s; half of 180 s are left; banked by 30 degrees to the right."""
    state = fight(level([(0, 0, 3000), (0, 4000, 3000)], [(0, 1)] * 2, bank=30.0), played=900, health=[0.25, 1.0])
    own, _ = blocks(state)
    found = [float(value[0]) for value in own]
    energy = 3000 + 250**2 / (2 * GRAVITY)
    wanted = [3000, 2700, 250, 250 / 328.58, 1, 0, 0, 0.5, np.sqrt(0.75), 1, energy, 0.25, 0.5, -0.75]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_the_climb_is_the_angle_of_the_path() -> None:
    flight = level([(0, 0, 3000), (0, 4000, 3000)], [(0, 1)] * 2)
    flight = flight._replace(heading=vector([(0, 0.8, 0.6)] * 2), lift=vector([(0, -0.6, 0.8)] * 2))
    own, _ = blocks(fight(flight))
    assert own.climb == pytest.approx(np.arcsin(0.6), abs=1e-5)
    assert own.bank_cosine == pytest.approx(1.0, abs=1e-5) and own.bank_sine == pytest.approx(0.0, abs=1e-6)


def test_an_enemy_to_the_right_and_above() -> None:
    """North-bound at 250 m/s; the other 300 m east and 400 m above, south-bound: 500 m away, no closing, and the line
    turns by 500 m/s / 500 m = 1 rad/s backwards."""
    state = fight(level([(0, 0, 3000), (300, 0, 3400)], [(0, 1), (0, -1)]))
    _, other = blocks(state)
    line = [float(x[0]) for x in (other.ahead, other.right, other.up)]
    drift = [float(x[0]) for x in (other.drift_ahead, other.drift_right, other.drift_up)]
    course = [float(x[0]) for x in (other.course_ahead, other.course_right, other.course_up)]
    assert line == pytest.approx([0.0, 0.6, 0.8], abs=1e-5)
    assert drift == pytest.approx([-1.0, 0.0, 0.0], abs=1e-5)
    assert course == pytest.approx([-1.0, 0.0, 0.0], abs=1e-5)
    values = [float(x[0]) for x in (other.range, other.nearness, other.closing, other.nose_angle, other.tail_angle)]
    assert values == pytest.approx([500, 1000 / 1500, 0.0, np.pi / 2, np.pi / 2], abs=1e-3)
    assert other.higher.tolist() == pytest.approx([400, -400], abs=0.1)
    assert other.energy.tolist() == pytest.approx([400, -400], abs=0.5)


def test_a_chase_seen_from_both_ends() -> None:
    """Angles 0 and 0 behind the other, pi and pi ahead of it; only the one behind has a shot."""
    _, other = blocks(fight(chase(500.0), health=[1.0, 0.4]))
    assert other.nose_angle.tolist() == pytest.approx([0, np.pi], abs=1e-4)
    assert other.tail_angle.tolist() == pytest.approx([0, np.pi], abs=1e-4)
    assert other.in_zone.tolist() == [1, 0] and other.has_zone.tolist() == [0, 1]
    assert other.health.tolist() == pytest.approx([0.4, 1.0])


def test_closing_is_negative_when_they_come_nearer() -> None:
    _, other = blocks(fight(head_on(3000.0)))
    assert other.closing.tolist() == pytest.approx([-500, -500], abs=0.01)


def test_features_stay_within_their_bounds() -> None:
    seen = np.asarray(features(DUEL, fight(level([(0, 0, 300), (90_000, 0, 14_000)], [(0, 1)] * 2))))
    assert np.abs(seen).max() == view.CLIP


def test_a_lost_aircraft_is_shown_as_gone_and_nothing_else() -> None:
    places = [(0, 0, 5000), (500, 0, 5000), (0, 2000, 5000), (500, 2000, 5000)]
    state = fight(level(places, [(0, 1)] * 4))._replace(alive_S=jnp.array([True, True, False, True]))
    rows = np.asarray(features(PAIRS, state))[0, 14:].reshape(3, -1)
    friend, gone, enemy = rows
    assert friend[-2:].tolist() == [1, 1] and enemy[-2:].tolist() == [0, 1]
    assert not gone.any()
    assert enemy[Other._fields.index("up")] == pytest.approx(0.0, abs=1e-5)
    assert len(friend) == len(Other()) + len(Company())


def test_the_layout_says_what_the_blocks_are() -> None:
    sizes = {block.name: block.shape for block in dogfight_2v2(missiles=True).spec.layout}
    assert sizes == {"own": (14,), "others": (3, 24), "missiles": (10,)}
    assert [block.lists for block in PAIRS.spec.layout] == ["", "others"]


def test_posture_and_aim_are_zero_sum_and_best_behind_the_enemy() -> None:
    """At 500 m behind it: (2 o - 1) = 1 and no distance lost; the nose is on it."""
    np.testing.assert_allclose(potential(fight(chase(500.0)))[:, [0, 2]], [[1, 1], [-1, -1]], atol=1e-3)
    np.testing.assert_allclose(potential(fight(head_on(500.0)))[:, [0, 2]], 0.0, atol=1e-3)
    far = potential(fight(chase(3500.0)))
    np.testing.assert_allclose(far[:, 0], [np.exp(-1), -np.exp(-1)], atol=1e-3)
    np.testing.assert_allclose(far[:, 2], [np.exp(-2586 / 500), -np.exp(-2586 / 500)], atol=1e-3)


def test_posture_and_aim_sum_to_zero_among_four() -> None:
    @quick
    def potentials(key, alive_WS):
        state = jax.vmap(PAIRS.start)(jax.random.split(key, 16))
        return jax.vmap(PAIRS.potential)(state._replace(alive_S=alive_WS))

    alive_WS = np.ones((16, 4), bool)
    alive_WS[:8, 3] = False
    found = np.asarray(potentials(jax.random.key(2), alive_WS))
    np.testing.assert_allclose(found[..., [0, 2]].sum(1), 0.0, atol=1e-5)
    assert not found[:8, 3].any() and np.abs(found[:8, 2, 0]).max() > 0.01


def test_aim_tells_6_degrees_from_1() -> None:
    aside = np.tan(np.radians([1.0, 6.0])) * 600
    one, six = (potential(fight(level([(0, 0, 5000), (x, 600, 5000)], [(0, 1)] * 2)))[0, 2] for x in aside)
    assert one == pytest.approx(np.exp(-1 / 6), abs=2e-3)
    assert six == pytest.approx(np.exp(-1), abs=2e-3)


@pytest.mark.parametrize("height", [500.0, 1000.0, 1700.0, 3000.0])
def test_sinking_is_never_safer_than_climbing(height: float) -> None:
    """Path angles from -60 to 60 degrees at one height; safety grows with them, and strictly near the deck."""
    found = []
    for climb in np.radians(np.arange(-60.0, 61.0, 20.0)):
        heading = vector([(0, np.cos(climb), np.sin(climb))] * 2)
        flight = level([(0, 0, height), (0, 4000, 5000)], [(0, 1)] * 2)._replace(heading=heading)
        found.append(float(potential(fight(flight))[0, 1]))
    assert (np.diff(found) >= 0).all()
    assert found[0] < found[-1] if height < 2000 else found[-1] == 1.0


def test_safety_is_the_clearance_after_the_look_ahead() -> None:
    """1,100 m above the deck and sinking at 100 m/s for 5 s: 600 m of 1,500."""
    heading = vector([(0, np.sqrt(1 - 0.16), -0.4)] * 2)
    flight = level([(0, 0, 1400), (0, 4000, 5000)], [(0, 1)] * 2)._replace(heading=heading)
    assert potential(fight(flight))[0, 1] == pytest.approx((1100 - LOOK_AHEAD * 100) / SAFE, abs=1e-4)


def test_a_degree_off_the_nose_is_a_number_that_a_network_sees() -> None:
    """0.017 rad in units of 0.03; the unit vector alone has 0.017."""
    fine = dict(zip(Other._fields, Other(), strict=True))
    assert np.sin(np.radians(1.0)) / fine["aim_up"] == pytest.approx(0.58, abs=0.01)
    assert np.sin(np.radians(1.0)) / fine["up"] < 0.02
