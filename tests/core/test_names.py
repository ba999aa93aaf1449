"""Names that may become names of files: whatever could lead out of a folder is none."""

import pytest

from sparring.core.names import checked_name, counted, is_file_name, near_names
from sparring.core.plain import from_plain, to_plain
from sparring.league.player import Player

OUT = [
    "../../../X",
    "/X",
    "..",
    ".",
    "a/b",
    "a\\b",
    "C:x",
    ".hidden",
    "",
    "-rf",
    "a\nb",
    "a\x00",
    "x" * 121,
    3,
    None,
    ["a"],
]


@pytest.mark.parametrize("name", OUT)
def test_what_could_lead_out_of_a_folder_is_no_name(name):
    assert not is_file_name(name)
    with pytest.raises(ValueError, match="is not a name of a player"):
        checked_name(name)


@pytest.mark.parametrize(
    "name", ["learner", "past-900", "past-900-main_exploiter", "runs-a-prey-100-3", "seat 0", "größer"]
)
def test_names_that_runs_give_are_names(name):
    assert checked_name(name) == name


def test_a_player_of_a_checkpoint_has_the_types_of_one():
    player = Player("past", 0, "past-3", 0, born=3)
    plain = to_plain(player)
    assert vars(from_plain(Player, plain)) == vars(player)
    for field, value in (("kind", [None]), ("born", "3"), ("number", None), ("pinned", 1), ("name", ["a"])):
        with pytest.raises(ValueError, match=rf"Player\.{field}"):
            from_plain(Player, {**plain, field: value})


def test_of_names_as_alike_the_one_of_nearest_length_is_meant():
    """Both share two thirds of their letters with ase."""
    assert near_names("ase", ["master", "ace"]) == ["ace"] == near_names("ase", ["ace", "master"])
    assert near_names("kuhm", ["kuhn", "leduc"]) == ["kuhn"] and near_names("zzz", ["kuhn"]) == []
    assert near_names("pool", [], n=3) == []


def test_one_is_no_plural():
    assert [counted(n, "run") for n in (0, 1, 2, 1200)] == ["0 runs", "1 run", "2 runs", "1,200 runs"]
