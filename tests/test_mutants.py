"""The list of mutants stays true: `make mutants` shows that they are caught, this that they still can be made."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutants"))

from mutants import ROOT, SOURCE, Mutant, read_mutants

MUTANTS = read_mutants()


def test_every_mutant_still_applies_and_is_python():
    for mutant in MUTANTS:
        ast.parse(mutant.applied())


def test_every_test_named_with_a_mutant_is_there():
    known: dict[str, set[str]] = {}
    for test in {test for mutant in MUTANTS for test in mutant.tests}:
        file, _, name = test.partition("::")
        if file not in known:
            tree = ast.parse((ROOT / "tests" / file).read_text())
            known[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in known[file], test


def test_no_mutant_is_there_twice():
    patches = [(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS]
    assert len(patches) == len(set(patches))


def test_a_patch_that_fits_nowhere_or_twice_or_changes_nothing_is_an_error():
    for old, new in (("no such text", "x"), ("import", "x"), ("class Schedule:", "class Schedule:")):
        with pytest.raises(ValueError, match="expected once"):
            Mutant(file="core/schedules.py", old=old, new=new, tests=()).applied()


def test_every_room_has_mutants():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms - {mutant.file.partition("/")[0] for mutant in MUTANTS} == WITHOUT


WITHOUT = {"recipes"}
"""Rooms that only list settings."""
