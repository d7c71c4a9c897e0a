"""The board as a picture, drawn with Pillow from shapes of its own.

The layout is a sheet of 1280 by 800 units, which is scaled to the requested size. It is drawn at twice that size and
then reduced, which smooths the shapes. Every treasure has a shape of its own, and the colours are those of the palette
of Okabe and Ito, or similar ones, so that colour-blind readers can tell treasures apart.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("a picture of the board", "render"):
    from PIL import Image, ImageDraw, ImageFont

from megaland_env.cards import LEVEL_CARDS, WINNING_COINS, LevelCard, Treasure
from megaland_env.render import words
from megaland_env.render.text import check_table, one_line
from megaland_env.snapshot import Snapshot

SIZE = (1280, 800)
"""Default width and height in pixels."""

_SHEET = (1280, 800)
_MARGIN = 20
_SMOOTH = 2
_SMALLEST = 0.5  # scale; below it, lines would be too thin to draw
_LARGEST = 8192  # pixels; a bound that catches typing errors

_PAPER, _PANEL, _INK, _MUTED, _LINE = "#eef1f4", "#ffffff", "#1d2a35", "#5c6b78", "#c9d2da"
_ACCENT, _ACCENT_PALE, _GOLD = "#0072b2", "#bcdcf0", "#e0a100"
_HEART, _FADED = "#c8324a", "#9aa6b1"
_BY_SKULLS = ("#dcebf5", "#fbe9b7", "#f6c68f", "#ec9a72")  # paler is safer
_COLOURS = {  # of each treasure, and of its edges, leaves or eyes
    "gear": ("#47606f", _PANEL),
    "stone": ("#b4ada3", "#6e675d"),
    "egg": ("#f4e04d", "#8a7400"),
    "carrot": ("#e2661a", "#00805e"),
    "crystal": ("#c274b5", "#7d3472"),
    "fish": ("#3f9fdc", _INK),
}
_SHADOW = ("#f0f3f5", "#e3e8ec")

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle in which something was drawn, in units of the sheet; for tests of the layout."""

    what: str
    left: float
    top: float
    right: float
    bottom: float


def render_image(
    snapshot: Snapshot,
    *,
    size: tuple[int, int] = SIZE,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.uint8]:
    """Draw the board as a picture.

    Args:
        snapshot: from ``games.snapshot``.
        size: width and height in pixels; the board keeps its proportions and is centred.
        viewer: the seat that is called "you" and drawn first; the others follow clockwise.
        names: (P,) names of the players, drawn below the numbers of their seats; long names are shortened.

    Returns:
        (H, W, 3) uint8: red, green and blue.

    Raises:
        ValueError: the size is invalid, there is no such seat, or the number of names is not P.
    """
    width, height = _checked(size)
    check_table(snapshot, viewer, names)
    scale = min(width / _SHEET[0], height / _SHEET[1])
    sheet = _Sheet(_SMOOTH * max(scale, _SMALLEST))
    _draw_board(sheet, snapshot, viewer, names)
    fitting = (max(1, round(_SHEET[0] * scale)), max(1, round(_SHEET[1] * scale)))
    board = sheet.image.resize(fitting, Image.Resampling.BOX)
    picture = Image.new("RGB", (width, height), _PAPER)
    picture.paste(board, ((width - board.width) // 2, (height - board.height) // 2))
    return np.array(picture)


def as_png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Convert a picture (H, W, 3) to the bytes of a PNG file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, format="PNG", optimize=True)
    return file.getvalue()


def _checked(size: Any) -> tuple[int, int]:
    good = isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2
    if not good or not all(hasattr(side, "__index__") and 1 <= int(side) <= _LARGEST for side in size):
        raise ValueError(f"size is {size!r}; it must be a width and a height from 1 to {_LARGEST} pixels")
    return int(size[0]), int(size[1])


# ----------------------------------------------------------------------------------------------------- the sheet


@lru_cache(maxsize=256)
def _font(pixels: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size=pixels)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("this Pillow was built without FreeType, so it cannot write text")
    return font


@lru_cache(maxsize=4096)
def _length(text: str, pixels: int) -> float:
    return _font(pixels).getlength(text)


@lru_cache(maxsize=4096)
def _letters(text: str, pixels: int, weight: float) -> tuple[Image.Image, int, int]:
    """A text as a mask, and the offset of its top left corner from the left end of the middle of the line.

    Results are cached: drawing letters takes most of the time, and most texts of a board are those of the board before.
    """
    font = _font(pixels)
    left, top, right, bottom = font.getbbox(text, anchor="lm", stroke_width=weight)
    x, y = math.floor(left) - 1, math.floor(top) - 1
    mask = Image.new("L", (math.ceil(right) + 1 - x, math.ceil(bottom) + 1 - y))
    ImageDraw.Draw(mask).text((-x, -y), text, 255, font, "lm", stroke_width=weight)
    return mask, x, y


def _cut(text: str, length: int) -> str:
    return f"{text[:length].rstrip()}..."


class _Sheet:
    """The sheet to draw on. All lengths are in its units."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self.texts: list[Box] = []  # the rectangles around the letters of every line of text
        self.icons: list[Box] = []  # every scene of a level card, treasure, heart, token and so on
        self.image = Image.new("RGB", (round(_SHEET[0] * scale), round(_SHEET[1] * scale)), _PAPER)
        self._draw = ImageDraw.Draw(self.image)

    def _pixels(self, length: float) -> int:
        return max(1, round(length * self._scale))

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str | None = None,
        *,
        radius: float = 0,
        outline: str | None = None,
        line: float = 1,
        corners: tuple[bool, bool, bool, bool] | None = None,
    ) -> None:
        s = self._scale
        where = (x * s, y * s, max(x, x + width) * s, max(y, y + height) * s)
        self._draw.rounded_rectangle(where, radius * s, fill, outline, self._pixels(line), corners=corners)

    def disc(
        self,
        x: float,
        y: float,
        across: float,
        down: float,
        fill: str | None,
        outline: str | None = None,
        line: float = 1,
    ) -> None:
        """An ellipse about (x, y) with these radii."""
        s = self._scale
        where = ((x - across) * s, (y - down) * s, (x + across) * s, (y + down) * s)
        self._draw.ellipse(where, fill, outline, self._pixels(line))

    def polygon(self, points: Sequence[Point], fill: str | None, outline: str | None = None, line: float = 1) -> None:
        scaled = [(x * self._scale, y * self._scale) for x, y in points]
        if fill is not None:
            self._draw.polygon(scaled, fill)
        if outline is not None:
            self.path([*points, points[0]], outline, line)

    def path(self, points: Sequence[Point], colour: str, line: float) -> None:
        """Draw a line through points, with round joints and ends."""
        scaled = [(x * self._scale, y * self._scale) for x, y in points]
        width = self._pixels(line)
        self._draw.line(scaled, colour, width, joint="curve")
        r = width / 2
        for x, y in (scaled[0], scaled[-1]):
            self._draw.ellipse((x - r, y - r, x + r, y + r), colour)

    def pie(self, x: float, y: float, r: float, start: float, end: float, fill: str) -> None:
        s = self._scale
        self._draw.pieslice(((x - r) * s, (y - r) * s, (x + r) * s, (y + r) * s), start, end, fill)

    def width(self, text: str, size: float, bold: bool = False) -> float:
        return _length(text, self._points(size)) / self._scale + (self._weight(size) if bold else 0)

    def text(
        self, x: float, y: float, text: str, size: float, fill: str = _INK, *, anchor: str = "l", bold: bool = False
    ) -> None:
        """Draw a line of text at height ``y`` that begins (``"l"``), is centred (``"m"``) or ends (``"r"``) at ``x``.

        The bundled font has one weight; bold letters have an outline.
        """
        s, points = self._scale, self._points(size)
        x = x * s - {"l": 0, "m": 0.5, "r": 1}[anchor] * _length(text, points)
        mask, dx, dy = _letters(text, points, self._weight(size) * s if bold else 0)
        left, top = round(x) + dx, round(y * s) + dy
        self.image.paste(fill, (left, top), mask)
        self.texts.append(Box(text, left / s, top / s, (left + mask.width) / s, (top + mask.height) / s))

    def icon(self, what: str, x: float, y: float, across: float, down: float) -> None:
        """Record that an icon was drawn around (x, y), as far as ``across`` to both sides and ``down`` up and down."""
        self.icons.append(Box(what, x - across, y - down, x + across, y + down))

    def shortened(self, text: str, size: float, room: float, bold: bool = False) -> str:
        """Shorten a text to fit into the width ``room``, with dots at the end."""
        if self.width(text, size, bold) <= room:
            return text
        length = next((n for n in range(len(text) - 1, 0, -1) if self.width(_cut(text, n), size, bold) <= room), 0)
        return _cut(text, length)

    def fitted(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        room: float,
        fill: str = _INK,
        *,
        anchor: str = "l",
        bold: bool = False,
    ) -> None:
        """Draw a line of text, in smaller letters if it would be wider than ``room``."""
        wide = self.width(text, size, bold)
        self.text(x, y, text, size * min(1.0, room / wide) if wide else size, fill, anchor=anchor, bold=bold)

    def paragraph(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        room: float,
        lines: int,
        fill: str = _INK,
        *,
        bold: bool = False,
    ) -> float:
        """Draw text on at most ``lines`` lines, in smaller letters if necessary, and return the height."""
        while True:
            broken = self._broken(text, size, room, bold)
            if len(broken) <= lines or size < 4:
                break
            size *= 0.95
        step = size * 1.18
        for number, words_ in enumerate(broken):
            self.fitted(x, y + step * (number + 0.5), words_, size, room, fill, bold=bold)
        return step * len(broken)

    def _broken(self, text: str, size: float, room: float, bold: bool) -> list[str]:
        lines: list[str] = []
        for word in text.split():
            if lines and self.width(f"{lines[-1]} {word}", size, bold) <= room:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        return lines

    def _points(self, size: float) -> int:
        return max(1, round(size * self._scale))

    @staticmethod
    def _weight(size: float) -> float:
        return size * 0.028


# ----------------------------------------------------------------------------------------------------- small shapes


def _round(x: float, y: float, r: float, corners: int, start: float = -90, inner: float = 1) -> list[Point]:
    """The corners of a regular polygon, or, with ``inner`` below 1, of a star."""
    points = []
    number = corners * (2 if inner != 1 else 1)
    for corner in range(number):
        angle = math.radians(start + 360 * corner / number)
        length = r * (inner if inner != 1 and corner % 2 else 1)
        points.append((x + length * math.cos(angle), y + length * math.sin(angle)))
    return points


def _at(x: float, y: float, r: float, points: Sequence[Point]) -> list[Point]:
    return [(x + r * dx, y + r * dy) for dx, dy in points]


def _gear(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    points = []
    for tooth in range(8):
        for angle, length in ((-13, 0.74), (-9, 1.0), (9, 1.0), (13, 0.74)):
            turn = math.radians(45 * tooth + angle)
            points.append((x + r * length * math.cos(turn), y + r * length * math.sin(turn)))
    sheet.polygon(points, fill)
    sheet.disc(x, y, r * 0.34, r * 0.34, edge)


def _stone(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    outline = [(-0.95, 0.35), (-0.75, -0.45), (-0.1, -0.8), (0.65, -0.6), (0.98, 0.15), (0.7, 0.72), (-0.55, 0.78)]
    sheet.polygon(_at(x, y, r, outline), fill, edge, r * 0.13)
    sheet.path(_at(x, y, r, [(-0.3, -0.3), (0.1, 0.02), (0.05, 0.35)]), edge, r * 0.1)


def _egg(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    points = []
    for degrees in range(0, 360, 12):
        turn = math.radians(degrees)
        broad = 0.74 * (1 + 0.16 * math.sin(turn))
        points.append((x + r * broad * math.cos(turn), y + r * math.sin(turn)))
    sheet.polygon(points, fill, edge, r * 0.13)


def _carrot(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    for dx in (-0.42, 0, 0.42):
        sheet.path(_at(x, y, r, [(0, -0.42), (dx, -0.98)]), edge, r * 0.24)
    sheet.polygon(
        _at(x, y, r, [(-0.62, -0.42), (-0.3, -0.58), (0.3, -0.58), (0.62, -0.42), (0.08, 1), (-0.08, 1)]), fill
    )


def _crystal(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    sheet.polygon(_at(x, y, r, [(0, -1), (0.72, -0.3), (0, 1), (-0.72, -0.3)]), fill, edge, r * 0.12)
    sheet.path(_at(x, y, r, [(-0.72, -0.3), (0.72, -0.3)]), edge, r * 0.09)
    sheet.path(_at(x, y, r, [(-0.25, -0.3), (0, 1), (0.25, -0.3)]), edge, r * 0.09)


def _fish(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    sheet.polygon(_at(x, y, r, [(0.35, 0), (1, -0.58), (0.86, 0), (1, 0.58)]), fill)
    sheet.disc(x - r * 0.2, y, r * 0.78, r * 0.52, fill)
    sheet.disc(x - r * 0.52, y - r * 0.12, r * 0.12, r * 0.12, edge)


_TREASURES: dict[str, Callable[[_Sheet, float, float, float, str, str], None]] = {
    "gear": _gear,
    "stone": _stone,
    "egg": _egg,
    "carrot": _carrot,
    "crystal": _crystal,
    "fish": _fish,
}


def _treasure(sheet: _Sheet, name: str, x: float, y: float, r: float, *, there: bool = True) -> None:
    """Draw a treasure, or its shadow if there is none."""
    sheet.icon(name, x, y, r, r)
    _TREASURES[name](sheet, x, y, r, *(_COLOURS[name] if there else _SHADOW))


def _heart_shape() -> list[Point]:
    points = []
    for degrees in range(0, 360, 8):
        t = math.radians(degrees)
        dy = 13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)
        points.append((math.sin(t) ** 3, -(dy + 2) / 16))
    return points


_HEART_SHAPE = _heart_shape()


def _heart(sheet: _Sheet, x: float, y: float, r: float, full: bool) -> None:
    sheet.icon("heart", x, y, r, r)
    if full:
        sheet.polygon(_at(x, y, r * 1.08, _HEART_SHAPE), _HEART)
    else:
        sheet.polygon(_at(x, y, r, _HEART_SHAPE), None, _FADED, r * 0.18)


def _skull(sheet: _Sheet, x: float, y: float, r: float, eyes: str) -> None:
    sheet.icon("skull", x, y, r, r)
    sheet.disc(x, y - r * 0.15, r * 0.9, r * 0.8, _INK)
    sheet.box(x - r * 0.5, y + r * 0.3, r, r * 0.65, _INK, radius=r * 0.15)
    for side in (-1, 1):
        sheet.disc(x + side * r * 0.36, y - r * 0.08, r * 0.24, r * 0.27, eyes)
        sheet.path([(x + side * r * 0.17, y + r * 0.68), (x + side * r * 0.17, y + r * 0.9)], eyes, r * 0.12)
    sheet.polygon(_at(x, y, r, [(0, 0.22), (0.12, 0.42), (-0.12, 0.42)]), eyes)


def _hop(sheet: _Sheet, x: float, y: float, r: float, colour: str) -> None:
    """Draw an arrow that leaps over something."""
    arc = [
        (x - r * math.cos(math.radians(a)), y + r * 0.55 - r * 1.15 * math.sin(math.radians(a)))
        for a in range(0, 151, 10)
    ]
    sheet.path(arc, colour, r * 0.3)
    tip_x, tip_y = arc[-1]
    sheet.polygon(
        [
            (tip_x - r * 0.58, tip_y + r * 0.1),
            (tip_x + r * 0.52, tip_y - r * 0.3),
            (tip_x + r * 0.28, tip_y + r * 0.78),
        ],
        colour,
    )


def _jump_token(sheet: _Sheet, x: float, y: float, r: float, colour: str = _ACCENT) -> None:
    sheet.icon("jump token", x, y, r, r)
    sheet.disc(x, y, r, r, colour)
    _hop(sheet, x - r * 0.06, y + r * 0.08, r * 0.5, _PANEL)


def _coin(sheet: _Sheet, x: float, y: float, r: float) -> None:
    sheet.icon("coin", x, y, r, r)
    sheet.disc(x, y, r, r, _GOLD)
    sheet.disc(x, y, r * 0.72, r * 0.72, "#f4c542", "#b98400", r * 0.1)


def _star(sheet: _Sheet, x: float, y: float, r: float, fill: str = _GOLD) -> None:
    sheet.icon("star", x, y, r, r)
    sheet.polygon(_round(x, y, r, 5, inner=0.42), fill)


def _crown(sheet: _Sheet, x: float, y: float, r: float, fill: str) -> None:
    sheet.icon("crown", x, y, r, r)
    sheet.polygon(
        _at(x, y, r, [(-1, -0.55), (-0.48, 0), (0, -0.8), (0.48, 0), (1, -0.55), (0.8, 0.7), (-0.8, 0.7)]), fill
    )


# ----------------------------------------------------------------------------------------------------- level cards


def _cloud(sheet: _Sheet, x: float, y: float, r: float, fill: str, edge: str) -> None:
    puffs = [(-0.75, 0.2, 0.42), (-0.2, -0.12, 0.58), (0.45, 0, 0.5), (0.9, 0.28, 0.34)]
    for grow, colour in ((0.1, edge), (0, fill)):
        for dx, dy, size in puffs:
            sheet.disc(x + r * dx, y + r * dy, r * (size + grow), r * (size + grow), colour)
        sheet.box(x - r * (0.75 + grow), y + r * 0.18, r * (1.65 + 2 * grow), r * (0.44 + grow), colour, radius=r * 0.2)


def _clouds(sheet: _Sheet, x: float, y: float) -> None:
    _cloud(sheet, x + 15, y - 9, 15, "#f1f8fd", "#8fb3cc")
    _cloud(sheet, x - 11, y + 9, 18, "#f1f8fd", "#7aa3c0")


def _spires(sheet: _Sheet, x: float, y: float) -> None:
    for dx, top, broad, fill in ((-24, -8, 13, "#7c93a8"), (23, -3, 14, "#7c93a8"), (0, -26, 15, "#4d647a")):
        sheet.polygon([(x + dx - broad, y + 24), (x + dx, y + top), (x + dx + broad, y + 24)], fill)
        sheet.polygon(
            [
                (x + dx - broad * 0.3, y + top + (24 - top) * 0.3),
                (x + dx, y + top),
                (x + dx + broad * 0.3, y + top + (24 - top) * 0.3),
            ],
            "#e3ecf3",
        )


def _mesa(sheet: _Sheet, x: float, y: float) -> None:
    sheet.polygon([(x - 46, y + 24), (x - 34, y + 4), (x - 2, y + 4), (x + 8, y + 24)], "#7fbf9b")
    sheet.polygon([(x - 22, y + 24), (x - 8, y - 16), (x + 28, y - 16), (x + 44, y + 24)], "#009e73")
    sheet.box(x - 9, y - 21, 38, 7, "#00664a", radius=3)


def _treasure_box(sheet: _Sheet, x: float, y: float) -> None:
    sheet.box(x - 30, y - 20, 60, 24, "#a0682c", radius=12, corners=(True, True, False, False))
    sheet.box(x - 30, y - 1, 60, 25, "#7b4c1d", radius=3)
    sheet.box(x - 30, y - 4, 60, 5, "#e0a100")
    sheet.box(x - 6, y - 6, 12, 13, "#f4c542", radius=3, outline="#7b4c1d")
    sheet.disc(x, y, 2, 2, "#7b4c1d")


def _floating_eye(sheet: _Sheet, x: float, y: float) -> None:
    for side in (-1, 1):
        wing = [
            (x + side * 18, y - 2),
            (x + side * 46, y - 20),
            (x + side * 41, y - 5),
            (x + side * 46, y + 6),
            (x + side * 22, y + 8),
        ]
        sheet.polygon(wing, "#8d86c9")
    sheet.disc(x, y, 23, 23, "#ffffff", "#5d559f", 3)
    sheet.disc(x, y + 1, 12, 12, "#5d559f")
    sheet.disc(x, y + 1, 6, 6, _INK)
    sheet.disc(x - 4, y - 4, 3, 3, "#ffffff")


def _rabbit(sheet: _Sheet, x: float, y: float) -> None:
    for side in (-1, 1):
        ear = [
            (x + side * 4, y - 2),
            (x + side * 7, y - 28),
            (x + side * 14, y - 30),
            (x + side * 17, y - 22),
            (x + side * 14, y - 2),
        ]
        sheet.polygon(ear, "#b98d6b")
        sheet.path([(x + side * 10, y - 7), (x + side * 12, y - 22)], "#f3c9c4", 4)
    sheet.disc(x, y + 8, 21, 17, "#b98d6b")
    for side in (-1, 1):
        sheet.disc(x + side * 8, y + 4, 2.6, 3.2, _INK)
    sheet.polygon([(x - 3.5, y + 10), (x + 3.5, y + 10), (x, y + 14)], "#8a3a4a")
    sheet.box(x - 4, y + 15.5, 3.6, 7, "#ffffff")
    sheet.box(x + 0.4, y + 15.5, 3.6, 7, "#ffffff")


def _sludge(sheet: _Sheet, x: float, y: float) -> None:
    outline = [(-40, 24), (-36, 12), (-25, 8), (-22, -8), (-9, -20), (9, -19), (20, -7), (24, 8), (36, 12), (40, 24)]
    sheet.polygon([(x + dx, y + dy) for dx, dy in outline], "#7a9a2e")
    for dx, dy, r in ((-26, 14, 9), (27, 14, 9), (-9, -13, 9), (9, -12, 9), (-17, -3, 7), (16, -2, 8)):
        sheet.disc(x + dx, y + dy, r, r, "#7a9a2e")
    for dx in (-8, 8):
        sheet.disc(x + dx, y - 5, 6, 7, "#ffffff")
        sheet.disc(x + dx + 1, y - 3, 3, 3.5, _INK)
    sheet.path([(x - 10, y + 10), (x - 3, y + 14), (x + 4, y + 11), (x + 11, y + 14)], "#3f5212", 3)


def _bats(sheet: _Sheet, x: float, y: float) -> None:
    half = [
        (0, -4),
        (3, -9),
        (6, -4),
        (14, -12),
        (31, -9),
        (27, -2),
        (23, 3),
        (19, -1),
        (14, 6),
        (9, 2),
        (5, 9),
        (0, 12),
    ]
    for dx, dy, r, fill in ((16, -13, 0.72, "#6d6480"), (-9, 8, 1.05, "#3d3650")):
        bat = [(x + dx + r * a, y + dy + r * b) for a, b in half]
        bat += [(x + dx - r * a, y + dy + r * b) for a, b in reversed(half)]
        sheet.polygon(bat, fill)
        for side in (-1, 1):
            sheet.disc(x + dx + side * 2.6 * r, y + dy + r, 1.4 * r, 1.4 * r, "#f4e04d")


def _plant(sheet: _Sheet, x: float, y: float) -> None:
    sheet.path([(x - 4, y + 25), (x - 9, y + 14), (x - 4, y + 5)], "#00805e", 6)
    sheet.disc(x + 10, y + 20, 12, 5, "#009e73")
    sheet.disc(x - 22, y + 20, 12, 5, "#009e73")
    sheet.pie(x, y - 6, 22, 35, 325, "#b03a7a")
    for angle, side in ((-35, 1), (35, -1)):
        for length in (9, 16):
            turn = math.radians(angle)
            along, across = (math.cos(turn), math.sin(turn)), (-math.sin(turn) * side, math.cos(turn) * side)
            base = (x + along[0] * length, y - 6 + along[1] * length)
            sheet.polygon(
                [
                    (base[0] - along[0] * 3.4, base[1] - along[1] * 3.4),
                    (base[0] + along[0] * 3.4, base[1] + along[1] * 3.4),
                    (base[0] + across[0] * 7, base[1] + across[1] * 7),
                ],
                "#ffffff",
            )
    sheet.disc(x - 3, y - 18, 3.4, 3.4, "#ffffff")
    sheet.disc(x - 2, y - 18, 1.6, 1.6, _INK)


def _serpent(sheet: _Sheet, x: float, y: float) -> None:
    body = [(x + dx, y + 12 * math.sin(dx / 9.5) - dx * 0.12 + 3) for dx in range(-42, 25, 2)]
    sheet.path(body, "#7d1a2b", 14)
    sheet.path(body, "#c8324a", 10)
    head_x, head_y = body[-1]
    sheet.path([(head_x + 14, head_y), (head_x + 22, head_y - 3)], "#7d1a2b", 2)
    sheet.path([(head_x + 14, head_y), (head_x + 22, head_y + 4)], "#7d1a2b", 2)
    sheet.disc(head_x + 3, head_y, 14, 10, "#7d1a2b")
    sheet.disc(head_x + 3, head_y, 12, 8, "#c8324a")
    sheet.disc(head_x + 6, head_y - 3, 3.2, 3.2, "#ffffff")
    sheet.disc(head_x + 7, head_y - 3, 1.6, 1.6, _INK)


_SCENES: dict[LevelCard, Callable[[_Sheet, float, float], None]] = {
    LevelCard.CLOUDS: _clouds,
    LevelCard.SPIRES: _spires,
    LevelCard.GREEN_MESA: _mesa,
    LevelCard.TREASURE_BOX: _treasure_box,
    LevelCard.FLOATING_EYE: _floating_eye,
    LevelCard.RABBIT: _rabbit,
    LevelCard.SLUDGE_CREATURE: _sludge,
    LevelCard.BATS: _bats,
    LevelCard.BITING_PLANT: _plant,
    LevelCard.RED_SERPENT: _serpent,
}

_CARD = (113.0, 122.0)
_CARD_GAP = 8.0


def _level_card(sheet: _Sheet, card: LevelCard, x: float, y: float, *, seen: bool, last: bool) -> None:
    width, height = _CARD
    facts = LEVEL_CARDS[card]
    fill = _BY_SKULLS[facts.skulls] if seen else _PANEL
    sheet.box(x, y, width, height, fill, radius=9, outline=_ACCENT if last else _LINE, line=4 if last else 1.5)
    sheet.fitted(x + width / 2, y + 14, card.label, 13, width - 10, anchor="m", bold=True)
    _SCENES[card](sheet, x + width / 2, y + 54)
    sheet.icon(card.label, x + width / 2, y + 51, 46, 28)
    marks = facts.skulls + facts.jump_symbol
    left = x + width / 2 - 12 * (marks - 1)
    below = y + height - 17
    for mark in range(facts.skulls):
        _skull(sheet, left + 24 * mark, below - 1, 10.5, fill)
    if facts.jump_symbol:
        _hop(sheet, left + 24 * facts.skulls, below, 9.5, _ACCENT)
    note = words.CARD_NOTES.get(card, "" if marks else "safe")
    if note:
        high = y + height - 36 if marks else below - 2
        sheet.fitted(x + width / 2, high, note, 11.5, width - 10, _INK if marks else _MUTED, anchor="m")


# ----------------------------------------------------------------------------------------------------- the board


def _draw_board(sheet: _Sheet, snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None) -> None:
    _draw_title(sheet, snapshot, viewer)
    _draw_level(sheet, snapshot, 62)
    players = len(snapshot["players"])
    gap = 10.0
    width = (_SHEET[0] - 2 * _MARGIN - gap * (players - 1)) / players
    for column in range(players):
        seat = ((viewer or 0) + column) % players
        name = None if names is None else _writable(names[seat])
        _draw_seat(sheet, snapshot, seat, viewer, name, _MARGIN + column * (width + gap), 208, width, 344)
    _draw_market(sheet, snapshot, 564)
    _draw_supplies(sheet, snapshot, 742)


def _draw_title(sheet: _Sheet, snapshot: Snapshot, viewer: int | None) -> None:
    sheet.box(0, 0, _SHEET[0], 50, _INK)
    sheet.text(_MARGIN, 25, "MEGALAND", 23, "#ffffff", bold=True)
    sheet.text(172, 25, f"round {snapshot['round']}", 19, "#f4c542", bold=True)
    x = 270.0
    for phase, name in (("level", "level"), ("buy", "buy"), ("night", "night"), ("over", "end")):
        now = snapshot["phase"] == phase
        room = sheet.width(name, 15, True) + 22
        sheet.box(x, 12, room, 26, "#f4c542" if now else None, radius=13, outline=None if now else "#5c6b78", line=1.5)
        sheet.text(x + room / 2, 24.5, name, 15, _INK if now else "#9fb0bf", anchor="m", bold=now)
        x += room + 7
    room = _SHEET[0] - _MARGIN - x - 20
    sheet.fitted(_SHEET[0] - _MARGIN, 25, words.situation(snapshot, viewer), 19, room, "#ffffff", anchor="r", bold=True)


def _draw_level(sheet: _Sheet, snapshot: Snapshot, y: float) -> None:
    by_name = {card.label: card for card in LevelCard}
    seen = [by_name[name] for name in snapshot["level_seen"]]
    unseen = [card for card in LevelCard if card not in seen]
    room = _SHEET[0] - 2 * _MARGIN
    # All ten fill the row: those seen stand to the left, those to come to the right, with a gap between them.
    step = _CARD[0] + (_CARD_GAP if seen and unseen else (room - len(LevelCard) * _CARD[0]) / (len(LevelCard) - 1))
    for cards, x, label in (
        (seen, float(_MARGIN), "seen this round"),
        (unseen, _MARGIN + room + step - _CARD[0] - step * len(unseen), "to come"),
    ):
        if cards:
            sheet.fitted(x + 1, y, f"{label}: {len(cards)}", 13, step * (len(cards) - 1) + _CARD[0], _MUTED)
        for number, card in enumerate(cards):
            last = card.label == snapshot["level_card"]
            _level_card(sheet, card, x + step * number, y + 12, seen=cards is seen, last=last)


def _writable(name: str) -> str:
    """Replace the characters of a name that the bundled font lacks by question marks."""
    return "".join(c if c.isascii() else "?" for c in one_line(name))


def _draw_seat(
    sheet: _Sheet,
    snapshot: Snapshot,
    seat: int,
    viewer: int | None,
    name: str | None,
    x: float,
    y: float,
    width: float,
    height: float,
) -> None:
    player = snapshot["players"][seat]
    asked, won = seat in snapshot["active"], seat in snapshot["winners"]
    edge = _ACCENT if asked else _GOLD if won else _LINE
    sheet.box(x, y, width, height, _PANEL, radius=10, outline=edge, line=3.5 if asked or won else 1.5)
    left, right = x + 12, x + width - 12

    here = _ACCENT_PALE if player["in_level"] else "#d9e0e6"
    colour = _ACCENT if asked else _GOLD if won else here
    on_head = "#ffffff" if asked else _INK
    head = 34.0 if not name else 53.0
    sheet.box(x, y, width, head, colour, radius=10, corners=(True, True, False, False))
    title = f"you (seat {seat})" if seat == viewer else f"seat {seat}"
    sheet.text(left, y + 17, title, 18, on_head, bold=True)
    after_title = left + sheet.width(title, 18, True) + 10
    if seat == snapshot["first_player"]:
        sheet.box(after_title, y + 8, 32, 18, "#f4c542", radius=5, outline=_INK, line=1)
        sheet.text(after_title + 16, y + 17, "1st", 13, _INK, anchor="m", bold=True)
        after_title += 40
    if won:
        _crown(sheet, after_title + 8, y + 16, 9, "#ffffff")
        after_title += 24
    room = right - after_title
    sheet.fitted(right, y + 17, _where(snapshot, seat), 15, room, on_head, anchor="r", bold=won)
    if name:
        sheet.text(left, y + 41, sheet.shortened(name, 14, right - left), 14, on_head)

    k = min(1.22, max(1.0, width / 320))  # where there is room, everything is larger
    room = right - left
    line = y + head + 19 * k
    step = min(23.0 * k, (room - 56) / 8)
    for heart in range(player["max_hearts"]):
        _heart(sheet, left + 9 * k + step * heart, line, step * 0.41, heart < player["hearts"])
    jumps = player["jumps"]
    _jump_token(sheet, right - 36 * k, line, 11 * k, _ACCENT if jumps else _FADED)
    sheet.text(right, line, str(jumps), 17 * k, _INK if jumps else _FADED, anchor="r", bold=bool(jumps))

    line += 31 * k
    _coin(sheet, left + 11 * k, line, 12 * k)
    sheet.fitted(left + 30 * k, line, str(player["coins"]), 23 * k, 36 * k, bold=True)
    bar, full, thick = left + 70 * k, room - 94 * k, 10 * k
    sheet.box(bar, line - thick / 2, full, thick, "#e6ebef", radius=thick / 2)
    part = min(1.0, player["coins"] / WINNING_COINS)
    if part > 0:
        sheet.box(bar, line - thick / 2, max(thick, full * part), thick, _GOLD, radius=thick / 2)
    sheet.text(right, line, str(WINNING_COINS), 13 * k, _MUTED, anchor="r")

    line += 19 * k
    for label, hand in (("carried", player["carried"]), ("at home", player["home"])):
        _draw_hand(sheet, f"{label} {sum(hand.values())}", hand, left, line, room, k)
        line += 45 * k
    line = _draw_payment(sheet, snapshot, seat, left, line, room, k)
    for text in _extras(snapshot, seat):
        line += sheet.paragraph(left, line, text, 13, room, 2, _ACCENT, bold=True) + 3
    _draw_owned(sheet, player["buildings"], left, line + 2, room, y + height - 8 - line, k)


def _where(snapshot: Snapshot, seat: int) -> str:
    if snapshot["phase"] == "over":
        return "winner" if seat in snapshot["winners"] else ""
    return "buying" if seat == snapshot["buyer"] else words.place(snapshot["players"][seat])


def _draw_hand(sheet: _Sheet, label: str, hand: Mapping[str, int], x: float, y: float, room: float, k: float) -> None:
    sheet.text(x, y + 6 * k, label, 12 * k, _MUTED)
    slot = min(room / 6, 84.0)
    for place, treasure in enumerate(Treasure):
        number, left = hand.get(treasure.label, 0), x + slot * place
        _treasure(sheet, treasure.label, left + 10 * k, y + 27 * k, 9.7 * k, there=number > 0)
        if number:
            sheet.fitted(left + 21.5 * k, y + 27 * k, str(number), 16 * k, slot - 22.5 * k, bold=True)


def _draw_payment(sheet: _Sheet, snapshot: Snapshot, seat: int, x: float, y: float, room: float, k: float) -> float:
    """Draw the purchase and the treasures paid so far, and return the ``y`` of the line below."""
    pay = snapshot["pay"]
    if pay is None or seat != snapshot["buyer"]:
        return y
    said = f"pays for {words.purchase(pay)}: {sum(pay['paid'].values())} of {pay['cost']}"
    y += sheet.paragraph(x, y, said, 13, room, 2, _ACCENT, bold=True)
    slot = min(room / 6, 60.0)
    for place, (name, number) in enumerate(pay["paid"].items()):
        left = x + slot * place
        _treasure(sheet, name, left + 10 * k, y + 12 * k, 9.7 * k)
        sheet.fitted(left + 21.5 * k, y + 12 * k, str(number), 16 * k, slot - 22.5 * k, _ACCENT, bold=True)
    return y + 24 * k * bool(pay["paid"]) + 3


def _extras(snapshot: Snapshot, seat: int) -> list[str]:
    """Draw what is needed only sometimes: treasures picked, and wild treasures used this round."""
    player = snapshot["players"][seat]
    lines = []
    if player["picks_left"] or player["picked"]:
        picked = f"{words.treasures(player['picked'])} picked, " if player["picked"] else ""
        lines.append(f"{picked}{player['picks_left']} to pick")
    if any(player["wild_used"].values()):
        lines.append(f"used as wild: {words.treasures(player['wild_used'])}")
    return lines


def _draw_owned(
    sheet: _Sheet, owned: Mapping[str, int], x: float, y: float, room: float, height: float, k: float
) -> None:
    if not owned:
        sheet.text(x, y + 8 * k, "no buildings yet", 12 * k, _FADED)
        return
    columns = max(1, min(4, int(room // (107 * k))))
    rows = -(-len(owned) // columns)
    step = min(20.0 * k, height / rows)
    size = min(13.0 * k, step * 0.8)
    badge = size
    wide = room / columns
    for number, (name, copies) in enumerate(owned.items()):
        left, line = x + wide * (number // rows), y + step * (number % rows + 0.5)
        colour = "#b98400" if words.is_star(name) else "#00805e"
        sheet.box(left, line - badge / 2, badge, badge, colour, radius=badge / 4)
        sheet.text(left + badge / 2, line, str(copies), badge * 0.85, "#ffffff", anchor="m", bold=True)
        sheet.fitted(left + badge * 1.3, line, name, size, wide - badge * 1.3 - 9)


def _draw_market(sheet: _Sheet, snapshot: Snapshot, y: float) -> None:
    on_offer = snapshot["supply"]["buildings"]
    bought = {name for player in snapshot["players"] for name in player["bought"]}
    owned = {name for player in snapshot["players"] for name in player["buildings"]}
    sheet.text(
        _MARGIN + 1,
        y,
        "on offer: stars, then the normal buildings of this game, each with its cost and the copies left",
        13,
        _MUTED,
    )
    gap, between = 6.0, 14.0
    width = (_SHEET[0] - 2 * _MARGIN - gap * (len(on_offer) - 1) - between) / len(on_offer)
    x = float(_MARGIN)
    was_star = True
    for name, left in on_offer.items():
        star = words.is_star(name)
        x += between * (was_star and not star)
        was_star = star
        _draw_tile(sheet, name, left, x, y + 12, width, 150, bought=name in bought, owned=name in owned)
        x += width + gap


def _draw_tile(
    sheet: _Sheet,
    name: str,
    left: int,
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    bought: bool,
    owned: bool,
) -> None:
    there = left > 0
    star = words.is_star(name)
    colour = ("#c98f00" if star else "#00805e") if there else _FADED
    ink = _INK if there else _FADED
    sheet.box(
        x,
        y,
        width,
        height,
        _PANEL if there else "#f4f6f8",
        radius=8,
        outline=_ACCENT if bought else _LINE,
        line=3 if bought else 1.5,
    )
    sheet.box(x, y, width, 26, colour, radius=8, corners=(True, True, False, False))
    sheet.box(x + 7, y + 4, 15, 18, "#ffffff", radius=3)  # a card; the number of cards to pay is written next to it
    sheet.text(x + 14.5, y + 13, str(words.cost_of(name)), 15, colour, anchor="m", bold=True)
    if star:
        _star(sheet, x + 33, y + 13, 7.5, "#ffffff")
    sheet.text(x + width - 7, y + 13, f"x{left}", 15, "#ffffff", anchor="r", bold=True)
    top = y + 31
    top += sheet.paragraph(x + 6, top, name, 13, width - 11, 2, ink, bold=True) + 3
    status = "sold out" if not there else "bought" if bought else ""
    if status:
        sheet.text(x + 6, y + height - 9, status, 11, _ACCENT if bought else _MUTED, bold=True)
    if there or owned:  # effects of buildings that nobody owns or can buy are left out
        room = y + height - (18 if status else 4) - top
        sheet.paragraph(x + 6, top, words.building_words(name), 11.5, width - 11, int(room // 12.2), _MUTED)


def _draw_supplies(sheet: _Sheet, snapshot: Snapshot, y: float) -> None:
    sheet.box(_MARGIN, y, _SHEET[0] - 2 * _MARGIN, 46, _PANEL, radius=10, outline=_LINE, line=1.5)
    middle = y + 23
    x = _MARGIN + 14.0
    for label, key in (("deck", "treasure_deck"), ("discard", "discard")):
        pile = snapshot[key]
        text = f"{label} {sum(pile.values())}"
        sheet.text(x, middle, text, 16, bold=True)
        x += sheet.width(text, 16, True) + 22
        for treasure in Treasure:
            number = pile.get(treasure.label, 0)
            _treasure(sheet, treasure.label, x, middle, 10, there=number > 0)
            sheet.text(x + 14, middle, str(number), 15, _INK if number else _FADED)
            x += 53
        x += 8
    supply = snapshot["supply"]
    x = _SHEET[0] - _MARGIN - 240.0
    _heart(sheet, x, middle, 10, True)
    sheet.text(x + 15, middle, f"{supply['hearts']} left", 15)
    _jump_token(sheet, x + 84, middle, 11)
    sheet.text(x + 100, middle, f"{supply['jumps']} left", 15)
    sheet.text(_SHEET[0] - _MARGIN - 12, middle, f"step {snapshot['steps']}", 13, _MUTED, anchor="r")
