"""A pile of treasures as one 64-bit word: one byte for each type, in the order of C2, the lowest byte first.

There are at most 96 treasures, so no byte ever overflows and piles add, subtract and compare as plain numbers:
``discard += carried`` is the rule and the code. The treasure deck, the discard pile and every hand are such words.
This needs a sixth of the NumPy calls that six separate counts would need, and a few operations a word give:

- all running totals at once (a multiplication by ``ONES``), the last of which is the number of cards;
- which of six counts exceed a number (a subtraction from bytes whose top bit is set).

``open_`` turns words into counts, one row for each type, and ``close`` turns counts into words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Bytes, Words, constant
from megaland_env.cards import NUM_TREASURES, TREASURE_COPIES

Pile = Words
"""An array of piles, of any shape."""

_LITTLE_ENDIAN = np.dtype("<u8")
ONES = constant(0x0101010101010101, np.uint64)
TOPS = constant(0x8080808080808080, np.uint64)
BELOW_TOPS = constant(0x7F7F7F7F7F7F7F7F, np.uint64)
_BYTE, _7, _8, _56 = constant(0xFF, np.uint64), constant(7, np.uint64), constant(8, np.uint64), constant(56, np.uint64)
# Brings the lowest bit of byte i to bit 56 + i, for six bytes.
GATHER = constant(sum(1 << (56 - 7 * i) for i in range(NUM_TREASURES)), np.uint64)
_SHIFTS = [constant(8 * i, np.uint64) for i in range(NUM_TREASURES)]

EMPTY = constant(0, np.uint64)
"""The pile without cards."""

NO_TREASURE = NUM_TREASURES

ONE_CARD = np.array([*(1 << (8 * i) for i in range(NUM_TREASURES)), 0], dtype=np.uint64)
"""The pile of a single card of each type; that of ``NO_TREASURE`` is empty."""

WHOLE_DECK = sum(copies << (8 * i) for i, copies in enumerate(TREASURE_COPIES))
"""All 96 treasures (C2)."""


def running_totals(piles: Pile) -> Pile:
    """Byte i becomes the number of cards of the types 0 to i; the last two bytes are the number of all cards."""
    return piles * ONES


def from_running_totals(totals: Pile) -> Pile:
    """The reverse of ``running_totals``: each total minus the one before."""
    return totals - (totals << _8)


def last_total(totals: Pile) -> Pile:
    """The number of cards in each pile, from its running totals."""
    return totals >> _56


def size(piles: Pile) -> Pile:
    """The number of cards in each pile."""
    return last_total(running_totals(piles))


def count(piles: Pile, treasure: int) -> Pile:
    """The number of cards of one type in each pile."""
    counts = piles >> _SHIFTS[treasure]
    counts &= _BYTE
    return counts


def types(piles: Pile) -> Pile:
    """The types that are in each pile, as a set of six bits: bit i for treasure i."""
    held = piles + BELOW_TOPS
    held &= TOPS
    held >>= _7
    held *= GATHER
    held >>= _56
    return held


def card_at(totals: Pile, positions: Pile) -> Bytes:
    """The treasure at a position (0 to size - 1) of each pile, with its cards sorted in the order of C2.

    It is the first type whose running total exceeds the position; its number is the number of bytes whose running total
    does not. For an empty pile that is 8, which is not a treasure.
    """
    passed = positions * ONES
    passed |= TOPS
    passed -= totals
    passed &= TOPS
    number: Bytes = np.bitwise_count(passed)
    return number


def open_(piles: Pile) -> Bytes:
    """The counts of each type: ``(...)`` words become ``(6, ...)`` uint8, in a new array."""
    return _bytes(piles)[:NUM_TREASURES].copy()


def close(counts: npt.NDArray[Any]) -> Pile:
    """The reverse of ``open_``: ``(6, ...)`` counts become ``(...)`` words."""
    piles = np.zeros(counts.shape[1:], _LITTLE_ENDIAN)
    _bytes(piles)[:NUM_TREASURES] = counts
    return piles.astype(np.uint64, copy=False)


def _bytes(piles: Pile) -> Bytes:
    """(8, ...): the bytes of words, the lowest first; a view if the words are contiguous and little-endian."""
    words = np.ascontiguousarray(piles, _LITTLE_ENDIAN)
    bytes_ = words.view(np.uint8).reshape(*piles.shape, 8)
    return bytes_.T if piles.ndim == 1 else bytes_.transpose(piles.ndim, *range(piles.ndim))
