"""What a sweep varies and what it measures."""

import pytest

from sparring.core.errors import ConfigError
from sparring.store.run_dir import RunDir
from sparring.studies.sweep import Trial, best, measured, points, sweep, varied


@pytest.mark.parametrize(
    ("text", "ends", "words"),
    [
        ("learning-rate=1e-4..1e-2:log", ("0.0001", "0.01"), ["--learning-rate", "0.01"]),
        ("entropy=0..1", ("0", "1"), ["--entropy", "1"]),
        ("epochs=1..8", ("1", "8"), ["--epochs", "8"]),
        ("activation=tanh,relu", ("tanh", "relu"), ["--activation", "relu"]),
        ("learning_rate=1e-3,1e-3 -> 0", ("1e-3", "1e-3 -> 0"), ["--learning-rate", "1e-3 -> 0"]),
        ("hidden=32,64 64", ("32", "64 64"), ["--hidden", "64", "64"]),
        ("layer_norm=true,false", ("true", "false"), ["--no-layer-norm"]),
    ],
)
def test_a_range_or_choices_become_flags(text, ends, words):
    found = varied(text)
    assert found.ends == ends and found.words(ends[-1]) == words
    assert found.log == text.endswith(":log")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("learning_rat=0..1", "Unknown setting in --vary 'learning_rat'. Did you mean 'learning_rate'"),
        ("entropy=0..0.1:log", "above 0 with :log"),
        ("entropy=1..0", "a low and a higher end"),
        ("entropy=a..b", "must give two numbers"),
        ("epochs=1..2.5", "epochs is a whole number"),
        ("activation=tanh..relu", "must give two numbers"),
        ("activation=1..2", "activation is not a number"),
        ("activation=tanh", "two choices or more"),
        ("layer_norm=yes,no", "layer_norm is true or false"),
    ],
)
def test_what_cannot_be_varied_is_told(text, told):
    with pytest.raises(ConfigError) as error:
        varied(text)
    assert told in str(error.value)


def test_a_metric_is_that_of_the_last_evaluation_or_of_the_last_tenth_of_training(tmp_path):
    """20 iterations: the last tenth are 18 and 19, of two seeds each: (18 + 19 + 118 + 119) / 4 = 68.5."""
    run = RunDir.create(tmp_path / "run")

    def line(kind, iteration, seed, **metrics):
        return {"kind": kind, "iteration": iteration, "seed": seed, "steps": iteration, **metrics}

    run.append_metrics([line("eval", 0, seed, score=9.0) for seed in (0, 1)])
    run.append_metrics([line("train", i, seed, loss=100.0 * seed + i, kl=None) for i in range(20) for seed in (0, 1)])
    run.append_metrics([line("eval", 19, seed, score=1.0 + seed) for seed in (0, 1)])
    assert measured(run, "loss") == 68.5 and measured(run, "score") == 1.5
    assert measured(run, "kl") is None
    with pytest.raises(ConfigError, match="Unknown metric 'scores'"):
        measured(run, "scores")


def test_the_best_come_first_and_failures_last():
    trials = [Trial(0, {}, 2.0), Trial(1, {}, None), Trial(2, {}, -3.0)]
    assert [one.number for one in best(trials, maximise=True)] == [0, 2, 1]
    assert [one.number for one in best(trials, maximise=False)] == [2, 0, 1]


def test_a_grid_is_every_combination_once_also_after_a_stop(tmp_path):
    space, tried = [varied("smooth=0.1,1"), varied("anchor=0,0.5")], []

    def train(number: int, words: list[str]) -> float:
        del number
        tried.append((words[1], words[3]))
        if len(tried) == 2:
            raise InterruptedError
        return float(words[1])

    with pytest.raises(InterruptedError):
        sweep(tmp_path, space, trials=4, maximise=True, seed=0, train=train, grid=True)
    found = sweep(tmp_path, space, trials=4, maximise=True, seed=0, train=train, grid=True)
    every = {("0.1", "0"), ("0.1", "0.5"), ("1", "0"), ("1", "0.5")}
    assert {tuple(one.settings.values()) for one in found} == every and len(found) == 4
    with pytest.raises(ConfigError, match="A grid needs choices, found a range of entropy"):
        points([varied("entropy=0..1")])
