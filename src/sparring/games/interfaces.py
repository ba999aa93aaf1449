"""Interfaces of other people whose environments are games here, by the first word of a name: pettingzoo:mpe2.simple_v3.

Listing and asking load nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from math import isfinite
from typing import Any

from sparring.core import code
from sparring.core.errors import ConfigError

OUTSIDE = {
    "gymnasium": "sparring.games.outside:gymnasium",
    "jaxmarl": "sparring.games.jaxmarl_games:jaxmarl",
    "pettingzoo": "sparring.games.outside:pettingzoo",
    "pgx": "sparring.games.pgx_games:pgx",
    "rllib": "sparring.games.outside:rllib",
    "smac": "sparring.games.outside:smac",
}
"""Environments of other people: the word before the first colon to "module:function". The rest of the name is given to
the function before its options; options that its signature does not name are the environment's own."""
EXAMPLES = {
    "gymnasium": "CartPole-v1",
    "jaxmarl": "MPE_simple_spread_v3",
    "pettingzoo": "mpe2.simple_spread_v3",
    "pgx": "connect_four",
    "rllib": "MODULE:CLASS",
    "smac": "MODULE:CLASS",
}
HARMLESS = ("gymnasium", "mpe2", "pettingzoo", "smac", "smacv2")
"""Packages of environments: whoever installed one lets it run. Other modules must be named by somebody."""


def is_outside(name: str) -> bool:
    """Whether a name is an environment of other people: pettingzoo:MODULE and the like."""
    family, _, rest = name.partition(":")
    return family in OUTSIDE and bool(rest)


def outside_code(name: str) -> str:
    """The code that an environment outside is, as module:function; empty where it is of a package known as harmless, or
    its name is no module at all."""
    family, _, rest = name.partition(":")
    module, _, function = rest.partition(":")
    named = family in ("pettingzoo", "rllib", "smac") or (family == "gymnasium" and bool(function))
    in_registry = "/" in module and not function  # of PettingZoo, by id
    if not named or in_registry or module.partition(".")[0] in HARMLESS:
        return ""
    return f"{module}:{function or 'parallel_env'}"


def loaded(name: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """The function that makes the game, and the rest of the name, with which it is called."""
    own = outside_code(name)
    if own and not code.is_admitted(own):
        module = own.partition(":")[0]
        raise ConfigError(
            f"{name} is code, and code runs only when you name it yourself. If you know it, add --code {module}, or "
            f"--trust where you know all that is named here (in Python: sparring.trust({module!r}))."
        )
    family, _, rest = name.partition(":")
    module, function = OUTSIDE[family].split(":")
    return getattr(import_module(module), function), (rest,)


def guessed(text: str) -> int | float | bool | str:
    """A value whose type nobody says: a number, true or false, or a word."""
    for kind in (int, float):
        with suppress(ValueError):
            value = kind(text)
            return value if isfinite(value) else text
    return {"true": True, "false": False}.get(text.lower(), text)
