"""sparring eval RUN: complete games of a run's learners, among themselves, against the bots, and the bots alone."""

import json as json_text
from dataclasses import dataclass, field

from rich.console import Console

from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note_damage
from sparring.core.errors import ConfigError
from sparring.reports.tables import score_table, scores_json


@dataclass(frozen=True, kw_only=True)
class Eval:
    """Play complete games with a run's learners: among themselves and against the bots."""

    run: RunFolder
    """Folder of the run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    games: int = 100
    """Complete games of each line-up."""
    deterministic: bool = False
    """Take the most likely action instead of sampling."""
    seed: int = 1
    """Seed of the games."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Eval, words, command="eval")
    if arguments.games < 1:
        raise ConfigError(f"games must be at least 1, found {arguments.games}.")
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    prepare(arguments.machine)
    from sparring.evaluation.scoring import score_sides
    from sparring.store.run_dir import RunDir
    from sparring.training.examine import examination, exploitability
    from sparring.training.runs import newest, trained_state

    run = RunDir.open(arguments.run)
    note_damage(newest(run))
    built, state = trained_state(run)
    examine = examination(built, games=arguments.games, deterministic=arguments.deterministic, with_bots_alone=True)
    scores = score_sides(built.game.spec, examine.teams, examine.play(state, seed=arguments.seed))
    exact = exploitability(built, state)
    if arguments.json:
        print(json_text.dumps({"run": str(arguments.run), "scores": scores_json(scores), "exploitability": exact}))
        return
    console = Console()
    console.print(score_table(scores, run.read_manifest()))
    if exact is not None:
        console.print(f"Exploitability (0 is a Nash equilibrium): {', '.join(f'{x:.4f}' for x in exact)}")
