"""sparring insight RUN: what a run's learners understand of their co-players, and whether it helps them."""

import json as json_text
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError

EXAMPLES = ("sparring insight runs/hunters", "sparring insight runs/hunters --against nearest_hare prosocial --learned")


@dataclass(frozen=True, kw_only=True)
class Insight:
    """Let learners that have minds play games that nobody learns from, among co-players of each kind, and say how well
    they foresee them."""

    run: RunFolder
    """Folder of the run."""
    against: tuple[str, ...] = ()
    """Co-players: bots, runs (RUN:PLAYER@ITERATION#SEED), packages; without it random and all bots of the game."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    worlds: int = 32
    """Worlds of each table: with co-players of one kind, for each learner."""
    games: int = 5
    """Games that are played there one after another with the same co-players."""
    learned: bool = False
    """Also learn goals from half of these worlds (spatial, OMG), and judge them in the others."""
    seed: int = 1
    """Seed of the games."""
    out: Annotated[Path | None, tyro.conf.arg(help_behavior_hint="(default: RUN/insight)")] = None
    """Folder for the JSON and the page."""
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Insight, words, command="insight", examples=EXAMPLES)
    if arguments.games < 1 or arguments.worlds < 2:
        found = f"games={arguments.games}, worlds={arguments.worlds}"
        raise ConfigError(f"insight needs 1 game and 2 worlds or more, found {found}.")
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    prepare(arguments.machine)
    from sparring.play.scripted import bot_names
    from sparring.players.checkpointed import newest
    from sparring.players.named import entrants
    from sparring.reports.insight import html, terminal
    from sparring.reports.tables import plain
    from sparring.store.durable import replace_file
    from sparring.store.run_dir import RunDir
    from sparring.studies.insight import study
    from sparring.training.runs import trained_state

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run, *arguments.against)
    note_damage(newest(run))
    built, state = trained_state(run)
    known = entrants(arguments.against or bot_names(built.game), built.game, built.config.game)
    for remark in (remark for one in known.values() for remark in one.remarks):
        note(remark)

    def told(stage: str) -> None:
        if not (arguments.quiet or arguments.json):
            print(stage, file=sys.stderr, flush=True)

    found = study(
        built, state, known, worlds=arguments.worlds, games=arguments.games, seed=arguments.seed,
        learned=arguments.learned, on_stage=told,
    )  # fmt: skip
    folder = arguments.out or run.path / "insight"
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "insight.html"
    data = json_text.dumps(plain(found))
    replace_file(folder / "insight.json", data.encode())
    replace_file(page, html(found, str(run.path), shlex.join(["sparring", "insight", *words])).encode())
    if arguments.json:
        print(json_text.dumps({"run": str(run.path), "page": str(page), **plain(found)}))
        return
    Console().print(terminal(found))
    print(f"page     {page}")
