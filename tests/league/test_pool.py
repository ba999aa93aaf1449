import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from making import ALONE, GUEST, learner, mix, past, rules, told, with_state

from sparring.core.plain import from_plain, to_plain
from sparring.league.config import PoolConfig
from sparring.league.copying import verdicts
from sparring.league.league import League
from sparring.league.player import FIRST, MIRROR, Player, bot_players, packed, past_self, unpacked
from sparring.league.pool import Pool, by_age, evictee
from sparring.league.score import Score


def pool_of(*births, pinned=()):
    return tuple(past(place, born=born, pinned=place in pinned) for place, born in enumerate(births))


def taken(number, born):
    """The snapshot of a learner that is alone."""
    return past_self(number, ALONE, born=born, alone=True)


@pytest.mark.parametrize(
    ("number", "player"),
    [
        (MIRROR, None),
        (2**16 - 1, None),
        (2**16, ("learner", 0)),
        (2**16 + 15, ("learner", 15)),
        (2**20, ("past", 0)),
        (2**20 + 1_000_000, ("past", 1_000_000)),
        (2**28, ("shadow", 0)),
        (2**29, ("guest", 0)),
        (2**29 + 7, ("guest", 7)),
        (2**31, ("bot", 0)),
        (2**32 - 1, ("bot", 2**31 - 1)),
    ],
)
def test_a_number_of_an_array_says_which_player_it_is(number, player):
    assert unpacked(number) == player
    assert player is None or packed(Player(*player, name="")) == number


def test_a_bot_has_the_number_and_the_age_of_its_place_on_the_ladder():
    weak, strong = bot_players(["meek", "ace"])
    assert (packed(weak), packed(strong)) == (FIRST["bot"], FIRST["bot"] + 1)
    assert weak.born < strong.born


def test_a_player_is_told_by_its_kind_and_number_whatever_else_is_said_of_it():
    assert past(3, born=1) == past(3, born=9, whose=2, role="main") != past(4, born=1)
    assert past(0) != GUEST and len({past(0), GUEST, learner(0)}) == 3


def test_the_pool_is_ordered_by_step_and_not_by_name():
    """Files in order of their names would give 10000 before 2000."""
    players = [taken(number, born) for number, born in enumerate((2_000, 10_000, 100_000))]
    assert [player.born for player in by_age(sorted(players, key=lambda player: player.name))] == [2000, 10000, 100000]
    assert sorted(player.name for player in players)[0] != players[0].name


def test_the_oldest_leaves_unless_pinned_or_playing():
    pool = pool_of(300, 100, 200, 400, pinned=(1,))
    assert evictee(pool, "oldest", now=500) == pool[2]
    assert evictee(pool, "oldest", now=500, referenced={pool[2]}) == pool[0]


@pytest.mark.parametrize("policy", ["oldest", "log_spaced", "redundant"])
def test_nobody_leaves_a_pool_of_pinned_and_playing_members(policy):
    pool = pool_of(1, 2, 3, pinned=(0, 1))
    assert evictee(pool, policy, now=9, referenced={pool[2]}, payoff_MM=np.zeros((3, 3))) is None
    assert evictee((), policy, now=9) is None


@pytest.mark.parametrize("policy", ["oldest", "log_spaced", "redundant"])
def test_the_newest_leaves_only_when_nobody_else_can(policy):
    pool = pool_of(1, 2, 3)
    payoff_MM = np.array([[0, 0.9, 0.2], [-0.9, 0, 0.2], [-0.2, -0.2, 0]])
    others = {pool[0], pool[1]}
    assert evictee(pool, policy, now=9, payoff_MM=payoff_MM) != pool[2]
    weakest = (9.0, 9.0, 0.0)  # of the two most alike, the members 1 and 2, the newest is the lower rated
    assert evictee(pool, policy, now=9, payoff_MM=payoff_MM, rating_M=weakest) != pool[2]
    assert evictee(pool, policy, now=9, referenced=others, payoff_MM=payoff_MM) == pool[2]
    assert evictee(pool[2:], policy, now=9, payoff_MM=np.zeros((1, 1))) == pool[2]


def test_the_member_whose_leaving_opens_the_smallest_gap_leaves():
    pool = pool_of(0, 50, 78, 92, 96)  # at 100: ages 100, 50, 22, 8, 4; gaps 100/22, 50/8, 22/4
    assert evictee(pool, "log_spaced", now=100) == pool[1]
    pool = pool_of(0, 50, 80, 84, 96)  # ages 100, 50, 20, 16, 4; gaps 5, 50/16, 5
    assert evictee(pool, "log_spaced", now=100) == pool[2]
    assert evictee(pool, "log_spaced", now=100, referenced={pool[2]}) == pool[1]


def test_of_the_two_most_alike_the_lower_rated_leaves():
    pool = pool_of(1, 2, 3, 4)
    payoff_MM = np.zeros((4, 4))
    for row, column, value in ((0, 1, 0.1), (0, 2, -0.5), (0, 3, 0.9), (1, 2, -0.5), (1, 3, 0.8), (2, 3, -0.9)):
        payoff_MM[row, column], payoff_MM[column, row] = value, -value
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(50, 20, 0, 0)) == pool[1]
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(20, 50, 0, 0)) == pool[0]
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM) == pool[0], "the older where ratings are unknown"
    playing = {pool[0]}
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(0, 9, 0, 0), referenced=playing) == pool[1]


def test_rows_of_payoff_follow_the_order_given_and_not_age():
    pool = pool_of(3, 1, 2)
    payoff_MM = np.array([[0, 0.9, 0.9], [-0.9, 0, 0], [-0.9, 0, 0]])
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(0, 5, 1)) == pool[2]


def test_ten_thousand_snapshots_leave_a_bounded_pool_of_log_spaced_ages():
    pool, widest, sizes = Pool(), 0.0, set()
    for number in range(10_000):
        now = 100 * (number + 1)
        if pool.free_row(30) is None:
            leaver = evictee(pool.players, "log_spaced", now=now)
            assert leaver is not None
            pool = pool.without(leaver)
        row = pool.free_row(30)
        assert row is not None
        pool = pool.joined_by(taken(number, now), row)
        sizes.add(len(pool.players))
        if number % 50 == 0 and number > 30:
            ages = [now + 100 - player.born for player in pool.players]
            widest = max(widest, *(old / young for old, young in pairwise(ages)))
    assert max(sizes) == 30
    assert pool.players[0].born == 100, "the first stays"
    assert widest <= 3.0
    assert sorted(pool.rows.values()) == list(range(30))


NO_GAME = Score()


def due(pool: PoolConfig, *, steps: int, last: int, total_steps: int = 1, beaten: Score = NO_GAME) -> bool:
    """Whether a learner is copied that met the newest past self with this score."""
    league = League.begin(rules(mix(history=1), pool=pool, total_steps=total_steps))
    book = told(league.state.book.joined_by(past(0), (0,), 0.0), {(0, past(0)): beaten})
    with_state(league, book=book, iteration=0, careers=(replace(league.state.careers[0], copied=last),))
    return verdicts(league.rules, league.state, league.outlook(), steps)[0].snapshot


def test_a_snapshot_is_due_after_its_interval_or_when_the_newest_is_surely_beaten():
    """Of 29 games, all won, rates above m explain (1 - m ** 30) / 30 / (1 - m) / m ** 29 times as much: 43 for 0.83."""
    by_steps, by_mark = PoolConfig(snapshot_every=100), PoolConfig(snapshot_every=100, snapshot_mark=0.83)
    won = Score(won=29)
    assert not due(by_steps, steps=199, last=100, beaten=won)
    assert due(by_steps, steps=200, last=100)
    assert due(by_mark, steps=110, last=100, beaten=won)
    assert not due(by_mark, steps=110, last=100, beaten=Score(won=28)), "37 times is less than 40"
    assert not due(replace(by_mark, snapshot_mark=0.84), steps=110, last=100, beaten=won)
    assert not due(replace(by_mark, snapshot_mark=1.0), steps=110, last=100, beaten=won)
    assert not due(by_mark, steps=110, last=100)
    assert not due(PoolConfig(pool_size=0), steps=10**9, last=0, beaten=won)


def test_without_an_interval_a_run_takes_fifty_snapshots():
    """A copy at every update would make a pool of a hundred span only the last hundred updates."""
    found = [due(PoolConfig(), steps=steps, last=0, total_steps=5_000) for steps in (99, 100)]
    assert found == [False, True]
    tiny = [due(PoolConfig(), steps=steps, last=0, total_steps=10) for steps in (0, 1)]
    assert tiny == [False, True], "the shortest interval is one step"


def test_a_pool_survives_json():
    pool = Pool().joined_by(taken(4, 70), 2, 11).joined_by(taken(2, 30), 0, 12)
    pool = replace(pool, leaving=frozenset({taken(2, 30)}))
    again = from_plain(Pool, json.loads(json.dumps(to_plain(pool))))
    assert again == pool and [player.born for player in again.players] == [30, 70]
    assert pool.eligible == (taken(4, 70),)


def test_who_is_out_of_memory_is_still_in_the_pool_and_has_no_row():
    pool = Pool().joined_by(past(0), 0, 3).joined_by(past(1), None, 4)
    assert pool.players == (past(0), past(1)) and pool.rows == {past(0): 0} and pool.used == {past(0): 3}
    out = pool.out_of_memory(past(0))
    assert out.players == pool.players and out.rows == out.used == {}
    assert out.with_row(past(1), 0, 5).rows == {past(1): 0}


def test_the_pool_of_a_learner_is_its_own_past_and_all_guests():
    pool = Pool().joined_by(past(0, whose=0), 0).joined_by(past(1, whose=1), 1).joined_by(GUEST, 2)
    assert pool.of(0) == (past(0), GUEST) and pool.of(1) == (past(1), GUEST)


def test_of_those_born_together_past_selves_come_before_guests():
    assert by_age((replace(GUEST, born=0), past(0))) == (past(0), GUEST)
