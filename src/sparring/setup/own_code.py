"""Which code a run names, what it looked like when the run began, and who lets it be loaded."""

from pathlib import Path

from sparring.core import code
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.interfaces import outside_code
from sparring.games.own_parts import with_bot, with_reward
from sparring.learn.module import weights_of
from sparring.setup.config import RunConfig
from sparring.setup.needs import stored_config
from sparring.setup.own_settings import kinds_said
from sparring.store.packages import SUFFIX, read_package
from sparring.store.run_dir import RunDir


def trust(*sources: str | Path) -> None:
    """Let code run: of a file (race.py), of a module, or all that a run's folder or a player package names."""
    for source in map(Path, sources):
        if source.suffix == SUFFIX:
            code.admit(*named_by_package(source))
        elif source.is_dir():
            code.admit(*named_code(stored_config(RunDir.open(source))))
        else:
            code.admit(str(source))


def named_code(config: RunConfig) -> tuple[str, ...]:
    """Everything in a config that is code: file.py:function or module:function."""
    own = game_code(config.game)
    opponents = config.opponents
    kinds = (config, *kinds_said(config))
    chosen = (opponents.sampler, opponents.late_sampler, opponents.bot_sampler, *(kind.net.body for kind in kinds))
    learned = [text for kind in kinds for text, _ in weights_of(kind.ppo.losses, kind.ppo.modules).values()]
    named = (name for name in chosen if code.reference(name))
    return (*own, *own_rewards(config), *own_bots(config), *dict.fromkeys(named), *dict.fromkeys(learned))


def game_code(name: str) -> tuple[str, ...]:
    """The code that a game is; none where it is ours."""
    outside = outside_code(name)
    return (outside,) if outside else (name,) if registry.is_own(name) else ()


def own_rewards(config: RunConfig) -> tuple[str, ...]:
    return tuple(name for text in config.shaping if code.reference(name := text.partition("=")[0].strip()))


def own_bots(config: RunConfig) -> tuple[str, ...]:
    named = (config.seats.opponent, *config.opponents.ladder)
    return tuple(dict.fromkeys(name for name in named if code.reference(name)))


def with_own_parts(game: Game, config: RunConfig) -> Game:
    """The game with the rewards and bots that a config names by their code. All code is loaded now: what is missing is
    found before anything is made."""
    for text in named_code(config):
        if text != outside_code(config.game):  # that is loaded by workers alone
            code.load(text)
    for text in own_rewards(config):
        game = with_reward(game, code.load(text), name=code.name_in(text), meaning=text)
    for text in own_bots(config):
        game = with_bot(game, code.load(text), name=text)
    return game


def named_by_package(path: Path) -> tuple[str, ...]:
    _, meta = read_package(path)
    own = game_code(meta.game)
    return (*own, *(text for text in (meta.net.get("body"),) if isinstance(text, str) and code.reference(text)))


def code_facts(config: RunConfig) -> dict[str, str | None]:
    """The files and modules that a config names, each with the SHA-256 of its source as it is now."""
    named = dict.fromkeys(named_code(config))
    found = {code.sources([text])[0]: code.digest(text) for text in named}
    if entry := registry.installed().get(config.game):
        code.admit(entry.value)
        found[config.game] = code.digest(entry.value)
    return found


def changed_code(run: RunDir) -> list[str]:
    """What of the code that a run was begun with has changed since; only code that may be loaded is looked at."""
    before = run.read_manifest().get("code", {})
    now = code_facts(stored_config(run))
    return [
        f"{source} is not the code that {run.path} was begun with (its SHA-256 was {str(before[source])[:12]}, is "
        f"{found[:12]})"
        for source, found in now.items()
        if found is not None and source in before and before[source] != found
    ]
