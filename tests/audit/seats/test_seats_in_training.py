"""Training with a stand-in: clean training passes to the last bit, and each fault is found by its level."""

from dataclasses import replace

import jax.numpy as jnp
import pytest
from grab import grab

from sparring.audit.seats import booking, pipeline
from sparring.audit.seats.audit import coefficients
from sparring.audit.seats.static import settings_finding
from sparring.audit.seats.trained import consistency, least_seeds, localised, table_of
from sparring.setup import program
from sparring.setup.build import build
from sparring.setup.config import SeatsConfig


@pytest.fixture(scope="module")
def config(tiny):
    return replace(tiny, game="grab", seats=SeatsConfig(share="seat"))


@pytest.fixture(scope="module")
def clean(config):
    return pipeline.Pipeline.of(config, grab())


@pytest.mark.parametrize("ask", [pipeline.equivariance, pipeline.parity, booking.booking])
def test_our_training_treats_its_learners_alike(clean, ask):
    finding = ask(clean)
    assert finding.outcome == "PASS", finding.evidence


def test_the_ledger_counts_what_was_played_and_learned(clean):
    (first, *others) = pipeline.parity(clean).numbers["ledger"].values()
    # Two iterations of 8 worlds x 16 steps: 2 games of 8 steps in each world; 2 epochs of 2 minibatches.
    assert first["steps"] == 2 * 8 * 16 and first["episodes"] == 2 * 8 * 2 and first["optimiser steps"] == 2 * 2 * 2
    assert all(other == first for other in others)


def test_a_learner_that_is_not_updated_is_named(config, monkeypatch):
    update = program.update

    def skipping(learner, *given, **more):
        after, stats, suspect = update(learner, *given, **more)
        model = pipeline.jax.tree.map(
            lambda new, old: jnp.where(learner.player == 1, old, new), after.model, learner.model
        )
        return after._replace(model=model), stats, suspect

    monkeypatch.setattr(program, "update", skipping)
    finding = pipeline.equivariance(pipeline.Pipeline.of(config, grab()))
    assert finding.outcome == "FAIL" and "seat_1" in finding.meaning


def test_rewards_of_another_world_are_found_though_every_sum_is_right(config, monkeypatch):
    collect = program.collect

    def shifted(*given, **named):
        (rollout, *others), cursor, games = collect(*given, **named)
        reward = rollout.reward_TWN
        rollout = rollout._replace(reward_TWN=reward.at[:, 2].set(jnp.roll(reward[:, 2], 1, axis=1)))
        return (rollout, *others), cursor, games

    monkeypatch.setattr(program, "collect", shifted)
    finding = booking.booking(pipeline.Pipeline.of(config, grab()))
    assert finding.outcome == "FAIL" and "seat_2 was paid" in finding.evidence


def test_choices_and_values_that_are_not_the_learners_own_are_found(clean):
    lived = clean.lived(clean.game)
    (rollout,) = lived.rollouts
    assert max(clean.remembered(lived)[0].ravel()) < booking.SAME
    late = rollout._replace(value_TWN=rollout.value_TWN.at[:, 2].set(rollout.value_TWN[:, 0]))
    gap_L2 = clean.remembered(lived._replace(rollouts=(late,)))[0]
    assert (gap_L2 > booking.SAME).tolist() == [[False, False], [False, False], [False, True]]
    assert booking.misremembered("seat_2", gap_L2[2])[0].startswith("The values that seat_2 learns from are not those")
    unmasked = rollout._replace(legal_TWNA=rollout.legal_TWNA.at[:, 1].set(True))
    assert clean.remembered(lived._replace(rollouts=(unmasked,)))[0][1, 0] > booking.SAME


def test_a_setting_of_one_learner_is_found_before_anything_runs(config):
    built = build(replace(config, each=("learning_rate=3e-4,3.3e-4,3e-4",)), game=grab())
    finding = settings_finding(coefficients(built, grab()), (), foreign=False)
    assert finding.outcome == "FAIL" and "seat_1 0.00033" in finding.evidence
    same = settings_finding(coefficients(build(config, game=grab()), grab()), (), foreign=False)
    assert same.outcome == "PASS" and same.evidence.startswith("3 learners have the same settings")


def lines(table):
    """Metrics of ten iterations whose last two are the table, one row a seed."""
    names = ("a", "b", "c", "d")
    return [
        {"kind": "train", "iteration": i, "seed": seed, "steps": 10 * i}
        | {f"return/{name}": (x if i >= 8 else 0.0) for name, x in zip(names, row, strict=True)}
        for seed, row in enumerate(table)
        for i in range(10)
    ]


def test_three_seeds_in_one_order_are_no_accident_and_one_seed_is():
    names, order = ("a", "b", "c", "d"), [4.0, 3.0, 2.0, 1.0]
    found = consistency(table_of(lines([order] * 3), names), names)
    # Named beforehand: 24^-3; of three tests together, three times that.
    assert found.outcome == "FAIL" and found.numbers["falling_p"] == pytest.approx(3 * 24**-3)
    assert found.numbers["slope"] == pytest.approx(-1.0)
    mixed = consistency(table_of(lines([order, order[::-1], [2.0, 4.0, 1.0, 3.0]]), names), names)
    assert mixed.outcome == "UNDECIDED" and "not shown either" in mixed.meaning
    alone = consistency(table_of(lines([order]), names), names)
    # 3 / 24 is too likely for one seed, 3 / 24^2 is not for two; of two seats, whose orders are two, it takes nine.
    assert alone.outcome == "UNDECIDED" and "2 seeds can" in alone.remedy
    assert least_seeds(4) == 2 and least_seeds(2) == 9


def test_seats_are_alike_only_where_every_difference_lies_within_the_margin():
    random = pipeline.np.random.default_rng(0)
    noise_RS = random.normal(size=(40, 3))
    near, far = consistency(10 + 0.2 * noise_RS, "abc"), consistency(10 + 2.0 * noise_RS, "abc")
    assert near.outcome == "PASS" and near.numbers["apart_at_most"] < 0.05
    assert far.outcome == "UNDECIDED" and far.numbers["seeds_needed"] > 40


def test_the_rung_with_which_the_order_goes_is_named():
    falling = pipeline.np.asarray([[4.0, 3.0, 2.0, 1.0], [4.1, 3.0, 2.0, 0.9], [4.0, 3.1, 1.9, 1.0]])
    level = pipeline.np.asarray([[2.0, 2.1, 2.0, 2.1], [2.1, 2.0, 2.1, 2.0], [2.0, 2.0, 2.1, 2.0]])
    found = localised({"as configured": falling, "no imagination": level, "shared": level}, "shared")
    assert found.numbers["culprit"] == "imagination"
    found = localised({"as configured": falling, "no imagination": falling, "shared": falling}, "shared")
    assert found.numbers["culprit"] == "the game or the books"
    assert localised({"as configured": level, "shared": level}, "shared").outcome == "PASS"
