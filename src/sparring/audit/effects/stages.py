"""The stages of the effect audit as findings: what was asked, what was seen, what it means and what to try."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sparring.audit.effects.reads import Readers, read_between
from sparring.audit.findings import FAULT, Finding, Question, Verdict

if TYPE_CHECKING:  # logs of other people are judged without jax
    from sparring.audit.effects.arms import Divergence
    from sparring.audit.effects.programs import Sameness
    from sparring.audit.effects.wiring import Influence, Wire

E0 = Question(
    "E0", "is the code that runs the code that was edited?", "The file that was edited may not be the one that runs."
)
E1 = Question("E1", "do the settings differ, and does anybody read what differs?")
E2 = Question("E2", "is it called where it should be?")
E3 = Question("E3", "does the learner change when it is replaced by zeros, noise, its own numbers shuffled?")
E4 = Question("E4", "does a gradient reach every parameter, and does an optimiser move it?")
PROOF = Question("E5 proof", "do the programs, or what goes into them, differ?")
RUNS = Question("E5 runs", "when do two runs with one seed part?")
E6 = Question(
    "E6", "with its outputs muted, is the run the baseline bit for bit?",
    "Something else than its outputs changes training: random numbers, or a number that both share.",
    "Draw from its own key alone, and change nothing outside of what a phase returns.",
)  # fmt: skip
E7 = Question("E7", "what is it worth over seeds, and is that what it knows?")
STAGES = tuple(one.level for one in (E0, E1, E2, E3, E4, PROOF, RUNS, E6, E7))
RNG_ONLY = Verdict(
    "RNG-ONLY", FAULT, "With its output muted the run is the same, and not the baseline: only random numbers differ."
)
FEW = 6
SMALL = 1e-3
"""A loss whose gradient is a smaller share of the whole hardly counts."""


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def provenance(files: Mapping[str, str], copies: Sequence[str], changed: Sequence[str]) -> Finding:
    wrong = ". ".join([*copies, *changed])
    told = listed([f"{name} ({digest[:12]})" for name, digest in files.items()]) or "no code of one's own is named"
    remedy = "Remove the other copy, or name the file that is meant by its path."
    return E0.found(not wrong, wrong or f"{told}; no second copy at hand", remedy=remedy, files=files)


def settings(differ: Mapping[str, tuple[str, str]], readers: Readers) -> Finding:
    told = [f"{name}: {a or 'none'} becomes {b or 'none'}" for name, (a, b) in differ.items()]
    unread = [name for name in differ if not readers.get(name) and not read_between(name, set())]
    numbers = {"differ": differ, "readers": {name: sorted(readers.get(name, ())) for name in differ}}
    if not differ:
        return E1.found(
            False, "the settings of both are equal, with all defaults filled in",
            "Nothing was switched on: a flag that has the value of a default is no treatment.",
            "Look at the effective settings: sparring train ... --print-config.", **numbers,
        )  # fmt: skip
    who = {
        sorted(readers[name])[0].removeprefix("sparring.").partition(".<")[0] for name in differ if readers.get(name)
    }
    missed = f"nobody reads {listed(unread)} while the run is built and traced"
    return E1.found(
        not unread, f"{listed(told)}; {missed if unread else f'read by {listed(sorted(who))}'}",
        "A setting that nobody reads cannot change training.",
        "Check that the part that should read it is switched on.", **numbers,
    )  # fmt: skip


def calls(scopes: Mapping[str, Sequence[str]], unused: Sequence[str], called: Mapping[str, int]) -> Finding:
    """`scopes`: by module the phases of it that anything both runs have rests on."""
    silent = [name for name, phases in scopes.items() if not phases]
    told = [f"{name}: {', '.join(phases) or 'no phase'}" for name, phases in scopes.items()]
    told += [f"called while traced: {listed([f'{name} ({count})' for name, count in called.items()])}"] * bool(called)
    told += [f"never called: {listed(unused)}"] * bool(unused)
    numbers = {"phases": scopes, "called": called, "never": unused}
    evidence = "; ".join(told) or "no code of one's own: settings of the library are read where E1 says"
    if not scopes and not called and unused:
        return E2.found(False, evidence, "None of its functions is called.", "Check which name is loaded.", **numbers)
    return E2.found(
        not silent, evidence, f"Nothing that the baseline has too rests on {listed(silent)}: training calls begin, "
        "loss and end of a module, and no other method of it.",
        "Move what it should do into begin, loss or end, or into the network (--body), which plays and learns.",
        **numbers,
    )  # fmt: skip


def influence(
    found: Mapping[str, "Influence"], shares: Mapping[str, float], phases: Mapping[str, Sequence[str]]
) -> Finding:
    """A small loss is a fault where it is all that a module does."""
    told = [
        f"{part}: policy KL {x.kl:.2g}, values {x.value:.2g}, gradient {x.gradient:.1%}" for part, x in found.items()
    ]
    told += [f"loss of {name}: {share:.2%} of the whole gradient" for name, share in shares.items()]
    small = [name for name, share in shares.items() if share < SMALL and not {"begin", "end"} & {*phases[name]}]
    return E3.found(
        not small, "; ".join(told) or "adds no parameters and no losses of its own",
        f"The loss of {listed(small)} moves the learner by less than a thousandth of what its other losses do.",
        "Raise its weight, or look for a factor of 0 in it.",
        parts={part: x._asdict() for part, x in found.items()}, shares=dict(shares),
    )  # fmt: skip


def gradient(
    found: Mapping[str, "Wire"], moved: Mapping[str, float], faults: Mapping[str, str], statics: Sequence[str]
) -> Finding:
    told = [
        f"{name}: {'+'.join(wire.losses) or 'no loss'}, gradient {wire.gradient:.2g}, moved "
        f"{moved.get(name, 0.0):.1%}, optimiser {wire.optimiser}"
        for name, wire in found.items()
    ]
    told += [f"numbers that are static or whole: {listed(statics)}"] * bool(statics)
    wrong = "; ".join(f"{name} {why}" for name, why in list(faults.items())[:FEW])
    return E4.found(
        not faults, wrong or "; ".join(told[: 2 * FEW]) or "adds no parameters",
        "A part of it learns nothing, or nothing learns from it.",
        "Look for a stop_gradient, an output that is dropped, two factors that are both zero at first. What is meant "
        "to stay as it is, is named with --frozen.",
        parameters={name: wire._asdict() for name, wire in found.items()}, moved=dict(moved), faults=dict(faults),
    )  # fmt: skip


def proof(found: "Sameness", differ: Mapping[str, tuple[str, str]], readers: Readers) -> tuple[Finding, bool]:
    """Whether nothing can differ, and the reason."""
    host = [name for name in differ if read_between(name, readers.get(name, set()))]
    numbers = {**found._asdict(), "host": host}
    if found.same and not host:
        whole = "equal as the compiler gets it" if found.text else "equal as far as anything both have rests on it"
        return PROOF.found(
            False, f"no: the program is {whole}; all inputs, constants and knobs of every iteration are equal; "
            "nothing between iterations reads what differs",
            "The training with it is the training without it, whatever the curves will be; not one step was needed to "
            "know. (Only the check that numbers are finite looks at it.)",
            "Do what E1 and E2 say; then audit again.", **numbers,
        ), True  # fmt: skip
    why = [f"inputs that only it has: {listed(found.added)}"] * bool(found.added)
    why += [f"values differ: {listed(found.inputs)}"] * bool(found.inputs)
    why += ["what both have is computed otherwise"] * (not found.program and not found.added)
    why += [f"read between iterations: {listed(host)}"] * bool(host)
    return PROOF.found(True, "yes: " + "; ".join(why), **numbers), False


def runs(found: "Divergence", *, chance: bool, waiting: Sequence[str]) -> Finding:
    numbers = {**found._asdict(), "first": found.first}
    if chance:
        return RUNS.found(
            False, "the programs are alike but for how random numbers are drawn",
            "Curves will differ, as they do from seed to seed; that is no effect.",
            "Draw from a key of its own, made of a name, never from a longer split of another's.", **numbers,
        )  # fmt: skip
    if not found.none:
        return RUNS.found(True, f"they differ: {found.where} (of {found.updates})", **numbers)
    equal = "stayed bit for bit equal" if found.first is None else f"differ {found.where}"
    evidence = f"games, losses and weights {equal} over {found.updates} updates; schedules ran through"
    meaning = "What it computes reaches training, and is worth nothing there."
    remedy = "Look for a weight of 0 or a factor of 0. If it waits for something, audit more: --updates N."
    if waiting:
        meaning = f"It may be waiting for {listed(waiting)}."
        remedy = "Audit more updates than it waits for: --updates N."
    return RUNS.found(None if waiting else False, evidence, meaning, remedy, **numbers)


def off_equivalence(muted: "Divergence", on: "Divergence") -> Finding:
    rest = "and with its outputs nothing differs further" if on.none else "though its outputs do nothing there"
    evidence = f"with its outputs muted the run differs from the baseline ({muted.where}) {rest}"
    if muted.none:
        evidence = f"equal over {muted.updates} updates: the difference is its outputs'"
    return E6.found(muted.none, evidence, muted=muted._asdict(), on=on._asdict())
