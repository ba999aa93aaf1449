"""The rules of one world. Every method is pure and written for one world; the library plays thousands with vmap."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, GameError, unknown
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import GameSpec, Listing

State = Any
Chance = Any
Rules = Any
NUMBERS = (jax.Array, np.ndarray, np.generic, bool, int, float, jax.ShapeDtypeStruct)
"""What a part of a game may hold that changes while its program stays; the last while it is only traced."""


class Bots(eqx.Module):
    """The scripted players of a game: a row of parameters for each; `Game.bot_scores` is the one function they share.

    One parametrised function, because a vmapped choice between functions computes every branch.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    table_PJ: Array
    side: tuple[int | None, ...] | None = eqx.field(static=True, default=None)
    """The side each bot is written for, None for any; without the tuple all play any side."""

    def fitting(self, side: int) -> tuple[str, ...]:
        """The bots that can drive a side."""
        sides = self.side or (None,) * len(self.names)
        return tuple(name for name, own in zip(self.names, sides, strict=True) if own in (None, side))


class Game(eqx.Module):
    """A game: override `start`, `observe` and `step`; the rest has defaults.

    Fields of states, chances and rules end in their shape letters (`position_SX`): `permute` reads the S in them.
    """

    spec: eqx.AbstractVar[GameSpec]
    rules: eqx.AbstractVar[Rules]

    def __check_init__(self) -> None:
        for field in fields(self):
            leaves = () if field.metadata.get("static") else jax.tree.leaves(getattr(self, field.name))
            for leaf in leaves:
                if not isinstance(leaf, NUMBERS):
                    raise GameError(
                        f"{type(self).__name__}.{field.name} holds a {type(leaf).__name__}, which is no array. "
                        f"Declare it as {field.name}: ... = eqx.field(static=True)."
                    )

    def start(self, key: Array) -> State:
        """A fresh state."""
        raise NotImplementedError

    def chance(self, key: Array) -> Chance:
        """All random numbers of one step, drawn before it; fields with a seat axis belong to that seat."""
        del key
        return ()

    def observe(self, state: State) -> Observation:
        raise NotImplementedError

    def step(self, state: State, action: Action, chance: Chance) -> tuple[State, Step]:
        raise NotImplementedError

    def central(self, state: State) -> Array:
        """central_CG: what a critic may see and a policy may not. Default: all features, each seat's own first."""
        features_SF = self.observe(state).features_SF
        seats = self.spec.seats
        order_SS = (jnp.arange(seats)[:, None] + jnp.arange(seats)) % seats
        return features_SF[order_SS].reshape(seats, -1)

    def goals(self, state: State) -> Goals:
        """How every seat is placed to everything it may be after, `GameSpec.goals`. It speaks of the state itself:
        where something is hidden, whoever is told goals knows more than features say."""
        del state
        seats = self.spec.seats
        return Goals(jnp.zeros((seats, 0), bool), jnp.zeros((seats, 0)), jnp.zeros((seats, 0, 0)))

    def reached(self, before: State, action: Action, after: State) -> Array:
        """reached_SG: in which goals that were open before this step each seat had part in it; `after` is the state
        that `step` gave, not a new start."""
        del before, action, after
        return jnp.zeros((self.spec.seats, 0), bool)

    def openings(self) -> tuple[State, np.ndarray] | None:
        """Every state in which a game can start, stacked on a leading axis, and the probability of each.

        Override it where chance falls at the start alone and the game is small: `games/tree` then knows exact answers.
        By itself a game of one step without chance has its one start.
        """
        return only_opening(self)

    def potential(self, state: State) -> Array:
        """potential_SJ of the shaping terms of kind potential, the better the higher; learners add the discount."""
        del state
        return jnp.zeros((self.spec.seats, 0))

    def scene(self, state: State) -> Scene:
        """One state, in NumPy, as a viewer draws it."""
        raise NotImplementedError(f"{type(self).__name__} draws no scenes: override scene()")

    def rule_names(self) -> tuple[str, ...]:
        """The rules that can be changed by name, those inside records of the rules too."""
        named = (_last_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(self.rules))
        return tuple(dict.fromkeys(name for name in named if name))

    def with_rules(self, **values: float) -> "Game":
        """The same game with some rules changed by name. Rules are traced, so a change never recompiles."""
        known = self.rule_names()
        for name in values:
            if name not in known:
                raise ConfigError(unknown("rule", name, known))

        def changed(path: tuple, leaf: Array) -> Array:
            name = _last_name(path)
            return jnp.full_like(leaf, values[name]) if name in values else leaf

        rules = jax.tree_util.tree_map_with_path(changed, self.rules)
        return eqx.tree_at(lambda game: game.rules, self, rules)

    def permute(self, tree: Any, order_S: Array) -> Any:
        """The same record with seats reordered: new seat i is old seat order_S[i].

        A record is a state, a chance, the rules, an Action, an Observation, a Step or Goals. Override this where a
        number in one names a seat. Where choices do, such as "attack enemy i", `permute_choices` is the override;
        features that list seats are listed again afterwards, as `Feature.lists` says.
        """
        return permute_seats(tree, order_S)

    def bots(self) -> Bots:
        """The scripted players besides `random`, which every game has."""
        return Bots((), jnp.zeros((0, 1)))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """What a scripted player does for one side, from what a policy sees: logits_NA of the discrete heads (illegal
        entries are masked afterwards) and mean_NC of the continuous dimensions; either may have no columns."""
        raise NotImplementedError

    def bot_memory(self, *batch: int) -> Any:
        """What scripted players remember, blank, with leading axes `batch` (the last is N); most remember nothing."""
        del batch
        return ()

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Any
    ) -> tuple[Array, Array, Any]:
        """`bot_scores` for players that remember: override this with `bot_memory` instead."""
        return *self.bot_scores(parameters_J, features_NF, legal_NA), memory

    def bot_goals(self, parameters_J: Array, state: State, memory: Any = None) -> Array | None:
        """wanted_SG: what each seat would be after if this scripted player drove it: the goals that it heads for now,
        all that are equally near. None where bots do not tell. To judge guesses by, never to be shown to players;
        `memory` is what `bot_memory` of all seats has become, blank if not given."""
        del parameters_J, state, memory
        return None


MOST_JOINT = 100_000
"""Joint choices of a game whose tree is grown without being asked for."""


def only_opening(game: Game) -> tuple[State, np.ndarray] | None:
    """The one start of a game of one step in which nothing is left to chance; None of all others."""
    spec, key = game.spec, jax.random.key(0)
    alone = spec.seats == spec.sides > 1 and len(spec.action.heads) == 1 and not spec.action.dimensions
    if spec.longest > 1 or spec.outside or not alone or spec.action.entries**spec.seats > MOST_JOINT:
        return None
    if jax.tree.leaves(jax.eval_shape(game.chance, key)) or depends(game.start, key):
        return None
    return jax.tree.map(lambda x: np.asarray(x)[None], game.start(key)), np.ones(1)


def depends(function: Callable[[Any], Any], value: Any) -> bool:
    """Whether anything that a function gives may depend on its argument, by its program: sure where it says no."""
    program = jax.make_jaxpr(function)(value).jaxpr
    reached = set(program.invars)
    for step in program.eqns:
        if any(not hasattr(x, "val") and x in reached for x in step.invars):  # a literal has a value
            reached |= set(step.outvars)
    return any(not hasattr(x, "val") and x in reached for x in program.outvars)


def permute_seats(tree: Any, order_S: Array) -> Any:
    """Reorder every axis whose letter in the field's name is S. Leaves that name seats need their own rule."""

    def reorder(path: tuple, leaf: Array) -> Array:
        letters = _last_name(path).rpartition("_")[2]
        if not letters.isupper():
            return leaf
        for axis, letter in enumerate(letters):
            leaf = jnp.take(leaf, order_S, axis=axis) if letter == "S" else leaf
        return leaf

    return jax.tree_util.tree_map_with_path(reorder, tree)


def permute_choices(tree: Any, order_S: Array, spec: GameSpec, *, lists: Listing, first: int = 0, head: int = 0) -> Any:
    """`permute_seats` where the choices of a head from `first` on name the listed seats: `Game.permute` of such a game.

    In an Action the choices, in an Observation the legal entries are named anew; a state that keeps choices needs its
    own rule (`listed_rows`, `renamed`).
    """
    row_SR = listed_rows(spec, lists, order_S, spec.action.heads[head] - first)
    return rename_choices(permute_seats(tree, order_S), row_SR, spec, first=first, head=head)


def rename_choices(tree: Any, row_SR: Array, spec: GameSpec, *, first: int = 0, head: int = 0) -> Any:
    """Choices or legal entries named anew, in a record whose seats are in their new order already: what is choice
    `first` + r of a seat now was `first` + row_SR[s, r]."""
    if isinstance(tree, Action):
        choice_S = renamed(tree.discrete_SD[:, head], row_SR, first)
        return tree._replace(discrete_SD=tree.discrete_SD.at[:, head].set(choice_S))
    if isinstance(tree, Observation):
        begin = sum(spec.action.heads[:head])
        names = slice(begin + first, begin + spec.action.heads[head])
        named_SR = jnp.take_along_axis(tree.legal_SA[:, names], row_SR, axis=1)
        return tree._replace(legal_SA=tree.legal_SA.at[:, names].set(named_SR))
    return tree


def renamed(choice_S: Array, row_SR: Array, first: int) -> Array:
    """Choices under their new names; those below `first` name nobody."""
    named_S = first + jnp.argmax(row_SR == (choice_S - first)[:, None], axis=1).astype(choice_S.dtype)
    return jnp.where(choice_S < first, choice_S, named_S)


def listed_rows(spec: GameSpec, lists: Listing, order_S: Array, rows: int) -> Array:
    """row_SR: which row of the list of old seat order_S[s] becomes row r of new seat s; padding stays in place."""
    return named_rows(spec.listed(lists), order_S, order_S, rows)


def named_rows(listed: Sequence[Sequence[int]], order_S: Array, order_U: Array, rows: int) -> Array:
    """The same of any lists, one for each seat, of things that need not be seats: new thing u is old order_U[u]."""
    listed_SR, place_SU = np.full((len(listed), rows), -1), np.zeros((len(listed), len(order_U)), int)
    for seat, own in enumerate(listed):
        listed_SR[seat, : len(own)] = own
        place_SU[seat, list(own)] = range(len(own))
    row_SR = jnp.asarray(place_SU)[order_S[:, None], order_U[listed_SR]]
    return jnp.where(listed_SR < 0, jnp.arange(rows), row_SR)


def _last_name(path: tuple) -> str:
    """The name of the field that holds a leaf, or nothing."""
    named = [key.name for key in path if isinstance(key, jax.tree_util.GetAttrKey)]
    return named[-1] if named else ""
