"""The book counted again from rows of results, as training writes them, equals the one that a league keeps."""

from collections.abc import Callable

import numpy as np
import pytest
from making import ALONE, SHADOW, learner, met, mix, past, played, revived, role_rules, rules, scores

from sparring.core.schedules import Schedule
from sparring.league.blocks import Draw, Meeting
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.events import Evicted, Reset
from sparring.league.league import League
from sparring.league.player import packed, unpacked
from sparring.league.recount import Difference, Row, differences, recounted
from sparring.league.roles import RolesConfig
from sparring.league.score import Score

BLOCKS, ITERATIONS = 8, 50
S = Schedule.parse
ROLES = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2, role_steps=100)


def mixtures(forget: float = 0.98, names: tuple[str, ...] = ("learner",), **more) -> League:
    curriculum = CurriculumConfig(
        curriculum=True, curriculum_share=S(0.3), level_games=30, climb_rate=0.2, retreat_rate=0.1
    )
    made = rules(
        mix(current=0.2, shadow=0.2, history=0.4, bots=0.2, forget=forget), names=names, from_birth=True,
        pool=PoolConfig(pool_size=3, snapshot_every=300), curriculum=curriculum, blocks=BLOCKS // len(names),
        seed=3, total_steps=10**6, **more,
    )  # fmt: skip
    return League.begin(made)


def one_learner(forget: float = 0.98) -> League:
    return mixtures(forget)


def several_learners(forget: float = 0.98) -> League:
    return League.begin(role_rules(ROLES, OpponentsConfig(forget=forget), pool_size=3))


def side_by_side(*, unlike: bool) -> League:
    """Two learners of four blocks each."""
    every = ("random", "meek", "ace")
    sides = {"sides": (0, 1), "fitting": (every, every)} if unlike else {}
    return mixtures(names=("hare", "hound"), **sides)


def scripted(league: League, iterations: int = ITERATIONS, before: Callable = lambda *_: None, check: bool = False):
    """Rows as training logs them, and all events: blocks complete random games, and move on at random."""
    generator, moved_B = np.random.default_rng(7), np.ones(BLOCKS, bool)
    rows, events = [], []
    for iteration in range(iterations):
        before(league, iteration, events)
        assigned = league.assign(iteration, 0.0, 100 * iteration)
        events += assigned.events
        moved_B &= ~assigned.changed_B
        passing_B = ~moved_B & (generator.random(BLOCKS) < 0.7)
        results = []
        for b, block in enumerate(assigned.blocks):
            results += games(b, block.old, generator) if not moved_B[b] else []
            results += games(b, block.next, generator) if moved_B[b] or passing_B[b] else []
        moved_B |= passing_B
        league.report(played(iteration, results, moved_B.tolist()))
        rows += [
            Row(iteration, league.learner_of(r.block), packed(r.player), r.won, r.drawn, r.lost)
            for r in results
            if not r.weakened
        ]
        assert not check or differences(league, rows) == [], iteration
    return rows, events


def games(block: int, draw: Draw, generator: np.random.Generator) -> list[Meeting]:
    score = generator.poisson((2.0, 0.5, 1.0)).tolist()
    found = met(block, draw.player, *score, probability=draw.probability, weakened=draw.weakened)
    return [found] if found.games else []


def kind(row: Row) -> str:
    found = unpacked(row.player)
    assert found is not None
    return found[0]


def with_guests(league: League, iteration: int, events: list) -> None:
    """The same guest comes again and again, each time with a number of its own, when a member has left."""
    if iteration % 8 == 3:
        league.remove(league.state.pool.eligible[0])
    if iteration % 8 == 6:
        answer = league.add("guest", 100 * iteration, league.state.guests)
        events += [] if isinstance(answer, str) else [answer]


@pytest.mark.parametrize("forget", [1.0, 0.98])
def test_a_league_of_one_learner_holds_what_its_rows_give_after_every_iteration(forget):
    league = one_learner(forget)
    rows, events = scripted(league, before=with_guests, check=True)
    assert {kind(row) for row in rows} == {"learner", "shadow", "past", "guest", "bot"}
    left = {packed(event.player) for event in events if isinstance(event, Evicted)}
    gone = {row.player for row in rows if row.player in left}
    assert len(gone) > 3 and not gone & {packed(player) for player in scores(league)}


@pytest.mark.parametrize("forget", [1.0, 0.98])
def test_a_league_of_several_holds_what_its_rows_give_after_every_iteration(forget):
    league = several_learners(forget)
    rows, events = scripted(league, check=True)
    assert len({event.learner for event in events if isinstance(event, Reset)}) > 1
    mutual = {(row.learner, row.player) for row in rows if kind(row) == "learner"}
    assert (1, packed(learner(0))) in mutual and learner(1) in scores(league, 0)


@pytest.mark.parametrize("unlike", [False, True])
def test_learners_side_by_side_have_what_their_rows_give_also_where_one_became_a_copy(unlike):
    def copied(league: League, iteration: int, _: list) -> None:
        if iteration in (17, 31):
            league.descended({1: 0}, iteration)

    league = side_by_side(unlike=unlike)
    rows, _ = scripted(league, before=copied, check=True)
    whole = [[score.games for score in scores(league, place).values()] for place in range(2)]
    assert all(whole) and sum(whole[0]) > sum(whole[1])
    lost = next(row for row in reversed(rows) if row.learner == 1 and kind(row) == "bot")
    (found,) = {(one.learner, packed(one.player)) for one in differences(league, [r for r in rows if r is not lost])}
    assert found == (1, lost.player)
    rivals = {(row.learner, row.player - packed(learner(0))) for row in rows if kind(row) == "learner"}
    assert rivals == ({(0, 1), (1, 0)} if unlike else {(0, 0), (1, 1)})


def test_the_same_holds_of_a_league_that_came_back_from_a_checkpoint():
    for league in (one_learner(), several_learners(), side_by_side(unlike=True)):
        rows, _ = scripted(league)
        assert differences(revived(league), rows) == []


@pytest.mark.parametrize("make", [one_learner, several_learners])
def test_every_row_that_counts_is_missed_whether_its_report_was_read_or_not(make):
    league = make()
    rows, _ = scripted(league)
    held = [{packed(player) for player in scores(league, place)} for place in range(league.rules.learners)]
    seen = 0
    for place, row in enumerate(rows):
        if row.iteration >= 45 and row.player in held[row.learner]:
            found = differences(league, rows[:place] + rows[place + 1 :])
            assert (row.learner, row.player) in {(one.learner, packed(one.player)) for one in found}
            seen += 1
    assert seen > 10


def test_a_difference_tells_what_the_league_has_and_what_the_rows_give():
    league = one_learner(forget=1.0)
    rows, _ = scripted(league, 10)
    place, row = next((p, r) for p, r in enumerate(rows) if r.player == packed(SHADOW) and r.iteration < 8)
    changed = [*rows[:place], row._replace(won=row.won + 2), *rows[place + 1 :]]
    (found,) = differences(league, changed)
    score = scores(league)[SHADOW]
    more = score.plus(Score(won=2))
    assert found == Difference(0, SHADOW, (score, more), (tuple(score), tuple(more)))


def test_a_row_so_old_that_it_has_faded_away_is_missed_too():
    league = one_learner(forget=0.5)
    rows, _ = scripted(league)
    first = next(row for row in rows if row.player == packed(SHADOW))
    (found,) = differences(league, [row for row in rows if row is not first])
    assert found.score[0] == found.score[1].plus(Score(*first[3:]))
    np.testing.assert_allclose(*found.fading, atol=1e-12)


def test_rows_of_one_iteration_are_counted_together():
    league = one_learner(forget=0.5)
    league.assign(0, 0.0, 0)  # the first past self is there
    number = packed(past(0))
    rows = [Row(1, 0, number, 0, 0, 1), Row(0, 0, number, 1, 0, 0), Row(1, 0, number, 2, 0, 0)]
    book = recounted(league, rows)
    # A win; then three games of weights 1/4, 1/2 and 1, in an order that is not known: 7/12 each.
    assert book.score(0, past(0)) == Score(3, 0, 1)
    assert book.fading_LM3[0, book.roll.column[past(0)]] == pytest.approx((1 / 8 + 2 * 7 / 12, 0.0, 7 / 12))


def test_rows_of_nobody_in_particular_and_games_against_oneself_are_passed_over():
    league = one_learner()
    rows = [Row(0, 0, 0, 5, 0, 0), Row(0, 0, packed(ALONE), 5, 0, 0), Row(0, 0, packed(past(9)), 5, 0, 0)]
    assert not recounted(league, rows).count_LM3.any()


def test_a_league_that_has_decided_nothing_holds_nothing_and_needs_no_rows():
    assert differences(one_learner(), []) == []
    assert differences(several_learners(), []) == []
