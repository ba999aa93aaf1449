"""sparring resume RUN: go on from the newest checkpoint, bit for bit on the same machine."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from sparring.cli.flags import RunFolder, check_needs, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.cli.signals import heard
from sparring.cli.watch import Watch
from sparring.store.trackers import Tracker

if TYPE_CHECKING:  # help answers without jax
    from sparring.setup.build import Built

EXAMPLES = ("sparring resume runs/first", "sparring resume runs/first --total-steps 600000 --schedules keep")
NEEDS = {"schedules": "total_steps"}
"""Flags, and the one that each needs."""


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with a run from its newest checkpoint."""

    run: RunFolder
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    total_steps: int = 0
    """Train on to this many steps; 0: as many as planned."""
    schedules: Annotated[Literal["stretch", "keep"] | None, tyro.conf.arg(help_behavior_hint="")] = None
    """With --total-steps: stretch schedules to the new length, where a learning rate that has fallen rises again, or
    keep them as they were planned, to hold their last values. Default: stretch, or as the run was resumed before."""
    eval_games: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Games of each line-up in the evaluations still to come, 0: none. Default: as planned."""
    track: tuple[Tracker, ...] = ()
    """Also keep metrics in the run's folder `tracking` as: csv, tensorboard, wandb (offline, extra wandb)."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    arguments = parse(Resume, words, command="resume", examples=EXAMPLES)
    check_needs(arguments, NEEDS)
    prepare(arguments.machine)
    from sparring.cli import finish
    from sparring.players.checkpointed import newest
    from sparring.players.condition import lost_checkpoints, lost_lines
    from sparring.store.run_dir import RunDir
    from sparring.training.audit import results_lost
    from sparring.training.runs import awaits_evaluation, differences, reopen, resume

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run, remark=False)
    total_steps = arguments.total_steps or None
    asked = {"schedules": arguments.schedules, "eval_games": arguments.eval_games}
    built, checkpoint = reopen(run, total_steps, **asked), newest(run)
    if checkpoint is None and not lost_checkpoints(run, built.config):
        note(f"{run.path} was stopped before its first checkpoint: it begins again.")
    for line in lost_lines(run, checkpoint.iteration) if checkpoint else ():
        note(f"{line} The run goes on without them.")
    if total_steps is not None:
        for line in lengthened(reopen(run), built, checkpoint.iteration if checkpoint else 0):
            note(line)
    for line in differences(arguments.run):
        note(f"{line}; the resumed run will not be bit for bit the same.")
    if checkpoint is not None and built.game.spec.outside:
        note(f"worlds of {built.config.game} ended with their processes: its games begin again, so the resumed run is "
             "not bit for bit what it would have been.")  # fmt: skip
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
        at = f"Going on after iteration {checkpoint.iteration:,} of {built.iterations:,}." if checkpoint else ""
        begin = partial(watch.begin, at, next((line["seconds"] for line in run.timing()), None))
        summary = resume(
            arguments.run, total_steps=total_steps, **asked, on_begin=begin,
            on_iteration=watch, should_stop=wishes.stop, should_save=wishes.save, track=arguments.track,
        )  # fmt: skip
    return finish.conclude(arguments.run, summary, as_json=arguments.json)


def lengthened(before: "Built", after: "Built", iteration: int) -> list[str]:
    """What another number of steps does to the schedules, told before anything is done."""
    from sparring.training.runs import reached

    planned, asked = before.config.total_steps, after.config.total_steps
    old, new = reached(before, iteration), reached(after, iteration)
    changed = [f"{name} from {old[name]:.3g} to {new[name]:.3g}" for name in old if old[name] != new[name]]
    lines = [f"{planned:,} steps were planned, {asked:,} from now on."] if planned != asked else []
    if changed:
        lines.append(
            f"Schedules run over the new length, and jump: {', '.join(changed)}. To hold them: --schedules keep."
        )
    elif after.config.schedule_steps and old:
        held = ", ".join(f"{name} at {value:.3g}" for name, value in old.items())
        lines.append(f"Schedules keep to {after.config.schedule_steps:,} steps: {held}.")
        if new.get("learning_rate") == 0:
            lines.append("A learning_rate of 0 learns nothing. To let it rise again: --schedules stretch.")
    return lines
