"""The battles of the StarCraft Multi-Agent Challenge (arXiv:1902.04043) without StarCraft.

Side 0 are the allies. Their opponents follow a script, as in SMAC, or are a second side of learners that sees the map
mirrored (`opponent="policy"`, not in SMAC). Numbers, observation, state, masks, reward and limits are those of SMAC;
how its engine packs units, finds paths and chooses targets is an approximation (docs/guide/skirmish.md).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError, unknown
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import ActionSpec, GameSpec
from sparring.games.game import Bots, Game
from sparring.games.skirmish import bots as scripted
from sparring.games.skirmish import command, exchange, goals, scenes, shaping, starts, terrain, view
from sparring.games.skirmish.army import Army
from sparring.games.skirmish.battle import Battle, Luck, fought
from sparring.games.skirmish.lengths import rounded
from sparring.games.skirmish.maps import MAPS
from sparring.games.skirmish.movement import Land, land_of
from sparring.games.skirmish.reward import Pay, Result, Scoring, judged
from sparring.games.skirmish.units import EARLY, LATE
from sparring.games.skirmish.view import Actor, Critic, Shape
from sparring.games.worlds_last import worlds_last

CAUSES = ("battle", "timeout")


class Rules(NamedTuple):
    """What can change without recompiling."""

    pay: Pay
    jitter: Array
    """Share of the spread of weapon periods, from EARLY to LATE."""
    start_noise: Array
    """How far from its place in the formation a unit may begin, cells."""


@dataclass(frozen=True)
class Setting:
    """What is compiled in."""

    shape: Shape
    scoring: Scoring
    critic: Critic
    death_masking: bool

    @property
    def army(self) -> Army:
        return self.shape.army

    @property
    def duel(self) -> bool:
        return self.shape.duel

    @property
    def sides(self) -> tuple[int, ...]:
        return self.shape.sides


class Skirmish(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    land: Land
    """Tables too large to be compiled in."""
    setting: Setting = eqx.field(static=True)

    def start(self, key: Array) -> Battle:
        return starts.start(key, self.setting.army, self.spec.seats, self.rules.start_noise)

    def chance(self, key: Array) -> Luck:
        favour_U, late_U = jax.random.uniform(key, (2, self.setting.army.units))
        return Luck(favour_U, rounded(self.rules.jitter * (rounded((EARLY + LATE) * late_U) - EARLY)))

    def observe(self, state: Battle) -> Observation:
        features_SF, legal_SA = worlds_last(partial(_seen, self.setting))(state)
        alive_S = state.health_U[: self.spec.seats] > 0
        # The dead still share what their side earns: their critic goes on learning, their actor does not.
        return Observation(features_SF, legal_SA, jnp.ones(self.spec.seats, bool), alive_S)

    def central(self, state: Battle) -> Array:
        return worlds_last(partial(_central, self.setting))(state)

    def step(self, state: Battle, action: Action, chance: Luck) -> tuple[Battle, Step]:
        advance = worlds_last(partial(_advanced, self.setting))
        after, result = advance(self.rules, self.land, state, action.discrete_SD[:, 0], chance)
        none_S = jnp.zeros(self.spec.seats, bool)
        step = Step(result.reward_S, none_S, result.over, result.cut, result.outcome_K, cause_K=result.cause_K)
        return after, step

    def potential(self, state: Battle) -> Array:
        return worlds_last(partial(_potentials, self.setting))(state)

    def goals(self, state: Battle) -> Goals:
        return worlds_last(partial(_goals, self.setting))(state)

    def reached(self, before: Battle, action: Action, after: Battle) -> Array:
        del after
        return worlds_last(partial(_attacked, self.setting))(before, action.discrete_SD[:, 0])

    def permute(self, tree: Any, order_S: Array) -> Any:
        return exchange.permuted(self.spec, self.setting.army, tree, order_S)

    def scene(self, state: Battle) -> Scene:
        return scenes.draw(state, self.setting.army, self.spec)

    def bots(self) -> Bots:
        return scripted.table()

    def bot_memory(self, *batch: int) -> scripted.Memory:
        return scripted.blank(*batch)

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: scripted.Memory
    ) -> tuple[Array, Array, scripted.Memory]:
        return scripted.turn(self.setting.shape, parameters_J, features_NF, legal_NA, memory)

    def bot_goals(self, parameters_J: Array, state: Battle, memory: scripted.Memory | None = None) -> Array:
        """Of the foes it sees; nothing where it sees none."""
        remembered = scripted.blank(self.spec.seats) if memory is None else memory
        return scripted.heading(self.setting.shape, parameters_J, self.observe(state).features_SF, remembered)


def _seen(setting: Setting, battle: Battle) -> tuple[Array, Array]:
    army, stats = setting.army, setting.army.stats(battle.kind_U)
    legal = [command.legal(army, stats, battle, side, setting.shape.choices) for side in setting.sides]
    seen = [view.observed(setting.shape, stats, battle, side, legal[side]) for side in setting.sides]
    return jnp.concatenate(seen), jnp.concatenate(legal)


def _central(setting: Setting, battle: Battle) -> Array:
    army, shape, stats = setting.army, setting.shape, setting.army.stats(battle.kind_U)
    if setting.critic == "smac":
        return jnp.stack([view.state(shape, stats, battle, side) for side in setting.sides])
    rows = []
    for side in setting.sides:
        legal = command.legal(army, stats, battle, side, shape.choices)
        rows.append(view.central(shape, stats, battle, side, legal, setting.critic, masked=setting.death_masking))
    return jnp.concatenate(rows)


def _goals(setting: Setting, battle: Battle) -> Goals:
    return goals.placed(setting.shape, setting.army.stats(battle.kind_U), battle)


def _attacked(setting: Setting, battle: Battle, choice_S: Array) -> Array:
    return goals.attacked(setting.shape, setting.army.stats(battle.kind_U), battle, choice_S)


def _potentials(setting: Setting, battle: Battle) -> Array:
    return shaping.potentials(setting.army, setting.army.stats(battle.kind_U), battle, setting.sides)


def _advanced(
    setting: Setting, rules: Rules, land: Land, battle: Battle, choice_S: Array, luck: Luck
) -> tuple[Battle, Result]:
    army, stats = setting.army, setting.army.stats(battle.kind_U)
    orders = []
    for side in setting.sides:
        legal = command.legal(army, stats, battle, side, setting.shape.choices)
        orders.append(command.orders(army, stats, battle, side, choice_S[army.slice(side)], legal))
    told = (orders[0], orders[1] if setting.duel else None)
    after = fought(army, land, battle, told, luck)
    after = after._replace(last_S=choice_S, played=battle.played + 1)
    return after, judged(army, stats, setting.scoring, rules.pay, battle, after)


def skirmish(
    map: str,
    opponent: Literal["scripted", "policy"] = "scripted",
    timing: Literal["smac", "smaclite"] = "smac",
    weapons: Literal["ladder", "liberty"] = "ladder",
    reward: Literal["shaped", "signed", "sparse"] = "shaped",
    reward_abs: bool = True,
    time_limit: Literal["terminal", "truncation"] = "terminal",
    obs_kind: Actor = "smac",
    state_kind: Critic = "smac",
    death_masking: bool = True,
    type_bits: Literal["smac", "aligned"] = "smac",
    cooldown_jitter: bool = True,
    start_noise: float = 0.0,
    random_types: bool = False,
) -> Skirmish:
    """A battle of SMAC, against its script or between learners."""
    if map not in MAPS:
        raise ConfigError(unknown("map", map, MAPS))
    battle_map = MAPS[map]
    if start_noise < 0:
        raise ConfigError(f"start_noise is a radius in cells, at least 0, found {start_noise:g}.")
    if random_types and battle_map.goal is None:
        raise ConfigError(f"{map} has a building for an enemy, which cannot be drawn: leave random_types false.")
    army = Army(battle_map, timing == "smaclite", random_types, weapons == "ladder")
    duel = opponent == "policy"
    shape = Shape(army, duel, type_bits == "smac", obs_kind)
    scoring = Scoring(reward, reward_abs, time_limit == "terminal", duel, battle_map.limit)
    setting = Setting(shape, scoring, state_kind, death_masking)
    rules = Rules(
        pay=Pay.standard(),
        jitter=jnp.asarray(float(cooldown_jitter)),
        start_noise=jnp.asarray(start_noise, float),
    )
    return Skirmish(_spec(setting), rules, land_of(terrain.ground(battle_map.ground)), setting)


def variant_line(map: str) -> str:
    return f"{MAPS[map].description}."


def _spec(setting: Setting) -> GameSpec:
    army, shape = setting.army, setting.shape
    seats = army.units if setting.duel else army.sizes[0]
    names = [_seat_names(army, side) for side in setting.sides]
    return GameSpec(
        seats=seats,
        side_of_seat=tuple(side for side in setting.sides for _ in range(army.sizes[side])),
        action=ActionSpec(heads=(shape.choices,)),
        layout=shape.layout(),
        central=shape.central(setting.critic),
        longest=army.battle_map.limit,
        shortest=starts.least_steps(army),
        exchangeable=exchange.groups(army, setting.sides) if shape.actor == "smac" else (),  # a name tells seats apart
        sides_alike=setting.duel and army.battle_map.even,
        score="outcome",
        # Every unit is paid, in shares of what its foes are worth: one side gains what the other loses only where both
        # armies are alike.
        zero_sum=setting.duel and setting.scoring.reward == "sparse" and army.battle_map.even,
        seat_names=tuple(name for side in names for name in side),
        causes=CAUSES,
        goals=("foe",) * shape.foes,
        terms=shaping.TERMS,
    )


def _seat_names(army: Army, side: int) -> list[str]:
    """Like red_marine_2; where kinds are drawn, red_2."""
    colour = ("red", "blue")[side]
    kinds = [kind.removesuffix("_rl") for kind in army.battle_map.kinds(side)]
    if army.drawn:
        return [f"{colour}_{n}" for n in range(len(kinds))]
    return [f"{colour}_{kind}_{kinds[:n].count(kind)}" for n, kind in enumerate(kinds)]
