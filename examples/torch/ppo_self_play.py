"""PPO in one file, in the style of CleanRL, made self-playing by the lines that end in `# self-play`.

Needs PyTorch and no JAX: pip install torch numpy scipy safetensors && pip install --no-deps sparring
"""

import os
import sys
from dataclasses import dataclass

from torch.distributions import Categorical

import torch
from sparring.bridges.torch_loop import OpponentManager  # self-play
from torch import nn


@dataclass(frozen=True)
class Args:
    worlds: int = 256
    groups: int = 8
    """Of worlds: each meets an opponent of its own."""
    games: int = 4
    """Of each world in an iteration."""
    learning_rate: float = 1e-3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    epochs: int = 4
    minibatches: int = 4
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    seed: int = 1


CARDS = 5
FEATURES = 4 * CARDS + 1


class Goofspiel:
    """Two players with cards 1 to 5 bid for prizes of 1 to 5 points, which come in random order. The higher card takes
    the prize, equal cards nobody; cards are spent. All worlds play in step, so they end together."""

    def __init__(self, worlds: int) -> None:
        self.worlds = worlds
        self.reset()

    def reset(self) -> None:
        self.turn = 0
        self.hand = torch.ones(self.worlds, 2, CARDS, dtype=torch.bool)
        self.prize = torch.rand(self.worlds, CARDS).argsort(-1)
        self.score = torch.zeros(self.worlds, 2)

    def observe(self, player: int) -> torch.Tensor:
        """Own hand, the other's hand, the prize, the prizes to come, and the lead. The hand tells what is legal."""
        now = nn.functional.one_hot(self.prize[:, self.turn], CARDS)
        later = nn.functional.one_hot(self.prize[:, self.turn :], CARDS).sum(1) - now
        lead = (self.score[:, player] - self.score[:, 1 - player])[:, None] / 15
        return torch.cat([self.hand[:, player], self.hand[:, 1 - player], now, later, lead], dim=-1).float()

    def step(self, card_0: torch.Tensor, card_1: torch.Tensor) -> tuple[torch.Tensor, bool]:
        """Reward of the first player (1 for a won game, -1 for a lost one), and whether the games are over."""
        points = (self.prize[:, self.turn] + 1) * (card_0 - card_1).sign()
        self.score += torch.stack([points.clamp(min=0), (-points).clamp(min=0)], -1)
        world = torch.arange(self.worlds)
        self.hand[world, 0, card_0] = False
        self.hand[world, 1, card_1] = False
        self.turn += 1
        over = self.turn == CARDS
        return (self.score[:, 0] - self.score[:, 1]).sign() * over, over


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out))
            for out in (CARDS, 1)
        )

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.actor(observation).masked_fill(observation[..., :CARDS] == 0, -1e9)

    def value(self, observation: torch.Tensor) -> torch.Tensor:
        return self.critic(observation).squeeze(-1)


def at_random(observation: torch.Tensor) -> torch.Tensor:
    """Logits of an opponent that plays any of its cards."""
    return torch.zeros(*observation.shape[:-1], CARDS).masked_fill(observation[..., :CARDS] == 0, -1e9)


def train(iterations: int, args: Args | None = None) -> Agent:
    args = args or Args()
    torch.manual_seed(args.seed)
    agent, env = Agent(), Goofspiel(args.worlds)
    optimiser = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    steps = args.games * CARDS
    total = iterations * steps * args.worlds
    manager = OpponentManager(Agent, None, total_steps=total, sampler="pfsp_var", shadow_tau=0.05)  # self-play
    for iteration in range(iterations):
        global_step = iteration * steps * args.worlds
        manager.step(agent, global_step)  # self-play
        play = at_random
        opponents = manager.sample_opponents(args.groups, agent, global_step)  # self-play
        play = manager.together(opponents)  # self-play
        rollout: dict[str, list[torch.Tensor]] = {name: [] for name in ("obs", "action", "logp", "value", "reward")}
        over = torch.zeros(steps, 1)
        for t in range(steps):
            mine, theirs = env.observe(0), env.observe(1)
            with torch.no_grad():
                policy = Categorical(logits=agent(mine))
                other = Categorical(logits=play(theirs.view(args.groups, -1, FEATURES)).reshape(-1, CARDS))
                action, value = policy.sample(), agent.value(mine)
            reward, ended = env.step(action, other.sample())
            for name, found in zip(rollout, (mine, action, policy.log_prob(action), value, reward), strict=True):
                rollout[name].append(found)
            over[t] = float(ended)
            if ended:
                for who, result in zip(opponents, reward.view(args.groups, -1), strict=True):  # self-play
                    manager.report(who, *(int((result == score).sum()) for score in (1, 0, -1)))  # self-play
                env.reset()
        learn(agent, optimiser, {name: torch.stack(found) for name, found in rollout.items()}, over, args)
        if iteration % 10 == 9:
            print(f"{global_step:>9,} steps  {points(agent, None):.3f} of the points against random play")
    print(*(f"{m.player.name}: {m.rate:.2f} in {m.games} games" for m in manager.members()), sep="\n")  # self-play
    return agent


def learn(agent: Agent, optimiser: torch.optim.Optimizer, rollout: dict, over: torch.Tensor, args: Args) -> None:
    value, reward = rollout["value"], rollout["reward"]
    advantage, last = torch.zeros_like(value), torch.zeros(value.shape[1])
    for t in reversed(range(len(value))):
        # Every rollout ends with the end of a game, so nothing follows its last step.
        following = value[t + 1] if t + 1 < len(value) else torch.zeros_like(last)
        delta = reward[t] + args.gamma * following * (1 - over[t]) - value[t]
        last = delta + args.gamma * args.gae_lambda * (1 - over[t]) * last
        advantage[t] = last
    batch = {name: found.flatten(0, 1) for name, found in rollout.items()}
    target, advantage = (advantage + value).flatten(), advantage.flatten()
    for _ in range(args.epochs):
        for rows in torch.randperm(len(advantage)).chunk(args.minibatches):
            policy = Categorical(logits=agent(batch["obs"][rows]))
            ratio = (policy.log_prob(batch["action"][rows]) - batch["logp"][rows]).exp()
            gain = advantage[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            actor_loss = torch.max(-gain * ratio, -gain * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
            critic_loss = 0.5 * (agent.value(batch["obs"][rows]) - target[rows]).square().mean()
            loss = actor_loss + args.value_weight * critic_loss - args.entropy * policy.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimiser.step()


@torch.no_grad()
def points(agent: Agent, opponent: Agent | None, games: int = 1_000) -> float:
    """Share of the points, a draw counting one half, against another or, without one, against random play."""
    env, reward, over = Goofspiel(games), torch.zeros(games), False
    while not over:
        mine, theirs = env.observe(0), env.observe(1)
        other = (opponent or at_random)(theirs)
        reward, over = env.step(Categorical(logits=agent(mine)).sample(), Categorical(logits=other).sample())
    return float((reward + 1).mean() / 2)


if __name__ == "__main__":
    torch.set_num_threads(1)
    quick = os.environ.get("SPARRING_QUICK")
    train(iterations=int(sys.argv[1]) if len(sys.argv) > 1 else 20 if quick else 200)
