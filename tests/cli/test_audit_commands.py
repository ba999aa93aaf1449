"""`sparring audit effects` and `health` from the command line: what is asked, what is refused, the exit codes."""

import json

import pytest

from sparring.cli.main import main

LOG = "step,reward\n0,1\n1,2\n"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(LOG)
    return tmp_path


def test_equal_logs_exit_with_a_fault_unless_that_was_expected(logs, capsys):
    assert main(["audit", "effects", "--logs", "a.csv", "b.csv", "--json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "DEAD (observed)" and told["exit_code"] == 4 and told["findings"]
    assert main(["audit", "effects", "--logs", "a.csv", "b.csv", "--expect", "DEAD"]) == 0
    assert (logs / "audits" / "effects.html").is_file() and (logs / "audits" / "effects.json").is_file()


def test_source_code_is_judged_and_never_run(logs, capsys):
    (logs / "train.py").write_text("raise SystemExit('ran')\nparser.add_argument('--x', type=bool)\n")
    assert main(["audit", "effects", "--source", "train.py"]) == 4
    assert "type=bool: 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["effects"], "What is to be switched on?"),
        (["effects", "kuhn"], "with the flags that switch it on"),
        (["effects", "--logs", "a.csv"], "--logs takes two logs"),
        (["effects", "--logs", "a.csv", "b.csv", "--source", "."], "is an audit of its own"),
        (["effects", "--watched", "a.csv"], "cannot be read as an effect log"),
        (["effects", ".", "."], "is no run: it has no config.toml"),
        (["health", "gone"], "No run at gone"),
        (["helth", "gone"], "Did you mean 'health'?"),
    ],
)
@pytest.mark.usefixtures("logs")
def test_what_cannot_be_asked_is_refused_with_a_sentence(capsys, words, told):
    assert main(["audit", *words]) in (2, 3)
    assert told in capsys.readouterr().err
