"""Several learners in one league: what one meets, and what it showed, never becomes another one's."""

from dataclasses import replace

import pytest
from making import all_met, begin, given, learner, mix, past, played, rating, revived, rules, scores, with_career

from sparring.core.errors import RunError
from sparring.league.blocks import Played
from sparring.league.config import CurriculumConfig, PoolConfig
from sparring.league.curriculum import Standing
from sparring.league.events import Climbed, Counted, Evicted, Joined, Own, Snapshot
from sparring.league.league import League
from sparring.league.player import NOBODY
from sparring.league.score import Score
from sparring.league.state import Rules

POOL = 3
EACH = 4
BOTS = ("ace",)
LADDER = CurriculumConfig(curriculum=True, level_games=20)


def several_rules(*, unlike: bool, learners: int = 2, fitting=(BOTS, BOTS), **more) -> Rules:
    """Members of a population, or the two unlike sides of a game, each a learner of its own."""
    shares = {name: more.pop(name) for name in ("current", "shadow", "history", "bots") if name in more}
    names = ("predator", "prey") if unlike else tuple(f"member_{m}" for m in range(learners))
    sides = {"sides": (0, 1), "fitting": fitting} if unlike else {}
    pool = PoolConfig(pool_size=POOL, snapshot_every=10, eviction="oldest")
    given = {"pool": pool, "blocks": EACH, "seed": 7, "total_steps": 1000, "from_birth": True, "bots": BOTS}
    return rules(mix(**shares), names=names, **{**given, **sides, **more})


def several(**more) -> League:
    return League.begin(several_rules(**more))


def results(assigned, iteration: int, won: int = 1, lost: int = 0) -> Played:
    return played(iteration, all_met(assigned, won, 0, lost), [True] * len(assigned.blocks))


def run(league: League, iterations: int, start: int = 0):
    found = []
    for i in range(start, start + iterations):
        found.append(league.assign(i, 0.0, 10 * i))
        league.report(results(found[-1], i))
    return found


def test_each_learner_has_blocks_and_a_past_of_its_own_and_all_rows_of_the_pool_are_used():
    league = several(unlike=False, learners=3, history=1.0)
    for assigned in run(league, 12):
        for block, player in enumerate(given(assigned)):
            assert player.kind == "past" and player.learner == block // EACH  # its own past, nobody else's
    pool = league.state.pool
    assert [len(pool.of(place)) for place in range(3)] == [POOL] * 3
    assert sorted(pool.rows.values()) == list(range(3 * POOL)), "no two players share a row"


def test_numbers_of_past_selves_run_through_all_learners():
    league = several(unlike=False, learners=3, history=1.0)
    taken = [event.player for assigned in run(league, 3) for event in assigned.events if isinstance(event, Snapshot)]
    assert [player.number for player in taken] == list(range(9))
    assert [player.learner for player in taken] == [0, 1, 2] * 3


def test_snapshots_are_copies_of_the_learner_that_is_named():
    league = several(unlike=False, history=1.0)
    events = [event for assigned in run(league, 6) for event in assigned.events]
    taken = [event for event in events if isinstance(event, Snapshot)]
    assert {event.learner for event in taken} == {0, 1}
    assert all(event.player.name == f"past-{event.player.born}-member_{event.learner}" for event in taken)
    assert all(event.player.learner == event.learner for event in taken)
    gone = [event for event in events if isinstance(event, Evicted)]
    assert gone and all(event.player.name.endswith(f"-member_{event.player.learner}") for event in gone)


def test_the_side_that_is_not_alike_meets_the_present_the_shadow_and_the_past_of_the_other():
    league = several(unlike=True, current=0.25, shadow=0.25, history=0.5)
    kinds = set()
    for assigned in run(league, 8):
        for block, player in enumerate(given(assigned)):
            assert player.learner == 1 - block // EACH
            kinds.add(player.kind)
        for event in assigned.events:
            assert not isinstance(event, Snapshot) or event.player.name.endswith(league.rules.names[event.learner])
    assert kinds == {"learner", "shadow", "past"}
    names = {member.player: member.player.name for member in league.members()}
    assert names[learner(0)] == "predator" and "prey.shadow" in names.values()


def test_games_count_for_the_learner_that_played_them_and_games_of_two_learners_for_both():
    league = several(unlike=True, current=0.5, history=0.5)
    first, _ = (league.assign(i, 0.0, 0) for i in range(2))
    met = [given(first)[place * EACH :][:EACH] for place in range(2)]
    league.report(results(first, 0, won=3, lost=1))
    league.report(played(1, (), [True] * 2 * EACH))
    league.assign(2, 0.0, 0)
    for place in range(2):
        other = learner(1 - place)
        (copy,) = {player for player in met[place] if player.kind == "past"}
        assert scores(league, place)[copy] == Score(3 * met[place].count(copy), 0, met[place].count(copy))
        mine, theirs = met[place].count(other), met[1 - place].count(learner(place))
        assert scores(league, place)[other] == Score(3 * mine + theirs, 0, mine + 3 * theirs)


def test_bots_are_the_same_for_all_and_shown_for_each_learner_with_its_own_games():
    league = several(unlike=False, bots=1.0)
    assigned = run(league, 4)
    assert {player.kind for player in given(assigned[0])} == {"bot"}
    shown = {member.player.name: member.games for member in league.members() if member.player.kind == "bot"}
    assert list(shown) == ["ace (member_0)", "ace (member_1)"] and all(shown.values())


def test_a_member_that_became_a_copy_forgets_what_its_old_weights_showed():
    league = several(unlike=False, learners=3, history=1.0)
    run(league, 6)
    last = league.assign(6, 0.0, 60)
    league.descended({1: 2}, 6)
    league.report(results(last, 6, won=0, lost=5))
    assert scores(league, 1) == {}
    league.assign(7, 0.0, 60)  # reads iteration 5, which was played by the old weights
    assert scores(league, 1) == {}
    assert all(scores(league, place) for place in (0, 2))
    league.report(played(7, (), [True] * 3 * EACH))
    league.assign(8, 0.0, 60)  # reads iteration 6
    found = scores(league, 1).values()
    assert sum(one.lost for one in found) == 5 * EACH and sum(one.won for one in found) == 0


@pytest.mark.parametrize("unlike", [False, True])
def test_a_copy_begins_at_the_rating_of_its_learner_and_not_at_that_of_its_opponent(unlike):
    league, seen = several(unlike=unlike, history=1.0), 0
    for i in range(12):
        assigned = league.assign(i, 0.0, 10 * i)
        book = league.state.book
        for event in assigned.events:
            if isinstance(event, Snapshot) and i > 3:
                whose = event.learner
                assert rating(book, event.player) == rating(book, learner(whose)) > 0
                assert rating(book, event.player) != rating(book, learner(1 - whose))
                seen += 1
        league.report(results(assigned, i))  # each learner wins every game
    assert seen > 2


def test_a_member_that_became_a_copy_is_rated_like_its_parent():
    league = several(unlike=False, history=1.0)
    run(league, 6)
    league.state.book.rating_M[:2] = (80.0, -30.0)
    league.descended({1: 0}, 6)
    assert [rating(league.state.book, learner(place)) for place in range(2)] == [80.0, 80.0]


def test_a_member_that_became_a_copy_stands_where_its_parent_stands_with_no_games_there():
    league = several(unlike=False, bots=1.0)
    with_career(league, 0, standing=Standing(3, Score(5)))
    with_career(league, 1, standing=Standing(1, Score(0, 0, 90)))
    league.descended({1: 0}, 4)
    assert [career.standing for career in league.state.careers] == [Standing(3, Score(5)), Standing(3)]


def test_what_happened_to_one_of_several_is_told_with_its_name():
    event = several(unlike=False, bots=1.0)._told(1, Counted("something rare"))
    assert isinstance(event, Own) and event.sentence() == "member_1: For the first time: something rare."
    assert event.to_dict() == {"event": "counted", "what": "something rare", "whose": "member_1"}


@pytest.mark.parametrize("unlike", [False, True])
def test_a_restored_state_goes_on_exactly(unlike):
    shares = {"current": 0.25, "shadow": 0.25, "history": 0.5}
    whole, first = several(unlike=unlike, **shares), several(unlike=unlike, **shares)
    expected = run(whole, 12)[7:]
    run(first, 7)
    again = revived(first)
    found = run(again, 5, start=7)
    for one, other in zip(expected, found, strict=True):
        assert one.blocks == other.blocks
        assert one.events == other.events
    assert whole.saved() == again.saved()
    with pytest.raises(RunError, match="The learners of the saved league"):
        League.begin(replace(first.rules, names=("a", "b"))).restored(first.saved())


# What else works for several.


def test_each_member_climbs_by_its_own_games():
    """The first wins all its games, the second loses them: only the first goes on from the one bot of the ladder."""
    league = several(unlike=False, current=0.5, bots=0.5, curriculum=LADDER)
    said = []
    for i in range(12):
        assigned = league.assign(i, 0.0, 0)
        said += [event for event in assigned.events if isinstance(event, Own)]
        rows = all_met(assigned, 4, 0, 0)
        rows = [row if row.block < EACH else row._replace(won=0, lost=4) for row in rows]
        league.report(played(i, rows, [True] * 2 * EACH))
    assert said[0] == Own("member_0", Climbed("self with 0.75 of random actions"))
    assert said[0].sentence() == "member_0: Climbed to the level self with 0.75 of random actions."
    assert {event.whose for event in said} == {"member_0"}
    assert league.state.careers[0].standing.level > 0 == league.state.careers[1].standing.level
    weakened = [block.next for block in assigned.blocks if block.next.level > 0]
    assert weakened and all(draw.player.learner == 0 and draw.epsilon > 0 for draw in weakened)


def test_a_weakened_self_of_the_other_side_is_the_other_learners_shadow():
    league = several(unlike=True, current=0.5, shadow=0.5, curriculum=LADDER, fitting=((), ()))
    drawn = {(b // EACH, block.next.player.kind, block.next.player.learner, block.next.epsilon)
             for b, block in enumerate(league.assign(0, 0.0, 0).blocks)}  # fmt: skip
    assert drawn == {
        (0, "learner", 1, 0.0), (0, "shadow", 1, 0.75), (1, "learner", 0, 0.0), (1, "shadow", 0, 0.75),
    }  # fmt: skip


def test_bots_that_fit_one_side_are_met_by_the_learner_of_the_other_side_alone():
    """The one bot can drive the second side, so only the first learner meets it; the other meets the first instead."""
    league = several(unlike=True, history=0.5, bots=0.5, fitting=((), ("ace",)))
    assigned = run(league, 4)
    met = {(b // EACH, player.kind) for one in assigned for b, player in enumerate(given(one))}
    assert met == {(0, "past"), (0, "bot"), (1, "past"), (1, "learner")}
    (ace,) = (member for member in league.members() if member.player.kind == "bot")
    assert ace.player.name == "ace (predator)" and ace.games > 0
    turned = several(unlike=True, history=0.5, bots=0.5, fitting=(("ace",), ()))
    run(turned, 4)
    (ace,) = (member for member in turned.members() if member.player.kind == "bot")
    assert ace.player.name == "ace (prey)" and ace.games > 0


def test_levels_of_a_side_are_the_bots_that_fit_opposite_it():
    league = several(unlike=True, current=0.5, bots=0.5, fitting=((), ("ace",)), curriculum=LADDER)
    assert league.rules.levels[0][0].name == "ace"
    assert not any(level.bot for level in league.rules.levels[1])
    league.assign(0, 0.0, 0)


def test_the_floor_of_bots_counts_those_that_fit():
    league = several(unlike=True, current=1.0, fitting=((), ("ace",)))
    floors = replace(league.rules.roles[0].branches[3], floor_each=0.1)
    role = replace(league.rules.roles[0], branches=(*league.rules.roles[0].branches[:3], floors))
    league = League.begin(replace(league.rules, roles=(role, role)))
    assert league.shares_at(0.0, 0) == pytest.approx([0.9, 0, 0, 0.1])
    assert league.shares_at(0.0, 1) == pytest.approx([1.0, 0, 0, 0])


@pytest.mark.parametrize("unlike", [False, True])
def test_a_guest_is_in_everybodys_pool_and_met_by_all(unlike):
    league = several(unlike=unlike, history=1.0, pool=PoolConfig(pool_size=POOL, snapshot_every=10**9))
    assert league.room() == POOL
    joined = league.add("stranger", 0, 0)
    assert isinstance(joined, Joined) and joined.player.learner == NOBODY and joined.row == 0
    assert league.room() == POOL - 1
    assigned = run(league, 20)
    met = {b // EACH for one in assigned for b, player in enumerate(given(one)) if player == joined.player}
    assert met == {0, 1}
    assert all(joined.player in league.state.pool.of(place) for place in range(2))
    assert all(scores(league, place)[joined.player].games for place in range(2))


def test_a_guest_joins_with_the_best_score_that_each_learner_has_in_its_own_pool():
    """Nobody has met the other's past, whose scores of 0 must not count."""
    league = begin(
        mix(history=1.0, sampler="quality"), names=("a", "b"), blocks=2, from_birth=True,
        pool=PoolConfig(pool_size=4, snapshot_every=10**9),
    )  # fmt: skip
    league.assign(0, 0.0, 0)
    book = league.state.book
    for place, number, score in ((0, 0, -2.0), (1, 1, -5.0)):
        book.quality_LM[place, book.roll.column[past(number)]] = score
    joined = league.add("stranger", 0, 0)
    assert isinstance(joined, Joined)
    assert league.state.book.quality_LM[:, -1].tolist() == [-2.0, -5.0]


def test_shares_set_by_hand_hold_for_every_member_and_over_an_interruption():
    league = several(unlike=False, current=0.5, history=0.25, bots=0.25)
    league.set_shares({"bots": 1.0}, 0.0)
    assert {player.kind for player in given(revived(league).assign(0, 0.0, 0))} == {"bot"}


def test_rows_of_one_who_left_go_to_whoever_comes_next():
    league = several(unlike=False, history=1.0)
    rows = {}
    for assigned in run(league, 20):
        for event in assigned.events:
            if isinstance(event, Evicted):
                assert rows.pop(event.player) == event.row
            elif isinstance(event, Snapshot):
                free = [row for row in range(2 * POOL) if row not in rows.values()]
                assert event.row == free[0], "the first that is free, whoever had it"
                rows[event.player] = event.row
    assert league.state.pool.rows == rows
