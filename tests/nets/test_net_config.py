import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.nets.config import NetConfig, check_net


def check(config: NetConfig) -> None:
    check_ranges(config)
    check_net(config)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": (64, 0)}, "hidden must be at least 1, found 0"),
        ({"critic_hidden": (-3,)}, "critic_hidden must be at least 1, found -3"),
        ({"convolutions": (8, 0)}, "convolutions must be at least 1, found 0"),
        ({"memory_size": 0}, "memory_size must be at least 1, found 0"),
        ({"policy_gain": -0.1}, "policy_gain must be at least 0, found -0.1"),
        ({"policy_gain": float("nan")}, "policy_gain must be at least 0 and finite, found nan"),
        ({"initial_std": 0.0}, "initial_std must be above 0, found 0.0"),
        ({"initial_std": 0.001, "std": "state"}, r"must lie in \[0.0067, 7.4\].*found 0.001"),
        ({"body": "simba", "hidden": (64, 32)}, r"entries of hidden must be one width.*found \(64, 32\)"),
        ({"body": "simba", "hidden": ()}, r"entries of hidden must be one width.*found \(\)"),
        ({"body": "simba", "critic_hidden": (8, 4)}, r"entries of critic_hidden.*found \(8, 4\)"),
        ({"trunk": "shared", "critic": "central"}, "needs critic=local.*found critic=central"),
        ({"trunk": "shared", "critic_hidden": (8,)}, r"no hidden layers of its own, found critic_hidden=\(8,\)"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(settings, said):
    with pytest.raises(ConfigError, match=said):
        check(NetConfig(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hidden": ()},
        {"policy_gain": 0.0},
        {"initial_std": 0.001},
        {"body": "simba", "hidden": (8, 8, 8), "critic_hidden": (4, 4)},
        {"body": "simba", "hidden": (8,), "trunk": "shared"},
    ],
)
def test_settings_that_go_together_pass(settings):
    check(NetConfig(**settings))
