"""The coin game: two players on a torus, one coin of one player's colour; taking the other's coin costs the other.

Whoever steps on the coin earns 1; if it has the other's colour, the other loses 2. The next coin has the other colour
and lies on a cell without a player, all alike; the first colour is random, and players start apart. All this as in
the code of LOLA (Foerster et al. 2018, arXiv 1709.04326). Published variants differ in what happens when both step on
the coin at once, so name yours:

- `size=3 tie=first`: that of LOLA's first code. The first player (red) alone takes the coin: seats are not alike.
- `size=3 tie=fair`: that of the later code with DiCE. Both take it: +1 each, and the owner loses 2 as well.
- `size=5 steps=100 tie=random`: that of LASE. One of them, drawn by lot, takes it.

Cells may be shared. The length belongs to the rules: after `steps` steps the game is over.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Body, Scene
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Term
from sparring.games.game import Bots, Game
from sparring.games.social import goals, grid, scenes, views
from sparring.games.social.paths import CERTAIN

OWN, GREEDY = 0.0, 1.0
COUNTS = ("own_coins", "other_coins")
"""Also what players are after: coins of the own and of the other's colour."""
TERMS = (
    Term("near_own", "potential", "nearness of the coin, from 0 to 1, while it has the own colour"),
    Term("near_other", "potential", "nearness of the coin, from 0 to 1, while it has the other's"),
)


class CoinRules(NamedTuple):
    prize: Array
    """What the taker earns."""
    harm: Array
    """What the owner of the coin loses when the other takes it."""


class CoinState(NamedTuple):
    cell_S: Array
    coin: Array
    """Its cell."""
    owner_S: Array
    """Whose colour it has: true for one of the two."""
    taken_SJ: Array
    """Coins of the own and of the other's colour that each has taken, int32."""
    played: Array


class CoinChance(NamedTuple):
    place: Array
    """Between 0 and 1: where a new coin comes to lie."""
    lot_S: Array
    """Decides ties, where they are drawn: the higher takes the coin."""


class Coin(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: CoinRules
    size: int = eqx.field(static=True)
    tie: str = eqx.field(static=True)
    view: str = eqx.field(static=True)

    def start(self, key: Array) -> CoinState:
        number_E = jax.random.uniform(key, (4,))
        cell_E = grid.scatter(number_E[:3], jnp.zeros(0, jnp.int32), self.size)
        first = number_E[3] < 0.5
        nothing_SJ = jnp.zeros((2, len(COUNTS)), jnp.int32)
        return CoinState(cell_E[:2], cell_E[2], jnp.stack([first, ~first]), nothing_SJ, jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> CoinChance:
        number_E = jax.random.uniform(key, (3,))
        return CoinChance(number_E[0], number_E[1:])

    def observe(self, state: CoinState) -> Observation:
        features_SF = self._planes(state) if self.view == "planes" else self._places(state)
        all_S = jnp.ones(2, bool)
        return Observation(features_SF, jnp.ones((2, 4), bool), all_S, all_S)

    def central(self, state: CoinState) -> Array:
        """Nothing is hidden: what a seat sees is the state, or all of it that matters on a torus."""
        return self.observe(state).features_SF

    def _places(self, state: CoinState) -> Array:
        """Where the other and the coin are as seen from the own cell, one number for each cell of the torus; whose coin
        it is; time. The own place itself makes no difference on a torus."""
        index_C = jnp.arange(self.size**2)
        other_SC = self._offset(state.cell_S, state.cell_S[::-1])[:, None] == index_C
        coin_SC = self._offset(state.cell_S, state.coin)[:, None] == index_C
        return views.row_of([other_SC.astype(float), coin_SC.astype(float), self._status(state)])

    def _planes(self, state: CoinState) -> Array:
        """Planes of the own place, the other, the own coin, the other's coin; time."""
        index_C = jnp.arange(self.size**2)
        own_SC = state.cell_S[:, None] == index_C
        coin_SC = jnp.broadcast_to(state.coin == index_C, own_SC.shape)
        mine_S1 = state.owner_S[:, None]
        board = jnp.stack([own_SC, own_SC[::-1], coin_SC & mine_S1, coin_SC & ~mine_S1], axis=-1)
        return views.row_of([board.astype(float), self._status(state)[:, 1:]])

    def _status(self, state: CoinState) -> Array:
        """Whether the coin is the seat's own, and time: [S, 2]."""
        time_S = jnp.broadcast_to(state.played / self.spec.longest, (2,))
        return jnp.stack([state.owner_S.astype(float), time_S], axis=-1)

    def _offset(self, from_S: Array, to: Array) -> Array:
        """The cell at which something would be if the own cell were cell 0."""
        (row_S, column_S), (row, column) = grid.split(from_S, self.size), grid.split(to, self.size)
        down, right = row - row_S, column - column_S
        down, right = (jnp.where(way < 0, way + self.size, way) for way in (down, right))
        return down * self.size + right

    def step(self, state: CoinState, action: Action, chance: CoinChance) -> tuple[CoinState, Step]:
        cell_S = self._moved(state.cell_S, action.discrete_SD[:, 0])
        on_S = cell_S == state.coin
        takes_S = self._settled(on_S, chance.lot_S)
        rules = self.rules
        lost_S = state.owner_S & takes_S[::-1]
        reward_S = jnp.where(takes_S, rules.prize, 0.0) - jnp.where(lost_S, rules.harm, 0.0)
        taken = on_S[0] | on_S[1]
        after = CoinState(
            cell_S=cell_S,
            coin=jnp.where(taken, self._new_place(cell_S, chance.place), state.coin),
            owner_S=jnp.where(taken, state.owner_S[::-1], state.owner_S),
            taken_SJ=state.taken_SJ + jnp.stack([takes_S & state.owner_S, takes_S & ~state.owner_S], axis=-1),
            played=state.played + 1,
        )
        over, never = after.played >= self.spec.longest, jnp.zeros((), bool)
        return after, Step(reward_S, jnp.zeros(2, bool), over, never, jnp.zeros(2), count_SJ=after.taken_SJ)

    def _settled(self, on_S: Array, lot_S: Array) -> Array:
        """takes_S: who takes the coin of those on it."""
        if self.tie == "fair":
            return on_S
        ahead_S = jnp.array([True, False]) if self.tie == "first" else lot_S >= lot_S[::-1]
        return on_S & (ahead_S | ~on_S[::-1])

    def _moved(self, cell_S: Array, choice_S: Array) -> Array:
        row_S, column_S = grid.split(cell_S, self.size)
        last = self.size - 1
        up_S, down_S = jnp.where(row_S == 0, last, row_S - 1), jnp.where(row_S == last, 0, row_S + 1)
        left_S, right_S = jnp.where(column_S == 0, last, column_S - 1), jnp.where(column_S == last, 0, column_S + 1)
        row_S = jnp.where(choice_S == grid.UP, up_S, jnp.where(choice_S == grid.DOWN, down_S, row_S))
        column_S = jnp.where(choice_S == grid.LEFT, left_S, jnp.where(choice_S == grid.RIGHT, right_S, column_S))
        return row_S * self.size + column_S

    def _new_place(self, cell_S: Array, number: Array) -> Array:
        """A cell without a player, all alike."""
        cells = self.size**2
        low, high = jnp.minimum(cell_S[0], cell_S[1]), jnp.maximum(cell_S[0], cell_S[1])
        high = jnp.where(low == high, cells, high)
        cell = jnp.floor(number * jnp.where(high == cells, cells - 1, cells - 2)).astype(jnp.int32)
        cell = cell + (cell >= low)
        return cell + (cell >= high)

    def potential(self, state: CoinState) -> Array:
        ways = grid.split(self._offset(state.cell_S, state.coin), self.size)
        moves_S = sum(jnp.minimum(way_S, self.size - way_S) for way_S in ways)
        near_S, own_S = 1.0 - moves_S / (2 * (self.size // 2)), state.owner_S
        return jnp.stack([jnp.where(own_S, near_S, 0.0), jnp.where(own_S, 0.0, near_S)], axis=-1)

    def goals(self, state: CoinState) -> Goals:
        """The own coin and the other's. Both are to be had as long as the game lasts: the one that is not there comes
        when the other is taken, at a place that nobody knows; it counts as far away as somebody is from the coin, and
        as two cells are from each other. The last numbers: whether it is there, whose it is, what it pays the taker
        and costs its owner, as a share of the larger."""
        down_S, right_S = (
            jnp.where(way_S > self.size // 2, way_S - self.size, way_S)
            for way_S in grid.split(self._offset(state.cell_S, state.coin), self.size)
        )
        there_SG = jnp.stack([state.owner_S, ~state.owner_S], axis=-1)
        moves_S = jnp.abs(down_S) + jnp.abs(right_S)
        mean = 2 * sum(min(k, self.size - k) for k in range(self.size)) / self.size
        steps_SG = jnp.where(there_SG, moves_S[:, None], jnp.min(moves_S) + mean)
        way = [jnp.where(there_SG, part_S[:, None], 0.0) for part_S in goals.way(down_S, right_S, self.size)]
        own_G = jnp.array([True, False])
        largest = jnp.maximum(jnp.maximum(jnp.abs(self.rules.prize), jnp.abs(self.rules.harm)), 1e-6)
        paid, lost_G = self.rules.prize / largest, jnp.where(own_G, 0.0, self.rules.harm / largest)
        return goals.shown(jnp.ones((2, 2), bool), steps_SG, [*way, there_SG, own_G, ~own_G, paid, lost_G])

    def reached(self, before: CoinState, action: Action, after: CoinState) -> Array:
        del action
        return after.taken_SJ > before.taken_SJ

    def scene(self, state: CoinState) -> Scene:
        at, owner = scenes.place(int(state.coin), self.size), 0 if bool(state.owner_S[0]) else 1
        coin = Body(name="coin", at=at, side=owner, size=0.25, shape="mark")
        caption = f"step {int(state.played)} of {self.spec.longest}"
        return scenes.grid_scene(self.spec, state.cell_S, state.cell_S >= 0, [coin], self.size, caption)

    def bots(self) -> Bots:
        """`own` goes for coins of its colour and never steps on the other's, roaming meanwhile; `prosocial` is another
        name for it; `greedy` goes for every coin. Nobody can stay: there are four moves."""
        return Bots(("own", "prosocial", "greedy"), jnp.array([[OWN], [OWN], [GREEDY]]))

    def bot_goals(self, parameters_J: Array, state: CoinState, memory: Any = None) -> Array:
        """`own` is after its own coin, also while that is not there."""
        del memory
        there_SG = jnp.stack([state.owner_S, ~state.owner_S], axis=-1)
        return jnp.where(parameters_J[0] > 0.5, there_SG, jnp.array([True, False]))

    def _aims(self, parameters_J: Array, features_NF: Array) -> tuple[Array, Array]:
        """Where the coin is as seen from the own cell (offset_N), and whether the bot wants it."""
        cells = self.size**2
        if self.view == "places":
            coin_NC = features_NF[:, cells : 2 * cells]
            offset_N = jnp.sum(coin_NC * jnp.arange(cells), axis=1).astype(jnp.int32)
            return offset_N, (parameters_J[0] > 0.5) | (features_NF[:, 2 * cells] > 0.5)
        board = features_NF[:, : 4 * cells].reshape(-1, cells, 4)
        cell_N4 = jnp.sum(board * jnp.arange(cells)[:, None], axis=1).astype(jnp.int32)
        offset_N = self._offset(cell_N4[:, 0], cell_N4[:, 2] + cell_N4[:, 3])  # one of the two planes is empty
        return offset_N, (parameters_J[0] > 0.5) | jnp.any(board[:, :, 2] > 0.5, axis=1)

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Towards a coin it wants, any shortest way alike; otherwise any move that does not take the coin."""
        del legal_NA
        offset_N, wants_N = self._aims(parameters_J, features_NF)
        down_N, right_N = grid.split(offset_N, self.size)
        half = self.size // 2
        shorter = (down_N > half, (down_N > 0) & (down_N <= half), right_N > half, (right_N > 0) & (right_N <= half))
        onto = [offset_N == target for target in (self.size * (self.size - 1), self.size, self.size - 1, 1)]
        moves = [jnp.where(wants_N, near, ~on) for near, on in zip(shorter, onto, strict=True)]
        return CERTAIN * jnp.stack(moves, axis=-1).astype(float), jnp.zeros((features_NF.shape[0], 0))


def coin(
    size: int = 3,
    tie: Literal["fair", "first", "random"] = "fair",
    steps: int = 150,
    view: Literal["places", "planes"] = "places",
) -> Coin:
    """Two players on a torus and one coin: 1 for the taker, -2 for the owner if the other took it (LOLA's game)."""
    if size not in (3, 5) or steps < 1:
        raise ConfigError(f"coin is played on 3x3 or 5x5 cells for 1 step or more, found size={size}, steps={steps}.")
    if tie not in ("fair", "first", "random") or view not in ("places", "planes"):
        raise ConfigError(
            f"tie is 'fair', 'first' or 'random' and view 'places' or 'planes', found {tie!r} and {view!r}."
        )
    cells = size * size
    if view == "planes":
        layout = (Feature("map", (size, size, 4)), Feature("time", (1,)))  # own place, the other, own coin, its coin
    else:
        layout = (Feature("other", (cells,)), Feature("coin", (cells,)), Feature("mine_and_time", (2,)))
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(4,)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout)),
        longest=steps,
        shortest=steps,
        exchangeable=() if tie == "first" else ((0, 1),),
        seat_names=("red", "blue"),
        counts=COUNTS,
        goals=COUNTS,
        terms=TERMS,
    )
    return Coin(spec, CoinRules(jnp.asarray(1.0, float), jnp.asarray(2.0, float)), size, tie, view)
