"""Shots, wounds, recovery and healing, with numbers worked out by hand. A step is eight loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from field import Order, Unit, course, scene
from numpy.testing import assert_allclose, assert_array_equal

from sparring.games.registry import make
from sparring.games.skirmish.weapons import Hits, wounded

ATTACK = {0: Order(attack=0)}
REGROWN = 8 * 0.2734 / 16
"""Health that a zerg unit gets back in a step."""


def after_one_step(attacker: str, target: Unit, away: float) -> tuple[float, float]:
    """Health and shield of a target that did not move, after the only shot of a step; it has been hurt just now."""
    seen = course(scene([Unit(attacker, 0, 0)], [target._replace(x=away, y=0, calm=0)]), 1, ATTACK)
    return seen.health[1, 1], seen.shield[1, 1]


def test_two_marines_kill_each_other_with_their_eighth_shots_in_the_97th_loop() -> None:
    seen = course(scene([Unit("marine", -2, 0)], [Unit("marine", 2, 0)]), 14, ATTACK, ATTACK)
    # Shots in loops 0, 14, 28, 42, 56, 69, 83 and 97: the first loops at or after multiples of 13.7728.
    wanted = [45, 39, 33, 33, 27, 27, 21, 21, 15, 9, 9, 3, 3, 0, 0]
    assert_array_equal(seen.health, np.transpose([wanted, wanted]))
    shots = np.array([1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 7, 8])
    assert_allclose(seen.cooldown[1:14, 0], 13.7728 * shots - 8 * np.arange(1, 14), atol=1e-4)


def test_two_marines_need_four_volleys_for_a_third() -> None:
    begun = scene([Unit("marine", -2, 0), Unit("marine", -2, 2)], [Unit("marine", 2, 0)])
    seen = course(begun, 7, {0: Order(attack=0), 1: Order(attack=0)})
    assert_array_equal(seen.health[:, 2], [45, 33, 21, 21, 9, 9, 0, 0])
    assert_array_equal(seen.target[:, 0], [-1, 2, 2, 2, 2, 2, -1, -1])


def test_periods_are_fractions_of_loops_on_average() -> None:
    begun = scene([Unit("marine", -2, 0)], [Unit("colossus", 2, 0)])
    seen = course(begun, 110, ATTACK)
    # 63 periods of 13.7728 loops end within 880: of 64 shots 25 break the shield, 39 cost 5. Whole loops would give 63.
    assert seen.health[-1, 1] == 200 - 39 * 5


def test_a_weapon_that_waits_is_ready_and_no_more() -> None:
    begun = scene([Unit("marine", 0, 0, cooldown=0.5), Unit("marine", 0, 2)], [])
    seen = course(begun, 2)
    assert_array_equal(seen.cooldown[1:], np.zeros((2, 2)))


@pytest.mark.parametrize(("delay", "left"), [(-1, 4.7728), (0, 5.7728), (2, 7.7728)])
def test_the_next_shot_comes_late_by_the_delay_of_the_step_of_this_one(delay: float, left: float) -> None:
    begun = scene([Unit("marine", -2, 0)], [Unit("marine", 2, 0)])
    seen = course(begun, 1, ATTACK, delay=delay)
    assert seen.cooldown[1, 0] == pytest.approx(left, abs=1e-5)


def test_delays_are_spread_evenly_from_minus_one_to_two_loops() -> None:
    game, keys = make("skirmish:3m"), jax.random.split(jax.random.key(0), 4000)
    delay = np.asarray(jax.vmap(game.chance)(keys).delay_U)
    assert -1 <= delay.min() < -0.99
    assert 1.99 < delay.max() <= 2
    assert delay.mean() == pytest.approx(0.5, abs=0.03)
    # Of a uniform variable 3 wide the standard deviation is 3 / sqrt(12); units do not share theirs.
    assert delay.std() == pytest.approx(0.866, abs=0.02)
    assert abs(np.corrcoef(delay[:, 0], delay[:, 1])[0, 1]) < 0.06
    calm = make("skirmish:3m", cooldown_jitter=False)
    assert not np.asarray(calm.chance(keys[0]).delay_U).any()


def test_a_weapon_reaches_as_far_as_its_range_and_both_radii() -> None:
    begun = scene([Unit("marine", 0, 0), Unit("marine", 0, 9)], [Unit("marine", 5.75, 0), Unit("marauder", 6, 9)])
    seen = course(begun, 1, {0: Order(attack=0), 1: Order(attack=1)})
    # 5 and twice 0.375 are reached at once; 6 of 5.9375 takes one loop's walk, and the shot is a loop later.
    assert_array_equal(seen.place[1, :2], [[0, 0], [0.140625, 9]])
    assert_allclose(seen.cooldown[1, :2], [5.7728, 6.7728], atol=1e-5)


@pytest.mark.parametrize(
    ("attacker", "target", "away", "health", "shield"),
    [
        ("zealot", Unit("zealot", 0, 0, shield=0), 1, 86, 0),  # twice 8 - 1
        ("zealot", Unit("zealot", 0, 0, shield=10), 1, 95, 0),  # 8 of shield, then 2 of it and 6 - 1
        ("zealot", Unit("zealot", 0, 0), 1, 100, 34),
        ("marauder", Unit("stalker", 0, 0, shield=0), 4, 61, 0),  # 10 + 10 - 1
        ("marauder", Unit("stalker", 0, 0, shield=5), 4, 66, 0),  # 15 left of 20, - 1
        ("marauder", Unit("marine", 0, 0), 4, 35, 0),
        ("stalker", Unit("stalker", 0, 0, shield=0), 4, 67, 0),  # 10 + 4 - 1
        ("stalker", Unit("zealot", 0, 0, shield=0), 4, 91, 0),
        ("spine_crawler", Unit("stalker", 0, 0, shield=0), 3, 51, 0),  # 25 + 5 - 1
        ("zergling", Unit("marauder", 0, 0), 0.98, 121, 0),
        ("hydralisk_rl", Unit("medivac", 0, 0), 4, 139, 0),
        ("marine", Unit("spine_crawler", 0, 0, health=200), 4, 196 + REGROWN, 0),
        ("colossus", Unit("zealot", 0, 0, shield=0), 4, 62, 0),  # twice 20 - 1
    ],
)  # fmt: skip
def test_one_shot_takes_shield_first_and_armour_from_each_hit_on_health(
    attacker: str, target: Unit, away: float, health: float, shield: float
) -> None:
    assert after_one_step(attacker, target, away) == pytest.approx((health, shield), abs=1e-4)


def test_many_hits_of_one_loop_break_a_shield_once() -> None:
    column = jnp.array([100.0, 100.0, 100.0])
    hits = [Hits(jnp.array([3.0, 1.0, 0.0]), jnp.array(8.0)), Hits(jnp.array([1.0, 0.0, 0.0]), jnp.array(13.0))]
    body = wounded(column, jnp.array([10.0, 8.0, 5.0]), jnp.array(1.0), hits)
    # 8 of shield; 2 of it and 5; 7; then 12 of another kind. A hit as large as the shield leaves the health whole.
    assert_array_equal(body.health, [100 - 5 - 7 - 12, 100, 100])
    assert_array_equal(body.shield, [0, 0, 5])
    assert_array_equal(body.hurt, [True, True, False])


def test_no_armour_stops_a_hit_altogether_and_nobody_falls_below_zero() -> None:
    body = wounded(
        jnp.array([10.0, 3.0]), jnp.zeros(2), jnp.array([2.0, 0.0]), [Hits(jnp.ones(2), jnp.array([1.0, 6.0]))]
    )
    assert_array_equal(body.health, [9.5, 0])


def test_shields_recover_an_eighth_in_each_loop_from_the_160th_after_a_wound() -> None:
    begun = scene([Unit("baneling", 0, 0)], [Unit("zealot", 1, 0), Unit("zealot", 8, 0, shield=15, calm=150)])
    seen = course(begun, 22, ATTACK)
    # The burst takes 35 of 50 in loop 0; the other's tenth loop is the 160th of its calm.
    assert_array_equal(seen.shield[:, 1], [50, *[15] * 20, 16, 17])
    assert_array_equal(seen.shield[1:4, 2], [15, 15.875, 16.875])


def test_any_wound_restarts_the_wait_of_a_shield() -> None:
    begun = scene([Unit("baneling", 0, 0)], [Unit("zealot", 1, 0, shield=50, calm=159)])
    assert_array_equal(course(begun, 20, ATTACK).shield[1:, 1], np.full(20, 15))


def test_what_recovers_stops_when_it_is_whole() -> None:
    begun = scene([], [Unit("zealot", 0, 0, shield=49.9, health=50), Unit("zergling", 5, 0, health=34.95)])
    seen = course(begun, 1)
    assert_array_equal(seen.shield[1], [50, 0])
    assert_array_equal(seen.health[1], [50, 35])


def test_zerg_units_regrow_and_others_do_not() -> None:
    kinds = (
        "zergling",
        "hydralisk_rl",
        "baneling",
        "spine_crawler",
        "marine",
        "marauder",
        "medivac",
        "stalker",
        "zealot",
    )
    begun = scene([Unit(kind, 3 * n - 12, 0, health=20) for n, kind in enumerate(kinds)], [])
    assert_allclose(course(begun, 2).health[2], 20 + 2 * REGROWN * np.array([1, 1, 1, 1, 0, 0, 0, 0, 0]), atol=1e-4)


def test_a_medivac_gives_nine_health_a_second_for_three_energy() -> None:
    begun = scene([Unit("marine", 0, 0, health=20), Unit("medivac", 3, 0), Unit("medivac", 9, 0, energy=199.9)], [])
    seen = course(begun, 3, {1: Order(heal=0)})
    assert_allclose(seen.health[:, 0], [20, 24.5, 29, 33.5], atol=1e-5)
    # 0.5625 a second come, 3 go while it heals: a step is half a second.
    assert_allclose(seen.energy[:, 1], 50 - np.arange(4) * (1.5 - 0.28125), atol=1e-4)
    assert_array_equal(seen.energy[1:, 2], [200, 200, 200])
    assert_array_equal(seen.target[1:, 1], [0, 0, 0])


def test_a_medivac_without_energy_heals_when_it_has_some() -> None:
    begun = scene([Unit("marine", 0, 0, health=20), Unit("medivac", 3, 0, energy=0)], [])
    seen = course(begun, 1, {1: Order(heal=0)})
    # 0.1875 have come together in loop 6, for one loop's healing.
    assert seen.health[1, 0] == pytest.approx(20.5625, abs=1e-5)
    assert seen.energy[1, 1] == pytest.approx(8 * 0.5625 / 16 - 0.1875, abs=1e-5)


def test_a_medivac_flies_until_it_is_within_four_and_both_radii() -> None:
    begun = scene([Unit("marine", 0, 0, health=20), Unit("medivac", 7.05, 0)], [])
    seen = course(begun, 3, {1: Order(heal=0)})
    # 5.125 is reached after 12 loops of 0.171875: four loops of the second step are left.
    assert_allclose(seen.health[1:, 0], [20, 22.25, 26.75], atol=1e-4)
    assert_allclose(seen.place[1:, 1, 0], 7.05 - 0.171875 * np.array([8, 12, 12]), atol=1e-4)


def test_a_medivac_heals_no_medivac_no_dead_and_nobody_beyond_full_health() -> None:
    hurt = [Unit("medivac", 0, 0, health=50), Unit("medivac", 2, 0, health=50)]
    for patient in (0, 1):
        seen = course(scene(hurt, []), 1, {0: Order(heal=patient)})
        assert_array_equal(seen.health[1], [50, 50])
        assert_array_equal(seen.energy[1], [50.28125, 50.28125])
    begun = scene([*hurt, Unit("marine", 1, 1, health=0), Unit("marine", 1, -1, health=44.9)], [])
    seen = course(begun, 1, {0: Order(heal=2), 1: Order(heal=3)})
    assert_array_equal(seen.health[1, 2:], [0, 45])
    assert seen.energy[1, 0] == 50.28125


def test_two_medivacs_heal_twice_and_nobody_comes_back_from_a_deadly_hit() -> None:
    begun = scene([Unit("marine", 0, 0, health=20), Unit("medivac", 3, 0), Unit("medivac", -3, 0)], [])
    seen = course(begun, 1, {1: Order(heal=0), 2: Order(heal=0)})
    assert seen.health[1, 0] == pytest.approx(29)
    begun = scene([Unit("marine", 0, 0, health=6), Unit("medivac", 3, 0)], [Unit("marine", -4, 0)])
    seen = course(begun, 2, {1: Order(heal=0)}, ATTACK)
    assert_array_equal(seen.health[1:, 0], [0, 0])


def test_a_baneling_hurts_all_enemies_within_its_burst_and_their_radius_and_dies() -> None:
    enemies = [
        Unit("zergling", 1, 0),
        Unit("marine", 0, 2.57),
        Unit("marine", 0, -2.58),
        Unit("stalker", -2.82, 0),
        Unit("baneling", -0.9, -0.9),
    ]
    seen = course(scene([Unit("baneling", 0, 0), Unit("marine", 0, 1)], enemies), 1, ATTACK)
    # 20, and 15 more on what is light; 2.2 and the radius: 2.575 of a marine, 2.825 of a stalker.
    assert_allclose(seen.health[1], [0, 45, 0, 10, 45, 80, 10 + REGROWN], atol=1e-4)
    assert seen.shield[1, 5] == 60


@pytest.mark.parametrize("attacker", ["baneling", "colossus"])
def test_what_hurts_many_spares_what_flies(attacker: str) -> None:
    seen = course(scene([Unit(attacker, 0, 0)], [Unit("marine", 1, 0), Unit("medivac", 1, 0.5)]), 1, ATTACK)
    assert seen.health[1, 1] < 45
    assert seen.health[1, 2] == 150


def test_a_baneling_that_is_killed_bursts_too() -> None:
    allies = [Unit("baneling", 0, 0, health=6), Unit("zergling", 0, 1)]
    seen = course(scene(allies, [Unit("marine", 2, 0), Unit("marine", 3, 0), Unit("zealot", 0, 2)]), 1, None, ATTACK)
    # 2.2 and the radius: the second marine is 3 away, and friends are spared.
    assert_array_equal(seen.health[1], [0, 35, 10, 45, 100])
    assert seen.shield[1, 4] == 15


def test_bursts_set_off_other_banelings_and_each_bursts_once() -> None:
    begun = scene(
        [Unit("baneling", 0, 0, health=6)],
        [Unit("marine", 2.5, 0), Unit("baneling", 1, 0, health=15), Unit("marine", 9, 0)],
    )
    seen = course(begun, 2, None, ATTACK)
    # The one that is shot takes the other with it and 35 from the marine; what bursts then has no enemy left to hurt.
    assert_array_equal(seen.health[2], [0, 10, 0, 45])


def test_a_baneling_that_is_not_told_to_does_not_burst() -> None:
    seen = course(scene([Unit("baneling", 0, 0)], [Unit("zergling", 1, 0)]), 1)
    assert_array_equal(seen.health[1], [30, 35])


def test_a_colossus_burns_a_line_across_its_fire() -> None:
    enemies = [
        Unit("marine", 6, 0),
        Unit("marine", 6, 1.77),
        Unit("marine", 6, -1.78),
        Unit("zergling", 6.52, 1),
        Unit("zergling", 6.53, -1),
        Unit("zergling", 3, 0),
    ]
    seen = course(scene([Unit("colossus", 0, 0)], enemies), 1, ATTACK)
    # Half of 2.8 and a radius across, half of 0.3 and a radius along: 1.775 and 0.525.
    assert_allclose(seen.health[1, 1:], [5, 5, 45, 0, 35, 35], atol=1e-4)


def test_a_colossus_may_fire_in_any_direction() -> None:
    way, across = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    places = (6 * way, 6 * way + 1.7 * across, 6 * way - 1.85 * across)
    seen = course(scene([Unit("colossus", 0, 0)], [Unit("marine", *place) for place in places]), 1, ATTACK)
    assert_array_equal(seen.health[1, 1:], [5, 5, 45])


@pytest.mark.parametrize("attacker", ["marauder", "zealot", "zergling", "colossus", "baneling", "spine_crawler"])
def test_who_cannot_hit_the_air_stands_still_when_told_to(attacker: str) -> None:
    for away in (0.5, 5.5):
        seen = course(scene([Unit(attacker, 0, 0)], [Unit("medivac", away, 0, health=100)]), 1, ATTACK)
        assert_array_equal(seen.health[1, 1], 100)
        assert_array_equal(seen.place[1, 0], [0, 0])
        assert seen.health[1, 0] > 0


@pytest.mark.parametrize(("attacker", "health"), [("marine", 95), ("stalker", 87), ("hydralisk_rl", 89)])
def test_others_hit_the_air(attacker: str, health: float) -> None:
    assert after_one_step(attacker, Unit("medivac", 0, 0, health=100), 5) == (health, 0)


def test_the_dead_do_nothing_and_nothing_is_done_to_them() -> None:
    begun = scene(
        [Unit("marine", 0, 0, health=0), Unit("marine", -1, 0)],
        [Unit("marauder", 2, 0), Unit("zergling", 0, 1, health=0)],
    )
    seen = course(begun, 3, {0: Order(attack=0), 1: Order(attack=1)}, {0: Order(attack=0)})
    assert_array_equal(seen.health[3], [0, 45, 125, 0])
    assert_array_equal(seen.target[1:], np.full((3, 4), -1))
    assert_array_equal(seen.place, np.broadcast_to(seen.place[0], seen.place.shape))
