"""Opponents that change in a game of three sides: self, shadow and past may sit at one table, and only the learner
learns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.nets.config import NetConfig
from sparring.play.collect import begin, collect
from sparring.play.rollout import Driver, Pairing, duels
from sparring.play.roster import stack
from sparring.play.seating import seat_changing
from toy_games import odd_one_out
from toy_players import Always, driver_of, learners_of, quick

GAME, WORLDS, STEPS = odd_one_out(), 2, 3
SEATING = seat_changing(
    GAME.spec, families=("net_1",), mirror_B=(True, False, False), face_B=(True, True, True), worlds=WORLDS
)


def test_the_learner_is_at_home_on_every_side_in_turn_and_others_drive_all_the_rest():
    assert SEATING.home_B == (0, 1, 2)
    learner, old, new = SEATING.groups
    assert learner.lanes == (((0, 0), (1, 1), (2, 2), (0, 1), (0, 2)),)
    assert old.lanes == new.lanes == (((0, 1),), ((0, 2),), ((1, 0),), ((1, 2),), ((2, 0),), ((2, 1),))
    assert old.blocks == (0, 0, 1, 1, 2, 2)
    assert SEATING.chair_PX(old).tolist() == [[0], [1], [2], [3], [4], [5]]


@pytest.fixture(scope="module")
def played():
    """Two rollouts. In block 0 the learner meets itself twice, or itself and a player of 0s; in block 1 two players of
    0s; in block 2 the same before the first restart of each world, and then one of 1s and one of 0s. The learner always
    chooses 1."""
    learner = learners_of(GAME, NetConfig(hidden=(4,)), [0])
    own = driver_of(learner)._replace(policy=stack([Always.make(GAME, 1)]))
    old, new = ([Always.make(GAME, choice) for choice in choices] for choices in ((0,) * 6, (0, 0, 0, 0, 1, 0)))
    ids = jnp.arange(5, 11, dtype=jnp.uint32)
    drivers = [own, Driver(stack(old), None, ids), Driver(stack(new), None, ids)]

    @quick
    def play(key, second):
        family_2X = jnp.broadcast_to(jnp.stack([0, second, 1, 1, 1, 1]), (2, 6))
        pairing = Pairing(family_2X, family_2X.astype(jnp.uint32), jnp.asarray([False, False, True]))
        cursor = begin(GAME, SEATING, drivers, key)
        cursor = cursor._replace(start_BW=jnp.zeros_like(cursor.start_BW))  # as if games were running
        (rollout,), cursor, games = collect(GAME, SEATING, drivers, cursor, key, steps=STEPS, pairing=pairing)
        assert cursor.fresh_BW is not None
        return rollout, games, duels(games, SEATING, cursor.fresh_BW)

    return [jax.device_get(play(jax.random.key(0), jnp.asarray(second))) for second in (0, 1)]


EVERY, LATER = STEPS * WORLDS, (STEPS - 1) * WORLDS


def test_each_of_the_others_is_a_player_of_its_own_and_is_judged_by_itself(played):
    """The odd choice wins: among three alike all draw, and two who lost to the third have drawn with each other."""
    _, games, found = played[0]
    assert (games.outcome_TBWK[:, 0] == 0).all()
    np.testing.assert_array_equal(games.outcome_TBWK[:, 1, 0], [[-1, 1, -1]] * STEPS)
    np.testing.assert_array_equal(found.games_2X, [[0, 0, 0, 0, WORLDS, WORLDS], [EVERY] * 4 + [LATER] * 2])
    np.testing.assert_array_equal(found.won_2X, [[0, 0, 0, 0, WORLDS, WORLDS], [0, 0, EVERY, EVERY, 0, 0]])
    np.testing.assert_array_equal(found.drawn_2X[1], [EVERY, EVERY, 0, 0, LATER, 0])
    np.testing.assert_array_equal(found.lost_2X[1], [0, 0, 0, 0, 0, LATER])


def test_the_learner_and_another_player_sit_at_one_table(played):
    _, games, found = played[1]
    np.testing.assert_array_equal(games.outcome_TBWK[:, 0, 0], [[-1, -1, 1]] * STEPS)
    np.testing.assert_array_equal(found.drawn_2X[1, :2], [EVERY, 0])
    np.testing.assert_array_equal(found.lost_2X[1, :2], [0, EVERY])


def test_the_learner_learns_at_home_and_wherever_it_meets_itself(played):
    """Its five lanes: home in three blocks, then both others of the first."""
    for (rollout, *_), drives in zip(played, ([True] * 5, [True, True, True, True, False]), strict=True):
        acting_TXW = rollout.acting_TWN[:, 0].reshape(STEPS, 5, WORLDS)
        np.testing.assert_array_equal(acting_TXW, np.broadcast_to(np.array(drives)[:, None], acting_TXW.shape))


def test_sides_that_are_unlike_need_a_learner_for_each_of_two():
    spec = GameSpec(
        seats=3, side_of_seat=(0, 0, 1), action=ActionSpec(heads=(2,)), layout=(Feature("x", (1,)),),
        central=Central("seat", 1), longest=1,
    )  # fmt: skip
    never, always = (False, False), (True, True)
    families = ("net_2", "net_1")
    seating = seat_changing(spec, families=families, mirror_B=never, face_B=always, worlds=1, learners=2)
    assert seating.home_B == (0, 0, 1, 1)
    learning = {group.family: group.lanes for group in seating.groups if group.learns}
    assert learning == {"net_2": (((0, 0), (1, 0)),), "net_1": (((2, 1), (3, 1)),)}
    met = {group.family: group.lanes for group in seating.groups if group.slot == "next"}
    assert met == {"net_1": (((0, 1),), ((1, 1),)), "net_2": (((2, 0),), ((3, 0),))}
    more = seat_changing(spec, families=families, mirror_B=(False,), face_B=(True,), worlds=1, learners=4)
    assert more.home_B == (0, 0, 1, 1)  # half of the learners on each side
    with pytest.raises(ConfigError, match="sides are alike"):
        seat_changing(spec, families=families, mirror_B=never, face_B=always, worlds=1)
