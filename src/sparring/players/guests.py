"""Guests: policies of other runs that join the pool. They come as packages: the other run is not needed again.

One whose network is built like the learner's takes a row of the pool. Others form families of their own, one for each
kind of network, with rosters that all seeds share.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sparring.core.errors import ConfigError
from sparring.core.plain import from_plain
from sparring.core.seeding import Seed, name_word
from sparring.evaluation.match import family_of
from sparring.games.game import Game
from sparring.league.player import Player
from sparring.nets.actor_critic import Actor
from sparring.play.roster import stack
from sparring.players.named import Entrant, entrant, save_entrant
from sparring.setup.build import Built
from sparring.setup.config import RunConfig, has_pool
from sparring.setup.line_up import Layout
from sparring.setup.reseat import reseated
from sparring.setup.rows import put
from sparring.store.commands import drop, package_path
from sparring.store.run_dir import RunDir


class Guest(NamedTuple):
    name: str
    number: int
    """Of the command that brought it, and so of the package with its weights."""
    family: str
    row: int
    """Of its family's roster; -1 in the learner's own family, where the row is the pool's."""
    policy: Any

    def saved(self) -> list[Any]:
        """Plain data but for the weights, which are in the package."""
        return [self.name, self.number, self.family, self.row]


def invited(text: str, game: Game, config: RunConfig) -> Entrant:
    """The player that a text names, if it can be a guest of such a run. Anything else is refused with a sentence."""
    if not (config.changing and has_pool(config)):
        raise ConfigError("Guests are met as part of history, and this run keeps no history. Train with --history 0.2.")
    if config.roles.oracles or not game.spec.exchangeable_sides:
        why = "payoffs of a meta-strategy are those of past players" if config.roles.oracles else "sides are not alike"
        raise ConfigError(f"This run takes no guests: its {why}. Meet others in games apart: sparring tournament.")
    guest = entrant(text, game, config.game)
    if guest.meta is None:
        raise ConfigError(f"{text} is a bot of the game. Bots have a share of their own: bots and ladder.")
    if set(guest.sides) != set(range(game.spec.sides)):
        raise ConfigError(f"{text} drives the sides {list(guest.sides)} of {game.spec.sides}. A guest must drive all.")
    return guest


def invite(run: RunDir, guest: Entrant, source: str) -> int:
    """Leave a command that brings a guest, with a copy of its weights; its number."""
    wish = {"do": "add", "name": plain_name(guest.name), "source": source}
    return drop(run, wish, lambda path: save_entrant(guest, path))


def plain_name(text: str) -> str:
    """A name that is also a name of a file, and never that of a past self."""
    name = re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip(".-")[:80] or "guest"
    return f"guest-{name}" if name.startswith("past-") else name


def free_name(wanted: str, known: set[str]) -> str:
    """The wanted name, or the first one with a number that nobody has."""
    numbered = (f"{wanted}-{number}" for number in range(2, len(known) + 3))
    return next(name for name in (wanted, *numbered) if name not in known)


def read_guest(built: Built, run: RunDir, number: int) -> tuple[str, Any]:
    """Family and policy of the guest that came with a command."""
    path = package_path(run, number)
    policy = invited(str(path), built.game, built.config).policy
    own = Actor.make(Seed.of(0), built.game.spec, built.config.net)
    same = family_of(policy) == family_of(own)
    return (built.plan.seating.groups[0].family if same else f"guests_{name_word(family_of(policy)):08x}"), policy


def with_row(built: Built, family: str, policy: Any, row: int) -> Built:
    """The run with a guest in a row of its family's roster; spare rows, so that a second guest changes no shape."""
    size = built.config.pool.pool_size
    if row >= size:
        raise ConfigError(f"All {size} rows for guests of this kind are taken. Remove one.")
    roster = built.rosters.get(family)
    if roster is None:
        roster = stack([policy] * size)
    return replace(built, rosters={**built.rosters, family: put(roster, policy, row)})


def free_roster_row(guests: Mapping[Player, Guest], family: str) -> int:
    held = {guest.row for guest in guests.values() if guest.family == family}
    return next(row for row in range(len(held) + 1) if row not in held)


def as_saved(built: Built, run: RunDir, saved: Mapping[str, Any]) -> tuple[Built, dict[Player, Guest]]:
    """A run in the seating of a checkpoint, and its guests, with the weights of their packages."""
    if saved.get("layout") is None:
        return built, {}
    kinds = from_plain(dict[str, int], saved["kinds"])
    built = reseated(built, Layout(*(tuple(flags) for flags in saved["layout"])), tuple(kinds))
    for family, number in kinds.items():  # also of families that have lost all their guests
        built = with_row(built, family, read_guest(built, run, number)[1], 0)
    guests = {}
    for plain, facts in saved["guests"]:
        name, number, family, row = from_plain(tuple[str, int, str, int], facts)
        guests[from_plain(Player, plain)] = Guest(name, number, family, row, read_guest(built, run, number)[1])
    for guest in guests.values():
        if guest.family in kinds:
            built = with_row(built, guest.family, guest.policy, guest.row)
    return built, guests


def guests_of(config: RunConfig, game: Game) -> list[Entrant]:
    """The guests that a config names."""
    return [invited(text, game, config) for text in config.pool.guests]
