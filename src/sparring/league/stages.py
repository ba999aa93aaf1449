"""Stages chained by marks: an easy version of a game until a metric shows that it is mastered, or a rule that plays in
the learners' place until enough was seen of it; then the next.

play=nearest_stag until steps > 200k
gun_cone=15 start_offensive=0.5 until cause/gun > 0.4
gun_cone=5

A stage says everything in which it differs: what it does not name is as the game has it. The last has no `until`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from sparring.core.errors import ConfigError

PATIENCE = 20
"""Iterations with a known metric over which its mean must pass the mark."""
CLOCK = "steps"
"""The metric that needs no mean."""
PLAY = "play"
"""In place of a rule's name: who plays."""
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
UNITS = {"k": 1e3, "M": 1e6}
_MARK = re.compile(r"([^\s<>=]+)\s*(>=|<=|>|<)\s*(\S+)")
_EXAMPLE = "Write for example: gun_cone=15 start_offensive=0.5 until cause/gun > 0.4"


@dataclass(frozen=True)
class Stage:
    settings: tuple[tuple[str, float], ...]
    """Rules of the game by name, with their values."""
    metric: str = ""
    """What ends the stage; empty: nothing."""
    comparison: str = ">"
    mark: float = 0.0
    plays: tuple[str, ...] = ()
    """Bots in the learners' place, one for all or one for each side; empty: the learners themselves."""

    def passed(self, mean: float) -> bool:
        return bool(self.metric) and _COMPARE[self.comparison](mean, self.mark)


@dataclass(frozen=True)
class StageState:
    number: int = 0
    recent: tuple[float, ...] = ()
    """The last known values of the stage's metric."""


def parse_stages(texts: Sequence[str]) -> tuple[Stage, ...]:
    """Read stages in order; every one but the last must say when it ends."""
    stages = tuple(_parse(text) for text in texts)
    for number, (stage, text) in enumerate(zip(stages, texts, strict=True), start=1):
        last = number == len(stages)
        if not last and not stage.metric:
            raise ConfigError(f"Stage {number} of {len(stages)} never ends: {text!r} has no 'until'. {_EXAMPLE}")
        if last and stage.metric:
            raise ConfigError(f"The last stage has nothing after it, found 'until' in {text!r}. Add a stage or end it.")
    return stages


def advanced(
    state: StageState, stages: Sequence[Stage], metrics: Mapping[str, float | None], *, patience: int = PATIENCE
) -> StageState:
    """After an iteration with these metrics. Stages only go forward; an unknown metric leaves everything as it is."""
    if state.number >= len(stages) - 1:
        return state
    stage = stages[state.number]
    value = metrics.get(stage.metric)
    if value is None or not isfinite(value):
        return state
    patience = 1 if stage.metric == CLOCK else patience
    recent = (*state.recent, float(value))[-patience:]
    if len(recent) == patience and stage.passed(sum(recent) / patience):
        return StageState(state.number + 1)
    return StageState(state.number, recent)


def _parse(text: str) -> Stage:
    words = text.split()
    ends = words.index("until") if "until" in words else len(words)
    settings: dict[str, float] = {}
    plays: tuple[str, ...] = ()
    for word in words[:ends]:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise ConfigError(f"Cannot read {word!r} in the stage {text!r}: expected name=value. {_EXAMPLE}")
        if name in settings or (name == PLAY and plays):
            raise ConfigError(f"The stage {text!r} sets {name} twice. Keep one.")
        if name == PLAY:
            plays = tuple(value.split(","))
        else:
            settings[name] = _number(value, text)
    if ends == len(words):
        return Stage(tuple(settings.items()), plays=plays)
    after = " ".join(words[ends + 1 :])
    mark = _MARK.fullmatch(after)
    if mark is None:
        raise ConfigError(f"Cannot read the mark {after!r} in the stage {text!r}. {_EXAMPLE}")
    metric, comparison, value = mark.groups()
    return Stage(tuple(settings.items()), metric, comparison, _number(value, text), plays)


def _number(word: str, text: str) -> float:
    unit = UNITS.get(word[-1:], 1)
    try:
        number = float(word[:-1] if unit > 1 else word) * unit
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise ConfigError(f"Expected a number in the stage {text!r}, found {word!r}. {_EXAMPLE}")
    return number
