"""Games of Pgx, and environments of JaxMARL's interface, keep the contract of games."""

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.games import registry
from sparring.games.contract import check_game


def test_a_game_of_pgx_keeps_the_contract_and_is_won_as_there():
    pytest.importorskip("pgx", reason="games of Pgx need pgx")
    game = registry.make("pgx:tic_tac_toe")
    assert (game.spec.seats, game.spec.action.heads, game.spec.shortest) == (2, (9,), 5) and game.spec.in_turn
    check_game(game, worlds=4, games=1)
    state = game.start(jax.random.key(0))
    first = int(state.current_player)
    for field in (0, 3, 1, 4, 2):  # the one who begins has the top row
        state, step = game.step(state, Action(jnp.full((2, 1), field), jnp.zeros((2, 0))), ())
    assert bool(step.over) and np.asarray(step.outcome_K).tolist() == ([1, -1] if first == 0 else [-1, 1])
    with pytest.raises(ConfigError, match="Unknown game of Pgx 'connect_fuor'"):
        registry.make("pgx:connect_fuor")


class Walk(NamedTuple):
    at: jax.Array
    step: jax.Array


class FakeMarl:
    """JaxMARL's interface: a hunter of three choices and a prey of one number on a line; the hunter is paid for being
    near. The prey leaves in step 2, the game ends by time in step 4."""

    agents: tuple = ("hunter_0", "prey_0")
    max_steps = 4

    def observation_space(self, agent: str) -> Any:
        return SimpleNamespace(shape=(2,) if agent == "hunter_0" else (1,))

    def action_space(self, agent: str) -> Any:
        hunter = agent == "hunter_0"
        return SimpleNamespace(n=3) if hunter else SimpleNamespace(shape=(1,), low=jnp.zeros(1), high=jnp.full(1, 2.0))

    def seen(self, state: Walk) -> dict:
        return {"hunter_0": state.at, "prey_0": state.at[1:]}

    def reset(self, key: jax.Array) -> tuple[dict, Walk]:
        state = Walk(jax.random.uniform(key, (2,)), jnp.zeros((), jnp.int32))
        return self.seen(state), state

    def step_env(self, key: jax.Array, state: Walk, actions: dict) -> tuple:
        del key
        at = state.at + jnp.stack([actions["hunter_0"] - 1.0, actions["prey_0"][0]])
        after = Walk(at, state.step + 1)
        near = -jnp.abs(at[0] - at[1])
        done = {"hunter_0": after.step >= 4, "prey_0": after.step >= 2, "__all__": after.step >= 4}
        return self.seen(after), after, {"hunter_0": near, "prey_0": -near}, done, {}

    def get_avail_actions(self, state: Walk) -> dict:
        raise NotImplementedError


def test_an_environment_of_jaxmarl_keeps_the_contract(monkeypatch):
    monkeypatch.setitem(sys.modules, "jaxmarl", SimpleNamespace(make=lambda name: {"fake": FakeMarl()}[name]))
    game = registry.make("jaxmarl:fake")
    spec = game.spec
    assert (spec.side_of_seat, spec.action.heads, spec.action.dimensions, spec.features) == ((0, 1), (3,), 1, 4)
    check_game(game, worlds=2, games=1)
    state = game.start(jax.random.key(0))._replace(inner=Walk(jnp.zeros(2), jnp.zeros((), jnp.int32)))
    action = Action(jnp.asarray([[2], [0]]), jnp.asarray([[0.0], [1.0]]))  # a step of 1, and the upper bound, 2
    state, step = game.step(state, action, jax.random.key(0))
    assert np.asarray(step.reward_S).tolist() == [-1, 1] and not bool(step.left_S.any())
    state, step = game.step(state, action, jax.random.key(0))
    assert np.asarray(step.left_S).tolist() == [False, True]
    assert np.asarray(game.observe(state).present_S).tolist() == [True, False]
    for _ in range(2):
        state, step = game.step(state, action, jax.random.key(0))
    assert bool(step.cut) and not bool(step.over) and np.asarray(step.reward_S).tolist() == [-4, 0]
    with pytest.raises(ConfigError, match="jaxmarl:nothing could not be made"):
        registry.make("jaxmarl:nothing")
