"""sparring compare: interrupted, gone on with, called again; with a regime that fails; and what it refuses."""

import json
import signal

import pytest

from sparring.cli.child import Ended, run_child
from sparring.cli.compare import Compare, Plan, next_step, settled, with_seeds
from sparring.cli.flags import split
from sparring.cli.main import INTERRUPTED, STOPPED
from sparring.evaluation.regimes import Candidate, Comparison
from sparring.store.run_dir import RunDir

GAME = "matrix:rock_paper_scissors"
TINY = ("--worlds", 8, "--steps", 10, "--blocks", 2, "--minibatches", 2, "--hidden", 8, "--eval-games", 8)
LENGTH = ("--total-steps", 100 * 8 * 10 * 2, "--eval-times", 4, "--seeds", 2)

pytest.importorskip("resource", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def blank_comparisons(monkeypatch):
    monkeypatch.setattr("sparring.cli.compare.comparison_picture", lambda _: b"blank")


def test_a_comparison_is_stopped_gone_on_with_and_called_again(sparring, launch, tmp_path, train_here):
    out = tmp_path / "out"
    process = launch("compare", GAME, *TINY, *LENGTH, "--regimes", "naive", "shadow", "alphastar", "--out", out)
    for line in process.stderr:
        if line.startswith("naive: iteration 1/"):
            break
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate()
    assert process.returncode == STOPPED and f"Go on: sparring compare --out {out}" in complaints
    assert "Traceback" not in complaints and not (out / "shadow").exists()
    before = json.loads((out / "costs.json").read_text())["naive"]

    taken = train_here()
    said = sparring("compare", "--out", out, "--games", 4)
    assert said.code == 0, said.err
    assert "naive: resume, 1 of 3" in said.err and "shadow: train, 2 of 3" in said.err
    assert "alphastar: failed: " in said.err and "for each of 4 learners" in said.err, "two blocks are too few for four"
    assert "for each of 4 learners" in next(line for line in said.out.splitlines() if line.startswith("failed"))
    rows = [line.split()[0] for line in said.out.splitlines() if "[" in line]
    assert rows[:3] == ["naive", "shadow", "shadow.shadow"]
    assert (out / "compare.png").read_bytes() == b"blank"
    page = (out / "compare.html").read_text()
    assert f"sparring compare --out {out}" in page and "for each of 4 learners" in page and "[" in page
    told = json.loads((out / "compare.json").read_text())
    assert told["judgement"][-1] in said.out
    order = ["brackets", "figures  ", told["judgement"][0], told["judgement"][-1], "next  "]
    assert sorted(order, key=said.out.rindex) == order, "what is shown stands last, above what to do next"
    naive, *_ = told["candidates"]
    assert len(naive["figures"]["exploitability"]["seeds"]) == len(naive["worst_against"]) == 2
    assert 0 <= naive["figures"]["worst opponent"]["mean"] <= 0.5 < told["games"] == 4
    cost = told["costs"]["naive"]
    assert cost["seconds"] == before["seconds"] + taken > taken and cost["steps_per_second"] > 0
    assert cost["peak_mib"] == before["peak_mib"] > 50, "as the process told that was stopped"

    marks = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.jsonl")}
    again = sparring("compare", "--out", out, "--games", 4, "--regimes", "shadow", "naive", "--json")
    assert again.code == 0 and again.err == "", "both had finished, and nothing is said beside JSON"
    other = json.loads(again.out)
    assert other["yardstick"] == "shadow" and other["failures"] == {} and other["out"] == str(out)
    figures = {one["name"]: one["figures"]["exploitability"] for one in other["candidates"]}
    assert figures["naive"] == naive["figures"]["exploitability"], "nothing was trained again"
    assert marks == {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.jsonl")} and len(marks) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((GAME, "--regimes", "naiv", "pool"), "Unknown regime 'naiv'. Did you mean 'naive'?"),
        (("--regimes", "naive", "kuhn"), "A game is named before --regimes."),
        ((GAME, "--regimes", "pool", "pool"), "The regime pool is named twice"),
        (("kuhnn",), "Did you mean 'kuhn'?"),
        (("runs/x", "runs/y"), "Runs that are trained already meet in: sparring tournament runs/x runs/y"),
        ((), "Which game?"),
        ((GAME, "--options", "round=3"), "Did you mean 'rounds'?"),
        ((GAME, "--self-play", "pool"), "compare sets --self-play itself"),
        ((GAME, "--name=x"), "compare sets --name itself"),
        ((GAME, "--regime", "naive"), "Did you mean --regimes?"),
        ((GAME, "--regimes"), "--regimes names nobody"),
        ((GAME, "--games", "5"), "games must be even"),
        ((GAME, "--worlds", "0"), "worlds must be at least 1"),
        (("--recipe", "hnut"), "Did you mean 'hunt'?"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_is_trained(sparring, tmp_path, words, told):
    said = sparring("compare", *words, "--out", tmp_path / "out")
    assert told in said.sentence() and not (tmp_path / "out").exists()


def test_other_settings_or_other_files_in_the_folder_are_refused(sparring, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"words": ["kuhn", "--seeds", "3"], "regimes": ["naive"]}))
    said = sparring("compare", "kuhn", "--seeds", "4", "--out", tmp_path)
    assert "compares with `kuhn --seeds 3`, found `kuhn --seeds 4`" in said.sentence()
    (tmp_path / "plan.json").rename(tmp_path / "other.json")
    assert "found something else" in sparring("compare", "kuhn", "--out", tmp_path).sentence()
    for text in ("[", "[]", '{"words": "kuhn", "regimes": []}', '{"words": ["kuhn"], "regimes": [3]}'):
        (tmp_path / "plan.json").write_text(text)
        assert "cannot be read as part of a comparison" in sparring("compare", "--out", tmp_path).sentence()
    for words, regime, told in (
        (["kuhn"], "../../x", "Unknown regime '../../x'"),
        (["kuhn", "--name", "../../x"], "naive", "compare sets --name itself"),
    ):
        (tmp_path / "plan.json").write_text(json.dumps({"words": words, "regimes": [regime]}))
        assert told in sparring("compare", "--out", tmp_path).sentence()


def test_all_that_fail_leave_one_sentence_and_their_costs(sparring, tmp_path, monkeypatch):
    ends = iter([Ended(2, "No room.", 1.5, 100.0, False), Ended(-9, "", 2.0, None, False)])
    monkeypatch.setattr("sparring.cli.compare.run_child", lambda *_, **__: next(ends))
    said = sparring("compare", "kuhn", "--regimes", "naive", "pool", "--out", tmp_path / "out")
    assert said.code == 3 and said.out == ""
    last = said.err.splitlines()[-1]
    assert "No regime reached its end. naive: No room. (exit code 2); pool: (killed by signal 9)" in last
    costs = json.loads((tmp_path / "out" / "costs.json").read_text())
    assert costs == {"naive": {"seconds": 1.5, "peak_mib": 100.0}, "pool": {"seconds": 2.0, "peak_mib": None}}


@pytest.mark.parametrize(
    ("child", "code", "told"),
    [
        (Ended(STOPPED, "", 1.0, None, True), STOPPED, f"Stopped, exit code {STOPPED}; nothing is lost. Go on: "),
        (Ended(INTERRUPTED, "", 1.0, None, True), INTERRUPTED, "Stopped; what is saved stays. Go on: "),
        (Ended(STOPPED, "", 1.0, None, False), 3, "naive: stopped before its end"),
    ],
)
def test_a_comparison_ends_as_the_training_ended_that_a_signal_reached(
    sparring, tmp_path, monkeypatch, child, code, told
):
    monkeypatch.setattr("sparring.cli.compare.run_child", lambda *_, **__: child)
    said = sparring("compare", "kuhn", "--regimes", "naive", "--out", tmp_path / "out", "--json")
    assert said.code == code and told in said.err
    if code == STOPPED:
        assert json.loads(said.out) == {"out": str(tmp_path / "out"), "finished": False}


def test_words_are_shared_but_for_those_of_the_command_itself():
    own, shared = split(
        ["kuhn", "--regimes", "naive", "pool", "--worlds", "8", "--json", "--games=4", "--eval-first", "--out", "a",
         "--no-compile-cache", "--guests", "x", "y", "--threads", "1", "--survival", "-5"],
        Compare,
    )  # fmt: skip
    assert own == ["--regimes", "naive", "pool", "--json", "--games=4", "--out", "a", "--no-compile-cache",
                   "--threads", "1"]  # fmt: skip
    assert shared == ["kuhn", "--worlds", "8", "--eval-first", "--guests", "x", "y", "--survival", "-5"]
    assert split(["--json", "kuhn", "--out", "a", "b"], Compare) == (["--json", "--out", "a"], ["kuhn", "b"])
    assert settled(["kuhn", "--a=1", "--b", "2", "3"]) == settled(["kuhn", "--b", "2", "3", "--a", "1"])
    assert settled(["kuhn", "--a", "1"]) != settled(["kuhn", "--a", "2"])


def test_a_child_tells_why_it_failed_and_what_it_took(capsys):
    ended = run_child(["games", "kuhnn"], prefix="x", quiet=False)
    assert ended.code == 2 and "Did you mean 'kuhn'?" in ended.reason and not ended.reason.startswith("sparring")
    assert f"x: sparring: {ended.reason}" in capsys.readouterr().err
    assert ended.seconds > 0 and ended.peak_mib is not None and 5 < ended.peak_mib < 100_000 and not ended.stopped
    assert run_child(["--version"], prefix="x", quiet=True).code == 0 and capsys.readouterr().err == ""


def test_what_is_next_goes_on_with_the_run_that_is_there_or_asks_for_more_seeds_and_says_why(tmp_path):
    out = tmp_path / "two words"
    RunDir.create(out / "pool").write_manifest({"iterations": 7, "total_steps": 1000})
    plan = Plan(out, ("naive", "pool", "pbt"), ("kuhn", "--seeds", "3", "--worlds", "8"))

    def of(*values: tuple[float, ...]) -> Comparison:
        candidates = (Candidate(name, name, {"rating": x}) for name, x in zip(("naive", "pool"), values, strict=True))
        return Comparison("kuhn", len(values[0]), tuple(candidates), failures={"pbt": "no room"})

    why, command = next_step(of((0.0, 1.0, 2.0), (13.0, 14.0, 15.0)), plan)
    assert why.startswith("pool is surely ahead in rating") and command == (
        f"sparring resume '{out}/pool' --total-steps 2000"
    )
    why, command = next_step(of((0.0, 1.0, 2.0), (0.5, 1.5, 2.5)), plan)
    assert why == "pool is ahead in rating, not surely: 6 seeds tell more than 3."
    assert command == "sparring compare kuhn --seeds 6 --worlds 8 --regimes naive pool", "what failed is left out"
    assert next_step(of((0.0,), (9.0,)), plan)[0] == "Nothing is sure: 5 seeds tell more than 1."
    why, command = next_step(of((0.0, 1.0) * 5, (0.1, 1.1) * 5), plan)
    assert "after 10 seeds" in why and command == ""
    assert with_seeds(["kuhn", "--seeds=3"], 6) == ["kuhn", "--seeds=6"]
    assert with_seeds(["kuhn"], 6) == ["kuhn", "--seeds", "6"]
