"""The mutants: small patches of the source, each with the tests of which one must fail. They stand in the .toml files.

[[mutant]]
file = "learn/losses.py"       under src/sparring
old = "1 - clip, 1 + clip"     text that occurs once in it
new = "1 - clip, 1 - clip"
tests = ["learn/test_losses.py::test_name"]
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCE = ROOT / "src" / "sparring"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        return SOURCE / self.file

    def applied(self) -> str:
        """The text of the file with the patch."""
        text = self.path.read_text()
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise ValueError(f"{self.file} has {self.old!r} {found} times, expected once: change the mutant.")
        return text.replace(self.old, self.new)


def read_mutants() -> list[Mutant]:
    return [
        Mutant(**{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(HERE.glob("*.toml"))
        for entry in tomllib.loads(path.read_text())["mutant"]
    ]
