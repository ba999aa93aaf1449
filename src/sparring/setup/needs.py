"""Which settings need another one to mean anything: one that is set without its switch is refused, not ignored."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sparring.core.errors import ConfigError
from sparring.core.fields import leaves
from sparring.league.config import SHARES
from sparring.setup.config import RunConfig, has_bots


class Need(NamedTuple):
    met: Callable[[RunConfig], bool]
    switch: str
    """What to set, in the words of the settings."""


def samplers(config: RunConfig) -> tuple[str, ...]:
    """Rules by which anybody is drawn."""
    opponents = config.opponents
    by_rating = ("elo_gaussian",) if config.roles.main_rule == "elo_gaussian" else ()
    by_strength = ("pfsp_hard",) if config.roles.mains else ()
    return (opponents.sampler, opponents.late_sampler, opponents.bot_sampler, *by_rating, *by_strength)


def drawn_by(*rules: str) -> Need:
    return Need(lambda c: bool({*rules} & {*samplers(c)}), f"sampler={rules[0]} (or late_sampler, or bot_sampler)")


def mixed(config: RunConfig) -> bool:
    """Whether shares say who opposes; those can be changed by hand while a run trains, so any of them will do."""
    return config.changing and not config.roles.active


def moving(config: RunConfig) -> Iterator[bool]:
    """Of each share, whether it changes over the run."""
    return (getattr(config.opponents, name).shape != "constant" for name in SHARES)


def by_shares(config: RunConfig) -> bool:
    return config.roles.mains > 0 and config.roles.main_rule == "shares"


MEMORY = Need(lambda c: c.recurrent, "memory=gru or memory=lstm")
KL = Need(lambda c: c.ppo.loss in ("kl", "clip_kl"), "loss=kl or loss=clip_kl")
MIXTURE = Need(mixed, "a share of shadow, history or bots, and no league of roles (mains or oracles)")
CURRICULUM = Need(lambda c: c.curriculum.curriculum, "curriculum")
WEAKENED = Need(lambda c: c.curriculum.curriculum and c.curriculum.weaken_levels > 0, "curriculum with weaken_levels")
DEFEATS = Need(lambda c: c.defeats.defeat_share > 0, "defeat_share above 0")
GATE = Need(lambda c: c.gates.gate != "none", "gate=rate or gate=sprt")
ROLES = Need(lambda c: c.roles.active, "mains or oracles above 0")
MAINS = Need(lambda c: c.roles.mains > 0, "mains above 0")
SHARED_MAINS = Need(by_shares, "mains above 0 with main_rule=shares")
HUNTED_MAINS = Need(lambda c: by_shares(c) and c.roles.main_exploiters > 0, "main_exploiters and main_rule=shares")
MAIN_EXPLOITERS = Need(lambda c: c.roles.main_exploiters > 0, "main_exploiters above 0")
LEAGUE_EXPLOITERS = Need(lambda c: c.roles.league_exploiters > 0, "league_exploiters above 0")
EXPLOITERS = Need(
    lambda c: c.roles.main_exploiters + c.roles.league_exploiters > 0, "main_exploiters or league_exploiters above 0"
)
ORACLES = Need(lambda c: c.roles.oracles > 0, "oracles above 0")
POPULATION = Need(lambda c: c.population.population > 0, "population above 0")
TRUNCATION = Need(
    lambda c: c.population.population > 0 and c.population.pbt_select == "truncation",
    "population above 0 with pbt_select=truncation",
)
NOT_WELCH = Need(
    lambda c: c.population.population > 0 and c.population.pbt_select != "welch",
    "population above 0 with pbt_select=truncation or tournament",
)
LEAGUE = Need(lambda c: c.changing, "opponents that change: a share of shadow, history or bots, or a league of roles")
BOTS = Need(has_bots, "a share of bots")

NEEDS: dict[str, Need] = {
    "side": Need(lambda c: bool(c.seats.opponent), "an opponent"),
    # Networks and learning.
    "memory_size": MEMORY,
    "sequence": MEMORY,
    "activation": Need(lambda c: c.net.body == "mlp" or bool(c.net.convolutions), "body=mlp or convolutions"),
    "initial_std": Need(lambda c: c.net.std != "fixed", "std=independent or std=state"),
    "fixed_std": Need(lambda c: c.net.std == "fixed", "std=fixed"),
    "clip": Need(lambda c: c.ppo.loss != "kl", "loss=clip, loss=clip_kl or loss=spo"),
    **dict.fromkeys(("kl_weight", "kl_min", "kl_max"), KL),
    "trace_clip": Need(lambda c: c.ppo.advantage == "vtrace", "advantage=vtrace"),
    "huber_delta": Need(lambda c: c.ppo.value_loss == "huber", "value_loss=huber"),
    "value_norm_rate": Need(lambda c: c.ppo.value_norm != "none", "value_norm=running or value_norm=popart"),
    # Who opposes.
    **dict.fromkeys(("sampler", "late_sampler"), MIXTURE),
    **dict.fromkeys(("current", "ladder", "bot_sampler"), LEAGUE),
    "follow": Need(lambda c: c.changing and any(moving(c)), "a share that changes, as --history '0.1 -> 0.5'"),
    **dict.fromkeys(("follow_from", "follow_to"), Need(lambda c: c.opponents.follow == "rate", "follow=rate")),
    **dict.fromkeys(("bot_temperature", "bot_epsilon"), BOTS),
    **dict.fromkeys(("history_temperature", "history_epsilon"), MIXTURE),
    **dict.fromkeys(("snapshot_every", "snapshot_mark", "eviction", "keep_evicted"), MIXTURE),
    **dict.fromkeys(("pool_size", "shrink", "forget"), LEAGUE),
    "late_from": Need(lambda c: mixed(c) and bool(c.opponents.late_sampler), "late_sampler"),
    "pfsp_power": drawn_by("pfsp_hard"),
    "delta": drawn_by("delta_uniform"),
    "window": drawn_by("window"),
    **dict.fromkeys(("recency_power", "recency_skip"), drawn_by("recency_power")),
    "recency_half_life": drawn_by("geometric"),
    "quality_rate": drawn_by("quality"),
    "elo_sigma": drawn_by("elo_gaussian"),
    **dict.fromkeys(("rate_target", "rate_sigma"), drawn_by("target_rate")),
    **dict.fromkeys(("curriculum_share", "climb_rate", "retreat_rate", "level_games", "weaken_levels"), CURRICULUM),
    **dict.fromkeys(("weaken", "weakest"), WEAKENED),
    **dict.fromkeys(("defeat_size", "defeat_reach", "defeat_coped"), DEFEATS),
    **dict.fromkeys(("gate_games", "gate_rate", "gate_floor", "gate_anchor_floor"), GATE),
    "gate_null": Need(lambda c: c.gates.gate == "sprt", "gate=sprt"),
    # Several learners.
    "role_steps": ROLES,
    **dict.fromkeys(("main_rule", "judge"), MAINS),
    **dict.fromkeys(("league_self_play", "league_pfsp", "struggling_below", "forgotten_below"), SHARED_MAINS),
    "exploiters_below": HUNTED_MAINS,
    **dict.fromkeys(("exploiter_floor", "exploiter_share"), MAIN_EXPLOITERS),
    "beaten_above": EXPLOITERS,
    **dict.fromkeys(("reset_share", "league_rule"), LEAGUE_EXPLOITERS),
    "reset_to": EXPLOITERS,
    **dict.fromkeys(("meta", "meta_games"), ORACLES),
    **dict.fromkeys(("pbt_every", "pbt_select", "pbt_knobs", "pbt_factors", "pbt_resample", "pbt_spread"), POPULATION),
    **dict.fromkeys(("pbt_against", "pbt_games"), POPULATION),
    "pbt_share": TRUNCATION,
    "pbt_sure": NOT_WELCH,
}
"""Settings that do nothing without another one. What is not here acts in every run, or has a check of its own."""


def check_needs(config: RunConfig) -> None:
    """Refuse a setting that would do nothing, also one that single learners or members of a population try."""
    for name, value, default in settings(config):
        if value != default and name in NEEDS and not NEEDS[name].met(config):
            raise idle(f"{name}={shown(value)}", name, f"leave {name} out, which makes it {shown(default)}")
    for text in config.each:
        name = text.partition("=")[0].strip().replace("-", "_")
        if name in NEEDS and not NEEDS[name].met(config):
            raise idle(f"each={text!r}", name, "leave it out")
    for name in config.population.pbt_knobs if config.population.population else ():
        if name in NEEDS and not NEEDS[name].met(config):
            raise idle(f"{name} in pbt_knobs", name, "leave it out")


def idle(what: str, name: str, otherwise: str) -> ConfigError:
    return ConfigError(f"{what} would do nothing: it needs {NEEDS[name].switch}. Set that, or {otherwise}.")


def settings(config: RunConfig) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and default of every setting, table by table."""
    return ((field.name, value, field.default) for field, value in leaves(config))


def shown(value: Any) -> str:
    return " ".join(map(str, value)) or "empty" if isinstance(value, tuple) else str(value) or "empty"
