"""What a newcomer meets first: help, names of commands, flags; and how every error leaves."""

import json
import re
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import sparring as sparring_package
from sparring.cli import bench, train, watch
from sparring.cli.flags import _check_topic, named, parse
from sparring.cli.main import COMMANDS, FAILED, INTERRUPTED, PIPE_CLOSED, main, sentence
from sparring.cli.train import Train, flagged, ready_made, settled
from sparring.cli.watch import compiled_before, headline, span
from sparring.core.errors import ConfigError, GameError
from sparring.core.schedules import Schedule
from sparring.evaluation.stored import findings_of
from sparring.games import registry
from sparring.players.loaded import Run
from sparring.recipes.catalogue import RECIPES
from sparring.store.run_dir import RunDir


def test_help_loads_neither_jax_nor_tyro():
    script = (
        "import sys; from sparring.cli.main import main; main(['--help']);"
        "sys.exit(str([m for m in ('jax', 'tyro', 'numpy', 'rich') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout.startswith("usage: sparring COMMAND")


def test_help_answers_at_once():
    """In 0.1 s on a quiet machine; the best of several tries, since tests share theirs."""

    def seconds() -> float:
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "sparring", "--help"], capture_output=True, check=True)
        return time.monotonic() - began

    assert min(seconds() for _ in range(4)) < 0.5


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_without_a_command_all_commands_are_listed(sparring, words):
    said = sparring(*words)
    assert said.code == 0 and said.err == ""
    for name, line in COMMANDS.items():
        assert any(printed.split() == [name, *line.split()] for printed in said.out.splitlines())


def test_the_version_is_that_of_the_package(sparring):
    from importlib.metadata import version

    assert sparring("--version") == (0, version("sparring") + "\n", "")


def test_no_help_of_a_command_loads_jax_or_pictures():
    script = (
        f"import sys; from sparring.cli.main import main; [main([name, '--help']) for name in {list(COMMANDS)}];"
        "sys.exit(str([m for m in ('jax', 'equinox', 'optax', 'matplotlib') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout.count("usage: sparring ") == len(COMMANDS)


def flags_in(page: str) -> set[str]:
    """Those that a page of help explains: they stand at the left in its boxes."""
    return set(re.findall(r"^. (?:-h, )?(--[a-z][a-z-]*)", page, re.M)) - {"--help"}


@pytest.mark.parametrize(("command", "usual"), [("train", train.USUAL), ("bench", bench.USUAL)])
def test_help_shows_the_usual_flags_and_help_all_the_rest_as_well(sparring, command, usual):
    short, full = sparring(command, "--help").out, sparring(command, "--help-all").out
    expected = {f"--{name.strip('_').replace('_', '-')}" for name in usual} - {"--word"}
    assert flags_in(short) == expected and len(expected) <= 23
    assert expected < flags_in(full) and len(flags_in(full)) > 140
    assert f"sparring {command} --help-all" in short and "[GAME]" in short


def test_help_says_of_a_usual_flag_what_help_all_says(sparring):
    line = "Steps of a rollout: every world plays that many between two updates. (default: 25)"
    for page in ("--help", "--help-all"):
        said = sparring("train", "--recipe", "tag", page).out.replace("│", " ").replace("|", " ")
        assert line in " ".join(said.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_flags(sparring, command):
    said = sparring(command, "--help")
    assert said.code == 0 and said.err == ""
    assert said.out.startswith(f"usage: sparring {command}")
    assert "--json" in said.out
    assert said.out.splitlines()[2].strip(), "a sentence on what the command does"
    assert f"examples:\n  sparring {command} " in said.out or f"examples:\n  sparring {command}\n" in said.out
    assert not re.search(r"\(default: (None|False|'')?\)|\{None\}\||_ArgConfig", said.out), "what only programs say"


def test_a_text_of_help_is_one_paragraph_however_its_source_is_broken_into_lines(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    main(["train", "--help", "preset"])
    main(["audit", "seats", "--help"])
    said = capsys.readouterr().out
    assert "Some did badly where we measured them (cleanrl, grouped, puffer), and say so." in said
    assert "The budget is printed first. Without it: exact levels and probes, minutes." in said


@pytest.mark.parametrize(("slip", "meant"), [("ppoo", "ppo"), ("lerning-rate", "learning_rate"), ("sets", "seats")])
def test_a_slip_after_help_is_answered_with_the_section_or_flag_that_was_meant(sparring, slip, meant):
    assert sparring("train", "--help", slip).sentence().endswith(f"Did you mean --help {meant}?")


def test_all_flags_that_there_are_not_are_told_at_once(sparring):
    said = sparring("train", "kuhn", "--gamma", "0.9", "--n-steps", "4", "--clip-range=0.1").sentence()
    assert said.count("Unknown flag") == 3 and all(
        f"it is called {x}." in said for x in ("--discount", "--steps", "--clip")
    )


def test_how_several_flags_begin_is_a_topic_of_help(sparring):
    said = sparring("train", "--help", "imagine").out
    assert "--imagine-gate" in said and "--imagine-share" in said and "--mind" not in said.partition("These are")[0]


def test_no_game_is_taken_for_a_slip_after_help():
    for game in registry.available():
        _check_topic(Train, ["--help", game])


def test_the_help_of_train_names_the_recipes_and_shows_one_s_values_as_defaults(sparring):
    words = sparring("train", "--help").out.replace(",", " ").replace(".", " ").split()
    assert set(RECIPES) <= set(words)
    shown = sparring("train", "--recipe", "tag", "--help-all").out.replace("│", " ").split()
    assert "where games are short. (default: 256)" in " ".join(shown)
    assert "(default: 1)" in sparring("train", "kuhn", "--help", "anchor").out, "as the game and its preset have it"
    assert "(default: 0)" in sparring("train", "kuhn", "--self-play", "naive", "--help", "anchor").out


def test_a_misspelt_command_gets_the_nearest_name(sparring):
    said = sparring("trian")
    assert said == (2, "", "sparring: Unknown command 'trian'. Did you mean 'train'? See: sparring --help\n")


def test_help_before_a_command_is_help_on_it(sparring):
    assert sparring("help", "runs").out == sparring("runs", "--help").out
    assert sparring("help", "trian").code == 2


def test_a_game_may_be_looked_for_by_a_word_of_its_description(sparring):
    assert sparring("games", "poker").sentence() == "Unknown game 'poker'. Did you mean 'kuhn' or 'leduc'?"
    assert "skirmish:MAP" in sparring("games", "zzz").sentence()


def test_a_run_named_without_its_folder_is_found(sparring, trained, monkeypatch, tmp_path):
    (tmp_path / "runs").symlink_to(trained.parent)
    monkeypatch.chdir(tmp_path)
    for command in ("eval", "runs"):
        assert sparring(command, "trained").sentence() == "No run at trained. Did you mean runs/trained?"


def test_an_empty_command_is_unknown(sparring):
    assert sparring("").code == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--wrlds", "3"], "--worlds"),
        (["--hubber-delta", "3"], "--huber-delta"),
        (["--worlds", "many"], "--worlds: expected a whole number, found 'many'"),
        (["--worlds", "1.5"], "expected a whole number"),
        (["--worlds"], "--worlds"),
        (["--learning-rate", "fast"], "--learning-rate"),
        (["--share", "everyone"], "--share"),
        (["--normalise", "maybe"], "maybe"),
        (["kuhn", "tag"], "tag"),
        (["--recipe"], "--recipe"),
    ],
)
def test_a_wrong_flag_is_named_on_standard_error_with_code_2(sparring, words, named):
    said = sparring("train", *words)
    assert said.code == 2 and said.out == ""
    assert named in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err


@pytest.mark.parametrize("words", [["train", "--wrlds", "3"], ["games", "kun"], ["eval", "no/such/run"]])
def test_with_json_an_error_is_an_object_too(sparring, words):
    said = sparring(*words, "--json")
    told = json.loads(said.out)
    assert told["exit_code"] == said.code != 0
    assert told["error"] and said.err


def test_debug_lets_the_traceback_through():
    from sparring.core.errors import GameError

    with pytest.raises(GameError, match="kun"):
        main(["games", "kun", "--debug"])


def raising(error: BaseException):
    def command(_words):
        raise error

    return command


def test_ctrl_c_ends_with_130_and_without_a_traceback(sparring, monkeypatch):
    monkeypatch.setattr("sparring.cli.games.command", raising(KeyboardInterrupt()))
    assert sparring("games") == (INTERRUPTED, "", "sparring: interrupted\n")


def test_a_fault_of_ours_says_so_in_one_line(sparring, monkeypatch):
    monkeypatch.setattr("sparring.cli.games.command", raising(ValueError("odd.")))
    said = sparring("games")
    assert said.code == FAILED
    assert said.err == ("sparring: ValueError: odd. This is a bug in sparring; run again with --debug to see where.\n")


def test_too_little_memory_is_no_fault_of_ours():
    told, code = sentence(RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."))
    assert code == FAILED and "memory" in told and "--worlds" in told


def test_a_reader_that_has_enough_ends_the_command_quietly(launch):
    process = launch("--help")
    process.stdout.close()  # as `| head -0` does
    assert process.wait(30) == PIPE_CLOSED
    assert process.stderr.read() == ""


def parsed(*words: str) -> Train:
    """With the settings before --self-play in them."""
    arguments = parse(Train, list(words), command="train")
    return replace(arguments, run=flagged(ready_made(arguments, named(words)), arguments, named(words)))


def test_flags_of_every_kind_arrive_in_the_config():
    arguments = parsed(
        "--no-keep-normaliser", "--normalise", "--normalise-advantage", "none", "--critic-rate", "1e-3 -> 0",
        "--actor-eps", "none", "--learning-rate", "3e-4 -> 0", "--hidden", "16", "8",
        "--total-steps", "1e6", "--each", "entropy=0.1,0.2", "--memory", "gru",
    )  # fmt: skip
    run = arguments.run
    assert (arguments.keep_normaliser, run.net.normalise, run.ppo.normalise_advantage) == (False, True, "none")
    assert (run.ppo.critic_rate, run.ppo.actor_eps) == (Schedule(1e-3, 0.0, "linear"), None)
    assert run.ppo.learning_rate == Schedule(3e-4, 0.0, "linear")
    assert (run.net.hidden, run.total_steps, run.each, run.net.memory) == ((16, 8), 10**6, ("entropy=0.1,0.2",), "gru")


@pytest.mark.parametrize(("word", "steps"), [("1e6", 10**6), ("300k", 300_000), ("1.5M", 1_500_000), ("2_000", 2_000)])
def test_numbers_of_steps_are_read_as_people_write_them(word, steps):
    assert parsed("--total-steps", word).run.total_steps == steps


def test_underscores_do_as_well_as_dashes():
    assert parsed("--total_steps", "5").run.total_steps == 5


@pytest.mark.parametrize("words", [["kuhn", "--seed", "3"], ["--seed", "3", "kuhn"]])
def test_a_game_may_stand_before_the_flags_or_after_them(words):
    arguments = parsed(*words)
    assert (arguments.word, arguments.run.game, arguments.run.seed) == ("kuhn", "kuhn", 3)


@pytest.mark.parametrize("name", RECIPES)
def test_flags_win_over_a_recipe(name):
    plain, changed = parsed("--recipe", name).run, parsed(f"--recipe={name}", "--seed", "7").run
    assert plain == RECIPES[name]()
    differing = [field.name for field in fields(plain) if getattr(plain, field.name) != getattr(changed, field.name)]
    assert differing == ["seed"] and changed.seed == 7


def test_flags_win_over_a_file_and_the_file_over_the_defaults(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text("seed = 3\n[play]\nworlds = 6\nsteps = 4\n[ppo]\nlearning_rate = '1e-3 -> 0'\n")
    run = parsed("kuhn", "--config", str(file), "--steps", "8").run
    assert (run.seed, run.play.worlds, run.play.steps) == (3, 6, 8)
    assert run.ppo.learning_rate == Schedule(1e-3, 0.0, "linear")


def test_what_a_file_leaves_out_suits_the_game_as_without_a_file(tmp_path: Path):
    file, words = tmp_path / "settings.toml", ["kuhn", "--learning-rate", "1e-3", "--anchor", "0.3"]
    file.write_text('game = "leduc"\n[ppo]\nlearning_rate = "1e-3"\nanchor = 0.3\n')
    plain = settled(parse(Train, words, command="train"), named(words))
    filed = ["kuhn", "--config", str(file)]
    assert settled(parse(Train, filed, command="train"), named(filed)) == plain, "the game that is named counts"
    assert plain[0].ppo.advantage == "expected" and plain[1] == "Self-play: magnet (which suits this game)."
    with pytest.raises(ConfigError, match="Which game"):
        file.write_text("[play]\nworlds = 8\n")
        settled(parse(Train, filed[1:], command="train"), named(filed))
    file.write_text('game = "kuhn"\n[opponents]\nhistory = 0.5\ncurrent = 0.5\n')
    filed = ["--config", str(file)]
    config, told = settled(parse(Train, filed, command="train"), named(filed))
    assert told == f"Opponents: as {file} says." and config.ppo.anchor == Schedule.parse(0.0), (
        "who names one has decided"
    )


def test_a_learner_s_own_settings_in_a_file_are_its_own(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text('game = "kuhn"\n[seats]\nshare = "seat"\n[learner.seat_1]\ncritic = "local"\n')
    words = ["--config", str(file)]
    config, _ = settled(parse(Train, words, command="train"), named(words))
    assert config.learner == ("seat_1.critic=local",)
    assert config.net.critic == "central", "what suits Kuhn poker holds for the others"


def test_the_last_of_a_repeated_flag_counts():
    assert parsed("--recipe", "tag", "--recipe", "demo").run.game == "dogfight"


def test_progress_tells_how_often_a_lone_team_won_and_else_what_seats_earn():
    team = [{"won/red": won, "return/red_0": 10.0, "return/red_1": 12.0} for won in (0.25, 0.75, None)]
    assert headline(team) == ["won 50%, return 11.00"]
    mates = [{"return/red_0": 2.0, "return/red_1": 2.0, "return/blue_0": 1.0, "return/blue_1": 1.0}]
    assert headline(mates) == ["return: red 2.00, blue 1.00"]
    assert headline([{"return/hunter_0": 2.0, "return/hunter_1": 1.0}]) == ["return: hunter_0 2.00, hunter_1 1.00"]
    assert headline([{"won/red": None, "return/red_0": None}]) == ["no game ended"]


def test_progress_tells_points_against_others_and_never_two_returns_that_cancel():
    duel = {"won/red": 1.0, "won/blue": 0.0, "return/red": 1.0, "return/blue": -1.0, "length": 7.0}
    assert headline([duel]) == ["games of 7.0 steps"]
    met = {**duel, "points/past": 0.5, "points/shadow": None, "points/bot": 0.25, "points/past/main": 0.9}
    assert headline([met, {**met, "points/bot": 0.75}]) == ["points: past 0.50, bots 0.50"]
    assert headline([{"return/a": 1.0, "earned/self": 2.0, "earned/past": 1.0}]) == ["earned: itself 2.00, past 1.00"]


def test_progress_tells_health_and_the_newest_evaluation():
    lines = [{"return/a": 1.0, "one/entropy": 0.5, "two/entropy": 1.0, "one/approx_kl": 0.01}]
    assert headline(lines)[1:] == ["entropy 0.75, KL 0.0100"]
    exact = [{"steps": steps, "exploitability": 0.25, "return/a/learned vs bot": 1.0} for steps in (50, 50)]
    assert headline(lines, exact)[1] == "exploitability 0.250"
    games = {
        "steps": 0,
        "points/a/learned vs x": 0.5,
        "points/b/learned vs y": 0.25,
        "points/a/learned vs learned": 0.9,
    }
    assert headline(lines, [games])[1] == "evaluated at the start: points 0.38 against bots"
    assert headline(lines, [{"steps": 9, "return/a/learned": 3.0}])[1] == "evaluated: return 3.00"


def test_progress_tells_how_far_the_learner_is_rated_above_its_anchor():
    lines = [{"return/red": 1.0, "rating/learner vs ace": rating} for rating in (100.0, 41.0)]
    assert headline([*lines, {"return/red": 1.0}])[1:] == ["rated +70 against ace"]
    won = {"won/red": 0.5, "won/blue": 0.5, "return/red": 1.0, "rating/main vs past-0": -3.4}
    assert headline([won])[-1] == "rated -3 against past-0"


def test_time_is_told_as_clocks_do():
    assert [span(seconds) for seconds in (4.6, 65, 3600 * 2 + 61)] == ["0:05", "1:05", "2:01:01"]


def test_how_long_compiling_takes_is_known_from_the_last_run_of_the_game(trained, tmp_path):
    assert compiled_before(tmp_path / "nowhere", "kuhn") is None
    first = RunDir.open(trained).timing()[0]["seconds"]
    assert compiled_before(trained.parent, "matrix:rock_paper_scissors") == first
    assert compiled_before(trained.parent, "kuhn") is None


def test_teams_are_told_once_only_where_all_their_seats_earn_the_same():
    """Two of four hunters that happen to earn the same are no team."""
    hunters = {f"return/hunter_{s}": x for s, x in enumerate((0.2, 0.22, 0.22, 0.23))}
    assert headline([hunters]) == ["return: hunter_0 0.20, hunter_1 0.22, hunter_2 0.22, hunter_3 0.23"]
    assert headline([dict.fromkeys(hunters, 0.2)]) == ["return: hunter 0.20"]


def test_points_of_a_few_games_stand_with_those_of_the_iterations_before():
    lines = [{"points/past": share, "games/past": games} for share, games in ((0.6, 98), (0.0, 2), (None, 0))]
    assert headline(lines[-1:], recent=lines) == ["points: past 0.59"]
    assert headline(lines[1:2]) == ["points: past 0.00"]


def test_a_word_now_and_then_while_nothing_is_to_be_seen(monkeypatch):
    monkeypatch.setattr(watch, "STILL", 0.01)
    said: list[str] = []
    seen = watch.Watch(quiet=False, steps_per_iteration=1, seeds=1)
    monkeypatch.setattr(seen, "say", said.append)
    with seen.bar:
        seen.begin("Self-play.", None)
        for _ in range(200):
            time.sleep(0.01)
            if any("Still compiling" in line for line in said):
                break
    assert "Still compiling, 0:00." in said and seen.bar.quiet_no_more.is_set()
    told = len(said)
    time.sleep(0.05)
    assert len(said) <= told + 1


def test_a_central_critic_that_sees_what_seats_see_is_told_unless_the_game_itself_asks_for_it():
    """Hunters see all; runners see distances from themselves, and a card of poker is hidden."""

    def told(game):
        config = SimpleNamespace(game=game, net=SimpleNamespace(critic="central"))
        return train.idle_critic(SimpleNamespace(config=config, game=registry.make(game)))

    assert "critic=central sees what each seat sees" in told("stag_hunt")
    assert told("particles:tag") == "" == told("kuhn")


def test_few_updates_are_told_beforehand_with_what_is_usual():
    def told(iterations, total, **suits):
        config = SimpleNamespace(total_steps=total)
        game = SimpleNamespace(spec=SimpleNamespace(suits=tuple(suits.items())))
        return train.few_updates(SimpleNamespace(config=config, iterations=iterations, game=game))

    few = told(5, 100_000, total_steps=3_000_000)
    assert few == "\n100,000 steps are only 5 updates here; 3,000,000 are usual (--total-steps)."
    assert told(40, 100_000) == "" == told(5, 3_000_000, total_steps=3_000_000)


def test_what_others_call_it_is_answered_with_our_name():
    for word, ours in (("train", "start"), ("PPO", "default_config"), ("evaluate", "verdict")):
        with pytest.raises(AttributeError, match=f"Here it is .*{ours}"):
            getattr(sparring_package, word)
    run = Run.__new__(Run)
    with pytest.raises(AttributeError, match=r"act\(observation, key\)"):
        _ = run.predict
    with pytest.raises(AttributeError, match="nonsense"):
        _ = run.nonsense


def test_a_file_without_a_function_says_what_it_has(tmp_path):
    (tmp_path / "race.py").write_text("def _own(): ...\ndef race(laps: int = 3): ...\n")
    with pytest.raises(GameError, match=r"It has race: name one, as .*race\.py:race"):
        registry.make(str(tmp_path / "race.py"))
    with pytest.raises(GameError, match="without a function, or none"):
        registry.make(str(tmp_path / "gone.py"))


def test_a_verdict_knows_every_evaluation_between_half_way_and_the_end(trained):
    """Evaluated after each of ten iterations: half way is the fifth, and four lie between it and the last."""
    found = findings_of(RunDir.open(trained))
    assert found.exact_half == {"learned": found.curve[4]}
    assert [exact["learned"] for exact in found.exact_since] == [found.curve[i] for i in (5, 6, 7, 8)]
    assert found.done == found.steps == 1600
