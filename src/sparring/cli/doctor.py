"""sparring doctor [RUN]: what this installation has, and whether it works; of a run, whether its records agree."""

import json as json_text
import shutil
import sqlite3
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import MaybeRun, parse
from sparring.cli.machine import MachineConfig, cache_folder, prepare, writable
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import RunError
from sparring.core.names import counted
from sparring.store.manifest import manifest_facts

ROOM = 2**30
ABOUT = ("python", "packages", "platform", "cpus", "cpus_allowed")
"""Facts of a manifest that belong to the installation; the others are about the working directory."""
EXAMPLES = ("sparring doctor", "sparring doctor runs/first")


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Tell what this installation has, and play a game to see whether it works; check the records of a run."""

    run: MaybeRun = None
    """Folder of a run: its files must all be there and whole, and its results must give the ledgers of its leagues."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Doctor, words, command="doctor", examples=EXAMPLES)
    prepare(arguments.machine)
    facts, worries = examine()
    if arguments.run is not None:
        admit(arguments.own, arguments.run)
        facts[str(arguments.run)] = records(arguments.run)
    if arguments.json:
        print(json_text.dumps({"facts": facts, "worries": worries}))
    else:
        table = Table(show_header=False, box=None)
        for key, value in facts.items():
            parts = [f"{k} {v}" for k, v in value.items()] if isinstance(value, dict) else [str(value)]
            table.add_row(key, ", ".join(parts))
        Console().print(table)
        print("\n".join(f"worry: {worry}" for worry in worries) or "All is well.")


def examine() -> tuple[dict, list[str]]:
    import jax

    from sparring.games.contract import check_game
    from sparring.games.registry import make

    facts = {key: fact for key, fact in manifest_facts().items() if key in ABOUT}
    facts["executable"] = sys.executable
    facts["devices"] = ", ".join(f"{d.platform}: {d.device_kind}" for d in jax.devices())
    facts["sqlite"] = sqlite3.sqlite_version
    free = shutil.disk_usage(Path.cwd()).free
    facts["free disk"] = f"{free / 2**30:z.1f} GiB"
    facts["compiled programs"] = str(cache_folder())
    worries = []
    if free < ROOM:
        worries.append("less than 1 GiB of disk is free here; checkpoints may not fit.")
    if not writable(cache_folder()):
        worries.append(f"{cache_folder()} cannot be written, so every start compiles again; set SPARRING_CACHE.")
    began = time.monotonic()
    try:
        check_game(make("matrix:rock_paper_scissors"))
        facts["self test"] = f"a game keeps its contract ({time.monotonic() - began:z.1f} s)"
    except Exception as error:
        raise RunError(f"The self test failed: {error}. Reinstall sparring, or report this.") from error
    return facts, worries


def records(path: Path) -> str:
    """Whether a run's files are there and as they were written, and what its leagues believe follows from its results;
    where that is not so, it is an error."""
    from sparring.players.checkpointed import numbered
    from sparring.players.condition import condition_of, lost_checkpoints, lost_lines
    from sparring.setup.needs import stored_config
    from sparring.store.run_dir import RunDir
    from sparring.training.audit import audited, lost_before, results_lost
    from sparring.training.control import last_known
    from sparring.training.keeping import lost_players

    run = RunDir.open(path)
    found = condition_of(run)
    if found.damage:
        raise RunError(" ".join(found.damage))
    for read in (run.read_manifest, run.metrics, run.timing, run.exploits):
        read()  # a fact or line that is not what it should be is told
    config, done = stored_config(run), max(numbered(run), default=0)
    gone = [sentence for sentence in (lost_checkpoints(run, config), *lost_lines(run, done)) if sentence]
    if results_lost(run, done) and not config.changing:  # where opponents change, the audit says more
        gone.append(f"{run.results_path} is gone: the games before iteration {done} are lost to reports. Restore it.")
    if gone:
        raise RunError(" ".join(gone))
    files = f"whole: {counted(found.checkpoints, 'checkpoint')} and {counted(found.packages, 'package')}"
    files += f" ({counted(found.unproved, 'package')} of an early format without a checksum)" if found.unproved else ""
    if not config.changing:
        return f"{files}; its learners meet nobody but each other, so there are no ledgers to check"
    if lost := lost_before(run):
        return f"{files}; results before iteration {lost} are lost, so ledgers cannot be checked"
    known = last_known(run)
    if absent := lost_players(run, known.opposition):
        raise RunError(" ".join(absent))
    rows = audited(run, known.opposition, known.iteration)
    return f"{files}; ledgers agree with {rows:,} rows of results"
