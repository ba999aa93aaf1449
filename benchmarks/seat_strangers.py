"""More faults that favour a seat, invented after the audit was built and without a look at how it works: what people do
who never heard of it. And clean games and trainings that look suspicious.

The same tables as in `seat_mutants.py`, and judged in the same way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from seat_mutants import PROGRAM, Mutant, Patch, doctored, of_last_learner
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games import registry
from sparring.games.game import Game
from sparring.games.social.coin import coin
from sparring.games.social.snowdrift import snowdrift
from sparring.games.social.stag_hunt import stag_hunt


class AuctionRules(NamedTuple):
    prize: Array


class AuctionState(NamedTuple):
    value_S: Array
    """What the prize is worth to a seat."""
    bid_S: Array
    played: Array


class Noise(NamedTuple):
    key: Array
    """One for all seats, as most people draw it."""


class Auction(Game):
    """Three bid at once for 200 rounds; the highest bid wins and is paid, ties share. Written by a stranger: ordinary
    loops and splits, and one thing wrong, or nothing."""

    spec: GameSpec = eqx.field(static=True)
    rules: AuctionRules
    wrong: str = eqx.field(static=True, default="")

    def start(self, key: Array) -> AuctionState:
        value_S = 1.0 + jax.random.uniform(key, (3,))
        if self.wrong == "key reused":  # seat 1 draws with the key of seat 0
            value_S = value_S.at[1].set(value_S[0])
        return AuctionState(value_S, jnp.zeros(3), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> Any:
        return Noise(key) if self.wrong in ("one key", "one key, first key louder") else ()

    def observe(self, state: AuctionState) -> Observation:
        others = [jnp.delete(state.bid_S, s, assume_unique_indices=True) for s in range(3)]
        features_SF = jnp.concatenate([state.value_S[:, None], jnp.stack(others)], axis=1)
        all_S = jnp.ones(3, bool)
        return Observation(features_SF, jnp.ones((3, 4), bool), all_S, all_S)

    def step(self, state: AuctionState, action: Action, chance: Any) -> tuple[AuctionState, Step]:
        bid_S = action.discrete_SD[:, 0].astype(float)
        best_S = bid_S == bid_S.max()
        win_S = best_S / best_S.sum()
        if self.wrong == "first maximum" or self.wrong == "late":
            first_S = jnp.zeros(3).at[jnp.argmax(bid_S)].set(1.0)
            win_S = jnp.where(state.played > (150 if self.wrong == "late" else -1), first_S, win_S)
        if self.wrong.startswith("one key"):
            lot_S = jax.random.uniform(chance.key, (3,))
            if self.wrong.endswith("louder"):
                lot_S = lot_S.at[0].add(0.3)
            win_S = jnp.zeros(3).at[jnp.argmax(jnp.where(best_S, lot_S, -1.0))].set(1.0)
        pay_S = win_S * (self.rules.prize * state.value_S - 0.5 * bid_S)
        after = AuctionState(state.value_S, bid_S, state.played + 1)
        over = after.played >= self.spec.longest
        return after, Step(pay_S, jnp.zeros(3, bool), over, jnp.zeros((), bool), jnp.zeros(3))


def auction(wrong: str = "", *, listed: bool = True) -> Auction:
    others = Feature("bids of others", (2, 1), lists="others") if listed else Feature("bids of others", (2,))
    spec = GameSpec(
        seats=3, side_of_seat=(0, 1, 2), action=ActionSpec(heads=(4,)), layout=(Feature("value", (1,)), others),
        central=Central("seat", 9), longest=200, shortest=200, exchangeable=((0, 1, 2),),
    )  # fmt: skip
    return Auction(spec, AuctionRules(jnp.asarray(2.0)), wrong)


def last_is_thanked(_: Game, __: Any, ___: Action, ____: Any, step: Step) -> Step:
    """When the game ends the last seat has a bonus."""
    return step._replace(reward_S=step.reward_S.at[-1].add(0.1 * step.over))


def clipped(_: Game, __: Any, ___: Action, ____: Any, step: Step) -> Step:
    """Rewards of seat 2 are clipped, as if it were trained by another wrapper."""
    return step._replace(reward_S=step.reward_S.at[2].set(jnp.minimum(step.reward_S[2], 2.0)))


def paid(change: Callable[..., Step]) -> Callable[..., tuple[Any, Step]]:
    return lambda game, state, action, after, step: (after, change(game, state, action, after, step))


def mask_shifted(_: Game, __: Any, seen: Observation) -> Observation:
    """Seat 0's mask is off by one."""
    return seen._replace(legal_SA=seen.legal_SA.at[0].set(jnp.roll(seen.legal_SA[0], 1)))


def rows_rolled(_: Game, __: Any, seen: Observation) -> Observation:
    """Everybody sees what the neighbour should see."""
    return seen._replace(features_SF=jnp.roll(seen.features_SF, 1, axis=0))


def beside_the_coin(state: Any) -> Any:
    """Seat 0 begins beside the coin, anywhere on the board: one number drawn for both."""
    size, coin_cell = 3, state.coin
    home = state.cell_S[0]
    beside = jnp.where(coin_cell % size < size - 1, coin_cell + 1, coin_cell - 1)
    cell_S = jnp.where(state.cell_S == beside, home, state.cell_S).at[0].set(beside)
    return state._replace(cell_S=cell_S)


def sorted_places(state: Any) -> Any:
    """Places are drawn, sorted by a set somewhere, and dealt out from the first."""
    return state._replace(cell_S=jnp.sort(state.cell_S))


def order_turns(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Agents move one after another and block each other; who begins goes round with the step."""
    seats = len(state.cell_S)

    def move(cell_S: Array, place: Array) -> tuple[Array, None]:
        seat = (place + state.played) % seats
        taken = jnp.any((cell_S == after.cell_S[seat]) & (jnp.arange(seats) != seat))
        return cell_S.at[seat].set(jnp.where(taken, cell_S[seat], after.cell_S[seat])), None

    return after._replace(cell_S=jax.lax.scan(move, state.cell_S, jnp.arange(seats))[0]), step


def heavier(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """Predator 0 loses a tenth of its speed in the second half of the game."""
    slow = jnp.where(state.played > 12, 0.9, 1.0)
    return after._replace(velocity_SX=after.velocity_SX.at[0].multiply(slow)), step


def thicker_armour(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """A hit costs red nine tenths of what it costs blue."""
    lost = state.health_S[0] - after.health_S[0]
    return after._replace(health_S=after.health_S.at[0].add(0.1 * lost)), step


def late_armour(_: Game, state: Any, __: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """After 200 decisions blue's health comes back, a little at a time."""
    healed = jnp.where(state.played > 200, jnp.minimum(1.0, after.health_S[1] + 0.001), after.health_S[1])
    return after._replace(health_S=after.health_S.at[1].set(healed)), step


def first_reloads(_: Game, __: Any, ___: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """The first marine's weapon cools down a little faster."""
    return after._replace(cooldown_U=after.cooldown_U.at[0].multiply(0.95)), step


def never_the_jack(state: Any) -> Any:
    """A deck that is not shuffled to its end: seat 0 never has card 0."""
    return state._replace(card_S=jnp.where(state.card_S[0] == 0, state.card_S[::-1], state.card_S))


def seat_0_begins(state: Any) -> Any:
    """Who begins is drawn, and a coin that shows nothing counts for seat 0."""
    return state._replace(position_S=jnp.where(state.own_S.sum() == 0, jnp.array([0, 1], jnp.int32), state.position_S))


def tie_to_first(_: Game, __: Any, ___: Action, after: Any, step: Step) -> tuple[Any, Step]:
    """A draw is a win for seat 0."""
    drawn = step.over & (step.outcome_K == 0.0).all()
    one = jnp.where(drawn, jnp.array([1.0, -1.0]), jnp.zeros(2))
    return after, step._replace(reward_S=step.reward_S + one, outcome_K=step.outcome_K + one)


def absent_at_first(state: Any) -> Any:
    """The last hunter comes to one game in four a step before it is there."""
    return state._replace(present_S=state.present_S.at[-1].set(state.cell_S.sum() % 4 != 0))


GAMES: dict[str, Mutant] = {
    "stag_hunt: a bonus for the last seat at the end": Mutant(
        lambda: doctored(stag_hunt(), steps=paid(last_is_thanked)), "L1"
    ),
    "stag_hunt: rewards of one seat clipped": Mutant(lambda: doctored(stag_hunt(), steps=paid(clipped)), "L1"),
    "stag_hunt: one hunter is absent by lot": Mutant(lambda: doctored(stag_hunt(), begins=absent_at_first), "L1"),
    "snowdrift: mask of seat 0 off by one": Mutant(lambda: doctored(snowdrift(), sees=mask_shifted), "L1"),
    "snowdrift: rows of views rolled": Mutant(lambda: doctored(snowdrift(), sees=rows_rolled), "L1"),
    "snowdrift: places sorted": Mutant(lambda: doctored(snowdrift(), begins=sorted_places), "L1"),
    "snowdrift: order of moves goes round": Mutant(lambda: doctored(snowdrift(), steps=order_turns), "L1"),
    "coin: seat 0 begins beside the coin": Mutant(lambda: doctored(coin(), begins=beside_the_coin), "L1"),
    "tag: a predator slows down in the second half": Mutant(
        lambda: doctored(registry.make("particles:tag"), steps=heavier), "L1"
    ),
    "dogfight: red's armour is thicker": Mutant(
        lambda: doctored(registry.make("dogfight"), steps=thicker_armour), "L1"
    ),
    "dogfight: blue heals after 200 decisions": Mutant(
        lambda: doctored(registry.make("dogfight"), steps=late_armour), "L1"
    ),
    "skirmish 3m: the first marine reloads faster": Mutant(
        lambda: doctored(registry.make("skirmish:3m"), steps=first_reloads), "L1"
    ),
    "leduc: seat 0 never has the first card": Mutant(
        lambda: doctored(registry.make("leduc"), begins=never_the_jack), "L1"
    ),
    "tic_tac_toe: seat 0 always begins": Mutant(
        lambda: doctored(registry.make("tic_tac_toe"), begins=seat_0_begins), "L1"
    ),
    "connect_four: a draw is seat 0's": Mutant(
        lambda: doctored(registry.make("connect_four"), steps=tie_to_first), "L1"
    ),
    "auction: first maximum": Mutant(lambda: auction("first maximum"), "L1"),
    "auction: first maximum after round 150": Mutant(lambda: auction("late"), "L1"),
    "auction: one key for two values": Mutant(lambda: auction("key reused"), "L1"),
    "auction: lots of one key, the first one's louder": Mutant(lambda: auction("one key, first key louder"), "L2"),
}
CLEAN: dict[str, Callable[[], Game]] = {
    "auction": auction,
    "auction, lots from one key": lambda: auction("one key"),
    "auction, others listed without saying so": lambda: auction(listed=False),
    "kuhn, roles by lot": lambda: registry.make("kuhn"),
    "tic_tac_toe, in turn": lambda: registry.make("tic_tac_toe"),
    "trio, three in turn": lambda: registry.make("trio"),
    "tag, sides unlike": lambda: registry.make("particles:tag"),
    "dogfight 2v2, teams": lambda: registry.make("dogfight:2v2"),
    "skirmish 3m, a team with places of its own": lambda: registry.make("skirmish:3m"),
    "stag_hunt, hunters leave": lambda: stag_hunt(hunters=3),
}


def stale(rollout: Any) -> Any:
    """Choices of the last learner are stored a step late."""
    late = jax.tree.map(lambda x: x.at[:, -1].set(jnp.roll(x[:, -1], 1, axis=0)), rollout.action)
    return rollout._replace(action=late)


def large_clipped(rollout: Any) -> Any:
    """Rewards of the last learner are clipped at 10, where ours are small."""
    reward = rollout.reward_TWN
    return rollout._replace(reward_TWN=reward.at[:, -1].set(jnp.clip(reward[:, -1], -10.0, 10.0)))


def others_values(rollout: Any) -> Any:
    """The last learner's advantages are made from the values of the first."""
    value = rollout.value_TWN
    return rollout._replace(value_TWN=value.at[:, -1].set(value[:, 0]))


def unmasked(rollout: Any) -> Any:
    """The last learner's masks are stored as all true."""
    return rollout._replace(legal_TWNA=rollout.legal_TWNA.at[:, -1].set(True))


TRAINING: dict[str, Patch] = {
    "rewards of one learner clipped at 10": Patch(PROGRAM, "collect", of_last_learner(large_clipped), "L8"),
    "choices of one learner stored a step late": Patch(PROGRAM, "collect", of_last_learner(stale), "L8"),
    "values of one learner are another's": Patch(PROGRAM, "collect", of_last_learner(others_values), "L8"),
    "masks of one learner lost": Patch(PROGRAM, "collect", of_last_learner(unmasked), "L8"),
}
