"""A critic that judges every choice (advantage=expected): right on average whatever it says, and without luck where it
is right."""

from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.games import registry
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.estimate import Estimate, estimate
from sparring.learn.objective import critic_loss, loss_of_choices
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.distributions import Distribution
from sparring.play.chance import stream
from sparring.play.collect import collect
from sparring.play.rollout import Choice, Rollout, Worth
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.program import seat_players

FIRST_A, SECOND_AB = np.array([0.3, 0.7]), np.array([[0.2, 0.8], [0.6, 0.4]])
"""How a player chooses, and how the other answers each choice."""
PAYOFF_AB = np.array([[1.0, -2.0], [3.0, 0.5]])
CHOICES = [(a, b) for a in range(2) for b in range(2)]
LIKELY_W = np.array([FIRST_A[a] * SECOND_AB[a, b] for a, b in CHOICES])
ONCE = Schedule.parse(1.0)
CONFIG = PPOConfig(advantage="expected", discount=ONCE, decay=ONCE, normalise_advantage="none")


def four_games(said_A: np.ndarray, said_AB: np.ndarray, ppo: PPOConfig = CONFIG) -> Estimate:
    """What the first player makes of all four games of two choices, a world each, if the critic says that of them."""
    a_W, b_W = np.array(CHOICES).T
    over_TW = np.array([[False] * 4, [True] * 4])
    q_TWA = np.stack([np.tile(said_A, (4, 1)), said_AB[a_W]])
    p_TWA = np.stack([np.tile(FIRST_A, (4, 1)), SECOND_AB[a_W]])
    reward_TW = np.stack([np.zeros(4), PAYOFF_AB[a_W, b_W]])

    def seat(x_TW: np.ndarray) -> jax.Array:
        return jnp.asarray(x_TW)[:, :, None]

    rollout = Rollout(
        features_TWNF=None, legal_TWNA=None, views_TWVG=None, action=None, log_prob_TWN=None, distribution=None,
        value_TWN=seat(np.full((2, 4), 50.0)), next_value_TWN=seat(np.full((2, 4), 50.0)), reward_TWN=seat(reward_TW),
        over_TWN=seat(over_TW), ended_TWN=seat(over_TW), present_TWN=seat(np.ones((2, 4), bool)),
        acting_TWN=seat(~over_TW), start_TW=None, side_TWK=np.ones((2, 4, 1), bool), memory=(),
        worth=Worth(seat(q_TWA), Choice(seat(p_TWA), seat(np.stack([a_W, b_W])), None)),
    )  # type: ignore[arg-type]  # fmt: skip
    return eqx.filter_jit(estimate)(rollout, jax.random.key(0), Knobs(*knobs_at(ppo, 0.0)), ppo)


def test_a_critic_that_is_wrong_leaves_the_difference_between_choices_right_on_average():
    said = four_games(np.array([5.0, -3.0]), np.array([[0.4, 7.0], [-2.0, 1.0]]))
    advantage_W, merit_A = np.asarray(said.advantage_TWN)[0, :, 0], np.asarray(said.merit_TWNA)[0, 0, 0]
    a_W = np.array(CHOICES)[:, 0]
    worth_A = [
        merit_A[a] + np.average((advantage_W - merit_A[a])[a_W == a], weights=LIKELY_W[a_W == a]) for a in range(2)
    ]
    # -1.4 after the first choice, 2 after the second
    assert worth_A[1] - worth_A[0] == pytest.approx((SECOND_AB * PAYOFF_AB).sum(1) @ [-1, 1], abs=1e-5)
    assert np.asarray(said.target_TWN)[1, :, 0] == pytest.approx([1.0, -2.0, 3.0, 0.5]), "the last choice earns its pay"


def test_a_critic_that_is_right_takes_all_luck_out():
    right_A = (SECOND_AB * PAYOFF_AB).sum(1)
    said = four_games(right_A, PAYOFF_AB)
    assert np.asarray(said.target_TWN)[0, :, 0] == pytest.approx(right_A.repeat(2), abs=1e-5)
    assert np.asarray(said.advantage_TWN)[0, :, 0] == pytest.approx((right_A - FIRST_A @ right_A).repeat(2), abs=1e-5)


def test_all_choices_are_scaled_by_what_scales_the_one_that_was_taken():
    plain, wrong = np.array([5.0, -3.0]), np.array([[0.4, 7.0], [-2.0, 1.0]])
    scaled = four_games(plain, wrong, replace(CONFIG, normalise_advantage="batch"))
    unscaled = four_games(plain, wrong)
    np.testing.assert_allclose(scaled.merit_TWNA * scaled.std, unscaled.merit_TWNA, rtol=1e-5)


def log_p(logits_A: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(logits_A)


def test_the_first_step_goes_where_all_choices_and_the_one_taken_point():
    logits_A, merit_A, advantage, taken = jnp.array([0.5, -0.2, 0.1]), jnp.array([1.0, -2.0, 0.5]), 3.0, 2
    action = ActionSpec(heads=(3,))
    old = Distribution.make(action, logits_A, jnp.ones(3, bool), jnp.zeros(0), jnp.zeros(0))
    batch = SimpleNamespace(
        merit=merit_A, distribution=old, acting=jnp.array(True), advantage=advantage,
        action=Action(jnp.array([taken]), jnp.zeros(0)),
    )  # fmt: skip

    def loss(now_A: jax.Array) -> jax.Array:
        ratio = jnp.exp(log_p(now_A)[taken] - old.log_p_A[taken])
        found = SimpleNamespace(log_p=log_p(now_A))
        return loss_of_choices(ratio, found, batch, Knobs(*knobs_at(CONFIG, 0.0)), CONFIG)  # type: ignore[arg-type]

    p_A = np.exp(np.asarray(old.log_p_A))
    of_all = p_A * (np.asarray(merit_A) - p_A @ np.asarray(merit_A))
    beyond = (advantage - merit_A[taken]) * (np.eye(3)[taken] - p_A)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(logits_A), -(of_all + beyond), atol=1e-6)


def test_a_critic_learns_the_value_and_what_was_chosen_alone():
    batch = SimpleNamespace(
        value=jnp.zeros(2),
        target=jnp.array([1.0, 2.0]),
        present=jnp.ones(2, bool),
        choice=SimpleNamespace(taken=jnp.array([0, 1])),
    )
    found = SimpleNamespace(value=jnp.array([0.0, 1.0]), worth=jnp.array([[4.0, 9.0], [9.0, 2.0]]))
    loss = critic_loss(found, SimpleNamespace(scale=None), batch, Knobs(*knobs_at(CONFIG, 0.0)), CONFIG)  # type: ignore[arg-type]
    assert float(loss) == 0.5 * ((1 + 9) + (1 + 0)) / 2


def played(tiny, game: str) -> list[np.ndarray]:
    """Of some steps of a game, by seats: who acts, how likely each entry was, what was chosen, and the choice that
    decides the step for each."""
    built = build(replace(tiny, game=game, ppo=PPOConfig(advantage="expected", minibatches=2)))
    state = jax.tree.map(lambda x: x[0], first_state(built))
    orders = jax.tree.map(lambda x: x[0], built.standing)
    drivers = seat_players(built.plan, state.learners, None, {}, orders, tuple(map(jnp.asarray, built.knobs(0))))

    @eqx.filter_jit
    def play(game, drivers, cursor):
        key = stream(jax.random.key(3), "play")
        rollout = collect(game, built.plan.seating, drivers, cursor, key, steps=built.plan.steps)[0][0]
        assert rollout.worth is not None
        likely, chosen = rollout.distribution.log_p_A, rollout.action.discrete_SD[..., 0]
        found = (rollout.acting_TWN, likely, chosen, *jax.tree.leaves(rollout.worth.choice))
        return [jax.vmap(lambda x: built.plan.seating.to_seats([x]))(x) for x in found]

    return list(map(np.asarray, play(built.game, drivers, state.cursor)))


def test_who_waits_for_its_turn_looks_at_the_choice_of_who_has_it(tiny):
    acting_TBWS, log_p_TBWSA, own_TBWS, p_TBWSA, taken_TBWS = played(tiny, "kuhn")
    assert (acting_TBWS.sum(-1) == 1).all()
    whose = acting_TBWS.argmax(-1)[..., None]
    own_p = np.take_along_axis(np.exp(log_p_TBWSA), whose[..., None], 3)
    np.testing.assert_allclose(p_TBWSA, np.broadcast_to(own_p, p_TBWSA.shape), rtol=1e-6)
    choice = np.take_along_axis(own_TBWS, whose, 3)
    np.testing.assert_array_equal(taken_TBWS, np.broadcast_to(choice, taken_TBWS.shape))
    assert 0 < choice.mean() < 1, "both must be chosen, or nothing is tested"


def test_where_all_choose_at_once_a_critic_is_told_what_the_others_chose_and_judges_the_own_choice(tiny):
    _, log_p_TBWSA, own_TBWS, p_TBWSA, taken_TBWS, told_TBWSA = played(tiny, "matrix:rock_paper_scissors")
    np.testing.assert_array_equal(told_TBWSA, np.eye(3)[own_TBWS[..., ::-1]])
    np.testing.assert_array_equal(taken_TBWS, own_TBWS)
    np.testing.assert_allclose(p_TBWSA, np.exp(log_p_TBWSA), rtol=1e-6)
    assert len(np.unique(own_TBWS)) == 3, "all must be chosen, or nothing is tested"


def test_the_value_is_from_before_others_chose_and_what_a_choice_is_worth_from_after(tiny):
    spec = registry.make("matrix:rock_paper_scissors").spec
    critic = ActorCritic.make(Seed.of(0), spec, tiny.net, choices=True).critic
    views = jnp.ones((2, spec.features))
    blank, rock, paper = (
        np.asarray(critic(views, (), *told)[0]) for told in ((), *((jnp.tile(jnp.eye(3)[k], (2, 1)),) for k in (0, 1)))
    )
    assert blank.shape == (2, 1 + 3)
    np.testing.assert_array_equal(rock[:, 0], blank[:, 0])
    np.testing.assert_array_equal(paper[:, 0], blank[:, 0])
    assert np.abs(rock - paper)[:, 1:].min() > 1e-4
