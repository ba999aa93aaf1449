"""No seat is favoured: exactly under exchange, over whole games, and on average over thousands, with contention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from meadow import fairness, many, random_games

from sparring.core.records import Action, Step
from sparring.games.game import Chance, Game
from sparring.games.social.coin import coin
from sparring.games.social.snowdrift import REMOVE, Snowdrift, SnowdriftState, snowdrift
from sparring.games.social.stag_hunt import StagHunt, StagHuntState, stag_hunt
from sparring.games.symmetry import listed_anew
from sparring.games.trial import Noise
from toy_players import quick

GAMES = {"stag_hunt": stag_hunt(), "snowdrift": snowdrift(), "coin": coin(), "coin, lots": coin(tie="random")}
ORDERS = {4: ([1, 0, 2, 3], [3, 1, 2, 0], [2, 3, 1, 0]), 2: ([1, 0],)}


@pytest.mark.parametrize("name", GAMES)
def test_permuted_seats_play_the_same_games_bit_for_bit(name: str) -> None:
    """Whole games of random play: what seat i sees, does and earns is then what seat order[i] did, to the last bit."""
    game, worlds = GAMES[name], 16
    seats, steps = game.spec.seats, game.spec.longest
    noise = np.random.default_rng(0).random((worlds, steps, seats, game.spec.action.entries), np.float32)
    noise_WT = Noise(jnp.asarray(noise), jnp.zeros((worlds, steps, seats, 0)))
    keys_WT = jax.random.split(jax.random.key(1), (worlds, steps))
    start_W, chance_WT = quick(jax.vmap(lambda k: (game.start(k[0]), jax.vmap(game.chance)(k))))(keys_WT)
    play = quick(jax.vmap(lambda *given: random_games(game, *given)))
    exchange = quick(lambda tree, order_S: jax.vmap(lambda one: game.permute(one, order_S))(tree))
    exchange_T = quick(lambda tree, order_S: jax.vmap(jax.vmap(lambda one: game.permute(one, order_S)))(tree))
    plain = play(start_W, noise_WT, chance_WT)
    for order in ORDERS[seats]:
        order_S = jnp.array(order)
        found = play(exchange(start_W, order_S), *(exchange_T(x, order_S) if x else x for x in (noise_WT, chance_WT)))
        wanted = exchange_T(plain, order_S)
        anew = jax.vmap(jax.vmap(lambda features_SF, order_S=order_S: listed_anew(game.spec, features_SF, order_S)))
        wanted = (wanted[0], wanted[1]._replace(features_SF=anew(wanted[1].features_SF)), wanted[2])
        for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(two))
    assert np.asarray(plain[2].reward_S).any()


@pytest.mark.parametrize("view", ["places", "planes"])
def test_a_step_is_a_program_as_long_for_eight_seats_as_for_two(view: str) -> None:
    def length(game: StagHunt | Snowdrift) -> int:
        def advance(key: Array) -> object:
            state = game.start(key)
            nothing = Action(jnp.zeros((game.spec.seats, 1), jnp.int32), jnp.zeros((game.spec.seats, 0)))
            return game.observe(state), game.step(state, nothing, game.chance(key))

        return len(str(jax.make_jaxpr(advance)(jax.random.key(0))).splitlines())

    # A line more or less where long lines are wrapped.
    assert length(stag_hunt(hunters=8, view=view)) == pytest.approx(length(stag_hunt(hunters=2, view=view)), rel=0.01)
    assert length(snowdrift(agents=8, view=view)) == pytest.approx(length(snowdrift(agents=2, view=view)), rel=0.01)


@pytest.mark.parametrize(("name", "contention"), [("stag_hunt", "herd"), ("snowdrift", "herd"), ("coin", "greedy")])
def test_no_seat_earns_more_on_average_in_random_play_and_under_contention(name: str, contention: str) -> None:
    for bot in ("random", contention):
        return_WS = many(GAMES[name], bot, games=10_000)
        assert return_WS.std() > 0.1
        assert fairness(return_WS) > 1e-4


class FirstHasAll(StagHunt):
    """Doctored: of hunters that strike one animal at once, the one with the lowest number has the whole prize."""

    def step(self, state: StagHuntState, action: Action, chance: Chance) -> tuple[StagHuntState, Step]:
        after, step = super().step(state, action, chance)
        together_SS = step.left_S[:, None] & step.left_S & (state.cell_S[:, None] == state.cell_S)
        return after, step._replace(reward_S=moved_to_the_first(step.reward_S, together_SS))


class FirstPaysAll(Snowdrift):
    """Doctored: of agents that remove one drift at once, the one with the lowest number pays the whole cost."""

    def step(self, state: SnowdriftState, action: Action, chance: Chance) -> tuple[SnowdriftState, Step]:
        after, step = super().step(state, action, chance)
        removes_S = (action.discrete_SD[:, 0] == REMOVE) & (after.removed_S > state.removed_S)
        together_SS = removes_S[:, None] & removes_S & (state.cell_S[:, None] == state.cell_S)
        gain = self.rules.gain * jnp.sum((state.drift_E >= 0) & (after.drift_E < 0))
        return after, step._replace(reward_S=gain - moved_to_the_first(gain - step.reward_S, together_SS))


def moved_to_the_first(amount_S: Array, together_SS: Array) -> Array:
    """What a group has together goes to its first seat; seats in no group keep what they have."""
    earlier_S = jnp.any(together_SS & jnp.tri(len(amount_S), k=-1, dtype=bool), axis=1)
    total_S = jnp.sum(jnp.where(together_SS, amount_S, 0.0), axis=1)
    return jnp.where(earlier_S, 0.0, jnp.where(jnp.any(together_SS, axis=1), total_S, amount_S))


def doctored(kind: type, game: Game) -> Game:
    fields = {name: getattr(game, name) for name in type(game).__dataclass_fields__}
    return kind(**fields)


@pytest.mark.parametrize(
    ("game", "bot"),
    [
        (doctored(FirstHasAll, GAMES["stag_hunt"]), "herd"),
        (doctored(FirstPaysAll, GAMES["snowdrift"]), "herd"),
        (coin(tie="first"), "greedy"),
    ],
)
def test_a_tie_that_goes_to_the_lower_number_is_noticed(game: Game, bot: str) -> None:
    assert fairness(many(game, bot, games=10_000)) < 1e-9
