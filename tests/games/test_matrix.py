from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action, Step
from sparring.games import matrix, registry
from sparring.games.matrix import MatrixGame, MatrixState
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))
COOPERATE, DEFECT = 0, 1
DILEMMA = np.array([[[3.0, 0.0], [5.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]]])


def choose(*choices: int) -> Action:
    return Action(jnp.array(choices, jnp.int32)[:, None], jnp.zeros((len(choices), 0)))


def play(game: MatrixGame, *joint: tuple[int, ...]) -> tuple[MatrixState, Step]:
    state = game.start(jax.random.key(0))
    for choices in joint:
        state, step = STEP(game, state, choose(*choices))
    return state, step


def test_everyone_earns_what_the_table_says() -> None:
    payoff = np.arange(2 * 2 * 3, dtype=float).reshape(2, 2, 3)
    game = matrix.matrix_game(payoff)
    for one in range(2):
        for two in range(3):
            _, step = play(game, (one, two))
            assert step.reward_S.tolist() == payoff[:, one, two].tolist()


def test_seats_with_fewer_choices_are_masked() -> None:
    game = matrix.matrix_game(np.zeros((2, 2, 3)))
    legal_SA = SEE(game, game.start(jax.random.key(0))).legal_SA
    assert legal_SA.tolist() == [[True, True, False], [True, True, True]]


def test_an_iterated_game_shows_the_last_round_own_choice_first() -> None:
    game = matrix.rock_paper_scissors(rounds=3)
    start = game.start(jax.random.key(0))
    assert SEE(game, start).features_SF.tolist() == [[0.0] * 6 + [1.0]] * 2
    state, _ = play(game, (0, 2))
    rock, scissors = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    assert SEE(game, state).features_SF.tolist() == [[*rock, *scissors, 0.0], [*scissors, *rock, 0.0]]


def test_rounds_end_by_the_rules_and_never_before() -> None:
    game = matrix.prisoners_dilemma(rounds=2)
    first, second = play(game, (0, 0))[1], play(game, (0, 0), (0, 0))[1]
    assert (bool(first.over), bool(second.over)) == (False, True)
    assert not (bool(first.cut) or bool(second.cut))


@pytest.mark.parametrize(
    ("rounds", "outcome"),
    [
        ([(1, 0), (1, 0)], [1, -1]),  # paper beats rock twice
        ([(1, 0), (0, 0)], [1, -1]),  # once, and a draw
        ([(1, 0), (0, 1)], [0, 0]),  # once each
    ],
)
def test_the_outcome_is_the_sign_of_the_whole_return(rounds: list, outcome: list) -> None:
    assert play(matrix.rock_paper_scissors(rounds=2), *rounds)[1].outcome_K.tolist() == outcome


def test_rounding_of_decimal_payoffs_is_a_draw() -> None:
    """Ten wins of 0.1 and one loss of 1; in binary they do not cancel."""
    state, step = play(matrix.biased_rock_paper_scissors(rounds=11), *[(2, 1)] * 10, (2, 0))
    assert abs(float(state.total_S[0])) > 0.0
    assert step.outcome_K.tolist() == [0.0, 0.0]


def test_symmetry_and_zero_sum_are_read_off_the_table() -> None:
    specs = {name: getattr(matrix, name)().spec for name in ("rock_paper_scissors", "chicken", "matching_pennies")}
    assert {name: spec.exchangeable for name, spec in specs.items()} == {
        "rock_paper_scissors": ((0, 1),),
        "chicken": ((0, 1),),
        "matching_pennies": (),
    }
    assert {name: (spec.zero_sum, spec.score) for name, spec in specs.items()} == {
        "rock_paper_scissors": (True, "outcome"),
        "chicken": (False, "return"),
        "matching_pennies": (True, "outcome"),
    }


def test_unequal_prizes_are_judged_by_what_is_earned_and_equal_ones_by_games_won() -> None:
    """Of nine cells three are draws; of the others, seen by one seat, two pay 1, two 2 and two 3 (rock paper scissors
    with unequal prizes), so a game that is no draw is worth the root of 14 / 3."""
    biased = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -3.0], [-2.0, 3.0, 0.0]])
    spec = matrix.matrix_game(np.stack([biased, -biased])).spec
    assert (spec.score, spec.rated_by_return) == ("return", True)
    assert spec.stake == pytest.approx(np.sqrt(14 / 3))
    equal = matrix.matrix_game(np.stack([np.sign(biased), -np.sign(biased)]) * 0.1).spec
    assert (equal.score, equal.stake) == ("outcome", 0.0)
    often = matrix.matrix_game(np.stack([biased, -biased]), rounds=9).spec
    assert often.stake == pytest.approx(np.sqrt(9 * 28 / 9)), "of nine rounds, each with a mean square of 28 / 9"


def test_seats_of_one_role_are_found_among_three_and_roles_are_shown() -> None:
    """Seats 0 and 2 want to meet; seat 1 wants to be away from both."""
    payoff = np.zeros((3, 2, 2, 2))
    for a, b, c in np.ndindex(2, 2, 2):
        payoff[:, a, b, c] = [a == c, (b != a) and (b != c), a == c]
    game = matrix.matrix_game(payoff)
    assert game.spec.exchangeable == ((0, 2),)
    start = game.start(jax.random.key(0))
    assert SEE(game, start).features_SF.tolist() == [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_exchanged_seats_have_an_exchanged_table() -> None:
    game = matrix.matching_pennies()
    order_S = jnp.array([1, 0])
    payoff = game.rules.payoff
    exchanged = game.permute(game.rules, order_S).payoff
    for one, two in np.ndindex(2, 2):
        assert exchanged[:, one, two].tolist() == payoff[::-1, two, one].tolist()
    equal = matrix.chicken()
    assert jnp.array_equal(equal.permute(equal.rules, order_S).payoff, equal.rules.payoff)


def test_a_new_table_needs_no_new_program() -> None:
    traces = []

    @eqx.filter_jit
    def reward(game: MatrixGame, action: Action) -> jax.Array:
        traces.append(1)
        return game.step(game.start(jax.random.key(0)), action, ())[1].reward_S

    game = matrix.prisoners_dilemma()
    harsher = eqx.tree_at(lambda g: g.rules.payoff, game, game.rules.payoff - 1.0)
    assert reward(game, choose(0, 1)).tolist() == [0.0, 5.0]
    assert reward(harsher, choose(0, 1)).tolist() == [-1.0, 4.0]
    assert len(traces) == 1


@pytest.mark.parametrize("payoff", [np.zeros((2, 2)), np.zeros((3, 2, 2)), np.full((2, 2, 2), np.nan)])
def test_a_table_of_the_wrong_shape_is_refused(payoff: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="one axis of choices for each seat"):
        matrix.matrix_game(payoff)


def payoff_of(game: MatrixGame) -> np.ndarray:
    return np.asarray(game.rules.payoff, float)


def test_the_biased_equilibrium_cannot_be_exploited_and_uniform_play_can() -> None:
    """Against uniform play rock earns (1 - 0.5) / 3 = 1/6, the others less; either seat gains that."""
    payoff = payoff_of(matrix.biased_rock_paper_scissors())
    balanced = np.array([1, 10, 5]) / 16
    assert matrix.exploitability(payoff, [balanced, balanced]) == pytest.approx(0.0, abs=1e-7)
    assert matrix.exploitability(payoff, [np.full(3, 1 / 3)] * 2) == pytest.approx(1 / 6)


def test_best_responses_in_the_dilemma() -> None:
    """Against cooperation defecting earns 5, against defection 1."""
    cooperate, defect = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert matrix.best_response_values(DILEMMA, [cooperate, defect]).tolist() == [1.0, 5.0]
    assert matrix.exploitability(DILEMMA, [cooperate, cooperate]) == 2.0
    assert matrix.exploitability(DILEMMA, [defect, defect]) == 0.0


def test_three_players_two_of_whom_agree() -> None:
    """Only the third can gain, from 0 to 1, by joining: NashConv 1, divided by 3."""
    payoff = payoff_of(matrix.coordination(players=3))
    zero, one = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert matrix.exploitability(payoff, [zero, zero, one]) == pytest.approx(1 / 3)


TIT_FOR_TAT = [
    np.array([[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]], float),  # after (own, other) = CC, CD, DC, DD
    np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], float),  # joint choices are counted in seat order
]


def test_tit_for_tat_is_exploited_in_the_last_round_only() -> None:
    """Five rounds of cooperation earn 15; defecting in the last earns 4 * 3 + 5 = 17."""
    assert matrix.iterated_exploitability(DILEMMA, TIT_FOR_TAT, rounds=5) == pytest.approx(2.0)


def best_by_search(payoff: np.ndarray, other: np.ndarray, rounds: int, row: int) -> float:
    """What seat 0 can earn at best, by trying everything in every history."""
    if rounds == 0:
        return 0.0
    values = []
    for own in range(payoff.shape[1]):
        follow = [
            payoff[0, own, reply] + best_by_search(payoff, other, rounds - 1, 1 + own * payoff.shape[2] + reply)
            for reply in range(payoff.shape[2])
        ]
        values.append(float(other[row] @ np.array(follow)))
    return max(values)


def test_backward_induction_finds_the_best_of_all_histories() -> None:
    rng = np.random.default_rng(0)
    payoff = rng.normal(size=(2, 2, 3))
    strategies = [rng.dirichlet(np.ones(size), 7) for size in (2, 3)]
    mirrored = np.stack([payoff[1].T, payoff[0].T])
    swap = [0, *(1 + two * 3 + one for one in range(3) for two in range(2))]
    best = best_by_search(payoff, strategies[1], 3, 0), best_by_search(mirrored, strategies[0][swap], 3, 0)

    def present(rounds: int, row: int) -> np.ndarray:
        if rounds == 0:
            return np.zeros(2)
        joint = np.outer(strategies[0][row], strategies[1][row])
        return sum(
            joint[a, b] * (payoff[:, a, b] + present(rounds - 1, 1 + a * 3 + b)) for a in range(2) for b in range(3)
        )

    expected = np.mean(np.array(best) - present(3, 0))
    assert matrix.iterated_exploitability(payoff, strategies, rounds=3) == pytest.approx(expected)


def test_a_policy_is_asked_what_it_does_in_every_situation() -> None:
    """Tit for tat, written on features: own last, other's last, start."""

    def tit_for_tat(_: int, features_RF: np.ndarray, legal_RA: np.ndarray) -> np.ndarray:
        assert legal_RA.all()
        return np.where(features_RF[:, 4:] == 1, np.array([1.0, 0.0]), features_RF[:, 2:4])

    measured = matrix.policy_exploitability(matrix.prisoners_dilemma(rounds=5), tit_for_tat)
    assert measured == pytest.approx(2.0)


def test_a_policy_may_play_each_seat_differently() -> None:
    """Heads for certain by seat 0 and tails by seat 1: seat 0 gains 2 by switching, seat 1 nothing."""

    def pure(seat: int, features_RF: np.ndarray, _: np.ndarray) -> np.ndarray:
        assert features_RF.tolist() == [[1.0, *np.eye(2)[seat]]]
        return np.eye(2)[[seat]]

    assert matrix.policy_exploitability(matrix.matching_pennies(), pure) == pytest.approx(1.0)


def test_the_gain_of_each_seat_is_told_apart() -> None:
    """Where both show heads, the one who wins by matching can gain nothing and the other 2."""
    heads = np.array([[1.0, 0.0]])
    np.testing.assert_array_equal(matrix.policy_gains(matrix.matching_pennies(), lambda *_: heads), [0.0, 2.0])


def test_a_mixture_of_pure_players_is_the_mixed_strategy_and_with_rounds_it_is_refused() -> None:
    """Half rock and half paper: paper then wins half of the games and loses none."""
    pure = [lambda *_, move=move: np.eye(3)[[move]] for move in range(3)]
    game = matrix.rock_paper_scissors()
    assert matrix.mixture_exploitability(game, pure, np.array([0.5, 0.5, 0.0])) == pytest.approx(0.5)
    assert matrix.mixture_exploitability(game, pure, np.full(3, 1 / 3)) == pytest.approx(0.0, abs=1e-6)
    assert matrix.mixture_exploitability(matrix.rock_paper_scissors(rounds=2), pure, np.full(3, 1 / 3)) is None


def test_probabilities_outside_the_legal_choices_are_refused() -> None:
    game = matrix.matrix_game(np.zeros((2, 2, 3)))
    with pytest.raises(GameError, match="must sum to 1"):
        matrix.policy_exploitability(game, lambda _seat, _features, legal: np.full(legal.shape, 1 / 3))


def test_bots_play_their_strategies() -> None:
    game = matrix.biased_rock_paper_scissors()
    bots = game.bots()
    assert bots.names == ("always_0", "always_1", "always_2", "equilibrium")
    seen = SEE(game, game.start(jax.random.key(0)))
    score = partial(game.bot_scores, features_NF=seen.features_SF[:1], legal_NA=seen.legal_SA[:1])
    for row_J, expected in zip(bots.table_PJ, [*np.eye(3), np.array([1, 10, 5]) / 16], strict=True):
        np.testing.assert_allclose(jax.nn.softmax(score(row_J)[0][0]), expected, atol=1e-6)


def test_tit_for_tat_cooperates_first_and_then_repeats_the_other() -> None:
    game = matrix.prisoners_dilemma(rounds=4)
    bots = game.bots()
    row_J = bots.table_PJ[bots.names.index("tit_for_tat")]

    def choice(state: MatrixState) -> int:
        seen = SEE(game, state)
        return int(jnp.argmax(game.bot_scores(row_J, seen.features_SF[:1], seen.legal_SA[:1])[0][0]))

    assert choice(game.start(jax.random.key(0))) == COOPERATE
    assert choice(play(game, (COOPERATE, DEFECT))[0]) == DEFECT
    assert choice(play(game, (COOPERATE, DEFECT), (DEFECT, COOPERATE))[0]) == COOPERATE


def test_of_five_moves_each_beats_two_and_only_even_mixing_is_safe() -> None:
    payoff = np.asarray(matrix.five_moves().rules.payoff)
    assert ((payoff[0] == 1).sum(1) == 2).all() and ((payoff[0] == -1).sum(1) == 2).all()
    assert payoff[0, 1, 0] == payoff[0, 2, 1] == payoff[0, 0, 2] == 1  # paper, rock, scissors are three of the five
    even, rock = np.full(5, 0.2), np.eye(5)[0]
    assert matrix.exploitability(payoff, [even, even]) == pytest.approx(0.0, abs=1e-7)
    assert matrix.exploitability(payoff, [rock, rock]) == 1.0  # paper beats it


def test_more_fields_win_in_blotto() -> None:
    game = matrix.blotto(soldiers=3, fields=3)
    # Lexicographic: 003 012 021 030 102 111 120 201 210 300.
    payoff = np.asarray(game.rules.payoff)[0]
    assert payoff.shape == (10, 10)
    assert payoff[5, 9] == 1  # 111 loses a field to 300 and takes two
    assert payoff[5, 8] == 0  # against 210: one lost, one even, one won
    assert payoff[1, 3] == 0  # 012 against 030: one even, one lost, one won
    assert payoff[4, 3] == 1  # 102 against 030: two won, one lost
    assert (payoff == -payoff.T).all()


def test_blotto_has_named_players_and_not_one_for_each_division() -> None:
    game = matrix.blotto()
    assert game.choices == (28, 28)
    assert game.bots().names == ("everywhere", "one_field", "anything")
    mixed = dict(game.scripts)
    assert np.count_nonzero(mixed["everywhere"]) == 1 and np.count_nonzero(mixed["one_field"]) == 3


@pytest.mark.parametrize("options", [{"soldiers": 0}, {"fields": 1}, {"soldiers": 60, "fields": 6}])
def test_a_blotto_that_cannot_be_played_is_refused(options: dict) -> None:
    with pytest.raises(ConfigError, match="blotto"):
        matrix.blotto(**options)


def test_own_payoffs_are_given_as_rows_and_errors_show_how():
    game = registry.make("matrix:custom", payoff="0 -1 2; 1 0 -1; -2 1 0")
    assert game.choices == (3, 3) and game.spec.zero_sum and game.spec.exchangeable_sides
    assert np.asarray(game.rules.payoff)[:, 0, 2].tolist() == [2.0, -2.0]
    told = registry.make("matrix:custom", payoff="3,0;5,1", second="3,5;0,1")
    assert not told.spec.zero_sum and told.spec.exchangeable_sides
    assert registry.make("matrix:custom", payoff="1 2 3; 4 5 6").choices == (2, 3)
    for words, said in (
        (["payoff=1 2;3"], "rows of as many numbers"), (["payoff=a b"], "rows separated by"), (["payoff="], "payoffs"),
        (["payoff=1 2;3 4", "second=1 2"], "the shape of payoff"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            registry.configured("matrix:custom", words)
