"""The compiled iteration: identities, not slots, decide what happens; nothing recompiles; settings are per learner."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.games.registry import make
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.play.roster import stack
from sparring.play.scripted import Scripted
from sparring.play.seating import Group, seat
from sparring.setup.beginning import Beginning, first_models, first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig, SeatsConfig
from sparring.setup.line_up import LineUp
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import (
    Orders,
    compile_program,
    live_row,
    own_family,
    seat_players,
    shadow_row,
    under_rules,
)
from sparring.store.checkpoints import Checkpoint
from sparring.training.warm_start import WarmStart, with_player


def run(built, program, iterations: int, state=None):
    state = first_state(built) if state is None else state
    for iteration in range(iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        seeds = jnp.asarray(built.seeds_R)
        state, report = program(built.game, state, built.rosters, built.standing, knobs, seeds, jnp.asarray(iteration))
    return state, report


def independent(tiny: RunConfig) -> RunConfig:
    return replace(tiny, seats=SeatsConfig(share="seat"))


def test_permuting_learners_with_their_ids_permutes_results_bit_for_bit(tiny, program):
    built, compiled = program(independent(tiny))
    order = [2, 0, 1]  # row i of the permuted stack holds learner order[i]
    spec = built.game.spec
    seating = seat(
        spec,
        built.plan.seating.seats_of_side,
        family_BK=[["net_1"] * 3],
        learner_BK=[[order.index(side) for side in range(3)]],
        worlds=tiny.play.worlds,
    )
    names = tuple(built.lineup.names[i] for i in order)
    permuted = replace(built, lineup=LineUp(seating, (names,)), plan=replace(built.plan, seating=seating))
    start = first_state(built)
    reordered = start._replace(
        learners=jax.tree.map(lambda x: x[:, np.asarray(order)], start.learners),
        cursor=start.cursor._replace(memory=jax.tree.map(lambda x: x[:, np.asarray(order)], start.cursor.memory)),
    )
    ended, report = run(built, compiled, 3)
    ended_permuted, report_permuted = run(permuted, compile_program(permuted.plan), 3, reordered)
    for x, y in zip(jax.tree.leaves(ended.learners), jax.tree.leaves(ended_permuted.learners), strict=True):
        np.testing.assert_array_equal(np.asarray(x)[:, order], np.asarray(y))
    for x, y in zip(jax.tree.leaves(report.tally), jax.tree.leaves(report_permuted.tally), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
    for x, y in zip(*map(jax.tree.leaves, (report.stats[0], report_permuted.stats[0])), strict=True):
        np.testing.assert_array_equal(np.asarray(x)[:, order], np.asarray(y))


def test_new_coefficients_and_iterations_compile_nothing(tiny, program):
    built, _ = program(tiny)
    compiled = compile_program(built.plan)
    run(built, compiled, 3)
    other = replace(built, settings=((replace(built.config.ppo, clip=Schedule.parse(0.1)),),))
    run(other, compiled, 2)
    assert compiled._cache_size() == 1


def test_a_seed_in_turn_or_side_by_side_with_others_trains_as_it_does_alone(tiny):
    built, alone = build(replace(tiny, seeds=2)), build(replace(tiny, seed=tiny.seed + 1))
    assert built.seeds_R.tolist() == [tiny.seed, tiny.seed + 1]
    in_turn, side_by_side = (
        jax.tree.leaves(run(built, compile_program(built.plan, at_once=at_once), 1)[0].learners)
        for at_once in (False, True)
    )
    single = jax.tree.leaves(run(alone, compile_program(alone.plan), 1)[0].learners)
    for of_both, at_once, of_one in zip(in_turn, side_by_side, single, strict=True):
        for found in (of_both, at_once):  # compilers fuse them in different ways, so the last bits differ
            np.testing.assert_allclose(found[1], of_one[0], rtol=1e-3, atol=1e-5)


def test_each_learner_has_its_own_settings(tiny, program):
    built, compiled = program(independent(tiny))
    frozen = build(replace(independent(tiny), each=("learning_rate=0,1e-3,0",)))
    before = jax.device_get(first_state(built).learners[0].model.actor.head.weight_IO)
    ended, _ = run(frozen, compiled, 1)
    moved = np.abs(np.asarray(ended.learners[0].model.actor.head.weight_IO) - before).max(axis=(0, 2, 3))
    assert moved[0] == 0 and moved[2] == 0 and moved[1] > 0


@pytest.mark.parametrize(
    ("each", "says"),
    [
        ("learning_rat=1,2,3", "learning_rate"),
        ("epochs=1,2,3", "Unknown coefficient"),
        ("clip=0.1,0.2", "each of the 3 learners"),
        ("clip=0.1,0.2,x", "Cannot read the schedule"),
    ],
)
def test_a_wrong_setting_for_single_learners_is_explained(tiny, each, says):
    with pytest.raises(ConfigError, match=says):
        build(replace(independent(tiny), each=(each,)))


def test_a_match_block_lets_only_the_chosen_side_learn(tiny, program):
    hunt = replace(tiny, game="particles:tag", seats=SeatsConfig(opponent="flee", side=0))
    built, compiled = program(hunt)
    assert built.lineup.names == ("predator",)
    assert built.steps_per_iteration == 4 * 4 * 3
    before = jax.device_get(first_state(built).learners)
    ended, _ = run(built, compiled, 1)
    assert len(ended.learners) == 1
    assert not np.array_equal(before[0].model.actor.head.weight_IO, ended.learners[0].model.actor.head.weight_IO)


def test_one_learner_takes_every_side_in_turn_against_a_bot(tiny):
    built = build(replace(tiny, game="kuhn", seats=SeatsConfig(opponent="equilibrium")))
    seating = built.plan.seating
    assert (seating.blocks, seating.worlds) == (2, 2)
    learning = [lane for i in seating.learning for row in seating.groups[i].lanes for lane in row]
    assert sorted(learning) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"play": PlayConfig(worlds=4, steps=5)}, "minibatches=3 does not divide the 20 rows .* Nearest that does: 2"),
        ({"net": {"memory": "gru"}}, "sequence=3 does not divide the 4 steps .* Nearest that does: 2"),
        ({"play": PlayConfig(worlds=0)}, "worlds must be at least 1, found 0"),
    ],
)
def test_shapes_that_do_not_divide_name_the_nearest_that_do(tiny, changes, says):
    if "net" in changes:
        changes = {"net": replace(tiny.net, **changes["net"])}
    with pytest.raises(ConfigError, match=says):
        build(replace(tiny, ppo=replace(tiny.ppo, minibatches=3, sequence=3), **changes))


@pytest.mark.parametrize(
    ("game", "seats", "says"),
    [
        ("particles:tag", SeatsConfig(share="all"), "sides that are alike"),
        ("particles:spread", SeatsConfig(opponent="nearest"), "nobody to oppose"),
        ("particles:tag", SeatsConfig(opponent="flee"), r"Choose the side .*: 0 \(predator\) or 1 \(prey\)"),
        ("particles:tag", SeatsConfig(opponent="fle", side=0), "Did you mean 'flee'"),
        ("particles:tag", SeatsConfig(side=1), "side=1 would do nothing: it needs an opponent"),
        ("particles:tag", SeatsConfig(opponent="flee", side=2), "side must be one of 0 to 1"),
    ],
)
def test_impossible_seatings_are_explained(tiny, game, seats, says):
    with pytest.raises(ConfigError, match=says):
        build(replace(tiny, game=game, seats=seats))


def test_first_weights_follow_the_seed_and_the_learner(tiny):
    built = build(independent(tiny))
    assert Beginning.of(built).players == ((0, 1, 2),)
    weights = [first_models(built, seed)[0].actor.head.weight_IO for seed in (0, 1, 0)]
    np.testing.assert_array_equal(weights[0], weights[2])
    assert len({row.tobytes() for stack in weights[:2] for row in stack}) == 6


def test_a_league_of_roles_has_one_past_and_learners_abreast_have_one_each(tiny):
    met = OpponentsConfig(current=Schedule.parse(0.5), history=Schedule.parse(0.5))
    pool, play = PoolConfig(pool_size=3), PlayConfig(worlds=16, steps=4, blocks=8)
    config = replace(tiny, game="kuhn", pool=pool, play=play)
    abreast = Beginning.of(build(replace(config, opponents=met, population=PopulationConfig(population=4))))
    league = Beginning.of(build(replace(config, roles=RolesConfig(mains=1, league_exploiters=1))))
    assert (abreast.pool, abreast.anew) == (12, False)
    assert (league.pool, league.anew) == (3, True)


def test_a_row_is_one_of_the_pool_a_shadow_or_a_learner_as_it_is_now():
    plan: Any = SimpleNamespace(ppo=SimpleNamespace(has_shadow=True), live=True)
    learners: Any = [
        SimpleNamespace(shadow=jnp.array([20 + i]), model=SimpleNamespace(actor=jnp.array([30 + i]))) for i in range(2)
    ]
    rows = jnp.array([2, shadow_row(0), shadow_row(1), live_row(0), live_row(1)])
    chosen = own_family(plan, tuple(learners), jnp.array([10, 11, 12]), rows)
    np.testing.assert_array_equal(chosen, [12, 20, 21, 30, 31])


def test_a_group_that_does_not_learn_is_driven_by_the_rows_that_were_ordered():
    group = Group("bots", (((0, 0),), ((1, 0),)), learns=False)
    plan: Any = SimpleNamespace(seating=SimpleNamespace(groups=(group,)), kinds=())
    roster = jnp.array([0, 10, 20])
    orders = Orders((jnp.array([2, 0]),), (jnp.array([5, 6]),), (None,), (None,), None, ())
    (driver,) = seat_players(plan, (), None, {"bots": roster}, orders, ())
    np.testing.assert_array_equal(driver.policy, [20, 0])
    np.testing.assert_array_equal(driver.ids_P, [5, 6])


def test_bots_know_the_rules_of_the_present_stage():
    game = make("kuhn")
    roster = stack([Scripted.make(game, "random")] * 2)
    informed = under_rules({"bots": roster}, game.with_rules(ante=5.0))["bots"]
    np.testing.assert_array_equal(informed.game.rules.ante, [5.0, 5.0])
    np.testing.assert_array_equal(roster.game.rules.ante, [1.0, 1.0])


META = {"players": [{"name": "learner", "group": 0, "row": 0}], "seeds": [7]}


def test_a_learner_that_starts_from_a_shadow_has_its_policy_and_the_critic_of_its_learner(tiny):
    shadowed = replace(tiny, game="kuhn", ppo=replace(tiny.ppo, shadow_tau=Schedule.parse(0.1)))
    group, other = (first_state(build(replace(shadowed, seed=seed))).learners[0] for seed in (0, 7))
    other = other._replace(shadow=jax.tree.map(lambda x: x + 3, other.shadow))
    checkpoint = Checkpoint(1, to_arrays({"learners": (other,)}), META, Path("other"))
    warm = with_player(group, 0, checkpoint, "learner.shadow", WarmStart(source="other"))
    for part, source in ((warm.model.actor, other.shadow), (warm.model.critic, other.model.critic)):
        for x, y in zip(*map(jax.tree.leaves, (part, source)), strict=True):
            np.testing.assert_array_equal(x, y)
    with pytest.raises(ConfigError, match="has no optimiser to go on with"):
        with_player(group, 0, checkpoint, "learner.shadow", WarmStart(source="other", keep_optimiser=True))


def test_a_learner_that_starts_from_another_has_that_one_as_its_shadow(tiny):
    """The average of one policy so far is that policy; a random one would oppose, anchor and be deployed."""
    shadowed = replace(tiny, game="kuhn", ppo=replace(tiny.ppo, shadow_tau=Schedule.parse(0.1)))
    group = first_state(build(shadowed)).learners[0]
    other = first_state(build(replace(tiny, game="kuhn", seed=7)))
    checkpoint = Checkpoint(1, to_arrays(other), META, Path("other"))
    warm = with_player(group, 0, checkpoint, "learner", WarmStart(source="other"))
    for shadow, source in zip(
        jax.tree.leaves(warm.shadow), jax.tree.leaves(other.learners[0].model.actor), strict=True
    ):
        np.testing.assert_array_equal(shadow, source)
