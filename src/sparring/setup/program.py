"""One iteration of training, play and learning, as one compiled program. The one place that jits the loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.games.game import Game
from sparring.learn.batch import Batch
from sparring.learn.config import COEFFICIENTS, PPOConfig, columns, knobs_of
from sparring.learn.learner import Learner, behaviour, ready
from sparring.learn.ppo import UpdateStats, update
from sparring.learn.price import dues_SS, own_price
from sparring.learn.shaping import sharers_SS
from sparring.opponent_models.config import MindConfig, PlanningConfig
from sparring.opponent_models.imagine import imagined
from sparring.opponent_models.planning import Planner
from sparring.opponent_models.study import own_influence, studied
from sparring.play.branches import over_rows
from sparring.play.chance import stream
from sparring.play.collect import collect
from sparring.play.defeats import Archive, before_defeat, remembered, replay_results
from sparring.play.faults import Faults
from sparring.play.rollout import Cursor, Driver, Duels, Games, Pairing, Rollout, Tally, duels, tally, where_first
from sparring.play.roster import take
from sparring.play.scripted import Scripted
from sparring.play.seating import Seating
from sparring.play.switching import Switching


class TrainState(NamedTuple):
    """All that an iteration changes. Every leaf has a leading axis R, one entry for each seed that trains."""

    learners: tuple[Learner, ...]
    """One stack [L, ...] for each learning group."""
    cursor: Cursor
    pool: Any = None
    """Past selves, a stack [P, ...] of actors; None where there are none."""
    archive: Archive | None = None
    """Defeats from which games start again; None where none do."""
    origin: tuple[Learner, ...] | None = None
    """Learners as they began, where some start over; else None."""


class Orders(NamedTuple):
    """Who plays in this iteration: what changes from one to the next without recompiling. Leading axis R."""

    rows: tuple[Array, ...]
    """For each group of lanes in which nobody learns, the row of its roster that drives each lane. In the learners' own
    family rows from 0 on are those of the pool; a row below 0 is a learner or a shadow as it is now (`live_row`,
    `shadow_row`)."""
    ids: tuple[Array, ...]
    """The players' identities."""
    temperature: tuple[Array | None, ...]
    epsilon: tuple[Array | None, ...]
    pairing: Pairing | None
    reach: Array | None = None
    """Steps before a defeat from which it is replayed."""
    replay_share: Array | None = None
    rule: tuple[Array, ...] | None = None
    """Where bots may play in the learners' place, or learners look ahead: for each learning group the row of RULES,
    LEARNED or PLANNED."""


RULES, LEARNED, PLANNED = "rules", -1, -2
"""The roster of bots in the learners' place, the row of none, and that of a learner that looks ahead."""


def shadow_row(learner: int) -> int:
    return -1 - 2 * learner


def live_row(learner: int) -> int:
    return -2 - 2 * learner


class Report(NamedTuple):
    tally: Tally
    stats: tuple[UpdateStats, ...]
    """For each learning group, leaves [L]."""
    suspects: tuple[Batch, ...]
    """For each learning group the first minibatch that was not finite, leaves [L, M, ...]; any one where all were."""
    faults: Faults
    duels: Duels | None = None
    """Where players change, how the learner did against each."""
    second_tries: Array | None = None
    """Where defeats are replayed: games that began before one, and those of them won, drawn, lost: [4]."""


class Kind(NamedTuple):
    """How the learners of one stack learn."""

    ppo: PPOConfig
    mind: MindConfig


@dataclass(frozen=True)
class Plan:
    """The static part of a run: what recompiles when it changes."""

    seating: Seating
    ppo: PPOConfig
    """Of all learners: what it says of coefficients only decides which terms exist."""
    steps: int
    keep: int
    """Steps from one memory that is kept for training to the next."""
    shaping: bool = False
    live: bool = False
    """Learners meet each other as they are now, one of them learning."""
    mind: MindConfig = field(default_factory=MindConfig)
    planning: PlanningConfig | None = None
    """How learners look ahead; None: in no stage do they."""
    own: tuple[Kind, ...] = ()
    """Where learners are of several kinds: that of each learning group; `ppo` then has every term that any has."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Of each learning group."""
        return self.own or (Kind(self.ppo, self.mind),) * len(self.seating.learning)


def iterate(
    plan: Plan,
    game: Game,
    state: TrainState,
    rosters: dict[str, Any],
    orders: Orders,
    knobs: tuple[Array, ...],
    key: Array,
    iteration: Array | int = 0,
) -> tuple[TrainState, Report]:
    """Play, then let every learner learn from what it played."""
    seating = plan.seating
    learners, rollouts, cursor, games = play(plan, game, state, rosters, orders, knobs, key)

    learned = []
    for group, stack in enumerate(zip(learners, rollouts, map(columns, knobs), strict=True)):

        def learn(
            learner: Learner, rollout: Any, knobs_H: Sequence[Array], *rule: Array, group: int = group
        ) -> tuple[Learner, UpdateStats, Batch]:
            own = jax.random.fold_in(stream(key, "minibatches"), learner.player)
            waits = rule[0] >= 0 if rule else None
            return teach(plan, learner, rollout, knobs_H, own, group, waits, game)

        rule = () if orders.rule is None else (orders.rule[group],)
        axes = (0, 1, 0, *(0 for _ in rule))  # rollouts are time-major: learners come second
        learned.append(over_rows(learn, axes)(*stack, *rule))
    learners, stats, suspects = zip(*learned, strict=True)
    fought = duels(games.counted, seating, cursor.fresh_BW) if cursor.fresh_BW is not None else None
    archive, again = state.archive, None
    if archive is not None and orders.pairing is not None and orders.reach is not None:
        own = stream(key, "defeats")
        archive = remembered(archive, games, seating, orders.pairing, orders.reach, own, jnp.asarray(iteration))
        again = replay_results(games, seating)
    faults: Any = games.faults
    report = Report(tally(games.counted, len(game.spec.causes)), stats, suspects, faults, fought, again)
    return TrainState(learners, cursor, state.pool, archive, state.origin), report


def play(
    plan: Plan,
    game: Game,
    state: TrainState,
    rosters: dict[str, Any],
    orders: Orders,
    knobs: tuple[Array, ...],
    key: Array,
) -> tuple[tuple[Learner, ...], tuple[Rollout, ...], Cursor, Games]:
    """The half of an iteration before anybody learns: the learners as they played, and what each of them lived."""
    learners = tuple(
        over_rows(lambda learner, knobs_H: ready(learner, key, knobs_of(knobs_H)))(*pair)
        for pair in zip(state.learners, map(columns, knobs), strict=True)
    )
    drivers = seat_players(plan, learners, state.pool, under_rules(rosters, game), orders, knobs, game)
    imitating = plan.ppo.on("imitation") and state.archive is not None
    rollouts, cursor, games = collect(
        game, plan.seating, drivers, state.cursor, stream(key, "play"), steps=plan.steps, sequence=plan.keep,
        pairing=orders.pairing, shaping=plan.shaping, archive=state.archive,
        replay_share=0.0 if orders.replay_share is None else orders.replay_share, imitating=imitating,
        sharers_SS=sharers_SS(game.spec, plan.ppo.shared_with) if plan.ppo.on("shared_reward") else None,
        for_modules=any(kind.ppo.modules for kind in plan.kinds), branching=branching(plan),
    )  # fmt: skip
    if RULES in rosters:  # the policy that learns has no part in what bots remember
        rollouts = tuple(r._replace(memory=(r.memory[0][0], r.memory[1])) for r in rollouts)
    if imitating:
        rollouts = with_winners(rollouts, games, plan.seating, orders)
    if plan.ppo.on("anchor_price"):
        rollouts = with_prices(plan, learners, rollouts, knobs)
    return learners, rollouts, cursor, games


def branching(plan: Plan) -> Literal["", "minds", "states"]:
    """What rollouts keep so that somebody can go on from them in imagination."""
    if not any(kind.mind.imagines for kind in plan.kinds):
        return ""
    return "states" if any(kind.mind.on and kind.mind.imagine == "oracle" for kind in plan.kinds) else "minds"


def teach(
    plan: Plan, learner: Learner, rollout: Rollout, knobs_H: Array | Sequence[Array], key: Array, group: int = 0,
    waits: Array | None = None, game: Game | None = None,
) -> tuple[Learner, UpdateStats, Batch]:  # fmt: skip
    """What one learner of a learning group makes of what it lived; then its mind, where it has one. A learner that
    waits, since a bot played in its place, stays as it was: only its mind learns from what it saw. The game is for
    those who imagine."""
    ppo, mind = plan.kinds[group]
    parts = len(ppo.losses) + len(ppo.modules)
    shaping_J = (jnp.stack(knobs_H[len(COEFFICIENTS) : len(knobs_H) - parts]),) if plan.shaping else ()
    rollout, knobs, extra, dreamt = as_trained(plan, rollout, ppo), knobs_of(knobs_H, parts), None, {}
    if ppo.on("influence"):
        rollout = rollout._replace(influence_TWN=own_influence(learner, rollout))
    if mind.imagines:
        assert game is not None
        own, weights = player(learner, knobs, ppo), shaping_J[0] if shaping_J else None
        learner, extra, dreamt = imagined(learner, own, rollout, game, key, knobs, ppo, mind, weights)
    before, seen = learner, rollout._replace(branch=None)
    if rollout.others is not None and not ppo.modules:  # rows of the epochs need not carry what only a mind looks at
        seen = seen._replace(others=None)
    learner, stats, suspect = update(learner, seen, key, knobs, ppo, *shaping_J, imagined=extra)
    if waits is not None:
        learner, stats = where_first(waits, before, learner), stats._replace(waits=1.0 * waits)
    if mind.on:
        learner, found = studied(learner, rollout, key, mind)
        stats = stats._replace(mind={**dict(stats.mind), **dreamt, **found})
    return learner, stats, suspect


def as_trained(plan: Plan, rollout: Rollout, ppo: PPOConfig) -> Rollout:
    """The rollout with memories where this learner's sequences begin; others may need theirs more often."""
    every = (ppo.burn_in or ppo.sequence) // plan.keep
    if every <= 1 or not jax.tree.leaves(rollout.memory):
        return rollout
    return rollout._replace(memory=jax.tree.map(lambda x: x[::every], rollout.memory))


def with_winners(rollouts: tuple, games: Games, seating: Seating, orders: Orders) -> tuple:
    """Rollouts that say which steps of others are to be imitated: the last before a defeat."""
    assert orders.pairing is not None and orders.reach is not None
    group, (rollout,) = seating.groups[seating.learning[0]], rollouts
    before_TBW = before_defeat(games, seating, orders.pairing, orders.reach)
    away_W = jnp.repeat(jnp.asarray(~seating.at_home_PX(group)[0]), seating.worlds)
    before_TPW = jax.vmap(lambda x_BW: seating.per_world(x_BW, group))(before_TBW) & away_W
    return (rollout._replace(imitate_TWN=before_TPW[..., None] & rollout.imitate_TWN),)


def with_prices(plan: Plan, learners: tuple[Learner, ...], rollouts: tuple, knobs: tuple[Array, ...]) -> tuple:
    """Rollouts that say what each seat owes, by what all learners in its world did."""
    seating = plan.seating
    groups = [seating.groups[i] for i in seating.learning]

    price_TBWS: Any = 0.0
    stacks = zip(learners, rollouts, map(columns, knobs), strict=True)
    for group, kind, stack in zip(groups, plan.kinds, stacks, strict=True):

        def own(learner: Learner, rollout: Any, knobs_H: Sequence[Array], ppo: PPOConfig = kind.ppo) -> Array:
            return own_price(learner, rollout, knobs_of(knobs_H), ppo)

        price_TLWN = over_rows(own, (0, 1, 0), out_axes=1)(*stack)
        source_BS = seating.sources(group)
        by_seat_TBWS = jax.vmap(lambda x, source_BS=source_BS: seating.from_lanes(x, source_BS))(price_TLWN)
        price_TBWS += jnp.where((source_BS >= 0)[:, None], by_seat_TBWS, 0.0)
    owed_TBWS = jnp.einsum("sr,tbwr->tbws", dues_SS(seating.spec), price_TBWS)
    return tuple(
        rollout._replace(price_TWN=jax.vmap(lambda x, group=group: seating.per_seat(x, group))(owed_TBWS))
        for group, rollout in zip(groups, rollouts, strict=True)
    )


def seat_players(
    plan: Plan,
    learners: tuple[Learner, ...],
    pool: Any,
    rosters: dict[str, Any],
    orders: Orders,
    knobs: tuple[Array, ...],
    game: Game | None = None,
) -> list[Driver]:
    """A driver for each group: its learners as they explore, or the rows of a roster. Learners that look ahead do so
    by the game."""
    live, named = iter(zip(plan.kinds, learners, knobs, strict=True)), iter(zip(*orders[:4], strict=True))
    rules, drivers = iter(orders.rule or ()), []
    for group in plan.seating.groups:
        if group.learns:
            (ppo, _), learner, knobs_LH = next(live)
            policy: Any = player(learner, knobs_of(columns(knobs_LH)), ppo)
            if orders.rule is not None:
                row_P = next(rules)
                if plan.planning is not None:
                    ends, heard_P = ppo.time_limit == "end", row_P == PLANNED
                    policy = looking_ahead(plan.planning, policy, learner, knobs_LH, game, heard_P, cut_ends=ends)
                if RULES in rosters:
                    policy = Switching(policy, take(rosters[RULES], jnp.maximum(row_P, 0)), row_P >= 0)
            drivers.append(Driver(policy, learner.model.judge, learner.player))
        else:
            rows_P, ids_P, temperature_P, epsilon_P = next(named)
            roster = rosters.get(group.family)
            policy = own_family(plan, learners, pool, rows_P) if roster is None else take(roster, rows_P)
            drivers.append(Driver(policy, None, ids_P, temperature_P, epsilon_P))
    return drivers


def player(learner: Learner, knobs: Any, ppo: PPOConfig) -> Any:
    """The policy that plays for a learner."""
    actor: Any = learner.shadow if ppo.behaviour == "shadow" else learner.model.actor
    return behaviour(actor, knobs, ppo)


def looking_ahead(
    config: PlanningConfig, policy: Any, learner: Learner, knobs_LH: Array, game: Game | None, heard_P: Array, *,
    cut_ends: bool = False,
) -> Planner:  # fmt: skip
    """The learners of a group as players that look ahead where they are to: what is played has the probability that is
    stored, so that they learn from it off-policy."""
    games = jax.tree.map(lambda x: jnp.broadcast_to(x, (*heard_P.shape, *jnp.shape(x))), game)
    discount = knobs_of(columns(knobs_LH)).discount
    return Planner.make(policy, learner.model.judge, games, discount, config, heard_P, cut_ends=cut_ends)


def under_rules(rosters: dict[str, Any], game: Game) -> dict[str, Any]:
    """Rosters whose bots know the rules of the present stage, such as where the sky ends."""

    def informed(roster: Any) -> Any:
        if not isinstance(roster, Scripted):
            return roster
        rules = jax.tree.map(lambda old, now: jnp.broadcast_to(now, old.shape), roster.game.rules, game.rules)
        return eqx.tree_at(lambda bots: bots.game.rules, roster, rules)

    return {family: informed(roster) for family, roster in rosters.items()}


def own_family(plan: Plan, learners: tuple[Learner, ...], pool: Any, rows_P: Array) -> Any:
    """Rows of the pool, learners and shadows, as far as this run has them as opponents.

    Nets are alike whatever the number of seats they drive, so learners of all groups are one stack here.
    """
    number_P = jnp.maximum((-1 - rows_P) // 2, 0)
    kinds = [(rows_P >= 0, pool, jnp.maximum(rows_P, 0))]
    if plan.ppo.has_shadow:
        shadows = joined([learner.shadow for learner in learners])
        kinds.append(((rows_P < 0) & (rows_P % 2 == 1), shadows, number_P))
    if plan.live:
        actors = joined([learner.model.actor for learner in learners])
        kinds.append(((rows_P < 0) & (rows_P % 2 == 0), actors, number_P))
    chosen = None
    for is_P, stack, place_P in kinds:
        if stack is not None:
            taken = take(stack, place_P)
            chosen = taken if chosen is None else where_first(is_P, taken, chosen)
    return chosen


def joined(stacks: Sequence[Any]) -> Any:
    return stacks[0] if len(stacks) == 1 else jax.tree.map(lambda *rows: jnp.concatenate(rows), *stacks)


@lru_cache(maxsize=8)
def compile_program(plan: Plan, *, at_once: bool | None = None) -> Callable[..., tuple[TrainState, Report]]:
    """program(game, state, rosters, orders, knobs, seeds_R, iteration) -> (state, report). State, orders and seeds_R
    lead with R, and so do knobs where each seed has its own.

    at_once: whether several seeds are computed side by side. None: not on a CPU, whose cores one seed keeps busy; there
    side by side compiles longer and runs slower. The state's buffers are reused. Runs of one plan share a program.
    """
    side_by_side = jax.default_backend() != "cpu" if at_once is None else at_once

    def of_seed(game, state, rosters, orders, knobs, seed, iteration):
        key = jax.random.fold_in(jax.random.key(seed), iteration)
        return iterate(plan, game, state, rosters, orders, knobs, key, iteration)

    def program(game, state, rosters, orders, knobs, seeds_R, iteration):
        apart = knobs[0].ndim == 3  # every seed has knobs of its own
        if side_by_side and seeds_R.shape[0] > 1:  # a vmap of one would turn every cond into a select
            # jit, so that it is traced as for one seed, and the axis of seeds is put into the whole at once.
            axes = (None, 0, None, 0, 0 if apart else None, 0, None)
            over_seeds = jax.vmap(jax.jit(of_seed), in_axes=axes)
            return over_seeds(game, state, rosters, orders, knobs, seeds_R, iteration)

        def in_turn(own):
            state, orders, own_knobs, seed = own
            return of_seed(game, state, rosters, orders, own_knobs if apart else knobs, seed, iteration)

        return lax.map(in_turn, (state, orders, knobs if apart else (), seeds_R))

    return jax.jit(program, donate_argnums=1)
