"""The command: what it refuses, and what it prints, writes and returns."""

import json

from sparring.bridges.seat_log import SeatLog
from sparring.cli.audit import KINDS
from sparring.cli.audit_seats import folder_of, leading
from sparring.cli.main import main


def said(capsys, *words):
    code = main(["audit", *map(str, words)])
    return code, *capsys.readouterr()


def test_help_lists_the_kinds_of_audits(capsys):
    code, out, _ = said(capsys, "--help")
    assert code == 0 and all(kind in out for kind in KINDS)


def test_what_cannot_be_judged_is_refused_with_a_reason(capsys):
    for words, reason in (
        (("seets",), "Did you mean 'seats'"),
        (("seats",), "Which game or run?"),
        (("seats", "coin", "--options", "tie=first"), "--alike red,blue"),
        (("seats", "coin", "snowdrift"), "Name one game"),
        (("seats", "coin", "--no-such-flag", "1"), "Unknown flag --no-such-flag"),
    ):
        code, out, err = said(capsys, *words)
        assert code == 2 and out == "" and reason in err, words


def test_the_audit_of_a_log_is_printed_written_and_returned(capsys, tmp_path):
    log = SeatLog(["a", "b"])
    log.count("a", "updates", 10)
    log.count("b", "updates", 9)
    log.save(tmp_path / "seats.json")
    words = ("seats", "--log", tmp_path / "seats.json", "--out", tmp_path / "audit", "--json")
    code, out, _ = said(capsys, *words)
    found = json.loads(out)
    assert code == found["exit_code"] == 4 and found["verdict"] == "TRAINING-BIASED(updates)"
    assert (tmp_path / "audit" / "seats.html").is_file()
    assert json.loads((tmp_path / "audit" / "seats.json").read_text())["verdict"] == found["verdict"]
    assert said(capsys, *words, "--expect", "TRAINING-BIASED")[0] == 0


def test_what_is_audited_stands_before_the_flags():
    assert leading(["coin", "--alike", "all"]) == ["coin"] and leading(["--log", "x"]) == []


def test_files_of_an_audit_lie_where_their_subject_is(tmp_path):
    from sparring.cli.audit_seats import AuditSeats

    (tmp_path / "config.toml").write_text("")
    assert folder_of(AuditSeats(what=(str(tmp_path),))) == tmp_path / "audits"
    assert str(folder_of(AuditSeats(what=("particles:tag",)))) == "audits/particles-tag"
