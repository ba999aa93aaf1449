"""The seat audit of a training loop of somebody else, from what its `SeatLog` wrote. No JAX."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from sparring.audit.findings import Audit, Finding, Picture, concluded
from sparring.audit.pictures import boxes
from sparring.audit.seats import static, trained
from sparring.audit.seats.crossed import Crossed, crossed_finding
from sparring.audit.seats.differences import Played, judged
from sparring.audit.seats.levels import ALPHA, L1, L2, L3, L4, L5, L6, L7, L8, verdict_of
from sparring.audit.seats.parity import parity_finding
from sparring.bridges.seat_log import VERSION, SeatLog
from sparring.core.errors import RunError
from sparring.statistics.permutation import holm

LEAST_GAP = 0.01
"""Shares that differ by less are no fault, however sure it is that they differ."""
PILOT = 32
"""Episodes that set the scale of the test and are not tested."""
Log = Mapping[str, Any]


def audit_file(paths: Sequence[Path], *, sources: Sequence[Path] = (), command: str = "") -> Audit:
    subject = ", ".join(map(str, paths))
    return audit_logs([read(path) for path in paths], sources=sources, command=command, subject=subject)


def read(path: Path) -> Log:
    """A file of `SeatLog.save`; what it holds is looked at before it is believed."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"Cannot read {path} as a log of seats: {error}. Write it with SeatLog.save.") from None
    known = SeatLog(["a", "b"]).plain()
    if not isinstance(found, dict) or set(found) != set(known) or found["version"] != VERSION:
        raise RunError(f"{path} is no log of seats of version {VERSION}. Write it with SeatLog.save of this version.")
    wrong = [name for name, value in known.items() if value is not None and type(found[name]) is not type(value)]
    if wrong or not all(len(row) == len(found["agents"]) for row in (*found["returns"], *found["learners"])):
        raise RunError(f"{path} is damaged in {', '.join(wrong) or 'its episodes'}. Write it again.")
    return found


def audit_logs(logs: Sequence[Log], *, sources: Sequence[Path] = (), command: str = "", subject: str = "") -> Audit:
    """Several logs are seeds, or rungs of a ladder, of one training."""
    began, agents = time.monotonic(), logs[0]["agents"]
    if any(log["agents"] != agents for log in logs):
        raise RunError(f"The logs are of different agents: {'; '.join(', '.join(log['agents']) for log in logs)}.")
    full = [log for log in logs if log["rung"] == logs[0]["rung"]]
    suspects = [one for path in sources for one in static.scan(path)]
    findings = [
        static.settings_finding(logs[0]["settings"], suspects, foreign=bool(sources)),
        L1.skipped("the states of this game cannot be set."), fixed_play(full, agents), seats_or_learners(full, agents),
        L4.skipped("only our learners can be exchanged."), ledger(full), *over_seeds(logs, agents), books(full),
    ]  # fmt: skip
    facts = {"logs": str(len(logs)), "episodes": str(sum(len(log["returns"]) for log in logs))}
    facts |= {"chance of a false alarm": f"at most {ALPHA:g} at each of L2, L3, L5 (shares) and L6"}
    facts |= {"seconds": f"{time.monotonic() - began:.1f}"}
    return concluded(
        "seats", subject or "a training loop", verdict_of(findings), findings, facts=facts, command=command,
        pictures=shown(full, agents),
    )  # fmt: skip


def fixed_play(logs: Sequence[Log], agents: Sequence[str]) -> Finding:
    """L2 of episodes in which nobody learns and all play alike."""
    rows = [row for log in logs if log["fixed"] for row in log["returns"]]
    if len(rows) < 2 * PILOT:
        reason = "no episodes of fixed, equal policies: log some of random play with SeatLog(..., fixed=True)."
        return L2.skipped(reason)
    return_GS, probe = np.asarray(rows, float), "fixed play"
    played = Played.begun({probe: return_GS[:PILOT]}, [((i,), (j,)) for i, j in combinations(range(len(agents)), 2)])
    for one in return_GS[PILOT:]:
        played.add({probe: one[None]})
    return judged(agents, played)


def seats_or_learners(logs: Sequence[Log], agents: Sequence[str]) -> Finding:
    """L3, where ids were shuffled from episode to episode."""
    returns, learners = (np.asarray([row for log in logs for row in log[kind]]) for kind in ("returns", "learners"))
    if not len(learners) or (learners == learners[0]).all():
        return L3.skipped("learners never changed seats: shuffle ids at each reset and tell log.episode.")
    return crossed_finding(Crossed(returns.astype(float), learners.astype(int)), agents, agents)


def ledger(logs: Sequence[Log]) -> Finding:
    """L5: counts must be equal; shares must not differ beyond chance."""
    if not any(log["counts"][name] for log in logs for name in log["agents"]):
        return L5.skipped("nothing was counted: see SeatLog.count, watch and watch_optimiser.")
    total: dict[str, Counter[str]] = {}
    for name, counts in (both for log in logs for both in log["counts"].items()):
        total.setdefault(name, Counter()).update(counts)
    found = parity_finding({name: dict(own) for name, own in total.items()}, "in these logs")
    return unlike_shares(logs) or found if found.outcome == "PASS" else found


def unlike_shares(logs: Sequence[Log]) -> Finding | None:
    """Shares that differ by more than chance and by more than a per cent."""
    names = list(dict.fromkeys(what for log in logs for own in log["shares"].values() for what in own))
    tests = []
    for what in names:
        table = np.sum([[own.get(what, [0, 0]) for own in log["shares"].values()] for log in logs], axis=0)
        hits, of = table.T
        rest: Any = np.stack([hits, of - hits])
        # Somebody without any at all is no matter of chance; where nobody has a hit there is nothing to compare.
        p_value = 0.0 if (of == 0).any() else 1.0
        if (of > 0).all() and (rest.sum(1) > 0).all():
            p_value = float(chi2_contingency(rest).pvalue)  # type: ignore[attr-defined]
        tests.append((what, hits / np.maximum(of, 1), p_value))
    for (what, share, _), p_value in zip(tests, holm([p for _, _, p in tests]), strict=True):
        if p_value < ALPHA and share.max() - share.min() > LEAST_GAP:
            told = ", ".join(f"{name} {x:.1%}" for name, x in zip(logs[0]["agents"], share, strict=True))
            return L5.found(
                False, f"{what}: {told} (p = {p_value:.2g}).", f"Agents do not get the same share of {what}.",
                "Look where they are logged: a key that is not found, an agent not asked, an early exit.",
                unequal=[what], shares=share.tolist(),
            )  # fmt: skip
    return None


def over_seeds(logs: Sequence[Log], agents: Sequence[str]) -> list[Finding]:
    """L6 and L7, of episodes in which agents learn."""
    tables: dict[str, list[np.ndarray]] = {}
    for log in (log for log in logs if not log["fixed"] and log["returns"]):
        rows = np.asarray(log["returns"], float)
        # By learner, where these changed seats: the order of learners is what training made.
        by_learner = np.take_along_axis(rows, np.argsort(np.asarray(log["learners"]), axis=1), axis=1)
        tables.setdefault(log["rung"], []).append(by_learner[-max(1, round(trained.LAST * len(rows))) :].mean(0))
    stacked = {rung: np.stack(own) for rung, own in tables.items()}
    first = next(iter(stacked.values()), np.zeros((0, len(agents))))
    reason = "one rung: log the same training with modules left out, SeatLog(..., rung='no imagination')."
    several = len(stacked) > 1 and all(len(own) > 1 for own in stacked.values())
    nothing = "no episodes of agents that learn were logged: see SeatLog.episode."
    return [
        trained.consistency(first, agents) if len(first) else L6.skipped(nothing),
        trained.localised(stacked, "shared policy") if several else L7.skipped(reason),
    ]


def books(logs: Sequence[Log]) -> Finding:
    checked = [log["logger"] for log in logs if log["logger"] is not None]
    faults = [fault for own in checked for fault in own]
    if not checked:
        return L8.skipped("the book-keeping was not tried: see SeatLog.check_logger.")
    right = "Known rewards, rising, falling and equal, are logged as they were paid."
    return L8.found(not faults, faults[0] if faults else right, faults=faults)


def shown(logs: Sequence[Log], agents: Sequence[str]) -> tuple[Picture, ...]:
    rows = [row for log in logs for row in log["returns"][-max(1, round(trained.LAST * len(log["returns"]))) :]]
    if not rows:
        return ()
    columns = dict(zip(agents, np.asarray(rows).T, strict=True))
    return (boxes(f"Returns of each seat, last {trained.LAST:.0%} of episodes", columns, "return"),)
