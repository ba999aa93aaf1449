"""Four hunters that learn for themselves, plain, with minds and as the literature has them: recipes that differ in
their arm alone."""

from typing import Any

from sparring.recipes.defaults import default_config
from sparring.setup.config import RunConfig

ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shared_policy": {"share": "all"},
    "mappo": {"critic": "central"},
    "prosocial": {"shared_reward": 1.0},
    "selfish": {"shared_reward": 0.0},
    "actions": {"mind": "belief", "mind_goals": "none", "mind_tells": "actions"},
    "goals": {"mind": "belief", "mind_tells": "goals"},
    "minds": {"mind": "belief"},
    "near": {"mind": "belief", "mind_gate": 4.0, "mind_room": 0.35},
    "spatial": {"mind": "spatial"},
    "imagine": {"mind": "belief", "imagine": "learned"},
    "oracle": {"mind": "belief", "imagine": "oracle"},
    "influence": {
        "mind": "belief", "mind_goals": "none", "mind_tells": "nothing", "mind_replies": True,
        "influence": "0 -> 0.1",
    },
    "memory": {"memory": "gru", "sequence": 40},
    "meta": {"memory": "gru", "sequence": 40, "memory_games": 5},
}  # fmt: skip
"""What each arm of a comparison sets beside what all have, whatever the game."""


def hunters() -> RunConfig:
    """The stag hunt by four independent learners (IPPO): the rung on which all others stand."""
    return _hunters("plain")


def hunters_shared_policy() -> RunConfig:
    """The same four by one policy that all share: what seems to come of learning apart should not come here."""
    return _hunters("shared_policy")


def hunters_mappo() -> RunConfig:
    """`hunters`, each with a critic that sees the whole game (MAPPO); as hunters do anyway, to the bit."""
    return _hunters("mappo")


def hunters_prosocial() -> RunConfig:
    """`hunters`, each paid the mean of what all earn, from first to last (Peysakhovich and Lerer 2018)."""
    return _hunters("prosocial")


def hunters_selfish() -> RunConfig:
    """`hunters`, each paid its own reward alone, from first to last."""
    return _hunters("selfish")


def hunters_influence() -> RunConfig:
    """`hunters`, who are paid as well for moving what the others do next (Jaques et al. 2019)."""
    return _hunters("influence")


def hunters_meta() -> RunConfig:
    """`hunters` with a memory that lasts over five games with the same co-players, to adapt from one to the next."""
    return _hunters("meta")


def hunters_actions() -> RunConfig:
    """`hunters`, who foresee what the others will do, without asking what they are after."""
    return _hunters("actions")


def hunters_goals() -> RunConfig:
    """`hunters`, who believe that the others are after something, and are told what."""
    return _hunters("goals")


def hunters_minds() -> RunConfig:
    """`hunters`, who are told what the others are after and what they will do (HOP without planning)."""
    return _hunters("minds")


def hunters_near() -> RunConfig:
    """`hunters_minds`, who ask only about goals that are near to somebody."""
    return _hunters("near")


def hunters_spatial() -> RunConfig:
    """`hunters_minds`, who read what the others are after off their last steps, by a network instead of Bayes' rule."""
    return _hunters("spatial")


def hunters_imagine() -> RunConfig:
    """`hunters_minds`, who also go on in a learned model of the world, and learn from that."""
    return _hunters("imagine")


def hunters_oracle() -> RunConfig:
    """`hunters_imagine` through the game itself: what imagination is worth where its model makes no mistake."""
    return _hunters("oracle")


def hunters_phases() -> RunConfig:
    """`hunters_taught`, who look ahead in the last tenth: a rule, then what they learned, then a planner."""
    stages = ("play=nearest_stag until steps > 400k", "until steps > 3.6M", "play=planner")
    paid = {"shared_reward": 0.0, "shaping": ("near_stag=0",)}  # what a planner looks for is what the game pays
    return _hunters("minds", **paid, stages=stages, plan_simulations=16, plan_goals=2)


def hunters_taught() -> RunConfig:
    """`hunters_minds`, in whose place scripted hunters play first, while the minds learn to read them."""
    return _hunters("minds", stages=("play=nearest_stag until steps > 400k", ""))


def hunters_one_mind() -> RunConfig:
    """One hunter with a mind among three plain ones."""
    return _hunters("plain", learner=("hunter_0.mind=belief",))


def hunters_one_plain() -> RunConfig:
    """One plain hunter among three with minds."""
    return _hunters("minds", learner=("hunter_0.mind=none",))


def _hunters(arm: str, **beside: Any) -> RunConfig:
    common: dict[str, Any] = {"share": "seat", "total_steps": 4_000_000, "worlds": 128, "eval_every": 50}
    return default_config("stag_hunt", **{**common, **ARMS[arm], **beside})
