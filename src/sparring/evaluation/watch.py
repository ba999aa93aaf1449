"""One game to look at: every state of one world as a scene, and how it ended."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action, Step
from sparring.core.scene import Scene
from sparring.core.spec import GameSpec
from sparring.evaluation.ending import Ending
from sparring.evaluation.match import driver_of, family_of
from sparring.games.game import Game, State
from sparring.play.chance import game_chance, stream
from sparring.play.collect import draws, noise
from sparring.play.decide import blank_memory, decide, look, within_bounds
from sparring.play.rollout import Cursor, Driver
from sparring.play.roster import stack
from sparring.play.seating import Seating, seat
from sparring.play.starts import fresh_starts
from sparring.play.witness import first_minds, learned, recalled, thinking


class Watched(NamedTuple):
    scenes: tuple[Scene, ...]
    """The start, then what each step led to: one more than steps."""
    ending: Ending


def watch(
    game: Game,
    lineup: Sequence[str],
    players: Mapping[str, Any],
    *,
    seed: int,
    most_steps: int | None = None,
    start: State | None = None,
    memories: Sequence[Any] | None = None,
    seats_of_side: tuple[tuple[int, ...], ...] | None = None,
    deterministic: bool = False,
) -> Watched:
    """Play one game; `lineup` names the player that drives each side.

    `start` is a state to begin from instead of a fresh one, and `memories` what the policy of each side remembers
    there (leaves [N, ...]; blank if not given). Watching again with players of the same shapes compiles nothing.
    """
    check(game, most_steps)
    seating = seat_one(game.spec, lineup, players, seats_of_side or game.spec.seats_of_side)
    drivers = tuple(driver_of(group.lanes, [tuple(lineup)], players) for group in seating.groups)
    key = stream(jax.random.key(seed), "watch")
    first = fresh_starts(game, stream(key, "first games"), 1)
    if start is not None:  # as arrays of a fresh state's types, or else another program would be compiled
        first = jax.tree.map(lambda leaf, given: jnp.asarray(given, leaf.dtype)[None], first, start)
    steps = most_steps or game.spec.longest
    record = play_out(
        game, drivers, first, first_memory(seating, drivers, memories, key), key,
        seating=seating, steps=steps, explore=not deterministic,
    )  # fmt: skip
    states, step = jax.tree.map(np.asarray, record)
    ending = ending_of(game.spec, step)
    drawn = jax.tree.map(np.asarray, game)
    moments = (jax.tree.map(lambda leaf, t=t: leaf[t, 0], states) for t in range(ending.steps + 1))
    return Watched(tuple(drawn.scene(moment) for moment in moments), ending)


def watch_again(game: Game, start: State, action: Action, chance: Any) -> Watched:
    """A game whose every action is known, leaves [T, S, ...], from a state on."""
    check(game, None)

    def one_step(state: State, given: tuple[Action, Any]) -> tuple[State, tuple[State, Step]]:
        state, step = game.step(state, *given)
        return state, (state, step)

    _, (later, step) = jax.jit(lambda: lax.scan(one_step, start, (action, chance)))()
    states = jax.tree.map(lambda a, b: np.concatenate([np.asarray(a)[None], np.asarray(b)]), start, later)
    ending = ending_of(game.spec, jax.tree.map(lambda x: np.asarray(x)[:, None], step))
    drawn = jax.tree.map(np.asarray, game)
    moments = (jax.tree.map(lambda leaf, t=t: leaf[t], states) for t in range(ending.steps + 1))
    return Watched(tuple(drawn.scene(moment) for moment in moments), ending)


def check(game: Game, most_steps: int | None) -> None:
    if game.spec.outside:
        raise GameError(
            "Environments of other people draw themselves. Make yours with its render_mode, and let the policy play in "
            "a loop of your own: choose = sparring.load(RUN).agents(env), see docs/guide/your-environment.md."
        )
    if type(game).scene is Game.scene:
        raise GameError(
            "This game cannot be shown: it draws no scenes. A game of your own needs a method scene(state) -> Scene "
            "(docs/guide/your-game.md); of ours, boards, particles, dogfight, skirmish and the social games can be "
            "watched."
        )
    if most_steps is not None and most_steps < 1:
        raise ConfigError(f"most_steps must be at least 1, found {most_steps}.")


def seat_one(
    spec: GameSpec, lineup: Sequence[str], players: Mapping[str, Any], seats_of_side: tuple[tuple[int, ...], ...]
) -> Seating:
    """One world in which nobody learns."""
    families = [family_of(players[name]) for name in lineup]
    return seat(spec, seats_of_side, family_BK=[families], learner_BK=[[-1] * len(families)], worlds=1)


def first_memory(
    seating: Seating, drivers: Sequence[Driver], memories: Sequence[Any] | None, key: Array
) -> tuple[Any, ...]:
    """For each group what its policies remember, leaves [P, 1, N, ...]."""
    if memories is None:
        lots = (None if drawn is None else drawn[0] for drawn in draws(seating, drivers, key, 1))
        blank = (blank_memory(seating, *three) for three in zip(seating.groups, drivers, lots, strict=True))
        return tuple(of_policy for of_policy, _ in blank)
    return tuple(
        jax.tree.map(lambda leaf: leaf[:, None], stack([memories[side] for ((_, side),) in group.lanes]))
        for group in seating.groups
    )


@partial(jax.jit, static_argnames=("seating", "steps", "explore"))
def play_out(
    game: Game,
    drivers: Sequence[Driver],
    first: State,
    memory: tuple[Any, ...],
    key: Array,
    *,
    seating: Seating,
    steps: int,
    explore: bool,
) -> tuple[State, Step]:
    """The states of one world, leaves [T + 1, 1, ...], and its steps. What follows an end is no part of the game."""
    random = (
        game_chance(game, stream(key, "chance"), steps, 1), noise(seating, drivers, key, steps, explore),
        draws(seating, drivers, key, steps),
    )  # fmt: skip
    players = list(zip(seating.groups, drivers, strict=True))
    begins, none = jnp.ones((1, 1), bool), jnp.zeros((1, 1))
    cursor = Cursor(first, memory, begins, none, none, minds=first_minds(seating, drivers))

    def one_step(cursor: Cursor, random: Any) -> tuple[Cursor, tuple[State, Step]]:
        chance, numbers, lots = random
        sight = look(game, seating, drivers, cursor.state)
        seen, thoughts = thinking(game, seating, players, cursor, sight)
        known = recalled(seating, players, cursor.memory, thoughts, cursor.state, lots)
        decisions = [decide(seating, *p, sight, m, n) for p, m, n in zip(players, known, numbers, strict=True)]
        action = Action(*(seating.to_seats(parts) for parts in zip(*(d.action for d in decisions), strict=True)))
        played = jax.tree.map(lambda x: x[0], within_bounds(action, game.spec.action))
        state, step = jax.vmap(game.step)(cursor.state, played, chance)
        happened = (cursor.state, played, state, step.reward_S[None])
        _, minds = learned(game, seating, players, seen, thoughts, action, happened)
        kept = tuple(decision.memory for decision in decisions)
        later = cursor._replace(state=state, memory=kept, start_BW=jnp.zeros((1, 1), bool), minds=minds)
        return later, (state, step)

    _, (later, step) = lax.scan(one_step, cursor, random, length=steps)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, later), step


def ending_of(spec: GameSpec, step: Step) -> Ending:
    """What the steps of one world (NumPy, leaves [T, 1, ...]) say of its first game."""
    ended_T = (step.over | step.cut)[:, 0]
    finished = bool(ended_T.any())
    steps = int(ended_T.argmax()) + 1 if finished else len(ended_T)
    return_S = np.asarray(step.reward_S)[:steps, 0].sum(axis=0)
    return_K = tuple(float(return_S[list(seats)].mean()) for seats in spec.seats_of_side)
    outcome_K: tuple[float, ...] = ()
    cause_K: tuple[str, ...] = ()
    fate_K: tuple[str, ...] = ()
    if finished and spec.score == "outcome":
        outcome_K = tuple(float(np.sign(x)) for x in np.asarray(step.outcome_K)[steps - 1, 0])
    if finished and spec.causes:
        why = [int(i) for i in np.asarray(step.cause_K)[steps - 1, 0]]
        cause_K, fate_K = tuple(spec.causes[i] for i in why), tuple(spec.fates[i] for i in why) if spec.fates else ()
    return Ending(
        steps=steps, finished=finished, outcome_K=outcome_K, cause_K=cause_K, fate_K=fate_K, return_K=return_K
    )
