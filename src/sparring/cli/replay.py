"""sparring replay RUN: one game of a run's learners, among themselves or against a bot or another player, as a moving
picture."""

import json as json_text
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from sparring.cli.flags import check_needs, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note, note_damage
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError
from sparring.evaluation.scoring import LEARNED
from sparring.reports.gif import check_pace, write_gif
from sparring.reports.replay import Replay as Recording
from sparring.reports.replay import read_replay, write_replay

if TYPE_CHECKING:  # help answers without jax
    from sparring.players.named import Entrant
    from sparring.setup.build import Built

STEPS_A_SECOND = 10
"""How fast a game goes: ten decisions a second, as in particles and in the air."""
EXAMPLES = ("sparring replay runs/first", "sparring replay runs/first --against flee --out chase.gif")
NEEDS = {"side": "against"}
"""Flags, and the one that each needs."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Play one game with a run's learners, among themselves or against somebody, and draw it as a GIF."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Folder of the run; or a file of scenes, to draw it again."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    against: str = ""
    """A bot, another run's player (RUN:PLAYER@ITERATION#SEED) or a package to play against; empty: the learners play
    all sides that learned."""
    side: int = -1
    """The side that the learners keep against it; -1: the first that they can."""
    seed: int = 1
    """Seed of the game."""
    deterministic: bool = False
    """Take the most likely action instead of sampling."""
    out: Path | None = None
    """Where the GIF goes; its scenes go beside it. Default: the folder replays of the run."""
    fps: float | None = None
    """Frames of the GIF in a second; default: as many as the game has steps in a second."""
    most_frames: int = 300
    """Most frames of the GIF; of a longer game every second, third ... step is shown."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Replay, words, command="replay", examples=EXAMPLES)
    check_needs(arguments, NEEDS)
    check(arguments)
    if arguments.run.is_file():
        scenes, recording = arguments.run, read_replay(arguments.run)
        picture = arguments.out or scenes.with_suffix(".gif")
    else:
        name = re.sub(r"[^\w.-]+", "-", Path(arguments.against).name) or "self"
        picture = arguments.out or arguments.run / "replays" / f"{name}-{arguments.seed}.gif"
        scenes, recording = picture.with_suffix(".jsonl"), record(arguments)
        write_replay(recording, scenes)
    frames = write_gif(recording, picture, fps=arguments.fps, most_frames=arguments.most_frames)
    link(picture)
    tell(recording, picture, scenes, frames, as_json=arguments.json)


def link(picture: Path) -> None:
    """Let the report of a run show a replay in its folder."""
    from sparring.reports.page import write_report
    from sparring.store.run_dir import RunDir

    run = picture.absolute().parent.parent
    if picture.absolute().parent.name == "replays" and (run / "report.html").is_file():
        write_report(RunDir.open(run if picture.is_absolute() else picture.parent.parent))


def check(arguments: Replay) -> None:
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    if arguments.out is not None and arguments.out.suffix.lower() != ".gif":
        raise ConfigError(f"out must name a file that ends in .gif, found {arguments.out}.")
    check_pace(arguments.fps, arguments.most_frames)


def record(arguments: Replay) -> Recording:
    """Play the game with the run's newest weights, those of its first seed."""
    prepare(arguments.machine)
    from sparring.evaluation.watch import watch
    from sparring.players.checkpointed import newest
    from sparring.players.named import entrant
    from sparring.store.run_dir import RunDir
    from sparring.training.own_evaluation import players_of_seed
    from sparring.training.runs import labels, trained_state

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run, arguments.against)
    note_damage(newest(run))
    built, state = trained_state(run)
    asked = arguments.against or built.config.seats.opponent
    other = entrant(asked, built.game, built.config.game) if asked else None
    for remark in other.remarks if other else ():
        note(remark)
    teams = teams_of(built, other if arguments.against else None, arguments.side)
    others = {other.name: other.policy} if other else {}
    watched = watch(
        built.game, driven_by(built, teams), {**players_of_seed(built, state, 0), **others}, seed=arguments.seed,
        seats_of_side=built.plan.seating.seats_of_side, deterministic=arguments.deterministic,
    )  # fmt: skip
    return Recording(
        game=built.config.game,
        sides=tuple(labels(built)["sides"]),
        players=teams,
        ending=watched.ending,
        fps=STEPS_A_SECOND,
        scenes=watched.scenes,
    )


def teams_of(built: "Built", other: "Entrant | None", side: int) -> tuple[str, ...]:
    """Who drives each side of the game: the learners, or the other where there is one."""
    spec = built.game.spec
    learned = sorted({game_side(built, driven) for driven in built.lineup.player_of_side()})
    if other is None:
        return tuple(LEARNED if k in learned else built.config.seats.opponent for k in range(spec.sides))
    if spec.sides == 1:
        raise ConfigError(f"{built.config.game} has one side, so there is nobody to play against. Leave against out.")
    if side != -1 and side not in learned:
        raise ConfigError(f"side must be one that learned, of {learned}, or -1 for the first, found {side}.")
    possible = learned if side == -1 else [side]
    own = next((own for own in possible if {*range(spec.sides)} - {own} <= {*other.sides}), None)
    if own is None:
        raise ConfigError(f"{other.name!r} cannot drive the side opposite the learners. Choose another, or random.")
    return tuple(LEARNED if k == own else other.name for k in range(spec.sides))


def driven_by(built: "Built", teams: tuple[str, ...]) -> tuple[str, ...]:
    """The player of each side as sides are driven in the run: where seats learn by themselves, each is one."""
    learner_of = built.lineup.player_of_side()
    driven = range(len(built.plan.seating.seats_of_side))
    chosen = ((k, teams[game_side(built, k)]) for k in driven)
    return tuple(learner_of[k] if team == LEARNED else team for k, team in chosen)


def game_side(built: "Built", driven: int) -> int:
    return built.game.spec.side_of_seat[built.plan.seating.seats_of_side[driven][0]]


def tell(recording: Recording, picture: Path, scenes: Path, frames: int, *, as_json: bool) -> None:
    ending, sentence = recording.ending, recording.ending.sentence(recording.names_K)
    if not as_json:
        print(f"{sentence}\npicture  {picture}\nscenes   {scenes}")
        return
    facts: dict[str, Any] = {
        "picture": str(picture),
        "scenes": str(scenes),
        "frames": frames,
        "players": recording.players,
        "steps": ending.steps,
        "outcome": ending.outcome_K,
        "causes": ending.cause_K,
        "returns": ending.return_K,
        "ending": sentence,
    }
    print(json_text.dumps(facts))
