"""The whole update of one learner on real rollouts. Coefficients are traced: one compiled update serves all tests."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.learn.batch import Cut, to_rows, unroll
from sparring.learn.config import INHERITED, Knobs, PPOConfig, knobs_at
from sparring.learn.feature_scale import with_statistics
from sparring.learn.learner import trainable
from sparring.learn.objective import judged
from sparring.learn.ppo import update
from sparring.learn.returns import gae
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.config import NetConfig
from toy_games import timetable
from toy_players import driver_of, learners_of, mirror, play, quick

GAME = timetable([[1.0, -1.0, 0.5], [0.0, 2.0, 0.0], [0.5, 0.0, 3.0]], echo=1.0, masks=True, idle=[(1, 0), (1, 1)])
NET = NetConfig(hidden=(8,), normalise=True)
CONFIG = PPOConfig(epochs=2, minibatches=2, recompute_old=True)
KEY = jax.random.key(3)
WORLDS, STEPS = 4, 4
ONE = quick(lambda learner, rollout, key, knobs: update(learner, rollout, key, knobs, CONFIG)[:2])
STACKED = quick(jax.vmap(lambda *inputs: update(*inputs, CONFIG)[:2], in_axes=(0, 1, 0, 0)))


def knobs(**changes: float) -> Knobs:
    plain = Knobs(*knobs_at(PPOConfig(), 0.0))
    changes = {**{name: changes[source] for name, source in INHERITED.items() if source in changes}, **changes}
    return plain._replace(**{name: np.float32(value) for name, value in changes.items()})


@pytest.fixture(scope="module")
def learners():
    """Three, stacked; their players are 4, 5 and 6."""
    return jax.tree.map(np.asarray, learners_of(GAME, NET, [4, 5, 6]))


@pytest.fixture(scope="module")
def rollouts(learners):
    """Leaves [T, L, W, ...]."""
    seating = mirror(GAME, worlds=WORLDS, independent=True)
    (rollout,), _, _ = play(GAME, seating, [driver_of(learners)], steps=STEPS, clock_V=[0, 1, 2, 0])
    return rollout


@pytest.fixture(scope="module")
def learner(learners):
    return row(learners, 0)


@pytest.fixture(scope="module")
def rollout(rollouts):
    return row(rollouts, 0, axis=1)


def row(tree, index: int, axis: int = 0):
    return jax.tree.map(lambda x: x[(slice(None),) * axis + (index,)], tree)


def same(one, other) -> bool:
    """Bit for bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def weights(learner):
    return trainable(learner.model)[0]


def furthest(one, other) -> float:
    """The largest move of a weight."""
    return max(
        float(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0))
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def test_a_learning_rate_of_0_leaves_every_weight_as_it_was_to_the_bit(learner, rollout):
    after, stats = ONE(learner, rollout, KEY, knobs(learning_rate=0.0))
    assert same(weights(after), weights(learner))
    assert after.updates == 4
    assert stats.grad_norm > 0.01


def test_recomputed_probabilities_make_the_first_ratio_exactly_1_whatever_play_had_stored(learner, rollout):
    wrong = rollout._replace(log_prob_TWN=rollout.log_prob_TWN - 3.0)
    _, stats = ONE(learner, wrong, KEY, knobs())
    assert stats.first_ratio_gap == 0.0


@quick
def facts(model, rollout):
    """Advantages, and what the training function makes of the rollout: log-probabilities, entropy."""
    advantage_TWN = gae(
        rollout.reward_TWN, rollout.value_TWN, rollout.next_value_TWN, rollout.over_TWN, rollout.ended_TWN,
        discount=0.99, decay=0.95,
    )  # fmt: skip
    found = unroll(model.actor, model.judge, to_rows(rollout, Cut(STEPS, 1)))
    shape = advantage_TWN.shape
    return advantage_TWN, found.log_prob.reshape(shape), found.entropy.reshape(shape)


def test_before_anything_moves_the_statistics_are_those_of_the_rollout(learner, rollout):
    _, stats = ONE(learner, rollout, KEY, knobs(learning_rate=0.0))
    advantage, log_prob, entropy = (np.asarray(x) for x in facts(learner.model, rollout))
    acting, value = rollout.acting_TWN, rollout.value_TWN
    target = advantage + value
    assert 0 < acting.sum() < acting.size
    assert stats.advantage_std == pytest.approx(advantage[acting].std(), rel=1e-4)
    assert stats.explained_variance == pytest.approx(1 - np.var(target - value) / np.var(target), rel=1e-3)
    assert stats.value_loss == pytest.approx(0.5 * np.mean(advantage**2), rel=1e-4)  # the target minus the value
    assert (stats.approx_kl, stats.clip_fraction, stats.skipped) == (0.0, 0.0, 0.0)
    # The seat is idle in every third step, so minibatches differ in how many act: means of means are only near.
    assert stats.entropy == pytest.approx(entropy[acting].mean(), rel=0.2)
    np.testing.assert_allclose(log_prob[acting], rollout.log_prob_TWN[acting], atol=1e-5)


def test_the_barrier_is_the_mean_distance_from_uniform_choices_over_the_steps_in_which_a_seat_acts(learner, rollout):
    config, now = replace(CONFIG, support=Schedule.parse(0.5)), knobs(support=0.5)

    @quick
    def terms(model, rollout):
        trained, untrained = trainable(model)
        return judged(trained, untrained, to_rows(rollout, Cut(STEPS, 1)), now, None, config)[0]

    legal, log_p, acting = rollout.legal_TWNA, rollout.distribution.log_p_A, rollout.acting_TWN
    assert 0 < acting.sum() < acting.size and not legal.all()
    distance = -np.where(legal, log_p, 0.0).sum(-1) / legal.sum(-1) - np.log(legal.sum(-1))
    assert terms(learner.model, rollout)["support"] == pytest.approx(0.5 * distance[acting].mean(), rel=1e-4)


def test_the_kl_stops_an_iteration_before_the_step_that_would_follow(learner, rollout):
    # The KL of the first minibatch is exactly 0, so one step is taken; the second minibatch is beyond any target, and
    # it and the two after it are left out. The first step of Adam moves no weight by more than the learning rate.
    rate = 0.01
    after, stats = ONE(learner, rollout, KEY, knobs(learning_rate=rate, target_kl=1e-12, adam_eps=1e-8))
    assert stats.skipped == 0.75
    assert after.updates == 1
    clocks = [x for x in jax.tree.leaves(after.optimiser) if x.dtype == np.int32]
    assert [int(x) for x in clocks] == [1, 1]  # of actor and critic
    assert furthest(weights(after), weights(learner)) == pytest.approx(rate, rel=1e-3)


def test_a_stopped_iteration_does_not_go_on_when_a_later_minibatch_has_a_small_kl(learner, rollout):
    # After the first step the KLs of the other minibatches are k2, k3 and k4. The largest target that still stops at
    # the second is k2, found by bisection. With a key that makes k3 + k4 < 2 k2, one of them is below that target.
    def run(key, target: float):
        return ONE(learner, rollout, key, knobs(learning_rate=0.01, target_kl=target))

    for key in jax.random.split(KEY, 20):
        low, high = 1e-12, 1.0
        for _ in range(40):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if run(key, middle)[0].updates == 1 else (low, middle)
        after, stats = run(key, low)
        if 4 * stats.approx_kl - high < 1.9 * low:
            break
    else:
        pytest.fail("no key makes the second minibatch stand out")
    assert after.updates == 1
    assert stats.skipped == 0.75
    assert run(key, high * 1.001)[0].updates > 1


def test_a_kl_target_that_is_not_reached_or_0_stops_nothing(learner, rollout):
    free, stats = ONE(learner, rollout, KEY, knobs(learning_rate=0.01, target_kl=0.0))
    distant, _ = ONE(learner, rollout, KEY, knobs(learning_rate=0.01, target_kl=1e6))
    assert stats.skipped == 0.0
    assert stats.approx_kl > 1e-12
    assert free.updates == 4
    assert same(free, distant)


def test_the_key_decides_how_rows_fall_into_minibatches(learner, rollout):
    one, _ = ONE(learner, rollout, KEY, knobs(learning_rate=0.01))
    again, _ = ONE(learner, rollout, KEY, knobs(learning_rate=0.01))
    other, _ = ONE(learner, rollout, jax.random.key(4), knobs(learning_rate=0.01))
    assert same(one, again)
    assert 1e-5 < furthest(weights(one), weights(other)) < 0.08


def test_where_nobody_acts_the_actor_stays_as_it_is_and_the_critic_learns(learner, rollout):
    idle = rollout._replace(acting_TWN=np.zeros_like(rollout.acting_TWN))
    after, stats = ONE(learner, idle, KEY, knobs(learning_rate=0.01))
    assert same(weights(after).actor, weights(learner).actor)
    assert furthest(weights(after).critic, weights(learner).critic) > 0.01
    assert stats.policy_loss == 0.0


def test_where_nobody_is_present_nothing_is_learned(learner, rollout):
    nobody = np.zeros_like(rollout.acting_TWN)
    after, _ = ONE(learner, rollout._replace(acting_TWN=nobody, present_TWN=nobody), KEY, knobs(learning_rate=0.01))
    assert same(after.model, learner.model)


def test_what_an_absent_seat_would_have_earned_teaches_nothing(learner, rollout):
    # Games over at every step, so that each step stands alone; half of the worlds are absent.
    ends = np.ones_like(rollout.over_TWN)
    here = np.broadcast_to(np.arange(WORLDS)[None, :, None] < 2, ends.shape)
    taught = rollout._replace(over_TWN=ends, ended_TWN=ends, present_TWN=here, acting_TWN=rollout.acting_TWN & here)
    elsewhere = taught._replace(reward_TWN=np.where(here, taught.reward_TWN, 1000.0).astype(np.float32))
    one, _ = ONE(learner, taught, KEY, knobs(learning_rate=0.01))
    other, _ = ONE(learner, elsewhere, KEY, knobs(learning_rate=0.01))
    assert same(one, other)


def test_rewarded_choices_become_likelier_and_values_move_to_their_targets(learner, rollout):
    # Every step is a game of its own, paying 1 for entry 2 and -1 for any other.
    ends = np.ones_like(rollout.over_TWN)
    reward = np.where(rollout.action.discrete_SD[..., 0] == 2, 1.0, -1.0).astype(np.float32)
    lesson = rollout._replace(reward_TWN=reward, over_TWN=ends, ended_TWN=ends)
    after, _ = ONE(learner, lesson, KEY, knobs(learning_rate=0.02, entropy=0.0))

    @quick
    def judged(model):
        distribution, _ = model.actor(rollout.features_TWNF, rollout.legal_TWNA, ())
        value, _ = model.critic(rollout.features_TWNF, ())
        return distribution.log_p_A, ((value - reward) ** 2).mean()

    # Features are put on another scale after the update; the same statistics for both show the weights alone.
    moved = replace_statistics(after.model, learner.model)
    (before_A, before_error), (after_A, after_error) = judged(learner.model), judged(moved)
    open_to_2 = rollout.legal_TWNA[..., 2] & rollout.acting_TWN
    assert (np.asarray(after_A)[open_to_2, 2] > np.asarray(before_A)[open_to_2, 2]).mean() > 0.9
    assert after_error < before_error


def replace_statistics(model, source):
    actor = replace(model.actor, trunk=replace(model.actor.trunk, normaliser=source.actor.trunk.normaliser))
    critic = replace(model.critic, trunk=replace(model.critic.trunk, normaliser=source.critic.trunk.normaliser))
    return replace(model, actor=actor, critic=critic)


def test_statistics_of_observations_count_each_present_step_of_a_rollout_once(learner, rollout):
    here = np.broadcast_to(np.arange(WORLDS)[None, :, None] < 3, rollout.present_TWN.shape)
    partly = rollout._replace(present_TWN=here)
    first, _ = ONE(learner, partly, KEY, knobs(learning_rate=0.5, value_weight=10.0))
    second, _ = ONE(first, partly, KEY, knobs(learning_rate=0.5, value_weight=10.0))
    x = rollout.features_TWNF[here]
    for count, model in ((12, first.model), (24, second.model)):
        for normaliser in (model.actor.trunk.normaliser, model.critic.trunk.normaliser):
            assert normaliser.count == count
            np.testing.assert_allclose(normaliser.mean_F, x.mean(0), rtol=1e-5)
            np.testing.assert_allclose(normaliser.square_F / normaliser.count, x.var(0), rtol=1e-4, atol=1e-6)


def test_a_view_that_seats_share_counts_while_any_of_them_is_present(rollout):
    # One step of three worlds with two seats: both are present, then one, then none.
    model = ActorCritic.make(Seed.of(0), GAME.spec, replace(NET, critic="central"))
    seen = rollout._replace(
        features_TWNF=np.float32([[[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 9, 9]], [[9, 9, 9], [9, 9, 9]]]]),
        views_TWVG=np.float32([[[[1, 10]], [[3, 30]], [[9, 90]]]]),
        present_TWN=np.array([[[True, True], [True, False], [False, False]]]),
    )
    after = quick(with_statistics)(model, seen)
    assert after.actor.trunk.normaliser.count == 3
    np.testing.assert_allclose(after.actor.trunk.normaliser.mean_F, [3, 4, 5], rtol=1e-6)
    assert after.critic.trunk.normaliser.count == 2
    np.testing.assert_allclose(after.critic.trunk.normaliser.mean_F, [2, 20], rtol=1e-6)


@pytest.fixture(scope="module")
def stacked(learners, rollouts):
    """Three learners with learning rates and keys of their own, updated at once."""
    keys, rates = jax.random.split(KEY, 3), np.float32([0.01, 0.003, 0.02])
    every = jax.tree.map(lambda x: np.repeat(x, 3), knobs())._replace(actor_rate=rates, critic_rate=rates)
    inputs = (learners, rollouts, keys, every)
    return inputs, *jax.tree.map(np.asarray, STACKED(*inputs))


def test_learners_updated_at_once_learn_what_each_learns_alone(learners, rollouts, stacked):
    (_, _, keys, every), together, stats = stacked
    for i in range(3):
        alone, own = ONE(row(learners, i), row(rollouts, i, axis=1), keys[i], row(every, i))
        assert furthest(weights(alone), weights(row(learners, i))) > 0.002
        assert furthest(weights(alone), weights(row(together, i))) < 1e-4
        assert stats.value_loss[i] == pytest.approx(own.value_loss.item(), rel=1e-3)


def test_permuting_learners_permutes_what_they_learn_bit_for_bit(stacked):
    (learners, rollouts, keys, every), together, stats = stacked
    order = np.array([2, 0, 1])
    moved = jax.tree.map(lambda x: x[order], (learners, keys, every))
    after, moved_stats = STACKED(moved[0], jax.tree.map(lambda x: x[:, order], rollouts), moved[1], moved[2])
    assert same(after.model, jax.tree.map(lambda x: x[order], together.model))
    assert same(after.optimiser, jax.tree.map(lambda x: x[order], together.optimiser))
    assert same(moved_stats, jax.tree.map(lambda x: x[order], stats))


@pytest.mark.parametrize(("memory", "critic"), [("gru", "local"), ("lstm", "central")])
def test_recomputed_probabilities_of_a_recurrent_policy_make_the_first_ratio_exactly_1(rollout, memory, critic):
    net = NetConfig(hidden=(8,), memory=memory, memory_size=6, critic=critic)
    learner = row(learners_of(GAME, net, [1], gain=500.0), 0)
    kept = tuple(part.initial(2, WORLDS, 1) for part in (learner.model.actor, learner.model.critic))
    rollout = rollout._replace(
        memory=jax.tree.map(lambda x: np.asarray(x) + 0.3, kept),
        views_TWVG=rollout.features_TWNF[..., :2] if critic == "central" else None,
        log_prob_TWN=rollout.log_prob_TWN - 3.0,
    )
    config = replace(CONFIG, epochs=1, sequence=2)
    _, stats, _ = quick(lambda *inputs: update(*inputs, config))(learner, rollout, KEY, knobs(learning_rate=0.01))
    assert stats.first_ratio_gap == 0.0
    assert stats.approx_kl > 0.0  # the second minibatch sees moved weights
