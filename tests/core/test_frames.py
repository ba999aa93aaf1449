"""Room for deep calls."""

import pytest

from sparring.core.frames import roomy

resource = pytest.importorskip("resource", reason="page faults are counted by POSIX")

CALLS = 200
"""Of a function without content from every depth."""


def leaf(*_: int) -> None:
    pass


def pages(depth: int) -> list[int]:
    """Pages of memory that the system handed out during the calls from each depth, the deepest first."""
    deeper = pages(depth - 1) if depth else []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        leaf(number)
    return [*deeper, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before]


def test_no_depth_of_calls_asks_the_system_for_memory_again_and_again():
    roomy(pages)(300)  # what is needed once
    assert max(roomy(pages)(300)) < CALLS / 2


def test_a_roomy_function_is_the_function():
    @roomy
    def divided(number: int, *, by: int = 2) -> float:
        """A quotient."""
        return number / by

    assert divided(6) == 3 and divided(6, by=3) == 2
    assert (divided.__name__, divided.__doc__) == ("divided", "A quotient.")
    with pytest.raises(ZeroDivisionError):
        divided(1, by=0)
