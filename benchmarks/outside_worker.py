"""Our half of vs_sb3.py: training through worker processes with one network for all agents."""

import argparse

from sparring.core.schedules import Schedule
from sparring.games.outside import leases_in
from sparring.learn.config import PPOConfig
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig, WorkersConfig
from sparring.studies.bench import TrainingLoop
from turns import serve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", required=True)
    for name in ("worlds", "workers", "iterations"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    config = RunConfig(
        game=f"pettingzoo:mpe2.{args.game}",
        options=("sides=all",),
        play=PlayConfig(worlds=args.worlds, steps=25),
        workers=WorkersConfig(num_workers=args.workers),
        ppo=PPOConfig(learning_rate=Schedule.parse(2.5e-4), epochs=4, minibatches=4),
    )
    built = build(config)
    loop, leases = TrainingLoop(built), leases_in(built.game)

    def go() -> dict[str, float]:
        seconds = loop.run(args.iterations)
        assert leases is not None
        clocks = leases.clocks(seconds * args.iterations)
        stages = {key: clocks[key] / args.iterations for key in ("step", "wait", "infer", "update")}
        return {"seconds_per_iteration": seconds, **stages}

    serve(go)


if __name__ == "__main__":
    main()
