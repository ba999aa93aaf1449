"""Exact answers from a game's own rules: values, best responses, and games that have none."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import GameError
from sparring.games import answers, matrix, registry, tree
from sparring.games.contract import check_game
from sparring.games.kuhn import Kuhn, KuhnState, kuhn
from sparring.games.matrix import MatrixGame, MatrixState
from sparring.games.own_parts import with_reward

PAYOFF = np.random.default_rng(7).normal(size=(2, 3, 2)) - 5.0
"""Of two seats with three and two choices; not zero-sum, and no choice pays as much as one that is not there."""


class Opened(MatrixGame):
    """A matrix game has one beginning."""

    def openings(self) -> tuple[MatrixState, np.ndarray]:
        last_NS, played_N = np.zeros((1, self.spec.seats), np.int32), np.zeros(1, np.int32)
        return MatrixState(last_NS, last_NS.astype(np.float32), played_N), np.ones(1)


def opened(game: MatrixGame) -> Opened:
    return Opened(game.spec, game.rules, game.choices, game.roles, game.scripts)


def doctored(**methods: Any) -> Kuhn:
    base = kuhn()
    return type("Doctored", (Kuhn,), methods)(base.spec, base.rules)


def uniform(_: int, __: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
    return legal_IA / legal_IA.sum(axis=1, keepdims=True)


def drawn(seat: int, features_IF: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
    """Some policy: the same probabilities wherever a seat sees the same."""
    weight_FA = np.random.default_rng(seat).normal(size=(features_IF.shape[1], legal_IA.shape[1]))
    share_IA = np.where(legal_IA, np.exp(features_IF @ weight_FA), 0.0)
    return share_IA / share_IA.sum(axis=1, keepdims=True)


def test_seats_that_choose_at_once_have_the_values_of_their_matrix() -> None:
    game = opened(matrix.matrix_game(PAYOFF))
    known = tree.tree_of(game)
    strategies = [np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])]
    given = [np.array([[0.5, 0.3, 0.2]]), np.array([[0.6, 0.4, 0.0]])]  # the second has two choices of three
    plans = [tree.plan_of(sets, given[seat]) for seat, sets in enumerate(known.sets)]
    np.testing.assert_allclose(tree.values(known, plans), np.einsum("sab,a,b->s", PAYOFF, *strategies), rtol=1e-6)
    best = [tree.best_response(known, plans, seat) for seat in range(2)]
    np.testing.assert_allclose([value for value, _ in best], matrix.best_response_values(PAYOFF, strategies), rtol=1e-6)
    assert best[0][1].tolist() == [np.argmax(PAYOFF[0] @ strategies[1])]
    assert tree.exploitability(known, plans) == pytest.approx(matrix.exploitability(PAYOFF, strategies))
    assert (known.nodes, known.weight_E.size) == (1 + 6, 6)


def test_three_seats_that_choose_at_once_have_the_values_of_their_matrix() -> None:
    payoff = np.random.default_rng(8).normal(size=(3, 2, 2, 2))
    strategies = [np.array([0.1 + 0.3 * seat, 0.9 - 0.3 * seat]) for seat in range(3)]
    found = tree.policy_exploitability(opened(matrix.matrix_game(payoff)), lambda seat, *_: strategies[seat][None])
    assert found == pytest.approx(matrix.exploitability(payoff, strategies), rel=1e-6)


def test_a_best_response_earns_what_it_promises_and_nothing_earns_more() -> None:
    game = kuhn()
    known = tree.tree_of(game)
    plans = [tree.mixed_plan(known, seat, [drawn], np.ones(1)) for seat in range(2)]
    for seat in range(2):
        promised, choice_I = tree.best_response(known, plans, seat)
        answer = tree.plan_of(known.sets[seat], np.eye(2)[choice_I])
        assert tree.values(known, [answer if s == seat else plans[s] for s in range(2)])[seat] == pytest.approx(
            promised
        )
        for number in range(20):
            other = np.random.default_rng(number).dirichlet(np.ones(2), len(choice_I))
            tried = [tree.plan_of(known.sets[seat], other) if s == seat else plans[s] for s in range(2)]
            assert tree.values(known, tried)[seat] < promised


def test_a_tree_is_grown_once_for_the_same_rules_and_anew_for_others() -> None:
    assert tree.tree_of(kuhn()) is tree.tree_of(kuhn())
    assert tree.tree_of(kuhn()) is not tree.tree_of(kuhn(positions="fixed"))
    dear = tree.tree_of(kuhn().with_rules(bet=5.0))
    assert np.abs(dear.reward_SE).max() == 6.0 and np.abs(tree.tree_of(kuhn()).reward_SE).max() == 2.0


def test_a_game_with_a_reward_of_ones_own_keeps_its_answer() -> None:
    game = with_reward(kuhn(), lambda _, action, *__: action.discrete_SD[:, 0])
    measure = answers.exploitability_of(game)
    assert measure is not None and measure(game, uniform) == pytest.approx(11 / 24)


def test_probabilities_that_are_not_masked_are_refused() -> None:
    with pytest.raises(GameError, match=r"sum to 1 in each row, found 0\.667"):
        tree.policy_exploitability(opened(matrix.matrix_game(PAYOFF)), lambda _, __, legal: np.full(legal.shape, 1 / 3))


def test_a_game_that_does_not_show_what_a_seat_did_is_refused() -> None:
    """With a memory of one round a seat does not know what it did before that."""
    with pytest.raises(GameError, match="Perfect recall: expected the same choices of its own before"):
        tree.tree_of(opened(matrix.rock_paper_scissors(rounds=3)))


def test_a_game_whose_legal_choices_do_not_show_is_refused() -> None:
    def observe(self: Kuhn, state: KuhnState) -> Any:
        seen = Kuhn.observe(self, state)
        return seen._replace(
            legal_SA=seen.legal_SA & jnp.array([True, False]) | (seen.legal_SA & (state.card_S[1] > 0))
        )

    with pytest.raises(
        GameError, match="Perfect recall: expected the same legal entries wherever seat 0 sees the same"
    ):
        tree.tree_of(doctored(observe=observe))


def test_a_tree_that_is_too_large_is_refused_before_it_is_grown(monkeypatch) -> None:
    monkeypatch.setattr(tree, "MOST_NODES", 30)
    game = kuhn().with_rules(ante=7.0)  # not among the trees that were kept
    with pytest.raises(GameError, match=r"at most 30 nodes, found 36 within 1 moves\. Choose options"):
        tree.tree_of(game)


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [
        ({"openings": lambda _: None}, "Doctored has no exact answer: override openings"),
        ({"chance": lambda _, key: key}, r"found some in chance\(\)"),
        ({"openings": lambda game: (Kuhn.openings(game)[0], np.full(12, 1 / 6))}, "sum to 1, found 2"),
    ],
)
def test_a_game_without_a_tree_says_why(methods: dict, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        tree.tree_of(doctored(**methods))


def test_a_game_that_never_ends_is_refused() -> None:
    base = kuhn()
    short = Kuhn(replace(base.spec, longest=2), base.rules)
    with pytest.raises(GameError, match="expected an end after 2 steps, found one that goes on"):
        tree.tree_of(short)


def test_the_contract_misses_an_opening_that_is_not_listed() -> None:
    def openings(self: Kuhn) -> tuple[KuhnState, np.ndarray]:
        state, weight_N = jax.tree.map(np.asarray, Kuhn.openings(self))
        keep = state.card_S[:, 0] < 2  # seat 0 never has the king
        return KuhnState(*(x[keep] for x in state)), weight_N[keep] / weight_N[keep].sum()

    with pytest.raises(GameError, match="Openings: expected every start among those of openings"):
        check_game(doctored(openings=openings), worlds=8, games=1, eager=False)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_the_stake_of_a_game_is_what_random_play_wins_or_loses_in_it(name):
    """The root mean square over all ends of the game but draws. Who is first changes nothing of it."""
    game = registry.make(name, positions="fixed")
    known = tree.tree_of(game)
    uniform = [tree.plan_of(sets, sets.legal_IA / sets.legal_IA.sum(1, keepdims=True)) for sets in known.sets]
    reach_E = np.prod([plan[places] for plan, places in zip(uniform, known.sequence_SE, strict=True)], axis=0)
    chance_E = known.weight_E * reach_E
    decided_E = np.where(known.reward_SE[0] != 0.0, chance_E, 0.0)
    usual = np.sqrt(decided_E @ known.reward_SE[0] ** 2 / decided_E.sum())
    assert game.spec.rated_by_return and game.spec.stake == pytest.approx(usual, abs=0.005)


class Thrown(MatrixGame):
    """A matrix game whose start says nothing of chance, written as a newcomer would: without openings()."""

    lucky: bool = False

    def start(self, key):
        state = super().start(key)
        return state._replace(played=state.played * 0 + jax.random.randint(key, (), 0, 1)) if self.lucky else state


def thrown(*, lucky: bool = False, rounds: int = 1) -> Thrown:
    game = matrix.rock_paper_scissors(rounds)
    return Thrown(game.spec, game.rules, game.choices, game.roles, game.scripts, lucky)


def test_a_game_of_one_step_without_chance_is_answered_though_nobody_lists_its_start():
    game = thrown()
    opened_at = game.openings()
    assert opened_at is not None and opened_at[1].tolist() == [1.0]
    rock = np.array([[1.0, 0.0, 0.0]])
    assert tree.policy_exploitability(game, lambda *_: rock) == pytest.approx(1.0)
    assert thrown(lucky=True).openings() is None, "chance at the start"
    assert thrown(rounds=2).openings() is None, "more than one step"
    assert registry.make("probe:bandit").openings() is None, "nobody to answer"


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("kuhn", 2.0),  # an ante and a bet
        ("matrix:rock_paper_scissors", 1.0),
        ("matrix:prisoners_dilemma", 4.0),  # 5 for each at most; both always have 1 at least
        ("tic_tac_toe", 1.0),
        ("particles:tag", None),
    ],
)
def test_the_largest_exploitability_is_what_a_game_pays_at_most(name: str, largest: float | None) -> None:
    assert answers.largest_exploitability(registry.make(name)) == largest


def test_what_is_paid_on_the_way_counts_for_the_largest_exploitability() -> None:
    """Two rounds of the prisoner's dilemma: 10 for each at most, and both always have 2 at least."""
    payoff = np.array([[[3.0, 0.0], [5.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]]])
    game = matrix.matrix_game(payoff, rounds=2)
    assert tree.largest_exploitability(opened(game)) == matrix.largest_exploitability(game) == 8.0
