"""sparring audit seats GAME | RECIPE | RUN ...: does the number of a seat change the result, and what makes it so?"""

import shlex
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from sparring.cli.audit import finish, progress
from sparring.cli.flags import named, parse, split
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError
from sparring.setup.config import RunConfig

if TYPE_CHECKING:  # the machine is prepared before JAX starts
    from sparring.audit.seats.audit import Asked
    from sparring.games.game import Game

EXAMPLES = (
    "sparring audit seats snowdrift",
    "sparring audit seats coin --options tie=first --alike all",
    "sparring audit seats runs/four-hunters",
    "sparring audit seats stag_hunt --full --training-seeds 5 --training-steps 300000 --learning-rate 1e-3",
    "sparring audit seats pettingzoo:mpe2.simple_spread_v3 --alike all",
    "sparring audit seats --log seats.json",
)


@dataclass(frozen=True, kw_only=True)
class AuditSeats:
    """Find out whether the number of a seat changes the result, cheapest question first. Flags of `sparring train` say
    how it is trained; each seat then has a learner of its own (--share seat)."""

    what: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="GAME | RECIPE | RUN ...")] = ()
    """A game or a recipe, or runs: their game, their settings, and their seeds together."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    alike: tuple[str, ...] = ()
    """Seats that should be alike: groups by names or numbers, as red,blue or 0,1,2, or all. Without: what the game
    says."""
    log: tuple[Path, ...] = ()
    """Files that `SeatLog` wrote in a training loop of your own: seeds, and rungs of a ladder, of one training."""
    source: tuple[Path, ...] = ()
    """Files of Python to look through for code that favours seats."""
    full: bool = False
    """Also train: the same settings in several seeds, and again with modules left out one by one. The budget is printed
    first. Without it: exact levels and probes, minutes."""
    training_seeds: int = 5
    """With --full, seeds of each training."""
    training_steps: int = 200_000
    """With --full, steps of each seed."""
    games: int = 20_000
    """Games of each probe, at most."""
    seconds: float = 40.0
    """Time for the games of probes."""
    seed: int = 0
    """All chance of the audit follows from it."""
    expect: str = ""
    """A verdict; the exit code is then 0 for it and 4 for any other."""
    out: Path | None = None
    """Folder for the page and the data; without it audits/NAME, or audits in the folder of a run."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    subjects = leading(words)
    own, training = split(words[len(subjects) :], AuditSeats)
    arguments = parse(AuditSeats, [*subjects, *own], command="audit seats", examples=EXAMPLES)
    again = f"sparring audit seats {shlex.join(words)}"
    if arguments.log:
        from sparring.audit.seats.logged import audit_file

        audit = audit_file(arguments.log, sources=arguments.source, command=again)
        return finish(audit, folder_of(arguments), as_json=arguments.json, expected=arguments.expect)
    if not arguments.what:
        raise ConfigError("Which game or run? Name one, for example: sparring audit seats snowdrift")
    prepare(arguments.machine)
    from sparring.audit.seats.audit import audit_seats
    from sparring.audit.seats.ladder import rungs_of

    asked = replace(asked_for(arguments, training), command=again)
    if asked.training and asked.config:
        note(f"Budget of --full: {asked.training.told(rungs_of(asked.config))}")
    with progress(arguments.quiet or arguments.json) as tell:
        audit = audit_seats(asked, tell)
    return finish(audit, asked.folder, as_json=arguments.json, expected=arguments.expect)


def leading(words: list[str]) -> list[str]:
    """The words before the first flag: what is audited."""
    return list(takewhile(lambda word: not word.startswith("-"), words))


def folder_of(arguments: AuditSeats) -> Path:
    if arguments.out is not None:
        return arguments.out
    if arguments.what and (Path(arguments.what[0]) / "config.toml").is_file():
        return Path(arguments.what[0]) / "audits"
    name = arguments.what[0] if arguments.what else arguments.log[0].stem if arguments.log else "seats"
    return Path("audits") / "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)


def asked_for(arguments: AuditSeats, training: list[str]) -> "Asked":
    from sparring.audit.seats.audit import Asked
    from sparring.audit.seats.ladder import Training
    from sparring.audit.seats.returns import Budget
    from sparring.games import registry
    from sparring.setup.needs import stored_config
    from sparring.store.run_dir import RunDir

    runs = tuple(Path(word) for word in arguments.what if (Path(word) / "config.toml").is_file())
    if runs and len(runs) < len(arguments.what):
        raise ConfigError(f"Name one game, or runs alone; {', '.join(arguments.what)} are some of both.")
    if not runs and len(arguments.what) > 1:
        raise ConfigError(f"Name one game, or folders of runs; found {', '.join(arguments.what)}.")
    if runs:
        admit(arguments.own, *runs)
        config = stored_config(RunDir.open(runs[0]))
        if training:
            raise ConfigError(f"A run has its settings already: leave {' '.join(training)} out, or name the game.")
    else:
        admit(arguments.own)
        config = settings_for(arguments, training)
    outside = config.game.partition(":")[0] in ("pettingzoo", "rllib")
    options = (*config.options, *(("positions=fixed",) if outside else ()))
    game = registry.configured(config.game, options)
    batch = Budget(arguments.games, arguments.seconds, 16 if game.spec.outside else 256)
    return Asked(
        game=game, config=config, runs=runs, alike=arguments.alike or usual_claim(game), sources=arguments.source,
        seed=arguments.seed, budget=batch, folder=folder_of(arguments), subject=" ".join(arguments.what),
        training=Training(arguments.training_seeds, arguments.training_steps) if arguments.full else None,
    )  # fmt: skip


def settings_for(arguments: AuditSeats, training: list[str]) -> RunConfig:
    """The settings that `sparring train GAME ... --share seat` would have, without opponents that change."""
    from sparring.cli.train import Train, admit_named, settled
    from sparring.games import registry
    from sparring.recipes.catalogue import RECIPES

    name = arguments.what[0]
    begun = ["--recipe", name] if name in RECIPES else [name]
    words = [*begun, *(["--options", *arguments.options] if arguments.options else []), *training]
    said = parse(Train, words, command="train")
    if name not in RECIPES:
        registry.admit(name)
    admit_named(said)
    config, _ = settled(said, named(words))
    plain = RunConfig()
    seats = replace(config.seats, share="seat", opponent="") if "share" not in named(words) else config.seats
    opposing = {name: getattr(plain, name) for name in ("opponents", "pool", "curriculum", "defeats", "gates", "roles")}
    return replace(config, seats=seats, population=plain.population, **opposing)


def usual_claim(game: "Game") -> tuple[str, ...]:
    """Of games of other people, which claim nothing: agents of one name are alike."""
    if not game.spec.outside:
        return ()
    stems: dict[str, list[str]] = {}
    for seat, name in enumerate(game.spec.seat_names):
        stems.setdefault(name.rstrip("0123456789").rstrip("_- "), []).append(str(seat))
    return tuple(",".join(seats) for seats in stems.values() if len(seats) > 1)
