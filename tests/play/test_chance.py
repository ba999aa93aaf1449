from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.spec import ActionSpec
from sparring.play.chance import action_noise, game_chance, stream, twins
from sparring.play.seating import Seating, seat
from toy_games import timetable
from toy_players import quick

ACTION = ActionSpec(heads=(3, 2), low=(-1.0,), high=(1.0,))
KEY = jax.random.key(11)


def seating_of(learner_BK, *, seats: int = 2, worlds: int = 3) -> Seating:
    spec = timetable([[0.0] * seats], action=ACTION).spec
    families = [["net"] * seats for _ in learner_BK]
    return seat(spec, spec.seats_of_side, family_BK=families, learner_BK=learner_BK, worlds=worlds)


def noise_of(seating: Seating, ids, steps: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The uniform and normal numbers of the only group."""
    ids_P = jnp.asarray(ids, jnp.uint32)
    uniform, normal = noise_program(seating, steps)(ids_P)
    return np.asarray(uniform), np.asarray(normal)


@cache
def noise_program(seating: Seating, steps: int):
    return quick(lambda ids_P: action_noise(seating, KEY, (ids_P,), steps)[0])


def test_noise_has_a_number_for_each_head_and_dimension_of_every_seat():
    uniform, normal = noise_of(seating_of([[0, 1]]), [7, 9])
    assert uniform.shape == (2, 2, 3, 1, 2)  # steps, players, worlds, seats, heads
    assert normal.shape == (2, 2, 3, 1, 1)
    assert len(np.unique(uniform)) == uniform.size
    assert len(np.unique(normal)) == normal.size


def test_every_step_of_every_world_has_chance_of_its_own():
    game: Any = SimpleNamespace(chance=jax.random.uniform)
    chance_TV = np.asarray(game_chance(game, KEY, 3, 4))
    assert chance_TV.shape == (3, 4)
    assert len(np.unique(chance_TV)) == 12


def test_permuting_learners_with_their_ids_permutes_their_noise_bit_for_bit():
    uniform, normal = noise_of(seating_of([[0, 1, 2]], seats=3), [7, 9, 4])
    # The same players sit in the same seats, but are stored in other rows: row 0 is now player 4, in seat 2.
    moved_uniform, moved_normal = noise_of(seating_of([[1, 2, 0]], seats=3), [4, 7, 9])
    np.testing.assert_array_equal(moved_uniform, uniform[:, [2, 0, 1]])
    np.testing.assert_array_equal(moved_normal, normal[:, [2, 0, 1]])


def test_noise_follows_the_player_to_another_seat():
    uniform, _ = noise_of(seating_of([[0, 1]]), [7, 9])
    swapped, _ = noise_of(seating_of([[0, 1]]), [9, 7])
    np.testing.assert_array_equal(swapped, uniform[:, ::-1])


def test_a_player_that_meets_itself_draws_other_numbers_on_each_side_and_in_each_block():
    uniform, _ = noise_of(seating_of([[0, 0], [0, 0]]), [7])
    # Worlds of one player: block 0 side 0, block 0 side 1, block 1 side 0, block 1 side 1.
    assert len(np.unique(uniform)) == uniform.size


def test_twins_count_the_earlier_sides_of_a_block_with_the_same_player():
    seating = seating_of([[0, 1, 2, 3], [3, 2, 1, 0]], seats=4)
    (twin_PX,) = twins(seating, (jnp.array([7, 7, 9, 7], jnp.uint32),))
    # Block 0 seats players 7 7 9 7: twins 0 1 0 2. Block 1 seats 7 9 7 7: twins 0 0 1 2.
    # Row 0 drives side 0 of block 0 and side 3 of block 1, row 1 sides 1 and 2, row 2 sides 2 and 1, row 3 3 and 0.
    np.testing.assert_array_equal(twin_PX, [[0, 2], [1, 1], [0, 0], [2, 0]])


def test_twins_are_counted_across_groups():
    spec = timetable([[0.0, 0.0]], action=ACTION).spec
    seating = seat(spec, spec.seats_of_side, family_BK=[["net", "past"]], learner_BK=[[0, -1]], worlds=1)
    same = twins(seating, (jnp.array([7], jnp.uint32), jnp.array([7], jnp.uint32)))
    other = twins(seating, (jnp.array([7], jnp.uint32), jnp.array([8], jnp.uint32)))
    assert [int(t.item()) for t in same] == [0, 1]
    assert [int(t.item()) for t in other] == [0, 0]


def test_twins_are_counted_whichever_group_sits_first_and_nobody_in_an_empty_lane_is_one():
    spec = timetable([[0.0, 0.0]], action=ACTION).spec
    seating = seat(spec, spec.seats_of_side, family_BK=[["past", "net"]], learner_BK=[[-1, 0]], worlds=1)
    assert [group.family for group in seating.groups] == ["net", "past"]
    for learner, past, twin in ((7, 7, 1), (0, 8, 0)):
        found = twins(seating, (jnp.array([learner], jnp.uint32), jnp.array([past], jnp.uint32)))
        assert [int(t.item()) for t in found] == [twin, 0]


def test_streams_of_different_names_have_different_keys():
    keys = {tuple(jax.random.key_data(stream(KEY, name)).tolist()) for name in ("uniform", "normal", "starts", "")}
    assert len(keys) == 4
