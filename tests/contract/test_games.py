"""Every game of the registry keeps the contract, also with the options that change its shape."""

import os
import subprocess
import sys

import pytest

from sparring.games import registry
from sparring.games.contract import check_game

VARIANTS = (
    ("dark_hex", {"variant": "abrupt", "rows": 2, "columns": 3, "positions": "fixed"}),
    ("phantom_tic_tac_toe", {"variant": "abrupt"}),
    ("goofspiel", {"cards": 13, "points_order": "descending", "returns_type": "point_difference"}),
    ("kuhn", {"positions": "fixed"}),
    ("leduc", {"positions": "fixed"}),
    ("liars_dice", {"faces": 3, "dice": 2, "positions": "fixed"}),
    ("matrix:coordination", {"players": 3, "rounds": 3}),
    ("matrix:matching_pennies", {"rounds": 3}),
    ("particles:adversary", {"agents": 3, "steps": 5}),
    ("particles:reference", {"continuous": True, "steps": 5}),
    ("particles:speaker_listener", {"continuous": True, "steps": 5}),
    ("particles:spread", {"agents": 2, "continuous": True, "steps": 5}),
    ("particles:tag", {"predators": 2, "prey": 2, "obstacles": 1, "continuous": True, "steps": 5}),
    ("particles:world_comm", {"predators": 3, "prey": 1, "obstacles": 0, "forests": 0, "continuous": True, "steps": 5}),
    ("skirmish:MMM", {"opponent": "policy"}),
    ("skirmish:3s_vs_4z", {"random_types": True, "opponent": "policy", "state_kind": "feature_pruned"}),
)
FAMILY = [name for names in registry.overview().values() if len(names) > 1 for name in names]
"""Games that one function makes: they differ in size alone, so that some stand for all."""
CHOSEN = ("skirmish:3m", "skirmish:corridor")
OPTIMISED = ("skirmish:3m", "skirmish:MMM")
"""Battles against the script and against a second side of learners, of units alike and of several kinds."""


EAGER = ("kuhn", "matrix:prisoners_dilemma", "particles:tag", "coin")
"""Games whose steps are also taken without jit, one of each way of writing: that compiles every operation by itself."""


def check(name: str, **options: object) -> None:
    """Two games, or one where it is long. Decisions in battles hang on the last bits of positions, which a compiler may
    round by where a unit stands: two battles are tried as it optimises by itself, the others as all tests are."""
    if name in OPTIMISED and not os.environ.get("OPTIMISED"):
        pytest.skip("run by test_battles_keep_the_contract_as_the_compiler_optimises_by_itself")
    game = registry.make(name, **options)
    check_game(game, worlds=4, games=1 if game.spec.longest > 100 else 2, eager=name in EAGER)


@pytest.mark.parametrize("name", [name for name in registry.available() if name not in FAMILY or name in CHOSEN])
def test_a_registered_game_keeps_the_contract(name: str) -> None:
    check(name)


def test_battles_keep_the_contract_as_the_compiler_optimises_by_itself(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", __file__, "-k", "keep and (3m or MMM)", f"--basetemp={tmp_path}"],
        env={**os.environ, "OPTIMISED": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and f"{len(OPTIMISED)} passed" in done.stdout, done.stdout


@pytest.mark.parametrize("name", [name for name in FAMILY if name not in CHOSEN])
def test_the_others_of_a_family_have_the_shapes_they_declare(name: str) -> None:
    check_game(registry.make(name), games=0)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_options_keep_the_contract(name: str, options: dict) -> None:
    check(name, **options)
