"""Whole battles of 3m: what they pay, how they end, and that they can be repeated."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from field import advanced, begun, changed, looked, luck_of
from numpy.testing import assert_allclose, assert_array_equal

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.games.registry import make
from sparring.games.skirmish.army import Army
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.maps import MAPS
from sparring.games.skirmish.reward import Pay, Result, Scoring, judged
from sparring.games.skirmish.starts import start
from sparring.games.trial import quick_jit

WORLDS = 4
STOP, NORTH, EAST, WEST, ATTACK = 1, 2, 4, 5, 6


@cache
def game_of(name: str = "3m", **options: Any) -> Any:
    return make(f"skirmish:{name}", **options)


@cache
def judge(name: str, scoring: Scoring) -> Any:
    army = Army(MAPS[name], smaclite=False, drawn=False)
    last = quick_jit(
        lambda before, after: judged(army, army.stats(before.kind_U), scoring, Pay.standard(), before, after)
    )
    fresh = jax.tree.map(np.asarray, start(jax.random.key(0), army, army.sizes[0], jnp.zeros(())))
    return last, fresh


def judged_after(before: dict, after: dict, name: str = "3m", played: int = 5, **options: Any) -> Result:
    """What a step pays that changed health or shield of units from one value to another."""
    standard = {"reward": "shaped", "absolute": True, "limit_ends": True, "duel": False, "limit": 60}
    last, fresh = judge(name, Scoring(**{**standard, **options}))
    first = changed(fresh, **before)
    second = changed(first, **after, played=played)
    result = last(*(jax.tree.map(lambda x: jnp.asarray(x)[..., None], battle) for battle in (first, second)))
    return jax.tree.map(lambda x: np.asarray(x)[..., 0], result)


ALL_ENEMIES, ALL_ALLIES = dict.fromkeys((3, 4, 5), 0.0), dict.fromkeys((0, 1, 2), 0.0)


def test_damage_deaths_and_victory_are_paid_in_shares_of_20() -> None:
    hurt = judged_after({}, {"health_U": {3: 39.0, 5: 33.0, 0: 5.0}})
    assert_allclose(hurt.reward_S, [18 * 20 / 365] * 3, rtol=1e-5)
    killed = judged_after({"health_U": {3: 6.0}}, {"health_U": {3: 0.0, 1: 0.0}})
    assert_allclose(killed.reward_S, [16 * 20 / 365] * 3, rtol=1e-5)
    assert not (hurt.over | hurt.cut | killed.over | killed.cut)
    won = judged_after({}, {"health_U": ALL_ENEMIES})
    assert_allclose(won.reward_S, [20] * 3, rtol=1e-5)
    assert (won.over, won.cut, won.outcome_K[0], won.cause_K[0]) == (True, False, 1, 0)


def test_defeat_pays_what_it_hurt_and_no_more() -> None:
    lost = judged_after({}, {"health_U": {**ALL_ALLIES, 3: 39.0}})
    assert_allclose(lost.reward_S, [6 * 20 / 365] * 3, rtol=1e-5)
    assert (lost.over, lost.outcome_K[0], lost.cause_K[0]) == (True, -1, 0)


@pytest.mark.parametrize("played", [5, 60])
def test_armies_that_fall_together_have_not_won_and_are_paid_no_prize(played: int) -> None:
    fallen = judged_after({}, {"health_U": 0.0}, played=played)
    assert_allclose(fallen.reward_S, [165 * 20 / 365] * 3, rtol=1e-5)
    assert (fallen.over, fallen.outcome_K[0], fallen.cause_K[0]) == (True, -1, 0)
    rivals = judged_after({}, {"health_U": 0.0}, played=played, duel=True, reward="sparse")
    assert_array_equal(rivals.outcome_K, [0, 0])
    assert_array_equal(rivals.reward_S, np.zeros(6))


def test_what_enemies_recover_is_paid_with_smacs_quirk_and_costs_without() -> None:
    step = ({"health_U": 30.0}, {"health_U": dict.fromkeys(range(6, 30), 30.5)})
    assert_allclose(judged_after(*step, "corridor").reward_S, [12 * 20 / 1280] * 6, rtol=1e-5)
    assert_allclose(judged_after(*step, "corridor", absolute=False).reward_S, [-12 * 20 / 1280] * 6, rtol=1e-5)
    shield = ({"shield_U": 10.0}, {"shield_U": {3: 11.0, 4: 8.0}})
    paid = [judged_after(*shield, "3s_vs_3z", absolute=absolute).reward_S[0] for absolute in (True, False)]
    assert_allclose(paid, [1 * 20 / 680] * 2, rtol=1e-4)  # 2 lost, 1 recovered


def test_a_signed_reward_takes_half_of_own_losses() -> None:
    step = ({"health_U": {0: 8.0}}, {"health_U": {0: 0.0, 1: 33.0, 3: 33.0}})
    assert_allclose(judged_after(*step, reward="signed").reward_S, [(12 - 0.5 * (20 + 10)) * 20 / 365] * 3, rtol=1e-5)


def test_a_sparse_reward_is_the_result_in_the_scale_of_the_shaped_and_nothing_when_time_is_up() -> None:
    for health, played, reward, outcome in (
        ({3: 0.0}, 5, 0, 0),
        (ALL_ENEMIES, 5, 1, 1),
        (ALL_ENEMIES, 60, 1, 1),
        (ALL_ALLIES, 5, -1, -1),
        ({}, 60, 0, -1),
        ({**ALL_ALLIES, **ALL_ENEMIES}, 5, 0, -1),
    ):
        result = judged_after({}, {"health_U": health}, played=played, reward="sparse")
        assert_allclose(result.reward_S, [reward * 20 / 365] * 3, rtol=1e-6)
        assert result.outcome_K[0] == outcome


def test_time_is_a_defeat_by_the_rules_or_a_cut() -> None:
    for played in (59, 60):
        ended = judged_after({}, {}, played=played)
        assert (ended.over, ended.cut, ended.outcome_K[0]) == (played == 60, False, -1 if played == 60 else 0)
        cut = judged_after({}, {}, played=played, limit_ends=False)
        assert (cut.over, cut.cut, cut.outcome_K[0]) == (False, played == 60, 0)
    assert ended.cause_K[0] == cut.cause_K[0] == 1
    won = judged_after({}, {"health_U": ALL_ENEMIES}, played=60, limit_ends=False)
    assert (won.over, won.cut, won.outcome_K[0]) == (True, False, 1)


def test_between_two_learners_each_side_has_its_own_reward_and_time_is_a_draw() -> None:
    hurt = judged_after({}, {"health_U": {3: 39.0, 0: 33.0}}, duel=True)
    assert_allclose(hurt.reward_S, np.array([6, 6, 6, 12, 12, 12]) * 20 / 365, rtol=1e-5)
    won = judged_after({}, {"health_U": ALL_ALLIES}, duel=True, reward="sparse")
    assert_allclose(won.reward_S, np.array([-1, -1, -1, 1, 1, 1]) * 20 / 365, rtol=1e-6)
    assert_array_equal(won.outcome_K, [-1, 1])
    late = judged_after({}, {}, duel=True, played=60)
    assert late.over
    assert_array_equal(late.outcome_K, [0, 0])
    assert_array_equal(late.cause_K, [1, 1])


def test_medivacs_alone_have_lost() -> None:
    fighters = dict.fromkeys(range(9), 0.0)
    lost = judged_after({}, {"health_U": fighters}, "MMM")
    assert (lost.over, lost.outcome_K[0]) == (True, -1)
    won = judged_after({}, {"health_U": {number + 10: 0.0 for number in fighters}}, "MMM")
    assert (won.over, won.outcome_K[0]) == (True, 1)
    # The medivac that is left was not paid for.
    assert_allclose(won.reward_S, [(1015 - 150 - 10) * 20 / 1015] * 10, rtol=1e-5)


def first_attack(game: Any, state: Battle) -> np.ndarray:
    """The first enemy in range of each agent, else stop; choices for all worlds."""
    legal_WSA = np.stack(
        [looked(game, jax.tree.map(lambda x, w=w: x[w], state))[0].legal_SA for w in range(state.played.shape[0])]
    )
    attacks = legal_WSA[..., ATTACK:]
    return np.where(attacks.any(-1), ATTACK + attacks.argmax(-1), np.where(legal_WSA[..., 0], 0, STOP))


def test_a_perfect_battle_pays_20_in_all() -> None:
    game = game_of()
    state = changed(begun(game, WORLDS), health_U={0: 1e6, 1: 1e6, 2: 1e6})
    paid, over = np.zeros((WORLDS, 3)), np.zeros(WORLDS, bool)
    for step in range(40):
        state, _, result = advanced(game, state, first_attack(game, state), seed=step)
        paid += np.asarray(result.reward_S) * ~over[:, None]
        assert_array_equal(np.asarray(result.outcome_K)[:, 0], np.asarray(result.over))
        over |= np.asarray(result.over)
    assert over.all()
    assert_allclose(paid, np.full((WORLDS, 3), 20), rtol=1e-5)


def test_a_battle_that_nobody_fights_is_lost_after_60_steps() -> None:
    game = game_of()
    state = changed(begun(game, WORLDS), health_U={0: 1e6, 1: 1e6, 2: 1e6}, played=58)
    for over in (False, True):
        state, _, step = advanced(game, state, STOP)
        assert_array_equal(step.over, [over] * WORLDS)
        assert_array_equal(step.outcome_K, [[-1.0 * over]] * WORLDS)
    assert not step.cut.any()


def test_choices_move_units_and_are_remembered_and_what_is_not_legal_means_stop() -> None:
    game = game_of()
    state = begun(game, WORLDS)
    after, _, _ = advanced(game, state, [ATTACK, EAST, NORTH], jitter=False)
    moved = np.asarray(after.place_XU - state.place_XU)[0]
    assert_allclose(moved[:, :3], [[0, 1.125, 0], [0, 0, 1.125]], atol=1e-5)
    assert_allclose(np.hypot(*moved[:, 3:]), [1.125] * 3, atol=1e-3)  # the enemies march, making room
    assert (moved[0, 3:] < -1.12).all()
    assert_array_equal(after.last_S, [[ATTACK, EAST, NORTH]] * WORLDS)
    assert_array_equal(after.played, [1] * WORLDS)
    _, central = looked(game, jax.tree.map(lambda x: x[0], state))
    assert not np.asarray(central)[0, 21:].any()


def test_a_marine_between_reach_and_six_steps_in_and_fires() -> None:
    game = game_of()
    place_XU = np.array([[-10, -10, 0, 5.9, 14, 14], [-5, 5, 0, 0, -5, 5]])
    state = changed(begun(game, WORLDS), place_XU=place_XU, health_U={4: 0.0, 5: 0.0})
    after, _, _ = advanced(game, state, [STOP, STOP, ATTACK], jitter=False)
    assert 0 < after.place_XU[0, 0, 2] < 0.3
    assert after.health_U[0, 3] == 39


def play(game: Any, worlds: int, steps: int, seed: int) -> list[Battle]:
    state, path = begun(game, worlds, seed), []
    for step in range(steps):
        state, _, _ = advanced(game, state, seed=100 * seed + step)
        path.append(jax.tree.map(np.asarray, state))
    return path


def test_the_same_chance_makes_the_same_battle_and_another_does_not() -> None:
    one, two, other = (play(game_of(), WORLDS, 30, seed)[-1] for seed in (1, 1, 2))
    for a, b in zip(one, two, strict=True):
        assert_array_equal(a, b)
    assert (one.health_U != other.health_U).any()
    assert (one.health_U < 45).any()


def test_worlds_side_by_side_are_worlds_alone() -> None:
    game, rng, same = game_of(), np.random.default_rng(0), []
    alone = quick_jit(lambda game, state, action, luck: game.step(state, action, luck))
    one = jax.tree.map(lambda x: x[0], begun(game, 1))
    state = changed(begun(game, WORLDS), place_XU=np.asarray(one.place_XU) * [[0.4], [1.0]])
    for step in range(20):
        choice_WS = rng.integers(1, 9, (WORLDS, 3))
        together, _, paid = advanced(game, state, choice_WS, seed=step)
        luck = luck_of(game, np.random.default_rng([step, 1]), WORLDS)
        for world in (0, 3):
            own, own_luck = jax.tree.map(lambda x, w=world: x[w], (state, luck))
            action = Action(jnp.asarray(choice_WS[world, :, None], jnp.int32), jnp.zeros((3, 0)))
            after, own_paid = alone(game, own, action, own_luck)
            pairs = zip((*after, own_paid.reward_S), (*together, paid.reward_S), strict=True)
            same.append(all(np.allclose(a, b[world], rtol=1e-5, atol=1e-5) for a, b in pairs))
        state = together
    # Two programs round differently, and a last bit may tip whom a unit shoots at or which way it steps aside.
    assert np.mean(same) >= 0.9
    assert (np.asarray(state.health_U) < 45).any()


def test_smaclites_marines_are_faster() -> None:
    game = game_of(timing="smaclite")
    place_XU = np.array([[-10, -10, 0, 5, 14, 14], [-5, 5, 0, 0, -5, 5]])
    state = changed(begun(game, 1), place_XU=place_XU, health_U={4: 0.0, 5: 0.0})
    after, _, _ = advanced(game, state, [EAST, STOP, ATTACK], jitter=False)
    assert after.place_XU[0, 0, 0] == pytest.approx(-10 + 3.15 / 2, abs=1e-5)
    assert after.cooldown_U[0, 2] == pytest.approx(0.61 * 16 - 8, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timing": "fast"}, "'smac' or 'smaclite', found 'fast'"),
        ({"opponent": "nobody"}, "'scripted' or 'policy'"),
        ({"reward": "dense"}, "'shaped' or 'signed' or 'sparse'"),
        ({"time_limit": "none"}, "'terminal' or 'truncation'"),
        ({"type_bits": "none"}, "'smac' or 'aligned'"),
        ({"state_kind": "all"}, "'agent_specific'"),
        ({"start_noise": -1.0}, "start_noise is a radius in cells, at least 0, found -1"),
        ({"random_types": 1}, "true or false"),
        ({"jitter": True}, "cooldown_jitter"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make("skirmish:3m", **options)


def test_a_building_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="2s_vs_1sc has a building"):
        make("skirmish:2s_vs_1sc", random_types=True)


def test_units_begin_within_the_noise_of_their_places() -> None:
    wild = np.asarray(begun(game_of("3s_vs_3z", start_noise=12.0), 500).place_XU)
    assert np.abs(wild).max() < 16.0 < np.abs(np.asarray(begun(game_of("3s_vs_3z"), 1).place_XU)).max() + 12.0
    plain, noisy = begun(game_of(), 1).place_XU, begun(game_of(start_noise=2.0), 2000).place_XU
    away = np.hypot(*np.moveaxis(np.asarray(noisy - plain), 1, 0))
    assert away.max() <= 2.0
    # Of a disc of radius 2 half the area lies beyond the square root of 2.
    assert np.mean(away > np.sqrt(2)) == pytest.approx(0.5, abs=0.03)


def test_drawn_armies_are_alike_and_never_medivacs_alone() -> None:
    game = game_of("3m", random_types=True)
    state = begun(game, 3000)
    kind_WU = np.asarray(state.kind_U)
    assert_array_equal(kind_WU[:, :3], kind_WU[:, 3:])
    assert game.setting.army.names == ("marauder", "marine", "medivac")
    assert (kind_WU != 2).any(axis=1).all()
    assert_allclose([np.mean(kind_WU == kind) for kind in range(3)], [0.45, 0.45, 0.1], atol=0.03)
    assert_array_equal(np.asarray(state.health_U), np.array([125.0, 45.0, 150.0])[kind_WU])
    assert_array_equal(np.asarray(state.energy_U), np.array([0.0, 0.0, 50.0])[kind_WU])


def test_the_zealot_of_2m_vs_1z_marches_to_anywhere_between_the_marines() -> None:
    goal_WX = np.asarray(begun(game_of("2m_vs_1z"), 2000).goal_X) + 16
    assert_array_equal(goal_WX[:, 1], np.full(2000, 12))
    assert 13 <= goal_WX[:, 0].min() < 13.05
    assert 18.95 < goal_WX[:, 0].max() <= 19


@pytest.mark.parametrize(("name", "balanced"), [("3m", True), ("5m_vs_6m", False), ("3s_vs_3z", False)])
def test_a_sparse_duel_is_zero_sum_where_both_armies_are_alike(name: str, balanced: bool) -> None:
    game = game_of(name, opponent="policy", reward="sparse")
    fallen = range(game.setting.army.sizes[0])
    paid = judged_after({}, {"health_U": dict.fromkeys(fallen, 0.0)}, name, reward="sparse", duel=True).reward_S
    assert game.spec.zero_sum == balanced == (float(jnp.sum(paid)) == 0.0)


def test_the_ground_is_no_rule_that_can_be_changed() -> None:
    assert set(game_of("corridor").rule_names()) == {"death", "win", "loss", "jitter", "start_noise"}
