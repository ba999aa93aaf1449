"""Walking, chasing and making room, cell by cell."""

import numpy as np
import pytest
from field import Order, Unit, course, scene
from numpy.testing import assert_allclose, assert_array_equal


@pytest.mark.parametrize(
    ("kind", "stride"),
    [
        ("marine", 1.125),
        ("stalker", 1.4765),
        ("medivac", 1.375),
        ("zergling", 1.4765),
        ("baneling", 1.25),
        ("colossus", 1.125),
    ],
)
def test_a_unit_walks_its_speed_in_every_direction(kind: str, stride: float) -> None:
    for way in ((1, 0), (0, -1), (-0.6, 0.8)):
        point = (10 * way[0], 10 * way[1])
        seen = course(scene([Unit(kind, 0, 0)], []), 2, {0: Order(walk=point)})
        assert_allclose(seen.place[2, 0], 2 * stride * np.array(way), atol=1e-5)


def test_a_zealot_takes_eight_steps_for_nine_cells_and_stops_there() -> None:
    seen = course(scene([Unit("zealot", -4, 2)], []), 9, {0: Order(walk=(5, 2))})
    assert seen.place[7, 0, 0] == pytest.approx(3.875, abs=1e-4)
    assert_array_equal(seen.place[8:, 0], [[5, 2], [5, 2]])
    # 8.9 cells are no whole number of strides: the last is as short as what is left.
    seen = course(scene([Unit("zealot", -4, 2)], []), 9, {0: Order(walk=(4.9, 2))})
    assert_allclose(seen.place[8:, 0], [[4.9, 2], [4.9, 2]], atol=1e-5)


def test_who_is_told_nothing_stays_though_an_enemy_is_near() -> None:
    seen = course(scene([Unit("marine", 0, 0)], [Unit("zealot", 3, 0)]), 2)
    assert_array_equal(seen.place[2], [[0, 0], [3, 0]])
    assert_array_equal(seen.health[2], [45, 100])


def test_a_zealot_chases_until_its_blades_reach() -> None:
    seen = course(scene([Unit("zealot", 0, 0)], [Unit("marine", 4, 0)]), 4, {0: Order(attack=0)})
    # 0.1 and both radii are 0.975; strides of 0.140625 a loop: after 22 of them 0.90625 are left.
    assert_allclose(seen.place[1:, 0, 0], [1.125, 2.25, 22 * 0.140625, 22 * 0.140625], atol=1e-4)
    assert_array_equal(seen.health[1:, 1], [45, 45, 29, 29])


def test_one_that_flees_as_fast_is_never_caught() -> None:
    begun = scene([Unit("zealot", -8, 0)], [Unit("marine", -6, 0)])
    seen = course(begun, 8, {0: Order(attack=0)}, {0: Order(walk=(14, 0))})
    assert_allclose(seen.place[:, 1, 0] - seen.place[:, 0, 0], np.full(9, 2.0), atol=1e-4)
    assert seen.health[-1, 1] == 45


def test_a_spine_crawler_never_moves() -> None:
    begun = scene([Unit("spine_crawler", 0, 0), Unit("marine", -6, 0)], [Unit("zealot", 10, 0)])
    seen = course(begun, 6, {0: Order(attack=0), 1: Order(walk=(3, 0))})
    assert_array_equal(seen.place[:, 0], np.zeros((7, 2)))
    seen = course(begun, 2, {0: Order(walk=(5, 5))})
    assert_array_equal(seen.place[:, 0], np.zeros((3, 2)))


def test_one_who_walks_goes_round_one_who_stands() -> None:
    seen = course(scene([Unit("marine", -2, 0), Unit("zealot", 0, 0)], []), 5, {0: Order(walk=(2, 0))})
    assert_array_equal(seen.place[:, 1], np.zeros((6, 2)))
    assert (np.hypot(*(seen.place[:, 0] - seen.place[:, 1]).T) > 0.75 - 2e-4).all()
    assert_allclose(seen.place[5, 0], [2, 0], atol=1e-5)


def test_chance_takes_the_side_and_it_is_mirrored_for_the_second_army() -> None:
    # Both armies see the map with y upwards, and each walks away from its own edge.
    begun = scene([Unit("marine", -6, 0), Unit("zealot", -4, 0)], [Unit("marine", 6, 0), Unit("zealot", 4, 0)])
    walks = {0: Order(walk=(-2, 0))}, {0: Order(walk=(2, 0))}
    for favour, side in ((0.2, -1), (0.8, 1)):
        seen = course(begun, 3, *walks, favour=(favour,) * 4)
        assert (side * seen.place[2, [0, 2], 1] > 0.3).all()
        assert_array_equal(seen.place[:, 0] * [-1, 1], seen.place[:, 2])


def test_a_walker_goes_to_the_side_on_which_fewer_comrades_stand() -> None:
    for side in (-1, 1):
        friends = [Unit("marine", 0, 0), Unit("marine", 0, 0.8 * side), Unit("zealot", 0, 1.6 * side)]
        seen = course(scene([Unit("zealot", -1.5, 0), *friends], []), 3, {0: Order(walk=(3, 0))}, favour=(0.5,) * 4)
        assert (side * seen.place[1:, 0, 1] < 0.01).all()
        assert seen.place[3, 0, 0] > 0.5


def test_a_walker_keeps_to_its_side_along_a_row() -> None:
    # A row across its way, whose middle is its own line: whichever side it takes it must not turn back.
    row = [
        Unit("marine", 0, 0),
        Unit("marine", 0, 0.8),
        Unit("marine", 0, -0.8),
        Unit("zealot", 0, 1.6),
        Unit("zealot", 0, -1.6),
    ]
    for favour, side in ((0.2, -1), (0.8, 1)):
        seen = course(scene([Unit("stalker", -2, 0), *row], []), 7, {0: Order(walk=(4, 0))}, favour=(favour,) * 6)
        beyond = seen.place[:, 0, 0] > 0.5
        assert beyond.any()
        assert (np.diff(side * seen.place[: beyond.argmax(), 0, 1]) > -0.05).all()


def test_the_rear_rank_comes_round_the_front_to_fire() -> None:
    allies = [Unit("marine", -3, 0), Unit("marine", -3.8, 0)]
    seen = course(scene(allies, [Unit("colossus", 3.2, 0)]), 3, {0: Order(attack=0), 1: Order(attack=0)})
    # 5 and both radii are 6.375: the first stands there, and the second finds a place beside it.
    away = np.hypot(*(seen.place[3, :2] - seen.place[3, 2]).T)
    assert (away <= 6.375).all()
    assert (seen.cooldown[3, :2] > 0).all()


def test_two_who_overlap_part_by_half_each() -> None:
    seen = course(scene([Unit("marine", -0.25, 3), Unit("marine", 0.25, 3)], []), 1)
    assert_allclose(seen.place[1], [[-0.375, 3], [0.375, 3]], atol=2e-4)


def test_enemies_make_room_for_each_other_too() -> None:
    seen = course(scene([Unit("colossus", 0, 0)], [Unit("zergling", 1, 0)]), 1)
    assert_allclose(seen.place[1], [[-0.0625, 0], [1.0625, 0]], atol=2e-4)


def test_flyers_make_room_for_flyers_alone() -> None:
    begun = scene([Unit("medivac", -3, 0), Unit("marine", -1, 0)], [Unit("medivac", 1, 0)])
    seen = course(begun, 4, {0: Order(walk=(1, 0))})
    assert seen.place[4, 0, 0] == pytest.approx(-0.5, abs=3e-4)
    assert_array_equal(seen.place[4, 1], [-1, 0])


def test_nobody_makes_room_for_the_dead() -> None:
    seen = course(scene([Unit("marine", 0, 0), Unit("zealot", 1, 0, health=0)], []), 1, {0: Order(walk=(9, 0))})
    assert seen.place[1, 0, 0] == pytest.approx(1.125)


def test_nobody_leaves_the_map() -> None:
    begun = scene([Unit("marine", 15.5, 0), Unit("medivac", 0, -15.5)], [])
    seen = course(begun, 2, {0: Order(walk=(17.5, 0)), 1: Order(walk=(0, -17.5))})
    assert 15.99 < seen.place[2, 0, 0] < 16
    assert -16 < seen.place[2, 1, 1] < -15.99
