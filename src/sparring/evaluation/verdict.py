"""What a run learned, in words: better than at the start and than which bots, how much can be won from it, how sure
that is, and what to try next. Figures in, sentences out; no JAX."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import hypot, isnan
from textwrap import TextWrapper
from typing import Any, Literal

from sparring.core.code import naming
from sparring.evaluation.deploy import measure
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, SideScore, merged
from sparring.statistics.intervals import Interval, mean_of

Gain = Literal["better", "worse", "mixed", "unclear", "unknown"]
INDENT = 9
"""Letters before a sentence in a terminal."""
LISTED = 6
"""Names in a sentence, at most."""
RANDOM = "random"
NOTHING = 1e-3
"""Where no more can be won from random play, it cannot be improved."""
FAR = 0.1
"""Of the worst bot's exploitability, from which on there is much left to learn."""
SMALLER = 0.8
"""An exploitability below this share of what it was half way is still falling."""
ADVICE = {
    "no_gain": "train longer or with larger steps (--learning-rate), or pay for what leads to the goal (--shaping)",
    "exploitable": "train longer, or with --self-play magnet or sparring",
    "by_time": "let games end sooner (--shaping, --curriculum) or last longer (--options)",
    "entropy": "let it explore longer, by a larger --entropy or a smaller --learning-rate",
    "blind_critic": "help the critic, by --value-norm popart, --critic-epochs 4 or --memory gru",
}
"""What to try, by the kind of a notice; the first counts."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What is known of a run."""

    run: str
    facts: Mapping[str, Any]
    """Its manifest."""
    finished: bool = True
    steps: int = 0
    """Planned."""
    scores: Sequence[SideScore] = ()
    """Of the newest evaluation after some training."""
    before: Sequence[SideScore] = ()
    """Of the one before training."""
    half: Sequence[SideScore] = ()
    """Of one half way."""
    exact: Mapping[str, float] = field(default_factory=dict)
    """Exploitability of the newest policy, the shadow, the mixture and bots, the mean over seeds."""
    exact_before: float | None = None
    """Of the policy before training."""
    exact_half: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    """What trained responses won from its policies."""
    notices: Sequence[str] = ()
    """Kinds."""

    @property
    def own(self) -> float | None:
        """Exact exploitability of what one would deploy: PSRO's oracles are easily answered, their mixture is not."""
        return self.exact.get(MIXTURE, self.exact.get(LEARNED))


@dataclass(frozen=True)
class Standing:
    """The learner beside the bots, on one side or on both."""

    side: str
    """Its name; empty where all sides are taken together."""
    duel: bool
    """Against bots; else beside a bot in its place."""
    leads: Mapping[str, Interval]
    """Over each bot: beyond what an equal would get, or what the bot gets in the same place."""
    gains: Mapping[str, Interval]
    """Over itself before training, by opponent."""
    rise: Interval | None
    """Over itself half way, the mean over opponents."""

    @property
    def above(self) -> list[str]:
        return [bot for bot, lead in self.leads.items() if lead.low > 0]

    @property
    def below(self) -> list[str]:
        return [bot for bot, lead in self.leads.items() if lead.high < 0]

    @property
    def open(self) -> list[str]:
        return [bot for bot in self.leads if bot not in (*self.above, *self.below)]


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
    places = standings(found)
    gain = gain_of(found, places)
    said = [start_sentence(found, gain, places), *map(bots_sentence, places), exact_sentence(found)]
    learned = " ".join(sentence for sentence in said if sentence)
    step, command = next_step(found, gain, places)
    command += naming(found.facts) * bool(command)
    return Verdict(gain, short_text(found, gain, places), learned, sure_sentence(found), step, command)


def standings(found: Findings) -> list[Standing]:
    """One for both sides of a contest of two in which the learner drives either side; else one for each side."""
    facts, learned = found.facts, {score.side for score in found.scores if score.team == LEARNED}
    contest = len(facts["sides"]) == 2 and (facts["score"] == "outcome" or facts.get("zero_sum", False))
    if contest and len(learned) == 2:
        scores, before, half = merged(found.scores), merged(found.before), merged(found.half)
        neutral = 0.5 if facts["score"] == "outcome" else 0.0
        own = {bot: less(measure(score), neutral) for bot, score in against_bots(scores).items()}
        return [Standing("", True, own, *progress(scores, before, half))]
    places = []
    for side in sorted(learned)[: 1 if facts.get("many_alike") else None]:
        scores, before, half = ([s for s in all if s.side == side] for all in (found.scores, found.before, found.half))
        name = facts["sides"][side] if len(facts["sides"]) > 1 and not facts.get("many_alike") else ""
        places.append(Standing(name, False, beside_bots(scores), *progress(scores, before, half)))
    return places


def against_bots(scores: Sequence[SideScore]) -> dict[str, SideScore]:
    """The learner's scores of one side by opponent, but for itself and its shadow."""
    return {
        score.opponents: score
        for score in scores
        if score.team == LEARNED and not {LEARNED, SHADOW} & {*score.opponents.split(", ")}
    }


def beside_bots(scores: Sequence[SideScore]) -> dict[str, Interval]:
    """What the learner gets more than each bot against the same opponents, the mean over them."""
    own = against_bots(scores)
    bots = dict.fromkeys(score.team for score in scores if score.team not in (LEARNED, SHADOW, MIXTURE))
    found = {}
    for bot in bots:
        theirs = {score.opponents: score for score in scores if score.team == bot}
        pairs = [less(measure(own[place]), measure(theirs[place])) for place in own if place in theirs]
        if pairs:
            found[bot] = mean_of(pairs)
    return found


def progress(
    scores: Sequence[SideScore], before: Sequence[SideScore], half: Sequence[SideScore]
) -> tuple[dict[str, Interval], Interval | None]:
    """What the learner gets more than before training, by opponent; and than half way, the mean over opponents."""
    now, then, middle = map(against_bots, (scores, before, half))
    gains = {place: less(measure(now[place]), measure(then[place])) for place in now if place in then}
    rises = [less(measure(now[place]), measure(middle[place])) for place in now if place in middle]
    return gains, mean_of(rises) if rises else None


def less(mine: Interval, theirs: Interval | float) -> Interval:
    """The difference of two figures, with an interval from theirs; unknown where one of them is."""
    if isinstance(theirs, int | float):
        return Interval(mine.mean - theirs, mine.low - theirs, mine.high - theirs, mine.count)
    mean = mine.mean - theirs.mean
    low = hypot(mine.mean - mine.low, theirs.high - theirs.mean)
    high = hypot(mine.high - mine.mean, theirs.mean - theirs.low)
    return Interval(mean, mean - low, mean + high, min(mine.count, theirs.count))


def gain_of(found: Findings, places: Sequence[Standing]) -> Gain:
    """By exact exploitability where it is known before and after; else by games."""
    if found.exact.get(RANDOM, 1.0) < NOTHING:
        return "unclear"
    if found.own is not None and found.exact_before is not None:
        return "better" if found.own < found.exact_before else "worse"
    gains = [gain for place in places for gain in place.gains.values() if not isnan(gain.low)]
    up, down = any(gain.low > 0 for gain in gains), any(gain.high < 0 for gain in gains)
    if not gains:
        return "unknown"
    return "mixed" if up and down else "better" if up else "worse" if down else "unclear"


def start_sentence(found: Findings, gain: Gain, places: Sequence[Standing]) -> str:
    if found.exact.get(RANDOM, 1.0) < NOTHING:
        return "Random play is an equilibrium of this game: there is nothing to be gained over it."
    if found.own is not None and found.exact_before is not None:
        return {"better": "Better than before training.", "worse": "Not better than before training."}[gain]
    gains = [(bot, lead) for place in places for bot, lead in place.gains.items()]
    up, down = (
        dict.fromkeys(bot for bot, lead in gains if surely(lead) and bot)  # where nobody opposes, the name is empty
        for surely in (lambda lead: lead.low > 0, lambda lead: lead.high < 0)
    )
    opponents = len(dict(gains))
    return {
        "better": "Better than before training"
        + (f", against {len(up)} of {opponents} opponents." if opponents > 1 else "."),
        "worse": "Worse than before training" + (f", against {listed(down)}." if down else "."),
        "mixed": f"Better than before training against {listed(up)}, and worse against {listed(down)}.",
        "unclear": "These games show no difference from before training.",
        "unknown": "" if found.scores else "Not evaluated yet.",
    }[gain]


def bots_sentence(place: Standing) -> str:
    """Which bots it is above and below, and which it cannot be told from."""
    if not place.leads:
        return ""
    over, under, beside, nobody = (
        ("beats", "loses to", "undecided against", "does not clearly beat any bot")
        if place.duel
        else ("better than", "worse than", "not clearly different from", "not clearly better than any bot")
    )
    parts = [f"{over} {listed(place.above)}" if place.above else nobody]
    parts += [f"{under} {listed(place.below)}"] * bool(place.below)
    parts += [f"{beside} {listed(place.open)}"] * bool(place.open)
    text = "; ".join(parts) if place.open else ", ".join(parts)
    if place.side:
        return f"{place.side}, with each bot tried in the same place: {text}."
    return f"{text[0].upper()}{text[1:]}."


def exact_sentence(found: Findings) -> str:
    """What a perfect opponent would win from it, from the policy before training and from the best bot."""
    unit = "a game" if found.facts["score"] == "return" else "of return a game"
    if found.own is not None:
        newest = "its newest policy" if MIXTURE in found.exact else "it"
        teams = {MIXTURE: "its mixture", LEARNED: newest, SHADOW: "its average"}
        from_ = {words: found.exact[team] for team, words in teams.items() if team in found.exact}
        if found.exact_before is not None:
            from_["the policy before training"] = found.exact_before
        bots = {bot: value for bot, value in found.exact.items() if bot not in teams}
        if bots:
            best = min(bots, key=lambda bot: bots[bot])
            from_[f"the best bot ({best})"] = bots[best]
        (first, own), *rest = from_.items()
        amounts = listed([f"{own:.3f} {unit} from {first}", *(f"{value:.3f} from {words}" for words, value in rest)])
        return f"A perfect opponent would win {amounts}."
    if bound := found.bounds.get(LEARNED):
        return f"Opponents trained against it won {bound.mean:.3f} [{bound.low:.3f}, {bound.high:.3f}] {unit} from it."
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


def next_step(found: Findings, gain: Gain, places: Sequence[Standing]) -> tuple[str, str]:
    """What to do, and the command that does it."""
    run, facts = found.run, found.facts
    below = dict.fromkeys(bot for place in places for bot in place.below)
    rises = [place.rise for place in places if place.rise is not None]
    then = found.exact_half.get(MIXTURE, found.exact_half.get(LEARNED, 0.0))
    rising = any(rise.low > 0 for rise in rises) if found.own is None else found.own < SMALLER * then
    if not found.finished:
        return "It was stopped before its end; go on.", f"sparring resume {run}"
    if not found.scores:
        return "Evaluate it.", f"sparring eval {run}"
    if advice := next((advice for kind, advice in ADVICE.items() if kind in found.notices), ""):
        return f"The notices say what is in its way. Try to {advice}.", ""
    if rising:
        return "It was still getting better: train longer.", f"sparring resume {run} --total-steps {2 * found.steps}"
    if below:
        meet = ", or meet bots in training (--bots 0.3)" * places[0].duel
        step = f"It is behind {listed(below)}: train longer{meet}."
        return step, f"sparring resume {run} --total-steps {2 * found.steps}"
    bots = [value for team, value in found.exact.items() if team not in (LEARNED, SHADOW, MIXTURE)]
    if found.own is not None and bots and found.own > FAR * max(bots) and found.own > 2 * min(bots):
        step = "A bot is much harder to exploit: train longer, or with what settles (--self-play magnet)."
        return step, f"sparring resume {run} --total-steps {2 * found.steps}"
    if gain == "unclear":
        return "More games may show what these do not; else train longer.", f"sparring eval {run} --games 1000"
    if facts["seeds"] == 1:
        name = run.replace("\\", "/").rpartition("/")[2]
        command = f"sparring train --config {run}/config.toml --seeds 3 --name {name}-seeds"
        return "Find out whether that was luck: train three seeds.", command
    if found.own is None and LEARNED not in found.bounds and places and places[0].duel:
        return "Find out what an opponent that trains against it can win.", f"sparring exploit {run}"
    return "Compare it with other ways to train.", f"sparring compare {facts['game']}"


def short_text(found: Findings, gain: Gain, places: Sequence[Standing]) -> str:
    """For a list of runs."""
    parts = [{"unknown": "", "unclear": "no gain seen"}.get(gain, gain)]
    if found.own is not None:
        start = "" if found.exact_before is None else f" (was {found.exact_before:.3f})"
        parts.append(f"exploitability {found.own:.3f}{start}")
    for place in places if any(place.leads for place in places) else ():
        verb = "beats" if place.duel else "above"
        side = f"{place.side} " if place.side else ""
        lost = f", below {len(place.below)}" if place.below else ""
        parts.append(f"{side}{verb} {len(place.above)} of {len(place.leads)} bots{lost}")
    return "; ".join(part for part in parts if part) or "not evaluated"


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    shown = list(names)
    if not shown:
        return "nobody"
    if len(shown) > LISTED:
        return f"{', '.join(shown[:LISTED])} and {len(shown) - LISTED} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
