"""A run's learners against named players: every side that both can take, sides swapped where they are alike."""

from collections.abc import Mapping
from dataclasses import replace

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.evaluation.match import prepare_match
from sparring.evaluation.scoring import LEARNED, SideScore, merged, score_sides
from sparring.players.named import Entrant
from sparring.setup.build import Built
from sparring.setup.program import TrainState
from sparring.training.own_evaluation import players_of_seed, skeleton_players

Teams = tuple[str, ...]


def against(
    built: Built,
    state: TrainState,
    opponents: Mapping[str, Entrant],
    *,
    games: int,
    seed: int,
    deterministic: bool = False,
) -> list[SideScore]:
    """The learners' scores against each opponent; where sides are alike, both sides together as side 0."""
    spec, sides = built.game.spec, built.plan.seating.seats_of_side
    learner_of = built.lineup.player_of_side()
    game_side = [spec.side_of_seat[seats[0]] for seats in sides]
    teams = [team for name, one in opponents.items() for team in seatings(spec, name, one, built)]
    # A learner and an opponent may have one name; line-ups tell them apart.
    lineups = [
        tuple(learner_of[k] if team[own] == LEARNED else f"against {team[own]}" for k, own in enumerate(game_side))
        for team in teams
    ]
    guests = {f"against {name}": one.policy for name, one in opponents.items()}
    match = prepare_match(
        built.game, lineups, {**skeleton_players(built), **guests}, games=games, seats_of_side=sides,
        deterministic=deterministic,
    )  # fmt: skip
    played = [match({**players_of_seed(built, state, r), **guests}, seed=seed + r) for r in range(built.config.seeds)]
    scores = [score for score in score_sides(spec, teams, played, sides) if score.team == LEARNED]
    if spec.sides == 2 and spec.exchangeable_sides and built.lineup.one_drives_all:
        return [replace(score, side=0) for score in merged(scores)]
    return scores


def seatings(spec: GameSpec, name: str, opponent: Entrant, built: Built) -> list[Teams]:
    """The opponent on one side at a time, the learners on all others."""
    sides = built.plan.seating.seats_of_side
    learned = {spec.side_of_seat[sides[k][0]] for k in built.lineup.player_of_side()}
    everywhere = set(range(spec.sides))
    found = [
        tuple(name if side == own else LEARNED for side in range(spec.sides))
        for own in opponent.sides
        if everywhere - {own} and everywhere - {own} <= learned
    ]
    if spec.sides == 1:
        raise ConfigError(
            f"This game has one side, which plays against the game itself: nobody can meet {name}. `sparring eval RUN` "
            "has the bots in the learner's place; a game of skirmish has two sides with --options opponent=policy."
        )
    if not found:
        raise ConfigError(
            f"{name} can drive the sides {list(opponent.sides)} and the run's learners {sorted(learned)} of "
            f"{spec.sides}: they cannot meet. Name a player for a side that the run has not learned, or another run."
        )
    return found
