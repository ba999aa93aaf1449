"""What others are expected to do, and the rows from which that is learned."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.opponent_models.actions import ActionModel, near
from sparring.opponent_models.metrics import log_legal, steps_to_be_sure
from sparring.opponent_models.mind import of_other
from sparring.opponent_models.sample import Sample, aims, chosen_freely, hindsight
from sparring.play.rollout import Others
from toy_players import quick

RNG = np.random.default_rng(3)
HEADS = ActionSpec(heads=(3, 2))
ROWS, OTHERS, GOALS, Z, F = 6, 2, 3, 4, 5


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def model(*, sees: bool = True) -> ActionModel:
    """Moved from its start, where all that is legal is alike."""
    made = ActionModel.make(Seed.of(1), F, OTHERS, Z, HEADS, 8, sees=sees)
    return jax.tree.map(lambda x: np.asarray(x) + numbers(*x.shape), made)


told = quick(lambda model, *given: model(*given))
told_some = quick(lambda model, *given: model.of_some(*given))
asked = quick(near, static_argnums=1)
FEATURES, ABOUT = numbers(ROWS, F), numbers(ROWS, OTHERS, GOALS, Z)
LEGAL = RNG.random((ROWS, OTHERS, 5)) > 0.4
LEGAL[..., [0, 3]] = True
LEGAL[2, 0] = [True, False, False, True, False]  # no choice
SAMPLE = Sample(
    FEATURES, np.zeros((ROWS, OTHERS, 2), np.int32), LEGAL, np.ones((ROWS, OTHERS), bool),
    np.ones((ROWS, OTHERS, GOALS), bool), numbers(ROWS, OTHERS, GOALS), ABOUT, numbers(ROWS, OTHERS, 2),
    RNG.integers(0, GOALS, (ROWS, OTHERS)), np.ones(ROWS, bool),
)  # fmt: skip


def test_each_head_is_a_distribution_over_what_is_legal():
    p = np.exp(told(model(), FEATURES, ABOUT, LEGAL))
    assert p.shape == (ROWS, OTHERS, GOALS, 5)
    np.testing.assert_allclose(p[..., :3].sum(-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(p[..., 3:].sum(-1), 1.0, rtol=1e-5)
    assert not p[np.broadcast_to(~np.asarray(LEGAL)[:, :, None], p.shape)].any()


def test_what_is_legal_is_guessed_as_likely_in_each_head():
    p = np.exp(quick(lambda legal: log_legal(HEADS, legal))(LEGAL))
    np.testing.assert_allclose(p[..., :3], LEGAL[..., :3] / LEGAL[..., :3].sum(-1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(p[..., 3:], LEGAL[..., 3:] / LEGAL[..., 3:].sum(-1, keepdims=True), rtol=1e-6)


def test_at_first_hardly_anything_is_told_apart():
    made = ActionModel.make(Seed.of(1), F, OTHERS, Z, HEADS, 8)
    p = np.exp(told(made, FEATURES, ABOUT, np.ones_like(LEGAL)))
    np.testing.assert_allclose(p[..., :3], 1 / 3, atol=0.02)


def test_the_loss_is_the_cross_entropy_given_the_goal_that_turned_out():
    """Who has no choice, does not act, or whose goal is not known, counts for nothing."""
    own, label, acting = model(), SAMPLE.label_O.copy(), SAMPLE.acting_O.copy()
    label[0, 0], acting[1, 1] = -1, False
    sample = SAMPLE._replace(label_O=label, acting_O=acting)
    every = np.asarray(told(own, FEATURES, ABOUT, LEGAL))
    terms = [
        -every[r, o, label[r, o], 0] - every[r, o, label[r, o], 3]
        for r in range(ROWS)
        for o in range(OTHERS)
        if label[r, o] >= 0 and acting[r, o] and (LEGAL[r, o, :3].sum() > 1 or LEGAL[r, o, 3:].sum() > 1)
    ]
    np.testing.assert_allclose(quick(lambda m, s: m.loss(s)[0])(own, sample), np.mean(terms), rtol=1e-5)
    free = quick(lambda legal: chosen_freely(HEADS, legal))(np.array([[1, 0, 0, 0, 1], [1, 0, 0, 1, 1]], bool))
    np.testing.assert_array_equal(free, [False, True])


def test_models_apart_are_models_of_one_other_each():
    one = quick(of_other)(SAMPLE, jnp.asarray(1))
    assert one.about_OGZ.shape == (ROWS, 1, GOALS, Z) and one.features_F.shape == (ROWS, F)
    np.testing.assert_array_equal(one.label_O[:, 0], SAMPLE.label_O[:, 1])


def test_who_is_near_is_asked_as_if_all_were_and_what_is_far_says_nothing():
    own, wanted = model(), RNG.random((ROWS, OTHERS, GOALS)) < 0.4
    every = np.asarray(told(own, FEATURES, ABOUT, LEGAL))
    some = np.asarray(told_some(own, FEATURES, ABOUT, LEGAL, asked(wanted, wanted.size)))
    np.testing.assert_allclose(some[wanted], every[wanted], rtol=1e-5)
    flat = np.exp(some[~wanted])[:, :3]
    assert np.all((flat == 0) | np.isclose(flat, flat.max(-1, keepdims=True)))


def test_where_there_is_no_room_goals_are_passed_over_and_counted():
    wanted = np.array([[True, False, True], [True, True, False]])
    found = asked(wanted, 3)
    np.testing.assert_array_equal(found.place_C, [0, 2, 3])
    np.testing.assert_array_equal(found.evaluated, [[True, False, True], [True, False, False]])
    np.testing.assert_array_equal(found.passed, [[False, False, False], [False, True, False]])
    np.testing.assert_array_equal(np.asarray(asked(wanted, 6).place_C)[4:], [6, 6])


def column(values: Any, *, goals: int = 0) -> np.ndarray:
    """Of one world, one seat and one other: [T, 1, 1, 1] or [T, 1, 1, 1, G]."""
    x = np.asarray(values)
    return x[:, None, None, None, :] if goals else x[:, None, None, None]


def test_labels_by_hindsight():
    """Goal 1 is reached in step 1, nothing in the rest of the game, which ends with step 3; in the next one goal 0 in
    step 5, though it was there in that step alone; of the last steps nothing is known, unless that game ends too."""
    reached, open_, start = np.zeros((8, 3), bool), np.ones((8, 3), bool), np.zeros((8, 1), bool)
    reached[1, 1] = reached[5, 0] = start[0] = start[4] = True
    open_[4, 0] = False
    seen, label = (column(reached, goals=3), column(open_, goals=3), start), quick(hindsight)
    np.testing.assert_array_equal(label(*seen)[:, 0, 0, 0], [1, 1, 2, 2, -1, 0, -1, -1])
    np.testing.assert_array_equal(label(*seen, np.array([True]))[:, 0, 0, 0], [1, 1, 2, 2, -1, 0, 2, 2])


def test_to_be_after_nothing_is_the_last_of_all_aims():
    others: Any = Others(
        np.zeros((2, 3, 1)), np.zeros((2, 3, 0)), np.ones((2, 3), bool), LEGAL[:2], np.zeros((2, 3, 4), bool),
        np.ones((2, 3, 4)), np.ones((2, 3, 4, 5)), np.ones((2, 3, 4), bool),
    )  # fmt: skip
    found, alone = (jax.tree.map(np.asarray, quick(lambda o, s=s: aims(o, listed=s))(others)) for s in (True, False))
    assert found.about.shape == (2, 3, 5, 6) and found.open[..., -1].all() and not found.reached[..., -1].any()
    np.testing.assert_array_equal(found.about[0, 0, :, -1], [0, 0, 0, 0, 1])
    np.testing.assert_array_equal(found.about[0, 0, -1, :-1], np.zeros(5))
    assert alone.about.shape == (2, 3, 1, 1) and alone.open.shape == (2, 3, 1) and alone.steps.shape == (2, 3, 1)


def test_how_long_a_belief_takes_to_be_sure_and_to_stay_so():
    """Sure from its third step on, never, at once; the last stretch is lost again and found in its second step."""
    label = [0, 0, 0, 0, 1, 1, 2, 2, 0, 0, 0]
    sure = [1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1]
    start, times, timed = np.zeros((11, 1), bool), [], quick(steps_to_be_sure)
    start[0] = True
    for stretch in ([0, 1, 2, 3], [4, 5], [6, 7], [8, 9, 10], range(11)):
        counted = np.isin(np.arange(11), list(stretch))
        median, never = timed(column(np.array(sure, bool)), column(counted), column(label), start)
        times.append((float(median), round(float(never), 2)))
    assert times == [(2, 0), (33, 1), (0, 0), (2, 0), (2, 0.25)]
