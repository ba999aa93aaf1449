"""Who learns, and where: from a config and a game's spec to seats, families, learners and blocks."""

from dataclasses import dataclass

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.play.seating import Seating, seat
from sparring.training.config import RunConfig

BOTS = "bots"
"""The family of scripted players."""


@dataclass(frozen=True)
class LineUp:
    seating: Seating
    learners: tuple[tuple[str, ...], ...]
    """Names of the learners of each learning group, in the order of their rows."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.learners for name in group)

    def player_of_side(self) -> dict[int, str]:
        """The learner that can drive each side."""
        groups = [self.seating.groups[i] for i in self.seating.learning]
        return {
            side: name
            for group, names in zip(groups, self.learners, strict=True)
            for row, name in zip(group.lanes, names, strict=True)
            for _, side in row
        }


def line_up(spec: GameSpec, config: RunConfig) -> LineUp:
    """Sides of one size form a family, so that their learners train as one stacked array."""
    share = resolve_share(spec, config)
    sides = tuple((s,) for s in range(spec.seats)) if share == "seat" else spec.seats_of_side
    game_side = [spec.side_of_seat[seats[0]] for seats in sides]
    label = [side_label(spec, seats) for seats in sides]
    owner = ["learner" if share == "all" else label[side] for side in range(len(sides))]
    family = [f"net_{len(seats)}" for seats in sides]
    rows: dict[str, list[str]] = {}
    family_BK, learner_BK = [], []
    for learns in learning_sides(spec, config, share, game_side):
        for side in range(len(sides)):
            if learns[side] and owner[side] not in rows.setdefault(family[side], []):
                rows[family[side]].append(owner[side])
        family_BK.append([family[k] if learns[k] else BOTS for k in range(len(sides))])
        learner_BK.append([rows[family[k]].index(owner[k]) if learns[k] else -1 for k in range(len(sides))])
    blocks = len(family_BK)
    if config.play.worlds % blocks:
        raise ConfigError(
            f"worlds={config.play.worlds} cannot be split into {blocks} equal blocks, one for each side that learns in "
            f"turn. Use a multiple of {blocks}."
        )
    seating = seat(spec, sides, family_BK=family_BK, learner_BK=learner_BK, worlds=config.play.worlds // blocks)
    order = [seating.groups[i].family for i in seating.learning]
    return LineUp(seating, tuple(tuple(rows[name]) for name in order))


def resolve_share(spec: GameSpec, config: RunConfig) -> str:
    alike = spec.sides == 1 or spec.exchangeable_sides
    share = config.seats.share
    if share == "auto":
        return "all" if alike else "side"
    if share == "all" and not alike:
        raise ConfigError(
            f"share=all needs sides that are alike; the sides of {config.game} are not. Use share=side or share=seat."
        )
    return share


def learning_sides(spec: GameSpec, config: RunConfig, share: str, game_side: list[int]) -> list[list[bool]]:
    """For each block, which of the driven sides learn."""
    if not config.seats.opponent:
        if config.seats.side != -1:
            raise ConfigError("side chooses who learns against an opponent; name one with opponent, or leave side out.")
        return [[True] * len(game_side)]
    if spec.sides == 1:
        raise ConfigError(f"{config.game} has one side, so there is nobody to oppose. Leave opponent out.")
    wanted = config.seats.side
    if not -1 <= wanted < spec.sides:
        raise ConfigError(f"side must be one of 0 to {spec.sides - 1}, or -1 for all in turn, found {wanted}.")
    if wanted >= 0:
        return [[side == wanted for side in game_side]]
    if share != "all":
        raise ConfigError(
            "Without a side, one learner plays every side in turn, which needs share=all and sides that are alike. "
            "Choose the side that learns with side: "
            + " or ".join(f"{k} ({side_label(spec, seats)})" for k, seats in enumerate(spec.seats_of_side))
            + "."
        )
    return [[side == turn for side in game_side] for turn in range(spec.sides)]


def side_label(spec: GameSpec, seats: tuple[int, ...]) -> str:
    """The stem of the seats' names where it is theirs alone: predator_0, predator_1 make the side `predator`."""
    stems = [name.rsplit("_", 1)[0] for name in spec.seat_names]
    own = {stems[s] for s in seats}
    if len(own) == 1 and all(stem not in own for s, stem in enumerate(stems) if s not in seats):
        return own.pop()
    return spec.seat_names[seats[0]] if len(seats) == 1 else f"side_{spec.side_of_seat[seats[0]]}"
