"""Leagues, books and results for the tests of this folder."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.league.blocks import Meeting, Played
from sparring.league.book import Book
from sparring.league.config import SHARES, CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.draws import Asked, ways
from sparring.league.gates import NO_GATE, GateConfig
from sparring.league.league import League
from sparring.league.mixture import beside, mixture
from sparring.league.outlook import Outlook
from sparring.league.player import Player
from sparring.league.pool import snapshot_interval
from sparring.league.role import Role
from sparring.league.roles import RolesConfig, base_steps, role_names, role_of, roles
from sparring.league.score import Score
from sparring.league.state import Assignment, Rules

NAMES = ("meek", "ace")
"""The ladder of bots, where settings name none."""
ALONE = Player("learner", 0, "learner", 0)
SHADOW = Player("shadow", 0, "learner.shadow", 0)
MEEK, ACE = (Player("bot", place, name, born=place) for place, name in enumerate(NAMES))
GUEST = Player("guest", 0, "guest", born=9)


def learner(place: int) -> Player:
    return Player("learner", place, f"learner_{place}", place)


def past(number: int, *, born: int | None = None, whose: int = 0, role: str = "", pinned: bool = False) -> Player:
    """The past self of a running number, as old as that says."""
    return Player("past", number, f"past-{number}", whose, number if born is None else born, role, pinned)


def mix(**settings: Any) -> OpponentsConfig:
    shares = {name: Schedule.parse(settings.pop(name, 0.0)) for name in SHARES}
    return OpponentsConfig(**shares, **settings)


def one_role(opponents: OpponentsConfig, pool: PoolConfig, total: int, gate: GateConfig, *, from_birth: bool) -> Role:
    role = mixture(opponents, every=snapshot_interval(pool, total), mark=pool.snapshot_mark, gate=gate)
    return replace(role, snapshot=replace(role.snapshot, from_birth=from_birth))


def rules(
    opponents: OpponentsConfig,
    *,
    names: Sequence[str] = ("learner",),
    pool: PoolConfig = PoolConfig(snapshot_every=1000),  # noqa: B008
    curriculum: CurriculumConfig = CurriculumConfig(),  # noqa: B008
    mirror: Sequence[bool] | None = None,
    face: Sequence[bool] | None = None,
    blocks: int = 4,
    seed: int = 0,
    total_steps: int = 100_000,
    from_birth: bool = False,
    gate: GateConfig = NO_GATE,
    bots: Sequence[str] = NAMES,
    **more: Any,
) -> Rules:
    """Learners who each have the mixture of `opponents`, and `blocks` blocks each."""
    role = one_role(opponents, pool, total_steps, gate, from_birth=from_birth)
    return Rules(
        names=tuple(names), roles=(role,) * len(names), config=opponents, pool=pool, curriculum=curriculum,
        mirror_B=(True,) * blocks if mirror is None else tuple(mirror),
        face_B=(True,) * blocks if face is None else tuple(face),
        seed=Seed.of(seed), bots=opponents.ladder or tuple(bots), **more,
    )  # fmt: skip


def begin(opponents: OpponentsConfig, **more: Any) -> League:
    return League.begin(rules(opponents, **more))


def role_rules(
    config: RolesConfig,
    opponents: OpponentsConfig | None = None,
    *,
    pool_size: int = 30,
    blocks: int = 2,
    seed: int = 5,
    total_steps: int = 10**6,
    gate: GateConfig = NO_GATE,
    bots: Sequence[str] = (),
    **more: Any,
) -> Rules:
    """The roles of a config, each beside the shares of shadows and bots where `opponents` gives them any."""
    names, opponents = role_names(config), opponents or OpponentsConfig()
    every = len(names) * base_steps(config, total_steps // len(names))
    own = [role_of(name, config, every=every, gate=gate) for name in roles(config)]
    more = {"curriculum": CurriculumConfig(), "meta": config.meta if config.oracles else None, **more}
    return Rules(
        names=names, roles=tuple(beside(role, opponents) for role in own), config=opponents,
        pool=PoolConfig(pool_size=pool_size), mirror_B=(True,) * blocks, face_B=(True,) * blocks, seed=Seed.of(seed),
        bots=tuple(bots), archive=True, **more,
    )  # fmt: skip


# A league at a moment of its life.


def with_state(league: League, **changes: Any) -> League:
    league.state = replace(league.state, **changes)
    return league


def with_member(league: League, player: Player, row: int) -> League:
    """A player joins pool and book, as if it had always been there."""
    state = league.state
    book = state.book.joined_by(player, league.rules.owners, 0.0)
    return with_state(league, book=book, pool=state.pool.joined_by(player, row))


def with_career(league: League, place: int = 0, **changes: Any) -> League:
    careers = list(league.state.careers)
    careers[place] = replace(careers[place], **changes)
    return with_state(league, careers=tuple(careers))


def with_block(league: League, place: int = 0, **changes: Any) -> League:
    blocks = list(league.state.blocks)
    blocks[place] = replace(blocks[place], **changes)
    return with_state(league, blocks=tuple(blocks))


def all_drained(league: League) -> League:
    return with_state(league, blocks=tuple(replace(block, drained=True) for block in league.state.blocks))


def told(book: Book, scores: Mapping[tuple[int, Player], Score], forget: float = 1.0) -> Book:
    """A book after games of learners against players in one iteration."""
    score_LM3 = np.zeros(book.count_LM3.shape, int)
    for (place, player), score in scores.items():
        score_LM3[place, book.roll.column[player]] = score
    return book.after(score_LM3, forget)


def through_json(league: League) -> dict[str, Any]:
    return json.loads(json.dumps(league.saved()))


def revived(league: League) -> League:
    """The same league after an interruption."""
    return League.begin(league.rules).restored(through_json(league))


# What it decided, and what it knows.


def given(assigned: Assignment) -> list[Player]:
    """Whom each block meets from now on."""
    return [block.next.player for block in assigned.blocks]


def chances(assigned: Assignment) -> list[float]:
    return [block.next.probability for block in assigned.blocks]


def same(one: Assignment, other: Assignment) -> None:
    assert one.blocks == other.blocks
    np.testing.assert_array_equal(one.changed_B, other.changed_B)
    assert one.events == other.events


def scores(league: League, place: int = 0) -> dict[Player, Score]:
    """Of everybody that a learner has met."""
    book = league.state.book
    found = {player: book.score(place, player) for player in book.players}
    return {player: score for player, score in found.items() if score.games}


class Chosen(NamedTuple):
    player: Player
    probability: float
    """Of this player by this branch, among all that could have been chosen."""
    branch: str


def prospects(outlook: Outlook, me: int, share_K: np.ndarray) -> tuple[Chosen, ...]:
    """All that a learner can be given, each player once in each branch, with probabilities of sum 1."""
    total: dict[tuple[Player, str], float] = defaultdict(float)
    for branch, share in zip(outlook.rules.roles[me].branches, share_K.tolist(), strict=True):
        targets = outlook.targets(branch, me) if share else []
        for target in targets:
            found = ways(outlook, [Asked(me, branch, target, share)])
            for column in np.flatnonzero(found.chance_NM[0]).tolist():
                name = found.branches[0].name if found.branches[0] else ""
                total[outlook.book.players[column], name] += share * found.chance_NM[0, column] / len(targets)
    return tuple(Chosen(player, float(share), name) for (player, name), share in total.items())


def rating(book: Book, player: Player) -> float:
    return float(book.rating_M[book.roll.column[player]])


def rate(book: Book, player: Player, place: int = 0) -> float:
    return float(book.rates()[place, book.roll.column[player]])


def quality(league: League, players: Iterable[Player], place: int = 0) -> list[float]:
    book = league.state.book
    return [float(book.quality_LM[place, book.roll.column[player]]) for player in players]


def met(block: int, player: Player, *score: int, probability: float = 1.0, weakened: bool = False) -> Meeting:
    """Games of a block, won, drawn and lost."""
    return Meeting(block, player, probability, weakened, sum(score), *score)


def all_met(assigned: Assignment, *score: int) -> tuple[Meeting, ...]:
    """Every block has games against the player that it was given."""
    return tuple(
        met(b, block.next.player, *score, probability=block.next.probability) for b, block in enumerate(assigned.blocks)
    )


def played(iteration: int, meetings: Iterable[Meeting], drained_B: Sequence[bool]) -> Played:
    return Played(iteration, tuple(meetings), tuple(drained_B))
