"""Tests that only shuffle: what is alike may change places within its block, and nothing else is assumed."""

from collections.abc import Callable, Sequence
from itertools import permutations
from math import factorial
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

MOST_EXACT = 200_000
"""Arrangements up to which all are counted; beyond, this many are drawn."""
DRAWN = 20_000


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values that hold for all tests together (Holm 1979, jstor:4615733), whatever the tests share."""
    order = np.argsort(p_values)
    adjusted, largest = [1.0] * len(order), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def within_blocks(
    values_BN: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], seed: int = 0, drawn: int = DRAWN
) -> float:
    """How often shuffling within each block gives a statistic at least as large as the one that was seen.

    statistic(values_MBN) -> [M]. All arrangements are counted where they are few; else some are drawn, and the one that
    was seen counts among them, so that the p-value is never 0.
    """
    blocks, count = values_BN.shape
    seen = statistic(values_BN[None])[0]
    slack = 1e-9 * max(1.0, abs(seen))
    if factorial(count) ** blocks <= MOST_EXACT:
        every = statistic(_arrangements(values_BN))
        return float(np.mean(every >= seen - slack))
    random, hits, stretch = np.random.default_rng(seed), 0, max(1, 2_000_000 // values_BN.size)
    for first in range(0, drawn, stretch):
        copies = np.broadcast_to(values_BN, (min(stretch, drawn - first), blocks, count))
        hits += int((statistic(random.permuted(copies, axis=2)) >= seen - slack).sum())
    return (1 + hits) / (1 + drawn)


def _arrangements(values_BN: np.ndarray) -> np.ndarray:
    orders = np.asarray(list(permutations(range(values_BN.shape[1]))))
    found = values_BN[0][orders][:, None]
    for row_N in values_BN[1:]:
        own = row_N[orders]
        found = np.concatenate([np.repeat(found, len(own), 0), np.tile(own, (len(found), 1))[:, None]], axis=1)
    return found


def friedman(values_BN: np.ndarray) -> float:
    """p-value of "no column is better than another in the blocks", by ranks (Friedman 1937): here a block is a seed."""
    ranks_BN = rankdata(values_BN, axis=1)
    return within_blocks(
        ranks_BN, lambda x_MBN: ((x_MBN.sum(1) - x_MBN.sum((1, 2))[:, None] / x_MBN.shape[2]) ** 2).sum(1)
    )


def page(values_BN: np.ndarray) -> float:
    """p-value of "the columns are in no order" against "each is at least as large as the next", an order that was named
    beforehand (Page 1963, doi:10.2307/2282965)."""
    ranks_BN = rankdata(values_BN, axis=1)
    weight_N = np.arange(values_BN.shape[1], 0, -1)
    return within_blocks(ranks_BN, lambda x_MBN: (x_MBN * weight_N).sum((1, 2)))


class TwoWay(NamedTuple):
    """Two things that may both move a number, taken apart: the column it stands in, and the label it carries there."""

    column_p: float
    label_p: float
    column_N: np.ndarray
    """Mean of each column, less what its labels account for."""
    label_L: np.ndarray


def two_way(values_BN: np.ndarray, label_BN: np.ndarray, seed: int = 0, drawn: int = 2000) -> TwoWay:
    """p-values of both by shuffling within blocks what the other one leaves over (Freedman and Lane 1983,
    doi:10.1080/07350015.1983.10509354). Labels, numbered from 0, must change columns from block to block."""
    labels = int(label_BN.max()) + 1
    is_BNL = label_BN[..., None] == np.arange(labels)
    centred_BN = values_BN - values_BN.mean(axis=1, keepdims=True)
    label_L = (centred_BN[..., None] * is_BNL).sum((0, 1)) / np.maximum(is_BNL.sum((0, 1)), 1)
    column_N = (centred_BN - label_L[label_BN]).mean(axis=0)

    def by_column(x_MBN: np.ndarray) -> np.ndarray:
        return (x_MBN.mean(axis=1) ** 2).sum(-1)

    def by_label(x_MBN: np.ndarray) -> np.ndarray:
        return (np.einsum("mbn,bnl->ml", x_MBN, is_BNL.astype(float)) ** 2).sum(-1)

    column_p = within_blocks(centred_BN - label_L[label_BN], by_column, seed, drawn)
    label_p = within_blocks(centred_BN - centred_BN.mean(axis=0), by_label, seed, drawn)
    return TwoWay(column_p, label_p, column_N, label_L)
