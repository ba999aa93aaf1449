"""What a loop of somebody else logs is judged by hand-made numbers; code is read for the shapes of known faults."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparring.audit.seats.crossed import seen_with
from sparring.audit.seats.logged import audit_file, audit_logs, read
from sparring.audit.seats.static import scan
from sparring.bridges.seat_log import SeatLog
from sparring.core.errors import ConfigError, RunError

AGENTS = ("player_1", "player_2", "player_3", "player_4")


def honest(rows):
    return {name: sum(row[name] for row in rows) for name in AGENTS}


def loop(
    seed=0, *, rates=(1.0, 1.0, 1.0, 1.0), rows=(50, 50, 50, 50), zero=(1, 1, 1, 1), gain=(0, 0, 0, 0), book=honest
):
    """A log of 200 episodes of four learners that change seats."""
    random, log = np.random.default_rng(seed), SeatLog(AGENTS, seed=seed)
    for name, rate, amount, zeros in zip(AGENTS, rates, rows, zero, strict=True):
        log.settings(name, {"rate": rate, "tom": {"my_id": name}})
        log.count(name, "rows", amount)
        log.share(name, "zero subgoals", 10 * zeros, 1000)
    for _ in range(200):
        order = random.permutation(4)
        earned = {name: float(random.normal()) + extra for name, extra in zip(AGENTS, gain, strict=True)}
        log.episode(earned, {AGENTS[seat]: AGENTS[learner] for seat, learner in enumerate(order)})
    log.check_logger(book)
    return log.plain()


def failing(audit):
    return [one.level for one in audit.findings if one.outcome == "FAIL"]


def test_an_even_loop_is_not_accused_and_not_called_symmetric():
    audit = audit_logs([loop(seed) for seed in range(3)])
    assert failing(audit) == [] and audit.verdict == "INCONCLUSIVE" and audit.code == 5


@pytest.mark.parametrize(
    ("wrong", "level", "verdict"),
    [
        ({"rates": (1.0, 1.1, 1.0, 1.0)}, "L0", "TRAINING-BIASED(settings)"),
        ({"rows": (50, 50, 50, 49)}, "L5", "TRAINING-BIASED(rows)"),
        ({"zero": (1, 1, 1, 40)}, "L5", "TRAINING-BIASED(zero subgoals)"),
        ({"gain": (1.0, 0, 0, 0)}, "L3", "ENV-BIASED"),
        ({"book": lambda rows: {k: max(-9.0, x) for k, x in honest(rows).items()}}, "L8", "LOGGING-BIASED"),
        ({"book": lambda rows: {**honest(rows), "player_2": honest(rows)["player_1"]}}, "L8", "LOGGING-BIASED"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_each_fault_is_found_by_its_level(wrong, level, verdict):
    audit = audit_logs([loop(seed, **wrong) for seed in range(3)])
    assert failing(audit) == [level] and audit.verdict == verdict and audit.code == 4


def fixed(gain, spread, episodes):
    """L2 of episodes of random play in which the first player is paid so much more."""
    random, log = np.random.default_rng(1), SeatLog(AGENTS, fixed=True)
    for _ in range(episodes):
        earned = 10 + spread * random.normal(size=4) + np.array([gain, 0, 0, 0])
        log.episode(dict(zip(AGENTS, earned.tolist(), strict=True)))
    audit = audit_logs([log.plain()])
    return audit, next(one for one in audit.findings if one.level == "L2")


def test_episodes_of_fixed_play_show_a_favour_a_margin_or_how_many_are_missing():
    audit, found = fixed(1.0, 2.0, 400)
    assert audit.verdict == "ENV-BIASED" and found.evidence.startswith(f"{AGENTS[0]} against ")
    audit, found = fixed(0.0, 0.2, 400)
    assert audit.verdict == "NO BIAS FOUND" and found.numbers["margin"] == 0.01
    audit, found = fixed(0.0, 2.0, 400)
    assert audit.verdict == "INCONCLUSIVE" and found.numbers["more_games"] > 1_000 and "more games" in audit.summary


def test_the_smallest_difference_that_changing_seats_shows_by_hand():
    # Chi-square with 3 degrees of freedom at 0.01 has a power of 0.8 at a noncentrality of 15.458.
    assert seen_with(768, 1.0, 4) == pytest.approx((15.458 / (768 * 0.75)) ** 0.5, rel=1e-3)
    assert seen_with(3072, 0.5, 4) == pytest.approx(seen_with(768, 1.0, 4) / 4)


def test_hooks_count_calls_and_steps_of_an_optimiser():
    class Policy:
        def train(self, rows):
            return rows or None

    class Optimiser:
        def step(self):
            return "stepped"

    log, policy, optimiser = SeatLog(AGENTS), Policy(), Optimiser()
    log.watch("player_1", policy, "train")
    log.watch_optimiser("player_1", optimiser, "policy")
    assert policy.train([1]) == [1] and policy.train([]) is None and optimiser.step() == "stepped"
    counts = log.plain()["counts"]["player_1"]
    assert counts == {"train calls": 2, "train gave nothing": 1, "optimiser steps of policy": 1}
    with pytest.raises(ConfigError, match="Did you mean 'train'"):
        log.watch("player_1", policy, "tain")


def test_an_optimiser_of_pytorch_is_counted_by_its_own_hook():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(1))
    optimiser, log = torch.optim.SGD([weight], lr=0.1), SeatLog(AGENTS)
    log.watch_optimiser("player_2", optimiser)
    for _ in range(3):
        weight.sum().backward()
        optimiser.step()
    assert log.plain()["counts"]["player_2"] == {"optimiser steps": 3}


def test_a_log_is_read_back_and_a_damaged_one_refused(tmp_path):
    log = SeatLog(AGENTS)
    log.episode(dict.fromkeys(AGENTS, 1.0))
    log.save(tmp_path / "seats.json")
    assert read(tmp_path / "seats.json") == json.loads(json.dumps(log.plain()))
    (tmp_path / "cut.json").write_text("{")
    (tmp_path / "other.json").write_text('{"version": 1}')
    for name in ("cut.json", "other.json", "none.json"):
        with pytest.raises(RunError, match=r"SeatLog\.save"):
            audit_file([tmp_path / name])
    with pytest.raises(ConfigError, match="player_4 is missing"):
        log.episode(dict.fromkeys(AGENTS[:3], 1.0))


def test_the_audit_of_a_loop_loads_no_jax():
    script = "import sys; import sparring.audit.seats.logged; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


SUSPICIOUS = """
def update(self, agents, players):
    for agent in agents:
        if not self.trajectories[agent]:
            return
        self.occupied = self.position[agent]
    for i, player in enumerate(players):
        self.pos[i] = 1
    self.marker[i] = 0
    if my_id == 1:
        self.warm = True
    rate = {"player_1": 0.1, "player_2": 0.2}
    if red_agent.on(coin):
        reward = 1
    elif blue_agent.on(coin):
        reward = -1
"""
HARMLESS = """
def update(self, agents):
    for agent in agents:
        self.buffer[agent].push(agent.rows)
        total = agent.total
    rates = {"actor": 0.1, "critic": 0.2}
    return [row for row in self.rows if row.id == agents]
"""


def test_known_shapes_of_faults_are_found_in_code_with_their_lines(tmp_path):
    path = Path(tmp_path) / "loop.py"
    path.write_text(SUSPICIOUS)
    found = {one.line: one.pattern for one in scan(path)}
    assert set(found) == {5, 6, 9, 10, 12, 13}
    assert "end before the last" in found[5] and "share" in found[6] and "used after it" in found[9]
    assert "one particular id" in found[10] and "for each agent" in found[12] and "wins a tie" in found[13]
    path.write_text(HARMLESS)
    assert scan(path) == []
