"""Cases of `benchmarks/audits.py` about power: how many games or seeds it takes to see a difference of 5 %.

L2 plays real games with one seat's reward doctored. L3, L6 and E7 only see numbers, so theirs are drawn twice: from
real games and tiny trainings in which nothing differs, with the difference put in afterwards; and from normal numbers
of a stated spread ("simulated"), which say what it takes in any game whose spread is known.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from audits import Case, Outcome, kept
from seat_mutants import doctored, scaled
from sparring.audit.seats import returns, trained
from sparring.audit.seats.crossed import Crossed, crossed_finding
from sparring.audit.seats.differences import USUAL, Played
from sparring.audit.seats.levels import ALPHA
from sparring.audit.seats.probes import players_of
from sparring.evaluation.match import prepare_match
from sparring.games.game import Game
from sparring.games.social.coin import coin
from sparring.games.social.snowdrift import snowdrift
from sparring.games.social.stag_hunt import stag_hunt
from sparring.statistics.sequential import games_to_see

BATCH, REPEATS, FEW, WANTED = 128, 50, 25, 0.8
GAMES = 768
"""That L3 plays."""
MORE = 0.05
"""What one seat earns more than it should."""
BOTS = {"stag_hunt": (stag_hunt, "nearest_hare"), "snowdrift": (snowdrift, "cleaner"), "coin": (coin, "own")}
SKILLS = {
    "snowdrift": (snowdrift, ("cleaner", "free_rider", "grab", "prosocial")),
    "stag_hunt": (stag_hunt, ("nearest_hare", "nearest_stag", "nearest_hare", "random")),
}
"""Learners of unlike skill, as L3 meets them."""
SEATS = ("a", "b", "c", "d")


def cases(keep: Path) -> Iterator[Case]:
    for name in BOTS:
        yield Case(f"power, L2: {name}", partial(games_for_l2, name))
    for name in SKILLS:
        yield Case(f"power, L3: {name}", partial(games_for_l3, name))
    for spread in (0.5, 1.0):
        yield Case(f"power, L3: simulated, a game spreads by {spread:.0%}", partial(simulated_games, spread))
    for spread in (0.02, 0.05, 0.1):
        yield Case(f"power, L6: simulated, a seat spreads by {spread:.0%}", partial(simulated_order, spread))
        yield Case(f"power, L6 alike: simulated, a seat spreads by {spread:.0%}", partial(simulated_alike, spread))
    yield Case("power, E7: simulated", simulated_worth)
    yield Case("power, L6: an order, snowdrift", partial(seeds_for_l6, keep))
    yield Case("power, L6 alike: snowdrift", partial(seeds_for_alike, keep))
    yield Case("power, E7: kuhn", partial(seeds_for_e7, keep))


def games_for_l2(name: str) -> Outcome:
    make, bot = BOTS[name]
    game: Game = doctored(make(), steps=scaled(0, 1 + MORE))
    players, _ = players_of(game)
    cast = (bot,) * game.spec.sides

    def played(seed: int, games: int) -> Played:
        play = returns.match_player(game, players, [cast], batch=BATCH, seed=seed)
        return returns.compare(game.spec, play, returns.Budget(games=games, seconds=600.0, batch=BATCH))

    pilot = played(0, BATCH * 8)
    level, effect = ALPHA / len(pilot.tallies), MORE * pilot.size
    needed = max(games_to_see(effect, one.spread, level, USUAL) for one in pilot.tallies)
    seen = sum(min(played(7 + seed, needed).p_values) < ALPHA for seed in range(REPEATS))
    return Outcome({"power, L2": (seen, REPEATS)}, {"games": needed, "probe": bot})


def smallest(sizes: list[int], seen: Callable[[int], int], table: str, unit: str, **more: Any) -> Outcome:
    """The first size with the wanted power; what was seen at each is told."""
    told = {}
    for size in sizes:
        told[size] = seen(size)
        if told[size] >= WANTED * REPEATS:
            return Outcome({table: (told[size], REPEATS)}, {unit: size, "seen": told, **more})
    return Outcome({table: (told[sizes[-1]], REPEATS)}, {unit: f"more than {sizes[-1]}", "seen": told, **more})


def games_for_l3(name: str) -> Outcome:
    """Learners of unlike skill on each other's seats, and one seat that is paid what the page calls detectable more."""
    make, bots = SKILLS[name]
    game = make()
    players, _ = players_of(game)
    orders = np.asarray(list(permutations(range(game.spec.seats))))
    casts = [tuple(bots[i] for i in order) for order in orders]
    found = prepare_match(game, casts, players, games=96)(players, seed=0)
    return_OGS = np.stack([np.asarray(one.return_GS, float) for one in found])
    random, size = np.random.default_rng(0), float(np.abs(return_OGS).mean())

    def drawn_games(games: int) -> Crossed:
        order_G = np.resize(np.arange(len(orders)), games)
        return Crossed(return_OGS[order_G, random.integers(0, return_OGS.shape[1], games)], orders[order_G])

    return seen_by_l3(drawn_games, size, random)


def seen_by_l3(drawn_games: Callable[[int], Crossed], size: float, random: np.random.Generator) -> Outcome:
    """With the games of the command: how often what is called detectable is seen, and the games that 5 % take."""
    detectable = float(crossed_finding(drawn_games(GAMES), SEATS, SEATS).numbers["detectable"])
    hits = 0
    for _ in range(FEW):
        crossed = drawn_games(GAMES)
        crossed.return_GS[:, random.integers(4)] += detectable
        hits += crossed_finding(crossed, SEATS, SEATS).outcome == "FAIL"
    games = ceil(GAMES * (detectable / (MORE * size)) ** 2)
    told = {"detectable of what a seat earns": round(detectable / size, 3), "games for 5 %": games}
    return Outcome({"power, L3": (hits, FEW)}, told)


def seeds_of(keep: Path) -> np.ndarray:
    """What seats earned in tiny runs that `alarms, runs` left, each in an order drawn anew: exactly exchangeable."""
    rows = [row for name, one in kept(keep).items() if name.startswith("alarms, runs") for row in one["detail"]]
    if not rows:
        from audits_seats import tiny_runs

        rows = tiny_runs(60, 1).tolist()
    return np.asarray(rows)


def drawn(table_RS: np.ndarray, seeds: int, random: np.random.Generator) -> np.ndarray:
    return random.permuted(table_RS[random.integers(0, len(table_RS), seeds)], axis=1)


def seeds_for_l6(keep: Path) -> Outcome:
    """Each seat earns 5 % more than the next."""
    table_RS, random = seeds_of(keep), np.random.default_rng(0)
    factor_S = 1 + MORE * (1.5 - np.arange(4))

    def seen(seeds: int) -> int:
        samples = (drawn(table_RS, seeds, random) * factor_S for _ in range(REPEATS))
        return sum(trained.consistency(one, SEATS).outcome == "FAIL" for one in samples)

    spread = float((table_RS.std(axis=1) / table_RS.mean(axis=1)).mean())
    return smallest([3, 5, 8, 12, 20, 40, 80, 160], seen, "power, L6", "seeds", spread=round(spread, 3))


def seeds_for_alike(keep: Path) -> Outcome:
    table_RS, random = seeds_of(keep), np.random.default_rng(0)

    def seen(seeds: int) -> int:
        samples = (drawn(table_RS, seeds, random) for _ in range(REPEATS))
        return sum(trained.consistency(one, SEATS).outcome == "PASS" for one in samples)

    return smallest([5, 8, 12, 20, 40, 80, 160, 320], seen, "power, L6 alike", "seeds")


def seeds_for_e7(keep: Path) -> Outcome:
    """Weighings of tiny runs of kuhn that differ in nothing but chance, and a difference put in."""
    from audits_effects import figures_of_tiny_runs, weighed

    told_NF, random = figures_of_tiny_runs(keep), np.random.default_rng(0)
    spread = float(told_NF[:, 0].std()) * 2**0.5

    def seen(seeds: int, gap: float) -> int:
        return sum(weighed(told_NF[random.integers(0, len(told_NF), 2 * seeds)], gap).effect for _ in range(REPEATS))

    rates = {
        seeds: {str(k): seen(seeds, k * spread) for k in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)} for seeds in (8, 16, 32)
    }
    hits = 0
    for _ in range(REPEATS):
        own = told_NF[random.integers(0, len(told_NF), 16)]
        hits += weighed(own, weighed(own, 0.0).detectable).effect
    return Outcome({"power, E7": (hits, REPEATS)}, {"spread of a pair": spread, "seen, by seeds and spreads": rates})


def simulated_games(spread: float) -> Outcome:
    """Four learners of skills 20 % apart on each other's seats; one seat is paid more. One game is the unit."""
    random, orders = np.random.default_rng(0), np.asarray(list(permutations(range(4))))
    skill = 1 + 0.2 * (np.arange(4) - 1.5)

    def drawn_games(games: int) -> Crossed:
        learner_GS = orders[np.resize(np.arange(len(orders)), games)]
        return Crossed(skill[learner_GS] + spread * random.normal(size=learner_GS.shape), learner_GS)

    return seen_by_l3(drawn_games, 1.0, random)


def simulated_order(spread: float) -> Outcome:
    random, mean_S = np.random.default_rng(0), 1 + MORE * (1.5 - np.arange(4))

    def seen(seeds: int) -> int:
        samples = (mean_S + spread * random.normal(size=(seeds, 4)) for _ in range(REPEATS))
        return sum(trained.consistency(one, SEATS).outcome == "FAIL" for one in samples)

    return smallest([3, 4, 5, 6, 8, 10, 12, 16, 20], seen, "power, L6", "seeds", spread=spread)


def simulated_alike(spread: float) -> Outcome:
    random = np.random.default_rng(0)

    def seen(seeds: int) -> int:
        samples = (1 + spread * random.normal(size=(seeds, 4)) for _ in range(REPEATS))
        return sum(trained.consistency(one, SEATS).outcome == "PASS" for one in samples)

    return smallest([3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 80], seen, "power, L6 alike", "seeds", spread=spread)


def simulated_worth() -> Outcome:
    """Of pairs of seeds: the gap that is seen in 80 of 100, in spreads of one pair; the last value and the mean of a
    curve correlate by 0.8."""
    from audits_effects import weighed

    random = np.random.default_rng(0)

    def figures(seeds: int) -> np.ndarray:
        last_N = random.normal(size=2 * seeds) / 2**0.5
        other_N = random.normal(size=2 * seeds) / 2**0.5
        return np.stack([last_N, 0.8 * last_N + 0.6 * other_N], axis=1)

    def seen(seeds: int, gap: float) -> int:
        return sum(weighed(figures(seeds), gap).effect for _ in range(2 * REPEATS))

    gaps = np.round(np.arange(0.3, 2.1, 0.1), 1)
    told = {n: next(float(gap) for gap in gaps if seen(n, gap) >= WANTED * 2 * REPEATS) for n in (8, 12, 16, 32)}
    hits = sum(weighed(own, weighed(own, 0.0).detectable).effect for own in (figures(8) for _ in range(REPEATS)))
    return Outcome({"power, E7": (hits, REPEATS)}, {"gap in spreads of a pair, by seeds": told})
