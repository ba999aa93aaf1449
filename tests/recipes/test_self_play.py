"""Presets of self-play hold the numbers of their sources, leave the rest of a run alone, and fit games they are for."""

from dataclasses import fields, replace
from typing import Any

import pytest

from sparring.cli.flags import named, parse
from sparring.cli.train import Train, settled
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml, to_toml
from sparring.league.mixture import mixture, shares
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.recipes.self_play import SELF_PLAY, apply, self_play
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig

TINY = RunConfig(game="matrix:rock_paper_scissors", total_steps=64_000, play=PlayConfig(worlds=8, steps=8))
"""4 seats of 8 x 8 / 2 steps: 64 of the home sides, and 32 more for each of the two blocks that always mirrors."""
THIRD = 1 / 3
SOURCES: dict[str, dict[str, Any]] = {
    "sparring": {
        "current": 0.5, "shadow": 0.2, "history": 0.3, "bots": 0, "history_floor": 0.1, "bot_floor": 0.02,
        "sampler": "pfsp_var", "late_sampler": "pfsp_hard", "late_from": 0.5, "pfsp_power": 2, "pool_size": 30,
        "eviction": "log_spaced", "shadow_half_life": "10 -> 200", "shadow_tau": 0,
    },
    "naive": {"current": 1, "shadow": 0, "history": 0, "bots": 0, "shadow_half_life": 0, "shadow_tau": 0},
    "averaged": {"current": 1, "shadow": 0, "history": 0, "bots": 0, "shadow_tau": 0, "anchor": 0},
    "magnet": {  # arXiv:2606.23995
        "current": 1, "shadow": 0, "history": 0, "anchor": 0.5, "anchor_price": 0, "shadow_half_life": "5 -> 25",
    },
    "mmd": {  # arXiv:2206.05825
        "current": 1, "loss": "clip_kl", "kl_weight": 0.05, "kl_min": 0, "entropy": "0.05 -> 0.005", "anchor": 0,
    },
    "rnad": {  # arXiv:2206.15378
        "current": 1, "anchor_price": 0.2, "anchor": 0, "shadow_tau": 1, "shadow_every": 25, "reward_scale": True,
    },
    "half_history": {
        "current": 0.5, "shadow": 0, "history": 0.5, "sampler": "uniform", "pool_size": 100, "eviction": "oldest",
        "snapshot_every": 640, "shadow_half_life": "6.7 -> 133.4",
    },
    "three_way": {
        "current": THIRD, "shadow": THIRD, "history": THIRD, "sampler": "uniform", "shadow_tau": 0.005,
        "shadow_half_life": 0,
    },
    "fading_history": {
        "current": 0, "shadow": "0.5 -> 1", "history": "0.5 -> 0", "history_floor": 0, "sampler": "uniform",
        "shadow_tau": 0.005,
    },
    "shadow": {"current": 0, "shadow": 1, "history": 0, "shadow_half_life": "10 -> 200"},
    "pool": {
        "current": 0, "shadow": 0, "history": 1, "sampler": "uniform", "pool_size": 100, "snapshot_every": 640,
        "eviction": "oldest", "shadow_half_life": "10 -> 200",
    },
    "openai_five": {  # arXiv:1912.06680
        "current": 0.8, "history": 0.2, "shadow": 0, "sampler": "quality", "quality_rate": 0.01, "snapshot_every": 960,
    },
    "bansal": {"current": 0, "history": 1, "sampler": "delta_uniform", "delta": 0.5},  # arXiv:1710.03748
    "alphago_zero": {  # Nature 550:354
        "current": 0, "history": 1, "sampler": "latest", "gate": "rate", "gate_games": 400, "gate_rate": 0.55,
    },
    "alphastar": {  # Nature 575:350
        "mains": 1, "main_exploiters": 1, "league_exploiters": 2, "league_self_play": 0.35, "league_pfsp": 0.5,
        "struggling_below": 0.3, "exploiter_floor": 0.2, "exploiter_share": 0.5, "beaten_above": 0.7,
        "reset_share": 0.25, "pfsp_power": 2, "judge": "rate", "forget": 0.99,
    },
    "alphastar_safe": {"mains": 1, "main_exploiters": 1, "league_exploiters": 2, "judge": "bound"},
    "psro": {"mains": 0, "oracles": 1, "meta": "nash", "role_steps": 0, "shadow_half_life": 0},  # arXiv:1711.00832
    "pbt": {  # arXiv:1711.09846
        "population": 8, "pbt_select": "truncation", "pbt_share": 0.2, "pbt_factors": (0.8, 1.2), "mains": 0,
        "current": 1,
    },
    "ftw": {  # arXiv:1807.01281
        "population": 8, "mains": 8, "main_rule": "elo_gaussian", "elo_sigma": 1 / 6, "pbt_select": "tournament",
    },
}  # fmt: skip


def tiny(name: str) -> RunConfig:
    """Eight mains play both sides, in sixteen blocks."""
    return replace(TINY, play=PlayConfig(worlds=16, steps=8)) if name == "ftw" else TINY


def settings(config: RunConfig) -> dict[str, Any]:
    parts = (
        config.opponents,
        config.pool,
        config.curriculum,
        config.roles,
        config.gates,
        config.population,
        config.ppo,
    )
    return {field.name: getattr(part, field.name) for part in parts for field in fields(part)}


@pytest.mark.parametrize("name", SELF_PLAY)
def test_a_preset_has_the_numbers_of_its_source(name):
    found = settings(apply(tiny(name), name))
    for setting, value in SOURCES[name].items():
        expected = Schedule.parse(value) if isinstance(found[setting], Schedule) else value
        assert found[setting] == expected, setting


def test_every_preset_is_explained_and_none_is_missing():
    assert list(SELF_PLAY) == list(SOURCES)
    assert all(len((make.__doc__ or "").splitlines()) >= 3 for make in SELF_PLAY.values())


@pytest.mark.parametrize("name", SELF_PLAY)
def test_a_preset_fits_a_small_game_and_survives_a_file(name, tmp_path):
    config = apply(tiny(name), name)
    blocks = {
        "naive": 1,
        "averaged": 1,
        "magnet": 1,
        "mmd": 1,
        "rnad": 1,
        "alphastar": 8,
        "alphastar_safe": 8,
        "pbt": 8,
        "ftw": 16,
    }
    assert build(config).plan.seating.blocks == blocks.get(name, 2)
    (tmp_path / "config.toml").write_text(to_toml(config))
    assert load_toml(RunConfig, tmp_path / "config.toml") == config


@pytest.mark.parametrize("name", SELF_PLAY)
def test_every_preset_but_naive_psro_and_pbt_keeps_a_shadow_to_deploy(name):
    assert apply(tiny(name), name).ppo.has_shadow == (name not in ("naive", "psro", "pbt"))


def test_a_preset_replaces_opponents_and_shadow_and_nothing_else():
    config = replace(
        TINY, seed=3, net=NetConfig(hidden=(5,)),
        ppo=PPOConfig(epochs=9, entropy=Schedule.parse(0.2), shadow_tau=Schedule.parse(0.7), anchor=Schedule.parse(2)),
        opponents=replace(TINY.opponents, history=Schedule.parse(9.0)),
    )  # fmt: skip
    changed = apply(config, "shadow")
    assert (changed.ppo.shadow_tau, changed.ppo.anchor) == (Schedule.parse(0.0), Schedule.parse(0.0))
    back = {name: getattr(config.ppo, name) for name in ("shadow_half_life", "shadow_tau", "anchor")}
    ppo = replace(changed.ppo, **back)
    assert replace(changed, opponents=config.opponents, pool=config.pool, ppo=ppo) == config


def test_history_fades_to_nothing_as_the_note_has_it_when_the_run_has_a_million_steps():
    opponents = apply(replace(TINY, total_steps=1_000_000), "fading_history").opponents
    for step in (0, 250_000, 1_000_000):
        history = 0.5 * (1 - step / 1e6)
        branches = mixture(opponents, every=0).branches
        assert shares(branches, step / 1e6, bots=0) == pytest.approx([0, 1 - history, history, 0])


def test_openai_five_copies_the_learner_every_tenth_iteration():
    config = apply(replace(TINY, play=PlayConfig(worlds=16, steps=8)), "openai_five")
    assert config.pool.snapshot_every == 10 * build(config).steps_per_iteration


def test_bots_have_a_floor_where_the_game_has_bots():
    stag = replace(TINY, game="matrix:stag_hunt")
    assert build(stag).game.bots().names
    assert self_play(stag, "sparring").opponents.bot_floor == 0.02


def test_an_unknown_preset_gets_the_nearest_name():
    with pytest.raises(ConfigError, match=r"Unknown self-play preset 'bansall'\. Did you mean 'bansal'"):
        apply(TINY, "bansall")


# The command line.


SHAPE = ("--game=kuhn", "--total-steps=64000", "--worlds=8", "--steps=8")


def chosen(*words: str) -> tuple[RunConfig, str]:
    words = (*SHAPE, *words)
    return settled(parse(Train, list(words), command="train"), named(words))


def test_sparring_is_the_default_where_two_sides_are_alike():
    config, told = chosen("--game=dogfight")
    assert config.opponents == self_play(replace(TINY, game="dogfight"), "sparring").opponents
    assert told == "Self-play: sparring (the default where two sides are alike)."


def test_a_game_that_names_its_opponents_and_learning_gets_them_unless_flags_say_otherwise():
    config, told = chosen()
    assert told == "Self-play: magnet (which suits this game)."
    assert config.ppo.on("anchor") and config.ppo.discount == Schedule.parse(1.0) and config.net.critic == "central"
    config, _ = chosen("--discount=0.9", "--self-play=naive")
    assert (config.ppo.discount, config.ppo.on("anchor"), config.net.critic) == (Schedule.parse(0.9), False, "central")
    assert chosen("--recipe=debug")[0].ppo.discount == Schedule.parse(0.99), "a recipe says all of it"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--recipe", "tag"), "as the recipe says"),
        (("--current=1",), "as the flags say (--current), without a preset; --self-play names one"),
        (("--no-curriculum",), "as the flags say (--curriculum), without a preset; --self-play names one"),
        (
            ("--game=dogfight", "--worlds=7", "--minibatches=7"),
            "the learner meets itself (an odd number of worlds cannot be split into equal blocks)",
        ),
    ],
)
def test_who_says_something_about_opponents_keeps_what_is_set(words, why):
    config, told = chosen(*words)
    assert not config.changing
    assert told == f"Opponents: {why}."


def test_a_bot_that_always_opposes_is_named():
    assert chosen("--opponent", "equilibrium")[1] == "Opponent: equilibrium, always."


def test_flags_that_need_somebody_to_meet_go_with_a_preset_that_has_them():
    config, _ = chosen("--self-play", "sparring", "--defeat-share=0.1", "--anchor=0.1", "--imitation=0.1")
    assert config.defeats.defeat_share == 0.1 and config.ppo.on("anchor") and config.ppo.on("imitation")


def test_a_population_goes_with_a_league_whose_mains_are_its_members_and_with_a_mixture():
    def given(preset: str) -> RunConfig:
        return chosen("--self-play", preset, "--population=2", "--worlds=20")[0]

    league = given("alphastar")
    assert (league.roles.mains, league.roles.main_exploiters, league.population.population) == (2, 1, 2)
    assert given("ftw").roles.mains == 2 and given("pbt").population.population == 2
    mixture = given("pool")
    assert mixture.population.population == 2 and build(mixture).lineup.names == ("member_0", "member_1")


def test_flags_may_change_who_is_in_a_league_before_its_blocks_are_counted():
    config, _ = chosen("--self-play", "alphastar", "--league-exploiters=3", "--worlds=160", "--blocks=10")
    assert len(build(config).lineup.names) == 5


def test_the_default_fits_unlike_sides_too():
    config = apply(replace(TINY, game="particles:tag"), "sparring")
    assert build(config).lineup.names == ("predator", "prey") and not config.opponents.bot_floor


def test_flags_win_over_a_preset():
    config = chosen("--self-play", "three_way", "--history=0.9", "--shadow-half-life=7")[0]
    assert (config.opponents.history, config.opponents.shadow) == (Schedule.parse(0.9), Schedule.parse(THIRD))
    assert (config.ppo.shadow_half_life, config.ppo.shadow_tau) == (Schedule.parse(7.0), Schedule.parse(0.0))


def test_a_flag_wins_over_a_preset_also_where_it_says_the_default():
    plain, said = chosen("--self-play", "half_history")[0], chosen("--self-play", "half_history", "--history", "0")[0]
    assert (plain.opponents.history, said.opponents.history) == (Schedule.parse(0.5), Schedule.parse(0.0))
    assert not chosen("--self-play", "sparring", "--shadow-half-life=0", "--shadow=0")[0].ppo.has_shadow
    assert chosen("--recipe", "demo", "--epochs", "4")[0].ppo.epochs == 4, "the recipe has 3"


def test_a_flag_for_the_slowness_of_the_shadow_takes_the_place_of_what_a_recipe_or_preset_says_in_the_other_way():
    for words in (("--recipe", "demo"), ("--self-play", "sparring")):
        ppo = chosen(*words, "--shadow-tau=0.1")[0].ppo
        assert (ppo.shadow_tau, ppo.shadow_half_life) == (Schedule.parse(0.1), Schedule.parse(0.0))
    with pytest.raises(ConfigError, match="say the same in two ways"):
        build(chosen("--self-play", "sparring", "--shadow-tau=0.1", "--shadow-half-life=3")[0])


@pytest.mark.parametrize("flag", ["--worlds=0", "--steps=0", "--total-steps=0"])
def test_a_preset_computes_with_no_number_that_is_out_of_range(flag):
    with pytest.raises(ConfigError, match="must be at least 1, found 0"):
        chosen("--self-play", "sparring", flag)


def test_a_wrong_name_on_the_command_line_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"Unknown self-play preset 'naiv'\. Did you mean 'naive'"):
        chosen("--self-play", "naiv")[0]
