"""Rendering of games: as text in a terminal, as a picture, and in notebooks. Everything is drawn from a snapshot.

Pictures need Pillow (``pip install "megaland[render]"``), which is imported only when a picture is drawn.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from megaland_env.render import words
from megaland_env.render.text import (
    NARROW,
    WIDTH,
    clear_screen,
    render_compact,
    render_html,
    render_text,
    show,
    wants_colour,
)
from megaland_env.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from megaland_env.game import MegalandGames

RENDER_MODES = ("ansi", "rgb_array", "human")
"""The modes of ``render``, with the names that Gymnasium and PettingZoo use."""

__all__ = ["RENDER_MODES", "Board", "render", "render_compact", "render_human", "render_image", "render_text"]


def render(
    games: MegalandGames, game: int, mode: str, *, viewer: int | None = None, names: Sequence[str] | None = None
) -> Any:
    """Render one game of a batch in the way of the environments.

    Args:
        games: the batch.
        game: the position of the game in the batch.
        mode: ``"ansi"`` gives the board as text with ANSI colours, ``"rgb_array"`` a picture (H, W, 3) uint8,
            ``"human"`` prints the board and gives ``None``.
        viewer: the seat that is called "you" and comes first.
        names: (P,) names of the players, if they are known.

    Raises:
        ValueError: there is no such mode, game or seat, or the number of names is not P.
        ModuleNotFoundError: the mode is ``"rgb_array"``, and Pillow is not installed.
    """
    if mode not in RENDER_MODES:
        raise ValueError(f"render mode is {mode!r}; it must be one of {RENDER_MODES}")
    snapshot = games.snapshot(game)
    if mode == "ansi":
        return render_text(snapshot, viewer=viewer, names=names)
    if mode == "rgb_array":
        return render_image(snapshot, viewer=viewer, names=names)
    return render_human(snapshot, viewer=viewer, names=names)


def render_human(snapshot: Snapshot, *, viewer: int | None = None, names: Sequence[str] | None = None) -> None:
    """Print the board.

    A terminal is cleared first. It shows colours, and the compact board if the full one does not fit.
    """
    colour = wants_colour()
    if not sys.stdout.isatty():
        show(render_text(snapshot, colour=colour, viewer=viewer, names=names))
        return
    columns, rows = shutil.get_terminal_size()
    width = min(WIDTH, max(NARROW, columns))
    board = render_text(snapshot, colour=colour, viewer=viewer, names=names, width=width)
    if board.count("\n") + 2 > rows:  # the cursor takes a line too
        compact = render_compact(snapshot, colour=colour, viewer=viewer, names=names, width=width)
        board = f"{compact}\n {words.situation(snapshot, viewer)}"
    clear_screen()
    show(board)


def render_image(
    snapshot: Snapshot,
    *,
    size: tuple[int, int] | None = None,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.uint8]:
    """Draw the board as a picture (H, W, 3) uint8; see ``megaland_env.render.image``.

    Raises:
        ModuleNotFoundError: Pillow is not installed.
    """
    from megaland_env.render import image

    return image.render_image(snapshot, size=image.SIZE if size is None else size, viewer=viewer, names=names)


class Board:
    """A board for notebooks: a picture if Pillow is installed, otherwise coloured text. ``print`` shows plain text.

    Args:
        snapshot: from ``games.snapshot``.
        viewer: the seat that is called "you" and comes first.
        names: (P,) names of the players, if they are known.
    """

    def __init__(self, snapshot: Snapshot, viewer: int | None = None, names: Sequence[str] | None = None) -> None:
        self.snapshot = snapshot
        self.viewer = viewer
        self.names = names

    def __str__(self) -> str:
        return render_text(self.snapshot, colour=False, viewer=self.viewer, names=self.names)

    def __repr__(self) -> str:
        return str(self)

    def image(self, size: tuple[int, int] | None = None) -> npt.NDArray[np.uint8]:
        """Draw the picture (H, W, 3) uint8."""
        return render_image(self.snapshot, size=size, viewer=self.viewer, names=self.names)

    def _repr_png_(self) -> bytes | None:
        """The picture as PNG, which Jupyter shows; ``None`` without Pillow."""
        try:
            from megaland_env.render import image
        except ModuleNotFoundError:
            return None
        return image.as_png(self.image())

    def _repr_html_(self) -> str | None:
        """The board as HTML, which Jupyter shows if there is no picture; ``None`` with Pillow."""
        try:
            from megaland_env.render import image  # noqa: F401
        except ModuleNotFoundError:
            return render_html(self.snapshot, viewer=self.viewer, names=self.names)
        return None
