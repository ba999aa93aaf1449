"""Rewards, bots, samplers, networks, losses and modules of one's own: the examples, and what is refused."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core import code
from sparring.core.errors import ConfigError, RunError
from sparring.core.records import Action
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, load_toml, to_dict, to_toml
from sparring.games.contract import check_game
from sparring.games.own_parts import with_bot
from sparring.games.registry import make
from sparring.league.config import OpponentsConfig
from sparring.league.sampling import Field, probabilities, weights_by
from sparring.learn.config import COEFFICIENTS
from sparring.play.scripted import Scripted
from sparring.players.named import entrant
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import EvalConfig, RunConfig, SeatsConfig
from sparring.setup.named_arrays import to_arrays
from sparring.setup.own_code import named_code, trust
from sparring.setup.program import compile_program
from sparring.store.packages import PlayerMeta, write_package
from sparring.store.run_dir import RunDir
from sparring.training.runs import resume, start

OWN = Path(__file__).parents[2] / "examples" / "own"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(code, "_admitted", {})
    monkeypatch.setattr(code, "_loaded", {})
    trust(*OWN.glob("*.py"))


@pytest.fixture
def mine(tmp_path):
    """mine(text): a file of that text, that may be loaded."""

    def write(text: str) -> Path:
        path = tmp_path / f"mine_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        trust(path)
        return path

    return write


def test_the_game_that_seats_leave_keeps_the_contract():
    check_game(make(f"{OWN}/leave.py:leave"))
    check_game(make(f"{OWN}/leave.py:leave", seats=4), games=0)


def test_every_kind_of_code_is_found_in_a_config_and_survives_a_file(tiny, tmp_path):
    texts = [f"{OWN}/{name}" for name in (
        "leave.py:leave", "game_parts.py:calm", "game_parts.py:idle", "sampler.py:oldest", "network.py:again",
        "loss.py:floor", "opponent_model.py:foresight",
    )]  # fmt: skip
    game, reward, bot, sampler, body, loss, module = texts
    config = replace(
        tiny,
        game=game,
        shaping=(f"{reward}=0.1 -> 0",),
        opponents=OpponentsConfig(ladder=(bot,), sampler=sampler),
        net=replace(tiny.net, body=body),
        ppo=replace(tiny.ppo, losses=(f"{loss}=0.1",), modules=(module,)),
    )
    assert named_code(config) == tuple(texts)
    (tmp_path / "config.toml").write_text(to_toml(config))
    assert load_toml(RunConfig, tmp_path / "config.toml") == config
    for text in texts:
        code._admitted.clear()
        trust(*(one.partition(":")[0] for one in texts if one.partition(":")[0] != text.partition(":")[0]))
        with pytest.raises(ConfigError, match="code runs only when you name it"):
            build(config)


def test_a_name_that_is_neither_known_nor_code_is_refused_as_before(tiny):
    for table, key, word in (("opponents", "sampler", "unifrom"), ("net", "body", "simbaa")):
        plain = to_dict(tiny)
        plain[table][key] = word
        with pytest.raises(ConfigError, match=rf"{table}\.{key} must be one of"):
            from_dict(RunConfig, plain, where="test")


def test_a_reward_by_name_is_a_shaping_term_under_the_name_of_its_function(tiny):
    built = build(replace(tiny, game="particles:spread", shaping=(f"{OWN}/game_parts.py:calm=0.5 -> 0",)))
    terms = built.game.spec.terms_of("reward") + built.game.spec.terms_of("potential")
    weight_J = built.shaping_J(0)
    assert weight_J[terms.index("calm")] == 0.5 and built.shaping_J(built.iterations)[terms.index("calm")] == 0.0
    state = built.game.start(jax.random.key(0))
    action = Action(jnp.asarray([[0], [2], [1]]), jnp.zeros((3, 0)))
    _, step = built.game.step(state, action, built.game.chance(jax.random.key(1)))
    np.testing.assert_array_equal(step.terms_SJ[:, terms.index("calm")], [0.0, -1.0, -1.0])


def test_a_reward_must_give_a_number_for_each_seat(tiny, mine):
    path = mine("def total(before, action, after, step):\n    return step.reward_S.sum()\n")
    with pytest.raises(ConfigError, match=r"'total' must give one number for each of 3 seats, found \(\)"):
        build(replace(tiny, game="particles:spread", shaping=(f"{path}:total=1",)))


def test_a_bot_by_name_plays_beside_the_bots_of_the_game(tiny):
    text = f"{OWN}/game_parts.py:idle"
    built = build(replace(tiny, game="particles:tag", seats=SeatsConfig(opponent=text, side=0)))
    assert built.game.bots().names == (*make("particles:tag").bots().names, text)
    features_NF, legal_NA = jnp.ones((1, built.game.spec.features)), jnp.ones((1, 5), bool)
    own = Scripted.make(built.game, text)(features_NF, legal_NA, ())[0]
    assert np.asarray(jnp.exp(own.log_p_A))[0, 0] > 0.99
    for name in make("particles:tag").bots().names:
        theirs = Scripted.make(make("particles:tag"), name)(features_NF, legal_NA, ())[0].log_p_A
        np.testing.assert_array_equal(Scripted.make(built.game, name)(features_NF, legal_NA, ())[0].log_p_A, theirs)
    assert entrant(text, make("particles:tag")).sides == (0, 1)


def test_a_bot_keeps_the_contract_also_in_a_game_without_any_and_must_score_every_choice():
    game = with_bot(make(f"{OWN}/leave.py:leave"), code.load(f"{OWN}/game_parts.py:idle"), name="idle")
    check_game(game, worlds=2, games=1, eager=False)
    with pytest.raises(ConfigError, match=r"scores of shape \(1, 2\).*found \(\(1, 1\), \(1, 0\)\)"):
        with_bot(game, lambda _, legal_NA: legal_NA[:, :1] * 1.0, name="half")
    with pytest.raises(ConfigError, match="has a bot 'idle' already"):
        with_bot(game, lambda _, legal_NA: legal_NA * 1.0, name="idle")


def field_of(members: int) -> Field:
    who = np.ones((1, members), bool)
    blank = np.full((1, members), 0.5)
    return Field(who, blank, blank[0], blank[:, :1], blank, lambda places: np.zeros((len(places),) * 2))


def test_a_sampler_by_name_gives_the_weights(mine):
    weight = weights_by(f"{OWN}/sampler.py:oldest", field_of(4), OpponentsConfig())
    np.testing.assert_allclose(probabilities(weight, np.ones((1, 4), bool)), [[1 / 2.2, 1 / 2.2, 0, 0.2 / 2.2]])
    path = mine("def short(field, config):\n    return [1.0]\n")
    with pytest.raises(ConfigError, match=r"shape of field.who, \(1, 4\); found \(1,\)"):
        weights_by(f"{path}:short", field_of(4), OpponentsConfig())


def test_a_body_by_name_takes_the_place_of_the_hidden_layers(tiny, mine):
    net = replace(tiny.net, body=f"{OWN}/network.py:again", hidden=(8, 6))
    built = build(replace(tiny, game="kuhn", net=net))
    shapes = to_arrays(jax.tree.map(lambda x: np.zeros(x.shape), jax.eval_shape(lambda: first_state(built))))
    inputs = built.game.spec.features
    assert shapes["learners.0.model.actor.trunk.layers.0.layers.1.weight_IO"].shape == (1, 1, inputs + 8, 6)
    path = mine("class Flat:\n    width = 3\n    def __call__(self, x):\n        return x\ndef flat(seed, widths):\n"
                "    return Flat()\ndef none(seed, widths):\n    return None\n")  # fmt: skip
    for name, words in (("flat", "into its width of 3"), ("none", "must return a module with a whole number `width`")):
        with pytest.raises(ConfigError, match=words):
            first_state(build(replace(tiny, game="kuhn", net=replace(net, body=f"{path}:{name}"))))


def test_a_package_whose_network_is_code_never_makes_it_run(tiny, tmp_path):
    trace, spy = tmp_path / "it ran", tmp_path / "spy.py"
    spy.write_text(f"open({str(trace)!r}, 'w').close()\n" + (OWN / "network.py").read_text())
    net = replace(tiny.net, body=f"{spy}:again")
    meta = PlayerMeta(game="kuhn", net=to_dict(net), player="learner")
    path = write_package(tmp_path / "guest.safetensors", {"weight": np.zeros(100, np.float32)}, meta)
    with pytest.raises(ConfigError, match="code runs only when you name it"):
        entrant(str(path), make("kuhn"), "kuhn")
    assert not trace.exists()
    trust(path)
    with pytest.raises(RunError, match="has no array trunk"):  # as it says, its weights are of no network
        entrant(str(path), make("kuhn"), "kuhn")
    assert trace.exists()


def iterations(built, count):
    """The state and report after some iterations."""
    program, state, report = compile_program(built.plan), first_state(built), None
    for i in range(count):
        knobs = tuple(jnp.asarray(x) for x in built.knobs(i))
        seeds_R = jnp.asarray(built.seeds_R)
        state, report = program(built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(i))
    return state, report


def test_weights_of_losses_and_modules_follow_the_coefficients_and_shaping(tiny):
    ppo = replace(
        tiny.ppo, losses=(f"{OWN}/loss.py:floor=0.5 -> 0",), modules=(f"{OWN}/opponent_model.py:foresight=2",)
    )
    built = build(replace(tiny, game="particles:spread", ppo=ppo, shaping=("approach=3",)))
    knobs_H = built.knobs(0)[0][0]
    np.testing.assert_array_equal(knobs_H[len(COEFFICIENTS) :], [*built.shaping_J(0), 0.5, 2.0])
    assert built.knobs(built.iterations)[0][0][-2] == 0.0


MODULE = """
import jax.numpy as jnp
import equinox as eqx
from sparring import Module

class Counting(Module):
    aim: jnp.ndarray
    still: jnp.ndarray

    def buffers(self, worlds, seats):
        return {"games": jnp.zeros((), jnp.int32), "paid": jnp.zeros((worlds, seats))}

    def begin(self, buffers, rollout, key):
        paid = rollout.reward_TWN.sum(0)
        return {**buffers, "paid": paid}, rollout._replace(reward_TWN=0.0 * rollout.reward_TWN)

    def loss(self, model, batch, found, key):
        return ((self.aim - 3.0) ** 2).sum()

    def end(self, buffers, rollout, key):
        moved = eqx.tree_at(lambda m: m.still, self, self.still + rollout.reward_TWN.sum() + 1.0)
        return moved, {**buffers, "games": buffers["games"] + 1}

    def measures(self, buffers):
        return {"games": buffers["games"] * 1.0}

def counting(seed, spec):
    return Counting(jnp.zeros(2), jnp.zeros(()))

def whole(seed, spec):
    return Counting(jnp.zeros(2, int), jnp.zeros(()))

def wrong(seed, spec):
    return 3

def many(model, batch, found):
    return found.entropy

def sure(model, batch, found):
    return found.entropy.mean()

class Loud(Counting):
    def begin(self, buffers, rollout, key):
        return buffers, rollout

def loud(seed, spec):
    return Loud(jnp.zeros(2), jnp.zeros(()))
"""


def test_a_module_has_parameters_phases_and_buffers(tiny, mine):
    path = mine(MODULE)
    ppo = replace(tiny.ppo, modules=(f"{path}:counting",), learning_rate=Schedule.parse(0.01))
    state, report = iterations(build(replace(tiny, game="kuhn", ppo=ppo)), 3)
    (learner,) = state.learners
    module, buffers = learner.model.modules["counting"], learner.buffers["counting"]
    steps = 3 * tiny.ppo.epochs * tiny.ppo.minibatches
    # Adam moves a weight whose gradient keeps its sign by the learning rate at each step, nearly; the clip is apart.
    np.testing.assert_allclose(module.aim, np.full((1, 1, 2), 0.01 * steps), rtol=0.02)
    np.testing.assert_array_equal(module.still, [[3.0]])  # rewards were 0 by then, and no gradient moved it
    np.testing.assert_array_equal(buffers["games"], [[3]])
    assert float(jnp.abs(buffers["paid"]).sum()) > 0.0, "what was paid before is seen"
    assert float(report.stats[0].own["counting/games"][0, 0]) == 3.0
    # With rewards of 0 there is nothing to learn for the critic but 0.
    assert float(jnp.abs(report.stats[0].own["counting/loss"]).sum()) > 0.0


def test_a_module_that_is_wrong_is_refused_before_training(tiny, mine):
    path = mine(MODULE)
    wrong = {
        (): {
            f"{path}:whole": "aim of .*whole holds int32, and parameters are floats",
            f"{path}:wrong": "returned a int",
        },
        ("losses",): {f"{path}:many": "losses are written like mine.py:term=0.1"},
    }
    for kind, cases in wrong.items():
        for text, words in cases.items():
            ppo = replace(tiny.ppo, **{kind[0] if kind else "modules": (text,)})
            with pytest.raises(ConfigError, match=words):
                first_state(build(replace(tiny, game="kuhn", ppo=ppo)))
    ppo = replace(tiny.ppo, losses=(f"{path}:many=1",))
    with pytest.raises(ConfigError, match=r"The loss of many must be one number, found shape"):
        iterations(build(replace(tiny, game="kuhn", ppo=ppo)), 1)
    twice = replace(tiny.ppo, losses=(f"{path}:many=1",), modules=(f"{path}:many",))
    with pytest.raises(ConfigError, match="Two losses or modules are called many"):
        build(replace(tiny, game="kuhn", ppo=twice))


def test_what_is_ones_own_moves_nobody_else_unless_it_means_to(tiny, mine):
    """A loss of weight 0 leaves all weights as they are, and so does a module with a huge gradient of its own."""
    path = mine(MODULE)

    def weights(**own: tuple[str, ...]) -> dict[str, np.ndarray]:
        state, _ = iterations(build(replace(tiny, game="kuhn", ppo=replace(tiny.ppo, **own))), 2)
        return to_arrays([learner.model for learner in state.learners])

    plain, idle, alone = weights(), weights(losses=(f"{path}:sure=0",)), weights(modules=(f"{path}:loud=1e4",))
    for name, array in plain.items():
        np.testing.assert_allclose(idle[name], array, atol=1e-6)
        np.testing.assert_allclose(alone[name], array, atol=1e-6)
    assert set(alone) - set(plain) == {"0.modules.loud.aim", "0.modules.loud.still"}
    sure = weights(losses=(f"{path}:sure=100",))
    assert any(np.abs(sure[name] - plain[name]).max(initial=0.0) > 1e-3 for name in plain)


def test_others_are_seen_in_seat_order(tiny):
    """In rock, paper, scissors both seats of a world are driven by the learner: what one did, the other sees."""
    from sparring.play.chance import stream
    from sparring.play.collect import collect
    from sparring.setup.program import knobs_of, seat_players

    built = build(replace(tiny, game="matrix:rock_paper_scissors"))
    state = jax.tree.map(lambda x: x[0], first_state(built))
    orders = jax.tree.map(lambda x: x[0], built.standing)
    knobs = tuple(jnp.asarray(x) for x in built.knobs(0))
    assert knobs_of(knobs[0][0]).own_M == ()
    drivers = seat_players(built.plan, state.learners, None, built.rosters, orders, knobs)
    rollouts, _, _ = collect(
        built.game, built.plan.seating, drivers, state.cursor, stream(jax.random.key(0), "play"), steps=4,
        for_modules=True,
    )  # fmt: skip
    (rollout,) = rollouts
    own, other = rollout.action.discrete_SD, rollout.others.discrete  # [T, L, W of both lanes, N, D], [..., O, D]
    half = own.shape[2] // 2
    assert len(np.unique(own)) == 3
    np.testing.assert_array_equal(other[:, :, :half, :, 0], own[:, :, half:])
    np.testing.assert_array_equal(other[:, :, half:, :, 0], own[:, :, :half])


def test_a_run_with_a_module_is_resumed_bit_for_bit(tiny, tmp_path):
    ppo = replace(tiny.ppo, modules=(f"{OWN}/opponent_model.py:foresight=0.5",), learning_rate=Schedule.parse(1e-3))
    config = replace(
        tiny, game="matrix:rock_paper_scissors", total_steps=4 * 32, ppo=ppo, evaluation=EvalConfig(eval_games=0)
    )
    start(config, tmp_path / "whole")
    start(replace(config, total_steps=2 * 32), tmp_path / "parts")
    resume(tmp_path / "parts", total_steps=4 * 32)
    whole, parts = (
        [line for line in RunDir.open(tmp_path / name).metrics() if line["kind"] == "train"]
        for name in ("whole", "parts")
    )
    assert len(whole) == 4 and whole == parts
    assert "learner/own/foresight/surprise" in whole[-1]
    assert RunDir.open(tmp_path / "whole").read_manifest()["code"].keys() == {f"{OWN}/opponent_model.py"}
