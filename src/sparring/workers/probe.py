"""What an environment is, found by looking at it and by some games of random legal choices. No JAX."""

import re
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError, GameError
from sparring.workers.source import Found, Source
from sparring.workers.spaces import mask_of
from sparring.workers.world import Parts, acts, last_line, number

STEPS, SECONDS = 300, 3.0
"""The longest look, whichever ends first; at least one game is begun."""
LONGEST = 10_000
"""Steps after which a game is cut, where neither the environment nor the user says."""
MOST_INFOS = 16


def look_at(env: Any, source: Source) -> Found:
    parts = check_shape(env, source)
    heads = widest([own.heads for own in parts.writers])
    games = random_games(env, parts)
    rewards = np.asarray(games.rewards).reshape(-1, len(parts.agents))
    zero_sum = bool(rewards.any() and np.abs(rewards.sum(1)).max() < 1e-5)
    equal = bool((rewards == rewards[:, :1]).all())
    side_of_agent = sides_of(source.sides, parts.agents, equal=equal, zero_sum=zero_sum)
    sides = max(side_of_agent) + 1
    if sides == 1:
        zero_sum = False
    score = source.score if source.score != "auto" else "outcome" if zero_sum else "return"
    spaces = [(str(env.observation_space(a)), str(env.action_space(a))) for a in env.possible_agents]
    return Found(
        agents=tuple(parts.agents),
        side_of_agent=side_of_agent,
        heads=heads,
        dimensions=max(own.dimensions for own in parts.writers),
        features=max(own.size for own in parts.readers),
        alike=alike(side_of_agent, spaces) if source.positions == "random" else "none",
        in_turn=games.in_turn,
        zero_sum=zero_sum,
        score=score,  # pyright: ignore[reportArgumentType]
        longest=source.longest or (0 if games.in_turn else limit_of(env)) or LONGEST,  # in turns, one counts cycles
        infos=infos_of(source, games),
        stake=stake_of(np.asarray(games.returns).reshape(-1, len(parts.agents)), side_of_agent),
    )


def stake_of(return_GN: np.ndarray, side_of_agent: tuple[int, ...]) -> float:
    """What is usually won or lost in a game (`GameSpec.stake`), from what agents earned in games that ended; 0 where
    none did."""
    return_G = return_GN[:, np.asarray(side_of_agent) == 0].mean(1)
    decided = return_G[return_G != 0.0]
    return float(np.sqrt(np.mean(decided**2))) if len(decided) else 0.0


def infos_of(source: Source, games: "RandomGames") -> tuple[str, ...]:
    """Which numbers of the infos are recorded: those that were asked for, then others that the games showed."""
    asked = [word.strip() for word in source.infos.split(",") if word.strip()]
    if len(asked) > MOST_INFOS:
        raise ConfigError(f"infos names {len(asked)} numbers, at most {MOST_INFOS} are recorded: leave some out.")
    for name in asked:
        if name in games.words and name not in games.infos:
            raise ConfigError(
                f"infos={name}: this field of the infos held {games.words[name]!r}, expected one number. Name a field "
                "that holds a number, or make one in step()."
            )
    return tuple(dict.fromkeys([*asked, *sorted(games.infos)]))[:MOST_INFOS]


def check_shape(env: Any, source: Source) -> Parts:
    """Readers and writers, or what the environment lacks."""
    for name in ("possible_agents", "observation_space", "action_space", "reset", "step"):
        if not hasattr(env, name):
            raise GameError(f"{source} has no {name}: it is not an environment of the kind {source.kind}.")
    if not env.possible_agents:
        raise GameError(f"{source} has no agents: fill possible_agents before reset().")
    return Parts(env)


def widest(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Heads that hold those of every agent."""
    count = max(map(len, rows))
    return tuple(max(row[head] for row in rows if len(row) > head) for head in range(count))


class RandomGames:
    def __init__(self) -> None:
        self.rewards: list[list[float]] = []
        self.returns: list[np.ndarray] = []
        """Of the games that ended."""
        self.infos: set[str] = set()
        """Fields of the infos that are numbers; and one value of each field that is none."""
        self.words: dict[str, Any] = {}
        self.in_turn = False


def random_games(env: Any, parts: Parts) -> RandomGames:
    """What games of random legal choices paid and told."""
    found, random, until = RandomGames(), np.random.default_rng(0), time.monotonic() + SECONDS
    seen, infos = env.reset(seed=0)
    found.in_turn, begun = len(parts.agents) > 1, 0
    for played in range(STEPS):
        if time.monotonic() > until:
            break
        found.in_turn = found.in_turn and sum(acts(agent, infos.get(agent, {})) for agent in env.agents) == 1
        actions = {a: random_action(env, parts, a, seen.get(a), infos.get(a, {}), random) for a in env.agents}
        try:
            seen, rewards, _, _, infos = env.step(actions)
        except Exception as error:
            raise GameError(
                f"In step {played + 1} of a first look by random choices step() raised {type(error).__name__}: {error} "
                f"(after {last_line(error)}). Correct the environment."
            ) from error
        found.rewards.append([float(rewards.get(agent, 0.0)) for agent in env.possible_agents])
        fields = [pair for info in infos.values() for pair in info.items()]
        found.infos |= {name for name, value in fields if number(value) is not None}
        found.words |= {name: value for name, value in fields if number(value) is None}
        if not env.agents:
            found.returns.append(np.sum(found.rewards[begun:], axis=0))
            begun = len(found.rewards)
            seen, infos = env.reset(seed=played + 1)
    return found


def random_action(env: Any, parts: Parts, agent: Any, seen: Any, info: Any, random: np.random.Generator) -> Any:
    own = parts.writers[parts.names[agent]]
    mask, choice, at = mask_of(seen, info), [], 0
    for size in own.heads:
        legal = np.arange(size) if mask is None else np.flatnonzero(mask[at : at + size])
        choice.append(random.choice(legal) if len(legal) else 0)
        at += size
    del env
    return own.write(np.asarray(choice, np.int32), random.uniform(-1, 1, own.dimensions))


def sides_of(word: str, agents: Sequence[str], *, equal: bool, zero_sum: bool) -> tuple[int, ...]:
    """Which side each agent belongs to: as said, or by what names and rewards show.

    By itself: agents of different names ("adversary_0", "agent_0") are sides by name. Where all have one name, they are
    a team if they are always paid alike, and else opponents if they are called players or their rewards cancel out.
    """
    stems = [re.sub(r"[_ -]?\d+$", "", agent) or agent for agent in agents]
    by_name = tuple(list(dict.fromkeys(stems)).index(stem) for stem in stems)
    each = tuple(range(len(agents)))
    if word == "each":
        return each
    if word == "all":
        return (0,) * len(agents)
    if word == "names":
        return by_name
    if word == "auto":
        apart = not equal and (zero_sum or stems[0] == "player")
        return by_name if max(by_name) else each if apart else (0,) * len(agents)
    groups = [[name.strip() for name in group.split("+")] for group in word.split("|")]
    if sorted(name for group in groups for name in group) != sorted(agents):
        raise ConfigError(
            f"sides={word} must name each of {', '.join(agents)} once: sides=auto, each, all, names, or agents joined "
            "by + in sides apart by |, as sides=adversary_0|agent_0+agent_1."
        )
    return tuple(next(k for k, group in enumerate(groups) if agent in group) for agent in agents)


def alike(side_of_agent: tuple[int, ...], spaces: Sequence[Any]) -> Any:
    """Sides whose agents have equal spaces, one by one, can take each other's part."""
    sides = range(max(side_of_agent) + 1)
    teams = [[spaces[i] for i, own in enumerate(side_of_agent) if own == side] for side in sides]
    if len(teams) < 2 or any(team != teams[0] for team in teams):
        return "none"
    return "seats" if len(teams[0]) == 1 else "sides"


def limit_of(env: Any) -> int:
    """Steps after which the environment itself ends a game, where it says; 0 where not."""
    inner = getattr(env, "unwrapped", env)
    spec = getattr(env, "spec", None) or getattr(getattr(env, "env", None), "spec", None)
    for found in (getattr(inner, "max_cycles", None), getattr(inner, "max_steps", None),
                  getattr(spec, "max_episode_steps", None)):  # fmt: skip
        if isinstance(found, int | np.integer) and not isinstance(found, bool) and found > 0:
            return int(found)
    return 0
