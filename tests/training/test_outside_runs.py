"""Runs on environments of other people: the whole loop over worker processes."""

import os
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the toys of these tests have spaces of Gymnasium")

from sparring.cli.finish import where_time_went
from sparring.core.errors import ConfigError, GameError
from sparring.core.records import Observation
from sparring.evaluation.watch import watch
from sparring.games import outside
from sparring.games.outside import leases_in
from sparring.games.registry import make
from sparring.players.loaded import load
from sparring.recipes.defaults import default_config
from sparring.setup.build import build
from sparring.setup.config import EvalConfig, RunConfig, WorkersConfig
from sparring.setup.evaluations import with_evaluations
from sparring.setup.own_code import code_facts, trust
from sparring.setup.program import compile_program
from sparring.store.results import Results
from sparring.store.run_dir import RunDir
from sparring.training.runs import resume, start
from sparring.workers.leases import closed

sys.path.append(str(Path(__file__).parent.parent / "workers"))
import toy_environments

DUEL = "pettingzoo:toy_environments:Duel"


@pytest.fixture(scope="module", autouse=True)
def workers_end():
    trust("toy_environments")
    yield
    closed(make(DUEL).source)


def test_a_config_makes_no_code_run_that_nobody_named(tiny):
    with pytest.raises(ConfigError, match="pettingzoo:strangers:env is code, and code runs only when you name it"):
        build(replace(tiny, game="pettingzoo:strangers:env"))
    with pytest.raises(ConfigError, match="is code, and code runs only when you name it"):
        build(replace(tiny, game="pettingzoo:some/where/strangers.py:env"))
    assert code_facts(replace(tiny, game=DUEL)).keys() == {"toy_environments"}, "a run remembers which it was"
    assert code_facts(replace(tiny, game="pettingzoo:mpe2.simple_v3")) == {}


@pytest.fixture
def duel(tiny) -> RunConfig:
    """Four worlds of two workers, four steps each: every world plays one game in an iteration."""
    workers = WorkersConfig(num_workers=2, envs_per_worker=2)
    return replace(tiny, game=DUEL, total_steps=32 * 6, workers=workers, evaluation=EvalConfig(eval_games=8))


def test_a_run_trains_and_is_resumed_whoever_is_killed(duel, tmp_path):
    """Six iterations of four games; a worker dies in the midst. The two games in it are left out, unless it happens to
    die between two games, and every other is counted once."""
    leases = leases_in(build(duel).game)
    assert leases is not None

    def kill(moment) -> None:
        if moment.iteration == 2:
            os.kill(leases.pool.workers[1].process.pid, signal.SIGKILL)

    summary = start(duel, tmp_path / "run", on_iteration=kill)
    assert summary.finished and {score.games for score in summary.scores} == {8}
    run = RunDir.open(tmp_path / "run")
    lines = [line for line in run.metrics() if line["kind"] == "train"]
    games, left_out = sum(line["games"] for line in lines), sum(line.get("games/left_out", 0) for line in lines)
    assert len(lines) == 6 and (games, left_out) in ((22, 2), (24, 0))
    texts = [line["text"] for line in run.metrics() if line["kind"] == "notice" and line["notice"] == "worker"]
    assert texts == ["Worker 1 ended by itself (signal 9). It was started again; the games in it were left out."]
    with Results(run.results_path) as results:
        assert sum(row.games for row in results.rows("train")) == 2 * games, "both sides of every game, once"
    timing = run.timing()[2]
    assert {"step", "wait", "infer", "update", "memory/0", "memory/1"} <= set(timing)
    assert re.fullmatch(r"2, up to \d+ MiB each; time: step \d+%, wait .*, update \d+%", where_time_went(run.timing()))
    assert where_time_went([{"iteration": 0, "seconds": 1.0}] * 3) == ""
    assert resume(tmp_path / "run", total_steps=32 * 8).iteration == 8
    later = [line["games"] for line in run.metrics() if line["kind"] == "train"][6:]
    assert later == [4, 4], "games begin again, and none is left out"
    check_in_a_loop_of_ones_own(tmp_path / "run")


def check_in_a_loop_of_ones_own(path: Path) -> None:
    """Asked agent by agent, the policy chooses what it chooses where workers show the same game."""
    run, env = load(path), toy_environments.Duel()
    choose, leases = run.agents(env), leases_in(run.game)
    seen, infos = env.reset(seed=7)
    shown = leases.look(np.asarray([[0, 7]], np.uint32), np.ones(1, bool))
    order = [int(row[2:].argmax()) for row in shown["features"][0]]  # seats change places: who sits where
    while env.agents:
        actions = {agent: choose(agent, seen[agent], infos.get(agent)) for agent in env.agents}
        found = run.act(Observation(*(shown[name][0] for name in ("features", "legal", "present", "acting"))))
        assert [actions[f"player_{agent}"] for agent in order] == found.discrete_SD[:, 0].tolist()
        seen, _, _, _, infos = env.step(actions)
        shown = leases.step(np.asarray([[0, 7]], np.uint32), *(np.asarray(part)[None] for part in found))
    with pytest.raises(GameError, match=r"Environments of other people draw themselves\. Make yours"):
        watch(run.game, ("a", "b"), {}, seed=0)
    with pytest.raises(ConfigError, match="There is no agent referee, the environment has player_0, player_1"):
        choose("referee", seen["player_0"])
    with pytest.raises(ConfigError, match="trained with the agents player_0, player_1, and this environment has early"):
        run.agents(toy_environments.Crew())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "options", "side", "steps"),
    [
        ("rllib:toy_environments:Handover", (), "judge", 20_000),
        ("smac:toy_environments:FakeSmac", ("health=20",), "agent", 60_000),
        ("jaxmarl:MPE_simple_spread_v3", (), "agent", 100_000),
        ("gymnasium:CartPole-v1", (), "agent", 60_000),
    ],
)
def test_environments_of_every_interface_are_learned(game, options, side, steps, tmp_path):
    """What was learned earns a tenth more than random play, at least. Agents of equal spaces change places, so that the
    judge's seat is anybody's."""
    if game.startswith("jaxmarl"):
        pytest.importorskip("jaxmarl", reason="environments of JaxMARL need jaxmarl")
    config = default_config(game, options=options, total_steps=steps, worlds=32, eval_games=100)
    start(config, tmp_path / "run")
    (last,) = RunDir.open(tmp_path / "run").last_evaluation()
    returns = {key: value for key, value in last.items() if key.startswith(f"return/{side}")}
    learned = next(value for key, value in returns.items() if f"{side}/learned" in key and key.count("learned") == 1)
    random = next(value for key, value in returns.items() if f"{side}/random" in key and "learned" not in key)
    assert learned > random + 0.1 * abs(random), returns


@pytest.mark.slow
def test_memory_stays_flat_while_games_come_and_go(tmp_path):
    """Two minutes of 8 workers with 2 environments each; what grows in the first is the interpreter's."""
    memory, until = [], time.monotonic() + 120
    config = default_config(DUEL, total_steps=10**12, num_workers=8, envs_per_worker=2, eval_games=0)

    def look(_) -> None:
        now, workers = time.monotonic(), leases_in(make(DUEL)).pool.workers
        if now > until - 60:
            memory.append((now / 60, sum(worker.memory for worker in workers) / 2**20))

    start(config, tmp_path / "run", on_iteration=look, should_stop=lambda: time.monotonic() > until)
    minutes, resident = zip(*memory, strict=True)
    slope = (resident[-1] - resident[0]) / (minutes[-1] - minutes[0])
    assert slope < 8.0, "MiB a minute of eight processes"


@pytest.mark.slow  # for its programs alone
def test_an_accelerator_gets_copies_and_seeds_side_by_side_play_the_same_games(duel, tmp_path, monkeypatch):
    def returns(path: Path) -> list:
        start(replace(duel, seeds=2), path)
        lines = [line for line in RunDir.open(path).metrics() if line["kind"] == "train"]
        return [(line["seed"], line["games"], line["return/player_0"]) for line in lines]

    here = returns(tmp_path / "cpu")
    for cached in (compile_program, outside.looked, outside.played):
        cached.cache_clear()
    jax.clear_caches()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert returns(tmp_path / "gpu") == here and len(here) == 2 * 6


READING = """
import jax.numpy as jnp
from sparring import Module

class Reading(Module):
    def buffers(self, worlds, seats):
        return jnp.zeros(4)

    def begin(self, buffers, rollout, key):
        return rollout.counts_TWNJ[..., 0].mean((1, 2)), rollout

    def loss(self, model, batch, found, key):
        return batch.counts[..., 0].mean()

    def measures(self, buffers):
        return {f"step_{t}": buffers[t] for t in range(4)}

def reading(seed, spec):
    assert spec.counts == ("clock",)
    return Reading()
"""


def test_numbers_in_the_infos_reach_rollouts_batches_and_metrics(duel, tmp_path):
    """Both seats learn: on average 1.5 clocks. In step 2 there is no number, so the last one stays."""
    path = tmp_path / "reading.py"
    path.write_text(READING)
    trust(path)
    ppo = replace(duel.ppo, modules=(f"{path}:reading",))
    clocked = replace(duel, game=f"{DUEL[:-4]}Clocked", total_steps=32, ppo=ppo, evaluation=EvalConfig(eval_games=0))
    start(clocked, tmp_path / "run")
    (line,) = (line for line in RunDir.open(tmp_path / "run").metrics() if line["kind"] == "train")
    assert [line[f"learner/own/reading/step_{t}"] for t in range(4)] == [1.5, 1.5, 4.5, 6.0]
    assert line["learner/own/reading/loss"] == pytest.approx(13.5 / 4)
    assert [value for key, value in line.items() if key.startswith("count/clock")] == [6.0]
    closed(make(clocked.game).source)


def test_what_an_environment_does_wrong_ends_the_run_with_a_sentence(duel, tmp_path):
    broken = replace(duel, options=("fault=nan",))
    with pytest.raises(GameError, match=r"toy_environments:Duel: In step 3 of a game agent player_1 sees a NaN"):
        start(broken, tmp_path / "run")


def test_what_needs_the_state_of_a_world_is_refused(duel, tiny):
    for changes, words in (
        (
            {"stages": ("gravity=1 until games > 3", "gravity=2")},
            "stages change the rules of a world, and pettingzoo:toy",
        ),
        (
            {
                "defeats": replace(duel.defeats, defeat_share=0.1),
                "opponents": replace(duel.opponents, history=type(duel.opponents.history).parse(0.5)),
            },
            "defeat_share starts games from old states, and pettingzoo:toy",
        ),
    ):
        with pytest.raises(ConfigError, match=words):
            build(replace(duel, **changes))
    with pytest.raises(ConfigError, match="for environments of other people, and particles:spread runs inside"):
        build(replace(tiny, workers=WorkersConfig(num_workers=3)))


def test_workers_and_their_environments_say_how_many_worlds_there_are(duel):
    built = build(duel)
    assert built.config.play.worlds == 4 == built.plan.seating.worlds * built.plan.seating.blocks


def test_a_tenth_of_the_steps_of_training_is_for_evaluations(duel):
    """Games of 4 steps of 2 seats in 4 line-ups: 78 of each, four times. Where games have no limit, the fewest."""
    short = replace(make(DUEL), spec=replace(make(DUEL).spec, longest=4))
    for game, found in ((short, (78, 4)), (make(DUEL), (32, 0))):
        tests = with_evaluations(game, replace(duel, total_steps=100_000, evaluation=EvalConfig())).evaluation
        assert (tests.eval_games, tests.eval_times) == found


def test_every_iteration_has_its_own_time(duel, tmp_path):
    """Programs with environments outside run to their end before the loop goes on. Timed when they are read, which is
    later, the first would have the time of two and the last none."""
    start(replace(duel, evaluation=EvalConfig(eval_games=0)), tmp_path / "run")
    lines = RunDir.open(tmp_path / "run").timing()
    assert len(lines) == 6 and all(line["step"] > 0.0 for line in lines)
