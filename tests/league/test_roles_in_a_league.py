"""A league of roles: what it remembers, whom it copies and puts back, and who is in memory."""

import numpy as np
import pytest
from making import (
    given,
    learner,
    met,
    past,
    played,
    rating,
    revived,
    role_rules,
    scores,
    told,
    with_member,
    with_state,
)

from sparring.core.errors import RunError
from sparring.league.blocks import Played
from sparring.league.config import OpponentsConfig
from sparring.league.events import Recalled, Reset, Snapshot
from sparring.league.league import CROWDED, League
from sparring.league.player import packed
from sparring.league.roles import RolesConfig, role_names
from sparring.league.score import Score

ROLES = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2, role_steps=100)
MAIN, EXPLOITER, RAIDER, SECOND_RAIDER = (learner(place) for place in range(4))
EACH = 2


def league(roles: RolesConfig = ROLES, opponents: OpponentsConfig | None = None, **more) -> League:
    return League.begin(role_rules(roles, opponents or OpponentsConfig(shrink=2.0), **more))


def even(*_) -> float:
    return 0.5


def results(found: League, iteration: int, assigned, points=even, games: int = 8) -> Played:
    """Every block drains and completes games against its next player, won as `points` says."""
    meetings = []
    for block, player in enumerate(given(assigned)):
        won = round(games * points(found.learner_of(block), player))
        chance = assigned.blocks[block].next.probability
        meetings.append(met(block, player, won, 0, games - won, probability=chance))
    return played(iteration, meetings, [True] * len(assigned.blocks))


def run(found: League, iterations: range, points=even, pace: int = 40) -> list:
    """What was assigned in every iteration; all learners together make `pace` steps in each."""
    assigned = []
    for iteration in iterations:
        assigned.append(found.assign(iteration, 0.0, pace * iteration))
        found.report(results(found, iteration, assigned[-1], points))
    return assigned


def events(assigned: list, *kinds: type) -> list:
    return [(i, event) for i, one in enumerate(assigned) for event in one.events if isinstance(event, kinds)]


def test_learners_are_named_by_their_roles_and_numbered_where_there_are_several():
    assert role_names(ROLES) == ("main", "main_exploiter", "league_exploiter_0", "league_exploiter_1")
    assert role_names(RolesConfig()) == ()


def test_the_untrained_main_is_the_first_past_player():
    found = league()
    first = found.assign(0, 0.0, 0)
    assert [event.player.name for event in first.events if isinstance(event, Snapshot)] == ["past-0-main"]
    (only,) = found.state.pool.players
    assert only.learner == MAIN.number and only.role == "main"


def test_a_main_is_copied_once_every_role_steps_of_its_own():
    found = league()
    run(found, range(41))  # 40 steps an iteration, 10 for each of four learners: 100 after ten iterations
    born = [player.born for player in found.state.pool.players if player.role == "main"]
    assert born == [0, 400, 800, 1200, 1600]


def test_an_exploiter_that_beats_the_main_is_copied_and_only_then_put_back():
    found = league()
    assigned = run(found, range(6), points=lambda who, player: 1.0 if (who, player) == (1, MAIN) else 0.5)
    deeds = [
        (iteration, type(event).__name__, event.learner)
        for iteration, event in events(assigned, Snapshot, Reset)
        if event.learner == 1
    ]
    # What iteration 0 showed is read at 2. Games up to then were of weights that are gone, so the next ones that count
    # are those of iteration 2, read at 4.
    assert deeds == [(2, "Snapshot", 1), (2, "Reset", 1), (4, "Snapshot", 1), (4, "Reset", 1)]


def test_who_begins_anew_is_known_to_nobody_and_knows_nobody():
    found = league()
    wins = {1: {MAIN: 1.0}}
    run(found, range(4), points=lambda who, player: wins.get(who, {}).get(player, 0.25))
    assert found.state.careers[1].anew == 2
    assert MAIN not in scores(found, 1)
    assert EXPLOITER not in scores(found, 0)
    assert scores(found, 2)  # the others keep what they know
    assert rating(found.state.book, EXPLOITER) == 0.0


def test_a_game_between_two_learners_is_credited_to_both():
    found = league()
    block = given(found.assign(0, 0.0, 0)).index(MAIN, EACH)  # the exploiter has nobody to meet but the main
    assert found.learner_of(block) == 1
    idle = [False] * len(found.state.blocks)
    found.report(played(0, [met(block, MAIN, 5, 2, 3)], idle))
    found.assign(1, 0.0, 40)
    found.report(played(1, [], idle))
    found.assign(2, 0.0, 80)
    assert scores(found, 1)[MAIN] == (5, 2, 3)
    assert scores(found, 0)[EXPLOITER] == (3, 2, 5)


def test_games_against_oneself_are_not_counted():
    found = league()
    run(found, range(3), points=lambda *_: 1.0)
    assert all(learner(place) not in scores(found, place) for place in range(4)) and scores(found, 2)


def test_results_about_somebody_who_was_not_given_are_refused():
    found = league()
    found.assign(0, 0.0, 0)
    found.report(played(0, [met(0, past(77), 1, 0, 0)], [True] * len(found.state.blocks)))
    found.assign(1, 0.0, 40)
    with pytest.raises(RunError, match="but was given main and main. Check who acted there"):
        found.assign(2, 0.0, 80)


def test_a_thousand_past_players_stay_within_the_rows_of_memory():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=6)
    recalled, seated = 0, {}
    for iteration in range(500):
        assigned = found.assign(iteration, 0.0, 2 * iteration)
        for event in assigned.events:
            if isinstance(event, Snapshot | Recalled) and event.row is not None:
                seated[event.row] = event.player
                recalled += isinstance(event, Recalled)
        pool = found.state.pool
        assert len(pool.rows) <= 6 and set(pool.used) == set(pool.rows)
        for player in {draw.player for block in assigned.blocks for draw in (block.old, block.next)}:
            if player.kind == "past":
                assert seated[pool.rows[player]] == player  # what was last put into its row is this player
        found.report(results(found, iteration, assigned))
    assert len(found.state.pool.players) == 999 and recalled > 100


def test_when_all_rows_are_playing_a_player_in_memory_is_drawn_and_that_is_counted():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=1)
    run(found, range(40), pace=2)
    assert found.state.counts[CROWDED] and len(found.state.pool.rows) == 1


def test_an_interrupted_league_decides_as_one_that_never_stopped():
    def points(who, player) -> float:
        return ((packed(player) * 7 + who * 3) % 9) / 8

    whole, broken = league(pool_size=8), league(pool_size=8)
    assigned = run(whole, range(40), points)
    run(broken, range(17), points)
    again = revived(broken)
    found = run(again, range(17, 40), points)
    for one, two in zip(assigned[17:], found, strict=True):
        assert one.events == two.events and one.blocks == two.blocks
        assert np.array_equal(one.changed_B, two.changed_B)
    assert whole.saved() == again.saved()
    assert events(assigned[17:], Reset)


def test_a_league_of_other_roles_is_not_restored():
    with pytest.raises(RunError, match="The learners of the saved league"):
        league(RolesConfig(mains=2)).restored(league().saved())


def test_nothing_is_known_of_a_main_that_became_a_copy_nor_by_it():
    found = with_member(league(RolesConfig(mains=3)), past(0), 0)
    first, second, third = (learner(place) for place in range(3))
    games = {
        (0, second): Score(6, 0, 2), (0, third): Score(1, 0, 3), (0, past(0)): Score(5, 0, 5),
        (1, past(0)): Score(9, 0, 1), (2, second): Score(0, 0, 4),
    }  # fmt: skip
    with_state(found, book=told(found.state.book, games))
    found.descended(np.array([0, 0, 2]), 11)
    assert [set(scores(found, place)) for place in range(3)] == [{third, past(0)}, set(), {first}]
    assert [career.anew for career in found.state.careers] == [0, 11, 0]
