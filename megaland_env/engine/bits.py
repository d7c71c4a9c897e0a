"""Sets of up to 64 small numbers as 64-bit words: bit ``i`` set means that ``i`` is in the set.

The legal actions of a seat are such a set. They become booleans only on request, since words take a fortieth of the
time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Bools, Bytes, Words, constant
from megaland_env.engine import piles

_LITTLE_ENDIAN = np.dtype("<u8")
_1, _2, _3, _4, _8, _255 = (constant(n, np.uint64) for n in (1, 2, 3, 4, 8, 255))
PAIRS = constant(0x5555555555555555, np.uint64)
FOURS = constant(0x3333333333333333, np.uint64)
BYTES = constant(0x0F0F0F0F0F0F0F0F, np.uint64)
_PLACES = (1 << np.arange(8)).astype(np.uint8)[:, None]
_FEW = 64
"""For at most this many sets it is faster to list all members than to find one by arithmetic."""


def _nth_bit_table(width: int) -> Bytes:
    """(2**width, width): the position of the n-th set bit of a number; 0 if it has fewer bits."""
    table = np.zeros((1 << width, width), np.uint8)
    for number in range(1 << width):
        places = [bit for bit in range(width) if number >> bit & 1]
        table[number, : len(places)] = places
    return table


NTH_BIT_OF_BYTE = _nth_bit_table(8).reshape(-1)
NTH_BIT_OF_TEN = _nth_bit_table(10)
"""(1024, 10) for the ten level cards: the card that is the n-th of a set."""


def members(words: Words, width: int) -> Bools:
    """The sets as booleans: ``(...)`` words become ``(..., width)``."""
    rows = np.ascontiguousarray(words, _LITTLE_ENDIAN).view(np.uint8).reshape(*words.shape, 8)
    return np.unpackbits(rows, axis=-1, count=width, bitorder="little").view(np.bool_)


def nth_member(words: Words, n: Words) -> Bytes:
    """The n-th smallest number (from 0) of each of (M,) sets; every set must have more than n members."""
    if words.size <= _FEW:
        numbers = members(words, 64).nonzero()[1].astype(np.uint8)
        before = np.bitwise_count(words).cumsum() - np.bitwise_count(words)
        return numbers.take(before + n)
    # The number of members in each byte, by adding neighbouring bits, as a population count does.
    counts = words >> _1
    counts &= PAIRS
    np.subtract(words, counts, out=counts)
    quads = counts >> _2
    quads &= FOURS
    counts &= FOURS
    counts += quads
    np.right_shift(counts, _4, out=quads)
    counts += quads
    counts &= BYTES
    # The member is in the byte at which the running total exceeds n. Then find its position in that byte.
    totals = piles.running_totals(counts)
    whole_bytes = piles.card_at(totals, n)
    shift = (whole_bytes << 3).astype(np.uint64)
    totals <<= _8
    totals >>= shift
    totals &= _255
    byte = words >> shift
    byte &= _255
    byte <<= _3
    byte += n
    byte -= totals
    place = NTH_BIT_OF_BYTE.take(byte.view(np.int64))
    place += whole_bytes << 3
    return place


def from_members(rows: npt.NDArray[Any]) -> Words:
    """The reverse of ``members``, for up to 8 numbers, one row each: ``(k, n)`` booleans become ``(n,)`` words."""
    words: Words = np.bitwise_or.reduce(rows * _PLACES[: len(rows)], axis=0).astype(np.uint64)
    return words
