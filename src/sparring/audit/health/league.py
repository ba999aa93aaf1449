"""Symptoms of opposition: what is met, what was beaten, and whether it still is."""

from collections import defaultdict
from itertools import pairwise

from sparring.audit.findings import Finding, Question
from sparring.audit.health.record import ENOUGH, SURE, Met, Record
from sparring.core.names import counted
from sparring.evaluation.advice import settling
from sparring.evaluation.scoring import SHADOW, UNTRAINED
from sparring.evaluation.standing import against_bots, by_side, falls
from sparring.evaluation.stored import scores_at
from sparring.ratings.elo import expected
from sparring.statistics.intervals import Interval, clopper_pearson
from sparring.training.trends import LEAST

EASY = 0.95
"""Points against past selves above which they teach nothing."""
ALL, NOTHING = 0.9, 0.1


def stale_pool(ask: Question, record: Record) -> Finding:
    """Past selves that are met, and were all taken long ago or always lose."""
    train = [line for line in record.kind("train") if line["iteration"] in record.late]
    games = sum(line.get("games/past") or 0 for line in train)
    if not games:
        return ask.skipped("no past selves were met in the last quarter")
    told = [(line["points/past"], line.get("games/past") or 0) for line in train if line.get("points/past") is not None]
    rated = sum(count for _, count in told)
    points = sum(share * count for share, count in told) / rated if rated else None
    taken = [line["iteration"] for line in record.kind("event") if line.get("event") == "snapshot"]
    last = max(taken, default=0)
    old = taken and record.done >= 4 * LEAST and 2 * last < record.done
    numbers = {"points": points, "games": games, "last snapshot": last}
    if old:
        return ask.found(
            False, f"the newest past self was taken in iteration {last} of {record.done}",
            "The learner trains against what it was long ago; what it has learned since is never tested by its like.",
            "Take snapshots more often (--snapshot-every), or lower the gate that holds them back.", **numbers,
        )  # fmt: skip
    if points is None:
        return ask.skipped(f"{games} games with past selves, none of them won or lost; newest taken in {last}")
    return ask.found(
        rated < ENOUGH or points < EASY,
        f"{points:.0%} of the points of {games} games with past selves in the last quarter; newest taken in {last}",
        "Opponents that always lose teach nothing, and games with them are lost to training.",
        "Prefer those that are hard to beat (--sampler pfsp_hard), or lower --history.", **numbers,
    )  # fmt: skip


def standings(record: Record) -> dict[tuple[str, str], list[tuple[int, Interval]]]:
    """Of learners and players that never change, their rate in each eighth of the run in which they met enough."""
    tally: dict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    stretch = max(1, record.done // 8)
    fixed = [row for row in record.rows if row.kind == "train" and row.opponent_id >= 0 and not row.weakened]
    learners = set(record.built.lineup.names)
    for row in fixed:
        if row.opponent not in learners and not row.opponent.endswith(f".{SHADOW}") and row.opponent != SHADOW:
            own = tally[row.player, row.opponent, row.iteration // stretch]
            own[0] += row.wins + row.draws / 2
            own[1] += row.games
    found: dict[tuple[str, str], list[tuple[int, Interval]]] = defaultdict(list)
    for (player, opponent, when), (points, games) in sorted(tally.items(), key=lambda item: item[0][2]):
        if games >= ENOUGH / 2:
            found[player, opponent].append((when * stretch, clopper_pearson(points, int(games), SURE)))
    return found


def cycling(ask: Question, record: Record) -> Finding:
    """Players that never change, surely beaten, then surely lost to, then beaten again, or the other way round."""
    told = standings(record)
    if not told or not record.built.game.spec.has_winners:
        return ask.skipped("no games against players that do not change")
    turns = {}
    for pair, rates in told.items():
        signs = [1 if rate.low > 0.5 else -1 for _, rate in rates if rate.low > 0.5 or rate.high < 0.5]
        turns[pair] = sum(a != b for a, b in pairwise(signs))
    round_ = {f"{a} and {b}": count for (a, b), count in turns.items() if count >= 2}
    seen = f"{counted(len(round_), 'pair')} changed places twice or more: {'; '.join(list(round_)[:3])}"
    return ask.found(
        not round_, seen if round_ else f"none of {len(turns)} pairs changed places twice",
        "Learning goes round: what beats today's opponents loses to older ones, which then come back.",
        f"Meet more of the past at once (--history-floor 0.2, --pool-size). {settling(record.opposed)[0]}",
        turns=round_, pairs=len(turns),
    )  # fmt: skip


def swings(ask: Question, record: Record) -> Finding:
    """From winning all against somebody to losing all, or back, from one iteration to the next."""
    if not record.built.game.spec.has_winners:
        return ask.skipped("nobody wins or loses this game")
    found, looked = [], 0
    jumps = {line["iteration"] for line in record.kind("event") if line.get("event") in ("reset", "staged", "joined")}
    last: dict[Met, tuple[int, Interval]] = {}
    for (iteration, who), (points, games) in record.met.items():
        if games < ENOUGH:
            continue
        rate, before = clopper_pearson(points, games, SURE), last.get(who)
        last[who] = iteration, rate
        if before is None or before[0] != iteration - 1 or {before[0], iteration} & jumps:
            continue
        looked += 1
        if (before[1].low > ALL and rate.high < NOTHING) or (before[1].high < NOTHING and rate.low > ALL):
            _, _, player, opponent, *_ = who
            against = "itself" if player == opponent else opponent
            found.append(f"{before[1].mean:.0%} to {rate.mean:.0%} against {against} in iteration {iteration}")
    if not looked:
        return ask.skipped("nobody was met often enough in two iterations, one after the other")
    none = f"no swing in {looked} steps from one iteration to the next"
    return ask.found(
        not found, f"{counted(len(found), 'time')}, such as {found[0]}" if found else none,
        "A policy that one update turns over has no ground: steps are too large, or the opponent is too pure.",
        f"Lower --learning-rate or set --target-kl 0.02. {settling(record.opposed)[0]}",
        swings=found[:20], looked=looked,
    )  # fmt: skip


def rating_against_payoff(ask: Question, record: Record) -> Finding:
    """A live rating that says the opposite of the games behind it."""
    last = [line for line in record.kind("train") if line["iteration"] == record.done - 1]
    ratings = {key: value for line in last for key, value in line.items() if key.startswith("rating/")}
    compared, wrong = 0, []
    for key, rating in ratings.items():
        pair = key.removeprefix("rating/")
        player, _, anchor = pair.partition(" vs ")
        late = (row for row in record.rows if row.kind == "train" and row.iteration in record.late)
        rows = [row for row in late if (row.player, row.opponent) == (player, anchor)]
        games = sum(row.games for row in rows)
        if games < ENOUGH:
            continue
        compared += 1
        rate = clopper_pearson(sum(row.wins + row.draws / 2 for row in rows), games, SURE)
        promised = float(expected(rating, 0.0))
        if (promised > 0.6 and rate.high < 0.5) or (promised < 0.4 and rate.low > 0.5):
            said = f"the rating promises {promised:.0%} of the points, {games} games gave {rate.mean:.0%}"
            wrong.append(f"{pair}: {said}")
    if not compared:
        return ask.skipped("no rated pair met often enough in the last quarter")
    return ask.found(
        not wrong, "; ".join(wrong) or f"{counted(compared, 'rated pair')} as their games say",
        "One number for each player cannot say who beats whom where they go round.",
        "Read the table of pairs: sparring tournament with RUN and its past players; see cyclic share there.",
    )  # fmt: skip


def forgetting(ask: Question, record: Record) -> Finding:
    """Opponents against which the newest policy surely does worse than an earlier one did."""
    known = sorted({row.iteration for row in record.rows if row.kind == "eval" and row.iteration != UNTRAINED})
    if len(known) < 2:
        return ask.skipped("the run was evaluated less than twice")
    eval_rows = [row for row in record.rows if row.kind == "eval"]
    evaluations = {iteration: scores_at(eval_rows, iteration, record.manifest) for iteration in known}
    lost = falls(evaluations, record.manifest)
    places = sum(len(against_bots(own)) for own in by_side(evaluations[known[-1]], record.manifest).values())
    if not lost and not places:
        return ask.skipped("no opponent that stays the same was met")
    texts = [
        f"{fall.side and f'{fall.side} '}against {fall.opponent or 'the game'}: {fall.then.mean:.2f} after iteration "
        f"{fall.iteration}, {fall.now.mean:.2f} at the end"
        for fall in lost[:4]
    ]
    opposed = record.opposed  # what it does not do yet is what it could
    flags = ["past selves (--history 0.3)"] * (not opposed.past) + ["bots (--bots 0.2)"] * (not opposed.bots)
    meet = f"Meet {' or '.join(flags)}. " if flags else ""
    return ask.found(
        not lost, "; ".join(texts) or f"against {counted(places, 'opponent')} no earlier policy was surely better",
        "The policy lost what it could do; nothing it meets asks for it now.",
        f"{meet}{settling(opposed)[0]} An older policy may be the better player.", opponents=places,
    )  # fmt: skip
