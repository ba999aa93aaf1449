"""sparring tournament PLAYER PLAYER ...: every pair meets, and the table says who is best, by how much, and surely.

Where a game is judged by returns, it says who earns what with whom instead.
"""

import json as json_text
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro
from rich.console import Console
from rich.table import Table

from sparring.cli.flags import parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError, RunError
from sparring.games import registry
from sparring.opponent_models.config import PlanningConfig
from sparring.ratings.conventions import conventions
from sparring.ratings.summary import summarise
from sparring.reports import cross_play as earnings
from sparring.reports import standings
from sparring.store.durable import replace_file

if TYPE_CHECKING:  # the machine is prepared before JAX starts
    from sparring.games.game import Game
    from sparring.players.named import Entrant

Players = Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...")]
PICTURE, TABLE = ".png", ".csv"
EXAMPLES = ("sparring tournament runs/first runs/second random", "sparring tournament runs/first@all --within 0.05")


@dataclass(frozen=True, kw_only=True)
class Tournament:
    """Let players of one game meet, every pair from both sides, and rank them; or see who earns what with whom."""

    players: Players = ()
    """Bots, runs (RUN:PLAYER@ITERATION#SEED; with +planner behind it, it looks ahead), packages (*.safetensors), cards
    (*.json); RUN@all is all that a run has kept, RUN#all the learners of all its seeds."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    game: str = ""
    """The game; only needed where all players are bots."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value; else those of the first run or package."""
    games: int = 32
    """Games of each pair at first, an even number: each start is played from both sides."""
    within: float | None = None
    """Play on until each rate, or mean return, is known to within this, to either side, with 95 % confidence. Usual for
    rates: 0.05."""
    most_games: int = 1024
    """Most games of a pair."""
    anchor: str = ""
    """The bot whose rating is 0; else random or the first bot, and random joins where there is none."""
    near: float | None = None
    """Where returns are counted: what a player may earn less with another than with itself before the two are of
    different conventions; else a twentieth of the largest return."""
    deterministic: bool = False
    """Take the most likely action instead of sampling."""
    seed: int = 0
    """Seed of the games."""
    out: Path | None = None
    """Also write the result to this file: a picture (.png) or a line for each pair (.csv)."""
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    """For players that look ahead."""
    json: bool = False
    """Print the result as one JSON object."""


class Result(NamedTuple):
    """What was found, in every form."""

    tables: list[Table]
    lines: list[str]
    plain: dict[str, Any]
    picture: Callable[[], bytes]
    csv: Callable[[], str]


def command(words: list[str]) -> None:
    arguments = parse(Tournament, words, command="tournament", examples=EXAMPLES)
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    if arguments.out is not None and arguments.out.suffix not in (PICTURE, TABLE):
        raise ConfigError(f"out must end in {PICTURE} or {TABLE}, found {arguments.out.name}.")
    prepare(arguments.machine)
    from sparring.evaluation.tournament import check_two_sides

    admit(arguments.own, *arguments.players)
    registry.admit(arguments.game)
    name, game = game_for(arguments)
    check_two_sides(game.spec)
    result = (by_points if game.spec.score == "outcome" else by_returns)(arguments, game, name)
    if arguments.out is not None:
        write(arguments.out, result)
    if arguments.json:
        print(json_text.dumps({"game": name, **result.plain}))
        return
    console = Console()
    for table in result.tables:
        console.print(table)
    print("\n".join(result.lines))


def by_points(arguments: Tournament, game: "Game", name: str) -> Result:
    from sparring.evaluation.tournament import tournament

    if arguments.near is not None:
        raise ConfigError(f"near is a difference of returns, and {name} is won or lost. Leave it out.")
    players = everybody(arguments, game, name)
    anchor = anchor_of(arguments, players)
    payoff = tournament(game, policies(players), **how(arguments))
    summary = summarise(payoff, anchor, seed=arguments.seed)
    tables = [standings.standings_table(payoff, summary)]
    if len(payoff.names) <= standings.WIDEST_MATRIX:
        tables.append(standings.matrix_table(payoff, summary))
    return Result(
        tables, standings.explanation(payoff, summary), standings.standings_json(payoff, summary),
        lambda: standings.standings_picture(payoff, summary), lambda: standings.standings_csv(payoff),
    )  # fmt: skip


def by_returns(arguments: Tournament, game: "Game", name: str) -> Result:
    from sparring.evaluation.cross_play import cross_play
    from sparring.players.named import entrants

    if arguments.anchor:
        raise ConfigError(f"anchor is the zero of ratings, and {name} is judged by returns. Leave it out.")
    if arguments.near is not None and not 0 <= arguments.near < float("inf"):
        raise ConfigError(f"near is a difference of returns and not negative, found {arguments.near}.")
    players = entrants(arguments.players, game, name, arguments.planning)
    cross = cross_play(game, policies(players), **how(arguments))
    found = conventions(cross, zero_sum=game.spec.zero_sum, near=arguments.near, seed=arguments.seed)
    tables = [earnings.earnings_table(found)]
    if len(cross.names) <= earnings.WIDEST_MATRIX:
        tables.append(earnings.returns_table(found))
    if found.groups is not None:
        tables.append(earnings.conventions_table(found))
    return Result(
        tables, earnings.explanation(found), earnings.cross_play_json(found),
        lambda: earnings.cross_play_picture(found), lambda: earnings.cross_play_csv(found),
    )  # fmt: skip


def policies(players: "dict[str, Entrant]") -> dict[str, Any]:
    """Those who play; whoever uses them hears what there is to know about them."""
    for remark in (remark for player in players.values() for remark in player.remarks):
        note(remark)
    return {name: player.policy for name, player in players.items()}


def how(arguments: Tournament) -> dict[str, Any]:
    return {
        "games": arguments.games,
        "seed": arguments.seed,
        "precision": arguments.within,
        "most_games": arguments.most_games,
        "deterministic": arguments.deterministic,
    }


def game_for(arguments: Tournament) -> "tuple[str, Game]":
    from sparring.players.named import game_of, no_player

    found = game_of(arguments.players)
    if found is None and not arguments.game:
        for text in (text for text in arguments.players if set("/:@#") & set(text) or Path(text).suffix):
            raise no_player(text)
        raise ConfigError("No run or package is among the players. Name the game of the bots: --game GAME")
    name = arguments.game or found[0]  # pyright: ignore[reportOptionalSubscript]
    options = arguments.options or (found[1] if found is not None and found[0] == name else ())
    return name, registry.configured(name, options)


def everybody(arguments: Tournament, game: "Game", name: str) -> "dict[str, Entrant]":
    from sparring.play.scripted import RANDOM, bot_names
    from sparring.players.named import entrants

    players = entrants(arguments.players, game, name, arguments.planning)
    if arguments.anchor in bot_names(game) and arguments.anchor not in players:
        players |= entrants([arguments.anchor], game, name)
    elif all(player.kind != "bot" for player in players.values()):
        players |= entrants([RANDOM], game, name)
        note("random joins, so that ratings have a zero that stays the same; --anchor names another bot.")
    return players


def anchor_of(arguments: Tournament, players: "dict[str, Entrant]") -> str:
    bots = [name for name, player in players.items() if player.kind == "bot"]
    anchor = arguments.anchor or ("random" if "random" in bots else bots[0])
    if anchor not in players:
        raise ConfigError(f"anchor must be one of the players or a bot, found {anchor!r}: {', '.join(players)}.")
    return anchor


def write(path: Path, result: Result) -> None:
    data = result.picture() if path.suffix == PICTURE else result.csv().encode()
    try:
        replace_file(path, data)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror or error}. Choose another --out.") from error
