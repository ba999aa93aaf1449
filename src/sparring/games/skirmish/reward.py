"""What a step was worth, and whether it ended the battle."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array

from sparring.games.skirmish.army import Army, Stats
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.lengths import rounded

BATTLE, TIMEOUT = 0, 1
SCALE = 20.0
"""What a faultless battle pays in all, where nothing recovers (SMAC's reward_scale_rate)."""
GRAIN = 2.0**10
"""Losses are whole multiples of 1 / GRAIN, so that the sum over a side is exact, in whatever order."""


class Pay(NamedTuple):
    """SMAC's reward, before it is scaled."""

    death: Array
    """For each enemy that falls."""
    win: Array
    loss: Array
    """Weight of own losses where the reward is signed."""

    @classmethod
    def standard(cls) -> "Pay":
        return cls(*(jnp.asarray(value, float) for value in (10.0, 200.0, 0.5)))


@dataclass(frozen=True)
class Scoring:
    reward: Literal["shaped", "signed", "sparse"]
    absolute: bool
    """SMAC's quirk: what enemies recover is paid like what they lose."""
    limit_ends: bool
    """The time limit is part of the rules: a battle not won by then is lost."""
    duel: bool
    limit: int


class Result(NamedTuple):
    reward_S: Array
    over: Array
    cut: Array
    outcome_K: Array
    cause_K: Array


def judged(army: Army, stats: Stats, scoring: Scoring, pay: Pay, before: Battle, after: Battle) -> Result:
    gone = [_gone(army, stats, after, side) for side in (0, 1)]
    late = after.played >= scoring.limit
    ended = gone[0] | gone[1]
    cut = late & ~ended if not scoring.limit_ends else jnp.zeros_like(late)
    rewards, outcomes, causes = [], [], []
    for side in (0, 1) if scoring.duel else (0,):
        won, lost = gone[1 - side] & ~gone[side], gone[side] & ~gone[1 - side]
        outcome = won.astype(float) - lost.astype(float)
        # SMAC pays nothing when time is up, or when both armies have fallen.
        earned = outcome if scoring.reward == "sparse" else _shaped(army, scoring, pay, before, after, side, won)
        earned = earned * SCALE / _most(army, stats, pay, side)
        # Without a second learner that is a defeat nevertheless; two learners have drawn.
        if not scoring.duel:
            outcome = jnp.where((gone[0] & gone[1]) | (late & ~ended & scoring.limit_ends), -1.0, outcome)
        rewards.append(jnp.broadcast_to(earned, (army.sizes[side], *earned.shape)))
        outcomes.append(outcome)
        causes.append(jnp.where(ended, BATTLE, TIMEOUT))
    over = ended | (late & ~cut)
    return Result(
        jnp.concatenate(rewards), over, cut, jnp.stack(outcomes) * (over | cut), jnp.stack(causes).astype(jnp.int32)
    )


def _gone(army: Army, stats: Stats, battle: Battle, side: int) -> Array:
    """Nobody is left who can fight: medivacs alone have lost (SMAC)."""
    units = army.slice(side)
    return ~jnp.any((battle.health_U[units] > 0) & ~stats.heals[units], axis=0)


def _most(army: Army, stats: Stats, pay: Pay, side: int) -> Array:
    """What a faultless battle pays a side before it is scaled."""
    foes = army.slice(1 - side)
    return army.sizes[1 - side] * pay.death + pay.win + jnp.sum(stats.health[foes] + stats.shield[foes], axis=0)


def _shaped(army: Army, scoring: Scoring, pay: Pay, before: Battle, after: Battle, side: int, won: Array) -> Array:
    damage, deaths = _losses(army, before, after, 1 - side)
    earned = damage + pay.death * deaths
    if scoring.reward == "signed":
        own_damage, own_deaths = _losses(army, before, after, side)
        earned = earned - rounded(pay.loss * (own_damage + pay.death * own_deaths))
    elif scoring.absolute:
        earned = jnp.abs(earned)
    return earned + pay.win * won


def _losses(army: Army, before: Battle, after: Battle, side: int) -> tuple[Array, Array]:
    """Health and shield that a side lost in a step, less what it recovered, and how many of its units fell."""
    units = army.slice(side)
    lost = (before.health_U + before.shield_U - after.health_U - after.shield_U)[units]
    lost = jnp.round(lost * GRAIN) / GRAIN
    fell = (before.health_U > 0)[units] & (after.health_U <= 0)[units]
    return jnp.sum(lost, axis=0), jnp.sum(fell, axis=0, dtype=jnp.float32)
