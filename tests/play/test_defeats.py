"""Defeats: which are kept, from where they are tried again, and what of them is imitated."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.nets.config import NetConfig
from sparring.play.collect import begin, collect
from sparring.play.defeats import before_defeat, empty_archive, remembered, second_tries
from sparring.play.relay import shifted
from sparring.play.rollout import Driver, Games, Pairing, tally
from sparring.play.roster import stack
from sparring.play.seating import seat_changing
from toy_games import timetable
from toy_players import Always, driver_of, learners_of, quick

LENGTH, STEPS, WORLDS, EVERY = 6, 12, 2, 2
TIMETABLE = timetable(np.zeros((LENGTH, 2)))
GAME = replace(TIMETABLE, spec=replace(TIMETABLE.spec, exchangeable=((0, 1),)))
SEATING = seat_changing(GAME.spec, families=("bots",), mirror_B=(True, True), face_B=(True, True), worlds=WORLDS)
"""Two blocks; the learner is at home on side 0 and on side 1. Side 0 wins every game."""
RIVAL, STRANGER = 77, 78


def pairing(block_0: int = RIVAL, block_1: int = RIVAL) -> Pairing:
    players = jnp.asarray([[block_0, block_1]] * 2, jnp.uint32)
    return Pairing((players != 0).astype(jnp.int32), players, jnp.zeros(2, bool))


def drivers() -> list[Driver]:
    learner = learners_of(GAME, NetConfig(hidden=(4,)), [0])
    rival = Driver(stack([Always.make(GAME, 2), Always.make(GAME, 2)]), None, jnp.asarray([RIVAL] * 2, jnp.uint32))
    return [driver_of(learner), rival, rival]


@pytest.fixture(scope="module")
def play():
    """Two rollouts of STEPS steps: the archive after the first, the games and the cursor of the second."""

    @quick
    def run(archive, share, who):
        cursor = begin(GAME, SEATING, drivers(), jax.random.key(0), replaying=True)
        cursor = cursor._replace(state=cursor.state._replace(clock=jnp.asarray([3, 3, 0, 1], jnp.int32)))
        cursor = cursor._replace(length_BW=cursor.state.clock.reshape(2, 2))
        results = []
        for key in jax.random.split(jax.random.key(1), 2):
            rollouts, cursor, games = collect(
                GAME, SEATING, drivers(), cursor, key, steps=STEPS, sequence=EVERY, pairing=who, archive=archive,
                replay_share=share, imitating=True,
            )  # fmt: skip
            archive = remembered(archive, games, SEATING, who, jnp.asarray(4), key, jnp.asarray(5))
            results.append((archive, games, cursor, rollouts[0]))
        return results

    return lambda share=0.0, who=pairing(), size=16: run(  # noqa: B008
        empty_archive(GAME, size, STEPS), jnp.asarray(share), who
    )


def test_a_defeat_is_kept_from_about_the_asked_number_of_steps_before_its_end(play):
    archive, *_ = play()[0]
    kept = np.asarray(archive.player_E) != 0
    # In 12 steps the worlds of block 1, begun at clocks 0 and 1, each end two games.
    assert (kept.sum(), int(archive.added)) == (4, 4)
    clocks, left = np.asarray(archive.state.clock)[kept], np.asarray(archive.left_E)[kept]
    np.testing.assert_array_equal(clocks + left, LENGTH)
    # The kept states are every 2 steps: 4 steps before the end, or 5 where the game stands at odd clocks.
    assert sorted(left.tolist()) == [4, 4, 5, 5]
    assert set(np.asarray(archive.born_E)[kept].tolist()) == {5}


def test_only_defeats_by_players_that_do_not_learn_are_kept(play):
    archive, *_ = play(who=pairing(block_1=0))[0]
    assert not np.asarray(archive.player_E).any()


def test_what_was_done_before_a_defeat_is_kept_with_it(play):
    archive, *_ = play()[0]
    for entry in np.flatnonzero(np.asarray(archive.player_E)):
        left = int(archive.left_E[entry])
        assert (int(archive.player_E[entry]), int(archive.side_E[entry])) == (RIVAL, 1)
        winner = np.asarray(archive.action.discrete_SD)[entry, :left, 0, 0]
        np.testing.assert_array_equal(winner, 2)


def test_a_full_archive_forgets_its_oldest_defeats(play):
    (first, *_), (second, *_) = play(size=3)
    assert int(second.added) > int(first.added) == 3
    assert (np.asarray(second.player_E) == RIVAL).all()


def test_the_first_restart_of_a_world_is_a_second_try_against_the_same_player(play):
    _, games, *_ = play(share=1.0)[1]
    replayed_BW = np.asarray(games.replayed_TBW).any(0)
    np.testing.assert_array_equal(replayed_BW, [[False, False], [True, True]])
    # Nothing is known of defeats on side 0, where the learner of block 0 is at home and wins.
    assert not np.asarray(play(share=0.0)[1][1].replayed_TBW).any()


def test_second_tries_need_the_same_player_and_the_same_side():
    archive = empty_archive(GAME, 2, STEPS)._replace(
        player_E=jnp.asarray([RIVAL, STRANGER], jnp.uint32), side_E=jnp.asarray([1, 0], jnp.int32)
    )
    archive = archive._replace(state=archive.state._replace(clock=jnp.asarray([4, 5], jnp.int32)))
    fresh = jax.tree.map(lambda x: jnp.zeros((4, *x.shape[1:]), x.dtype), archive.state)

    def tried(*players: int) -> list[int]:
        state, again_V = second_tries(archive, fresh, SEATING, pairing(*players), jnp.ones(()), jax.random.key(0))
        np.testing.assert_array_equal(np.asarray(state.clock) > 0, again_V)
        return np.asarray(state.clock).tolist()

    assert tried(RIVAL, RIVAL) == [0, 0, 4, 4]
    assert tried(STRANGER, STRANGER) == [5, 5, 0, 0]
    assert tried(0, 0) == [0, 0, 0, 0]


TWO = seat_changing(GAME.spec, families=("bots",), mirror_B=(False,) * 2, face_B=(True,) * 2, worlds=WORLDS, learners=2)
"""Two learners with two blocks each, at home on side 0 and on side 1."""
EACH_HIS_OWN = Pairing(
    jnp.ones((2, 4), jnp.int32), jnp.asarray([[5, RIVAL, 6, STRANGER]] * 2, jnp.uint32), jnp.zeros(4)
)


def test_a_defeat_is_kept_with_the_learner_that_lost():
    two = driver_of(learners_of(GAME, NetConfig(hidden=(4,)), [0, 1]))
    rival = Driver(stack([Always.make(GAME, 2)] * 4), None, EACH_HIS_OWN.player_2X[0])

    @quick
    def kept(key):
        archive, seats = empty_archive(GAME, 16, STEPS), [two, rival, rival]
        cursor = begin(GAME, TWO, seats, key, replaying=True)
        _, _, games = collect(GAME, TWO, seats, cursor, key, steps=STEPS, sequence=EVERY, pairing=EACH_HIS_OWN,
                              archive=archive)  # fmt: skip
        return remembered(archive, games, TWO, EACH_HIS_OWN, jnp.asarray(4), key, jnp.asarray(5))

    archive = kept(jax.random.key(0))
    found = set(zip(*(np.asarray(x).tolist() for x in (archive.player_E, archive.learner_E)), strict=True))
    assert found == {(0, 0), (RIVAL, 0), (STRANGER, 1)}


def test_second_tries_are_those_of_the_learner_that_lost():
    """Learner 1 lost to STRANGER from clock 5; it and learner 0, who lost from clock 4, meet him now."""
    archive = empty_archive(GAME, 2, STEPS)._replace(
        player_E=jnp.full(2, STRANGER, jnp.uint32), side_E=jnp.ones(2, jnp.int32), learner_E=jnp.asarray([0, 1])
    )
    archive = archive._replace(state=archive.state._replace(clock=jnp.asarray([4, 5], jnp.int32)))
    fresh = jax.tree.map(lambda x: jnp.zeros((8, *x.shape[1:]), x.dtype), archive.state)
    met = EACH_HIS_OWN._replace(player_2X=jnp.full((2, 4), STRANGER, jnp.uint32))
    state, _ = second_tries(archive, fresh, TWO, met, jnp.ones(()), jax.random.key(0))
    np.testing.assert_array_equal(state.clock, [0, 0, 4, 4, 0, 0, 5, 5])


def test_a_second_try_stays_with_the_player_that_won_the_first_though_the_block_is_given_another(play):
    *_, cursor, _ = play(share=1.0)[1]
    cursor = jax.tree.map(jnp.asarray, cursor)._replace(
        start_BW=jnp.ones((2, 2), bool), replayed_BW=jnp.asarray([[False, True], [True, False]])
    )
    moved = shifted(SEATING, cursor, pairing(STRANGER, STRANGER)._replace(shift_B=jnp.ones(2, bool)))
    np.testing.assert_array_equal(moved.fresh_BW, [[True, False], [False, True]])


def test_second_tries_count_for_no_payoff(play):
    _, games, *_ = play(share=1.0)[1]
    games = jax.tree.map(jnp.asarray, games)
    again = int((games.finished_TBW & games.replayed_TBW).sum())
    assert again >= 2
    assert int(tally(games).games_B.sum()) - int(tally(games.counted).games_B.sum()) == again


def test_the_last_steps_before_a_defeat_are_imitated_and_no_others():
    lost = [0, 0, 0, 1, 0, 0, 0, 0]
    finished = [0, 1, 0, 1, 0, 0, 1, 0]  # the games at steps 1 and 6 were not lost
    shape = (8, 2, 1)
    games = Games(
        finished_TBW=jnp.broadcast_to(jnp.asarray(finished, bool)[:, None, None], shape),
        return_TBWS=jnp.zeros((*shape, 2)),
        length_TBW=jnp.ones(shape, jnp.int32),
        outcome_TBWK=jnp.stack([jnp.asarray(lost), -jnp.asarray(lost)], -1)[:, None, None] * jnp.ones((8, 2, 1, 2)),
        fresh_TBW=jnp.ones(shape, bool),
    )
    before = before_defeat(games, SEATING, pairing(), jnp.asarray(3))[:, :, 0]
    np.testing.assert_array_equal(before[:, 1], [0, 0, 1, 1, 0, 0, 0, 0])  # side 1 lost; the game began at step 2
    np.testing.assert_array_equal(before[:, 0], np.zeros(8))  # side 0 won it
    far = before_defeat(games, SEATING, pairing(), jnp.asarray(1))[:, 1, 0]
    np.testing.assert_array_equal(far, [0, 0, 0, 1, 0, 0, 0, 0])


def test_a_rollout_holds_what_the_other_player_did_where_the_learner_did_not_drive(play):
    *_, rollout = play()[0]
    away = np.asarray(rollout.action.discrete_SD)[:, 0, 2 * WORLDS :, 0, 0]
    np.testing.assert_array_equal(away, 2)
    assert not np.asarray(rollout.present_TWN)[:, 0, 2 * WORLDS :].any()
    assert np.asarray(rollout.present_TWN)[:, 0, : 2 * WORLDS].all()


def test_what_a_seat_did_that_does_not_act_is_imitated_by_nobody():
    """Seat 0 idles at step 1 of each game; it drives the away side of block 1, whose learner loses."""
    game = timetable(np.zeros((LENGTH, 2)), idle=[(1, 0)])
    rival = Driver(stack([Always.make(game, 2)] * 2), None, jnp.asarray([RIVAL] * 2, jnp.uint32))
    seats = [driver_of(learners_of(game, NetConfig(hidden=(4,)), [0])), rival, rival]

    @quick
    def able(key):
        cursor = begin(game, SEATING, seats, key, replaying=True)
        rollouts, *_ = collect(
            game, SEATING, seats, cursor, key, steps=4, sequence=2, pairing=pairing(),
            archive=empty_archive(game, 2, 4), imitating=True,
        )  # fmt: skip
        return rollouts[0].imitate_TWN

    away_of_block_1 = np.asarray(able(jax.random.key(0)))[:, 0, 3 * WORLDS :, 0]
    np.testing.assert_array_equal(away_of_block_1, np.array([[1, 1], [0, 0], [1, 1], [1, 1]], bool))
