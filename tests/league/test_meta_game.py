"""PSRO without weights: meta-strategies of payoffs, whom an oracle meets, and when it is copied."""

import json
from math import nan
from typing import Any

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.seeding import Seed
from sparring.league.config import OpponentsConfig
from sparring.league.events import Counted, Reset, Snapshot
from sparring.league.meta_game import MetaStrategy, meta_strategy
from sparring.league.orders import Report, Result
from sparring.league.player import PAST, RIVAL, Player
from sparring.league.role_league import UNSOLVED, RoleLeague, role_names
from sparring.league.roles import Chosen, Rival, RolesConfig, Verdict, View, check_roles, prospects, roles, verdict
from sparring.ratings.payoff import RatingError
from sparring.statistics.intervals import clopper_pearson

ORACLE = RolesConfig(oracles=1, role_steps=100)
CIRCLE = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
"""Rock, paper, scissors."""
PACE = 40
"""Steps of an iteration: with one oracle, a copy is due every third."""


# Solvers.


def test_the_nash_meta_strategy_of_a_circle_is_thirds_and_of_unequal_prizes_is_what_each_is_worth():
    np.testing.assert_allclose(meta_strategy("nash", CIRCLE), [1 / 3] * 3)
    # With prizes a for 2 over 1, b for 1 over 3, c for 3 over 2, equal payoffs ask for weights c : b : a.
    a, b, c = 1.0, 2.0, 5.0
    prizes = np.array([[0, -a, b], [a, 0, -c], [-b, c, 0]])
    np.testing.assert_allclose(meta_strategy("nash", prizes), [5 / 8, 2 / 8, 1 / 8])


@pytest.mark.parametrize("solver", ["nash", "alpha_rank"])
def test_a_player_that_loses_to_all_is_not_in_the_mixture_but_for_the_uniform_one(solver):
    payoff_MM = np.zeros((4, 4))
    payoff_MM[1:, 1:] = CIRCLE
    payoff_MM[0, 1:], payoff_MM[1:, 0] = -0.5, 0.5
    np.testing.assert_allclose(meta_strategy(solver, payoff_MM), [0, 1 / 3, 1 / 3, 1 / 3], atol=1e-3)
    np.testing.assert_array_equal(meta_strategy("uniform", payoff_MM), [0.25] * 4)


@pytest.mark.parametrize("solver", ["nash", "alpha_rank", "uniform"])
def test_one_player_is_the_whole_mixture_and_two_equals_share_it(solver):
    np.testing.assert_allclose(meta_strategy(solver, np.zeros((1, 1))), [1.0])
    np.testing.assert_allclose(meta_strategy(solver, np.zeros((2, 2))), [0.5, 0.5])


@pytest.mark.parametrize("solver", ["nash", "alpha_rank"])
def test_payoffs_that_are_no_numbers_have_no_meta_strategy(solver):
    with pytest.raises(RatingError):
        meta_strategy(solver, np.array([[0, nan], [nan, 0]]))


def test_the_sentence_names_those_who_are_met():
    event = MetaStrategy("nash", {"past-0": 0.004, "past-5": 0.333, "past-9": 0.663})
    assert event.sentence() == "Meta-strategy now: past-5 0.33, past-9 0.66; 1 others less than 0.005."


# The role.


def past(*weights: float) -> tuple[Rival, ...]:
    """Past oracles with these weights. The learner wins against the first: rates must not matter."""
    return tuple(
        Rival(
            Player(id=PAST + n, name=f"past-{n}", kind="past", parent=RIVAL, role="oracle"),
            1.0 if n == 0 else 0.1,
            clopper_pearson(1, 10),
            weight=weight,
        )
        for n, weight in enumerate(weights)
    )


def view(*weights: float) -> View:
    return View(RIVAL, "oracle", (), past(*weights))


def test_an_oracle_meets_past_players_by_the_meta_strategy_and_nobody_else():
    assert prospects(view(0.25, 0.0, 0.75), ORACLE) == (Chosen(PAST, 0.25, "meta"), Chosen(PAST + 2, 0.75, "meta"))


def test_before_a_meta_strategy_is_known_all_are_met_alike_and_without_a_past_the_oracle_itself():
    assert prospects(view(0.0, 0.0), ORACLE) == (Chosen(PAST, 0.5, "meta"), Chosen(PAST + 1, 0.5, "meta"))
    assert prospects(view(), ORACLE) == (Chosen(RIVAL, 1.0, "alone"),)


@pytest.mark.parametrize(("steps", "done"), [(99, False), (100, True), (101, True)])
def test_an_oracle_is_copied_and_begins_anew_after_its_steps_whatever_chance_says(steps, done):
    for number in (0.0, 0.999):
        found = verdict(view(1.0), ORACLE, steps=steps, base=100, number=number)
        assert found == Verdict(done, done, "steps" if done else "")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (RolesConfig(oracles=1, mains=1), "mains and exploiters, or oracles"),
        (RolesConfig(oracles=1, league_exploiters=1), "mains and exploiters, or oracles"),
        (RolesConfig(oracles=-1), "oracles must be at least 0"),
        (RolesConfig(oracles=1, meta_games=7), "meta_games must be even"),
        (RolesConfig(oracles=1, meta_games=0), "meta_games must be at least 2"),
    ],
)
def test_leagues_of_oracles_that_cannot_be_are_refused(config, sentence):
    with pytest.raises(ConfigError, match=sentence):
        check_ranges(config)
        check_roles(config)


def test_oracles_are_named_and_make_a_league():
    assert role_names(ORACLE) == ("oracle",)
    assert role_names(RolesConfig(oracles=2)) == ("oracle_0", "oracle_1")
    assert roles(ORACLE) == ("oracle",)
    assert ORACLE.active and RolesConfig(mains=1).active and not RolesConfig().active
    check_roles(ORACLE)


# The league.


def league(config: RolesConfig = ORACLE, pool_size: int = 8) -> RoleLeague:
    return RoleLeague(config, OpponentsConfig(), pool_size, role_names(config), 4, Seed.of(5), 10**6)


def circling(older: Player, younger: Player) -> float:
    """The untrained loses to all, by 0.5; of the others each beats the one before it on a circle of three."""
    one, two = older.id - PAST, younger.id - PAST
    return -0.5 if one == 0 else float(CIRCLE[(one - 1) % 3, (two - 1) % 3])


def run(found: RoleLeague, iterations: range, earned=circling) -> list:
    """Orders of every iteration. Missing games are played before each, as in training."""
    orders = []
    for iteration in iterations:
        if found.unsolved:
            found.learn_payoffs({(one.id, two.id): earned(one, two) for one, two in found.missing()})
        orders.append(found.assign(iteration, 0.0, PACE * iteration))
        rows = [Result(b, p, 1.0, 2, 1, 0, 1) for b, p in enumerate(orders[-1].next_B.tolist())]
        found.report(Report(iteration, tuple(rows), (True,) * len(found.blocks)))
    return orders


def told(orders: list, kind: type) -> list[tuple[int, Any]]:
    return [(i, event) for i, order in enumerate(orders) for event in order.events if isinstance(event, kind)]


def test_the_untrained_oracle_is_the_first_past_player_and_each_copy_is_followed_by_a_new_beginning():
    orders = run(league(), range(10))
    assert [(i, event.player.born) for i, event in told(orders, Snapshot)] == [(0, 0), (3, 120), (6, 240), (9, 360)]
    assert [i for i, _ in told(orders, Reset)] == [3, 6, 9]
    for i in (3, 6, 9):
        kinds = [type(event) for event in orders[i].events]
        assert kinds.index(Snapshot) < kinds.index(Reset)


def test_the_meta_strategy_is_found_once_after_each_copy_and_told():
    found = league()
    orders = run(found, range(11))
    strategies = [(i, list(event.weights.values())) for i, event in told(orders, MetaStrategy)]
    assert [i for i, _ in strategies] == [1, 4, 7, 10]
    assert strategies[0][1] == [1.0]
    np.testing.assert_allclose(strategies[1][1], [0, 1])
    np.testing.assert_allclose(strategies[2][1], [0, 0, 1])
    np.testing.assert_allclose(strategies[3][1], [0, 1 / 3, 1 / 3, 1 / 3], atol=1e-9)
    assert [rival.weight for rival in found.view(0).past] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert [member.weight for member in found.members()] == pytest.approx([None, 0, 1 / 3, 1 / 3, 1 / 3])


def test_blocks_are_given_those_of_the_meta_strategy_and_a_newcomer_only_when_its_games_are_known():
    orders = run(league(), range(9))
    met = [set((order.next_B[order.changed_B] - PAST).tolist()) for order in orders]
    assert met[2] == {0}  # 1 joins at iteration 3
    assert met[4] == {1} and met[6] == {1}  # 2 joins at 6 and is not met yet, though it would be alone
    assert met[8] == {2}


def test_only_games_of_newcomers_are_missing_and_what_was_known_stays():
    found = league()
    run(found, range(7))
    before_MM = found.meta.payoff_MM
    assert [(one.id - PAST, two.id - PAST) for one, two in found.missing()] == [(0, 2), (1, 2)]
    run(found, range(7, 8))
    np.testing.assert_array_equal(found.meta.payoff_MM[:2, :2], before_MM)
    np.testing.assert_array_equal(found.meta.payoff_MM, [[0, -0.5, -0.5], [0.5, 0, -1], [0.5, 1, 0]])
    assert not found.unsolved and found.missing() == ()


def test_two_oracles_meet_the_same_mixture_and_their_copies_meet_each_other():
    found = league(RolesConfig(oracles=2, role_steps=100))
    run(found, range(1))
    assert [(one.id - PAST, two.id - PAST) for one, two in found.missing()] == [(0, 1)]
    run(found, range(1, 2), earned=lambda *_: 0.25)
    assert [[rival.weight for rival in found.view(learner).past] for learner in (0, 1)] == [[1.0, 0.0]] * 2


def test_a_meta_game_that_cannot_be_solved_is_counted_and_all_are_met_alike():
    found = league()
    orders = run(found, range(8), earned=lambda *_: nan)
    assert found.counts[UNSOLVED] == 2
    assert [(i, event.what) for i, event in told(orders, Counted)] == [(4, UNSOLVED)]
    assert found.meta.weight_M.tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("config", [RolesConfig(mains=1, role_steps=100), RolesConfig(mains=1, league_exploiters=1)])
def test_a_league_without_oracles_has_no_meta_game(config):
    found = league(config)
    run(found, range(4))
    assert not found.unsolved and not len(found.meta.weight_M)


def test_an_interrupted_league_of_oracles_decides_as_one_that_never_stopped():
    whole, broken = league(pool_size=3), league(pool_size=3)
    orders = run(whole, range(40))
    run(broken, range(17))
    revived = league(pool_size=3).restored(json.loads(json.dumps(broken.state())))
    again = run(revived, range(17, 40), earned=circling)
    for one, two in zip(orders[17:], again, strict=True):
        assert one.events == two.events
        np.testing.assert_array_equal(one.next_B, two.next_B)
    assert whole.state() == revived.state()
    assert any(isinstance(event, MetaStrategy) for order in orders[17:] for event in order.events)
