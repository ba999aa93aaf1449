"""What minds are shown: the others and their goals before all choose, and what came of it. Letters: O the other seats,
G goals, Z numbers that tell one goal from another.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.games.game import Game, State
from sparring.games.others import others_SO
from sparring.nets.minds import has_mind, searches, telling
from sparring.play.decide import Sight, by_block
from sparring.play.rollout import Cursor, Driver, Others
from sparring.play.seating import Group, Seating


class Situation(NamedTuple):
    """What a seat knows of the others before all choose, leaves [..., N, ...]. Of goals: what each of the others can
    still reach, in how many steps, and what it looks like from there; no columns where a game names none."""

    features: Array
    start: Array
    """The game begins."""
    acting: Array
    """From here on of the others, [..., N, O, ...], as in `rollout.Others`."""
    legal: Array
    open: Array
    steps: Array
    about: Array
    seen: Any = None


class Witnessed(NamedTuple):
    """What came of it, leaves [..., N, ...]."""

    discrete: Array
    continuous: Array
    reached: Array
    own: Action
    """What the seat itself did, and what that paid."""
    reward: Array
    paid: Any = None
    """What that paid the others, where a mind looks at it."""


class Thought(NamedTuple):
    """What a mind made of a situation, as a rollout keeps it, leaves [..., N, ...]."""

    said_NM: Array
    """What the policy is told."""
    log_b_NOG: Array
    """Log of the belief that it is this goal."""
    log_p_NOA: Array
    """Log of what each of the others is expected to do."""
    evaluated_NOG: Array
    """Goals for which a model was asked what somebody after them would do."""
    passed_NOG: Array
    """Goals that were near enough to be asked about, for which there was no room."""
    reset_NO: Array
    """Beliefs that nothing was left of, and that began anew."""
    leaning_NOK: Array
    """What the others have been after in earlier games, by kinds of goals."""
    held_NOG: Any = ()
    """Log of the belief that follows from what they did, where more than that is read."""


Minds = tuple[Any, ...]
"""For each group what its minds hold, leaves [P, W', N, ...]; () where policies have none."""


def first_minds(seating: Seating, drivers: Sequence[Driver]) -> Minds | None:
    """Blank minds of all groups; None where nobody has one."""
    if not any(has_mind(driver.policy) for driver in drivers):
        return None
    return tuple(blank_mind(seating, *pair) for pair in zip(seating.groups, drivers, strict=True))


def blank_mind(seating: Seating, group: Group, driver: Driver) -> Any:
    mind = mind_of(driver.policy)
    if mind is None:
        return ()
    return mind.initial(group.players, len(group.lanes[0]) * seating.worlds, seating.seats_in(group))


def mind_of(policy: Any) -> Any:
    """The mind of an actor, which may be wrapped into what explores; None where there is none."""
    while policy is not None and not hasattr(policy, "mind"):
        policy = getattr(policy, "policy", None)
    return None if policy is None else policy.mind


class Witness(NamedTuple):
    """All that minds of any group are shown in one step: for each seat its view of the others, leaves [B, W, S, O,
    ...]."""

    others: Others
    start_BWS: Array


Players = Sequence[tuple[Group, Driver]]
Thoughts = list[Any]
"""Of each group a Thought, with what its minds need after the step; None where they have none."""


def thinking(game: Game, seating: Seating, players: Players, cursor: Cursor, sight: Sight) -> tuple[Any, Thoughts]:
    """What there is to see of the others before all choose, a Witness, and what minds make of it."""
    if cursor.minds is None:
        return None, [None] * len(players)
    whole = any(getattr(mind_of(driver.policy), "looks_over", False) for _, driver in players)
    seen = watched(game, cursor, sight, seating, whole)
    pairs = zip(players, cursor.minds, strict=True)
    return seen, [attended(seating, *player, seen, sight, mind) for player, mind in pairs]


def learned(
    game: Game, seating: Seating, players: Players, seen: Witness | None, thoughts: Thoughts, action: Action,
    happened: tuple[State, Action, State, Array],
) -> tuple[Witness | None, Minds | None]:  # fmt: skip
    """The Witness with what the others did and reached, and what minds hold after it. `happened`: the state before,
    what the game received, the state after, and what each seat was paid, [B, W, S]."""
    if seen is None:
        return None, None
    *transition, reward_BWS = happened
    seen = afterwards(seen, game, action, *transition)
    if seen.others.seen is not None:
        paid = reward_BWS[:, :, others_SO(game.spec.seats)]
        seen = seen._replace(others=seen.others._replace(paid=paid))
    pairs = zip(players, thoughts, strict=True)
    return seen, tuple(witnessed(seating, *player, seen, action, reward_BWS, thought) for player, thought in pairs)


def watched(game: Game, cursor: Cursor, sight: Sight, seating: Seating, whole: bool = False) -> Witness:
    """The others before they choose, with what they see if `whole`. What is no usable number, in a world that went
    wrong, is 0."""
    start_BW, other_SO = cursor.start_BW, others_SO(seating.spec.seats)
    goals = by_block(jax.vmap(game.goals)(cursor.state), seating)
    open_, steps, about = (jnp.nan_to_num(jnp.asarray(x), posinf=0.0, neginf=0.0)[:, :, other_SO] for x in goals)
    seen = sight.observation
    unknown = jnp.zeros((*start_BW.shape, *other_SO.shape, 0))
    others = Others(
        unknown, unknown, seen.acting_S[:, :, other_SO], seen.legal_SA[:, :, other_SO], open_ > 0, steps, about,
        seen=jnp.nan_to_num(seen.features_SF[:, :, other_SO], posinf=0.0, neginf=0.0) if whole else None,
    )  # fmt: skip
    return Witness(others, jnp.broadcast_to(start_BW[..., None], seen.acting_S.shape))


def afterwards(witness: Witness, game: Game, action: Action, before: State, played: Action, after: State) -> Witness:
    """With what they then did and reached."""
    batch, other_SO = action.discrete_SD.shape[:2], others_SO(game.spec.seats)
    reached = jax.vmap(game.reached)(before, played, after)
    others = witness.others._replace(
        discrete=action.discrete_SD[:, :, other_SO], continuous=action.continuous_SC[:, :, other_SO],
        reached=reached.reshape(*batch, *reached.shape[1:])[:, :, other_SO],
    )  # fmt: skip
    return witness._replace(others=others)


def attended(seating: Seating, group: Group, driver: Driver, witness: Witness, sight: Sight, mind: Any) -> Any:
    """What the minds of a group think before the choice."""
    model = mind_of(driver.policy)
    if model is None:
        return None
    others = jax.tree.map(lambda x: seating.per_seat(x, group), witness.others)
    situation = Situation(
        seating.per_seat(sight.observation.features_SF, group), seating.per_seat(witness.start_BWS, group),
        others.acting, others.legal, others.open, others.steps, others.about, others.seen,
    )  # fmt: skip
    return jax.vmap(lambda model, *seen: model.attend(*seen))(model, situation, mind)


def witnessed(
    seating: Seating, group: Group, driver: Driver, witness: Witness, action: Action, reward_BWS: Array, thought: Any
) -> Any:
    """What the minds of a group hold after the step."""
    model = mind_of(driver.policy)
    if model is None:
        return ()
    others = witness.others
    seats = (others.discrete, others.continuous, others.reached, action, reward_BWS, others.paid)
    seen = Witnessed(*jax.tree.map(lambda x: seating.per_seat(x, group), seats))
    return jax.vmap(lambda model, *given: model.witness(*given))(model, seen, thought[1])


class Ahead(NamedTuple):
    """What a policy is shown that looks ahead, of each world: leaves [P, W', ...]."""

    state: State
    """The world as it is, whatever its seats see of it."""
    seat_N: Array
    """The own seats."""
    log_b_NOG: Array
    leaning_NOK: Array
    """As in a Thought."""
    lot: Array
    """A number in [0, 1), from which all chance of the search follows."""


def recalled(
    seating: Seating, players: Players, memories: Sequence[Any], thoughts: Thoughts, state: State,
    lots: Sequence[Array | None],
) -> list[Any]:  # fmt: skip
    """Memories of policies with what their minds say; and with the world, for those that look ahead."""
    found = [telling(kept, said(thought)) for kept, thought in zip(memories, thoughts, strict=True)]
    for i, ((group, driver), thought, lot_PW) in enumerate(zip(players, thoughts, lots, strict=True)):
        if thought is not None and lot_PW is not None and searches(driver.policy):
            here = jax.tree.map(lambda x, own=group: seating.per_world(x, own), by_block(state, seating))
            seat_PWN = jnp.repeat(jnp.asarray(seating.seats_PXN(group)), seating.worlds, axis=1)
            found[i] = found[i]._replace(
                ahead=Ahead(here, seat_PWN, thought[0].log_b_NOG, thought[0].leaning_NOK, lot_PW)
            )
    return found


def kept_of(thoughts: Any) -> Thought | None:
    """Of what a group thought, what a rollout keeps."""
    return None if thoughts is None else thoughts[0]


def said(thoughts: Any) -> Array | None:
    return None if thoughts is None else thoughts[0].said_NM
