"""Many worlds as arrays: no copies on the way out, and every world as the game alone would play it."""

import jax
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.environments.arrays import ArrayEnv
from sparring.games import registry


def test_arrays_leave_without_a_copy():
    worlds = ArrayEnv("particles:tag", 64)
    seen = worlds.reset(seed=0)
    turn = worlds.step(np.zeros((64, 4, 1), np.int32))
    for array in (seen.features_SF, turn.seen.features_SF, turn.seen.legal_SA, turn.reward_WS, turn.terminated_WS):
        view = np.from_dlpack(array)
        assert view.__array_interface__["data"][0] == array.unsafe_buffer_pointer() and view.shape == array.shape


def test_torch_steps_worlds_in_its_own_memory():
    torch = pytest.importorskip("torch", reason="the loop in PyTorch needs torch")
    worlds = ArrayEnv("particles:tag", 64)
    seen = worlds.reset(seed=0)
    assert torch.from_dlpack(seen.features_SF).data_ptr() == seen.features_SF.unsafe_buffer_pointer()
    choices = torch.zeros((64, 4, 1), dtype=torch.int32)
    turn = worlds.step(choices)
    assert torch.from_dlpack(turn.reward_WS).data_ptr() == turn.reward_WS.unsafe_buffer_pointer()


def test_worlds_end_and_begin_again_by_themselves():
    """Kuhn: both pass, so every game ends by its second step, and the next begins in it."""
    worlds = ArrayEnv("kuhn", 8)
    first = worlds.reset(seed=3)
    middle = worlds.step(np.zeros((8, 2, 1), np.int32))
    assert not np.asarray(middle.terminated_WS).any()
    end = worlds.step(np.zeros((8, 2, 1), np.int32))
    assert np.asarray(end.terminated_WS).all() and not np.asarray(end.truncated_WS).any()
    assert set(np.abs(np.asarray(end.reward_WS)).ravel()) == {1.0} and not np.asarray(end.reward_WS).sum(1).any()
    assert np.array_equal(end.seen.acting_S.sum(1), np.ones(8)), "a new game: one seat decides"
    assert not np.array_equal(end.seen.features_SF, first.features_SF), "with new cards"
    assert np.array_equal(worlds.reset(seed=3).features_SF, first.features_SF)


def test_a_world_is_played_by_the_rules_of_the_game():
    """The same states stepped by the game itself, world by world."""
    game = registry.make("connect_four")
    worlds = ArrayEnv(game, 4)
    worlds.reset(seed=0)
    for column in (3, 3, 2):
        before = [worlds.state_of(w) for w in range(4)]
        choices = np.full((4, 2, 1), column, np.int32)
        turn = worlds.step(choices)
        for w, state in enumerate(before):
            seen = game.observe(state)
            acting = int(np.argmax(seen.acting_S))
            own = np.where(np.arange(2)[:, None] == acting, column, 0)
            after, step = game.step(state, Action(own, np.zeros((2, 0))), ())
            assert np.array_equal(game.observe(after).features_SF, turn.final.features_SF[w])
            assert np.array_equal(step.reward_S, turn.reward_WS[w])


def test_games_are_cut_where_asked_for():
    worlds = ArrayEnv("particles:spread", 2, max_cycles=2)
    worlds.reset(seed=0)
    flags = [np.asarray(worlds.step(np.zeros((2, 3, 1), np.int32)).truncated_WS).any() for _ in range(4)]
    assert flags == [False, True, False, True]


def test_actions_of_another_shape_are_refused():
    worlds = ArrayEnv("particles:spread", 2)
    with pytest.raises(ConfigError, match="Call reset"):
        worlds.step()
    worlds.reset(seed=0)
    with pytest.raises(ConfigError, match=r"shape \(2, 3, 1\) .*found \(2, 3\)"):
        worlds.step(jax.numpy.zeros((2, 3), int))
    with pytest.raises(ConfigError, match="needs discrete actions"):
        worlds.step()
