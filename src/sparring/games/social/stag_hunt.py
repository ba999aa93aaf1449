"""A stag hunt on a grid: a stag needs two hunters at once, a hare needs one, and who has caught leaves the game.

All move at once and may share cells; what is legal is settled before anyone moves, and nothing depends on the order of
seats. The sizes are those of the Markov stag hunt of HOP (arXiv 2406.08002), whose code is not public. Where its rules
are not known these are ours, chosen so that seats are alike, and results are not HOP's:

- A prize is shared equally by all who strike one animal in the same step; the animal is gone, those hunters leave. A
  strike at a stag by too few does nothing. Animals do not move.
- Everything starts on a cell of its own, so no game lasts less than two steps. Walls are single cells; a piece that
  would part the free cells, or falls on another, is left out, so there are up to `walls` of them.
- The time limit belongs to the rules: after `steps` steps the game is over, and nothing more is to be had. It is over
  before that when nobody is left, or nothing that those present could catch: no hare, and no stag or too few hunters.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Term
from sparring.games.balance import DILEMMA
from sparring.games.game import Bots, Chance, Game
from sparring.games.others import without_own
from sparring.games.social import goals, grid, hunters, scenes, views
from sparring.games.social.grid import NOWHERE

STAY, STAG, HARE = 4, 5, 6
"""Actions after up, down, left and right."""
COUNTS = ("stags", "hares")
TERMS = (
    Term("near_stag", "potential", "nearness of the nearest stag, from 0 to 1"),
    Term("near_hare", "potential", "nearness of the nearest hare, from 0 to 1"),
)


class StagHuntRules(NamedTuple):
    stag: Array
    """What a stag is worth, to be shared by those who catch it."""
    hare: Array
    needed: Array
    """Hunters that must strike a stag in the same step, int32."""


class StagHuntState(NamedTuple):
    cell_S: Array
    """Where each hunter is, or was when it left, int32."""
    present_S: Array
    stag_E: Array
    """Cells of the stags, -1 once caught."""
    hare_E: Array
    wall_E: Array
    caught_SJ: Array
    """Whether each hunter has had part in catching a stag, a hare, int32."""
    played: Array


class StagHunt(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: StagHuntRules
    size: int = eqx.field(static=True)
    stags: int = eqx.field(static=True)
    hares: int = eqx.field(static=True)
    walls: int = eqx.field(static=True)
    view: str = eqx.field(static=True)

    def start(self, key: Array) -> StagHuntState:
        """Walls first, then everything else on free cells, all choices alike."""
        seats, stags = self.spec.seats, self.spec.seats + self.stags
        number_E = jax.random.uniform(key, (self.walls + stags + self.hares,))
        wall_E = grid.build_walls(number_E[: self.walls], self.size)
        cell_E = grid.scatter(number_E[self.walls :], wall_E, self.size)
        return StagHuntState(
            cell_S=cell_E[:seats],
            present_S=jnp.ones(seats, bool),
            stag_E=cell_E[seats:stags],
            hare_E=cell_E[stags:],
            wall_E=wall_E,
            caught_SJ=jnp.zeros((seats, len(COUNTS)), jnp.int32),
            played=jnp.zeros((), jnp.int32),
        )

    def observe(self, state: StagHuntState) -> Observation:
        features_SF = self._planes(state) if self.view == "planes" else self._places(state)
        return Observation(features_SF, self._legal(state), state.present_S, state.present_S)

    def central(self, state: StagHuntState) -> Array:
        """Nothing is hidden: what a seat sees is the state."""
        return self.observe(state).features_SF

    def _legal(self, state: StagHuntState) -> Array:
        """legal_SA; those who left have the first entry alone."""
        present_S, opens = state.present_S, grid.open_moves(state.cell_S, state.wall_E, self.size)
        strikes = [jnp.any(_on(state.cell_S, animal_E), axis=1) for animal_E in (state.stag_E, state.hare_E)]
        rest = [entry_S & present_S for entry_S in (*opens[1:], jnp.ones_like(present_S), *strikes)]
        return jnp.stack([opens[0] | ~present_S, *rest], axis=1)

    def _places(self, state: StagHuntState) -> Array:
        """Blocks as in `_layout`; the last number of an animal is the share of hunters on its cell. The own place of a
        hunter that has left is outside the grid, so that a critic can tell."""
        here_S = jnp.where(state.present_S, state.cell_S, NOWHERE)
        others = without_own(views.listed(state.cell_S, here_S, self.size))
        animal_E = jnp.concatenate([state.stag_E, state.hare_E])
        crowd_E = views.crowd(here_S, animal_E)
        crowd_SE1 = jnp.broadcast_to((crowd_E / self.spec.seats)[:, None], (self.spec.seats, *crowd_E.shape, 1))
        animals = jnp.concatenate([views.listed(state.cell_S, animal_E, self.size), crowd_SE1], axis=-1)
        own, walls = views.own_place(here_S, self.size), views.listed(state.cell_S, state.wall_E, self.size)
        return views.row_of([own, self._time(state), others, animals, walls])

    def _planes(self, state: StagHuntState) -> Array:
        here_S = jnp.where(state.present_S, state.cell_S, NOWHERE)
        fixed = [views.plane(cell_E, self.size) for cell_E in (state.stag_E, state.hare_E, state.wall_E)]
        board, others = views.planes(here_S, fixed, self.size)
        return views.row_of([board, others, self._time(state)])

    def _time(self, state: StagHuntState) -> Array:
        return jnp.broadcast_to(state.played / self.spec.longest, (self.spec.seats, 1))

    def step(self, state: StagHuntState, action: Action, chance: Chance) -> tuple[StagHuntState, Step]:
        del chance
        choice_S, present_S, rules = action.discrete_SD[:, 0], state.present_S, self.rules
        reward_S = jnp.zeros(self.spec.seats)
        remaining, caught = [], []
        for act, prize, needed, animal_E in (
            (STAG, rules.stag, rules.needed, state.stag_E),
            (HARE, rules.hare, 1, state.hare_E),
        ):
            strikes_SE = _on(state.cell_S, animal_E) & (present_S & (choice_S == act))[:, None]
            count_E = jnp.sum(strikes_SE.astype(jnp.int32), axis=0)
            caught_E = (count_E >= needed) & (count_E > 0)
            catches_SE = strikes_SE & caught_E
            # Every animal has a cell of its own: a hunter has part in one catch at most, and the sum is exact.
            reward_S = reward_S + jnp.sum(jnp.where(catches_SE, prize / jnp.maximum(count_E, 1), 0.0), axis=1)
            caught.append(jnp.any(catches_SE, axis=1))
            remaining.append(jnp.where(caught_E, NOWHERE, animal_E))
        left_S = caught[0] | caught[1]
        opens = [open_S & present_S for open_S in grid.open_moves(state.cell_S, state.wall_E, self.size)]
        after = StagHuntState(
            cell_S=grid.moved(state.cell_S, choice_S, opens, self.size),
            present_S=present_S & ~left_S,
            stag_E=remaining[0],
            hare_E=remaining[1],
            wall_E=state.wall_E,
            caught_SJ=state.caught_SJ + jnp.stack(caught, axis=-1),
            played=state.played + 1,
        )
        over = (after.played >= self.spec.longest) | self._nothing_left(after)
        nothing_K = jnp.zeros(self.spec.sides)
        return after, Step(reward_S, left_S, over, jnp.zeros((), bool), nothing_K, count_SJ=after.caught_SJ)

    def _nothing_left(self, state: StagHuntState) -> Array:
        """Whether those present can catch nothing any more."""
        hunters_left = jnp.sum(state.present_S.astype(jnp.int32))
        hare, stag = (jnp.any(cell_E >= 0) for cell_E in (state.hare_E, state.stag_E))
        return ~((hare & (hunters_left > 0)) | (stag & (hunters_left >= self.rules.needed)))

    def potential(self, state: StagHuntState) -> Array:
        """Nothing for those who have left."""
        here_S = jnp.where(state.present_S, state.cell_S, NOWHERE)
        return jnp.stack(
            [views.nearness(here_S, animal_E, self.size) for animal_E in (state.stag_E, state.hare_E)], axis=-1
        )

    def goals(self, state: StagHuntState) -> Goals:
        """Each stag, then each hare; steps are counted without walls. Of the last numbers of a goal the first two say
        what it is, then what it is worth as a share of the richest prize, and the share of hunters on it."""
        rules, animal_E = self.rules, jnp.concatenate([state.stag_E, state.hare_E])
        stag_E = jnp.arange(self.stags + self.hares) < self.stags
        enough = jnp.sum(state.present_S.astype(jnp.int32)) >= rules.needed
        open_SE = state.present_S[:, None] & (animal_E >= 0) & (enough | ~stag_E)
        down_SE, right_SE = goals.apart(state.cell_S, animal_E, self.size)
        here_S = jnp.where(state.present_S, state.cell_S, NOWHERE)
        richest = jnp.maximum(jnp.maximum(jnp.abs(rules.stag), jnp.abs(rules.hare)), 1e-6)
        worth_E = jnp.where(stag_E, rules.stag, rules.hare) / richest
        crowd_E = views.crowd(here_S, animal_E) / self.spec.seats
        about = [*goals.way(down_SE, right_SE, self.size), stag_E, ~stag_E, worth_E, crowd_E]
        return goals.shown(open_SE, jnp.abs(down_SE) + jnp.abs(right_SE), about)

    def reached(self, before: StagHuntState, action: Action, after: StagHuntState) -> Array:
        choice_S1 = action.discrete_SD[:, :1]
        animals = (STAG, before.stag_E, after.stag_E), (HARE, before.hare_E, after.hare_E)
        caught = [_on(before.cell_S, was_E) & (choice_S1 == act) & (is_E < 0) for act, was_E, is_E in animals]
        return jnp.concatenate(caught, axis=1) & before.present_S[:, None]

    def scene(self, state: StagHuntState) -> Scene:
        fixed = [
            *scenes.pieces("stag", state.stag_E, self.size, 0.45, label="S"),
            *scenes.pieces("hare", state.hare_E, self.size, 0.2, label="h"),
        ]
        walls = scenes.walls(state.wall_E, self.size)
        caption = f"step {int(state.played)} of {self.spec.longest}"
        return scenes.grid_scene(self.spec, state.cell_S, state.present_S, fixed, self.size, caption, walls)

    def bots(self) -> Bots:
        return hunters.bots()

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        board = (
            hunters.read_places(self, features_NF) if self.view == "places" else hunters.read_planes(self, features_NF)
        )
        return hunters.scores(parameters_J, board, self.size), jnp.zeros((features_NF.shape[0], 0))

    def bot_goals(self, parameters_J: Array, state: StagHuntState, memory: Any = None) -> Array:
        del memory
        return hunters.heading(parameters_J, hunters.board_of(state, self.size), self.size) & state.present_S[:, None]


def stag_hunt(
    size: int = 8,
    hunters: int = 4,
    stags: int = 1,
    hares: int = 4,
    walls: int = 5,
    steps: int = 35,
    view: Literal["places", "planes"] = "places",
) -> StagHunt:
    """Hunters on a grid: a stag (10) takes two at once, a hare (1) one; shared prizes, and who caught leaves."""
    if stags not in (1, 2) or hares < 1 or walls < 0 or steps < 1:
        found = f"stags={stags}, hares={hares}, walls={walls}, steps={steps}"
        raise ConfigError(f"stag_hunt needs 1 or 2 stags, 1 hare, 0 walls and 1 step or more, found {found}.")
    if view not in ("places", "planes"):
        raise ConfigError(f"view is 'places' or 'planes', found {view!r}.")
    grid.check_size("stag_hunt", size, hunters, stags + hares + walls, "stags, hares and walls")
    layout = _layout(size, hunters, stags, hares, walls, view)
    spec = GameSpec(
        seats=hunters,
        side_of_seat=tuple(range(hunters)),
        action=ActionSpec(heads=(7,)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout)),
        longest=steps,
        shortest=min(2, steps),
        exchangeable=(tuple(range(hunters)),),
        seat_names=tuple(f"hunter_{s}" for s in range(hunters)),
        counts=COUNTS,
        goals=("stag",) * stags + ("hare",) * hares,
        terms=TERMS,
        suits=(*DILEMMA, ("shaping", ("near_stag=2 -> 0",))),
    )
    rules = StagHuntRules(jnp.asarray(10.0, float), jnp.asarray(1.0, float), jnp.asarray(2, jnp.int32))
    return StagHunt(spec, rules, size, stags, hares, walls, view)


def _layout(size: int, hunters: int, stags: int, hares: int, walls: int, view: str) -> tuple[Feature, ...]:
    if view == "planes":
        board = Feature("map", (size, size, 5))  # own place, number of others, stags, hares, walls
        return board, Feature("others", (hunters - 1, size, size), lists="others"), Feature("time", (1,))
    return (
        Feature("own", (2,)),
        Feature("time", (1,)),
        Feature("others", (hunters - 1, 3), lists="others"),
        Feature("stags", (stags, 4)),
        Feature("hares", (hares, 4)),
        Feature("walls", (walls, 3)),
    )


def _on(cell_S: Array, animal_E: Array) -> Array:
    """Which hunters are on the cell of which animal, [S, E]. One that was caught is nowhere, where no hunter is."""
    return cell_S[:, None] == animal_E
