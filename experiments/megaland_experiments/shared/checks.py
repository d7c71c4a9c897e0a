"""Checks of arguments that several commands have."""

from __future__ import annotations

import numpy as np


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Check that an argument is a whole number (and no bool) in a range.

    Args:
        name: name of the argument, for the message.
        value: the argument.
        least: the least number allowed.
        most: the largest number allowed; None for no limit.

    Raises:
        ValueError: it is something else.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < least
        or (most is not None and value > most)
    ):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value!r}; it must be a whole number {wanted}")
