"""Several policies of one network evaluated in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from sparring.core.errors import ConfigError


def together(policies: Sequence[Any], method: str = "forward") -> Callable[..., Any]:
    """A function that gives every one of these PyTorch modules its own observations.

    Its arguments have a leading axis, one entry for each policy, and so has what it returns:
    `together([a, b])(observation_OBF)[1]` is `b(observation_OBF[1])`. `method` is what is called of each, such as
    `get_action_and_value`. All are evaluated in eval mode, with the weights they have now; no gradients flow. Random
    choices inside differ between policies.
    """
    if not policies:
        raise ConfigError("together expects at least one policy, found none. Sample opponents first.")
    if not callable(getattr(policies[0], method, None)):
        raise ConfigError(f"together expects policies with a method {method!r}, found none in {type(policies[0])}.")
    torch = import_module("torch")

    class Called(torch.nn.Module):
        """A module whose forward is another method: functional_call runs no other."""

        def __init__(self, policy: Any) -> None:
            super().__init__()
            self.policy = policy

        def forward(self, *inputs: Any) -> Any:
            return getattr(self.policy, method)(*inputs)

    base = Called(deepcopy(policies[0])).eval().requires_grad_(False)
    named = [{**dict(policy.named_parameters()), **dict(policy.named_buffers())} for policy in policies]
    weights = {f"policy.{name}": torch.stack([one[name].detach() for one in named]) for name in named[0]}

    def alone(weights: Any, *inputs: Any) -> Any:
        return torch.func.functional_call(base, weights, inputs)

    stacked = torch.vmap(alone, randomness="different")

    def evaluate(*inputs: Any) -> Any:
        with torch.no_grad():
            return stacked(weights, *inputs)

    return evaluate
