"""A run that was stopped and resumed is the run that never stopped, bit for bit."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparring.cli.resume import lengthened
from sparring.core.errors import ConfigError, RunError
from sparring.core.schedules import Schedule
from sparring.core.settings import to_toml
from sparring.learn.config import COEFFICIENTS
from sparring.nets.config import NetConfig
from sparring.setup.build import Built
from sparring.setup.config import CheckpointConfig, EvalConfig, RunConfig, SeatsConfig
from sparring.store.checkpoints import load
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.runs import reopen, resume, start
from sparring.training.train import due
from sparring.training.warm_start import WarmStart

ITERATIONS = 6

KINDS = {
    "feed-forward, one learner": (NetConfig(hidden=(8,), normalise=True), SeatsConfig()),
    "recurrent, one learner": (NetConfig(hidden=(8,), memory="gru", memory_size=8), SeatsConfig()),
    "feed-forward, three learners": (NetConfig(hidden=(8,), critic="central"), SeatsConfig(share="seat")),
    "recurrent, three learners": (NetConfig(hidden=(8,), memory="lstm", memory_size=8), SeatsConfig(share="seat")),
    "generated weights": (
        NetConfig(hidden=(8,), hyper="residual", hyper_size=4, hyper_recalls="rewards"), SeatsConfig(),
    ),
    "everything that learns from its past": (
        NetConfig(hidden=(8,), memory="gru", memory_size=8, normalise=True), SeatsConfig(),
    ),
}  # fmt: skip
WITH_A_PAST: dict[str, Any] = {
    "loss": "clip_kl", "burn_in": 1, "value_norm": "popart", "value_noise": Schedule.parse(0.5), "reward_scale": True,
    "calm_critic": True,
}  # fmt: skip
"""Options that carry something from one iteration to the next, or draw numbers of their own."""


EVALUATED = ("feed-forward, one learner", "recurrent, three learners")
"""The kinds that are also evaluated on the way: games apart from training, which leave nothing for it."""


def config_of(tiny: RunConfig, kind: str) -> RunConfig:
    net, seats = KINDS[kind]
    per_iteration = tiny.play.worlds * tiny.play.steps * 3
    return replace(
        tiny,
        net=net,
        ppo=replace(
            tiny.ppo, **WITH_A_PAST if kind.startswith("everything") else {}, sequence=2 if net.memory != "none" else 20
        ),
        seats=seats,
        total_steps=ITERATIONS * per_iteration,
        evaluation=EvalConfig(eval_every=2, eval_games=2 if kind in EVALUATED else 0),
        checkpoint=CheckpointConfig(checkpoint_every=2),
        options=("steps=5",),
    )


def digest(path: Path) -> str:
    """SHA-256 over every array of the newest checkpoint, the metrics and the results."""
    run = RunDir.open(path)
    checkpoint = load(run.checkpoints_path)
    assert checkpoint.iteration == ITERATIONS
    sha = hashlib.sha256()
    for name in sorted(checkpoint.arrays):
        sha.update(name.encode() + checkpoint.arrays[name].tobytes())
    sha.update(run.metrics_path.read_bytes())
    sha.update(repr(sorted(read_results(run.results_path))).encode())
    return sha.hexdigest()


def stop_after(iterations: int) -> Callable[[], bool]:
    done = iter(range(1, iterations + 1))
    return lambda: next(done) == iterations


class KilledError(Exception):
    pass


def killed_after(iteration: int) -> Callable:
    def watch(moment) -> None:
        if moment.iteration == iteration:
            raise KilledError

    return watch


OPTIMISED = "everything that learns from its past"
"""The kind of run that is also tried as the compiler optimises by itself; for seconds, so that it is one."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_and_resumed_run_equals_one_that_never_stopped(tiny, tmp_path, kind):
    config = config_of(tiny, kind)
    whole = start(config, tmp_path / "whole")
    with pytest.raises(KilledError):
        start(config, tmp_path / "killed", on_iteration=killed_after(4))
    again = resume(tmp_path / "killed")
    assert again.finished
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    assert whole.compilations <= 1 and again.compilations == 0


def test_it_is_also_so_as_the_compiler_optimises_by_itself(tmp_path):
    """All other tests run unoptimised programs."""
    name = test_a_killed_and_resumed_run_equals_one_that_never_stopped.__name__
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"{__file__}::{name}[{OPTIMISED}]", f"--basetemp={tmp_path}"],
        env={**os.environ, "OPTIMISED": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_a_politely_stopped_run_goes_on_where_it_stopped(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    start(config, tmp_path / "whole")
    first = start(config, tmp_path / "stopped", should_stop=stop_after(3))
    assert (first.finished, first.iteration) == (False, 3)
    assert resume(tmp_path / "stopped").finished
    assert digest(tmp_path / "stopped") == digest(tmp_path / "whole")


def saved_once(tiny: RunConfig) -> RunConfig:
    """Evaluated and saved at the end only."""
    config = config_of(tiny, "feed-forward, one learner")
    only_last = EvalConfig(eval_games=2, eval_first=False, eval_times=0)
    return replace(config, evaluation=only_last, checkpoint=CheckpointConfig(checkpoint_every=0))


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory) -> str:
    """The digest of `saved_once` when nothing happens to it."""
    path = tmp_path_factory.mktemp("whole") / "run"
    start(saved_once(tiny), path)
    return digest(path)


@pytest.mark.parametrize("place", ["train.score_sides", "recorder.evaluation_lines", "recorder.evaluation_rows"])
def test_a_run_whose_final_evaluation_broke_is_whole_and_resume_evaluates_it(tiny, tmp_path, monkeypatch, whole, place):
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(f"sparring.training.{place}", broken)
        start(saved_once(tiny), tmp_path / "broken")
    assert load(RunDir.open(tmp_path / "broken").checkpoints_path).iteration == ITERATIONS
    if place == "train.score_sides":  # all was written: there is nothing left to do
        with pytest.raises(ConfigError, match="--total-steps"):
            resume(tmp_path / "broken")
    else:
        again = resume(tmp_path / "broken")
        assert again.finished and again.scores and again.compilations == 0
    assert digest(tmp_path / "broken") == whole


def test_what_comes_every_so_often_comes_then_and_0_means_never():
    assert [done for done in range(1, 7) if due(3, done)] == [3, 6]
    assert not any(due(0, done) for done in range(7))


def broken(*_: object) -> None:
    raise MemoryError


def test_a_run_stopped_in_its_last_iteration_is_finished_by_resume(tiny, tmp_path, whole):
    assert not start(saved_once(tiny), tmp_path / "stopped", should_stop=stop_after(ITERATIONS)).finished
    assert resume(tmp_path / "stopped").finished
    assert digest(tmp_path / "stopped") == whole


def test_without_games_there_is_no_evaluation_until_one_is_asked_for(tiny, tmp_path, whole):
    off = replace(saved_once(tiny), evaluation=EvalConfig(eval_every=2, eval_first=True, eval_games=0))
    summary = start(off, tmp_path / "run")
    assert summary.finished and summary.scores == summary.before == [] and summary.exploitability == {}
    run = RunDir.open(tmp_path / "run")
    assert {line["kind"] for line in run.metrics()} == {"train"} and read_results(run.results_path, "eval") == []
    with pytest.raises(ConfigError, match="sparring eval"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", eval_games=2).scores
    assert digest(tmp_path / "run") == whole


def test_a_checkpoint_that_was_asked_for_changes_nothing_else(tiny, tmp_path, whole):
    wishes = iter([False, False, True, False, False, False])
    start(saved_once(tiny), tmp_path / "asked", should_save=lambda: next(wishes))
    assert {path.name for path in (tmp_path / "asked" / "checkpoints").glob("0*")} == {"000003", "000006"}
    assert digest(tmp_path / "asked") == whole


def test_another_seed_gives_another_run(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    start(config, tmp_path / "a")
    start(replace(config, seed=1), tmp_path / "b")
    assert digest(tmp_path / "a") != digest(tmp_path / "b")


def test_a_finished_run_says_how_to_go_on(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    start(config, tmp_path / "run")
    with pytest.raises(ConfigError, match="--total-steps"):
        resume(tmp_path / "run")
    longer = resume(tmp_path / "run", total_steps=config.total_steps + 1, schedules="keep")
    assert longer.iteration == ITERATIONS + 1
    written = reopen(RunDir.open(tmp_path / "run"))  # as a second resume finds it
    assert written.config.schedule_steps == config.total_steps
    assert written.knobs(ITERATIONS + 1)[0][0, RATE] == 0.0


RATE = COEFFICIENTS.index("learning_rate")


def planned(path: Path, config: RunConfig) -> RunDir:
    """A run of which only the settings are there."""
    run = RunDir.create(path)
    run.write_text(run.config_path, to_toml(config))
    return run


def rates(built: Built, iterations: int) -> list[float]:
    return [float(built.knobs(i)[0][0, RATE]) for i in range(iterations + 1)]


def test_with_more_steps_schedules_are_stretched_or_kept_and_a_second_resume_does_the_same(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    run, twice = planned(tmp_path / "run", config), 2 * config.total_steps
    before = rates(reopen(run), 2 * ITERATIONS)
    kept = reopen(run, twice, schedules="keep")
    assert kept.iterations == 2 * ITERATIONS and rates(kept, 2 * ITERATIONS) == before
    assert before[ITERATIONS:] == [0.0] * (ITERATIONS + 1) and before[0] > before[1] > 0.0
    stretched = reopen(run, twice)
    assert rates(stretched, 2 * ITERATIONS)[::2] == before[: ITERATIONS + 1]
    again = planned(tmp_path / "again", kept.config)
    assert rates(reopen(again, 3 * config.total_steps), 2 * ITERATIONS) == before
    assert reopen(again, twice, schedules="stretch").config == stretched.config


def test_what_becomes_of_schedules_is_told_before_a_run_goes_on(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    run, twice = planned(tmp_path / "run", config), 2 * config.total_steps
    before = reopen(run)
    length, jump = lengthened(before, reopen(run, twice), ITERATIONS)
    assert length == "288 steps were planned, 576 from now on."
    assert "jump: learning_rate from 0 to 0.00035. To hold them: --schedules keep." in jump
    _, held, idle = lengthened(before, reopen(run, twice, schedules="keep"), ITERATIONS)
    assert held == "Schedules keep to 288 steps: learning_rate at 0."
    assert "A learning_rate of 0 learns nothing" in idle
    assert lengthened(before, before, ITERATIONS) == []


def test_stacked_seeds_are_recorded_one_by_one(tiny, tmp_path):
    config = replace(config_of(tiny, "feed-forward, one learner"), seeds=2)
    summary = start(config, tmp_path / "run")
    lines = RunDir.open(tmp_path / "run").metrics()
    train = [(line["iteration"], line["seed"]) for line in lines if line["kind"] == "train"]
    assert train == [(i, s) for i in range(ITERATIONS) for s in (0, 1)]
    learned = next(score for score in summary.scores if score.team == "learned")
    assert learned.mean_return.count == 2


def test_a_warm_start_takes_the_weights_and_keeps_what_was_asked(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    start(config, tmp_path / "old")
    old = load(RunDir.open(tmp_path / "old").checkpoints_path).arrays
    still = replace(config, ppo=replace(config.ppo, learning_rate=Schedule.parse(0.0)))
    weight = "learners.0.model.actor.trunk.layers.0.weight_IO"
    moment = next(name for name in old if "optimiser" in name and name.endswith("mu.actor.head.weight_IO"))
    count = "learners.0.model.actor.trunk.normaliser.count"

    def warm(name: str, **keep: bool) -> dict[str, np.ndarray]:
        start(still, tmp_path / name, warm=WarmStart(source=str(tmp_path / "old"), **keep), should_stop=stop_after(1))
        return load(RunDir.open(tmp_path / name).checkpoints_path).arrays

    fresh = warm("fresh", keep_optimiser=False, keep_normaliser=False)
    kept = warm("kept", keep_optimiser=True, keep_normaliser=True)
    np.testing.assert_array_equal(fresh[weight], old[weight])
    np.testing.assert_array_equal(kept[weight], old[weight])
    # One rollout of 4 worlds x 4 steps x 3 seats is counted on top of what was kept.
    assert fresh[count].item() == 48
    assert kept[count].item() == old[count].item() + 48
    assert not np.allclose(fresh[moment], kept[moment])


def test_a_warm_start_from_another_network_is_refused_before_anything_is_written(tiny, tmp_path):
    config = config_of(tiny, "feed-forward, one learner")
    start(config, tmp_path / "old", should_stop=stop_after(1))
    wider = replace(config, net=replace(config.net, hidden=(16,)))
    with pytest.raises(RunError, match=r"weight_IO.*expected.*16"):
        start(wider, tmp_path / "new", warm=WarmStart(source=str(tmp_path / "old")))
    plain = replace(config, net=replace(config.net, normalise=False))  # it would lose its statistics without a word
    with pytest.raises(RunError, match=r"trunk.normaliser.*no place.*config.toml"):
        start(plain, tmp_path / "new", warm=WarmStart(source=str(tmp_path / "old")))
    with pytest.raises(ConfigError, match="learner"):
        start(config, tmp_path / "new", warm=WarmStart(source=f"{tmp_path / 'old'}:lerner"))
    assert not (tmp_path / "new").exists()
