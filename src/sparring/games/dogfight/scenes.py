"""A fight as a viewer draws it."""

from typing import Any

import numpy as np

from sparring.core.scene import Body, Line, Point, Scene
from sparring.core.spec import GameSpec
from sparring.games.dogfight.rules import Fight, Rules
from sparring.games.dogfight.vectors import Vector

WINGSPAN, MISSILE_LENGTH = 9.144, 2.87
MARGIN = 1000.0
"""Around the bodies, m."""


def draw(fight: Fight, spec: GameSpec, rules: Rules, firing_SS: np.ndarray, lead: float, seconds: float) -> Scene:
    """`firing_SS` says whose gun hits whom, `lead` by how much the first side is ahead."""
    wide = max(float(np.tan(np.radians(rules.gun_cone)) * rules.gun_far), float(rules.gun_width))
    flight, health_S = fight.flight, np.asarray(fight.health_S) * np.asarray(fight.alive_S)
    places = [_point(flight.place, s) for s in range(spec.seats)]
    aircraft = [
        Body(
            name=name,
            at=places[s],
            side=spec.side_of_seat[s],
            shape="aircraft",
            towards=_point(flight.heading, s),
            up=_point(flight.lift, s),
            size=WINGSPAN / 2,
            level=float(health_S[s]),
            zone=(float(rules.gun_far), wide),
            remark=f"{float(flight.speed_S[s]):.0f} m/s, {float(flight.load_S[s]):.1f} g",
            gone=not bool(fight.alive_S[s]),
        )
        for s, name in enumerate(spec.seat_names)
    ]
    shots = [Line(start=places[s], end=places[t], side=spec.side_of_seat[s]) for s, t in np.argwhere(firing_SS)]
    corners = np.array(places)
    healths = ", ".join(f"{name} {100 * health:.0f} %" for name, health in zip(spec.seat_names, health_S, strict=True))
    side = spec.seat_names[0 if lead > 0 else -1].partition("_")[0]
    ahead = f"{side} is ahead by {abs(lead):.2f}" if abs(lead) > float(rules.margin) else "even"
    return Scene(
        bodies=(*aircraft, *_missiles(fight, spec)),
        lines=tuple(shots),
        low=tuple(float(x) for x in corners.min(0) - MARGIN),
        high=tuple(float(x) for x in corners.max(0) + MARGIN),
        caption=f"{seconds:.1f} s: {healths}\n{ahead}",
    )


def _missiles(fight: Fight, spec: GameSpec) -> list[Body]:
    missiles = fight.missiles
    if missiles is None:
        return []
    return [
        Body(
            name=f"{spec.seat_names[s]} missile {m + 1}",
            at=_point(missiles.place, s, m),
            side=spec.side_of_seat[s],
            shape="missile",
            towards=_point(missiles.heading, s, m),
            size=MISSILE_LENGTH / 2,
        )
        for s, m in np.argwhere(np.asarray(missiles.flying_SM))
    ]


def _point(vector: Vector, *index: Any) -> Point:
    return tuple(float(np.asarray(part)[index]) for part in (vector.x_S, vector.y_S, vector.z_S))
