"""From the words with which an opponent manager is made to the rules of a league of one learner in one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.core.settings import from_dict
from sparring.league.config import (
    CurriculumConfig,
    OpponentsConfig,
    PoolConfig,
    check_asked_of_game,
    check_opponents,
)
from sparring.league.gates import GateConfig, check_gate
from sparring.league.mixture import mixture
from sparring.league.pool import snapshot_interval
from sparring.league.state import Rules

C = TypeVar("C", OpponentsConfig, CurriculumConfig, GateConfig, PoolConfig)
POLICY = "policy"
"""The name of the learner."""
WHERE = "OpponentManager"
OF_POOL = ("snapshot_every", "snapshot_mark", "eviction")
"""Settings of a pool that a loop outside has; its size has a word of its own, and it knows no guests."""
OF_OTHERS = {field.name for kind in (OpponentsConfig, CurriculumConfig, GateConfig) for field in fields(kind)} - {
    "ladder"
}
"""The bots that are handed over are the ladder."""
THREE_ALIKE = {"current": 1.0, "shadow": 1.0, "history": 1.0}


def rules_of(
    *, size: int, shares: Mapping[str, Any], settings: Mapping[str, Any], bots: Sequence[str], seed: int,
    total_steps: int, shadow: bool,
) -> Rules:  # fmt: skip
    """Check everything that can be checked before the first game."""
    for name in settings:
        if name not in OF_OTHERS and name not in OF_POOL:
            raise ConfigError(unknown(f"setting of {WHERE}", name, (*OF_OTHERS, *OF_POOL)))
    if total_steps < 1 or size < 1:
        raise ConfigError(f"total_steps and max_pool_size must be at least 1, found {total_steps} and {size}.")
    asked = {**shares, **settings}
    opponents, curriculum = _read(OpponentsConfig, asked), _read(CurriculumConfig, asked)
    gate, pool = _read(GateConfig, asked), _read(PoolConfig, {**asked, "pool_size": size})
    check_opponents(opponents, pool, curriculum)
    check_gate(gate)
    check_asked_of_game(opponents, curriculum, bots=len(bots), can_mirror=(True,), can_face=(True,))
    role = mixture(opponents, every=snapshot_interval(pool, total_steps), mark=pool.snapshot_mark, gate=gate)
    return Rules(
        names=(POLICY,),
        # The first copy is the loop's own decision, since only it knows when there is a policy.
        roles=(replace(role, snapshot=replace(role.snapshot, from_birth=False)),),
        config=opponents, pool=pool, curriculum=curriculum, mirror_B=(False,), face_B=(True,), seed=Seed.of(seed),
        bots=tuple(bots), shadows=shadow,
    )  # fmt: skip


def shares_of(
    settings: Mapping[str, Any], *, history_weight: float | None, shadow_weight: float | None, use_shadow: bool,
    use_pool: bool, bots: bool,
) -> dict[str, Any]:  # fmt: skip
    """Shares beside those in `settings`: alike, of what those leave; or, where weights are given, a past that fades and
    a shadow that takes over, so that at the end it is met alone."""
    shares: dict[str, Any] = {**THREE_ALIKE, "bots": 1.0 if bots else 0.0}
    if history_weight is not None or shadow_weight is not None:
        named = sorted(set(settings) & set(THREE_ALIKE))
        if named:
            raise ConfigError(
                f"Weights and shares say the same twice, found initial_history_weight or shadow_weight beside "
                f"{', '.join(named)}. Use the shares alone."
            )
        history = 0.5 if history_weight is None else history_weight
        shadow = 1.0 - history if shadow_weight is None else shadow_weight
        shares |= {"current": 0.0, "history": history, "shadow": shadow}
        if use_shadow and use_pool:
            shares |= {"history": f"{history} -> 0", "shadow": f"{shadow} -> 1"}
    for name, used, word in (("shadow", use_shadow, "use_shadow"), ("history", use_pool, "use_pool")):
        if not used and name in settings:
            raise ConfigError(f"{name} has a share, but {word}=False. Leave one of them out.")
        shares[name] = shares[name] if used else 0.0
    named = [Schedule.parse(settings[name]) for name in shares if name in settings]
    rest = {name: share for name, share in shares.items() if name not in settings}
    met = [name for name, share in rest.items() if share]
    if named and met:  # a share that is named is a share of all games, whoever else there is
        start, end = (
            max(0.0, 1.0 - sum(ends)) / len(met) for ends in zip(*((x.start, x.end) for x in named), strict=True)
        )
        shape = next((one.shape for one in named if one.shape != "constant"), "linear")
        rest |= dict.fromkeys(met, Schedule(start, end, shape))
    return rest


def _read(kind: type[C], asked: Mapping[str, Any]) -> C:
    """Those of the settings that belong to one config; no two configs share a name."""
    own = {field.name for field in fields(kind)}
    return from_dict(kind, {name: value for name, value in asked.items() if name in own}, where=WHERE)
