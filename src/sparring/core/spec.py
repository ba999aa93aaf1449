"""What a game looks like from outside: seats, sides, shapes. Hashable, without arrays: static under jit."""

from dataclasses import dataclass, field
from math import prod
from typing import Literal, get_args

Listing = Literal["", "others", "friends", "foes"]
"""Which seats a list of one seat holds: none, all others, the others of its side, or those of other sides."""


@dataclass(frozen=True, kw_only=True)
class ActionSpec:
    """One action of a seat: any number of discrete heads and any number of continuous dimensions.

    In a hybrid action the first head is the kind of the action, and `counts` says which of the other parts are its
    arguments: `counts[kind]` has a flag for each further head, then for each dimension. What does not count adds
    nothing to log-probability, entropy and KL.
    """

    heads: tuple[int, ...] = ()
    """Number of choices of each discrete head."""
    low: tuple[float, ...] = ()
    """Lower bound of each continuous dimension; the game receives actions clipped to the bounds."""
    high: tuple[float, ...] = ()
    counts: tuple[tuple[bool, ...], ...] = ()
    """Which parts count for which kind; empty: all, always."""

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high):
            raise ValueError(f"low has {len(self.low)} bounds, high has {len(self.high)}: give one pair per dimension")
        if not self.heads and not self.low:
            raise ValueError("an action needs at least one discrete head or one continuous dimension")
        if self.counts:
            kinds, parts = self.heads[0] if self.heads else 0, max(len(self.heads) - 1, 0) + len(self.low)
            if len(self.counts) != kinds or any(len(row) != parts for row in self.counts):
                raise ValueError(
                    f"counts must have one row for each of the {kinds} choices of the first head, with {parts} flags "
                    f"(further heads, then dimensions), found rows of {[len(row) for row in self.counts]}"
                )

    @property
    def entries(self) -> int:
        """A: length of a legal row, all heads one after another."""
        return sum(self.heads)

    @property
    def dimensions(self) -> int:
        return len(self.low)


@dataclass(frozen=True)
class Feature:
    """A named block of the feature vector."""

    name: str
    shape: tuple[int, ...]
    lists: Listing = ""
    """Which seats the first axis lists, in seat order, so that permuting seats permutes it. Rows beyond the listed
    seats, where sides have unlike sizes, are padding and stay in place."""

    def __post_init__(self) -> None:
        if self.lists not in get_args(Listing):
            words = ", ".join(map(repr, get_args(Listing)))
            raise ValueError(f"Feature {self.name!r} lists one of {words}, found {self.lists!r}")

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Central:
    """What a centralised critic may see: one view for the world, one for each side, or one for each seat."""

    kind: Literal["world", "side", "seat"]
    size: int


@dataclass(frozen=True)
class Term:
    """A named part of shaping: something a learner may be paid for besides the reward."""

    name: str
    kind: Literal["potential", "reward"]
    """A potential is paid as discount x later - earlier and leaves the best policies as they are (Ng, Harada and
    Russell 1999); a reward changes the task."""
    meaning: str


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """What is fixed about a game: its seats and sides, what they see and do, how long it lasts, how it is judged."""

    seats: int
    side_of_seat: tuple[int, ...]
    action: ActionSpec
    layout: tuple[Feature, ...]
    central: Central
    longest: int
    """No game lasts more steps than this."""
    shortest: int = 1
    """No game lasts fewer steps than this: it bounds how many starts a rollout can need."""
    exchangeable: tuple[tuple[int, ...], ...] = ()
    """Groups of seats that may be permuted without changing the game."""
    sides_alike: bool = False
    """Whole sides may be exchanged, seat by seat in order, though the seats of a side are of several kinds; groups in
    `exchangeable` then lie within sides."""
    in_turn: bool = False
    """One seat decides at a time, the others wait: a step of a world is then one step of training, not one a seat."""
    outside: bool = False
    """Worlds are kept elsewhere, in processes of somebody's environment: a state cannot be copied, set or repeated."""
    zero_sum: bool = False
    score: Literal["outcome", "return"] = "return"
    """What a game is judged by: win, draw or loss, or the sum of rewards."""
    stake: float = 0.0
    """Of a zero-sum game that is judged by return: what is usually won or lost in it, as the root mean square of the
    returns of random play, draws left out. Rates, ratings and samplers then go by return; 0: they go by games won."""
    seat_names: tuple[str, ...] = field(default=())
    causes: tuple[str, ...] = ()
    """Why a side's game can end, such as gun, ground, timeout; `Step.cause_K` counts in this list."""
    fates: tuple[str, ...] = ()
    """What each cause did to a side, as words after its name ("was shot down"), in the order of `causes`; empty: the
    causes speak for themselves."""
    counts: tuple[str, ...] = ()
    """What a seat does that tells how it plays, such as hares caught; `Step.count_SJ` counts it."""
    goals: tuple[str, ...] = ()
    """Things that seats may be after, such as each stag and each hare; `Game.goals` says how each seat is placed to
    them. Goals of one name are of one kind: only their places tell them apart."""
    terms: tuple[Term, ...] = ()
    """Shaping terms: the rewards in the order of `Step.terms_SJ`, the potentials in that of `Game.potential`."""
    suits: tuple[tuple[str, str | float | tuple[int, ...] | tuple[str, ...]], ...] = ()
    """Settings of a run that suit this game, by the names of their flags, such as ("steps", 8) or ("self_play",
    "magnet"): used where the user says nothing."""

    def __post_init__(self) -> None:
        if len(self.side_of_seat) != self.seats:
            raise ValueError(f"side_of_seat names {len(self.side_of_seat)} seats, the game has {self.seats}")
        if sorted(set(self.side_of_seat)) != list(range(self.sides)):
            raise ValueError(f"side_of_seat must number the sides from 0 without gaps, found {self.side_of_seat}")
        if self.sides_alike and len({len(seats) for seats in self.seats_of_side}) > 1:
            raise ValueError(
                f"sides_alike needs sides of one size, found {[len(seats) for seats in self.seats_of_side]} seats: "
                "make them equal or leave it False"
            )
        for block in (block for block in self.layout if block.lists):
            needed = max(map(len, self.listed(block.lists)))
            if not block.shape or block.shape[0] < needed:
                raise ValueError(
                    f"feature {block.name!r} lists up to {needed} {block.lists}, its first axis must be as long, found "
                    f"shape {block.shape}"
                )
        if not self.seat_names:
            object.__setattr__(self, "seat_names", tuple(f"seat_{s}" for s in range(self.seats)))

    def terms_of(self, kind: str) -> tuple[str, ...]:
        """Names of the terms of one kind, in order."""
        return tuple(term.name for term in self.terms if term.kind == kind)

    @property
    def sides(self) -> int:
        return max(self.side_of_seat) + 1

    @property
    def has_winners(self) -> bool:
        """Whether rates of winning mean anything: games are judged by their outcome, or one side gains what the other
        loses. Elsewhere, as in a stag hunt, the one that earns more than the other may earn little."""
        return self.score == "outcome" or self.zero_sum

    @property
    def rated_by_return(self) -> bool:
        """Whether leagues count what was earned in a game rather than games won."""
        return self.zero_sum and self.score == "return" and self.sides == 2 and self.stake > 0.0

    @property
    def features(self) -> int:
        return sum(block.size for block in self.layout)

    @property
    def seats_of_side(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(s for s, k in enumerate(self.side_of_seat) if k == side) for side in range(self.sides))

    def listed(self, lists: Listing) -> tuple[tuple[int, ...], ...]:
        """For each seat the seats that such a list of it holds, in order."""
        side = self.side_of_seat

        def holds(own: int, other: int) -> bool:
            friend = side[own] == side[other]
            return other != own and {"": False, "others": True, "friends": friend, "foes": not friend}[lists]

        seats = range(self.seats)
        return tuple(tuple(other for other in seats if holds(own, other)) for own in seats)

    @property
    def critic_views(self) -> int:
        return {"world": 1, "side": self.sides, "seat": self.seats}[self.central.kind]

    @property
    def exchangeable_sides(self) -> bool:
        """Whether any side may take any other's place, so that one policy can drive them all."""
        first_seats = {seats[0] for seats in self.seats_of_side}
        return self.sides_alike or any(first_seats <= set(group) for group in self.exchangeable)
