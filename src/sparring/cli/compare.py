"""sparring compare GAME: several regimes of self-play with the same budget and seeds, side by side.

DIR/plan.json      what is compared: the words for every training, and the regimes
DIR/REGIME/        an ordinary run each
DIR/costs.json     wall-clock and peak memory of its processes
DIR/compare.html   DIR/compare.json   DIR/compare.png    what came out
"""

import json as json_text
import shlex
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from sparring.cli import own_code, signals
from sparring.cli.child import Ended, run_child
from sparring.cli.flags import named, parse, split
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.main import STOPPED
from sparring.cli.notes import note
from sparring.cli.train import Train, check_one_game, flagged, names_game, plain_name, ready_made
from sparring.core import code
from sparring.core.errors import ConfigError, RunError, unknown
from sparring.core.fields import check_ranges
from sparring.evaluation.regimes import Comparison, Cost
from sparring.games.registry import available, overview, parse_options
from sparring.recipes.self_play import SELF_PLAY, alphastar, averaged, magnet, pool, shadow, sparring
from sparring.reports.comparison import (
    comparison_json,
    comparison_picture,
    cost_table,
    equal_time_table,
    explanation,
    strength_table,
)
from sparring.reports.comparison_page import comparison_page
from sparring.reports.judgement import ahead, judgement, recommended
from sparring.reports.tables import parted
from sparring.setup.checks import check_rows
from sparring.store.durable import replace_file
from sparring.store.fingerprint import coincidences
from sparring.store.run_dir import RunDir

USUAL = tuple(make.__name__ for make in (averaged, magnet, sparring, shadow, pool, alphastar))
SEEDS, TIMES = "3", "20"
FEW, ENOUGH = 5, 10
"""Seeds: the fewest that are advised where nothing is sure, and as many as show what is worth finding."""
PLAN, COSTS = "plan.json", "costs.json"
RESULT, PICTURE, PAGE = "compare.json", "compare.png", "compare.html"
OURS = {
    "--self-play": "compare sets --self-play itself: name those who oppose with --regimes.",
    "--name": "compare sets --name itself: the folder is --out.",
    "--runs": "compare sets --runs itself: the folder is --out.",
    "--force": "compare never replaces a run: remove the folder, or choose another --out.",
    "--code": "compare passes --code on by itself: name the files on its own command line.",
    "--trust": "compare passes --trust on by itself: say it on its own command line.",
    "--regime": "There is no flag --regime. Did you mean --regimes?",
}
"""Flags that are no use here, and what is."""
LINE = 120
"""Columns of the tables where the output is no terminal."""
EXAMPLES = (
    "sparring compare kuhn --total-steps 300000",
    "sparring compare dogfight --seeds 5 --worlds 256 --regimes naive shadow alphastar --out runs/which",
    "sparring compare --out runs/which",
)


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train several regimes of self-play with the same steps and seeds, let all of them meet, and say what helps.

    The game comes first, as with `sparring train`; every other flag of `sparring train` goes to all regimes.
    """

    regimes: Annotated[tuple[str, ...], tyro.conf.arg(metavar="|".join(SELF_PLAY), help_behavior_hint="")] = ()
    """Names of --self-play; the first is what the others are measured against. Default: averaged, which is naive with
    its average, and five others."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: own_code.CodeConfig = field(default_factory=own_code.CodeConfig)
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="(default: in runs/)")] = None
    """Folder of the comparison; one that was begun goes on, and then needs no other words."""
    games: int = 32
    """Games of each pair when all meet, an even number: each start is played from both sides."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


@dataclass(frozen=True)
class Plan:
    out: Path
    regimes: tuple[str, ...]
    words: tuple[str, ...]
    """For `sparring train`, the same for every regime."""


def command(words: list[str]) -> int:
    own, shared = split(words, Compare)
    arguments = parse(Compare, own, command="compare", examples=EXAMPLES)
    if "--regimes" in own and not arguments.regimes:
        raise ConfigError(f"--regimes names nobody. Leave it out, or name some of {', '.join(SELF_PLAY)}.")
    plan = agreed(arguments, shared)
    try:
        failures = train_all(plan, arguments)
        if failures is None:
            if arguments.json:
                print(json_text.dumps({"out": str(plan.out), "finished": False}))
            signals.say(f"Stopped, exit code {STOPPED}; nothing is lost. Go on: sparring compare --out {plan.out}")
            return STOPPED
        comparison = meet(plan, arguments, failures)
    except KeyboardInterrupt:
        signals.say(f"Stopped; what is saved stays. Go on: sparring compare --out {plan.out}")
        raise
    found = comparison_json(comparison)
    write(plan.out / RESULT, json_text.dumps(found, indent=2).encode())
    write(plan.out / PICTURE, picture := comparison_picture(comparison))
    again = f"sparring compare --out {plan.out}"
    write(plan.out / PAGE, comparison_page(comparison, picture, *next_step(comparison, plan), again).encode())
    print(json_text.dumps({**found, "out": str(plan.out)})) if arguments.json else tell(comparison, plan)
    return 0


def agreed(arguments: Compare, shared: list[str]) -> Plan:
    """What is to be compared and where, written down; what can be known to be wrong is told before any training."""
    from sparring.evaluation.tournament import check_counts

    check_counts(arguments.games, max(arguments.games, 2))
    check_names(arguments.regimes, shared)
    check_one_game(shared, f" Runs that are trained already meet in: sparring tournament {' '.join(shared[:2])}")
    begun = read(arguments.out / PLAN) if arguments.out else None
    admit_named(arguments, shared, (begun or {}).get("words", ()))
    if begun is not None:
        shared, out = shared or begun["words"], arguments.out
    else:
        game = game_of(shared)
        shared = shared if "seeds" in named(shared) else [*shared, "--seeds", SEEDS]
        if not {"eval_every", "eval_times", "eval_games"} & set(named(shared)):  # what is judged is half of the run
            shared = [*shared, "--eval-times", TIMES]
        out = arguments.out or usual_folder(game, shared)
    assert out is not None
    begun = begun or read(out / PLAN)
    if begun is not None and settled(shared) != settled(begun["words"]):
        raise ConfigError(
            f"{out} compares with `{shlex.join(begun['words'])}`, found `{shlex.join(shared)}`. "
            "Give the same words or none to go on, or choose another --out."
        )
    if begun is None and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ConfigError(
            f"Expected a new folder or a comparison at {out}, found something else. Choose another --out."
        )
    regimes = arguments.regimes or tuple(begun["regimes"] if begun else USUAL)
    check_names(regimes, shared)  # those of a plan too: names out of a file become folders and flags
    write(out / PLAN, json_text.dumps({"words": shared, "regimes": regimes}, indent=2).encode())
    return Plan(out, regimes, tuple(shared))


def admit_named(arguments: Compare, shared: list[str], begun: Sequence[str]) -> None:
    """Code that these words name may be loaded; that of a comparison which goes on only if it is named here too."""
    own_code.admit(arguments.own)
    code.admit(*code_in(shared), *(code_in(begun) if arguments.own.trust else ()))
    for text in code_in(begun):
        if not code.is_admitted(text):
            code.load(text)  # the sentence that refuses it


def code_in(words: Sequence[str]) -> tuple[str, ...]:
    """Everything that words for `sparring train` name and that is code."""
    if not words:
        return ()
    from sparring.setup.own_code import named_code

    said = parse(Train, list(words), command="compare")
    return named_code(replace(said.run, game=said.word or said.run.game))


def check_names(regimes: tuple[str, ...], shared: list[str]) -> None:
    for name in regimes:
        if name not in SELF_PLAY:
            hint = " A game is named before --regimes." if name in available() else ""
            raise ConfigError(unknown("regime", name, SELF_PLAY) + hint)
        if regimes.count(name) > 1:
            raise ConfigError(f"The regime {name} is named twice. Leave one out.")
    for word in shared:
        if (flag := word.partition("=")[0]) in OURS:
            raise ConfigError(OURS[flag])


def game_of(shared: list[str]) -> str:
    """The game, if `sparring train` understands these words and what they say can be, whoever opposes."""
    arguments, given = parse(Train, shared, command="compare"), named(shared)
    if not names_game(arguments, given):
        raise ConfigError(
            f"Which game? Name one, for example: sparring compare kuhn. There are {', '.join(overview())}."
        )
    config = flagged(ready_made(arguments, given), arguments, given)
    check_ranges(config)
    check_rows(config)
    parse_options(config.game, config.options)
    return config.game


def usual_folder(game: str, shared: list[str]) -> Path:
    """The comparison of these words in runs/, or the first number that is free."""
    for number in count(1):
        folder = Path("runs") / f"compare-{plain_name(game)}-{number}"
        begun = read(folder / PLAN)
        if not folder.exists() or (begun is not None and settled(begun["words"]) == settled(shared)):
            return folder
    raise AssertionError("numbers do not end")


def settled(words: Sequence[str]) -> list[list[str]]:
    """Flags with their values in one order, so that comparisons of the same settings are found to be the same."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            groups.append(word.split("=", 1))
        else:
            groups[-1].append(word)
    return sorted(groups)


def train_all(plan: Plan, arguments: Compare) -> dict[str, str] | None:
    """Train or go on with every regime that is not finished; those that fail, and why. None: a signal ended it, and the
    training that was under way was saved."""
    from sparring.studies.compare import finished

    machine, failures = machine_words(arguments.machine), {}
    for number, regime in enumerate(plan.regimes, start=1):
        path = plan.out / regime
        if finished(path):
            say(f"{regime}: finished before", arguments)
            continue
        if begun(path):
            words = ["resume", str(path)]
        else:
            words = ["train", *plan.words, "--self-play", regime, "--runs", str(plan.out), "--name", regime, "--force"]
        say(f"{regime}: {words[0]}, {number} of {len(plan.regimes)}", arguments)
        words += own_code.words(arguments.own, code.admitted())
        ended = run_child([*words, *machine], prefix=regime, quiet=arguments.quiet or arguments.json)
        add_cost(plan.out, regime, ended)
        if ended.stopped:
            if ended.code in (0, STOPPED):
                return None
            raise KeyboardInterrupt  # a second signal, or a child that could not save
        if not finished(path):
            how = f"killed by signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
            stopped = ended.code in (0, STOPPED)
            failures[regime] = "stopped before its end" if stopped else f"{ended.reason} ({how})".strip()
            print(f"{regime}: failed: {failures[regime]}", file=sys.stderr)
    return failures


def begun(path: Path) -> bool:
    """Whether there is enough of a run to go on with; settings are written first, and then the manifest in full."""
    return (path / "manifest.json").is_file() and "iterations" in RunDir.open(path).read_manifest()


def machine_words(machine: MachineConfig) -> list[str]:
    found = asdict(machine)
    words = [f"--{name}={found[name]}" for name in ("device", "threads", "precision")]
    return [*words, "--compile-cache" if machine.compile_cache else "--no-compile-cache"]


def meet(plan: Plan, arguments: Compare, failures: dict[str, str]) -> Comparison:
    runs = {regime: plan.out / regime for regime in plan.regimes if regime not in failures}
    if not runs:
        told = "; ".join(f"{regime}: {reason}" for regime, reason in failures.items())
        raise RunError(f"No regime reached its end. {told}")
    for place, path in enumerate(paths := list(runs.values())):
        for sentence in coincidences(path, paths[place + 1 :]):
            note(f"{sentence}.")
    say("all meet", arguments)
    prepare(arguments.machine)  # not before: an accelerator's memory was for those who trained
    from sparring.studies.compare import compared

    costs = {regime: Cost(**cost) for regime, cost in (read(plan.out / COSTS) or {}).items()}
    return compared(runs, games=arguments.games, costs=costs, failures=failures)


def add_cost(out: Path, regime: str, ended: Ended) -> None:
    """Wall-clock adds up over the processes of a regime that was interrupted; of memory the highest peak counts."""
    costs = read(out / COSTS) or {}
    old = costs.get(regime, {"seconds": 0.0, "peak_mib": None})
    peaks = [peak for peak in (old["peak_mib"], ended.peak_mib) if peak is not None]
    costs[regime] = {"seconds": old["seconds"] + ended.seconds, "peak_mib": max(peaks, default=None)}
    write(out / COSTS, json_text.dumps(costs, indent=2).encode())


def tell(comparison: Comparison, plan: Plan) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=LINE)
    timed = [equal_time_table(comparison)] * (comparison.clock is not None)
    for table in (strength_table(comparison), *timed, cost_table(comparison)):
        for part in parted(table, console.width):
            console.print(part)
    notes = explanation(comparison)
    indent = len(notes[0]) - len(notes[0].partition("  ")[2].lstrip())
    if console.is_terminal:
        notes = [wrapped(line, console.width, indent) for line in notes]
    print("\n".join(notes))
    print(f"picture  {plan.out / PICTURE}\nreport   {plan.out / PAGE}\nfigures  {plan.out / RESULT}\n")
    advice, advised = next_step(comparison, plan)
    said, step = judgement(comparison), f"next     {advice}"
    if console.is_terminal:
        said, step = [wrapped(line, console.width) for line in said], wrapped(step, console.width, indent=9)
    print("\n".join([*said, "", step, *[f"         {advised}"] * bool(advised)]))  # a command in one line, to be copied


def wrapped(line: str, width: int, indent: int = 0) -> str:
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def next_step(comparison: Comparison, plan: Plan) -> tuple[str, str]:
    """A sentence that says why, and a command, which may be empty."""
    found, regime = ahead(comparison), recommended(comparison)
    if found is not None and regime:
        path = plan.out / regime
        steps = 2 * RunDir.open(path).read_manifest().get("total_steps", 0)
        longer = f" --total-steps {steps}" if steps else ""
        why = f"{found.best.name} is surely ahead in {found.measure.name}; that run is there: go on with it."
        return why, shlex.join(["sparring", "resume", str(path)]) + longer
    if len(comparison.candidates) < 2:
        return "Mend what failed, or name more --regimes.", f"sparring compare --out {shlex.quote(str(plan.out))}"
    if comparison.seeds >= ENOUGH:
        return f"Nothing is surely better after {comparison.seeds} seeds: keep what you have, or train for longer.", ""
    why = f"{found.best.name} is ahead in {found.measure.name}, not surely" if found else "Nothing is sure"
    regimes = [regime for regime in plan.regimes if regime not in comparison.failures]
    words = shlex.join(["sparring", "compare", *with_seeds(plan.words, more := more_seeds(comparison.seeds))])
    return f"{why}: {more} seeds tell more than {comparison.seeds}.", f"{words} --regimes {' '.join(regimes)}"


def more_seeds(seeds: int) -> int:
    return min(max(2 * seeds, FEW), ENOUGH)


def with_seeds(words: Sequence[str], seeds: int) -> list[str]:
    """The same words with another number of seeds."""
    kept = list(words)
    for place, word in enumerate(kept):
        if word == "--seeds":
            return [*kept[: place + 1], f"{seeds}", *kept[place + 2 :]]
        if word.startswith("--seeds="):
            return [*kept[:place], f"--seeds={seeds}", *kept[place + 1 :]]
    return [*kept, "--seeds", f"{seeds}"]


def say(line: str, arguments: Compare) -> None:
    if not (arguments.quiet or arguments.json):
        print(line, file=sys.stderr, flush=True)


def read(path: Path) -> dict[str, Any] | None:
    """A file of a comparison; None where there is none."""
    if not path.is_file():
        return None
    try:
        found = json_text.loads(path.read_text(encoding="utf-8"))
        check_file(path, found)
        return found
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path} cannot be read as part of a comparison: {error}. Remove it, or choose another --out."
        ) from error


def check_file(path: Path, found: Any) -> None:
    """ValueError where a file of a comparison is not as one writes it."""
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    if path.name == PLAN:
        for name in ("words", "regimes"):
            if not isinstance(texts := found.get(name), list) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name} is not a list of texts")
        return
    for regime, cost in found.items():
        if not isinstance(cost, dict) or set(cost) != {"seconds", "peak_mib"}:
            raise ValueError(f"the cost of {regime} is not seconds and peak_mib")
        if type(cost["seconds"]) not in (int, float) or type(cost["peak_mib"]) not in (int, float, type(None)):
            raise ValueError(f"the cost of {regime} is no numbers")


def write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror or error}. Choose another --out.") from error
