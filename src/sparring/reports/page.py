"""The report of a run: one HTML file that needs nothing else, and the picture in it as a file of its own."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from scipy.special import stdtrit

from sparring.evaluation.scoring import SideScore
from sparring.reports.curves import draw_curves
from sparring.reports.tables import score_rows
from sparring.statistics.intervals import Interval, mean_interval, wilson
from sparring.store.results import ResultRow, read_results
from sparring.store.run_dir import RunDir

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .25rem .8rem; text-align: left }
tr:nth-child(even) { background: #f4f6f8 } th { border-bottom: 2px solid #888 } img { max-width: 100% }
pre { background: #f4f6f8; padding: 1rem; overflow: auto } .note { color: #666 }
"""


class ReportFiles(NamedTuple):
    page: Path
    curves: Path


def write_report(run: RunDir) -> ReportFiles:
    """Draw the curves and write the page; both only read the run directory."""
    manifest, lines = run.read_manifest(), run.metrics()
    picture = run.path / "curves.png"
    draw_curves(lines, manifest, picture)
    run.write_text(run.report_path, page(run, manifest, picture, last_scores(read_results(run.results_path), manifest)))
    return ReportFiles(run.report_path, picture)


def last_scores(rows: Sequence[ResultRow], manifest: dict[str, Any]) -> list[SideScore]:
    """The scores of the newest evaluation, from the stored sums."""
    evaluated = [row for row in rows if row.kind == "eval"]
    newest = max((row.iteration for row in evaluated), default=None)
    groups: dict[tuple, list[ResultRow]] = defaultdict(list)
    for row in evaluated:
        if row.iteration == newest:
            groups[row.side, row.player, row.opponent].append(row)
    return [score_of(group, manifest["score"]) for group in groups.values()]


def score_of(rows: Sequence[ResultRow], judged_by: str) -> SideScore:
    """Several rows are several seeds."""
    games, wins = sum(row.games for row in rows), sum(row.wins for row in rows)
    draws, losses = sum(row.draws for row in rows), sum(row.losses for row in rows)
    mean = mean_interval([row.return_sum / row.games for row in rows]) if len(rows) > 1 else from_sums(rows[0])
    length = sum(row.length_sum for row in rows) / games
    points = wilson(wins + draws / 2, games) if judged_by == "outcome" else None
    first = rows[0]
    return SideScore(first.side, first.player, first.opponent, games, wins, draws, losses, length, mean, points)


def from_sums(row: ResultRow) -> Interval:
    """Student's interval of the mean from count, sum and sum of squares."""
    mean = row.return_sum / row.games
    if row.games < 2:
        return mean_interval([mean])
    variance = max(row.return_square_sum - row.games * mean**2, 0.0) / (row.games - 1)
    half = float(stdtrit(row.games - 1, 0.975)) * sqrt(variance / row.games)
    return Interval(mean, mean - half, mean + half, row.games)


def page(run: RunDir, manifest: dict[str, Any], picture: Path, scores: list[SideScore]) -> str:
    header, rows = score_rows(scores, manifest) if scores else ([], [])
    encoded = b64encode(picture.read_bytes()).decode()
    facts = {key: value for key, value in manifest.items() if not isinstance(value, list | dict)}
    title = f"{escape(run.path.name)}: {escape(str(manifest['game']))}"
    resumed = f"sparring eval {escape(str(run.path))}"
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{STYLE}</style></head>
<body><h1>{title}</h1>
<p>{manifest["iterations"]:,} iterations of {manifest["steps_per_iteration"]:,} steps, {manifest["seeds"]} seed(s),
learners: {escape(", ".join(manifest["learners"]))}.</p>
<img alt="curves of training, evaluation and health" src="data:image/png;base64,{encoded}">
<h2>Evaluation</h2>
<p class="note">Complete games apart from training. Rows without a learned player are a yardstick. More games:
<code>{resumed} --games 1000</code></p>
{table(header, rows)}
<h2>Made with</h2>{table(["fact", "value"], [[key, str(value)] for key, value in facts.items()])}
<h2>Settings</h2><pre>{escape(run.config_path.read_text(encoding="utf-8"))}</pre>
</body></html>
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
