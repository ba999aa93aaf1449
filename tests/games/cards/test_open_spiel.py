"""Our card games and OpenSpiel's, side by side: same deals and choices, same turns, legal choices, views and returns;
the same exploitability of the same policy, and where a game is solved the same value."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.games import answers, kuhn, registry, tree
from sparring.games.cards import goofspiel, leduc, liars_dice
from sparring.games.game import Game, State
from sparring.games.trial import quick_jit

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is the oracle here: pip install open_spiel")

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))


class Case(NamedTuple):
    name: str
    theirs: str
    options: dict[str, Any]
    chances: Callable[[State], list[int]]
    """What chance does in OpenSpiel's order, from a state at the start."""
    module: Any


def by_position(state: State, rows_S: np.ndarray) -> list:
    """What the seats have, first player first."""
    return np.asarray(rows_S)[seats_of_players(state)].reshape(-1).tolist()


CASES = (
    Case("kuhn", "kuhn_poker", {}, lambda state: by_position(state, state.card_S), kuhn),
    Case("leduc", "leduc_poker", {}, lambda state: [*by_position(state, state.card_S), int(state.public)], leduc),
    Case("liars_dice", "liars_dice", {}, lambda state: by_position(state, state.face_SJ), liars_dice),
    Case(
        "liars_dice", "liars_dice(numdice=2,dice_sides=3)", {"dice": 2, "faces": 3},
        lambda state: by_position(state, state.face_SJ), liars_dice,
    ),
    Case(
        "goofspiel", "goofspiel(imp_info=true,egocentric=true,num_cards=4)", {},
        lambda state: state.prize_T.tolist(), goofspiel,
    ),
    Case(
        "goofspiel",
        "goofspiel(imp_info=true,egocentric=true,num_cards=5,points_order=descending,returns_type=point_difference)",
        {"cards": 5, "points_order": "descending", "returns_type": "point_difference"}, lambda _: [], goofspiel,
    ),
)  # fmt: skip
IDS = [case.theirs for case in CASES]


def openings(game: Game) -> list[State]:
    states, weight_N = jax.tree.map(np.asarray, game.openings())
    return [type(states)(*(x[n] for x in states)) for n in range(len(weight_N))]


def seats_of_players(state: State) -> np.ndarray:
    return np.argsort(np.asarray(state.position_S)) if hasattr(state, "position_S") else np.arange(2)


def players_that_decide(theirs: Any) -> list[int]:
    return [0, 1] if theirs.is_simultaneous_node() else [theirs.current_player()]


def compare(case: Case, game: Game, state: State, theirs: Any) -> None:
    """Whose turn it is, what may be chosen and what is seen."""
    seen, seats = SEE(game, state), seats_of_players(state)
    deciding = players_that_decide(theirs)
    assert np.flatnonzero(seen.acting_S).tolist() == sorted(seats[deciding])
    for player in deciding:
        seat = seats[player]
        assert np.flatnonzero(seen.legal_SA[seat]).tolist() == theirs.legal_actions(player)
        features_RF, legal_RA = case.module.from_open_spiel(game, np.array([theirs.information_state_tensor(player)]))
        np.testing.assert_array_equal(features_RF[0], seen.features_SF[seat])
        np.testing.assert_array_equal(legal_RA[0], seen.legal_SA[seat])


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_games_go_as_in_open_spiel(case: Case) -> None:
    rng = np.random.default_rng(0)
    game, rules = registry.make(case.name, **case.options), pyspiel.load_game(case.theirs)
    starts = openings(game)
    for number in rng.integers(0, len(starts), 40):
        state, theirs = starts[number], rules.new_initial_state()
        seats, deals = seats_of_players(state), case.chances(state)
        earned_S, over = np.zeros(2), False
        while not over:
            while theirs.is_chance_node():
                theirs.apply_action(deals.pop(0))
            compare(case, game, state, theirs)
            chosen = {player: rng.choice(theirs.legal_actions(player)) for player in players_that_decide(theirs)}
            choice_S = np.zeros((2, 1), np.int32)
            for player, choice in chosen.items():
                choice_S[seats[player]] = choice
            state, step = STEP(game, state, Action(choice_S, np.zeros((2, 0), np.float32)))
            earned_S, over = earned_S + np.asarray(step.reward_S), bool(step.over)
            theirs.apply_actions([*chosen.values()]) if len(chosen) == 2 else theirs.apply_action(*chosen.values())
        assert theirs.is_terminal() and earned_S[seats].tolist() == theirs.returns()


def some_policy(features_IF: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
    """Neither good nor regular."""
    weight_FA = np.random.default_rng(1).normal(size=(features_IF.shape[1], legal_IA.shape[1]))
    share_IA = np.where(legal_IA, np.exp(features_IF @ weight_FA), 0.0)
    return share_IA / share_IA.sum(axis=1, keepdims=True)


def their_table(case: Case, game: Game, rules: Any, policy: Callable) -> dict[str, list[tuple[int, float]]]:
    """The policy in every information state of OpenSpiel's game."""
    rows: dict[str, list[float]] = {}

    def walk(state: Any) -> None:
        if not state.is_chance_node() and not state.is_terminal():
            rows.setdefault(state.information_state_string(), state.information_state_tensor())
        for choice in state.legal_actions() if not state.is_terminal() else ():
            walk(state.child(choice))

    walk(rules.new_initial_state())
    features_IF, legal_IA = case.module.from_open_spiel(game, np.array(list(rows.values())))
    probability_IA = policy(features_IF, legal_IA)
    return {
        name: [(a, float(row[a])) for a in np.flatnonzero(legal)]
        for name, row, legal in zip(rows, probability_IA, legal_IA, strict=True)
    }


SMALL = (
    *CASES[:2],
    CASES[4],
    CASES[5]._replace(
        theirs="goofspiel(imp_info=true,egocentric=true,num_cards=4,points_order=ascending,returns_type=point_difference)",
        options={"cards": 4, "points_order": "ascending", "returns_type": "point_difference"},
    ),
    CASES[2]._replace(theirs="liars_dice(dice_sides=4)", options={"faces": 4}),
    CASES[3]._replace(theirs="liars_dice(numdice=2,dice_sides=2)", options={"dice": 2, "faces": 2}),
)


@pytest.mark.parametrize("case", SMALL, ids=[case.theirs for case in SMALL])
def test_a_policy_is_as_exploitable_as_open_spiel_says(case: Case) -> None:
    rules = pyspiel.load_game_as_turn_based(case.theirs)
    game = registry.make(case.name, **case.options)
    table = their_table(case, game, rules, some_policy)
    measure = answers.exploitability_of(game)
    found = measure(game, lambda _, *seen: some_policy(*seen))
    assert found == pytest.approx(pyspiel.nash_conv(rules, table) / 2, rel=1e-9)
    sets = sum(len(sets.legal_IA) for sets in tree.tree_of(game).sets)
    assert sets == len(table) * (2 if hasattr(openings(game)[0], "position_S") else 1)
