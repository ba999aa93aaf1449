"""A hypernetwork is added to a policy, in the method that only evaluation calls; the curves stay those of the baseline.
Eight marked lines of hooks say why. Then it is put where training calls it.

Needs PyTorch: pip install 'sparring[torch]', then python examples/torch/dead_module.py
"""

from torch.distributions import Categorical

import torch
from sparring.audit.effects.watched import audit_watched  # audit
from sparring.bridges.effect_log import EffectLog  # audit
from torch import nn


class Policy(nn.Module):
    """As in code of the MAPPO kind: `get_actions` for roll-outs, `evaluate_actions` for the loss, `act` to evaluate."""

    def __init__(self, in_training: bool) -> None:
        super().__init__()
        self.in_training = in_training
        self.actor, self.hyper = nn.Linear(8, 4), nn.Linear(8, 4)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return self.actor(x) + self.hyper(x) if self.in_training else self.actor(x)

    def get_actions(self, x: torch.Tensor) -> torch.Tensor:
        return Categorical(logits=self.logits(x)).sample()

    def evaluate_actions(self, x: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return Categorical(logits=self.logits(x)).log_prob(action)

    def act(self, x: torch.Tensor) -> torch.Tensor:
        return (self.actor(x) + self.hyper(x)).argmax(-1)


def train(*, in_training: bool, updates: int = 20) -> dict:
    torch.manual_seed(1)
    policy = Policy(in_training)
    optimiser = torch.optim.Adam(policy.parameters(), 1e-2)
    log = EffectLog({"actor": policy.actor, "hyper": policy.hyper}, [optimiser])  # audit
    for _ in range(updates):
        with log.phase("collect"), torch.no_grad():  # audit
            x = torch.randn(64, 8)
            action = policy.get_actions(x)
            reward = (action == x[:, :4].argmax(-1)).float()
        with log.phase("update"):  # audit
            loss = -(policy.evaluate_actions(x, action) * (reward - reward.mean())).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with log.phase("evaluate"):  # audit
            policy.act(x)
        log.record({"loss": loss.item(), "reward": reward.mean().item()})  # audit
    log.influence(lambda: policy.logits(x))  # audit
    return log.report()


for in_training in (False, True):
    audit = audit_watched(train(in_training=in_training))
    print(f"{audit.verdict}: {audit.summary}")
    for one in audit.findings:
        if one.outcome == "FAIL":
            print(f"  {one.level} {one.question} {one.evidence}. {one.remedy}")
