"""sparring pool RUN: list whom the learner meets, add guests and remove members, also while the run trains."""

import json as json_text
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import RunFolder, parse
from sparring.cli.notes import note
from sparring.cli.own_code import CodeConfig, admit
from sparring.cli.shares import tell
from sparring.core.errors import ConfigError, unknown
from sparring.evaluation.exploited import figure_text, newest
from sparring.reports.tables import NAMES, fitted

if TYPE_CHECKING:  # nothing heavy before the flags are read
    from sparring.core.spec import GameSpec
    from sparring.league.league import Member
    from sparring.store.run_dir import RunDir
    from sparring.training.control import LastKnown

EXAMPLES = ("sparring pool runs/first", "sparring pool runs/first --add runs/second")


@dataclass(frozen=True, kw_only=True)
class Pool:
    """List the members of a run's pool, or change it."""

    run: RunFolder
    """Folder of the run."""
    own: CodeConfig = field(default_factory=CodeConfig)
    add: tuple[str, ...] = ()
    """Guests: runs (RUN:PLAYER@ITERATION#SEED), packages (*.safetensors), cards (*.json). Their weights are copied."""
    remove: tuple[str, ...] = ()
    """Names of members that are to leave."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Pool, words, command="pool", examples=EXAMPLES)
    from sparring.store.run_dir import RunDir
    from sparring.training.control import last_known

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run, *arguments.add)
    known = last_known(run)
    if arguments.add or arguments.remove:
        change(arguments, run, known)
    elif arguments.json:
        won = known.opposition.built.game.spec.has_winners
        weak, earned = newest(run.exploits()), returns(run, known)
        members = [
            {
                **plain(seed, member, won=won),
                "return": earned.get((member.player.name, seed)),
                "exploited": weak.get((member.player.name, seed)),
            }
            for seed, member in everybody(known)
        ]
        print(json_text.dumps({"run": str(arguments.run), "iteration": known.iteration, "members": members}))
    else:
        console = Console()
        console.print(fitted(table(run, known), console.width))


def change(arguments: Pool, run: "RunDir", known: "LastKnown") -> None:
    """Leave commands, after all of them have been found sound."""
    from sparring.players.guests import invite, invited
    from sparring.store.commands import drop, is_training
    from sparring.training.control import check_removal

    built, leagues = known.opposition.built, known.opposition.leagues
    names = {player.name for league in leagues for player in league.state.pool.players}
    guests = [invited(text, built.game, built.config) for text in arguments.add]
    for remark in (remark for guest in guests for remark in guest.remarks):
        note(remark)
    for name in arguments.remove:
        if name not in names:
            raise ConfigError(unknown("member of the pool", name, names))
        for league in leagues:
            check_removal(league, name)
    free = min(league.room() for league in leagues) + len(arguments.remove)
    if len(guests) > free:
        raise ConfigError(
            f"The pool of {built.config.pool.pool_size} has room for {free} more, found {len(guests)} guests. "
            "Remove a member: --remove NAME"
        )
    numbers = [drop(run, {"do": "remove", "name": name}) for name in arguments.remove]
    numbers += [invite(run, guest, text) for guest, text in zip(guests, arguments.add, strict=True)]
    facts: dict[str, Any] = {"commands": numbers, "training": is_training(run)}
    tell("Commands " + ", ".join(map(str, numbers)), facts, arguments.json)


def everybody(known: "LastKnown") -> "list[tuple[int, Member]]":
    seeds = map(int, known.opposition.built.seeds_R)
    return [
        (s, member) for s, league in zip(seeds, known.opposition.leagues, strict=True) for member in league.members()
    ]


def plain(seed: int, member: "Member", *, won: bool) -> dict[str, Any]:
    """A rate is null without games, and where games are not `won` or lost; so is then a rating."""
    rated = won and member.games > 0
    low, high = (member.interval.low, member.interval.high) if rated else (None, None)
    return {
        "seed": seed,
        "name": member.player.name,
        "kind": member.player.kind,
        "born": member.player.born,
        "row": member.row,
        "games": member.games,
        "rate": member.rate if rated else None,
        "low": low,
        "high": high,
        "elo": member.rating if won else None,
        "weight": member.weight,
    }


def returns(run: "RunDir", known: "LastKnown") -> dict[tuple[str, int], float]:
    """What the first learner earned in a game against each player, by name and seed: the mean over all of them."""
    from sparring.store.results import read_results

    sums: dict[tuple[str, int], tuple[float, int]] = {}
    learner = known.opposition.built.lineup.names[0]
    for row in read_results(run.results_path, "train") if run.results_path.exists() else ():
        if row.player == learner and not row.weakened and row.iteration < known.iteration:
            total, games = sums.get((row.opponent, row.seed), (0.0, 0))
            sums[row.opponent, row.seed] = total + row.return_sum, games + row.games
    return {key: total / games for key, (total, games) in sums.items() if games}


def judged_by(spec: "GameSpec", *, mixed: bool) -> tuple[list[str], str]:
    """Columns of what games say of a member, and what must be known to read them."""
    counted = "Not counted: games against itself, and those from before its weights were reset."
    last = "weight" if mixed else "Elo"  # an oracle starts over and over, so its rating says nothing
    if spec.score == "outcome":
        return ["rate", "over all games", last], counted
    if not spec.has_winners:
        return ["return"], counted
    said = "This game is judged by return: what the learner earned in a game."
    if not spec.rated_by_return:
        won = f"Rates and Elo count games won, however much was won in them, since the game names no stake. {counted}"
        return ["return", "games won", "over all games", last], f"{said} {won}"
    rated = f"A rate is one half plus the return divided by {2.0 * spec.stake:g}, and Elo follows rates. {counted}"
    return ["return", "rate", "over all games", last], f"{said} {rated}"


def table(run: "RunDir", known: "LastKnown") -> Table:
    several = len(known.opposition.leagues) > 1
    mixed = any(member.weight is not None for _, member in everybody(known))
    built = known.opposition.built
    first, *others = built.lineup.names
    whom = f"{first} has met" if built.config.roles.active else "the learners meet" if others else "the learner meets"
    spec, weak, earned = built.game.spec, newest(run.exploits()), returns(run, known)
    judged, caption = judged_by(spec, mixed=mixed)
    found = Table(caption=caption, caption_justify="left", title=f"Whom {whom}, before iteration {known.iteration}")
    for column in (*["seed"] * several, "name", "kind", "born", "games", *judged, *["exploited"] * bool(weak), "row"):
        # A name is typed elsewhere, so it is shown whole.
        found.add_column(column, justify="left" if column in ("name", "kind") else "right",
                         no_wrap=column == "weight", overflow=NAMES)  # fmt: skip
    for seed, member in everybody(known):
        games = member.games
        weight = "" if member.weight is None else f"{member.weight:z.3f}"
        rates = (
            f"{member.rate:z.2f}" if games else "",
            f"{member.interval.low:z.2f} to {member.interval.high:z.2f}" if games else "",
            weight if mixed else f"{member.rating:z.0f}" if games else "",
        )
        found.add_row(
            *([str(seed)] if several else []),
            member.player.name,
            member.player.kind,
            f"{member.player.born:,}" if member.player.kind in ("past", "guest") else "",
            f"{games:,}",
            *(
                [f"{earned[at]:z.3f}" if (at := (member.player.name, seed)) in earned else ""]
                if "return" in judged
                else []
            ),
            *(rates if spec.has_winners else ()),
            *([figure_text(weak[at]) if (at := (member.player.name, seed)) in weak else ""] if weak else []),
            "" if member.row is None else str(member.row),
        )
    return found
