"""What a run tells while it goes on, and what it does with rewards that are no numbers."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from sparring.core.records import Action
from sparring.core.schedules import Schedule
from sparring.games.game import Game
from sparring.learn.config import PPOConfig
from sparring.reports.page import write_report
from sparring.store.run_dir import RunDir
from sparring.training.notices import game_remarks, remarks, unsaid
from sparring.training.runs import resume, start
from toy_games import Timetable, TimetableState, timetable


class Rusty(Timetable):
    """In its second step, half of the games pay the first seat what is no number."""

    def step(self, state, action, chance):
        later, step = Timetable.step(self, state, action, chance)
        rusty = (state.clock == 1) & (state.ticket < 0.5)
        return later, step._replace(reward_S=jnp.where(rusty, jnp.array([jnp.nan, 0.0]), step.reward_S))


def broken() -> Game:
    sound = timetable([[1.0, -1.0], [0.0, 0.0], [0.5, 0.0]], echo=1.0)
    return Rusty(sound.spec, sound.rules, sound.masks)


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory, tiny):
    """A run of three iterations in which games go wrong, and the second learner steps out of all numbers."""
    path = tmp_path_factory.mktemp("runs") / "spoiled"
    config = replace(tiny, game="toy", total_steps=3 * 32, each=("learning_rate=3e-4,1e38",))
    told = []
    summary = start(config, path, game=broken(), on_iteration=lambda moment: told.extend(moment.notices))
    return RunDir.open(path), summary, told


def lines_of(run: RunDir, kind: str) -> list[dict]:
    return [line for line in run.metrics() if line["kind"] == kind]


def test_games_that_go_wrong_are_left_out_and_the_others_teach(spoiled):
    run, summary, told = spoiled
    assert [(line["notice"], line["learner"]) for line in told] == [("left_out", "all"), ("not_finite", "seat_1")]
    (learners,) = summary.state.learners
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(learners.model))
    np.testing.assert_array_equal(learners.updates, [[12, 0]])
    lines = lines_of(run, "train")
    assert [line["seat_0/bad_minibatches"] for line in lines] == [0.0] * 3
    assert all(line["games/left_out"] > 0 for line in lines)
    # A sound game of 3 steps pays 1.5 and the echo of 3 choices, at most 2 each; one that went wrong has no return.
    assert all(1.5 <= line["return/seat_0"] <= 7.5 and line["length"] == 3 for line in lines)


def test_the_world_that_went_wrong_is_kept_to_be_stepped_again(spoiled):
    run, _, _ = spoiled
    arrays = load_file(run.not_finite_path / "world-seed-0.safetensors")
    assert arrays["state.clock"] == 1
    assert arrays["state.ticket"] < 0.5
    state = TimetableState(jnp.asarray(arrays["state.clock"]), jnp.asarray(arrays["state.ticket"]))
    action = Action(jnp.asarray(arrays["action.discrete_SD"]), jnp.asarray(arrays["action.continuous_SC"]))
    assert np.isnan(broken().step(state, action, ())[1].reward_S[0])


def test_an_evaluation_leaves_games_out_that_went_wrong_and_says_so(spoiled, tiny):
    run, summary, _ = spoiled
    (line,) = (line for line in lines_of(run, "notice") if line["notice"] == "evaluation")
    lost = int(line["text"].split()[0])
    assert lost > 0
    alone = [score for score in summary.scores if score.side == 0]
    assert sum(score.games for score in alone) == len(alone) * tiny.evaluation.eval_games - lost
    assert all(np.isfinite(score.mean_return.mean) for score in alone)


def test_the_first_bad_minibatch_is_kept_to_be_looked_at(spoiled):
    run, _, told = spoiled
    assert "4 minibatches" in told[1]["text"]
    names = sorted(file.name for file in run.not_finite_path.iterdir())
    assert names == ["seat_1-seed-0.safetensors", "world-seed-0.safetensors"]
    arrays = load_file(run.not_finite_path / "seat_1-seed-0.safetensors")
    assert {"features", "action.discrete_SD", "advantage", "target", "log_prob", "acting"} <= set(arrays)
    assert np.isfinite(arrays["advantage"]).all()


def test_the_report_repeats_what_was_told(spoiled):
    run, _, told = spoiled
    page = write_report(run).page.read_text()
    assert "4 minibatches had a loss" in page
    assert "games went wrong and were left out" in page
    assert told[1]["learner"] in page


def test_a_resumed_run_does_not_repeat_itself(spoiled):
    run, _, _ = spoiled
    again = []
    resume(run.path, total_steps=5 * 32, game=broken(), on_iteration=lambda moment: again.extend(moment.notices))
    assert again == []
    assert [line["notice"] for line in lines_of(run, "notice")].count("left_out") == 1


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


def test_notices_of_the_game_count_what_went_wrong():
    assert game_remarks({"games": 3}) == []
    ((kind, text),) = game_remarks({"games/left_out": 5, "games/overdue": 2})
    assert kind == "left_out"
    assert text.startswith("5 games went wrong and were left out: 3 with a NaN")
    assert "2 that had not ended after spec.longest steps" in text
    ((kind, text),) = game_remarks({"games/reused": 4})
    assert (kind, text.split()[0]) == ("reused", "4")
    assert "Lower spec.shortest" in text


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
