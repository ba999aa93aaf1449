"""Four hunters that learn for themselves, plain and with minds: recipes that differ in their minds alone."""

from typing import Any

from sparring.recipes.defaults import default_config
from sparring.setup.config import RunConfig


def hunters() -> RunConfig:
    """The stag hunt by four independent learners (IPPO): the rung on which all others stand."""
    return _hunters()


def hunters_actions() -> RunConfig:
    """`hunters`, who foresee what the others will do, without asking what they are after."""
    return _hunters(mind="belief", mind_goals="none", mind_tells="actions")


def hunters_goals() -> RunConfig:
    """`hunters`, who believe that the others are after something, and are told what."""
    return _hunters(mind="belief", mind_tells="goals")


def hunters_minds() -> RunConfig:
    """`hunters`, who are told what the others are after and what they will do (HOP without planning)."""
    return _hunters(mind="belief")


def hunters_near() -> RunConfig:
    """`hunters_minds`, who ask only about goals that are near to somebody."""
    return _hunters(mind="belief", mind_gate=4.0, mind_room=0.35)


def hunters_spatial() -> RunConfig:
    """`hunters_minds`, who read what the others are after off their last steps, by a network instead of Bayes' rule."""
    return _hunters(mind="spatial")


def hunters_taught() -> RunConfig:
    """`hunters_minds`, in whose place scripted hunters play first, while the minds learn to read them."""
    return _hunters(mind="belief", stages=("play=nearest_stag until steps > 400k", ""))


def hunters_one_mind() -> RunConfig:
    """One hunter with a mind among three plain ones."""
    return _hunters(learner=("hunter_0.mind=belief",))


def hunters_one_plain() -> RunConfig:
    """One plain hunter among three with minds."""
    return _hunters(mind="belief", learner=("hunter_0.mind=none",))


def _hunters(**mind: Any) -> RunConfig:
    return default_config("stag_hunt", share="seat", total_steps=4_000_000, worlds=128, eval_every=50, **mind)
