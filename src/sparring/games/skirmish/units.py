"""What units are made of: the numbers of StarCraft II that battles of SMAC rest on.

Sources: the sheets inside SMAC's map archives for bodies and speed; for weapons the data of "Liberty" and "Core"
(SC2GameData, 4.6.2 and 4.10.4), which the maps name, and of 5.0.3 where the ladder differs (`laddered`); SMAC's code
for its own constants; SMAClite where it is named. Seconds are those of the unit data: 16 game loops. ("Faster", 22.4
loops a second, only changes the clock on the wall.)
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

LOOPS_PER_STEP = 8
"""Game loops between two decisions (SMAC's step_mul)."""
LOOPS_PER_SECOND = 16
SHIELD_DELAY = 10.0
"""Seconds without damage before a shield begins to recover (sheets of the maps)."""
SHIELD_RATE = 2.0
"""Shield points a second from then on (sheets of the maps)."""
ZERG_REGENERATION = 0.2734
"""Health a second of every zerg unit (sheets of the maps). Other races do not heal by themselves."""
LEAST_DAMAGE = 0.5
"""Of a hit on health, however thick the armour. From memory."""
EARLY, LATE = 1.0, 2.0
"""Loops by which a shot may come before and after its period (a note of SMAX on the engine's determinism)."""
SIGHT = 9.0
"""An agent sees what is nearer than this, whatever its kind (SMAC)."""
TARGET_RANGE = 6.0
"""An agent may order an attack or healing at most this far, centre to centre, whatever its weapon (SMAC)."""
LINE_DEPTH = 0.3
"""How thick the line is that a colossus burns, along the direction of fire (SMAClite)."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of unit. Lengths are in cells of the map."""

    name: str
    race: Literal["terran", "protoss", "zerg"]
    health: float
    shield: float = 0.0
    armour: float = 0.0
    """Taken from every hit on health; shields have none."""
    damage: float = 0.0
    hits: int = 1
    """Per shot, each reduced by armour."""
    bonus: float = 0.0
    bonus_against: Literal["", "light", "armoured"] = ""
    reach: float
    """Of the weapon, or of healing, besides both radii."""
    period: float
    """Seconds between shots; 0 where there is nothing to wait for."""
    damage_point: float = 0.0
    """Seconds from the beginning of a blow until it is struck, or its missile leaves."""
    backswing: float = 0.0
    """Seconds from then on in which a unit without a new order stands."""
    missile: float = 0.0
    """Cells a second of what it throws; 0: it strikes at once."""
    speed: float
    """Cells a second."""
    radius: float
    separation: float | None = None
    """Radius at which units of one layer push each other apart; None where it is the radius."""
    attributes: tuple[str, ...]
    flies: bool = False
    hits_air: bool = False
    climbs: bool = False
    """Walks over cliffs."""
    burst: float = 0.0
    """Radius in which its death hurts enemies; its only attack is to die."""
    line: float = 0.0
    """Half the length of the line that it burns through its target, across the direction of fire."""
    heals: bool = False
    heal_rate: float = 0.0
    """Health a second."""
    heal_per_energy: float = 0.0
    energy: float = 0.0
    """At most."""
    energy_start: float = 0.0
    energy_rate: float = 0.0
    """Gained a second."""
    cooldown_scale: float = 15.0
    """SMAC's unit_max_cooldown: what the cooldown in loops (of a medivac, the energy) is divided by in the state."""

    @property
    def room(self) -> float:
        """Radius that no other unit of its layer may enter."""
        return self.radius if self.separation is None else self.separation

    @property
    def delayed(self) -> bool:
        """Whether its blows come a loop or more after they are begun."""
        return self.missile > 0 or self.damage_point * LOOPS_PER_SECOND >= 1


_HYDRALISK = Kind(
    name="hydralisk",
    hits_air=True,
    race="zerg",
    health=90.0,
    damage=12.0,
    reach=5.0,
    period=0.83,
    damage_point=0.208,
    backswing=0.5,
    missile=40.0,
    speed=2.25,
    radius=0.625,
    separation=0.5,
    attributes=("light", "biological"),
    cooldown_scale=10.0,
)

_ALL = (
    Kind(
        name="marine",
        hits_air=True,
        race="terran",
        health=45.0,
        damage=6.0,
        reach=5.0,
        period=0.8608,
        damage_point=0.05,
        backswing=0.75,
        speed=2.25,
        radius=0.375,
        attributes=("light", "biological"),
        cooldown_scale=15.0,
    ),
    Kind(
        name="marauder",
        race="terran",
        health=125.0,
        armour=1.0,
        damage=10.0,
        bonus=10.0,
        bonus_against="armoured",
        reach=6.0,
        period=1.5,
        missile=20.0,
        speed=2.25,
        radius=0.5625,
        separation=0.5,
        attributes=("armoured", "biological"),
        cooldown_scale=25.0,
    ),
    Kind(  # the sheets of the maps give it an acceleration too, 2.3125, which is not modelled
        name="medivac",
        race="terran",
        health=150.0,
        armour=1.0,
        reach=4.0,
        period=0.0,
        speed=2.75,
        radius=0.75,
        attributes=("armoured", "mechanical"),
        flies=True,
        heals=True,
        heal_rate=9.0,
        heal_per_energy=3.0,
        energy=200.0,
        energy_start=50.0,
        energy_rate=0.5625,
        cooldown_scale=200.0,
    ),
    Kind(
        name="stalker",
        hits_air=True,
        race="protoss",
        health=80.0,
        shield=80.0,
        armour=1.0,
        damage=10.0,
        bonus=4.0,
        bonus_against="armoured",
        reach=6.0,
        period=1.44,
        damage_point=0.167,
        backswing=0.5,
        missile=18.75,
        speed=2.953,
        radius=0.625,
        attributes=("armoured", "mechanical"),
        cooldown_scale=35.0,
    ),
    Kind(
        name="zealot",
        race="protoss",
        health=100.0,
        shield=50.0,
        armour=1.0,
        damage=8.0,
        hits=2,
        reach=0.1,
        period=1.2,
        backswing=0.5,
        speed=2.25,
        radius=0.5,
        separation=0.375,
        attributes=("light", "biological"),
        cooldown_scale=22.0,
    ),
    Kind(  # the line: 11 points 0.25 apart, radius 0.15; the sweep, a quarter of a second and more, is not modelled
        name="colossus",
        race="protoss",
        health=200.0,
        shield=150.0,
        armour=1.0,
        damage=20.0,
        hits=2,
        reach=6.0,
        period=2.2,
        damage_point=0.083,
        backswing=0.5,
        speed=2.25,
        radius=1.0,
        separation=0.75,
        attributes=("armoured", "mechanical", "massive"),
        climbs=True,
        line=1.4,
        cooldown_scale=24.0,
    ),
    Kind(
        name="zergling",
        race="zerg",
        health=35.0,
        damage=5.0,
        reach=0.1,
        period=0.696,
        damage_point=0.167,
        backswing=0.5,
        speed=2.953,
        radius=0.375,
        attributes=("light", "biological"),
        cooldown_scale=11.0,
    ),
    _HYDRALISK,
    replace(_HYDRALISK, name="hydralisk_rl", health=80.0),
    Kind(
        name="baneling",
        race="zerg",
        health=30.0,
        damage=20.0,
        bonus=15.0,
        bonus_against="light",
        reach=0.25,
        period=0.0,
        speed=2.5,
        radius=0.375,
        attributes=("biological",),
        burst=2.2,
        cooldown_scale=1.0,
    ),
    Kind(
        name="spine_crawler",
        race="zerg",
        health=300.0,
        armour=2.0,
        damage=25.0,
        bonus=5.0,
        bonus_against="armoured",
        reach=7.0,
        period=1.6,
        damage_point=0.333,
        missile=28.7,
        speed=0.0,
        radius=0.875,
        attributes=("armoured", "biological", "structure"),
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
"""By name. SMAC's own copy of the hydralisk, "hydralisk_rl", has 80 health where the game's has 90: the allies of
6h_vs_8z are such copies. Where kinds are drawn all are originals. All other copies equal their originals."""

_SMACLITE = {
    "marine": (3.15, 0.61),
    "marauder": (3.15, 1.07),
    "medivac": (3.5, 0.0),
    "stalker": (4.13, 1.34),
    "zealot": (3.15, 0.86),
    "colossus": (3.15, 1.07),
    "zergling": (4.13, 0.497),
    "baneling": (3.15, 0.0),
    "spine_crawler": (0.0, 1.32),
}
"""Speed and period of SMAClite: seconds of "Faster", which it nevertheless cuts into 16 loops."""
_FASTER = 1.4
_LADDER: dict[str, dict[str, Any]] = {
    "stalker": {"damage": 13.0, "bonus": 5.0, "period": 1.87},
    "colossus": {"damage": 10.0, "bonus": 5.0, "bonus_against": "light", "reach": 7.0, "period": 1.5},
    "spine_crawler": {"period": 1.85},
}
"""Weapons that differ from Liberty's in the game's later patches (5.0.3)."""


def laddered(kind: Kind) -> Kind:
    """With the weapon of the ladder."""
    return replace(kind, **_LADDER.get(kind.name, {}))


def faster(kind: Kind) -> Kind:
    """With SMAClite's speed and period, about 1.4 times as fast; where SMAClite has no such unit, exactly 1.4 times."""
    speed, period = _SMACLITE.get(kind.name, (kind.speed * _FASTER, kind.period / _FASTER))
    return replace(
        laddered(kind),
        speed=speed,
        period=period,
        damage_point=kind.damage_point / _FASTER,
        backswing=kind.backswing / _FASTER,
        missile=kind.missile * _FASTER,
    )


def damage_to(attacker: Kind, target: Kind) -> float:
    """Of one hit, with the bonus, before armour."""
    return attacker.damage + (attacker.bonus if attacker.bonus_against in target.attributes else 0.0)
