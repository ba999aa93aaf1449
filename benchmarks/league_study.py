"""Does a league help anywhere? The same learning and steps, other opponents; judged by what can be won of the result.

    python benchmarks/league_study.py train dogfight naive --out runs/study     # into runs/study/dogfight/naive
    python benchmarks/league_study.py exploit dogfight naive --out runs/study   # responses to every seed's policies
    python benchmarks/league_study.py table dogfight --out runs/study           # all of them meet; prints the table

Regimes can be trained at the same time, each by a process of its own; seconds are then those of shared hardware.
Dogfight has the demo's shaping and stages and four times its worlds; `psro` goes without stages, which oracles do not
take. Bots oppose in `sparring` and `alphastar` alone, and only the lower half of the ladder: the others are held out
for all. Leduc and its kind are judged exactly.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml
from sparring.evaluation.scoring import LEARNED, SHADOW
from sparring.evaluation.stored import last_scores
from sparring.recipes.catalogue import demo
from sparring.recipes.defaults import default_config
from sparring.recipes.self_play import apply
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir

REGIMES = ("naive", "averaged", "magnet", "sparring", "pool", "alphastar", "psro")
HELD_OUT = ("hasty", "lead", "ace", "master")
BOTS = Schedule.parse(0.2)


def config_of(game: str, regime: str, *, steps: int, seeds: int, worlds: int = 1024) -> RunConfig:
    if game != "dogfight":
        own = {"total_steps": steps} if steps else {}
        config = default_config(game, self_play=regime, seeds=seeds, eval_times=10, eval_games=32, **own)
        return replace(config, checkpoint=CheckpointConfig(checkpoint_every=0, keep=1))
    base = demo()
    base = replace(
        base,
        stages=() if regime == "psro" else base.stages,
        total_steps=steps or base.total_steps,
        seeds=seeds,
        play=PlayConfig(worlds=worlds, steps=64, blocks=32),
        ppo=replace(base.ppo, minibatches=8),
        evaluation=EvalConfig(eval_times=5, eval_games=64),
        checkpoint=CheckpointConfig(checkpoint_every=0, keep=1),
    )
    config = apply(base, regime)
    ladder = base.opponents.ladder if regime in ("sparring", "alphastar") else ()
    bots = BOTS if regime == "alphastar" else config.opponents.bots
    return replace(config, opponents=replace(config.opponents, ladder=ladder, bots=bots))


def train(game: str, regime: str, path: Path, *, steps: int, seeds: int, worlds: int) -> None:
    from sparring.training.runs import start

    start(config_of(game, regime, steps=steps, seeds=seeds, worlds=worlds), path, force=True)


def exploit(path: Path, *, steps: int, games: int, newest: bool) -> None:
    """What responses of one budget win of everything that the run might deploy, or of the newest policies alone."""
    from sparring.games import registry
    from sparring.players.named import Source
    from sparring.studies.weakness import by_responses, targets_of

    run = RunDir.open(path)
    config = load_toml(RunConfig, run.config_path)
    game = registry.make(config.game, **registry.parse_options(config.game, config.options))
    learner = replace(config, total_steps=steps, schedule_steps=0, seeds=1, seed=1000, stages=config.stages[-1:])
    answered = set()
    for target in targets_of(Source(path), game):
        if newest and target.seed in answered:  # of each seed the newest comes first
            continue
        answered.add(target.seed)
        found = by_responses(game, target, learner, games=games, seed=1)
        run.append_exploits([found.line()])
        print(path.name, target.player, target.seed, f"{found.exploitability:.3f}", flush=True)


def table(paths: dict[str, Path], *, games: int) -> dict[str, dict[str, list[float]]]:
    """For each candidate its figures, seed by seed."""
    from sparring.reports.comparison import comparison_json
    from sparring.studies.compare import compared

    found = comparison_json(compared(paths, games=games))
    rows: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for one in found["candidates"]:
        for name, figure in one["figures"].items():
            rows[one["name"]][name] = figure["seeds"]
    for regime, path in paths.items():
        for team, name in ((LEARNED, regime), (SHADOW, f"{regime}.{SHADOW}")):
            if points := held_out(path, team):
                rows[name]["held out"] = points
    return rows


def held_out(path: Path, team: str) -> list[float]:
    """For each seed the share of points against bots that opposed nobody in training."""
    run = RunDir.open(path)
    scores = last_scores(read_results(run.results_path, "eval"), run.read_manifest())
    known = [score for score in scores if score.team == team and score.opponents in HELD_OUT and score.scores]
    return np.mean([[own.mean for own in score.scores] for score in known], axis=0).tolist() if known else []


def printed(rows: dict[str, dict[str, list[float]]]) -> str:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = ["| candidate | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    for candidate, row in rows.items():
        cells = [f"{np.mean(row[n]):.3f} ± {half(row[n]):.3f}" if n in row else "" for n in names]
        lines.append(f"| {candidate} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def half(values: list[float]) -> float:
    from sparring.statistics.intervals import mean_interval

    interval = mean_interval(values)
    return interval.high - interval.mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "exploit", "table"))
    parser.add_argument("game")
    parser.add_argument("regimes", nargs="*", default=REGIMES)
    parser.add_argument("--out", type=Path, default=Path("runs/study"))
    parser.add_argument("--steps", type=int, default=0, help="of training or of a response; 0: as the game has it")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--worlds", type=int, default=1024, help="of dogfight: half of them make twice the updates")
    parser.add_argument("--games", type=int, default=64)
    parser.add_argument("--newest", action="store_true", help="answer the newest policies alone, not their averages")
    parser.add_argument("--json", type=Path, help="where the table is kept")
    arguments = parser.parse_args()
    paths = {regime: arguments.out / arguments.game.replace(":", "-") / regime for regime in arguments.regimes}
    if arguments.what == "table":
        rows = table({name: path for name, path in paths.items() if path.exists()}, games=arguments.games)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows))
        print(printed(rows))
        return
    for regime, path in paths.items():
        if arguments.what == "train":
            train(arguments.game, regime, path, steps=arguments.steps, seeds=arguments.seeds, worlds=arguments.worlds)
        else:
            exploit(path, steps=arguments.steps or 5_000_000, games=arguments.games, newest=arguments.newest)


if __name__ == "__main__":
    main()
