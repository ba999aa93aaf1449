"""sparring bench [GAME]: steps per second of the game alone and of training, counted over all seats."""

import json as json_text
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import GameWord, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.core.errors import ConfigError
from sparring.training.config import PlayConfig, RunConfig


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure steps per second, counted over all seats: the game alone, and training."""

    word: GameWord = None
    """The game to measure, as with --game."""
    run: RunConfig = field(default_factory=lambda: RunConfig(play=PlayConfig(worlds=128, steps=25)))
    machine: MachineConfig = field(default_factory=lambda: MachineConfig(compile_cache=False))
    repeats: int = 5
    """Timed stretches; the median counts."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Bench, words, command="bench")
    if arguments.repeats < 1:
        raise ConfigError(f"repeats must be at least 1, found {arguments.repeats}.")
    config = arguments.run if arguments.word is None else replace(arguments.run, game=arguments.word)
    prepare(arguments.machine)
    import jax

    from sparring.store.manifest import manifest_facts
    from sparring.training.bench import game_speed, training_speed
    from sparring.training.build import build

    built = build(config)
    speeds = {
        "game": game_speed(built, repeats=arguments.repeats),
        "training": training_speed(built, repeats=arguments.repeats),
    }
    if arguments.json:
        result: dict[str, Any] = {"game": config.game, "worlds": config.play.worlds, "steps": config.play.steps}
        result["speeds"] = {name: asdict(speed) for name, speed in speeds.items()}
        result |= {"device": jax.devices()[0].device_kind, "made_with": manifest_facts()}
        print(json_text.dumps(result))
        return
    table = Table("what", title=f"{config.game}, {config.play.worlds} worlds x {config.play.steps} steps")
    for header in ("agent steps/s", "ms a call", "compile, s"):
        table.add_column(header, justify="right")
    for name, speed in speeds.items():
        table.add_row(
            {"game": "game alone, random play", "training": "training, play and update"}[name],
            f"{speed.steps_per_second:,.0f}", f"{speed.seconds * 1e3:.1f}", f"{speed.compile_seconds:.1f}",
        )  # fmt: skip
    Console().print(table)
