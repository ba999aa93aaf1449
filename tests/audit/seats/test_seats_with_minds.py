"""Minds that favour a seat: clean ones pass, and each way to break the mind of one learner is found by its level."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.audit.seats import booking, pipeline
from sparring.games.registry import make
from sparring.opponent_models.mind import mind_in

GAME = make("stag_hunt", size=4, hunters=3, hares=2, walls=0, steps=6)


@pytest.fixture(scope="module")
def clean(hunters):
    return pipeline.Pipeline.of(hunters, GAME)


@pytest.fixture(scope="module")
def lived(clean):
    return clean.lived(clean.game)


def test_hunters_who_believe_imagine_and_are_paid_for_influence_are_treated_alike(clean):
    for ask in (pipeline.equivariance, partial(pipeline.parity, iterations=1), booking.booking):
        finding = ask(clean)
        assert finding.outcome == "PASS", finding.evidence


def broken(lived, **changes):
    """The same iteration, with something else in the rollouts."""
    (rollout,) = lived.rollouts
    return lived._replace(rollouts=(rollout._replace(**changes),))


def test_what_a_learner_was_told_shown_or_goes_on_from_is_found_where_it_is_anothers(clean, lived):
    (rollout,) = lived.rollouts
    others, thought, branch = rollout.others, rollout.thought, rollout.branch
    assert not booking.misthought(clean, lived) and not booking.misseen(clean, lived)

    unheard = broken(lived, thought=thought._replace(said_NM=thought.said_NM.at[:, 1].set(0.0)))
    (told,) = booking.misthought(clean, unheard)
    assert told.startswith("What hunter_1 was told")

    elsewhere = jax.tree.map(lambda x: x.at[:, 2].set(jnp.roll(x[:, 2], 1, axis=1)), branch.minds)
    (began,) = booking.misthought(clean, broken(lived, branch=branch._replace(minds=elsewhere)))
    assert began.startswith("Moments from which hunter_2 goes on")
    (began,) = booking.misthought(clean, broken(lived, branch=branch._replace(seat=branch.seat.at[:, 0].set(1))))
    assert began.startswith("Moments from which hunter_0 goes on")

    late = others._replace(discrete=others.discrete.at[:, 0].set(jnp.roll(others.discrete[:, 0], 1, axis=0)))
    (shown,) = booking.misseen(clean, broken(lived, others=late))
    assert shown.startswith("The choices of hunter_") and "that hunter_0 is shown" in shown


def kept_of_1(new, old):
    return np.concatenate([new[:1], old[1:2], new[2:]])


def test_a_mind_that_is_not_fitted_is_named_and_so_is_a_buffer_that_nothing_enters(clean, monkeypatch):
    taught = pipeline.Pipeline.taught

    def skipping(self, lived, iteration, order_L=None):
        ((after, stats),) = taught(self, lived, iteration, order_L)
        order = np.arange(3) if order_L is None else order_L[0]
        before = jax.tree.map(lambda x: np.asarray(x)[order], lived.learners[0])
        mind, study = jax.tree.map(kept_of_1, (mind_in(after), after.study), (mind_in(before), before.study))
        model = eqx.tree_at(lambda model: model.actor.mind, after.model, mind)
        return [(after._replace(model=model, study=study), stats)]

    monkeypatch.setattr(pipeline.Pipeline, "taught", skipping)
    fitted, counted = pipeline.equivariance(clean), pipeline.parity(clean, iterations=1)
    assert fitted.outcome == "FAIL" and "hunter_1" in fitted.meaning
    assert counted.outcome == "FAIL" and "what its mind is fitted on" in counted.evidence
