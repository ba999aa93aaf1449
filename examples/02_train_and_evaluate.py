"""Train predators and prey against each other, then read what the run left behind."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from sparring.recipes.catalogue import tag
from sparring.store.run_dir import RunDir
from sparring.training.runs import start

config = tag()
if os.environ.get("SPARRING_QUICK"):  # a look at the mechanics: nothing is learned in so few steps
    config = replace(config, total_steps=50_000, evaluation=replace(config.evaluation, eval_every=0, eval_games=8))

with tempfile.TemporaryDirectory() as folder:
    summary = start(config, Path(folder) / "tag")
    for score in summary.scores:
        print(f"side {score.side}: {score.team:8} against {score.opponents:8} {score.mean_return.mean:8.2f} a seat")
    lines = RunDir.open(Path(folder) / "tag").metrics()
    last = [line for line in lines if line["kind"] == "train"][-1]
    print("last training games:", {key: value for key, value in last.items() if key.startswith("return/")})
