"""Players of runs, asked by rows of OpenSpiel's tensors: they say what their policy says, for whole batches."""

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from sparring import open_spiel_player, open_spiel_probabilities
from sparring.core.errors import ConfigError, GameError, RunError
from sparring.core.settings import to_toml
from sparring.games import registry
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.players import open_spiel
from sparring.players.named import entrant
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.setup.named_arrays import to_arrays
from sparring.store.checkpoints import save
from sparring.store.run_dir import RunDir

CONFIG = RunConfig(game="kuhn", seed=7, seeds=2, play=PlayConfig(worlds=2, steps=4), net=NetConfig(hidden=(4,)))


def untrained(path: Path, game: str, **changes) -> Path:
    """A run as it is before its first step: policies at random."""
    config = replace(CONFIG, game=game, **changes)
    built = build(config)
    run = RunDir.create(path)
    run.write_text(run.config_path, to_toml(config))
    run.write_manifest({"steps_per_iteration": 10})
    meta = {"players": [{"name": "learner", "group": 0, "row": 0}], "seeds": [7, 8]}
    arrays = {name: array * 30 if "head" in name else array for name, array in to_arrays(first_state(built)).items()}
    save(run.checkpoints_path, 1, arrays, meta, keep=1)
    return path


def said_by(path: Path, game: str, features_RF: np.ndarray, legal_RA: np.ndarray, end: str = "") -> np.ndarray:
    policy = entrant(f"{path}{end}", registry.make(game), game).policy
    return np.exp(np.asarray(policy(jnp.asarray(features_RF), jnp.asarray(legal_RA), ())[0].log_p_A))


def test_a_player_of_kuhn_says_what_its_policy_says_for_each_seed(tmp_path: Path) -> None:
    """The king, first at the start and second after a bet."""
    run = untrained(tmp_path / "run", "kuhn")
    rows_RI = np.array([[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0]])
    features_RF = np.array([[0, 0, 1, 1, 0, 1, 0, 0, 0], [0, 0, 1, 0, 1, 0, 0, 1, 0]], np.float32)
    for seed, end in ((None, ""), (8, "#8")):
        found = open_spiel_probabilities(run, rows_RI, player="learner", seed=seed)
        np.testing.assert_allclose(found, said_by(run, "kuhn", features_RF, np.ones((2, 2), bool), end), atol=1e-6)
    assert np.abs(open_spiel_probabilities(run, rows_RI) - found).max() > 1e-3  # another seed is another player


def phantom_rows(found: list[tuple[int, int]]) -> np.ndarray:
    """Rows of players that know of one cross and one nought: (cell of the cross, cell of the nought)."""
    rows_RI = np.zeros((len(found), 108))
    for row_I, cells in zip(rows_RI, found, strict=True):
        row_I[:9] = 1.0
        for kind, cell in zip((2, 1), cells, strict=True):
            row_I[[cell, 9 * kind + cell]] = 0.0, 1.0
    return rows_RI


def test_batches_larger_than_a_chunk_say_the_same_row_by_row(tmp_path: Path, monkeypatch) -> None:
    run = untrained(tmp_path / "run", "phantom_tic_tac_toe")
    rows_RI = phantom_rows([(4, 0), (4, 8), (1, 2), (7, 3), (6, 5)])
    position_R = np.array([0, 1, 1, 0, 1])
    ask = open_spiel_player(run)
    one_by_one = [ask(row_I[None], position)[0] for row_I, position in zip(rows_RI, position_R, strict=True)]
    monkeypatch.setattr(open_spiel, "CHUNK", 2)
    found = ask(rows_RI, position_R)
    np.testing.assert_allclose(found, one_by_one, atol=1e-6)
    assert (found[0, [4, 0]] == 0.0).all() and (found[0, [1, 2, 3, 5, 6, 7, 8]] > 0.0).all()
    assert np.abs(found - ask(rows_RI, 1 - position_R)).max() > 1e-4  # the position counts
    assert ask(rows_RI[:0], 0).shape == (0, 9)


def test_what_cannot_be_asked_is_told_in_a_sentence(tmp_path: Path) -> None:
    run = untrained(tmp_path / "run", "phantom_tic_tac_toe")
    with pytest.raises(ConfigError, match="alike for both players: give position=0 or position=1"):
        open_spiel_probabilities(run, phantom_rows([(4, 0)]))
    with pytest.raises(GameError, match=r"expected \[R, 108\] as of phantom_ttt, found \(1, 27\)"):
        open_spiel_probabilities(run, np.zeros((1, 27)), position=0)
    remembers = untrained(
        tmp_path / "gru",
        "kuhn",
        net=NetConfig(hidden=(4,), memory="gru", memory_size=4),
        ppo=PPOConfig(sequence=4, minibatches=2),
    )
    with pytest.raises(ConfigError, match="has a memory"):
        open_spiel_probabilities(remembers, np.zeros((1, 11)))
    with pytest.raises(RunError, match="nobody"):
        open_spiel_probabilities(tmp_path / "nobody", np.zeros((1, 11)))
    other = untrained(tmp_path / "other", "matrix:rock_paper_scissors")
    with pytest.raises(GameError, match="matrix:rock_paper_scissors is not a game that OpenSpiel has"):
        open_spiel_probabilities(other, np.zeros((1, 1)))
