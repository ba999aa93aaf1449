"""Finished runs of one game side by side: their candidates of all seeds meet, and what the runs left is read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError
from sparring.core.spec import GameSpec
from sparring.evaluation.regimes import (
    EQUAL_TIME,
    EXPLOITABILITY,
    EXPLOITED,
    POINTS,
    RATING,
    WORST,
    Candidate,
    Comparison,
    Cost,
    Standing,
    clock,
    cycles_of_play,
    entrant_name,
    figures_of_line,
    iteration_cost,
    iterations_within,
    mean_figures,
    second_half,
    standings,
)
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, UNTRAINED
from sparring.evaluation.tournament import play_pairs
from sparring.games import answers, registry
from sparring.games.game import Game
from sparring.play.scripted import RANDOM, bot_names
from sparring.players.checkpointed import SHADOW as SHADOW_ENDING
from sparring.players.checkpointed import believing, leaders_of, learners_of, numbered, seeds_of
from sparring.players.named import Source, entrant, from_run
from sparring.ratings.payoff import Payoff
from sparring.setup.needs import stored_config
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir


@dataclass(frozen=True)
class Entry:
    """A candidate of a run before it has played: for each seed, the player that stands for it."""

    name: str
    regime: str
    run: RunDir
    team: str
    players: Mapping[int, str]


def finished(path: Path) -> bool:
    """Whether a run has its last checkpoint, and the evaluation that follows it where one is wanted."""
    if not (path / "manifest.json").is_file():
        return False
    run = RunDir.open(path)
    iterations = run.read_manifest().get("iterations")
    if iterations is None or max(numbered(run), default=-1) < iterations:
        return False
    config = stored_config(run)
    return not config.evaluation.eval_games or len(run.last_evaluation()) >= config.seeds


def compared(
    runs: Mapping[str, Path],
    *,
    games: int = 32,
    seed: int = 0,
    costs: Mapping[str, Cost] | None = None,
    failures: Mapping[str, str] | None = None,
) -> Comparison:
    """The runs by name; every two candidates play `games` games, and so does every candidate with every bot."""
    opened = {regime: RunDir.open(path) for regime, path in runs.items()}
    if not opened:
        raise RunError("There is no finished run to compare. Train at least one.")
    first = stored_config(next(iter(opened.values())))
    game = registry.configured(first.game, first.options)
    entries = [entry for regime, run in opened.items() for entry in entries_of(regime, run)]
    costs = {regime: with_timing((costs or {}).get(regime, Cost()), run) for regime, run in opened.items()}
    seeds = min(len(entry.players) for entry in entries)
    fastest = shortest(opened)
    evaluated = [len(judged(run, number, None)) for run in opened.values() for number in evaluations(run)]
    plain = Comparison(
        first.game, seeds, (), costs, failures or {}, evaluations=min(evaluated, default=0), clock=fastest,
        untrained=before_training(opened.values()), remarks=unequal(opened),
        largest=answers.largest_exploitability(game) if is_exact(opened.values()) else None,
    )  # fmt: skip
    mixtures = [mixture for regime, run in opened.items() for mixture in mixtures_of(regime, run, fastest)]
    if why := no_tournament(game.spec):
        # Games judged by returns need a cross-play of returns, whose figures would join those of the runs here.
        for regime, run in opened.items():
            if not evaluations(run):
                raise RunError(
                    f"{regime} was never evaluated, and {why}: there is nothing to compare it by. "
                    f"Evaluate it: sparring resume {run.path} --eval-games 32"
                )
        candidates = (*where_all_have([examined(entry, fastest) for entry in entries]), *mixtures)
        return replace(plain, candidates=candidates, remarks=(f"No tournament: {why}.", *plain.remarks))
    payoff = meet(game, entries, games=games, seed=seed)
    seeds_of = {entry.name: tuple(entry.players) for entry in entries}
    found = standings(payoff, seeds_of, RANDOM)
    own = [entrant_name(name, number) for name, numbers in seeds_of.items() for number in numbers]
    share, noise = cycles_of_play(payoff, own, seed=seed)
    candidates = where_all_have([ranked(examined(entry, fastest), found[entry.name]) for entry in entries])
    return replace(plain, candidates=(*candidates, *mixtures), games=games, cyclic_share=share, noise=noise)


def before_training(runs: Iterable[RunDir]) -> dict[str, float]:
    """Figures of the policies with which the runs began, the mean over runs and seeds, as far as all know them."""
    found = []
    for run in runs:
        facts = run.read_manifest()
        for line in run.metrics():
            if line["kind"] == "eval" and line["iteration"] == UNTRAINED:
                found.append(figures_of_line(line, LEARNED, facts["sides"], alike=bool(facts.get("alike"))))
    return mean_figures(found)


def unequal(runs: Mapping[str, RunDir]) -> tuple[str, ...]:
    """A remark where one run was trained for longer than another, as after `sparring resume --total-steps`."""
    steps = {regime: run.read_manifest().get("total_steps", 0) for regime, run in runs.items()}
    told = ", ".join(f"{regime} {count:,}" for regime, count in steps.items())
    return (f"Not the same budget: {told} steps of a seed.",) if len({*steps.values()}) > 1 else ()


def is_exact(runs: Iterable[RunDir]) -> bool:
    return any(EXPLOITABILITY in line for run in runs for line in run.metrics())


def no_tournament(spec: GameSpec) -> str:
    """Why players of this game cannot be ranked by games won; empty where they can."""
    if spec.score != "outcome":
        return "this game is judged by returns, not won or lost"
    return "" if spec.sides == 2 and spec.exchangeable_sides else "this game does not have two sides that are alike"


def entries_of(regime: str, run: RunDir) -> list[Entry]:
    """The newest learner, and its shadow where there is one. Of several learners it is the one that the run's own
    evaluation shows: the leader of a population, seed by seed, or the first main of a league."""
    checkpoint = load(run.checkpoints_path)
    learners, seeds = learners_of(checkpoint), seeds_of(checkpoint)
    leaders = leaders_of(checkpoint) or [0] * len(seeds)
    with believing(checkpoint.path):
        chosen = {seed: list(learners)[row] for seed, row in zip(seeds, leaders, strict=True)}
        group = next(iter(learners.values()))[0] if learners else 0
    entries = [Entry(regime, regime, run, LEARNED, chosen)]
    if any(name.startswith(f"learners.{group}.shadow.") for name in checkpoint.arrays):
        slow = {seed: name + SHADOW_ENDING for seed, name in chosen.items()}
        entries.append(Entry(regime + SHADOW_ENDING, regime, run, SHADOW, slow))
    return entries


def meet(game: Game, entries: list[Entry], *, games: int, seed: int) -> Payoff:
    """The games of all pairs but those of two bots."""
    learned = {
        entrant_name(entry.name, number): from_run(Source(entry.run.path, player, seed=number), game).policy
        for entry in entries
        for number, player in entry.players.items()
    }
    bots = {name: entrant(name, game).policy for name in bot_names(game)}
    pairs = [*combinations(learned, 2), *product(learned, bots)]
    return play_pairs(game, {**learned, **bots}, pairs, games=games, seed=seed, most_games=max(games, 1024))


def examined(entry: Entry, fastest: float | None = None) -> Candidate:
    """The candidate with the mean figures of the second half of its training, and of the second half of `fastest`
    seconds of it; with none where it was never evaluated."""
    manifest, lines = entry.run.read_manifest(), evaluations(entry.run)
    missing = [seed for seed in entry.players if lines and seed not in lines]
    if missing:
        raise RunError(
            f"{entry.run.metrics_path} has no evaluation of seed {missing[0]}: lines of it were lost. Restore the file "
            "from a copy, or train the run again."
        )

    def figures(seed: int, seconds: float | None) -> dict[str, float]:
        alike, sides = bool(manifest["alike"]), manifest["sides"]
        found = (figures_of_line(line, entry.team, sides, alike=alike) for line in judged(entry.run, seed, seconds))
        return mean_figures(list(found))

    shown = by_seed(figures, list(entry.players), fastest)
    return Candidate(entry.name, entry.regime, {**shown, **exploited(entry)})


def exploited(entry: Entry) -> dict[str, tuple[float, ...]]:
    """What trained responses won from the newest weights of every seed; empty where one is missing."""
    last = max(numbered(entry.run), default=None)
    trained = [line for line in entry.run.exploits() if line["by"] == "response" and line["iteration"] == last]
    won = {(line["player"], line["seed"]): float(line["exploitability"]) for line in trained}
    found = [won.get((player, seed)) for seed, player in entry.players.items()]
    return {} if None in found else {EXPLOITED: tuple(value for value in found if value is not None)}


def where_all_have(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates; what responses won from some stays out, since it would look like a fault of theirs."""
    if all(EXPLOITED in one.figures for one in candidates):
        return tuple(candidates)
    return tuple(
        replace(one, figures={name: values for name, values in one.figures.items() if name != EXPLOITED})
        for one in candidates
    )


def mixtures_of(regime: str, run: RunDir, fastest: float | None = None) -> list[Candidate]:
    """What PSRO gives, where its exploitability is known exactly; it plays no tournament, being many policies."""

    def figures(seed: int, seconds: float | None) -> dict[str, float]:
        exact = [line.get(f"{EXPLOITABILITY}/{MIXTURE}") for line in judged(run, seed, seconds)]
        return mean_figures([{EXPLOITABILITY: float(value)} for value in exact if value is not None])

    found = by_seed(figures, list(evaluations(run)), fastest)
    return [Candidate(f"{regime}.{MIXTURE}", regime, found)] if found else []


def by_seed(
    figures: Callable[[int, float | None], dict[str, float]], seeds: list[int], fastest: float | None
) -> dict[str, tuple[float, ...]]:
    """Figures that every seed has, at equal steps and, where `fastest` says when, at equal time."""
    found: dict[str, tuple[float, ...]] = {}
    for seconds, ending in ((None, ""), (fastest, EQUAL_TIME)):
        own = [figures(seed, seconds) for seed in seeds] if ending == "" or fastest is not None else []
        shared = [name for name in own[0] if all(name in one for one in own)] if own else []
        found.update({name + ending: tuple(one[name] for one in own) for name in shared})
    return found


def judged(run: RunDir, seed: int, seconds: float | None) -> list[Mapping[str, Any]]:
    """A seed's evaluations in the second half of training, or of these seconds of it."""
    until = run.read_manifest()["iterations"] if seconds is None else iterations_within(run.timing(), seconds)
    return second_half(evaluations(run).get(seed, []), until)


def shortest(runs: Mapping[str, RunDir]) -> float | None:
    """Seconds that the fastest run trained for; None where only one is there, or a clock is missing."""
    totals = [clock(timing)[-1] for run in runs.values() if (timing := run.timing())]
    return float(min(totals)) if len(totals) == len(runs) > 1 else None


def ranked(candidate: Candidate, standing: Standing) -> Candidate:
    """Games against all others say more than the returns of a run's own evaluation: these are left out."""
    kept = (EXPLOITABILITY, EXPLOITABILITY + EQUAL_TIME, EXPLOITED, POINTS, POINTS + EQUAL_TIME)
    exact = {key: values for key, values in candidate.figures.items() if key in kept}
    figures = {**exact, RATING: standing.rating, WORST: standing.worst}
    return replace(candidate, figures=figures, worst=standing.against)


def evaluations(run: RunDir) -> Mapping[int, Sequence[dict[str, Any]]]:
    """For each seed its lines of evaluation, the oldest first."""
    path = run.metrics_path
    return _evaluations(run, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=64)
def _evaluations(run: RunDir, written: int) -> Mapping[int, Sequence[dict[str, Any]]]:
    """Every figure of every seed asks for them: the file is read once for as long as nobody writes to it."""
    del written
    found: dict[int, list[dict[str, Any]]] = {}
    for line in run.metrics():
        if line["kind"] == "eval":
            found.setdefault(line["seed"], []).append(line)
    return found


def with_timing(cost: Cost, run: RunDir) -> Cost:
    first, speed = iteration_cost(run.timing())
    return replace(cost, first_seconds=first, steps_per_second=speed)
