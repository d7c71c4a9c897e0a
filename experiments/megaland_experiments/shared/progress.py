"""How far a long command is, and how long it will take: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 30.0

Told = Callable[[float, float], None]
"""Called with what is done and the total; what is under way counts in part."""


class TimeLeft:
    """Estimates the time left from the speed so far.

    What was done before the first report, by an earlier process, says nothing about the speed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._before: float | None = None

    def __call__(self, done: float, total: float) -> float | None:
        """The seconds that the rest will take; None before anything is done."""
        if self._before is None:
            self._before = done
        here, passed = done - self._before, self._clock() - self._began
        return None if here <= 0 or passed <= 0 else passed * max(total - done, 0) / here


def duration(seconds: float | None) -> str:
    """Such as ``"1:02:03 left"``; words as long as nobody knows."""
    if seconds is None:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} left"


def sentence(done: float, total: float, unit: str, left: float | None) -> str:
    """Such as ``"25 % of 48,000 games, 0:03:10 left"``."""
    share = done / total if total else 1.0
    return f"{100 * share:.0f} % of {total:,.0f} {unit}, {duration(left)}"


@contextmanager
def progress_bar(unit: str) -> Iterator[Told]:
    """Show on the standard error how much is done.

    The function that is yielded is told the number of ``unit`` that are done, and the total.

    On a terminal that is a bar that disappears at the end; elsewhere a line every half minute.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    from megaland_experiments.shared.safe_console import SafeConsole

    console = SafeConsole(stderr=True)
    estimate = TimeLeft()
    if not console.is_terminal:
        next_line = time.monotonic() + SECONDS_BETWEEN_LINES

        def line(done: float, total: float) -> None:
            nonlocal next_line
            left = estimate(done, total)
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + SECONDS_BETWEEN_LINES
                print(sentence(done, total, unit, left), file=sys.stderr, flush=True)

        yield line
        return
    with Progress(BarColumn(bar_width=24), TextColumn("{task.description}"), console=console, transient=True) as bar:
        task = bar.add_task(unit, total=None)
        yield lambda done, total: bar.update(
            task, completed=done, total=total, description=sentence(done, total, unit, estimate(done, total))
        )
