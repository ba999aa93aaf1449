"""Choices and features that name seats: exchanged seats are named anew, and a favour is still found."""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Listing
from sparring.games.contract import check_game
from sparring.games.game import Game, listed_rows, permute_choices, permute_seats
from sparring.games.symmetry import exchanges

STEPS = 3


class BrawlState(NamedTuple):
    health_S: Array
    hit_SR: Array
    """Which foe each seat hit last."""
    played: Array


class Brawl(Game):
    """Choice 0 waits, choice 1 + i hits foe i with one's strength."""

    spec: GameSpec = eqx.field(static=True)
    strength_S: tuple[float, ...] = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> BrawlState:
        seats, foes = self.spec.seats, self.spec.action.entries - 1
        health_S = jax.random.randint(key, (seats,), 1, 6).astype(float)
        return BrawlState(health_S, jnp.zeros((seats, foes)), jnp.zeros((), jnp.int32))

    def lists(self, name: Listing, rows: int) -> np.ndarray:
        """lists_SRS: 1 where a row of a seat's list stands for a seat."""
        lists_SRS = np.zeros((self.spec.seats, rows, self.spec.seats))
        for seat, listed in enumerate(self.spec.listed(name)):
            lists_SRS[seat, range(len(listed)), listed] = 1
        return lists_SRS

    def observe(self, state: BrawlState) -> Observation:
        alive_S, most = state.health_S > 0, state.hit_SR.shape[1]
        foes_SR, friends_SR = (
            self.lists("foes", most) @ state.health_S,
            self.lists("friends", most - 1) @ state.health_S,
        )
        own_SX = jnp.stack([state.health_S, jnp.asarray(self.strength_S)], axis=1)
        features_SF = jnp.concatenate([own_SX, state.hit_SR, friends_SR, foes_SR], axis=1)
        legal_SA = jnp.concatenate([jnp.ones((self.spec.seats, 1), bool), (foes_SR > 0) & alive_S[:, None]], axis=1)
        return Observation(features_SF, legal_SA, alive_S, alive_S)

    def step(self, state: BrawlState, action: Action, chance: Any) -> tuple[BrawlState, Step]:
        del chance
        most = state.hit_SR.shape[1]
        hit_SR = jnp.asarray(action.discrete_SD == np.arange(1, most + 1), float)
        strength_SR = hit_SR * np.array(self.strength_S)[:, None]
        lost_S = jnp.sum(strength_SR[..., None] * self.lists("foes", most), axis=(0, 1))
        after = BrawlState(jnp.maximum(state.health_S - lost_S, 0.0), hit_SR, state.played + 1)
        over = after.played >= STEPS
        left_S = (state.health_S > 0) & (after.health_S == 0)
        lead = jnp.sign(jnp.sum(after.health_S * (1 - 2 * np.array(self.spec.side_of_seat))))
        outcome_K = jnp.stack([lead, -lead]) * over
        return after, Step(strength_SR.sum(1), left_S, over, jnp.zeros((), bool), outcome_K)

    def permute(self, tree: Any, order_S: Array) -> Any:
        new = permute_choices(tree, order_S, self.spec, first=1, lists="foes")
        if isinstance(tree, BrawlState):
            row_SR = listed_rows(self.spec, "foes", order_S, tree.hit_SR.shape[1])
            new = new._replace(hit_SR=jnp.take_along_axis(new.hit_SR, row_SR, axis=1))
        return new


def brawl(
    kind: type[Brawl] = Brawl,
    sides: tuple[int, ...] = (0, 0, 0, 1, 1, 1),
    strength: tuple[float, ...] = (1.0, 1.0, 2.0, 1.0, 1.0, 2.0),
    groups: tuple[tuple[int, ...], ...] = ((0, 1), (3, 4)),
    alike: bool = True,
) -> Brawl:
    most = max(sides.count(0), sides.count(1))
    spec = GameSpec(
        seats=len(sides),
        side_of_seat=sides,
        action=ActionSpec(heads=(1 + most,)),
        layout=(
            Feature("own", (1,)),
            Feature("strength", (1,)),
            Feature("hit", (most,), lists="foes"),
            Feature("friends", (most - 1, 1), lists="friends"),
            Feature("foes", (most, 1), lists="foes"),
        ),
        central=Central("seat", len(sides) * (1 + most + 2 * most)),
        longest=STEPS,
        shortest=STEPS,
        exchangeable=groups,
        sides_alike=alike,
    )
    return kind(spec, strength)


def refused(game: Game, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        check_game(game, worlds=4, games=2, eager=False)


def test_a_game_whose_choices_name_foes_keeps_the_contract_if_it_says_how() -> None:
    check_game(brawl(), worlds=4, games=2)


def test_sides_of_unlike_sizes_have_padded_lists() -> None:
    sides = {"sides": (0, 0, 0, 1, 1), "strength": (1.0, 1.0, 1.0, 2.0, 2.0)}
    check_game(brawl(groups=((0, 1, 2), (3, 4)), alike=False, **sides), worlds=4, games=2, eager=False)


class Plain(Brawl):
    def permute(self, tree: Any, order_S: Array) -> Any:
        return permute_seats(tree, order_S)


class HalfNamed(Brawl):
    """Names choices anew, and forgets which of them are legal."""

    def permute(self, tree: Any, order_S: Array) -> Any:
        return permute_seats(tree, order_S) if isinstance(tree, Observation) else Brawl.permute(self, tree, order_S)


class OldChoices(Brawl):
    """Names everything anew but the choices."""

    def permute(self, tree: Any, order_S: Array) -> Any:
        return permute_seats(tree, order_S) if isinstance(tree, Action) else Brawl.permute(self, tree, order_S)


class FirstFoe(Brawl):
    """Whoever hits the first foe earns more for it."""

    def step(self, state: BrawlState, action: Action, chance: Any) -> tuple[BrawlState, Step]:
        after, step = Brawl.step(self, state, action, chance)
        return after, step._replace(reward_S=step.reward_S + (action.discrete_SD[:, 0] == 1))


class Hidden(Brawl):
    """Its first friend is shown as healthy as can be."""

    def observe(self, state: BrawlState) -> Observation:
        seen = Brawl.observe(self, state)
        first = 2 + state.hit_SR.shape[1]
        return seen._replace(features_SF=seen.features_SF.at[:, first].set(9.0))


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (Plain, "Exchangeable seats: .*override permute.. where numbers or choices name seats"),
        (HalfNamed, "Exchangeable seats: .* in seen.legal_SA"),
        (OldChoices, "Exchangeable seats: .* in after.health_S"),
        (FirstFoe, "Exchangeable seats: .* in step.reward_S"),
        (Hidden, "Exchangeable seats: .* in seen.features_SF"),
    ],
)
def test_names_that_stay_and_favours_are_found(kind: type[Brawl], where: str) -> None:
    refused(brawl(kind), where)


def test_sides_that_are_not_alike_are_found() -> None:
    unlike = (1.0, 1.0, 2.0, 1.0, 1.0, 3.0)
    check_game(brawl(strength=unlike, alike=False), worlds=4, games=2, eager=False)
    refused(brawl(strength=unlike), r"treats seats alike \(new seat i is old seat \[3, 4, 5, 0, 1, 2\]")


def test_whole_sides_are_exchanged_seat_by_seat() -> None:
    orders = [order.tolist() for order in exchanges(brawl().spec)]
    assert orders == [[1, 0, 2, 3, 4, 5], [0, 1, 2, 4, 3, 5], [3, 4, 5, 0, 1, 2]]
    three = replace(brawl().spec, side_of_seat=(0, 1, 2, 2, 1, 0), exchangeable=(), layout=())
    # Side 0 is seats 0 and 5, side 1 seats 1 and 4, side 2 seats 2 and 3.
    assert [order.tolist() for order in exchanges(three)] == [[1, 0, 2, 3, 5, 4], [0, 2, 1, 4, 3, 5]]


def test_one_policy_can_drive_sides_that_are_alike() -> None:
    assert brawl().spec.exchangeable_sides and not brawl(alike=False).spec.exchangeable_sides


def test_sides_of_unlike_sizes_are_not_alike() -> None:
    with pytest.raises(ValueError, match=r"sides_alike needs sides of one size, found \[2, 4\] seats"):
        replace(brawl().spec, side_of_seat=(0, 1, 1, 1, 1, 0), layout=())


def test_a_list_must_hold_all_that_it_lists() -> None:
    with pytest.raises(ValueError, match=r"'near' lists up to 2 friends, .* found shape \(1, 4\)"):
        replace(brawl().spec, layout=(Feature("near", (1, 4), lists="friends"),))
    with pytest.raises(ValueError, match=r"'near' lists one of '', 'others', 'friends', 'foes', found True"):
        Feature("near", (1, 4), True)  # type: ignore[arg-type]


def test_seats_are_listed_in_order() -> None:
    spec = replace(brawl().spec, side_of_seat=(0, 1, 1, 0, 1, 1), sides_alike=False, layout=())
    assert spec.listed("others")[2] == (0, 1, 3, 4, 5)
    assert spec.listed("friends")[:2] == ((3,), (2, 4, 5))
    assert spec.listed("foes")[:2] == ((1, 2, 4, 5), (0, 3))
    assert spec.listed("") == ((),) * 6


def test_lists_move_with_the_seats_and_padding_stays() -> None:
    """Sides of seats 0, 1, 2 and of 3, 4; the order exchanges seats 0 and 1, and 3 and 4."""
    spec = brawl(sides=(0, 0, 0, 1, 1), strength=(1.0,) * 5, groups=(), alike=False).spec
    order_S = jnp.array([1, 0, 2, 4, 3])
    foes_SR, others_SR = (np.asarray(listed_rows(spec, name, order_S, 4)) for name in ("foes", "others"))
    assert foes_SR.tolist() == [[1, 0, 2, 3]] * 3 + [[1, 0, 2, 3]] * 2
    # New seat 0 is old seat 1, which lists 0, 2, 3, 4; new seat 0 lists the new 1, 2, 3, 4: the old 0, 2, 4, 3.
    assert others_SR.tolist() == [[0, 1, 3, 2], [0, 1, 3, 2], [1, 0, 3, 2], [1, 0, 2, 3], [1, 0, 2, 3]]


def test_choices_and_legal_entries_are_named_anew_in_their_own_head() -> None:
    """Two heads; in the second one choices 2 and 3 name the foes. Seats 2 and 3, the foes of 0 and 1, are exchanged."""
    spec = replace(
        brawl(sides=(0, 0, 1, 1), strength=(1.0,) * 4, groups=(), alike=False).spec,
        action=ActionSpec(heads=(2, 4)),
    )
    naming = {"spec": spec, "lists": "foes", "first": 2, "head": 1}
    order_S = jnp.array([0, 1, 3, 2])
    action = Action(jnp.array([[0, 2], [1, 3], [0, 1], [1, 2]]), jnp.zeros((4, 0)))
    assert permute_choices(action, order_S, **naming).discrete_SD.tolist() == [[0, 3], [1, 2], [1, 2], [0, 1]]
    legal_SA = jnp.array([[1, 1, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1], [1, 1, 1, 1, 1, 0], [1, 0, 1, 0, 0, 0]], bool)
    seen = Observation(jnp.zeros((4, 1)), legal_SA, jnp.ones(4, bool), jnp.ones(4, bool))
    named_SA = permute_choices(seen, order_S, **naming).legal_SA.astype(int).tolist()
    assert named_SA == [[1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]]
