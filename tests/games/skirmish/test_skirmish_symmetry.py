"""What must not matter: which side is called first, which seat, and which way a map is seen."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from field import begun, luck_of
from jax import Array, lax
from numpy.testing import assert_array_equal

from sparring.core.records import Step
from sparring.games.game import Game
from sparring.games.registry import make
from sparring.games.skirmish.battle import Battle, Luck
from sparring.games.trial import Noise, quick_jit, random_action

STEPS = 60


@quick_jit
def exchanged(game: Game, state: Battle, noise_T: Noise, luck_T: Luck, order_VS: Array) -> tuple[Battle, Battle, Step]:
    """One world of random play, each step of it also with its seats in other orders: states [T, V] as they came, as
    they should have come, and what was paid. The first order is that of the game."""

    def advance(state: Battle, now: tuple[Noise, Luck]) -> tuple[Battle, tuple]:
        noise, luck = now
        action = random_action(noise, game.spec.action, game.observe(state).legal_SA)
        anew = jax.vmap(game.permute, (None, 0))
        after_V, step_V = jax.vmap(game.step)(*(anew(tree, order_VS) for tree in (state, action, luck)))
        after = jax.tree.map(lambda x: x[0], after_V)
        return after, (after_V, anew(after, order_VS), step_V)

    return lax.scan(advance, state, (noise_T, luck_T))[1]


def orders(game: Game, swap: bool) -> np.ndarray:
    """As it is, with sides exchanged, and with exchangeable seats in a random order."""
    spec, rng = game.spec, np.random.default_rng(3)
    found = [np.arange(spec.seats)]
    if swap:
        found.append(np.roll(found[0], spec.seats // 2))
    for _ in range(2):
        order = np.arange(spec.seats)
        for group in spec.exchangeable:
            order[list(group)] = rng.permutation(group)
        found.append(order)
    return np.stack(found)


def close_quarters(game: Any) -> Battle:
    """Armies that begin within reach of each other, so that random play is a fight."""
    one = jax.tree.map(lambda x: x[0], begun(game, 1))
    scale = [[0.3], [1.0]] if game.setting.army.battle_map.mirror == "x" else [[1.0], [0.4]]
    return one._replace(place_XU=one.place_XU * jnp.array(scale))


def played(game: Game, state_W: Battle, noise_TW: Noise, luck_TW: Luck) -> tuple[Battle, Step]:
    """Worlds of random play, [T, W]."""

    def advance(state: Battle, now: tuple[Noise, Luck]) -> tuple[Battle, tuple[Battle, Step]]:
        noise, luck = now
        after, step = game.step(state, random_action(noise, game.spec.action, game.observe(state).legal_SA), luck)
        return after, (after, step)

    return lax.scan(jax.vmap(advance), state_W, (noise_TW, luck_TW))[1]


# Healers that fly, and a colossus that burns lines.
@pytest.mark.parametrize(("name", "opponent"), [("MMM", "scripted"), ("1c3s5z", "policy")])
def test_battles_are_the_same_bit_for_bit_whatever_the_compiler_fuses(name: str, opponent: str) -> None:
    game: Any = make(f"skirmish:{name}", opponent=opponent)
    rng, spec, shape = np.random.default_rng(2), game.spec, (STEPS, 13)
    noise = Noise(rng.random((*shape, spec.seats, spec.action.entries), np.float32), np.zeros((*shape, spec.seats, 0)))
    noise, luck = jax.tree.map(jnp.asarray, noise), luck_of(game, rng, *shape)
    state_W = jax.tree.map(lambda x: jnp.stack([x] * shape[1]), close_quarters(game))
    # The lowest level computes as it is told; the highest adds products unrounded, and many places at once.
    plain, fused = (
        eqx.filter_jit(played, compiler_options={"xla_backend_optimization_level": level})(game, state_W, noise, luck)
        for level in (0, 3)
    )
    for field, one, two in zip(Battle._fields, plain[0], fused[0], strict=True):
        assert_array_equal(one, two, err_msg=field)
    assert_array_equal(plain[1].outcome_K, fused[1].outcome_K)


@pytest.mark.parametrize(
    ("name", "opponent"),
    [
        ("3m", "policy"),
        ("8m", "policy"),
        ("2s3z", "policy"),
        ("MMM", "policy"),
        ("bane_vs_bane", "policy"),
        ("3m", "scripted"),
        ("MMM", "scripted"),
    ],
)
def test_battles_with_seats_or_sides_exchanged_are_the_same_bit_for_bit(name: str, opponent: str) -> None:
    game: Any = make(f"skirmish:{name}", opponent=opponent)
    rng, spec = np.random.default_rng(1), game.spec
    noise = Noise(rng.random((STEPS, spec.seats, spec.action.entries), np.float32), np.zeros((STEPS, spec.seats, 0)))
    order_VS = orders(game, swap=opponent == "policy")
    noise, luck = jax.tree.map(jnp.asarray, noise), luck_of(game, rng, STEPS)
    found, wanted, step = exchanged(game, close_quarters(game), noise, luck, jnp.asarray(order_VS))
    for field, one, two in zip(Battle._fields, found, wanted, strict=True):
        assert_array_equal(one, two, err_msg=field)
    last = np.asarray(found.health_U)[-1, 0]
    assert (last == 0).sum() > 1
    paid, outcome = np.asarray(step.reward_S), np.asarray(step.outcome_K)
    for v, order in enumerate(order_VS):
        assert_array_equal(paid[:, v], paid[:, 0, order])
    if opponent == "policy":
        assert_array_equal(outcome[:, 1], outcome[:, 0, ::-1])
