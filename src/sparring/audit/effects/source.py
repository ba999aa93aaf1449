"""Source code of somebody's project, read and never run: flags that are lost or read the wrong way, guards that hide a
missing part, methods that only evaluation calls."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sparring.audit.effects.stages import E1, E2, listed
from sparring.audit.findings import FAULT, SOUND, Audit, Verdict, concluded
from sparring.core.errors import ConfigError

EVALUATION = ("eval", "test", "render", "watch", "demo", "benchmark")
SKIPPED = {".git", ".venv", "venv", "site-packages", "build", "dist", "node_modules", "__pycache__", "tests", "test"}
SURE = ("type=bool", "text for a truth", "parse_known_args", "store_true with default=True")
"""Kinds that are wrong wherever they stand."""
MEANING = {
    "type=bool": "bool('False') is True: the flag cannot be switched off.",
    "text for a truth": "What is given is a text, and every text but the empty one is true, 'False' too.",
    "parse_known_args": "Flags that are misspelt or not registered are dropped without a word.",
    "store_true with default=True": "The flag can never be off, so the baseline has it too.",
    "hasattr guard": "Where the attribute is missing the branch is passed over in silence.",
    "evaluation only": "Training never calls it: what is added there changes no curve of training.",
}


class Suspect(NamedTuple):
    kind: str
    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} {self.text}"


def scan(root: Path) -> list[Suspect]:
    """Everything suspicious in the Python files below a folder."""
    below = (f for f in sorted(root.rglob("*.py")) if not SKIPPED & set(f.relative_to(root).parts))
    files = [root] if root.is_file() else list(below)
    trees = {}
    for file in files:
        try:
            trees[str(file.relative_to(root) if root.is_dir() else file.name)] = ast.parse(file.read_text())
        except (SyntaxError, UnicodeDecodeError):
            continue
    if not trees:
        raise ConfigError(f"There is no Python file in {root} that can be read. Name the folder of a project.")
    found = [suspect for file, tree in trees.items() for suspect in in_tree(file, tree)]
    return found + list(evaluation_only(trees))


def in_tree(file: str, tree: ast.AST) -> Iterator[Suspect]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {word.arg: word.value for word in node.keywords}
            flag = str(node.args[0].value) if node.args and isinstance(node.args[0], ast.Constant) else ""
            if name == "add_argument" and getattr(given.get("type"), "id", "") == "bool":
                yield Suspect("type=bool", file, node.lineno, flag)
            default, bare = value(given.get("default")), not {"type", "action"} & {*given}
            if name == "add_argument" and value(given.get("action")) == "store_true" and default is True:
                yield Suspect("store_true with default=True", file, node.lineno, flag)
            if name == "add_argument" and isinstance(default, bool) and bare:
                yield Suspect("text for a truth", file, node.lineno, flag)
            if name == "bool" and node.args and is_environment(node.args[0]):
                yield Suspect("text for a truth", file, node.lineno, "bool() of an environment variable")
        if is_dropping(node):
            yield Suspect("parse_known_args", file, getattr(node, "lineno", 0), "drops what it does not know")
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            guards = [x for x in node.values if isinstance(x, ast.Call) and getattr(x.func, "id", "") == "hasattr"]
            for guard in guards:
                attribute = value(guard.args[1]) if len(guard.args) > 1 else ""
                yield Suspect("hasattr guard", file, node.lineno, str(attribute))


def is_environment(node: ast.AST) -> bool:
    """os.getenv(...), os.environ.get(...), os.environ[...]."""
    text = ast.unparse(node)
    return text.startswith(("os.getenv(", "os.environ", "getenv(", "environ"))


def is_dropping(node: ast.AST) -> bool:
    """parse_known_args(...)[0], or unpacked into a name that nobody means to look at."""

    def asks(x: ast.AST) -> bool:
        return isinstance(x, ast.Call) and getattr(x.func, "attr", "") == "parse_known_args"

    if isinstance(node, ast.Subscript):
        return asks(node.value)
    if isinstance(node, ast.Assign) and asks(node.value) and isinstance(node.targets[0], ast.Tuple):
        last = getattr(node.targets[0].elts[-1], "id", "")
        return last.startswith("_") or last == "unknown"
    return False


def value(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def evaluation_only(trees: dict[str, ast.AST]) -> Iterator[Suspect]:
    """Methods of classes that are called, and only from functions that evaluate."""
    defined: dict[str, tuple[str, int]] = {}
    callers: dict[str, set[str]] = {}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                defined |= {f.name: (file, f.lineno) for f in node.body if isinstance(f, ast.FunctionDef)}
            if isinstance(node, ast.FunctionDef):
                called = [x.func for x in ast.walk(node) if isinstance(x, ast.Call)]
                for function in (x for x in called if isinstance(x, ast.Attribute)):
                    callers.setdefault(function.attr, set()).add(node.name)
    for name, (file, line) in defined.items():
        by = callers.get(name, set()) - {name}
        if by and all(map(evaluates, by)) and not evaluates(name):
            yield Suspect("evaluation only", file, line, f"{name}, called by {listed(sorted(by))}")


def evaluates(name: str) -> bool:
    return any(word in name.lower() for word in EVALUATION)


def audit_source(root: Path, command: str = "") -> Audit:
    found = scan(root)
    sure, rest = ([one for one in found if (one.kind in SURE) is wrong] for wrong in (True, False))
    counts = {kind: sum(one.kind == kind for one in found) for kind in MEANING}
    told = (
        E1.found(
            not sure, listed([one.place for one in sure]) or "no flag is lost or read the wrong way",
            meanings(sure), "Use parse_args, and action=argparse.BooleanOptionalAction." if sure else "",
            suspects=[one._asdict() for one in found],
        ),
        E2.found(
            None if rest else True, listed([one.place for one in rest]) or "no method is evaluation's alone",
            meanings(rest), "If the new part is there, call it in training too." if rest else "",
        ),
    )  # fmt: skip
    summary = ", ".join(f"{kind}: {count}" for kind, count in counts.items()) + "."
    verdict = Verdict("SUSPECT" if found else "NOTHING FOUND", FAULT if sure else SOUND, summary)
    return concluded("effects", f"source of {root}", verdict, told, facts={"read": str(root)}, command=command)


def meanings(found: Sequence[Suspect]) -> str:
    return " ".join(dict.fromkeys(MEANING[one.kind] for one in found))
