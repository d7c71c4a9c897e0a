"""Stop a run without losing work: the first Ctrl-C or SIGTERM is a request, and only the second ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that terminals and clusters send."""


class Stopped(KeyboardInterrupt):
    """Raised when work ends on request, at a point from which it can go on.

    Attributes:
        signal_number: number of the signal that requested it.
    """

    def __init__(self, signal_number: int = signal.SIGINT) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class StopRequest:
    """A request to stop, made by a signal.

    Args:
        notice: text that is printed to standard error when the request comes; it says what is finished first.

    Attributes:
        signal_number: number of the signal; ``None`` before a request.
    """

    def __init__(self, notice: str) -> None:
        self._notice = notice
        self.signal_number: int | None = None

    def check(self) -> None:
        """Stop here if it was requested.

        Raises:
            Stopped: it was requested.
        """
        if self.signal_number is not None:
            raise Stopped(self.signal_number)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Treat signals as requests inside a ``with`` block. Python allows this in the main thread only."""
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # Ignored signals stay ignored, as nohup and shells want it. None is a handler that Python did not set.
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            before = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
        try:
            for number in before:
                signal.signal(number, self._ask)
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    def _ask(self, number: int, _: FrameType | None) -> None:
        if self.signal_number is not None:
            raise KeyboardInterrupt
        self.signal_number = number
        with suppress(OSError):  # past Python's buffers, which a signal may interrupt in the middle of a write
            os.write(2, f"\n{self._notice}; Ctrl-C again stops at once\n".encode())
