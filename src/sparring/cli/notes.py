"""Remarks on standard error: what a user should know although the command goes on."""

import sys

from sparring.store.checkpoints import Checkpoint


def note(line: str) -> None:
    print(f"note: {line}", file=sys.stderr)


def note_damage(checkpoint: Checkpoint | None) -> None:
    """Name every newer checkpoint that had to be passed over."""
    if checkpoint is None:
        return
    for line in checkpoint.skipped:
        note(f"{line} The checkpoint of iteration {checkpoint.iteration} is used instead.")
