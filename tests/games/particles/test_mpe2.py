"""Our particles and the mpe2 package, side by side: same states and actions, same next states, views and rewards.

Both run in 64 bits, where a difference of 1e-9 is a difference of rules and not of rounding.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.particles.crypto import Message
from sparring.games.particles.physics import Goal, ParticleState
from sparring.games.particles.reference import Goals
from sparring.games.trial import quick_jit

TOLERANCE = 1e-9


class Case(NamedTuple):
    name: str
    ours: dict[str, Any] = {}  # noqa: RUF012
    theirs: dict[str, Any] = {}  # noqa: RUF012


CASES = (
    Case("spread"),
    Case("spread", {"agents": 4, "local_ratio": 0.2}, {"N": 4, "local_ratio": 0.2}),
    Case("tag"),
    Case(
        "tag",
        {"predators": 2, "prey": 2, "obstacles": 1},
        {"num_adversaries": 2, "num_good": 2, "num_obstacles": 1},
    ),
    Case("simple"),
    Case("adversary"),
    Case("adversary", {"agents": 3}, {"N": 3}),
    Case("push"),
    Case("crypto"),
    Case("speaker_listener"),
    Case("reference"),
    Case("reference", {"local_ratio": 0.2}, {"local_ratio": 0.2}),
    Case("world_comm"),
    Case(
        "world_comm",
        {"predators": 2, "prey": 3, "obstacles": 2, "food": 1, "forests": 3},
        {"num_adversaries": 2, "num_good": 3, "num_obstacles": 2, "num_food": 1, "num_forests": 3},
    ),
)

MOVER = ("velocity", "position", "landmarks", "others")
BLOCKS: dict[str, Callable[[str], Sequence[str]]] = {
    "adversary_0": lambda game: ("velocity", "landmarks", "others") if game == "push" else ("landmarks", "others"),
    "eve": lambda _: ("heard",),
    "bob": lambda _: ("key", "heard"),
    "alice": lambda _: ("goal", "key"),
    "speaker_0": lambda _: ("goal_colour",),
    "listener_0": lambda _: ("velocity", "landmarks", "heard"),
    "prey": lambda game: (*MOVER, "in_forest", "prey_velocity") if game == "world_comm" else (),
}
"""The blocks that mpe2 shows to a seat, in its order, where these are not all blocks of the layout in their order."""

SECRETS: dict[str, Callable[[Any], Any]] = {
    "adversary": lambda world: Goal(one_hot(world, world.agents[0].goal_a)),
    "push": lambda world: Goal(one_hot(world, world.agents[0].goal_a)),
    "speaker_listener": lambda world: Goal(one_hot(world, world.agents[0].goal_b)),
    "reference": lambda world: Goals(jnp.stack([one_hot(world, agent.goal_b) for agent in world.agents])),
    "crypto": lambda world: Message(jnp.array(world.agents[0].goal_a.color), jnp.array(world.agents[2].key)),
}


def in_64_bits() -> AbstractContextManager:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64  # its home before jax 0.8

    return enable_x64(True)


def oracle_of(name: str, **options: Any) -> Any:
    return import_module(f"mpe2.simple_{name}.simple_{name}" if name != "simple" else "mpe2.simple.simple").raw_env(
        **options
    )


def one_hot(world: Any, landmark: Any) -> jax.Array:
    return jnp.array([float(other is landmark) for other in world.landmarks])


def disturb(world: Any, rng: np.random.Generator, crowd: float) -> None:
    """Places within `crowd` of the centre: 0.3 makes nearly everyone overlap, 1.2 sends some across the border."""
    for entity in world.entities:
        entity.state.p_pos = rng.uniform(-crowd, crowd, 2)
    for agent in world.agents:
        agent.state.p_vel = rng.normal(0.0, 0.8, 2) * agent.movable
        agent.state.c = rng.uniform(0.0, 1.0, world.dim_c) * (not agent.silent)


def state_of(name: str, world: Any) -> ParticleState:
    agents = [agent.state for agent in world.agents]
    speak = not all(agent.silent for agent in world.agents)
    return ParticleState(
        position_SX=jnp.array([agent.p_pos for agent in agents]),
        velocity_SX=jnp.array([agent.p_vel for agent in agents]),
        landmark_EX=jnp.array([landmark.state.p_pos for landmark in world.landmarks]).reshape(-1, 2),
        played=jnp.zeros((), jnp.int32),
        said_SU=jnp.array([agent.c for agent in agents]) if speak else (),
        secret=SECRETS[name](world) if name in SECRETS else (),
    )


def random_action(game: Game, legal_SA: np.ndarray, rng: np.random.Generator) -> Action:
    """Legal entries alike; continuous dimensions between 0 and 1, also those that a seat has no use for."""
    heads = np.split(legal_SA, np.cumsum(game.spec.action.heads)[:-1], axis=1) if game.spec.action.heads else []
    choices = [[rng.choice(np.flatnonzero(row)) for row in head] for head in heads]
    discrete_SD = np.array(choices, np.int32).reshape(-1, game.spec.seats).T
    return Action(
        jnp.asarray(discrete_SD), jnp.asarray(rng.uniform(0.0, 1.0, (game.spec.seats, game.spec.action.dimensions)))
    )


def translated(action: Action, oracle: Any) -> list[Any]:
    """The action of each agent as mpe2 reads it."""
    agents, moving = oracle.world.agents, any(agent.movable for agent in oracle.world.agents)
    rows = []
    for agent, choice_D, number_C in zip(
        agents, np.array(action.discrete_SD), np.array(action.continuous_SC), strict=True
    ):
        if oracle.continuous_actions:
            split = 5 if moving else 0
            rows.append(
                np.concatenate([number_C[: split * agent.movable], number_C[split:][: 99 * (not agent.silent)]])
            )
        else:
            move, say = int(choice_D[0]) * agent.movable, int(choice_D[-1]) * (not agent.silent)
            rows.append(move + (5 if agent.movable else 1) * say)
    return rows


def compare(name: str, game: Game, oracle: Any, *, crowd: float | None, starts: int, steps: int, seed: int) -> int:
    """Play both from the same states; returns how many steps of unlike rewards were met on the way."""
    rng = np.random.default_rng(seed)
    unlike = 0
    for start in range(starts):
        oracle.reset(seed=seed + start)
        if crowd is not None:
            disturb(oracle.world, rng, crowd)
        state = state_of(name, oracle.world)
        for _ in range(steps):
            seen = observe(game, state)
            check_views(name, game, np.asarray(seen.features_SF), oracle)
            action = random_action(game, np.asarray(seen.legal_SA), rng)
            state, result = advance(game, state, action)
            for choice in translated(action, oracle):
                oracle.step(choice)
            check_state(state, oracle)
            expected = [oracle.rewards[agent.name] for agent in oracle.world.agents]
            np.testing.assert_allclose(result.reward_S, expected, rtol=0, atol=TOLERANCE)
            unlike += int(np.ptp([*expected, 0.0]) > 0.4)
    return unlike


observe = quick_jit(lambda game, state: game.observe(state))
advance = quick_jit(lambda game, state, action: game.step(state, action, ()))


def check_state(state: ParticleState, oracle: Any) -> None:
    agents = [agent.state for agent in oracle.world.agents]
    np.testing.assert_allclose(state.position_SX, [agent.p_pos for agent in agents], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(state.velocity_SX, [agent.p_vel for agent in agents], rtol=0, atol=TOLERANCE)
    if len(state.said_SU):
        np.testing.assert_array_equal(state.said_SU, [agent.c for agent in agents])


def check_views(name: str, game: Game, features_SF: np.ndarray, oracle: Any) -> None:
    """Every row holds what mpe2 shows, block by block, and otherwise zeros."""
    bounds = np.cumsum([0, *(block.size for block in game.spec.layout)])
    parts = {block.name: slice(*bounds[b : b + 2]) for b, block in enumerate(game.spec.layout)}
    for seat, row_F, agent in zip(game.spec.seat_names, features_SF, oracle.world.agents, strict=True):
        of_seat = BLOCKS.get(seat) or BLOCKS.get(seat.rsplit("_", 1)[0]) or (lambda _: ())
        names = of_seat(name) or tuple(parts)
        found = np.concatenate([row_F[parts[block]] for block in names])
        expected = oracle.scenario.observation(agent, oracle.world)
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=0, atol=TOLERANCE)
        assert not found[len(expected) :].any()
        assert not any(row_F[part].any() for block, part in parts.items() if block not in names)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case.name, *map(str, case.ours.values())]))
def test_a_game_moves_sees_speaks_and_pays_as_mpe2(case: Case, continuous: bool) -> None:
    oracle = oracle_of(case.name, max_cycles=1000, continuous_actions=continuous, **case.theirs)
    with in_64_bits():
        game = registry.make(f"particles:{case.name}", continuous=continuous, **case.ours)
        compare(case.name, game, oracle, crowd=None, starts=3, steps=25, seed=3)
        compare(case.name, game, oracle, crowd=1.2, starts=6, steps=4, seed=1)
        contacts_paid = compare(case.name, game, oracle, crowd=0.3, starts=12, steps=4, seed=2)
    if case.name in ("spread", "tag", "world_comm"):
        assert contacts_paid > 0


@pytest.mark.parametrize("name", ["spread", "crypto", "speaker_listener"])
def test_both_stop_by_a_time_limit_after_the_same_step(name: str) -> None:
    game, oracle = registry.make(f"particles:{name}", steps=3), oracle_of(name, max_cycles=3)
    oracle.reset(seed=0)
    state = game.start(jax.random.key(0))
    idle = Action(jnp.zeros((game.spec.seats, len(game.spec.action.heads)), jnp.int32), jnp.zeros((game.spec.seats, 0)))
    for _ in range(3):
        state, result = advance(game, state, idle)
        for _ in range(game.spec.seats):
            oracle.step(0)
        assert bool(result.cut) == any(oracle.truncations.values())
        assert not bool(result.over)
        assert not any(oracle.terminations.values())
