"""Settings of networks and learning by name, as known libraries ship them. A preset leaves the game, worlds and steps.

Where a source and ours cannot be equal, the text of the preset says so. In all of them: a game cut by a time limit is
worth what the critic expects of its last observation, where the sources count it as ended; the ratio is one for all
action heads together; and statistics that scale values move once a rollout, before the epochs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.config import RunConfig

schedule = Schedule.parse


@dataclass(frozen=True)
class Preset:
    net: NetConfig
    ppo: PPOConfig


def mappo() -> Preset:
    """PPO with a central critic, as its authors run it (arXiv:2103.01955; marlbenchmark/on-policy de66d7a).

    Ours: at most 10 epochs, ended early by a KL of 0.02, in place of 5, 10 or 15 by map; and value statistics that
    forget (value_norm_rate), where those are a mean of nearly all minibatches so far.
    """
    return Preset(
        net=NetConfig(hidden=(64, 64), activation="relu", layer_norm=True, critic="central"),
        ppo=PPOConfig(
            learning_rate=schedule(5e-4), adam_eps=schedule(1e-5), max_grad_norm=schedule(10.0), clip_groups=True,
            epochs=10, minibatches=1, target_kl=schedule(0.02), clip=schedule(0.2), entropy=schedule(0.01),
            discount=schedule(0.99), decay=schedule(0.95), normalise_advantage="batch",
            value_weight=schedule(1.0), value_loss="huber", huber_delta=schedule(10.0), value_clip=schedule(0.2),
            value_norm="running",
        ),
    )  # fmt: skip


def ippo() -> Preset:
    """`mappo` with a critic that sees what the seat sees (arXiv:2011.09533; on-policy without use_centralized_V).

    The settings are those of on-policy, not of the paper, so that the two presets differ in the critic alone.
    """
    base = mappo()
    return replace(base, net=replace(base.net, critic="local"))


def rmappo() -> Preset:
    """`mappo` with a GRU, trained on sequences of 10 steps from stored memory (on-policy's rmappo).

    Ours: 10 must divide the steps of a rollout; there, a sequence may run from one world on into another.
    """
    base = mappo()
    return Preset(
        net=replace(base.net, memory="gru", memory_size=64),
        ppo=replace(base.ppo, sequence=10),
    )


def cleanrl() -> Preset:
    """PPO as the 37 details describe it (vwxyzjn/cleanrl, ppo.py; ICLR blog 2022).

    Values are not normalised, so that value_clip is in units of reward as there.
    """
    return Preset(
        net=NetConfig(hidden=(64, 64), activation="tanh", critic="local"),
        ppo=PPOConfig(
            learning_rate=schedule("2.5e-4 -> 0"), adam_eps=schedule(1e-5), max_grad_norm=schedule(0.5),
            epochs=4, minibatches=4, clip=schedule(0.2), entropy=schedule(0.01),
            discount=schedule(0.99), decay=schedule(0.95), normalise_advantage="minibatch",
            value_weight=schedule(0.5), value_loss="mse", value_clip=schedule(0.2), value_norm="none",
        ),
    )  # fmt: skip


MUON_RATE = 0.015 / (0.2 * 128**0.5)
"""PufferLib's rate of 0.015 in our units. There a square matrix moves by rate x orthogonal matrix; here by
rate x 0.2 x sqrt(larger dimension) of it, so that one rate suits Muon and Adam. Equal at 128 x 128."""


def puffer() -> Preset:
    """PufferLib 3.0's defaults (pufferl.py at 02b8f4b, default.ini at 03d1ebc): Muon and one pass over the data.

    Left out: sampling of segments by the size of their advantages. Ours: biases learn by Adam, not by plain momentum;
    V-trace's weights change from epoch to epoch, so that in a single epoch they are 1; and 4 minibatches, whatever
    their size (there 16,384 steps). Rewards beyond 1 are cut off: scale them down first.
    """
    return Preset(
        net=NetConfig(hidden=(128,), activation="gelu", trunk="shared", critic="local"),
        ppo=PPOConfig(
            optimiser="muon", learning_rate=schedule(f"{MUON_RATE:.2g} -> 0 cosine"), adam_eps=schedule(1e-8),
            max_grad_norm=schedule(1.5), epochs=1, minibatches=4, clip=schedule(0.2), entropy=schedule(0.001),
            discount=schedule(0.995), decay=schedule(0.90), advantage="vtrace", trace_clip=schedule(1.0),
            normalise_advantage="minibatch", reward_clip=schedule(1.0), value_weight=schedule(2.0),
            value_clip=schedule(0.2),
        ),
    )  # fmt: skip


def grouped() -> Preset:
    """One trunk for actor and critic, with rates and epsilons of their own for trunk, actor and critic.

    No library's: the critic starts with a large rate that is lowered when its loss explodes or its values oscillate,
    and the entropy bonus falls from 0.05 to 0.001. What it does not name is as in our defaults, but for PopArt: with
    values in units of reward a shared trunk hardly learned (docs/log/2026-11-16-ppo-options.md).
    """
    return Preset(
        net=NetConfig(trunk="shared"),
        ppo=PPOConfig(
            learning_rate=schedule(6.5e-4), actor_rate=schedule(3e-4), critic_rate=schedule(1e-3),
            adam_eps=schedule(1e-5), actor_eps=schedule(1e-8), critic_eps=schedule(1e-6), calm_critic=True,
            value_norm="popart",
            entropy=schedule("0.05 -> 0.001"), discount=schedule(0.99), decay=schedule(0.95),
        ),
    )  # fmt: skip


PRESETS: dict[str, Callable[[], Preset]] = {
    make.__name__: make for make in (cleanrl, grouped, ippo, mappo, puffer, rmappo)
}


WARNINGS = {
    "cleanrl": "cleanrl earned 3.5 hunting in particles:tag, where the defaults earn 30.2 and random play 0.9",
    "grouped": "grouped ended below random play on particles:spread (-39.1, random -26.6): see time=true",
    "puffer": "puffer earned 2.4 hunting in particles:tag, where the defaults earn 30.2 and random play 0.9",
}
"""What was measured of presets that did badly (docs/log/2026-11-16-ppo-options.md): told to whoever chooses one."""


def preset(name: str) -> Preset:
    if name not in PRESETS:
        raise ConfigError(unknown("preset", name, PRESETS))
    return PRESETS[name]()


def apply(config: RunConfig, name: str) -> RunConfig:
    """The config with the preset's networks and learning; all else stays."""
    chosen = preset(name)
    return replace(config, net=chosen.net, ppo=chosen.ppo)
