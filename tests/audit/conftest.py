"""What audits of minds share."""

from dataclasses import replace

import pytest

from sparring.core.schedules import Schedule
from sparring.opponent_models.config import MindConfig
from sparring.setup.config import RunConfig, SeatsConfig


@pytest.fixture(scope="session")
def hunters(tiny) -> RunConfig:
    """Three hunters with all that a mind may have: beliefs, imagination, pay for influence, a gate."""
    mind = MindConfig(
        mind="belief", mind_size=4, mind_buffer=40, mind_batch=8, mind_updates=2, mind_gate=3.0, mind_replies=True,
        imagine="learned", imagine_size=4, imagine_members=2, imagine_updates=2,
    )  # fmt: skip
    paid = replace(tiny.ppo, influence=Schedule.parse("0 -> 0.1"), imagine_length=Schedule.parse("2"))
    options = ("size=4", "hunters=3", "hares=2", "walls=0", "steps=6")
    return replace(tiny, game="stag_hunt", options=options, seats=SeatsConfig(share="seat"), ppo=paid, mind=mind)
