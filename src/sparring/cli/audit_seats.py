"""sparring audit seats [GAME]: does the number of a seat change the result, and what makes it so?"""

from dataclasses import dataclass

from sparring.cli.flags import GameWord, parse

EXAMPLES = ("sparring audit seats snowdrift",)


@dataclass(frozen=True, kw_only=True)
class AuditSeats:
    """Find out whether the number of a seat changes the result, cheapest question first."""

    game: GameWord = None
    """The game."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    parse(AuditSeats, words, command="audit seats", examples=EXAMPLES)
    return 0
