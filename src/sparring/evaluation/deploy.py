"""Which policy of a run to deploy: the newest, its slow average, or PSRO's mixture. One function decides, on figures
alone; where nothing differs it is the newest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, hypot, isnan, log10

from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, SideScore
from sparring.statistics.intervals import Interval, mean_of

WORDS = {LEARNED: "the newest policy", SHADOW: "the shadow", MIXTURE: "the mixture"}
NEARLY = 1e-6
"""Exact figures that differ by less are the same, and so are returns that add up to less zero-sum."""


@dataclass(frozen=True)
class Evidence:
    """What is known of the policies that a run may deploy, by team."""

    scores: Sequence[SideScore] = ()
    """Of the run's own evaluation."""
    exact: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Exploitability of every seed."""
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    """What trained responses of one budget won: lower bounds of exploitability."""
    alike: bool = True
    """The game has two sides that are alike."""

    @property
    def teams(self) -> tuple[str, ...]:
        known = {score.team for score in self.scores} | {*self.exact} | {*self.bounds}
        return tuple(team for team in WORDS if team in known)


@dataclass(frozen=True)
class Deployment:
    team: str
    because: str
    chosen: bool = True
    """There was something to choose between."""

    def sentence(self) -> str:
        return f"Deploy: {WORDS[self.team]}, because {self.because}."

    def plain(self) -> dict[str, str]:
        return {"team": self.team, "because": self.because}


def deployment(evidence: Evidence) -> Deployment:
    """By exact exploitability where it is known; else by what responses won, if surely less of one; else by games."""
    others = [team for team in evidence.teams if team != LEARNED]
    if not others:
        return Deployment(LEARNED, "nothing else was measured", chosen=False)
    if LEARNED in evidence.exact and len(evidence.exact) > 1:
        return by_exact(evidence.exact)
    if LEARNED in evidence.bounds and len(evidence.bounds) > 1 and (found := by_bounds(evidence.bounds)):
        return found
    if MIXTURE in others:
        return Deployment(MIXTURE, "each of its players is an answer to those before it, and easily answered alone")
    return by_games(evidence)


def by_exact(exact: Mapping[str, Sequence[float]]) -> Deployment:
    """The lowest mean over seeds. There is no chance in it, so the smallest difference counts."""
    mean = {team: sum(values) / len(values) for team, values in exact.items()}
    best = min(mean, key=lambda team: mean[team])
    if mean[best] > mean[LEARNED] - NEARLY:
        best = LEARNED
    gaps = {team: value - mean[best] for team, value in mean.items() if team != best}
    told = f"its exploitability is {{:z.{digits(gaps.values())}f}}, exactly; "
    if best == LEARNED and all(gap < NEARLY for gap in gaps.values()):
        others = " and ".join(WORDS[team] for team in gaps)
        return Deployment(
            best, f"{told.format(mean[best])}that of {others} is the same, and the newest is the simple choice"
        )
    rest = ", ".join(f"of {WORDS[team]} {mean[team]:z.{digits(gaps.values())}f}" for team in gaps)
    return Deployment(best, told.format(mean[best]) + rest)


def digits(gaps: Iterable[float]) -> int:
    """So many that figures which differ by so much look different."""
    least = min((gap for gap in gaps if gap >= NEARLY), default=1.0)
    return max(4, ceil(-log10(least)))


def by_bounds(bounds: Mapping[str, Interval]) -> Deployment | None:
    """The one of which surely less was won than of every other; None where there is none."""
    best = min(bounds, key=lambda team: bounds[team].high)
    if any(bounds[best].high >= bound.low for team, bound in bounds.items() if team != best):
        return None
    rest = ", ".join(f"{text(bound)} from {WORDS[team]}" for team, bound in bounds.items() if team != best)
    return Deployment(best, f"responses of one budget won {text(bounds[best])} from it and {rest}")


def by_games(evidence: Evidence) -> Deployment:
    """The shadow or the newest, by their games against each other and against the same others."""
    leads = {"duel": duel(evidence), "beside": beside(evidence.scores)}
    sure = {kind: lead for kind, lead in leads.items() if lead is not None and excludes_0(lead)}
    teams = {SHADOW if lead.mean > 0 else LEARNED for lead in sure.values()}
    if len(teams) == 1:
        team = teams.pop()
        unit = "a game" if all(score.points is None for score in evidence.scores) else "of the points"
        other = "the newest policy" if team == SHADOW else "its shadow"
        words = {"duel": f"it beats {other} by {{}} {unit}", "beside": f"it gets {{}} {unit} more than {other} does"}
        words["beside"] += " against the same others"
        told = [words[kind].format(text(lead if team == SHADOW else turned(lead), 2)) for kind, lead in sure.items()]
        return Deployment(team, " and ".join(told))
    why = "games against each other and against others disagree" if teams else "these games show no difference"
    return Deployment(LEARNED, f"{why}, and the newest is the simple choice")


def duel(evidence: Evidence) -> Interval | None:
    """What the shadow gets against the newest beyond what equals get, where sides are alike."""
    mine = [score for score in evidence.scores if (score.team, score.opponents) == (SHADOW, LEARNED)]
    theirs = [score for score in evidence.scores if (score.team, score.opponents) == (LEARNED, SHADOW)]
    if not mine or not evidence.alike:
        return None
    if mine[0].points is not None:
        got = mean_of([score.points for score in mine if score.points is not None])
        return Interval(got.mean - 0.5, got.low - 0.5, got.high - 0.5, got.count)
    got = mean_of([score.mean_return for score in mine])
    lost = mean_of([score.mean_return for score in theirs]) if theirs else got
    return got if abs(got.mean + lost.mean) <= NEARLY else None  # where returns are no contest, more need not be better


def beside(scores: Sequence[SideScore]) -> Interval | None:
    """What the shadow gets more than the newest on the same side against the same others, the mean over all of them."""
    by_place = {(score.team, score.side, score.opponents): measure(score) for score in scores}
    leads = []
    for (team, side, others), mine in by_place.items():
        own = by_place.get((LEARNED, side, others))
        if team == SHADOW and own is not None and not {LEARNED, SHADOW} & {*others.split(", ")}:
            half = hypot(mine.high - mine.low, own.high - own.low) / 2
            lead = mine.mean - own.mean
            leads.append(Interval(lead, lead - half, lead + half, min(mine.count, own.count)))
    return mean_of(leads) if leads else None


def measure(score: SideScore) -> Interval:
    return score.mean_return if score.points is None else score.points


def turned(lead: Interval) -> Interval:
    """The same as the other one's lead."""
    return Interval(-lead.mean, -lead.high, -lead.low, lead.count)


def excludes_0(lead: Interval) -> bool:
    return not isnan(lead.low) and (lead.low > 0.0 or lead.high < 0.0)


def text(interval: Interval, digits: int = 3) -> str:
    return f"{interval.mean:z.{digits}f} [{interval.low:z.{digits}f}, {interval.high:z.{digits}f}]"
