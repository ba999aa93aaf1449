"""L1: exchange the seats of a state, its actions and its chance, and the game must do the same with seats exchanged.

Nothing is estimated: one transition that breaks the rule is a fault, and it is told with its trace.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.findings import Finding, Tell, untold
from sparring.audit.graph import inputs_of_step, named
from sparring.audit.seats.claims import order_name, orders_of
from sparring.audit.seats.levels import L1
from sparring.audit.seats.probes import Cast, cast_name, even_handed, players_of, record_of
from sparring.audit.seats.starts import seats_alike, start_faults
from sparring.games.game import Game
from sparring.games.symmetry import exchange, exchange_goals, exchange_potentials
from sparring.games.trial import CLOSE, Record, is_key, quick_jit, sample_of

WORLDS, STEPS, FARTHEST = 16, 64, 512
"""Games of each probe, steps that are looked at, and the last of these: what only happens late is a fault, too."""
FEW = 64
"""Transitions in which players are asked again, with what they see listed in another order."""
VIEW, LISTED = "seen.features_SF", "seen.features_SF in any order"


class Trace(NamedTuple):
    """The shortest way to a fault, from which it can be repeated."""

    probe: str
    seed: int
    world: int
    step: int
    """Of the game, from 1."""
    order: tuple[int, ...]
    leaf: str
    found: str
    wanted: str


class Exact(NamedTuple):
    finding: Finding
    fair: tuple[Cast, ...]
    """Probes whose players treat the seats they see alike: the only ones whose games can accuse a game."""


def exact(
    game: Game, *, seed: int = 0, probes: Sequence[str] = (), learned: Mapping[str, Any] | None = None,
    tell: Tell = untold,
) -> Exact:  # fmt: skip
    """L1 of a game whose states can be set; by all probes, or by those that are named."""
    players, casts = players_of(game, learned)
    casts = [cast for cast in casts if not probes or cast_name(cast) in probes]
    orders, steps = orders_of(game.spec), looked_at(game.spec.longest)
    traces: list[Trace] = []
    fair: list[Cast] = []
    teams, largest, compared = possible_teams(game), 0.0, 0
    for number, cast in enumerate(casts):
        tell(f"L1 exchanging seats, {cast_name(cast)}", number / len(casts))
        record = record_of(game, players, cast, seed=seed + number, worlds=WORLDS, steps=steps)
        sample = sample_of(record, record.played.size)
        teams = [group for group in teams if paid_alike(sample, group)]
        if even_handed(game, [players[name] for name in cast], sample_of(record, FEW), orders[:3]):
            fair.append(cast)
        compared += len(orders) * len(sample.played)
        found, gap = traces_of(game, sample, orders, cast_name(cast), seed + number)
        traces, largest = traces + found, max(largest, gap)
    tell("L1 comparing starts", 0.95)
    starts = start_faults(game, teams, seed=seed)
    return Exact(judged(game, traces, starts, largest, compared, len(casts)), tuple(fair))


def looked_at(longest: int) -> np.ndarray:
    """Steps of play: all where games are short; else half of them from the first on, half spread over the rest."""
    last = min(longest, FARTHEST)
    if last <= STEPS:
        return np.arange(last)
    return np.r_[: STEPS // 2, np.linspace(STEPS // 2, last - 1, STEPS // 2).astype(int)]


def possible_teams(game: Game) -> list[tuple[int, ...]]:
    """Seats that should be alike, and of these those of one side."""
    groups, side_of_seat = seats_alike(game), game.spec.side_of_seat
    mates = [tuple(s for s in group if side_of_seat[s] == side) for group in groups for side in range(game.spec.sides)]
    return sorted({*groups, *(group for group in mates if len(group) > 1)})


def paid_alike(sample: Record, group: tuple[int, ...]) -> bool:
    """Whether these seats were always paid the same: a team, in which it does no harm that each has a place of its own
    where games begin."""
    reward_MN = np.asarray(sample.moment.step.reward_S)[:, list(group)]
    return bool((reward_MN == reward_MN[:, :1]).all())


class Compared(NamedTuple):
    """Of one leaf, for each order [O]."""

    first_O: Array
    """The transition in which it differs earliest in a game; -1 where it never does."""
    gap_O: Array
    """The largest distance of numbers that count as equal."""
    found_O: Array
    """The leaf in that transition, as it is and as it should be."""
    wanted_O: Array


@quick_jit
def _compared(game: Game, sample: Record, orders_OS: Array) -> dict[str, Compared]:
    """All orders in one program, which leaves only what is needed to find the faults again."""
    return jax.lax.map(lambda order_S: _of_order(game, sample, order_S), orders_OS)


def _of_order(game: Game, sample: Record, order_S: Array) -> dict[str, Compared]:
    """Every leaf by name, as it is and as it should be, compared."""
    found, wanted = exchange(game, sample, order_S)
    both = zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(wanted), strict=True)
    leaves = {jax.tree_util.keystr(path).lstrip("."): (a, b) for (path, a), b in both}
    leaves["potential"] = exchange_potentials(game, sample.state, order_S)
    if game.spec.goals:
        pairs = zip(*exchange_goals(game, sample, order_S), strict=True)
        for part, (a, b) in zip(("goals", "reached"), pairs, strict=True):
            leaves |= {f"{part}.{name}": (getattr(a, name), getattr(b, name)) for name in a._fields}
    leaves[LISTED] = tuple(jnp.sort(side, axis=-1) for side in leaves[VIEW])  # type: ignore[assignment]
    return {leaf: _first(a, b, sample.played) for leaf, (a, b) in leaves.items() if a.size}


def _first(a: Array, b: Array, played_M: Array) -> Compared:
    a, b = (jax.random.key_data(x) if is_key(x) else x for x in (a, b))
    floats = jnp.issubdtype(a.dtype, jnp.floating)
    same = jnp.isclose(a, b, equal_nan=True, **CLOSE) if floats else a == b
    bad_M = ~same.reshape(len(same), -1).all(1)
    gap = jnp.where(same & jnp.isfinite(a) & jnp.isfinite(b), jnp.abs(a - b), 0.0).max() if floats else jnp.zeros(())
    earliest = jnp.argmin(jnp.where(bad_M, played_M, jnp.iinfo(jnp.int32).max))
    return Compared(jnp.where(bad_M.any(), earliest, -1), gap, a[earliest], b[earliest])


def traces_of(
    game: Game, sample: Record, orders: Sequence[np.ndarray], probe: str, seed: int
) -> tuple[list[Trace], float]:
    """The earliest fault of each leaf, and the largest distance of numbers that count as equal."""
    compared = _compared(game, sample, jnp.asarray(np.stack(orders)))
    largest = max(float(one.gap_O.max()) for one in compared.values())
    traces = []
    for leaf, one in compared.items():
        first_O = np.asarray(one.first_O)
        if (first_O < 0).all():
            continue
        step_O = np.where(first_O < 0, np.iinfo(np.int32).max, np.asarray(sample.played)[first_O])
        moved_O = [int((order != np.arange(len(order))).sum()) for order in orders]
        best = min(range(len(orders)), key=lambda o: (step_O[o], moved_O[o]))
        a, b = np.asarray(one.found_O)[best], np.asarray(one.wanted_O)[best]
        floats = np.issubdtype(a.dtype, np.floating)
        place = tuple(np.argwhere(~(np.isclose(a, b, equal_nan=True, **CLOSE) if floats else a == b))[0])
        order = tuple(map(int, orders[best]))
        where = int(first_O[best]) % WORLDS, int(step_O[best])
        traces.append(Trace(probe, seed, *where, order, leaf, str(a[place]), str(b[place])))
    return traces, largest


def judged(game: Game, traces: list[Trace], starts: list[str], largest: float, compared: int, casts: int) -> Finding:
    rounding = "bit for bit" if largest == 0.0 else f"to within {largest:.2g}"
    numbers = {"compared": compared, "probes": casts, "largest_deviation": largest, "starts": starts}
    if not traces:
        agree = (
            f"{compared:,} exchanged transitions of {casts} probes agree {rounding}; starts and chance favour nobody."
        )
        return L1.found(
            not starts, starts[0] if starts else agree,
            "The rules treat seats alike, but games do not begin alike for them.",
            "Look at start() and chance(): draw one order of all places and give them out by it.", **numbers,
        )  # fmt: skip
    first = min(
        traces, key=lambda trace: (trace.step, sum(i != o for i, o in enumerate(trace.order)), trace.leaf == LISTED)
    )
    differing = {trace.leaf for trace in traces}
    leaves = sorted(differing - {LISTED})
    text = (
        f"Step {first.step} of a game of {first.probe} (seed {first.seed}, world {first.world}), with "
        f"{order_name(game.spec, first.order)}: {first.leaf} is {first.found} where it should be {first.wanted}."
    )
    numbers |= {"trace": first._asdict(), "leaves": leaves, "faults": len(traces)}
    sound, why, remedy = (
        False, f"The rules favour seats by their number. What differs: {', '.join(leaves[:6])}.",
        "Look where step() or observe() goes through seats in order, takes the first of several, or names one.",
    )  # fmt: skip
    if not starts and (keys := common_keys(game)) and all(keys & inputs_of_step(game, leaf) for leaf in differing):
        sound, why, remedy = (
            None, f"All that differs rests on {', '.join(sorted(keys))}, drawn for all seats at once: exchanged, it "
            "falls otherwise. Whether it falls alike for all is for L2 to say.",
            "Draw in chance() what belongs to a seat, in fields that end in S (lot_S): then this level is exact.",
        )  # fmt: skip
    elif not starts and differing == {VIEW}:
        sound, why = None, "Seats see the same numbers, and not in the same order. Nothing else differs."
        remedy = "If that is the order in which others are listed, say so: Feature(..., lists='others')."
    return L1.found(sound, text, why, remedy, **numbers)


def common_keys(game: Game) -> set[str]:
    """Keys of chance that are not one for each seat."""
    chance = jax.eval_shape(game.chance, jax.random.key(0))
    leaves = named(("chance",), (chance,)).items()
    return {name for name, x in leaves if is_key(x) and not name.rpartition("_")[2].startswith("S")}
