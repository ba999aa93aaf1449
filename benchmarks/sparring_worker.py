"""Our half of vs_jaxmarl.py and, with --alone, of vs_smax.py: training with one network for all seats, as in JaxMARL's
IPPO, also where the game has two sides; or random play of a game without any network.
"""

import argparse
from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.games.registry import make
from sparring.learn.config import PPOConfig
from sparring.play.seating import seat
from sparring.setup.build import Built, build
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.setup.line_up import LineUp
from sparring.studies.bench import RandomPlay, TrainingLoop
from turns import Answer, serve


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


def particle_training(args: argparse.Namespace) -> TrainingLoop:
    config = RunConfig(
        game=f"particles:{args.game}",
        play=PlayConfig(worlds=args.worlds, steps=args.steps),
        seats=SeatsConfig(share="auto" if args.game == "spread" else "side"),
        ppo=PPOConfig(learning_rate=Schedule.parse(2.5e-4), epochs=4, minibatches=4),
    )
    return TrainingLoop(one_learner_for_all(build(config)))


def random_round(play: RandomPlay, iterations: int) -> Answer:
    calls = [play.run() for _ in range(iterations)]
    return {
        "seconds_per_iteration": sum(seconds for seconds, _ in calls) / iterations,
        "games_per_iteration": sum(float(games.finished_TBW.sum()) for _, games in calls) / iterations,
        "seats": play.game.spec.seats,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", required=True, help="spread or tag; with --alone the full name of any game")
    for name in ("worlds", "steps", "iterations"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--alone", action="store_true", help="random play instead of training")
    args = parser.parse_args()
    if args.alone:
        play = RandomPlay(make(args.game), PlayConfig(worlds=args.worlds, steps=args.steps))
        serve(lambda: random_round(play, args.iterations))
    else:
        loop = particle_training(args)
        serve(lambda: {"seconds_per_iteration": loop.run(args.iterations)})


if __name__ == "__main__":
    main()
