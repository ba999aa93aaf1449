"""Metrics of a run as series, and as pictures made of letters. No JAX, no drawing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from rich.table import Table
from rich.text import Text

from sparring.core.errors import ConfigError
from sparring.core.names import near_names
from sparring.store.lines import series

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH, ROWS = 14, 12
"""Letters of a small picture, and rows of a table of values."""
Lines = Sequence[Mapping[str, Any]]


def chosen(lines: Lines, wanted: Sequence[str]) -> list[str]:
    """The metrics that are meant: by their whole name, by a pattern such as 'learner/*', or by a part of it."""
    known = sorted({name for line in lines for name in line} - {"kind", "iteration", "seed", "steps"})
    found: list[str] = []
    for word in wanted:
        own = [name for name in known if fnmatchcase(name, word)] or [name for name in known if word in name]
        found += [name for name in own if name not in found]
    if wanted and not found:
        raise ConfigError(" ".join(unheard(word, known) for word in wanted))
    return found if wanted else known


def unheard(word: str, known: Sequence[str]) -> str:
    """The sentence for a name that is no metric: why, the nearest, or what groups there are."""
    if word.startswith("exploitability"):
        return "This run has no exact exploitability: `sparring exploit RUN` measures it."
    if near := near_names(word, [*known, *{name.rpartition("/")[2] for name in known}], cutoff=0.7):
        return f"Unknown metric {word!r}. Did you mean {near[0]!r}?"
    groups = Counter(name.partition("/")[0] + "/*" * ("/" in name) for name in known)
    told = ", ".join(f"{group} ({count})" if count > 1 else group for group, count in sorted(groups.items()))
    return f"Unknown metric {word!r}. Known: {told}. Those of a group: sparring metrics RUN 'GROUP/*'."


def unmet(lines: Lines, wanted: Sequence[str]) -> list[str]:
    """Sentences for those of the wanted names that no metric has, where others are found."""
    known = sorted({name for line in lines for name in line})
    return [
        unheard(word, known) for word in wanted if not any(fnmatchcase(name, word) or word in name for name in known)
    ]


def changing(lines: Lines, names: Sequence[str]) -> list[str]:
    """Those that have more than one value."""
    return [name for name in names if len(set(series(lines, name)[1])) > 1]


def spark(values: Sequence[float], width: int = WIDTH) -> str:
    """A line of blocks, from the least value to the largest; stretches are averaged."""
    size = max(1, -(-len(values) // width))
    means = [sum(part) / len(part) for first in range(0, len(values), size) if (part := values[first : first + size])]
    low, high = min(means), max(means)
    return "".join(BLOCKS[round((x - low) / (high - low) * (len(BLOCKS) - 1)) if high > low else 3] for x in means)


def series_table(lines: Lines, names: Sequence[str]) -> Table:
    """A row for each metric: where it began, where it is, its range and its trend."""
    made = Table(box=None)
    made.add_column("metric", no_wrap=True, min_width=max(map(len, names), default=0))
    for header in ("first", "last", "lowest", "highest"):
        made.add_column(header, justify="right", no_wrap=True)
    made.add_column("trend", no_wrap=True)
    for name in names:
        _, values = series(lines, name)
        if values:
            figures = (values[0], values[-1], min(values), max(values))
            made.add_row(Text(name), *(f"{x:.3g}" for x in figures), spark(values))
    return made


def value_table(lines: Lines, name: str) -> Table:
    """A dozen values of one metric over the run, each the mean of a stretch."""
    steps, values = series(lines, name)
    made = Table("steps", name, box=None)
    size = max(1, -(-len(steps) // ROWS))
    for first in range(0, len(steps), size):
        part = values[first : first + size]
        made.add_row(f"{steps[min(first + size, len(steps)) - 1]:,}", f"{sum(part) / len(part):.5g}")
    return made
