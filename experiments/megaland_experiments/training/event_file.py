"""The learner's log as a file for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from numbers import Real
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from megaland_experiments.shared.output import warn


class TensorBoardFile(KVWriter):
    """A writer of the scalars of each update to an event file.

    Stable-Baselines3's own writer hands them to a thread, which prints a traceback when the disk is full. Here they are
    written at once, and a file that cannot be written is a warning: training goes on without it.

    Args:
        folder: the folder of the run's event files; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Any = None
        self._path = folder / f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.0"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)  # so that closing writes nothing, and cannot fail again
        except OSError as error:
            self._give_up(error)
        self._put(Event(file_version="brain.Event:2"))

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write all numbers as the values of this step."""
        values = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in sorted(key_values.items())
            if isinstance(value, Real) and "tensorboard" not in (key_excluded.get(name) or ())
        ]
        self._put(Event(step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _put(self, event: Event) -> None:
        if self._file is None:
            return
        event.wall_time = time.time()
        try:
            RecordWriter(self._file).write(event.SerializeToString())
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.close()
        self._file = None
        warn(f"nothing more is written for TensorBoard: {self._path}: {error.strerror}")
