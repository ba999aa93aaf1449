"""How well the others are understood, on games that nobody learns from: measures of what was thought, in NumPy.

A number alone says nothing: each stands beside what needs no model, and beside the best there is. Letters: T steps, E
worlds in which one player sat among co-players of one kind, O its co-players, D heads of an action, A legal entries, G
goals that the game lists, Z numbers of a goal (the first two say where it is).
"""

from typing import Any, NamedTuple

import numpy as np

BINS = 15
"""Of calibration: each holds as many beliefs."""
SURE = 0.9
DISTANCES = ((0, 1), (2, 3), (4, 6), (7, np.inf))
"""Steps to the goal that turned out."""


class Watched(NamedTuple):
    """What happened and what was thought before it, leaves [T, E, O, ...]."""

    discrete_D: np.ndarray
    legal_A: np.ndarray
    counts: np.ndarray
    """It acted, and the player was there to see it."""
    expected_A: np.ndarray
    """Log of what it was expected to do."""
    rule_A: np.ndarray
    """Log of what its own policy gave it."""
    open_G: np.ndarray
    steps_G: np.ndarray
    about_GZ: np.ndarray
    reached_G: np.ndarray
    log_b_G: np.ndarray
    """Log of the belief; one more column is to be after none of them."""
    wanted_G: np.ndarray | None
    """What it was after by its own word; None where it does not tell."""
    start: np.ndarray
    """A game begins."""


def hindsight(reached_G: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The goal that is reached next in the same game, [T, E, O]; -1 where none is. Of several at once the first."""
    label = np.full(reached_G.shape[:-1], -1)
    later = np.full(reached_G.shape[1:-1], -1)
    for t in reversed(range(len(reached_G))):
        later = np.where(reached_G[t].any(-1), reached_G[t].argmax(-1), later)
        label[t] = later
        later = np.where(start[t], -1, later)
    return label


def heads_of(values_A: np.ndarray, heads: tuple[int, ...]) -> list[np.ndarray]:
    return np.split(values_A, np.cumsum(heads)[:-1], axis=-1)


def taken(log_p_A: np.ndarray, discrete_D: np.ndarray, heads: tuple[int, ...]) -> np.ndarray:
    """Log-probability of what was done, all heads together; bounded, or one impossible step would hide all others."""
    parts = [
        np.take_along_axis(p, discrete_D[..., d, None], -1)[..., 0] for d, p in enumerate(heads_of(log_p_A, heads))
    ]
    return np.maximum(sum(parts), np.log(1e-6))


def normalised(weight_A: np.ndarray, heads: tuple[int, ...]) -> np.ndarray:
    """Log of the shares within each head."""
    parts = [
        np.log(np.maximum(h, 1e-12) / np.maximum(h, 1e-12).sum(-1, keepdims=True)) for h in heads_of(weight_A, heads)
    ]
    return np.concatenate(parts, axis=-1)


def right(log_p_A: np.ndarray, discrete_D: np.ndarray, heads: tuple[int, ...]) -> np.ndarray:
    """How likely the likeliest entry of each head is what was done: entries that are as likely share the guess."""
    found = np.ones(discrete_D.shape[:-1])
    for d, p in enumerate(heads_of(log_p_A, heads)):
        best = p >= p.max(-1, keepdims=True) - 1e-6
        found = found * np.take_along_axis(best / best.sum(-1, keepdims=True), discrete_D[..., d, None], -1)[..., 0]
    return found


def action_measures(seen: Watched, heads: tuple[int, ...]) -> dict[str, float]:
    """Of steps with a real choice; `marginal` is how often the co-player takes each entry in these very games, also
    among what is legal (`habit`), `uniform` any legal one, `again` what it did last, `rule` its own policy."""
    choice = np.stack([h.sum(-1) > 1 for h in heads_of(seen.legal_A, heads)]).any(0)
    counted = seen.counts & choice
    done = np.concatenate([np.eye(n)[seen.discrete_D[..., d]] for d, n in enumerate(heads)], axis=-1)
    often_A = done[counted].mean(0) if counted.any() else np.ones(done.shape[-1])
    rows = np.broadcast_to(often_A, done.shape)
    logs = {
        "": seen.expected_A, "marginal": normalised(rows, heads), "uniform": normalised(seen.legal_A * 1.0, heads),
        "habit": normalised(rows * seen.legal_A + 1e-9 * seen.legal_A, heads), "rule": seen.rule_A,
    }  # fmt: skip
    found = {"choices": share(choice, seen.counts)}
    for name, log_p in logs.items():
        suffix = f"_{name}" if name else ""
        found[f"nll{suffix}"] = -mean(taken(log_p, seen.discrete_D, heads), counted)
        found[f"accuracy{suffix}"] = mean(right(log_p, seen.discrete_D, heads), counted)
    again = np.zeros(counted.shape, bool)
    again[1:] = (seen.discrete_D[1:] == seen.discrete_D[:-1]).all(-1) & ~seen.start[1:]
    found["accuracy_again"] = mean(again, counted)
    found["skill"] = 1.0 - found["nll"] / max(found["nll_marginal"], 1e-9)
    found["skill_of_rule"] = 1.0 - found["nll_rule"] / max(found["nll_marginal"], 1e-9)
    forced = seen.counts & ~choice
    found["accuracy_forced"] = mean(right(seen.expected_A, seen.discrete_D, heads), forced)
    return found


def goal_measures(seen: Watched, kinds: np.ndarray) -> dict[str, Any]:
    """Of steps whose goal turned out, where there was one goal or more to mistake for it; `kinds` is that of each goal.
    Beliefs may also fall on being after nothing, which then is a mistake."""
    label = hindsight(seen.reached_G, seen.start)
    some = (seen.open_G.sum(-1) > 1) & seen.counts
    there = np.take_along_axis(seen.open_G, np.maximum(label, 0)[..., None], -1)[..., 0]
    known = some & (label >= 0) & there
    belief, truth = np.exp(seen.log_b_G), np.eye(seen.log_b_G.shape[-1])[np.maximum(label, 0)]
    steps = np.take_along_axis(seen.steps_G, np.maximum(label, 0)[..., None], -1)[..., 0]
    guesses = {"nearest": nearest(seen), "base": by_kind(seen, label, known, kinds)}
    correct, sureness = belief.argmax(-1) == label, belief.max(-1)
    right_p = (belief * truth).sum(-1)
    columns = {
        "top1": correct * 1.0, "nll": -np.log(np.maximum(right_p, 1e-6)), "brier": ((belief - truth) ** 2).sum(-1),
        "spatial_error": astray(seen, belief, label),
    }  # fmt: skip
    columns |= {f"top1_{name}": tie_right(p, label) for name, p in guesses.items()}
    columns["nll_open"] = np.log(np.maximum(seen.open_G.sum(-1), 1))
    found: dict[str, Any] = {name: mean(x, known) for name, x in columns.items()}
    if seen.wanted_G is not None:
        told = some & seen.wanted_G.any(-1)
        wanted_G = np.pad(seen.wanted_G, [(0, 0)] * 3 + [(0, 1)])
        at = np.take_along_axis(wanted_G, belief.argmax(-1)[..., None], -1)[..., 0]
        wanted_by = guesses["nearest"] * seen.wanted_G
        found |= {"top1_by_its_word": mean(at, told), "nearest_by_its_word": mean(wanted_by.sum(-1), told)}
        # What it heads for and what it reaches differ where somebody else comes first.
        found["top1_of_its_word"] = mean(tie_right(seen.wanted_G, label), known & told)
    found["known"] = share(known, some)
    rows = reliability(sureness[known], correct[known])
    found |= {"ece": calibration_error(rows), "reliability": [list(map(float, row)) for row in rows]}
    median, never, stretches = time_to_belief(right_p >= SURE, known, label, seen.start)
    found |= {"steps_to_90": median, "never_90": never, "stretches": stretches}
    found["by_distance"] = {
        f"{low} to {high:g}" if np.isfinite(high) else f"{low} and more": {
            "steps": int((at := known & (steps.round() >= low) & (steps.round() <= high)).sum()),
            **{name: mean(columns[name], at) for name in ("top1", "top1_nearest", "nll", "spatial_error")},
        }
        for low, high in DISTANCES
    }
    return found


def nearest(seen: Watched) -> np.ndarray:
    """A guess without a model: the nearest open goal, those that are as near alike."""
    steps = np.where(seen.open_G, seen.steps_G, np.inf)
    best = seen.open_G & (steps <= steps.min(-1, keepdims=True) + 1e-6)
    return best / np.maximum(best.sum(-1, keepdims=True), 1)


def by_kind(seen: Watched, label: np.ndarray, known: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Another: how often each kind was the one, shared by its open goals."""
    count = np.bincount(kinds[label[known]], minlength=kinds.max() + 1) if known.any() else np.ones(kinds.max() + 1)
    same = kinds[:, None] == kinds
    alike = np.maximum((seen.open_G[..., None, :] & same).sum(-1), 1)
    weight = np.where(seen.open_G, count[kinds] / alike, 0.0)
    return weight / np.maximum(weight.sum(-1, keepdims=True), 1e-12)


def tie_right(p_G: np.ndarray, label: np.ndarray) -> np.ndarray:
    best = p_G >= p_G.max(-1, keepdims=True) - 1e-9
    share_G = best / np.maximum(best.sum(-1, keepdims=True), 1)
    return np.take_along_axis(share_G, np.maximum(label, 0)[..., None], -1)[..., 0]


def astray(seen: Watched, belief: np.ndarray, label: np.ndarray) -> np.ndarray:
    """How far what is believed lies from what turned out, in units of the board, along its axes; belief in no goal at
    all counts as far as the others on average."""
    place = seen.about_GZ[..., :2]
    truth = np.take_along_axis(place, np.maximum(label, 0)[..., None, None], -2)
    apart = np.abs(place - truth).sum(-1)
    own = np.where(seen.open_G, belief[..., : apart.shape[-1]], 0.0)
    return (own * apart).sum(-1) / np.maximum(own.sum(-1), 1e-9)


def reliability(sureness: np.ndarray, correct: np.ndarray) -> list[tuple[float, float, int]]:
    """Mean sureness, share of right guesses and number of beliefs, in bins that hold as many."""
    order = np.argsort(sureness, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part)]
    return [(float(sureness[part].mean()), float(correct[part].mean()), len(part)) for part in parts]


def calibration_error(rows: list[tuple[float, float, int]]) -> float:
    """The mean gap between how sure beliefs are and how often they are right (ECE)."""
    total = sum(count for _, _, count in rows)
    return sum(abs(sure - right) * count for sure, right, count in rows) / total if total else float("nan")


def time_to_belief(
    sure: np.ndarray, known: np.ndarray, label: np.ndarray, start: np.ndarray
) -> tuple[float, float, int]:
    """Over all stretches of one label: the median of steps, from 0, after which the belief is sure and stays so to the
    end of the stretch; the share that never is; how many there are. A median that never comes is infinite."""
    waits: list[float] = []
    for e in range(label.shape[1]):
        for o in range(label.shape[2]):
            cut = np.flatnonzero(np.diff(label[:, e, o]) != 0) + 1
            cut = np.union1d(cut, np.flatnonzero(start[:, e, o]))
            for part in np.split(np.arange(len(label)), cut):
                part = part[known[part, e, o]]
                if len(part):
                    doubts = np.flatnonzero(~sure[part, e, o])
                    last = -1 if not len(doubts) else doubts[-1]
                    waits.append(last + 1 if last + 1 < len(part) else np.inf)
    if not waits:
        return float("nan"), float("nan"), 0
    return float(np.median(waits)), float(np.isinf(waits).mean()), len(waits)


def by_game(return_TE: np.ndarray, ended_TE: np.ndarray, games: int) -> list[list[float]]:
    """For each of the first games in a world the returns of all worlds in which it was finished."""
    found: list[list[float]] = [[] for _ in range(games)]
    for e in range(return_TE.shape[1]):
        for k, t in enumerate(np.flatnonzero(ended_TE[:, e])[:games]):
            found[k].append(float(return_TE[t, e]))
    return found


def linear_probe(x_RF: np.ndarray, label_R: np.ndarray, train_R: np.ndarray, ridge: float = 1e-2) -> float:
    """Accuracy, on rows that were not fitted, of the best linear reading of labels (ridge on one-hot targets)."""
    if not train_R.any() or train_R.all():
        return float("nan")
    mean_F, std_F = x_RF[train_R].mean(0), np.maximum(x_RF[train_R].std(0), 1e-3)
    x = np.concatenate([(x_RF - mean_F) / std_F, np.ones((len(x_RF), 1))], axis=1)
    names = np.unique(label_R)
    wanted = (label_R[:, None] == names).astype(float)
    a = x[train_R]
    weights = np.linalg.solve(a.T @ a + ridge * len(a) * np.eye(a.shape[1]), a.T @ wanted[train_R])
    return float((names[(x[~train_R] @ weights).argmax(1)] == label_R[~train_R]).mean())


def plane(x_RZ: np.ndarray) -> np.ndarray:
    """[R, 2]: the two directions in which rows differ most, for a picture."""
    centred = x_RZ - x_RZ.mean(0)
    _, _, axes = np.linalg.svd(centred[:2000], full_matrices=False)
    flat = centred @ axes[:2].T
    return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))


def hit_ratio(decoded_RF: np.ndarray, later_RHF: np.ndarray, there_RH: np.ndarray, pool_MF: np.ndarray) -> float:
    """Share of guessed states that are really visited: whose nearest state is one of those to come, rather than any
    of a pool of others."""
    own = np.where(there_RH, ((later_RHF - decoded_RF[:, None]) ** 2).sum(-1), np.inf).min(-1)
    other = ((pool_MF[None] - decoded_RF[:, None]) ** 2).sum(-1).min(-1)
    counted: Any = there_RH.any(-1)
    return share(own <= other, counted)


def mean(x: np.ndarray, where: Any) -> float:
    return float(np.asarray(x)[where].mean()) if where.any() else float("nan")


def share(x: Any, where: np.ndarray) -> float:
    return mean(x * 1.0, where)
