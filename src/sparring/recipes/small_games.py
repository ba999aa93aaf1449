"""Small games with exact exploitability, and learning under which shadow and past settle. Presets choose opponents."""

from collections.abc import Callable
from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.config import EvalConfig, PlayConfig, RunConfig

schedule = Schedule.parse


def rock_paper_scissors() -> RunConfig:
    """Rock, paper, scissors, with learning that lets the past and the shadow settle where naive self-play circles.

    The entropy bonus falls as the memory of shadow and pool grows: each narrows the cycle the other leaves. Advantages
    are not scaled, so that the bonus has one size against the payoffs; the step is large, so that the learner answers
    long before its shadow has moved.
    """
    return RunConfig(
        game="matrix:rock_paper_scissors",
        total_steps=512_000,
        play=PlayConfig(worlds=128, steps=4, blocks=4),
        net=NetConfig(hidden=(16,)),
        ppo=PPOConfig(
            learning_rate=schedule(1e-2), entropy=schedule("0.3 -> 0.1"), discount=schedule(1.0),
            normalise_advantage="none", epochs=2, minibatches=2,
        ),
        evaluation=EvalConfig(eval_every=20, eval_games=8),
    )  # fmt: skip


def biased_rock_paper_scissors() -> RunConfig:
    """The same with unequal prizes, which are smaller: so is the bonus, and the step is larger."""
    common = rock_paper_scissors()
    ppo = replace(common.ppo, learning_rate=schedule(2e-2), entropy=schedule("0.2 -> 0.03"))
    return replace(common, game="matrix:biased_rock_paper_scissors", ppo=ppo)


def five_moves() -> RunConfig:
    """Rock, paper, scissors with five moves: the same learning, twice the steps, blocks enough for eight learners."""
    play = PlayConfig(worlds=256, steps=4, blocks=16)
    return replace(rock_paper_scissors(), game="matrix:five_moves", total_steps=1_024_000, play=play)


def blotto() -> RunConfig:
    """Colonel Blotto, 28 pure strategies of which many never pay: a wider net and smaller steps at the end."""
    common = rock_paper_scissors()
    ppo = replace(common.ppo, learning_rate=schedule("1e-2 -> 1e-3"), entropy=schedule("0.2 -> 0.03"))
    return replace(
        common, game="matrix:blotto", total_steps=2_048_000, play=five_moves().play,
        net=NetConfig(hidden=(32,)), ppo=ppo,
    )  # fmt: skip


def kuhn() -> RunConfig:
    """Kuhn poker likewise; more games an update, since a bluff is rare, and steps that fall as play comes to rest."""
    common = rock_paper_scissors()
    ppo = replace(common.ppo, learning_rate=schedule("1e-2 -> 1e-3"), entropy=schedule("0.3 -> 0.14"))
    return replace(
        common,
        game="kuhn",
        total_steps=3_000_000,
        play=PlayConfig(worlds=512, steps=8, blocks=4),
        net=NetConfig(hidden=(32,)),
        ppo=ppo,
    )


SETTLING: dict[str, Callable[[], RunConfig]] = {
    make.__name__: make for make in (rock_paper_scissors, biased_rock_paper_scissors, five_moves, blotto, kuhn)
}
"""Games with exact exploitability and learning under which they settle; opponents are for a preset to choose."""
