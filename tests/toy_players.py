"""Players and critics whose choices and values are known beforehand, small learners, and one call that plays them."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.games.game import Game
from sparring.learn.config import PPOConfig
from sparring.learn.learner import Learner, new_learner
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.config import NetConfig
from sparring.nets.distributions import Distribution
from sparring.play.collect import begin, collect
from sparring.play.rollout import Cursor, Driver, Games, Rollout
from sparring.play.roster import stack
from sparring.play.seating import Seating, seat


def known(*options: dict[str, Any]) -> dict[str, Any]:
    """The first set of compiler options that this XLA accepts: their names come and go."""
    for choice in options:
        try:
            jax.jit(lambda x: x + 1, compiler_options=choice)(0)
        except jax.errors.JaxRuntimeError:
            continue
        return choice
    return {}


UNOPTIMISED = {"xla_backend_optimization_level": 0}
QUICK = known({**UNOPTIMISED, "xla_cpu_use_fusion_emitters": False}, UNOPTIMISED)
"""For programs that run a few times: they compile in a quarter of the time, and run at a quarter of the speed."""
quick = partial(jax.jit, compiler_options=QUICK)


class Always(eqx.Module):
    """A player that chooses one entry of the only head, with the given probability of it (the rest on entry 0)."""

    choice: Array
    probability: Array
    action: ActionSpec = eqx.field(static=True)

    @classmethod
    def make(cls, game: Game, choice: int, probability: float = 1.0) -> "Always":
        return cls(jnp.asarray(choice), jnp.asarray(probability), game.spec.action)

    def initial(self, *batch: int) -> tuple:
        del batch
        return ()

    def __call__(self, features_NF: Array, legal_NA: Array, memory: tuple) -> tuple[Distribution, tuple]:
        entries = jnp.arange(legal_NA.shape[-1])
        p_A = jnp.where(entries == self.choice, self.probability, jnp.where(entries == 0, 1 - self.probability, 0.0))
        logits_NA = jnp.broadcast_to(jnp.log(p_A + 1e-30), legal_NA.shape)
        none = jnp.zeros((*features_NF.shape[:-1], 0))
        return Distribution.make(self.action, logits_NA, legal_NA, none, jnp.zeros(0)), memory


class Reader(eqx.Module):
    """A critic whose value is the first number it sees, plus how many steps its memory holds times `weight`."""

    weight: Array
    sees: str = eqx.field(static=True)
    choices: bool = eqx.field(static=True, default=False)

    def initial(self, *batch: int) -> Array:
        return jnp.zeros(batch)

    def rows(self, seats: int, shared_view: bool) -> int:
        return 1 if shared_view else seats

    def __call__(self, views_VG: Array, memory: Array) -> tuple[Array, Array]:
        return views_VG[..., 0] + self.weight * (memory + 1), memory + 1


def reader(players: int = 1, *, weight: float = 0.0, sees: str = "local") -> Reader:
    return Reader(jnp.full(players, weight), sees)


def mirror(game: Game, *, worlds: int = 2, independent: bool = False) -> Seating:
    """One block in which every side learns: one learner for all, or one for each."""
    sides = game.spec.sides
    learners = range(sides) if independent else [0] * sides
    return seat(
        game.spec, game.spec.seats_of_side, family_BK=[["net"] * sides], learner_BK=[list(learners)], worlds=worlds
    )


def learners_of(
    game: Game,
    net: NetConfig,
    players: Sequence[int],
    *,
    gain: float = 100.0,
    ppo: PPOConfig = PPOConfig(),  # noqa: B008
    worlds: int = 0,
    seats: int = 1,
) -> Learner:
    """Untrained learners, stacked. `gain` scales the actors' last layer: untrained policies are almost uniform, and a
    wrong probability would hardly show. `worlds` and `seats` matter to options that keep something for each."""
    parts = {"value_scale": ppo.value_norm != "none", "noise_seats": seats if ppo.on("value_noise") else 0}

    def model(player: int) -> ActorCritic:
        whole = ActorCritic.make(Seed.of(5) / player, game.spec, net, **parts)
        return eqx.tree_at(lambda m: m.actor.head.weight_IO, whole, whole.actor.head.weight_IO * gain)

    return stack([new_learner(model(player), player, ppo, worlds, seats) for player in players])


def driver_of(learners: Learner) -> Driver:
    return Driver(learners.model.actor, learners.model.judge, learners.player)


def play(
    game: Game,
    seating: Seating,
    drivers: Sequence[Driver],
    *,
    steps: int,
    clock_V: Sequence[int] | None = None,
    seed: int = 0,
    **options: Any,
) -> tuple[tuple[Rollout, ...], Cursor, Games]:
    """A rollout in NumPy. `clock_V` sets the clocks at which the worlds of a timetable stand at first."""
    clocks = None if clock_V is None else jnp.asarray(clock_V, jnp.int32)
    run = player(seating, steps, tuple(options.items()))
    return jax.tree.map(np.asarray, run(game, list(drivers), clocks, jax.random.key(seed)))


@cache
def player(seating: Seating, steps: int, options: tuple[tuple[str, Any], ...]) -> Callable:
    """Compiled once for a shape: games that differ in their rules alone share it."""

    def run(game: Game, drivers: Sequence[Driver], clock_V: Array | None, key: Array) -> Any:
        cursor = begin(game, seating, drivers, key)
        if clock_V is not None:
            cursor = cursor._replace(state=cursor.state._replace(clock=clock_V))
        return collect(game, seating, drivers, cursor, jax.random.fold_in(key, 1), steps=steps, **dict(options))

    return quick(run)
