"""Progress of long commands, with the time left: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from megaland_experiments.shared.output import percent

SECONDS_BETWEEN_LINES = 30.0

Told = Callable[[float, float], None]
"""Called with the amount done and the total; work under way counts in part."""


class TimeLeft:
    """An estimate of the time left, from the speed so far.

    Work that was done before the first report, by an earlier process, does not count.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._before: float | None = None

    def __call__(self, done: float, total: float) -> float | None:
        """Estimate the seconds that the rest takes; None before anything is done."""
        if self._before is None:
            self._before = done
        here, passed = done - self._before, self._clock() - self._began
        return None if here <= 0 or passed <= 0 else passed * max(total - done, 0) / here


def duration(seconds: float | None) -> str:
    """Format the time left: ``"1:02:03 left"``, or ``"time left unknown"``."""
    if seconds is None:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} left"


def sentence(done: float, total: float, unit: str, left: float | None) -> str:
    """Format progress: ``"25 % of 48,000 games, 0:03:10 left"``."""
    share = done / total if total else 1.0
    return f"{percent(share, 0)} of {total:,.0f} {unit}, {duration(left)}"


@contextmanager
def progress_bar(unit: str) -> Iterator[Told]:
    """Show progress on the standard error: a bar on a terminal, which disappears at the end, or else lines.

    Args:
        unit: what is counted, such as ``"games"``.

    Yields:
        A function to call with the number of units done, and the total.
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
