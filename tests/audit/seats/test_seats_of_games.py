"""Unfair games are found by the level that must find them, with a trace; fair ones are not accused."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from grab import Keyed, grab

from sparring.audit.seats import differences, exact, returns
from sparring.audit.seats.audit import Asked, audit_seats
from sparring.audit.seats.claims import claimed, group_of, orders_of, pairs_of
from sparring.audit.seats.levels import ALPHA, LEVELS
from sparring.audit.seats.probes import players_of
from sparring.audit.seats.starts import start_faults
from sparring.core.errors import ConfigError
from sparring.games import registry
from sparring.games.social.coin import coin


def test_a_fair_game_agrees_in_every_exchange():
    found = exact.exact(grab())
    assert found.finding.outcome == "PASS", found.finding.evidence
    # Four probes, 16 worlds, 6 steps, the five orders of three seats that move somebody.
    assert found.finding.numbers["compared"] == 4 * 16 * 6 * 5
    assert len(found.fair) == 4


@pytest.mark.parametrize(
    ("wrong", "leaf"),
    [({"first_wins": 1}, "step.reward_S"), ({"bonus": 0.001}, "step.reward_S"), ({"blind": 1}, "seen.features_SF")],
    ids=str,
)
def test_a_favour_is_found_with_the_shortest_way_to_it(wrong, leaf):
    finding = exact.exact(grab(**wrong)).finding
    assert finding.outcome == "FAIL" and finding.numbers["leaves"] == [leaf]
    trace = finding.numbers["trace"]
    assert trace["step"] == 1, "nothing hides it from the first step on"
    assert sum(place != seat for place, seat in enumerate(trace["order"])) == 2, "two seats that change places"


def test_a_head_start_is_no_fault_of_the_rules_but_of_the_start():
    finding = exact.exact(grab(head_start=0.2)).finding
    assert finding.outcome == "FAIL" and "trace" not in finding.numbers
    assert "start, luck_S[0] is not drawn alike with seat_0 as seat_1, seat_1 as seat_0" in finding.evidence


def test_numbers_that_only_go_together_for_some_seats_are_found_though_each_is_drawn_alike():
    (sentence, *_) = start_faults(grab(twins=1), teams=())
    assert sentence.startswith("Of 2048 games, start, luck_S[0] together with luck_S[1] is not drawn alike with seat_1")
    assert start_faults(grab(twins=1), teams=[(0, 1, 2)]) == [], "a team that is paid alike has places of its own"


def test_two_pilots_of_a_side_are_a_team_though_all_four_are_alike():
    assert exact.possible_teams(registry.make("dogfight:2v2")) == [(0, 1), (0, 1, 2, 3), (2, 3)]
    assert exact.possible_teams(registry.make("stag_hunt")) == [(0, 1, 2, 3)], "each for itself: only all of them"


def test_late_steps_are_looked_at_and_the_first_ones_all():
    assert list(exact.looked_at(6)) == list(range(6))
    steps = exact.looked_at(1800)
    assert len(steps) == exact.STEPS and list(steps[:32]) == list(range(32)) and steps[-1] == exact.FARTHEST - 1


def judged(game, *leaves):
    traces = [exact.Trace("random", 0, 0, 1, (1, 0, 2), leaf, "1", "2") for leaf in leaves]
    return exact.judged(game, traces, [], 0.0, 6, 1)


def test_what_one_key_decides_for_all_and_the_order_of_a_list_are_open_questions_and_no_faults():
    fair = grab()
    keyed = Keyed(fair.spec, fair.rules)
    found = judged(keyed, "after.prize")
    assert found.outcome == "UNDECIDED" and "rests on chance.key" in found.meaning
    assert judged(keyed, "step.reward_S").outcome == "FAIL", "the reward of a step is no matter of that key"
    assert judged(keyed, "after.prize", "step.reward_S").outcome == "FAIL"
    assert judged(fair, "after.prize").outcome == "FAIL", "and here there is none"
    assert judged(fair, exact.VIEW).outcome == "UNDECIDED" and "lists='others'" in judged(fair, exact.VIEW).remedy
    assert judged(fair, exact.VIEW, exact.LISTED).outcome == "FAIL", "what is seen differs, in whatever order"


def played(game, *, games, batch=32, seed=0, names=None):
    players, casts = players_of(game)
    casts = [cast for cast in casts if names is None or cast[0] in names]
    play = returns.match_player(game, players, casts, batch=batch, seed=seed)
    return returns.compare(game.spec, play, returns.Budget(games=games, seconds=60.0, batch=batch))


def test_games_show_who_is_paid_more_and_stop_there():
    found = played(grab(first_wins=1), games=4096, batch=64)
    finding = differences.judged(grab().spec.seat_names, found)
    assert finding.outcome == "FAIL" and finding.numbers["games"] < 1000
    means = np.asarray(finding.numbers["means"]["random"])
    # Seat 0 has the prize whenever it grabs, one step in two; seat 1 one in four, seat 2 one in eight.
    assert means[0] > means[1] > means[2]


def test_fair_games_end_within_the_margin_or_say_how_many_are_missing():
    seen = replace(played(grab(), games=512, batch=64), seconds=10.0)
    finding = differences.judged(grab().spec.seat_names, seen)
    assert finding.outcome == "UNDECIDED" and finding.numbers["more_games"] > 0
    games = finding.numbers["games"] + finding.numbers["more_games"]
    assert f"--games {games} --seconds {ceil(12 * games / 512)}." in finding.remedy, "else time would stop it as before"


def test_the_old_rule_of_the_coin_game_is_found_in_a_few_hundred_games_of_random_play():
    """One look at 70 games has a power of 80 % at 5 %. Evidence that may be looked at always, at 1 %, takes more."""
    game = claimed(coin(tie="first"), ("all",))
    found = played(game, games=512, names=("random",))
    assert min(found.p_values) < ALPHA
    assert found.worst.mean == pytest.approx(3.8, abs=2.0), "red earns 1.9 and blue loses as much"


def test_who_is_alike_must_be_said_where_a_game_says_nothing():
    with pytest.raises(ConfigError, match="--alike red,blue"):
        claimed(coin(tie="first"))
    with pytest.raises(ConfigError, match="No seat 'green'"):
        claimed(coin(), ("red,green",))
    with pytest.raises(ConfigError, match="names 1 seat"):
        claimed(coin(), ("red",))
    assert group_of(coin().spec, "blue,0") == (0, 1)


def test_orders_are_all_those_that_the_seats_allow():
    orders = [tuple(order) for order in orders_of(grab().spec)]
    assert len(orders) == len(set(orders)) == 5 and (0, 1, 2) not in orders
    assert pairs_of(grab().spec) == [((0,), (1,)), ((0,), (2,)), ((1,), (2,))]


def test_an_audit_of_a_game_alone_says_what_it_did_not_ask():
    budget = returns.Budget(games=128, seconds=60.0, batch=64)
    audit = audit_seats(Asked(game=grab(), budget=budget, subject="grab"))
    outcome = {one.level: one.outcome for one in audit.findings}
    assert list(outcome) == list(LEVELS) and outcome["L1"] == "PASS" and outcome["L2"] == "UNDECIDED"
    assert {level for level, one in outcome.items() if one == "SKIPPED"} == {"L3", "L4", "L5", "L6", "L7", "L8"}
    assert audit.verdict == "SYMMETRIC GAME" and audit.code == 5 and len(audit.pictures) == 2
    assert audit.facts["seats that should be alike"] == "seat_0, seat_1, seat_2"


def test_where_places_are_dealt_out_anew_a_rule_keeps_its_favourite_and_a_start_does_not():
    for wrong, where in (({"first_wins": 1}, "the rules name it"), ({"head_start": 2.0}, "where a seat begins")):
        game, budget = grab(**wrong), returns.Budget(games=1024, seconds=60.0, batch=64)
        players, casts = players_of(game)
        found = played(game, games=1024, batch=64)
        assert min(found.p_values) < ALPHA
        assert where in returns.name_or_place(game, players, found, casts, budget)
