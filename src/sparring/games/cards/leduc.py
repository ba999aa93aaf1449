"""Leduc hold'em: six cards, two rounds of betting, one public card between them (Southey et al. 2005).

Two jacks, two queens, two kings. Both pay an ante of 1 and get a card. A choice is to fold, to call (or check) or to
raise by 2, in the second round by 4; two raises a round at most, and who is first begins both. A pair with the public
card wins, else the higher rank. Rules and numbers of choices are those of OpenSpiel. Letters: R rounds, B choices of a
round; elsewhere R rows.
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
from sparring.games.balance import HIDDEN
from sparring.games.cards.table import Positions, exchangeable, one_hot, rows_of, seated, seatings
from sparring.games.game import Bots, Chance, Game

CARDS = 6
"""Card c has rank c // 2: jack, queen, king."""
FOLD, CALL, RAISE = range(3)
MOST_RAISES = 2
MOST_CHOICES = 4
"""Of a round: check, raise, raise, call."""
LAYOUT = (
    Feature("position", (2,)),
    Feature("card", (CARDS,)),
    Feature("public", (CARDS,)),
    Feature("bets", (2, MOST_CHOICES, 2)),
)
"""As OpenSpiel's information_state_tensor; a bet is a call or a raise."""


class LeducRules(NamedTuple):
    ante: Array
    first_raise: Array
    second_raise: Array


class LeducState(NamedTuple):
    card_S: Array
    position_S: Array
    """0 for the seat that decides first, 1 for the other; int32."""
    public: Array
    """Dealt at the start, shown in the second round."""
    choice_RB: Array
    """CALL or RAISE, 0 where none was made; int32."""
    paid_S: Array
    over: Array


class Leduc(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: LeducRules

    def start(self, key: Array) -> LeducState:
        key_deal, key_position = jax.random.split(key)
        dealt = jax.random.permutation(key_deal, CARDS).astype(jnp.int32)
        paid_S, choice_RB = jnp.broadcast_to(self.rules.ante, (2,)), jnp.zeros((2, MOST_CHOICES), jnp.int32)
        position_S = seated(self.spec, key_position)
        return LeducState(dealt[:2], position_S, dealt[2], choice_RB, paid_S, jnp.zeros((), bool))

    def openings(self) -> tuple[LeducState, np.ndarray]:
        deals = list(product(permutations(range(CARDS), 3), seatings(self.spec).tolist()))
        card_N3, position_NS = (np.array(x, np.int32) for x in zip(*deals, strict=True))
        count, ante = len(deals), np.asarray(self.rules.ante)
        blank = (np.zeros((count, 2, MOST_CHOICES), np.int32), np.full((count, 2), ante), np.zeros(count, bool))
        state_N = LeducState(*map(jnp.asarray, (card_N3[:, :2], position_NS, card_N3[:, 2], *blank)))
        return state_N, np.full(count, 1 / count)

    def observe(self, state: LeducState) -> Observation:
        second, made, raises = _betting(state.choice_RB)
        acting_S = _deciding(state, made)
        shown = jnp.where(second, state.public, -1)
        bets_RB2 = one_hot(state.choice_RB - CALL, 2)

        def features(position: Array, card: Array) -> Array:
            return jnp.concatenate(
                [one_hot(position, 2), one_hot(card, CARDS), one_hot(shown, CARDS), bets_RB2.reshape(-1)]
            )

        behind_S = state.paid_S < jnp.max(state.paid_S)
        legal_SA = jnp.stack([~acting_S | behind_S, acting_S, acting_S & (raises < MOST_RAISES)], axis=1)
        features_SF = jax.vmap(features)(state.position_S, state.card_S)
        return Observation(features_SF, legal_SA, jnp.ones(2, bool), acting_S)

    def central(self, state: LeducState) -> Array:
        """What each seat sees, the other's card, and the public one before it is shown."""
        hidden_SX = jnp.concatenate(
            [one_hot(state.card_S[::-1], CARDS), one_hot(state.public[None].repeat(2), CARDS)], 1
        )
        return jnp.concatenate([self.observe(state).features_SF, hidden_SX], axis=1)

    def step(self, state: LeducState, action: Action, chance: Chance) -> tuple[LeducState, Step]:
        del chance
        second, made, _ = _betting(state.choice_RB)
        acting_S = _deciding(state, made)
        choice = jnp.sum(jnp.where(acting_S, action.discrete_SD[:, 0], 0))
        fold, rise = choice == FOLD, jnp.where(second, self.rules.second_raise, self.rules.first_raise)
        stake = jnp.max(state.paid_S) + jnp.where(choice == RAISE, rise, 0.0)
        paid_S = jnp.where(acting_S & ~fold, stake, state.paid_S)
        here_RB = (jnp.arange(2) == second)[:, None] & (jnp.arange(MOST_CHOICES) == made)
        choice_RB = jnp.where(here_RB, choice, state.choice_RB).astype(jnp.int32)
        over = fold | (second & (choice == CALL) & (made > 0))

        rank_S = state.card_S // 2
        strength_S = rank_S + 3 * (rank_S == state.public // 2)
        ahead_S = jnp.where(fold, jnp.where(acting_S, -1, 1), jnp.sign(strength_S - strength_S[::-1]))
        reward_S = jnp.where(over, ahead_S * jnp.min(paid_S), 0.0)
        after = state._replace(choice_RB=choice_RB, paid_S=paid_S, over=over)
        return after, Step(reward_S, jnp.zeros(2, bool), over, jnp.zeros((), bool), jnp.sign(reward_S))

    def bots(self) -> Bots:
        """What each does with a jack, a queen, a king and a pair: tight folds the jack, loose never folds, a bluffer
        raises with a jack as with a pair. Who cannot raise calls, who need not fold checks."""
        habits = {
            "always_call": (CALL, CALL, CALL, CALL),
            "always_raise": (RAISE, RAISE, RAISE, RAISE),
            "tight": (FOLD, CALL, RAISE, RAISE),
            "loose": (CALL, RAISE, RAISE, RAISE),
            "bluffer": (RAISE, CALL, CALL, RAISE),
        }
        return Bots(tuple(habits), jnp.array(list(habits.values()), float))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """The nearer to what the hand asks for, the better: anything else happens once in 10^13."""
        card_N3, public_N3 = (features_NF[:, a : a + CARDS].reshape(-1, 3, 2).sum(-1) for a in (2, 2 + CARDS))
        pair_N = jnp.sum(card_N3 * public_N3, axis=1)
        habit_N = jnp.where(pair_N > 0.5, parameters_J[3], jnp.sum(card_N3 * parameters_J[:3], axis=1))
        logits_NA = -30.0 * jnp.abs(jnp.arange(3) - habit_N[:, None])
        return logits_NA, jnp.zeros((legal_NA.shape[0], 0))


def leduc(positions: Positions = "random") -> Leduc:
    """Leduc poker: six cards, two rounds of betting; small enough that exploitability is exact."""
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(3,)),
        layout=LAYOUT,
        central=Central("seat", sum(block.size for block in LAYOUT) + 2 * CARDS),
        longest=2 * MOST_CHOICES,
        shortest=2,
        exchangeable=exchangeable(positions),
        zero_sum=True,
        in_turn=True,
        score="return",
        stake=4.7,
        suits=HIDDEN,
    )
    return Leduc(spec, LeducRules(*(jnp.asarray(amount, float) for amount in (1.0, 2.0, 4.0))))


def from_open_spiel(game: Leduc, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's information_state_tensor where a player decides."""
    features_RF = rows_of(rows_RI, game.spec.features, "leduc_poker")
    public_RC, bets_RX = features_RF[:, 2 + CARDS : 2 + 2 * CARDS], features_RF[:, 2 + 2 * CARDS :]
    bets_RRB2 = bets_RX.reshape(-1, 2, MOST_CHOICES, 2)
    now_RB2 = np.where(public_RC.sum(axis=1, keepdims=True)[..., None] > 0.0, bets_RRB2[:, 1], bets_RRB2[:, 0])
    made_R, raises_R = now_RB2.sum(axis=(1, 2)).astype(int), now_RB2[..., 1].sum(axis=1)
    behind_R = now_RB2[np.arange(len(made_R)), made_R - 1, 1] > 0.0
    return features_RF, np.stack([behind_R, np.ones(len(made_R), bool), raises_R < MOST_RAISES], axis=1)


def _betting(choice_RB: Array) -> tuple[Array, Array, Array]:
    """Whether this is the second round, and how many choices and how many raises it has seen."""
    made_R = jnp.sum(choice_RB > 0, axis=1)
    ended = (made_R[0] >= 2) & (jnp.sum(jnp.where(jnp.arange(MOST_CHOICES) == made_R[0] - 1, choice_RB[0], 0)) == CALL)
    raises_R = jnp.sum(choice_RB == RAISE, axis=1)
    return ended, jnp.where(ended, made_R[1], made_R[0]), jnp.where(ended, raises_R[1], raises_R[0])


def _deciding(state: LeducState, made: Array) -> Array:
    """deciding_S: whose turn it is."""
    return (state.position_S == made % 2) & ~state.over
