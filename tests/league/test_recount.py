"""Ledgers derived from rows of results, as training writes them, equal those that leagues keep while they go."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sparring.league.abreast import Abreast
from sparring.league.derived import Difference, Played, derived, differences
from sparring.league.ledger import Fading, Score
from sparring.league.orders import Orders, Report, Result
from sparring.league.role_league import RoleLeague, role_names

from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.events import Evicted, Reset
from sparring.league.league import League
from sparring.league.player import BOT, GUEST, LEARNER, PAST, RIVAL, SHADOW, Player, kind_of
from sparring.league.roles import RolesConfig

BLOCKS, ITERATIONS = 8, 50
S = Schedule.parse
ROLES = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2, role_steps=100)


def one_learner(forget: float = 0.98) -> League:
    return League.begin(
        OpponentsConfig(current=S(0.2), shadow=S(0.2), history=S(0.4), bots=S(0.2), forget=forget),
        PoolConfig(pool_size=3, snapshot_every=300),
        CurriculumConfig(curriculum=True, curriculum_share=S(0.3), level_games=30, climb_rate=0.2, retreat_rate=0.1),
        bots=("random", "meek", "ace"),
        can_mirror_B=np.ones(BLOCKS, bool),
        can_face_B=np.ones(BLOCKS, bool),
        seed=Seed.of(3),
        total_steps=10**6,
        from_birth=True,
    )


def several_learners(forget: float = 0.98) -> RoleLeague:
    names = role_names(ROLES)
    opponents = OpponentsConfig(forget=forget)
    return RoleLeague(ROLES, opponents, 3, names, BLOCKS // len(names), Seed.of(5), 10**6)


def side_by_side(*, unlike: bool) -> Abreast:
    """Two leagues of four blocks each."""
    half = np.ones(BLOCKS // 2, bool)
    one = replace(one_learner(), can_mirror_B=half, can_face_B=half, blocks=[])
    two = replace(one_learner(), can_mirror_B=half, can_face_B=half, blocks=[], seed=Seed.of(4))
    return Abreast([one, two], ("hare", "hound"), unlike)


def scripted(league, iterations: int = ITERATIONS, before: Callable = lambda *_: None, check: bool = False):
    """Rows as training logs them, and all events: blocks complete random games, and move on at random."""
    generator, moved_B = np.random.default_rng(7), np.ones(BLOCKS, bool)
    rows, events = [], []
    each = BLOCKS // (1 if isinstance(league, League) else len(league.names))
    for iteration in range(iterations):
        before(league, iteration, events)
        orders = league.assign(iteration, 0.0, 100 * iteration)
        events += orders.events
        moved_B &= ~orders.changed_B
        passing_B = ~moved_B & (generator.random(BLOCKS) < 0.7)
        results = []
        for block in range(BLOCKS):
            results += games(orders, "old_", block, generator) if not moved_B[block] else []
            results += games(orders, "", block, generator) if moved_B[block] or passing_B[block] else []
        moved_B |= passing_B
        told = tuple(row for row in results if row.player != LEARNER)
        league.report(Report(iteration, told, tuple(moved_B.tolist())))
        rows += [Played(iteration, r.block // each, r.player, *r[4:7]) for r in results if not r.weakened]
        assert not check or differences(league, rows) == [], iteration
    return rows, events


def games(orders: Orders, slot: str, block: int, generator: np.random.Generator) -> list[Result]:
    columns = (f"{slot or 'next_'}B", f"{slot}probability_B", f"{slot}weakened_B")
    player, probability, weakened = (getattr(orders, name)[block].item() for name in columns)
    won, drawn, lost = generator.poisson((2.0, 0.5, 1.0)).tolist()
    played = won + drawn + lost
    return [Result(block, player, probability, played, won, drawn, lost, weakened)] if played else []


def with_guests(league: League, iteration: int, events: list) -> None:
    """The same guest comes again and again, each time with an id of its own, when a member has left."""
    if iteration % 8 == 3:
        member = league.pool.eligible[0]
        league.remove(member.id)
    if iteration % 8 == 6:
        answer = league.add(Player(id=league.next_guest, name="guest", kind="guest", born=100 * iteration))
        events += [] if isinstance(answer, str) else [answer]


@pytest.mark.parametrize("forget", [1.0, 0.98])
def test_a_league_of_one_learner_holds_what_its_rows_give_after_every_iteration(forget):
    league = one_learner(forget)
    rows, events = scripted(league, before=with_guests, check=True)
    kinds = {row.player for row in rows}
    assert {LEARNER, SHADOW, BOT + 1, BOT + 2, PAST} <= kinds and any(GUEST <= player < BOT for player in kinds)
    left = {event.player.id for event in events if isinstance(event, Evicted)}
    met = {row.player for row in rows if row.player in left}
    assert len(met) > 3 and not met & set(league.knowledge.ledger.score)


@pytest.mark.parametrize("forget", [1.0, 0.98])
def test_a_league_of_several_holds_what_its_rows_give_after_every_iteration(forget):
    league = several_learners(forget)
    rows, events = scripted(league, check=True)
    assert len({event.learner for event in events if isinstance(event, Reset)}) > 1
    mutual = {(row.learner, row.player) for row in rows if RIVAL <= row.player < PAST}
    assert (1, RIVAL) in mutual and RIVAL + 1 in league.ledgers[0].score


@pytest.mark.parametrize("unlike", [False, True])
def test_leagues_side_by_side_hold_what_their_rows_give_also_where_one_learner_became_a_copy(unlike):
    def copied(leagues: Abreast, iteration: int, _: list) -> None:
        if iteration in (17, 31):
            leagues.descended(np.array([0, 0]), iteration)

    leagues = side_by_side(unlike=unlike)
    rows, _ = scripted(leagues, before=copied, check=True)
    whole = [dict(league.knowledge.ledger.score) for league in leagues.leagues]
    assert all(whole) and sum(one.games for one in whole[0].values()) > sum(one.games for one in whole[1].values())
    lost = next(row for row in reversed(rows) if row.learner == 1 and kind_of(row.player) == "bot")
    (found,) = {(one.learner, one.player) for one in differences(leagues, [row for row in rows if row is not lost])}
    assert found == (1, lost.player)


def test_the_same_holds_of_a_league_that_came_back_from_a_checkpoint():
    for league, begun in ((one_learner(), one_learner()), (several_learners(), several_learners())):
        rows, _ = scripted(league)
        assert differences(begun.restored(json.loads(json.dumps(league.state()))), rows) == []


@pytest.mark.parametrize("make", [one_learner, several_learners])
def test_every_row_that_counts_is_missed_whether_its_report_was_read_or_not(make):
    league = make()
    rows, _ = scripted(league)
    held = (
        [{*league.knowledge.ledger.score}] if isinstance(league, League) else [{*one.score} for one in league.ledgers]
    )
    seen = 0
    for place, row in enumerate(rows):
        if row.iteration >= 45 and row.player in held[row.learner] and row.player != RIVAL + row.learner:
            found = differences(league, rows[:place] + rows[place + 1 :])
            assert (row.learner, row.player) in {(one.learner, one.player) for one in found}
            seen += 1
    assert seen > 10


def test_a_difference_tells_what_the_league_has_and_what_the_rows_give():
    league = one_learner(forget=1.0)
    rows, _ = scripted(league, 10)
    place, row = next((p, r) for p, r in enumerate(rows) if r.player == SHADOW and r.iteration < 8)
    changed = [*rows[:place], row._replace(won=row.won + 2), *rows[place + 1 :]]
    (found,) = differences(league, changed)
    score = league.knowledge.ledger.score[SHADOW]
    assert found == Difference(
        0, SHADOW, (score, score.plus(Score(won=2))), (Fading(*score), Fading(*score.plus(Score(won=2))))
    )


def test_a_row_so_old_that_it_has_faded_away_is_missed_too():
    league = one_learner(forget=0.5)
    rows, _ = scripted(league)
    first = next(row for row in rows if row.player == SHADOW)
    (found,) = differences(league, [row for row in rows if row is not first])
    assert found.score[0] == found.score[1].plus(Score(*first[3:]))
    np.testing.assert_allclose(*found.fading, atol=1e-12)


def test_rows_of_one_iteration_are_counted_together():
    rows = [Played(1, 0, PAST, 0, 0, 1), Played(0, 0, PAST, 1, 0, 0), Played(1, 0, PAST, 2, 0, 0)]
    (ledger,) = derived(rows, lambda _: True, learners=1, forget=0.5)
    # A win; then three games of weights 1/4, 1/2 and 1, in an order that is not known: 7/12 each.
    assert ledger.score == {PAST: Score(3, 0, 1)}
    assert ledger.fading[PAST] == pytest.approx((1 / 8 + 2 * 7 / 12, 0.0, 7 / 12))


def test_a_league_that_has_decided_nothing_holds_nothing_and_needs_no_rows():
    assert differences(one_learner(), []) == []
    assert differences(several_learners(), []) == []
