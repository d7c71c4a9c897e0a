"""How the functions of this package are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function when it is first called by compiled code, for the types that it is called with.

    It runs without Python's lock, so that several threads can play different games.
    """
    return numba.njit(nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]
