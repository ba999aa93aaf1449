"""JaxMARL's half of vs_jaxmarl.py: feed-forward IPPO with shared weights on JaxMARL's own particle games.

An iteration is a rollout and its update. JaxMARL's published packages hold its games and wrappers but not its training
scripts, so the loop is ours, on their games, with the coefficients of their ippo_ff_mpe and its order of work: every
seat a row of one network, scans over steps, epochs and minibatches, all iterations in one program. Their callback to
the host, shuffled logs and annealed learning rate are left out. `--baselines CHECKOUT` times their script itself.

Letters: T steps, W worlds, R rows = seats x worlds (seat-major), F features, M rows of a minibatch.
"""

import argparse
import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp
import jaxmarl
import optax
from flax.training.train_state import TrainState
from jax import Array
from jaxmarl.wrappers.baselines import MPELogWrapper

from turns import serve, timed

GAMES = {"spread": "MPE_simple_spread_v3", "tag": "MPE_simple_tag_v3"}
LEARNING_RATE, DISCOUNT, DECAY, CLIP, EPOCHS, MINIBATCHES = 2.5e-4, 0.99, 0.95, 0.2, 4, 4
ENTROPY_WEIGHT, VALUE_WEIGHT, LARGEST_GRADIENT = 0.01, 0.5, 0.5


class ActorCritic(nn.Module):
    actions: int

    @nn.compact
    def __call__(self, features: Array) -> tuple[distrax.Categorical, Array]:
        def tower(outputs: int, last_scale: float) -> Array:
            hidden = features
            for _ in range(2):
                hidden = nn.tanh(nn.Dense(64, kernel_init=nn.initializers.orthogonal(2**0.5))(hidden))
            return nn.Dense(outputs, kernel_init=nn.initializers.orthogonal(last_scale))(hidden)

        return distrax.Categorical(logits=tower(self.actions, 0.01)), tower(1, 1.0)[..., 0]


class Samples(NamedTuple):
    features: Array
    action: Array
    log_prob: Array
    value: Array
    reward: Array
    done: Array


class Carry(NamedTuple):
    learner: TrainState
    worlds: Any
    observation: dict[str, Array]
    key: Array


def rows_of(by_seat: dict[str, Array], seats: list[str], rows: int) -> Array:
    """Stacks per-seat arrays `[W]` or `[W, F]` into `[R, F]` rows, shorter observations padded with zeros."""
    views = [by_seat[seat] for seat in seats]
    widest = max(view.shape[-1] for view in views)
    padded = [jnp.pad(view, [(0, 0)] * (view.ndim - 1) + [(0, widest - view.shape[-1])]) for view in views]
    return jnp.stack(padded).reshape(rows, -1)


def play_step(env: MPELogWrapper, carry: Carry, _: None) -> tuple[Carry, tuple[Samples, dict[str, Array]]]:
    key, key_act, key_worlds = jax.random.split(carry.key, 3)
    rows = env.num_agents * (worlds := carry.observation[env.agents[0]].shape[0])
    features_RF = rows_of(carry.observation, env.agents, rows)
    policy, value_R = carry.learner.apply_fn(carry.learner.params, features_RF)
    action_R, log_prob_R = policy.sample_and_log_prob(seed=key_act)
    action = dict(zip(env.agents, action_R.reshape(env.num_agents, worlds), strict=True))
    keys_W = jax.random.split(key_worlds, worlds)
    observation, state, reward, done, info = jax.vmap(env.step)(keys_W, carry.worlds, action)
    reward_R, done_R = (rows_of(signal, env.agents, rows)[:, 0] for signal in (reward, done))
    samples = Samples(features_RF, action_R, log_prob_R, value_R, reward_R, done_R)
    return Carry(carry.learner, state, observation, key), (samples, info)


def advantages(samples: Samples, last_value_R: Array) -> Array:
    """Generalised advantage estimation (arXiv:1506.02438, eq. 16); like theirs, every end of an episode is terminal."""

    def back(carry: tuple[Array, Array], step: Samples) -> tuple[tuple[Array, Array], Array]:
        later_R, next_value_R = carry
        goes_on_R = DISCOUNT * (1 - step.done)
        advantage_R = step.reward + goes_on_R * (next_value_R + DECAY * later_R) - step.value
        return (advantage_R, step.value), advantage_R

    return jax.lax.scan(back, (jnp.zeros_like(last_value_R), last_value_R), samples, reverse=True, unroll=8)[1]


def ppo_loss(params: Any, learner: TrainState, samples: Samples, advantage_M: Array, target_M: Array) -> Array:
    """Clipped surrogate (arXiv:1707.06347, eq. 7) with a clipped value loss and an entropy bonus."""
    policy, value_M = learner.apply_fn(params, samples.features)
    moved_M = samples.value + jnp.clip(value_M - samples.value, -CLIP, CLIP)
    value_loss = 0.5 * jnp.maximum((value_M - target_M) ** 2, (moved_M - target_M) ** 2).mean()
    scaled_M = (advantage_M - advantage_M.mean()) / (advantage_M.std() + 1e-8)
    ratio_M = jnp.exp(policy.log_prob(samples.action) - samples.log_prob)
    gain = jnp.minimum(ratio_M * scaled_M, jnp.clip(ratio_M, 1 - CLIP, 1 + CLIP) * scaled_M).mean()
    return VALUE_WEIGHT * value_loss - gain - ENTROPY_WEIGHT * policy.entropy().mean()


def epoch(batch: tuple[Samples, Array, Array], learner: TrainState, key: Array) -> tuple[TrainState, Array]:
    """One pass over `[T, R, ...]` samples in a fresh order."""
    order = jax.random.permutation(key, rows := batch[1].size)
    shuffled = jax.tree.map(lambda x: jnp.take(x.reshape(rows, *x.shape[2:]), order, axis=0), batch)
    parts = jax.tree.map(lambda x: x.reshape(MINIBATCHES, -1, *x.shape[1:]), shuffled)

    def descend(learner: TrainState, part: tuple[Samples, Array, Array]) -> tuple[TrainState, Array]:
        loss, gradient = jax.value_and_grad(ppo_loss)(learner.params, learner, *part)
        return learner.apply_gradients(grads=gradient), loss

    return jax.lax.scan(descend, learner, parts)


def iterate(env: MPELogWrapper, steps: int, carry: Carry, _: None) -> tuple[Carry, dict[str, Array]]:
    carry, (samples, info) = jax.lax.scan(partial(play_step, env), carry, None, steps)
    last_RF = rows_of(carry.observation, env.agents, samples.value.shape[1])
    advantage_TR = advantages(samples, carry.learner.apply_fn(carry.learner.params, last_RF)[1])
    batch = (samples, advantage_TR, advantage_TR + samples.value)
    key, *keys = jax.random.split(carry.key, 1 + EPOCHS)
    learner, losses = jax.lax.scan(partial(epoch, batch), carry.learner, jnp.stack(keys))
    return carry._replace(learner=learner, key=key), jax.tree.map(jnp.mean, {**info, "loss": losses})


def our_loop(args: argparse.Namespace) -> Callable[[], float]:
    """Compiles `iterations` iterations into one program; each call of the result trains on and times it."""
    env = MPELogWrapper(jaxmarl.make(GAMES[args.game]))
    key, key_weights, key_worlds = jax.random.split(jax.random.PRNGKey(0), 3)
    observation, state = jax.vmap(env.reset)(jax.random.split(key_worlds, args.worlds))
    network = ActorCritic(env.action_space(env.agents[0]).n)
    weights = network.init(key_weights, rows_of(observation, env.agents, env.num_agents * args.worlds))
    optimiser = optax.chain(optax.clip_by_global_norm(LARGEST_GRADIENT), optax.adam(LEARNING_RATE, eps=1e-5))
    learner = TrainState.create(apply_fn=network.apply, params=weights, tx=optimiser)
    carry, turn = Carry(learner, state, observation, key), partial(iterate, env, args.steps)
    program = jax.jit(lambda carry: jax.lax.scan(turn, carry, None, args.iterations), donate_argnums=0)

    def go() -> float:
        nonlocal carry
        seconds, (carry, history) = timed(program, carry)
        print(f"mean return {history['returned_episode_returns'][-1]:.2f}", file=sys.stderr)
        return seconds / args.iterations

    return go


def their_loop(args: argparse.Namespace) -> Callable[[], float]:
    """Times ippo_ff_mpe of a checkout. It starts from scratch at each call: the time of one iteration is taken off."""
    folder = args.baselines / "baselines" / "IPPO"
    if not (folder / "ippo_ff_mpe.py").is_file():
        raise SystemExit(f"--baselines expects a checkout of JaxMARL; found no ippo_ff_mpe.py in {folder}.")
    idle = SimpleNamespace(log=lambda _: None, OmegaConf=None, main=lambda **_: lambda function: function)
    sys.modules |= dict.fromkeys(("wandb", "omegaconf", "hydra"), idle)  # its logger and its command line
    sys.path.insert(0, str(folder))
    script = importlib.import_module("ippo_ff_mpe")
    if args.game == "tag":  # Their batchify raises where seats see differently: it calls its padding without a length.
        script.batchify = rows_of
    config = {"ENV_NAME": GAMES[args.game], "ENV_KWARGS": {}, "ACTIVATION": "tanh", "ANNEAL_LR": False}
    config |= {"NUM_ENVS": args.worlds, "NUM_STEPS": args.steps, "GAMMA": DISCOUNT, "GAE_LAMBDA": DECAY}
    config |= {"UPDATE_EPOCHS": EPOCHS, "NUM_MINIBATCHES": MINIBATCHES, "LR": LEARNING_RATE, "CLIP_EPS": CLIP}
    config |= {"ENT_COEF": ENTROPY_WEIGHT, "VF_COEF": VALUE_WEIGHT, "MAX_GRAD_NORM": LARGEST_GRADIENT}
    frames = [updates * args.steps * args.worlds for updates in (1, 1 + args.iterations)]
    short, long = (jax.jit(script.make_train({**config, "TOTAL_TIMESTEPS": count})) for count in frames)
    return lambda: (timed(long, jax.random.PRNGKey(0))[0] - timed(short, jax.random.PRNGKey(0))[0]) / args.iterations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", choices=GAMES, required=True)
    for name, default in {"worlds": 128, "steps": 25, "iterations": 20}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--baselines", type=Path, help="a checkout of JaxMARL whose script is timed instead")
    args = parser.parse_args()
    go = their_loop(args) if args.baselines else our_loop(args)
    serve(lambda: {"seconds_per_iteration": go()})


if __name__ == "__main__":
    main()
