"""The league against worlds that are only counters: a game has a length and a chance of being won by the learner."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from making import (
    ACE,
    ALONE,
    GUEST,
    MEEK,
    SHADOW,
    all_drained,
    all_met,
    begin,
    chances,
    given,
    met,
    mix,
    past,
    played,
    quality,
    rate,
    rating,
    revived,
    rules,
    same,
    scores,
    told,
    with_block,
    with_career,
    with_member,
    with_state,
)
from scipy.special import chdtrc

from sparring.core.errors import ConfigError, RunError
from sparring.core.plain import from_plain, to_plain
from sparring.core.schedules import Schedule
from sparring.league.blocks import Draw, Played, received
from sparring.league.config import CurriculumConfig, PoolConfig
from sparring.league.copying import POSTPONED
from sparring.league.curriculum import Standing
from sparring.league.draws import NOT_FINITE, UNSOLVED
from sparring.league.events import Climbed, Counted, Evicted, Joined, Kept, Retreated, SharesSet, Snapshot
from sparring.league.gates import GateConfig
from sparring.league.league import League
from sparring.league.members import live_ratings
from sparring.league.player import Player, packed
from sparring.league.score import Score

PAST, SECOND, THIRD, FOURTH = (past(number) for number in range(4))


class Worlds:
    """Four worlds to a block. Each moves to the block's next player at its own restart."""

    def __init__(self, blocks, *, seed=0, length=lambda _: 3, rate=0.5):
        self.generator = np.random.default_rng(seed)
        self.length, self.rate = length, rate
        self.player = [[None] * 4 for _ in range(blocks)]
        self.left = self.generator.integers(1, 6, (blocks, 4)).tolist()
        self.moved = [[True] * 4 for _ in range(blocks)]

    def play(self, assigned, iteration, *, steps=4) -> Played:
        rows = Counter()
        for b, worlds in enumerate(self.player):
            old, following = assigned.blocks[b].old, assigned.blocks[b].next
            if assigned.changed_B[b]:
                assert all(self.moved[b]), "a block is given a player only when it is drained"
                self.moved[b] = [False] * 4
            for w in range(4):
                for _ in range(steps):
                    acting = following if self.moved[b][w] else old
                    assert worlds[w] in (None, acting.player), "nobody is replaced in the middle of a game"
                    worlds[w] = acting.player
                    self.left[b][w] -= 1
                    if self.left[b][w] == 0:
                        rows[b, acting, self.generator.random() < self.rate] += 1
                        worlds[w], self.moved[b][w], self.left[b][w] = None, True, self.length(following.player)
        return self.report(rows, iteration)

    def report(self, rows, iteration) -> Played:
        found = sorted(rows.items(), key=lambda row: (row[0][0], packed(row[0][1].player), row[0][2]))
        meetings = [
            met(b, draw.player, count * won, 0, count * (1 - won), probability=draw.probability, weakened=draw.weakened)
            for (b, draw, won), count in found
        ]
        return played(iteration, meetings, [all(moved) for moved in self.moved])


def run(league, iterations, worlds, *, steps=100, start=0):
    """What was assigned in each iteration; results come one iteration late, as in training."""
    found, result = [], None
    for iteration in range(start, start + iterations):
        found.append(league.assign(iteration, iteration * steps / 100_000, iteration * steps))
        if result is not None:
            league.report(result)
        result = worlds.play(found[-1], iteration)
    return found


def kinds(assignments):
    return Counter(player.kind for assigned in assignments for player in given(assigned))


def idle(iteration, *drained_B):
    """An iteration in which no game ended."""
    return played(iteration, (), drained_B)


def test_the_plain_league_only_mirrors():
    league = begin(mix(current=1))
    found = run(league, 30, Worlds(4))
    assert kinds(found) == {"learner": 120}
    assert not any(assigned.changed_B.any() for assigned in found[:1])


def test_games_against_oneself_are_not_rated_or_counted():
    league = begin(mix(current=0.5, bots=0.5))
    run(league, 30, Worlds(4, rate=0.9))
    assert ALONE not in scores(league) and scores(league)
    assert sum(rating(league.state.book, player) for player in (ALONE, MEEK, ACE)) == pytest.approx(0.0)


def test_a_block_that_can_only_mirror_never_faces_anybody():
    league = begin(mix(current=0.1, bots=0.9), face=[False, True, True, True])
    found = run(league, 40, Worlds(4))
    assert {given(assigned)[0] for assigned in found} == {ALONE}
    assert kinds(found)["bot"] > 60


def test_the_first_players_are_there_from_the_first_step():
    assigned = begin(mix(bots=1)).assign(0, 0.0, 0)
    assert [block.old for block in assigned.blocks] == [block.next for block in assigned.blocks]
    assert set(given(assigned)) <= {MEEK, ACE}
    assert not assigned.changed_B.any()
    assert chances(assigned) == [0.5] * 4


def test_the_realised_mix_is_the_configured_one_though_some_games_are_longer():
    """Drawn, and held over time: if the same player drawn again were held shorter, likely players would lose."""
    wanted = {"learner": 0.5, "shadow": 0.2, "bot": 0.3}
    league = begin(mix(current=0.5, shadow=0.2, bots=0.3), blocks=5)
    lengths = {"learner": 3, "shadow": 17, "bot": 9, "past": 3}
    found = run(league, 1200, Worlds(5, length=lambda player: lengths[player.kind]), steps=0)
    held = kinds(found)
    drawn = Counter(player.kind for one in found for player, new in zip(given(one), one.changed_B, strict=True) if new)
    total = sum(drawn.values())
    statistic = sum((drawn[kind] - share * total) ** 2 / (share * total) for kind, share in wanted.items())
    assert total > 800
    assert chdtrc(2, statistic) > 0.001
    for kind, share in wanted.items():
        assert held[kind] / sum(held.values()) == pytest.approx(share, abs=0.05)


def test_a_block_gets_nobody_else_before_it_is_known_to_be_drained():
    league = begin(mix(bots=1), blocks=1)
    league.assign(0, 0, 0)
    league.report(idle(0, False))
    assert not league.assign(1, 0, 0).changed_B.any()
    league.report(idle(1, True))
    assert not league.assign(2, 0, 0).changed_B.any(), "what iteration 1 showed is read in 3"
    assert league.assign(3, 0, 0).changed_B.all()
    assert league.assign(4, 0, 0).changed_B.sum() == 0


def test_what_was_played_before_a_draw_does_not_drain_the_block_that_was_drawn():
    league = begin(mix(bots=1), blocks=1)
    for iteration in range(3):
        assigned = league.assign(iteration, 0, 0)
        if iteration < 2:
            league.report(idle(iteration, True))
    assert assigned.changed_B.all()
    league.report(idle(2, False))
    assert not league.assign(3, 0, 0).changed_B.any(), "iteration 1 was drained of an earlier player"
    assert not league.assign(4, 0, 0).changed_B.any()


def test_results_are_read_two_iterations_later_and_never_sooner():
    league = begin(mix(bots=1, ladder=("meek",)), blocks=1)
    league.assign(0, 0, 0)
    league.report(played(0, [met(0, MEEK, 3, 1, 0)], [True]))
    league.assign(1, 0, 0)
    assert scores(league) == {}
    league.assign(2, 0, 0)
    assert scores(league) == {MEEK: Score(3, 1, 0)}


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (idle(4, True), "cannot be read"),
        (idle(7, True), "cannot be read"),
        (idle(6, True, True), "all 1 blocks"),
        (played(6, [met(0, ACE, 3, 0, 0)._replace(games=4)], [True]), "sum of won, drawn and lost"),
        (played(6, [met(0, ACE, -1, 0, 1)], [True]), "sum of won, drawn and lost"),
    ],
)
def test_results_that_cannot_be_right_are_refused(result, says):
    league = begin(mix(bots=1), blocks=1)
    league.assign(6, 0, 0)
    league.report(idle(5, True))
    with pytest.raises(RunError, match=says):
        league.report(result)
    with pytest.raises(RunError, match="already reported"):
        league.report(idle(5, True))


def test_the_opponent_that_was_drawn_is_the_one_that_plays():
    league = begin(mix(bots=1, ladder=("meek",)), blocks=1)
    league.assign(0, 0, 0)
    league.report(played(0, [met(0, ACE, 1, 0, 0)], [True]))
    league.assign(1, 0, 0)
    with pytest.raises(RunError, match="Check who acted there"):
        league.assign(2, 0, 0)


def test_an_iteration_is_assigned_once():
    league = begin(mix(bots=1))
    league.assign(3, 0, 0)
    with pytest.raises(RunError, match="the next is 4"):
        league.assign(3, 0, 0)


def test_an_empty_pool_never_raises_and_its_share_goes_to_the_current_self():
    league = begin(mix(current=0.2, history=0.8), blocks=8, pool=PoolConfig(snapshot_every=10**9))
    assigned = league.assign(0, 0.0, 0)
    assert set(given(assigned)) == {ALONE}
    told = "no past self could be drawn, and its share went to others"
    assert assigned.events == (Counted(told),)
    assert league.state.counts[told] in (6, 7)


def test_a_share_that_nobody_can_fill_is_counted_by_what_it_was_for():
    league = begin(mix(current=0.25, history=0.25, bots=0.5), blocks=8, bots=(), pool=PoolConfig(snapshot_every=10**9))
    assert set(given(league.assign(0, 0.0, 0))) == {ALONE}
    end = "could be drawn, and its share went to others"
    assert league.state.counts == {f"no past self {end}": 2, f"no bot {end}": 4}


@pytest.mark.parametrize(
    ("opponents", "player"),
    [
        (mix(current=0.5, history=0.5), SHADOW),
        (mix(current=0.5, shadow=0.2, history=0.3), SHADOW),
        (mix(history=0.9, bots=0.1), MEEK),
        (mix(current=1), SHADOW),  # nothing but the current self is asked for: its slow average is the nearest to it
    ],
)
def test_with_an_empty_pool_a_block_that_cannot_mirror_meets_the_shadow_or_a_bot(opponents, player):
    league = begin(replace(opponents, ladder=("meek",)), mirror=[False] * 4)
    assert set(given(league.assign(0, 0.0, 0))) == {player}


def test_without_a_shadow_either_a_block_meets_the_learner_itself():
    league = begin(mix(current=0.5, history=0.5), mirror=[False] * 4, shadows=False)
    assert set(given(league.assign(0, 0.0, 0))) == {ALONE}


def test_snapshots_fill_rows_of_the_pool_and_numbers_are_never_used_twice():
    league = begin(mix(current=0.5, history=0.5), pool=PoolConfig(pool_size=3, snapshot_every=300))
    rows, taken = {}, []
    for assigned in run(league, 200, Worlds(4)):
        for event in assigned.events:
            if isinstance(event, Snapshot):
                assert event.row not in rows.values()
                rows[event.player] = event.row
                taken.append(event.player.number)
            elif isinstance(event, Evicted):
                assert rows.pop(event.player) == event.row
        draws = [draw.player for block in assigned.blocks for draw in (block.old, block.next)]
        assert {player for player in draws if player.kind == "past"} <= set(rows), (
            "a row is free only when no block plays its player"
        )
        assert len(rows) <= 3
    assert taken == list(range(len(taken)))
    assert len(taken) > 40
    assert league.state.pool.rows == rows
    assert past(10**6) not in league.state.pool.rows


def test_a_pool_of_one_changes_its_member_though_it_always_plays():
    league = begin(mix(history=1), pool=PoolConfig(pool_size=1, snapshot_every=100))
    found = run(league, 60, Worlds(4))
    assert league.state.counts[POSTPONED] > 0
    assert sum(isinstance(event, Snapshot) for assigned in found for event in assigned.events) > 5
    assert sum(event == Counted(POSTPONED) for assigned in found for event in assigned.events) == 1, "told once"


def test_a_snapshot_can_be_taken_on_a_sure_win_and_joins_with_the_learners_rating():
    league = begin(
        mix(history=1), pool=PoolConfig(snapshot_every=10**9, snapshot_mark=0.7), blocks=1, total_steps=10**10
    )
    with_member(with_member(league, past(0, born=1), 0), GUEST, 2)
    with_state(league, snapshots=1)
    league.assign(0, 0, 10)
    with_block(league, next=Draw(PAST), old=Draw(PAST))
    league.report(played(0, [met(0, PAST, 38, 0, 2)], [True]))
    assert league.assign(1, 0, 20).events == ()
    (event,) = league.assign(2, 0, 30).events
    assert event == Snapshot(SECOND, 1) and (event.player.name, event.player.born) == ("past-30", 30)
    book = league.state.book
    assert rating(book, SECOND) == rating(book, ALONE) > 0
    assert book.birth_MM[book.roll.column[SECOND], book.roll.column[PAST]] == rate(book, PAST) > 0.9


def test_everything_about_one_who_left_is_forgotten():
    league = begin(mix(current=0.3, history=0.7, sampler="quality"), pool=PoolConfig(pool_size=3, snapshot_every=100))
    sizes = []
    worlds = Worlds(4)
    for start in range(0, 500, 50):
        run(league, 50, worlds, start=start)
        sizes.append(len(json.dumps(league.saved())))
    book = league.state.book
    assert set(book.players) == {ALONE, SHADOW, MEEK, ACE, *league.state.pool.players}
    assert book.count_LM3.shape == (1, 7, 3) and book.birth_MM.shape == (7, 7)
    assert league.state.pool.rows.keys() == league.state.pool.used.keys() == set(league.state.pool.players)
    assert max(sizes[5:]) < 1.3 * max(sizes[:5])


def test_quality_uses_the_probability_of_the_draw_and_newcomers_the_highest_score():
    """Three of four games of one draw were won: it counts like one game, of which 3/4 was won."""
    league = begin(mix(history=1, sampler="quality"), pool=PoolConfig(snapshot_every=10), blocks=1)
    league.assign(0, 0, 10)
    league.assign(1, 0, 20)
    league.report(played(1, [met(0, PAST, 3, 0, 1, probability=0.05)], [True]))
    league.assign(2, 0, 25)
    league.assign(3, 0, 25)
    assert quality(league, (PAST, SECOND)) == pytest.approx([-0.75 * 0.01 / (2 * 0.05), 0.0])
    league.assign(4, 0, 40)
    assert quality(league, (THIRD,)) == [0.0]
    book = league.state.book
    book.quality_LM[0, [book.roll.column[player] for player in (PAST, SECOND, THIRD)]] = (-3.0, -1.0, -2.0)
    league.assign(5, 0, 50)
    assert quality(league, (FOURTH,)) == [-1.0]
    assert isinstance(league.add("rival", 0, 0), Joined)
    assert quality(league, (GUEST,)) == [-1.0], "a guest joins like a newcomer"


def test_scores_of_quality_do_not_ask_how_many_games_a_draw_had():
    def after(*score: int) -> float:
        league = begin(mix(bots=1, bot_sampler="quality", ladder=("meek",)), blocks=1)
        league.assign(0, 0, 0)
        league.report(played(0, [met(0, MEEK, *score)], [True]))
        league.assign(2, 0, 0)
        return quality(league, (MEEK,))[0]

    assert after(1, 0, 1) == after(500, 0, 500) == pytest.approx(-0.5 * 0.01)
    assert after(0, 0, 0) == 0.0


def test_a_stored_probability_is_the_one_of_the_draw():
    league = begin(mix(bots=1, bot_sampler="pfsp_linear"), blocks=64)
    with_state(league, book=told(league.state.book, {(0, MEEK): Score(won=3, lost=1), (0, ACE): Score(lost=1)}))
    assigned = league.assign(0, 0, 0)
    assert dict(zip(given(assigned), chances(assigned), strict=True)) == pytest.approx({MEEK: 0.2, ACE: 0.8})
    assert given(assigned).count(MEEK) == pytest.approx(64 * 0.2, abs=10)


def test_every_bot_has_its_floor_of_the_whole():
    league = begin(mix(current=1, bot_floor=0.1, bot_sampler="latest"), blocks=1000)
    players = given(league.assign(0, 0, 0))
    assert players.count(MEEK) == pytest.approx(100, abs=35)
    assert players.count(ACE) == pytest.approx(100, abs=35)
    assert players.count(ALONE) == 800


def test_past_selves_and_bots_play_as_weakened_as_their_share_says():
    weak = mix(
        current=0.25, history=0.25, bots=0.5, history_temperature=Schedule.parse("3 -> 1"),
        history_epsilon=Schedule.parse(0.125), bot_epsilon=Schedule.parse("0.5 -> 0"),
        bot_temperature=Schedule.parse(2.0),
    )  # fmt: skip
    league = with_member(begin(weak, blocks=8), PAST, 0)
    assigned = league.assign(0, 0.25, 0)
    found = {block.next.player.kind: (block.next.temperature, block.next.epsilon) for block in assigned.blocks}
    assert found == {"learner": (1.0, 0.0), "past": (2.5, 0.125), "bot": (2.0, 0.375)}


def test_games_against_the_weakened_say_nothing_of_them_at_full_strength():
    league = begin(mix(bots=1, ladder=("meek",), bot_epsilon=Schedule.parse(0.5)), blocks=2)
    run(league, 10, Worlds(2, rate=1.0))
    assert scores(league) == {} and rating(league.state.book, MEEK) == 0.0


def test_the_late_sampler_takes_over_in_its_time():
    league = begin(
        mix(history=1, sampler="latest", late_sampler="window", late_from=0.5, window=3), blocks=60, total_steps=1000
    )
    for number in range(6):
        with_member(league, past(number), number)
    early = revived(league)
    assert set(given(early.assign(0, 0.4, 0))) == {past(5)}
    assert set(given(league.assign(0, 0.5, 0))) == {past(3), past(4), past(5)}


def test_nash_plays_the_equilibrium_of_what_past_selves_showed_at_birth():
    def league_of(rates):
        league = begin(mix(history=1, sampler="nash"), blocks=300)
        for number in range(3):
            with_member(league, past(number), number)
        book = league.state.book
        for (younger, older), known in rates.items():
            book.birth_MM[book.roll.column[younger], book.roll.column[older]] = known
        return league

    circle = {(SECOND, PAST): 0.9, (THIRD, PAST): 0.1, (THIRD, SECOND): 0.9}
    # Each beats the one before, the first the last.
    np.testing.assert_allclose(chances(league_of(circle).assign(0, 0, 0)), 1 / 3, atol=1e-6)
    ladder = {(SECOND, PAST): 0.9, (THIRD, PAST): 0.9, (THIRD, SECOND): 0.9}
    assert set(given(revived(league_of(ladder)).assign(0, 0, 0))) == {THIRD}


def test_a_solver_that_fails_and_a_rate_that_is_not_finite_are_counted_and_told_once(monkeypatch):
    from sparring.ratings import nash
    from sparring.ratings.payoff import RatingError

    def fails(_):
        raise RatingError("no")

    monkeypatch.setattr(nash, "nash", fails)
    league = with_member(begin(mix(history=1, sampler="nash")), PAST, 0)
    league.state.book.fading_LM3[0, league.state.book.roll.column[PAST]] = (float("nan"), 0.0, 1.0)
    assert set(league.assign(0, 0, 0).events) == {Counted(UNSOLVED), Counted(NOT_FINITE)}
    assert league.state.counts == {UNSOLVED: 1, NOT_FINITE: 1}
    assert revived(league).state.counts == {UNSOLVED: 1, NOT_FINITE: 1}


LED = CurriculumConfig(curriculum=True, level_games=20)


def standing(league) -> Standing:
    return league.state.careers[0].standing


def at_level(league, level):
    return with_career(league, standing=Standing(level))


def test_a_beginner_meets_the_weakest_bot_alone_and_climbs_to_the_normal_mixture():
    league = begin(mix(current=0.5, shadow=0.5), curriculum=LED, blocks=8)
    found = run(league, 300, Worlds(8, rate=0.9))
    assert kinds(found[:1])["bot"] == 4
    assert set(given(found[0])) == {ALONE, MEEK}
    climbed = [event.level for assigned in found for event in assigned.events if isinstance(event, Climbed)]
    assert climbed[0] == "ace"
    assert climbed[-1] == "full strength"
    assert len(climbed) == 6
    assert kinds(found[-1:]) == {"learner": 4, "shadow": 4}
    epsilons = [max(block.next.epsilon for block in assigned.blocks) for assigned in found]
    assert max(epsilons) == 0.75
    assert epsilons[-1] == 0.0


def test_one_who_only_loses_at_full_strength_retreats_to_weakened_selves():
    league = at_level(begin(mix(current=0.5, shadow=0.5), curriculum=LED, blocks=8), 6)
    found = run(league, 20, Worlds(8, rate=0.0))
    events = [event for assigned in found for event in assigned.events]
    assert Retreated("self with 0.188 of random actions") in events
    assert max(block.next.epsilon for assigned in found for block in assigned.blocks) >= 0.1875


def test_games_of_a_weakened_self_count_for_the_level_but_not_for_the_player():
    league = at_level(begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=2), 2)
    run(league, 20, Worlds(2, rate=1.0))
    assert standing(league).score.won > 20
    assert SHADOW not in scores(league)


def test_where_two_draws_of_a_player_differ_in_strength_its_games_count_for_neither():
    league = at_level(begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=1), 3)
    league.assign(0, 0, 0)
    with_block(league, old=Draw(SHADOW, 1.0, 1.0, 0.75, 2), next=Draw(SHADOW, 1.0, 1.0, 0.5, 3))
    league.report(played(0, [met(0, SHADOW, 9, 0, 0)], [False]))
    league.assign(1, 0, 0)
    league.assign(2, 0, 0)
    assert standing(league).score == Score()


def test_games_from_before_a_draw_belong_to_what_was_played_then():
    league = at_level(begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=1), 3)
    for iteration in range(3):
        league.assign(iteration, 0, 0)
        league.report(idle(iteration, True)) if iteration == 0 else None
    assert league.state.blocks[0].since == 2
    with_block(league, old=Draw(SHADOW, 1.0, 1.0, 0.5, 3), next=Draw(SHADOW))
    league.report(played(1, [met(0, SHADOW, 9, 0, 0, weakened=True)], [True]))
    league.assign(3, 0, 0)
    assert standing(league).score == Score(won=9), "the one at full strength had not begun"
    assert scores(league) == {}


def test_a_curriculum_needs_no_past_self_and_its_draws_do_not_touch_scores_of_quality():
    league = begin(mix(current=0.5, history=0.5, bot_sampler="quality"), curriculum=LED, blocks=8)
    players = given(league.assign(0, 0, 0))
    assert Counter(players) == {ALONE: 4, MEEK: 4}
    assert not any("could be drawn" in what for what in league.state.counts)
    league.report(played(0, [met(players.index(MEEK), MEEK, 9, 0, 0)], [False] * 8))
    league.assign(2, 0, 0)
    assert scores(league) == {MEEK: Score(won=9)}
    assert set(quality(league, (MEEK, ACE))) == {0.0}


def test_the_level_below_is_played_by_a_fifth_and_its_games_do_not_count_for_the_level():
    league = at_level(begin(mix(shadow=1), curriculum=replace(LED, level_games=10**6), blocks=1000), 1)
    assigned = league.assign(0, 0, 0)
    counts = Counter(given(assigned))
    assert set(counts) == {MEEK, ACE}
    assert counts[MEEK] == pytest.approx(200, abs=45)
    assert {block.next.probability for block in assigned.blocks if block.next.player == ACE} == {0.8}
    league.report(played(0, all_met(assigned, 1, 0, 0), [False] * 1000))
    league.assign(1, 0, 0)
    league.assign(2, 0, 0)
    assert standing(league).score == Score(won=counts[ACE])
    assert scores(league)[MEEK] == Score(won=counts[MEEK]), "bots of a level are never weakened"


def test_the_curriculum_governs_its_share_and_leaves_the_rest_to_the_mixture():
    curriculum = replace(LED, curriculum_share=Schedule.parse("1 -> 0"))
    league = begin(mix(current=0.5, shadow=0.5), curriculum=curriculum, blocks=400)
    assert Counter(given(league.assign(0, 0.25, 0))) == {ALONE: 200, MEEK: 150, SHADOW: 50}


def test_without_a_shadow_the_newest_past_self_is_weakened():
    league = at_level(begin(mix(history=1), curriculum=replace(LED, weaken="temperature"), blocks=50), 2)
    first = league.assign(0, 0, 0)
    assert set(given(first)) == {SHADOW, ACE}, "nobody else is there yet"
    assert {block.next.temperature for block in first.blocks} == {1.0, 3.25}
    for row, player in enumerate((PAST, SECOND, GUEST)):
        with_member(league, player, row)
    assert set(given(all_drained(league).assign(1, 0, 0))) == {SECOND, ACE}


def test_a_guest_joins_the_pool_and_leaves_when_its_games_have_ended():
    league = begin(mix(history=1), pool=PoolConfig(pool_size=2, snapshot_every=10**9), blocks=1, total_steps=10**10)
    joined, others = league.add("rival", 0, 0), league.add("other", 0, 1)
    assert isinstance(joined, Joined) and isinstance(others, Joined)
    guest, other = joined.player, others.player
    assert (joined, others) == (Joined(Player("guest", 0, "rival"), 0), Joined(Player("guest", 1, "other"), 1))
    assert league.room() == 0
    assert "the next is 2" in str(league.add("third", 0, 1))
    assert "is full" in str(league.add("third", 0, 2))
    assert "is not in the pool" in str(league.remove(past(5)))
    (playing,) = given(league.assign(0, 0, 0))
    idle_one = guest if playing == other else other
    assert league.remove(idle_one) == Evicted(idle_one, 0 if idle_one == guest else 1)
    assert "when its games have ended" in str(league.remove(playing))
    assert playing in league.state.pool.rows
    for iteration in range(1, 7):
        league.report(idle(iteration - 1, True))
        assigned = league.assign(iteration, 0, 0)
        if any(isinstance(event, Evicted) for event in assigned.events):
            break
    assert playing not in league.state.pool.rows
    assert iteration == 4, "drained of it in 2, known in 4"
    assert "the next is 2" in str(revived(league).add("third", 0, 1)), "numbers are not used again"


def test_shares_set_by_hand_hold_from_now_on_and_over_an_interruption():
    league = begin(mix(current="1 -> 0", shadow="0 -> 1", bots=1), blocks=8)
    event = league.set_shares({"bots": 1.0}, 0.5)
    assert event == SharesSet({"current": 0.0, "shadow": 0.0, "history": 0.0, "bots": 1.0})
    assert kinds([revived(league).assign(0, 0.0, 0)]) == {"bot": 8}
    with pytest.raises(ConfigError, match="no pool"):
        begin(mix(current=1), pool=PoolConfig(pool_size=0)).set_shares({"history": 0.5}, 0.0)
    with pytest.raises(ConfigError, match="no bots"):
        begin(mix(current=1), bots=()).set_shares({"bots": 0.5}, 0.0)
    with pytest.raises(ConfigError, match="no shadow"):
        begin(mix(current=1), shadows=False).set_shares({"shadow": 0.5}, 0.0)
    with pytest.raises(ConfigError, match="Did you mean 'bots'"):
        league.set_shares({"bot": 0.5}, 0.0)
    for share in (-0.1, 1.5, True, "much"):
        with pytest.raises(ConfigError, match=r"bots must be a number in \[0, 1\]"):
            league.set_shares({"bots": share}, 0.0)


@pytest.mark.parametrize(("won", "bots"), [(None, 0.0), (40, 0.0), (50, 0.0), (65, 0.5), (80, 1.0), (99, 1.0)])
def test_shares_can_follow_the_rate_of_winning_instead_of_time(won, bots):
    """From 0.5 to 0.8: at 65 of 100 points half of the way is done, whatever the time; without a game nothing."""
    config = mix(current="1 -> 0", bots="0 -> 1", follow="rate", follow_from=0.5, follow_to=0.8)
    league = begin(config)
    if won is not None:
        games = {(0, MEEK): Score(won=won), (0, ACE): Score(lost=100 - won)}
        with_state(league, book=told(league.state.book, games))
    assert league.shares_at(0.9) == pytest.approx([1 - bots, 0, 0, bots])


def test_members_are_listed_with_what_is_known_of_them():
    league = begin(mix(history=0.5, bots=0.5), pool=PoolConfig(snapshot_every=1000))
    run(league, 50, Worlds(4, rate=0.8))
    listed = league.members()
    assert [member.player.name for member in listed[:3]] == ["learner.shadow", "past-1000", "past-2000"]
    assert [member.player.name for member in listed[-2:]] == ["meek", "ace"]
    seen = next(member for member in listed if member.games > 30)
    assert seen.interval.low < 0.8 < seen.interval.high
    assert seen.interval.count == seen.games
    assert listed[0].row is None
    assert listed[1].row == 0


def test_a_learner_is_rated_above_the_first_bot_or_else_the_oldest_past_self():
    """One game won of an equal moves both by half of K = 16: 16 points between them."""
    league = begin(mix(history=0.5, bots=0.5))
    with_state(league, book=told(league.state.book, {(0, MEEK): Score(won=1)}))
    assert live_ratings(league.rules, league.state) == {"learner vs meek": 16.0}
    league = with_member(begin(mix(history=1.0), bots=()), past(3), 0)
    assert live_ratings(league.rules, league.state) == {}, "they never met"
    with_state(league, book=told(league.state.book, {(0, past(3)): Score(lost=1)}))
    assert live_ratings(league.rules, league.state) == {"learner vs past-3": -16.0}
    alone = begin(mix(shadow=1.0), bots=())
    assert live_ratings(alone.rules, alone.state) == {}
    assert live_ratings(replace(league.rules, meta="nash"), league.state) == {}


EVERYTHING = mix(
    current=0.3, shadow=0.1, history="0.2 -> 0.4", bots=0.2, sampler="pfsp_var", late_sampler="quality", bot_floor=0.05
)


@pytest.mark.parametrize("eviction", ["oldest", "log_spaced", "redundant"])
@pytest.mark.parametrize("curriculum", [CurriculumConfig(), LED])
def test_an_interrupted_league_decides_as_the_uninterrupted_one(eviction, curriculum):
    made = rules(
        EVERYTHING,
        pool=PoolConfig(pool_size=4, snapshot_every=700, snapshot_mark=0.6, eviction=eviction),
        curriculum=curriculum,
        mirror=[True, True, True, False, True],
        face=[False, True, True, True, True],
        total_steps=20_000,
    )
    whole, resumed = League.begin(made), League.begin(made)
    worlds = Worlds(5, length=lambda player: 2 + packed(player) % 5, rate=0.7)
    generator, late = np.random.default_rng(5), []
    for iteration in range(200):
        if generator.random() < 0.2:
            resumed = revived(resumed)
        one = whole.assign(iteration, iteration / 200, 100 * iteration)
        same(one, resumed.assign(iteration, iteration / 200, 100 * iteration))
        result = worlds.play(one, iteration)
        for held in late:
            whole.report(held)  # the one league hears of it before the next iteration is assigned, the other at once
        late = [result]
        resumed.report(result)
    assert whole.state.snapshots > 15
    assert to_plain(whole.state.book) == to_plain(resumed.state.book)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bots": ("random", "ace", "meek")}, "bots of the saved league"),
        ({"blocks": 3}, "number of blocks"),
        ({"pool": PoolConfig(pool_size=1)}, "no row for"),
    ],
)
def test_a_league_is_not_restored_into_another_run(change, says):
    league = begin(mix(history=1), pool=PoolConfig(snapshot_every=100))
    run(league, 10, Worlds(4))
    with pytest.raises(RunError, match=says):
        begin(mix(history=1), **change).restored(league.saved())


def test_a_saved_name_that_is_no_name_of_a_file_is_refused():
    league = begin(mix(history=1), pool=PoolConfig(snapshot_every=100))
    run(league, 10, Worlds(4))
    saved = json.loads(json.dumps(league.saved()).replace('"past-100"', '"../../etc/passwd"'))
    with pytest.raises(ValueError, match="passwd"):
        begin(mix(history=1)).restored(saved)


def test_whom_a_block_meets_does_not_follow_from_the_kind_it_was_given():
    """With one stream of numbers for both, a high number would mean a bot and always the last one."""
    found = Counter(
        given(begin(mix(current=0.5, bots=0.5), blocks=1, seed=seed).assign(0, 0.0, 0))[0] for seed in range(60)
    )
    assert set(found) == {ALONE, MEEK, ACE}
    assert min(found.values()) >= 5, "15 of each bot are expected"


def test_results_are_kept_as_plain_numbers_as_after_an_interruption():
    meeting = met(0, ACE, *np.array([2, 0, 1]), probability=np.float64(0.5))
    (kept,) = received((), Played(np.int64(0), (meeting,), tuple(np.ones(1, bool))), blocks=1, last=0)
    saved = json.loads(json.dumps(to_plain(kept)))
    assert saved["iteration"] == 0 and saved["drained_B"] == [True]
    assert saved["meetings"][0][2:8] == [0.5, False, 3, 2, 0, 1]
    assert from_plain(Played, saved) == kept


def test_a_seed_decides_the_draws():
    one, same_seed, other = (given(begin(mix(bots=1), blocks=64, seed=seed).assign(0, 0, 0)) for seed in (1, 1, 2))
    assert one == same_seed
    assert one != other


def test_events_are_plain_data_and_sentences():
    player = past(0, born=30)
    events = (Snapshot(player, 2), Joined(player, 1), Evicted(player, 0), Climbed("ace"), Retreated("meek"))
    for event in (*events, Counted("x"), SharesSet({"current": 0.25})):
        assert event.sentence().endswith(".")
        assert json.loads(json.dumps(event.to_dict()))["event"] == type(event).__name__.lower()
    assert Snapshot(player, 2).to_dict()["player"]["born"] == 30
    assert SharesSet({"current": 0.25}).sentence() == "Shares set by hand: current 0.25."
    assert from_plain(Player, to_plain(player)) == player


def test_a_gate_lets_the_learner_in_after_a_won_trial_and_counts_anew_after_a_lost_one():
    gate = GateConfig(gate="rate", gate_games=20, gate_rate=0.55)
    made = {"pool": PoolConfig(pool_size=4), "blocks": 2, "gate": gate, "from_birth": True}
    found = begin(mix(history=1, sampler="latest"), **made)
    won = {0: 5, 1: 5, 2: 10, 3: 10, 4: 10, 5: 10}  # of ten games in each iteration
    said = []
    for iteration in range(9):
        if iteration == 4:  # in the middle of a trial
            found = revived(found)
        assigned = found.assign(iteration, 0.0, 100 * iteration)
        said += [(iteration, type(event).__name__) for event in assigned.events if isinstance(event, Snapshot | Kept)]
        wins = won.get(iteration, 5)
        found.report(played(iteration, [met(0, given(assigned)[0], wins, 0, 10 - wins)], [True, True]))
    # Read two iterations later: 10 of 20 by iteration 3 are not enough, 20 of the next 20 by iteration 5 are. Then the
    # games of iterations 4 and 5 were against the old champion, and the new one has met nobody yet.
    assert said[:3] == [(0, "Snapshot"), (3, "Kept"), (5, "Snapshot")]
