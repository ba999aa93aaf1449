"""Social influence: how far an own action moves what the others are expected to do next, where that is known."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.learn.shaping import influential
from sparring.opponent_models.replies import MOST, ReplyModel, influence, moved
from sparring.opponent_models.sample import replies_in, rows_of
from sparring.play.rollout import Others, Rollout
from sparring.recipes.defaults import default_config
from sparring.setup.build import build
from sparring.store.run_dir import RunDir
from sparring.training.runs import start
from toy_players import quick

NOTHING: dict[str, Any] = dict.fromkeys(Rollout._fields)


def test_influence_in_a_game_of_two_actions_in_closed_form():
    """Of one who copies with probability 0.9: ln 2 - H(0.1) = 0.3681 for a policy that is even. Of one who always
    copies: minus the log of how likely the own action was. Of one who does not care: nothing."""
    copies, certain = np.array([[0.9, 0.1], [0.1, 0.9]]), np.eye(2)
    careless = np.array([[0.3, 0.7], [0.3, 0.7]])
    log_p_COA = np.log(np.maximum(np.stack([copies, certain, careless], axis=1), 1e-30)).astype(np.float32)
    found = quick(moved)(log_p_COA, np.array([0.5, 0.5], np.float32), np.array([1.0, 0.0], np.float32))
    entropy = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    np.testing.assert_allclose(found, [np.log(2) - entropy, np.log(2), 0.0], atol=1e-6)
    rare = quick(moved)(log_p_COA, np.array([0.75, 0.25], np.float32), np.array([0.0, 1.0], np.float32))
    np.testing.assert_allclose(rare[1:], [np.log(4), 0.0], atol=1e-6)
    only = quick(moved)(log_p_COA, np.array([1.0, 0.0], np.float32), np.array([1.0, 0.0], np.float32))
    np.testing.assert_allclose(only, [0.0, 0.0, 0.0], atol=1e-6)


ACTION = ActionSpec(heads=(2,))


def others(discrete: list[list[int]]) -> Others:
    done = np.asarray(discrete, np.int32)[:, None, None, :, None]  # T, W = N = 1, O, D
    there = np.ones(done.shape[:-1], bool)
    return Others(done, np.zeros((*there.shape, 0)), there, np.ones((*there.shape, 2), bool))


def test_a_reply_is_what_is_done_in_the_next_step_of_the_same_game():
    """Three steps, of which the second ends a game; what follows the last one is not known."""
    ended = np.array([False, True, False])[:, None, None]
    own: Any = type("Own", (), {"discrete_SD": np.zeros((3, 1, 1, 1), np.int32)})()
    rollout = Rollout(**{**NOTHING, "others": others([[0, 1], [1, 1], [0, 0]]), "ended_TWN": ended, "action": own})
    found = replies_in(rollout, ACTION)
    assert np.asarray(found.next_OD)[0, 0, 0, :, 0].tolist() == [1, 1]
    assert np.asarray(found.known_O)[:, 0, 0].tolist() == [[True, True], [False, False], [False, False]]


def test_influence_is_summed_over_those_who_are_there_and_bounded():
    """A model that is sure that everybody copies: the own action was taken with e^-20, so each other is worth 20."""
    model = ReplyModel.make(Seed.of(0), 1, 2, ACTION, 2)
    nought = jax.tree.map(lambda x: np.zeros_like(x), model)
    sees_own = jnp.array([[30.0, 0.0], [0.0, 30.0]])
    copies = jnp.array([[1.0, -1.0], [-1.0, 1.0]]) * 40
    model = nought.__class__(
        nought.watched, type(nought.own)(sees_own, nought.own.bias_O), nought.others,
        type(nought.hidden)(jnp.eye(2) * 30, nought.hidden.bias_O),
        type(nought.head)(jnp.concatenate([copies, copies], axis=1), nought.head.bias_O), ACTION,
    )  # fmt: skip

    def of(log_p: list[float], *, left: bool = False, ended: bool = False) -> float:
        seen = others([[0, 0]])
        seen = seen._replace(acting=np.array([[[[True, not left]]]]))
        policy: Any = type("Policy", (), {"log_p_A": jnp.asarray(log_p).reshape(1, 1, 1, 2)})()
        own: Any = type("Own", (), {"discrete_SD": np.zeros((1, 1, 1, 1), np.int32)})()
        rollout = Rollout(**{
            **NOTHING, "others": seen, "ended_TWN": np.full((1, 1, 1), ended), "action": own, "distribution": policy,
            "acting_TWN": np.ones((1, 1, 1), bool), "features_TWNF": np.zeros((1, 1, 1, 1), np.float32),
        })  # fmt: skip
        return float(influence(model, rollout)[0, 0, 0])

    even = [float(np.log(0.5))] * 2
    assert of(even) == pytest.approx(2 * np.log(2), abs=1e-4) and of(even, left=True) == pytest.approx(
        np.log(2), abs=1e-4
    )
    assert of(even, ended=True) == 0.0 and of([-20.0, 0.0]) == MOST


def test_in_turns_an_own_choice_is_learned_from_and_moves_who_answers_it():
    """Own choice, the other's, own, the other's, with which the game ends."""
    done, turn = others([[0], [1], [0], [1]]), np.array([0, 1, 0, 1], bool)[:, None, None]
    seen = done._replace(
        acting=turn[..., None], legal=np.stack([np.ones_like(turn), turn], axis=-1)[..., None, :],
        open=np.ones((4, 1, 1, 1, 1), bool), steps=np.zeros((4, 1, 1, 1, 1)), about=np.ones((4, 1, 1, 1, 1, 1)),
    )  # fmt: skip
    own: Any = type("Own", (), {"discrete_SD": np.zeros((4, 1, 1, 1), np.int32)})()
    even: Any = type("Policy", (), {"log_p_A": jnp.full((4, 1, 1, 2), np.log(0.5), jnp.float32)})()
    thought: Any = type("Thought", (), {"leaning_NOK": np.zeros((4, 1, 1, 1, 1))})()
    ended = np.array([False, False, False, True])[:, None, None]
    rollout = Rollout(**{
        **NOTHING, "others": seen, "ended_TWN": ended, "action": own, "distribution": even, "acting_TWN": ~turn,
        "present_TWN": np.ones((4, 1, 1), bool), "features_TWNF": np.ones((4, 1, 1, 1), np.float32),
        "start_TW": np.zeros((4, 1), bool), "thought": thought,
    })  # fmt: skip
    rng, model = np.random.default_rng(0), ReplyModel.make(Seed.of(0), 1, 1, ACTION, 2)
    model = jax.tree.map(lambda x: rng.normal(size=x.shape).astype(np.float32), model)

    @quick
    def found(model: ReplyModel) -> Any:
        rows = rows_of(rollout, ACTION, replies=replies_in(rollout, ACTION))
        return rows_of(rollout, ACTION).useful, rows.useful, influence(model, rollout)[:, 0, 0]

    plain, useful, moves = map(np.asarray, found(model))
    assert plain.tolist() == [False, True, False, True] and useful.all()
    assert (moves[[0, 2]] > 0).all() and not moves[[1, 3]].any()


def test_a_unit_of_influence_pays_its_weight_and_without_any_the_rollout_is_untouched():
    rollout = Rollout(**{**NOTHING, "reward_TWN": jnp.array([[[1.0, -2.0]]])})
    assert influential(rollout, jnp.asarray(0.5)) is rollout
    paid = influential(rollout._replace(influence_TWN=jnp.array([[[0.4, 2.0]]])), jnp.asarray(0.5))
    np.testing.assert_allclose(paid.reward_TWN[0, 0], [1.2, -1.0])


SMALL: dict[str, Any] = {
    "mind": "belief", "mind_goals": "none", "mind_tells": "nothing", "mind_replies": True, "mind_rate": 0.02,
    "mind_size": 8, "mind_updates": 40, "mind_buffer": 512, "mind_batch": 64,
    "worlds": 16, "steps": 16, "hidden": (8,), "minibatches": 1, "epochs": 1, "learning_rate": 0.0,
    "total_steps": 16 * 16 * 6, "eval_games": 0, "side": 0,
}  # fmt: skip


@pytest.mark.parametrize(("opponent", "known"), [("tit_for_tat", np.log(2)), ("always_0", 0.0)])
def test_one_who_copies_is_moved_by_a_coin_and_one_who_always_does_the_same_is_not(tmp_path, opponent, known):
    """An even policy that does not learn, in the iterated dilemma. What it is paid for influence is in no return."""
    returns = {}
    for weight in (0.0, 5.0):
        options = ("rounds=8",)
        config = default_config(
            "matrix:prisoners_dilemma", options=options, opponent=opponent, influence=weight, **SMALL
        )
        start(config, tmp_path / f"{weight:g}")
        last = [line for line in RunDir.open(tmp_path / f"{weight:g}").metrics() if line["kind"] == "train"][-1]
        (found,) = [value for name, value in last.items() if name.endswith("/mind/influence")]
        assert found == pytest.approx(known, abs=0.08)
        returns[weight] = {name: value for name, value in last.items() if name.startswith("return/")}
    assert returns[0.0] == returns[5.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"influence": 0.1}, "influence=0.1 would do nothing: it needs a mind with mind_replies"),
        ({"influence": 0.1, "mind": "belief"}, "influence=0.1 would do nothing"),
    ],
    ids=str,
)
def test_influence_needs_a_model_of_replies(changes, words):
    with pytest.raises(ConfigError, match=words):
        build(default_config("stag_hunt", **changes))
