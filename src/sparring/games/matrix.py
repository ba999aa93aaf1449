"""Matrix games: everyone chooses at once, a table says what each earns; once, or for a number of rounds.

A payoff is an array [S, A_0, ..., A_{S-1}]: entry [s, a_0, a_1, ...] is what seat s earns for that joint choice. Seats
with fewer choices are padded to the largest number, A, and masked. In an iterated game a seat sees the last joint
choice, so a policy has memory 1. Letter R: rows given to a policy.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.balance import AT_ONCE
from sparring.games.game import Bots, Chance, Game, permute_seats

Probabilities = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""(seat, features_RF, legal_RA) -> probability_RA."""

MOST_CHOICES = 500
MOST_ENTRIES = 2**22
"""Payoffs of all combinations of choices."""
MOST_PLAYERS = 16
CERTAIN = 30.0
"""Logit of a scripted choice: anything else happens once in 10^13."""
MOST_PURE = 8
"""Games with more choices have no scripted player for each of them."""


class MatrixRules(NamedTuple):
    payoff: Array
    """[S, A, ..., A], with S axes of choices."""


class MatrixState(NamedTuple):
    last_S: Array
    total_S: Array
    played: Array
    """Rounds since the start, int32."""


class MatrixGame(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: MatrixRules
    choices: tuple[int, ...] = eqx.field(static=True)
    """Number of choices of each seat."""
    roles: tuple[int, ...] = eqx.field(static=True)
    """Seats of one role are exchangeable; roles are numbered in the order of their first seats."""
    scripts: tuple[tuple[str, tuple[float, ...]], ...] = eqx.field(static=True)
    """Name and probabilities of the mixed strategies that are scripted players."""

    def start(self, key: Array) -> MatrixState:
        del key
        seats = self.spec.seats
        return MatrixState(jnp.zeros(seats, jnp.int32), jnp.zeros(seats), jnp.zeros((), jnp.int32))

    def observe(self, state: MatrixState) -> Observation:
        """In an iterated game: own last choice, those of the others, whether there is none yet. Then the own role."""
        seats, width = self.spec.seats, self.spec.action.entries
        started = state.played > 0
        last_SA = ((state.last_S[:, None] == jnp.arange(width)) & started).astype(float)
        role_SR = jnp.array(np.eye(max(self.roles) + 1)[list(self.roles)]) if max(self.roles) > 0 else None
        rows = []
        for s in range(seats):
            row = [last_SA[s], last_SA[:s].reshape(-1), last_SA[s + 1 :].reshape(-1)] if self.spec.longest > 1 else []
            row.append((~started).astype(float)[None])
            rows.append(jnp.concatenate(row if role_SR is None else [*row, role_SR[s]]))
        legal_SA = jnp.array(np.arange(width) < np.array(self.choices)[:, None])
        all_S = jnp.ones(seats, bool)
        return Observation(jnp.stack(rows), legal_SA, all_S, all_S)

    def central(self, state: MatrixState) -> Array:
        """What each seat sees, and the share of rounds that has been played."""
        time_S1 = jnp.broadcast_to(state.played / self.spec.longest, (self.spec.seats, 1))
        return jnp.concatenate([self.observe(state).features_SF, time_S1], axis=1)

    def step(self, state: MatrixState, action: Action, chance: Chance) -> tuple[MatrixState, Step]:
        del chance
        seats, rounds = self.spec.seats, self.spec.longest
        choice_S = action.discrete_SD[:, 0]
        reward_S = self.rules.payoff
        # A masked sum instead of a matrix product: exact on devices that multiply in low precision.
        for s in reversed(range(seats)):
            chosen_A = jnp.arange(self.spec.action.entries) == choice_S[s]
            reward_S = jnp.sum(jnp.where(chosen_A, reward_S, 0.0), axis=-1)
        after = MatrixState(choice_S, state.total_S + reward_S, state.played + 1)
        over = after.played >= rounds
        lead_S = after.total_S - (jnp.sum(after.total_S) - after.total_S) / (seats - 1)
        # Sums of decimal payoffs round: leads below this are draws.
        noise = 1e-5 * rounds * jnp.max(jnp.abs(self.rules.payoff))
        outcome_K = jnp.where(over & (jnp.abs(lead_S) > noise), jnp.sign(lead_S), 0.0)
        never = jnp.zeros((), bool)
        return after, Step(reward_S, jnp.zeros(seats, bool), over, never, outcome_K)

    def permute(self, tree: Any, order_S: Array) -> Any:
        """Rules of reordered seats have their axes of choices reordered too; that changes nothing among equal roles."""
        if not isinstance(tree, MatrixRules):
            return permute_seats(tree, order_S)
        seats, width = self.spec.seats, self.spec.action.entries
        digits = np.indices((width,) * seats).reshape(seats, -1)
        stride_S = jnp.array(width ** np.arange(seats - 1, -1, -1))
        joint = jnp.sum(stride_S[order_S][:, None] * digits, axis=0)
        flat = tree.payoff.reshape(seats, -1)[order_S[:, None], joint]
        return MatrixRules(flat.reshape(tree.payoff.shape))

    def bots(self) -> Bots:
        """Pure strategies where they are few, named ones, tit for tat where there are rounds and two equal seats."""
        width = self.spec.action.entries
        pure = range(width if width <= MOST_PURE else 0)
        rows = [*(np.eye(width)[a].tolist() for a in pure), *(weights for _, weights in self.scripts)]
        names = [*(f"always_{a}" for a in pure), *(name for name, _ in self.scripts)]
        table = [[*np.maximum(np.log(np.maximum(row, 1e-30)), -CERTAIN).tolist(), 0.0] for row in rows]
        if self.spec.longest > 1 and self.spec.seats == 2 and self.choices[0] == self.choices[1]:
            names.append("tit_for_tat")
            table.append([0.0, *[-CERTAIN] * (width - 1), 2 * CERTAIN])
        return Bots(tuple(names), jnp.array(table))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Fixed logits, plus the last parameter on what the others chose last."""
        logits_NA = jnp.broadcast_to(parameters_J[:-1], legal_NA.shape)
        if self.spec.longest > 1:
            width, seats = self.spec.action.entries, self.spec.seats
            others = features_NF[:, width : seats * width].reshape(-1, seats - 1, width)
            logits_NA = logits_NA + parameters_J[-1] * jnp.sum(others, axis=1)
        return logits_NA, jnp.zeros((features_NF.shape[0], 0))


def matrix_game(
    payoff: np.ndarray | Sequence, rounds: int = 1, scripts: tuple[tuple[str, tuple[float, ...]], ...] = ()
) -> MatrixGame:
    """The game of a payoff array [S, A_0, ..., A_{S-1}]. Symmetry and zero sum are read off the array."""
    payoff = np.asarray(payoff, float)
    seats = payoff.ndim - 1
    if seats < 2 or payoff.shape[0] != seats or 0 in payoff.shape or not np.isfinite(payoff).all():
        expected = "a finite array [S, A_0, ..., A_{S-1}] of at least 2 seats"
        raise ConfigError(
            f"A payoff is {expected}, found shape {payoff.shape}: give one axis of choices for each seat."
        )
    if rounds < 1:
        raise ConfigError(f"A matrix game lasts at least 1 round, found rounds={rounds}.")
    roles = _roles(payoff)
    zero_sum = bool(np.allclose(payoff.sum(axis=0), 0.0, atol=1e-9))
    prizes = np.abs(payoff[payoff != 0])
    # Where prizes differ, who wins more games may well lose: what is earned counts.
    by_wins = zero_sum and (not prizes.size or np.allclose(prizes, prizes[0]))
    layout = _layout(seats, max(payoff.shape[1:]), rounds, max(roles) + 1)
    groups = [tuple(s for s in range(seats) if roles[s] == role) for role in range(max(roles) + 1)]
    spec = GameSpec(
        seats=seats,
        side_of_seat=tuple(range(seats)),
        action=ActionSpec(heads=(max(payoff.shape[1:]),)),
        layout=layout,
        central=Central("seat", sum(block.size for block in layout) + 1),
        longest=rounds,
        shortest=rounds,
        exchangeable=tuple(group for group in groups if len(group) > 1),
        zero_sum=zero_sum,
        score="outcome" if by_wins else "return",
        stake=_stake(payoff, rounds) if zero_sum and not by_wins else 0.0,
        suits=AT_ONCE if zero_sum and seats == 2 else (),
    )
    width = spec.action.entries
    padded = np.pad(payoff, [(0, 0), *((0, width - size) for size in payoff.shape[1:])])
    return MatrixGame(spec, MatrixRules(jnp.asarray(padded, float)), payoff.shape[1:], roles, scripts)


def _stake(payoff: np.ndarray, rounds: int) -> float:
    """The root mean square of what random play wins or loses in a game, draws of a single round left out."""
    spread_S, mean_S = payoff.var(axis=tuple(range(1, payoff.ndim))), payoff.mean(axis=tuple(range(1, payoff.ndim)))
    square = float(np.mean(rounds * spread_S + (rounds * mean_S) ** 2))
    return float(np.sqrt(square / (np.mean(payoff != 0) if rounds == 1 else 1.0)))


def _layout(seats: int, width: int, rounds: int, roles: int) -> tuple[Feature, ...]:
    memory = (Feature("own_last", (width,)), Feature("others_last", (seats - 1, width), lists="others"))
    role = (Feature("role", (roles,)),) if roles > 1 else ()
    return (*(memory if rounds > 1 else ()), Feature("start", (1,)), *role)


def _roles(payoff: np.ndarray) -> tuple[int, ...]:
    """Seats share a role where exchanging them leaves the table as it is, which is an equivalence."""
    firsts: list[int] = []
    roles = []
    for seat in range(payoff.shape[0]):
        equals = [role for role, first in enumerate(firsts) if _exchangeable(payoff, first, seat)]
        if not equals:
            equals = [len(firsts)]
            firsts.append(seat)
        roles.append(equals[0])
    return tuple(roles)


def _exchangeable(payoff: np.ndarray, one: int, two: int) -> bool:
    order = np.arange(payoff.shape[0])
    order[[one, two]] = two, one
    exchanged = np.swapaxes(payoff[order], one + 1, two + 1)
    return exchanged.shape == payoff.shape and np.allclose(exchanged, payoff)


def best_response_values(payoff: np.ndarray, strategies: Sequence[np.ndarray]) -> np.ndarray:
    """What each seat earns, at best, against the others' mixed strategies. Returns value_S."""
    return np.array([_own_values(payoff[s], strategies, s).max() for s in range(payoff.shape[0])])


def exploitability(payoff: np.ndarray, strategies: Sequence[np.ndarray]) -> float:
    """NashConv / S: the mean over seats of (best response value - present value). 0 exactly at Nash equilibria.

    `strategies[s]` is the mixed strategy of seat s, of length A_s.
    """
    present_S = [_own_values(payoff[s], strategies, s) @ np.asarray(strategies[s]) for s in range(payoff.shape[0])]
    return float(np.mean(best_response_values(payoff, strategies) - np.array(present_S)))


def iterated_exploitability(payoff: np.ndarray, strategies: Sequence[np.ndarray], rounds: int) -> float:
    """NashConv / S of the game of `rounds` rounds, in units of its whole return."""
    return float(np.mean(iterated_gains(payoff, strategies, rounds)))


def iterated_gains(payoff: np.ndarray, strategies: Sequence[np.ndarray], rounds: int) -> np.ndarray:
    """gain_S: what each seat could gain by the best response, the others staying as they are.

    `strategies[s]` is [1 + A_0 * ... * A_{S-1}, A_s]: row 0 is played first, row 1 + j after joint choice j, counted
    with the last seat fastest. The others remember one round, so backward induction over (round, last joint choice)
    finds the best response among all strategies, however long their memory.
    """
    shape = payoff.shape[1:]
    gaps = []
    for s in range(payoff.shape[0]):
        best, present = np.zeros(1 + np.prod(shape)), np.zeros(1 + np.prod(shape))
        for _ in range(rounds):
            best = _own_values(payoff[s] + best[1:].reshape(shape), strategies, s).max(axis=-1)
            now = _own_values(payoff[s] + present[1:].reshape(shape), strategies, s)
            present = np.sum(now * strategies[s], axis=-1)
        gaps.append(best[0] - present[0])
    return np.array(gaps)


def _own_values(value: np.ndarray, strategies: Sequence[np.ndarray], seat: int) -> np.ndarray:
    """Expected `value` of each choice of a seat, for every row of the strategies where they have rows."""
    seats = value.ndim
    operands: list = [value, list(range(seats))]
    for other in range(seats):
        if other != seat:
            strategy = np.asarray(strategies[other])
            operands += [strategy, [seats, other] if strategy.ndim == 2 else [other]]
    rows = np.asarray(strategies[seat]).ndim == 2
    return np.einsum(*operands, [seats, seat] if rows else [seat])


def policy_exploitability(game: MatrixGame, probabilities: Probabilities) -> float:
    """NashConv / S of a policy, exact."""
    return float(np.mean(policy_gains(game, probabilities)))


def largest_exploitability(game: MatrixGame) -> float:
    """What NashConv / S cannot exceed: each round, the most that each seat can earn less the least that all do."""
    payoff = np.asarray(game.rules.payoff, float)[(slice(None), *map(slice, game.choices))]
    earned_SR = payoff.reshape(game.spec.seats, -1)
    return game.spec.longest * float(earned_SR.max(axis=1).mean() - earned_SR.mean(axis=0).min())


def policy_gains(game: MatrixGame, probabilities: Probabilities) -> np.ndarray:
    """gain_S of a policy, exact: it is asked once for every situation of each seat."""
    joint = list(np.ndindex(*game.choices)) if game.spec.longest > 1 else []
    last_RS = np.array([(0,) * game.spec.seats, *joint], np.int32)
    played_R = (np.arange(len(last_RS)) > 0).astype(np.int32)
    seen = jax.vmap(game.observe)(MatrixState(jnp.array(last_RS), jnp.zeros(last_RS.shape), jnp.array(played_R)))
    strategies = []
    for s in range(game.spec.seats):
        given_RA = np.asarray(probabilities(s, np.asarray(seen.features_SF[:, s]), np.asarray(seen.legal_SA[:, s])))
        strategy_RA = given_RA[:, : game.choices[s]].astype(float)
        if not np.allclose(strategy_RA.sum(axis=1), 1.0, atol=1e-3):
            found = strategy_RA.sum(axis=1)
            raise GameError(
                f"Probabilities of legal choices must sum to 1 in each row, found {found}: mask them first."
            )
        strategies.append(strategy_RA)
    payoff = np.asarray(game.rules.payoff, float)[(slice(None), *(slice(size) for size in game.choices))]
    return iterated_gains(payoff, strategies, game.spec.longest)


def mixture_exploitability(game: MatrixGame, members: Sequence[Probabilities], weight_M: np.ndarray) -> float | None:
    """NashConv / S of a player that draws one of these policies before each game, exact; None where there are rounds.

    Over several rounds, who plays shows in all that was chosen: the mixture remembers more than the last round.
    """
    if game.spec.longest > 1:
        return None

    def mixed(seat: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
        probability_MRA = np.stack([np.asarray(member(seat, features_RF, legal_RA)) for member in members])
        return np.tensordot(np.asarray(weight_M, float), probability_MRA.astype(float), axes=1)

    return policy_exploitability(game, mixed)


def _symmetric(own: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    """The payoff array of two equal seats, from what a seat earns by (own choice, choice of the other)."""
    return np.stack([np.asarray(own, float), np.asarray(own, float).T])


def rock_paper_scissors(rounds: int = 1) -> MatrixGame:
    """Rock, paper, scissors: each beats the one before it. The equilibrium mixes all three equally."""
    return matrix_game(_symmetric([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]), rounds)


def biased_rock_paper_scissors(rounds: int = 1) -> MatrixGame:
    """Rock, paper, scissors with unequal prizes: the equilibrium is (1/16, 10/16, 5/16).

    Paper wins 0.5 of rock, rock 1 of scissors, scissors 0.1 of paper. Against the mix (r, p, s) rock earns
    s - 0.5 p, paper 0.5 r - 0.1 s, scissors 0.1 p - r: all zero exactly where p = 2 s = 10 r.
    """
    own = [[0, -0.5, 1], [0.5, 0, -0.1], [-1, 0.1, 0]]
    return matrix_game(_symmetric(own), rounds, (("equilibrium", (1 / 16, 10 / 16, 5 / 16)),))


def five_moves(rounds: int = 1) -> MatrixGame:
    """Rock, paper, scissors with five moves: each beats two of the others. The equilibrium mixes all equally."""
    # On a circle a move beats those one and three places behind it: 1 beats 0 and 3, as paper beats rock and Spock.
    behind = (np.arange(5)[:, None] - np.arange(5)) % 5
    return matrix_game(_symmetric(np.select([behind == 0, behind % 2 == 1], [0, 1], -1)), rounds)


def blotto(soldiers: int = 6, fields: int = 3, rounds: int = 1) -> MatrixGame:
    """Colonel Blotto: divide soldiers among fields at once; more soldiers take a field, more fields win.

    A choice is one of the divisions, in lexicographic order: 28 for 6 soldiers on 3 fields. Borel 1921.
    """
    if soldiers < 1 or fields < 2:
        raise ConfigError(f"blotto needs 1 soldier and 2 fields or more, found {soldiers} and {fields}.")
    # There are as many divisions as soldiers or fields at least, which need no counting where they are too many.
    least = max(soldiers, fields)
    choices = comb(soldiers + fields - 1, fields - 1) if least <= MOST_CHOICES else least
    if choices > MOST_CHOICES:
        raise ConfigError(
            f"blotto with {soldiers} soldiers on {fields} fields has {choices:,} divisions or more, at most "
            f"{MOST_CHOICES} are played. Use fewer of either."
        )
    bars = combinations(range(soldiers + fields - 1), fields - 1)  # between the soldiers of neighbouring fields
    division_AF = np.array([np.diff([-1, *bar, soldiers + fields - 1]) - 1 for bar in bars])
    taken_AA = np.sign(division_AF[:, None] - division_AF[None]).sum(axis=-1)
    spread_A = division_AF.max(axis=1) - division_AF.min(axis=1)
    scripts = (
        ("everywhere", spread_A == spread_A.min()),
        ("one_field", spread_A == soldiers),
        ("anything", np.ones(choices, bool)),
    )
    mixed = tuple((name, tuple((chosen_A / chosen_A.sum()).tolist())) for name, chosen_A in scripts)
    return matrix_game(_symmetric(np.sign(taken_AA)), rounds, mixed)


def prisoners_dilemma(rounds: int = 1) -> MatrixGame:
    """Cooperate (0) or defect (1): defecting always pays more, and both defecting pays both less."""
    return matrix_game(_symmetric([[3, 0], [5, 1]]), rounds)


def stag_hunt(rounds: int = 1) -> MatrixGame:
    """Stag (0) needs both hunters, hare (1) needs nobody: two pure equilibria, the better one risky."""
    return matrix_game(_symmetric([[4, 0], [3, 2]]), rounds)


def chicken(rounds: int = 1) -> MatrixGame:
    """Swerve (0) or dare (1): daring wins against one who swerves, both daring is a disaster.

    Against one who dares with probability d, swerving earns -d and daring 1 - 11 d: equal at d = 1/10.
    """
    return matrix_game(_symmetric([[0, -1], [1, -10]]), rounds, (("equilibrium", (0.9, 0.1)),))


def matching_pennies(rounds: int = 1) -> MatrixGame:
    """Two choices each: seat 0 wins where they match, seat 1 where they differ. The equilibrium is even."""
    match = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return matrix_game(np.stack([match, -match]), rounds)


def coordination(players: int = 2, choices: int = 2, rounds: int = 1) -> MatrixGame:
    """Everyone earns 1 where all choose the same, 0 otherwise."""
    if not 2 <= players <= MOST_PLAYERS or not 1 <= choices <= MOST_ENTRIES:
        raise ConfigError(
            f"coordination needs 2 to {MOST_PLAYERS} players and 1 to {MOST_ENTRIES:,} choices, found {players} and "
            f"{choices}."
        )
    entries = players * choices**players
    if entries > MOST_ENTRIES:
        raise ConfigError(
            f"coordination of {players} with {choices} choices has {entries:,} payoffs ({entries >> 18:,} MiB), at "
            f"most {MOST_ENTRIES:,} are kept. Use fewer of either."
        )
    same = np.zeros((choices,) * players)
    same[(np.arange(choices),) * players] = 1.0
    return matrix_game(np.stack([same] * players), rounds)
