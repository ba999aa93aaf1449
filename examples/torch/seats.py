"""Four independent PPO learners in PyTorch that tell a seat audit what they do, in the lines that end in `# audit`.

    python examples/torch/seats.py 0 && python examples/torch/seats.py 1 && python examples/torch/seats.py 2
    sparring audit seats --log seats-0.json seats-1.json seats-2.json --source examples/torch/seats.py

With a second word `skip` one learner misses every tenth update, and the audit says which.
"""

import sys

from torch.distributions import Categorical

import torch
from sparring.bridges.seat_log import SeatLog  # audit
from torch import nn

AGENTS = ("player_1", "player_2", "player_3", "player_4")
WORLDS, STEPS, ITERATIONS, RATE = 64, 8, 60, 3e-3


class Learner:
    """One policy and one optimiser for each agent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.config = {"learning_rate": RATE, "gamma": 0.9, "ToM_config": {"my_id": name}}
        self.net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=self.config["learning_rate"])

    def act(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        policy = Categorical(logits=self.net(seen)[:, :2])
        action = policy.sample()
        return action, policy.log_prob(action)

    def update(self, seen: torch.Tensor, action: torch.Tensor, log_prob: torch.Tensor, reward: torch.Tensor) -> int:
        """A few clipped steps on one rollout [T, W]."""
        later, returns = torch.zeros(reward.shape[1]), torch.zeros_like(reward)
        for t in reversed(range(len(reward))):
            later = reward[t] + self.config["gamma"] * later
            returns[t] = later
        for _ in range(4):
            out = self.net(seen)
            policy, value = Categorical(logits=out[..., :2]), out[..., 2]
            advantage = (returns - value).detach()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
            ratio = (policy.log_prob(action) - log_prob).exp()
            clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            loss = -clipped.mean() + 0.5 * (returns - value).pow(2).mean() - 0.01 * policy.entropy().mean()
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        return len(reward)


def paid(action: torch.Tensor, prize: torch.Tensor) -> torch.Tensor:
    """[4, W]: those who grab share the prize; who waits has a fifth of it."""
    return torch.where(action == 1, prize / action.sum(0).clamp(min=1), 0.2 * prize)


def rollout(learners: list[Learner], order: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """One game in every world; seat s is driven by learner order[s]."""
    rows = []
    history = torch.zeros(4, WORLDS)
    for t in range(STEPS):
        prize = 1 + 2 * torch.rand(WORLDS)
        shared = torch.stack([prize, torch.full((WORLDS,), t / STEPS), history.sum(0)])
        seen = torch.stack([torch.cat([shared, history[s : s + 1], torch.ones(1, WORLDS)]).T for s in range(4)])
        with torch.no_grad():
            chosen = [learners[int(order[s])].act(seen[s]) for s in range(4)]
        action = torch.stack([one for one, _ in chosen])
        rows.append((seen, action, torch.stack([p for _, p in chosen]), paid(action, prize)))
        history = 0.5 * history + action
    return tuple(torch.stack(part, dim=1) for part in zip(*rows, strict=True))


def main(seed: int, wrong: str = "") -> None:
    torch.manual_seed(seed)
    learners = [Learner(name) for name in AGENTS]
    log = SeatLog(AGENTS, seed=seed)  # audit
    for one in learners:  # audit
        log.settings(one.name, one.config)  # audit
        log.watch(one.name, one, "update")  # audit
        log.watch_optimiser(one.name, one.optimiser)  # audit
    log.check_logger(lambda rows: {name: sum(row[name] for row in rows) for name in AGENTS})  # audit
    for iteration in range(ITERATIONS):
        order = torch.randperm(4)  # who sits where changes: does an order follow the seat or the learner?
        seen, action, log_prob, reward = rollout(learners, order)
        for seat in range(4):
            learner = learners[int(order[seat])]
            if wrong == "skip" and learner.name == "player_4" and iteration % 10 == 9:
                continue
            rows = learner.update(seen[seat], action[seat], log_prob[seat], reward[seat])
            log.count(learner.name, "rows", rows * WORLDS)  # audit
        earned = reward.sum(1).mean(1)
        returns = {AGENTS[seat]: float(earned[seat]) for seat in range(4)}
        log.episode(returns, {AGENTS[seat]: AGENTS[int(order[seat])] for seat in range(4)})  # audit
    log.save(f"seats-{seed}.json")  # audit
    print({name: round(value, 2) for name, value in returns.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0, *sys.argv[2:3])
