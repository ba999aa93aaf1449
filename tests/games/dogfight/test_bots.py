"""The ladder of scripted pilots, flown by what they see alone."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax
from sky import chase, fight, head_on, level, rows

from sparring.core.records import Action
from sparring.games.dogfight.bots import PILOTS
from sparring.games.dogfight.controls import BINS
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.rules import CAUSES, Fight
from toy_players import quick

SECONDS = 60
DUEL = dogfight(seconds=SECONDS).with_rules(start_offensive=0.0)
NAMES = tuple(PILOTS)


class Fights(NamedTuple):
    path: Fight
    outcome_WK: np.ndarray
    cause_WK: np.ndarray


def decisions(game: Dogfight, table_WKJ: Array, state: Fight, memory: tuple) -> tuple[Action, tuple]:
    """Both sides' pilots, each with what its seats see; the likeliest choice of each head."""
    seen = jax.vmap(game.observe)(state)
    worlds, seats = seen.features_SF.shape[:2]
    by_side = [x.reshape(worlds, 2, seats // 2, -1) for x in (seen.features_SF, seen.legal_SA)]
    logits, mean, memory = jax.vmap(jax.vmap(game.bot_turn))(table_WKJ, *by_side, memory)
    logits = jnp.where(by_side[1], logits, -jnp.inf)
    ends = np.cumsum(game.spec.action.heads)[:-1] if game.spec.action.heads else []
    parts = jnp.split(logits, ends, axis=-1) if game.spec.action.heads else []
    choice = jnp.stack([part.argmax(-1) for part in parts], -1) if parts else jnp.zeros((*mean.shape[:-1], 0))
    return Action(choice.reshape(worlds, seats, -1).astype(jnp.int32), mean.reshape(worlds, seats, -1)), memory


@quick
def played(game: Dogfight, table_WKJ: Array, state: Fight, steps: Array) -> tuple:
    """Paths [T, W] and the outcome of each world's game; a world that has ended stays."""
    worlds, seats = state.health_S.shape

    def advance(carry: tuple, _: Array) -> tuple:
        state, memory, ended, outcome, cause = carry
        action, memory = decisions(game, table_WKJ, state, memory)
        after, step = jax.vmap(lambda s, a: game.step(s, a, ()))(state, action)
        kept = jax.tree.map(
            lambda new, old: jnp.where(ended.reshape(-1, *(1,) * (new.ndim - 1)), old, new),
            (after, step.outcome_K, step.cause_K), (state, outcome, cause),
        )  # fmt: skip
        return (kept[0], memory, ended | step.over, *kept[1:]), kept[0]

    blank = game.bot_memory(worlds, 2, seats // 2)
    carry = (state, blank, jnp.zeros(worlds, bool), jnp.zeros((worlds, 2)), jnp.zeros((worlds, 2), jnp.int32))
    (_, _, _, outcome, cause), path = lax.scan(advance, carry, steps)
    return path, outcome, cause


def fights(game: Dogfight, first: list[str], second: list[str], state: Fight, seconds: float = SECONDS) -> Fights:
    table_WKJ = jnp.array([[list(PILOTS[name]) for name in pair] for pair in zip(first, second, strict=True)], float)
    path, outcome, cause = played(game, table_WKJ, state, jnp.arange(round(seconds * 10)))
    return Fights(path, np.asarray(outcome), np.asarray(cause))


@cache
def mirror_matches() -> Fights:
    """Every pilot against itself from three neutral starts; then the four best against straight."""
    first = [*NAMES * 3, "pure", "energy", "lead", "ace"]
    second = [*NAMES * 3, *["straight"] * 4]
    starts = quick(jax.vmap(lambda key: DUEL.start(key)))(jax.random.split(jax.random.key(8), len(first)))
    return fights(DUEL, first, second, starts)


def test_a_pilot_against_itself_from_a_symmetric_start_draws() -> None:
    assert not mirror_matches().outcome_WK[: 3 * len(NAMES)].any()


def test_pursuit_shoots_down_who_flies_straight() -> None:
    found = mirror_matches()
    np.testing.assert_array_equal(found.outcome_WK[-4:], [[1, -1]] * 4)
    assert {CAUSES[cause] for cause in found.cause_WK[-4:].ravel()} == {"gun"}


def test_nobody_flies_into_the_ground() -> None:
    found = mirror_matches()
    assert (found.cause_WK != CAUSES.index("ground")).all()
    assert np.asarray(found.path.flight.place.z_S).min() > 300


def test_straight_keeps_its_height_and_its_heading() -> None:
    """For 12 s, 4 km and more from the other."""
    flight = fights(DUEL, ["straight"], ["straight"], one(chase(4000.0)), 12).path.flight
    assert np.abs(rows(flight.place)[:, 0, :, 2] - 5000).max() < 20
    assert rows(flight.heading)[:, 0, :, 1].min() > 0.999
    assert np.abs(np.asarray(flight.speed_S) - 250).max() < 12


def one(flight) -> Fight:
    return jax.tree.map(lambda x: x[None], fight(flight, played=0))


def headings(name: str, seconds: float = 12.0) -> np.ndarray:
    flight = fights(DUEL, [name], ["straight"], one(chase(4000.0)), seconds).path.flight
    heading = rows(flight.heading)[:, 0, 0]
    return np.unwrap(np.arctan2(heading[:, 0], heading[:, 1]))


def test_gentle_turn_goes_round_one_way() -> None:
    """20 degrees off the nose at 1.5 a second ask for 0.52 rad/s, the cap of 2 g allows 0.068."""
    turned = headings("gentle_turn")
    assert abs(turned[-1]) == pytest.approx(12 * 9.80665 * np.sqrt(3) / 250, rel=0.25)


def test_weave_comes_back() -> None:
    """To and fro by 45 degrees in 20 s."""
    turned = headings("weave", 20.0)
    assert abs(turned[-1]) < np.radians(15)
    assert np.ptp(turned) > np.radians(50)


def test_wanderers_differ_from_start_to_start() -> None:
    starts = quick(jax.vmap(lambda key: DUEL.start(key)))(jax.random.split(jax.random.key(9), 8))
    path = fights(DUEL, ["random_walk"] * 8, ["straight"] * 8, starts, 6).path
    roll_W = np.asarray(path.flight.roll_S)[3, :, 0]
    assert len({round(float(roll), 3) for roll in roll_W}) > 4 and roll_W.min() < 0 < roll_W.max()


def test_lag_aims_behind_and_lead_ahead_of_a_target_that_crosses() -> None:
    """Target 3 km ahead, going right: lead turns right at once and stays right of it, lag goes left of it."""
    state = jax.tree.map(
        lambda *x: jnp.concatenate(x), *[one(level([(0, 0, 5000), (0, 3000, 5000)], [(0, 1), (1, 0)]))] * 2
    )
    flight = fights(DUEL, ["lag", "lead"], ["straight"] * 2, state, 2).path.flight
    east = rows(flight.heading)[10, :, 0, 0]
    bearing = rows(flight.place)[10, :, 1, 0] / 3000
    assert east[0] < bearing[0] - 0.02 and east[1] > bearing[1] + 0.02


def test_energy_swerves_in_the_gun_zone_and_lead_does_not() -> None:
    """Head on: lead keeps its nose on the other, energy leaves the line by more than the 5 degrees of the zone."""
    state = jax.tree.map(lambda *x: jnp.concatenate(x), *[one(head_on(1900.0))] * 2)
    flight = fights(DUEL, ["energy", "lead"], ["straight"] * 2, state, 3).path.flight
    off = np.degrees(np.arccos(np.clip(rows(flight.heading)[:, :, 0, 1], -1, 1))).max(0)
    assert off[0] > 5 > 2 > off[1]


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
    row_J = jnp.array(list(PILOTS["pure"]), float)

    @quick
    def roll(alive_S: Array) -> Array:
        seen = game.observe(fight(flight)._replace(alive_S=alive_S))
        return game.bot_turn(row_J, seen.features_SF[:2], seen.legal_SA[:2], game.bot_memory(2))[1][0, 2]

    assert roll(jnp.array([True, True, True, True])) < 0 < roll(jnp.array([True, True, False, True]))


def test_hunters_launch_missiles_at_what_is_ahead() -> None:
    game = dogfight(missiles=True)
    seen = quick(lambda state: game.observe(state))(game.start(jax.random.key(0))._replace(flight=chase(5000.0)))
    turn = quick(lambda row_J, x_NF: game.bot_turn(row_J, x_NF, jnp.ones((1, 2), bool), game.bot_memory(1))[0])
    for name, seat, fires in (("lead", 0, True), ("lead", 1, False), ("straight", 0, False)):
        logits_NA = turn(jnp.array(list(PILOTS[name]), float), seen.features_SF[seat : seat + 1])
        assert bool(logits_NA[0, 1] > logits_NA[0, 0]) == fires
