"""The numbers of units, against SMAC's sheets by hand."""

from dataclasses import replace

import pytest

from sparring.games.registry import make
from sparring.games.skirmish import units
from sparring.games.skirmish.units import KINDS, damage_to, faster, laddered

STEP = units.LOOPS_PER_STEP / units.LOOPS_PER_SECOND


@pytest.mark.parametrize(
    ("name", "health", "shield", "armour", "reach", "per_step", "loops", "radius", "room", "scale"),
    [
        ("marine", 45, 0, 0, 5, 1.125, 13.7728, 0.375, 0.375, 15),
        ("marauder", 125, 0, 1, 6, 1.125, 24, 0.5625, 0.5, 25),
        ("medivac", 150, 0, 1, 4, 1.375, 0, 0.75, 0.75, 200),
        ("stalker", 80, 80, 1, 6, 1.4765, 23.04, 0.625, 0.625, 35),
        ("zealot", 100, 50, 1, 0.1, 1.125, 19.2, 0.5, 0.375, 22),
        ("colossus", 200, 150, 1, 6, 1.125, 35.2, 1.0, 0.75, 24),
        ("zergling", 35, 0, 0, 0.1, 1.4765, 11.136, 0.375, 0.375, 11),
        ("hydralisk", 90, 0, 0, 5, 1.125, 13.28, 0.625, 0.5, 10),
        ("hydralisk_rl", 80, 0, 0, 5, 1.125, 13.28, 0.625, 0.5, 10),
        ("baneling", 30, 0, 0, 0.25, 1.25, 0, 0.375, 0.375, 1),
        ("spine_crawler", 300, 0, 2, 7, 0, 25.6, 0.875, 0.875, 15),
    ],
)
def test_a_unit_is_as_tough_far_reaching_fast_and_big_as_its_sheet_says(
    name, health, shield, armour, reach, per_step, loops, radius, room, scale
):
    kind = KINDS[name]
    assert (kind.health, kind.shield, kind.armour, kind.reach) == (health, shield, armour, reach)
    assert kind.speed * STEP == pytest.approx(per_step)
    assert kind.period * units.LOOPS_PER_SECOND == pytest.approx(loops)
    assert (kind.radius, kind.room, kind.cooldown_scale) == (radius, room, scale)


@pytest.mark.parametrize(
    ("attacker", "target", "damage", "hits"),
    [
        ("marine", "marine", 6, 1),
        ("marine", "marauder", 6, 1),
        ("marauder", "marine", 10, 1),
        ("marauder", "stalker", 20, 1),
        ("marauder", "medivac", 20, 1),
        ("stalker", "zealot", 10, 1),
        ("stalker", "stalker", 14, 1),
        ("stalker", "spine_crawler", 14, 1),
        ("zealot", "zealot", 8, 2),
        ("zealot", "colossus", 8, 2),
        ("colossus", "zergling", 20, 2),
        ("colossus", "stalker", 20, 2),
        ("colossus", "baneling", 20, 2),
        ("zergling", "colossus", 5, 1),
        ("hydralisk_rl", "zealot", 12, 1),
        ("baneling", "zealot", 35, 1),
        ("baneling", "zergling", 35, 1),
        ("baneling", "baneling", 20, 1),
        ("spine_crawler", "stalker", 30, 1),
        ("medivac", "marine", 0, 1),
    ],
)
def test_a_hit_hurts_as_much_as_its_bonus_says(attacker, target, damage, hits):
    assert damage_to(KINDS[attacker], KINDS[target]) == damage
    assert KINDS[attacker].hits == hits


def test_hits_on_health_leave_the_armour_behind():
    def on_health(attacker: str, target: str) -> float:
        return max(damage_to(KINDS[attacker], KINDS[target]) - KINDS[target].armour, units.LEAST_DAMAGE)

    assert on_health("zealot", "zealot") == 7
    assert on_health("marauder", "stalker") == 19
    assert on_health("stalker", "spine_crawler") == 12
    assert units.LEAST_DAMAGE == 0.5


def test_eight_shots_kill_a_marine_and_one_baneling_a_zergling():
    assert 7 * KINDS["marine"].damage < KINDS["marine"].health <= 8 * KINDS["marine"].damage
    assert damage_to(KINDS["baneling"], KINDS["zergling"]) >= KINDS["zergling"].health


def test_shields_recover_an_eighth_of_a_point_a_loop_after_160_quiet_loops():
    assert units.SHIELD_DELAY * units.LOOPS_PER_SECOND == 160
    assert units.SHIELD_RATE / units.LOOPS_PER_SECOND == 0.125
    assert units.ZERG_REGENERATION == 0.2734


def test_agents_see_and_aim_as_far_as_in_smac():
    assert (units.SIGHT, units.TARGET_RANGE, units.LOOPS_PER_STEP, units.LOOPS_PER_SECOND) == (9, 6, 8, 16)


def test_only_a_medivac_flies_and_heals_and_it_begins_with_150_points_of_healing():
    medivac = KINDS["medivac"]
    assert [name for name, kind in KINDS.items() if kind.flies or kind.heals or kind.energy] == ["medivac"]
    assert medivac.energy_start * medivac.heal_per_energy == 150
    assert medivac.energy * medivac.heal_per_energy == 600
    assert (medivac.heal_rate, medivac.energy_rate) == (9, 0.5625)
    assert "biological" not in medivac.attributes


def test_only_colossi_climb_and_burn_lines_and_only_banelings_burst():
    assert [name for name, kind in KINDS.items() if kind.climbs] == ["colossus"]
    assert {name: 2 * kind.line for name, kind in KINDS.items() if kind.line} == {"colossus": 2.8}
    assert {name: kind.burst for name, kind in KINDS.items() if kind.burst} == {"baneling": 2.2}


def test_smacs_hydralisk_differs_from_the_games_in_health_alone():
    assert replace(KINDS["hydralisk"], name="hydralisk_rl", health=80) == KINDS["hydralisk_rl"]


@pytest.mark.parametrize(
    ("name", "speed", "period"),
    [
        ("marine", 3.15, 0.61),
        ("marauder", 3.15, 1.07),
        ("medivac", 3.5, 0),
        ("stalker", 4.13, 1.34),
        ("zealot", 3.15, 0.86),
        ("colossus", 3.15, 1.07),
        ("zergling", 4.13, 0.497),
        ("baneling", 3.15, 0),
        ("spine_crawler", 0, 1.32),
    ],
)
def test_faster_units_have_smaclites_speed_and_period(name, speed, period):
    quick = faster(KINDS[name])
    assert (quick.speed, quick.period) == (speed, period)
    assert (quick.health, quick.radius, quick.hits) == (KINDS[name].health, KINDS[name].radius, KINDS[name].hits)


@pytest.mark.parametrize(
    ("name", "loops", "target", "harm", "reach"),
    [
        ("stalker", 29.92, "zealot", 13, 6),
        ("stalker", 29.92, "stalker", 18, 6),
        ("colossus", 24, "zergling", 15, 7),
        ("colossus", 24, "stalker", 10, 7),
        ("spine_crawler", 29.6, "stalker", 30, 7),
        ("marine", 13.7728, "zealot", 6, 5),
    ],
)
def test_weapons_of_the_ladder(name, loops, target, harm, reach):
    kind = laddered(KINDS[name])
    assert (16 * kind.period, damage_to(kind, KINDS[target]), kind.reach) == (pytest.approx(loops), harm, reach)
    assert damage_to(faster(KINDS[name]), KINDS[target]) == harm
    used = [make("skirmish:2s_vs_1sc", weapons=which).setting.army.kinds[0] for which in ("ladder", "liberty")]
    assert used == [laddered(KINDS["stalker"]), KINDS["stalker"]]


@pytest.mark.parametrize(
    ("name", "begun", "swung", "flies"),
    # Loops until a blow is struck, until its unit walks again, and that a missile takes for six cells.
    [
        ("marine", 0.8, 12.8, 0), ("marauder", 0, 0, 4.8), ("stalker", 2.672, 10.672, 5.12), ("zealot", 0, 8, 0),
        ("colossus", 1.328, 9.328, 0), ("zergling", 2.672, 10.672, 0), ("hydralisk", 3.328, 11.328, 2.4),
        ("spine_crawler", 5.328, 5.328, 3.345), ("baneling", 0, 0, 0),
    ],
)  # fmt: skip
def test_blows_and_missiles_take_their_time(name, begun, swung, flies):
    kind = KINDS[name]
    assert 16 * kind.damage_point == pytest.approx(begun)
    assert 16 * (kind.damage_point + kind.backswing) == pytest.approx(swung)
    assert (6 / kind.missile * 16 if kind.missile else 0) == pytest.approx(flies, abs=1e-3)
    assert kind.delayed == (begun >= 1 or flies > 0)


def test_faster_units_that_smaclite_lacks_are_exactly_1_4_times_as_fast():
    quick = faster(KINDS["hydralisk_rl"])
    assert quick.speed == pytest.approx(3.15)
    assert quick.period == pytest.approx(0.592857)
    assert (quick.missile, quick.damage_point) == pytest.approx((56, 0.208 / 1.4))
    assert quick.health == 80
