"""Where a run's learner stands: beside the bots, beside itself before training, and beside itself earlier on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any, NamedTuple

from scipy.special import ndtri

from sparring.evaluation.deploy import measure
from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, SideScore, company, merged
from sparring.statistics.intervals import Interval, mean_of, student
from sparring.statistics.rates import rate_interval

Evaluations = Mapping[int, Sequence[SideScore]]
"""What was seen after which iteration; UNTRAINED: before the first."""
LOST = 0.1
"""Of all points, or of twice the deviation of a game's return: who does worse by less has lost nothing to speak of."""
CHANCE = 0.05
"""That a run that lost nothing is said to have, over all opponents and all earlier evaluations together."""


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
    def hardest(self) -> dict[str, Interval]:
        """The leads, smallest first: where a sentence names a few, they are those that say most."""
        return dict(sorted(self.leads.items(), key=lambda item: item[1].mean))

    @property
    def above(self) -> list[str]:
        return [bot for bot, lead in self.hardest.items() if lead.low > 0]

    @property
    def below(self) -> list[str]:
        return [bot for bot, lead in self.hardest.items() if lead.high < 0]

    @property
    def open(self) -> list[str]:
        return [bot for bot in self.hardest if bot not in (*self.above, *self.below)]


class Fall(NamedTuple):
    """An opponent against whom an earlier policy of the run was surely better than the newest."""

    side: str
    """As in `Standing`."""
    opponent: str
    iteration: int
    """After which it was best; UNTRAINED: before the first."""
    then: Interval
    now: Interval


def is_contest(facts: Mapping[str, Any]) -> bool:
    """Two sides of which one gains what the other loses."""
    return len(facts["sides"]) == 2 and (facts["score"] == "outcome" or bool(facts.get("zero_sum")))


def neutral(facts: Mapping[str, Any]) -> float:
    """What equals get in a contest."""
    return 0.5 if facts["score"] == "outcome" else 0.0


def by_side(scores: Sequence[SideScore], facts: Mapping[str, Any]) -> dict[str, list[SideScore]]:
    """The scores of each side that has something of its own to say, by its name. Both sides together, without a name,
    where they are alike or the learner drives either side of a contest: what is lost on one side and won on the other
    counts together."""
    learned = sorted({score.side for score in scores if score.team == LEARNED})
    names = facts["sides"]
    if len(names) == 2 and len(learned) == 2 and (facts.get("alike") or is_contest(facts)):
        return {"": merged(scores)}
    alike = bool(facts.get("many_alike"))
    return {
        "" if alike or len(names) == 1 else names[side]: [score for score in scores if score.side == side]
        for side in (learned[:1] if alike else learned)
    }


def standings(
    scores: Sequence[SideScore], before: Sequence[SideScore], half: Sequence[SideScore], facts: Mapping[str, Any]
) -> list[Standing]:
    """One for each side, or one for all (`by_side`), from the scores of now, before training and half way."""
    sides, earlier = by_side(scores, facts), [by_side(then, facts) for then in (before, half)]
    places = []
    for side, own in sides.items():
        duel = is_contest(facts) and not side
        even = neutral(facts)
        leads = {bot: less(measure(s), even) for bot, s in against_bots(own).items()} if duel else beside_bots(own)
        places.append(Standing(side, duel, leads, *progress(own, *(then.get(side, []) for then in earlier))))
    return places


def falls(evaluations: Evaluations, facts: Mapping[str, Any]) -> list[Fall]:
    """What the newest policy has lost, opponent by opponent, against the earlier evaluation in which it did best.

    Whether the policies differ is asked of their games, seed by seed, not of other seeds. So many differences are
    looked at that each must be the surer. In a contest nothing is lost by who is still surely ahead: a policy that
    comes to rest no longer makes the most of a weak opponent.
    """
    if not evaluations:
        return []
    last = max(evaluations)
    places = {
        iteration: {(side, bot): score for side, own in by_side(scores, facts).items()
                    for bot, score in against_bots(own).items()}
        for iteration, scores in evaluations.items()
    }  # fmt: skip
    now = places.pop(last)
    pairs = [(iteration, place) for iteration, known in places.items() for place in known if place in now]
    sure = float(ndtri(1.0 - CHANCE / max(len(pairs), 1)))
    best: dict[tuple[str, str], int] = {}
    for iteration, place in pairs:
        if place not in best or measure(places[iteration][place]).mean > measure(places[best[place]][place]).mean:
            best[place] = iteration
    found = []
    for (side, bot), iteration in best.items():
        then, own = places[iteration][side, bot], now[side, bot]
        ahead = is_contest(facts) and not side and measure(own).low > neutral(facts)
        if not ahead and surely_less(own, then, sure):
            found.append(Fall(side, bot, iteration, measure(then), measure(own)))
    return sorted(found, key=lambda fall: fall.now.mean - fall.then.mean)


def surely_less(now: SideScore, then: SideScore, sure: float) -> bool:
    """By so many deviations of chance, and by enough to speak of."""
    (mean, error), (past, old_error) = map(of_games, (now, then))
    lost = past - mean
    if then.points is not None:
        unit = 1.0
    else:
        deviation = sqrt(sum(own.variance for own in then.returns) / len(then.returns))
        unit = 2.0 * deviation
    return lost >= LOST * unit and lost > sure * hypot(error, old_error) > 0.0


def of_games(score: SideScore) -> tuple[float, float]:
    """Mean over seeds, and its standard error by the games of each seed alone: how well these policies are known."""
    own = [rate_interval(*part) for part in score.scores] or [student(*part) for part in score.returns]
    halves = [(one.high - one.low) / 2.0 for one in own]
    error = hypot(*halves) / len(halves) / float(ndtri(0.975))
    return sum(one.mean for one in own) / len(own), error


def against_bots(scores: Sequence[SideScore]) -> dict[str, SideScore]:
    """The learner's scores of one side by opponent, but for itself and its shadow."""
    return {
        company(score.opponents): score
        for score in scores
        if score.team == LEARNED and not {LEARNED, SHADOW} & {*score.opponents.split(", ")}
    }


def poorer(
    scores: Sequence[SideScore], before: Sequence[SideScore], facts: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """By side, what the learner earned among its own kind before training and earns now, where that surely is less and
    no other side gained it."""
    if is_contest(facts) or facts.get("zero_sum") or facts["score"] != "return":
        return {}
    now, then = ({side: among_own(own) for side, own in by_side(seen, facts).items()} for seen in (scores, before))
    pairs = {side: (past, own) for side, own in now.items() if own and (past := then.get(side))}
    if any(own.mean > past.mean for past, own in pairs.values()):
        return {}
    return {side: (past.mean, own.mean) for side, (past, own) in pairs.items() if less(own, past).high < 0}


def among_own(scores: Sequence[SideScore]) -> Interval | None:
    """What the learner earns where it drives every side; None where nobody else plays."""
    return next((measure(s) for s in scores if s.team == LEARNED and {*s.opponents.split(", ")} == {LEARNED}), None)


def beside_bots(scores: Sequence[SideScore]) -> dict[str, Interval]:
    """What the learner gets more than each bot against the same opponents, the mean over them."""
    own = against_bots(scores)
    bots = dict.fromkeys(score.team for score in scores if score.team not in (LEARNED, SHADOW, MIXTURE))
    found = {}
    for bot in bots:
        theirs = {company(score.opponents): score for score in scores if score.team == bot}
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
