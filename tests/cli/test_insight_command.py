"""sparring insight: what a run with minds understood, in one object, one page and words."""

import json
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.console import Console

from sparring.cli.main import main
from sparring.reports import insight
from sparring.studies.insight import verdict

SHAPE = (
    "--worlds",
    "4",
    "--steps",
    "12",
    "--minibatches",
    "2",
    "--hidden",
    "8",
    "--eval-games",
    "0",
    "--options",
    "steps=6",
)
LITTLE = ("--total-steps", "192", "--quiet")


@pytest.fixture(scope="module")
def minded(tmp_path_factory) -> Path:
    """A run with a mind, against a bot."""
    place = tmp_path_factory.mktemp("runs")
    mind = ("--opponent", "greedy", "--mind", "belief", "--mind-size", "4", "--mind-buffer", "64", "--mind-batch", "16")
    assert main(["train", "coin", *SHAPE, *LITTLE, *mind, "--runs", str(place), "--name", "minded"]) == 0
    return place / "minded"


def test_measures_are_told_in_an_object_and_on_a_page(sparring, minded) -> None:
    said = sparring("insight", minded, "--against", "greedy", "own", "--worlds", "3", "--games", "2", "--json")
    found = json.loads(said.out)
    assert set(found["against"]) == {"greedy", "own"}
    greedy, own = found["against"]["greedy"], found["against"]["own"]
    assert greedy["seen_in_training"] and not own["seen_in_training"]
    # Greedy takes a shortest way, either of two alike: its own rule foresees it far better than a beginner does.
    assert (
        greedy["actions"]["choices"] == 1.0 and greedy["actions"]["nll_rule"] <= 0.7 < greedy["actions"]["nll_uniform"]
    )
    assert set(greedy["return"]) == {"own", "oracle", "shuffled", "zero", "forgetful"}
    assert len(greedy["return_by_game"]["own"]) == 2
    assert greedy["return_by_game"]["own"][0] == greedy["return_by_game"]["forgetful"][0]
    page = Path(found["page"]).read_text(encoding="utf-8")
    assert "What they do next" in page and "data:image/png" in page and found["verdict"]["sentences"][0][:20] in page


def test_names_of_co_players_are_never_cut() -> None:
    names, values = ("nearest_hare", "nearest_stag"), {name: f"{i}.000001" for i, name in enumerate("abcdefgh")}
    with patch.object(
        insight, "tables", return_value={"t": (["co-player", *values], [[x, *values.values()] for x in names])}
    ):
        console = Console(width=70, file=(said := StringIO()))
        console.print(insight.terminal({"verdict": {"sentences": []}}))
    assert all(name in said.getvalue() for name in names)


def test_where_no_co_player_was_met_the_one_foreseen_least_is_named_too() -> None:
    def one(skill: float) -> dict:
        return {
            "seen_in_training": False,
            "actions": {"skill": skill, "skill_of_rule": 1.0},
            "gained": {"shuffled": [0, 0, 0]},
        }

    said = verdict({"against": {"stay": one(-500.0), "herd": one(0.6), "grab": one(-3.0)}})["sentences"]
    assert said[0].startswith("It foresees what herd does") and "stay is foreseen least: skill below -99." in said[-1]
    assert "least" not in verdict({"against": {"herd": one(0.6)}})["sentences"][-1]


def test_a_run_without_a_mind_and_impossible_tables_are_refused(sparring, minded, trained) -> None:
    assert "--mind belief" in sparring("insight", trained).sentence()
    assert "2 worlds" in sparring("insight", minded, "--worlds", "1").sentence()


def test_where_a_game_lists_no_goals_what_they_do_is_understood_all_the_same(sparring, tmp_path) -> None:
    mind = ("--mind", "belief", "--mind-goals", "none", "--mind-size", "4", "--mind-buffer", "64", "--mind-batch", "16")
    settings = (*SHAPE[:-2], *LITTLE, *mind, "--runs", tmp_path, "--name", "dilemma", "--options", "rounds=2")
    sparring("train", "matrix:prisoners_dilemma", *settings)
    run = tmp_path / "dilemma"
    said = sparring("insight", run, "--against", "tit_for_tat", "--worlds", "2", "--games", "2", "--json")
    found = json.loads(said.out)["against"]["tit_for_tat"]
    assert found["actions"]["choices"] == 1.0 and "goals" not in found
    assert "lists none. Leave --learned out" in sparring("insight", run, "--learned", "--worlds", "2").sentence()


def test_a_co_player_without_goals_does_not_shift_the_colours_of_the_others(monkeypatch):
    from sparring.reports import insight

    drawn = []
    monkeypatch.setattr(insight, "png", drawn.append)
    insight._reliability({"stay": (), "herd": [[0.2, 0.1], [0.5, 0.7]]})
    (axis,) = drawn[0].axes
    assert [(line.get_label(), line.get_color()) for line in axis.lines[1:]] == [("herd", "C1")]
