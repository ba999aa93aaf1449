"""Each symptom is found in a run that has it and in no other; a healthy run has none."""

import json
from dataclasses import replace

import pytest
from sick_runs import ITERATIONS, healthy_rows, make_run, met

from sparring.audit.findings import FAULT, OPEN, SOUND
from sparring.audit.health.judge import CHECKS, audit_health
from sparring.audit.health.learning import cuts
from sparring.core.errors import RunError
from sparring.core.schedules import Schedule
from sparring.games.registry import make
from sparring.setup.config import RunConfig
from sparring.store.run_dir import RunDir


@pytest.fixture(scope="module")
def config(tiny) -> RunConfig:
    """Past selves and bots oppose, in a game of up to 42 moves."""
    opponents = replace(tiny.opponents, history=Schedule.parse(0.4), bots=Schedule.parse(0.2))
    return replace(tiny, game="connect_four", opponents=opponents, play=replace(tiny.play, worlds=8, blocks=4))


def set_to(**values):
    def change(iteration, line):
        line |= {
            name.replace("__", "/"): value(iteration) if callable(value) else value for name, value in values.items()
        }

    return change


def rows_with(*changed):
    names = {row.opponent for row in changed}
    return [row for row in healthy_rows() if row.opponent not in names] + list(changed)


SICK = {
    "entropy": {"change": set_to(learner__entropy=lambda i: 1.0 if i == 0 else 0.001)},
    "KL": {"change": set_to(learner__approx_kl=0.5)},
    "critic": {"change": set_to(learner__explained_variance=-0.5)},
    "numbers": {"change": set_to(learner__bad_minibatches=lambda i: 1.0 if i > 40 else 0.0)},
    "game": {"change": set_to(games__left_out=lambda i: 3 if i > 40 else 0)},
    "time": {"change": set_to(length=42.0)},
    "stale pool": {"snapshots": (0, 8)},
    "cycling league": {"rows": rows_with(*(met(i, "past-0", 80 if i // 16 % 2 else 20) for i in range(ITERATIONS)))},
    "swings": {"rows": rows_with(*(met(i, "past-0", 99 if i < 40 else 1) for i in range(ITERATIONS)))},
    "rating": {
        "change": lambda _, line: line.update({"rating/learner vs greedy": 200.0}),
        "rows": rows_with(*(met(i, "greedy", 20) for i in range(ITERATIONS))),
    },
    "illegal actions": {"change": set_to(cause__illegal=0.2)},
    "forgetting": {"rows": rows_with(*(met(i, "random", won, kind="eval") for i, won in ((31, 95), (63, 50))))},
}


def symptoms(path) -> list[str]:
    return [one.level for one in audit_health(path).findings if one.outcome == "FAIL"]


@pytest.mark.parametrize("name", SICK)
def test_a_sick_run_shows_its_symptom_and_no_other(tmp_path, config, name):
    found = {one.level: one for one in audit_health(make_run(tmp_path / "run", config, **SICK[name])).findings}
    assert [level for level, one in found.items() if one.outcome == "FAIL"] == [name]
    assert found[name].evidence and found[name].meaning and found[name].remedy


def test_a_healthy_run_has_no_symptom_and_every_check_was_made(tmp_path, config):
    audit = audit_health(make_run(tmp_path / "run", config))
    assert (audit.verdict, audit.code, audit.summary) == ("HEALTHY", SOUND, "No symptom was found.")
    names = [ask.level for ask in CHECKS]
    assert {one.level: one.outcome for one in audit.findings} == dict.fromkeys(names, "PASS")
    assert {*SICK, "truncation"} == set(names) and len(audit.pictures) == 3


def test_time_limits_counted_as_ends_are_a_symptom_where_a_game_is_cut(tmp_path, tiny):
    def change(_, line):
        line["length"] = 25.0
        for seat in range(3):
            line[f"return/seat_{seat}"] = 0.0

    ended = replace(tiny, game="particles:spread", ppo=replace(tiny.ppo, time_limit="end"))
    assert symptoms(make_run(tmp_path / "end", ended, change, rows=[])) == ["truncation"]
    assert "truncation" not in symptoms(
        make_run(tmp_path / "cut", replace(tiny, game="particles:spread"), change, rows=[])
    )
    assert cuts(make("particles:spread")) and not cuts(make("connect_four"))


def test_easy_past_selves_are_stale_too(tmp_path, config):
    path = make_run(tmp_path / "run", config, set_to(points__past=0.97))
    assert symptoms(path) == ["stale pool"]


def test_a_large_kl_now_and_then_is_no_symptom(tmp_path, config):
    path = make_run(tmp_path / "run", config, set_to(learner__approx_kl=lambda i: 0.5 if i % 20 == 0 else 0.01))
    assert symptoms(path) == []


def test_a_run_that_has_not_begun_is_refused(tmp_path, config):
    path = make_run(tmp_path / "run", config)
    RunDir.open(path).metrics_path.write_text("")
    with pytest.raises(RunError, match="has no iteration yet"):
        audit_health(path)


def test_the_verdict_names_the_symptoms(tmp_path, config):
    audit = audit_health(make_run(tmp_path / "run", config, **SICK["KL"]))
    assert (audit.verdict, audit.code) == ("SICK(KL)", FAULT)


def test_alike_sides_are_pooled_and_advice_names_what_the_run_does_not_do_yet(tmp_path, config):
    """96 games of each side: 70 of 96 and then 47 on both are 3.3 deviations apart together and fewer alone."""
    rows = rows_with(
        *(met(i, "ace", won, games=96, kind="eval", side=k) for i, won in ((31, 70), (63, 47)) for k in (0, 1))
    )
    (found,) = (
        one for one in audit_health(make_run(tmp_path / "run", config, rows=rows)).findings if one.level == "forgetting"
    )
    assert found.outcome == "FAIL" and found.evidence == "against ace: 0.73 after iteration 31, 0.49 at the end"
    assert "--history" not in found.remedy and "--bots" not in found.remedy and "magnet" not in found.remedy
    assert "smaller steps" in found.remedy, "connect four is long: skill comes first"


def test_no_data_is_no_pass(tmp_path, config):
    def by_return(_, line):
        line["points/past"] = None
        line["games"] = 0

    seldom = [met(i, "past-0", 60) for i in range(0, ITERATIONS, 2)]
    audit = audit_health(make_run(tmp_path / "run", config, by_return, rows=rows_with(*seldom, met(0, "greedy", 57))))
    found = {one.level: one for one in audit.findings}
    assert found["stale pool"].outcome == "SKIPPED" and found["swings"].outcome == "SKIPPED"
    unasked = sum(one.outcome == "SKIPPED" for one in found.values())
    assert f"{unasked} of {len(CHECKS)} questions could not be asked of this run." in audit.summary


def test_a_question_about_quarters_is_not_answered_where_no_notice_could_have_come(tmp_path, config):
    """A short game leaves the critic nothing to ask; a run that had only begun, or of few iterations, neither."""

    def answers(path):
        return {one.level: one for one in audit_health(path).findings}

    asked = ("entropy", "critic", "time")
    long = answers(make_run(tmp_path / "long", config))
    assert [long[name].outcome for name in asked] == ["PASS"] * 3
    short = answers(make_run(tmp_path / "short", replace(config, game="tic_tac_toe")))
    assert short["critic"].outcome == "SKIPPED" and "at most 9 steps" in short["critic"].evidence
    begun = make_run(tmp_path / "begun", config)
    lines = (begun / "metrics.jsonl").read_text().splitlines(keepends=True)
    for done, outcomes in ((9, ["SKIPPED"] * 3), (20, ["PASS", "SKIPPED", "PASS"])):
        (begun / "metrics.jsonl").write_text("".join(x for x in lines if json.loads(x)["iteration"] < done))
        assert [answers(begun)[name].outcome for name in asked] == outcomes
        audit = audit_health(begun)
        assert (audit.verdict, audit.code) == (("UNDECIDED", OPEN) if done == 9 else ("HEALTHY", SOUND))


def taking_turns(iteration):
    """A bot that always loses, and one that never does; and a first side that wins what the second one loses."""
    bot, won = ("easy", 97) if iteration % 2 else ("hard", 3)
    return [met(iteration, bot, won), *(met(iteration, "past-0", 97 - 94 * side, side=side) for side in (0, 1))]


def test_opponents_and_sides_that_take_turns_are_no_swing(tmp_path, config):
    rows = rows_with(*(row for i in range(ITERATIONS) for row in taking_turns(i)))
    path = make_run(tmp_path / "run", config, set_to(points__bot=lambda i: 0.97 if i % 2 else 0.03), rows=rows)
    found = {one.level: one for one in audit_health(path).findings}["swings"]
    assert (found.outcome, found.numbers["looked"]) == ("PASS", 3 * (ITERATIONS - 1))


@pytest.mark.parametrize(("left", "outcome"), [(0.005, "PASS"), (0.02, "FAIL")])
def test_a_policy_that_settled_early_on_what_nobody_can_exploit_is_well(tmp_path, config, left, outcome):
    """Beside random play, of which one could win 1, a hundredth is next to nothing."""
    path = make_run(tmp_path / "run", config, **SICK["entropy"])
    exact = {"exploitability": left, "exploitability/random": 1.0}
    line = {"kind": "eval", "iteration": ITERATIONS - 1, "seed": 0, "steps": 16 * ITERATIONS, **exact}
    RunDir.open(path).append_metrics([line])
    found = {one.level: one for one in audit_health(path).findings}["entropy"]
    assert found.outcome == outcome and ("0.005" in found.evidence) == (outcome == "PASS")
