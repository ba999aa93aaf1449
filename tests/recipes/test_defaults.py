"""What a run is like where nobody says otherwise."""

import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games import registry
from sparring.recipes.defaults import default_config, preset_for, suited
from sparring.recipes.self_play import SELF_PLAY
from sparring.setup.build import build
from sparring.setup.config import RunConfig

SUITED = [name for name in registry.available() if registry.make(name).spec.suits]


@pytest.mark.parametrize("name", SUITED)
def test_what_suits_a_game_can_be_built(name):
    config = default_config(name, total_steps=100_000)
    assert build(config).iterations > 1
    spec = registry.make(name).spec
    assert preset_for(spec, config) in (*SELF_PLAY, *[""] * (spec.sides > 2))


def test_every_zero_sum_matrix_game_asks_for_a_magnet_and_others_do_not():
    assert dict(registry.make("matrix:blotto").spec.suits)["self_play"] == "magnet"
    assert registry.make("matrix:stag_hunt").spec.suits == ()


def test_settings_win_over_what_suits_the_game_and_stand_in_their_tables():
    config = default_config("kuhn", learning_rate="1e-3", worlds=64, hidden=(8,), total_steps=50_000)
    assert config.ppo.learning_rate == Schedule.parse(1e-3) and config.play.worlds == 64 and config.net.hidden == (8,)
    assert config.ppo.discount == Schedule.parse(1.0) and config.ppo.on("anchor")


def test_a_game_may_correct_the_numbers_of_its_own_preset_and_of_no_other():
    assert default_config("kuhn").ppo.anchor == Schedule.parse(1.0)
    assert default_config("matrix:blotto").ppo.anchor == Schedule.parse(0.5)
    assert not default_config("kuhn", self_play="naive").ppo.on("anchor")


def test_who_opposes_can_be_said_by_name():
    assert default_config("kuhn", self_play="pool").opponents.history == Schedule.parse(1.0)
    assert not default_config("kuhn", self_play="naive").ppo.has_shadow


def test_a_setting_that_does_not_exist_gets_the_nearest_name():
    with pytest.raises(ConfigError, match=r"unknown setting 'learning_rat'\. Did you mean 'ppo\.learning_rate'"):
        default_config("kuhn", learning_rat=1.0)


def test_a_game_that_names_nothing_leaves_the_defaults():
    config = RunConfig(game="particles:spread")
    assert suited(config, registry.make("particles:spread").spec) == config


def test_numbers_that_correct_a_game_s_own_preset_are_left_out_without_it():
    """Kuhn corrects the weight of its magnet; against a bot there is neither magnet nor average."""
    spec = registry.make("kuhn").spec
    assert dict(spec.suits)["anchor"] == 1.0
    assert not suited(RunConfig(game="kuhn"), spec).ppo.on("anchor")
    assert default_config("kuhn").ppo.on("anchor")
    build(default_config("kuhn", self_play="naive", opponent="always_bet"))


def own(sides=2, longest=1, in_turn=False, suits=(), zero_sum=False, told=2) -> GameSpec:
    """What a newcomer writes of a game."""
    return GameSpec(
        seats=sides, side_of_seat=tuple(range(sides)), exchangeable=(tuple(range(sides)),), in_turn=in_turn,
        action=ActionSpec(heads=(3,)), layout=(Feature("one", (1,)),), central=Central("seat", told),
        longest=longest, suits=suits, zero_sum=zero_sum,
    )  # fmt: skip


def test_a_short_game_for_two_with_moves_made_at_once_settles_though_nobody_tuned_it():
    config = RunConfig(game="kuhn")
    assert preset_for(own(), config) == "magnet" and suited(config, own()).play.steps == 8
    assert preset_for(own(suits=(("worlds", 64),)), config) == "magnet"
    assert suited(config, own(suits=(("steps", 16),))).play.steps == 16
    assert preset_for(own(suits=(("self_play", "pool"),)), config) == "pool"
    assert suited(config, own(suits=(("self_play", "pool"),))).play.steps == config.play.steps


def test_a_short_zero_sum_game_of_turns_settles_where_a_seat_sees_less_than_there_is():
    config = RunConfig(game="kuhn")
    assert preset_for(own(longest=2, in_turn=True, zero_sum=True), config) == "magnet"
    assert preset_for(own(longest=2, in_turn=True, zero_sum=True, told=1), config) == "sparring"
    assert preset_for(own(longest=30, in_turn=True, zero_sum=True), config) == "sparring"
    assert preset_for(registry.make("tic_tac_toe").spec, config) == "sparring"


def test_long_games_moves_in_turn_and_other_numbers_of_sides_keep_the_general_default():
    config = RunConfig(game="kuhn")
    for spec in (own(longest=30), own(in_turn=True)):
        assert preset_for(spec, config) == "sparring" and suited(config, spec) == config
    assert preset_for(own(sides=3), config) == ""
