"""The 23 maps of SMAC: who is on them, where they stand, how long a battle lasts."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from sparring.core.errors import GameError
from sparring.games.skirmish.maps import MAPS, MIXTURES, NEVER_ALONE, BattleMap, spawn
from sparring.games.skirmish.terrain import BLOCKED, GROUNDS, levels
from sparring.games.skirmish.units import KINDS

MMM = {"marauder": 2, "marine": 7, "medivac": 1}
TABLE = [
    ("3m", {"marine": 3}, {"marine": 3}, 60, 365),
    ("8m", {"marine": 8}, {"marine": 8}, 120, 640),
    ("25m", {"marine": 25}, {"marine": 25}, 150, 1575),
    ("5m_vs_6m", {"marine": 5}, {"marine": 6}, 70, 530),
    ("8m_vs_9m", {"marine": 8}, {"marine": 9}, 120, 695),
    ("10m_vs_11m", {"marine": 10}, {"marine": 11}, 150, 805),
    ("27m_vs_30m", {"marine": 27}, {"marine": 30}, 180, 1850),
    ("MMM", MMM, MMM, 150, 1015),
    ("MMM2", MMM, {"marauder": 3, "marine": 8, "medivac": 1}, 180, 1205),
    ("2s3z", {"stalker": 2, "zealot": 3}, {"stalker": 2, "zealot": 3}, 120, 1020),
    ("3s5z", {"stalker": 3, "zealot": 5}, {"stalker": 3, "zealot": 5}, 150, 1510),
    ("3s5z_vs_3s6z", {"stalker": 3, "zealot": 5}, {"stalker": 3, "zealot": 6}, 170, 1670),
    ("3s_vs_3z", {"stalker": 3}, {"zealot": 3}, 150, 680),
    ("3s_vs_4z", {"stalker": 3}, {"zealot": 4}, 200, 840),
    ("3s_vs_5z", {"stalker": 3}, {"zealot": 5}, 250, 1000),
    ("1c3s5z", {"colossus": 1, "stalker": 3, "zealot": 5}, {"colossus": 1, "stalker": 3, "zealot": 5}, 180, 1870),
    ("2m_vs_1z", {"marine": 2}, {"zealot": 1}, 150, 360),
    ("corridor", {"zealot": 6}, {"zergling": 24}, 400, 1280),
    ("6h_vs_8z", {"hydralisk_rl": 6}, {"zealot": 8}, 150, 1480),
    ("2s_vs_1sc", {"stalker": 2}, {"spine_crawler": 1}, 300, 510),
    ("so_many_baneling", {"zealot": 7}, {"baneling": 32}, 100, 1480),
    ("bane_vs_bane", {"baneling": 4, "zergling": 20}, {"baneling": 4, "zergling": 20}, 200, 1260),
    ("2c_vs_64zg", {"colossus": 2}, {"zergling": 64}, 400, 3080),
]
SIDES = [(battle_map, side) for battle_map in MAPS.values() for side in (0, 1)]
EVEN = ["3m", "8m", "25m", "MMM", "2s3z", "3s5z", "1c3s5z", "bane_vs_bane"]


def named(value: object) -> str | None:
    return value.name if isinstance(value, BattleMap) else None


def test_the_maps_are_the_23_of_smac():
    assert list(MAPS) == [row[0] for row in TABLE]


@pytest.mark.parametrize(("name", "allies", "enemies", "limit", "max_reward"), TABLE)
def test_armies_limits_and_greatest_rewards_are_smacs(name, allies, enemies, limit, max_reward):
    battle_map = MAPS[name]
    assert list(Counter(battle_map.kinds(0)).items()) == list(allies.items())  # in the order of agents, too
    assert list(Counter(battle_map.kinds(1)).items()) == list(enemies.items())
    assert battle_map.limit == limit
    foes = [KINDS[kind] for kind in battle_map.kinds(1)]
    assert 10 * len(foes) + 200 + sum(foe.health + foe.shield for foe in foes) == max_reward


@pytest.mark.parametrize(("battle_map", "side"), SIDES, ids=named)
def test_an_army_is_of_one_race_and_its_kinds_stand_in_one_row_each(battle_map, side):
    kinds = battle_map.kinds(side)
    assert len({KINDS[kind].race for kind in kinds}) == 1
    assert list(kinds) == sorted(kinds)  # the order of SMAC's agents is that of the alphabet on every map


def test_armies_stand_and_march_where_the_map_scripts_say():
    for name in [row[0] for row in TABLE[:16]]:
        assert {group.at for group in MAPS[name].allies} == {(9, 16)} == {MAPS[name].goal}
        assert {group.at for group in MAPS[name].enemies} == {(23, 16)}
    assert MAPS["corridor"].goal == MAPS["so_many_baneling"].goal == (4.47, 4.33)
    assert MAPS["6h_vs_8z"].goal == MAPS["6h_vs_8z"].allies[0].at == (14.6, 9.49)
    assert MAPS["bane_vs_bane"].goal == (16, 8)
    assert MAPS["2m_vs_1z"].goal == ((13, 12), (19, 12))
    assert MAPS["2c_vs_64zg"].goal == "allies"
    assert MAPS["2s_vs_1sc"].goal is None


def test_maps_are_mirrored_along_the_line_between_the_armies():
    up_and_down = [name for name, battle_map in MAPS.items() if battle_map.mirror == "y"]
    assert up_and_down == ["2m_vs_1z", "corridor", "6h_vs_8z", "2s_vs_1sc", "bane_vs_bane", "2c_vs_64zg"]


def test_every_ground_is_somebodys():
    assert {battle_map.ground for battle_map in MAPS.values()} == set(GROUNDS)
    on_open = [name for name, battle_map in MAPS.items() if battle_map.ground == "open"]
    assert on_open == ["3s_vs_3z", "3s_vs_4z", "3s_vs_5z"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("3m", "3 marines against 3 marines"),
        ("2m_vs_1z", "2 marines against 1 zealot"),
        ("6h_vs_8z", "6 hydralisks against 8 zealots"),
        ("2s_vs_1sc", "2 stalkers against 1 spine crawler"),
        ("2c_vs_64zg", "2 colossi against 64 zerglings"),
        ("MMM2", "2 marauders, 7 marines and 1 medivac against 3 marauders, 8 marines and 1 medivac"),
    ],
)
def test_a_map_is_described_in_words(name, words):
    assert MAPS[name].description == words


def gaps(battle_map: BattleMap, side: int, place_U2: np.ndarray) -> np.ndarray:
    """Between the edges of every two units of one layer."""
    kinds = [KINDS[name] for name in battle_map.kinds(side)]
    pairs = [(i, j) for i in range(len(kinds)) for j in range(i) if kinds[i].flies == kinds[j].flies]
    apart = [np.linalg.norm(place_U2[i] - place_U2[j]) - kinds[i].room - kinds[j].room for i, j in pairs]
    return np.array([np.inf, *apart])


@pytest.mark.parametrize(("battle_map", "side"), SIDES, ids=named)
def test_units_begin_side_by_side_on_ground_that_holds_them_whole(battle_map, side):
    place_U2 = spawn(battle_map, side)
    assert place_U2.shape == (len(battle_map.kinds(side)), 2)
    assert gaps(battle_map, side, place_U2).min() > 0.05
    room_U1 = np.array([[KINDS[kind].room] for kind in battle_map.kinds(side)])
    for corner in ([-1, -1], [-1, 1], [1, -1], [1, 1]):
        east_U, north_U = np.floor(16 + place_U2 + room_U1 * corner).astype(int).T
        assert ((east_U >= 0) & (east_U < 32) & (north_U >= 0) & (north_U < 32)).all()
        level_U = levels(battle_map.ground)[north_U, east_U]
        assert level_U.min() > BLOCKED
        assert np.ptp(level_U) == 0


@pytest.mark.parametrize(("battle_map", "side"), SIDES, ids=named)
def test_units_stand_about_the_point_of_their_group(battle_map, side):
    begin = 0
    place_U2 = spawn(battle_map, side)
    for group in battle_map.groups(side):
        place_G2 = place_U2[begin : begin + group.count] + 16
        begin += group.count
        assert np.linalg.norm(place_G2.mean(0) - group.at) < 1.6  # 32 banelings find room only beside theirs
        if group.count == 1 and len(battle_map.kinds(side)) <= 2:
            np.testing.assert_allclose(place_G2[0], group.at, atol=1 / 128)


@pytest.mark.parametrize(("battle_map", "side"), [pair for pair in SIDES if pair[0].name != "2s_vs_1sc"], ids=named)
def test_every_kind_stands_symmetric_about_the_line_between_the_armies_unless_the_script_forbids_it(battle_map, side):
    along_2 = np.array(battle_map.facing)
    across_2 = np.array([-along_2[1], along_2[0]])
    centre_2 = np.average([g.at for g in battle_map.allies], axis=0, weights=[g.count for g in battle_map.allies]) - 16
    offset_U2 = spawn(battle_map, side) - centre_2
    seen_U2 = np.stack([offset_U2 @ along_2, offset_U2 @ across_2], -1)
    mirrored_U2 = seen_U2 * [1, -1]
    kind_U = np.array(battle_map.kinds(side))
    apart_UU = np.linalg.norm(seen_U2[:, None] - mirrored_U2, axis=-1) + 99 * (kind_U[:, None] != kind_U)
    assert apart_UU.min(1).max() < 2.1 / 64  # starting places are rounded to 1 / 64


@pytest.mark.parametrize("name", EVEN)
def test_even_armies_are_exact_mirror_images_unit_by_unit(name):
    battle_map = MAPS[name]
    image_2 = [-1, 1] if battle_map.mirror == "x" else [1, -1]
    np.testing.assert_array_equal(spawn(battle_map, 1), spawn(battle_map, 0) * image_2)
    assert battle_map.kinds(0) == battle_map.kinds(1)


def test_maps_know_whether_they_are_even():
    assert [name for name, battle_map in MAPS.items() if battle_map.even] == EVEN


@pytest.mark.parametrize("battle_map", MAPS.values(), ids=named)
def test_agents_are_numbered_by_kind_then_x_then_y(battle_map):
    keys = [(kind, *place) for kind, place in zip(battle_map.kinds(0), spawn(battle_map, 0).tolist(), strict=True)]
    assert keys == sorted(keys)


def test_three_marines_stand_in_one_rank():
    np.testing.assert_array_equal(spawn(MAPS["3m"], 0), [[-7, -0.8125], [-7, 0], [-7, 0.8125]])


def test_starting_places_are_multiples_of_a_64th():
    for battle_map, side in SIDES:
        fine_U2 = spawn(battle_map, side) * 64
        np.testing.assert_array_equal(fine_U2, np.round(fine_U2))


@pytest.mark.parametrize(("battle_map", "side"), SIDES, ids=named)
def test_there_is_room_for_the_largest_unit_of_a_race_where_armies_are_drawn(battle_map, side):
    kinds = [KINDS[kind] for kind in battle_map.kinds(side)]
    room = max(KINDS[kind].room for kind, _ in MIXTURES[kinds[0].race])
    place_U2 = spawn(battle_map, side, room=room)  # also where a map has a medivac: what is drawn there may walk
    apart_UU = np.linalg.norm(place_U2[:, None] - place_U2, axis=-1) + 99 * np.eye(len(place_U2))
    assert apart_UU.min() >= 2 * room


def test_an_army_that_does_not_fit_is_refused():
    with pytest.raises(GameError, match="corridor has no room for 24 units 4"):
        spawn(MAPS["corridor"], 1, room=2.0)


def test_drawn_armies_have_smacv2s_chances():
    assert {race: dict(kinds) for race, kinds in MIXTURES.items()} == {
        "terran": {"marine": 0.45, "marauder": 0.45, "medivac": 0.1},
        "protoss": {"stalker": 0.45, "zealot": 0.45, "colossus": 0.1},
        "zerg": {"zergling": 0.45, "hydralisk": 0.45, "baneling": 0.1},
    }
    assert all(KINDS[kind].race == race for race, kinds in MIXTURES.items() for kind, _ in kinds)
    assert set(NEVER_ALONE) == {"medivac", "baneling"}


def test_listing_maps_loads_neither_jax_nor_scipy():
    words = "import sys, sparring.games.skirmish.maps; print({'jax', 'scipy'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
