"""A traced program as a graph: the part of it that given outputs rest on, as a text two programs can be compared by.

JAX prunes unreachable code by passes of its own, which change from version to version; this walk only reads a jaxpr. It
goes into loops, branches and calls, and takes loops to a fixed point. What it does not know, it takes to be connected.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.setup.named_arrays import leaf_name

CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
"""Parameters that hold the program of a call, whose inputs and outputs are those of the call."""
UNSAID = (
    *CALLS, "branches", "cond_jaxpr", "body_jaxpr", "num_consts", "num_carry", "cond_nconsts", "body_nconsts", "linear",
    "name", "donated_invars", "keep_unused", "inline", "in_shardings", "out_shardings", "in_layouts", "out_layouts",
    "ctx_mesh", "update_jaxpr", "in_tree", "out_tree", "out_trees", "compiler_options_kvs", "debug_info",
    "_split_transpose", "ft_in", "ft_out",
)  # fmt: skip
"""Parameters of an operation that say nothing about what it computes, or are said otherwise."""
CHANCE = "random_"
"""Operations that make or draw from keys are called so."""


class Cuts(NamedTuple):
    """Operations that are taken to depend on nothing."""

    guards: bool = True
    """The check whether a number is finite: it looks at everything, and while all is well it changes nothing."""
    chance: bool = False
    """All that makes keys and random numbers: programs that differ in nothing else are alike but for their chance."""

    def has(self, name: str) -> bool:
        return (self.guards and name == "is_finite") or (self.chance and name.startswith(CHANCE))


class Kept(NamedTuple):
    """An operation that matters, and what of it does."""

    equation: Any
    reads: tuple[bool, ...]
    gives: tuple[bool, ...]
    inside: tuple["Part", ...]


class Part(NamedTuple):
    """The part of a program that its wanted outputs rest on."""

    program: Any
    wanted: tuple[bool, ...]
    reads: tuple[bool, ...]
    kept: tuple[Kept, ...]

    def operations(self) -> Iterator[Any]:
        """All equations that matter, those inside of others too."""
        for one in self.kept:
            yield one.equation
            for inner in one.inside:
                yield from inner.operations()

    def scopes(self) -> set[str]:
        """The named scopes that operations of it stand in, as JAX writes them."""
        return {str(one.source_info.name_stack) for one in self.operations()}

    @property
    def calls_host(self) -> bool:
        """Whether it calls Python: what happens there, no graph shows."""
        return any("callback" in one.primitive.name for one in self.operations())


def part_of(program: ClosedJaxpr, wanted: Sequence[bool], cuts: Cuts = Cuts()) -> Part:  # noqa: B008
    """The part of a traced program that some of its outputs rest on."""
    return _Walk(cuts).part(program.jaxpr, tuple(wanted))


def inputs_of_step(game: Game, leaf: str) -> set[str]:
    """What one of the results of a game's step rests on: "chance.lot_S" for "step.reward_S", say."""
    key, spec = jax.random.key(0), game.spec
    shapes = ((len(spec.action.heads), jnp.int32), (spec.action.dimensions, jnp.float32))
    action = Action(*(jax.ShapeDtypeStruct((spec.seats, count), kind) for count, kind in shapes))  # type: ignore
    given = (jax.eval_shape(game.start, key), action, jax.eval_shape(game.chance, key))
    jaxpr, made = jax.make_jaxpr(game.step, return_shape=True)(*given)
    part = part_of(jaxpr, [name == leaf for name in named(("after", "step"), made)])
    reads = zip(named(("state", "action", "chance"), given), part.reads, strict=True)
    return {name for name, read in reads if read}


def named(words: Sequence[str], trees: Sequence[Any]) -> dict[str, Any]:
    """Every leaf under a word and its path."""
    return {
        f"{word}.{leaf_name(path)}".strip("."): leaf
        for word, tree in zip(words, trees, strict=True)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


class _Walk:
    """Backward through programs; each part of each program is found once."""

    def __init__(self, cuts: Cuts) -> None:
        self.cuts = cuts
        self.part = cache(self._part)

    def _part(self, program: Any, wanted: tuple[bool, ...]) -> Part:
        needed = {v for v, want in zip(program.outvars, wanted, strict=True) if want and not isinstance(v, Literal)}
        kept = []
        for equation in reversed(program.eqns):
            gives = tuple(v in needed for v in equation.outvars)
            if not any(gives) and not equation.effects:
                continue
            reads, inside = self.demands(equation, gives)
            own = zip(equation.invars, reads, strict=True)
            needed |= {v for v, read in own if read and not isinstance(v, Literal)}
            kept.append(Kept(equation, reads, gives, inside))
        return Part(program, wanted, tuple(v in needed for v in program.invars), tuple(reversed(kept)))

    def demands(self, equation: Any, gives: tuple[bool, ...]) -> tuple[tuple[bool, ...], tuple[Part, ...]]:
        """Which of its inputs an operation needs to give some of its outputs, and the parts inside it."""
        name, params, count = equation.primitive.name, equation.params, len(equation.invars)
        if self.cuts.has(name):
            return (False,) * count, ()
        if name == "optimization_barrier":
            return gives, ()
        if name == "scan":
            return self.of_scan(params, gives)
        if name == "while":
            return self.of_while(params, gives)
        if name == "cond":
            branches = [self.part(inner.jaxpr, gives) for inner in params["branches"]]
            used = [any(read) for read in zip(*(branch.reads for branch in branches), strict=True)]
            return (True, *used), tuple(branches)
        inner = next((params[key] for key in CALLS if key in params), None)
        program: Any = getattr(inner, "jaxpr", inner)
        if hasattr(program, "eqns") and len(program.invars) == count and len(program.outvars) == len(gives):
            part = self.part(program, gives)
            return part.reads, (part,)
        return (True,) * count, ()

    def of_loop(self, body: ClosedJaxpr, first: int, carried: Sequence[bool], made: tuple[bool, ...] = ()) -> Part:
        """The body of a loop, whose carried inputs begin at `first`: what a later round needs is needed in this one."""
        while True:
            part = self.part(body.jaxpr, (*carried, *made))
            later = [a or b for a, b in zip(carried, part.reads[first : first + len(carried)], strict=True)]
            if later == [*carried]:
                return part
            carried = later

    def of_scan(self, params: Any, gives: tuple[bool, ...]) -> tuple[tuple[bool, ...], tuple[Part, ...]]:
        first, count = _loop_sizes(params)
        part = self.of_loop(params["jaxpr"], first, gives[:count], gives[count:])
        return (*part.reads[:first], *part.wanted[:count], *part.reads[first + count :]), (part,)

    def of_while(self, params: Any, gives: tuple[bool, ...]) -> tuple[tuple[bool, ...], tuple[Part, ...]]:
        tested, done = params["cond_nconsts"], params["body_nconsts"]
        test = self.part(params["cond_jaxpr"].jaxpr, (True,))
        carried = [a or b for a, b in zip(gives, test.reads[tested:], strict=True)]
        part = self.of_loop(params["body_jaxpr"], done, carried)
        return (*test.reads[:tested], *part.reads[:done], *part.wanted), (test, part)


def _loop_sizes(params: Any) -> tuple[int, int]:
    """How many inputs of a scan are constants, and how many are carried. From jax 0.11 on a tree says it."""
    if "num_carry" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(list(constants)), len(list(carried))


def text_of(program: ClosedJaxpr, part: Part, names: Sequence[str]) -> str:
    """A part as a text: equal for two programs that compute the same from the inputs of the same names."""
    inputs = dict(zip(program.jaxpr.invars, names, strict=True))
    inputs |= {v: value_text(x) for v, x in zip(program.jaxpr.constvars, program.consts, strict=True)}
    return "\n".join(_lines(part, inputs))


def _lines(part: Part, called: dict[Any, str]) -> Iterator[str]:
    called = dict(called)

    def name(v: Any) -> str:
        return value_text(v.val) if isinstance(v, Literal) else called[v]

    for number, (equation, reads, gives, inside) in enumerate(part.kept):
        said = ", ".join(name(v) for v, read in zip(equation.invars, reads, strict=True) if read)
        out = [v for v, give in zip(equation.outvars, gives, strict=True) if give]
        called |= {v: f"{number}.{place}" for place, v in enumerate(out)}
        kinds = " ".join(str(v.aval) for v in out)
        yield f"{number}: {kinds} = {equation.primitive.name}({said}) {_settings(equation.params)}"
        for inner in inside:
            program, consts = inner.program, _consts(equation.params, inner.program)
            own = [v for v, read in zip(program.invars, inner.reads, strict=True) if read]
            local = {v: f"in{place}" for place, v in enumerate(own)}
            local |= {v: value_text(x) for v, x in zip(program.constvars, consts, strict=False)}
            yield from (f"  {line}" for line in _lines(inner, local))
    yield "gives " + ", ".join(name(v) for v, want in zip(part.program.outvars, part.wanted, strict=True) if want)


def _consts(params: Any, program: Any) -> Sequence[Any]:
    """What a program inside an operation holds as constants."""
    for held in params.values():
        for one in held if isinstance(held, tuple | list) else (held,):
            if getattr(one, "jaxpr", None) is program:
                return one.consts
    return ()


def _settings(params: Any) -> str:
    texts = {key: repr(value) for key, value in params.items() if key not in UNSAID and not callable(value)}
    return " ".join(f"{key}={text}" for key, text in sorted(texts.items()) if " at 0x" not in text)


def value_text(value: Any) -> str:
    """A constant by its kind and its bytes."""
    if hasattr(value, "dtype") and value.dtype.kind not in "biufc":
        return f"{value.dtype}{value.shape}"
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.dtype}:{array!r}"
    return f"{array.dtype}{array.shape}:{hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
