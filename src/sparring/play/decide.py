"""What the players of a group make of what they see: actions from policies, values from critics."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Observation
from sparring.core.spec import ActionSpec
from sparring.games.game import Game, State
from sparring.nets.actor_critic import Actor
from sparring.nets.distributions import Distribution
from sparring.nets.hyper.context import recalls, told
from sparring.play.branches import over_rows
from sparring.play.faults import unusable
from sparring.play.mixed import Mixture
from sparring.play.rollout import Driver, where_first
from sparring.play.seating import Group, Seating


class Sight(NamedTuple):
    """All that is seen in one moment: leaves [B, W, ...]; the central view only where a critic asks for it."""

    observation: Observation
    central_BWCG: Array | None
    blind_BW: Array
    """Worlds in which something that is seen is no usable number; zeros stand for all of it."""


class Decision(NamedTuple):
    """Leaves [P, W, N, ...]."""

    action: Action
    log_prob: Array
    distribution: Distribution
    memory: Any


def look(game: Game, seating: Seating, drivers: Sequence[Driver], state: State) -> Sight:
    central = None
    if any(driver.critic is not None and driver.critic.sees == "central" for driver in drivers):
        central = by_block(jax.vmap(game.central)(state), seating)
    seen = by_block(jax.vmap(game.observe)(state), seating)
    blind_BW = unusable(seen.features_SF, 2)
    if central is not None:
        blind_BW = blind_BW | unusable(central, 2)
        central = jnp.where(blind_BW[..., None, None], 0.0, central)
    features = jnp.where(blind_BW[..., None, None], 0.0, seen.features_SF)
    return Sight(seen._replace(features_SF=features), central, blind_BW)


def decide(seating: Seating, group: Group, driver: Driver, sight: Sight, memory: Any, noise: Any) -> Decision:
    """Every player's choice in all its lanes; without noise the most likely one."""
    features = seating.per_seat(sight.observation.features_SF, group)
    legal = seating.per_seat(sight.observation.legal_SA, group)

    def of_player(policy: Any, *inputs: Any) -> Decision:
        return jax.vmap(
            lambda features_NF, legal_NA, memory, *noise: choose(policy, features_NF, legal_NA, memory, *noise)
        )(*inputs)

    return over_rows(of_player)(driver.policy, features, legal, memory, *noise)


def choose(policy: Any, features_NF: Array, legal_NA: Array, memory: Any, *noise: Array) -> Decision:
    distribution, memory = policy(features_NF, legal_NA, memory)
    action = distribution.sample(*noise) if noise else distribution.mode()
    return Decision(action, distribution.log_prob(action), distribution, memory)


def critic_views(seating: Seating, group: Group, driver: Driver, sight: Sight) -> Array:
    """[P, W, V, G]: what the critics of a group look at."""
    if sight.central_BWCG is not None and driver.critic.sees == "central":
        return seating.views(sight.central_BWCG, group)
    return seating.per_seat(sight.observation.features_SF, group)


def judge(
    seating: Seating, group: Group, driver: Driver, sight: Sight, memory: Any, told: Array | None = None
) -> tuple[Array, Any]:
    """Value of each seat, [P, W, N], and the critics' memory. A view that all seats share gives all one value. Critics
    that judge choices add [1 + A], and may be told what others choose, [P, W, N, O]."""
    inputs = (critic_views(seating, group, driver, sight), memory, *(() if told is None else (told,)))
    value, memory = over_rows(lambda critic, *inputs: jax.vmap(critic)(*inputs))(driver.critic, *inputs)
    if driver.critic.choices:
        return value, memory
    return jnp.broadcast_to(value, (*value.shape[:-1], seating.seats_in(group))), memory


def refresh(
    seating: Seating, group: Group, driver: Driver, blank_BW: Array, memory: tuple, lot_PW: Array | None = None
) -> tuple:
    """Memories of policy and critic, blank where they are to be; a mixture has then drawn its policy."""
    return where_first(seating.per_world(blank_BW, group), blank_memory(seating, group, driver, lot_PW), memory)


def blank_from(driver: Driver, start_BW: Array, played_BW: Array | None) -> Array:
    """Where the memory of a policy is blank: where a game begins or, if it lasts over several, the first of them."""
    games = lasting(driver.policy)
    return start_BW if games == 1 or played_BW is None else start_BW & (played_BW % games == 0)


def lasting(policy: Any) -> int:
    """Games over which the memory of an actor lasts, which may be wrapped into what explores."""
    while policy is not None and not hasattr(policy, "trunk"):
        policy = getattr(policy, "policy", None)
    return 1 if policy is None else policy.trunk.games


def blank_memory(seating: Seating, group: Group, driver: Driver, lot_PW: Array | None = None) -> tuple:
    batch = (group.players, len(group.lanes[0]) * seating.worlds)
    seats = seating.seats_in(group)
    if driver.critic is None:
        memory = driver.policy.initial(*batch, seats)
        if lot_PW is not None and isinstance(driver.policy, Mixture):
            memory = memory._replace(lot_N=jnp.repeat(lot_PW[..., None], seats, -1))
        return memory, ()
    shared_view = driver.critic.sees == "central" and seating.spec.central.kind != "seat"
    return driver.policy.initial(*batch, seats), driver.critic.initial(*batch, driver.critic.rows(seats, shared_view))


def settled(seating: Seating, group: Group, driver: Driver) -> Driver:
    """The driver with all that its policies make only once for a rollout made before it."""

    def is_actor(node: Any) -> bool:
        return isinstance(node, Actor)

    if isinstance(driver.policy, Mixture):  # its members are stacked once more
        return driver
    seats = seating.seats_in(group)
    rest = partial(jax.tree.map, lambda n: n.for_seats(seats) if is_actor(n) else n, is_leaf=is_actor)
    return driver._replace(policy=jax.vmap(rest)(driver.policy)) if generates(driver.policy) else driver


def generates(policy: Any) -> bool:
    """Whether an actor in it has generated weights."""
    actors = jax.tree.leaves(policy, is_leaf=lambda node: isinstance(node, Actor))
    return any(isinstance(node, Actor) and node.hyper is not None for node in actors)


def reminded(seating: Seating, memories: Sequence[Any], action: Action, reward_BWS: Array) -> list[Any]:
    """Each group's memories of policies after a step; those that keep what was done and what it paid are told."""

    def of_group(group: Group, memory: Any) -> Any:
        own = Action(*(seating.per_seat(x, group) for x in action))
        return told(memory, seating.spec.action, own, seating.per_seat(reward_BWS, group))

    pairs = zip(seating.groups, memories, strict=True)
    return [of_group(group, memory) if recalls(memory) else memory for group, memory in pairs]


def within_bounds(action: Action, spec: ActionSpec) -> Action:
    """What the game receives: the stored sample stays as it was drawn, because its log-probability is of that."""
    if not spec.dimensions:
        return action
    return action._replace(continuous_SC=jnp.clip(action.continuous_SC, jnp.asarray(spec.low), jnp.asarray(spec.high)))


def by_block(tree: Any, seating: Seating) -> Any:
    """Leaves [V, ...] as [B, W, ...]."""
    return jax.tree.map(lambda x: x.reshape(seating.blocks, seating.worlds, *x.shape[1:]), tree)
