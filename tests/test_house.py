"""Rules of the house that a machine can check: names, sizes, what loads what, what documents say."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from inspect import getsource
from itertools import takewhile
from pathlib import Path
from runpy import run_path
from textwrap import dedent
from types import ModuleType
from typing import get_type_hints

import pytest

import sparring
from sparring.cli.flags import parse, split
from sparring.cli.main import COMMANDS, main
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml, to_toml
from sparring.recipes.catalogue import RECIPES
from sparring.setup.config import RunConfig

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WITHOUT_JAX = ("core", "statistics", "ratings", "league", "store", "reports", "bridges", "workers")

COMPILATIONS = {
    "audit/effects/test_effects.py": 340,
    "audit/seats/test_golden_seats.py": 170,
    "audit/seats/test_seats_in_training.py": 230,
    "audit/seats/test_seats_of_games.py": 170,
    "benchmarks/test_mind_loop.py": 145,
    "benchmarks/test_vs_smax.py": 150,
    "cli/test_bad_input.py": 380,
    "cli/test_bench_command.py": 130,
    "cli/test_commands.py": 390,
    "cli/test_compare.py": 110,
    "cli/test_damaged_files.py": 220,
    "cli/test_exploit.py": 300,
    "cli/test_general_sum.py": 200,
    "cli/test_interrupted_runs.py": 200,
    "cli/test_own_game.py": 300,
    "cli/test_pool_command.py": 250,
    "cli/test_readme_commands.py": 180,
    "cli/test_replay.py": 240,
    "cli/test_tournament_command.py": 190,
    "contract/test_games.py": 2100,
    "environments/test_arrays.py": 280,
    "environments/test_parallel.py": 2000,
    "evaluation/test_best_response.py": 190,
    "evaluation/test_cross_play.py": 130,
    "evaluation/test_match.py": 170,
    "evaluation/test_tournament.py": 310,
    "evaluation/test_watch.py": 160,
    "games/boards/test_boards_as_open_spiel.py": 260,
    "games/boards/test_open_boards.py": 140,
    "games/boards/test_unseen_boards.py": 170,
    "games/cards/test_goofspiel.py": 360,
    "games/cards/test_leduc.py": 300,
    "games/cards/test_liars_dice.py": 230,
    "games/cards/test_open_spiel.py": 170,
    "games/cards/test_solved.py": 150,
    "games/dogfight/test_airframe.py": 280,
    "games/dogfight/test_bots.py": 240,
    "games/dogfight/test_combat.py": 270,
    "games/dogfight/test_game.py": 460,
    "games/dogfight/test_missiles.py": 260,
    "games/dogfight/test_symmetry.py": 320,
    "games/dogfight/test_view.py": 130,
    "games/particles/test_mpe2.py": 350,
    "games/particles/test_particles.py": 390,
    "games/particles/test_scenarios.py": 360,
    "games/particles/test_time_left.py": 240,
    "games/skirmish/test_skirmish_battles.py": 570,
    "audit/effects/test_parts_of_minds.py": 130,
    "audit/seats/test_seats_with_minds.py": 155,
    "games/skirmish/test_skirmish_bots.py": 130,
    "games/skirmish/test_skirmish_fights.py": 190,
    "games/skirmish/test_skirmish_ground.py": 210,
    "games/skirmish/test_skirmish_script.py": 130,
    "games/skirmish/test_skirmish_symmetry.py": 230,
    "games/skirmish/test_skirmish_views.py": 590,
    "games/social/test_coin_game.py": 270,
    "games/social/test_meadow.py": 160,
    "games/social/test_snowdrift_game.py": 260,
    "games/social/test_social_seats.py": 260,
    "games/social/test_stag_hunt_game.py": 410,
    "games/test_contract.py": 610,
    "games/test_jax_environments.py": 500,
    "games/test_kuhn.py": 180,
    "games/test_matrix.py": 280,
    "games/test_named_seats.py": 420,
    "games/test_own_parts.py": 200,
    "games/test_probes.py": 360,
    "games/test_tree.py": 150,
    "known_solution/test_probe_learning.py": 210,
    "known_solution/test_small_games.py": 100,
    "learn/test_batch.py": 240,
    "learn/test_epochs.py": 270,
    "learn/test_estimate.py": 380,
    "learn/test_groups.py": 190,
    "learn/test_health.py": 240,
    "learn/test_hyper_learning.py": 590,
    "learn/test_losses.py": 220,
    "learn/test_ppo.py": 250,
    "learn/test_price.py": 180,
    "learn/test_returns.py": 200,
    "learn/test_reward_scale.py": 130,
    "learn/test_shadow.py": 190,
    "learn/test_shaping.py": 170,
    "learn/test_truncation.py": 140,
    "learn/test_value_scale.py": 130,
    "nets/test_actor_critic.py": 500,
    "nets/test_blocks.py": 320,
    "nets/test_distributions.py": 170,
    "nets/test_exploring.py": 170,
    "nets/test_hybrid.py": 150,
    "nets/test_hyper.py": 730,
    "nets/test_normalise.py": 170,
    "nets/test_trunk.py": 230,
    "opponent_models/test_imagine.py": 260,
    "play/test_chance.py": 190,
    "play/test_collect.py": 190,
    "play/test_defeats.py": 300,
    "play/test_faults.py": 300,
    "play/test_memory.py": 130,
    "play/test_roster.py": 190,
    "play/test_seating.py": 380,
    "play/test_starts.py": 130,
    "recipes/test_self_play.py": 140,
    "test_drawings.py": 170,
    "test_house.py": 700,
    "test_notebooks.py": 230,
    "training/test_control.py": 200,
    "players/test_loaded.py": 200,
    "players/test_named_players.py": 220,
    "players/test_open_spiel_players.py": 200,
    "training/test_game_speed.py": 150,
    "players/test_guests.py": 430,
    "setup/test_memory_needed.py": 130,
    "training/test_notices.py": 190,
    "training/test_opposition.py": 360,
    "setup/test_options.py": 200,
    "training/test_population_runs.py": 520,
    "setup/test_own_parts_by_name.py": 500,
    "setup/test_program.py": 220,
    "training/test_psro_runs.py": 620,
    "training/test_resume.py": 300,
    "training/test_role_runs.py": 610,
    "training/test_unlike_sides.py": 200,
}
"""Programs that a test file may compile in its own process: a hundred more than twice what it did in three runs, since
how many small ones earlier files of the same worker left in memory differs from run to run. `tests/compilations.py`
counts them, prints them after every run and lets a run fail that exceeds one."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """What a file is made of; several tests look through all of them."""
    return list(ast.walk(ast.parse(path.read_text())))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


BUDGETS = {
    "core": 1_570, "statistics": 550, "ratings": 1_050, "games": 13_590, "nets": 1_800, "league": 3_700, "play": 2_420,
    "store": 1_830, "learn": 2_370, "evaluation": 2_450, "setup": 2_970, "players": 2_160, "training": 2_720,
    "studies": 1_550, "reports": 2_960, "recipes": 1_100, "cli": 4_570, "bridges": 1_360,
    "environments": 450, "workers": 1_590, "audit": 5_450, "opponent_models": 3_300,
}  # fmt: skip
"""Lines of source that a room may have. One that outgrows them is a sign to look for the idea that is missing there."""


def test_a_room_keeps_to_its_lines():
    rooms = {path.relative_to(ROOT / "src" / "sparring").parts[0] for path in SOURCES if path.parent.name != "sparring"}
    lines = {
        room: sum(len(path.read_text().splitlines()) for path in SOURCES if f"/{room}/" in name(path)) for room in rooms
    }
    assert set(BUDGETS) == rooms
    assert {room: count for room, count in lines.items() if count > BUDGETS[room]} == {}


def test_a_file_has_a_subject_and_can_be_read_in_one_sitting():
    names = {"utils", "util", "common", "helpers", "base", "misc", "manager", "managers"}
    wrong = [name(path) for path in SOURCES if path.stem in names]
    wrong += [f"{name(path)} is too long" for path in SOURCES if len(path.read_text().splitlines()) > 400]
    wrong += [
        f"{name(path)}: {f.name} is too long"
        for path in SOURCES
        for f in functions(path)
        if (f.end_lineno or f.lineno) - f.lineno + 1 > 60
    ]
    assert wrong == []


SIGNED = re.compile(r":[+,]*\.(\d|\{[\w.]+\})f\}")
"""A figure as text that may be -0.00."""


def test_what_rounds_to_0_is_shown_without_a_sign():
    assert SIGNED.search("{x:.3f}") and SIGNED.search("{x:+.{digits}f}") and not SIGNED.search("{x:z.3f} {y:.2g}")
    shown = [path for path in SOURCES if {*path.parts} & {"evaluation", "reports", "cli"}]
    assert [name(path) for path in shown if SIGNED.search(path.read_text())] == []


def dangers(node: ast.AST) -> Iterator[str]:
    """What turns data into code."""
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    roots = {module.partition(".")[0] for module in modules}
    yield from sorted(roots & {"pickle", "dill", "cloudpickle", "marshal", "shelve"})
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"):
            yield node.func.id
        yield from (keyword.arg for keyword in node.keywords if keyword.arg == "allow_pickle")


def test_nothing_is_pickled_and_no_text_becomes_code():
    known = ast.walk(ast.parse("import marshal.x; from pickle import load; eval(''); f(allow_pickle=1)"))
    assert set(dangers_in(known)) == {"marshal", "pickle", "eval", "allow_pickle"}
    found = {name(path): dangers_in(nodes(path)) for path in SOURCES}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def dangers_in(found: Iterable[ast.AST]) -> list[str]:
    return [danger for node in found for danger in dangers(node)]


def config_kinds(kind: type = RunConfig) -> Iterator[type]:
    """The dataclasses of settings that a run is made of."""
    yield kind
    for hint in get_type_hints(kind).values():
        if isinstance(hint, type) and is_dataclass(hint) and hint is not Schedule:
            yield from config_kinds(hint)


def own_settings(kind: type) -> list[str]:
    """The settings of a dataclass that are not tables of settings themselves."""
    hints = get_type_hints(kind)
    return [f.name for f in fields(kind) if hints[f.name] is Schedule or not is_dataclass(hints[f.name])]


def explained(kind: type) -> set[str]:
    """Fields with a text below them."""
    (definition,) = ast.parse(dedent(getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id
        for field, below in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def test_every_setting_is_explained_where_it_stands_and_is_a_flag(capsys):
    assert main(["train", "--help-all"]) == 0
    flags = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    for kind in config_kinds():
        settings = own_settings(kind)
        assert set(settings) - explained(kind) == set(), kind
        assert {f"--{setting.replace('_', '-')}" for setting in settings} - flags == set(), kind


def test_no_two_settings_share_a_name():
    """Flags have no prefixes, so a second setting of a name would silently be another's flag."""
    names = [setting for kind in config_kinds() for setting in own_settings(kind)]
    assert sorted(names) == sorted(set(names))


def test_a_recipe_written_as_toml_is_read_back_the_same(tmp_path):
    for recipe, make in RECIPES.items():
        config = make()
        (tmp_path / "config.toml").write_text(to_toml(config))
        assert load_toml(RunConfig, tmp_path / "config.toml") == config, recipe


@pytest.mark.parametrize("room", WITHOUT_JAX)
def test_data_rooms_load_without_jax(room):
    modules = [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in SOURCES
        if path.parent.name == room and path.stem != "__init__"
    ]
    assert modules
    script = f"import sys\nfor m in {modules}: __import__(m)\nsys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


MODULE = {"pillow": "PIL", "open_spiel": "pyspiel"}
"""Packages whose module has another name."""
TOOLS = {"pytest-xdist", "ruff", "pyright", "import-linter", "pre-commit", "zstandard"}
"""Packages that are commands or serve another package, which nobody imports."""
COMES_ALONG = {"ml_dtypes"}
"""Modules that are part of a dependency of ours: this one of jax."""

OPTIONAL = {"torch", "onnx", "wandb", "optuna", "pettingzoo", "gymnasium", "pgx", "jaxmarl", "mctx"}
"""Modules that only some uses need: they are in an extra."""


def modules_named(*rooms: str) -> set[str]:
    """Top modules that the code of these folders imports, by a statement, by import_module or by importorskip."""
    found = set()
    for path in (path for room in rooms for path in (ROOT / room).rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module or "")
            elif isinstance(node, ast.Call) and called(node) in ("import_module", "importorskip"):
                found |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return {top for module in found if (top := module.partition(".")[0]).isidentifier()}


def called(node: ast.Call) -> str:
    """The name of a function that is called, with or without its module."""
    return getattr(node.func, "id", "") or getattr(node.func, "attr", "")


def declared(lines: list[str]) -> set[str]:
    names = {re.split(r"[\[<>=~! ]", line)[0].lower() for line in lines}
    return {MODULE.get(name, name) for name in names}


def test_what_is_declared_is_imported_and_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies, imported = declared(project["dependencies"]), modules_named("src")
    assert dependencies - imported == set()
    extras = {name for lines in project["optional-dependencies"].values() for name in declared(lines)}
    assert imported - dependencies - COMES_ALONG - OPTIONAL - {"sparring"} - sys.stdlib_module_names == set()
    assert extras >= OPTIONAL and not OPTIONAL & dependencies
    assert extras - TOOLS - modules_named("src", "tests", "benchmarks") == set()


def test_every_public_name_is_there():
    names = [public for public in dir(sparring) if not public.startswith("_")]
    assert {"RunConfig", "make", "start"} <= set(names)
    for public in names:
        assert getattr(sparring, public).__name__ == public
    with pytest.raises(AttributeError, match="no public name 'strat'"):
        sparring.strat  # noqa: B018


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_an_example_is_short_and_runs(path, tmp_path, monkeypatch, capsys):
    assert len(path.read_text().splitlines()) < 80
    monkeypatch.setenv("SPARRING_QUICK", "1")
    monkeypatch.chdir(tmp_path)
    run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip() and not list(tmp_path.iterdir()), "it speaks and leaves nothing behind"


def module_of(command: str) -> ModuleType:
    return import_module(f"sparring.cli.{command.replace('-', '_')}")


def command_lines() -> list[tuple[str, str]]:
    """(where, words after `sparring`) of every command line in the documents, the Makefile and the help of commands."""
    found = []
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        for fence in re.findall(r"^```(?:sh|console|shell|bash)\n(.*?)^```", document.read_text(), re.M | re.S):
            for line in fence.replace("\\\n", " ").splitlines():
                match = re.match(r"(?:\$ )?(?:\.venv/bin/)?sparring\b(.*)", line.strip())
                if match:
                    found.append((name(document), match[1]))
    makefile = (ROOT / "Makefile").read_text()
    found += [("Makefile", words) for words in re.findall(r"^\t\$\(BIN\)/sparring\b(.*)", makefile, re.M)]
    examples = {command: module_of(command).EXAMPLES for command in COMMANDS}
    return found + [
        (f"{command} --help", line.removeprefix("sparring")) for command in COMMANDS for line in examples[command]
    ]


@cache
def why_not(line: str) -> str:
    """What is wrong with a command line of a document; empty where it is right."""
    words = list(
        takewhile(lambda word: word not in ("&&", "||", "|", ">", "2>", "&"), shlex.split(line, comments=True))
    )
    command, *rest = words or ["--help"]
    if command in ("--help", "--version", "COMMAND"):
        return ""
    if command not in COMMANDS:
        return "no such command"
    if "--help" in rest:
        return ""
    module = module_of(command)
    if command == "audit":
        kind, *rest = rest
        module, command = module_of(f"audit-{kind}"), f"audit-{kind}"
    if command == "audit-effects":
        rest, shared = split(rest, module.AuditEffects)
        flags = [word for place, word in enumerate(shared) if any(one.startswith("--") for one in shared[: place + 1])]
        if flags and why_not(shlex.join(["train", "kuhn", *flags])):
            return "its training does not parse"
    if command == "sweep":
        rest, shared = split(rest, module.Sweep)
        if shared and why_not(shlex.join(["train", *shared])):
            return "its training does not parse"
    if command == "compare":
        from sparring.cli.compare import Compare, game_of

        rest, shared = split(rest, Compare)
        if "--out" not in rest and not game_of(shared):
            return "neither a game nor a folder to go on with"
    try:
        kind = getattr(module, command.title().replace("-", ""))
        arguments = parse(kind, [word for word in rest if word != "--debug"], command=command)
        if command == "train" and ".py:" not in f"{arguments.word}":  # files of the reader's own are not here
            module.ready_made(replace(arguments, config=None), ())  # recipes and presets by names that are there
    except (SystemExit, ConfigError):
        return "it does not parse"
    return ""


def test_documents_show_only_commands_that_parse():
    lines = command_lines()
    assert len(lines) > 10
    assert why_not(" eval runs/a --no-such-flag") == "it does not parse" and why_not(" evil") == "no such command"
    found = {(where, line): why_not(line) for where, line in lines}
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_documents_that_are_named_are_there():
    files = [*SOURCES, *(ROOT / "benchmarks").glob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {(name(file), page) for file in files for page in re.findall(r"docs/\w+/[\w.-]+\.md", file.read_text())}
    assert len(named) > 20
    assert [(file, page) for file, page in sorted(named) if not (ROOT / page).is_file()] == []


def test_allowances_are_those_of_test_files():
    assert [file for file in COMPILATIONS if not (ROOT / "tests" / file).is_file()] == []
