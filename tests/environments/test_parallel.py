"""Built-in games as environments of PettingZoo and Gymnasium, judged by these libraries' own tests."""

import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="our games as PettingZoo environments need pettingzoo")
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import max_cycles_test, parallel_api_test, parallel_seed_test, render_test

from sparring.core.errors import ConfigError
from sparring.environments.parallel import env, gymnasium_env, parallel_env
from sparring.games import registry

SHOWN = ("matrix:blotto", "matrix:matching_pennies", "probe:aim", "probe:hybrid", "probe:limit", "probe:mask",
         "skirmish:3m", "skirmish:MMM")  # fmt: skip
"""Of families whose games are written alike these stand for all; the rest is slow only because there are so many."""


def games() -> list:
    alike = {name.partition(":")[0] for name in SHOWN}
    slow = [name for name in registry.available() if name.partition(":")[0] in alike and name not in SHOWN]
    return [pytest.param(n, marks=pytest.mark.slow) if n in slow else n for n in registry.available()]


@pytest.mark.parametrize("name", games())
def test_a_game_passes_the_tests_of_pettingzoo(name):
    makes = partial(parallel_env, name)
    parallel_api_test(makes(), num_cycles=6)
    parallel_seed_test(makes, num_cycles=3)
    if makes().spec.shortest >= 5:  # the others may end before they are cut after four
        max_cycles_test(SimpleNamespace(parallel_env=makes, env=partial(env, name)))
    render_test(lambda render_mode: env(name, render_mode=render_mode))
    if makes().spec.seats == 1:
        check_env(gymnasium_env(name), skip_render_check=True)


def test_a_mask_says_what_may_be_played_and_another_choice_is_replaced():
    game = parallel_env("tic_tac_toe")
    seen, _ = game.reset(seed=1)
    mover = next(a for a in game.agents if seen[a]["action_mask"].sum() == 9)
    waiting = next(a for a in game.agents if a != mover)
    assert seen[waiting]["action_mask"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    seen, _, _, _, infos = game.step({mover: 4, waiting: 0})
    assert seen[waiting]["action_mask"][4] == 0 and seen[waiting]["action_mask"].sum() == 8
    assert infos[waiting]["acting"] and not infos[mover]["acting"]
    seen, _, _, _, infos = game.step({mover: 0, waiting: 4})  # taken: the first free field is played
    assert infos[waiting]["illegal_action"] and "illegal_action" not in infos[mover]
    assert seen[mover]["action_mask"].tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1]


def test_the_end_of_a_game_says_who_won():
    game = parallel_env("tic_tac_toe", masks="info")
    seen, infos = game.reset(seed=0)
    assert seen[game.agents[0]].shape == (game.spec.features,)
    while game.agents:  # each plays the first free field: the one who began wins by the diagonal
        _, rewards, over, cut, infos = game.step({a: int(infos[a]["action_mask"].argmax()) for a in game.agents})
    assert all(over.values()) and not any(cut.values())
    assert sorted(infos[a]["outcome"] for a in over) == [-1.0, 1.0] == sorted(rewards.values())


def test_a_cut_game_is_truncated_and_not_terminated():
    game = parallel_env("particles:spread", max_cycles=3)
    game.reset(seed=0)
    for _ in range(3):
        assert game.agents
        _, _, over, cut, _ = game.step(dict.fromkeys(game.agents, 0))
    assert all(cut.values()) and not any(over.values()) and game.agents == []


def test_a_seed_repeats_a_game_and_chance_goes_on_without_one():
    game = parallel_env("particles:tag")
    first, again, later = (game.reset(seed)[0]["prey_0"]["observation"] for seed in (7, 7, None))
    assert np.array_equal(first, again) and not np.array_equal(again, later)


def test_what_is_wrong_is_said():
    with pytest.raises(ConfigError, match="render_mode of kuhn is one of human, ansi, found 'rgb_array'"):
        parallel_env("kuhn", render_mode="rgb_array")
    with pytest.raises(ConfigError, match="kuhn has 2 seats"):
        gymnasium_env("kuhn")
    game = parallel_env("kuhn")
    game.reset(seed=0)
    with pytest.raises(ConfigError, match="No action for"):
        game.step({})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        game.step(dict.fromkeys(game.agents, 0))
