"""E7: what a treatment is worth over seeds, beside a placebo, by the figures of the runs' own evaluations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparring.audit.effects.arms import Shuffled, run_arm
from sparring.audit.effects.stages import E7
from sparring.audit.findings import Finding, Picture, Tell
from sparring.audit.pictures import boxes, ladder
from sparring.evaluation.regimes import AGAINST_BOTS, EXPLOITABILITY, POINTS, RETURN, figures_of_line
from sparring.evaluation.scoring import LEARNED, UNTRAINED
from sparring.setup.config import CheckpointConfig, RunConfig
from sparring.statistics.paired import Paired, detectable, paired
from sparring.store.run_dir import RunDir

ORDER = (EXPLOITABILITY, POINTS, AGAINST_BOTS, RETURN)
"""Which figure is taken, the first that all runs have."""
ALPHA = 0.05


class Worth(NamedTuple):
    finding: Finding
    effect: bool
    detectable: float
    pictures: tuple[Picture, ...]


def figures(run: RunDir) -> dict[str, dict[int, tuple[float, float]]]:
    """By figure and seed: its last value, and its mean over the evaluations, which is the area under its curve."""
    lines, manifest = run.metrics(), run.read_manifest()
    found: dict[str, dict[int, list[float]]] = {}
    for line in lines:
        if line["kind"] == "eval" and line["iteration"] != UNTRAINED:
            for name, value in figures_of_line(line, LEARNED, manifest["sides"], alike=bool(manifest["alike"])).items():
                found.setdefault(name, {}).setdefault(line["seed"], []).append(value)
    return {name: {seed: (own[-1], float(np.mean(own))) for seed, own in by.items()} for name, by in found.items()}


def worth(
    off: RunConfig, on: RunConfig, placebo: RunConfig, modules: Sequence[str], *, seeds: int, folder: Path, tell: Tell
) -> Worth:
    """Train both on the same seeds, and a placebo: other settings, or modules that are shown other worlds. Named in
    advance: the first figure of ORDER that the game has, its last value and its mean over the run."""
    arms: dict[str, tuple[RunConfig, Any]] = {"baseline": (off, None), "treatment": (on, None)}
    arms |= {"placebo": (placebo, Shuffled)} if modules or placebo != on else {}
    told = {}
    for place, (name, (config, wrapper)) in enumerate(arms.items()):
        tell(f"E7 training the {name}, {seeds} seeds of {config.total_steps:,} steps", 0.6 + 0.35 * place / len(arms))
        config = replace(config, seeds=seeds, checkpoint=CheckpointConfig(checkpoint_every=0, keep=1))
        run_arm(config, folder / name, wrapper, modules)
        told[name] = figures(RunDir.open(folder / name))
    common = [name for name in told["baseline"] if all(name in own for own in told.values())]
    shared = [name for kind in ORDER for name in common if name.startswith(kind)]
    if not shared:
        nothing = E7.found(None, "the runs have no evaluation to be compared by", "", "Evaluate: --eval-games 32.")
        return Worth(nothing, False, float("nan"), ())
    return judged(shared[0], {name: own[shared[0]] for name, own in told.items()})


def judged(figure: str, told: Mapping[str, Mapping[int, tuple[float, float]]], *, draw: bool = True) -> Worth:
    """`draw`: pictures are wanted."""
    seeds = sorted(told["baseline"])
    last, area = ({name: [own[seed][which] for seed in seeds] for name, own in told.items()} for which in (0, 1))
    both = {"at the end": last, "over the run": area}
    compared = {when: paired(own["baseline"], own["treatment"]) for when, own in both.items()}
    # Two figures are looked at: Holm's rule for the smaller of two p-values.
    p_value = min(1.0, 2 * min(one.p_value for one in compared.values()))
    gap_N = np.asarray(last["treatment"]) - np.asarray(last["baseline"])
    effect, seen = p_value <= ALPHA, detectable(gap_N, looks=len(both))
    text = "; ".join(f"{when} {said(one)}" for when, one in compared.items())
    evidence = f"{figure}, {len(seeds)} seeds: {text}; p {p_value:.3f} (both together), detectable {seen:.3g}"
    end = compared["at the end"].difference
    most = max(abs(end.low), abs(end.high))
    rungs = {f"treatment, {when}": one.difference for when, one in compared.items()}
    if "placebo" in told:
        beside = paired(last["placebo"], last["treatment"])
        rungs |= {"placebo, at the end": paired(last["baseline"], last["placebo"]).difference}
        evidence += f"; beyond the placebo {said(beside)}"
        if effect and beside.p_value > ALPHA:
            evidence += (
                ". The placebo, which sees what other worlds saw, is not clearly worse: capacity, not knowledge?"
            )
    finding = E7.found(
        True if effect else None, evidence, f"If it changes {figure} at all, then by no more than {most:.3g} (95 %).",
        "More seeds or longer runs see smaller effects: --seeds N, --total-steps N.",
        figure=figure, last=last, area=area, p=p_value, detectable=seen,
    )  # fmt: skip
    if not draw:
        return Worth(finding, effect, seen, ())
    steps = ladder(f"Difference of {figure} from the baseline, by seed pairs", rungs, figure, seen)
    return Worth(finding, effect, seen, (steps, boxes(f"{figure} at the end, one dot a seed", last, figure)))


def said(one: Paired) -> str:
    return f"{one.difference.mean:+.3g} [{one.difference.low:+.3g}, {one.difference.high:+.3g}]"
