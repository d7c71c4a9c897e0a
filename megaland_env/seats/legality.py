"""Treatment of illegal actions in environments: raise an error, or play another action and count it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import NUM_ACTIONS
from megaland_env.agent import random_legal
from megaland_env.decisions import Decisions

ILLEGAL = ("raise", "random")
"""Values of the argument ``illegal`` of the environments."""


def check_illegal(illegal: str) -> str:
    """The argument ``illegal`` itself.

    Raises:
        ValueError: it is neither.
    """
    if illegal not in ILLEGAL:
        raise ValueError(f"illegal is {illegal!r}; it must be one of {ILLEGAL}")
    return illegal


def made_legal(decisions: Decisions, choices: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """The choices (M,), each that is not legal replaced by a random legal one, drawn with the randomness of its seat.

    Returns:
        (M,) legal choices, and the number of them that were replaced.
    """
    exists = (choices >= 0) & (choices < NUM_ACTIONS)
    bit = np.where(exists, choices, NUM_ACTIONS).astype(np.uint64)  # no set of actions has the bit of NUM_ACTIONS
    wrong = np.flatnonzero((decisions.legal_bits >> bit) & np.uint64(1) == 0)
    legal = choices.astype(np.int64)
    if wrong.size:
        legal[wrong] = random_legal(decisions[wrong])
    return legal, int(wrong.size)
