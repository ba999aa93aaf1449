"""Room for deep calls. CPython keeps the frames of its functions in pieces of 16 KiB: a call that begins a new piece
asks the system for it, and the return gives it back. JAX traces through hundreds of frames, so that some functions that
it calls without end sit at such an edge and do so with every call: about a seventh of the processor time in which a
tiny run begins whose programs are compiled already.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SLOTS = 1 << 16
"""Values for which a frame claims room, half a MiB that it never touches. Its piece is twice as large, and the rest is
room for more calls within each other than Python allows by itself."""


def roomy(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, such that all calls within it find their place in one piece."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=SLOTS)
    return wraps(function)(call)
