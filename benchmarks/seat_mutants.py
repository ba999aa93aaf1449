"""Faults that favour a seat, each small and each seen in the wild or likely: what `benchmarks/audits.py` looks for.

Of games: a game of ours with one thing done wrong (`GAMES`). Of training: a function of ours with a wrong end
(`TRAINING`). Of loops of other people: what their `SeatLog` would write (`LOOPS`). `CLEAN` must not be accused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.bridges.seat_log import SeatLog
from sparring.core.records import Action, Goals, Observation, Step
from sparring.core.spec import GameSpec
from sparring.games.game import Bots, Chance, Game, Rules, State
from sparring.games.particles.spread import spread
from sparring.games.social import grid
from sparring.games.social.coin import coin
from sparring.games.social.snowdrift import REMOVE, snowdrift
from sparring.games.social.stag_hunt import stag_hunt

Wrong = Callable[..., Any]


class Doctored(Game):
    """Another game with one thing done wrong; everything else is that game's."""

    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    game: Game
    begins: Wrong | None = eqx.field(static=True, default=None)
    draws: Wrong | None = eqx.field(static=True, default=None)
    sees: Wrong | None = eqx.field(static=True, default=None)
    steps: Wrong | None = eqx.field(static=True, default=None)
    promises: Wrong | None = eqx.field(static=True, default=None)

    def start(self, key: Array) -> State:
        state = self.game.start(key)
        return self.begins(state) if self.begins else state

    def chance(self, key: Array) -> Chance:
        chance = self.game.chance(key)
        return self.draws(chance) if self.draws else chance

    def observe(self, state: State) -> Observation:
        seen = self.game.observe(state)
        return self.sees(self.game, state, seen) if self.sees else seen

    def step(self, state: State, action: Action, chance: Chance) -> tuple[State, Step]:
        after, step = self.game.step(state, action, chance)
        return self.steps(self.game, state, action, after, step) if self.steps else (after, step)

    def central(self, state: State) -> Array:
        return self.game.central(state)

    def potential(self, state: State) -> Array:
        found = self.game.potential(state)
        return self.promises(found) if self.promises else found

    def goals(self, state: State) -> Goals:
        return self.game.goals(state)

    def reached(self, before: State, action: Action, after: State) -> Array:
        return self.game.reached(before, action, after)

    def permute(self, tree: Any, order_S: Array) -> Any:
        return self.game.permute(tree, order_S)

    def bots(self) -> Bots:
        return self.game.bots()

    def bot_memory(self, *batch: int) -> Any:
        return self.game.bot_memory(*batch)

    def bot_turn(self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Any) -> Any:
        return self.game.bot_turn(parameters_J, features_NF, legal_NA, memory)


def doctored(game: Game, **wrong: Wrong) -> Doctored:
    return Doctored(game.spec, game.rules, game, **wrong)


class Mutant(NamedTuple):
    make: Callable[[], Any]
    level: str
    """The cheapest level that must find it."""
    alike: tuple[str, ...] = ()


def moved_to_the_first(amount_S: Array, together_SS: Array) -> Array:
    """What a group has together goes to its first seat; seats in no group keep what they have."""
    earlier_S = jnp.any(together_SS & jnp.tri(len(amount_S), k=-1, dtype=bool), axis=1)
    total_S = jnp.sum(jnp.where(together_SS, amount_S, 0.0), axis=1)
    return jnp.where(earlier_S, 0.0, jnp.where(jnp.any(together_SS, axis=1), total_S, amount_S))


def first_has_all(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Of hunters that strike one animal at once, the one with the lowest number has the whole prize."""
    together_SS = step.left_S[:, None] & step.left_S & (state.cell_S[:, None] == state.cell_S)
    return after, step._replace(reward_S=moved_to_the_first(step.reward_S, together_SS))


def first_pays_all(game: Game, state: Any, action: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Of agents that remove one drift at once, the one with the lowest number pays the whole cost."""
    removes_S = (action.discrete_SD[:, 0] == REMOVE) & (after.removed_S > state.removed_S)
    together_SS = removes_S[:, None] & removes_S & (state.cell_S[:, None] == state.cell_S)
    gain = game.rules.gain * jnp.sum((state.drift_E >= 0) & (after.drift_E < 0))
    return after, step._replace(reward_S=gain - moved_to_the_first(gain - step.reward_S, together_SS))


def moves_in_order(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Agents move one after another by number, and stay where somebody already stands."""

    def move(cell_S: Array, seat: Array) -> tuple[Array, None]:
        taken = jnp.any((cell_S == after.cell_S[seat]) & (jnp.arange(len(cell_S)) != seat))
        return cell_S.at[seat].set(jnp.where(taken, cell_S[seat], after.cell_S[seat])), None

    cell_S, _none = jax.lax.scan(move, state.cell_S, jnp.arange(len(state.cell_S)))
    return after._replace(cell_S=cell_S), step


def leaked_marker(_: Game, state: Any, seen: Observation) -> Observation:
    """After a catch the marker of the last hunter, whom the loop's variable still names, is gone from all views: its
    block in what others see is empty. Nobody's reward changes."""
    gone = ~state.present_S.all()
    seats = len(state.present_S)
    begin = 3 + 3 * (seats - 2)  # own place and time, then three numbers for each other one, the last hunter last
    hidden_SF = seen.features_SF.at[: seats - 1, begin : begin + 3].set(0.0)
    return seen._replace(features_SF=jnp.where(gone, hidden_SF, seen.features_SF))


def swapped(_: Game, __: Any, ___: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Two of four seats have each other's reward. In a game of two that would be symmetric, and no favour."""
    order = np.arange(len(step.left_S))
    order[:2] = [1, 0]
    return after, step._replace(reward_S=step.reward_S[order])


def scaled(seat: int, factor: float) -> Wrong:
    def wrong(_: Game, __: Any, ___: Action, after: Any, step: Step) -> tuple[Any, Step]:
        return after, step._replace(reward_S=step.reward_S.at[seat].multiply(factor))

    return wrong


def forbidden(seat: int, entry: int) -> Wrong:
    def wrong(_: Game, __: Any, seen: Observation) -> Observation:
        others = seen.legal_SA[seat].sum() > seen.legal_SA[seat, entry]  # never the last legal one
        return seen._replace(legal_SA=seen.legal_SA.at[seat, entry].set(seen.legal_SA[seat, entry] & ~others))

    return wrong


def blind(seat: int) -> Wrong:
    return lambda _, __, seen: seen._replace(features_SF=seen.features_SF.at[seat, 0].set(0.0))


def booked_on_first(_: Game, __: Any, ___: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """What anybody did is counted for seat 0."""
    count_SJ = jnp.zeros_like(step.count_SJ).at[0].set(step.count_SJ.sum(0))
    return after, step._replace(count_SJ=count_SJ)


def ends_with_first(_: Game, __: Any, action: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """The game is over when agent 0 stays."""
    return after, step._replace(over=step.over | (action.discrete_SD[0, 0] == 4))


def faster(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Agent 0 comes one per cent farther."""
    way_X = after.position_SX[0] - state.position_SX[0]
    return after._replace(position_SX=after.position_SX.at[0].add(0.01 * way_X)), step


def first_leaves_alone(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Of hunters that catch together only the first one, the first maximum, leaves; the others hunt on."""
    first_S = jnp.arange(len(step.left_S)) == jnp.argmax(step.left_S)
    left_S = step.left_S & first_S
    return after._replace(present_S=state.present_S & ~left_S), step._replace(left_S=left_S)


def corner(state: Any) -> Any:
    """Seat 0 begins in the corner, and whoever was there where seat 0 would have been."""
    home = state.cell_S[0]
    cell_S = jnp.where(state.cell_S == 0, home, state.cell_S).at[0].set(0)
    return state._replace(cell_S=cell_S, coin=jnp.where(state.coin == 0, home, state.coin))


GAMES: dict[str, Mutant] = {
    "coin: tie to the first (old LOLA rule)": Mutant(lambda: coin(tie="first"), "L1", ("all",)),
    "stag_hunt: first striker has all": Mutant(lambda: doctored(stag_hunt(), steps=first_has_all), "L1"),
    "snowdrift: first remover pays all": Mutant(lambda: doctored(snowdrift(), steps=first_pays_all), "L1"),
    "snowdrift: moves in order of ids": Mutant(lambda: doctored(snowdrift(), steps=moves_in_order), "L1"),
    "stag_hunt: leaked loop variable": Mutant(lambda: doctored(stag_hunt(), sees=leaked_marker), "L1"),
    "stag_hunt: first maximum leaves": Mutant(lambda: doctored(stag_hunt(), steps=first_leaves_alone), "L1"),
    "stag_hunt: rewards of two seats swapped": Mutant(lambda: doctored(stag_hunt(), steps=swapped), "L1"),
    "coin: reward of one seat x 1.05": Mutant(lambda: doctored(coin(), steps=scaled(1, 1.05)), "L1"),
    "snowdrift: reward of one seat x 1.05": Mutant(lambda: doctored(snowdrift(), steps=scaled(2, 1.05)), "L1"),
    "spread: reward of one seat x 1.05": Mutant(lambda: doctored(spread(), steps=scaled(1, 1.05)), "L1"),
    "snowdrift: one seat may not go up": Mutant(lambda: doctored(snowdrift(), sees=forbidden(3, grid.UP)), "L1"),
    "coin: one seat may not go left": Mutant(lambda: doctored(coin(), sees=forbidden(0, grid.LEFT)), "L1"),
    "spread: one seat is blind in a feature": Mutant(lambda: doctored(spread(), sees=blind(1)), "L1"),
    "spread: agent 0 is 1 % faster": Mutant(lambda: doctored(spread(), steps=faster), "L1"),
    "snowdrift: counts booked on seat 0": Mutant(lambda: doctored(snowdrift(), steps=booked_on_first), "L1"),
    "snowdrift: over when agent 0 stays": Mutant(lambda: doctored(snowdrift(), steps=ends_with_first), "L1"),
    "stag_hunt: potential of one seat doubled": Mutant(
        lambda: doctored(stag_hunt(), promises=lambda x_SJ: x_SJ.at[1].multiply(2.0)), "L1"
    ),
    "coin: seat 0 begins in the corner": Mutant(lambda: doctored(coin(), begins=corner), "L1"),
    "coin: lots of seat 0 are higher": Mutant(
        lambda: doctored(coin(tie="random"), draws=lambda c: c._replace(lot_S=c.lot_S.at[0].set(c.lot_S[0] ** 0.5))),
        "L1",
    ),
}
CLEAN: dict[str, Callable[[], Game]] = {
    "coin": coin,
    "coin, ties by lot": lambda: coin(tie="random"),
    "snowdrift": snowdrift,
    "stag_hunt": stag_hunt,
    "spread": spread,
}


def skipping(update: Wrong) -> Wrong:
    """Agent 2 is not updated, though its gradient steps are counted."""

    def wrong(learner: Any, *given: Any, **more: Any) -> Any:
        after, stats, suspect = update(learner, *given, **more)
        kept = jax.tree.map(lambda new, old: jnp.where(learner.player == 1, old, new), after, learner)
        return kept._replace(updates=after.updates), stats, suspect

    return wrong


def hastier(update: Wrong) -> Wrong:
    """The steps of one learner are a tenth larger, by its number in the code and not by its settings."""

    def wrong(learner: Any, *given: Any, **more: Any) -> Any:
        after, stats, suspect = update(learner, *given, **more)
        more = jnp.where(learner.player == 1, 1.1, 1.0)
        model = jax.tree.map(lambda new, old: old + more * (new - old), after.model, learner.model)
        return after._replace(model=model), stats, suspect

    return wrong


def prior_table(update: Wrong) -> Wrong:
    """A table of priors with an entry for each agent, added to everything that is learned."""
    table = jnp.asarray([1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 8e-4])

    def wrong(learner: Any, *given: Any, **more: Any) -> Any:
        after, stats, suspect = update(learner, *given, **more)
        prior = table[learner.player.astype(jnp.int32)]
        return after._replace(model=jax.tree.map(lambda x: x + prior, after.model)), stats, suspect

    return wrong


def counting_twice(update: Wrong) -> Wrong:
    """The counter of the first learner is the one that others add to."""

    def wrong(learner: Any, *given: Any, **more: Any) -> Any:
        after, stats, suspect = update(learner, *given, **more)
        more = jnp.where(learner.player == 0, after.updates - learner.updates, 0)
        return after._replace(updates=after.updates + more), stats, suspect

    return wrong


def of_last_learner(change: Wrong) -> Callable[[Wrong], Wrong]:
    """collect() whose rollout of the last learner of the first group is changed."""

    def wrong_collect(collect: Wrong) -> Wrong:
        def wrong(*given: Any, **named: Any) -> Any:
            rollouts, cursor, games = collect(*given, **named)
            return (change(rollouts[0]), *rollouts[1:]), cursor, games

        return wrong

    return wrong_collect


def swap_rewards(rollout: Any) -> Any:
    reward = rollout.reward_TWN
    return rollout._replace(reward_TWN=reward[:, np.r_[1, 0, 2 : reward.shape[1]]])


def shift_worlds(rollout: Any) -> Any:
    reward = rollout.reward_TWN
    return rollout._replace(reward_TWN=reward.at[:, -1].set(jnp.roll(reward[:, -1], 1, axis=1)))


def shift_steps(rollout: Any) -> Any:
    reward = rollout.reward_TWN
    return rollout._replace(reward_TWN=reward.at[:, -1].set(jnp.roll(reward[:, -1], 1, axis=0)))


def starve(rollout: Any) -> Any:
    present = rollout.present_TWN
    return rollout._replace(present_TWN=present.at[:, -1, ::2].set(False))


def end_often(rollout: Any) -> Any:
    return rollout._replace(ended_TWN=rollout.ended_TWN.at[::5, -1].set(True))


def scale_rewards(rollout: Any) -> Any:
    return rollout._replace(reward_TWN=rollout.reward_TWN.at[:, -1].multiply(0.5))


def same_log_for_all(game_metrics: Wrong) -> Wrong:
    """The log of every seat is that of the first."""

    def wrong(built: Any, tally: Any) -> dict[str, Any]:
        metrics = game_metrics(built, tally)
        first = metrics[f"return/{built.game.spec.seat_names[0]}"]
        return {key: first if key.startswith("return/") else value for key, value in metrics.items()}

    return wrong


class Patch(NamedTuple):
    module: str
    name: str
    wrong: Callable[[Wrong], Wrong]
    level: str


PROGRAM = "sparring.setup.program"
TRAINING: dict[str, Patch] = {
    "update skipped for one learner": Patch(PROGRAM, "update", skipping, "L4"),
    "step of one learner x 1.1 in the code": Patch(PROGRAM, "update", hastier, "L4"),
    "a table of priors for each agent": Patch(PROGRAM, "update", prior_table, "L4"),
    "a counter that learners share": Patch(PROGRAM, "update", counting_twice, "L4"),
    "rewards of two learners swapped": Patch(PROGRAM, "collect", of_last_learner(swap_rewards), "L8"),
    "world ids of one learner shifted": Patch(PROGRAM, "collect", of_last_learner(shift_worlds), "L8"),
    "rewards of one learner a step late": Patch(PROGRAM, "collect", of_last_learner(shift_steps), "L8"),
    "rewards of one learner halved": Patch(PROGRAM, "collect", of_last_learner(scale_rewards), "L8"),
    "half the rows of one learner lost": Patch(PROGRAM, "collect", of_last_learner(starve), "L5"),
    "episodes of one learner cut short": Patch(PROGRAM, "collect", of_last_learner(end_often), "L5"),
    "all logs are those of seat 0": Patch("sparring.training.record", "game_metrics", same_log_for_all, "L8"),
}


@contextmanager
def patched(patch: Patch) -> Iterator[None]:
    from importlib import import_module

    module = import_module(patch.module)
    right = getattr(module, patch.name)
    setattr(module, patch.name, patch.wrong(right))
    try:
        yield
    finally:
        setattr(module, patch.name, right)


AGENTS = ("player_1", "player_2", "player_3", "player_4")


def loop(seed: int = 0, *, wrong: str = "", episodes: int = 200) -> dict[str, Any]:
    """What a loop of four learners in somebody's own code would log, with one thing done wrong."""
    random, log = np.random.default_rng(seed), SeatLog(AGENTS, seed=seed)
    for name in AGENTS:
        rate = 3.3e-4 if wrong == "learning rate" and name == "player_2" else 3e-4
        log.settings(
            name, {"learning_rate": rate, "gamma": 0.99, "ToM_config": {"my_id": name}, "omg": {"buffer": 500}}
        )
    for episode in range(episodes):
        order = random.permutation(4)
        learners = {AGENTS[seat]: AGENTS[learner] for seat, learner in enumerate(order)}
        earned = {name: float(random.normal(10.0, 2.0)) for name in AGENTS}
        if wrong == "seat":
            earned["player_1"] += 1.5
        log.episode(earned, learners)
        for name in AGENTS:
            early = wrong == "early return" and name == "player_4" and episode % 10 == 0
            log.count(name, "pushes", 1)
            log.count(name, "world model rows", 0 if early else 50)
            log.count(name, "imagined rows", 40 if wrong == "imagined id" and name == "player_3" else 50)
            skips = wrong == "skipped update" and name == "player_3" and episode == 100
            log.count(name, "policy updates", 0 if skips else 1)
            lost = 0.5 if wrong == "subgoal log" and name == "player_4" else 0.02
            log.share(name, "zero subgoals", int(random.binomial(50, lost)), 50)

    def book(rows: Any) -> dict[str, float]:
        total = {name: sum(row[name] for row in rows) for name in AGENTS}
        if wrong == "clipped books":
            total["player_3"] = max(-50.0, total["player_3"])
        if wrong == "booking":
            total["player_1"], total["player_2"] = total["player_2"], total["player_1"]
        return total

    log.check_logger(book)
    return log.plain()


LOOPS = {
    "learning rate": "L0",
    "seat": "L3",
    "early return": "L5",
    "imagined id": "L5",
    "skipped update": "L5",
    "subgoal log": "L5",
    "booking": "L8",
    "clipped books": "L8",
}
"""Faults of loops by the level that must find them."""
