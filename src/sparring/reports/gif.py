"""Replays as moving pictures: games in the plane as discs; games in the air from above, from the side, with a card
for each side."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path

from PIL import Image, ImageDraw

from sparring.core.errors import ConfigError
from sparring.core.scene import Body
from sparring.reports import canvas
from sparring.reports.camera import Camera, Track, fixed_camera, following_camera, tracks
from sparring.reports.canvas import FINE, INK, PANEL, PAPER, SOFT, View, font
from sparring.reports.replay import Replay, write_file

FASTEST, LONGEST = 50, 1000
"""Most frames a second, since viewers slow down what claims to be faster; most frames, which are all in memory."""
LAST = 2.5
"""Seconds for which the end is held."""
TRAIL = {2: 12, 3: 100}
"""Scenes of a trail, in the plane and in the air."""
HEAD, FOOT, GAP, CARDS = 62, 30, 12, 216
"""Heights of head and foot, the distance of panels, the width of the cards."""
PANELS = {2: ((460, 460),), 3: ((520, 360), (520, 120))}
"""Width and height of the panels, one below the other."""


@dataclass(frozen=True)
class Film:
    """What all frames of a replay share."""

    replay: Replay
    camera: Camera
    tracks: dict[str, Track]
    axes: int
    base: Image.Image


def write_gif(replay: Replay, path: Path, *, fps: float | None = None, most_frames: int = 300) -> int:
    """Draw a replay; of a long one only every second, third ... scene. Returns the number of frames.

    `fps` are frames of the picture in a second; as many as the replay has scenes in a second if not given.
    """
    check_pace(fps, most_frames)
    fps = replay.fps if fps is None else fps
    shown = moments(len(replay.scenes), most_frames)
    colours = canvas.palette()
    film = prepare(replay)
    frames = (frame(film, t).quantize(palette=colours, dither=Image.Dither.NONE) for t in shown)
    first, pause = next(frames), round(1000 / fps)
    content = BytesIO()
    first.save(
        content, format="GIF", save_all=True, append_images=frames, loop=0, disposal=1, optimize=True,
        duration=[pause] * (len(shown) - 1) + [round(1000 * LAST)],
    )  # fmt: skip
    write_file(path, content.getvalue())
    return len(shown)


def check_pace(fps: float | None, most_frames: int) -> None:
    if fps is not None and not 0.1 <= fps <= FASTEST:
        raise ConfigError(f"fps must be from 0.1 to {FASTEST}, found {fps:g}.")
    if not 2 <= most_frames <= LONGEST:
        raise ConfigError(f"most_frames must be from 2, the first and the last, to {LONGEST}, found {most_frames}.")


def moments(scenes: int, most: int) -> list[int]:
    """Which scenes are shown: evenly spaced back from the last one, and the first."""
    stride = max(1, ceil((scenes - 1) / (most - 1)))
    return sorted({0, *range(scenes - 1, -1, -stride)})


def prepare(replay: Replay) -> Film:
    found = tracks(replay.scenes)
    axes = max((track.at_TX.shape[1] for track in found.values()), default=2)
    if axes == 3:
        (width, height), _ = PANELS[3]
        # The camera follows what belongs to somebody; the rest is seen where it happens to be.
        owned = {body.name for scene in replay.scenes for body in scene.bodies if body.side >= 0}
        moving = {name: track for name, track in found.items() if name in owned} or found
        camera = following_camera(moving, (width / height, 1.0, 1.0))
    else:
        camera = fixed_camera(replay.scenes)
    return Film(replay, camera, found, axes, base_picture(replay, axes))


def base_picture(replay: Replay, axes: int) -> Image.Image:
    panels = PANELS[axes]
    width = GAP + panels[0][0] + GAP + CARDS
    height = HEAD + sum(panel[1] + GAP for panel in panels) + FOOT
    picture = Image.new("RGB", (width * FINE, height * FINE), PAPER)
    draw = ImageDraw.Draw(picture)
    text(draw, (GAP, 10), replay.game, size=16, bold=True)
    text(draw, (GAP, 36), " vs ".join(replay.names_K), size=12, colour=SOFT)
    lines = legend(replay, axes)
    for number, line in enumerate(lines):
        top = height - FOOT - GAP - 16 * (len(lines) - number)
        text(draw, (width - CARDS, top), line, size=11, colour=SOFT)
    return picture


def legend(replay: Replay, axes: int) -> list[str]:
    """What is not plain from the names, of all that occurs in a replay."""
    shapes = {body.shape for scene in replay.scenes for body in scene.bodies}
    lines = [f"trail: the last {TRAIL[axes]} steps"]
    if "aircraft" in shapes:
        lines += ["ring: what is left of an aircraft", "pale wings: seen from below"]
    if any(body.shape == "disc" and body.level < 1 for scene in replay.scenes for body in scene.bodies):
        lines.append("bar: what is left")
    bodies = [body for scene in replay.scenes for body in scene.bodies]
    named = {body.label: body.name.rstrip("_0123456789") for body in bodies if body.label and body.side < 0}
    lines += [f"{label}: {name}" for label, name in named.items() if label != name]
    if any(body.gone and body.shape == "disc" for body in bodies):
        lines.append("pale: has left the game")
    if any(scene.walls for scene in replay.scenes):
        lines.append("dark: walls")
    if any(body.zone for scene in replay.scenes for body in scene.bodies):
        lines.append("wedge: where a gun reaches")
    if any(scene.lines for scene in replay.scenes):
        lines.append("burst: a hit")
    return lines


def frame(film: Film, t: int) -> Image.Image:
    """One scene as a picture."""
    picture = film.base.copy()
    draw = ImageDraw.Draw(picture)
    top = HEAD
    for number, (width, height) in enumerate(PANELS[film.axes]):
        panel = map_view(film, t, (width, height)) if number == 0 else side_view(film, t, (width, height))
        picture.paste(panel, (GAP * FINE, top * FINE))
        top += height + GAP
    cards(draw, film, t)
    foot(draw, film, t, top - GAP)
    return picture.reduce(FINE)


def map_view(film: Film, t: int, size: tuple[int, int]) -> Image.Image:
    """From above."""
    centre_X, half_X = film.camera.centre_TX[t], film.camera.half_TX[t]
    view = View(blank(size), canvas.MAP, (centre_X[0], centre_X[1]), (half_X[0], half_X[1]))
    step = canvas.spacing(2 * half_X[1], 6)
    canvas.crosses(view, step)
    draw_scene(view, film, t)
    if film.axes == 3:
        left, bottom, length = 14 * FINE, view.image.height - 14 * FINE, step * view.scale[0]
        canvas.stroke(view.draw, [(left, bottom), (left + length, bottom)], INK, 2)
        text(view.draw, (14, size[1] - 32), canvas.metres(step), size=11)
        text(view.draw, (10, 8), "from above", size=11, colour=SOFT)
    return view.image


def side_view(film: Film, t: int, size: tuple[int, int]) -> Image.Image:
    """Heights, over the first axis of the map, as seen from below the map."""
    centre_X, half_X = film.camera.centre_TX[t], film.camera.half_TX[t]
    reach = half_X[2] * 1.5
    # Looking a little higher than the bodies leaves room for the words above them.
    view = View(blank(size), canvas.SIDE, (centre_X[0], centre_X[2] + 0.15 * reach), (half_X[0], reach))
    step = canvas.spacing(2 * view.half[1], 3)
    ground = view.pixel((0.0, 0.0, 0.0))[1]
    if ground < view.image.height:
        view.draw.rectangle((0, ground, *view.image.size), fill=canvas.GROUND)
    for height in canvas.whole_steps(view, 1, step):
        y = view.pixel((0.0, 0.0, height))[1]
        canvas.stroke(view.draw, [(0, y), (view.image.width, y)], canvas.GRID, 1)
        if height >= 0 and y > 18 * FINE:
            at = (size[0] - 6, y / FINE - 14)
            text(view.draw, at, canvas.metres(height), size=10, colour=SOFT, anchor="ra")
    draw_scene(view, film, t)
    text(view.draw, (10, 8), "from the side: height", size=11, colour=SOFT)
    return view.image


def draw_scene(view: View, film: Film, t: int) -> None:
    """From below: walls, trails, shots, what has gone, what stands still, what moves, marks, bursts of shots."""
    scene, length = film.replay.scenes[t], TRAIL[film.axes]
    for wall in scene.walls if view.axes == canvas.MAP else ():
        canvas.wall(view, wall)
    for body in scene.bodies:
        if body.side >= 0 and body.shape != "mark":
            canvas.trail(view, film.tracks[body.name].at_TX[max(0, t - length) : t + 1], canvas.colour_of(body.side))
    for body in scene.bodies:
        if body.zone and not body.gone:
            canvas.zone(view, body)
    for line in scene.lines:
        canvas.shot(view, line)
    for body in sorted(scene.bodies, key=lambda body: (body.shape == "mark", not body.gone, body.side >= 0)):
        draw_body(view, body)
    radius = {body.at: canvas.radius(view, body) for body in scene.bodies if body.shape == "disc"}
    for line in scene.lines:
        canvas.burst(view, line, radius.get(line.end, 6 * FINE))


def draw_body(view: View, body: Body) -> None:
    on_map = view.axes == canvas.MAP
    if body.shape == "aircraft":
        if on_map and not body.gone:
            canvas.ring(view, body, 30)
        canvas.aircraft(view, body, length=23 if on_map else 18)
        if on_map:
            x, y = (value / FINE for value in view.pixel(body.at))
            text(view.draw, (x, y + 33), body.name, size=11, colour=canvas.colour_of(body.side), anchor="ma")
    elif body.shape == "missile":
        canvas.missile(view, body)
    elif body.shape == "mark":
        canvas.mark(view, body)
    else:
        canvas.disc(view, body)


def cards(draw: ImageDraw.ImageDraw, film: Film, t: int) -> None:
    """What a side is called, who drives it, and how its bodies are; what the game says; at the end, how it ended."""
    scene, left, top = film.replay.scenes[t], GAP + PANELS[film.axes][0][0] + GAP, HEAD
    for side, (name, player) in enumerate(zip(film.replay.sides, film.replay.players, strict=True)):
        colour = canvas.colour_of(side)
        draw.rectangle((left * FINE, top * FINE, (left + 5) * FINE, (top + 36) * FINE), fill=colour)
        text(draw, (left + 14, top), name, size=14, bold=True, colour=colour)
        text(draw, (left + 14, top + 19), player, size=12, colour=SOFT)
        top += 46
        crew = [body for body in scene.bodies if body.side == side and body.shape == "aircraft"]
        for body in crew:
            top = aircraft_lines(draw, body, left, top, named=len(crew) > 1)
        top += 10
    for line in scene.caption.splitlines():
        for part in wrapped(line, CARDS - GAP, size=12):
            text(draw, (left, top), part, size=12)
            top += 17
    if t == len(film.replay.scenes) - 1:
        verdict(draw, film.replay, left, top + 10)


def aircraft_lines(draw: ImageDraw.ImageDraw, body: Body, left: int, top: int, *, named: bool) -> int:
    """A bar of what is left of it, and below that its name, if asked for, and its height. Returns where it ends."""
    width, level = CARDS - GAP, 0.0 if body.gone else min(max(body.level, 0.0), 1.0)
    box = [left * FINE, (top + 2) * FINE, (left + width) * FINE, (top + 12) * FINE]
    draw.rectangle(box, fill=PANEL)
    if level > 0:
        draw.rectangle((box[0], box[1], (left + width * level) * FINE, box[3]), fill=canvas.colour_of(body.side))
    state = "gone" if body.gone else f"{100 * level:z.0f} % left"
    text(draw, (left, top + 17), f"{body.name}: {state}" if named else state, size=12)
    text(draw, (left + width, top + 17), f"height {body.at[2] / 1000:z.1f} km", size=12, anchor="ra")
    if not body.remark or body.gone:
        return top + 40
    text(draw, (left, top + 34), body.remark, size=12, colour=SOFT)
    return top + 57


def foot(draw: ImageDraw.ImageDraw, film: Film, t: int, top: int) -> None:
    """How far the game is."""
    last = max(len(film.replay.scenes) - 1, 1)
    width = PANELS[film.axes][0][0]
    box = (GAP * FINE, (top + 8) * FINE, (GAP + width) * FINE, (top + 11) * FINE)
    draw.rectangle(box, fill=canvas.GRID)
    draw.rectangle((box[0], box[1], (GAP + width * t / last) * FINE, box[3]), fill=SOFT)
    text(draw, (GAP, top + 15), f"step {t} of {last}", size=11, colour=SOFT)


def verdict(draw: ImageDraw.ImageDraw, replay: Replay, left: int, top: int) -> None:
    """How the game ended, in the colour of who won."""
    won = [side for side, outcome in enumerate(replay.ending.outcome_K) if outcome > 0]
    colour, width = canvas.colour_of(won[0]) if len(won) == 1 else INK, CARDS - GAP
    lines = list(wrapped(replay.ending.sentence(replay.sides), width - 2 * GAP, size=13, bold=True))
    box = (left, top, left + width, top + 16 + 19 * len(lines))
    draw.rounded_rectangle([value * FINE for value in box], 6 * FINE, fill=PAPER, outline=colour, width=2 * FINE)
    for number, line in enumerate(lines):
        text(draw, (left + GAP, top + 8 + 19 * number), line, size=13, bold=True, colour=colour)


def wrapped(words: str, width: float, *, size: int, bold: bool = False) -> Iterator[str]:
    """The words in lines that are no wider, if no single word is."""
    line = ""
    for word in words.split():
        longer = f"{line} {word}".strip()
        if line and font(size, bold).getlength(longer) > width * FINE:
            yield line
            longer = word
        line = longer
    yield line


def blank(size: tuple[int, int]) -> Image.Image:
    return Image.new("RGB", (size[0] * FINE, size[1] * FINE), PANEL)


def text(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], words: str, *, size: int, bold: bool = False,
    colour: str = INK, anchor: str = "la",
) -> None:  # fmt: skip
    draw.text((at[0] * FINE, at[1] * FINE), words, font=font(size, bold), fill=colour, anchor=anchor)
