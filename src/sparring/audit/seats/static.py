"""L0: do settings or code name particular agents? Settings are compared as they are in force; code is only looked
through for patterns by which seats have been favoured before: they are places to look at, not faults. No JAX."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import L0

AGENTS = re.compile(r"(^|_)(agents?|players?|seats?|hunters?|aids?|agent_ids?|pids?)(_|$)", re.IGNORECASE)
"""Names of things that are one for each agent."""
AN_ID = re.compile(r"^(my_?|agent_?|player_?|seat_?)(id|idx|index|num|number)?(_zero)?$|^id$", re.IGNORECASE)
A_NAME = re.compile(r"^(player|agent|seat)[_ ]?\d+$", re.IGNORECASE)
MAY_DIFFER = re.compile(r"(^|[._])((my_?|agent_?|player_?)?(id|idx|index|name)(_zero)?|seed)$", re.IGNORECASE)
"""Settings that tell agents apart and nothing else."""


class Suspect(NamedTuple):
    file: str
    line: int
    pattern: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.pattern}"


def settings_finding(
    settings: Mapping[str, Mapping[str, Any]], suspects: Sequence[Suspect], *, foreign: bool
) -> Finding:
    """By learner its settings in force, by name; seats of `foreign` code cannot be exchanged exactly, so that suspects
    in it stay open questions."""
    unlike = {
        name: {learner: own.get(name) for learner, own in settings.items()}
        for name in dict.fromkeys(name for own in settings.values() for name in own)
        if not MAY_DIFFER.search(name) and len({repr(own.get(name)) for own in settings.values()}) > 1
    }
    numbers = {"unlike": unlike, "suspects": [str(one) for one in suspects]}
    places = f" Places to look at first: {'; '.join(map(str, suspects[:3]))}." if suspects else ""
    if unlike:
        name, *others = unlike
        told = ", ".join(f"{learner} {value}" for learner, value in unlike[name].items())
        more = f" Also unlike: {', '.join(others)}." if others else ""
        return L0.found(
            False, f"{name}: {told}.{more}{places}", "Learners that should be alike learn under different settings.",
            f"Give all of them the same {name}, unless that is what you are studying.", **numbers,
        )  # fmt: skip
    same = f"{len(settings)} learners have the same settings in force." if settings else "No settings were given."
    return L0.found(
        None if suspects and foreign else True, same + places,
        "Code of these shapes has favoured seats before; it need not.",
        "Read these lines with the question: what if the agents had other numbers?", **numbers,
    )  # fmt: skip


def scan(path: Path) -> list[Suspect]:
    """Patterns in one file of Python; nothing where it cannot be read as such."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []
    found = {(node.lineno, pattern) for part in ast.walk(tree) for node, pattern in patterns(part)}
    return [Suspect(path.name, *one) for one in sorted(found)]


def patterns(node: ast.AST) -> Iterator[tuple[Any, str]]:
    if isinstance(node, ast.Compare) and names_one(node):
        yield node, "compares an agent with one particular id"
    if isinstance(node, ast.Dict) and len(node.keys) > 1 and all(is_agent_name(key) for key in node.keys):
        yield node, "a table with an entry for each agent"
    rest = node.orelse[:1] if isinstance(node, ast.If) and mentions_agent(node.test) else []
    if any(isinstance(other, ast.If) and mentions_agent(other.test) for other in rest):
        yield node, "if ... elif over agents: the first wins a tie"
    if isinstance(node, ast.For) and mentions_agent(node.iter):
        yield from in_loop(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from leaked(node)


def names_one(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    named = any(AN_ID.match(name_of(side)) for side in sides)
    constant = any(isinstance(side, ast.Constant) and isinstance(side.value, int | str) for side in sides)
    return (named and constant) or any(is_agent_name(side) for side in sides)


def in_loop(loop: ast.For) -> Iterator[tuple[Any, str]]:
    """An agent-by-agent loop that ends early, or that changes what the next agent then meets."""
    own = bound_by(loop)
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.Return | ast.Break):
            yield part, "a loop over agents that may end before the last"
        changed = [part.target] if isinstance(part, ast.AugAssign) else []
        for target in part.targets if isinstance(part, ast.Assign) else changed:
            indexed = {inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)}
            if isinstance(target, ast.Attribute | ast.Subscript) and not indexed & own:
                yield part, "a loop over agents that changes what they share: the first has the first choice"


def leaked(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[Any, str]]:
    """The variable of a loop, used after it."""
    binders = [part for part in ast.walk(function) if isinstance(part, ast.For | ast.comprehension)]
    names = [part for part in ast.walk(function) if isinstance(part, ast.Name)]
    names.sort(key=lambda part: (part.lineno, part.col_offset))
    for loop in (part for part in binders if isinstance(part, ast.For)):
        # Where another loop or a comprehension has a variable of that name, its uses are its own.
        again = {name for other in binders if other is not loop for name in bound_by(other)}
        for name in bound_by(loop) - again - {"_"}:
            later = (part for part in names if part.id == name and part.lineno > (loop.end_lineno or loop.lineno))
            first = next(later, None)
            if first and isinstance(first.ctx, ast.Load):
                yield first, f"{name!r} of the loop in line {loop.lineno} used after it"


def bound_by(loop: ast.For | ast.comprehension) -> set[str]:
    return {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def mentions_agent(node: ast.AST) -> bool:
    """Somewhere in it."""
    parts = [*ast.walk(node)]
    return any(AGENTS.search(name_of(x)) or AN_ID.match(name_of(x)) or is_agent_name(x) for x in parts)


def is_agent_name(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(A_NAME.match(node.value))
