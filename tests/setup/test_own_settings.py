"""Tables at which learners are of several kinds: who differs in what, and that they play, learn and are found again."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import jax
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.settings import load_toml, to_toml
from sparring.learn.config import COEFFICIENTS, PPOConfig
from sparring.nets.config import NetConfig
from sparring.players.loaded import load
from sparring.setup.beginning import Beginning
from sparring.setup.build import build
from sparring.setup.config import EvalConfig, OpponentsConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.setup.own_code import named_code
from sparring.setup.own_settings import configs_of, kinds_of
from sparring.setup.program import as_trained
from sparring.training.runs import start

HUNTERS = ("hunter_0", "hunter_1", "hunter_2", "hunter_3")
MIXED = ("hunter_2.memory=gru", "hunter_2.memory_size=6", "2.sequence=4", "1.learning_rate=1e-3 -> 0")


@pytest.fixture
def table() -> RunConfig:
    return RunConfig(
        game="stag_hunt", total_steps=256, play=PlayConfig(worlds=4, steps=8), net=NetConfig(hidden=(8,)),
        seats=SeatsConfig(share="seat"), ppo=PPOConfig(epochs=1, minibatches=2),
        evaluation=EvalConfig(eval_games=0), learner=MIXED,
    )  # fmt: skip


def test_each_learner_has_the_common_settings_but_for_what_is_said_of_it(table):
    first, second, third, fourth = configs_of(table, HUNTERS)
    assert (third.net.memory, third.net.memory_size, third.sequence) == ("gru", 6, 4)
    assert second.ppo.learning_rate == Schedule.parse("1e-3 -> 0")
    assert first == fourth == replace(table, learner=())


def test_learners_that_differ_in_coefficients_alone_are_of_one_kind(table):
    assert kinds_of(table, HUNTERS) == (0, 0, 1, 0)
    alike = replace(table, learner=("1.learning_rate=1e-3 -> 0",))
    assert build(alike).plan == build(replace(table, learner=())).plan, "and of one kind they train as one stack"
    assert build(alike).knobs(0)[0][1, COEFFICIENTS.index("learning_rate")] == np.float32(1e-3)


def test_learners_keep_their_numbers_however_they_are_stacked(table):
    lineup = build(table).lineup
    assert lineup.learners == (("hunter_0", "hunter_1", "hunter_3"), ("hunter_2",))
    assert lineup.numbered == HUNTERS
    assert Beginning.of(build(table)).players == ((0, 1, 3), (2,))


def test_a_file_may_give_a_learner_a_table_of_its_own(table, tmp_path):
    path = tmp_path / "mixed.toml"
    text = to_toml(replace(table, learner=()))
    head, tables = text.replace("learner = []\n", "").split("\n[", 1)
    own = '[learner.hunter_2]\nmemory = "gru"\nmemory_size = 6\nnormalise = true\nhidden = [16, 8]\n'
    path.write_text(f"{head}\n{own}\n[{tables}")
    found = load_toml(RunConfig, path)
    assert configs_of(found, HUNTERS)[2].net == replace(
        table.net, memory="gru", memory_size=6, normalise=True, hidden=(16, 8)
    )
    assert load_toml(RunConfig, written(found, tmp_path)) == found


def written(config, folder):
    path = folder / "again.toml"
    path.write_text(to_toml(config))
    return path


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("hunter_2", "NAME.SETTING=VALUE, found 'hunter_2'"),
        ("hunter_9.memory=gru", "Did you mean 'hunter_"),
        ("7.memory=gru", "Numbers from 0 to 3 name them as well"),
        ("1.memry=gru", "Unknown setting of a learner 'memry'. Did you mean 'memory'"),
        ("1.memory=gruu", "memory must be one of"),
        ("1.worlds=8", "Unknown setting of a learner 'worlds'"),
        ("1.memory_size=8", "hunter_1.memory_size would do nothing: it needs"),
        ("1.clip=-1", "clip must be above 0"),
        ("1.trunk=shared 1.critic=central", "trunk=shared needs critic=local"),
        ("1.minibatches=3", "Settings of hunter_1: minibatches=3 does not divide"),
    ],
)
def test_what_is_wrong_with_a_setting_of_a_learner_is_said(table, said, sentence):
    with pytest.raises(ConfigError, match=sentence.replace("[", r"\[").replace("(", r"\(")):
        build(replace(table, learner=tuple(said.split()) if "=" in said else (said,)))


def test_learners_of_several_kinds_do_not_meet_opponents_that_change(table):
    naive = replace(table, game="kuhn", seats=SeatsConfig(), learner=("learner.hidden=4",))
    build(naive)
    with pytest.raises(ConfigError, match="this run has one learner, learner\\. For one at each seat add --share seat"):
        build(replace(naive, learner=("2.hidden=4",)))
    with pytest.raises(ConfigError, match="opponents that change"):
        build(replace(naive, opponents=OpponentsConfig(history=Schedule.parse(0.5))))


def test_code_that_one_learner_has_is_named_too(table):
    assert named_code(replace(table, learner=("1.body=mine.py:net", "2.losses=mine.py:term=0.1"))) == (
        "mine.py:net",
        "mine.py:term",
    )


def test_a_mixed_table_plays_learns_and_is_found_again(table, tmp_path):
    """Each kind learns from ratios of 1, whatever memory the others need; each is loaded with its own network."""
    assert start(table, tmp_path / "mixed").finished
    run = load(tmp_path / "mixed")
    for name in HUNTERS:
        gaps = [line[f"{name}/first_ratio_gap"] for line in run.metrics("train")]
        assert gaps and max(gaps) < 1e-5, name
    actors = [run.policy(name).drivers[0] for name in HUNTERS]
    assert [actor.trunk.cell is None for actor in actors] == [True, True, False, True]
    seen = run.game.observe(run.game.start(jax.random.key(0)))
    action, _ = run.newest.step(seen, jax.random.key(1), run.newest.initial())
    assert action.discrete_SD.shape == (4, 1)


class Remembered(NamedTuple):
    """What a rollout has that sequences begin with."""

    memory: Any


def test_memories_are_handed_on_from_where_a_learner_s_own_sequences_begin():
    """Kept every second step, as the other learner needs them: this one's sequences begin every eighth, or fourth."""
    plan, rollout = cast(Any, SimpleNamespace(keep=2)), cast(Any, Remembered(np.arange(0, 16, 2)))
    assert as_trained(plan, rollout, PPOConfig(sequence=8)).memory.tolist() == [0, 8]
    assert as_trained(plan, rollout, PPOConfig(sequence=8, burn_in=4)).memory.tolist() == [0, 4, 8, 12]
    assert as_trained(plan, rollout, PPOConfig(sequence=2)) is rollout
