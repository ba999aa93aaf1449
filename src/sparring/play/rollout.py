"""What play leaves behind: the rollout a learner trains on, where the worlds stand, and the games that ended."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.nets.distributions import Distribution


class Driver(NamedTuple):
    """The P players of one group of lanes, stacked."""

    policy: Any
    critic: Any
    """None where nobody learns."""
    ids_P: Array


class Cursor(NamedTuple):
    """Where play stands between two rollouts; V = B*W worlds."""

    state: Any
    """Leaves [V, ...]."""
    memory: tuple
    """For each group the memories of policy and critic, leaves [P, W', N, ...]."""
    start_BW: Array
    """True where a game is about to begin."""
    return_BWS: Array
    length_BW: Array


class Rollout(NamedTuple):
    """One learner's experience. W are the worlds of its lanes; stacked learners have L after T.

    Memory is kept at the start of each training sequence only: leaves [T / sequence, W, ...].
    """

    features_TWNF: Array
    legal_TWNA: Array
    views_TWVG: Array | None
    """What the critic saw; None where that is the features."""
    action: Action
    log_prob_TWN: Array
    distribution: Distribution
    """What the policy gave each seat, leaves [T, W, N, ...]: a KL needs all of it, not only what was chosen."""
    value_TWN: Array
    next_value_TWN: Array
    """Value of what follows: where a game was cut, of its true final observation."""
    reward_TWN: Array
    over_TWN: Array
    """Nothing follows for this seat."""
    ended_TWN: Array
    """Credit stops here."""
    present_TWN: Array
    acting_TWN: Array
    start_TW: Array
    side_TWK: Array
    """Which side of the game the learner drove in each world."""
    memory: tuple


class Games(NamedTuple):
    """Every step of every world, with the result of the game that ended there, if one did."""

    finished_TBW: Array
    return_TBWS: Array
    length_TBW: Array
    outcome_TBWK: Array


class Tally(NamedTuple):
    """Completed games of a rollout, block by block: counts and sums."""

    games_B: Array
    length_B: Array
    return_BS: Array
    return_square_BS: Array
    won_BK: Array
    drawn_BK: Array
    lost_BK: Array


def tally(games: Games) -> Tally:
    """Count completed games; a game still running counts when it ends, so long games are not under-counted."""
    done_TBW1 = games.finished_TBW[..., None]
    in_play = (0, 2)
    return Tally(
        games_B=games.finished_TBW.sum(in_play),
        length_B=jnp.where(games.finished_TBW, games.length_TBW, 0).sum(in_play),
        return_BS=jnp.where(done_TBW1, games.return_TBWS, 0.0).sum(in_play),
        return_square_BS=jnp.where(done_TBW1, games.return_TBWS**2, 0.0).sum(in_play),
        won_BK=(done_TBW1 & (games.outcome_TBWK > 0)).sum(in_play),
        drawn_BK=(done_TBW1 & (games.outcome_TBWK == 0)).sum(in_play),
        lost_BK=(done_TBW1 & (games.outcome_TBWK < 0)).sum(in_play),
    )


def where_first(condition: Array, new: Any, old: Any) -> Any:
    """new where the condition holds, old elsewhere; the condition has the leading axes of every leaf."""

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim)), a, b)

    return jax.tree.map(choose, new, old)
