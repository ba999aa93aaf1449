"""Why a critic that fits well can ruin `particles:spread`: what it thinks of places where nobody has been yet.

    python benchmarks/spread_optimism.py

Trains one seed with and without PopArt, and prints the return beside the values of a seat at several distances from
where everything else is. Being far away costs that distance in every step, so the true value falls with it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from sparring.learn.config import PPOConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.setup.program import compile_program

DISTANCES = (0.0, 1.0, 2.0, 4.0)


def views(features: int) -> np.ndarray:
    """What a seat sees at each distance to the right of all landmarks and all others, at rest."""
    seen = np.zeros((len(DISTANCES), features), np.float32)
    for row, distance in enumerate(DISTANCES):
        seen[row, 2] = distance  # own position
        seen[row, 4:14:2] = -distance  # three landmarks and two others, relative
    return seen


def main() -> None:
    print(f"{'value_norm':10} iteration  return  explained  values at distance {DISTANCES}")
    for value_norm in ("none", "popart"):
        config = RunConfig(
            game="particles:spread", total_steps=500_000, play=PlayConfig(worlds=64, steps=50),
            ppo=PPOConfig(value_norm=value_norm),
        )  # fmt: skip
        built = build(config)
        program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
        seen = jnp.asarray(views(built.game.spec.features))
        for iteration in range(built.iterations):
            knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
            state, report = program(
                built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration)
            )
            if iteration % 10 == 0:
                model = jax.tree.map(lambda x: x[0, 0], state.learners[0].model)
                values = np.asarray(model.judge(seen, ())[0])
                games = float(report.tally.games_B.sum()) * built.game.spec.seats
                told = " ".join(f"{value:8.1f}" for value in values)
                explained = float(report.stats[0].explained_variance[0, 0])
                mean = float(report.tally.return_BS.sum()) / games
                print(f"{value_norm:10} {iteration:9} {mean:7.1f} {explained:10.2f}  {told}", flush=True)


if __name__ == "__main__":
    main()
