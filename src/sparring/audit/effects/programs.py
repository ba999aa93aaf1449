"""What a run computes, before anything is computed: its programs as graphs, and everything that goes into them.

Equal programs with equal inputs are one run, however much was configured. Names are paths, so that what two runs have
in common is found by name.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from sparring.audit.graph import Cuts, Part, named, part_of, text_of
from sparring.core.fields import leaves
from sparring.games.trial import is_key
from sparring.learn.config import COEFFICIENTS
from sparring.learn.module import weights_of
from sparring.setup.beginning import Beginning, begin_runs, first_models, stacked
from sparring.setup.build import Built
from sparring.setup.config import RunConfig
from sparring.setup.program import compile_program

STATE = "state."
"""How the names of what goes from iteration to iteration begin."""
DECIDED_BY = (STATE, "tally.", "duels.", "second_tries")
"""Outputs that anything after an iteration rests on: the state, and the results that leagues decide by. Statistics of
learning are for people."""


class Program(NamedTuple):
    """A traced function with the names of its inputs and outputs."""

    jaxpr: ClosedJaxpr
    reads: tuple[str, ...]
    gives: tuple[str, ...]

    def part(self, wanted: Iterable[str], cuts: Cuts = Cuts()) -> Part:  # noqa: B008
        """What some outputs rest on, over all iterations: state that is read is made by the iteration before."""
        known = set(wanted)
        while True:
            part = part_of(self.jaxpr, [name in known for name in self.gives], cuts)
            carried = {name for name in self.used(part) if name.startswith(STATE) and name in self.gives} - known
            if not carried:
                return part
            known |= carried

    def used(self, part: Part) -> set[str]:
        """The inputs that a part reads."""
        return {name for name, read in zip(self.reads, part.reads, strict=True) if read}

    def text(self, wanted: Iterable[str], cuts: Cuts = Cuts()) -> str:  # noqa: B008
        return text_of(self.jaxpr, self.part(wanted, cuts), self.reads)


@dataclass(frozen=True)
class Traced:
    """A run that could begin."""

    built: Built
    begin: Program
    """From untrained networks to the first state."""
    iterate: Program
    inputs: Mapping[str, str]
    """By name, a hash of each array that goes into the two programs: of the knobs, those of all iterations."""

    @cached_property
    def lowered(self) -> str:
        """The program as the compiler gets it."""
        program: Any = compile_program(self.built.plan)
        return program.lower(*given(self.built)).as_text()

    @property
    def outcomes(self) -> set[str]:
        return {name for name in self.iterate.gives if name.startswith(DECIDED_BY)}


def given(built: Built) -> tuple:
    """What an iteration is called with, the state as its shapes."""
    knobs = jax.tree.map(jnp.asarray, built.knobs(0))
    state = jax.eval_shape(partial(begin_runs, Beginning.of(built)), *begun_with(built))
    seeds_R = jnp.asarray(built.seeds_R)
    return built.game_of(0), state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(0)


def begun_with(built: Built) -> tuple:
    """What the first state follows from."""
    models = stacked([first_models(built, int(seed)) for seed in built.seeds_R])
    knobs = tuple(jnp.asarray(knobs_LH) for knobs_LH in built.knobs(0))
    return built.game_of(0), built.rosters, built.standing, models, knobs, jnp.asarray(built.seeds_R)


def traced(built: Built) -> Traced:
    first, words = begun_with(built), ("game", "rosters", "orders", "models", "knobs", "seeds")
    begin = trace(partial(begin_runs, Beginning.of(built)), first, words, (STATE[:-1],))
    later = ("game", "state", "rosters", "orders", "knobs", "seeds", "iteration")
    # A fresh program: one that was traced before would be read from memory, and its settings by nobody.
    iterate = trace(compile_program.__wrapped__(built.plan), given(built), later, (STATE[:-1], ""))
    inputs = {name: digest(leaf) for name, leaf in named(words, first).items() if not name.startswith("knobs")}
    return Traced(built, begin, iterate, inputs | all_knobs(built))


def all_knobs(built: Built) -> dict[str, str]:
    """Of each group and knob, a hash of its values over all iterations."""
    shaping = [f"shaping {j}" for j in range(len(built.shaping_J(0)))]
    own = [weights_of(kind.ppo.losses, kind.ppo.modules) for kind in built.plan.kinds]
    groups = zip(*(built.knobs(i) for i in range(built.iterations)), strict=True)
    return {
        f"knobs.{group}.{name}": digest(values_ILH[..., h])
        for group, values_ILH in enumerate(map(np.stack, groups))
        for h, name in enumerate((*COEFFICIENTS, *shaping, *own[group]))
    }


def trace(function: Any, arguments: tuple, words: Sequence[str], results: Sequence[str]) -> Program:
    """A function as a graph, its inputs and outputs named by a word for each argument and result."""
    jaxpr, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    out = (shape,) if len(results) == 1 else shape
    return Program(jaxpr, tuple(named(words, arguments)), tuple(named(results, out)))


def digest(leaf: Any) -> str:
    array = np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)
    return f"{array.dtype}{list(array.shape)} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


class Sameness(NamedTuple):
    """How two runs compare before either has begun."""

    program: bool
    """What they have in common is computed alike, from inputs of the same names, and without asking Python."""
    inputs: tuple[str, ...]
    """Inputs of that computation whose values differ."""
    added: tuple[str, ...]
    """Inputs of it that only the treatment has."""
    chance: bool
    """It is computed alike but for random numbers."""
    text: bool
    """The whole programs are equal, as the compiler gets them."""

    @property
    def same(self) -> bool:
        return self.program and not self.inputs and not self.added


def compared(off: Traced, on: Traced) -> Sameness:
    """The computation that both runs share, in one and in the other."""
    shared = off.outcomes & on.outcomes
    resting = on.iterate.part(shared)
    used = on.iterate.used(resting)
    first = {name for name in off.begin.gives if name in on.begin.gives}
    fed = on.begin.used(on.begin.part(first))
    added = sorted(name for name in used if name not in off.iterate.reads)
    unlike = (name for name, told in off.inputs.items() if on.inputs.get(name, told) != told)
    differ = sorted(name for name in unlike if {name, name.rpartition(".")[0]} & (used | fed))  # knobs are parts of one

    def alike(cuts: Cuts) -> bool:
        return not (added or resting.calls_host) and all(
            mine.text(wanted, cuts) == theirs.text(wanted, cuts)
            for mine, theirs, wanted in ((off.iterate, on.iterate, shared), (off.begin, on.begin, first))
        )

    program = alike(Cuts())
    text = program and off.iterate.reads == on.iterate.reads and off.lowered == on.lowered
    return Sameness(program, tuple(differ), tuple(added), program or alike(Cuts(chance=True)), text)


def differences(off: RunConfig, on: RunConfig) -> dict[str, tuple[str, str]]:
    """Settings by their bare names, which are unique, with both values as texts, where these differ."""
    pairs = ((one.name, mine, other) for (one, mine), (_, other) in zip(leaves(off), leaves(on), strict=True))
    return {name: (said(mine), said(other)) for name, mine, other in pairs if mine != other}


def said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
