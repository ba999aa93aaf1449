"""The settings of networks, and which of them go together."""

from dataclasses import dataclass
from math import exp
from typing import Literal

from sparring.core.code import Code
from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.sizes import LARGEST, MANY

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
    memory_games: int = setting(1, least=1, most=MANY)
    """Games in a row over which that memory lasts before it is blank again, to learn from earlier games with the same
    co-players how to play the next one."""
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

    # A hypernetwork, which generates weights of the actor.
    hyper: Literal["none", "residual", "recurrent", "full"] = "none"
    """Weights generated for each seat and step: added to learned ones, added up from step to step with a leak, or all
    there are."""
    hyper_layers: Literal["last", "all", "low_rank"] = "last"
    """What is generated: the last layer and a gain for each hidden unit, all layers, or changes of low rank of all."""
    hyper_rank: int = setting(4, least=1, most=LARGEST)
    """Rank of those changes."""
    hyper_id: Literal["none", "one_hot", "learned"] = "one_hot"
    """Whether weights depend on which seat of its side acts, and how that is told."""
    hyper_sees: Literal["nothing", "own", "joint"] = "own"
    """What else they depend on: nothing, what the seat saw in its last steps, or what all seats of its side saw."""
    hyper_history: int = setting(3, least=0, most=64)
    """Steps that are seen, the present one among them; 0: the present one alone, without a memory."""
    hyper_recalls: Literal["observations", "actions", "rewards"] = "observations"
    """What is known of a step: what was seen in it, also the seat's own action before it, or also what that paid."""
    hyper_encoder: Literal["stacked", "gru", "lstm", "transformer"] = "stacked"
    """What makes one vector of those steps, where there are two or more: a layer that sees them side by side, or one
    that sees each, then a network over time."""
    hyper_size: int = setting(16, least=2, most=LARGEST)
    """Width of the encoder and of the context from which weights are generated."""
    hyper_heads: int = setting(4, least=1, most=64)
    """Heads of the attention over seats or steps; must divide hyper_size."""
    hyper_gate: float = setting(1.0, above=0)
    """First value of the learned factor on all that is generated for a layer, above 0."""
    hyper_cap: float = setting(0.0, least=0)
    """Longest change of a layer, in lengths of its learned weights; 0: any."""
    hyper_leak: float = setting(0.9, least=0, below=1)
    """Share of the changes so far that the next step keeps with hyper=recurrent, in [0, 1)."""
    hyper_previous: bool = False
    """Whether the context also sees the changes of the step before, with hyper=recurrent."""
    hyper_critic: bool = False
    """Generate weights of the critic too, from what it sees at the moment."""
    execution: Literal["decentralised", "centralised"] = "decentralised"
    """Whether a seat may act on what others of its side see; hyper_sees=joint needs centralised."""

    @property
    def by_sequences(self) -> bool:
        """Whether a step needs all those before it, so that training goes through sequences."""
        return self.memory != "none" or self.hyper == "recurrent"

    @property
    def by_rows(self) -> bool:
        """Whether what is chosen follows from the present features of the seat alone, whichever seat it is."""
        return self.memory == "none" and self.hyper == "none"

    @property
    def remembers(self) -> bool:
        return self.by_sequences or (self.hyper != "none" and self.hyper_sees != "nothing" and self.hyper_history > 0)


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
    if config.hyper != "none":
        check_hyper(config)


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


def check_hyper(config: NetConfig) -> None:
    """What a hypernetwork needs to be one that can learn and be executed."""
    if config.hyper_sees == "joint" and config.execution == "decentralised":
        raise ConfigError(
            "hyper_sees=joint generates a seat's weights from what all seats of its side see, found "
            "execution=decentralised. Say --execution centralised if they may, or use --hyper-sees own (its own last "
            "steps) or --hyper-sees nothing (which seat it is, alone)."
        )
    if config.hyper_sees == "nothing" and config.hyper_id == "none":
        raise ConfigError(
            "With hyper_sees=nothing and hyper_id=none there is nothing to generate weights from. Use --hyper-id "
            "one_hot, or --hyper-sees own."
        )
    if config.hyper == "recurrent" and config.hyper_layers != "low_rank":
        raise ConfigError(
            "hyper=recurrent carries all changes from step to step and keeps them small by a low rank, found "
            f"hyper_layers={config.hyper_layers}. Use --hyper-layers low_rank."
        )
    if config.hyper_layers != "last" and config.body != "mlp":
        raise ConfigError(
            f"hyper_layers={config.hyper_layers} generates plain layers, found body={config.body}. Use --hyper-layers "
            "last, or --body mlp."
        )
    if config.hyper_recalls != "observations" and (config.by_sequences or not config.hyper_history):
        raise ConfigError(
            f"hyper_recalls={config.hyper_recalls} keeps what was done at every step: it needs hyper_history of 1 or "
            "more, and no memory that is trained by sequences (memory=gru or lstm, hyper=recurrent). Use observations."
        )
    attends = config.hyper_sees == "joint" or (config.hyper_encoder == "transformer" and config.hyper_history > 1)
    if attends and config.hyper_size % config.hyper_heads:
        raise ConfigError(
            f"hyper_heads={config.hyper_heads} must divide hyper_size={config.hyper_size}. Choose another of the two."
        )
    if config.hyper == "full" and config.hyper_layers != "last" and config.trunk == "shared":
        raise ConfigError(
            "hyper=full leaves no learned layers for a critic that shares the actor's. Use --trunk separate, or "
            "--hyper-layers last."
        )
