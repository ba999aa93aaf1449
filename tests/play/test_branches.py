import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sparring.play.branches import anywhere, of_each, only_when, over_rows


def test_a_flag_of_one_copy_is_seen_by_all_of_them():
    flags = jnp.asarray([[False, False], [False, True], [False, False]])
    assert not anywhere(flags[0])
    np.testing.assert_array_equal(jax.vmap(anywhere)(flags), [True, True, True])
    np.testing.assert_array_equal(jax.vmap(anywhere)(flags[:1]), [False])


def test_what_no_copy_needs_is_not_computed():
    """Under vmap a plain cond becomes a select, which computes both; a count of calls on the host shows it."""
    calls = []

    def work(x):
        jax.debug.callback(lambda: calls.append(1))
        return x + 1.0

    @jax.jit
    def copies(needed, x):
        return jax.vmap(lambda flag, x: only_when(flag, lambda: work(x), lambda: x))(needed, x)

    nobody, one = jnp.asarray([False, False]), jnp.asarray([False, True])
    np.testing.assert_array_equal(copies(nobody, jnp.zeros(2)), [0.0, 0.0])
    jax.effects_barrier()
    assert not calls
    np.testing.assert_array_equal(copies(one, jnp.zeros(2)), [1.0, 1.0])
    jax.effects_barrier()
    assert calls


def test_the_body_of_a_loop_that_begins_with_a_carry_of_each_copy_is_batched_once():
    """Two loops, one within the other, and two axes of copies: four passes through the innermost body without it."""
    passes = []

    @jax.custom_batching.custom_vmap
    def counted(x):
        return x + 1.0

    @counted.def_vmap
    def _(copies, batched, x):
        passes.append(copies)
        return counted(x), batched[0]

    def loop(x, carry_of):
        def inner(carry, _):
            return (counted(carry[0]), carry[1] + carry[0]), None

        def outer(carry, _):
            return lax.scan(inner, carry, length=2)

        return lax.scan(outer, carry_of((x, jnp.zeros(()))), length=3)[0]

    found = {}
    for name, carry_of in (("plain", lambda carry: carry), ("of each", of_each)):
        passes.clear()
        copies = jax.vmap(jax.vmap(lambda x, carry_of=carry_of: loop(x, carry_of)))
        result = copies(jnp.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(result[1], 15.0 + 6.0 * jnp.arange(6.0).reshape(2, 3))
        found[name] = len(passes)
    assert found["of each"] == 2 < found["plain"]


def test_rows_of_stacks_are_treated_as_by_vmap_and_a_single_one_as_it_is():
    seen = []

    def one(row, column):
        seen.append((row["x"].shape, column.shape))
        return {"y": row["x"].sum() + column, "kept": row["none"]}

    for rows in (1, 3):
        stacks = {"x": jnp.arange(4.0 * rows).reshape(rows, 4), "none": None}, jnp.ones((2, rows))
        found = over_rows(one, (0, 1), out_axes=1)(*stacks)
        wanted = jax.vmap(one, (0, 1), 1)(*stacks)
        np.testing.assert_array_equal(found["y"], wanted["y"])
        assert found["y"].shape == (2, rows) and found["kept"] is None
    assert set(seen) == {((4,), (2,))}


def test_the_condition_of_a_single_row_stays_one():
    """Under vmap it would become a select, which computes both."""

    def one(x):
        return lax.cond(x > 0, lambda: x + 1, lambda: x)

    alone, two = (str(jax.make_jaxpr(over_rows(one))(jnp.zeros(rows))) for rows in (1, 2))
    assert " cond[" in alone and " cond[" not in two
