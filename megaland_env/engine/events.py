"""The event log: everything that happened in every game, card by card, in columns.

The engine appends the events of a whole batch of games at a time, so the rows of different games alternate. The rows of
any one game are in the order in which its events happened. Records, stories in words and pictures are made from it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST
from megaland_env.arrays import Bools, Bytes, Ints, Words
from megaland_env.cards import NORMAL_BUILDINGS, Building, LevelCard, Treasure
from megaland_env.engine import piles

NOTHING = -1
"""The entry of a column that an event does not use."""

BUYER = -2
"""As the seat of an event: the seat whose turn of phase 2 it is, in each of the games."""

Column = npt.NDArray[Any] | int
"""Entries of a column of the log: one for each event, or the same for all."""


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
    PHASE = 22  # item: the phase of the round that begins

    @property
    def label(self) -> str:
        """The event in lower case: ``"first_player"``."""
        return self.name.lower()


class Phase(IntEnum):
    """The phases of a round."""

    LEVEL = 0  # L
    BUY = 1  # B
    NIGHT = 2  # N

    @property
    def label(self) -> str:
        """The phase in lower case: ``"level"``."""
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
    Event.PHASE: ("phase", Phase),
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
        item: a ``Treasure``, ``LevelCard``, ``Building`` or ``Phase``, depending on the event, or -1, int8.
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


class SilentLog:
    """A log that keeps nothing: what games have when nobody records them.

    The rules tell a log what happens without asking whether it keeps anything. They pass arrays that they have anyway;
    selecting entries is left to the log. Where a rule would have to compute something for the log alone, it may look at
    ``on`` first.
    """

    on = False
    """Whether events are kept."""

    def add(
        self, event: Event, games: Ints, seat: Column = NOTHING, item: Column = NOTHING, value: Column = NOTHING
    ) -> None:
        """Append one event for each of ``games`` (n,); the other columns are scalars or (n,)."""

    def where(
        self,
        event: Event,
        games: Ints,
        concerned: npt.NDArray[Any],
        seat: Column = NOTHING,
        item: Column = NOTHING,
        value: Column = NOTHING,
    ) -> None:
        """Append one event for each of ``games`` (n,) for which ``concerned`` (n,) is true or not zero.

        The other columns are scalars or (n,), with entries for all the games.
        """

    def seats(
        self, event: Event, games: Ints, concerned: npt.NDArray[Any], item: Column = NOTHING, value: Column = NOTHING
    ) -> None:
        """Append simultaneous events of several seats, in the order of the seats.

        Args:
            event: the kind of event.
            games: (n,) the games.
            concerned: (P, n) the seats of the games that have an event, true or not zero.
            item: a scalar or (P, n).
            value: a scalar or (P, n).
        """

    def phase(self, games: Ints, phase: Phase) -> None:
        """Append the beginning of a phase in each of ``games`` (n,)."""

    def markets(self, games: Ints, on_offer: Words) -> None:
        """Append the normal buildings on offer in each of ``games`` (n,), from the BUY bits of their markets (n,)."""

    def rounds(self, games: Ints, rounds: npt.NDArray[np.int32]) -> None:
        """Append the beginning of a round in each of ``games`` (n,); ``rounds`` (N,) has the rounds of the batch."""

    def draws(self, games: Ints, drawing: Bools, seats: npt.NDArray[Any], treasures: Bytes) -> None:
        """Append one draw for each of ``games`` (n,) for which ``drawing`` (n,) is true.

        Args:
            games: (n,) the games.
            drawing: (n,) bool.
            seats: (n,) the seats that draw.
            treasures: (n,) the treasures drawn, ``piles.NO_TREASURE`` or more where there was none.
        """

    def staying(self, games: Ints, inside: Bools, leaving: Bools, brought: piles.Pile) -> None:
        """Append what the seats ``inside`` (P, n) chose, seat by seat: to stay, or to go home with a hand.

        Args:
            games: (n,) the games.
            inside: (P, n) bool, the seats in the level.
            leaving: (P, n) bool, those of them that leave.
            brought: (P, n) the hands that they bring home.
        """

    def hands(self, games: Ints, kept: piles.Pile, discarded: piles.Pile) -> None:
        """Append, seat by seat, the treasures kept and discarded (P, n), one event for each type with its number."""

    def payments(self, games: Ints, cards: npt.NDArray[Any]) -> None:
        """Append the cards (6, n) that the buyers pay, one event for each card."""

    def read_from(
        self, steps: npt.NDArray[np.int32], episodes: npt.NDArray[np.int32], buyers: npt.NDArray[np.int8]
    ) -> None:
        """Read ``step`` and ``episode`` of later events, and who is ``BUYER``, from these arrays (N,) of the batch."""

    def mark(self) -> int:
        """The current end of the log, for ``rewind``."""
        return 0

    def rewind(self, mark: int) -> None:
        """Remove everything that was added since ``mark``; nothing else may have been done with the log in between."""


SILENT = SilentLog()
"""The log of games that nobody records."""


class EventLog(SilentLog):
    """Collects events.

    Args:
        steps: (N,) the ``steps`` of the batch, read whenever an event is added.
        episodes: (N,) the ``episode`` of the batch, likewise.
        buyers: (N,) the ``buyer`` of the batch, likewise.
    """

    on = True

    def __init__(
        self, steps: npt.NDArray[np.int32], episodes: npt.NDArray[np.int32], buyers: npt.NDArray[np.int8]
    ) -> None:
        self.read_from(steps, episodes, buyers)
        self._chunks: list[tuple[Any, ...]] = []

    def read_from(
        self, steps: npt.NDArray[np.int32], episodes: npt.NDArray[np.int32], buyers: npt.NDArray[np.int8]
    ) -> None:
        """Read from these arrays from now on."""
        self._steps = steps
        self._episodes = episodes
        self._buyers = buyers

    def add(
        self, event: Event, games: Ints, seat: Column = NOTHING, item: Column = NOTHING, value: Column = NOTHING
    ) -> None:
        """Keep an event of each game."""
        if not games.size:
            return
        if isinstance(seat, int) and seat == BUYER:
            seat = self._buyers.take(games)
        columns = (games, self._episodes.take(games), self._steps.take(games), int(event), seat, item, value)
        self._chunks.append(tuple(_column(c, games.size, dtype) for c, dtype in zip(columns, _DTYPES, strict=True)))

    def where(
        self,
        event: Event,
        games: Ints,
        concerned: npt.NDArray[Any],
        seat: Column = NOTHING,
        item: Column = NOTHING,
        value: Column = NOTHING,
    ) -> None:
        """Keep an event of each game that is concerned."""
        here = np.flatnonzero(concerned)
        if here.size:
            self.add(event, games.take(here), _entries(seat, here), _entries(item, here), _entries(value, here))

    def seats(
        self, event: Event, games: Ints, concerned: npt.NDArray[Any], item: Column = NOTHING, value: Column = NOTHING
    ) -> None:
        """Keep an event of each seat that is concerned."""
        for seat, row in enumerate(concerned):
            self.where(event, games, row, seat, _row(item, seat), _row(value, seat))

    def phase(self, games: Ints, phase: Phase) -> None:
        """Keep the beginning of a phase."""
        self.add(Event.PHASE, games, item=int(phase))

    def markets(self, games: Ints, on_offer: Words) -> None:
        """Keep an event for each building, in the order of C7."""
        for building in NORMAL_BUILDINGS:
            self.where(Event.MARKET, games, on_offer & np.uint64(1 << (BUY_FIRST + building)), item=int(building))

    def rounds(self, games: Ints, rounds: npt.NDArray[np.int32]) -> None:
        """Keep the beginning of a round."""
        self.add(Event.ROUND, games, value=rounds.take(games))

    def draws(self, games: Ints, drawing: Bools, seats: npt.NDArray[Any], treasures: Bytes) -> None:
        """Keep an event for each draw."""
        items = np.where(treasures < piles.NO_TREASURE, treasures.astype(np.int8), NOTHING)
        self.where(Event.DRAW, games, drawing, seats, items)

    def staying(self, games: Ints, inside: Bools, leaving: Bools, brought: piles.Pile) -> None:
        """Keep an event for each seat in the level."""
        sizes = piles.size(brought)
        for seat in range(len(inside)):
            self.where(Event.STAY, games, inside[seat] & ~leaving[seat], seat)
            self.where(Event.HOME, games, leaving[seat], seat, value=sizes[seat])

    def hands(self, games: Ints, kept: piles.Pile, discarded: piles.Pile) -> None:
        """Keep an event for each type of each hand, the kept ones of a seat first."""
        for seat in range(len(kept)):
            for event, hands in ((Event.KEEP, kept), (Event.DISCARD, discarded)):
                for treasure, counts in enumerate(piles.open_(hands[seat])):
                    self.where(event, games, counts, seat, treasure, counts)

    def payments(self, games: Ints, cards: npt.NDArray[Any]) -> None:
        """Keep an event for each card, in the order of C2."""
        for treasure, counts in enumerate(cards):
            for number in range(int(counts.max(initial=0))):
                self.where(Event.PAY, games, counts > number, BUYER, treasure)

    def append(self, rows: npt.NDArray[np.int32]) -> None:
        """Append rows (n, 7) with the columns of ``EventColumns``."""
        if len(rows):
            self._chunks.append(tuple(rows[:, i].astype(dtype) for i, dtype in enumerate(_DTYPES)))

    def mark(self) -> int:
        """The number of blocks of rows."""
        return len(self._chunks)

    def rewind(self, mark: int) -> None:
        """Remove the later blocks."""
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


def _column(values: Column, n: int, dtype: type) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values.astype(dtype)
    return np.full(n, values, dtype=dtype)


def _entries(values: Column, here: Ints) -> Column:
    return values.take(here) if isinstance(values, np.ndarray) else values


def _row(values: Column, seat: int) -> Column:
    return values[seat] if isinstance(values, np.ndarray) else values
