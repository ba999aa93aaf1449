"""Symptoms of learning and of the game. Most are notices of training, asked again over the whole run."""

from collections.abc import Callable
from typing import Any

from sparring.audit.findings import Finding, Question
from sparring.audit.graph import inputs_of_step
from sparring.audit.health.record import Record, mean
from sparring.evaluation.findings import settled
from sparring.evaluation.scoring import LEARNED
from sparring.games.game import Game
from sparring.training.trends import unasked

Check = Callable[[Question, Record], Finding]
ILLEGAL = ("illegal", "invalid", "forfeit")
"""Parts of the names of causes and counts."""


def by_notice(kind: str, *, share: float = 0.0) -> Check:
    """A symptom that is a notice, or one that comes back in this share of the iterations."""

    def look(ask: Question, record: Record) -> Finding:
        told = record.noticed.get(kind, [])
        seen = len({line["iteration"] for line in told})
        if not told and (why := unasked(kind, record.built, record.done)):
            return ask.skipped(why)
        if not told or seen / record.done < share:
            rare = f", but for {seen}, which is rare" if told else ""
            return ask.found(True, f"yes, in all {record.done} iterations{rare}", iterations=seen)
        when = f"{seen} of {record.done} iterations, first in {told[0]['iteration']}"
        evidence = f"{told[0]['learner']}: {told[0]['text'].partition('. ')[0]}. ({when})"
        return ask.found(False, evidence, iterations=seen, first=told[0]["iteration"])

    return look


def exploring(ask: Question, record: Record) -> Finding:
    """A policy that settled early, unless next to nothing can be won from what it settled on."""
    found = by_notice("entropy")(ask, record)
    others = [value for team, value in record.exact.items() if team != LEARNED]
    if found.outcome == "FAIL" and LEARNED in record.exact and settled(record.exact[LEARNED], others):
        return ask.found(True, f"it settled early, on what {record.exact[LEARNED]:.2g} can be won from, exactly")
    return found


def illegal(ask: Question, record: Record) -> Finding:
    """Games that end by, or count, choices that the rules forbid."""
    late = [line for line in record.kind("train") if line["iteration"] in record.late]
    told = sorted({key for line in late for key in line if key.startswith(("cause/", "count/"))})
    keys = [key for key in told if any(word in key.lower() for word in ILLEGAL)]
    if not keys:
        return ask.found(True, "the game names none, and masks keep the policy from them")
    means: dict[str, Any] = {key: mean([line[key] for line in late if line.get(key) is not None]) for key in keys}
    often = ", ".join(f"{key} {value:.2g} a game" for key, value in means.items() if value > 0.01)
    return ask.found(
        not often, often or "below 1 in 100 games",
        "The policy may choose what the rules forbid: it learns to play around a penalty.",
        "Give the legal entries in the observation (legal_SA; action_mask of a PettingZoo environment).", **means,
    )  # fmt: skip


def truncation(ask: Question, record: Record) -> Finding:
    """Time limits that cut games, counted as ends of them."""
    spec = record.built.game.spec
    late = (line["length"] for line in record.kind("train") if line["iteration"] in record.late)
    length = mean([steps for steps in late if steps is not None])
    if record.built.config.ppo.time_limit != "end":
        return ask.found(True, "what follows a cut game is the value of its last observation")
    if not spec.outside and not cuts(record.built.game):
        return ask.found(True, "this game is never cut by time: its limit is one of its rules")
    return ask.found(
        length < 0.5 * spec.longest, f"games last {length:.0f} of at most {spec.longest} steps, and time_limit is end",
        "A game that time cut counts as worth nothing from there on, so the critic learns to fear the clock.",
        "Leave --time-limit at bootstrap, unless the limit is a rule that the policy can see.", length=length,
    )  # fmt: skip


def cuts(game: Game) -> bool:
    """Whether a game can ever be cut, by the program of its step: where it cannot, `cut` depends on nothing."""
    return bool(inputs_of_step(game, "step.cut"))
