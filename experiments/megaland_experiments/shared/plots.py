"""The style of this project's pictures: few colours that everybody can tell apart, and no decoration.

The colours are those of Paul Tol's colour-blind-safe schemes (https://personal.sron.nl/~pault/). Several lines in a
plot have different markers too.
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
"""Factor of percentages: shares are shown in per cent, and their changes in percentage points."""

DIVERGING, RISING = "RdBu", "Blues"
"""Colour maps: one around a white middle, and one from low to high."""

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
"""Colours and markers of several lines in a plot."""


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Make an empty figure, with its size in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
    if title:
        figure.suptitle(title, fontsize=12)
    return figure


def png(figure: Figure) -> bytes:
    """Render a figure as the content of a PNG file. Dollar signs in its text do not begin a formula."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    picture = io.BytesIO()
    with rc_context({"text.parse_math": False}):  # for labels that are made while drawing
        for text in figure.findobj(Text):
            text.set_parse_math(False)
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


def write_picture(path: str | Path, figure: Figure) -> None:
    """Write a figure as a PNG file, whole or not at all."""
    write_bytes(path, png(figure))


def in_picture(text: object, most: int | None = None) -> str:
    """Make outside text safe for a picture: invisible characters are escaped, those not in the font become ``?``.

    Args:
        text: the text.
        most: largest number of characters; a longer text ends with ``...``.
    """
    drawable = _drawable()
    return "".join(character if ord(character) in drawable else "?" for character in printable(text, most))


def short(name: str) -> str:
    """Shorten a name to fit next to a plot."""
    return in_picture(name, NAME_LENGTH)


@cache
def _drawable() -> frozenset[int]:
    """The characters of the font that pictures are written in."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def no_frame(axes: Axes) -> None:
    """Remove the frame of a plot, and make its title fit."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.title.set_fontsize(10.5)


def grid(axes: Axes, along: str) -> None:
    """Draw grid lines along ``"x"``, ``"y"`` or ``"both"`` behind everything else, and remove the frame."""
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
    """Draw values with their intervals, one below the other.

    Args:
        axes: the axes to draw in.
        labels: labels of the values, on the y axis.
        values: (n,) the values.
        low: (n,) the lower ends of the intervals.
        high: (n,) the upper ends of the intervals.
        middle: position of a vertical line that stands for "no effect"; None for no line.
        series: index into ``SERIES``.
        offset: distance below the label, for several values with the same label.
        name: name in a legend.
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


def line_with_intervals(
    axes: Axes,
    along: npt.ArrayLike,
    values: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    series: int = 0,
    scale: float = 1.0,
    name: str | None = None,
) -> None:
    """Draw a line through values, with their intervals.

    Args:
        axes: the axes to draw in.
        along: (n,) the positions on the x axis.
        values: (n,) the values.
        low: (n,) the lower ends of the intervals.
        high: (n,) the upper ends of the intervals.
        series: index into ``SERIES``; after the last the first follows.
        scale: factor of values and intervals, such as ``POINTS``.
        name: name in a legend.
    """
    centre, below, above = (scale * np.asarray(array, np.float64) for array in (values, low, high))
    colour, marker = SERIES[series % len(SERIES)]
    errors = np.stack([centre - below, above - centre])
    axes.errorbar(along, centre, yerr=errors, color=colour, marker=marker, markersize=4, capsize=2, label=name)
