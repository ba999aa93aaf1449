"""The page for notebooks runs from top to bottom, and says what it says."""

import re
from pathlib import Path

import matplotlib
import pytest

import sparring

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "notebooks.md"


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """All names after the last block, and the folder it ran in."""
    matplotlib.use("Agg")
    folder, names = tmp_path_factory.mktemp("notebook"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S):
            exec(compile(block, str(PAGE), "exec"), names)
        yield names, folder


def test_the_page_runs_and_leaves_what_it_says(after):
    names, folder = after
    assert (folder / "curves.png").exists()
    assert names["run"].players == ("learner", "learner.shadow")
    assert names["batch"].reward_TWS.shape == (50, 64, 2)


def test_undercut_is_played_as_its_rules_say_and_its_bots_are_met(after):
    """Greedy always names 3, sly 2: sly takes both in every round."""
    undercut = after[0]["undercut"]
    batch = sparring.rollout(undercut, sparring.policy(undercut, "greedy", "sly").act, worlds=3, steps=10)
    assert batch.games == 6 and batch.mean_return_S.tolist() == [-1.0, 1.0]
    assert "greedy" in after[0]["learned"].verdict.learned


def test_the_public_list_is_short_and_every_name_of_it_is_explained():
    names = [name for name in dir(sparring) if not name.startswith("_")]
    assert len(names) <= 25
    unsaid = [name for name in names if (getattr(sparring, name).__doc__ or f"{name}(").startswith(f"{name}(")]
    assert unsaid == []
    assert all(re.search(rf"\b{name}\b", sparring.__doc__ or "") for name in names)
