"""The seat audit as a whole: levels L0 to L8, cheapest first, of a game, a training configuration and its runs."""

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparring.audit.findings import Audit, Finding, Picture, Tell, concluded, untold
from sparring.audit.seats import booking, differences, exact, ladder, pipeline, returns, static, trained
from sparring.audit.seats.changing_seats import change_seats
from sparring.audit.seats.claims import claimed
from sparring.audit.seats.ladder import Training, rungs_of
from sparring.audit.seats.levels import ALPHA, L1, L2, L3, L4, L5, L6, L7, L8, LEVELS, verdict_of
from sparring.audit.seats.parity import parity_finding
from sparring.audit.seats.probes import Cast, cast_name, players_of, without_mind
from sparring.audit.seats.returns import Budget
from sparring.audit.seats.starts import seats_alike
from sparring.core.errors import ConfigError
from sparring.games.game import Game
from sparring.learn.config import COEFFICIENTS
from sparring.learn.module import weights_of
from sparring.nets.minds import has_mind
from sparring.players.loaded import load
from sparring.setup.build import Built
from sparring.setup.config import RunConfig
from sparring.store.run_dir import RunDir

OUTSIDE = "the worlds of this game are in other processes: their states cannot be set, so seats cannot be exchanged."


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is audited, and how thoroughly."""

    game: Game
    config: RunConfig | None = None
    """The training, in which each seat has a learner of its own; None: the game alone."""
    runs: tuple[Path, ...] = ()
    """Runs of that training; their seeds together are those of L6."""
    alike: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    """Further code to look through."""
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    training: Training | None = None
    """Where it is given, runs are trained for L6 and L7."""
    folder: Path = Path("audits")
    levels: tuple[str, ...] = LEVELS
    subject: str = ""
    command: str = ""


def audit_seats(asked: Asked, tell: Tell = untold) -> Audit:
    """Run the levels that are asked for. Raises ConfigError where nothing can be judged."""
    began = time.monotonic()
    game = claimed(asked.game, asked.alike)
    pipe, why_not = pipeline_of(asked, game)
    findings = [settings(asked, game, pipe)] if "L0" in asked.levels else []
    pictures, fair = [], None
    if "L1" in asked.levels:
        found, fair = exchanged(asked, game, part(tell, 0.0, 0.35))
        findings.append(found)
    if "L2" in asked.levels:
        found, pictures = earned(asked, game, fair, part(tell, 0.35, 0.7))
        findings.append(found)
    tell("L3 learners on each other's seats", 0.7)
    if "L3" in asked.levels:
        untrained = L3.skipped("no trained run is named.")
        findings.append(change_seats(game, asked.runs[0], seed=asked.seed) if asked.runs else untrained)
    tell("L4, L5, L8 training with a stand-in", 0.75)
    findings += stand_in_levels(asked, pipe, why_not)
    more, shown = trained_levels(asked, game, part(tell, 0.85, 1.0))
    findings = sorted(findings + more, key=lambda one: LEVELS.index(one.level))
    groups = (", ".join(game.spec.seat_names[s] for s in group) for group in seats_alike(game))
    facts = {
        "seats that should be alike": "; ".join(groups),
        "seed": str(asked.seed),
        "chance of a false alarm": f"at most {ALPHA:g} at each of L2, L3, L6 and L7; other levels have none",
        "margin": f"{differences.MARGIN:.0%} of what a seat earns",
        "seconds": f"{time.monotonic() - began:.0f}",
    }
    return concluded(
        "seats", asked.subject or type(game).__name__, verdict_of(findings), findings, facts=facts,
        command=asked.command, pictures=pictures + shown,
    )  # fmt: skip


def part(tell: Tell, low: float, high: float) -> Tell:
    """A part of the work, told as its share of the whole."""
    return lambda doing, share: tell(doing, low + (high - low) * share)


def pipeline_of(asked: Asked, game: Game) -> tuple[pipeline.Pipeline | None, str]:
    """Training with a stand-in, or why there is none."""
    if asked.config is None:
        return None, "no training is named."
    try:
        return pipeline.Pipeline.of(asked.config, game), ""
    except ConfigError as error:
        return None, f"this training cannot be built with a stand-in: {error}"


def settings(asked: Asked, game: Game, pipe: pipeline.Pipeline | None) -> Finding:
    """L0: coefficients in force of learners that should be alike, and code."""
    files = [Path(inspect.getfile(type(game))), *asked.sources]
    suspects = [one for path in files for one in static.scan(path)]
    in_force = coefficients(pipe.built, game) if pipe else {}
    return static.settings_finding(in_force, suspects, foreign=bool(asked.sources))


def coefficients(built: Built, game: Game) -> dict[str, dict[str, float]]:
    """By learner of a seat that has a twin, every coefficient at the beginning, in the middle and at the end."""
    terms = game.spec.terms_of("reward") + game.spec.terms_of("potential") if built.plan.shaping else ()
    alike = {seat for group in seats_alike(game) for seat in group}
    found: dict[str, dict[str, float]] = {}
    for when, iteration in (("", 0), (" halfway", built.iterations // 2), (" at the end", built.iterations - 1)):
        for group, learners in enumerate(built.lineup.learners):
            lanes = built.plan.seating.groups[built.plan.seating.learning[group]].lanes
            ppo = built.plan.kinds[group].ppo
            own = (f"weight of {name}" for name in weights_of(ppo.losses, ppo.modules))
            names = (*COEFFICIENTS, *(f"shaping of {term}" for term in terms), *own)
            for row, learner in enumerate(learners):
                seats = {seat for _, side in lanes[row] for seat in built.plan.seating.seats_of_side[side]}
                if seats & alike:
                    values = map(float, built.knobs(iteration)[group][row])
                    named = {f"{name}{when}": value for name, value in zip(names, values, strict=True)}
                    if built.config.learner:
                        named["kind of network and algorithm (--learner)"] = group
                    found.setdefault(learner, {}).update(named)
    return found


def exchanged(asked: Asked, game: Game, tell: Tell) -> tuple[Finding, tuple[Cast, ...] | None]:
    if game.spec.outside:
        return L1.skipped(OUTSIDE), None
    found = exact.exact(game, seed=asked.seed, learned=copies(asked, game), tell=tell)
    return found.finding, found.fair


def copies(asked: Asked, game: Game) -> dict[str, Any]:
    """The first learner of a run, to sit on all seats: it knows best what to quarrel about."""
    if not asked.runs or game.spec.outside:
        return {}
    policy = load(asked.runs[0], game=game).newest
    driver = without_mind(policy.drivers[0])
    muted = " without its mind" if has_mind(policy.drivers[0]) else ""
    return {f"copies of {policy.names[0]}{muted}": driver}


def earned(asked: Asked, game: Game, fair: Sequence[Cast] | None, tell: Tell) -> tuple[Finding, list[Picture]]:
    """L2, with players that treat seats alike where that is known."""
    players, casts = players_of(game, copies(asked, game) if fair else None)
    casts = [cast for cast in casts if fair is None or cast in fair]
    if not casts:
        return L2.skipped("no probe treats the seats that it sees alike."), []
    players = {name: players[name] for cast in casts for name in cast}
    play = returns.match_player(game, players, casts, batch=asked.budget.batch, seed=asked.seed)
    tell(f"L2 compiling games of {', '.join(map(cast_name, casts))}", 0.0)
    played = returns.compare(game.spec, play, asked.budget, tell)
    shown = min(played.p_values) < ALPHA
    by_place = returns.name_or_place(game, players, played, casts, asked.budget) if shown else ""
    return differences.judged(game.spec.seat_names, played, by_place=by_place), returns.pictures_of(game.spec, played)


def stand_in_levels(asked: Asked, pipe: pipeline.Pipeline | None, why_not: str) -> list[Finding]:
    asks = {L4: pipeline.equivariance, L5: pipeline.parity, L8: booking.booking}
    found = []
    for question, ask in asks.items():
        if question.level not in asked.levels:
            continue
        reason = why_not
        if pipe and question is not L8 and max(map(len, pipe.names)) < 2:
            reason = "one policy drives all seats: there is nobody to compare. Train with --share seat."
        found.append(question.skipped(reason) if reason or not pipe else ask(pipe))
        if question is L5 and asked.runs and found[-1].outcome == "PASS":
            found[-1] = in_runs(metrics_of(asked.runs), found[-1])
    return found


def in_runs(lines: Sequence[Mapping[str, Any]], alike: Finding) -> Finding:
    """L5 of the runs themselves: how often each learner learned, and how many of its minibatches were spoilt; `alike`
    is what a stand-in showed."""
    ledger: dict[str, dict[str, float]] = {}
    for line in lines:
        for name, _, what in (key.rpartition("/") for key in line):
            if what == "bad_minibatches":
                own = ledger.setdefault(name, {"iterations of learning": 0.0, "spoilt minibatches": 0.0})
                own["iterations of learning"] += line[f"{name}/policy_loss"] is not None
                own["spoilt minibatches"] += float(line[f"{name}/bad_minibatches"] or 0.0)
    found = parity_finding(ledger, "in these runs") if ledger else alike
    return found if found.outcome == "FAIL" else replace(alike, evidence=f"{alike.evidence} In the runs they are, too.")


def trained_levels(asked: Asked, game: Game, tell: Tell) -> tuple[list[Finding], list[Picture]]:
    """L6 of the runs that there are, or of some that are trained; L7 only of those."""
    group = max(seats_alike(game), key=len)
    seats = [game.spec.seat_names[seat] for seat in group]
    lines: Mapping[str, list[dict[str, Any]]] = {ladder.FULL: metrics_of(asked.runs)} if asked.runs else {}
    if asked.training and asked.config:
        lines = ladder.trained(rungs_of(asked.config), asked.game, asked.folder, asked.training, tell)
    tables = {name: trained.table_of(own, seats) for name, own in lines.items()}
    found, shown = [], []
    if "L6" in asked.levels:
        reason = "nothing was trained. Name runs, or train some with --full."
        full = tables.get(ladder.FULL, np.zeros((0, len(seats))))
        found.append(trained.consistency(full, seats) if len(full) else L6.skipped(reason))
        if len(full) > 1:
            slopes = {name: trained.slope_of(table) for name, table in tables.items()} if len(tables) > 1 else None
            shown += trained.pictures_of(full, lines[ladder.FULL], seats, slopes)
    if "L7" in asked.levels:
        reason = "the ladder of trainings is part of --full."
        found.append(trained.localised(tables, ladder.SHARED) if len(tables) > 1 else L7.skipped(reason))
    return found, shown


def metrics_of(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Lines of several runs; seeds of each are numbered apart."""
    lines = ((number, line) for number, run in enumerate(runs) for line in RunDir.open(run).metrics())
    return [{**line, "seed": (number, line["seed"])} for number, line in lines if line["kind"] == "train"]
