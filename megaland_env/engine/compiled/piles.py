"""Piles of treasures as words (``engine/piles.py`` has the definitions), one at a time."""

from __future__ import annotations

import numpy as np

from megaland_env.cards import NUM_TREASURES
from megaland_env.engine import piles
from megaland_env.engine.compiled.compiling import as_int, compiled

EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_BYTE = np.uint64(0xFF)
_7, _56 = np.uint64(7), np.uint64(56)
_ONES, _TOPS, _BELOW_TOPS, _GATHER = (np.uint64(n) for n in (piles.ONES, piles.TOPS, piles.BELOW_TOPS, piles.GATHER))


@compiled
def cards(treasure: int, number: int) -> np.uint64:
    """The pile of a number of cards of one type."""
    return np.uint64(number) << np.uint64(8 * treasure)


@compiled
def size(pile: np.uint64) -> int:
    """The number of cards."""
    return as_int((pile * _ONES) >> _56)


@compiled
def count(pile: np.uint64, treasure: int) -> int:
    """The number of cards of one type."""
    return as_int((pile >> np.uint64(8 * treasure)) & _BYTE)


@compiled
def types(pile: np.uint64) -> np.uint64:
    """The types that are in the pile: bit i for treasure i."""
    return ((((pile + _BELOW_TOPS) & _TOPS) >> _7) * _GATHER) >> _56


@compiled
def num_types(pile: np.uint64) -> int:
    """The number of types that are in the pile."""
    number = 0
    for treasure in range(NUM_TREASURES):
        if count(pile, treasure):
            number += 1
    return number


@compiled
def lowest_type(pile: np.uint64) -> int:
    """The first type that is in the pile, in the order of C2; 0 for an empty pile."""
    for treasure in range(NUM_TREASURES):
        if count(pile, treasure):
            return treasure
    return 0


@compiled
def card_at(pile: np.uint64, position: int) -> int:
    """The treasure at a position (0 to size - 1), with the cards sorted in the order of C2."""
    treasure = 0
    left = position - count(pile, 0)
    while left >= 0:
        treasure += 1
        left -= count(pile, treasure)
    return treasure
