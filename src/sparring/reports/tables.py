"""Tables for people, and the same numbers for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import compress
from math import isfinite, isnan
from typing import Any

from rich.table import Table
from rich.text import Text

from sparring.core.errors import RunError
from sparring.evaluation.scoring import LEARNED, SHADOW, SideScore, company, company_kind, merged
from sparring.statistics.intervals import Interval

COUNTED = "in a game (share)"
LEFT = (
    "side", "against", "driven by", "ended by", COUNTED, "best bot, points", "best bot, return",
    "a bot in its place, points", "a bot in its place, return",
)  # fmt: skip
NAMES = "fold"
"""How tables treat names that are too long for them: cut, two players could look alike."""
GAP = 2
"""Letters between the columns of a table that has no border."""
LONG = 8
"""Rows from which a table rather leaves out what seats did than folds every row."""
Rows = tuple[list[str], list[list[str]]]
"""Header and rows of cells."""


def ladder_rows(scores: Sequence[SideScore], before: Sequence[SideScore] = ()) -> Rows:
    """Where sides are alike and one gains what the other loses: one row for each opponent, both sides together."""
    pairs, won = merged(scores), has_points(scores)
    first = {score.opponents: score for score in merged(before) if score.team == LEARNED}
    shadow = {score.opponents: score for score in pairs if score.team == SHADOW}
    header = ["against", *["untrained"] * bool(first), *(["won / drawn / lost", "points"] if won else ["return"])]
    header += ["shadow"] * bool(shadow) + ["ended by"] * any(score.causes for score in pairs)
    rows = []
    for score in (score for score in pairs if score.team == LEARNED and score.opponents not in (SHADOW, LEARNED)):
        old, slow = first.get(score.opponents), shadow.get(score.opponents)
        row = [score.opponents, *[mean_text(old)] * bool(first)]
        row += [f"{score.wins}/{score.draws}/{score.losses}"] * won + [judged(score), *[mean_text(slow)] * bool(shadow)]
        rows.append([*row, causes_text(score)][: len(header)])
    return header, rows


def is_ladder(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> bool:
    """Whether opponents are all that a table needs to tell apart."""
    return bool(manifest.get("alike")) and (has_points(scores) or bool(manifest.get("zero_sum")))


def mean_text(score: SideScore | None) -> str:
    return f"{measure(score):z.2f}" if score else ""


def causes_text(score: SideScore) -> str:
    return ", ".join(f"{cause} {count / score.games:.0%}" for cause, count in score.causes[:2])


def counts_text(score: SideScore) -> str:
    """What a seat did in a game, and the share of each where several things are counted."""
    total = sum(mean for _, mean in score.counts)
    share = {name: f" ({mean / total:.0%})" if total and len(score.counts) > 1 else "" for name, mean in score.counts}
    return ", ".join(f"{name} {mean:z.2f}{share[name]}" for name, mean in score.counts)


def summary_rows(scores: Sequence[SideScore], manifest: Mapping[str, Any], before: Sequence[SideScore] = ()) -> Rows:
    """One row for each side that learned and each opponent, beside the bot that did best in the learner's place. Of
    several opponents those that are of one kind: the full table has the rest."""
    if is_ladder(scores, manifest):
        return ladder_rows(scores, before)
    many_alike, pair = manifest.get("many_alike"), bool(manifest.get("alike"))
    as_one = folded if many_alike else merged if pair else list
    scores, before = as_one(scores), as_one(before)
    first = {(score.side, score.opponents): score for score in before if score.team == LEARNED}
    sides_differ = not pair and not many_alike
    versus, won = has_opponents(scores), has_points(scores)
    judged_by = "points" if won else "return"
    best_of = "a bot in its place" if many_alike else "best bot"
    counts = any(score.counts for score in scores)
    header = [
        *["side"] * sides_differ, *["against"] * versus, *["untrained"] * bool(first), "return", *["points"] * won,
        *[COUNTED] * counts, f"{best_of}, {judged_by}",
    ]  # fmt: skip
    rows = []
    learned = [
        s for s in scores if s.team == LEARNED and len({company_kind(one) for one in s.opponents.split(", ")}) == 1
    ]
    for score in sorted(learned, key=lambda s: s.side):
        best = best_bot(score, scores)
        against = score.opponents if many_alike else company(score.opponents)
        row = [side_name(manifest, score.side)] if sides_differ else []
        row += [against] * versus
        row += [mean_text(first.get((score.side, score.opponents)))] * bool(first) + measures(score, won)
        row += [counts_text(score)] * counts
        rows.append([*row, f"{best.team} {judged(best)}" if best else "none tried"])
    return header, rows


def side_name(manifest: Mapping[str, Any], side: int) -> str:
    if not 0 <= side < len(manifest["sides"]):
        raise RunError(
            f"The manifest of the run names {len(manifest['sides'])} sides, and its results have side {side}. One of "
            "the two was changed: restore both from one copy."
        )
    return manifest["sides"][side]


def folded(scores: Sequence[SideScore]) -> list[SideScore]:
    """Where many sides are alike: one score for each company a team was in, in words like "2 x learned, random"."""
    found: dict[tuple[str, str], SideScore] = {}
    for score in scores:
        words = company(score.opponents)
        found.setdefault((score.team, words), replace(score, side=0, opponents=words))
    return list(found.values())


def full_rows(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> Rows:
    """Every side of every line-up: what learned comes first, then the bots alone."""
    versus, won = has_opponents(scores), has_points(scores)
    header = ["side", "driven by"] + ["against"] * versus + ["games", "return"] + ["points"] * won
    ordered = sorted(scores, key=lambda s: (LEARNED not in (s.team, *s.opponents.split(", ")), s.side))
    return header, [
        [side_name(manifest, s.side), s.team] + [s.opponents] * versus + [str(s.games)] + measures(s, won)
        for s in ordered
    ]


def best_bot(score: SideScore, scores: Sequence[SideScore]) -> SideScore | None:
    """The bot that did best on the same side against the same opponents; None where none was tried."""
    place = (score.side, score.opponents)
    return max(
        (s for s in scores if (s.side, s.opponents) == place and s.team not in (LEARNED, SHADOW)),
        key=measure,
        default=None,
    )


def measure(score: SideScore) -> float:
    """What the game is judged by."""
    return score.mean_return.mean if score.points is None else score.points.mean


def judged(score: SideScore) -> str:
    """The same with its interval."""
    return spread_text(score.mean_return) if score.points is None else interval_text(score.points)


def measures(score: SideScore, won: bool) -> list[str]:
    points = [interval_text(score.points) if score.points else ""] if won else []
    return [spread_text(score.mean_return), *points]


def has_opponents(scores: Sequence[SideScore]) -> bool:
    return any(score.opponents for score in scores)


def has_points(scores: Sequence[SideScore]) -> bool:
    return any(score.points is not None for score in scores)


def score_table(
    scores: Sequence[SideScore], manifest: Mapping[str, Any], before: Sequence[SideScore] = (), width: int | None = None
) -> Table:
    header, rows = summary_rows(scores, manifest, before)
    said = legend(scores, manifest)
    needed = sum(max(map(len, column)) + 3 for column in zip(header, *rows, strict=True)) + 1
    if width is not None and COUNTED in header and len(rows) >= LONG and needed > width:
        kept = [name != COUNTED for name in header]
        header, *rows = ([*compress(row, kept)] for row in (header, *rows))
        said += f" What seats did in a game: on a terminal that is {needed} letters wide, or by sparring eval --json."
    table = Table(title=f"Learned on {manifest['game']}", caption=said, caption_justify="left")
    for name in header:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=name == "points", overflow=NAMES)
    for row in rows:
        table.add_row(*row)
    return table


def fitted(table: Table, width: int) -> Table:
    """Columns at least as wide as their longest word, where a width has room for that: a name that is parted reads as
    two. The longest texts are folded first, and those that must stay in one line never."""
    cells = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    wide = [max(map(len, column)) for column in cells]
    least = [
        most if column.no_wrap else max(len(word) for cell in own for word in cell.split() or [""])
        for column, own, most in zip(table.columns, cells, wide, strict=True)
    ]
    room = width - 3 * len(cells) - 1  # a border and two blanks for each, and one border more
    if sum(least) > room:
        return table
    while sum(wide) > room:
        wide[max(range(len(wide)), key=lambda i: wide[i] - least[i])] -= 1
    for column, letters in zip(table.columns, wide, strict=True):
        column.width = letters
    return table


def parted(table: Table, width: int) -> list[Table]:
    """A table without a border, or where a width has no room for it several, below each other: each with the first
    column and as many of the others as there is room for. Headers are folded between words, cells never."""
    headers = [str(column.header) for column in table.columns]
    cells = [[*map(str, column.cells)] for column in table.columns]
    whole = [max(map(len, [header, *own])) + GAP for header, own in zip(headers, cells, strict=True)]
    if sum(whole) <= width:
        return [table]
    wide = [max(map(len, [*header.split(), *own]), default=0) for header, own in zip(headers, cells, strict=True)]
    parts: list[list[int]] = [[0]]
    for column in range(1, len(wide)):
        if len(parts[-1]) > 1 and sum(wide[i] + GAP for i in (*parts[-1], column)) > width:
            parts.append([0])
        parts[-1].append(column)
    shown = [Table(box=None, title=None if number else table.title) for number in range(len(parts))]
    for part, found in zip(parts, shown, strict=True):
        for i in part:
            found.add_column(headers[i], justify=table.columns[i].justify, width=wide[i], overflow=NAMES)
        for row in zip(*(cells[i] for i in part), strict=True):
            found.add_row(*map(Text, row))
    return shown


def legend(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> str:
    """What the numbers of a table of scores are."""
    fates = fates_text(scores, manifest)
    if is_ladder(scores, manifest):
        games = max((score.games for score in merged(scores) if score.opponents != LEARNED), default=0)
        what = "Points: share won, a draw one half," if has_points(scores) else "Return: what is won in a game,"
        pairs = " A start played from both sides counts once in them, so they are those of half as many games."
        return f"{games} games each, both sides alike. {what} with 95 % intervals.{pairs * has_points(scores)}{fates}"
    games = max((score.games for score in (merged(scores) if manifest.get("alike") else scores)), default=0)
    over = f"{manifest['seeds']} seeds" if manifest["seeds"] > 1 else "games"
    points = "; points: share won, a draw one half" if has_points(scores) else ""
    alike = manifest.get("many_alike") or manifest.get("alike")
    said = " Sides are alike, and one policy drives them: one stands for all." if alike else ""
    if any(len({*score.opponents.split(", ")}) > 1 for score in scores):
        said += " Against mixed company: in the full table of the report."
    return f"{games} games each. Return of a seat: mean over {over}{points}. With 95 % intervals.{said}{fates}"


def fates_text(scores: Sequence[SideScore], manifest: Mapping[str, Any]) -> str:
    """What the words for how games ended mean, as far as the table has them."""
    fates: Mapping[str, str] = manifest.get("fates") or {}
    shown = dict.fromkeys(cause for score in scores for cause, _ in score.causes[:2])
    told = "; ".join(f"{cause}: it {fates[cause]}" for cause in shown if cause in fates)
    return f" Ended by: {told}." if told else ""


def spread_text(interval: Interval) -> str:
    """Of a mean, whose interval is symmetric."""
    return f"{interval.mean:z.2f}" + ("" if isnan(interval.low) else f" ±{interval.high - interval.mean:z.2f}")


def interval_text(interval: Interval | None, digits: int = 2) -> str:
    """Nothing where there is none; a mean that rounds to 0 has no sign."""
    if interval is None:
        return ""
    mean, low, high = (f"{x:z.{digits}f}" for x in (interval.mean, interval.low, interval.high))
    return mean if isnan(interval.low) else f"{mean} [{low}, {high}]"


def plain(found: Any) -> Any:
    """For JSON, which knows no numbers that are not finite: unknown and never are null."""
    if isinstance(found, Mapping):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    return None if isinstance(found, float) and not isfinite(found) else found


def scores_json(scores: Sequence[SideScore]) -> list[dict[str, Any]]:
    """Plain data; unknown bounds are null."""

    def told(score: SideScore) -> dict[str, Any]:
        intervals = {"mean_return": asdict(score.mean_return), "points": score.points and asdict(score.points)}
        by_seed = {name: [own._asdict() for own in getattr(score, name)] for name in ("returns", "scores")}
        return plain({**asdict(score), **intervals, **by_seed})

    return [told(score) for score in scores]
