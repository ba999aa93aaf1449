"""sparring doctor: what this installation has, and whether it works."""

import json as json_text
import shutil
import sqlite3
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import parse
from sparring.cli.machine import MachineConfig, cache_folder, prepare
from sparring.core.errors import RunError
from sparring.store.manifest import manifest_facts

ROOM = 2**30


@dataclass(frozen=True, kw_only=True)
class Doctor:
    machine: MachineConfig = field(default_factory=MachineConfig)
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Doctor, words, command="doctor")
    prepare(arguments.machine)
    facts, worries = examine()
    if arguments.json:
        print(json_text.dumps({"facts": facts, "worries": worries}))
    else:
        table = Table(show_header=False, box=None)
        for key, value in facts.items():
            table.add_row(key, str(value))
        Console().print(table)
        print("\n".join(f"worry: {worry}" for worry in worries) or "All is well.")


def examine() -> tuple[dict, list[str]]:
    import jax

    from sparring.games.contract import check_game
    from sparring.games.registry import make

    facts = {**manifest_facts(), "executable": Path(sys.executable).name}
    facts["devices"] = ", ".join(f"{d.platform}: {d.device_kind}" for d in jax.devices())
    facts["sqlite"] = sqlite3.sqlite_version
    free = shutil.disk_usage(Path.cwd()).free
    facts["free disk"] = f"{free / 2**30:.1f} GiB"
    facts["compiled programs"] = str(cache_folder())
    worries = []
    if free < ROOM:
        worries.append("less than 1 GiB of disk is free here; checkpoints may not fit.")
    began = time.monotonic()
    try:
        check_game(make("matrix:rock_paper_scissors"))
        facts["self test"] = f"a game keeps its contract ({time.monotonic() - began:.1f} s)"
    except Exception as error:
        raise RunError(f"The self test failed: {error}. Reinstall sparring, or report this.") from error
    return facts, worries
