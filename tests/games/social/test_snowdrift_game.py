"""Snowdrifts: each rule with numbers by hand, and the reference values of whole games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meadow import SEE, act, logits, masked_logits, play_script, rows, scripted_game

from sparring.core.errors import ConfigError
from sparring.games.contract import check_game
from sparring.games.social.snowdrift import REMOVE, STAY, SnowdriftState, snowdrift
from toy_players import quick

UP, DOWN, LEFT, RIGHT = range(4)
GAME = snowdrift()


def field(agents: list[int], drifts: list[int], removed: list[int] | None = None, played: int = 0) -> SnowdriftState:
    """On 8x8 cells; drifts are filled up to six with ones that are gone."""
    return SnowdriftState(
        cell_S=jnp.array(agents, jnp.int32),
        drift_E=jnp.array(drifts + [-1] * (6 - len(drifts)), jnp.int32),
        removed_S=jnp.array(removed or [0] * len(agents), jnp.int32),
        played=jnp.asarray(played, jnp.int32),
    )


def test_an_agent_moves_inside_and_removes_only_where_a_drift_is() -> None:
    seen = SEE(GAME, field([0, 63, 20, 56], [20]))
    assert np.asarray(seen.legal_SA).astype(int).tolist() == [
        [0, 1, 0, 1, 1, 0],
        [1, 0, 1, 0, 1, 0],
        [1, 1, 1, 1, 1, 1],
        [1, 0, 0, 1, 1, 0],
    ]


@pytest.mark.parametrize(("removers", "each"), [(1, 4.0), (2, 2.0), (3, 4 / 3), (4, 1.0)])
def test_everybody_gains_six_and_those_who_remove_share_the_cost(removers: int, each: float) -> None:
    choices = [REMOVE] * removers + [STAY] * (4 - removers)
    after, step = act(GAME, field([20] * 4, [20, 30]), *choices)
    np.testing.assert_allclose(step.reward_S, [6 - each] * removers + [6.0] * (4 - removers), rtol=1e-6)
    assert after.drift_E.tolist()[:2] == [-1, 30]
    assert after.removed_S.tolist() == [1] * removers + [0] * (4 - removers)
    assert not step.over and not step.left_S.any()


def test_two_drifts_in_one_step_are_two_gains() -> None:
    _, step = act(GAME, field([20, 30, 30, 5], [20, 30, 40]), REMOVE, REMOVE, REMOVE, DOWN)
    assert step.reward_S.tolist() == [8.0, 10.0, 10.0, 12.0]


def test_removing_where_nothing_is_does_nothing() -> None:
    after, step = act(GAME, field([1, 2, 3, 7], [20]), REMOVE, LEFT, DOWN, RIGHT)
    assert step.reward_S.tolist() == [0.0] * 4 and after.cell_S.tolist() == [1, 1, 11, 7]


def test_a_game_is_over_after_fifty_steps_or_with_the_last_drift() -> None:
    assert not act(GAME, field([0] * 4, [20], played=48), *[STAY] * 4)[1].over
    step = act(GAME, field([0] * 4, [20], played=49), *[STAY] * 4)[1]
    assert step.over and not step.cut
    assert act(GAME, field([20] * 4, [20]), REMOVE, STAY, STAY, STAY)[1].over


@pytest.mark.parametrize(
    ("bots", "expected"),
    [
        (["cleaner", "free_rider", "free_rider", "free_rider"], [12.0, 36.0, 36.0, 36.0]),
        (["cleaner", "stay", "stay", "stay"], [12.0, 36.0, 36.0, 36.0]),
        (["stay"] * 4, [0.0] * 4),
        (["prosocial", "stay", "stay", "stay"], [4.0, 12.0, 12.0, 12.0]),  # two drifts are its share, rounded up
    ],
)
def test_reference_values_of_scripted_play(bots: list[str], expected: list[float]) -> None:
    state = field([0, 40, 50, 60], [1, 2, 3, 11, 12, 13])
    total_S, *_ = scripted_game(GAME, rows(GAME, bots), state, jax.random.key(0))
    assert total_S.tolist() == expected


@pytest.mark.parametrize("bot", ["cleaner", "prosocial", "herd"])
def test_whoever_clears_all_six_the_sum_is_120_and_the_mean_30(bot: str) -> None:
    keys_W = jax.random.split(jax.random.key(2), 20)
    run = quick(lambda g, r, keys: jax.vmap(lambda key: play_script(g, r, g.start(key), key))(keys))
    total_WS, _, last = run(GAME, rows(GAME, [bot] * 4), keys_W)
    assert (np.asarray(last.drift_E) < 0).all()
    np.testing.assert_allclose(np.asarray(total_WS).sum(axis=1), 120.0, rtol=1e-5)


def choices(name: str, state: SnowdriftState) -> list[set[int]]:
    logits_SA = np.asarray(logits(GAME, rows(GAME, [name] * 4), state))
    return [set(np.flatnonzero(logits_A == logits_A.max()).tolist()) for logits_A in logits_SA]


def test_what_each_bot_does_in_one_position() -> None:
    """Drifts on 9, 27 and 30. Agents: on 27; between 27 and 30's columns, in their row; far from all; beside 30."""
    state = field([27, 28, 63, 22], [9, 27, 30], removed=[0, 1, 2, 0])
    assert choices("cleaner", state) == [{REMOVE}, {LEFT}, {UP, LEFT}, {DOWN}]
    assert choices("herd", state) == [{UP, LEFT}, {UP, LEFT}, {UP, LEFT}, {UP, LEFT}]  # all to drift 9
    assert choices("grab", state) == [{REMOVE}, {LEFT}, {STAY}, {DOWN}]
    assert choices("free_rider", state) == [{UP, DOWN, LEFT, RIGHT}] * 2 + [{UP, LEFT}, {UP, DOWN, LEFT, RIGHT}]
    assert choices("prosocial", state) == [{REMOVE}, {LEFT}, {STAY}, {DOWN}]  # two of six are enough


def test_equally_near_drifts_are_equally_likely() -> None:
    assert choices("cleaner", field([27, 0, 0, 0], [25, 29, 11, 43]))[0] == {UP, DOWN, LEFT, RIGHT}


def test_both_views_tell_bots_the_same() -> None:
    planes = snowdrift(view="planes")
    starts = quick(jax.vmap(GAME.start))(jax.random.split(jax.random.key(3), 40))
    starts = starts._replace(removed_S=starts.removed_S.at[:, 1].set(2), drift_E=starts.drift_E.at[:, 3].set(-1))
    told = quick(lambda g, row_SJ, starts: jax.vmap(lambda s: masked_logits(g, row_SJ, s))(starts))
    for name in GAME.bots().names:
        np.testing.assert_array_equal(*(told(g, rows(g, [name] * 4), starts) for g in (GAME, planes)))


def test_other_sizes_and_views_keep_the_contract() -> None:
    check_game(snowdrift(size=4, agents=3, view="planes"), worlds=4, games=1, eager=False)


def test_games_as_short_as_declared_happen() -> None:
    """Two agents beside two of four drifts each: a move and a removal for each, so four steps."""
    game = snowdrift(agents=2, drifts=4)
    assert game.spec.shortest == 4
    state = SnowdriftState(
        jnp.array([0, 63], jnp.int32), jnp.array([1, 2, 62, 61], jnp.int32), jnp.zeros(2, jnp.int32), jnp.int32(0)
    )
    assert scripted_game(game, rows(game, ["cleaner"] * 2), state, jax.random.key(0))[1].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"agents": 1}, "2 to 8"), ({"drifts": 0}, "1 drift"), ({"size": 4, "drifts": 13}, "4 players and 13 of drifts")],
)
def test_a_snowdrift_without_room_is_refused(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        snowdrift(**options)


def test_a_scene_shows_the_drifts_that_are_left() -> None:
    scene = GAME.scene(jax.tree.map(np.asarray, field([0, 9, 9, 63], [27, 28])))
    assert [body.name for body in scene.bodies] == ["drift_0", "drift_1", *(f"agent_{s}" for s in range(4))]


def test_the_potential_is_the_nearness_of_the_nearest_drift() -> None:
    """8x8, so 14 moves are the most: from 0 to the drift on 9 two, from 63 to it twelve; who stands on one has 1."""
    state = field([0, 63, 9, 8], [9, -1, -1, -1, -1, -1])
    np.testing.assert_allclose(GAME.potential(state)[:, 0], [1 - 2 / 14, 1 - 12 / 14, 1.0, 1 - 1 / 14], atol=1e-6)


def test_who_helped_to_remove_is_counted() -> None:
    _, step = act(GAME, field([9, 9, 0, 0], [9, 20, 21, 22, 23, 24]), REMOVE, REMOVE, STAY, STAY)
    assert step.count_SJ.tolist() == [[1], [1], [0], [0]]
