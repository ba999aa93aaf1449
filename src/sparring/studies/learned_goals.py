"""Goals that are learned from games alone, beside those that a game lists: what a linear reading finds in them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from sparring.core.seeding import Seed
from sparring.opponent_models import insight, omg
from sparring.opponent_models.omg import Passage, Subgoals
from sparring.opponent_models.spatial import Pointer, Track, recent
from sparring.studies.tables import Seen

PAST, AHEAD, GOAL, SIZE = 4, 5, 8, 64
"""States that a guess sees, states ahead among which the goal is, numbers of a goal, width of the networks."""
STEPS, BATCH, RATE, KL = 400, 256, 2e-3, 1e-2
DOTS = 1500
"""Of a picture."""


def learned_goals(seen: Seen, seed: int) -> dict[str, Any]:
    """Fitted on half of the worlds and judged on the others: a pointer over listed goals (spatial), and subgoals of the
    future (OMG) read by a linear probe, beside a probe of what they are made from. Labels are the goal that each other
    seat reaches next."""
    flat = [_flat(x) for x in (seen.features, seen.start, seen.reward, seen.others.open, seen.others.about)]
    features, start, reward, open_G, about = flat
    counts = _flat(seen.others.acting) & _flat(seen.present)[..., None]
    reached = _flat(seen.others.reached) & counts[..., None]
    starts = np.broadcast_to(start[..., None], counts.shape)
    label = insight.hindsight(reached, starts)
    there = np.take_along_axis(open_G, np.maximum(label, 0)[..., None], -1)[..., 0]
    known = (label >= 0) & counts & there & (open_G.sum(-1) > 1)
    worlds = start.shape[1]
    train_E = np.arange(worlds) % 2 == 0
    train = np.broadcast_to(train_E, start.shape)
    spatial = _spatial(about, open_G, np.where(known, label, -1), start, train, seed)
    return {
        "worlds_fitted": int(train_E.sum()), "spatial_top1": spatial,
        **_subgoals(features, start, reward, label, known, train, seed),
    }  # fmt: skip


def _flat(x: Any) -> np.ndarray:
    """[T, B, W, ...] to [T, E, ...]."""
    x = np.asarray(x)
    return x.reshape(len(x), -1, *x.shape[3:])


def _spatial(
    about: np.ndarray, open_G: np.ndarray, label: np.ndarray, start: np.ndarray, train: np.ndarray, seed: int
) -> float:
    seen = np.asarray(recent(jnp.asarray(about), jnp.asarray(start), PAST))
    rows = Track(*(jnp.asarray(x.reshape(-1, *x.shape[2:])) for x in (seen, open_G, label)))
    model = Pointer.make(Seed.of(seed) / "spatial", about.shape[-1], PAST, SIZE)
    model = fitted(model, lambda m, part, _: m.loss(part), rows, np.flatnonzero(train.reshape(-1)), seed)
    held_out = jax.tree.map(lambda x: x[np.flatnonzero(~train.reshape(-1))], rows)
    return float(jax.jit(lambda m, part: m.loss(part)[1]["spatial_top1"])(model, held_out))


def _subgoals(
    features: np.ndarray, start: np.ndarray, reward: np.ndarray, label: np.ndarray, known: np.ndarray,
    train: np.ndarray, seed: int,
) -> dict[str, Any]:  # fmt: skip
    history = recent(jnp.asarray(features), jnp.asarray(start), PAST)
    later, there = omg.following(jnp.asarray(features), jnp.asarray(start), AHEAD)
    following = _returns(reward, start)
    rows = Passage(*(jnp.asarray(x).reshape(-1, *x.shape[2:]) for x in (history, later, there, following)))
    model = Subgoals.make(Seed.of(seed) / "omg", features.shape[-1], PAST, GOAL, SIZE)
    fit = np.flatnonzero(train.reshape(-1))
    model = fitted(model, lambda m, part, key: m.loss(part, key, 0.5, kl=KL), rows, fit, seed)
    guess, decoded = jax.jit(lambda m, x: (m.guessed(x).mean_Z, m.decoder(m.guessed(x).mean_Z)))(model, rows.history_KF)
    label_R, known_R = label.reshape(-1, label.shape[-1]), known.reshape(-1, known.shape[-1])
    inputs = {
        "probe_goal": np.asarray(guess), "probe_state": features.reshape(-1, features.shape[-1]),
        "probe_history": np.asarray(rows.history_KF).reshape(len(guess), -1),
    }  # fmt: skip
    found: dict[str, Any] = {
        name: float(np.mean([
            insight.linear_probe(x[known_R[:, o]], label_R[known_R[:, o], o], train.reshape(-1)[known_R[:, o]])
            for o in range(label_R.shape[1])
        ])) for name, x in inputs.items()
    }  # fmt: skip
    test = np.flatnonzero(~train.reshape(-1))[:: max(1, (~train).sum() // DOTS)]
    pool = features.reshape(-1, features.shape[-1])[fit[:: max(1, len(fit) // 200)]]
    found["hit_ratio"] = insight.hit_ratio(
        np.asarray(decoded)[test], np.asarray(rows.later_HF)[test], np.asarray(rows.there_H)[test], pool
    )
    shown = test[known_R[test, 0]]
    flat = insight.plane(np.asarray(guess)[shown]) if len(shown) > 2 else np.zeros((0, 2))
    found["picture"] = {"x": flat[:, 0].tolist(), "y": flat[:, 1].tolist(), "label": label_R[shown, 0].tolist()}
    return found


def _returns(reward: np.ndarray, start: np.ndarray) -> np.ndarray:
    """What is earned from each step to the end of its game."""
    found, later = np.zeros_like(reward, np.float32), np.zeros(reward.shape[1:])
    for t in reversed(range(len(reward))):
        found[t] = later = reward[t] + later
        later = np.where(start[t], 0.0, later)
    return found


def fitted(model: Any, loss: Any, rows: Any, fit: np.ndarray, seed: int) -> Any:
    """The model after STEPS gradient steps on batches of the rows that are to be fitted."""
    rule = optax.adam(RATE)

    @jax.jit
    def run(model: Any, rows: Any, fit: Array) -> Any:
        def step(carry: tuple, key: Array) -> tuple[tuple, None]:
            model, state = carry
            place = fit[jax.random.randint(key, (BATCH,), 0, len(fit))]
            part = jax.tree.map(lambda x: x[place], rows)
            gradient = jax.grad(lambda m: loss(m, part, key)[0])(model)
            change, state = rule.update(gradient, state)
            return (optax.apply_updates(model, change), state), None

        keys = jax.random.split(jax.random.key(seed), STEPS)
        return lax.scan(step, (model, rule.init(model)), keys)[0][0]

    return run(model, rows, jnp.asarray(fit))
