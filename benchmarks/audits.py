"""What the audits find, and how often they are wrong.

    python benchmarks/audits.py seats                  # every mutant: which levels find it
    python benchmarks/audits.py alarms --audits 200    # clean games and trainings: how often anything is accused
    python benchmarks/audits.py clean                  # exact exchange in every game of ours that has seats alike
    python benchmarks/audits.py power                  # one seat earns 5 % more: how many games show it
    python benchmarks/audits.py effects                # the same of the audit of effects
    python benchmarks/audits.py health                 # and of that of health

Add --json FILE to keep the numbers, and --part 2/4 to do the second quarter of the work in a process of its own.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from seat_mutants import CLEAN, GAMES, LOOPS, TRAINING, doctored, loop, patched, scaled
from sparring.audit.seats import exact, pipeline, returns, trained
from sparring.audit.seats.claims import claimed
from sparring.audit.seats.logged import audit_logs
from sparring.audit.seats.probes import players_of
from sparring.core.errors import SparringError
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.social.coin import coin
from sparring.games.social.snowdrift import snowdrift
from sparring.games.social.stag_hunt import stag_hunt
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.statistics.intervals import wilson

BATCH = 128


def rate_text(hits: int, count: int) -> str:
    one = wilson(hits, count)
    return f"{hits}/{count} = {one.mean:.1%} [{one.low:.1%}, {one.high:.1%}]"


def training_of(name: str) -> RunConfig:
    return RunConfig(
        game=name, seats=SeatsConfig(share="seat"), net=NetConfig(hidden=(16,)), ppo=PPOConfig(minibatches=2),
        evaluation=EvalConfig(eval_games=0),
    )  # fmt: skip


def levels_of_game(game: Game, seed: int, *, games: int) -> dict[str, bool]:
    """Whether exact exchange finds something, whether random play alone does, and whether all probes do."""
    found = exact.exact(game, seed=seed)
    players, casts = players_of(game)
    casts = [cast for cast in casts if cast in found.fair]
    outcomes = {"L1": found.finding.outcome == "FAIL"}
    for name, own in (
        ("L2 random play", [cast for cast in casts if set(cast) == {"random"}]),
        ("L2 all probes", casts),
    ):
        play = returns.match_player(game, players, own, batch=BATCH, seed=seed)
        budget = returns.Budget(games=games, seconds=600.0, batch=BATCH)
        outcomes[name] = min(returns.compare(game.spec, play, budget).p_values) < returns.ALPHA
    return outcomes


def part_of(things: Sequence[Any], part: str) -> list[Any]:
    """Every n-th of the things, from the one that the part names on."""
    number, parts = map(int, part.split("/"))
    return list(things)[number - 1 :: parts]


def clean(arguments: argparse.Namespace) -> dict[str, Any]:
    """L1 of every game that says which of its seats are alike."""
    rows = {}
    for name in part_of(registry.available(), arguments.part):
        try:
            game = claimed(registry.make(name))
        except SparringError:
            continue
        finding = exact.exact(game).finding
        rows[name] = {"outcome": finding.outcome, "evidence": finding.evidence}
        print(name, finding.outcome, finding.evidence, flush=True)
    print(f"accused: {rate_text(sum(row['outcome'] == 'FAIL' for row in rows.values()), len(rows))}")
    return rows


def seats(arguments: argparse.Namespace) -> dict[str, Any]:
    """Detection of every mutant, level by level."""
    rows: dict[str, Any] = {}
    for name, mutant in part_of(list(GAMES.items()), arguments.part):
        began = time.process_time()
        found = levels_of_game(claimed(mutant.make(), mutant.alike), 0, games=arguments.games)
        rows[name] = {"expected": mutant.level, **found, "cpu seconds": round(time.process_time() - began, 1)}
        print(name, rows[name], flush=True)
    game = stag_hunt()
    for name, patch in part_of(list(TRAINING.items()), arguments.part):
        with patched(patch):
            pipe = pipeline.Pipeline.of(training_of("stag_hunt"), game)
            asked = (pipeline.equivariance, pipeline.parity, pipeline.booking)
            rows[name] = {
                "expected": patch.level,
                **{f.level: f.outcome == "FAIL" for f in (ask(pipe) for ask in asked)},
            }
        print(name, rows[name], flush=True)
    for name, level in part_of(list(LOOPS.items()), arguments.part):
        found = audit_logs([loop(seed, wrong=name) for seed in range(3)])
        rows[f"loop: {name}"] = {"expected": level, **{f.level: f.outcome == "FAIL" for f in found.findings}}
        print(f"loop: {name}", found.verdict, rows[f"loop: {name}"], flush=True)
    exact_ones = [row for row in rows.values() if row["expected"] in ("L0", "L1", "L4", "L5", "L8")]
    hits = sum(bool(row[row["expected"]]) for row in exact_ones)
    by_random = sum(row["L1"] and not row["L2 random play"] for row in rows.values() if "L2 random play" in row)
    print(f"found by the level that must find them: {rate_text(hits, len(exact_ones))}")
    print(f"found exactly, and missed by random play: {by_random} of {len(GAMES)} games")
    return rows


def alarms(arguments: argparse.Namespace) -> dict[str, Any]:
    """Clean audits with another seed each: how often each level accuses."""
    mine = part_of(range(arguments.audits), arguments.part)
    kinds = {"loops": loop_alarms, "trainings": pipeline_alarms, "runs": trained_alarms, "games": game_alarms}
    rows: dict[str, Any] = {}
    for kind in arguments.kinds:
        for level, hits in kinds[kind](mine, arguments).items():
            rows[f"{kind}, {level}"] = {"accused": hits, "of": len(mine)}
            print(f"{kind}, {level}: {rate_text(hits, len(mine))}", flush=True)
    return rows


def loop_alarms(mine: Sequence[int], _: argparse.Namespace) -> Counter[str]:
    """Loops of other people, of three seeds each."""
    accused = Counter({"L0": 0, "L3": 0, "L5": 0, "L6": 0, "L8": 0})
    for seed in mine:
        audit = audit_logs([loop(3 * seed + i) for i in range(3)])
        accused.update(one.level for one in audit.findings if one.outcome == "FAIL")
    return accused


def pipeline_alarms(mine: Sequence[int], _: argparse.Namespace) -> Counter[str]:
    """Training with a stand-in, from other weights and other chance each time."""
    accused, pipe = Counter({"L4": 0, "L5": 0, "L8": 0}), pipeline.Pipeline.of(training_of("stag_hunt"), stag_hunt())
    for seed in mine:
        own = replace(pipe, built=replace(pipe.built, config=replace(pipe.built.config, seed=1000 + seed)))
        own.__dict__.update({"_play": pipe._play, "_teach": pipe._teach})  # the same programs
        for ask in (pipeline.equivariance, pipeline.parity, pipeline.booking):
            finding = ask(own)
            accused[finding.level] += finding.outcome == "FAIL"
    return accused


def game_alarms(mine: Sequence[int], arguments: argparse.Namespace) -> Counter[str]:
    """The clean games in turn."""
    accused, games = Counter({"L1": 0, "L2": 0}), {name: make() for name, make in CLEAN.items()}
    for number, seed in enumerate(mine):
        game = list(games.values())[seed % len(games)]
        found = exact.exact(game, seed=1000 + 20 * seed)
        accused["L1"] += found.finding.outcome == "FAIL"
        players, casts = players_of(game)
        casts = [cast for cast in casts if cast in found.fair]
        play = returns.match_player(game, players, casts, batch=BATCH, seed=1000 + seed)
        budget = returns.Budget(games=arguments.games, seconds=600.0, batch=BATCH)
        accused["L2"] += min(returns.compare(game.spec, play, budget).p_values) < returns.ALPHA
        if number % 10 == 9:
            print(f"{number + 1} games: {dict(accused)}", flush=True)
    return accused


def trained_alarms(mine: Sequence[int], _: argparse.Namespace, seeds: int = 3) -> Counter[str]:
    """L6 on tiny trainings of snowdrift, `seeds` of them to an audit: seats are alike, so no order may repeat."""
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start

    count, game = len(mine), snowdrift(size=4, drifts=3, steps=12)
    config = replace(
        training_of("snowdrift"), play=PlayConfig(worlds=8, steps=12), seed=1000 * (1 + mine[0]),
        seeds=count * seeds,
        total_steps=4 * 8 * 12 * 20,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        start(config, Path(folder) / "run", game=game)
        table = trained.table_of(RunDir.open(Path(folder) / "run").metrics(), game.spec.seat_names)
    parts = table.reshape(count, seeds, -1)
    found = [trained.consistency(part, game.spec.seat_names).outcome for part in parts]
    return Counter({"L6": found.count("FAIL")})


def power(arguments: argparse.Namespace) -> dict[str, Any]:
    """One seat earns 5 % more: how many games the audit says it takes, and how often it has seen it by then."""
    rows = {}
    bots = {"stag_hunt": (stag_hunt(), "nearest_hare"), "snowdrift": (snowdrift(), "cleaner"), "coin": (coin(), "own")}
    for name, (fair, bot) in part_of(list(bots.items()), arguments.part):
        game = doctored(fair, steps=scaled(0, 1.05))
        players, _ = players_of(game)
        cast = (bot,) * game.spec.sides

        def play(seed: int, game: Game = game, players: Any = players, cast: tuple = cast) -> Callable:
            return returns.match_player(game, players, [cast], batch=BATCH, seed=seed)

        pilot = returns.compare(game.spec, play(0), returns.Budget(games=BATCH * 8, seconds=600.0, batch=BATCH))
        effect = returns.SEEN * pilot.size
        needed = max(
            returns.games_to_see(effect, one.spread, returns.ALPHA / len(pilot.tallies), returns.USUAL)
            for one in pilot.tallies
        )
        seen = 0
        for seed in range(arguments.repeats):
            budget = returns.Budget(games=needed, seconds=600.0, batch=BATCH)
            seen += min(returns.compare(game.spec, play(7 + seed), budget).p_values) < returns.ALPHA
        rows[name] = {"probe": bot, "earns": pilot.size, "games": needed, "seen": seen, "of": arguments.repeats}
        print(f"{name}, {bot}: {needed:,} games; seen {rate_text(seen, arguments.repeats)}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("seats", "alarms", "clean", "power", "effects", "health"))
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--games", type=int, default=2048, help="of each probe")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--kinds", nargs="+", default=["loops", "trainings", "runs", "games"], help="of alarms")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    own = {"seats": seats, "alarms": alarms, "clean": clean, "power": power}
    if arguments.what in own:
        found = own[arguments.what](arguments)
    else:
        found = import_module("audits_effects").measure(arguments.what)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1, default=lambda x: np.asarray(x).tolist()) + "\n")


if __name__ == "__main__":
    main()
