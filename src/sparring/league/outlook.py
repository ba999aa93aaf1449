"""What the learners of a league can see when they are given opponents: who can be met, and how each fares with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparring.league.book import POOLED, Book
from sparring.league.player import NOBODY
from sparring.league.role import Among, Below, Branch
from sparring.league.sampling import cleaned
from sparring.league.score import recent
from sparring.league.state import LeagueState, Rules


@dataclass(frozen=True)
class Outlook:
    """What the learners can see when they are given opponents."""

    rules: Rules
    book: Book
    here_LM: np.ndarray
    """Who can sit opposite each: not those who are leaving, nor, where sides are unlike, those of its own side."""
    weight_M: np.ndarray | None = None
    """Of past players in the meta-strategy of PSRO."""
    late: bool = False
    """Rules for late in the run hold."""

    @cached_property
    def rate_LM(self) -> np.ndarray:
        """Rates against everybody, old games counting less; one half where unknown."""
        return self.book.rates(self.rules.config.shrink)

    @cached_property
    def known_LM(self) -> np.ndarray:
        """The same, and one half where a rate is not finite."""
        return cleaned(self.rate_LM)

    @cached_property
    def _all_here(self) -> bool:
        return bool(self.here_LM.all())

    def who(self, among: Sequence[Among], me: Sequence[int], target: Sequence[int]) -> np.ndarray:
        """who_NM: the players that are meant, each time by a learner with one of its targets."""
        who_NM = np.array([self._meant(*asked) for asked in zip(among, me, target, strict=True)])
        if not self._all_here:
            who_NM &= self.here_LM[list(me)]
        for row, asked in enumerate(among):
            if asked.others:
                who_NM[row, me[row]] = False
            if asked.forgotten:
                columns = np.flatnonzero(who_NM[row])
                who_NM[row, columns[forgotten(self.known_LM[me[row], columns]) :]] = False
        return who_NM

    def whom(self, among: Among, me: int) -> np.ndarray:
        """The same for one learner, by columns, the oldest first."""
        return np.flatnonzero(self.who([among], [me], [NOBODY])[0])

    def targets(self, branch: Branch, me: int) -> list[int]:
        """The learners of a branch's target role that sit opposite; nobody where there are none."""
        asked = branch.target, NOBODY if self._all_here else me
        if asked not in self._targets:
            found = self.whom(Among(("learner",), role=branch.target), me).tolist() if branch.target else []
            self._targets[asked] = found or [NOBODY]
        return self._targets[asked]

    @cached_property
    def _targets(self) -> dict[tuple[str, int], list[int]]:
        """What was asked before."""
        return {}

    def _meant(self, among: Among, me: int, target: int) -> np.ndarray:
        own = self.rules.opposite(me) if self.rules.sides else me
        owner = None if among.whose == "anyone" else target if among.whose == "target" else own
        return self.book.roll.meant(among.kinds, among.role, owner)

    def below(self, marks: Sequence[Below], me: Sequence[int], who_NM: np.ndarray) -> np.ndarray:
        """below_N: whether the rate against any of these is below a mark; by the judge of bounds, surely below."""
        most_NM, mark_N1 = self._judged(me, who_NM, "high"), np.array([[one.mark] for one in marks])
        equal_N1 = np.array([[one.or_equal] for one in marks])
        return np.asarray((((most_NM < mark_N1) | (equal_N1 & (most_NM == mark_N1))) & who_NM).any(1))

    def beaten(self, marks: Sequence[float], me: Sequence[int], among: Sequence[Among]) -> list[bool]:
        """Whether a learner's rate against all of these is above a mark. Nobody to beat is no victory: otherwise an
        empty league would be filled with untrained copies."""
        who_NM = self.who(among, me, [NOBODY] * len(me))
        passed_NM = self._judged(me, who_NM, "low") > np.array(marks)[:, None]
        return np.asarray(who_NM.any(1) & (passed_NM | ~who_NM).all(1)).tolist()

    def _judged(self, me: Sequence[int], who_NM: np.ndarray, end: str) -> np.ndarray:
        """What must pass marks: the rate, or an estimated end of its interval."""
        found_NM = self.known_LM[list(me)]
        for row, one in enumerate(me):
            if self.rules.roles[one].judge == "bound":
                columns = np.flatnonzero(who_NM[row])
                found_NM[row, columns] = [getattr(recent(self.book.fading_LM3[one, c]), end) for c in columns]
        return found_NM


def forgotten(rate_M: np.ndarray) -> int:
    """Of the versions of one learner, the oldest first, how many come before the last one that is easier than its
    predecessor.

    Newer versions are normally harder, so the longest suffix on which the rate never rises is as it should be and is
    stripped. (AlphaStar's pseudocode also keeps the easier version itself. The least rate, which is compared with the
    mark, is the same.) Rates decide here whatever the judge: this is an order, not a mark.
    """
    rises = np.flatnonzero(np.diff(rate_M) > 0)
    return int(rises[-1]) + 1 if len(rises) else 0


def outlook_of(rules: Rules, state: LeagueState, progress: float = 0.0, *, in_memory: bool = False) -> Outlook:
    """Of a league as it is; `in_memory`: of past players only those whose weights are."""
    pool, book = state.pool, state.book
    here_M, column = np.ones(len(book.players), bool), book.roll.column
    if in_memory:
        here_M[book.roll.meant(POOLED)] = False
        here_M[[column[player] for player in pool.rows]] = True
    if pool.leaving:
        here_M[[column[player] for player in pool.leaving]] = False
    here_LM = np.tile(here_M, (rules.learners, 1))
    if rules.sides:
        here_LM &= [[rules.opposed(one, player) for player in book.players] for one in range(rules.learners)]
    known = dict(zip(pool.players, state.meta.weight_M.tolist(), strict=False))
    weight_M = None if rules.meta is None else np.array([known.get(player, 0.0) for player in book.players])
    late = progress >= rules.config.late_from
    return Outlook(rules, book, here_LM, weight_M, late)
