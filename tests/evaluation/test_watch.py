"""One game to look at: what is played, from where, by whom, and what is told of its end. Numbers worked out by hand."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Step
from sparring.core.scene import Body, Scene
from sparring.core.spec import ActionSpec
from sparring.evaluation.ending import Ending
from sparring.evaluation.match import driver_of
from sparring.evaluation.watch import ending_of, play_out, seat_one, watch
from sparring.games import registry
from sparring.games.particles.physics import ParticleState
from sparring.nets.distributions import Distribution
from sparring.play.chance import stream
from sparring.play.collect import begin, collect
from toy_games import Lottery, Timetable, TimetableState, lottery, timetable
from toy_players import Always, quick


class Shown(Timetable):
    """A timetable whose scene is where its clock stands."""

    def scene(self, state: TimetableState) -> Scene:
        assert all(isinstance(leaf, np.ndarray | np.generic) for leaf in (*state, self.rules.echo))
        return Scene(bodies=(Body(name="clock", at=(float(state.clock), float(state.ticket))),))


class ShownLottery(Lottery):
    def scene(self, state: Any) -> Scene:
        return Scene(bodies=(), caption=str(int(state.clock)))


class Counter(eqx.Module):
    """Chooses 0, 1, 2, 0, ...: what it remembers is how often it has chosen."""

    action: ActionSpec = eqx.field(static=True)

    def initial(self, *batch: int) -> Array:
        return jnp.zeros(batch, jnp.int32)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Array) -> tuple[Distribution, Array]:
        logits_NA = jnp.where(jnp.arange(3) == (memory % 3)[..., None], 0.0, -60.0)
        none = jnp.zeros((*features_NF.shape[:-1], 0))
        return Distribution.make(self.action, logits_NA, legal_NA, none, jnp.zeros(0)), memory + 1


def shown(steps: int = 5, **options: Any) -> Shown:
    """Two seats, each paid the numbers of the entries it chooses."""
    game = timetable(np.zeros((steps, 2)).tolist(), echo=1.0, **options)
    return Shown(game.spec, game.rules, game.masks)


GAME = shown()
PLAYERS = {
    "counter": Counter(GAME.spec.action),
    "two": Always.make(GAME, 2),
    "torn": Always.make(GAME, 2, probability=0.6),
    "one": Always.make(GAME, 1, probability=0.6),
}


def clocks(scenes: tuple[Scene, ...]) -> list[float]:
    return [scene.bodies[0].at[0] for scene in scenes]


def test_every_state_from_the_start_to_the_true_end_is_shown():
    scenes, ending = watch(GAME, ("counter", "two"), PLAYERS, seed=0)
    assert clocks(scenes) == [0, 1, 2, 3, 4, 5]
    assert len({scene.bodies[0].at[1] for scene in scenes}) == 1, "one game: its ticket never changes"
    assert ending.steps == 5 and ending.finished


def test_players_of_different_kinds_sit_where_the_line_up_says_and_remember():
    # The counter chooses 0, 1, 2, 0, 1, which pays 4; the other one 2 at each of the 5 steps.
    assert watch(GAME, ("counter", "two"), PLAYERS, seed=0).ending.return_K == (4, 10)
    assert watch(GAME, ("two", "counter"), PLAYERS, seed=0).ending.return_K == (10, 4)


def test_a_game_may_begin_at_any_state_with_any_memory():
    start = TimetableState(jnp.asarray(3), jnp.asarray(0.25))
    scenes, ending = watch(GAME, ("counter", "two"), PLAYERS, seed=0, start=start)
    assert clocks(scenes) == [3, 4, 5] and scenes[0].bodies[0].at[1] == 0.25
    assert ending.steps == 2 and ending.return_K == (0 + 1, 4)
    remembered = watch(GAME, ("counter", "two"), PLAYERS, seed=0, start=start, memories=[np.array([2]), ()])
    assert remembered.ending.return_K == (2 + 0, 4)
    # Two counters are one family; each keeps its own memory.
    both = watch(GAME, ("counter", "counter"), PLAYERS, seed=0, start=start, memories=[np.array([1]), np.array([2])])
    assert both.ending.return_K == (1 + 2, 2 + 0)


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_watched_game_is_the_one_that_collect_plays(deterministic):
    lineup, seed = ("torn", "one"), 3
    ending = watch(GAME, lineup, PLAYERS, seed=seed, deterministic=deterministic).ending
    seating = seat_one(GAME.spec, lineup, PLAYERS, GAME.spec.seats_of_side)
    drivers = [driver_of(group.lanes, [lineup], PLAYERS) for group in seating.groups]
    key = stream(jax.random.key(seed), "watch")

    def play() -> Array:
        cursor = begin(GAME, seating, drivers, stream(key, "first games"))
        return collect(GAME, seating, drivers, cursor, key, steps=5, explore=not deterministic)[2].return_TBWS

    assert ending.return_K == tuple(np.asarray(quick(play)())[-1, 0, 0])
    assert (ending.return_K == (10, 5)) == deterministic, "the likeliest entries pay 2 and 1 a step"


def test_the_seed_decides_the_game():
    tickets = {watch(GAME, ("torn", "one"), PLAYERS, seed=seed).scenes[0].bodies[0].at[1] for seed in (1, 2, 1)}
    assert len(tickets) == 2


def test_watching_again_with_other_weights_seeds_and_starts_compiles_nothing():
    watch(GAME, ("torn", "one"), PLAYERS, seed=0)
    before = play_out._cache_size()
    start = TimetableState(jnp.asarray(1), jnp.asarray(0.5))
    watch(GAME, ("one", "two"), {**PLAYERS, "two": Always.make(GAME, 0)}, seed=9, start=start)
    assert play_out._cache_size() == before


def test_a_game_that_ends_early_is_shown_to_its_end_and_no_further():
    plain = lottery(3, longest=6)
    game = ShownLottery(plain.spec, plain.rules, plain.long)
    players = {"a": Always.make(game, 0)}
    seen = {}
    for seed in range(8):
        scenes, ending = watch(game, ("a", "a"), players, seed=seed)
        assert [scene.caption for scene in scenes] == [str(t) for t in range(ending.steps + 1)]
        seen[ending.steps] = ending.return_K
    assert seen == {1: (1, 0), 3: (3, 0)}, "games last 1 or 3 steps and pay the first seat 1 for each"


def test_who_stops_looking_sees_no_outcome():
    scenes, ending = watch(GAME, ("counter", "two"), PLAYERS, seed=0, most_steps=2)
    assert clocks(scenes) == [0, 1, 2]
    assert ending == Ending(steps=2, finished=False, return_K=(1, 4))


def test_a_side_whose_seats_are_driven_one_by_one_is_still_one_side():
    game = shown(side_of_seat=(0, 0))
    players = {"counter": Counter(game.spec.action), "two": Always.make(game, 2)}
    ending = watch(game, ("counter", "two"), players, seed=0, seats_of_side=((0,), (1,))).ending
    assert ending.return_K == ((4 + 10) / 2,)


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(
        GameError, match=r"This game cannot be shown: it draws no scenes\. A game of your own needs a method scene"
    ):
        watch(timetable([[0.0]]), ("a",), {}, seed=0)
    with pytest.raises(ConfigError, match="most_steps must be at least 1, found 0"):
        watch(GAME, ("counter", "two"), PLAYERS, seed=0, most_steps=0)


def steps(over: list[bool], cut: list[bool], outcome_K: list[float], cause_K: list[int]) -> Step:
    """Steps of one world that pay 1 and 2 to two seats."""
    count = len(over)
    return Step(
        reward_S=np.tile([1.0, 2.0], (count, 1, 1)), left_S=np.zeros((count, 1, 2), bool),  # type: ignore[arg-type]
        over=np.array(over)[:, None], cut=np.array(cut)[:, None],  # type: ignore[arg-type]
        outcome_K=np.tile(outcome_K, (count, 1, 1)), cause_K=np.tile(cause_K, (count, 1, 1)),  # type: ignore[arg-type]
    )  # fmt: skip


def test_outcome_and_causes_are_those_of_the_step_that_ended_the_game():
    spec = replace(lottery(3, 6).spec, score="outcome", causes=("gun", "ground", "timeout"))
    step = steps([False, False, True, False], [False] * 4, [1.0, -1.0], [2, 1])
    step.outcome_K[0], step.outcome_K[3] = -step.outcome_K[0], -step.outcome_K[3]  # type: ignore[index]
    step.cause_K[0], step.cause_K[3] = 0, 0  # type: ignore[index]
    ending = ending_of(spec, step)
    assert ending == Ending(
        steps=3, finished=True, outcome_K=(1, -1), cause_K=("timeout", "ground"), return_K=(3.0, 6.0)
    )


def test_a_cut_ends_a_game_too_and_games_judged_by_return_have_no_outcome():
    ending = ending_of(lottery(3, 6).spec, steps([False, False], [False, True], [1.0, -1.0], [0, 0]))
    assert ending == Ending(steps=2, finished=True, return_K=(2.0, 4.0))


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (Ending(steps=9, finished=True, outcome_K=(1, -1), cause_K=("gun", "gun")), "A won after 9 steps (B: gun)"),
        (Ending(steps=1, finished=True, outcome_K=(-1, 1)), "B won after 1 step"),
        (Ending(steps=9, finished=True, outcome_K=(-1,), cause_K=("late",)), "A lost after 9 steps (late)"),
        (Ending(steps=9, finished=True, outcome_K=(0, 0), cause_K=("late", "late")), "a draw after 9 steps (late)"),
        (
            Ending(steps=9, finished=True, outcome_K=(0, 0), cause_K=("gun", "ground")),
            "a draw after 9 steps (A: gun, B: ground)",
        ),
        (
            Ending(steps=9, finished=True, return_K=(1.5, -2.25)),
            "over after 9 steps; return of a seat: A 1.50, B -2.25",
        ),
        (Ending(steps=9, finished=False, return_K=(1.5, -2.25)), "not over after 9 steps"),
    ],
)
def test_an_ending_is_told_in_one_sentence(ending, told):
    assert ending.sentence(["A", "B"]) == told


def test_a_scene_of_tag_has_every_body_and_joins_a_predator_to_the_prey_it_touches():
    game = registry.make("particles:tag", predators=2, obstacles=1)
    place_SX = np.array([[0.0, 0.0], [0.5, 0.5], [0.1, 0.0]])  # reach 0.075 + 0.05: only the first predator touches
    state = ParticleState(place_SX, 0 * place_SX, np.array([[-0.5, 0.0]]), np.array(0))  # type: ignore[arg-type]
    scene = game.scene(state)
    assert [(body.name, body.side, body.at) for body in scene.bodies] == [
        ("obstacle_0", -1, (-0.5, 0.0)), ("predator_0", 0, (0.0, 0.0)), ("predator_1", 0, (0.5, 0.5)),
        ("prey_0", 1, (0.1, 0.0)),
    ]  # fmt: skip
    assert [round(body.size, 6) for body in scene.bodies] == [0.2, 0.075, 0.075, 0.05]
    assert [(line.start, line.end, line.side) for line in scene.lines] == [((0.0, 0.0), (0.1, 0.0), 0)]


def test_a_scene_of_spread_has_a_mark_for_each_landmark():
    game = registry.make("particles:spread", agents=2)
    place_SX, landmark_EX = np.array([[0.0, 0.0], [0.5, 0.25]]), np.array([[1.0, -1.0], [0.75, 0.0]])
    state = ParticleState(place_SX, 0 * place_SX, landmark_EX, np.array(0))  # type: ignore[arg-type]
    assert [(body.name, body.shape, body.side, body.at) for body in game.scene(state).bodies] == [
        ("landmark_0", "mark", -1, (1.0, -1.0)), ("landmark_1", "mark", -1, (0.75, 0.0)),
        ("agent_0", "disc", 0, (0.0, 0.0)), ("agent_1", "disc", 0, (0.5, 0.25)),
    ]  # fmt: skip


def test_a_game_that_has_words_for_its_causes_says_who_fell_by_them():
    ending = Ending(
        steps=300, finished=True, outcome_K=(1.0, -1.0), cause_K=("timeout", "gun"),
        fate_K=("ran out of time", "was shot down"),
    )  # fmt: skip
    assert ending.sentence(["red (learned)", "blue (eager)"]) == (
        "red (learned) won after 300 steps (blue (eager) was shot down)"
    )
