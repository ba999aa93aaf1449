"""What each level asks, and what their answers mean together. No JAX."""

from collections.abc import Sequence

from sparring.audit.findings import FAULT, OPEN, SOUND, Finding, Question, Verdict

L0 = Question("L0", "do settings or code name particular agents?")
L1 = Question("L1", "does the game do the same when seats change places?")
L2 = Question("L2", "do seats earn the same in many games?")
L3 = Question(
    "L3", "does an order follow the seat or the learner?",
    "The order follows the seat, whoever sits there: it is in the game or in the books.",
    "See L1 and L2 for the game, L8 for the books.",
)  # fmt: skip
L4 = Question(
    "L4", "do learners with each other's data become each other?", "Learning depends on a learner's number.",
    "Look for a branch on an id, a counter or buffer that learners share, or a mean over the stacked axis.",
)  # fmt: skip
L5 = Question("L5", "does every learner get the same amount of everything?")
L6 = Question("L6", "do seats come out in the same order in every seed?")
L7 = Question("L7", "with which module does the order come?")
L8 = Question(
    "L8", "is everything booked on the seat to which it happened?",
    "Books do not say what happened. Nothing else that they say can be believed before this is mended.",
    "Look at how what happened goes from seats to learners, and how it is added up, scaled and masked on its way.",
)  # fmt: skip
LEVELS = tuple(one.level for one in (L0, L1, L2, L3, L4, L5, L6, L7, L8))
ALPHA = 0.01
"""Chance that a level which goes by numbers of chance accuses where there is no fault."""
TRAINING = ("L0", "L4", "L5", "L7", "L6")
"""Levels that accuse the training, those first that name what is at fault."""


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    by_level = {one.level: one for one in findings}
    failed = [one.level for one in findings if one.outcome == "FAIL"]

    def passed(*levels: str) -> bool:
        return all(level in by_level and by_level[level].outcome == "PASS" for level in levels)

    def told(level: str) -> str:
        one = by_level[level]
        return f"{level}: {one.evidence} {one.meaning}".strip()

    if "L8" in failed:
        return Verdict("LOGGING-BIASED", FAULT, told("L8"))
    environment = next((level for level in ("L1", "L2", "L3") if level in failed), "")
    if environment:
        return Verdict("ENV-BIASED", FAULT, told(environment))
    training = next((level for level in TRAINING if level in failed), "")
    if training:
        return Verdict(f"TRAINING-BIASED({module_of(by_level[training])})", FAULT, told(training))

    def named(outcome: str, word: str) -> str:
        levels = ", ".join(one.level for one in findings if one.outcome == outcome)
        return f" {word}: {levels}." if levels else ""

    asked = named("UNDECIDED", "Undecided") + named("SKIPPED", "Not asked")
    if passed("L1", "L4", "L5", "L8"):
        return Verdict("SYMMETRIC", SOUND, f"The game treats its seats exactly alike, and so does the training.{asked}")
    if passed("L1"):
        text = f"The game treats its seats exactly alike. Training is not judged.{asked}"
        return Verdict("SYMMETRIC GAME", OPEN, text)
    if passed("L2"):
        margin = by_level["L2"].numbers.get("margin", 0.0)
        exact = by_level["L1"].outcome if "L1" in by_level else "SKIPPED"
        why = "L1 cannot tell" if exact == "UNDECIDED" else "L1 was not asked"
        text = f"No difference beyond {margin:.0%} of what a seat earns. Exact it is not: {why}.{asked}"
        return Verdict("NO BIAS FOUND", OPEN, text)
    undecided = [one for one in findings if one.outcome == "UNDECIDED"]
    why = " ".join(f"{one.level}: {one.remedy}" for one in undecided if one.remedy)
    return Verdict("INCONCLUSIVE", OPEN, f"Nothing is shown to be wrong, nor to be right. {why}{asked}".strip())


def module_of(finding: Finding) -> str:
    """The part of the training that a level names."""
    if finding.level == "L7":
        return str(finding.numbers.get("culprit") or "not localised")
    if finding.level == "L5":
        return str(finding.numbers.get("unequal", ["not localised"])[0])
    return {"L0": "settings", "L4": "update"}.get(finding.level, "not localised")
