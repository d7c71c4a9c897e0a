"""Fixtures that several test files share."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

# The same on every machine; MEGALAND_ENGINE=compiled in the environment runs all tests with the other engine.
os.environ.setdefault("MEGALAND_ENGINE", "numpy")

from tests.support.tables import EngineTable, Table, TwinTable


@pytest.fixture(params=["engine", "twin"])
def table(request: pytest.FixtureRequest) -> type[Table]:
    """The implementation under test: every rule must hold in the engine and in its slow twin."""
    tables: dict[str, type[Table]] = {"engine": EngineTable, "twin": TwinTable}
    return tables[request.param]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], AbstractContextManager[None]]:
    """A disk that is full after some files were written: syncing the next one fails, as writing it may."""
    sync = os.fsync

    @contextmanager
    def full_after(files: int) -> Iterator[None]:
        left = files

        def fsync(handle: int) -> None:
            nonlocal left
            if stat.S_ISREG(os.fstat(handle).st_mode):
                left -= 1
                if left < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            sync(handle)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            yield

    return full_after
