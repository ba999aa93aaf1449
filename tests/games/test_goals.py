"""What seats may be after: each game's goals by hand, what bots tell of theirs, and favours that the contract finds."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action, Goals
from sparring.games.contract import check_game
from sparring.games.game import Game
from sparring.games.matrix import MatrixGame, MatrixState, rock_paper_scissors
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.spread import spread
from sparring.games.particles.tag import tag
from sparring.games.registry import make
from sparring.games.social.coin import CoinState, coin
from sparring.games.social.snowdrift import REMOVE, SnowdriftState, snowdrift
from sparring.games.social.stag_hunt import HARE, STAG, STAY, StagHuntState, stag_hunt
from toy_players import quick

told = quick(lambda game, state: game.goals(state))
touching = quick(lambda game, after: game.reached(after, None, after))
wants = quick(lambda game, state, row_J: game.bot_goals(row_J, state))


@quick
def reached(game: Game, state: Any, choice_S: Array) -> Array:
    action = Action(choice_S[:, None], jnp.zeros((game.spec.seats, 0)))
    after, _ = game.step(state, action, game.chance(jax.random.key(0)))
    return game.reached(state, action, after)


def wanted(game: Game, bot: str, state: Any) -> list:
    row_J = game.bots().table_PJ[game.bots().names.index(bot)]
    return [np.flatnonzero(row).tolist() for row in np.asarray(wants(game, state, row_J))]


def chosen(game: Game, state: Any, *choices: int) -> list:
    return [np.flatnonzero(row).tolist() for row in np.asarray(reached(game, state, np.array(choices, np.int32)))]


def numbers(*lists: Any) -> Any:
    """NumPy, because every jnp operation out of a program is a program; whole numbers of 32 bits."""
    return [np.array(x, bool if np.asarray(x).dtype == bool else np.int32) for x in lists]


HUNT = stag_hunt()


def meadow(hunters: list, hares: list, walls: tuple = (), present: tuple = (True,) * 4) -> StagHuntState:
    """A stag on cell 0 of 8 x 8."""
    walls = (*walls, *(-1,) * (5 - len(walls)))
    return StagHuntState(*numbers(hunters, present, [0], hares, walls, [[0, 0]] * 4, 0))


def test_a_hunter_is_told_where_each_animal_is_what_it_is_and_what_it_pays() -> None:
    goals = told(HUNT, meadow([0, 9, 0, 63], [11, -1, 62, 63]))
    assert HUNT.spec.goals == ("stag", "hare", "hare", "hare", "hare")
    assert goals.steps_SG[1].tolist() == [2, 2, 0, 11, 12]
    assert goals.open_SG.tolist() == [[True, True, False, True, True]] * 4
    # Down and right in eighths, in which direction, not here, a stag, not a hare, the whole prize, half of the hunters.
    assert goals.about_SGZ[1, 0].tolist() == pytest.approx([-1 / 8, -1 / 8, -1, -1, 0, 1, 0, 1, 0.5])
    assert goals.about_SGZ[3, 4].tolist() == pytest.approx([0, 0, 0, 0, 1, 0, 1, 0.1, 0.25])
    assert not np.asarray(goals.about_SGZ[:, 2]).any()


def test_a_stag_is_no_goal_for_one_hunter_alone_and_nothing_is_for_those_who_left() -> None:
    alone = told(HUNT, meadow([0, 9, 9, 9], [11, 12, 13, 14], present=(True, False, False, False)))
    assert alone.open_SG.tolist() == [[False, True, True, True, True]] + [[False] * 5] * 3


def test_hunters_reach_what_they_have_part_in_catching() -> None:
    state = meadow([0, 0, 11, 12], [11, 12, 13, 14])
    assert chosen(HUNT, state, STAG, STAG, HARE, STAY) == [[0], [0], [1], []]
    assert chosen(HUNT, state, STAG, STAY, HARE, HARE) == [[], [], [1], [2]]


def test_hunters_tell_the_nearest_animal_of_those_they_want_by_the_way_round_walls() -> None:
    game = stag_hunt(view="planes")
    # The hunter on 9 has a hare two cells to the right behind a wall, four moves away, and one three moves below.
    state = meadow([9, 41, 63, 36], [11, 33, 38, -1], walls=(10,))
    assert wanted(game, "nearest_hare", state) == [[2], [2], [3], [3]]
    assert wanted(game, "nearest_hare", state._replace(wall_E=np.full(5, -1, np.int32))) == [[1], [2], [3], [3]]
    assert wanted(game, "nearest_stag", state) == [[0]] * 4
    assert wanted(game, "herd", state) == [[0]] * 4
    assert wanted(game, "stay", state) == [[]] * 4
    assert wanted(game, "grab", state) == [[], [2], [], []]
    only_two = state._replace(present_S=np.array([True, True, False, False]))
    assert wanted(game, "prosocial", only_two) == [[0], [0], [], []]
    assert wanted(game, "nearest_hare", meadow([9] * 4, [8, 10, 1, 17])) == [[1, 2, 3, 4]] * 4


def test_agents_are_after_drifts() -> None:
    game = snowdrift(drifts=3)
    state = SnowdriftState(*numbers([0, 1, 8, 63], [1, 8, -1], [2, 0, 0, 0], 0))
    goals = told(game, state)
    assert goals.open_SG.tolist() == [[True, True, False]] * 4 and goals.steps_SG[3].tolist() == [13, 13, 0]
    assert goals.about_SGZ[0, 0].tolist() == pytest.approx([0, 1 / 8, 0, 1, 0, 0.25])
    assert chosen(game, state, REMOVE, REMOVE, REMOVE, STAY) == [[], [0], [1], []]
    assert wanted(game, "cleaner", state) == [[0, 1], [0], [1], [0, 1]]
    assert wanted(game, "herd", state) == [[0]] * 4
    assert wanted(game, "prosocial", state) == [[], [0], [1], [0, 1]]
    assert wanted(game, "free_rider", state) == [[]] * 4


def test_players_are_after_coins_of_one_colour_also_while_the_other_is_there() -> None:
    game = coin()
    state = CoinState(*numbers([0, 4], 2, [True, False], [[0, 0]] * 2, 0))
    goals = told(game, state)
    # Cell 2 is beside cell 0 on a torus of 3 x 3, and two moves from cell 4; cells are 4 / 3 moves apart on average.
    assert np.asarray(goals.open_SG).all()
    assert goals.steps_SG.tolist() == [pytest.approx([1, 1 + 4 / 3]), pytest.approx([1 + 4 / 3, 2])]
    assert goals.about_SGZ[0, 0].tolist() == pytest.approx([0, -1 / 3, 0, -1, 0, 1, 1, 0, 0.5, 0])
    assert goals.about_SGZ[0, 1].tolist() == pytest.approx([0, 0, 0, 0, 0, 0, 0, 1, 0.5, 1])
    assert chosen(game, state, 2, 3) == [[0], []] and chosen(game, state, 3, 3) == [[], []]
    assert wanted(game, "own", state) == [[0], [0]] and wanted(game, "greedy", state) == [[0], [1]]


def particles(position: list, landmarks: list, velocity: list | None = None) -> ParticleState:
    speed = np.zeros_like(position, float) if velocity is None else velocity
    return ParticleState(*(np.array(x, np.float32) for x in (position, speed, landmarks)), *numbers(0))


def test_predators_and_prey_are_after_what_they_come_to_touch() -> None:
    game = tag(predators=2, prey=2, obstacles=1)
    state = particles([[0, 0], [1, 0], [0.1, 0], [0, 0.6]], [[1, 0.26]], velocity=[[0, 0], [0, 0], [0, 0], [0, -1]])
    goals = told(game, state)
    assert game.spec.goals == ("predator", "predator", "prey", "prey", "obstacle")
    assert np.array_equal(goals.open_SG, ~np.eye(4, 5, dtype=bool))
    # Radii 0.075 and 0.05; a predator comes 0.1 far in a step.
    assert goals.steps_SG[0].tolist() == pytest.approx([0, 8.5, 0, 4.75, np.hypot(1, 0.26) * 10 - 2.75])
    assert goals.about_SGZ[0, 3].tolist() == pytest.approx([0, 0.6, 0, -1, 0.475, 1, 0, 0, 1])
    assert goals.about_SGZ[3, 0].tolist() == pytest.approx([0, -0.6, 0, 1, 0.475, 1, 0, 0, -1])
    touched = touching(game, state)
    assert [np.flatnonzero(row).tolist() for row in np.asarray(touched)] == [[2], [4], [0], []]
    assert wanted(game, "chase", state) == [[2], [2], [], []] and wanted(game, "flee", state) == [[]] * 4
    # Who falls towards the predator will be nearer than who rests.
    falling = state._replace(position_SX=np.array([[0, 0], [1, 0], [0.35, 0], [0, 0.6]], np.float32))
    assert wanted(game, "chase", falling)[0] == [3]


def test_agents_are_after_landmarks() -> None:
    game = spread(agents=2)
    state = particles([[0, 0], [0.1, 0]], [[0.3, 0], [-1, 0]])
    goals = told(game, state)
    # Radii 0.15 and 0.05; full thrust ends in a speed of 2, 0.2 a step.
    assert np.asarray(goals.steps_SG) == pytest.approx(np.array([[0.5, 4], [0, 4.5]]), abs=1e-5)
    assert goals.about_SGZ[0, 1].tolist() == pytest.approx([-1, 0, 0, 0, 0.8, 1.1])
    assert np.asarray(touching(game, particles([[0, 0], [0.2, 0]], [[0.3, 0], [-1, 0]]))).tolist() == [
        [False, False],
        [True, False],
    ]
    assert wanted(game, "nearest", state) == [[0], [0]] and wanted(game, "assigned", state) == [[1], [0]]


@pytest.mark.parametrize(("name", "bot"), [("stag_hunt", "prosocial"), ("snowdrift", "cleaner"), ("coin", "own")])
def test_what_a_bot_says_it_wants_is_what_it_reaches_next(name: str, bot: str) -> None:
    """In games of bots all that is reached was wanted by the seat in that very step, and much is reached."""
    game, worlds = make(name), 16
    row_J = game.bots().table_PJ[game.bots().names.index(bot)]

    def advance(state: Any, key: Array) -> tuple[Any, tuple[Array, Array]]:
        seen = game.observe(state)
        logits_SA = jnp.where(seen.legal_SA, game.bot_scores(row_J, seen.features_SF, seen.legal_SA)[0], -1e9)
        choice_S = jnp.argmax(logits_SA + jax.random.gumbel(key, logits_SA.shape), axis=1).astype(jnp.int32)
        action = Action(choice_S[:, None], jnp.zeros((game.spec.seats, 0)))
        after, _ = game.step(state, action, game.chance(key))
        wanted_SG = game.bot_goals(row_J, state)
        assert wanted_SG is not None
        return after, (wanted_SG, game.reached(state, action, after))

    @quick
    def play(key: Array) -> tuple[Array, Array]:
        return jax.lax.scan(advance, game.start(key), jax.random.split(key, min(game.spec.longest, 40)))[1]

    wanted_WTSG, reached_WTSG = jax.vmap(play)(jax.random.split(jax.random.key(1), worlds))
    assert np.asarray(reached_WTSG).sum() > 3 * worlds
    assert not (np.asarray(reached_WTSG) & ~np.asarray(wanted_WTSG)).any()


def test_a_game_without_goals_has_none() -> None:
    game = rock_paper_scissors(rounds=1)
    nothing = jax.eval_shape(lambda: (game.goals(()), game.reached((), None, ())))  # type: ignore[arg-type]
    assert game.spec.goals == () and [x.shape for x in jax.tree.leaves(nothing)] == [(2, 0), (2, 0), (2, 0, 0), (2, 0)]


ROUNDS = 3


def throwing(goals: Any = None, reached: Any = None) -> MatrixGame:
    """Three throws, each of which can be had in every round: a sound game, or one doctored."""

    def sound(self: MatrixGame, state: MatrixState) -> Goals:
        del self, state
        return Goals(jnp.ones((2, 3), bool), jnp.ones((2, 3)), jnp.broadcast_to(jnp.eye(3), (2, 3, 3)))

    def thrown(self: MatrixGame, before: MatrixState, action: Action, after: MatrixState) -> Array:
        del self, before, after
        return action.discrete_SD == jnp.arange(3)

    base = rock_paper_scissors(rounds=ROUNDS)
    kind = type("Throwing", (MatrixGame,), {"goals": goals or sound, "reached": reached or thrown})
    return kind(
        replace(base.spec, goals=("rock", "paper", "scissors")), base.rules, base.choices, base.roles, base.scripts
    )


def test_a_game_with_sound_goals_passes() -> None:
    check_game(throwing(), worlds=2, games=1)


def telling(**changed: Any) -> Any:
    def goals(_: MatrixGame, state: MatrixState) -> Goals:
        return throwing().goals(state)._replace(**{name: jnp.asarray(value) for name, value in changed.items()})

    return goals


FIRST = np.array([[True], [False]])


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        (throwing(telling(open_SG=np.ones((2, 2), bool))), r"Shape of goals\(\).open_SG"),
        (throwing(telling(steps_SG=np.ones((2, 3), int))), r"Shape of goals\(\).steps_SG"),
        (throwing(telling(about_SGZ=np.full((2, 3, 1), np.nan, np.float32))), "Finite goals"),
        (throwing(telling(steps_SG=np.full((2, 3), -1, np.float32))), "Finite goals"),
        (throwing(telling(open_SG=np.zeros((2, 3), bool))), "Goals that are not open"),
        (
            throwing(
                telling(
                    open_SG=np.zeros((2, 3), bool),
                    steps_SG=np.zeros((2, 3), np.float32),
                    about_SGZ=np.zeros((2, 3, 1), np.float32),
                )
            ),
            "Goals that are reached.*'(rock|paper|scissors)' at step 1",
        ),
        (
            throwing(telling(about_SGZ=np.broadcast_to(FIRST[..., None], (2, 3, 1)).astype(np.float32))),
            "Exchangeable seats.*goals",
        ),
        (throwing(reached=lambda *_: jnp.broadcast_to(FIRST, (2, 3))), "Exchangeable seats.*goals"),
        (throwing(reached=lambda *_: jnp.zeros((2, 1), bool)), r"Shape of reached\(\)"),
    ],
)
def test_goals_that_break_their_promise_are_refused(game: MatrixGame, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        check_game(game, worlds=2, games=1, eager=False)
