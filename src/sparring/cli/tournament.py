"""sparring tournament PLAYER PLAYER ...: every pair meets, and the table says who is best, by how much, and surely."""

import json as json_text
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from sparring.cli.flags import parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.notes import note
from sparring.core.errors import ConfigError, RunError
from sparring.ratings.summary import Summary, summarise
from sparring.reports.standings import (
    WIDEST_MATRIX,
    explanation,
    matrix_table,
    standings_csv,
    standings_json,
    standings_picture,
    standings_table,
)
from sparring.store.durable import replace_file

if TYPE_CHECKING:  # the machine is prepared before JAX starts
    from sparring.games.game import Game
    from sparring.ratings.payoff import Payoff
    from sparring.training.entrants import Entrant

Players = Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PLAYER ...")]
PICTURE, TABLE = ".png", ".csv"


@dataclass(frozen=True, kw_only=True)
class Tournament:
    """Let players of one game meet, every pair from both sides, and rank them."""

    players: Players = ()
    """Bots, runs (RUN:PLAYER@ITERATION#SEED), packages (*.safetensors); RUN@all is all that a run has kept."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    game: str = ""
    """The game; only needed where all players are bots."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value; else those of the first run or package."""
    games: int = 32
    """Games of each pair at first, an even number: each start is played from both sides."""
    within: float | None = None
    """Play on until each rate is known to within this, to either side, with 95 % confidence. Usual: 0.05."""
    most_games: int = 1024
    """Most games of a pair."""
    anchor: str = ""
    """The bot whose rating is 0; else random or the first bot, and random joins where there is none."""
    deterministic: bool = False
    """Take the most likely action instead of sampling."""
    seed: int = 0
    """Seed of the games."""
    out: Path | None = None
    """Also write the result to this file: a picture (.png) or a line for each pair (.csv)."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Tournament, words, command="tournament")
    if not 0 <= arguments.seed < 2**31:
        raise ConfigError(f"seed must be from 0 to {2**31 - 1}, found {arguments.seed}.")
    if arguments.out is not None and arguments.out.suffix not in (PICTURE, TABLE):
        raise ConfigError(f"out must end in {PICTURE} or {TABLE}, found {arguments.out.name}.")
    prepare(arguments.machine)
    from sparring.evaluation.tournament import check_game, tournament

    name, game = game_for(arguments)
    check_game(game.spec)
    players = everybody(arguments, game, name)
    anchor = anchor_of(arguments, players)
    for remark in (remark for player in players.values() for remark in player.remarks):
        note(remark)
    payoff = tournament(
        game, {name: player.policy for name, player in players.items()}, games=arguments.games, seed=arguments.seed,
        precision=arguments.within, most_games=arguments.most_games, deterministic=arguments.deterministic,
    )  # fmt: skip
    summary = summarise(payoff, anchor, seed=arguments.seed)
    if arguments.out is not None:
        write(arguments.out, payoff, summary)
    if arguments.json:
        print(json_text.dumps({"game": name, **standings_json(payoff, summary)}))
    else:
        tell(payoff, summary)


def game_for(arguments: Tournament) -> "tuple[str, Game]":
    from sparring.games import registry
    from sparring.training.entrants import game_of, no_player

    found = game_of(arguments.players)
    if found is None and not arguments.game:
        for text in (text for text in arguments.players if "/" in text or Path(text).suffix):
            raise no_player(text)
        raise ConfigError("No run or package is among the players. Name the game of the bots: --game GAME")
    name = arguments.game or found[0]  # pyright: ignore[reportOptionalSubscript]
    options = arguments.options or (found[1] if found is not None and found[0] == name else ())
    return name, registry.make(name, **registry.parse_options(name, options))


def everybody(arguments: Tournament, game: "Game", name: str) -> "dict[str, Entrant]":
    from sparring.play.scripted import RANDOM, bot_names
    from sparring.training.entrants import entrants

    players = entrants(arguments.players, game, name)
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


def tell(payoff: "Payoff", summary: Summary) -> None:
    console = Console()
    console.print(standings_table(payoff, summary))
    if len(payoff.names) <= WIDEST_MATRIX:
        console.print(matrix_table(payoff, summary))
    for line in explanation(payoff, summary):
        print(line)


def write(path: Path, payoff: "Payoff", summary: Summary) -> None:
    data = standings_picture(payoff, summary) if path.suffix == PICTURE else standings_csv(payoff).encode()
    try:
        replace_file(path, data)
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror or error}. Choose another --out.") from error
