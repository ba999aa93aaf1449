"""sparring eval RUN: complete games of a run's learners, among themselves, against the bots, and the bots alone; or
against players of one's choice."""

import json as json_text
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console

from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError
from sparring.opponent_models.config import PlanningConfig
from sparring.reports.standings import against_table
from sparring.reports.tables import fitted, score_table, scores_json

if TYPE_CHECKING:  # the machine is prepared before JAX starts
    from sparring.setup.build import Built
    from sparring.setup.program import TrainState

EXAMPLES = (
    "sparring eval runs/first --games 500",
    "sparring eval runs/first --against runs/second runs/third:learner.shadow",
)


@dataclass(frozen=True, kw_only=True)
class Eval:
    """Play complete games with a run's learners: among themselves and against the bots."""

    run: RunFolder
    """Folder of the run."""
    against: tuple[str, ...] = ()
    """Play against these instead: bots, runs (RUN:PLAYER@ITERATION#SEED; with +planner behind it, it looks ahead),
    packages (*.safetensors), cards (*.json)."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    games: int = 100
    """Complete games of each line-up; where two sides are alike each is played, so twice as many against a bot."""
    deterministic: bool = False
    """Take the most likely action instead of sampling."""
    seed: int = 1
    """Seed of the games."""
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    """For players that look ahead."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Eval, words, command="eval", examples=EXAMPLES)
    if arguments.games < 1:
        raise ConfigError(f"games must be at least 1, found {arguments.games}.")
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    if arguments.run.name.endswith("+planner"):
        bare = str(arguments.run).removesuffix("+planner")
        raise ConfigError(
            "A run plays as it was trained. To see one of its learners look ahead, seat it among the others: sparring "
            f"eval {bare} --against {bare}:LEARNER+planner {bare}:LEARNER"
        )
    prepare(arguments.machine)
    from sparring.evaluation.deploy import Evidence, deployment
    from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, score_sides
    from sparring.evaluation.stored import bounds_of
    from sparring.players.checkpointed import newest
    from sparring.store.run_dir import RunDir
    from sparring.training.control import last_known
    from sparring.training.meta_games import mixture_exploitability
    from sparring.training.own_evaluation import examination, exploitability
    from sparring.training.runs import labels, trained_state

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run, *arguments.against)
    note_damage(newest(run))
    built, state = trained_state(run)
    if arguments.against:
        return play_against(arguments, built, state)
    examine = examination(built, games=arguments.games, deterministic=arguments.deterministic, with_bots_alone=True)
    games = examine.play(state, seed=arguments.seed)
    scores = score_sides(built.game.spec, examine.teams, games, built.plan.seating.seats_of_side)
    known = {LEARNED: exploitability(built, state), SHADOW: exploitability(built, state, shadow=True)}
    if built.config.roles.oracles:
        known[MIXTURE] = mixture_exploitability(run, last_known(run).opposition)
    exact = {team: values for team, values in known.items() if values is not None}
    facts = labels(built)
    verdict = deployment(Evidence(scores, exact, bounds_of(run.exploits()), bool(facts["alike"])))
    if arguments.json:
        found = {"scores": scores_json(scores), "exploitability": exact, "deploy": verdict.plain()}
        print(json_text.dumps({"run": str(arguments.run), **found}))
        return None
    console = Console()
    console.print(fitted(score_table(scores, facts, width=console.width), console.width))
    for team, values in exact.items():
        listed = ", ".join(f"{value:z.4f}" for value in values)
        console.print(f"Exploitability of the {team} policy (0 is a Nash equilibrium): {listed}")
    if verdict.chosen:
        print(verdict.sentence())
    return None


def play_against(arguments: Eval, built: "Built", state: "TrainState") -> None:
    from sparring.players.named import entrants
    from sparring.studies.against import against

    opponents = entrants(arguments.against, built.game, built.config.game, arguments.planning)
    for remark in (remark for opponent in opponents.values() for remark in opponent.remarks):
        note(remark)
    scores = against(
        built, state, opponents, games=arguments.games, seed=arguments.seed, deterministic=arguments.deterministic
    )
    if arguments.json:
        print(json_text.dumps({"run": str(arguments.run), "against": scores_json(scores)}))
    else:
        console = Console()
        console.print(fitted(against_table(scores, f"{arguments.run} on {built.config.game}"), console.width))
