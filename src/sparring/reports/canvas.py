"""Bodies, walls, trails and grids, drawn with Pillow at twice the size and then halved, which smooths their edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import atan2, ceil, cos, floor, log10, sin
from pathlib import Path

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from sparring.core.scene import Body, Line, Wall

FINE = 2
"""Pixels of a drawing for one of the picture, along each axis."""
PAPER, PANEL, GRID, INK, SOFT = "#ffffff", "#f3f6f9", "#dde4ea", "#1f2933", "#7b8794"
CROSS, GROUND, WALL = "#bcc7d1", "#e3d9cb", "#68737f"
SIDES = ("#dc3d1e", "#1d62d1", "#1f8a4c", "#8331a8", "#b7791f", "#0f8b8d")
NOBODY = "#9aa5b1"
FADES = 4
"""Steps in which a trail fades: as many as there are shades of a colour."""

# An aircraft, in lengths of its nose: along the nose, and to the right or, for the fin, upwards.
WINGS = np.array([(0.35, 0.0), (-0.35, 0.85), (-0.62, 0.85), (-0.5, 0.1), (-0.72, 0.1), (-0.95, 0.45), (-1.12, 0.45)])
FUSELAGE = np.array([(1.0, 0.0), (0.45, 0.13), (-1.0, 0.13)])
FIN = np.array([(-0.4, 0.0), (-0.95, 0.55), (-1.15, 0.55), (-1.0, 0.0)])

MAP, SIDE = (0, 1), (0, 2)
"""The axes that are shown from above and from the side."""


@dataclass(frozen=True)
class View:
    """A window on the plane of two axes of the game, as large as an image; up is up."""

    image: Image.Image
    axes: tuple[int, int]
    centre: tuple[float, float]
    half: tuple[float, float]

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of a unit along each axis."""
        width, height = self.image.size
        return width / 2 / self.half[0], height / 2 / self.half[1]

    @property
    def draw(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self.image)

    def pixel(self, point: Sequence[float]) -> tuple[float, float]:
        return self.pixel_of(point[self.axes[0]], point[self.axes[1]])

    def pixel_of(self, across: float, up: float) -> tuple[float, float]:
        (width, height), (wide, high) = self.image.size, self.scale
        return width / 2 + (across - self.centre[0]) * wide, height / 2 - (up - self.centre[1]) * high

    def direction(self, vector: Sequence[float] | np.ndarray) -> np.ndarray:
        """What a unit vector becomes on the screen, without scale."""
        return np.array([vector[self.axes[0]], -vector[self.axes[1]]])


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    import matplotlib  # has the fonts; loaded for the first letter, not for the help of a command

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size * FINE)


@cache
def blend(colour: str, other: str, share: float) -> str:
    """`share` of a colour over another."""
    pairs = zip(ImageColor.getrgb(colour), ImageColor.getrgb(other), strict=True)
    return "#{:02x}{:02x}{:02x}".format(*(round(share * a + (1 - share) * b) for a, b in pairs))


def colour_of(side: int) -> str:
    return SIDES[side % len(SIDES)] if side >= 0 else NOBODY


def palette() -> Image.Image:
    """Every colour of a replay with its shades, so that all frames share one table. Few shades make small files."""
    shades = [blend(colour, PANEL, k / FADES) for colour in (*SIDES, INK, SOFT) for k in range(1, FADES + 1)]
    shades += [blend(colour, PAPER, k / FADES) for colour in (INK, SOFT) for k in range(1, FADES)]
    shades += [PAPER, PANEL, GRID, GROUND, CROSS, WALL, NOBODY, *(blend(INK, colour, 0.4) for colour in SIDES)]
    image = Image.new("P", (1, 1))
    image.putpalette([value for colour in shades for value in ImageColor.getrgb(colour)[:3]])
    return image


def trail(view: View, at_TX: np.ndarray, colour: str, *, width: float = 2.0) -> None:
    """A path up to now, the older the fainter. It breaks where the body was not there."""
    points = [view.pixel(at) for at in at_TX]
    pieces = np.array_split(np.arange(len(points) - 1), FADES) if len(points) > 1 else []
    for number, piece in enumerate(pieces, start=1):
        shade = blend(colour, PANEL, number / FADES)
        run: list[tuple[float, float]] = []
        for i in (*piece, *(piece[-1:] + 1)):
            if np.isfinite(at_TX[i]).all():
                run.append(points[i])
                continue
            stroke(view.draw, run, shade, width)
            run = []
        stroke(view.draw, run, shade, width)


def stroke(draw: ImageDraw.ImageDraw, points: Sequence[tuple[float, float]], colour: str, width: float) -> None:
    if len(points) > 1:
        draw.line(points, fill=colour, width=round(width * FINE), joint="curve")


def ring(view: View, body: Body, radius: float) -> None:
    """A circle of which as much is coloured as is left of the body, from the top clockwise."""
    (x, y), reach = view.pixel(body.at), radius * FINE
    box = (x - reach, y - reach, x + reach, y + reach)
    view.draw.ellipse(box, outline=GRID, width=3 * FINE)
    if body.level > 0:
        view.draw.arc(box, -90, -90 + 360 * min(body.level, 1.0), fill=colour_of(body.side), width=3 * FINE)


def wall(view: View, wall: Wall) -> None:
    corners = view.pixel(wall.low), view.pixel(wall.high)
    view.draw.rectangle((*map(min, *corners), *map(max, *corners)), fill=WALL)


def radius(view: View, body: Body) -> float:
    """Of a disc, in pixels."""
    return max(body.size * view.scale[0], 3 * FINE)


def disc(view: View, body: Body) -> None:
    (x, y), reach = view.pixel(body.at), radius(view, body)
    colour = colour_of(body.side)
    fill = blend(colour, PANEL, 0.25 if body.gone else 0.85 if body.side >= 0 else 0.45)
    if body.gone:  # a pale spot, which nobody takes for a body
        reach = 0.6 * reach
        view.draw.ellipse((x - reach, y - reach, x + reach, y + reach), fill=fill)
        return
    view.draw.ellipse((x - reach, y - reach, x + reach, y + reach), fill=fill, outline=colour, width=FINE)
    if body.level < 1.0:
        bar(view, body)
    if body.towards is not None:
        ahead = view.direction(body.towards) * reach
        begin, end = (np.array([x, y]) + share * ahead for share in (1.0 if body.label else 0.0, 1.6))
        stroke(view.draw, [tuple(begin), tuple(end)], INK, 2)
    if body.label:
        label(view, body)


def bar(view: View, body: Body) -> None:
    """Above a disc, of which as much is coloured as is left of it. Rings of bodies side by side would overlap."""
    (x, y), reach = view.pixel(body.at), radius(view, body)
    half, bottom = max(reach, 7 * FINE), y - reach - 2 * FINE
    left, top = x - half, bottom - 3 * FINE
    view.draw.rectangle((left, top, x + half, bottom), fill=CROSS)
    if body.level > 0:
        right = left + 2 * half * min(body.level, 1.0)
        view.draw.rectangle((left, top, right, bottom), fill=colour_of(body.side))


def label(view: View, body: Body) -> None:
    """The letters of a disc, as large as fits into it and can be read."""
    reach = radius(view, body)
    size = min(1.3 * reach / FINE, 15.0 * reach / font(10, bold=True).getlength(body.label))
    colour = PAPER if body.side >= 0 else INK
    letters = font(min(max(round(size), 8), 24), bold=True)
    view.draw.text(view.pixel(body.at), body.label, font=letters, fill=colour, anchor="mm")


def mark(view: View, body: Body) -> None:
    (x, y), reach = view.pixel(body.at), max(body.size * view.scale[0], 5 * FINE)
    for sign in (1, -1):
        ends = [(x - reach, y - sign * reach), (x + reach, y + sign * reach)]
        stroke(view.draw, ends, INK if body.side < 0 else colour_of(body.side), 2)


def aircraft(view: View, body: Body, *, length: float) -> None:
    """A model of an aircraft, turned and banked as the body is and seen along the third axis; the belly is lighter."""
    forward, up, right = frame(body)
    colour = blend(colour_of(body.side), PANEL, 0.3) if body.gone else colour_of(body.side)
    edge, centre, reach = blend(INK, colour, 0.4), np.array(view.pixel(body.at)), length * FINE
    wings = [view.direction(x * forward + y * right) for x, y in (*WINGS, *reversed(WINGS * (1, -1)))]
    fin = [view.direction(x * forward + z * up) for x, z in FIN]
    ahead = view.direction(forward)
    aside = np.array([-ahead[1], ahead[0]]) / max(np.linalg.norm(ahead), 1e-6)
    # The fuselage is as thick from every side: an aircraft on its wing tip still shows where its nose is.
    fuselage = [x * ahead + y * aside for x, y in (*FUSELAGE, *reversed(FUSELAGE * (1, -1)))]
    towards_viewer = up[2] if view.axes == MAP else -up[1]
    shown = [(wings, colour if towards_viewer >= 0 else blend(colour, PANEL, 0.5)), (fuselage, colour), (fin, edge)]
    for shape, fill in shown if towards_viewer >= 0 else reversed(shown):
        corners = [tuple(centre + corner * reach) for corner in shape]
        view.draw.polygon(corners, fill=fill, outline=edge, width=FINE)
    if body.gone:
        for slope in (1, -1):
            arm = np.array([9, 9 * slope]) * FINE
            stroke(view.draw, [tuple(centre - arm), tuple(centre + arm)], INK, 2)


def zone(view: View, body: Body) -> None:
    """A pale wedge ahead of the nose, as long as its weapon reaches."""
    (reach, wide), (across, up) = body.zone, view.scale
    forward = view.direction(body.towards or (1.0, 0.0, 0.0)) * (across, up) * reach
    length = float(np.linalg.norm(forward))
    if length < 1.0:
        return
    tip, aside = (
        np.array(view.pixel(body.at)),
        np.array([-forward[1], forward[0]]) / length * max(wide * across, 2 * FINE),
    )
    corners = [tuple(tip), tuple(tip + forward + aside), tuple(tip + forward - aside)]
    view.draw.polygon(corners, fill=blend(colour_of(body.side), PANEL, 0.25))


def frame(body: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forward, up and right of a body, at right angles; without them it flies along the first axis, upright."""
    forward = np.asarray(body.towards or (1.0, 0.0, 0.0), float)
    up = np.asarray(body.up or (0.0, 0.0, 1.0), float)
    up = up - forward * (up @ forward)
    if np.linalg.norm(up) < 1e-6:
        up = np.array([-1.0, 0.0, 0.0]) * np.sign(forward[2] or 1.0)
    up /= np.linalg.norm(up)
    return forward, up, np.cross(forward, up)


def missile(view: View, body: Body) -> None:
    (x, y), colour = view.pixel(body.at), blend(colour_of(body.side), PANEL, 0.3 if body.gone else 1.0)
    dx, dy = view.direction(body.towards or (1.0, 0.0, 0.0)) * 7 * FINE
    stroke(view.draw, [(x - dx, y - dy), (x + dx, y + dy)], colour, 4)
    view.draw.ellipse((x + dx - 2 * FINE, y + dy - 2 * FINE, x + dx + 2 * FINE, y + dy + 2 * FINE), fill=INK)


def shot(view: View, line: Line) -> None:
    stroke(view.draw, [view.pixel(line.start), view.pixel(line.end)], colour_of(line.side), 2)


def burst(view: View, line: Line, clear: float) -> None:
    """Rays about the end of a shot, which leave a disc of that radius free."""
    (ax, ay), (x, y) = view.pixel(line.start), view.pixel(line.end)
    for angle in np.arange(8) * np.pi / 4 + atan2(y - ay, x - ax):
        ray = [(x + reach * cos(angle), y + reach * sin(angle)) for reach in (clear + FINE, clear + 7 * FINE)]
        stroke(view.draw, ray, colour_of(line.side), 2)


def spacing(span: float, lines: int) -> float:
    """A round distance (1, 2 or 5 times a power of ten) that divides a span into about as many parts."""
    rough = span / lines
    power = 10.0 ** floor(log10(rough))
    return power * next(step for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def crosses(view: View, step: float) -> None:
    """The points of a square grid, which show how the view moves. Whole lines would make a file twice as large."""
    places = [whole_steps(view, axis, step) for axis in (0, 1)]
    reach = 5 * FINE
    for across in places[0]:
        for up in places[1]:
            x, y = view.pixel_of(across, up)
            stroke(view.draw, [(x - reach, y), (x + reach, y)], CROSS, 1)
            stroke(view.draw, [(x, y - reach), (x, y + reach)], CROSS, 1)


def whole_steps(view: View, axis: int, step: float) -> list[float]:
    """The multiples of a step that a view shows along one of its axes."""
    low, high = view.centre[axis] - view.half[axis], view.centre[axis] + view.half[axis]
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]


def metres(distance: float) -> str:
    return f"{distance / 1000:g} km" if distance >= 1000 or distance == 0 else f"{distance:g} m"
