"""Kuhn poker against oneself, judged exactly: how much could a best response win against the learned policy?"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from sparring.recipes.catalogue import kuhn
from sparring.store.run_dir import RunDir
from sparring.training.runs import start

config = kuhn()
if os.environ.get("SPARRING_QUICK"):
    config = replace(config, total_steps=100_000, evaluation=replace(config.evaluation, eval_every=4, eval_games=8))

with tempfile.TemporaryDirectory() as folder:
    start(config, Path(folder) / "kuhn")
    for line in RunDir.open(Path(folder) / "kuhn").metrics():
        if line["kind"] == "eval":
            print(f"{line['steps']:>9,} steps  exploitability {line['exploitability']:.4f}  (uniform play: 0.4583)")
