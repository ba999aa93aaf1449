"""The stag hunt: each rule with numbers by hand, and the reference values of whole games."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meadow import SEE, act, logits, masked_logits, rows, scripted_game

from sparring.core.records import Action
from sparring.core.scene import Wall
from sparring.games.contract import check_game
from sparring.games.social.stag_hunt import HARE, STAG, STAY, StagHunt, StagHuntState, stag_hunt
from toy_players import quick

UP, DOWN, LEFT, RIGHT = range(4)
GAME = stag_hunt()


def board(
    hunters: list[int],
    stags: list[int] | None = None,
    hares: list[int] | None = None,
    walls: list[int] | None = None,
    present: list[bool] | None = None,
    played: int = 0,
) -> StagHuntState:
    """By default a stag on 0 and hares on 60 to 63 of 8x8 cells, and no walls."""
    return StagHuntState(
        cell_S=jnp.array(hunters, jnp.int32),
        present_S=jnp.array(present or [True] * len(hunters)),
        stag_E=jnp.array(stags or [0], jnp.int32),
        hare_E=jnp.array(hares or [60, 61, 62, 63], jnp.int32),
        wall_E=jnp.array(walls or [-1] * 5, jnp.int32),
        caught_SJ=jnp.zeros((len(hunters), 2), jnp.int32),
        played=jnp.asarray(played, jnp.int32),
    )


def test_a_hunter_moves_to_free_cells_inside_and_strikes_only_where_an_animal_is() -> None:
    """Hunters in the upper left corner on the stag, left of a wall, on a hare in the lower row, above a wall."""
    seen = SEE(GAME, board([0, 11, 60, 28], walls=[12, 36, -1, -1, -1]))
    assert np.asarray(seen.legal_SA).astype(int).tolist() == [
        [0, 1, 0, 1, 1, 1, 0],
        [1, 1, 1, 0, 1, 0, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 1, 0, 0],
    ]


def test_moves_are_made_and_moves_that_are_not_legal_stay() -> None:
    state = board([9, 9, 11, 7], walls=[12, -1, -1, -1, -1])
    after, step = act(GAME, state, UP, LEFT, RIGHT, RIGHT)
    assert after.cell_S.tolist() == [1, 8, 11, 7]
    assert step.reward_S.tolist() == [0.0] * 4 and not step.over and after.played == 1


@pytest.mark.parametrize(
    ("strikers", "each"),
    [(1, 0.0), (2, 5.0), (3, 10 / 3), (4, 2.5)],
)
def test_a_stag_takes_two_and_is_shared_by_all_who_strike_at_once(strikers: int, each: float) -> None:
    after, step = act(GAME, board([0] * 4), *[STAG] * strikers, *[STAY] * (4 - strikers))
    caught = strikers > 1
    np.testing.assert_allclose(step.reward_S, [each] * strikers + [0.0] * (4 - strikers), rtol=1e-6)
    assert step.left_S.tolist() == [caught] * strikers + [False] * (4 - strikers)
    assert after.present_S.tolist() == [not left for left in step.left_S]
    assert after.stag_E.tolist() == [-1 if caught else 0]
    assert bool(step.over) == (strikers == 4) and not step.cut


def test_two_hunters_on_one_hare_have_half_each_and_one_who_waits_there_has_none() -> None:
    after, step = act(GAME, board([61, 61, 61, 63]), HARE, HARE, STAY, HARE)
    assert step.reward_S.tolist() == [0.5, 0.5, 0.0, 1.0]
    assert after.hare_E.tolist() == [60, -1, 62, -1]
    assert after.present_S.tolist() == [False, False, True, False] and not step.over


def test_who_left_is_absent_and_whatever_is_given_for_it_does_nothing() -> None:
    """It stands on the stag, and asks to strike beside one who is there."""
    state = board([0, 0, 20, 30], present=[False, True, True, True])
    seen = SEE(GAME, state)
    assert seen.present_S.tolist() == seen.acting_S.tolist() == [False, True, True, True]
    assert seen.legal_SA[0].tolist() == [True] + [False] * 6
    after, step = act(GAME, state, STAG, STAG, STAY, STAY)
    assert step.reward_S.tolist() == [0.0] * 4 and after.stag_E.tolist() == [0]
    assert act(GAME, board([9, 1, 2, 3], present=[False, True, True, True]), UP, STAY, STAY, STAY)[0].cell_S[0] == 9


GONE = [-1] * 4


@pytest.mark.parametrize(
    ("stags", "hares", "present", "over"),
    [
        ([0], GONE, [True, True, False, False], False),  # two can still take the stag
        ([0], GONE, [True, False, False, False], True),  # one alone cannot
        ([-1], [60, -1, -1, -1], [False, False, False, True], False),
        ([-1], GONE, [True] * 4, True),
        ([0], [60, -1, -1, -1], [False] * 4, True),
    ],
)
def test_a_game_is_over_when_nothing_is_left_that_those_present_can_catch(stags, hares, present, over) -> None:
    _, step = act(GAME, board([20, 21, 22, 23], stags, hares, present=present), *[STAY] * 4)
    assert bool(step.over) == over and not step.cut


def test_the_time_limit_of_35_steps_is_an_end_by_the_rules() -> None:
    assert not act(GAME, board([20] * 4, played=33), *[STAY] * 4)[1].over
    step = act(GAME, board([20] * 4, played=34), *[STAY] * 4)[1]
    assert step.over and not step.cut


def test_no_joint_outcome_is_worth_more_than_twelve() -> None:
    """Every way to strike at once: each of four hunters takes part in the stag, in one of four hares, or in nothing."""
    cells, choices = [0, 60, 61, 62, 63, 30], [STAG, HARE, HARE, HARE, HARE, STAY]
    joint_MS = np.array(list(product(range(6), repeat=4)))
    states = jax.vmap(lambda cell_S: board([0] * 4)._replace(cell_S=cell_S))(jnp.array(cells, jnp.int32)[joint_MS])
    action = Action(jnp.array(choices, jnp.int32)[joint_MS][..., None], jnp.zeros((len(joint_MS), 4, 0)))
    strike = quick(jax.vmap(lambda game, state, action: game.step(state, action, ())[1].reward_S, (None, 0, 0)))
    sum_M = np.asarray(strike(GAME, states, action)).sum(axis=1)
    assert sum_M.max() == pytest.approx(12.0)
    for joint_S in joint_MS[sum_M > 11.99]:
        assert (joint_S == 0).sum() == 2 and len(set(joint_S[joint_S > 0])) == 2 and (joint_S < 5).all()


AROUND = [8 * 3 + 1, 8 * 1 + 3, 8 * 3 + 5, 8 * 5 + 3]
"""Two moves from the middle, 27, one hunter on each side."""


@pytest.mark.parametrize(
    ("bots", "expected"),
    [
        (["nearest_hare"] * 4, [1.0] * 4),
        (["nearest_stag"] * 4, [2.5] * 4),
        (["prosocial"] * 4, [2.5] * 4),
        (["nearest_stag", "nearest_stag", "nearest_hare", "nearest_hare"], [5.0, 5.0, 1.0, 1.0]),
        (["nearest_stag", "nearest_hare", "nearest_hare", "nearest_hare"], [0.0, 1.0, 1.0, 1.0]),
        (["prosocial", "nearest_hare", "nearest_hare", "nearest_hare"], [1.0, 1.0, 1.0, 1.0]),
        (["stay"] * 4, [0.0] * 4),
    ],
)
def test_reference_values_of_scripted_play(bots: list[str], expected: list[float]) -> None:
    """The stag in the middle, and beside every hunter, away from it, a hare."""
    state = board(AROUND, [27], [AROUND[0] - 1, AROUND[1] - 8, AROUND[2] + 1, AROUND[3] + 8])
    total_S, *_ = scripted_game(GAME, rows(GAME, bots), state, jax.random.key(0))
    np.testing.assert_allclose(total_S, expected, rtol=1e-6)


def test_with_two_stags_two_pairs_have_five_each() -> None:
    game = stag_hunt(stags=2)
    state = board([2, 16, 61, 47], stags=[0, 63], hares=[27, 28, 35, 36])
    total_S, *_ = scripted_game(game, rows(game, ["nearest_stag"] * 4), state, jax.random.key(0))
    assert total_S.tolist() == [5.0] * 4


def test_a_partner_that_waits_on_the_stag_is_met_there_and_both_strike() -> None:
    """One is on the stag and strikes in vain for two steps; the other takes two moves and strikes with it."""
    state = board([27, 29, 0, 7], [27], present=[True, True, False, False])
    total_S, steps_S, _ = scripted_game(GAME, rows(GAME, ["nearest_stag"] * 4), state, jax.random.key(0))
    assert total_S.tolist() == [5.0, 5.0, 0.0, 0.0] and steps_S[:2].tolist() == [3, 3]


def choices(name: str, state: StagHuntState, game: StagHunt = GAME) -> list[set[int]]:
    """The equally likely actions of each seat."""
    logits_SA = np.asarray(logits(game, rows(game, [name] * game.spec.seats), state))
    return [set(np.flatnonzero(logits_A == logits_A.max()).tolist()) for logits_A in logits_SA]


def test_what_each_bot_does_in_one_position() -> None:
    """The stag is on 27, hares on 0, 7, 40 and 63. Hunters: on the stag, on hare 40, beside hare 63 and level with the
    stag's row, between hares 0 and 7."""
    state = board([27, 40, 55, 11], [27], [0, 7, 40, 63])
    assert choices("nearest_stag", state) == [{STAG}, {UP, RIGHT}, {UP, LEFT}, {DOWN}]
    assert choices("nearest_hare", state)[1:] == [{HARE}, {DOWN}, {UP, LEFT}]
    assert choices("grab", state) == [{STAG}, {HARE}, {DOWN}, {STAY}]
    assert choices("stay", state) == [{STAY}] * 4
    assert choices("herd", state) == [{UP, LEFT}, {UP}, {UP, LEFT}, {UP, LEFT}]  # all to hare 0
    assert choices("prosocial", state) == choices("nearest_stag", state)
    alone = state._replace(present_S=jnp.array([True, False, False, False]))
    assert choices("prosocial", alone)[0] == choices("nearest_hare", alone)[0]


def test_equally_near_hares_are_equally_likely() -> None:
    state = board([27, 0, 0, 0], [63], [25, 29, 11, 43])
    assert choices("nearest_hare", state)[0] == {UP, DOWN, LEFT, RIGHT}


def test_both_views_tell_bots_the_same() -> None:
    places, planes = stag_hunt(stags=2), stag_hunt(stags=2, view="planes")
    starts = quick(jax.vmap(places.start))(jax.random.split(jax.random.key(3), 40))
    starts = starts._replace(hare_E=starts.hare_E.at[:, 1].set(-1), present_S=starts.present_S.at[:, 2].set(False))
    present = np.array([0, 1, 3])
    told = quick(lambda g, row_SJ, starts: jax.vmap(lambda s: masked_logits(g, row_SJ, s))(starts))
    for name in places.bots().names:
        one, two = (np.asarray(told(g, rows(g, [name] * 4), starts))[:, present] for g in (places, planes))
        np.testing.assert_array_equal(one, two)


def test_planes_show_each_thing_where_it_is() -> None:
    game = stag_hunt(size=4, hunters=3, walls=1, view="planes")
    state = board([5, 6, 6], [0], [12, 13, -1, 15], [3], present=[True, True, True], played=7)
    features_SF = np.asarray(SEE(game, state).features_SF)
    own, crowd, stags, hares, walls = features_SF[0, :80].reshape(16, 5).T
    found = [np.flatnonzero(plane).tolist() for plane in (own, crowd, stags, hares, walls)]
    assert found == [[5], [6], [0], [12, 13, 15], [3]] and crowd[6] == 2.0
    others = features_SF[1, 80:112].reshape(2, 16)
    assert [np.flatnonzero(plane).tolist() for plane in others] == [[5], [6]]
    assert features_SF[0, -1] == pytest.approx(7 / 35)


def test_places_are_relative_and_what_is_gone_is_not_there() -> None:
    """8x8; own row 2, column 3. The stag is two up and three left of it, with one hunter of four on it."""
    state = board([19, 0, 26, 5], [0], [60, -1, 21, 63], present=[True, True, False, True])
    features_F = np.asarray(SEE(GAME, state).features_SF)[0]
    assert features_F[:3].tolist() == [2 / 8, 3 / 8, 0.0]
    assert features_F[3:12].reshape(3, 3).tolist() == [[-2 / 8, -3 / 8, 1], [0, 0, 0], [-2 / 8, 2 / 8, 1]]
    assert features_F[12:16].tolist() == [-2 / 8, -3 / 8, 1.0, 1 / 4]
    assert features_F[20:28].reshape(2, 4).tolist() == [[0, 0, 0, 0], [0, 2 / 8, 1, 0]]


@pytest.mark.parametrize(
    "options",
    [{"size": 4, "hunters": 8, "stags": 2, "walls": 2}, {"hunters": 2, "walls": 0, "view": "planes"}],
)
def test_options_of_the_stag_hunt_keep_the_contract(options: dict) -> None:
    check_game(stag_hunt(**options), worlds=4, games=1, eager=False)


def test_rules_can_change_without_a_new_game() -> None:
    game = GAME.with_rules(stag=12.0, needed=3)
    assert act(game, board([0] * 4), STAG, STAG, STAY, STAY)[1].reward_S.tolist() == [0.0] * 4
    assert act(game, board([0] * 4), STAG, STAG, STAG, STAY)[1].reward_S.tolist() == [4.0, 4.0, 4.0, 0.0]


def test_a_scene_shows_who_is_there_and_who_has_left() -> None:
    state = jax.tree.map(np.asarray, board([0, 9, 9, 63], [27], [60, -1, 62, 63], [12, -1, -1, -1, -1]))
    scene = GAME.scene(state._replace(present_S=np.array([True, True, False, True])))
    names = [body.name for body in scene.bodies]
    assert names == ["stag_0", "hare_0", "hare_2", "hare_3", *(f"hunter_{s}" for s in range(4))]
    assert [body.gone for body in scene.bodies[-4:]] == [False, False, True, False]
    assert scene.bodies[0].at == (3.0, 4.0)
    assert scene.walls == (Wall((3.5, 5.5), (4.5, 6.5)),)


def test_who_caught_what_is_counted_to_the_end() -> None:
    """Two on the stag, one on a hare: counted when they strike, and still when the last has done nothing for a step."""
    state, step = act(GAME, board([0, 0, 60, 30]), STAG, STAG, HARE, STAY)
    assert step.count_SJ.tolist() == [[1, 0], [1, 0], [0, 1], [0, 0]]
    assert act(GAME, state, STAY, STAY, STAY, STAY)[1].count_SJ.tolist() == step.count_SJ.tolist()


def test_a_critic_sees_that_a_hunter_has_left() -> None:
    here, left = (
        SEE(GAME, board([0, 11, 60, 28], present=p)).features_SF[0] for p in (None, [False, True, True, True])
    )
    assert here[:2].tolist() == [0.0, 0.0] and left[:2].tolist() == [0.0, -1 / 8]


def test_potentials_are_the_nearness_of_animals_and_nothing_for_who_has_left() -> None:
    """The stag on 0, hares on 60 to 63 of 8x8 cells, so 14 moves are the most. Hunter 0 on the stag, 7 and 4 moves from
    hare 60; hunter 1 on 11, 1 + 3 from the stag and 6 + 1 from 60; hunter 2 on 63 in the far corner; 3 has left."""
    state = board([0, 11, 63, 28], present=[True, True, True, False])
    expected = [[1.0, 1 - 11 / 14], [1 - 4 / 14, 1 - 7 / 14], [0.0, 1.0], [0.0, 0.0]]
    np.testing.assert_allclose(GAME.potential(state), expected, atol=1e-6)
    gone = board([0, 11, 63, 28], stags=[-1])
    np.testing.assert_array_equal(GAME.potential(gone)[:, 0], np.zeros(4))
