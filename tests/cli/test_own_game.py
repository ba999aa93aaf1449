"""A game of one's own, by the path of its file: in every command, and never unless it is named."""

import json
import re
import runpy
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from sparring.cli import new_game
from sparring.core import code
from sparring.core.errors import ConfigError
from sparring.games import registry
from sparring.setup.own_code import trust

SHAPE = "--worlds 8 --steps 10 --minibatches 2 --hidden 8 --eval-games 4 --options seats=2 goal=4"
SPY = """
from pathlib import Path
Path(__file__).with_name("it ran").write_text("")
"""


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch):
    """As in a new process: nobody has named any code."""
    monkeypatch.setattr(code, "_admitted", {})
    monkeypatch.setattr(code, "_loaded", {})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with dash.py and a run of it; look, but do not write."""
    from sparring.cli.main import main

    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(code, "_admitted", {})
        patch.setattr(code, "_loaded", {})
        assert main(["new-game", "dash"]) == 0
        words = ["train", "dash.py:dash", *SHAPE.split(), "--total-steps", "320", "--self-play", "pool", "--quiet"]
        assert main([*words, "--defeat-share", "0.1"]) == 0
    return folder


@pytest.fixture
def place(finished, tmp_path, monkeypatch):
    """A copy of it, where we are."""
    shutil.copytree(finished, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return Path()


def spied(path: Path) -> Path:
    """The file, which now leaves a trace when it runs."""
    path.write_text(SPY + path.read_text())
    return path.with_name("it ran")


def test_a_new_game_keeps_the_contract_and_passes_its_own_test(place):
    found = runpy.run_path(str(place / "test_dash.py"))
    tests = [value for name, value in found.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_a_dry_run_looks_whether_the_game_keeps_its_contract(sparring, place):
    source = (place / "dash.py").read_text().replace("state.standing_S", "state.standng_S")
    (place / "wrong.py").write_text(source)
    said = sparring("train", "wrong.py:dash", "--dry-run")
    assert said.code == 0 and "no attribute 'standng_S'. Use jnp.where" in said.err and "contract" in said.err


def test_a_new_game_never_takes_a_name_or_a_file_that_is_there(sparring, place):
    before = (place / "dash.py").read_text()
    assert "There is a file dash.py already" in sparring("new-game", "dash").sentence()
    assert Path("dash.py").read_text() == before
    for name in ("json", "rules", "jnp"):
        assert "Choose another." in sparring("new-game", name).sentence()
    assert "lower-case letters" in sparring("new-game", "My Game").sentence()
    told = json.loads(sparring("new-game", "other_one", "--folder", "deeper/still", "--json").out)
    assert told["game"] == "deeper/still/other_one.py:other_one"
    assert "class OtherOneGame(Game):" in Path(told["file"]).read_text()
    assert new_game.OLD not in Path(told["test"]).read_text()


COMMANDS = {
    "resume": "resume runs/dash-1 --total-steps 480",
    "eval": "eval runs/dash-1 --games 2",
    "exploit": "exploit runs/dash-1 --total-steps 160 --seeds 1 --games 2",
    "tournament": "tournament runs/dash-1 walker --games 2",
    "replay": "replay runs/dash-1",
    "pool": "pool runs/dash-1",
    "shares": "shares runs/dash-1",
    "defeats": "defeats runs/dash-1",
    "doctor": "doctor runs/dash-1",
    "train from its settings": "train --config runs/dash-1/config.toml --name again",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_never_makes_code_run_by_itself(sparring, place, command):
    trace = spied(place / "dash.py")
    said = sparring(*COMMANDS[command].split()).sentence()
    assert "dash.py:dash is code" in said and "--code dash.py" in said and "--trust" in said
    assert not trace.exists()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "resume"])
def test_every_command_goes_on_with_a_run_whose_code_is_named(sparring, place, command):
    said = sparring(*COMMANDS[command].split(), "--code", place / "dash.py")
    assert said.code == 0 and "is not the code" not in said.err, said.err


def test_a_run_is_resumed_with_code_that_was_moved_and_says_where_it_has_changed(sparring, place):
    (place / "elsewhere").mkdir()
    (place / "dash.py").rename("elsewhere/dash.py")
    assert "There is no file dash.py" in sparring(*COMMANDS["resume"].split(), "--trust").sentence()
    trace = spied(Path("elsewhere/dash.py"))
    said = sparring(*COMMANDS["resume"].split(), "--code", "elsewhere/dash.py", "--quiet")
    assert said.code == 0 and trace.exists()
    assert "dash.py is not the code that runs/dash-1 was begun with" in said.err and "not be bit for bit" in said.err
    assert said.out.splitlines()[-1].strip().startswith("sparring ")
    assert said.out.splitlines()[-1].endswith(" --code elsewhere/dash.py")


def test_lists_of_runs_and_reports_show_commands_that_name_the_code(sparring, place):
    assert sparring("runs", "runs/dash-1").out.splitlines()[-1].endswith(" --code dash.py")
    assert "sparring eval runs/dash-1 --games 16 --code dash.py" in (place / "runs/dash-1/report.html").read_text()


def test_a_game_that_breaks_the_contract_is_trained_with_a_warning(sparring, place):
    source = (place / "dash.py").read_text()
    assert "shortest=" in source
    (place / "long.py").write_text(re.sub(r"shortest=[^,]+,", "shortest=9,", source))
    said = sparring("train", "long.py:dash", *SHAPE.split(), "--total-steps", 16, "--name", "long", "--quiet")
    assert "long.py:dash breaks the contract of games" in said.err and "shortest" in said.err


def test_a_folder_is_trusted_when_somebody_says_so(sparring, place):
    trace = spied(place / "dash.py")
    said = sparring("eval", "runs/dash-1", "--games", "2", "--trust")
    assert said.code == 0 and trace.exists() and "note: dash.py is not the code" in said.err


BOT = """
import jax.numpy as jnp

def rest(features_NF, legal_NA):
    tired_N = features_NF[:, 1] > 0.5
    return jnp.stack([jnp.where(tired_N, 9.0, 0.0), jnp.where(tired_N, 0.0, 9.0)], axis=1)
"""


def test_a_bot_of_ones_own_is_a_player_like_any_other(sparring, place):
    """Who sprints when fresh and walks when tired never falls, and arrives before who walks."""
    (place / "bots.py").write_text(BOT)
    said = sparring("eval", "runs/dash-1", "--against", "bots.py:rest", "--games", 2, "--code", "dash.py", "--json")
    assert {row["opponents"] for row in json.loads(said.out)["against"]} == {"bots.py:rest"}
    words = ("tournament", "bots.py:rest", "walker", "--game", "dash.py:dash", "--options", "seats=2", "--json")
    told = json.loads(sparring(*words, "--games", 8).out)
    assert told["payoff"]["names"] == ["bots.py:rest", "walker"] and told["payoff"]["won"] == [[0, 8], [0, 0]]


def test_a_player_of_ones_own_game_meets_others_of_it_wherever_its_file_was(place):
    from sparring.players.named import check_same_game

    game = registry.make("dash.py:dash", seats=2)
    check_same_game("a run", "dash.py:dash", ("seats=2",), game, f"{place.resolve()}/dash.py:dash")
    with pytest.raises(ConfigError, match="with features 9"):
        check_same_game("a run", "dash.py:dash", (), game, "dash.py:dash")
    with pytest.raises(ConfigError, match="plays dash\\.py:run, not"):
        check_same_game("a run", "dash.py:run", (), game, "dash.py:dash")


def test_in_python_a_config_that_names_code_is_refused_until_somebody_trusts_it(place):
    from sparring import RunConfig, default_config
    from sparring.setup.build import build

    config = RunConfig(game="dash.py:dash")
    with pytest.raises(ConfigError, match=r"sparring\.trust\('dash\.py'\)"):
        build(config)
    trust(place / "runs/dash-1")
    assert build(config).game.spec.seats == 3
    code._admitted.clear()
    assert default_config("dash.py:dash").game == "dash.py:dash", "whoever passes its name has named it"


def test_a_comparison_that_goes_on_needs_its_code_named_again(sparring, place, train_here):
    train_here()
    words = [*SHAPE.split(), "--total-steps", "160", "--seeds", "1"]
    said = sparring("compare", "dash.py:dash", *words, "--regimes", "naive", "--out", "which", "--quiet", "--games", 2)
    assert said.code == 0 and "naive" in said.out, said.err
    code._admitted.clear()
    trace = spied(place / "dash.py")
    assert "dash.py:dash is code" in sparring("compare", "--out", "which").sentence()
    plan = json.loads(Path("which/plan.json").read_text())
    Path("which/plan.json").write_text(json.dumps({**plan, "words": [*plan["words"], "--trust"]}))
    assert "--trust" in sparring("compare", "--out", "which", "--code", "dash.py").sentence()
    assert not trace.exists()


WRONG = {
    "nothing.py:race": "There is no file nothing.py. Check the path",
    "wrong.py:rce": "wrong.py has no function 'rce'. Did you mean 'race'?",
    "wrong.py:zzz": "wrong.py has no function 'zzz'. It has race, raises, dictionary, needs.",
    "wrong.py:NUMBER": "wrong.py:NUMBER is a int, expected a function.",
    "wrong.py:raises": "wrong.py:raises made no game: ZeroDivisionError: division by zero, in line 6 of wrong.py.",
    "wrong.py:dictionary": "wrong.py:dictionary returned a dict, expected a sparring.Game.",
    "wrong.py:needs": "The option 'laps' of wrong.py:needs needs a default",
    "broken.py:race": "broken.py cannot be loaded: NameError: name 'oops' is not defined, in line 2 of broken.py.",
    "typo.py:race": "typo.py cannot be loaded: SyntaxError: invalid syntax, in line 1 of typo.py.",
    "json.nothing:race": "There is no module 'json.nothing'.",
    "partcles:tag": "Unknown game 'partcles:tag'. Did you mean 'particles:tag'?",
    "particles:tga": "Unknown game 'particles:tga'. Did you mean 'particles:tag'",
}
SOURCES = {
    "wrong.py": """NUMBER = 1
def race():
    return None
def raises():
    # Here it goes wrong.
    return 1 / 0
def dictionary():
    return {}
def needs(laps):
    return laps
""",
    "broken.py": "one = 1\noops\n",
    "typo.py": "def race(:\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_code_is_one_sentence_with_the_fix(sparring, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for file, text in SOURCES.items():
        Path(file).write_text(text)
    for words in (("games", name), ("train", name)):
        assert WRONG[name] in sparring(*words).sentence()


def test_a_game_that_fails_while_it_plays_is_told_with_its_line(sparring, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sparring("new-game", "fall")
    path = Path("fall.py")
    path.write_text(path.read_text().replace("played = state.played + 1", "played = state.laps + 1"))
    line = 1 + path.read_text().splitlines().index("        played = state.laps + 1")
    said = sparring("train", "fall.py:fall", *SHAPE.split())
    assert said.code == 70 and f"'laps', in line {line} of fall.py. Correct it there" in said.err
    assert f"line {line} of fall.py" in sparring("games", "fall.py:fall").err


def test_a_module_is_named_as_it_is_imported(sparring, place):
    (place / "league_of_mine").mkdir()
    shutil.copy("dash.py", "league_of_mine/track.py")
    before = list(sys.path)
    assert registry.is_own("league_of_mine.track:dash") and not registry.is_own("runs:dash")
    assert sys.path == before, "asking whether something is code opens no door to more of it"
    assert "runner_1" in sparring("games", "league_of_mine.track:dash").out


class Entry:
    """As a package that is installed declares it."""

    def __init__(self, name: str, value: str):
        self.name, self.value = name, value

    def load(self):
        module, _, function = self.value.partition(":")
        return getattr(import_module(module), function)


def test_games_of_installed_packages_are_listed_and_need_not_be_named_again(sparring, monkeypatch):
    entries = [Entry("lane", "sparring.games.template:runners"), Entry("kuhn", "os:abort"), Entry("ill", "nowhere:x")]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries if group == "sparring.games" else [])
    registry.installed.cache_clear()
    try:
        told = json.loads(sparring("games", "--json").out)
        assert told["lane"].startswith("Runners walk or sprint") and "poker" in told["kuhn"], "ours keep their names"
        assert "The installed game 'ill' cannot be loaded: No module named 'nowhere'" in told["ill"]
        assert "cannot be loaded" in sparring("train", "ill").sentence()
        assert "runner_0" in sparring("games", "lane").out
        assert registry.configured("lane", ("seats=4",)).spec.seats == 4
    finally:
        registry.installed.cache_clear()
