"""Frozen records survive JSON field by field, and what a file says is not believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

from sparring.core.plain import from_plain, to_plain


class Pair(NamedTuple):
    left: int
    right: float = 0.0


@dataclass(frozen=True)
class Leaf:
    name: str
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Tree:
    """One field of every kind."""

    whole: int = 1
    real: float = 0.1
    truth: bool = True
    text: str = "a"
    kind: Literal["oak", "ash"] = "oak"
    maybe: int | None = None
    leaf: Leaf = field(default_factory=lambda: Leaf("first"))
    several: tuple[Leaf, ...] = ()
    both: tuple[int, str] = (3, "b")
    pair: Pair = field(default_factory=lambda: Pair(2, 0.5))
    known: frozenset[Leaf] = frozenset()
    numbers: dict[str, float] = field(default_factory=dict)
    by_leaf: Mapping[Leaf, Pair] = field(default_factory=dict)
    array: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))


def again(value: Any) -> Any:
    return from_plain(type(value), json.loads(json.dumps(to_plain(value))))


def same(one: Tree, other: Tree) -> bool:
    rest = [{**vars(tree), "array": None} for tree in (one, other)]
    alike = one.array.dtype == other.array.dtype and one.array.shape == other.array.shape
    return rest[0] == rest[1] and alike and np.array_equal(one.array, other.array)


FULL = Tree(
    maybe=4, kind="ash", several=(Leaf("x"), Leaf("y", 2.0)), known=frozenset({Leaf("x"), Leaf("z", 0.25)}),
    numbers={"one third": 1 / 3}, by_leaf={Leaf("x"): Pair(7), Leaf("y"): Pair(8, 1e-300)},
    array=np.array([[0.1, 1 / 3], [-1e17, 5.0]]),
)  # fmt: skip


@pytest.mark.parametrize("tree", [Tree(), FULL], ids=["defaults", "full"])
def test_a_record_survives_json_bit_by_bit(tree):
    assert same(again(tree), tree)
    assert to_plain(again(tree)) == to_plain(tree)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros((2, 0, 3)),
        np.array(5),
        np.arange(6).reshape(1, 2, 3),
        np.array([True, False]),
        np.array([2**62, -(2**63)]),
        np.array([0.0, 1.0]),  # whole numbers stay real ones
    ],
)
def test_an_array_keeps_its_shape_and_kind(array):
    assert same(again(Tree(array=array)), Tree(array=array))


def test_numbers_of_arrays_become_plain_ones():
    plain = to_plain(Tree(whole=np.int64(3), real=np.float64(0.1), truth=np.bool_(False)))  # type: ignore[arg-type]
    assert json.dumps([plain["whole"], plain["real"], plain["truth"]]) == "[3, 0.1, false]"


def test_the_order_of_a_set_does_not_show():
    leaves = [Leaf(letter) for letter in "abcdefgh"]
    assert to_plain(frozenset(leaves)) == to_plain(frozenset(reversed(leaves)))


def test_a_number_that_is_whole_can_stand_for_a_real_one_and_not_the_other_way_round():
    assert from_plain(Leaf, {"name": "x", "weight": 2}) == Leaf("x", 2.0)
    assert type(from_plain(Leaf, {"name": "x", "weight": 2}).weight) is float
    with pytest.raises(ValueError, match=r"Pair\.left: expected int, found '2\.0'"):
        from_plain(Pair, [2.0, 1.0])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("whole", "1", r"Tree\.whole: expected int, found '1'"),
        ("whole", True, r"Tree\.whole: expected int"),
        ("whole", None, r"Tree\.whole: expected int"),
        ("real", "0.1", r"Tree\.real: expected float"),
        ("real", True, r"Tree\.real: expected float"),
        ("truth", 1, r"Tree\.truth: expected bool"),
        ("text", 5, r"Tree\.text: expected str"),
        ("text", ["a"], r"Tree\.text: expected str"),
        ("kind", "elm", r"Tree\.kind: expected one of \('oak', 'ash'\), found 'elm'"),
        ("kind", ["oak"], r"Tree\.kind: expected one of"),
        ("maybe", "4", r"Tree\.maybe: expected int"),
        ("leaf", {"name": "x"}, r"Tree\.leaf: expected a Leaf"),
        ("leaf", {"name": "x", "weight": 1.0, "more": 1}, r"Tree\.leaf: expected a Leaf"),
        ("leaf", ["x", 1.0], r"Tree\.leaf: expected a Leaf"),
        ("leaf", {"name": 3, "weight": 1.0}, r"Tree\.leaf\.name: expected str"),
        ("several", {"name": "x"}, r"Tree\.several: expected a list"),
        ("several", [{"name": "x", "weight": "heavy"}], r"Tree\.several\.weight: expected float"),
        ("both", [3], r"Tree\.both: expected 2 entries"),
        ("both", [3, 4], r"Tree\.both: expected str"),
        ("pair", [2], r"Tree\.pair: expected 2 entries"),
        ("pair", {"left": 2}, r"Tree\.pair: expected 2 entries"),
        ("pair", [2, "x"], r"Tree\.pair\.right: expected float"),
        ("known", "x", r"Tree\.known: expected a list"),
        ("numbers", {"a": 1.0}, r"Tree\.numbers: expected a list of pairs"),
        ("numbers", [["a"]], r"Tree\.numbers: expected a list of pairs"),
        ("numbers", ["ab"], r"Tree\.numbers: expected a list of pairs"),
        ("numbers", [["a", "b"]], r"Tree\.numbers: expected float"),
        ("by_leaf", [["x", [1, 1.0]]], r"Tree\.by_leaf: expected a Leaf"),
        ("array", [1, 2], r"Tree\.array: expected an array"),
        ("array", {"shape": [2]}, r"Tree\.array: expected an array"),
        ("array", {"shape": [3], "values": [1, 2]}, r"Tree\.array: expected \(3,\) numbers"),
        ("array", {"shape": [-1], "values": [1]}, r"Tree\.array: expected \(-1,\) numbers"),
        ("array", {"shape": "2", "values": [1, 2]}, r"Tree\.array\.shape: expected a list"),
        ("array", {"shape": [2], "values": "12"}, r"Tree\.array: expected a list of numbers"),
        ("array", {"shape": [2], "values": [1, "2"]}, r"Tree\.array: expected truths alone or numbers alone"),
        ("array", {"shape": [2], "values": [1, True]}, r"Tree\.array: expected truths alone or numbers alone"),
        ("array", {"shape": [2], "values": [1, None]}, r"Tree\.array: expected truths alone or numbers alone"),
        ("array", {"shape": [2], "values": [[1], [2, 3]]}, r"Tree\.array: expected truths alone or numbers alone"),
        ("array", {"shape": [1], "values": [2**70]}, r"Tree\.array: a number is too large"),
    ],
)
def test_what_is_of_another_kind_is_refused_and_its_field_is_named(name, value, says):
    with pytest.raises(ValueError, match=f"^{says}"):
        from_plain(Tree, {**to_plain(FULL), name: value})


@pytest.mark.parametrize("plain", [None, [], "Tree", {}, {"whole": 1}])
def test_what_is_no_such_record_at_all_is_refused(plain):
    with pytest.raises(ValueError, match="Tree: expected a Tree"):
        from_plain(Tree, plain)


def test_what_cannot_be_saved_is_told():
    with pytest.raises(TypeError, match="of no kind that can be saved"):
        to_plain(Tree(text=object()))  # type: ignore[arg-type]


def test_a_long_value_is_told_in_short():
    with pytest.raises(ValueError) as refused:
        from_plain(int, "x" * 10**6)  # type: ignore[type-var]
    assert len(str(refused.value)) < 120
