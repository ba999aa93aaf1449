"""sparring replay: what it prints and leaves, who plays, and what it refuses."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from sparring.cli.replay import driven_by, teams_of
from sparring.core.errors import ConfigError
from sparring.core.settings import to_toml
from sparring.players.named import entrant
from sparring.reports.replay import read_replay
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import SeatsConfig
from sparring.setup.named_arrays import to_arrays
from sparring.store.checkpoints import save
from sparring.store.run_dir import RunDir
from sparring.training.runs import facts

STEPS = 6


@pytest.fixture(scope="module")
def tag_run(tiny, tmp_path_factory) -> Path:
    """A run of tag that has not learned yet. Look, but do not write."""
    config = replace(tiny, game="particles:tag", options=("predators=2", f"steps={STEPS}"))
    built, run = build(config), RunDir.create(tmp_path_factory.mktemp("runs") / "tag")
    run.write_text(run.config_path, to_toml(config))
    run.write_manifest(facts(built))
    players = [{"name": name, "group": k, "row": 0} for k, (name,) in enumerate(built.lineup.learners)]
    meta = {"players": players, "seeds": [0]}
    save(run.checkpoints_path, 1, to_arrays(first_state(built)), meta, keep=1)
    return run.path


@pytest.fixture
def own_tag(tag_run, tmp_path) -> Path:
    return Path(shutil.copytree(tag_run, tmp_path / "own"))


def test_a_replay_leaves_a_moving_picture_and_its_scenes_in_the_run_and_says_how_it_ended(sparring, own_tag):
    said = sparring("replay", own_tag)
    picture, scenes = own_tag / "replays" / "self-1.gif", own_tag / "replays" / "self-1.jsonl"
    ending, *rest = said.out.splitlines()
    assert said.code == 0 and said.err == "" and rest == [f"picture  {picture}", f"scenes   {scenes}"]
    assert ending.startswith("over after 6 steps; return of a seat: predator (learned) ")
    with Image.open(picture) as gif:
        assert gif.n_frames == STEPS + 1
    found = read_replay(scenes)
    assert (found.game, found.sides, found.players) == ("particles:tag", ("predator", "prey"), ("learned", "learned"))


def test_with_json_a_replay_prints_one_object(sparring, own_tag, tmp_path):
    said = sparring("replay", own_tag, "--against", "chase", "--json", "--most-frames", 3, "--out", tmp_path / "a.GIF")
    told = json.loads(said.out)
    assert said.err == "" and told["players"] == ["chase", "learned"] and told["steps"] == STEPS
    assert (told["frames"], told["picture"], told["scenes"]) == (3, str(tmp_path / "a.GIF"), str(tmp_path / "a.jsonl"))
    assert told["outcome"] == told["causes"] == [] and len(told["returns"]) == 2
    assert not (own_tag / "replays").exists()


def test_a_game_repeats_itself_and_follows_its_seed(sparring, own_tag, tmp_path):
    def scenes(seed: int, *flags: str) -> str:
        sparring("replay", own_tag, "--seed", seed, "--out", tmp_path / "a.gif", *flags)
        return (tmp_path / "a.jsonl").read_text()

    first = scenes(5)
    assert first == scenes(5) != scenes(6)
    assert scenes(5, "--deterministic") != first


def test_saved_scenes_can_be_drawn_again_at_another_pace(sparring, own_tag):
    sparring("replay", own_tag)
    picture, scenes = own_tag / "replays" / "self-1.gif", own_tag / "replays" / "self-1.jsonl"
    before = scenes.read_bytes()
    for fps, pause in ((4, 250), (20, 50)):
        said = sparring("replay", scenes, "--fps", fps)
        assert said.code == 0 and said.out.splitlines()[1:] == [f"picture  {picture}", f"scenes   {scenes}"]
        with Image.open(picture) as gif:
            assert gif.info["duration"] == pause
    assert scenes.read_bytes() == before


@pytest.mark.parametrize(
    ("bot", "side", "teams"),
    [
        ("", -1, ("learned", "learned")),
        ("random", -1, ("learned", "random")),
        ("random", 1, ("random", "learned")),
        ("flee", -1, ("learned", "flee")),
        ("chase", -1, ("chase", "learned")),
    ],
)
def test_a_bot_takes_the_side_it_is_written_for_and_the_learners_keep_the_other(tiny, bot, side, teams):
    built = build(replace(tiny, game="particles:tag"))
    assert teams_of(built, entrant(bot, built.game) if bot else None, side) == teams


def test_seats_that_learn_by_themselves_are_driven_by_themselves(tiny):
    built = build(replace(tiny, game="particles:tag", seats=SeatsConfig(share="seat")))
    teams = teams_of(built, entrant("flee", built.game), -1)
    assert driven_by(built, teams) == ("predator_0", "predator_1", "predator_2", "flee")


def test_where_one_side_learned_its_opponent_drives_the_other(tiny):
    built = build(replace(tiny, game="particles:tag", seats=SeatsConfig(opponent="flee", side=0)))
    assert teams_of(built, None, -1) == ("learned", "flee")
    with pytest.raises(ConfigError, match=r"side must be one that learned, of \[0\]"):
        teams_of(built, entrant("random", built.game), 1)
    with pytest.raises(ConfigError, match="'chase' cannot drive the side opposite"):
        teams_of(built, entrant("chase", built.game), -1)


def test_where_there_is_one_side_nobody_can_be_against_it(tiny):
    with pytest.raises(ConfigError, match="one side"):
        built = build(replace(tiny, game="particles:spread"))
        teams_of(built, entrant("nearest", built.game), -1)


def test_another_run_s_player_can_be_played_against(sparring, own_tag, tag_run):
    said = sparring("replay", own_tag, "--against", f"{tag_run}:prey", "--json")
    told = json.loads(said.out)
    assert told["players"] == ["learned", "tag:prey"]
    assert Path(told["picture"]) == own_tag / "replays" / "tag-prey-1.gif"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--against chsae", "Unknown player 'chsae'. Did you mean 'chase'?"),
        ("--seed -1", "seed must be from 0"),
        ("--fps 0", "fps must be from 0.1 to 50, found 0."),
        ("--fps 51", "fps must be from 0.1 to 50, found 51."),
        ("--most-frames 1", "most_frames must be from 2"),
        ("--out picture.png", "ends in .gif, found picture.png"),
        ("--against chase --side 0", "'chase' cannot drive the side opposite"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(sparring, own_tag, flags, told):
    said = sparring("replay", own_tag, *flags.split())
    assert told in said.sentence() and said.code == (3 if "Unknown player" in told else 2)
    assert not (own_tag / "replays").exists()


def test_a_game_without_scenes_is_refused_with_what_to_do(sparring, trained):
    said = sparring("replay", trained)
    assert "draws no scenes" in said.sentence() and "scene(state)" in said.err and said.code == 2


def test_a_file_that_is_no_replay_is_refused(sparring, tmp_path):
    (tmp_path / "notes.jsonl").write_text('{"mine": 1}\n')
    said = sparring("replay", tmp_path / "notes.jsonl")
    assert "is not a replay" in said.sentence() and said.code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]


def test_a_run_that_is_not_there_gets_the_nearest_one(sparring, tag_run):
    said = sparring("replay", tag_run.with_name("tga"))
    assert said.code == 3 and f"Did you mean {tag_run}?" in said.sentence()


def test_a_place_that_cannot_be_written_is_named(sparring, own_tag, tmp_path):
    (tmp_path / "file").write_text("")
    said = sparring("replay", own_tag, "--out", tmp_path / "file" / "a.gif")
    assert said.code == 3 and "--out" in said.sentence() and str(tmp_path / "file") in said.err
