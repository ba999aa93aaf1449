import json
from itertools import pairwise

import numpy as np
import pytest

from sparring.league.config import PoolConfig
from sparring.league.player import BOT, GUEST, LEARNER, PAST, SHADOW, Player, bot_players, kind_of, past_self
from sparring.league.pool import Pool, by_age, evictee, snapshot_due


def pool_of(*births, pinned=()):
    return tuple(
        Player(id=PAST + place, name=f"p{place}", kind="past", born=born, pinned=place in pinned)
        for place, born in enumerate(births)
    )


@pytest.mark.parametrize(
    ("player", "kind"),
    [
        (LEARNER, "self"),
        (PAST, "past"),
        (PAST + 1_000_000, "past"),
        (SHADOW, "shadow"),
        (GUEST, "guest"),
        (GUEST + 7, "guest"),
        (BOT, "bot"),
        (2**32 - 1, "bot"),
    ],
)
def test_an_id_says_what_kind_of_player_it_is(player, kind):
    assert kind_of(player) == kind


def test_a_bot_has_the_id_of_its_place_among_all_bots_and_the_age_of_its_place_on_the_ladder():
    weak, strong = bot_players(["meek", "ace"], ["random", "ace", "meek"])
    assert (weak.id, strong.id) == (BOT + 2, BOT + 1)
    assert weak.born < strong.born


def test_the_pool_is_ordered_by_step_and_not_by_name():
    """Files in order of their names would give 10000 before 2000."""
    players = [past_self(number, born=born) for number, born in enumerate((2_000, 10_000, 100_000))]
    assert [player.born for player in by_age(sorted(players, key=lambda player: player.name))] == [2000, 10000, 100000]
    assert sorted(player.name for player in players)[0] != players[0].name


def test_the_oldest_leaves_unless_pinned_or_playing():
    pool = pool_of(300, 100, 200, 400, pinned=(1,))
    assert evictee(pool, "oldest", now=500) == pool[2]
    assert evictee(pool, "oldest", now=500, referenced={pool[2].id}) == pool[0]


@pytest.mark.parametrize("policy", ["oldest", "log_spaced", "redundant"])
def test_nobody_leaves_a_pool_of_pinned_and_playing_members(policy):
    pool = pool_of(1, 2, 3, pinned=(0, 1))
    assert evictee(pool, policy, now=9, referenced={pool[2].id}, payoff_MM=np.zeros((3, 3))) is None
    assert evictee((), policy, now=9) is None


@pytest.mark.parametrize("policy", ["oldest", "log_spaced", "redundant"])
def test_the_newest_leaves_only_when_nobody_else_can(policy):
    pool = pool_of(1, 2, 3)
    payoff_MM = np.array([[0, 0.9, 0.2], [-0.9, 0, 0.2], [-0.2, -0.2, 0]])
    others = {pool[0].id, pool[1].id}
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
    assert evictee(pool, "log_spaced", now=100, referenced={pool[2].id}) == pool[1]


def test_of_the_two_most_alike_the_lower_rated_leaves():
    pool = pool_of(1, 2, 3, 4)
    payoff_MM = np.zeros((4, 4))
    for row, column, value in ((0, 1, 0.1), (0, 2, -0.5), (0, 3, 0.9), (1, 2, -0.5), (1, 3, 0.8), (2, 3, -0.9)):
        payoff_MM[row, column], payoff_MM[column, row] = value, -value
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(50, 20, 0, 0)) == pool[1]
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM, rating_M=(20, 50, 0, 0)) == pool[0]
    assert evictee(pool, "redundant", now=9, payoff_MM=payoff_MM) == pool[0], "the older where ratings are unknown"
    playing = {pool[0].id}
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
            pool = pool.without(leaver.id)
        row = pool.free_row(30)
        assert row is not None
        pool = pool.joined_by(past_self(number, born=now), row)
        sizes.add(len(pool.players))
        if number % 50 == 0 and number > 30:
            ages = [now + 100 - player.born for player in pool.players]
            widest = max(widest, *(old / young for old, young in pairwise(ages)))
    assert max(sizes) == 30
    assert pool.players[0].born == 100, "the first stays"
    assert widest <= 3.0
    assert sorted(pool.rows.values()) == list(range(30))


def test_a_snapshot_is_due_after_its_interval_or_when_the_newest_is_surely_beaten():
    by_steps, by_mark = PoolConfig(snapshot_every=100), PoolConfig(snapshot_every=100, snapshot_mark=0.7)
    assert not snapshot_due(by_steps, steps=199, last=100, total_steps=1, low=0.99)
    assert snapshot_due(by_steps, steps=200, last=100, total_steps=1, low=0.0)
    assert snapshot_due(by_mark, steps=110, last=100, total_steps=1, low=0.71)
    assert not snapshot_due(by_mark, steps=110, last=100, total_steps=1, low=0.7)
    assert not snapshot_due(PoolConfig(pool_size=0), steps=10**9, last=0, total_steps=1, low=1.0)


def test_without_an_interval_a_run_takes_fifty_snapshots():
    """A copy at every update would make a pool of a hundred span only the last hundred updates."""
    due = [snapshot_due(PoolConfig(), steps=steps, last=0, total_steps=5_000, low=0.0) for steps in (99, 100)]
    assert due == [False, True]
    tiny = [snapshot_due(PoolConfig(), steps=steps, last=0, total_steps=10, low=0.0) for steps in (0, 1)]
    assert tiny == [False, True], "the shortest interval is one step"


def test_a_pool_survives_json():
    pool = Pool().joined_by(past_self(4, born=70), 2).joined_by(past_self(2, born=30), 0)
    pool = Pool(pool.players, pool.rows, frozenset({PAST + 2}))
    assert Pool.from_dict(json.loads(json.dumps(pool.to_dict()))) == pool
    assert [player.id for player in pool.eligible] == [PAST + 4]
