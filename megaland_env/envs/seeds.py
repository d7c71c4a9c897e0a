"""Seeds that environments are given: the one rule for ``seed``, in every API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from megaland_env.checks import as_integer

LARGEST_SEED = 2**64 - 1


def checked_seed(seed: Any, what: str = "seed", also: str = "") -> int:
    """Check a seed, and return it as a Python integer.

    Nothing is rounded, and no seed stands for another: Gymnasium refuses negative seeds, and the seed of a game is a
    word of 64 bits.

    Args:
        seed: what was given.
        what: what the message calls it.
        also: what else the message says is allowed.

    Raises:
        ValueError: it is not an integer from 0 to 2**64 - 1.
    """
    number = as_integer(seed)
    if number is None or not 0 <= number <= LARGEST_SEED:
        raise ValueError(f"{what} is {seed!r}; it must be an integer from 0 to {LARGEST_SEED} (2**64 - 1){also}")
    return number


def checked_seeds(seed: Any, num_envs: int) -> int | list[int | None] | None:
    """Check the seed of a vector environment: one for all slots, one or ``None`` for each, or ``None``.

    Returns:
        Python integers: one seed, or a list of ``num_envs`` entries, or ``None``.

    Raises:
        ValueError: it is something else, or has another length.
    """
    if seed is None:
        return None
    is_array = isinstance(seed, np.ndarray) and seed.ndim == 1
    if not is_array and (isinstance(seed, (str, bytes)) or not isinstance(seed, Sequence)):
        return checked_seed(seed, also=f", a sequence of {num_envs} of them, or None")
    if len(seed) != num_envs:
        raise ValueError(f"seed names {len(seed)} seeds; there are {num_envs} games")
    return [None if each is None else checked_seed(each, f"seed[{slot}]", " or None") for slot, each in enumerate(seed)]
