"""What a run's last evaluation showed, read back from what it left. No JAX."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sparring.evaluation.deploy import Deployment, Evidence, deployment
from sparring.evaluation.exploited import newest
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, SideScore
from sparring.statistics.intervals import Interval, Moments, mean_of
from sparring.store.results import ResultRow, read_results
from sparring.store.run_dir import RunDir


def last_scores(rows: Sequence[ResultRow], manifest: Mapping[str, Any]) -> list[SideScore]:
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
    counts = (games, wins, draws, losses, sum(row.length_sum for row in rows) / games)
    returns = tuple(from_sums(row.return_sum, row.return_square_sum, row.games) for row in rows)
    won = [(row.wins + row.draws / 2, row.wins + row.draws / 4, row.games) for row in rows if judged_by == "outcome"]
    first = rows[0]
    scores = tuple(from_sums(*sums) for sums in won)
    return SideScore(first.side, first.player, first.opponent, *counts, returns, scores)


def from_sums(total: float, squares: float, count: int) -> Moments:
    """From the sum of values and that of their squares."""
    mean = total / count
    return Moments(mean, max(squares - count * mean**2, 0.0) / max(count - 1, 1), count)


def deployed(run: RunDir) -> Deployment:
    """Which of its policies a run recommends, by its last evaluation and by what was won of them since."""
    manifest, lines = run.read_manifest(), run.metrics()
    scores = last_scores(read_results(run.results_path, "eval"), manifest) if run.results_path.exists() else []
    return deployment(Evidence(tuple(scores), exact_of(lines), bounds_of(run.exploits()), bool(manifest.get("alike"))))


def exact_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Exact exploitability in the last evaluation, by team, for every seed."""
    last = {line["seed"]: line for line in lines if line["kind"] == "eval"}
    keys = {LEARNED: "exploitability", **{team: f"exploitability/{team}" for team in (SHADOW, MIXTURE)}}
    found = {
        team: tuple(line[key] for line in last.values() if line.get(key) is not None) for team, key in keys.items()
    }
    return {team: values for team, values in found.items() if values and len(values) == len(last)}


def bounds_of(exploits: Sequence[Mapping[str, Any]]) -> dict[str, Interval]:
    """What responses of one budget won of each team in its newest state, the mean over seeds."""
    trained = [line for line in newest(exploits).values() if line["by"] == "response" and line.get("low") is not None]
    last = max((line["iteration"] for line in trained), default=None)
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in trained:
        if line["iteration"] == last and not line["player"].startswith("past-"):
            found[team_of(line["player"])].append(line)
    budgets = {(line.get("budget"), line.get("attempts")) for own in found.values() for line in own}
    if len(budgets) != 1:
        return {}
    bounds = {team: [Interval(o["exploitability"], o["low"], o["high"], 1) for o in own] for team, own in found.items()}
    return {team: mean_of(own) for team, own in bounds.items()}


def team_of(player: str) -> str:
    return MIXTURE if player == MIXTURE else SHADOW if player.endswith(f".{SHADOW}") else LEARNED
