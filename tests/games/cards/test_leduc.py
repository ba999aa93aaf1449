import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action
from sparring.games import tree
from sparring.games.cards.leduc import CALL, FOLD, RAISE, Leduc, LeducState, from_open_spiel, leduc
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))
JACK, OTHER_JACK, QUEEN, OTHER_QUEEN, KING, OTHER_KING = range(6)


def dealt(one: int, two: int, public: int, positions: tuple[int, int] = (0, 1)) -> LeducState:
    cards = (jnp.array(x, jnp.int32) for x in ((one, two), positions, public))
    return LeducState(*cards, jnp.zeros((2, 4), jnp.int32), jnp.ones(2), jnp.zeros((), bool))


def played(game: Leduc, state: LeducState, *choices: int) -> tuple[LeducState, np.ndarray, list[int]]:
    """The state after these choices, what it paid, and who made them; who waits asks to raise, which must not count."""
    actors, reward_S = [], np.zeros(2)
    for choice in choices:
        (actor,) = np.flatnonzero(SEE(game, state).acting_S)
        choice_S = [[choice if seat == actor else RAISE] for seat in range(2)]
        state, step = STEP(game, state, Action(jnp.array(choice_S, jnp.int32), jnp.zeros((2, 0))))
        actors.append(int(actor))
        reward_S = np.asarray(step.reward_S)
        assert bool(step.over) == bool(state.over) and (step.over or not reward_S.any())
    return state, reward_S, actors


@pytest.mark.parametrize(
    ("choices", "won", "actors"),
    [
        ((RAISE, FOLD), 1, [0, 1]),
        ((CALL, RAISE, FOLD), -1, [0, 1, 0]),
        ((RAISE, RAISE, FOLD), -3, [0, 1, 0]),
        ((CALL, CALL, CALL, CALL), 1, [0, 1, 0, 1]),
        ((RAISE, CALL, RAISE, FOLD), 3, [0, 1, 0, 1]),
        ((CALL, RAISE, CALL, CALL, RAISE, CALL), 7, [0, 1, 0, 0, 1, 0]),  # the first begins both rounds
        ((CALL, RAISE, RAISE, CALL, CALL, RAISE, RAISE, CALL), 13, [0, 1, 0, 1, 0, 1, 0, 1]),  # the longest game
    ],
)
def test_what_is_paid_follows_from_the_bets(choices: tuple[int, ...], won: float, actors: list[int]) -> None:
    """Antes of 1, raises of 2 and then of 4; a king against a jack, and a queen on the table."""
    state, reward_S, made = played(leduc(), dealt(KING, JACK, QUEEN), *choices)
    assert (reward_S.tolist(), made) == ([won, -won], actors)
    assert state.over and not SEE(leduc(), state).acting_S.any()


@pytest.mark.parametrize(
    ("one", "two", "public", "won"),
    [(KING, JACK, OTHER_JACK, -1), (QUEEN, KING, OTHER_QUEEN, 1), (KING, OTHER_KING, JACK, 0), (QUEEN, JACK, KING, 1)],
)
def test_a_pair_wins_then_the_higher_rank(one: int, two: int, public: int, won: float) -> None:
    _, reward_S, _ = played(leduc(), dealt(one, two, public), CALL, CALL, CALL, CALL)
    assert reward_S.tolist() == [won, -won]


def test_with_positions_exchanged_seat_1_decides_first_and_a_fold_costs_what_was_paid() -> None:
    _, reward_S, made = played(leduc(), dealt(KING, JACK, QUEEN, positions=(1, 0)), RAISE, CALL, RAISE, FOLD)
    assert (reward_S.tolist(), made) == ([-3.0, 3.0], [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("choices", "legal"),
    [
        ((), [CALL, RAISE]),  # nothing to fold to
        ((CALL,), [CALL, RAISE]),
        ((RAISE,), [FOLD, CALL, RAISE]),
        ((RAISE, RAISE), [FOLD, CALL]),
        ((RAISE, RAISE, CALL), [CALL, RAISE]),  # a new round
    ],
)
def test_one_folds_to_a_raise_only_and_raises_twice_a_round_at_most(choices: tuple[int, ...], legal: list[int]) -> None:
    state, _, _ = played(leduc(), dealt(KING, JACK, QUEEN), *choices)
    seen = SEE(leduc(), state)
    (actor,) = np.flatnonzero(seen.acting_S)
    assert np.flatnonzero(seen.legal_SA[actor]).tolist() == legal
    assert np.flatnonzero(seen.legal_SA[1 - actor]).tolist() == [0]


def test_the_public_card_shows_in_the_second_round_and_to_a_critic_before() -> None:
    game = leduc()
    before, after = (played(game, dealt(KING, JACK, QUEEN), *choices)[0] for choices in ((CALL,), (CALL, CALL)))
    public = slice(8, 14)
    assert np.asarray(SEE(game, before).features_SF)[:, public].sum() == 0
    assert np.flatnonzero(SEE(game, after).features_SF[1, public]).tolist() == [QUEEN]
    central_CG = np.asarray(game.central(before))
    assert [np.flatnonzero(central_CG[0, a : a + 6]).tolist() for a in (30, 36)] == [[JACK], [QUEEN]]


def test_who_folds_to_every_raise_can_be_exploited_by_the_ante() -> None:
    """Against itself it checks down, which is worth 0; against a raise it loses the ante, and never more."""

    def folder(_: int, __: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
        return np.eye(3)[np.where(legal_IA[:, FOLD], FOLD, CALL)]

    for positions in ("random", "fixed"):
        assert tree.policy_exploitability(leduc(positions=positions), folder) == pytest.approx(1.0)
    assert tree.policy_exploitability(leduc().with_rules(ante=2.5), folder) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("always_call", (CALL, CALL, CALL, CALL)),
        ("always_raise", (RAISE, RAISE, RAISE, RAISE)),
        ("tight", (FOLD, CALL, RAISE, RAISE)),
        ("loose", (CALL, RAISE, RAISE, RAISE)),
        ("bluffer", (RAISE, CALL, CALL, RAISE)),
    ],
)
def test_bots_choose_by_their_hand(name: str, choices: tuple[int, ...]) -> None:
    """A jack, a queen and a king against a raise, and a pair of jacks."""
    game = leduc()
    hands = [((RAISE,), card) for card in (JACK, QUEEN, KING)] + [((RAISE, CALL, RAISE), JACK)]
    rows = []
    for made, card in hands:
        state, _, _ = played(game, dealt(OTHER_QUEEN, card, OTHER_JACK), *made)
        rows.append((SEE(game, state).features_SF[1], SEE(game, state).legal_SA[1]))
    features_NF, legal_NA = (jnp.stack(x) for x in zip(*rows, strict=True))
    bots = game.bots()
    logits_NA, _ = game.bot_scores(bots.table_PJ[bots.names.index(name)], features_NF, legal_NA)
    assert tuple(np.argmax(np.where(legal_NA, logits_NA, -np.inf), axis=1)) == choices


def test_wrong_options_and_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="positions is 'random' or 'fixed', found 'first'"):
        leduc(positions="first")
    with pytest.raises(GameError, match=r"expected \[R, 30\] as of leduc_poker, found \(4, 11\)"):
        from_open_spiel(leduc(), np.zeros((4, 11)))
