"""A run as it lies on the disk, and what every symptom is told by."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError
from sparring.evaluation.findings import Opposed
from sparring.evaluation.scoring import UNTRAINED
from sparring.evaluation.stored import exact_at, opposed
from sparring.setup.build import Built
from sparring.store.results import ResultRow, read_results
from sparring.store.run_dir import RunDir
from sparring.training.notices import notices
from sparring.training.runs import reopen
from sparring.training.trends import LEAST, quarter, trend_notices

ENOUGH = 50
"""Games below which a rate says little."""
SURE = 0.999
"""Of intervals that are asked in every iteration, or of every opponent."""
Met = tuple[int, int, str, str, int, int]
"""Seed, side, player, opponent, the opponent's number, and whether noise was added to its choices."""


@dataclass(frozen=True)
class Record:
    """A run as it lies on the disk."""

    built: Built
    manifest: Mapping[str, Any]
    lines: Sequence[Mapping[str, Any]]
    rows: Sequence[ResultRow]
    opposed: Opposed = field(default_factory=Opposed)

    @classmethod
    def of(cls, path: Path) -> "Record":
        run = RunDir.open(path)
        lines = run.metrics()
        if not any(line["kind"] == "train" for line in lines):
            raise RunError(f"{path} has no iteration yet: there is nothing to judge. Train it first.")
        rows = read_results(run.results_path) if run.results_path.exists() else []
        built = reopen(run, trains=False)
        found = opposed(run.settings(), built.game.spec.longest)
        return cls(built, run.read_manifest(), lines, rows, found)

    def kind(self, kind: str) -> list[Mapping[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]

    @cached_property
    def done(self) -> int:
        return 1 + max(line["iteration"] for line in self.kind("train"))

    @property
    def quartered(self) -> bool:
        """Whether it went so far that a quarter of it, with iterations enough, could be looked at."""
        return any(len(quarter(i, self.built.iterations)) >= LEAST for i in range(self.done))

    @property
    def late(self) -> range:
        """The last quarter."""
        return range(self.done - max(1, self.done // 4), self.done)

    @cached_property
    def exact(self) -> dict[str, float]:
        """Exact exploitability in the last evaluation, by team; empty where it is not known."""
        last = max((line["iteration"] for line in self.kind("eval")), default=UNTRAINED)
        return exact_at(self.lines, last) if last != UNTRAINED else {}

    @cached_property
    def met(self) -> dict[tuple[int, Met], tuple[float, int]]:
        """Points and games in training, by iteration and by who met whom on which side. All bots together, or all past
        selves, are no measure: one iteration meets the bot that never loses, the next one that always does."""
        found: dict[tuple[int, Met], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in self.rows:
            if row.kind == "train":
                who = (row.seed, row.side, row.player, row.opponent, row.opponent_id, row.weakened)
                own = found[row.iteration, who]
                own[0], own[1] = own[0] + row.wins + row.draws / 2, own[1] + row.games
        return {key: (points, int(games)) for key, (points, games) in sorted(found.items())}

    @cached_property
    def noticed(self) -> dict[str, list[Mapping[str, Any]]]:
        """By kind, the notices that training would give for these lines, and those it gave."""
        found = defaultdict(list)
        train, names = self.kind("train"), self.built.lineup.names
        by_iteration: dict[int, list[Any]] = defaultdict(list)
        for line in train:
            if all(f"{name}/approx_kl" in line for name in names):
                by_iteration[line["iteration"]].append(line)
        for iteration, own in by_iteration.items():
            told = notices(self.built, iteration, own)
            if len(quarter(iteration, self.built.iterations)) >= LEAST:
                before = [line for line in train if line["iteration"] < iteration]
                told += trend_notices(self.built, iteration, own, lambda before=before: before)
            for line in told:
                found[line["notice"]].append(line)
        for line in self.kind("notice"):
            if line["notice"] not in found:
                found[line["notice"]].append(line)
        return found


def mean(values: Sequence[float]) -> float:
    return float(sum(values) / len(values)) if values else 0.0
