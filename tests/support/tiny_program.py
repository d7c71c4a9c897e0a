"""A function that compiles in no time, for the tests of the cache."""

from __future__ import annotations

import numba
from numba import types

SIGNATURE = (types.int64,)


@numba.njit
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number
