"""Who opposes the learner: the decisions of the leagues, one for each seed, as arrays that the program reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.seeding import Seed
from sparring.games.game import Game
from sparring.league.comeback import Comeback
from sparring.league.desk import LATE
from sparring.league.events import Event, Joined, Recalled, Reset, Snapshot, Staged
from sparring.league.league import League
from sparring.league.orders import Orders as Decisions
from sparring.league.orders import Report as LeagueReport
from sparring.league.orders import Result
from sparring.league.player import BOT, LEARNER, RIVAL, SHADOW, Player, kind_of
from sparring.league.role_league import RoleLeague
from sparring.league.stages import Stage, StageState, advanced, parse_stages
from sparring.learn.learner import Learner
from sparring.play.rollout import Duels, Pairing
from sparring.play.seating import Group
from sparring.training.build import Built, ladder_of
from sparring.training.guests import Guest
from sparring.training.line_up import BOTS, has_bots, has_pool
from sparring.training.program import Orders, TrainState, live_row, shadow_row
from sparring.training.reseat import layout_now


class Faced(NamedTuple):
    """Completed games of a learner against one player in one block, in one iteration."""

    seed: int
    learner: str
    block: int
    side: int
    player: int
    name: str
    kind: str
    probability: float
    games: int
    won: int
    drawn: int
    lost: int
    length_sum: int
    return_sum: float
    return_square_sum: float


@dataclass
class Opposition:
    """Leagues decide; this carries what they decide to the device and what happened back. State is in the leagues."""

    built: Built
    leagues: list[League | RoleLeague]
    """One for each seed."""
    standing: Orders
    """What the program is told where nobody changes."""
    stages: tuple[Stage, ...] = ()
    """Rules of the game that change as marks are passed."""
    stage: StageState = field(default_factory=StageState)
    unread: list[tuple[int, dict[str, float | None]]] = field(default_factory=list)
    """What stages are judged by, iteration by iteration, until it is old enough to be read."""
    comebacks: list[Comeback] = field(default_factory=list)
    """For each seed, how far back defeats are tried again; empty where they are not."""
    tries: list[tuple[int, list[list[int]]]] = field(default_factory=list)
    """Second tries of each seed (games, won, drawn, lost), iteration by iteration, until they are read."""
    decided: dict[int, list[Decisions]] = field(default_factory=dict)
    """By iteration, until its report is in."""
    guests: dict[int, Guest] = field(default_factory=dict)
    """By id."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Families of guests that are built unlike the learner, with the command that brought the first of each."""
    arriving: dict[int, str] = field(default_factory=dict)
    """Guests that wait for a member to leave: the commands that brought them, with their names."""

    @classmethod
    def begin(cls, built: Built) -> "Opposition":
        leagues = [begun(built, int(seed)) for seed in built.seeds_R] if built.plan.seating.changing else []
        defeats = built.config.defeats
        farthest = min(defeats.defeat_reach, built.plan.steps)
        comebacks = [Comeback(farthest) for _ in built.seeds_R] if defeats.defeat_share else []
        return cls(built, leagues, built.standing, parse_stages(built.config.stages), comebacks=comebacks)

    @classmethod
    def restored(cls, built: Built, state: dict[str, Any], guests: dict[int, Guest]) -> "Opposition":
        """`built` in the seating of the checkpoint, with its guests: see `guests.as_saved`."""
        opposition = cls.begin(built)
        opposition.guests, opposition.kinds = dict(guests), dict(state.get("kinds", {}))
        opposition.arriving = dict(state.get("arriving", []))
        opposition.leagues = [
            begun(built, int(seed)).restored(own)
            for seed, own in zip(built.seeds_R, state["leagues"], strict=bool(opposition.leagues))
        ]
        opposition.stage = StageState.from_dict(state["stage"])
        opposition.unread = [(iteration, values) for iteration, values in state["unread"]]
        opposition.comebacks = [Comeback.from_dict(comeback) for comeback in state["comebacks"]]
        opposition.tries = [(iteration, results) for iteration, results in state["tries"]]
        return opposition

    def state(self) -> dict[str, Any]:
        """Plain data, from which `restored` goes on exactly."""
        return {
            "leagues": [league.state() for league in self.leagues],
            "stage": self.stage.to_dict(),
            "unread": [[iteration, values] for iteration, values in self.unread],
            "comebacks": [comeback.to_dict() for comeback in self.comebacks],
            "tries": [[iteration, results] for iteration, results in self.tries],
            **self.seating_state(),
        }

    @property
    def mixtures(self) -> list[League]:
        """The leagues of one learner each, whose shares and pools people may change."""
        return [league for league in self.leagues if isinstance(league, League)]

    def seating_state(self) -> dict[str, Any]:
        """What control by hand has changed: the layout of the blocks, the guests and their kinds of network."""
        self.forget_guests()
        layout = layout_now(self.built.plan.seating) if self.leagues else None
        return {
            "layout": None if layout is None else [list(layout.mirror_B), list(layout.face_B)],
            "kinds": dict(self.kinds),
            "arriving": [[number, name] for number, name in self.arriving.items()],
            "guests": [guest.to_dict(player) for player, guest in self.guests.items()],
        }

    def forget_guests(self) -> None:
        """Let go of those who have left every pool."""
        here = {player for league in self.leagues for player in league.pool.rows}
        self.guests = {player: guest for player, guest in self.guests.items() if player in here}

    @property
    def game(self) -> Game:
        """The game with the rules of the present stage."""
        return (
            self.built.game.with_rules(**dict(self.stages[self.stage.number].settings))
            if self.stages
            else (self.built.game)
        )

    def read(self, lines: list[dict[str, Any]]) -> None:
        """Keep what the stages are judged by: the mean over seeds of the metrics they name."""
        names = {stage.metric for stage in self.stages if stage.metric}
        if names:
            known = {name: [line[name] for line in lines if line.get(name) is not None] for name in names}
            means = {name: float(np.mean(values)) if values else None for name, values in known.items()}
            self.unread.append((lines[0]["iteration"], means))

    def assign(self, iteration: int) -> tuple[Orders, list[tuple[Event, ...]]]:
        """The orders of an iteration, and for each seed the events that must happen before it."""
        staged = self.next_stage(iteration)
        weights_J = self.built.shaping_J(iteration)
        orders = self.standing
        if weights_J is not None:
            shape = (self.built.config.seeds, len(weights_J))
            orders = orders._replace(shaping_J=jnp.broadcast_to(jnp.asarray(weights_J), shape))
        if self.comebacks:
            self.comebacks = [self.coped(iteration, r) for r in range(len(self.comebacks))]
            self.tries = [report for report in self.tries if report[0] > iteration - LATE]
            orders = orders._replace(reach=jnp.asarray([comeback.reach for comeback in self.comebacks], jnp.int32))
        if not self.leagues:
            return orders, [staged] * self.built.config.seeds if staged else []
        progress, steps = self.built.progress(iteration), iteration * self.built.steps_per_iteration
        decisions = [league.assign(iteration, progress, steps) for league in self.leagues]
        self.decided[iteration] = decisions
        return self.on_device(decisions, orders), [staged + decision.events for decision in decisions]

    def next_stage(self, iteration: int) -> tuple[Event, ...]:
        """Go on to the stage that metrics of old enough iterations have reached; the event where that is another."""
        before = self.stage.number
        while self.unread and self.unread[0][0] <= iteration - LATE:
            self.stage = advanced(self.stage, self.stages, self.unread.pop(0)[1])
        if self.stage.number == before:
            return ()
        return (Staged(self.stage.number + 1, len(self.stages), dict(self.stages[self.stage.number].settings)),)

    def coped(self, iteration: int, r: int) -> Comeback:
        """How far back defeats are tried again, after the second tries that are old enough to be read."""
        comeback, farthest = self.comebacks[r], self.built.plan.steps
        for when, results_R in self.tries:
            if when <= iteration - LATE:
                _, won, drawn, lost = results_R[r]
                comeback = comeback.after(won, drawn, lost, self.built.config.defeats, farthest)
        return comeback

    def on_device(self, decisions: list[Decisions], orders: Orders) -> Orders:
        groups = [group for group in self.built.plan.seating.groups if not group.learns]
        pairs = zip(self.leagues, decisions, strict=True)
        found = [[self.seated(group, league, d) for group in groups] for league, d in pairs]
        rows, ids, temperature, epsilon = (
            tuple(np.stack([found[r][g][k] for r in range(len(found))]) for g in range(len(groups))) for k in range(4)
        )
        weak = orders.temperature if any(t is None for t in orders.temperature) else None
        # NumPy arrays: the program takes them as they are, and each array put on the device by itself costs as much.
        pairs_2B: list[Any] = [
            np.array([[self.families(d.old_B), self.families(d.next_B)] for d in decisions], np.int32),
            np.array([[d.old_B, d.next_B] for d in decisions], np.uint32),
            np.array([d.changed_B for d in decisions], bool),
        ]
        return orders._replace(
            rows=rows, ids=ids, temperature=weak or temperature, epsilon=weak or epsilon, pairing=Pairing(*pairs_2B)
        )

    def families(self, player_B: Any) -> list[int]:
        """For each block, 0 for the learner itself, else 1 + the number of the player's family in the seating."""
        seating = self.built.plan.seating
        return [0 if p == LEARNER else 1 + seating.families.index(self.family(int(p))) for p in player_B]

    def family(self, player: int) -> str:
        if kind_of(player) == "bot":
            return BOTS
        return self.guests[player].family if player in self.guests else self.built.plan.seating.groups[0].family

    def seated(self, group: Group, league: League | RoleLeague, decisions: Decisions) -> tuple[np.ndarray, ...]:
        """Rows, ids, temperatures and shares of random actions of a group's lanes; row 0 where others drive them."""
        old = group.slot == "old"
        blocks = [block for ((block, _),) in group.lanes]
        players = [int((decisions.old_B if old else decisions.next_B)[b]) for b in blocks]
        mine = [p != LEARNER and self.family(p) == group.family for p in players]
        rows = [self.row(league, p) if own else 0 for p, own in zip(players, mine, strict=True)]
        temperature_B = decisions.old_temperature_B if old else decisions.temperature_B
        epsilon_B = decisions.old_epsilon_B if old else decisions.epsilon_B
        return (
            np.asarray(rows, np.int32),
            np.asarray(players, np.uint32),
            np.asarray([temperature_B[b] for b in blocks], np.float32),
            np.asarray([epsilon_B[b] for b in blocks], np.float32),
        )

    def row(self, league: League | RoleLeague, player: int) -> int:
        if kind_of(player) == "bot":
            return player - BOT
        if player in self.guests and self.guests[player].family in self.kinds:
            return self.guests[player].row
        if kind_of(player) == "rival":
            return live_row(player - RIVAL)
        row = shadow_row(0) if player == SHADOW else league.row_of(player)
        assert row is not None, f"player {player} is drawn but not in the pool"
        return row

    def observe(self, iteration: int, duels: Duels | None, second_tries: Any = None) -> list[Faced]:
        """Tell the leagues what an iteration brought, but for games against oneself; and say who was faced."""
        if second_tries is not None:
            self.tries.append((iteration, np.asarray(second_tries).tolist()))
        if duels is None:
            return []
        faced = []
        for r, (league, decision) in enumerate(zip(self.leagues, self.decided.pop(iteration), strict=True)):
            own = Duels(*(np.asarray(x)[r] for x in duels))
            rows = self.met(int(self.built.seeds_R[r]), league, decision, own)
            results = tuple(
                Result(row.block, row.player, row.probability, row.games, row.won, row.drawn, row.lost)
                for row in rows
                if row.player != LEARNER
            )
            league.report(LeagueReport(iteration, results, tuple(bool(x) for x in own.drained_B)))
            faced += rows
        return faced

    def met(self, seed: int, league: League | RoleLeague, decision: Decisions, duels: Duels) -> list[Faced]:
        """Every player that completed games with the learner in each block."""
        home_B, learners = self.built.plan.seating.home_B, self.built.lineup.names
        each = len(home_B) // len(learners)
        names = {LEARNER: learners[0], **{m.player.id: m.player.name for m in league.members()}}
        slots = ((decision.old_B, decision.old_probability_B), (decision.next_B, decision.probability_B))

        def faced(s: int, block: int) -> Faced:
            learner, player = block // each, int(slots[s][0][block])
            kind = "self" if player == RIVAL + learner else kind_of(player)
            return Faced(
                seed, learners[learner], block, home_B[block], player, names[player], kind, float(slots[s][1][block]),
                *(int(x[s, block]) for x in duels[:5]), *(float(x[s, block]) for x in duels[5:7]),
            )  # fmt: skip

        return [faced(s, block) for s in range(2) for block in range(len(home_B)) if duels.games_2B[s, block]]


def begun(built: Built, seed: int) -> League | RoleLeague:
    """The league of one seed before anything was played."""
    return role_league(built, seed) if built.config.roles.mains else new_league(built, seed)


def role_league(built: Built, seed: int) -> RoleLeague:
    config, names = built.config, built.lineup.names
    return RoleLeague(
        config.roles, config.opponents, config.pool.pool_size, names, built.plan.seating.blocks // len(names),
        Seed.of(seed) / "league", config.total_steps,
    )  # fmt: skip


def new_league(built: Built, seed: int) -> League:
    return League.begin(*league_settings(built), **league_facts(built, seed), from_birth=True)


def league_settings(built: Built) -> tuple[Any, ...]:
    config = built.config
    pool = config.pool if has_pool(config) else replace(config.pool, pool_size=0)
    return config.opponents, pool, config.curriculum


def league_facts(built: Built, seed: int) -> dict[str, Any]:
    config, seating = built.config, built.plan.seating
    lanes = seating.groups[0].lanes[0]
    return {
        "bots": ladder_of(built.game, config) if has_bots(config) else (),
        "can_mirror_B": np.asarray([(block, 1 - home) in lanes for block, home in enumerate(seating.home_B)]),
        "can_face_B": np.isin(np.arange(seating.blocks), seating.changing),
        "seed": Seed.of(seed) / "league",
        "total_steps": config.total_steps,
        "gates": config.gates,
    }


def applied(
    state: TrainState,
    events_R: Sequence[Sequence[Event]],
    opposition: Opposition,
    read: Callable[[int, Player], Any] | None = None,
) -> TrainState:
    """Carry out what the leagues decided: copy learners, and guests that are built alike, into rows of the pool, bring
    past players back (`read` gives the weights of one of a seed), and let learners begin anew."""
    for r, events in enumerate(events_R):
        for event in events:
            if isinstance(event, Snapshot) and event.row is not None:
                places = (jnp.asarray(place) for place in (r, event.learner, event.row))
                state = state._replace(pool=copy_row(state.pool, state.learners[0], *places))
            elif isinstance(event, Reset):
                assert state.origin is not None
                anew = begin_anew(state.learners[0], state.origin, jnp.asarray(r), jnp.asarray(event.learner))
                state = state._replace(learners=(anew,))
            elif isinstance(event, Recalled):
                assert read is not None
                policy = read(r, event.player)
                put = jax.tree.map(lambda rows, one, at=(r, event.row): rows.at[at].set(one), state.pool, policy)
                state = state._replace(pool=put)
            elif isinstance(event, Joined) and opposition.guests[event.player.id].family not in opposition.kinds:
                guest = opposition.guests[event.player.id].policy
                put = jax.tree.map(lambda rows, one, at=(r, event.row): rows.at[at].set(one), state.pool, guest)
                state = state._replace(pool=put)
    return state


@jax.jit
def copy_row(pool: Any, learners: Learner, seed: jax.Array, learner: jax.Array, row: jax.Array) -> Any:
    """The pool with a learner's present policy in one row."""
    return jax.tree.map(lambda rows, actor: rows.at[seed, row].set(actor[seed, learner]), pool, learners.model.actor)


@jax.jit
def begin_anew(learners: Learner, origin: Learner, seed: jax.Array, learner: jax.Array) -> Learner:
    """One learner as it began: weights, optimiser, statistics and shadow; the others as they are."""
    at = (seed, learner)
    return jax.tree.map(lambda now, first: now.at[at].set(first[at]), learners, origin)
