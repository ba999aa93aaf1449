"""An audit for people: a page in the terminal, and one HTML file with its pictures inside."""

from html import escape

from rich.console import Group, RenderableType
from rich.markup import escape as unmarked
from rich.table import Column, Table

from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Finding, Outcome
from sparring.reports.html import command, document, marked, picture, table
from sparring.reports.tables import NAMES

COLOUR: dict[Outcome, tuple[str, str]] = {
    "PASS": ("green", "#1a7f37"),
    "FAIL": ("bold red", "#c62828"),
    "UNDECIDED": ("yellow", "#9a6700"),
    "SKIPPED": ("dim", "#777"),
}
"""Of an outcome, in a terminal and on a page."""
VERDICT: dict[int, Outcome] = {SOUND: "PASS", FAULT: "FAIL", OPEN: "UNDECIDED"}
"""The outcome whose colour a verdict has."""
OWN_STYLE = """
.verdict { font-size: 1.3rem; font-weight: 600 } td.outcome { font-weight: 600; white-space: nowrap }
"""


def terminal_page(audit: Audit) -> RenderableType:
    """The table of levels, what is wrong with a remedy for each, and the verdict last, where the eye is."""
    first = Column("symptom" if audit.kind == "health" else "level", no_wrap=True)
    columns = (first, Column("question", overflow=NAMES), "outcome", Column("evidence", overflow=NAMES))
    shown = Table(*columns, title=f"Audit of {audit.kind}: {unmarked(audit.subject)}", title_justify="left")
    for one in audit.findings:
        outcome = f"[{COLOUR[one.outcome][0]}]{one.outcome}[/]"
        shown.add_row(one.level, unmarked(one.question), outcome, unmarked(one.evidence))
    advice = [f"{one.level}: {unmarked(_advice(one))}" for one in audit.findings if _advice(one)]
    facts = [f"[dim]{name}: {unmarked(text)}[/]" for name, text in audit.facts.items()]
    verdict = f"[{COLOUR[VERDICT[audit.code]][0]}]{unmarked(audit.verdict)}[/]: {unmarked(audit.summary)}"
    return Group(shown, *advice, *facts, verdict)


def _advice(finding: Finding) -> str:
    return " ".join(text for text in (finding.meaning, finding.remedy) if text)


def html_page(audit: Audit) -> str:
    advised = any(map(_advice, audit.findings))
    head = ["symptom" if audit.kind == "health" else "level", "question", "outcome", "evidence"]
    head += ["what it means, what to do"] * advised
    rows = "".join(_row(one, advised) for one in audit.findings)
    shown = "".join(f"<h2>{escape(one.title)}</h2>{picture(one.title, one.png)}" for one in audit.pictures)
    again = f"<p>Again:</p>{command(audit.command)}" if audit.command else ""
    body = f"""<p class="verdict" style="color:{COLOUR[VERDICT[audit.code]][1]}">{escape(audit.verdict)}</p>
<p>{marked(audit.summary)}</p>
<div class="wide"><table><tr>{"".join(f"<th>{word}</th>" for word in head)}</tr>{rows}</table></div>
{shown}
<h2>How it was done</h2>
{table(["fact", "value"], [[name, text] for name, text in audit.facts.items()])}{again}"""
    return document(f"Audit of {audit.kind}: {audit.subject}", body, OWN_STYLE)


def _row(one: Finding, advised: bool) -> str:
    outcome = f'<td class="outcome" style="color:{COLOUR[one.outcome][1]}">{one.outcome}</td>'
    told = [one.evidence, *[_advice(one)] * advised]
    asked = f'<td class="short">{escape(one.level)}</td><td>{marked(one.question)}</td>'
    return f"<tr>{asked}{outcome}{''.join(f'<td>{marked(text)}</td>' for text in told)}</tr>"
