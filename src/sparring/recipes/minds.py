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


def _hunters(**mind: Any) -> RunConfig:
    return default_config("stag_hunt", share="seat", total_steps=4_000_000, worlds=128, eval_every=50, **mind)
