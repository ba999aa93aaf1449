import numpy as np
import pytest
from scipy.special import chdtrc

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig
from sparring.league.gates import NO_GATE
from sparring.league.mixture import NO_BRANCH, mixture, set_by_hand, systematic
from sparring.league.mixture import branches_of_blocks as branches_of_all
from sparring.league.mixture import shares as shares_of

CURRENT, SHADOWS, HISTORY, BOTS = range(4)
"""The branches of a mixture."""


def config(**settings) -> OpponentsConfig:
    named = {name: Schedule.parse(value) if name in ("current", "shadow", "history", "bots") else value
             for name, value in settings.items()}  # fmt: skip
    return OpponentsConfig(**named)


def branches(settings: OpponentsConfig):
    return mixture(settings, every=1, gate=NO_GATE).branches


def shares(settings: OpponentsConfig, progress: float, **more) -> np.ndarray:
    return shares_of(branches(settings), progress, **more)


def by_hand(share_K, wanted) -> dict[str, float]:
    return set_by_hand(branches(OpponentsConfig()), np.array(share_K), wanted)


def all_blocks(count, able=True):
    return np.full(count, able)


def branches_of_blocks(share_K, mirror_B, face_B, generator, open_B=None) -> np.ndarray:
    """Of the blocks of one learner, whose first branch is the current self."""
    open_B = all_blocks(len(face_B)) if open_B is None else open_B
    return branches_of_all(share_K[None], np.array([CURRENT]), mirror_B, face_B, open_B[None], generator)[0]


def test_shares_are_scaled_to_sum_one_and_follow_their_schedules():
    mix = config(current=2, shadow="0 -> 2", history="2 -> 0")
    np.testing.assert_allclose(shares(mix, 0.0, bots=0), [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(shares(mix, 0.5, bots=0), [0.5, 0.25, 0.25, 0])
    np.testing.assert_allclose(shares(mix, 1.0, bots=0), [0.5, 0.5, 0, 0])


def test_a_floor_raises_what_is_below_it_and_leaves_alone_what_is_above():
    mix = config(current=0.5, shadow=0.3, history="0.2 -> 0", history_floor=0.1)
    np.testing.assert_allclose(shares(mix, 0.0, bots=0), [0.5, 0.3, 0.2, 0])
    np.testing.assert_allclose(shares(mix, 1.0, bots=0), [0.9 * 5 / 8, 0.9 * 3 / 8, 0.1, 0])


def test_the_floor_of_bots_is_for_each_of_them():
    np.testing.assert_allclose(shares(config(current=1, bot_floor=0.02), 0.0, bots=5), [0.9, 0, 0, 0.1])


def test_raising_one_floor_may_push_another_below_its_own():
    mix = config(current=0.5, history=0.1, bots=0.4, history_floor=0.5, bot_floor=0.3)
    np.testing.assert_allclose(shares(mix, 0.0, bots=1), [0.2, 0, 0.5, 0.3])


def test_shares_by_hand_are_met_and_the_others_keep_their_proportions():
    found = by_hand([0.5, 0.1, 0.3, 0.1], {"current": 0.2})
    assert found == pytest.approx({"current": 0.2, "shadow": 0.16, "history": 0.48, "bots": 0.16})
    np.testing.assert_allclose(shares(config(), 0.3, bots=1, by_hand=found), [0.2, 0.16, 0.48, 0.16])
    assert by_hand([1.0, 0, 0, 0], {"current": 0.3, "history": 0.7})["history"] == 0.7


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"current": 0.7, "bots": 0.7}, "found 1.4"),
        ({"current": 0.3}, "nobody else has a share"),
    ],
)
def test_shares_by_hand_that_cannot_be_met_are_refused(wanted, says):
    with pytest.raises(ConfigError, match=says):
        by_hand([1.0, 0.0, 0.0, 0.0], wanted)


@pytest.mark.parametrize("blocks", [1, 3, 8, 64])
def test_realised_shares_match_the_configured_ones_for_any_number_of_blocks(blocks):
    share_K, generator = np.array([0.35, 0.2, 0.4, 0.05]), np.random.default_rng(blocks)
    counts_K, draws = np.zeros(4), 2000
    for _ in range(draws):
        branch_B = branches_of_blocks(share_K, all_blocks(blocks), all_blocks(blocks), generator)
        counts_K += np.bincount(branch_B, minlength=4)
    expected_K = share_K * draws * blocks
    statistic = ((counts_K - expected_K) ** 2 / expected_K).sum()
    assert chdtrc(3, statistic) > 0.001  # for one block the draws are independent; for more they vary less


def test_every_single_block_has_its_exact_chance_of_each_kind():
    share_K, generator = np.array([0.35, 0.2, 0.4, 0.05]), np.random.default_rng(0)
    counts_KB = np.zeros((4, 5))
    for _ in range(4000):
        counts_KB[branches_of_blocks(share_K, all_blocks(5), all_blocks(5), generator), np.arange(5)] += 1
    np.testing.assert_allclose(counts_KB / 4000, np.tile(share_K[:, None], 5), atol=0.03)


def test_one_draw_over_many_blocks_is_within_one_of_its_shares():
    share_K, generator = np.array([0.33, 0.21, 0.41, 0.05]), np.random.default_rng(1)
    for _ in range(50):
        counts_K = np.bincount(branches_of_blocks(share_K, all_blocks(37), all_blocks(37), generator), minlength=4)
        assert (np.abs(counts_K - 37 * share_K) < 1).all()


def test_a_kind_without_a_share_never_occurs():
    generator = np.random.default_rng(2)
    found = {
        int(branch)
        for _ in range(200)
        for branch in systematic(np.array([[0.0, 0.3, 0.0, 0.7]]), np.zeros(3, int), generator)
    }
    assert found == {1, 3}


def test_blocks_that_can_do_both_make_up_for_those_that_can_only_mirror():
    """Two of eight can only mirror; a current share of one half asks for two more among the six others."""
    can_face_B = np.array([False] * 2 + [True] * 6)
    generator, current = np.random.default_rng(0), 0
    for _ in range(500):
        branch_B = branches_of_blocks(np.array([0.5, 0.0, 0.5, 0.0]), all_blocks(8), can_face_B, generator)
        assert (branch_B[:2] == CURRENT).all()
        assert (branch_B[2:] == CURRENT).sum() == 2
        current += (branch_B == CURRENT).sum()
    assert current == 500 * 4


def test_blocks_that_cannot_mirror_never_meet_the_current_self():
    can_mirror_B = np.array([True, False, False, True])
    branch_B = branches_of_blocks(np.array([0.9, 0.0, 0.1, 0.0]), can_mirror_B, all_blocks(4), np.random.default_rng(0))
    assert branch_B.tolist() == [CURRENT, HISTORY, HISTORY, CURRENT]
    alone = branches_of_blocks(np.array([1.0, 0, 0, 0]), can_mirror_B, all_blocks(4), np.random.default_rng(0))
    assert alone.tolist() == [CURRENT, NO_BRANCH, NO_BRANCH, CURRENT], "nobody else is asked for"


def test_mirror_blocks_beyond_the_share_of_the_current_self_stay_mirror_blocks():
    can_face_B = np.array([False, False, False, True])
    branch_B = branches_of_blocks(np.array([0.1, 0.0, 0.0, 0.9]), all_blocks(4), can_face_B, np.random.default_rng(0))
    assert branch_B.tolist() == [CURRENT, CURRENT, CURRENT, BOTS]


def test_only_open_blocks_are_drawn():
    open_B = np.array([True, False, True])
    branch_B = branches_of_blocks(
        np.array([0, 0, 1.0, 0]), all_blocks(3), all_blocks(3), np.random.default_rng(0), open_B=open_B
    )
    assert branch_B.tolist() == [HISTORY, -1, HISTORY]


def test_each_of_several_learners_has_the_shares_of_its_own_role_whoever_else_draws():
    """Within one of 9 blocks times the share; the second learner has no current self, the third nothing to draw."""
    share_LK, generator = np.array([[0.5, 0.2, 0.3], [0.0, 0.9, 0.1], [1.0, 0.0, 0.0]]), np.random.default_rng(3)
    open_LB = np.tile(all_blocks(9), (3, 1))
    open_LB[0, 0] = False
    total_LK = np.zeros((3, 3))
    for _ in range(500):
        branch_LB = branches_of_all(
            share_LK, np.array([0, NO_BRANCH, 0]), all_blocks(9, able=False), all_blocks(9), open_LB, generator
        )
        counts_LK = np.array([np.bincount(branch_B[branch_B >= 0], minlength=3) for branch_B in branch_LB])
        assert branch_LB[0, 0] == NO_BRANCH and (branch_LB[2] == NO_BRANCH).all()
        assert (np.abs(counts_LK[0] - [0, 8 * 0.4, 8 * 0.6]) < 1).all()
        assert (np.abs(counts_LK[1] - [0, 9 * 0.9, 9 * 0.1]) < 1).all()
        total_LK += counts_LK
    np.testing.assert_allclose(total_LK[:2] / 500, [[0, 3.2, 4.8], [0, 8.1, 0.9]], atol=0.08)
