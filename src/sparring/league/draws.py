"""Whom the blocks of all learners meet, drawn at once: a row of an array for each way to draw. Pure: all it knows is in
`Outlook`, all chance in the numbers it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparring.league.blocks import Draw
from sparring.league.curriculum import AT_LEVEL, Standing, level_drawn
from sparring.league.mixture import CURRENT, NO_BRANCH, OWN_SHADOW, branches_of_blocks, shares, systematic
from sparring.league.outlook import Outlook
from sparring.league.player import NOBODY
from sparring.league.role import Among, Branch
from sparring.league.roles import ALONE
from sparring.league.sampling import Field, pick, probabilities, weights_by
from sparring.league.score import rates
from sparring.league.state import LeagueState, Rules
from sparring.ratings.payoff import RatingError

NOT_FINITE = "a rate was not finite, and one half was taken"
UNSOLVED = "the equilibrium of the pool was not found, and the draw was uniform"
META = "meta"
OWN_PAST = Among(("past",), whose="own")
LAST_RESORT = replace(OWN_SHADOW, otherwise=ALONE)


class Asked(NamedTuple):
    """One way to draw: a branch of a learner, and one of the branch's targets if it has any."""

    me: int
    """The learner's place in the line-up, and so its row and its column in the book."""
    branch: Branch
    target: int = NOBODY
    share: float = 1.0
    """Of the branch, in the blocks of the learner."""


class Ways(NamedTuple):
    """What branches come to now, a row for each."""

    branches: list[Branch | None]
    """The one that is taken: the branch itself or one in its place; None: nobody is found."""
    chance_NM: np.ndarray
    """How likely each player is; 0 where nobody is found."""
    flaws: Counter[str]
    """How often something went wrong on the way that should be rare."""


def ways(outlook: Outlook, asked: Sequence[Asked]) -> Ways:
    branches, who_NM = taken(outlook, asked)
    me_N, flaws = np.array([one.me for one in asked]), Counter[str]()
    weight_NM, rows_of_rule = np.zeros(who_NM.shape), dict[str, list[int]]()
    for row, branch in enumerate(branches):
        if branch is not None:
            rule = branch.late_draw if outlook.late and branch.late_draw else branch.draw
            rows_of_rule.setdefault(rule, []).append(row)
    for rule, rows in rows_of_rule.items():
        try:
            weight_NM[rows] = weighed(outlook, rule, me_N[rows], who_NM[rows])
        except RatingError:
            flaws[UNSOLVED] += len(rows)
    flaws[NOT_FINITE] += int((~np.isfinite(outlook.rate_LM[me_N]) & who_NM).sum())
    floor_N1 = np.array(
        [[b.floor_each / one.share if b and b.floor_each else 0.0] for b, one in zip(branches, asked, strict=True)]
    )
    return Ways(branches, probabilities(weight_NM, who_NM, floor_N1), +flaws)


def taken(outlook: Outlook, asked: Sequence[Asked]) -> tuple[list[Branch | None], np.ndarray]:
    """The branches that are taken and who_NM they draw from: where nobody is found or a condition does not hold,
    another takes the place of a branch, if it names one."""
    me, target = [one.me for one in asked], [one.target for one in asked]
    who_NM = outlook.who([one.branch.among for one in asked], me, target)
    met_N = np.asarray(who_NM.any(1))
    for name, wanted in (("when", True), ("unless", False)):
        marks = [getattr(one.branch, name) for one in asked]
        rows = [row for row, mark in enumerate(marks) if mark is not None]
        if rows:
            own = [marks[row].among or asked[row].branch.among for row in rows]
            mine, theirs = [me[row] for row in rows], [target[row] for row in rows]
            held_N = outlook.below([marks[row] for row in rows], mine, outlook.who(own, mine, theirs))
            met_N[rows] &= held_N == wanted
    branches = [one.branch if met else None for one, met in zip(asked, met_N, strict=True)]
    rows = [row for row, one in enumerate(asked) if not met_N[row] and one.branch.otherwise]
    who_NM[~met_N] = False
    if rows:
        instead = [asked[row]._replace(branch=asked[row].branch.otherwise) for row in rows]
        found, who_NM[rows] = taken(outlook, instead)
        for row, branch in zip(rows, found, strict=True):
            branches[row] = branch
    return branches, who_NM


def weighed(outlook: Outlook, rule: str, me_N: np.ndarray, who_NM: np.ndarray) -> np.ndarray:
    """weight_NM by a rule, for learners who can each draw from some players."""
    if rule == META:
        return np.zeros(who_NM.shape) if outlook.weight_M is None else np.tile(outlook.weight_M, (len(me_N), 1))
    book = outlook.book
    field = Field(
        who_NM, outlook.known_LM[me_N], book.rating_M, book.rating_M[me_N, None], book.quality_LM[me_N], book.payoff
    )
    return weights_by(rule, field, outlook.rules.config)


@dataclass(frozen=True, kw_only=True)
class Table:
    """The blocks of all learners, and what else decides whom they are given now."""

    open_LB: np.ndarray
    """Those that are given somebody."""
    number_LB: np.ndarray
    """Of [0, 1): which player of its branch each is given."""
    share_LK: np.ndarray
    """Of the branches of each learner's role; 0 beyond its last."""
    progress: float
    standing: tuple[Standing, ...] = ()
    """Of each learner in the curriculum, if there is one."""


def table_of(rules: Rules, state: LeagueState, iteration: int, progress: float) -> Table:
    """Before an iteration; every block that is drained and can face others is given somebody."""
    drained_LB = np.array([block.drained for block in state.blocks]).reshape(rules.learners, -1)
    return Table(
        open_LB=drained_LB & np.asarray(rules.face_B, bool),
        number_LB=(rules.seed / "league" / iteration / "players").generator().random(drained_LB.shape),
        share_LK=shares_of_all(rules, state, progress),
        progress=progress,
        standing=tuple(career.standing for career in state.careers),
    )


def shares_of_all(rules: Rules, state: LeagueState, progress: float) -> np.ndarray:
    """share_LK of all learners; 0 beyond the branches of their roles."""
    share_LK = np.zeros((rules.learners, max(len(role.branches) for role in rules.roles)))
    known: dict[tuple[int, int], np.ndarray] = {}  # learners of one role that follow time have the same
    for learner, role in enumerate(rules.roles):
        own = state.careers[learner].by_hand is not None or rules.config.follow == "rate"
        kind = (NOBODY, learner) if own else (id(role), rules.fitting_bots[learner])
        if kind not in known:
            known[kind] = shares_of(rules, state, learner, progress)
        share_LK[learner, : len(role.branches)] = known[kind]
    return share_LK


def shares_of(rules: Rules, state: LeagueState, learner: int, progress: float) -> np.ndarray:
    """share_K of the branches of a learner's role. Where shares follow its rate against everybody but learners, that
    is the progress."""
    config, career = rules.config, state.careers[learner]
    if config.follow == "rate":
        fading_M3 = state.book.fading_LM3[learner, rules.learners :]
        rate = float(rates(fading_M3.sum(0))) if fading_M3.any() else 0.0
        progress = min(1.0, max(0.0, (rate - config.follow_from) / (config.follow_to - config.follow_from)))
    return shares(rules.roles[learner].branches, progress, bots=rules.fitting_bots[learner], by_hand=career.by_hand)


Place = tuple[int, int]
"""A learner, and one of its blocks."""


def draw_players(
    outlook: Outlook, table: Table, generator: np.random.Generator
) -> tuple[dict[Place, Draw], Counter[str]]:
    """A draw for each open block, and how often what happened that should be rare."""
    rules = outlook.rules
    names = [[branch.name for branch in role.branches] for role in rules.roles]
    current_L = np.array([own.index(CURRENT) if CURRENT in own else NO_BRANCH for own in names])
    mirror_B, face_B = np.asarray(rules.mirror_B, bool), np.asarray(rules.face_B, bool)
    branch_LB = branches_of_blocks(table.share_LK, current_L, mirror_B, face_B, table.open_LB, generator)
    governed_LB = governed(rules, table, table.open_LB & (branch_LB != current_L[:, None]), generator)
    draws = {(me, b): at_level(outlook, table, me, b) for me, b in np.argwhere(governed_LB).tolist()}
    free_LB = table.open_LB & ~governed_LB
    free: list[Place] = [*zip(*(place.tolist() for place in np.nonzero(free_LB)), strict=True)]
    found, counts = drawn(outlook, table, free, branch_LB[free_LB].tolist())
    lost = [place for place in free if place not in found]
    if lost:
        named = [(me, int(branch_LB[me, b])) for me, b in lost if branch_LB[me, b] != NO_BRANCH]
        counts += Counter(unfilled(rules.roles[me].branches[k]) for me, k in named)
        found |= drawn(outlook, table, lost, refuge(outlook, table, lost, current_L, generator).tolist())[0]
    return {**draws, **found}, +counts


def unfilled(branch: Branch) -> str:
    """What is counted where nobody is there for a branch."""
    who = {"history": "no past self", "bots": "no bot"}.get(branch.name, f"nobody for {branch.name}")
    return f"{who} could be drawn, and its share went to others"


def governed(rules: Rules, table: Table, facing_LB: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The blocks, of those that face others, that the curriculum governs."""
    governed_LB = np.zeros(facing_LB.shape, bool)
    if rules.curriculum.curriculum:
        led_L = [own.level < len(levels) for own, levels in zip(table.standing, rules.levels, strict=True)]
        learner_N, block_N = np.nonzero(facing_LB & np.array(led_L)[:, None])
        share = rules.curriculum.curriculum_share.at(table.progress)
        chance_GK = np.tile([1.0 - share, share], (len(led_L), 1))
        governed_LB[learner_N, block_N] = systematic(chance_GK, learner_N, generator) == 1
    return governed_LB


def drawn(
    outlook: Outlook, table: Table, places: Sequence[Place], branch_N: Sequence[int]
) -> tuple[dict[Place, Draw], Counter[str]]:
    """The players on which the numbers of blocks fall, each by a branch of its learner, but for blocks of which nobody
    is found. Where no branch is named, it is the shadow, the nearest to the learner itself, which is met where there is
    none. Targets of a branch have equal parts of it: the number says which, and what is left of it which player."""
    rows: dict[tuple[int, int, int], Asked] = {}
    key_N, number_N = [], []
    for (me, b), k in zip(places, branch_N, strict=True):
        branch = LAST_RESORT if k == NO_BRANCH else outlook.rules.roles[me].branches[k]
        targets = outlook.targets(branch, me)
        part = float(table.number_LB[me, b]) * len(targets)
        which = min(int(part), len(targets) - 1)
        key = me, k, targets[which]
        if key not in rows:
            rows[key] = Asked(me, branch, targets[which], 1.0 if k == NO_BRANCH else float(table.share_LK[me, k]))
        key_N.append(key)
        number_N.append(part - which)
    if not rows:
        return {}, Counter()
    found, players = ways(outlook, list(rows.values())), outlook.book.players
    row_of = {key: row for row, key in enumerate(rows)}
    row_N = [row_of[key] for key in key_N]
    chance_NM = found.chance_NM[row_N]
    column_N = pick(chance_NM, np.array(number_N))
    chance_N = chance_NM[np.arange(len(row_N)), column_N]
    draws = {
        place: Draw(players[column], chance, branch.temperature.at(table.progress), branch.epsilon.at(table.progress))
        for place, row, column, chance in zip(places, row_N, column_N.tolist(), chance_N.tolist(), strict=True)
        if (branch := found.branches[row]) is not None
    }
    return draws, found.flaws


def refuge(
    outlook: Outlook, table: Table, lost: Sequence[Place], current_L: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """branch_N of N blocks whose own branch found nobody: the current self where a block can mirror, else whoever has a
    share and is there; -1: nobody."""
    learner_N, block_N = np.array(lost).T
    chance_LK = np.zeros(table.share_LK.shape)
    for me in set(learner_N.tolist()):
        for k, branch in enumerate(outlook.rules.roles[me].branches):
            if k != current_L[me] and table.share_LK[me, k] > 0:
                found, _ = taken(outlook, [Asked(me, branch, target) for target in outlook.targets(branch, me)])
                chance_LK[me, k] = table.share_LK[me, k] * any(found)
    chance_LK /= np.maximum(chance_LK.sum(1, keepdims=True), np.finfo(float).tiny)
    branch_N, mirror_B = current_L[learner_N], np.asarray(outlook.rules.mirror_B, bool)
    mirrors_N = mirror_B[block_N] & (branch_N != NO_BRANCH)
    branch_N[~mirrors_N] = systematic(chance_LK, learner_N[~mirrors_N], generator)
    return branch_N


def at_level(outlook: Outlook, table: Table, me: int, block: int) -> Draw:
    """The opponent of the learner's level, or of the one below, as a block's number says."""
    standing = table.standing[me].level
    level = level_drawn(standing, float(table.number_LB[me, block]))
    probability = (AT_LEVEL if level == standing else 1.0 - AT_LEVEL) if standing else 1.0
    way, players = outlook.rules.levels[me][level], outlook.book.players
    if way.bot:
        bot = next(player for player in players if player.kind == "bot" and player.name == way.bot)
        return Draw(bot, probability, level=level)
    newest, shadow = outlook.whom(OWN_PAST, me)[-1:], outlook.whom(OWN_SHADOW.among, me)
    shared = any(branch.name == "shadow" and branch.ever for branch in outlook.rules.roles[me].branches)
    place = shadow if len(shadow) and (shared or not len(newest)) else newest
    if not len(place):
        place = outlook.whom(ALONE.among, me)
    return Draw(players[int(place[0])], probability, way.temperature, way.epsilon, level)
