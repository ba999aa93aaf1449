"""Settings that need another one: refused without it, taken with it, and none is forgotten."""

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import jax
import jax.numpy as jnp
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, to_toml
from sparring.learn import config as learn_config
from sparring.learn.config import COEFFICIENTS, INHERITED, NEUTRAL
from sparring.nets.config import NetConfig
from sparring.recipes.catalogue import RECIPES
from sparring.recipes.presets import PRESETS
from sparring.recipes.presets import apply as with_preset
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import RunConfig
from sparring.setup.needs import NEEDS, check_needs, settings, stored_config
from sparring.setup.program import compile_program
from sparring.store.run_dir import RunDir

TABLES = {
    field.name: place.name
    for place in fields(RunConfig)
    if is_dataclass(place.type)
    for field in fields(place.type)  # type: ignore[arg-type]
}
HINTS = {
    name: hint
    for place in fields(RunConfig)
    if is_dataclass(place.type)
    for name, hint in get_type_hints(place.type).items()
}
BY_SWITCH: tuple[tuple[dict[str, Any], str], ...] = (
    ({"opponent": "flee"}, "side"),
    ({"memory": "gru"}, "memory_size memory_games sequence"),
    (
        {"hyper": "residual"},
        "hyper_layers hyper_id hyper_sees hyper_size hyper_gate hyper_critic hyper_history hyper_recalls",
    ),
    ({"hyper": "residual"}, "hyper_encoder hyper_cap hyper_rate hyper_max_grad_norm"),
    ({"hyper": "residual", "hyper_sees": "joint"}, "execution hyper_heads"),
    ({"hyper": "residual", "hyper_layers": "low_rank"}, "hyper_rank"),
    ({"hyper": "recurrent", "hyper_layers": "low_rank"}, "hyper_leak hyper_previous"),
    ({"mind": "belief"}, "imagine " + " ".join(name for name in NEEDS if name.startswith("mind_"))),
    ({"mind": "belief", "imagine": "learned"}, " ".join(name for name in NEEDS if name.startswith("imagine_"))),
    ({"stages": ("play=planner until steps > 1k", "")}, " ".join(name for name in NEEDS if name.startswith("plan_"))),
    ({"mind": "spatial"}, "mind_recall"),
    ({"mind": "belief", "mind_gate": 2.0}, "mind_room"),
    ({"mind": "belief", "mind_goals": "ending"}, "mind_codes"),
    ({"mind": "belief", "mind_goals": "subgoal"}, "mind_ahead mind_chooses mind_anneal"),
    ({"mind": "belief", "mind_replies": True}, "influence"),
    ({"past_kl": 0.1}, "past_policies past_temperature"),
    ({"std": "fixed"}, "fixed_std"),
    ({"shadow_tau": 0.5}, "shadow_every"),
    ({"shared_reward": 0.5}, "shared_with"),
    ({"loss": "clip_kl"}, "kl_weight kl_min kl_max"),
    ({"advantage": "vtrace"}, "trace_clip"),
    ({"value_loss": "huber"}, "huber_delta"),
    ({"value_norm": "popart"}, "value_norm_rate"),
    ({"history": 0.5}, "current sampler late_sampler bot_sampler shrink forget pool_size"),
    ({"history": 0.5}, "snapshot_every snapshot_mark eviction keep_evicted history_temperature history_epsilon"),
    ({"bots": 0.5}, "ladder bot_temperature bot_epsilon"),
    ({"history": "0.1 -> 0.5"}, "follow"),
    ({"history": "0.1 -> 0.5", "follow": "rate"}, "follow_from follow_to"),
    ({"history": 0.5, "late_sampler": "latest"}, "late_from"),
    ({"history": 0.5, "sampler": "pfsp_hard"}, "pfsp_power"),
    ({"history": 0.5, "late_sampler": "delta_uniform"}, "delta"),
    ({"history": 0.5, "sampler": "window"}, "window"),
    ({"history": 0.5, "sampler": "recency_power"}, "recency_power recency_skip"),
    ({"history": 0.5, "sampler": "geometric"}, "recency_half_life"),
    ({"bots": 0.5, "bot_sampler": "quality"}, "quality_rate"),
    ({"mains": 1, "main_rule": "elo_gaussian"}, "elo_sigma"),
    ({"history": 0.5, "sampler": "target_rate"}, "rate_target rate_sigma"),
    ({"curriculum": True, "bots": 0.5}, "curriculum_share climb_rate retreat_rate level_games"),
    ({"curriculum": True, "bots": 0.5}, "weaken_levels weaken weakest"),
    ({"history": 0.5, "defeat_share": 0.1}, "defeat_size defeat_reach defeat_coped"),
    ({"history": 0.5, "gate": "rate"}, "gate_games gate_rate gate_floor"),
    ({"history": 0.5, "bots": 0.1, "gate": "rate"}, "gate_anchor_floor"),
    ({"history": 0.5, "gate": "sprt"}, "gate_null"),
    ({"oracles": 1}, "role_steps meta meta_games"),
    ({"mains": 1}, "main_rule judge league_self_play league_pfsp struggling_below forgotten_below"),
    ({"mains": 1, "main_exploiters": 1}, "exploiters_below exploiter_floor exploiter_share beaten_above"),
    ({"mains": 1, "league_exploiters": 2}, "reset_share league_rule reset_to"),
    ({"population": 4}, " ".join(name for name in NEEDS if name.startswith("pbt_"))),
)
SWITCHES = {name: switch for switch, names in BY_SWITCH for name in names.split()}
"""What makes each of them act."""
WITHOUT = {"activation": {"body": "simba"}, "initial_std": {"std": "fixed"}, "clip": {"loss": "kl"}}
"""Settings that act by themselves until another one takes their place."""
OTHER = {
    "side": 0,
    "imagine_length": 2,
    "ladder": ["random"],
    "pbt_knobs": ["discount"],
    "pbt_factors": [0.5],
}
"""Values where the type does not tell one."""
ACT_ALONE = {
    "game", "options", "total_steps", "schedule_steps", "seed", "seeds", "each", "shaping", "stages",
    "share", "opponent", "learner", "worlds", "steps",
    "blocks",  # how worlds are divided, whoever comes: recipes set it and leave the opponents to --self-play
    "eval_every", "eval_times", "eval_first", "eval_games", "eval_deterministic", "checkpoint_every", "keep",
    "shadow", "history", "bots", "history_floor", "bot_floor", "curriculum", "defeat_share", "gate", "population",
    "mains", "oracles",
    "hidden", "body", "layer_norm", "convolutions", "memory", "trunk", "critic", "normalise", "policy_gain", "std",
    "hyper", "align_old", "past_kl", "mind",
    "epochs", "minibatches", "critic_epochs", "recompute_old", "loss", "time_limit", "advantage", "critic_target",
    "recompute", "normalise_advantage", "reward_scale", "value_loss", "value_norm", "optimiser", "clip_groups",
    "calm_critic", "losses", "modules",
    "target_kl", "discount", "decay", "value_weight", "entropy", "max_grad_norm",
    "reward_clip", "value_clip", "temperature", "epsilon", "support", "shadow_half_life", "shadow_tau",
    "learning_rate", "adam_eps", "actor_rate", "critic_rate", "actor_eps", "critic_eps",
}  # fmt: skip
"""Settings that do something in a run where all others have their defaults."""
CHECKED_ELSEWHERE = {
    "critic_hidden", "burn_in", "anchor", "anchor_price", "imitation", "shared_reward", "advantage_noise",
    "value_noise", "main_exploiters", "league_exploiters", "guests", "num_workers", "envs_per_worker", "worker_timeout",
    "behaviour", "smooth",
}  # fmt: skip
"""Settings whose company is checked where their ranges are."""


def config_of(**changes: Any) -> RunConfig:
    plain: dict[str, Any] = {}
    for name, value in changes.items():
        (plain.setdefault(TABLES[name], {}) if name in TABLES else plain)[name] = value
    return from_dict(RunConfig, plain, where="test")


def another(name: str) -> Any:
    """A value in range that is not the default."""
    default = next(default for known, _, default in settings(RunConfig()) if known == name)
    if name in OTHER:
        return OTHER[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, Schedule):
        return default.start * 0.9 or 0.1
    if isinstance(default, int):
        return default * 2 or 4
    if isinstance(default, float):
        return default * 0.9 or 0.1
    return next(choice for choice in choices(HINTS[name]) if choice not in ("", "nash", default))


def choices(hint: Any) -> tuple[Any, ...]:
    """Of a Literal, also one that holds another."""
    return tuple(one for part in get_args(hint) for one in (choices(part) or (part,)))


@pytest.mark.parametrize("name", NEEDS)
def test_a_setting_is_refused_without_its_switch_and_taken_with_it(name):
    value = another(name)
    with pytest.raises(ConfigError, match=rf"^{name}=.* would do nothing: it needs .*\. Set that, or leave {name} out"):
        check_needs(config_of(**WITHOUT.get(name, {}), **{name: value}))
    check_needs(config_of(**{**SWITCHES.get(name, {}), name: value}))


def test_a_run_with_an_idle_setting_is_not_built():
    with pytest.raises(ConfigError, match=r"huber_delta=1 would do nothing: it needs value_loss=huber\. Set that, or"):
        build(config_of(huber_delta=1.0))


def test_shares_of_mains_do_nothing_under_another_rule():
    with pytest.raises(ConfigError, match=r"league_pfsp=.* would do nothing: it needs .*main_rule=shares"):
        check_needs(config_of(mains=1, main_rule="elo_gaussian", league_pfsp=0.2))


def test_every_setting_acts_alone_or_says_what_it_needs():
    """A new setting fails here until it is known which."""
    known = [name for name, _, _ in settings(RunConfig())]
    assert set(known) == ACT_ALONE | CHECKED_ELSEWHERE | set(NEEDS)
    assert not ACT_ALONE & set(NEEDS)


def test_coefficients_that_the_plain_program_never_reads_say_what_they_need(monkeypatch):
    """The program reads coefficients by name, so one trace tells which of them act."""
    read = set()

    class Watched(learn_config.Knobs):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    monkeypatch.setattr(learn_config, "Knobs", Watched)
    built = build(RunConfig(game="kuhn"))
    knobs = jax.tree.map(jnp.asarray, built.knobs(0))
    state, seeds_R = first_state(built), jnp.asarray(built.seeds_R)
    jax.eval_shape(
        compile_program(built.plan), built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(0)
    )
    idle = set(COEFFICIENTS) - read - set(NEUTRAL) - set(INHERITED.values())
    assert idle == {name for name in COEFFICIENTS if name in NEEDS} - {"clip"} - set(NEUTRAL)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_sets_nothing_in_vain(name):
    check_needs(RECIPES[name]())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_nothing_in_vain(name):
    check_needs(with_preset(RunConfig(), name))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"each": ["huber_delta=1,2"]}, "each='huber_delta=1,2' would do nothing: it needs value_loss=huber"),
        (
            {"population": {"population": 4, "pbt_knobs": ["trace_clip"]}},
            "trace_clip in pbt_knobs would do nothing: it needs advantage=vtrace",
        ),
    ],
)
def test_single_learners_and_members_try_nothing_in_vain(changes, words):
    with pytest.raises(ConfigError, match=words):
        check_needs(from_dict(RunConfig, changes, where="test"))


def test_what_did_nothing_when_a_run_was_written_is_no_reason_to_refuse_it(tmp_path):
    """Its default may have been another one then; what acts stays as it was."""
    run = RunDir.create(tmp_path / "old")
    written = from_dict(RunConfig, {"game": "kuhn", "net": {"hyper_encoder": "gru", "hidden": [8]}}, where="a test")
    with pytest.raises(ConfigError, match="hyper_encoder=gru would do nothing"):
        check_needs(written)
    run.write_text(run.config_path, to_toml(written))
    assert stored_config(run).net == NetConfig(hidden=(8,))
