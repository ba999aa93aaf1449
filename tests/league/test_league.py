"""The league against worlds that are only counters: a game has a length and a chance of being won by the learner."""

import json
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.special import chdtrc

from sparring.core.errors import ConfigError, RunError
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.desk import received
from sparring.league.drawing import EMPTY, NOT_FINITE, UNSOLVED
from sparring.league.events import Climbed, Counted, Evicted, Joined, Kept, Retreated, SharesSet, Snapshot
from sparring.league.gates import GateConfig
from sparring.league.league import POSTPONED, League
from sparring.league.ledger import Fading, Score
from sparring.league.orders import Draw, Report, Result
from sparring.league.player import BOT, GUEST, LEARNER, PAST, SHADOW, Player, kind_of

NAMES = ("random", "meek", "ace")
MEEK, ACE = BOT + 1, BOT + 2


def mix(**settings) -> OpponentsConfig:
    shares = {name: Schedule.parse(settings.pop(name, 0.0)) for name in ("current", "shadow", "history", "bots")}
    return OpponentsConfig(**shares, **settings)


def setting(opponents, *, pool=None, curriculum=None, mirror=None, face=None, blocks=4, seed=0, total_steps=100_000):
    return {
        "opponents": opponents,
        "pool": pool or PoolConfig(snapshot_every=1000),
        "curriculum": curriculum or CurriculumConfig(),
        "bots": NAMES,
        "can_mirror_B": np.ones(blocks, bool) if mirror is None else np.array(mirror),
        "can_face_B": np.ones(blocks, bool) if face is None else np.array(face),
        "seed": Seed.of(seed),
        "total_steps": total_steps,
    }


def begin(opponents, **more) -> League:
    return League.begin(**setting(opponents, **more))


class Worlds:
    """Four worlds to a block. Each moves to the block's next player at its own restart."""

    def __init__(self, blocks, *, seed=0, length=lambda _: 3, rate=0.5):
        self.generator = np.random.default_rng(seed)
        self.length, self.rate = length, rate
        self.player = [[None] * 4 for _ in range(blocks)]
        self.left = self.generator.integers(1, 6, (blocks, 4)).tolist()
        self.moved = [[True] * 4 for _ in range(blocks)]

    def play(self, orders, iteration, *, steps=4) -> Report:
        rows = Counter()
        for b, worlds in enumerate(self.player):
            old, following = int(orders.old_B[b]), int(orders.next_B[b])
            if orders.changed_B[b]:
                assert all(self.moved[b]), "a block is given a player only when it is drained"
                self.moved[b] = [False] * 4
            for w in range(4):
                for _ in range(steps):
                    acting = following if self.moved[b][w] else old
                    assert worlds[w] in (None, acting), "nobody is replaced in the middle of a game"
                    worlds[w] = acting
                    self.left[b][w] -= 1
                    if self.left[b][w] == 0:
                        slot = "" if self.moved[b][w] else "old_"
                        chance, weak = (getattr(orders, f"{slot}{name}_B")[b] for name in ("probability", "weakened"))
                        won = self.generator.random() < self.rate
                        rows[b, acting, float(chance), won, bool(weak)] += 1
                        worlds[w], self.moved[b][w], self.left[b][w] = None, True, self.length(following)
        return self.report(rows, iteration)

    def report(self, rows, iteration) -> Report:
        results = [
            Result(b, player, probability, count, count * won, 0, count * (1 - won), weak)
            for (b, player, probability, won, weak), count in sorted(rows.items())
            if player != LEARNER
        ]
        return Report(iteration, tuple(results), tuple(all(moved) for moved in self.moved))


def run(league, iterations, worlds, *, steps=100, start=0):
    """Orders of each iteration; reports come one iteration late, as in training."""
    given, report = [], None
    for iteration in range(start, start + iterations):
        given.append(league.assign(iteration, iteration * steps / league.total_steps, iteration * steps))
        if report is not None:
            league.report(report)
        report = worlds.play(given[-1], iteration)
    return given


def same(one, other):
    for name in ("old_B", "next_B", "probability_B", "temperature_B", "epsilon_B", "changed_B"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        if f"old_{name}" in vars(one):
            np.testing.assert_array_equal(getattr(one, f"old_{name}"), getattr(other, f"old_{name}"))
    assert one.events == other.events


def kinds(orders_list):
    return Counter(kind_of(int(player)) for orders in orders_list for player in orders.next_B)


def test_the_plain_league_only_mirrors():
    league = begin(mix(current=1))
    given = run(league, 30, Worlds(4))
    assert kinds(given) == {"self": 120}
    assert not any(orders.changed_B.any() for orders in given[:1])


def test_a_block_that_can_only_mirror_never_faces_anybody():
    league = begin(mix(current=0.1, bots=0.9), face=[False, True, True, True])
    given = run(league, 40, Worlds(4))
    assert {int(orders.next_B[0]) for orders in given} == {LEARNER}
    assert kinds(given)["bot"] > 60


def test_the_first_players_are_there_from_the_first_step():
    orders = begin(mix(bots=1)).assign(0, 0.0, 0)
    np.testing.assert_array_equal(orders.old_B, orders.next_B)
    assert set(orders.next_B.tolist()) <= {MEEK, ACE}
    assert orders.next_B.dtype == np.uint32
    assert not orders.changed_B.any()
    np.testing.assert_array_equal(orders.probability_B, 0.5)


def test_the_realised_mix_is_the_configured_one_though_some_games_are_longer():
    """Drawn, and held over time: if the same player drawn again were held shorter, likely players would lose."""
    wanted = {"self": 0.5, "shadow": 0.2, "bot": 0.3}
    league = begin(mix(current=0.5, shadow=0.2, bots=0.3), blocks=5)
    lengths = {"self": 3, "shadow": 17, "bot": 9, "past": 3}
    given = run(league, 1200, Worlds(5, length=lambda player: lengths[kind_of(player)]), steps=0)
    held = kinds(given)
    drawn = Counter(kind_of(int(p)) for orders in given for p in orders.next_B[orders.changed_B])
    total = sum(drawn.values())
    statistic = sum((drawn[kind] - share * total) ** 2 / (share * total) for kind, share in wanted.items())
    assert total > 800
    assert chdtrc(2, statistic) > 0.001
    for kind, share in wanted.items():
        assert held[kind] / sum(held.values()) == pytest.approx(share, abs=0.05)


def test_a_block_gets_nobody_else_before_it_is_known_to_be_drained():
    league = begin(mix(bots=1), blocks=1)
    league.assign(0, 0, 0)
    league.report(Report(0, (), (False,)))
    assert not league.assign(1, 0, 0).changed_B.any()
    league.report(Report(1, (), (True,)))
    assert not league.assign(2, 0, 0).changed_B.any(), "the report of iteration 1 is read in 3"
    assert league.assign(3, 0, 0).changed_B.all()
    assert league.assign(4, 0, 0).changed_B.sum() == 0


def test_a_report_from_before_a_draw_does_not_drain_the_block_that_was_drawn():
    league = begin(mix(bots=1), blocks=1)
    for iteration in range(3):
        orders = league.assign(iteration, 0, 0)
        if iteration < 2:
            league.report(Report(iteration, (), (True,)))
    assert orders.changed_B.all()
    league.report(Report(2, (), (False,)))
    assert not league.assign(3, 0, 0).changed_B.any(), "iteration 1 was drained of an earlier player"
    assert not league.assign(4, 0, 0).changed_B.any()


def test_reports_are_read_two_iterations_later_and_never_sooner():
    league = begin(mix(bots=1, ladder=("ace",)), blocks=1)
    league.assign(0, 0, 0)
    league.report(Report(0, (Result(0, ACE, 1.0, 4, 3, 1, 0),), (True,)))
    league.assign(1, 0, 0)
    assert league.knowledge.ledger.score == {}
    league.assign(2, 0, 0)
    assert league.knowledge.ledger.score == {ACE: Score(3, 1, 0)}


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (Report(4, (), (True,)), "cannot be read"),
        (Report(7, (), (True,)), "cannot be read"),
        (Report(6, (), (True, True)), "all 1 blocks"),
        (Report(6, (Result(0, ACE, 1.0, 4, 3, 0, 0),), (True,)), "sum of won, drawn and lost"),
    ],
)
def test_a_report_that_cannot_be_right_is_refused(report, says):
    league = begin(mix(bots=1), blocks=1)
    league.assign(6, 0, 0)
    league.report(Report(5, (), (True,)))
    with pytest.raises(RunError, match=says):
        league.report(report)
    with pytest.raises(RunError, match="already reported"):
        league.report(Report(5, (), (True,)))


def test_the_opponent_that_was_drawn_is_the_one_that_plays():
    league = begin(mix(bots=1, ladder=("ace",)), blocks=1)
    league.assign(0, 0, 0)
    league.report(Report(0, (Result(0, MEEK, 1.0, 1, 1, 0, 0),), (True,)))
    league.assign(1, 0, 0)
    with pytest.raises(RunError, match="Check who acted there"):
        league.assign(2, 0, 0)


def test_an_iteration_is_ordered_once():
    league = begin(mix(bots=1))
    league.assign(3, 0, 0)
    with pytest.raises(RunError, match="the next is 4"):
        league.assign(3, 0, 0)


def test_an_empty_pool_never_raises_and_its_share_goes_to_the_current_self():
    league = begin(mix(current=0.2, history=0.8), blocks=8, pool=PoolConfig(snapshot_every=10**9))
    orders = league.assign(0, 0.0, 0)
    assert set(orders.next_B.tolist()) == {LEARNER}
    assert orders.events == (Counted(EMPTY),)
    assert league.counts[EMPTY] in (6, 7)


@pytest.mark.parametrize(
    ("opponents", "player"), [(mix(current=0.5, history=0.5), SHADOW), (mix(history=0.9, bots=0.1), MEEK)]
)
def test_with_an_empty_pool_a_block_that_cannot_mirror_meets_the_shadow_or_a_bot(opponents, player):
    league = begin(replace(opponents, ladder=("meek",)), mirror=[False] * 4)
    assert set(league.assign(0, 0.0, 0).next_B.tolist()) == {player}


def test_snapshots_fill_rows_of_the_pool_and_ids_are_never_used_twice():
    league = begin(mix(current=0.5, history=0.5), pool=PoolConfig(pool_size=3, snapshot_every=300))
    given = run(league, 200, Worlds(4))
    rows, ids, members = {}, [], {}
    for orders in given:
        for event in orders.events:
            if isinstance(event, Snapshot):
                assert event.row not in rows.values()
                rows[event.player.id] = event.row
                ids.append(event.player.id)
                members[event.player.id] = event.player.born
            elif isinstance(event, Evicted):
                assert rows.pop(event.player.id) == event.row
        playing = {int(player) for player in (*orders.old_B, *orders.next_B) if kind_of(int(player)) == "past"}
        assert playing <= set(rows), "a row is free only when no block plays its player"
        assert len(rows) <= 3
    assert ids == list(range(PAST, PAST + len(ids)))
    assert len(ids) > 40
    assert {player: league.row_of(player) for player in rows} == rows
    assert league.row_of(ids[0] + 10**6) is None


def test_a_pool_of_one_changes_its_member_though_it_always_plays():
    league = begin(mix(history=1), pool=PoolConfig(pool_size=1, snapshot_every=100))
    given = run(league, 60, Worlds(4))
    assert league.counts[POSTPONED] > 0
    assert sum(isinstance(event, Snapshot) for orders in given for event in orders.events) > 5
    assert sum(event == Counted(POSTPONED) for orders in given for event in orders.events) == 1, "told once"


def test_a_snapshot_can_be_taken_on_a_sure_win_and_joins_with_the_learners_rating():
    league = begin(
        mix(history=1), pool=PoolConfig(snapshot_every=10**9, snapshot_mark=0.7), blocks=1, total_steps=10**10
    )
    league.pool = begin(mix(history=1)).pool.joined_by(Player(id=PAST, name="first", kind="past", born=1), 0)
    league.pool = league.pool.joined_by(Player(id=GUEST, name="guest", kind="guest", born=9), 2)
    league.snapshots = 1
    league.assign(0, 0, 10)
    league.blocks[0] = replace(league.blocks[0], next=Draw(PAST), old=Draw(PAST))
    league.report(Report(0, (Result(0, PAST, 1.0, 40, 38, 0, 2),), (True,)))
    assert league.assign(1, 0, 20).events == ()
    (event,) = league.assign(2, 0, 30).events
    assert event == Snapshot(Player(id=PAST + 1, name="past-30", kind="past", born=30), 1)
    ledger = league.knowledge.ledger
    assert ledger.rating_of(PAST + 1) == ledger.rating_of(LEARNER) > 0
    assert league.knowledge.at_birth[PAST + 1][PAST] == ledger.rate(PAST) > 0.9


def test_everything_about_one_who_left_is_forgotten():
    league = begin(mix(current=0.3, history=0.7, sampler="quality"), pool=PoolConfig(pool_size=3, snapshot_every=100))
    sizes = []
    worlds = Worlds(4)
    for start in range(0, 500, 50):
        run(league, 50, worlds, start=start)
        sizes.append(len(json.dumps(league.state())))
    known = league.knowledge
    inside = {player.id for player in league.pool.players}
    assert set(known.quality) <= inside
    assert set(known.at_birth) <= inside
    assert set(known.ledger.score) <= inside
    assert set().union(*known.at_birth.values()) <= inside
    assert max(sizes[5:]) < 1.3 * max(sizes[:5])


def test_quality_uses_the_probability_of_the_draw_and_newcomers_the_highest_score():
    league = begin(mix(history=1, sampler="quality"), pool=PoolConfig(snapshot_every=10), blocks=1)
    league.assign(0, 0, 10)
    league.assign(1, 0, 20)
    league.report(Report(1, (Result(0, PAST, 0.05, 4, 3, 0, 1),), (True,)))
    league.assign(2, 0, 25)
    league.assign(3, 0, 25)
    assert league.knowledge.quality == pytest.approx({PAST: -3 * 0.01 / (2 * 0.05), PAST + 1: 0.0})
    league.assign(4, 0, 40)
    assert league.knowledge.quality[PAST + 2] == 0.0
    league.knowledge = replace(league.knowledge, quality={PAST: -3.0, PAST + 1: -1.0, PAST + 2: -2.0})
    league.assign(5, 0, 50)
    assert league.knowledge.quality[PAST + 3] == -1.0


def test_a_stored_probability_is_the_one_of_the_draw():
    league = begin(mix(bots=1, bot_sampler="pfsp_linear"), blocks=64)
    league.knowledge = league.knowledge.after({MEEK: Score(won=3, lost=1), ACE: Score(lost=1)}, 1.0)
    orders = league.assign(0, 0, 0)
    by_player = dict(zip(orders.next_B.tolist(), orders.probability_B.tolist(), strict=True))
    assert by_player == pytest.approx({MEEK: 0.2, ACE: 0.8})
    assert (orders.next_B == MEEK).sum() == pytest.approx(64 * 0.2, abs=10)


def test_every_bot_has_its_floor_of_the_whole():
    league = begin(mix(current=1, bot_floor=0.1, bot_sampler="latest"), blocks=1000)
    players = league.assign(0, 0, 0).next_B.tolist()
    assert players.count(MEEK) == pytest.approx(100, abs=35)
    assert players.count(ACE) == pytest.approx(100, abs=35)
    assert players.count(LEARNER) == 800


def test_the_late_sampler_takes_over_in_its_time():
    league = begin(
        mix(history=1, sampler="latest", late_sampler="window", late_from=0.5, window=3), blocks=60, total_steps=1000
    )
    for number in range(6):
        league.pool = league.pool.joined_by(Player(id=PAST + number, name="past", kind="past", born=number), number)
    early = League.begin(**setting(league.opponents, blocks=60)).restored(league.state())
    assert set(early.assign(0, 0.4, 0).next_B.tolist()) == {PAST + 5}
    assert set(league.assign(0, 0.5, 0).next_B.tolist()) == {PAST + 3, PAST + 4, PAST + 5}


def test_nash_plays_the_equilibrium_of_what_past_selves_showed_at_birth():
    league = begin(mix(history=1, sampler="nash"), blocks=300)
    for number in range(3):
        league.pool = league.pool.joined_by(Player(id=PAST + number, name="past", kind="past", born=number), number)
    rates = {
        PAST + 1: {PAST: 0.9},
        PAST + 2: {PAST: 0.1, PAST + 1: 0.9},
    }  # each beats the one before, the first the last
    league.knowledge = replace(league.knowledge, at_birth=rates)
    orders = league.assign(0, 0, 0)
    np.testing.assert_allclose(orders.probability_B, 1 / 3, atol=1e-6)
    league.knowledge = replace(league.knowledge, at_birth={PAST + 1: {PAST: 0.9}, PAST + 2: {PAST: 0.9, PAST + 1: 0.9}})
    fresh = League.begin(**setting(league.opponents, blocks=300)).restored({**league.state(), "iteration": None})
    fresh.blocks = [replace(block, drained=True) for block in fresh.blocks]
    assert set(fresh.assign(0, 0, 0).next_B.tolist()) == {PAST + 2}


def test_a_solver_that_fails_and_a_rate_that_is_not_finite_are_counted_and_told_once(monkeypatch):
    from sparring.ratings import nash
    from sparring.ratings.payoff import RatingError

    def fails(_):
        raise RatingError("no")

    monkeypatch.setattr(nash, "nash", fails)
    league = begin(mix(history=1, sampler="nash"))
    league.pool = league.pool.joined_by(Player(id=PAST, name="past", kind="past"), 0)
    fading = {PAST: Fading(float("nan"), 0.0, 1.0)}
    league.knowledge = replace(league.knowledge, ledger=replace(league.knowledge.ledger, fading=fading))
    assert set(league.assign(0, 0, 0).events) == {Counted(UNSOLVED), Counted(NOT_FINITE)}
    assert league.counts == {UNSOLVED: 1, NOT_FINITE: 1}
    assert json.loads(json.dumps(league.state()["counts"])) == {UNSOLVED: 1, NOT_FINITE: 1}


LED = CurriculumConfig(curriculum=True, level_games=20)


def test_a_beginner_meets_the_weakest_bot_alone_and_climbs_to_the_normal_mixture():
    league = begin(mix(current=0.5, shadow=0.5), curriculum=LED, blocks=8)
    given = run(league, 300, Worlds(8, rate=0.9))
    assert kinds(given[:1])["bot"] == 4
    assert set(given[0].next_B.tolist()) == {LEARNER, MEEK}
    climbed = [event.level for orders in given for event in orders.events if isinstance(event, Climbed)]
    assert climbed[0] == "ace"
    assert climbed[-1] == "full strength"
    assert len(climbed) == 6
    assert kinds(given[-1:]) == {"self": 4, "shadow": 4}
    epsilons = [float(orders.epsilon_B.max()) for orders in given]
    assert max(epsilons) == 0.75
    assert epsilons[-1] == 0.0


def test_one_who_only_loses_at_full_strength_retreats_to_weakened_selves():
    league = begin(mix(current=0.5, shadow=0.5), curriculum=LED, blocks=8)
    league.standing = replace(league.standing, level=6)
    given = run(league, 20, Worlds(8, rate=0.0))
    events = [event for orders in given for event in orders.events]
    assert Retreated("self with 0.188 of random actions") in events
    assert max(float(orders.epsilon_B.max()) for orders in given) >= 0.1875


def test_games_of_a_weakened_self_count_for_the_level_but_not_for_the_player():
    league = begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=2)
    league.standing = replace(league.standing, level=2)
    run(league, 20, Worlds(2, rate=1.0))
    assert league.standing.score.won > 20
    assert SHADOW not in league.knowledge.ledger.score


def test_where_two_draws_of_a_player_differ_in_strength_its_games_count_for_neither():
    league = begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=1)
    league.standing = replace(league.standing, level=3)
    league.assign(0, 0, 0)
    league.blocks[0] = replace(
        league.blocks[0], old=Draw(SHADOW, 1.0, 1.0, 0.75, 2), next=Draw(SHADOW, 1.0, 1.0, 0.5, 3)
    )
    league.report(Report(0, (Result(0, SHADOW, 1.0, 9, 9, 0, 0),), (False,)))
    league.assign(1, 0, 0)
    league.assign(2, 0, 0)
    assert league.standing.score == Score()


def test_games_from_before_a_draw_belong_to_what_was_played_then():
    league = begin(mix(shadow=1), curriculum=replace(LED, level_games=1000), blocks=1)
    league.standing = replace(league.standing, level=3)
    for iteration in range(3):
        league.assign(iteration, 0, 0)
        league.report(Report(iteration, (), (True,))) if iteration == 0 else None
    assert league.blocks[0].since == 2
    league.blocks[0] = replace(league.blocks[0], old=Draw(SHADOW, 1.0, 1.0, 0.5, 3), next=Draw(SHADOW))
    league.report(Report(1, (Result(0, SHADOW, 1.0, 9, 9, 0, 0, weakened=True),), (True,)))
    league.assign(3, 0, 0)
    assert league.standing.score == Score(won=9), "the one at full strength had not begun"
    assert league.knowledge.ledger.score == {}


def test_a_curriculum_needs_no_past_self_and_its_draws_do_not_touch_scores_of_quality():
    league = begin(mix(current=0.5, history=0.5, bot_sampler="quality"), curriculum=LED, blocks=8)
    orders = league.assign(0, 0, 0)
    assert Counter(orders.next_B.tolist()) == {LEARNER: 4, MEEK: 4}
    assert EMPTY not in league.counts
    block = orders.next_B.tolist().index(MEEK)
    league.report(Report(0, (Result(block, MEEK, 1.0, 9, 9, 0, 0),), (False,) * 8))
    league.assign(2, 0, 0)
    assert league.knowledge.ledger.score == {MEEK: Score(won=9)}
    assert set(league.knowledge.quality.values()) == {0.0}


def test_the_level_below_is_played_by_a_fifth_and_its_games_do_not_count_for_the_level():
    league = begin(mix(shadow=1), curriculum=replace(LED, level_games=10**6), blocks=1000)
    league.standing = replace(league.standing, level=1)
    orders = league.assign(0, 0, 0)
    counts = Counter(orders.next_B.tolist())
    assert set(counts) == {MEEK, ACE}
    assert counts[MEEK] == pytest.approx(200, abs=45)
    assert set(orders.probability_B[orders.next_B == ACE].tolist()) == {0.8}
    rows = tuple(Result(b, int(player), 0.8, 1, 1, 0, 0) for b, player in enumerate(orders.next_B))
    league.report(Report(0, rows, (False,) * 1000))
    league.assign(1, 0, 0)
    league.assign(2, 0, 0)
    assert league.standing.score == Score(won=counts[ACE])
    assert league.knowledge.ledger.score[MEEK] == Score(won=counts[MEEK]), "bots are never weakened"


def test_the_curriculum_governs_its_share_and_leaves_the_rest_to_the_mixture():
    curriculum = replace(LED, curriculum_share=Schedule.parse("1 -> 0"))
    league = begin(mix(current=0.5, shadow=0.5), curriculum=curriculum, blocks=400)
    counts = Counter(league.assign(0, 0.25, 0).next_B.tolist())
    assert counts == {LEARNER: 200, MEEK: 150, SHADOW: 50}


def test_without_a_shadow_the_newest_past_self_is_weakened():
    league = begin(mix(history=1), curriculum=replace(LED, weaken="temperature"), blocks=50)
    league.standing = replace(league.standing, level=2)
    first = league.assign(0, 0, 0)
    assert set(first.next_B.tolist()) == {SHADOW, ACE}, "nobody else is there yet"
    assert set(first.temperature_B.tolist()) == {1.0, 3.25}
    for number, kind in enumerate(("past", "past", "guest")):
        base = GUEST if kind == "guest" else PAST
        league.pool = league.pool.joined_by(Player(id=base + number, name="", kind=kind, born=number), number)
    league.blocks = [replace(block, drained=True) for block in league.blocks]
    assert set(league.assign(1, 0, 0).next_B.tolist()) == {PAST + 1, ACE}


def test_a_guest_joins_the_pool_and_leaves_when_its_games_have_ended():
    league = begin(mix(history=1), pool=PoolConfig(pool_size=2, snapshot_every=10**9), blocks=1, total_steps=10**10)
    guest = Player(id=league.next_guest, name="rival", kind="guest", born=0, pinned=True)
    assert league.add(guest) == Joined(guest, 0)
    assert "next guest is" in str(league.add(guest))
    other = replace(guest, id=league.next_guest, name="other")
    assert league.add(other) == Joined(other, 1)
    assert "is full" in str(league.add(replace(guest, id=league.next_guest)))
    assert "No player" in str(league.remove(5))
    playing = int(league.assign(0, 0, 0).next_B[0])
    idle = guest if playing == other.id else other
    assert league.remove(idle.id) == Evicted(idle, 0 if idle is guest else 1)
    assert "when its games have ended" in str(league.remove(playing))
    assert league.row_of(playing) is not None
    for iteration in range(1, 7):
        league.report(Report(iteration - 1, (), (True,)))
        orders = league.assign(iteration, 0, 0)
        if any(isinstance(event, Evicted) for event in orders.events):
            break
    assert league.row_of(playing) is None
    assert iteration == 4, "drained of it in 2, known in 4"
    made = setting(league.opponents, pool=league.pool_config, blocks=1)
    again = League.begin(**made).restored(json.loads(json.dumps(league.state())))
    assert again.next_guest == GUEST + 2, "ids are not used again"


def test_shares_set_by_hand_hold_from_now_on_and_over_an_interruption():
    league = begin(mix(current="1 -> 0", shadow="0 -> 1", bots=1), blocks=8)
    event = league.set_shares({"bots": 1.0}, 0.5)
    assert event == SharesSet({"current": 0.0, "shadow": 0.0, "history": 0.0, "bots": 1.0})
    again = League.begin(**setting(league.opponents, blocks=8)).restored(json.loads(json.dumps(league.state())))
    assert kinds([again.assign(0, 0.0, 0)]) == {"bot": 8}
    with pytest.raises(ConfigError, match="no pool"):
        begin(mix(current=1), pool=PoolConfig(pool_size=0)).set_shares({"history": 0.5}, 0.0)


def test_members_are_listed_with_what_is_known_of_them():
    league = begin(mix(history=0.5, bots=0.5), pool=PoolConfig(snapshot_every=1000))
    run(league, 50, Worlds(4, rate=0.8))
    listed = league.members()
    assert [member.player.name for member in listed[:3]] == ["shadow", "past-1000", "past-2000"]
    assert [member.player.name for member in listed[-2:]] == ["meek", "ace"]
    played = next(member for member in listed if member.games > 30)
    assert played.interval.low < 0.8 < played.interval.high
    assert played.interval.count == played.games
    assert listed[0].row is None
    assert listed[1].row == 0


EVERYTHING = mix(
    current=0.3, shadow=0.1, history="0.2 -> 0.4", bots=0.2, sampler="pfsp_var", late_sampler="quality", bot_floor=0.05
)


@pytest.mark.parametrize("eviction", ["oldest", "log_spaced", "redundant"])
@pytest.mark.parametrize("curriculum", [CurriculumConfig(), LED])
def test_an_interrupted_league_decides_as_the_uninterrupted_one(eviction, curriculum):
    made = setting(
        EVERYTHING,
        pool=PoolConfig(pool_size=4, snapshot_every=700, snapshot_mark=0.6, eviction=eviction),
        curriculum=curriculum,
        mirror=[True, True, True, False, True],
        face=[False, True, True, True, True],
        total_steps=20_000,
    )
    whole, resumed = League.begin(**made), League.begin(**made)
    worlds, generator = Worlds(5, length=lambda player: 2 + player % 5, rate=0.7), np.random.default_rng(5)
    late = []
    for iteration in range(200):
        if generator.random() < 0.2:
            resumed = League.begin(**made).restored(json.loads(json.dumps(resumed.state())))
        one = whole.assign(iteration, iteration / 200, 100 * iteration)
        same(one, resumed.assign(iteration, iteration / 200, 100 * iteration))
        report = worlds.play(one, iteration)
        for held in late:
            whole.report(held)  # the one league hears of it before the next orders, the other at once
        late = [report]
        resumed.report(report)
    assert whole.snapshots > 15
    assert json.dumps(whole.state()["knowledge"]) == json.dumps(resumed.state()["knowledge"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bots": ("random", "ace", "meek")}, "bots of the saved league"),
        ({"can_mirror_B": np.ones(3, bool), "can_face_B": np.ones(3, bool)}, "number of blocks"),
        ({"pool": PoolConfig(pool_size=1)}, "no row for"),
    ],
)
def test_a_league_is_not_restored_into_another_run(change, says):
    league = begin(mix(history=1), pool=PoolConfig(snapshot_every=100))
    run(league, 10, Worlds(4))
    with pytest.raises(RunError, match=says):
        League.begin(**{**setting(league.opponents), **change}).restored(league.state())


def test_whom_a_block_meets_does_not_follow_from_the_kind_it_was_given():
    """With one stream of numbers for both, a high number would mean a bot and always the last one."""
    met = Counter(
        int(begin(mix(current=0.5, bots=0.5), blocks=1, seed=seed).assign(0, 0.0, 0).next_B[0]) for seed in range(60)
    )
    assert set(met) == {LEARNER, MEEK, ACE}
    assert min(met.values()) >= 5, "15 of each bot are expected"


def test_a_report_is_kept_as_plain_numbers_as_after_an_interruption():
    counts = np.array([3, 2, 0, 1])
    report = Report(np.int64(0), (Result(0, ACE, np.float64(0.5), *counts),), tuple(np.ones(1, bool)))
    (kept,) = received([], report, blocks=1, last=0)
    assert json.loads(json.dumps(asdict(kept))) == {
        "iteration": 0,
        "rows": [[0, ACE, 0.5, 3, 2, 0, 1, False]],
        "drained_B": [True],
    }


def test_a_seed_decides_the_draws():
    opponents = mix(bots=1)
    one, same_seed, other = (begin(opponents, blocks=64, seed=seed).assign(0, 0, 0).next_B for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same_seed)
    assert not np.array_equal(one, other)


def test_events_are_plain_data_and_sentences():
    player = Player(id=PAST, name="past-30", kind="past", born=30)
    events = (Snapshot(player, 2), Joined(player, 1), Evicted(player, 0), Climbed("ace"), Retreated("meek"))
    for event in (*events, Counted("x"), SharesSet({"current": 0.25})):
        assert event.sentence().endswith(".")
        assert json.loads(json.dumps(event.to_dict()))["event"] == type(event).__name__.lower()
    assert Snapshot(player, 2).to_dict()["player"]["born"] == 30
    assert SharesSet({"current": 0.25}).sentence() == "Shares set by hand: current 0.25."
    assert Player.from_dict(player.to_dict()) == player


def test_a_gate_lets_the_learner_in_after_a_won_trial_and_counts_anew_after_a_lost_one():
    gates = GateConfig(gate="rate", gate_games=20, gate_rate=0.55)
    settings = setting(mix(history=1, sampler="latest"), pool=PoolConfig(pool_size=4), blocks=2)
    found = League.begin(**{**settings, "gates": gates, "from_birth": True})
    won = {0: 5, 1: 5, 2: 10, 3: 10, 4: 10, 5: 10}  # of ten games in each iteration
    said = []
    for iteration in range(9):
        if iteration == 4:  # in the middle of a trial
            revived = League.begin(**{**settings, "gates": gates, "from_birth": True})
            found = revived.restored(json.loads(json.dumps(found.state())))
        orders = found.assign(iteration, 0.0, 100 * iteration)
        said += [(iteration, type(event).__name__) for event in orders.events if isinstance(event, Snapshot | Kept)]
        champion = int(orders.next_B[0])
        wins = won.get(iteration, 5)
        found.report(Report(iteration, (Result(0, champion, 1.0, 10, wins, 0, 10 - wins),), (True, True)))
    # Read two iterations later: 10 of 20 by iteration 3 are not enough, 20 of the next 20 by iteration 5 are. Then the
    # games of iterations 4 and 5 were against the old champion, and the new one has met nobody yet.
    assert said[:3] == [(0, "Snapshot"), (3, "Kept"), (5, "Snapshot")]
