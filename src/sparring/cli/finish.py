"""How a training command ends: a table, a picture, a report, and what to do next."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from sparring.cli.main import STOPPED
from sparring.cli.notes import note
from sparring.core.code import naming
from sparring.evaluation.stored import deployed, untrained_scores, verdict_of
from sparring.games import registry
from sparring.reports.page import ReportFiles, write_report
from sparring.reports.tables import fitted, score_table, scores_json
from sparring.store.fingerprint import coincidences
from sparring.store.run_dir import RunDir
from sparring.training.train import Summary

STAGES = ("step", "wait", "infer", "update")
"""Where the time of an iteration goes that plays in workers: see docs/guide/your-environment.md."""
AFTERWARDS = ("evaluation", "no_gain", "exploitable", "blind_critic")
"""Notices of the last evaluation, when nobody watches any more."""
WIDEST = 100
"""Letters of a line of text, however wide the terminal."""


def conclude(path: Path, summary: Summary, *, as_json: bool) -> int:
    """Tell how it ended; the exit code."""
    code = 0 if summary.finished else STOPPED
    run = RunDir.open(path)
    summary = replace(summary, before=summary.before or untrained_scores(run))  # of a resumed run, from before
    files, choice, verdict = write_report(run), deployed(run), verdict_of(run)
    for sentence in coincidences(path, sorted(path.parent.iterdir()), registry.spelled_out):
        note(f"{sentence}.")
    if as_json:
        print(json.dumps({**result(path, summary, files), "deploy": choice.plain(), "verdict": verdict.plain()}))
        return code
    console = Console()
    if summary.scores:
        console.print(
            fitted(score_table(summary.scores, run.read_manifest(), summary.before, console.width), console.width)
        )
    for line in run.metrics():
        if line["kind"] == "notice" and line["notice"] in AFTERWARDS and line["iteration"] == summary.iteration - 1:
            print(f"notice   {line['text']}")
    facts = run.read_manifest()
    named = naming(facts)
    if choice.chosen:
        print(f"{choice.sentence()} By name: {path}:deployed")
    if words := where_time_went(run.timing()):
        print(f"workers  {words}")
    print(f"picture  {files.curves}\nreport   {files.page}")
    if summary.finished and facts.get("watchable"):
        print(f"watch    sparring replay {path}{named}")
    contest = facts["score"] == "outcome" or facts.get("zero_sum")
    if summary.finished and facts.get("alike") and not contest and facts["seeds"] > 1:
        print(f"meet     sparring tournament {path}#all{named}")  # whether the seeds found one convention
    told = f"\n{verdict.text(min(console.width, WIDEST))}"
    stopped = f"Stopped after iteration {summary.iteration}, exit code {code}; nothing is lost."
    print(told)
    if not summary.finished:
        print(f"\n{stopped} Go on: sparring resume {path}{named}")
    return code


def where_time_went(timing: list[dict[str, Any]]) -> str:
    """Of runs with workers: the share of each stage, and the memory of the largest worker; else nothing."""
    known = [line for line in timing[1:] if "step" in line]  # the first iteration compiles
    total = sum(line[stage] for line in known for stage in STAGES)
    if not total:
        return ""
    shares = ", ".join(f"{stage} {sum(line[stage] for line in known) / total:.0%}" for stage in STAGES)
    memory = [value for key, value in known[-1].items() if key.startswith("memory/")]
    return f"{len(memory)}, up to {max(memory):z.0f} MiB each; time: {shares}"


def result(path: Path, summary: Summary, files: ReportFiles) -> dict[str, Any]:
    return {
        "run": str(path),
        "iteration": summary.iteration,
        "finished": summary.finished,
        "compilations": summary.compilations,
        "exploitability": summary.exploitability,
        "scores": scores_json(summary.scores),
        "untrained": scores_json(summary.before),
        "report": str(files.page),
        "picture": str(files.curves),
    }
