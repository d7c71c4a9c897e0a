"""Large batches in slices on several threads, which compiled code allows since it runs without Python's lock.

Games do not depend on each other, so the results do not depend on the number of threads. It is that of Numba: the cores
that the process may use, or what the environment variable ``NUMBA_NUM_THREADS`` says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

FEWEST = 4096
"""The smallest number of games for which it pays to wake other threads."""


@cache
def number_of_threads() -> int:
    """The number of threads that play."""
    from numba.core import config

    return int(config.NUMBA_NUM_THREADS)


@cache
def _others() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number_of_threads() - 1, "megaland")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_others.cache_clear)  # threads do not live on in a forked process


def in_slices(number: int, work: Callable[[int, int], object]) -> None:
    """Call ``work(start, stop)`` for slices of ``range(number)``, on all threads.

    Raises:
        BaseException: what a call raised, after all have ended.
    """
    slices = min(number_of_threads(), max(1, number // (FEWEST // 2)))
    ends = [number * k // slices for k in range(slices + 1)]
    if slices == 1:
        work(0, number)
        return
    futures = [_others().submit(work, ends[k], ends[k + 1]) for k in range(1, slices)]
    try:
        work(0, ends[1])
    finally:
        wait(futures)
    for future in futures:
        future.result()
