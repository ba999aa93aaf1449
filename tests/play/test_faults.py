"""Worlds that go wrong are left out, begin anew and spoil nobody else's numbers."""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.evaluation.match import first_games
from sparring.games.game import Chance, Game
from sparring.learn.returns import gae
from sparring.play.defeats import before_defeat
from sparring.play.faults import found_in, left_out, no_exhibit, undefined, unusable, with_first, without_fault
from sparring.play.rollout import Driver, Games, Pairing, tally
from sparring.play.roster import stack
from toy_players import Always, mirror, play, reader

BREAKS = ("", "state", "reward", "features")


class Fragile(NamedTuple):
    clock: Array
    hull: Array
    """NaN from the step on at which the game breaks."""


class Wreck(Game):
    """One seat is paid 1 a step for 4 steps. Worlds whose clock begins at 100 break in their second step, the way that
    the rules say."""

    spec: GameSpec = eqx.field(static=True)
    rules: Array
    """Which of BREAKS happens."""

    def start(self, key: Array) -> Fragile:
        del key
        return Fragile(jnp.zeros((), jnp.int32), jnp.zeros(()))

    def observe(self, state: Fragile) -> Observation:
        here = jnp.ones(1, bool)
        wrong = jnp.where((state.clock == 102) & (self.rules == BREAKS.index("features")), jnp.inf, 0.0)
        return Observation(state.clock % 100 + wrong[None, None], jnp.ones((1, 2), bool), here, here)

    def step(self, state: Fragile, action: Action, chance: Chance) -> tuple[Fragile, Step]:
        del action, chance
        clock = state.clock + 1
        now, never = clock == 102, jnp.zeros((), bool)
        reward = jnp.where(now & (self.rules == BREAKS.index("reward")), 3e19, 1.0)
        hull = jnp.where(now & (self.rules == BREAKS.index("state")), jnp.nan, state.hull)
        return Fragile(clock, hull), Step(reward[None], never[None], clock % 100 == 4, never, jnp.ones(1))


SPEC = GameSpec(
    seats=1,
    side_of_seat=(0,),
    action=ActionSpec(heads=(2,)),
    layout=(Feature("clock", (1,)),),
    central=Central("seat", 1),
    longest=4,
    shortest=4,
)


def played(breaks: str, clock_V: list[int], steps: int = 6, **changes: int):
    game = Wreck(replace(SPEC, **changes), jnp.asarray(BREAKS.index(breaks)))
    drivers = [Driver(stack([Always.make(game, 0)]), reader(), jnp.zeros(1, jnp.uint32))]
    (rollout,), cursor, games = play(game, mirror(game), drivers, steps=steps, clock_V=clock_V)
    return rollout, cursor, games


@pytest.mark.parametrize(("breaks", "lost"), [("state", [1]), ("reward", [1]), ("features", [1, 2])])
def test_a_world_that_goes_wrong_is_left_out_and_begins_anew(breaks, lost):
    # World 0 is sound. World 1 breaks in its second step, or shows it one step later: then nobody knows what the
    # second step led to, so that both are left out.
    rollout, cursor, games = played(breaks, [0, 100])
    last = lost[-1]
    present = rollout.present_TWN[:, 0, :, 0]
    assert present[:, 0].all()
    np.testing.assert_array_equal(np.flatnonzero(~present[:, 1]), lost)
    np.testing.assert_array_equal(rollout.acting_TWN, rollout.present_TWN)
    np.testing.assert_array_equal(np.flatnonzero(games.fault_TBW[:, 0, 1]), [last])
    assert rollout.start_TW[last + 1, 0, 1]
    assert rollout.features_TWNF[last + 1, 0, 1, 0, 0] == 0  # a fresh game
    # Its game counts for nothing; world 0 ends one of 4 steps.
    np.testing.assert_array_equal(games.finished_TBW[:, 0].sum(0), [1, 5 - last == 4])
    assert tally(games).return_BS.item() == 4 * (1 + (5 - last == 4))
    for leaf in jax.tree.leaves((rollout, cursor, games.return_TBWS)):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max(initial=0) < 1e12


def test_credit_stops_before_what_is_left_out_with_the_value_of_the_last_sound_observation():
    rollout, _, _ = played("state", [0, 100])
    advantage = gae(
        rollout.reward_TWN, rollout.value_TWN, rollout.next_value_TWN, rollout.over_TWN, rollout.ended_TWN,
        discount=0.5, decay=1.0,
    )  # fmt: skip
    # Value = clock. World 1 has clocks 0, 1 and breaks: its first step earned 1 and a state worth 1.
    assert advantage[0, 0, 1, 0] == 1 + 0.5 * 1 - 0
    # World 0: 1 + 0.5 * (1 + 0.5 * (1 + 0.5 * 1)) - 0, to its end after 4 steps.
    assert advantage[0, 0, 0, 0] == 1.875


def test_a_game_that_never_ends_begins_anew_after_its_longest():
    # Games of 4 steps that are said to last 3 at most; world 1 stands before the last but two of its first.
    rollout, _, games = played("", [0, 1], steps=9, longest=3, shortest=1)
    np.testing.assert_array_equal(np.flatnonzero(games.fault_TBW[:, 0, 0]), [2, 5, 8])
    assert (games.faults.left_out, games.faults.overdue) == (5, 5)
    np.testing.assert_array_equal(np.flatnonzero(~rollout.present_TWN[:, 0, 0, 0]), [2, 5, 8])


def test_the_first_fault_is_kept_as_it_was_one_step_before():
    _, _, games = played("state", [0, 100])
    exhibit = games.faults.exhibit
    assert (exhibit.world, exhibit.state.clock, exhibit.state.hull) == (1, 101, 0.0)
    assert played("state", [0, 0])[2].faults.exhibit.world == -1


def test_a_later_fault_does_not_take_the_place_of_the_first():
    actions = Action(jnp.zeros((2, 1, 1), jnp.int32), jnp.zeros((2, 1, 0)))
    exhibit = no_exhibit(SPEC, jnp.zeros(2), ())
    for step, fault in enumerate(([False, False], [False, True], [True, False])):
        exhibit = with_first(exhibit, jnp.array([fault]), jnp.full(2, float(step)), actions, ())
    assert (exhibit.world, exhibit.state) == (1, 1.0)


def test_starts_that_are_used_again_are_counted():
    # Games of 4 steps that are said to last 9: both worlds restart after steps 4 and 8, with one start each.
    _, _, games = played("", [0, 0], steps=9, longest=9, shortest=9)
    assert games.faults.reused == 2
    assert games.faults.left_out == 0
    assert played("", [0, 3], steps=9)[2].faults.reused == 0
    # What a fault takes from the bank is not the fault of the game's lengths.
    assert played("state", [100, 100], steps=4)[2].faults.reused == 0


def test_starts_that_faults_took_are_not_counted_as_used_again():
    # Two starts for each world. World 0 went wrong once and ended two games, world 1 ended three.
    fault_TBW = jnp.array([[[True, False]], [[False, False]]])
    found = found_in(fault_TBW, jnp.ones((2, 1, 2), int), SPEC, jnp.array([3, 3]), jnp.zeros((2, 2)), None)
    assert (found.left_out, found.overdue, found.reused) == (1, 0, 1)


def test_a_step_that_went_wrong_neither_pays_nor_ends():
    yes, fault_BW = jnp.array([[True, True]]), jnp.array([[True, False]])
    sound = without_fault(Step(jnp.ones((1, 2, 1)), yes[..., None], yes, yes, jnp.ones((1, 2, 1))), fault_BW)
    np.testing.assert_array_equal(sound.reward_S[..., 0], [[0, 1]])
    np.testing.assert_array_equal(sound.over, [[False, True]])
    np.testing.assert_array_equal(sound.cut, [[False, True]])


def test_steps_that_teach_nothing_and_where_credit_stops():
    fault_TW = np.array([[0, 0], [0, 0], [1, 0], [0, 0]], bool)
    blind_TW = np.array([[0, 0], [0, 1], [0, 0], [0, 0], [0, 1]], bool)
    ended_TWN = np.array([[0, 1], [0, 0], [0, 0], [0, 0]], bool)[..., None]
    lost, stops = left_out(jnp.asarray(fault_TW), jnp.asarray(blind_TW), jnp.asarray(ended_TWN))
    # World 1 is blind at step 1, where another game begins, and after the last step.
    np.testing.assert_array_equal(lost[..., 0].T, [[0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(stops[..., 0].T, [[0, 1, 1, 0], [0, 0, 1, 1]])


def test_numbers_that_can_be_used_are_finite_and_can_be_squared():
    array = jnp.array([[[1.0, -1e12]], [[jnp.nan, 0.0]], [[0.0, -jnp.inf]], [[3e19, 0.0]]])
    np.testing.assert_array_equal(unusable(array, 1), [False, True, True, True])
    state = {"place": jnp.array([[[0.0, jnp.inf], [jnp.nan, 1.0]]]), "turn": jnp.array([[1, 2]])}
    np.testing.assert_array_equal(undefined(state), [[False, True]])  # infinity may mean "never"


def test_an_evaluation_takes_no_game_that_went_wrong():
    # World 0 breaks in its first step and ends another game later, world 1 ends its own.
    record = Games(
        finished_TBW=jnp.array([[[False, False]], [[True, True]]]),
        return_TBWS=jnp.array([[[[1.0], [10.0]]], [[[2.0], [20.0]]]]),
        length_TBW=jnp.array([[[1, 1]], [[1, 2]]]),
        outcome_TBWK=jnp.ones((2, 1, 2, 1)),
        fault_TBW=jnp.array([[[True, False]], [[False, False]]]),
    )
    counts, returns, *_ = first_games(record)
    np.testing.assert_array_equal(counts, [[False, True]])
    np.testing.assert_array_equal(returns, [[[1], [20]]])


def test_winners_are_not_imitated_beyond_a_fault():
    shape = (4, 1, 1)
    mark = jnp.arange(4)[:, None, None]
    games = Games(
        mark == 3, jnp.zeros((*shape, 2)), jnp.ones(shape, int), jnp.broadcast_to(jnp.array([-1.0, 1.0]), (*shape, 2)),
        fresh_TBW=jnp.ones(shape, bool), fault_TBW=mark == 1,
    )  # fmt: skip
    pairing = Pairing(jnp.ones((2, 1), int), jnp.full((2, 1), 7, jnp.uint32), jnp.zeros(1, bool))

    seating = SimpleNamespace(at_home=lambda x: x[..., 0], blocks=1, away=1, away_lanes=np.array([[0, 1]]))
    found = before_defeat(games, seating, pairing, jnp.asarray(9))
    np.testing.assert_array_equal(found.ravel(), [False, False, True, True])
