"""sparring sweep GAME: train with settings that Optuna proposes, one training after another, and say which did best."""

import json as json_text
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from sparring.cli import own_code, signals
from sparring.cli.compare import code_in, game_of
from sparring.cli.flags import named, parse, split
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.main import STOPPED
from sparring.cli.train import Train, plain_name, settled
from sparring.core import code
from sparring.core.errors import ConfigError, RunError
from sparring.store.durable import replace_file
from sparring.studies.sweep import Trial, Varied, best, measured, optuna_here, points, sweep, varied

PLAN = "plan.json"
OURS = ("--name", "--runs", "--force")
"""Flags of training that a sweep sets itself."""
NOT_HERE = ("--from", "--dry-run", "--print-config")
"""Those that do nothing here."""
EXAMPLES = (
    "sparring sweep kuhn --trials 20 --vary learning_rate=1e-4..1e-2:log entropy=0..0.1 --minimise exploitability",
    "sparring sweep --out runs/sweep-kuhn-1 --trials 40",
    "sparring sweep --recipe hyper_mappo_spread --grid --vary smooth=0.01,0.1,1 anchor=0.01,0.05,0.5 --maximise "
    "return/agent_0",
)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Search for settings: each training takes what those before it suggest (Optuna, extra sweep).

    The game comes first, as with `sparring train`; every other flag of `sparring train` goes to all trainings.
    """

    vary: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=LOW..HIGH[:log] ...", help_behavior_hint="")] = ()
    """Settings that are searched, by the names of their flags: a range, on a logarithmic scale with :log, or choices
    (activation=tanh,relu)."""
    maximise: Annotated[str, tyro.conf.arg(metavar="METRIC", help_behavior_hint="")] = ""
    """The metric that shall be large, by its name in metrics.jsonl: of the last evaluation, else the mean of the last
    tenth of training."""
    minimise: Annotated[str, tyro.conf.arg(metavar="METRIC", help_behavior_hint="")] = ""
    """The metric that shall be small."""
    trials: int = 20
    """Trainings in all, those before a stop included."""
    grid: bool = False
    """Train every combination of the choices in --vary once, instead of a search; --trials then counts for nothing."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="(default: in runs/)")] = None
    """Folder of the sweep; one that was begun goes on, and then needs no other words but --trials."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: own_code.CodeConfig = field(default_factory=own_code.CodeConfig)
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


@dataclass(frozen=True)
class Plan:
    words: tuple[str, ...]
    """For `sparring train`, the same for every trial."""
    vary: tuple[str, ...]
    metric: str
    maximise: bool
    grid: bool = False

    @property
    def space(self) -> list[Varied]:
        return [varied(text) for text in self.vary]


def command(words: list[str]) -> int:
    own, shared = split(words, Sweep)
    arguments = parse(Sweep, own, command="sweep", examples=EXAMPLES)
    if arguments.trials < 1:
        raise ConfigError(f"--trials must be at least 1, found {arguments.trials}.")
    optuna_here()
    prepare(arguments.machine)
    own_code.admit(arguments.own)
    code.admit(*code_in(shared))
    out, plan = agreed(arguments, shared)
    with signals.heard(as_json=arguments.json) as wishes:

        def train(number: int, flags: list[str]) -> float | None:
            value = trained(plan, out / f"trial-{number:04d}", flags, wishes.stop)
            if not arguments.quiet and not arguments.json:
                signals.say(f"trial {number}: {shlex.join(flags)} -> {'failed' if value is None else f'{value:.6g}'}")
            return value

        seed = parse(Train, list(plan.words), command="sweep").run.seed
        try:
            found = sweep(
                out, plan.space, trials=len(points(plan.space)) if plan.grid else arguments.trials,
                maximise=plan.maximise, seed=seed, train=train, grid=plan.grid,
            )  # fmt: skip
        except StoppedError:
            if arguments.json:
                print(json_text.dumps({"out": str(out), "finished": False}))
            again = f"sparring sweep --out {out} --trials {arguments.trials}"
            signals.say(f"Stopped, exit code {STOPPED}. Go on: {again}")
            return STOPPED
    tell(plan, out, best(found, maximise=plan.maximise), as_json=arguments.json)
    return 0


class StoppedError(Exception):
    """A signal asked for the end; the trial that it fell into is trained again."""


def trained(plan: Plan, path: Path, flags: list[str], should_stop: Any) -> float | None:
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start

    words = [*plan.words, *flags]
    arguments = parse(Train, words, command="sweep")
    config, _ = settled(arguments, named(words))
    try:
        summary = start(config, path, force=True, should_stop=should_stop, track=arguments.track)
    except ConfigError as error:  # each end was fine for itself; together they may not be
        signals.say(f"{path.name}: {error}")
        return None
    if not summary.finished:
        raise StoppedError
    return measured(RunDir.open(path), plan.metric)


def agreed(arguments: Sweep, shared: list[str]) -> tuple[Path, Plan]:
    """What is searched and where, written down; what can be known to be wrong is told before any training."""
    begun = read(arguments.out / PLAN) if arguments.out else None
    if begun and not (shared or arguments.vary or arguments.maximise or arguments.minimise):
        assert arguments.out is not None
        code.admit(*(code_in(begun.words) if arguments.own.trust else ()))
        return arguments.out, begun
    for word in shared:
        if word.partition("=")[0] in OURS:
            raise ConfigError(f"sweep sets {word.partition('=')[0]} itself: its folder is --out.")
        if word.partition("=")[0] in NOT_HERE:
            raise ConfigError(f"{word.partition('=')[0]} does nothing in a sweep. Leave it out.")
    game = game_of(shared)
    if bool(arguments.maximise) == bool(arguments.minimise):
        raise ConfigError("Name one metric: --maximise METRIC or --minimise METRIC, such as --minimise exploitability.")
    if not arguments.vary:
        raise ConfigError("Nothing is varied. Name settings, for example: --vary learning_rate=1e-4..1e-2:log")
    metric = arguments.maximise or arguments.minimise
    plan = Plan(tuple(shared), arguments.vary, metric, bool(arguments.maximise), arguments.grid)
    if plan.grid:
        points(plan.space)
    check_ends(plan)
    out = arguments.out or free_folder(game)
    if begun and begun != plan:
        raise ConfigError(f"{out} searches for something else. Give no words but --trials to go on, or another --out.")
    if not begun and out.exists() and any(out.iterdir()):
        raise ConfigError(f"Expected a new folder or a sweep at {out}, found something else. Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    plain = {"words": shared, "vary": plan.vary, "metric": metric, "maximise": plan.maximise, "grid": plan.grid}
    replace_file(out / PLAN, json_text.dumps(plain, indent=2).encode())
    return out, plan


def check_ends(plan: Plan) -> None:
    """Build the settings at each end of each range: what is refused there is refused now."""
    from sparring.setup.build import build

    names = [one.name for one in plan.space]
    for name in names:
        if names.count(name) > 1 or name in named(plan.words):
            raise ConfigError(f"{name} is varied and set, or varied twice. Leave one out.")
    for one in plan.space:
        for end in one.ends:
            words = [*plan.words, *one.words(end)]
            build(settled(parse(Train, words, command="sweep"), named(words))[0])


def free_folder(game: str) -> Path:
    number = 1
    while (folder := Path("runs") / f"sweep-{plain_name(game)}-{number}").exists():
        number += 1
    return folder


def read(path: Path) -> Plan | None:
    if not path.is_file():
        return None
    try:
        told = json_text.loads(path.read_text(encoding="utf-8"))
        return Plan(
            tuple(map(str, told["words"])), tuple(map(str, told["vary"])), str(told["metric"]),
            bool(told["maximise"]), bool(told.get("grid", False)),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{path} cannot be read as the plan of a sweep. Choose another --out.") from None


def command_line(plan: Plan, trial: Trial) -> str:
    flags = [word for one in plan.space for word in one.words(trial.settings[one.name])]
    return shlex.join(["sparring", "train", *plan.words, *flags])


def tell(plan: Plan, out: Path, ranked: Sequence[Trial], *, as_json: bool) -> None:
    done = [one for one in ranked if one.value is not None]
    line = command_line(plan, done[0]) if done else ""
    if as_json:
        trials = [{"trial": one.number, "settings": dict(one.settings), "value": one.value} for one in ranked]
        print(json_text.dumps({"out": str(out), "metric": plan.metric, "trials": trials, "best": line}))
        return
    names = [one.name for one in plan.space]
    aim = "largest" if plan.maximise else "smallest"
    table = Table(title=f"{len(ranked)} trials, {aim} {plan.metric} first")
    for column in ("trial", *names, plan.metric):
        table.add_column(column, justify="right")
    for one in ranked:
        value = "failed" if one.value is None else f"{one.value:.4g}"
        table.add_row(str(one.number), *(one.settings[name] for name in names), value)
    Console().print(table)
    print(f"folder   {out}\nbest     {line}" if done else f"folder   {out}\nNo trial gave a number.")
    print("The best of many trials is partly luck: train it again with other seeds before you trust it.")
