"""Minibatches that are not finite, critics that learn alone, penalties that adapt: what happens between the epochs."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.learn.batch import Cut, to_rows, unroll
from sparring.learn.config import INHERITED, Knobs, PPOConfig, knobs_at
from sparring.learn.learner import behaviour, ready, trainable
from sparring.learn.ppo import update, with_rewards
from sparring.learn.returns import gae
from sparring.nets.config import NetConfig
from sparring.nets.exploring import Exploring
from toy_games import timetable
from toy_players import driver_of, learners_of, mirror, play, quick

GAME = timetable([[1.0, -1.0], [0.0, 2.0], [0.5, 0.0]], echo=1.0)
NET = NetConfig(hidden=(8,))
PLAIN = PPOConfig(epochs=2, minibatches=2)
KEY = jax.random.key(3)
WORLDS, STEPS = 4, 4


def knobs(config: PPOConfig, **changes: float) -> Knobs:
    plain = Knobs(*knobs_at(config, 0.0))
    changes = {**{name: changes[source] for name, source in INHERITED.items() if source in changes}, **changes}
    return plain._replace(**{name: np.float32(value) for name, value in changes.items()})


def first(tree, axis: int = 0):
    return jax.tree.map(lambda x: x[(slice(None),) * axis + (0,)], tree)


@cache
def learner_of(config: PPOConfig, net: NetConfig = NET):
    return first(learners_of(GAME, net, [4], ppo=config, worlds=2 * WORLDS))


@cache
def played(net: NetConfig = NET, sequence: int | None = None):
    """One learner's rollout: it drives both sides, so it has twice the worlds."""
    learners = learners_of(GAME, net, [4])
    (rollout,), _, _ = play(
        GAME, mirror(GAME, worlds=WORLDS), [driver_of(learners)], steps=STEPS, clock_V=[0, 1, 2, 0], sequence=sequence
    )
    return first(rollout, axis=1)


@pytest.fixture(scope="module")
def rollout():
    return played()


@cache
def program_of(config: PPOConfig) -> Callable:
    return quick(lambda *inputs: update(*inputs, config))


def updated(config: PPOConfig, learner, rollout, **changes: float):
    return program_of(config)(learner, rollout, KEY, knobs(config, **changes))


def differing(one, other, tolerance: float = 0.0) -> set[str]:
    """Top parts of a model (actor.head and so on) whose weights differ; two programs round differently."""
    alike = jax.tree.map(lambda a, b: bool((np.abs(np.asarray(a) - np.asarray(b)) <= tolerance).all()), one, other)
    leaves = jax.tree_util.tree_flatten_with_path(alike)[0]
    names = (jax.tree_util.keystr(path, simple=True, separator=".") for path, same in leaves if not same)
    return {".".join(name.split(".")[:2]) for name in names}


def spoiled(rollout, world: int):
    """An infinite feature in every step of one world."""
    features = np.array(rollout.features_TWNF)
    features[:, world] = np.inf
    return rollout._replace(features_TWNF=features)


def test_a_minibatch_that_is_not_finite_is_left_out_and_handed_back(rollout):
    learner = learner_of(PLAIN)
    after, stats, suspect = updated(PLAIN, learner, spoiled(rollout, 0))
    # 4 steps x 8 worlds = 32 rows in 2 minibatches: each holds some of the 4 bad rows with near certainty.
    assert stats.bad_minibatches == 4
    assert not np.isfinite(suspect.features).all()
    assert suspect.features.shape[0] == 16
    assert differing(after.model, learner.model) == set()
    assert after.updates == 0
    assert jax.tree.all(jax.tree.map(np.array_equal, after.optimiser, learner.optimiser))


def test_a_rollout_that_is_not_finite_spoils_no_statistics(rollout):
    config = replace(PLAIN, reward_scale=True, value_norm="popart", calm_critic=True, loss="kl")
    learner = learner_of(config, replace(NET, normalise=True))
    reward = np.array(rollout.reward_TWN)
    reward[0, 0] = np.nan
    after, stats, _ = updated(config, learner, spoiled(rollout, 0)._replace(reward_TWN=reward))
    assert stats.bad_minibatches > 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after._replace(player=0)))
    sound, stats, _ = updated(config, after, rollout)
    assert stats.bad_minibatches == 0
    assert sound.reward.statistics.count > 0


def test_a_first_reward_whose_square_is_no_number_leaves_the_scale_of_rewards_as_it_was(rollout):
    config = replace(PLAIN, reward_scale=True)
    learner = learner_of(config)
    reward = np.array(rollout.reward_TWN)
    reward[0, 0] = 3e19
    plain, _ = with_rewards(learner, rollout._replace(reward_TWN=reward), knobs(config), config)
    assert plain.reward.statistics.count == 0
    sound, _ = with_rewards(learner, rollout, knobs(config), config)
    assert sound.reward.statistics.count == rollout.present_TWN.sum()


def test_the_minibatches_that_are_finite_still_teach(rollout):
    whole = replace(PLAIN, minibatches=16)  # 2 rows each: at most 4 of 16 hold a bad one
    learner = learner_of(whole)
    after, stats, suspect = updated(whole, learner, spoiled(rollout, 0))
    assert 4 <= stats.bad_minibatches <= 8
    assert after.updates == 32 - stats.bad_minibatches
    assert differing(after.model, learner.model) == {"actor.head", "actor.trunk", "critic.head", "critic.trunk"}
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.model))
    assert np.isinf(suspect.features).any()


def test_a_step_out_of_all_bounds_is_not_taken(rollout):
    learner = learner_of(PLAIN)
    after, stats, _ = updated(PLAIN, learner, rollout, learning_rate=1e38, adam_eps=1e-30)
    assert stats.bad_minibatches > 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.model))


def test_in_sound_minibatches_nothing_is_counted(rollout):
    _, stats, _ = updated(PLAIN, learner_of(PLAIN), rollout)
    assert stats.bad_minibatches == 0


@pytest.mark.parametrize("trunk", ["separate", "shared"])
def test_in_its_own_epochs_the_critic_moves_alone(rollout, trunk):
    net, alone = replace(NET, trunk=trunk), replace(PLAIN, epochs=1, minibatches=1, critic_epochs=3)
    learner = learner_of(alone, net)
    both, _, _ = updated(replace(alone, critic_epochs=0), learner, rollout)
    after, _, _ = updated(alone, learner, rollout)
    own = {"critic.head", "critic.trunk"} if trunk == "separate" else {"critic.head"}
    assert differing(after.model, both.model, tolerance=1e-6) == own
    assert after.updates == both.updates + 3


def test_extra_critic_epochs_bring_values_nearer_to_their_targets(rollout):
    errors = []
    for extra in (0, 20):
        config = replace(PLAIN, critic_epochs=extra)
        after, _, _ = updated(config, learner_of(config), rollout, critic_rate=0.01)
        _, stats, _ = updated(PLAIN, after, rollout, learning_rate=0.0)
        errors.append(float(stats.value_loss))
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize(("low", "high", "weight"), [(1e-9, 1e-8, 2.0), (1e3, 1e4, 0.5), (1e-9, 1e4, 1.0)])
def test_the_penalty_doubles_above_its_band_halves_below_and_stays_within(rollout, low, high, weight):
    config = replace(PLAIN, loss="kl")
    after, stats, _ = updated(config, learner_of(config), rollout, learning_rate=0.01, kl_min=low, kl_max=high)
    assert stats.exact_kl > 1e-6
    assert after.kl_weight == weight
    assert stats.kl_weight == weight


def test_a_larger_penalty_keeps_the_policy_nearer(rollout):
    kls = []
    for weight in (0.01, 100.0):
        config = replace(PLAIN, loss="kl", kl_weight=weight, epochs=8, entropy=Schedule.parse(0.0))
        _, stats, _ = updated(config, learner_of(config), rollout, learning_rate=0.01)
        kls.append(float(stats.exact_kl))
    assert kls[1] < 0.5 * kls[0]


def test_minibatches_scale_their_own_advantages(rollout):
    config = replace(PLAIN, normalise_advantage="minibatch")
    _, stats, _ = updated(config, learner_of(config), rollout, learning_rate=0.0)
    _, whole, _ = updated(PLAIN, learner_of(PLAIN), rollout, learning_rate=0.0)
    assert stats.policy_loss == pytest.approx(0.0, abs=1e-5)  # ratios of 1 and advantages of mean 0 in each
    assert whole.policy_loss == pytest.approx(0.0, abs=1e-5)
    assert stats.advantage_std != whole.advantage_std


def test_renewed_every_epoch_the_first_estimate_is_that_of_the_rollout(rollout):
    # With nothing moving, the critic that is asked again says the same, and ratios are 1.
    plain = updated(PLAIN, learner_of(PLAIN), rollout, learning_rate=0.0)[1]
    for changes in ({"recompute": "epoch"}, {"advantage": "vtrace"}):
        config = replace(PLAIN, **changes)
        _, stats, _ = updated(config, learner_of(config), rollout, learning_rate=0.0)
        assert stats.value_loss == pytest.approx(float(plain.value_loss), rel=1e-4)
        assert stats.advantage_std == pytest.approx(float(plain.advantage_std), rel=1e-4)


def test_renewed_estimates_speak_one_unit_where_the_scale_of_values_moved(rollout):
    # The head is unmoved and its units are not, so every value is now moved(v), also those behind the last step.
    config = replace(PLAIN, value_norm="running", recompute="epoch", value_norm_rate=Schedule.parse(1.0))
    far = rollout._replace(reward_TWN=50 + rollout.reward_TWN)
    after, stats, _ = updated(config, learner_of(config), far, learning_rate=0.0)
    moved = after.model.critic.scale.real  # before, statistics were empty: units of reward
    advantage = gae(
        far.reward_TWN, moved(far.value_TWN), moved(far.next_value_TWN), far.over_TWN, far.ended_TWN,
        discount=0.99, decay=0.95,
    )  # fmt: skip
    assert stats.advantage_mean == pytest.approx(float(advantage.mean()), rel=1e-3)
    assert stats.advantage_std == pytest.approx(float(advantage.std()), rel=1e-3)


def test_renewed_every_epoch_targets_follow_the_critic(rollout):
    once, anew = PLAIN, replace(PLAIN, recompute="epoch")
    stats = [updated(c, learner_of(c), rollout, learning_rate=0.02)[1] for c in (once, anew)]
    assert abs(stats[0].value_loss - stats[1].value_loss) > 1e-3 * stats[0].value_loss


def test_values_are_learned_in_units_of_their_spread(rollout):
    far = rollout._replace(reward_TWN=1000 * rollout.reward_TWN)
    config = replace(PLAIN, value_norm="popart", value_norm_rate=Schedule.parse(1.0))
    _, raw, _ = updated(PLAIN, learner_of(PLAIN), far)
    after, scaled, _ = updated(config, learner_of(config), far)
    assert raw.value_loss > 1e5
    assert scaled.value_loss < 3.0
    assert after.model.critic.scale.std > 300
    assert after.model.critic.scale.weight == 1.0


@pytest.mark.parametrize("value_norm", ["none", "running", "popart"])
def test_old_values_are_in_the_units_in_which_the_critic_now_speaks(rollout, value_norm):
    # Nothing moves, so the critic stands on its old values, and the tightest clip finds nothing to hold.
    config = replace(PLAIN, value_norm=value_norm)
    clipped = replace(config, value_clip=Schedule.parse(1e-3))
    losses = [updated(c, learner_of(c), rollout, learning_rate=0.0)[1].value_loss for c in (config, clipped)]
    assert losses[1] == pytest.approx(float(losses[0]), rel=1e-4)


def test_statistics_of_values_are_the_same_in_all_epochs_of_an_iteration(rollout):
    scales = []
    for epochs in (1, 3):
        config = replace(PLAIN, value_norm="running", epochs=epochs)
        scales.append(updated(config, learner_of(config), rollout)[0].model.critic.scale)
    assert jax.tree.all(jax.tree.map(np.array_equal, *scales))


def test_a_fixed_deviation_is_set_before_play_and_never_learned():
    game = timetable([[1.0]], action=GAME.spec.action.__class__(low=(-1.0,), high=(1.0,)))
    learner = first(learners_of(game, replace(NET, std="fixed"), [4]))
    set_to = ready(learner, KEY, knobs(PLAIN, fixed_std=0.25))
    np.testing.assert_allclose(np.exp(set_to.model.actor.log_std_C.value), 0.25, rtol=1e-6)
    assert trainable(set_to.model)[0].actor.log_std_C.value is None


def test_noise_for_the_critic_is_new_each_time_and_the_players_own():
    config = replace(PLAIN, value_noise=Schedule.parse(2.0))
    learner = first(learners_of(GAME, NET, [4], ppo=config, seats=300))

    def drawn(learner, key):
        return np.asarray(ready(learner, key, knobs(config)).model.critic.noise_NZ.value)

    one = drawn(learner, KEY)
    assert one.std() == pytest.approx(2.0, rel=0.05)
    assert not np.array_equal(one, drawn(learner, jax.random.key(9)))
    assert not np.array_equal(one, drawn(learner._replace(player=jnp.uint32(5)), KEY))


def test_exploration_is_part_of_the_policy_only_where_it_is_on():
    actor = learner_of(PLAIN).model.actor
    assert behaviour(actor, knobs(PLAIN), PLAIN) is actor
    warm = replace(PLAIN, temperature=Schedule.parse("2 -> 1"))
    policy = behaviour(actor, knobs(warm), warm)
    assert isinstance(policy, Exploring)
    assert (policy.temperature, policy.epsilon) == (2.0, None)


GRU = replace(NET, memory="gru", memory_size=6)


def test_a_burn_in_repeats_the_steps_before_a_sequence_and_nothing_before_the_first():
    # Memory kept every step; sequences of 2 with 1 step before each. Rows: (nothing, 0, 1) and (1, 2, 3) of each world.
    rollout = played(GRU, sequence=1)
    cut = Cut(STEPS, 2, 1)
    batch = quick(lambda r: to_rows(r, cut))(rollout)
    rows = np.asarray(batch.features[..., 0, 0])
    clock = np.asarray(rollout.features_TWNF[:, 0, 0, 0])
    np.testing.assert_array_equal(rows[0], [0.0, *clock[:2]])
    np.testing.assert_array_equal(rows[2 * WORLDS], clock[1:])
    np.testing.assert_array_equal(batch.warm[0], [True, False, False])
    assert np.asarray(batch.hold[: 2 * WORLDS, 0]).all()
    assert not np.asarray(batch.hold[2 * WORLDS :]).any()
    assert not np.asarray(batch.acting[:, 0]).any()
    np.testing.assert_array_equal(cut.in_time(batch.features), rollout.features_TWNF)


def test_with_the_weights_that_played_a_burn_in_changes_no_probability():
    rollout = played(GRU, sequence=1)
    model = first(learners_of(GAME, GRU, [4])).model
    cut = Cut(STEPS, 2, 1)
    found = quick(lambda r: unroll(model.actor, model.judge, to_rows(r, cut)))(rollout)
    np.testing.assert_allclose(cut.in_time(found.log_prob), rollout.log_prob_TWN, atol=1e-5)
    np.testing.assert_allclose(cut.in_time(found.value), rollout.value_TWN, atol=1e-5)


def test_with_other_weights_a_burn_in_renews_the_memory_of_later_sequences_only():
    rollout = played(GRU, sequence=1)
    model = first(learners_of(GAME, GRU, [7])).model
    kept = rollout._replace(memory=jax.tree.map(lambda x: x[::2], rollout.memory))

    def value_of(rollout, cut: Cut) -> np.ndarray:
        return quick(lambda r: cut.in_time(unroll(model.actor, model.judge, to_rows(r, cut)).value))(rollout)

    gap = np.abs(value_of(rollout, Cut(STEPS, 2, 1)) - value_of(kept, Cut(STEPS, 2))).max(axis=(1, 2))
    assert (gap[:2] < 1e-6).all()
    assert (gap[2:] > 1e-4).all()


def test_no_gradient_flows_through_a_burn_in():
    model = first(learners_of(GAME, GRU, [7])).model
    batch = to_rows(played(GRU, sequence=1), Cut(STEPS, 2, 1))

    def learned_from(features):
        return unroll(model.actor, model.judge, batch._replace(features=features)).value[:, 1:].sum()

    slope = np.abs(quick(jax.grad(learned_from))(batch.features)).max(axis=(0, 2, 3))
    assert slope[0] == 0
    assert (slope[1:] > 0).all()
