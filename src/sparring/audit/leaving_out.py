"""A configuration without one part of it: what somebody wrote, or a part of the minds, by its name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sparring.core import code
from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.league.stages import PLAY
from sparring.opponent_models.config import MindConfig
from sparring.setup.config import RunConfig
from sparring.setup.needs import PLANNER, without_idle
from sparring.setup.own_settings import said_in, with_minds, without_minds


def without(config: RunConfig, name: str) -> RunConfig:
    """The config without a loss, a module, a network or a shaping term of one's own; else without a part of minds."""
    ppo, net = config.ppo, config.net
    kept = {kind: tuple(text for text in getattr(ppo, kind) if named(text) != name) for kind in ("losses", "modules")}
    if kept != {kind: getattr(ppo, kind) for kind in kept}:
        return replace(config, ppo=replace(ppo, **kept))
    if code.name_in(net.body) == name and code.reference(net.body):
        return replace(config, net=replace(net, body=type(net)().body))
    shaping = tuple(text for text in config.shaping if named(text) != name)
    if shaping != config.shaping:
        return replace(config, shaping=shaping)
    if name in PARTS and PARTS[name](config) != config:
        return PARTS[name](config)
    own_body = (net.body,) if code.reference(net.body) else ()
    known = [*map(named, (*ppo.losses, *ppo.modules, *config.shaping, *own_body))]
    known += [part for part, left_out in PARTS.items() if left_out(config) != config]
    raise ConfigError(unknown("loss, module, network, shaping term or part of a mind here", name, known))


def named(text: str) -> str:
    return code.name_in(text.partition("=")[0].strip())


def untold(part: str) -> Callable[[MindConfig], Mapping[str, Any]]:
    """What makes a mind keep a part of what it tells to itself."""
    rest = {"goals": "actions", "actions": "goals"}[part]
    return lambda mind: {"mind_tells": {"both": rest, part: "nothing"}.get(mind.mind_tells, mind.mind_tells)}


def without_goals(mind: MindConfig) -> Mapping[str, Any]:
    return {**untold("goals")(mind), "mind": "belief", "mind_goals": "none"}


def without_influence(config: RunConfig) -> RunConfig:
    """Nobody is paid for moving the others, and nobody foresees how they would move."""
    each = tuple(text for text in config.each if said_in(f"all.{text}").setting != "influence")
    own = tuple(text for text in config.learner if said_in(text).setting != "influence")
    plain = replace(config, ppo=replace(config.ppo, influence=Schedule.parse(0.0)), each=each, learner=own)
    return with_minds(plain, lambda _: {"mind_replies": False})


def without_planner(config: RunConfig) -> RunConfig:
    """The same stages, in which the learners themselves play."""
    looks_ahead = f"{PLAY}={PLANNER}"
    stages = tuple(" ".join(word for word in text.split() if word != looks_ahead) for text in config.stages)
    return without_idle(replace(config, stages=stages))


PARTS: dict[str, Callable[[RunConfig], RunConfig]] = {
    "mind": without_minds,
    "goals": lambda config: with_minds(config, without_goals),
    "actions": lambda config: with_minds(config, untold("actions")),
    "imagination": lambda config: with_minds(config, lambda _: {"imagine": "none"}),
    "influence": without_influence,
    "gate": lambda config: with_minds(config, lambda _: {"mind_gate": 0.0}),
    "planner": without_planner,
}
"""What minds are made of, and how each part is left out of all of them. Without goals nothing is believed; without
actions beliefs stay, since by what somebody would do they follow what is done, and only the policy is not told."""
