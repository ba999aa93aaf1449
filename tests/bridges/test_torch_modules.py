"""The opponent manager with PyTorch's modules; skipped where it is not installed."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from bridges.making import guide_blocks
from sparring.bridges.together import together
from sparring.bridges.torch_loop import OpponentManager
from sparring.core.errors import ConfigError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'sparring[torch]'")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh())
        self.head = torch.nn.Linear(8, 2)

    def forward(self, observation):
        return self.head(self.body(observation))

    def act(self, observation):
        return self(observation).argmax(-1), self.head(self.body(observation))


def net(seed):
    torch.manual_seed(seed)
    return Net()


def trained(policy, seed=0):
    """A step of learning, which also moves the statistics of batch norm and its counter."""
    torch.manual_seed(seed)
    optimiser = torch.optim.SGD(policy.parameters(), lr=0.1)
    policy.train().zero_grad()
    policy(torch.randn(16, 3)).square().mean().backward()
    optimiser.step()
    return policy


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.mark.parametrize("policy_class", [Net, None], ids=["class", "copy"])
def test_a_version_is_the_policy_of_its_step_frozen(tmp_path, policy_class):
    manager = OpponentManager(policy_class, tmp_path, current=0, shadow=0, history=1)
    policy = net(0)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    manager.add_to_pool(policy, 10)
    trained(policy)
    opponent = manager.sample_opponent(policy, 11)
    assert isinstance(opponent, Net) and opponent is not policy and not opponent.training
    assert not any(parameter.requires_grad for parameter in opponent.parameters())
    assert all(torch.equal(value, before[name]) for name, value in opponent.state_dict().items())
    assert policy.training and all(parameter.requires_grad for parameter in policy.parameters())
    manager.report(opponent, won=1)
    assert manager.members()[-1].games == 1


def test_the_shadow_averages_floats_and_counts_batches():
    manager = OpponentManager(Net, None)
    policy = net(0)
    manager.update_shadow(policy, tau=0.25)
    first = {name: value.clone() for name, value in policy.state_dict().items()}
    shadow = manager.get_opponents(policy=policy)["shadow"]
    for seed in (1, 2, 3):
        trained(policy, seed)
    manager.update_shadow(policy, tau=0.25)
    for name, value in policy.state_dict().items():
        expected = value if name.endswith("num_batches_tracked") else 0.75 * first[name] + 0.25 * value
        assert shadow.state_dict()[name].dtype == value.dtype
        assert torch.allclose(shadow.state_dict()[name], expected, atol=1e-7), name
    assert shadow.state_dict()["body.1.num_batches_tracked"] == 3


def test_weights_of_short_floats_come_back_as_they_were(tmp_path):
    policy = net(0).to(torch.bfloat16)
    OpponentManager(save_dir=tmp_path).add_to_pool(policy, 1)
    again = OpponentManager(save_dir=tmp_path)
    again.load_pool()
    opponent = again.get_opponents(policy=policy)["pool"]
    assert opponent.head.weight.dtype == torch.bfloat16 and equal(opponent, policy)


def test_a_loop_that_was_interrupted_goes_on_with_the_same_opponents(tmp_path):
    policy = net(0)
    one = OpponentManager(Net, tmp_path, max_pool_size=3, total_steps=1_000)
    for step in range(0, 200, 40):
        one.step(trained(policy, step), step)
    one.save()
    again = OpponentManager(Net, tmp_path, max_pool_size=3, total_steps=1_000)
    again.load()
    observation = torch.randn(4, 3)
    for step in range(200, 240):
        mine, theirs = one.sample_opponent(policy, step), again.sample_opponent(policy, step)
        assert (mine is policy) == (theirs is policy)
        assert mine is policy or torch.equal(mine(observation), theirs(observation))


def test_state_dicts_come_back_as_tensors():
    manager = OpponentManager(save_dir=None)
    weights = net(0).state_dict()
    manager.add_to_pool(weights, 1)
    opponent = manager.get_opponents(policy=weights)["pool"]
    assert all(isinstance(value, torch.Tensor) for value in opponent.values())
    Net().load_state_dict(opponent)


def test_a_compiled_policy_is_its_module():
    policy = net(0)
    manager = OpponentManager(Net, None)
    manager.add_to_pool(torch.compile(policy), 1)
    for made in (manager, OpponentManager(None, None)):
        made.update_shadow(torch.compile(policy))
        assert equal(made.get_opponents()["shadow"], policy)


def test_a_class_that_makes_another_network_is_told():
    manager = OpponentManager(lambda: torch.nn.Linear(3, 2), None)
    with pytest.raises(ConfigError, match="policy_class must make the network"):
        manager.get_opponents(policy=net(0))


def test_eight_opponents_in_one_call_answer_as_each_alone():
    policies = [net(seed).eval() for seed in range(8)]
    observation_OBF = torch.randn(8, 5, 3)
    found_OBA = together(policies)(observation_OBF)
    for policy, observation_BF, found_BA in zip(policies, observation_OBF, found_OBA, strict=True):
        assert torch.allclose(policy(observation_BF), found_BA, atol=1e-6)
    assert not found_OBA.requires_grad
    action_OB, logit_OBA = together(policies, method="act")(observation_OBF)
    assert torch.equal(action_OB, found_OBA.argmax(-1)) and torch.allclose(logit_OBA, found_OBA, atol=1e-6)


def test_opponents_of_a_manager_play_together_the_live_policy_among_them():
    manager = OpponentManager(Net, None)
    for step in range(4):
        manager.add_to_pool(net(step), step)
    policy = trained(net(9))
    opponents = manager.sample_opponents(12, policy)
    assert opponents.count(policy) == 4 and len({id(one) for one in opponents}) > 3
    observation = torch.randn(12, 2, 3)
    found = manager.together(opponents)(observation)
    assert policy.training
    policy.eval()
    for one, seen, answer in zip(opponents, observation, found, strict=True):
        assert torch.allclose(one(seen), answer, atol=1e-6)
    with pytest.raises(ConfigError, match="at least one policy"):
        manager.together([])
    with pytest.raises(ConfigError, match="method 'play'"):
        manager.together(opponents, method="play")


def test_what_the_guide_shows_runs_a_second_time_too(tmp_path, monkeypatch, capsys):
    (block,) = [block for block in guide_blocks() if "import torch" in block]
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        exec(compile(block.replace("200_000", "20_000"), "your-loop.md", "exec"), {})
    assert "past-0 " in capsys.readouterr().out


EXAMPLE = Path(__file__).parents[2] / "examples" / "torch" / "ppo_self_play.py"


def example(source, path):
    path.write_text(source)
    spec = spec_from_file_location("ppo_self_play", path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    return module


def test_the_example_learns_by_self_play(tmp_path, capsys):
    module = example(EXAMPLE.read_text(), tmp_path / "example.py")
    agent = module.train(iterations=15)
    assert "past-0" in capsys.readouterr().out
    assert module.points(agent, None, games=2_000) > 0.7, "random play has 0.5"


def test_ten_lines_make_the_example_self_playing(tmp_path, capsys):
    """Without them it is a loop against random play that knows nothing of this library."""
    lines = EXAMPLE.read_text().splitlines()
    assert len(lines) < 200
    marked = [line for line in lines if line.endswith("# self-play")]
    assert 0 < len(marked) <= 10
    plain = "\n".join(line for line in lines if line not in marked)
    assert "import OpponentManager" not in plain
    example(plain, tmp_path / "plain.py").train(iterations=1)
    assert capsys.readouterr().out == ""
