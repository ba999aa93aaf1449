"""What the speed of a game is made of. Clocks are not tested."""

import jax
import numpy as np
import pytest

from sparring.games.registry import make
from sparring.setup.config import PlayConfig
from sparring.studies.bench import RandomPlay, game_speed


def test_games_per_second_follow_from_games_played_to_the_end():
    """Random Kuhn poker lasts three steps if the first passes and the second bets, a quarter of the games, else two.
    After a call of two steps only the short ones have ended."""
    speed = game_speed(make("kuhn"), PlayConfig(worlds=1024, steps=2), repeats=1)
    assert speed.games_per_second is not None
    world_steps = 1024 * 2 / speed.seconds
    assert speed.steps_per_second == pytest.approx(2 * world_steps)
    assert world_steps / speed.games_per_second == pytest.approx(2.25, abs=5 * (0.25 * 0.75 / 1024) ** 0.5)


def test_games_longer_than_all_timed_calls_are_waited_for():
    speed = game_speed(make("matrix:stag_hunt", rounds=50), PlayConfig(worlds=2, steps=4), repeats=1)
    assert speed.games_per_second == pytest.approx(2 * 4 / speed.seconds / 50)


def test_what_random_play_sees_is_computed():
    """A seat sees its last choice as one 1 at every round of ten but the first. 15 steps end in the midst of a game, of
    which five rounds were seen; 30 steps end with one."""
    play = RandomPlay(make("matrix:rock_paper_scissors", rounds=10), PlayConfig(worlds=4, steps=15))
    for choices in (4, 9):
        play.run()
        leaves = jax.tree.leaves(play.cursor.memory)
        seen = [np.asarray(leaf)[..., :3] for leaf in leaves if leaf.shape[-1:] == (play.game.spec.features,)]
        assert seen and all((leaf.sum(-1) == choices).all() for leaf in seen)
