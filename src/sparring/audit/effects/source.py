"""Source code of somebody's project, read and never run: flags that are lost or read the wrong way, guards that hide a
missing part, methods that only evaluation calls."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sparring.audit.effects.stages import E1, E2, listed
from sparring.audit.findings import FAULT, SOUND, Audit, Verdict, concluded
from sparring.core.errors import ConfigError

EVALUATION = ("eval", "test", "render", "watch", "demo", "benchmark")
SKIPPED = {".git", ".venv", "venv", "site-packages", "build", "dist", "node_modules", "__pycache__", "tests", "test"}
SURE = ("type=bool", "text for a truth", "parse_known_args", "store_true with default=True")
"""Kinds that are wrong wherever they stand."""
ENVIRONMENT = ("os.getenv(", "os.environ", "getenv(", "environ")
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
    trees = {}
    for file in [root] if root.is_file() else below:
        with suppress(SyntaxError, UnicodeDecodeError):
            trees[str(file.relative_to(root) if root.is_dir() else file.name)] = ast.parse(file.read_text())
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
            if name == "bool" and node.args and ast.unparse(node.args[0]).startswith(ENVIRONMENT):
                yield Suspect("text for a truth", file, node.lineno, "bool() of an environment variable")
        if is_dropping(node):
            yield Suspect("parse_known_args", file, getattr(node, "lineno", 0), "drops what it does not know")
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            guards = [x for x in node.values if isinstance(x, ast.Call) and getattr(x.func, "id", "") == "hasattr"]
            for guard in guards:
                yield Suspect("hasattr guard", file, node.lineno, str(value(guard.args[1])) if guard.args[1:] else "")


def is_dropping(node: ast.AST) -> bool:
    """parse_known_args(...)[0], or unpacked into a name that nobody means to look at."""
    call = node.value if isinstance(node, ast.Subscript | ast.Assign) else None
    if not isinstance(call, ast.Call) or getattr(call.func, "attr", "") != "parse_known_args":
        return False
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    last = getattr(target.elts[-1], "id", "") if isinstance(target, ast.Tuple) else ""
    return isinstance(node, ast.Subscript) or last.startswith("_") or last == "unknown"


def value(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def evaluation_only(trees: dict[str, ast.AST]) -> Iterator[Suspect]:
    """Methods of classes that are called, and only from functions that evaluate."""
    defined: dict[str, tuple[str, int]] = {}
    callers: dict[str, set[str]] = {}
    for file, node in ((file, node) for file, tree in trees.items() for node in ast.walk(tree)):
        if isinstance(node, ast.ClassDef):
            defined |= {f.name: (file, f.lineno) for f in node.body if isinstance(f, ast.FunctionDef)}
        if isinstance(node, ast.FunctionDef):
            for call in (x.func for x in ast.walk(node) if isinstance(x, ast.Call)):
                if isinstance(call, ast.Attribute):
                    callers.setdefault(call.attr, set()).add(node.name)

    def evaluates(name: str) -> bool:
        return any(word in name.lower() for word in EVALUATION)

    for name, (file, line) in defined.items():
        by = callers.get(name, set()) - {name}
        if by and all(map(evaluates, by)) and not evaluates(name):
            yield Suspect("evaluation only", file, line, f"{name}, called by {listed(sorted(by))}")


def audit_source(root: Path, command: str = "") -> Audit:
    found = scan(root)
    sure, rest = ([one for one in found if (one.kind in SURE) is wrong] for wrong in (True, False))
    told = (
        E1.found(
            not sure, listed([one.place for one in sure]) or "no flag is lost or read the wrong way", meanings(sure),
            "Use parse_args, and action=argparse.BooleanOptionalAction.", suspects=[one._asdict() for one in found],
        ),
        E2.found(
            None if rest else True, listed([one.place for one in rest]) or "no method is evaluation's alone",
            meanings(rest), "If the new part is there, call it in training too.",
        ),
    )  # fmt: skip
    summary = ", ".join(f"{kind}: {sum(one.kind == kind for one in found)}" for kind in MEANING) + "."
    verdict = Verdict("SUSPECT" if found else "NOTHING FOUND", FAULT if sure else SOUND, summary)
    return concluded("effects", f"source of {root}", verdict, told, facts={"read": str(root)}, command=command)


def meanings(found: Sequence[Suspect]) -> str:
    return " ".join(dict.fromkeys(MEANING[one.kind] for one in found))
