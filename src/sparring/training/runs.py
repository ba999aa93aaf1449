"""Runs from the outside: start one, resume one, start from another one's players."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

import jax

from sparring.core.errors import ConfigError, RunError
from sparring.core.frames import roomy
from sparring.core.schedules import Schedule
from sparring.core.settings import to_toml
from sparring.evaluation.scoring import UNTRAINED
from sparring.games.balance import suits_of
from sparring.games.game import Game
from sparring.players.checkpointed import believing, leaders_of, newest
from sparring.players.condition import lost_checkpoints, lost_lines
from sparring.players.guests import as_saved, guests_of, invite
from sparring.setup.beginning import Beginning, first_state, with_origin
from sparring.setup.build import Built, build, shaping_weights
from sparring.setup.config import RunConfig
from sparring.setup.line_up import side_label
from sparring.setup.named_arrays import from_arrays
from sparring.setup.needs import met, settings, stored_config
from sparring.setup.own_code import changed_code, code_facts
from sparring.setup.program import TrainState
from sparring.setup.rows import in_front
from sparring.store.checkpoints import Checkpoint
from sparring.store.manifest import manifest_facts
from sparring.store.run_dir import RunDir
from sparring.store.trackers import check_trackers
from sparring.training.audit import audited, results_lost
from sparring.training.notices import EVERYBODY, noticed
from sparring.training.opposition import Opposition
from sparring.training.population import Population
from sparring.training.train import Summary, Tracked, train
from sparring.training.warm_start import WarmStart, warmed

Schedules = Literal["stretch", "keep"]


@roomy
def start(
    config: RunConfig,
    path: str | Path,
    *,
    force: bool = False,
    warm: WarmStart | None = None,
    game: Game | None = None,
    **watching: Unpack[Tracked],
) -> Summary:
    """Train a new run. All that can be wrong with the config is found before the directory is made.

    A `game` of one's own need not be registered; the config then only names it.
    """
    check_trackers(watching.get("track", ()))
    built = build(config, game=game)
    config, state = built.config, first_state(built)
    if warm is not None:
        state = with_origin(Beginning.of(built), warmed(built, state, warm))
    guests = guests_of(config, built.game)
    run = RunDir.create(path, force=force)
    with run.writing():
        run.write_text(run.config_path, to_toml(config))
        run.write_manifest({**facts(built), "warm_start": None if warm is None else warm.source})
        for guest, source in zip(guests, config.pool.guests, strict=True):
            invite(run, guest, source)
        return train(built, run, state, **watching)


@roomy
def resume(
    path: str | Path,
    *,
    total_steps: int | None = None,
    schedules: Schedules | None = None,
    eval_games: int | None = None,
    game: Game | None = None,
    **watching: Unpack[Tracked],
) -> Summary:
    """Go on from the newest checkpoint, bit for bit as if nothing had happened; more steps may be asked for, and
    another number of games in evaluations. A run that lacks its final evaluation alone is evaluated.

    With other steps schedules are stretched to the new length, or kept at the old one; None: as the run did before.
    """
    check_trackers(watching.get("track", ()))
    run = RunDir.open(path)
    if gone := lost_checkpoints(run, stored_config(run)):
        raise RunError(gone)
    built = reopen(run, total_steps, game, schedules=schedules, eval_games=eval_games)
    with run.writing():
        checkpoint = newest(run)
        state, opposition, population, begin = None, None, None, 0
        if checkpoint is not None:
            built, opposition, population, state = as_left(built, run, checkpoint)
            begin = checkpoint.iteration
        if begin >= built.iterations and not awaits_evaluation(run, built, begin, asked=eval_games is not None):
            done, asked = begin * built.steps_per_iteration, built.config.total_steps
            raise ConfigError(
                f"{path} has done {done:,} steps; {asked:,} were asked for. Ask for more with --total-steps to go on, "
                f"or play more games with it: sparring eval {path}."
            )
        lost = results_lost(run, begin)
        if opposition is not None and not lost:
            audited(run, opposition, begin)  # first of all: a run that is refused stays as it was
        run.forget_from(begin or UNTRAINED)
        if begin == built.iterations:
            run.forget_last_evaluation(begin - 1)
        if lost:
            run.write_manifest({**run.read_manifest(), "results_from": begin})
        if gaps := lost_lines(run, begin):
            run.write_manifest({**run.read_manifest(), "lines_from": begin})
            run.append_metrics([noticed(begin - 1, built.config.seed, EVERYBODY, "lost", gap) for gap in gaps])
        if total_steps is not None or eval_games is not None:
            run.write_text(run.config_path, to_toml(built.config))
            length = {"iterations": built.iterations, "total_steps": built.config.total_steps}
            run.write_manifest({**run.read_manifest(), **length})
        if state is None:
            state = first_state(built)
        elif built.game.spec.outside:  # worlds ended with their processes: games begin again
            state = state._replace(cursor=first_state(built).cursor)
        return train(built, run, state, opposition=opposition, population=population, start=begin, **watching)


def as_left(
    built: Built, run: RunDir, checkpoint: Checkpoint
) -> tuple[Built, Opposition, Population | None, TrainState]:
    """A run as a checkpoint left it."""
    if "opposition" not in checkpoint.meta:
        raise RunError(f"{checkpoint.path} comes from an earlier version and cannot be resumed. Train it again.")
    with believing(checkpoint.path):
        built, guests = as_saved(built, run, checkpoint.meta["opposition"])
        opposition = Opposition.restored(built, checkpoint.meta["opposition"], guests)
        saved = checkpoint.meta.get("population")
        population = None if saved is None else Population.restored(built, saved)
    return built, opposition, population, restored(built, checkpoint)


def awaits_evaluation(run: RunDir, built: Built, done: int, *, asked: bool = False) -> bool:
    """Whether the final evaluation is all that a run lacks. It was the last thing to do, and is not if switched off,
    unless somebody `asked` for it."""
    wanted = asked or built.config.evaluation.eval_games > 0
    return done == built.iterations and wanted and len(run.last_evaluation()) < built.config.seeds


def reopen(
    run: RunDir,
    total_steps: int | None = None,
    game: Game | None = None,
    *,
    schedules: Schedules | None = None,
    eval_games: int | None = None,
    trains: bool = True,
) -> Built:
    """A run as it was, or with another length or other evaluations."""
    config = stored_config(run)
    if total_steps is not None:
        over = {None: config.schedule_steps, "stretch": 0, "keep": config.schedule_steps or config.total_steps}
        config = replace(config, total_steps=total_steps, schedule_steps=over[schedules])
    if eval_games is not None:
        config = replace(config, evaluation=replace(config.evaluation, eval_games=eval_games))
    return build(config, game=game, trains=trains)


def reached(built: Built, iteration: int) -> dict[str, float]:
    """The values of all schedules that act and change over the run, before this iteration."""
    progress, config = built.progress(iteration), built.config
    found = {name: value for name, value, _ in settings(config) if isinstance(value, Schedule) and met(name, config)}
    found |= {f"shaping {name}": weight for name, weight in shaping_weights(built.game.spec, config.shaping).items()}
    return {name: schedule.at(progress) for name, schedule in found.items() if schedule.shape != "constant"}


def restored(built: Built, checkpoint: Checkpoint) -> TrainState:
    """The state of a checkpoint. Shapes are compared before anything is made: settings may ask for more than it has."""
    skeleton = jax.eval_shape(lambda: first_state(built))
    return from_arrays(skeleton, checkpoint.arrays, source=str(checkpoint.path))


def trained_state(run: RunDir) -> tuple[Built, TrainState]:
    """A run and its newest weights, to look at and to play with."""
    built = reopen(run, trains=False)
    checkpoint = newest(run)
    if checkpoint is None:
        gone = lost_checkpoints(run, built.config)
        raise RunError(gone or f"{run.path} has no checkpoint yet. Resume it: sparring resume {run.path}")
    with believing(checkpoint.path):
        built, _ = as_saved(built, run, checkpoint.meta.get("opposition", {}))
    return built, in_front(restored(built, checkpoint), leaders_of(checkpoint))


def facts(built: Built) -> dict[str, Any]:
    """What the run is and what it was made with; what a reader needs to label it without loading the game."""
    return {**manifest_facts(), **device_facts(), **labels(built), "code": code_facts(built.config)}


def labels(built: Built) -> dict[str, Any]:
    """What the run is: the part of the facts that follows from its settings and its game."""
    spec, config = built.game.spec, built.config
    alike = spec.exchangeable_sides and built.lineup.one_drives_all  # several networks are judged one by one
    return {
        "game": config.game,
        "seed": config.seed,
        "seeds": config.seeds,
        "sides": [side_label(spec, seats) for seats in built.plan.seating.seats_of_side],
        "seats": list(spec.seat_names),
        "score": spec.score,
        "zero_sum": spec.zero_sum,
        "longest": spec.longest,
        "alike": spec.sides == 2 and alike,
        "watchable": type(getattr(built.game, "game", built.game)).scene is not Game.scene,
        "many_alike": spec.sides > 2 and alike,
        "learners": list(built.lineup.names),
        "fates": dict(zip(spec.causes, spec.fates, strict=True)) if spec.fates else {},
        "iterations": built.iterations,
        "total_steps": config.total_steps,
        "suited_steps": dict(suits_of(spec)).get("total_steps", 0),
        "steps_per_iteration": built.steps_per_iteration,
    }


def device_facts() -> dict[str, Any]:
    """What decides how sums are rounded: the device, and how many threads share them."""
    device = jax.devices()[0]
    precision = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "devices": jax.device_count(),
        "threads": os.environ.get("NPROC", "all"),
        "matmul_precision": precision or "default",
    }


def differences(path: Path) -> list[str]:
    """What of the machine differs from when the run was made: with any of these, a resume is not bit for bit."""
    run = RunDir.open(path)
    before = run.read_manifest()
    now = {**manifest_facts(), **device_facts()}
    watched = ("packages", "python", "platform", "cpus", "cpus_allowed", *device_facts())
    return [
        f"{key} was {before[key]}, is {now[key]}" for key in watched if key in before and before[key] != now.get(key)
    ] + changed_code(run)
