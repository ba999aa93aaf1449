"""The report of a run: one HTML file that needs nothing else but replays that it links, and its picture as a file."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sparring.core.code import naming
from sparring.core.errors import RunError
from sparring.evaluation.advice import more_games
from sparring.evaluation.scoring import UNTRAINED, SideScore
from sparring.evaluation.stored import deployed, last_scores, scores_at, verdict_of
from sparring.reports.curves import draw_curves
from sparring.reports.exploits import kept_rows
from sparring.reports.html import command, definitions, document, marked, table
from sparring.reports.html import picture as shown
from sparring.reports.tables import full_rows, legend, summary_rows
from sparring.store.durable import replace_file
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir

FORMAT = ("format", "format_version")
"""Facts that only the store needs."""


class ReportFiles(NamedTuple):
    page: Path
    curves: Path


def write_report(run: RunDir) -> ReportFiles:
    """Draw the curves and write the page; both only read what the run left."""
    manifest, lines = run.read_manifest(), run.metrics()
    files = ReportFiles(run.report_path, run.path / "curves.png")
    scores = last_scores(read_results(run.results_path), manifest)
    picture = draw_curves(lines, manifest, run.timing())
    text = page(run, manifest, lines, picture, scores)
    for path, data in ((files.curves, picture), (files.page, text.encode())):
        try:
            replace_file(path, data)
        except OSError as error:
            raise RunError(
                f"Cannot write {path}: {error.strerror}. The run itself is whole: look at it with "
                f"`sparring eval {run.path}`."
            ) from error
    return files


def page(
    run: RunDir, manifest: dict[str, Any], lines: Sequence[dict[str, Any]], picture: bytes, scores: list[SideScore]
) -> str:
    done = max((line["iteration"] + 1 for line in lines if line["kind"] == "train"), default=0)
    several, each = (f"{manifest['seeds']} seeds", " each") if manifest["seeds"] > 1 else ("One seed", "")
    per, learners = manifest["steps_per_iteration"], manifest["learners"]
    named = f" Learners: {escape(', '.join(learners))}." * (len(learners) > 1)
    body = f"""<p>{several} trained for {done * per:,} steps{each}: {done:,} iterations of {per:,}.{named}</p>
{conclusion(run)}
{shown("curves of training, evaluation and health", picture, panels=True)}
<h2>Evaluation</h2>
{evaluation(run, manifest, scores)}
{weaknesses(run)}
{told(lines)}
{replays(run, manifest)}
<details><summary>All settings (config.toml)</summary>
<pre>{escape(run.config_path.read_text(encoding="utf-8", errors="replace"))}</pre></details>
<details><summary>The machine and the versions it was made with</summary>
{table(["fact", "value"], fact_rows(manifest))}</details>"""
    return document(f"{run.path.name}: {manifest['game']}", body)


def conclusion(run: RunDir) -> str:
    """What was learned, how sure that is, and what to do next."""
    said = verdict_of(run)
    return definitions(
        (
            ("What was learned", marked(said.learned)),
            ("How sure that is", marked(said.sure)),
            ("What to do next", marked(said.next) + (command(said.command) if said.command else "")),
        )
    )


def evaluation(run: RunDir, manifest: dict[str, Any], scores: list[SideScore]) -> str:
    if not scores:
        first = command(f"sparring eval {run.path}{naming(manifest)}")
        return f"<p>None yet: the run was stopped before its first evaluation, or has none.</p>{first}"
    more = command(f"sparring eval {run.path} --games {more_games(scores, manifest['seeds'])}{naming(manifest)}")
    before = scores_at(read_results(run.results_path, "eval"), UNTRAINED, manifest)
    header, rows = summary_rows(scores, manifest, before)
    best = " The best bot is the one that did best in the learner's place." * any("bot" in name for name in header)
    return f"""<p class="note">Complete games apart from training, {escape(legend(scores, manifest))}{best}</p>
{table(header, rows)}
<p>More games:</p>{more}
<details><summary>All line-ups, the bots alone among them</summary>{table(*full_rows(scores, manifest))}</details>"""


def weaknesses(run: RunDir) -> str:
    """Which policy to deploy and why, and what was found to be won from them."""
    verdict, lines = deployed(run), run.exploits()
    said = f"<p>{escape(verdict.sentence())} By name: <code>{escape(f'{run.path}:deployed')}</code></p>"
    found = f"""<h2>What can be won from it</h2><p class="note">Exploitability, in units of return: exact, or (≥) at
least what trained responses won in games that did not choose them.</p>{table(*kept_rows(lines))}"""
    return said * verdict.chosen + found * bool(lines)


def replays(run: RunDir, manifest: dict[str, Any]) -> str:
    """The games that were drawn, or how to draw one."""
    if not manifest.get("watchable"):
        return ""
    found = sorted((run.path / "replays").glob("*.gif"))
    links = "".join(
        f'<p><a href="replays/{quote(one.name)}">{escape(one.name)}</a><br>'
        f'<img alt="a game" loading="lazy" src="replays/{quote(one.name)}"></p>'
        for one in found
    )
    draw = command(f"sparring replay {run.path}{naming(manifest)}")
    return f"<h2>To watch</h2>{links}<p>{'Another' if found else 'Draw a'} game:</p>{draw}"


def told(lines: Sequence[dict[str, Any]]) -> str:
    """What the run told while it went on, if anything."""
    rows = [
        [str(line["iteration"] + 1), str(line["seed"]), line["learner"], line["text"]]
        for line in lines
        if line["kind"] == "notice"
    ]
    return f"<h2>Notices</h2>{table(['iteration', 'seed', 'learner', 'notice'], rows)}" if rows else ""


def fact_rows(manifest: dict[str, Any]) -> list[list[str]]:
    """Facts as texts, packages one by one."""
    plain = {key: value for key, value in manifest.items() if not isinstance(value, list | dict) and key not in FORMAT}
    return [[key, str(value)] for key, value in {**plain, **manifest.get("packages", {})}.items()]
