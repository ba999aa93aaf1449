"""Masks, observations and states at places put by hand. Places are counted from the middle of the map, (16, 16)."""

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from field import changed, looked
from numpy.testing import assert_allclose, assert_array_equal

from sparring.games.registry import available, make
from sparring.games.skirmish.battle import Battle

SIZES = {
    "3m": (30, 48, 9), "8m": (80, 168, 14), "25m": (250, 950, 31), "5m_vs_6m": (55, 98, 12),
    "8m_vs_9m": (85, 179, 15), "10m_vs_11m": (105, 243, 17), "27m_vs_30m": (285, 1170, 36), "MMM": (160, 290, 16),
    "MMM2": (176, 322, 18), "2s3z": (80, 120, 11), "3s5z": (128, 216, 14), "3s5z_vs_3s6z": (136, 230, 15),
    "3s_vs_3z": (36, 54, 9), "3s_vs_4z": (42, 61, 10), "3s_vs_5z": (48, 68, 11), "1c3s5z": (162, 270, 15),
    "2m_vs_1z": (16, 26, 7), "corridor": (156, 282, 30), "6h_vs_8z": (78, 140, 14), "2s_vs_1sc": (17, 27, 7),
    "so_many_baneling": (202, 397, 38), "bane_vs_bane": (336, 984, 30), "2c_vs_64zg": (332, 342, 70),
}  # fmt: skip
"""Of observation, state and choices: SMAC's."""
NOTHING, STOP, NORTH, SOUTH, EAST, WEST, ATTACK = range(7)


@cache
def game_of(name: str, **options: Any) -> Any:
    return make(f"skirmish:{name}", **options)


@cache
def start_of(name: str) -> Battle:
    return jax.tree.map(np.asarray, game_of(name).start(jax.random.key(0)))


def seen_at(places: list[tuple[float, float]], name: str = "3m", **fields: Any) -> tuple[Any, np.ndarray]:
    state = changed(start_of(name), place_XU=np.transpose(places), **fields)
    return jax.tree.map(np.asarray, looked(game_of(name), state))


def test_every_map_is_there() -> None:
    assert sorted(f"skirmish:{name}" for name in SIZES) == [
        name for name in available() if name.startswith("skirmish:")
    ]


@pytest.mark.parametrize("name", SIZES)
def test_observation_state_and_choices_are_as_large_as_smacs(name: str) -> None:
    spec = game_of(name).spec
    assert (spec.features, spec.central.size, spec.action.heads) == (*SIZES[name][:2], (SIZES[name][2],))
    assert spec.central.kind == "world"


HERE = [(-3.0, 0.0), (-3.0, 4.0), (1.0, 1.0), (3.0, 0.0), (-3.0, -6.0001), (6.0, 0.0)]
"""The third ally is dead. Enemies are 6, 6.0001 and 9 away from the first ally."""


def test_an_enemy_is_attackable_up_to_six_away_and_seen_nearer_than_nine() -> None:
    seen, _ = seen_at(HERE, health_U={2: 0.0, 4: 18.0})
    assert_array_equal(seen.legal_SA[0], [0, 1, 1, 1, 1, 1, 1, 0, 0])
    enemies = seen.features_SF[0, 4:19].reshape(3, 5)
    assert_allclose(enemies[0], [1, 6 / 9, 6 / 9, 0, 1], atol=1e-6)
    assert_allclose(enemies[1], [0, 6.0001 / 9, 0, -6.0001 / 9, 0.4], atol=1e-6)
    assert_array_equal(enemies[2], np.zeros(5))
    nearer, _ = seen_at([*HERE[:5], (5.99, 0.0)], health_U={2: 0.0})
    assert_allclose(nearer.features_SF[0, 14:19], [0, 8.99 / 9, 8.99 / 9, 0, 1], atol=1e-6)


def test_an_agent_sees_moves_enemies_other_allies_and_itself_in_smacs_order() -> None:
    seen, _ = seen_at(HERE, health_U={0: 9.0, 2: 0.0})
    assert_array_equal(seen.features_SF[0, :4], [1, 1, 1, 1])
    assert_allclose(seen.features_SF[0, 19:29].reshape(2, 5), [[1, 4 / 9, 0, 4 / 9, 1], [0] * 5], atol=1e-6)
    assert seen.features_SF[0, 29] == pytest.approx(0.2)
    # The second sees the first in its first row: it leaves itself out.
    assert_allclose(seen.features_SF[1, 19:24], [1, 4 / 9, 0, -4 / 9, 0.2], atol=1e-6)


def test_the_dead_see_nothing_can_do_nothing_and_are_not_seen() -> None:
    seen, state = seen_at(HERE, health_U={2: 0.0, 3: 0.0})
    assert not seen.features_SF[2].any()
    assert_array_equal(seen.legal_SA[2], np.arange(9) == NOTHING)
    assert_array_equal(seen.acting_S, [True, True, False])
    assert seen.present_S.all()
    assert not seen.legal_SA[:2, NOTHING].any()
    assert not seen.legal_SA[:, ATTACK].any()
    assert not seen.features_SF[0, 4:9].any()
    assert not state[0, 8:12].any()
    assert not state[0, 12:15].any()


@pytest.mark.parametrize(
    ("x", "y", "north", "south", "east", "west"),
    [
        (16, 16, 1, 1, 1, 1),
        (16, 22.99, 1, 1, 1, 1),
        (16, 23, 0, 1, 1, 1),  # 24 is the rim of the band of rows 7 to 24
        (16, 9, 1, 1, 1, 1),
        (16, 8.99, 1, 0, 1, 1),
        (30.99, 16, 1, 1, 1, 1),
        (31, 16, 1, 1, 0, 1),
        (0.5, 16, 1, 1, 1, 1),  # -0.5 is cut to 0
    ],
)  # fmt: skip
def test_a_move_is_legal_where_the_cell_one_ahead_can_be_walked_on(
    x: float, y: float, north: int, south: int, east: int, west: int
) -> None:
    seen, _ = seen_at([(x - 16, y - 16), *HERE[1:]])
    assert_array_equal(seen.legal_SA[0, NORTH : WEST + 1], [north, south, east, west])
    assert_array_equal(seen.features_SF[0, :4], [north, south, east, west])


def test_the_state_says_how_and_where_all_units_are_and_what_was_done_last() -> None:
    _, state = seen_at(
        HERE, health_U={0: 9.0, 2: 0.0, 5: 22.5}, cooldown_U={0: 6.0, 1: -0.5}, last_S=np.array([STOP, 8, NOTHING])
    )
    assert state.shape == (1, 48)
    assert_allclose(state[0, :12], [0.2, 0.4, -3 / 32, 0, 1, 0, -3 / 32, 4 / 32, 0, 0, 0, 0], atol=1e-6)
    assert_allclose(state[0, 12:21], [1, 3 / 32, 0, 1, -3 / 32, -6.0001 / 32, 0.5, 6 / 32, 0], atol=1e-6)
    assert_array_equal(np.flatnonzero(state[0, 21:]), [STOP, 9 + 8, 18 + NOTHING])


def test_a_medivac_heals_allies_up_to_six_away_but_no_medivac() -> None:
    allies = [(-6.0, 0.0), (0.0, 6.1), *((0.0, -1.0 - n) for n in range(7)), (0.0, 0.0)]
    enemies = [(1.0 + n, 1.0) for n in range(10)]
    seen, state = seen_at([*allies, *enemies], "MMM", energy_U={9: 150.0}, health_U={8: 0.0})
    # Marauders at 6 and 6.1, marines from 1 to 6 south and a dead one, itself; nobody is hurt.
    assert_array_equal(seen.legal_SA[9, ATTACK:], [1, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    enemy_rows = seen.features_SF[9, 4:84].reshape(10, 8)
    assert not enemy_rows[:, 0].any()
    assert_array_equal(enemy_rows[:, 1] > 0, np.hypot(1.0 + np.arange(10), 1.0) < 9)
    # Health, energy / 200, place, bits of marauder, marine and medivac.
    assert_allclose(state[0, 63:70], [1, 0.75, 0, 0, 0, 0, 1], atol=1e-6)
    assert_array_equal(seen.features_SF[9, -4:], [1, 0, 0, 1])
    # A marine attacks enemies, medivacs too.
    assert_array_equal(seen.legal_SA[2, ATTACK:], np.hypot(1.0 + np.arange(10), 2.0) <= 6)


def test_enemy_zealots_have_the_first_type_bit_and_allied_ones_the_second() -> None:
    places = [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (0.0, 4.0), *((3.0, float(n)) for n in range(5))]
    shields = {"shield_U": {0: 40.0, 4: 25.0, 5: 20.0, 9: 10.0}}
    seen, state = seen_at(places, "2s3z", **shields)
    enemies = seen.features_SF[0, 4:44].reshape(5, 8)
    allies, own = seen.features_SF[0, 44:76].reshape(4, 8), seen.features_SF[0, 76:]
    stalker, zealot = [1.0, 0.25, 0.0, 1.0], [1.0, 0.2, 1.0, 0.0]
    assert_allclose(enemies[[0, 4], 4:], [stalker, zealot], atol=1e-6)
    assert_allclose(allies[[0, 3], 4:], [[1, 1, 1, 0], [1, 0.5, 0, 1]], atol=1e-6)
    assert_allclose(own, [1, 0.5, 1, 0], atol=1e-6)
    allies, enemies = state[0, :35].reshape(5, 7), state[0, 35:65].reshape(5, 6)
    assert_allclose(allies[[0, 4]], [[1, 0, 0, 0, 0.5, 1, 0], [1, 0, 0, 4 / 32, 0.5, 0, 1]], atol=1e-6)
    assert_allclose(enemies[[0, 4]], [[1, 3 / 32, 0, 0.25, 0, 1], [1, 3 / 32, 4 / 32, 0.2, 1, 0]], atol=1e-6)


def test_aligned_type_bits_mean_the_same_on_both_sides() -> None:
    for name in ("2s3z", "3s5z", "3s5z_vs_3s6z"):
        assert game_of(name).setting.shape.bits == (("stalker", "zealot"), ("zealot", "stalker"))
        assert game_of(name, type_bits="aligned").setting.shape.bits == (("stalker", "zealot"),) * 2
    # Elsewhere SMAC has one order.
    for name in ("MMM", "1c3s5z", "bane_vs_bane"):
        assert len(set(game_of(name).setting.shape.bits)) == 1
        assert len(game_of(name).setting.shape.bits[0]) == (2 if name == "bane_vs_bane" else 3)


def test_agents_of_mappo_see_besides_what_they_and_the_friends_in_sight_did_last_and_who_they_are() -> None:
    places = [(-3.0, 0.0), (-3.0, 4.0), (9.0, 0.0), (3.0, 0.0), (-3.0, -6.0), (6.0, 0.0)]
    state = changed(start_of("3m"), place_XU=np.transpose(places), last_S={0: EAST, 1: ATTACK + 2, 2: STOP})
    game = game_of("3m", obs_kind="mappo")
    plain, rows = (np.asarray(looked(one, state)[0].features_SF) for one in (game_of("3m"), game))
    assert game.spec.features == rows.shape[1] == 30 + 9 + 2 * 9 + 3
    assert game.spec.exchangeable == ()
    assert_array_equal(rows[:, :30], plain)
    choice = np.eye(9)
    # The third is out of the sight of the others, and they of it.
    wanted = [(EAST, ATTACK + 2, None), (ATTACK + 2, EAST, None), (STOP, None, None)]
    for number, (row, choices) in enumerate(zip(rows, wanted, strict=True)):
        bits = [np.zeros(9) if one is None else choice[one] for one in choices]
        assert_array_equal(row[30:], np.concatenate([*bits, np.eye(3)[number]]))
    dead = changed(state, health_U={0: 0.0})
    rows = np.asarray(looked(game, dead)[0].features_SF)
    assert_array_equal(rows[0], np.arange(60) == 57)
    assert not rows[1, 30 + 9 : 30 + 18].any()


def test_a_critic_for_each_agent_sees_its_number_its_view_and_the_state() -> None:
    state = changed(start_of("3m"), place_XU=np.transpose(HERE), health_U={2: 0.0})
    seen, whole = looked(game_of("3m"), state)
    _, rows = looked(game_of("3m", state_kind="agent_specific"), state)
    assert rows.shape == (3, 3 + 30 + 48)
    wanted = np.concatenate([[0, 1, 0], np.asarray(seen.features_SF)[1], np.asarray(whole)[0]])
    assert_array_equal(rows[1], wanted)
    assert_array_equal(rows[2], np.arange(81) == 2)  # the dead agent's number alone


def test_a_pruned_critic_sees_everybody_once_however_far() -> None:
    state = changed(start_of("3m"), place_XU=np.transpose(HERE), health_U={2: 0.0}, cooldown_U={0: 6.0, 1: 3.0})
    _, rows = looked(game_of("3m", state_kind="feature_pruned"), state)
    rows = np.asarray(rows)
    assert rows.shape == (3, 3 + 30 + 3 + 2 + 27)
    assert_array_equal(rows[0, :3], [1, 0, 0])
    assert_allclose(rows[0, 3 + 14 : 3 + 19], [0, 1, 1, 0, 1], atol=1e-6)  # the enemy 9 away
    assert_allclose(rows[0, 33:38], [-3 / 32, 0, 0.4, 0.2, 0], atol=1e-6)
    assert_array_equal(rows[2], np.arange(65) == 2)


def test_without_death_masking_the_critic_of_a_dead_agent_still_sees_the_state() -> None:
    state = changed(start_of("3m"), place_XU=np.transpose(HERE), health_U={2: 0.0})
    _, whole = looked(game_of("3m"), state)
    _, rows = looked(game_of("3m", state_kind="agent_specific", death_masking=False), state)
    assert_array_equal(np.asarray(rows)[2, 33:], np.asarray(whole)[0])


def test_without_death_masking_a_pruned_row_of_a_dead_agent_still_tells_where_all_others_are() -> None:
    state = changed(start_of("3m"), place_XU=np.transpose(HERE), health_U={2: 0.0})
    rows = [
        np.asarray(looked(game_of("3m", state_kind="feature_pruned", death_masking=masked), state)[1])
        for masked in (True, False)
    ]
    assert_array_equal(rows[0][:2], rows[1][:2])
    friends = rows[1][2, 3 + 4 + 15 : 3 + 4 + 15 + 10].reshape(
        2, 5
    )  # after which one it is, its moves and three enemies
    assert_array_equal(friends[:, 0], [1.0, 1.0])
    offset = (np.array(HERE)[:2] - np.array(HERE)[2]) / 9.0
    np.testing.assert_allclose(friends[:, 2:4], offset, rtol=1e-6)


@pytest.mark.parametrize("name", ["3m", "bane_vs_bane"])
def test_a_second_side_of_learners_sees_what_the_first_sees_in_a_mirror(name: str) -> None:
    game = game_of(name, opponent="policy")
    seen, central = looked(game, game.start(jax.random.key(0)))
    size = game.spec.seats // 2
    assert central.shape == (2, game.spec.central.size)
    for part in (seen.features_SF, seen.legal_SA, np.repeat(central, size, axis=0)):
        assert_array_equal(part[:size], part[size:])
    assert np.asarray(seen.features_SF[0]).any()


@pytest.mark.parametrize("name", ["2m_vs_1z", "2s_vs_1sc"])
def test_a_side_of_one_sees_no_friends(name: str) -> None:
    game = game_of(name, opponent="policy")
    seen, _ = looked(game, game.start(jax.random.key(0)))
    foes = game.spec.layout[1].size
    assert not np.asarray(seen.features_SF)[2, 4 + foes : 4 + foes + game.spec.layout[2].size].any()


def test_sides_of_unlike_sizes_share_one_shape() -> None:
    game = game_of("5m_vs_6m", opponent="policy")
    seen, central = looked(game, game.start(jax.random.key(0)))
    assert seen.features_SF.shape == (11, 4 + 6 * 5 + 5 * 5 + 1)
    assert game.spec.action.heads == (12,)
    assert central.shape == (2, 6 * 4 + 6 * 3 + 6 * 12)
    # Five enemies and six choices: the last of the second side names nobody.
    near = changed(game.start(jax.random.key(0)), place_XU=0.0)
    assert_array_equal(looked(game, near)[0].legal_SA[:, ATTACK:].sum(1), [6] * 5 + [5] * 6)
