"""Blows that take time and missiles that fly, loop by loop. A step is eight loops."""

import numpy as np
import pytest
from field import Order, Scene, Unit, course, scene
from numpy.testing import assert_allclose, assert_array_equal

ATTACK = {0: Order(attack=0)}


def striking(begun: Scene, ally: int, enemy: int, *, lands: float, windup: float) -> Scene:
    """The same with a blow or missile of an ally on its way to an enemy."""
    number, target = begun.numbers[0][ally], begun.numbers[1][enemy]
    fields = {"shot_U": target, "lands_U": lands, "windup_U": windup}
    changed = {name: getattr(begun.battle, name).at[number].set(value) for name, value in fields.items()}
    return begun._replace(battle=begun.battle._replace(**changed))


def test_a_missile_arrives_when_it_has_flown_there() -> None:
    begun = scene([Unit("spine_crawler", 0, 0)], [Unit("marine", 8.25, 0)])
    seen = course(begun, 2, ATTACK)
    # 5.328 loops until it leaves, 7 cells of 28.7 a second are 3.902: it strikes in the tenth loop.
    assert_array_equal(seen.health[1:, 1], [45, 20])
    assert seen.cooldown[1, 0] == pytest.approx(17.6, abs=1e-4)
    near = course(scene([Unit("spine_crawler", 0, 0)], [Unit("marine", 4, 0)]), 1, ATTACK)
    assert near.health[1, 1] == 20  # 5.328 and 1.533 are less than eight


def test_a_blow_that_has_begun_strikes_one_who_steps_away() -> None:
    begun = scene([Unit("zergling", 0, 0)], [Unit("marine", 0.85, 0)])
    seen = course(begun, 1, ATTACK, {0: Order(walk=(9, 0))})
    # The bite comes 2.672 loops later, when the marine is 1.13 away.
    assert seen.health[1, 1] == 40


def test_the_next_bite_needs_its_target_in_reach() -> None:
    begun = scene([Unit("zealot", 0, 0)], [Unit("marine", 0.9, 0)])
    seen = course(begun, 6, ATTACK, {0: Order(walk=(12, 0))})
    # As fast as each other: the one that is struck at once is never caught again.
    assert_array_equal(seen.health[1:, 1], [29] * 6)


@pytest.mark.parametrize(
    ("order", "health", "waits"),
    [
        (Order(attack=0), 40, True),
        (Order(attack=1), 45, False),
        (Order(walk=(-5, 0)), 45, False),
        (Order(), 45, False),
    ],
)
def test_another_order_gives_up_a_blow_and_leaves_the_weapon_ready(order: Order, health: float, waits: bool) -> None:
    begun = scene([Unit("zergling", 0, 0, cooldown=30)], [Unit("marine", 0.9, 0), Unit("marine", 9, 0)])
    seen = course(striking(begun, 0, 0, lands=1.5, windup=1.5), 1, {0: order})
    assert seen.health[1, 1] == health
    assert seen.cooldown[1, 0] == (22 if waits else 0)


def test_a_missile_flies_on_without_its_thrower_and_a_blow_does_not_fall() -> None:
    for kind, windup, left in (("stalker", 0.0, 35), ("stalker", 1.0, 45), ("zergling", 2.0, 45)):
        begun = scene([Unit(kind, 0, 0, health=0, shield=0)], [Unit("marine", 0.9, 0)])
        seen = course(striking(begun, 0, 0, lands=3.5, windup=windup), 1)
        assert seen.health[1, 1] == left


def test_an_order_does_not_call_a_missile_back() -> None:
    begun = striking(scene([Unit("stalker", 0, 0, cooldown=20)], [Unit("marine", 5, 0)]), 0, 0, lands=6.5, windup=0.0)
    seen = course(begun, 1, {0: Order(walk=(-9, 0))})
    assert seen.health[1, 1] == 35
    assert_allclose(seen.place[1, 0], [-1.4765, 0], atol=1e-4)
    assert seen.cooldown[1, 0] == 12


def test_missiles_on_the_way_to_the_dead_are_spent_in_vain() -> None:
    allies = [Unit("stalker", 0, 0), Unit("marauder", 0, 3)]
    seen = course(
        scene(allies, [Unit("marine", 5, 0, health=10), Unit("marine", 5, 3)]), 2, ATTACK | {1: Order(attack=0)}
    )
    assert_array_equal(seen.health[2], [80, 125, 0, 45])
    # Neither may fire again before its 23.04 or 24 loops have passed.
    assert_allclose(seen.cooldown[2, :2], [7.04, 8], atol=1e-4)


@pytest.mark.parametrize(("scripted", "away"), [(True, 0.0), (False, 0.9843)])
def test_without_new_orders_a_unit_stands_until_it_has_swung_back(scripted: bool, away: float) -> None:
    begun = scene([Unit("marine", -0.9, 0)], [Unit("zealot", 0, 0)], goal=(14, 0))
    walk, chase = {0: Order(walk=(-9, 0))}, None if scripted else ATTACK
    seen = course(begun, 2, walk, chase, scripted=scripted)
    # Struck in loop 0; half a second of backswing are eight loops. Who is ordered goes after the marine as soon as it
    # is out of reach: after one loop.
    assert seen.health[1, 0] == 29
    assert_allclose(seen.place[1, 1], [-away, 0], atol=1e-3)
    assert seen.place[2, 1, 0] == pytest.approx(seen.place[1, 1, 0] - 1.125, abs=0.15)


def test_several_blows_arrive_at_once_and_are_counted_apart() -> None:
    allies = [Unit("zergling", 0, -0.9), Unit("zergling", 0, 0.9), Unit("zergling", 0.9, 0)]
    seen = course(scene(allies, [Unit("zealot", 0, 0, shield=0, calm=0)]), 2, {n: Order(attack=0) for n in range(3)})
    # Three bites of 5 - 1 each in loops 2 and 14: periods are 11.136 loops.
    assert_array_equal(seen.health[1:, 3], np.array([88, 76]))
