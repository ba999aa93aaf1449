"""A comparison of regimes as one HTML file: what it shows, the picture, the tables, and what their words mean."""

from html import escape

from rich.table import Table

from sparring.evaluation.regimes import Comparison
from sparring.reports.comparison import cost_table, equal_time_table, explanation, seeds_text, strength_table
from sparring.reports.html import command, definitions, document, marked, picture, table
from sparring.reports.judgement import judgement


def comparison_page(comparison: Comparison, png: bytes, advice: str, advised: str, again: str) -> str:
    """`advice` in words, and a command that is `advised`; one of the two may be empty."""
    shown = [strength_table(comparison), *[equal_time_table(comparison)] * (comparison.clock is not None)]
    said = "".join(f"<p>{marked(sentence)}</p>" for sentence in judgement(comparison))
    words = (
        (word, marked(text.strip())) for word, _, text in (line.partition("  ") for line in explanation(comparison))
    )
    advice = marked(advice) + (command(advised) if advised else "")
    body = f"""{definitions((("What it shows", said), ("What to do next", advice)))}
{picture("a panel for each figure, a row for each regime", png, panels=True)}
{"".join(map(_section, [*shown, cost_table(comparison)]))}
<details><summary>What the figures are</summary>{definitions(words)}</details>
<p>Again, or to go on where it stopped:</p>{command(again)}"""
    return document(f"Comparison on {comparison.game}, {seeds_text(comparison.seeds)}", body)


def _section(found: Table) -> str:
    """A table of the terminal as a section of the page."""
    rows = zip(*(map(str, column.cells) for column in found.columns), strict=True)
    return f"<h2>{escape(str(found.title))}</h2>{table([str(column.header) for column in found.columns], [*rows])}"
