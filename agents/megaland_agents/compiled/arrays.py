"""Arrays and constants of compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.core.typing.templates import signature


def _uncounted(typing_context: Any, array: Any) -> Any:
    """The same array without the count of its references, which takes as long as a small function.

    Only for arguments that Python passed, since these live as long as the call.
    """

    def make(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        plain = context.make_array(sig.args[0])(context, builder, args[0])
        plain.meminfo = cgutils.get_null_value(plain.meminfo.type)
        plain.parent = cgutils.get_null_value(plain.parent.type)
        return plain._getvalue()

    return signature(array, array), make


uncounted: Callable[[Any], Any] = intrinsic(_uncounted)


def float32(number: float) -> np.float32:
    """A constant of compiled code. With a Python number in its place the result would be float64."""
    return np.float32(number)
