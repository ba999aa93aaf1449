"""sparring bench [GAME]: steps per second of the game alone and of training, counted over all seats."""

import json as json_text
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import GameWord, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.core import code
from sparring.core.fields import check_ranges, setting
from sparring.games import registry
from sparring.setup.config import PlayConfig, RunConfig

if TYPE_CHECKING:
    from sparring.studies.bench import Speed

SAMPLES = {"skirmish": ("skirmish:3m", "skirmish:8m", "skirmish:2s3z", "skirmish:corridor")}
"""The games that the name of a family stands for."""
BESIDE = {"particles": "python benchmarks/vs_jaxmarl.py", "skirmish": "python benchmarks/vs_smax.py"}
"""The command that measures a family in turns with JaxMARL's."""
WHAT = {"game": "game alone, random play", "training": "training, play and update"}
USUAL = (
    "word", "options", "worlds", "steps", "blocks", "seeds", "share", "hidden", "memory", "critic", "epochs",
    "minibatches", "alone", "repeats", "device", "threads", "precision", "compile_cache", "json",
)  # fmt: skip
"""What --help shows; --help-all shows the rest as well."""
EXAMPLES = (
    "sparring bench particles:spread",
    "sparring bench kuhn --worlds 4096 --steps 64",
    "sparring bench skirmish",
)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure steps per second, counted over all seats: the game alone, and training; and games per second."""

    word: GameWord = None
    """The game to measure, as with --game; skirmish stands for a sample of its battles, each alone."""
    run: RunConfig = field(default_factory=lambda: RunConfig(play=PlayConfig(worlds=128, steps=25)))
    machine: MachineConfig = field(default_factory=lambda: MachineConfig(compile_cache=False))
    alone: bool = False
    """Measure the game without training; so always where a name stands for several games."""
    repeats: int = setting(5, least=1)
    """Timed stretches; the median counts."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Bench, words, command="bench", usual=USUAL, examples=EXAMPLES)
    check_ranges(arguments)  # a game alone is measured without building a run
    config = arguments.run if arguments.word is None else replace(arguments.run, game=arguments.word)
    prepare(arguments.machine)
    import jax

    from sparring.setup.own_code import named_code
    from sparring.store.manifest import manifest_facts

    code.admit(*named_code(config))

    names = SAMPLES.get(config.game, (config.game,))
    alone = arguments.alone or len(names) > 1
    results = {name: measured(replace(config, game=name), arguments.repeats, alone=alone) for name in names}
    if arguments.json:
        told = {name: {what: asdict(speed) for what, speed in speeds.items()} for name, speeds in results.items()}
        result: dict[str, Any] = {"game": config.game, "worlds": config.play.worlds, "steps": config.play.steps}
        result |= {"games": told} if len(names) > 1 else {"speeds": told[config.game]}
        result |= {"device": jax.devices()[0].device_kind, "made_with": manifest_facts()}
        print(json_text.dumps(result))
        return
    Console().print(table(config, results))
    if beside := BESIDE.get(config.game.partition(":")[0]):
        print(f"beside JaxMARL's: {beside}")


def measured(config: RunConfig, repeats: int, *, alone: bool) -> dict[str, "Speed"]:
    from sparring.setup.build import build
    from sparring.studies.bench import game_speed, training_speed

    game = registry.configured(config.game, config.options)
    built = None if alone else build(config, game=game)  # what cannot be trained is refused before anything is timed
    speeds = {"game": game_speed(game, config.play, repeats=repeats)}
    return speeds if built is None else speeds | {"training": training_speed(built, repeats=repeats)}


def table(config: RunConfig, results: dict[str, dict[str, "Speed"]]) -> Table:
    """A row for each thing measured: of one game what it was, of several the games."""
    title = f"{config.game}, {config.play.worlds} worlds x {config.play.steps} steps"
    several = len(results) > 1
    made = Table(WHAT["game"] if several else "what", title=title)
    for header in ("agent steps/s", "games/s", "ms a call", "compile, s"):
        made.add_column(header, justify="right")
    for name, speeds in results.items():
        for what, speed in speeds.items():
            made.add_row(
                name if several else WHAT[what],
                f"{speed.steps_per_second:z,.0f}",
                "" if speed.games_per_second is None else f"{speed.games_per_second:z,.0f}",
                f"{speed.seconds * 1e3:z.1f}",
                f"{speed.compile_seconds:z.1f}",
            )
    return made
