"""The loop. It reads as the method section of a paper: play and learn, record, evaluate, save."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from sparring.evaluation.match import MatchGames
from sparring.evaluation.scoring import LEARNED, SHADOW, SideScore, score_sides
from sparring.league.events import Event
from sparring.store.checkpoints import save
from sparring.store.results import ResultRow, Results
from sparring.store.run_dir import RunDir
from sparring.training.build import Built
from sparring.training.control import Control, together
from sparring.training.examine import Examination, examination, exploitability
from sparring.training.notices import notices, unsaid
from sparring.training.opposition import Faced, Opposition, applied
from sparring.training.players import keep_players, restore_players
from sparring.training.program import Orders, Report, TrainState, compile_program
from sparring.training.record import evaluation_lines, evaluation_rows, metric_lines, result_rows
from sparring.training.reseat import carried
from sparring.training.snapshot import to_arrays


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after each recorded iteration."""

    iteration: int
    iterations: int
    seconds: float
    lines: list[dict[str, Any]]
    notices: list[dict[str, Any]]


@dataclass(frozen=True)
class Summary:
    """How training ended."""

    state: TrainState
    iteration: int
    """Iterations done, earlier stretches of a resumed run included."""
    finished: bool
    compilations: int
    scores: list[SideScore]
    exploitability: dict[str, list[float]]
    """Of the learners and of their shadows, for each seed; empty where it is not known exactly."""


@dataclass
class Recorder:
    """Writes what happened to the run directory; results wait for a moment, since each append reaches the disk."""

    built: Built
    run: RunDir
    results: Results
    waiting: list[ResultRow] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)
    noticed: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.noticed = [line for line in self.run.metrics() if line["kind"] == "notice"]

    def iteration(
        self, iteration: int, report: Report, seconds: float, faced: Sequence[Faced]
    ) -> tuple[list[dict], list[dict]]:
        """Lines of metrics and of notices."""
        lines = metric_lines(self.built, iteration, report, faced)
        new = unsaid(notices(self.built, iteration, lines), self.noticed)
        self.noticed += new
        self.run.append_metrics([*lines, *new])
        for line in new:
            if line["notice"] == "not_finite":
                self.dump(line, report)
        steps = self.built.steps_per_iteration * self.built.config.seeds
        self.run.append_timing({"iteration": iteration, "seconds": seconds, "steps_per_second": steps / seconds})
        self.waiting += result_rows(self.built, iteration, report, faced)
        if time.monotonic() - self.since > 1.0:
            self.flush()
        return lines, new

    def events(self, iteration: int, events_R: Sequence[Sequence[Event]]) -> None:
        """What the leagues decided, in words that a reader of the metrics can count."""
        self.run.append_metrics(
            [
                {
                    "kind": "event",
                    "iteration": iteration,
                    "seed": int(seed),
                    "text": event.sentence(),
                    **event.to_dict(),
                }
                for seed, events in zip(self.built.seeds_R, events_R, strict=False)
                for event in events
            ]
        )

    def dump(self, line: dict[str, Any], report: Report) -> None:
        """Keep the minibatch that was not finite, for somebody to look at."""
        r = list(self.built.seeds_R).index(line["seed"])
        for group, names in enumerate(self.built.lineup.learners):
            if line["learner"] in names:
                row = names.index(line["learner"])
                batch = jax.tree.map(lambda x, row=row: x[r, row], report.suspects[group])
                name = f"{line['learner']}-seed-{line['seed']}.safetensors"
                self.run.write_arrays(self.run.not_finite_path / name, to_arrays(batch))

    def evaluation(
        self,
        iteration: int,
        teams: Sequence[tuple[str, ...]],
        games: list[list[MatchGames]],
        exact: dict[str, list[float]],
    ) -> None:
        self.run.append_metrics(evaluation_lines(self.built, iteration, teams, games, exact))
        self.waiting += evaluation_rows(self.built, iteration, teams, games)

    def flush(self) -> None:
        self.results.append(self.waiting)
        self.waiting, self.since = [], time.monotonic()


def train(
    built: Built,
    run: RunDir,
    state: TrainState,
    *,
    opposition: Opposition | None = None,
    start: int = 0,
    on_iteration: Callable[[Progress], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Summary:
    """Train from iteration `start` to the end of the config, or until `should_stop`; always leaves a checkpoint."""
    with Results(run.results_path) as results:
        recorder = Recorder(built, run, results)
        opposition = opposition or Opposition.begin(built)
        restore_players(run, opposition, state, start)
        return loop(built, recorder, state, opposition, start, on_iteration, should_stop)


def loop(
    built: Built,
    recorder: Recorder,
    state: TrainState,
    opposition: Opposition,
    start: int,
    on_iteration: Callable[[Progress], None],
    should_stop: Callable[[], bool],
) -> Summary:
    config = built.config
    program, compiled, control = compile_program(built.plan), 0, Control.of(recorder.run, start)
    tests = config.evaluation
    examine = examination(built, games=tests.eval_games, deterministic=tests.eval_deterministic, with_bots_alone=True)
    seeds_R, pending, began = jnp.asarray(built.seeds_R), None, time.monotonic()

    def record(pending: tuple[int, Report] | None) -> None:
        nonlocal began
        if pending is None:
            return
        iteration, report = pending
        # Waits for it, while the next already runs.
        tally, stats, duels, tries = jax.device_get((report.tally, report.stats, report.duels, report.second_tries))
        now = time.monotonic()
        seconds, began = now - began, now
        faced = opposition.observe(iteration, duels, tries)
        told = Report(tally, stats, report.suspects, duels, tries)
        lines, new = recorder.iteration(iteration, told, seconds, faced)
        opposition.read(lines)
        on_iteration(Progress(iteration + 1, built.iterations, seconds, lines, new))

    games: list[list[MatchGames]] = []
    iteration, exact = start - 1, {}
    for iteration in range(start, built.iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, orders = before(iteration, recorder, control, opposition, state)
        if opposition.built.plan is not built.plan:
            compiled, program = compiled + compilations(program), compile_program(opposition.built.plan)
        built = recorder.built = opposition.built
        state, report = program(opposition.game, state, built.rosters, orders, knobs, seeds_R, jnp.asarray(iteration))
        record(pending)
        pending = (iteration, report)
        done = iteration + 1
        stopping = should_stop()
        if due(config.evaluation.eval_every, done) and done < built.iterations and not stopping:
            record(pending)
            pending = None
            evaluate(built, recorder, examine, state, iteration)
        if (due(config.checkpoint.checkpoint_every, done) and done < built.iterations) or stopping:
            record(pending)
            pending = None
            checkpoint(built, recorder, state, opposition, done)
        if stopping:
            break
    record(pending)
    finished = iteration + 1 == built.iterations
    if finished:
        games, exact = evaluate(built, recorder, examine, state, iteration)
        checkpoint(built, recorder, state, opposition, iteration + 1)
    scores = score_sides(built.game.spec, examine.teams, games) if games else []
    return Summary(state, iteration + 1, finished, compiled + compilations(program), scores, exact)


def before(
    iteration: int, recorder: Recorder, control: Control, opposition: Opposition, state: TrainState
) -> tuple[TrainState, Orders]:
    """What people asked for, then what the leagues decided: carried out and written down. The iteration's orders."""
    built = opposition.built
    by_hand = control.obey(opposition, iteration)
    if opposition.built.plan is not built.plan:
        state = carried(built, opposition.built, state)
    orders, decided = opposition.assign(iteration)
    events = together(by_hand, decided)
    state = applied(state, events, opposition)
    recorder.events(iteration, events)
    keep_players(recorder.run, opposition, state, events)
    return state, orders


def compilations(program: Any) -> int:
    """How often a jitted function has been compiled; more than once in a run means that something static changed."""
    return program._cache_size()


def due(every: int, done: int) -> bool:
    return every > 0 and done % every == 0


def evaluate(
    built: Built, recorder: Recorder, examine: Examination, state: TrainState, iteration: int
) -> tuple[list[list[MatchGames]], dict[str, list[float]]]:
    """Games apart from training, with chance of their own."""
    games = examine.play(state, seed=built.config.seed)
    both = {LEARNED: exploitability(built, state), SHADOW: exploitability(built, state, shadow=True)}
    exact = {team: values for team, values in both.items() if values is not None}
    recorder.evaluation(iteration, examine.teams, games, exact)
    return games, exact


def checkpoint(built: Built, recorder: Recorder, state: TrainState, opposition: Opposition, done: int) -> None:
    recorder.flush()
    players = [
        {"name": name, "group": group, "row": row}
        for group, names in enumerate(built.lineup.learners)
        for row, name in enumerate(names)
    ]
    meta = {"players": players, "seeds": [int(seed) for seed in built.seeds_R], "opposition": opposition.state()}
    save(recorder.run.checkpoints_path, done, to_arrays(state), meta, keep=built.config.checkpoint.keep)
