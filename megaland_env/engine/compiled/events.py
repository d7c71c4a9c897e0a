"""The event log of compiled code (``engine/events.py`` has the definitions).

The log is an array of int32. Its first entry is the number of rows that are in use; the rows follow, each with the
columns of ``EventColumns``.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from megaland_env.cards import NUM_TREASURES
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.events import NOTHING, Event, EventColumns, Phase

NUM_COLUMNS = len(EventColumns._fields)


@compiled
def add(memory: Memory, game: int, event: int, seat: int, item: int, value: int) -> None:
    """Append an event; ``NOTHING`` stands in the columns that it does not use."""
    log = carray(memory.log, memory.log_size)
    row = log[0]
    start = 1 + row * NUM_COLUMNS
    log[0] = row + 1
    if start + NUM_COLUMNS <= memory.log_size:  # the caller sees by the number of rows if there was no room
        log[start] = game
        log[start + 1] = memory.episode[game]
        log[start + 2] = memory.steps[game]
        log[start + 3] = event
        log[start + 4] = seat
        log[start + 5] = item
        log[start + 6] = value


@compiled
def add_cards(memory: Memory, game: int, event: int, seat: int, pile: np.uint64) -> None:
    """Append one event for each type of treasure in a pile, with the number of cards as its value."""
    for treasure in range(NUM_TREASURES):
        number = piles.count(pile, treasure)
        if number:
            add(memory, game, event, seat, treasure, number)


__all__ = ["NOTHING", "Event", "Phase", "add", "add_cards"]
