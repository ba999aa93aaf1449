"""What every game promises, checked by playing random legal actions.

    from sparring.games.contract import check_game
    check_game(my_game)

The first promise that does not hold raises a GameError that says what was expected, what was found and what to do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, GameSpec
from sparring.games.game import Chance, Game, State, permute_seats

SAMPLE = 128
"""How many of the transitions that were played are played again with seats exchanged."""
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""Floats of two programs that compute the same may be rounded differently; integers are compared exactly."""


class Moment(NamedTuple):
    """What a game says around one step of one world."""

    seen: Observation
    central: Array
    after: State
    step: Step


class Record(NamedTuple):
    """Random play; every leaf begins with [T, W]."""

    state: State
    action: Action
    chance: Chance
    moment: Moment
    last: Observation
    """What is seen after the step, before a world that ended starts again."""
    played: Array
    """Steps of the present game, this one included."""


def check_game(game: Game, *, seed: int = 0, worlds: int = 8, games: int = 3) -> None:
    """Raise a GameError unless the game keeps its contract in `games` games of random play in each of the worlds."""
    key = jax.random.key(seed)
    _check_declarations(game)
    _check_shapes(game, key)
    _check_repeatable(game, key)
    record = _play(game, key, worlds, games * game.spec.longest)
    _check_views(game.spec, record)
    _check_steps(game.spec, record)
    _check_presence(record)
    _check_lengths(game.spec, record)
    sample = _sample(record)
    _check_alone(game, sample)
    for order in _orders(game.spec):
        _check_order(game, sample, order)
    _check_bots(game, sample)


def _moment(game: Game, state: State, action: Action, chance: Chance) -> Moment:
    after, step = game.step(state, action, chance)
    return Moment(game.observe(state), game.central(state), after, step)


@eqx.filter_jit
def _play(game: Game, key: Array, worlds: int, steps: int) -> Record:
    def advance(carry: tuple, key: Array) -> tuple[tuple, Record]:
        state, played = carry
        key_act, key_chance, key_start = jax.random.split(key, 3)
        action = _random_action(key_act, game.spec.action, game.observe(state).legal_SA)
        chance = game.chance(key_chance)
        moment = _moment(game, state, action, chance)
        ended = moment.step.over | moment.step.cut
        record = Record(state, action, chance, moment, game.observe(moment.after), played + 1)
        fresh = game.start(key_start)
        state = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, moment.after)
        return (state, jnp.where(ended, 0, played + 1)), record

    def one_world(key: Array) -> Record:
        key_start, key_steps = jax.random.split(key)
        carry = (game.start(key_start), jnp.zeros((), jnp.int32))
        return jax.lax.scan(advance, carry, jax.random.split(key_steps, steps))[1]

    return jax.vmap(one_world, out_axes=1)(jax.random.split(key, worlds))


def _random_action(key: Array, spec: ActionSpec, legal_SA: Array) -> Action:
    """Uniform among what is legal; continuous dimensions uniform between their bounds, or normal without bounds."""
    key_discrete, key_continuous = jax.random.split(key)
    noise_SA = jnp.where(legal_SA, jax.random.uniform(key_discrete, legal_SA.shape), -1.0)
    bounds = np.cumsum((0, *spec.heads))
    heads = [jnp.argmax(noise_SA[:, a:b], axis=1) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    seats = legal_SA.shape[0]
    discrete_SD = jnp.stack(heads, axis=1).astype(jnp.int32) if heads else jnp.zeros((seats, 0), jnp.int32)
    low_C, high_C = np.array(spec.low), np.array(spec.high)
    bounded_C = np.isfinite(low_C) & np.isfinite(high_C)
    low_C, high_C = np.where(bounded_C, low_C, 0.0), np.where(bounded_C, high_C, 0.0)
    shape = (seats, spec.dimensions)
    inside_SC = low_C + jax.random.uniform(key_continuous, shape) * (high_C - low_C)
    return Action(discrete_SD, jnp.where(bounded_C, inside_SC, jax.random.normal(key_continuous, shape)))


def _broken(rule: str, expected: str, found: str, remedy: str) -> GameError:
    return GameError(f"{rule}: expected {expected}, found {found}. {remedy}")


def _check_declarations(game: Game) -> None:
    try:
        hash(game.spec)
    except TypeError as error:
        raise _broken("Hashable spec", "a spec of numbers, words and tuples", str(error), "Use no lists.") from None
    spec = game.spec
    if not 1 <= spec.shortest <= spec.longest:
        found = f"{spec.shortest} and {spec.longest}"
        raise _broken("Length of games", "1 <= spec.shortest <= spec.longest", found, "Count the steps of a game.")
    loose = [leaf for leaf in jax.tree.leaves(game.rules) if not eqx.is_array(leaf)]
    if loose:
        remedy = "Wrap it with jnp.asarray(value, float): a Python number is compiled into the program."
        raise _broken("Rules are arrays", "arrays alone in game.rules", repr(loose[0]), remedy)


def _check_shapes(game: Game, key: Array) -> None:
    spec = game.spec
    seats = spec.seats
    state = jax.eval_shape(game.start, key)
    legal_SA = jax.ShapeDtypeStruct((seats, spec.action.entries), bool)
    action = jax.eval_shape(lambda key, legal_SA: _random_action(key, spec.action, legal_SA), key, legal_SA)
    moment = jax.eval_shape(lambda *a: _moment(game, *a), state, action, jax.eval_shape(game.chance, key))
    seen, step = moment.seen, moment.step
    promised: tuple[tuple[str, Any, tuple[int, ...], Any], ...] = (
        ("observe().features_SF", seen.features_SF, (seats, spec.features), jnp.floating),
        ("observe().legal_SA", seen.legal_SA, (seats, spec.action.entries), jnp.bool_),
        ("observe().present_S", seen.present_S, (seats,), jnp.bool_),
        ("observe().acting_S", seen.acting_S, (seats,), jnp.bool_),
        ("central()", moment.central, (spec.critic_views, spec.central.size), jnp.floating),
        ("step().reward_S", step.reward_S, (seats,), jnp.floating),
        ("step().left_S", step.left_S, (seats,), jnp.bool_),
        ("step().over", step.over, (), jnp.bool_),
        ("step().cut", step.cut, (), jnp.bool_),
        ("step().outcome_K", step.outcome_K, (spec.sides,), jnp.number),
    )
    for name, found, shape, kind in promised:
        if found.shape != shape or not jnp.issubdtype(found.dtype, kind):
            expected = f"shape {shape} of {kind.__name__.rstrip('_')}"
            remedy = "Change the array, or what the spec says of it."
            raise _broken(f"Shape of {name}", expected, f"{found.shape} of {found.dtype}", remedy)
    before, after = (jax.tree.map(lambda x: (x.shape, str(x.dtype)), tree) for tree in (state, moment.after))
    if before != after:
        remedy = "A state keeps its structure, shapes and types from start to end: cast what step() returns."
        raise _broken("Shape of the state", f"{before} as start() gives", f"{after} from step()", remedy)


def _check_repeatable(game: Game, key: Array) -> None:
    """Without jit, where a hidden source of randomness is drawn again in each call."""
    chances = (game.chance(key), game.chance(key))
    states = (game.start(key), game.start(key))
    action = _random_action(key, game.spec.action, game.observe(states[0]).legal_SA)
    moments = [_moment(game, states[0], action, chances[0]) for _ in range(2)]
    for name, (one, two) in (("start", states), ("chance", chances), ("observe, central and step", moments)):
        difference = _difference(one, two, exact=True)
        if difference:
            remedy = "Draw all random numbers from the key that start() and chance() are given."
            raise _broken(f"Repeatable {name}", "the same result for the same key", difference, remedy)


def _where(record: Record, bad: np.ndarray) -> str:
    """The first place of a fault, from bad [T, W] or [T, W, S]."""
    t, w, *seat = np.argwhere(bad)[0]
    return f"at step {int(record.played[t, w])} of a game" + (f", seat {seat[0]}" if seat else "")


def _check_views(spec: GameSpec, record: Record) -> None:
    for seen in (record.moment.seen, record.last):
        seen = jax.tree.map(np.asarray, seen)
        bad = ~np.isfinite(seen.features_SF).all(-1)
        if bad.any():
            remedy = "Guard divisions, square roots and logarithms in observe()."
            raise _broken("Finite features", "finite numbers", f"NaN or infinity {_where(record, bad)}", remedy)
        bounds = np.cumsum((0, *spec.action.heads))
        for head, (a, b) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
            legal = seen.legal_SA[..., a:b]
            bad = ~legal.any(-1)
            if bad.any():
                remedy = "Leave entry 0 legal for a seat that does not act."
                found = f"an empty row of head {head} {_where(record, bad)}"
                raise _broken("Legal rows", "at least one legal entry in each head", found, remedy)
            bad = ~seen.acting_S & (~legal[..., 0] | legal[..., 1:].any(-1))
            if bad.any():
                found = f"other entries of head {head} {_where(record, bad)}"
                remedy = "Then its log-probability and entropy are 0."
                raise _broken("Legal rows of seats that do not act", "entry 0 alone", found, remedy)
        bad = seen.acting_S & ~seen.present_S
        if bad.any():
            found = f"one that acts but is not present {_where(record, bad)}"
            raise _broken("Seats that act", "only present seats", found, "Set acting_S to acting_S & present_S.")
    if not np.isfinite(np.asarray(record.moment.central)).all():
        raise _broken("Finite central view", "finite numbers", "NaN or infinity", "Guard divisions in central().")


def _check_steps(spec: GameSpec, record: Record) -> None:
    step = jax.tree.map(np.asarray, record.moment.step)
    ended = step.over | step.cut
    bad = ~np.isfinite(step.reward_S)
    if bad.any():
        raise _broken("Finite rewards", "finite numbers", f"NaN or infinity {_where(record, bad)}", "Guard divisions.")
    bad = step.over & step.cut
    if bad.any():
        remedy = "cut is for time limits that are not part of the rules; let over win: cut & ~over."
        raise _broken("Over or cut", "one of them at most", f"both {_where(record, bad)}", remedy)
    bad = (step.outcome_K != 0).any(-1) & ~ended
    if bad.any():
        remedy = "Multiply it by over | cut."
        raise _broken("Outcome", "zeros before the end", f"an outcome {_where(record, bad)}", remedy)
    bad = ~np.isin(step.outcome_K, (-1, 0, 1)).all(-1)
    if bad.any():
        found = f"{step.outcome_K[bad][0]} {_where(record, bad)}"
        raise _broken("Outcome", "1, 0 or -1 for each side", found, "Take the sign; amounts belong in the reward.")
    sum_TW = step.reward_S.sum(-1)
    bad = np.abs(sum_TW) > 1e-4 * np.maximum(1.0, np.abs(step.reward_S).max(-1))
    if spec.zero_sum and bad.any():
        remedy = "Balance the rewards or set spec.zero_sum to False."
        raise _broken("Zero sum", "rewards that sum to 0", f"{sum_TW[bad][0]:g} {_where(record, bad)}", remedy)


def _check_presence(record: Record) -> None:
    step = jax.tree.map(np.asarray, record.moment.step)
    before, after = np.asarray(record.moment.seen.present_S), np.asarray(record.last.present_S)
    bad = after & ~before
    if bad.any():
        found = f"one that came back {_where(record, bad)}"
        raise _broken("Present seats", "seats that stay away once they have left", found, "Keep it in the state.")
    bad = step.left_S & after & ~(step.over | step.cut)[..., None]
    if bad.any():
        found = f"one still present {_where(record, bad)}"
        raise _broken("Seats that left", "their absence afterwards", found, "Set present_S to False from then on.")


def _check_lengths(spec: GameSpec, record: Record) -> None:
    ended, played = np.asarray(record.moment.step.over | record.moment.step.cut), np.asarray(record.played)
    if (ended & (played < spec.shortest)).any():
        found = f"one of {played[ended].min()}"
        remedy = "Lower spec.shortest: it bounds how many starts are prepared."
        raise _broken("Length of games", f"at least spec.shortest = {spec.shortest} steps", found, remedy)
    if (~ended & (played >= spec.longest)).any():
        remedy = "End it with over, or with cut where the limit is not part of the rules."
        found = "one that goes on after that"
        raise _broken("Length of games", f"at most spec.longest = {spec.longest} steps", found, remedy)


def _sample(record: Record) -> Record:
    """Up to SAMPLE transitions, evenly spread; every leaf begins with one axis."""
    count = record.played.size
    index = np.unique(np.linspace(0, count - 1, min(SAMPLE, count)).astype(int))
    return jax.tree.map(lambda x: x.reshape(count, *x.shape[2:])[index], record)


def _check_alone(game: Game, sample: Record) -> None:
    """One world by itself gives what it gave among many, and without jit what it gave with jit."""
    count = sample.played.shape[0]
    run: dict[str, tuple[Callable[..., Moment], tuple[int, ...]]] = {
        "under vmap as alone": (eqx.filter_jit(_moment), (0, count // 2, count - 1)),
        "under jit as without": (_moment, (count // 2,)),
    }
    for name, (function, places) in run.items():
        for i in places:
            state, action, chance, moment = jax.tree.map(lambda x, i=i: x[i], sample[:4])
            difference = _difference(function(game, state, action, chance), moment)
            if difference:
                remedy = "Write each method for one world, with jnp, and without Python branches on values."
                raise _broken("The same result", name, difference, remedy)


def _orders(spec: GameSpec) -> list[np.ndarray]:
    """Permutations that generate all those that a spec allows: within sides, and of whole sides."""
    orders = []
    for group in spec.exchangeable:
        parts = [[s for s in group if spec.side_of_seat[s] == side] for side in range(spec.sides)]
        parts = [part for part in parts if part]
        moves = [([one], [two]) for part in parts for one, two in zip(part[:-1], part[1:], strict=True)]
        moves += zip(parts[:-1], parts[1:], strict=True)
        whole = all(part in map(list, spec.seats_of_side) for part in parts) and len(set(map(len, parts))) == 1
        if len(parts) > 1 and not whole:
            remedy = "Group seats of one side, or all seats of sides of one size."
            found = f"group {group} with sides {spec.side_of_seat}"
            raise _broken("Exchangeable seats", "seats whose exchange keeps sides together", found, remedy)
        for one, two in moves:
            order = np.arange(spec.seats)
            order[one], order[two] = two, one
            orders.append(order)
    return orders


@eqx.filter_jit
def _exchanged(game: Game, sample: Record, order_S: Array) -> tuple[Moment, Moment]:
    """What happens to exchanged seats, and what should: the exchange of what happened; features are left out."""

    def one(state: State, action: Action, chance: Chance, moment: Moment) -> tuple[Moment, Moment]:
        found = _moment(
            game, game.permute(state, order_S), permute_seats(action, order_S), game.permute(chance, order_S)
        )
        wanted = moment._replace(
            seen=permute_seats(moment.seen, order_S),
            after=game.permute(moment.after, order_S),
            step=permute_seats(moment.step, order_S),
        )
        return found, wanted

    return jax.vmap(one)(*sample[:4])


def _check_order(game: Game, sample: Record, order: np.ndarray) -> None:
    spec = game.spec
    found, wanted = _exchanged(game, sample, jnp.array(order))
    side_order = [spec.side_of_seat[order[seats[0]]] for seats in spec.seats_of_side]
    wanted = wanted._replace(
        seen=wanted.seen._replace(features_SF=_exchanged_features(spec, sample.moment.seen.features_SF, order)),
        step=wanted.step._replace(outcome_K=wanted.step.outcome_K[:, np.array(side_order)]),
        central=found.central,  # its inner order is the game's own affair
    )
    difference = _difference(found, wanted)
    if difference:
        expected = f"a game that treats seats alike (new seat i is old seat {order.tolist()}[i])"
        remedy = "Correct the favour, name fields by their axes (S), override permute(), or shrink spec.exchangeable."
        raise _broken("Exchangeable seats", expected, difference, remedy)


def _exchanged_features(spec: GameSpec, features_BSF: Array, order: np.ndarray) -> np.ndarray:
    """Rows in their new order; blocks that list the other seats listed anew."""
    features, rows = np.asarray(features_BSF), []
    for new, old in enumerate(order):
        blocks, begin = [], 0
        for block in spec.layout:
            part = features[:, old, begin : begin + block.size]
            if block.others:
                listed = [other - (other > old) for seat, other in enumerate(order) if seat != new]
                part = part.reshape(len(part), *block.shape)[:, listed].reshape(len(part), -1)
            blocks.append(part)
            begin += block.size
        rows.append(np.concatenate(blocks, axis=1))
    return np.stack(rows, axis=1)


def _check_bots(game: Game, sample: Record) -> None:
    bots, spec = game.bots(), game.spec
    if len(bots.names) != bots.table_PJ.shape[0]:
        found = f"{len(bots.names)} names and {bots.table_PJ.shape[0]} rows"
        raise _broken("Bots", "a row of parameters for each name", found, "Match bots().names and bots().table_PJ.")
    for side, seats in enumerate(spec.seats_of_side):
        fitting = bots.fitting(side)
        if not fitting:
            continue
        table_PJ = bots.table_PJ[np.array([bots.names.index(name) for name in fitting])]
        seen = [x[:, np.array(seats)] for x in (sample.moment.seen.features_SF, sample.moment.seen.legal_SA)]
        scores = jax.vmap(jax.vmap(game.bot_scores, (None, 0, 0)), (0, None, None))
        logits, mean = jax.jit(scores)(table_PJ, *seen)
        shapes = (logits.shape[2:], mean.shape[2:])
        wanted = ((len(seats), spec.action.entries), (len(seats), spec.action.dimensions))
        if shapes != wanted:
            raise _broken("Shape of bot_scores", f"logits and means of {wanted}", f"{shapes}", "One row for each seat.")
        # Finite logits are legal once masked, because no legal row is empty.
        for name, *arrays in zip(fitting, np.asarray(logits), np.asarray(mean), strict=True):
            if not all(np.isfinite(array).all() for array in arrays):
                found = f"NaN or infinity from bot {name!r} on side {side}"
                raise _broken("Finite bot_scores", "finite numbers", found, "Bound the logits; masks come afterwards.")


def _difference(one: Any, two: Any, *, exact: bool = False) -> str | None:
    """Where two records differ first, in words, or None."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(two), strict=True)
    for (path, a), b in pairs:
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        floats = np.issubdtype(a.dtype, np.floating) and not exact
        same = np.isclose(a, b, equal_nan=True, **CLOSE) if floats else (a == b) | ((a != a) & (b != b))
        if not same.all():
            place = tuple(np.argwhere(~same)[0]) if same.ndim else ()
            return f"{a[place]} against {b[place]} in {jax.tree_util.keystr(path).lstrip('.')}"
    return None
