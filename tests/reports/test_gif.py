"""Moving pictures: which scenes they show, for how long, and that what is drawn is where and as it should be."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from PIL import Image, ImageColor

from sparring.core.scene import Body, Line, Scene, Wall
from sparring.evaluation.ending import Ending
from sparring.reports import canvas, gif
from sparring.reports.canvas import FINE, MAP, NOBODY, PANEL, SIDE, SIDES, View
from sparring.reports.gif import GAP, HEAD, LAST, PANELS, frame, legend, moments, prepare, wrapped, write_gif
from sparring.reports.replay import Replay

RED, BLUE = SIDES[:2]


def view(axes: tuple[int, int] = MAP, half: float = 10.0, size: int = 100) -> View:
    return View(Image.new("RGB", (size * FINE, size * FINE), PANEL), axes, (0.0, 0.0), (half, half))


def has(picture: Image.Image, colour: str) -> np.ndarray:
    """Where a picture has exactly this colour, [rows, columns]."""
    return (np.asarray(picture.convert("RGB")) == ImageColor.getrgb(colour)).all(axis=-1)


def plane(**facts: object) -> Body:
    return Body(**{"name": "a", "at": (0.0, 0.0, 0.0), "side": 0, "shape": "aircraft", **facts})  # type: ignore[arg-type]


def width_and_height(picture: Image.Image) -> tuple[int, int]:
    """Of all that was drawn."""
    drawn = ~has(picture, PANEL)
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    return columns[-1] - columns[0], rows[-1] - rows[0]


def test_points_are_where_they_should_be_and_up_is_up():
    seen = View(Image.new("RGB", (200, 100)), SIDE, (5.0, 1.0), (10.0, 5.0))
    assert seen.pixel((5.0, 99.0, 1.0)) == (100, 50)
    assert seen.pixel((15.0, 99.0, 6.0)) == (200, 0)
    assert seen.scale == (10, 10)
    assert seen.direction((1.0, 2.0, 3.0)).tolist() == [1, -3]


def test_a_disc_is_as_large_as_its_body_and_of_the_colour_of_its_side():
    seen = view()
    canvas.disc(seen, Body(name="a", at=(5.0, 5.0), side=1, size=2.0))
    # Ten units are half of 200 pixels, so the disc is 40 pixels wide, about (150, 50).
    rows, columns = np.nonzero(~has(seen.image, PANEL))
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (130, 170, 30, 70)
    assert seen.image.getpixel((150, 50)) == ImageColor.getrgb(canvas.blend(BLUE, PANEL, 0.85))
    assert has(seen.image, BLUE).any(), "its edge"


def test_what_belongs_to_nobody_is_grey_and_what_has_gone_is_faint():
    colours = []
    for body in (Body(name="a", at=(0.0, 0.0)), Body(name="a", at=(0.0, 0.0), side=0, gone=True)):
        seen = view()
        canvas.disc(seen, body)
        colours.append(seen.image.getpixel((100, 100)))
    assert colours == [
        ImageColor.getrgb(canvas.blend(NOBODY, PANEL, 0.45)), ImageColor.getrgb(canvas.blend(RED, PANEL, 0.25))
    ]  # fmt: skip


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
def test_as_much_of_a_ring_is_coloured_as_is_left(level):
    seen = view()
    canvas.ring(seen, plane(level=level), 30)
    coloured, grey = has(seen.image, RED).sum(), has(seen.image, canvas.GRID).sum()
    assert coloured / (coloured + grey) == pytest.approx(level, abs=0.03)
    if level == 0.25:  # from the top clockwise
        rows, columns = np.nonzero(has(seen.image, RED))
        assert columns.min() >= 97 and rows.max() <= 103


def test_the_bar_above_a_disc_is_as_full_as_what_is_left_of_it():
    def lengths(level: float, gone: bool = False) -> tuple[int, int]:
        """Columns of the bar, whole and coloured: the disc of radius 20 pixels about (100, 100) ends in row 80."""
        seen = view()
        canvas.disc(seen, Body(name="a", at=(0.0, 0.0), side=0, size=2.0, level=level, gone=gone))
        above, red = (~has(seen.image, PANEL))[:79], has(seen.image, RED)[:79]
        return int(above.any(axis=0).sum()), int(red.any(axis=0).sum())

    assert [lengths(level) for level in (0.25, 0.75, 0.0)] == [(41, 11), (41, 31), (41, 0)]
    assert lengths(1.0) == lengths(0.5, gone=True) == (0, 0), "whole and gone bodies have none"


def middle(**facts: object) -> np.ndarray:
    """The picture of a disc of radius 40 pixels about (40, 40)."""
    seen = view()
    canvas.disc(seen, Body(**{"name": "a", "at": (0.0, 0.0), "size": 4.0, **facts}))  # type: ignore[arg-type]
    return np.asarray(seen.image)[60:141, 60:141]


def test_letters_are_in_the_middle_of_a_disc_and_within_it():
    for letters in ("H", "MMM"):
        written = (middle(side=0, label=letters) != middle(side=0)).any(axis=-1)
        rows, columns = (np.flatnonzero(written.any(axis=axis)) for axis in (1, 0))
        assert rows.mean() == pytest.approx(40, abs=3) and columns.mean() == pytest.approx(40, abs=3)
        assert len(columns) > 15 and np.hypot(*np.argwhere(written).T - 40).max() < 38
    wide, narrow = ((middle(side=0, label=letters) != middle(side=0)).any(axis=(0, 2)).sum() for letters in ("M", "i"))
    assert wide > 2 * narrow, "it is the letters that are written"


def test_letters_can_be_read_on_every_disc():
    def ink(**facts: object) -> tuple[int, ...]:
        """What the thick part of a letter is drawn with."""
        return tuple(middle(label="H", **facts)[40, 40].tolist())

    assert [ink(side=0), ink()] == [ImageColor.getrgb(colour) for colour in (canvas.PAPER, canvas.INK)]


def test_what_has_gone_is_a_smaller_spot_without_letters_or_edge():
    spot = middle(side=0, gone=True)
    assert np.array_equal(spot, middle(side=0, gone=True, label="H"))
    faint = (spot == ImageColor.getrgb(canvas.blend(RED, PANEL, 0.25))).all(axis=-1)
    whole = (middle(side=0) == ImageColor.getrgb(canvas.blend(RED, PANEL, 0.85))).all(axis=-1)
    assert 0 < faint.sum() < 0.5 * whole.sum()
    assert not (spot == ImageColor.getrgb(RED)).all(axis=-1).any()


def test_where_a_disc_with_letters_points_is_drawn_outside_it():
    plain, lettered = middle(side=0, towards=(1.0, 0.0)), middle(side=0, towards=(1.0, 0.0), label="I")
    ink = ImageColor.getrgb(canvas.INK)
    assert (plain[40, 55:] == ink).all() and not (lettered[40, 55:78] == ink).all(axis=-1).any()


def test_a_wall_fills_its_rectangle_beneath_bodies():
    walls = (Wall((-1.0, 0.0), (0.0, 0.5)), Wall((0.5, -0.5), (0.25, -0.75)))
    body = Body(name="a", at=(-0.5, 0.25), side=0, size=0.1)
    replay = replace(flat(), scenes=(Scene(bodies=(body,), walls=walls),))
    picture = frame(prepare(replay), 0)

    def at(x: float, y: float) -> tuple[int, ...]:
        """The panel of 460 pixels shows -1.03 to 1.03."""
        scale = 460 / 2.06
        return picture.getpixel((round(GAP + 230 + x * scale), round(HEAD + 230 - y * scale)))

    dark = ImageColor.getrgb(canvas.WALL)
    inside, outside = ((-0.97, 0.47), (-0.03, 0.03)), ((0.03, 0.03), (-0.03, -0.03), (-0.03, 0.53))
    assert all(at(x, y) == dark for x, y in inside) and not any(at(x, y) == dark for x, y in outside)
    assert at(0.3, -0.6) == dark, "corners in another order"
    assert at(-0.5, 0.25) == ImageColor.getrgb(canvas.blend(RED, PANEL, 0.85))


def test_a_burst_leaves_the_disc_that_is_hit_free():
    def painted(clear: float) -> np.ndarray:
        """How far from the end of the shot its rays are, in pixels."""
        seen = view()
        canvas.burst(seen, Line(start=(-9.0, 0.0), end=(0.0, 0.0), side=0), clear)
        rows, columns = np.nonzero(has(seen.image, RED))
        return np.hypot(rows - 100, columns - 100)

    for clear in (12.0, 40.0):
        assert painted(clear).min() >= clear and painted(clear).max() == pytest.approx(clear + 7 * FINE, abs=3)


def test_a_shot_passes_beneath_bodies_and_bursts_about_what_it_hits():
    near, far = Body(name="a", at=(-0.8, 0.0), side=0, size=0.1), Body(name="b", at=(0.8, 0.0), side=1, size=0.2)
    scene = Scene(bodies=(near, far), lines=(Line(start=near.at, end=far.at, side=0),))
    red, blue = (has(frame(prepare(replace(flat(), scenes=(scene,))), 0), colour) for colour in (RED, BLUE))
    row, scale = HEAD + 230, 460 / 2.06
    centre = round(GAP + 230 + 0.8 * scale)
    assert red[row, GAP + 230], "half way"
    assert not red[row, centre - 40 : centre + 40].any() and blue[row - 46 : row + 47].any(), "the disc is free"
    ray = red[row - 54 : row - 45, centre - 2 : centre + 3]
    assert ray.any(), "a ray above the disc of 45 pixels"


@pytest.mark.parametrize("towards", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-0.6, 0.8, 0.0)])
def test_the_nose_of_an_aircraft_points_where_it_flies(towards):
    seen = view()
    canvas.aircraft(seen, plane(towards=towards), length=30)
    rows, columns = np.nonzero(~has(seen.image, PANEL))
    along = (columns - 100) * towards[0] - (rows - 100) * towards[1]
    across = (columns - 100) * towards[1] + (rows - 100) * towards[0]
    # The nose is thin: what lies far ahead is near the axis; the tail is wide.
    assert along.max() == pytest.approx(30 * FINE, abs=3)
    assert np.abs(across[along > 40]).max() < 8 < np.abs(across[along < -55]).max()


def test_a_banked_aircraft_is_narrow_from_above_and_wide_from_the_side():
    level, banked = plane(towards=(0.0, 1.0, 0.0)), plane(towards=(0.0, 1.0, 0.0), up=(1.0, 0.0, 0.0))
    pictures = {}
    for name, body in (("level", level), ("banked", banked)):
        for axes in (MAP, SIDE):
            seen = view(axes)
            canvas.aircraft(seen, body, length=30)
            pictures[name, axes] = width_and_height(seen.image)
    assert pictures["level", MAP][0] == pytest.approx(2 * 0.85 * 30 * FINE, abs=4), "the span of its wings"
    assert pictures["banked", MAP][0] < 0.55 * pictures["level", MAP][0]
    assert pictures["banked", SIDE][1] > 1.5 * pictures["level", SIDE][1]


def test_from_below_the_wings_are_pale():
    def pale(up: tuple[float, ...], axes: tuple[int, int], towards: tuple[float, ...] = (1.0, 0.0, 0.0)) -> bool:
        seen = view(axes)
        canvas.aircraft(seen, plane(towards=towards, up=up), length=30)
        return bool(has(seen.image, canvas.blend(RED, PANEL, 0.5)).any())

    assert not pale((0.0, 0.0, 1.0), MAP) and pale((0.0, 0.0, -1.0), MAP)
    # From the side one looks along the second axis, so a back that leans against it is towards the viewer.
    assert not pale((0.0, -1.0, 0.0), SIDE) and pale((0.0, 1.0, 0.0), SIDE)


def test_an_aircraft_can_fly_straight_up():
    for up in (None, (0.0, 0.0, 1.0)):
        forward, top, right = canvas.frame(plane(towards=(0.0, 0.0, 1.0), up=up))
        np.testing.assert_allclose([forward @ top, forward @ right, top @ right], 0.0)
        np.testing.assert_allclose([top @ top, right @ right], 1.0)


def test_a_trail_fades_with_age_and_breaks_where_the_body_was_not_there():
    seen = view()
    at_TX = np.array([(x, 0.0) for x in range(-8, 9)])
    at_TX[6] = nan
    canvas.trail(seen, at_TX, RED)
    row = has(seen.image, RED)[100], has(seen.image, canvas.blend(RED, PANEL, 0.25))[100]
    newest, oldest = (np.flatnonzero(part) for part in row)
    assert oldest.min() == pytest.approx(20, abs=1) and newest.max() == pytest.approx(180, abs=1)
    assert oldest.max() < newest.min()
    assert has(seen.image, PANEL)[100, 72:88].all(), "between the points at -3 and at -1"
    assert not has(seen.image, PANEL)[100, [68, 92]].any()
    canvas.trail(seen, at_TX[:1], RED)


def test_distances_of_a_grid_are_round():
    assert [canvas.spacing(span, 6) for span in (2.06, 1000.0, 4800.0, 6.0, 30_000.0)] == [0.5, 200, 1000, 1, 5000]
    assert canvas.whole_steps(view(half=2.5), 0, 1.0) == [-2, -1, 0, 1, 2]
    assert [canvas.metres(x) for x in (500.0, 1000.0, 2500.0, 0.0)] == ["500 m", "1 km", "2.5 km", "0 km"]


def test_scenes_shown_are_evenly_spaced_and_have_the_first_and_the_last():
    assert moments(5, 300) == [0, 1, 2, 3, 4]
    assert moments(10, 4) == [0, 3, 6, 9]
    assert moments(11, 5) == [0, 1, 4, 7, 10]
    assert moments(1, 2) == [0] and moments(3, 2) == [0, 2]
    assert all(len(moments(n, most)) <= most for n in range(1, 60) for most in range(2, 20))


def flat(scenes: int = 5) -> Replay:
    """A disc of side 0 that moves to the right."""
    moving = tuple(Scene(bodies=(Body(name="a", at=(t / 10, 0.0), side=0, size=0.1),)) for t in range(scenes))
    ending = Ending(steps=scenes - 1, finished=True, return_K=(1.0, 2.0))
    return Replay(game="g", sides=("x", "y"), players=("p", "q"), ending=ending, fps=10.0, scenes=moving)


def aloft(level: float = 1.0, outcome: float = 1.0) -> Replay:
    """Two aircraft 4 km apart, seen twice; in the second scene the first one hits the other."""
    bodies = (plane(name="red", at=(-2e3, 0.0, 5e3)), plane(name="blue", at=(2e3, 0.0, 3e3), side=1, level=level))
    line = Line(start=bodies[0].at, end=bodies[1].at, side=0)
    ending = Ending(steps=1, finished=True, outcome_K=(outcome, -outcome), cause_K=("gun", "gun"))
    scenes = (Scene(bodies=bodies), Scene(bodies=bodies, lines=(line,)))
    return replace(flat(), sides=("red", "blue"), ending=ending, scenes=scenes)


def test_a_picture_has_the_frames_and_the_pace_that_were_asked_for(tmp_path):
    assert write_gif(flat(9), tmp_path / "new" / "a.gif", fps=5, most_frames=5) == 5
    with Image.open(tmp_path / "new" / "a.gif") as picture:
        assert picture.n_frames == 5 and picture.info["loop"] == 0
        pauses = []
        for number in range(5):
            picture.seek(number)
            pauses.append(picture.info["duration"])
    assert pauses == [200] * 4 + [1000 * LAST]


def test_frames_come_out_of_the_file_as_they_were_drawn(tmp_path):
    replay = aloft()
    write_gif(replay, tmp_path / "a.gif")
    film, colours = prepare(replay), canvas.palette()
    with Image.open(tmp_path / "a.gif") as picture:
        for t in range(2):
            picture.seek(t)
            drawn = frame(film, t).quantize(palette=colours, dither=Image.Dither.NONE)
            np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), np.asarray(drawn.convert("RGB")))


def test_a_table_of_colours_leaves_room_for_what_did_not_change():
    palette = canvas.palette().getpalette()
    assert palette is not None and len(palette) // 3 <= 63
    colours = {tuple(palette[i : i + 3]) for i in range(0, len(palette), 3)}
    assert {ImageColor.getrgb(colour) for colour in (*SIDES, PANEL, canvas.INK, NOBODY)} <= colours


def test_games_in_the_plane_have_one_panel_and_games_in_the_air_two():
    in_plane, in_air = frame(prepare(flat()), 0), frame(prepare(aloft()), 0)
    assert in_plane.size == (GAP + 460 + GAP + gif.CARDS, HEAD + 460 + GAP + gif.FOOT)
    assert in_air.size[1] - in_plane.size[1] == 360 + GAP + 120 - 460
    seen = has(in_air, RED)[HEAD + 360 + GAP : HEAD + 360 + GAP + 120, GAP : GAP + 520]
    other = has(in_air, BLUE)[HEAD + 360 + GAP : HEAD + 360 + GAP + 120, GAP : GAP + 520]
    assert np.nonzero(seen)[0].mean() < np.nonzero(other)[0].mean(), "the higher one is higher"


def test_the_bar_of_an_aircraft_is_as_long_as_what_is_left_of_it():
    def longest(level: float) -> int:
        cards = has(frame(prepare(aloft(level)), 0), BLUE)[:, GAP + PANELS[3][0][0] + GAP :]
        return int(cards.sum(axis=1).max())

    width = gif.CARDS - GAP
    assert [longest(level) for level in (1.0, 0.5)] == pytest.approx([width, width / 2], abs=2)


def test_the_end_is_told_in_the_last_frame_alone_in_the_colour_of_who_won():
    def told(replay: Replay, t: int, colour: str) -> int:
        return int(has(frame(prepare(replay), t), colour)[HEAD + 170 : HEAD + 330, GAP + 520 + GAP :].sum())

    assert told(aloft(), 0, RED) == 0 < told(aloft(), 1, RED)
    assert told(aloft(outcome=-1.0), 1, BLUE) > 0 == told(aloft(outcome=-1.0), 1, RED)
    assert told(aloft(outcome=0.0), 1, RED) == told(aloft(outcome=0.0), 1, BLUE) == 0


def test_the_legend_explains_what_occurs_and_nothing_else():
    assert legend(flat(), 2) == ["trail: the last 12 steps"]
    assert [line.partition(":")[0] for line in legend(aloft(), 3)] == [
        "trail", "ring", "pale wings", "burst"
    ]  # fmt: skip
    animals = [Body(name=f"stag_{e}", at=(0.0, e), label="S") for e in range(2)]
    left = Body(name="hunter_0", at=(0.0, 0.0), side=0, gone=True, label="x")
    hunt = replace(flat(), scenes=(Scene(bodies=(*animals, left)),))
    assert legend(hunt, 2)[1:] == ["S: stag", "pale: has left the game"], "letters of a side are its own affair"
    hurt = Scene(bodies=(Body(name="a", at=(0.0, 0.0), level=0.5),))
    assert legend(replace(flat(), scenes=(hurt,)), 2)[1:] == ["bar: what is left"]
    assert legend(replace(flat(), scenes=(Scene(bodies=(), walls=(Wall((0.0, 0.0), (1.0, 1.0)),)),)), 2)[1:] == [
        "dark: walls"
    ]


def test_long_words_are_wrapped_at_the_width():
    lines = list(wrapped("one two three four five six", 60, size=12))
    assert " ".join(lines) == "one two three four five six" and len(lines) > 2
    assert all(canvas.font(12).getlength(line) <= 60 * FINE for line in lines)
    assert list(wrapped("unbreakable", 5, size=12)) == ["unbreakable"]


def test_every_shape_can_be_drawn_also_where_there_is_nobody():
    missile = Body(name="m", at=(0.0, 0.0, 100.0), side=1, shape="missile", towards=(0.0, 0.0, 1.0))
    mark = Body(name="x", at=(0.0, 500.0, 0.0), shape="mark")
    replay = replace(aloft(), scenes=(*aloft().scenes, Scene(bodies=(missile, mark), caption="two\nlines")))
    film = prepare(replay)
    assert len({frame(film, t).tobytes() for t in range(3)}) == 3
    assert frame(prepare(flat(scenes=1)), 0).size
    assert frame(prepare(replace(flat(), scenes=(Scene(bodies=()),) * 2)), 1).size
