"""Learning with generated weights: with them held still it is plain MAPPO, each term acts, and what is told is so."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.learn.batch import jump_of
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.groups import HEADS, SEPARATE, clipping, labels
from sparring.learn.learner import trainable
from sparring.learn.losses import nearest_mean
from sparring.nets.actor_critic import ActorCritic
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import EvalConfig, RunConfig, SeatsConfig
from sparring.setup.memory import available_bytes, estimate
from sparring.setup.named_arrays import from_arrays, to_arrays
from sparring.training.notices import hyper_remarks
from sparring.training.warm_start import read_model

schedule = Schedule.parse
EVERYTHING: dict[str, Any] = {
    "hyper_rate": schedule(1e-2), "smooth": schedule(1.0), "align_old": schedule(0.05), "past_kl": schedule(0.1),
    "past_policies": 2, "anchor": schedule(0.05), "shadow_tau": schedule(1.0), "shadow_every": 2,
}  # fmt: skip


def generated(tiny: RunConfig, **ppo: Any) -> RunConfig:
    return replace(tiny, net=replace(tiny.net, hyper="residual", hyper_size=4), ppo=replace(tiny.ppo, **ppo))


def trained(built: Built, program: Callable, iterations: int) -> tuple[Any, list[Any]]:
    state, told = first_state(built), []
    for iteration in range(iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, report = program(
            built.game, state, built.rosters, built.standing, knobs, jnp.asarray(built.seeds_R), jnp.asarray(iteration)
        )
        told.append(jax.tree.map(lambda x: float(x[0, 0]), report.stats[0]))
    return state, told


@pytest.fixture(scope="module")
def moving(tiny, program):
    """Three iterations with every term on."""
    built, run = program(generated(tiny, **EVERYTHING))
    return trained(built, run, 3)


def test_a_hypernetwork_that_is_held_still_leaves_plain_learning(tiny, program):
    built, run = program(tiny)
    plain, _ = trained(built, run, 3)
    built, run = program(generated(tiny))
    still = build(generated(tiny, hyper_rate=schedule(0.0)))
    frozen, told = trained(still, run, 3)
    model = frozen.learners[0].model
    same = eqx.tree_at(lambda m: m.actor.hyper, model, None)
    for a, b in zip(jax.tree.leaves(plain.learners[0].model), jax.tree.leaves(same), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert [stats.hyper["size"] for stats in told] == [0.0] * 3
    learned, told = trained(built, run, 3)
    assert told[-1].hyper["size"] > 0 and not any(name.startswith("share/") for name in told[-1].hyper)
    assert not np.array_equal(learned.learners[0].model.actor.head.bias_O, model.actor.head.bias_O)


def test_what_played_is_what_is_trained(moving):
    assert max(stats.first_ratio_gap for stats in moving[1]) < 1e-5


def test_every_term_is_there_and_pulls(moving):
    _, told = moving
    last = told[-1]
    assert last.smooth > 0 and last.past_kl > 0 and last.anchor_kl > 0
    shares = {name: share for name, share in last.hyper.items() if name.startswith("share/")}
    assert set(shares) == {f"share/{n}" for n in ("policy", "anchor", "smooth", "align_old", "past_kl")}
    assert min(shares.values()) > 0
    np.testing.assert_allclose(sum(shares.values()), 1.0, rtol=1e-5)
    assert 0 < last.hyper["over_time"] < last.hyper["over_contexts"] <= last.hyper["size"]
    assert last.hyper["gradient"] > 0 and 0 < last.hyper["over_seats"] < last.hyper["over_contexts"]


def test_a_target_is_a_copy_that_stands_still_and_the_past_are_the_policies_that_played(moving):
    """After three iterations the copy is that after the second; the newest of the past played the third."""
    (learner,) = moving[0].learners
    newest, second = (jax.tree.map(lambda x, i=i: x[:, :, i], learner.past) for i in (0, 1))
    for a, b in zip(jax.tree.leaves(newest), jax.tree.leaves(learner.shadow), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert float(np.abs(newest.head.weight_IO - second.head.weight_IO).max()) > 1e-5


def test_the_change_of_weights_is_the_mean_square_of_all_that_is_generated(tiny):
    """By the small matrices, and by making all weights of two steps."""
    spec, rng = build(tiny).game.spec, np.random.default_rng(1)
    actor = ActorCritic.make(Seed.of(1), spec, generated(tiny).net).actor
    shaken = jax.tree.map(lambda x: np.float32(np.asarray(x) + rng.normal(size=x.shape)), actor.hyper)
    actor = eqx.tree_at(lambda a: a.hyper, actor, shaken)
    features = jnp.asarray(rng.normal(size=(2, spec.seats, spec.features)), jnp.float32)
    traits, legal = (
        jax.jit(lambda x, memory: actor.traits(x, memory)),
        np.ones((2, spec.seats, spec.action.entries), bool),
    )
    first, _ = traits(features, actor.initial(2, spec.seats))
    memory = jax.jit(lambda x, memory: actor(x, legal, memory)[1])(features, actor.initial(2, spec.seats))
    now, before = traits(features + 1, memory)
    np.testing.assert_allclose(before[-1], first[-1], atol=1e-6)  # what was generated then
    changed = zip(shaken.gated, now, before, strict=True)
    moved = [np.asarray(c.weights(a) - c.weights(b)).reshape(2, spec.seats, -1) for c, a, b in changed]
    expected = (np.concatenate(moved, axis=-1) ** 2).mean(-1)
    found = jax.jit(lambda x, memory: jump_of(actor, x, memory))(features + 1, memory)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_steps_are_compared_within_a_game_alone(tiny):
    """A row that begins a game has no step before it: whatever its memory holds, the term does not count it."""
    from sparring.learn.objective import judged

    built = build(generated(tiny, smooth=schedule(1.0)))
    batch, model, knobs = rows_of(built)
    trained_part, rest = trainable(model)
    smooth = jax.jit(lambda batch: judged(trained_part, rest, batch, knobs, None, built.plan.ppo)[1].smooth)
    starting = batch._replace(start=jnp.ones_like(batch.start))
    assert float(smooth(batch)) > 0 and float(smooth(starting)) == 0.0


def rows_of(built: Built) -> tuple[Any, Any, Any]:
    """Rows of one rollout, and a model whose hypernetwork generates something."""
    from sparring.learn.batch import to_rows
    from sparring.learn.ppo import cut_of
    from sparring.play.collect import collect
    from sparring.setup.program import seat_players

    state = jax.tree.map(lambda x: x[0], first_state(built))
    knobs = tuple(map(jnp.asarray, built.knobs(0)))
    orders = jax.tree.map(lambda x: x[0], built.standing)

    def play(state: Any) -> Any:
        drivers = seat_players(built.plan, state.learners, None, {}, orders, knobs)
        (rollout,), *_ = collect(
            built.game, built.plan.seating, drivers, state.cursor, jax.random.key(0), steps=4, sequence=built.plan.keep
        )
        rollout = jax.tree.map(lambda x: x[:, 0], rollout)
        return to_rows(rollout, cut_of(rollout, built.plan.ppo))

    rng = np.random.default_rng(2)
    model = jax.tree.map(lambda x: x[0], state.learners[0].model)
    shaken = jax.tree.map(lambda x: np.float32(np.asarray(x) + rng.normal(size=x.shape)), model.actor.hyper)
    plain = Knobs(*knobs_at(built.plan.ppo, 0.0))
    return jax.jit(play)(state), eqx.tree_at(lambda m: m.actor.hyper, model, shaken), plain


def test_past_policies_count_by_their_nearness():
    """KLs of 0 and 1 with temperature 1: weights e / (e + 1) and 1 / (e + 1), so the mean is 1 / (e + 1)."""
    kl_MHN = jnp.array([[[0.0, 5.0], [1.0, 7.0]]])
    acting_MN = jnp.array([[True, False]])
    np.testing.assert_allclose(nearest_mean(kl_MHN, acting_MN, jnp.ones(())), 1 / (np.e + 1), rtol=1e-6)
    slope = jax.grad(lambda kl: nearest_mean(kl, acting_MN, jnp.ones(())))(kl_MHN)
    np.testing.assert_allclose(slope[0, :, 0], [np.e / (np.e + 1), 1 / (np.e + 1)], rtol=1e-6)


def test_weights_of_a_hypernetwork_in_no_group_are_refused(tiny):
    model = ActorCritic.make(Seed.of(1), build(tiny).game.spec, replace(generated(tiny).net, hyper_critic=True))
    found = labels(trainable(model)[0])
    assert set(jax.tree.leaves(found.actor.hyper)) == set(jax.tree.leaves(found.critic.hyper)) == {"hyper"}
    assert set(jax.tree.leaves(found.actor.trunk)) == {"actor"}
    without = tuple(row for row in SEPARATE if row[0] != "hyper")
    with pytest.raises(ConfigError, match=r"actor\.hyper\..* belongs to none"):
        labels(trainable(model)[0], without)
    assert set(HEADS) < set(SEPARATE)


def test_a_hypernetwork_has_a_clip_of_its_own_and_never_shortens_the_steps_of_others():
    """Lengths 5 and 100: cut to 1 and 0.5, each by itself."""
    gradient = {"actor": jnp.array([3.0, 4.0]), "hyper": jnp.array([100.0, 0.0])}
    knobs = Knobs(*knobs_at(PPOConfig(), 0.0))._replace(max_grad_norm=1.0, hyper_max_grad_norm=0.5)
    rule = clipping(PPOConfig(), knobs, {name: name for name in gradient})
    step: Any = rule.update(gradient, rule.init(gradient))[0]
    np.testing.assert_allclose(step["actor"], [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(optax.global_norm(step["hyper"]), 0.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("net", "ppo", "words"),
    [
        ({"hyper_sees": "nothing"}, {"smooth": schedule(0.1)}, "never do: it would always be 0"),
        ({"hyper_history": 0}, {"smooth": schedule(0.1)}, "which hyper_history=0 does not remember"),
        ({"hyper": "none"}, {"smooth": schedule(0.1)}, "smooth=0.1 would do nothing: it needs a hypernetwork"),
        ({}, {"align_old": schedule(0.1), "epochs": 1, "minibatches": 1}, "its gradient would always be 0"),
        ({}, {"behaviour": "shadow"}, "behaviour=shadow lets the shadow play: it needs one"),
        ({"hyper_critic": True}, {"value_norm": "popart"}, "popart corrects the critic's output layer"),
    ],
)
def test_a_term_that_could_not_act_is_refused_with_the_reason(tiny, net, ppo, words):
    config = generated(tiny, **ppo)
    if net.get("hyper") == "none":
        net |= {"hyper_size": tiny.net.hyper_size}
    with pytest.raises(ConfigError, match=words):
        build(replace(config, net=replace(config.net, **net)))


def test_weights_by_seat_need_two_seats(tiny):
    config = generated(tiny)
    apart = replace(config, net=replace(config.net, hyper_sees="nothing"), seats=SeatsConfig(share="seat"))
    with pytest.raises(ConfigError, match="drives one seat: they would never differ"):
        build(apart)


def test_what_does_not_fit_is_refused_with_an_estimate_before_anything_is_compiled(tiny):
    config = replace(generated(tiny), evaluation=EvalConfig(eval_games=0))
    small = estimate(build(tiny).game, config)["updates"]
    huge = replace(config, net=replace(config.net, hyper_layers="all", hyper_size=512, hidden=(2048,)))
    assert estimate(build(tiny).game, huge)["updates"] > 100 * small
    worlds = int(available_bytes() / 1e5) // 4 * 4
    with pytest.raises(ConfigError, match=r"This run would need about .* GB of memory .*updates .*--hyper-layers last"):
        build(replace(huge, play=replace(tiny.play, worlds=worlds)))


def test_a_hypernetwork_that_does_nothing_or_too_much_is_told():
    kinds = lambda *found: [kind for kind, _ in hyper_remarks(*found)]  # noqa: E731
    ppo = PPOConfig()
    assert kinds(1, ppo, 0.0, 0.0) == [] and kinds(2, ppo, 0.0, 0.0) == ["hyper_dead"]
    assert kinds(2, replace(ppo, hyper_rate=schedule(0.0)), 0.0, 0.0) == []
    assert kinds(100, ppo, 0.1, 1e-4) == ["hyper_ignored"] and kinds(99, ppo, 0.1, 1e-4) == []
    assert kinds(5, ppo, 1.5, 1.0) == ["hyper_large"]


def test_a_plain_policy_becomes_the_base_of_generated_ones(tiny):
    """What a plain run learned is taken over to the bit; the hypernetwork that it has not begins at 0."""
    spec, config = build(tiny).game.spec, generated(tiny)
    plain = ActorCritic.make(Seed.of(3), spec, tiny.net)
    fresh: Any = ActorCritic.make(Seed.of(4), spec, config.net)
    there = {f"model.{name}": array for name, array in to_arrays(plain).items()}

    def read(tree: Any, place: str) -> Any:
        return from_arrays(tree, there, source="a run", rename=lambda name: f"{place}.{name}")

    found = read_model(fresh, there, read)
    np.testing.assert_array_equal(found.actor.head.weight_IO, plain.actor.head.weight_IO)
    context: Any = found.actor.hyper
    np.testing.assert_array_equal(context.context.joined.weight_IO, fresh.actor.hyper.context.joined.weight_IO)
    there |= {f"model.{name}": array + 1 for name, array in to_arrays(fresh).items() if "hyper" in name}
    np.testing.assert_array_equal(read_model(fresh, there, read).actor.hyper.gate_L, 2.0)
