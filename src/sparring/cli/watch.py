"""How a person watches training: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from sparring.core.errors import RunError
from sparring.store.run_dir import RunDir

if TYPE_CHECKING:  # help answers without jax
    from sparring.training.train import Progress as Moment

LINES = 20
"""Plain lines over a whole run when standard error is not a terminal."""
RECENT = 10
"""Iterations whose games a line of progress tells of."""
STILL = 30.0
"""Seconds between two words while a program is compiled."""
Lines = Sequence[Mapping[str, Any]]
KINDS = {"self": "itself", "past": "past", "shadow": "shadow", "bot": "bots", "rival": "rivals", "guest": "guests"}
"""Opponents, as the metrics call them and as a line does."""


class Bar(Progress):
    """A bar with a line of text below it, which may be longer than what a terminal has left beside it."""

    note = ""

    def __init__(self, *columns: Any, **settings: Any) -> None:
        super().__init__(*columns, **settings)
        self.quiet_no_more = Event()
        """Set once there is something else to see, or nobody looks any more."""

    def stop(self) -> None:
        self.quiet_no_more.set()
        super().stop()

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self.note:
            yield Text(self.note, style="dim")


class Watch:
    """Shows progress on standard error; standard output stays for results."""

    def __init__(self, *, quiet: bool, steps_per_iteration: int, seeds: int, start: int = 0) -> None:
        self.quiet, self.start = quiet, start
        self.steps_per_iteration, self.seeds = steps_per_iteration, seeds
        self.console = Console(stderr=True)
        self.bar = Bar(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]}"), TimeElapsedColumn(),
            TextColumn("left:"), TimeRemainingColumn(), console=self.console,
            disable=quiet or not self.console.is_terminal,
        )  # fmt: skip
        self.task = self.bar.add_task("compiling", total=None, done="")
        self.recent: deque[Lines] = deque(maxlen=RECENT)
        self.asked: float | None = None
        self.began: float | None = None
        self.iterations, self.trained = 0, 0.0

    def begin(self, told: str, usual: float | None) -> None:
        """Say who opposes, and that nothing more is to be seen until the program is compiled; `usual`: how many
        seconds that took before."""
        self.asked = time.monotonic()
        took = f"took {usual:z.0f} s last time" if usual else "takes 5 to 60 s the first time"
        for line in (told, f"Compiling, which {took}; Ctrl-C stops at any time."):
            self.say(line)
        if not self.quiet:
            Thread(target=self.wait, daemon=True).start()

    def wait(self) -> None:
        """A word now and then while there is nothing else to see."""
        began = time.monotonic()
        while not self.bar.quiet_no_more.wait(STILL):
            self.say(f"Still compiling, {span(time.monotonic() - began)}.")

    def say(self, line: str) -> None:
        if line and not self.quiet:
            self.bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __call__(self, moment: "Moment") -> None:
        first = self.began is None
        self.bar.quiet_no_more.set()
        pace, clock = self.pace(moment.seconds), self.clock(moment)
        self.recent.append(moment.lines)
        note = "  ".join((pace, *headline(moment.lines, moment.evaluated, [x for own in self.recent for x in own])))
        done = f"{moment.iteration}/{moment.iterations}"
        for line in moment.notices:
            seed = f", seed {line['seed']}" if self.seeds > 1 else ""
            self.say(f"iteration {line['iteration'] + 1}, {line['learner']}{seed}: {line['text']}")
        self.bar.note = note
        self.bar.update(
            self.task, description="training", total=moment.iterations, completed=moment.iteration, done=done
        )
        every = max(1, -(-(moment.iterations - self.start) // LINES))
        if not self.quiet and not self.console.is_terminal and (first or (moment.iteration - self.start) % every == 0):
            print(f"iteration {done}{clock}  {note}", file=sys.stderr, flush=True)

    def pace(self, seconds: float) -> str:
        """The mean speed of training so far, without evaluations. The first iteration mostly compiles, which says
        nothing about the others."""
        if self.began is None:
            self.began = time.monotonic()
            waited = seconds if self.asked is None else self.began - self.asked  # the first evaluation compiles, too
            return f"compiled in {waited:z.1f} s"
        self.iterations += 1
        self.trained += seconds
        steps = self.iterations * self.steps_per_iteration * self.seeds
        return f"{steps / self.trained:z,.0f} steps/s"

    def clock(self, moment: "Moment") -> str:
        """Time since the first iteration, and what is left at this pace."""
        if self.began is None or not self.iterations:
            return ""
        spent = time.monotonic() - self.began
        return f"  {span(spent)}, {span(spent / self.iterations * (moment.iterations - moment.iteration))} left"


def span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def compiled_before(runs: Path, game: str) -> float | None:
    """Seconds that the newest run of a game in this folder took for its first iteration, most of which compiles."""
    for manifest in sorted(runs.glob("*/manifest.json"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            run = RunDir.open(manifest.parent)
            timing = run.timing() if run.read_manifest().get("game") == game else []
        except (RunError, OSError):
            continue
        if timing:
            return timing[0]["seconds"]
    return None


def headline(lines: Lines, evaluated: Lines = (), recent: Lines = ()) -> list[str]:
    """What a person looks for in one iteration, each a few words: how the learner does, whether it is healthy. Means
    over seeds, of what there is; of games with opponents that change those of the last iterations, `recent`."""
    return [
        part for part in (outcome(recent or lines), newest_evaluation(evaluated), rating(lines), health(lines)) if part
    ]


def mean(lines: Lines, keys: Sequence[str]) -> float | None:
    values = [line[key] for line in lines for key in keys if line.get(key) is not None]
    return sum(values) / len(values) if values else None


def mean_of_games(lines: Lines, word: str, kind: str) -> float | None:
    """Over all games with opponents of a kind: of a few alone it is mostly luck."""
    known = [
        (line[f"{word}/{kind}"], line.get(f"games/{kind}") or 1)
        for line in lines
        if line.get(f"{word}/{kind}") is not None
    ]
    total = sum(games for _, games in known)
    return sum(value * games for value, games in known) / total if total else None


def outcome(lines: Lines) -> str:
    """What the games of an iteration brought: points against each kind of opponent; where nobody else is met, how often
    a lone team won, or what seats earned; of a contest, in which that adds up to nothing, how long games were."""
    first = lines[-1]
    for word in ("earned", "points"):  # where both are known the game is judged by what is earned
        told = {kind: mean_of_games(lines, word, kind) for kind in KINDS if f"{word}/{kind}" in first}
        parts = [f"{KINDS[kind]} {x:z.2f}" for kind, x in told.items() if x is not None]
        if parts:
            return f"{word}: {', '.join(parts)}"
    returns = {key: x for key in first if key.startswith("return/") and (x := mean(lines, [key])) is not None}
    won = [x for key in first if key.startswith("won/") and (x := mean(lines, [key])) is not None]
    if not returns:
        return "no game ended"
    if len(won) == 1:
        return f"won {won[0]:.0%}, return {sum(returns.values()) / len(returns):z.2f}"
    if len(returns) > 1 and abs(sum(returns.values())) < 1e-3 * sum(map(abs, returns.values())):
        return f"games of {mean(lines, ['length']) or 0:z.1f} steps"
    shown = list(by_team(returns).items())[:4]
    return "return: " + ", ".join(f"{name} {x:z.2f}" for name, x in shown)


def by_team(returns: Mapping[str, float]) -> dict[str, float]:
    """Seats by name; those numbered alike once, where all of them earn the same, as a team does."""
    teams: dict[str, list[str]] = {}
    for key in returns:
        teams.setdefault(key.removeprefix("return/").rstrip("_0123456789"), []).append(key)
    found = {}
    for stem, keys in teams.items():
        alike = len(keys) > 1 and len({returns[key] for key in keys}) == 1
        found |= {stem: returns[keys[0]]} if alike else {key.removeprefix("return/"): returns[key] for key in keys}
    return found


def newest_evaluation(lines: Lines) -> str:
    """Of the newest evaluation: exact exploitability, or the mean against bots."""
    when = " at the start" if lines and lines[0]["steps"] == 0 else ""
    if (exact := mean(lines, ["exploitability"])) is not None:
        return f"exploitability {exact:z.3f}{when}"
    for word in ("points", "return") if lines else ():
        keys = [key for key in lines[0] if key.startswith(f"{word}/") and "/learned" in key]
        keys = [key for key in keys if not key.endswith(("vs learned", "vs shadow"))]
        if (figure := mean(lines, keys)) is not None:
            return f"evaluated{when}: {word} {figure:z.2f}{' against bots' if ' vs ' in keys[0] else ''}"
    return ""


def rating(lines: Lines) -> str:
    """How far the first learner is rated above its anchor, where there is one."""
    key = next((key for key in lines[0] if key.startswith("rating/")), "")
    figure = mean(lines, [key]) if key else None
    return "" if figure is None else f"rated {figure:+z.0f} against {key.partition(' vs ')[2]}"


def health(lines: Lines) -> str:
    """Entropy and KL, the mean over learners."""
    words = {"entropy": "entropy {:z.2f}", "approx_kl": "KL {:z.4f}"}
    found = {word: mean(lines, [key for key in lines[0] if key.endswith(f"/{word}")]) for word in words}
    return ", ".join(words[word].format(x) for word, x in found.items() if x is not None)
