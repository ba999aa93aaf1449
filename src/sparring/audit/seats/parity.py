"""L5: did everybody get exactly the same amount of everything? No JAX."""

from collections.abc import Mapping

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import L5

Ledger = Mapping[str, Mapping[str, float]]
"""By learner, what was counted."""


def parity_finding(ledger: Ledger, when: str) -> Finding:
    """Everybody must have exactly the same of everything; who has not, and of what, is named."""
    kinds = dict.fromkeys(what for counts in ledger.values() for what in counts)
    counts = {what: {name: own.get(what, 0.0) for name, own in ledger.items()} for what in kinds}
    unequal = [what for what, own in counts.items() if len(set(own.values())) > 1]
    if not unequal:
        return L5.found(True, f"{len(ledger)} learners are equal in all {len(kinds)} counts {when}.", ledger=ledger)
    what, *more = unequal
    told = ", ".join(f"{name} {count:,.6g}" for name, count in counts[what].items())
    values = list(counts[what].values())
    usual = max(set(values), key=values.count)
    odd = ", ".join(name for name, count in counts[what].items() if count != usual)
    return L5.found(
        False, f"{what} {when}: {told}." + (f" Also unequal: {', '.join(more)}." if more else ""),
        f"{odd} got another amount of {what} than the rest.",
        f"Look where {what} are written: an early return, an empty trajectory, an id of another type.",
        ledger=ledger, unequal=unequal,
    )  # fmt: skip
