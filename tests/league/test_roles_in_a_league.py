"""A league of several learners: what it remembers, whom it copies and puts back, and who is in memory."""

import json

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.core.seeding import Seed
from sparring.league.config import OpponentsConfig
from sparring.league.events import Recalled, Reset, Snapshot
from sparring.league.ledger import Ledger, Score
from sparring.league.orders import Report, Result
from sparring.league.player import PAST, RIVAL
from sparring.league.role_league import RoleLeague, role_names
from sparring.league.roles import RolesConfig

ROLES = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2, role_steps=100)
MAIN, EXPLOITER = RIVAL, RIVAL + 1
EACH = 2


def league(roles: RolesConfig = ROLES, pool_size: int = 30, shrink: float = 2.0) -> RoleLeague:
    names = role_names(roles)
    return RoleLeague(roles, OpponentsConfig(shrink=shrink), pool_size, names, EACH, Seed.of(5), 10**6)


def even(*_: int) -> float:
    return 0.5


def played(found: RoleLeague, iteration: int, orders, points=even, games: int = 8) -> Report:
    """Every block drains and completes games against its next player, won as `points` says."""
    rows = []
    for block, player in enumerate(orders.next_B.tolist()):
        won = round(games * points(found.learner_of(block), player))
        rows.append(Result(block, player, float(orders.probability_B[block]), games, won, 0, games - won))
    return Report(iteration, tuple(rows), (True,) * len(found.blocks))


def run(found: RoleLeague, iterations: range, points=even, pace: int = 40) -> list:
    """Orders of every iteration; all four learners together make `pace` steps in each."""
    orders = []
    for iteration in iterations:
        orders.append(found.assign(iteration, 0.0, pace * iteration))
        found.report(played(found, iteration, orders[-1], points))
    return orders


def test_learners_are_named_by_their_roles_and_numbered_where_there_are_several():
    assert role_names(ROLES) == ("main", "main_exploiter", "league_exploiter_0", "league_exploiter_1")
    assert role_names(RolesConfig()) == ()


def test_the_untrained_main_is_the_first_past_player():
    found = league()
    first = found.assign(0, 0.0, 0)
    assert [event.player.name for event in first.events if isinstance(event, Snapshot)] == ["past-0-main"]
    assert found.past[0].parent == MAIN and found.past[0].role == "main"


def test_a_main_is_copied_once_every_role_steps_of_its_own():
    found = league()
    run(found, range(41))  # 40 steps an iteration, 10 for each of four learners: 100 after ten iterations
    born = [player.born for player in found.past if player.role == "main"]
    assert born == [0, 400, 800, 1200, 1600]


def test_an_exploiter_that_beats_the_main_is_copied_and_only_then_put_back():
    found = league()
    orders = run(found, range(6), points=lambda learner, player: 1.0 if (learner, player) == (1, MAIN) else 0.5)
    deeds = [
        (iteration, type(event).__name__, event.learner)
        for iteration, order in enumerate(orders)
        for event in order.events
        if isinstance(event, Snapshot | Reset) and event.learner == 1
    ]
    # The report of iteration 0 is read at 2. Games up to then were of weights that are gone, so the next ones that
    # count are those of iteration 2, read at 4.
    assert deeds == [(2, "Snapshot", 1), (2, "Reset", 1), (4, "Snapshot", 1), (4, "Reset", 1)]


def test_who_begins_anew_is_known_to_nobody_and_knows_nobody():
    found = league()
    wins = {1: {MAIN: 1.0}}
    run(found, range(4), points=lambda learner, player: wins.get(learner, {}).get(player, 0.25))
    assert found.anew[1] == 2
    assert found.ledgers[1].interval(MAIN).count == 0
    assert found.ledgers[0].interval(EXPLOITER).count == 0
    assert found.ledgers[2].score  # the others keep what they know


def test_a_game_between_two_learners_is_credited_to_both():
    found = league()
    orders = found.assign(0, 0.0, 0)
    block = orders.next_B.tolist().index(MAIN, EACH)  # the exploiter has nobody to meet but the main
    assert found.learner_of(block) == 1
    result = Result(block, MAIN, 1.0, 10, 5, 2, 3)
    found.report(Report(0, (result,), (False,) * len(found.blocks)))
    found.assign(1, 0.0, 40)
    found.report(Report(1, (), (False,) * len(found.blocks)))
    found.assign(2, 0.0, 80)
    assert found.ledgers[1].score[MAIN] == (5, 2, 3)
    assert found.ledgers[0].score[EXPLOITER] == (3, 2, 5)


def test_games_against_oneself_are_not_counted():
    found = league()
    run(found, range(3), points=lambda *_: 1.0)
    assert all(RIVAL + learner not in ledger.score for learner, ledger in enumerate(found.ledgers))


def test_a_report_about_somebody_who_was_not_given_is_refused():
    found = league()
    found.assign(0, 0.0, 0)
    found.report(Report(0, (Result(0, PAST + 77, 1.0, 1, 1, 0, 0),), (True,) * len(found.blocks)))
    found.assign(1, 0.0, 40)
    with pytest.raises(RunError, match="was not given it"):
        found.assign(2, 0.0, 80)


def test_a_thousand_past_players_stay_within_the_rows_of_memory():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=6)
    recalled, seated = 0, {}
    for iteration in range(500):
        orders = found.assign(iteration, 0.0, 2 * iteration)
        for event in orders.events:
            if isinstance(event, Snapshot | Recalled) and event.row is not None:
                seated[event.row] = event.player.id
                recalled += isinstance(event, Recalled)
        assert len(found.pool.rows) <= 6 and set(found.used) == set(found.pool.rows)
        for player in {*orders.next_B.tolist(), *orders.old_B.tolist()}:
            if player >= PAST:
                assert seated[found.row_of(player)] == player  # what was last put into its row is this player
        found.report(played(found, iteration, orders))
    assert len(found.past) == 999 and recalled > 100


def test_when_all_rows_are_playing_a_player_in_memory_is_drawn_and_that_is_counted():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=1)
    run(found, range(40), pace=2)
    assert found.counts and len(found.pool.rows) == 1


def test_an_interrupted_league_decides_as_one_that_never_stopped():
    def points(learner: int, player: int) -> float:
        return ((player * 7 + learner * 3) % 9) / 8

    whole, broken = league(pool_size=8), league(pool_size=8)
    orders = run(whole, range(40), points)
    run(broken, range(17), points)
    revived = league(pool_size=8).restored(json.loads(json.dumps(broken.state())))
    again = run(revived, range(17, 40), points)
    for one, two in zip(orders[17:], again, strict=True):
        assert one.events == two.events
        assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("old_B", "next_B", "changed_B"))
    assert whole.state() == revived.state()
    assert any(isinstance(event, Reset) for order in orders[17:] for event in order.events)


def test_a_league_of_other_roles_is_not_restored():
    state = league().state()
    with pytest.raises(RunError, match="same roles and blocks"):
        league(RolesConfig(mains=2)).restored(state)


def test_nothing_is_known_of_a_main_that_became_a_copy_nor_by_it():
    found = league(RolesConfig(mains=3))
    first, second, third = (RIVAL + place for place in range(3))
    found.ledgers[0] = Ledger().after({second: Score(6, 0, 2), third: Score(1, 0, 3), PAST: Score(5, 0, 5)}, 1.0)
    found.ledgers[1] = Ledger().after({first: Score(2, 0, 6), PAST: Score(9, 0, 1)}, 1.0)
    found.ledgers[2] = Ledger().after({first: Score(3, 0, 1), second: Score(0, 0, 4)}, 1.0)
    found.descended(np.array([0, 0, 2]), 11)
    assert [set(ledger.score) for ledger in found.ledgers] == [{third, PAST}, set(), {first}]
    assert found.anew == [0, 11, 0]
