"""What the hooks of `bridges/effect_log` saw in somebody's PyTorch loop, judged. No JAX."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sparring.audit.effects.stages import E0, E1, E2, E3, E4, E6, E7, RNG_ONLY, RUNS, listed
from sparring.audit.findings import FAULT, SOUND, Audit, Finding, Question, Verdict, concluded
from sparring.core.errors import ConfigError

ROUNDING = 1e-6
"""Outputs that differ by a smaller share of their size are equal but for rounding."""
NO = ("false", "no", "off", "0", "none")
Log = Mapping[str, Any]
Faults = Mapping[str, tuple[Question, str, bool]]
"""By module: the stage, the reason, and whether the module does nothing at all in training."""


def read_watched(path: Path) -> Log:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as an effect log: {error}. Write one with EffectLog.save.") from None
    if not isinstance(found, dict) or found.get("kind") != "effect log":
        raise ConfigError(f"{path} is no effect log. Write one with EffectLog.save.")
    return found


def audit_watched(
    on: Log, off: Log | None = None, muted: Log | None = None, *, subject: str = "a loop in PyTorch", command: str = ""
) -> Audit:
    """The treatment's log; with that of the baseline, and of the treatment muted, all with one seed, more is known."""
    faults = dict(module_faults(on))
    told = [
        provenance(on), settings(on, off), calls(on, faults), influence(on, faults), gradient(on, faults),
        runs(on, off, muted), E6.skipped("needs the logs of a muted run and of the baseline"),
        E7.skipped("logs of several seeds are compared by --logs"),
    ]  # fmt: skip
    facts = {"optimiser steps": str(on["steps"]), "modules": listed(list(on["modules"]))}
    return concluded("effects", subject, verdict_of(on, faults, told), told, facts=facts, command=command)


def module_faults(log: Log) -> Iterator[tuple[str, tuple[Question, str, bool]]]:
    wanted, meant = log["phases"], log.get("frozen", [])
    for name, own in log["modules"].items():
        calls = own["calls"]
        missing = [phase for phase in wanted if not calls.get(phase)]
        elsewhere = [f"{n} times in {phase}" for phase, n in calls.items() if phase not in (*wanted, "influence")]
        weights = [part for part in own["parameters"] if part not in own["frozen"]]
        outside = [part for part in weights if not own["optimisers"][part]]
        still = [part for part in weights if not own["moved"].get(part)]
        blind = [part for part in weights if part not in own["gradient"]]
        if missing:
            also = f", but {' and '.join(elsewhere)}" if elsewhere else ""
            yield name, (E2, f"is never called in {' or '.join(missing)}{also}", len(missing) == len(wanted))
        elif max(own["influence"].values(), default=1.0) <= ROUNDING:
            yield name, (E3, "is called, and nothing changes when its output is replaced", False)
        elif own["frozen"] and not weights and name not in meant:
            yield name, (E4, "has no parameter that may be trained: requires_grad is False for all of them", False)
        elif outside:
            yield name, (E4, f"has parameters that no optimiser holds: {listed(outside)}", False)
        elif blind:
            yield name, (E4, f"has parameters that never get a gradient: {listed(blind)}", False)
        elif still and log["steps"]:
            yield name, (E4, f"has parameters that never move: {listed(still)}", False)


def provenance(log: Log) -> Finding:
    imports = log["imports"]
    twice = {name: (x["file"], x["other"]) for name, x in imports.items() if x["other"]}
    copies = [f"{name} is imported from {file}, not from {other}" for name, (file, other) in twice.items()]
    told = listed(copies) or f"{len(imports)} files of the project are imported, none from a second copy"
    remedy = "Uninstall the other copy, or install the project in editable mode (pip install -e .)."
    return E0.found(not copies, told, remedy=remedy, imports=imports)


def settings(log: Log, off: Log | None) -> Finding:
    """Flags that were given and are not among the settings, or say something else there; and those that differ."""
    known, flags = log["settings"], {}
    for word, after in pairwise([*log["arguments"], ""]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name.replace("-", "_")] = value if equals else after
    wrong = [f"--{name} was given and is no setting" for name in flags if known and name not in known]
    off_now = {name: value for name, value in flags.items() if known.get(name) == "True" and value.lower() in NO}
    wrong += [f"--{name} {value} became True" for name, value in off_now.items()]
    texts = {name: known[name] for name in log.get("texts", ()) if known[name].lower() in NO}
    wrong += [f"{name} is the text {value!r}, and every text counts as true" for name, value in texts.items()]
    if wrong:
        return E1.found(
            False, listed(wrong), "parse_known_args forgets flags that it does not know; type=bool, and a text that is "
            "asked whether it is true, take every word for True.",
            "Use parse_args, and action=argparse.BooleanOptionalAction.",
        )  # fmt: skip
    if off is None or not known:
        return E1.skipped("every flag arrived; no baseline to compare with" if known else "no settings were given")
    differ = {name: (off["settings"].get(name), x) for name, x in known.items() if off["settings"].get(name) != x}
    told = listed([f"{name}: {a} becomes {b}" for name, (a, b) in differ.items()])
    return E1.found(
        bool(differ), told or "both runs have the same effective settings", "Nothing was switched on.",
        "Look for a default that is already on.", differ=differ,
    )  # fmt: skip


def calls(log: Log, faults: Faults) -> Finding:
    counts = {name: own["calls"].items() for name, own in log["modules"].items()}
    told = [f"{name}: {', '.join(f'{n} in {phase}' for phase, n in own) or 'never'}" for name, own in counts.items()]
    remedy = "Call it where training draws actions and where the loss evaluates them again, not only in evaluation."
    return of_stage(E2, told, faults, remedy)


def influence(log: Log, faults: Faults) -> Finding:
    known = {name: own["influence"] for name, own in log["modules"].items() if own["influence"]}
    if not known:
        return E3.skipped("not asked for: EffectLog.influence(lambda: policy.logits(batch))")
    told = [f"{name}: {', '.join(f'{way} {x:.2g}' for way, x in own.items())}" for name, own in known.items()]
    return of_stage(E3, told, faults, "Use its output where logits and values are made.")


def gradient(log: Log, faults: Faults) -> Finding:
    if not log["steps"]:
        return E4.found(False, "no optimiser that was named ever stepped", "", "Name the optimisers that train.")
    told = [
        f"{name}: {len(own['gradient'])} of {len(own['parameters'])} parameters got gradients, moved up to "
        f"{max(own['moved'].values(), default=0.0):.1%}"
        for name, own in log["modules"].items()
    ]
    return of_stage(E4, told, faults, "Add its parameters to the optimiser, and look for detach() and torch.no_grad().")


def of_stage(question: Question, told: Sequence[str], faults: Faults, remedy: str) -> Finding:
    mine = [f"{name} {why}" for name, (stage, why, _) in faults.items() if stage is question]
    return question.found(not mine, "; ".join(told), ". ".join(mine), remedy)


def runs(on: Log, off: Log | None, muted: Log | None) -> Finding:
    if off is None or not on["fingerprint"] or not off["fingerprint"]:
        return RUNS.skipped("needs the log of a baseline with the same seed, both with record(metrics)")
    same = on["fingerprint"] == off["fingerprint"]
    if muted and not same and muted["fingerprint"] == on["fingerprint"]:
        return RUNS.found(False, RNG_ONLY.summary, "", "Make the module inside own_chance(seed).", chance=True)
    evidence = f"metrics of {on['metrics']} updates are {'equal to the last digit' if same else 'not equal'}"
    return RUNS.found(not same, evidence, "Both runs are one training.", same=same)


def verdict_of(on: Log, faults: Faults, told: Sequence[Finding]) -> Verdict:
    by_level = {one.level: one for one in told}
    ran = by_level[RUNS.level]
    reasons = [by_level[one.level].evidence for one in (E0, E1) if by_level[one.level].outcome == "FAIL"]
    reasons += [f"{name} {why}" for name, (_, why, _) in faults.items()]
    summary = ". ".join(reasons) + "." if reasons else ran.evidence
    if any(nothing for _, _, nothing in faults.values()) or ran.numbers.get("same"):
        return Verdict("DEAD (observed)", FAULT, summary)
    if ran.numbers.get("chance"):
        return RNG_ONLY
    if faults:
        return Verdict(f"DISCONNECTED({listed(list(faults))})", FAULT, summary)
    if reasons:
        return Verdict("MISCONFIGURED", FAULT, summary)
    names = listed(list(on["modules"]))
    return Verdict(
        "CONNECTED", SOUND, f"{names}: called in every phase, reached by gradients, held by an optimiser, and moving."
    )
