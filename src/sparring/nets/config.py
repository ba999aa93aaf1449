"""The settings of networks, and which of them go together."""

from dataclasses import dataclass
from math import exp
from typing import Literal

from sparring.core.code import Code
from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.sizes import LARGEST

Activation = Literal["tanh", "relu", "gelu", "silu"]
LOG_STD_RANGE = (-5.0, 2.0)
"""Where the log-deviation of a state is kept: 0.0067 to 7.4."""


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    hidden: tuple[int, ...] = setting((64, 64), least=1, most=LARGEST)
    """Widths of the hidden layers of actor and critic, each at least 1."""
    critic_hidden: tuple[int, ...] = setting((), least=1, most=LARGEST)
    """Widths of the critic's hidden layers, each at least 1; empty: those of hidden."""
    activation: Activation = "tanh"
    """Non-linearity of the hidden layers and convolutions; the residual blocks of simba always use relu."""
    body: Literal["mlp", "simba"] | Code = "mlp"
    """Plain layers, or SimBa: a layer, then a residual block for each further entry of hidden, all entries equal; or
    mine.py:body, a network of your own."""
    layer_norm: bool = False
    """Layer norms as in MAPPO's reference: on the input, after each layer of an mlp, after the recurrent cell."""
    convolutions: tuple[int, ...] = setting((), least=1, most=LARGEST)
    """Channels of 3x3 convolutions over every block of features shaped (rows, columns, planes), each at least 1."""
    memory: Literal["none", "gru", "lstm"] = "none"
    """Recurrent cell after the hidden layers. Use one where a single observation does not tell enough."""
    memory_size: int = setting(64, least=1, most=LARGEST)
    """Width of the recurrent cell, at least 1."""
    trunk: Literal["separate", "shared"] = "separate"
    """Layers and memory for the critic alone, or those of the actor for both; shared needs a local critic."""
    critic: Literal["local", "central"] = "local"
    """What the critic sees: the seat's own observation (IPPO) or the game's central view (MAPPO)."""
    normalise: bool = False
    """Centre and scale observations by running statistics, updated after each rollout."""
    policy_gain: float = setting(0.01, least=0)
    """Size of the actor's last layer at the start, at least 0: small begins near the uniform policy, 1 is decided."""
    std: Literal["fixed", "independent", "state"] = "independent"
    """Deviation of continuous actions: set by fixed_std, learned and the same in every state, or read off the state."""
    initial_std: float = setting(0.6, above=0)
    """Deviation of continuous actions at the start, above 0; 0.0067 to 7.4 with std=state."""


def check_net(config: NetConfig) -> None:
    """Raise where settings of a network contradict each other."""
    low, high = (exp(end) for end in LOG_STD_RANGE)
    if config.std == "state" and not low <= config.initial_std <= high:
        raise ConfigError(
            f"With std=state, initial_std must lie in [{low:.2g}, {high:.2g}], where deviations are kept, "
            f"found {config.initial_std}. Choose one in that range."
        )
    check_body(config)
    check_trunk(config)


def check_body(config: NetConfig) -> None:
    for name, widths in (("hidden", config.hidden), ("critic_hidden", config.critic_hidden or config.hidden)):
        if config.body == "simba" and len(set(widths)) != 1:
            raise ConfigError(
                f"With body=simba the entries of {name} must be one width repeated, since a residual block keeps its "
                f"width; found {widths}. Write for example 128 128 128: one layer and two blocks."
            )


def check_trunk(config: NetConfig) -> None:
    if config.trunk == "shared" and config.critic == "central":
        raise ConfigError(
            "trunk=shared needs critic=local: a critic that reads the actor's features sees what the actor sees, "
            "found critic=central. Choose trunk=separate or critic=local."
        )
    if config.trunk == "shared" and config.critic_hidden:
        raise ConfigError(
            "With trunk=shared the critic has no hidden layers of its own, "
            f"found critic_hidden={config.critic_hidden}. Leave critic_hidden empty or choose trunk=separate."
        )
