"""sparring bench [GAME]: steps per second of the game alone and of training, counted over all seats."""

import json as json_text
from dataclasses import asdict, dataclass, field, replace

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import lift_positional, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.training.config import PlayConfig, RunConfig


@dataclass(frozen=True, kw_only=True)
class Bench:
    run: RunConfig = field(default_factory=lambda: RunConfig(play=PlayConfig(worlds=128, steps=25)))
    machine: MachineConfig = field(default_factory=MachineConfig)
    repeats: int = 5
    """Timed stretches; the median counts."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Bench, lift_positional(words, "--game"), command="bench")
    prepare(replace(arguments.machine, compile_cache=False))
    import jax

    from sparring.store.manifest import manifest_facts
    from sparring.training.bench import game_speed, training_speed
    from sparring.training.build import build

    built = build(arguments.run)
    speeds = {
        "game": game_speed(built, repeats=arguments.repeats),
        "training": training_speed(built, repeats=arguments.repeats),
    }
    if arguments.json:
        result = {"game": arguments.run.game, "worlds": arguments.run.play.worlds, "steps": arguments.run.play.steps}
        result |= {name: asdict(speed) for name, speed in speeds.items()}
        result |= {"device": jax.devices()[0].device_kind, "made_with": manifest_facts()}
        print(json_text.dumps(result))
        return
    table = Table(
        "what", "agent steps/s", "ms", "compile, s", title=f"{arguments.run.game}, {arguments.run.play.worlds} worlds"
    )
    for name, speed in speeds.items():
        table.add_row(
            {"game": "game alone, random play", "training": "training, play and update"}[name],
            f"{speed.steps_per_second:,.0f}", f"{speed.seconds * 1e3:.1f}", f"{speed.compile_seconds:.1f}",
        )  # fmt: skip
    Console().print(table)
