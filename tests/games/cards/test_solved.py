"""Games at a table whose value is known, solved exactly; and starts that come as often as a tree believes."""

import jax
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from sparring.games import registry, tree
from sparring.games.trial import quick_jit

TABLES = (
    ("goofspiel", {}),
    ("kuhn", {}),
    ("leduc", {}),
    ("liars_dice", {}),
    ("liars_dice", {"faces": 3, "dice": 2}),
)


def constraints(sets: tree.Sets) -> csr_array:
    """[1 + I, Q]: the empty sequence is 1, and choices of a set have what the sequence before it has."""
    legal_IA = sets.legal_IA
    i, a = np.nonzero(legal_IA)
    rows = np.concatenate([[0], 1 + i, 1 + np.arange(len(legal_IA))])
    columns = np.concatenate([[0], 1 + i * legal_IA.shape[1] + a, sets.before_I])
    entries = np.concatenate([[1.0], np.ones(len(i)), -np.ones(len(legal_IA))])
    return csr_array((entries, (rows, columns)), shape=(1 + len(legal_IA), 1 + legal_IA.size))


def solved(known: tree.Tree) -> tuple[float, np.ndarray]:
    """Value and plan of seat 0, by the linear program of Koller, Megiddo and von Stengel (1994): the most that it can
    be sure of is the least that the other's best response leaves."""
    own, other = (constraints(sets) for sets in known.sets)
    shape = own.shape[1], other.shape[1]
    payoff = csr_array((known.weight_E * known.reward_SE[0], tuple(known.sequence_SE)), shape=shape)
    columns = np.append(0, 1 + np.flatnonzero(known.sets[1].legal_IA))
    bound = hstack([-payoff.T, other.T]).tocsr()[columns]
    aim = np.zeros(shape[0] + other.shape[0])
    aim[shape[0]] = -1.0
    equal, ones = hstack([own, csr_array((own.shape[0], other.shape[0]))]), np.eye(1, own.shape[0])[0]
    limits = [(0.0, None)] * shape[0] + [(None, None)] * other.shape[0]
    found = linprog(aim, bound, np.zeros(len(columns)), equal, ones, limits, method="highs")
    return -found.fun, found.x[: shape[0]]


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("kuhn", {"positions": "fixed"}, -1 / 18),
        ("leduc", {"positions": "fixed"}, -0.085606),
        ("leduc", {}, 0.0),
        ("liars_dice", {"positions": "fixed"}, -7 / 258),
        ("goofspiel", {"cards": 3}, 0.0),
    ],
)
def test_the_value_of_a_game_is_the_known_one_and_its_plan_cannot_be_exploited(
    name: str, options: dict, value: float
) -> None:
    known = tree.tree_of(registry.make(name, **options))
    found, plan_Q = solved(known)
    assert found == pytest.approx(value, abs=1e-6)
    least, _ = tree.best_response(known, [plan_Q, np.zeros(0)], seat=1)
    assert -least == pytest.approx(found, abs=1e-7)


def test_leduc_has_936_information_sets_and_liars_dice_24576() -> None:
    for name, sets in (("kuhn", 12), ("leduc", 936), ("liars_dice", 24_576)):
        known = tree.tree_of(registry.make(name, positions="fixed"))
        assert sum(len(own.legal_IA) for own in known.sets) == sets


@pytest.mark.parametrize(("name", "options"), TABLES)
def test_games_start_as_often_as_their_openings_say(name: str, options: dict) -> None:
    game = registry.make(name, **options)
    listed, weight_N = game.openings()
    count = 60 * len(weight_N)
    drawn = quick_jit(lambda game, keys: jax.vmap(game.start)(keys))(game, jax.random.split(jax.random.key(0), count))
    rows = [
        np.concatenate([np.asarray(x, float).reshape(len(x), -1) for x in state], axis=1) for state in (listed, drawn)
    ]
    number = {row.tobytes(): n for n, row in enumerate(rows[0])}
    times_N = np.bincount([number[row.tobytes()] for row in rows[1]], minlength=len(weight_N))
    spread = np.sum((times_N - count * weight_N) ** 2 / (count * weight_N))
    expected = len(weight_N) - 1
    assert abs(spread - expected) < 6.0 * np.sqrt(2.0 * expected)
