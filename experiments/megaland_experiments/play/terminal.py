"""The terminal of a person: of any size, without control codes, or a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress

from megaland_env.render.text import (
    NARROW,
    WIDTH,
    clear_screen,
    render_compact,
    render_text,
    show,
    styled,
    wants_colour,
)
from megaland_env.snapshot import Snapshot

LOWEST = 24
"""Rows of a screen on which every decision fits."""

COLOURS = ("auto", "always", "never")


class Terminal:
    """The terminal of a person. Output fits its size; a pipe has no height, and the width of the full board.

    Args:
        colour: one of ``COLOURS``.
    """

    def __init__(self, colour: str = "auto") -> None:
        self.colour = wants_colour() if colour == "auto" else colour == "always"
        if hasattr(sys.stdin, "reconfigure"):  # bytes that are not text are an invalid answer like any other
            sys.stdin.reconfigure(errors="replace")

    @property
    def rows(self) -> int | None:
        """The height of the screen; ``None`` if the output is not a screen."""
        return shutil.get_terminal_size().lines if sys.stdout.isatty() else None

    @property
    def columns(self) -> int:
        """The width at which lines are broken."""
        if not sys.stdout.isatty():
            return WIDTH
        return min(WIDTH, max(NARROW, shutil.get_terminal_size().columns))

    @property
    def can_page(self) -> bool:
        """Whether long texts can wait for a key. Piped input cannot: it holds the answers to other questions."""
        return sys.stdout.isatty() and sys.stdin.isatty()

    def check_size(self) -> None:
        """Say once if the screen is too small, before the first screen is shown."""
        columns, rows = shutil.get_terminal_size()
        if self.rows is None or (columns >= NARROW and rows >= LOWEST):
            return
        self.say(
            f"This terminal has {columns} columns and {rows} rows. The game needs {NARROW} and {LOWEST}: lines will "
            "wrap, or the top of the board will be missing. Make it larger, or go on."
        )
        if self.can_page:
            with suppress(EOFError):
                self.ask("Enter to go on: ")

    def clear(self) -> None:
        """Clear the screen, if the output is one."""
        clear_screen()

    def say(self, text: str, style: str = "") -> None:
        """Show one line, or several lines that are already broken."""
        show(styled(text, style, self.colour))

    def broken(self, sentences: Iterable[str], indent: str = "  ", more: str = "    ") -> list[str]:
        """Sentences as lines that fit the width, broken only between words."""
        lines: list[str] = []
        for sentence in sentences:
            lines += textwrap.wrap(
                sentence,
                self.columns,
                initial_indent=indent,
                subsequent_indent=more,
                break_on_hyphens=False,
            )
        return lines

    def board(
        self, snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None, below: int, *, brief: bool = False
    ) -> list[str]:
        """The full board if it fits on the screen with ``below`` more lines, else the compact one, as lines."""
        full = self.full_board(snapshot, viewer, names)
        if self.rows is None or (self.columns == WIDTH and len(full) + below <= self.rows):
            return full
        board = render_compact(
            snapshot, colour=self.colour, viewer=viewer, names=names, width=self.columns, brief=brief
        )
        return board.split("\n")

    def full_board(self, snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None) -> list[str]:
        """The lines of the full board."""
        board = render_text(snapshot, colour=self.colour, viewer=viewer, names=names, width=self.columns)
        return board.split("\n")

    def newest(self, lines: Sequence[str], room: int | None) -> list[str]:
        """The last lines that there is room for. If lines are left out, the first line says so."""
        if room is None or len(lines) <= room:
            return [*lines]
        if room < 1:
            return []
        kept = room - 1
        missing = len(lines) - kept
        return [f"  ({missing} earlier line{'s' * (missing > 1)}: type h)", *lines[len(lines) - kept :]]

    def page(self, lines: Sequence[str]) -> None:
        """Show lines, one screen at a time if possible. The caller has to draw its screen again afterwards."""
        if not self.can_page or self.rows is None:
            self.say("\n".join(lines))
            return
        step = max(1, self.rows - 1)
        for start in range(0, len(lines), step):
            self.clear()
            self.say("\n".join(lines[start : start + step]))
            is_last = start + step >= len(lines)
            try:
                answer = self.ask("Enter to go back: " if is_last else "Enter for more, q to go back: ")
            except EOFError:
                return
            if answer.lower() == "q":
                return

    def ask(self, prompt: str) -> str:
        """Ask for a line of input.

        Raises:
            EOFError: the input has ended.
        """
        try:
            answer = input(prompt).strip()
        except EOFError:
            print()
            raise
        if not sys.stdin.isatty():  # nobody has pressed Enter, which would have ended the line of the prompt
            print()
        return answer
