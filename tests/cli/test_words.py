"""Names that others use: every door answers with what they are called here."""

from dataclasses import replace

import pytest

from sparring.cli.flags import _flags
from sparring.cli.train import Train
from sparring.core.errors import ConfigError
from sparring.core.words import _CALLED, _OURS, FLAGS, nearest
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.training.runs import start

KNOWN = set(_flags(Train))


def test_the_table_of_words_leads_to_names_that_there_are_and_hides_none():
    assert {ours.strip("_") for ours in _CALLED} <= KNOWN
    assert {*FLAGS} <= KNOWN - set(_flags(RunConfig))
    assert set(_OURS) & KNOWN == set()
    assert sum(len(names.split()) for names in _CALLED.values()) == len(_OURS), "a word is in two lines"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("--lr", "--learning-rate"), ("--gamma", "--discount"), ("--num-envs", "--worlds"), ("--num_envs", "--worlds"),
        ("--ent-coef", "--entropy"), ("--clip-range", "--clip"), ("--gae-lambda", "--decay"), ("--no-gae", "--decay"),
        ("--update-epochs", "--epochs"), ("--vf-coef", "--value-weight"), ("--n-rollout-threads", "--worlds"),
        ("--ppo-epoch", "--epochs"), ("--env", "--game"), ("--restore", "--from"), ("--exp-name=x", "--name"),
    ],
)  # fmt: skip
def test_a_flag_of_another_library_is_answered_with_ours(sparring, theirs, ours):
    word = theirs.partition("=")[0]
    assert sparring("train", "kuhn", theirs, 3).sentence() == f"Unknown flag {word}. Here it is called {ours}."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train kuhn --batch-size 64", "--minibatches (the number of parts"),
        ("train kuhn --lstm", "--memory (with the value lstm)"),
        ("train kuhn --wandb", "--track (with the value wandb)"),
        ("train kuhn --wandb-entity me", "Nothing is sent anywhere"),
        ("train kuhn --capture-video", "sparring replay RUN"),
        ("train kuhn --total-step 3", "Did you mean --total-steps?"),
        ("train kuhn --brightness 3", "Unknown flag --brightness. All flags: sparring train --help-all"),
        (
            "train kuhn --huge 3 --lr 1",
            "--huge. Unknown flag --lr. Here it is called --learning-rate. All flags: sparring",
        ),
        ("eval runs/x --num-envs 3", "Unknown flag --num-envs. All flags: sparring eval --help-all"),  # none there
        (
            "train kuhn --name ../x",
            "--name must be the plain name of a folder, found '../x'. Choose its folder with --runs",
        ),
        ("train kuhn --name /x", "--name must be the plain name of a folder"),
        ("train kuhn leduc --seeds 3", "One game can be trained at a time, found kuhn and leduc. Name one."),
    ],
)
def test_what_has_no_name_here_is_answered_too_and_only_near_names_are_suggested(sparring, words, told):
    said = sparring(*words.split())
    assert said.code == 2 and told in said.sentence()


def test_near_is_a_slip_of_the_pen_and_no_more():
    assert nearest("learning_rat", KNOWN) == "learning_rate"
    assert nearest("hiden", KNOWN) == "hidden"
    assert nearest("preset", KNOWN - {"preset"}) == ""


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: RunConfig(learning_rate=1e-3), r"to ppo=PPOConfig\(learning_rate=\.\.\.\) in Python"),
        (lambda: RunConfig(lr=1e-3), "Here it is called 'ppo.learning_rate'"),
        (lambda: PPOConfig(gamma=0.9), "PPOConfig: unknown setting 'gamma'. Here it is called 'discount'"),
        (lambda: replace(RunConfig(), totl_steps=3), "Did you mean 'total_steps'"),
        (lambda: RunConfig("kuhn"), r"takes settings by name, found 'kuhn'\. Write for example: RunConfig\(game="),
    ],
)
def test_python_answers_a_name_that_there_is_not_as_a_file_does(make, told):
    with pytest.raises(ConfigError, match=told):
        make()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (RunConfig(game="kuhn", total_steps=1e4), "total_steps must be a whole number.* total_steps = 10000"),
        (RunConfig(game="kuhn", seed="0"), "seed must be a whole number, found the text"),
        (RunConfig(game="kuhn", play=PlayConfig(worlds="many")), "play.worlds must be a whole number"),
        (RunConfig(game="kuhn", play=PlayConfig(worlds=0)), "worlds must be at least 1, found 0"),
        (RunConfig(game="kuhn", ppo={"epochs": 1}), "the setting ppo holds"),
        (RunConfig(game="kuhn", ppo=None), "ppo must be a table of settings"),
        ("kuhn", "Expected settings such as RunConfig"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_before_a_folder_is_made(tmp_path, config, told):
    with pytest.raises(ConfigError, match=told):
        start(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_number_stands_for_a_constant_schedule_and_a_list_for_a_tuple():
    config = RunConfig(game="kuhn", ppo=PPOConfig(learning_rate=1e-3), net=NetConfig(hidden=[8, 8]))
    built = build(config).config
    assert built.ppo.learning_rate.at(0.5) == 1e-3
    assert built.net.hidden == (8, 8)
