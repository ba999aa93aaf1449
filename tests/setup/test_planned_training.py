"""Stages in which learners look ahead: who plays, what they learn from, that a run goes on as if never stopped."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.nets.minds import Told
from sparring.opponent_models.config import MindConfig, PlanningConfig
from sparring.opponent_models.planning import Planner
from sparring.players.named import entrant, entrants, game_of, save_entrant
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.setup.planners import check_planner
from sparring.setup.program import LEARNED, PLANNED, RULES, compile_program, play
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir
from sparring.studies.against import against
from sparring.training.notices import WATCHED, notices
from sparring.training.record import metric_lines
from sparring.training.runs import resume, start, trained_state
from toy_players import quick

pytest.importorskip("mctx", reason="planning needs mctx: pip install 'sparring[planning]'")

STAGES = ("play=planner until steps > 60", "")
MIND = MindConfig(mind="belief", mind_size=4, mind_buffer=40, mind_batch=8, mind_updates=1)
CONFIG = RunConfig(
    game="stag_hunt", options=("size=4", "hunters=3", "hares=2", "walls=0", "steps=6"), total_steps=192, seed=3,
    play=PlayConfig(worlds=4, steps=4), net=NetConfig(hidden=(4,)), ppo=PPOConfig(epochs=1, minibatches=2),
    seats=SeatsConfig(share="seat"), evaluation=EvalConfig(eval_games=0, eval_first=False), mind=MIND,
    planning=PlanningConfig(plan_simulations=6, plan_goals=2), stages=STAGES,
    checkpoint=CheckpointConfig(checkpoint_every=1),
)  # fmt: skip
AFTER_A_BOT = replace(CONFIG, stages=("play=nearest_hare until steps > 20", *STAGES))
PLAIN = replace(CONFIG, stages=(), planning=PlanningConfig())


@cache
def prepared(config: RunConfig):
    """How its learners play a rollout, compiled once for all stages, and what they are when a run begins."""
    built = build(config)
    state, standing = (jax.tree.map(lambda x: x[0], part) for part in (first_state(built), built.standing))
    knobs, key = tuple(map(jnp.asarray, built.knobs(0))), jax.random.key(1)
    return (
        built,
        state,
        standing,
        quick(lambda state, orders: play(built.plan, built.game, state, built.rosters, orders, knobs, key)),
    )


def lived(config: RunConfig, stage: int):
    """What the learners lived in a first rollout, in NumPy, and the learners."""
    built, state, standing, go = prepared(config)
    rule = jax.tree.map(lambda x: x[0], built.rule_in(stage))
    learners, (rollout,), *_ = go(state, standing._replace(rule=rule))
    return jax.tree.map(np.asarray, rollout), learners[0].model.actor


def test_what_a_planner_chose_has_the_planner_s_probability_and_ratios_are_to_that():
    rollout, actor = lived(CONFIG, 0)
    given = np.take_along_axis(rollout.distribution.log_p_A, rollout.action.discrete_SD, -1)[..., 0]
    np.testing.assert_array_equal(rollout.log_prob_TWN, given)
    speak = quick(jax.vmap(lambda own, *seen: own(*seen)[0].log_p_A, (0, 1, 1, 1), 1))
    said = Told((), rollout.thought.said_NM)
    policy = np.asarray(speak(actor, rollout.features_TWNF, rollout.legal_TWNA, said))
    choice = rollout.legal_TWNA.sum(-1) > 1
    apart = np.abs(np.exp(policy) - np.exp(rollout.distribution.log_p_A)).max(-1)
    assert apart[choice & rollout.acting_TWN].max() > 0.1
    assert not np.exp(rollout.distribution.log_p_A)[~rollout.legal_TWNA].any()
    plain, _ = lived(CONFIG, 1)
    ratio = np.exp(np.take_along_axis(np.asarray(policy)[0], plain.action.discrete_SD[0], -1)[..., 0])
    np.testing.assert_allclose(ratio, np.exp(plain.log_prob_TWN[0]), rtol=1e-4)


def test_while_nobody_looks_ahead_all_is_as_without_a_planner():
    (waiting, _), (plain, _) = lived(CONFIG, 1), lived(PLAIN, 0)
    for name in ("features_TWNF", "log_prob_TWN", "value_TWN", "reward_TWN"):
        np.testing.assert_array_equal(getattr(waiting, name), getattr(plain, name), err_msg=name)
    np.testing.assert_array_equal(waiting.action.discrete_SD, plain.action.discrete_SD)
    assert build(PLAIN).plan == build(replace(PLAIN, stages=("",))).plan and build(PLAIN).plan.planning is None
    assert build(PLAIN).rule_in(0) is None and RULES not in build(CONFIG).rosters


def test_learners_that_look_ahead_learn_and_bots_may_play_before_them():
    built = build(AFTER_A_BOT)
    rows = [[int(rule[0, 0]) for rule in built.rule_in(stage)] for stage in range(3)]
    assert rows == [[0], [PLANNED], [LEARNED]]
    program, state, knobs = compile_program(built.plan), first_state(built), built.knobs(0)
    waits = []
    for stage in range(3):
        orders, before = built.standing._replace(rule=built.rule_in(stage)), np.array(state.learners[0].updates)
        state, report = program(
            built.game_of(stage), state, built.rosters, orders, knobs, np.asarray(built.seeds_R), jnp.asarray(stage)
        )
        (line,) = metric_lines(built, stage, report, ())
        moved = (np.array(state.learners[0].updates) > before).all()
        waits.append((line["hunter_0/waits"], bool(moved), (line["hunter_0/first_ratio_gap"] or 0) > 1e-3))
    assert waits == [(1, False, False), (0, True, True), (0, True, False)]
    assert program._cache_size() == 1, "who plays is no reason to compile again"


class KilledError(Exception):
    pass


def killing(iteration):
    def kill(moment):
        if moment.iteration == iteration:
            raise KilledError

    return kill


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "whole"
    start(AFTER_A_BOT, path)
    return path


@pytest.mark.parametrize("iteration", [1, 2, 3])
def test_whoever_played_when_a_run_was_killed_it_resumes_as_if_it_had_never_stopped(whole, tmp_path, iteration):
    """Killed while the bot plays, while the planner does, and while the learners do."""
    lines = [line for line in RunDir.open(whole).metrics() if line["kind"] == "train"]
    who = [(line["hunter_0/waits"], (line["hunter_0/first_ratio_gap"] or 0) > 1e-3) for line in lines]
    assert list(dict.fromkeys(who)) == [(1, False), (0, True), (0, False)], who
    with pytest.raises(KilledError):
        start(AFTER_A_BOT, tmp_path / "killed", on_iteration=killing(iteration))
    resume(tmp_path / "killed")
    runs = [RunDir.open(path) for path in (whole, tmp_path / "killed")]
    arrays, others = (load(run.checkpoints_path).arrays for run in runs)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert runs[0].metrics_path.read_bytes() == runs[1].metrics_path.read_bytes()


def test_a_learner_of_a_run_looks_ahead_where_its_name_says_so(whole):
    game = build(CONFIG).game
    text = f"{whole}:hunter_1+planner"
    assert game_of([text]) == (CONFIG.game, CONFIG.options)
    players = entrants([text, f"{whole}:hunter_1"], game, "stag_hunt", PlanningConfig(plan_simulations=7))
    planner, plain = players.values()
    assert list(players) == ["whole:hunter_1+planner", "whole:hunter_1"]
    assert isinstance(planner.policy, Planner) and planner.policy.config.plan_simulations == 7
    for a, b in zip(jax.tree.leaves(planner.policy.policy), jax.tree.leaves(plain.policy), strict=True):
        np.testing.assert_array_equal(a, b)
    arrays = load(RunDir.open(whole).checkpoints_path).arrays
    np.testing.assert_array_equal(
        planner.policy.critic.head.weight_IO, arrays["learners.0.model.critic.head.weight_IO"][0, 1]
    )
    assert float(planner.policy.discount) == pytest.approx(0.99)
    with pytest.raises(ConfigError, match="has a mind"):
        save_entrant(planner, whole / "no.safetensors")
    built, state = trained_state(RunDir.open(whole))
    scores = against(built, state, {"ahead": planner}, games=4, seed=1)
    assert {score.games for score in scores} == {4}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mind": MindConfig()}, "this learner has none. Train with --mind belief"),
        ({"net": NetConfig(memory="gru"), "ppo": PPOConfig(sequence=4, minibatches=2)}, "found memory=gru"),
        ({"ppo": replace(CONFIG.ppo, recompute_old=True)}, "recompute_old puts those of the policy"),
        ({"ppo": replace(CONFIG.ppo, target_kl=Schedule.parse(0.02))}, "Set target_kl to 0"),
        ({"ppo": replace(CONFIG.ppo, reward_scale=True)}, "reward_scale changes that"),
        ({"shaping": ("near_hare=0.1 -> 0",)}, "by shaping near_hare=0.1 -> 0. Train with --shaping near_hare=0"),
        ({"ppo": replace(CONFIG.ppo, shared_reward=Schedule.parse("1 -> 0"))}, "Train with --shared-reward 0"),
        ({"mind": replace(MIND, mind_control="zero")}, "mind_control=zero is no belief"),
        ({"mind": replace(MIND, mind_goals="combined")}, "found mind_goals=combined"),
        ({"mind": replace(MIND, mind_goals="subgoal")}, "found mind_goals=subgoal"),
        (
            {"ppo": replace(CONFIG.ppo, influence=Schedule.parse(0.1)), "mind": replace(MIND, mind_replies=True)},
            "by influence=0.1. Train with --influence 0",
        ),
        (
            {"ppo": replace(CONFIG.ppo, reward_scale=True), "mind": replace(MIND, mind_goals="combined")},
            "none where the game lists none. And: the critic must value what the game pays, and reward_scale",
        ),
        ({"game": "dogfight", "options": ()}, "discrete"),
        ({"stages": ()}, "needs a stage with play=planner"),
    ],
    ids=range(14),
)
def test_a_planner_that_cannot_play_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        build(replace(CONFIG, **changes))


def test_a_trained_learner_looks_ahead_if_at_the_end_it_was_paid_what_the_game_pays():
    spec, faded = build(CONFIG).game.spec, Schedule.parse("1 -> 0")
    ended = replace(PLAIN, ppo=replace(PLAIN.ppo, shared_reward=faded), shaping=("near_stag=2 -> 0",))
    check_planner(spec, ended)
    for change in ({"shaping": ("near_stag=2 -> 1",)}, {"ppo": replace(PLAIN.ppo, shared_reward=Schedule.parse(1))}):
        with pytest.raises(ConfigError, match="must value what the game pays"):
            check_planner(spec, replace(ended, **change))


def test_to_be_far_from_a_planner_is_no_reason_for_smaller_steps():
    built = build(CONFIG)
    line = {f"{name}/{key}": 0.0 for name in built.lineup.names for key in WATCHED} | {"seed": 3}
    line |= {"hunter_0/approx_kl": 0.9, "hunter_1/bad_minibatches": 1.0}
    assert [found["notice"] for found in notices(built, 0, [line])] == ["not_finite"]


def test_only_learners_of_runs_look_ahead():
    with pytest.raises(ConfigError, match="nearest_hare is no learner of a run"):
        entrant("nearest_hare+planner", build(CONFIG).game, "stag_hunt")
