"""Kuhn poker: three cards, two players, an ante of 1 and at most one bet of 1 (Kuhn 1950).

The first player passes or bets; the second then passes or bets, or folds or calls; after pass and bet the first folds
or calls. One player decides at a time: the other has entry 0 alone. Letter I: the 12 information sets, in the order
(position, situation, card): first at the start, first after pass and bet, second after a pass, second after a bet; each
with jack, queen, king.
"""

from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Bots, Chance, Game

Probabilities = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""(seat, features_IF, legal_IA) -> probability_IA."""

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

    def observe(self, state: KuhnState) -> Observation:
        acting_S = _deciding(state)
        features_SF = jax.vmap(_features, (0, 0, None))(state.card_S, state.position_S, state.history)
        legal_SA = jnp.stack([jnp.ones(2, bool), acting_S], axis=-1)
        return Observation(features_SF, legal_SA, jnp.ones(2, bool), acting_S)

    def central(self, state: KuhnState) -> Array:
        """What each seat sees, and the other's card."""
        other_S3 = _one_hot(state.card_S[::-1], 3)
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
        rows = jnp.array(_information_rows())
        matches_NI = jnp.sum(features_NF[:, None] * rows[None], axis=-1) > 2.5
        bet_N = jnp.sum(jnp.where(matches_NI, parameters_J, 0.0), axis=1)
        odds_N = jnp.log(jnp.maximum(bet_N, 1e-13)) - jnp.log(jnp.maximum(1.0 - bet_N, 1e-13))
        return jnp.stack([jnp.zeros_like(odds_N), odds_N], axis=-1), jnp.zeros((features_NF.shape[0], 0))


def kuhn(positions: Literal["random", "fixed"] = "random") -> Kuhn:
    """Kuhn poker: three cards, two players, one bet; solved, so exploitability is exact."""
    if positions not in ("random", "fixed"):
        raise ConfigError(f"positions is 'random' or 'fixed', found {positions!r}: fixed lets seat 0 decide first.")
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(2,)),
        layout=(Feature("card", (3,)), Feature("position", (2,)), Feature("history", (4,))),
        central=Central("seat", 12),
        longest=3,
        shortest=2,
        exchangeable=((0, 1),) if positions == "random" else (),
        zero_sum=True,
        score="return",
    )
    return Kuhn(spec, KuhnRules(jnp.asarray(1.0, float), jnp.asarray(1.0, float)))


def equilibrium(alpha: float) -> np.ndarray:
    """bet_I of the Nash equilibria, one for each alpha between 0 and 1/3, the first player's bluffs with the jack."""
    first = [alpha, 0.0, 3.0 * alpha, 0.0, alpha + 1.0 / 3.0, 1.0]
    second = [1.0 / 3.0, 0.0, 1.0, 0.0, 1.0 / 3.0, 1.0]
    return np.array(first + second)


def first_player_value(bet_I: np.ndarray, *, ante: float = 1.0, bet: float = 1.0) -> float:
    """What the first player earns on average where both play by the table; -1/18 at every equilibrium."""
    return float(_value(np.asarray(bet_I)[:6], np.asarray(bet_I)[6:], ante, bet))


def exploitability(bet_I: np.ndarray, *, ante: float = 1.0, bet: float = 1.0) -> float:
    """NashConv / 2 of a table of probabilities to bet (or call): the mean of what the two players could gain.

    Exact: the best of the 64 pure strategies of each position. Betting half the time everywhere gives 11/24.
    """
    first_I, second_I = np.split(np.asarray(bet_I, float), 2)
    present = _value(first_I, second_I, ante, bet)
    pure = [np.array(choice, float) for choice in product((0.0, 1.0), repeat=6)]
    best_first = max(_value(strategy, second_I, ante, bet) for strategy in pure)
    worst_for_first = min(_value(first_I, strategy, ante, bet) for strategy in pure)
    return float((best_first - present + present - worst_for_first) / 2.0)


def _value(first: np.ndarray, second: np.ndarray, ante: float, bet: float) -> float:
    """Mean over the six deals of what the first player earns; rows as in I, six for each position."""
    total = 0.0
    for mine, theirs in permutations(range(3), 2):
        sign = 1.0 if mine > theirs else -1.0
        opens, calls = first[mine], first[3 + mine]
        bluffs, sees = second[theirs], second[3 + theirs]
        after_bet = sees * sign * (ante + bet) + (1.0 - sees) * ante
        after_raise = calls * sign * (ante + bet) - (1.0 - calls) * ante
        after_pass = bluffs * after_raise + (1.0 - bluffs) * sign * ante
        total += opens * after_bet + (1.0 - opens) * after_pass
    return total / 6.0


def information_sets(game: Kuhn) -> tuple[np.ndarray, np.ndarray]:
    """features_IF and legal_IA of the 12 information sets, in the order of a table."""
    return _information_rows(), np.ones((12, game.spec.action.entries), bool)


def policy_exploitability(game: Kuhn, probabilities: Probabilities) -> float:
    """NashConv / 2 of a policy, exact: it is asked once for every information set of each seat.

    With random positions each seat is first half of the time, and a deviation may differ by position: the gap is the
    mean over the two ways to sit.
    """
    features_IF, legal_IA = information_sets(game)
    bet_SI = np.stack([np.asarray(probabilities(s, features_IF, legal_IA))[:, 1] for s in range(2)]).astype(float)
    stakes = {"ante": float(game.rules.ante), "bet": float(game.rules.bet)}
    seatings = ((0, 1), (1, 0)) if game.spec.exchangeable else ((0, 1),)
    tables = [np.concatenate([bet_SI[first][:6], bet_SI[second][6:]]) for first, second in seatings]
    return float(np.mean([exploitability(bet_I, **stakes) for bet_I in tables]))


def mixture_exploitability(game: Kuhn, members: Sequence[Probabilities], weight_M: np.ndarray) -> float:
    """NashConv / 2 of a player that draws one of these policies before each game, exact.

    Where a policy comes to decide by what it did before, it counts by how likely it came there: only a first player
    that passed decides once more. With perfect memory the mixture is that one behaviour (Kuhn 1953).
    """

    def mixed(seat: int, features_IF: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
        bet_MI = np.stack([np.asarray(member(seat, features_IF, legal_IA))[:, 1] for member in members]).astype(float)
        share_MI = np.broadcast_to(np.asarray(weight_M, float)[:, None], bet_MI.shape).copy()
        share_MI[:, 3:6] *= 1.0 - bet_MI[:, :3]
        total_I = share_MI.sum(axis=0)
        bet_I = (share_MI * bet_MI).sum(axis=0) / np.where(total_I > 0.0, total_I, 1.0)  # 0 where nobody ever comes
        return np.stack([1.0 - bet_I, bet_I], axis=1)

    return policy_exploitability(game, mixed)


def _deciding(state: KuhnState) -> Array:
    """deciding_S: whose turn it is."""
    position = jnp.where((state.history == START) | (state.history == PASSED_BET), 0, 1)
    return (state.position_S == position) & (state.history != ENDED)


def _one_hot(value: Array, size: int) -> Array:
    return (value[..., None] == jnp.arange(size)).astype(float)


def _features(card: Array, position: Array, history: Array) -> Array:
    """Card, position and betting so far; no history is marked once the game has ended."""
    return jnp.concatenate([_one_hot(card, 3), _one_hot(position, 2), _one_hot(history, 4)])


def _information_rows() -> np.ndarray:
    """`_features` of the 12 information sets, in NumPy, so that it is a constant wherever it is used."""
    cells = [(card, p, history) for p in range(2) for history in SITUATIONS[p] for card in range(3)]
    return np.array([[*np.eye(3)[card], *np.eye(2)[p], *np.eye(4)[history]] for card, p, history in cells], np.float32)
