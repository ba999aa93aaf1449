"""Snowdrifts on a grid: whoever clears one pays, and everybody gains.

All move at once and may share cells; what is legal is settled before anyone moves, and nothing depends on the order of
seats. Every agent earns 6 for each drift that is removed, by whomever; the cost of 4 is shared equally by all who
remove it in the same step. The numbers are those of the Markov snowdrift game of HOP (arXiv 2406.08002); everything
starts on a cell of its own, which is our choice. The time limit belongs to the rules: the game is over after `steps`
steps or when no drift is left.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Term
from sparring.games.balance import DILEMMA
from sparring.games.game import Bots, Chance, Game
from sparring.games.others import others, without_own
from sparring.games.social import goals, grid, paths, scenes, views
from sparring.games.social.grid import NOWHERE
from sparring.games.social.paths import CERTAIN, Seen

STAY, REMOVE = 4, 5
"""Actions after up, down, left and right."""
NO_WALLS = np.zeros(0, np.int32)


class SnowdriftRules(NamedTuple):
    gain: Array
    """What every agent earns for a drift that is removed."""
    cost: Array
    """What those who remove it pay, together."""


class SnowdriftState(NamedTuple):
    cell_S: Array
    drift_E: Array
    """Cells of the drifts, -1 once removed."""
    removed_S: Array
    """Drifts that a seat has helped to remove, int32."""
    played: Array


class Habit(NamedTuple):
    """What a bot does, yes or no: the columns of the table of bots."""

    cleans: Array
    same: Array
    """Of all drifts choose the first in reading order, as everybody else does."""
    near: Array
    """Wait until a drift is on a cell beside it."""
    fair: Array
    """Stop after its share of all drifts, rounded up, if another agent has removed fewer."""
    roams: Array
    """Move at random where nothing is to be done."""


HABITS = {
    "cleaner": ("cleans",),
    "free_rider": ("roams",),
    "stay": (),
    "herd": ("cleans", "same"),
    "grab": ("cleans", "near"),
    "prosocial": ("cleans", "fair"),
}


class Snowdrift(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: SnowdriftRules
    size: int = eqx.field(static=True)
    drifts: int = eqx.field(static=True)
    view: str = eqx.field(static=True)

    def start(self, key: Array) -> SnowdriftState:
        seats = self.spec.seats
        cell_E = grid.scatter(jax.random.uniform(key, (seats + self.drifts,)), NO_WALLS, self.size)
        return SnowdriftState(cell_E[:seats], cell_E[seats:], jnp.zeros(seats, jnp.int32), jnp.zeros((), jnp.int32))

    def observe(self, state: SnowdriftState) -> Observation:
        features_SF = self._planes(state) if self.view == "planes" else self._places(state)
        on_S = jnp.any(_on(state.cell_S, state.drift_E), axis=1)
        legal = [*grid.open_moves(state.cell_S, NO_WALLS, self.size), jnp.ones_like(on_S), on_S]
        everyone_S = jnp.ones(self.spec.seats, bool)
        return Observation(features_SF, jnp.stack(legal, axis=1), everyone_S, everyone_S)

    def central(self, state: SnowdriftState) -> Array:
        """Nothing is hidden: what a seat sees is the state."""
        return self.observe(state).features_SF

    def _places(self, state: SnowdriftState) -> Array:
        """Blocks as in `_layout`; the last number of a drift is the share of agents on its cell."""
        seats, own = self.spec.seats, views.own_place(state.cell_S, self.size)
        around = without_own(self._done(state, views.listed(state.cell_S, state.cell_S, self.size)[:, :, :2]))
        crowd_E = views.crowd(state.cell_S, state.drift_E)
        crowd_SE1 = jnp.broadcast_to((crowd_E / seats)[:, None], (seats, self.drifts, 1))
        drifts = jnp.concatenate([views.listed(state.cell_S, state.drift_E, self.size), crowd_SE1], axis=-1)
        return views.row_of([own, self._status(state), around, drifts])

    def _planes(self, state: SnowdriftState) -> Array:
        fixed = [views.plane(state.drift_E, self.size)]
        board, others = views.planes(state.cell_S, fixed, self.size)
        nothing = jnp.zeros((self.spec.seats, self.spec.seats, 0))
        return views.row_of([board, others, without_own(self._done(state, nothing)), self._status(state)])

    def _done(self, state: SnowdriftState, block_SSX: Array) -> Array:
        """A block about all seats, with the share of all drifts that each has helped to remove."""
        done_SS1 = jnp.broadcast_to((state.removed_S / self.drifts)[:, None], (*block_SSX.shape[:2], 1))
        return jnp.concatenate([block_SSX, done_SS1], axis=-1)

    def _status(self, state: SnowdriftState) -> Array:
        """Time, and the share of all drifts that the seat itself has helped to remove: [S, 2]."""
        time_S = jnp.broadcast_to(state.played / self.spec.longest, (self.spec.seats,))
        return jnp.stack([time_S, state.removed_S / self.drifts], axis=-1)

    def step(self, state: SnowdriftState, action: Action, chance: Chance) -> tuple[SnowdriftState, Step]:
        del chance
        choice_S, rules = action.discrete_SD[:, 0], self.rules
        removes_SE = _on(state.cell_S, state.drift_E) & (choice_S == REMOVE)[:, None]
        count_E = jnp.sum(removes_SE.astype(jnp.int32), axis=0)
        # Every drift has a cell of its own: an agent has part in one removal at most, and the sum is exact.
        paid_S = jnp.sum(jnp.where(removes_SE, rules.cost / jnp.maximum(count_E, 1), 0.0), axis=1)
        opens = grid.open_moves(state.cell_S, NO_WALLS, self.size)
        after = SnowdriftState(
            cell_S=grid.moved(state.cell_S, choice_S, opens, self.size),
            drift_E=jnp.where(count_E > 0, NOWHERE, state.drift_E),
            removed_S=state.removed_S + jnp.any(removes_SE, axis=1),
            played=state.played + 1,
        )
        over = (after.played >= self.spec.longest) | jnp.all(after.drift_E < 0)
        reward_S = rules.gain * jnp.sum((count_E > 0).astype(jnp.int32)) - paid_S
        nobody_S, nothing_K = jnp.zeros(self.spec.seats, bool), jnp.zeros(self.spec.sides)
        count_SJ = after.removed_S[:, None]
        return after, Step(reward_S, nobody_S, over, jnp.zeros((), bool), nothing_K, count_SJ=count_SJ)

    def potential(self, state: SnowdriftState) -> Array:
        return views.nearness(state.cell_S, state.drift_E, self.size)[:, None]

    def goals(self, state: SnowdriftState) -> Goals:
        """Each drift; the last number is the share of agents on it."""
        down_SE, right_SE = goals.apart(state.cell_S, state.drift_E, self.size)
        open_SE = jnp.broadcast_to(state.drift_E >= 0, down_SE.shape)
        crowd_E = views.crowd(state.cell_S, state.drift_E) / self.spec.seats
        about = [*goals.way(down_SE, right_SE, self.size), crowd_E]
        return goals.shown(open_SE, jnp.abs(down_SE) + jnp.abs(right_SE), about)

    def reached(self, before: SnowdriftState, action: Action, after: SnowdriftState) -> Array:
        return _on(before.cell_S, before.drift_E) & (action.discrete_SD[:, :1] == REMOVE) & (after.drift_E < 0)

    def scene(self, state: SnowdriftState) -> Scene:
        present_S = state.cell_S >= 0
        caption = f"step {int(state.played)} of {self.spec.longest}, removed {state.removed_S.tolist()}"
        fixed = scenes.pieces("drift", state.drift_E, self.size, 0.45)
        return scenes.grid_scene(self.spec, state.cell_S, present_S, fixed, self.size, caption)

    def bots(self) -> Bots:
        """`cleaner` goes for the nearest drift and removes it; `free_rider` moves at random and never removes; `stay`
        does nothing; `herd`: all go for the same drift; `grab` waits until a drift is beside it; `prosocial` cleans its
        fair share of all drifts, rounded up, and then stays while another agent has removed fewer."""
        return Bots(tuple(HABITS), jnp.array([[float(k in habit) for k in Habit._fields] for habit in HABITS.values()]))

    def bot_goals(self, parameters_J: Array, state: SnowdriftState, memory: Any = None) -> Array:
        del memory
        down_SE, right_SE = goals.apart(state.cell_S, state.drift_E, self.size)
        drifts = Seen(down_SE, right_SE, jnp.broadcast_to(state.drift_E >= 0, down_SE.shape))
        done_S = state.removed_S / self.drifts
        least_S = jnp.min(others(done_S), axis=1)
        goal_SE = self._content(Habit(*(parameters_J > 0.5)), drifts, done_S, least_S)
        return goals.nearest(goal_SE, jnp.abs(down_SE) + jnp.abs(right_SE))

    def _content(self, habit: Habit, drifts: Seen, done_N: Array, least_N: Array) -> Array:
        """goal_NE: which drifts a bot would be content to remove. It heads for the nearest of these."""
        enough_N = (done_N > 1.0 / self.spec.seats - 1e-6) & (least_N < done_N)
        busy_N = habit.cleans & ~(habit.fair & enough_N)
        goal_NE = jnp.where(habit.same, paths.first(drifts, self.size), drifts.there_NE)
        goal_NE = jnp.where(habit.near, paths.beside(drifts), goal_NE)
        return goal_NE & busy_N[:, None]

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Remove where a goal is, else a shortest way to one, else roam or stay."""
        del legal_NA
        habit = Habit(*(parameters_J > 0.5))
        drifts, done_N, least_N = self._read(features_NF)
        goal_NE = self._content(habit, drifts, done_N, least_N)
        moves, removes_N = paths.straight_ways(drifts, goal_NE), paths.here(drifts, goal_NE)
        idle_N = ~(removes_N | moves[0] | moves[1] | moves[2] | moves[3])
        moves = [move | (idle_N & habit.roams) for move in moves]
        logits_NA = CERTAIN * jnp.stack([*moves, idle_N & ~habit.roams, removes_N], axis=-1).astype(float)
        return logits_NA, jnp.zeros((features_NF.shape[0], 0))

    def _read(self, features_NF: Array) -> tuple[Seen, Array, Array]:
        """Drifts, the share of all drifts that the seat has helped to remove, and the least share of the others."""
        others = self.spec.seats - 1
        if self.view == "planes":
            board_NCE = features_NF[:, : 3 * self.size**2].reshape(-1, self.size**2, 3)
            drifts = paths.seen_plane(board_NCE[:, :, 2], paths.own_cell_of_plane(board_NCE[:, :, 0]), self.size)
            return drifts, features_NF[:, -1], jnp.min(features_NF[:, -2 - others : -2], axis=1)
        drifts = paths.seen_places(features_NF[:, -4 * self.drifts :], 4, self.size)
        return drifts, features_NF[:, 3], jnp.min(features_NF[:, 6 : 4 + 3 * others : 3], axis=1)


def snowdrift(
    size: int = 8, agents: int = 4, drifts: int = 6, steps: int = 50, view: Literal["places", "planes"] = "places"
) -> Snowdrift:
    """Agents on a grid clear snowdrifts: 6 to everyone for each, and 4 to be paid by those who remove it."""
    if drifts < 1 or steps < 1:
        raise ConfigError(f"snowdrift needs 1 drift and 1 step or more, found drifts={drifts}, steps={steps}.")
    if view not in ("places", "planes"):
        raise ConfigError(f"view is 'places' or 'planes', found {view!r}.")
    grid.check_size("snowdrift", size, agents, drifts, "drifts")
    layout = _layout(size, agents, drifts, view)
    spec = GameSpec(
        seats=agents,
        side_of_seat=tuple(range(agents)),
        action=ActionSpec(heads=(6,)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout)),
        longest=steps,
        # Each drift takes an agent at least a move and a removal.
        shortest=min(steps, 2 * -(-drifts // agents)),
        exchangeable=(tuple(range(agents)),),
        seat_names=tuple(f"agent_{s}" for s in range(agents)),
        counts=("removed",),
        goals=("drift",) * drifts,
        terms=(Term("near_drift", "potential", "nearness of the nearest drift, from 0 to 1"),),
        # Waiting for somebody else must cost something.
        suits=(*DILEMMA, ("shaping", ("near_drift=2 -> 0",)), ("discount", 0.9)),
    )
    return Snowdrift(spec, SnowdriftRules(jnp.asarray(6.0, float), jnp.asarray(4.0, float)), size, drifts, view)


def _layout(size: int, agents: int, drifts: int, view: str) -> tuple[Feature, ...]:
    status = Feature("time_and_removed", (2,))
    if view == "planes":
        board = Feature("map", (size, size, 3))  # own place, number of others, drifts
        others = Feature("others", (agents - 1, size, size), lists="others")
        return board, others, Feature("others_removed", (agents - 1, 1), lists="others"), status
    others = Feature("others", (agents - 1, 3), lists="others")
    return Feature("own", (2,)), status, others, Feature("drifts", (drifts, 4))


def _on(cell_S: Array, drift_E: Array) -> Array:
    """Which agents are on the cell of which drift, [S, E]. One that was removed is nowhere, where no agent is."""
    return cell_S[:, None] == drift_E
