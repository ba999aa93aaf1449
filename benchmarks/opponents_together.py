"""What several opponents in one call cost in PyTorch: the same observations answered by one policy, by eight one after
another, and by eight together. Needs PyTorch: pip install 'sparring[torch]'

    python benchmarks/opponents_together.py
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from sparring.bridges.together import together
from torch import nn

OPPONENTS, REPEATS = 8, 30


def network(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 16)
    ).eval()


def milliseconds(call: Callable[[], Any]) -> float:
    """Of the median call, since others use the machine too."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return median(times)


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    print("width  rows each  one: ms  in turn: ms  together: ms  together / one  largest difference")
    for width in (64, 256):
        for rows in (32, 256, 2048):
            policies = [network(width) for _ in range(OPPONENTS)]
            observation_OBF = torch.randn(OPPONENTS, rows, 64)
            flat_BF, play = observation_OBF.flatten(0, 1), together(policies)
            one = milliseconds(lambda: policies[0](flat_BF))  # noqa: B023
            turns = milliseconds(lambda: [p(x) for p, x in zip(policies, observation_OBF, strict=True)])  # noqa: B023
            both = milliseconds(lambda: play(observation_OBF))  # noqa: B023
            alone_OBA = torch.stack([p(x) for p, x in zip(policies, observation_OBF, strict=True)])
            gap = float((play(observation_OBF) - alone_OBA).abs().max())
            print(f"{width:5}  {rows:9}  {one:7.2f}  {turns:11.2f}  {both:12.2f}  {both / one:14.2f}  {gap:18.1e}")


if __name__ == "__main__":
    main()
