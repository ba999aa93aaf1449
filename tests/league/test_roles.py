"""Whom each role meets and when it is copied, of books with given rates."""

from collections import defaultdict
from dataclasses import replace
from math import inf, nan
from typing import NamedTuple

import numpy as np
import pytest
from making import GUEST, Chosen, past, with_state
from making import prospects as prospects_of

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.seeding import Seed
from sparring.core.settings import from_dict, to_dict
from sparring.league.blocks import Draw
from sparring.league.book import Book
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.copying import put_back, verdicts
from sparring.league.draws import Table, draw_players, drawn
from sparring.league.league import League
from sparring.league.mixture import shares
from sparring.league.outlook import Outlook, forgotten
from sparring.league.player import Player
from sparring.league.role import Among
from sparring.league.roles import VERSIONS, RolesConfig, base_steps, check_roles, role_names, role_of, roles
from sparring.league.state import Rules

CONFIG = RolesConfig()
BOUND = RolesConfig(judge="bound")
PAPER = OpponentsConfig()
ROLES = ("main", "main", "main_exploiter", "league_exploiter")
LEARNERS = tuple(Player("learner", place, f"{role}_{place}", place, role=role) for place, role in enumerate(ROLES))
ME, OTHER, HUNTER, RAIDER = LEARNERS
"""Two mains, a main exploiter, a league exploiter."""
P0, P1, P2, P3 = (past(number) for number in range(4))
"""The first four past selves."""
NUMBERED = (P0, P1, P2, P3)
BASE = 100


class Rival(NamedTuple):
    """Another player as the learner knows it: the rate of its games, and how many there were."""

    player: Player
    rate: float
    games: int


class Seen(NamedTuple):
    me: Player
    rivals: tuple[Rival, ...]


def rival(player, rate=0.5, *, parent=ME, games=1000):
    """A live player or a past self of `parent`, against which the learner scored `rate` of its games."""
    mine = player.kind == "past"
    return Rival(replace(player, learner=parent.number, role=parent.role) if mine else player, rate, games)


def view(me=ME, *, live=(), past=()):
    """Of a learner in a league of itself, `live` and `past`."""
    return Seen(me, (*live, *past))


def rules_of(config=CONFIG, opponents=PAPER):
    return Rules(
        names=tuple(one.name for one in LEARNERS), roles=tuple(role_of(name, config, every=BASE) for name in ROLES),
        config=opponents, pool=PoolConfig(), curriculum=CurriculumConfig(), mirror_B=(True,), face_B=(True,),
        seed=Seed.of(0), archive=True,
    )  # fmt: skip


def outlook_of(seen, config=CONFIG, opponents=PAPER):
    players = (*LEARNERS, *(one.player for one in seen.rivals if one.player.kind != "learner"))
    book = Book.blank(players)
    for player, rate, games in seen.rivals:
        won = rate * games if 0 <= rate <= 1 else games / 2
        book.fading_LM3[seen.me.number, book.roll.column[player]] = (won, 0.0, games - won)
    met = {seen.me, *(one.player for one in seen.rivals)}
    here_LM = np.tile([player in met for player in players], (len(LEARNERS), 1))
    outlook = Outlook(rules_of(config, opponents), book, here_LM)
    for player, rate, _ in seen.rivals:
        outlook.rate_LM[seen.me.number, book.roll.column[player]] = rate  # also what no games give
    return outlook


def share_of(outlook, me=ME):
    return shares(outlook.rules.roles[me.number].branches, 0.0, bots=0)


def prospects(seen, config=CONFIG, opponents=PAPER):
    outlook = outlook_of(seen, config, opponents)
    return prospects_of(outlook, seen.me.number, share_of(outlook, seen.me))


def table_of(outlook, me, numbers) -> Table:
    """Blocks of one learner alone, with these numbers."""
    share_K, shape = share_of(outlook, me), (len(LEARNERS), len(numbers))
    share_LK, open_LB = np.zeros((len(LEARNERS), 3)), np.zeros(shape, bool)
    share_LK[me.number, : len(share_K)], open_LB[me.number] = share_K, True
    number_LB = np.tile(numbers, (len(LEARNERS), 1))
    return Table(open_LB=open_LB, number_LB=number_LB, share_LK=share_LK, progress=0.0)


def chosen(seen, branch, numbers, config=CONFIG) -> list[Draw]:
    """The draws of a branch for numbers of [0, 1)."""
    outlook, me = outlook_of(seen, config), seen.me.number
    place = [one.name for one in outlook.rules.roles[me].branches].index(branch)
    places = [(me, block) for block in range(len(numbers))]
    return list(drawn(outlook, table_of(outlook, seen.me, numbers), places, [place] * len(numbers))[0].values())


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
    ("branch", "number", "player", "probability"),
    [
        ("self-play", 0.0, ME, 1.0),
        ("self-play", 1 - 2**-53, ME, 1.0),
        ("exploiter", 0.0, ME, 1.0),  # nobody is forgotten and no exploiter is strong
        ("exploiter", 1 - 2**-53, ME, 1.0),
        ("pfsp", 0.0, P0, 0.2),
        ("pfsp", 0.1999, P0, 0.2),
        ("pfsp", 0.2001, P1, 0.8),
        ("pfsp", 1 - 2**-53, P1, 0.8),
    ],
)
def test_a_main_meets_itself_half_of_the_time_and_its_past_by_the_hard_rule_the_other_half(
    branch, number, player, probability
):
    outlook = outlook_of(view(past=FALLING))
    assert [one.name for one in outlook.rules.roles[ME.number].branches] == ["self-play", "pfsp", "exploiter"]
    assert share_of(outlook) == pytest.approx([0.35, 0.5, 0.15])
    (found,) = chosen(view(past=FALLING), branch, [number])
    assert found.player == player and found.probability == pytest.approx(probability)
    assert mix(view(past=FALLING)) == pytest.approx({("self-play", ME): 0.5, ("pfsp", P0): 0.1, ("pfsp", P1): 0.4})


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
    assert mix(view(live=(rival(ME, 0.0),), past=(rival(P0, 0.5),))) == pytest.approx(
        {("self-play", ME): 0.5, ("pfsp", P0): 0.5}
    )


def test_guests_are_met_as_past_players_but_are_nobodys_versions():
    """At 0.1 and then 0.6 versions of one main would count as forgotten."""
    first, second = replace(GUEST, born=1), replace(GUEST, number=1, born=2)
    assert mix(view(past=(Rival(first, 0.1, 1000), Rival(second, 0.6, 1000)))) == pytest.approx(
        {("self-play", ME): 0.5, ("pfsp", first): 0.5 * 81 / 97, ("pfsp", second): 0.5 * 16 / 97}
    )


# Whom exploiters meet.


@pytest.mark.parametrize(
    ("rate", "branch", "number", "player"),
    [
        (0.20, "history", 0.01, ME),
        (0.20, "history", 0.99, ME),
        (0.20, "main", 0.99, ME),
        (0.19, "history", 0.00, P0),  # half of the time; var weights 0.25 and 0.09 of 0.34
        (0.19, "history", 25 / 34 - 1e-6, P0),
        (0.19, "history", 25 / 34 + 1e-6, P1),
        (0.19, "history", 0.9999, P1),
        (0.19, "main", 0.0, ME),
        (0.19, "main", 0.9999, ME),
    ],
)
def test_a_main_exploiter_meets_the_main_and_below_its_floor_half_of_the_time_the_mains_past(
    rate, branch, number, player
):
    past = (rival(P0, 0.5), rival(P1, 0.1), rival(P2, 0.5, parent=OTHER), rival(P3, 0.5, parent=HUNTER))
    seen = view(HUNTER, live=(rival(ME, rate),), past=past)
    assert share_of(outlook_of(seen), HUNTER).tolist() == [0.5, 0.5]
    (found,) = chosen(seen, branch, [number])
    assert found.player == player


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
    assert [one.probability for one in table] == pytest.approx([1 / 9, 8 / 9])
    main = prospects(view(ME, past=past), CONFIG, OpponentsConfig(pfsp_power=3.0))
    assert [one.probability for one in main] == pytest.approx([0.5, 0.5 / 9, 4 / 9])


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
    table = prospects(seen)
    assert sum(one.probability for one in table) == pytest.approx(1.0, abs=1e-12)
    assert len({(one.player, one.branch) for one in table}) == len(table)
    expected, found = defaultdict(float), defaultdict(float)
    for one in table:
        expected[one.player] += one.probability
    outlook = outlook_of(seen)
    for branch, share in zip(
        outlook.rules.roles[seen.me.number].branches, share_of(outlook, seen.me).tolist(), strict=True
    ):
        for draw in chosen(seen, branch.name, ((np.arange(count) + 0.5) / count).tolist()):
            found[draw.player] += share / count
    assert found == pytest.approx(expected, abs=2.01 / count)


def test_blocks_are_given_players_with_these_probabilities():
    """Branches fall on 4000 blocks by an even comb, within one of their shares; players within a branch at random."""
    outlook, blocks = outlook_of(VIEWS["main"]), 4000
    able_B = (True,) * blocks
    outlook = replace(outlook, rules=replace(outlook.rules, mirror_B=able_B, face_B=able_B))
    table = table_of(outlook, ME, np.random.default_rng(1).random(blocks))
    draws, counts = draw_players(outlook, table, np.random.default_rng(0))
    assert not counts and len(draws) == blocks
    expected, found = defaultdict(float), defaultdict(float)
    for one in prospects(VIEWS["main"]):
        expected[one.player] += one.probability
    for draw in draws.values():
        found[draw.player] += 1 / blocks
    assert found == pytest.approx(expected, abs=4 * 0.5 / blocks**0.5)  # four standard errors
    # OTHER is too strong for half of self-play, and of all that is drawn only that half is the learner itself.
    assert found[ME] == pytest.approx(0.175, abs=0.03)


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
    past = tuple(rival(NUMBERED[place], rate) for place, rate in enumerate(rates))
    config = RolesConfig(judge=judge)
    for rate in (*rates[:1], 0.1):
        seen = view(me, live=[rival(player, rate) for player in live], past=past)
        table = prospects(seen, config)
        assert sum(one.probability for one in table) == pytest.approx(1.0)
        assert all(0 < one.probability <= 1 for one in table)
        known = {me, *(other.player for other in seen.rivals)}
        for branch in outlook_of(seen, config).rules.roles[me.number].branches:
            found = chosen(seen, branch.name, np.linspace(0, 1, 99, endpoint=False).tolist(), config)
            assert {draw.player for draw in found} <= known


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
    past = [rival(NUMBERED[place], rate) for place, rate in enumerate(rates)]
    table = prospects(view(me, live=(rival(ME, 0.0),), past=past), CONFIG)
    assert {one.branch for one in table} == set(expected)
    for branch, probabilities in expected.items():
        found = tuple(one.probability for one in table if one.branch == branch)
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
    versions = tuple(rival(past(place), rate) for place, rate in enumerate(rates))
    outlook = outlook_of(view(past=versions))
    among = replace(VERSIONS, forgotten=True)
    found = [outlook.book.players[column] for column in np.flatnonzero(outlook.who([among], [0], [ME.number])[0])]
    assert found == [one.player for one in versions[:kept]]
    known = np.array([rate if rate == rate else 0.5 for rate in rates])
    assert forgotten(known) == kept


# When a learner is copied, and when it begins anew.

NOT_YET = (False, False, "")


def judged(me, *, live=(), past=(), steps=0, number=0.0, config=CONFIG):
    """Whether a learner is copied this many steps after its last copy, whether it is put back then, and why."""
    outlook = outlook_of(view(me, live=live, past=past), config)
    rules = outlook.rules
    state = with_state(League.begin(rules), book=outlook.book, iteration=0).state
    found = verdicts(rules, state, outlook, steps)[me.number]
    reset = found.reset and bool(put_back(rules, state, me.number, 1, number)[1])
    assert not reset or found.snapshot
    return found.snapshot, reset, found.why


def deeds(found):
    return ("snapshot",) * found[0] + ("reset",) * found[1]


@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.parametrize(("steps", "due"), [(0, False), (99, False), (100, True), (250, True)])
def test_a_main_is_copied_by_steps_alone_and_never_begins_anew(rate, steps, due):
    found = judged(ME, live=(rival(OTHER, rate),), past=(rival(P0, rate),), steps=steps)
    assert found == ((True, False, "steps") if due else NOT_YET)


@pytest.mark.parametrize(
    ("rates", "steps", "expected"),
    [
        ((0.71, 0.71), 1, (True, True, "beat all")),
        ((0.71, 0.70), 1, NOT_YET),  # more than 70 % against each of them
        ((0.99, 0.10), 199, NOT_YET),
        ((0.10, 0.10), 200, (True, True, "steps")),
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
        ((0.71, 0.71), 1, 0.2499, (True, True, "beat all")),
        ((0.71, 0.71), 1, 0.25, (True, False, "beat all")),
        ((0.71, 0.70), 99, 0.0, NOT_YET),
        ((0.10, 0.10), 100, 0.2499, (True, True, "steps")),
        ((0.10, 0.10), 100, 0.25, (True, False, "steps")),
        ((), 99, 0.0, NOT_YET),  # nobody to beat is no victory
        ((), 100, 0.0, (True, True, "steps")),
    ],
)
def test_a_league_exploiter_that_beat_all_past_players_or_took_as_long_begins_anew_at_times(
    rates, steps, number, expected
):
    past = tuple(rival(NUMBERED[place], rate, parent=LEARNERS[place]) for place, rate in enumerate(rates))
    assert judged(RAIDER, live=(rival(ME, 0.0),), past=past, steps=steps, number=number) == expected


def test_a_main_exploiter_without_mains_waits_for_its_steps():
    assert judged(HUNTER, steps=199) == NOT_YET
    assert judged(HUNTER, steps=200) == (True, True, "steps")


def test_the_chance_to_begin_anew_can_be_set():
    never, always = RolesConfig(reset_share=0.0), RolesConfig(reset_share=1.0)
    assert deeds(judged(RAIDER, steps=100, number=0.0, config=never)) == ("snapshot",)
    assert deeds(judged(RAIDER, steps=100, number=1 - 2**-53, config=always)) == ("snapshot", "reset")


@pytest.mark.parametrize("me", LEARNERS)
def test_a_learner_is_copied_before_it_begins_anew_and_never_begins_anew_without(me):
    """Reset first, and the league would be given untrained weights: what the published pseudocode does."""
    seen = {
        deeds(judged(me, live=(rival(ME, rate),) * (me != ME), past=(rival(P0, rate),), steps=steps, number=number))
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
        "main exploiter done": judged(HUNTER, live=(met(ME, 0.8),), config=config)[0],
        "league exploiter done": judged(RAIDER, past=(met(P0, 0.8),), config=config)[0],
    }


def test_a_rate_acts_on_few_games_and_a_bound_waits_for_more():
    assert set(decisions(CONFIG, 10).values()) == {True}
    assert set(decisions(BOUND, 10).values()) == {False}


def test_with_many_games_a_bound_decides_as_the_rate_does():
    assert set(decisions(CONFIG, 1000).values()) == set(decisions(BOUND, 1000).values()) == {True}


def test_rates_and_bounds_are_of_the_last_games_and_not_of_all():
    """1000 games at 0.9 or at 0.5 count; what was before, the other way round, does not."""
    for config in (CONFIG, BOUND):
        for rate, done in ((0.9, True), (0.5, False)):
            outlook = outlook_of(view(RAIDER, past=(rival(P0, rate),)), config)
            outlook.book.count_LM3[RAIDER.number, -1] = (5000, 0, 5000) if done else (9000, 0, 1000)
            assert outlook.beaten([0.7], [RAIDER.number], [Among(("past",))]) == [done]


@pytest.mark.parametrize(
    ("won", "done", "losing"),
    [
        (79, False, False),  # of 100 games: from 0.697 to 0.865
        (80, True, False),  # from 0.708 to 0.873
        (12, False, False),  # from 0.064 to 0.2002
        (11, False, True),  # from 0.056 to 0.188
    ],
)
def test_to_win_the_lower_bound_counts_and_to_lose_the_upper_one(won, done, losing):
    live, past = (rival(ME, won / 100, games=100),), (rival(P0, 0.5),)
    assert judged(HUNTER, live=live, past=past, config=BOUND)[0] == done
    assert ("history" in branches(view(HUNTER, live=live, past=past), BOUND)) == losing


def test_without_a_game_no_bound_passes_any_mark():
    unknown = {"rate": 0.5, "games": 0}
    assert not judged(HUNTER, live=(rival(ME, **unknown),), config=BOUND)[0]
    past = (rival(P0, 0.4, games=0), rival(P1, 0.5, games=0), rival(P2, 0.0, parent=HUNTER, games=0))
    assert branches(view(past=past), BOUND) == pytest.approx({"self-play": 0.5, "pfsp": 0.5})


# Settings.


def test_mains_come_first_then_main_exploiters_then_league_exploiters():
    config = RolesConfig(mains=1, main_exploiters=1, league_exploiters=2)
    assert roles(config) == ("main", "main_exploiter", "league_exploiter", "league_exploiter")
    assert role_names(config) == ("main", "main_exploiter", "league_exploiter_0", "league_exploiter_1")
    assert roles(CONFIG) == role_names(CONFIG) == ()


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
        "reset_to": "origin",
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
    assert prospects(view(RAIDER, past=(rival(P0, 0.9),))) == (Chosen(P0, 1.0, "pfsp"),)


def test_by_rating_a_main_meets_anybody_present_or_past_whose_rating_promises_an_even_game():
    seen = view(live=(rival(OTHER),), past=(rival(P0), rival(P1)))
    outlook = outlook_of(seen, RolesConfig(mains=2, main_rule="elo_gaussian"))
    outlook.book.rating_M[:] = (100.0, 500.0, 0.0, 0.0, -300.0, 120.0)
    table = prospects_of(outlook, ME.number, share_of(outlook))
    # 400 above, 400 below and 20 above: expected points 0.5, 1/11, 10/11 and 0.4713: exp(-18 (x - 0.5)^2) = 1, 0.0493,
    # 0.0493, 0.9853.
    weight = np.array([1.0, 0.0493, 0.0493, 0.9853])
    assert {one.player for one in table} == {ME, OTHER, P0, P1} and {one.branch for one in table} == {"rated"}
    found = {one.player: one.probability for one in table}
    assert [found[player] for player in (ME, OTHER, P0, P1)] == pytest.approx(weight / weight.sum(), abs=2e-4)
