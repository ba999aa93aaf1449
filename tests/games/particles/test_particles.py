"""What mpe2 does not say: safety at the edges, views of the critic, rules as arrays, and the scripted players."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from particle_play import mean_return

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.games.particles import controls, physics
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.spread import spread
from sparring.games.particles.tag import tag
from sparring.games.trial import quick_jit


def at_rest(position: list, landmarks: list) -> ParticleState:
    place_SX = jnp.array(position, float)
    landmark_EX = jnp.array(landmarks, float).reshape(-1, 2)
    return ParticleState(place_SX, jnp.zeros_like(place_SX), landmark_EX, jnp.zeros((), jnp.int32))


def still(game: Game) -> Action:
    return Action(jnp.zeros((game.spec.seats, 1), jnp.int32), jnp.zeros((game.spec.seats, 0)))


def test_particles_on_one_spot_stay_finite() -> None:
    game = spread(agents=2)
    after, step = eqx.filter_jit(game.step)(at_rest([[0, 0], [0, 0]], [[1, 1], [0, 1]]), still(game), ())
    assert jnp.isfinite(after.velocity_SX).all()
    assert jnp.isfinite(step.reward_S).all()


def test_contact_pushes_both_apart_with_equal_force() -> None:
    """Two radii of 0.15 at distance 0.1 overlap by 0.2: 100 * 0.2 along x."""
    state = at_rest([[0, 0], [0.1, 0]], [])
    force_SX = physics.contacts(state, physics.bodies([0.15] * 2, [5.0] * 2, []), solid_landmarks=0)
    np.testing.assert_allclose(force_SX, [[-20.0, 0.0], [20.0, 0.0]], rtol=1e-5, atol=1e-6)


def test_rewards_of_spread_by_hand() -> None:
    """Distances 0.5 and 0 to the landmarks; the agents, 0.2 apart, touch: half of -0.5 and half of -1 each."""
    game = spread(agents=2)
    _, step = eqx.filter_jit(game.step)(at_rest([[0, 0], [0.2, 0]], [[0, 0.5], [0.2, 0]]), still(game), ())
    np.testing.assert_allclose(step.reward_S, [-0.75, -0.75], rtol=1e-6)


def test_physics_can_change_without_a_new_program() -> None:
    traces = []

    @eqx.filter_jit
    def place(game: Particles, state: ParticleState) -> Array:
        traces.append(1)
        return game.step(state, still(game), ())[0].position_SX

    game = spread(agents=1)
    state = at_rest([[0, 0]], [[1, 1]])._replace(velocity_SX=jnp.array([[1.0, 0.0]]))
    slower = eqx.tree_at(lambda g: g.rules.bodies.physics.dt, game, jnp.asarray(0.05, float))
    assert float(place(game, state)[0, 0]) == pytest.approx(0.1)
    assert float(place(slower, state)[0, 0]) == pytest.approx(0.05)
    assert len(traces) == 1


@pytest.mark.parametrize("make", [spread, tag])
def test_the_critic_of_a_seat_sees_every_velocity(make) -> None:
    game = make()
    state = game.start(jax.random.key(0))
    velocity_SX = jnp.arange(2.0 * game.spec.seats).reshape(-1, 2) + 10.0
    view_CG = game.central(state._replace(velocity_SX=velocity_SX))
    for row_G in np.asarray(view_CG):
        assert set(range(10, 10 + 2 * game.spec.seats)) <= set(row_G.tolist())


def test_a_particle_steered_by_the_way_left_stops_on_its_target() -> None:
    game = spread(agents=1, continuous=True)
    state = at_rest([[-0.8, 0.3]], [[0.7, -0.2]])
    step, score = eqx.filter_jit(game.step), eqx.filter_jit(game.bot_scores)
    for _ in range(25):
        seen = game.observe(state)
        mean_NC = score(game.bots().table_PJ[0], seen.features_SF, seen.legal_SA)[1]
        state, _ = step(state, Action(jnp.zeros((1, 0), jnp.int32), mean_NC), ())
    np.testing.assert_allclose(state.position_SX, state.landmark_EX, atol=2e-2)
    np.testing.assert_allclose(state.velocity_SX, 0.0, atol=2e-2)


def test_a_wished_thrust_becomes_the_action_nearest_to_it() -> None:
    wish_NX = jnp.array([[0.9, 0.1], [-0.8, 0.0], [0.1, 0.1], [0.2, -2.0]])
    choices, numbers = (Setting(moves=(True,) * 4, continuous=continuous) for continuous in (False, True))
    logits_NA, _ = controls.scores(Wish(wish_NX), choices)
    assert jnp.argmax(logits_NA, axis=1).tolist() == [2, 1, 0, 3]
    _, mean_NC = controls.scores(Wish(wish_NX), numbers)
    thrust_SX = controls.thrust(Action(jnp.zeros((4, 0), jnp.int32), mean_NC), numbers)
    np.testing.assert_allclose(thrust_SX, jnp.clip(wish_NX, -1, 1), atol=1e-6)


def test_assigned_agents_share_the_landmarks_out_from_their_own_views() -> None:
    """Both are nearest to landmark 0; agent 1 is closer, so agent 0 takes landmark 1."""
    game = spread(agents=2)
    seen = game.observe(at_rest([[0, 0], [0.5, 0]], [[0.3, 0], [0, 1]]))
    choices, score = {}, quick_jit(lambda game, *given: game.bot_scores(*given))
    for name, row_J in zip(game.bots().names, game.bots().table_PJ, strict=True):
        logits_NA, _ = score(game, row_J, seen.features_SF, seen.legal_SA)
        choices[name] = jnp.argmax(logits_NA, axis=1).tolist()
    left, right, up = 1, 2, 4
    assert choices == {"nearest": [right, left], "assigned": [up, left]}


@pytest.mark.parametrize("continuous", [False, True])
def test_scripted_spread_is_better_the_more_it_knows(continuous: bool) -> None:
    game = spread(continuous=continuous)
    random, nearest, assigned = (mean_return(game, name).mean() for name in (None, "nearest", "assigned"))
    assert random + 5.0 < nearest + 2.5 < assigned


@pytest.mark.parametrize("continuous", [False, True])
def test_scripted_predators_catch_and_scripted_prey_escapes(continuous: bool) -> None:
    game = tag(continuous=continuous)
    lazy, hunted, escaping = (mean_return(game, *names) for names in ((None, None), ("chase", None), ("chase", "flee")))
    assert hunted[0] > lazy[0] + 20.0
    assert escaping[3] > hunted[3] + 20.0


@pytest.mark.parametrize(("make", "few", "many"), [
    (spread, {"agents": 2}, {"agents": 12}),
    (tag, {"predators": 2, "prey": 1}, {"predators": 9, "prey": 3}),
])  # fmt: skip
def test_a_program_is_no_longer_for_many_agents_than_for_few(make, few: dict, many: dict) -> None:
    def lines(game: Particles) -> int:
        @jax.jit
        def whole(keys_W: Array) -> tuple:
            state = jax.vmap(game.start)(keys_W)
            seen = jax.vmap(game.observe)(state)
            action = Action(jnp.zeros((2, game.spec.seats, 1), jnp.int32), jnp.zeros((2, game.spec.seats, 0)))
            bots = game.bot_scores(game.bots().table_PJ[0], seen.features_SF[0], seen.legal_SA[0])
            return seen, jax.vmap(game.central)(state), bots, jax.vmap(game.step)(state, action, ())

        return len(whole.lower(jax.random.split(jax.random.key(0), 2)).as_text().splitlines())

    assert lines(make(**many)) < 1.1 * lines(make(**few))
