"""Gates: a candidate is promoted when it has shown to be better than the champion and to have forgotten nobody.

A gate is a ratchet: chance alone lets some candidate through in the end, and a series of such wins reads like progress
(leela-zero issue 2322). So the floors look at others than the champion. AlphaZero plays without a gate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.league.score import Score
from sparring.statistics.sequential import sprt

LONGEST = 10
"""A sequential test still undecided after this many times `gate_games` games is refused: draws alone never decide."""


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    gate: Literal["none", "rate", "sprt"] = "none"
    """What a candidate must show against the champion: nothing, a rate after a fixed number of games, or an SPRT."""
    gate_games: int = setting(400, least=1)
    """rate: games of a trial, 400 in AlphaGo Zero; sprt: a tenth of the most games of a trial, draws counted."""
    gate_rate: float = setting(0.55, above=0, below=1)
    """rate: points a game that must be exceeded, a draw counting one half; sprt: the rate without draws to show."""
    gate_null: float = setting(0.5, above=0, below=1)
    """sprt: the rate without draws that is not good enough; must be below gate_rate."""
    gate_floor: float = setting(0.0, least=0, below=1)
    """Refuse a candidate whose points a game against any past member are surely below this; 0: never."""
    gate_anchor_floor: float = setting(0.0, least=0, below=1)
    """The same against any bot."""


NO_GATE = GateConfig()


@dataclass(frozen=True)
class Verdict:
    promote: bool
    decided: bool
    """The trial is over: not promoted means refused, and the candidate's games are counted again."""
    why: str


def check_gate(config: GateConfig) -> None:
    if config.gate == "sprt" and config.gate_null >= config.gate_rate:
        raise ConfigError(f"gate_null must be below gate_rate, found {config.gate_null} and {config.gate_rate}.")


def promote(
    config: GateConfig, champion: Score | None, past: Mapping[str, Score], anchors: Mapping[str, Score]
) -> Verdict:
    """Judge a candidate by its games since the trial began: against the champion, other past members and bots, by name.
    No champion yet is None, no game yet an empty score."""
    if config.gate == "none":
        return Verdict(True, True, "Promoted: there is no gate.")
    if champion is None:
        return Verdict(True, True, "Promoted: there is no champion yet.")
    verdict = _by_rate(config, champion) if config.gate == "rate" else _by_sprt(config, champion)
    # Floors are asked once, of those who pass: looked at after every game, chance would break one sooner or later.
    return _above_floors(config, verdict, past, anchors) if verdict.promote else verdict


def _by_rate(config: GateConfig, score: Score) -> Verdict:
    """AlphaGo Zero's gate (Nature 550:354): 221 points of 400 have a lower bound of 0.502, surely more than one half.

    Games come in batches, so a trial may end with a few more than asked; all of them count.
    """
    if score.games < config.gate_games:
        return Verdict(False, False, f"{score.games} of {config.gate_games} games against the champion are played.")
    better = score.points / score.games > config.gate_rate
    more = "more than" if better else "not more than"
    return _judged(better, f"{score.points:g} points of {score.games} games, {more} {config.gate_rate:g} a game")


def _by_sprt(config: GateConfig, score: Score) -> Verdict:
    decided = score.games - score.drawn
    won = min(max(score.won, 0.0), decided)
    test = sprt(won, decided - won, null=config.gate_null, alternative=config.gate_rate)
    games = f"{won:g} won, {decided - won:g} lost, {score.drawn:g} drawn"
    ratio = f"log-likelihood ratio {test.ratio:.2f} in [{test.lower:.2f}, {test.upper:.2f}]"
    if test.verdict != "go on":
        better = test.verdict == "accept"
        likely, other = (config.gate_rate, config.gate_null) if better else (config.gate_null, config.gate_rate)
        return _judged(better, f"{games}: a rate of {likely:g} rather than {other:g}")
    if score.games >= LONGEST * config.gate_games:
        return _judged(False, f"{games}: undecided after {score.games} games, {ratio}")
    return Verdict(False, False, f"{games}: {ratio}.")


def _above_floors(
    config: GateConfig, verdict: Verdict, past: Mapping[str, Score], anchors: Mapping[str, Score]
) -> Verdict:
    """A bound decides, so a member with few games never refuses; the one farthest below its floor is named."""
    found = [
        (score.interval().high - floor, f"{score.points:g} points of {score.games} games against {kind} {who}", rule)
        for kind, rule, floor, scores in (
            ("past member", f"gate_floor={config.gate_floor:g}", config.gate_floor, past),
            ("bot", f"gate_anchor_floor={config.gate_anchor_floor:g}", config.gate_anchor_floor, anchors),
        )
        for who, score in scores.items()
    ]
    room, games, rule = min(found, default=(0.0, "", ""))
    return _judged(False, f"{games}, surely below {rule}") if room < 0.0 else verdict


def _judged(better: bool, why: str) -> Verdict:
    return Verdict(better, True, f"{'Promoted' if better else 'Refused'}: {why}.")
