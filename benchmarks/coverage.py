"""Does what says 95 % hold the truth in 95 % of cases? Every kind of interval that is printed, on simulated games.

    python benchmarks/coverage.py                       # two minutes
    python benchmarks/coverage.py --cases 400           # rough, in seconds

Each row draws many cases with a known truth and counts how often the interval holds it. From 93 to 97 % is as it says.
Above that an interval is wider than it need be: with few games of an extreme rate only a few results are possible, and
there the careful side is taken. Rows of tests count how often somebody is wrong who looks after every game.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sparring.core.seeding import Seed
from sparring.ratings.bradley_terry import ELO, bradley_terry
from sparring.ratings.cycles import noise
from sparring.ratings.payoff import Payoff
from sparring.statistics.intervals import Interval, Moments, student
from sparring.statistics.iqm import iqm, iqm_interval
from sparring.statistics.rates import of_starts, over_seeds, rate_interval
from sparring.statistics.sequential import sprt, surely_above

FEW, ENOUGH = 0.93, 0.97
STARTS, RATES, SEEDS = (8, 16, 32, 128), (0.5, 0.8, 0.95), (3, 5, 10)
KINDS = ("independent", "side decides", "player decides")
"""How the two games of a start go together: not at all; what helps one side helps whoever has it; or one player."""
STRONG = 4.0
"""Deviation of what a start gives away, in log odds."""
Generator = np.random.Generator


class Row(NamedTuple):
    what: str
    case: str
    share: float
    """Of the cases in which the interval holds the truth; for tests, in which somebody is wrong."""
    width: float
    """Mean width of the interval; nan for tests."""
    limit: str = "95 %"

    @property
    def verdict(self) -> str:
        if self.limit != "95 %":
            return "" if self.share <= float(self.limit.split()[2]) / 100 + 0.005 else "TOO OFTEN"
        return "" if FEW <= self.share <= ENOUGH else "wide" if self.share > ENOUGH else "NARROW"


def starts_of(kind: str, rate: float, starts: int, cases: int, generator: Generator) -> np.ndarray:
    """starts_N5 of two games each, whose mean is `rate`."""
    sign = 1.0 if kind == "player decides" else -1.0
    strong = 0.0 if kind == "independent" else STRONG
    place = np.linspace(-4, 4, 801)
    weight = np.exp(-(place**2) / 2) / np.exp(-(place**2) / 2).sum()
    skill = brentq(
        lambda s: float(weight @ (expit(s + strong * place) + expit(s + sign * strong * place)) / 2 - rate), -40, 40
    )
    luck = strong * generator.standard_normal((cases, starts))
    won = sum((generator.random(luck.shape) < expit(skill + side * luck)).astype(int) for side in (1.0, sign))
    return np.stack(
        [(won == points).sum(1) if points is not None else 0 * won[:, 0] for points in (0, None, 1, None, 2)], -1
    )


def held(found: list[Interval], truth: float) -> tuple[float, float]:
    inside = np.mean([one.low <= truth <= one.high for one in found])
    return float(inside), float(np.mean([one.high - one.low for one in found]))


def rates(cases: int, generator: Generator) -> Iterator[Row]:
    for kind in KINDS:
        for rate in RATES:
            for starts in STARTS:
                drawn_N5 = starts_of(kind, rate, starts, cases, generator)
                yield Row(
                    "rate by starts", f"{kind}, {rate}, {starts} starts", *held(list(map(of_starts, drawn_N5)), rate)
                )
    for rate in RATES:
        for games in STARTS:
            won_N = generator.binomial(games, rate, cases)
            found = [of_starts([games - won, 0, 0, 0, won]) for won in won_N]
            yield Row("rate by games", f"{rate}, {games} games", *held(found, rate))


def played_on(cases: int, generator: Generator) -> Iterator[Row]:
    """As `--within 0.1` plays: rounds of 16 starts until the interval is narrow enough."""
    for kind in KINDS:
        for rate in RATES:
            rounds_RN5 = [starts_of(kind, rate, 16, cases, generator) for _ in range(32)]
            found = []
            for case in range(cases):
                total_5 = np.zeros(5, int)
                for round_N5 in rounds_RN5:
                    total_5 = total_5 + round_N5[case]
                    interval = of_starts(total_5)
                    if interval.high - interval.low <= 0.2:
                        break
                found.append(interval)
            yield Row("rate, played on", f"{kind}, {rate}, to within 0.1", *held(found, rate))


VALUES: dict[str, Callable[[Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "skewed": lambda generator, shape: generator.lognormal(0.0, 0.7, shape),
    "one of five fails": lambda generator, shape: (
        0.5 * generator.standard_normal(shape) - 3.0 * (generator.random(shape) < 0.2)
    ),
}
"""What seeds may show."""


def means(cases: int, generator: Generator) -> Iterator[Row]:
    for kind, draw in VALUES.items():
        many = draw(generator, (1, 1_000_000))
        for count in (*SEEDS, 32, 128):
            values_NV = draw(generator, (cases, count))
            found = [student(*Moments.of(values)) for values in values_NV]
            yield Row("mean (Student)", f"{kind}, {count} values", *held(found, float(many.mean())))
        for count in SEEDS:
            found = [iqm_interval(values) for values in draw(generator, (cases, count))]
            yield Row("IQM", f"{kind}, {count} values", *held(found, iqm(many[0])))


def rates_over_seeds(cases: int, generator: Generator) -> Iterator[Row]:
    """Seeds differ by a beta distribution; each plays 32 games."""
    for rate in RATES:
        for strength in (10.0, 1000.0):
            for count in SEEDS:
                own_NR = generator.beta(rate * strength, (1 - rate) * strength, (cases, count))
                won_NR = generator.binomial(32, own_NR)
                moments = [[Moments(w / 32, w / 32 * (1 - w / 32) * 32 / 31, 32) for w in won_R] for won_R in won_NR]
                seeds = "unlike" if strength == 10.0 else "alike"
                case = f"{rate}, {count} {seeds} seeds of 32 games"
                yield Row("rate over seeds", case, *held([over_seeds(own) for own in moments], rate))


def pool(skill_M: np.ndarray, starts: int, kind: str, generator: Generator) -> Payoff:
    """A round robin: of the starts between like players the side alone decides nine of ten, or none."""
    payoff = Payoff.empty([f"p{row}" for row in range(len(skill_M))])
    for i, j in zip(*np.triu_indices(len(skill_M), 1), strict=True):
        rate = float(expit(skill_M[i] - skill_M[j]))
        decided = (0.9 if kind == "side decides" else 0.0) * 2 * min(rate, 1 - rate)
        whole = (rate - decided / 2) / (1 - decided)
        chances = (1 - decided) * np.array([(1 - whole) ** 2, 2 * whole * (1 - whole), whole**2]) + [0, decided, 0]
        lost, halved, won = (int(count) for count in generator.multinomial(starts, chances))
        games = (2 * won + halved, 0, 2 * lost + halved)
        payoff = payoff.with_games(int(i), int(j), *games, starts_5=[lost, 0, halved, 0, won])
    return payoff


def ratings(cases: int, generator: Generator) -> Iterator[Row]:
    for players in (2, 8):
        for kind in KINDS[:2]:
            for starts in STARTS:
                inside, width, cyclic = [], [], []
                for _ in range(max(20, cases // players)):
                    skill_M = 0.7 * generator.standard_normal(players)
                    payoff = pool(skill_M, starts, kind, generator)
                    found = bradley_terry(payoff, anchor="p0")
                    true_M = ELO * (skill_M - skill_M[0])
                    inside.append(((found.low_M <= true_M) & (true_M <= found.high_M))[1:].mean())
                    width.append((found.high_M - found.low_M)[1:].mean())
                    if players > 2:
                        cyclic.append(noise(payoff, draws=99, seed=0).p_value <= 0.05)
                case = f"{players} players, {kind}, {starts} starts"
                yield Row("rating (Bradley-Terry)", case, float(np.mean(inside)), float(np.mean(width)))
                if players > 2:
                    yield Row("cycles where there are none", case, float(np.mean(cyclic)), np.nan, "at most 5 %")


def looked_at(cases: int, generator: Generator) -> Iterator[Row]:
    """Somebody looks after each of 1,000 games, and stops when something is sure."""
    cases = max(100, cases // 2)
    for rate in RATES:
        won_NG = (generator.random((cases, 1000)) < rate).cumsum(1)
        ever = [any(surely_above(int(w), g + 1, rate) for g, w in enumerate(won_G)) for won_G in won_NG]
        yield Row("surely above", f"{rate}, after every game", float(np.mean(ever)), np.nan, "at most 2.5 %")
        once = [rate_interval(w / 1000, w / 1000 * (1 - w / 1000), 1000).low > rate for w in won_NG[:, -1]]
        yield Row("above an interval", f"{rate}, after 1,000 games", float(np.mean(once)), np.nan, "at most 2.5 %")
    won_NG = (generator.random((cases, 4000)) < 0.5).cumsum(1)
    passed = 0
    for won_G in won_NG:
        for game, won in enumerate(won_G[19::20]):  # games are reported together
            count = 20 * (game + 1)
            verdict = sprt(int(won), int(count - won), null=0.5, alternative=0.55).verdict
            if verdict != "go on":
                passed += verdict == "accept"
                break
    yield Row("SPRT of 0.5 against 0.55", "0.5, after every 20 games", passed / cases, np.nan, "at most 5 %")


PARTS = {"rates": rates, "played_on": played_on, "means": means, "rates_over_seeds": rates_over_seeds,
         "ratings": ratings, "looked_at": looked_at}  # fmt: skip


def measured(parts: list[str], cases: int, seed: int = 0) -> list[Row]:
    return [row for part in parts for row in PARTS[part](cases, (Seed.of(seed) / part).generator())]


def table(rows: list[Row]) -> str:
    head = ("interval or test", "case", "says", "found", "mean width", "")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        width = "" if np.isnan(row.width) else f"{row.width:.3g}"
        lines.append(f"| {row.what} | {row.case} | {row.limit} | {row.share:.1%} | {width} | {row.verdict} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--cases", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also keep the rows here")
    arguments = parser.parse_args()
    rows = measured(arguments.parts, arguments.cases, arguments.seed)
    if arguments.json:
        arguments.json.write_text(json.dumps([row._asdict() for row in rows]).replace("NaN", "null"))
    print(table(rows))
    narrow = [row for row in rows if row.verdict in ("NARROW", "TOO OFTEN")]
    print(f"{len(rows)} rows, {len(narrow)} of them narrower than they say.")


if __name__ == "__main__":
    main()
