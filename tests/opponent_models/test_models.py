"""Models of the others and of the world on made-up data with known answers."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.opponent_models import omg, segments, world
from sparring.opponent_models.omg import Gaussian, Passage, Subgoals
from sparring.opponent_models.segments import Codes
from sparring.opponent_models.spatial import Pointer, Track, recent
from sparring.opponent_models.world import Transition, Worlds
from toy_players import quick

lately = quick(recent, static_argnames="steps")
ask = quick(Pointer.__call__)
SEED = Seed.of(0)


def fitted(model: Any, loss: Any, steps: int, rate: float = 3e-3) -> tuple[Any, dict]:
    """The model after gradient steps on loss(model, key), and what was measured last."""
    rule = optax.adam(rate)

    @quick
    def fit(model: Any, keys: Array) -> tuple[Any, Any]:
        def step(carry: tuple, key: Array) -> tuple[tuple, dict]:
            model, state = carry
            (_, parts), gradient = jax.value_and_grad(partial(loss, key=key), has_aux=True, allow_int=True)(model)
            change, state = rule.update(gradient, state)
            return (optax.apply_updates(model, change), state), parts

        (model, _), parts = jax.lax.scan(step, (model, rule.init(model)), keys)
        return model, jax.tree.map(lambda x: x[-1], parts)

    return fit(model, jax.random.split(jax.random.key(0), steps))


def test_the_last_steps_never_reach_into_an_earlier_game() -> None:
    x_T, start_T = np.array([10, 11, 12, 13, 14]), np.array([True, False, False, True, False])
    assert lately(x_T, start_T, steps=3).tolist() == [
        [10, 10, 10],
        [10, 10, 11],
        [10, 11, 12],
        [13, 13, 13],
        [13, 13, 14],
    ]
    twice = lately(np.stack([x_T, x_T], axis=1)[..., None], np.stack([start_T, ~start_T], axis=1), steps=2)
    assert twice.shape == (5, 2, 2, 1) and twice[1, :, :, 0].tolist() == [[10, 11], [11, 11]]


def test_later_states_are_of_the_same_game_and_of_the_rollout() -> None:
    later_TH, there_TH = quick(partial(omg.following, steps=2))(np.arange(4), np.array([True, False, True, False]))
    assert there_TH.astype(int).tolist() == [[1, 0], [0, 0], [1, 0], [0, 0]]
    assert later_TH[0].tolist() == [1, 2] and later_TH[2, 0] == 3


def tracks(rows: int, seed: int) -> Track:
    """Whoever came nearer to a goal in the last step is after it; goals have one number, the distance."""
    rng = np.random.default_rng(seed)
    label_RO = rng.integers(0, 3, (rows, 2))
    before = rng.uniform(0.2, 1.0, (rows, 2, 3, 1))
    closer = 0.1 * (2 * (label_RO[..., None] == np.arange(3)) - 1)[..., None]
    about = np.stack([before, before - closer], axis=1).astype(np.float32)
    return Track(about, np.ones((rows, 2, 3), bool), label_RO)  # type: ignore[arg-type]


def test_a_pointer_finds_where_somebody_is_going_whatever_number_the_goal_has() -> None:
    seen, unseen = tracks(256, 0), tracks(256, 1)
    model = Pointer.make(SEED / "pointer", 1, 2, 16)
    log_b_OG = ask(model, unseen.about_KOGZ, unseen.open_OG)
    assert np.abs(np.exp(log_b_OG) - 1 / 3).max() < 0.02
    model, _ = fitted(model, lambda model, **_: model.loss(seen), 300, 1e-2)
    assert quick(Pointer.loss)(model, unseen)[1]["spatial_top1"] > 0.95
    swapped = np.array([2, 0, 1])
    one, two = (
        ask(model, x, unseen.open_OG) for x in (unseen.about_KOGZ, np.asarray(unseen.about_KOGZ)[..., swapped, :])
    )
    assert np.allclose(one[..., swapped], two, atol=1e-5)


def test_goals_that_are_closed_are_not_believed_and_unknown_labels_do_not_count() -> None:
    track = tracks(8, 2)
    open_OG = np.broadcast_to(np.array([False, True, True]), (8, 2, 3))
    closed = track._replace(open_OG=open_OG, label_O=np.full((8, 2), -1))
    model = Pointer.make(SEED / "pointer", 1, 2, 16)
    assert np.exp(ask(model, closed.about_KOGZ, closed.open_OG))[..., 0].max() == 0.0
    assert float(quick(Pointer.loss)(model, closed)[0]) == 0.0


def test_the_divergence_of_two_normals_is_that_of_the_textbook() -> None:
    """log(s2 / s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1/2, for s1 = 1, s2 = 2, m1 - m2 = 3: log 2 + 10/8 - 1/2."""
    one = Gaussian(np.array([3.0, 0.0]), np.array([0.0, 0.0]))
    two = Gaussian(np.array([0.0, 0.0]), np.array([np.log(2.0), 0.0]))
    divergence = quick(omg.divergence)
    assert float(divergence(one, two)) == pytest.approx(np.log(2) + 0.75)
    assert float(divergence(one, omg.STANDARD)) == pytest.approx(4.5)
    assert float(divergence(two, two)) == pytest.approx(0.0)


def test_the_selector_takes_the_best_or_the_worst_of_what_comes() -> None:
    worth_H, there_H = np.array([1.0, 5.0, -2.0, 9.0]), np.array([True, True, True, False])
    assert int(omg.selected(worth_H, there_H, optimistic=True)) == 1
    assert int(omg.selected(worth_H, there_H, optimistic=False)) == 2


def test_the_mix_goes_from_hindsight_to_the_guess() -> None:
    guess, hindsight, mix = np.ones((1000, 2)), np.zeros((1000, 2)), quick(omg.mixed)
    for epsilon, share in ((0.0, 1.0), (0.25, 0.75), (1.0, 0.0)):
        found = mix(guess, hindsight, jax.random.key(0), epsilon)
        assert np.array_equal(found[:, 0], found[:, 1]) and float(found.mean()) == pytest.approx(share, abs=0.05)
    assert [float(omg.annealed(np.asarray(n), 0.5, 10)) for n in (0, 5, 10, 20)] == [0.5, 0.25, 0.0, 0.0]


def test_a_guess_learns_the_goal_that_is_worth_most() -> None:
    """Somebody walks on as before; of the two next states the farther one pays. So the goal is two steps ahead."""
    rng = np.random.default_rng(0)
    now_R1, way_R1 = rng.normal(size=(256, 1)), rng.choice([-0.5, 0.5], (256, 1))
    history = np.stack([now_R1 - way_R1, now_R1], axis=1).astype(np.float32)
    later = np.stack([now_R1 + way_R1, now_R1 + 2 * way_R1], axis=1).astype(np.float32)
    paid = np.sign(way_R1[:, 0]).astype(np.float32)
    passage = Passage(history, later, np.ones((256, 2), bool), paid)  # type: ignore[arg-type]
    model = Subgoals.make(SEED / "omg", 1, 2, 2, 32)
    loss = partial(Subgoals.loss, passage=passage, epsilon=0.5, kl=0.1)
    model, parts = fitted(model, lambda model, key: loss(model, key=key), 600)
    assert parts["rebuilt"] < 0.1 and parts["value"] < 0.7
    target, guess = quick(lambda m: (m.chosen(passage, optimistic=True)[0], m.guessed(passage.history_KF)))(model)
    apart = np.asarray(((guess.mean_Z - target.mean_Z) ** 2).sum(-1)).mean()
    assert apart < 0.3 * float(np.asarray(target.mean_Z).var(0).sum())


def test_rows_without_anything_to_come_teach_the_prior_alone() -> None:
    model = Subgoals.make(SEED / "omg", 1, 2, 2, 8)
    passage = Passage(np.ones((4, 2, 1)), np.ones((4, 2, 1)), np.zeros((4, 2), bool), np.ones(4))  # type: ignore[arg-type]
    parts = quick(lambda m, key: m.loss(passage, key, 0.5))(model, jax.random.key(0))[1]
    assert parts["inference"] == 0 and parts["value"] == 0 and parts["prior"] > 0


REWARD = np.array([0.0, 0, 2, 0, 0, 1, 0])
START = np.array([True, False, False, False, True, False, False])
ENDED = np.roll(START, -1)
cut = quick(segments.pieces)


def test_play_is_cut_after_what_paid_and_where_games_end() -> None:
    piece = cut(REWARD, START, ENDED)
    assert piece.ends_T.tolist()[:6] == [2, 2, 2, 3, 5, 5] and piece.begins_T.tolist() == [0, 0, 0, 3, 4, 4, 6]
    assert piece.whole_T.tolist() == [True] * 7
    open_end = cut(REWARD, START, ENDED & (np.arange(7) < 6))
    assert open_end.whole_T.tolist() == [True] * 6 + [False]


@pytest.mark.parametrize(("kind", "first", "last"), [
    ("ending", [20.0], [50.0]), ("segment", [10.0], [45.0]), ("combined", [20.0, 0.3, 2.0], [50.0, 0.2, 1.0]),
])  # fmt: skip
def test_a_piece_is_told_by_its_end_by_its_mean_or_also_by_how_long_it_is_and_what_it_pays(
    kind: Any, first: list, last: list
) -> None:
    piece = cut(REWARD, START, ENDED)
    ending = quick(lambda: segments.endings(10.0 * jnp.arange(7)[:, None], REWARD, piece, kind))()
    assert ending[0].tolist() == pytest.approx(first) and ending[5].tolist() == pytest.approx(last)


def test_codes_find_the_kinds_of_endings() -> None:
    rng = np.random.default_rng(0)
    kind_R = rng.integers(0, 3, 300)
    ending = (np.eye(3)[kind_R] * 2 + 0.1 * rng.normal(size=(300, 3))).astype(np.float32)
    codes = Codes.make(SEED / "codes", 3, 3, 2, 16)
    revive = quick(Codes.revived)
    for key in jax.random.split(jax.random.key(1), 3):
        codes, _ = fitted(codes, lambda model, **_: model.loss(ending), 150, 1e-2)
        codes = revive(codes, ending, key)
    label_R = np.asarray(quick(Codes.label)(codes, ending))
    table = np.array([[np.sum((kind_R == k) & (label_R == c)) for c in range(3)] for k in range(3)])
    assert table.max(axis=1).sum() > 290 and len(set(table.argmax(axis=1))) == 3


def test_rows_whose_ending_is_not_known_teach_codes_nothing() -> None:
    ending = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    codes, known = Codes.make(SEED / "codes", 3, 3, 2, 16), np.arange(20) < 8
    loss, revive = quick(lambda m, x, k: m.loss(x, k)[0]), quick(Codes.revived)
    assert float(loss(codes, ending, known)) == pytest.approx(float(loss(codes, ending[:8], True)))
    nobody = revive(codes, ending, jax.random.key(0), np.zeros(20, bool))
    assert np.array_equal(nobody.codes_CZ, codes.codes_CZ) and np.array_equal(nobody.used_C, codes.used_C)


def transitions(rows: int, seed: int) -> Transition:
    """x goes up by the own choice and down by the other's; pays what was chosen; ends beyond 1; entry 1 is legal below
    0."""
    rng = np.random.default_rng(seed)
    x, own, other = rng.uniform(-1, 1, rows), rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    after = x + 0.5 * own - 0.5 * other
    ended = after > 1
    legal = np.stack([np.ones(rows, bool), after < 0], axis=1)
    columns = x[:, None], own[:, None], other[:, None, None], 1.0 * own, ended, after[:, None], legal
    return Transition(*(c.astype(np.float32) if c.dtype == float else c for c in columns))  # type: ignore[arg-type]


gate = quick(world.open_gate)
ACTION = ActionSpec(heads=(2,))


def test_an_ensemble_learns_a_linear_world_and_when_it_ends() -> None:
    seen, unseen = transitions(512, 0), transitions(512, 1)
    model = Worlds.make(SEED / "world", 1, 1, ACTION, 3, 32)
    judge = quick(Worlds.judged)
    assert not bool(gate(judge(model, unseen)))
    model, _ = fitted(model, lambda model, key: model.loss(seen, key), 500, 5e-3)
    judged = judge(model, unseen)
    assert bool(gate(judged)) and float(judged["features"]) < 0.05 and float(judged["reward"]) < 0.05
    assert float(judged["ended"]) < 0.5 and float(judged["legal"]) < 0.5
    # Beyond what was ever seen the members disagree more.
    far, foresee = unseen._replace(features_F=unseen.features_F + np.float32(20.0)), quick(Worlds.foreseen)
    near_apart, far_apart = (np.asarray(foresee(model, x)[1]).mean() for x in (unseen, far))
    assert far_apart > 3 * near_apart


def test_a_broken_world_closes_the_gate() -> None:
    seen = transitions(512, 0)
    model = Worlds.make(SEED / "world", 1, 1, ACTION, 3, 32)
    model, _ = fitted(model, lambda model, key: model.loss(seen, key), 300, 5e-3)
    unlike = transitions(512, 1)._replace(reward=-seen.reward)
    assert not bool(gate(quick(Worlds.judged)(model, unlike)))
