"""The event log: everything that happened in every game, card by card, in columns.

The engine appends the events of a whole batch of games at a time, so the rows of different games alternate. The rows of
any one game are in the order in which its events happened. Records, stories in words and pictures are made from it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Ints
from megaland_env.cards import Building, LevelCard, Treasure
from megaland_env.engine import piles

NOTHING = -1
"""The entry of a column that an event does not use."""


class Event(IntEnum):
    """The kinds of events. The comments say what ``item`` and ``value`` mean."""

    MARKET = 0  # item: a building on offer
    FIRST_PLAYER = 1
    ROUND = 2  # value: the round that begins, from 1
    DRAW = 3  # item: the treasure, or nothing when both piles were empty
    RESHUFFLE = 4
    JUMP = 5
    REVEAL = 6  # item: the level card
    DAMAGE = 7  # value: hearts lost
    FALL = 8
    KEEP = 9  # item: a treasure, value: number of them kept while others are discarded
    DISCARD = 10  # item: a treasure, value: number of them
    TRADE = 11
    STAY = 12
    HOME = 13  # value: treasures carried home
    SWAP = 14  # item: the treasure discarded for a new one
    BUY = 15  # item: the building
    HEART = 16  # item: the treasure it is paid with, value: its cost
    PAY = 17  # item: the treasure
    JUMPS = 18  # value: jump tokens gained
    COINS = 19  # item: the building they come from, value: number of coins
    PASS = 20  # the turn of a buyer ends
    END = 21  # one for each winner

    @property
    def label(self) -> str:
        """The event in lower case: ``"first_player"``."""
        return self.name.lower()


# For events in words: the key of the item and the enum that names it, and the events that have a value.
_ITEMS: dict[Event, tuple[str, type[IntEnum]]] = {
    Event.MARKET: ("building", Building),
    Event.DRAW: ("treasure", Treasure),
    Event.REVEAL: ("card", LevelCard),
    Event.KEEP: ("treasure", Treasure),
    Event.DISCARD: ("treasure", Treasure),
    Event.SWAP: ("treasure", Treasure),
    Event.BUY: ("building", Building),
    Event.HEART: ("treasure", Treasure),
    Event.PAY: ("treasure", Treasure),
    Event.COINS: ("building", Building),
}
_VALUED = frozenset(
    (
        Event.ROUND,
        Event.DAMAGE,
        Event.KEEP,
        Event.DISCARD,
        Event.HOME,
        Event.HEART,
        Event.JUMPS,
        Event.COINS,
    )
)


class EventColumns(NamedTuple):
    """The log as columns of equal length.

    Attributes:
        game: position in the batch, int32.
        episode: number of resets of this position before the current one, int32.
        step: number of decision moments that the game had passed, int32.
        event: an ``Event``, uint8.
        seat: the seat concerned or -1, int8.
        item: a ``Treasure``, ``LevelCard`` or ``Building``, depending on the event, or -1, int8.
        value: an amount, or -1, int16.
    """

    game: npt.NDArray[np.int32]
    episode: npt.NDArray[np.int32]
    step: npt.NDArray[np.int32]
    event: npt.NDArray[np.uint8]
    seat: npt.NDArray[np.int8]
    item: npt.NDArray[np.int8]
    value: npt.NDArray[np.int16]


_DTYPES = (np.int32, np.int32, np.int32, np.uint8, np.int8, np.int8, np.int16)


class EventLog:
    """Collects events.

    Args:
        steps: (N,) the ``steps`` of the batch, read whenever an event is added.
        episodes: (N,) the ``episode`` of the batch, likewise.
    """

    def __init__(self, steps: npt.NDArray[np.int32], episodes: npt.NDArray[np.int32]) -> None:
        self.read_from(steps, episodes)
        self._chunks: list[tuple[Any, ...]] = []

    def read_from(self, steps: npt.NDArray[np.int32], episodes: npt.NDArray[np.int32]) -> None:
        """Read ``step`` and ``episode`` of later events from these arrays."""
        self._steps = steps
        self._episodes = episodes

    def add(
        self,
        event: Event,
        games: Ints,
        seat: npt.NDArray[Any] | int = NOTHING,
        item: npt.NDArray[Any] | int = NOTHING,
        value: npt.NDArray[Any] | int = NOTHING,
    ) -> None:
        """Append one event for each of ``games`` (n,); the other columns are scalars or (n,)."""
        if games.size:
            n = games.size
            columns = (games, self._episodes.take(games), self._steps.take(games), int(event), seat, item, value)
            self._chunks.append(tuple(_column(c, n, dtype) for c, dtype in zip(columns, _DTYPES, strict=True)))

    def seats(
        self,
        event: Event,
        games: Ints,
        concerned: npt.NDArray[Any],
        item: npt.NDArray[Any] | int = NOTHING,
        value: npt.NDArray[Any] | int = NOTHING,
    ) -> None:
        """Append simultaneous events of several seats, in the order of the seats.

        Args:
            event: the kind of event.
            games: (n,) the games.
            concerned: (P, n) the seats of the games that have an event, true or not zero.
            item: a scalar or (P, n).
            value: a scalar or (P, n).
        """
        for seat, row in enumerate(concerned):
            here = np.flatnonzero(row)
            if here.size:
                self.add(event, games.take(here), seat, _entries(item, seat, here), _entries(value, seat, here))

    def cards(self, event: Event, games: Ints, seat: int, hand: piles.Pile) -> None:
        """Append one event for each type of treasure in ``hand`` (n,), with the number of cards as its value."""
        for treasure, counts in enumerate(piles.open_(hand)):
            here = np.flatnonzero(counts)
            self.add(event, games.take(here), seat, treasure, counts.take(here))

    def mark(self) -> int:
        """The current end of the log, for ``rewind``."""
        return len(self._chunks)

    def rewind(self, mark: int) -> None:
        """Remove everything that was added since ``mark``; nothing else may have been done with the log in between."""
        del self._chunks[mark:]

    def columns(self) -> EventColumns:
        """The log, except what was drained."""
        if len(self._chunks) > 1:
            self._chunks = [tuple(np.concatenate(parts) for parts in zip(*self._chunks, strict=True))]
        if not self._chunks:
            self._chunks = [tuple(np.empty(0, dtype=dtype) for dtype in _DTYPES)]
        return EventColumns(*self._chunks[0])

    def drain(self) -> EventColumns:
        """The log since it was last drained; it is then emptied."""
        columns = self.columns()
        self._chunks = []
        return columns

    def forget(self, games: Ints) -> None:
        """Remove the rows of some games."""
        columns = self.columns()
        kept = np.isin(columns.game, games, invert=True)
        self._chunks = [tuple(column[kept] for column in columns)]


def in_words(columns: EventColumns, row: int) -> dict[str, Any]:
    """One row of the log in words: ``{"step": 7, "event": "draw", "seat": 2, "treasure": "egg"}``."""
    event = Event(int(columns.event[row]))
    words: dict[str, Any] = {"step": int(columns.step[row]), "event": event.label}
    if columns.seat[row] != NOTHING:
        words["seat"] = int(columns.seat[row])
    if event in _ITEMS:
        key, names = _ITEMS[event]
        item = int(columns.item[row])
        words[key] = None if item == NOTHING else names(item).label  # type: ignore[attr-defined]
    if event in _VALUED:
        words["value"] = int(columns.value[row])
    return words


def _column(values: npt.NDArray[Any] | int, n: int, dtype: type) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values.astype(dtype)
    return np.full(n, values, dtype=dtype)


def _entries(values: npt.NDArray[Any] | int, seat: int, here: Ints) -> npt.NDArray[Any] | int:
    return values[seat].take(here) if isinstance(values, np.ndarray) else values
