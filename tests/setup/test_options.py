"""Every option of learning and of networks: off, no trace of it is in the program; on, it changes what is learned.

Most tests compare programs as JAX traced them, before anything is lowered or compiled.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr
from jax.interpreters.partial_eval import dce_jaxpr
from jax.stages import Traced

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, to_dict
from sparring.learn.config import COEFFICIENTS, NEUTRAL, PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import RunConfig, SeatsConfig
from sparring.setup.named_arrays import to_arrays
from sparring.setup.own_code import trust
from sparring.setup.program import Report, TrainState, compile_program

OWN = Path(__file__).parents[2] / "examples" / "own"
BASES = {
    "plain": {},
    "gru": {"memory": "gru", "memory_size": 8, "sequence": 2},
    "continuous": {"continuous": True},
    "tight": {"max_grad_norm": 0.01},
    "grid": {"game": "probe:grid"},
    "shadowed": {"shadow_tau": 0.3},
    "beaten": {"current": 0.0, "bots": 1.0, "worlds": 8, "defeat_share": 0.1, "shadow_tau": 0.3},
    "short": {"game": "particles:spread", "options": ["steps=2"]},
    "dilemma": {"game": "matrix:prisoners_dilemma"},
    "shared": {"game": "particles:tag", "shared_reward": 0.5},
    "hyper": {"game": "particles:spread", "hyper": "residual", "hyper_size": 4},
    "minded": {"game": "particles:spread", "mind": "belief", "mind_size": 4, "mind_replies": True},
}
"""What an option is added to, where it needs company."""
OPTIONS = {
    "critic_epochs": ("plain", 2),
    "sequence": ("gru", 4),
    "burn_in": ("gru", 1),
    "recompute_old": ("plain", True),
    "loss": ("plain", "kl", "clip_kl", "spo"),
    "advantage": ("plain", "vtrace", "expected"),
    "time_limit": ("short", "end"),
    "critic_target": ("plain", "monte_carlo"),
    "recompute": ("plain", "epoch"),
    "normalise_advantage": ("plain", "none", "minibatch"),
    "advantage_noise": ("plain", 0.1),
    "value_noise": ("plain", 0.5),
    "reward_scale": ("plain", True),
    "reward_clip": ("plain", 0.1),
    "shared_reward": ("dilemma", 0.5),
    "shared_with": ("shared", "side"),
    "value_loss": ("plain", "huber"),
    "value_clip": ("plain", 0.01),
    "value_norm": ("plain", "running", "popart"),
    "temperature": ("plain", 2.0),
    "epsilon": ("plain", 0.2),
    "shadow_half_life": ("plain", 5.0),
    "shadow_tau": ("plain", 0.1),
    "anchor": ("shadowed", 1.0),
    "anchor_price": ("shadowed", 1.0),
    "imitation": ("beaten", 1.0),
    "behaviour": ("shadowed", "shadow"),
    "optimiser": ("plain", "adam_rel", "muon"),
    "clip_groups": ("tight", True),
    "calm_critic": ("plain", True),
    "losses": ("plain", [f"{OWN}/loss.py:floor=0.1"]),
    "modules": ("plain", [f"{OWN}/opponent_model.py:foresight"]),
    "critic_hidden": ("plain", [6]),
    "activation": ("plain", "relu"),
    "body": ("plain", "simba"),
    "layer_norm": ("plain", True),
    "convolutions": ("grid", [2]),
    "memory": ("plain", "lstm"),
    "memory_games": ("gru", 2),
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
COMPANY = {"shared_reward": "dilemma", "anchor": "shadowed", "anchor_price": "shadowed", "imitation": "beaten"}
COMPANY |= {"smooth": "hyper", "influence": "minded"}
"""Coefficients that need another one to mean anything."""
TABLES = {
    field.name: place.name
    for place in fields(RunConfig)
    if is_dataclass(place.type)
    for field in fields(place.type)  # type: ignore[arg-type]
}
"""Where each setting lives."""
trust(OWN / "loss.py", OWN / "opponent_model.py")
FIRST_NUMBERS = ("clip", "kl_min", "kl_max", "kl_weight", "policy_gain", "initial_std")


def config_of(tiny: RunConfig, settings: dict) -> RunConfig:
    """The tiny config with settings changed by their bare names, wherever they live."""
    settings = dict(settings)
    continuous = settings.pop("continuous", False)
    game = settings.pop("game", "particles:spread" if continuous else "kuhn")
    options = (*settings.pop("options", ()), *["continuous=true"] * continuous)
    plain = to_dict(replace(tiny, game=game))
    for name, value in settings.items():
        plain[TABLES[name]][name] = value
    return replace(from_dict(RunConfig, plain, where="test"), options=options)


def inputs(built: Built, state: TrainState, iteration: int) -> tuple:
    knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
    return built.game, state, built.rosters, built.standing, knobs, jnp.asarray(built.seeds_R), jnp.asarray(iteration)


def everything(state: TrainState, report: Report) -> tuple[TrainState, Report]:
    return state, report


TRACED_PROGRAMS: dict[tuple, Traced] = {}


def text_of(built: Built, wanted: Callable = everything) -> str:
    """The program of one iteration as JAX traced it, less all that does not matter to what is wanted of it: nothing
    else is lowered and compiled. It follows from the plan, the nets and the game: settings that leave these as they are
    leave no trace."""
    config = built.config
    key = (built.plan, config.net, config.game, config.options, config.pool, config.defeats)
    if key not in TRACED_PROGRAMS:
        shapes = jax.eval_shape(lambda: first_state(built))
        TRACED_PROGRAMS[key] = compile_program(built.plan).trace(*inputs(built, shapes, 0))
    traced = TRACED_PROGRAMS[key]
    results, structure = jax.tree.flatten(traced.out_info)
    asked = set(jax.tree.leaves(wanted(*jax.tree.unflatten(structure, range(len(results))))))
    needed, _ = dce_jaxpr(traced.jaxpr.jaxpr, [place in asked for place in range(len(results))])
    numbers = [np.asarray(one).tolist() for one in constants(traced.jaxpr)]
    return re.sub(r" at 0x[0-9a-f]+", "", f"{needed}{numbers}")  # addresses of functions


def constants(program: ClosedJaxpr) -> Iterator[Any]:
    """The numbers of a program that are not written into its text, those of programs within it too."""
    yield from program.consts
    for equation in program.jaxpr.eqns:
        for one in jax.tree.leaves(equation.params.values(), is_leaf=lambda x: isinstance(x, ClosedJaxpr)):
            if isinstance(one, ClosedJaxpr):
                yield from constants(one)


def weights(state: TrainState, report: Report) -> list:
    del report
    return [group.model for group in state.learners]


@pytest.fixture(scope="module")
def plain(tiny):
    """plain(base, wanted): the text without any option, once for each."""
    return cache(lambda base, *wanted: text_of(build(config_of(tiny, BASES[base])), *wanted))


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, *values) in OPTIONS.items() for value in values], ids=str
)
def test_an_option_that_is_on_changes_what_is_learned(tiny, plain, name, value):
    base, wanted = OPTIONS[name][0], [] if name in SAME_WEIGHTS else [weights]
    settings = {**BASES[base], name: value, **BESIDE.get(name, {})}
    assert text_of(build(config_of(tiny, settings)), *wanted) != plain(base, *wanted)


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_coefficient_at_its_neutral_value_leaves_no_trace_in_the_program(tiny, plain, name):
    neutral, base = NEUTRAL[name].start, COMPANY.get(name, "plain")
    assert text_of(build(config_of(tiny, {**BASES[base], name: neutral}))) == plain(base)
    # Neutral only at first: the term must be there. A half-life of 0 makes no sense, not even at first.
    passing = 5.0 if name == "shadow_half_life" else f"{neutral} -> {neutral + 0.5}"
    assert text_of(build(config_of(tiny, {**BASES[base], name: passing}))) != plain(base)


def test_a_term_that_only_one_learner_uses_is_in_the_program_of_all(tiny):
    alone = replace(config_of(tiny, {}), seats=SeatsConfig(share="seat"))
    mixed = build(replace(alone, each=("epsilon=0,0.5",)))
    assert mixed.plan.ppo.on("epsilon")
    assert not build(alone).plan.ppo.on("epsilon")
    assert [ppo.epsilon.start for ppo in mixed.settings[0]] == [0.0, 0.5]


def test_every_setting_is_either_tried_here_or_a_traced_number():
    static = {field.name for kind in (PPOConfig, NetConfig) for field in fields(kind)} - set(COEFFICIENTS)
    static = {name for name in static if not name.startswith("hyper") and name != "execution"}  # nets/test_hyper.py
    sizes = {"epochs", "minibatches", "hidden", "memory_size", "past_policies"}
    on_the_host = {"shadow_every"}
    assert static - set(OPTIONS) - sizes - on_the_host - set(FIRST_NUMBERS) == set()


RUN: dict[str, dict] = {
    "discrete": {
        "critic_epochs": 2, "memory": "lstm", "memory_games": 2,
        "sequence": 4, "burn_in": 2, "recompute_old": True, "loss": "clip_kl",
        "kl_min": 1e-12, "advantage": "vtrace", "critic_target": "monte_carlo", "recompute": "epoch",
        "normalise_advantage": "minibatch", "value_noise": 0.5, "reward_scale": True, "reward_clip": 2.0,
        "value_loss": "huber", "value_clip": 0.2, "value_norm": "popart", "temperature": 2.0, "epsilon": 0.2,
        "shadow_tau": 0.1, "anchor": 1.0, "anchor_price": 0.5, "optimiser": "adam_rel", "clip_groups": True,
        "calm_critic": True,
        "critic_hidden": [6], "body": "simba", "layer_norm": True, "critic": "central",
        "normalise": True,
    },
    "fixed": {
        "continuous": True, "options": ["steps=2"], "time_limit": "end", "trunk": "shared", "std": "fixed",
        "loss": "spo", "value_norm": "running", "advantage_noise": 0.1, "shadow_half_life": 5.0,
        "shared_reward": 0.5, "shared_with": "side",
    },
    "state": {
        "continuous": True, "std": "state", "activation": "relu", "loss": "kl", "optimiser": "muon",
        "normalise_advantage": "none",
    },
    "beaten": {
        **BASES["beaten"], "imitation": 1.0, "advantage": "expected", "losses": OPTIONS["losses"][1],
        "modules": OPTIONS["modules"][1],
    },
    "grid": {"game": "probe:grid", "convolutions": [2]},
    "hyper": {
        **BASES["hyper"], "hyper": "recurrent", "hyper_layers": "low_rank", "hyper_sees": "joint", "hyper_history": 2,
        "execution": "centralised", "hyper_previous": True, "hyper_cap": 0.5, "hyper_critic": True, "sequence": 2,
        "behaviour": "shadow", "shadow_tau": 0.5, "smooth": 0.1, "past_kl": 0.1, "past_policies": 2, "align_old": 0.1,
    },
}  # fmt: skip
"""Programs that are compiled and run: between them they have every option."""
TRACED = {
    "clip": ("discrete", 0.001),
    "target_kl": ("discrete", 1e-9),
    "discount": ("discrete", 0.5),
    "decay": ("discrete", 0.1),
    "trace_clip": ("discrete", 0.5),
    "value_weight": ("discrete", 5.0),
    "huber_delta": ("discrete", 0.01),
    "value_norm_rate": ("discrete", 0.9),
    "entropy": ("discrete", 1.0),
    "fixed_std": ("fixed", 0.1),
    "learning_rate": ("fixed", 0.01),
    "actor_rate": ("discrete", 0.01),
    "critic_rate": ("discrete", 0.01),
    "adam_eps": ("fixed", 0.1),
    "actor_eps": ("discrete", 0.1),
    "critic_eps": ("discrete", 0.1),
    "max_grad_norm": ("discrete", 0.001),
    "kl_min": ("discrete", 0.014),
    "kl_max": ("discrete", 1e-11),
    "hyper_rate": ("hyper", 0.01),
    "hyper_max_grad_norm": ("hyper", 1e-9),
    "past_temperature": ("hyper", 10.0),
}


def trained(built: Built, program: Callable, state: TrainState) -> tuple[dict[str, np.ndarray], Report]:
    """The weights after three iterations, by name, and the last report."""
    state = jax.device_put(state)
    for iteration in range(3):
        state, report = program(*inputs(built, state, iteration))
    return to_arrays(weights(state, report)), report


@pytest.fixture(scope="module")
def running(tiny):
    """running(which): the program and the state it begins with, the weights it leaves and its last report, once for
    each of RUN."""

    @cache
    def of(which: str) -> tuple[tuple[Callable, TrainState], dict[str, np.ndarray], Report]:
        built = build(config_of(tiny, RUN[which]))
        begun = compile_program(built.plan), jax.device_get(first_state(built))
        return begun, *trained(built, *begun)

    return of


@pytest.mark.parametrize("which", RUN)
def test_with_every_option_all_stays_finite(running, which):
    _, after, report = running(which)
    assert all(np.isfinite(leaf).all() for leaf in after.values())
    assert all(np.isfinite(np.asarray(x)).all() for stats in report.stats for x in jax.tree.leaves(stats))


def test_every_option_is_in_a_program_that_runs():
    chosen = {(name, str(value)) for settings in RUN.values() for name, value in settings.items()}
    words = {(name, value) for name, (_, *values) in OPTIONS.items() for value in values if isinstance(value, str)}
    assert set(OPTIONS) - {name for name, _ in chosen} == set()
    assert words - chosen == set()


@pytest.mark.parametrize("name", TRACED)
def test_a_coefficient_reaches_the_weights_without_a_new_program(tiny, running, name):
    which, value = TRACED[name]
    begun, before, _ = running(which)
    after, _ = trained(build(config_of(tiny, {**RUN[which], name: value})), *begun)
    assert before.keys() == after.keys() and any(not np.array_equal(before[leaf], after[leaf]) for leaf in before)
    assert begun[0]._cache_size() == 1


def test_every_coefficient_is_tried():
    of_imagination = {"imagine_length"}  # tests/opponent_models/test_imagine.py
    assert set(TRACED) | set(NEUTRAL) | of_imagination == set(COEFFICIENTS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 1.0}, "epsilon must be at least 0 and below 1"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"advantage_noise": 1.5}, "advantage_noise must be in"),
        ({"advantage_noise": 0.1, "normalise_advantage": "minibatch"}, "advantage_noise is a share"),
        (
            {"advantage": "expected", "normalise_advantage": "side"},
            "advantage=expected scales all choices by one number",
        ),
        ({"advantage": "expected", "continuous": True}, "advantage=expected judges every entry of one discrete head"),
        (
            {"advantage": "expected", "critic": "central", "game": "skirmish:3m"},
            "advantage=expected needs a view for each seat",
        ),
        ({"kl_min": 0.1}, "kl_min must not exceed kl_max"),
        ({"kl_weight": 0.0}, "kl_weight must be above 0"),
        ({"burn_in": 1}, "burn_in=1 warms up a memory"),
        ({"value_noise": 0.1, "trunk": "shared"}, "value_noise"),
        ({"critic_epochs": -1}, "critic_epochs must be at least 0"),
        ({"shadow_tau": 0.1, "shadow_half_life": 5.0}, "say the same in two ways"),
        ({"shadow_half_life": "0 -> 5"}, "must be above 0 all the time"),
        ({"anchor_price": 0.1}, "anchor_price holds the policy near its shadow"),
        ({"shared_reward": 0.5}, "shared_reward=0.5 mixes in the mean of all rewards, which in kuhn is always 0"),
        ({"shared_reward": 0.5, "shared_with": "side"}, "shared_with=side would do nothing: every seat of kuhn"),
        ({"anchor": 0.1}, "anchor holds the policy near its shadow"),
        ({"imitation": 0.1}, "imitation learns from the winners"),
        ({"defeat_share": 0.1}, "defeat_share replays defeats by others"),
        ({"shadow": 0.5}, "--shadow asks for games against the shadow, and this run keeps no shadow"),
        ({"history": 1.0, "pool_size": 1}, "A pool of one is at times empty"),
        ({"curriculum": True, "bots": 0.5, "pool_size": 0}, "A curriculum weakens the shadow or past selves"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_a_reason(tiny, changes, words):
    with pytest.raises(ConfigError, match=words):
        build(config_of(tiny, changes))


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
        build(config_of(tiny, changes))


def test_a_burn_in_must_divide_the_sequence(tiny):
    with pytest.raises(ConfigError, match=r"burn_in=3 does not divide the sequence of 4 steps. Nearest that does: 2"):
        build(config_of(tiny, {**BASES["gru"], "sequence": 4, "burn_in": 3}))


def test_mixing_in_random_choices_needs_a_discrete_head(tiny):
    with pytest.raises(ConfigError, match="epsilon mixes in random choices of discrete heads"):
        build(config_of(tiny, {"continuous": True, "epsilon": 0.1}))


def test_a_barrier_under_choices_needs_a_discrete_head(tiny):
    with pytest.raises(ConfigError, match=r"support holds up choices .*, and particles:spread with .* has none"):
        build(config_of(tiny, {"continuous": True, "support": 0.01}))


def test_a_deviation_needs_a_continuous_action(tiny):
    with pytest.raises(ConfigError, match="std=fixed is the deviation of continuous actions, and kuhn has none"):
        build(config_of(tiny, {"std": "fixed"}))


def test_schedules_of_options_may_differ_between_learners_and_over_time(tiny):
    built = build(config_of(tiny, {"temperature": "2 -> 1"}))
    column = COEFFICIENTS.index("temperature")
    assert built.knobs(0)[0][0, column] == 2.0
    assert built.knobs(built.iterations)[0][0, column] == 1.0
    assert built.plan.ppo.temperature == Schedule.parse("2 -> 1")
