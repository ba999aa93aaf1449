"""Hooks in a loop in PyTorch see what its modules do, and the audit says what that means."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from effect_loops import LOOPS, Loop, run, watched  # noqa: E402

from sparring.audit.effects.source import scan  # noqa: E402
from sparring.audit.effects.watched import audit_watched, read_watched  # noqa: E402
from sparring.bridges.effect_log import EffectLog, imported_files, own_chance  # noqa: E402
from sparring.core.errors import ConfigError  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch" / "dead_module.py"


@pytest.mark.parametrize("what", LOOPS)
def test_every_fault_of_a_loop_gets_its_verdict(what):
    loop, wanted = LOOPS[what]
    assert audit_watched(*watched(loop)).verdict == wanted


def test_the_reason_names_the_phase_in_which_the_module_is_missing():
    audit = audit_watched(run(Loop(collect=False, update=False)))
    assert audit.summary == "hyper is never called in collect or update, but 4 times in evaluate."


def test_weights_drawn_from_their_own_chance_move_nobody_elses():
    def drawn(*, added: bool) -> float:
        torch.manual_seed(3)
        if added:
            with own_chance(7):
                torch.nn.Linear(4, 4)
        return float(torch.rand(()))

    assert drawn(added=True) == drawn(added=False)


def test_a_log_is_read_back_as_it_was_saved_and_other_files_are_refused(tmp_path):
    layer = torch.nn.Linear(2, 1)
    log = EffectLog({"layer": layer}, [torch.optim.SGD(layer.parameters(), 0.1)])
    layer(torch.ones(1, 2)).sum().backward()
    log.optimisers[0].step()
    log.save(tmp_path / "log.json")
    found = read_watched(tmp_path / "log.json")
    assert found["modules"]["layer"]["gradient"] == ["bias", "weight"]
    assert found["modules"]["layer"]["calls"] == {"outside of any phase": 1}
    # A step of 0.1 against a gradient of ones, each of length sqrt(2).
    before = (layer.weight.detach() + 0.1).norm().item()
    assert found["modules"]["layer"]["moved"]["weight"] == pytest.approx(0.1 * 2**0.5 / before, rel=1e-5)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ConfigError, match="is no effect log"):
        read_watched(tmp_path / "other.json")


def test_a_module_that_is_imported_from_elsewhere_is_told_with_the_copy_at_hand(tmp_path):
    (tmp_path / "json.py").write_text("# the project's own, which nobody imports")
    assert imported_files(tmp_path)["json"]["other"] == "json.py"


SOURCE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--use_hyper", type=bool, default=True)
parser.add_argument("--align", action="store_true", default=True)
parser.add_argument("--fine", type=int, default=1)
args = parser.parse_known_args()[0]
parser.add_argument("--warm", default=False)
fast = bool(os.environ.get("FAST", "0"))

class Policy:
    def act(self, x):
        return x
    def get_actions(self, x):
        if hasattr(self, "hyper") and self.hyper:
            return self.hyper(x)

def collect(policy):
    return policy.get_actions(1)

def evaluate(policy):
    return policy.act(1)
"""


def test_source_code_is_searched_for_flags_that_are_lost_and_methods_of_evaluation_alone(tmp_path):
    (tmp_path / "train.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def")
    found = {(one.kind, one.line) for one in scan(tmp_path)}
    assert found == {
        ("type=bool", 4), ("store_true with default=True", 5), ("parse_known_args", 7), ("text for a truth", 8),
        ("text for a truth", 9), ("hasattr guard", 15), ("evaluation only", 12),
    }  # fmt: skip


def test_the_example_tells_the_story_of_a_module_in_the_wrong_method():
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120, check=True)
    assert "DEAD (observed): hyper is never called in collect or update" in done.stdout
    assert "CONNECTED: actor, hyper" in done.stdout
