"""Our board games and OpenSpiel's, side by side: same turns, legal choices, views and returns along random games; and
the same exploitability of the same policy, by going through every history."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from by_hand import mover, place, play, seen

from sparring.games import answers, registry
from sparring.games.boards import unseen

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is the oracle here: pip install open_spiel")


class Case(NamedTuple):
    name: str
    theirs: str
    options: dict[str, Any]


CASES = (
    Case("tic_tac_toe", "tic_tac_toe", {}),
    Case("connect_four", "connect_four", {}),
    Case("phantom_tic_tac_toe", "phantom_ttt", {}),
    Case("phantom_tic_tac_toe", "phantom_ttt(gameversion=abrupt)", {"variant": "abrupt"}),
    Case("dark_hex", "dark_hex(num_rows=3,num_cols=3)", {}),
    Case("dark_hex", "dark_hex(num_rows=3,num_cols=3,gameversion=adh)", {"variant": "abrupt"}),
    Case("dark_hex", "dark_hex(num_rows=2,num_cols=3)", {"rows": 2, "columns": 3}),
)
IDS = [case.theirs for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_games_go_as_in_open_spiel(case: Case) -> None:
    rng, ends = np.random.default_rng(0), set()
    game, rules = registry.make(case.name, **case.options), pyspiel.load_game(case.theirs)
    read = answers.open_spiel_rows_of(game)
    for seed in range(40):
        (state, _), theirs, over = play(game, seed=seed), rules.new_initial_state(), False
        seats = np.argsort(np.asarray(state.position_S))  # of its array JAX would write a program at every call
        while not over:
            player, seat = theirs.current_player(), mover(game, state)
            assert seat == seats[player]
            shown = seen(game, state)
            assert np.flatnonzero(shown.legal_SA[seat]).tolist() == theirs.legal_actions()
            whose = [np.array([player])] if isinstance(game, unseen.Unseen) else []
            features_RF, legal_RA = read(game, np.array([tensor(theirs)]), *whose)
            np.testing.assert_array_equal(features_RF[0], shown.features_SF[seat])
            np.testing.assert_array_equal(legal_RA[0], shown.legal_SA[seat])
            choice = int(rng.choice(theirs.legal_actions()))
            state, step = place(game, state, choice)
            theirs.apply_action(choice)
            over = bool(step.over)
            assert over == theirs.is_terminal()
        assert step.reward_S[seats].tolist() == theirs.returns()
        ends.add(theirs.returns()[0])
    assert {1.0, -1.0} <= ends


def tensor(state: Any) -> list[float]:
    """What a player to move sees; games without hidden information have observations alone."""
    kind = state.get_game().get_type()
    return state.information_state_tensor() if kind.provides_information_state_tensor else state.observation_tensor()


def some_policy(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
    """Neither good nor regular."""
    weight_FA = np.random.default_rng(1).normal(size=(features_RF.shape[1], legal_RA.shape[1]))
    share_RA = np.where(legal_RA, np.exp(0.5 * features_RF @ weight_FA), 0.0)
    return share_RA / share_RA.sum(axis=1, keepdims=True)


def best_response(rules: Any, chosen: Callable, responder: int) -> float:
    """The most that a player with perfect memory earns, by going through every history: an information set is what
    OpenSpiel's tensor says. (Its strings of dark hex also tell how many moves were made in all, which nobody is told.)
    """
    reached, best, known = defaultdict(list), {}, {}

    def key(state: Any) -> bytes:
        return np.array(state.information_state_tensor(responder), np.uint8).tobytes()

    def walk(state: Any, weight: float) -> None:
        if state.is_terminal():
            return
        own = state.current_player() == responder
        if own:
            reached[key(state)].append((state, weight))
        share = None if own else chosen(state)
        for choice in state.legal_actions():
            walk(state.child(choice), weight if share is None else weight * share[choice])

    def worth(state: Any) -> float:
        history = tuple(state.history())
        if history not in known:
            known[history] = worth_of(state)
        return known[history]

    def worth_of(state: Any) -> float:
        if state.is_terminal():
            return state.returns()[responder]
        if state.current_player() != responder:
            share = chosen(state)
            return sum(share[choice] * worth(state.child(choice)) for choice in state.legal_actions())
        seen = key(state)
        if seen not in best:
            nodes = reached[seen]
            best[seen] = max(
                state.legal_actions(), key=lambda choice: sum(w * worth(node.child(choice)) for node, w in nodes)
            )
        return worth(state.child(best[seen]))

    walk(rules.new_initial_state(), 1.0)
    return worth(rules.new_initial_state())


@pytest.mark.parametrize(("variant", "theirs"), [("classical", "cdh"), ("abrupt", "adh")])
@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 2)])
def test_a_policy_is_as_exploitable_as_going_through_every_history_says(
    variant: str, theirs: str, rows: int, columns: int
) -> None:
    game = unseen.dark_hex(variant, rows=rows, columns=columns)
    rules = pyspiel.load_game(f"dark_hex(num_rows={rows},num_cols={columns},gameversion={theirs})")
    asked: dict[tuple, np.ndarray] = {}

    def chosen(state: Any) -> np.ndarray:
        player = state.current_player()
        row = tuple(state.information_state_tensor()[: 9 * rows * columns])
        if (player, row) not in asked:
            seen_R = unseen.from_open_spiel(game, np.array([state.information_state_tensor()]), np.array([player]))
            asked[player, row] = some_policy(0, *map(np.asarray, seen_R))[0]
        return asked[player, row]

    expected = [best_response(rules, chosen, player) for player in range(2)]
    assert unseen.policy_exploitability(game, some_policy) == pytest.approx(np.mean(expected), abs=1e-9)
    assert -0.99 < min(expected) < 0.99  # a value that mistakes would change
