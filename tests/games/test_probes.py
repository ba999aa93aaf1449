"""The rules of the probes by hand, and the returns that their descriptions name by scripted play."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Step
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.probes.episodes import CreditState, CueState, LimitState
from sparring.games.probes.riddles import Arm, Lights, Lock, Order, Pair, Target

GAMES = 10_000


@cache
def probe(name: str) -> Game:
    return registry.make(f"probe:{name}")


def array(*numbers: float, kind: Any = jnp.int32) -> jax.Array:
    return jnp.array(numbers[0] if len(numbers) == 1 else numbers, kind)


def step(name: str, state: Any, discrete: tuple[int, ...] = (), continuous: tuple[float, ...] = ()) -> tuple[Any, Step]:
    action = Action(jnp.array([discrete], jnp.int32), jnp.array([continuous], jnp.float32))
    return probe(name).step(state, action, ())


def pays(name: str, state: Any, discrete: tuple[int, ...] = (), continuous: tuple[float, ...] = ()) -> float:
    return step(name, state, discrete, continuous)[1].reward_S.item()


def features(name: str, state: Any) -> list[float]:
    return probe(name).observe(state).features_SF[0].tolist()


def legal(name: str, state: Any) -> list[int]:
    return probe(name).observe(state).legal_SA[0].astype(int).tolist()


def test_the_arm_that_is_shown_pays():
    arm = Arm(array(2))
    assert features("bandit", arm) == [0, 0, 1]
    assert [pays("bandit", arm, (choice,)) for choice in range(3)] == [0, 0, 1]


def test_a_closed_lock_bars_the_dearest_entry_without_showing_it():
    closed, open_ = (Lock(array(1), array(is_open, kind=bool)) for is_open in (False, True))
    assert features("mask", closed) == features("mask", open_) == [0, 1, 0, 0]
    assert (legal("mask", closed), legal("mask", open_)) == ([0, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    assert [pays("mask", closed, (choice,)) for choice in range(5)] == [-1, 0, 1, 0, 0]
    assert [pays("mask", open_, (choice,)) for choice in range(5)] == [4, 0, 1, 0, 0]


def test_both_heads_must_match_their_own_cue():
    pair = Pair(array(2, 1), array(0, 3))
    assert features("heads", pair) == [0, 0, 1, 0, 1, 0, 0]
    assert legal("heads", pair) == [0, 1, 1, 1, 1, 1, 0]
    found = [[pays("heads", pair, (one, two)) for two in range(4)] for one in range(3)]
    assert found == [[-1, -1, -1, -1], [0, 0, 0, -1], [0, 1, 0, -1]]


def test_aiming_pays_one_less_the_mean_distance():
    target = Target(array(0.5, 1.5, kind=float))
    assert features("aim", target) == [0.5, 1.5]
    assert pays("aim", target, continuous=(0.5, 1.0)) == 0.75
    assert pays("aim", target, continuous=(-0.5, 0.5)) == 0.0
    assert (probe("aim").spec.action.low, probe("aim").spec.action.high) == ((-1.0, -1.0), (1.0, 1.0))


def test_each_kind_of_a_hybrid_action_has_its_own_argument():
    wait, aim, pick = (Order(array(kind), array(0.25, kind=float), array(2)) for kind in range(3))
    assert features("hybrid", aim) == [0, 1, 0, 0.25, 0, 0, 1]
    assert [pays("hybrid", wait, (kind, 2), (0.25,)) for kind in range(3)] == [1, 0, 0]
    assert [pays("hybrid", aim, (kind, 2), (0.75,)) for kind in range(3)] == [0, 0.5, 0]
    assert [pays("hybrid", pick, (kind, 2), (0.25,)) for kind in range(3)] == [0, 0, 1]
    assert pays("hybrid", pick, (2, 1), (0.25,)) == 0


@pytest.mark.parametrize("asked", range(3))
def test_parts_that_do_not_count_change_no_payment(asked):
    order, counts = Order(array(asked), array(0.0, kind=float), array(0)), probe("hybrid").spec.action.counts
    for kind in range(3):
        heads, dimensions = (
            {pays("hybrid", order, (kind, c), (0.5,)) for c in range(3)},
            {pays("hybrid", order, (kind, 1), (x,)) for x in (-1.0, 0.0, 0.5)},
        )
        assert (len(heads) == 1, len(dimensions) == 1) == tuple(not c or kind != asked for c in counts[kind])


def test_the_board_shows_the_lit_cell_in_the_first_plane_and_a_decoy_in_the_second():
    lights = Lights(array(1, 4), array(3, 0))
    board = np.array(features("grid", lights)).reshape(probe("grid").spec.layout[0].shape)
    assert np.argwhere(board).tolist() == [[1, 4, 0], [3, 0, 1]]
    choices = ((1, 4), (1, 0), (0, 4), (3, 0))
    assert [pays("grid", lights, choice) for choice in choices] == [1, 0.5, 0.5, 0]


def test_banned_entries_and_decoys_are_never_the_right_ones():
    keys = jax.random.split(jax.random.key(1), 500)
    pair, lights = jax.vmap(Pair.draw)(keys), jax.vmap(Lights.draw)(keys)
    for one, other, sizes in ((*pair, (3, 4)), (*lights, (4, 5))):
        assert (one != other).all() and (other >= 0).all()
        assert other.max(0).tolist() == one.max(0).tolist() == [size - 1 for size in sizes]


def test_the_cost_of_the_right_choice_comes_at_once_and_its_pay_a_step_later():
    start = CreditState(array(0), array(0))
    for choice, paid in ((0, (0, 0)), (1, (-0.5, 1.5))):
        middle, first = step("credit", start, (choice,))
        assert features("credit", middle) == [0, 1]
        for last_choice in range(2):
            last = step("credit", middle, (last_choice,))[1]
            assert (first.reward_S.item(), last.reward_S.item()) == paid
            assert (first.over, last.over, last.cut) == (False, True, False)


def test_a_cue_is_shown_at_the_first_step_and_asked_for_at_the_last():
    assert [features("memory", CueState(array(1), array(clock))) for clock in range(4)] == [[1], [0], [0], [0]]
    assert features("memory", CueState(array(0), array(0))) == [-1]
    assert [pays("memory", CueState(array(1), array(clock)), (1,)) for clock in range(4)] == [0, 0, 0, 1]
    assert pays("memory", CueState(array(1), array(3)), (0,)) == -1
    with pytest.raises(ConfigError, match="found steps=1: give 2 or more"):
        registry.make("probe:memory", steps=1)


def test_a_time_limit_is_not_seen_and_cuts_without_ending():
    start = LimitState(array(False, kind=bool), array(0))
    stayed, went = step("limit", start, (0,)), step("limit", start, (1,))
    assert features("limit", stayed[0]) == features("limit", start) == [1, 0]
    assert features("limit", went[0]) == [0, 1]
    assert (stayed[1].reward_S.item(), went[1].reward_S.item()) == (pytest.approx(0.4), 0)
    for state, _ in (stayed, went):
        for choice in range(2):
            last = step("limit", state, (choice,))[1]
            assert (last.over, last.cut) == (False, True)
    assert [pays("limit", went[0], (choice,)) for choice in range(2)] == [1, 1]


def test_going_is_best_beyond_the_limit_and_staying_is_best_within_it():
    """The claim of the probe, from its own steps: discounted sums over 2 and over 40 steps of the same place."""

    def worth(choice: int, steps: int) -> float:
        state, total = LimitState(array(False, kind=bool), array(0)), 0.0
        for number in range(steps):
            state, found = step("limit", state, (choice,))
            total += 0.5**number * found.reward_S.item()
        return total

    assert [worth(choice, 2) for choice in range(2)] == pytest.approx([0.6, 0.5])
    assert [worth(choice, 40) for choice in range(2)] == pytest.approx([0.8, 1.0])


class View(NamedTuple):
    """What a script may look at in all worlds at once."""

    first_WF: np.ndarray
    """The features of the first step."""
    now_WF: np.ndarray
    legal_WA: np.ndarray
    luck: np.random.Generator


Script = Callable[[View], tuple[np.ndarray, ...]]
"""The heads of an answer, then its dimensions, each [W]."""


def always(*answer: float) -> Script:
    return lambda view: tuple(np.full(len(view.now_WF), part) for part in answer)


def shown(view: View, start: int = 0, stop: int | None = None) -> np.ndarray:
    """The choice that a one-hot block of features names."""
    return view.now_WF[:, start:stop].argmax(1)


def any_legal(view: View, start: int = 0, stop: int | None = None) -> np.ndarray:
    legal = view.legal_WA[:, start:stop]
    return np.where(legal, view.luck.random(legal.shape), -1.0).argmax(1)


def cell(view: View, plane_W: np.ndarray | int) -> tuple[np.ndarray, ...]:
    """Row and column of the lit cell of a plane."""
    place_WP = view.now_WF.reshape(-1, 20, 2).argmax(1)
    place_W = np.where(plane_W == 0, *place_WP.T)
    return place_W // 5, place_W % 5


SCRIPTS: list[tuple[str, str, float, Script]] = [
    ("bandit", "looks", 1, lambda v: (shown(v),)),
    ("bandit", "is blind", 1 / 3, always(0)),
    ("credit", "pays for later", 1, always(1)),
    ("credit", "avoids the cost", 0, always(0)),
    ("memory", "remembers", 1, lambda v: (v.first_WF[:, 0] > 0,)),
    ("memory", "sees the present alone", 0, lambda v: (v.now_WF[:, 0] > 0,)),
    ("mask", "takes the best that is legal", 1.75, lambda v: (np.where(v.legal_WA[:, 0], 0, shown(v) + 1),)),
    ("mask", "never takes entry 0", 1, lambda v: (shown(v) + 1,)),
    ("mask", "always takes entry 0", 0.25, always(0)),
    ("mask", "takes any but entry 0", 1.1875, lambda v: (np.where(v.legal_WA[:, 0], 0, any_legal(v)),)),
    ("limit", "goes", 1, always(1)),
    ("limit", "stays", 0.8, always(0)),
    ("heads", "matches both", 1, lambda v: (shown(v, 0, 3), shown(v, 3))),
    ("heads", "matches the first", 1 / 3, lambda v: (shown(v, 0, 3), any_legal(v, 3))),
    ("heads", "matches the second", 1 / 2, lambda v: (any_legal(v, 0, 3), shown(v, 3))),
    ("aim", "aims as far as it can", 11 / 12, lambda v: tuple(np.clip(v.now_WF, -1, 1).T)),
    ("aim", "aims at 0", 1 / 4, always(0, 0)),
    ("hybrid", "does as told", 1, lambda v: (shown(v, 0, 3), shown(v, 4), v.now_WF[:, 3])),
    ("hybrid", "knows the kind", 11 / 18, lambda v: (shown(v, 0, 3), *always(0, 0)(v))),
    ("grid", "finds the cell", 1, lambda v: cell(v, 0)),
    ("grid", "takes either cell", 1 / 2, lambda v: cell(v, v.luck.integers(0, 2, GAMES))),
    ("grid", "is blind", 9 / 40, always(0, 0)),
]


@cache
def compiled(name: str) -> tuple[Callable, Callable, Callable]:
    game = probe(name)
    return jax.jit(jax.vmap(game.start)), jax.jit(jax.vmap(game.observe)), jax.jit(jax.vmap(game.step))


@pytest.mark.parametrize(
    ("name", "expected", "script"), [pytest.param(n, e, s, id=f"{n}: {who}") for n, who, e, s in SCRIPTS]
)
def test_the_return_of_a_player_who(name, expected, script):
    start, observe, advance = compiled(name)
    action, luck, total_W = probe(name).spec.action, np.random.default_rng(0), np.zeros(GAMES)
    state = start(jax.random.split(jax.random.key(0), GAMES))
    first_WF = np.asarray(observe(state).features_SF[:, 0])
    for _ in range(probe(name).spec.longest):
        seen = observe(state)
        answer = script(View(first_WF, *(np.asarray(x[:, 0]) for x in (seen.features_SF, seen.legal_SA)), luck))
        parts = np.stack(answer, axis=1)[:, None]
        heads, rest = parts[..., : len(action.heads)], parts[..., len(action.heads) :]
        state, happened = advance(state, Action(jnp.asarray(heads, jnp.int32), jnp.asarray(rest, jnp.float32)), ())
        total_W += np.asarray(happened.reward_S[:, 0])
    assert (happened.over | happened.cut).all()
    assert total_W.mean() == pytest.approx(expected, abs=4 * total_W.std() / GAMES**0.5 + 1e-5)
