"""What a run's last evaluation showed, read back from what it left. No JAX."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sparring.core.schedules import Schedule
from sparring.evaluation.deploy import Deployment, Evidence, deployment
from sparring.evaluation.exploited import newest
from sparring.evaluation.findings import Findings, Opposed
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, UNTRAINED, SideScore
from sparring.evaluation.standing import falls
from sparring.evaluation.verdict import Verdict, verdict
from sparring.games.balance import SHORT
from sparring.statistics.intervals import Interval, Moments, mean_of
from sparring.store.results import ResultRow, read_results
from sparring.store.run_dir import RunDir


def last_scores(rows: Sequence[ResultRow], manifest: Mapping[str, Any]) -> list[SideScore]:
    """The scores of the newest evaluation after some training, from the stored sums."""
    newest = max((row.iteration for row in rows if row.kind == "eval"), default=UNTRAINED)
    return scores_at(rows, newest, manifest) if newest != UNTRAINED else []


def untrained_scores(run: RunDir) -> list[SideScore]:
    """The scores of the evaluation before training; none where there was none."""
    rows = read_results(run.results_path, "eval") if run.results_path.exists() else []
    return scores_at(rows, UNTRAINED, run.read_manifest())


def scores_at(rows: Sequence[ResultRow], iteration: int, manifest: Mapping[str, Any]) -> list[SideScore]:
    """The scores of the evaluation after an iteration; none where there was none."""
    groups: dict[tuple, list[ResultRow]] = defaultdict(list)
    for row in rows:
        if row.kind == "eval" and row.iteration == iteration:
            groups[row.side, row.player, row.opponent].append(row)
    return [score_of(group, manifest["score"]) for group in groups.values()]


def verdict_of(run: RunDir) -> Verdict:
    """What a run learned, as far as its files tell."""
    return verdict(findings_of(run))


def findings_of(run: RunDir, newest: Sequence[Mapping[str, Any]] = ()) -> Findings:
    """What the files of a run tell of it; `newest`: lines that are yet to be written."""
    facts, lines = run.read_manifest(), [*run.metrics(), *newest]
    rows = read_results(run.results_path, "eval") if run.results_path.exists() else []
    done = max((line["iteration"] + 1 for line in lines if line["kind"] == "train"), default=0)
    known = sorted({row.iteration for row in rows if row.iteration != UNTRAINED})
    last, half = max(known, default=UNTRAINED), max((i for i in known if 2 * (i + 1) <= done), default=UNTRAINED)
    exact = {i: exact_at(lines, i) for i in (*known, last, half, UNTRAINED)}
    team = MIXTURE if MIXTURE in exact[last] else LEARNED
    scores = {i: scores_at(rows, i, facts) for i in (UNTRAINED, *known)}
    return Findings(
        run=str(run.path), facts=facts, finished=done >= facts["iterations"], bounds=bounds_of(run.exploits()),
        steps=facts.get("total_steps", facts["iterations"] * facts["steps_per_iteration"]),
        scores=scores[last] if known else (), before=scores[UNTRAINED], half=scores[half] if half != UNTRAINED else (),
        exact=exact[last] if known else {}, exact_before=exact[UNTRAINED].get(LEARNED),
        exact_half=exact[half] if half != UNTRAINED else {}, exact_since=[exact[i] for i in known if half < i < last],
        notices=[line["notice"] for line in lines if line["kind"] == "notice"],
        falls=falls(scores, facts) if known else (), per_iteration=facts["steps_per_iteration"],
        curve={i: exact[i][team] for i in known if i != last and team in exact[i]},
        kept=kept_policies(run, facts["steps_per_iteration"]), opposed=opposed(run.settings(), facts.get("longest", 0)),
    )  # fmt: skip


def kept_policies(run: RunDir, per_iteration: int) -> dict[int, str]:
    """The earlier policies of a run that can still be named, by the steps after which they were taken: its checkpoints
    and, of one seed, its past selves."""
    checkpoints = (int(path.name) for path in run.checkpoints_path.glob("[0-9]*") if path.name.isdecimal())
    past = (path.stem for path in run.players_path.glob("past-*.safetensors"))
    taken = {int(name.removeprefix("past-")): name for name in past if name.removeprefix("past-").isdecimal()}
    found = {steps: f"{run.path}:{name}" for steps, name in taken.items()}
    return found | {number * per_iteration: f"{run.path}@{number}" for number in checkpoints}


def opposed(settings: Mapping[str, Any], longest: int) -> Opposed:
    """What advice depends on, from the settings of a run as its file has them and the steps of its longest game."""

    def used(table: str, *names: str) -> bool:
        own = settings.get(table, {})
        return any(Schedule.parse(own[name]) != Schedule.parse(0.0) for name in names if name in own)

    return Opposed(
        long=longest > SHORT,
        magnet=used("ppo", "anchor", "anchor_price"),
        past=used("opponents", "history", "history_floor") or bool(settings.get("roles", {}).get("mains")),
        bots=used("opponents", "bots", "bot_floor"),
    )


def exact_at(lines: Sequence[Mapping[str, Any]], iteration: int) -> dict[str, float]:
    """Exact exploitability in the evaluation after an iteration, by team, the mean over seeds."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        for key, value in line.items() if line["kind"] == "eval" and line["iteration"] == iteration else ():
            name, _, team = key.partition("/")
            if name == "exploitability" and value is not None:
                found[team or LEARNED].append(value)
    return {team: sum(values) / len(values) for team, values in found.items()}


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
    """Which of its policies a run recommends, by its last evaluation and by what was won from them since."""
    manifest, lines = run.read_manifest(), run.metrics()
    scores = last_scores(read_results(run.results_path, "eval"), manifest) if run.results_path.exists() else []
    return deployment(Evidence(tuple(scores), exact_of(lines), bounds_of(run.exploits()), bool(manifest.get("alike"))))


def exact_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Exact exploitability in the last evaluation, by team, for every seed."""
    last = {line["seed"]: line for line in lines if line["kind"] == "eval" and line.get("iteration") != UNTRAINED}
    keys = {LEARNED: "exploitability", **{team: f"exploitability/{team}" for team in (SHADOW, MIXTURE)}}
    found = {
        team: tuple(line[key] for line in last.values() if line.get(key) is not None) for team, key in keys.items()
    }
    return {team: values for team, values in found.items() if values and len(values) == len(last)}


def bounds_of(exploits: Sequence[Mapping[str, Any]]) -> dict[str, Interval]:
    """What responses of one budget won from each team in its newest state, the mean over seeds."""
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
