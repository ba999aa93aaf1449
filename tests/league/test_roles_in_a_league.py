"""A league of roles: what it remembers, whom it copies and puts back, and who is in memory."""

from dataclasses import replace

import numpy as np
import pytest
from making import (
    ACE,
    GUEST,
    MEEK,
    NAMES,
    given,
    learner,
    met,
    mix,
    past,
    played,
    quality,
    rating,
    revived,
    role_rules,
    scores,
    told,
    with_block,
    with_member,
    with_state,
)

from sparring.core.errors import ConfigError, RunError
from sparring.core.plain import to_plain
from sparring.core.schedules import Schedule
from sparring.league.blocks import Draw, Played
from sparring.league.config import CurriculumConfig, OpponentsConfig
from sparring.league.curriculum import Standing
from sparring.league.events import Climbed, Evicted, Joined, Kept, Own, Recalled, Reset, Snapshot
from sparring.league.gates import GateConfig
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
    with pytest.raises(RunError, match=r"but was given main and main\. Check who acted there"):
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
    for iteration in range(40):
        (assigned,) = run(found, range(iteration, iteration + 1), pace=2)
        playing = {draw.player for block in assigned.blocks for draw in (block.old, block.next)}
        assert {player for player in playing if player.kind == "past"} <= set(found.state.pool.rows)
    assert found.state.counts[CROWDED] and len(found.state.pool.rows) == 1


def test_who_was_drawn_longest_ago_gives_its_row():
    """Of three in memory the second was drawn longest ago, but it plays; so the third makes room for the copy."""
    found = league(RolesConfig(mains=1, role_steps=1), pool_size=3)
    for number, used in enumerate((7, 2, 5)):
        with_member(found, past(number, role="main"), number)
        found.state.pool.used[past(number)] = used
    with_state(found, iteration=8, snapshots=3)
    with_block(found, 0, next=Draw(past(1)), drained=False)
    (event,) = (event for event in found.assign(9, 0.0, 100).events if isinstance(event, Snapshot))
    assert (event.player, event.row) == (past(3), 2)
    assert past(2) in found.state.pool.players


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
    found.descended({1: 0}, 11)
    assert [set(scores(found, place)) for place in range(3)] == [{third, past(0)}, set(), {first}]
    assert [career.anew for career in found.state.careers] == [0, 11, 0]


# Roles together with what else a league knows.

TWO = RolesConfig(mains=1, league_exploiters=1, role_steps=1000)
HALF_BOTS = mix(current=0.5, bots=0.5, bot_sampler="pfsp_linear")


def met_by(assigned: list, place: int) -> list:
    """Whom the blocks of one learner were given, over all iterations."""
    return [player for one in assigned for player in given(one)[place * EACH :][:EACH]]


def test_a_main_with_a_share_of_bots_meets_them_in_half_of_its_blocks():
    """Two blocks each, and an even comb: one meets a bot, the other whom the role asks for."""
    found = league(TWO, HALF_BOTS, bots=NAMES)
    assert found.shares_at(0.0, 0) == pytest.approx([0.175, 0.25, 0.075, 0.5])  # self-play, pfsp, exploiters, bots
    assert found.shares_at(0.0, 1) == pytest.approx([0.5, 0.5])
    assigned = run(found, range(12))
    for place in range(2):
        players = met_by(assigned, place)
        assert sum(player.kind == "bot" for player in players) == len(players) // 2
    assert {player for player in met_by(assigned, 0) if player.kind == "bot"} == {MEEK, ACE}
    with_state(found, book=told(found.state.book, {(0, MEEK): Score(won=10**6), (0, ACE): Score(lost=10**6)}))
    last = [draw.next for draw in found.assign(12, 0.0, 480).blocks[:EACH] if draw.next.player.kind == "bot"]
    assert [(draw.player, round(draw.probability, 2)) for draw in last] == [(ACE, 1.0)]


def test_a_main_with_bots_is_judged_by_its_role_alone():
    """Beating every bot makes no exploiter done: only past players are its prey."""
    found = league(TWO, HALF_BOTS, bots=NAMES)
    assigned = run(found, range(6), points=lambda _, player: 1.0 if player.kind == "bot" else 0.5)
    assert scores(found, 1)[MEEK].won > 0 or scores(found, 1)[ACE].won > 0
    assert [event.learner for _, event in events(assigned, Snapshot)] == [0]


def test_shadows_have_a_share_beside_roles_and_each_learner_meets_its_own():
    found = league(TWO, mix(current=0.5, shadow=0.5))
    assigned = run(found, range(6))
    for place in range(2):
        shadows = [player for player in met_by(assigned, place) if player.kind == "shadow"]
        assert len(shadows) == 6 and {player.learner for player in shadows} == {place}


def test_a_league_exploiter_meets_a_guest_like_a_past_player_and_must_beat_it_too():
    found = league(TWO)
    found.assign(0, 0.0, 0)
    joined = found.add("stranger", 0, 0)
    assert isinstance(joined, Joined) and joined.row == 1
    book = told(found.state.book, {(1, past(0)): Score(won=90, lost=10), (1, GUEST): Score(won=10, lost=90)})
    with_state(found, book=book)
    outlook, prey = found.outlook(), found.rules.roles[1].snapshot.beats
    assert prey is not None and [book.players[column] for column in outlook.whom(prey, 1)] == [past(0), GUEST]
    assert outlook.beaten([0.7], [1], [prey]) == [False]
    found.report(played(0, [], [True] * 4))
    found.assign(1, 0.0, 40)
    third = found.assign(2, 0.0, 80)
    # With two virtual games at one half: rates of 91/102 and 11/102, hard weights (11/102)^2 and (91/102)^2.
    chance = {block.next.player: block.next.probability for block in third.blocks[EACH:]}
    expected = {past(0): 121 / (121 + 8281), GUEST: 8281 / (121 + 8281)}
    assert set(chance) <= set(expected) and GUEST in chance
    assert all(chance[player] == pytest.approx(expected[player]) for player in chance)


def test_a_guest_keeps_its_row_while_past_players_come_and_go():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=6)
    found.assign(0, 0.0, 0)
    joined = found.add("stranger", 0, 0)
    assert isinstance(joined, Joined)
    for iteration in range(1, 60):
        assigned = found.assign(iteration, 0.0, 2 * iteration)
        found.report(results(found, iteration, assigned))
    assert found.state.pool.rows[joined.player] == joined.row
    assert len(found.state.pool.players) > 100 and len(found.state.pool.rows) <= 6


def test_a_past_player_that_is_on_disk_alone_can_be_removed():
    found = league(RolesConfig(mains=1, league_exploiters=1, role_steps=1), pool_size=6)
    run(found, range(30), pace=2)
    gone = next(player for player in found.state.pool.players if player not in found.state.pool.rows)
    assert found.remove(gone) == Evicted(gone, None)
    assert gone not in found.players
    run(found, range(30, 40), pace=2)


def test_a_gate_on_a_main_copies_it_only_after_a_won_trial():
    """The newest past main is the champion: 16 games lost end a trial in vain, 16 games won the next with a copy."""
    gate = GateConfig(gate="rate", gate_games=16, gate_rate=0.55)
    found = league(RolesConfig(mains=1, role_steps=1, league_self_play=0.0, league_pfsp=1.0), gate=gate)
    assigned, won = [], {0: 0.0}
    for iteration in range(6):
        assigned.append(found.assign(iteration, 0.0, 100 * iteration))
        found.report(results(found, iteration, assigned[-1], points=lambda *_, i=iteration: won.get(i, 1.0)))
    told_of = [(i, type(event).__name__) for i, event in events(assigned, Snapshot, Kept)]
    # 16 games in each iteration, read two later: refused at 2, promoted at 3; then the new champion must be met first.
    assert told_of[:3] == [(0, "Snapshot"), (2, "Kept"), (3, "Snapshot")]


def test_a_gate_is_for_mains_and_not_for_exploiters():
    rules = role_rules(ROLES, gate=GateConfig(gate="rate"))
    assert [role.snapshot.gate.gate for role in rules.roles] == ["rate", "none", "none", "none"]


def test_a_curriculum_leads_learners_with_roles_too():
    """Where a share of the blocks meets bots, the curriculum governs all that face others: with roles, every block."""
    led = CurriculumConfig(curriculum=True, level_games=8)
    found = league(TWO, HALF_BOTS, bots=NAMES, curriculum=led)
    assigned = run(found, range(3), points=lambda place, _: 1.0 - place)
    assert set(given(assigned[0])) == {MEEK}
    assert [event for _, event in events(assigned, Own)] == [Own("main", Climbed("ace"))]
    assert [career.standing.level for career in found.state.careers] == [1, 0]


def test_who_begins_anew_begins_at_the_first_level_again():
    led = CurriculumConfig(curriculum=True, level_games=8)
    found = league(ROLES, HALF_BOTS, bots=NAMES, curriculum=led)
    careers = [replace(career, standing=Standing(2)) for career in found.state.careers]
    with_state(found, careers=tuple(careers), iteration=0)
    book = told(found.state.book, {(1, MAIN): Score(won=100)})
    with_state(found, book=book)
    assigned = found.assign(1, 0.0, 40)
    assert [event.learner for event in assigned.events if isinstance(event, Reset)] == [1]
    assert [career.standing.level for career in found.state.careers] == [2, 0, 2, 2]


def test_shares_set_by_hand_in_a_league_of_roles_hold_for_those_who_have_the_branch():
    found = league(ROLES, HALF_BOTS, bots=NAMES)
    said = found.set_shares({"self-play": 1.0}, 0.0)  # a branch of mains alone
    assert said.to_dict()["shares"] == pytest.approx({"self-play": 1.0, "pfsp": 0.0, "exploiter": 0.0, "bots": 0.0})
    again = revived(found)
    assert again.shares_at(0.0, 0) == pytest.approx([1, 0, 0, 0])
    assert again.shares_at(0.0, 1) == pytest.approx([0.25, 0.25, 0.5])
    again.set_shares({"bots": 1.0}, 0.0)
    assert {player.kind for player in given(again.assign(0, 0.0, 0))} == {"bot"}
    with pytest.raises(ConfigError, match="Did you mean 'self-play'"):
        found.set_shares({"self_play": 0.5}, 0.0)
    with pytest.raises(ConfigError, match=r"found 1\.1"):
        found.set_shares({"self-play": 0.6, "bots": 0.5}, 0.0)


PAST_MAINS = replace(ROLES, reset_to="past_main")


def test_an_exploiter_can_begin_anew_as_a_past_main_and_all_of_these_are_as_likely():
    parents = []
    for seed in range(40):
        found = league(PAST_MAINS, seed=seed)
        for number in range(3):
            with_member(found, past(number, role="main", whose=0), number)
        with_member(found, past(3, role="main_exploiter", whose=1), 3)
        with_state(found, iteration=0, snapshots=4, book=told(found.state.book, {(1, MAIN): Score(won=100)}))
        (event,) = (event for event in found.assign(1, 0.0, 40).events if isinstance(event, Reset))
        assert event.learner == 1 and event.parent is not None
        parents.append(event.parent)
        assert event.sentence() == f"main_exploiter starts over as {event.parent.name}."
    assert {player.number for player in parents} == {0, 1, 2}
    assert min(parents.count(past(number)) for number in range(3)) >= 6, "13 of each are expected"


def test_an_exploiter_that_begins_as_a_past_main_is_rated_like_it():
    found = league(PAST_MAINS)
    with_member(found, past(0, role="main", whose=0), 0)
    with_state(found, iteration=0, snapshots=1, book=told(found.state.book, {(1, MAIN): Score(won=100)}))
    book = found.state.book
    ratings = np.where(np.arange(len(book.players)) == book.roll.column[past(0)], 120.0, book.rating_M)
    with_state(found, book=replace(book, rating_M=ratings))
    found.assign(1, 0.0, 40)
    assert found.state.book.rating_M[1] == 120.0


def test_without_a_past_main_an_exploiter_begins_as_it_once_began():
    found = league(PAST_MAINS)
    with_state(found, iteration=0, book=told(found.state.book, {(1, MAIN): Score(won=100)}))
    (event,) = (event for event in found.assign(1, 0.0, 40).events if isinstance(event, Reset))
    assert event == Reset(1, "main_exploiter", None)


def test_mains_and_oracles_never_begin_as_a_past_main():
    rules = role_rules(PAST_MAINS)
    assert [role.reset.to for role in rules.roles] == ["none", "past_main", "past_main", "past_main"]
    (oracle,) = role_rules(RolesConfig(oracles=1, reset_to="past_main")).roles
    assert oracle.reset.to == "origin"


def unlike_sides(config: RolesConfig, opponents: OpponentsConfig, **more) -> League:
    """The same roles on each of two sides: predators first, then prey."""
    one = role_rules(config, opponents, **more)
    names = tuple(f"{side}_{name}" for side in ("predator", "prey") for name in one.names)
    sides = (0,) * one.learners + (1,) * one.learners
    return League.begin(replace(one, names=names, roles=one.roles * 2, sides=sides))


def test_roles_of_unlike_sides_meet_players_of_the_other_side_alone():
    """Bots that can drive the prey meet the predators; the prey meet predators instead."""
    found = unlike_sides(TWO, HALF_BOTS, bots=NAMES, fitting=((), ("meek", "ace")))
    assigned = run(found, range(12))
    kinds = set()
    for place in range(4):
        side = place // 2
        for player in met_by(assigned, place):
            assert player.kind == "bot" or player.learner // 2 == 1 - side
            kinds.add((side, player.kind))
    assert kinds == {(0, "bot"), (0, "learner"), (0, "past"), (1, "learner"), (1, "past")}


def test_an_exploiter_of_a_side_begins_anew_as_a_past_main_of_that_side():
    """The second exploiter hunts the main of the first side, and can only be what drives its own."""
    hunters = RolesConfig(mains=1, main_exploiters=1, role_steps=1000, reset_to="past_main")
    found = unlike_sides(hunters, OpponentsConfig(), fitting=((), ()))
    found.assign(0, 0.0, 0)  # the first main and the third learner, the other main, are copied
    with_state(found, book=told(found.state.book, {(3, learner(0)): Score(won=100)}))
    (event,) = (event for event in found.assign(1, 0.0, 40).events if isinstance(event, Reset))
    assert event.learner == 3 and event.parent is not None and event.parent.learner == 2


def test_a_league_of_everything_goes_on_exactly_after_an_interruption():
    def points(who, player) -> float:
        return 1.0 if player.kind == "bot" else ((packed(player) * 5 + who * 3) % 9) / 8

    opponents = mix(current="0.6 -> 0.4", shadow=0.2, bots=0.2, bot_sampler="quality", shrink=2.0)
    gate = GateConfig(gate="rate", gate_games=16, gate_rate=0.4)
    led = CurriculumConfig(curriculum=True, level_games=20, curriculum_share=Schedule.parse(0.5))
    made = {"bots": NAMES, "gate": gate, "curriculum": led, "pool_size": 8}
    whole, broken = (league(PAST_MAINS, opponents, **made) for _ in range(2))
    for found in (whole, broken):
        run(found, range(5), points)
        assert isinstance(found.add("stranger", 200, 0), Joined)
        found.set_shares({"bots": 0.3}, 0.1)
    assigned = run(whole, range(5, 40), points)
    run(broken, range(5, 17), points)
    again = revived(broken)
    for one, two in zip(assigned[12:], run(again, range(17, 40), points), strict=True):
        assert one.events == two.events and one.blocks == two.blocks
    assert to_plain(whole.state) == to_plain(again.state)
    assert events(assigned, Reset) and events(assigned, Own)
    assert any(quality(whole, (MEEK, ACE), place) != [0.0, 0.0] for place in range(4))
