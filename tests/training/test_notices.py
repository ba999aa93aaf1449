"""What a run tells while it goes on, and what it does with rewards that are no numbers."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from sparring.core.schedules import Schedule
from sparring.games.game import Game
from sparring.learn.config import PPOConfig
from sparring.reports.page import write_report
from sparring.store.run_dir import RunDir
from sparring.training.notices import remarks, unsaid
from sparring.training.runs import resume, start
from toy_games import timetable


def broken(reward: float = float("nan")) -> Game:
    """Two seats with a learner each; the game pays the first what it should not in its second step."""
    return timetable([[1.0, -1.0], [reward, 0.0], [0.5, 0.0]], echo=1.0)


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory, tiny):
    """A run of three iterations whose rewards are not all numbers."""
    path = tmp_path_factory.mktemp("runs") / "spoiled"
    config = replace(tiny, game="toy", total_steps=3 * 32)
    told = []
    summary = start(config, path, game=broken(), on_iteration=lambda moment: told.extend(moment.notices))
    return RunDir.open(path), summary, told


def lines_of(run: RunDir, kind: str) -> list[dict]:
    return [line for line in run.metrics() if line["kind"] == kind]


def test_rewards_that_are_no_numbers_change_no_weight_and_are_told_once(spoiled):
    run, summary, told = spoiled
    assert [line["notice"] for line in told] == ["not_finite"]
    assert lines_of(run, "notice") == told
    assert "4 minibatches" in told[0]["text"]
    assert told[0]["learner"] == "seat_0"
    (learners,) = summary.state.learners
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(learners.model))
    np.testing.assert_array_equal(learners.updates, [[0, 12]])
    bad = [(line["seat_0/bad_minibatches"], line["seat_1/bad_minibatches"]) for line in lines_of(run, "train")]
    assert bad == [(4.0, 0.0)] * 3


def test_the_first_bad_minibatch_is_kept_to_be_looked_at(spoiled):
    run, _, _ = spoiled
    (file,) = run.not_finite_path.iterdir()
    assert file.name == "seat_0-seed-0.safetensors"
    arrays = load_file(file)
    assert {"features", "action.discrete_SD", "advantage", "target", "log_prob", "acting"} <= set(arrays)
    assert np.isnan(arrays["advantage"]).any()
    assert np.isfinite(arrays["features"]).all()


def test_the_report_repeats_what_was_told(spoiled):
    run, _, told = spoiled
    page = write_report(run).page.read_text()
    assert "4 minibatches had a loss" in page
    assert told[0]["learner"] in page


def test_a_resumed_run_does_not_repeat_itself(spoiled):
    run, _, _ = spoiled
    again = []
    resume(run.path, total_steps=5 * 32, game=broken(), on_iteration=lambda moment: again.extend(moment.notices))
    assert again == []
    assert len(lines_of(run, "notice")) == 1


WELL = {
    "approx_kl": 0.01,
    "bad_minibatches": 0.0,
    "critic_calmed": 0.0,
    "critic_factor": 1.0,
    "value_spread": 1.0,
    "advantage_flat": 0.0,
}
CLIPPED = PPOConfig(value_clip=Schedule.parse(0.2))


@pytest.mark.parametrize(
    ("ppo", "stats", "kinds"),
    [
        (PPOConfig(), {}, []),
        (PPOConfig(), {"bad_minibatches": 2.0}, ["not_finite"]),
        (PPOConfig(), {"critic_calmed": 1.0, "critic_factor": 0.5}, ["calm_critic"]),
        (PPOConfig(), {"critic_factor": 0.5}, []),  # it was lowered earlier
        (PPOConfig(), {"approx_kl": 0.2}, ["kl"]),
        (PPOConfig(), {"approx_kl": None}, []),
        (CLIPPED, {"value_spread": 3.9}, []),
        (CLIPPED, {"value_spread": 150.0}, ["value_clip"]),
        (PPOConfig(), {"value_spread": 150.0}, []),
        (CLIPPED, {"value_spread": None}, []),  # a run whose values are no numbers
        (PPOConfig(), {"advantage_flat": 1.0}, ["advantages"]),
        (PPOConfig(), {"advantage_flat": 0.5}, []),  # one side of two has nothing to learn yet
    ],
)
def test_a_notice_is_given_when_and_only_when_there_is_reason(ppo, stats, kinds):
    assert [kind for kind, _ in remarks(ppo, {**WELL, **stats})] == kinds


def test_notices_name_numbers_and_what_to_do():
    ((_, clip),) = remarks(CLIPPED, {**WELL, "value_spread": 150.0})
    assert "value_clip 0.2" in clip
    assert "150" in clip
    assert "--value-norm popart" in clip
    ((_, calmed),) = remarks(PPOConfig(), {**WELL, "critic_calmed": 1.0, "critic_factor": 0.3})
    assert "0.3 times" in calmed


def test_only_kinds_that_would_repeat_are_told_once():
    def line(kind: str, seed: int = 0) -> dict:
        return {"kind": "notice", "seed": seed, "learner": "learner", "notice": kind}

    said = [line("not_finite"), line("calm_critic")]
    found = [line("not_finite"), line("calm_critic"), line("not_finite", seed=1), line("value_clip")]
    assert unsaid(found, said) == found[1:]
