"""Play: every block of worlds for a number of steps, each side driven by its player. Pure; its callers compile it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.records import Action, Step
from sparring.games.game import Game, State
from sparring.nets.minds import searches
from sparring.play.branches import of_each, only_when
from sparring.play.chance import action_noise, game_chance, lots, stream
from sparring.play.choices import deciding_choice, told_to, what_others_did
from sparring.play.decide import (
    Sight,
    blank_from,
    blank_memory,
    by_block,
    decide,
    judge,
    lasting,
    look,
    refresh,
    reminded,
    settled,
    within_bounds,
)
from sparring.play.defeats import Archive, second_tries
from sparring.play.faults import (
    Exhibit,
    found_in,
    no_exhibit,
    undefined,
    unusable,
    with_first,
    without_fault,
)
from sparring.play.mixed import Mixture
from sparring.play.relay import drive, driving, shifted
from sparring.play.rollout import Branch, Cursor, Driver, Film, Games, Pairing, Rollout, Shaping, where_first
from sparring.play.seating import Group, Seating
from sparring.play.starts import draw, fresh_starts, starts_needed
from sparring.play.turns import Happened, Turn, to_rollout, turn
from sparring.play.witness import Witness, first_minds, kept_of, learned, recalled, thinking


@dataclass(frozen=True)
class Stage:
    """All that stays the same from step to step."""

    game: Game
    seating: Seating
    drivers: Sequence[Driver]
    bank: "Bank"
    pairing: Pairing | None
    shaping: bool
    imitating: bool = False
    sharers_SS: np.ndarray | None = None
    """Where rewards are shared: what the reward of each seat (second) counts in the mean that a seat (first) shares."""
    for_modules: bool = False
    """Rollouts also say what the other seats did and what the game counted."""


def begin(
    game: Game,
    seating: Seating,
    drivers: Sequence[Driver],
    key: Array,
    *,
    shaping: bool = False,
    replaying: bool = False,
) -> Cursor:
    """A cursor with every world at a fresh start."""
    shape = (seating.blocks, seating.worlds)
    columns = len(game.spec.terms_of("reward")) + 2 * len(game.spec.terms_of("potential"))
    return Cursor(
        state=fresh_starts(game, key, seating.blocks * seating.worlds),
        memory=tuple(blank_memory(seating, *pair) for pair in zip(seating.groups, drivers, strict=True)),
        start_BW=jnp.ones(shape, bool),
        return_BWS=jnp.zeros((*shape, game.spec.seats)),
        length_BW=jnp.zeros(shape, jnp.int32),
        fresh_BW=jnp.ones(shape, bool) if seating.changing else None,
        sums_BWSJ=jnp.zeros((*shape, game.spec.seats, columns)) if shaping else None,
        replayed_BW=jnp.zeros(shape, bool) if replaying else None,
        minds=first_minds(seating, drivers),
        played_BW=jnp.zeros(shape, jnp.int32) if any(lasting(driver.policy) > 1 for driver in drivers) else None,
    )


def collect(
    game: Game, seating: Seating, drivers: Sequence[Driver], cursor: Cursor, key: Array, *, steps: int,
    sequence: int | None = None, explore: bool = True, pairing: Pairing | None = None, shaping: bool = False,
    archive: Archive | None = None, replay_share: Array | float = 0.0, imitating: bool = False,
    sharers_SS: np.ndarray | None = None, for_modules: bool = False,
    branching: Literal["", "minds", "states"] = "",
) -> tuple[tuple[Rollout, ...], Cursor, Games]:  # fmt: skip
    """Play `steps` steps. Returns a rollout for each learning group (leaves [T, L, W, ...]), the cursor, the games.

    `sequence` is the length of the stretches on which recurrent policies train; it divides `steps`.
    With `explore` off every player takes its most likely action. Where players change, `pairing` says who plays.
    With an archive, a share of games starts before earlier defeats, and the games come with a film. `branching`: what
    is kept before each stretch, so that one can go on from there: what minds held, or the states of worlds as well.
    """
    sequence = sequence or steps
    drivers = [settled(seating, *pair) for pair in zip(seating.groups, drivers, strict=True)]
    if pairing is not None:
        cursor = shifted(seating, cursor, pairing)
    worlds = seating.blocks * seating.worlds
    bank = start_bank(game, seating, key, steps, pairing, archive, replay_share)
    random = Luck(
        game_chance(game, stream(key, "chance"), steps, worlds), noise(seating, drivers, key, steps, explore),
        draws(seating, drivers, key, steps), last=jnp.arange(steps) == steps - 1,
    )  # fmt: skip
    random = jax.tree.map(lambda x: x.reshape(steps // sequence, sequence, *x.shape[1:]), random)
    stage = Stage(game, seating, drivers, bank, pairing, shaping, imitating, sharers_SS, for_modules)
    one_step = partial(watched_step, stage)

    def play_sequence(carry: Watched, random: Any) -> tuple[Watched, Any]:
        memory, state = carry[0].memory, carry[0].state if archive is not None or branching == "states" else ()
        memory = (memory, carry[0].minds if branching else ())
        carry, (turns, games, played) = lax.scan(one_step, carry, random, length=sequence)
        return carry, (memory, state, turns, games, played if archive is not None else ())

    nothing = no_exhibit(game.spec, cursor.state, jax.tree.map(lambda x: x[0, 0], random.chance))
    carry = of_each((cursor, jnp.zeros(worlds, jnp.int32), nothing))
    (cursor, used_V, exhibit), ((memory, minds), states, *found) = lax.scan(
        play_sequence, carry, random, length=steps // sequence
    )
    turns, games, played, chance = jax.tree.map(lambda x: x.reshape(steps, *x.shape[2:]), (*found, random.chance))
    rollouts = tuple(
        to_rollout(turn, memory[i], seating.sides_of(seating.groups[i]))
        for turn, i in zip(turns, seating.learning, strict=True)
    )
    games = games._replace(faults=found_in(games.fault_TBW, games.length_TBW, game.spec, used_V, bank.state, exhibit))
    if branching:
        kept = states if branching == "states" else None
        rollouts = branched(seating, rollouts, minds, kept, steps // sequence)
    if archive is not None:
        games = games._replace(film=Film(states, played, chance))
    return rollouts, cursor, games


def branched(
    seating: Seating, rollouts: tuple[Rollout, ...], minds: tuple, states: Any, count: int
) -> tuple[Rollout, ...]:
    """Rollouts of the learning groups with where each can go on from, leaves [count, L, W, ...]. `minds`: of every
    group; `states`: of all worlds, or None."""
    seat_BWS = np.broadcast_to(np.arange(seating.spec.seats), (seating.blocks, seating.worlds, seating.spec.seats))
    if states is not None:
        states = jax.vmap(lambda state: by_block(state, seating))(states)

    def branch(i: int) -> Branch:
        group = seating.groups[i]
        seat = seating.per_seat(jnp.asarray(seat_BWS), group)
        own = None if states is None else jax.vmap(partial(per_world, seating, group))(states)
        return Branch(minds[i], jnp.broadcast_to(seat, (count, *seat.shape)), own)

    return tuple(r._replace(branch=branch(i)) for r, i in zip(rollouts, seating.learning, strict=True))


def per_world(seating: Seating, group: Group, state: Any) -> Any:
    return jax.tree.map(lambda x: seating.per_world(x, group), state)


class Luck(NamedTuple):
    """What a step is given from outside: the random numbers that were drawn for it; in a scan leaves [T, ...]."""

    chance: Any
    noise: Any
    """For each group, as `noise` draws it."""
    lots: Any
    """The same, as `draws` does."""
    last: Array | bool = False
    """The step ends the rollout, so what follows it is judged at once."""


class Bank(NamedTuple):
    """The starts of every world, [R, V, ...], and whether each is a second try."""

    state: State
    replayed: Array | None


def start_bank(
    game: Game, seating: Seating, key: Array, steps: int, pairing: Pairing | None, archive: Archive | None,
    share: Array | float,
) -> Bank:  # fmt: skip
    """Fresh starts for the whole rollout. Second tries may end at any time, so only the first start of a world is one,
    and there is one fresh start more."""
    count, worlds = starts_needed(steps, game.spec.shortest), seating.blocks * seating.worlds
    if archive is None or pairing is None:
        return Bank(fresh_starts(game, stream(key, "starts"), count, worlds), None)
    fresh = fresh_starts(game, stream(key, "starts"), count + 1, worlds)
    first = jax.tree.map(lambda x: x[0], fresh)
    first, again_V = second_tries(archive, first, seating, pairing, jnp.asarray(share), stream(key, "second tries"))
    state = jax.tree.map(lambda bank, x: bank.at[0].set(x), fresh, first)
    return Bank(state, jnp.zeros((count + 1, worlds), bool).at[0].set(again_V))


def noise(seating: Seating, drivers: Sequence[Driver], key: Array, steps: int, explore: bool) -> Any:
    """For each group the random numbers of its choices, leaves [T, P, W, N, ...]."""
    if not explore:
        return ((),) * len(drivers)
    ids, coins = tuple(driver.ids_P for driver in drivers), [driver.epsilon_P is not None for driver in drivers]
    return action_noise(seating, stream(key, "actions"), ids, steps, coins)


def draws(seating: Seating, drivers: Sequence[Driver], key: Array, steps: int) -> tuple:
    """For each group of mixtures the numbers that choose among their policies, and of policies that look ahead those
    from which a search begins, [T, P, W]; None for all others. They are drawn also where every policy takes its most
    likely action."""
    ids = tuple(driver.ids_P for driver in drivers)
    wanted = [isinstance(driver.policy, Mixture) or searches(driver.policy) for driver in drivers]
    return lots(seating, stream(key, "lots"), ids, steps, wanted)


Watched = tuple[Cursor, Array, Exhibit]
"""Where play stands, the starts each world has used, and the first world that went wrong."""


def watched_step(stage: Stage, carry: Watched, luck: Luck) -> tuple[Watched, tuple[tuple[Turn, ...], Games, Action]]:
    """One step, and a look at what went wrong in it."""
    cursor, used_V, exhibit = carry
    later, (turns, games, played) = play_step(stage, (cursor, used_V), luck)
    exhibit = with_first(exhibit, games.fault_TBW, cursor.state, played, luck.chance)
    return (*later, exhibit), (turns, games, played)


def play_step(
    stage: Stage, carry: tuple[Cursor, Array], luck: Luck
) -> tuple[tuple[Cursor, Array], tuple[tuple[Turn, ...], Games, Action]]:
    """One step of every world. The carry counts the starts each world has used."""
    (cursor, used_V), (chance, numbers, drawn, last) = carry, luck
    game, seating, drivers = stage.game, stage.seating, stage.drivers
    players = list(zip(seating.groups, drivers, strict=True))
    memory = [
        refresh(seating, *player, blank_from(player[1], cursor.start_BW, cursor.played_BW), old, lot_PW)
        for player, old, lot_PW in zip(players, cursor.memory, drawn, strict=True)
    ]
    sight = look(game, seating, drivers, cursor.state)
    drives = [driving(seating, group, stage.pairing, cursor.fresh_BW) for group in seating.groups]
    seen, thoughts = thinking(game, seating, players, cursor, sight)
    known = recalled(seating, players, [kept for kept, _ in memory], thoughts, cursor.state, drawn)
    decisions = {i: decide(seating, *players[i], sight, known[i], numbers[i]) for i in seating.learning}
    driven = [
        (decisions[i].action, decisions[i].memory)
        if i in decisions
        else drive(seating, *players[i], sight, known[i], numbers[i], drives[i])
        for i in range(len(players))
    ]
    action = Action(*(seating.to_seats(parts, drives) for parts in zip(*(a for a, _ in driven), strict=True)))
    choice = deciding_choice(seating, drivers, decisions, driven, drives, action, sight)
    values = {
        i: judge(seating, *players[i], sight, memory[i][1], told_to(seating, seating.groups[i], choice))
        for i in seating.learning
    }
    played = jax.tree.map(
        lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), within_bounds(action, game.spec.action)
    )
    state, step = jax.vmap(game.step)(cursor.state, played, chance)
    step = by_block(step, seating)
    kept = reminded(seating, [later for _, later in driven], action, step.reward_S)
    memory = tuple((later, values[i][1] if i in values else ()) for i, later in enumerate(kept))

    later_values, blind_BW = judged_after(
        stage, state, memory, [values[i][0] for i in seating.learning], step.cut, last
    )
    paid = shaping_of(stage, cursor.state, state, step) if stage.shaping else None
    fault_BW = gone_wrong(stage, cursor, state, step, paid, sight.blind_BW | (blind_BW & step.cut))
    step = without_fault(step, fault_BW)
    if paid is not None:
        paid = jax.tree.map(lambda x: jnp.where(fault_BW[..., None, None], 0.0, x), paid)
    transition = (cursor.state, played, state, step.reward_S)
    seen, minds = learned(game, seating, players, seen, thoughts, action, transition)
    asked = asked_for(stage, sight, step, action, seen)
    asked["played_BW"] = cursor.played_BW
    happened = Happened(cursor.start_BW, sight, step, paid, fault_BW, blind_BW, choice=choice, **asked)
    turns = tuple(
        turn(seating, *players[i], decisions[i], (values[i][0], later_value), drives[i], happened, kept_of(thoughts[i]))
        for i, later_value in zip(seating.learning, later_values, strict=True)
    )
    sums = None if paid is None or cursor.sums_BWSJ is None else cursor.sums_BWSJ + paid.columns
    games = Games(
        step.over | step.cut, cursor.return_BWS + step.reward_S, cursor.length_BW + 1, jnp.asarray(step.outcome_K),
        step.cause_K, cursor.fresh_BW, sums, cursor.replayed_BW, fault_TBW=fault_BW,
        count_TBWSJ=step.count_SJ,
    )  # fmt: skip
    return restart(state, memory, games, stage.bank, used_V, (minds, cursor.played_BW)), (turns, games, played)


def asked_for(stage: Stage, sight: Sight, step: Step, action: Action, seen: Witness | None) -> dict[str, Any]:
    """What a step leaves for those who share rewards, imitate, have minds, or modules of their own."""
    spec, sharers_SS = stage.game.spec, stage.sharers_SS
    others = None if seen is None else seen.others
    if others is None and stage.for_modules:
        others = what_others_did(action, sight, spec.seats)
    return {
        "common_BWS": None if sharers_SS is None else jnp.einsum("sr,bwr->bws", sharers_SS, step.reward_S),
        "action": action if stage.imitating else None,
        "others": others,
        "count_BWSJ": step.count_SJ if stage.for_modules and spec.counts else None,
    }


def judged_after(
    stage: Stage, state: State, memory: tuple, values: list[Array], cut_BW: Array, last: Array | bool
) -> tuple[list[Array], Array]:
    """Values of what a step led to, and the worlds in which that is unusable; zeros where nobody asks.

    The final observation of a cut game exists only now, and its value is computed only when there is one. A game that
    the rollout leaves in its midst is judged too: what follows all other steps, the next one judges.
    """
    game, seating, drivers = stage.game, stage.seating, stage.drivers

    def after() -> tuple[list[Array], Array]:
        sight = look(game, seating, drivers, state)
        learners = [(seating.groups[i], drivers[i], memory[i][1]) for i in seating.learning]
        return [judge(seating, group, driver, sight, kept)[0] for group, driver, kept in learners], sight.blind_BW

    return only_when(cut_BW | last, after, lambda: (jax.tree.map(jnp.zeros_like, values), jnp.zeros_like(cut_BW)))


def gone_wrong(
    stage: Stage, cursor: Cursor, state: State, step: Step, paid: Shaping | None, blind_BW: Array
) -> Array:  # fmt: skip
    """Worlds in which this step, or what was seen around it (blind_BW), is unusable."""
    overdue_BW = (cursor.length_BW + 1 >= stage.game.spec.longest) & ~(step.over | step.cut)
    fault_BW = blind_BW | undefined(by_block(state, stage.seating)) | overdue_BW
    for part in (step.reward_S, *(() if paid is None else (paid.columns,))):
        fault_BW = fault_BW | unusable(part, 2)
    return fault_BW


def shaping_of(stage: Stage, before: State, after: State, step: Step) -> Shaping:
    """What the shaping terms of every seat are made of, [B, W, S, J]."""
    both = jax.tree.map(lambda *states: jnp.stack(states), before, after)  # one program for both
    potential, later = (by_block(x, stage.seating) for x in jax.vmap(jax.vmap(stage.game.potential))(both))
    reward = step.terms_SJ if stage.game.spec.terms_of("reward") else jnp.zeros((*step.reward_S.shape, 0))
    done = (step.left_S | step.over[..., None])[..., None]
    return Shaping(jnp.asarray(reward), potential, jnp.where(done, 0.0, later))


def restart(state: State, memory: tuple, games: Games, bank: Bank, used_V: Array, lasts: tuple) -> tuple[Cursor, Array]:
    """Worlds whose game ended or went wrong begin again from the start bank; the others go on. `lasts`: what outlasts a
    game, minds and the number of games that have ended."""
    ended_BW = games.ended_TBW
    ended_V, (minds, played_BW) = ended_BW.reshape(-1), lasts
    start = draw(bank, used_V)
    again = None
    if games.replayed_TBW is not None and start.replayed is not None:
        again = jnp.where(ended_BW, start.replayed.reshape(ended_BW.shape), games.replayed_TBW)
    cursor = Cursor(
        state=where_first(ended_V, start.state, state),
        memory=memory,
        start_BW=ended_BW,
        return_BWS=jnp.where(ended_BW[..., None], 0.0, games.return_TBWS),
        length_BW=jnp.where(ended_BW, 0, games.length_TBW),
        fresh_BW=None if games.fresh_TBW is None else games.fresh_TBW | ended_BW,
        sums_BWSJ=None if games.sums_TBWSJ is None else jnp.where(ended_BW[..., None, None], 0.0, games.sums_TBWSJ),
        replayed_BW=again,
        minds=minds,
        played_BW=None if played_BW is None else played_BW + ended_BW,
    )
    return cursor, used_V + ended_V
