"""Games whose answers are known: self-play and training against bots must find them, on every seed."""

from functools import cache

import jax
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.evaluation.scoring import score_sides
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.studies.bench import TrainingLoop
from sparring.training.own_evaluation import examination, players_of_seed

SEEDS = 3


@cache
def trained(game: str, opponent: str = "", iterations: int = 20, shared: float = 0.0) -> TrainingLoop:
    config = RunConfig(
        game=game,
        seeds=SEEDS,
        play=PlayConfig(worlds=64, steps=8),
        seats=SeatsConfig(opponent=opponent),
        net=NetConfig(hidden=(16,)),
        ppo=PPOConfig(
            learning_rate=Schedule.parse(1e-2),
            discount=Schedule.parse(1.0),
            minibatches=2,
            shared_reward=Schedule.parse(shared),
        ),
    )
    loop = TrainingLoop(build(config))
    loop.run(iterations)
    return loop


def probabilities(loop: TrainingLoop) -> np.ndarray:
    """What the learner does at the start of a game, for every seed: [R, A]."""
    observation = loop.built.game.observe(loop.built.game.start(jax.random.key(0)))
    rows = []
    for r in range(SEEDS):
        learner = players_of_seed(loop.built, loop.state, r)["learner"]
        rows.append(np.exp(learner(observation.features_SF[:1], observation.legal_SA[:1], ())[0].log_p_A[0]))
    return np.stack(rows)


def test_self_play_finds_the_dominant_strategy_of_the_prisoners_dilemma():
    cooperate, defect = probabilities(trained("matrix:prisoners_dilemma")).T
    assert (defect > 0.95).all() and (cooperate < 0.05).all()


def test_who_share_their_rewards_cooperate_in_the_prisoners_dilemma():
    """To cooperate adds more to the mean of both than to defect, whatever the other does."""
    cooperate, _ = probabilities(trained("matrix:prisoners_dilemma", shared=1.0)).T
    assert (cooperate > 0.95).all()


def test_self_play_among_three_learns_to_win_and_to_block():
    """Three random players win a third each, draws apart. In 300 games one deviation is 0.027."""
    loop = trained("trio", iterations=100)
    examine = examination(loop.built, games=300, deterministic=False, with_bots_alone=False)
    (place,) = [b for b, team in enumerate(examine.teams) if team == ("learned", "random", "random")]
    for games in examine.play(loop.state, seed=3):
        assert (games[place].outcome_GK[:, 0] > 0).mean() > 0.5


@pytest.mark.parametrize(("bot", "answer"), [("always_0", 1), ("always_1", 2), ("always_2", 0)])
def test_a_fixed_opponent_of_rock_paper_scissors_is_answered(bot, answer):
    assert (probabilities(trained("matrix:rock_paper_scissors", bot))[:, answer] > 0.95).all()


def test_always_betting_in_kuhn_poker_is_punished_to_the_last_third_of_a_chip():
    """Against one who always bets and calls, the king wins 2, the queen breaks even and the jack folds for 1, first or
    second to act: (2 + 0 - 1) / 3."""
    loop = trained("kuhn", "always_bet", iterations=60)
    examine = examination(loop.built, games=2000, deterministic=True, with_bots_alone=False)
    scores = score_sides(loop.built.game.spec, examine.teams, examine.play(loop.state, seed=5))
    for score in scores:
        if score.team == "learned" and score.opponents == "always_bet":
            assert score.mean_return.mean == pytest.approx(1 / 3, abs=0.06)  # 3 x 2000 games: 3 deviations are 0.05
