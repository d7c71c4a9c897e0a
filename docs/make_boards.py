"""Writes the pictures of the board, ``docs/board*.png``: ``python docs/make_boards.py``.

It needs Pillow and matplotlib, whose monospaced font has all the symbols of the board in the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from megaland_env import MegalandConfig, MegalandGames
from megaland_env.agent import make_agent
from megaland_env.render import render_image, render_text
from megaland_env.render.image import as_png
from megaland_env.snapshot import Snapshot

DOCS = Path(__file__).parent
AGENTS = ("planner", "threshold", "builder", "hearts", "saver")
MARKET = ("Herb Hut", "Reptile Stable", "Hospital", "Ostrich Ranch", "Smithy", "Lodge", "Arena")

_SIZE, _LINE, _MARGIN = 17, 23, 16  # of the letters, of the lines and around them, in pixels
_PAPER, _INK = (25, 28, 36), (230, 232, 236)
_CODE = re.compile(r"\x1b\[([0-9;]*)m")


def moment(players: int, seed: int, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    """The first moment of a game between the agents that is as wanted."""
    games = MegalandGames(MegalandConfig(players, MARKET))
    games.reset([seed])
    agents = [make_agent(name) for name in AGENTS[:players]]
    while games.active.any():
        snapshot = games.snapshot(0)
        if wanted(snapshot):
            return snapshot
        decisions = games.decisions()
        answers = [int(agents[seat].act(decisions[[row]])[0]) for row, seat in enumerate(decisions.seat.tolist())]
        games.step(games.scatter(decisions, np.array(answers)))
    raise ValueError(f"there is no such moment in the game of seed {seed}")


def terminal_picture(board: str) -> bytes:
    """A board with ANSI colours as a terminal shows it, as a PNG file."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    plain = ImageFont.truetype(fonts / "DejaVuSansMono.ttf", _SIZE)
    bold = ImageFont.truetype(fonts / "DejaVuSansMono-Bold.ttf", _SIZE)
    lines = board.split("\n")
    column = plain.getlength("m")
    longest = max(len(_CODE.sub("", line)) for line in lines)
    size = (round(longest * column) + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN)
    picture = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        x, y = float(_MARGIN), _MARGIN + row * _LINE
        parts = _CODE.split(line)
        for text, codes in zip(parts[::2], ["", *parts[1::2]], strict=True):
            ink, paper, is_bold, is_underlined = _style(codes)
            width = len(text) * column
            if paper != _PAPER:
                draw.rectangle((x, y, x + width, y + _LINE - 1), paper)
            draw.text((x, y + 1), text, ink, bold if is_bold else plain)
            if is_underlined:
                draw.line((x, y + _LINE - 3, x + width, y + _LINE - 3), ink)
            x += width
    return as_png(np.asarray(picture))


def _style(codes: str) -> tuple[tuple[int, ...], tuple[int, ...], bool, bool]:
    """The colours of letters and paper, and whether the letters are bold and underlined, of some ANSI codes."""
    ink, paper = _INK, _PAPER
    numbers = [int(code) for code in codes.split(";") if code]
    if numbers[-3:-1] == [38, 5]:
        ink = _colour(numbers[-1])
        numbers = numbers[:-3]
    if 2 in numbers:
        ink = tuple((a + b) // 2 for a, b in zip(ink, paper, strict=True))
    if 7 in numbers:
        ink, paper = paper, ink
    return ink, paper, 1 in numbers, 4 in numbers


def _colour(number: int) -> tuple[int, ...]:
    """A colour of the 256 of a terminal: a cube of six steps, and greys after it."""
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


def main() -> None:
    """Write the pictures."""

    def in_the_middle(snapshot: Snapshot) -> bool:
        seen = snapshot["level_seen"]
        return snapshot["round"] >= 6 and snapshot["decision"] == "run" and len(seen) >= 4 and "Rabbit" in seen

    def paying(snapshot: Snapshot) -> bool:
        return snapshot["round"] >= 7 and snapshot["pay"] is not None and bool(snapshot["pay"]["paid"])

    five, two = moment(5, 14, in_the_middle), moment(2, 21, paying)
    pictures = {
        "board.png": as_png(render_image(five, names=AGENTS)),
        "board-two-players.png": as_png(render_image(two, viewer=1, names=AGENTS[:2])),
        "board-ansi.png": terminal_picture(render_text(five, viewer=five["active"][0], names=AGENTS)),
    }
    for name, content in pictures.items():
        (DOCS / name).write_bytes(content)


if __name__ == "__main__":
    main()
