"""What play leaves behind: the rollout a learner trains on, where the worlds stand, and the games that ended."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.nets.distributions import Distribution
from sparring.play.faults import Faults
from sparring.play.seating import Seating


class Driver(NamedTuple):
    """The P players of one group of lanes, stacked."""

    policy: Any
    critic: Any
    """None where nobody learns."""
    ids_P: Array
    temperature_P: Array | None = None
    """What weakens a player that does not learn: flatter choices, and a share of random actions; None: nothing."""
    epsilon_P: Array | None = None


class Pairing(NamedTuple):
    """Who drives each away lane, before [0] and after [1] a world's next restart. X are the away lanes of all
    blocks."""

    family_2X: Array
    """0: the learner itself; i + 1: family i of the seating."""
    player_2X: Array
    """The players' identities, uint32."""
    shift_B: Array
    """Blocks that are given new players in this rollout: who was next is old from now on."""


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
    fresh_BW: Array | None = None
    """Where players change: worlds that have restarted since their block was given a new one."""
    sums_BWSJ: Array | None = None
    """Where shaping is on: what the terms of the game summed up to so far."""
    replayed_BW: Array | None = None
    """Where defeats are replayed: games that began before an earlier defeat, and count for no payoff."""
    minds: tuple | None = None
    """Where policies have minds: for each group what these hold, leaves [P, W', N, ...]."""
    played_BW: Array | None = None
    """Where memory lasts over several games: how many each world has seen end."""


class Shaping(NamedTuple):
    """What shaping terms are made of, before weights and discount: leaves [..., J] of their kinds."""

    reward: Array
    potential: Array
    next_potential: Array
    """0 where nothing follows: else the sum over a game would depend on how it ended."""

    @property
    def columns(self) -> Array:
        return jnp.concatenate(list(self), axis=-1)


class Others(NamedTuple):
    """What the other seats of the game did in each step, for each seat in seat order: leaves [T, W, N, O, ...]."""

    discrete: Array
    continuous: Array
    acting: Array
    """Whether that seat's choice counted."""
    legal: Array | None = None
    """What it might have chosen; from here on None unless a mind watches."""
    open: Array | None = None
    """[..., G]: goals that it could still reach before it chose, in about how many steps, and what each is like."""
    steps: Array | None = None
    about: Array | None = None
    reached: Array | None = None
    """Goals that it reached in the step."""
    seen: Array | None = None
    """[..., F]: what it saw before the step, and what it was paid in it; None unless a mind looks at that."""
    paid: Array | None = None


class Choice(NamedTuple):
    """The choice that decides a step for each seat: its own or, in games of turns, that of the seat whose turn it is.
    Leaves [..., S or N, ...]."""

    p: Array
    """[A]: how likely each entry was; certain where the policy of who chose is not known."""
    taken: Array
    """Which one it was."""
    told: Array | None
    """What others chose at the same moment, one-hot; None in games of turns."""


class Worth(NamedTuple):
    """What the choice that decides a step is worth to each seat."""

    q_TWNA: Array
    """The critic's value of the step once each entry is chosen."""
    choice: Choice

    @property
    def expected_TWN(self) -> Array:
        return (self.choice.p * self.q_TWNA).sum(-1)

    @property
    def chosen_TWN(self) -> Array:
        return entry(self.q_TWNA, self.choice.taken)


class Branch(NamedTuple):
    """Where play stood before every few steps of a rollout, so that one can go on from there in another way; leaves
    [T / every, W, ...]."""

    minds: Any
    """What the minds of its seats held, [..., N, ...]."""
    seat: Array
    """[N]: which seats of the game they are."""
    state: Any = None
    """Of the whole world; None where nobody asks for it."""


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
    shaping: Shaping | None = None
    """Leaves [T, W, N, J]; None where shaping is off."""
    imitate_TWN: Array | None = None
    """Steps of another player that the learner is to imitate; None where imitation is off. From `collect`: steps in
    which the seat's choice counted at all."""
    common_TWN: Array | None = None
    """Mean reward of those with whom a seat shares; None where rewards are not shared."""
    price_TWN: Array | None = None
    """What each seat owes for what it and the others did, where the anchor is a price; else None."""
    others: Others | None = None
    """What the other seats did; None unless there are modules of one's own."""
    worth: Worth | None = None
    """None where the critic does not judge choices."""
    counts_TWNJ: Array | None = None
    """What the game had counted of each seat after the step, in the order of `GameSpec.counts`: of environments
    outside, the numbers of their infos. None where a game counts nothing, or there are no modules of one's own."""
    thought: Any = None
    """What the learner's mind thought before each step (play/witness.Thought); None where it has none."""
    influence_TWN: Array | None = None
    """How much each own action moves the others, where that is paid for."""
    blank_TW: Array | None = None
    """Where the memory was blank before the step; None where it is wherever a game begins."""
    finished_TW: Any = None
    """Where the game ended for everybody; None unless the learner has a mind."""
    branch: Branch | None = None
    """None where nothing is imagined."""


class Film(NamedTuple):
    """What a rollout leaves for an archive of defeats: states every few steps, and all that was done."""

    state: Any
    """Leaves [T / every, V, ...]."""
    action: Action
    """As the game received it, leaves [T, V, S, ...]."""
    chance: Any


class Games(NamedTuple):
    """Every step of every world, with the result of the game that ended there, if one did."""

    finished_TBW: Array
    return_TBWS: Array
    length_TBW: Array
    outcome_TBWK: Array
    cause_TBWK: Array | tuple = ()
    fresh_TBW: Array | None = None
    """Where players change: whether the next player drove the away side, or still the old one."""
    sums_TBWSJ: Array | None = None
    replayed_TBW: Array | None = None
    film: Film | None = None
    fault_TBW: Array | None = None
    """Where a world went wrong and starts over: its game counts for nothing."""
    faults: Faults | None = None
    count_TBWSJ: Array | tuple = ()

    @property
    def ended_TBW(self) -> Array:
        """Where another game follows."""
        return self.finished_TBW if self.fault_TBW is None else self.finished_TBW | self.fault_TBW

    @property
    def counted(self) -> "Games":
        """Without games that began before an earlier defeat."""
        if self.replayed_TBW is None:
            return self
        return self._replace(finished_TBW=self.finished_TBW & ~self.replayed_TBW)


class Tally(NamedTuple):
    """Completed games of a rollout, block by block: counts and sums."""

    games_B: Array
    length_B: Array
    return_BS: Array
    return_square_BS: Array
    won_BK: Array
    drawn_BK: Array
    lost_BK: Array
    cause_BKJ: Array | tuple = ()
    """How often each cause ended the game of each side."""
    sums_BSJ: Array | None = None
    """What the shaping terms of completed games summed up to."""
    count_BSJ: Array | tuple = ()
    """How often each seat did what the game counts."""


def tally(games: Games, causes: int = 0) -> Tally:
    """Count completed games; a game still running counts when it ends, so long games are not under-counted."""
    done_TBW1 = games.finished_TBW[..., None]
    in_play = (0, 2)
    sums, counts = games.sums_TBWSJ, games.count_TBWSJ
    return Tally(
        games_B=games.finished_TBW.sum(in_play),
        length_B=jnp.where(games.finished_TBW, games.length_TBW, 0).sum(in_play),
        return_BS=jnp.where(done_TBW1, games.return_TBWS, 0.0).sum(in_play),
        return_square_BS=jnp.where(done_TBW1, games.return_TBWS**2, 0.0).sum(in_play),
        won_BK=(done_TBW1 & (games.outcome_TBWK > 0)).sum(in_play),
        drawn_BK=(done_TBW1 & (games.outcome_TBWK == 0)).sum(in_play),
        lost_BK=(done_TBW1 & (games.outcome_TBWK < 0)).sum(in_play),
        cause_BKJ=jnp.stack([(done_TBW1 & (games.cause_TBWK == j)).sum(in_play) for j in range(causes)], -1)
        if causes
        else (),
        sums_BSJ=None if sums is None else jnp.where(done_TBW1[..., None], sums, 0.0).sum(in_play),
        count_BSJ=() if isinstance(counts, tuple) else jnp.where(done_TBW1[..., None], counts, 0).sum(in_play),
    )


class Duels(NamedTuple):
    """Completed games of home sides against the players of away lanes, old [0] and next [1]; and who has moved on."""

    games_2X: Array
    won_2X: Array
    drawn_2X: Array
    lost_2X: Array
    length_2X: Array
    return_2X: Array
    """Of a seat of the home side, summed over games; and its square."""
    return_square_2X: Array
    drained_B: Array
    """Blocks in which every world is driven by the next players, so that others may be named."""


def duels(games: Games, seating: Seating, fresh_BW: Array) -> Duels:
    """Results as the learner sees them. Among more than two sides it has beaten those that came off worse than
    itself."""
    assert games.fresh_TBW is not None
    block_X, side_X = seating.away_lanes.T
    outcome_TXW = seating.at_home(games.outcome_TBWK)[:, block_X]
    if seating.away > 1:
        outcome_TXW = outcome_TXW - games.outcome_TBWK[:, block_X, :, side_X].swapaxes(0, 1)
    own_BS = seating.home_seats_BS()
    return_TBW = jnp.where(own_BS[:, None], games.return_TBWS, 0.0).sum(-1) / own_BS.sum(1)[:, None]
    ended_2TXW = (games.finished_TBW & jnp.stack([~games.fresh_TBW, games.fresh_TBW]))[:, :, block_X]

    def total(x_TXW: Array) -> Array:
        return jnp.where(ended_2TXW, x_TXW, 0).sum((1, 3))

    return_TXW = return_TBW[:, block_X]
    return Duels(
        ended_2TXW.sum((1, 3)), total(outcome_TXW > 0), total(outcome_TXW == 0), total(outcome_TXW < 0),
        total(games.length_TBW[:, block_X]), total(return_TXW), total(return_TXW**2), fresh_BW.all(1),
    )  # fmt: skip


def entry(x_A: Array, index: Array) -> Array:
    """One entry of the last axis each. A comparison instead of a gather: its gradient is a select, not a scatter."""
    return jnp.where(index[..., None] == jnp.arange(x_A.shape[-1]), x_A, 0.0).sum(-1)


def where_first(condition: Array, new: Any, old: Any) -> Any:
    """new where the condition holds, old elsewhere; the condition has the leading axes of every leaf."""

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim)), a, b)

    return jax.tree.map(choose, new, old)
