"""sparring resume RUN: go on from the newest checkpoint, bit for bit on the same machine."""

from dataclasses import dataclass, field

from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.watch import Watch, stop_politely

EXAMPLES = ("sparring resume runs/first", "sparring resume runs/first --total-steps 600000")


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with a run from its newest checkpoint."""

    run: RunFolder
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    total_steps: int = 0
    """Train on to this many steps, and stretch schedules to that length; 0: as many as planned."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Resume, words, command="resume", examples=EXAMPLES)
    prepare(arguments.machine)
    from sparring.cli import finish
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import differences, newest, reopen, resume

    run = RunDir.open(arguments.run)
    total_steps = arguments.total_steps or None
    built, checkpoint = reopen(run, total_steps), newest(run)
    planned = reopen(run).config.total_steps
    if total_steps is not None and total_steps < planned:
        note(f"{planned:,} steps were planned, {total_steps:,} from now on; schedules are shortened with them.")
    for line in differences(arguments.run):
        note(f"{line}; the resumed run will not be bit for bit the same.")
    note_damage(checkpoint)
    watch = Watch(
        quiet=arguments.quiet or arguments.json,
        steps_per_iteration=built.steps_per_iteration,
        seeds=built.config.seeds,
        start=checkpoint.iteration if checkpoint else 0,
    )
    with stop_politely() as asked, watch.bar:
        summary = resume(arguments.run, total_steps=total_steps, on_iteration=watch, should_stop=asked)
    finish.conclude(arguments.run, summary, as_json=arguments.json)
