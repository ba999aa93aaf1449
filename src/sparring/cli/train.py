"""sparring train [GAME]: train by self-play, or against a bot. Ends with a table, a picture and a report."""

from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import tyro

from sparring.cli.flags import GameWord, check_needs, parse, value_of
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note_damage
from sparring.cli.signals import heard
from sparring.cli.watch import Watch
from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml
from sparring.games.registry import overview
from sparring.league.config import CurriculumConfig, DefeatsConfig, OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.recipes.catalogue import RECIPES
from sparring.recipes.presets import PRESETS, preset
from sparring.recipes.self_play import LEAGUES, SELF_PLAY, apply
from sparring.training.config import RunConfig, SeatsConfig

AUTO = "auto"
OPPOSING = tuple(
    f.name
    for kind in (
        OpponentsConfig,
        PoolConfig,
        CurriculumConfig,
        DefeatsConfig,
        SeatsConfig,
        RolesConfig,
        PopulationConfig,
        GateConfig,
    )
    for f in fields(kind)
)
"""Settings that say who opposes: whoever sets one has decided for himself."""

USUAL = (
    "word", "recipe", "preset", "self_play", "config", "name", "force", "from_", "options", "total_steps", "seed",
    "seeds", "share", "opponent", "side", "worlds", "steps", "hidden", "memory", "critic", "learning_rate", "json",
)  # fmt: skip
"""What --help shows; --help-all shows the rest as well."""
EXAMPLES = (
    "sparring train particles:tag --total-steps 300000 --name first",
    "sparring train --recipe demo --name demo --force",
    "sparring train kuhn --self-play pool --seeds 3",
    "sparring train particles:spread --preset rmappo --steps 50 --learning-rate '5e-4 -> 0'",
    "sparring train particles:tag --opponent flee --side 0 --from runs/first",
)
NEEDS = {"keep_optimiser": "from_", "keep_normaliser": "from_"}
"""Flags, and the one that each needs."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train by self-play, or against a bot; ends with a table, a picture and a report."""

    word: GameWord = None
    """The game to train on, as with --game."""
    run: RunConfig = field(default_factory=RunConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """A TOML file of settings, such as a run's config.toml; flags win over it."""
    recipe: Annotated[
        str,
        tyro.conf.arg(
            metavar="NAME",
            help=f"A ready-made configuration by name; flags win over it. There are: {', '.join(RECIPES)}.",
            help_behavior_hint="",
        ),
    ] = ""
    preset: Annotated[str, tyro.conf.arg(metavar="|".join(PRESETS), help_behavior_hint="")] = ""
    """Settings of networks and learning by name, put on top of the recipe or file; flags win over it."""
    self_play: Annotated[str, tyro.conf.arg(metavar="|".join((AUTO, *SELF_PLAY)))] = AUTO
    """Who opposes, by name; flags win over it. Auto: sparring, where two sides are alike and nothing else is said."""
    name: Annotated[str, tyro.conf.arg(help_behavior_hint="(default: the game and a number)")] = ""
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder that holds the runs."""
    force: bool = False
    """Replace a run of the same name."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="RUN[:PLAYER]", help_behavior_hint="")] = ""
    """Start from another run's weights: RUN, its learners by name, or RUN:PLAYER for all learners."""
    keep_optimiser: bool = False
    """With --from, go on with that optimiser's state."""
    keep_normaliser: bool = True
    """With --from, keep that player's observation statistics."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    arguments = parse(
        Train, words, command="train", default=Train(run=starting_point(words)), usual=USUAL, examples=EXAMPLES
    )
    check_needs(arguments, NEEDS)
    if arguments.word is None and not (arguments.recipe or arguments.config) and value_of(words, "--game") is None:
        raise ConfigError(f"Which game? Name one, for example: sparring train kuhn. There are {', '.join(overview())}.")
    prepare(arguments.machine)
    config, told = opposed(arguments, words)
    from sparring.cli import finish
    from sparring.store.run_dir import RunDir
    from sparring.training.build import build
    from sparring.training.runs import WarmStart, newest, split_source, start

    built = build(config)
    path = arguments.runs / (arguments.name or free_name(arguments.runs, config.game))
    warm = None
    if arguments.from_:
        warm = WarmStart(
            source=arguments.from_,
            keep_optimiser=arguments.keep_optimiser,
            keep_normaliser=arguments.keep_normaliser,
        )
        note_damage(newest(RunDir.open(split_source(arguments.from_)[0])))
    watch = Watch(
        quiet=arguments.quiet or arguments.json,
        steps_per_iteration=built.steps_per_iteration,
        seeds=config.seeds,
        told=told if built.game.spec.sides > 1 else "One side, which plays against the game itself.",
    )
    with heard(as_json=arguments.json) as wishes, watch.bar:
        summary = start(
            config, path, force=arguments.force, warm=warm,
            on_iteration=watch, should_stop=wishes.stop, should_save=wishes.save,
        )  # fmt: skip
    return finish.conclude(path, summary, as_json=arguments.json)


def opposed(arguments: Train, words: list[str]) -> tuple[RunConfig, str]:
    """The settings of the run with those of --self-play in them, and a sentence that says which it took."""
    game = arguments.run.game if arguments.word is None else arguments.word
    config = replace(arguments.run, game=game)
    given = {
        word.partition("=")[0].strip("-").removeprefix("no-").replace("-", "_") for word in words if word[:2] == "--"
    }
    name, why = chosen_self_play(arguments, config, given)
    told = f"Self-play: {name or 'as set'} ({why})."
    if not name:
        return config, told
    # A preset depends on the game and the length of the run, which flags say; and then flags win over it.
    start = apply(config, name)
    slowness = {"shadow_tau": "shadow_half_life", "shadow_half_life": "shadow_tau"}  # one thing said in two ways
    other = {slowness[said]: Schedule.parse(0.0) for said in given & slowness.keys()}
    other |= {said: Schedule.parse(1.0) for said in given & slowness.keys()}  # until the flag is read
    start = replace(start, ppo=replace(start.ppo, **other))
    chosen = parse(Train, words, command="train", default=replace(arguments, run=start)).run
    return replace(chosen, game=game), told


def chosen_self_play(arguments: Train, config: RunConfig, given: set[str]) -> tuple[str, str]:
    """The preset, or nothing, and why; `given` are the settings that flags name."""
    if arguments.self_play != AUTO:
        if arguments.self_play not in SELF_PLAY:
            raise ConfigError(unknown("self-play preset", arguments.self_play, (AUTO, *SELF_PLAY)))
        return arguments.self_play, "by --self-play"
    if arguments.recipe or arguments.config:
        return "", "by the recipe" if arguments.recipe else "by the file"
    if named := sorted(given & set(OPPOSING)):
        return "", f"by --{named[0].replace('_', '-')}"
    from sparring.training.build import build

    spec = build(config).game.spec
    if spec.sides != 2 or not spec.exchangeable_sides:
        return "", "the game does not have two sides that are alike"
    if config.play.worlds % 2:
        return "", "an odd number of worlds has no equal blocks"
    return "sparring", "the default where two sides are alike"


def starting_point(words: list[str]) -> RunConfig:
    """The settings that flags then change: a recipe's, a file's, or the defaults, and a preset on top."""
    recipe, file = value_of(words, "--recipe"), value_of(words, "--config")
    if recipe and file:
        raise ConfigError("--recipe and --config both give a full configuration. Leave one out.")
    if recipe and recipe not in RECIPES:
        raise ConfigError(unknown("recipe", recipe, RECIPES))
    config = RECIPES[recipe]() if recipe else load_toml(RunConfig, Path(file)) if file else RunConfig()
    name = value_of(words, "--preset")
    config = with_preset(config, name) if name else config
    preset, members = value_of(words, "--self-play"), value_of(words, "--population")
    league = LEAGUES.get(preset or "")
    if league and league.mains and members and members.isdecimal():
        league = replace(league, mains=int(members))
    return standing_in(config, league) if preset in SELF_PLAY else config


def standing_in(config: RunConfig, league: RolesConfig | None) -> RunConfig:
    """What stands in until the preset of self-play is put in its place, so that flags which need others to meet, as
    --defeat-share, --anchor, --gate-floor or --league-exploiters, are not refused before."""
    half, slow, some = Schedule.parse(0.5), Schedule.parse(1.0), copy(config)
    parts = {
        "opponents": OpponentsConfig() if league else OpponentsConfig(current=half, history=half),
        "gates": GateConfig(),
        "roles": league or RolesConfig(),
        "ppo": replace(config.ppo, shadow_half_life=slow, shadow_tau=Schedule.parse(0.0)),
    }
    for name, part in parts.items():
        object.__setattr__(some, name, part)
    return some


def with_preset(config: RunConfig, name: str) -> RunConfig:
    """Not checked yet: what does not fit together, as sequences of 10 in 25 steps, flags may still make fit."""
    unchecked, chosen = copy(config), preset(name)
    object.__setattr__(unchecked, "net", chosen.net)
    object.__setattr__(unchecked, "ppo", chosen.ppo)
    return unchecked


def free_name(runs: Path, game: str) -> str:
    stem = game.replace(":", "-")
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
