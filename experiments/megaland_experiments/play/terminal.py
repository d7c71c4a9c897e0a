"""Where a person reads and types: a terminal of any size, a dumb one, or a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

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

COLOURS = ("auto", "always", "never")


class Terminal:
    """A person's terminal. Everything is fitted to its size; a pipe has no height, and the width of the full board.

    Args:
        colour: one of ``COLOURS``.
    """

    def __init__(self, colour: str = "auto") -> None:
        self.colour = wants_colour() if colour == "auto" else colour == "always"
        if hasattr(sys.stdin, "reconfigure"):  # bytes that are no text are a wrong answer like any other
            sys.stdin.reconfigure(errors="replace")

    @property
    def rows(self) -> int | None:
        """The height of the screen; ``None`` if the output is not one."""
        return shutil.get_terminal_size().lines if sys.stdout.isatty() else None

    @property
    def columns(self) -> int:
        """The width that text is broken to."""
        if not sys.stdout.isatty():
            return WIDTH
        return min(WIDTH, max(NARROW, shutil.get_terminal_size().columns))

    @property
    def can_page(self) -> bool:
        """Whether long texts can wait for a key: input that is piped holds the answers to other questions."""
        return sys.stdout.isatty() and sys.stdin.isatty()

    def clear(self) -> None:
        """Empty the screen, if it is one."""
        clear_screen()

    def say(self, text: str, style: str = "") -> None:
        """A line, or some lines that are already broken."""
        show(styled(text, style, self.colour))

    def broken(self, sentences: Iterable[str], indent: str = "  ", more: str = "    ") -> list[str]:
        """Sentences as lines that fit the width, broken between words only."""
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
        """The full board as lines if the screen has room for it and ``below`` lines more, else the compact one."""
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
        """The last of some lines, as many as there is room for, with a note in the first line if there are more."""
        if room is None or len(lines) <= room:
            return [*lines]
        if room < 1:
            return []
        kept = room - 1
        missing = len(lines) - kept
        return [f"  ({missing} earlier line{'s' * (missing > 1)}: type h)", *lines[len(lines) - kept :]]

    def page(self, lines: Sequence[str]) -> None:
        """Show lines, a screen at a time if the person can turn the pages; the caller then draws its screen again."""
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
        """What the person types.

        Raises:
            EOFError: nothing more is typed.
        """
        try:
            return input(prompt).strip()
        except EOFError:
            print()
            raise
