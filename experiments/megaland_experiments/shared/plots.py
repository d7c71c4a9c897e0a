"""How the pictures of this project look: few colours, all told apart by everyone, and nothing that says nothing.

The colours are those of Paul Tol's colour-blind-safe schemes (https://personal.sron.nl/~pault/). Where several lines
share a plot they differ in their markers too.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from megaland_env.files import write_bytes
from megaland_env.outside_text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME_LENGTH = 34
DOTS_PER_INCH = 150
POINTS = 100
"""Shares are shown in per cent, and what changes them in percentage points."""

DIVERGING, RISING = "RdBu", "Blues"
"""Colour maps: around a middle, which is white; and from nothing to much."""

BAR_COLOUR, OTHER_COLOUR, ANCHOR_COLOUR = "#4477aa", "#ee7733", "#bbbbbb"
INK, GRID, EMPTY = "#222222", "#e5e5e5", "#f0f0f0"
SERIES = (
    (BAR_COLOUR, "o"),
    (OTHER_COLOUR, "s"),
    ("#228833", "^"),
    ("#aa3377", "D"),
    ("#66ccee", "v"),
    ("#ccbb44", "P"),
    (INK, "X"),
    (ANCHOR_COLOUR, "."),
)
"""Colours and markers of lines that share a plot."""


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
    if title:
        figure.suptitle(title, fontsize=12)
    return figure


def png(figure: Figure) -> bytes:
    """A figure as the content of a PNG file. Dollar signs in it are dollar signs, and begin no formula."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    picture = io.BytesIO()
    with rc_context({"text.parse_math": False}):  # of labels that are made only when they are drawn
        for text in figure.findobj(Text):
            text.set_parse_math(False)
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


def write_picture(path: str | Path, figure: Figure) -> None:
    """Write a figure as a PNG file, whole or not at all."""
    write_bytes(path, png(figure))


def in_picture(text: object, most: int | None = None) -> str:
    """Outside text for a picture: what cannot be seen is escaped, and what the font lacks becomes a question mark.

    Args:
        text: the text.
        most: the most characters; a longer one ends with ``...``.
    """
    drawable = _drawable()
    return "".join(character if ord(character) in drawable else "?" for character in printable(text, most))


def short(name: str) -> str:
    """A name that fits beside a picture."""
    return in_picture(name, NAME_LENGTH)


@cache
def _drawable() -> frozenset[int]:
    """The characters of the font that pictures are written in."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def no_frame(axes: Axes) -> None:
    """Take away what frames a plot, and make room for its title."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.title.set_fontsize(10.5)


def grid(axes: Axes, along: str) -> None:
    """Lines at the ticks of the axis ``along``, ``"x"``, ``"y"`` or ``"both"``, behind all else, and no frame."""
    axes.grid(axis=along, color=GRID)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    no_frame(axes)


def dots(
    axes: Axes,
    labels: Sequence[str],
    values: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    middle: float | None = 0.0,
    series: int = 0,
    offset: float = 0.0,
    name: str | None = None,
) -> None:
    """Values with their intervals, a line each, the first on top.

    Args:
        axes: where.
        labels: of the lines.
        values: (n,).
        low: (n,) the lower ends of the intervals.
        high: (n,) the upper ends.
        middle: where a line is drawn that says "no effect".
        series: which of ``SERIES``.
        offset: how far below its line each is drawn, where several share it.
        name: for a legend.
    """
    centre, below, above = (np.asarray(array, np.float64) for array in (values, low, high))
    colour, marker = SERIES[series]
    if middle is not None:
        axes.axvline(middle, color=ANCHOR_COLOUR, zorder=0)
    at = np.arange(centre.size) + offset
    errors = np.stack([centre - below, above - centre])
    axes.errorbar(
        centre, at, xerr=errors, fmt=marker, color=colour, elinewidth=1.5, capsize=2, markersize=5, label=name
    )
    axes.set_yticks(range(centre.size), labels)
    axes.set_ylim(centre.size - 0.4, -0.6)
    grid(axes, "x")
