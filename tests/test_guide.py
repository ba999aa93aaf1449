"""The guides say of every option what the code says, and the page of details points at what is there."""

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args

import pytest

from sparring.cli.flags import named, parse
from sparring.cli.machine import MachineConfig
from sparring.cli.train import Train, settled
from sparring.core.schedules import Schedule
from sparring.core.spec import ActionSpec
from sparring.league.config import (
    SHARES,
    CurriculumConfig,
    DefeatsConfig,
    OpponentsConfig,
    PoolConfig,
    Sampler,
)
from sparring.league.events import Event, Own
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.learn.config import COEFFICIENTS, PPOConfig
from sparring.learn.ppo import UpdateStats
from sparring.nets.config import NetConfig
from sparring.opponent_models.config import MindConfig, PlanningConfig
from sparring.recipes.catalogue import RECIPES
from sparring.recipes.presets import PRESETS
from sparring.recipes.self_play import SELF_PLAY
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig, SeatsConfig, WorkersConfig
from sparring.training.control import Refused
from sparring.training.notices import ONCE
from sparring.training.trends import TEXTS

ROOT = Path(__file__).parent.parent
GUIDE, DETAILS, OPPONENTS, LEAGUES, HYPER, MINDS = (
    (ROOT / "docs/guide" / f"{name}.md").read_text()
    for name in ("ppo", "ppo-details", "self-play", "leagues", "hyper", "opponent-models")
)
LEAGUE = (OpponentsConfig, PoolConfig, CurriculumConfig, DefeatsConfig)
OF_HYPER = re.compile(r"hyper.*|smooth|execution")
OPTIONS = [
    (HYPER if OF_HYPER.fullmatch(field.name) else GUIDE, field)
    for kind in (PPOConfig, NetConfig)
    for field in fields(kind)
]
OPTIONS += [(OPPONENTS, field) for kind in LEAGUE for field in fields(kind)]
OPTIONS += [(LEAGUES, field) for kind in (RolesConfig, GateConfig, PopulationConfig) for field in fields(kind)]
OPTIONS += [(MINDS, field) for kind in (MindConfig, PlanningConfig) for field in fields(kind)]
SETTINGS = (
    PPOConfig, NetConfig, *LEAGUE, RolesConfig, GateConfig, PopulationConfig, PlayConfig, SeatsConfig, EvalConfig,
    CheckpointConfig, WorkersConfig, MindConfig, PlanningConfig, RunConfig, Train, MachineConfig,
)  # fmt: skip


def flag(name: str) -> str:
    return f"--{name.strip('_').replace('_', '-')}"


def rows(text: str) -> list[list[str]]:
    """The cells of every row of a table, without heads and rules."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    rules = {i for i, cells in enumerate(lines) if set("".join(cells)) <= set("-")}
    return [cells for i, cells in enumerate(lines) if i not in rules and i + 1 not in rules]


def section(text: str, title: str) -> str:
    """What stands below a heading, down to the next one of its rank or above."""
    rank = title.split()[0]
    return re.split(rf"^#{{1,{len(rank)}}} ", text.split(f"\n{title}\n")[1], flags=re.M)[0]


def code(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def told(page: str, field: Field) -> tuple[str, str]:
    """The mark and the default that a guide gives an option, from the one row that is about it."""
    (row,) = [cells for cells in rows(page) if re.fullmatch(rf"`{flag(field.name)}`( †)?", cells[0])]
    return row[0].partition("`" + " ")[2], row[1]


@pytest.mark.parametrize(("page", "field"), OPTIONS, ids=lambda part: getattr(part, "name", ""))
def test_a_guide_has_one_row_for_every_option_with_its_default(page, field):
    assert field.default is not MISSING
    mark, default = told(page, field)
    assert mark == ("†" if isinstance(field.default, Schedule) or field.name in COEFFICIENTS else "")
    expected: Any = field.default
    if isinstance(expected, Schedule):
        assert Schedule.parse(default) == expected
    elif isinstance(expected, bool):
        assert default == ("on" if expected else "off")
    elif isinstance(expected, int | float):
        assert float(default) == expected
    elif isinstance(expected, tuple):
        assert default == (" ".join(map(str, expected)) or "none")
    else:
        assert default == (expected or "none")


@pytest.mark.parametrize(
    "page", [GUIDE, OPPONENTS, LEAGUES, HYPER, MINDS], ids=["ppo", "self-play", "leagues", "hyper", "minds"]
)
def test_a_guide_has_no_row_for_an_option_that_is_gone(page):
    first = [cells[0].partition("`" + " ")[0].strip("`") for cells in rows(page) if cells[0].startswith("`--")]
    assert sorted(first) == sorted(flag(field.name) for where, field in OPTIONS if where == page)


def first_words(page: str, title: str) -> list[str]:
    return [name for cells in rows(section(page, title)) for name in code(cells[0]) if not name.startswith("--")]


def test_the_guides_to_self_play_list_every_preset_and_every_sampler_once():
    listed = [name for page in (OPPONENTS, LEAGUES) for name in first_words(page, "## Presets")]
    assert sorted(listed) == sorted(SELF_PLAY)
    assert sorted(first_words(OPPONENTS, "## Who of the past")) == sorted(get_args(Sampler))


def test_the_shares_of_a_preset_in_the_guide_are_those_at_the_start_and_the_end_of_a_run():
    config = RunConfig(game="kuhn", play=PlayConfig(worlds=8, steps=8))
    for cells in rows(section(OPPONENTS, "## Presets")):
        opponents = SELF_PLAY[cells[0].strip("`")](config).opponents
        for text, kind in zip(cells[1].split(" / "), SHARES, strict=False):
            share = getattr(opponents, kind)
            first, _, last = text.partition(" → ")
            assert (int(first), int(last or first)) == (int(100 * share.start), int(100 * share.end)), cells[0]


def test_the_guide_to_self_play_explains_every_event():
    assert issubclass(Refused, Event)  # those of training are known here too
    kinds = [kind.__name__.lower() for kind in Event.__subclasses__() if kind.told and kind is not Own]
    assert sorted(first_words(OPPONENTS, "### Events")) == sorted(kinds)


def test_the_guide_explains_every_metric_of_an_update_once():
    health = section(GUIDE, "## Health").partition("### Notices")[0]
    assert sorted(name for cells in rows(health) for name in code(cells[0])) == sorted(UpdateStats._fields)


def test_the_guide_explains_every_notice():
    sources = [
        ast.parse((ROOT / f"src/sparring/training/{name}.py").read_text()) for name in ("notices", "trends", "runs")
    ]
    constants = [node.value for source in sources for node in ast.walk(source) if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str)}
    explained = {name for cells in rows(section(GUIDE, "### Notices")) for name in code(cells[0])}
    assert explained == {*ONCE, *TEXTS, "calm_critic", "evaluation", "lost"}
    assert explained <= texts


def test_the_guide_lists_every_preset_once():
    listed = [cells[0].strip("`") for cells in rows(section(GUIDE, "## Presets")) if cells[0].startswith("`")]
    assert sorted(listed) == sorted(PRESETS)


@pytest.mark.parametrize("line", re.findall(r"^sparring train (.*)$", OPPONENTS + LEAGUES + HYPER, re.M))
def test_a_command_in_the_guides_to_self_play_is_understood(line):
    words = shlex.split(line, comments=True)
    if "--guests" not in words:  # those would have to be there
        build(settled(parse(Train, words, command="train"), named(words))[0])


PAGES = {"ppo": GUIDE, "ppo-details": DETAILS, "self-play": OPPONENTS, "leagues": LEAGUES}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_names_only_flags_that_are_there(page):
    known = {flag(field.name) for kind in SETTINGS for field in fields(kind)}
    known |= {name.replace("--", "--no-", 1) for name in known}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))
    assert named and named - known == set()


def test_the_actions_in_the_guide_can_be_declared():
    (snippet,) = [text for text in re.findall(r"```python\n(.*?)```", GUIDE, re.S) if "ActionSpec" in text]
    space: dict[str, Any] = {}
    exec(snippet, space)
    declared = {name: spec for name, spec in space.items() if isinstance(spec, ActionSpec)}
    assert set(declared) == {"choice", "several", "force", "order"}
    assert (declared["several"].entries, declared["force"].dimensions) == (7, 2)
    # As the comment says: a move has a direction and no target, an attack the reverse.
    wait, move, attack = declared["order"].counts
    assert not any(wait) and (move, attack) == ((False, True), (True, False))


def test_the_page_of_details_ticks_off_each_of_the_37_once():
    numbers = [cells[0] for cells in rows(DETAILS)]
    assert numbers == [*map(str, range(1, 38)), "A1", "A2", "A3", "A4"]


def places() -> list[tuple[str, str]]:
    """(file, name or nothing) of everything the page of details points at."""
    return [(file, name) for file, name in re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", DETAILS) if "/" in file]


def defined(path: Path) -> Iterator[str]:
    """Every function, class, field and constant of a file; those of classes also as Class.name."""

    def of(node: ast.AST, above: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            names, inner = [], above
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names, inner = [child.name], f"{child.name}." if isinstance(child, ast.ClassDef) else above
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                yield from (name, above + name)
            yield from of(child, inner)

    return of(ast.parse(path.read_text()), "")


def test_what_the_page_of_details_points_at_is_there():
    assert len(places()) > 50
    for file, name in places():
        path = ROOT / "src/sparring" / file
        assert path.is_file(), file
        assert not name or name in set(defined(path)), f"{file}:{name}"


def test_every_detail_that_is_here_says_where():
    for number, _, here, where in rows(DETAILS):
        assert re.match(r"(yes|option|no)\b", here), number
        assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", where), number


def test_every_recipe_that_the_page_on_training_names_is_there():
    table = (ROOT / "docs/guide/training.md").read_text().split("## Recipes")[1].split("\n## ")[0]
    named = {row[0].strip("`") for row in rows(table)}
    assert "demo" in named and named <= {*RECIPES}
