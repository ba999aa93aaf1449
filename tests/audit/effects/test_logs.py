"""Two logs of anybody's are told apart, or not; effects are weighed over pairs."""

import subprocess
import sys

import numpy as np
import pytest

from sparring.audit.effects.logs import audit_logs, read_log
from sparring.audit.effects.worth import judged
from sparring.core.errors import ConfigError
from sparring.statistics.paired import detectable, paired
from sparring.store.event_file import EventFile, read_values


def csv(path, rewards, loss=0.5):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        f"{step * 100},{reward},{loss},{step + path.stat().st_ino if path.exists() else step}"
        for step, reward in enumerate(rewards)
    ]
    path.write_text("\n".join(["global_step,reward,loss,wall_time", *rows]))
    return path


def test_equal_logs_are_dead_and_their_clocks_do_not_count(tmp_path):
    one, two = csv(tmp_path / "a.csv", [1, 2, 3]), csv(tmp_path / "b.csv", [1, 2, 3])
    two.write_text(two.read_text().replace(",2\n", ",99\n"))
    audit = audit_logs(one, two)
    assert (audit.verdict, audit.code) == ("DEAD (observed)", 4) and "All 6 values" in audit.summary


def test_logs_that_part_later_are_connected_and_from_the_start_undecided(tmp_path):
    one = csv(tmp_path / "a.csv", [1, 2, 3])
    later = audit_logs(one, csv(tmp_path / "b.csv", [1, 2, 4]))
    assert later.verdict == "CONNECTED" and "step 200 (reward)" in later.summary
    assert audit_logs(one, csv(tmp_path / "c.csv", [0, 2, 3])).verdict == "UNDECIDED"


def test_a_third_log_tells_random_numbers_from_an_effect(tmp_path):
    off, on = csv(tmp_path / "off.csv", [1, 2]), csv(tmp_path / "on.csv", [3, 4])
    assert audit_logs(off, on, muted=on).verdict == "RNG-ONLY"
    assert audit_logs(off, on, muted=off).verdict == "CONNECTED"


def test_folders_of_seeds_are_weighed_pair_by_pair(tmp_path):
    for seed in range(8):
        csv(tmp_path / "off" / str(seed) / "log.csv", [seed, seed, seed, seed, seed])
        csv(tmp_path / "on" / str(seed) / "log.csv", [seed, seed, seed, seed, seed + 1 + 0.01 * seed])
        csv(tmp_path / "same" / str(seed) / "log.csv", [seed, seed, seed, seed, seed + 0.5 * (-1) ** seed])
    found = audit_logs(tmp_path / "off", tmp_path / "on")
    assert found.verdict == "EFFECT" and "+1.04" in found.summary
    assert audit_logs(tmp_path / "off", tmp_path / "same").verdict == "CONNECTED-NO-EFFECT"


def test_logs_without_a_common_name_and_missing_ones_are_refused(tmp_path):
    one = csv(tmp_path / "a.csv", [1])
    (tmp_path / "b.csv").write_text("step,other\n0,1\n")
    with pytest.raises(ConfigError, match="no step and name in common"):
        audit_logs(one, tmp_path / "b.csv")
    with pytest.raises(ConfigError, match="no log at"):
        audit_logs(one, tmp_path / "gone.csv")


def test_what_tensorboard_files_hold_is_read_back(tmp_path):
    file = EventFile(tmp_path, 0)
    file.add({"loss": 0.5, "return": -2.0}, 3)
    assert list(read_values(file.path)) == [("loss", 3, 0.5), ("return", 3, -2.0)]
    with file.path.open("ab") as cut:
        cut.write(b"\x20\x00\x00")  # killed while writing
    assert read_log(tmp_path) == {"loss": {3: 0.5}, "return": {3: -2.0}}


def test_judging_logs_loads_no_jax():
    script = "import sys, sparring.audit.effects.logs, sparring.audit.effects.watched; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_pairs_by_hand():
    # All three differences have one sign: of the 8 ways to exchange within pairs, two are as far from 0.
    found = paired([0, 0, 0], [1, 2, 3])
    assert found.p_value == 2 / 8 and found.difference.mean == 2.0
    # Student's quantiles with 2 degrees of freedom: 4.303 and 1.061; the deviation is 1.
    assert found.detectable == pytest.approx((4.3027 + 1.0607) / np.sqrt(3), rel=1e-3)


def test_who_looks_at_two_figures_sees_less_by_hand():
    # Half of 5 % for each of two: Student's quantile at 0.9875 is 6.205.
    assert detectable(np.array([1.0, 2.0, 3.0]), looks=2) == pytest.approx((6.2053 + 1.0607) / np.sqrt(3), rel=1e-3)
    same, moved = (dict(enumerate((x, x) for x in row)) for row in ([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]))
    found = judged("points", {"baseline": same, "treatment": moved}, draw=False)
    assert found.detectable == detectable(np.array([1.0, 2.0, 3.0]), looks=2)
