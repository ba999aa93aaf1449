"""The pool as files: each past self and guest is also a player package in the run's folder `players`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparring.core.errors import RunError
from sparring.core.names import is_file_name
from sparring.league.events import Event, Evicted, Joined, Snapshot
from sparring.league.player import Player
from sparring.players.checkpointed import package_of
from sparring.players.named import from_package, meta_of
from sparring.setup.build import Built
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import TrainState
from sparring.setup.rows import taken
from sparring.store.commands import package_path
from sparring.store.durable import cannot_write, replace_file
from sparring.store.packages import SUFFIX, read_package, write_package
from sparring.store.run_dir import RunDir
from sparring.training.opposition import Opposition

_PAST = re.compile(r"past-(\d+)(-\w+)?(-seed-\d+)?", re.ASCII)


def player_path(run: RunDir, built: Built, seed: int, player: Player) -> Path:
    """Where a member's weights are. Guests are the same for all seeds."""
    if not is_file_name(player.name):
        raise RunError(f"{player.name[:80]!r} cannot be the name of a file. Give the seats of the game plain names.")
    shared = player.kind == "guest" or built.config.seeds == 1
    return package_of(run, player.name, None if shared else seed)


def keep_players(run: RunDir, opposition: Opposition, state: TrainState, events_R: Sequence[Sequence[Event]]) -> None:
    """Write those who came, and remove those who left unless they are to be kept. Waits for the device."""
    built = opposition.built
    for r, events in enumerate(events_R):
        for event in events:
            if isinstance(event, Snapshot):
                group, row = built.lineup.place_of(event.learner)
                write_past(run, built, r, event.player, taken(state.learners[group].model.actor, r, row))
            elif isinstance(event, Joined):
                write_guest(run, opposition, event.player)
            elif isinstance(event, Evicted) and not built.config.pool.keep_evicted:
                guest = event.player.kind == "guest"
                if not (guest and any(event.player in league.state.pool.rows for league in opposition.leagues)):
                    player_path(run, built, int(built.seeds_R[r]), event.player).unlink(missing_ok=True)


def restore_players(run: RunDir, opposition: Opposition, state: TrainState, start: int) -> None:
    """The files as they were before iteration `start`: no past self of a later one, and every member's."""
    built, folder = opposition.built, run.path / "players"
    for path in folder.glob(f"past-*{SUFFIX}"):
        match = _PAST.fullmatch(path.stem)
        if match and int(match[1]) >= start * built.steps_per_iteration:
            path.unlink(missing_ok=True)
    for r, league in enumerate(opposition.leagues):
        for player in league.state.pool.rows:
            if is_whole(player_path(run, built, int(built.seeds_R[r]), player)):
                continue
            if player.kind == "guest":
                write_guest(run, opposition, player)
            else:
                write_past(run, built, r, player, taken(state.pool, r, league.state.pool.rows[player]))


def lost_players(run: RunDir, opposition: Opposition) -> list[str]:
    """Members whose weights are in no file: those in memory are in the checkpoint too, and `resume` writes them."""
    built, leagues = opposition.built, zip(opposition.built.seeds_R, opposition.leagues, strict=False)
    paths = (
        player_path(run, built, int(seed), player)
        for seed, league in leagues
        for player in league.state.pool.players
        if player not in league.state.pool.rows
    )
    return [f"{path} is gone, and its player is still in the pool. Restore it." for path in paths if not path.exists()]


def is_whole(path: Path) -> bool:
    """Whether a package is there as it was written; a damaged one is written again like one that is gone."""
    try:
        read_package(path)
    except RunError:
        return False
    return True


def write_guest(run: RunDir, opposition: Opposition, player: Player) -> None:
    path = player_path(run, opposition.built, 0, player)
    source = package_path(run, opposition.guests[player].number)
    try:
        path.parent.mkdir(exist_ok=True)
        replace_file(path, source.read_bytes())
    except OSError as error:
        raise cannot_write(path, error, run=run.path) from error


def write_past(run: RunDir, built: Built, r: int, player: Player, policy: Any) -> None:
    meta = meta_of(built.game.spec, built.config, player.name, player.born, run.path.resolve().name)
    write_package(player_path(run, built, int(built.seeds_R[r]), player), to_arrays(policy), meta)


def read_past(run: RunDir, built: Built, r: int, player: Player) -> Any:
    """The weights of a past player, bit for bit as they were written."""
    path = player_path(run, built, int(built.seeds_R[r]), player)
    return from_package(path, built.game, built.config.game).policy
