"""What looking ahead asks of a learner: a mind, choices that a tree can try, a critic of what the game pays."""

from collections.abc import Iterator

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.spec import GameSpec
from sparring.opponent_models.planning import library
from sparring.setup.config import NONE, RunConfig


def check_planner(spec: GameSpec, config: RunConfig, *, trains: bool = False) -> None:
    """Refuse a planner that could not play, with all that is in the way and what to do."""
    if found := [f"{reason}. {instead}" for reason, instead in obstacles(spec, config, trains=trains)]:
        raise ConfigError(f"A planner cannot play {config.game} here: {' And: '.join(found)}")


def check_planned_training(spec: GameSpec, config: RunConfig, *, trains: bool) -> None:
    """And one that plays in training, where what it did is learned from by the probability with which it did it. To
    look at such a run takes no planner."""
    check_planner(spec, config, trains=True)
    if trains:
        library()
    ppo = config.ppo
    if ppo.recompute_old:
        raise ConfigError(
            "play=planner needs the probabilities with which the planner chose, and recompute_old puts those of the "
            "policy in their place. Leave recompute_old out."
        )
    if ppo.target_kl != NONE:
        raise ConfigError(
            "target_kl stops an iteration where the policy is far from the one that played, and a planner is far from "
            "it on purpose: nothing would be learned. Set target_kl to 0."
        )


def obstacles(spec: GameSpec, config: RunConfig, *, trains: bool) -> Iterator[tuple[str, str]]:
    """What is in the way, and what to do. Where a trained learner plays, what it was paid at the end of its run counts;
    where it learns, all that it is ever paid."""
    net, ppo, mind = config.net, config.ppo, config.mind
    if spec.outside:
        yield "its worlds are kept elsewhere and cannot be played on in thought", "Leave the planner out."
        return
    if len(spec.action.heads) != 1 or spec.action.dimensions:
        found = f"{len(spec.action.heads)} heads and {spec.action.dimensions} dimensions"
        yield f"it tries the entries of one discrete head, found {found}", "Leave the planner out."
        return
    if not mind.on:
        yield "it foresees the others by the models of a mind, and this learner has none", "Train with --mind belief."
    if mind.mind_goals not in ("listed", "none"):
        why = f"its trees know the goals of the others by what the game says, found mind_goals={mind.mind_goals}"
        yield why, "Train with --mind-goals listed, or none where the game lists none."
    if not net.by_rows:
        found = f"memory={net.memory} and hyper={net.hyper}"
        yield f"it asks the policy about states out of order, found {found}", "Train with --memory none --hyper none."
    if mind.mind_control != "none":
        yield f"it believes what it is told, and mind_control={mind.mind_control} is no belief", "Leave that out."
    if ppo.advantage == "expected" or ppo.on("value_noise"):
        yield "it needs a critic that values states, without noise", "Train with --advantage gae --value-noise 0."
    if ppo.reward_scale:
        yield "the critic must value what the game pays, and reward_scale changes that", "Train without reward_scale."
    terms = [(name, Schedule.parse(weight)) for name, _, weight in (text.partition("=") for text in config.shaping)]
    known = [(name, getattr(ppo, name)) for name in ("shared_reward", "influence", "reward_clip", "anchor_price")]
    paid, terms = ([(name, w) for name, w in own if w.at(1.0) or (trains and w.start)] for own in (known, terms))
    if paid or terms:
        found = ", ".join([f"{name}={w}" for name, w in paid] + [f"shaping {name}={w}" for name, w in terms])
        off = [f"--{name.replace('_', '-')} 0" for name, _ in paid]
        off += ["--shaping " + " ".join(f"{name}=0" for name, _ in terms)] if terms else []
        why = f"the critic must value what the game pays, and that is changed by {found}"
        yield why, f"Train with {' '.join(off)}."
