"""Is a run healthy? Symptoms read from what any run directory holds, each with its evidence, its meaning and a remedy.

Where training gives a notice, the same function is asked again here, over the whole run: so runs that were made before
a notice existed are judged like those made today.
"""

from pathlib import Path

from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Picture, Question, Verdict, concluded
from sparring.audit.health import league, learning
from sparring.audit.health.learning import Check, by_notice
from sparring.audit.health.record import Record
from sparring.audit.pictures import curves
from sparring.core.names import counted
from sparring.evaluation.advice import ADVICE
from sparring.reports.curves import curve
from sparring.training.notices import LARGE_KL
from sparring.training.trends import LEAST

OFTEN = 0.1
"""Share of iterations from which on something is not an accident."""
CHECKS: dict[Question, Check] = {
    Question(
        "entropy", "does the policy keep exploring in the first half?",
        "A policy that settled early may have settled on anything.", f"Try to {ADVICE['entropy']}."
    ): learning.exploring,
    Question(
        "KL", "do updates stay near the policy that played?",
        f"Iterations with a KL above {LARGE_KL} learn from actions that the policy would hardly take any more.",
        "Use smaller steps: --target-kl 0.02, fewer --epochs, a lower --learning-rate."
    ): by_notice("kl", share=OFTEN),
    Question(
        "critic", "does the critic explain returns?", "Advantages are mostly noise, so learning is slow or none.",
        f"Try to {ADVICE['blind_critic']}."
    ): by_notice("blind_critic"),
    Question(
        "numbers", "is every number finite?", "Some minibatches taught nothing.",
        "Look at the rewards of the game, or lower the step size."
    ): by_notice("not_finite"),
    Question(
        "game", "do all games go as their rules say?",
        "Worlds broke and were left out, so that the rest may mislead.", "Check the game: sparring games GAME."
    ): by_notice("left_out"),
    Question(
        "time", "do games end before their limit?", "Nobody reaches the end of the game by its rules.",
        f"Try to {ADVICE['by_time']}."
    ): by_notice("by_time"),
    Question("stale pool", "do past selves still teach?"): league.stale_pool,
    Question("cycling league", "can players be ranked, without cycles among them?"): league.cycling,
    Question("swings", "do win rates stay steady from update to update?"): league.swings,
    Question("rating", "do ratings say what games say?"): league.rating_against_payoff,
    Question("illegal actions", "does the policy keep to what the rules allow?"): learning.illegal,
    Question("truncation", "are games cut by a time limit kept apart from those that ended?"): learning.truncation,
    Question("forgetting", "does the newest policy still beat those that an older one beat?"): league.forgetting,
}  # fmt: skip


def audit_health(path: Path, command: str = "") -> Audit:
    record = Record.of(path)
    told = [check(ask, record) for ask, check in CHECKS.items()]
    sick = [one.level for one in told if one.outcome == "FAIL"]
    summary = f"{counted(len(sick), 'symptom')}: {', '.join(sick)}." if sick else "No symptom was found."
    if unknown := sum(one.outcome == "SKIPPED" for one in told):
        summary += f" {unknown} of {len(told)} questions could not be asked of this run."
    name, code = (f"SICK({', '.join(sick)})", FAULT) if sick else ("HEALTHY", SOUND)
    if not sick and not record.quartered:
        name, code = "UNDECIDED", OPEN
        summary = f"Too short to tell, with no quarter of {LEAST} iterations done: train longer. {summary}"
    facts = {"iterations": str(record.done), "game": str(record.manifest["game"]), "checks": str(len(told))}
    return concluded(
        "health", str(path), Verdict(name, code, summary), told, facts=facts, command=command, pictures=pictures(record)
    )


def pictures(record: Record) -> tuple[Picture, ...]:
    """The curves that most symptoms are read from."""
    name, found = record.built.lineup.names[0], []
    for key, unit in {"entropy": "nats", "approx_kl": "KL", "explained_variance": "share"}.items():
        if one := curve(record.kind("train"), [f"{name}/{key}"]):
            found.append(curves(f"{name}: {key}", {key: (one.steps, one.mean)}, "steps", unit))
    return tuple(found)
