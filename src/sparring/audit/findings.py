"""What an audit found: one finding for each level or stage, and a verdict that says what they mean together."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sparring.core.errors import RunError
from sparring.store.durable import replace_file

Outcome = Literal["PASS", "FAIL", "UNDECIDED", "SKIPPED"]
"""UNDECIDED: the budget ended between a fault and the proof that there is none. SKIPPED is never counted as PASS."""
Kind = Literal["seats", "effects", "health"]
SOUND, FAULT, OPEN = 0, 4, 5
"""Exit codes of an audit: it found what it should; it found a fault; it could not tell."""
Tell = Callable[[str, float], None]
"""What an audit does now, and the share of all its work that is done: `tell("L1 exchanging seats", 0.2)`."""


def untold(doing: str, share: float) -> None:
    """The `Tell` of somebody who only wants the result."""
    del doing, share


@dataclass(frozen=True)
class Finding:
    """One level of an audit: what was asked, what came out, and what that was read from."""

    level: str
    """L0 to L8 of seats, E0 to E7 of effects, the name of a symptom in health."""
    question: str
    outcome: Outcome
    evidence: str
    """What was seen, with its numbers; of a level that was skipped, the reason."""
    meaning: str = ""
    """What it means, where something is wrong or open."""
    remedy: str = ""
    """The next thing to try."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same evidence for programs: numbers, texts, lists and dictionaries of them."""


class Question(NamedTuple):
    """What a level asks; its answers are findings."""

    level: str
    text: str
    meaning: str = ""
    """What a fault means and what to try next, where a finding does not say it better."""
    remedy: str = ""

    def found(self, sound: bool | None, evidence: str, meaning: str = "", remedy: str = "", **numbers: Any) -> Finding:
        """`sound`: None where it cannot be told. What is sound needs no advice."""
        outcome: Outcome = "UNDECIDED" if sound is None else "PASS" if sound else "FAIL"
        advice = ("", "") if sound else (meaning or self.meaning, remedy or self.remedy)
        return Finding(self.level, self.text, outcome, evidence, *advice, numbers)

    def skipped(self, reason: str, remedy: str = "") -> Finding:
        return Finding(self.level, self.text, "SKIPPED", reason, remedy=remedy)


class Verdict(NamedTuple):
    """What all findings mean together."""

    verdict: str
    """One word, such as SYMMETRIC or DEAD (proved)."""
    code: int
    """SOUND, FAULT or OPEN."""
    summary: str
    """The verdict as a sentence, and the culprit by name."""


class Picture(NamedTuple):
    title: str
    png: bytes


@dataclass(frozen=True, kw_only=True)
class Audit:
    """A verdict with all that it rests on."""

    kind: Kind
    subject: str
    """What was audited: a game, a run, two configurations."""
    verdict: str
    code: int
    summary: str
    findings: tuple[Finding, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    """Seeds, margins, the smallest effect that could be seen, time."""
    command: str = ""
    """The command line that repeats it."""
    pictures: Sequence[Picture] = ()

    def plain(self) -> dict[str, Any]:
        """All but the pictures, for JSON."""
        found = {name: value for name, value in vars(self).items() if name != "pictures"}
        return {**found, "findings": [asdict(one) for one in self.findings]}

    def exit_code(self, expected: str = "") -> int:
        """As the verdict says; where one was named beforehand (`--expect`), whether it is that one."""
        if not expected:
            return self.code
        return SOUND if self.verdict.upper().startswith(expected.upper()) else FAULT


def concluded(kind: Kind, subject: str, verdict: Verdict, findings: Iterable[Finding], **more: Any) -> Audit:
    return Audit(kind=kind, subject=subject, **verdict._asdict(), findings=tuple(findings), **more)


class AuditFiles(NamedTuple):
    data: Path
    page: Path


def write_audit(audit: Audit, folder: Path) -> AuditFiles:
    """`KIND.json` and `KIND.html` in the folder."""
    from sparring.audit.page import html_page  # draws tables only where they are wanted

    files = AuditFiles(folder / f"{audit.kind}.json", folder / f"{audit.kind}.html")
    data = json_text(audit, indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(files, (data, html_page(audit)), strict=True):
            replace_file(path, text.encode())
    except OSError as error:
        raise RunError(f"Cannot write {folder}: {error.strerror}. Name another folder with --out.") from error
    return files


def json_text(audit: Audit, *, indent: int | None = None, **more: Any) -> str:
    return json.dumps({**audit.plain(), **more}, indent=indent, default=_number)


def _number(value: Any) -> Any:
    """Numbers and arrays of NumPy as Python has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
