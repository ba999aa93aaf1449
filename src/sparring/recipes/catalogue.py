"""Full configurations by name. A recipe is a function that returns everything; flags may change any of it."""

from collections.abc import Callable
from dataclasses import replace

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.training.config import EvalConfig, PlayConfig, RunConfig, SeatsConfig


def spread() -> RunConfig:
    """Cooperative navigation by one shared policy (IPPO)."""
    return RunConfig(
        game="particles:spread",
        total_steps=3_000_000,
        play=PlayConfig(worlds=128, steps=25),
        ppo=PPOConfig(learning_rate=Schedule.parse("1e-3 -> 0"), epochs=8),
        evaluation=EvalConfig(eval_every=50, eval_games=256),
    )


def tag() -> RunConfig:
    """Predators and prey learn against each other, each side with its own policy."""
    return RunConfig(
        game="particles:tag",
        total_steps=8_000_000,
        play=PlayConfig(worlds=128, steps=25),
        ppo=PPOConfig(learning_rate=Schedule.parse("1e-3 -> 1e-4"), entropy=Schedule.parse("0.05 -> 0.005")),
        evaluation=EvalConfig(eval_every=100, eval_games=256),
    )


def demo() -> RunConfig:
    """Tag by self-play in about two minutes on two cores."""
    return replace(tag(), total_steps=10_000_000, evaluation=EvalConfig(eval_every=60, eval_games=128))


def hunt() -> RunConfig:
    """Predators learn to catch a fleeing bot."""
    return RunConfig(
        game="particles:tag",
        total_steps=3_000_000,
        seats=SeatsConfig(opponent="flee", side=0),
        play=PlayConfig(worlds=128, steps=25),
        evaluation=EvalConfig(eval_every=100, eval_games=256),
    )


def kuhn() -> RunConfig:
    """Kuhn poker against oneself; the picture shows exact exploitability."""
    return RunConfig(
        game="kuhn",
        total_steps=3_000_000,
        play=PlayConfig(worlds=256, steps=16),
        net=NetConfig(hidden=(32,)),
        ppo=PPOConfig(entropy=Schedule.parse("0.05 -> 0.01"), discount=Schedule.parse(1.0)),
        evaluation=EvalConfig(eval_every=10, eval_games=256),
    )


RECIPES: dict[str, Callable[[], RunConfig]] = {"demo": demo, "hunt": hunt, "kuhn": kuhn, "spread": spread, "tag": tag}
