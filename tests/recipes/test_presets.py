"""Presets hold the numbers of their sources, leave the rest of a run alone, and fit into it."""

from dataclasses import fields, replace
from typing import Any

import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml, to_toml
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.recipes.presets import PRESETS, WARNINGS, apply, preset
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig

MAPPO = {  # arXiv:2103.01955 and marlbenchmark/on-policy, onpolicy/config.py
    "hidden": (64, 64), "activation": "relu", "layer_norm": True, "memory": "none", "trunk": "separate",
    "policy_gain": 0.01, "learning_rate": 5e-4, "actor_rate": None, "critic_rate": None, "adam_eps": 1e-5,
    "max_grad_norm": 10, "clip_groups": True, "epochs": 10, "target_kl": 0.02, "minibatches": 1, "loss": "clip",
    "clip": 0.2, "entropy": 0.01, "discount": 0.99, "decay": 0.95, "normalise_advantage": "batch",
    "critic_target": "gae", "value_weight": 1, "value_loss": "huber", "huber_delta": 10, "value_clip": 0.2,
    "value_norm": "running", "optimiser": "adam",
}  # fmt: skip
SOURCES: dict[str, dict[str, Any]] = {
    "mappo": {**MAPPO, "critic": "central"},
    "ippo": {**MAPPO, "critic": "local"},
    "rmappo": {**MAPPO, "critic": "central", "memory": "gru", "memory_size": 64, "sequence": 10},
    "cleanrl": {  # ppo.py of vwxyzjn/cleanrl
        "hidden": (64, 64), "activation": "tanh", "trunk": "separate", "layer_norm": False, "policy_gain": 0.01,
        "optimiser": "adam", "learning_rate": "2.5e-4 -> 0", "actor_rate": None, "critic_rate": None, "adam_eps": 1e-5,
        "max_grad_norm": 0.5, "clip_groups": False, "epochs": 4, "minibatches": 4, "target_kl": 0, "clip": 0.2,
        "value_clip": 0.2, "value_norm": "none", "value_loss": "mse", "value_weight": 0.5, "entropy": 0.01,
        "discount": 0.99, "decay": 0.95, "normalise_advantage": "minibatch",
    },
    "puffer": {  # default.ini of PufferAI/PufferLib 3.0, and the network of its models.py
        "hidden": (128,), "activation": "gelu", "trunk": "shared", "optimiser": "muon",
        "learning_rate": "0.0066 -> 0 cosine", "max_grad_norm": 1.5, "epochs": 1, "minibatches": 4, "clip": 0.2,
        "discount": 0.995, "decay": 0.9, "advantage": "vtrace", "trace_clip": 1, "normalise_advantage": "minibatch",
        "reward_clip": 1, "value_weight": 2, "value_clip": 0.2, "entropy": 0.001,
    },
    "grouped": {
        "trunk": "shared", "learning_rate": 6.5e-4, "adam_eps": 1e-5, "actor_rate": 3e-4, "actor_eps": 1e-8,
        "critic_rate": 1e-3, "critic_eps": 1e-6, "calm_critic": True, "entropy": "0.05 -> 0.001", "discount": 0.99,
        "decay": 0.95, "value_norm": "popart",
    },
}  # fmt: skip


def settings(name: str) -> dict[str, Any]:
    chosen = preset(name)
    return {field.name: getattr(part, field.name) for part in (chosen.net, chosen.ppo) for field in fields(part)}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_the_numbers_of_its_source(name):
    found = settings(name)
    for setting, value in SOURCES[name].items():
        expected = Schedule.parse(value) if isinstance(found[setting], Schedule) else value
        assert found[setting] == expected, setting


def test_every_preset_is_explained_and_none_is_missing():
    assert list(PRESETS) == sorted(SOURCES)
    assert all(len((make.__doc__ or "").splitlines()) >= 3 for make in PRESETS.values())


def test_ippo_and_rmappo_differ_from_mappo_in_what_their_names_say_alone():
    mappo = settings("mappo")

    def differing(name: str) -> set[str]:
        return {setting for setting, value in settings(name).items() if value != mappo[setting]}

    assert differing("ippo") == {"critic"}
    assert differing("rmappo") == {"memory", "sequence"}


def test_a_square_matrix_of_puffer_moves_as_far_as_in_its_source():
    assert preset("puffer").ppo.learning_rate.start * 0.2 * 128**0.5 == pytest.approx(0.015, rel=0.01)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fits_a_game_and_survives_a_file(name, tmp_path):
    config = apply(RunConfig(game="particles:spread", play=PlayConfig(worlds=8, steps=20)), name)
    assert build(config).config.ppo == preset(name).ppo
    (tmp_path / "config.toml").write_text(to_toml(config))
    assert load_toml(RunConfig, tmp_path / "config.toml") == config


def test_a_preset_replaces_networks_and_learning_and_nothing_else():
    config = RunConfig(
        game="kuhn", seed=3, seeds=2, total_steps=77, play=PlayConfig(worlds=8, steps=30),
        net=NetConfig(hidden=(5,), initial_std=0.1), ppo=PPOConfig(epochs=9),
    )  # fmt: skip
    changed = apply(config, "cleanrl")
    assert (changed.net, changed.ppo) == (preset("cleanrl").net, preset("cleanrl").ppo)
    assert replace(changed, net=config.net, ppo=config.ppo) == config


def test_a_preset_that_does_not_fit_the_rollout_says_what_would():
    with pytest.raises(ConfigError, match=r"sequence=10 does not divide the 25 steps of a rollout\. Nearest .*: 5"):
        build(apply(RunConfig(play=PlayConfig(steps=25)), "rmappo"))


def test_an_unknown_preset_gets_the_nearest_name():
    with pytest.raises(ConfigError, match=r"Unknown preset 'mapo'\. Did you mean 'mappo'"):
        preset("mapo")


def test_presets_that_did_badly_where_they_were_measured_are_presets_and_say_where():
    assert set(WARNINGS) <= set(PRESETS) and all("particles:" in text for text in WARNINGS.values())
