"""What each module of a mind is worth: the rungs of a ladder, and beside it what the literature has, all else being
alike; many seeds as one program, at equal steps and at equal time.

    python benchmarks/ladder.py                                      # trains every rung, prints the table
    python benchmarks/ladder.py --arms plain full --steps 1e6 --seeds 5
    python benchmarks/ladder.py --game particles:spread --arms plain full --out runs/ladder-spread
    python benchmarks/ladder.py --steps 0                            # the table of what is there
    python benchmarks/ladder.py --plan 50 3 --arms full --games 16   # its learners looking ahead, beside themselves

A rung is data: a name, and what it sets beside what all have. What was trained before is not trained again. Time is
that of processor cores, so that others on the machine do not count; the first iteration, which compiles, counts as a
usual one.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparring.audit.seats.trained import table_of
from sparring.evaluation.match import prepare_match
from sparring.opponent_models.config import PlanningConfig
from sparring.opponent_models.planning import Planner
from sparring.play.scripted import Scripted, bot_names
from sparring.recipes.defaults import default_config
from sparring.recipes.minds import ARMS
from sparring.setup.build import Built
from sparring.setup.planners import check_planner
from sparring.setup.program import TrainState
from sparring.setup.rows import taken
from sparring.statistics.intervals import mean_interval
from sparring.statistics.paired import detectable, paired
from sparring.statistics.permutation import friedman, page
from sparring.store.run_dir import RunDir
from sparring.training.own_evaluation import players_of_seed
from sparring.training.runs import start, trained_state

RUNGS: dict[str, dict[str, Any]] = {
    "plain": ARMS["plain"],
    "full": ARMS["imagine"],
    "any error": {**ARMS["imagine"], "imagine_gate": 1.0},
    "oracle world": ARMS["oracle"],
    "no imagination": ARMS["minds"],
    "no goal model": {**ARMS["actions"], "imagine": "learned"},
    "no action model": {**ARMS["spatial"], "mind_tells": "goals"},
    "shared policy": ARMS["shared_policy"],
    "mappo": ARMS["mappo"],
    "prosocial": ARMS["prosocial"],
    "selfish": ARMS["selfish"],
    "influence": ARMS["influence"],
    "memory of a game": ARMS["memory"],
    "memory of five games": ARMS["meta"],
}
"""Without imagination is without a model of the world: nothing but imagination asks it, and a run that learns one and
never asks it is the run without it to the bit (tests/opponent_models/test_imagine.py). `any error` believes its model
as soon as it errs less than a guess, not half as much. Without a model of actions there is no imagination either, since
nobody says what the others do in it; goals are then read by a network, for Bayes' rule needs that model as well."""
RESPONSE = "trained response"
"""One learner among bots that do not learn: what can be earned there."""
LAST = 0.2
"""Share of training that is judged."""
Row = dict[str, Any]


def train(name: str, arguments: argparse.Namespace) -> Row:
    """A row of figures: of each iteration the return of each seed, and core seconds up to its end."""
    common: dict[str, Any] = {"share": "seat", "seeds": arguments.seeds, "worlds": arguments.worlds, "eval_games": 0}
    alone = {"share": "auto", "opponent": arguments.against[0], "side": 0}
    own = alone if name == RESPONSE else RUNGS[name]
    said = {key: number_or_text(value) for key, _, value in (text.partition("=") for text in arguments.set)}
    config = default_config(arguments.game, **{**common, "total_steps": int(arguments.steps), **own, **said})
    folder, seconds = Path(arguments.out) / name.replace(" ", "_"), [time.process_time()]
    start(config, folder, force=True, on_iteration=lambda _: seconds.append(time.process_time()))
    run = RunDir.open(folder)
    lines = run.metrics()
    row = {"arm": name, **common_to_all(arguments), "return": returns(lines), "mind": late_means(lines)}
    row["seats"] = table_of(lines, [name.removeprefix("return/") for name in named_returns(lines)]).tolist()
    among_bots = {bot: among(run, bot, arguments.games) for bot in arguments.against}
    return {**row, "seconds": np.diff(seconds).tolist(), "against": among_bots}


def common_to_all(arguments: argparse.Namespace) -> Row:
    names = ("game", "steps", "seeds", "worlds", "set")
    return {name: getattr(arguments, name) for name in names}


def number_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def returns(lines: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """return_RI: of each seed and iteration the mean over seats; not a number where no game ended."""
    own = [line for line in lines if line["kind"] == "train"]
    seeds = sorted({line["seed"] for line in own})

    names = named_returns(lines)

    def mean(line: Mapping[str, Any]) -> float:
        found = [line[name] for name in names if line.get(name) is not None]
        return float(np.mean(found)) if found else float("nan")

    return [[mean(line) for line in own if line["seed"] == seed] for seed in seeds]


def named_returns(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """One for each learner, or for the policy that all share."""
    names = next(line for line in lines if line["kind"] == "train")
    return [name for name in names if name.startswith("return/") and " vs " not in name]


def late_means(lines: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What minds measured in the last part of training, over learners and seeds."""
    own = [line for line in lines if line["kind"] == "train"]
    late = [line for line in own if line["iteration"] >= (1 - LAST) * own[-1]["iteration"]]
    names = {name.split("/mind/")[1] for line in late for name in line if "/mind/" in name and "/loss/" not in name}
    values = {
        short: [line[name] for line in late for name in line if name.endswith(f"/mind/{short}")] for short in names
    }
    known = {short: [value for value in found if value is not None] for short, found in sorted(values.items())}
    return {short: float(np.mean(found)) for short, found in known.items() if found}


def among(run: RunDir, bot: str, games: int, planning: PlanningConfig | None = None) -> list[float]:
    """For each seed what a learner earns where the bot drives all other sides, over learners; empty where it cannot.
    `planning`: how learners look ahead, if they do."""
    built, state = trained_state(run)
    spec, sides, learner_of = built.game.spec, built.plan.seating.seats_of_side, built.lineup.player_of_side()
    if bot not in bot_names(built.game) or spec.sides < 2 or len(sides) != spec.sides:
        return []
    lineups = [tuple(learner_of[k] if k == home else bot for k in range(len(sides))) for home in learner_of]
    scripted = {bot: Scripted.make(built.game, bot)}

    def players(r: int) -> dict[str, Any]:
        plain = players_of_seed(built, state, r)
        return {**(plain if planning is None else looking_ahead(built, state, r, planning, plain)), **scripted}

    match = prepare_match(built.game, lineups, players(0), games=games, seats_of_side=sides)
    found = []
    for r in range(built.config.seeds):
        played = match(players(r), seed=r)
        pairs = zip(learner_of, played, strict=True)
        found.append(float(np.mean([games.return_GS[:, list(sides[home])].mean() for home, games in pairs])))
    return found


def looking_ahead(
    built: Built, state: TrainState, r: int, planning: PlanningConfig, players: Mapping[str, Any]
) -> dict[str, Any]:
    """The learners of a seed as players that look ahead."""
    check_planner(built.game.spec, built.config)
    found, ppo = dict(players), built.config.ppo
    discount, ends = ppo.discount.at(1.0), ppo.time_limit == "end"
    for group, names in zip(taken(state.learners, r), built.lineup.learners, strict=True):
        for row, name in enumerate(names):
            critic = taken(group.model, row).judge
            found[name] = Planner.make(players[name], critic, built.game, discount, planning, cut_ends=ends)
    return found


def plan(arguments: argparse.Namespace) -> None:
    """What learners of arms that are there earn among bots, looking ahead and as they are, in as many games."""
    simulations, goals = arguments.plan
    planning = PlanningConfig(plan_simulations=simulations, plan_goals=goals)
    for name in arguments.arms:
        folder = Path(arguments.out) / name.replace(" ", "_")
        for bot in arguments.against if folder.is_dir() else ():
            run, begun = RunDir.open(folder), time.process_time()
            plain = among(run, bot, arguments.games)
            halfway = time.process_time()
            ahead = among(run, bot, arguments.games, planning)
            gap, spent = paired(plain, ahead), time.process_time() - halfway
            print(
                f"{name} among {bot}: {shown(mean_interval(plain))}; looking ahead ({goals} trees of {simulations}) "
                f"{shown(mean_interval(ahead))}, {shown(gap.difference)} more, p = {gap.p_value:.3f}; "
                f"{spent:.0f} core seconds instead of {halfway - begun:.0f}", flush=True,
            )  # fmt: skip


def late(row: Row, iterations: int) -> np.ndarray:
    """Of each seed the mean return in the last part of the first so many iterations."""
    return_RI = np.asarray(row["return"], float)[:, :iterations]
    return np.nanmean(return_RI[:, int((1 - LAST) * iterations) :], axis=1)


def clock(row: Row) -> np.ndarray:
    """Core seconds up to the end of each iteration."""
    seconds = np.asarray(row["seconds"], float)
    seconds[0] = min(seconds[0], float(np.median(seconds)))
    return seconds.cumsum()


def table(rows: Sequence[Row], base: Row, against: Sequence[str]) -> str:
    """Figures with 95 % intervals over seeds. Differences are paired by seed, by exchanging signs."""
    fastest = min(clock(row)[-1] for row in rows if row["arm"] != RESPONSE)
    among_bots = [f"among {bot}" for bot in against]
    head = ("arm", "return", f"more than {base['arm']}", "p", "return at equal time", *among_bots, "ms")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        count = len(row["return"][0])
        own, within = late(row, count), max(int((clock(row) <= fastest * (1 + 1e-9)).sum()), 1)
        more, p = "", ""
        if row is not base and row["arm"] != RESPONSE and len(own) > 1:
            gap = paired(late(base, len(base["return"][0])), own)
            more, p = shown(gap.difference), f"{gap.p_value:.3f}"
        equal = "" if row["arm"] == RESPONSE else shown(mean_interval(late(row, within)))
        others = [shown(mean_interval(row["against"][bot])) if row["against"].get(bot) else "" for bot in against]
        ms = f"{1e3 * np.median(row['seconds']) / len(own):.0f}"
        lines.append("| " + " | ".join([row["arm"], shown(mean_interval(own)), more, p, equal, *others, ms]) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[Row], path: Path) -> None:
    """The return over training with 95 % intervals over seeds, by steps and by time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    for number, row in enumerate(rows):
        return_RI = np.asarray(row["return"], float)
        means = [mean_interval(column[np.isfinite(column)]) for column in return_RI.T]
        steps = np.arange(1, len(means) + 1) / len(means) * row["steps"]
        for axis, at in zip(axes, (steps, clock(row) / len(return_RI)), strict=True):
            colour = f"C{number}" if number < 10 else f"C{number - 10}"
            axis.plot(at, [one.mean for one in means], "-" if number < 10 else "--", label=row["arm"], color=colour)
            axis.fill_between(at, [one.low for one in means], [one.high for one in means], alpha=0.15, color=colour)
            axis.grid(alpha=0.25)
    axes[0].set_xlabel("steps of seats")
    axes[0].set_ylabel(f"return of a seat, mean over {rows[0]['seeds']} seeds")
    axes[1].set_xlabel("core seconds of a seed")
    axes[1].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def seats(row: Row) -> str:
    """Whether any seat earns more than another, over seeds (`sparring audit seats` has pictures of it)."""
    return_RS = np.asarray(row["seats"])
    if return_RS.ndim < 2 or return_RS.shape[1] < 2 or len(return_RS) < 2 or row["arm"] == RESPONSE:
        return ""
    share_RS = (return_RS - return_RS.mean(1, keepdims=True)) / return_RS.mean()
    found = [mean_interval(column) for column in share_RS.T]
    reach = max(max(abs(one.low), abs(one.high)) for one in found)
    power = max(detectable(column) for column in share_RS.T)
    return (
        f"{row['arm']}: any order of seats p = {friedman(return_RS):.2f}, falling with the number p = "
        f"{page(return_RS):.2f}; a seat is apart from the mean by "
        + ", ".join(f"{one.mean:+.1%}" for one in found)
        + f", all within {reach:.1%}; {power:.1%} would be seen in 80 of 100 such experiments"
    )


def shown(one: Any) -> str:
    return f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]" if np.isfinite(one.low) else f"{one.mean:.2f}"


def command(arguments: argparse.Namespace) -> None:
    if arguments.plan:
        plan(arguments)
        return
    results = Path(arguments.out) / "ladder.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.is_file() else []
    known = {row["arm"]: row for row in rows}
    wanted = common_to_all(arguments)
    if arguments.steps and any({name: row[name] for name in wanted} != wanted for row in rows):
        raise SystemExit(f"{results} holds arms with other steps, seeds, worlds or settings. Name another --out.")
    for name in arguments.arms if arguments.steps else ():
        if name not in known:
            known[name] = train(name, arguments)
            with results.open("a") as file:
                file.write(json.dumps(known[name]) + "\n")
            print(f"{name}: {late(known[name], len(known[name]['return'][0])).mean():.2f}", flush=True)
    there = [known[name] for name in (*RUNGS, RESPONSE) if name in known]
    if not there:
        raise SystemExit(f"Nothing was trained in {arguments.out}. Leave --steps out, or name another --out.")
    base = known.get(arguments.base, there[0])
    if arguments.picture:
        draw([row for row in there if row["arm"] != RESPONSE], Path(arguments.picture))
    print(table(there, base, arguments.against))
    print(*filter(None, map(seats, there)), sep="\n")
    print()
    for row in (row for row in there if row["mind"]):
        print(f"{row['arm']}: " + ", ".join(f"{name} {value:.2f}" for name, value in row["mind"].items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", default=[*RUNGS, RESPONSE], choices=[*RUNGS, RESPONSE])
    parser.add_argument("--game", default="stag_hunt")
    parser.add_argument("--steps", type=float, default=2e6, help="of each arm; 0: train nothing, print the table")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of all arms")
    parser.add_argument("--picture", default="", help="draw the curves of arms into this file")
    parser.add_argument("--base", default="plain", choices=tuple(RUNGS), help="what differences are to")
    parser.add_argument(
        "--against", nargs="+", default=["nearest_hare", "nearest_stag", "prosocial", "random"],
        help="bots at whose tables learners are judged as well; a response is trained to the first",
    )  # fmt: skip
    parser.add_argument(
        "--plan", nargs=2, type=int, metavar=("SIMULATIONS", "TREES"), help="let arms that are there look ahead instead"
    )
    parser.add_argument("--games", type=int, default=64, help="of each learner there")
    parser.add_argument("--out", default="runs/ladder")
    command(parser.parse_args())
