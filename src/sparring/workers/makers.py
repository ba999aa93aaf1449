"""Environments by name, all with the interface of PettingZoo's parallel ones: possible_agents, agents, the two spaces,
reset and step. Loaded in workers only; other people's code stays out of the trainer's process. No JAX."""

import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sparring.core.errors import GameError
from sparring.core.names import near_names
from sparring.workers.dictionaries import RllibAgents, SmacAgents
from sparring.workers.source import Source


def make_environment(source: Source) -> Any:
    """The environment, or a GameError that says why there is none."""
    try:
        return MAKERS[source.kind](source.name, dict(source.settings))
    except GameError:
        raise
    except ModuleNotFoundError as error:
        raise GameError(f"{source} needs the module {error.name!r}, {missing(str(error.name))}") from None
    except Exception as error:
        raise GameError(f"{source} could not be made: {type(error).__name__}: {error}. Check its settings.") from error


def missing(module: str) -> str:
    """What to do about a module that is not there: a package to install, or a name that was misspelt."""
    package, _, rest = module.partition(".")
    found = find_spec(package)
    if found is None or not rest:
        return f"which is not here. pip install {package}."
    inside = [one.name for one in pkgutil.iter_modules(found.submodule_search_locations)]
    near = near_names(rest, inside)
    return f"and {package} has none of that name. {f'Did you mean {package}.{near[0]}?' if near else 'Check its name.'}"


def named(name: str, usual: tuple[str, ...]) -> Any:
    """What "module:function" names; of a module alone the first of the usual names that it has."""
    module_name, _, function = name.partition(":")
    module = module_of_file(Path(module_name)) if module_name.endswith(".py") else import_module(module_name)
    for own in (function,) if function else usual:
        if hasattr(module, own):
            return getattr(module, own)
    wanted = function or " nor ".join(usual)
    raise GameError(f"The module {module_name!r} has no {wanted}. Write module:function.")


@cache
def module_of_file(path: Path) -> Any:
    spec = spec_from_file_location(f"sparring_environment_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise GameError(f"There is no file {path}. Check the path.")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.append(str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def pettingzoo_env(name: str, settings: dict[str, Any]) -> Any:
    """A parallel environment, or one that steps agent by agent by PettingZoo's own conversion. A name with a slash is
    that of PettingZoo's registry."""
    import pettingzoo

    if "/" in name and ":" not in name:
        return as_parallel(pettingzoo.make("parallel", name, **settings))  # pyright: ignore[reportAttributeAccessIssue]
    return as_parallel(named(name, ("parallel_env", "env", "raw_env"))(**settings))


def as_parallel(env: Any) -> Any:
    from pettingzoo import AECEnv
    from pettingzoo.utils.conversions import (
        aec_to_parallel,
        aec_to_parallel_wrapper,
        turn_based_aec_to_parallel_wrapper,
    )

    if isinstance(env, aec_to_parallel_wrapper):
        env.aec_env = unchecked(env.aec_env)
    if not isinstance(env, AECEnv):
        return env
    env = unchecked(env)
    if env.metadata.get("is_parallelizable"):
        return aec_to_parallel(env)

    class InTurn(turn_based_aec_to_parallel_wrapper):
        """PettingZoo's conversion, which says from the first moment on whose turn it is."""

        def reset(self, seed: int | None = None, options: dict | None = None) -> Any:
            seen, infos = super().reset(seed, options)
            active = self.aec_env.agent_selection
            return seen, {agent: {**infos.get(agent, {}), "active_agent": active} for agent in self.agents}

    return InTurn(env)


def unchecked(env: Any) -> Any:
    """Without the outer wrappers that only check the order of calls and the range of actions, both of which are right
    here: they take a third of the time of a small environment."""
    from pettingzoo.utils import wrappers

    while type(env) in (wrappers.OrderEnforcingWrapper, wrappers.AssertOutOfBoundsWrapper):
        env = env.env
    return env


def gymnasium_env(name: str, settings: dict[str, Any]) -> Any:
    """One agent that meets the environment alone. An id, or module:function."""
    import gymnasium

    return OneAgent(named(name, ())(**settings) if ":" in name else gymnasium.make(name, **settings))


class OneAgent:
    """A Gymnasium environment in the shape of a parallel one."""

    def __init__(self, env: Any) -> None:
        self.env, self.possible_agents, self.agents = env, ["agent_0"], []
        self.unwrapped = getattr(env, "unwrapped", env)

    def observation_space(self, agent: str) -> Any:
        del agent
        return self.env.observation_space

    def action_space(self, agent: str) -> Any:
        del agent
        return self.env.action_space

    def reset(self, seed: int | None = None) -> tuple[dict, dict]:
        seen, info = self.env.reset(seed=seed)
        self.agents = ["agent_0"]
        return {"agent_0": seen}, {"agent_0": info}

    def step(self, actions: dict[str, Any]) -> tuple[dict, ...]:
        parts = self.env.step(actions["agent_0"])
        self.agents = [] if parts[2] or parts[3] else ["agent_0"]
        return tuple({"agent_0": part} for part in parts)


MAKERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "pettingzoo": pettingzoo_env,
    "gymnasium": gymnasium_env,
    "rllib": lambda name, settings: RllibAgents(named(name, ())(settings)),
    "smac": lambda name, settings: SmacAgents(named(name, ())(**settings)),
}
"""By the word before the first colon of a game's name."""
