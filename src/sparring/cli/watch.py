"""How a person watches training: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:  # help answers without jax
    from sparring.training.train import Progress as Moment

LINES = 20
"""Plain lines over a whole run when standard error is not a terminal."""


class Watch:
    """Shows progress on standard error; standard output stays for results."""

    def __init__(self, *, quiet: bool, steps_per_iteration: int, seeds: int, start: int = 0, told: str = "") -> None:
        self.quiet, self.start, self.told = quiet, start, told
        self.steps_per_iteration, self.seeds = steps_per_iteration, seeds
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]}"),
            TimeRemainingColumn(), TextColumn("{task.fields[note]}"), console=self.console,
            disable=quiet or not self.console.is_terminal,
        )  # fmt: skip
        self.task = self.bar.add_task("compiling", total=None, done="", note="")
        self.began: float | None = None
        self.iterations = 0

    def __call__(self, moment: "Moment") -> None:
        first = self.began is None
        if first and self.told and not self.quiet:
            self.bar.console.print(self.told, highlight=False, markup=False, soft_wrap=True)
        note = f"{self.pace(moment.seconds)}  {headline(moment.lines)}"
        done = f"{moment.iteration}/{moment.iterations}"
        for line in moment.notices:
            self.tell(line)
        self.bar.update(
            self.task, description="training", total=moment.iterations, completed=moment.iteration, done=done, note=note
        )
        every = max(1, (moment.iterations - self.start) // LINES)
        if not self.quiet and not self.console.is_terminal and (first or (moment.iteration - self.start) % every == 0):
            print(f"iteration {done}  {note}", file=sys.stderr, flush=True)

    def tell(self, line: dict[str, Any]) -> None:
        """A notice, above the bar."""
        if not self.quiet:
            seed = f", seed {line['seed']}" if self.seeds > 1 else ""
            text = f"iteration {line['iteration'] + 1}, {line['learner']}{seed}: {line['text']}"
            self.bar.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def pace(self, seconds: float) -> str:
        """The mean speed so far. The first iteration mostly compiles, which says nothing about the others."""
        if self.began is None:
            self.began = time.monotonic()
            return f"compiled in {seconds:.1f} s"
        self.iterations += 1
        steps = self.iterations * self.steps_per_iteration * self.seeds
        return f"{steps / (time.monotonic() - self.began):,.0f} steps/s"


def headline(lines: list[dict[str, Any]]) -> str:
    """Mean return of the first seats over the seeds, as far as games ended; for one team, how often it won. And how far
    the first learner is rated above its anchor, where there is one: by games won, in every game."""

    def mean(key: str) -> float | None:
        values = [line[key] for line in lines if line.get(key) is not None]
        return sum(values) / len(values) if values else None

    rated = next((key for key in lines[0] if key.startswith("rating/")), "")
    by = "" if any(key.startswith("won/") for key in lines[0]) else " by games won"
    above = f", rated {mean(rated):+.0f} against {rated.partition(' vs ')[2]}{by}" if rated else ""
    return outcome(lines, mean) + above


def outcome(lines: list[dict[str, Any]], mean: Callable[[str], float | None]) -> str:
    """What the games of an iteration brought."""

    returns = {key: x for key in lines[0] if key.startswith("return/") and (x := mean(key)) is not None}
    won = [x for key in lines[0] if key.startswith("won/") and (x := mean(key)) is not None]
    if len(won) == 1 and returns:
        return f"won {won[0]:.0%}, return {sum(returns.values()) / len(returns):.2f}"
    # Team mates that earn the same are told once.
    told = dict.fromkeys((key.removeprefix("return/").rstrip("_0123456789"), x) for key, x in returns.items())
    named = told if len(told) < len(returns) else [(key.removeprefix("return/"), x) for key, x in returns.items()]
    parts = [f"{name} {x:.2f}" for name, x in list(named)[:4]]
    return "return: " + ", ".join(parts) if parts else "no game ended"
