"""An audit as data, as pages and as an exit code."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Finding, Question, write_audit
from sparring.audit.page import terminal_page
from sparring.audit.pictures import boxes, curves, ladder
from sparring.audit.seats.levels import verdict_of
from sparring.core.errors import RunError
from sparring.statistics.intervals import Interval

FAILS = Finding(
    level="L1", question="alike?", outcome="FAIL", evidence="1 < 2 [b]", meaning="It is <b>not</b>.", remedy="Mend it.",
    numbers={"array": np.arange(2), "number": np.float32(0.5)},
)  # fmt: skip


def audit(**changes):
    given = {
        "kind": "seats", "subject": "a game", "verdict": "ENV-BIASED", "code": FAULT, "summary": "It is not alike.",
        "findings": (FAILS, Question("L2", "more?").skipped("no time")), "facts": {"seed": "0"}, "command": "again",
    }  # fmt: skip
    return Audit(**{**given, **changes})


def test_an_audit_is_written_as_data_and_as_a_page_with_its_pictures(tmp_path):
    pictures = (
        boxes("boxes", {"a": [1.0, 2.0], "b": [2.0, 3.0]}, "return"),
        ladder("ladder", {"rung": Interval(0.1, -0.1, 0.3, 4)}, "slope", 0.05),
        curves("curves", {"a": ([0, 1], [1.0, 2.0])}, "steps", "return"),
    )
    files = write_audit(audit(pictures=pictures), tmp_path / "audits")
    found = json.loads(files.data.read_text())
    assert found["verdict"] == "ENV-BIASED" and found["findings"][0]["numbers"] == {"array": [0, 1], "number": 0.5}
    assert found["findings"][1]["outcome"] == "SKIPPED" and "pictures" not in found
    page = files.page.read_text()
    assert page.count("data:image/png;base64,") == 3 and "It is &lt;b&gt;not&lt;/b&gt;." in page and "Mend it." in page


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="--out"):
        write_audit(audit(), tmp_path / "file" / "audits")


def test_the_terminal_shows_evidence_remedy_and_verdict_as_they_are():
    console = Console(width=200, file=StringIO())
    console.print(terminal_page(audit()))
    text = console.file.getvalue()
    for part in ("1 < 2 [b]", "Mend it.", "ENV-BIASED: It is not alike.", "no time"):
        assert part in text


def test_the_exit_code_is_that_of_the_verdict_or_of_the_expectation():
    assert audit().exit_code() == FAULT and audit(code=SOUND).exit_code() == SOUND
    assert audit().exit_code("env-biased") == SOUND and audit(code=SOUND).exit_code("SYMMETRIC") == FAULT


def finding(level, outcome, **numbers):
    return Finding(level=level, question="?", outcome=outcome, evidence="seen", numbers=numbers)


@pytest.mark.parametrize(
    ("outcomes", "verdict", "code"),
    [
        ({"L1": "PASS", "L2": "UNDECIDED", "L4": "PASS", "L5": "PASS", "L8": "PASS"}, "SYMMETRIC", SOUND),
        ({"L1": "SKIPPED", "L2": "PASS", "L4": "PASS", "L5": "PASS", "L8": "PASS"}, "NO BIAS FOUND", OPEN),
        ({"L1": "PASS", "L4": "SKIPPED", "L5": "SKIPPED", "L8": "PASS"}, "SYMMETRIC GAME", OPEN),
        ({"L1": "SKIPPED", "L2": "PASS", "L4": "SKIPPED"}, "NO BIAS FOUND", OPEN),
        ({"L1": "SKIPPED", "L2": "UNDECIDED"}, "INCONCLUSIVE", OPEN),
        ({"L1": "FAIL", "L4": "FAIL", "L8": "PASS"}, "ENV-BIASED", FAULT),
        ({"L1": "FAIL", "L8": "FAIL"}, "LOGGING-BIASED", FAULT),
        ({"L1": "PASS", "L4": "FAIL", "L6": "FAIL", "L8": "PASS"}, "TRAINING-BIASED(update)", FAULT),
        (
            {"L1": "PASS", "L4": "PASS", "L5": "PASS", "L6": "FAIL", "L8": "PASS"},
            "TRAINING-BIASED(not localised)",
            FAULT,
        ),
        ({"L1": "PASS", "L3": "FAIL"}, "ENV-BIASED", FAULT),
    ],
    ids=str,
)
def test_levels_together_give_one_verdict(outcomes, verdict, code):
    found = verdict_of([finding(level, outcome) for level, outcome in outcomes.items()])
    assert (found.verdict, found.code) == (verdict, code)
