"""Runs as Python has them: who acts where, with what chance, and what is told of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparring
from sparring.core.errors import ConfigError
from sparring.core.records import Observation
from sparring.training.runs import start

ROCK, PAPER = "always_0", "always_1"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "loaded"
    config = sparring.default_config(
        "matrix:rock_paper_scissors",
        total_steps=640,
        worlds=8,
        steps=10,
        minibatches=2,
        hidden=(8,),
        eval_games=4,
        seeds=2,
    )
    start(config, path)
    return sparring.load(path)


def seen(game, worlds: int | None = None) -> Observation:
    one = game.observe(game.start(jax.random.key(0)))
    return one if worlds is None else jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *x.shape)), one)


def test_one_name_drives_all_sides_and_several_one_each():
    game = sparring.make("matrix:rock_paper_scissors")
    assert sparring.policy(game, PAPER).act(seen(game)).discrete_SD[:, 0].tolist() == [1, 1]
    assert sparring.policy(game, ROCK, PAPER).act(seen(game)).discrete_SD[:, 0].tolist() == [0, 1]
    with pytest.raises(ConfigError, match="one for each of the 2 sides, found 3"):
        sparring.policy(game, ROCK, ROCK, ROCK)
    with pytest.raises(Exception, match=r"alway_1.*Did you mean"):
        sparring.policy(game, "alway_1")


def test_a_key_draws_and_without_one_the_most_likely_is_done():
    game = sparring.make("matrix:rock_paper_scissors")
    random, many = sparring.policy(game, "random"), seen(game, 600)
    drawn = np.asarray(random.act(many, jax.random.key(3)).discrete_SD)
    share = np.bincount(drawn.ravel(), minlength=3) / drawn.size
    assert drawn.shape == (600, 2, 1) and np.allclose(share, 1 / 3, atol=0.05)
    assert not np.array_equal(drawn[:, 0], drawn[:, 1]), "seats draw apart"
    assert len(np.unique(np.asarray(random.act(many).discrete_SD))) == 1


def test_a_loaded_run_acts_with_the_weights_that_it_saved(run):
    from sparring.players.named import entrant

    policy = entrant(f"{run.path}#0", run.game).policy
    observation = seen(run.game)
    said, _ = policy(observation.features_SF, observation.legal_SA, ())
    assert run.act(observation).discrete_SD.tolist() == said.mode().discrete_SD.tolist()
    other = sparring.load(run.path, seed=1)
    weights = [jax.tree.leaves(one.policy().drivers[0])[0] for one in (run, other)]
    assert not np.array_equal(*weights), "each seed has its own"


def test_a_run_knows_its_players_settings_metrics_and_verdict(run):
    assert run.players[0] == "learner" and "learner.shadow" in run.players and "Run(" in repr(run)
    assert run.config.play.worlds == 8 and run.config.seeds == 2
    steps, values = run.curve("learner/entropy")
    assert steps.tolist() == [160, 320, 480, 640] and len(values) == 4
    with pytest.raises(ConfigError, match="Did you mean 'eval'"):
        run.metrics("evl")
    both = [line["learner/entropy"] for line in run.metrics() if line["steps"] == 160]
    assert values[0] == pytest.approx(np.mean(both)) and len(both) == 2
    assert "exploitability" in run.metric_names("eval") and run.verdict.learned
    with pytest.raises(ConfigError, match=r"learner/entropi.*Did you mean 'learner/entropy'"):
        run.curve("learner/entropi")
    with pytest.raises(ConfigError, match="Unknown player 'lerner'"):
        run.policy("lerner")


def test_seats_that_learn_apart_are_driven_by_their_own_and_a_memory_is_carried_along(tmp_path):
    config = sparring.default_config(
        "particles:tag", total_steps=200, worlds=4, steps=5, minibatches=1, hidden=(4,), eval_games=0, share="seat",
        memory="gru", memory_size=3, sequence=5,
    )  # fmt: skip
    start(config, tmp_path / "run")
    policy = sparring.load(tmp_path / "run").policy()
    assert policy.seats == ((0,), (1,), (2,), (3,)) and len(set(policy.names)) == 4
    with pytest.raises(ConfigError, match=r"policy\.initial\(\)"):
        policy.act(seen(policy.game))
    action, memory = policy.step(seen(policy.game, 2), jax.random.key(0), policy.initial(2))
    before, after = jax.tree.leaves(policy.initial(2)), jax.tree.leaves(memory)
    assert action.discrete_SD.shape == (2, 4, 1)
    assert all(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
