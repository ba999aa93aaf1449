"""Looking before and after: settings and plans that train nothing, lists of runs, metrics in letters, parts of help."""

import json
import tomllib
from pathlib import Path

import pytest

from sparring.core.errors import ConfigError
from sparring.core.settings import load_toml
from sparring.reports.series import changing, chosen, spark, unmet
from sparring.setup.config import RunConfig
from sparring.store.lines import series
from sparring.store.run_dir import RunDir


def test_printed_settings_are_those_that_would_be_used_and_nothing_is_made(sparring, train_words, trained, tmp_path):
    said = sparring(*train_words, "--print-config")
    assert said.code == 0 and not (tmp_path / "runs").exists()
    assert tomllib.loads(said.out) == tomllib.loads((trained / "config.toml").read_text())
    (tmp_path / "again.toml").write_text(said.out)
    assert load_toml(RunConfig, tmp_path / "again.toml") == load_toml(RunConfig, trained / "config.toml")


def test_a_dry_run_says_what_would_be_trained_and_trains_nothing(sparring, train_words, tmp_path):
    said = sparring(*train_words, "--dry-run")
    assert said.code == 0 and not (tmp_path / "runs").exists()
    assert "10 iterations of 160 steps, 1 seed." in said.out and "Self-play: naive" in said.out
    told = json.loads(sparring(*train_words, "--dry-run", "--json").out)
    assert (told["iterations"], told["learners"], told["eval_games"]) == (10, ["learner"], 8)
    assert "must be at least 1" in sparring(*train_words, "--dry-run", "--worlds", 0).sentence()


def test_a_dry_run_says_that_a_place_is_taken(sparring, train_words, trained):
    words = [*train_words, "--runs", trained.parent, "--name", "trained"]
    assert "There is a run at this place already" in sparring(*words, "--dry-run").out


def test_runs_are_listed_with_what_they_learned(sparring, trained, tmp_path):
    said = sparring("runs", trained.parent)
    assert said.code == 0 and "trained" in said.out and "100%" in said.out and "exploitability" in said.out
    (one,) = json.loads(sparring("runs", trained.parent, "--json").out)["runs"]
    assert (one["name"], one["steps"], one["done"]) == ("trained", 1600, 1.0)
    assert "learned " in sparring("runs", trained).out
    assert json.loads(sparring("runs", trained, "--json").out)["verdict"]["next"]
    assert "No runs in" in sparring("runs", tmp_path).out
    assert f"No run at {tmp_path / 'nowhere'}. " in sparring("runs", tmp_path / "nowhere").sentence()


def test_a_run_that_cannot_be_read_does_not_hide_the_others(sparring, own_run):
    (own_run / "metrics.jsonl").write_text("{}\n")
    (one,) = json.loads(sparring("runs", own_run.parent, "--json").out)["runs"]
    assert one["verdict"].startswith("cannot be read: Line 1 of")


def test_metrics_are_shown_by_name_part_or_pattern(sparring, trained):
    every = sparring("metrics", trained).out
    assert "learner/entropy" in every and "never changed are left out" in every
    some = sparring("metrics", trained, "return/*").out
    assert "return/seat_0" in some and "return/seat_1" in some and "entropy" not in some
    found = json.loads(sparring("metrics", trained, "learner/entropy", "--json").out)["metrics"]
    lines = [line for line in RunDir.open(trained).metrics() if line["kind"] == "train"]
    assert found["learner/entropy"]["values"] == [line["learner/entropy"] for line in lines]
    both = sparring("metrics", trained, "entropy", "exploitability").out
    assert "learner/entropy" in both and "exploitability" in both, "of training and of evaluations"
    assert "entropy" not in sparring("metrics", trained, "--kind", "eval").out
    assert "Did you mean 'learner/entropy'" in sparring("metrics", trained, "lerner/entropy").sentence()


def test_a_series_is_the_mean_over_seeds_and_its_picture_goes_from_least_to_most():
    lines = [
        {"steps": 10, "a": 1.0},
        {"steps": 10, "a": 3.0},
        {"steps": 20, "a": None},
        {"steps": 30, "a": 4.0, "b": 1},
    ]
    assert series(lines, "a") == ([10, 30], [2.0, 4.0])
    assert spark([0.0, 7.0, 1.0]) == "▁█▂" and spark([5.0, 5.0]) == "▄▄"
    assert spark([0.0, 0.0, 4.0, 4.0], width=2) == "▁█"
    assert chosen(lines, ["b", "a"]) == ["b", "a"] and changing(lines, ["a", "b"]) == ["a"]
    with pytest.raises(ConfigError, match="Unknown metric 'c'"):
        chosen(lines, ["c"])


@pytest.mark.parametrize(
    ("topic", "there", "absent"),
    [
        ("evaluation", "--eval-games", "--learning-rate"),
        ("ppo", "--learning-rate", "--eval-games"),
        ("--gae-steps", "", ""),
        ("learning-rate", "--learning-rate", "--epochs"),
        ("machine", "--threads", "--worlds"),
    ],
)
def test_help_on_one_thing_shows_that_alone(sparring, topic, there, absent):
    said = sparring("train", "--help", topic)
    if not there:
        assert said.code == 2
        return
    assert said.code == 0 and there in said.out and absent not in said.out
    assert "--help-all" in said.out


def test_neither_list_loads_jax(trained):
    import subprocess
    import sys

    script = (
        "import sys; from sparring.cli.main import main; main(['runs', sys.argv[1]]); main(['metrics', sys.argv[2]]);"
        "sys.exit(str([m for m in ('jax', 'matplotlib') if m in sys.modules]))"
    )
    words = [sys.executable, "-c", script, str(Path(trained).parent), str(trained)]
    assert subprocess.run(words, capture_output=True, text=True).stderr.strip() == "[]"


def test_a_metric_that_is_not_there_hides_none_that_is_and_is_answered_by_groups():
    lines = [
        {"kind": "train", "iteration": 0, "points/bot": 0.5, "learner/entropy": 1.0, "learner/kl": 0.0, "games": 3}
    ]
    assert chosen(lines, ["entropy", "exploitability"]) == ["learner/entropy"]
    assert unmet(lines, ["entropy", "exploitability"]) == [
        "This run has no exact exploitability: `sparring exploit RUN` measures it."
    ]
    with pytest.raises(ConfigError, match="no exact exploitability"):
        chosen(lines, ["exploitability"])
    with pytest.raises(ConfigError, match="Did you mean 'entropy'"):
        chosen(lines, ["entropi"])
    with pytest.raises(ConfigError, match=r"Known: games, learner/\* \(2\), points/\*"):
        chosen(lines, ["zzz"])
    with pytest.raises(ConfigError, match="Did you mean 'games'"):
        chosen(lines, ["gamse"])
