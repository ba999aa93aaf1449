"""Cases of `benchmarks/audits.py` about the audit of seats: faults that must be found, and clean games, trainings and
loops that must not be accused."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import seat_mutants
import seat_strangers
from audits import Case, Outcome, counted
from seat_mutants import Mutant, Patch, loop, patched
from sparring.audit.seats import booking, exact, pipeline, returns, trained
from sparring.audit.seats.claims import claimed
from sparring.audit.seats.levels import ALPHA
from sparring.audit.seats.logged import audit_logs
from sparring.audit.seats.probes import players_of
from sparring.core.errors import SparringError
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.social.snowdrift import snowdrift
from sparring.games.social.stag_hunt import stag_hunt
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig, SeatsConfig

BATCH, GAMES = 128, 1024
"""Games of each probe that L2 has here, in batches."""
AUDITS = 200
SEEDS = 3
"""To an audit of runs."""
OF_LEVEL = {"L4": "seats, updates", "L5": "seats, experience", "L8": "seats, booking"}


def cases(keep: Path) -> Iterator[Case]:
    del keep
    for name, mutant in seat_mutants.GAMES.items():
        yield Case(f"seats, games: {name}", partial(game_fault, "seats, games", mutant))
    for name, mutant in seat_strangers.GAMES.items():
        yield Case(f"seats, games of strangers: {name}", partial(game_fault, "seats, games of strangers", mutant))
    for name, patch in (seat_mutants.TRAINING | seat_strangers.TRAINING).items():
        yield Case(f"{OF_LEVEL[patch.level]}: {name}", partial(training_fault, patch))
    for name, level in seat_mutants.LOOPS.items():
        yield Case(f"seats, loops: {name}", partial(loop_fault, name, level))
    for name, mutant in seat_mutants.GAMES.items():
        yield Case(f"seats, random play alone: {name}", partial(by_random_play, mutant))
    for name in registry.available():
        yield Case(f"clean, L1: {name}", partial(clean_game, name))
    for name, make in seat_strangers.CLEAN.items():
        yield Case(f"clean, strangers: {name}", partial(accused, "clean, strangers", make))
    for first in range(0, AUDITS, 20):
        yield Case(f"alarms, loops: from {first}", partial(loop_alarms, first))
        yield Case(f"alarms, trainings: from {first}", partial(training_alarms, first))
        yield Case(f"alarms, runs: from {first}", partial(run_alarms, first))
    for number in range(AUDITS):
        yield Case(f"alarms, games: {number}", partial(game_alarm, number))


def training_of(name: str) -> RunConfig:
    return RunConfig(
        game=name, seats=SeatsConfig(share="seat"), net=NetConfig(hidden=(16,)), ppo=PPOConfig(minibatches=2),
        evaluation=EvalConfig(eval_games=0),
    )  # fmt: skip


def game_fault(table: str, mutant: Mutant) -> Outcome:
    game = claimed(mutant.make(), mutant.alike)
    found = exact.exact(game)
    hit = found.finding.outcome == "FAIL"
    if mutant.level == "L2":
        hit = not hit and by_games(game, found.fair, 0)
    return counted(table, hit, detail=found.finding.evidence)


def by_games(game: Game, fair: Any, seed: int) -> bool:
    """Whether L2 accuses, with the probes that are fair."""
    players, _ = players_of(game)
    play = returns.match_player(game, players, fair, batch=BATCH, seed=seed)
    budget = returns.Budget(games=GAMES, seconds=600.0, batch=BATCH)
    return min(returns.compare(game.spec, play, budget).p_values) < ALPHA


def by_random_play(mutant: Mutant) -> Outcome:
    game = claimed(mutant.make(), mutant.alike)
    return counted("seats, random play alone", by_games(game, [("random",) * game.spec.sides], 0))


def asked(pipe: pipeline.Pipeline) -> dict[str, bool]:
    found = (ask(pipe) for ask in (pipeline.equivariance, pipeline.parity, booking.booking))
    return {one.level: one.outcome == "FAIL" for one in found}


def training_fault(patch: Patch) -> Outcome:
    with patched(patch):
        found = asked(pipeline.Pipeline.of(training_of("stag_hunt"), stag_hunt()))
    return counted(OF_LEVEL[patch.level], found[patch.level], detail=found)


def loop_fault(name: str, level: str) -> Outcome:
    audit = audit_logs([loop(seed, wrong=name) for seed in range(SEEDS)])
    found = {one.level: one.outcome == "FAIL" for one in audit.findings}
    return counted("seats, loops", found[level], detail=audit.verdict)


def clean_game(name: str) -> Outcome:
    try:
        game = claimed(registry.make(name))
    except SparringError as error:
        return Outcome({}, str(error))
    return accused("clean, L1", lambda: game)


def accused(table: str, make: Any) -> Outcome:
    finding = exact.exact(claimed(make())).finding
    return counted(table, finding.outcome == "FAIL", detail=f"{finding.outcome} {finding.evidence}")


def loop_alarms(first: int) -> Outcome:
    """Twenty loops of other people, of three seeds each."""
    found = [audit_logs([loop(SEEDS * seed + i) for i in range(SEEDS)]) for seed in range(first, first + 20)]
    levels = [[one.level for one in audit.findings if one.outcome == "FAIL"] for audit in found]
    return counted("alarms, loops", *map(bool, levels), detail=[own for own in levels if own])


@cache
def plain_pipe() -> pipeline.Pipeline:
    return pipeline.Pipeline.of(training_of("stag_hunt"), stag_hunt())


def training_alarms(first: int) -> Outcome:
    """Training with a stand-in, from other weights and other chance each time."""
    pipe, hits = plain_pipe(), []
    for seed in range(first, first + 20):
        own = replace(pipe, built=replace(pipe.built, config=replace(pipe.built.config, seed=1000 + seed)))
        own.__dict__.update({"_play": pipe._play, "_teach": pipe._teach, "_remember": pipe._remember})  # same programs
        hits.append(any(asked(own).values()))
    return counted("alarms, trainings", *hits)


@cache
def clean_games() -> list[Game]:
    return [make() for make in seat_mutants.CLEAN.values()]


def game_alarm(number: int) -> Outcome:
    """One of the clean games in turn, whole L1 and L2."""
    game = clean_games()[number % len(clean_games())]
    found = exact.exact(game, seed=1000 + 20 * number)
    hits = {"L1": found.finding.outcome == "FAIL", "L2": by_games(game, found.fair, 1000 + number)}
    return Outcome({f"alarms, games {level}": (int(hit), 1) for level, hit in hits.items()})


def run_alarms(first: int) -> Outcome:
    """L6 on tiny trainings of snowdrift, stacked: seats are alike, so no order may repeat. What seats earned is kept:
    the power of L6 is measured with it."""
    table = tiny_runs(20 * SEEDS, 1000 * (1 + first))
    parts = table.reshape(20, SEEDS, -1)
    hits = [trained.consistency(part, tuple("abcd")).outcome == "FAIL" for part in parts]
    return Outcome({"alarms, runs L6": (sum(hits), len(hits))}, table.round(4).tolist())


def tiny_runs(seeds: int, seed: int) -> np.ndarray:
    """return_RS of snowdrift on a small grid after 20 iterations, as many seeds stacked."""
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start

    game = snowdrift(size=4, drifts=3, steps=12)
    config = replace(
        training_of("snowdrift"), play=PlayConfig(worlds=8, steps=12), seed=seed, seeds=seeds,
        total_steps=4 * 8 * 12 * 20,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        start(config, Path(folder) / "run", game=game)
        return trained.table_of(RunDir.open(Path(folder) / "run").metrics(), game.spec.seat_names)
