"""What imagination needs: moments from which a seat can go on alone, and rewards that its own steps explain."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.opponent_models.config import branches
from sparring.setup.config import RunConfig
from sparring.setup.needs import codes

if TYPE_CHECKING:  # commands check settings before JAX starts
    from sparring.play.seating import Seating

APART = 4
"""Most steps from one moment at which somebody may go on in imagination to the next."""
REFUSED: tuple[tuple[str, Callable[[RunConfig], bool], str, str], ...] = (
    (
        "a policy that remembers",
        lambda c: not c.net.by_rows,
        "what it would remember there is not kept",
        "Leave memory and hyper out: a mind remembers what the others did.",
    ),
    (
        "critic=central",
        lambda c: c.net.critic == "central",
        "a branch knows what one seat sees, not what all do",
        "Use --critic local.",
    ),
    ("advantage=expected", lambda c: c.ppo.advantage == "expected", "no choice is judged there", "Use gae or vtrace."),
    (
        "losses or modules of your own",
        lambda c: bool(c.ppo.losses or c.ppo.modules),
        "they would be shown steps that nobody played",
        "Leave one of the two out.",
    ),
    (
        "goals that are codes (mind_goals=ending, segment or combined)",
        codes,
        "codes are read from what the others see and earn, and a branch knows neither",
        "Use --mind-goals listed, subgoal or none.",
    ),
    (
        "anchor_price",
        lambda c: c.ppo.on("anchor_price"),
        "what others would owe is not foreseen",
        "Use anchor instead.",
    ),
)
"""What there cannot be beside it: whether it is there, why not, and what to do."""


def check_imagination(spec: GameSpec, config: RunConfig) -> None:
    if not config.mind.imagines:
        return
    if found := [f"{what}: {why}. {instead}" for what, there, why, instead in REFUSED if there(config)]:
        reasons = " Nor with ".join(found)
        raise ConfigError(f"imagine={config.mind.imagine} does not go with {reasons} Or use --imagine none.")
    if config.mind.imagine == "oracle" and config.ppo.on("influence"):
        raise ConfigError(
            "imagine=oracle pays what the game and its terms pay, and influence is none of that. Use --imagine learned."
        )
    if config.mind.imagine == "oracle" and spec.outside:
        raise ConfigError(
            f"imagine=oracle goes on from states of the game, and {config.game} keeps its worlds in processes of its "
            "own. Use --imagine learned."
        )


def apart(steps: int) -> int:
    """Steps from one moment that is kept for imagination to the next."""
    return next(every for every in range(APART, 0, -1) if steps % every == 0)


def check_branches(configs: Sequence[RunConfig], seating: "Seating", keep: int) -> None:
    """Refuse a share of imagined rows that leaves no room for a branch in each minibatch. Of each learning group one
    config; `keep`: steps from one moment at which one can go on to the next."""
    for i, config in zip(seating.learning, configs, strict=True):
        if not config.mind.imagines:
            continue
        worlds, steps = len(seating.groups[i].lanes[0]) * seating.worlds, config.play.steps
        share, length, parts = config.mind.imagine_share, config.ppo.longest_branch, config.ppo.minibatches
        if not branches(share, length, worlds * steps, worlds * (steps // keep), parts):
            raise ConfigError(
                f"imagine_share={share} of {worlds * steps} rows leaves no room for branches of {length} steps in each "
                f"of {parts} minibatches. Raise it, --worlds or --steps, or lower --imagine-length or --minibatches."
            )
