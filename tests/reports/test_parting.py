"""Where two runs stop being the same."""

from sparring.reports.series import parting


def line(iteration: int, seed: int = 0, **metrics: float) -> dict:
    return {"kind": "train", "iteration": iteration, "seed": seed, **metrics}


def test_the_first_iteration_in_which_a_common_metric_differs_is_told():
    one = [line(i, loss=1.0, kl=float(i), own=9.0) for i in range(4)]
    other = [line(i, loss=1.0 + (i >= 3), kl=float(i) + (i >= 2)) for i in range(3, -1, -1)]
    found = parting(one, other, ["kl", "loss", "own"])
    assert (found.iteration, found.names, found.compared) == (2, ("kl",), 4)
    assert found.text == "The runs are equal before iteration 2; in it these differ: kl"


def test_runs_that_never_part_and_runs_without_a_common_seed_are_told():
    assert "changed nothing" in parting([line(0, loss=1.0)], [line(0, loss=1.0)], ["loss"]).text
    assert "no iteration of a common seed" in parting([line(0, loss=1.0)], [line(0, 1, loss=2.0)], ["loss"]).text
