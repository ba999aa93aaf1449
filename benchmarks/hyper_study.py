"""Does it calm non-stationarity to generate an actor's weights? Variants of Hyper-MAPPO beside MAPPO, over seeds.

    python benchmarks/hyper_study.py screen --out study            # every variant on spread, 3 seeds; resumes
    python benchmarks/hyper_study.py confirm --out study --variants mappo net   # some of them on four games, 10 seeds
    python benchmarks/hyper_study.py table --out study             # what is there so far, with intervals
    python benchmarks/hyper_study.py draw --out study              # its curves
    python benchmarks/hyper_study.py cross --variants mappo default   # tag: one's predators, the other's prey

The measure that decides, named before any run: the return of a seat at equal steps, mean of the last tenth of training
(in battles the share of games won). A variant is better or worse than MAPPO where Student's 95 % interval of the
difference, seed by seed, leaves 0 out. Beside it, on one set of states, those of the first rollout, which stays the
same for the whole run: `kl`, the KL from the policy before an iteration to the one after it, and `drift`, how far the
critic's values move in an iteration, in deviations of these values. Both are means over the run, in those of MAPPO.
`--steps` of battles are those of the game, of others those of all seats.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core.settings import from_dict
from sparring.recipes.catalogue import RECIPES
from sparring.setup.config import EvalConfig, RunConfig
from sparring.statistics.intervals import mean_interval

DEFAULT: dict[str, Any] = {"hyper": "residual"}
NET = DEFAULT | {"hyper_encoder": "gru"}
"""As the studies of 2026-11-18 had it; the default since then sees its last steps side by side."""
ANCHOR = {"anchor": 0.05, "shadow_tau": 1.0, "shadow_every": 10}
VARIANTS: dict[str, dict[str, Any]] = {
    "mappo": {},
    "default": DEFAULT,
    "both": DEFAULT | {"smooth": 0.1} | ANCHOR,
    "net": NET,
    "all": NET | {"hyper_layers": "all"},
    "low_rank": NET | {"hyper_layers": "low_rank"},
    "recurrent": NET | {"hyper": "recurrent", "hyper_layers": "low_rank", "sequence": 5},
    "full": NET | {"hyper": "full"},
    "agent": DEFAULT | {"hyper_layers": "all", "hyper_sees": "nothing"},
    "joint": NET | {"hyper_sees": "joint", "execution": "centralised"},
    "fast": NET | {"hyper_rate": 5e-4},
    "smooth": NET | {"smooth": 0.1},
    "smooth_1000": NET | {"smooth": 1000.0},
    "align": NET | ANCHOR,
    "align_old": NET | {"align_old": 0.05},
    "past_kl": NET | {"past_kl": 0.05},
    "hyper": NET | {"smooth": 0.1} | ANCHOR,
    "mappo_align": ANCHOR,
    "mappo_1e-3": {"learning_rate": 1e-3},
    "mappo_2e-3": {"learning_rate": 2e-3},
}
"""Settings by name, on top of the recipe of a game."""
MARK = 0.95
"""Share of battles won at which a map counts as learned."""


def spread(steps: int) -> RunConfig:
    return replace(RECIPES["mappo_spread"](), total_steps=steps)


def tag(steps: int) -> RunConfig:
    """Both sides learn, each with its own policy: what one meets changes as the other learns."""
    base = RECIPES["mappo_spread"]()
    return replace(base, game="particles:tag", total_steps=steps)


def battle(name: str, steps: int) -> RunConfig:
    """With the settings in which MAPPO's share of battles won has room to move within some million steps."""
    import skirmish_maps

    return skirmish_maps.config_of(name, steps, 64, 0)


GAMES: dict[str, Callable[[int], RunConfig]] = {
    "spread": spread,
    "tag": tag,
    "5m_vs_6m": lambda steps: battle("5m_vs_6m", steps),
    "corridor": lambda steps: battle("corridor", steps),
}


def config_of(game: str, variant: str, steps: int, seeds: int) -> RunConfig:
    base = GAMES[game](steps)
    of_net = {name: value for name, value in VARIANTS[variant].items() if hasattr(base.net, name)}
    of_ppo = {name: value for name, value in VARIANTS[variant].items() if name not in of_net}
    if of_ppo.get("sequence") and base.play.steps % of_ppo["sequence"]:
        of_ppo["sequence"] = 8
    changed = from_dict(RunConfig, {"net": of_net, "ppo": of_ppo}, where=variant, base=base)
    return replace(changed, seeds=seeds, evaluation=EvalConfig(eval_games=0))


def measured(config: RunConfig, limit: float) -> dict[str, Any]:
    """One run of all seeds, ended early after `limit` seconds: by iteration and seed the score, the KL, the drift, and
    what the hypernetwork did."""
    import jax
    import jax.numpy as jnp

    from sparring.setup.beginning import first_state
    from sparring.setup.build import build
    from sparring.setup.program import compile_program
    from sparring.training.record import metric_lines

    built, end = build(config), time.perf_counter() + limit
    program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
    look, rows, before = jax.jit(said), None, None
    found: dict[str, list] = {"score": [], "kl": [], "drift": [], "seconds": []}
    for iteration in range(built.iterations):
        began = time.perf_counter()
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, report = program(
            built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration)
        )
        jax.block_until_ready(state)
        found["seconds"].append(time.perf_counter() - began)
        if rows is None:  # the first minibatch of the first iteration: what untrained policies saw
            rows = report.suspects
            before = jax.tree.map(lambda x: jnp.zeros(x.shape), jax.eval_shape(said, state.learners, rows, None)[0])
        before, (kl_R, drift_R) = look(state.learners, rows, before)
        lines = metric_lines(built, iteration, jax.tree.map(np.asarray, report._replace(suspects=())), ())
        found["score"].append([score_of(line) for line in lines])
        if iteration:
            found["kl"].append(np.asarray(kl_R).tolist())
            found["drift"].append(np.asarray(drift_R).tolist())
        for key in (key for key in lines[0] if "/hyper/" in key):
            found.setdefault(key, []).append([line[key] for line in lines])
        if time.perf_counter() > end:
            break
    return found | {"steps": built.steps_per_iteration, "device": jax.devices()[0].device_kind}


def score_of(line: dict[str, Any]) -> float | None:
    """Of an iteration: the share of games won by the first side, or the mean return of a seat of it. In tag that is a
    predator's."""
    won = [value for key, value in line.items() if key.startswith("won/")]
    returns = [value for key, value in line.items() if key.startswith("return/")]
    return won[0] if won else returns[0]


def said(learners: tuple, rows: tuple, before: Any) -> tuple[Any, Any]:
    """What every learner says of the fixed states, and how far that is from what it said before; the mean of all
    learners counts."""
    import jax
    import jax.numpy as jnp

    from sparring.learn.batch import opinions, unroll
    from sparring.learn.losses import masked_mean, standardise

    def of_learner(model: Any, batch: Any, before: Any) -> tuple[Any, Any]:
        now = opinions(model.actor, batch, 1), unroll(model.actor, model.judge, batch).value
        if before is None:
            return now, ()
        kl = masked_mean(before[0].kl(now[0]), batch.acting)
        moved = jnp.sqrt(masked_mean((now[1] - before[1]) ** 2, batch.present))
        return now, (kl, moved / jnp.maximum(standardise(before[1], batch.present).std, 1e-6))

    found = [
        jax.vmap(jax.vmap(of_learner))(group.model, batch, None if before is None else before[i])
        for i, (group, batch) in enumerate(zip(learners, rows, strict=True))
    ]
    told = [moved for _, moved in found]
    return [now for now, _ in found], jax.tree.map(lambda *x: jnp.concatenate(x, axis=1).mean(1), *told)


def cell(out: Path, game: str, variant: str) -> Path:
    return out / f"{game}--{variant}.json"


def run(out: Path, games: list[str], variants: list[str], seeds: int, steps: int, limit: float) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for game in games:
        for variant in variants:
            if cell(out, game, variant).exists():
                continue
            began = time.perf_counter()
            found = measured(config_of(game, variant, steps, seeds), limit)
            cell(out, game, variant).write_text(json.dumps(found))
            took = time.perf_counter() - began
            print(f"{game:10} {variant:12} {final(found).mean():9.3f}  {took:6.0f} s", flush=True)


def final(found: dict[str, Any], iterations: int | None = None) -> np.ndarray:
    """Of each seed the mean score of the last tenth of the run, or of its first so many iterations."""
    score = np.asarray([[np.nan if x is None else x for x in row] for row in found["score"]], float)[:iterations]
    return np.nanmean(score[-max(1, round(0.1 * len(score))) :], axis=0)


def table(out: Path) -> str:
    """At equal steps: as many iterations as all variants of a game have. At equal time: as many as each has in the time
    of the shortest run, on a machine that all shared."""
    lines = []
    for game in GAMES:
        cells = {v: json.loads(cell(out, game, v).read_text()) for v in VARIANTS if cell(out, game, v).exists()}
        if "mappo" not in cells:
            continue
        base = cells["mappo"]
        count = min(len(found["score"]) for found in cells.values())
        limit = min(sum(found["seconds"][1:]) for found in cells.values())
        lines += [f"{game}, {final(base).size} seeds, {count * base['steps']:,} steps, {base['device']}", ""]
        heads = ["variant", "score", "difference to MAPPO", "", "at equal time", "difference then"]
        heads += ["KL an update", "drift", "size", "ms", *([f"million steps to {MARK:g}"] if is_battle(game) else [])]
        lines.append(f"| {' | '.join(heads)} |")
        lines.append("|---" * len(heads) + "|")
        for name, found in cells.items():
            reached = f" {shown_steps(steps_to(found))} |" if is_battle(game) else ""
            lines.append(row(name, found, base, count, limit) + reached)
        lines.append("")
    return "\n".join(lines)


def is_battle(game: str) -> bool:
    return game not in ("spread", "tag")


def steps_to(found: dict[str, Any], mark: float = MARK) -> np.ndarray:
    """Million steps until each seed won that share of the battles of a fortieth of the run; infinity: never."""
    score_IR = np.asarray([[np.nan if x is None else x for x in row] for row in found["score"]], float)
    window = max(1, len(score_IR) // 40)
    mean_IR = np.array([np.nanmean(score_IR[i - window : i], axis=0) for i in range(window, len(score_IR) + 1)])
    first_R = np.where((mean_IR >= mark).any(0), (mean_IR >= mark).argmax(0) + window, np.inf)
    return first_R * found["steps"] / 1e6


def shown_steps(steps_R: np.ndarray) -> str:
    reached = np.isfinite(steps_R)
    share = f"{reached.sum()} of {reached.size} seeds"
    return f"{np.median(steps_R):.1f}, {share}" if reached.mean() > 0.5 else share


def row(name: str, found: dict[str, Any], base: dict[str, Any], count: int, limit: float) -> str:
    def after(limit: float, one: dict[str, Any]) -> np.ndarray:
        done = 1 + int((np.cumsum(one["seconds"][1:]) <= limit * (1 + 1e-9)).sum())
        return final(one, done)

    own, gap = mean_interval(final(found, count)), mean_interval(final(found, count) - final(base, count))
    verdict = "" if name == "mappo" else "better" if gap.low > 0 else "worse" if gap.high < 0 else "no difference shown"
    shown, behind = "", ""
    if name != "mappo":
        shown = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
        later = mean_interval(after(limit, found) - after(limit, base))
        behind = f"{later.mean:+.3f} [{later.low:+.3f}, {later.high:+.3f}]"
    size = [np.mean(found[key][:count][-10:]) for key in found if key.endswith("hyper/size")]
    kl, drift = (shown_ratio(found[key][:count], base[key][:count]) for key in ("kl", "drift"))
    sized = f"{size[0]:.3f}" if size else ""
    return (
        f"| {name} | {own.mean:.3f} [{own.low:.3f}, {own.high:.3f}] | {shown} | {verdict} | "
        f"{after(limit, found).mean():.3f} | {behind} | {kl} | {drift} | {sized} | "
        f"{1e3 * np.median(found['seconds'][1:]):.0f} |"
    )


def shown_ratio(own: list, base: list) -> str:
    """The mean over the run in MAPPO's, seed by seed; where it is MAPPO itself, the mean."""
    if own == base:
        return f"{np.mean(base):.2g}"
    ratio = mean_interval(np.mean(own, axis=0) / np.mean(base, axis=0))
    return f"{ratio.mean:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def cross(out: Path, variants: list[str], seeds: int, steps: int, games: int = 128) -> str:
    """Tag by self-play: what a predator of one variant earns from the prey of another, both of the same seed. Runs that
    are in the folder are not trained again."""
    from sparring.evaluation.match import prepare_match
    from sparring.store.run_dir import RunDir
    from sparring.training.own_evaluation import players_of_seed
    from sparring.training.runs import start, trained_state

    trained = {}
    for name in variants:
        folder = out / f"tag-{name}"
        if not folder.exists():
            start(config_of("tag", name, steps, seeds), folder)
        trained[name] = trained_state(RunDir.open(folder))

    def players(r: int) -> dict[str, Any]:
        of_variant = {name: players_of_seed(built, state, r) for name, (built, state) in trained.items()}
        return {f"{name} {side}": policy for name, both in of_variant.items() for side, policy in both.items()}

    built, _ = trained[variants[0]]
    sides = built.plan.seating.seats_of_side
    chaser, runner = (built.lineup.player_of_side()[k] for k in range(2))
    pairs = [(f"{mine} {chaser}", f"{theirs} {runner}") for mine in variants for theirs in variants]
    match = prepare_match(built.game, pairs, players(0), games=games, seats_of_side=sides)
    earned_RVV = np.array(
        [[one.return_GS[:, list(sides[0])].mean() for one in match(players(r), seed=r)] for r in range(seeds)]
    ).reshape(seeds, len(variants), len(variants))
    return crossed(variants, earned_RVV)


def crossed(variants: list[str], earned_RVV: np.ndarray) -> str:
    """Rows are predators, columns prey. Beside it what each variant is worth against the first: how much more its
    predators earn from the first one's prey than that one's own do, and how much less its prey loses to them."""
    lines = [
        "| predators | " + " | ".join(f"prey: {name}" for name in variants) + " | better predators | better prey |"
    ]
    lines.append("|---" * (len(variants) + 3) + "|")
    for i, name in enumerate(variants):
        cells = [mean_interval(earned_RVV[:, i, j]) for j in range(len(variants))]
        gaps = [earned_RVV[:, i, 0] - earned_RVV[:, 0, 0], earned_RVV[:, 0, 0] - earned_RVV[:, 0, i]]
        told = [f"{one.mean:+.2f} [{one.low:+.2f}, {one.high:+.2f}]" if i else "" for one in map(mean_interval, gaps)]
        shown = [f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in cells]
        lines.append(f"| {name} | " + " | ".join([*shown, *told]) + " |")
    return "\n".join(lines)


def draw(out: Path, variants: list[str]) -> None:
    from matplotlib import pyplot

    for game in GAMES:
        cells = {v: json.loads(cell(out, game, v).read_text()) for v in variants if cell(out, game, v).exists()}
        if not cells:
            continue
        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
        for name, found in cells.items():
            for axis, key in zip(axes, ("score", "kl"), strict=True):
                values = np.asarray([[np.nan if x is None else x for x in one] for one in found[key]], float)
                parts = np.array_split(np.arange(len(values)), min(40, len(values)))
                points = [mean_interval(np.nanmean(values[part], axis=0)) for part in parts]
                steps = [part[-1] * found["steps"] for part in parts]
                (line,) = axis.plot(steps, [p.mean for p in points], label=name, linewidth=1.2)
                band = [p.low for p in points], [p.high for p in points]
                axis.fill_between(steps, *band, color=line.get_color(), alpha=0.15, linewidth=0)
        axes[0].set(title=f"{game}: score", xlabel="steps")
        axes[1].set(title="KL an update on fixed states", xlabel="steps", yscale="log")
        axes[0].legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(out / f"hyper-{game}.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("screen", "confirm", "table", "draw", "cross"))
    parser.add_argument("--out", type=Path, default=Path("runs/hyper-study"))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--games", nargs="+", choices=GAMES)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--steps", type=int, default=4_000_000)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which a run ends early")
    given = parser.parse_args()
    if given.what == "draw":
        draw(given.out, given.variants)
    elif given.what == "table":
        print(table(given.out))
    elif given.what == "cross":
        print(cross(given.out, given.variants, given.seeds or 10, given.steps))
    else:
        confirming = given.what == "confirm"
        games = given.games or (list(GAMES) if confirming else ["spread"])
        run(given.out, games, given.variants, given.seeds or (10 if confirming else 3), given.steps, given.limit)


if __name__ == "__main__":
    main()
