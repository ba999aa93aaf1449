"""What an iteration leaves in the run directory: lines of metrics and rows of results. NumPy in, plain data out."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from sparring.core.spec import GameSpec
from sparring.evaluation.match import MatchGames
from sparring.evaluation.scoring import LEARNED, SideScore, score_sides
from sparring.league.player import packed
from sparring.league.score import Score
from sparring.learn.config import coefficient
from sparring.play.faults import Faults
from sparring.play.rollout import Tally
from sparring.setup.build import Built, shaping_weights
from sparring.setup.line_up import side_label
from sparring.setup.program import Report
from sparring.store.results import ResultRow
from sparring.training.opposition import Faced

WHILE_WAITING = ("waits", "mind/")
"""What is told of a learner in whose place a bot plays: its own lesson was thrown away."""


def metric_lines(
    built: Built,
    iteration: int,
    report: Report,
    faced: Sequence[Faced],
    rated_R: Sequence[Mapping[str, float]] = (),
) -> list[dict[str, Any]]:
    """One line for each seed. Only what a repeated run repeats exactly: no clock, no machine. `rated_R`: the live
    ratings of each seed's learners, where leagues keep them."""
    lines = []
    for r, seed in enumerate(built.seeds_R):
        tally = of_seed(report.tally, r)
        line: dict[str, Any] = {"kind": "train", "iteration": iteration, "seed": int(seed)}
        line["steps"] = (iteration + 1) * built.steps_per_iteration
        line.update(game_metrics(built, tally))
        line.update(fault_metrics(report.faults, r))
        line.update(shaping_metrics(built, iteration, tally))
        own = [row for row in faced if row.seed == seed]
        line.update(opponent_metrics(own, built.game.spec))
        for name in built.lineup.names if faced and len(built.lineup.names) > 1 else ():
            mine = [row for row in own if row.learner == name]
            line.update(opponent_metrics(mine, built.game.spec, f"/{name}"))
        line.update({f"rating/{pair}": rating for pair, rating in (rated_R[r] if rated_R else {}).items()})
        if report.second_tries is not None:
            games, won, drawn, _ = (int(x) for x in np.asarray(report.second_tries)[r])
            line.update(
                {"games/second_tries": games, "points/second_tries": (won + drawn / 2) / games if games else None}
            )
        for names, stats in zip(built.lineup.learners, report.stats, strict=True):
            fields = stats._asdict()
            for part in ("own", "hyper", "mind"):
                fields |= {f"{part}/{key}": x for key, x in (fields.pop(part) or {}).items()}
            known = {key: np.asarray(x, float)[r].tolist() for key, x in fields.items() if x is not None}
            for row, name in enumerate(names):
                waits = "waits" in known and known["waits"][row]
                for key, value_L in known.items():
                    line[f"{name}/{key}"] = None if waits and not key.startswith(WHILE_WAITING) else value_L[row]
        lines.append(line)
    return lines


def of_seed(record: Any, r: int) -> Any:
    """The part of one seed of a record of arrays, some of which may be missing."""
    return type(record)(*(x if x is None or isinstance(x, tuple) else np.asarray(x)[r] for x in record))


def fault_metrics(faults: Faults, r: int) -> dict[str, int]:
    """What went wrong in this iteration; nothing where all went well, as it should."""
    counts = {name: int(np.asarray(getattr(faults, name))[r]) for name in ("left_out", "overdue", "reused")}
    return {f"games/{name}": count for name, count in counts.items() if count}


def game_metrics(built: Built, tally: Tally) -> dict[str, Any]:
    """Games that ended in this iteration; None where none did."""
    spec = built.game.spec
    games = int(tally.games_B.sum())
    mean = (lambda total: float(total) / games) if games else (lambda _: None)
    metrics: dict[str, Any] = {"games": games, "length": mean(tally.length_B.sum())}
    for seat, name in enumerate(spec.seat_names):
        metrics[f"return/{name}"] = mean(tally.return_BS[:, seat].sum())
    if spec.score == "outcome":
        for side, seats in enumerate(spec.seats_of_side):
            label = side_label(spec, seats)
            metrics[f"won/{label}"] = mean(tally.won_BK[:, side].sum())
            metrics[f"drawn/{label}"] = mean(tally.drawn_BK[:, side].sum())
    for j, cause in enumerate(spec.causes):
        metrics[f"cause/{cause}"] = mean(np.asarray(tally.cause_BKJ)[..., j].sum() / spec.sides)
    for j, counted in enumerate(spec.counts):
        metrics[f"count/{counted}"] = mean(np.asarray(tally.count_BSJ)[..., j].sum() / spec.seats)
    return metrics


def shaping_metrics(built: Built, iteration: int, tally: Tally) -> dict[str, Any]:
    """What each shaping term paid a seat over a game, on average, with its weight of this iteration.

    A term that pays more than the game itself is a warning: the learner may be playing for that. What one side of a
    zero-sum term gains the other loses, so in zero-sum games only the learner's home side counts, elsewhere all seats.
    """
    weight_J, games = built.shaping_J(iteration), int(tally.games_B.sum())
    if tally.sums_BSJ is None:
        return {}
    spec = built.game.spec
    rewards, potentials = spec.terms_of("reward"), spec.terms_of("potential")
    seating, sums_BSJ = built.plan.seating, np.asarray(tally.sums_BSJ)
    home_B = seating.home_B or (0,) * seating.blocks
    seats_B = [list(seating.seats_of_side[k] if spec.zero_sum else range(spec.seats)) for k in home_B]
    sum_J = np.sum([sums_SJ[seats].mean(0) for sums_SJ, seats in zip(sums_BSJ, seats_B, strict=True)], axis=0)
    earlier, later = sum_J[len(rewards) : len(rewards) + len(potentials)], sum_J[len(rewards) + len(potentials) :]
    discount = coefficient(built.settings[0][0], "discount").at(built.progress(iteration))
    paid_J = weight_J * np.concatenate([sum_J[: len(rewards)], discount * later - earlier])
    used = [term for term in (*rewards, *potentials) if term in shaping_weights(spec, built.config.shaping)]
    by_name = dict(zip((*rewards, *potentials), paid_J, strict=True))
    return {f"shaping/{term}": float(by_name[term]) / games if games else None for term in used}


def opponent_metrics(faced: Sequence[Faced], spec: GameSpec, whose: str = "") -> dict[str, Any]:
    """A learner's games of this iteration against each kind of opponent, where opponents change: its points in them,
    and where games are judged by return what it earned, also with itself if nobody wins."""
    metrics: dict[str, Any] = {}
    for kind in dict.fromkeys(row.kind for row in faced):
        rows = [row.meeting for row in faced if row.kind == kind]
        games = sum(row.games for row in rows)
        metrics[f"games/{kind}{whose}"] = games
        if spec.has_winners and kind != "self":
            score = reduce(Score.plus, (row.counted(spec).score for row in rows))
            metrics[f"points/{kind}{whose}"] = score.points / games if games else None
        if spec.score == "return" and (kind != "self" or not spec.has_winners):
            metrics[f"earned/{kind}{whose}"] = sum(row.return_sum for row in rows) / games if games else None
    return metrics


def result_rows(built: Built, iteration: int, report: Report, faced: Sequence[Faced]) -> list[ResultRow]:
    """Completed training games of every side that a learner drives, block by block."""
    seating = built.plan.seating
    if seating.changing:
        won = seating.spec.has_winners
        return [
            ResultRow(
                iteration, row.seed, "train", row.side, row.learner, met.player.name, met.games,
                int(met.won) * won, int(met.drawn) * won, int(met.lost) * won, met.return_sum, met.return_square_sum,
                met.length_sum, packed(met.player), met.weakened,
            )
            for row in faced
            for met in (row.meeting,)
        ]  # fmt: skip
    owner = {
        lane: name
        for i, names in zip(seating.learning, built.lineup.learners, strict=True)
        for row, name in zip(seating.groups[i].lanes, names, strict=True)
        for lane in row
    }
    judged = seating.spec.score == "outcome"  # elsewhere nothing is won, drawn or lost
    rows = []
    for r, seed in enumerate(built.seeds_R):
        tally = of_seed(report.tally, r)
        for (block, side), name in sorted(owner.items()):
            if not tally.games_B[block]:
                continue
            seats = list(seating.seats_of_side[side])
            game_side = seating.spec.side_of_seat[seats[0]]
            others = [owner.get((block, k), built.config.seats.opponent) for k in range(len(seating.seats_of_side))]
            outcomes = (tally.won_BK, tally.drawn_BK, tally.lost_BK)
            won, drawn, lost = (int(counts_BK[block, game_side]) * judged for counts_BK in outcomes)
            rows.append(
                ResultRow(
                    iteration, int(seed), "train", side, name, ", ".join(o for k, o in enumerate(others) if k != side),
                    int(tally.games_B[block]), won, drawn, lost,
                    float(tally.return_BS[block, seats].mean()), float(tally.return_square_BS[block, seats].mean()),
                    int(tally.length_B[block]),
                )
            )  # fmt: skip
    return rows


def evaluation_lines(
    built: Built, iteration: int, teams: Sequence[tuple[str, ...]], games_of_seed: Sequence[Sequence[MatchGames]],
    exploitability: Mapping[str, Sequence[float]],
) -> list[dict[str, Any]]:  # fmt: skip
    """One line for each seed: the mean return of every side of every line-up, and its points where games are won."""
    spec, sides = built.game.spec, built.plan.seating.seats_of_side
    lines = []
    for r, games in enumerate(games_of_seed):
        line: dict[str, Any] = {"kind": "eval", "iteration": iteration, "seed": int(built.seeds_R[r])}
        line["steps"] = (iteration + 1) * built.steps_per_iteration
        for score in score_sides(spec, teams, [games], sides):
            label = side_label(spec, sides[score.side])
            key = f"{label}/{score.team} vs {score.opponents}" if score.opponents else f"{label}/{score.team}"
            line[f"return/{key}"] = score.mean_return.mean
            if score.points is not None:
                line[f"points/{key}"] = score.points.mean
            line.update({f"count/{counted}/{key}": mean for counted, mean in score.counts})
        for team, exact in exploitability.items():
            line["exploitability" if team == LEARNED else f"exploitability/{team}"] = exact[r]
        lines.append(line)
    return lines


def evaluation_rows(
    built: Built, iteration: int, teams: Sequence[tuple[str, ...]], games_of_seed: Sequence[Sequence[MatchGames]]
) -> list[ResultRow]:
    sides = built.plan.seating.seats_of_side
    return [
        row
        for seed, games in zip(built.seeds_R, games_of_seed, strict=True)
        for row in match_rows(built.game.spec, (iteration, int(seed), "eval"), teams, games, sides)
    ]


def match_rows(
    spec: GameSpec,
    when: tuple[int, int, str],
    teams: Sequence[tuple[str, ...]],
    games: Sequence[MatchGames],
    seats_of_side: Sequence[tuple[int, ...]] = (),
) -> list[ResultRow]:
    """The games of a match, from the view of every side of each line-up. `when`: iteration, seed, kind of results."""
    sides = seats_of_side or spec.seats_of_side

    def row(score: SideScore, games: MatchGames) -> ResultRow:
        returns = games.return_GS[:, list(sides[score.side])].mean(axis=1)
        return ResultRow(
            *when, score.side, score.team, score.opponents, score.games, score.wins, score.draws, score.losses,
            float(returns.sum()), float((returns**2).sum()), int(games.length_G.sum()),
        )  # fmt: skip

    lineups = zip(teams, games, strict=True)
    return [row(score, played) for team, played in lineups for score in score_sides(spec, [team], [[played]], sides)]
