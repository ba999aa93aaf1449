"""Weights that are generated: at first none, then what the formulas say, from what may be seen and nothing else."""

from dataclasses import replace
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.core.seeding import SHAPES, Seed
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.blocks import Dense
from sparring.nets.config import NetConfig, check_net
from sparring.nets.hyper.context import told, unit
from sparring.nets.hyper.generated import Added, Gain, base_squared, squared, within
from sparring.nets.hyper.hyper import Changed
from toy_players import quick

SPEC = GameSpec(
    seats=3,
    side_of_seat=(0, 0, 0),
    action=ActionSpec(heads=(4,), low=(), high=()),
    layout=(Feature("all", (5,)),),
    central=Central("world", 5),
    longest=5,
)
SEED, ROWS = Seed.of(1), 6
NET = NetConfig(hidden=(8, 8), hyper="residual", hyper_size=8)
FORMS: dict[str, dict[str, Any]] = {
    "last": {},
    "all": {"hyper_layers": "all", "normalise": True},
    "low_rank": {"hyper_layers": "low_rank", "hyper_encoder": "lstm"},
    "recurrent": {"hyper": "recurrent", "hyper_layers": "low_rank", "hyper_previous": True, "hyper_cap": 0.5},
    "seat": {"hyper_sees": "nothing", "hyper_layers": "all", "hyper_id": "learned"},
    "joint": {"hyper_sees": "joint", "execution": "centralised", "hyper_encoder": "transformer", "hyper_cap": 0.5},
    "gru": {"hyper_encoder": "gru"},
    "recurrent_actor": {"memory": "gru", "memory_size": 8},
    "recurrent_seat": {"memory": "lstm", "memory_size": 8, "hyper_sees": "nothing", "hyper_layers": "low_rank"},
    "simba": {"body": "simba"},
    "simba_seat": {"body": "simba", "hyper_sees": "nothing"},
}
FULL: dict[str, dict[str, Any]] = {"last": {}, "all": {"hyper_layers": "all"}, "low_rank": {"hyper_layers": "low_rank"}}
RNG = np.random.default_rng(3)
FEATURES = jnp.asarray(RNG.normal(size=(4, ROWS, 3, 5)), jnp.float32)
"""Of four steps."""
LEGAL = jnp.ones((ROWS, 3, 4), bool)


def settings(form: str, **changes: Any) -> NetConfig:
    return replace(NET, **{**FORMS[form], **changes})


@cache
def made(form: str) -> ActorCritic:
    return ActorCritic.make(SEED, SPEC, settings(form))


@cache
def moved(form: str) -> Any:
    """The actor with everything of its hypernetwork moved a little, so that it generates something."""
    actor, rng = made(form).actor, np.random.default_rng(5)
    hyper = jax.tree.map(lambda x: np.float32(np.asarray(x) + 0.3 * rng.normal(size=x.shape)), actor.hyper)
    return eqx.tree_at(lambda a: a.hyper, actor, hyper)


def said(actor: Any, features: jax.Array) -> jax.Array:
    """Log-probabilities of steps one after another, from a blank memory."""

    def step(memory: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        distribution, memory = actor(x, LEGAL, memory)
        return memory, distribution.log_p_A

    return lax.scan(step, actor.initial(ROWS, 3), features)[1]


scores = quick(said)
slopes = quick(jax.grad(lambda actor: (said(actor, FEATURES) * jnp.arange(4.0)).sum()))


@pytest.mark.parametrize("form", FORMS)
def test_at_first_the_policy_is_the_plain_one_to_the_bit(form):
    plain = ActorCritic.make(SEED, SPEC, settings(form, hyper="none")).actor
    np.testing.assert_array_equal(scores(made(form).actor, FEATURES), scores(plain, FEATURES))
    assert float(jnp.abs(scores(moved(form), FEATURES) - scores(plain, FEATURES)).max()) > 1e-3


@pytest.mark.parametrize("form", FULL)
def test_weights_that_are_generated_in_full_begin_as_large_as_plain_ones(form):
    config = replace(NET, hidden=(32, 32), hyper="full", hyper_size=16, **FULL[form])
    actor: Any = ActorCritic.make(SEED, SPEC, config).actor
    plain = ActorCritic.make(SEED, SPEC, replace(config, hyper="none")).actor
    z_RZ = unit(jnp.asarray(RNG.normal(size=(200, 16)), jnp.float32))
    for change, own, base in zip(actor.hyper.changes, actor.bases, plain.bases, strict=True):
        if isinstance(change, Gain):
            continue
        assert not np.any(own.weight_IO), "what is generated in full has no weights of its own"
        weights = change.weights(z_RZ)[:, :-1]
        whole = weights if change.down_IR is None else change.down_IR @ weights
        np.testing.assert_allclose(np.std(whole), np.std(base.weight_IO), rtol=0.1)


def lengths(tree: Any) -> list[float]:
    return [float(np.abs(x).max()) for x in jax.tree.leaves(tree)]


@pytest.mark.parametrize("form", ["last", "low_rank", "recurrent"])
def test_a_gradient_reaches_the_head_at_once_and_all_else_when_that_has_moved(form):
    """Of low rank, a second factor of 0 would leave both at 0 for ever."""
    first: Any = slopes(made(form).actor).hyper
    heads = [c.map_ZO if isinstance(c, Gain) else c.map_KF[:-1] for c in first.changes]  # biases have no second factor
    assert min(lengths(heads)) > 0 and max(lengths(first.context)) == 0
    assert min(lengths(slopes(moved(form)).hyper)) > 0


def added(rank: int = 0) -> Added:
    change = Added.make(SEED, 5, 4, 3, rank=rank)
    return eqx.tree_at(lambda c: c.map_KF, change, jnp.asarray(RNG.normal(size=change.map_KF.shape), jnp.float32))


def test_what_a_context_adds_worked_out_by_hand():
    """Two inputs, one output, contexts of two entries: W(z) = 2 z1 + 3 z2 and 5 z1 + 7 z2, b(z) = z1."""
    change = Added(jnp.array([[2.0, 3.0], [5.0, 7.0], [1.0, 0.0]]), None, 2)
    z, x = jnp.array([[1.0, -1.0]]), jnp.array([[10.0, 100.0]])
    np.testing.assert_allclose(change.weights(z), [[[-1.0], [-2.0], [1.0]]])
    np.testing.assert_allclose(change.applied(x, jnp.zeros((1, 1)), z), [[-10.0 - 200.0 + 1.0]])
    np.testing.assert_allclose(squared(change, z), [1.0 + 4.0 + 1.0])
    assert change.count == 3


@pytest.mark.parametrize("rank", [0, 2])
def test_weights_are_applied_alike_whether_they_are_made_or_not(rank):
    change = added(rank)
    x, z = jnp.asarray(RNG.normal(size=(7, 5)), jnp.float32), jnp.asarray(RNG.normal(size=(7, 3)), jnp.float32)
    y = jnp.ones((7, 4))
    weights = change.weights(z)
    np.testing.assert_allclose(change.applied(x, y, z), change.with_weights(x, y, weights), rtol=2e-5, atol=2e-5)
    matrix = weights[:, :-1] if change.down_IR is None else change.down_IR @ weights[:, :-1]
    explicit = y + jnp.einsum("ri,rio->ro", x, matrix) + weights[:, -1]
    np.testing.assert_allclose(change.applied(x, y, z), explicit, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(squared(change, z), (weights**2).sum((1, 2)), rtol=2e-5)


def test_a_cap_shortens_what_is_longer_and_its_slope_at_0_is_finite():
    change, base = added(), Dense(jnp.ones((5, 4)), jnp.zeros(4))
    z = jnp.asarray(RNG.normal(size=(7, 3)), jnp.float32)
    limit = 0.01 * base_squared(change, base)
    np.testing.assert_allclose(squared(change, within(change, z, 0.1, base)), jnp.full(7, limit), rtol=1e-4)
    np.testing.assert_array_equal(within(change, z, 1e3, base), z)
    zero = Added.make(SEED, 5, 4, 3)
    slope = quick(jax.grad(lambda c: squared(c, within(c, z, 0.1, base)).sum()))(zero)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slope))


def test_contexts_have_one_length_whatever_the_size_of_what_is_seen():
    context: Any = moved("last").hyper.context
    z_of = quick(lambda x: context.of(x, context.later(x, jnp.zeros((ROWS, 3, 3, 6))), None, None))
    for size in (1e-2, 1.0, 1e3):
        np.testing.assert_allclose((z_of(size * FEATURES[0]) ** 2).sum(-1), np.full((ROWS, 3), 8.0), rtol=1e-2)


@pytest.mark.parametrize(("form", "apart"), [("last", True), ("seat", True), ("joint", False)])
def test_a_seat_acts_on_what_others_see_only_where_execution_is_centralised(form, apart):
    other = FEATURES.at[:, :, 1].add(1.0)
    before, after = (scores(moved(form), x)[:, :, [0, 2]] for x in (FEATURES, other))
    assert bool((before == after).all()) == apart


def test_one_set_of_weights_serves_a_side_that_has_no_identities():
    hyper: Any = ActorCritic.make(SEED, SPEC, settings("joint", hyper_id="none")).actor.hyper
    z = quick(lambda x: hyper.context.of(x, hyper.context.later(x, hyper.initial(ROWS, 3)[0]), None, None))(FEATURES[0])
    np.testing.assert_allclose(z, np.broadcast_to(z[:, :1], z.shape), atol=1e-6)
    assert float(jnp.abs(z[0] - z[1]).max()) > 1e-3


def test_only_the_last_steps_matter_and_which_seat_it_is():
    """Three of them are seen: the first of four is forgotten."""
    actor = moved("last")
    last = scores(actor, FEATURES)[-1]
    np.testing.assert_array_equal(scores(actor, FEATURES.at[0].add(1.0))[-1], last)
    assert bool((scores(actor, FEATURES.at[1].add(1.0))[-1] != last).any())
    same = jnp.broadcast_to(FEATURES[:, :, :1], FEATURES.shape)
    assert bool((scores(actor, same)[0, :, 0] != scores(actor, same)[0, :, 1]).any())


def test_recurrent_changes_add_up_and_leak():
    actor = moved("recurrent")
    hyper, past = actor.hyper, actor.hyper.initial(ROWS, 3)
    step = quick(lambda x, memory: hyper(x, memory, actor.bases, None))
    _, (seen, sums) = step(FEATURES[0], past)
    later, _ = step(FEATURES[1], (seen, sums))
    contexts = hyper.contexts(FEATURES[1], hyper.context.later(FEATURES[1], seen), sums, actor.bases, None)
    for change, z, old, new in zip(hyper.gated, contexts, sums, later.traits, strict=True):
        np.testing.assert_allclose(new, 0.9 * old + change.weights(z), rtol=1e-5, atol=1e-6)
    now, before = hyper.traits(FEATURES[1], (seen, sums), actor.bases, None)
    assert before is sums
    np.testing.assert_allclose(now[-1], later.traits[-1], rtol=1e-5, atol=1e-6)


def test_what_was_done_and_paid_is_told_to_whoever_wants_to_know():
    """Of entry 2 of 4, and of 0.5: known in the next step, and not yet in this one."""
    config = settings("last", hyper_recalls="rewards", hyper_history=2)
    context = ActorCritic.make(SEED, SPEC, config).actor.hyper.context  # type: ignore[union-attr]
    memory = context.later(FEATURES[0], context.initial(ROWS, 3))
    assert not np.any(memory.steps_NKE[..., -1, 5:10]) and np.all(memory.steps_NKE[..., -1, 10] == 1)
    done = Action(jnp.full((ROWS, 3, 1), 2), jnp.zeros((ROWS, 3, 0)))
    memory = told(((), memory), SPEC.action, done, jnp.full((ROWS, 3), 0.5))[1]
    memory = context.later(FEATURES[1], memory)
    np.testing.assert_array_equal(memory.steps_NKE[0, 0, -1], [*FEATURES[1, 0, 0], 0, 0, 1, 0, 0.5, 1])
    assert not np.any(memory.done_NX)
    with pytest.raises(ConfigError, match="acts on the rewards that it was paid"):
        told(memory, SPEC.action, done, None)


def test_contexts_of_other_rows_are_refused_and_not_stretched():
    hyper: Any = made("last").actor.hyper
    changed = Changed(hyper, tuple(jnp.zeros((3, 8)) for _ in hyper.changes))
    with pytest.raises(ValueError, match=r"contexts \(3, 8\) must have the rows of what the layer sees"):
        changed(2, jnp.zeros((ROWS, 3, 8)), jnp.zeros((ROWS, 3, 4)))


def test_a_critic_may_have_generated_weights_too():
    plain, generated = (
        ActorCritic.make(SEED, SPEC, replace(NET, hyper_critic=own, critic="central")).critic for own in (False, True)
    )
    views = FEATURES[0, :, :1]
    value = quick(lambda critic: critic(views, ())[0])
    np.testing.assert_array_equal(value(plain), value(generated))
    slope = quick(jax.grad(lambda critic: critic(views, ())[0].sum()))(generated)
    assert float(jnp.abs(slope.hyper.changes[-1].map_KF).max()) > 0


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("hyper_layers", "all", "last"),
        ("hyper_rank", 2, "low_rank"),
        ("hyper_id", "none", "last"),
        ("hyper_id", "learned", "last"),
        ("hyper_sees", "nothing", "last"),
        ("hyper_history", 2, "last"),
        ("hyper_recalls", "actions", "last"),
        ("hyper_recalls", "rewards", "last"),
        ("hyper_history", 0, "last"),
        ("hyper_encoder", "gru", "last"),
        ("hyper_encoder", "lstm", "last"),
        ("hyper_encoder", "transformer", "last"),
        ("hyper_size", 4, "last"),
        ("hyper_heads", 2, "joint"),
        ("hyper_cap", 0.1, "last"),
        ("hyper_leak", 0.5, "recurrent"),
        ("hyper_previous", False, "recurrent"),
    ],
)
def test_every_setting_of_a_hypernetwork_changes_the_policy(name, value, form):
    def text(config: NetConfig) -> str:
        actor = jax.eval_shape(lambda: ActorCritic.make(SHAPES, SPEC, config)).actor
        return jax.jit(said).lower(actor, jax.eval_shape(lambda: FEATURES[:1])).as_text()

    check_net(settings(form, **{name: value}))
    assert text(settings(form, **{name: value})) != text(settings(form))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hyper_sees": "joint"}, "Say --execution centralised if they may, or use --hyper-sees own .* nothing"),
        ({"hyper_sees": "nothing", "hyper_id": "none"}, "there is nothing to generate weights from"),
        ({"hyper": "recurrent"}, "Use --hyper-layers low_rank"),
        ({"hyper_recalls": "rewards", "memory": "gru"}, "no memory that is trained by sequences"),
        ({"hyper_layers": "all", "body": "simba", "hidden": (8, 8)}, "generates plain layers, found body=simba"),
        ({"hyper_encoder": "transformer", "hyper_size": 6}, "hyper_heads=4 must divide hyper_size=6"),
        ({"hyper": "full", "hyper_layers": "all", "trunk": "shared"}, "leaves no learned layers for a critic"),
    ],
)
def test_what_cannot_learn_or_be_executed_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        check_net(replace(NET, **changes))


def test_weights_of_seats_that_are_made_once_are_the_ones_of_every_step():
    actor = moved("seat")
    rested = actor.for_seats(3)
    assert rested.hyper.made is not None and moved("last").for_seats(3).hyper.made is None
    np.testing.assert_allclose(scores(rested, FEATURES), scores(actor, FEATURES), atol=1e-6)


@pytest.mark.parametrize("rank", [0, 2])
def test_weights_of_seats_made_as_layers_are_those_that_contexts_would_add(rank):
    change, base = added(rank), Dense.make(SEED, 5, 4)
    x, z_NZ = jnp.asarray(RNG.normal(size=(3, 5)), jnp.float32), jnp.asarray(RNG.normal(size=(3, 3)), jnp.float32)
    layer = change.made(base, z_NZ)
    found = jnp.einsum("ni,nio->no", x, layer.weight_IO) + layer.bias_O
    np.testing.assert_allclose(found, change.applied(x, base(x), z_NZ), rtol=2e-5, atol=2e-5)
