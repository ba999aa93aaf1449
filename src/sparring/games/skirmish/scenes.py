"""A battle as a viewer draws it."""

import numpy as np

from sparring.core.scene import Body, Line, Scene, walls_of
from sparring.core.spec import GameSpec
from sparring.games.skirmish.army import Army
from sparring.games.skirmish.battle import Battle
from sparring.games.skirmish.terrain import BLOCKED, SIZE, levels

LETTERS = {
    "marine": "m", "marauder": "M", "medivac": "+", "stalker": "s", "zealot": "z", "colossus": "C",
    "zergling": "z", "hydralisk": "h", "hydralisk_rl": "h", "baneling": "b", "spine_crawler": "S",
}  # fmt: skip


def draw(battle: Battle, army: Army, spec: GameSpec) -> Scene:
    """Levels are shares of health and shield together; a line joins a unit to whom it fires at or heals."""
    place_UX = np.asarray(battle.place_XU).T
    kind_U, health_U, shield_U = (np.asarray(x) for x in (battle.kind_U, battle.health_U, battle.shield_U))
    kinds = [army.kinds[number] for number in kind_U]
    sides = [0] * army.sizes[0] + [1] * army.sizes[1]
    points = [(float(x), float(y)) for x, y in place_UX]
    bodies = [
        Body(
            name=spec.seat_names[u] if u < spec.seats else f"blue_{kind.name}_{u - army.sizes[0]}",
            at=points[u],
            side=sides[u],
            size=kind.radius,
            level=float((health_U[u] + shield_U[u]) / (kind.health + kind.shield)),
            gone=bool(health_U[u] <= 0),
            label=LETTERS[kind.name],
        )
        for u, kind in enumerate(kinds)
    ]
    lines = []
    for u, target in enumerate(np.asarray(battle.target_U)):
        reach = kinds[u].reach + kinds[u].radius + kinds[target].radius
        if health_U[u] > 0 and target >= 0 and np.hypot(*(place_UX[target] - place_UX[u])) <= reach:
            lines.append(Line(start=points[u], end=points[target], side=sides[u]))
    left = [int((health_U[army.slice(side)] > 0).sum()) for side in (0, 1)]
    return Scene(
        bodies=tuple(bodies),
        lines=tuple(lines),
        walls=walls_of(levels(army.battle_map.ground) <= BLOCKED, corner=(-SIZE / 2, -SIZE / 2)),
        low=(-SIZE / 2, -SIZE / 2),
        high=(SIZE / 2, SIZE / 2),
        caption=f"step {int(battle.played)} of {spec.longest}: {left[0]} against {left[1]}",
    )
