"""Flags by which a user lets code be loaded that a run, a package or a file names. See docs/guide/your-game.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from sparring.cli.notes import note
from sparring.core import code as own
from sparring.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class CodeConfig:
    code: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE.py ...", help_behavior_hint="")] = ()
    """Files or modules of code that runs and packages named here may load; they never load any by themselves."""
    trust: bool = False
    """Let them load all the code that they name."""


def admit(config: CodeConfig, *players: str | Path, remark: bool = True) -> None:
    """Let code be loaded as the flags say; `players` are the runs and packages that a command line names, also as
    RUN:PLAYER. Of each run, `remark` where its code has changed."""
    for source in config.code:
        if own.reference(source) is None and not source.endswith(".py") and own.reference(f"{source}:x") is None:
            raise ConfigError(f"code names a file *.py or a module, found {source!r}.")
    own.admit(*config.code)
    from sparring.players.named import folder_of
    from sparring.setup.own_code import changed_code, trust
    from sparring.store.run_dir import RunDir

    own.admit(*(text for text in map(str, players) if own.is_code(text) and not folder_of(text)))
    places = [place for text in map(str, players) if (place := text if Path(text).is_file() else folder_of(text))]
    if config.trust:
        trust(*places)
    runs = [place for place in dict.fromkeys(places) if (Path(place) / "config.toml").is_file()]
    for line in (line for place in runs * remark for line in changed_code(RunDir.open(place))):
        note(f"{line}.")


def words(config: CodeConfig, named: Sequence[str] = ()) -> list[str]:
    """The flags that let another process load the same."""
    found = list(dict.fromkeys((*config.code, *named)))
    return (["--code", *found] if found else []) + ["--trust"] * config.trust
