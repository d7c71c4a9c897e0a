"""A stop that loses nothing: the first Ctrl-C, or SIGTERM, is a request, and only the second one ends at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What terminals and clusters send."""


class Stopped(KeyboardInterrupt):
    """Work that ended on request, at a point from which it can go on.

    Attributes:
        signal_number: of the signal that asked for it.
    """

    def __init__(self, signal_number: int = signal.SIGINT) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class StopRequest:
    """Whether somebody asked to stop.

    Args:
        notice: said on the standard error when somebody does: what is still finished first.

    Attributes:
        signal_number: of the request; ``None`` as long as there is none.
    """

    def __init__(self, notice: str) -> None:
        self._notice = notice
        self.signal_number: int | None = None

    def check(self) -> None:
        """End here, if somebody asked to.

        Raises:
            Stopped: somebody did.
        """
        if self.signal_number is not None:
            raise Stopped(self.signal_number)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals as requests while the block runs. Python allows this in the main thread only."""
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # What is ignored stays ignored: nohup and shells ask for that. None is a handler that Python did not set.
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
        with suppress(OSError):  # without Python's buffers, which may be in the middle of something
            os.write(2, f"\n{self._notice}; Ctrl-C again stops at once\n".encode())
