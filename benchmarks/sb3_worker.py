"""The other half of vs_sb3.py: Stable-Baselines3's PPO around an environment of mpe2 by SuperSuit. Needs neither
Sparring nor JAX."""

import argparse
import time
from importlib import import_module

from turns import serve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", required=True)
    for name in ("worlds", "workers", "iterations"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    import_module("torch").set_num_threads(1)  # the faster for networks as small as these
    supersuit, sb3 = import_module("supersuit"), import_module("stable_baselines3")
    env = import_module(f"mpe2.{args.game}").parallel_env()
    agents = len(env.possible_agents)
    env = supersuit.pad_action_space_v0(supersuit.pad_observations_v0(env))
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    env = supersuit.concat_vec_envs_v1(env, args.worlds, num_cpus=args.workers, base_class="stable_baselines3")
    batch = 25 * args.worlds * agents
    model = sb3.PPO("MlpPolicy", env, n_steps=25, batch_size=batch // 4, n_epochs=4, device="cpu", learning_rate=2.5e-4)

    def go() -> dict[str, float]:
        began = time.perf_counter()
        model.learn(batch * args.iterations, reset_num_timesteps=False)
        return {"seconds_per_iteration": (time.perf_counter() - began) / args.iterations}

    serve(go)


if __name__ == "__main__":
    main()
