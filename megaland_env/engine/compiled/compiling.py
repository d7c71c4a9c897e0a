"""How the functions of this package are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numba
import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., object])

if TYPE_CHECKING:

    def as_int(value: Any) -> int:
        """A number of any kind as int64, which compiled code takes for ``int``."""
else:
    as_int = np.int64  # the name that Numba knows; ``int`` would leave an unsigned word unsigned


def compiled(function: _Function) -> _Function:
    """Compile a function when it is first called by compiled code, for the types that it is called with.

    It runs without Python's lock, so that several threads can play different games.
    """
    return numba.njit(nogil=True, error_model="numpy")(function)
