import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.play.seating import Group, seat
from toy_games import timetable

DUEL = timetable([[0.0, 0.0]]).spec
HUNT = timetable([[0.0, 0.0, 0.0]], side_of_seat=(0, 1, 0)).spec
"""Side 0 holds the seats 0 and 2, side 1 holds seat 1."""


def numbered(blocks: int, worlds: int, seats: int) -> jnp.ndarray:
    """Entry [b, w, s] is 100 b + 10 w + s."""
    b, w, s = np.ogrid[:blocks, :worlds, :seats]
    return jnp.asarray(100 * b + 10 * w + s)


def test_in_a_mirror_block_one_learner_holds_every_side():
    seating = seat(DUEL, DUEL.seats_of_side, family_BK=[["net", "net"]], learner_BK=[[0, 0]], worlds=3)
    assert seating.groups == (Group("net", (((0, 0), (0, 1)),), learns=True),)
    assert seating.learning == (0,)


def test_in_match_blocks_the_learner_changes_sides_and_each_opponent_is_a_row_of_its_own():
    seating = seat(
        DUEL, DUEL.seats_of_side, family_BK=[["net", "bots"], ["bots", "net"]], learner_BK=[[0, -1], [-1, 0]], worlds=3
    )
    assert seating.groups == (
        Group("net", (((0, 0), (1, 1)),), learns=True),
        Group("bots", (((0, 1),), ((1, 0),)), learns=False),
    )


def test_independent_learners_are_rows_in_the_order_of_their_numbers():
    seating = seat(DUEL, DUEL.seats_of_side, family_BK=[["net", "net"]], learner_BK=[[1, 0]], worlds=3)
    assert seating.groups == (Group("net", (((0, 1),), ((0, 0),)), learns=True),)


def test_frozen_lanes_of_one_family_but_different_size_are_groups_of_their_own():
    seating = seat(HUNT, HUNT.seats_of_side, family_BK=[["bots", "bots"]], learner_BK=[[-1, -1]], worlds=1)
    assert [seating.seats_in(group) for group in seating.groups] == [2, 1]


def test_a_lane_sees_its_own_seats_and_worlds():
    seating = seat(HUNT, HUNT.seats_of_side, family_BK=[["a", "b"], ["a", "b"]], learner_BK=[[0, 0], [0, -1]], worlds=2)
    hunters, prey, frozen = seating.groups
    array_BWS = numbered(2, 2, 3)
    # One learner with two lanes: the worlds of block 0, then those of block 1.
    np.testing.assert_array_equal(seating.per_seat(array_BWS, hunters), [[[0, 2], [10, 12], [100, 102], [110, 112]]])
    np.testing.assert_array_equal(seating.per_seat(array_BWS, prey), [[[1], [11]]])
    np.testing.assert_array_equal(seating.per_seat(array_BWS, frozen), [[[101], [111]]])
    np.testing.assert_array_equal(seating.per_world(array_BWS[:, :, 0], hunters), [[0, 10, 100, 110]])


def test_every_world_of_a_lane_is_on_the_side_of_its_lane():
    seating = seat(DUEL, DUEL.seats_of_side, family_BK=[["net", "net"]] * 2, learner_BK=[[0, 0]] * 2, worlds=2)
    side_PWK = np.asarray(seating.sides_of(seating.groups[0]))
    np.testing.assert_array_equal(side_PWK.argmax(-1), [[0, 0, 1, 1, 0, 0, 1, 1]])
    np.testing.assert_array_equal(side_PWK.sum(-1), 1)


SEATINGS = {
    "mirror": (HUNT, [["a", "b"]], [[0, 0]]),
    "several blocks": (HUNT, [["a", "b"], ["a", "b"], ["a", "c"]], [[0, 0], [0, 0], [0, -1]]),
    "independent": (DUEL, [["a", "a"], ["a", "a"]], [[0, 1], [1, 0]]),
    "match": (DUEL, [["a", "b"], ["b", "a"]], [[0, -1], [-1, 0]]),
    "all frozen": (HUNT, [["a", "b"], ["b", "a"]], [[-1, -1], [-1, -1]]),
}


@pytest.mark.parametrize("spec, family_BK, learner_BK", SEATINGS.values(), ids=SEATINGS)
def test_what_every_lane_was_given_goes_back_to_where_it_came_from(spec, family_BK, learner_BK):
    seating = seat(spec, spec.seats_of_side, family_BK=family_BK, learner_BK=learner_BK, worlds=2)
    array_BWS = numbered(len(family_BK), 2, spec.seats)
    parts = [seating.per_seat(array_BWS, group) for group in seating.groups]
    np.testing.assert_array_equal(seating.to_seats(parts), array_BWS)


def test_seats_that_learn_alone_go_back_to_where_they_came_from():
    alone = ((0,), (1,), (2,))
    seating = seat(HUNT, alone, family_BK=[["a", "a", "a"]], learner_BK=[[2, 0, 1]], worlds=2)
    array_BWS = numbered(1, 2, 3)
    lanes = seating.per_seat(array_BWS, seating.groups[0])
    np.testing.assert_array_equal(lanes, [[[1], [11]], [[2], [12]], [[0], [10]]])
    np.testing.assert_array_equal(seating.to_seats([lanes]), array_BWS)


@pytest.mark.parametrize(
    ("kind", "views", "of_hunters", "of_prey"),
    [
        ("world", 1, [[0], [10]], [[0], [10]]),
        ("side", 2, [[0], [10]], [[1], [11]]),
        ("seat", 3, [[0, 2], [10, 12]], [[1], [11]]),
    ],
)
def test_a_critic_gets_the_views_of_its_world_its_side_or_its_seats(kind, views, of_hunters, of_prey):
    spec = timetable([[0.0, 0.0, 0.0]], side_of_seat=(0, 1, 0), central=kind).spec
    seating = seat(spec, spec.seats_of_side, family_BK=[["a", "b"]], learner_BK=[[0, 0]], worlds=2)
    central_BWC = numbered(1, 2, views)
    np.testing.assert_array_equal(seating.views(central_BWC, seating.groups[0]), [of_hunters])
    np.testing.assert_array_equal(seating.views(central_BWC, seating.groups[1]), [of_prey])


def test_a_seat_that_learns_alone_sees_the_view_of_the_side_it_belongs_to():
    spec = timetable([[0.0, 0.0, 0.0]], side_of_seat=(0, 1, 0), central="side").spec
    alone = ((0,), (1,), (2,))
    seating = seat(spec, alone, family_BK=[["a", "a", "a"]], learner_BK=[[0, 1, 2]], worlds=1)
    np.testing.assert_array_equal(seating.views(numbered(1, 1, 2), seating.groups[0]), [[[0]], [[1]], [[0]]])


@pytest.mark.parametrize(
    ("family_BK", "learner_BK"),
    [
        ([["a", "a"]], [[0, 2]]),  # learner 1 is missing
        ([["a", "a"], ["a", "b"]], [[0, 1], [0, -1]]),  # learner 0 has two lanes, learner 1 has one
    ],
)
def test_learners_that_cannot_be_stacked_are_an_error(family_BK, learner_BK):
    with pytest.raises(ConfigError, match=r"'a'.*numbered from 0 and learn in equally many lanes"):
        seat(DUEL, DUEL.seats_of_side, family_BK=family_BK, learner_BK=learner_BK, worlds=1)


def test_one_learner_on_sides_of_different_size_is_an_error():
    with pytest.raises(ConfigError, match="Give sides of different size families of their own"):
        seat(HUNT, HUNT.seats_of_side, family_BK=[["a", "a"]], learner_BK=[[0, 0]], worlds=1)
