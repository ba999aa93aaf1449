"""Doctored games: each breaks one rule, and is told which."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec, Term
from sparring.games.contract import check_game
from sparring.games.game import Bots, Game
from sparring.games.matrix import MatrixGame, MatrixState, coordination, rock_paper_scissors
from sparring.games.symmetry import exchanges
from sparring.games.trial import Noise, random_action
from toy_games import Timetable, TimetableState, timetable

ROUNDS = 3


def doctored(base: MatrixGame | None = None, **methods: Any) -> MatrixGame:
    """A sound game with some methods replaced."""
    base = rock_paper_scissors(rounds=ROUNDS) if base is None else base
    kind = type("Doctored", (MatrixGame,), methods)
    return kind(base.spec, base.rules, base.choices, base.roles, base.scripts)


def observing(change: Any) -> Any:
    def observe(self: MatrixGame, state: MatrixState) -> Observation:
        return change(state, MatrixGame.observe(self, state))

    return observe


def stepping(change: Any) -> Any:
    def step(self: MatrixGame, state: MatrixState, action: Action, chance: Any) -> tuple[MatrixState, Step]:
        after, result = MatrixGame.step(self, state, action, chance)
        return after, change(after, result)

    return step


def rejected(game: MatrixGame, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        check_game(game, worlds=2, games=2)


def test_a_sound_game_passes() -> None:
    check_game(doctored(), worlds=2, games=2)


def test_random_play_keeps_to_what_is_legal_and_within_bounds() -> None:
    spec = ActionSpec(heads=(3, 2), low=(0.0,), high=(4.0,))
    noise = Noise(np.array([[0.9, 0.1, 0.4, 0.3, 0.2]] * 2), np.array([[0.25], [1.0]]))
    legal_SA = jnp.array([[False, True, False, False, True], [True] * 5])
    action = random_action(noise, spec, legal_SA)
    np.testing.assert_array_equal(action.discrete_SD, [[1, 1], [0, 0]])
    np.testing.assert_array_equal(action.continuous_SC, [[1.0], [4.0]])


def absent_from(step: int, state: MatrixState, seen: Observation) -> Observation:
    """Both seats are gone after so many steps."""
    here_S = jnp.full(2, state.played < step)
    legal_SA = seen.legal_SA & (here_S[:, None] | (jnp.arange(3) == 0))
    return seen._replace(present_S=here_S, acting_S=here_S, legal_SA=legal_SA)


VIEWS = {
    "Legal rows: .* at least one legal entry in each head, found an empty row of head 0 at step 1 of a game, seat 1": (
        lambda _, seen: seen._replace(legal_SA=seen.legal_SA & jnp.array([[True], [False]]))
    ),
    "Legal rows of seats that do not act: expected entry 0 alone": (
        lambda _, seen: seen._replace(acting_S=jnp.array([True, False]))
    ),
    "Seats that act: expected only present seats": (lambda _, seen: seen._replace(present_S=jnp.array([True, False]))),
    "Finite features: expected finite numbers, none beyond 1e.12, found NaN or infinity at step 2 of a game, seat 0": (
        lambda state, seen: seen._replace(features_SF=jnp.log(1.0 - state.played) + seen.features_SF)
    ),
    "Present seats: expected seats that stay away once they have left, found one that came back at step 2": (
        lambda state, seen: seen._replace(
            present_S=jnp.full(2, state.played != 1),
            acting_S=jnp.full(2, state.played != 1),
            legal_SA=seen.legal_SA & ((state.played != 1) | (jnp.arange(3) == 0)),
        )
    ),
    "Seats that go: expected left_S where a seat goes, found none at step 1 of a game, seat 0. Set left_S": (
        lambda state, seen: absent_from(1, state, seen)
    ),
    "Exchangeable seats: expected a game that treats seats alike .* in seen.features_SF": (
        lambda _, seen: seen._replace(features_SF=seen.features_SF.at[0, 0].add(1.0))
    ),
    r"Shape of observe\(\).present_S: expected shape \(2,\) of bool, found \(2,\) of float32": (
        lambda _, seen: seen._replace(present_S=jnp.ones(2))
    ),
}

STEPS = {
    "Zero sum: expected rewards that sum to 0, found 2 at step 1": (
        lambda _, step: step._replace(reward_S=step.reward_S + 1.0)
    ),
    "Exchangeable seats: .* in step.reward_S": (
        lambda _, step: step._replace(reward_S=step.reward_S + jnp.array([0.5, -0.5]))
    ),
    "Finite rewards: expected finite numbers, none beyond 1e.12, found NaN or infinity at step 1 of a game, seat 0": (
        lambda _, step: step._replace(reward_S=step.reward_S + jnp.array([3e19, -3e19]))
    ),
    "Finite rewards: expected finite numbers": (
        lambda after, step: step._replace(reward_S=step.reward_S + 0.0 * jnp.sqrt(after.played - 2.0))
    ),
    "Outcome: expected zeros before the end, found an outcome at step 1": (
        lambda _, step: step._replace(outcome_K=jnp.array([1.0, -1.0]))
    ),
    "Outcome: expected 1, 0 or -1 for each side": (lambda _, step: step._replace(outcome_K=2.0 * step.outcome_K)),
    "Over or cut: expected one of them at most, found both at step 3": (lambda _, step: step._replace(cut=step.over)),
    "at most spec.longest = 3 steps, found one that goes on": (
        lambda after, step: step._replace(over=after.played > 9, outcome_K=jnp.zeros(2))
    ),
    "at least spec.shortest = 3 steps, found one of 2": (
        lambda after, step: step._replace(over=after.played == 2, outcome_K=jnp.zeros(2))
    ),
    "Seats that left: expected their absence afterwards, found one still present at step 1 of a game, seat 1": (
        lambda _, step: step._replace(left_S=jnp.array([False, True]))
    ),
    r"Shape of step\(\).reward_S: expected shape \(2,\) of floating, found \(2,\) of int32": (
        lambda _, step: step._replace(reward_S=step.reward_S.astype(jnp.int32))
    ),
}


@pytest.mark.parametrize("sentence", VIEWS)
def test_a_game_that_shows_the_wrong_thing_is_told_so(sentence: str) -> None:
    rejected(doctored(observe=observing(VIEWS[sentence])), sentence)


class Barred(Timetable):
    """Two seats and heads of 2 and 3 entries; what is legal is cut down further by `legal_TSA`."""

    legal_TSA: np.ndarray = eqx.field(kw_only=True)

    def observe(self, state: TimetableState) -> Observation:
        seen = Timetable.observe(self, state)
        return seen._replace(legal_SA=seen.legal_SA & jnp.asarray(self.legal_TSA)[state.clock])


@pytest.mark.parametrize(
    ("clock", "seat", "entries", "sentence"),
    [
        (1, 1, slice(2, 5), "an empty row of head 1 at step 2 of a game, seat 1"),
        (2, 0, slice(0, 2), "an empty row of head 0 at step 3 of a game, seat 0"),
        (3, 1, slice(2, 5), "an empty row of head 1 after step 3 of a game, seat 1"),
    ],
    ids=["where a seat does not act", "where it acts", "when the game is over"],
)
def test_an_empty_legal_row_is_named_by_seat_head_and_step(clock, seat, entries, sentence) -> None:
    base = timetable(np.zeros((3, 2)).tolist(), idle=[(1, 1)], action=ActionSpec(heads=(2, 3)))
    legal_TSA = np.ones((4, 2, 5), bool)
    legal_TSA[clock, seat, entries] = False
    game = Barred(base.spec, base.rules, base.masks, legal_TSA=legal_TSA)
    with pytest.raises(GameError, match=f"Legal rows: expected .* in each head, found {sentence}"):
        check_game(game, worlds=2, games=2)


@pytest.mark.parametrize("sentence", STEPS)
def test_a_game_that_steps_wrongly_is_told_so(sentence: str) -> None:
    rejected(doctored(step=stepping(STEPS[sentence])), sentence)


def leaving(pay: float) -> MatrixGame:
    """Both seats leave with the first of three steps; after it they are paid `pay`, the second the opposite."""

    def step(after: MatrixState, result: Step) -> Step:
        first = after.played == 1
        reward_S = jnp.where(first, result.reward_S, pay * jnp.array([1.0, -1.0]))
        return result._replace(left_S=jnp.full(2, first), reward_S=reward_S)

    observe = observing(lambda state, seen: absent_from(1, state, seen))
    return doctored(observe=observe, step=stepping(step))


def test_a_seat_that_left_is_not_paid() -> None:
    rejected(leaving(0.5), "Pay of absent seats: expected nothing, found 0.5 at step 2 of a game, seat 0. Pay it in")
    check_game(leaving(0.0), worlds=2, games=2)


def test_a_start_that_python_draws_is_not_repeatable() -> None:
    def start(self: MatrixGame, key: Array) -> MatrixState:
        return MatrixGame.start(self, key)._replace(total_S=jnp.full(2, np.random.default_rng().uniform()))

    rejected(doctored(start=start), "Repeatable: expected the same result for the same key and state")


def test_a_game_that_knows_whether_it_is_compiled_has_two_meanings() -> None:
    def central(self: MatrixGame, state: MatrixState) -> Array:
        return MatrixGame.central(self, state) + float(isinstance(state.played, jax.core.Tracer))

    rejected(doctored(central=central), "One meaning: expected the same result under jit as without")


def test_a_state_that_is_no_number_is_refused() -> None:
    def step(self: MatrixGame, state: MatrixState, action: Action, chance: Any) -> tuple[MatrixState, Step]:
        after, result = MatrixGame.step(self, state, action, chance)
        return after._replace(total_S=after.total_S + jnp.where(after.played == 2, jnp.nan, 0.0)), result

    rejected(doctored(step=step), "Defined state: expected numbers, found NaN in total_S after step 2 of a game")


def test_a_state_that_changes_its_type_is_refused() -> None:
    def step(self: MatrixGame, state: MatrixState, action: Action, chance: Any) -> tuple[MatrixState, Step]:
        after, result = MatrixGame.step(self, state, action, chance)
        return after._replace(last_S=after.last_S.astype(float)), result

    rejected(doctored(step=step), "Shape of the state")


def test_others_must_be_listed_in_seat_order() -> None:
    """With three seats, listing them from the next one on is another order for the middle seat."""
    base = coordination(players=3, rounds=ROUNDS)
    check_game(base, worlds=1, games=1)

    def observe(self: MatrixGame, state: MatrixState) -> Observation:
        seen = MatrixGame.observe(self, state)
        row_F = seen.features_SF[1]
        around_F = jnp.concatenate([row_F[:2], row_F[4:6], row_F[2:4], row_F[6:]])
        return seen._replace(features_SF=seen.features_SF.at[1].set(around_F))

    rejected(doctored(base, observe=observe), "Exchangeable seats: .* in seen.features_SF")


def test_python_numbers_in_the_rules_are_refused() -> None:
    game = eqx.tree_at(lambda g: g.rules, rock_paper_scissors(), {"payoff": 1.0})
    rejected(game, "Rules are arrays: expected arrays alone in game.rules, found 1.0")


def test_a_spec_with_a_list_is_refused() -> None:
    base = rock_paper_scissors()
    spec = replace(base.spec, seat_names=["one", "two"])
    rejected(MatrixGame(spec, base.rules, base.choices, base.roles, base.scripts), "Hashable spec")


def test_bots_must_be_finite_and_have_a_row_each() -> None:
    def scores(logits: float, rows: int) -> Any:
        return lambda _, *args: (jnp.full((rows, args[-1].shape[1]), logits), jnp.zeros((rows, 0)))

    rejected(doctored(bot_scores=scores(jnp.nan, 1)), "Finite bot_scores: .* from bot 'always_0' on side 0")
    rejected(doctored(bot_scores=scores(0.0, 2)), "Shape of bot_scores")
    rejected(doctored(bots=lambda _: Bots(("one", "two"), jnp.zeros((1, 4)))), "found 2 names and 1 rows")


TERMS = (Term("lead", "potential", "rewards so far"), Term("half", "reward", "half of what the step pays"))


def explained(change: Any = None, potential: Any = None) -> MatrixGame:
    """A sound game with a shaping term of each kind and one cause of its end; `change` alters the sound step."""
    base = rock_paper_scissors(rounds=ROUNDS)
    spec = replace(base.spec, causes=("rounds",), terms=TERMS)

    def sound(after: MatrixState, step: Step) -> Step:
        full = step._replace(terms_SJ=step.reward_S[:, None] / 2, cause_K=jnp.zeros(2, jnp.int32))
        return change(after, full) if change else full

    methods = {"step": stepping(sound), "potential": potential or (lambda _, state: state.total_S[:, None])}
    return type("Explained", (MatrixGame,), methods)(spec, base.rules, base.choices, base.roles, base.scripts)


def test_a_sound_game_with_terms_and_causes_passes() -> None:
    check_game(explained(), worlds=2, games=2)


EXPLANATIONS = {
    r"Shape of step\(\).terms_SJ: expected shape \(2, 1\) of floating, found \(2, 2\) of float32": (
        lambda _, step: step._replace(terms_SJ=jnp.zeros((2, 2)))
    ),
    r"Shape of step\(\).terms_SJ: expected shape \(2, 1\) of floating, found nothing": (
        lambda _, step: step._replace(terms_SJ=())
    ),
    r"Shape of step\(\).cause_K: expected shape \(2,\) of integer, found \(2,\) of float32": (
        lambda _, step: step._replace(cause_K=jnp.zeros(2))
    ),
    r"Shape of step\(\).cause_K: .* found nothing": (lambda _, step: step._replace(cause_K=())),
    "Finite shaping terms: expected finite numbers, found NaN or infinity at step 2 of a game, seat 0": (
        lambda after, step: step._replace(terms_SJ=step.terms_SJ + 1.0 / (after.played - 2.0))
    ),
    "Cause of an end: expected 0 to 0 for each side, found 1 at step 3 of a game. Count in spec.causes: rounds": (
        lambda _, step: step._replace(cause_K=jnp.array([0, 1]))
    ),
    "Exchangeable seats: .* in step.terms_SJ": (
        lambda _, step: step._replace(terms_SJ=step.terms_SJ + jnp.array([[1.0], [0.0]]))
    ),
}


@pytest.mark.parametrize("sentence", EXPLANATIONS)
def test_a_game_that_explains_itself_wrongly_is_told_so(sentence: str) -> None:
    rejected(explained(EXPLANATIONS[sentence]), sentence)


def test_causes_are_exchanged_with_the_sides() -> None:
    """The winner's and the loser's cause differ, which is no favour; a cause that stays with side 0 is one."""

    def by_outcome(_: MatrixState, step: Step) -> Step:
        return step._replace(cause_K=(step.outcome_K > 0).astype(jnp.int32))

    def by_number(_: MatrixState, step: Step) -> Step:
        return step._replace(cause_K=jnp.arange(2, dtype=jnp.int32))

    def two_causes(change: Any) -> MatrixGame:
        game = explained(change)
        spec = replace(game.spec, causes=("lost or drawn", "won"))
        return type(game)(spec, game.rules, game.choices, game.roles, game.scripts)

    check_game(two_causes(by_outcome), worlds=2, games=2)
    rejected(two_causes(by_number), "Exchangeable seats: .* in step.cause_K")


POTENTIALS = {
    r"Shape of potential\(\): expected shape \(2, 1\) of floating, found \(2, 0\)": (
        lambda _, state: jnp.zeros((2, 0)) * state.total_S[0]
    ),
    "Finite potential": lambda _, state: (state.total_S / (state.played - 1.0))[:, None],
    "Exchangeable seats: expected potentials that follow the seats": (
        lambda _, state: (state.total_S + jnp.array([1.0, 0.0]))[:, None]
    ),
}


@pytest.mark.parametrize("sentence", POTENTIALS)
def test_a_wrong_potential_is_refused(sentence: str) -> None:
    rejected(explained(potential=POTENTIALS[sentence]), sentence)


def test_terms_that_the_spec_does_not_name_are_refused() -> None:
    extra = stepping(lambda _, step: step._replace(terms_SJ=jnp.zeros((2, 1))))
    rejected(doctored(step=extra), r"Shape of step\(\).terms_SJ: expected shape \(2, 0\) of floating, found \(2, 1\)")


def counting(memory: Any) -> Any:
    """A bot that remembers how often it was asked, starting from `memory(batch)`."""
    return {
        "bot_memory": lambda _, *batch: memory(batch),
        "bot_turn": lambda _, row_J, _seen, legal_NA, memory: (
            jnp.where(memory[:, None] == 0, row_J[0], jnp.nan) + jnp.zeros(legal_NA.shape),
            jnp.zeros((legal_NA.shape[0], 0)),
            memory + 1,
        ),
    }


def test_bots_that_remember_start_blank() -> None:
    check_game(doctored(**counting(jnp.zeros)), worlds=2, games=2)
    rejected(doctored(**counting(jnp.ones)), "Finite bot_scores: .* from bot 'always_0' on side 0")


def test_a_memory_that_changes_its_type_is_refused() -> None:
    blank = counting(lambda batch: jnp.zeros(batch, jnp.int32))
    turn = blank["bot_turn"]
    blank["bot_turn"] = lambda *args: (*turn(*args)[:2], args[-1] + 0.5)
    rejected(doctored(**blank), "Memory of bots: expected .*int32.* as bot_memory.. gives, found .*float32")


def spec_of(sides: tuple[int, ...], group: tuple[int, ...]) -> GameSpec:
    return GameSpec(
        seats=len(sides),
        side_of_seat=sides,
        action=ActionSpec(heads=(2,)),
        layout=(Feature("nothing", (1,)),),
        central=Central("world", 1),
        longest=1,
        exchangeable=(group,),
    )


def test_whole_sides_are_exchanged_together() -> None:
    orders = [order.tolist() for order in exchanges(spec_of((0, 0, 1, 1), (0, 1, 2, 3)))]
    assert orders == [[1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]]


def test_a_group_that_tears_sides_apart_is_refused() -> None:
    with pytest.raises(GameError, match=r"found group \(0, 2\) with side_of_seat \(0, 0, 1, 1\)"):
        exchanges(spec_of((0, 0, 1, 1), (0, 2)))


class Branching(Game):
    """A game whose step asks Python to choose by an array."""

    rules: tuple = ()
    spec: GameSpec = eqx.field(
        static=True,
        default=GameSpec(
            seats=1,
            side_of_seat=(0,),
            action=ActionSpec(heads=(2,)),
            layout=(Feature("nothing", (1,)),),
            central=Central("seat", 1),
            longest=1,
        ),
    )

    def start(self, key):
        del key
        return jnp.zeros(())

    def observe(self, state):
        del state
        return Observation(jnp.zeros((1, 1)), jnp.ones((1, 2), bool), jnp.ones(1, bool), jnp.ones(1, bool))

    def step(self, state, action, chance):
        del chance
        reward = 1.0 if action.discrete_SD[0, 0] + state > 0 else 0.0
        never = jnp.zeros((), bool)
        return state, Step(jnp.full(1, reward), never[None], ~never, never, jnp.zeros(1))


def test_code_that_cannot_be_traced_is_named_by_its_line():
    with pytest.raises(GameError, match=r"Code that can be traced.*in line \d+ of test_contract.py.*jnp.where"):
        check_game(Branching())


def test_a_part_that_is_no_number_is_refused_where_the_game_is_made() -> None:
    class Loose(MatrixGame):
        names: tuple[str, ...] = ()

    sound = rock_paper_scissors(rounds=ROUNDS)
    with pytest.raises(
        GameError, match=r"Loose\.names holds a str, .* Declare it as names: \.\.\. = eqx\.field\(static"
    ):
        Loose(sound.spec, sound.rules, sound.choices, sound.roles, sound.scripts, ("rock",))
