import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Action
from sparring.games import answers, tree
from sparring.games.cards.goofspiel import Goofspiel, GoofspielState, from_open_spiel, goofspiel
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))


def dealt(*prizes: int) -> GoofspielState:
    """Prizes as people read them, from 1."""
    blank = jnp.full((2, len(prizes)), -1, jnp.int32), jnp.zeros((), jnp.int32)
    return GoofspielState(jnp.array(prizes, jnp.int32) - 1, *blank)


def played(game: Goofspiel, state: GoofspielState, *bids: tuple[int, int]) -> tuple[GoofspielState, np.ndarray]:
    """After these pairs of cards, as people read them."""
    reward_S = np.zeros(2)
    for number, pair in enumerate(bids, start=1):
        choice_S1 = jnp.array(pair, jnp.int32)[:, None] - 1
        state, step = STEP(game, state, Action(choice_S1, jnp.zeros((2, 0))))
        assert bool(step.over) == (number == game.cards - 1), "the last card is played with the one before it"
        reward_S = np.asarray(step.reward_S)
    return state, reward_S


@pytest.mark.parametrize(
    ("prizes", "bids", "lead"),
    [
        ((1, 2, 3), ((1, 2), (3, 1)), -2),  # seat 0 wins 2, seat 1 wins 1 and, with its last card, 3
        ((3, 1, 2), ((2, 2), (3, 1)), -1),  # 3 is lost to both, seat 0 wins 1, seat 1 wins 2
        ((3, 2, 1), ((1, 1), (2, 2)), 0),
        ((2, 3, 1), ((3, 1), (2, 3)), -2),
    ],
)
def test_the_higher_bid_takes_the_prize_and_equal_bids_lose_it(prizes: tuple, bids: tuple, lead: int) -> None:
    for returns_type, earned in (("win_loss", np.sign(lead)), ("point_difference", lead / 2)):
        game = goofspiel(cards=3, returns_type=returns_type)
        state, reward_S = played(game, dealt(*prizes), *bids)
        assert reward_S.tolist() == [earned, -earned]
        assert not SEE(game, state).acting_S.any() and int(state.played) == 3


def test_a_prize_that_both_bid_the_same_for_is_nobodys() -> None:
    seen = SEE(goofspiel(cards=3), played(goofspiel(cards=3), dealt(3, 1, 2), (2, 2))[0])
    points, wins = np.asarray(seen.features_SF)[:, :14], np.asarray(seen.features_SF)[:, 17:23]
    assert [np.flatnonzero(row).tolist() for row in points] == [[0, 7]] * 2 and not wins.any()


def test_a_seat_sees_who_won_but_neither_the_others_bid_nor_the_prizes_to_come() -> None:
    game = goofspiel()
    seen = [
        SEE(game, played(game, dealt(*order), (3, low))[0]) for order in ((2, 1, 3, 4), (2, 1, 4, 3)) for low in (1, 2)
    ]
    for other in seen[1:]:
        np.testing.assert_array_equal(other.features_SF[0], seen[0].features_SF[0])
    points, hand, wins, prizes, bids = np.split(np.asarray(seen[0].features_SF[0]), np.cumsum([22, 4, 8, 16]))
    assert np.flatnonzero(points).tolist() == [2, 11]  # two points to none
    assert hand.tolist() == [1, 1, 0, 1] and seen[0].legal_SA[0].tolist() == [True, True, False, True]
    assert np.flatnonzero(wins).tolist() == [0]
    assert np.argwhere(prizes.reshape(4, 4)).tolist() == [[0, 1], [1, 0]]
    assert np.argwhere(bids.reshape(4, 4)).tolist() == [[0, 2]]
    assert np.flatnonzero(np.asarray(seen[0].features_SF[1])[26:34]).tolist() == [1], "the other won, as seat 1 sees it"


def test_prizes_come_in_the_order_that_was_asked_for() -> None:
    orders = {order: goofspiel(points_order=order) for order in ("ascending", "descending", "random")}
    assert orders["ascending"].openings()[0].prize_T.tolist() == [[0, 1, 2, 3]]
    assert orders["descending"].openings()[0].prize_T.tolist() == [[3, 2, 1, 0]]
    assert len(np.unique(orders["random"].openings()[0].prize_T, axis=0)) == 24
    assert orders["descending"].start(jax.random.key(0)).prize_T.tolist() == [3, 2, 1, 0]


def policy_of(game: Goofspiel, name: str) -> tree.Probabilities:
    bots = game.bots()

    def probabilities(_: int, features_IF: np.ndarray, legal_IA: np.ndarray) -> np.ndarray:
        logits_IA, _ = game.bot_scores(bots.table_PJ[bots.names.index(name)], features_IF, legal_IA)
        return np.asarray(jax.nn.softmax(jnp.where(legal_IA, logits_IA, -jnp.inf), axis=1), float)

    return probabilities


@pytest.mark.parametrize(("cards", "lead"), [(3, 0), (4, 2), (5, 5)])
def test_who_bids_the_prize_loses_by_all_but_the_highest(cards: int, lead: int) -> None:
    """Give the highest prize away for the lowest card, and win every other by one: 1 + ... + (n - 1) to n."""
    options = {"cards": cards, "points_order": "descending", "returns_type": "point_difference"}
    game = goofspiel(**options)
    assert tree.policy_exploitability(game, policy_of(game, "match_prize")) == pytest.approx(lead / 2)
    known = tree.tree_of(game)
    names = ("one_above", "match_prize")
    plans = [tree.mixed_plan(known, seat, [policy_of(game, name)], np.ones(1)) for seat, name in enumerate(names)]
    assert tree.values(known, plans).tolist() == pytest.approx([lead / 2, -lead / 2])


@pytest.mark.parametrize(("name", "bids"), [("highest", [4, 3, 2]), ("lowest", [1, 2, 3]), ("match_prize", [2, 4, 1])])
def test_bots_bid_as_they_are_called(name: str, bids: list[int]) -> None:
    game, state = goofspiel(), dealt(2, 4, 1, 3)
    for card in bids:
        seen = SEE(game, state)
        chosen = policy_of(game, name)(0, seen.features_SF[:1], seen.legal_SA[:1]).argmax() + 1
        assert chosen == card
        state, _ = played_once(game, state, card)


def played_once(game: Goofspiel, state: GoofspielState, card: int) -> tuple[GoofspielState, object]:
    return STEP(game, state, Action(jnp.full((2, 1), card - 1, jnp.int32), jnp.zeros((2, 0))))


def test_hands_too_large_for_a_tree_are_played_without_an_exact_answer() -> None:
    for options, exact in (
        ({"cards": 5}, True),
        ({"cards": 6}, False),
        ({"cards": 6, "points_order": "ascending"}, True),
    ):
        assert (answers.exploitability_of(goofspiel(**options)) is not None) == exact


def test_wrong_options_and_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="hands of 2 to 13 cards, found cards=14"):
        goofspiel(cards=14)
    with pytest.raises(ConfigError, match="Unknown returns_type 'points'"):
        goofspiel(returns_type="points")
    game = goofspiel(cards=3)
    seen = SEE(game, played(game, dealt(2, 1, 3), (3, 1))[0])
    rows_RI = np.array(seen.features_SF)
    np.testing.assert_array_equal(from_open_spiel(game, rows_RI)[0], rows_RI)
    rows_RI[1, 17:23] = rows_RI[0, 17:23]  # who won, as seat 0 counts
    with pytest.raises(GameError, match=r"found others\. Load goofspiel\(imp_info=true,egocentric=true,num_cards=3\)"):
        from_open_spiel(game, rows_RI)
