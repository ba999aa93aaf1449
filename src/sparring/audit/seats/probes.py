"""Who plays while a game is audited: chance, stubborn players who all want the same, and the game's own bots.

Random play alone rarely lets two seats want one thing at once, and that is where favour hides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, GameSpec
from sparring.games.game import Game
from sparring.games.symmetry import listed_anew
from sparring.games.trial import CLOSE, Record, moment, quick_jit
from sparring.nets.actor_critic import Actor
from sparring.nets.distributions import Distribution
from sparring.play.decide import within_bounds
from sparring.play.rollout import where_first
from sparring.play.roster import stack
from sparring.play.scripted import RANDOM, Scripted

STUBBORN = 3
"""Stubborn players, each with a taste of its own."""
KEEN = 3.0
"""How much they prefer what they like: seats collide, and are seldom stuck for a whole game."""
MOST_BOTS = 6

Cast = tuple[str, ...]
"""The player of each side, by name."""


class Stubborn(eqx.Module):
    """Likes some choices more than others, whatever it sees: players of one taste want the same and are in each other's
    way, in any game."""

    action: ActionSpec = eqx.field(static=True)
    taste_A: Array
    mean_C: Array

    def initial(self, *batch: int) -> tuple:
        del batch
        return ()

    def __call__(self, features_NF: Array, legal_NA: Array, memory: tuple) -> tuple[Distribution, tuple]:
        logits_NA = jnp.broadcast_to(KEEN * self.taste_A, legal_NA.shape)
        mean_NC = jnp.broadcast_to(self.mean_C, (*features_NF.shape[:-1], len(self.mean_C)))
        return Distribution.make(self.action, logits_NA, legal_NA, mean_NC, jnp.full(len(self.mean_C), -1.0)), memory


def stubborn(spec: ActionSpec, number: int) -> Stubborn:
    random = (Seed.of(0) / "stubborn" / number).generator()
    bounds = zip(spec.low, spec.high, strict=True)
    mean = [random.uniform(max(low, -1.0), min(high, 1.0)) for low, high in bounds]
    return Stubborn(spec, jnp.asarray(random.normal(size=spec.entries), float), jnp.asarray(mean, float))


def players_of(game: Game, learned: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[Cast]]:
    """Players by name, and who sits where in each probe: every bot of the game where it fits, those of any game, and
    copies of each policy that was learned."""
    bots, sides = game.bots(), range(game.spec.sides)
    fitting = [bots.fitting(side)[:MOST_BOTS] for side in sides]
    casts: list[Cast] = [(RANDOM,) * game.spec.sides]
    for number in range(max(map(len, fitting))):
        casts.append(tuple(names[number % len(names)] if names else RANDOM for names in fitting))
    players: dict[str, Any] = {name: Scripted.make(game, name) for cast in casts for name in cast}
    alone = {f"stubborn {number + 1}": stubborn(game.spec.action, number) for number in range(STUBBORN)}
    alone |= learned or {}
    return players | alone, casts + [(name,) * game.spec.sides for name in alone]


def cast_name(cast: Cast) -> str:
    return " and ".join(dict.fromkeys(cast))


def without_mind(policy: Any) -> Any:
    """A policy that hears no mind: nobody shows probes what the others do."""

    def silent(node: Any) -> Any:
        muted = isinstance(node, Actor) and node.mind is not None
        return replace(node, mind=None, fusion=None) if muted else node

    return jax.tree.map(silent, policy, is_leaf=lambda node: isinstance(node, Actor))


class Bench(NamedTuple):
    """Players of one kind on sides of one size, stacked: a program holds what they do once, not once for each side."""

    drivers: Any
    seats_KN: np.ndarray

    def __call__(self, seen: Observation, memory: Any) -> tuple[Distribution, Any]:
        return jax.vmap(lambda driver, *given: driver(*given))(
            self.drivers, seen.features_SF[self.seats_KN], seen.legal_SA[self.seats_KN], memory
        )

    def initial(self) -> Any:
        return jax.vmap(lambda driver: driver.initial(self.seats_KN.shape[1]))(self.drivers)


def benches(spec: GameSpec, drivers: Sequence[Any]) -> list[Bench]:
    """The players of all sides, those of one kind together."""
    sides: dict[Any, list[int]] = {}
    for side, driver in enumerate(drivers):
        sides.setdefault((jax.tree.structure(driver), len(spec.seats_of_side[side])), []).append(side)
    return [
        Bench(stack([drivers[k] for k in own]), np.asarray([spec.seats_of_side[k] for k in own]))
        for own in sides.values()
    ]


def record_of(game: Game, players: dict[str, Any], cast: Cast, *, seed: int, worlds: int, steps: np.ndarray) -> Record:
    """Play of one cast from the start of games, recorded in the steps that are named; every leaf begins with [T, W]."""
    random, action = np.random.default_rng(seed), game.spec.action
    shape = (int(steps[-1]) + 1, worlds, game.spec.seats)
    seeds_TW = random.integers(0, 2**31, shape[:2]).astype(np.int32)
    uniform = random.random((*shape, len(action.heads)), np.float32)
    normal = random.normal(size=(*shape, action.dimensions)).astype(np.float32)
    drivers = tuple(players[name] for name in cast)
    return _record(game, drivers, *map(jnp.asarray, (seeds_TW, uniform, normal, steps)))


@quick_jit
def _record(
    game: Game, drivers: tuple[Any, ...], seeds_TW: Array, uniform: Array, normal: Array, kept_T: Array
) -> Record:
    seated = benches(game.spec, drivers)

    def drawn(seed: Array) -> tuple[Any, Any]:
        key_start, key_chance = jax.random.split(jax.random.key(seed))
        return game.start(key_start), game.chance(key_chance)

    def blank() -> tuple[Any, ...]:
        return tuple(bench.initial() for bench in seated)

    def advance(carry: tuple, now: tuple) -> tuple[tuple, Record]:
        (state, memory, played), (fresh, chance, uniform_SD, normal_SC) = carry, now
        state, memory = where_first(played == 0, (fresh, blank()), (state, memory))
        action, memory = chosen(game, seated, game.observe(state), memory, uniform_SD, normal_SC)
        happened = moment(game, state, action, chance)
        ended = happened.step.over | happened.step.cut
        record = Record(state, action, chance, happened, happened.seen, played + 1)  # the last view is not asked for
        return (happened.after, memory, jnp.where(ended, 0, played + 1)), record

    start_TW, chance_TW = jax.vmap(jax.vmap(drawn))(seeds_TW)
    worlds = seeds_TW.shape[1]
    memory_W = jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *jnp.shape(x))), blank())
    carry_W = (jax.tree.map(lambda x: x[0], start_TW), memory_W, jnp.zeros(worlds, jnp.int32))
    found = jax.lax.scan(jax.vmap(advance), carry_W, (start_TW, chance_TW, uniform, normal))[1]
    return jax.tree.map(lambda x: x[kept_T], found)


def chosen(
    game: Game, seated: Sequence[Bench], seen: Observation, memory: tuple, uniform_SD: Array, normal_SC: Array
) -> tuple[Action, tuple]:
    """What the players of all sides choose by these random numbers."""
    found, kept = Action(jnp.zeros(uniform_SD.shape, jnp.int32), jnp.zeros_like(normal_SC)), []
    for bench, old in zip(seated, memory, strict=True):
        at_KN = bench.seats_KN
        said, new = bench(seen, old)
        own = said.sample(uniform_SD[at_KN], normal_SC[at_KN])
        found = Action(*(whole.at[at_KN].set(part) for whole, part in zip(found, own, strict=True)))
        kept.append(new)
    return within_bounds(found, game.spec.action), tuple(kept)


def even_handed(game: Game, drivers: Sequence[Any], sample: Record, orders: Sequence[np.ndarray]) -> bool:
    """Whether the players of all sides make no difference between seats that they see: with these listed in another
    order they choose the same. One that attacks the first of its list favours the others, and its games would accuse
    the game."""
    was, now = _opinions(game, tuple(drivers), sample.moment.seen, jnp.asarray(np.stack(orders)))
    return bool(np.isclose(was, now, rtol=CLOSE["rtol"], atol=CLOSE["atol"]).all())


@quick_jit
def _opinions(game: Game, drivers: tuple[Any, ...], seen_M: Observation, orders_OS: Array) -> tuple[Array, Array]:
    """Probabilities of all entries and means of all dimensions, of every seat: as they were, exchanged afterwards, and
    of what is seen when seats are exchanged. [O, M, S, A + C]."""
    spec = game.spec
    entries, seated = spec.action.entries, benches(spec, drivers)

    def opinion(seen: Observation) -> Array:
        found = jnp.zeros((spec.seats, entries + spec.action.dimensions))
        for bench in seated:
            said = bench(seen, bench.initial())[0]
            found = found.at[bench.seats_KN].set(jnp.concatenate([jnp.exp(said.log_p_A), said.mean_C], axis=-1))
        return found

    def other(seen: Observation, order_S: Array) -> Observation:
        moved = game.permute(seen, order_S)
        return moved._replace(features_SF=listed_anew(spec, moved.features_SF, order_S))

    def renamed(seen: Observation, was: Array, order_S: Array) -> Array:
        # Opinions on choices are named anew as legal entries are.
        moved = game.permute(seen._replace(legal_SA=was[:, :entries]), order_S).legal_SA
        return jnp.concatenate([moved, was[order_S, entries:]], axis=1)

    over = lambda function: jax.vmap(jax.vmap(function, (0, None)), (None, 0))  # noqa: E731
    others_OM = over(other)(seen_M, orders_OS)
    # One call for both: what a player does is then compiled once.
    both = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), seen_M, others_OM)
    found = jax.vmap(jax.vmap(opinion))(both)
    was_OM = jax.vmap(jax.vmap(renamed, (0, 0, None)), (None, None, 0))(seen_M, found[0], orders_OS)
    return was_OM, found[1:]
