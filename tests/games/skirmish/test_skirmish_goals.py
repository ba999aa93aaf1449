"""Whom units may be after, at places put by hand."""

from typing import Any

import jax
import numpy as np
import pytest
from field import begun, changed
from jax import Array

from sparring.core.records import Action, Goals
from sparring.games.registry import make
from sparring.games.trial import quick_jit


@quick_jit
def asked(game: Any, state: Any, choice_S: Array) -> tuple[Goals, Array, Array]:
    """Goals, those that are attacked by these choices, and what every bot wants."""
    named_SG = game.reached(state, Action(choice_S[:, None], np.zeros((3, 0))), state)
    wanted_PSG = jax.vmap(lambda row_J: game.bot_goals(row_J, state))(game.bots().table_PJ)
    return game.goals(state), named_SG, wanted_PSG


def test_units_are_after_foes_that_live_and_that_they_can_hit() -> None:
    game: Any = make("skirmish:3m")
    fresh = jax.tree.map(lambda x: x[0], begun(game, 1))
    place_XU = np.array([[-3, -3, 1, 2, 3, 3.5], [0, 4, 1, 0, 0, 0]], np.float32)
    state = changed(fresh, place_XU=place_XU, health_U={2: 0.0, 5: 0.0}, last_S=np.array([7, 1, 0]))
    goals, named, wanted = asked(game, state, np.array([6, 7, 8], np.int32))
    assert goals.open_SG.tolist() == [[True, True, False], [True, True, False], [False] * 3]
    assert goals.steps_SG[0].tolist() == [0, 0, 0] and goals.steps_SG[1, 1] > 0
    # Sight is 9 cells: 5 and 6 cells away, both in reach, the second named last, both in full health.
    assert goals.about_SGZ[0, :, :7].tolist() == [
        pytest.approx([5 / 9, 0, 5 / 9, 1, 0, 1, 0]), pytest.approx([6 / 9, 0, 6 / 9, 1, 1, 1, 0]), [0] * 7,
    ]  # fmt: skip
    assert np.asarray(named).astype(int).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    attack_nearest, stay = np.asarray(wanted)[[0, 3]].astype(int).tolist()
    assert attack_nearest == [[1, 0, 0], [1, 0, 0], [0, 0, 0]] and stay == [[0, 0, 0]] * 3
