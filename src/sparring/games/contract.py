"""What every game promises, checked by playing random legal actions.

    from sparring.games.contract import check_game
    check_game(my_game)

The first promise that does not hold raises a GameError that says what was expected, what was found and what to do.
"""

import inspect
import traceback
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import LARGEST, Action
from sparring.core.spec import GameSpec
from sparring.games.game import Chance, Game, State
from sparring.games.goal_promises import check_goals, promised_goals
from sparring.games.promise import SOUND, broken, where
from sparring.games.symmetry import exchanged, exchanged_potentials, exchanges
from sparring.games.trial import (
    Moment,
    Noise,
    Record,
    difference,
    is_key,
    moment,
    quick_jit,
    random_action,
    random_play,
    sample_of,
)

SAMPLE = 128
"""How many of the transitions that were played are played again with seats exchanged."""


def check_game(game: Game, *, seed: int = 0, worlds: int = 8, games: int = 3, eager: bool = True) -> tuple[str, ...]:
    """Raise a GameError unless the game keeps its contract in `games` games of random play in each of the worlds. Else
    remarks: what it seems to be and does not say.

    Without games, only what it declares and the shapes of what it returns are checked, which compiles nothing. With
    `eager` off a step is not also taken without jit, which compiles every operation by itself.
    """
    _check_declarations(game)
    _check_shapes(game)
    if not games:
        return ()
    record = random_play(game, seed=seed, worlds=worlds, steps=games * game.spec.longest)
    _check_states(record)
    _check_views(game.spec, record)
    _check_steps(game.spec, record)
    _check_causes(game.spec, record)
    _check_presence(record)
    _check_lengths(game.spec, record)
    _check_openings(game, record)
    sample = sample_of(record, SAMPLE)
    _check_potential(game, sample)
    check_goals(game, record, sample)
    _check_repeatable(game, sample, eager=eager)
    for order in exchanges(game.spec):
        _check_exchange(game, sample, order)
    _check_bots(game, sample)
    return unsaid(game.spec, np.asarray(record.moment.step.reward_S))


def unsaid(spec: GameSpec, reward_TWS: np.ndarray) -> tuple[str, ...]:
    """What a game seems to be by its rewards, and does not say."""
    sums = np.abs(reward_TWS.sum(-1)) <= 1e-4 * np.maximum(1.0, np.abs(reward_TWS).max(-1))
    if spec.zero_sum or spec.sides != 2 or not reward_TWS.any() or not sums.all():
        return ()
    return (
        "Rewards added up to 0 in every step that was tried. If they always do, say zero_sum=True in the spec: then "
        "evaluations and ratings treat it as a contest.",
    )


def _check_declarations(game: Game) -> None:
    try:
        hash(game.spec)
    except TypeError as error:
        raise broken("Hashable spec", "a spec of numbers, words and tuples", str(error), "Use no lists.") from None
    spec = game.spec
    if not 1 <= spec.shortest <= spec.longest:
        found = f"{spec.shortest} and {spec.longest}"
        raise broken("Length of games", "1 <= spec.shortest <= spec.longest", found, "Count the steps of a game.")
    loose = [leaf for leaf in jax.tree.leaves(game.rules) if not eqx.is_array(leaf)]
    if loose:
        remedy = "Wrap it with jnp.asarray(value, float): a Python number is compiled into the program."
        raise broken("Rules are arrays", "arrays alone in game.rules", repr(loose[0]), remedy)


def _check_shapes(game: Game) -> None:
    spec = game.spec
    seats, entries = spec.seats, spec.action.entries
    noise = Noise(np.zeros((seats, entries)), np.zeros((seats, spec.action.dimensions)))
    action = jax.eval_shape(lambda: random_action(noise, spec.action, jnp.ones((seats, entries), bool)))
    key = jax.random.key(0)
    state, chance = _traced(game, game.start, key), _traced(game, game.chance, key)
    shown = _traced(game, partial(moment, game), state, action, chance)
    seen, step = shown.seen, shown.step
    promised: tuple[tuple[str, Any, tuple[int, ...], Any], ...] = (
        ("observe().features_SF", seen.features_SF, (seats, spec.features), jnp.floating),
        ("observe().legal_SA", seen.legal_SA, (seats, spec.action.entries), jnp.bool_),
        ("observe().present_S", seen.present_S, (seats,), jnp.bool_),
        ("observe().acting_S", seen.acting_S, (seats,), jnp.bool_),
        ("central()", shown.central, (spec.critic_views, spec.central.size), jnp.floating),
        ("step().reward_S", step.reward_S, (seats,), jnp.floating),
        ("step().left_S", step.left_S, (seats,), jnp.bool_),
        ("step().over", step.over, (), jnp.bool_),
        ("step().cut", step.cut, (), jnp.bool_),
        ("step().outcome_K", step.outcome_K, (spec.sides,), jnp.number),
        ("potential()", _traced(game, game.potential, state), (seats, len(spec.terms_of("potential"))), jnp.floating),
    )
    # A game without reward terms, causes or counts may leave these fields empty.
    if spec.terms_of("reward") or not isinstance(step.terms_SJ, tuple):
        promised += (("step().terms_SJ", step.terms_SJ, (seats, len(spec.terms_of("reward"))), jnp.floating),)
    if spec.causes:
        promised += (("step().cause_K", step.cause_K, (spec.sides,), jnp.integer),)
    if spec.counts:
        promised += (("step().count_SJ", step.count_SJ, (seats, len(spec.counts)), jnp.integer),)
    if spec.goals:
        goals = _traced(game, game.goals, state)
        promised += promised_goals(spec, goals, _traced(game, game.reached, state, action, shown.after))
    for name, found, shape, kind in promised:
        expected, remedy = (
            f"shape {shape} of {kind.__name__.rstrip('_')}",
            "Change the array, or what the spec says of it.",
        )
        if isinstance(found, tuple):
            raise broken(f"Shape of {name}", expected, "nothing", remedy)
        if found.shape != shape or not jnp.issubdtype(found.dtype, kind):
            raise broken(f"Shape of {name}", expected, f"{found.shape} of {found.dtype}", remedy)
    before, after = (jax.tree.map(lambda x: (x.shape, str(x.dtype)), tree) for tree in (state, shown.after))
    if before != after:
        remedy = "A state keeps its structure, shapes and types from start to end: cast what step() returns."
        raise broken("Shape of the state", f"{before} as start() gives", f"{after} from step()", remedy)


def _traced(game: Game, function: Callable, *arguments: Any) -> Any:
    """The shapes that a function of the game gives; what it raises is told with the line of the game it comes from."""
    try:
        return jax.eval_shape(function, *arguments)
    except Exception as error:
        own = inspect.getfile(type(game))
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
        place = f" in line {lines[-1]} of {Path(own).name}" if lines else ""
        found = f"{type(error).__name__}{place}: {str(error).partition(chr(10))[0].rstrip('.')}"
        remedy = "Use jnp.where instead of if, and the names and arguments of the Game protocol."
        raise broken("Code that can be traced", "pure functions of arrays", found, remedy) from error


def _alone(game: Game, key: Array, state: State, action: Action, chance: Chance) -> tuple[State, Chance, Moment]:
    return game.start(key), game.chance(key), moment(game, state, action, chance)


def _check_repeatable(game: Game, sample: Record, *, eager: bool) -> None:
    """The same from program to program: made anew, for one world as for many, and without jit where asked."""
    # Tracing twice shows random numbers that Python draws: they are constants of a program.
    traced = [quick_jit(lambda g, k, s, a, c: _alone(g, k, s, a, c)) for _ in range(2)]
    count, key = sample.played.shape[0], jax.random.key(0)
    for i in (0, count // 2, count - 1):
        state, action, chance, among_many = jax.tree.map(
            lambda x, i=i: x[i] if is_key(x) else np.array(x[i]), sample[:4]
        )
        one, again, anew = (run(game, key, state, action, chance) for run in (traced[0], *traced))
        for found in (difference(one, again, exact=True), difference(one, anew, exact=True)):
            if found:
                remedy = "Draw all random numbers from the keys that start() and chance() are given."
                raise broken("Repeatable", "the same result for the same key and state", found, remedy)
        results = {"alone as under vmap": among_many}
        if eager and i == 0:
            state, action, chance = jax.tree.map(jnp.asarray, (state, action, chance))  # as games expect them
            results["under jit as without"] = moment(game, state, action, chance)
        for name, result in results.items():
            found = difference(one[2], result)
            if found:
                remedy = "Write each method for one world, with jnp, and without Python branches on values."
                raise broken("One meaning", f"the same result {name}", found, remedy)


def _check_states(record: Record) -> None:
    """Training leaves worlds out whose state holds a NaN; infinity may mean "never"."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(record.moment.after):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            x = np.asarray(leaf)
            bad = np.isnan(x).any(tuple(range(2, x.ndim)))
            if bad.any():
                found = f"NaN in {jax.tree_util.keystr(path).lstrip('.')} {where(record, bad, 'after')}"
                raise broken("Defined state", "numbers", found, "Guard divisions, roots and logarithms in step().")


def _check_views(spec: GameSpec, record: Record) -> None:
    for when, seen in (("at", record.moment.seen), ("after", record.last)):
        seen, place = jax.tree.map(np.asarray, seen), partial(where, record, when=when)
        bad = ~(np.abs(seen.features_SF) <= LARGEST).all(-1)
        if bad.any():
            remedy = "Guard divisions, square roots and logarithms in observe()."
            raise broken("Finite features", SOUND, f"NaN or infinity {place(bad)}", remedy)
        bounds = np.cumsum((0, *spec.action.heads))
        for head, (a, b) in enumerate(pairwise(bounds)):
            legal = seen.legal_SA[..., a:b]
            bad = ~legal.any(-1)
            if bad.any():
                remedy = (
                    "Leave entry 0 legal where nothing else is, also for a seat that does not act and after the end."
                )
                found = f"an empty row of head {head} {place(bad)}"
                raise broken("Legal rows", "at least one legal entry in each head", found, remedy)
            bad = ~seen.acting_S & (~legal[..., 0] | legal[..., 1:].any(-1))
            if bad.any():
                found = f"other entries of head {head} {place(bad)}"
                remedy = "Then its log-probability and entropy are 0."
                raise broken("Legal rows of seats that do not act", "entry 0 alone", found, remedy)
        bad = seen.acting_S & ~seen.present_S
        if bad.any():
            found = f"one that acts but is not present {place(bad)}"
            raise broken("Seats that act", "only present seats", found, "Set acting_S to acting_S & present_S.")
    if not (np.abs(np.asarray(record.moment.central)) <= LARGEST).all():
        raise broken("Finite central view", SOUND, "NaN or infinity", "Guard divisions in central().")


def _check_steps(spec: GameSpec, record: Record) -> None:
    step = jax.tree.map(np.asarray, record.moment.step)
    ended = step.over | step.cut
    bad = ~(np.abs(step.reward_S) <= LARGEST)
    if bad.any():
        raise broken("Finite rewards", SOUND, f"NaN or infinity {where(record, bad)}", "Guard divisions.")
    bad = ~np.isfinite(np.asarray(step.terms_SJ)).all(-1) if spec.terms_of("reward") else bad
    if bad.any():
        found = f"NaN or infinity {where(record, bad)}"
        raise broken("Finite shaping terms", "finite numbers", found, "Guard divisions.")
    bad = step.over & step.cut
    if bad.any():
        remedy = "cut is for time limits that are not part of the rules; let over win: cut & ~over."
        raise broken("Over or cut", "one of them at most", f"both {where(record, bad)}", remedy)
    bad = (step.outcome_K != 0).any(-1) & ~ended
    if bad.any():
        remedy = "Multiply it by over | cut."
        raise broken("Outcome", "zeros before the end", f"an outcome {where(record, bad)}", remedy)
    bad = ~np.isin(step.outcome_K, (-1, 0, 1)).all(-1)
    if bad.any():
        found = f"{step.outcome_K[bad][0]} {where(record, bad)}"
        raise broken("Outcome", "1, 0 or -1 for each side", found, "Take the sign; amounts belong in the reward.")
    sum_TW = step.reward_S.sum(-1)
    bad = np.abs(sum_TW) > 1e-4 * np.maximum(1.0, np.abs(step.reward_S).max(-1))
    if spec.zero_sum and bad.any():
        remedy = "Balance the rewards or set spec.zero_sum to False."
        raise broken("Zero sum", "rewards that sum to 0", f"{sum_TW[bad][0]:g} {where(record, bad)}", remedy)


def _check_causes(spec: GameSpec, record: Record) -> None:
    if not spec.causes:
        return
    step = jax.tree.map(np.asarray, record.moment.step)
    bad = (step.over | step.cut)[..., None] & ((step.cause_K < 0) | (step.cause_K >= len(spec.causes)))
    if bad.any():
        found = f"{step.cause_K[bad][0]} {where(record, bad.any(-1))}"
        remedy = f"Count in spec.causes: {', '.join(spec.causes)}."
        raise broken("Cause of an end", f"0 to {len(spec.causes) - 1} for each side", found, remedy)


def _check_presence(record: Record) -> None:
    step = jax.tree.map(np.asarray, record.moment.step)
    before, after = np.asarray(record.moment.seen.present_S), np.asarray(record.last.present_S)
    bad = after & ~before
    if bad.any():
        found = f"one that came back {where(record, bad)}"
        raise broken("Present seats", "seats that stay away once they have left", found, "Keep it in the state.")
    goes_on = ~(step.over | step.cut)[..., None]
    bad = before & ~after & ~step.left_S & goes_on
    if bad.any():
        remedy = (
            "Set left_S in the step after which it is absent: else its last value is guessed from a seat that is gone."
        )
        raise broken("Seats that go", "left_S where a seat goes", f"none {where(record, bad)}", remedy)
    paid = step.reward_S != 0
    if not isinstance(step.terms_SJ, tuple):
        paid = paid | (step.terms_SJ != 0).any(-1)
    bad = paid & ~before
    if bad.any():
        found = f"{step.reward_S[bad][0]:g} {where(record, bad)}"
        remedy = "Pay it in the step in which it leaves, or keep it present, but not acting, while it earns."
        raise broken("Pay of absent seats", "nothing", found, remedy)
    bad = step.left_S & after & goes_on
    if bad.any():
        found = f"one still present {where(record, bad)}"
        raise broken("Seats that left", "their absence afterwards", found, "Set present_S to False from then on.")


def _check_lengths(spec: GameSpec, record: Record) -> None:
    ended, played = np.asarray(record.moment.step.over | record.moment.step.cut), np.asarray(record.played)
    if (ended & (played < spec.shortest)).any():
        found = f"one of {played[ended].min()}"
        remedy = "Lower spec.shortest: it bounds how many starts are prepared."
        raise broken("Length of games", f"at least spec.shortest = {spec.shortest} steps", found, remedy)
    if (~ended & (played >= spec.longest)).any():
        remedy = "End it with over, or with cut where the limit is not part of the rules."
        found = "one that goes on after that"
        raise broken("Length of games", f"at most spec.longest = {spec.longest} steps", found, remedy)


def _check_openings(game: Game, record: Record) -> None:
    """Starts that were drawn are among those that are listed; how often each is drawn takes more games to tell."""
    opened = game.openings()
    if opened is None:
        return
    begun = np.asarray(record.played) == 1
    drawn, listed = jax.tree.map(lambda x: np.asarray(x)[begun], record.state), jax.tree.map(np.asarray, opened[0])
    pairs = list(zip(jax.tree.leaves(drawn), jax.tree.leaves(listed), strict=True))
    same_MN = [(one[:, None] == two).reshape(len(one), len(two), -1).all(-1) for one, two in pairs]
    if any(one.dtype != two.dtype for one, two in pairs) or not np.all(same_MN, axis=0).any(axis=1).all():
        remedy = "List each state that start() can give, with its types, or let openings() return None."
        raise broken("Openings", "every start among those of openings()", "one that is not", remedy)


def _check_potential(game: Game, sample: Record) -> None:
    if not game.spec.terms_of("potential"):
        return
    for order in [np.arange(game.spec.seats), *exchanges(game.spec)]:
        found_MSJ, wanted_MSJ = map(np.asarray, exchanged_potentials(game, sample.state, jnp.asarray(order)))
        if not np.isfinite(wanted_MSJ).all():
            raise broken("Finite potential", "finite numbers", "NaN or infinity", "Guard divisions in potential().")
        found = difference(found_MSJ, wanted_MSJ)
        if found:
            expected = f"potentials that follow the seats (new seat i is old seat {order.tolist()}[i])"
            raise broken("Exchangeable seats", expected, found, "Correct the favour in potential().")


def _check_exchange(game: Game, sample: Record, order: np.ndarray) -> None:
    happened, wanted = exchanged(game, sample, jnp.asarray(order))
    found = difference(happened, wanted)
    if found:
        expected = f"a game that treats seats alike (new seat i is old seat {order.tolist()}[i])"
        remedy = (
            "Correct the favour, name fields by their axes (S), override permute() where numbers or choices name "
            "seats, or shrink spec.exchangeable."
        )
        raise broken("Exchangeable seats", expected, found, remedy)


@quick_jit
def _bot_turns(game: Game, table_PJ: Array, features_MNF: Array, legal_MNA: Array) -> tuple[Array, Array, Any]:
    """logits [P, M, N, A], means [P, M, N, C] and memories of every bot in every sampled situation, as its first."""
    blank = game.bot_memory(*legal_MNA.shape[:2])
    turn = jax.vmap(jax.vmap(game.bot_turn, (None, 0, 0, 0)), (0, None, None, None))
    return turn(table_PJ, features_MNF, legal_MNA, blank)


def _check_bots(game: Game, sample: Record) -> None:
    bots, spec = game.bots(), game.spec
    if len(bots.names) != bots.table_PJ.shape[0]:
        found = f"{len(bots.names)} names and {bots.table_PJ.shape[0]} rows"
        raise broken("Bots", "a row of parameters for each name", found, "Match bots().names and bots().table_PJ.")
    for side, seats in enumerate(spec.seats_of_side):
        fitting = bots.fitting(side)
        if not fitting:
            continue
        table_PJ = np.asarray(bots.table_PJ)[np.array([bots.names.index(name) for name in fitting])]
        seen = [x[:, np.array(seats)] for x in (sample.moment.seen.features_SF, sample.moment.seen.legal_SA)]
        logits, mean, memory = _bot_turns(game, jnp.asarray(table_PJ), *seen)
        shapes = (logits.shape[2:], mean.shape[2:])
        wanted = ((len(seats), spec.action.entries), (len(seats), spec.action.dimensions))
        if shapes != wanted:
            raise broken("Shape of bot_scores", f"logits and means of {wanted}", f"{shapes}", "One row for each seat.")
        blank = jax.tree.map(lambda x: (x.shape, str(x.dtype)), game.bot_memory(*seen[1].shape[:2]))
        kept = jax.tree.map(lambda x: (x.shape[1:], str(x.dtype)), memory)
        if blank != kept:
            remedy = "A memory keeps its structure, shapes and types: cast what bot_turn() returns."
            raise broken("Memory of bots", f"{blank} as bot_memory() gives", f"{kept} from bot_turn()", remedy)
        # Finite logits are legal once masked, because no legal row is empty.
        for name, *arrays in zip(fitting, np.asarray(logits), np.asarray(mean), strict=True):
            if not all(np.isfinite(array).all() for array in arrays):
                found = f"NaN or infinity from bot {name!r} on side {side}"
                raise broken("Finite bot_scores", "finite numbers", found, "Bound the logits; masks come afterwards.")
