"""The game as a whole: its contract with all options, its controls, its scenes."""

import json
from dataclasses import asdict

import jax.numpy as jnp
import numpy as np
import pytest
from sky import chase, fight, hold, level

from sparring.core.records import Action
from sparring.games.contract import check_game
from sparring.games.dogfight import missiles
from sparring.games.dogfight.controls import centre_of_roll, controls_of
from sparring.games.dogfight.game import dogfight, dogfight_2v2
from sparring.games.registry import make
from toy_players import quick

DUEL = dogfight()


def test_all_options_together_keep_the_contract() -> None:
    game = make("dogfight:2v2", actions="discrete", missiles=True, front_quarter_guns=True, seconds=5)
    check_game(game, worlds=4, games=2, eager=False)


def test_centred_controls_fly_level() -> None:
    """For a minute, at half throttle; and from a bank of 60 degrees they level the wings first."""
    step = quick(lambda state: DUEL.step(state, hold(DUEL), ())[0])
    for bank in (0.0, 60.0):
        state = fight(level([(0, 0, 5000), (2000, 0, 5000)], [(0, 1)] * 2, bank=bank))
        for _ in range(600):
            state = step(state)
        assert state.alive_S.all()
        assert state.flight.lift.z_S.min() > 0.98
        assert abs(float(state.flight.place.z_S[0]) - 5000) < 600


def test_a_full_stick_rolls_as_fast_with_levelling_as_without() -> None:
    state = fight(level([(0, 0, 5000), (2000, 0, 5000)], [(0, 1)] * 2, bank=80.0))
    full = Action(jnp.zeros((2, 0), jnp.int32), jnp.array([[0.0, 0.0, 1.0]] * 2))
    rates = [DUEL.with_rules(levelling=degrees).step(state, full, ())[0].flight.roll_S for degrees in (0.0, 90.0)]
    np.testing.assert_allclose(*rates, rtol=1e-5)


def test_levelling_rolls_towards_the_horizon() -> None:
    """90 degrees a second of 180 with the right wing straight down: half of the rate, to the left."""
    assert centre_of_roll(jnp.array([-1.0, 0.0, 1.0]), jnp.asarray(90.0)).tolist() == pytest.approx([-0.5, 0.0, 0.5])


def test_full_pull_and_push_are_9_and_minus_3_g() -> None:
    state = fight(level([(0, 0, 2000), (2000, 0, 2000)], [(0, 1)] * 2, speed=300.0))
    stick = Action(jnp.zeros((2, 0), jnp.int32), jnp.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]))
    step = quick(lambda state: DUEL.step(state, stick, ())[0])
    for _ in range(30):
        state = step(state)
    assert state.flight.load_S.tolist() == pytest.approx([9.0, -3.0], abs=0.05)
    assert state.flight.engine_S[0] > 0.8 > 0.2 > state.flight.engine_S[1]


def test_half_a_push_is_minus_1_g_and_half_a_pull_5() -> None:
    """1 - 4 / 2 and 1 + 8 / 2."""
    stick = Action(jnp.zeros((2, 0), jnp.int32), jnp.array([[0.0, -0.5, 0.0], [0.0, 0.5, 0.0]]))
    assert controls_of(stick, DUEL.spec.action, chase(1000.0), jnp.asarray(0.0)).load_S.tolist() == [-1.0, 5.0]


def test_a_scene_shows_who_shoots_at_whom() -> None:
    state = fight(chase(500.0), played=123, health=[1.0, 0.4])
    scene = DUEL.scene(state)
    first, second = scene.bodies
    assert (first.name, first.side, second.side, first.shape) == ("red", 0, 1, "aircraft")
    assert first.at == (0.0, 0.0, 5000.0) and first.towards == (0.0, 1.0, 0.0) and first.up == (0.0, 0.0, 1.0)
    assert second.level == pytest.approx(0.4) and not second.gone
    assert [(line.start, line.end, line.side) for line in scene.lines] == [(first.at, second.at, 0)]
    assert scene.caption == "12.3 s: red 100 %, blue 40 %\nred is ahead by 0.60"
    assert first.remark == "250 m/s, 1.0 g" and first.zone == (914.0, 20.0)
    assert all(low < x < high for low, x, high in zip(scene.low, second.at, scene.high, strict=True))
    assert not DUEL.scene(fight(chase(500.0), played=5)).lines
    json.dumps(asdict(scene))


def test_a_scene_shows_missiles_in_flight_and_the_lost() -> None:
    game, flight = dogfight(missiles=True), chase(2000.0)
    state = fight(flight, missiles=missiles.loaded(flight))
    state, _ = quick(lambda state: game.step(state, hold(game, fire=1), ()))(state)
    scene = game.scene(state._replace(alive_S=jnp.array([True, False])))
    assert [body.name for body in scene.bodies] == ["red", "blue", "red missile 1"]
    assert scene.bodies[1].gone and scene.bodies[1].level == 0.0
    assert scene.bodies[2].shape == "missile" and scene.bodies[2].at[1] > 20


def test_seats_are_exchangeable_as_sides_and_within_them() -> None:
    assert dogfight_2v2().spec.exchangeable == ((0, 1, 2, 3),) and dogfight_2v2().spec.exchangeable_sides
    assert DUEL.spec.zero_sum and DUEL.spec.score == "outcome"
    assert DUEL.spec.terms_of("potential") == ("posture", "safety", "aim")
    assert {"hits", "survival", "defeat"} <= set(DUEL.spec.terms_of("reward"))
