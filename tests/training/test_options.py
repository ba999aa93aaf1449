"""Every option of learning and of networks: off, no trace of it is in the program; on, it changes what is learned."""

from dataclasses import fields, is_dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, to_dict
from sparring.learn.config import COEFFICIENTS, NEUTRAL, PPOConfig
from sparring.nets.config import NetConfig
from sparring.training.beginning import first_state
from sparring.training.build import build
from sparring.training.config import RunConfig, SeatsConfig
from sparring.training.program import compile_program
from sparring.training.snapshot import to_arrays
from toy_players import QUICK

BASES = {
    "plain": {},
    "gru": {"memory": "gru", "memory_size": 8, "sequence": 2},
    "continuous": {"continuous": True},
    "shared": {"trunk": "shared"},
    "huber": {"value_loss": "huber", "value_clip": 0.2},
    "tight": {"max_grad_norm": 0.01},
    "kl": {"loss": "kl", "kl_min": 1e-12},
    "vtrace": {"advantage": "vtrace"},
    "popart": {"value_norm": "popart"},
    "fixed": {"continuous": True, "std": "fixed"},
    "grid": {"game": "probe:grid"},
    "shadowed": {"shadow_tau": 0.3},
    "beaten": {"current": 0.0, "bots": 1.0, "worlds": 8, "defeat_share": 0.1, "shadow_tau": 0.3},
    "short": {"game": "particles:spread", "options": ["steps=2"]},
}
"""What an option is added to, where it needs company."""
OPTIONS = {
    "critic_epochs": ("plain", 2),
    "sequence": ("gru", 4),
    "burn_in": ("gru", 1),
    "recompute_old": ("plain", True),
    "loss": ("plain", "kl", "clip_kl", "spo"),
    "advantage": ("plain", "vtrace"),
    "time_limit": ("short", "end"),
    "critic_target": ("plain", "monte_carlo"),
    "recompute": ("plain", "epoch"),
    "normalise_advantage": ("plain", "none", "minibatch"),
    "advantage_noise": ("plain", 0.1),
    "value_noise": ("plain", 0.5),
    "reward_scale": ("plain", True),
    "reward_clip": ("plain", 0.1),
    "value_loss": ("plain", "huber"),
    "value_clip": ("plain", 0.01),
    "value_norm": ("plain", "running", "popart"),
    "temperature": ("plain", 2.0),
    "epsilon": ("plain", 0.2),
    "shadow_half_life": ("plain", 5.0),
    "shadow_tau": ("plain", 0.1),
    "anchor": ("shadowed", 1.0),
    "imitation": ("beaten", 1.0),
    "optimiser": ("plain", "adam_rel", "muon"),
    "clip_groups": ("tight", True),
    "calm_critic": ("plain", True),
    "critic_hidden": ("plain", [6]),
    "activation": ("plain", "relu"),
    "body": ("plain", "simba"),
    "layer_norm": ("plain", True),
    "convolutions": ("grid", [2]),
    "memory": ("plain", "lstm"),
    "trunk": ("plain", "shared"),
    "critic": ("plain", "central"),
    "normalise": ("plain", True),
    "std": ("continuous", "fixed", "state"),
}
"""Static options: the base they are added to, and the values to try."""
BESIDE = {"value_loss": {"huber_delta": 0.01}, "memory": {"memory_size": 8, "sequence": 2}}
"""What goes with an option that is on: a mark that errors exceed, and a small cell that fits."""
SAME_WEIGHTS = ("recompute_old", "calm_critic", "shadow_half_life", "shadow_tau")
"""On, they change no weight while all is well: play and learning agree, the critic is calm, the shadow only follows."""
COMPANY = {"anchor": "shadowed", "imitation": "beaten"}
"""Coefficients that need another one to mean anything."""
TABLES = {
    field.name: place.name
    for place in fields(RunConfig)
    if is_dataclass(place.type)
    for field in fields(place.type)  # type: ignore[arg-type]
}
"""Where each setting lives."""
FIRST_NUMBERS = ("clip", "kl_min", "kl_max", "kl_weight", "policy_gain", "initial_std")


def config_of(tiny: RunConfig, base: str, **changes) -> RunConfig:
    """The tiny config with settings changed by their bare names, wherever they live."""
    changes = {**BASES[base], **changes}
    continuous = changes.pop("continuous", False)
    small = "particles:spread" if continuous else "kuhn"
    plain = to_dict(replace(tiny, game=changes.pop("game", small), options=tuple(changes.pop("options", ()))))
    for name, value in changes.items():
        plain[TABLES[name]][name] = value
    config = from_dict(RunConfig, plain, where="test")
    return replace(config, options=("continuous=true",)) if continuous else config


def inputs(built, state, iteration: int):
    knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
    return built.game, state, built.rosters, built.standing, knobs, jnp.asarray(built.seeds_R), jnp.asarray(iteration)


def lowered(built):
    return compile_program(built.plan).lower(*inputs(built, first_state(built), 0))


def trained(built, program):
    """The weights after three iterations, by name, and the last report."""
    state = first_state(built)
    for iteration in range(3):
        state, report = program(*inputs(built, state, iteration))
    return to_arrays([group.model for group in state.learners]), report


@pytest.fixture(scope="module")
def plain(tiny):
    """plain(base): text, program and weights without the option, once for each base."""
    known = {}

    def of(base: str):
        if base not in known:
            built = build(config_of(tiny, base))
            text = lowered(built)
            program = text.compile(compiler_options=QUICK)
            known[base] = (text.as_text(), program, trained(built, program)[0])
        return known[base]

    return of


def differ(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> bool:
    return before.keys() != after.keys() or any(not np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, *values) in OPTIONS.items() for value in values], ids=str
)
def test_an_option_that_is_on_changes_the_program_and_what_is_learned_and_all_stays_finite(tiny, plain, name, value):
    text, _, before = plain(OPTIONS[name][0])
    built = build(config_of(tiny, OPTIONS[name][0], **{name: value}, **BESIDE.get(name, {})))
    program = lowered(built)
    assert program.as_text() != text
    after, report = trained(built, program.compile(compiler_options=QUICK))
    assert all(np.isfinite(leaf).all() for leaf in after.values())
    assert all(np.isfinite(np.asarray(x)).all() for stats in report.stats for x in stats)
    assert name in SAME_WEIGHTS or differ(before, after)


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_coefficient_at_its_neutral_value_leaves_no_trace_in_the_program(tiny, plain, name):
    neutral, base = NEUTRAL[name].start, COMPANY.get(name, "plain")
    assert lowered(build(config_of(tiny, base, **{name: neutral}))).as_text() == plain(base)[0]
    # Neutral only at first: the term must be there. A half-life of 0 makes no sense, not even at first.
    passing = 5.0 if name == "shadow_half_life" else f"{neutral} -> {neutral + 0.5}"
    assert lowered(build(config_of(tiny, base, **{name: passing}))).as_text() != plain(base)[0]


def test_a_term_that_only_one_learner_uses_is_in_the_program_of_all(tiny):
    alone = replace(config_of(tiny, "plain"), seats=SeatsConfig(share="seat"))
    mixed = build(replace(alone, each=("epsilon=0,0.5",)))
    assert mixed.plan.ppo.on("epsilon")
    assert not build(alone).plan.ppo.on("epsilon")
    assert [ppo.epsilon.start for ppo in mixed.settings[0]] == [0.0, 0.5]


def test_every_setting_is_either_tried_here_or_a_traced_number():
    static = {field.name for kind in (PPOConfig, NetConfig) for field in fields(kind)} - set(COEFFICIENTS)
    sizes = {"epochs", "minibatches", "hidden", "memory_size"}
    assert static - set(OPTIONS) - sizes - set(FIRST_NUMBERS) == set()


TRACED = {
    "clip": ("plain", 0.001),
    "target_kl": ("plain", 1e-9),
    "discount": ("plain", 0.5),
    "decay": ("plain", 0.1),
    "trace_clip": ("vtrace", 0.5),
    "value_weight": ("plain", 5.0),
    "huber_delta": ("huber", 0.01),
    "value_norm_rate": ("popart", 0.9),
    "entropy": ("plain", 1.0),
    "fixed_std": ("fixed", 0.1),
    "learning_rate": ("shared", 0.01),
    "actor_rate": ("plain", 0.01),
    "critic_rate": ("plain", 0.01),
    "adam_eps": ("shared", 0.1),
    "actor_eps": ("plain", 0.1),
    "critic_eps": ("plain", 0.1),
    "max_grad_norm": ("plain", 0.001),
    "kl_min": ("kl", 0.014),
    "kl_max": ("kl", 1e-11),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_coefficient_reaches_the_weights_without_a_new_program(tiny, plain, name):
    base, value = TRACED[name]
    _, program, before = plain(base)
    built = build(config_of(tiny, base, **{name: value}))
    after, _ = trained(built, program)
    assert differ(before, after)


def test_every_coefficient_is_tried():
    assert set(TRACED) | set(NEUTRAL) == set(COEFFICIENTS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 1.0}, "epsilon must be below 1"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"advantage_noise": 1.5}, "advantage_noise must lie in"),
        ({"advantage_noise": 0.1, "normalise_advantage": "minibatch"}, "advantage_noise is a share"),
        ({"kl_min": 0.1}, "kl_min must not exceed kl_max"),
        ({"kl_weight": 0.0}, "kl_weight must be above 0"),
        ({"burn_in": 1}, "burn_in=1 warms up a memory"),
        ({"value_noise": 0.1, "trunk": "shared"}, "value_noise"),
        ({"critic_epochs": -1}, "critic_epochs must be at least 0"),
        ({"shadow_tau": 0.1, "shadow_half_life": 5.0}, "say the same in two ways"),
        ({"shadow_half_life": "0 -> 5"}, "must be above 0 all the time"),
        ({"anchor": 0.1}, "anchor holds the policy near its shadow"),
        ({"imitation": 0.1}, "imitation learns from the winners"),
        ({"defeat_share": 0.1}, "defeat_share replays defeats by others"),
        ({"shadow": 0.5}, "shadow gives the shadow a share, and there is none"),
        ({"history": 1.0, "pool_size": 1}, "A pool of one is at times empty"),
        ({"curriculum": True, "bots": 0.5, "pool_size": 0}, "A curriculum weakens the shadow or past selves"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_a_reason(tiny, changes, words):
    with pytest.raises(ConfigError, match=words):
        config_of(tiny, "plain", **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"curriculum": True, "worlds": 8}, "blocks are left to the current self"),
        ({"bots": 1.0, "worlds": 8, "minibatches": 16, "blocks": 2, "steps": 2}, "rows that a learner drives"),
        ({"bots": 1.0, "worlds": 7, "minibatches": 7, "steps": 1}, "cannot be split into 2 equal blocks"),
    ],
)
def test_opponents_that_the_blocks_cannot_seat_are_refused_when_the_run_is_built(tiny, changes, words):
    with pytest.raises(ConfigError, match=words):
        build(config_of(tiny, "plain", **changes))


def test_a_burn_in_must_divide_the_sequence(tiny):
    with pytest.raises(ConfigError, match=r"burn_in=3 does not divide the sequence of 4 steps. Nearest that does: 2"):
        config_of(tiny, "gru", sequence=4, burn_in=3)


def test_mixing_in_random_choices_needs_a_discrete_head(tiny):
    with pytest.raises(ConfigError, match="epsilon mixes in random choices of discrete heads"):
        build(config_of(tiny, "continuous", epsilon=0.1))


def test_a_deviation_needs_a_continuous_action(tiny):
    with pytest.raises(ConfigError, match="std=fixed is the deviation of continuous actions, and kuhn has none"):
        build(config_of(tiny, "plain", std="fixed"))


def test_schedules_of_options_may_differ_between_learners_and_over_time(tiny):
    built = build(config_of(tiny, "plain", temperature="2 -> 1"))
    column = COEFFICIENTS.index("temperature")
    assert built.knobs(0)[0][0, column] == 2.0
    assert built.knobs(built.iterations)[0][0, column] == 1.0
    assert built.plan.ppo.temperature == Schedule.parse("2 -> 1")
