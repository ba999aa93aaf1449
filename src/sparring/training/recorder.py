"""Writes down what happens in a run: metrics, events, notices, results, and minibatches that were not finite."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax

from sparring.evaluation.match import MatchGames
from sparring.evaluation.scoring import UNTRAINED, score_sides
from sparring.evaluation.stored import findings_of
from sparring.games.outside import leases_in
from sparring.games.trial import is_key
from sparring.league.events import Event
from sparring.play.faults import Exhibit
from sparring.setup.build import Built
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import Report
from sparring.store.fingerprint import UPDATES, fingerprint
from sparring.store.results import ResultRow, Results
from sparring.store.run_dir import RunDir
from sparring.training.notices import EVERYBODY, evaluation_notices, noticed, notices, unsaid
from sparring.training.opposition import Faced
from sparring.training.record import evaluation_lines, evaluation_rows, metric_lines, result_rows
from sparring.training.trends import fall_notices, gain_notices, trend_notices


class Elapsed(NamedTuple):
    """What an iteration took."""

    seconds: float
    clocks: Mapping[str, float]
    """Of workers: where it went."""


@dataclass
class Recorder:
    """Writes what happened to the run directory; results wait for a moment, since each append reaches the disk."""

    built: Built
    run: RunDir
    results: Results
    told: Callable[[Sequence[Mapping[str, Any]]], None] = lambda _: None
    """Hears every line of metrics after it is written."""
    waiting: list[ResultRow] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)
    noticed: list[dict[str, Any]] = field(default_factory=list)
    news: list[dict[str, Any]] = field(default_factory=list)
    """Notices of evaluations that nobody who watches has heard of yet."""

    def __post_init__(self) -> None:
        self.noticed = [line for line in self.run.metrics() if line["kind"] == "notice"]

    def iteration(
        self,
        iteration: int,
        report: Report,
        elapsed: Elapsed,
        faced: Sequence[Faced],
        rated_R: Sequence[Mapping[str, float]] = (),
    ) -> tuple[list[dict], list[dict]]:
        """Lines of metrics and of notices."""
        lines = metric_lines(self.built, iteration, report, faced, rated_R)
        found = notices(self.built, iteration, lines) + trend_notices(self.built, iteration, lines, self.run.metrics)
        if leases := leases_in(self.built.game):
            found += [noticed(iteration, self.built.config.seed, EVERYBODY, "worker", text) for text in leases.news()]
        new = unsaid(found, self.noticed)
        self.noticed += new
        self.write([*lines, *new])
        for line in new:
            if line["notice"] == "not_finite":
                self.dump(line, report)
            if line["notice"] == "left_out":
                self.exhibit(line["seed"], report.faults.exhibit)
        steps = self.built.steps_per_iteration * self.built.config.seeds
        rate = {"seconds": elapsed.seconds, "steps_per_second": steps / elapsed.seconds}
        self.run.append_timing({"iteration": iteration, **rate, **elapsed.clocks})
        if iteration == UPDATES - 1:
            mark = fingerprint(self.run.metrics())
            self.run.write_manifest({**self.run.read_manifest(), "fingerprint": mark})
        self.waiting += result_rows(self.built, iteration, report, faced)
        if time.monotonic() - self.since > 1.0:
            self.flush()
        news, self.news = self.news, []
        return lines, [*news, *new]

    def events(self, iteration: int, events_R: Sequence[Sequence[Event]]) -> None:
        """What the leagues decided, in words that a reader of the metrics can count."""
        told = [
            {"seed": int(seed), "text": event.sentence(), **event.to_dict()}
            for seed, events in zip(self.built.seeds_R, events_R, strict=False)
            for event in events
            if event.told
        ]
        self.write([{"kind": "event", "iteration": iteration, **line} for line in told])

    def dump(self, line: dict[str, Any], report: Report) -> None:
        """Keep the minibatch that was not finite, for somebody to look at."""
        r = list(self.built.seeds_R).index(line["seed"])
        for group, names in enumerate(self.built.lineup.learners):
            if line["learner"] in names:
                row = names.index(line["learner"])
                batch = jax.tree.map(lambda x, row=row: x[r, row], report.suspects[group])
                name = f"{line['learner']}-seed-{line['seed']}.safetensors"
                self.run.write_arrays(self.run.not_finite_path / name, to_arrays(batch))

    def exhibit(self, seed: int, exhibit: Exhibit) -> None:
        """Keep the world that went wrong, as it was before, for somebody to step it again."""
        r = list(self.built.seeds_R).index(seed)
        own = jax.tree.map(lambda x: jax.random.key_data(x[r]) if is_key(x) else x[r], exhibit)
        self.run.write_arrays(self.run.not_finite_path / f"world-seed-{seed}.safetensors", to_arrays(own))

    def evaluation(
        self,
        iteration: int,
        teams: Sequence[tuple[str, ...]],
        games: list[list[MatchGames]],
        exact: dict[str, list[float]],
    ) -> list[dict[str, Any]]:
        """Lines of metrics. They are written last: where they are, the evaluation is whole."""
        self.waiting += evaluation_rows(self.built, iteration, teams, games)
        self.flush()
        lines = evaluation_lines(self.built, iteration, teams, games, exact)
        found = []
        if iteration == self.built.iterations - 1:  # the others would say the same
            found = evaluation_notices(self.built, iteration, games)
            scores = score_sides(self.built.game.spec, teams, games, self.built.plan.seating.seats_of_side)
            found += unsaid(gain_notices(self.built, iteration, scores, exact, self.run.metrics()), self.noticed)
        elif iteration != UNTRAINED:  # at the end the verdict says it
            found = unsaid(fall_notices(iteration, self.built.config.seed, findings_of(self.run, lines)), self.noticed)
            self.noticed += found
            self.news += found
        self.write([*found, *lines])
        return lines

    def write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self.run.append_metrics(lines)
        self.told(lines)

    def flush(self) -> None:
        self.results.append(self.waiting)
        self.waiting, self.since = [], time.monotonic()
