"""What pages are made of: one HTML file with its pictures inside, to be read in a narrow window and by night too."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a page without pictures loads no matplotlib
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light; background: #fff }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1, p, dd, li { overflow-wrap: anywhere } .wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .25rem .8rem; text-align: left; vertical-align: top } td.short, .flag { white-space: nowrap }
tr:nth-child(even) { background: #f4f6f8 } th { border-bottom: 2px solid #888; vertical-align: bottom }
img { max-width: 100% } pre { background: #f4f6f8; padding: 1rem; overflow: auto } .note { color: #666 }
code.command { display: block; white-space: pre; overflow-x: auto; background: #eef1f4; padding: .3rem .6rem }
dl { border-left: 4px solid #1d62d1; background: #f4f8ff; padding: .6rem 1rem } dt { font-weight: 600 }
dd { margin: 0 0 .4rem 0 } summary { cursor: pointer; margin: .4rem 0 }
@media (max-width: 700px) { img.panels { max-width: none; width: 800px } td, th { padding: .25rem .4rem } }
"""
SHORT = 24
"""Letters of a cell that stays in one line: a figure with its interval is never parted."""


def document(title: str, body: str, style: str = "") -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{STYLE}{style}</style></head>
<body><h1>{escape(title)}</h1>
{body}
</body></html>
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Where a window is too narrow for it, the table is moved sideways and the page is not."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(_cell(text) for text in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _cell(text: str) -> str:
    return f"<td{' class=short' * (len(text) <= SHORT)}>{marked(text)}</td>"


def marked(text: str) -> str:
    """Flags are never broken at their hyphens."""
    return re.sub(r"--[\w-]+", r'<span class="flag">\g<0></span>', escape(text))


def png(figure: "Figure") -> bytes:
    """The figure as a file, which is the same for the same data."""
    data = BytesIO()
    figure.savefig(data, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    return data.getvalue()


def picture(what: str, png: bytes, *, panels: bool = False) -> str:
    """`what` is read out to those who do not see it. One of many panels keeps its size and is moved sideways."""
    kind, data = " class=panels" * panels, b64encode(png).decode()
    return f'<div class="wide"><img{kind} alt="{escape(what)}" src="data:image/png;base64,{data}"></div>'


def command(words: str) -> str:
    """To be copied: never broken at its hyphens."""
    return f'<code class="command">{escape(words)}</code>'


def definitions(said: Iterable[tuple[str, str]]) -> str:
    """Words with what they mean; the meanings are HTML."""
    return f"<dl>{''.join(f'<dt>{escape(word)}</dt><dd>{text}</dd>' for word, text in said)}</dl>"
