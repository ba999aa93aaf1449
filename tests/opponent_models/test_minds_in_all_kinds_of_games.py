"""Minds learn where sides want opposite things, where all want the same, in battles, and in dilemmas."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.recipes.defaults import default_config
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.program import compile_program
from sparring.store.run_dir import RunDir
from sparring.training.runs import start

TINY: dict[str, Any] = {
    "mind": "belief", "mind_size": 4, "mind_buffer": 64, "mind_batch": 8, "mind_updates": 2, "hidden": (8,),
    "worlds": 4, "steps": 10, "minibatches": 1, "epochs": 1, "eval_games": 0,
}  # fmt: skip


def built(game: str, **settings: Any) -> Built:
    return build(default_config(game, **{**TINY, **settings}))


@pytest.mark.parametrize(
    ("game", "settings", "learners"),
    [
        ("particles:tag", {}, ["predator", "prey"]),
        ("particles:spread", {"share": "seat", "options": ("agents=2", "steps=10")}, ["agent_0", "agent_1"]),
        ("skirmish:3m", {"mind_replies": True, "influence": 0.1}, ["learner"]),
    ],
    ids=["opposed", "together", "battle"],
)
def test_minds_learn_in_games_of_every_kind(tmp_path, game, settings, learners):
    """Learners that drive several seats have a mind in each: the others are their own side too."""
    config = default_config(game, **{**TINY, **settings}, total_steps=1)
    iteration = build(config).steps_per_iteration
    start(default_config(game, **{**TINY, **settings}, total_steps=2 * iteration), tmp_path / "run")
    last = [line for line in RunDir.open(tmp_path / "run").metrics() if line["kind"] == "train"][-1]
    for learner in learners:
        found = {name.split("/mind/")[1]: x for name, x in last.items() if name.startswith(f"{learner}/mind/")}
        assert found["rows"] > 0 and found["updates"] == 4
        assert {"skill", "goal_top1", "goal_nearest", "steps_to_90"} <= set(found)
        assert all(value is None or np.isfinite(value) for value in found.values()), found


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("snowdrift", {"share": "seat"}),
        ("coin", {}),
        ("matrix:prisoners_dilemma", {"options": ("rounds=4",), "mind_goals": "none"}),
        ("particles:tag", {"share": "seat", "mind": "spatial"}),
        ("snowdrift", {"share": "seat", "mind_goals": "subgoal"}),
        ("snowdrift", {"share": "seat", "mind_goals": "subgoal", "imagine": "learned"}),
        ("tic_tac_toe", {"mind_goals": "subgoal", "imagine": "oracle", "critic": "local", "advantage": "gae"}),
    ],
    ids=str,
)
def test_games_for_which_minds_can_be_built_are_traced_to_the_end(game, settings):
    made = built(game, **settings)
    state, knobs = jax.eval_shape(lambda: first_state(made)), jax.tree.map(jnp.asarray, made.knobs(0))
    given = (made.game, state, made.rosters, made.standing, knobs, jnp.asarray(made.seeds_R), jnp.asarray(0))
    later, report = jax.eval_shape(compile_program(made.plan), *given)
    assert jax.tree.structure(later) == jax.tree.structure(state)
    assert all("skill" in stats.mind for stats in report.stats)


@pytest.mark.parametrize(("tells", "known"), [("both", False), ("nothing", True)])
def test_what_can_be_won_of_who_is_told_by_a_mind_is_not_exactly_known_and_its_run_is_evaluated_all_the_same(
    tmp_path, tells, known
):
    """Such a policy remembers, in what its mind believes. With one that says nothing it is the plain one."""
    settings: Any = {"mind_goals": "none", "mind_tells": tells, "advantage": "gae", "critic": "local", "eval_games": 2}
    config = default_config("kuhn", **{**TINY, **settings})
    start(replace(config, total_steps=build(config).steps_per_iteration), tmp_path / "run")
    (last,) = [line for line in RunDir.open(tmp_path / "run").metrics() if line["kind"] == "eval"][-1:]
    assert (last.get("exploitability") is not None) == known
    assert not known or 0 < last["exploitability"] < 1


@pytest.mark.parametrize(
    ("game", "settings", "words"),
    [
        ("matrix:prisoners_dilemma", {}, "lists none. Use --mind-goals combined"),
        ("particles:spread", {"options": ("continuous=true",)}, "leave continuous=true out"),
        ("particles:simple", {}, "models other seats, and particles:simple has one"),
        ("coin", {"history": 0.5}, "Leave shares of shadow, history and bots out"),
        ("particles:reference", {"mind_goals": "none", "mind_replies": True}, "a choice has 2 parts"),
    ],
    ids=str,
)
def test_what_a_mind_cannot_have_is_refused_with_what_to_do(game, settings, words):
    with pytest.raises(ConfigError, match=words):
        built(game, **settings)


def test_those_who_have_minds_meet_each_other_where_two_sides_are_alike():
    """The default for two sides that are alike has past selves, whom no mind could remember."""
    assert default_config("coin").opponents.shared
    assert not default_config("coin", mind="belief").opponents.shared
    assert not default_config("coin", share="seat").opponents.shared
