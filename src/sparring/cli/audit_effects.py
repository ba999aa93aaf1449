"""sparring audit effects: does a module or a setting change anything at all? Of our runs, of other people's logs, of a
loop in PyTorch, of source code."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from sparring.cli.audit import finish, progress
from sparring.cli.flags import named, parse, split
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note
from sparring.cli.own_code import CodeConfig, admit
from sparring.cli.train import Train, admit_named, settled
from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.recipes.catalogue import RECIPES
from sparring.setup.config import RunConfig

if TYPE_CHECKING:  # logs, effect logs and source code are judged without jax
    from sparring.audit.findings import Audit, Tell

EXAMPLES = (
    "sparring audit effects matrix:rock_paper_scissors --modules examples/own/opponent_model.py:foresight",
    "sparring audit effects kuhn --worlds 64 --losses examples/own/loss.py:floor=0.1 --without floor --full",
    "sparring audit effects hunters_minds --without mind",
    "sparring audit effects runs/plain runs/with-module",
    "sparring audit effects --logs logs/baseline logs/treatment",
    "sparring audit effects --watched effects.json",
    "sparring audit effects --source .",
)
Paths = Annotated[tuple[Path, ...], tyro.conf.arg(help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class AuditEffects:
    """Find out whether a treatment does anything beside a baseline, the cheapest question first.

    BASELINE TREATMENT: two runs, files of settings or recipes. One of them, or a game, with flags of `sparring train`:
    the flags are the treatment. With --without NAME, the flags are common to both, and only NAME is the treatment.
    """

    without: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """The loss, module, network or shaping term of one's own that is the treatment, or a part of the minds: mind
    (all of them), goals, actions, imagination, influence, gate, planner. The baseline is all but that."""
    frozen: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...", help_behavior_hint="")] = ()
    """Parts of it that are meant to stay as they are, such as a target network."""
    updates: int = setting(8, least=2, most=10_000)
    """Updates for which two runs with one seed are compared, bit for bit; all schedules run through in them."""
    full: bool = False
    """Also train several seeds of both, and of a placebo, to the end, and say what it is worth."""
    seeds: int = setting(8, least=7, most=1_000)
    """Seeds of --full; six could show nothing at 0.05, since two figures are looked at."""
    logs: Paths = ()
    """Two logs of any training instead, baseline and treatment: CSV, TensorBoard, runs, or folders of one per seed."""
    muted: Annotated[Path | None, tyro.conf.arg(help_behavior_hint="")] = None
    """With --logs, a third: of the treatment with its output replaced by the baseline's, its random numbers drawn."""
    figure: Annotated[str, tyro.conf.arg(help_behavior_hint="")] = ""
    """With --logs, the name of what the effect is measured by."""
    watched: Paths = ()
    """What EffectLog saved in a loop in PyTorch instead: of the treatment; or of baseline, treatment and muted."""
    source: Annotated[Path | None, tyro.conf.arg(help_behavior_hint="")] = None
    """A folder of source code instead: flags that are lost, methods that only evaluation calls. Nothing is run."""
    expect: Annotated[str, tyro.conf.arg(metavar="VERDICT", help_behavior_hint="")] = ""
    """The verdict that is the good one, such as DEAD; else CONNECTED and EFFECT are."""
    out: Annotated[Path | None, tyro.conf.arg(help_behavior_hint="(default: audits)")] = None
    """Folder for the JSON and the page."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    quiet: bool = False
    """Print no progress."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    mine, others = split(words, AuditEffects)
    arguments = parse(AuditEffects, mine, command="audit effects", examples=EXAMPLES)
    told = shlex.join(["sparring", "audit", "effects", *words])
    with progress(arguments.quiet or arguments.json) as tell:
        audit = foreign(arguments, others, told) or of_runs(arguments, others, told, tell)
    folder = arguments.out or Path("audits")
    return finish(audit, folder, as_json=arguments.json, expected=arguments.expect)


def foreign(arguments: AuditEffects, others: Sequence[str], told: str) -> "Audit | None":
    """The audit of what is not ours, without JAX; None where runs are asked about."""
    asked = [name for name in ("logs", "watched", "source") if getattr(arguments, name)]
    if not asked:
        return None
    if len(asked) > 1 or others:
        raise ConfigError(f"--{asked[0]} is an audit of its own. Leave out {' '.join([*asked[1:], *others])}.")
    if arguments.source:
        from sparring.audit.effects.source import audit_source

        return audit_source(arguments.source, told)
    if arguments.watched:
        from sparring.audit.effects.watched import audit_watched, read_watched

        logs = [read_watched(path) for path in arguments.watched]
        if len(logs) > 3:
            raise ConfigError("--watched takes one to three logs: the treatment; or baseline, treatment, muted.")
        off, muted = logs[0] if len(logs) > 1 else None, logs[2] if len(logs) > 2 else None
        return audit_watched(logs[min(1, len(logs) - 1)], off, muted, command=told)
    from sparring.audit.effects.logs import audit_logs

    if len(arguments.logs) != 2:
        raise ConfigError(f"--logs takes two logs, baseline and treatment, found {len(arguments.logs)}.")
    return audit_logs(*arguments.logs, muted=arguments.muted, figure=arguments.figure, command=told)


def of_runs(arguments: AuditEffects, others: list[str], told: str, tell: "Tell") -> "Audit":
    off, on = sources(others, without=arguments.without)
    prepare(arguments.machine)
    folders = [path for words in (off, on) for path in words if (Path(path) / "config.toml").is_file()]
    admit(arguments.own, *folders)
    from sparring.audit.effects.judge import audit_effects
    from sparring.audit.leaving_out import without
    from sparring.setup.own_code import changed_code
    from sparring.store.run_dir import RunDir

    treatment = config_of(on)
    baseline = without(treatment, arguments.without) if arguments.without else config_of(off)
    if arguments.full:
        steps = treatment.total_steps * arguments.seeds
        arms = "baseline, treatment and, for modules, a placebo"
        note(f"budget of --full: {arms}, each {steps:,} steps ({arguments.seeds} seeds of {treatment.total_steps:,}).")
    changed = [line for folder in dict.fromkeys(folders) for line in changed_code(RunDir.open(folder))]
    subject = (
        f"{' '.join(on)} without {arguments.without}" if arguments.without else f"{' '.join(off)} -> {' '.join(on)}"
    )
    return audit_effects(
        baseline, treatment, frozen=arguments.frozen, updates=arguments.updates, full=arguments.full,
        seeds=arguments.seeds, changed=changed, subject=subject, command=told, tell=tell,
    )  # fmt: skip


def sources(words: Sequence[str], *, without: str) -> tuple[list[str], list[str]]:
    """The words for baseline and treatment, each as `sparring train` takes them."""
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    named_, flags = list(words[:first]), list(words[first:])
    if len(named_) == 2 and not flags and not without:
        return [named_[0]], [named_[1]]
    if len(named_) == 1 and (flags or without):
        return [named_[0]], [named_[0], *flags]
    raise ConfigError(
        "What is to be switched on? Name a game, run, file or recipe, with the flags that switch it on (sparring audit "
        "effects kuhn --losses mine.py:term=0.1) or the part to leave out (--without NAME). Or name two runs, files or "
        "recipes: first without it, then with it."
    )


def config_of(words: Sequence[str]) -> RunConfig:
    """The settings that `sparring train` would have with these words, the first of which is what they begin with."""
    start, *flags = words
    path = Path(start)
    file = path / "config.toml" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise ConfigError(f"{path} is no run: it has no config.toml. Name the folder of a run.")
    begun = ["--config", str(file)] if file.suffix == ".toml" else ["--recipe", start] if start in RECIPES else [start]
    train = [*begun, *flags]
    arguments = parse(Train, train, command="train")
    admit_named(arguments)
    return settled(arguments, named(train))[0]
