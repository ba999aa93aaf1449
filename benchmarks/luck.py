"""How much of what a choice seems to be worth is luck, and whose? Exact, in a game of turns whose tree is small.

    python benchmarks/luck.py leduc --temperature 0.1 --epsilon 0.05

Both seats play the logit equilibrium of that temperature (in units of reward) with so many random choices, found by
mirror descent over the whole tree. Prints what can be won of it without the random choices, the variance of an
advantage by what makes it, and the variance of the gradient of a policy (of its scores in one decision) as three
critics that see everything would leave it: one value, every choice judged, every choice judged and learned from.
"""

import argparse
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.records import Action
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.tree import policy_exploitability

STEP, SLOW, FIRST_TEMPERATURE = 0.2, 0.02, 0.5


class Level(NamedTuple):
    """All situations after so many choices, N, and the choices that lead on, E."""

    weight_N: np.ndarray
    whose_N: np.ndarray
    set_N: np.ndarray
    """The information set of who decides."""
    parent_E: np.ndarray
    choice_E: np.ndarray
    reward_E: np.ndarray
    """Of seat 0, where the game ends."""
    next_E: np.ndarray
    """The situation it leads to, -1 at the end."""


def grown(game: Game) -> tuple[list[Level], np.ndarray, np.ndarray]:
    """The levels of the tree, and the rows and legal entries of its information sets."""
    state, weight_N = jax.tree.map(np.asarray, game.openings())
    levels, number, rows, legal = [], {}, [], []
    while len(weight_N):
        seen = jax.tree.map(np.asarray, jax.vmap(game.observe)(state))
        whose_N = seen.acting_S.argmax(1)
        at = np.arange(len(whose_N)), whose_N
        for row, may in zip(seen.features_SF[at], seen.legal_SA[at], strict=True):
            if number.setdefault(row.tobytes(), len(rows)) == len(rows):
                rows.append(row)
                legal.append(may)
        set_N = np.array([number[row.tobytes()] for row in seen.features_SF[at]])
        parent_E, choice_E = np.nonzero(seen.legal_SA[at])
        choice_ES = np.zeros((len(parent_E), 2), np.int32)
        choice_ES[np.arange(len(parent_E)), whose_N[parent_E]] = choice_E
        before = jax.tree.map(lambda x, parent=parent_E: x[parent], state)
        done = Action(jnp.asarray(choice_ES[..., None]), jnp.zeros((len(parent_E), 2, 0)))
        after, step = jax.tree.map(np.asarray, jax.vmap(game.step, (0, 0, None))(before, done, ()))
        next_E = np.where(step.over, -1, np.cumsum(~step.over) - 1)
        levels.append(Level(weight_N, whose_N, set_N, parent_E, choice_E, step.reward_S[:, 0], next_E))
        state, weight_N = jax.tree.map(lambda x, on=~step.over: x[on], after), weight_N[parent_E][~step.over]
    return levels, np.array(rows), np.array(legal)


def worths(levels: list[Level], p_IA: np.ndarray, power: int = 1) -> list[np.ndarray]:
    """q_NA of every level: what seat 0 earns on average after each choice; with power 2, its square."""
    found, value_N = [], np.zeros(0)
    for level in reversed(levels):
        worth_E = np.where(level.next_E < 0, level.reward_E**power, np.append(value_N, 0.0)[level.next_E])
        q_NA = np.zeros((len(level.weight_N), p_IA.shape[1]))
        q_NA[level.parent_E, level.choice_E] = worth_E
        value_N = (p_IA[level.set_N] * q_NA).sum(1)
        found.append(q_NA)
    return found[::-1]


def reaches(levels: list[Level], p_IA: np.ndarray) -> list[np.ndarray]:
    """reach_NS of every level: how likely each seat's own choices lead there."""
    found = [np.ones((len(levels[0].weight_N), 2))]
    for level in levels[:-1]:
        on = level.next_E >= 0
        parent, choice = level.parent_E[on], level.choice_E[on]
        reach = found[-1][parent].copy()
        reach[np.arange(len(parent)), level.whose_N[parent]] *= p_IA[level.set_N[parent], choice]
        found.append(reach)
    return found


def advantages(levels: list[Level], p_IA: np.ndarray) -> np.ndarray:
    """What each choice is worth to who decides, on average over what it cannot see."""
    total_IA, weight_I = np.zeros(p_IA.shape), np.zeros(len(p_IA))
    for level, q_NA, reach_NS in zip(levels, worths(levels, p_IA), reaches(levels, p_IA), strict=True):
        sign_N = np.where(level.whose_N == 0, 1.0, -1.0)
        others_N = level.weight_N * reach_NS[np.arange(len(sign_N)), 1 - level.whose_N]
        np.add.at(total_IA, level.set_N, (others_N * sign_N)[:, None] * q_NA)
        np.add.at(weight_I, level.set_N, others_N)
    return total_IA / np.maximum(weight_I, 1e-30)[:, None]


def equilibrium(levels: list[Level], legal_IA: np.ndarray, temperature: float, epsilon: float, rounds: int):
    """The bare policy, and the one with random choices that plays.

    The temperature falls over the first half, and scores are pulled to their slow average: where they rest that pull
    is zero, and without it mirror descent circles at low temperatures.
    """
    uniform_IA = legal_IA / legal_IA.sum(1, keepdims=True)
    score_IA = slow_IA = np.zeros(legal_IA.shape)
    bare_IA = playing_IA = uniform_IA
    for number in range(rounds):
        now = max(temperature, FIRST_TEMPERATURE * (1 - 2 * number / rounds))
        worth_IA = advantages(levels, playing_IA)
        worth_IA -= (playing_IA * worth_IA).sum(1, keepdims=True)
        score_IA = (score_IA + STEP * (worth_IA + slow_IA)) / (1 + STEP * (now + 1))
        slow_IA = slow_IA + SLOW * (score_IA - slow_IA)
        possible_IA = np.where(legal_IA, score_IA, -np.inf)
        bare_IA = np.exp(possible_IA - possible_IA.max(1, keepdims=True))
        bare_IA /= bare_IA.sum(1, keepdims=True)
        playing_IA = (1 - epsilon) * bare_IA + epsilon * uniform_IA
    return bare_IA, playing_IA


def variances(levels: list[Level], p_IA: np.ndarray) -> dict[str, float]:
    """By what makes them, the mean over decisions."""
    names = ("own choice", "later choices", "hidden", "one value", "judged", "judged and all learned from")
    sums, decisions, mean_IA = dict.fromkeys(names, 0.0), 0.0, advantages(levels, p_IA)
    parts = zip(levels, worths(levels, p_IA), worths(levels, p_IA, 2), reaches(levels, p_IA), strict=True)
    for level, q_NA, square_NA, reach_NS in parts:
        p_NA, weight_N = p_IA[level.set_N], level.weight_N * reach_NS.prod(1)
        sign_N1 = np.where(level.whose_N == 0, 1.0, -1.0)[:, None]
        advantage_NA = sign_N1 * (q_NA - (p_NA * q_NA).sum(1, keepdims=True))
        later_NA = square_NA - q_NA**2
        seen_NA = mean_IA[level.set_N]
        seen_NA = seen_NA - (p_NA * seen_NA).sum(1, keepdims=True)
        moved_NA = 1 - 2 * p_NA + (p_NA**2).sum(1, keepdims=True)  # squared length of a score's gradient
        found = (
            p_NA * advantage_NA**2, p_NA * later_NA, p_NA * (advantage_NA - seen_NA) ** 2,
            p_NA * (advantage_NA**2 + later_NA) * moved_NA, p_NA * advantage_NA**2 * moved_NA,
            p_NA**2 * advantage_NA**2,
        )  # fmt: skip
        decisions += weight_N.sum()
        for name, part_NA in zip(names, found, strict=True):
            sums[name] += (weight_N[:, None] * part_NA).sum()
    return {name: total / decisions for name, total in sums.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--epsilon", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=2000)
    arguments = parser.parse_args()
    game = registry.make(arguments.game)
    levels, rows, legal_IA = grown(game)
    bare_IA, playing_IA = equilibrium(levels, legal_IA, arguments.temperature, arguments.epsilon, arguments.rounds)
    number = {row.tobytes(): i for i, row in enumerate(rows)}

    def probabilities(_: int, features_IF: np.ndarray, __: np.ndarray) -> np.ndarray:
        return bare_IA[[number[row.tobytes()] for row in features_IF]]

    print(f"exploitability of the bare policy: {policy_exploitability(game, probabilities):.4f}")
    for name, variance in variances(levels, playing_IA).items():
        print(f"{name:28} variance {variance:.3f}, deviation {variance**0.5:.3f}")


if __name__ == "__main__":
    main()
