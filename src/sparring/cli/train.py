"""sparring train [GAME]: train by self-play, or against a bot. Ends with a table, a picture and a report."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from sparring.cli import finish
from sparring.cli.flags import lift_positional, parse, value_of
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.watch import Watch, stop_politely
from sparring.core.errors import ConfigError, unknown
from sparring.core.settings import load_toml
from sparring.recipes.catalogue import RECIPES
from sparring.training.config import RunConfig


@dataclass(frozen=True, kw_only=True)
class Train:
    run: RunConfig = field(default_factory=RunConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)
    config: Path | None = None
    """A TOML file of settings, such as a run's config.toml; flags win over it."""
    recipe: str = ""
    """A ready-made configuration by name; flags win over it."""
    name: str = ""
    """Name of the run; empty: the game and a number."""
    runs: Path = Path("runs")
    """Folder that holds the runs."""
    force: bool = False
    """Replace a run of the same name."""
    from_: Annotated[str, tyro.conf.arg(name="from")] = ""
    """Start from another run's weights: RUN, its learners by name, or RUN:PLAYER for all learners."""
    keep_optimiser: bool = False
    """With --from, go on with that optimiser's state."""
    keep_normaliser: bool = True
    """With --from, keep that player's observation statistics."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    words = lift_positional(words, "--game")
    arguments = parse(Train, words, command="train", default=Train(run=starting_point(words)))
    prepare(arguments.machine)
    from sparring.training.build import build
    from sparring.training.runs import WarmStart, start

    built = build(arguments.run)
    path = arguments.runs / (arguments.name or free_name(arguments.runs, arguments.run.game))
    warm = None
    if arguments.from_:
        warm = WarmStart(
            source=arguments.from_,
            keep_optimiser=arguments.keep_optimiser,
            keep_normaliser=arguments.keep_normaliser,
        )
    watch = Watch(
        quiet=arguments.quiet or arguments.json,
        steps_per_iteration=built.steps_per_iteration,
        seeds=arguments.run.seeds,
    )
    with stop_politely() as asked, watch.bar:
        summary = start(arguments.run, path, force=arguments.force, warm=warm, on_iteration=watch, should_stop=asked)
    finish.conclude(path, summary, as_json=arguments.json)


def starting_point(words: list[str]) -> RunConfig:
    """The settings that flags then change: a recipe's, a file's, or the defaults."""
    recipe, file = value_of(words, "--recipe"), value_of(words, "--config")
    if recipe and file:
        raise ConfigError("--recipe and --config both give a full configuration. Leave one out.")
    if recipe:
        if recipe not in RECIPES:
            raise ConfigError(unknown("recipe", recipe, RECIPES))
        return RECIPES[recipe]()
    return load_toml(RunConfig, Path(file)) if file else RunConfig()


def free_name(runs: Path, game: str) -> str:
    stem = game.replace(":", "-")
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
