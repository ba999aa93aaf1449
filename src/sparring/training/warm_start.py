"""Start a run from another one's players: learners, their shadows, past selves."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.errors import ConfigError, RunError, unknown
from sparring.learn.learner import trainable
from sparring.players.checkpointed import Policy, believing, learners_of, newest, policies_of, seeds_of, weights_at
from sparring.setup.build import Built
from sparring.setup.named_arrays import from_arrays, to_arrays
from sparring.setup.program import TrainState
from sparring.setup.rows import put, taken
from sparring.store.checkpoints import Checkpoint
from sparring.store.run_dir import RunDir


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    source: str
    """A run, whose learners are taken by name, or RUN:PLAYER, which every learner becomes."""
    keep_optimiser: bool = False
    keep_normaliser: bool = True


def warmed(built: Built, state: TrainState, warm: WarmStart) -> TrainState:
    """The state with its learners' weights taken from another run's newest checkpoint."""
    place, player = split_source(warm.source)
    run = RunDir.open(place)
    checkpoint = newest(run)
    if checkpoint is None:
        raise RunError(f"{place} has no checkpoint to start from. Resume it first: sparring resume {place}")
    known = policies_of(checkpoint, 0)
    if player and player not in known:
        raise ConfigError(unknown(f"player of {place}", player, known))
    learners = []
    for group, names in zip(state.learners, built.lineup.learners, strict=True):
        for row, name in enumerate(names):
            wanted = player or name
            if wanted not in known:
                there = ", ".join(learners_of(checkpoint))
                raise ConfigError(f"{place} has no learner {name!r} (it has {there}). Name one: --from {place}:PLAYER")
            try:
                with believing(checkpoint.path):
                    group = with_player(group, row, checkpoint, wanted, warm)
            except RunError as error:
                raise other_game(run, built.config.game) or error from None
        learners.append(group)
    return state._replace(learners=tuple(learners))


def other_game(run: RunDir, game: str) -> ConfigError | None:
    """The sentence where weights do not fit because they play another game."""
    theirs = run.read_manifest()["game"]
    if theirs == game:
        return None
    return ConfigError(
        f"{run.path} was trained on {theirs}, and its networks do not fit {game}: what is seen or done differs. Start "
        f"from a run of {game}, or leave --from out."
    )


def split_source(source: str) -> tuple[Path, str]:
    """RUN or RUN:PLAYER; a folder's own name may hold a colon."""
    if Path(source).is_dir() or ":" not in source:
        return Path(source), ""
    place, _, player = source.rpartition(":")
    return Path(place), player


def with_player(group: Any, row: int, checkpoint: Checkpoint, player: str, warm: WarmStart) -> Any:
    """One row of a stack of learners (leaves [R, L, ...]) replaced by a player of a checkpoint, seed by seed. A shadow
    or a past self is a policy alone: the critic that goes with it is its learner's newest."""
    if warm.keep_optimiser and player not in learners_of(checkpoint):
        raise ConfigError(f"{player} is not a learner and has no optimiser to go on with. Leave --keep-optimiser out.")
    own, seeds = jax.vmap(lambda learners: taken(learners, row))(group), len(seeds_of(checkpoint))
    each = [learner_arrays(checkpoint, player, r % seeds) for r in range(own.updates.shape[0])]
    there = {name: np.stack([arrays[name] for arrays in each]) for name in each[0]}

    def read(tree: Any, place: str) -> Any:
        return from_arrays(tree, there, source=str(checkpoint.path), rename=lambda name: f"{place}.{name}")

    known = {f"model.{name}" for name in to_arrays(own.model)}
    for name in there:
        if name.startswith("model.") and name not in known:
            raise RunError(
                f"{checkpoint.path} has {name}, for which this run's network has no place: it was made with other "
                "settings of networks or values. Use the same as in its config.toml."
            )
    found = read_model(own.model, there, read)
    chosen = own._replace(model=found if warm.keep_normaliser else without_statistics(found, own.model))
    if warm.keep_normaliser and own.reward is not None and "reward.statistics.count" in there:
        chosen = chosen._replace(
            reward=own.reward._replace(statistics=read(own.reward.statistics, "reward.statistics"))
        )
    if chosen.shadow is not None:  # the average of one policy so far is that policy
        chosen = chosen._replace(shadow=jax.tree.map(jnp.copy, chosen.model.actor))
    if warm.keep_optimiser:
        chosen = chosen._replace(
            optimiser=read(own.optimiser, "optimiser"), updates=jnp.asarray(there["updates"], own.updates.dtype)
        )
    return jax.vmap(lambda learners, new: put(learners, new, row))(group, chosen)


def read_model(model: Any, there: Any, read: Any) -> Any:
    """The model as a checkpoint has it. A hypernetwork that is not there stays as it began: it then changes nothing,
    and the policy is the one it was."""
    fresh = model.actor.hyper
    if fresh is None or any(name.startswith("model.actor.hyper.") for name in there):
        return read(model, "model")
    plain = read(eqx.tree_at(lambda m: m.actor.hyper, model, None), "model")
    return eqx.tree_at(lambda m: m.actor.hyper, plain, fresh, is_leaf=lambda node: node is None)


def learner_arrays(checkpoint: Checkpoint, player: str, place: int) -> dict[str, np.ndarray]:
    """The arrays of a learner of one seed, with the policy of the player that is meant in them."""
    known = policies_of(checkpoint, place)
    if player not in known:
        raise ConfigError(unknown(f"player of seed {seeds_of(checkpoint)[place]}", player, known))
    policy = known[player]
    group, row = learners_of(checkpoint)[policy.learner]
    whole = weights_at(checkpoint, Policy(f"learners.{group}.", row, policy.learner), place)
    actor = weights_at(checkpoint, policy, place)
    return {**whole, **{f"model.actor.{name}": array for name, array in actor.items()}}


def without_statistics(found: Any, fresh: Any) -> Any:
    """The weights of one model with the fresh statistics of another, but for the units in which its critic speaks."""
    model = eqx.combine(trainable(found)[0], trainable(fresh)[1])
    return eqx.tree_at(lambda m: m.critic.scale, model, found.critic.scale, is_leaf=lambda node: node is None)
