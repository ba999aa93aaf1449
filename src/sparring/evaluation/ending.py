"""How one game ended, as plain data and as a sentence. No JAX."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ending:
    steps: int
    """Steps that were played."""
    finished: bool
    """False where somebody stopped looking before the end; outcome and causes are then empty."""
    outcome_K: tuple[float, ...] = ()
    """1 won, 0 drawn, -1 lost for each side; empty where games are judged by return."""
    cause_K: tuple[str, ...] = ()
    """Why the game ended for each side; empty where the game gives no causes."""
    fate_K: tuple[str, ...] = ()
    """The same as words after the name of a side, such as "was shot down"; empty where the game has none."""
    return_K: tuple[float, ...] = ()
    """Sum of rewards of a seat of each side, the mean of its seats."""

    def sentence(self, names_K: Sequence[str]) -> str:
        """Who won, after how many steps, and why; `names_K` are what the sides are called."""
        steps = f"{self.steps} step" + "s" * (self.steps != 1)
        if not self.finished:
            return f"not over after {steps}"
        if not self.outcome_K:
            returns = ", ".join(f"{name} {x:z.2f}" for name, x in zip(names_K, self.return_K, strict=True))
            return f"over after {steps}; return of a seat: {returns}"
        won, lost = (
            " and ".join(name for name, outcome in zip(names_K, self.outcome_K, strict=False) if outcome == result)
            for result in (1.0, -1.0)
        )
        verdict = f"{won} won" if won else f"{lost} lost" if lost else "a draw"
        verdict = f"{verdict} after {steps}"
        return f"{verdict} ({reasons})" if (reasons := self._reasons(names_K)) else verdict

    def _reasons(self, names_K: Sequence[str]) -> str:
        """What happened to those that did not win; one word where all share it."""
        if self.fate_K:
            fell = zip(names_K, self.fate_K, self.outcome_K, strict=False)
            return "; ".join(f"{name} {fate}" for name, fate, outcome in fell if outcome <= 0)
        fates = zip(names_K, self.cause_K, self.outcome_K, strict=False)
        told = [(name, why) for name, why, outcome in fates if outcome <= 0]
        causes = {why for _, why in told}
        if len(causes) == 1 and len(told) == len(self.cause_K):
            return causes.pop()
        return ", ".join(f"{name}: {why}" for name, why in told)
