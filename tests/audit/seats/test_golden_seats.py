"""Faults that were in published code, re-created: each is found exactly, by players who want the same. And a rule that
looks suspicious and is fair."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sparring.audit.seats.claims import claimed
from sparring.audit.seats.exact import exact

PATH = Path(__file__).parents[3] / "benchmarks" / "seat_mutants.py"
PROBES = ("stubborn 1", "stubborn 2")


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seat_mutants", PATH)
    assert spec is not None and spec.loader is not None
    module = sys.modules["seat_mutants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "leaf"),
    [
        ("coin: tie to the first (old LOLA rule)", "step.reward_S"),
        ("snowdrift: moves in order of ids", "after.cell_S"),
        ("stag_hunt: leaked loop variable", "seen.features_SF"),
    ],
)
def test_a_fault_from_the_wild_is_found_exactly(mutants, name, leaf):
    mutant = mutants.GAMES[name]
    finding = exact(claimed(mutant.make(), mutant.alike), probes=PROBES).finding
    assert finding.outcome == "FAIL" and leaf in finding.numbers["leaves"]


def test_a_tie_that_is_drawn_by_lots_is_exactly_fair(mutants):
    finding = exact(mutants.CLEAN["coin, ties by lot"](), probes=PROBES).finding
    assert finding.outcome == "PASS" and "bit for bit" in finding.evidence


def test_there_are_twenty_mutants_and_more_of_all_three_kinds(mutants):
    assert len(mutants.GAMES) + len(mutants.TRAINING) + len(mutants.LOOPS) == 38
    assert {one.level for one in mutants.GAMES.values()} == {"L1"}
    assert {patch.level for patch in mutants.TRAINING.values()} == {"L4", "L5", "L8"}
