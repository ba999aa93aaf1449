"""JaxMARL's half of vs_smax.py: random battles of SMAX against its own scripted enemy, with all its defaults.

Legal actions are drawn as on our side, by one uniform number a seat, all numbers of a call in one batch. Worlds begin
anew by SMAX's own step. What agents see and earn is summed up, since the compiler leaves out what nobody reads.

Letters: T steps, W worlds, S seats, A actions, F features.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxmarl
from jax import Array
from jaxmarl.environments.smax import HeuristicEnemySMAX, map_name_to_scenario

from turns import Answer, serve, timed


class Carry(NamedTuple):
    worlds: Any
    seen_WSF: Array
    earned_WS: Array


def pick(legal_A: Array, uniform: Array) -> Array:
    """A legal action, each alike: the first that has more than that share of the legal ones up to it."""
    reached_A = legal_A.astype(jnp.float32) @ jnp.triu(jnp.ones((legal_A.size, legal_A.size)))
    return (reached_A <= uniform * reached_A[-1]).sum()


def play_step(env: HeuristicEnemySMAX, carry: Carry, random: tuple[Array, Array]) -> tuple[Carry, Array]:
    uniform_WS, key = random

    def stacked(by_seat: dict[str, Array]) -> Array:
        return jnp.stack([by_seat[seat] for seat in env.agents], axis=1)

    legal_WSA = stacked(jax.vmap(env.get_avail_actions)(carry.worlds))
    action_WS = jax.vmap(jax.vmap(pick))(legal_WSA, uniform_WS)
    action = dict(zip(env.agents, action_WS.T, strict=True))
    keys_W = jax.random.split(key, len(uniform_WS))
    view, worlds, reward, done, _ = jax.vmap(env.step)(keys_W, carry.worlds, action)
    carry = Carry(worlds, carry.seen_WSF + stacked(view), carry.earned_WS + stacked(reward))
    return carry, done["__all__"].sum()


def play(env: HeuristicEnemySMAX, steps: int, carry: Carry, key: Array) -> tuple[Carry, Array]:
    """`steps` steps of every world, and how many battles ended."""
    key_actions, key_worlds = jax.random.split(key)
    uniform_TWS = jax.random.uniform(key_actions, (steps, *carry.earned_WS.shape))
    carry, ended_T = jax.lax.scan(partial(play_step, env), carry, (uniform_TWS, jax.random.split(key_worlds, steps)))
    return carry, ended_T.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True, help="a scenario of SMAX, as 3m")
    for name in ("worlds", "steps", "iterations"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    env = jaxmarl.make("HeuristicEnemySMAX", scenario=map_name_to_scenario(args.game))
    key, key_start = jax.random.split(jax.random.PRNGKey(0))
    view, worlds = jax.vmap(env.reset)(jax.random.split(key_start, args.worlds))
    shape = (args.worlds, env.num_agents)
    worlds = jax.tree.map(lambda x: jnp.asarray(x, x.dtype), worlds)  # weak types would compile a second time
    carry = Carry(worlds, jnp.zeros((*shape, view[env.agents[0]].shape[-1])), jnp.zeros(shape))
    program = jax.jit(partial(play, env, args.steps), donate_argnums=0)

    def go() -> Answer:
        nonlocal carry, key
        seconds, games = 0.0, 0
        for _ in range(args.iterations):
            key, key_now = jax.random.split(key)
            taken, (carry, ended) = timed(program, carry, key_now)
            seconds, games = seconds + taken, games + int(ended)
        per_iteration = {"seconds_per_iteration": seconds, "games_per_iteration": games}
        return {name: total / args.iterations for name, total in per_iteration.items()} | {"seats": env.num_agents}

    serve(go)


if __name__ == "__main__":
    main()
