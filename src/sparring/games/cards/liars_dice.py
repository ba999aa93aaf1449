"""Liar's dice for two: hidden dice, bids that rise, and who doubts the last bid says "liar".

A bid claims that among all dice at least so many show a face; the highest face is wild and counts for any. Bids rise by
number, then by face: choice (number - 1) * faces + face - 1. After any bid the last choice is "liar": who bid wins if
the claim is true, else who doubted it. Rules and numbers of choices are those of OpenSpiel. Letters: J dice of a seat,
B bids.
"""

from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.balance import HIDDEN
from sparring.games.cards.table import Positions, exchangeable, one_hot, rows_of, seated, seatings
from sparring.games.game import Bots, Chance, Game
from sparring.games.tree import MOST_NODES

MOST_FACES, MOST_DICE = 20, 10


class DiceState(NamedTuple):
    face_SJ: Array
    """From 0, in ascending order; int32."""
    position_S: Array
    """0 for the seat that bids first, 1 for the other; int32."""
    made_B: Array
    """Which bids were made; they rise, so that tells who made which."""
    over: Array


class LiarsDice(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    faces: int = eqx.field(static=True)
    dice: int = eqx.field(static=True)

    @property
    def bids(self) -> int:
        return 2 * self.dice * self.faces

    def start(self, key: Array) -> DiceState:
        key_roll, key_position = jax.random.split(key)
        face_SJ = jnp.sort(jax.random.randint(key_roll, (2, self.dice), 0, self.faces, jnp.int32), axis=1)
        return DiceState(face_SJ, seated(self.spec, key_position), jnp.zeros(self.bids, bool), jnp.zeros((), bool))

    def openings(self) -> tuple[DiceState, np.ndarray] | None:
        """None where the tree does not fit: it has a node for every set of bids, with and without "liar"."""
        rolls = list(combinations_with_replacement(range(self.faces), self.dice))
        ways = seatings(self.spec)
        if len(rolls) ** 2 * len(ways) * 2 ** (self.bids + 1) > MOST_NODES:
            return None
        starts = product(range(len(rolls)), range(len(rolls)), range(len(ways)))
        one_N, two_N, way_N = np.array(list(starts)).T
        share = [factorial(self.dice) / prod(factorial(roll.count(face)) for face in set(roll)) for roll in rolls]
        weight_N = np.array(share)[one_N] * np.array(share)[two_N] / (self.faces ** (2 * self.dice) * len(ways))
        face_NSJ = np.array(rolls, np.int32)[np.stack([one_N, two_N], axis=1)]
        blank = np.zeros((len(way_N), self.bids), bool), np.zeros(len(way_N), bool)
        return DiceState(*map(jnp.asarray, (face_NSJ, ways[way_N], *blank))), weight_N

    def observe(self, state: DiceState) -> Observation:
        acting_S = _deciding(state)
        dice_SX = one_hot(state.face_SJ, self.faces).reshape(2, -1)
        made_SB = jnp.broadcast_to(state.made_B, (2, self.bids)).astype(float)
        features_SF = jnp.concatenate([one_hot(state.position_S, 2), dice_SX, made_SB], axis=1)
        last = _last(state)
        open_A = jnp.append(jnp.arange(self.bids) > last, last >= 0)
        legal_SA = jnp.where(acting_S[:, None], open_A, jnp.arange(self.bids + 1) == 0)
        return Observation(features_SF, legal_SA, jnp.ones(2, bool), acting_S)

    def central(self, state: DiceState) -> Array:
        """What each seat sees, and the other's dice."""
        other_SX = one_hot(state.face_SJ[::-1], self.faces).reshape(2, -1)
        return jnp.concatenate([self.observe(state).features_SF, other_SX], axis=1)

    def step(self, state: DiceState, action: Action, chance: Chance) -> tuple[DiceState, Step]:
        del chance
        acting_S = _deciding(state)
        choice, last = jnp.sum(jnp.where(acting_S, action.discrete_SD[:, 0], 0)), _last(state)
        over = choice == self.bids
        number, face = last // self.faces + 1, last % self.faces
        true = jnp.sum((state.face_SJ == face) | (state.face_SJ == self.faces - 1)) >= number
        reward_S = jnp.where(over, jnp.where(acting_S == true, -1.0, 1.0), 0.0)
        after = state._replace(made_B=state.made_B | (jnp.arange(self.bids) == choice), over=over)
        return after, Step(reward_S, jnp.zeros(2, bool), over, jnp.zeros((), bool), reward_S)

    def bots(self) -> Bots:
        """Parameters: how much it prefers bids that are likely true, and low ones, and how likely the last must be or
        it says liar. The bluffer's bids say nothing about its dice: it raises by the least until that is impossible."""
        habits = {
            "truthful": (60.0, 6.0, 0.3),
            "bluffer": (0.0, 60.0, 0.01),
            "always_liar": (60.0, 6.0, 2.0),
        }
        return Bots(tuple(habits), jnp.array(list(habits.values()), float))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Chances from the own dice: the other's dice each match a face, or are wild, by 2 in `faces`."""
        preferred, low, doubt = parameters_J
        own_NJF = features_NF[:, 2 : 2 + self.dice * self.faces].reshape(-1, self.dice, self.faces)
        count_NF = own_NJF.sum(1) + jnp.where(jnp.arange(self.faces) < self.faces - 1, own_NJF[:, :, -1:].sum(1), 0.0)
        number_B, face_B = np.divmod(np.arange(self.bids), self.faces)
        missing_NB = jnp.clip(number_B + 1 - count_NF[:, face_B], 0, self.dice + 1).astype(jnp.int32)
        wild_B = (face_B == self.faces - 1).astype(np.int32)
        true_NB = jnp.asarray(_tails(self.faces, self.dice))[wild_B, missing_NB]
        bid_NB = preferred * true_NB - low * jnp.arange(self.bids) / self.bids
        last_N1 = jnp.max(jnp.where(features_NF[:, -self.bids :] > 0.5, jnp.arange(self.bids), 0), axis=1)[:, None]
        liar_N1 = 300.0 * (doubt - jnp.take_along_axis(true_NB, last_N1, axis=1))
        return jnp.concatenate([bid_NB, liar_N1], axis=1), jnp.zeros((legal_NA.shape[0], 0))


def liars_dice(faces: int = 6, dice: int = 1, positions: Positions = "random") -> LiarsDice:
    """Liar's dice for two, one die each: exploitability is exact up to 12 bids or so."""
    if not (2 <= faces <= MOST_FACES and 1 <= dice <= MOST_DICE):
        expected = f"2 to {MOST_FACES} faces and 1 to {MOST_DICE} dice for each player"
        raise ConfigError(f"Liar's dice has {expected}, found faces={faces} and dice={dice}.")
    bids = 2 * dice * faces
    layout = (Feature("position", (2,)), Feature("dice", (dice, faces)), Feature("bids", (bids,)))
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(bids + 1,)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout) + dice * faces),
        longest=bids + 1,
        shortest=2,
        exchangeable=exchangeable(positions),
        zero_sum=True,
        in_turn=True,
        score="outcome",
        suits=HIDDEN,
    )
    return LiarsDice(spec, (), faces, dice)


def from_open_spiel(game: LiarsDice, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's information_state_tensor where a player decides.

    Its last column says whether "liar" was said, after which nobody decides.
    """
    named = f"liars_dice(numdice={game.dice},dice_sides={game.faces})"
    features_RF = rows_of(rows_RI, game.spec.features + 1, named)[:, :-1]
    last_R = np.max(np.where(features_RF[:, -game.bids :] > 0.5, np.arange(game.bids), -1), axis=1)
    higher_RB = np.arange(game.bids) > last_R[:, None]
    return features_RF, np.concatenate([higher_RB, last_R[:, None] >= 0], axis=1)


def _tails(faces: int, dice: int) -> np.ndarray:
    """[ordinary or wild face, k]: the chance that at least k of the other's dice match it."""
    rows = []
    for q in (2 / faces, 1 / faces):
        exactly = [comb(dice, k) * q**k * (1 - q) ** (dice - k) for k in range(dice + 1)]
        rows.append([sum(exactly[k:]) for k in range(dice + 2)])
    return np.array(rows, np.float32)


def _last(state: DiceState) -> Array:
    """The highest bid so far, -1 before the first."""
    return jnp.max(jnp.where(state.made_B, jnp.arange(state.made_B.shape[0]), -1))


def _deciding(state: DiceState) -> Array:
    """deciding_S: whose turn it is."""
    return (state.position_S == jnp.sum(state.made_B) % 2) & ~state.over
