"""Sizes that no machine has are refused with an estimate, before anything is made; ordinary runs never are."""

from dataclasses import replace
from time import monotonic
from types import SimpleNamespace

import jax
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.games import registry
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.nets.config import NetConfig
from sparring.recipes.catalogue import RECIPES
from sparring.setup import memory
from sparring.setup.beginning import first_learners, first_models
from sparring.setup.build import build
from sparring.setup.checks import nearest_divisor
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig
from sparring.setup.memory import bytes_of, estimate, shape_of_learner


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 16e9)


@pytest.mark.parametrize(
    ("value_norm", "net"),
    [
        ("none", NetConfig(hidden=(8, 4))),
        ("popart", NetConfig(hidden=(8,), memory="gru", memory_size=3, normalise=True)),
        ("none", NetConfig(hidden=(8, 8), memory="lstm", memory_size=3, body="simba", critic="central")),
        ("none", NetConfig(hidden=(8,), trunk="shared", layer_norm=True, std="state")),
    ],
)
def test_a_learner_is_as_large_as_it_is_taken_to_be(tiny, value_norm, net):
    ppo = replace(tiny.ppo, value_norm=value_norm, sequence=4 if net.memory != "none" else tiny.ppo.sequence)
    config = replace(tiny, net=net, ppo=ppo, options=("continuous=true",))
    built = build(config)
    assert (
        bytes_of(shape_of_learner(built.game, config)) == bytes_of(first_learners(built, first_models(built, 0))) > 100
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"play": PlayConfig(worlds=2**33)}, "worlds must be at most 2,147,483,647, found 8,589,934,592"),
        ({"play": PlayConfig(worlds=2**30)}, "rows of a rollout, must be at most 2,147,483,647"),
        ({"play": PlayConfig(worlds=2**24)}, r"about 2,\d{3}\.\d GB .* there are 16.0 GB. Lower --worlds"),
        ({"play": PlayConfig(steps=2 * 10**6)}, "Lower --worlds, --steps"),
        ({"play": PlayConfig(blocks=10**8)}, "blocks must be at most 10,000"),
        ({"seeds": 3_000_000}, "seeds must be at most 10,000"),
        ({"seeds": 9_000}, "Lower --worlds, --steps, --hidden or --seeds"),
        ({"population": PopulationConfig(population=100_000)}, "population must be at most 10,000"),
        ({"roles": RolesConfig(mains=10**9)}, "mains must be at most 10,000"),
        ({"pool": PoolConfig(pool_size=10**6)}, "pool_size must be at most 10,000, found 1,000,000"),
        ({"net": NetConfig(hidden=(10**6, 10**6))}, r"about 32,\d{3}\.\d GB .* Lower --hidden"),
        ({"net": NetConfig(hidden=(10**20,))}, "hidden must be at most"),
        ({"net": NetConfig(memory="lstm", memory_size=10**6)}, "Lower --hidden, --memory-size"),
        ({"evaluation": EvalConfig(eval_games=10**8)}, "Lower --eval-games"),
        ({"total_steps": 10**30}, "total_steps must be at most"),
        ({"options": ("agents=100000",)}, "agents must be at most 500"),
        ({"options": ("agents=99999999999",)}, "Option 'agents' of game 'particles:spread' must be at most"),
    ],
)
def test_what_no_machine_can_hold_is_refused_at_once_and_with_the_reason(changes, told):
    began = monotonic()
    with pytest.raises(ConfigError, match=told):
        build(RunConfig(**changes))
    assert monotonic() - began < 5, "hours before"


def test_a_large_pool_is_counted_where_past_selves_are_met():
    met = OpponentsConfig(current=Schedule.parse(0.5), history=Schedule.parse(0.5))
    config = RunConfig(game="dogfight", opponents=met, net=NetConfig(hidden=(4096, 4096)))
    build(config)
    with pytest.raises(ConfigError, match="--pool-size"):
        build(replace(config, pool=PoolConfig(pool_size=10_000)))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_fits_into_eight_gigabytes(name):
    config = RECIPES[name]()
    game = registry.make(config.game, **registry.parse_options(config.game, config.options))
    assert 0.5e9 < sum(estimate(game, config).values()) < 8e9


def test_estimates_grow_with_what_is_asked_for():
    game = registry.make("particles:spread")

    def of(config: RunConfig) -> dict[str, float]:
        return estimate(game, config)

    plain, many = of(RunConfig()), of(RunConfig(seeds=7))
    wide = of(RunConfig(play=PlayConfig(worlds=10 * 128)))
    assert many["rollouts"] == 7 * plain["rollouts"] and wide["rollouts"] == 10 * plain["rollouts"]
    assert many["learners and their past"] == 7 * plain["learners and their past"]
    assert of(RunConfig(evaluation=EvalConfig(eval_games=0)))["evaluations"] == 0


def test_who_only_looks_at_a_run_is_not_refused_for_its_training():
    config = RunConfig(play=PlayConfig(worlds=2**24))
    assert build(config, trains=False).config.play == config.play


@pytest.mark.parametrize(
    ("platform", "stats", "expected"),
    [("gpu", {"bytes_limit": 5}, 5), ("gpu", None, memory.UNKNOWN), ("tpu", {}, memory.UNKNOWN)],
)
def test_a_device_is_asked_how_much_memory_it_has(monkeypatch, platform, stats, expected):
    monkeypatch.undo()
    device = SimpleNamespace(platform=platform, memory_stats=lambda: stats)
    monkeypatch.setattr(jax, "devices", lambda: [device])
    assert memory.available_bytes() == expected


def test_a_processor_has_the_memory_of_its_machine(monkeypatch):
    monkeypatch.undo()
    assert 2**29 < memory.available_bytes() <= memory.UNKNOWN * 64


def test_the_nearest_divisor_of_a_large_number_is_found_at_once():
    assert nearest_divisor(12, 5) == 4 and nearest_divisor(7, 5) == 7 and nearest_divisor(12, 100) == 12
    assert nearest_divisor(2**31 - 1, 1000) == 1, "a prime number"


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("matrix:coordination", {"choices": 10**6}),
        ("matrix:coordination", {"players": 10**6}),
        ("matrix:blotto", {"soldiers": 10**9, "fields": 10**9}),
        ("matrix:rock_paper_scissors", {"rounds": 2**31}),
        ("dogfight", {"seconds": 10**9, "decisions": 10}),
        ("particles:tag", {"obstacles": 10**6}),
    ],
)
def test_options_of_games_have_an_end(game, options):
    with pytest.raises(ConfigError, match=r"at most|fewer than|needs 2 to 16 players"):
        registry.make(game, **options)
