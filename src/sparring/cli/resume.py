"""sparring resume RUN: go on from the newest checkpoint, bit for bit on the same machine."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from sparring.cli import finish
from sparring.cli.flags import lift_positional, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.watch import Watch, stop_politely


@dataclass(frozen=True, kw_only=True)
class Resume:
    run: Path
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    total_steps: int | None = None
    """Train on to this many steps; schedules stretch to the new length."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Resume, lift_positional(words, "--run"), command="resume")
    prepare(arguments.machine)
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import differences, newest, reopen, resume

    run = RunDir.open(arguments.run)
    built, checkpoint = reopen(run, arguments.total_steps), newest(run)
    for line in differences(arguments.run):
        print(f"note: {line}; the resumed run will not be bit for bit the same.", file=sys.stderr)
    for line in checkpoint.skipped if checkpoint else ():
        print(f"note: {line}", file=sys.stderr)
    watch = Watch(
        quiet=arguments.quiet or arguments.json,
        steps_per_iteration=built.steps_per_iteration,
        seeds=built.config.seeds,
        start=checkpoint.iteration if checkpoint else 0,
    )
    with stop_politely() as asked, watch.bar:
        summary = resume(arguments.run, total_steps=arguments.total_steps, on_iteration=watch, should_stop=asked)
    finish.conclude(arguments.run, summary, as_json=arguments.json)
