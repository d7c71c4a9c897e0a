"""Checks of values that users give, in one place."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether a value is an integer of Python or NumPy; ``True`` and ``False`` are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_seed(seed: int) -> None:
    """Check the seed of an agent.

    Raises:
        ValueError: ``seed`` is not an integer.
    """
    if not is_integer(seed):
        raise ValueError(f"seed is {seed!r}; it must be an integer")
