"""From a config to something that runs: the game, the plan, the knobs of every iteration."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

import jax
import numpy as np
from jax import Array

from sparring.core import code
from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.core.settings import checked_types
from sparring.core.spec import GameSpec
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.outside import leases_in
from sparring.league.config import check_asked_of_game
from sparring.league.player import FIRST
from sparring.league.stages import parse_stages
from sparring.learn.config import NEUTRAL, PPOConfig, knobs_at
from sparring.learn.learner import Learner
from sparring.learn.module import weights_of
from sparring.nets.config import NetConfig
from sparring.play.rollout import Pairing
from sparring.play.roster import stack
from sparring.play.scripted import Scripted, bot_names
from sparring.play.seating import Seating
from sparring.setup.checks import check, nearest_divisor
from sparring.setup.config import RunConfig, has_bots, weakens
from sparring.setup.evaluations import with_evaluations
from sparring.setup.imagining import apart, check_branches
from sparring.setup.line_up import BOTS, LineUp, bots_family, layout_of, line_up
from sparring.setup.memory import check_memory
from sparring.setup.own_code import with_own_parts
from sparring.setup.own_settings import check_learners, configs_of
from sparring.setup.planners import check_planned_training
from sparring.setup.program import RULES, Kind, Orders, Plan
from sparring.setup.rows import taken
from sparring.setup.stages import check_stages, plans, rule_names, rule_rows

FILMED = 8
"""Most steps from one state that is kept for defeats to the next."""


@dataclass(frozen=True)
class Built:
    """A run ready to start."""

    config: RunConfig
    game: Game
    lineup: LineUp
    plan: Plan
    rosters: dict[str, Any]
    """By family the stacked policies that do not learn here."""
    settings: tuple[tuple[PPOConfig, ...], ...]
    """The settings of every learner, in the order of the learning groups."""
    nets: tuple[NetConfig, ...]
    """The networks of each learning group."""
    counted_steps: int = 0
    """Steps of an iteration where the seating has changed since the run began: as they were counted then."""

    @cached_property
    def steps_per_iteration(self) -> int:
        """Steps of one seed, counted over the seats that learn."""
        return self.counted_steps or steps_counted(self.plan.seating, self.plan.steps)

    @property
    def shadowed(self) -> bool:
        """Whether every learner has a shadow."""
        return all(kind.ppo.has_shadow for kind in self.plan.kinds)

    @property
    def by_rows(self) -> bool:
        """Whether what anybody chooses follows from the present features of the seat alone."""
        return all(net.by_rows for net in self.nets)

    @property
    def iterations(self) -> int:
        return -(-self.config.total_steps // self.steps_per_iteration)

    @property
    def seeds_R(self) -> np.ndarray:
        return np.arange(self.config.seed, self.config.seed + self.config.seeds, dtype=np.uint32)

    @property
    def standing(self) -> Orders:
        """Orders that seat row 0 everywhere, for every seed: where players never change, these stay."""
        groups = [group for group in self.plan.seating.groups if not group.learns]
        config, blocks = self.config, self.plan.seating.blocks

        def filled(value: float, kind: Any, *shape: int) -> Array:
            return jax.device_put(np.full((config.seeds, *shape), value, kind))

        def rows(value: float, kind: Any) -> tuple[Array, ...]:
            return tuple(filled(value, kind, group.players) for group in groups)

        weak, defeats, none = weakens(config), config.defeats, (None,) * len(groups)
        lanes = blocks * self.plan.seating.away
        pairing = Pairing(filled(0, np.int32, 2, lanes), filled(0, np.uint32, 2, lanes), filled(0, bool, blocks))
        return Orders(
            rows=rows(0, np.int32),
            ids=tuple(filled(FIRST["bot"] if g.family.startswith(BOTS) else 0, np.uint32, g.players) for g in groups),
            temperature=rows(1.0, np.float32) if weak else none,
            epsilon=rows(0.0, np.float32) if weak else none,
            pairing=pairing if self.plan.seating.changing else None,
            reach=filled(defeats.defeat_reach, np.int32) if defeats.defeat_share else None,
            replay_share=filled(defeats.defeat_share, np.float32) if defeats.defeat_share else None,
            rule=self.rule_in(0),
        )

    def rule_in(self, stage: int) -> tuple[Array, ...] | None:
        """The bot in the place of each learner in a stage, as Orders have it; None where none ever is."""
        rows = rule_rows(parse_stages(self.config.stages), self.plan.seating, stage)
        return None if rows is None else tuple(jax.device_put(np.tile(row_P, (self.config.seeds, 1))) for row_P in rows)

    def game_of(self, stage: int) -> Game:
        """The game with the rules of a stage, counted from 0."""
        stages = parse_stages(self.config.stages)
        return self.game.with_rules(**dict(stages[stage].settings)) if stages else self.game

    def progress(self, iteration: int) -> float:
        """How far schedules are before this iteration, from 0 to 1."""
        steps = self.config.schedule_steps or self.config.total_steps
        return min(iteration / -(-steps // self.steps_per_iteration), 1.0)

    def knobs(self, iteration: int) -> tuple[np.ndarray, ...]:
        """knobs_LH for each learning group: coefficients, the weights of shaping terms, those of parts of one's own."""
        progress, shaping_J = self.progress(iteration), self.shaping_J(iteration)
        kinds = {id(ppo): ppo for group in self.settings for ppo in group}  # most learners share one
        known = {
            key: np.concatenate([knobs_at(ppo, progress, iteration), shaping_J, own_M(ppo, progress)])
            for key, ppo in kinds.items()
        }
        return tuple(np.stack([known[id(ppo)] for ppo in group]) for group in self.settings)

    def shaping_J(self, iteration: int) -> np.ndarray:
        """Weights of the shaping terms, rewards first, then potentials; none where shaping is off."""
        if not self.plan.shaping:
            return np.zeros(0, np.float32)
        spec, weights = self.game.spec, shaping_weights(self.game.spec, self.config.shaping)
        names = spec.terms_of("reward") + spec.terms_of("potential")
        progress = self.progress(iteration)
        return np.asarray([weights[name].at(progress) if name in weights else 0.0 for name in names], np.float32)


def own_M(ppo: PPOConfig, progress: float) -> np.ndarray:
    """Weights of losses and modules of one's own."""
    return np.asarray([weight.at(progress) for _, weight in weights_of(ppo.losses, ppo.modules).values()], np.float32)


def build(config: RunConfig, *, game: Game | None = None, trains: bool = True) -> Built:
    """Without a game, the registered one that the config names. What only looks at a run needs less memory than the
    training, which may have been on a larger machine."""
    config = checked_types(config)
    if game is None:
        game = registry.configured(config.game, config.options)
    game, config = with_own_parts(game, config), staffed(config)
    check(config, game.spec)
    config = with_evaluations(game, config)
    if (leases := leases_in(game)) is not None:
        leases.staff(worker_count(config), config.workers.worker_timeout)
    if trains:
        check_memory(game, config)
    lineup = lined_up(game, config)
    configs = dict(zip(lineup.numbered, configs_of(config, lineup.numbered), strict=True))
    check_learners(config, game.spec, configs)
    keep = kept_every(list(configs.values()))
    if config.defeats.defeat_share and not config.recurrent:  # states before defeats are kept as often
        keep = next(steps for steps in range(FILMED, 0, -1) if config.play.steps % steps == 0)
    if any(one.mind.imagines for one in configs.values()) and not any(one.recurrent for one in configs.values()):
        keep = apart(config.play.steps)
    settings = tuple(tuple(configs[name].ppo for name in names) for names in lineup.learners)
    ppo = every_sequence(config, every_term(config.ppo, settings))
    firsts = [configs[names[0]] for names in lineup.learners]
    kinds = [
        Kind(every_sequence(one, every_term(one.ppo, (group,))), one.mind)
        for one, group in zip(firsts, settings, strict=True)
    ]
    named = f"{config.game} with {', '.join(config.options)}" if config.options else config.game
    for kind, one in zip(kinds, firsts, strict=True):
        check_actions(game, named, kind.ppo, one.net)
    check_sharing(game.spec, config.game, ppo)
    shaping_weights(game.spec, config.shaping)
    check_stages(game, config, lineup.seating)
    for own in configs.values() if plans(parse_stages(config.stages)) else ():
        check_planned_training(game.spec, own, trains=trains)
    check_minibatches(firsts, lineup.seating)
    check_branches(firsts, lineup.seating, keep)
    check_seats(firsts, lineup.seating)
    check_blocks(game, config)
    check_meetings(game.spec, config)
    live = config.roles.active or (config.changing and not game.spec.exchangeable_sides)
    plan = Plan(
        lineup.seating, ppo, config.play.steps, keep, shaping=bool(config.shaping), live=live, mind=config.mind,
        planning=config.planning if plans(parse_stages(config.stages)) else None,
        own=tuple(kinds) if len(kinds) > 1 and config.learner else (),
    )  # fmt: skip
    return Built(config, game, lineup, plan, rosters_of(game, config), settings, tuple(one.net for one in firsts))


def staffed(config: RunConfig) -> RunConfig:
    """The config with as many worlds as its workers have environments, where it says how many each has."""
    worlds = worker_count(config) * config.workers.envs_per_worker
    return replace(config, play=replace(config.play, worlds=worlds)) if worlds else config


def worker_count(config: RunConfig) -> int:
    return config.workers.num_workers or min(8, os.cpu_count() or 1)


def lined_up(game: Game, config: RunConfig) -> LineUp:
    return line_up(game.spec, config, bot_count(game, config))


def bot_count(game: Game, config: RunConfig) -> int:
    """Bots that have a share."""
    return len(ladder_of(game, config)) if has_bots(config) else 0


def steps_counted(seating: Seating, steps: int) -> int:
    """Steps of one iteration, over the seats that learn; where seats decide in turn, waiting is no step."""
    changing = seating.changing  # where others may drive the away side, its steps are not counted

    def counted(block: int, side: int) -> bool:
        return block not in changing or side == seating.home_B[block]

    seats = sum(
        seating.seats_in(seating.groups[i]) * sum(counted(*lane) for row in seating.groups[i].lanes for lane in row)
        for i in seating.learning
    )
    return decisions(seating.spec, seats * seating.worlds * steps)


def decisions(spec: GameSpec, seat_steps: int) -> int:
    """How many of the steps of seats are decisions, on average over who decides when."""
    return max(1, seat_steps // spec.seats) if spec.in_turn else seat_steps


def check_blocks(game: Game, config: RunConfig) -> None:
    """What shares and a curriculum ask of the bots and the blocks that there are."""
    if config.changing and not config.roles.active:
        bots, unlike = bot_count(game, config), not game.spec.exchangeable_sides
        layout = layout_of(game.spec, config, bots)
        can_mirror = [unlike or mirror for mirror in layout.mirror_B]  # unlike sides meet, one learning
        check_asked_of_game(
            config.opponents, config.curriculum, bots=bots, can_mirror=can_mirror, can_face=layout.face_B
        )


def check_meetings(spec: GameSpec, config: RunConfig) -> None:
    """Past players of PSRO, and members of a population, are compared two by two where somebody wins."""
    what = "oracles" if config.roles.oracles else "population" if config.population.population else ""
    if what and spec.has_winners and spec.sides > 2:
        raise ConfigError(
            f"{what} compares players two by two, and {config.game} has {spec.sides} sides. Leave it out."
        )


def check_minibatches(configs: Sequence[RunConfig], seating: Seating) -> None:
    """A learner's rows are those of its lanes: more than one for each world, or those of some worlds alone. Of each
    learning group one config."""
    for i, config in zip(seating.learning, configs, strict=True):
        rows = config.play.steps // config.sequence * len(seating.groups[i].lanes[0]) * seating.worlds
        if rows % config.ppo.minibatches:
            raise ConfigError(
                f"minibatches={config.ppo.minibatches} does not divide the {rows} rows that a learner drives. "
                f"Nearest that does: {nearest_divisor(rows, config.ppo.minibatches)}."
            )


def check_seats(configs: Sequence[RunConfig], seating: Seating) -> None:
    """Weights that depend on the seat alone, where every learner has one."""
    alone = all(seating.seats_in(seating.groups[i]) == 1 for i in seating.learning)
    for config in configs:
        if config.net.hyper != "none" and config.net.hyper_sees == "nothing" and alone:
            raise ConfigError(
                "hyper_sees=nothing generates weights from which seat of its side acts, and every learner of "
                f"{config.game} drives one seat: they would never differ. Use --hyper-sees own, or --share side."
            )


def rosters_of(game: Game, config: RunConfig) -> dict[str, Any]:
    """The bots that oppose, the one of a config that names it or the whole ladder; and those that play in the learners'
    place."""
    names = (config.seats.opponent,) if config.seats.opponent else ladder_of(game, config) if has_bots(config) else ()
    families = dict.fromkeys(bots_family(game.spec, seats) for seats in game.spec.seats_of_side)
    parts = dict.fromkeys(families if config.changing else (BOTS,), names)
    parts[RULES] = rule_names(parse_stages(config.stages))
    return {family: stack([Scripted.make(game, name) for name in bots]) for family, bots in parts.items() if bots}


def ladder_of(game: Game, config: RunConfig) -> tuple[str, ...]:
    names = config.opponents.ladder or game.bots().names
    for name in names:
        if name not in bot_names(game):
            raise ConfigError(unknown(f"bot of {config.game}", name, bot_names(game)))
    if not names:
        raise ConfigError(f"{config.game} has no bots but random. Name it: --ladder random, or set bots to 0.")
    return names


def shaping_weights(spec: GameSpec, texts: tuple[str, ...]) -> dict[str, Schedule]:
    """The weight of each shaping term that is on, over the run."""
    known, weights = [term.name for term in spec.terms], {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = code.name_in(name.strip())
        if not equals:
            raise ConfigError(f"A shaping term is written name=weight, found {text!r}. For example survival=0.1.")
        if name not in known:
            raise ConfigError(unknown("shaping term", name, known) if known else "This game has no shaping terms.")
        if name in weights:
            raise ConfigError(f"The shaping term {name!r} is given twice: keep one.")
        weights[name] = Schedule.parse(value.strip())
    return weights


def every_term(common: PPOConfig, settings: tuple[tuple[PPOConfig, ...], ...]) -> PPOConfig:
    """The common settings, with every term switched on that any learner uses: all learners share one program."""
    every = [ppo for group in settings for ppo in group]
    used = {name: getattr(ppo, name) for name in NEUTRAL for ppo in every if ppo.on(name)}
    lengths = [ppo.imagine_length for ppo in every]
    return replace(common, **used, imagine_length=max(lengths, key=lambda length: max(length.start, length.end)))


def check_actions(game: Game, name: str, ppo: PPOConfig, net: NetConfig) -> None:
    """Settings that need a kind of action which the game may not have. `name` is with its options: other options of
    the same game may have that kind."""
    if ppo.on("epsilon") and not game.spec.action.heads:
        raise ConfigError(
            f"epsilon mixes in random choices of discrete heads, and {name} has none. "
            "Explore by the deviation of its continuous actions: --initial-std or --fixed-std."
        )
    if ppo.on("support") and not game.spec.action.heads:
        raise ConfigError(
            f"support holds up choices of discrete heads, and {name} has none. Leave support out. "
            "To keep the deviation of continuous actions from shrinking there is --std fixed."
        )
    for setting in ("std", "initial_std"):
        value = getattr(net, setting)
        if value != getattr(NetConfig(), setting) and not game.spec.action.dimensions:
            raise ConfigError(
                f"{setting}={value} is the deviation of continuous actions, and {name} has none. Leave {setting} out."
            )


def check_sharing(spec: GameSpec, name: str, ppo: PPOConfig) -> None:
    """Refuse to share rewards where the common mean says nothing."""
    if not ppo.on("shared_reward"):
        return
    if ppo.shared_with == "all" and spec.zero_sum:
        raise ConfigError(
            f"shared_reward={ppo.shared_reward} mixes in the mean of all rewards, which in {name} is always 0: what "
            "one side gains another loses. Share with the own side (--shared-with side), or leave it out."
        )
    if ppo.shared_with == "side" and spec.sides == spec.seats:
        raise ConfigError(
            f"shared_with=side would do nothing: every seat of {name} is a side of its own. Use --shared-with all."
        )


def every_sequence(config: RunConfig, ppo: PPOConfig) -> PPOConfig:
    """A memory that training need not go through step by step is kept at every step."""
    return replace(ppo, sequence=config.sequence) if config.recurrent else ppo


def kept_every(configs: Sequence[RunConfig]) -> int:
    """Steps from one memory that is kept for training to the next: as few as any learner needs."""
    needed = [config.ppo.burn_in or config.sequence for config in configs if config.recurrent]
    return gcd(*needed) if needed else configs[0].play.steps


def actors(built: Built, learners: tuple[Learner, ...]) -> dict[str, Any]:
    """The policies of one seed's learners by name, and those of their shadows where they have any."""
    found = {}
    for group, names in zip(learners, built.lineup.learners, strict=True):
        for row, name in enumerate(names):
            found[name] = taken(group.model.actor, row)
            if group.shadow is not None:
                found[shadow_name(name)] = taken(group.shadow, row)
    return found


def shadow_name(learner: str) -> str:
    return f"{learner}.shadow"
