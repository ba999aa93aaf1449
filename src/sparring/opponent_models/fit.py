"""Fitting a model on what is kept of rollouts: a ring of the newest useful rows, and gradient steps on some of them.

A study is any record with `buffer` (with `useful`), `rows`, `optimiser` and `updates`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from sparring.play.rollout import where_first

MOST_GRADIENT = 1.0
"""Gradients of the models longer than this are scaled down to it."""
Model = TypeVar("Model")
Study = TypeVar("Study", bound=Any)
Loss = Callable[[Any, Any, Array, Array], tuple[Array, dict[str, Array]]]
"""Of a model on rows, with a key, after so many steps."""


def as_it_is(model: Any, rows: Any, key: Array) -> Any:  # noqa: ARG001
    return model


def rule(rate: float) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(MOST_GRADIENT), optax.adam(rate))


def drawn(study: Any, sample: Any, key: Array) -> Any:
    """Rows of a new rollout, at most a quarter of what is kept; useful ones first, each of them as likely."""
    size, there = study.buffer.useful.shape[0], sample.useful.shape[0]
    order = sample.useful + jax.random.uniform(key, sample.useful.shape)
    place = lax.top_k(order, min(max(size // 4, 1), there))[1]
    return jax.tree.map(lambda x: x[place], sample)


def kept(study: Study, rows: Any) -> Study:
    """The study with the useful ones of these rows in the place of the oldest."""
    size, count = study.buffer.useful.shape[0], rows.useful.shape[0]
    place = jnp.where(rows.useful, (study.rows + jnp.arange(count)) % size, size)
    buffer = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), study.buffer, rows)
    return study._replace(buffer=buffer, rows=counted(study.rows + rows.useful.sum(), size))


def counted(rows: Array, size: int) -> Array:
    """Without end, though the number has one: what matters is the place in the ring and whether it was filled."""
    return jnp.where(rows >= 2 * size, rows - size, rows)


def fit(
    model: Model, study: Study, key: Array, loss_of: Loss, settled: Callable[[Any, Any, Array], Any] = as_it_is, *,
    rate: float, updates: int, batch: int,
) -> tuple[Model, Study, dict[str, Array]]:  # fmt: skip
    """Gradient steps on rows drawn from what is kept; none while nothing is. One that is not finite changes nothing.
    `settled`: what a step leaves of a model that also learns in another way."""
    size = study.buffer.useful.shape[0]
    there = jnp.minimum(study.rows, size)

    def step(carry: tuple[Model, Any, Array], key: Array) -> tuple[tuple[Model, Any, Array], dict]:
        model, state, taken = carry
        place = jax.random.randint(key, (min(batch, size),), 0, jnp.maximum(there, 1))
        rows = jax.tree.map(lambda x: x[place], study.buffer)
        (loss, parts), gradient = jax.value_and_grad(lambda m: loss_of(m, rows, key, taken), has_aux=True)(model)
        change, later = rule(rate).update(gradient, state, model)  # type: ignore[arg-type]
        moved = settled(optax.apply_updates(model, change), rows, key)  # type: ignore[arg-type]
        sound = (there > 0) & jnp.isfinite(loss) & jnp.isfinite(optax.global_norm(gradient))
        return where_first(sound, (moved, later, taken + 1), carry), parts

    begun = (model, study.optimiser, study.updates)
    (model, state, taken), parts = lax.scan(step, begun, jax.random.split(key, updates))
    return model, study._replace(optimiser=state, updates=taken), {name: x.mean() for name, x in parts.items()}
