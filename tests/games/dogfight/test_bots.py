"""The ladder of scripted pilots, flown by what they see alone."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax
from sky import chase, fight, level, rows

from sparring.core.records import Action
from sparring.games.dogfight.airframe import Flight
from sparring.games.dogfight.bots import ESCAPES, PILOTS, Pilot
from sparring.games.dogfight.controls import BINS
from sparring.games.dogfight.game import dogfight, dogfight_2v2
from sparring.games.dogfight.rules import CAUSES, Fight
from sparring.games.dogfight.view import Rails
from toy_players import quick

SECONDS = 60
DUEL = dogfight(seconds=SECONDS).with_rules(start_offensive=0.0, start_uneven=0.0)
PURE = Pilot(chase=1.0, load=7.0, clear=80.0)
NAMES, EVERYBODY = tuple(PILOTS), {**PILOTS, **ESCAPES, "pure": PURE}


SCENES: dict[str, tuple[str, str, Flight | None]] = {
    **{f"{name} {number}": (name, name, None) for name in NAMES for number in range(3)},
    **{f"{name} hunts": (name, "straight", chase(1200.0)) for name in ("pure", "lead", "slow", "ace")},
    **{f"{name} away": ("ace", name, chase(1500.0)) for name in ("flee", "dive", "climb")},
    **{f"{name} behind": (name, "straight", chase(4000.0)) for name in ("straight", "gentle_turn")},
    "weave near": ("weave", "straight", chase(1500.0)),
    **{f"wanderer {number}": ("random_walk", "straight", None) for number in range(8)},
    **{
        name: (name, "straight", level([(0, 0, 5000), (0, 3000, 5000)], [(0, 1), (1, 0)]))
        for name in ("lag", "pure", "lead")
    },
}
"""Who flies against whom from where; None: a neutral start of the game."""


class Fights(NamedTuple):
    path: Fight
    """[T, W]"""
    outcome_WK: np.ndarray
    cause_WK: np.ndarray


def decisions(table_WKJ: Array, state: Fight, memory: tuple) -> tuple[Action, tuple]:
    """Both pilots of every world, each with what it sees."""
    seen = jax.vmap(DUEL.observe)(state)
    by_side = [x[:, :, None] for x in (seen.features_SF, seen.legal_SA)]
    _, mean, memory = jax.vmap(jax.vmap(DUEL.bot_turn))(table_WKJ, *by_side, memory)
    return Action(jnp.zeros((*mean.shape[:2], 0), jnp.int32), mean[:, :, 0]), memory


@quick
def played(table_WKJ: Array, state: Fight) -> tuple:
    """A world that has ended stays as it is."""
    worlds = len(SCENES)

    def advance(carry: tuple, _: None) -> tuple:
        ended, memory, before = carry
        action, memory = decisions(table_WKJ, before[0], memory)
        after, step = jax.vmap(lambda s, a: DUEL.step(s, a, ()))(before[0], action)
        kept = jax.tree.map(
            lambda new, old: jnp.where(ended.reshape(-1, *(1,) * (new.ndim - 1)), old, new),
            (after, step.outcome_K, step.cause_K), before,
        )  # fmt: skip
        return (ended | step.over, memory, kept), kept[0]

    before = (state, jnp.zeros((worlds, 2)), jnp.zeros((worlds, 2), jnp.int32))
    carry = (jnp.zeros(worlds, bool), DUEL.bot_memory(worlds, 2, 1), before)
    (_, _, (_, outcome, cause)), path = lax.scan(advance, carry, None, length=10 * SECONDS)
    return path, outcome, cause


@cache
def fights() -> Fights:
    """All scenes, in one program."""
    keys = jax.random.split(jax.random.key(8), len(SCENES))
    starts = quick(jax.vmap(lambda key: DUEL.start(key)))(keys)
    put = [fight(flight, played=0) if flight else None for _, _, flight in SCENES.values()]
    starts = jax.tree.map(np.array, starts)
    for world, state in enumerate(put):
        if state is not None:
            jax.tree.map(lambda all_W, one, w=world: all_W.__setitem__(w, one), starts, state)
    rows_WKJ = [[list(EVERYBODY[name]) for name in scene[:2]] for scene in SCENES.values()]
    path, outcome, cause = played(jnp.array(rows_WKJ, float), jax.tree.map(jnp.asarray, starts))
    return Fights(jax.tree.map(np.asarray, path), np.asarray(outcome), np.asarray(cause))


def worlds(words: str) -> list[int]:
    return [world for world, name in enumerate(SCENES) if words in name]


def flight_of(name: str, seconds: float) -> Flight:
    """[T, S] of one scene."""
    world = list(SCENES).index(name)
    return jax.tree.map(lambda x: x[: round(10 * seconds), world], fights().path.flight)


def turned(name: str, seconds: float) -> np.ndarray:
    """How far the first pilot has turned to the right, rad."""
    heading = rows(flight_of(name, seconds).heading)[:, 0]
    return np.unwrap(np.arctan2(heading[:, 0], heading[:, 1]))


def test_a_pilot_against_itself_from_a_symmetric_start_draws() -> None:
    assert not fights().outcome_WK[: 3 * len(NAMES)].any()


def test_who_flees_from_an_ace_gets_nothing() -> None:
    """Level, down or up, 1.5 km ahead of it: shot down or outflown, or behind when time is up."""
    np.testing.assert_array_equal(fights().outcome_WK[worlds(" away")], [[1, -1]] * 3)


def test_who_flees_keeps_its_tail_to_the_enemy_and_goes_down_or_up_as_told() -> None:
    for name, sign in (("dive", -1), ("climb", 1)):
        flight = flight_of(f"{name} away", 10)
        assert rows(flight.heading)[-1, 1, 1] > 0.5
        assert sign * (rows(flight.place)[-1, 1, 2] - 5000) > 300


def test_pursuit_shoots_down_who_flies_straight() -> None:
    np.testing.assert_array_equal(fights().outcome_WK[worlds("hunts")], [[1, -1]] * 4)
    assert {CAUSES[cause] for cause in fights().cause_WK[worlds("hunts")].ravel()} == {"gun"}


def test_nobody_flies_into_the_ground() -> None:
    assert "ground" not in {CAUSES[cause] for cause in fights().cause_WK.ravel()}
    assert fights().path.flight.place.z_S.min() < 1000, "some come near it"


def test_straight_keeps_its_height_heading_and_speed() -> None:
    flight = flight_of("straight behind", 30)
    assert np.abs(rows(flight.place)[..., 2] - 5000).max() < 20
    assert rows(flight.heading)[..., 1].min() > 0.999
    assert np.abs(np.asarray(flight.speed_S) - 250).max() < 12


def test_gentle_turn_goes_round_one_way() -> None:
    """20 degrees off the nose at 1.5 a second ask for 0.52 rad/s, the cap of 2 g allows 0.068."""
    angle = turned("gentle_turn behind", 12)
    assert abs(angle[-1]) == pytest.approx(12 * 9.80665 * np.sqrt(3) / 250, rel=0.15)
    assert abs(angle).argmax() > 110


def test_weave_goes_to_and_fro() -> None:
    """Between 45 degrees to either side in 20 s: the turn rate swings by 14 degrees a second about nothing."""
    seconds = np.arange(20.0, step=0.1)[:-1] * 2 * np.pi / 20
    waves = np.stack([np.cos(seconds), np.sin(seconds), np.ones_like(seconds)], axis=1)
    cosine, sine, steady = np.degrees(np.linalg.lstsq(waves, 10 * np.diff(turned("weave near", 20)), rcond=None)[0])
    assert 10 < np.hypot(cosine, sine) < 18
    assert abs(steady) < 3


def test_wanderers_turn_both_ways_and_differ_from_start_to_start() -> None:
    angles = [turned(f"wanderer {number}", 3) for number in range(8)]
    change = np.array([angle[-1] - angle[0] for angle in angles])
    assert change.min() < -0.1 and change.max() > 0.1
    assert len({round(float(x), 2) for x in change}) > 6


def test_lag_aims_behind_and_lead_ahead_of_a_target_that_crosses() -> None:
    """It goes to the right, 3 km ahead: by 375 m that is 7 degrees behind it for lag, 3 s of flight ahead for lead."""
    lag, pure, lead = (turned(name, 4)[-1] for name in ("lag", "pure", "lead"))
    assert lag < pure - np.radians(4) and lead > pure + np.radians(4)


def test_who_is_shot_at_from_behind_swerves_out_of_the_plane_of_its_turn() -> None:
    """The enemy behind on the left has its nose on the pilot; beyond 1.1 km there is nothing to swerve from."""
    turn = quick(lambda row_J, seen_NF: DUEL.bot_turn(row_J, seen_NF, jnp.ones((1, 0), bool), DUEL.bot_memory(1))[1])
    for far, differs in ((800.0, True), (1500.0, False)):
        flight = level([(0, 0, 5000), (-0.3 * far, -0.9 * far, 5000)], [(0, 1), (1, 3)], bank=-90.0)
        seen_NF = DUEL.observe(fight(flight)).features_SF[:1]
        rolls = [float(turn(jnp.array(list(pilot), float), seen_NF)[0, 2]) for pilot in (
            PILOTS["ace"], PILOTS["ace"]._replace(jink=0.0),
        )]  # fmt: skip
        assert (abs(rolls[0] - rolls[1]) > 0.05) == differs


def test_a_saving_pilot_pulls_less_when_slow() -> None:
    """At 195 m/s and 8 km the wing gives 4.3 g, the thrust sustains 3.2; the enemy is 3 km away on the right."""
    turn = quick(lambda row_J, seen_NF: DUEL.bot_turn(row_J, seen_NF, jnp.ones((1, 0), bool), DUEL.bot_memory(1))[1])
    flight = level([(0, 0, 8000), (3000, 0, 8000)], [(0, 1), (0, 1)], speed=195.0, bank=80.0)
    seen_NF = DUEL.observe(fight(flight)).features_SF[:1]
    pilots = (PURE._replace(load=9.0, thrift=thrift) for thrift in (0.7, 0.0))
    saving, careless = (float(turn(jnp.array(list(pilot), float), seen_NF)[0, 1]) for pilot in pilots)
    assert saving < careless - 0.05


def test_a_quick_hand_asks_for_more_than_it_wants() -> None:
    """Banked towards the enemy, at 1 g: half again as much pull; and a greater gain wants more."""
    turn = quick(lambda row_J, seen_NF: DUEL.bot_turn(row_J, seen_NF, jnp.ones((1, 0), bool), DUEL.bot_memory(1))[1])
    seen_NF = DUEL.observe(fight(level([(0, 0, 5000), (300, 3000, 5000)], [(0, 1), (0, 1)], bank=80.0))).features_SF[:1]
    plain = Pilot(chase=1.0, load=9.0)
    rows = [plain._replace(**change) for change in ({}, {"hand": 1.5}, {"gain": 2.0})]
    plain, quicker, harder = (float(turn(jnp.array(list(row), float), seen_NF)[0, 1]) for row in rows)
    assert 0.1 < plain < 0.6
    assert quicker == pytest.approx(1.5 * plain, rel=1e-3)
    assert harder == pytest.approx(plain * 4 / 3, rel=0.15)


def test_a_pilot_of_bins_takes_the_nearest() -> None:
    """The same view, as numbers and as bins."""
    plain, binned = dogfight(), dogfight(actions="discrete")
    seen = quick(lambda state: plain.observe(state))(fight(level([(0, 0, 5000), (900, 900, 5600)], [(0, 1), (1, 0)])))
    row_J, features_NF = jnp.array(list(PILOTS["lead"]), float), seen.features_SF[:1]
    legal_NA = jnp.ones((1, 17), bool)
    _, mean_NC, _ = quick(lambda *a: plain.bot_turn(*a))(row_J, features_NF, legal_NA[:, :0], plain.bot_memory(1))
    logits_NA, none, _ = quick(lambda *a: binned.bot_turn(*a))(row_J, features_NF, legal_NA, binned.bot_memory(1))
    assert none.shape == (1, 0)
    for head, (bins, part) in enumerate(zip(BINS, np.split(np.asarray(logits_NA)[0], [3, 10]), strict=True)):
        assert part.argmax() == np.abs(np.array(bins) - float(mean_NC[0, head])).argmin()


def test_in_company_a_pilot_flies_at_the_nearest_living_enemy() -> None:
    """The nearest enemy is on the left, but gone; the next is on the right; the friend ahead is nearer than both."""
    game = dogfight_2v2()
    flight = level([(0, 0, 5000), (0, 800, 5000), (-1500, 1500, 5000), (2500, 2500, 5000)], [(0, 1)] * 4)
    row_J = jnp.array(list(PURE), float)

    @quick
    def roll(alive_S: Array) -> Array:
        seen = game.observe(fight(flight)._replace(alive_S=alive_S))
        return game.bot_turn(row_J, seen.features_SF[:2], seen.legal_SA[:2], game.bot_memory(2))[1][0, 2]

    assert roll(jnp.array([True, True, True, True])) < 0 < roll(jnp.array([True, True, False, True]))


def test_hunters_launch_missiles_at_what_is_ahead() -> None:
    game = dogfight(missiles=True)
    seen = quick(lambda state: game.observe(state))(game.start(jax.random.key(0))._replace(flight=chase(2000.0)))
    turn = quick(lambda row_J, x_NF: game.bot_turn(row_J, x_NF, jnp.ones((1, 2), bool), game.bot_memory(1))[0])
    for name, seat, fires in (("lead", 0, True), ("straight", 0, False)):
        logits_NA = turn(jnp.array(list(PILOTS[name]), float), seen.features_SF[seat : seat + 1])
        assert bool(logits_NA[0, 1] > logits_NA[0, 0]) == fires


def test_a_fighter_turns_across_the_path_of_a_missile_that_is_near() -> None:
    """It comes from the left at 350 m/s: 4 s away is 1,400 m. Banked to the left a fighter pulls."""
    game, flight = dogfight(missiles=True), level([(0, 0, 5000), (0, 9000, 5000)], [(0, 1), (0, 1)], bank=-90.0)
    row = PILOTS["ace"]
    seen_F = np.asarray(game.observe(game.start(jax.random.key(0))._replace(flight=flight)).features_SF)[0].copy()
    turn = quick(lambda row_J, x_NF: game.bot_turn(row_J, x_NF, jnp.ones((1, 2), bool), game.bot_memory(1))[1])

    def pull(pilot: Pilot, distance: float) -> float:
        rails = Rails(*[0.0] * len(Rails()))._replace(
            threat=1.0, threat_up=1.0, threat_range=distance / 5000, threat_closing=-350 / 340
        )
        return float(turn(jnp.array(list(pilot), float), jnp.asarray([*seen_F[: -len(rails)], *rails])[None])[0, 1])

    assert pull(row, 1000.0) > 0.9 > pull(row, 2000.0)
    assert pull(row._replace(breaks=0.0), 1000.0) < 0.9
