"""Numbers of the flight model, worked out apart from it: stall, corner, turns, greatest speed, climb, energy, loops."""

import jax.numpy as jnp
import numpy as np
import pytest
from sky import flown, level, rows

from sparring.games.dogfight.airframe import (
    F16,
    GRAVITY,
    SLOWEST,
    air_at,
    load_limit,
    pressure,
    push,
    roll_limit,
    sustained_load,
)

# height, density, stall, corner, rate and radius at corner, best sustained rate and its speed, greatest speed, climb
TABLE = (
    (0, 1.2250, 61.8, 185.3, 27.1, 391, 19.1, 133, 410, (152, 67)),
    (3000, 0.9091, 71.7, 215.1, 23.4, 527, 14.7, 139, 410, (124, 9)),
    (6096, 0.6527, 84.6, 253.8, 19.8, 735, 10.8, 161, 408, (97, -63)),
    (9000, 0.4663, 100.1, 300.3, 16.7, 1028, 7.9, 190, 406, (74, -150)),
)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]} m")
def test_performance_is_that_of_the_table(row) -> None:
    height, density, stall, corner, rate, radius, best, best_speed, fastest, (climb, hard_climb) = row
    air = air_at(jnp.asarray(float(height)))
    assert air.density == pytest.approx(density, abs=6e-5)

    def limit(speed: float) -> float:
        return float(load_limit(pressure(air, jnp.asarray(speed))))

    assert limit(stall) == pytest.approx(1.0, abs=2e-3)
    assert limit(corner) == pytest.approx(9.0, abs=6e-3)
    turn = GRAVITY * np.sqrt(80.0) / corner
    assert np.degrees(turn) == pytest.approx(rate, abs=0.06)
    assert corner / turn == pytest.approx(radius, abs=1.0)

    speeds = jnp.arange(80.0, 450.0)
    load = jnp.minimum(sustained_load(air, speeds), load_limit(pressure(air, speeds)))
    rates = np.degrees(GRAVITY * np.sqrt(np.maximum(np.square(load) - 1.0, 0.0)) / speeds)
    assert rates.max() == pytest.approx(best, abs=0.06)
    assert speeds[rates.argmax()] == pytest.approx(best_speed, abs=3.0)

    one = jnp.asarray(1.0)
    excess = np.asarray(push(air, speeds, one, one))
    assert speeds[np.flatnonzero(excess > 0)[-1]] == pytest.approx(fastest, abs=1.0)
    for load_factor, expected in ((1.0, climb), (5.0, hard_climb)):
        found = push(air, jnp.asarray(200.0), jnp.asarray(load_factor), one) * 200.0 / GRAVITY
        assert found == pytest.approx(expected, abs=0.6)


def test_wave_drag_is_what_limits_the_speed_at_sea_level() -> None:
    """Without it the aircraft would reach 497 m/s, with it Mach 1.2."""
    air, one = air_at(jnp.zeros(())), jnp.ones(())
    smooth = F16._replace(wave_drag=0.0)
    assert (
        float(push(air, jnp.asarray(496.0), one, one, smooth))
        > 0
        > float(push(air, jnp.asarray(498.0), one, one, smooth))
    )
    assert float(push(air, jnp.asarray(412.0), one, one)) < 0


def test_the_air_above_the_tropopause_keeps_its_temperature_and_thins_out() -> None:
    """The standard atmosphere: 0.1937 kg/m3 and 295.07 m/s at 15 km."""
    air = air_at(jnp.asarray(15_000.0))
    assert air.density == pytest.approx(0.1937, abs=2e-4)
    assert air.sound == pytest.approx(295.07, abs=0.02)
    assert air.thinness == pytest.approx((0.1937 / 1.225) ** 0.7, rel=2e-3)


def test_rolling_needs_air() -> None:
    """Full rate from 6,125 Pa, a fifth at least: 100 m/s at sea level is exactly enough, half of it a quarter."""
    assert roll_limit(jnp.array([12_000.0, 6125.0, 6125.0 / 4, 10.0])) == pytest.approx(
        np.pi * np.array([1, 1, 0.25, 0.2])
    )


def test_turning_right_is_positive() -> None:
    """g n sin(30 degrees) / V = 0.0392 rad/s clockwise from north, at a bank of 30 degrees and 2 g."""
    start = level([(0, 0, 3000)], [(0, 1)], bank=30.0)._replace(load_S=jnp.full(1, 2.0))
    path = flown(start, lambda _: (1.0, 2.0, 0.0), seconds=0.02, rate=50)
    east, north, _ = rows(path.heading)[-1, 0]
    assert np.arctan2(east, north) / 0.02 == pytest.approx(0.0392, abs=1e-4)


def test_a_positive_roll_lowers_the_right_wing() -> None:
    path = flown(level([(0, 0, 3000)], [(0, 1)]), lambda _: (1.0, 1.0, 1.0), seconds=1.0, rate=20)
    assert rows(path.right)[-1, 0, 2] < -0.3
    assert rows(path.lift)[-1, 0, 0] > 0.3


def test_a_bank_of_60_degrees_at_2_g_keeps_its_height() -> None:
    start = level([(0, 0, 3000)], [(0, 1)], bank=60.0)._replace(load_S=jnp.full(1, 2.0))
    path = flown(start, lambda _: (0.3, 2.0, 0.0), seconds=5.0, rate=20)
    assert np.abs(rows(path.place)[:, 0, 2] - 3000).max() < 3.0


def test_pulling_does_not_add_speed() -> None:
    """20 s of a 5.76 g turn at full throttle end at 268.0 m/s; adding accelerations to the velocity gives 275."""
    start = level([(0, 0, 3000)], [(0, 1)], bank=80.0)._replace(load_S=jnp.full(1, 5.76))
    path = flown(start, lambda _: (1.0, 5.76, 0.0), seconds=20.0, rate=20)
    assert path.speed_S[-1, 0] == pytest.approx(268.0, abs=1.0)


def test_a_place_moves_by_the_mean_of_both_velocities() -> None:
    """Braking hard, where the first alone would be 0.3 m too much in half a second."""
    start = level([(0, 0, 3000)], [(0, 1)], bank=80.0)._replace(load_S=jnp.full(1, 8.0))
    path = flown(start, lambda _: (0.0, 8.0, 0.0), seconds=0.5, rate=2)
    mean = (rows(start.velocity) + rows(path.velocity)[0]) / 2
    np.testing.assert_allclose(rows(path.place)[0] - rows(start.place), 0.5 * mean, atol=2e-3)


def test_without_thrust_and_drag_energy_stays() -> None:
    """Within 0.2 % over 60 s of pulling and rolling at 20 Hz."""
    glider = F16._replace(thrust=0.0, drag=0.0, induced_drag=0.0)
    start = level([(0, 0, 6000)], [(0, 1)], speed=280.0)
    path = flown(start, lambda t: (1.0, 2 + 2 * jnp.sin(t), jnp.sin(0.7 * t)), seconds=60.0, rate=20, frame=glider)
    energy = rows(path.place)[:, 0, 2] + np.square(path.speed_S[:, 0]) / (2 * GRAVITY)
    assert path.speed_S.min() > SLOWEST
    assert np.abs(energy / energy[0] - 1.0).max() < 2e-3


def test_twenty_steps_a_second_are_close_to_five_hundred() -> None:
    """Within 45 m and 1.5 m/s after 20 s of swinging pull and roll; 50 steps a second within 18 m and 0.6 m/s."""
    start = level([(0, 0, 3000)], [(0, 1)])
    ends = {}
    for rate in (20, 50, 500):
        path = flown(start, lambda t: (1.0, 3 + 2 * jnp.sin(0.5 * t), 0.8 * jnp.sin(0.3 * t)), seconds=20.0, rate=rate)
        ends[rate] = rows(path.place)[-1, 0], float(path.speed_S[-1, 0])
    for rate, metres, speed in ((20, 45.0, 1.5), (50, 18.0, 0.6)):
        assert np.linalg.norm(ends[rate][0] - ends[500][0]) < metres
        assert abs(ends[rate][1] - ends[500][1]) < speed


def test_a_loop_at_5_g_closes_in_its_plane() -> None:
    path = flown(level([(0, 0, 3000)], [(0, 1)]), lambda _: (1.0, 5.0, 0.0), seconds=30.0, rate=50)
    place, heading = rows(path.place)[:, 0], rows(path.heading)[:, 0]
    assert np.isfinite(place).all()
    assert np.abs(place[:, 0]).max() == 0.0
    assert place[:, 2].max() == pytest.approx(4950, abs=30)
    assert path.speed_S.min() == pytest.approx(165, abs=3)
    upright = np.flatnonzero((heading[:-1, 2] < 0) & (heading[1:, 2] >= 0))
    assert upright[0] / 50 == pytest.approx(28, abs=1.0)


def test_the_lift_stays_a_unit_vector_across_the_heading() -> None:
    wish = lambda t: (1.0, 4 + 5 * jnp.sin(t), 3 * jnp.sin(0.37 * t))  # noqa: E731
    path = flown(level([(0, 0, 6000)], [(0, 1)]), wish, seconds=5000.0, rate=20)
    assert np.abs(np.asarray(path.lift.dot(path.heading))).max() < 1e-5
    assert np.asarray(path.lift.length()) == pytest.approx(1.0, abs=1e-5)


def test_a_wing_gives_no_more_than_it_can() -> None:
    """At 100 m/s and 3 km the limit is (100 / 71.7)^2 = 1.95 g, whatever is asked for; never beyond 9 and -3 g."""
    slow = flown(level([(0, 0, 3000)], [(0, 1)], speed=100.0), lambda _: (1.0, 9.0, 0.0), seconds=1.0, rate=20)
    assert slow.load_S[0, 0] == pytest.approx(1.95, abs=0.02)
    for wish, limit in ((50.0, 9.0), (-50.0, -3.0)):
        path = flown(level([(0, 0, 500)], [(0, 1)], speed=300.0), lambda _, w=wish: (1.0, w, 0.0), seconds=0.5, rate=20)
        assert path.load_S[-1, 0] == pytest.approx(limit)
