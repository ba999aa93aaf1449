"""Guests from other runs, and the pool as files: whoever joins plays with its own weights, for good and for sure."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import save

from echo_game import echo
from echo_run import CONFIG, PER_ITERATION, KilledError, S, asking, events, left_behind, nothing_happened
from sparring.core.errors import ConfigError, SparringError
from sparring.core.plain import from_plain
from sparring.core.seeding import Seed
from sparring.core.settings import to_dict
from sparring.league.blocks import Block, Draw
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.league import League
from sparring.league.state import LeagueState
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.players.guests import free_name, invite, plain_name
from sparring.players.named import entrant, expanded
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import seat_players
from sparring.store.checkpoints import load
from sparring.store.commands import drop
from sparring.store.packages import PlayerMeta, read_package, write_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.apply import applied
from sparring.training.control import Control
from sparring.training.keeping import keep_players, restore_players
from sparring.training.opposition import Opposition
from sparring.training.packing import packed_orders
from sparring.training.runs import resume, start

OTHER = NetConfig(hidden=(4,), memory="lstm", memory_size=4)


def package(path: Path, net: NetConfig = CONFIG.net, *, seed: int = 9, game: str = "echo", **changes) -> Path:
    """A player that was never trained."""
    arrays = to_arrays(Actor.make(Seed.of(seed), echo().spec, net))
    return write_package(path, {**arrays, **changes}, PlayerMeta(game=game, net=to_dict(net), player="learner"))


def invited_run(tmp_path: Path, *packages: Path) -> tuple[RunDir, Opposition]:
    run = RunDir.create(tmp_path / "run")
    built = build(CONFIG, game=echo())
    for path in packages:
        invite(run, entrant(str(path), built.game), str(path))
    return run, Opposition.begin(built)


def test_guests_that_are_built_like_the_learner_take_rows_of_the_pool(tmp_path):
    paths = [package(tmp_path / f"{name}.safetensors", seed=seed) for name, seed in (("a", 1), ("b", 2))]
    run, opposition = invited_run(tmp_path, *paths)
    plan = opposition.built.plan
    (joined,) = Control.of(run, 0).obey(opposition, 0)
    assert [(one.player.name, one.player.kind, one.player.number) for one in joined] == [
        ("a", "guest", 0), ("b", "guest", 1),
    ]  # fmt: skip
    assert opposition.built.plan is plan  # nothing recompiles
    state = first_state(opposition.built)
    after = applied(state, [tuple(joined)], opposition, pytest.fail)
    for name, rows in to_arrays(after.pool).items():
        for one, path in zip(joined, paths, strict=True):
            np.testing.assert_array_equal(rows[0, one.row], read_package(path)[0][name])
        np.testing.assert_array_equal(rows[0, 2], to_arrays(state.pool)[name][0, 2])


def test_guests_of_another_kind_share_a_roster_and_sit_where_the_league_puts_them(tmp_path):
    paths = [package(tmp_path / f"{name}.safetensors", OTHER, seed=seed) for name, seed in (("a", 1), ("b", 2))]
    run, opposition = invited_run(tmp_path, *paths)
    ((first, reseated, second),) = Control.of(run, 0).obey(opposition, 0)
    built = opposition.built
    assert (first.player.name, second.player.name, reseated.families) == ("a", "b", tuple(opposition.kinds))
    (family,) = opposition.kinds
    assert built.plan.seating.families == ("net_1", "bots", family)
    opposition.assign(0)
    (league,) = opposition.leagues  # rows of the pool, which they have too, are not those of their roster
    league.state = replace(league.state, pool=replace(league.state.pool, rows={first.player: 1, second.player: 0}))
    (decision,) = opposition.decided[0]
    alone, _, _, last = decision.blocks
    both = [Block(Draw(one.player), Draw(one.player)) for one in (first, second)]
    decision = replace(decision, blocks=(alone, *both, last))
    packed = packed_orders(built.plan.seating, opposition.leagues, [decision], opposition.guests, opposition.standing)
    orders = jax.tree.map(lambda x: x[0], packed)
    state, knobs = jax.tree.map(lambda x: x[0], first_state(built)), tuple(map(np.asarray, built.knobs(0)))
    drivers = seat_players(built.plan, state.learners, state.pool, built.rosters, orders, knobs)
    np.testing.assert_array_equal(np.asarray(orders.pairing.family_2X)[:, 1:3], 3)
    for group, driver in zip(built.plan.seating.groups, drivers, strict=True):
        if group.family == family:
            seated = dict(zip((lane for ((lane, _),) in group.lanes), range(3), strict=True))
            for block, path in zip((1, 2), paths, strict=True):
                own = jax.tree.map(lambda x, p=seated[block]: x[p], driver.policy)
                for name, array in to_arrays(own).items():
                    np.testing.assert_array_equal(array, read_package(path)[0][name])


GUESTS = replace(
    CONFIG,
    opponents=replace(CONFIG.opponents, sampler="latest"),
    pool=replace(CONFIG.pool, snapshot_every=10**6),
)
"""The newest member of the pool is met, which is the guest from when it has joined."""


def joining(path: Path, source: Path, after: int, *, killed_after: int = 0) -> Callable:
    """A watcher through which a guest joins after an iteration."""

    def watch(moment) -> None:
        if moment.iteration == after:
            invite(RunDir.open(path), entrant(str(source), echo()), "elsewhere")
            source.unlink()
        if moment.iteration == killed_after:
            raise KilledError

    return watch


@pytest.mark.parametrize("net", [CONFIG.net, OTHER], ids=["like the learner", "of another kind"])
def test_a_run_that_a_guest_joined_can_be_resumed_without_the_run_it_came_from(tmp_path, net):
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    first, later = (package(tmp_path / name / "first.safetensors", net) for name in ("whole", "killed"))
    summary = start(GUESTS, whole, game=echo(), on_iteration=joining(whole, first, 1))
    assert summary.compilations <= (1 if net == CONFIG.net else 2)
    with pytest.raises(KilledError):
        start(GUESTS, killed, game=echo(), on_iteration=joining(killed, later, 1, killed_after=7))
    again = resume(killed, game=echo())
    assert again.compilations == 0
    assert left_behind(killed) == left_behind(whole)
    met = {row.opponent: row.games for row in read_results(RunDir.open(whole).results_path) if row.kind == "train"}
    assert met["first"] > 0
    assert (whole / "players" / "first.safetensors").exists()


def test_guests_of_the_config_join_before_the_first_iteration_and_again_when_the_run_begins_again(tmp_path):
    source = package(tmp_path / "other" / "strong.safetensors")
    config = replace(CONFIG, pool=replace(CONFIG.pool, guests=(str(source),)))
    with pytest.raises(KilledError):
        start(config, tmp_path / "run", game=echo(), on_iteration=asking(tmp_path / "run", {}, killed_after=2))
    source.unlink()
    assert resume(tmp_path / "run", game=echo()).finished
    assert [(line["iteration"], line["player"]["name"]) for line in events(tmp_path / "run", "joined")] == [
        (0, "strong")
    ]


def write_bad_net(path: Path, **settings) -> Path:
    """A package whose network cannot be, whole and with the weights of one that can."""
    net = {**to_dict(CONFIG.net), **settings}
    return write_package(path, read_package(package(path))[0], PlayerMeta(game="echo", net=net, player="learner"))


def damaged(kind: str, path: Path) -> Path:
    match kind:
        case "a pickle":
            path.write_bytes(pickle.dumps({"weights": [1.0]}))
        case "cut short":
            content = package(path).read_bytes()
            path.write_bytes(content[: len(content) // 2])
        case "of another game":
            package(path, game="chess")
        case "of no width":
            write_bad_net(path, hidden=[-5])
        case "without a deviation":
            write_bad_net(path, initial_std=0.0)
        case "with a flipped bit":
            content = bytearray(package(path).read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
        case "of other shapes":
            package(path, **{"head.weight_IO": np.zeros((2, 2), np.float32)})
        case "not finite":
            arrays = {**read_package(package(path))[0], "head.bias_O": np.full(8, np.nan, np.float32)}
            content = path.read_bytes()
            header = content[8 : 8 + int.from_bytes(content[:8], "little")]
            path.write_bytes(save(arrays, {**json.loads(header)["__metadata__"], "version": "1"}))
    return path


BAD = ["a pickle", "cut short", "of another game", "of other shapes", "not finite"]
BAD += ["of no width", "without a deviation", "with a flipped bit"]


@pytest.mark.parametrize("kind", BAD)
def test_a_guest_that_cannot_play_is_refused_at_the_start_and_in_a_running_run(tmp_path, kind):
    path = damaged(kind, tmp_path / "bad.safetensors")
    config = replace(CONFIG, pool=replace(CONFIG.pool, guests=(str(path),)))
    with pytest.raises(SparringError, match="bad"):
        start(config, tmp_path / "new", game=echo())
    assert not (tmp_path / "new").exists()
    run, opposition = invited_run(tmp_path)
    drop(run, {"do": "add", "name": "bad"}, lambda place: place.write_bytes(path.read_bytes()))
    for _ in range(2):  # the second time as a run that was resumed
        ((refused,),) = Control.of(run, 0).obey(opposition, 0)
        assert refused.to_dict()["event"] == "refused" and not opposition.leagues[0].state.pool.players


def test_a_command_that_fails_in_any_way_is_refused_and_changes_nothing(tmp_path, monkeypatch):
    run, opposition = invited_run(tmp_path, package(tmp_path / "a.safetensors", OTHER))
    before, built = opposition.saved(), opposition.built

    def fails(*_):
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patch:
        patch.setattr("sparring.training.control.reseated", fails)
        ((refused,),) = Control.of(run, 0).obey(opposition, 0)
    assert refused.sentence() == "Command 1 was refused: it failed (RuntimeError: out of luck)."
    assert opposition.saved() == before and opposition.built is built
    drop(run, {"do": "shares", "shares": {"current": 0.5}})  # and the run goes on
    assert [event.to_dict()["event"] for event in Control.of(run, 1).obey(opposition, 1)[0]] != ["refused"]


def test_a_guest_needs_a_history_to_be_part_of(tmp_path):
    source = package(tmp_path / "a.safetensors")
    config = replace(CONFIG, opponents=OpponentsConfig(), pool=PoolConfig(guests=(str(source),)))
    with pytest.raises(ConfigError, match="--history"):
        start(config, tmp_path / "new", game=echo())
    with pytest.raises(ConfigError, match="bot of the game"):
        start(replace(CONFIG, pool=PoolConfig(guests=("low",))), tmp_path / "new", game=echo())


def test_a_full_pool_takes_no_guest(tmp_path):
    paths = [package(tmp_path / f"{number}.safetensors", seed=number) for number in range(4)]
    run, opposition = invited_run(tmp_path, *paths)
    (told,) = Control.of(run, 0).obey(opposition, 0)
    assert [event.to_dict()["event"] for event in told] == ["joined"] * 3 + ["refused"]
    assert "pool of 3 is full" in told[-1].sentence()


def given(league: League, block: Block) -> None:
    """Block 1 of the league is as this one."""
    first, _, *rest = league.state.blocks
    league.state = replace(league.state, blocks=(first, block, *rest))


def test_a_guest_waits_for_the_row_of_a_member_that_is_leaving(tmp_path):
    paths = [package(tmp_path / f"{number}.safetensors", seed=number) for number in range(3)]
    run, opposition = invited_run(tmp_path, *paths)
    control = Control.of(run, 0)
    control.obey(opposition, 0)
    opposition.assign(0)
    (league,) = opposition.leagues
    guest = next(player for player in league.state.pool.players if player.name == "0")
    playing = league.state.blocks[1]
    given(league, replace(playing, next=Draw(guest)))
    drop(run, {"do": "remove", "name": "0"})
    invite(run, entrant(str(package(tmp_path / "late.safetensors", OTHER)), echo()), "")

    def names(told) -> list[str]:
        return [event.to_dict()["event"] for event in told[0]]

    assert names(control.obey(opposition, 1)) == ["leaving", "waiting"]
    opposition = Opposition.restored(opposition.built, opposition.saved(), opposition.guests)  # also when interrupted
    assert names(control.obey(opposition, 2)) == []
    (league,) = opposition.leagues
    given(league, playing)
    league.state = replace(league.state, pool=league.state.pool.without(guest))
    assert names(control.obey(opposition, 3)) == ["joined", "reseated"]
    assert names(control.obey(opposition, 4)) == [] and not opposition.arriving


@pytest.mark.parametrize(("half_life", "events"), [(0.0, ["refused"]), (10.0, ["evicted"])])
def test_the_last_member_stays_where_there_is_no_shadow_to_step_in(tmp_path, half_life, events):
    opponents = OpponentsConfig(current=S(0.5), history=S(0.5))
    config = replace(CONFIG, opponents=opponents, ppo=replace(CONFIG.ppo, shadow_half_life=S(half_life)))
    run, opposition = RunDir.create(tmp_path / "run"), Opposition.begin(build(config, game=echo()))
    invite(run, entrant(str(package(tmp_path / "a.safetensors")), echo()), "")
    Control.of(run, 0).obey(opposition, 0)
    drop(run, {"do": "remove", "name": "a"})
    (told,) = Control.of(run, 1).obey(opposition, 1)
    assert [event.to_dict()["event"] for event in told] == events


def test_names_of_guests_are_names_of_files_that_nobody_else_has():
    assert plain_name("runs/a:prey@100#3") == "runs-a-prey-100-3"
    assert plain_name("../../etc/passwd") == "etc-passwd"
    assert plain_name("past-900") == "guest-past-900"
    assert plain_name("…") == "guest"
    assert free_name("a", {"a", "a-2", "b"}) == "a-3"


def members_and_files(path: Path) -> tuple[list[dict[str, int]], dict[str, Path]]:
    leagues = load(RunDir.open(path).checkpoints_path).meta["opposition"]["leagues"]
    pools = [from_plain(LeagueState, league["state"]).pool for league in leagues]
    members = [{player.name: row for player, row in pool.rows.items()} for pool in pools]
    return members, {file.stem: file for file in (path / "players").glob("*")}


def test_the_pool_is_also_a_folder_of_players(tmp_path):
    path = tmp_path / "run"
    start(CONFIG, path, game=echo())
    (members,), files = members_and_files(path)
    assert files.keys() == members.keys() and len(files) == 3
    arrays = load(RunDir.open(path).checkpoints_path).arrays
    for name, row in members.items():
        weights, meta = read_package(files[name])
        assert (meta.player, meta.steps, meta.game) == (name, int(name.removeprefix("past-")), "echo")
        for part, array in weights.items():
            np.testing.assert_array_equal(array, arrays[f"pool.{part}"][0, row])
    assert set(map(str, files.values())) <= set(expanded(f"{path}@all"))


@pytest.mark.parametrize("keep", [True, False])
def test_those_who_left_stay_on_disk_only_where_asked_and_seeds_are_told_apart(tmp_path, keep):
    config = replace(CONFIG, seeds=2, pool=replace(CONFIG.pool, keep_evicted=keep))
    run, opposition = RunDir.create(tmp_path / "run"), Opposition.begin(build(config, game=echo()))
    state, pools = first_state(opposition.built), []
    for iteration in range(10):
        pools = [league.state.pool for league in opposition.leagues] if iteration <= 6 else pools
        _, events = opposition.assign(iteration)
        keep_players(run, opposition, state, events)
        opposition.observe(iteration, nothing_happened(opposition.built))
    born = range(0, 10 * PER_ITERATION, 2 * PER_ITERATION)
    here = [{player.born for player in league.state.pool.players} for league in opposition.leagues]
    assert [len(steps) for steps in here] == [3, 3]
    expected = {f"past-{steps}-seed-{seed}" for steps in born for seed in (0, 1) if keep or steps in here[seed]}
    assert {file.stem for file in (run.path / "players").glob("*")} == expected
    for league, pool in zip(opposition.leagues, pools, strict=True):  # back to before iteration 6
        league.state = replace(league.state, pool=pool)
    restore_players(run, opposition, state, 6)
    early = {f"past-{k * PER_ITERATION}-seed-{seed}" for k in (0, 2, 4) for seed in (0, 1)}
    assert {file.stem for file in (run.path / "players").glob("*")} == early
