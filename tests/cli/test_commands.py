"""Commands as they should go: what they print, what they leave, and that scripts can read it."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sparring.cli.flags import named, parse
from sparring.cli.machine import cache_folder, use_cache
from sparring.cli.train import Train, flagged, ready_made
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml
from sparring.recipes.catalogue import spread
from sparring.recipes.presets import preset
from sparring.setup.config import RunConfig
from sparring.store.run_dir import RunDir


@pytest.mark.usefixtures("pictures")
def test_training_leaves_a_run_a_report_and_the_next_step(sparring, train_words, tmp_path):
    run = tmp_path / "runs" / "new"
    said = sparring(*train_words)
    assert said.code == 0
    told = said.out[said.out.index("picture ") :].splitlines()
    assert told[:3] == [f"picture  {run}/curves.png", f"report   {run}/report.html", ""]
    assert [line.split()[0] for line in told[3:] if line[0] != " "] == ["learned", "sure", "next"]
    assert "always_2" in said.out and "A perfect opponent would win" in " ".join(said.out.split())
    assert any(line.startswith("Compiling, which takes ") for line in said.err.splitlines()[:3])
    told = [line for line in said.err.splitlines() if "/10  " in line]
    assert len(told) == 10 and told[0].startswith("iteration 1/10  compiled in ") and "0:00 left" in told[-1]
    assert max(len(line) for line in said.out.splitlines() if str(run) not in line) <= 80
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    page = (run / "report.html").read_text()
    assert "always_2" in page and "<dt>What was learned</dt>" in page


def test_a_run_is_evaluated_before_training_and_along_the_way(trained):
    lines = [line for line in RunDir.open(trained).metrics() if line["kind"] == "eval"]
    assert [(line["iteration"], line["steps"]) for line in lines] == [(-1, 0), *((i, 160 * (i + 1)) for i in range(10))]
    bots = {"exploitability/random": 0.0, "exploitability/always_0": 1.0}
    assert {key: lines[-1][key] for key in bots} == pytest.approx(bots) and not bots.keys() & lines[0].keys()


def test_with_json_training_prints_one_object_and_nothing_else(sparring, train_words, trained):
    said = sparring(*train_words, "--json")
    told = json.loads(said.out)
    assert said.code == 0 and said.err == ""
    assert (told["iteration"], told["finished"]) == (10, True) and told["compilations"] <= 1
    assert Path(told["report"]).exists() and Path(told["picture"]).exists()
    learned = [score for score in told["scores"] if score["team"] == "learned" and score["opponents"] == "always_0"]
    assert [score["side"] for score in learned] == [0, 1]
    assert all(score["wins"] + score["draws"] + score["losses"] == score["games"] == 8 for score in learned)
    # the same command twice is the same run
    assert (Path(told["run"]) / "metrics.jsonl").read_bytes() == (trained / "metrics.jsonl").read_bytes()


def test_quiet_training_says_nothing_on_the_way_and_a_run_without_a_name_is_numbered(sparring, train_words, tmp_path):
    (tmp_path / "runs" / "matrix-rock_paper_scissors-1").mkdir(parents=True)
    said = sparring(*train_words, "--quiet", "--name", "")
    assert (said.code, said.err) == (0, "")
    assert (tmp_path / "runs" / "matrix-rock_paper_scissors-2" / "report.html").exists()


def test_the_settings_of_a_run_make_the_same_run_again(sparring, trained, tmp_path):
    words = ("train", "--config", trained / "config.toml", "--runs", tmp_path, "--name", "again", "--quiet")
    assert sparring(*words).code == 0
    for name in ("config.toml", "metrics.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (trained / name).read_bytes()


def test_a_run_may_start_from_the_weights_of_another(sparring, trained, train_words, tmp_path):
    assert sparring(*train_words, "--quiet", "--from", f"{trained}:learner", "--learning-rate", 0).code == 0
    run = RunDir.open(tmp_path / "runs" / "new")
    assert run.read_manifest()["warm_start"] == f"{trained}:learner"
    # without a learning rate the weights stay those of the other run, and so does what can be won against them
    assert run.metrics()[-1]["exploitability"] == RunDir.open(trained).metrics()[-1]["exploitability"]


@pytest.mark.parametrize("source", ["recipe", "file"])
def test_a_preset_wins_over_a_recipe_or_file_and_flags_win_over_the_preset(tmp_path, source):
    text = "game = 'particles:spread'\n[play]\nsteps = 25\n[ppo]\nepochs = 8\n[net]\nhidden = [9]"
    (tmp_path / "settings.toml").write_text(text)
    words = ["--recipe", "spread"] if source == "recipe" else ["--config", str(tmp_path / "settings.toml")]
    words += ["--preset", "rmappo", "--sequence", "5", "--entropy", "0.3"]  # 10 would not divide the 25 steps
    arguments = parse(Train, words, command="train")
    run = flagged(ready_made(arguments, named(words)), arguments, named(words))
    before, chosen = ready_made(parse(Train, words[:2], command="train"), ()), preset("rmappo")
    assert before.ppo.epochs == 8 and before.play.steps == 25
    ppo = replace(chosen.ppo, sequence=5, entropy=Schedule.parse(0.3))
    assert run == replace(before, net=chosen.net, ppo=ppo)
    assert source == "file" or before == spread()


def test_what_training_changed_can_be_shown(sparring, train_words):
    told = json.loads(sparring(*train_words, "--json").out)
    assert [score["opponents"] for score in told["untrained"]] == [score["opponents"] for score in told["scores"]]
    assert told["untrained"] != told["scores"]
    assert json.loads(sparring(*train_words, "--json", "--force", "--no-eval-first").out)["untrained"] == []


@pytest.mark.usefixtures("pictures")
def test_several_seeds_train_together_and_are_told_apart(sparring, train_words, trained, tmp_path):
    told = json.loads(sparring(*train_words, "--json", "--seeds", 2).out)
    assert len(told["exploitability"]["learned"]) == 2
    assert all(score["mean_return"]["count"] == 2 for score in told["scores"]), "the mean is over seeds"
    runs = RunDir.open(tmp_path / "runs" / "new"), RunDir.open(trained)
    lines, alone = ([line for line in run.metrics() if line["kind"] == "train"] for run in runs)
    assert [line["seed"] for line in lines[:2]] == [0, 1]
    assert lines[0]["return/seat_0"] != lines[1]["return/seat_0"]
    assert lines[0]["games"] == alone[0]["games"]


def test_a_finished_run_can_be_trained_on(sparring, own_run):
    told = json.loads(sparring("resume", own_run, "--total-steps", 12 * 160, "--json").out)
    assert [score["team"] for score in told["untrained"]] == [score["team"] for score in told["scores"]], "from before"
    assert (told["iteration"], told["finished"]) == (12, True)
    assert load_toml(RunConfig, own_run / "config.toml").total_steps == 12 * 160
    iterations = [line["iteration"] for line in RunDir.open(own_run).metrics() if line["kind"] == "train"]
    assert iterations == list(range(12))
    assert "12 iterations of 160." in (own_run / "report.html").read_text()


def test_a_resume_elsewhere_says_what_differs(sparring, own_run):
    manifest = json.loads((own_run / "manifest.json").read_text())
    (own_run / "manifest.json").write_text(json.dumps({**manifest, "python": "3.0.0"}))
    said = sparring("resume", own_run, "--total-steps", 11 * 160, "--quiet")
    assert said.code == 0
    assert "note: python was 3.0.0, is " in said.err and "not be bit for bit the same" in said.err


@pytest.mark.parametrize("order", ["run first", "run last"])
def test_evaluation_takes_the_run_before_or_after_the_flags(sparring, trained, order):
    words = [trained, "--games", "8"] if order == "run first" else ["--games", "8", trained]
    said = sparring("eval", *words)
    assert said.code == 0 and said.err == ""
    assert "16 games each, both sides" in said.out and "Exploitability" in said.out


def test_evaluation_repeats_itself_and_follows_its_seed(sparring, trained):
    first, second, other = (
        json.loads(sparring("eval", trained, "--games", 8, "--seed", seed, "--json").out)["scores"]
        for seed in (1, 1, 2)
    )
    assert first == second != other
    teams = {(score["team"], score["opponents"]) for score in first}
    assert {("learned", "learned"), ("learned", "random"), ("always_0", "always_1")} <= teams


def test_evaluation_leaves_the_run_as_it_was(sparring, own_run):
    before = {path: path.stat().st_mtime_ns for path in own_run.rglob("*")}
    assert sparring("eval", own_run, "--games", 8).code == 0
    assert {path: path.stat().st_mtime_ns for path in own_run.rglob("*")} == before


def test_games_are_listed_and_described(sparring):
    from sparring.games.registry import available, overview

    assert list(json.loads(sparring("games", "--json").out)) == list(available())
    said = sparring("games").out
    assert all(row in said for row in overview())
    described = sparring("games", "particles:tag").out
    assert "chase" in described and "predators=3" in described and "train particles:tag   (other options: " in described
    assert "settings that suit" not in described and "What a setting does" not in described
    assert "What a setting does: sparring train --help NAME" in sparring("games", "kuhn").out
    about = json.loads(sparring("games", "kuhn", "--json").out)
    assert about["options"] == {"positions": "random"} and "equilibrium" in about["bots"]


def test_a_family_of_games_is_listed(sparring, monkeypatch):
    from sparring.games import registry

    said = sparring("games", "particles").out
    assert "particles:tag" in said and "Slow predators hunt fast prey" in said and "kuhn" not in said
    named = list(json.loads(sparring("games", "particles", "--json").out))
    assert len(named) == 9 and all(name.startswith("particles:") for name in named)
    assert "dogfight:2v2" not in sparring("games", "dogfight").out, "a game of its own is described"
    tags = {f"tag:{n}": f"sparring.games.particles.tag:tag:{n}" for n in range(7)}
    monkeypatch.setattr(registry, "GAMES", tags)
    monkeypatch.setattr("sparring.games.particles.tag.variant_line", "Hunt {}.".format, raising=False)
    words = " ".join(sparring("games").out.split())
    row = "tag:PREDATORS Slow predators hunt fast prey among obstacles (mpe2 simple_tag_v3). All 7: sparring games tag"
    assert row in words and words.count("tag:") == 1
    assert "Hunt 3." in sparring("games", "tag").out


def test_a_bench_reports_the_game_and_training(sparring):
    shape = "--worlds 8 --steps 10 --minibatches 2 --hidden 8 --repeats 1 --compile-cache --json"
    told = json.loads(sparring("bench", "matrix:rock_paper_scissors", *shape.split()).out)
    assert (told["game"], told["worlds"], told["steps"]) == ("matrix:rock_paper_scissors", 8, 10)
    for speed in told["speeds"].values():
        assert speed["steps_per_second"] == pytest.approx(8 * 10 * 2 / speed["seconds"])


def test_the_doctor_tells_versions_devices_and_the_cache(sparring):
    told = json.loads(sparring("doctor", "--json").out)
    assert told["facts"]["packages"]["jax"] and told["facts"]["devices"].startswith("cpu")
    assert told["facts"]["compiled programs"] == os.environ["SPARRING_CACHE"]
    assert "self test" in told["facts"]
    said = sparring("doctor")
    assert said.code == 0 and said.out.rstrip().endswith("All is well.")


def test_the_doctor_finds_no_ledgers_in_a_run_without_a_league(trained, sparring):
    told = json.loads(sparring("doctor", trained, "--json").out)["facts"]
    assert "no ledgers to check" in told[str(trained)]
    assert "No run at" in sparring("doctor", trained.parent / "absent").sentence()


def test_the_cache_moves_with_its_variables(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "b"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("SPARRING_CACHE")
    assert cache_folder() == tmp_path / "b"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert cache_folder() == tmp_path / "c" / "sparring" / "programs"


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    import jax

    (tmp_path / "file").write_text("in the way")
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path / "file" / "programs"))
    try:
        use_cache(True)
        assert jax.config.jax_enable_compilation_cache is False
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
        jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread to offer")
def test_one_thread_computes_on_one_core(launch):
    process = launch(
        python="import time; from sparring.cli.machine import MachineConfig, prepare\n"
        "prepare(MachineConfig(threads=1)); import jax, jax.numpy as jnp\n"
        "f = jax.jit(lambda x: jnp.tanh(x @ x).sum()); x = jnp.ones((1200, 1200)); f(x).block_until_ready()\n"
        "wall, cpu = time.perf_counter(), time.process_time()\n"
        "for _ in range(5): f(x).block_until_ready()\n"
        "print((time.process_time() - cpu) / (time.perf_counter() - wall))"
    )
    out, err = process.communicate(timeout=60)
    assert float(out) < 1.3, err
