"""How short a battle can be."""

import pytest

from sparring.games.skirmish.army import Army
from sparring.games.skirmish.maps import MAPS
from sparring.games.skirmish.starts import least_steps


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        # Three marines: 135 health, the first volley takes 18, then 18 in 13.776 - 1 loops: 83.04 loops, 10.4 steps.
        ("3m", 10),
        # A zealot of 150 against 12 a volley: 138 / (12 / 12.776) = 146.9 loops. Two marines, 90 together, against
        # two hits of 8: 74 / (16 / 18.2) = 84.2 loops, 10.5 steps.
        ("2m_vs_1z", 10),
        # 2 stalkers and 3 zealots: 770; 2 x 18 + 3 x 16 = 84 a volley; 686 / (36 / 28.92 + 48 / 18.2) = 176.7 loops.
        ("2s3z", 22),
        # Medivacs need not fall: 250 + 315 = 565; 2 x 20 + 7 x 6 = 82; 483 / (40 / 23 + 42 / 12.776) = 96.1 loops.
        ("MMM", 12),
        ("bane_vs_bane", 1),
        ("1c3s5z", 1),
    ],
)
def test_no_battle_is_shorter_than_its_fire_allows(name: str, steps: int) -> None:
    assert least_steps(Army(MAPS[name], smaclite=False, drawn=False)) == steps


def test_what_is_drawn_has_no_such_bound() -> None:
    assert least_steps(Army(MAPS["3m"], smaclite=False, drawn=True)) == 1
