"""Who stands for a run in a comparison, and what is read from its folder: by hand, nothing is trained."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.core.errors import RunError
from sparring.core.settings import to_toml
from sparring.evaluation.regimes import Cost
from sparring.games.registry import make
from sparring.setup.config import EvalConfig, RunConfig
from sparring.store.checkpoints import save
from sparring.store.run_dir import RunDir
from sparring.studies.compare import (
    compared,
    entries_of,
    examined,
    finished,
    mixtures_of,
    no_tournament,
    shortest,
    unequal,
    where_all_have,
    with_timing,
)


def folder(path, players, *, seeds=(4, 5), leaders=(), shadow=True, iterations=7) -> RunDir:
    """A run that has done seven iterations, as far as its folder tells."""
    run = RunDir.create(path)
    run.write_manifest({"iterations": iterations, "sides": ["seat_0", "seat_1"], "alike": True})
    arrays = {"learners.0.model.actor.x": np.zeros((len(seeds), len(players)))}
    arrays |= {"learners.0.shadow.x": np.zeros((len(seeds), len(players)))} if shadow else {}
    rows = [{"name": name, "group": 0, "row": row} for row, name in enumerate(players)]
    meta = {"players": rows, "seeds": list(seeds), "population": {"leaders": list(leaders)}}
    save(run.checkpoints_path, 7, arrays, meta, keep=1)
    return run


def test_the_learner_stands_for_a_run_and_its_shadow_beside_it(tmp_path):
    newest, slow = entries_of("pool", folder(tmp_path / "a", ["learner"]))
    assert (newest.name, newest.players) == ("pool", {4: "learner", 5: "learner"})
    assert (slow.name, slow.regime, slow.players[5]) == ("pool.shadow", "pool", "learner.shadow")
    assert len(entries_of("naive", folder(tmp_path / "b", ["learner"], shadow=False))) == 1


def test_of_a_league_it_is_the_first_main_and_of_a_population_each_seeds_leader(tmp_path):
    league = entries_of("alphastar", folder(tmp_path / "a", ["main", "main_exploiter"]))
    assert league[0].players == {4: "main", 5: "main"}
    members = folder(tmp_path / "b", ["member_0", "member_1", "member_2"], leaders=[2, 1])
    newest, slow = entries_of("pbt", members)
    assert newest.players == {4: "member_2", 5: "member_1"} and slow.players[4] == "member_2.shadow"


def test_a_run_is_finished_when_its_last_checkpoint_and_the_evaluation_after_it_are_there(tmp_path):
    run = folder(tmp_path / "a", ["learner"])
    run.write_text(run.config_path, to_toml(RunConfig(seeds=2)))
    at = {"iteration": 6, "steps": 700}
    before = [{"kind": "eval", **at, "seed": 4}, {"kind": "train", **at, "seed": 4}]
    run.append_metrics([*before, {"kind": "eval", **at, "seed": 4}])
    assert not finished(run.path), "one seed of two was written"
    run.append_metrics([{"kind": "eval", **at, "seed": 5}])
    assert finished(run.path)
    assert not finished(folder(tmp_path / "b", ["learner"], iterations=8).path)
    assert not finished(tmp_path / "none") and not finished(RunDir.create(tmp_path / "c").path)


def test_a_run_without_evaluations_is_finished_and_has_no_figures_of_its_own(tmp_path):
    run = folder(tmp_path / "a", ["learner"])
    run.write_text(run.config_path, to_toml(RunConfig(evaluation=EvalConfig(eval_games=0))))
    assert finished(run.path)
    assert [examined(entry).figures for entry in entries_of("pool", run)] == [{}, {}] and mixtures_of("x", run) == []
    with pytest.raises(RunError, match=f"sparring resume {run.path} --eval-games 32"):
        compared({"pool": run.path})  # spread is judged by returns, so no tournament tells who is better


EXACT = "exploitability"


def evaluated(path, values, seconds=()) -> RunDir:
    """A run of seven iterations with evaluations of two seeds: (iteration, seed, exploitability)."""
    run = folder(path, ["learner"])
    run.append_metrics(
        [
            {"kind": "eval", "iteration": i, "seed": seed, "steps": i, EXACT: value, f"{EXACT}/shadow": value / 10}
            for i, seed, value in values
        ]
    )
    for i, own in enumerate(seconds):
        run.append_timing({"iteration": i, "seconds": own, "steps_per_second": 1.0})
    return run


def test_figures_are_means_over_the_second_half_of_each_seeds_training(tmp_path):
    values = [(2, 4, 90.0), (2, 5, 90.0), (3, 4, 3.0), (3, 5, 4.0), (6, 4, 1.0), (6, 5, 2.0)]
    newest, slow = map(examined, entries_of("pool", evaluated(tmp_path / "a", values)))
    assert newest.figures == {"exploitability": (2.0, 3.0)}, "after 4 and 7 of 7 iterations, not after 3"
    assert slow.figures["exploitability"] == pytest.approx((0.2, 0.3))


def test_at_equal_time_a_slow_run_is_judged_by_what_it_had_when_the_fastest_was_done(tmp_path):
    values = [(1, 4, 8.0), (1, 5, 8.0), (3, 4, 4.0), (3, 5, 6.0), (6, 4, 1.0), (6, 5, 2.0)]
    fast = evaluated(tmp_path / "fast", values, [9.0] + [1.0] * 6)
    slow = evaluated(tmp_path / "slow", values, [9.0] + [2.0] * 6)
    seconds = shortest({"fast": fast, "slow": slow})
    assert seconds == 7.0, "compiling left out"
    newest, _ = (examined(entry, seconds) for entry in entries_of("slow", slow))
    assert newest.figures["exploitability"] == (2.5, 4.0)
    assert newest.figures["exploitability at equal time"] == (8.0, 8.0), "three iterations of two seconds each"
    quick, _ = (examined(entry, seconds) for entry in entries_of("fast", fast))
    assert quick.figures["exploitability at equal time"] == quick.figures["exploitability"]
    assert shortest({"fast": fast}) is None and shortest({"a": fast, "b": folder(tmp_path / "c", ["x"])}) is None


def test_what_responses_won_counts_where_every_candidate_and_seed_has_it(tmp_path):
    run = folder(tmp_path / "a", ["learner"])
    run.append_metrics([{"kind": "eval", "iteration": 6, "steps": 700, "seed": seed} for seed in (4, 5)])

    def won(player: str, seed: int, value: float, iteration: int = 7, by: str = "response") -> None:
        line = {"player": player, "seed": seed, "iteration": iteration, "steps": 9, "by": by, "exploitability": value}
        run.append_exploits([line])

    won("learner", 4, 0.9, iteration=5)
    won("learner", 4, 0.3)
    won("learner", 5, 0.8, by="exact")
    newest, slow = entries_of("pool", run)
    assert "exploited" not in examined(newest).figures, "of one seed nobody asked"
    won("learner", 5, 0.4)
    assert examined(newest).figures["exploited"] == (0.3, 0.4)
    both = [examined(newest), examined(slow)]
    assert not any("exploited" in one.figures for one in where_all_have(both))
    for seed in (4, 5):
        won("learner.shadow", seed, 0.1)
    assert [one.figures["exploited"] for one in where_all_have([*map(examined, (newest, slow))])] == [
        (0.3, 0.4), (0.1, 0.1)
    ]  # fmt: skip


def test_what_was_measured_outside_is_kept_beside_the_runs_own_clock(tmp_path):
    run = folder(tmp_path / "a", ["learner"])
    for seconds in (5.0, 2.0):
        run.append_timing({"iteration": 0, "seconds": seconds, "steps_per_second": 100.0})
    assert with_timing(Cost(seconds=9.0, peak_mib=300.0), run) == Cost(9.0, 5.0, 100.0, 300.0)


def test_only_games_won_or_lost_between_sides_that_are_alike_are_ranked():
    assert no_tournament(make("matrix:rock_paper_scissors").spec) == ""
    assert "judged by returns" in no_tournament(make("matrix:stag_hunt").spec)
    unlike = replace(make("matrix:rock_paper_scissors").spec, exchangeable=())
    assert "two sides that are alike" in no_tournament(unlike)
    with pytest.raises(RunError, match="no finished run"):
        compared({})


def test_it_is_said_where_one_run_went_on_for_longer(tmp_path):
    runs = {name: RunDir.create(tmp_path / name) for name in ("naive", "pool")}
    for run in runs.values():
        run.write_manifest({"iterations": 7, "total_steps": 1000})
    assert unequal(runs) == ()
    runs["pool"].write_manifest({"iterations": 14, "total_steps": 2000})
    assert unequal(runs) == ("Not the same budget: naive 1,000, pool 2,000 steps of a seed.",)
