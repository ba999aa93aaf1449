"""Tournaments: every pair of a set of players meets, each start twice with sides swapped, until the rates are known.

Two players of given architectures meet in one program, whoever they are: it is mapped over a chunk of pairs whose
policies are rows of rosters. Random numbers follow the names of a pair and its round, so the order of players, and who
else is there, changes no game. `cross_play.py` plays the same meetings for what players earn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from heapq import nsmallest
from itertools import combinations
from typing import Any, NamedTuple, TypedDict, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.evaluation.match import family_of, play_out
from sparring.games.game import Game
from sparring.games.outside import each_game_once
from sparring.nets.distributions import Distribution
from sparring.nets.minds import searches, telling
from sparring.play.chance import game_chance, stream
from sparring.play.collect import begin
from sparring.play.mixed import Mixture
from sparring.play.rollout import Driver
from sparring.play.roster import stack, take
from sparring.play.seating import Group, Seating
from sparring.play.starts import fresh_starts
from sparring.play.witness import mind_of
from sparring.ratings.payoff import Payoff
from sparring.statistics.rates import of_starts

WORLDS_AT_ONCE = 4096
BYTES_AT_ONCE = 2**28
"""Of the weights that are gathered for one chunk of pairs."""

Pair = tuple[str, str]


class Tasks(NamedTuple):
    """A chunk of C meetings: rows of the two rosters, and what their random numbers follow from."""

    home_C: Array
    away_C: Array
    pair_C: Array
    """A word of the two names and the seed."""
    round_C: Array


class Met(NamedTuple):
    """What meetings of a pair brought, home first. Letter G: starts, each played from both sides."""

    counts_3: Any
    """Games that home won, drew and lost."""
    starts_5: Any
    """Starts by what home got of their points: nothing, a quarter, half, three quarters, all."""
    return_2G: Any
    """What a seat of home and of away earned, the mean of the two games of a start."""

    def and_then(self, later: "Met") -> "Met":
        returns = np.concatenate([self.return_2G, later.return_2G], axis=1)
        return Met(self.counts_3 + later.counts_3, self.starts_5 + later.starts_5, returns)


NEVER = Met(np.zeros(3, int), np.zeros(5, int), np.zeros((2, 0)))


@dataclass(frozen=True)
class Fixture:
    """All pairs of two families: what one program plays."""

    home: tuple[str, ...]
    """Names in the order of the rows of `home_roster`."""
    away: tuple[str, ...]
    home_roster: Any
    away_roster: Any
    pairs: tuple[Pair, ...]


class Amount(TypedDict, total=False):
    """How much is played; `meetings` has the defaults."""

    games: int
    """Of each pair."""
    seed: int
    precision: float | None
    """Pairs whose 95 % interval is wider than this to either side play on; None: none do."""
    most_games: int
    """Of a pair that plays on."""
    deterministic: bool
    """Players take their most likely action."""


def tournament(game: Game, entrants: Mapping[str, Any], **amount: Unpack[Amount]) -> Payoff:
    """Every pair plays `games` games; with a `precision`, pairs whose 95 % interval is wider than that to either side
    play on, those with the fewest games first, up to `most_games`."""
    pairs = list(combinations(sorted(entrants), 2))
    if not pairs:
        raise ConfigError(f"A tournament needs two players or more, found {len(entrants)}. Name another one.")
    return play_pairs(game, entrants, pairs, **amount)


def play_pairs(game: Game, entrants: Mapping[str, Any], pairs: Sequence[Pair], **amount: Unpack[Amount]) -> Payoff:
    """The games of some pairs of a tournament: the same as they would play in the whole of it, but for how many."""
    check_two_sides(game.spec)
    check_outcomes(game.spec)
    precision = amount.get("precision")
    if precision is not None and not 0 < precision < 0.5:
        raise ConfigError(f"precision must lie between 0 and 0.5, found {precision}: 0.05 is 5 points to either side.")
    payoff = Payoff.empty(tuple(entrants))
    for pair, met in meetings(game, entrants, pairs, half_width, **amount):
        payoff = payoff.with_games(*pair, *map(int, met.counts_3), starts_5=met.starts_5.tolist())
    return payoff


def meetings(
    game: Game,
    entrants: Mapping[str, Any],
    pairs: Sequence[Pair],
    width: Callable[[Met], float],
    *,
    games: int = 32,
    seed: int = 0,
    precision: float | None = None,
    most_games: int = 1024,
    deterministic: bool = False,
) -> Iterator[tuple[Pair, Met]]:
    """What some pairs, home first, did in all their games. `width` says how uncertain a pair is, to either side."""
    check_counts(games, most_games)
    policies = {name: ready(name, policy, game.spec) for name, policy in entrants.items()}
    for fixture in fixtures(policies, pairs):
        tally = dict.fromkeys(fixture.pairs, NEVER)
        size = chunk_size(fixture, games)
        while wanted := due(tally, width, size, games, precision, most_games):
            chunk = tasks(fixture, wanted, size, seed)
            home, away = take(fixture.home_roster, chunk.home_C), take(fixture.away_roster, chunk.away_C)
            rounds = (chunk.pair_C, chunk.round_C)
            with each_game_once(game):
                met = sweep(game, home, away, *rounds, starts=games // 2, deterministic=deterministic)
                met = Met(*(np.asarray(x, int if x.dtype == jnp.int32 else np.float64) for x in met))
            for c, (pair, _) in enumerate(wanted):  # the rest only fills the chunk
                tally[pair] = tally[pair].and_then(Met(*(x[c] for x in met)))
        yield from tally.items()


def due(
    tally: Mapping[Pair, Met],
    width: Callable[[Met], float],
    size: int,
    games: int,
    precision: float | None,
    most_games: int,
) -> list[tuple[Pair, int]]:
    """The next meetings, at most `size`: pairs and the number of their round. First come those who have not met.

    Where fewer pairs than places are open, they play several rounds at once: empty places would cost as much.
    """
    rounds = {pair: int(met.counts_3.sum()) // games for pair, met in tally.items()}
    new = [(pair, 0) for pair, played in rounds.items() if played == 0]
    if new or precision is None:
        return new[:size]
    wide = [pair for pair, met in tally.items() if width(met) > precision]
    open_rounds = ((pair, r) for pair in wide for r in range(rounds[pair], most_games // games))
    return nsmallest(size, open_rounds, key=lambda meeting: (meeting[1], meeting[0]))


def half_width(met: Met) -> float:
    """Of the interval of a rate of winning."""
    return half_width_of(*map(int, met.starts_5))


@cache
def half_width_of(*starts_5: int) -> float:
    interval = of_starts(starts_5)
    return (interval.high - interval.low) / 2


def fixtures(policies: Mapping[str, Any], pairs: Sequence[Pair]) -> Iterator[Fixture]:
    """Pairs sorted by their two families. Who is at home has no influence on the games: the two swap sides."""
    family = {name: family_of(policy) for name, policy in policies.items()}
    members: dict[str, list[str]] = {}
    for name in sorted(policies):
        members.setdefault(family[name], []).append(name)
    sorted_pairs: dict[Pair, list[Pair]] = {}
    for pair in pairs:
        home, away = sorted(pair, key=lambda name: (family[name], name))
        sorted_pairs.setdefault((family[home], family[away]), []).append((home, away))
    rosters = {kind: stack([policies[name] for name in names]) for kind, names in members.items()}
    for (one, two), own in sorted_pairs.items():
        yield Fixture(tuple(members[one]), tuple(members[two]), rosters[one], rosters[two], tuple(sorted(own)))


def tasks(fixture: Fixture, wanted: Sequence[tuple[Pair, int]], size: int, seed: int) -> Tasks:
    """The chunk of these meetings; its shape is always the same, so what is missing repeats the first."""
    filled = [*wanted, *[wanted[0]] * (size - len(wanted))]
    root = Seed.of(seed) / "tournament"
    words = [(root / min(pair) / max(pair)).word() for pair, _ in filled]
    return Tasks(
        jnp.asarray([fixture.home.index(home) for (home, _), _ in filled], jnp.int32),
        jnp.asarray([fixture.away.index(away) for (_, away), _ in filled], jnp.int32),
        jnp.asarray(words, jnp.uint32),
        jnp.asarray([number for _, number in filled], jnp.uint32),
    )


def chunk_size(fixture: Fixture, games: int) -> int:
    """C: pairs that are played at once, a power of two: a pool that grows seldom needs another program."""
    weights = sum(leaf.nbytes // leaf.shape[0] for leaf in jax.tree.leaves((fixture.home_roster, fixture.away_roster)))
    most = min(WORLDS_AT_ONCE // games, BYTES_AT_ONCE // max(weights, 1))
    return 1 << max(0, min((len(fixture.pairs) - 1).bit_length(), most.bit_length() - 1))


@partial(jax.jit, static_argnames=("starts", "deterministic"))
def sweep(game: Game, home: Any, away: Any, pair_C: Array, round_C: Array, *, starts: int, deterministic: bool) -> Met:
    """What C meetings brought, its arrays stacked [C, ...] as the policies are."""
    meet = partial(meeting, game, starts=starts, deterministic=deterministic)
    return jax.vmap(meet)(home, away, pair_C, round_C)


def meeting(game: Game, home: Any, away: Any, pair: Array, number: Array, *, starts: int, deterministic: bool) -> Met:
    """Each of some starts is played twice, by home and away as sides 0 and 1 in block 0 and as 1 and 0 in block 1.

    Chance and the noise of actions belong to start and side, the same in both blocks: a player against its copy gets
    exactly half of the points, and exchanging two players exchanges wins and losses.
    """
    seating = swapped_sides(game.spec, starts)
    key = jax.random.fold_in(jax.random.key(pair), number)
    drivers = [
        Driver(jax.tree.map(lambda x: x[None], policy), None, jnp.zeros(1, jnp.uint32)) for policy in (home, away)
    ]
    cursor = begin(game, seating, drivers, key)
    state = jax.tree.map(lambda x: jnp.concatenate([x, x]), fresh_starts(game, stream(key, "starts"), starts))

    def random(own: Array, steps: int) -> Any:
        chance = game_chance(game, stream(own, "chance"), steps, starts)
        both = jax.tree.map(lambda x: jnp.concatenate([x, x], axis=1), chance)
        noise = ((),) * 2 if deterministic else action_noise(seating, stream(own, "actions"), steps)
        return both, noise, lots(seating, drivers, stream(own, "lots"), steps)

    found = play_out(game, seating, drivers, cursor._replace(state=state), stream(key, "play"), random)
    lead_BW = jnp.sign(found.outcome_BWK[..., 0] - found.outcome_BWK[..., 1])
    # A game that went wrong is nobody's: a draw, so that every pair has all its games and mirrored pairs stay even.
    lead_BW = jnp.where(found.counts_BW, lead_BW, 0.0) * jnp.array([[1.0], [-1.0]])
    counts_3 = jnp.stack([(lead_BW == sign).sum() for sign in (1, 0, -1)])
    starts_5 = jnp.stack([(lead_BW.sum(0) == lead).sum() for lead in (-2, -1, 0, 1, 2)])
    first, second = (found.return_BWS[..., list(seats)].mean(-1) for seats in game.spec.seats_of_side)
    return Met(counts_3, starts_5, jnp.stack([first[0] + second[1], second[0] + first[1]]) / 2)


def swapped_sides(spec: GameSpec, worlds: int) -> Seating:
    home = Group("home", (((0, 0), (1, 1)),), learns=False)
    away = Group("away", (((0, 1), (1, 0)),), learns=False)
    return Seating(spec, spec.seats_of_side, 2, worlds, (home, away))


def action_noise(seating: Seating, key: Array, steps: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """For home and away the uniform and normal numbers [T, 1, 2*W, N, .] of their sides."""
    action, seats = seating.spec.action, seating.seats_in(seating.groups[0])
    shape = (steps, 2, seating.worlds, seats)  # 2 sides
    uniform = jax.random.uniform(stream(key, "uniform"), (*shape, len(action.heads)))
    normal = jax.random.normal(stream(key, "normal"), (*shape, action.dimensions))
    return (lanes(uniform), lanes(normal)), (lanes(uniform[:, ::-1]), lanes(normal[:, ::-1]))


def lots(seating: Seating, drivers: Sequence[Driver], key: Array, steps: int) -> tuple[Array | None, Array | None]:
    """For home and away, where it is a mixture, the numbers [T, 1, 2*W] that choose among its policies, and where it
    looks ahead, those from which a search begins."""
    home, away = (isinstance(driver.policy, Mixture) or searches(driver.policy) for driver in drivers)
    if not (home or away):
        return None, None
    number = jax.random.uniform(key, (steps, 2, seating.worlds))
    return lanes(number) if home else None, lanes(number[:, ::-1]) if away else None


def lanes(numbers: Array) -> Array:
    """What the sides have, [T, 2, W, ...], as lanes of the one that is side 0 in block 0: [T, 1, 2*W, ...]."""
    steps, sides, worlds, *rest = numbers.shape
    return numbers.reshape(steps, 1, sides * worlds, *rest)


def ready(name: str, policy: Any, spec: GameSpec) -> Any:
    """The policy with arrays as leaves, after a look at what it says about one side."""
    try:
        policy = jax.tree.map(jnp.asarray, policy)
    except TypeError:
        raise ConfigError(
            f"The player {name!r} is not a pytree of arrays: {type(policy).__name__}. Make it an equinox.Module, or "
            "register it with jax.tree_util."
        ) from None
    if searches(policy):  # it was made for this game, and asks for the world, which a match shows it
        return policy
    seats = len(spec.seats_of_side[0])
    features_NF = jax.ShapeDtypeStruct((seats, spec.features), jnp.float32)
    legal_NA = jax.ShapeDtypeStruct((seats, spec.action.entries), jnp.bool_)
    expected = "It must be called with (features_NF, legal_NA, memory) and give (Distribution, memory)"
    try:
        said, _ = jax.eval_shape(lambda *seen: policy(*seen, blank_of(policy, seats)), features_NF, legal_NA)
    except Exception as error:  # whatever a player of somebody's own may raise
        raise ConfigError(f"The player {name!r} cannot act for a side of this game. {expected}; {error}") from error
    if not isinstance(said, Distribution) or said.action != spec.action or said.log_p_A.shape != legal_NA.shape:
        raise ConfigError(f"The player {name!r} does not give a Distribution of this game's actions. {expected}.")
    return policy


def blank_of(policy: Any, seats: int) -> Any:
    """The memory with which it begins; what a mind would say with it."""
    mind = mind_of(policy)
    return telling(policy.initial(seats), None if mind is None else jnp.zeros((seats, mind.said)))


def check_two_sides(spec: GameSpec) -> None:
    if spec.sides != 2 or not spec.exchangeable_sides:
        found = "one side" if spec.sides == 1 else f"{spec.sides} sides" if spec.sides > 2 else "unlike sides"
        instead = (
            "`sparring eval RUN` has its bots beside it" if spec.sides == 1 else "Use `sparring eval RUN --against`"
        )
        raise ConfigError(f"A tournament needs a game of two sides that are alike, found {found}. {instead}.")


def check_outcomes(spec: GameSpec) -> None:
    if spec.score != "outcome":
        raise ConfigError(
            "A tournament of points counts wins, draws and losses; this game is judged by returns. "
            "Use `cross_play`, which measures what players earn with each other."
        )


def check_counts(games: int, most_games: int) -> None:
    if games < 2 or games % 2:
        raise ConfigError(f"games must be even and at least 2: each start is played from both sides, found {games}.")
    if most_games < games:
        raise ConfigError(f"most_games must be at least games={games}, found {most_games}.")
