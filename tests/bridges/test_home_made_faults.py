"""What goes wrong in opponent managers that people write for themselves, each as a sentence that is false of ours."""

from collections import Counter

import numpy as np
import pytest

from bridges.making import filled, manager, policy
from sparring.league.league import League


def test_a_pool_is_loaded_in_the_order_of_steps_not_of_file_names(tmp_path):
    filled(2_000, 10_000, 9_000, save_dir=tmp_path)
    files = sorted(path.name for path in (tmp_path / "opponents").iterdir())
    assert files[0] == "opponent_10000.safetensors"
    again = manager(tmp_path, sampler="latest", current=0, shadow=0, history=1)
    assert again.load_pool() == 3
    assert again.pool == [(2_000, "past-2000"), (9_000, "past-9000"), (10_000, "past-10000")]
    assert again.sample_opponent()["w"].tolist() == [10_000, 10_000]


def test_counters_in_the_shadow_are_counts_not_averages():
    one = manager(shadow_tau=0.25)
    one.update_shadow(policy(0.0, count=100))
    one.update_shadow(policy(8.0, count=103))
    shadow = one.get_opponents()["shadow"]
    assert shadow["w"].tolist() == [2.0, 2.0]
    assert shadow["count"] == 103 and shadow["count"].dtype.kind == "i"


def test_the_current_opponent_is_the_policy_itself():
    now = policy(3.0)
    assert filled(1).get_opponents(policy=now)["current"] is now


def test_training_begins_with_an_empty_pool_and_without_a_shadow():
    now = policy(3.0)
    for words in (
        {},
        {"use_shadow": False},
        {"initial_history_weight": 1.0},
        {"history": 1, "current": 0, "shadow": 0},
    ):
        one = manager(**words)
        for _ in range(20):
            assert one.sample_opponent(now, 0)["w"].tolist() == [3.0, 3.0]
        found = one.get_opponents()
        assert found["pool"] is not None and (found["shadow"] is None) == (words == {"use_shadow": False})


def test_a_step_draws_nobody(monkeypatch):
    draws = []
    monkeypatch.setattr(League, "draw", lambda _, *asked, **more: draws.append((asked, more)))
    one = manager()
    for step in range(3):
        one.step(policy(), step)
    assert draws == []


def test_a_step_after_every_update_leaves_a_pool_that_spans_the_run():
    one = manager(max_pool_size=10, total_steps=10_000)
    for update in range(1_000):
        one.step(policy(update), 10 * update)
    steps = [step for step, _ in one.pool]
    assert len(steps) == 10 and steps[0] == 0 and steps[-1] >= 9_600
    assert min(np.diff(steps)) >= 200, "a fiftieth of the run between two copies"


def test_even_a_copy_of_every_update_spans_the_run_unless_the_oldest_is_to_leave():
    spans = {}
    for eviction in ("log_spaced", "oldest"):
        one = manager(max_pool_size=10, eviction=eviction)
        for _ in range(200):
            one.update_history(policy())
        spans[eviction] = [step for step, _ in one.pool]
    assert spans["oldest"] == list(range(191, 201))
    assert spans["log_spaced"][0] == 1 and spans["log_spaced"][-1] == 200
    assert sum(step <= 190 for step in spans["log_spaced"]) == 5


def test_the_weights_of_the_note_are_the_shares():
    """History fades from 0.5 to 0 in a million steps, the shadow takes over; the weight of the shadow counts too."""
    one = filled(1, initial_history_weight=0.5, shadow_weight=0.5)
    for step, history in ((0, 0.5), (250_000, 0.375), (1_000_000, 0.0), (5_000_000, 0.0)):
        one.sample_opponent(policy(), step)
        assert one.shares() == pytest.approx({"current": 0, "history": history, "shadow": 1 - history, "bots": 0})
    heavy = filled(1, initial_history_weight=1.0, shadow_weight=3.0)
    assert heavy.shares()["shadow"] == pytest.approx(0.75, abs=1e-5)


def test_weights_without_a_shadow_do_not_come_to_nothing_at_the_end():
    one = filled(1, 2, initial_history_weight=0.5, use_shadow=False)
    for _ in range(5):
        assert one.draw_of(one.sample_opponent(policy(), 2_000_000)).player.kind == "past"


def test_three_opponents_are_drawn_alike_and_modules_are_never_turned_into_arrays():
    one = filled(1, 2, 3)
    now = policy(9)
    kinds = Counter(one.draw_of(one.sample_opponent(now, 3)).player.kind for _ in range(600))
    assert all(150 < kinds[kind] < 250 for kind in ("learner", "shadow", "past")), kinds
    assert isinstance(one.sample_opponent(), dict)


def test_no_file_is_a_pickle(tmp_path):
    one = filled(1, 2, save_dir=tmp_path)
    one.update_shadow(policy(3))
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert path.suffix in (".safetensors", ".json")
            assert path.read_bytes()[:2] not in (b"\x80\x04", b"\x80\x05", b"PK")


def test_a_version_in_the_pool_does_not_learn_on():
    now = policy(1.0)
    one = filled()
    one.add_to_pool(now, 1)
    now["w"] += 5
    assert one.get_opponents(use_shadow=False)["pool"]["w"].tolist() == [1.0, 1.0]
    one.get_opponents()["pool"]["w"][:] = 77  # who plays with an opponent changes its own copy
    assert one._weights[one._league.state.pool.players[0]]["w"].tolist() == [1.0, 1.0]
