"""The loop. It reads as the method section of a paper: play and learn, record, evaluate, save."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from sparring.evaluation.match import MatchGames
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, SideScore, score_sides
from sparring.setup.build import Built
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import Orders, Plan, Report, TrainState, compile_program
from sparring.setup.reseat import carried
from sparring.setup.rows import in_front
from sparring.store.checkpoints import save
from sparring.store.results import Results
from sparring.store.run_dir import RunDir
from sparring.training.apply import applied
from sparring.training.control import Control, together
from sparring.training.keeping import keep_players, read_past, restore_players
from sparring.training.meta_games import MetaGames, mixture_exploitability
from sparring.training.opposition import Opposition
from sparring.training.own_evaluation import Examination, examination, exploitability
from sparring.training.population import Population
from sparring.training.recorder import Recorder


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
    before: list[SideScore]
    """The same before training, where it was asked for and this stretch of the run began with it."""
    exploitability: dict[str, list[float]]
    """Of the learners, of their shadows and of PSRO's mixture, for each seed; empty where it is not known exactly."""


@dataclass
class Running:
    """The iteration that runs on the device while the loop goes on; reading it waits for it."""

    recorder: Recorder
    opposition: Opposition
    on_iteration: Callable[[Progress], None]
    began: float
    report: tuple[int, Report] | None = None

    def read(self) -> None:
        """Tell the leagues, the run directory and whoever watches what the iteration left."""
        if self.report is None:
            return
        (iteration, report), self.report = self.report, None
        small = (report.tally, report.stats, report.duels, report.second_tries, report.faults._replace(exhibit=None))
        tally, stats, duels, tries, faults = jax.device_get(small)
        now = time.monotonic()
        seconds, self.began = now - self.began, now
        faced = self.opposition.observe(iteration, duels, tries)
        told = Report(tally, stats, report.suspects, faults._replace(exhibit=report.faults.exhibit), duels, tries)
        lines, new = self.recorder.iteration(iteration, told, seconds, faced)
        self.opposition.read(lines)
        self.on_iteration(Progress(iteration + 1, self.recorder.built.iterations, seconds, lines, new))


def train(
    built: Built,
    run: RunDir,
    state: TrainState,
    *,
    opposition: Opposition | None = None,
    population: Population | None = None,
    start: int = 0,
    on_iteration: Callable[[Progress], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    should_save: Callable[[], bool] = lambda: False,
) -> Summary:
    """Train from iteration `start` to the end of the config, or until `should_stop`; always leaves a checkpoint.

    From the end on, only the final evaluation is left. `should_save` asks for a checkpoint beside the usual ones.
    """
    with Results(run.results_path) as results:
        recorder = Recorder(built, run, results)
        opposition = opposition or Opposition.begin(built)
        restore_players(run, opposition, state, start)
        population = population or Population.begin(built)
        return loop(built, recorder, state, opposition, population, start, on_iteration, should_stop, should_save)


def loop(
    built: Built,
    recorder: Recorder,
    state: TrainState,
    opposition: Opposition,
    population: Population,
    start: int,
    on_iteration: Callable[[Progress], None],
    should_stop: Callable[[], bool],
    should_save: Callable[[], bool],
) -> Summary:
    config, tests = built.config, built.config.evaluation
    programs, control = Programs(), Control.of(recorder.run, start)
    examine = final_examination(built)
    games: list[list[MatchGames]] = []
    untrained: list[list[MatchGames]] = []
    seeds_R, iteration, exact, stopping = jnp.asarray(built.seeds_R), start - 1, {}, False
    if examine and tests.eval_first and start == 0:
        untrained, _ = evaluate(built, recorder, examine, state, 0, opposition)
    meta_games = MetaGames()
    running = Running(recorder, opposition, on_iteration, time.monotonic())
    for iteration in range(start, built.iterations):
        state, orders = before(iteration, recorder, control, opposition, meta_games, state)
        if population.due(iteration):
            state, copied = population.round(state, iteration)
            opposition.descended(copied, iteration)
            recorder.events(iteration, copied)
        knobs = jax.tree.map(jnp.asarray, population.knobs(iteration))
        built = recorder.built = opposition.built
        program = programs.of(built.plan)
        state, report = program(opposition.game, state, built.rosters, orders, knobs, seeds_R, jnp.asarray(iteration))
        running.read()
        running.report = (iteration, report)
        done, stopping, saving = iteration + 1, should_stop(), should_save()
        last = done == built.iterations
        if examine and due(tests.eval_every, done) and not last:
            running.read()
            evaluate(built, recorder, examine, state, iteration, opposition, population.leaders)
        if due(config.checkpoint.checkpoint_every, done) or last or stopping or saving:
            running.read()
            checkpoint(built, recorder, state, opposition, population, done)
        if stopping:
            break
    if examine and not stopping:  # after the last checkpoint: an evaluation that breaks loses no training
        games, exact = evaluate(built, recorder, examine, state, iteration, opposition, population.leaders)
    scores, first = (
        score_sides(built.game.spec, examine.teams, g) if examine and g else [] for g in (games, untrained)
    )
    return Summary(state, iteration + 1, not stopping, programs.compilations, scores, first, exact)


def final_examination(built: Built) -> Examination | None:
    """The line-ups of the run's own evaluations; None where they are switched off."""
    tests = built.config.evaluation
    if not tests.eval_games:
        return None
    return examination(built, games=tests.eval_games, deterministic=tests.eval_deterministic, with_bots_alone=True)


def before(
    iteration: int,
    recorder: Recorder,
    control: Control,
    opposition: Opposition,
    meta_games: MetaGames,
    state: TrainState,
) -> tuple[TrainState, Orders]:
    """What people asked for, then what the leagues decided: carried out and written down. The iteration's orders."""
    built = opposition.built
    by_hand = control.obey(opposition, iteration)
    if opposition.built.plan is not built.plan:
        state = carried(built, opposition.built, state)
    recorder.waiting += meta_games.play(recorder.run, opposition, iteration)
    orders, decided = opposition.assign(iteration)
    events = together(by_hand, decided)
    recorder.events(iteration, events)
    keep_players(recorder.run, opposition, state, events)  # before a learner that was copied begins anew
    state = applied(state, events, opposition, partial(read_past, recorder.run, opposition.built))
    return state, orders


class Programs:
    """The programs of a run, and how often they were compiled for it. More than once for one of them means that
    something static changed; 0 that an earlier run of this process had compiled it."""

    def __init__(self) -> None:
        self.compiled_before: dict[Any, int] = {}

    def of(self, plan: Plan) -> Any:
        program: Any = compile_program(plan)
        self.compiled_before.setdefault(program, program._cache_size())
        return program

    @property
    def compilations(self) -> int:
        return sum(program._cache_size() - before for program, before in self.compiled_before.items())


def due(every: int, done: int) -> bool:
    return every > 0 and done % every == 0


def evaluate(
    built: Built,
    recorder: Recorder,
    examine: Examination,
    state: TrainState,
    iteration: int,
    opposition: Opposition,
    leaders: Sequence[int] = (),
) -> tuple[list[list[MatchGames]], dict[str, list[float]]]:
    """Games apart from training, with chance of their own."""
    state = in_front(state, leaders)
    games = examine.play(state, seed=built.config.seed)
    known = {
        LEARNED: exploitability(built, state),
        SHADOW: exploitability(built, state, shadow=True),
        MIXTURE: mixture_exploitability(recorder.run, opposition),
    }
    exact = {team: values for team, values in known.items() if values is not None}
    recorder.evaluation(iteration, examine.teams, games, exact)
    return games, exact


def checkpoint(
    built: Built, recorder: Recorder, state: TrainState, opposition: Opposition, population: Population, done: int
) -> None:
    recorder.flush()
    players = [
        {"name": name, "group": group, "row": row}
        for group, names in enumerate(built.lineup.learners)
        for row, name in enumerate(names)
    ]
    meta = {
        "players": players,
        "seeds": [int(seed) for seed in built.seeds_R],
        "opposition": opposition.saved(),
        "population": population.state(),
    }
    save(recorder.run.checkpoints_path, done, to_arrays(state), meta, keep=built.config.checkpoint.keep)
