"""Games whose every number can be worked out by hand."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Chance, Game


class TimetableRules(NamedTuple):
    reward_TS: Array
    left_TS: Array
    acting_TS: Array
    cut: Array
    """Whether the end is a time limit that bootstraps."""
    echo: Array
    """How much a seat is paid for the sum of its choices."""


class TimetableState(NamedTuple):
    clock: Array
    ticket: Array
    """A number drawn at the start, which tells one game from another."""


class Timetable(Game):
    """A game written as tables: at step t of a game seat s earns reward_TS[t, s], and leaves where left_TS says so.

    A seat sees the clock, its number and the game's ticket. The entry (clock + seat) % A of the first head is illegal
    where `masks`, and a seat that does not act has entry 0 of each head alone. Side 0 wins.
    """

    spec: GameSpec = eqx.field(static=True)
    rules: TimetableRules
    masks: bool = eqx.field(static=True)

    def start(self, key: Array) -> TimetableState:
        return TimetableState(jnp.zeros((), jnp.int32), jax.random.uniform(key))

    def observe(self, state: TimetableState) -> Observation:
        seats, action = jnp.arange(self.spec.seats), self.spec.action
        row = jnp.minimum(state.clock, self.spec.longest - 1)
        left_before_S = (self.rules.left_TS & (jnp.arange(self.spec.longest) < state.clock)[:, None]).any(0)
        acting_S = self.rules.acting_TS[row] & ~left_before_S
        firsts = np.concatenate([np.arange(size) == 0 for size in action.heads] or [np.zeros(0, bool)])
        legal_SA = acting_S[:, None] | jnp.asarray(firsts)
        if self.masks:
            banned_S = jnp.where(acting_S, (state.clock + seats) % action.heads[0], -1)
            legal_SA = legal_SA & (jnp.arange(action.entries) != banned_S[:, None])
        world = jnp.broadcast_to(jnp.stack([state.clock.astype(float), state.ticket]), (self.spec.seats, 2))
        features_SF = jnp.stack([world[:, 0], seats.astype(float), world[:, 1]], axis=1)
        return Observation(features_SF, legal_SA, ~left_before_S, acting_S)

    def central(self, state: TimetableState) -> Array:
        """The clock and the number of the view."""
        views = jnp.arange(self.spec.critic_views, dtype=float)
        return jnp.stack([jnp.broadcast_to(state.clock.astype(float), views.shape), views], axis=1)

    def step(self, state: TimetableState, action: Action, chance: Chance) -> tuple[TimetableState, Step]:
        del chance
        paid_S = action.discrete_SD.sum(-1) + action.continuous_SC.sum(-1)
        last = state.clock + 1 == self.spec.longest
        outcome_K = jnp.where(jnp.arange(self.spec.sides) == 0, 1.0, -1.0)
        step = Step(
            reward_S=self.rules.reward_TS[state.clock] + self.rules.echo * paid_S,
            left_S=self.rules.left_TS[state.clock],
            over=last & ~self.rules.cut,
            cut=last & self.rules.cut,
            outcome_K=outcome_K,
        )
        return state._replace(clock=state.clock + 1), step


def timetable(
    reward_TS: Sequence[Sequence[float]],
    *,
    side_of_seat: tuple[int, ...] | None = None,
    leaves: Mapping[int, int] | None = None,
    idle: Sequence[tuple[int, int]] = (),
    cut: bool = False,
    echo: float = 0.0,
    action: ActionSpec | None = None,
    masks: bool = False,
    central: str = "world",
) -> Timetable:
    """`leaves` maps a seat to the step after which it is gone; `idle` lists (step, seat) that do not act."""
    action = action or ActionSpec(heads=(3,))
    length, seats = np.shape(reward_TS)
    left_TS, acting_TS = np.zeros((length, seats), bool), np.ones((length, seats), bool)
    for seat_number, step in (leaves or {}).items():
        left_TS[step, seat_number] = True
    for step, seat_number in idle:
        acting_TS[step, seat_number] = False
    spec = GameSpec(
        seats=seats,
        side_of_seat=side_of_seat or tuple(range(seats)),
        action=action,
        layout=(Feature("clock", (1,)), Feature("seat", (1,)), Feature("ticket", (1,))),
        central=Central(central, 2),  # type: ignore[arg-type]
        longest=length,
        shortest=length,
    )
    tables = (jnp.asarray(reward_TS, jnp.float32), jnp.asarray(left_TS), jnp.asarray(acting_TS))
    return Timetable(spec, TimetableRules(*tables, jnp.asarray(cut), jnp.asarray(echo, jnp.float32)), masks)


class LotteryState(NamedTuple):
    clock: Array
    length: Array


class Lottery(Game):
    """Games last 1 or `long` steps, equally likely, and pay 1 a step to seat 0; the long ones are won by side 1."""

    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    long: int = eqx.field(static=True)

    def start(self, key: Array) -> LotteryState:
        return LotteryState(jnp.zeros((), jnp.int32), jnp.where(jax.random.bernoulli(key), self.long, 1))

    def observe(self, state: LotteryState) -> Observation:
        everyone = jnp.ones(2, bool)
        return Observation(jnp.full((2, 1), state.clock, float), jnp.ones((2, 2), bool), everyone, everyone)

    def step(self, state: LotteryState, action: Action, chance: Chance) -> tuple[LotteryState, Step]:
        del action, chance
        state = state._replace(clock=state.clock + 1)
        long = jnp.where(state.length > 1, 1.0, -1.0)
        over, never = state.clock >= state.length, jnp.zeros((), bool)
        return state, Step(jnp.array([1.0, 0.0]), jnp.zeros(2, bool), over, never, jnp.stack([-long, long]))


def lottery(long: int, longest: int) -> Lottery:
    """`longest` may be more than `long`, so that a match leaves room for several games."""
    spec = GameSpec(
        seats=2,
        side_of_seat=(0, 1),
        action=ActionSpec(heads=(2,)),
        layout=(Feature("clock", (1,)),),
        central=Central("seat", 2),
        longest=longest,
    )
    return Lottery(spec, (), long)


class FlipFlopState(NamedTuple):
    place: Array
    clock: Array


class FlipFlop(Game):
    """A Markov chain 0 -> 1 -> 0 -> ... that pays 1 in place 0, stopped after 3 steps by a limit or by its rules.

    The seat sees where it is, not the time.
    """

    spec: GameSpec = eqx.field(static=True)
    rules: Array
    """Whether the end is a time limit that bootstraps."""

    def start(self, key: Array) -> FlipFlopState:
        del key
        return FlipFlopState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def observe(self, state: FlipFlopState) -> Observation:
        here = jnp.ones(1, bool)
        return Observation((state.place == jnp.arange(2)).astype(float)[None], jnp.ones((1, 2), bool), here, here)

    def step(self, state: FlipFlopState, action: Action, chance: Chance) -> tuple[FlipFlopState, Step]:
        del action, chance
        last = state.clock == 2
        reward_S = jnp.where(state.place == 0, 1.0, 0.0)[None]
        step = Step(reward_S, jnp.zeros(1, bool), last & ~self.rules, last & self.rules, jnp.zeros(1))
        return FlipFlopState(1 - state.place, state.clock + 1), step


def flip_flop(cut: bool = True) -> FlipFlop:
    spec = GameSpec(
        seats=1,
        side_of_seat=(0,),
        action=ActionSpec(heads=(2,)),
        layout=(Feature("place", (2,)),),
        central=Central("seat", 2),
        longest=3,
        shortest=3,
    )
    return FlipFlop(spec, jnp.asarray(cut))


class OddOneOut(Game):
    """Each of three seats chooses 0 or 1; who is alone with its choice wins, the other two lose; all alike: a draw."""

    spec: GameSpec = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> Array:
        del key
        return jnp.zeros(())

    def observe(self, state: Array) -> Observation:
        here = jnp.ones(3, bool)
        return Observation(jnp.broadcast_to(state, (3, 1)), jnp.ones((3, 2), bool), here, here)

    def central(self, state: Array) -> Array:
        return jnp.broadcast_to(state, (3, 1))

    def step(self, state: Array, action: Action, chance: Chance) -> tuple[Array, Step]:
        del chance
        chosen_S = action.discrete_SD[:, 0]
        alone_S = (chosen_S[:, None] == chosen_S).sum(1) == 1
        outcome_K = jnp.where(alone_S.any(), jnp.where(alone_S, 1.0, -1.0), 0.0)
        return state, Step(outcome_K, jnp.zeros(3, bool), jnp.ones((), bool), jnp.zeros((), bool), outcome_K)


def odd_one_out() -> OddOneOut:
    spec = GameSpec(
        seats=3,
        side_of_seat=(0, 1, 2),
        action=ActionSpec(heads=(2,)),
        layout=(Feature("nothing", (1,)),),
        central=Central("seat", 1),
        longest=1,
        exchangeable=((0, 1, 2),),
        score="outcome",
    )
    return OddOneOut(spec)


class AppointmentRules(NamedTuple):
    safe: Array
    """What staying at home pays at once."""
    cut: Array
    """Whether the end is a time limit that bootstraps."""
    gone: Array
    """Whether nobody can be after the first place any more."""


class AppointmentState(NamedTuple):
    clock: Array
    chosen: Array
    """The place that seat 0 went to."""


class Appointment(Game):
    """Two steps. In the first, seat 0 goes to place 0 or 1, or stays at home (2), which pays `safe` at once; in the
    second it earns 1 if seat 1 then goes where it is. A fourth choice would pay 10, and is illegal. The goals are the
    two places."""

    spec: GameSpec = eqx.field(static=True)
    rules: AppointmentRules

    def start(self, key: Array) -> AppointmentState:
        del key
        return AppointmentState(jnp.zeros((), jnp.int32), jnp.full((), 3, jnp.int32))

    def observe(self, state: AppointmentState) -> Observation:
        clock_S1 = jnp.broadcast_to(state.clock.astype(float), (2, 1))
        everyone = jnp.ones(2, bool)
        return Observation(clock_S1, jnp.broadcast_to(jnp.arange(4) < 3, (2, 4)), everyone, everyone)

    def goals(self, state: AppointmentState) -> Goals:
        del state
        open_SG = jnp.broadcast_to((jnp.arange(2) > 0) | (self.rules.gone == 0), (2, 2))
        return Goals(open_SG, jnp.ones((2, 2)), jnp.broadcast_to(jnp.eye(2), (2, 2, 2)))

    def reached(self, before: AppointmentState, action: Action, after: AppointmentState) -> Array:
        del before, after
        return action.discrete_SD == jnp.arange(2)

    def step(self, state: AppointmentState, action: Action, chance: Chance) -> tuple[AppointmentState, Step]:
        del chance
        own, other = action.discrete_SD[:, 0]
        first = state.clock == 0
        at_once = jnp.where(own == 2, self.rules.safe, 0.0) + jnp.where(own == 3, 10.0, 0.0)
        reward = jnp.where(first, at_once, 1.0 * (state.chosen == other))
        after = AppointmentState(state.clock + 1, jnp.where(first, own, state.chosen))
        ends, none_S = after.clock >= 2, jnp.zeros(2)
        cut = ends & (self.rules.cut > 0)
        return after, Step(jnp.stack([reward, 0.0 * reward]), none_S > 0, ends & ~cut, cut, none_S)


def appointment(safe: float = 0.6, *, cut: bool = False, gone: bool = False) -> Appointment:
    spec = GameSpec(
        seats=2, side_of_seat=(0, 1), action=ActionSpec(heads=(4,)), layout=(Feature("clock", (1,)),),
        central=Central("seat", 2), longest=2, shortest=2, goals=("place 0", "place 1"),
    )  # fmt: skip
    return Appointment(spec, AppointmentRules(*(jnp.asarray(float(x)) for x in (safe, cut, gone))))
