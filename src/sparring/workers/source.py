"""Which environment a game comes from, and what it turned out to be: plain records that travel as JSON. No JAX."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Setting = int | float | bool | str


@dataclass(frozen=True)
class Source:
    """An environment by name, with all that decides how it is seen as a game."""

    kind: str
    """Whose interface it has: pettingzoo, gymnasium, rllib or smac."""
    name: str
    """A module, module:function or module:Class; for Gymnasium, the id."""
    settings: tuple[tuple[str, Setting], ...] = ()
    """What the environment is made with."""
    sides: str = "auto"
    positions: str = "random"
    longest: int = 0
    score: str = "auto"
    infos: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "settings": [list(pair) for pair in self.settings]}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Source":
        return cls(**{**plain, "settings": tuple((name, value) for name, value in plain["settings"])})


@dataclass(frozen=True)
class Found:
    """What a look at an environment and some games by chance showed."""

    agents: tuple[str, ...]
    side_of_agent: tuple[int, ...]
    heads: tuple[int, ...]
    """Choices of each head: the most that any agent has."""
    dimensions: int
    features: int
    """Of an agent's own observation, the most that any has; without the mark that says which agent it is."""
    alike: Literal["none", "seats", "sides"]
    """Whether sides have equal spaces, so that any may take another's part: single seats, or whole teams."""
    in_turn: bool
    zero_sum: bool
    score: Literal["outcome", "return"]
    longest: int
    infos: tuple[str, ...]
    """Numbers in the infos of agents."""
    stake: float = 0.0
    """What a side usually wins or loses in a game."""

    @property
    def seats(self) -> int:
        return len(self.agents)

    @property
    def sides(self) -> int:
        return max(self.side_of_agent) + 1

    @property
    def marked(self) -> int:
        """Features with the mark of the agent."""
        return self.features + (self.seats if self.seats > 1 else 0)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Found":
        known: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in plain.items()}
        return cls(**known)
