"""The opponent manager on arrays: nothing here needs PyTorch."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bridges.making import filled, guide_blocks, manager, policy
from sparring.bridges import opponent_files
from sparring.core.errors import ConfigError, RunError

PAST_ALONE = {"current": 0, "shadow": 0, "history": 1}


def drawn(one, count=30, step=None):
    return [one.draw_of(one.sample_opponent(policy(), step)).player.name for _ in range(count)]


def test_it_runs_where_there_is_no_jax_and_no_torch(tmp_path):
    script = """
import sys
for module in ("jax", "jaxlib", "equinox", "optax", "torch"):
    sys.modules[module] = None
import numpy as np
from sparring.bridges.torch_loop import OpponentManager
from sparring.bridges.population import Population
manager = OpponentManager(sampler="nash", max_history=3)
for step in range(40):
    policy = {"w": np.full(3, float(step))}
    manager.step(policy, 1_000 * step)
    opponent = manager.sample_opponent(policy, 1_000 * step)
    manager.report(opponent, won=1)
manager.save()
again = OpponentManager(sampler="nash", max_history=3)
assert again.load_pool() == 2 and again.load_shadow()
Population(4, {"learning_rate": 1e-3}).round()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opponent_data" / "opponents" / "opponent_0.safetensors").is_file()


def test_results_move_rates_and_ratings_and_a_game_against_oneself_none():
    one = filled(1, 2)
    now = policy(5)
    one.report("past-1", won=3, drawn=1)
    one.report("past-2", lost=2)
    found = {member.player.name: member for member in one.members()}
    assert (found["past-1"].games, found["past-2"].games, found["policy.shadow"].games) == (4, 2, 0)
    assert found["past-1"].interval.mean == 3.5 / 4 and found["past-2"].rate == 0.0
    assert found["past-2"].rating > 0 > found["past-1"].rating
    rating = one.rating
    one.sample_opponent(now)
    one.report(now, won=50)
    assert one.rating == rating


def test_a_rating_moves_by_what_elo_says():
    one = filled(1)
    one.report("past-1", won=1)
    assert one.rating == pytest.approx(8.0), "16 x (1 - 1/2)"


@pytest.mark.parametrize(("sampler", "expected"), [("pfsp_hard", "past-1"), ("latest", "past-3")])
def test_samplers_by_results_draw_those_who_win(sampler, expected):
    one = filled(1, 2, 3, sampler=sampler, **PAST_ALONE)
    one.report("past-1", lost=5)
    for name in ("past-2", "past-3"):
        one.report(name, won=5)
    assert set(drawn(one)) == {expected}


def test_results_are_known_at_the_next_draw():
    one = filled(1, 2, sampler="pfsp_linear", **PAST_ALONE)
    assert set(drawn(one)) == {"past-1", "past-2"}
    one.report("past-1", won=1)
    assert set(drawn(one)) == {"past-2"}


def test_results_of_several_opponents_may_come_in_any_order():
    one = filled(1, 2, 3, **PAST_ALONE)
    met = one.sample_opponents(12, policy(4))
    names = [one.draw_of(opponent).player.name for opponent in met]
    for opponent in reversed(met):
        one.report(opponent, won=1)
    assert {m.player.name: m.games for m in one.members() if m.games} == Counter(names)


def test_opponents_drawn_at_once_keep_the_shares():
    one = filled(1, 2, current="0.5", shadow="0.3", history="0.2")
    for _ in range(5):
        kinds = Counter(one.draw_of(opponent).player.kind for opponent in one.sample_opponents(10, policy(3)))
        assert kinds == {"learner": 5, "shadow": 3, "past": 2}
    with pytest.raises(ConfigError, match="at least 1, found 0"):
        one.sample_opponents(0)


def test_games_of_one_that_has_left_the_pool_are_passed_over():
    one = filled(1, max_pool_size=1, **PAST_ALONE)
    opponent = one.sample_opponent()
    one.add_to_pool(policy(2), 2)
    assert one.pool == [(2, "past-2")]
    one.report(opponent, won=5)
    assert [member.games for member in one.members()] == [0, 0] and one.rating == 0
    assert opponent["w"].tolist() == [1, 1], "who plays it goes on playing it"


def test_draws_follow_the_seed_and_a_saved_manager_draws_on_as_the_first_would(tmp_path):
    words = {"sampler": "pfsp_var", "history": "0.2 -> 0.8", "total_steps": 100, "seed": 5}
    one, twin, other = (filled(*range(6), **{**words, "seed": seed}) for seed in (5, 5, 6))
    assert drawn(one) == drawn(twin) != drawn(other)
    one.report("past-3", won=2, lost=1)
    one.save(tmp_path)
    again = manager(**words)
    again.load(tmp_path)
    assert again.members() == one.members() and again.rating == one.rating
    for step in range(10, 100, 10):
        assert drawn(one, 3, step) == drawn(again, 3, step)
        for each in (one, again):
            each.step(policy(step), step)
            each.report("policy.shadow", drawn=1)
    assert one.get_opponents()["shadow"]["w"].tolist() == again.get_opponents()["shadow"]["w"].tolist()


def test_shadow_and_pool_are_there_again_after_each_verb_that_writes(tmp_path):
    one = manager(tmp_path)
    assert one.load_pool() == 0 and not one.load_shadow()
    one.update_shadow(policy(4.0))
    one.add_to_pool(policy(7.0), 3)
    again = manager(tmp_path)
    assert again.load_pool() == 1 and again.load_shadow()
    found = again.get_opponents(policy=policy())
    assert found["pool"]["w"].tolist() == [7, 7] and found["shadow"]["w"].tolist() == [4, 4]


def test_files_of_those_who_left_are_removed_and_no_others(tmp_path):
    filled(*range(1, 6), save_dir=tmp_path, max_history=2, eviction="oldest")
    (tmp_path / "opponents" / "notes.txt").write_text("mine")
    again = manager(tmp_path, max_history=2, eviction="oldest")
    again.load_pool()
    again.add_to_pool(policy(9), 9)
    names = sorted(path.name for path in (tmp_path / "opponents").iterdir())
    assert names == ["notes.txt", "opponent_5.safetensors", "opponent_9.safetensors"]


def test_a_crash_between_weights_and_state_leaves_the_pool_before_it(tmp_path, monkeypatch):
    one = filled(1, 2, save_dir=tmp_path, max_history=2, eviction="oldest")
    monkeypatch.setattr(opponent_files, "write_state", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        one.add_to_pool(policy(3), 3)
    again = manager(tmp_path, max_history=2)
    assert again.load_pool() == 2 and again.pool == [(1, "past-1"), (2, "past-2")]


def test_a_folder_that_somebody_emptied_is_filled_again(tmp_path):
    one = filled(1, 2, save_dir=tmp_path)
    (tmp_path / "opponents" / "opponent_1.safetensors").unlink()
    one.save()
    assert manager(tmp_path).load_pool() == 2


def test_the_pool_of_an_earlier_run_is_not_written_over(tmp_path):
    filled(1, save_dir=tmp_path)
    with pytest.raises(RunError, match=r"opponents of an earlier run.*load_pool"):
        manager(tmp_path).sample_opponent(policy(), 1)


def test_a_damaged_file_is_refused(tmp_path):
    filled(1, save_dir=tmp_path)
    file, state = tmp_path / "opponents" / "opponent_1.safetensors", tmp_path / "league.json"
    for path in (file, tmp_path / "shadow.safetensors"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    with pytest.raises(RunError, match=r"opponent_1.safetensors is damaged"):
        manager(tmp_path).load_pool()
    with pytest.raises(RunError, match=r"shadow.safetensors is damaged"):
        manager(tmp_path).load_shadow()
    file.unlink()
    with pytest.raises(RunError, match=r"Cannot read the weights in .*opponent_1"):
        manager(tmp_path).load_pool()
    state.write_text(state.read_text().replace('"step": 1', '"step": 2'))
    with pytest.raises(RunError, match=r"league.json is damaged"):
        manager(tmp_path).load_pool()
    state.write_text(json.dumps([1]))
    with pytest.raises(RunError, match=r"league.json cannot be read"):
        manager(tmp_path).load_pool()


def test_a_state_of_other_settings_is_refused(tmp_path):
    filled(1, 2, 3, save_dir=tmp_path)
    with pytest.raises(RunError, match="another use_shadow"):
        manager(tmp_path, use_shadow=False).load_pool()
    with pytest.raises(RunError, match="has no row for past-3"):
        manager(tmp_path, max_history=2).load_pool()


def test_the_shadow_of_short_floats_moves():
    one = manager(shadow_tau=0.001)
    for value in (1.0, 1.5, 1.5):
        one.update_shadow({"w": np.full(1, value, np.float16)})
    assert one.get_opponents()["shadow"]["w"][0] == pytest.approx(1.5 - 0.5 * 0.999**2, abs=1e-7)


def test_a_shadow_follows_by_its_rate_and_stays_where_both_are_infinite():
    one = manager(shadow_tau=0.5)
    for value in (0.0, 1.0, 1.0):
        one.update_shadow({"w": np.array([value, -np.inf])})
    assert one.get_opponents()["shadow"]["w"].tolist() == [0.75, -np.inf]
    one.update_shadow({"w": np.array([0.75, -np.inf])}, tau=1.0)
    assert one.get_opponents()["shadow"]["w"].tolist() == [0.75, -np.inf]


def test_a_policy_that_diverged_changes_nothing():
    one = filled(1)
    for verb in (lambda bad: one.add_to_pool(bad, 2), one.update_shadow, one.step):
        with pytest.raises(ConfigError, match=r"NaN in 'w'.*diverged"):
            verb(policy(np.nan))
    assert one.pool == [(1, "past-1")] and one.get_opponents()["shadow"]["w"].tolist() == [1, 1]


def test_bots_are_handed_out_as_they_are_and_lead_a_beginner_upwards():
    easy, hard = object(), object()
    one = manager(bots={"easy": easy, "hard": hard}, curriculum=True, level_games=5, weaken_levels=0)
    now = policy()
    assert {id(one.sample_opponent(now, 0)) for _ in range(10)} <= {id(easy), id(now)}
    for _ in range(30):
        one.report(easy, won=1)
    met = {id(one.sample_opponent(now, 0)) for _ in range(30)}
    assert id(hard) in met, "the next level"


def test_of_each_kind_there_is_one():
    """Whatever the shares, and whoever leads a beginner upwards."""
    for words in ({}, {"bots": {"easy": object()}, "curriculum": True}, {"history": 0.0}):
        one, now = filled(1, 2, 3, **words), policy(9)
        for _ in range(8):
            found = one.get_opponents(policy=now)
            kinds = {name: one.draw_of(opponent).player.kind for name, opponent in found.items()}
            assert kinds == {"current": "learner", "shadow": "shadow", "pool": "past"}
    assert one.get_opponents(use_shadow=False, use_pool=False) == {"current": now, "shadow": None, "pool": None}


def test_behind_a_gate_a_step_copies_only_who_beat_the_newest():
    one = manager(gate="rate", gate_games=10)
    for step in (0, 500_000):
        one.step(policy(step), step)
    assert one.pool == [(0, "past-0")]
    one.report("past-0", won=4, lost=6)
    one.step(policy(), 600_000)
    assert one.pool == [(0, "past-0")]
    one.report("past-0", won=9, lost=1)
    one.step(policy(), 700_000)
    assert [step for step, _ in one.pool] == [0, 700_000]


def test_weights_of_jax_are_arrays_too():
    jnp = pytest.importorskip("jax.numpy")
    one = manager(shadow_tau=0.5)
    for value in (0.0, 1.0):
        one.update_shadow({"w": jnp.full(2, value, jnp.bfloat16), "count": jnp.array(3)})
    shadow = one.get_opponents()["shadow"]
    assert shadow["w"].tolist() == [0.5, 0.5] and shadow["count"] == 3


@pytest.mark.parametrize(
    ("named", "shares"),
    [
        ({}, (1 / 3, 1 / 3, 1 / 3)),
        ({"history": 0.5}, (0.25, 0.25, 0.5)),
        ({"history": "0.5 -> 0.3"}, (0.25, 0.25, 0.5)),
        ({"history": 0.8, "shadow": 0.1}, (0.1, 0.1, 0.8)),
        ({"history": 1.0}, (0.0, 0.0, 1.0)),
        ({"shadow": 0}, (0.5, 0.0, 0.5)),
    ],
)
def test_a_share_that_is_named_is_a_share_of_all_games_and_the_others_have_the_rest(named, shares):
    told = filled(1, 2, **named).shares()
    assert tuple(told[name] for name in ("current", "shadow", "history")) == pytest.approx(shares, abs=2e-3)


def test_shares_can_be_set_by_hand():
    one = filled(1)
    one.set_shares(history=0.9)
    assert one.shares() == pytest.approx({"current": 0.05, "shadow": 0.05, "history": 0.9, "bots": 0})


def test_one_level_of_weakness_comes_with_the_draw():
    one = filled(1, history_epsilon=0.25, **PAST_ALONE)
    assert one.draw_of(one.sample_opponent()).epsilon == 0.25


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"max_pool_size": 5, "max_history": 5}, "are one thing, found both"),
        ({"max_history": 0}, "at least 1, found 1000000 and 0"),
        ({"shadow_tau": 0.0}, "above 0 and at most 1, found 0.0"),
        ({"sampler": "pfsp"}, "sampler must be one of .* found the text .pfsp."),
        ({"samplr": "pfsp_hard"}, "Did you mean 'sampler'"),
        ({"history": "half"}, "Cannot read the schedule 'half'"),
        ({"use_shadow": False, "shadow": 0.5}, "use_shadow=False"),
        ({"initial_history_weight": 0.5, "history": 0.5}, "say the same twice"),
        ({"bots": {}, "curriculum": True, "weaken_levels": 0}, "needs levels"),
        ({"current": 0, "use_shadow": False, "use_pool": False}, "all 0 at the start"),
    ],
)
def test_wrong_words_are_refused_with_what_to_do(words, message):
    with pytest.raises(ConfigError, match=message):
        manager(**words)


def test_wrong_uses_are_refused_with_what_to_do():
    one = filled(1)
    for wrong, message in (
        (lambda: one.add_to_pool(policy(), 1), "already has a version of step 1"),
        (lambda: one.add_to_pool({"w": np.zeros(3), "count": np.array(1)}, 2), r"shape \(2,\) for 'w', found shape"),
        (lambda: one.add_to_pool({"w": np.zeros(2)}, 2), "for 'count', found nothing"),
        (lambda: one.update_shadow({"w": "text"}), "arrays of floats"),
        (lambda: one.update_shadow(3), "state_dict.. or be a mapping"),
        (lambda: one.report(policy(), won=1), "Pass what sample_opponent returned"),
        (lambda: one.report("past-7", won=1), "Unknown opponent 'past-7'"),
        (lambda: one.report("past-1", won=-1), "whole numbers from 0"),
        (lambda: one.report("past-1", won=0.5), "whole numbers from 0"),
        (lambda: one.sample_opponent(policy(), -1), "step must be"),
        (lambda: manager().sample_opponent(), "nobody to meet"),
        (lambda: manager().get_opponents(), "Pass policy="),
        (lambda: manager().save(), "save_dir=None"),
        (lambda: manager(use_shadow=False).update_shadow(policy()), "use_shadow=False"),
        (lambda: one.load(Path("no/such/folder")), "No opponents in no/such/folder"),
    ):
        with pytest.raises((ConfigError, RunError), match=message):
            wrong()
    assert one.pool == [(1, "past-1")]


def test_what_the_guide_shows_without_torch_runs():
    blocks = [block for block in guide_blocks() if "import torch" not in block]
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "your-loop.md", "exec"), {})
