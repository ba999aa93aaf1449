"""What is believed of others, with numbers worked out by hand."""

from typing import Any

import jax
import numpy as np
import pytest

from sparring.core.seeding import Seed
from sparring.opponent_models import beliefs
from sparring.opponent_models.beliefs import FAR, NEVER, Beliefs, Reader, kinds_of
from sparring.opponent_models.sample import Sample
from sparring.play.witness import Situation
from toy_players import quick

after, among, leaning = quick(beliefs.after), quick(beliefs.among), quick(beliefs.leaning)
anticipated, mixed = quick(beliefs.anticipated, static_argnums=3), quick(beliefs.mixed, static_argnums=2)
alike_within = quick(beliefs.alike_within, static_argnums=2)
remembered = quick(beliefs.remembered, static_argnums=(2, 3))
with_aimless = quick(beliefs.with_aimless, static_argnums=(2, 3))
KINDS = kinds_of(("stag", "hare", "hare"))
"""And to be after none of them."""
ALL = np.ones((1, 1, 4), bool)


def situation(open_: list[int], *, start: bool = False) -> Situation:
    unused: Any = None
    return Situation(
        features=unused, start=np.array([start]), acting=np.ones((1, 1), bool), legal=unused,
        open=np.array(open_, bool)[None, None], steps=unused, about=unused,
    )  # fmt: skip


def believing(b: list[float], *, known: bool = True) -> Beliefs:
    log_b = np.log(np.array(b))[None, None]
    flags = np.array([[known]])
    return Beliefs(log_b, flags, np.zeros((1, 1, 3)), np.zeros((1, 1), bool))


def shares(log_b: Any) -> np.ndarray:
    return np.exp(np.asarray(log_b))[0, 0]


def test_goals_of_one_name_are_of_one_kind_and_none_is_a_kind_of_its_own():
    assert KINDS == (0, 1, 1, 2) and kinds_of(()) == (0,)


def test_a_belief_moves_by_what_somebody_after_each_goal_would_have_done():
    """0.4 x 0.5, 0.3 x 0.25, 0.2 x 0.5, 0.1 x 1 are 0.2, 0.075, 0.1, 0.1 of 0.475."""
    log_b, log_l = np.log(np.array([[[0.4, 0.3, 0.2, 0.1]]])), np.log(np.array([[[0.5, 0.25, 0.5, 1.0]]]))
    moved, impossible = after(log_b, log_l, np.array([[True]]), ALL)
    np.testing.assert_allclose(shares(moved), np.array([0.2, 0.075, 0.1, 0.1]) / 0.475, rtol=1e-5)
    assert not impossible.any()
    still, _ = after(log_b, log_l, np.array([[False]]), ALL)
    np.testing.assert_allclose(shares(still), [0.4, 0.3, 0.2, 0.1], rtol=1e-5)


def test_a_hundred_steps_of_evidence_are_no_underflow():
    log_b = np.full((1, 1, 4), np.log(0.25))
    for _ in range(100):
        log_b, impossible = after(log_b, np.log(np.array([[[0.1, 0.09, 1e-3, 1e-5]]])), np.array([[True]]), ALL)
        assert not impossible.any()
    np.testing.assert_allclose(shares(log_b)[0], 1 / (1 + 0.9**100), rtol=1e-4)


def test_where_all_was_impossible_open_goals_are_alike_again_and_it_is_counted():
    log_b = np.log(np.array([[[0.5, 0.5, 1e-30, 1e-30]]]))
    open_ = np.array([[[True, True, False, True]]])
    moved, impossible = after(log_b, np.full((1, 1, 4), -30.0), np.array([[True]]), open_)
    np.testing.assert_allclose(shares(moved), [1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-5)
    assert impossible.all()


def test_a_goal_that_is_gone_leaves_its_belief_to_the_others():
    prior = np.log(np.full((1, 1, 4), 0.25))
    b, lost = anticipated(believing([0.6, 0.2, 0.1, 0.1]), prior, situation([0, 1, 1, 1]), 0.0)
    np.testing.assert_allclose(shares(b), [0, 0.5, 0.25, 0.25], rtol=1e-5)
    assert not lost.any()


def test_where_only_what_is_gone_was_believed_the_prior_stands_and_it_is_counted():
    prior = among(np.zeros((1, 1, 4)), np.array([[[False, True, True, True]]]))
    b, lost = anticipated(believing([1.0, 1e-12, 1e-12, 1e-12]), prior, situation([0, 1, 1, 1]), 0.0)
    np.testing.assert_allclose(shares(b), [0, 1 / 3, 1 / 3, 1 / 3], rtol=1e-5)
    assert lost.all()


@pytest.mark.parametrize(("start", "known"), [(True, True), (False, False)])
def test_a_new_game_or_a_reached_goal_begins_with_the_prior(start, known):
    prior = np.log(np.array([[[0.7, 0.1, 0.1, 0.1]]]))
    b, _ = anticipated(believing([0.1, 0.7, 0.1, 0.1], known=known), prior, situation([1] * 4, start=start), 0.0)
    np.testing.assert_allclose(shares(b), [0.7, 0.1, 0.1, 0.1], rtol=1e-5)


def test_goals_may_change_so_a_share_of_the_belief_begins_anew():
    np.testing.assert_allclose(np.exp(mixed(np.log(np.array([1.0, 1e-9])), np.log(np.array([0.5, 0.5])), 0.1)),
                               [0.95, 0.05], rtol=1e-5)  # fmt: skip


def test_who_has_left_teaches_the_reader_nothing():
    """Two others that turned out to be after the first of two goals, and after none, the second of them gone."""
    model, none, unused = Reader.make(Seed.of(0), 1, 4), np.zeros((1, 2, 2), np.float32), np.zeros(0)
    about = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    row = Sample(
        unused, unused, unused, np.array([[True, False]]), none == 0, none, about, none, np.array([[0, 1]]),
        np.ones(1, bool), held_OG=none,
    )  # fmt: skip
    loss = quick(lambda row: model.loss(row, (0, 1)))
    gone = float(loss(row))
    assert gone == pytest.approx(float(loss(row._replace(label_O=np.array([[0, -1]])))))
    assert gone != pytest.approx(float(loss(row._replace(acting_O=np.ones((1, 2), bool)))), rel=1e-4)


def test_a_lead_is_over_the_nearest_of_the_rest_to_whom_the_goal_is_open():
    """Steps of three to two goals; the second goal is open to the last one alone, the third to nobody."""
    steps = np.array([[[1.0, 2.0, 0.0], [4.0, 1.0, 0.0], [4.0, 3.0, 0.0]]])
    open_ = np.array([[[True, False, False], [True, False, False], [True, True, False]]])
    ahead = np.asarray(quick(beliefs.lead)(steps, open_))[0]
    np.testing.assert_array_equal(ahead[:, 0], [3.0, -3.0, -3.0])
    assert ahead[2, 1] == FAR
    even = np.asarray(quick(beliefs.lead)(np.ones((1, 2, 1)), np.ones((1, 2, 1), bool)))
    assert not even.any(), "who is as near leads by nothing"


def test_a_reader_begins_with_what_was_done_and_learns_who_comes_first():
    """Two are after two goals, one step and three from each; what they did says nothing. Who is nearer takes it."""
    about, held = np.zeros((1, 2, 2, 1), np.float32), np.log(np.array([[[0.7, 0.3], [0.4, 0.6]]], np.float32))
    steps, lean = np.array([[[1.0, 3.0], [3.0, 1.0]]], np.float32), np.zeros((1, 2, 2), np.float32)
    model, open_ = Reader.make(Seed.of(0), 1, 8), np.ones((1, 2, 2), bool)
    read = quick(lambda model, held: model(about, steps, lean, open_, held))
    np.testing.assert_allclose(np.exp(read(model, held)), np.exp(held), atol=0.02)
    row = Sample(
        lean, lean, lean, np.ones((1, 2), bool), open_, steps, about, lean, np.array([[0, 1]]), np.ones(1, bool),
        held_OG=np.zeros_like(held),
    )  # fmt: skip
    down = quick(jax.grad(lambda model, row: model.loss(row, (0, 1))))
    for _ in range(200):
        model = jax.tree.map(lambda weight, slope: weight - 0.3 * slope, model, down(model, row))
    taken = np.exp(read(model, np.zeros_like(held)))[0]
    assert taken[0, 0] > 0.9 and taken[1, 1] > 0.9


def test_counts_of_earlier_games_are_discounted():
    """c <- 0.9 c + 0.1: a stag, then a hare, give 0.09 and 0.1; 0.81 is not known yet and shared by three kinds."""
    count = np.zeros((1, 1, 3))
    count = remembered(count, np.array([[[True, False, False]]]), KINDS[:-1], 0.9)
    count = remembered(count, np.array([[[False, False, True]]]), KINDS[:-1], 0.9)
    np.testing.assert_allclose(count[0, 0], [0.09, 0.1, 0.0], rtol=1e-5)
    np.testing.assert_allclose(remembered(count, np.zeros((1, 1, 3), bool), KINDS[:-1], 0.9), count)
    np.testing.assert_allclose(np.exp(leaning(count))[0, 0], [0.36, 0.37, 0.27], rtol=1e-5)


def test_a_kind_is_as_likely_as_it_was_and_open_goals_of_a_kind_alike():
    lean = np.log(np.array([[[0.2, 0.6, 0.2]]]))
    np.testing.assert_allclose(shares(alike_within(lean, ALL, KINDS)), [0.2, 0.3, 0.3, 0.2], rtol=1e-5)
    one_hare = np.array([[[True, False, True, True]]])
    np.testing.assert_allclose(shares(alike_within(lean, one_hare, KINDS)), [0.2, 0, 0.6, 0.2], rtol=1e-5)


def test_who_reached_nothing_to_the_end_of_a_game_was_after_nothing():
    begun = with_aimless(believing([0.25] * 4), np.array([True]), KINDS, 0.9)
    np.testing.assert_allclose(begun.count_NOK[0, 0], [0, 0, 0.1], rtol=1e-5)
    for held, start in ((believing([0.25] * 4), False), (believing([0.25] * 4, known=False), True)):
        assert not with_aimless(held, np.array([start]), KINDS, 0.9).count_NOK.any()


def test_where_nothing_is_open_nothing_is_infinite():
    nothing = among(np.zeros((1, 1, 4)), np.zeros((1, 1, 4), bool))
    np.testing.assert_allclose(shares(nothing), [0.25] * 4, rtol=1e-6)
    assert float(among(np.array([0.0, 1.0]), np.array([True, False]))[1]) == NEVER
