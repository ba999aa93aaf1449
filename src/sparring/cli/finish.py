"""How a training command ends: a table, a picture, a report, and what to do next."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from sparring.reports.page import ReportFiles, write_report
from sparring.reports.tables import score_table, scores_json
from sparring.store.run_dir import RunDir
from sparring.training.train import Summary


def conclude(path: Path, summary: Summary, *, as_json: bool) -> None:
    run = RunDir.open(path)
    files = write_report(run)
    if as_json:
        print(json.dumps(result(path, summary, files)))
        return
    if summary.finished:
        Console().print(score_table(summary.scores, run.read_manifest(), summary.before))
    for team, values in summary.exploitability.items():
        print(f"Exploitability of the {team} policy (0 is a Nash equilibrium): {sum(values) / len(values):.4f}")
    print(f"picture  {files.curves}\nreport   {files.page}")
    if summary.finished:
        print(f"next     sparring eval {path} --games 500")
        facts = run.read_manifest()
        if facts.get("alike") and facts["score"] == "return" and facts["seeds"] > 1:
            print(f"         sparring tournament {path}#all")  # whether the seeds found one convention
        if facts.get("watchable"):
            print(f"         sparring replay {path}")
    else:
        print(f"Stopped after iteration {summary.iteration}; nothing is lost. Go on: sparring resume {path}")


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
