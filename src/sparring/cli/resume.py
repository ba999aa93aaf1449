"""sparring resume RUN: go on from the newest checkpoint, bit for bit on the same machine."""

from dataclasses import dataclass, field

from sparring.cli import finish
from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.signals import heard
from sparring.cli.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with a run from its newest checkpoint."""

    run: RunFolder
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    total_steps: int = 0
    """Train on to this many steps, and stretch schedules to that length; 0: as many as planned."""
    eval_games: int | None = None
    """Games of each line-up in the evaluations still to come, 0: none. Default: as planned."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    arguments = parse(Resume, words, command="resume")
    prepare(arguments.machine)
    from sparring.store.run_dir import RunDir
    from sparring.training.audit import results_lost
    from sparring.training.runs import awaits_evaluation, differences, newest, reopen, resume

    run = RunDir.open(arguments.run)
    total_steps = arguments.total_steps or None
    built, checkpoint = reopen(run, total_steps, eval_games=arguments.eval_games), newest(run)
    planned = reopen(run).config.total_steps
    if total_steps is not None and total_steps < planned:
        note(f"{planned:,} steps were planned, {total_steps:,} from now on; schedules are shortened with them.")
    for line in differences(arguments.run):
        note(f"{line}; the resumed run will not be bit for bit the same.")
    note_damage(checkpoint)
    if checkpoint is not None and results_lost(run, checkpoint.iteration):
        note(
            f"{run.results_path} is gone; the run goes on with what its checkpoint knows, and results begin at "
            f"iteration {checkpoint.iteration}."
        )
    if checkpoint and awaits_evaluation(run, built, checkpoint.iteration):
        note("all steps are done; only the final evaluation is left.")
    watch = Watch(
        quiet=arguments.quiet or arguments.json,
        steps_per_iteration=built.steps_per_iteration,
        seeds=built.config.seeds,
        start=checkpoint.iteration if checkpoint else 0,
    )
    with heard(as_json=arguments.json) as wishes, watch.bar:
        summary = resume(
            arguments.run, total_steps=total_steps, eval_games=arguments.eval_games,
            on_iteration=watch, should_stop=wishes.stop, should_save=wishes.save,
        )  # fmt: skip
    return finish.conclude(arguments.run, summary, as_json=arguments.json)
