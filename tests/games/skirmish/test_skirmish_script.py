"""What scripted enemies choose. Allies stand unless they are told otherwise."""

import pytest
from field import Order, Scene, Unit, course, scene
from numpy.testing import assert_allclose, assert_array_equal


def aiming(begun: Scene, enemy: int, ally: int) -> Scene:
    """The same with an enemy that already aims at an ally."""
    number, target = begun.numbers[1][enemy], begun.numbers[0][ally]
    return begun._replace(battle=begun.battle._replace(target_U=begun.battle.target_U.at[number].set(target)))


def target_of(begun: Scene, enemy: int = 0, **options) -> int:
    """Whom an enemy aims at after a step; the enemies of a scene come after its allies."""
    return int(course(begun, 1, scripted=True, **options).target[1, len(begun.numbers[0]) + enemy])


def test_an_enemy_marches_to_the_goal_and_waits_there() -> None:
    seen = course(scene([], [Unit("zealot", 5, 0)], goal=(2, 4)), 6, scripted=True)
    assert_allclose(seen.place[1, 0], [5 - 0.6 * 1.125, 0.8 * 1.125], atol=1e-5)
    assert_allclose(seen.place[5:, 0], [[2, 4], [2, 4]], atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "sees"),
    [("zealot", 5.875), ("marine", 5.75), ("stalker", 7.0), ("zergling", 5.75), ("spine_crawler", 8.25)],
)
def test_an_enemy_looks_round_as_far_as_five_or_its_range_and_both_radii(kind: str, sees: float) -> None:
    for away, aim in ((sees - 0.01, 0), (sees + 0.01, -1)):
        begun = scene([Unit("marine", -4, 0)], [Unit(kind, away - 4, 0)], goal=(14, 0))
        assert target_of(begun) == aim


def test_an_enemy_without_anybody_near_goes_on_and_one_with_somebody_turns() -> None:
    enemies = [Unit("zealot", 5, 0), Unit("zealot", 5, 12)]
    seen = course(scene([Unit("marine", 0, 0)], enemies, goal=(14, 12)), 1, scripted=True)
    assert_allclose(seen.place[1, 1:], [[3.875, 0], [6.125, 12]], atol=1e-4)


def test_an_enemy_turns_on_who_fires_at_it_from_afar() -> None:
    begun = scene([Unit("stalker", 0, 0)], [Unit("zealot", 7, 0)], goal=(14, 0))
    assert target_of(begun) == -1
    assert target_of(begun, allies={0: Order(attack=0)}) == 0


def test_comrades_are_helped_against_those_who_fire_at_them() -> None:
    # The second zealot is 8 from the marine: beyond 5 and both radii, within 4 more.
    enemies = [Unit("zealot", 4, 0), Unit("zealot", 8, 0), Unit("zealot", 11, 0)]
    begun = scene([Unit("marine", 0, 0)], enemies[:2], goal=(14, 0))
    assert target_of(begun, 1) == -1
    assert target_of(begun, 1, allies={0: Order(attack=0)}) == 0
    far = scene([Unit("marine", 0, 0)], [enemies[0], enemies[2]], goal=(14, 0))
    assert target_of(far, 1, allies={0: Order(attack=0)}) == -1


def test_who_has_somebody_in_sight_does_not_hear_calls_for_help() -> None:
    # The second marine stands idle 5 from the second zealot, which leaves it only for one that attacks within 5.875.
    enemies = [Unit("zealot", 4, 0), Unit("zealot", 8, 0)]
    for away, aim in ((0.0, 1), (2.2, 0)):
        begun = scene([Unit("marine", away, 0), Unit("marine", 8, 5)], enemies, goal=(14, 0))
        assert target_of(begun, 1, allies={0: Order(attack=0)}) == aim


def test_an_enemy_prefers_the_nearest() -> None:
    assert target_of(scene([Unit("marine", 0, 0), Unit("marine", 1, 0)], [Unit("marine", 4, 0)])) == 1
    assert target_of(scene([Unit("marine", 1, 0), Unit("marine", 0, 0)], [Unit("marine", 4, 0)])) == 0


def test_a_healer_is_a_target_like_any_other_for_those_who_can_hit_it() -> None:
    allies = [Unit("marine", 3, 0), Unit("medivac", 0, 0)]
    assert target_of(scene(allies, [Unit("marine", 5, 0)])) == 0
    nearer = [Unit("marine", 0, 0), Unit("medivac", 3, 0)]
    assert target_of(scene(nearer, [Unit("marine", 5, 0)])) == 1
    assert target_of(scene(nearer, [Unit("marauder", 5, 0)])) == 0
    assert target_of(scene([Unit("medivac", 0, 0)], [Unit("zealot", 2, 0)])) == -1


def test_an_enemy_keeps_a_target_that_it_reaches_and_no_other() -> None:
    allies = [Unit("marine", 0, 0), Unit("marine", 2, 0)]
    assert target_of(aiming(scene(allies, [Unit("marine", 5, 0)]), 0, 0)) == 0
    assert target_of(aiming(scene(allies, [Unit("zealot", 4, 0)]), 0, 0)) == 1


def test_those_who_attack_come_before_those_who_do_not_however_near() -> None:
    near_and_far = scene([Unit("marine", 2, 0), Unit("marine", 0, 0)], [Unit("zealot", 5, 0)])
    assert target_of(near_and_far) == 0
    assert target_of(near_and_far, allies={1: Order(attack=0)}) == 1
    assert target_of(near_and_far, allies={0: Order(attack=0), 1: Order(attack=0)}) == 0


def test_an_idle_target_in_reach_is_left_for_one_in_reach_that_attacks() -> None:
    marines = aiming(scene([Unit("marine", 3, 0), Unit("marine", 0, 0)], [Unit("marine", 5, 0)]), 0, 0)
    assert target_of(marines, allies={1: Order(attack=0)}) == 1
    # A zealot's blow does not reach the second, so it stays with the first.
    zealot = aiming(scene([Unit("marine", 4, 0), Unit("marine", 0, 0)], [Unit("zealot", 4.9, 0)]), 0, 0)
    assert target_of(zealot, allies={1: Order(attack=0)}) == 0
    # Of two that attack, the first is kept.
    both = {0: Order(attack=0), 1: Order(attack=0)}
    assert target_of(aiming(marines, 0, 1), allies=both) == 1


def test_an_enemy_looks_for_another_when_its_target_is_dead() -> None:
    begun = aiming(scene([Unit("marine", 2, 0, health=6), Unit("marine", 0, 0)], [Unit("marine", 5, 0)]), 0, 0)
    assert target_of(begun) == 1


@pytest.mark.parametrize("away", [0.0, 3e-5])
def test_chance_decides_between_equals_and_a_shot_hits_one_of_them(away: float) -> None:
    begun = scene([Unit("marine", 0, 3 + away), Unit("marine", 0, -3)], [Unit("marine", 4, 0)])
    for favour, aim in (((0.2, 0.7, 0.5), 0), ((0.7, 0.2, 0.5), 1), ((0.30001, 0.3, 0.5), 1)):
        seen = course(begun, 1, scripted=True, favour=favour)
        assert seen.target[1, 2] == aim
        assert sorted(seen.health[1, :2]) == [39, 45]


def test_a_scripted_medivac_heals_the_nearest_friend_that_is_hurt() -> None:
    enemies = [
        Unit("medivac", 0, 0),
        Unit("marine", 1, 0),
        Unit("marine", 2, 0, health=30),
        Unit("marine", 3, 0, health=10),
    ]
    seen = course(scene([], enemies, goal=(14, 0)), 1, scripted=True)
    assert_array_equal(seen.health[1], [150, 45, 34.5, 10])
    seen = course(scene([], enemies[:2], goal=(14, 0)), 1, scripted=True)
    assert_allclose(seen.place[1, 0], [1.375, 0], atol=1e-5)


def test_a_scripted_medivac_heals_one_of_two_equals() -> None:
    enemies = [Unit("medivac", 0, 0), Unit("marine", 0, 2, health=30), Unit("marine", 0, -2, health=30)]
    seen = course(scene([], enemies, goal=(0, 0)), 1, scripted=True, favour=(0.5, 0.6, 0.4))
    # Both march to the goal and stay equally far, so the favoured one is healed in all eight loops.
    assert_array_equal(seen.health[1], [150, 30, 34.5])


def test_a_spine_crawler_fires_from_where_it_is() -> None:
    begun = scene([Unit("stalker", -6, 0, shield=0)], [Unit("spine_crawler", 0, 0)], goal=(14, 0))
    seen = course(begun, 2, scripted=True)
    assert_array_equal(seen.place[2, 1], [0, 0])
    # It leaves after 5.3 loops and flies 4.5 cells in 2.5: 29 of what is left after an eighth of shield a loop.
    assert seen.health[1, 0] == 80 - 29 + 0.875
