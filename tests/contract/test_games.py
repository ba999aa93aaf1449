"""Every game of the registry keeps the contract, also with the options that change its shape."""

import pytest

from sparring.games import registry
from sparring.games.contract import check_game

VARIANTS = (
    ("kuhn", {"positions": "fixed"}),
    ("matrix:coordination", {"players": 3, "rounds": 3}),
    ("matrix:matching_pennies", {"rounds": 3}),
    ("particles:adversary", {"agents": 3, "steps": 5}),
    ("particles:reference", {"continuous": True, "steps": 5}),
    ("particles:speaker_listener", {"continuous": True, "steps": 5}),
    ("particles:spread", {"agents": 2, "continuous": True, "steps": 5}),
    ("particles:tag", {"predators": 2, "prey": 2, "obstacles": 1, "continuous": True, "steps": 5}),
    ("particles:world_comm", {"predators": 3, "prey": 1, "obstacles": 0, "forests": 0, "continuous": True, "steps": 5}),
)


@pytest.mark.parametrize("name", registry.available())
def test_a_registered_game_keeps_the_contract(name: str) -> None:
    check_game(registry.make(name), worlds=4, games=2)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_options_keep_the_contract(name: str, options: dict) -> None:
    check_game(registry.make(name, **options), worlds=4, games=2)
