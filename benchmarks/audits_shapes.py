"""Would it help to look for suspicious shapes in the program of a game's step? Counts how many faulty and how many fair
games have them: loops over seats, first maxima over seats, one seat written or read by its number.

    python benchmarks/audits_shapes.py
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from seat_mutants import GAMES
from seat_strangers import GAMES as STRANGERS
from sparring.audit.seats.claims import claimed
from sparring.core.errors import SparringError
from sparring.core.records import Action
from sparring.games import registry
from sparring.games.game import Game

READ = "one seat read"
"""Fair games do so all the time: of two seats, each reads the other."""


def operations(program: Any) -> Iterator[Any]:
    for one in program.eqns:
        yield one
        for held in one.params.values():
            for inner in held if isinstance(held, tuple | list) else (held,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from operations(inner)


def shapes(game: Game) -> set[str]:
    spec, key, found = game.spec, jax.random.key(0), set()
    action: Any = Action(
        jnp.zeros((spec.seats, len(spec.action.heads)), jnp.int32), jnp.zeros((spec.seats, spec.action.dimensions))
    )
    given = jax.eval_shape(game.start, key), action, jax.eval_shape(game.chance, key)
    program = jax.make_jaxpr(lambda state, *rest: (game.step(state, *rest), game.observe(state)))(*given)
    for one in operations(program.jaxpr):
        name, first = one.primitive.name, one.invars[0].aval.shape if one.invars else ()
        if name == "scan" and one.params["length"] == spec.seats:
            found.add("loop over seats")
        if name in ("argmax", "argmin") and first[one.params["axes"][0]] == spec.seats:
            found.add("first maximum over seats")
        if name.startswith(("scatter", "dynamic_update_slice")) and first[:1] == (spec.seats,):
            found.add("one seat written")
        if name == "slice" and first[:1] == (spec.seats,) and one.outvars[0].aval.shape[:1] == (1,):
            found.add(READ)
    return found


def fair() -> Iterator[tuple[str, Game]]:
    for name in registry.available():
        try:
            yield name, claimed(registry.make(name))
        except SparringError:
            continue


def main() -> None:
    faulty = ((name, mutant.make()) for name, mutant in (GAMES | STRANGERS).items())
    for what, games in (("faulty", faulty), ("fair", fair())):
        found = {name: shapes(game) for name, game in games}
        for name, own in found.items():
            print(f"{what} {name}: {', '.join(sorted(own)) or 'nothing'}", flush=True)
        strong = sum(bool(own - {READ}) for own in found.values())
        print(f"{what}: {strong} of {len(found)} without counting reads, {sum(map(bool, found.values()))} with them")


if __name__ == "__main__":
    main()
