"""Guns, and how fights end: outcome and cause of each side, worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from sky import chase, fight, head_on, hold, level, paid, vector

from sparring.core.records import Step
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.rules import BOUNDS, CAUSES, GROUND, GUN, TIMEOUT, Fight
from toy_players import quick

DUEL, PAIRS = dogfight(), dogfight_2v2()
one_step = quick(lambda game, state, action: game.step(state, action, ()))


def after(state: Fight, game: Dogfight = DUEL, steps: int = 1) -> tuple[Fight, Step]:
    for _ in range(steps):
        state, step = one_step(game, state, hold(game))
    return state, step


def ending(step: Step) -> tuple[list[int], list[str]]:
    return np.asarray(step.outcome_K).astype(int).tolist(), [CAUSES[cause] for cause in np.asarray(step.cause_K)]


def sinking(*heights: float, sink: float = 0.2) -> Fight:
    """Side by side, 5 km apart, going down by `sink` of their 250 m/s."""
    flight = level([(5000.0 * s, 0, height) for s, height in enumerate(heights)], [(0, 1)] * len(heights))
    down = [(0.0, np.sqrt(1 - sink * sink), -sink)] * len(heights)
    up = [(0.0, sink, np.sqrt(1 - sink * sink))] * len(heights)
    return fight(flight._replace(heading=vector(down), lift=vector(up)))


def test_a_head_on_pass_costs_nobody_anything() -> None:
    """Nobody is hit from ahead of the wings; as an option guns bite from everywhere, as in the AlphaDogfight trials:
    from 914 to 152 m at 450 m/s in 1.69 s at (914 - R) / 762 a second, 762 / 900 in all."""
    pass_by = fight(head_on(1140.0, speed=225.0))
    assert (after(pass_by, steps=20)[0].health_S == 1.0).all()
    game = dogfight(front_quarter_guns=True)
    np.testing.assert_allclose(after(pass_by, game, steps=25)[0].health_S, 1 - 762 / 900, atol=0.03)


def test_damage_is_that_of_the_range() -> None:
    """A tenth of a second at 533 m, half way between the ends: 0.05; hits are the damage given minus taken."""
    state, step = after(fight(chase(533.0)))
    np.testing.assert_allclose(state.health_S, [1.0, 0.95], atol=1e-3)
    np.testing.assert_allclose(paid(DUEL, step, "hits"), [0.05, -0.05], atol=1e-3)


@pytest.mark.parametrize(
    ("angle", "share"), [(0, 1.0), (40, 1.0), (60, 0.5 / 0.7), (80, 0.174 / 0.7), (95, 0.0), (180, 0.0)]
)
def test_damage_is_full_behind_the_target_and_nothing_ahead_of_its_wings(angle: float, share: float) -> None:
    """A quarter of a second's look at a target 533 m ahead that flies `angle` degrees off the line of fire: the cosine
    over 0.7, at most 1. It flies for 0.05 s before the first shot, so numbers are near."""
    course = np.radians(angle)
    flight = level([(0, 0, 5000), (0, 533.0, 5000)], [(0, 1), (np.sin(course), np.cos(course))], speed=60.0)
    assert 1.0 - after(fight(flight))[0].health_S[1] == pytest.approx(0.05 * share, abs=0.003)


@pytest.mark.parametrize(
    ("distance", "aside", "hurt"),
    [(140, 0, False), (165, 0, True), (900, 0, True), (925, 0, False), (600, 19.5, True), (600, 20.5, False)],
)
def test_the_zone_is_20_metres_about_the_line_of_the_gun_between_152_and_914_m(
    distance: float, aside: float, hurt: bool
) -> None:
    flight = level([(0, 0, 5000), (aside, distance, 5000)], [(0, 1), (0, 1)])
    state, _ = after(fight(flight))
    assert (float(state.health_S[1]) < 1.0) == hurt
    assert state.health_S[0] == 1.0


@pytest.mark.parametrize(("aside", "hurt"), [(9.5, True), (11.5, False)])
def test_without_width_the_zone_is_a_cone_of_1_degree(aside: float, hurt: bool) -> None:
    """1 degree at 600 m is 10.5 m to the side."""
    flight = level([(0, 0, 5000), (aside, 600, 5000)], [(0, 1), (0, 1)])
    assert (float(after(fight(flight), DUEL.with_rules(gun_width=0.0))[0].health_S[1]) < 1.0) == hurt


def test_nobody_shoots_backwards() -> None:
    apart = level([(0, 0, 5000), (0, 533.0, 5000)], [(0, -1), (0, 1)])
    assert (after(fight(apart))[0].health_S == 1.0).all()


def test_the_cone_and_the_damage_are_rules() -> None:
    state = fight(level([(0, 0, 5000), (100.0, 533.0, 5000)], [(0, 1), (0, 1)]))
    wide, _ = after(state, DUEL.with_rules(gun_cone=15.0, gun_damage=4.0))
    assert after(state)[0].health_S[1] == 1.0
    assert wide.health_S[1] == pytest.approx(0.8, abs=0.01)


def test_guns_are_silent_for_two_seconds() -> None:
    early, _ = after(fight(chase(533.0), played=19))
    late, _ = after(fight(chase(533.0), played=20))
    assert early.health_S[1] == 1.0 and late.health_S[1] < 1.0


def test_a_shot_down_side_loses() -> None:
    state, step = after(fight(chase(533.0), health=[1.0, 0.02]))
    assert ending(step) == ([1, -1], ["gun", "gun"])
    assert step.over and not step.cut
    np.testing.assert_array_equal(step.reward_S, [1.0, -1.0])
    np.testing.assert_array_equal(paid(DUEL, step, "defeat"), [0.0, -1.0])
    assert state.cause_S.tolist() == [TIMEOUT, GUN]


def test_who_kills_each_other_in_one_sub_step_draws() -> None:
    _, step = after(fight(head_on(600.0), health=[0.01, 0.01]), dogfight(front_quarter_guns=True))
    assert step.over and ending(step) == ([0, 0], ["gun", "gun"])
    assert (step.reward_S == 0.0).all()


def test_two_that_fly_at_each_other_alike_are_both_lost() -> None:
    """60 m apart at 500 m/s: 25 m a sub-step, so the first ends within 35 m and the second within 10."""
    _, step = after(fight(head_on(60.0)))
    assert step.over and ending(step) == ([0, 0], ["collision", "collision"])
    np.testing.assert_array_equal(paid(DUEL, step, "blunder"), [-1.0, -1.0])


def test_who_flies_into_the_tail_of_another_is_lost_and_the_other_is_not() -> None:
    behind = chase(40.0)._replace(speed_S=jnp.array([300.0, 100.0]))
    state, step = after(fight(behind))
    assert step.over and ending(step) == ([-1, 1], ["collision", "collision"])
    assert state.alive_S.tolist() == [False, True]


def test_who_turns_away_from_a_head_on_pass_is_not_at_fault() -> None:
    """The second flies 45 degrees off the line, the first straight at it: a cosine of 0.71 against 1."""
    turned = level([(0, 0, 5000), (0, 60, 5000)], [(0, 1), (1, -1)])
    assert ending(after(fight(turned))[1]) == ([-1, 1], ["collision", "collision"])


def test_a_pass_between_two_sub_steps_is_seen_and_one_beyond_the_bubble_is_none() -> None:
    """At 2 x 400 m/s, 40 m of way a sub-step, 25 and 35 m aside: closest in the middle of one."""
    for aside, hit in ((25.0, True), (35.0, False)):
        flight = level([(0, 0, 5000), (aside, 20.0, 5000)], [(0, 1), (0, -1)], speed=400.0)
        assert bool(after(fight(flight))[1].over) == hit


def test_friends_do_not_collide() -> None:
    places = [(0, 0, 5000), (10, 0, 5000), (5000, 0, 5000), (5010, 0, 5000)]
    assert after(fight(level(places, [(0, 1)] * 4)), PAIRS)[0].alive_S.all()


def test_a_second_behind_the_enemy_is_a_second_of_control() -> None:
    """Straight behind at 1,000 m: 1; at 2,750 m, half way from full to a quarter: 0.625; far away: 0.25. Nose to nose,
    or side by side with one heading, nobody has any."""
    for flight, wanted in (
        (chase(1000.0), 0.1), (chase(2750.0), 0.0625), (chase(8000.0), 0.025), (head_on(3000.0), 0.0),
        (level([(0, 0, 5000), (900, 0, 5000)], [(0, 1), (0, 1)]), 0.0),
    ):  # fmt: skip
        found = after(fight(flight))[0].control_S
        np.testing.assert_allclose(found, [wanted, -wanted], atol=1e-3)


def test_who_is_outflown_for_50_seconds_loses() -> None:
    """49.95 seconds of control, and a tenth of a second more."""
    state = fight(chase(1000.0))._replace(control_S=jnp.array([49.95, -49.95]))
    _, step = after(state)
    assert step.over and ending(step) == ([1, -1], ["outflown", "outflown"])
    assert not after(state._replace(control_S=jnp.array([49.5, -49.5])))[1].over


def test_time_gives_the_fight_to_who_is_ahead_in_health_and_control() -> None:
    """0.2 of health against 20 s of control (0.4); then 0.5 against it; then less than 0.05 apart, which is a draw."""
    late, control = DUEL.spec.longest - 1, jnp.array([20.0, -20.0])
    for health, wanted in (([0.6, 0.8], [1, -1]), ([0.4, 0.9], [-1, 1]), ([0.5, 0.92], [0, 0])):
        state = fight(head_on(6000.0), played=late, health=health)._replace(control_S=control)
        assert ending(after(state)[1]) == (wanted, ["timeout", "timeout"])


def test_flying_into_the_ground_loses_like_being_shot() -> None:
    _, step = after(sinking(302.0, 5000.0))
    assert step.over and ending(step) == ([-1, 1], ["ground", "ground"])
    np.testing.assert_array_equal(step.reward_S, [-1.0, 1.0])


def test_each_side_of_a_draw_has_its_own_cause() -> None:
    """The second, below the deck, shoots down the first in the sub-step in which it is lost itself."""
    low = level([(0, 533.0, 301.0), (0, 0, 299.0)], [(0, 1), (0, 1)])
    _, step = after(fight(low, health=[0.001, 1.0]))
    assert step.over and ending(step) == ([0, 0], ["gun", "ground"])


def test_who_is_shot_below_the_deck_was_shot() -> None:
    _, step = after(fight(level([(0, 533.0, 299.0), (0, 0, 305.0)], [(0, 1), (0, 1)]), health=[0.001, 1.0]))
    assert ending(step) == ([-1, 1], ["gun", "gun"])


def test_nothing_happens_after_the_sub_step_that_decides() -> None:
    """The first falls below 300 m in the first sub-step (2.5 m), the second would in the second."""
    state, step = after(sinking(302.0, 304.0))
    assert ending(step) == ([-1, 1], ["ground", "ground"])
    assert state.flight.place.z_S[1] > 300.0


def test_above_the_ceiling_is_lost() -> None:
    _, step = after(fight(level([(0, 0, 15_010.0), (3000.0, 0, 12_000.0)], [(0, 1), (0, 1)])))
    assert step.over and ending(step) == ([-1, 1], ["bounds", "bounds"])


def test_who_flies_away_loses_and_both_alike_draw() -> None:
    """10 km apart: one flies away while the other follows; then each flies away from the other."""
    _, step = after(fight(chase(10_100.0)))
    assert step.over and ending(step) == ([1, -1], ["bounds", "bounds"])
    apart = level([(0, 0, 5000), (0, 10_100.0, 5000)], [(0, -1), (0, 1)])
    state, step = after(fight(apart))
    assert step.over and ending(step) == ([0, 0], ["bounds", "bounds"])
    assert state.cause_S.tolist() == [BOUNDS, BOUNDS]
    assert not after(fight(chase(9_900.0)))[1].over


def test_time_is_an_end() -> None:
    state = fight(head_on(6000.0), played=DUEL.spec.longest - 2)
    state, step = after(state)
    assert not step.over
    _, step = after(state)
    assert step.over and not step.cut and ending(step) == ([0, 0], ["timeout", "timeout"])


def test_staying_alive_adds_up_to_1_over_the_longest_game() -> None:
    _, step = after(fight(chase(3000.0)))
    np.testing.assert_allclose(paid(DUEL, step, "survival"), 1 / 1800)


def test_who_is_behind_is_paid_for_every_second() -> None:
    """Posture is 1 at 500 m behind the enemy: a tenth of it in a tenth of a second."""
    _, step = after(fight(chase(500.0)))
    np.testing.assert_allclose(paid(DUEL, step, "pursuit"), [0.1, -0.1], atol=1e-3)


def test_a_blunder_is_what_no_enemy_did() -> None:
    assert paid(DUEL, after(sinking(302.0, 5000.0))[1], "blunder").tolist() == [-1.0, 0.0]
    assert paid(DUEL, after(fight(chase(10_100.0)))[1], "blunder").tolist() == [0.0, -1.0]
    assert not paid(DUEL, after(fight(chase(533.0), health=[1.0, 0.02]))[1], "blunder").any()


def pairs(**changes) -> Fight:
    """Two behind two, in columns 5 km apart: the third is the target of the first, the fourth of the second."""
    places = [(0, 0, 5000), (5000, 0, 5000), (0, 533, 5000), (5000, 533, 5000)]
    return fight(level(places, [(0, 1)] * 4))._replace(**changes)


def test_a_side_of_two_fights_on_until_its_last_is_gone() -> None:
    state, step = after(pairs(health_S=jnp.array([1.0, 1.0, 0.02, 1.0])), PAIRS)
    assert not step.over and state.alive_S.tolist() == [True, True, False, True]
    assert (step.reward_S == 0.0).all() and not step.left_S.any()
    seen = PAIRS.observe(state)
    assert seen.acting_S.tolist() == [True, True, False, True] and seen.present_S.all()
    state, step = after(state._replace(health_S=jnp.array([1.0, 1.0, 0.0, 0.02])), PAIRS)
    assert step.over and ending(step) == ([1, -1], ["gun", "gun"])
    np.testing.assert_array_equal(step.reward_S, [1.0, 1.0, -1.0, -1.0])


def test_a_lost_aircraft_stays_where_it_was_and_neither_shoots_nor_is_shot() -> None:
    """The first is gone: the third, ahead of it, is safe; its own target line is free of damage."""
    lost = pairs(alive_S=jnp.array([False, True, True, True]), cause_S=jnp.array([GROUND] + [TIMEOUT] * 3, jnp.int32))
    state, step = after(lost, PAIRS)
    assert state.health_S[2] == 1.0 and state.health_S[3] < 1.0
    assert state.flight.place.y_S[0] == 0.0 and state.flight.place.y_S[1] > 20.0
    assert paid(PAIRS, step, "hits")[0] == 0.0 and paid(PAIRS, step, "survival")[0] == 0.0
    assert state.cause_S[0] == GROUND


def test_friends_are_not_shot() -> None:
    """Four in one line, 533 m apart, each looking at the next: the second sees an enemy, the first a friend."""
    line = fight(level([(0, 533.0 * s, 5000) for s in range(4)], [(0, 1)] * 4))
    state, _ = after(line, PAIRS)
    assert (state.health_S < 1.0).tolist() == [False, False, True, False]


def test_rules_change_without_a_new_program() -> None:
    traces = []

    @quick
    def health(game: Dogfight, state: Fight):
        traces.append(1)
        return game.step(state, hold(DUEL), ())[0].health_S

    state = fight(chase(533.0))
    assert health(DUEL, state)[1] < 1.0
    assert health(DUEL.with_rules(gun_cone=0.0, gun_width=0.0), state)[1] == 1.0
    assert len(traces) == 1
