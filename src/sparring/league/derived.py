"""Ledgers derived from the rows of a run's results, and where those of a league differ from them.

A league keeps sums, since it decides anew in every iteration; the results keep all that was summed, and are the truth.
What a league forgot on purpose needs no second record. Who begins anew begins with an empty ledger and is struck from
the others', so only games since then count. A past self or guest leaves when its last games have been read, and its id
is never given again, so all its games are forgotten.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sparring.league.abreast import Abreast
from sparring.league.desk import LATE
from sparring.league.league import League
from sparring.league.ledger import Fading, Ledger, Score
from sparring.league.player import RIVAL, kind_of
from sparring.league.role_league import RoleLeague

ROUNDING = 1e-6
"""Fading counts that differ by no more are the same."""


class Played(NamedTuple):
    """Completed games of one learner against one player at full strength; an iteration may have several such rows."""

    iteration: int
    learner: int
    """Its place in the line-up."""
    player: int
    won: int
    drawn: int
    lost: int


class Difference(NamedTuple):
    """What a league holds of a learner's games against a player, and what the results give."""

    learner: int
    player: int
    score: tuple[Score, Score]
    fading: tuple[Fading, Fading]


def differences(league: League | RoleLeague | Abreast, rows: Sequence[Played]) -> list[Difference]:
    """Where the ledgers of a league, or the reports that it has yet to read, are not what the rows of its seed give."""
    if isinstance(league, Abreast):
        return [
            found._replace(learner=place, player=league.outside(place, found.player))
            for place, own in enumerate(league.leagues)
            for found in differences(own, list(_of_one(league, place, rows)))
        ]
    if isinstance(league, RoleLeague):
        kept, counts = league.ledgers, _counts_in_roles(league)
    else:
        kept, counts = [league.knowledge.ledger], _counts_of_one(league)
    forget, blocks_each = league.opponents.forget, len(league.blocks) // len(kept)
    waiting = [
        Played(report.iteration, row.block // blocks_each, row.player, row.won, row.drawn, row.lost)
        for report in league.inbox
        for row in report.rows
        if not row.weakened
    ]
    due = 0 if league.iteration is None else max(0, league.iteration + 1 - LATE)
    last = due if league.iteration is None else league.iteration + 1

    def ledgers(played: Sequence[Played], iterations: range) -> list[Ledger]:
        some = [row for row in played if row.iteration in iterations]
        return derived(some, counts, learners=len(kept), forget=forget)

    old, new = range(due), range(due, last)
    return [
        *_compared(kept, ledgers(rows, old)),
        *_compared(ledgers(waiting, new), ledgers(rows, new)),
    ]


def _of_one(leagues: Abreast, place: int, rows: Iterable[Played]) -> Iterator[Played]:
    """The rows that one of several leagues was told of, in its own words."""
    for row in rows:
        own = row.learner == place and row.iteration >= leagues.anew[place]
        if own and kind_of(row.player) != "rival":
            yield row._replace(learner=0, player=leagues.inside(row.player))


def derived(rows: Iterable[Played], counts: Callable[[Played], bool], *, learners: int, forget: float) -> list[Ledger]:
    """For each learner the whole and the fading counts of the games that count. Ratings, which ask when everybody was
    born, are left out."""
    games: list[dict[int, dict[int, Score]]] = [defaultdict(lambda: defaultdict(Score)) for _ in range(learners)]
    for row in rows:
        for seen in filter(counts, _seen(row, learners)):
            of_player = games[seen.learner][seen.player]
            of_player[seen.iteration] = of_player[seen.iteration].plus(Score(seen.won, seen.drawn, seen.lost))
    return [_replayed(own, forget) for own in games]


def _seen(row: Played, learners: int) -> Iterator[Played]:
    """A game between two learners is a game of both."""
    yield row
    if RIVAL <= row.player < RIVAL + learners:
        other, me = row.player - RIVAL, RIVAL + row.learner
        yield Played(row.iteration, other, me, won=row.lost, drawn=row.drawn, lost=row.won)


def _counts_of_one(league: League) -> Callable[[Played], bool]:
    """Not games against players that left; those against oneself a ledger passes over."""
    here = league.pool.rows
    return lambda row: kind_of(row.player) not in ("past", "guest") or row.player in here


def _counts_in_roles(league: RoleLeague) -> Callable[[Played], bool]:
    """Not games against oneself, and not those of weights that are gone."""
    began = {RIVAL + place: iteration for place, iteration in enumerate(league.anew)}

    def counts(row: Played) -> bool:
        me = RIVAL + row.learner
        return row.player != me and row.iteration >= max(began[me], began.get(row.player, 0))

    return counts


def _replayed(games: dict[int, dict[int, Score]], forget: float) -> Ledger:
    """Games of each player, the oldest first; those of one iteration together. Players do not touch each other."""
    score, fading = {}, {}
    for player, by_iteration in games.items():
        ledger = Ledger()
        for _, together in sorted(by_iteration.items()):
            ledger = ledger.after({player: together}, forget)
        score |= ledger.score
        fading |= ledger.fading
    return Ledger(score, fading)


def _compared(kept: Sequence[Ledger], derived: Sequence[Ledger]) -> list[Difference]:
    found = []
    for learner, (one, other) in enumerate(zip(kept, derived, strict=True)):
        for player in sorted({*one.score, *one.fading, *other.score}):
            scores = one.score.get(player, Score()), other.score.get(player, Score())
            fadings = one.fading.get(player, Fading()), other.fading.get(player, Fading())
            near = all(abs(a - b) <= ROUNDING for a, b in zip(*fadings, strict=True))
            if scores[0] != scores[1] or not near:
                found.append(Difference(learner, player, scores, fadings))
    return found
