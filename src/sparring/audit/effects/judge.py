"""Does it do anything? Two configurations, a baseline and a treatment, asked the cheapest question first."""

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import equinox as eqx

from sparring.audit.effects import provenance, stages
from sparring.audit.effects.arms import Arm, Divergence, Muted, apart, divergence, moves, run_arm, short, stirred
from sparring.audit.effects.minds import PLACE
from sparring.audit.effects.programs import Sameness, Traced, compared, differences, traced
from sparring.audit.effects.reads import Readers, watched_settings
from sparring.audit.effects.stages import E3, E4, E6, E7, RNG_ONLY, RUNS
from sparring.audit.effects.wiring import Wire, added, constants_in, influences, part_names, probe, shares, wires
from sparring.audit.effects.worth import worth
from sparring.audit.findings import FAULT, OPEN, SOUND, Audit, Finding, Picture, Tell, Verdict, concluded, untold
from sparring.audit.pictures import curves
from sparring.core.errors import ConfigError
from sparring.learn.module import weights_of
from sparring.setup.beginning import first_models
from sparring.setup.build import build
from sparring.setup.config import RunConfig
from sparring.setup.own_settings import with_minds
from sparring.training.opposition import Opposition

UPDATES, SEEDS = 8, 8
SCOPE = re.compile(r"module\.(\w+)\.(\w+)")


@dataclass(frozen=True)
class Looked:
    """What can be known of two runs before either begins."""

    off: Traced
    on: Traced
    readers: Readers
    called: Counter[tuple[str, str]]
    files: dict[str, str]
    sameness: Sameness

    @property
    def modules(self) -> list[str]:
        """Losses and modules that only the treatment has."""
        mine, theirs = (weights_of(t.built.plan.ppo.losses, t.built.plan.ppo.modules) for t in (self.off, self.on))
        return [name for name in theirs if name not in mine]

    @property
    def models(self) -> Any:
        """The treatment's, untrained."""
        return first_models(self.on.built, int(self.on.built.seeds_R[0]))

    @property
    def minds(self) -> bool:
        """Only in the treatment is there anybody with a mind."""
        off, on = (any(kind.mind.on for kind in one.built.plan.kinds) for one in (self.off, self.on))
        return on and not off

    @cached_property
    def group(self) -> int:
        """Of the treatment's learners the first group whose networks the baseline has not."""
        groups = range(len(self.on.built.lineup.learners))
        return next((group for group in groups if added(self.off, self.on, group)), 0)

    @property
    def shared(self) -> set[str]:
        """What both runs have of what anything later rests on."""
        return self.off.outcomes & self.on.outcomes

    @property
    def phases(self) -> dict[str, list[str]]:
        """By module, those of its phases that anything both runs have rests on."""
        scopes = {match for text in self.on.iterate.part(self.shared).scopes() for match in SCOPE.findall(text)}
        return {name: sorted(phase for module, phase in scopes if module == name) for name in self.modules}

    @property
    def differ(self) -> dict[str, tuple[str, str]]:
        return differences(self.off.built.config, self.on.built.config)


def look(off: RunConfig, on: RunConfig) -> Looked:
    """Build and trace both, and watch who reads and calls what meanwhile."""
    files = provenance.files_of((off, on))
    with watched_settings() as readers:
        first = traced(build(off))
        with provenance.called_functions(files) as called:
            second = traced(build(on))
            Opposition.begin(second.built).assign(0)
    return Looked(first, second, readers, called, files, compared(first, second))


def audit_effects(
    off: RunConfig, on: RunConfig, *, frozen: Sequence[str] = (), updates: int = UPDATES, full: bool = False,
    seeds: int = SEEDS, changed: Sequence[str] = (), subject: str = "", command: str = "", tell: Tell = untold,
) -> Audit:  # fmt: skip
    """E0 to E6, and E7 where `full`. `frozen`: parts of the treatment that are meant to stay as they are; `changed`:
    what of the code of stored runs is not what it was."""
    asked = set(differences(off, on))
    if asked and asked <= {"total_steps", "schedule_steps"}:
        raise ConfigError("Only the length of the runs differs: that is no treatment. Give both one --total-steps.")
    tell("E0 to E2: building and tracing both", 0.0)
    found = look(off, on)
    copies = provenance.second_copies(found.files)
    digests = {provenance.shown(Path(file)): provenance.digest(Path(file)) for file in found.files}
    proof, dead = stages.proof(found.sameness, found.differ, found.readers)
    settings = stages.settings(found.differ, found.readers)
    told = [stages.provenance(digests, copies, changed), settings, use(found), proof]
    pictures: tuple[Picture, ...] = ()
    if dead:
        verdict, reason = Verdict("DEAD (proved)", FAULT, dead_because(found, told)), "the two are one training"
        told += [one.skipped(f"nothing to measure: {reason}") for one in (E3, E4, RUNS, E6, E7)]
    elif chance_alone(found):
        verdict = RNG_ONLY._replace(summary="Only random numbers differ: the changed curve is not an effect.")
        told.append(stages.runs(Divergence(None, None, None, 0), chance=True, waiting=()))
        told += [one.skipped("only chance differs") for one in (E3, E4, E6, E7)]
    else:
        with TemporaryDirectory(prefix="sparring-audit-") as folder:
            measured = Measured(found, tuple(frozen), updates, Path(folder), tell)
            more, verdict, pictures = measured.judge(off, on, full=full, seeds=seeds)
            told += more
    told.sort(key=lambda one: stages.STAGES.index(one.level))
    facts = {**provenance.facts(), "updates": str(updates), "seeds": str(seeds) if full else "not asked for (--full)"}
    return concluded(
        "effects", subject or "two configurations", verdict, told, facts=facts, command=command, pictures=pictures
    )


def use(found: Looked) -> Finding:
    """E2: the phases that act, and functions nobody calls."""
    called = {name: count for (_, name), count in found.called.items() if "<" not in name}
    own = own_kinds(found.models, found.files)
    return stages.calls(found.phases, sorted({*chain(*map(provenance.methods_of, own))} - {*called}), called)


def own_kinds(tree: Any, files: Container[str]) -> set[type]:
    """The classes of one's own that a tree is made of."""
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ()
    own = set()
    if isinstance(tree, eqx.Module):
        parts = [getattr(tree, name) for name in tree.__dataclass_fields__]
        own = {type(tree)} if provenance.file_of(type(tree)) in files else own
    return own.union(*(own_kinds(part, files) for part in parts))


def chance_alone(found: Looked) -> bool:
    """The same computation with other random numbers: by how they are drawn, or by another seed."""
    seeded = set(found.differ) == {"seed"}
    inputs = [name for name in found.sameness.inputs if not (seeded and name.startswith(("seeds", "models.")))]
    same = found.sameness.chance and not inputs and not found.sameness.added
    return same and (seeded or not found.sameness.program)


def dead_because(found: Looked, told: Sequence[Finding]) -> str:
    if not found.differ:
        return "Both have the same effective settings: nothing is switched on."
    unread = [name for name in found.differ if not found.readers.get(name)]
    if unread:  # settings that are read between iterations are never proved dead
        return f"Nobody reads {stages.listed(unread)}: it changes nothing in training."
    if not found.modules:
        return f"{stages.listed(list(found.differ))} changes nothing that is computed."
    never = stages.listed(next(list(one.numbers["never"]) for one in told if one.level == "E2"))
    where = f" {never} is never called in training." if never else ""
    return (
        f"Nothing that plays or learns rests on {stages.listed(found.modules)}: the actor, the critic and every game "
        f"are computed as without it.{where}"
    )


@dataclass(frozen=True)
class Measured:
    """The stages that train."""

    found: Looked
    frozen: tuple[str, ...]
    updates: int
    folder: Path
    tell: Tell

    def judge(
        self, off: RunConfig, on: RunConfig, *, full: bool, seeds: int
    ) -> tuple[list[Finding], Verdict, tuple[Picture, ...]]:
        self.tell("E5 training both for a few updates", 0.15)
        arms = {"off": run_arm(short(off, self.updates), self.folder / "off")}
        arms["on"] = run_arm(short(on, self.updates), self.folder / "on")
        parted = divergence(arms["off"], arms["on"])
        told, leak = self.muted(on, arms, parted)
        self.tell("E3 and E4: what it reaches", 0.5)
        wiring, faults, remark, learning = self.wiring(arms["on"], parted)
        told += wiring
        waiting = self.waiting(arms["on"]) if parted.none else []
        waiting += [f"what {part} learns" for part in learning if parted.none and not faults]
        told.append(stages.runs(parted, chance=leak, waiting=waiting))
        pictures = (timeline(arms),)
        weak = next((one.meaning for one in wiring if one.level == E3.level and one.outcome == "FAIL"), "")
        verdict = self.verdict(parted, leak, waiting, faults, weak)
        if full and verdict.code != FAULT:
            placebo = with_minds(on, lambda _: {"mind_control": "shuffled"}) if self.found.minds else on
            result = worth(off, on, placebo, self.found.modules, seeds=seeds, folder=self.folder, tell=self.tell)
            told.append(result.finding)
            pictures += result.pictures
            word = "EFFECT" if result.effect else f"CONNECTED-NO-EFFECT (<= {result.detectable:.3g})"
            verdict = Verdict(word, SOUND if result.effect else OPEN, result.finding.evidence)
        else:
            asked = "not asked for: --full trains several seeds"
            told.append(E7.skipped("there is nothing to weigh" if verdict.code == FAULT else asked))
        return told, verdict._replace(summary=verdict.summary + remark), pictures

    def verdict(
        self, parted: Divergence, leak: bool, waiting: Sequence[str], faults: dict[str, str], weak: str = ""
    ) -> Verdict:
        if leak:
            return RNG_ONLY
        if parted.none and waiting:
            text = f"Nothing differed in {parted.updates} updates, but it may be waiting."
            return Verdict("CONNECTED-NO-EFFECT (so far)", OPEN, text)
        parts = stages.listed(list(faults))
        if parted.none:
            text = f"Programs differ, and games, losses and weights parted {parted.where} in {parted.updates} updates."
            return Verdict("DEAD (observed)", FAULT, f"{text} Not wired: {parts}." if faults else text)
        if faults:
            name, reason = next(iter(faults.items()))
            return Verdict(f"DISCONNECTED({parts})", FAULT, f"It runs, but {name} {reason}.")
        if weak:
            return Verdict("CONNECTED-NO-EFFECT (next to none)", OPEN, weak)
        text = f"It changes training: {parted.where}. What that is worth, --full measures over seeds."
        return Verdict("CONNECTED", SOUND, text)

    def muted(self, on: RunConfig, arms: dict[str, Arm], parted: Divergence) -> tuple[list[Finding], bool]:
        """E6, and whether random numbers alone make the difference."""
        if not self.found.modules and not self.found.minds:
            return [E6.skipped("only minds, and modules and losses of one's own, can be muted")], False
        self.tell("E6 training it with its outputs muted", 0.35)
        config = short(with_minds(on, lambda _: {"mind_tells": "nothing"}) if self.found.minds else on, self.updates)
        arms["muted"] = run_arm(config, self.folder / "muted", Muted, self.found.modules)
        quiet, rest = divergence(arms["off"], arms["muted"]), divergence(arms["on"], arms["muted"])
        leak = not quiet.none and rest.none and not parted.none
        return [stages.off_equivalence(quiet, rest)], leak

    def wiring(self, arm: Arm, parted: Divergence) -> tuple[list[Finding], dict[str, str], str, list[str]]:
        """E3 and E4, what is wrong by part, a remark for the summary, and the models of minds that may yet matter."""
        found, group = self.found, self.found.group
        names = added(found.off, found.on, group)
        probed = probe(found.on.built, group)
        wired = wires(found.on, probed, names, found.shared, group)
        moved, owners = moves(arm, found.on.built.lineup.learners[group], list(wired)), part_names(wired)
        parts = influences(probed, owners)
        unfelt = {name for part, names in owners.items() if not parts[part].felt for name in names}
        meant = {name for name in wired if {*name.split(".")} & {*self.frozen}}
        whys = {name: fault(wire, moved[name], felt=name not in unfelt) for name, wire in wired.items()}
        faults = shortened({name: why for name, why in whys.items() if why and name not in meant})
        modules = found.models[group].modules
        statics = constants_in({name: modules[name] for name in found.modules} if modules else {})
        own = {name: share for name, share in shares(probed).items() if name in found.modules} if found.modules else {}
        told = [
            stages.influence(shortened(parts), own, found.phases),
            stages.gradient(shortened(wired), shortened(moved), faults, statics),
        ]
        still = f" Never trained: {stages.listed(statics)}, static or whole numbers." if statics else ""
        return told, faults, still, yet_to_learn(wired, moved, parted)

    def waiting(self, arm: Arm) -> list[str]:
        """What may still come."""
        on = self.found.on.built.config
        stages = [f"a later stage ({on.stages[0]})"] if len(on.stages) > 1 else []
        return [f"what {name} remembers" for name in self.found.modules if self.waits(name, arm)] + stages

    def waits(self, name: str, arm: Arm) -> bool:
        """Whether something that a module remembers changes, and training rests on it."""
        program = self.found.on.iterate
        used = program.used(program.part(self.found.shared))
        return any(f".buffers.{name}" in one for one in used) and stirred(arm, f".buffers.{name}")


def fault(wire: Wire, moved: float, *, felt: bool = True) -> str:
    """What is wrong with a parameter; empty: nothing. `felt`: the learner changes when its part is replaced."""
    if not wire.used:
        return "is used by nothing that the baseline has too"
    if moved == 0.0 and not wire.losses:
        return "gets no gradient from any loss, and nothing else moves it"
    if moved == 0.0:
        return "has a path to a loss, but its gradient is exactly 0 and it never moves"
    if wire.plays and not felt:
        return "is computed whenever the policy plays, and replacing it changes nothing beyond rounding"
    return ""


def yet_to_learn(wired: Mapping[str, Wire], moved: Mapping[str, float], parted: Divergence) -> list[str]:
    """Models of minds that may come to matter though runs do not part yet: they learn, both runs rest on them, and as
    they begin they say next to nothing. Where not one bit differs that is true of models of the world alone: before
    they know the world nothing is imagined."""
    learning = part_names(name for name, wire in wired.items() if wire.used and moved[name])
    models = {part.removeprefix(PLACE).partition(".")[0] for part in learning if part.startswith(PLACE)}
    return [f"{PLACE}{model}" for model in sorted(models) if parted.first is not None or model == "world"]


def shortened(by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("modules."): value for name, value in by_name.items()}


def timeline(arms: dict[str, Arm]) -> Picture:
    """How far weights that both have are apart after each update."""
    first, *rest = arms.items()
    gaps = {name: [apart(a, b) for a, b in zip(first[1].states, arm.states, strict=False)] for name, arm in rest}
    lines = {name: (list(range(1, len(gap) + 1)), gap) for name, gap in gaps.items()}
    return curves("How far runs with one seed part from the baseline", lines, "update", "distance of weights, relative")
