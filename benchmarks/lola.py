"""Plain learners beside learners that foresee the other's step (LOLA), in iterated matrix games for two, exactly.

    python benchmarks/lola.py [--seeds 50] [--steps 1000]

Policies remember the last joint choice and begin at random. Games are those of `matrix:*`, and the prisoner's dilemma
as LOLA's authors scale it. Two numbers a row: the mean return of a step, and how often the first choice (cooperate,
stag, swerve, heads) is taken after the other took the second one alone, which is 0 for tit for tat.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

from sparring.games.registry import make
from sparring.learn.lola import Rates, earned_S, learned
from sparring.statistics.intervals import mean_interval

AUTHORS = np.array([[-1.0, -3.0], [0.0, -2.0]])
NAMES = ("prisoners_dilemma", "stag_hunt", "chicken", "matching_pennies")
WRONGED = 2
"""What seat 0 has seen last when it took the first choice and the other the second."""


def payoffs() -> dict[str, jax.Array]:
    games = {name: jnp.asarray(make(f"matrix:{name}").rules.payoff) for name in NAMES}
    return {"dilemma of the authors": jnp.asarray(np.stack([AUTHORS, AUTHORS.T])), **games}


def row(payoff: jax.Array, rates: Rates, arguments: argparse.Namespace) -> str:
    key = jax.random.key(arguments.seed)
    begun = jax.random.normal(key, (arguments.seeds, 2, 5, 2)) / np.sqrt(2)
    # Steps of one size in games of different stakes: payoffs are divided by how far they lie apart.
    stake = float(payoff.max() - payoff.min()) / 3
    logits = learned(begun, payoff / stake, arguments.discount, rates, steps=arguments.steps)
    earned_R = np.asarray(jax.vmap(lambda one: earned_S(one, payoff, arguments.discount))(logits)).mean(axis=1)
    found = mean_interval(earned_R)
    forgives = np.median(jax.nn.softmax(logits)[:, 0, WRONGED, 0])
    return f"{found.mean:8.2f} [{found.low:.2f}, {found.high:.2f}] {forgives:6.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--discount", type=float, default=0.96)
    parser.add_argument("--rate", type=float, default=5.0)
    parser.add_argument("--foreseen", type=float, default=5.0, help="the step that the other is taken to have")
    chosen = parser.parse_args()
    print(f"{'game':24}{'plain':>32}{'LOLA':>32}")
    for name, payoff in payoffs().items():
        plain, lola = (row(payoff, Rates(chosen.rate, foreseen), chosen) for foreseen in (0.0, chosen.foreseen))
        print(f"{name:24}{plain:>32}{lola:>32}")
