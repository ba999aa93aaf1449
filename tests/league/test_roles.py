from collections import defaultdict
from math import inf, nan

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.settings import from_dict, to_dict
from sparring.league.config import OpponentsConfig
from sparring.league.player import BOT, GUEST, PAST, RIVAL, Player
from sparring.league.roles import (
    Chosen,
    Rival,
    RolesConfig,
    Verdict,
    View,
    base_steps,
    check_roles,
    choose,
    forgotten,
    prospects,
    role_of,
    roles,
    verdict,
)
from sparring.statistics.intervals import Interval, clopper_pearson

CONFIG = RolesConfig()
BOUND = RolesConfig(judge="bound")
ME, OTHER, HUNTER, RAIDER = 0, 1, 2, 3
"""Two mains, a main exploiter, a league exploiter."""
ROLES = {ME: "main", OTHER: "main", HUNTER: "main_exploiter", RAIDER: "league_exploiter"}
P0, P1, P2, P3 = range(PAST, PAST + 4)
"""The first four past selves."""


def rival(player, rate=0.5, *, parent=ME, games=1000):
    """A live player or a past self of `parent`, against which the learner scored `rate` of its games."""
    points = rate * games if 0 <= rate <= 1 else games / 2
    kind, role = ("self", ROLES[player]) if player < PAST else ("past", ROLES[parent])
    return Rival(
        Player(id=player, name=f"p{player}", kind=kind, parent=parent, born=player, role=role),
        rate,
        clopper_pearson(points, games),
    )


def view(me=ME, *, live=(), past=()):
    """Of a learner in a league of itself, `live` and `past`."""
    return View(me, ROLES[me], (rival(me), *live), tuple(past))  # pyright: ignore[reportArgumentType]


def mix(seen, config=CONFIG):
    """(branch, player): probability."""
    return {(branch, player): probability for player, probability, branch in prospects(seen, config)}


def branches(seen, config=CONFIG):
    total = defaultdict(float)
    for (branch, _), probability in mix(seen, config).items():
        total[branch] += probability
    return dict(total)


# Whom a main meets. Past rates of 0.5 and then 0: hard weights 1/4 and 1, so 1/5 and 4/5; nothing is forgotten.

FALLING = (rival(P0, 0.5), rival(P1, 0.0))


@pytest.mark.parametrize(
    ("number", "player", "branch"),
    [
        (0.0, ME, "self-play"),  # 0.35, and 0.15 because nobody is forgotten and no exploiter is strong
        (0.4999, ME, "self-play"),
        (0.5001, P0, "pfsp"),  # a fifth of one half
        (0.5999, P0, "pfsp"),
        (0.6001, P1, "pfsp"),
        (1 - 2**-53, P1, "pfsp"),
    ],
)
def test_a_main_meets_itself_half_of_the_time_and_its_past_by_the_hard_rule_the_other_half(number, player, branch):
    (chosen,) = choose(view(past=FALLING), CONFIG, np.array([number]))
    assert (chosen.player, chosen.branch) == (player, branch)
    assert chosen.probability == pytest.approx({ME: 0.5, P0: 0.1, P1: 0.4}[player])


def test_the_fifteen_percent_go_to_all_past_main_exploiters_when_one_is_strong():
    """Rates 0.2 and 0.6: hard weights 0.64 and 0.16. One below 0.3 is enough, and then all of them are drawn from."""
    past = (rival(P0, 0.2, parent=HUNTER), rival(P1, 0.6, parent=HUNTER), rival(P2, 1.0))
    assert mix(view(past=past)) == pytest.approx(
        {
            ("self-play", ME): 0.35,
            ("pfsp", P0): 0.4,
            ("pfsp", P1): 0.1,
            ("exploiter", P0): 0.12,
            ("exploiter", P1): 0.03,
        }
    )


def test_the_fifteen_percent_go_to_forgotten_mains_when_no_exploiter_is_strong():
    """Versions at 0.8, 0.5 and 0.9: the second is forgotten. Hard weights 0.04, 0.25 and 0.01."""
    past = (rival(P0, 0.8), rival(P1, 0.5), rival(P2, 0.9))
    found = mix(view(past=past))
    assert found == pytest.approx(
        {
            ("self-play", ME): 0.35,
            ("pfsp", P0): 0.5 * 4 / 30,
            ("pfsp", P1): 0.5 * 25 / 30,
            ("pfsp", P2): 0.5 * 1 / 30,
            ("forgotten", P0): 0.15 * 4 / 29,
            ("forgotten", P1): 0.15 * 25 / 29,
        }
    )
    strong = (*past, rival(P3, 0.29, parent=HUNTER))
    assert branches(view(past=strong)) == pytest.approx({"self-play": 0.35, "pfsp": 0.5, "exploiter": 0.15})


def test_a_past_league_exploiter_is_no_past_main_exploiter():
    past = (rival(P0, 0.1, parent=RAIDER), rival(P1, 0.1, parent=RAIDER))
    assert branches(view(past=past)) == pytest.approx({"self-play": 0.5, "pfsp": 0.5})


@pytest.mark.parametrize(
    ("past", "branch"),
    [
        ((rival(P0, 0.30, parent=HUNTER),), "self-play"),
        ((rival(P0, 0.29, parent=HUNTER),), "exploiter"),
        ((rival(P0, 0.70), rival(P1, 0.71)), "self-play"),
        ((rival(P0, 0.69), rival(P1, 0.71)), "forgotten"),
        ((rival(P0, 0.10), rival(P1, 0.05)), "self-play"),  # hard to beat, yet as they should be: newer is harder
    ],
)
def test_marks_of_the_fifteen_percent_must_be_passed_not_met(past, branch):
    assert branches(view(past=past)).get(branch) == pytest.approx(0.5 if branch == "self-play" else 0.15)


def test_self_play_is_shared_by_all_mains_and_a_main_that_is_too_strong_sends_its_past():
    """OTHER at 0.3 is too strong; its versions at 0.5 and 0.9 have var weights 0.25 and 0.09."""
    past = (rival(P0, 0.9, parent=OTHER), rival(P1, 0.5, parent=OTHER), rival(P2, 0.4))
    found = mix(view(live=(rival(OTHER, 0.30),), past=past))
    assert {key: found[key] for key in found if key[0] != "pfsp"} == pytest.approx(
        {("self-play", ME): 0.25, ("history", P0): 0.25 * 9 / 34, ("history", P1): 0.25 * 25 / 34}
    )
    calm = mix(view(live=(rival(OTHER, 0.31),), past=past))
    assert {key: calm[key] for key in calm if key[0] != "pfsp"} == pytest.approx(
        {("self-play", ME): 0.25, ("self-play", OTHER): 0.25}
    )


def test_what_is_forgotten_is_asked_of_each_main_by_itself():
    """Old to new over both mains the rates rise; within each they do not. With OTHER's newer version they do."""
    past = (rival(P0, 0.4), rival(P1, 0.6, parent=OTHER))
    others = (rival(OTHER, 0.5),)
    assert branches(view(live=others, past=past)) == pytest.approx({"self-play": 0.5, "pfsp": 0.5})
    past = (*past, rival(P2, 0.8, parent=OTHER))
    found = mix(view(live=others, past=past))
    assert found["forgotten", P1] == pytest.approx(0.075)
    assert (found["self-play", ME], found["self-play", OTHER]) == pytest.approx((0.25, 0.175))


def test_a_main_too_strong_without_a_past_is_met_itself():
    found = mix(view(live=(rival(OTHER, 0.0),)))
    assert found == pytest.approx({("self-play", ME): 0.25, ("self-play", OTHER): 0.25, ("alone", ME): 0.5})


def test_nobody_is_too_strong_for_itself():
    """A rate against oneself says nothing, wherever it came from."""
    seen = View(ME, "main", (rival(ME, 0.0),), (rival(P0, 0.5),))
    assert mix(seen) == pytest.approx({("self-play", ME): 0.5, ("pfsp", P0): 0.5})


def test_bots_and_guests_are_met_as_past_players_but_are_nobodys_versions():
    """Their parent is by default the first learner; at 0.1 and then 0.6 they would count as forgotten."""
    bot = Rival(Player(id=BOT, name="bot", kind="bot"), 0.1, clopper_pearson(100, 1000))
    guest = Rival(Player(id=GUEST, name="guest", kind="guest"), 0.6, clopper_pearson(600, 1000))
    assert mix(view(past=(bot, guest))) == pytest.approx(
        {("self-play", ME): 0.5, ("pfsp", BOT): 0.5 * 81 / 97, ("pfsp", GUEST): 0.5 * 16 / 97}
    )


# Whom exploiters meet.


@pytest.mark.parametrize(
    ("rate", "number", "player", "branch"),
    [
        (0.20, 0.01, ME, "main"),
        (0.20, 0.99, ME, "main"),
        (0.19, 0.00, P0, "history"),  # half of the time; var weights 0.25 and 0.09 of 0.34
        (0.19, 0.5 * 25 / 34 - 1e-6, P0, "history"),
        (0.19, 0.5 * 25 / 34 + 1e-6, P1, "history"),
        (0.19, 0.4999, P1, "history"),
        (0.19, 0.5001, ME, "main"),
        (0.19, 0.9999, ME, "main"),
    ],
)
def test_a_main_exploiter_meets_the_main_and_below_its_floor_half_of_the_time_the_mains_past(
    rate, number, player, branch
):
    past = (rival(P0, 0.5), rival(P1, 0.1), rival(P2, 0.5, parent=OTHER), rival(P3, 0.5, parent=HUNTER))
    (chosen,) = choose(view(HUNTER, live=(rival(ME, rate),), past=past), CONFIG, np.array([number]))
    assert (chosen.player, chosen.branch) == (player, branch)


def test_a_main_exploiter_asks_for_each_main_whether_it_is_below_its_floor():
    past = (rival(P0, 0.4), rival(P1, 0.4, parent=OTHER))
    found = mix(view(HUNTER, live=(rival(ME, 0.9), rival(OTHER, 0.1), rival(RAIDER, 0.1)), past=past))
    assert found == pytest.approx({("main", ME): 0.5, ("history", P1): 0.25, ("main", OTHER): 0.25})


def test_a_main_exploiter_meets_a_main_without_a_past_whatever_its_rate():
    assert mix(view(HUNTER, live=(rival(ME, 0.0),))) == {("main", ME): 1.0}


@pytest.mark.parametrize(
    ("config", "rate", "history"),
    [
        ({"exploiter_share": 1.0}, 0.19, 1.0),  # the other readings of the paper's sentence
        ({"exploiter_share": 1.0}, 0.2, 0.0),
        ({"exploiter_floor": 1.0}, 0.99, 0.5),
        ({"exploiter_floor": 0.0}, 0.0, 0.0),
    ],
)
def test_floor_and_share_of_a_main_exploiter_can_be_set(config, rate, history):
    seen = view(HUNTER, live=(rival(ME, rate),), past=(rival(P0, 0.5),))
    assert branches(seen, RolesConfig(**config)).get("history", 0.0) == pytest.approx(history)


@pytest.mark.parametrize(
    ("rule", "weights"),
    [("pfsp_hard", (0.81, 0.25, 0.01)), ("pfsp_capped", (0.5, 0.5, 0.1))],
)
def test_a_league_exploiter_meets_all_past_players_by_its_rule(rule, weights):
    past = (rival(P0, 0.1, parent=HUNTER), rival(P1, 0.5), rival(P2, 0.9, parent=RAIDER))
    found = mix(view(RAIDER, live=(rival(ME, 0.5),), past=past), RolesConfig(league_rule=rule))
    ids = (("pfsp", P0), ("pfsp", P1), ("pfsp", P2))
    assert found == pytest.approx({key: weight / sum(weights) for key, weight in zip(ids, weights, strict=True)})


def test_the_power_of_the_hard_rule_can_be_set():
    past = (rival(P0, 0.5), rival(P1, 0.0))
    table = prospects(view(RAIDER, past=past), CONFIG, OpponentsConfig(pfsp_power=3.0))
    assert [chosen.probability for chosen in table] == pytest.approx([1 / 9, 8 / 9])
    main = prospects(view(ME, past=past), CONFIG, OpponentsConfig(pfsp_power=3.0))
    assert [chosen.probability for chosen in main] == pytest.approx([0.5, 0.5 / 9, 4 / 9])


# All of them, at the edges.

CROWD = (rival(P0, 0.2, parent=HUNTER), rival(P1, 0.6), rival(P2, 0.9), rival(P3, 0.4, parent=OTHER))
VIEWS = {
    "main": view(ME, live=(rival(OTHER, 0.2), rival(HUNTER), rival(RAIDER)), past=CROWD),
    "main with forgotten": view(ME, live=(rival(OTHER, 0.2),), past=CROWD[1:]),
    "main exploiter": view(HUNTER, live=(rival(ME, 0.1), rival(OTHER, 0.5)), past=CROWD),
    "league exploiter": view(RAIDER, live=(rival(ME, 0.1),), past=CROWD),
}


@pytest.mark.parametrize("seen", VIEWS.values(), ids=VIEWS)
def test_probabilities_are_those_with_which_players_are_chosen(seen):
    """Numbers on a fine even grid: how many fall on each choice is its probability, to the width of the grid."""
    count = 20_000
    table = prospects(seen, CONFIG)
    assert sum(chosen.probability for chosen in table) == pytest.approx(1.0, abs=1e-12)
    assert len({(chosen.player, chosen.branch) for chosen in table}) == len(table)
    hits = defaultdict(int)
    for chosen in choose(seen, CONFIG, (np.arange(count) + 0.5) / count):
        hits[chosen] += 1
    assert set(hits) == set(table)
    for chosen, found in hits.items():
        assert found / count == pytest.approx(chosen.probability, abs=1.01 / count)


def test_the_mix_of_a_main_is_the_one_that_was_set():
    seen = VIEWS["main"]
    assert branches(seen) == pytest.approx({"self-play": 0.175, "history": 0.175, "pfsp": 0.5, "exploiter": 0.15})
    config = RolesConfig(league_self_play=0.8, league_pfsp=0.2)
    assert branches(seen, config) == pytest.approx({"self-play": 0.4, "history": 0.4, "pfsp": 0.2})
    assert branches(seen, RolesConfig(league_self_play=0, league_pfsp=0)) == pytest.approx({"exploiter": 1.0})


@pytest.mark.parametrize(("me", "live"), [(ME, ()), (HUNTER, (ME,)), (RAIDER, (ME,))])
@pytest.mark.parametrize("rates", [(0.0,) * 3, (1.0,) * 3, (0.7,), (nan, nan, nan), (inf, -inf, nan), (2.0, -1.0), ()])
@pytest.mark.parametrize("judge", ["rate", "bound"])
def test_no_role_breaks_at_an_edge(me, live, rates, judge):
    past = tuple(rival(PAST + place, rate) for place, rate in enumerate(rates))
    config = RolesConfig(judge=judge)
    for rate in (*rates[:1], 0.1):
        seen = view(me, live=[rival(player, rate) for player in live], past=past)
        table = prospects(seen, config)
        assert sum(chosen.probability for chosen in table) == pytest.approx(1.0)
        assert all(0 < chosen.probability <= 1 for chosen in table)
        known = {other.player.id for other in (*seen.live, *seen.past)}
        assert {chosen.player for chosen in choose(seen, config, np.linspace(0, 1, 99, endpoint=False))} <= known


@pytest.mark.parametrize(
    ("me", "rates", "expected"),
    [
        (RAIDER, (0.0, 0.0), {"pfsp": (0.5, 0.5)}),
        (RAIDER, (1.0, 1.0), {"pfsp": (0.5, 0.5)}),  # all weights are 0, so all are alike
        (RAIDER, (nan, 0.0), {"pfsp": (0.2, 0.8)}),  # what is not known is one half
        (RAIDER, (0.9,), {"pfsp": (1.0,)}),
        (HUNTER, (0.0, 0.0), {"history": (0.25, 0.25), "main": (0.5,)}),  # var has no weights for a beginner either
        (HUNTER, (nan, 0.0), {"history": (0.5,), "main": (0.5,)}),
    ],
)
def test_weights_that_say_nothing_give_all_the_same(me, rates, expected):
    past = [rival(PAST + place, rate) for place, rate in enumerate(rates)]
    table = prospects(view(me, live=(rival(ME, 0.0),), past=past), CONFIG)
    assert {chosen.branch for chosen in table} == set(expected)
    for branch, probabilities in expected.items():
        found = tuple(chosen.probability for chosen in table if chosen.branch == branch)
        assert found == pytest.approx(probabilities)


@pytest.mark.parametrize(
    ("me", "expected"),
    [
        (ME, {("self-play", ME): 0.5, ("alone", ME): 0.5}),
        (HUNTER, {("main", OTHER): 1.0}),
        (RAIDER, {("alone", RAIDER): 1.0}),
    ],
)
def test_without_any_past_a_learner_meets_itself_and_a_main_exploiter_the_main(me, expected):
    live = (rival(OTHER, 0.1),) if me == HUNTER else ()
    assert mix(view(me, live=live)) == pytest.approx(expected)


# What is forgotten.


@pytest.mark.parametrize(
    ("rates", "kept"),
    [
        ((), 0),
        ((0.2,), 0),
        ((0.9, 0.6, 0.3), 0),  # newer is harder
        ((0.5, 0.5, 0.5), 0),  # never rises
        ((0.3, 0.6, 0.9), 2),  # the last rise is to the third
        ((0.9, 0.4, 0.8, 0.5, 0.3), 2),  # one dip, of the second
        ((0.9, 0.4, 0.4, 0.8), 3),
        ((0.2, 0.9, 0.1, 0.2), 3),  # of two rises the last counts
        ((nan, 0.4, 0.3), 0),  # one half where it is not known
        ((0.4, nan, 0.3), 1),
    ],
)
def test_what_follows_the_last_rise_is_not_forgotten(rates, kept):
    versions = tuple(rival(PAST + place, rate) for place, rate in enumerate(rates))
    assert forgotten(versions) == versions[:kept]


# When a learner is copied, and when it begins anew.

BASE = 100
NOT_YET = Verdict(False, False, "")


def judged(me, *, live=(), past=(), steps=0, number=0.0, config=CONFIG):
    return verdict(view(me, live=live, past=past), config, steps=steps, base=BASE, number=number)


@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.parametrize(("steps", "due"), [(0, False), (99, False), (100, True), (250, True)])
def test_a_main_is_copied_by_steps_alone_and_never_begins_anew(rate, steps, due):
    found = judged(ME, live=(rival(OTHER, rate),), past=(rival(P0, rate),), steps=steps)
    assert found == (Verdict(True, False, "steps") if due else NOT_YET)


@pytest.mark.parametrize(
    ("rates", "steps", "expected"),
    [
        ((0.71, 0.71), 1, Verdict(True, True, "beat all")),
        ((0.71, 0.70), 1, NOT_YET),  # more than 70 % against each of them
        ((0.99, 0.10), 199, NOT_YET),
        ((0.10, 0.10), 200, Verdict(True, True, "steps")),
        ((nan, 1.00), 1, NOT_YET),
    ],
)
@pytest.mark.parametrize("number", [0.0, 1 - 2**-53])
def test_a_main_exploiter_that_beat_all_mains_or_took_twice_as_long_always_begins_anew(rates, steps, expected, number):
    live = (rival(ME, rates[0]), rival(OTHER, rates[1]), rival(RAIDER, 0.0))
    past = (rival(P0, 0.0),)  # only the current mains count
    assert judged(HUNTER, live=live, past=past, steps=steps, number=number) == expected


@pytest.mark.parametrize(
    ("rates", "steps", "number", "expected"),
    [
        ((0.71, 0.71), 1, 0.2499, Verdict(True, True, "beat all")),
        ((0.71, 0.71), 1, 0.25, Verdict(True, False, "beat all")),
        ((0.71, 0.70), 99, 0.0, NOT_YET),
        ((0.10, 0.10), 100, 0.2499, Verdict(True, True, "steps")),
        ((0.10, 0.10), 100, 0.25, Verdict(True, False, "steps")),
        ((), 99, 0.0, NOT_YET),  # nobody to beat is no victory
        ((), 100, 0.0, Verdict(True, True, "steps")),
    ],
)
def test_a_league_exploiter_that_beat_all_past_players_or_took_as_long_begins_anew_at_times(
    rates, steps, number, expected
):
    past = tuple(rival(PAST + place, rate, parent=place) for place, rate in enumerate(rates))
    assert judged(RAIDER, live=(rival(ME, 0.0),), past=past, steps=steps, number=number) == expected


def test_a_main_exploiter_without_mains_waits_for_its_steps():
    assert judged(HUNTER, steps=199) == NOT_YET
    assert judged(HUNTER, steps=200) == Verdict(True, True, "steps")


def test_the_chance_to_begin_anew_can_be_set():
    never, always = RolesConfig(reset_share=0.0), RolesConfig(reset_share=1.0)
    assert judged(RAIDER, steps=100, number=0.0, config=never).deeds == ("snapshot",)
    assert judged(RAIDER, steps=100, number=1 - 2**-53, config=always).deeds == ("snapshot", "reset")


@pytest.mark.parametrize("me", ROLES)
def test_a_learner_is_copied_before_it_begins_anew_and_never_begins_anew_without(me):
    """Reset first, and the league would be given untrained weights: what the published pseudocode does."""
    seen = {
        judged(me, live=(rival(ME, rate),) * (me != ME), past=(rival(P0, rate),), steps=steps, number=number).deeds
        for rate in (0.1, 0.9)
        for steps in (0, 99, 100, 199, 200)
        for number in (0.0, 0.5)
    }
    assert (
        seen
        == {
            ME: {(), ("snapshot",)},
            OTHER: {(), ("snapshot",)},
            HUNTER: {(), ("snapshot", "reset")},
            RAIDER: {(), ("snapshot",), ("snapshot", "reset")},
        }[me]
    )


# Evidence. Of 10 games, 8 have bounds of 0.44 and 0.97, and 1 has 0.003 and 0.45; of 1000 they are 5 points wide.


def decisions(config, games):
    """Whether each mark is passed at a rate well beyond it."""

    def met(player, rate, parent=ME):
        return rival(player, rate, parent=parent, games=games)

    past = (met(P0, 0.1),)
    return {
        "struggling": "history" in branches(view(live=(met(OTHER, 0.1),), past=(met(P0, 0.5, OTHER),)), config),
        "strong exploiter": "exploiter" in branches(view(past=(met(P0, 0.1, HUNTER),)), config),
        "forgotten": "forgotten" in branches(view(past=(met(P0, 0.5), met(P1, 0.9))), config),
        "below the floor": "history" in branches(view(HUNTER, live=(met(ME, 0.1),), past=past), config),
        "main exploiter done": judged(HUNTER, live=(met(ME, 0.8),), config=config).snapshot,
        "league exploiter done": judged(RAIDER, past=(met(P0, 0.8),), config=config).snapshot,
    }


def test_a_rate_acts_on_few_games_and_a_bound_waits_for_more():
    assert set(decisions(CONFIG, 10).values()) == {True}
    assert set(decisions(BOUND, 10).values()) == {False}


def test_with_many_games_a_bound_decides_as_the_rate_does():
    assert set(decisions(CONFIG, 1000).values()) == set(decisions(BOUND, 1000).values()) == {True}


def test_a_bound_is_of_all_games_and_a_rate_of_the_last_ones():
    """A rate that rose to 0.9 while the interval remembers 0.5, and the other way round."""
    risen = rival(P0, 0.5)._replace(rate=0.9)
    fallen = rival(P0, 0.9)._replace(rate=0.5)
    assert judged(RAIDER, past=(risen,)).snapshot and not judged(RAIDER, past=(fallen,)).snapshot
    assert judged(RAIDER, past=(fallen,), config=BOUND).snapshot
    assert not judged(RAIDER, past=(risen,), config=BOUND).snapshot


def test_to_win_the_lower_bound_counts_and_to_lose_the_upper_one():
    def between(low, high):
        return rival(ME, 0.5)._replace(interval=Interval(0.5, low, high, 100))

    past = (rival(P0, 0.5),)
    for low, high, done, losing in (
        (0.69, 0.99, False, False),
        (0.71, 0.99, True, False),
        (0.01, 0.21, False, False),
        (0.01, 0.19, False, True),
        (nan, nan, False, False),
    ):
        seen = view(HUNTER, live=(between(low, high),), past=past)
        assert verdict(seen, BOUND, steps=0, base=BASE, number=0.0).snapshot == done
        assert ("history" in branches(seen, BOUND)) == losing


def test_without_a_game_no_bound_passes_any_mark():
    unknown = {"rate": 0.5, "games": 0}
    assert not judged(HUNTER, live=(rival(ME, **unknown),), config=BOUND).snapshot
    past = (rival(P0, 0.4, games=0), rival(P1, 0.5, games=0), rival(P2, 0.0, parent=HUNTER, games=0))
    assert branches(view(past=past), BOUND) == pytest.approx({"self-play": 0.5, "pfsp": 0.5})


# Settings.


def test_mains_come_first_then_main_exploiters_then_league_exploiters():
    config = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2)
    assert roles(config) == ("main", "main_exploiter", "league_exploiter", "league_exploiter")
    assert [role_of(config, learner) for learner in range(4)] == list(roles(config))
    assert roles(CONFIG) == ()


@pytest.mark.parametrize(("config", "total", "steps"), [({}, 5_009, 500), ({}, 3, 1), ({"role_steps": 7}, 5_000, 7)])
def test_a_main_is_copied_every_tenth_of_the_run_unless_told_otherwise(config, total, steps):
    assert base_steps(RolesConfig(**config), total) == steps


def test_the_defaults_are_allowed_and_are_those_of_the_paper_and_its_pseudocode():
    check_roles(CONFIG)
    check_roles(RolesConfig(mains=1, main_exploiters=1, league_exploiters=2))
    check_roles(RolesConfig(mains=1, league_self_play=0.7, league_pfsp=0.3))
    assert to_dict(CONFIG) == {
        "mains": 0,
        "main_exploiters": 0,
        "league_exploiters": 0,
        "role_steps": 0,
        "main_rule": "shares",
        "league_self_play": 0.35,
        "league_pfsp": 0.5,
        "struggling_below": 0.3,
        "exploiters_below": 0.3,
        "forgotten_below": 0.7,
        "exploiter_floor": 0.2,
        "exploiter_share": 0.5,
        "beaten_above": 0.7,
        "reset_share": 0.25,
        "league_rule": "pfsp_hard",
        "judge": "rate",
        "oracles": 0,
        "meta": "nash",
        "meta_games": 1024,
    }
    assert from_dict(RolesConfig, to_dict(BOUND), where="test") == BOUND


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mains": -1}, "mains must be at least 0, found -1"),
        ({"mains": 1, "main_exploiters": -1}, "main_exploiters must be at least 0"),
        ({"mains": 1, "league_exploiters": -1}, "league_exploiters must be at least 0"),
        ({"role_steps": -1}, "role_steps must be at least 0"),
        ({"main_exploiters": 1}, "found mains=0"),
        ({"league_exploiters": 2}, "found mains=0"),
        ({"league_self_play": 0.6}, "come to 1.1, more than all"),
        ({"reset_share": nan}, "reset_share must be in"),
        *(
            ({name: value}, rf"{name} must be in \[0, 1\], found {value}")
            for name, default in to_dict(CONFIG).items()
            if isinstance(default, float)
            for value in (-0.1, 1.1)
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(ConfigError, match=says):
        check_ranges(RolesConfig(**settings))
        check_roles(RolesConfig(**settings))


def test_a_choice_says_who_how_likely_and_why():
    assert choose(view(RAIDER, past=(rival(P0, 0.9),)), CONFIG, np.zeros(2)) == (Chosen(P0, 1.0, "pfsp"),) * 2


def test_by_rating_a_main_meets_anybody_present_or_past_whose_rating_promises_an_even_game():
    ids = (RIVAL, RIVAL + 1, PAST, PAST + 1)
    ratings = (0.0, 400.0, -400.0, 20.0)
    rivals = [
        Rival(Player(id=i, name=str(i), kind="rival", role="main"), 0.5, Interval(0.5, 0.0, 1.0, 0), rating)
        for i, rating in zip(ids, ratings, strict=True)
    ]
    view = View(RIVAL, "main", tuple(rivals[:2]), tuple(rivals[2:]))
    table = prospects(view, RolesConfig(mains=2, main_rule="elo_gaussian"))
    # Expected points 0.5, 1/11, 10/11 and 0.4713: exp(-18 (x - 0.5)^2) = 1, 0.0493, 0.0493, 0.9853.
    weight = np.array([1.0, 0.0493, 0.0493, 0.9853])
    assert [chosen.player for chosen in table] == list(ids) and {chosen.branch for chosen in table} == {"rated"}
    assert [chosen.probability for chosen in table] == pytest.approx(weight / weight.sum(), abs=2e-4)
