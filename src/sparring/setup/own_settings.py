"""Settings of single learners, where those at one table are not all alike: one that remembers among three that do not.

Learners whose networks and algorithms are of one kind train as one stack; coefficients differ from row to row, all else
from stack to stack.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any, NamedTuple

from sparring.core.errors import ConfigError, unknown
from sparring.core.fields import check_ranges
from sparring.core.schedules import Schedule
from sparring.core.settings import with_text
from sparring.core.spec import GameSpec
from sparring.learn.config import COEFFICIENTS, PPOConfig
from sparring.opponent_models.config import MindConfig
from sparring.setup.checks import check_learner, check_learning
from sparring.setup.config import RunConfig
from sparring.setup.needs import idle, met, without_idle

OWN = ("net", "ppo", "mind")
"""Tables of settings that a learner may have for itself."""
MIND = {one.name for one in fields(MindConfig)}


class Said(NamedTuple):
    """NAME.SETTING=VALUE."""

    learner: str
    setting: str
    value: str


def configs_of(config: RunConfig, names: Sequence[str]) -> tuple[RunConfig, ...]:
    """For each learner, in order, a config by which all would learn as it does."""
    found = [replace(config, each=(), learner=())] * len(names)
    for text in config.each:
        knob, parts = each_of(text, names)
        found = [
            replace(one, ppo=replace(one.ppo, **{knob: Schedule.parse(part)}))
            for one, part in zip(found, parts, strict=True)
        ]
    own: dict[int, list[str]] = {}
    for text, said in zip(config.learner, map(said_in, config.learner), strict=True):
        place = place_of(said.learner, names, text)
        found[place] = changed(found[place], said, text)
        own.setdefault(place, []).append(said.setting)
    for place, settings in own.items():
        found[place] = acting(found[place], names[place], settings)
    return tuple(found)


def without_minds(config: RunConfig) -> RunConfig:
    """The config with nobody's mind, and nothing that is then said to nobody."""
    own = tuple(text for text in config.learner if said_in(text).setting not in MIND)
    return without_idle(replace(config, mind=MindConfig(), learner=own))


def with_minds(config: RunConfig, change: Callable[[MindConfig], Mapping[str, Any]]) -> RunConfig:
    """The config with what `change` says of every mind that there is: the common one, and those of single learners."""
    texts = list(config.learner)

    def alone(name: str) -> RunConfig:
        own = (text for text in texts if said_in(text).learner == name)
        return reduce(lambda config, text: changed(config, said_in(text), text), own, config)

    for name in dict.fromkeys(said_in(text).learner for text in config.learner):
        mind = alone(name).mind
        new = {setting: value for setting, value in change(mind).items() if mind.on and getattr(mind, setting) != value}
        texts += [f"{name}.{setting}={str(value).lower()}" for setting, value in new.items()]
    own = tuple(text for text in texts if met(said_in(text).setting, alone(said_in(text).learner)))
    common = replace(config.mind, **change(config.mind)) if config.mind.on else config.mind
    return without_idle(replace(config, mind=common, learner=own))


def each_of(text: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """The coefficient that a text of `each` names, and its value for every learner."""
    knob, _, values = text.partition("=")
    knob = knob.strip().replace("-", "_")
    if knob not in COEFFICIENTS:
        raise ConfigError(f"each={text!r}: {unknown('coefficient', knob, COEFFICIENTS)}")
    parts = [part for part in values.split(",") if part.strip()]
    if len(parts) != len(names):
        raise ConfigError(
            f"each={text!r} must give one value for each of the {len(names)} learners "
            f"({', '.join(names)}), found {len(parts)}. Separate them by commas."
        )
    return knob, parts


def said_in(text: str) -> Said:
    path, equals, value = text.partition("=")
    learner, dot, setting = path.strip().rpartition(".")
    if not (equals and dot and learner and setting):
        raise ConfigError(
            f"A setting of one learner is written NAME.SETTING=VALUE, found {text!r}. For example hunter_2.memory=gru."
        )
    return Said(learner.strip(), setting.strip().replace("-", "_"), value.strip())


def place_of(learner: str, names: Sequence[str], text: str) -> int:
    """By name, or by number from 0."""
    if learner in names:
        return list(names).index(learner)
    if learner.isdecimal() and int(learner) < len(names):
        return int(learner)
    if len(names) == 1:
        raise ConfigError(
            f"learner={text!r}: this run has one learner, {names[0]}. For one at each seat add --share seat; for this "
            f"one alone leave out {learner!r} and say the setting as usual."
        )
    raise ConfigError(
        f"learner={text!r}: {unknown('learner', learner, names)} Numbers from 0 to {len(names) - 1} name them as well."
    )


def changed(config: RunConfig, said: Said, text: str) -> RunConfig:
    for table in OWN:
        part = getattr(config, table)
        if said.setting in {one.name for one in fields(part)}:
            return replace(config, **{table: with_text(part, said.setting, said.value, where=f"learner={text!r}")})
    known = [one.name for table in OWN for one in fields(getattr(config, table))]
    raise ConfigError(f"learner={text!r}: {unknown('setting of a learner', said.setting, known)}")


def kinds_said(config: RunConfig) -> tuple[RunConfig, ...]:
    """The common settings with each setting that is said of a learner alone, before anybody knows who learns."""
    plain = replace(config, learner=())
    return tuple(changed(plain, said_in(text), text) for text in config.learner)


def acting(config: RunConfig, name: str, settings: Sequence[str]) -> RunConfig:
    """The config without what means nothing to this learner; what was said of it alone must mean something."""
    for setting in settings:
        if not met(setting, config):
            raise idle(f"learner: {name}.{setting}", setting, "leave it out")
    return without_idle(config)


def check_learners(config: RunConfig, spec: GameSpec, configs: Mapping[str, RunConfig]) -> None:
    """Refuse settings of single learners that do not go together, or not with the run."""
    names = list(configs)
    alone = {names[place_of(said_in(text).learner, names, text)] for text in config.learner}
    for name, own in configs.items():
        try:
            check_ranges(own.ppo)
            check_learning(own.ppo, own.net)
            if name in alone:
                check_ranges(own.net)
                check_ranges(own.mind)
                check_learner(own, spec)
        except ConfigError as error:
            raise ConfigError(f"Settings of {name}: {error}") from None
    if config.changing and any(kinds_of(config, names)):
        raise ConfigError(
            "Learners of several kinds meet each other as they are now, and this run has opponents that change (by "
            "shares, roles or a curriculum). Leave --learner to coefficients, or use --self-play naive."
        )
    ppos = [own.ppo for own in configs.values()]
    if any(ppo.on("anchor_price") for ppo in ppos) and not all(ppo.has_shadow for ppo in ppos):
        raise ConfigError("anchor_price charges every learner for what it does, so that each needs a shadow.")


def kinds_of(config: RunConfig, names: Sequence[str]) -> tuple[int, ...]:
    """The kind of each learner: 0 for those of the common settings, and so on in order. Learners of one kind differ in
    coefficients alone."""
    if not config.learner:
        return (0,) * len(names)
    kinds: dict[Any, int] = {kind(config): 0}
    return tuple(kinds.setdefault(kind(own), len(kinds)) for own in configs_of(config, names))


def kind(config: RunConfig) -> tuple[Any, ...]:
    plain = {name: getattr(PPOConfig(), name) for name in COEFFICIENTS}
    return tuple(replace(config.ppo, **plain) if table == "ppo" else getattr(config, table) for table in OWN)
