"""What a learner is for, as data: whom it meets, when it is copied into the past, when it starts over.

Mixtures of shares, main agents, exploiters and oracles are all roles; `league/roles.py` and `league/mixture.py` write
them down. Who is drawn, copied or put back follows from a role and a book of results, in `draws` and `league`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sparring.core.schedules import Schedule
from sparring.league.gates import NO_GATE, GateConfig
from sparring.league.player import Kind

ALWAYS = Schedule.parse(1.0)
NEVER = Schedule.parse(0.0)


@dataclass(frozen=True)
class Among:
    """Some of the players that can sit opposite a learner."""

    kinds: tuple[Kind, ...]
    role: str = ""
    """Of the learner that it is, or whose shadow or past it is; empty: any."""
    whose: Literal["anyone", "own", "target"] = "anyone"
    """own: the learner's own, and where sides are unlike those of its opposite; bots and guests are nobody's and belong
    to all. target: those of one learner of the branch's target role."""
    forgotten: bool = False
    """Only those that are older than one which is easier than its predecessor."""
    others: bool = False
    """Not the learner itself."""


@dataclass(frozen=True)
class Below:
    """Holds where the learner's rate against any of these is below a mark."""

    mark: float
    among: Among | None = None
    """None: those of the branch itself."""
    or_equal: bool = False


@dataclass(frozen=True)
class Branch:
    """One way to draw an opponent."""

    name: str
    among: Among
    share: Schedule = ALWAYS
    """Of the blocks. Shares of a role are scaled to sum 1."""
    draw: str = "uniform"
    """A rule of sampling, or `meta`: the weights of PSRO's meta-strategy."""
    late_draw: str = ""
    """The rule late in the run; empty: as before."""
    when: Below | None = None
    """The branch is taken only where this holds,"""
    unless: Below | None = None
    """and only where this does not."""
    otherwise: Branch | None = None
    """Who is met where nobody is found, or the conditions are not met. None: whoever else the role meets."""
    target: str = ""
    """A role: the share is split evenly among its learners, each being the target in turn."""
    floor: float = 0.0
    """Least share, whatever the schedules say."""
    floor_each: float = 0.0
    """The same for each player."""
    temperature: Schedule = ALWAYS
    """Weakness: above 1 choices are flatter."""
    epsilon: Schedule = NEVER
    """Weakness: share of random actions."""

    @property
    def ever(self) -> bool:
        """Whether the branch has a share at any time."""
        return self.share != NEVER or self.floor > 0 or self.floor_each > 0


@dataclass(frozen=True)
class SnapshotRule:
    """When a learner is copied into the past."""

    every: int = 0
    """Steps of the run; 0: never by steps."""
    mark: float = 0.0
    """Also when the newest past player that it meets is surely beaten above this rate; 0: not."""
    gate: GateConfig = NO_GATE
    """With a gate, only when that is passed."""
    beats: Among | None = None
    """Also when its rate against all of these is above `above`."""
    above: float = 1.0
    from_birth: bool = False
    """The untrained learner is copied too, so that there is a past from the start."""


@dataclass(frozen=True)
class ResetRule:
    """What becomes of a learner that was copied."""

    to: Literal["none", "origin", "past_main"] = "none"
    """It goes on, starts over, or begins with the weights of a past main."""
    chance: float = 1.0


@dataclass(frozen=True)
class Role:
    name: str
    branches: tuple[Branch, ...]
    snapshot: SnapshotRule = field(default_factory=SnapshotRule)
    reset: ResetRule = field(default_factory=ResetRule)
    judge: Literal["rate", "bound"] = "rate"
    """What must pass marks: the rate, or an estimated bound of it."""
