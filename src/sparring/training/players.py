"""The pool as files: each past self and guest is also a player package in the run's folder `players`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from sparring.core.settings import to_dict
from sparring.league.events import Event, Evicted, Joined, Snapshot
from sparring.league.player import Player
from sparring.store.commands import package_path
from sparring.store.durable import cannot_write, replace_file
from sparring.store.packages import SUFFIX, PlayerMeta, write_package
from sparring.store.run_dir import RunDir
from sparring.training.build import Built
from sparring.training.opposition import Opposition
from sparring.training.program import TrainState
from sparring.training.snapshot import to_arrays

_PAST = re.compile(r"past-(\d+)(-seed-\d+)?", re.ASCII)


def player_path(run: RunDir, built: Built, seed: int, player: Player) -> Path:
    """Where a member's weights are. Guests are the same for all seeds."""
    shared = player.kind == "guest" or built.config.seeds == 1
    return run.path / "players" / f"{player.name}{'' if shared else f'-seed-{seed}'}{SUFFIX}"


def keep_players(run: RunDir, opposition: Opposition, state: TrainState, events_R: Sequence[Sequence[Event]]) -> None:
    """Write those who came, and remove those who left unless they are to be kept. Waits for the device."""
    built = opposition.built
    for r, events in enumerate(events_R):
        for event in events:
            if isinstance(event, Snapshot | Joined):
                write_member(run, opposition, state, r, event.player, event.row)
            elif isinstance(event, Evicted) and not built.config.pool.keep_evicted:
                guest = event.player.kind == "guest"
                if not (guest and any(event.player.id in league.pool.rows for league in opposition.leagues)):
                    player_path(run, built, int(built.seeds_R[r]), event.player).unlink(missing_ok=True)


def restore_players(run: RunDir, opposition: Opposition, state: TrainState, start: int) -> None:
    """The files as they were before iteration `start`: no past self of a later one, and every member's."""
    built, folder = opposition.built, run.path / "players"
    for path in folder.glob(f"past-*{SUFFIX}"):
        match = _PAST.fullmatch(path.stem)
        if match and int(match[1]) >= start * built.steps_per_iteration:
            path.unlink(missing_ok=True)
    for r, league in enumerate(opposition.leagues):
        for player in league.pool.players:
            if not player_path(run, built, int(built.seeds_R[r]), player).exists():
                write_member(run, opposition, state, r, player, league.pool.rows[player.id])


def write_member(run: RunDir, opposition: Opposition, state: TrainState, r: int, player: Player, row: int) -> None:
    built = opposition.built
    path = player_path(run, built, int(built.seeds_R[r]), player)
    if player.kind == "guest":
        source = package_path(run, opposition.guests[player.id].number)
        try:
            path.parent.mkdir(exist_ok=True)
            replace_file(path, source.read_bytes())
        except OSError as error:
            raise cannot_write(path, error, run=run.path) from error
        return
    config = built.config
    meta = PlayerMeta(
        game=config.game, options=config.options, net=to_dict(config.net), player=player.name,
        sides=tuple(range(built.game.spec.sides)), steps=player.born, run=run.path.resolve().name,
    )  # fmt: skip
    write_package(path, to_arrays(row_of(state.pool, r, row)), meta)


def row_of(pool: Any, r: int, row: int) -> Any:
    return jax.tree.map(lambda x: x[r, row], pool)
