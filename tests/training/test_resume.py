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

from sparring.core.errors import ConfigError, RunError
from sparring.core.schedules import Schedule
from sparring.nets.config import NetConfig
from sparring.store.checkpoints import load
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.config import CheckpointConfig, EvalConfig, RunConfig, SeatsConfig
from sparring.training.runs import WarmStart, resume, start

ITERATIONS = 6

KINDS = {
    "feed-forward, one learner": (NetConfig(hidden=(8,), normalise=True), SeatsConfig()),
    "recurrent, one learner": (NetConfig(hidden=(8,), memory="gru", memory_size=8), SeatsConfig()),
    "feed-forward, three learners": (NetConfig(hidden=(8,), critic="central"), SeatsConfig(share="seat")),
    "recurrent, three learners": (NetConfig(hidden=(8,), memory="lstm", memory_size=8), SeatsConfig(share="seat")),
    "everything that learns from its past": (
        NetConfig(hidden=(8,), memory="gru", memory_size=8, normalise=True), SeatsConfig(),
    ),
}  # fmt: skip
WITH_A_PAST: dict[str, Any] = {
    "loss": "clip_kl", "burn_in": 1, "value_norm": "popart", "value_noise": Schedule.parse(0.5), "reward_scale": True,
    "calm_critic": True,
}  # fmt: skip
"""Options that carry something from one iteration to the next, or draw numbers of their own."""


def config_of(tiny: RunConfig, kind: str) -> RunConfig:
    net, seats = KINDS[kind]
    per_iteration = tiny.play.worlds * tiny.play.steps * 3
    return replace(
        tiny,
        net=net,
        ppo=replace(tiny.ppo, **WITH_A_PAST) if kind.startswith("everything") else tiny.ppo,
        seats=seats,
        total_steps=ITERATIONS * per_iteration,
        evaluation=EvalConfig(eval_every=2, eval_games=2),
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
    assert whole.compilations == again.compilations == 1


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
    longer = resume(tmp_path / "run", total_steps=config.total_steps + 1)
    assert longer.iteration == ITERATIONS + 1


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
