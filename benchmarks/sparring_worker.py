"""Our half of vs_jaxmarl.py: compiles one training loop, then times stretches of it whenever a line arrives.

All seats share one network, as in JaxMARL's IPPO, also where the game has two sides.
"""

import argparse
import json
import sys
from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.play.seating import seat
from sparring.training.bench import TrainingLoop
from sparring.training.build import Built, build
from sparring.training.config import PlayConfig, RunConfig, SeatsConfig
from sparring.training.line_up import LineUp


def one_learner_for_all(built: Built) -> Built:
    """The same run with every seat in one side and one learner that drives it."""
    spec = built.game.spec
    everyone = (tuple(range(spec.seats)),)
    worlds = built.config.play.worlds
    seating = seat(spec, everyone, family_BK=[["all"]], learner_BK=[[0]], worlds=worlds)
    return replace(
        built,
        lineup=LineUp(seating, (("learner",),)),
        plan=replace(built.plan, seating=seating),
        settings=((built.config.ppo,),),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=("spread", "tag"), required=True)
    parser.add_argument("--worlds", type=int, required=True)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--iterations", type=int, default=20)
    arguments, _ = parser.parse_known_args()
    config = RunConfig(
        game=f"particles:{arguments.game}",
        play=PlayConfig(worlds=arguments.worlds, steps=arguments.steps),
        seats=SeatsConfig(share="auto" if arguments.game == "spread" else "side"),
        ppo=PPOConfig(learning_rate=Schedule.parse(2.5e-4), epochs=4, minibatches=4),
    )
    loop = TrainingLoop(one_learner_for_all(build(config)))
    loop.run(2)
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds_per_iteration": loop.run(arguments.iterations)}), flush=True)


if __name__ == "__main__":
    main()
