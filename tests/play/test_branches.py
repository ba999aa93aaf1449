import jax
import jax.numpy as jnp
import numpy as np

from sparring.play.branches import anywhere, only_when


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
