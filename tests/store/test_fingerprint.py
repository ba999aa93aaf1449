"""Runs whose settings differ and whose numbers never do are told; those that part are not."""

import json

import pytest

from sparring.games.registry import spelled_out
from sparring.store.fingerprint import UPDATES, coincidences, fingerprint, first_unlike, parting
from sparring.store.run_dir import RunDir


def lines(*losses, seed=0, **more):
    return [
        {
            "kind": "train",
            "iteration": i,
            "seed": seed,
            "steps": 16 * i,
            "games": 4,
            "learner/policy_loss": loss,
            **more,
        }
        for i, loss in enumerate(losses)
    ]


def make(path, told, settings="entropy = 0.01", game='game = "kuhn"'):
    run = RunDir.create(path)
    text = f"total_steps = 1\n{game}\n\n[ppo]\n{settings}\n\n[evaluation]\neval_games = 1\n"
    run.write_text(run.config_path, text)
    run.append_metrics(told)
    run.write_manifest({"fingerprint": fingerprint(told)})
    return path


def test_a_fingerprint_is_of_the_first_updates_and_of_what_every_run_has():
    plain = lines(1.0, 2.0, 3.0)
    assert fingerprint(plain) == fingerprint(lines(1.0, 2.0, 3.0, 4.0)) != fingerprint(lines(1.0, 2.0, 3.1))
    assert fingerprint(plain) == fingerprint(
        lines(1.0, 2.0, 3.0, **{"learner/own/m/loss": 1.0, "learner/grad_norm": 2.0})
    )
    assert fingerprint(lines(*[1.0] * (UPDATES - 1))) == ""


def test_the_first_unlike_update_is_counted_from_one():
    assert first_unlike(lines(1.0, 2.0, 3.0), lines(1.0, 2.5, 3.0)) == 2
    assert first_unlike(lines(1.0, 2.0), lines(1.0, 2.0, 9.0)) is None
    assert first_unlike(lines(1.0), lines(2.0), lambda name: name == "games") is None


@pytest.mark.parametrize(
    ("other", "settings", "told"),
    [
        ((1.0, 2.0, 3.0, 4.0), "entropy = 0.5", True),
        ((1.0, 2.0, 3.0, 4.0), "entropy = 0.01", False),  # the same settings: a run that was repeated
        ((1.0, 2.0, 3.0, 9.0), "entropy = 0.5", False),  # they part later
        ((1.0, 2.0, 3.5, 4.0), "entropy = 0.5", False),
    ],
)
def test_two_runs_coincide_where_settings_differ_and_numbers_never_do(tmp_path, other, settings, told):
    mine = make(tmp_path / "a", lines(1.0, 2.0, 3.0, 4.0))
    (tmp_path / "notes.txt").write_text("no run")
    make(tmp_path / "b", lines(*other), settings)
    found = coincidences(mine, sorted(tmp_path.iterdir()))
    assert bool(found) is told and (not told or "though entropy differ" in found[0])


@pytest.mark.parametrize(("options", "told"), [('["agents=3"]', False), ("[]", False), ('["agents=4"]', True)])
def test_an_option_that_is_spelled_out_and_is_the_default_differs_from_nothing(tmp_path, options, told):
    numbers = lines(1.0, 2.0, 3.0)
    mine = make(tmp_path / "a", numbers, game='game = "particles:spread"')
    make(tmp_path / "b", numbers, game=f'game = "particles:spread"\noptions = {options}')
    assert bool(coincidences(mine, sorted(tmp_path.iterdir()), spelled_out)) is told


def test_code_of_another_run_is_not_loaded_to_see_what_differs(tmp_path):
    numbers = lines(1.0, 2.0, 3.0)
    mine = make(tmp_path / "a", numbers)
    make(tmp_path / "b", numbers, game='game = "somebodys.py:race"')
    (told,) = coincidences(mine, sorted(tmp_path.iterdir()), spelled_out)
    assert "though game differ" in told


def test_a_run_writes_its_fingerprint_down(tmp_path, tiny):
    from dataclasses import replace

    from sparring.setup.config import EvalConfig
    from sparring.training.runs import start

    start(replace(tiny, game="kuhn", total_steps=64, evaluation=EvalConfig(eval_games=0)), tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    assert run.read_manifest()["fingerprint"] == fingerprint(run.metrics()) != ""
    assert json.loads(run.manifest_path.read_text())["format"] == "sparring-run"


def update(iteration: int, seed: int = 0, **metrics: float) -> dict:
    return {"kind": "train", "iteration": iteration, "seed": seed, **metrics}


def test_the_first_iteration_in_which_a_common_metric_differs_is_told():
    one = [update(i, loss=1.0, kl=float(i), own=9.0) for i in range(4)]
    other = [update(i, loss=1.0 + (i >= 3), kl=float(i) + (i >= 2)) for i in range(3, -1, -1)]
    found = parting(one, other, ["kl", "loss", "own"])
    assert (found.iteration, found.names, found.compared) == (2, ("kl",), 4)
    assert found.text([]) == "The runs are equal up to iteration 2. In iteration 3 these differ: kl."
    assert found._replace(iteration=0).text([]).startswith("The runs are different from the start. In iteration 1 ")
    assert found._replace(names=("a",) * 10).text([]).endswith("a, a and 2 more.")


def test_runs_that_never_part_and_runs_without_a_common_seed_are_told():
    same = parting([update(0, loss=1.0)], [update(0, loss=1.0)], ["loss"])
    assert same.text(["anchor"]) == (
        "All 1 lines that both runs have are equal, though these differ, which changed nothing: anchor."
    )
    assert same.text([]).endswith("are equal, and so are their settings.")
    apart = parting([update(0, loss=1.0)], [update(0, 1, loss=2.0)], ["loss"])
    assert "no iteration of a common seed" in apart.text([])
