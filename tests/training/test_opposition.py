"""From the leagues' decisions to the worlds and back: who was named plays, whole games, and is credited with them."""

from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from echo_game import FIRST, Echo, echo, paid_by
from echo_run import KilledError, nothing_happened
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.curriculum import Standing
from sparring.league.gates import GateConfig
from sparring.league.members import live_ratings
from sparring.league.player import Player, packed
from sparring.league.state import Assignment, Career
from sparring.learn.config import Knobs, PPOConfig
from sparring.learn.ppo import update
from sparring.nets.config import NetConfig
from sparring.play.collect import collect
from sparring.play.rollout import Duels, Games, Rollout, duels
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.setup.program import seat_players, shadow_row
from sparring.store.checkpoints import load
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.apply import applied
from sparring.training.opposition import Faced, Opposition, meetings_of
from sparring.training.runs import resume, start
from toy_players import quick

BLOCKS, WORLDS, STEPS = 4, 3, 3
S = Schedule.parse
BASE = RunConfig(
    game="echo",
    total_steps=1000,
    play=PlayConfig(worlds=BLOCKS * WORLDS, steps=STEPS, blocks=BLOCKS),
    net=NetConfig(hidden=(8,), normalise=True),
    ppo=PPOConfig(epochs=1, minibatches=3),
)
BOTS_ALONE = OpponentsConfig(current=S(0.4), bots=S(0.6))
"""Of 4 blocks one always meets the learner itself, one does so at times, and two never."""
EVERYBODY = OpponentsConfig(current=S(0.25), shadow=S(0.25), history=S(0.25), bots=S(0.25))


class Moment(NamedTuple):
    """One rollout in NumPy, and what the league had decided for it."""

    decision: Assignment
    fresh_BW: np.ndarray
    """Before the rollout."""
    rollout: Rollout
    games: Games
    faced: list[Faced]

    def opponent(self, fresh: bool, block: int) -> Player:
        given = self.decision.blocks[block]
        return given.next.player if fresh else given.old.player

    def finished(self) -> list[tuple[int, int, int, Player]]:
        """Games that ended: step, block, world and the opponent."""
        places = zip(*map(np.ndarray.tolist, np.nonzero(self.games.finished_TBW)), strict=True)
        return [(t, b, w, self.opponent(self.games.fresh_TBW[t, b, w], b)) for t, b, w in places]


@pytest.fixture(scope="module")
def bots_alone() -> Built:
    return build(replace(BASE, opponents=BOTS_ALONE), game=echo())


@pytest.fixture(scope="module")
def moments(bots_alone) -> list[Moment]:
    """Rollouts against bots that give themselves away; most games span several rollouts."""
    plan, opposition = bots_alone.plan, Opposition.begin(bots_alone)
    learners, cursor, *_ = jax.tree.map(lambda x: x[0], first_state(bots_alone))
    knobs = tuple(map(jnp.asarray, bots_alone.knobs(0)))

    def play(cursor, orders, key):
        drivers = seat_players(plan, learners, None, bots_alone.rosters, orders, knobs)
        rollouts, cursor, games = collect(
            bots_alone.game, plan.seating, drivers, cursor, key, steps=STEPS, pairing=orders.pairing
        )
        return rollouts[0], cursor, games, duels(games, plan.seating, cursor.fresh_BW)

    compiled, found = quick(play), []
    for iteration in range(24):
        orders, _ = opposition.assign(iteration)
        (decision,) = opposition.decided[iteration]
        one = jax.tree.map(lambda x: x[0], orders)
        before = cursor
        rollout, cursor, games, own = jax.tree.map(np.asarray, compiled(cursor, one, jax.random.key(iteration)))
        faced = opposition.observe(iteration, Duels(*(x[None] for x in own)))
        found.append(Moment(decision, np.asarray(before.fresh_BW), rollout, games, faced))
    return found


def test_every_game_has_one_opponent_from_its_first_step_whose_memory_begins_blank(bots_alone, moments):
    home_B, met = bots_alone.plan.seating.home_B, set()
    for moment in moments:
        for t, b, w, player in moment.finished():
            if player.kind == "bot":
                length = int(moment.games.length_TBW[t, b, w])
                met.add((b, player.name, length > t + 1))
                assert moment.games.return_TBWS[t, b, w, home_B[b]] == paid_by(player.name, length)
    # Both bots in every block that faces others, also in games that began in an earlier rollout.
    assert met >= set(product((1, 2, 3), FIRST, (False, True)))


def test_worlds_change_opponents_at_different_times_and_only_then_is_the_block_given_another(moments):
    mixed = 0
    for before, after in pairwise(moments):
        fresh_TBW, shifted_B = after.games.fresh_TBW, np.asarray(after.decision.changed_B)
        mixed += int((fresh_TBW.any(2) & ~fresh_TBW.all(2)).sum())
        assert after.fresh_BW[shifted_B].all()  # everybody had moved on
        for shifted, then, now in zip(shifted_B, before.decision.blocks, after.decision.blocks, strict=True):
            assert (now.old if shifted else now.next).player == then.next.player
    assert mixed > 5


def test_results_go_to_the_player_that_drove_the_world(bots_alone, moments):
    home_B = bots_alone.plan.seating.home_B
    for moment in moments:
        expected: dict[tuple[int, Player], np.ndarray] = {}
        for t, b, w, player in moment.finished():
            outcome = moment.games.outcome_TBWK[t, b, w, home_B[b]]
            paid, length = moment.games.return_TBWS[t, b, w, home_B[b]], moment.games.length_TBW[t, b, w]
            row = np.array([1, outcome > 0, outcome == 0, outcome < 0, length, paid], float)
            expected[b, player] = expected.get((b, player), 0) + row
        told: dict[tuple[int, Player], np.ndarray] = {}
        for faced in moment.faced:
            row = faced.meeting
            assert (faced.seed, faced.learner, faced.side) == (0, "learner", home_B[row.block])
            assert (faced.kind, row.player.name) in {("self", "learner"), *(("bot", name) for name in FIRST)}
            counts = np.array([row.games, row.won, row.drawn, row.lost, row.length_sum, row.return_sum], float)
            told[row.block, row.player] = told.get((row.block, row.player), 0) + counts
        assert told.keys() == expected.keys()
        for key, counts in told.items():
            np.testing.assert_array_equal(counts, expected[key])


def mirrored(moment: Moment) -> np.ndarray:
    """own_TBW: where the learner drove the away side too."""
    old_B, next_B = (
        np.array([draw.player.kind == "learner" for draw in draws])[None, :, None]
        for draws in zip(*((block.old, block.next) for block in moment.decision.blocks), strict=True)
    )
    return np.where(moment.games.fresh_TBW, next_B, old_B)


def test_the_learner_has_experience_of_its_own_steps_and_of_no_others(bots_alone, moments):
    seating = bots_alone.plan.seating
    lanes = seating.groups[0].lanes[0]
    assert [lane for lane in lanes if lane[1] != seating.home_B[lane[0]]] == [(0, 1), (1, 0)]
    seen = {True: 0, False: 0}
    for moment in moments:
        mirrored_TBW = mirrored(moment)
        rollout = jax.tree.map(lambda x: x[:, 0].reshape(STEPS, len(lanes), WORLDS, *x.shape[3:]), moment.rollout)
        for x, (block, side) in enumerate(lanes):
            home = side == seating.home_B[block]
            own_TW = np.ones((STEPS, WORLDS), bool) if home else mirrored_TBW[:, block]
            np.testing.assert_array_equal(rollout.present_TWN[:, x, :, 0], own_TW)
            np.testing.assert_array_equal(rollout.acting_TWN[:, x, :, 0], own_TW)
            if home:
                continue
            # The home seat is paid what the away seat chose: that shows who really did.
            paid_TW = rollout.reward_TWN[:, lanes.index((block, 1 - side)), :, 0]
            chosen_TW = rollout.action.discrete_SD[:, x, :, 0, 0]
            np.testing.assert_array_equal(paid_TW[own_TW], chosen_TW[own_TW])
            seen[True] += int(own_TW.sum())
            seen[False] += int((paid_TW != chosen_TW)[~own_TW].sum())
    assert seen[True] > 50 and seen[False] > 20


def test_what_others_saw_and_did_moves_no_weight(bots_alone, moments):
    learner = jax.tree.map(lambda x: x[0, 0], first_state(bots_alone).learners[0])
    knobs = Knobs(*map(jnp.asarray, bots_alone.knobs(0)[0][0]))
    mixed = next(m for m in moments if 3 < (~m.rollout.present_TWN).sum() < m.rollout.present_TWN.size / 2)
    rollout = jax.tree.map(lambda x: x[:, 0], mixed.rollout)
    hidden_TW = ~rollout.present_TWN[..., 0]

    def scrambled(x):
        return np.where(hidden_TW.reshape(*hidden_TW.shape, *[1] * (x.ndim - 2)), np.asarray(5, x.dtype), x)

    parts = ("features_TWNF", "reward_TWN", "value_TWN", "next_value_TWN", "log_prob_TWN")
    other = rollout._replace(
        **{name: scrambled(getattr(rollout, name)) for name in parts},
        action=jax.tree.map(scrambled, rollout.action),
    )
    learn = quick(lambda rollout: update(learner, rollout, jax.random.key(0), knobs, bots_alone.plan.ppo, None)[0])
    plain, strange = learn(rollout), learn(other)
    for x, y in zip(jax.tree.leaves(plain), jax.tree.leaves(strange), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
    seen = learn(rollout._replace(features_TWNF=rollout.features_TWNF + 1))  # and its own steps do move it
    assert not np.array_equal(seen.model.actor.head.weight_IO, plain.model.actor.head.weight_IO)


def everybody(**changes) -> Built:
    config = replace(
        BASE,
        opponents=EVERYBODY,
        pool=PoolConfig(pool_size=3, snapshot_every=1),
        ppo=replace(BASE.ppo, shadow_half_life=S(10.0)),
        seeds=2,
    )
    return build(replace(config, **changes), game=echo())


def stamped(built: Built):
    """A state in which every row's weights tell who it is: the shadow 7, rows of the pool 100 and up, seeds 1000."""
    state = first_state(built)
    learner = state.learners[0]
    seed_R = np.arange(built.config.seeds) * 1000.0

    def marked(x, number_RP):
        return jnp.broadcast_to(number_RP.reshape(*number_RP.shape, *[1] * (x.ndim - 2)), x.shape).astype(x.dtype)

    shadow = jax.tree.map(lambda x: marked(x, seed_R[:, None] + 7), learner.shadow)
    pool = jax.tree.map(lambda x: marked(x, seed_R[:, None] + 100 + np.arange(x.shape[1])), state.pool)
    return state._replace(learners=(learner._replace(shadow=shadow),), pool=pool)


def ordered(built: Built, iterations: int, opposition: Opposition | None = None):
    """Orders and decisions of many iterations without playing them."""
    opposition = opposition or Opposition.begin(built)
    for iteration in range(iterations):
        orders, _ = opposition.assign(iteration)
        yield orders, opposition.decided[iteration], opposition
        opposition.observe(iteration, nothing_happened(built))


def weights_of(opposition: Opposition, r: int, player: Player) -> float:
    """The stamp of a player's weights; of a bot its first choice."""
    if player.kind == "bot":
        return FIRST[player.name]
    return 1000 * r + (7 if player.kind == "shadow" else 100 + opposition.leagues[r].state.pool.rows[player])


def test_the_weights_of_whom_the_league_named_sit_in_the_lane_it_named_them_for():
    built = everybody()
    seating, state = built.plan.seating, stamped(built)
    knobs = tuple(map(jnp.asarray, built.knobs(0)))
    others = [group for group in seating.groups if not group.learns]
    assert {(g.family, g.slot) for g in others} == set(product(("net_1", "bots"), ("old", "next")))
    kinds = set()
    for orders, decisions, opposition in ordered(built, 12):
        for r, decision in enumerate(decisions):
            own = jax.tree.map(lambda x, r=r: x[r], (state.learners, state.pool, orders))
            drivers = seat_players(built.plan, own[0], own[1], built.rosters, own[2], knobs)
            family_2B = np.asarray(own[2].pairing.family_2X)
            np.testing.assert_array_equal(own[2].pairing.shift_B, decision.changed_B)
            for group, driver in zip(seating.groups, drivers, strict=True):
                if group.learns:
                    continue
                slot = ("old", "next").index(group.slot)
                for p, ((block, _),) in enumerate(group.lanes):
                    player = getattr(decision.blocks[block], group.slot).player
                    expected = {"learner": 0, "bot": 2}.get(player.kind, 1)
                    assert family_2B[slot, block] == expected
                    assert int(driver.ids_P[p]) == (packed(player) if expected else 0)
                    if expected and seating.families[expected - 1] == group.family:
                        leaf = driver.policy.parameters_J if expected == 2 else driver.policy.head.weight_IO
                        assert np.asarray(leaf[p]).max() == weights_of(opposition, r, player)
                        kinds.add((r, group.slot, player.kind))
    assert kinds == set(product((0, 1), ("old", "next"), ("shadow", "past", "bot")))


def test_a_snapshot_is_the_learner_of_that_moment_in_the_row_that_the_league_named():
    built = everybody()
    opposition, state = Opposition.begin(built), stamped(built)
    _, events = opposition.assign(0)
    actor = state.learners[0].model.actor.head.weight_IO
    after = applied(state, events, opposition, pytest.fail)
    assert [len(own) for own in events] == [1, 1]
    for r, (event,) in enumerate(events):
        assert (event.player.kind, event.player.number) == ("past", 0)
        rows = np.asarray(after.pool.head.weight_IO)[r]
        np.testing.assert_array_equal(rows[event.row], np.asarray(actor)[r, 0])
        others = [row for row in range(3) if row != event.row]
        np.testing.assert_array_equal(rows[others], np.asarray(state.pool.head.weight_IO)[r, others])


def test_weakened_players_are_weakened_by_what_the_league_said_and_nobody_else_is():
    built = everybody(curriculum=CurriculumConfig(curriculum=True, curriculum_share=S(0.5)))
    opposition = Opposition.begin(built)
    league = opposition.leagues[1]  # two bots, then selves with 0.75 and 0.5625 of random actions
    league.state = replace(league.state, careers=(Career(standing=Standing(level=3)),))
    weak = set()
    for orders, decisions, _ in ordered(built, 9, opposition):
        others = [group for group in built.plan.seating.groups if not group.learns]
        for g, group in enumerate(others):
            for r, decision in enumerate(decisions):
                draws = [getattr(decision.blocks[block], group.slot) for ((block, _),) in group.lanes]
                np.testing.assert_array_equal(orders.epsilon[g][r], np.float32([draw.epsilon for draw in draws]))
                np.testing.assert_array_equal(orders.temperature[g][r], np.ones(len(draws)))
                weak |= {(r, block.old.player.kind, block.old.epsilon) for block in decision.blocks}
    assert {one for one in weak if one[2]} == {(1, "shadow", 0.75), (1, "shadow", 0.5625)}
    assert {(0, "bot", 0.0), (1, "past", 0.0)} <= weak


def test_opponents_of_a_branch_are_weakened_as_its_settings_say_and_their_games_are_marked():
    weakness = {"history_epsilon": S("0.2 -> 0.4"), "history_temperature": S(3.0), "bot_temperature": S("1 -> 2")}
    built = everybody(opponents=replace(EVERYBODY, **weakness), total_steps=8 * BLOCKS * WORLDS * STEPS)
    shown = set()
    for iteration, (_, decisions, _) in enumerate(ordered(built, 8)):
        progress = built.progress(iteration)
        for block in (block for decision in decisions for block in decision.blocks if block.since == iteration):
            kind, temperature, epsilon = block.next.player.kind, block.next.temperature, block.next.epsilon
            assert epsilon == pytest.approx(0.2 + 0.2 * progress if kind == "past" else 0.0)
            assert temperature == pytest.approx({"past": 3.0, "bot": 1.0 + progress}.get(kind, 1.0))
            met = meetings_of([block], one_game(1))[0]
            assert met.weakened == (kind == "past" or (kind == "bot" and progress > 0)) == block.next.weakened
            shown.add((kind, met.weakened))
    assert shown == {("learner", False), ("shadow", False), ("past", True), ("bot", False), ("bot", True)}


def one_game(blocks: int) -> Duels:
    """In each block one game against the next player, won in 5 steps for 2 points."""
    numbers = [1, 1, 0, 0, 5, 2.0, 4.0]
    return Duels(*(np.stack([np.zeros(blocks), np.full(blocks, x)]) for x in numbers), np.ones(blocks, bool))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"bot_epsilon": S("0 -> 1.5")}, r"bot_epsilon must be in \[0, 1\], found"),
        ({"history_epsilon": S(-0.1)}, r"history_epsilon must be in \[0, 1\], found -0.1"),
        ({"history_temperature": S(0.0)}, "history_temperature must be above 0, found 0"),
        ({"history_epsilon": S(0.1)}, "at full strength. Leave history_epsilon"),
    ],
)
def test_weakness_that_cannot_be_and_champions_that_are_weakened_are_refused(changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        everybody(opponents=replace(EVERYBODY, **changes), gates=GateConfig(gate="rate"))


class Slow(Echo):
    """Games are as long as the rules say."""

    def start(self, key):
        return super().start(key)._replace(length=self.rules.bonus.astype(jnp.int32))


def test_the_first_games_of_a_run_follow_the_rules_of_its_first_stage():
    game = Slow(*(getattr(echo(), name) for name in ("rules", "spec")))
    built = build(replace(BASE, stages=("bonus=3 until games > 9", "bonus=1")), game=game)
    assert float(Opposition.begin(built).game.rules.bonus) == 3.0
    np.testing.assert_array_equal(first_state(built).cursor.state.length, np.full((1, BLOCKS * WORLDS), 3))


def test_the_realised_mixture_is_the_one_that_was_asked_for():
    asked = {"self": 0.3, "shadow": 0.1, "past": 0.4, "bot": 0.2}
    shares = OpponentsConfig(current=S(0.3), shadow=S(0.1), history=S(0.4), bots=S(0.2))
    built = everybody(opponents=shares, pool=PoolConfig(pool_size=3, snapshot_every=10**6))
    counts = dict.fromkeys(asked, 0)
    for number, (orders, _, _) in enumerate(ordered(built, 240)):
        if number % 3:  # a report is read two iterations later: each draw stands for three
            continue
        for r in range(2):
            family_B = np.asarray(orders.pairing.family_2X)[r, 1]
            own = next(i for i, g in enumerate(g for g in built.plan.seating.groups if not g.learns)
                       if (g.family, g.slot) == ("net_1", "next"))  # fmt: skip
            row_P = dict(zip(built.plan.seating.changing, np.asarray(orders.rows[own])[r].tolist(), strict=True))
            for block, family in enumerate(family_B):
                past = "shadow" if row_P.get(block) == shadow_row(0) else "past"
                counts["self" if family == 0 else "bot" if family == 2 else past] += 1
    total = sum(counts.values())
    assert total == 80 * 2 * BLOCKS
    chi_square = sum((counts[kind] - share * total) ** 2 / (share * total) for kind, share in asked.items())
    assert chi_square < 11.34  # three degrees of freedom, 1 %


ITERATIONS, EVERY, KILLED = 26, 20, 24


def whole_config(net: NetConfig) -> RunConfig:
    """Everything that the opposition remembers: shadow, pool with evictions, bots, curriculum, stages, shaping."""
    per_iteration = 5 * WORLDS * STEPS  # one block of four always meets the learner itself, and both sides learn
    return replace(
        BASE,
        seeds=2,
        net=net,
        total_steps=ITERATIONS * per_iteration,
        opponents=replace(EVERYBODY, sampler="pfsp_var", bot_sampler="quality"),
        pool=PoolConfig(pool_size=3, snapshot_every=2 * per_iteration),
        curriculum=CurriculumConfig(curriculum=True, curriculum_share=S(0.5), level_games=5, climb_rate=0.2,
                                    retreat_rate=0.1),
        ppo=replace(
            BASE.ppo, shadow_half_life=S(10.0), reward_scale=True, sequence=20 if net.memory == "none" else STEPS
        ),
        shaping=("choice=0.1 -> 0", "age=0.5"),
        stages=("bonus=0.5 until games > 0", "bonus=0"),
        evaluation=EvalConfig(eval_every=10, eval_games=2),
        checkpoint=CheckpointConfig(checkpoint_every=EVERY),
    )  # fmt: skip


def kill(moment) -> None:
    if moment.iteration == KILLED:
        raise KilledError


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_run_with_every_kind_of_opponent_that_was_killed_and_resumed_equals_one_that_never_stopped(tmp_path, memory):
    config, game = whole_config(replace(BASE.net, memory=memory, memory_size=64 if memory == "none" else 8)), echo()
    whole = start(config, tmp_path / "whole", game=game)
    with pytest.raises(KilledError):
        start(config, tmp_path / "killed", game=game, on_iteration=kill)
    again = resume(tmp_path / "killed", game=game)
    assert whole.compilations <= 1 and again.compilations == 0
    runs = [RunDir.open(tmp_path / name) for name in ("whole", "killed")]
    arrays, others = (load(run.checkpoints_path).arrays for run in runs)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert load(runs[0].checkpoints_path).meta == load(runs[1].checkpoints_path).meta
    assert runs[0].metrics_path.read_bytes() == runs[1].metrics_path.read_bytes()
    assert sorted(read_results(runs[0].results_path)) == sorted(read_results(runs[1].results_path))
    lines = runs[0].metrics()
    saved = Opposition.restored(build(config, game=game), load(runs[0].checkpoints_path).meta["opposition"], {})
    last = [line for line in lines if line["kind"] == "train" and line["iteration"] == whole.iteration - 1]
    for line, league in zip(last, saved.leagues, strict=True):
        known = live_ratings(league.rules, league.state)
        assert known and {f"rating/{pair}": value for pair, value in known.items()}.items() <= line.items()
    assert {"snapshot", "evicted", "climbed"} <= {line.get("event") for line in lines}
    assert load(runs[0].checkpoints_path).meta["opposition"]["stage"]["number"] == 1  # passed after the checkpoint
