"""Core microseconds of a step of one battle: observation, a random legal choice for every agent, the step; one thread.

    taskset -c 0 python benchmarks/battle_cost.py 3m 8m 27m_vs_30m
    PYTHONPATH=OTHER/src taskset -c 0 python benchmarks/battle_cost.py 3m     # of another checkout, in turns with this

Core seconds and not the clock: they change by a few per cent, whatever else the machine does.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.games.registry import make
from sparring.games.skirmish.maps import MAPS


def chosen(legal_WSA: Array, uniform_WS: Array) -> Array:
    sum_WSA = jnp.cumsum(legal_WSA, axis=-1)
    return jnp.argmax(sum_WSA > uniform_WS[..., None] * sum_WSA[..., -1:], axis=-1).astype(jnp.int32)


def stretch(game: Game, worlds: int, steps: int) -> Callable[[Any, Array], Any]:
    def advance(state: Any, key: Array) -> tuple[Any, Array]:
        key_choice, key_luck = jax.random.split(key)
        seen = jax.vmap(game.observe)(state)
        choice_WS = chosen(seen.legal_SA, jax.random.uniform(key_choice, seen.legal_SA.shape[:2]))
        luck = jax.vmap(game.chance)(jax.random.split(key_luck, worlds))
        action = Action(choice_WS[..., None], jnp.zeros((*choice_WS.shape, 0)))
        after, step = jax.vmap(game.step)(state, action, luck)
        return after, step.reward_S.sum() + seen.features_SF.sum()

    return jax.jit(lambda state, key: jax.lax.scan(advance, state, jax.random.split(key, steps)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("maps", nargs="+", choices=tuple(MAPS), metavar="MAP")
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    words = parser.parse_args()
    for name in words.maps:
        game = make(f"skirmish:{name}")
        go = stretch(game, words.worlds, words.steps)
        state = jax.vmap(game.start)(jax.random.split(jax.random.key(0), words.worlds))
        jax.block_until_ready(go(state, jax.random.key(0)))
        spent = []
        for number in range(words.rounds):
            began = time.process_time()
            jax.block_until_ready(go(state, jax.random.key(number)))
            spent.append((time.process_time() - began) / words.steps / words.worlds * 1e6)
        print(f"{name:14} {np.median(spent):7.2f} core us a step of a world (least {min(spent):.2f})", flush=True)


if __name__ == "__main__":
    main()
