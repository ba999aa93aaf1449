"""Scripted commanders and random play: who wins, and that nobody is favoured."""

from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from field import begun, luck_of
from jax import Array, lax

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.games.registry import make
from sparring.games.skirmish.battle import Battle, Luck

WORLDS, STEPS = 1000, 60


class Ends(NamedTuple):
    outcome_WK: Array
    dead_TWU: Array
    """From the first step on; what follows the end of a battle counts too."""


@partial(eqx.filter_jit, compiler_options={"xla_backend_optimization_level": 3})  # ten thousand battles repay it
def fought_out(game: Game, state: Battle, rows_KJ: Array, random_K: Array, noise_T: Array, luck_T: Luck) -> Ends:
    """All worlds to the end; a side plays by its row of parameters or, where `random_K` says so, at random."""
    seats = game.spec.seats_of_side

    def one(state: Battle, memory: Any, outcome_K: Array, noise_SA: Array, luck: Luck) -> tuple:
        seen = game.observe(state)
        logits, kept = [], []
        for side, own in enumerate(seats):
            rows = slice(own[0], own[-1] + 1)
            turn = game.bot_turn(rows_KJ[side], seen.features_SF[rows], seen.legal_SA[rows], memory[side])
            logits.append(turn[0] * ~random_K[side])
            kept.append(turn[2])
        chance_SA = -jnp.log(-jnp.log(noise_SA))
        choice_S = jnp.argmax(jnp.where(seen.legal_SA, jnp.concatenate(logits) + chance_SA, -jnp.inf), axis=1)
        after, step = game.step(state, Action(choice_S[:, None].astype(jnp.int32), jnp.zeros((len(choice_S), 0))), luck)
        return after, tuple(kept), jnp.where(outcome_K == UNKNOWN, after_end(step), outcome_K)

    def advance(carry: tuple, now: tuple) -> tuple[tuple, Array]:
        carry = jax.vmap(one)(*carry, *now)
        return carry, carry[0].health_U <= 0

    worlds = state.played.shape[0]
    memory = tuple(game.bot_memory(worlds, len(own)) for own in seats)
    begin = (state, memory, jnp.full((worlds, len(seats)), UNKNOWN))
    (_, _, outcome_WK), dead_TWU = lax.scan(advance, begin, (noise_T, luck_T))
    return Ends(outcome_WK, dead_TWU)


UNKNOWN = 9.0


def after_end(step: Any) -> Array:
    return jnp.where(step.over | step.cut, step.outcome_K, UNKNOWN)


@cache
def game_of(opponent: str, name: str) -> Any:
    return make(f"skirmish:{name}", opponent=opponent)


@cache
def battles(opponent: str, bots: tuple[str, ...], seed: int = 0, near: float = 1.0, name: str = "3m") -> Ends:
    """`near` moves the armies towards the middle."""
    game, rng = game_of(opponent, name), np.random.default_rng(seed)
    worlds, steps = (WORLDS, STEPS) if name == "3m" else (100, game.spec.longest)
    table = game.bots()
    rows_KJ = jnp.stack([table.table_PJ[0 if bot == "random" else table.names.index(bot)] for bot in bots])
    random_K = jnp.array([bot == "random" for bot in bots])
    noise_T = rng.uniform(1e-6, 1 - 1e-6, (steps, worlds, game.spec.seats, game.spec.action.entries))
    state = begun(game, worlds, seed)
    state = state._replace(place_XU=state.place_XU * jnp.array([[near], [1.0]]))
    luck = luck_of(game, rng, steps, worlds)
    return jax.tree.map(np.asarray, fought_out(game, state, rows_KJ, random_K, jnp.asarray(noise_T, jnp.float32), luck))


def wins(bot: str) -> float:
    outcome = battles("scripted", (bot,)).outcome_WK[:, 0]
    assert set(outcome) <= {-1, 0, 1}
    return float(np.mean(outcome == 1))


def test_random_play_never_wins_and_neither_does_standing_still() -> None:
    assert wins("random") == 0  # of 1000: below 0.4 % with 98 % confidence
    assert wins("stay") == 0


def test_heuristics_win_some_battles_and_concentrated_fire_wins_more() -> None:
    assert 0.1 < wins("attack_nearest") < 0.4
    assert wins("focus_fire") > 0.9


@pytest.mark.parametrize(("bot", "near"), [("attack_nearest", 1.0), ("random", 0.3)])
def test_neither_side_is_favoured_in_10_000_battles(bot: str, near: float) -> None:
    outcome = np.concatenate([battles("policy", (bot, bot), seed, near).outcome_WK for seed in range(10)])
    np.testing.assert_array_equal(outcome[:, 0], -outcome[:, 1])
    won, lost = (int(np.sum(outcome[:, side] == 1)) for side in (0, 1))
    assert won + lost > 2000
    assert abs(won - lost) < 3.5 * np.sqrt(won + lost)


def test_kiting_is_the_answer_to_zealots_and_standing_is_not() -> None:
    won = {bot: np.mean(battles("scripted", (bot,), name="3s_vs_3z").outcome_WK == 1) for bot in ("kite", "focus_fire")}
    assert won["kite"] > 0.7
    assert won["focus_fire"] < 0.1


def test_better_commanders_win_from_either_side() -> None:
    for bots, side in ((("focus_fire", "attack_nearest"), 0), (("attack_nearest", "focus_fire"), 1)):
        outcome = battles("policy", bots).outcome_WK
        assert np.mean(outcome[:, side] == 1) > 0.7


def first_to_fall(bot: str, seats: tuple[int, int]) -> tuple[int, int]:
    """How often each of two units fell before the other."""
    dead_TW2 = battles("scripted", (bot,)).dead_TWU[:, :, seats]
    step_W2 = np.where(dead_TW2.any(axis=0), dead_TW2.argmax(axis=0), STEPS)
    return int(np.sum(step_W2[:, 0] < step_W2[:, 1])), int(np.sum(step_W2[:, 0] > step_W2[:, 1]))


@pytest.mark.parametrize("seats", [(0, 2), (3, 5)])
@pytest.mark.parametrize("bot", ["attack_nearest", "focus_fire"])
def test_units_at_mirrored_places_fall_equally_often(bot: str, seats: tuple[int, int]) -> None:
    one, two = first_to_fall(bot, seats)
    assert one + two > 300
    assert abs(one - two) < 3.5 * np.sqrt(one + two)


STOP, NORTH, SOUTH, EAST, WEST, ATTACK = range(1, 7)


@cache
def turn_of(name: str) -> Any:
    game: Any = make(f"skirmish:{name}")
    return game, eqx.filter_jit(game.bot_turn)


def choices(name: str, bot: str, rows: Any, *, legal: Any = True, memory: Any = None) -> tuple[list[set], Any]:
    """The likeliest choices of each agent, all that are equally likely, and what the commander remembers."""
    game, turn = turn_of(name)
    table = game.bots()
    rows = np.asarray(rows, np.float32)
    legal_NA = np.broadcast_to(legal, (len(rows), game.spec.action.entries))
    memory = game.bot_memory(len(rows)) if memory is None else memory
    logits, _, memory = turn(table.table_PJ[table.names.index(bot)], rows, legal_NA, memory)
    logits = np.where(legal_NA, logits, -np.inf)
    return [set(np.flatnonzero(row == row.max())) for row in logits], memory


def marine(*enemies: tuple[float, float, float, float]) -> np.ndarray:
    """What a marine of 3m sees: whether it may attack, x, y and health of each enemy; friends are far away."""
    rows = [(can, np.hypot(x, y) / 9, x / 9, y / 9, health) for can, x, y, health in enemies]
    return np.concatenate([np.ones(4), np.ravel([*rows, *[(0,) * 5] * (3 - len(rows))]), np.zeros(10), [1]])


TWO = marine((1, 5, 0, 0.2), (1, 0, 4, 1.0))
"""A weak enemy to the east and a nearer one to the north."""


def test_commanders_strike_the_nearest_the_weakest_or_nobody() -> None:
    assert choices("3m", "attack_nearest", [TWO])[0] == [{ATTACK + 1}]
    assert choices("3m", "focus_fire", [TWO])[0] == [{ATTACK}]
    assert choices("3m", "stay", [TWO])[0] == [{STOP}]


def test_attack_nearest_keeps_its_target_until_it_is_gone() -> None:
    _, memory = choices("3m", "attack_nearest", [TWO])
    nearer = marine((1, 2, 0, 0.2), (1, 0, 4, 1.0))
    assert choices("3m", "attack_nearest", [nearer], memory=memory)[0] == [{ATTACK + 1}]
    assert choices("3m", "attack_nearest", [nearer])[0] == [{ATTACK}]
    assert choices("3m", "attack_nearest", [marine((1, 2, 0, 0.2))], memory=memory)[0] == [{ATTACK}]


def test_chance_decides_between_equals_and_nobody_is_remembered() -> None:
    rows = [marine((1, 0, 4, 1.0), (1, 0, -4, 1.0))]
    chosen, memory = choices("3m", "attack_nearest", rows)
    assert chosen == [{ATTACK, ATTACK + 1}]
    assert memory.target_N.tolist() == [-1]


def test_commanders_walk_to_whom_they_cannot_strike_along_the_longer_way() -> None:
    assert choices("3m", "attack_nearest", [marine((0, 3, -7, 1.0))])[0] == [{SOUTH}]
    assert choices("3m", "attack_nearest", [marine((0, -7, 3, 1.0))])[0] == [{WEST}]
    no_south = np.arange(9) != SOUTH
    assert choices("3m", "attack_nearest", [marine((0, 3, -7, 1.0))], legal=no_south)[0] == [{EAST}]
    assert choices("3m", "attack_nearest", [marine()])[0] == [{EAST}]  # where the enemy's army is


def stalker(*zealots: tuple[float, float]) -> np.ndarray:
    """What a stalker of 3s_vs_3z sees of zealots at x, y; friends are far away."""
    rows = [(float(np.hypot(x, y) <= 6), np.hypot(x, y) / 9, x / 9, y / 9, 1, 1) for x, y in zealots]
    return np.concatenate([np.ones(4), np.ravel([*rows, *[(0,) * 6] * (3 - len(rows))]), np.zeros(12), [1, 1]])


def test_kite_strikes_then_steps_back_from_a_near_enemy_while_its_weapon_recovers() -> None:
    chosen, memory = choices("3s_vs_3z", "kite", [stalker((3, 0))])
    assert chosen == [{ATTACK}]
    assert choices("3s_vs_3z", "kite", [stalker((5.5, 0))], memory=memory)[0] == [{ATTACK}]
    # A stalker's 29.92 loops are three whole steps besides that of the shot.
    for _ in range(3):
        chosen, memory = choices("3s_vs_3z", "kite", [stalker((3, 0))], memory=memory)
        assert chosen == [{WEST}]
    assert choices("3s_vs_3z", "kite", [stalker((3, 0))], memory=memory)[0] == [{ATTACK}]


def test_kite_does_not_stop_for_a_shot_that_costs_a_blow_nor_walk_into_arms() -> None:
    assert choices("3s_vs_3z", "kite", [stalker((0, 2.4))])[0] == [{SOUTH}]
    assert choices("3s_vs_3z", "kite", [stalker((0, 2.6))])[0] == [{ATTACK}]
    assert choices("3s_vs_3z", "kite", [stalker((7, 0))])[0] == [{STOP}]
    assert choices("3s_vs_3z", "kite", [stalker((8, 0))])[0] == [{EAST}]


def test_kite_runs_on_along_a_wall_and_leaves_ways_that_lead_nowhere() -> None:
    no_west = np.arange(9) != WEST
    chosen, memory = choices("3s_vs_3z", "kite", [stalker((2, -0.5))], legal=no_west)
    assert chosen == [{NORTH}]
    assert choices("3s_vs_3z", "kite", [stalker((2, 0.3))], legal=no_west, memory=memory)[0] == [{NORTH}]
    # Legal, but evidently a wall: the zealot has come to blows.
    tried = []
    memory = None
    for _ in range(4):
        chosen, memory = choices("3s_vs_3z", "kite", [stalker((1, 0.5))], memory=memory)
        tried += [min(chosen[0])]
    assert sorted(tried) == [NORTH, SOUTH, EAST, WEST]
    assert tried[0] == WEST


def test_kite_fears_nobody_who_reaches_as_far() -> None:
    near = marine((1, 2, 0, 1.0))
    chosen, memory = choices("3m", "kite", [near])
    assert chosen == choices("3m", "kite", [near], memory=memory)[0] == [{ATTACK}]


def test_focused_fire_agrees_on_one_of_equals() -> None:
    rows = [marine((1, 3, 0, 1.0), (1, 5, 0, 1.0)), marine((1, 5, 0, 1.0), (1, 4, 0, 1.0))]
    # 8 against 9 cells in all: both take the first.
    assert choices("3m", "focus_fire", rows)[0] == [{ATTACK}] * 2
    assert choices("3m", "attack_nearest", rows)[0] == [{ATTACK}, {ATTACK + 1}]


def mmm(seat: int, enemies: list[tuple], friends: list[tuple]) -> np.ndarray:
    """What a seat of MMM sees: (can, x, y, health, kind) of ten enemies and of nine friends; kinds count marauder,
    marine, medivac."""
    rows = [
        np.concatenate([(can, np.hypot(x, y) / 9, x / 9, y / 9, health), np.eye(3)[kind]])
        for can, x, y, health, kind in (*enemies, *[(0, 0, 0, 0, 0)] * (10 - len(enemies)), *friends)
    ]
    missing = 9 - len(friends)
    own = np.eye(3)[0 if seat < 2 else 1 if seat < 9 else 2]
    return np.concatenate([np.ones(4), np.ravel(rows), np.zeros(8 * missing), [1], own])


def test_marauders_leave_medivacs_to_marines_and_medivacs_heal_the_nearest_that_is_hurt() -> None:
    enemies = [(1, 5, 0, 1.0, 0), (1, 2, 0, 1.0, 2)]
    friends = [(1, 1, 0, 1.0, 0), (1, 4, 0, 0.5, 0), (1, 0, 3, 0.9, 1)]
    rows = [mmm(seat, enemies, friends) for seat in range(10)]
    chosen, _ = choices("MMM", "attack_nearest", np.stack(rows))
    assert chosen[:2] == [{ATTACK}] * 2
    assert chosen[2:9] == [{ATTACK + 1}] * 7
    assert chosen[9] == {ATTACK + 2}
    # Out of its reach it goes there; with nobody hurt it keeps to the nearest.
    far = np.arange(16) < ATTACK
    assert choices("MMM", "attack_nearest", np.stack(rows), legal=far)[0][9] == {NORTH}
    whole = [mmm(seat, enemies, [(1, -3, 0, 1.0, 0), (1, 0, 4, 1.0, 1)]) for seat in range(10)]
    assert choices("MMM", "attack_nearest", np.stack(whole))[0][9] == {WEST}
