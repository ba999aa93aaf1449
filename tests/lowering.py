"""Writes programs sooner: half of the time in which JAX writes the text of one operation goes into the making of an
MLIR context for it, and one context serves any number of texts. This reaches into JAX, and is left out where a version
of it has not what is replaced."""

import threading
from typing import Any

from jax._src.interpreters import mlir

PROGRAMS = 200
"""Written in one context before the next is made: it keeps all that it has seen."""


def keep_contexts() -> None:
    """Every thread writes all its programs in its own context, until that has served its time."""
    make, of_thread = getattr(mlir, "make_ir_context", None), threading.local()
    if make is None or make.__name__ == "kept":
        return

    def kept() -> Any:
        context, written = getattr(of_thread, "kept", (None, PROGRAMS))
        if written == PROGRAMS:
            context, written = make(), 0
        of_thread.kept = context, written + 1
        return context

    mlir.make_ir_context = kept
