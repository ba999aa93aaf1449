"""Leagues side by side: what one learner meets, and what it showed, never becomes another one's."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.league.abreast import Abreast
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.curriculum import Standing
from sparring.league.events import Counted, Evicted, Own, Snapshot
from sparring.league.league import League
from sparring.league.ledger import Score
from sparring.league.orders import Report, Result
from sparring.league.player import BOT, LEARNER, PAST, RIVAL, SHADOW, kind_of

POOL = 3
EACH = 4
S = Schedule.parse


def one(learner: int, *, own_past: bool, **shares: float) -> League:
    share = {name: S(shares.get(name, 0.0)) for name in ("current", "shadow", "history", "bots")}
    every = np.ones(EACH, bool)
    return League.begin(
        OpponentsConfig(**share), PoolConfig(pool_size=POOL, snapshot_every=10, eviction="oldest"), CurriculumConfig(),
        bots=("random", "ace"), can_mirror_B=every, can_face_B=every, seed=Seed.of(7) / learner, total_steps=1000,
        from_birth=True, own_past=own_past,
    )  # fmt: skip


def abreast(*, unlike: bool, learners: int = 2, **shares: float) -> Abreast:
    names = ("predator", "prey") if unlike else tuple(f"member_{m}" for m in range(learners))
    return Abreast([one(m, own_past=not unlike, **shares) for m in range(len(names))], names, unlike)


def played(orders, iteration: int, won: int = 1, lost: int = 0) -> Report:
    rows = tuple(
        Result(b, int(player), 1.0, won + lost, won, 0, lost)
        for b, player in enumerate(orders.next_B)
        if player != LEARNER
    )
    return Report(iteration, rows, (True,) * len(orders.next_B))


def run(leagues: Abreast, iterations: int, start: int = 0):
    found = []
    for i in range(start, start + iterations):
        found.append(leagues.assign(i, 0.0, 10 * i))
        leagues.report(played(found[-1], i))
    return found


def test_each_learner_has_blocks_and_rows_of_the_pool_of_its_own():
    leagues = abreast(unlike=False, learners=3, history=1.0)
    for orders in run(leagues, 12):
        for block, player in enumerate(orders.next_B):
            learner = block // EACH
            assert (int(player) - PAST) % 3 == learner  # its own past, nobody else's
            row = leagues.row_of(int(player))
            assert row is None or POOL * learner <= row < POOL * (learner + 1)  # None: it has left since
    rows = sorted(leagues.pool.rows.values())
    assert rows == list(range(3 * POOL))


def test_snapshots_are_copies_of_the_learner_whose_league_took_them():
    leagues = abreast(unlike=False, history=1.0)
    events = [event for orders in run(leagues, 6) for event in orders.events]
    taken = [event for event in events if isinstance(event, Snapshot)]
    assert {event.learner for event in taken} == {0, 1}
    assert all(event.player.name == f"past-{event.player.born}-member_{event.learner}" for event in taken)
    assert all(event.player.parent == RIVAL + event.learner for event in taken)
    gone = [event for event in events if isinstance(event, Evicted)]
    assert gone and all(f"-member_{event.row // POOL}" in event.player.name for event in gone)


def test_the_side_that_is_not_alike_meets_the_present_the_shadow_and_the_past_of_the_other():
    leagues = abreast(unlike=True, current=0.25, shadow=0.25, history=0.5)
    for orders in run(leagues, 8):
        for block, player in enumerate(map(int, orders.next_B)):
            other = 1 - block // EACH
            kind = kind_of(player)
            whose = {"rival": player - RIVAL, "shadow": player - SHADOW, "past": (player - PAST) % 2}[kind]
            assert whose == other
        for event in orders.events:
            assert not isinstance(event, Snapshot) or event.player.name.endswith(leagues.names[event.learner])
    names = {member.player.id: member.player.name for member in leagues.members()}
    assert names[RIVAL] == "predator" and names[SHADOW + 1] == "prey.shadow"


def test_games_count_for_the_learner_that_played_them_and_games_of_two_learners_for_no_payoff():
    leagues = abreast(unlike=True, current=0.5, history=0.5)
    orders = [leagues.assign(i, 0.0, 0) for i in range(2)]
    past = [b for b, player in enumerate(orders[0].next_B) if kind_of(int(player)) == "past"]
    leagues.report(played(orders[0], 0, won=3, lost=1))
    leagues.report(Report(1, (), (True,) * 2 * EACH))
    leagues.assign(2, 0.0, 0)
    for learner, league in enumerate(leagues.leagues):
        mine = sum(b // EACH == learner for b in past)
        scores = league.knowledge.ledger.score
        assert set(scores) == ({PAST} if mine else set())
        assert not mine or scores[PAST].won == 3 * mine


def test_bots_are_the_same_for_all_and_shown_for_each_learner_with_its_own_games():
    leagues = abreast(unlike=False, bots=1.0)
    orders = run(leagues, 4)
    assert {kind_of(int(player)) for player in orders[0].next_B} == {"bot"}
    shown = {member.player.name: member.games for member in leagues.members() if member.player.id == BOT + 1}
    assert list(shown) == ["ace (member_0)", "ace (member_1)"] and all(shown.values())


def test_a_member_that_became_a_copy_forgets_what_its_old_weights_showed():
    leagues = abreast(unlike=False, learners=3, history=1.0)
    found = run(leagues, 6)
    last = leagues.assign(6, 0.0, 60)
    leagues.descended(np.array([0, 2, 2]), 6)
    leagues.report(played(last, 6, won=0, lost=5))
    assert leagues.leagues[1].knowledge.ledger.score == {}
    leagues.assign(7, 0.0, 60)  # reads iteration 5, which was played by the old weights
    assert leagues.leagues[1].knowledge.ledger.score == {}
    assert all(leagues.leagues[m].knowledge.ledger.score for m in (0, 2)) and len(found) == 6
    leagues.report(Report(7, (), (True,) * 3 * EACH))
    leagues.assign(8, 0.0, 60)  # reads iteration 6
    score = leagues.leagues[1].knowledge.ledger.score
    assert sum(one.lost for one in score.values()) == 5 * EACH and sum(one.won for one in score.values()) == 0


def test_a_copy_of_the_other_side_begins_at_the_rating_of_its_predecessor_not_at_that_of_its_opponent():
    for unlike in (False, True):
        leagues = abreast(unlike=unlike, history=1.0)
        run(leagues, 12)  # the learner wins every game
        ledger = leagues.leagues[0].knowledge.ledger
        newest, before = leagues.leagues[0].pool.players[-1].id, leagues.leagues[0].pool.players[-2].id
        assert ledger.rating_of(LEARNER) > max(ledger.rating_of(newest), ledger.rating_of(before))
        leagues.leagues[0]._snapshot(10**6, 0, "")
        born = leagues.leagues[0].knowledge.ledger.rating_of(leagues.leagues[0].pool.players[-1].id)
        assert born == (ledger.rating_of(newest) if unlike else ledger.rating_of(LEARNER))


def test_a_member_that_became_a_copy_stands_where_its_parent_stands_with_no_games_there():
    leagues = abreast(unlike=False, bots=1.0)
    leagues.leagues[0].standing, leagues.leagues[1].standing = Standing(3, Score(5)), Standing(1, Score(0, 0, 90))
    leagues.descended(np.array([0, 0]), 4)
    assert leagues.leagues[1].standing == Standing(3) and leagues.leagues[0].standing == Standing(3, Score(5))


def test_what_happened_to_one_of_several_is_told_with_its_name():
    leagues = abreast(unlike=False, bots=1.0)
    event = leagues._event(1, Counted("something rare"))
    assert isinstance(event, Own) and event.sentence() == "member_1: For the first time: something rare."
    assert event.to_dict() == {"event": "counted", "what": "something rare", "whose": "member_1"}


@pytest.mark.parametrize("unlike", [False, True])
def test_a_restored_state_goes_on_exactly(unlike):
    shares = {"current": 0.25, "shadow": 0.25, "history": 0.5}
    whole, first = abreast(unlike=unlike, **shares), abreast(unlike=unlike, **shares)
    expected = run(whole, 12)[7:]
    run(first, 7)
    state = json.loads(json.dumps(first.state()))
    again = abreast(unlike=unlike, **shares).restored(state)
    found = run(again, 5, start=7)
    for one_order, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one_order.next_B, other.next_B)
        assert one_order.events == other.events
    assert whole.state() == again.state()
    with pytest.raises(RunError, match="Resume with those"):
        replace(abreast(unlike=unlike, **shares), names=("a", "b")).restored(state)
