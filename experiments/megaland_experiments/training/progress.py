"""The progress of a training run: one line on a terminal, or a new line every half minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn

if TYPE_CHECKING:
    from rich.console import Console

EVERY_SECONDS = 30.0
"""Seconds between two lines where there is no terminal."""

BAR_WIDTH = 8
"""Columns; with it the line fits a terminal of 80 columns in runs of up to 99 million steps."""


class TrainProgress:
    """The line of progress, with an estimate of the time left.

    The estimate covers the decisions, at the rate so far, and the games of measurements and evaluations, once some of
    them have been played. Both rates are those of this process.

    Args:
        console: the console to write to.
        total_steps: number of steps of the run.
        total_games: number of games that this process plays in measurements and evaluations.
        clock: returns the time in seconds.
    """

    def __init__(
        self, console: Console, total_steps: int, total_games: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._console = console
        self._total_steps = total_steps
        self._games_left = float(total_games)
        self._clock = clock
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.fields[said]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, said="")
        self._said_at = clock()
        self._heard = True
        self._steps = self._first_steps = 0
        self._games = 0.0
        self._learning_seconds = self._playing_seconds = 0.0
        self._since = clock()  # of what is being done now
        self._playing = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the line during the block."""
        with self._bar:
            yield

    def begin(self, steps: int) -> None:
        """Note that learning begins, ``steps`` into the run."""
        self._steps = self._first_steps = steps
        self._since = self._said_at = self._clock()

    def updated(self, steps: int) -> None:
        """Note that the networks were updated; ``steps`` decisions have been learned from."""
        self._steps = steps
        self._count()

    def learning(self, steps: int, wins: str, opponents: str) -> None:
        """Show the progress of learning.

        Args:
            steps: number of decisions learned from, and collected since.
            wins: the learner's win share.
            opponents: names of its opponents.
        """
        done = min(steps, self._total_steps)  # the last roll-out may go beyond
        rate = self._rate()
        speed = f"{rate:,.0f} steps/s, " if rate else ""
        short = f"{rate:,.0f}/s, " if rate else ""
        self._show(
            "learning",
            done,
            self._total_steps,
            "",
            f"{short}wins {wins}",
            f"{speed}wins {wins} against {opponents}",
        )

    @contextmanager
    def games(self, doing: str, total: int) -> Iterator[Callable[[float], None]]:
        """Show the progress of games that measure the policy.

        Args:
            doing: a word for it, such as ``"measuring"``.
            total: number of games.

        Yields:
            A function to call with the number of games that are finished; a game under way counts in part.
        """
        self._count()
        self._playing = True
        games, left = self._games, self._games_left

        def tell(finished: float) -> None:
            self._games, self._games_left = games + finished, max(left - finished, 0)
            self._show(doing, int(finished), total, " games", "", "")

        try:
            tell(0)
            yield tell
        finally:
            self._count()
            self._playing = False

    def say(self, text: str, *, wrap: bool = False) -> None:
        """Print lines. A closed pipe, or a full disk at its other end, does not end the training."""
        if self._heard:
            try:
                self._console.print(text, highlight=False, soft_wrap=not wrap)
            except (OSError, SystemExit):  # rich's answer to a closed pipe is to exit
                self._heard = False

    def time_left(self) -> float | None:
        """Estimate the seconds left; ``None`` while there is nothing to estimate from."""
        steps = max(self._total_steps - self._steps, 0)
        rate, seconds = self._rate(), self._playing_seconds + (self._clock() - self._since if self._playing else 0)
        if (steps and not rate) or (not steps and not self._games):
            return None
        learning = steps / rate if steps else 0.0
        if not self._playing:  # steps are counted at updates, some time ago
            learning = max(learning - (self._clock() - self._since), 0.0)
        return learning + (self._games_left * seconds / self._games if self._games else 0.0)

    def _rate(self) -> float:
        """Steps per second, 0 while unknown."""
        learned = self._steps - self._first_steps
        return learned / self._learning_seconds if learned > 0 and self._learning_seconds > 0 else 0.0

    def _count(self) -> None:
        """Add the time since the last call to learning or playing."""
        now = self._clock()
        if self._playing:
            self._playing_seconds += now - self._since
        else:
            self._learning_seconds += now - self._since
        self._since = now

    def _show(self, doing: str, done: int, total: int, unit: str, short: str, long: str) -> None:
        on_terminal, now = not self._bar.disable, self._clock()
        if not on_terminal and now - self._said_at < EVERY_SECONDS:
            return
        left = self.time_left()
        remaining = "" if left is None else f"{clock_text(left)} left"
        if on_terminal:
            said = ", ".join(filter(None, (remaining, short)))
            description = f"{doing} {done:,} of {total:,}{unit}"
            self._bar.update(self._task, description=description, completed=done, total=total, said=said)
        else:
            self._said_at = now
            share = f"{doing} {done:,} of {total:,}{unit or ' steps'} ({100 * done // total} %)"
            self.say(", ".join(filter(None, (share, remaining and f"about {remaining}", long))))


def clock_text(seconds: float) -> str:
    """Format a time: ``"0:07"``, ``"12:34"`` or ``"1:02:03"``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
