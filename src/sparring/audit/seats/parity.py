"""L5: did everybody get exactly the same amount of everything? No JAX."""

from sparring.audit.findings import Finding

QUESTION = "does every learner get the same amount of everything?"


def parity_finding(ledger: dict[str, dict[str, float]], when: str) -> Finding:
    """Everybody must have exactly the same of everything; who has not, and of what, is named."""
    unequal = {
        what: {name: counts.get(what, 0.0) for name, counts in ledger.items()}
        for what in dict.fromkeys(what for counts in ledger.values() for what in counts)
        if len({counts.get(what, 0.0) for counts in ledger.values()}) > 1
    }
    kinds = len({what for counts in ledger.values() for what in counts})
    if not unequal:
        text = f"{len(ledger)} learners are equal in all {kinds} counts {when}."
        return Finding(level="L5", question=QUESTION, outcome="PASS", evidence=text, numbers={"ledger": ledger})
    what, counts = next(iter(unequal.items()))
    told = ", ".join(f"{name} {count:,.6g}" for name, count in counts.items())
    usual = max(set(counts.values()), key=list(counts.values()).count)
    odd = [name for name, count in counts.items() if count != usual]
    return Finding(
        level="L5", question=QUESTION, outcome="FAIL", numbers={"ledger": ledger, "unequal": list(unequal)},
        evidence=f"{what} {when}: {told}." + (f" Also unequal: {', '.join(list(unequal)[1:])}." * (len(unequal) > 1)),
        meaning=f"{', '.join(odd)} got another amount of {what} than the rest.",
        remedy=f"Look where {what} are written: an early return, an empty trajectory, an id of another type.",
    )  # fmt: skip
