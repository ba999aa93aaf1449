"""Who earns how much with whom: mean returns of every pair of a pool, of everyone with its own copy too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparring.ratings.payoff import RatingError
from sparring.statistics.intervals import Interval, student


@dataclass(frozen=True, eq=False)
class CrossPlay:
    """What the row player itself earned with the column player, for M players; on the diagonal with its own copy."""

    names: tuple[str, ...]
    mean_MM: np.ndarray
    variance_MM: np.ndarray
    """Of single starts, divided by one less than their number; nan where there is only one."""
    starts_MM: np.ndarray
    """Independent values behind each mean: starts, each played from both sides."""

    def __post_init__(self) -> None:
        names = tuple(self.names)
        if len(set(names)) < len(names):
            raise RatingError(f"players of a cross-play table have different names, found {list(names)}")
        object.__setattr__(self, "names", names)
        for field in ("mean_MM", "variance_MM", "starts_MM"):
            value_MM = np.array(getattr(self, field), np.int64 if field == "starts_MM" else np.float64)
            if value_MM.shape != (len(names), len(names)):
                raise RatingError(f"{field} has a row and a column for each of {len(names)} players: {value_MM.shape}")
            value_MM.setflags(write=False)
            object.__setattr__(self, field, value_MM)
        if (self.starts_MM < 1).any() or not np.isfinite(self.mean_MM).all():
            raise RatingError("a cross-play table needs games of every pair, and of everyone with itself: play them")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CrossPlay:
        return cls(tuple(data["names"]), data["mean"], data["variance"], data["starts"])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON; an unknown variance is null. `from_dict` gives the same table back."""
        variance = [[None if np.isnan(x) else float(x) for x in row] for row in self.variance_MM]
        table = {"mean": self.mean_MM.tolist(), "variance": variance, "starts": self.starts_MM.tolist()}
        return {"names": list(self.names), **table}

    @property
    def games(self) -> int:
        """All games that were played: each start twice."""
        return 2 * int(np.triu(self.starts_MM).sum())

    @property
    def error_MM(self) -> np.ndarray:
        """Standard errors of the means."""
        return np.sqrt(self.variance_MM / self.starts_MM)

    def interval(self, row: int, column: int) -> Interval:
        """What the row player earns with the column player, with its 95 % interval."""
        return student(
            float(self.mean_MM[row, column]), float(self.variance_MM[row, column]), int(self.starts_MM[row, column])
        )
