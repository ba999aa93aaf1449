import pytest

from sparring.ratings.elo import after, expected


def test_four_hundred_points_are_ten_to_one():
    assert expected(1900.0, 1500.0) == pytest.approx(10 / 11)
    assert expected(1500.0, 1900.0) == pytest.approx(1 / 11)
    assert expected(7.0, 7.0) == 0.5


def test_what_one_player_gains_the_other_loses():
    assert after(100.0, 100.0, 1.0) == 108.0
    assert after(100.0, 100.0, 0.5) == 100.0
    assert after(400.0, 0.0, 0.0, k=11.0) == pytest.approx(390.0)
    assert after(0.0, 400.0, 1.0, k=11.0) == pytest.approx(10.0)


def test_a_reward_is_no_score():
    with pytest.raises(ValueError, match="not a reward"):
        after(0.0, 0.0, 3.0)
