"""Phantom tic-tac-toe and abrupt dark hex: our defaults beside the settings of a public sweep, judged exactly.

    python benchmarks/unseen.py                                    # both games, all settings, three seeds
    python benchmarks/unseen.py phantom_tic_tac_toe --settings ours --steps 1000000
    python benchmarks/unseen.py --settings ours --seeds 1 --stretch 50     # how long the whole would take

`ppo` and `mmd` have the best rows of that sweep (arXiv:2502.08938) after 10 million steps: step sizes, bonus, clip, KL,
epochs, minibatches, steps an update; worlds are ours, as many as make the same batch, and so are the networks.
"""

import argparse
import json
from pathlib import Path

import jax
import numpy as np

from exact import exact, stretch
from sparring.recipes.defaults import default_config
from sparring.setup.config import RunConfig

GAMES = {"phantom_tic_tac_toe": (), "dark_hex": ("variant=abrupt",)}
COMMON = {
    "self_play": "naive", "decay": 0.95, "discount": 0.99, "epsilon": 0.0, "critic": "local", "entropy": 0.05,
    "normalise_advantage": "minibatch", "advantage": "gae",
}  # fmt: skip
FIXED = {"loss": "clip_kl", "kl_min": 0.0, "kl_max": 1e6}
SWEEP = {
    ("phantom_tic_tac_toe", "ppo"): {
        "learning_rate": "2.5e-4 -> 0", "clip": 0.1, "value_clip": 0.1, "epochs": 4, "minibatches": 4, "worlds": 64,
        "steps": 16, "value_weight": 0.5, "max_grad_norm": 0.5,
    },
    ("phantom_tic_tac_toe", "mmd"): {
        "learning_rate": "2.5e-4 -> 0", "clip": 0.1, "value_clip": 0.1, "epochs": 4, "minibatches": 4, "worlds": 64,
        "steps": 16, "value_weight": 0.5, "max_grad_norm": 0.5, "kl_weight": 0.05, **FIXED,
    },
    ("dark_hex", "ppo"): {
        "learning_rate": "2.5e-4 -> 0", "clip": 0.025, "value_clip": 0.025, "epochs": 4, "minibatches": 8,
        "worlds": 128, "steps": 16, "value_weight": 0.0625, "max_grad_norm": 2.0,
    },
    ("dark_hex", "mmd"): {
        "learning_rate": "6.25e-5 -> 0", "clip": 0.8, "value_clip": 0.8, "epochs": 2, "minibatches": 32, "worlds": 32,
        "steps": 8, "value_weight": 0.0625, "max_grad_norm": 0.5, "kl_weight": 0.1, **FIXED,
    },
}  # fmt: skip


def config_of(game: str, settings: str, *, steps: int, seeds: int, seed: int = 0) -> RunConfig:
    own = {} if settings == "ours" else {**COMMON, **SWEEP[game, settings]}
    return default_config(game, options=GAMES[game], total_steps=steps, seeds=seeds, seed=seed, **own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=list(GAMES))
    parser.add_argument("--settings", nargs="+", choices=("ours", "ppo", "mmd"), default=("ours", "ppo", "mmd"))
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--stretch", type=int, default=0, help="time so many iterations instead, and judge nothing")
    parser.add_argument("--json", type=Path, help="a file to which lines are added")
    arguments = parser.parse_args()
    device = jax.devices()[0].device_kind
    for game in arguments.games:
        for settings in arguments.settings:
            chosen = {"steps": arguments.steps, "seeds": arguments.seeds, "seed": arguments.seed}
            if arguments.stretch:
                part = stretch(config_of(game, settings, **chosen), arguments.stretch)
                cores, clock = (part.iterations * x / 60 for x in (part.core_seconds, part.seconds))
                print(f"{game} {settings}: {cores:.1f} core minutes in all, {clock:.1f} by the clock here", flush=True)
                continue
            found = exact(config_of(game, settings, **chosen))
            newest = f"newest {np.mean(found.newest):.3f} ({', '.join(f'{x:.3f}' for x in found.newest)})"
            average = f", average {np.mean(found.average):.3f}" if found.average else ""
            clock = f"{found.compile_seconds:.0f} + {found.seconds:.0f} s for {arguments.seeds} seeds on {device}"
            print(f"{game} {settings}: {newest}{average}; {clock}", flush=True)
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(
                        json.dumps({"game": game, "settings": settings, **found._asdict(), "device": device}) + "\n"
                    )


if __name__ == "__main__":
    main()
