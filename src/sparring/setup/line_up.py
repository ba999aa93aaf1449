"""Who learns, and where: from a config and a game's spec to seats, families, learners and blocks."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.league.mixture import CURRENT, mixture, shares
from sparring.league.roles import role_names
from sparring.play.seating import Seating, net_family, seat, seat_changing
from sparring.setup.config import RunConfig, has_bots, has_selves
from sparring.setup.own_settings import configs_of, kinds_of

BOTS = "bots"
"""The family of scripted players."""
MOST_LINEUPS = 64
"""Of an evaluation; shadows may double them."""


@dataclass(frozen=True)
class LineUp:
    seating: Seating
    learners: tuple[tuple[str, ...], ...]
    """Names of the learners of each learning group, in the order of their rows."""
    order: tuple[str, ...] = ()
    """Where learners of several kinds are stacked apart: their names as if they were of one."""

    @property
    def numbered(self) -> tuple[str, ...]:
        """The learners in the order of their numbers, by which settings and random numbers go."""
        return self.order or self.names

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.learners for name in group)

    @property
    def one_drives_all(self) -> bool:
        """Whether one policy drives every side that learns, so that where sides are alike one stands for all."""
        return len(set(self.player_of_side().values())) == 1

    def place_of(self, learner: int) -> tuple[int, int]:
        """Learning group and row of the learner of a running number."""
        places = [(group, row) for group, names in enumerate(self.learners) for row in range(len(names))]
        return places[learner]

    def player_of_side(self) -> dict[int, str]:
        """The learner that can drive each side; of several the first."""
        groups = [self.seating.groups[i] for i in self.seating.learning]
        found: dict[int, str] = {}
        for group, names in zip(groups, self.learners, strict=True):
            for row, name in zip(group.lanes, names, strict=True):
                for _, side in row:
                    found.setdefault(side, name)
        return found


@dataclass(frozen=True)
class Layout:
    """Which blocks of a learner can do what where opponents change."""

    mirror_B: tuple[bool, ...]
    """The learner can meet itself, and learns on both sides."""
    face_B: tuple[bool, ...]
    """It can meet somebody else."""


def layout_of(spec: GameSpec, config: RunConfig, bots: int) -> Layout:
    """As many blocks against the current self as the shares ask for at any time; the rest never are.

    A block that can do both costs the update its away side's rows even while they are none of the learner's.
    """
    check_sides(spec, config)
    blocks = block_count(spec, config)
    if config.roles.active or not spec.exchangeable_sides:
        return Layout((False,) * blocks, (True,) * blocks)
    low, high = current_range(config, bots)
    always, ever = floor(low * blocks + 1e-6), ceil(high * blocks - 1e-6)
    if always >= blocks:
        raise ConfigError(
            f"All {blocks} blocks are left to the current self, so nobody else is ever met. Give others a share with "
            "--bots, --history or --shadow, or leave curriculum and floors out."
        )
    imitating = config.ppo.on("imitation")
    return Layout(
        tuple(block < ever or imitating for block in range(blocks)), tuple(block >= always for block in range(blocks))
    )


def check_sides(spec: GameSpec, config: RunConfig) -> None:
    """Opponents change where sides are alike, and a learner drives all of them, or where two unlike sides have a
    learner each."""
    alike, share = spec.exchangeable_sides, resolve_share(spec, config)
    if spec.sides < 2 or (alike and share != "all") or (not alike and (spec.sides > 2 or share != "side")):
        raise ConfigError(
            "Changing opponents need a game whose sides are alike, with share=all, or of two sides that are not, with "
            f"share=side; {config.game} has {spec.sides} sides{'' if alike else ' that are not alike'}, and "
            f"share={share}. Leave current at 1 and the others at 0."
        )
    if config.seats.opponent:
        raise ConfigError("opponent names the one and only bot to meet. Use bots and ladder for a mixture with bots.")
    if alike:
        return
    unfit = {
        "guests": config.pool.guests, "a population": config.population.population, "oracles": config.roles.oracles,
        "imitation": config.ppo.on("imitation"), "eviction=redundant": config.pool.eviction == "redundant",
        "sampler=nash": "nash" in (config.opponents.sampler, config.opponents.late_sampler),
    }  # fmt: skip
    for what in (what for what, wanted in unfit.items() if wanted):
        raise ConfigError(
            f"The sides of {config.game} are not alike: each has learners and a past of its own, and {what} would "
            "compare players of one side with each other. Leave it out."
        )


def learner_count(spec: GameSpec, config: RunConfig) -> int:
    """Learners where opponents change, each with as many blocks."""
    return config.learners * (1 if spec.exchangeable_sides else spec.sides)


def block_count(spec: GameSpec, config: RunConfig) -> int:
    """Blocks of each learner. Those of one of several are whole rounds of the sides: it plays them all."""
    worlds, blocks, learners = config.play.worlds, config.play.blocks, learner_count(spec, config)
    sides = spec.sides if spec.exchangeable_sides else 1
    unit = sides * learners if learners > 1 or sides > 2 else 1
    least = sides * learners
    if not blocks:
        blocks = next((b for b in range(max(least, worlds // 32), 1, -1) if worlds % b == b % unit == 0), 0)
    if blocks < least or worlds % blocks or blocks % unit:
        parity = "an even number" if sides == 2 else f"a multiple of {sides}"
        each = f", {parity} for each of {learners} learners" if learners > 1 else f", at least {sides}"
        raise ConfigError(
            f"worlds={worlds} cannot be split into {blocks or least} equal blocks{each}. "
            f"Use a multiple of {least} worlds, and blocks that divide it."
        )
    return blocks // learners


def current_range(config: RunConfig, bots: int) -> tuple[float, float]:
    """The least and the largest share of the current self over the run."""
    branches = mixture(config.opponents, every=0).branches
    place = [branch.name for branch in branches].index(CURRENT)
    found = [shares(branches, i / 100, bots=bots)[place] for i in range(101)]
    return min(found), max(found)


def changing_line_up(spec: GameSpec, config: RunConfig, layout: Layout, guests: tuple[str, ...] = ()) -> LineUp:
    """The learners, and the families of those they meet: their own, bots, and guests of other architectures."""
    learners = learner_count(spec, config)
    own = list(dict.fromkeys(map(net_family, spec.seats_of_side)))
    met = has_selves(config) or not spec.exchangeable_sides
    scripted = dict.fromkeys(bots_family(spec, seats) for seats in spec.seats_of_side) if has_bots(config) else ()
    families = (own if met else []) + list(scripted) + list(guests)
    seating = seat_changing(
        spec, families=families, mirror_B=layout.mirror_B, face_B=layout.face_B,
        worlds=config.play.worlds // (learners * len(layout.mirror_B)), learners=learners,
    )  # fmt: skip
    names = iter(learner_names(spec, config))
    groups = [seating.groups[i] for i in seating.learning]
    return LineUp(seating, tuple(tuple(next(names) for _ in group.lanes) for group in groups))


def learner_names(spec: GameSpec, config: RunConfig) -> tuple[str, ...]:
    """Where opponents change, in the order of the learners."""
    roles = role_names(config.roles)
    if not spec.exchangeable_sides:
        labels = [side_label(spec, seats) for seats in spec.seats_of_side]
        return tuple(f"{label}_{role}" if role else label for label in labels for role in roles or ("",))
    members = tuple(member_name(m) for m in range(config.population.population))
    return roles or members or ("learner",)


def member_name(member: int) -> str:
    return f"member_{member}"


def bots_family(spec: GameSpec, seats: tuple[int, ...]) -> str:
    """The family of bots that drive these seats: one for all sides where these are alike."""
    return BOTS if spec.exchangeable_sides else f"{BOTS}_{len(seats)}"


def line_up(spec: GameSpec, config: RunConfig, bots: int = 0) -> LineUp:
    """Sides of one size form a family, so that their learners train as one stacked array. `bots` oppose them."""
    if config.changing:
        return changing_line_up(spec, config, layout_of(spec, config, bots))
    share = resolve_share(spec, config)
    sides = tuple((s,) for s in range(spec.seats)) if share == "seat" else spec.seats_of_side
    game_side = [spec.side_of_seat[seats[0]] for seats in sides]
    label = [side_label(spec, seats) for seats in sides]
    owner = ["learner" if share == "all" else label[side] for side in range(len(sides))]
    family = [net_family(seats) for seats in sides]
    names: tuple[str, ...] = ()
    if config.learner:
        names = line_up(spec, replace(config, learner=()), bots).names
        kinds = dict(zip(names, kinds_of(config, names), strict=True))
        family = [f"{f}.{kinds[name]}" if kinds.get(name) else f for f, name in zip(family, owner, strict=True)]
    members = config.population.population
    if members and share != "all":
        raise ConfigError(f"The members of a population drive every side: they need share=all, found share={share}.")
    rows: dict[str, list[str]] = {}
    family_BK, learner_BK = [], []
    turns = learning_sides(spec, config, share, game_side)
    for block, learns in enumerate(turns * max(1, members)):
        if members:
            owner = [member_name(block // len(turns))] * len(sides)
        for side in range(len(sides)):
            if learns[side] and owner[side] not in rows.setdefault(family[side], []):
                rows[family[side]].append(owner[side])
        family_BK.append([family[k] if learns[k] else BOTS for k in range(len(sides))])
        learner_BK.append([rows[family[k]].index(owner[k]) if learns[k] else -1 for k in range(len(sides))])
    blocks = len(family_BK)
    if config.play.worlds % blocks:
        raise ConfigError(
            f"worlds={config.play.worlds} cannot be split into {blocks} equal blocks, one for each side that learns in "
            f"turn, of each member. Use a multiple of {blocks}."
        )
    seating = seat(spec, sides, family_BK=family_BK, learner_BK=learner_BK, worlds=config.play.worlds // blocks)
    order = [seating.groups[i].family for i in seating.learning]
    return LineUp(seating, tuple(tuple(rows[name]) for name in order), names)


def config_of(spec: GameSpec, config: RunConfig, learner: str) -> RunConfig:
    """The settings by which a learner of a run learns, as if all did."""
    if not config.learner or config.changing:  # where opponents change, learners differ in coefficients alone
        return config
    names = line_up(spec, config).numbered
    return dict(zip(names, configs_of(config, names), strict=True))[learner]


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
