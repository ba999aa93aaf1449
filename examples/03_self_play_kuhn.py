"""Kuhn poker against oneself, judged exactly: how much could a best response win against the learned policy?"""

import os
import tempfile
from pathlib import Path

from sparring import default_config, start
from sparring.store.run_dir import RunDir

steps = 30_000 if os.environ.get("SPARRING_QUICK") else 1_000_000
config = default_config("kuhn", total_steps=steps, eval_times=10, eval_games=8)

with tempfile.TemporaryDirectory() as folder:
    start(config, Path(folder) / "kuhn")
    for line in RunDir.open(Path(folder) / "kuhn").metrics():
        if line["kind"] == "eval":
            print(f"{line['steps']:>9,} steps  exploitability {line['exploitability']:.4f}  (uniform play: 0.4583)")
