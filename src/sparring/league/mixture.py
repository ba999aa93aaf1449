"""The plain role: shares of the current self, the shadow, the past and the bots. And how shares become blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig
from sparring.league.gates import NO_GATE, GateConfig
from sparring.league.role import Among, Branch, Role, SnapshotRule
from sparring.league.sampling import pick

CURRENT = "current"
OWN_SHADOW = Branch("shadow", Among(("shadow",), whose="own"))
NO_BRANCH = -1


def mixture(config: OpponentsConfig, *, every: int, mark: float = 0.0, gate: GateConfig = NO_GATE) -> Role:
    """A learner that meets itself, its shadow, its past and the bots; `every`, `mark` and `gate` say when it is
    copied."""
    current = Branch(CURRENT, Among(("learner",), whose="own"), config.current)
    snapshot = SnapshotRule(every=every, mark=mark, gate=gate, from_birth=True)
    return Role("", (current, shadow_branch(config), history_branch(config), bots_branch(config)), snapshot)


def beside(role: Role, config: OpponentsConfig) -> Role:
    """A role whose learner also meets shadows and bots: what the role itself asks for has the share of `current`."""
    own = [_scaled(branch, config.current) for branch in role.branches]
    more = [branch for branch in (shadow_branch(config), bots_branch(config)) if branch.ever]
    return Role(role.name, (*own, *more), role.snapshot, role.reset, role.judge)


def _scaled(branch: Branch, share: Schedule) -> Branch:
    start, end = branch.share.start * share.start, branch.share.end * share.end
    shape = "linear" if share.shape == "constant" else share.shape
    return Branch(**{**vars(branch), "share": Schedule(start, end, shape)})


def shadow_branch(config: OpponentsConfig) -> Branch:
    return Branch("shadow", OWN_SHADOW.among, config.shadow)


def history_branch(config: OpponentsConfig) -> Branch:
    return Branch(
        "history", Among(("past", "guest"), whose="own"), config.history, config.sampler, config.late_sampler,
        floor=config.history_floor, temperature=config.history_temperature, epsilon=config.history_epsilon,
    )  # fmt: skip


def bots_branch(config: OpponentsConfig) -> Branch:
    return Branch(
        "bots", Among(("bot",)), config.bots, config.bot_sampler, floor_each=config.bot_floor,
        temperature=config.bot_temperature, epsilon=config.bot_epsilon,
    )  # fmt: skip


def shares(
    branches: Sequence[Branch], progress: float, *, bots: int, by_hand: Mapping[str, float] | None = None
) -> np.ndarray:
    """share_K of each branch, of sum 1, with the floors kept; `bots` is how many there are."""
    share_K = np.array([branch.share.at(progress) if by_hand is None else by_hand[branch.name] for branch in branches])
    floor_K = np.array([branch.floor + branch.floor_each * bots for branch in branches])
    return _with_floors(share_K / share_K.sum(), floor_K)


def set_by_hand(branches: Sequence[Branch], share_K: np.ndarray, wanted: Mapping[str, float]) -> dict[str, float]:
    """The shares after somebody set some of them: these are met, the others keep their proportions in the rest."""
    names, total = [branch.name for branch in branches], sum(wanted.values())
    others = {name: float(share) for name, share in zip(names, share_K, strict=True) if name not in wanted}
    rest = sum(others.values())
    if total > 1.0 + 1e-9 or (rest <= 0.0 and total < 1.0 - 1e-9):
        where = ", and nobody else has a share to take the rest" if total < 1.0 else ""
        raise ConfigError(f"The shares must sum to 1, found {total:g}{where}. Give all of {', '.join(names)}.")
    scale = max(0.0, 1.0 - total) / rest if rest > 0 else 0.0
    return {name: float(wanted[name]) if name in wanted else scale * others[name] for name in names}


def _with_floors(share_K: np.ndarray, floor_K: np.ndarray) -> np.ndarray:
    """Raise what is below its floor to it, and scale the rest down to what is left."""
    fixed_K = np.zeros(len(share_K), bool)
    while (low_K := ~fixed_K & (share_K < floor_K - 1e-12)).any():
        fixed_K |= low_K
        rest = share_K[~fixed_K].sum()
        scale = (1.0 - floor_K[fixed_K].sum()) / rest if rest > 0 else 0.0
        share_K = np.where(fixed_K, floor_K, share_K * scale)
    return share_K / share_K.sum()


def branches_of_blocks(
    share_LK: np.ndarray, current_L: np.ndarray, mirror_B: np.ndarray, face_B: np.ndarray, open_LB: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """branch_LB, an index into a learner's share_K, for the blocks in `open_LB`; -1 for the others.

    Branch `current_L`, if there is one, is the learner itself on both sides. A block that can only mirror always has
    it, one that can only face others never has. Those that can do both make up the difference, so that it has its share
    of all blocks as far as they allow. Every block has its exact chance of each branch, and the counts of a learner's
    draws differ from its shares by less than one.
    """
    current_LK = np.arange(share_LK.shape[1]) == current_L[:, None]
    facing_LK = np.where(current_LK, 0.0, share_LK)
    facing_LK = facing_LK / np.maximum(facing_LK.sum(1, keepdims=True), np.finfo(float).tiny)
    asked_L1 = np.where(current_LK, share_LK, 0.0).sum(1, keepdims=True) * len(mirror_B) - (mirror_B & ~face_B).sum()
    mirrored_L1 = np.clip(asked_L1 / max(1, (mirror_B & face_B).sum()), 0.0, 1.0)
    both_LK = np.where(current_LK, mirrored_L1, (1.0 - mirrored_L1) * facing_LK)
    branch_LB = np.where(open_LB, current_L[:, None], NO_BRANCH)
    learner_N, block_N = np.nonzero(open_LB & face_B)
    group_N = learner_N + len(share_LK) * ~mirror_B[block_N]  # of each learner those that can do both, and the others
    branch_LB[learner_N, block_N] = systematic(np.concatenate([both_LK, facing_LK]), group_N, generator)
    return branch_LB


def systematic(chance_GK: np.ndarray, group_N: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """branch_N for each of N blocks, which form groups: it has exactly the chances of its group, and in a group each
    branch occurs floor or ceil of its expected number. -1 in groups without any chance.

    An even comb with one random offset falls on the branches of a group, its teeth in random order; drawing each by
    itself would let the shares wander.
    """
    offset_G, number_N = generator.random(len(chance_GK)), generator.random(len(group_N))
    order_N = np.lexsort((number_N, group_N))
    count_G = np.bincount(group_N, minlength=len(chance_GK))
    place_N = np.empty(len(group_N), int)
    place_N[order_N] = np.arange(len(group_N)) - (np.cumsum(count_G) - count_G)[group_N[order_N]]
    found_N = pick(chance_GK[group_N], (place_N + offset_G[group_N]) / count_G[group_N])
    return np.where(chance_GK[group_N].any(1), found_N, NO_BRANCH)
