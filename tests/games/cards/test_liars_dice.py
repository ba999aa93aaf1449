import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action
from sparring.games import answers, tree
from sparring.games.cards.liars_dice import DiceState, LiarsDice, from_open_spiel, liars_dice
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))
LIAR = 12


def rolled(one: int, two: int, positions: tuple[int, int] = (0, 1)) -> DiceState:
    """Dice as people read them, from 1."""
    dice = jnp.array([[one - 1], [two - 1]], jnp.int32)
    return DiceState(dice, jnp.array(positions, jnp.int32), jnp.zeros(12, bool), jnp.zeros((), bool))


def bid(number: int, face: int) -> int:
    return (number - 1) * 6 + face - 1


def played(state: DiceState, *choices: int) -> tuple[DiceState, np.ndarray, list[int]]:
    """The state after these choices, what it paid, and who made them; who waits says liar, which must not count."""
    actors, reward_S = [], np.zeros(2)
    for choice in choices:
        (actor,) = np.flatnonzero(SEE(liars_dice(), state).acting_S)
        choice_S = [[choice if seat == actor else LIAR] for seat in range(2)]
        state, step = STEP(liars_dice(), state, Action(jnp.array(choice_S, jnp.int32), jnp.zeros((2, 0))))
        actors.append(int(actor))
        reward_S = np.asarray(step.reward_S)
        assert bool(step.over) == (choice == LIAR)
    return state, reward_S, actors


@pytest.mark.parametrize(
    ("dice", "claim", "true"),
    [
        ((2, 5), bid(1, 2), True),
        ((2, 5), bid(1, 3), False),
        ((2, 2), bid(2, 2), True),
        ((2, 6), bid(2, 2), True),  # a six is wild
        ((2, 6), bid(2, 6), False),  # but a two is no six
        ((6, 6), bid(2, 3), True),
        ((3, 6), bid(1, 6), True),
    ],
)
def test_who_bid_wins_if_the_claim_is_true(dice: tuple[int, int], claim: int, true: bool) -> None:
    _, reward_S, _ = played(rolled(*dice), claim, LIAR)
    assert reward_S.tolist() == ([1.0, -1.0] if true else [-1.0, 1.0])


def test_the_last_bid_counts_and_who_begins_is_the_seat_in_position_0() -> None:
    state, reward_S, actors = played(rolled(3, 5, positions=(1, 0)), bid(1, 5), bid(2, 1), LIAR)
    assert (reward_S.tolist(), actors) == ([-1.0, 1.0], [1, 0, 1])
    assert state.over and not SEE(liars_dice(), state).acting_S.any()


def test_bids_rise_and_nobody_is_called_a_liar_before_the_first() -> None:
    start = rolled(1, 1)
    for choices, legal in (((), range(12)), ((3,), range(4, 13)), ((3, 10), range(11, 13)), ((11,), range(12, 13))):
        seen = SEE(liars_dice(), played(start, *choices)[0])
        actor = len(choices) % 2
        assert np.flatnonzero(seen.legal_SA[actor]).tolist() == list(legal)
        assert np.flatnonzero(seen.legal_SA[1 - actor]).tolist() == [0]


def doubter(_: int, __: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
    """Opens with "one one" and doubts whatever is bid."""
    return np.eye(13)[np.where(legal_IA[:, LIAR], LIAR, 0)]


def test_who_doubts_everything_can_be_exploited_by_eight_ninths() -> None:
    """First against it: bid the own face, which is true, 1. Second: raise to the own face, which is true, 1; with a one
    that cannot be, and the best is "one two", true of a two or a six, -1/3. Together 5/6 - 1/18 = 7/9. The value of the
    game itself cancels: (1 + 7/9) / 2."""
    for positions in ("random", "fixed"):
        assert tree.policy_exploitability(liars_dice(positions=positions), doubter) == pytest.approx(8 / 9)


def test_two_doubters_earn_what_one_one_is_worth() -> None:
    """It is true unless both dice show two to five: 1 - 2 * (4 / 6)^2 for the first."""
    known = tree.tree_of(liars_dice(positions="fixed"))
    plans = [tree.mixed_plan(known, seat, [doubter], np.ones(1)) for seat in range(2)]
    assert tree.values(known, plans).tolist() == pytest.approx([1 / 9, -1 / 9])


def test_more_dice_are_rolled_as_often_as_they_fall() -> None:
    """Two dice of three faces: a pair 1 in 9, two unlike 2 in 9."""
    game = liars_dice(faces=3, dice=2, positions="fixed")
    state, weight_N = jax.tree.map(np.asarray, game.openings())
    pairs_NS = state.face_SJ[..., 0] == state.face_SJ[..., 1]
    expected_N = np.where(pairs_NS, 1 / 9, 2 / 9).prod(axis=1)
    np.testing.assert_allclose(weight_N, expected_N)
    assert len(weight_N) == 36 and (np.diff(state.face_SJ, axis=-1) >= 0).all()


def test_a_game_with_more_bids_than_a_tree_can_hold_is_played_without_an_exact_answer() -> None:
    game = liars_dice(dice=2)
    assert game.openings() is None and answers.exploitability_of(game) is None
    with pytest.raises(GameError, match="LiarsDice has no exact answer"):
        tree.tree_of(game)


def bot_choice(game: LiarsDice, name: str, state: DiceState, seat: int) -> int:
    bots, seen = game.bots(), SEE(game, state)
    given = bots.table_PJ[bots.names.index(name)], seen.features_SF[seat][None], seen.legal_SA[seat][None]
    logits_NA, _ = game.bot_scores(*given)
    return int(np.argmax(np.where(given[2], logits_NA, -np.inf)))


@pytest.mark.parametrize(
    ("name", "dice", "made", "choice"),
    [
        ("truthful", (4, 1), (), bid(1, 4)),  # the lowest bid that is surely true
        ("truthful", (4, 3), (bid(1, 2),), bid(1, 3)),  # which it has; and a two would be likely enough
        ("truthful", (4, 3), (bid(2, 4),), LIAR),  # it has no four, and two are claimed
        ("bluffer", (4, 3), (bid(1, 4),), bid(1, 5)),
        ("bluffer", (4, 3), (bid(2, 5),), LIAR),
        ("always_liar", (4, 4), (bid(1, 4),), LIAR),
    ],
)
def test_bots_bid_and_doubt_as_they_are_called(name: str, dice: tuple[int, int], made: tuple, choice: int) -> None:
    state, _, _ = played(rolled(*dice), *made)
    assert bot_choice(liars_dice(), name, state, len(made) % 2) == choice


def test_wrong_options_and_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 to 20 faces and 1 to 10 dice for each player, found faces=1 and dice=1"):
        liars_dice(faces=1)
    with pytest.raises(GameError, match=r"expected \[R, 21\] as of liars_dice\(numdice=1,dice_sides=6\)"):
        from_open_spiel(liars_dice(), np.zeros((4, 20)))
