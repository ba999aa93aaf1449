"""What the parameters of minds reach, and how each part of a mind is left out of a configuration."""

from dataclasses import replace

import numpy as np
import pytest

from sparring.audit.effects.minds import PLACE, minded, policy_changes, studied_by
from sparring.audit.effects.programs import differences
from sparring.audit.effects.wiring import reached, with_leaves
from sparring.audit.graph import named
from sparring.audit.leaving_out import without
from sparring.audit.seats.ladder import rungs_of
from sparring.core.errors import ConfigError
from sparring.opponent_models.config import MindConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import build


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        ("goals", {"mind_goals", "mind_tells", "mind_gate"}),
        ("actions", {"mind_tells"}),
        ("imagination", {"imagine", "imagine_length", "imagine_size", "imagine_members", "imagine_updates"}),
        ("influence", {"influence", "mind_replies"}),
        ("gate", {"mind_gate"}),
    ],
)
def test_a_part_of_all_minds_is_left_out_with_what_then_does_nothing(hunters, part, settings):
    assert {*differences(without(hunters, part), hunters)} == settings
    assert without(hunters, "mind").mind == MindConfig()
    with pytest.raises(ConfigError, match=r"Known: .*gate, .*influence, mind\."):
        without(hunters, "planner")


def test_a_part_is_left_out_of_the_minds_of_single_learners_and_a_planner_of_the_stages(hunters, tiny):
    own = ("hunter_0.mind=belief", "hunter_0.mind_gate=3", "hunter_0.mind_room=0.4", "hunter_1.hidden=16")
    one = replace(hunters, mind=MindConfig(), ppo=tiny.ppo, learner=own)
    assert without(one, "gate").learner == (
        "hunter_0.mind=belief", "hunter_0.mind_gate=3", "hunter_1.hidden=16", "hunter_0.mind_gate=0.0",
    )  # fmt: skip
    assert without(one, "mind").learner == ("hunter_1.hidden=16",)
    with pytest.raises(ConfigError, match=r"part of a mind here .imagination"):
        without(one, "imagination")
    ahead = replace(one, stages=("until steps > 5k", "play=planner"))
    assert without(ahead, "planner").stages == ("until steps > 5k", "")


def test_every_parameter_of_a_mind_is_fitted_and_only_what_it_tells_moves_the_policy(hunters):
    built = build(hunters)
    found = minded(built, first_state(built), 0)
    assert found is not None
    flows, slopes = studied_by(found, reached)
    names = {f"{PLACE}{name}" for name, leaf in named(("",), (found.mind,)).items() if leaf.dtype.kind == "f"}
    assert set.union(*flows.values()) == names == {*slopes}
    assert f"{PLACE}world.member_E.pays.bias_O" in flows["mind/world/reward"] - flows["mind/world/ended"]

    random = np.random.default_rng(0)

    def noise(model, own):
        return [with_leaves(model, own, lambda x: random.normal(size=x.shape))]

    model = found.learner.model
    added = names | {f"actor.fusion.{name}" for name in named(("",), (model.actor.fusion,))}
    parts = {part: {name for name in names if f".{part}." in name} for part in ("actions", "replies", "world")}
    (at_random,) = noise(model, added)
    felt = policy_changes(found, at_random, parts, noise)
    assert felt["actions"][0] > 1e-6 and felt["actions"][1] > 1e-3
    assert felt["replies"] == felt["world"] == (0.0, 0.0), "they act by what is learned, not by what is told"
    assert policy_changes(found, model, parts, noise)["actions"][0] < 1e-6, "at first what is told has no part"


def test_the_ladder_leaves_parts_of_minds_out_one_after_another(hunters):
    rungs = rungs_of(hunters)
    names = ["as configured", "without imagination", "without influence", "without minds"]
    assert list(rungs)[:4] == names
    assert rungs["without imagination"].mind.mind_replies and not rungs["without influence"].mind.mind_replies
    assert rungs["without influence"].mind.on and not rungs["without minds"].mind.on
