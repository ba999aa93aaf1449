"""What each particle game pays, by hand; who may say and do what; what a critic and a viewer see; scripted players."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from particle_play import mean_return

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.games import registry
from sparring.games.particles import controls
from sparring.games.particles.controls import Setting
from sparring.games.particles.crypto import Message
from sparring.games.particles.physics import Goal, ParticleState
from sparring.games.particles.reference import Goals
from sparring.nets.distributions import Distribution


def state_at(position: list, landmarks: list, said: Any = (), secret: Any = ()) -> ParticleState:
    place_SX, landmark_EX = np.array(position, np.float32), np.array(landmarks, np.float32).reshape(-1, 2)
    return ParticleState(place_SX, 0 * place_SX, landmark_EX, np.array(0), said, secret)  # type: ignore[arg-type]


def one_hot(index: int, size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[index]


def words(*symbols: int, size: int) -> np.ndarray:
    return np.stack([one_hot(symbol, size) if symbol >= 0 else np.zeros(size, np.float32) for symbol in symbols])


def goal(index: int, size: int) -> Goal:
    return Goal(one_hot(index, size))  # type: ignore[arg-type]


MESSAGE = Message(one_hot(1, 4), one_hot(0, 4))  # type: ignore[arg-type]
NOWHERE = [[0, 0]] * 3
WORLD = {"predators": 2, "prey": 1, "obstacles": 0, "food": 1, "forests": 0}
PAID = (
    # squared distance
    ("simple", {}, state_at([[0, 0]], [[0.3, 0.4]]), [-0.25]),
    # the adversary is 2 from the goal, the nearest agent 1
    ("adversary", {}, state_at([[1, 2], [0, 0], [4, 0]], [[9, 9], [1, 0]], (), goal(1, 2)), [-2, 1, 1]),
    # the adversary is 1 from the goal, the agent 5
    ("push", {}, state_at([[0, 1], [3, 4]], [[0, 0], [9, 9]], (), goal(0, 2)), [4, -5]),
    # Eve names the wrong colour, two entries off by 1; Bob the right one
    ("crypto", {}, state_at(NOWHERE, [], words(0, 1, 3, size=4), MESSAGE), [-2, 2, 2]),
    # silence of Eve is no error, and Bob errs
    ("crypto", {}, state_at(NOWHERE, [], words(-1, 0, 3, size=4), MESSAGE), [0, -2, -2]),
    # squared distance of the listener
    ("speaker_listener", {}, state_at([[7, 7], [0, 0]], [[9, 9], [8, 8], [0, 2]], (), goal(2, 3)), [-4, -4]),
    # seat 1 is 5 from what seat 0 knows, seat 0 is 1 from what seat 1 knows: halves of -5 and -1 and of their mean -3
    (
        "reference",
        {},
        state_at([[1, 1], [3, 4]], [[0, 0], [1, 0], [9, 9]], (), Goals(words(0, 1, size=3))),  # type: ignore[arg-type]
        [-4, -2],
    ),
    # one touch of 5; predators 0.1 and 0.4 away pay a tenth of that; the prey is 0.5 from food, and 0.97 out: 2 * 0.7
    (
        "world_comm",
        WORLD,
        state_at([[0.87, 0], [0.57, 0], [0.97, 0]], [[0.97, 0.5]], words(0, -1, -1, size=4)),
        [4.99, 4.96, -5 - 0.025 - 1.4],
    ),
    # a meal of 2 on the spot; predators 0.5 and 0.6 away
    (
        "world_comm",
        WORLD,
        state_at([[0.5, 0], [0.6, 0], [0, 0]], [[0, 0]], words(0, -1, -1, size=4)),
        [-0.05, -0.06, 2.0],
    ),
)


@pytest.mark.parametrize(("name", "options", "state", "expected"), PAID)
def test_rewards_by_hand(name: str, options: dict, state: ParticleState, expected: list) -> None:
    game = registry.make(f"particles:{name}", **options)
    np.testing.assert_allclose(game.rules.pay(jax.tree.map(jnp.asarray, state)), expected, rtol=1e-5, atol=1e-6)


MIXED = Setting(moves=(False, True), speaks=(True, False), symbols=3)


def test_a_seat_that_cannot_move_or_speak_has_entry_0_of_that_head_alone() -> None:
    assert controls.action_spec(MIXED).heads == (5, 3)
    speaker, listener = controls.legal(MIXED).tolist()
    assert speaker == [True, False, False, False, False, True, True, True]
    assert listener == [True, True, True, True, True, True, False, False]
    action = Action(jnp.array([[0, 2], [4, 0]], jnp.int32), jnp.zeros((2, 0)))
    assert controls.thrust(action, MIXED).tolist() == [[0, 0], [0, 1]]
    assert controls.said(action, MIXED).tolist() == [[0, 0, 1], [0, 0, 0]]


def test_continuous_dimensions_that_a_seat_lacks_change_neither_its_act_nor_its_probability() -> None:
    setting = Setting(moves=(False, True), speaks=(True, False), symbols=3, continuous=True)
    spec, legal_SA = controls.action_spec(setting), jnp.asarray(controls.legal(setting))
    chosen = Distribution.make(spec, jnp.zeros((2, 2)), legal_SA, jnp.full((2, 8), 0.5), jnp.zeros(8))
    kind_SD = jnp.array([[0], [1]], jnp.int32)
    used_SC = jnp.array([[0.0] * 5 + [1.0] * 3, [1.0] * 5 + [0.0] * 3])
    one, two = (Action(kind_SD, used_SC * 0.7 + (1 - used_SC) * other) for other in (0.1, 0.9))
    assert chosen.log_prob(one).tolist() == chosen.log_prob(two).tolist()
    for part in (controls.thrust, controls.said):
        np.testing.assert_array_equal(part(one, setting), part(two, setting))
    np.testing.assert_allclose(controls.said(one, setting), [[0.7] * 3, [0.0] * 3])


def test_the_critic_of_each_seat_sees_what_was_said_and_its_own_secret_first() -> None:
    game = registry.make("particles:reference")
    said_SU = words(4, 7, size=10)
    state = state_at([[0, 0], [1, 1]], [[0, 0]] * 3, said_SU, Goals(words(0, 2, size=3)))  # type: ignore[arg-type]
    for seat, row_G in enumerate(np.asarray(game.central(jax.tree.map(jnp.asarray, state)))):
        np.testing.assert_array_equal(row_G[-26:-6].reshape(2, 10), said_SU[[seat, 1 - seat]])
        np.testing.assert_array_equal(row_G[-6:].reshape(2, 3), words(0, 2, size=3)[[seat, 1 - seat]])


def test_where_nobody_moves_a_critic_sees_words_and_secrets_alone() -> None:
    assert registry.make("particles:crypto").spec.central.size == 3 * 4 + 4 + 4


def test_a_scene_tells_what_was_said_and_shows_the_goal_in_the_colour_of_its_side() -> None:
    game = registry.make("particles:speaker_listener")
    places, marks = [[0.5, 0], [0, 0.5]], [[1, 0], [0, 1], [1, 1]]
    scene = game.scene(state_at(places, marks, words(2, -1, size=3), goal(1, 3)))
    assert scene.caption == "speaker_0 says 2"
    assert [(body.name, body.side) for body in scene.bodies] == [
        ("landmark_0", -1), ("landmark_1", 0), ("landmark_2", -1), ("speaker_0", 0), ("listener_0", 0),
    ]  # fmt: skip
    mixed = np.array([[0.25, 0.5, 0.0], [0, 0, 0]])
    assert game.scene(state_at(places, marks, mixed, goal(1, 3))).caption == "speaker_0 says (0.25, 0.50, 0.00)"


def test_a_scene_of_world_comm_names_every_kind_of_landmark() -> None:
    game = registry.make("particles:world_comm", predators=1, prey=1)
    state = state_at([[0, 0], [1, 1]], [[0, 0.1 * e] for e in range(5)], words(-1, -1, size=4))
    assert [(body.name, body.shape, body.at[1]) for body in game.scene(state).bodies[:5]] == [
        ("obstacle_0", "disc", 0.0), ("forest_0", "disc", pytest.approx(0.3)), ("forest_1", "disc", pytest.approx(0.4)),
        ("food_0", "mark", pytest.approx(0.1)), ("food_1", "mark", pytest.approx(0.2)),
    ]  # fmt: skip


def test_rules_inside_records_change_by_name_too() -> None:
    game = registry.make("particles:tag")
    changed = game.with_rules(catch=3.0, dt=0.05, size_S=0.2).rules
    assert float(changed.catch) == 3.0
    assert float(changed.bodies.physics.dt) == pytest.approx(0.05)
    np.testing.assert_allclose(changed.bodies.size_S, 0.2)
    np.testing.assert_array_equal(changed.bodies.accel_S, game.rules.bodies.accel_S)
    with pytest.raises(ConfigError, match="catch"):
        game.with_rules(catsh=3.0)


@pytest.mark.parametrize(("name", "options"), [("tag", {"obstacles": -1}), ("world_comm", {"food": 0})])
def test_counts_that_cannot_be_played_are_refused(name: str, options: dict) -> None:
    with pytest.raises(ConfigError, match=next(f"{key}={value}" for key, value in options.items())):
        registry.make(f"particles:{name}", **options)


@pytest.mark.parametrize(
    ("name", "worse", "better", "seat", "margin"),
    [
        ("simple", [None], ["go"], 0, 20),
        ("adversary", [None, "rush"], ["guess", "rush"], 0, 10),
        ("adversary", ["guess", "cover"], ["guess", "rush"], 0, 1),  # a guess is worth more where all go to the goal
        ("push", [None, "go"], ["guess", "go"], 0, 10),
        ("push", ["guess", None], ["guess", "go"], 1, 10),
        ("crypto", ["repeat", "plain"], ["repeat", "cipher"], 1, 15),
        ("speaker_listener", [None], ["tell"], 0, 15),
        ("reference", [None], ["tell"], 0, 10),
        ("world_comm", [None, None], ["chase", None], 0, 20),
        ("world_comm", ["chase", None], ["chase", "flee"], 4, 15),
    ],
)
def test_scripted_players_know_their_game(name: str, worse: list, better: list, seat: int, margin: float) -> None:
    game = registry.make(f"particles:{name}")
    assert mean_return(game, *better)[seat] > mean_return(game, *worse)[seat] + margin


@pytest.mark.parametrize("name", ["speaker_listener", "reference"])
def test_words_of_numbers_are_understood_too(name: str) -> None:
    game = registry.make(f"particles:{name}", continuous=True)
    assert mean_return(game, "tell")[0] > mean_return(game, None)[0] + 10
