"""What a report says: about players, about draws of the samplers, about the level of the curriculum."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sparring.core.errors import RunError
from sparring.league.ledger import Score
from sparring.league.orders import NORMAL, Block, Report, Result
from sparring.league.player import LEARNER


class Read(NamedTuple):
    scores: Mapping[int, Score]
    """By player, at full strength: a weakened self says nothing about the player it was."""
    sampled: tuple[Result, ...]
    """Those that came from a draw of the samplers."""
    at_level: Score


def read_report(report: Report, blocks: Sequence[Block], level: int) -> Read:
    """Sort results by whom the blocks were given. Where a block may mean two draws, both must be of the level."""
    scores: dict[int, Score] = defaultdict(Score)
    sampled, at_level = [], Score()
    for row in report.rows:
        if row.player == LEARNER:
            continue
        draws = blocks[row.block].draws_of(row.player, report.iteration)
        if not draws:
            raise RunError(
                f"Block {row.block} reports games against player {row.player} in iteration {report.iteration}, but was "
                f"given {blocks[row.block].old.player} and {blocks[row.block].next.player}. Check who acted there."
            )
        score = Score(row.won, row.drawn, row.lost)
        if not row.weakened:
            scores[row.player] = scores[row.player].plus(score)
        if all(draw.level == NORMAL for draw in draws):
            sampled.append(row)
        if all(draw.level == level for draw in draws):
            at_level = at_level.plus(score)
    return Read(dict(scores), tuple(sampled), at_level)
