"""sparring train [GAME]: train by self-play, or against a bot. Ends with a table, a picture and a report."""

import json as json_text
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from sparring.cli.flags import GameWord, check_needs, named, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.cli.signals import heard
from sparring.cli.watch import Watch, compiled_before
from sparring.core import code
from sparring.core.errors import ConfigError, GameError, unknown
from sparring.core.fields import is_table, overlaid
from sparring.core.names import counted, is_file_name
from sparring.core.settings import load_toml, to_toml
from sparring.games import registry
from sparring.games.balance import PRESET, suits_of
from sparring.recipes import presets
from sparring.recipes.catalogue import RECIPES
from sparring.recipes.defaults import opposed, preset_for, spec_of, suited
from sparring.recipes.self_play import SELF_PLAY, apply
from sparring.setup.config import OPPOSING, RunConfig
from sparring.store.trackers import Tracker

if TYPE_CHECKING:  # help answers without jax
    from sparring.games.game import Game
    from sparring.setup.build import Built

AUTO = "auto"
SLOWNESS = {"shadow_tau", "shadow_half_life"}
"""One thing said in two ways: a flag for one of them takes the place of the other."""
USUAL = (
    "word", "recipe", "preset", "self_play", "config", "name", "force", "from_", "options", "total_steps", "seed",
    "seeds", "share", "opponent", "side", "worlds", "steps", "hidden", "memory", "critic", "learning_rate",
    "print_config", "dry_run", "json",
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
    own: CodeConfig = field(default_factory=CodeConfig)
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """A TOML file of settings, such as a run's config.toml; flags win over it. What it leaves out suits the game."""
    recipe: Annotated[
        str,
        tyro.conf.arg(
            metavar="NAME",
            help=f"A ready-made configuration by name; flags win over it. There are: {', '.join(RECIPES)}.",
            help_behavior_hint="",
        ),
    ] = ""
    preset: Annotated[str, tyro.conf.arg(metavar="|".join(presets.PRESETS), help_behavior_hint="")] = ""
    """Settings of networks and learning by name, put on top of the recipe or file; flags win over it. Some did badly
    where we measured them (cleanrl, grouped, puffer), and say so."""
    self_play: Annotated[str, tyro.conf.arg(metavar="|".join((AUTO, *SELF_PLAY)))] = AUTO
    """Who opposes, by name; flags win over it. Auto: what suits the game, else sparring where two sides are alike."""
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
    track: tuple[Tracker, ...] = ()
    """Also keep metrics in the run's folder `tracking` as: csv, tensorboard, wandb (offline, extra wandb)."""
    print_config: bool = False
    """Print all settings as TOML, as they would be used, and train nothing; --config reads them back."""
    dry_run: bool = False
    """Check everything, say what would be trained, and train nothing."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    check_one_game(words)
    given = named(words) - {"help", "help_all"}
    arguments = parse(
        Train, words, command="train", shown=lambda said: Train(run=settled(said, given)[0]), usual=USUAL,
        examples=EXAMPLES,
    )  # fmt: skip
    check_needs(arguments, NEEDS)
    if arguments.name and not is_file_name(arguments.name):
        raise ConfigError(
            f"--name must be the plain name of a folder, found {arguments.name!r}. Choose its folder with --runs."
        )
    if not names_game(arguments, given):
        raise ConfigError(
            f"Which game? Name one, for example: sparring train kuhn. There are {', '.join(registry.overview())}."
        )
    prepare(arguments.machine)
    admit_named(arguments)
    config, told = settled(arguments, given)
    if arguments.preset in presets.WARNINGS:
        note(f"{presets.WARNINGS[arguments.preset]}. Try mappo beside it.")
    from sparring.cli import finish
    from sparring.players.checkpointed import newest
    from sparring.setup.build import build
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start
    from sparring.training.warm_start import WarmStart, split_source

    built = build(config)
    if arguments.print_config:
        print(to_toml(built.config), end="")
        return 0
    path = arguments.runs / (arguments.name or free_name(arguments.runs, config.game))
    told = told if built.game.spec.sides > 1 else "One side, which plays against the game itself."
    told += few_updates(built) + idle_critic(built)
    if registry.is_own(config.game):
        note_faults(built.game, config.game)
    if arguments.dry_run:
        return tell_plan(built, path, told, as_json=arguments.json)
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
    )
    with heard(as_json=arguments.json) as wishes, watch.bar:
        begin = partial(watch.begin, told, compiled_before(arguments.runs, config.game))
        summary = start(
            config, path, force=arguments.force, warm=warm, on_begin=begin,
            on_iteration=watch, should_stop=wishes.stop, should_save=wishes.save, track=arguments.track,
        )  # fmt: skip
    return finish.conclude(path, summary, as_json=arguments.json)


def few_updates(built: "Built") -> str:
    """A warning where the steps are so few that nothing much can come of them, with the number that is usual."""
    from sparring.evaluation.advice import FEW

    config, usual = built.config, dict(built.game.spec.suits).get("total_steps", RunConfig.total_steps)
    if built.iterations >= FEW or config.total_steps >= int(str(usual)):
        return ""
    updates = counted(built.iterations, "update")
    return f"\n{config.total_steps:,} steps are only {updates} here; {usual:,} are usual (--total-steps)."


def idle_critic(built: "Built") -> str:
    """A warning where a central critic was asked for and sees what every seat sees: nothing would come of it."""
    from sparring.games.trial import hides_nothing

    config, spec = built.config, built.game.spec
    if config.net.critic != "central" or dict(spec.suits).get("critic") == "central" or not hides_nothing(built.game):
        return ""
    return f"\nNothing is hidden in {config.game}: critic=central sees what each seat sees, and is critic=local here."


def tell_plan(built: "Built", path: Path, told: str, *, as_json: bool) -> int:
    """What would be trained."""
    from sparring.setup.memory import estimate

    config = built.config
    facts = {
        "run": str(path),
        "game": config.game,
        "learners": list(built.lineup.names),
        "opponents": told,
        "iterations": built.iterations,
        "steps_per_iteration": built.steps_per_iteration,
        "seeds": config.seeds,
        "evaluations": config.evaluation.eval_times if config.evaluation.eval_games else 0,
        "eval_games": config.evaluation.eval_games,
        "memory_gb": round(sum(estimate(built.game, config).values()) / 1e9, 1),
    }
    if as_json:
        print(json_text.dumps(facts))
        return 0
    there = "\nThere is a run at this place already: choose another --name, or pass --force." if path.exists() else ""
    print(
        f"{path}: {config.game}, {built.iterations:,} iterations of {built.steps_per_iteration:,} steps, "
        f"{config.seeds} seed{'s' * (config.seeds > 1)}.{there}\n{told}\n"
        f"Learners: {', '.join(sorted(built.lineup.names))}. About {facts['memory_gb']} GB of memory.\n"
        f"Evaluations along the way: {facts['evaluations']}, {facts['eval_games']} games of each line-up.\n"
        "Nothing was trained or written. All settings: --print-config"
    )
    return 0


def note_faults(game: "Game", name: str) -> None:
    """Of a game of one's own: where it breaks the contract, learning may be of something else than was meant."""
    from sparring.games.contract import check_game

    try:
        for remark in check_game(game, eager=False):
            note(f"{name}: {remark}")
    except GameError as error:
        note(f"{name} breaks the contract of games, so that results may mislead. {error}")


def admit_named(arguments: Train) -> None:
    """Code that flags name may be loaded, which code that a file of settings names may not."""
    from sparring.setup.own_code import named_code

    code.admit(*named_code(replace(arguments.run, game=arguments.word or arguments.run.game)))
    admit(arguments.own, arguments.from_, *arguments.run.pool.guests)


def check_one_game(words: Sequence[str], elsewhere: str = "") -> None:
    """Words before the first flag name one game; `elsewhere`: what two might have been meant for."""
    games = list(takewhile(lambda word: not word.startswith("-"), words))
    if len(games) > 1:
        raise ConfigError(f"One game can be trained at a time, found {' and '.join(games)}. Name one.{elsewhere}")


def names_game(arguments: Train, given: Collection[str]) -> bool:
    return arguments.word is not None or bool(arguments.recipe or arguments.config) or "game" in given


def settled(arguments: Train, given: Collection[str]) -> tuple[RunConfig, str]:
    """The settings of the run, and a sentence that says who opposes; `given` are the settings that flags name."""
    config = flagged(ready_made(arguments, given), arguments, given)
    name, why = chosen_self_play(arguments, config, given)
    if name:  # a preset depends on the game and the length of the run, which flags say; and then flags win over it
        said, auto = bool(arguments.recipe or arguments.config), arguments.self_play == AUTO
        chosen = opposed(config, spec_of(config), name) if auto or not said else apply(config, name)
        chosen = overlaid(chosen, config, named_in(arguments.config)) if auto else chosen
        config = flagged(chosen, arguments, given)
    if config.seats.opponent and not name:
        return config, f"Opponent: {config.seats.opponent}, always."
    return config, f"Self-play: {name} ({why})." if name else f"Opponents: {why}."


def ready_made(arguments: Train, given: Collection[str]) -> RunConfig:
    """What flags then change: the settings of a recipe, or else the defaults with what suits the game, with those of a
    file on top; and a preset on top of that."""
    recipe, file = arguments.recipe, arguments.config
    if recipe and file:
        raise ConfigError("--recipe and --config both give a full configuration. Leave one out.")
    if recipe and recipe not in RECIPES:
        raise ConfigError(unknown("recipe", recipe, RECIPES))
    if recipe:
        config = RECIPES[recipe]()
        check_family(recipe, config.game, arguments.word)
    else:
        filed = load_toml(RunConfig, file) if file else RunConfig()
        if file and arguments.word is None and "game" not in {*named_in(file), *given}:
            raise ConfigError(f"Which game? {file} names none. Name one: sparring train kuhn --config {file}")
        about = flagged(filed, arguments, given)  # flags may name another game than the file
        config = RunConfig(game=about.game, options=about.options)
        config = overlaid(suited(config, spec_of(config)), filed, named_in(file))
    return presets.apply(config, arguments.preset) if arguments.preset else config


def named_in(file: Path | None) -> frozenset[str]:
    """The settings that a file gives, once it was read without fault; of none, none."""

    def names(table: dict[str, Any], config: Any) -> Iterator[str]:
        for name, value in table.items():
            inner = getattr(config, name)
            yield from names(value, inner) if is_table(inner) else (name,)

    if file is None:
        return frozenset()
    return frozenset(names(tomllib.loads(file.read_text(encoding="utf-8")), RunConfig()))


def check_family(recipe: str, game: str, word: str | None) -> None:
    """A recipe may serve another game of its family, such as another map."""
    if word is not None and word.partition(":")[0] != game.partition(":")[0]:
        raise ConfigError(
            f"The recipe {recipe} is for {game}, and you named {word}. Use one of them: sparring train --recipe "
            f"{recipe}, or sparring train {word}"
        )


def flagged(config: RunConfig, arguments: Train, given: Collection[str]) -> RunConfig:
    """The config with all that flags say, also where they say a default."""
    names = {*given, *SLOWNESS} if SLOWNESS & {*given} else given
    config = overlaid(config, arguments.run, names)
    return config if arguments.word is None else replace(config, game=arguments.word)


def chosen_self_play(arguments: Train, config: RunConfig, given: Collection[str]) -> tuple[str, str]:
    """The preset, or nothing, and why."""
    if arguments.self_play != AUTO:
        if arguments.self_play not in SELF_PLAY:
            raise ConfigError(unknown("self-play preset", arguments.self_play, (AUTO, *SELF_PLAY)))
        return arguments.self_play, "by --self-play"
    if arguments.recipe:
        return "", "as the recipe says"
    opposing = {one.name for table in OPPOSING for one in fields(getattr(config, table))}
    if opposing & named_in(arguments.config):
        return "", f"as {arguments.config} says"
    if said := sorted(opposing & {*given}):  # who sets one of these has decided
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in said)
        return "", f"as the flags say ({flags}), without a preset; --self-play names one"
    spec = spec_of(config)
    if config.mind.on:
        return "", "the learners meet each other, since minds remember co-players from game to game"
    if name := preset_for(spec, config):
        if PRESET in dict(spec.suits):
            return name, "which suits this game"
        settles = "which settles in short games for two with hidden moves"
        return name, settles if PRESET in dict(suits_of(spec)) else "the default where two sides are alike"
    if spec.sides != 2 or not spec.exchangeable_sides:
        return "", "the learners meet each other (presets of self-play are for two sides that are alike)"
    return "", "the learner meets itself (an odd number of worlds cannot be split into equal blocks)"


def free_name(runs: Path, game: str) -> str:
    stem = plain_name(game)
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def plain_name(game: str) -> str:
    """A game as part of the name of a folder."""
    found = None if game in registry.available() else code.reference(game)
    return game.replace(":", "-") if found is None else found.plain
