"""Notices of a stretch of a run: they come when there is reason, and hold back where the game is the reason."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparring.core.spec import ActionSpec
from sparring.evaluation.scoring import LEARNED, SideScore
from sparring.games.registry import make
from sparring.setup.build import build
from sparring.setup.config import RunConfig
from sparring.statistics.intervals import Moments
from sparring.training.trends import (
    exact_remarks,
    gain_notices,
    learner_remarks,
    quarter,
    score_remarks,
    time_remarks,
    trend_notices,
)

L = LEARNED


def test_quarters_are_those_of_the_run_and_short_ones_say_nothing():
    assert [i for i in range(40) if len(quarter(i, 40))] == [9, 19, 29, 39]
    assert quarter(19, 40) == range(10, 20)
    assert [len(quarter(i, 5)) for i in range(5)] == [0, 1, 1, 1, 1]


def spec(longest: int = 20, shortest: int = 2, low: tuple[float, ...] = (), score: str = "outcome") -> SimpleNamespace:
    action = ActionSpec(heads=(3,), low=low, high=low)
    return SimpleNamespace(longest=longest, shortest=shortest, action=action, score=score)


@pytest.mark.parametrize(
    ("game", "lengths", "told"),
    [
        (spec(), [20.0] * 8, True),
        (spec(), [20.0] * 7 + [19.9], False),  # one game ended sooner
        (spec(), [20.0] * 4 + [None] * 4, True),  # no game ended in some iterations
        (spec(), [None] * 8, False),
        (spec(shortest=20), [20.0] * 8, False),  # all games of it are as long
    ],
)
def test_games_that_all_end_by_time_are_told_where_they_could_end_sooner(game, lengths, told):
    found = list(time_remarks(game, [{"length": length} for length in lengths]))
    assert [kind for kind, _ in found] == ["by_time"] * told
    assert not told or ("after 20 steps" in found[0][1] and "--shaping" in found[0][1])


@pytest.mark.parametrize(("score", "told"), [("outcome", True), ("return", False)])
def test_a_curriculum_is_advised_only_where_games_are_won(score, told):
    ((_, text),) = time_remarks(spec(score=score), [{"length": 20.0}] * 8)
    assert ("--curriculum" in text) == told


@pytest.mark.parametrize(
    ("game", "entropy", "explained", "early", "kinds"),
    [
        (spec(), 0.5, 0.8, True, []),
        (spec(), 0.009, 0.8, True, ["entropy"]),
        (spec(), 0.011, 0.8, True, []),
        (spec(), 0.009, 0.8, False, []),  # late in a run a solved game has a settled policy
        (spec(low=(-1.0,)), -3.0, 0.8, True, []),  # a density may be as narrow as it likes
        (spec(), 0.5, 0.0, False, []),  # it may come, and games may be learned without
        (spec(), 0.5, -3.0, False, ["blind_critic"]),
        (spec(), 0.5, 0.0, True, []),  # a critic may take its time
        (spec(longest=3), 0.5, -3.0, False, []),  # nobody foresees cards
        (spec(), 0.5, None, False, []),
    ],
)
def test_a_policy_that_settles_early_and_a_critic_that_learns_nothing_are_told(game, entropy, explained, early, kinds):
    first = {"iteration": 0, "a/entropy": 1.0}
    last = [{"a/entropy": entropy, "a/explained_variance": explained}] * 8
    found = list(learner_remarks(game, "a", first, last, early=early))
    assert [kind for kind, _ in found] == kinds
    assert all("--" in text for _, text in found)
    lost = {**first, "iteration": 5}  # lines of a run may be lost, and then nothing is known of its start
    assert "entropy" not in [kind for kind, _ in learner_remarks(game, "a", lost, last, early=early)]


def test_trends_are_read_over_the_whole_run_seed_by_seed():
    built = SimpleNamespace(
        iterations=32, seeds_R=np.array([3, 4]), lineup=SimpleNamespace(names=("a",)), game=SimpleNamespace(spec=spec())
    )

    def line(iteration: int, seed: int) -> dict:
        entropy = 1.0 if iteration == 0 or seed == 3 else 0.001
        own = {"a/entropy": entropy, "a/explained_variance": 0.5, "length": 5.0}
        return {"kind": "train", "iteration": iteration, "seed": seed, **own}

    earlier = [line(i, seed) for i in range(15) for seed in (3, 4)]
    now = [line(15, 3), line(15, 4)]
    (found,) = trend_notices(built, 15, now, lambda: [{"kind": "event", "iteration": 0}, *earlier])
    assert (found["seed"], found["learner"], found["notice"], found["iteration"]) == (4, "a", "entropy", 15)
    assert "from 1 to 0.001 nats" in found["text"]
    assert trend_notices(built, 14, now, lambda: pytest.fail("read only where a quarter ends")) == []


def test_a_collapse_is_told_with_the_quarter_in_which_it_came_also_where_iterations_are_odd():
    names, game = SimpleNamespace(names=("a",)), SimpleNamespace(spec=spec())
    built = SimpleNamespace(iterations=33, seeds_R=np.array([0]), lineup=names, game=game)
    last = [iteration for iteration in range(33) if len(quarter(iteration, 33))]

    def told(collapse: int) -> list[int]:
        lines = [
            {"kind": "train", "iteration": i, "seed": 0, "length": 5.0, "a/explained_variance": 0.5}
            | {"a/entropy": 0.7 if i < collapse else 1e-6}
            for i in range(33)
        ]
        return [i for i in last if trend_notices(built, i, [lines[i]], lambda i=i: lines[:i])]

    assert last == [8, 16, 24, 32]
    assert told(collapse=4) == [8, 16]
    assert told(collapse=6) == told(collapse=12) == [16]
    assert told(collapse=17) == []  # after half of a run a game may be solved


def score(side: int, team: str, opponents: str, mean: float, spread: float = 1.0) -> SideScore:
    return SideScore(side, team, opponents, 100, 0, 0, 0, 25.0, (Moments(mean, spread**2, 100),))  # +- 0.2


TAG = build(RunConfig(game="particles:tag"))


@pytest.mark.parametrize(
    ("learned", "chaser", "told"),
    [
        (1.0, 9.0, True),  # no better than random play, where a bot is
        (0.5, 9.0, True),
        (3.0, 9.0, False),  # better than random play, if not by much
        (1.15, 9.0, True),  # at most 0.43 better, where the bot is 8 better
        (1.15, 3.0, False),  # which may be a fifth of the way
        (1.0, 1.1, False),  # no bot is surely better: perhaps nobody can be
    ],
)
def test_no_gain_over_random_play_is_told_where_a_bot_shows_that_there_is_one(learned, chaser, told):
    scores = [
        score(0, L, "random", learned), score(0, "random", "random", 1.0), score(0, "chase", "random", chaser),
        score(0, L, L, 0.0), score(1, L, "random", 0.0),
    ]  # fmt: skip
    found = list(score_remarks(TAG, scores, []))
    assert [kind for kind, _ in found] == ["no_gain"] * told
    assert not told or "predator is not clearly better than random play" in found[0][1]
    assert len(gain_notices(TAG, TAG.iterations - 1, scores, {}, [])) == told


def test_a_critic_that_explains_nothing_is_told_where_nothing_was_gained():
    scores = [score(0, L, "random", 1.0), score(0, "random", "random", 1.0), score(0, "chase", "random", 9.0)]
    own = {"predator/explained_variance": 0.01, "prey/explained_variance": 0.5}
    own |= {"predator/entropy": 1.0, "prey/entropy": 1.0}
    lines = [{"kind": "train", "iteration": i, "seed": 0, **own} for i in range(TAG.iterations)]
    found = gain_notices(TAG, TAG.iterations - 1, scores, {}, lines)
    assert [(line["notice"], line["learner"]) for line in found] == [("no_gain", "all"), ("blind_critic", "predator")]
    assert "explains 1%" in found[1]["text"]
    better = [score(0, L, "random", 5.0), *scores[1:]]
    assert gain_notices(TAG, TAG.iterations - 1, better, {}, lines) == []


def test_no_gain_over_the_start_needs_all_opponents_to_agree():
    begun = [{f"return/predator/{L} vs random": 5.0, f"return/predator/{L} vs flee": 1.0}]
    bots = [score(0, "chase", "random", 9.0), score(0, "chase", "flee", 2.0), score(0, "random", "random", 1.0)]
    same = [score(0, L, "random", 5.0), score(0, L, "flee", 1.0)]
    ((kind, text),) = score_remarks(TAG, same + bots, begun)
    assert kind == "no_gain" and "predator is not clearly better than before training: 5.00 beside 5.00" in text
    better = [score(0, L, "random", 5.0), score(0, L, "flee", 1.5)]
    assert list(score_remarks(TAG, better + bots, begun)) == []


@pytest.mark.parametrize(
    ("game", "own", "told"),
    [
        ("kuhn", 0.46, True),  # random play of Kuhn's poker has 11/24
        ("kuhn", 0.45, False),
        ("matrix:rock_paper_scissors", 0.4, False),  # random play is the equilibrium
    ],
)
def test_exploitability_is_compared_with_that_of_random_play(game, own, told):
    found = list(exact_remarks(SimpleNamespace(game=make(game)), {L: [own]}))
    assert [kind for kind, _ in found] == ["exploitable"] * told
    assert not told or "(0.458)" in found[0][1]


@pytest.mark.parametrize(
    ("own", "learned", "told"),
    [
        (0.47, 2.0, False),  # a little above 11/24, and surely better than random play in its place
        (0.47, 1.1, True),  # which may be chance
        (0.51, 2.0, True),  # more than a tenth above: it beats random play and loses to others
    ],
)
def test_who_is_as_exploitable_as_random_play_and_beats_it_is_told_nothing(own, learned, told):
    scores = [score(side, team, "random", mean) for side in (0, 1) for team, mean in ((L, learned), ("random", 1.0))]
    found = list(exact_remarks(SimpleNamespace(game=make("kuhn")), {L: [own]}, scores))
    assert [kind for kind, _ in found] == ["exploitable"] * told
