"""Games on grids played by hand, by scripts, and many times over."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from scipy import stats

from sparring.core.records import Action, Step
from sparring.games.game import Game
from sparring.games.trial import Noise, random_action
from toy_players import quick

STEP = quick(lambda game, state, action, chance: game.step(state, action, chance))
SEE = quick(lambda game, state: game.observe(state))


def act(game: Game, state: Any, *choices: int, chance: Any = ()) -> tuple[Any, Step]:
    """One step with these choices, in NumPy."""
    action = Action(jnp.array(choices, jnp.int32)[:, None], jnp.zeros((len(choices), 0)))
    return jax.tree.map(np.asarray, STEP(game, state, action, chance))


def row(game: Game, name: str) -> Array:
    return game.bots().table_PJ[game.bots().names.index(name)]


def rows(game: Game, names: Sequence[str]) -> Array:
    return jnp.stack([row(game, name) for name in names])


def masked_logits(game: Game, row_SJ: Array, state: Any) -> Array:
    """logits_SA of one bot for each seat, masked."""
    seen = game.observe(state)
    scored = [
        game.bot_scores(row_SJ[s], seen.features_SF[s : s + 1], seen.legal_SA[s : s + 1])[0]
        for s in range(game.spec.seats)
    ]
    return jnp.where(seen.legal_SA, jnp.concatenate(scored), -1e9)


logits = quick(masked_logits)


def play_script(game: Game, row_SJ: Array, state: Any, key: Array) -> tuple[Array, Array, Any]:
    """Return and step of leaving or of the end of every seat in one game of bots, and its last state."""

    def advance(carry: tuple, key: Array) -> tuple[tuple, None]:
        state, total_S, last_S, ended = carry
        noise_SA = jax.random.gumbel(key, (game.spec.seats, game.spec.action.entries))
        choice_S = jnp.argmax(masked_logits(game, row_SJ, state) + noise_SA, axis=1).astype(jnp.int32)
        present_S = game.observe(state).present_S & ~ended
        after, step = game.step(state, Action(choice_S[:, None], jnp.zeros((game.spec.seats, 0))), game.chance(key))
        kept = jax.tree.map(lambda new, old: jnp.where(ended, old, new), after, state)
        return (kept, total_S + jnp.where(ended, 0.0, step.reward_S), last_S + present_S, ended | step.over), None

    zeros_S = jnp.zeros(game.spec.seats)
    carry = (state, zeros_S, jnp.zeros(game.spec.seats, jnp.int32), jnp.array(False))
    (state, total_S, last_S, _), _ = lax.scan(advance, carry, jax.random.split(key, game.spec.longest))
    return total_S, last_S, state


scripted_game = quick(play_script)


@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 3})  # ten thousand games repay it
def returns(game: Game, row_J: Array, random: Array, keys_W: Array) -> Array:
    """return_WS of games in which every seat plays one bot, or at random."""
    worlds, spec = keys_W.shape[0], game.spec

    def advance(carry: tuple, key: Array) -> tuple[tuple, None]:
        state_W, total_WS, ended_W = carry
        seen = jax.vmap(game.observe)(state_W)
        uniform_WSA = jax.random.uniform(key, seen.legal_SA.shape, minval=1e-9)
        scored = jax.vmap(lambda x, legal: game.bot_scores(row_J, x, legal)[0])(seen.features_SF, seen.legal_SA)
        scored = jnp.where(seen.legal_SA, jnp.where(random, 0.0, scored), -1e9) - jnp.log(-jnp.log(uniform_WSA))
        action = Action(jnp.argmax(scored, axis=-1)[..., None].astype(jnp.int32), jnp.zeros((worlds, spec.seats, 0)))
        chance_W = jax.vmap(game.chance)(jax.random.split(jax.random.fold_in(key, 1), worlds))
        state_W, step = jax.vmap(game.step)(state_W, action, chance_W)
        total_WS = total_WS + jnp.where(ended_W[:, None], 0.0, step.reward_S)
        return (state_W, total_WS, ended_W | step.over), None

    start = (jax.vmap(game.start)(keys_W), jnp.zeros((worlds, spec.seats)), jnp.zeros(worlds, bool))
    return lax.scan(advance, start, jax.random.split(jax.random.fold_in(keys_W[0], 2), spec.longest))[0][1]


def many(game: Game, bot: str, *, games: int, seed: int = 0) -> np.ndarray:
    """return_WS of that many games; `bot` may be random."""
    keys_W = jax.random.split(jax.random.key(seed), games)
    random = bot == "random"
    row_J = game.bots().table_PJ[0] if random else row(game, bot)
    return np.asarray(returns(game, row_J, jnp.asarray(random), keys_W), float)


def fairness(return_WS: np.ndarray) -> float:
    """p-value of equal means over seats. If seats are exchangeable, all differences within a game have one variance and
    one correlation, so the sum of squares of the seats' mean differences is chi-square with S - 1 degrees."""
    worlds, seats = return_WS.shape
    apart_WS = return_WS - return_WS.mean(axis=1, keepdims=True)
    variance = (apart_WS**2).sum() / (worlds * (seats - 1))
    return float(stats.chi2.sf(worlds * (apart_WS.mean(axis=0) ** 2).sum() / variance, seats - 1))


def random_games(game: Game, state: Any, noise_T: Noise, chance_T: Any) -> tuple[Any, Any, Any]:
    """Every state, observation and step of one world of random play that goes on after the end."""

    def advance(state: Any, now: tuple) -> tuple[Any, tuple]:
        noise, chance = now
        seen = game.observe(state)
        after, step = game.step(state, random_action(noise, game.spec.action, seen.legal_SA), chance)
        return after, (after, seen, step)

    return lax.scan(advance, state, (noise_T, chance_T))[1]
