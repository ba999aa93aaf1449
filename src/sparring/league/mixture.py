"""How many blocks meet the current self, the shadow, the past and the bots. Shares count blocks."""

from collections.abc import Mapping

import numpy as np

from sparring.core.errors import ConfigError, unknown
from sparring.league.config import SHARES as KINDS
from sparring.league.config import OpponentsConfig

CURRENT, SHADOWS, HISTORY, BOTS = range(len(KINDS))


def shares(
    config: OpponentsConfig, progress: float, *, bots: int, by_hand: Mapping[str, float] | None = None
) -> np.ndarray:
    """share_K of each kind, of sum 1, with the floors kept; `bots` is how many there are."""
    share_K = np.array([getattr(config, kind).at(progress) if by_hand is None else by_hand[kind] for kind in KINDS])
    return _with_floors(share_K / share_K.sum(), np.array([0.0, 0.0, config.history_floor, bots * config.bot_floor]))


def set_by_hand(share_K: np.ndarray, wanted: Mapping[str, float]) -> dict[str, float]:
    """The shares after somebody set some of them: these are met, the others keep their proportions in the rest."""
    for kind, share in wanted.items():
        if kind not in KINDS:
            raise ConfigError(unknown("share", kind, KINDS))
        if not 0.0 <= share <= 1.0:
            raise ConfigError(f"The share of {kind} must lie in [0, 1], found {share}.")
    total = sum(wanted.values())
    others = {kind: float(share) for kind, share in zip(KINDS, share_K, strict=True) if kind not in wanted}
    rest = sum(others.values())
    if total > 1.0 + 1e-9 or (rest <= 0.0 and total < 1.0 - 1e-9):
        where = ", and no other kind has a share to take the rest" if total < 1.0 else ""
        raise ConfigError(f"The shares must sum to 1, found {total:g}{where}. Give all four.")
    scale = max(0.0, 1.0 - total) / rest if rest > 0 else 0.0
    return {kind: float(wanted[kind]) if kind in wanted else scale * others[kind] for kind in KINDS}


def _with_floors(share_K: np.ndarray, floor_K: np.ndarray) -> np.ndarray:
    """Raise what is below its floor to it, and scale the rest down to what is left."""
    fixed_K = np.zeros(len(share_K), bool)
    while (low_K := ~fixed_K & (share_K < floor_K - 1e-12)).any():
        fixed_K |= low_K
        rest = share_K[~fixed_K].sum()
        scale = (1.0 - floor_K[fixed_K].sum()) / rest if rest > 0 else 0.0
        share_K = np.where(fixed_K, floor_K, share_K * scale)
    return share_K / share_K.sum()


def kinds_of_blocks(
    share_K: np.ndarray,
    can_mirror_B: np.ndarray,
    can_face_B: np.ndarray,
    generator: np.random.Generator,
    *,
    open_B: np.ndarray | None = None,
) -> np.ndarray:
    """kind_B, an index into KINDS, for the blocks in `open_B`; -1 for the others.

    A block that can only mirror always meets the current self, one that can only face others never does. Those that
    can do both make up the difference, so that the current self has its share of all blocks as far as they allow.
    Every block has its exact chance of each kind, and the counts of a draw differ from the shares by less than one.
    """
    can_mirror_B, can_face_B = np.asarray(can_mirror_B, bool), np.asarray(can_face_B, bool)
    open_B = np.ones(len(can_mirror_B), bool) if open_B is None else np.asarray(open_B, bool)
    both_B = can_mirror_B & can_face_B
    mirrors = (can_mirror_B & ~can_face_B).sum()
    mirror = np.clip((share_K[CURRENT] * len(both_B) - mirrors) / max(1, both_B.sum()), 0.0, 1.0)
    rest_K = share_K * (np.arange(len(share_K)) != CURRENT)
    if rest_K.sum() == 0:  # nothing but the current self is asked for: its slow average is the nearest to it
        rest_K[SHADOWS] = 1.0
    rest_K = rest_K / rest_K.sum()
    kind_B = np.where(open_B, CURRENT, -1)
    for group_B, current in ((both_B, mirror), (can_face_B & ~can_mirror_B, 0.0)):
        chosen = np.flatnonzero(group_B & open_B)
        chance_K = (1.0 - current) * rest_K
        chance_K[CURRENT] = current
        kind_B[chosen] = systematic(chance_K, len(chosen), generator)
    return kind_B


def without_history(
    kind_B: np.ndarray,
    empty_B: np.ndarray,
    share_K: np.ndarray,
    can_mirror_B: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """kind_B when the blocks in `empty_B` found no past self: the current self where the block can, else the others."""
    refuge_K = share_K * [0.0, 1.0, 0.0, 1.0]
    if refuge_K.sum() == 0:
        refuge_K[SHADOWS] = 1.0
    stuck = np.flatnonzero(empty_B & ~can_mirror_B)
    kind_B = np.where(empty_B, CURRENT, kind_B)
    kind_B[stuck] = systematic(refuge_K / refuge_K.sum(), len(stuck), generator)
    return kind_B


def systematic(chance_K: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """kind_N in random order: each has exactly `chance_K`, and each kind occurs floor or ceil of its expected number.

    An even comb with one random offset falls on the kinds; drawing each by itself would let the shares wander.
    """
    comb_N = (np.arange(count) + generator.random()) / max(1, count)
    last = np.flatnonzero(chance_K)[-1]
    kind_N = np.minimum(np.searchsorted(np.cumsum(chance_K), comb_N, side="right"), last)
    return generator.permutation(kind_N)
