"""PSRO without weights: meta-strategies of payoffs, whom an oracle meets, and when it is copied."""

from math import nan
from typing import Any

import numpy as np
import pytest
from making import Chosen, all_met, given, learner, past, played, prospects, revived, role_rules, with_state

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.league.book import Book
from sparring.league.copying import put_back, verdicts
from sparring.league.events import Counted, Reset, Snapshot
from sparring.league.league import UNSOLVED, League
from sparring.league.meta_game import MetaStrategy, meta_strategy
from sparring.league.outlook import Outlook
from sparring.league.player import Player
from sparring.league.roles import RolesConfig, check_roles, role_names, roles
from sparring.ratings.payoff import RatingError

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


def outlook(*weights: float) -> Outlook:
    """Past oracles with these weights. The learner wins against the first: rates must not matter."""
    players = [past(number, role="oracle") for number in range(len(weights))]
    book = Book.blank((learner(0), *players))
    book.fading_LM3[0, 1:] = (1, 0, 9)
    book.fading_LM3[0, 1:2] = (10, 0, 0)
    here_LM = np.ones((1, len(book.players)), bool)
    return Outlook(role_rules(ORACLE), book, here_LM, weight_M=np.array([0.0, *weights]))


def met_by(*weights: float) -> tuple[Chosen, ...]:
    return prospects(outlook(*weights), 0, np.ones(1))


def test_an_oracle_meets_past_players_by_the_meta_strategy_and_nobody_else():
    assert met_by(0.25, 0.0, 0.75) == (Chosen(past(0), 0.25, "meta"), Chosen(past(2), 0.75, "meta"))


def test_before_a_meta_strategy_is_known_all_are_met_alike_and_without_a_past_the_oracle_itself():
    assert met_by(0.0, 0.0) == (Chosen(past(0), 0.5, "meta"), Chosen(past(1), 0.5, "meta"))
    assert met_by() == (Chosen(learner(0), 1.0, "alone"),)


@pytest.mark.parametrize(("steps", "done"), [(99, False), (100, True), (101, True)])
def test_an_oracle_is_copied_and_begins_anew_after_its_steps_whatever_chance_says(steps, done):
    rules, seen = role_rules(ORACLE), outlook(1.0)
    state = with_state(League.begin(rules), book=seen.book, iteration=0).state
    (found,) = verdicts(rules, state, seen, steps)
    assert (found.snapshot, found.reset, found.why) == (done, done, "steps" if done else "")
    for number in (0.0, 0.999):
        assert [type(event) for event in put_back(rules, state, 0, 1, number)[1]] == [Reset]


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


def league(config: RolesConfig = ORACLE, pool_size: int = 8) -> League:
    return League.begin(role_rules(config, pool_size=pool_size, blocks=4))


def circling(older: Player, younger: Player) -> float:
    """The untrained loses to all, by 0.5; of the others each beats the one before it on a circle of three."""
    one, two = older.number, younger.number
    return -0.5 if one == 0 else float(CIRCLE[(one - 1) % 3, (two - 1) % 3])


def run(found: League, iterations: range, earned=circling) -> list:
    """What was assigned in every iteration. Missing games are played before each, as in training."""
    assigned = []
    for iteration in iterations:
        if found.unsolved:
            found.learn_payoffs({(one, two): earned(one, two) for one, two in found.missing()})
        assigned.append(found.assign(iteration, 0.0, PACE * iteration))
        found.report(played(iteration, all_met(assigned[-1], 1, 0, 1), [True] * len(found.state.blocks)))
    return assigned


def weights(found: League, place: int = 0) -> list[float]:
    """Of all past players, as a learner sees them."""
    seen = found.outlook(place)
    assert seen.weight_M is not None
    return [float(seen.weight_M[seen.book.roll.column[player]]) for player in found.state.pool.players]


def numbers(pairs) -> list[tuple[int, int]]:
    return [(one.number, two.number) for one, two in pairs]


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
    assert weights(found) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert [member.weight for member in found.members()] == pytest.approx([None, 0, 1 / 3, 1 / 3, 1 / 3])


def test_blocks_are_given_those_of_the_meta_strategy_and_a_newcomer_only_when_its_games_are_known():
    orders = run(league(), range(9))
    met = [
        {player.number for player, new in zip(given(order), order.changed_B, strict=True) if new} for order in orders
    ]
    assert met[2] == {0}  # 1 joins at iteration 3
    assert met[4] == {1} and met[6] == {1}  # 2 joins at 6 and is not met yet, though it would be alone
    assert met[8] == {2}


def test_only_games_of_newcomers_are_missing_and_what_was_known_stays():
    found = league()
    run(found, range(7))
    before_MM = found.state.meta.payoff_MM
    assert numbers(found.missing()) == [(0, 2), (1, 2)]
    run(found, range(7, 8))
    np.testing.assert_array_equal(found.state.meta.payoff_MM[:2, :2], before_MM)
    np.testing.assert_array_equal(found.state.meta.payoff_MM, [[0, -0.5, -0.5], [0.5, 0, -1], [0.5, 1, 0]])
    assert not found.unsolved and found.missing() == ()


def test_two_oracles_meet_the_same_mixture_and_their_copies_meet_each_other():
    found = league(RolesConfig(oracles=2, role_steps=100))
    run(found, range(1))
    assert numbers(found.missing()) == [(0, 1)]
    run(found, range(1, 2), earned=lambda *_: 0.25)
    assert [weights(found, place) for place in (0, 1)] == [[1.0, 0.0]] * 2


def test_a_meta_game_that_cannot_be_solved_is_counted_and_all_are_met_alike():
    found = league()
    orders = run(found, range(8), earned=lambda *_: nan)
    assert found.state.counts[UNSOLVED] == 2
    assert [(i, event.what) for i, event in told(orders, Counted)] == [(4, UNSOLVED)]
    assert found.state.meta.weight_M.tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("config", [RolesConfig(mains=1, role_steps=100), RolesConfig(mains=1, league_exploiters=1)])
def test_a_league_without_oracles_has_no_meta_game(config):
    found = league(config)
    run(found, range(4))
    assert not found.unsolved and not len(found.state.meta.weight_M)


def test_an_interrupted_league_of_oracles_decides_as_one_that_never_stopped():
    whole, broken = league(pool_size=3), league(pool_size=3)
    orders = run(whole, range(40))
    run(broken, range(17))
    resumed = revived(broken)
    again = run(resumed, range(17, 40), earned=circling)
    for one, two in zip(orders[17:], again, strict=True):
        assert one.events == two.events
        assert one.blocks == two.blocks
    assert whole.saved() == resumed.saved()
    assert any(isinstance(event, MetaStrategy) for order in orders[17:] for event in order.events)
