"""Tables for people, and the same numbers for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from rich.table import Table

from sparring.evaluation.scoring import SideScore
from sparring.statistics.intervals import Interval


def score_rows(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the evaluation table: what learned comes first, then the bots alone as a yardstick."""
    sides, won = manifest["sides"], any(score.points is not None for score in scores)
    versus = any(score.opponents for score in scores)
    header = ["side", "driven by"] + ["against"] * versus + ["games", "return of a seat, 95 %"] + ["points, 95 %"] * won
    rows = []
    for score in sorted(scores, key=lambda s: ("learned" not in (s.team, *s.opponents.split(", ")), s.side)):
        row = [sides[score.side], score.team] + [score.opponents] * versus
        row += [str(score.games), interval_text(score.mean_return)]
        if won:
            row.append(interval_text(score.points) if score.points else "")
        rows.append(row)
    return header, rows


def score_table(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> Table:
    header, rows = score_rows(scores, manifest)
    over = "the mean over seeds" if manifest["seeds"] > 1 else "the mean over games"
    table = Table(title=f"Evaluation on {manifest['game']}", caption=f"Intervals are of {over}.")
    for name in header:
        table.add_column(name, justify="right" if name == "games" or "%" in name else "left")
    for row in rows:
        learned = "learned" in row[1:3]
        table.add_row(*row, style="bold" if learned else "dim")
    return table


def interval_text(interval: Interval) -> str:
    if isnan(interval.low):
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def scores_json(scores: Sequence[SideScore]) -> list[dict[str, Any]]:
    """Plain data; unknown bounds are null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return None if isinstance(value, float) and isnan(value) else value

    return [plain(asdict(score)) for score in scores]
