"""Tournaments of players whose every result is known: rock, paper, scissors, and games of known length."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.evaluation import match
from sparring.evaluation import tournament as room
from sparring.evaluation.tournament import Met, due, half_width_of, play_pairs, tournament
from sparring.games.matrix import matching_pennies, rock_paper_scissors, stag_hunt
from sparring.games.particles.spread import spread
from sparring.games.registry import make
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.nets.distributions import Distribution
from sparring.play.scripted import Scripted
from sparring.players.named import entrant
from toy_games import Lottery, lottery
from toy_players import Always, quick


@pytest.fixture(autouse=True)
def quick_sweeps(monkeypatch):
    monkeypatch.setattr(room, "sweep", quick(room.sweep.__wrapped__, static_argnames=("starts", "deterministic")))


@pytest.fixture(scope="module")
def rps():
    return rock_paper_scissors()


def bots(game, *names: str) -> dict:
    return {name: Scripted.make(game, name) for name in names}


def mixed(game) -> dict:
    """One family of players that sometimes play rock and sometimes something else."""
    chosen = {"ann": (1, 0.5), "bob": (2, 0.3), "cleo": (1, 0.9), "dan": (2, 0.6)}
    return {name: Always.make(game, *what) for name, what in chosen.items()}


def test_rock_paper_scissors_comes_out_as_it_must(rps):
    payoff = tournament(rps, bots(rps, "always_0", "always_1", "always_2"), games=6)
    assert payoff.names == ("always_0", "always_1", "always_2")
    np.testing.assert_array_equal(payoff.won_MM, [[0, 0, 6], [6, 0, 0], [0, 6, 0]])
    np.testing.assert_array_equal(payoff.drawn_MM, np.zeros((3, 3)))


def test_a_player_gets_exactly_half_of_the_points_against_its_copy(rps):
    payoff = tournament(rps, {"one": Always.make(rps, 1, 0.5), "two": Always.make(rps, 1, 0.5)}, games=40)
    assert payoff.games_MM[0, 1] == 40
    assert payoff.won_MM[0, 1] == payoff.won_MM[1, 0] > 0
    assert payoff.drawn_MM[0, 1] > 0


def test_exchanging_two_players_under_their_names_exchanges_wins_and_losses(rps):
    a, b = Always.make(rps, 1, 0.5), Always.make(rps, 2, 0.3)
    one, two = (tournament(rps, {"a": x, "b": y}, games=40) for x, y in ((a, b), (b, a)))
    np.testing.assert_array_equal(one.won_MM, two.won_MM.T)
    np.testing.assert_array_equal(one.drawn_MM, two.drawn_MM)
    assert one.won_MM[0, 1] != one.won_MM[1, 0]


def test_neither_the_order_of_players_nor_the_size_of_chunks_changes_a_game(rps, monkeypatch):
    players = mixed(rps)
    payoff = tournament(rps, players, games=8, precision=0.2, most_games=32)
    turned = tournament(rps, dict(reversed(players.items())), games=8, precision=0.2, most_games=32)
    assert turned.names == tuple(reversed(payoff.names))
    again = turned.only(payoff.names)
    np.testing.assert_array_equal(again.won_MM, payoff.won_MM)
    np.testing.assert_array_equal(again.drawn_MM, payoff.drawn_MM)
    whole = tournament(rps, players, games=8)
    monkeypatch.setattr(room, "WORLDS_AT_ONCE", 16)  # 2 pairs at once: 6 pairs need 3 chunks
    in_chunks = tournament(rps, players, games=8)
    np.testing.assert_array_equal(in_chunks.won_MM, whole.won_MM)
    monkeypatch.setattr(room, "WORLDS_AT_ONCE", 32)  # 4 at once: the second chunk is filled up
    np.testing.assert_array_equal(tournament(rps, players, games=8).won_MM, whole.won_MM)


def test_a_pair_plays_the_same_games_without_the_others(rps):
    players = mixed(rps)
    whole, alone = tournament(rps, players, games=8), play_pairs(rps, players, [("cleo", "ann")], games=8)
    assert alone.games_MM.sum() == 2 * 8
    assert alone.won_MM[0, 2] == whole.won_MM[0, 2] and alone.won_MM[2, 0] == whole.won_MM[2, 0]


def test_every_pair_has_chance_of_its_own(rps):
    twin = Always.make(rps, 1, 0.5)
    payoff = tournament(rps, {"x": twin, "y": twin, "z": Always.make(rps, 2, 0.3)}, games=40)
    assert payoff.won_MM[0, 2] != payoff.won_MM[1, 2]


def test_other_seeds_and_other_rounds_are_other_games(rps):
    players = {name: player for name, player in mixed(rps).items() if name in ("ann", "bob")}
    results = [tournament(rps, players, games=20, seed=seed).won_MM[0, 1] for seed in range(5)]
    assert len(set(results)) > 1
    # Two rounds that were the same would give twice the wins of one: with several seeds that cannot go on for long.
    longer = [tournament(rps, players, games=20, seed=s, precision=0.01, most_games=40).won_MM[0, 1] for s in range(5)]
    assert any(two != 2 * one for one, two in zip(results, longer, strict=True))


def test_all_pairs_of_two_families_share_one_program_whoever_they_are(rps):
    def make(*numbers: int) -> dict:
        nets = {f"net{i}": Actor.make(Seed.of(i), rps.spec, NetConfig(hidden=(4,))) for i in numbers}
        return {**nets, **bots(rps, "always_0", "always_1")}

    room.sweep.clear_cache()
    payoff = tournament(rps, make(1, 2), games=4)
    assert (payoff.games_MM == 4 * (1 - np.eye(4, dtype=int))).all()
    compiled = room.sweep._cache_size()  # net-net, net-bot, bot-bot
    assert compiled == 3
    tournament(rps, make(3, 4), games=4, seed=1)
    assert room.sweep._cache_size() == compiled
    tournament(rps, {**make(5, 6), **bots(rps, "always_2")}, games=4)
    assert room.sweep._cache_size() == compiled + 2, "6 pairs of nets and bots, 3 of bots: 8 and 4 at once"


def test_chunks_are_powers_of_two_that_hold_all_pairs_or_as_many_worlds_as_allowed(rps):
    def size(pairs: int, games: int) -> int:
        players = {f"{i:02}": Always.make(rps, 1) for i in range(12)}
        chosen = list(combinations(players, 2))[:pairs]
        (fixture,) = room.fixtures(players, chosen)
        return room.chunk_size(fixture, games)

    assert [size(pairs, 32) for pairs in (1, 2, 3, 4, 5, 66)] == [1, 2, 4, 4, 8, 128]
    assert [size(66, games) for games in (64, 100, 4096, 10_000)] == [64, 32, 1, 1]


def test_sides_are_swapped():
    # In this game side 0 wins the short games and side 1 the long ones, whoever plays: swapped, both win equally.
    game = two_alike(lottery(3, longest=3))
    payoff = tournament(game, {"a": Always.make(game, 0), "b": Always.make(game, 1)}, games=64)
    assert payoff.won_MM[0, 1] == payoff.won_MM[1, 0] == 32


def two_alike(game):
    """The lottery as a game of two sides that are alike and win or lose."""
    return replace(game, spec=replace(game.spec, exchangeable=((0, 1),), score="outcome"))


def first_games_of(game) -> tuple[np.ndarray, ...]:
    """Returns, lengths and outcomes of a match of an undecided player against itself."""
    players = {"a": Always.make(game, 1, 0.5)}
    (games,) = match.prepare_match(game, [("a", "a")], players, games=32)(players, seed=3)
    return games[:3]


def test_games_longer_than_a_stretch_are_played_to_their_end(monkeypatch):
    game = lottery(5, longest=6)
    wanted = first_games_of(game)
    monkeypatch.setattr(match, "STRETCH", 4)  # 6 steps are two stretches, the second with steps to spare
    found = first_games_of(game)
    assert set(found[1]) == {1, 5}
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, two)


class Paid(Lottery):
    """A lottery that pays seat 0 what it chooses."""

    def step(self, state, action, chance):
        state, step = super().step(state, action, chance)
        return state, step._replace(reward_S=action.discrete_SD[:, 0].astype(float))


def test_the_game_that_counts_is_the_first_also_when_others_go_on_for_another_stretch(monkeypatch):
    monkeypatch.setattr(match, "STRETCH", 4)
    # Long games need two stretches, in which the short ones are played again with other choices.
    returns, lengths, _ = first_games_of(Paid(lottery(5, longest=6).spec, (), 5))
    all_short, _, _ = first_games_of(Paid(lottery(1, longest=6).spec, (), 1))
    short = lengths == 1
    assert short.any() and not short.all() and set(all_short[short, 0]) == {0, 1}
    np.testing.assert_array_equal(returns[short], all_short[short])


def test_every_stretch_has_chance_of_its_own(monkeypatch):
    monkeypatch.setattr(match, "STRETCH", 1)
    returns, lengths, _ = first_games_of(Paid(lottery(5, longest=6).spec, (), 5))
    assert set(returns[lengths == 5, 0]) - {0.0, 5.0}, "not the same choice five times"


def test_play_stops_when_the_last_game_is_over(monkeypatch):
    # Games may last 10**9 steps, but these last 2: going on to the longest would not end today.
    monkeypatch.setattr(match, "STRETCH", 4)
    game = two_alike(lottery(2, longest=10**9))
    payoff = tournament(game, {"a": Always.make(game, 0), "b": Always.make(game, 0)}, games=4)
    assert payoff.games_MM[0, 1] == 4 and payoff.drawn_MM.sum() == 0


def counted(lost: int, halved: int, won: int) -> Met:
    """Starts, each of two games."""
    counts_3 = np.array([2 * won + halved, 0, 2 * lost + halved])
    return room.NEVER._replace(counts_3=counts_3, starts_5=np.array([lost, 0, halved, 0, won]))


def test_pairs_play_on_until_they_are_known_those_with_the_fewest_games_first():
    clear, close, closer = ("a", "b"), ("a", "c"), ("b", "c")
    tally = {clear: counted(0, 0, 50), close: counted(10, 20, 20), closer: counted(5, 15, 5)}
    assert half_width_of(0, 0, 0, 0, 50) < 0.05 < half_width_of(10, 0, 20, 0, 20) < half_width_of(5, 0, 15, 0, 5)
    wanted = due(tally, room.half_width, 100, 50, 0.05, 250)
    # closer has played 1 round of 50, close 2; both may play 5
    assert wanted == [(closer, 1), (close, 2), (closer, 2), (close, 3), (closer, 3), (close, 4), (closer, 4)]
    assert due(tally, room.half_width, 2, 50, 0.05, 250) == wanted[:2]
    assert due(tally, room.half_width, 100, 50, None, 250) == [] == due(tally, room.half_width, 100, 50, 0.2, 250)
    tally[close] = room.NEVER
    assert due(tally, room.half_width, 100, 50, 0.05, 250) == [(close, 0)]
    tally[clear] = room.NEVER
    assert due(tally, room.half_width, 1, 50, None, 250) == [(clear, 0)]


def test_with_a_precision_every_rate_is_known_to_it_or_was_played_as_often_as_allowed(rps):
    payoff = tournament(rps, bots(rps, "random", "always_0", "always_1"), games=16, precision=0.1, most_games=64)
    half = {(i, j): half_width_of(*payoff.starts_MM5[i, j].tolist()) for i, j in ((0, 1), (0, 2), (1, 2))}
    # 16 of 16 starts leave 0.111, 24 of 24 do not; 4 places for 3 pairs give one pair a round more
    assert half_width_of(0, 0, 0, 0, 16) > 0.1 >= half[1, 2] and payoff.games_MM[1, 2] in (48, 64)
    assert half[0, 1] > 0.1 and payoff.games_MM[0, 1] == 64


def test_the_two_games_of_a_start_are_counted_together(rps):
    """The same choices are made from both sides, so a start is won whole, drawn whole or lost whole."""
    players = {"one": Always.make(rps, 1, 0.5), "two": Always.make(rps, 0, 0.5)}
    payoff = tournament(rps, players, games=40)
    lost, quarter, halved, three, won = payoff.starts_MM5[0, 1].tolist()
    assert payoff.count_MM[0, 1] == 20 and lost + quarter + halved + three + won == 20
    points = payoff.points_MM[0, 1]
    assert points == 2 * (quarter / 4 + halved / 2 + 3 * three / 4 + won)
    copies = tournament(rps, {"x": players["one"], "y": players["one"]}, games=40)
    assert copies.starts_MM5[0, 1].tolist() == [0, 0, 20, 0, 0], "a player against its copy halves every start"
    assert copies.interval("x", "y").high < 0.56 < payoff.interval("one", "two").high


class Counter(eqx.Module):
    """A player of a user's own, with memory: scissors at first, paper from the second step of a game on."""

    action: ActionSpec = eqx.field(static=True)
    certain: float = 50.0

    def initial(self, *batch: int) -> Array:
        return jnp.zeros(batch, jnp.int32)

    def __call__(self, features_NF: Array, legal_NA: Array, memory_N: Array) -> tuple[Distribution, Array]:
        del features_NF
        choice_N = jnp.where(memory_N == 0, 2, 1)
        logits_NA = jnp.where(jnp.arange(3) == choice_N[:, None], self.certain, 0.0)
        return Distribution.make(self.action, logits_NA, legal_NA, jnp.zeros((len(choice_N), 0)), jnp.zeros(0)), (
            memory_N + 1
        )


def test_any_pytree_that_acts_may_take_part_and_its_memory_begins_anew_with_each_game():
    game = rock_paper_scissors(rounds=2)
    # Against paper twice: scissors wins, paper draws. Against rock twice: scissors loses, paper wins: a draw.
    payoff = tournament(game, {"own": Counter(game.spec.action), **bots(game, "always_0", "always_1")}, games=4)
    assert payoff.won_MM[0].tolist() == [0, 0, 4] and payoff.drawn_MM[0].tolist() == [0, 4, 0]


class Stranger:
    def initial(self, *batch: int) -> tuple:
        del batch
        return ()


@pytest.mark.parametrize(
    ("player", "told"),
    [
        (Stranger(), "is not a pytree of arrays: Stranger"),
        ({"weights": jnp.zeros(3)}, "cannot act for a side of this game"),
        (Always.make(stag_hunt(), 0), "does not give a Distribution of this game's actions"),
        (Always(jnp.zeros(()), jnp.ones(()), ActionSpec(heads=(1, 2))), "does not give a Distribution of this game's"),
    ],
)
def test_what_cannot_play_is_refused_by_name(rps, player, told):
    with pytest.raises(ConfigError, match="'guest'") as caught:
        tournament(rps, {"guest": player, **bots(rps, "random")}, games=2)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("game", "told"),
    [
        (spread(), "found one side"),
        (matching_pennies(), "found unlike sides"),
        (stag_hunt(), "judged by returns"),
    ],
)
def test_games_without_two_equal_sides_that_win_or_lose_are_refused(game, told):
    with pytest.raises(ConfigError, match=told):
        tournament(game, bots(game, "random") | {"twin": Scripted.make(game, "random")})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"games": 3}, "games must be even"),
        ({"games": 0}, "games must be even"),
        ({"precision": 0.0}, "precision must lie"),
        ({"precision": 0.5}, "precision must lie"),
        ({"games": 32, "most_games": 30}, "most_games must be at least games=32"),
    ],
)
def test_numbers_that_cannot_be_are_refused(rps, options, told):
    with pytest.raises(ConfigError, match=told):
        tournament(rps, bots(rps, "random", "always_0"), **options)


def test_one_player_makes_no_tournament(rps):
    with pytest.raises(ConfigError, match="two players or more, found 1"):
        tournament(rps, bots(rps, "random"))


def test_the_likeliest_action_is_played_if_asked_for(rps):
    # 0.6 for paper: always paper, which always beats rock
    players = {"paper": Always.make(rps, 1, 0.6), **bots(rps, "always_0")}
    assert tournament(rps, players, games=20).won_MM[0, 1] < 20
    assert tournament(rps, players, games=20, deterministic=True).won_MM[0, 1] == 20


def test_chance_belongs_to_the_start_and_the_side():
    """The random numbers of home on side 0 and of away on side 0 are the same."""
    seating = room.swapped_sides(rock_paper_scissors().spec, 3)
    (home, _), (away, _) = room.action_noise(seating, jax.random.key(0), 2)
    assert home.shape == away.shape == (2, 1, 6, 1, 1)
    np.testing.assert_array_equal(home[:, :, :3], away[:, :, 3:])
    np.testing.assert_array_equal(home[:, :, 3:], away[:, :, :3])
    assert not np.array_equal(home, away)


def test_the_guide_s_own_opponent_plays(capsys):
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "tournaments.md").read_text()
    (example,) = (part.partition("```")[0] for part in guide.split("```python\n")[1:] if "class Stubborn" in part)
    exec(example, {"make": make, "tournament": tournament, "entrant": entrant})
    # Ten rounds each: the patient one plays rock five times and scissors five times, the other two and eight. Where
    # they differ, three times, rock beats scissors: the patient one always wins.
    rates = np.fromstring(capsys.readouterr().out.replace("[", " ").replace("]", " "), sep=" ").reshape(3, 3)
    assert rates[0, 1] == 0.0 and rates[1, 0] == 1.0 and 0 < rates[0, 2] < 1
