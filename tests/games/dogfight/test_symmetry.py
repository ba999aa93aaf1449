"""What must not matter: left and right, who is called first, where the fight is and which way it points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from sky import vector

from sparring.core.records import Action, Observation, Step
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.rules import Fight
from sparring.games.game import permute_seats
from toy_players import quick

WORLDS, STEPS = 8, 150
GAMES = {"duel": dogfight(), "discrete": dogfight(actions="discrete"), "missiles": dogfight(missiles=True)}


def random_actions(game: Dogfight, seed: int) -> Action:
    """Smooth enough to bring everybody into every attitude."""
    rng, spec = np.random.default_rng(seed), game.spec
    shape = (STEPS // 10, WORLDS, spec.seats)
    heads = [rng.integers(0, size, shape) for size in spec.action.heads]
    discrete = np.stack(heads, axis=-1) if heads else np.zeros((*shape, 0), int)
    continuous = np.clip(rng.normal(0, 0.5, (*shape, spec.action.dimensions)), -1, 1)
    parts = (discrete.astype(np.int32), continuous.astype(np.float32))
    return Action(*(jnp.asarray(np.repeat(part, 10, axis=0)) for part in parts))


@quick
def played(game: Dogfight, state: Fight, action_T: Action) -> tuple[Fight, Observation, Step]:
    def advance(state: Fight, action: Action) -> tuple[Fight, tuple]:
        seen = jax.vmap(game.observe)(state)
        state, step = jax.vmap(lambda s, a: game.step(s, a, ()))(state, action)
        return state, (state, seen, step)

    return lax.scan(advance, state, action_T)[1]


@quick
def begun(game: Dogfight, key) -> Fight:
    return jax.vmap(game.start)(jax.random.split(key, WORLDS))


def starts(game: Dogfight) -> Fight:
    """After the two seconds without guns, so that shots are fired."""
    begin = begun(game, jax.random.key(3))
    return begin._replace(played=jnp.full(WORLDS, 20, jnp.int32))


def close(one: object, two: object, tolerance: float) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", GAMES)
def test_the_mirrored_fight_is_the_mirror_of_the_fight(name: str) -> None:
    game = GAMES[name].with_rules(gun_cone=20.0)
    mirrored = jax.vmap(game.mirrored)
    state, action_T = starts(game), random_actions(game, 1)
    path, seen, step = played(game, state, action_T)
    wanted_path, turned_T, wanted_seen = jax.vmap(mirrored)(path, action_T, seen)
    turned, _, _ = mirrored(state, *jax.tree.map(lambda x: x[0], (action_T, seen)))
    found_path, found_seen, found_step = played(game, turned, turned_T)
    assert (np.asarray(path.health_S) < 1).any(), "shots are fired in this play"
    close(found_path, wanted_path, 2e-3)
    close(found_seen, wanted_seen, 2e-3)
    close(found_step, step, 2e-3)


def test_exchanging_the_aircraft_exchanges_everything() -> None:
    game = GAMES["duel"].with_rules(gun_cone=20.0, gun_damage=10.0, start_offensive=1.0)
    state, action_T = starts(game), random_actions(game, 2)
    order = jnp.array([1, 0])
    swap = jax.vmap(lambda tree: permute_seats(tree, order))
    path, seen, step = played(game, state, action_T)
    found_path, found_seen, found_step = played(game, swap(state), jax.vmap(swap)(action_T))
    assert step.outcome_K.any(), "somebody wins in this play"
    close(found_path, jax.vmap(swap)(path), 2e-3)
    close(found_seen, jax.vmap(swap)(seen), 2e-3)
    np.testing.assert_array_equal(found_step.outcome_K, np.asarray(step.outcome_K)[..., ::-1])
    np.testing.assert_array_equal(found_step.reward_S, -np.asarray(step.reward_S))
    np.testing.assert_array_equal(found_step.cause_K, np.asarray(step.cause_K)[..., ::-1])


@pytest.mark.parametrize("game", [dogfight(), dogfight_2v2()], ids=["duel", "pairs"])
def test_moving_and_turning_the_whole_scene_changes_no_view(game: Dogfight) -> None:
    state, _, _ = jax.tree.map(lambda x: x[-1], played(game, begun(game, jax.random.key(5)), random_actions(game, 4)))

    def moved(state: Fight) -> Fight:
        def turned(v):
            return type(v)(0.6 * v.x_S + 0.8 * v.y_S, -0.8 * v.x_S + 0.6 * v.y_S, v.z_S)

        flight = state.flight
        place = turned(flight.place) + vector([(7000.0, -3000.0, 0.0)] * game.spec.seats)
        return state._replace(
            flight=flight._replace(place=place, heading=turned(flight.heading), lift=turned(flight.lift))
        )

    look = quick(jax.vmap(lambda state: (game.observe(state).features_SF, game.potential(state))))
    close(look(jax.vmap(moved)(state)), look(state), 2e-3)


def test_a_state_that_is_stored_and_read_again_goes_on_bit_for_bit() -> None:
    game = GAMES["missiles"]
    state, action_T = starts(game), random_actions(game, 6)
    path, _, _ = played(game, state, action_T)
    half = STEPS // 2
    stored = [np.array(leaf[half - 1]) for leaf in jax.tree.leaves(path)]
    again = jax.tree.unflatten(jax.tree.structure(state), [jnp.asarray(leaf) for leaf in stored])
    rest, _, _ = played(game, again, jax.tree.map(lambda x: jnp.concatenate([x[half:], x[:half]]), action_T))
    for one, two in zip(jax.tree.leaves(path), jax.tree.leaves(rest), strict=True):
        np.testing.assert_array_equal(np.asarray(one)[half:], np.asarray(two)[:half])
