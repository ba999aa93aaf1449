"""The effect audit calls dead what is dead, names the part that is not wired, and lets be what works."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.audit.effects import judge, stages
from sparring.audit.effects.arms import Arm, Divergence, divergence
from sparring.audit.effects.judge import Measured, audit_effects, chance_alone, fault, look, yet_to_learn
from sparring.audit.effects.programs import Sameness, Traced, compared, traced
from sparring.audit.effects.reads import watched_settings
from sparring.audit.effects.wiring import Influence, Wire, probe
from sparring.audit.findings import FAULT, OPEN, SOUND
from sparring.audit.graph import Cuts, part_of, text_of
from sparring.audit.leaving_out import without
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.setup.build import build
from sparring.setup.own_code import trust

FAULTS, OWN = Path(__file__).parent / "faults.py", Path(__file__).parents[3] / "examples" / "own"
trust(FAULTS, OWN / "hyper.py", OWN / "loss.py")


@pytest.fixture(scope="module")
def plain(tiny):
    return replace(tiny, game="kuhn")


@pytest.fixture(scope="module")
def off(plain) -> Traced:
    return traced(build(plain))


def treated(plain, kind: str, *texts: str):
    return replace(plain, ppo=replace(plain.ppo, **{kind: tuple(f"{FAULTS}:{text}" for text in texts)}))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("modules", "wrong_method"),
        ("modules", "evaluation_only"),
        ("modules", "ignored"),
        ("modules", "alone"),
        ("losses", "stopped=0.1"),
    ],
)
def test_what_nothing_rests_on_is_the_same_program_on_the_same_inputs(plain, off, kind, text):
    assert compared(off, traced(build(treated(plain, kind, text)))).same


@pytest.mark.parametrize(("kind", "text"), [("modules", "waiting"), ("losses", "flat=0.1")])
def test_what_reaches_training_is_another_program(plain, off, kind, text):
    found = compared(off, traced(build(treated(plain, kind, text))))
    assert not found.same and not found.chance
    assert bool(found.added) == (kind == "modules")  # whose parameters what both have now reads


def test_a_coefficient_is_the_same_program_on_other_inputs(plain, off):
    found = compared(off, traced(build(replace(plain, ppo=replace(plain.ppo, entropy=Schedule.parse(0.5))))))
    assert found.program and found.inputs == ("knobs.0.entropy",) and not found.same


def test_the_example_of_a_misplaced_module_is_dead_by_proof_with_its_reason(plain):
    on = replace(plain, ppo=replace(plain.ppo, modules=(f"{OWN}/hyper.py:misplaced",)))
    audit = audit_effects(without(on, "misplaced"), on)
    assert (audit.verdict, audit.code) == ("DEAD (proved)", FAULT)
    assert "Misplaced.act is never called in training" in audit.summary
    outcome = {one.level: one.outcome for one in audit.findings}
    assert outcome["E0"] == outcome["E1"] == "PASS" and outcome["E2"] == outcome["E5 proof"] == "FAIL"
    assert {outcome[level] for level in ("E3", "E4", "E5 runs", "E6", "E7")} == {"SKIPPED"}


def test_a_setting_that_only_evaluations_read_is_dead_and_named(plain):
    audit = audit_effects(plain, replace(plain, evaluation=replace(plain.evaluation, eval_games=64)))
    assert audit.verdict == "DEAD (proved)" and audit.summary.startswith("Nobody reads eval")


def test_what_is_read_between_iterations_is_never_dead_by_proof(plain):
    proof, dead = stages.proof(Sameness(True, (), (), True, True), {"pool_size": ("1", "2")}, {})
    assert not dead and "read between iterations: pool_size" in proof.evidence
    assert stages.proof(Sameness(True, (), (), True, True), {"worlds": ("1", "2")}, {})[1]
    with pytest.raises(ConfigError, match="Only the length of the runs differs"):
        audit_effects(plain, replace(plain, total_steps=20_000))


def test_other_random_numbers_are_no_effect(plain):
    drawn = replace(plain, game=f"{FAULTS}:drawing", play=replace(plain.play, worlds=6))
    assert chance_alone(look(drawn, replace(drawn, options=("drawn=true",))))


@cache
def audited_together(plain):
    """Many modules at once, each with a fault of its own beside two that are sound: one audit that trains."""
    names = ("detached", "captured", "half_used", "both_zero", "static", "target", "sound")
    return audit_effects(plain, treated(plain, "modules", *names), frozen=("target",), updates=3)


def test_every_part_that_is_not_wired_is_named_and_no_other(plain):
    audit = audited_together(plain)
    assert audit.code == FAULT and audit.verdict.startswith("DISCONNECTED(")
    (found,) = (one for one in audit.findings if one.level == "E4")
    assert set(found.numbers["faults"]) == {
        "detached.dense.weight_IO", "detached.dense.bias_O", "captured.dense.weight_IO", "captured.dense.bias_O",
        "half_used.unused.weight_IO", "half_used.unused.bias_O", "both_zero.left", "both_zero.right",
    }  # fmt: skip
    wired = found.numbers["parameters"]
    assert (
        wired["sound.dense.weight_IO"]["losses"] == ("sound/loss",) and wired["detached.dense.bias_O"]["losses"] == ()
    )
    assert wired["both_zero.left"]["losses"] and wired["both_zero.left"]["gradient"] == 0.0
    assert found.numbers["moved"]["both_zero.left"] == 0.0
    assert "static.weights" in audit.summary


def test_a_muted_module_leaves_the_baseline_bit_for_bit(plain):
    (found,) = (one for one in audited_together(plain).findings if one.level == "E6")
    assert found.outcome == "PASS"


def test_what_a_normalisation_takes_away_is_a_fault_of_what_plays():
    wire = Wire(4, plays=True, used=True, losses=("policy_loss",), gradient=1e-9, optimiser="actor")
    rounding, small = Influence(1e-12, 3e-7, 4e-6), Influence(1e-12, 3e-7, 1e-3)
    assert not rounding.felt and small.felt
    assert "beyond rounding" in fault(wire, 0.01, felt=rounding.felt) and fault(wire, 0.01, felt=small.felt) == ""
    assert fault(wire._replace(plays=False), 0.01, felt=False) == "", "it may act by rewards"


def test_a_small_loss_is_a_fault_only_where_it_is_all_that_a_module_does():
    assert stages.influence({}, {"m": 1e-4}, {"m": ["loss"]}).outcome == "FAIL"
    assert stages.influence({}, {"m": 1e-4}, {"m": ["begin", "loss"]}).outcome == "PASS", "it may act by rewards"
    assert stages.influence({}, {"m": 1e-2}, {"m": ["loss"]}).outcome == "PASS"


def test_verdicts_of_runs_that_never_part_and_of_those_that_do():
    measured = Measured(None, (), 8, Path(), lambda *_: None)  # type: ignore[arg-type]
    never, parts = Divergence(None, None, None, 8), Divergence(None, 2, 1, 8, 0.01)
    rounded = Divergence(None, 1, 1, 8, 1e-8)  # one program, compiled in two ways
    assert measured.verdict(rounded, False, [], {})[:2] == ("DEAD (observed)", FAULT)
    assert measured.verdict(never, False, [], {})[:2] == ("DEAD (observed)", FAULT)
    assert measured.verdict(never, False, ["m"], {})[:2] == ("CONNECTED-NO-EFFECT (so far)", OPEN)
    assert measured.verdict(parts, True, [], {})[:2] == ("RNG-ONLY", FAULT)
    assert measured.verdict(parts, False, [], {"m.w": "never moves"})[:2] == ("DISCONNECTED(m.w)", FAULT)
    assert measured.verdict(parts, False, [], {})[:2] == ("CONNECTED", SOUND)
    assert measured.verdict(parts, False, [], {}, "Too small.")[:2] == ("CONNECTED-NO-EFFECT (next to none)", OPEN)
    assert Divergence(None, 1, None, 8).none, "what is logged differs, and no weight ever does"
    assert Divergence(3, 1, 1, 8, 1e-8).none and not Divergence(1, 1, 1, 8, 1e-8).none, "rounding flips a choice later"
    assert parts.first == 1 and stages.runs(parts, chance=False, waiting=()).outcome == "PASS"


def arm(*weights: float, play: tuple[int, ...] = (0, 0, 0)) -> Arm:
    """Of each update the only weight, and what is logged of its games."""
    states = [{"learners.main.model.w": np.array([weight])} for weight in weights]
    lines = [{"kind": "train", "seed": 0, "iteration": i, "games": games} for i, games in enumerate(play)]
    return Arm(lines, states)


def test_what_begins_as_a_rounding_may_grow_and_is_none_unless_games_parted_first():
    plain = arm(1.0, 1.0, 1.0)
    grows = divergence(plain, arm(1.0 + 1e-9, 1.0, 1.1))
    assert grows.weights == 1 and grows.distance == pytest.approx(0.1) and not grows.none, (
        "a weight of the loss that grows"
    )
    flipped = divergence(plain, arm(1.0 + 1e-9, 1.0, 1.1, play=(0, 0, 1)))
    assert flipped.play == 3 and flipped.distance == pytest.approx(1e-9, rel=1e-3) and flipped.none
    assert divergence(plain, arm(1.0, 1.0, 1.0)).first is None


def test_a_loss_weighs_what_its_schedule_gives_it_at_most(plain):
    assert probe(build(treated(plain, "losses", "flat=0 -> 0.1"))).weights == {"flat": 0.1}


def test_models_of_minds_that_learn_and_are_used_may_yet_matter():
    used = Wire(4, plays=False, used=True, losses=("mind/replies",), gradient=1e-3, optimiser="the mind's own")
    wired = {"actor.mind.replies.head.bias_O": used, "actor.mind.world.member_E.pays.bias_O": used, "modules.m.w": used}
    moved, equal = dict.fromkeys(wired, 0.1), Divergence(None, None, None, 8)
    rounded = equal._replace(weights=2, distance=6e-9)
    assert yet_to_learn(wired, moved, rounded) == ["actor.mind.replies", "actor.mind.world"]
    assert yet_to_learn(wired, moved, equal) == ["actor.mind.world"], "nothing is imagined before it knows the world"
    assert yet_to_learn(wired, dict.fromkeys(wired, 0.0), rounded) == []
    unused = {name: wire._replace(used=False) for name, wire in wired.items()}
    assert yet_to_learn(unused, moved, rounded) == []


def test_reads_are_told_with_the_reader_and_copies_and_checks_are_none(plain):
    with watched_settings() as readers:
        build(replace(plain, seed=3))
        assert plain.ppo == plain.ppo and hash(plain.ppo)
    assert "eval_deterministic" not in readers and "value_clip" in readers
    assert any("build" in reader for reader in readers["steps"])
    with pytest.raises(ConfigError, match="Unknown loss, module"):
        without(plain, "hyper")


def test_a_graph_holds_what_outputs_rest_on_through_loops_and_branches():
    def program(x, unused, key):
        def body(carry, _):
            total, dead = carry
            return (total + jax.lax.cond(total > 0, jnp.sin, jnp.cos, total), dead * 2), dead

        (total, dead), _ = jax.lax.scan(body, (x, unused), None, length=3)
        return total, dead, jax.random.uniform(key)

    jaxpr = jax.make_jaxpr(program)(1.0, 2.0, jax.random.key(0))
    assert part_of(jaxpr, (True, False, False)).reads == (True, False, False)
    assert part_of(jaxpr, (False, True, False)).reads == (False, True, False)
    assert part_of(jaxpr, (False, False, True)).reads == (False, False, True)
    assert part_of(jaxpr, (False, False, True), Cuts(chance=True)).reads == (False, False, False)


def test_what_a_later_round_of_a_loop_needs_is_needed_from_the_first():
    """x comes to the first place after two rounds, by way of the second; y stays where it is."""

    def program(x, y):
        return jax.lax.scan(lambda c, _: ((c[1], c[2], c[2], c[3]), None), (0.0, 0.0, x, y), None, length=2)[0]

    jaxpr = jax.make_jaxpr(program)(1.0, 2.0)
    assert part_of(jaxpr, (True, False, False, False)).reads == (True, False)


def test_a_while_loop_carries_its_test_and_a_constant_is_told_by_its_bytes():
    def program(x, y):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (x, y))

    jaxpr = jax.make_jaxpr(program)(0, 1.0)
    assert part_of(jaxpr, (False, True)).reads == (True, True) and part_of(jaxpr, (True, False)).reads == (True, False)

    def closed(constant):
        jaxpr = jax.make_jaxpr(lambda x: x + constant)(jnp.ones(3))
        return text_of(jaxpr, part_of(jaxpr, (True,)), ("x",))

    assert closed(jnp.arange(3.0)) == closed(jnp.arange(3.0)) != closed(jnp.arange(3.0) + 1)


def test_a_call_to_the_host_is_seen_wherever_it_stands():
    def program(x):
        def body(carry, _):
            return carry + jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), carry), None

        return jax.lax.scan(body, x, None, length=2)[0], x

    jaxpr = jax.make_jaxpr(program)(1.0)
    assert part_of(jaxpr, (True, False)).calls_host and not part_of(jaxpr, (False, True)).calls_host


def test_a_check_for_finite_numbers_is_a_guard_and_no_path():
    jaxpr = jax.make_jaxpr(lambda x, y: jnp.where(jnp.isfinite(y), x, 0.0))(1.0, 1.0)
    assert part_of(jaxpr, (True,)).reads == (True, False)
    assert part_of(jaxpr, (True,), Cuts(guards=False)).reads == (True, True)


def test_updates_and_seeds_are_what_the_command_says():
    assert (judge.UPDATES, judge.SEEDS) == (8, 8)
