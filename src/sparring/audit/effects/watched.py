"""What the hooks of `bridges/effect_log` saw in somebody's PyTorch loop, judged. No JAX."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sparring.audit.effects.stages import finding, listed, passed_over
from sparring.audit.findings import FAULT, SOUND, Audit, Finding
from sparring.core.errors import ConfigError

Log = Mapping[str, Any]


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
    told = [provenance(on), settings(on, off), calls(on, faults), influence(on, faults), gradient(on, faults)]
    told += [
        runs(on, off, muted),
        passed_over("E6", "needs the logs of a muted run and of the baseline"),
        passed_over("E7", "logs of several seeds are compared by --logs"),
    ]
    verdict, code, summary = concluded(on, off, muted, faults, told)
    return Audit(
        kind="effects", subject=subject, verdict=verdict, code=code, summary=summary, findings=tuple(told),
        facts={"optimiser steps": str(on["steps"]), "modules": listed(list(on["modules"]))}, command=command,
    )  # fmt: skip


def module_faults(log: Log) -> Iterator[tuple[str, tuple[str, str, bool]]]:
    """By module: the stage, the reason, and whether the module does nothing at all in training."""
    for name, own in log["modules"].items():
        calls, wanted = own["calls"], log["phases"]
        missing = [phase for phase in wanted if not calls.get(phase)]
        elsewhere = [
            f"{count} times in {phase}"
            for phase, count in calls.items()
            if phase not in wanted and phase != "influence"
        ]
        weights = [part for part in own["parameters"] if part not in own["frozen"]]
        outside = [part for part in weights if not own["optimisers"][part]]
        still = [part for part in weights if not own["moved"].get(part)]
        blind = [part for part in weights if part not in own["gradient"]]
        used = max(own["influence"].values(), default=1.0)
        if missing:
            also = f", but {' and '.join(elsewhere)}" if elsewhere else ""
            yield name, ("E2", f"is never called in {' or '.join(missing)}{also}", len(missing) == len(wanted))
        elif used == 0.0:
            yield name, ("E3", "is called, and nothing changes when its output is replaced", False)
        elif outside:
            yield name, ("E4", f"has parameters that no optimiser holds: {listed(outside)}", False)
        elif blind:
            yield name, ("E4", f"has parameters that never get a gradient: {listed(blind)}", False)
        elif still and log["steps"]:
            yield name, ("E4", f"has parameters that never move: {listed(still)}", False)


def provenance(log: Log) -> Finding:
    copies = [
        f"{name} is imported from {own['file']}, not from {own['other']}"
        for name, own in log["imports"].items()
        if own["other"]
    ]
    if copies:
        return finding(
            "E0",
            False,
            listed(copies),
            "The file that was edited may not be the one that runs.",
            "Uninstall the other copy, or install the project in editable mode (pip install -e .).",
            imports=log["imports"],
        )
    return finding(
        "E0",
        True,
        f"{len(log['imports'])} files of the project are imported, none from a second copy",
        imports=log["imports"],
    )


def settings(log: Log, off: Log | None) -> Finding:
    """Flags that were given and are not among the settings, or say something else there; and those that differ."""
    known, flags = log["settings"], {}
    for word, after in pairwise([*log["arguments"], ""]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name.replace("-", "_")] = value if equals else after
    lost = [f"--{name} was given and is no setting" for name in flags if known and name not in known]
    turned = [
        f"--{name} {value} became True"
        for name, value in flags.items()
        if known.get(name) == "True" and value.lower() in ("false", "0", "no")
    ]
    if lost or turned:
        meaning = "parse_known_args forgets flags that it does not know; type=bool takes every word for True."
        remedy = "Use parse_args, and action=argparse.BooleanOptionalAction."
        return finding("E1", False, listed([*lost, *turned]), meaning, remedy)
    if off is None or not known:
        return passed_over(
            "E1", "every flag arrived; no baseline to compare with" if known else "no settings were given"
        )
    differ = {name: (off["settings"].get(name), x) for name, x in known.items() if off["settings"].get(name) != x}
    if not differ:
        remedy = "Look for a default that is already on."
        return finding("E1", False, "both runs have the same effective settings", "Nothing was switched on.", remedy)
    return finding("E1", True, listed([f"{name}: {a} -> {b}" for name, (a, b) in differ.items()]), differ=differ)


def calls(log: Log, faults: Mapping[str, tuple[str, str, bool]]) -> Finding:
    told = "; ".join(
        f"{name}: {', '.join(f'{n} in {phase}' for phase, n in own['calls'].items()) or 'never'}"
        for name, own in log["modules"].items()
    )
    return of_stage(
        "E2",
        told,
        faults,
        "Call it where training draws actions and where the loss evaluates them again, not only in evaluation.",
    )


def influence(log: Log, faults: Mapping[str, tuple[str, str, bool]]) -> Finding:
    known = {name: own["influence"] for name, own in log["modules"].items() if own["influence"]}
    if not known:
        return passed_over("E3", "not asked for: EffectLog.influence(lambda: policy.logits(batch))")
    told = "; ".join(f"{name}: {', '.join(f'{way} {x:.2g}' for way, x in own.items())}" for name, own in known.items())
    return of_stage("E3", told, faults, "Use its output where logits and values are made.")


def gradient(log: Log, faults: Mapping[str, tuple[str, str, bool]]) -> Finding:
    if not log["steps"]:
        return finding("E4", False, "no optimiser that was named ever stepped", "", "Name the optimisers that train.")
    told = "; ".join(
        f"{name}: {len(own['gradient'])} of {len(own['parameters'])} parameters got gradients, moved up to "
        f"{max(own['moved'].values(), default=0.0):.1%}"
        for name, own in log["modules"].items()
    )
    return of_stage(
        "E4", told, faults, "Add its parameters to the optimiser, and look for detach() and torch.no_grad()."
    )


def of_stage(level: str, told: str, faults: Mapping[str, tuple[str, str, bool]], remedy: str) -> Finding:
    mine = [f"{name} {why}" for name, (stage, why, _) in faults.items() if stage == level]
    return finding(level, not mine, told, ". ".join(mine), remedy if mine else "")


def runs(on: Log, off: Log | None, muted: Log | None) -> Finding:
    if off is None or not on["fingerprint"] or not off["fingerprint"]:
        return passed_over("E5 runs", "needs the log of a baseline with the same seed, both with record(metrics)")
    same = on["fingerprint"] == off["fingerprint"]
    if muted and not same and muted["fingerprint"] == on["fingerprint"]:
        return finding(
            "E5 runs",
            False,
            "muted, the run is the same, and not the baseline",
            "Only random numbers differ.",
            "Make the module inside own_chance(seed).",
        )
    evidence = f"metrics of {on['metrics']} updates are {'equal to the last digit' if same else 'not equal'}"
    return finding("E5 runs", not same, evidence, "Both runs are one training." if same else "")


def concluded(
    on: Log, off: Log | None, muted: Log | None, faults: Mapping[str, tuple[str, str, bool]], told: Sequence[Finding]
) -> tuple[str, int, str]:
    by_level = {one.level: one for one in told}
    dead = {name: why for name, (_, why, nothing) in faults.items() if nothing}
    ran = by_level["E5 runs"]
    reasons = [one.evidence for one in (by_level["E0"], by_level["E1"]) if one.outcome == "FAIL"]
    reasons += [f"{name} {why}" for name, (_, why, _) in faults.items()]
    summary = ". ".join(reasons) + "." if reasons else ran.evidence
    if dead or (off is not None and ran.outcome == "FAIL" and ran.meaning.startswith("Both")):
        return "DEAD (observed)", FAULT, summary
    if muted and ran.outcome == "FAIL":
        return "RNG-ONLY", FAULT, ran.evidence
    if faults:
        return f"DISCONNECTED({listed(list(faults))})", FAULT, summary
    if reasons:
        return "MISCONFIGURED", FAULT, summary
    names = listed(list(on["modules"]))
    return (
        "CONNECTED",
        SOUND,
        f"{names}: called in every phase, reached by gradients, held by an optimiser, and moving.",
    )
