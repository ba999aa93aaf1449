"""A loop in PyTorch in the manner of MAPPO's: a policy with one method for roll-outs, one for the loss and one for
evaluation; and what goes wrong when somebody adds a hypernetwork to it."""

import sys
from dataclasses import dataclass, replace
from typing import Any

from torch.distributions import Categorical

import torch
from sparring.bridges.effect_log import EffectLog
from torch import nn


@dataclass(frozen=True)
class Loop:
    """Where the hypernetwork is used, and what else is done to it."""

    collect: bool = True
    update: bool = True
    evaluate: bool = True
    optimised: bool = True
    detached: bool = False
    no_grad: bool = False
    ignored: bool = False
    factor: float = 1.0
    noisy: bool = False
    """It draws random numbers whenever it is called."""
    frozen: bool = False
    """requires_grad is False for all of it."""
    rate: float | None = None
    """A learning rate of its own."""
    normalised: bool = False
    """One number for all logits, which a normalisation takes away again."""
    replaced: bool = False
    """It is made anew after the optimiser was made: that holds the old one."""
    cleared: bool = False
    """Its gradients are set to nothing between backward and step."""
    present: bool = True
    muted: bool = False
    arguments: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()


class Hyper(nn.Module):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.layer, self.loop = nn.Linear(4, 3), loop

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.layer(x)
        return out + torch.randn_like(out) if self.loop.noisy else out


class Policy(nn.Module):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop, self.actor = loop, nn.Linear(4, 3)
        self.hyper = Hyper(loop) if loop.present else None

    def logits(self, x: torch.Tensor, use: bool) -> torch.Tensor:
        logits = self.actor(x)
        if self.hyper is None or not use:
            return logits
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.loop.no_grad):
            change = self.hyper(x)
        change = change.detach() if self.loop.detached else change
        if self.loop.normalised:
            moved = logits + change[:, :1]
            return moved - moved.mean(-1, keepdim=True)
        return logits if self.loop.ignored else logits + self.loop.factor * change

    def get_actions(self, x: torch.Tensor) -> torch.Tensor:
        return Categorical(logits=self.logits(x, self.loop.collect)).sample()

    def evaluate_actions(self, x: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return Categorical(logits=self.logits(x, self.loop.update)).log_prob(action)

    def act(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits(x, self.loop.evaluate).argmax(-1)


def run(loop: Loop, updates: int = 4) -> dict[str, Any]:
    """Four updates, and what the log says."""
    torch.manual_seed(0)
    policy = Policy(loop)
    if loop.frozen and policy.hyper is not None:
        policy.hyper.requires_grad_(False)
    own = loop.rate is not None and policy.hyper is not None
    trained: Any = policy.parameters() if loop.optimised and not own else policy.actor.parameters()
    groups = [{"params": list(trained)}]
    if own and policy.hyper is not None:
        groups.append({"params": list(policy.hyper.parameters()), "lr": loop.rate})
    optimiser = torch.optim.Adam(groups, 0.01)
    if loop.replaced:
        policy.hyper = Hyper(loop)
    modules = {"actor": policy.actor} | ({"hyper": policy.hyper} if policy.hyper else {})
    log = EffectLog(modules, [optimiser], settings=dict(loop.settings))
    silence = log.mute("hyper") if loop.muted else None
    if silence:
        silence.__enter__()
    for _ in range(updates):
        with log.phase("collect"), torch.no_grad():
            x = torch.randn(16, 4)
            action = policy.get_actions(x)
            reward = (action == x[:, :3].argmax(-1)).float()
        with log.phase("update"):
            loss = -(policy.evaluate_actions(x, action) * (reward - reward.mean())).mean()
            optimiser.zero_grad()
            loss.backward()
            if loop.cleared and policy.hyper is not None:
                policy.hyper.zero_grad()
            optimiser.step()
        with log.phase("evaluate"):
            policy.act(x)
        log.record({"loss": loss.item(), "reward": reward.mean().item()})
    if not loop.noisy:
        log.influence(lambda: policy.logits(x, loop.update))
    before, sys.argv = sys.argv, ["train.py", *loop.arguments]
    try:
        return log.report()
    finally:
        sys.argv = before


def watched(loop: Loop) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None]:
    """Treatment, baseline and muted treatment."""
    plain = Loop(present=False, settings=tuple((name, False) for name, _ in loop.settings))
    return run(loop), run(plain), run(replace(loop, muted=True)) if loop.noisy else None


FLAG = (("use_hyper", "True"),)
LOOPS = {
    "evaluation only": (Loop(collect=False, update=False), "DEAD (observed)"),
    "never called": (Loop(collect=False, update=False, evaluate=False), "DEAD (observed)"),
    "not in the loss": (Loop(update=False), "DISCONNECTED(hyper)"),
    "not in roll-outs": (Loop(collect=False), "DISCONNECTED(hyper)"),
    "no optimiser": (Loop(optimised=False), "DISCONNECTED(hyper)"),
    "detached": (Loop(detached=True), "DISCONNECTED(hyper)"),
    "no_grad": (Loop(no_grad=True), "DISCONNECTED(hyper)"),
    "output ignored": (Loop(ignored=True), "DISCONNECTED(hyper)"),
    "factor zero": (Loop(factor=0.0), "DISCONNECTED(hyper)"),
    "only random numbers": (Loop(noisy=True, factor=0.0), "RNG-ONLY"),
    "dropped flag": (Loop(arguments=("--smooth_weight", "0.1"), settings=FLAG), "MISCONFIGURED"),
    "type=bool": (Loop(arguments=("--use_hyper", "False"), settings=FLAG), "MISCONFIGURED"),
    "a text for a truth": (Loop(settings=(("use_hyper", "False"),)), "MISCONFIGURED"),
    "frozen by mistake": (Loop(frozen=True), "DISCONNECTED(hyper)"),
    "learning rate zero": (Loop(rate=0.0), "DISCONNECTED(hyper)"),
    "normalised away": (Loop(normalised=True), "DISCONNECTED(hyper)"),
    "made anew after the optimiser": (Loop(replaced=True), "DISCONNECTED(hyper)"),
    "gradients cleared before the step": (Loop(cleared=True), "DISCONNECTED(hyper)"),
    "a learning rate of its own": (Loop(rate=0.001), "CONNECTED"),
    "a small factor": (Loop(factor=0.001), "CONNECTED"),
    "sound": (Loop(arguments=("--use_hyper", "True"), settings=(("lr", "0.1"), *FLAG)), "CONNECTED"),
}
