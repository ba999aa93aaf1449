"""Cases of `benchmarks/audits.py` about the audits of effects and of health: faulty and sound modules of a user's own,
on several games, each told by the verdict it must get; and recipes and games as they come, which are well."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from audits import Case, Outcome, counted, kept

ROOT = Path(__file__).parents[1]
FAULTS, STRANGERS = ROOT / "tests" / "audit" / "effects" / "faults.py", ROOT / "benchmarks" / "effect_strangers.py"
OWN = ROOT / "examples" / "own"
STATIC = {
    "wrong method": ("modules", "wrong_method"),
    "misspelt method": ("modules", "misspelt"),
    "evaluation only": ("modules", "evaluation_only"),
    "output ignored": ("modules", "ignored"),
    "learns alone": ("modules", "alone"),
    "constant loss": ("losses", "nothing=0.1"),
    "loss without gradient": ("losses", "stopped=0.1"),
}
"""Called DEAD (proved)."""
TRAINED = {
    "weight zero": ("losses", "flat=0.0", "DEAD (observed)"),
    "factor zero": ("modules", "times_zero", "DEAD (observed)"),
    "detached": ("modules", "detached", "DISCONNECTED"),
    "captured constant": ("modules", "captured", "DISCONNECTED"),
    "half of it unused": ("modules", "half_used", "DISCONNECTED"),
    "both factors zero": ("modules", "both_zero", "DISCONNECTED"),
    "dead layer of a network": ("body", "skipping", ("DISCONNECTED", "DEAD (observed)")),
}
SOUND = {
    "module": ("modules", "sound", "CONNECTED"),
    "frozen target": ("modules", "target", "CONNECTED"),
    "gate zero at first": ("body", "gated", "CONNECTED"),
    "waiting": ("modules", "waiting", "CONNECTED-NO-EFFECT (so far)"),
}
GAMES = ("kuhn", "matrix:rock_paper_scissors", "particles:tag")
SEEING = ("kuhn", "tic_tac_toe")
"""Games in which a policy sees something: in a matrix game every network is dead, and the audit says so."""
HEALTHY = (
    "chase", "debug", "demo", "dogfight", "fast_3m", "hunt", "spread", "tag", "kuhn", "leduc", "liars_dice",
    "goofspiel", "tic_tac_toe", "connect_four", "matrix:rock_paper_scissors", "matrix:prisoners_dilemma", "coin",
    "stag_hunt", "snowdrift", "particles:push",
)  # fmt: skip
"""Recipes, and games with what suits them."""
AUDITS, SEEDS, PART = 200, 8, 100
"""Weighings of nothing, seeds in each arm, and seeds of tiny runs in one case."""


def cases(keep: Path) -> Iterator[Case]:
    from effect_strangers import FAULTS as STRANGE
    from effect_strangers import REFUSED
    from effect_strangers import SOUND as STRANGE_SOUND

    for game in GAMES:
        for name, (kind, text) in STATIC.items():
            fault = partial(judged, "effects, static", game, FAULTS, kind, text, "DEAD (proved)")
            yield Case(f"effects, static: {name}, {game}", fault)
        for name in PLAIN:
            yield Case(f"effects, static: {name}, {game}", partial(plain, name, game))
    yield Case("effects, static: other random numbers, leave", drawing)
    lists = (("trained", FAULTS, TRAINED), ("strangers", STRANGERS, STRANGE), ("sound", FAULTS, SOUND))
    for game in SEEING:
        for table, file, parts in (*lists, ("sound", STRANGERS, STRANGE_SOUND)):
            for name, (kind, text, wanted) in parts.items():
                run = partial(judged, f"effects, {table}", game, file, kind, text, wanted)
                yield Case(f"effects, {table}: {name}, {game}", run)
        for name, (kind, text, word) in REFUSED.items():
            yield Case(f"effects, strangers: {name}, {game}", partial(refused, game, kind, text, word))
    yield Case("effects, torch", torch)
    for first in range(0, AUDITS * SEEDS // 2, PART):  # each seed is used in two weighings, with another partner
        yield Case(f"alarms, E7: tiny runs from {first}", partial(tiny_runs, first))
    yield Case("alarms, E7: weighings", partial(chance, keep))
    for name in HEALTHY:
        yield Case(f"health, well: {name}", partial(healthy, name))
    for name in HEALTHY:
        yield Case(f"health, whole: {name}", partial(healthy_to_the_end, name, keep / "whole" / name.replace(":", "-")))


def config(game: str) -> Any:
    from sparring.learn.config import PPOConfig
    from sparring.nets.config import NetConfig
    from sparring.setup.config import EvalConfig, PlayConfig, RunConfig
    from sparring.setup.own_code import trust

    trust(FAULTS, STRANGERS, OWN / "leave.py")
    return RunConfig(
        game=game, total_steps=10_000, evaluation=EvalConfig(eval_games=32, eval_times=1),
        play=PlayConfig(worlds=4, steps=4), net=NetConfig(hidden=(8,)), ppo=PPOConfig(epochs=2, minibatches=2),
    )  # fmt: skip


def audited(table: str, off: Any, on: Any, wanted: str | tuple[str, ...]) -> Outcome:
    from sparring.audit.effects.judge import audit_effects

    found = audit_effects(off, on, frozen=("target",), updates=4)
    hit = found.verdict.startswith(wanted) and (wanted != "CONNECTED" or found.verdict == "CONNECTED")
    return counted(table, hit, detail=found.verdict)


def judged(table: str, game: str, file: Path, kind: str, text: str, wanted: str | tuple[str, ...]) -> Outcome:
    """The config without and with one part of the user's own."""
    off = config(game)
    if kind == "body":
        return audited(table, off, replace(off, net=replace(off.net, body=f"{file}:{text}")), wanted)
    return audited(table, off, replace(off, ppo=replace(off.ppo, **{kind: (f"{file}:{text}",)})), wanted)


def refused(game: str, kind: str, text: str, word: str) -> Outcome:
    from sparring.core.errors import ConfigError

    try:
        found = judged("effects, strangers", game, STRANGERS, kind, text, "")
        return counted("effects, strangers", False, detail=found.detail)
    except ConfigError as error:
        return counted("effects, strangers", word in str(error), detail=str(error))


PLAIN = {
    "flag nobody reads": (lambda one: replace(one, evaluation=replace(one.evaluation, eval_games=64)), "DEAD (proved)"),
    "flag with a default": (lambda one: one, "DEAD (proved)"),
    "another seed": (lambda one: replace(one, seed=1), "RNG-ONLY"),
}


def plain(name: str, game: str) -> Outcome:
    change, wanted = PLAIN[name]
    return audited("effects, static", config(game), change(config(game)), wanted)


def drawing() -> Outcome:
    off = replace(config(f"{FAULTS}:drawing"), play=replace(config("kuhn").play, worlds=6))
    return audited("effects, static", off, replace(off, options=("drawn=true",)), "RNG-ONLY")


def tiny_runs(first: int) -> Outcome:
    """Exploitability of tiny runs of kuhn at their end and over them, seed by seed: kept, nothing is judged."""
    from sparring.audit.effects.arms import run_arm
    from sparring.setup.config import CheckpointConfig, EvalConfig

    one = replace(
        config("kuhn"), seed=first, seeds=PART, total_steps=200,
        checkpoint=CheckpointConfig(checkpoint_every=0, keep=1),
        evaluation=EvalConfig(eval_games=16, eval_times=2, eval_first=False),
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        lines = run_arm(one, Path(folder) / "run").lines
    curves: dict[int, list[float]] = {}
    for line in lines:
        if line["kind"] == "eval":
            curves.setdefault(line["seed"], []).append(line["exploitability"])
    return Outcome({}, [(curve[-1], float(np.mean(curve))) for curve in curves.values()])


def figures_of_tiny_runs(keep: Path) -> np.ndarray:
    """[N, last and mean]."""
    done = kept(keep)
    found = [row for name, one in done.items() if name.startswith("alarms, E7: tiny") for row in one["detail"]]
    return np.asarray(found or tiny_runs(0).detail)


def weighed(told_NF: np.ndarray, gap: float) -> Any:
    """E7 of the first half as baseline and the second, moved by a gap, as treatment."""
    from sparring.audit.effects.worth import judged as weigh

    half = len(told_NF) // 2
    arms = {"baseline": told_NF[:half], "treatment": told_NF[half:] + gap}
    return weigh("exploitability", {name: dict(enumerate(map(tuple, own))) for name, own in arms.items()}, draw=False)


def chance(keep: Path) -> Outcome:
    told_NF, random = figures_of_tiny_runs(keep), np.random.default_rng(0)
    picked = (told_NF[random.permutation(len(told_NF))[: 2 * SEEDS]] for _ in range(AUDITS))
    return counted("alarms, E7", *(weighed(one, 0.0).effect for one in picked))


def torch() -> Outcome:
    sys.path.insert(0, str(ROOT / "tests" / "bridges"))
    from effect_loops import LOOPS, watched

    from sparring.audit.effects.watched import audit_watched

    found = {what: (audit_watched(*watched(loop)).verdict, wanted) for what, (loop, wanted) in LOOPS.items()}
    return counted("effects, torch", *(verdict == wanted for verdict, wanted in found.values()), detail=found)


def healthy(name: str) -> Outcome:
    """64 iterations of a recipe, or of a game with what suits it."""
    from sparring.audit.effects.arms import run_arm
    from sparring.cli.audit_effects import config_of
    from sparring.setup.build import build
    from sparring.setup.config import CheckpointConfig

    whole = config_of([name])
    steps = 64 * build(whole).steps_per_iteration
    cut = replace(whole, total_steps=steps, checkpoint=CheckpointConfig(checkpoint_every=0, keep=1))
    with TemporaryDirectory() as folder:
        run_arm(cut, Path(folder) / "run")
        return symptoms("health, well", Path(folder) / "run")


def healthy_to_the_end(name: str, run: Path) -> Outcome:
    """A recipe, or a game with what suits it, as long as it says; the run is kept."""
    from sparring.cli.audit_effects import config_of
    from sparring.training.runs import start

    start(config_of([name]), run, force=True)
    return symptoms("health, whole", run)


def symptoms(table: str, run: Path) -> Outcome:
    from sparring.audit.health.judge import audit_health

    audit = audit_health(run)
    sick = {one.level: one.evidence for one in audit.findings if one.outcome == "FAIL"}
    return counted(table, not sick, detail=[audit.verdict, sick])
