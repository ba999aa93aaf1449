"""Settings that suit kinds of games in which skill alone is not what is to be found (`GameSpec.suits`).

A balance: where moves are hidden or made at once, the best answer keeps moving, and the newest policy of plain
self-play circles after it. A magnet lets the newest policy itself come to rest (docs/log/2026-11-18-settling.md). What
is won is paid at the end, so nothing is discounted.

A way to live together: where each plays for itself, what is learned first decides which of several balances is found,
and the first thing that is learned is what needs nobody else (docs/log/2026-11-18-social.md).
"""

from sparring.core.spec import GameSpec

Suits = tuple[tuple[str, str | float | tuple[int, ...] | tuple[str, ...]], ...]
PRESET = "self_play"
"""Among the settings that suit a game: who opposes, by the name of a preset."""
SHORT = 10
"""Steps of a game up to which moves made at once leave little but a balance to be found. In longer ones, such as a
fight in the air, skill comes first, and a magnet slows it down (docs/log/2026-11-18-settling.md)."""
UNSAID: Suits = ((PRESET, "magnet"), ("steps", 8))
"""A few moves for two, of which nobody says more: what the newest policy needs to come to rest in any such game, and no
tuned step size (docs/log/2026-11-18-front-door.md)."""

SMALL: Suits = (
    ("self_play", "magnet"),
    ("steps", 8),
    ("discount", 1.0),
    ("advantage", "expected"),
    ("learning_rate", "8e-3 -> 0 cosine"),
    ("entropy", "0.05 -> 0"),
)
"""A few situations, met again and again: short rollouts, many updates."""
AT_ONCE: Suits = (*SMALL, ("shadow_half_life", "5 -> 15"))
"""Moves made at once: given what the other did, the critic knows what each move would have paid. With so little luck a
magnet may follow soon."""
HIDDEN: Suits = (
    ("self_play", "magnet"),
    ("anchor", 0.7),
    ("total_steps", 20_000_000),
    ("worlds", 256),
    ("steps", 16),
    ("discount", 1.0),
    ("decay", 1.0),
    ("advantage", "expected"),
    ("epochs", 2),
    ("entropy", "0.2 -> 0.02"),
    ("support", 0.01),
    ("critic", "central"),
    ("hidden", (128, 128)),
    ("activation", "relu"),
    ("layer_norm", True),
)
"""Hidden cards, dice and moves. What hardly anybody plays must be answered well all the same, so no choice may die out:
the bonus does not end, and a barrier (`support`) pulls as hard at a choice that is hardly made any more as at others. A
critic that sees everything takes luck out of what a choice was worth (docs/log/2026-11-19-settling.md)."""
DILEMMA: Suits = (
    ("total_steps", 3_000_000),
    ("learning_rate", "1e-3 -> 1e-4"),
    ("entropy", "0.02 -> 0.001"),
    ("shared_reward", "1 -> 0"),
)
"""Social dilemmas: rewards are common at first, so that all learn what all can have, and each one's own in the end."""


def suits_of(spec: GameSpec) -> Suits:
    """What suits a game: what it says itself, and where it does not say who opposes, what its spec tells."""
    said = dict(spec.suits)
    return spec.suits if PRESET in said or not leaves_a_balance(spec) else tuple({**dict(UNSAID), **said}.items())


def leaves_a_balance(spec: GameSpec) -> bool:
    """Few moves of two sides, made at once; or in turn and for the same stakes, where a central critic is told more
    than a seat sees. On an open board it is told the same, and a best answer need not be hidden among others."""
    if spec.sides != 2 or spec.longest > SHORT:
        return False
    return not spec.in_turn or (spec.zero_sum and spec.central.size > spec.features)
