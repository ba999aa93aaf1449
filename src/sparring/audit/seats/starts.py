"""L1, where games begin: starts and chance must be as likely as the same with seats exchanged."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import norm

from sparring.audit.seats.claims import order_name
from sparring.games.game import Game
from sparring.games.symmetry import exchangeable_pairs, exchanges, listed_anew
from sparring.games.trial import is_key, quick_jit
from sparring.setup.named_arrays import leaf_name

DRAWS = 2048
MOST_PRODUCTS = 1024
"""Numbers of which all products of two are compared."""
SEEN = "seen at the start"
ALPHA = 1e-3
"""Chance of a false alarm of one look; a second look at fresh draws must confirm it, so that of both is its square."""


def start_faults(game: Game, teams: Sequence[tuple[int, ...]], *, seed: int = 0) -> list[str]:
    """Sentences about numbers that favour a seat, the causes first; each is confirmed by draws that did not accuse.
    Within a team that is always paid alike, places may differ."""
    changed = [(order, {*np.flatnonzero(order != np.arange(len(order)))}) for order in exchanges(game.spec)]
    orders = [order for order, seats in changed if not any(seats <= {*team} for team in teams)]
    accused = unlike(game, orders, seed) if orders else {}
    confirmed = unlike(game, orders, seed + 1) if accused else {}
    found = [name for name in accused if name in confirmed]
    return [accused[name] for name in sorted(found, key=lambda name: name.startswith(SEEN))]


@quick_jit
def _drawn(game: Game, keys_M: Any, order_S: Array) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draws, and the same with seats exchanged."""

    def one(key: Array) -> tuple[dict[str, Any], dict[str, Any]]:
        state = game.start(key)
        drawn = {"start": state, "chance": game.chance(key), SEEN: game.observe(state)}
        other = {part: game.permute(tree, order_S) for part, tree in drawn.items()}
        features_SF = listed_anew(game.spec, other[SEEN].features_SF, order_S)
        return drawn, {**other, SEEN: other[SEEN]._replace(features_SF=features_SF)}

    return jax.vmap(one)(keys_M)


def unlike(game: Game, orders: Sequence[np.ndarray], seed: int) -> dict[str, str]:
    """By part of a draw and exchange, its number whose mean, square or product with another one changes most."""
    keys_M = jax.random.split(jax.random.key(seed), DRAWS)
    found: dict[str, str] = {}
    for order in orders:
        drawn, others = _drawn(game, keys_M, jnp.asarray(order))
        for part, tree in drawn.items():
            value_MX, names = flat(tree)
            for p_value, one, two in compared(value_MX, flat(others[part])[0]):
                tests = 2 * len(drawn) * len(orders) * len(names) ** (1 if two is None else 2)
                where = f"{part} {order}"
                if p_value < ALPHA / tests and where not in found:
                    what = f"{part}, {names[one]}" + (f" together with {names[two]}" if two not in (None, one) else "")
                    alike = f"is not drawn alike with {order_name(game.spec, order)} (p = {p_value:.1g}, twice)."
                    found[where] = f"Of {DRAWS} games, {what} {alike}"
    return found


def flat(tree: Any) -> tuple[np.ndarray, list[str]]:
    """All numbers of the draws in a row, [M, X], and their names; keys have no order, and are left out."""
    rows, names = [np.zeros((DRAWS, 0))], []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if not is_key(leaf):
            rows.append(np.asarray(leaf, np.float64).reshape(DRAWS, -1))
            names += [f"{leaf_name(path)}[{place}]" for place in range(rows[-1].shape[1])]
    return np.concatenate(rows, axis=1), names


def compared(value_MX: np.ndarray, other_MX: np.ndarray) -> list[tuple[float, int, int | None]]:
    """The least likely mean, and the least likely product of two numbers, of draws and of the same with seats
    exchanged: (p-value, number, the other number). Exchangeable draws differ by nothing on average."""
    if not value_MX.size or not (value_MX != other_MX).any():
        return []
    both = np.concatenate([value_MX, other_MX])
    scale = np.maximum(both.std(axis=0), 1e-6 * np.maximum(np.abs(both).max(axis=0), 1e-6))
    a, b = ((x - both.mean(axis=0)) / scale for x in (value_MX, other_MX))
    first = surprises((a - b).mean(axis=0), ((a - b) ** 2).mean(axis=0))
    one = int(first.argmax())
    least = p_value(first[one])
    if value_MX.shape[1] > MOST_PRODUCTS:
        return [(least, one, None)]
    # Products of two numbers: those of a draw and of the same draw exchanged go together, so squares are of their gap.
    squares = (a**2).T @ a**2 + (b**2).T @ b**2 - 2 * (a * b).T @ (a * b)
    second = surprises((a.T @ a - b.T @ b) / DRAWS, squares / DRAWS)
    i, j = np.unravel_index(second.argmax(), second.shape)
    return [(least, one, None), (p_value(second[i, j]), int(i), int(j))]


def surprises(mean: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Of means that should be 0, their distance in standard errors; a difference that never varies is no matter of
    chance."""
    variance = np.maximum(square - mean**2, 0.0)
    fixed = variance <= 1e-9 * np.maximum(square, 1e-9)
    z = np.sqrt(DRAWS) * np.abs(mean) / np.sqrt(np.where(fixed, 1.0, variance))
    return np.where(fixed, np.where(np.abs(mean) > 1e-4, np.inf, 0.0), z)


def p_value(z: float) -> float:
    return float(2 * norm.sf(z))


def seats_alike(game: Game) -> list[tuple[int, ...]]:
    """Sets of seats of which each may take the place of each other one."""
    partners: dict[int, set[int]] = {}
    for one, two in exchangeable_pairs(game.spec):
        for a, b in zip(one, two, strict=True):
            joined = partners.get(a, {a}) | partners.get(b, {b})
            for seat in joined:
                partners[seat] = joined
    return sorted({tuple(sorted(group)) for group in partners.values()})
