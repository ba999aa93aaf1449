from itertools import permutations, product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.games import answers, kuhn, tree
from sparring.games.kuhn import Kuhn, KuhnState
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))
JACK, QUEEN, KING = range(3)
PASS, BET = range(2)


def dealt(first: int, second: int, positions: tuple[int, int] = (0, 1)) -> KuhnState:
    return KuhnState(*(jnp.array(x, jnp.int32) for x in ((first, second), positions, kuhn.START)))


def choose(one: int, two: int) -> Action:
    return Action(jnp.array([[one], [two]], jnp.int32), jnp.zeros((2, 0)))


FIRST = kuhn.kuhn(positions="fixed")
"""Seat 0 decides first."""


def row_of(features_F: np.ndarray) -> int:
    """Number of the information set that a row of features describes."""
    (found,) = np.flatnonzero((kuhn.information_rows() == features_F).all(axis=1))
    return int(found)


def table_policy(*tables: np.ndarray) -> tree.Probabilities:
    """Each seat bets as often as its table says; one table is for both."""

    def probabilities(seat: int, features_IF: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
        bet_I = tables[seat % len(tables)][[row_of(row) for row in features_IF]]
        return np.stack([1 - bet_I, bet_I], axis=1) * legal_IA

    return probabilities


def exploitability(bet_I: np.ndarray) -> float:
    return tree.policy_exploitability(FIRST, table_policy(bet_I))


def first_player_value(bet_I: np.ndarray) -> float:
    known = tree.tree_of(FIRST)
    plans = [tree.mixed_plan(known, seat, [table_policy(bet_I)], np.ones(1)) for seat in range(2)]
    return float(tree.values(known, plans)[0])


def walk(game: Kuhn, state: KuhnState, bet_I: np.ndarray) -> float:
    """What the first player earns on average from here on, by playing every continuation of the game itself."""
    seen = SEE(game, state)
    (actor,) = np.flatnonzero(seen.acting_S)
    bet = bet_I[row_of(np.asarray(seen.features_SF[actor]))]
    value = 0.0
    for choice, weight in ((PASS, 1.0 - bet), (BET, bet)):
        # The seat that does not decide asks for a bet: it must not count.
        after, step = STEP(game, state, choose(*(choice if s == actor else BET for s in range(2))))
        value += weight * (float(step.reward_S[0]) + (0.0 if step.over else walk(game, after, bet_I)))
    return value


def test_the_value_of_a_table_is_that_of_the_game_itself() -> None:
    bet_I = np.random.default_rng(0).uniform(size=12)
    walked = np.mean([walk(FIRST, dealt(*cards), bet_I) for cards in permutations(range(3), 2)])
    assert first_player_value(bet_I) == pytest.approx(walked, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1 / 3])
def test_the_known_equilibria_cannot_be_exploited_and_cost_the_first_player_an_eighteenth(alpha: float) -> None:
    assert exploitability(kuhn.equilibrium(alpha)) == pytest.approx(0.0, abs=1e-12)
    assert first_player_value(kuhn.equilibrium(alpha)) == pytest.approx(-1 / 18)


def test_bluffing_more_than_a_third_can_be_exploited() -> None:
    assert exploitability(kuhn.equilibrium(1 / 3) + 0.05 * (np.arange(12) == JACK)) > 1e-3


def test_a_coin_flipper_can_be_exploited_by_eleven_in_24() -> None:
    """Best against it, by card jack, queen, king. First: bet always, -1/2, 1/2, 3/2, mean 1/2. Second, after a pass:
    bet always, -1/2, 1/2, 3/2; after a bet: fold the jack, -1, 0, 2; together -3/4, 1/4, 7/4, mean 5/12. The value of
    the game itself cancels: (1/2 + 5/12) / 2."""
    assert exploitability(np.full(12, 0.5)) == pytest.approx(11 / 24)


@pytest.mark.parametrize(
    ("choices", "reward", "steps"),
    [
        ((PASS, PASS), 1.0, 2),  # showdown for the antes; seat 0 has the king
        ((PASS, BET, PASS), -1.0, 3),  # the first folds
        ((PASS, BET, BET), 2.0, 3),
        ((BET, PASS), 1.0, 2),  # the second folds
        ((BET, BET), 2.0, 2),
    ],
)
def test_the_five_ways_a_game_can_go(choices: tuple[int, ...], reward: float, steps: int) -> None:
    game, state = kuhn.kuhn(), dealt(KING, QUEEN)
    for number, choice in enumerate(choices, start=1):
        actor = int(np.flatnonzero(SEE(game, state).acting_S)[0])
        assert actor == (number - 1) % 2
        state, step = STEP(game, state, choose(*(choice if s == actor else PASS for s in range(2))))
        assert bool(step.over) == (number == steps)
        assert step.reward_S.tolist() == ([reward, -reward] if step.over else [0.0, 0.0])
    assert step.outcome_K.tolist() == [np.sign(reward), -np.sign(reward)]
    assert not SEE(game, state).acting_S.any()


def test_a_fold_costs_the_ante_whatever_the_cards_and_seats() -> None:
    """Seat 1 is first, bets with the jack, and seat 0 folds the king."""
    game, state = kuhn.kuhn(), dealt(KING, JACK, positions=(1, 0))
    state, _ = STEP(game, state, choose(PASS, BET))
    _, step = STEP(game, state, choose(PASS, PASS))
    assert step.reward_S.tolist() == [-1.0, 1.0]


def test_deals_are_fair_and_positions_random_or_fixed() -> None:
    keys = jax.random.split(jax.random.key(0), 600)
    deal = quick_jit(lambda game, keys: jax.vmap(game.start)(keys))
    state = deal(kuhn.kuhn(), keys)
    pairs = np.asarray(state.card_S) @ [3, 1]
    assert sorted(np.unique(pairs)) == [1, 2, 3, 5, 6, 7]
    assert np.bincount(pairs)[[1, 2, 3, 5, 6, 7]].min() > 60  # 100 expected, with a deviation of 9
    assert 0.4 < np.asarray(state.position_S)[:, 0].mean() < 0.6
    assert (np.asarray(state.position_S).sum(axis=1) == 1).all()
    fixed = deal(kuhn.kuhn(positions="fixed"), keys)
    assert (np.asarray(fixed.position_S) == [0, 1]).all()


def test_with_random_positions_the_gap_is_the_mean_of_both_seatings() -> None:
    balanced, flipper = kuhn.equilibrium(0.2), np.full(12, 0.5)
    mixed = [np.concatenate([balanced[:6], flipper[6:]]), np.concatenate([flipper[:6], balanced[6:]])]
    expected = [exploitability(bet_I) for bet_I in mixed]
    policy = table_policy(balanced, flipper)
    assert tree.policy_exploitability(kuhn.kuhn(), policy) == pytest.approx(np.mean(expected))
    assert tree.policy_exploitability(kuhn.kuhn(positions="fixed"), policy) == pytest.approx(expected[0])


def test_the_gain_of_each_seat_is_told_apart() -> None:
    """Against one who never puts anything in, the first player of alpha = 0 earns nothing and could always bet for 1;
    the second could go back to the equilibrium and gain 1/18."""
    policy = table_policy(kuhn.equilibrium(0.0), np.zeros(12))
    game = kuhn.kuhn(positions="fixed")
    np.testing.assert_allclose(answers.gains_of(game)(game, policy), [1.0, 1 / 18], atol=1e-6)


def test_a_mixture_of_policies_is_as_exploitable_as_by_all_games_of_its_members() -> None:
    """A best response earns the mean of what it earns against each member, whatever it may infer from play."""
    bet_MI, weight_M = np.random.default_rng(3).random((3, 12)) ** 3, np.array([0.5, 0.3, 0.2])
    pure = [np.array(choice, float) for choice in product((0.0, 1.0), repeat=6)]

    def earned(first_I: np.ndarray, second_I: np.ndarray) -> float:
        return first_player_value(np.concatenate([first_I, second_I]))

    best = max(weight_M @ [earned(strategy, bet_I[6:]) for bet_I in bet_MI] for strategy in pure)
    worst = min(weight_M @ [earned(bet_I[:6], strategy) for bet_I in bet_MI] for strategy in pure)
    members = [table_policy(bet_I) for bet_I in bet_MI]
    found = tree.mixture_exploitability(kuhn.kuhn(), members, weight_M)
    assert found == pytest.approx((best - worst) / 2)
    assert abs(exploitability(weight_M @ bet_MI) - found) > 0.005  # situation by situation it is another player


def test_a_member_that_never_comes_to_a_situation_says_nothing_about_it() -> None:
    """One always bets first and would fold after a pass; the equilibrium of no bluffs never bets first. Its answers
    after a pass are all that count there, so the second player gains nothing from bets that the bettor would fear."""
    bettor = np.concatenate([np.ones(3), np.zeros(3), kuhn.equilibrium(0.0)[6:]])
    same = np.concatenate([np.ones(3), kuhn.equilibrium(0.0)[3:]])
    calm = table_policy(kuhn.equilibrium(0.0))
    mixed = [
        tree.mixture_exploitability(kuhn.kuhn(), [table_policy(first), calm], np.array([0.5, 0.5]))
        for first in (bettor, same)
    ]
    assert mixed[0] == pytest.approx(mixed[1]) and mixed[0] > 0.01


def test_exploitability_follows_the_stakes_in_the_rules() -> None:
    """Ten times the ante and the bet is ten times the gain."""
    game = kuhn.kuhn()
    rich = eqx.tree_at(lambda g: g.rules, game, jax.tree.map(lambda x: 10.0 * x, game.rules))
    policy = table_policy(np.full(12, 0.5))
    assert tree.policy_exploitability(rich, policy) == pytest.approx(110 / 24)


@pytest.mark.parametrize(
    ("name", "table"),
    [("equilibrium", kuhn.equilibrium(0.0)), ("always_bet", np.ones(12)), ("always_pass", np.zeros(12))],
)
def test_bots_bet_as_often_as_their_tables_say(name: str, table: np.ndarray) -> None:
    game = kuhn.kuhn()
    bots = game.bots()
    features_IF, legal_IA = kuhn.information_rows(), np.ones((12, 2), bool)
    score = quick_jit(lambda game, *given: game.bot_scores(*given))
    logits_IA, _ = score(game, bots.table_PJ[bots.names.index(name)], jnp.array(features_IF), jnp.array(legal_IA))
    np.testing.assert_allclose(jax.nn.softmax(logits_IA, axis=1)[:, 1], table, atol=1e-6)
