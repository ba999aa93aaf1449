"""How often the effect audit finds a fault, and how often it cries wolf: faulty and sound modules of a user's own, on
several games, each told by the verdict it must get.

    python benchmarks/audits_effects.py static       programs compared, nothing trained
    python benchmarks/audits_effects.py trained      faults that only a few updates show
    python benchmarks/audits_effects.py sound        treatments that work: none may be called dead
    python benchmarks/audits_effects.py chance       200 weighings of nothing: how often E7 sees an effect
    python benchmarks/audits_effects.py torch        the same faults in a loop in PyTorch
    python benchmarks/audits_effects.py health       recipes and games as they come, 64 iterations each: all are well
    python benchmarks/audits_effects.py health:tag   one of them
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
FAULTS = ROOT / "tests" / "audit" / "effects" / "faults.py"
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
    "loss": ("losses", "flat=0.1", "CONNECTED"),
    "module": ("modules", "sound", "CONNECTED"),
    "frozen target": ("modules", "target", "CONNECTED"),
    "gate zero at first": ("body", "gated", "CONNECTED"),
    "waiting": ("modules", "waiting", "CONNECTED-NO-EFFECT (so far)"),
}
GAMES = ("kuhn", "matrix:rock_paper_scissors", "particles:tag")
SEEING = ("kuhn", "tic_tac_toe")
"""Games in which a policy sees something: in a matrix game every network is dead, and the audit says so."""


def config(game: str):
    from sparring.learn.config import PPOConfig
    from sparring.nets.config import NetConfig
    from sparring.setup.config import EvalConfig, PlayConfig, RunConfig

    return RunConfig(
        game=game, total_steps=10_000, evaluation=EvalConfig(eval_games=32, eval_times=1),
        play=PlayConfig(worlds=4, steps=4), net=NetConfig(hidden=(8,)), ppo=PPOConfig(epochs=2, minibatches=2),
    )  # fmt: skip


def treated(plain, kind: str, text: str):
    """The config with one part of the user's own."""
    if kind == "body":
        return replace(plain, net=replace(plain.net, body=f"{FAULTS}:{text}"))
    return replace(plain, ppo=replace(plain.ppo, **{kind: (f"{FAULTS}:{text}",)}))


def row(what: str, game: str, audit, wanted: str | tuple[str, ...], began: float) -> bool:
    hit = audit.verdict.startswith(wanted) and (wanted != "CONNECTED" or audit.verdict == "CONNECTED")
    seconds = time.monotonic() - began
    print(f"{'ok  ' if hit else 'MISS'} {what:<26} {game:<28} {audit.verdict[:60]:<60} {seconds:5.1f} s", flush=True)
    return hit


def tell(what: str, hits: list[bool]) -> None:
    from sparring.statistics.intervals import clopper_pearson

    rate = clopper_pearson(sum(hits), len(hits))
    print(f"{what}: {sum(hits)} of {len(hits)}, {rate.mean:.1%} [{rate.low:.1%}, {rate.high:.1%}]\n", flush=True)


def static() -> None:
    from sparring.audit.effects.judge import audit_effects

    hits = []
    for game in GAMES:
        plain = config(game)
        for what, (kind, text) in STATIC.items():
            began = time.monotonic()
            hits.append(row(what, game, audit_effects(plain, treated(plain, kind, text)), "DEAD (proved)", began))
        began = time.monotonic()
        same = replace(plain, evaluation=replace(plain.evaluation, eval_games=64))
        hits.append(row("flag nobody reads", game, audit_effects(plain, same), "DEAD (proved)", began))
        began = time.monotonic()
        hits.append(row("flag with a default", game, audit_effects(plain, plain), "DEAD (proved)", began))
        began = time.monotonic()
        hits.append(row("another seed", game, audit_effects(plain, replace(plain, seed=1)), "RNG-ONLY", began))
    drawn = replace(config(f"{FAULTS}:drawing"), play=replace(config("kuhn").play, worlds=6))
    began = time.monotonic()
    hits.append(
        row(
            "other random numbers",
            "leave",
            audit_effects(drawn, replace(drawn, options=("drawn=true",))),
            "RNG-ONLY",
            began,
        )
    )
    tell("detected, programs compared", hits)


def trained(cases=TRAINED, games=SEEING, what: str = "detected, a few updates") -> None:
    from sparring.audit.effects.judge import audit_effects

    hits = []
    for game in games:
        plain = config(game)
        for name, (kind, text, wanted) in cases.items():
            began = time.monotonic()
            on = treated(plain, kind, text)
            hits.append(row(name, game, audit_effects(plain, on, frozen=("target",), updates=4), wanted, began))
    tell(what, hits)


def sound() -> None:
    trained(SOUND, SEEING, "sound treatments judged right")


def chance(audits: int = 200, seeds: int = 8) -> None:
    """Tiny runs of one configuration, seed by seed, put into pairs: nothing differs but chance."""
    import numpy as np

    from sparring.audit.effects.arms import run_arm
    from sparring.audit.effects.worth import judged
    from sparring.setup.config import CheckpointConfig, EvalConfig

    plain = config("kuhn")
    count = 2 * audits * seeds // 4  # each seed is used in two audits, with another partner
    one = replace(
        plain, seeds=count, total_steps=200, evaluation=EvalConfig(eval_games=16, eval_times=2, eval_first=False),
        checkpoint=CheckpointConfig(checkpoint_every=0, keep=1),
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        lines = run_arm(one, Path(folder) / "run").lines
    curves: dict[int, list[float]] = {}
    for line in lines:
        if line["kind"] == "eval":
            curves.setdefault(line["seed"], []).append(line["exploitability"])
    told = [(curve[-1], float(np.mean(curve))) for curve in curves.values()]
    generator, alarms = np.random.default_rng(0), []
    for _ in range(audits):
        picked = generator.permutation(count)[: 2 * seeds]
        arms = {"baseline": picked[:seeds], "treatment": picked[seeds:]}
        alarms.append(
            judged(
                "exploitability",
                {name: dict(enumerate(told[i] for i in own)) for name, own in arms.items()},
                draw=False,
            ).effect
        )
    tell("E7 alarms where nothing differs (5 % are allowed)", alarms)


def torch() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "bridges"))
    from effect_loops import LOOPS, watched

    from sparring.audit.effects.watched import audit_watched

    hits = []
    for what, (loop, wanted) in LOOPS.items():
        began = time.monotonic()
        hits.append(row(what, "a loop in PyTorch", audit_watched(*watched(loop)), wanted, began))
    tell("detected in PyTorch", hits)


HEALTHY = (
    "chase", "debug", "demo", "dogfight", "fast_3m", "hunt", "spread", "tag", "kuhn", "leduc", "liars_dice",
    "goofspiel", "tic_tac_toe", "connect_four", "matrix:rock_paper_scissors", "matrix:prisoners_dilemma", "coin",
    "stag_hunt", "snowdrift", "particles:push",
)  # fmt: skip
"""Recipes, and games with what suits them."""


def health(*names: str) -> None:
    from sparring.audit.effects.arms import run_arm
    from sparring.audit.health.judge import audit_health
    from sparring.cli.audit_effects import config_of
    from sparring.setup.build import build
    from sparring.setup.config import CheckpointConfig

    well = []
    for name in names or HEALTHY:
        began, plain = time.monotonic(), config_of([name])
        steps = 64 * build(plain).steps_per_iteration
        cut = replace(plain, total_steps=steps, checkpoint=CheckpointConfig(checkpoint_every=0, keep=1))
        with TemporaryDirectory() as folder:
            run_arm(cut, Path(folder) / "run")
            audit = audit_health(Path(folder) / "run")
        well.append(row("health", name, audit, "HEALTHY", began))
        for one in (one for one in audit.findings if one.outcome == "FAIL"):
            print(f"     {one.level}: {one.evidence}", flush=True)
    tell("healthy runs without a symptom", well)


PARTS = {"static": static, "trained": trained, "sound": sound, "chance": chance, "torch": torch, "health": health}


EFFECTS = ("static", "trained", "sound", "chance", "torch")


def measure(*parts: str) -> None:
    """Print the tables of some parts; `effects` is all but health."""
    from sparring.setup.own_code import trust

    trust(FAULTS, OWN / "leave.py")
    for part in (one for asked in parts for one in (EFFECTS if asked == "effects" else (asked,))):
        name, _, one = part.partition(":")
        PARTS[name](*([one] if one else []))


if __name__ == "__main__":
    measure(*(sys.argv[1:] or PARTS))
