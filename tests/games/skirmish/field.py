"""Units put where a test wants them, and battles played on. Places are counted from the middle of the map."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.games.game import Game
from sparring.games.skirmish import terrain
from sparring.games.skirmish.army import NOBODY, Army
from sparring.games.skirmish.battle import Battle, Luck, Orders, fought
from sparring.games.skirmish.maps import BattleMap, Group
from sparring.games.skirmish.movement import land_of
from sparring.games.skirmish.units import KINDS
from sparring.games.trial import Noise, quick_jit, random_action

SLOTS = (
    "zergling", "zergling", "zergling", "marine", "marine", "marine", "marauder", "medivac", "medivac", "stalker",
    "zealot", "zealot", "colossus", "hydralisk_rl", "baneling", "baneling", "spine_crawler",
)  # fmt: skip
"""Both sides have these units, so that one program plays all scenes; those a scene does not name are dead."""
MENAGERIE = Army(
    BattleMap(
        name="menagerie",
        allies=tuple(Group(kind, 1, (8.0, 16.0)) for kind in SLOTS),
        enemies=tuple(Group(kind, 1, (24.0, 16.0)) for kind in SLOTS),
        limit=100,
        ground="open",
        goal=(16.0, 16.0),
    ),
    smaclite=False,
    drawn=False,
)


class Unit(NamedTuple):
    kind: str
    x: float
    y: float
    health: float | None = None
    shield: float | None = None
    energy: float = 50.0
    cooldown: float = 0.0
    calm: float = 160.0


class Order(NamedTuple):
    """Whom to attack among the enemies of a scene, whom to heal among the friends, or where to walk."""

    attack: int | None = None
    heal: int | None = None
    walk: tuple[float, float] | None = None


class Scene(NamedTuple):
    battle: Battle
    numbers: tuple[list[int], list[int]]
    """Of the units of each side, in the order in which the scene names them."""


class Course(NamedTuple):
    """A battle step by step, [T + 1, units of both sides as the scene names them]; the last axis of places is x, y."""

    place: np.ndarray
    health: np.ndarray
    shield: np.ndarray
    energy: np.ndarray
    cooldown: np.ndarray
    target: np.ndarray
    """By its number among the units of the scene; -1: nobody."""


def scene(allies: Sequence[Unit], enemies: Sequence[Unit], goal: tuple[float, float] = (0.0, 0.0)) -> Scene:
    count = len(SLOTS)
    columns = {name: np.zeros(2 * count, np.float32) for name in ("health", "shield", "energy", "cooldown", "calm")}
    place_XU = np.zeros((2, 2 * count), np.float32)
    numbers: tuple[list[int], list[int]] = ([], [])
    for side, units in enumerate((allies, enemies)):
        for unit in units:
            free = (side * count + slot for slot, kind in enumerate(SLOTS) if kind == unit.kind)
            number = next(number for number in free if number not in numbers[side])
            numbers[side].append(number)
            kind = KINDS[unit.kind]
            place_XU[:, number] = unit.x, unit.y
            full = {"health": kind.health, "shield": kind.shield}
            for name in columns:
                value = getattr(unit, name)
                columns[name][number] = full[name] if value is None else value
    parts: dict[str, Any] = {
        "place_XU": place_XU,
        "health_U": columns["health"],
        "shield_U": columns["shield"],
        "energy_U": columns["energy"],
        "cooldown_U": columns["cooldown"],
        "calm_U": columns["calm"],
        "target_U": np.full(2 * count, NOBODY, np.int32),
        "shot_U": np.full(2 * count, NOBODY, np.int32),
        **dict.fromkeys(("lands_U", "windup_U", "turn_U", "habit_U"), np.zeros(2 * count, np.float32)),
        "kind_U": MENAGERIE.kind_U,
        "goal_X": np.array(goal, np.float32),
        "last_S": np.full(count, NOBODY, np.int32),
        "played": np.zeros((), np.int32),
    }
    return Scene(Battle(**{name: jnp.asarray(part)[..., None] for name, part in parts.items()}), numbers)


@cache
def step_of(scripted: bool) -> Callable[[Battle, tuple, Luck], Battle]:
    land = jax.tree.map(lambda x: x[..., None], land_of(terrain.ground("open")))
    if scripted:
        return quick_jit(lambda battle, told, luck: fought(MENAGERIE, land, battle, (told[0], None), luck))
    return quick_jit(lambda battle, told, luck: fought(MENAGERIE, land, battle, told, luck))


def course(
    begun: Scene,
    steps: int,
    allies: dict[int, Order] | None = None,
    enemies: dict[int, Order] | None = None,
    *,
    scripted: bool = False,
    delay: float | Sequence[float] = 0.0,
    favour: Sequence[float] | None = None,
) -> Course:
    """What follows while every unit keeps the order it was given; those without one stand. `delay` is that of every
    shot of a step; `favour` is given for the units of the scene."""
    battle, count = begun.battle, 2 * len(SLOTS)
    who = [*begun.numbers[0], *begun.numbers[1]]
    favour_U = np.linspace(0.9, 1.0, count, dtype=np.float32)
    if favour is not None:
        favour_U[who] = favour
    told = tuple(_orders(begun, side, given or {}) for side, given in enumerate((allies, enemies)))
    path = [battle]
    for delay_of_step in np.broadcast_to(np.asarray(delay, np.float32), (steps,)):
        luck = Luck(jnp.asarray(favour_U)[:, None], jnp.full((count, 1), delay_of_step))
        battle = step_of(scripted)(battle, told, luck)
        path.append(battle)
    table = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf)[..., 0] for leaf in leaves]), *path)
    name = np.full(count + 1, NOBODY)
    name[who] = range(len(who))
    return Course(
        np.moveaxis(table.place_XU, 1, 2)[:, who],
        *(part[:, who] for part in (table.health_U, table.shield_U, table.energy_U, table.cooldown_U)),
        target=name[table.target_U[:, who]],
    )


def _orders(begun: Scene, side: int, given: dict[int, Order]) -> Orders:
    count = len(SLOTS)
    target_N, walks_N = np.full(count, NOBODY, np.int32), np.zeros(count, bool)
    point_XN = np.array(begun.battle.place_XU)[:, side * count : (side + 1) * count, 0].copy()
    for unit, order in given.items():
        slot = begun.numbers[side][unit] - side * count
        if order.attack is not None:
            target_N[slot] = begun.numbers[1 - side][order.attack]
        if order.heal is not None:
            target_N[slot] = begun.numbers[side][order.heal]
        if order.walk is not None:
            walks_N[slot], point_XN[:, slot] = True, order.walk
    return Orders(*(jnp.asarray(part)[..., None] for part in (target_N, walks_N, point_XN)))


def begun(game: Game, worlds: int, seed: int = 0) -> Any:
    return _begun(game, jax.random.split(jax.random.key(seed), worlds))


@quick_jit
def _begun(game: Game, key_W: Array) -> Any:
    return jax.vmap(game.start)(key_W)


@quick_jit
def _advanced(game: Game, state: Any, choice_WS: Array, noise: Noise, luck: Luck) -> tuple[Any, Observation, Step]:
    def one(state: Any, choice_S: Array, noise: Noise, luck: Luck) -> tuple[Any, Observation, Step]:
        seen = game.observe(state)
        drawn_SD = random_action(noise, game.spec.action, seen.legal_SA).discrete_SD
        choice_SD = jnp.where(choice_S[:, None] < 0, drawn_SD, choice_S[:, None])
        after, step = game.step(state, Action(choice_SD, jnp.asarray(noise.continuous_SC)), luck)
        return after, seen, step

    return jax.vmap(one)(state, choice_WS, noise, luck)


def luck_of(game: Any, rng: np.random.Generator, *batch: int, jitter: bool = True) -> Luck:
    shape = (*batch, game.setting.army.units)
    delay = 3.0 * rng.random(shape, np.float32) - 1.0 if jitter else np.zeros(shape, np.float32)
    return Luck(jnp.asarray(rng.random(shape, np.float32)), jnp.asarray(delay))


def advanced(
    game: Any, state: Any, choice: Any = -1, *, seed: int = 0, jitter: bool = True
) -> tuple[Any, Observation, Step]:
    """All worlds one step on; choices are given for [W, S] or what broadcasts to it, -1 for a random legal one. Also
    what was seen before. Programs are compiled once for a game and a number of worlds."""
    rng, spec = np.random.default_rng(seed), game.spec
    worlds = state.played.shape[0]
    choice_WS = jnp.broadcast_to(jnp.asarray(choice, jnp.int32), (worlds, spec.seats))
    noise = Noise(
        jnp.asarray(rng.random((worlds, spec.seats, spec.action.entries), np.float32)),
        jnp.zeros((worlds, spec.seats, 0)),
    )
    luck = luck_of(game, np.random.default_rng([seed, 1]), worlds, jitter=jitter)
    return _advanced(game, state, choice_WS, noise, luck)


@quick_jit
def looked(game: Game, state: Any) -> tuple[Observation, Array]:
    """What the seats and the critics of one world see."""
    return game.observe(state), game.central(state)


def changed(state: Battle, **fields: Any) -> Battle:
    """The same battle with other values, given for all units or for some: health_U={2: 0.0}."""
    new = {}
    for name, value in fields.items():
        whole = np.array(getattr(state, name))
        if isinstance(value, dict):
            for unit, own in value.items():
                whole[..., unit] = own
        else:
            whole[...] = value
        new[name] = jnp.asarray(whole)
    return state._replace(**new)
