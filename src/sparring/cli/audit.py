"""sparring audit seats | effects | health: is a seat favoured, does a module do anything, is a run healthy?

Each audit is a module `audit_KIND` with `command(words)`, its dataclass of flags `AuditKind` and its `EXAMPLES`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sparring.audit.findings import Audit, Tell, json_text, untold, write_audit
from sparring.core.errors import ConfigError, unknown

KINDS = {
    "seats": "does the number of a seat change the result, and what makes it so",
    "effects": "does a module or a setting change anything at all",
    "health": "is a run healthy: its policy, its critic, its league",
}
EXAMPLES = (
    "sparring audit seats snowdrift",
    "sparring audit effects kuhn --modules examples/own/hyper.py:misplaced",
    "sparring audit health runs/first",
)
EVERY = (
    "Each explains itself (sparring audit seats --help), takes --json, and leaves a page to look at.",
    "Exit code: 0 as it should be, 4 a fault was found, 5 undecided.",
)


def command(words: list[str]) -> int:
    if not words or words[0] in ("--help", "-h"):
        print("\n".join(("usage: sparring audit KIND [options]", "", *(f"  {k:<8} {v}" for k, v in KINDS.items()))))
        print("\n".join(("", *EVERY, "examples:")))
        print("\n".join(f"  {line}" for line in EXAMPLES))
        return 0
    return module_of(words[0]).command(words[1:])


def module_of(kind: str) -> ModuleType:
    if kind not in KINDS:
        raise ConfigError(unknown("audit", kind, KINDS) + " For example: sparring audit seats snowdrift")
    return import_module(f"sparring.cli.audit_{kind}")


@contextmanager
def progress(quiet: bool) -> Iterator[Tell]:
    """A bar on standard error where that is a terminal, a line for every twentieth of the work where it is not."""
    console = Console(stderr=True)
    if quiet:
        yield untold
    elif not console.is_terminal:
        told = [-1.0]

        def tell(doing: str, share: float) -> None:
            if share >= told[-1] + 0.05 or told[-1] < 0.0:
                told.append(share)
                print(f"{share:4.0%} {doing}", file=sys.stderr, flush=True)

        yield tell
    else:
        with Progress(BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda doing, share: bar.update(task, description=doing, completed=share)


def finish(audit: Audit, folder: Path, *, as_json: bool, expected: str = "") -> int:
    """Write the files, print the page or the object, and give the exit code."""
    files = write_audit(audit, folder)
    code = audit.exit_code(expected)
    if as_json:
        print(json_text(audit, exit_code=code, page=str(files.page)))
        return code
    from sparring.audit.page import terminal_page

    Console().print(terminal_page(audit))
    print(f"page     {files.page}")
    return code
