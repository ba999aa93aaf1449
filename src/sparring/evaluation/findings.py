"""What is known of a run when a verdict is spoken."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, UNTRAINED, SideScore
from sparring.evaluation.standing import Fall
from sparring.statistics.intervals import Interval

Gain = Literal["better", "worse", "mixed", "unclear", "unknown"]
FAR = 0.1
"""Of the largest exploitability that is known of the game: a difference of so much is one to speak of."""
SETTLED = 0.01
"""Of the largest exploitability that is known of the game: what is left below it is next to nothing."""
NEAR = 0.1
"""Of a run: a policy that was kept within so many steps stands for another."""
LISTED = 6
"""Names in a sentence, at most."""


@dataclass(frozen=True)
class Opposed:
    """What advice depends on: whether games are long, whether a magnet holds the policy, and whether it meets its past
    and bots."""

    long: bool = False
    magnet: bool = False
    past: bool = False
    bots: bool = False


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What is known of a run."""

    run: str
    facts: Mapping[str, Any]
    """Its manifest."""
    finished: bool = True
    steps: int = 0
    """Planned."""
    scores: Sequence[SideScore] = ()
    """Of the newest evaluation after some training."""
    before: Sequence[SideScore] = ()
    """Of the one before training."""
    half: Sequence[SideScore] = ()
    """Of one half way."""
    exact: Mapping[str, float] = field(default_factory=dict)
    """Exploitability of the newest policy, the shadow, the mixture and bots, the mean over seeds."""
    exact_before: float | None = None
    """Of the policy before training."""
    exact_half: Mapping[str, float] = field(default_factory=dict)
    exact_since: Sequence[Mapping[str, float]] = ()
    """The same of the evaluations between half way and the end."""
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    """What trained responses won from its policies."""
    notices: Sequence[str] = ()
    """Kinds."""
    falls: Sequence[Fall] = ()
    """What it could do after an earlier evaluation, and has lost; the worst first."""
    curve: Mapping[int, float] = field(default_factory=dict)
    """Exact exploitability of what one would deploy after each earlier evaluation, by iteration."""
    per_iteration: int = 0
    """Steps."""
    kept: Mapping[int, str] = field(default_factory=dict)
    """The policies that are still there, by the steps after which they were taken, and how to name them."""
    opposed: Opposed = field(default_factory=Opposed)

    @property
    def name(self) -> str:
        """Of the run's folder."""
        return self.run.replace("\\", "/").rstrip("/").rpartition("/")[2]

    @property
    def own(self) -> float | None:
        """Exact exploitability of what one would deploy: PSRO's oracles are easily answered, their mixture is not."""
        return self.exact.get(MIXTURE, self.exact.get(LEARNED))

    @property
    def done(self) -> int:
        """Steps: more than were planned where an iteration is larger than that."""
        return max(self.steps, self.facts.get("iterations", 0) * self.per_iteration)

    @property
    def points(self) -> dict[int, float]:
        """The curve of exploitability before now, from before training on."""
        start = {} if self.exact_before is None else {UNTRAINED: self.exact_before}
        return {**start, **self.curve}

    @property
    def random_is_best(self) -> bool:
        """Whether nothing to speak of can be won from random play, so that it cannot be improved."""
        return self.exact.get("random", 1.0) < 1e-3

    @property
    def settled(self) -> bool:
        """Whether next to nothing can be won from it: then what notices warn of did no harm."""
        return self.own is not None and settled(self.own, self.others)

    @property
    def others(self) -> list[float]:
        """What exploitability is known of besides that of now."""
        return [*self.points.values(), *self.of_bots]

    @property
    def unmoved(self) -> bool:
        """Whether it is about as exploitable as before training, though not because nothing was left: a single fault is
        enough for the largest value, so games against others tell what was learned."""
        if self.own is None or self.exact_before is None or self.settled:
            return False
        return -FAR * self.exact_before < self.own - self.exact_before < FAR * max(self.own, *self.others)

    @property
    def of_bots(self) -> list[float]:
        """Exploitability of random play and of bots."""
        return [value for team, value in self.exact.items() if team not in (LEARNED, SHADOW, MIXTURE)]

    def when(self, iteration: int) -> str:
        if iteration == UNTRAINED:
            return "before training"
        return f"after {(iteration + 1) * self.per_iteration:,} steps"

    def kept_near(self, iteration: int) -> str:
        """The name of a policy that was taken about then; empty where none is left."""
        steps = (iteration + 1) * self.per_iteration
        near = min(self.kept, key=lambda at: abs(at - steps), default=None)
        return self.kept[near] if near is not None and abs(near - steps) <= NEAR * self.steps else ""


def deployable(exact: Mapping[str, float]) -> float | None:
    """The lowest exact exploitability of the run's own policies: what one would deploy."""
    return min((exact[team] for team in (LEARNED, SHADOW, MIXTURE) if team in exact), default=None)


def settled(own: float, others: Iterable[float]) -> bool:
    """Whether an exact exploitability is next to nothing beside those of other players of the game."""
    return own < SETTLED * max(others, default=0.0)


def rose(found: Findings) -> int | None:
    """The earlier evaluation in which it was least exploitable, if it now surely is more so; else None."""
    if found.own is None or not found.points:
        return None
    best = min(found.points, key=lambda iteration: found.points[iteration])
    largest = max(found.own, *found.others)
    return best if found.own - found.points[best] > FAR * largest else None


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    shown = list(names)
    if not shown:
        return "nobody"
    if len(shown) > LISTED:
        return f"{', '.join(shown[:LISTED])} and {len(shown) - LISTED} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
