"""Is a run well? Symptoms read from what any run directory holds, each with its evidence, its meaning and a remedy.

Where training gives a notice, the same function is asked again here, over the whole run: so runs that were made before
a notice existed are judged like those made today.
"""

from collections.abc import Callable
from pathlib import Path

from sparring.audit.findings import FAULT, SOUND, Audit, Finding, Picture
from sparring.audit.health import league, learning
from sparring.audit.health.learning import by_notice
from sparring.audit.health.record import Record
from sparring.core.names import counted
from sparring.evaluation.advice import ADVICE
from sparring.training.notices import LARGE_KL

OFTEN = 0.1
"""Share of iterations from which on something is not an accident."""
CHECKS: dict[str, Callable[[Record], Finding]] = {
    "entropy": by_notice(
        "entropy", "entropy", "A policy that settled early may have settled on anything.",
        f"Try to {ADVICE['entropy']}.",
    ),
    "KL": by_notice(
        "KL", "kl", f"Iterations with a KL above {LARGE_KL} learn from choices that the policy no longer makes.",
        "Use smaller steps: --target-kl 0.02, fewer --epochs, a lower --learning-rate.", share=OFTEN,
    ),
    "critic": by_notice(
        "critic", "blind_critic", "Advantages are mostly noise, so learning is slow or none.",
        f"Try to {ADVICE['blind_critic']}.",
    ),
    "numbers": by_notice(
        "numbers", "not_finite", "Some minibatches taught nothing.",
        "Look at the rewards of the game, or lower the step size.",
    ),
    "game": by_notice(
        "game", "left_out", "Worlds broke and were left out, so that the rest may mislead.",
        "Check the game: sparring games GAME.",
    ),
    "time": by_notice(
        "time", "by_time", "Nobody reaches the end of the game by its rules.", f"Try to {ADVICE['by_time']}."
    ),
    "stale pool": league.stale_pool,
    "cycling league": league.cycling,
    "swings": league.swings,
    "rating": league.rating_against_payoff,
    "illegal actions": learning.illegal,
    "truncation": learning.truncation,
    "forgetting": league.forgetting,
}  # fmt: skip


def audit_health(path: Path, command: str = "") -> Audit:
    record = Record.of(path)
    told = tuple(check(record) for check in CHECKS.values())
    sick = [one.level for one in told if one.outcome == "FAIL"]
    summary = f"{counted(len(sick), 'symptom')}: {', '.join(sick)}." if sick else "No symptom was found."
    facts = {"iterations": str(record.done), "game": str(record.manifest["game"]), "checks": str(len(told))}
    return Audit(
        kind="health", subject=str(path), verdict=f"SICK({', '.join(sick)})" if sick else "HEALTHY",
        code=FAULT if sick else SOUND, summary=summary, findings=told, facts=facts, command=command,
        pictures=pictures(record),
    )  # fmt: skip


def pictures(record: Record) -> tuple[Picture, ...]:
    """The curves that most symptoms are read from, the first seed's."""
    from sparring.audit.pictures import curves

    name, seed = record.built.lineup.names[0], record.kind("train")[0]["seed"]
    own = [line for line in record.kind("train") if line["seed"] == seed]
    kinds = {"entropy": "nats", "approx_kl": "KL", "explained_variance": "share"}
    found = []
    for key, unit in kinds.items():
        line = [(x["iteration"], x[f"{name}/{key}"]) for x in own if x.get(f"{name}/{key}") is not None]
        if line:
            at, value = zip(*line, strict=True)
            found.append(curves(f"{name}: {key}", {key: (at, value)}, "iteration", unit))
    return tuple(found)
