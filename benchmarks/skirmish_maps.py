"""How hard are the 23 battles here, and in which order beside SMAC's own classes?

    python benchmarks/skirmish_maps.py                              # all maps: random play and the bots
    python benchmarks/skirmish_maps.py --maps 3m 8m --battles 500
    python benchmarks/skirmish_maps.py --engaged                    # who fights, step by step, on four maps
    python benchmarks/skirmish_maps.py --learned runs/maps          # also a short MAPPO run on each map, kept there
    python benchmarks/skirmish_maps.py --learned runs/maps --no-bots --maps 3m   # one of them; several at once on a GPU

Against the script. Win rates are of this stand-in, classes and figures of SMAC those of StarCraft: two environments,
compared by order alone. Kendall's tau-b is between SMAC's class (easy, hard, super-hard) and how often the best of the
bots loses here; with --learned, also how often the learner loses, in the last tenth of its battles and over the whole
run (which tells apart the maps that all are won in the end). Runs that are in the folder already are read, however far
they came; the others are trained first.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.records import Action
from sparring.games.game import Game
from sparring.games.registry import make
from sparring.games.skirmish.maps import MAPS
from sparring.statistics.intervals import clopper_pearson

EASY, HARD, SUPER = "easy", "hard", "super-hard"
CLASSES = {
    "2m_vs_1z": EASY, "3m": EASY, "2s_vs_1sc": EASY, "2s3z": EASY, "3s_vs_3z": EASY, "3s_vs_4z": EASY, "8m": EASY,
    "so_many_baneling": EASY, "MMM": EASY, "1c3s5z": EASY, "bane_vs_bane": HARD, "3s_vs_5z": HARD, "2c_vs_64zg": HARD,
    "8m_vs_9m": HARD, "25m": HARD, "5m_vs_6m": HARD, "3s5z": HARD, "10m_vs_11m": HARD, "MMM2": SUPER,
    "3s5z_vs_3s6z": SUPER, "27m_vs_30m": SUPER, "6h_vs_8z": SUPER, "corridor": SUPER,
}  # fmt: skip
"""As MAPPO's authors group them (arXiv:2103.01955); 3s5z and 10m_vs_11m are easy elsewhere."""
ORDER = (EASY, HARD, SUPER)
CROWDS = ("8m", "25m", "27m_vs_30m", "corridor")
RANDOM = "random"
LEARNED = "learned"
WHILE = "while learning"
PLAYERS = (RANDOM, "attack_nearest", "focus_fire", "kite")


class Commands(eqx.Module):
    """Who commands each world: a bot by its row of parameters, or chance."""

    row_WJ: Array
    random_W: Array


def commands(game: Game, names: list[str]) -> Commands:
    table = game.bots()
    rows = [table.names.index(name) if name != RANDOM else 0 for name in names]
    return Commands(table.table_PJ[jnp.array(rows)], jnp.array([name == RANDOM for name in names]))


def advanced(game: Game, given: Commands, state: Any, memory: Any, key: Array) -> tuple[Any, Any, Any]:
    """All worlds one step on."""

    def one(row_J: Array, random: Array, state: Any, memory: Any, key: Array) -> tuple[Any, Any, Any]:
        key_choice, key_luck = jax.random.split(key)
        seen = game.observe(state)
        logits, _, memory = game.bot_turn(row_J, seen.features_SF, seen.legal_SA, memory)
        logits = jnp.where(seen.legal_SA, logits * ~random, -jnp.inf)
        choice_S = jax.random.categorical(key_choice, logits).astype(jnp.int32)
        after, step = game.step(state, Action(choice_S[:, None], jnp.zeros((len(choice_S), 0))), game.chance(key_luck))
        return after, memory, step

    return jax.vmap(one)(given.row_WJ, given.random_W, state, memory, jax.random.split(key, len(given.random_W)))


def begun(game: Game, worlds: int, key: Array) -> tuple[Any, Any]:
    return jax.vmap(game.start)(jax.random.split(key, worlds)), game.bot_memory(worlds, game.spec.seats)


@eqx.filter_jit
def won(game: Game, given: Commands, key: Array) -> Array:
    """Whether each world's battle was won."""
    worlds = len(given.random_W)
    key_start, key_play = jax.random.split(key)

    def go_on(carry: tuple) -> tuple:
        number, state, memory, over_W, won_W = carry
        state, memory, step = advanced(game, given, state, memory, jax.random.fold_in(key_play, number))
        won_W = won_W | (~over_W & (step.over | step.cut) & (step.outcome_K[:, 0] > 0))
        return number + 1, state, memory, over_W | step.over | step.cut, won_W

    none_W = jnp.zeros(worlds, bool)
    begin = (0, *begun(game, worlds, key_start), none_W, none_W)
    return lax.while_loop(lambda carry: ~carry[3].all(), go_on, begin)[4]


def rates(name: str, battles: int, seed: int) -> dict[str, tuple[int, int]]:
    """Battles won, and battles, of each player."""
    game = make(f"skirmish:{name}")
    given = commands(game, [player for player in PLAYERS for _ in range(battles)])
    found_PB = np.asarray(won(game, given, jax.random.key(seed))).reshape(len(PLAYERS), battles)
    return {player: (int(found_B.sum()), battles) for player, found_B in zip(PLAYERS, found_PB, strict=True)}


@eqx.filter_jit
def engaged(game: Any, given: Commands, key: Array, steps: int) -> Array:
    """[steps, sides]: of the fighters alive, the share whose target is within reach; mean over worlds where both armies
    live."""
    army = game.setting.army
    key_start, key_play = jax.random.split(key)

    def share(battle: Any) -> tuple[Array, Array]:
        stats = jax.tree.map(lambda x: x[:, 0], army.stats(battle.kind_U[:, None]))
        target_U = jnp.maximum(battle.target_U, 0)
        away_U = jnp.linalg.norm(battle.place_XU[:, target_U] - battle.place_XU, axis=0)
        near_U = (battle.target_U >= 0) & (away_U <= stats.reach + stats.radius + stats.radius[target_U])
        fights_U = (battle.health_U > 0) & ~stats.heals
        counts = [(jnp.sum(fights_U[army.slice(k)]), jnp.sum((near_U & fights_U)[army.slice(k)])) for k in (0, 1)]
        both = (counts[0][0] > 0) & (counts[1][0] > 0)
        return jnp.stack([near / jnp.maximum(alive, 1) for alive, near in counts]), both

    def go_on(carry: tuple, number: Array) -> tuple[tuple, Array]:
        state, memory, _ = advanced(game, given, *carry, jax.random.fold_in(key_play, number))
        share_WK, both_W = jax.vmap(share)(state)
        return (state, memory), jnp.sum(share_WK * both_W[:, None], axis=0) / jnp.maximum(jnp.sum(both_W), 1)

    return lax.scan(go_on, begun(game, len(given.random_W), key_start), jnp.arange(steps))[1]


def tau(difficulty: list[float], classes: list[str]) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(difficulty, [ORDER.index(name) for name in classes]).statistic)


def config_of(name: str, steps: int, worlds: int, seed: int) -> Any:
    """A run of MAPPO of `steps` steps of the game, with the settings of the recipes but for two: MAPPO's own step size,
    and a critic that goes on seeing the battle after its agent's death. One that is blind then gives all deaths the
    same value, early and late ones, and agents learn to stay alive before they learn to fight
    (docs/log/2026-11-18-skirmish.md)."""
    from sparring.recipes.presets import mappo
    from sparring.recipes.skirmish import fast_3m

    base = fast_3m()
    return replace(
        base,
        game=f"skirmish:{name}",
        options=(*base.options, "death_masking=false"),
        total_steps=steps * len(MAPS[name].kinds(0)),
        seed=seed,
        ppo=replace(base.ppo, learning_rate=mappo().ppo.learning_rate),
        play=replace(base.play, worlds=worlds),
        evaluation=replace(base.evaluation, eval_every=0, eval_times=0, eval_games=0),
    )


def train(name: str, run: Path, steps: int, worlds: int, seed: int) -> None:
    from sparring.training.runs import start

    start(config_of(name, steps, worlds, seed), run)


def learned(name: str, run: Path, steps: int) -> dict[str, tuple[int, int]]:
    """Battles won, and battles, in the last tenth of a run's iterations and in all of them, of its first `steps` steps.
    All iterations in which battles ended count alike, as a thousand battles in all: later ones have more battles."""
    _, shares = progress(name, run, steps)
    last = shares[-max(len(shares) // 10, 1) :]
    return {column: (round(1000 * float(np.mean(part))), 1000) for column, part in ((LEARNED, last), (WHILE, shares))}


def progress(name: str, run: Path, steps: float = np.inf) -> tuple[list[float], list[float]]:
    """Of each iteration in which battles ended: steps of the game until then, and the share of them that was won."""
    from sparring.store.run_dir import RunDir

    agents = len(MAPS[name].kinds(0))
    lines = [line for line in RunDir.open(run).metrics() if line["kind"] == "train" and line["games"]]
    found = [(line["steps"] / agents, v) for line in lines for key, v in line.items() if key.startswith("won/")]
    found = [(done, share) for done, share in found if done <= steps]
    return [done for done, _ in found], [share for _, share in found]


def cell(tally: tuple[int, int]) -> str:
    low, high = clopper_pearson(*tally).low, clopper_pearson(*tally).high
    return f"{100 * tally[0] / tally[1]:5.1f} ({100 * low:3.0f}-{100 * high:3.0f})"


def show_engaged(names: list[str], battles: int, seed: int, steps: int) -> None:
    print("share of living fighters with their target in reach, allies / enemies, attack_nearest; by step")
    print(f"{'map':12}" + "".join(f"{step:>9}" for step in range(1, steps + 1)))
    for name in names:
        game = make(f"skirmish:{name}")
        share_TK = np.asarray(engaged(game, commands(game, ["attack_nearest"] * battles), jax.random.key(seed), steps))
        print(f"{name:12}" + "".join(f"  {100 * a:3.0f}/{100 * b:3.0f}" for a, b in share_TK), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", nargs="+", choices=tuple(MAPS), metavar="MAP", default=list(CLASSES))
    parser.add_argument("--battles", type=int, default=200, help="of each bot on each map")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engaged", action="store_true", help="who fights, step by step, instead of the table")
    parser.add_argument("--no-bots", action="store_true", help="without random play and the bots")
    parser.add_argument("--learned", type=Path, metavar="FOLDER", help="of short runs of MAPPO, one for each map")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the game, in such a run")
    parser.add_argument("--worlds", type=int, default=64, help="in such a run")
    args = parser.parse_args()
    if args.engaged:
        show_engaged(args.maps if args.maps != list(CLASSES) else list(CROWDS), args.battles, args.seed, 24)
        return
    bots = () if args.no_bots else PLAYERS
    columns = (*bots, *((LEARNED, WHILE) if args.learned else ()))
    print(f"{'map':17}{'class':11}" + "".join(f"{player:>18}" for player in columns))
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for name in args.maps:
        found[name] = {}
        if args.learned:
            if not (args.learned / name).exists():
                train(name, args.learned / name, args.steps, args.worlds, args.seed)
            found[name] |= learned(name, args.learned / name, args.steps)
        if not args.no_bots:
            found[name] |= rates(name, args.battles, args.seed)
        print(f"{name:17}{CLASSES[name]:11}" + "".join(f"{cell(found[name][p]):>18}" for p in columns), flush=True)
    show_order(found, columns)


def show_order(found: dict[str, dict[str, tuple[int, int]]], columns: tuple[str, ...]) -> None:
    classes = [CLASSES[name] for name in found]
    if len(set(classes)) < 2:
        return
    judges = {player: (player,) for player in columns if player != RANDOM}
    if RANDOM in columns:
        judges = {"the best bot": PLAYERS[1:], **judges}
    for label, players in judges.items():
        loses = [1 - max(won / games for won, games in (row[p] for p in players)) for row in found.values()]
        print(f"Kendall's tau-b of class and losses of {label}: {tau(loses, classes):.2f}")


if __name__ == "__main__":
    main()
