"""Checks of values that users give, in one place."""

from __future__ import annotations

import operator
from typing import Any, TypeGuard

import numpy as np


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether a value is an integer of Python or NumPy; ``True`` and ``False`` are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float | np.integer[Any] | np.floating[Any]]:
    """Whether a value is a real number of Python or NumPy; ``True`` and ``False`` are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def as_integer(value: Any) -> int | None:
    """The integer that a value is, also an array or a tensor without dimensions; ``None`` if it is none.

    Nothing is rounded, and ``True`` and ``False`` are no integers.
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def ragged(what: str) -> ValueError:
    """The error for nested sequences of different lengths, of which NumPy makes no array."""
    return ValueError(f"{what} must be one array, not sequences of different lengths")


def check_seed(seed: int) -> None:
    """Check the seed of an agent.

    Raises:
        ValueError: ``seed`` is not an integer.
    """
    if not is_integer(seed):
        raise ValueError(f"seed is {seed!r}; it must be an integer")


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Check that an argument is a whole number in a range.

    Args:
        name: name of the argument, for the message.
        value: the argument.
        least: the least number allowed.
        most: the largest number allowed; None for no limit.

    Raises:
        ValueError: it is something else.
    """
    if not is_integer(value) or value < least or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value!r}; it must be a whole number {wanted}")
