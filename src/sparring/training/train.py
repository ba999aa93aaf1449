"""The loop. It reads as the method section of a paper: play and learn, record, evaluate, save."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack

import jax
import jax.numpy as jnp

from sparring.evaluation.match import MatchGames
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, UNTRAINED, SideScore, score_sides
from sparring.games.outside import check_outside, leases_in
from sparring.setup.build import Built
from sparring.setup.config import EvalConfig
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import Orders, Plan, Report, TrainState, compile_program
from sparring.setup.reseat import carried
from sparring.setup.rows import in_front
from sparring.store.checkpoints import save
from sparring.store.results import Results
from sparring.store.run_dir import RunDir
from sparring.store.trackers import Tracker, tracking
from sparring.training.apply import applied
from sparring.training.control import Control, together
from sparring.training.keeping import keep_players, read_past, restore_players
from sparring.training.meta_games import MetaGames, mixture_exploitability
from sparring.training.opposition import Opposition
from sparring.training.own_evaluation import Examination, examination, exploitability, exploitability_of_bots
from sparring.training.population import Population
from sparring.training.recorder import Elapsed, Recorder


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after each recorded iteration."""

    iteration: int
    iterations: int
    seconds: float
    lines: list[dict[str, Any]]
    notices: list[dict[str, Any]]
    evaluated: list[dict[str, Any]]
    """Lines of the newest evaluation; none where there was none yet."""


class Watching(TypedDict, total=False):
    """Who watches a run, and what they may ask for while it trains."""

    on_begin: Callable[[], None]
    """Nothing was refused; compiling comes next."""
    on_iteration: Callable[[Progress], None]
    should_stop: Callable[[], bool]
    should_save: Callable[[], bool]
    """A checkpoint beside the usual ones."""


class Tracked(Watching, total=False):
    track: Collection[Tracker]
    """Tools that are handed every line of metrics (store/trackers)."""


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


def train(
    built: Built, run: RunDir, state: TrainState, *, opposition: Opposition | None = None,
    population: Population | None = None, start: int = 0, track: Collection[Tracker] = (),
    **watching: Unpack[Watching],
) -> Summary:  # fmt: skip
    """Train from iteration `start` to the end of the config, or until `should_stop`; always leaves a checkpoint. From
    the end on, only the final evaluation is left."""
    with Results(run.results_path) as results, tracking(run, track) as told:
        opposition = opposition or Opposition.begin(built)
        restore_players(run, opposition, state, start)
        recorder, population = Recorder(built, run, results, told), population or Population.begin(built)
        return Training(recorder, opposition, population, state, **watching).loop(start)


class Running(NamedTuple):
    iteration: int
    report: Report
    elapsed: Elapsed | None = None
    """Known once it has ended."""


@dataclass
class Training:
    """A run while it trains."""

    recorder: Recorder
    opposition: Opposition
    population: Population
    state: TrainState
    on_begin: Callable[[], None] = lambda: None
    on_iteration: Callable[[Progress], None] = lambda _: None
    should_stop: Callable[[], bool] = lambda: False
    should_save: Callable[[], bool] = lambda: False
    meta_games: MetaGames = field(default_factory=MetaGames)
    running: Running | None = None
    """The iteration that runs on the device while the loop goes on; reading it waits for it."""
    evaluated: list[dict[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def built(self) -> Built:
        """In the present seating."""
        return self.opposition.built

    def loop(self, start: int) -> Summary:
        self.on_begin()
        config, tests = self.built.config, self.built.config.evaluation
        programs, control, examine = Programs(), Control.of(self.recorder.run, start), final_examination(self.built)
        games: list[list[MatchGames]] = []
        untrained: list[list[MatchGames]] = []
        seeds_R, iteration, exact, stopping = jnp.asarray(self.built.seeds_R), start - 1, {}, False
        if examine and tests.eval_first and start == 0:
            untrained, _ = self.evaluate(examine, UNTRAINED)
        for iteration in range(start, self.built.iterations):
            orders = self.before(iteration, control)
            knobs = jax.device_put(self.population.knobs(iteration))
            program, rosters = programs.of(self.built.plan), self.built.rosters
            self.time_what_ended()
            self.state, report = program(
                self.opposition.game, self.state, rosters, orders, knobs, seeds_R, jnp.asarray(iteration)
            )
            self.read()
            self.running = Running(iteration, report)
            self.time_what_ended()
            done, stopping, saving = iteration + 1, self.should_stop(), self.should_save()
            last = done == self.built.iterations
            if examine and evaluation_due(tests, done, self.built.iterations) and not last:
                self.evaluate(examine, iteration, self.population.leaders)
            if due(config.checkpoint.checkpoint_every, done) or last or stopping or saving:
                self.checkpoint(done)
            if stopping:
                break
        if examine and not stopping:  # after the last checkpoint: an evaluation that breaks loses no training
            games, exact = self.evaluate(examine, iteration, self.population.leaders)
        scores, first = (
            score_sides(self.built.game.spec, examine.teams, g, self.built.plan.seating.seats_of_side)
            if examine and g
            else []
            for g in (games, untrained)
        )
        return Summary(self.state, iteration + 1, not stopping, programs.compilations, scores, first, exact)

    def before(self, iteration: int, control: Control) -> Orders:
        """What people asked for, then what the leagues decided, then what became of a population: carried out and
        written down. The iteration's orders."""
        recorder, opposition, built = self.recorder, self.opposition, self.built
        by_hand = control.obey(opposition, iteration)
        if self.built.plan is not built.plan:
            self.state = carried(built, self.built, self.state)
        recorder.waiting += self.meta_games.play(recorder.run, opposition, iteration)
        orders, decided = opposition.assign(iteration)
        events = together(by_hand, decided)
        recorder.events(iteration, events)
        keep_players(recorder.run, opposition, self.state, events)  # before a learner that was copied starts over
        self.state = applied(self.state, events, opposition, partial(read_past, recorder.run, self.built))
        if self.population.due(iteration):
            self.state, copied = self.population.round(self.state, iteration)
            opposition.descended(copied, iteration)
            recorder.events(iteration, copied)
        recorder.built = self.built
        return orders

    def read(self) -> None:
        """Tell the leagues, the run directory and whoever watches what the running iteration left."""
        if self.running is None:
            return
        (iteration, report, elapsed), self.running = self.running, None
        small = (report.tally, report.stats, report.duels, report.second_tries, report.faults._replace(exhibit=None))
        tally, stats, duels, tries, faults = jax.device_get(small)
        check_outside(self.built.game)
        elapsed = elapsed or self.elapsed()
        faced = self.opposition.observe(iteration, duels, tries)
        told = Report(tally, stats, report.suspects, faults._replace(exhibit=report.faults.exhibit), duels, tries)
        lines, new = self.recorder.iteration(iteration, told, elapsed, faced, self.opposition.rated.pop(iteration, []))
        self.opposition.read(lines)
        self.on_iteration(Progress(iteration + 1, self.built.iterations, elapsed.seconds, lines, new, self.evaluated))

    def time_what_ended(self) -> None:
        """Where a program runs to its end before the loop goes on, as with environments outside, the clock stops there:
        the next one's time is not its own."""
        running = self.running
        if running and not running.elapsed and all(x.is_ready() for x in jax.tree.leaves(running.report.tally)):
            self.running = running._replace(elapsed=self.elapsed())

    def elapsed(self) -> Elapsed:
        """Since this was last asked."""
        now = time.monotonic()
        seconds, self.began = now - self.began, now
        leases = leases_in(self.built.game)
        return Elapsed(seconds, leases.clocks(seconds) if leases else {})

    def evaluate(
        self, examine: Examination, iteration: int, leaders: Sequence[int] = ()
    ) -> tuple[list[list[MatchGames]], dict[str, list[float]]]:
        """Games apart from training, with chance of their own."""
        self.read()
        built, state = self.built, in_front(self.state, leaders)
        games = examine.play(state, seed=built.config.seed)
        known = {
            LEARNED: exploitability(built, state),
            SHADOW: exploitability(built, state, shadow=True),
            MIXTURE: mixture_exploitability(self.recorder.run, self.opposition),
        }
        exact = {team: values for team, values in known.items() if values is not None}
        bots = exploitability_of_bots(built) if exact and iteration == built.iterations - 1 else {}
        measured = exact | {bot: [value] * built.config.seeds for bot, value in bots.items()}
        self.evaluated = self.recorder.evaluation(iteration, examine.teams, games, measured)
        self.elapsed()  # which no iteration took
        return games, exact

    def checkpoint(self, done: int) -> None:
        self.read()
        self.recorder.flush()
        built = self.built
        players = [
            {"name": name, "group": group, "row": row}
            for group, names in enumerate(built.lineup.learners)
            for row, name in enumerate(names)
        ]
        meta = {
            "players": players,
            "seeds": built.seeds_R.tolist(),
            "opposition": self.opposition.saved(),
            "population": self.population.state(),
        }
        save(self.recorder.run.checkpoints_path, done, to_arrays(self.state), meta, keep=built.config.checkpoint.keep)


def evaluation_due(tests: EvalConfig, done: int, iterations: int) -> bool:
    """By the number of iterations between two, or by how many there shall be, spread evenly."""
    share = tests.eval_times * done // iterations > tests.eval_times * (done - 1) // iterations
    return due(tests.eval_every, done) or share


def final_examination(built: Built) -> Examination | None:
    """The line-ups of the run's own evaluations; None where they are switched off."""
    tests = built.config.evaluation
    if not tests.eval_games:
        return None
    return examination(built, games=tests.eval_games, deterministic=tests.eval_deterministic, with_bots_alone=True)


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
