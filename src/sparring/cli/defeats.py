"""sparring defeats RUN: the defeats that a run keeps to try again, and one of them as a moving picture."""

import json as json_text
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sparring.cli.flags import RunFolder, check_needs, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.cli.replay import STEPS_A_SECOND, tell
from sparring.core.errors import ConfigError
from sparring.evaluation.scoring import LEARNED
from sparring.reports.gif import write_gif
from sparring.reports.replay import Replay as Recording
from sparring.reports.replay import write_replay
from sparring.reports.tables import NAMES

if TYPE_CHECKING:  # help answers without jax
    from sparring.games.game import Game
    from sparring.play.defeats import Archive

EXAMPLES = ("sparring defeats runs/first", "sparring defeats runs/first --watch 1")
NEEDS = {"out": "watch"}
"""Flags, and the one that each needs."""


@dataclass(frozen=True, kw_only=True)
class Defeats:
    """List the defeats that a run keeps to try again; draw one as a GIF."""

    run: RunFolder
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    watch: int = 0
    """Number of the defeat to draw, as in the list; 0: only list them."""
    seed: int = 0
    """Which of the run's seeds, counted from 0."""
    out: Path | None = None
    """Where the GIF goes; default: the folder replays of the run."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Defeats, words, command="defeats", examples=EXAMPLES)
    check_needs(arguments, NEEDS)
    if arguments.out is not None and arguments.out.suffix.lower() != ".gif":
        raise ConfigError(f"out must name a file that ends in .gif, found {arguments.out}.")
    prepare(arguments.machine)
    from sparring.league.player import packed
    from sparring.players.checkpointed import newest
    from sparring.store.run_dir import RunDir
    from sparring.training.control import last_known
    from sparring.training.runs import labels, trained_state

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run)
    note_damage(newest(run))
    built, state = trained_state(run)
    if state.archive is None:
        raise ConfigError(f"{arguments.run} keeps no defeats. Train with --defeat-share 0.1 to keep and replay them.")
    if not 0 <= arguments.seed < built.config.seeds:
        raise ConfigError(f"seed must be from 0 to {built.config.seeds - 1}, found {arguments.seed}.")
    archive = numpy_of_seed(state.archive, arguments.seed)
    opposition = last_known(run).opposition
    players = opposition.leagues[arguments.seed].players
    rows = listed(archive, {packed(player): player.name for player in players})
    if arguments.watch:
        draw(arguments, opposition.game, archive, rows, labels(built))
    elif arguments.json:
        print(json_text.dumps({"run": str(arguments.run), "defeats": rows}))
    else:
        tell_list(arguments.run, rows)


def numpy_of_seed(archive: "Archive", seed: int) -> "Archive":
    import jax

    return jax.tree.map(lambda x: np.asarray(x)[seed], archive)


def listed(archive: "Archive", names: dict[int, str]) -> list[dict[str, Any]]:
    """The newest first, numbered from 1; `names` are those of the players that are still met."""
    kept = [e for e in np.argsort(-archive.born_E, kind="stable") if archive.player_E[e]]
    return [
        {
            "number": number,
            "entry": int(e),
            "opponent": names.get(int(archive.player_E[e]), f"player {archive.player_E[e]}, who has left"),
            "side": int(archive.side_E[e]),
            "iteration": int(archive.born_E[e]) + 1,
            "steps_before": int(archive.left_E[e]),
        }
        for number, e in enumerate(kept, start=1)
    ]


def tell_list(run: Path, rows: list[dict[str, Any]]) -> None:
    table = Table(title="defeats that are tried again, newest first")
    for name in ("number", "lost to", "on side", "in iteration", "tried from, steps before the end"):
        table.add_column(name, justify="right" if name != "lost to" else "left", overflow=NAMES)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("number", "opponent", "side", "iteration", "steps_before")))
    Console().print(table)
    if rows:
        print(f"next     sparring defeats {run} --watch 1")
    else:
        print("None yet: defeats by the shadow, past selves and bots are kept as they happen.")


def draw(
    arguments: Defeats, game: "Game", archive: "Archive", rows: list[dict[str, Any]], facts: dict[str, Any]
) -> None:
    """What happened then, under the rules of the present stage."""
    import jax

    from sparring.evaluation.watch import watch_again

    if not 1 <= arguments.watch <= len(rows):
        raise ConfigError(f"watch must be the number of a kept defeat, 1 to {len(rows)}, found {arguments.watch}.")
    row = rows[arguments.watch - 1]
    e, left = row["entry"], row["steps_before"]
    start = jax.tree.map(lambda x: x[e], archive.state)
    action, chance = jax.tree.map(lambda x: x[e, :left], (archive.action, archive.chance))
    watched, sides = watch_again(game, start, action, chance), facts["sides"]
    players = tuple(LEARNED if side == row["side"] else row["opponent"] for side in range(len(sides)))
    recording = Recording(
        game=facts["game"], sides=tuple(sides), players=players, ending=watched.ending, fps=STEPS_A_SECOND,
        scenes=watched.scenes,
    )  # fmt: skip
    picture = arguments.out or arguments.run / "replays" / f"defeat-{arguments.watch}.gif"
    scenes = picture.with_suffix(".jsonl")
    write_replay(recording, scenes)
    tell(recording, picture, scenes, write_gif(recording, picture, fps=None), as_json=arguments.json)
