"""Draws the pictures of docs/concepts/ppo.md and prints the numbers that the page quotes.

Run from the root of the repository: python docs/drawings/ppo.py [FOLDER]. Without a folder: docs/images.
"""

import sys
from collections.abc import Callable
from math import log, pi
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr

from sparring.learn.losses import clipped_surrogate, clipped_value_error, spo_surrogate

# Okabe and Ito's colours: told apart with any kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#777777"
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}

CLIP = 0.2
OLD_VALUE, TARGET = 1.0, 2.0
WORKED = (1.5, 0.7)
"""Predicted values of the two worked examples of value clipping."""
SIGMAS = (0.01, 0.1, 0.5, 1.0, 2.0)
DISTANCES = (0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
SAMPLES, REPEATS = 1000, 400
NOISES = (0.5, 1.0, 2.0)
STEPS, ADVANTAGE = 20, 5.0
"""An action turns out to be worth ADVANTAGE more than expected, STEPS steps after it was taken."""


def log_density(x: np.ndarray | float, mean: float, std: float) -> np.ndarray:
    """Logarithm of a Gaussian's density."""
    return -0.5 * np.square((x - mean) / std) - log(std) - 0.5 * log(2 * pi)


def importance_variance(distance: np.ndarray | float) -> np.ndarray:
    """Variance of x p(x)/q(x) for x from q = N(0, 1), where p = N(distance, 1): one term of the estimate of p's mean.

    p²/q is exp(distance²) times the density of N(2 distance, 1), whose second moment is 1 + 4 distance².
    """
    square = np.square(distance)
    return np.exp(square) * (1 + 4 * square) - square


def sampled_variance(distance: float, rng: np.random.Generator) -> np.ndarray:
    """The same variance as REPEATS people would find it, each from SAMPLES draws of q."""
    x = rng.standard_normal((REPEATS, SAMPLES))
    ratio = np.exp(log_density(x, distance, 1.0) - log_density(x, 0.0, 1.0))
    return (x * ratio).var(axis=1, ddof=1)


def value_loss(value: Any) -> Any:
    """What the critic minimises at this value."""
    return clipped_value_error(value, OLD_VALUE, TARGET, CLIP)  # pyright: ignore[reportArgumentType]


def advantage_error(decay: float, surprise_T: np.ndarray, noise: float) -> tuple[float, float]:
    """Squared bias and variance of GAE's advantage of the first step, with discount 1.

    `surprise_T` is the mean of each step's TD error, so their sum is the true advantage; `noise` is the deviation of
    each reward, independent from step to step, which no critic can foresee.
    """
    weight_T = float(decay) ** np.arange(len(surprise_T))
    bias = (weight_T * surprise_T).sum() - surprise_T.sum()
    return float(bias**2), float(noise**2 * (weight_T**2).sum())


def foreseen() -> np.ndarray:
    """A critic that sees the reward come, a little more clearly at each step."""
    return np.full(STEPS, ADVANTAGE / STEPS)


def unforeseen() -> np.ndarray:
    """A critic that knows nothing of the reward until it is paid."""
    return np.eye(STEPS)[-1] * ADVANTAGE


def best_decay(surprise_T: np.ndarray, noise: float) -> float:
    """The decay of the smallest mean squared error, to two decimals."""
    decays = np.linspace(0, 1, 101)
    return float(decays[np.argmin([sum(advantage_error(decay, surprise_T, noise)) for decay in decays])])


def draw_clip() -> Figure:
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    ratio = np.linspace(0, 2, 401)
    for axis, advantage in zip(axes, (1.0, -1.0), strict=True):
        flat = (1 + CLIP, 2.0) if advantage > 0 else (0.0, 1 - CLIP)
        axis.axvspan(*flat, color=BLUE, alpha=0.1, lw=0)
        axis.axvline(1, color=GREY, lw=0.8, ls=":")
        clipped = -np.asarray(clipped_surrogate(jnp.asarray(ratio), jnp.asarray(advantage), CLIP))
        spo = -np.asarray(spo_surrogate(jnp.asarray(ratio), jnp.asarray(advantage), CLIP))
        axis.plot(ratio, ratio * advantage, color=GREY, ls="--", label=r"not clipped: ratio $\cdot$ A")
        axis.plot(ratio, spo, color=ORANGE, label="SPO: quadratic penalty")
        axis.plot(ratio, clipped, color=BLUE, lw=3, label="PPO: clipped")
        axis.text(np.mean(flat), -2.45, "PPO: no gradient", color=BLUE, ha="center", fontsize=10)
        for case, where in zip((1, 2) if advantage > 0 else (3, 4), (1.5, 0.5), strict=True):
            height = np.interp(where, ratio, clipped)
            axis.plot(where, height, "o", color="white", mec=BLUE, ms=16, mew=1.5)
            axis.text(where, height, str(case), color=BLUE, ha="center", va="center_baseline", fontsize=10)
        good = "good action, A = +1" if advantage > 0 else "bad action, A = $-1$"
        axis.set(title=good, xlabel=r"ratio = $\pi_{new}(a|s)$ / $\pi_{old}(a|s)$", xlim=(0, 2), ylim=(-2.6, 2.1))
        axis.set_xticks([0, 0.5, 1 - CLIP, 1, 1 + CLIP, 1.5, 2], ["0", "0.5", "0.8", "1", "1.2", "1.5", "2"])
    axes[0].set_ylabel("objective, to be raised")
    axes[0].legend(loc="upper left", frameon=False, fontsize=10)
    return figure


def draw_importance() -> Figure:
    figure, axis = plt.subplots(figsize=(7.5, 4.4))
    rng = np.random.default_rng(0)
    distance = np.linspace(0, 3.1, 200)
    axis.semilogy(distance, importance_variance(distance), color=BLUE, lw=2.5, label="exact")
    dots = np.arange(0.0, 3.1, 0.25)
    low, middle, high = np.transpose([np.quantile(sampled_variance(d, rng), (0.05, 0.5, 0.95)) for d in dots])
    label = f"found in {SAMPLES} samples (median, 5 to 95 %)"
    axis.errorbar(dots, middle, (middle - low, high - middle), fmt="o", ms=5, color=ORANGE, capsize=3, label=label)
    axis.axhline(1, color=GREY, ls="--", label="samples of the new policy itself")
    axis.set(
        xlabel="distance of the two means, in standard deviations",
        ylabel="variance of a weighted sample",
        xlim=(-0.1, 3.1),
    )
    axis.legend(frameon=False, loc="upper left")
    return figure


def draw_gaussians() -> Figure:
    figure, axis = plt.subplots(figsize=(8, 4.4))
    x = np.sort(np.concatenate([np.linspace(-5, 5, 1001), np.linspace(-0.06, 0.06, 401)]))
    axis.axvspan(-1, 1, color=GREY, alpha=0.15, lw=0)
    for sigma, color in zip(SIGMAS, ("black", PURPLE, GREEN, BLUE, ORANGE), strict=True):
        label = rf"$\sigma$ = {sigma:g}: {outside(sigma)} beyond ±1"
        axis.semilogy(x, np.exp(np.maximum(log_density(x, 0.0, sigma), -50)), color=color, lw=2, label=label)
    axis.annotate("from $-1$ to 1", (-1, 60), (-1.2, 60), color=GREY, ha="right", va="center")
    axis.set(xlabel="action", ylabel="density (logarithmic)", xlim=(-5, 5), ylim=(1e-3, 100))
    axis.legend(frameon=False, loc="upper right", fontsize=10)
    return figure


def outside(sigma: float, bound: float = 1.0) -> str:
    """Share of a Gaussian about 0 beyond plus and minus the bound, as the page writes it."""
    share = 100 * 2 * float(ndtr(-bound / sigma))
    return "0 %" if share < 0.05 else f"{share:.1f} %"


def draw_value_clip() -> Figure:
    figure, axis = plt.subplots(figsize=(8, 4.4))
    value = np.linspace(0.3, 3.2, 600)
    held = np.clip(value, OLD_VALUE - CLIP, OLD_VALUE + CLIP)
    axis.axvspan(OLD_VALUE - CLIP, OLD_VALUE + CLIP, color=GREY, alpha=0.15, lw=0)
    axis.plot(value, value_loss(value), color=BLUE, lw=5, alpha=0.45, label="the larger: what is minimised")
    axis.plot(value, (value - TARGET) ** 2, color=GREY, ls="--", label="of the value as it is")
    axis.plot(value, (held - TARGET) ** 2, color=ORANGE, ls="-.", label="of the value held within 0.2 of the old one")
    axis.text(OLD_VALUE, 0.08, "within 0.2\nof the old value", color=GREY, ha="center", fontsize=9)
    for point in WORKED:
        height, slope = (float(number) + 0.0 for number in jax.value_and_grad(value_loss)(point))
        axis.plot(point, height, "o", color="black", ms=7)
        text = f"v = {point}: loss {height:.2f}, gradient ${slope:.2g}$"
        axis.annotate(text, (point, height), (12, 8), textcoords="offset points")
    axis.set(xlabel="predicted value v (old value 1, target 2)", ylabel="squared error", xlim=(0.3, 3.2), ylim=(0, 2.6))
    axis.legend(frameon=False, loc="upper right", fontsize=10)
    return figure


def draw_lambda() -> Figure:
    figure, (parts, sums) = plt.subplots(1, 2, figsize=(9.5, 4.2))
    decays = np.linspace(0, 1, 201)
    bias, variance = np.transpose([advantage_error(decay, foreseen(), 1.0) for decay in decays])
    parts.plot(decays, bias, color=ORANGE, ls="--", label="bias²: the critic does not know yet")
    parts.plot(decays, variance, color=SKY, ls="-.", lw=2, label="variance: rewards are random")
    parts.plot(decays, bias + variance, color=BLUE, lw=2.5, label="their sum")
    parts.set(title="noise 1 in each reward", ylabel="squared error of the advantage")
    for noise, color in zip(NOISES, (GREEN, BLUE, PURPLE), strict=True):
        total = np.array([sum(advantage_error(decay, foreseen(), noise)) for decay in decays])
        best = best_decay(foreseen(), noise)
        sums.plot(decays, total, color=color, lw=2.5, label=f"noise {noise:g}: best λ {best:.2f}")
        sums.plot(best, np.interp(best, decays, total), "o", color=color, ms=8)
    sums.set(title="the more noise, the lower the best λ")
    for axis in (parts, sums):
        axis.set(xlabel="λ", xlim=(0, 1.01), ylim=(0, 45))
        axis.legend(frameon=False, loc="upper left", fontsize=10)
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "ppo-clip.png": draw_clip,
    "ppo-importance.png": draw_importance,
    "ppo-gaussians.png": draw_gaussians,
    "ppo-value-clip.png": draw_value_clip,
    "ppo-lambda.png": draw_lambda,
}


def rows() -> list[str]:
    """Rows of the page's tables: importance sampling, best decays, Gaussians, what becomes of a clipped action."""
    rng = np.random.default_rng(1)
    lines = []
    for d in DISTANCES:
        found = float(np.median(sampled_variance(d, rng)))
        lines.append(f"| {d:g} | {d**2 / 2:.4g} | {short(float(importance_variance(d)))} | {short(found)} |")
    for noise in NOISES:
        lines.append(f"| {noise:g} | {best_decay(foreseen(), noise):.2f} | {best_decay(unforeseen(), noise):.2f} |")
    for sigma in SIGMAS:
        entropy = log(sigma) + 0.5 * log(2 * pi) + 0.5
        peak = np.exp(log_density(0.0, 0.0, sigma))
        lines.append(f"| {sigma:g} | {peak:.3g} | {outside(sigma)} | {entropy:.2f} |")
    for action in (3.1, 1.0):
        before, after = (log_density(action, mean, 0.1) for mean in (3.0, 3.01))
        gradient = (action - 3.0) / 0.1**2
        lines.append(f"| {action} | {before:.1f} | {gradient:.0f} | {np.exp(after - before):.2f} |")
    return lines


def short(number: float) -> str:
    """Three digits that count, without an exponent."""
    return f"{float(f'{number:.3g}'):,.6g}" if number < 100 else f"{float(f'{number:.3g}'):,.0f}"


def draw(folder: Path) -> list[Path]:
    """Every picture, into the folder; the same bytes each time with the same Matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for name, picture in DRAWINGS.items():
            figure = picture()
            figure.savefig(folder / name, dpi=110, metadata={"Software": None})
            plt.close(figure)
    return [folder / name for name in DRAWINGS]


if __name__ == "__main__":
    print("\n".join(rows()))
    for path in draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")):
        print(f"wrote {path}")
