"""Who opposes the learner: the decisions of the leagues, one for each seed, as arrays that the program reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from sparring.core.seeding import Seed
from sparring.games.game import Game
from sparring.league.abreast import Abreast
from sparring.league.comeback import Comeback
from sparring.league.desk import LATE
from sparring.league.events import Event, Staged
from sparring.league.league import League
from sparring.league.orders import Orders as Decisions
from sparring.league.orders import Report as LeagueReport
from sparring.league.orders import Result
from sparring.league.player import BOT, LEARNER, RIVAL, SHADOW, kind_of
from sparring.league.population import Copied
from sparring.league.role_league import RoleLeague
from sparring.league.stages import Stage, StageState, advanced, parse_stages
from sparring.play.rollout import Duels, Pairing
from sparring.play.seating import Group, net_family
from sparring.training.build import Built, ladder_of
from sparring.training.guests import Guest
from sparring.training.line_up import BOTS, has_bots, has_pool
from sparring.training.program import Orders, live_row, shadow_row
from sparring.training.reseat import layout_now

AnyLeague = League | RoleLeague | Abreast


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
    weakened: bool
    """The league had noise added to the player's choices."""


@dataclass
class Opposition:
    """Leagues decide; this carries what they decide to the device and what happened back. State is in the leagues."""

    built: Built
    leagues: list[AnyLeague]
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
        game = self.built.game
        return game.with_rules(**dict(self.stages[self.stage.number].settings)) if self.stages else game

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
        orders = self.standing._replace(shaping=self.built.shaping(iteration))
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

    def descended(self, events_R: Sequence[Sequence[Event]], iteration: int) -> None:
        """Tell the leagues which members of a population have become copies of others before this iteration."""
        for league, events in zip(self.leagues, events_R, strict=bool(self.leagues)):
            parent_M = np.arange(self.built.config.population.population)
            for event in events:
                if isinstance(event, Copied):
                    parent_M[event.member] = event.parent
            assert not isinstance(league, League)  # that has one learner
            league.descended(parent_M, iteration)

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
        return [
            0 if p == LEARNER else 1 + seating.families.index(self.family(int(p), block))
            for block, p in enumerate(player_B)
        ]

    def family(self, player: int, block: int) -> str:
        """Of whoever drives the away side of a block."""
        if kind_of(player) == "bot":
            return BOTS
        seating = self.built.plan.seating
        away = seating.seats_of_side[seating.home_B[block] - 1]  # any: several away sides are alike
        return self.guests[player].family if player in self.guests else net_family(away)

    def seated(self, group: Group, league: AnyLeague, decisions: Decisions) -> tuple[np.ndarray, ...]:
        """Rows, ids, temperatures and shares of random actions of a group's lanes; row 0 where others drive them."""
        old = group.slot == "old"
        blocks = group.blocks
        players = [int((decisions.old_B if old else decisions.next_B)[b]) for b in blocks]
        mine = [p != LEARNER and self.family(p, b) == group.family for p, b in zip(players, blocks, strict=True)]
        rows = [self.row(league, p) if own else 0 for p, own in zip(players, mine, strict=True)]
        temperature_B = decisions.old_temperature_B if old else decisions.temperature_B
        epsilon_B = decisions.old_epsilon_B if old else decisions.epsilon_B
        return (
            np.asarray(rows, np.int32),
            np.asarray(players, np.uint32),
            np.asarray([temperature_B[b] for b in blocks], np.float32),
            np.asarray([epsilon_B[b] for b in blocks], np.float32),
        )

    def row(self, league: AnyLeague, player: int) -> int:
        if kind_of(player) == "bot":
            return player - BOT
        if player in self.guests and self.guests[player].family in self.kinds:
            return self.guests[player].row
        if kind_of(player) == "rival":
            return live_row(player - RIVAL)
        row = shadow_row(player - SHADOW) if kind_of(player) == "shadow" else league.row_of(player)
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
                Result(row.block, row.player, row.probability, row.games, *self.counted(row), row.weakened)
                for row in rows
                if row.player != LEARNER
            )
            league.report(LeagueReport(iteration, results, tuple(bool(x) for x in own.drained_B)))
            faced += rows
        return faced

    def counted(self, faced: Faced) -> tuple[int, int, int]:
        """Won, drawn, lost: where nobody wins, all are draws to the league, which then knows how many there were."""
        winners = self.built.game.spec.has_winners
        return (faced.won, faced.drawn, faced.lost) if winners else (0, faced.games, 0)

    def met(self, seed: int, league: AnyLeague, decision: Decisions, duels: Duels) -> list[Faced]:
        """Every player that completed games with the learner in each block."""
        home_B, learners = self.built.plan.seating.home_B, self.built.lineup.names
        each = len(home_B) // len(learners)
        names = {player.id: player.name for player in league.players}
        slots = (
            (decision.old_B, decision.old_probability_B, decision.old_weakened_B),
            (decision.next_B, decision.probability_B, decision.weakened_B),
        )

        def faced(s: int, block: int) -> Faced:
            player_B, probability_B, weakened_B = slots[s]
            learner, player = block // each, int(player_B[block])
            kind = "self" if player == RIVAL + learner else kind_of(player)
            name = learners[learner] if player == LEARNER else names[player]
            return Faced(
                seed, learners[learner], block, home_B[block], player, name, kind, float(probability_B[block]),
                *(int(x[s, block]) for x in duels[:5]), *(float(x[s, block]) for x in duels[5:7]),
                weakened=bool(weakened_B[block]),
            )  # fmt: skip

        return [faced(s, block) for s in range(2) for block in range(len(home_B)) if duels.games_2B[s, block]]


def begun(built: Built, seed: int) -> AnyLeague:
    """The league of one seed before anything was played."""
    if built.config.roles.active:
        return role_league(built, seed)
    names = built.lineup.names
    leagues = [new_league(built, seed, learner) for learner in range(len(names))]
    return Abreast(leagues, names, not built.game.spec.exchangeable_sides) if len(names) > 1 else leagues[0]


def role_league(built: Built, seed: int) -> RoleLeague:
    config, names = built.config, built.lineup.names
    return RoleLeague(
        config.roles, config.opponents, config.pool.pool_size, names, built.plan.seating.blocks // len(names),
        Seed.of(seed) / "league", config.total_steps,
    )  # fmt: skip


def new_league(built: Built, seed: int, learner: int = 0) -> League:
    """What opposes one learner."""
    config, seating, pool = built.config, built.plan.seating, built.config.pool
    root = Seed.of(seed) / "league"
    layout, unlike = layout_now(seating), not built.game.spec.exchangeable_sides
    return League.begin(
        config.opponents, pool if has_pool(config) else replace(pool, pool_size=0), config.curriculum,
        bots=ladder_of(built.game, config) if has_bots(config) else (),
        can_mirror_B=np.asarray([unlike or mirror for mirror in layout.mirror_B]),  # unlike sides meet, one learning
        can_face_B=np.asarray(layout.face_B), seed=root / learner if learner else root,
        total_steps=config.total_steps, gates=config.gates, from_birth=True, own_past=not unlike,
    )  # fmt: skip
