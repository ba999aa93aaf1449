"""Goofspiel for two: equal hands, bids at once for one prize after another, and bids stay hidden.

Both hold cards 1 to n. In each round a prize of 1 to n points is shown and both bid a card; the higher bid takes the
prize, equal bids lose it, and both learn who won but not what the other bid. The last round, in which nobody has a
choice, is played with the one before it. Rules and numbers of choices are those of OpenSpiel with imp_info=true; a seat
sees itself first, as there with egocentric=true. Letters: T rounds, C cards.
"""

from itertools import permutations
from math import factorial, perm
from typing import Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, GameError, unknown
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.balance import HIDDEN
from sparring.games.cards.table import one_hot, rows_of
from sparring.games.game import Bots, Chance, Game
from sparring.games.tree import MOST_NODES

PointsOrder = Literal["random", "descending", "ascending"]
ReturnsType = Literal["win_loss", "point_difference"]
FEWEST, MOST = 2, 13
"""Cards of a hand."""


class GoofspielState(NamedTuple):
    prize_T: Array
    """Card c is worth c + 1 points; dealt at the start, shown round by round; int32."""
    bid_ST: Array
    """-1 where none was made; int32."""
    played: Array
    """Rounds that were played; int32."""


class Goofspiel(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    cards: int = eqx.field(static=True)
    points_order: PointsOrder = eqx.field(static=True)
    returns_type: ReturnsType = eqx.field(static=True)

    def start(self, key: Array) -> GoofspielState:
        prize_T = jnp.asarray(self._sorted())
        if self.points_order == "random":
            prize_T = jax.random.permutation(key, prize_T)
        return GoofspielState(prize_T, jnp.full((2, self.cards), -1, jnp.int32), jnp.zeros((), jnp.int32))

    def openings(self) -> tuple[GoofspielState, np.ndarray] | None:
        """None where the tree does not fit: all hands of both players in every round, for every order of the prizes."""
        orders = factorial(self.cards) if self.points_order == "random" else 1
        if orders * sum(perm(self.cards, rounds) ** 2 for rounds in range(self.cards)) > MOST_NODES:
            return None
        shown = permutations(self._sorted()) if self.points_order == "random" else [self._sorted()]
        prize_NT = np.array(list(shown), np.int32)
        count = len(prize_NT)
        blank = np.full((count, 2, self.cards), -1, np.int32), np.zeros(count, np.int32)
        return GoofspielState(*map(jnp.asarray, (prize_NT, *blank))), np.full(count, 1 / count)

    def _sorted(self) -> np.ndarray:
        """prize_T from the lowest, or where they descend from the highest."""
        prize_T = np.arange(self.cards, dtype=np.int32)
        return prize_T[::-1] if self.points_order == "descending" else prize_T

    def observe(self, state: GoofspielState) -> Observation:
        acting = state.played < self.cards
        used_STC = one_hot(state.bid_ST, self.cards)
        hand_SC = 1.0 - used_STC.sum(1)
        shown_T = jnp.where(jnp.arange(self.cards) <= state.played, state.prize_T, -1)
        won_ST, points_S = _won(state)
        slots = self.spec.layout[0].shape[1]

        def features(own: Array, other: Array, hand_C: Array, used_TC: Array) -> Array:
            points_2X = one_hot(points_S[jnp.stack([own, other])], slots)
            wins_T2 = jnp.stack([won_ST[own], won_ST[other]], axis=1).astype(float)
            blocks = points_2X, hand_C, wins_T2, one_hot(shown_T, self.cards), used_TC
            return jnp.concatenate([block.reshape(-1) for block in blocks])

        features_SF = jax.vmap(features)(jnp.arange(2), jnp.arange(2)[::-1], hand_SC, used_STC)
        legal_SA = jnp.where(acting, hand_SC > 0.5, jnp.arange(self.cards) == 0)
        return Observation(features_SF, legal_SA, jnp.ones(2, bool), jnp.broadcast_to(acting, (2,)))

    def central(self, state: GoofspielState) -> Array:
        """What each seat sees, what the other bid, and the prizes to come."""
        hidden_SX = one_hot(state.bid_ST[::-1], self.cards).reshape(2, -1)
        prizes_SX = jnp.broadcast_to(one_hot(state.prize_T, self.cards).reshape(-1), hidden_SX.shape)
        return jnp.concatenate([self.observe(state).features_SF, hidden_SX, prizes_SX], axis=1)

    def step(self, state: GoofspielState, action: Action, chance: Chance) -> tuple[GoofspielState, Step]:
        del chance
        now_T = jnp.arange(self.cards) == state.played
        bid_ST = jnp.where(now_T, action.discrete_SD, state.bid_ST)
        over = state.played + 2 >= self.cards
        # Cards of a hand have one sum, so the bids, and -1 where the last will be, tell which card is left.
        left_S1 = self.cards * (self.cards - 1) // 2 - (bid_ST.sum(1, keepdims=True) + 1)
        bid_ST = jnp.where(over & (jnp.arange(self.cards) == self.cards - 1), left_S1, bid_ST)
        played = jnp.where(over, self.cards, state.played + 1)
        after = state._replace(bid_ST=bid_ST.astype(jnp.int32), played=played.astype(jnp.int32))

        _, points_S = _won(after)
        lead_S = points_S - points_S[::-1]
        earned_S = jnp.sign(lead_S) if self.returns_type == "win_loss" else lead_S / 2.0
        reward_S, outcome_K = (jnp.where(over, x, 0).astype(float) for x in (earned_S, jnp.sign(lead_S)))
        return after, Step(reward_S, jnp.zeros(2, bool), over, jnp.zeros((), bool), outcome_K)

    def bots(self) -> Bots:
        """Parameters: whether it bids by the prize, how much above it (for the highest, the lowest card), and how much
        it prefers high cards. One above the prize beats the prize itself in all rounds but one."""
        habits = {
            "match_prize": (30.0, 0.0, 0.1),
            "one_above": (30.0, 1.0, 0.1),
            "highest": (0.0, 0.0, 30.0),
            "lowest": (0.0, 0.0, -30.0),
        }
        return Bots(tuple(habits), jnp.array(list(habits.values()), float))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Where the card is gone, the nearest one."""
        by_prize, above, high = parameters_J
        prizes = slice(-2 * self.cards**2, -(self.cards**2))
        shown_NTC = features_NF[:, prizes].reshape(-1, self.cards, self.cards)
        bids_NTC = features_NF[:, -(self.cards**2) :].reshape(shown_NTC.shape)
        # The prize of this round is the one that no own bid was made for.
        prize_N = jnp.sum((shown_NTC - bids_NTC.sum(-1, keepdims=True) * shown_NTC) * jnp.arange(self.cards), (1, 2))
        far_NA = jnp.abs(jnp.arange(self.cards) - (prize_N[:, None] + above) % self.cards)
        return high * jnp.arange(self.cards) - by_prize * far_NA, jnp.zeros((legal_NA.shape[0], 0))


def goofspiel(
    cards: int = 4,
    points_order: PointsOrder = "random",
    returns_type: ReturnsType = "win_loss",
) -> Goofspiel:
    """Goofspiel for two with hidden bids; exploitability is exact up to 5 cards, with prizes in a known order up to 6.

    Four cards in random order have 17,688 nodes, five 2.2 million, six in a known order 0.7 million. A point difference
    is counted from the mean of both, so it is half of the lead.
    """
    if not FEWEST <= cards <= MOST:
        raise ConfigError(f"Goofspiel has hands of {FEWEST} to {MOST} cards, found cards={cards}.")
    for name, value, kind in (("points_order", points_order, PointsOrder), ("returns_type", returns_type, ReturnsType)):
        if value not in get_args(kind):
            raise ConfigError(unknown(name, value, get_args(kind)))
    slots = cards * (cards + 1) // 2 + 1
    layout = (
        Feature("points", (2, slots)),
        Feature("hand", (cards,)),
        Feature("wins", (cards, 2)),
        Feature("prizes", (cards, cards)),
        Feature("bids", (cards, cards)),
    )
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(cards,)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout) + 2 * cards**2),
        longest=cards - 1,
        shortest=cards - 1,
        exchangeable=((0, 1),),
        zero_sum=True,
        score="outcome" if returns_type == "win_loss" else "return",
        suits=HIDDEN,
    )
    return Goofspiel(spec, (), cards, points_order, returns_type)


def from_open_spiel(game: Goofspiel, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's information_state_tensor where a player decides.

    Of the game with imp_info=true and egocentric=true, whose rows are our features. Turned into a game of turns it has
    four columns before them: who looks, and who decides.
    """
    cards, width = game.cards, game.spec.features
    named = f"goofspiel(imp_info=true,egocentric=true,num_cards={cards})"
    rows_RI = np.asarray(rows_RI, np.float32)
    turns = rows_RI.ndim == 2 and rows_RI.shape[1] == width + 4
    features_RF = rows_of(rows_RI[:, 4:] if turns else rows_RI, width, named)
    bounds = np.cumsum([block.size for block in game.spec.layout])
    points_RX, hand_RC, wins_RX, prizes_RX, _ = np.split(features_RF, bounds[:-1], axis=1)
    prize_RT = prizes_RX.reshape(-1, cards, cards) @ np.arange(1, cards + 1)
    own_R = np.sum(wins_RX.reshape(-1, cards, 2)[..., 0] * prize_RT, axis=1)
    if (np.argmax(points_RX[:, : points_RX.shape[1] // 2], axis=1) != own_R).any():
        raise GameError(
            "Rows of OpenSpiel's information_state_tensor: expected the points of the rounds that a player won, found "
            f"others. Load {named}."
        )
    return features_RF, hand_RC > 0.5


def _won(state: GoofspielState) -> tuple[Array, Array]:
    """won_ST, the rounds that each seat won, and points_S."""
    won_ST = state.bid_ST > state.bid_ST[::-1]
    return won_ST, jnp.sum(jnp.where(won_ST, state.prize_T + 1, 0), axis=1)
