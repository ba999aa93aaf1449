"""Every weight in one group, and the steps of the groups worked out by hand."""

from dataclasses import replace
from functools import cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.groups import GROUPS, SEPARATE, at_rollout, group_norms, labels, muon, only, optimiser
from sparring.learn.learner import trainable
from sparring.nets.actor_critic import ActorCritic, NetConfig
from toy_players import quick

SPEC = GameSpec(
    seats=1,
    side_of_seat=(0,),
    action=ActionSpec(heads=(2,), low=(-1.0,), high=(1.0,)),
    layout=(Feature("all", (3,)),),
    central=Central("world", 3),
    longest=5,
)
PLAIN, MUON, BY_GROUP = PPOConfig(), PPOConfig(optimiser="muon"), PPOConfig(clip_groups=True)
ALL = tuple(GROUPS)
GRADIENT = {"actor": jnp.array([3.0, 4.0]), "critic": jnp.array([0.0, -2.0]), "trunk": jnp.array([1.0])}
"""Lengths 5, 2 and 1; 30 ** 0.5 together."""
OWN = {name: name for name in GRADIENT}
"""Its labels."""
STRAIGHT = {f"{name}_{kind}": 1e6 for name in ("actor", "critic") for kind in ("rate", "eps")}
STRAIGHT |= {"learning_rate": 1e6, "adam_eps": 1e6}
"""Under so large an epsilon Adam's first step is the gradient itself."""


def knobs(**changes: float) -> Knobs:
    plain = Knobs(*knobs_at(PLAIN, 0.0))
    return plain._replace(**{name: np.float32(value) for name, value in changes.items()})


@cache
def weights(*, shared: bool = False, memory: Literal["none", "gru"] = "none") -> Any:
    """Of a small network with two hidden layers, a policy of 2 choices and 1 dimension, and normalisers."""
    net = NetConfig(
        hidden=(4, 4), memory_size=4, normalise=True, memory=memory, trunk="shared" if shared else "separate"
    )
    return trainable(ActorCritic.make(Seed.of(1), SPEC, net))[0]


def random_gradients(like: Any, count: int, size: float = 1.0) -> list:
    rng = np.random.default_rng(7)
    return [
        jax.tree.map(lambda x: jnp.asarray(size * rng.standard_normal(x.shape), x.dtype), like) for _ in range(count)
    ]


def by_name(tree: Any) -> dict:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    assert len(set(names)) == len(names)
    return dict(zip(names, (np.asarray(leaf) for _, leaf in leaves), strict=True))


@cache
def compiled(config: PPOConfig, kind: str, moving: tuple[str, ...]):
    own = OWN if kind == "by hand" else labels(weights(shared=kind == "shared"))

    def run(gradient: Any, state: Any, values: Knobs, factor: Any) -> Any:
        return optimiser(config, values, own, factor, moving=moving).update(gradient, state)

    return own, quick(run)


def step(
    gradient: Any,
    state: Any = None,
    *,
    config: Any = PLAIN,
    kind: Any = "by hand",
    moving=ALL,
    factor: Any = 1.0,
    **changes,
) -> Any:
    """Update and state; of a fresh optimiser where none is given."""
    own, run = compiled(config, kind, moving)
    state = optimiser(config, knobs(), own).init(gradient) if state is None else state
    return run(gradient, state, knobs(**changes), factor)


def test_without_a_shared_trunk_a_weight_belongs_to_the_network_it_is_in():
    leaves, _ = jax.tree_util.tree_flatten_with_path(labels(weights(memory="gru")))
    assert all(path[0].name == label for path, label in leaves)
    assert len(leaves) == len(jax.tree.leaves(weights(memory="gru")))
    assert {label for _, label in leaves} == {"actor", "critic"}


def test_a_shared_trunk_is_a_group_of_its_own():
    found = {name: str(label) for name, label in by_name(labels(weights(shared=True))).items()}
    layers = {f"actor.trunk.layers.{i}.{part}": "trunk" for i in (0, 1) for part in ("weight_IO", "bias_O")}
    heads = {f"{net}.head.{part}": net for net in ("actor", "critic") for part in ("weight_IO", "bias_O")}
    assert found == {**layers, **heads, "actor.log_std_C": "actor"}


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ((("actor", "actor.head"), ("critic", "critic")), r"actor\.trunk\S* belongs to none of actor \(actor\.head\)"),
        ((*SEPARATE, ("trunk", "actor.trunk")), r"actor\.trunk\S* belongs to actor and trunk of "),
        ((("actor", "acto"), ("critic", "critic")), r"actor\.\S* belongs to none of"),  # a path ends at a dot
    ],
)
def test_a_weight_in_no_group_or_in_two_is_an_error_that_names_it(table, found):
    with pytest.raises(ConfigError, match=found):
        labels(weights(), table)


def test_a_path_named_twice_for_one_group_is_in_one_group():
    table = (*SEPARATE, ("actor", "actor.head"))
    assert jax.tree.leaves(labels(weights(), table)) == jax.tree.leaves(labels(weights()))


@pytest.mark.parametrize("shared", [False, True])
def test_with_the_defaults_the_step_is_that_of_one_adam_for_all_to_the_bit(shared):
    trained = weights(shared=shared)
    own, values = labels(trained), knobs(max_grad_norm=2.0)

    @jax.jit
    def grouped(weight, state, gradient, values):
        update, state = optimiser(PLAIN, values, own).update(gradient, state)
        return jax.tree.map(lambda w, move: w + move, weight, update), state

    @jax.jit
    def plain(weight, state, gradient, values):
        rule = optax.chain(optax.clip_by_global_norm(values.max_grad_norm), optax.scale_by_adam(eps=values.adam_eps))
        direction, state = rule.update(gradient, state)
        return jax.tree.map(lambda w, move: w - values.learning_rate * move, weight, direction), state

    first: Any = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())
    state, expected = optimiser(PLAIN, values, own).init(trained), first.init(trained)
    one, other = trained, trained
    for gradient in random_gradients(trained, 2, size=0.1) + random_gradients(
        trained, 2, size=10.0
    ):  # these are clipped
        one, state = grouped(one, state, gradient, values)
        other, expected = plain(other, expected, gradient, values)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)
    assert not any(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(trained), strict=True))


def test_each_group_has_its_own_rate_and_epsilon():
    # Adam's first step is gradient / (|gradient| + eps): 3 / (3 + 1), 4 / (4 + 1); 2 / (2 + 2); 1 / (1 + 3).
    values = {"actor_rate": 0.1, "actor_eps": 1.0, "critic_rate": 0.01, "critic_eps": 2.0}
    update, _ = step(GRADIENT, learning_rate=1.0, adam_eps=3.0, **values)
    np.testing.assert_allclose(update["actor"], [-0.075, -0.08], rtol=1e-5)
    np.testing.assert_allclose(update["critic"], [0.0, 0.005], rtol=1e-5)
    np.testing.assert_allclose(update["trunk"], [-0.25], rtol=1e-5)


def test_the_factor_of_the_critic_scales_its_step_alone():
    (plain, _), (calmed, _) = step(GRADIENT), step(GRADIENT, factor=0.5)
    np.testing.assert_array_equal(calmed["critic"], 0.5 * plain["critic"])
    np.testing.assert_array_equal(calmed["actor"], plain["actor"])
    np.testing.assert_array_equal(calmed["trunk"], plain["trunk"])


@pytest.mark.parametrize(
    ("config", "longest", "clipped"),
    [
        (PLAIN, 30**0.5 / 5, {"actor": [0.6, 0.8], "critic": [0.0, -0.4], "trunk": [0.2]}),  # all divided by 5
        (BY_GROUP, 1.0, {"actor": [0.6, 0.8], "critic": [0.0, -1.0], "trunk": [1.0]}),  # by 5, by 2, not at all
    ],
)
def test_gradients_are_clipped_by_their_common_length_or_each_group_by_its_own(config, longest, clipped):
    update, _ = step(GRADIENT, config=config, max_grad_norm=longest, **STRAIGHT)
    for name, expected in clipped.items():
        np.testing.assert_allclose(-update[name], expected, rtol=1e-4)


@pytest.mark.parametrize(("kind", "second"), [("adam", 1.0), ("adam_rel", 1.9 / 1.999**0.5)])
def test_adam_rel_forgets_at_a_rollout_how_long_it_has_run_but_not_what_it_saw(kind, second):
    # Two gradients of 1: moments 0.19 and 0.001999. Divided by 1 - 0.9**2 and 1 - 0.999**2 they are 1; by 1 - 0.9 and
    # 1 - 0.999, as if the second step were the first, 1.9 and 1.999.
    config, ones = replace(PLAIN, optimiser=kind), jax.tree.map(jnp.ones_like, GRADIENT)
    values = {"actor_rate": 1.0, "actor_eps": 0.0}
    first, state = step(ones, **values)
    update, _ = step(ones, at_rollout(state, config), **values)
    np.testing.assert_allclose(first["actor"], -1.0, rtol=1e-4)
    np.testing.assert_allclose(update["actor"], -second, rtol=1e-4)


def test_muon_makes_hidden_matrices_orthogonal_and_leaves_the_rest_to_adam():
    (gradient,) = random_gradients(weights(), 1)
    moved, plain = (
        by_name(step(gradient, config=config, kind="separate", learning_rate=1.0, actor_rate=1.0)[0])
        for config in (MUON, PLAIN)
    )
    hidden = {f"{net}.trunk.layers.{i}.weight_IO" for net in ("actor", "critic") for i in (0, 1)}
    assert {name for name in moved if not np.array_equal(moved[name], plain[name])} == hidden
    for name in hidden:
        if name.startswith("actor"):
            # 0.2 * sqrt(4) = 0.4 times singular values that five rounds of Newton and Schulz bring near 1.
            values = np.linalg.svd(moved[name], compute_uv=False)
            assert (values > 0.4 * 0.65).all() and (values < 0.4 * 1.25).all()
            assert (moved[name] * by_name(gradient)[name]).sum() < 0


def test_a_step_of_muon_is_as_large_as_a_usual_one_of_adam_whatever_the_shape():
    # Root mean square 0.2 times the rate, but for singular values that are near 1, not 1.
    rng = np.random.default_rng(3)
    gradient: Any = [jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in ((2, 32), (32, 2))]
    rule = muon(10.0)
    for move in quick(rule.update)(gradient, rule.init(gradient))[0]:
        assert np.sqrt((np.asarray(move) ** 2).mean()) == pytest.approx(2.0, rel=0.25)


def test_muon_takes_the_rate_of_the_group():
    (gradient,) = random_gradients(weights(), 1)
    one, two = (
        by_name(step(gradient, config=MUON, kind="separate", actor_rate=0.1, critic_rate=rate)[0])
        for rate in (1.0, 0.5)
    )
    name = "trunk.layers.1.weight_IO"
    np.testing.assert_allclose(two[f"critic.{name}"], 0.5 * one[f"critic.{name}"], rtol=1e-6)
    np.testing.assert_array_equal(two[f"actor.{name}"], one[f"actor.{name}"])


def test_lengths_by_group_with_0_for_a_group_that_is_not_there():
    norms = group_norms({k: GRADIENT[k] for k in ("actor", "critic")}, {k: OWN[k] for k in ("actor", "critic")})
    assert {name: norm.item() for name, norm in norms.items()} == {"actor": 5.0, "critic": 2.0, "trunk": 0.0}


def test_only_keeps_the_updates_of_the_groups_it_names():
    kept = only(GRADIENT, OWN, "critic", "trunk")
    np.testing.assert_array_equal(kept["actor"], [0.0, 0.0])
    np.testing.assert_array_equal(kept["critic"], GRADIENT["critic"])
    np.testing.assert_array_equal(kept["trunk"], GRADIENT["trunk"])


@pytest.mark.parametrize("config", [PLAIN, MUON], ids=["adam", "muon"])
def test_a_group_that_waits_keeps_its_weights_and_its_state_to_the_bit(config):
    before, gradient = random_gradients(weights(shared=True), 2)
    _, state = step(before, config=config, kind="shared")
    update, after = step(gradient, state, config=config, kind="shared", moving=("critic",))
    assert jax.tree.structure(after) == jax.tree.structure(state)
    for name, move in by_name(update).items():
        assert np.any(move) == name.startswith("critic"), name
    old, new = by_name(state), by_name(after)
    place = "1.inner_states.critic.inner_state.0"
    moments = {f"{place}.{m}.critic.head.{part}" for m in ("mu", "nu") for part in ("weight_IO", "bias_O")}
    changed = {name for name in new if not np.array_equal(new[name], old[name])}
    # The critic has no matrices of its own here: of Muon's state for them only the clock is there.
    assert changed - {"1.inner_states.critic_matrices.inner_state.0.count"} == {f"{place}.count"} | moments


@pytest.mark.parametrize("config", [PLAIN, BY_GROUP], ids=["common", "by group"])
def test_the_clip_does_not_see_a_group_that_waits(config):
    # The critic alone is 2 long and is clipped to 1; together with the others it would be clipped to 2 / 30 ** 0.5.
    update, _ = step(GRADIENT, config=config, moving=("critic",), max_grad_norm=1.0, **STRAIGHT)
    np.testing.assert_allclose(update["critic"], [0.0, 1.0], rtol=1e-4)


@pytest.mark.parametrize("kind", ["adam", "adam_rel", "muon"])
def test_the_state_is_arrays_alone_under_names_that_an_update_keeps(kind):
    trained = weights(shared=True)
    rule: Any = optimiser(replace(PLAIN, optimiser=kind), knobs(), labels(trained))
    before = rule.init(trained)
    _, after = jax.eval_shape(rule.update, trained, before)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(before))
    assert jax.tree.structure(after) == jax.tree.structure(before)
    for new, old in zip(jax.tree.leaves(after), jax.tree.leaves(before), strict=True):
        assert (new.shape, new.dtype) == (old.shape, old.dtype)
    assert "1.inner_states.trunk.inner_state.0.nu.actor.trunk.layers.0.bias_O" in by_name(before)


def test_stacked_learners_with_rates_of_their_own_step_as_each_alone():
    own, gradients = labels(weights(shared=True)), random_gradients(weights(shared=True), 2)
    each = [{"critic_rate": 0.1, "max_grad_norm": 1.0}, {"actor_eps": 0.5, "learning_rate": 0.3}]
    factors = jnp.array([1.0, 0.3])

    def alone(gradient, values, factor):
        rule: Any = optimiser(MUON, values, own, factor)
        return rule.update(gradient, rule.init(gradient), gradient)  # weights may come along

    pairs = (gradients, [knobs(**changes) for changes in each])
    stacked = quick(jax.vmap(alone))(*(jax.tree.map(lambda *x: jnp.stack(x), *pair) for pair in pairs), factors)
    for i in range(2):
        expected = step(gradients[i], config=MUON, kind="shared", factor=factors[i], **each[i])
        for found, one in zip(jax.tree.leaves(stacked), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(found[i], one, rtol=1e-4, atol=1e-6)
