"""An audit for people: a page in the terminal, and one HTML file with its pictures inside."""

import re
from base64 import b64encode
from html import escape

from rich.console import Group, RenderableType
from rich.markup import escape as unmarked
from rich.table import Column, Table

from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Finding, Outcome
from sparring.reports.page import STYLE, table
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
td { vertical-align: top } .flag { white-space: nowrap } code { overflow-wrap: anywhere }
.verdict { font-size: 1.3rem; font-weight: 600 } td.outcome { font-weight: 600; white-space: nowrap }
"""


def terminal_page(audit: Audit) -> RenderableType:
    """The table of levels, what is wrong with a remedy for each, and the verdict last, where the eye is."""
    columns = (Column("level", no_wrap=True), Column("question", overflow=NAMES), "outcome", "evidence")
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
    title = escape(f"Audit of {audit.kind}: {audit.subject}")
    rows = "".join(_row(one) for one in audit.findings)
    drawn = ((escape(one.title), b64encode(one.png).decode()) for one in audit.pictures)
    pictures = "".join(f'<h2>{t}</h2><img alt="{t}" src="data:image/png;base64,{png}">' for t, png in drawn)
    again = f"<p>Again: <code>{escape(audit.command)}</code></p>" if audit.command else ""
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{STYLE}{OWN_STYLE}</style></head>
<body><h1>{title}</h1>
<p class="verdict" style="color:{COLOUR[VERDICT[audit.code]][1]}">{escape(audit.verdict)}</p>
<p>{escape(audit.summary)}</p>
<table><tr><th>level</th><th>question</th><th>outcome</th><th>evidence</th><th>what it means, what to do</th></tr>{rows}
</table>
{pictures}
<h2>How it was done</h2>
{table(["fact", "value"], [[name, text] for name, text in audit.facts.items()])}{again}
</body></html>
"""


def _row(one: Finding) -> str:
    outcome = f'<td class="outcome" style="color:{COLOUR[one.outcome][1]}">{one.outcome}</td>'
    asked, told = f"<td>{escape(one.level)}</td><td>{escape(one.question)}</td>", (one.evidence, _advice(one))
    return f"<tr>{asked}{outcome}{''.join(f'<td>{_marked(text)}</td>' for text in told)}</tr>"


def _marked(text: str) -> str:
    """Flags are never broken at their hyphens."""
    return re.sub(r"--[\w-]+", r'<span class="flag">\g<0></span>', escape(text))
