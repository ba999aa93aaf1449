"""The missile: its numbers, its guidance, its fuse, and when it may be launched."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from sky import chase, fight, hold, level, paid, vector

from sparring.core.records import Action, Step
from sparring.games.dogfight import missiles
from sparring.games.dogfight.airframe import GRAVITY, Flight
from sparring.games.dogfight.game import Dogfight, dogfight
from sparring.games.dogfight.missiles import BURN, FUEL_RATE, MASS, THRUST, Missiles
from sparring.games.dogfight.rules import CAUSES, Fight
from toy_players import quick

STANDARD = dogfight(missiles=True)
GAME = STANDARD.with_rules(missile_cone=45.0, missile_aspect=180.0, missile_near=0.0, missile_range=14_000.0)
"""With a seeker that sees from everywhere."""
one_step = quick(lambda state, action: GAME.step(state, action, ()))
seen = quick(lambda state: GAME.observe(state))
FIRE = hold(GAME, fire=1)


def armed(flight: Flight, played: int = 100) -> Fight:
    return fight(flight, played=played, missiles=missiles.loaded(flight))


def in_flight(place: tuple, heading: tuple, speed: float, age: float = 10.0) -> Missiles:
    """One missile of the first aircraft, flying at the second."""
    blank = missiles.loaded(chase(1000.0))
    both = [place, (0.0, 0.0, 0.0)]
    target = np.zeros((2, 2, 2))
    target[0, 0, 1] = 1.0

    def spread(rows: list) -> Array:
        parts = vector(rows)
        return [jnp.stack([part, jnp.zeros(2)]) for part in (parts.x_S, parts.y_S, parts.z_S)]  # type: ignore[return-value]

    full = jnp.array([[1.0, 0.0], [0.0, 0.0]])
    return blank._replace(
        place=type(blank.place)(*spread(both)),
        heading=type(blank.place)(*spread([heading, (0.0, 1.0, 0.0)])),
        speed_SM=full * speed,
        age_SM=full * age,
        flying_SM=full > 0,
        left_SM=jnp.array([[False, True], [True, True]]),
        target_SMS=jnp.asarray(target, jnp.float32),
    )


def test_thrust_and_mass_are_those_of_the_motor() -> None:
    """120 s of specific impulse at 6 kg/s: 7,063 N; 18 kg burn in 3 s."""
    assert pytest.approx(7063, abs=1) == THRUST
    assert MASS - FUEL_RATE * BURN == 66.0


def test_without_air_the_motor_gives_284_metres_a_second() -> None:
    """9.81 * 120 * ln(84 / 66)."""
    ages = jnp.arange(0.0, 3.0, 0.01)
    push = missiles._push(jnp.asarray(1e6), jnp.asarray(600.0), ages, jnp.asarray(0.0))
    assert jnp.sum(push) * 0.01 == pytest.approx(284, abs=0.5)


def test_drag_at_sea_level_is_1120_newtons_at_600_metres_a_second() -> None:
    push = missiles._push(jnp.asarray(0.0), jnp.asarray(600.0), jnp.asarray(5.0), jnp.asarray(0.0))
    assert -push * 66.0 == pytest.approx(1117, abs=3)
    turning = missiles._push(jnp.asarray(0.0), jnp.asarray(600.0), jnp.asarray(5.0), jnp.asarray(0.1))
    assert turning / push == pytest.approx(1 + 0.127 * 2.87 * np.sin(0.1) / 0.012668, rel=1e-3)


def test_the_nose_turns_by_the_navigation_constant_times_the_line() -> None:
    """A target 1,000 m ahead that crosses at 100 m/s turns the line by 0.1 rad/s; at 20 s of age K is 3 * 2/3 = 2."""
    flight = level([(0, 0, 5000), (0, 1000, 5000)], [(0, 1), (1, 0)], speed=100.0)
    state = in_flight((0, 0, 5000), (0, 1, 0), 500.0, age=20.0)
    rate = missiles._turn(
        state,
        missiles._targets(state, flight.place) - state.place,
        missiles._targets(state, flight.velocity) - state.heading * 500.0,
    )
    assert rate.x_S[0, 0] == pytest.approx(0.2, rel=1e-4)
    assert rate.y_S[0, 0] == pytest.approx(0.0, abs=1e-5)


def test_no_missile_turns_harder_than_30_g() -> None:
    flight = level([(0, 0, 5000), (0, 60, 5000)], [(0, 1), (1, 0)], speed=300.0)
    state = in_flight((0, 0, 5000), (0, 1, 0), 500.0)
    apart = missiles._targets(state, flight.place) - state.place
    rate = missiles._turn(state, apart, missiles._targets(state, flight.velocity) - state.heading * 500.0)
    assert rate.x_S[0, 0] * 500.0 == pytest.approx(30 * GRAVITY, rel=1e-3)


def test_the_fuse_sees_what_passes_between_two_sub_steps() -> None:
    """Head on at 1,000 m/s: 25 m before and 25 m behind the target after one sub-step, 10 m beside it; then 20 m."""
    for beside, hit in ((10.0, True), (20.0, False)):
        before = level([(0, -5000, 5000), (beside, 0, 5000)], [(0, 1), (0, -1)])
        after = before._replace(place=before.place + before.velocity * 0.05)
        state = in_flight((0, -25.0, 5000), (0, 1, 0), 750.0, age=59.9)
        _, hit_SS = missiles.advance(state, before, after, jnp.ones(2, bool), jnp.asarray(15.0), 0.05)
        assert np.asarray(hit_SS).tolist() == [[0.0, float(hit)], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "flies"),
    [({}, True), ({"age": 60.0}, False), ({"speed": 120.0}, False), ({"dead": True}, False), ({"opening": 5.0}, False)],
)
def test_a_missile_is_spent_when_old_slow_without_target_or_past_it(change: dict, flies: bool) -> None:
    flight = chase(3000.0)
    heading = (0, -1, 0) if "opening" in change else (0, 1, 0)
    state = in_flight((0, 500, 5000), heading, change.get("speed", 600.0), change.get("age", 10.0))
    state = state._replace(opening_SM=jnp.full((2, 2), change.get("opening", 0.0)))
    alive = jnp.array([True, "dead" not in change])
    after, _ = missiles.advance(state, flight, flight, alive, jnp.asarray(15.0), 0.05)
    assert bool(after.flying_SM[0, 0]) == flies


def play(state: Fight, action: Action, steps: int) -> tuple[Fight, Step]:
    for _ in range(steps):
        state, step = one_step(state, action)
        if step.over:
            break
    return state, step


def test_a_missile_finds_a_target_that_flies_across() -> None:
    """Launched at 4 km, 30 degrees off the nose."""
    flight = level([(0, 0, 5000), (2000, 3464, 5000)], [(0, 1), (-1, 0)])
    state, step = play(armed(flight), FIRE, 150)
    assert step.over and np.asarray(step.outcome_K).tolist() == [1.0, -1.0]
    assert [CAUSES[cause] for cause in np.asarray(step.cause_K)] == ["missile", "missile"]
    assert paid(GAME, step, "hits").tolist() == [1.0, -1.0]
    assert 50 < int(state.played) - 100 < 150


@pytest.mark.parametrize(
    ("place", "played", "ready"),
    [
        ((0, 5000, 5000), 100, True),
        ((0, 15_000, 5000), 100, False),
        ((3000, 3200, 5000), 100, True),
        ((3200, 3000, 5000), 100, False),
        ((0, -3000, 5000), 100, False),
        ((0, 5000, 5000), 10, False),
    ],
    ids=["ahead", "too far", "43 degrees off", "47 degrees off", "behind", "too early"],
)
def test_a_launch_needs_the_enemy_in_the_cone_and_in_range(place: tuple, played: int, ready: bool) -> None:
    state = armed(level([(0, 0, 5000), place], [(0, 1), (0, 1)]), played)
    assert seen(state).legal_SA[0].tolist() == [True, ready]
    after, _ = one_step(state, FIRE)
    assert bool(after.missiles.flying_SM[0].any()) == ready


@pytest.mark.parametrize(
    ("place", "course", "ready"),
    [
        ((0, 2000, 5000), (0, 1), True),
        ((0, 500, 5000), (0, 1), False),
        ((0, 2600, 5000), (0, 1), False),
        ((600, 1900, 5000), (0, 1), True),
        ((800, 1800, 5000), (0, 1), False),
        ((0, 2000, 5000), (5, 4), True),
        ((0, 2000, 5000), (2, 1), False),
        ((0, 2000, 5000), (0, -1), False),
    ],
    ids=["behind", "too near", "too far", "18 degrees off", "24 off", "51 off its tail", "63 off", "head on"],
)
def test_a_seeker_sees_an_engine_from_behind_alone(place: tuple, course: tuple, ready: bool) -> None:
    """And who can be shot sees that it can."""
    state = armed(level([(0, 0, 5000), place], [(0, 1), course]))
    observed = quick(lambda state: STANDARD.observe(state))(state)
    assert observed.legal_SA[:, 1].tolist() == [ready, False]
    rails_SF = np.asarray(observed.features_SF)[:, -10:]
    assert rails_SF[:, 1].tolist() == [ready, 0] and rails_SF[:, 2].tolist() == [0, ready]


def test_two_are_carried_and_25_seconds_lie_between() -> None:
    """Launched at decision 0 and 250 of this fight; the target stays 9 km ahead, at the same speed."""
    state, launched = armed(chase(9_000.0)), []
    for step in range(502):
        left = int(state.missiles.left_SM[0].sum())
        # Missiles that arrive would end the fight: they are taken away.
        state, _ = one_step(state, FIRE)
        state = state._replace(missiles=state.missiles._replace(flying_SM=jnp.zeros((2, 2), bool)))
        if int(state.missiles.left_SM[0].sum()) < left:
            launched.append(step)
    assert launched == [0, 250]


def test_a_pilot_sees_the_missile_that_comes_and_its_own() -> None:
    """From the second aircraft: 600 m behind, closing with 600 - 250 m/s."""
    state = armed(chase(1000.0))._replace(missiles=in_flight((0, 400, 5000), (0, 1, 0), 600.0))
    rails = np.asarray(seen(state).features_SF)[:, -10:]
    np.testing.assert_allclose(rails[1], [1, 0, 1, 0, 1, -1, 0, 0, 600 / 5000, -350 / 340], atol=1e-4)
    np.testing.assert_allclose(rails[0], [0.5, 1, 0, 0.5, 0, 0, 0, 0, 0, 0], atol=1e-4)


def test_guns_alone_have_no_head_and_no_missiles() -> None:
    plain: Dogfight = dogfight()
    assert plain.spec.action.heads == () and GAME.spec.action.heads == (2,)
    assert dogfight(missiles=True, actions="discrete").spec.action.heads == (3, 7, 7, 2)
    assert plain.spec.features + 10 == GAME.spec.features
