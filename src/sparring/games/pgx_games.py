"""Games of Pgx (Koyamada and others 2023), pure functions in JAX already: a thin adapter."""

from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError, unknown
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Chance, Game, permute_seats

SHORTEST = {"connect_four": 7, "tic_tac_toe": 5, "othello": 9, "chess": 4, "gardner_chess": 3, "hex": 21}
"""Moves before which no game can be over, by the rules; where they are known, fewer starts are drawn."""


class PgxGame(Game):
    """Seats are Pgx's players; who begins is drawn by Pgx itself, so that seats are alike."""

    spec: GameSpec = eqx.field(static=True)
    env: Any = eqx.field(static=True)
    by_chance: bool = eqx.field(static=True)
    """Whether a move needs random numbers."""
    rules: tuple = ()

    def start(self, key: Array) -> Any:
        return self.env.init(jax.random.key_data(key))

    def chance(self, key: Array) -> Chance:
        return jax.random.key_data(key) if self.by_chance else ()

    def observe(self, state: Any) -> Observation:
        player_S = jnp.arange(self.spec.seats)
        seen_S = jax.vmap(lambda player: self.env.observe(state, player))(player_S)
        acting_S = (player_S == state.current_player) & ~state.terminated & ~state.truncated
        first_A = jnp.arange(self.spec.action.entries) == 0
        legal_SA = jnp.where(acting_S[:, None] & state.legal_action_mask.any(), state.legal_action_mask, first_A)
        present_S = jnp.ones(self.spec.seats, bool)
        return Observation(seen_S.reshape(self.spec.seats, -1).astype(jnp.float32), legal_SA, present_S, acting_S)

    def step(self, state: Any, action: Action, chance: Chance) -> tuple[Any, Step]:
        choice = action.discrete_SD[jnp.clip(state.current_player, 0, self.spec.seats - 1), 0]
        after = self.env.step(state, choice, *((chance,) if self.by_chance else ()))
        over = after.terminated & ~after.truncated
        return after, Step(
            reward_S=after.rewards.astype(jnp.float32),
            left_S=jnp.zeros(self.spec.seats, bool),
            over=over,
            cut=~over & (after.truncated | (after._step_count >= self.spec.longest)),
            outcome_K=jnp.sign(after.rewards) if self.spec.seats > 1 else jnp.zeros(1),
        )

    def permute(self, tree: Any, order_S: Array) -> Any:
        """Of a state the player to move and the rewards. Games that also keep cards by player are alike all the same,
        since who begins is drawn; only their states cannot be reordered."""
        if not hasattr(tree, "current_player"):
            return permute_seats(tree, order_S)
        player = jnp.argmax(order_S == tree.current_player).astype(tree.current_player.dtype)
        return tree.replace(current_player=player, rewards=tree.rewards[order_S])


def pgx(environment: str, longest: int = 1000, shortest: int = 0) -> PgxGame:
    """A game of Pgx, by its name there, such as pgx:connect_four. It is cut after `longest` moves."""
    env, by_chance = loaded(environment)
    state = jax.eval_shape(env.init, jax.random.PRNGKey(0))
    features, (choices,), seats = state.observation.size, state.legal_action_mask.shape, env.num_players
    spec = GameSpec(
        seats=seats,
        side_of_seat=tuple(range(seats)),
        action=ActionSpec(heads=(choices,)),
        layout=(Feature("seen", (features,)),),
        central=Central("seat", seats * features),
        longest=longest,
        shortest=shortest or SHORTEST.get(environment, 1),
        exchangeable=(tuple(range(seats)),) if seats > 1 else (),
        in_turn=seats > 1,
        zero_sum=seats > 1,
        score="outcome" if seats > 1 else "return",
        seat_names=tuple(f"player_{s}" for s in range(seats)),
        suits=(("discount", 1.0),) if seats > 1 else (),
    )
    return PgxGame(spec=spec, env=env, by_chance=by_chance)


@lru_cache(maxsize=32)
def loaded(name: str) -> tuple[Any, bool]:
    """The environment, the same object for all who ask, and whether its moves need random numbers."""
    try:
        import pgx as library
    except ModuleNotFoundError:
        raise ConfigError(f"pgx:{name} needs the package pgx, which is not here. pip install pgx.") from None
    if name not in library.available_envs():
        raise ConfigError(unknown("game of Pgx", name, library.available_envs()))
    env = library.make(name)
    state = jax.eval_shape(env.init, jax.random.PRNGKey(0))
    try:
        jax.eval_shape(env.step, state, jnp.int32(0))
    except Exception:  # whatever it says without a key
        return env, True
    return env, False
