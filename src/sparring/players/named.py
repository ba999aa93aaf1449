"""Players by name: a bot, a run's learner at any kept checkpoint, or a package; and packages from learners.

random                      a bot of the game; mine.py:chaser a bot of one's own
runs/a                      the learner of a run, newest weights
runs/a:prey                 one of several learners; runs/a:prey.shadow its shadow, runs/a:past-900 a past self
runs/a:deployed             the newest, its shadow or the mixture: what the run's own figures recommend
runs/a:mixture              what PSRO gives: a past player drawn before each game by its weight
runs/a@100   runs/a#3       as it was after iteration 100; of seed 3. All go together: runs/a:prey@100#3
runs/a+planner              the learner, looking ahead before each choice (of those with minds); it goes last
runs/a@all   runs/a#all     at every kept checkpoint; of every seed
players/old.safetensors     a player package
mine.json                   a network from PyTorch: its card, with the weights beside it (from_torch)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sparring.core import code
from sparring.core.errors import ConfigError, GameError, RunError, unknown
from sparring.core.names import near_names
from sparring.core.seeding import SHAPES
from sparring.core.settings import to_dict
from sparring.core.spec import GameSpec
from sparring.evaluation.scoring import LEARNED, MIXTURE
from sparring.evaluation.scoring import SHADOW as SHADOW_TEAM
from sparring.evaluation.stored import deployed
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.own_parts import with_bot
from sparring.nets.minds import has_mind
from sparring.opponent_models.config import PlanningConfig
from sparring.opponent_models.mind import with_mind
from sparring.play.mixed import Mixture
from sparring.play.scripted import RANDOM, Scripted, bot_names
from sparring.players.ahead import PLANNER, ahead, parted
from sparring.players.checkpointed import (
    PLAYERS,
    SHADOW,
    checkpoint_of,
    learners_of,
    members,
    meta_strategy_of,
    numbered,
    package_of,
    seed_row,
    seeds_of,
    weights_of,
)
from sparring.players.claims import check_claims, filled, net_of
from sparring.players.from_torch import TorchCard, read_card, read_network
from sparring.setup.config import RunConfig
from sparring.setup.line_up import config_of, line_up
from sparring.setup.named_arrays import to_arrays
from sparring.setup.needs import stored_config
from sparring.store.checkpoints import Checkpoint, load
from sparring.store.packages import SUFFIX, PlayerMeta, has_checksum, read_package, write_package
from sparring.store.run_dir import RunDir

ALL, ALL_SEEDS = "@all", "#all"
DEPLOYED = "deployed"
"""In place of a player: the one that a run recommends."""


@dataclass(frozen=True)
class Entrant:
    """A player that is ready to play."""

    name: str
    policy: Any
    kind: Literal["bot", "run", "package"]
    sides: tuple[int, ...]
    """The sides of the game that it can drive."""
    meta: PlayerMeta | None = None
    """What a package of it says; None for bots."""
    remarks: tuple[str, ...] = ()
    """What somebody who uses it should know: newer checkpoints that were damaged."""


@dataclass(frozen=True)
class Source:
    """A text that names a learner, taken apart."""

    place: Path
    player: str = ""
    iteration: int | None = None
    seed: int | None = None

    @property
    def label(self) -> str:
        name = (self.place.name or self.place.resolve().name) + (self.player and f":{self.player}")
        name += "" if self.iteration is None else f"@{self.iteration}"
        return name + ("" if self.seed is None else f"#{self.seed}")


def entrants(
    texts: Sequence[str], game: Game, game_name: str = "", planning: PlanningConfig | None = None
) -> dict[str, Entrant]:
    """The players of these texts by short names, or by the texts themselves where short names would collide."""
    texts = [one for text in texts for one in expanded(text)]
    for text in texts:
        if texts.count(text) > 1:
            raise ConfigError(f"The player {text} is named twice. Leave one out.")
    found = [entrant(text, game, game_name, planning) for text in texts]
    short = [player.name for player in found]
    names = [name if short.count(name) == 1 else text for name, text in zip(short, texts, strict=True)]
    return dict(zip(names, found, strict=True))


def entrant(text: str, game: Game, game_name: str = "", planning: PlanningConfig | None = None) -> Entrant:
    """The player that a text names, for this game; one that was made for another game is refused. `planning`: how those
    look ahead whose names say that they do."""
    bare, looks = parted(text)
    if looks:
        return looking_ahead(entrant(bare, game, game_name), bare, game, planning or PlanningConfig())
    if text in bot_names(game):
        bots = game.bots()
        sides = [k for k in range(game.spec.sides) if text == RANDOM or text in bots.fitting(k)]
        return Entrant(text, Scripted.make(game, text), "bot", tuple(sides))
    if code.is_admitted(text) and not folder_of(text):
        game = with_bot(game, code.load(text), name=text)
        return Entrant(text, Scripted.make(game, text), "bot", tuple(range(game.spec.sides)))
    path = Path(text)
    if path.suffix == SUFFIX or path.is_file():
        if not path.exists():
            raise no_player(text, game)
        return from_file(path, game, game_name)
    return from_run(source_of(text, game), game, game_name)


def game_of(texts: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """Name and options of the game that the first run or package plays; None where all texts are names of bots."""
    for text in (parted(text)[0] for text in texts):
        path = Path(text.removesuffix(ALL))
        if path.is_file():
            card = read_card(path)
            if isinstance(card, TorchCard):
                return card.game, card.options
            arrays, meta = read_package(card)
            check_claims(card, meta, arrays)
            return meta.game, meta.options
        if place := folder_of(text):
            config = stored_config(RunDir.open(place))
            return config.game, config.options
    return None


def expanded(text: str) -> list[str]:
    """RUN@all: each learner at every kept checkpoint, and the packages in the run's folder `players`: past selves.
    RUN#all: the learner of every seed; RUN@all#all: both, the packages once."""
    bare, looks = parted(text)
    if looks:
        return [one + looks for one in expanded(bare)]
    if text.endswith(ALL_SEEDS):
        found = expanded(text.removesuffix(ALL_SEEDS))
        return [one for text in found for one in ([text] if Path(text).is_file() else of_every_seed(text))]
    if not text.endswith(ALL):
        return [text]
    run = RunDir.open(text.removesuffix(ALL))
    kept, own = numbered(run), []
    if kept:
        players = list(learners_of(load(run.checkpoints_path)))
        own = [""] if len(players) == 1 else [f":{player}" for player in players]
    packages = sorted((run.path / PLAYERS).glob(f"*{SUFFIX}"))
    return [f"{run.path}{player}@{number}" for player in own for number in sorted(kept)] + [*map(str, packages)]


def of_every_seed(text: str) -> list[str]:
    place = folder_of(text)
    if not place:
        raise no_player(text)
    return [f"{text}#{seed}" for seed in seeds_of(load(RunDir.open(place).checkpoints_path))]


def folder_of(text: str) -> str:
    """The longest beginning of a text that is a folder, since names of folders may hold the signs : @ and #."""
    text = parted(text)[0]
    ends = [len(text), *(i for i in reversed(range(1, len(text))) if text[i] in ":@#")]
    return next((text[:end] for end in ends if Path(text[:end]).is_dir()), "")


def source_of(text: str, game: Game) -> Source:
    place = folder_of(text)
    if not place:
        raise no_player(text, game)
    parts, sign = {"": ""}, ""
    for letter in text[len(place) :]:
        if letter in ":@#" and letter not in parts:
            sign, parts[letter] = letter, ""
        else:
            parts[sign] += letter
    if not all(parts[sign].isdecimal() for sign in "@#" if sign in parts):
        raise ConfigError(
            f"A learner is written RUN:PLAYER@ITERATION#SEED, found {text!r}. Leave out what is not needed; every "
            "checkpoint is RUN@all, every seed RUN#all."
        )
    number = {sign: int(parts[sign]) for sign in "@#" if sign in parts}
    return Source(Path(place), parts.get(":", ""), number.get("@"), number.get("#"))


def no_player(text: str, game: Game | None = None) -> RunError:
    """The sentence for a name that is nothing, with the nearest that is something."""
    path = Path(text)
    if path.parent == Path():
        bots = () if game is None else bot_names(game)
        known = [*bots, *players_in(Path()), *(f"runs/{n}" for n in players_in(Path("runs")))]
        if known:
            return RunError(unknown("player", text, known))
        return RunError(f"No player {text!r}: expected the folder of a run or a package, such as runs/first.")
    there = players_in(path.parent)
    near = near_names(re.split("[:@#]", path.name)[0], there, cutoff=0.4)
    known = f"In {path.parent} there are: {', '.join(there)}." if there else f"{path.parent} has no runs or packages."
    return RunError(f"No player at {text}. " + (f"Did you mean {path.parent / near[0]}?" if near else known))


def players_in(folder: Path) -> list[str]:
    """Names of the runs and packages in a folder."""
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    return [child.name for child in children if child.suffix == SUFFIX or (child / "manifest.json").is_file()]


def from_run(source: Source, game: Game, game_name: str = "") -> Entrant:
    run = RunDir.open(source.place)
    config = stored_config(run)
    check_same_game(str(run.path), config.game, config.options, game, game_name)
    checkpoint = checkpoint_of(run, source.iteration)
    place, player = seed_row(checkpoint, source.seed), source.player
    if player == DEPLOYED:
        player = {LEARNED: "", SHADOW_TEAM: SHADOW, MIXTURE: MIXTURE}[deployed(run).team]
        if config.roles.mains and game.spec.exchangeable_sides:  # in a league it is the first main that counts
            player = next(iter(learners_of(checkpoint))) + player
    if player == MIXTURE:
        policy = mixture_of(run, checkpoint, place, game.spec, config)
    else:
        player, own = weights_of(checkpoint, player, source.seed, run=source.place)
        config = config_of(game.spec, config, player.removesuffix(SHADOW))
        dressed = partial(with_mind, seed=SHAPES, game=game, config=config.mind)
        policy = filled(game.spec, config.net, own, str(checkpoint.path), dressed=dressed)
    steps = checkpoint.iteration * int(run.read_manifest().get("steps_per_iteration", 0))
    past = members(checkpoint, place).get(player)
    meta = meta_of(game.spec, config, player, steps if past is None else past[0].born, run.path.resolve().name)
    meta = replace(meta, members=len(policy.weight_M) if isinstance(policy, Mixture) else 0)
    return Entrant(source.label, policy, "run", meta.sides, meta, checkpoint.skipped)


def looking_ahead(player: Entrant, text: str, game: Game, planning: PlanningConfig) -> Entrant:
    """The learner that a text names, made to look ahead."""
    if player.kind != "run" or player.meta is None or isinstance(player.policy, Mixture):
        raise ConfigError(f"{player.name} is no learner of a run: only those look ahead. Leave out {PLANNER}.")
    source = source_of(text, game)
    run = RunDir.open(source.place)
    where = checkpoint_of(run, source.iteration), player.meta.player, source.seed
    policy = ahead(player.policy, where, game, stored_config(run), planning)
    return replace(player, name=player.name + PLANNER, policy=policy)


def mixture_of(run: RunDir, checkpoint: Checkpoint, place: int, spec: GameSpec, config: RunConfig) -> Mixture:
    """PSRO's answer as a player: its past players, all of which are packages, by their weights in the meta-strategy."""
    weights = meta_strategy_of(checkpoint, place)
    if not weights:
        found = "its meta-strategy is not known yet" if config.roles.oracles else "only PSRO has one (--self-play psro)"
        raise ConfigError(f"{run.path} has no mixture: {found}. Name a learner instead.")
    seed = None if config.seeds == 1 else seeds_of(checkpoint)[place]
    paths = {package_of(run, name, seed): weight for name, weight in weights.items() if weight > 0.0}
    policies = [filled(spec, config.net, read_package(path)[0], str(path)) for path in paths]
    return Mixture.make(policies, list(paths.values()))


def from_file(path: Path, game: Game, game_name: str = "") -> Entrant:
    card = read_card(path)
    if not isinstance(card, TorchCard):
        return from_package(card, game, game_name)
    check_same_game(str(path), card.game, card.options, game, game_name)
    return entrant_of(path, *read_network(path, card, game.spec), game.spec)


def from_package(path: Path, game: Game, game_name: str = "") -> Entrant:
    arrays, meta = read_package(path)
    check_claims(path, meta, arrays)
    check_same_game(str(path), meta.game, meta.options, game, game_name)
    run = f"{path.absolute().parent.parent.name}:" if path.absolute().parent.name == PLAYERS else ""
    old = () if has_checksum(path) else (f"{path} is of an early format without a checksum: damage would not be seen.",)
    return replace(entrant_of(path, arrays, meta, game.spec), name=run + path.stem, remarks=old)


def entrant_of(path: Path, arrays: Mapping[str, np.ndarray], meta: PlayerMeta, spec: GameSpec) -> Entrant:
    """A player as a file has it, for a game that it was found to fit."""
    sides = meta.sides or tuple(range(spec.sides))
    if not set(sides) <= set(range(spec.sides)):
        raise RunError(f"{path} says it drives the sides {list(sides)} of {spec.sides}. Get another copy.")
    policy = filled(spec, net_of(path, meta), arrays, str(path), meta.members)
    return Entrant(path.stem, policy, "package", sides, meta)


def save_entrant(player: Entrant, path: str | Path) -> Path:
    """A package of a player that was found by its name, such as RUN:PLAYER@ITERATION."""
    if player.meta is None:
        raise ConfigError(f"{player.name} is a bot, which is code and needs no package. Name a learner.")
    if has_mind(player.policy):  # of planners too
        raise ConfigError(
            f"{player.name} has a mind, and a package holds a network alone. Name it by its run, as RUN:PLAYER."
        )
    return write_package(path, to_arrays(player.policy), player.meta)


def check_same_game(source: str, name: str, options: tuple[str, ...], game: Game, game_name: str) -> None:
    """Refuse a player of another game: by its name, then by what it sees and does."""
    if game_name and code.label(name) != code.label(game_name):
        raise ConfigError(f"{source} plays {name}, not {game_name}. Choose players of one game.")
    if game.spec.outside or (name not in registry.available() and not code.is_admitted(name)):
        return
    try:
        theirs = registry.configured(name, options).spec
    except (ConfigError, GameError) as error:
        raise RunError(f"{source} was made for a game that there is not: {error}") from None
    for what, own, found in (
        ("features", game.spec.features, theirs.features),
        ("action heads", game.spec.action.heads, theirs.action.heads),
        ("continuous dimensions", game.spec.action.dimensions, theirs.action.dimensions),
        ("sides", game.spec.sides, theirs.sides),
    ):
        if own != found:
            raise ConfigError(
                f"{source} was made for {name} with {what} {found}, and this game has {own}. "
                "Choose players of one game with the same options."
            )


def meta_of(spec: GameSpec, config: RunConfig, player: str, steps: int, run: str) -> PlayerMeta:
    """What a package of a run's learner, shadow or past self says of it."""
    return PlayerMeta(
        game=config.game, options=config.options, net=to_dict(config.net), player=player,
        sides=sides_of(spec, config, player), steps=steps, run=run,
    )  # fmt: skip


def sides_of(spec: GameSpec, config: RunConfig, player: str) -> tuple[int, ...]:
    """The sides of the game that a learner, its shadow or a past self of it can drive."""
    if spec.exchangeable_sides:
        return tuple(range(spec.sides))
    lineup, owner = line_up(spec, config), re.sub(r"^past-\d+-", "", player.removesuffix(SHADOW))
    driven = lineup.seating.seats_of_side
    return tuple(sorted({spec.side_of_seat[driven[k][0]] for k, n in lineup.player_of_side().items() if n == owner}))
