"""What a run learned, in words: better than at the start and than which bots, how much can be won from it, how sure
that is, and what to try next. Figures in, sentences out; no JAX."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan
from textwrap import TextWrapper

from sparring.core.code import naming
from sparring.evaluation.advice import next_step
from sparring.evaluation.findings import Findings, Gain, listed, rose
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, UNTRAINED
from sparring.evaluation.standing import Standing, poorer, standings
from sparring.statistics.intervals import Interval

INDENT = 9
"""Letters before a sentence in a terminal."""
SHOWN = 3
"""Opponents in a sentence on what was lost, at most."""


@dataclass(frozen=True)
class Verdict:
    gain: Gain
    short: str
    """One line for a list of runs."""
    learned: str
    sure: str
    next: str
    command: str
    """What does the next thing; empty where settings must be chosen first."""

    def text(self, width: int = 100) -> str:
        """For a terminal: three sentences or four, each with its word before it."""
        words = {"learned": self.learned, "sure": self.sure, "next": self.next}
        lines = [filled(text, f"{word:<{INDENT}}", width) for word, text in words.items()]
        return "\n".join([*lines, *[" " * INDENT + self.command] * bool(self.command)])

    def plain(self) -> dict[str, str]:
        return asdict(self)


def filled(text: str, word: str, width: int) -> str:
    """Wrapped, but for commands and flags, which must stay whole."""
    wrapper = TextWrapper(width, word, " " * INDENT, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


def verdict(found: Findings) -> Verdict:
    places = standings(found.scores, found.before, found.half, found.facts)
    gain = gain_of(found, places)
    said = [start_sentence(found, gain, places), poorer_sentence(found), *map(bots_sentence, places)]
    if any(place.side and place.leads and not place.duel for place in places):
        said.append("Each was compared with the bots in its own place.")
    said += [fall_sentence(found), exact_sentence(found)]
    learned = " ".join(sentence for sentence in said if sentence)
    step, command = next_step(found, gain, places)
    command += naming(found.facts) * bool(command)
    return Verdict(gain, short_text(found, gain, places), learned, sure_sentence(found), step, command)


def gain_of(found: Findings, places: Sequence[Standing]) -> Gain:
    """By exact exploitability where it is known before and after, and has moved; else by games. Who is less exploitable
    and earns less among its own kind has gained one thing and lost another."""
    if found.random_is_best:
        return "unclear"
    if by_exact(found, places) and found.own is not None and found.exact_before is not None:
        return "worse" if found.own >= found.exact_before else "mixed" if losers(found) else "better"
    gains = known_gains(places)
    up, down = any(gain.low > 0 for gain in gains), any(gain.high < 0 for gain in gains)
    if not gains:
        return "unknown"
    return "mixed" if up and down else "better" if up else "worse" if down else "unclear"


def by_exact(found: Findings, places: Sequence[Standing]) -> bool:
    """Whether exact exploitability says what was gained: where it has not moved, games do."""
    known = found.own is not None and found.exact_before is not None
    return known and not (found.unmoved and known_gains(places))


def known_gains(places: Sequence[Standing]) -> list[Interval]:
    return [gain for place in places for gain in place.gains.values() if not isnan(gain.low)]


def losers(found: Findings) -> dict[str, tuple[float, float]]:
    return poorer(found.scores, found.before, found.facts)


def poorer_sentence(found: Findings) -> str:
    """What is lost by all at once, as where two no longer trust each other."""
    told = [
        f"{f'{side} ' if side else ''}{now:z.2f} ({then:z.2f} before training)"
        for side, (then, now) in losers(found).items()
    ]
    return f"Among its own kind it earns less than it did: {'; '.join(told)}." if told else ""


def start_sentence(found: Findings, gain: Gain, places: Sequence[Standing]) -> str:
    if found.random_is_best:
        return "Random play is an equilibrium of this game: there is nothing to be gained over it."
    if by_exact(found, places):
        words = {"better": "Better than", "mixed": "Less exploitable than", "worse": "Not better than"}
        return f"{words[gain]} before training."
    gains = [(bot, lead) for place in places for bot, lead in place.gains.items()]
    up, down = (
        dict.fromkeys(bot for bot, lead in gains if surely(lead) and bot)  # where nobody opposes, the name is empty
        for surely in (lambda lead: lead.low > 0, lambda lead: lead.high < 0)
    )
    opponents = len(dict(gains))
    still = " What a perfect opponent would win has hardly changed." * found.unmoved
    return {
        "better": "Better than before training"
        + (f", against {len(up)} of {opponents} opponents." if opponents > 1 else "."),
        "worse": "Worse than before training" + (f", against {listed(down)}." if down else "."),
        "mixed": f"Better than before training against {listed(up)}, and worse against {listed(down)}.",
        "unclear": "These games show no difference from before training.",
        "unknown": "" if found.scores else "Not evaluated yet.",
    }[gain] + still


def bots_sentence(place: Standing) -> str:
    """Which bots it is above and below, and which it cannot be told from."""
    if not place.leads:
        return ""
    over, under, beside = (
        ("beats", "loses to", "undecided against")
        if place.duel
        else ("better than", "worse than", "not clearly different from")
    )
    groups = ((over, place.above), (under, place.below), (beside, place.open))
    parts = [f"{words} {listed(bots)}" for words, bots in groups if bots]
    text = ("; " if place.open else ", ").join(parts)
    if place.side:
        return f"{place.side}: {text}."
    return f"{text[0].upper()}{text[1:]}."


def fall_sentence(found: Findings) -> str:
    """What it could do earlier and has lost: by exact figures where there are any, else by games."""
    if found.own is not None and (best := rose(found)) is not None:
        return (
            f"A perfect opponent would have won {found.points[best]:z.3f} {found.when(best)} and wins {found.own:z.3f} "
            f"now{': it seems to circle' * (not found.opposed.magnet)}."
        )
    if not found.falls or (found.own is not None and not found.unmoved):
        return ""
    told = [
        f"{fall.side and f'{fall.side!r} '}{f'against {fall.opponent} ' if fall.opponent else ''}{fall.then.mean:z.2f} "
        f"{found.when(fall.iteration)}, {fall.now.mean:z.2f} now"
        for fall in found.falls
    ]
    worst, kept = found.falls[0].iteration, found.kept_near(found.falls[0].iteration)
    there = f"The policy nearest to then is {kept}." if kept else "The policy of then was not kept."
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return f"It was better earlier: {'; '.join(told[:SHOWN])}{more}." + f" {there}" * (worst != UNTRAINED)


def exact_sentence(found: Findings) -> str:
    """What a perfect opponent would win from it, from the policy before training and from the best bot."""
    unit = "per game" if found.facts["score"] == "return" else "of return per game"
    if found.own is not None:
        newest = "its newest policy" if MIXTURE in found.exact else "it"
        teams = {MIXTURE: "its mixture", LEARNED: newest, SHADOW: "its shadow"}
        from_ = {words: found.exact[team] for team, words in teams.items() if team in found.exact}
        if found.exact_before is not None:
            from_["the policy before training"] = found.exact_before
        bots = {bot: value for bot, value in found.exact.items() if bot not in teams}
        if bots:
            best = min(bots, key=lambda bot: bots[bot])
            from_[f"the best bot ({best})"] = bots[best]
        (first, own), *rest = from_.items()
        amounts = listed([f"{own:z.3f} {unit} from {first}", *(f"{value:z.3f} from {words}" for words, value in rest)])
        return f"A perfect opponent would win {amounts}."
    if bound := found.bounds.get(LEARNED):
        return (
            f"Opponents trained against it won {bound.mean:z.3f} [{bound.low:z.3f}, {bound.high:z.3f}] {unit} from it."
        )
    return ""


def sure_sentence(found: Findings) -> str:
    games = max((score.games for score in found.scores if score.team == LEARNED), default=0)
    if not games:
        return "Nothing was measured after training."
    seeds = found.facts["seeds"]
    exact = " What a perfect opponent would win is exact." if found.own is not None else ""
    over = f"{seeds} seeds" if seeds > 1 else f"{games:,} games of each line-up"
    luck = "" if seeds > 1 else " One seed was trained: another may turn out differently."
    return f"Differences count where 95 % intervals over {over} exclude chance.{exact}{luck}"


def short_text(found: Findings, gain: Gain, places: Sequence[Standing]) -> str:
    """For a list of runs."""
    plain = {"unknown": "", "unclear": "no gain seen"}.get(gain, gain)
    exact = by_exact(found, places)
    parts = ["less exploitable, but earns less" if exact and gain == "mixed" else plain]
    if found.own is not None:
        start = "" if found.exact_before is None else f" (was {found.exact_before:z.3f})"
        still = "still " * (found.unmoved and not exact)
        parts.append(f"{still}exploitability {found.own:z.3f}{start}")
    for place in places if any(place.leads for place in places) else ():
        verb = "beats" if place.duel else "ahead of"
        side = f"{place.side} " if place.side else ""
        lost = f", behind {len(place.below)}" if place.below else ""
        parts.append(f"{side}{verb} {len(place.above)} of {len(place.leads)} bots{lost}")
    return "; ".join(part for part in parts if part) or "not evaluated"
