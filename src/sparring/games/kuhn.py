"""Kuhn poker: three cards, two players, an ante of 1 and at most one bet of 1 (Kuhn 1950).

The first player passes or bets; the second then passes or bets, or folds or calls; after pass and bet the first folds
or calls. One player decides at a time: the other has entry 0 alone. Letter I: the 12 information sets, in the order
(position, situation, card): first at the start, first after pass and bet, second after a pass, second after a bet; each
with jack, queen, king.
"""

from itertools import permutations, product
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.balance import SMALL
from sparring.games.cards.table import Positions, exchangeable, one_hot, rows_of, seatings
from sparring.games.game import Bots, Chance, Game

START, PASSED, BET, PASSED_BET, ENDED = range(5)
SITUATIONS = ((START, PASSED_BET), (PASSED, BET))
"""Where each position decides."""


class KuhnRules(NamedTuple):
    ante: Array
    bet: Array


class KuhnState(NamedTuple):
    card_S: Array
    """0 jack, 1 queen, 2 king; int32."""
    position_S: Array
    """0 for the seat that decides first, 1 for the other; int32."""
    history: Array
    """START, PASSED, BET, PASSED_BET or ENDED; int32."""


class Kuhn(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: KuhnRules

    def start(self, key: Array) -> KuhnState:
        key_deal, key_position = jax.random.split(key)
        card_S = jax.random.permutation(key_deal, 3)[:2].astype(jnp.int32)
        swapped = jax.random.bernoulli(key_position) if self.spec.exchangeable else jnp.zeros((), bool)
        position_S = jnp.where(swapped, jnp.array([1, 0]), jnp.array([0, 1])).astype(jnp.int32)
        return KuhnState(card_S, position_S, jnp.zeros((), jnp.int32))

    def openings(self) -> tuple[KuhnState, np.ndarray]:
        deals = list(product(permutations(range(3), 2), seatings(self.spec).tolist()))
        card_NS, position_NS = (np.array(x, np.int32) for x in zip(*deals, strict=True))
        state_N = KuhnState(*map(jnp.asarray, (card_NS, position_NS, np.zeros(len(deals), np.int32))))
        return state_N, np.full(len(deals), 1 / len(deals))

    def observe(self, state: KuhnState) -> Observation:
        acting_S = _deciding(state)
        features_SF = jax.vmap(_features, (0, 0, None))(state.card_S, state.position_S, state.history)
        legal_SA = jnp.stack([jnp.ones(2, bool), acting_S], axis=-1)
        return Observation(features_SF, legal_SA, jnp.ones(2, bool), acting_S)

    def central(self, state: KuhnState) -> Array:
        """What each seat sees, and the other's card."""
        other_S3 = one_hot(state.card_S[::-1], 3)
        return jnp.concatenate([self.observe(state).features_SF, other_S3], axis=1)

    def step(self, state: KuhnState, action: Action, chance: Chance) -> tuple[KuhnState, Step]:
        del chance
        bets = jnp.any((action.discrete_SD[:, 0] == 1) & _deciding(state))
        was = state.history
        fold = ((was == BET) | (was == PASSED_BET)) & ~bets
        call = ((was == BET) | (was == PASSED_BET)) & bets
        over = fold | call | ((was == PASSED) & ~bets)
        opened = jnp.where(was == START, jnp.where(bets, BET, PASSED), PASSED_BET)
        after = state._replace(history=jnp.where(over, ENDED, opened).astype(jnp.int32))

        folds = jnp.where(was == BET, 1, 0)
        wins_S = jnp.where(fold, state.position_S != folds, state.card_S > state.card_S[::-1])
        stake = self.rules.ante + jnp.where(call, self.rules.bet, 0.0)
        reward_S = jnp.where(over, jnp.where(wins_S, stake, -stake), 0.0)
        return after, Step(reward_S, jnp.zeros(2, bool), over, jnp.zeros((), bool), jnp.sign(reward_S))

    def bots(self) -> Bots:
        """`equilibrium` never bluffs as first player (alpha = 0); a parameter is a probability to bet."""
        table = np.stack([equilibrium(0.0), np.ones(12), np.zeros(12)])
        return Bots(("equilibrium", "always_bet", "always_pass"), jnp.array(table, float))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Log-odds of the row's probability to bet; certain choices have odds of 10^13."""
        del legal_NA
        rows = jnp.array(information_rows())
        matches_NI = jnp.sum(features_NF[:, None] * rows[None], axis=-1) > 2.5
        bet_N = jnp.sum(jnp.where(matches_NI, parameters_J, 0.0), axis=1)
        odds_N = jnp.log(jnp.maximum(bet_N, 1e-13)) - jnp.log(jnp.maximum(1.0 - bet_N, 1e-13))
        return jnp.stack([jnp.zeros_like(odds_N), odds_N], axis=-1), jnp.zeros((features_NF.shape[0], 0))


def kuhn(positions: Positions = "random") -> Kuhn:
    """Kuhn poker: three cards, two players, one bet; solved, so exploitability is exact."""
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(2,)),
        layout=(Feature("card", (3,)), Feature("position", (2,)), Feature("history", (4,))),
        central=Central("seat", 12),
        longest=3,
        shortest=2,
        exchangeable=exchangeable(positions),
        zero_sum=True,
        in_turn=True,
        score="return",
        stake=1.46,
        suits=(*SMALL, ("critic", "central"), ("anchor", 1.0), ("learning_rate", "2e-3 -> 0")),
    )
    return Kuhn(spec, KuhnRules(jnp.asarray(1.0, float), jnp.asarray(1.0, float)))


def equilibrium(alpha: float) -> np.ndarray:
    """bet_I of the Nash equilibria, one for each alpha between 0 and 1/3, the first player's bluffs with the jack."""
    first = [alpha, 0.0, 3.0 * alpha, 0.0, alpha + 1.0 / 3.0, 1.0]
    second = [1.0 / 3.0, 0.0, 1.0, 0.0, 1.0 / 3.0, 1.0]
    return np.array(first + second)


def from_open_spiel(game: Kuhn, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's information_state_tensor where a player decides.

    Its rows are the position, the card, and for each of three choices whether it was a pass or a bet.
    """
    rows_RI = rows_of(rows_RI, 11, "kuhn_poker")
    passed_RT, bet_RT = rows_RI[:, 5::2], rows_RI[:, 6::2]
    history_R = np.where(
        bet_RT[:, 0], BET, np.where(bet_RT[:, 1], PASSED_BET, np.where(passed_RT[:, 0], PASSED, START))
    )
    features_RF = np.concatenate([rows_RI[:, 2:5], rows_RI[:, :2], np.eye(4, dtype=np.float32)[history_R]], axis=1)
    return features_RF, np.ones((len(rows_RI), game.spec.action.entries), bool)


def _deciding(state: KuhnState) -> Array:
    """deciding_S: whose turn it is."""
    position = jnp.where((state.history == START) | (state.history == PASSED_BET), 0, 1)
    return (state.position_S == position) & (state.history != ENDED)


def _features(card: Array, position: Array, history: Array) -> Array:
    """Card, position and betting so far; no history is marked once the game has ended."""
    return jnp.concatenate([one_hot(card, 3), one_hot(position, 2), one_hot(history, 4)])


def information_rows() -> np.ndarray:
    """`_features` of the 12 information sets, in NumPy, so that it is a constant wherever it is used."""
    cells = [(card, p, history) for p in range(2) for history in SITUATIONS[p] for card in range(3)]
    return np.array([[*np.eye(3)[card], *np.eye(2)[p], *np.eye(4)[history]] for card, p, history in cells], np.float32)
