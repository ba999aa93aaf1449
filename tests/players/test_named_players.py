"""Players by name: whoever a text names plays with exactly the weights that were kept, and nobody else's."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load, save

from sparring.core.errors import ConfigError, RunError
from sparring.core.plain import to_plain
from sparring.core.settings import to_toml
from sparring.games.matrix import matching_pennies, prisoners_dilemma, rock_paper_scissors
from sparring.league.player import Player
from sparring.league.pool import Pool
from sparring.nets.config import NetConfig
from sparring.players.named import Entrant, entrant, entrants, game_of, save_entrant
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.setup.named_arrays import to_arrays
from sparring.store.checkpoints import save as save_checkpoint
from sparring.store.packages import PlayerMeta, read_package, write_package
from sparring.store.run_dir import RunDir
from sparring.studies.against import against

RPS, PENNIES = "matrix:rock_paper_scissors", "matrix:matching_pennies"
CONFIG = RunConfig(
    game=RPS, seed=7, seeds=2, play=PlayConfig(worlds=2, steps=4), net=NetConfig(hidden=(4,), normalise=True)
)


def config_for(game: str, **changes) -> RunConfig:
    return replace(CONFIG, game=game, **changes)


def write_run(path: Path, config: RunConfig, iterations=(100, 200), **meta) -> dict[int, dict[str, np.ndarray]]:
    """A run that was never trained, with other weights in each checkpoint, seed and learner. Its arrays."""
    built = build(config)
    state = first_state(built)
    run = RunDir.create(path)
    run.write_text(run.config_path, to_toml(config))
    run.write_manifest({"steps_per_iteration": 10})
    players = [
        {"name": name, "group": group, "row": row}
        for group, names in enumerate(built.lineup.learners)
        for row, name in enumerate(names)
    ]
    written = {}
    for iteration in iterations:
        arrays = {
            name: array + np.asarray(iteration, array.dtype) * (array.dtype.kind == "f")
            for name, array in to_arrays(state).items()
        }
        if "opposition" in meta:  # two past selves, and a shadow
            arrays |= {
                name.replace("learners.0.model.actor", part): np.repeat(array, 2, axis=1) * factor
                for name, array in arrays.items()
                if name.startswith("learners.0.model.actor.")
                for part, factor in (("pool", 3), ("learners.0.shadow", 5))
            }
            arrays |= {name: a + np.arange(2).reshape(1, 2, *[1] * (a.ndim - 2)).astype(a.dtype)
                       for name, a in arrays.items() if name.startswith("pool.")}  # fmt: skip
        told = {"players": players, "seeds": [int(seed) for seed in built.seeds_R], **meta}
        save_checkpoint(run.checkpoints_path, iteration, arrays, told, keep=9)
        written[iteration] = arrays
    return written


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def duel(runs):
    """The arrays of a run of one learner."""
    return write_run(runs / "duel", CONFIG)


@pytest.fixture(scope="module")
def pennies(runs):
    """The arrays of a run of two learners, one a side."""
    return write_run(runs / "pennies", config_for(PENNIES), (100,))


@pytest.fixture(scope="module")
def rps():
    return rock_paper_scissors()


def assert_plays(player: Entrant, arrays, index, prefix="learners.0.model.actor.") -> None:
    found = to_arrays(player.policy)
    assert len(found) > 4
    for name, array in found.items():
        np.testing.assert_array_equal(array, arrays[prefix + name][index])


@pytest.mark.parametrize(
    ("tail", "iteration", "index", "name"),
    [
        ("", 200, (0, 0), "duel"),
        (":learner", 200, (0, 0), "duel:learner"),
        ("@100", 100, (0, 0), "duel@100"),
        ("#8", 200, (1, 0), "duel#8"),
        (":learner@100#8", 100, (1, 0), "duel:learner@100#8"),
        ("#7@100:learner", 100, (0, 0), "duel:learner@100#7"),
    ],
)
def test_a_learner_of_a_run_has_the_weights_of_its_checkpoint_seed_and_row(
    runs, duel, rps, tail, iteration, index, name
):
    player = entrant(f"{runs / 'duel'}{tail}", rps, RPS)
    assert (player.name, player.kind, player.sides) == (name, "run", (0, 1))
    assert player.meta is not None and player.meta.steps == 10 * iteration and player.meta.run == "duel"
    assert_plays(player, duel[iteration], index)


def test_all_seeds_of_a_run_take_part_at_one_checkpoint_or_at_all(runs, duel, rps):
    found = entrants([f"{runs / 'duel'}#all"], rps, RPS)
    assert list(found) == ["duel#7", "duel#8"]
    for row, player in enumerate(found.values()):
        assert_plays(player, duel[200], (row, 0))
    assert list(entrants([f"{runs / 'duel'}:learner@100#all"], rps, RPS)) == [
        "duel:learner@100#7", "duel:learner@100#8"
    ]  # fmt: skip
    everything = entrants([f"{runs / 'duel'}@all#all"], rps, RPS)
    assert set(everything) == {"duel@100#7", "duel@100#8", "duel@200#7", "duel@200#8"}
    assert game_of([f"{runs / 'duel'}#all"]) == (RPS, ())
    with pytest.raises(RunError, match=r"Did you mean .*duel"):
        entrants([f"{runs / 'duell'}#all"], rps, RPS)


def test_learners_of_unlike_sides_are_told_apart_and_know_their_side(runs, pennies):
    game = matching_pennies()
    for row, name in enumerate(("seat_0", "seat_1")):
        player = entrant(f"{runs / 'pennies'}:{name}", game, PENNIES)
        assert player.sides == (row,)
        assert_plays(player, pennies[100], (0, row))
    with pytest.raises(ConfigError, match=r"has the learners seat_0, seat_1. Name one: .*pennies:seat_0"):
        entrant(str(runs / "pennies"), game)


def test_shadows_and_past_selves_are_players_of_their_run(tmp_path, rps):
    pools = []
    for r in (0, 1):
        first, second = Player("past", 0, "past-30", 0, 30), Player("past", 1, f"past-{60 + r}", 0, 60)
        guest = Player("guest", 0, "guest", born=60)
        pools.append(to_plain(Pool((first, second, guest), {first: 0, second: 1, guest: 1})))
    leagues = [{"state": {"pool": pool}} for pool in pools]
    arrays = write_run(tmp_path / "a", CONFIG, (100,), opposition={"leagues": leagues})[100]
    shadow = entrant(f"{tmp_path / 'a'}:learner.shadow", rps)
    assert_plays(shadow, arrays, (0, 0), "learners.0.shadow.")
    for text, place in ((":past-30", (0, 0)), (":past-60", (0, 1)), (":past-61#8", (1, 1))):
        assert_plays(entrant(f"{tmp_path / 'a'}{text}", rps), arrays, place, "pool.")
    assert entrant(f"{tmp_path / 'a'}:past-30", rps).meta.steps == 30  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(ConfigError, match=r"Unknown player of .* 'past-61'. Did you mean 'past-60'"):
        entrant(f"{tmp_path / 'a'}:past-61", rps)
    with pytest.raises(ConfigError, match="Unknown player"):  # its weights are not in that row of the pool
        entrant(f"{tmp_path / 'a'}:guest", rps)


def test_a_folder_may_have_any_name(tmp_path, rps):
    arrays = write_run(tmp_path / "a:b@5#1", CONFIG, (100, 200))
    assert_plays(entrant(f"{tmp_path}/a:b@5#1", rps), arrays[200], (0, 0))
    assert_plays(entrant(f"{tmp_path}/./a:b@5#1/@100#8", rps), arrays[100], (1, 0))


def test_a_bot_knows_the_sides_it_is_written_for(rps):
    assert entrant("always_1", rps).sides == (0, 1)
    assert entrant("random", rps).kind == "bot"


def test_a_package_of_a_learner_is_the_same_player(runs, duel, tmp_path, rps):
    source = entrant(f"{runs / 'duel'}@100#8", rps, RPS)
    path = save_entrant(source, tmp_path / "old.safetensors")
    player = entrant(str(path), rps, RPS)
    assert (player.name, player.kind, player.sides) == ("old", "package", (0, 1))
    assert player.meta == source.meta
    assert player.meta == PlayerMeta(
        game=RPS, net=json.loads(json.dumps(player.meta.net)), player="learner", sides=(0, 1), steps=1000, run="duel"
    )
    assert_plays(player, duel[100], (1, 0))
    with pytest.raises(ConfigError, match="is a bot"):
        save_entrant(entrant("random", rps), tmp_path / "bot.safetensors")


@pytest.mark.usefixtures("duel", "pennies")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{runs}/deul", "No player at {runs}/deul. Did you mean {runs}/duel?"),
        ("{runs}/deul:learner@100", "Did you mean {runs}/duel?"),
        ("{runs}/xyz", "No player at {runs}/xyz. In {runs} there are: duel, pennies."),
        ("{runs}/none/duel", "{runs}/none has no runs or packages."),
        ("{runs}/duel.safetensors", "No player at"),
        ("alwys_1", "Did you mean 'always_1'?"),
        ("{runs}/duel@7", "keeps no checkpoint of iteration 7. It has: 100, 200."),
        ("{runs}/duel#3", "has the seeds 7, 8, not 3"),
        ("{runs}/duel:lerner", "Did you mean 'learner'?"),
        ("{runs}/duel:learner.shadow", "Did you mean 'learner'?"),
        ("{runs}/duel@x", "RUN:PLAYER@ITERATION#SEED"),
        ("{runs}/duel#", "RUN:PLAYER@ITERATION#SEED"),
        ("{runs}", "is not a run"),
        ("{runs}/duel/config.toml", "is not a player package"),
        ("{runs}/pennies:seat_0", "plays matrix:matching_pennies, not matrix:rock_paper_scissors"),
    ],
)
def test_what_is_no_player_gets_a_sentence(runs, rps, text, told):
    with pytest.raises((ConfigError, RunError)) as caught:
        entrant(text.format(runs=runs), rps, RPS)
    assert told.format(runs=runs) in str(caught.value)


def test_a_damaged_checkpoint_is_passed_over_with_a_remark_or_named(tmp_path, rps):
    arrays = write_run(tmp_path / "a", CONFIG)
    file = tmp_path / "a" / "checkpoints" / "000200" / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    player = entrant(str(tmp_path / "a"), rps)
    assert_plays(player, arrays[100], (0, 0))
    assert "000200 is damaged" in player.remarks[0]
    with pytest.raises(RunError, match="000200 is damaged"):
        entrant(f"{tmp_path / 'a'}@200", rps)


@pytest.mark.parametrize(
    ("game", "told"),
    [
        (rock_paper_scissors(rounds=2), "with features 1, and this game has 7"),
        (prisoners_dilemma(), "with action heads (3,), and this game has (2,)"),
    ],
)
def test_a_game_of_other_observations_or_actions_is_refused_even_without_a_name(runs, duel, game, told):
    del duel
    with pytest.raises(ConfigError) as caught:
        entrant(str(runs / "duel"), game)
    assert told in str(caught.value)


def forged(path: Path, source: Path, *, arrays=lambda arrays: arrays, **meta) -> Path:
    """A package with something in it changed."""
    own, told = read_package(source)
    header = {"format": "sparring-player", "version": "1", "player": json.dumps({**vars(told), **meta})}
    path.write_bytes(save(arrays(dict(own)), header))
    return path


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"game": "kuhn"}, "plays kuhn, not matrix:rock_paper_scissors"),
        ({"options": ["rounds=3"]}, "with features 7, and this game has 1"),
        ({"options": ["rounds=often"]}, "was made for a game that there is not"),
        ({"net": {"hidden": [5], "normalise": True}}, "expected float32[1, 5]"),
        ({"net": {"hidden": [4]}}, "for which its network has no place"),
        ({"net": {"hidden": [4, 4], "normalise": True}}, "has no array"),
        ({"net": {"hidden": [10**6, 10**6]}}, "the network it names has 1,000,002,000,000 or more (3,814,704 MiB)"),
        ({"net": {"hidden": [4], "memory": "gru", "memory_size": 10**6}}, "names has 1,000,000,000,004 or more"),
        ({"net": {"hidden": [-5]}}, "hidden must be at least 1, found -5"),
        ({"net": {"hidden": [4], "initial_std": 0.0}}, "initial_std must be above 0, found 0.0"),
        ({"options": ["rounds=1_000_000"]}, "holds 26 weights, too few for a game with rounds=1_000_000"),
        ({"net": {"hidden": [4], "depth": 2}}, "unknown setting 'depth'"),
        ({"net": {"hidden": "wide"}}, "hidden must be a list"),
        ({"sides": [7]}, "says it drives the sides [7] of 2"),
        ({"arrays": lambda a: {**a, "extra": np.zeros(1, np.float32)}}, "'extra', for which its network has no place"),
        ({"arrays": lambda a: dict(list(a.items())[1:])}, "has no array"),
    ],
)
def test_a_forged_package_is_refused(runs, duel, rps, tmp_path, changes, told):
    del duel
    source = save_entrant(entrant(str(runs / "duel"), rps), tmp_path / "true.safetensors")
    path = forged(tmp_path / "forged.safetensors", source, **changes)
    with pytest.raises((ConfigError, RunError)) as caught:
        entrant(str(path), rps, RPS)
    assert told in str(caught.value) and str(path) in str(caught.value)


def test_weights_that_are_not_finite_do_not_play(tmp_path, rps):
    write_run(tmp_path / "a", CONFIG, (100,))
    file = tmp_path / "a" / "checkpoints" / "000100" / "arrays.safetensors"
    arrays = {name: array * np.asarray(np.nan if array.dtype.kind == "f" else 1, array.dtype)
              for name, array in load(file.read_bytes()).items()}  # fmt: skip
    meta = json.loads((file.parent / "checkpoint.json").read_text())["meta"]
    save_checkpoint(tmp_path / "a" / "checkpoints", 100, arrays, meta, keep=1)
    with pytest.raises(RunError, match="not finite"):
        entrant(str(tmp_path / "a"), rps)


def test_all_that_a_run_has_kept_takes_part(tmp_path, rps):
    write_run(tmp_path / "a", CONFIG)
    save_entrant(entrant(f"{tmp_path / 'a'}@100", rps), tmp_path / "a" / "players" / "veteran.safetensors")
    found = entrants([f"{tmp_path / 'a'}@all", "random"], rps, RPS)
    assert list(found) == ["a@100", "a@200", "a:veteran", "random"]
    assert [player.kind for player in found.values()] == ["run", "run", "package", "bot"]


def test_names_that_collide_are_written_out_and_nobody_comes_twice(tmp_path, rps):
    for folder in "ab":
        write_run(tmp_path / folder / "same", CONFIG, (100,))
    texts = [f"{tmp_path}/a/same", f"{tmp_path}/b/same", "random"]
    assert list(entrants(texts, rps)) == texts
    with pytest.raises(ConfigError, match="is named twice"):
        entrants(["random", "random"], rps)


def test_the_game_is_that_of_the_first_run_or_package(runs, duel, pennies, tmp_path):
    del duel, pennies
    meta = PlayerMeta(game="kuhn", options=("x=1",), net={"hidden": [1]}, player="p")
    package = write_package(tmp_path / "x.safetensors", {"w": np.zeros(1, np.float32)}, meta)
    assert game_of(["random", f"{runs / 'pennies'}:seat_0@100", str(package)]) == (PENNIES, ())
    assert game_of(["random", str(package), str(runs / "duel")]) == ("kuhn", ("x=1",))
    assert game_of([f"{runs / 'duel'}@all"]) == (RPS, ())
    assert game_of(["random", "none"]) is None


def certain(state, choices: dict[tuple[int, int], int]):
    """The state with learners (place of the seed, row) that always make one choice, by the bias of their heads."""
    (learners,) = state.learners
    head = learners.model.actor.head
    bias = jnp.zeros_like(head.bias_O)
    for (place, row), choice in choices.items():
        bias = bias.at[place, row, choice].set(50.0)
    weights = jax.tree.map(jnp.zeros_like, head.weight_IO)
    actor = replace(learners.model.actor, head=replace(head, weight_IO=weights, bias_O=bias))
    return state._replace(learners=(learners._replace(model=replace(learners.model, actor=actor)),))


def test_a_learner_meets_named_players_from_both_sides(rps):
    built = build(CONFIG)
    state = certain(first_state(built), {(0, 0): 1, (1, 0): 1})  # paper
    opponents = entrants(["always_0", "always_2", "random"], rps)
    scores = against(built, state, opponents, games=3, seed=0)
    assert [(s.opponents, s.games) for s in scores] == [("always_0", 12), ("always_2", 12), ("random", 12)]
    assert [(s.wins, s.losses) for s in scores[:2]] == [(12, 0), (0, 12)]  # 3 games, 2 sides, 2 seeds
    assert [s.mean_return.mean for s in scores[:2]] == [1.0, -1.0]


def test_on_unlike_sides_a_named_player_takes_only_its_own(runs, pennies):
    del pennies
    game = matching_pennies()
    built = build(config_for(PENNIES, seeds=1))
    state = certain(first_state(built), {(0, 0): 0, (0, 1): 0})  # the first wins where they match
    scores = against(built, state, entrants(["always_1"], game), games=4, seed=0)
    assert [(s.side, s.wins, s.losses) for s in scores] == [(1, 4, 0), (0, 0, 4)]
    guest = entrants([f"{runs / 'pennies'}:seat_0"], game)
    assert [s.side for s in against(built, state, guest, games=2, seed=0)] == [1]
    half = build(config_for(PENNIES, seats=SeatsConfig(opponent="random", side=0)))
    with pytest.raises(ConfigError, match=r"can drive the sides \[0\] .* learners \[0\] of 2: they cannot meet"):
        against(half, first_state(half), guest, games=2, seed=0)
