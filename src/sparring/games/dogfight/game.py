"""Air combat with guns, and missiles if wanted: one against one, or two against two.

A side wins when the other is shot down, collides, flies into the ground, leaves the arena or is outflown; when time is
up, who is ahead. The reward is the outcome. A decision lasts several sub-steps of physics; guns, bubbles, deck and
bounds are checked in each.
"""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import Central, GameSpec
from sparring.games.dogfight import bots as scripted
from sparring.games.dogfight import controls, guns, mirror, missiles, scenes, shaping, starts, view
from sparring.games.dogfight.combat import Setting, control, foes, lead, locks, substep
from sparring.games.dogfight.geometry import look
from sparring.games.dogfight.rules import (
    BOUNDS,
    CAUSES,
    COLLISION,
    FATES,
    GROUND,
    OUTFLOWN,
    PEACE,
    TIMEOUT,
    Fight,
    Rules,
    standard_rules,
)
from sparring.games.game import Bots, Chance, Game


class Dogfight(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    setting: Setting = eqx.field(static=True)

    @property
    def has_missiles(self) -> bool:
        return self.spec.layout[-1].name == "missiles"

    def start(self, key: Array) -> Fight:
        seats = self.spec.seats
        flight = starts.start(key, self.rules, self.spec.side_of_seat)
        return Fight(
            flight=flight,
            health_S=jnp.ones(seats),
            alive_S=jnp.ones(seats, bool),
            control_S=jnp.zeros(seats),
            cause_S=jnp.full(seats, TIMEOUT, jnp.int32),
            played=jnp.zeros((), jnp.int32),
            missiles=missiles.loaded(flight) if self.has_missiles else None,
        )

    def observe(self, state: Fight) -> Observation:
        spec, sight = self.spec, look(state.flight)
        bites = guns.bites(sight, foes(state.alive_S, self.setting), self.rules, self.setting.front_quarter)
        lead_S = lead(state, self.rules)
        lock_SS = locks(state, sight, self._armed(state), self.rules, self.setting) if self.has_missiles else None
        ready_S = None if lock_SS is None else lock_SS.any(axis=1)
        share_played = state.played / spec.longest
        features_SF = view.observe(
            state, bites, sight, lock_SS, lead_S, self.rules.hard_deck, share_played, self.setting.foe_SO
        )
        legal_SA = controls.legal(state.alive_S, ready_S, spec.action)
        # A lost aircraft still shares its side's outcome: its critic goes on learning, its actor does not.
        return Observation(features_SF, legal_SA, jnp.ones(spec.seats, bool), state.alive_S)

    def step(self, state: Fight, action: Action, chance: Chance) -> tuple[Fight, Step]:
        del chance
        wish = controls.controls_of(action, self.spec.action, state.flight, self.rules.levelling)
        armed, before_S, hits_S = self._armed(state), state.alive_S, jnp.zeros(self.spec.seats)
        if state.missiles is not None:
            lock_SS = locks(state, look(state.flight), armed, self.rules, self.setting)
            lock_SS = lock_SS * action.discrete_SD[:, -1:]
            launched = missiles.launch(state.missiles, state.flight, lock_SS, self.rules.missile_pause)
            state = state._replace(missiles=launched)
        for _ in range(self.setting.substeps):
            state, net_S = substep(state, wish, armed, self.rules, self.setting)
            hits_S = hits_S + net_S
        gained_S = control(look(state.flight), foes(state.alive_S, self.setting)) / self.setting.decisions
        state = state._replace(played=state.played + 1, control_S=state.control_S + gained_S)
        return state, self._result(state, before_S & ~state.alive_S, hits_S)

    def potential(self, state: Fight) -> Array:
        foe_SO = foes(state.alive_S, self.setting)
        return shaping.potential(state.flight, look(state.flight), foe_SO, state.alive_S, self.rules)

    def scene(self, state: Fight) -> Scene:
        sight = look(state.flight)
        bites = guns.bites(sight, foes(state.alive_S, self.setting), self.rules, self.setting.front_quarter)
        given_SO = np.asarray((bites.given > 0.0) & self._armed(state))
        firing_SS = np.stack([np.insert(row_O, s, False) for s, row_O in enumerate(given_SO)])
        ahead, seconds = float(lead(state, self.rules)[0]), float(state.played) / self.setting.decisions
        return scenes.draw(state, self.spec, self.rules, firing_SS, ahead, seconds)

    def bots(self) -> Bots:
        return scripted.ladder()

    def bot_memory(self, *batch: int) -> scripted.Memory:
        return scripted.blank(*batch)

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: scripted.Memory
    ) -> tuple[Array, Array, scripted.Memory]:
        del legal_NA
        dt = 1.0 / self.setting.decisions
        turn = scripted.turn(
            parameters_J, features_NF, memory, self.rules,
            others=self.spec.seats - 1, dt=dt, missiles=self.has_missiles,
        )  # fmt: skip
        return *controls.scores(turn.controls, turn.centre_N, turn.fire_N, self.spec.action), turn.memory

    def mirrored(self, state: Fight, action: Action, observation: Observation) -> tuple[Fight, Action, Observation]:
        """The same with left and right exchanged; features and choices alike, so that data can be used twice."""
        flips_F = view.flips(self.spec.seats, self.has_missiles)
        seen = observation._replace(features_SF=observation.features_SF * flips_F)
        return mirror.mirrored_fight(state), mirror.mirrored_action(action, self.spec.action), seen

    def _armed(self, state: Fight) -> Array:
        return state.played >= self.spec.shortest

    def _result(self, state: Fight, fell_S: Array, hits_S: Array) -> Step:
        """A side that is gone has lost, unless the other went in the same sub-step."""
        spec, side_of_seat = self.spec, np.array(self.spec.side_of_seat)
        gone_K, late = ~state.alive_S.reshape(2, -1).any(axis=1), state.played >= spec.longest
        lead_K = lead(state, self.rules)[:: spec.seats // 2]
        control_K = jnp.mean(state.control_S.reshape(2, -1), axis=1)
        outflown = self._armed(state) & ~gone_K.any() & (jnp.abs(control_K) >= self.rules.control_time).any()
        lost_K = jnp.where(outflown, control_K < 0.0, gone_K)
        ahead_K = jnp.where(jnp.abs(lead_K) > self.rules.margin, jnp.sign(lead_K), 0.0)
        outcome_K = jnp.where(lost_K.any(), lost_K[::-1].astype(float) - lost_K.astype(float), late * ahead_K)
        outcome_S = outcome_K[side_of_seat]
        # A side's cause is that of its last loss; what beat the enemy is also why the game ended for the winner.
        fate_K = jnp.where(fell_S, state.cause_S, -1).reshape(2, -1).max(axis=1)
        fate_K = jnp.where(outflown, OUTFLOWN, fate_K)
        cause_K = jnp.where(lost_K, fate_K, jnp.where(lost_K[::-1], fate_K[::-1], TIMEOUT))
        # A potential guides only until the critic knows it; pursuit pays all the time.
        pursuit_S = self.potential(state)[:, 0] / self.setting.decisions
        blunder_S = -(
            fell_S & ((state.cause_S == GROUND) | (state.cause_S == BOUNDS) | (state.cause_S == COLLISION))
        ).astype(float)
        defeat_S = jnp.minimum(outcome_S, 0.0)
        return Step(
            reward_S=outcome_S,
            left_S=jnp.zeros(spec.seats, bool),
            over=lost_K.any() | late,
            cut=jnp.zeros((), bool),
            outcome_K=outcome_K,
            terms_SJ=jnp.stack([hits_S, state.alive_S / spec.longest, defeat_S, pursuit_S, blunder_S], axis=-1),
            cause_K=cause_K,
        )


def dogfight(
    actions: Literal["continuous", "discrete"] = "continuous",
    missiles: bool = False,
    front_quarter_guns: bool = False,
    seconds: int = 180,
    decisions: int = 10,
    substeps: int = 2,
) -> Dogfight:
    """One against one in F-16-like aircraft, with guns and if wanted missiles."""
    return _dogfight(1, actions, missiles, front_quarter_guns, seconds, decisions, substeps)


def dogfight_2v2(
    actions: Literal["continuous", "discrete"] = "continuous",
    missiles: bool = False,
    front_quarter_guns: bool = False,
    seconds: int = 180,
    decisions: int = 10,
    substeps: int = 2,
) -> Dogfight:
    """Two against two in F-16-like aircraft, with guns and if wanted missiles."""
    return _dogfight(2, actions, missiles, front_quarter_guns, seconds, decisions, substeps)


def _dogfight(
    aircraft: int, actions: str, missiles: bool, front_quarter: bool, seconds: int, decisions: int, substeps: int
) -> Dogfight:
    if min(seconds, decisions, substeps) < 1:
        found = f"seconds={seconds}, decisions={decisions}, substeps={substeps}"
        raise ConfigError(f"A dogfight needs at least 1 second, 1 decision a second and 1 sub-step, found {found}.")
    if decisions * substeps < 10:
        found = f"decisions={decisions} and substeps={substeps}"
        raise ConfigError(f"Flight is computed 10 times a second at least, found {found}: raise substeps.")
    seats, longest = 2 * aircraft, seconds * decisions
    sides = (0,) * aircraft + (1,) * aircraft
    layout = view.layout(seats, missiles)
    names = ("red", "blue") if aircraft == 1 else ("red_1", "red_2", "blue_1", "blue_2")
    spec = GameSpec(
        seats=seats,
        side_of_seat=sides,
        action=controls.action_spec(actions == "discrete", missiles),
        layout=layout,
        central=Central("seat", seats * sum(block.size for block in layout)),
        longest=longest,
        shortest=min(int(PEACE * decisions), longest),
        exchangeable=(tuple(range(seats)),),
        zero_sum=True,
        score="outcome",
        seat_names=names,
        causes=CAUSES,
        fates=FATES,
        terms=shaping.TERMS,
    )
    return Dogfight(spec, standard_rules(), Setting(sides, decisions, substeps, front_quarter))
