"""A learner that looks ahead: its trees in a game whose every value is known, and what they must not do."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.evaluation.match import prepare_match
from sparring.evaluation.tournament import tournament
from sparring.games.matrix import rock_paper_scissors
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.blocks import Dense
from sparring.nets.config import NetConfig
from sparring.nets.distributions import IMPOSSIBLE
from sparring.nets.minds import Told
from sparring.opponent_models.config import MindConfig, PlanningConfig
from sparring.opponent_models.mind import with_mind
from sparring.opponent_models.planning import Planner, chosen, grown
from sparring.opponent_models.search import Rules, first_node
from sparring.play.witness import Ahead, mind_of
from toy_games import AppointmentState, appointment
from toy_players import Always, quick

pytest.importorskip("mctx", reason="planning needs mctx: pip install 'sparring[planning]'")

MIND = MindConfig(mind="belief", mind_prior="uniform", mind_features=False, mind_size=4, mind_tells="nothing")
GAME = appointment()
LEGAL = np.array([True, True, True, False])
FLAT = np.where(LEGAL, np.log(1 / 3), IMPOSSIBLE).astype(np.float32)
SURE = {goal: np.where(np.arange(3) == goal, 0.0, -1e9).astype(np.float32) for goal in range(3)}
UNSURE = np.log([0.5, 0.5, 1e-9]).astype(np.float32)


def same(gain: float, inputs: int) -> Dense:
    return Dense(gain * jnp.eye(inputs, 4), jnp.zeros(4))


def planner(game: Any = GAME, *, value: float = 0.0, cut_ends: bool = False, **settings: Any) -> Planner:
    """Of seat 0, whose mind knows for certain that whoever is after a place goes there, and who is after none stays at
    home; whose policy likes all alike, and whose critic says `value` of everything."""
    model = ActorCritic.make(Seed.of(1), game.spec, NetConfig(hidden=(4,)))
    actor = with_mind(model.actor, Seed.of(1), game, MIND)
    certain = mind_of(actor).actions, [same(10.0, 3), same(10.0, 4), same(40.0, 4)]
    models = eqx.tree_at(lambda m: [m.about, m.hidden, m.head], *certain)
    actor = eqx.tree_at(lambda a: (a.mind.actions, a.head), actor, (models, jax.tree.map(jnp.zeros_like, actor.head)))
    head = model.critic.head
    critic = eqx.tree_at(lambda c: c.head, model.critic, Dense(0 * head.weight_IO, jnp.full_like(head.bias_O, value)))
    return Planner.make(
        actor,
        critic,
        game,
        0.9,
        PlanningConfig(**{"plan_simulations": 60, "plan_exploration": 10.0, "plan_goals": 20, **settings}),
        cut_ends=cut_ends,
    )


def ahead(belief: np.ndarray, lot: float = 0.1, clock: int = 0) -> Ahead:
    state = AppointmentState(jnp.asarray(clock), jnp.asarray(0 if clock else 3))
    return Ahead(
        state, jnp.zeros(1, jnp.int32), jnp.asarray(belief)[None, None], jnp.zeros((1, 1, 3)), jnp.asarray(lot)
    )


def look(own: Planner, belief: Any, lot: Any, prior: Any = FLAT) -> jax.Array:
    return own.planned(jnp.asarray(prior)[None], jnp.asarray(LEGAL)[None], ahead(belief, lot))[0]


search = quick(look)


def plays(own: Planner, belief: np.ndarray, lot: float = 0.1, prior: np.ndarray = FLAT) -> np.ndarray:
    return np.exp(np.asarray(search(own, belief, np.float32(lot), prior)))  # of one type: another is another program


def sharp(simulations: int) -> Planner:
    """Chooses the best of what it found; two trees, since a program is compiled for each number of simulations."""
    return planner(plan_simulations=simulations, plan_goals=2, plan_sharpness=1000.0)


@quick
def roots(own: Planner, key: jax.Array, clock: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Values and visits of a tree in which the other goes to place 0."""
    rules = Rules(own.game, own.actor, own.critic, own.discount, own.cut_ends)
    root = first_node(AppointmentState(clock, jnp.where(clock > 0, 0, 3)), jnp.zeros(1, jnp.int32), 4)
    return grown(rules, key, jnp.zeros((), jnp.int32), jnp.zeros((1, 3)), root, FLAT, LEGAL, own.config)


def grow(own: Planner, clock: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return tuple(map(np.asarray, roots(own, jax.random.key(3), jnp.asarray(clock))))  # type: ignore[return-value]


def test_it_goes_where_the_other_is_believed_to_go_and_stays_at_home_where_that_is_not_known():
    """Two steps ahead: 0.9 for the right place and 0.6 at once at home; not knowing is worth 0.45."""
    own = planner()
    assert [int(plays(own, belief).argmax()) for belief in (SURE[0], SURE[1], UNSURE)] == [0, 1, 2]
    assert int(plays(planner(appointment(safe=0.2)), UNSURE).argmax()) in (0, 1)


def test_a_choice_is_as_likely_as_its_value_says():
    """By exp(2 Q): with all paths tried often, Q is 0.9, 0 and 0.6 but for the first look at each place."""
    p = plays(planner(plan_simulations=400, plan_goals=2), SURE[0])
    q = np.array([0.9, 0.0, 0.6])
    np.testing.assert_allclose(p[:3], np.exp(2 * q) / np.exp(2 * q).sum(), atol=0.02)
    assert plays(sharp(60), SURE[0])[0] > 0.99


def test_what_is_illegal_is_never_chosen_however_well_it_pays():
    for lot in (0.1, 0.5, 0.9):
        p = plays(planner(), UNSURE, lot)
        assert p[3] == 0.0 and abs(p.sum() - 1.0) < 1e-5


def test_with_one_simulation_it_does_what_its_policy_finds_likeliest():
    prior = np.log(np.array([0.3, 0.5, 0.2, 1e-12], np.float32))
    np.testing.assert_array_equal(plays(sharp(1), SURE[0], prior=prior), [0, 1, 0, 0])


def test_more_simulations_are_no_worse():
    worth = []
    for simulations in (1, 6, 60):
        own = sharp(simulations)
        worth.append(np.mean([plays(own, SURE[1], lot) @ [0.0, 0.9, 0.6, 0.0] for lot in np.linspace(0, 0.9, 4)]))
    assert worth[0] < worth[2] and worth[1] <= worth[2] + 1e-6 and worth[2] > 0.89


def test_beyond_the_end_there_is_nothing_and_beyond_a_time_limit_what_the_critic_says():
    """At the last step every choice earns 1. The critic says 5 of everything, however deep a tree looks."""
    for depth in (1, 0):
        over, cut = (planner(appointment(cut=cut), value=5.0, plan_depth=depth) for cut in (False, True))
        np.testing.assert_allclose(grow(over, clock=1)[0][:3], 1.0, rtol=1e-5)
        np.testing.assert_allclose(grow(cut, clock=1)[0][:3], 1.0 + 0.9 * 5.0, rtol=1e-5)
    ends = planner(appointment(cut=True), value=5.0, cut_ends=True)
    np.testing.assert_allclose(grow(ends, clock=1)[0][:3], 1.0, rtol=1e-5)


def test_a_look_of_one_step_knows_what_is_paid_at_once_and_asks_the_critic_for_the_rest():
    q, visits = grow(planner(value=5.0, plan_depth=1))
    np.testing.assert_allclose(q[:3], [4.5, 4.5, 5.1], rtol=1e-5)
    assert visits[3] == 0 and visits.sum() == 60


def test_the_mean_over_trees_takes_what_one_did_not_try_for_the_least_it_found():
    q, visits = np.array([[1.0, 3.0, 9.0], [2.0, 9.0, 9.0]]), np.array([[4, 2, 0], [5, 0, 0]])
    log_p = chosen(jnp.asarray(q), jnp.asarray(visits), jnp.zeros(3), jnp.ones(3, bool), 1.0)
    np.testing.assert_allclose(np.exp(log_p), np.exp([1.5, 2.5, -1e9]) / np.exp([1.5, 2.5, -1e9]).sum(), rtol=1e-5)


def test_who_can_no_longer_have_its_goal_draws_another():
    own = planner(appointment(gone=True))
    rules = Rules(own.game, own.actor, own.critic, own.discount)
    state = AppointmentState(jnp.asarray(0), jnp.asarray(3))
    arrive = quick(
        jax.vmap(
            lambda key, goal: rules.arrive(key, jnp.asarray(0), jnp.zeros((1, 3)), first_node(state, goal[None], 4))[1],
            (0, None),
        )
    )
    drawn, kept = (np.asarray(arrive(jax.random.split(jax.random.key(1), 50), jnp.asarray(g)).goal_O) for g in (0, 1))
    assert set(drawn.ravel().tolist()) == {1, 2} and set(kept.ravel().tolist()) == {1}


def test_many_searches_at_once_are_as_each_alone_and_follow_from_their_lots():
    own, lots = planner(), np.array([0.1, 0.1, 0.7], np.float32)
    beliefs = np.stack([SURE[0], UNSURE, UNSURE])
    together = np.asarray(quick(jax.vmap(look, (None, 0, 0)))(own, beliefs, lots))
    alone = [np.asarray(search(own, belief, lot, FLAT)) for belief, lot in zip(beliefs, lots, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    np.testing.assert_array_equal(search(own, UNSURE, lots[1], FLAT), alone[1])
    spread = {tuple(np.round(plays(own, UNSURE, lot), 4)) for lot in np.linspace(0, 0.9, 8)}
    assert len(spread) > 1, "other lots draw other goals"


def test_in_a_match_it_meets_the_one_whom_its_belief_finds():
    """The other always goes to place 1. Before anything is known all are alike, and the planner stays at home: 0.6. The
    policy alone earns 1/3 x 0.6 + 1/3."""
    own, other = planner(plan_sharpness=1000.0), Always.make(GAME, 1)
    lineups = [("planner", "other"), ("policy", "other")]
    players = {"planner": own, "policy": own.policy, "other": other}
    games = prepare_match(GAME, lineups, players, games=20)(players, seed=3)
    earned = [played.return_GS[:, 0].mean() for played in games]
    assert earned[0] == pytest.approx(0.6, abs=1e-5) and earned[1] < 0.6


def test_in_a_tournament_it_is_shown_the_world_as_in_a_match():
    """Beside one that always shows paper, of whom it believes nothing yet."""
    game = rock_paper_scissors()
    model = ActorCritic.make(Seed.of(1), game.spec, NetConfig(hidden=(4,)))
    actor = with_mind(model.actor, Seed.of(1), game, replace(MIND, mind_goals="none"))
    own = Planner.make(actor, model.critic, game, 0.9, PlanningConfig(plan_simulations=4, plan_goals=1))
    payoff = tournament(game, {"ahead": own, "paper": Always.make(game, 1)}, games=8)
    assert payoff.won_MM.sum() + payoff.drawn_MM.sum() / 2 == 8


def test_who_is_shown_no_world_says_so():
    own = planner()
    with pytest.raises(ConfigError, match=r"without \+planner"):
        own(np.zeros((1, 1)), LEGAL[None], Told((), np.zeros((1, 0))))
