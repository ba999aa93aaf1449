"""The learners with minds in a Python loop, beside which the library's speed is measured: they still play and learn."""

import importlib.util
from pathlib import Path

import jax
import numpy as np

PATH = Path(__file__).parents[2] / "benchmarks" / "mind_loop.py"


def test_learners_in_a_python_loop_play_and_all_of_them_learn():
    spec = importlib.util.spec_from_file_location("mind_loop", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loop = module.Loop({"mind": "belief", "steps": 36, "mind_updates": 1, "mind_buffer": 32, "mind_batch": 8}, 4)
    before = [jax.tree.map(np.asarray, learner.model.actor) for learner in loop.learners]
    for old, new in zip(before, loop(), strict=True):
        for part in ("trunk", "fusion", "mind"):
            was, now = (jax.tree.leaves(getattr(actor, part)) for actor in (old, new.model.actor))
            assert any(np.any(a != b) for a, b in zip(was, now, strict=True)), part
            assert all(np.isfinite(x).all() for x in now)
