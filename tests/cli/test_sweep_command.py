"""A sweep tries what Optuna proposes, goes on where it was stopped, and names the best command."""

import json

import pytest

from sparring.cli.main import main

GAME, STEPS = "matrix:rock_paper_scissors", 8 * 10 * 2
SHAPE = ("--worlds", 8, "--steps", 10, "--minibatches", 2, "--hidden", 8, "--self-play", "naive")
VARY = ("--vary", "learning_rate=1e-4..1e-2:log", "clip=0.1..0.3")


def test_a_sweep_goes_on_where_it_stood_and_prints_its_best_command(sparring, tmp_path):
    pytest.importorskip("optuna", reason="sweeps are tried where Optuna is")
    out, words = tmp_path / "sweep", (GAME, *SHAPE, "--total-steps", 2 * STEPS, "--eval-games", 0)
    said = sparring("sweep", *words, *VARY, "--minimise", "length/x", "--trials", 1, "--out", tmp_path / "wrong")
    assert "Unknown metric 'length/x'" in said.sentence()
    first = sparring("sweep", *words, *VARY, "--maximise", "learner/entropy", "--trials", 2, "--out", out, "--json")
    assert first.code == 0, first.err
    second = sparring("sweep", "--out", out, "--trials", 3, "--json")
    before, after = json.loads(first.out), json.loads(second.out)
    values = {one["trial"]: one["value"] for one in after["trials"]}
    assert len(values) == 3 and {one["trial"]: one["value"] for one in before["trials"]}.items() <= values.items()
    assert len({one["settings"]["learning_rate"] for one in after["trials"]}) == 3, "no proposal is made twice"
    top = max(after["trials"], key=lambda one: one["value"])
    assert after["trials"][0] == top
    assert after["best"].endswith(
        f"--learning-rate {top['settings']['learning_rate']} --clip {top['settings']['clip']}"
    )
    lines = [
        json.loads(line) for line in (out / f"trial-{top['trial']:04d}" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [line["learner/entropy"] for line in lines if line["kind"] == "train"][-1] == top["value"]
    said = sparring("sweep", *words, *VARY, "--minimise", "learner/entropy", "--out", out)
    assert "searches for something else" in said.sentence()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--vary", "entropy=0..1"), "Name one metric"),
        (("--maximise", "games"), "Nothing is varied"),
        ((*VARY, "--learning-rate", "1e-3", "--maximise", "games"), "learning_rate is varied and set"),
        ((*VARY, "--name", "x", "--maximise", "games"), "sweep sets --name itself"),
        ((*VARY, "--dry-run", "--maximise", "games"), "--dry-run does nothing in a sweep"),
        (("--vary", "discount=0.9..1.5", "--maximise", "games"), "discount must be"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_before_it_trains(sparring, tmp_path, words, told):
    pytest.importorskip("optuna", reason="sweeps are tried where Optuna is")
    assert told in sparring("sweep", GAME, *SHAPE, *words, "--out", tmp_path / "out").sentence()
    assert not (tmp_path / "out").exists()


def test_without_optuna_a_sentence_says_what_to_install(sparring, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    assert "pip install 'sparring[sweep]'" in sparring("sweep", "kuhn").sentence()
    assert main(["sweep", "--help"]) == 0
