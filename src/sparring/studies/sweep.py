"""A search for settings: trainings one after another, each with settings that Optuna proposes from those before it.

DIR/plan.json     what is searched for, and the words for every training
DIR/sweep.db      the trials so far (SQLite, Optuna's own tables): a search that was stopped goes on from there
DIR/trial-0007/   an ordinary run each
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from sparring.core.errors import ConfigError, unknown
from sparring.core.fields import leaves
from sparring.core.schedules import Schedule
from sparring.setup.config import RunConfig
from sparring.store.run_dir import RunDir

STORAGE = "sweep.db"
LAST = 0.1
"""Share of a run whose iterations a metric of training is the mean of: one alone is mostly chance."""
FORMS = "Write NAME=LOW..HIGH, NAME=LOW..HIGH:log, or NAME=A,B,C."


@dataclass(frozen=True)
class Varied:
    """A setting that is searched: between two ends, or among choices."""

    name: str
    kind: Literal["float", "int", "truth", "words", "text"]
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[str, ...] = ()

    def proposed(self, trial: Any) -> str:
        """What a trial shall take, as a text."""
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        if self.kind == "int":
            return str(trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log))
        return f"{trial.suggest_float(self.name, self.low, self.high, log=self.log):.6g}"

    def words(self, text: str) -> list[str]:
        """The flag that sets it."""
        flag = self.name.replace("_", "-")
        if self.kind == "truth":
            return [f"--{flag}" if text == "true" else f"--no-{flag}"]
        return [f"--{flag}", *(text.split() if self.kind == "words" else [text])]

    @property
    def ends(self) -> tuple[str, ...]:
        """What must be possible for all between to be."""
        return self.choices or tuple(f"{end:.6g}" for end in (self.low, self.high))


def varied(text: str) -> Varied:
    """Read NAME=LOW..HIGH[:log] or NAME=A,B,C; what a setting may be follows from what it is."""
    name, _, space = text.partition("=")
    name = name.strip().replace("-", "_")
    known = {one.name: kind_of(value) for one, value in leaves(RunConfig())}
    if name not in known:
        raise ConfigError(unknown("setting in --vary", name, known))
    if ".." not in space:
        choices = tuple(choice.strip() for choice in space.split(","))
        if len(choices) < 2 or not all(choices) or len(set(choices)) < len(choices):
            raise ConfigError(f"--vary {text} must give two choices or more, each once. {FORMS}")
        if known[name] == "truth" and not set(choices) <= {"true", "false"}:
            raise ConfigError(f"{name} is true or false, found --vary {text}. Write {name}=true,false")
        return Varied(name, known[name], choices=choices)
    ends, colon, scale = space.partition(":")
    try:
        low, high = map(float, ends.split(".."))
    except ValueError:
        raise ConfigError(f"--vary {text} must give two numbers. {FORMS}") from None
    if known[name] not in ("float", "int"):
        raise ConfigError(f"{name} is not a number, so it has no range, found --vary {text}. Write {name}=A,B,C")
    if not low < high or (colon and (scale != "log" or low <= 0)):
        raise ConfigError(f"--vary {text} must give a low and a higher end, above 0 with :log. {FORMS}")
    if known[name] == "int" and not (low.is_integer() and high.is_integer()):
        raise ConfigError(f"{name} is a whole number, found --vary {text}. Give whole ends.")
    return Varied(name, known[name], low, high, bool(colon))


def kind_of(value: Any) -> Any:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "int"
    return {float: "float", Schedule: "float", tuple: "words"}.get(type(value), "text")


def measured(run: RunDir, metric: str) -> float | None:
    """A metric of a run that has ended, the mean over its seeds: of the last evaluation where it is one of that, else
    of the last tenth of training. None where it was not finite."""
    lines = run.metrics()
    last = run.last_evaluation()
    trained = [line for line in lines if line["kind"] == "train"]
    begin = (1 - LAST) * (max((line["iteration"] for line in trained), default=0) + 1)
    late = [line for line in trained if line["iteration"] + 1 > begin]
    for found in ([line for line in last if line["kind"] == "eval"], late):
        if any(metric in line for line in found):
            values = [line[metric] for line in found if line.get(metric) is not None]
            return fmean(values) if len(values) == len(found) else None
    names = {key for line in (*last, *late) if line["kind"] in ("train", "eval") for key in line}
    raise ConfigError(unknown("metric", metric, sorted(names - {"kind", "iteration", "seed", "steps"})))


@dataclass(frozen=True)
class Trial:
    number: int
    settings: Mapping[str, str]
    value: float | None
    """None where training failed, or gave no finite number."""


def sweep(
    folder: Path,
    space: Sequence[Varied],
    *,
    trials: int,
    maximise: bool,
    seed: int,
    train: Callable[[int, list[str]], float | None],
    grid: bool = False,
) -> list[Trial]:
    """Go on until so many trials have ended; all of them. `train` gets a number and the flags of a trial. On a grid the
    trials are its points, each once."""
    optuna = optuna_here()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with kept_in(folder / STORAGE, optuna) as storage:
        study = optuna.create_study(
            storage=storage, study_name="sweep", load_if_exists=True, direction="maximize" if maximise else "minimize"
        )
        return searched(study, space, trials, seed, train, grid, optuna)


@contextmanager
def kept_in(file: Path, optuna: Any) -> Iterator[Any]:
    """Where a study keeps its trials; its connections would stay open until somebody collects them."""
    storage = optuna.storages.RDBStorage(f"sqlite:///{file.absolute()}")
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def searched(
    study: Any, space: Sequence[Varied], trials: int, seed: int, train: Callable[[int, list[str]], float | None],
    grid: bool, optuna: Any,
) -> list[Trial]:  # fmt: skip
    for left in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):  # by a process that was killed
        study.tell(left.number, state=optuna.trial.TrialState.FAIL)
    while len(ended(study)) < trials:
        if grid:  # the first point that no trial has ended with: one that was stopped is tried again
            done = [dict(one.settings) for one in ended(study)]
            study.enqueue_trial(next(point for point in points(space) if point not in done))
        # A seed for each trial: one for all would propose the same again after a stop.
        study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials), n_startup_trials=min(10, trials // 2))
        trial = study.ask()
        settings = {one.name: one.proposed(trial) for one in space}
        trial.set_user_attr("settings", settings)
        value = train(trial.number, [word for one in space for word in one.words(settings[one.name])])
        trial.set_user_attr("ended", True)
        study.tell(trial, value, state=optuna.trial.TrialState.FAIL if value is None else None)
    return ended(study)


def points(space: Sequence[Varied]) -> list[dict[str, str]]:
    """Every combination of the choices, the last setting changing fastest."""
    for one in space:
        if not one.choices:
            raise ConfigError(f"A grid needs choices, found a range of {one.name}. Write {one.name}=A,B,C")
    names = [one.name for one in space]
    return [dict(zip(names, values, strict=True)) for values in product(*(one.choices for one in space))]


def ended(study: Any) -> list[Trial]:
    found = [trial for trial in study.trials if trial.user_attrs.get("ended")]
    return [Trial(one.number, one.user_attrs["settings"], one.value) for one in found]


def best(trials: Sequence[Trial], *, maximise: bool) -> list[Trial]:
    """The best first; those without a value last."""
    sign = -1.0 if maximise else 1.0
    return sorted(trials, key=lambda one: (one.value is None, sign * (one.value or 0.0), one.number))


def optuna_here() -> Any:
    try:
        return import_module("optuna")
    except ImportError:
        raise ConfigError(
            "A sweep needs the package optuna, which is not here: pip install 'sparring[sweep]'"
        ) from None
