"""Bad input gives one clear sentence on standard error, a code that is not 0, and leaves nothing half written."""

import os
import shutil
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--worlds -3", "worlds must be at least 1, found -3."),
        ("--worlds 0", "worlds must be at least 1, found 0."),
        ("--steps 0", "steps must be at least 1, found 0."),
        ("--seeds 0", "seeds must be at least 1, found 0."),
        ("--seed -1", "seed must be at least 0, found -1."),
        ("--total-steps 0", "total_steps must be at least 1, found 0."),
        ("--hidden 0", "hidden must be at least 1, found 0."),
        ("--keep 0", "keep must be at least 1, found 0."),
        ("--eval-games -2", "eval_games must be at least -1, found -2."),
        ("--threads -1", "threads must be at least 0, found -1."),
        ("--minibatches 3", "Nearest that does: 2."),
        ("--memory gru --sequence 3", "sequence=3 does not divide the 10 steps of a rollout. Nearest that does: 2."),
        ("--opponent nobody", "Unknown bot 'nobody'. Known: always_0, always_1, always_2, random."),
        ("--opponent random --worlds 5", "worlds=5 cannot be split into 2 equal blocks"),
        ("--side 1", "side=1 would do nothing: it needs an opponent"),
        ("--huber-delta 1", "huber_delta=1 would do nothing: it needs value_loss=huber"),
        ("--keep-optimiser", "--keep-optimiser does nothing without --from"),
        ("--options rounds=often", "rounds"),
        ("--options rouns=2", "Did you mean 'rounds'?"),
        ("--options rounds", "name=value"),
        ("--each entropi=1", "Did you mean 'entropy'?"),
        ("--each entropy=1,2", "one value for each of the 1 learners"),
        ("--device gpu", "JAX finds only cpu"),
        ("--recipe dmo", "Unknown recipe 'dmo'. Did you mean 'demo'?"),
        ("--recipe demo --config some.toml", "Leave one out."),
        ("--preset mapo", "Unknown preset 'mapo'. Did you mean 'mappo'?"),
        ("--preset rmappo --steps 25", "sequence=10 does not divide the 25 steps of a rollout. Nearest that does: 5."),
        ("--game kun", "Did you mean 'kuhn'?"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_written(sparring, tmp_path, flags, told):
    runs = tmp_path / "runs"
    shape = "train --game matrix:rock_paper_scissors --worlds 8 --steps 10 --minibatches 2 --hidden 8"
    said = sparring(*shape.split(), "--runs", runs, *flags.split())
    assert told in said.sentence() and said.code == 2
    assert not runs.exists()


@pytest.mark.parametrize("command", ["train", "bench", "games"])
def test_an_empty_game_is_not_the_default_game(sparring, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert "Unknown game ''" in sparring(command, "").sentence()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('gme = "kuhn"', "unknown setting 'gme'. Did you mean 'game'?"),
        ("worlds = 8", "It belongs to [play] in a file, to play=PlayConfig(worlds=...) in Python."),
        ("[ppo]\nlr = 8", "unknown setting 'ppo.lr'. Here it is called 'ppo.learning_rate'."),
        ("num_envs = 8", "Here it is called 'play.worlds'."),
        ('preset = "mappo"', "a flag, not a setting of a run: sparring train --config FILE --preset"),
        ('algorithm_name = "mappo"', "a flag, not a setting of a run: sparring train --config FILE --preset"),
        ("track = true", "Nothing is sent anywhere"),
        ("roundness = 8", "Known here: "),
        ('[play]\nworlds = "many"', 'play.worlds must be a whole number, found the text "many".'),
        ("[play]\nworlds = 0", "worlds must be at least 1, found 0."),
        ("[ppo]\nlearning_rate = 'fast'", "ppo.learning_rate: Cannot read the schedule 'fast'."),
        ("seed = [", "is not valid TOML"),
    ],
)
def test_a_file_of_settings_with_a_fault_is_named_with_the_fault(sparring, tmp_path, text, told):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    said = sparring("train", "--config", file, "--runs", tmp_path / "runs")
    assert told in said.sentence() and str(file) in said.sentence() and said.code == 2
    assert not (tmp_path / "runs").exists()


def test_a_file_of_settings_that_is_not_there_is_named(sparring, tmp_path):
    assert str(tmp_path / "none.toml") in sparring("train", "--config", tmp_path / "none.toml").sentence()
    assert "Is a directory" in sparring("train", "--config", tmp_path).sentence()


@pytest.mark.parametrize("command", ["eval", "resume"])
def test_a_run_that_is_not_there_gets_the_nearest_one(sparring, trained, command):
    said = sparring(command, trained.with_name("trainde"))
    assert said.code == 3 and f"Did you mean {trained}?" in said.sentence()


@pytest.mark.parametrize("command", ["eval", "resume"])
def test_a_command_without_its_run_asks_for_it(sparring, command):
    said = sparring(command)
    assert said.code == 2 and "RUN" in said.err and said.out == ""


@pytest.mark.parametrize("command", ["eval", "resume"])
def test_a_foreign_folder_is_no_run(sparring, tmp_path, command):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not a run" in sparring(command, tmp_path).sentence()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_foreign_folder_is_never_replaced(sparring, train_words, tmp_path, force):
    theirs = tmp_path / "runs" / "new" / "notes.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    said = sparring(*train_words, *force)
    assert said.code == 3 and "not a sparring run" in said.sentence()
    assert list(theirs.parent.iterdir()) == [theirs] and theirs.read_text() == "mine"


def test_a_run_of_the_same_name_stays_as_it_is(sparring, train_words, own_run, tmp_path):
    (tmp_path / "runs").mkdir()
    there = own_run.rename(tmp_path / "runs" / "new")
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*")}
    said = sparring(*train_words)
    assert said.code == 3
    assert all(way in said.sentence() for way in ("--name", "--force", f"sparring resume {there}"))
    assert {path: path.stat().st_mtime_ns for path in there.rglob("*")} == before


def test_force_replaces_a_run(sparring, train_words, own_run, tmp_path):
    (tmp_path / "runs").mkdir()
    there = own_run.rename(tmp_path / "runs" / "new")
    (there / "left-over.txt").write_text("of the run before")
    assert sparring(*train_words, "--force", "--quiet").code == 0
    assert not (there / "left-over.txt").exists() and (there / "report.html").exists()


def test_a_run_that_another_process_writes_is_left_to_it(sparring, launch, train_words, own_run):
    holder = launch(
        own_run,
        python="import sys; from sparring.store.run_dir import RunDir\n"
        "with RunDir.open(sys.argv[1]).writing(): print('held', flush=True); input()",
    )
    assert holder.stdout.readline() == "held\n"
    words = [*train_words[:-3], str(own_run.parent), "--name", own_run.name, "--force"]
    for said in (sparring("resume", own_run, "--total-steps", 3200), sparring(*words)):
        assert said.code == 3 and f"Process {holder.pid} is writing" in said.sentence()
    assert (own_run / "checkpoints").exists()


def test_a_finished_run_has_nothing_to_resume(sparring, trained):
    said = sparring("resume", trained)
    assert said.code == 2 and "has done 1,600 steps" in said.sentence() and "--total-steps" in said.err


def damage(checkpoint: Path) -> None:
    content = bytearray((checkpoint / "arrays.safetensors").read_bytes())
    content[-1] ^= 1
    (checkpoint / "arrays.safetensors").write_bytes(content)


def test_one_flipped_bit_sends_commands_to_the_checkpoint_before_and_they_say_so(sparring, own_run, train_words):
    newest = max((own_run / "checkpoints").iterdir())
    damage(newest)
    for words in (
        ["eval", own_run, "--games", 8],
        [*train_words, "--from", own_run, "--quiet"],
        ["resume", own_run, "--quiet"],  # the tenth iteration was in the damaged one, so there is something to do again
    ):
        said = sparring(*words)
        assert said.code == 0
        assert f"{newest} is damaged" in said.err and "iteration 8 is used instead" in said.err


def test_without_a_whole_checkpoint_there_is_no_going_on(sparring, own_run):
    for checkpoint in (own_run / "checkpoints").iterdir():
        damage(checkpoint)
    for command in ("eval", "resume"):
        said = sparring(command, own_run)
        assert said.code == 3 and "No whole checkpoint" in said.sentence()


def test_a_run_stopped_before_its_first_checkpoint_cannot_be_evaluated(sparring, own_run):
    shutil.rmtree(own_run / "checkpoints")
    assert "The checkpoints are gone" in sparring("eval", own_run).sentence()
    for name in ("report.html", "metrics.jsonl", "timing.jsonl"):
        (own_run / name).unlink()
    assert f"sparring resume {own_run}" in sparring("eval", own_run).sentence()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--hidden", "9"], "Use the same game and network settings"),
        (["--hidden", "8", "8"], "another kind"),
    ],
)
def test_weights_of_another_network_are_refused(sparring, trained, tmp_path, flags, told):
    shape = "train --game matrix:rock_paper_scissors --worlds 8 --steps 10 --minibatches 2 --hidden 8"
    said = sparring(*shape.split(), "--runs", tmp_path / "runs", "--from", trained, *flags)
    assert said.code == 3 and told in said.sentence()
    assert not (tmp_path / "runs").exists()


def test_a_player_that_a_run_does_not_have_is_refused(sparring, trained, train_words):
    assert "Did you mean 'learner'?" in sparring(*train_words, "--from", f"{trained}:lerner").sentence()
    assert "No run at" in sparring(*train_words, "--from", trained.with_name("none")).sentence()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--games", "0"], "games must be at least 1, found 0."),
        (["--seed", "-1"], "seed must be from 0 to"),
        (["--seed", "99999999999"], "seed must be from 0 to"),
    ],
)
def test_numbers_of_an_evaluation_have_bounds(sparring, trained, flags, told):
    assert told in sparring("eval", trained, *flags).sentence()


def test_a_bench_times_at_least_once(sparring):
    assert sparring("bench", "--repeats", 0).sentence() == "repeats must be at least 1, found 0."


def test_folders_that_cannot_be_written_or_read_are_named(sparring, train_words, own_run, tmp_path):
    (tmp_path / "runs").mkdir(mode=0o500)
    if os.access(tmp_path / "runs", os.W_OK):
        pytest.skip("root may write everywhere")
    assert str(tmp_path / "runs" / "new") in sparring(*train_words).sentence()
    own_run.chmod(0o500)
    assert "Cannot write" in sparring("resume", own_run, "--total-steps", 3200).sentence()
    own_run.chmod(0)
    assert str(own_run) in sparring("eval", own_run).sentence()
    own_run.chmod(0o700)


def test_weights_of_another_game_and_recipes_for_another_are_named_as_such(sparring, trained, tmp_path):
    words = ("--worlds", 8, "--steps", 10, "--minibatches", 2, "--hidden", 8, "--runs", tmp_path)
    said = sparring("train", "kuhn", *words, "--from", trained)
    assert said.code == 2 and "was trained on matrix:rock_paper_scissors, and its networks do not fit kuhn" in said.err
    assert not list(tmp_path.iterdir())
    said = sparring("train", "kuhn", "--recipe", "demo")
    assert said.code == 2 and "The recipe demo is for dogfight, and you named kuhn." in said.sentence()
    assert sparring("train", "skirmish:8m", "--recipe", "fast_3m", "--dry-run").code == 0, (
        "another map is no other game"
    )


def test_a_preset_in_a_file_of_settings_is_told_apart_from_a_setting(sparring, tmp_path):
    for name in ("preset", "self_play"):
        (tmp_path / "own.toml").write_text(f'game = "kuhn"\n{name} = "pool"\n')
        flag = f"--{name.replace('_', '-')}"
        assert f"sparring train --config FILE {flag}" in sparring("train", "--config", tmp_path / "own.toml").sentence()
