"""Games of learners that have minds among named co-players: what happened, and what was thought before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.evaluation.match import driver_of, family_of
from sparring.games.game import Game
from sparring.games.others import others_SO
from sparring.nets.minds import telling
from sparring.opponent_models import insight
from sparring.opponent_models.insight import Watched
from sparring.play.chance import game_chance, stream
from sparring.play.collect import Luck, draws, noise
from sparring.play.decide import blank_memory, by_block, decide, look, refresh, reminded, within_bounds
from sparring.play.rollout import Cursor, Driver, where_first
from sparring.play.scripted import Scripted
from sparring.play.seating import Group, Seating, seat
from sparring.play.starts import draw, fresh_starts
from sparring.play.witness import first_minds, learned, mind_of, said, thinking
from sparring.players.named import Entrant
from sparring.setup.build import Built

CONTROLS = ("own", "oracle", "shuffled", "zero", "forgetful")
"""What the policy is told: what its mind thinks; what the co-players are truly after; what is thought in another world;
zeros; what it would think if it forgot earlier games."""


class Seen(NamedTuple):
    """One step of all worlds, leaves [B, W, ...] of the home seat and its O co-players."""

    others: Any
    log_b: Array
    log_p: Array
    rule: Array
    wanted: Array
    start: Array
    present: Array
    reward: Array
    ended: Array
    features: Array
    said: Array
    """What the policy was told by its own mind."""


@dataclass(frozen=True)
class Tables:
    """Who sits where: each learner at its own side among co-players of one kind, block by block."""

    seating: Seating
    lineups: tuple[tuple[str, ...], ...]
    learner_B: tuple[str, ...]
    against_B: tuple[str, ...]
    home_B: tuple[int, ...]
    """Seats of the learners."""


def tables(built: Built, players: Mapping[str, Any], opponents: Mapping[str, Entrant], worlds: int) -> Tables:
    spec, sides = built.game.spec, built.plan.seating.seats_of_side
    found: list[tuple[str, int, str]] = []
    homes = {name: side for side, name in reversed(list(built.lineup.player_of_side().items()))}
    for name, home in homes.items():
        for rival, one in opponents.items():
            rest = {spec.side_of_seat[sides[k][0]] for k in range(len(sides)) if k != home}
            if rest <= set(one.sides):
                found.append((name, home, rival))
    if not found:
        raise ConfigError("Nobody who is named can drive all sides but the learner's. Name others with --against.")
    lineups = tuple(
        tuple(name if k == home else f"against {rival}" for k in range(len(sides))) for name, home, rival in found
    )
    family = {name: family_of(policy) for name, policy in players.items()}
    seating = seat(
        spec, sides, family_BK=[[family[name] for name in lineup] for lineup in lineups],
        learner_BK=[[-1] * len(sides)] * len(lineups), worlds=worlds,
    )  # fmt: skip
    names, places, rivals = zip(*found, strict=True)
    return Tables(seating, lineups, names, rivals, tuple(sides[place][0] for place in places))


def play(built: Built, table: Tables, players: Mapping[str, Any], *, steps: int, seed: int, control: str) -> Seen:
    """Games of every table one after another, [T, B, W, ...], in NumPy. Minds keep what outlasts a game. All controls
    are one program."""
    drivers = tuple(driver_of(group.lanes, table.lineups, players) for group in table.seating.groups)
    bots_B = jnp.stack([bot_row(built.game, players[f"against {name}"]) for name in table.against_B])
    numbers = jnp.asarray(seed, jnp.uint32), jnp.asarray(CONTROLS.index(control), jnp.int32)
    found = _played(built.game, drivers, bots_B, *numbers, table=table, steps=steps)
    return jax.tree.map(np.asarray, found)


def bot_row(game: Game, policy: Any) -> Array:
    """Its row in the table of bots; not a number where it is none of the game's, or plays at random."""
    nothing = jnp.full(game.bots().table_PJ.shape[1], jnp.nan)
    if not isinstance(policy, Scripted) or not game.bots().names:
        return nothing
    return jnp.where(policy.random, nothing, policy.parameters_J)


@partial(jax.jit, static_argnames=("table", "steps"))
def _played(
    game: Game, drivers: tuple, bots_B: Array, seed: Array, control: Array, *, table: Tables, steps: int
) -> Seen:
    seating = table.seating
    key, worlds = stream(jax.random.key(seed), "insight"), seating.blocks * seating.worlds
    bank = fresh_starts(game, stream(key, "starts"), 1 + (steps - 1) // game.spec.shortest, worlds)
    random = Luck(
        game_chance(game, stream(key, "chance"), steps, worlds), noise(seating, drivers, key, steps, True),
        draws(seating, drivers, key, steps), jnp.zeros(steps, bool),
    )  # fmt: skip
    players = list(zip(seating.groups, drivers, strict=True))
    advance = partial(_advanced, game, table, players, bank, bots_B, control)
    memory = tuple(blank_memory(seating, *player) for player in players)
    first = jax.tree.map(lambda x: x[0], bank)
    begun = jnp.ones((seating.blocks, seating.worlds), bool)
    carry = (first, memory, first_minds(seating, drivers), begun, jnp.ones(worlds, jnp.int32))
    return lax.scan(advance, carry, random)[1]


def _advanced(
    game: Game,
    table: Tables,
    players: list[tuple[Group, Driver]],
    bank: Any,
    bots_B: Array,
    control: Array,
    carry: tuple,
    luck: Luck,
) -> tuple[tuple, Seen]:
    """One step as in training, where nobody learns."""
    (state, memory, minds, start_BW, used_V), seating = carry, table.seating
    memory = [
        refresh(seating, *player, start_BW, old, lot)
        for player, old, lot in zip(players, memory, luck.lots, strict=True)
    ]
    drivers = [driver for _, driver in players]
    sight = look(game, seating, drivers, state)
    nothing_BW = jnp.zeros(start_BW.shape)
    forgets = (control == CONTROLS.index("forgetful")) & start_BW
    minds = tuple(forgotten(seating, *pair, forgets) for pair in zip(seating.groups, minds, strict=True))
    cursor = Cursor(state, (), start_BW, nothing_BW, nothing_BW, minds=minds)
    seen, thoughts = thinking(game, seating, players, cursor, sight)
    wanted_BWSG = wishes(game, state, bots_B, seating)
    words = [told(seating, *p, t, wanted_BWSG, control) for p, t in zip(players, thoughts, strict=True)]
    decisions = [
        decide(seating, *player, sight, telling(old[0], said_NM), numbers)
        for player, old, said_NM, numbers in zip(players, memory, words, luck.noise, strict=True)
    ]
    action = Action(*(seating.to_seats(parts) for parts in zip(*(d.action for d in decisions), strict=True)))
    rule = seating.to_seats([d.distribution.log_p_A for d in decisions])
    flat = within_bounds(action, game.spec.action)
    played = jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), flat)
    after, step = jax.vmap(game.step)(state, played, luck.chance)
    step = by_block(step, seating)
    kept = reminded(seating, [d.memory for d in decisions], action, step.reward_S)
    happened = state, played, after, step.reward_S
    seen, minds = learned(game, seating, players, seen, thoughts, action, happened)
    ended_BW = step.over | step.cut
    found = _of_home(table, players, thoughts, seen, sight, step, (rule, wanted_BWSG, start_BW, ended_BW))
    fresh, ended_V = draw(bank, used_V), ended_BW.reshape(-1)
    later = (where_first(ended_V, fresh, after), tuple((m, ()) for m in kept), minds, ended_BW, used_V + ended_V)
    return later, found


def wishes(game: Game, state: Any, bots_B: Array, seating: Seating) -> Array:
    """wanted_BWSG of the co-players of each block, nothing where they do not tell."""
    by_world = by_block(state, seating)

    def of_world(row_J: Array, state: Any) -> Array:
        wanted = game.bot_goals(jnp.nan_to_num(row_J), state)
        nothing = jnp.zeros((game.spec.seats, len(game.spec.goals)), bool)
        return nothing if wanted is None else wanted & ~jnp.isnan(row_J).any()

    return jax.vmap(jax.vmap(of_world, (None, 0)))(bots_B, by_world)


def forgotten(seating: Seating, group: Group, mind: Any, start_BW: Array) -> Any:
    """What a mind holds, blank where it is to forget."""
    gone = seating.per_world(start_BW, group)
    return where_first(gone, jax.tree.map(jnp.zeros_like, mind), mind) if jax.tree.leaves(mind) else mind


def told(
    seating: Seating, group: Group, driver: Driver, thought: Any, wanted_BWSG: Array, control: Array
) -> Array | None:
    """What the policies of a group are told under this control. Of goals that the game does not list nobody knows the
    truth: there the oracle says what the mind thinks."""
    if thought is None:
        return None
    own, pending, mind = said(thought), thought[1], mind_of(driver.policy)
    assert own is not None
    wanted = seating.per_seat(others_of(wanted_BWSG), group)
    wanted = jnp.concatenate([wanted, ~wanted.any(-1, keepdims=True)], axis=-1)
    true = thought[0].log_b_NOG
    if mind.listed:
        wanted = wanted & pending.situation.open
        true = jnp.log(jnp.maximum(wanted / jnp.maximum(wanted.sum(-1, keepdims=True), 1), 1e-9))
    log_p = jax.nn.logsumexp(true[..., None] + pending.log_p_NOGA, axis=-2)
    oracle = jax.vmap(lambda mind, *x: mind.tell(*x))(mind, pending.situation, true, log_p)
    other = {"oracle": oracle, "shuffled": jnp.roll(own, 1, axis=1), "zero": jnp.zeros_like(own)}
    return jnp.select([control == CONTROLS.index(name) for name in other], list(other.values()), own)


def others_of(x_BWS: Array) -> Array:
    """[B, W, S, ...] as each seat sees it of the others: [B, W, S, O, ...]."""
    return x_BWS[:, :, others_SO(x_BWS.shape[2])]


def _of_home(table: Tables, players: list, thoughts: list, seen: Any, sight: Any, step: Any, more: tuple) -> Seen:
    rule, wanted_BWSG, start_BW, ended_BW = more
    seating, at = table.seating, jnp.asarray(table.home_B)

    def home(x_BWS: Array) -> Array:
        return jax.vmap(lambda x, seat: x[:, seat])(x_BWS, at)

    def thought(name: str) -> Array:
        parts = []
        for (group, _), one in zip(players, thoughts, strict=True):
            if one is not None:
                source_BS = seating.sources(group)
                parts.append((source_BS, seating.from_lanes(getattr(one[0], name), source_BS)))
        found = parts[0][1]
        for source_BS, part in parts[1:]:
            heard = jnp.asarray(source_BS >= 0)[:, None]
            found = jnp.where(heard.reshape(*heard.shape, *[1] * (part.ndim - 3)), part, found)
        return home(found)

    observation = sight.observation
    return Seen(
        jax.tree.map(home, seen.others), thought("log_b_NOG"), thought("log_p_NOA"), home(others_of(rule)),
        home(others_of(wanted_BWSG)), start_BW, home(observation.present_S), home(step.reward_S), ended_BW,
        home(observation.features_SF), thought("said_NM"),
    )  # fmt: skip


def watched(seen: Seen, blocks: list[int], told: bool) -> Watched:
    """Some tables as one, [T, E, O, ...]."""

    def flat(x: Array) -> np.ndarray:
        part = np.asarray(x)[:, blocks]
        steps, tables, worlds, *rest = part.shape
        return part.reshape(steps, tables * worlds, *rest)  # of games without goals some parts have no numbers

    others = seen.others
    counts = flat(others.acting) & flat(seen.present)[..., None]
    start = np.broadcast_to(flat(seen.start)[..., None], counts.shape)
    return Watched(
        flat(others.discrete), flat(others.legal), counts, flat(seen.log_p), flat(seen.rule), flat(others.open),
        flat(others.steps), flat(others.about), flat(others.reached) & counts[..., None], flat(seen.log_b),
        flat(seen.wanted) if told else None, start,
    )  # fmt: skip


def returns_by_game(seen: Seen, blocks: list[int], games: int) -> list[list[float]]:
    """Return of the learner in the first games at each table, in the order in which they were played."""
    reward, ended = (np.asarray(x)[:, blocks].reshape(len(x), -1) for x in (seen.reward, seen.ended))
    total, sums = np.zeros(reward.shape[1]), np.zeros_like(reward)
    for t in range(len(reward)):
        total = total + reward[t]
        sums[t] = total
        total = np.where(ended[t], 0.0, total)
    return insight.by_game(sums, ended, games)
