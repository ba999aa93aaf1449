"""How much memory a run will need, from shapes alone: nothing is allocated, and no loop runs over seeds, learners or
blocks. A run that cannot fit is refused with the estimate before anything is built.

The estimate counts what must be there at once and what compiled programs were seen to add; measured peaks were 0.7 to
2.2 times of it (docs/guide/runs.md). To refuse nothing that fits, it may be twice of what the machine has.
"""

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from sparring.core.errors import ConfigError
from sparring.core.seeding import SHAPES
from sparring.evaluation.match import STRETCH
from sparring.games.game import Game
from sparring.learn.learner import new_learner
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.hyper.context import told_size
from sparring.nets.hyper.generated import Gain
from sparring.opponent_models.mind import watched_size, with_mind
from sparring.opponent_models.study import new_study
from sparring.play.starts import starts_needed
from sparring.setup.config import RunConfig, has_bots, has_pool, has_selves
from sparring.setup.evaluations import games_of, most_lineups
from sparring.setup.line_up import line_up, resolve_share
from sparring.setup.own_settings import configs_of

FLOAT = 4
PROGRAM = 600e6
"""Python, JAX and the compiler."""
COPIES = 3
"""How often a rollout is there: as played, with what is estimated from it, and shuffled."""
BACKWARD = 4
"""Hidden features that a gradient keeps, in those of one evaluation of the nets."""
STEP_OF_CONTEXT = 8
"""Numbers for each entry of a context that a step of it keeps: the observation encoded, gates and what they give. Steps
that are seen side by side keep half of those of one."""
GENERATED = 0.5
"""What a gradient keeps of a generated number, in what it keeps of a hidden feature: most are summed at once."""
ALLOWED = 2.0
"""Estimates up to this share of the memory pass."""
UNKNOWN = 2**40
"""Bytes that a machine is taken to have which does not tell."""
LOWER = {
    "rollouts": "--worlds, --steps or --seeds",
    "learners and their past": "--hidden, --memory-size, --pool-size, --population or --seeds",
    "updates": "--worlds, --steps, --hidden or --seeds, or raise --minibatches; a hypernetwork needs least with "
    "--hyper-layers last and a small --hyper-size",
    "evaluations": "--eval-games",
}


def check_memory(game: Game, config: RunConfig) -> None:
    """Refuse a run that would need far more than the machine has."""
    needed, available = largest_estimate(game, config), available_bytes()
    total = sum(needed.values())
    if total > ALLOWED * available:
        largest = max(needed, key=lambda part: needed[part])
        shown = ", ".join(f"{part} {size_text(size)}" for part, size in needed.items())
        raise ConfigError(
            f"This run would need about {size_text(total)} of memory ({shown}), and there are "
            f"{size_text(available)}. Lower {LOWER[largest]}."
        )


def largest_estimate(game: Game, config: RunConfig) -> dict[str, float]:
    """As if all learners were like the one that needs most."""
    own = configs_of(config, line_up(game.spec, config).numbered) if config.learner else ()
    return max((estimate(game, one) for one in (config, *own)), key=lambda needed: sum(needed.values()))


def estimate(game: Game, config: RunConfig) -> dict[str, float]:
    """Bytes of the parts of a run, at the time when most is needed. Of updates and evaluations, which take turns, the
    smaller is left at 0."""
    learner = shape_of_learner(game, config)
    actor, model = bytes_of(learner.model.actor), bytes_of(learner.model)
    learners, seeds = learners_of(game, config), config.seeds
    pools = 0
    if config.changing and has_pool(config):
        pools = (1 if config.roles.active else learners) * config.pool.pool_size
    state, chance = jax.eval_shape(lambda key: (game.start(key), game.chance(key)), jax.random.key(0))
    world, chance = bytes_of(state), bytes_of(chance)
    steps, worlds, seats = config.play.steps, config.play.worlds, game.spec.seats
    groups = 1 + 2 * (has_selves(config) + has_bots(config)) if config.changing else 1
    step = chance + game.spec.seats * (groups * noise_of(game) + FLOAT) + (game.spec.sides + 2) * FLOAT
    turn = seats * turn_of(game, config)
    played = worlds * (steps * (step + COPIES * turn) + (1 + starts_needed(steps, game.spec.shortest)) * world)
    hidden = seats * FLOAT * (hidden_of(config) + generated_of(learner.model.actor, config))
    rows = steps * worlds / config.ppo.minibatches
    defeats = config.defeats.defeat_size * (world + steps * (chance + turn)) if config.defeats.defeat_share else 0
    parts = {
        "learners and their past": seeds * (learners * (bytes_of(learner) + model) + pools * actor + defeats),
        "rollouts": seeds * played,
        "updates": seeds * BACKWARD * rows * hidden,
        "evaluations": evaluation_bytes(game, config, world, step, hidden),
    }
    smaller = min("updates", "evaluations", key=lambda part: parts[part])
    return {"the program": PROGRAM, **parts, smaller: 0.0}


def evaluation_bytes(game: Game, config: RunConfig, world: float, step: float, hidden: float) -> float:
    """Seeds take turns; all line-ups play at once."""
    stretch = min(game.spec.longest, STRETCH)
    return most_lineups(game, config) * games_of(game, config) * (stretch * step + 3 * world + hidden)


def shape_of_learner(game: Game, config: RunConfig) -> Any:
    def make() -> Any:
        scaled, choices = config.ppo.value_norm != "none", config.ppo.advantage == "expected"
        model = ActorCritic.make(SHAPES, game.spec, config.net, value_scale=scaled, choices=choices)
        model = eqx.tree_at(lambda m: m.actor, model, with_mind(model.actor, SHAPES, game, config.mind))
        learner = new_learner(model, 0, config.ppo, 1, 1)
        if not config.mind.on:
            return learner
        return learner._replace(study=new_study(model.actor.mind, game.spec.features, config.mind))

    return jax.eval_shape(make)


def learners_of(game: Game, config: RunConfig) -> int:
    if config.learners > 1:
        return config.learners
    return {"all": 1, "side": game.spec.sides, "seat": game.spec.seats}[resolve_share(game.spec, config)]


def noise_of(game: Game) -> int:
    """Bytes of the random numbers of one seat's choice."""
    return FLOAT * (len(game.spec.action.heads) + game.spec.action.dimensions)


def turn_of(game: Game, config: RunConfig) -> int:
    """Bytes of one step of one seat in a rollout: what it saw and did, and ten numbers and flags."""
    spec, action = game.spec, game.spec.action
    choice = len(action.heads) + action.dimensions + action.entries + 2 * action.dimensions
    views = spec.central.size if config.net.critic == "central" else 0
    memory = config.net.memory_size * 4 / config.ppo.sequence if config.net.memory != "none" else 0
    if config.net.hyper != "none" and config.recurrent:  # observations of the last steps; weights that add up
        beside = told_size(spec.action, config.net.hyper_recalls)
        memory += config.net.hyper_history * (spec.features + beside + 1) / config.sequence
    watched = watched_size(game, config.mind) if config.mind.on else 0
    return int(FLOAT * (spec.features + views + choice + memory + watched + 10) + action.entries)


def hidden_of(config: RunConfig) -> int:
    """Hidden features of actor and critic, those inside of residual blocks and cells too."""
    net = config.net
    wide = 5 if net.body == "simba" else 1
    cell = 8 * net.memory_size if net.memory != "none" else 0
    return sum(net.hidden) * wide + sum(net.critic_hidden or net.hidden) * wide + 2 * cell


def generated_of(actor: Any, config: RunConfig) -> float:
    """What a hypernetwork makes of each seat of a row: what contexts add to layers, and the steps behind a context.
    Where the seat alone counts, weights are made once for all rows."""
    net = config.net
    if actor.hyper is None or (net.hyper_sees == "nothing" and net.hyper != "recurrent"):
        return 0
    outputs = sum(prod(change.shape) if net.hyper == "recurrent" else made_by(change) for change in actor.hyper.changes)
    steps = 0.5 if actor.hyper.context.over_time is None else net.hyper_history
    context = steps * STEP_OF_CONTEXT * net.hyper_size * (1 + config.ppo.on("smooth"))
    return GENERATED * (outputs + context)


def made_by(change: Any) -> int:
    return change.count if isinstance(change, Gain) else change.map_KF.shape[-1]


def bytes_of(tree: Any) -> int:
    return sum(prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def available_bytes() -> float:
    """Of the device; of a CPU, what the machine has and its control group grants."""
    device = jax.devices()[0]
    told: Mapping[str, int] = device.memory_stats() or {} if device.platform != "cpu" else {}
    if "bytes_limit" in told:
        return told["bytes_limit"]
    if device.platform != "cpu":
        return UNKNOWN
    try:
        found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows
        return UNKNOWN
    try:
        return min(found, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no control group, or no limit
        return found


def size_text(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
