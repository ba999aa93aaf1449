"""L1, where games begin: the numbers that starts and chance give to seats must be drawn alike for all of them."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from scipy.stats import chi2

from sparring.games.game import Game
from sparring.games.symmetry import exchangeable_pairs
from sparring.games.trial import quick_jit

DRAWS = 2048
ALPHA = 1e-3
"""Chance of a false alarm of one look; a second look at fresh draws must confirm it, so that of both is its square."""


def start_faults(game: Game, groups: Sequence[tuple[int, ...]], *, seed: int = 0) -> list[str]:
    """Sentences about numbers that favour a seat of a group; each is confirmed by draws that did not accuse."""
    accused = unlike(game, groups, seed)
    confirmed = unlike(game, groups, seed + 1) if accused else {}
    told = sorted(leaf for leaf in accused if leaf in confirmed)
    return [accused[leaf] for leaf in sorted(told, key=lambda leaf: not leaf.startswith("start,"))]  # causes first


@quick_jit
def _drawn(game: Game, keys_M: Any) -> Any:
    state_M = jax.vmap(game.start)(keys_M)
    seen_M = jax.vmap(game.observe)(state_M)
    return {"start": state_M, "seen at the start": seen_M, "chance": jax.vmap(game.chance)(keys_M)}


def unlike(game: Game, groups: Sequence[tuple[int, ...]], seed: int) -> dict[str, str]:
    """Leaves whose columns have unlike means or spreads for seats that should be alike."""
    spec, found = game.spec, []
    drawn = _drawn(game, jax.random.split(jax.random.key(seed), DRAWS))
    for path, leaf in jax.tree_util.tree_leaves_with_path(drawn):
        name = jax.tree_util.keystr(path).replace("['", "").replace("']", "").replace(".", ", ", 1)
        letters = name.rpartition("_")[2]
        if not letters.startswith("S") or letters.count("S") > 1:
            continue
        values = np.asarray(leaf, np.float64).reshape(DRAWS, spec.seats, -1)
        for group in groups:
            found += [(name, group, place, p) for place, p in enumerate(column_tests(values[:, list(group)]))]
    limit = ALPHA / max(1, len(found))
    accused: dict[str, str] = {}
    for name, group, place, p in found:
        if p < limit and name not in accused:
            seats = ", ".join(spec.seat_names[s] for s in group)
            accused[name] = f"Of {DRAWS} games, {name}[{place}] is not drawn alike for {seats} (p = {p:.1g}, twice)."
    return accused


def seats_alike(game: Game) -> list[tuple[int, ...]]:
    """Sets of seats of which each may take the place of each other one."""
    pairs = exchangeable_pairs(game.spec)
    partners: dict[int, set[int]] = {}
    for one, two in pairs:
        for a, b in zip(one, two, strict=True):
            joined = partners.get(a, {a}) | partners.get(b, {b})
            for seat in joined:
                partners[seat] = joined
    return sorted({tuple(sorted(group)) for group in partners.values()})


def column_tests(values_MNX: np.ndarray) -> list[float]:
    """For each column the smaller p-value of its values and of their squares, doubled. If seats are exchangeable, their
    differences within a draw have one variance and one correlation, so that the sum of squares of the seats' mean
    differences is chi-square."""
    draws, seats, _ = values_MNX.shape
    p_values = []
    for part in (values_MNX, values_MNX**2):
        apart = part - part.mean(axis=1, keepdims=True)
        variance = (apart**2).sum((0, 1)) / (draws * (seats - 1))
        size = np.abs(part).max((0, 1))
        safe = variance > 1e-12 * np.maximum(size, 1e-6) ** 2
        gap = (apart.mean(axis=0) ** 2).sum(0)
        statistic = draws * gap / np.where(safe, variance, 1.0)
        # Constant numbers that differ from seat to seat are no matter of chance.
        fixed = np.where(gap > 1e-10 * np.maximum(size, 1e-6) ** 2, 0.0, 1.0)
        p_values.append(np.where(safe, chi2.sf(statistic, seats - 1), fixed))
    return [float(min(1.0, 2 * p)) for p in np.minimum(*p_values)]
