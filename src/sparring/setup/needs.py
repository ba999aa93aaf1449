"""Which settings need another one to mean anything, and which need games that are won: one that is set without is
refused, not ignored."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args

from sparring.core.code import reference
from sparring.core.errors import ConfigError
from sparring.core.fields import leaves, overlaid
from sparring.core.settings import load_toml
from sparring.core.spec import GameSpec
from sparring.league.config import SHARES, ByAge
from sparring.league.stages import parse_stages
from sparring.setup.config import RunConfig, has_bots
from sparring.store.run_dir import RunDir

BY_AGE: tuple[str, ...] = get_args(ByAge)
AS_DEFAULT = "as --self-play sparring does here"
PLANNER = "planner"
"""In a stage, in place of a bot: the learner itself, looking ahead."""
COUNTS_WINS = ("points/", "won/", "drawn/")
"""Metrics that are there only where games are won."""


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


def drawn_by(rule: str, names: str) -> tuple[str, Callable[[RunConfig], bool], str]:
    return f"sampler={rule} (or late_sampler, or bot_sampler)", lambda c: rule in samplers(c), names


def mixed(config: RunConfig) -> bool:
    """Whether shares say who opposes; those can be changed by hand while a run trains, so any of them will do."""
    return config.changing and not config.roles.active


def moving(config: RunConfig) -> Iterator[bool]:
    """Of each share, whether it changes over the run."""
    return (getattr(config.opponents, name).shape != "constant" for name in SHARES)


def hyper(config: RunConfig) -> bool:
    return config.net.hyper != "none"


def sees(config: RunConfig) -> bool:
    return hyper(config) and config.net.hyper_sees != "nothing"


def attends(config: RunConfig) -> bool:
    net = config.net
    over_time = net.hyper_encoder == "transformer" and net.hyper_history > 1
    return sees(config) and (net.hyper_sees == "joint" or over_time)


def looks(config: RunConfig) -> bool:
    return config.mind.on and config.mind.mind_goals == "listed"


def codes(config: RunConfig) -> bool:
    return config.mind.on and config.mind.mind_goals in ("ending", "segment", "combined")


def foresees(config: RunConfig) -> bool:
    return config.mind.on and config.mind.mind_goals == "subgoal"


def believes(config: RunConfig) -> bool:
    return (looks(config) or codes(config)) and config.mind.mind == "belief"


def led(config: RunConfig) -> bool:
    return config.curriculum.curriculum


def bred(config: RunConfig) -> bool:
    return config.population.population > 0


def by_shares(config: RunConfig) -> bool:
    return config.roles.mains > 0 and config.roles.main_rule == "shares"


LEAGUE = "opponents that change: a share of shadow, history or bots, or a league of roles"
MIXTURE = "a share of shadow, history or bots, and no league of roles (mains or oracles)"

TABLE: tuple[tuple[str, Callable[[RunConfig], bool], str], ...] = (
    ("an opponent", lambda c: bool(c.seats.opponent), "side"),
    # Networks and learning.
    ("memory=gru or memory=lstm", lambda c: c.net.memory != "none", "memory_size memory_games"),
    ("memory=gru or memory=lstm (or hyper=recurrent)", lambda c: c.net.by_sequences, "sequence"),
    ("hyper=residual, hyper=recurrent or hyper=full", hyper, "hyper_layers hyper_id hyper_sees hyper_size hyper_gate"),
    ("hyper=residual, hyper=recurrent or hyper=full", hyper, "hyper_critic hyper_rate hyper_max_grad_norm"),
    ("a hypernetwork (hyper) with hyper_sees=joint", lambda c: hyper(c) and c.net.hyper_sees == "joint", "execution"),
    ("a hypernetwork (hyper) that sees something", sees, "hyper_history hyper_recalls"),
    (
        "a hypernetwork (hyper) that sees two steps or more",
        lambda c: sees(c) and c.net.hyper_history > 1,
        "hyper_encoder",
    ),
    ("attention: hyper_sees=joint or hyper_encoder=transformer", attends, "hyper_heads"),
    ("hyper_layers=low_rank", lambda c: hyper(c) and c.net.hyper_layers == "low_rank", "hyper_rank"),
    ("hyper=residual or hyper=recurrent", lambda c: c.net.hyper in ("residual", "recurrent"), "hyper_cap"),
    ("hyper=recurrent", lambda c: c.net.hyper == "recurrent", "hyper_leak hyper_previous"),
    (
        "a mind, such as mind=belief",
        lambda c: c.mind.on,
        "mind_goals mind_tells mind_models mind_features mind_size mind_rate mind_updates mind_batch mind_buffer "
        "mind_replies imagine",
    ),
    ("imagine=learned or imagine=oracle", lambda c: c.mind.imagines, "imagine_length imagine_share"),
    (
        "imagine=learned",
        lambda c: c.mind.learns_world,
        "imagine_gate imagine_members imagine_size imagine_rate imagine_updates",
    ),
    ("a mind with mind_replies", lambda c: c.mind.on and c.mind.mind_replies, "influence"),
    ("a mind that looks at goals (mind_goals=listed)", looks, "mind_gate"),
    ("mind=belief with goals (mind_goals)", believes, "mind_prior mind_discount mind_switch"),
    ("mind=spatial or mind_goals=subgoal", lambda c: c.mind.mind == "spatial" or foresees(c), "mind_recall"),
    ("mind_goals=ending, segment or combined", codes, "mind_codes"),
    ("mind_goals=subgoal", foresees, "mind_ahead mind_chooses mind_anneal"),
    ("mind_gate", lambda c: looks(c) and c.mind.mind_gate > 0, "mind_room"),
    (
        "a mind that tells something (mind_tells)",
        lambda c: c.mind.told,
        "mind_control mind_fusion",
    ),
    (
        "a stage with play=planner",
        lambda c: any(PLANNER in stage.plays for stage in parse_stages(c.stages)),
        "plan_simulations plan_goals plan_depth plan_exploration plan_sharpness",
    ),
    ("past_kl", lambda c: c.ppo.on("past_kl"), "past_policies past_temperature"),
    ("body=mlp or convolutions", lambda c: c.net.body == "mlp" or bool(c.net.convolutions), "activation"),
    ("std=independent or std=state", lambda c: c.net.std != "fixed", "initial_std"),
    ("std=fixed", lambda c: c.net.std == "fixed", "fixed_std"),
    ("loss=clip, loss=clip_kl or loss=spo", lambda c: c.ppo.loss != "kl", "clip"),
    ("loss=kl or loss=clip_kl", lambda c: c.ppo.loss in ("kl", "clip_kl"), "kl_weight kl_min kl_max"),
    ("advantage=vtrace", lambda c: c.ppo.advantage == "vtrace", "trace_clip"),
    ("value_loss=huber", lambda c: c.ppo.value_loss == "huber", "huber_delta"),
    ("value_norm=running or value_norm=popart", lambda c: c.ppo.value_norm != "none", "value_norm_rate"),
    ("shared_reward", lambda c: c.ppo.on("shared_reward"), "shared_with"),
    ("shadow_tau or shadow_half_life", lambda c: c.ppo.has_shadow, "shadow_every"),
    # Who opposes.
    (LEAGUE, lambda c: c.changing, "current bot_sampler pool_size shrink forget"),
    (MIXTURE, mixed, "sampler late_sampler history_temperature history_epsilon"),
    (MIXTURE, mixed, "snapshot_every snapshot_mark eviction keep_evicted"),
    ("a share that changes, as --history '0.1 -> 0.5'", lambda c: c.changing and any(moving(c)), "follow"),
    ("follow=rate", lambda c: c.opponents.follow == "rate", "follow_from follow_to"),
    ("a share of bots", has_bots, "ladder bot_temperature bot_epsilon"),
    ("late_sampler", lambda c: mixed(c) and bool(c.opponents.late_sampler), "late_from"),
    drawn_by("pfsp_hard", "pfsp_power"),
    drawn_by("delta_uniform", "delta"),
    drawn_by("window", "window"),
    drawn_by("recency_power", "recency_power recency_skip"),
    drawn_by("geometric", "recency_half_life"),
    drawn_by("quality", "quality_rate"),
    drawn_by("elo_gaussian", "elo_sigma"),
    drawn_by("target_rate", "rate_target rate_sigma"),
    ("curriculum", led, "curriculum_share climb_rate retreat_rate level_games weaken_levels"),
    ("curriculum with weaken_levels", lambda c: led(c) and c.curriculum.weaken_levels > 0, "weaken weakest"),
    ("defeat_share above 0", lambda c: c.defeats.defeat_share > 0, "defeat_size defeat_reach defeat_coped"),
    ("gate=rate or gate=sprt", lambda c: c.gates.gate != "none", "gate_games gate_rate gate_floor gate_anchor_floor"),
    ("gate=sprt", lambda c: c.gates.gate == "sprt", "gate_null"),
    # Several learners.
    ("mains or oracles above 0", lambda c: c.roles.active, "role_steps"),
    ("mains above 0", lambda c: c.roles.mains > 0, "main_rule judge"),
    ("mains above 0 with main_rule=shares", by_shares, "league_self_play league_pfsp struggling_below forgotten_below"),
    (
        "main_exploiters and main_rule=shares",
        lambda c: by_shares(c) and c.roles.main_exploiters > 0,
        "exploiters_below",
    ),
    ("main_exploiters above 0", lambda c: c.roles.main_exploiters > 0, "exploiter_floor exploiter_share"),
    (
        "main_exploiters or league_exploiters above 0",
        lambda c: c.roles.main_exploiters + c.roles.league_exploiters > 0,
        "beaten_above reset_to",
    ),
    ("league_exploiters above 0", lambda c: c.roles.league_exploiters > 0, "reset_share league_rule"),
    ("oracles above 0", lambda c: c.roles.oracles > 0, "meta meta_games"),
    ("population above 0", bred, "pbt_every pbt_select pbt_knobs pbt_factors pbt_resample pbt_spread"),
    ("population above 0", bred, "pbt_against pbt_games"),
    (
        "population above 0 with pbt_select=truncation",
        lambda c: bred(c) and c.population.pbt_select == "truncation",
        "pbt_share",
    ),
    (
        "population above 0 with pbt_select=truncation or tournament",
        lambda c: bred(c) and c.population.pbt_select != "welch",
        "pbt_sure",
    ),
)
"""What to set, in the words of the settings; whether it is; the settings that do nothing without it."""
NEEDS = {name: Need(met, switch) for switch, met, names in TABLE for name in names.split()}
"""Settings that do nothing without another one. What is not here acts in every run, or has a check of its own."""


def check_needs(config: RunConfig) -> None:
    """Refuse a setting that would do nothing, also one that single learners or members of a population try."""
    for name, value, default in settings(config):
        if value != default and not met(name, config):
            raise idle(f"{name}={shown(value)}", name, f"leave {name} out, which makes it {shown(default)}")
    for text in config.each:
        name = text.partition("=")[0].strip().replace("-", "_")
        if not met(name, config):
            raise idle(f"each={text!r}", name, "leave it out")
    for name in config.population.pbt_knobs if config.population.population else ():
        if not met(name, config):
            raise idle(f"{name} in pbt_knobs", name, "leave it out")


def without_idle(config: RunConfig) -> RunConfig:
    """The config with the default in place of every setting that would do nothing, for one that lost its switches."""
    while names := {n for n, value, default in settings(config) if value != default and not met(n, config)}:
        config = overlaid(config, type(config)(), names)
    return config


def stored_config(run: RunDir) -> RunConfig:
    """The settings of a run as it wrote them. What did nothing then may have another default now, which is no reason to
    refuse the run: it is left out."""
    return without_idle(load_toml(RunConfig, run.config_path))


def met(name: str, config: RunConfig) -> bool:
    return name not in NEEDS or NEEDS[name].met(config)


def idle(what: str, name: str, otherwise: str) -> ConfigError:
    return ConfigError(f"{what} would do nothing: it needs {NEEDS[name].switch}. Set that, or {otherwise}.")


def settings(config: RunConfig) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and default of every setting, table by table."""
    return ((field.name, value, field.default) for field, value in leaves(config))


def shown(value: Any) -> str:
    return " ".join(map(str, value)) or "empty" if isinstance(value, tuple) else str(value) or "empty"


def check_win_rates(spec: GameSpec, config: RunConfig) -> None:
    """Refuse every rule that reads rates of winning where nobody wins."""
    if spec.has_winners:
        return
    for setting, value, instead in rules_of_winning(config):
        raise ConfigError(
            f"{setting}={value} goes by games won, and {config.game} is not won or lost: its sides earn returns, and "
            f"to earn more than the other is not the aim. {instead}"
        )


def rules_of_winning(config: RunConfig) -> Iterator[tuple[str, Any, str]]:
    """The rules in use that read wins: the setting, its value, and what to do where nobody wins."""
    opponents, pool, population = config.opponents, config.pool, config.population
    for setting in ("sampler", "late_sampler", "bot_sampler"):
        rule = getattr(opponents, setting)
        if rule and rule not in BY_AGE and reference(rule) is None:
            yield setting, rule, f"Use uniform, {AS_DEFAULT}, or another rule of age: {', '.join(BY_AGE)}."
    if opponents.follow == "rate":
        yield "follow", "rate", "Use time."
    if pool.snapshot_mark:
        yield "snapshot_mark", pool.snapshot_mark, f"Set it to 0, {AS_DEFAULT}: copies are then made by steps alone."
    if pool.eviction == "redundant":
        yield "eviction", pool.eviction, f"Use log_spaced, {AS_DEFAULT}, or oldest."
    if config.curriculum.curriculum:
        yield "curriculum", "true", "Leave it out; bots can have a share instead."
    if config.defeats.defeat_share:
        yield "defeat_share", config.defeats.defeat_share, "Set it to 0: there are no defeats to try again."
    if config.gates.gate != "none":
        yield "gate", config.gates.gate, f"Set it to none, {AS_DEFAULT}: copies are then made by steps alone."
    for role in ("mains", "oracles"):
        if count := getattr(config.roles, role):
            yield role, count, f"Set it to 0 and give shadow and history a share, {AS_DEFAULT}."
    if population.population and population.pbt_against == "bots":
        yield "pbt_against", "bots", "Use each_other: members are then compared by what each earns with its own copy."
    for stage in parse_stages(config.stages):
        if stage.metric.startswith(COUNTS_WINS):
            yield "stages: until", stage.metric, "End the stage by a return, such as return/seat_0."
