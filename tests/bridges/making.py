"""Policies as others write them, without any library: names and arrays."""

import re
from pathlib import Path

import numpy as np

from sparring.bridges.torch_loop import OpponentManager


def policy(value=0.0, count=0):
    """Two weights and a counter."""
    return {"w": np.full(2, value, np.float32), "count": np.array(count)}


def manager(save_dir=None, **words):
    return OpponentManager(save_dir=save_dir, **words)


def filled(*steps, save_dir=None, **words):
    """A manager whose pool has versions of these steps, each with its step as weight."""
    made = manager(save_dir, **words)
    for step in steps:
        made.add_to_pool(policy(step), step)
    return made


def guide_blocks():
    """The Python of the guide."""
    page = Path(__file__).parents[2] / "docs" / "guide" / "your-loop.md"
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
