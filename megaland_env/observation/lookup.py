"""Observations of few rows, looked up: what ``observation.encode`` writes, in a tenth of its NumPy calls.

For few rows the calls are all the work. But nearly every feature follows from one byte of the state, or is the sum of
what two of them bring, and the others follow from a few. So all these bytes are taken from ``GameState.bytes`` at once,
and each becomes a number through a table of its own. For many rows that is slower than reading array by array, since
every number is looked up singly.

``_bytes_of_seat`` and ``_bytes_of_table`` name the bytes of each block of features that features.py declares; it is
the scale declared there that makes features of the numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, HEART_FIRST, Kind
from megaland_env.arrays import Ints
from megaland_env.cards import MAX_PLAYERS, NUM_BUILDINGS, NUM_LEVEL_CARDS, NUM_TREASURES, Building
from megaland_env.decisions import chances_to_fall
from megaland_env.engine.state import places
from megaland_env.scales import LEAST, MOST, reciprocals

if TYPE_CHECKING:
    from megaland_env.decisions import Decisions
    from megaland_env.observation.features import Placed

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

_VALUES = np.arange(256)


# ------------------------------------------------------------------------------ which bytes


class _Byte(NamedTuple):
    """A byte of a game's state, and what it stands for.

    Attributes:
        array: of the state.
        row: of that array, or of one seat's rows.
        byte: of the entry, the lowest is 0.
        numbers: (256,) for each value.
    """

    array: str
    row: int
    byte: int
    numbers: Numbers


def _numbers(array: str, rows: int = 1) -> list[_Byte]:
    """An array of bytes as it is."""
    return [_Byte(array, row, 0, _VALUES) for row in range(rows)]


def _pile(array: str) -> list[_Byte]:
    """How many there are of each treasure."""
    return [_Byte(array, 0, treasure, _VALUES) for treasure in range(NUM_TREASURES)]


def _bits(array: str, first: int, number: int) -> list[_Byte]:
    """So many bits, 0 or 1."""
    return [_Byte(array, 0, bit // 8, _VALUES >> bit % 8 & 1) for bit in range(first, first + number)]


def _equals(array: str, first: int, number: int = 1) -> list[_Byte]:
    """Whether the byte is ``first``, whether it is the next, and so on."""
    return [_Byte(array, 0, 0, np.array([value == first + k for value in range(256)], np.int64)) for k in range(number)]


def _whatever(number: int, times: int = 1) -> list[_Byte]:
    """The same for each value."""
    return [_Byte("kind", 0, 0, np.full(256, number))] * times


_LATER = _whatever(0)
"""For what ``Lookup.write`` works out from several bytes."""


def _bytes_of_seat(seat: int, players: int) -> dict[str, list[_Byte]]:
    """Of each block of features of a seat."""
    of_seats = {
        "active": _numbers("active"),
        "in_level": _numbers("in_level"),
        "jumping": _numbers("jumping"),
        "falling": _numbers("falling"),
        "hearts": _numbers("hearts"),
        "max_hearts": _numbers("max_hearts"),
        "jumps": _numbers("jumps"),
        "picks_left": _numbers("picks_left"),
        "fish_used": _numbers("fish_used"),
        "carrots_used": _numbers("carrots_used"),
        "carried": _pile("carried"),
        "home": _pile("home"),
        "picked": _pile("picked"),
        "buildings": _numbers("buildings", NUM_BUILDINGS),
    }
    return {name: _at_seat(found, seat, players) for name, found in of_seats.items()} | {
        "present": _whatever(1),
        "first_player": _equals("first_player", seat),
        "buyer": _equals("buyer", seat),
        "fall_chance": _LATER,
        "jump_fall_chance": _LATER,
        "coins": _LATER,
    }


def _bytes_of_table(players: int) -> dict[str, list[_Byte]]:
    """Of each other block of features."""
    return {
        "self.lead": _LATER,
        "self.cards.carried": _LATER,
        "self.cards.home": _LATER,
        "self.types.home": _LATER,
        "self.types.both": _LATER,
        "table.players": _whatever(players),
        "table.round": _LATER,
        "table.heart_supply": _numbers("heart_supply"),
        "table.jump_supply": _numbers("jump_supply"),
        "table.cost": _numbers("cost"),
        "table.deck": _pile("deck"),
        "table.discard": _pile("discard"),
        "table.supply": _numbers("building_supply", NUM_BUILDINGS),
        "table.paid": _pile("paid"),
        "table.turn": _bits("bought", BUY_FIRST, NUM_BUILDINGS),
        "table.heart_treasure": _equals("paying", HEART_FIRST, NUM_TREASURES),
        "table.unseen": _bits("unseen", 0, NUM_LEVEL_CARDS),
        "table.level_card": _equals("level_card", 0, NUM_LEVEL_CARDS),
        "kind": _equals("kind", 0, len(Kind)),
    }


def _bytes_besides(seat: int, players: int) -> dict[str, list[_Byte]]:
    """What is no feature by itself: it is added to some, or ``Lookup.write`` works some out from it."""
    coins = [_Byte("coins", (seat + place) % players, 0, _VALUES) for place in range(players)]
    low = [*coins, _Byte("round", 0, 0, _VALUES)]
    carried, home = (_at_seat(_pile(hand), seat, players) for hand in ("carried", "home"))
    return {
        "table.supply": _changed(_bits("on_offer", BUY_FIRST, NUM_BUILDINGS), lambda offered: offered - 1),
        "table.turn": _changed(_equals("paying", BUY_FIRST, NUM_BUILDINGS), np.negative),
        "low": low,  # the two bytes of what may pass 255
        "high": _changed([byte._replace(byte=1) for byte in low], lambda value: value * 256),
        "cards": [*carried, *home, *_changed([*home, *carried], np.sign)],
    }


def _at_seat(bytes_: list[_Byte], seat: int, players: int) -> list[_Byte]:
    """In the rows of a seat."""
    return [byte._replace(row=byte.row * players + seat) for byte in bytes_]


def _changed(bytes_: list[_Byte], change: Callable[[Numbers], Numbers]) -> list[_Byte]:
    """Other numbers for the same bytes."""
    return [byte._replace(numbers=change(byte.numbers)) for byte in bytes_]


# ------------------------------------------------------------------------------ what becomes of them


class _Column(NamedTuple):
    """A byte, and the number or feature that each of its values becomes."""

    byte: _Byte
    floats: Floats  # (256,)


class Lookup:
    """Writes observations at tables of so many players.

    Args:
        players: number of players (P).
        of_seat: the blocks of features of one seat, at their places in it.
        of_table: all other blocks, at their places.
    """

    def __init__(self, players: int, of_seat: Sequence[Placed], of_table: Sequence[Placed]) -> None:
        columns = [_columns(seat, players, of_seat, of_table) for seat in range(players)]
        self._num_features = of_table[-1].stop
        # (C, 1), for each column: its array is the same whichever seat decides, only the row is not.
        lies = [places(players)[byte.array] for byte, _ in columns[0]]
        self._sizes = np.array([[place.size] for place in lies])
        self._bytes = np.array(
            [
                [byte.byte if sys.byteorder == "little" else place.size - 1 - byte.byte]
                for (byte, _), place in zip(columns[0], lies, strict=True)
            ]
        )
        rows = np.array([[byte.row for byte, _ in each] for each in columns]).T  # (C, P), for each seat
        self._starts = rows * self._sizes + np.array([[place.start] for place in lies])
        tables: dict[bytes, int] = {}  # each with its number
        numbers = [[tables.setdefault(floats.tobytes(), len(tables)) for _, floats in each] for each in columns]
        self._tables = 256 * np.array(numbers).T
        self._floats: Floats = np.frombuffer(b"".join(tables), np.float32)
        self._find = lru_cache(maxsize=64)(self._addresses)

        # Where something stands in the columns, and in the observation.
        width = of_seat[-1].stop
        seat_starts = {placed.block.name: placed.start for placed in of_seat}
        in_table = {placed.block.name: placed for placed in of_table}
        besides: dict[str, slice] = {}
        end = self._num_features
        for name, found in _bytes_besides(0, players).items():
            besides[name] = slice(end, end + len(found))
            end += len(found)
        low, high, cards = (besides[name] for name in ("low", "high", "cards"))
        self._home, self._carried = (slice(stop - NUM_TREASURES, stop) for stop in (cards.stop - NUM_TREASURES, end))
        self._sums = [(slice(in_table[n].start, in_table[n].stop), besides[n]) for n in ("table.supply", "table.turn")]
        starts = [seat_starts["buildings"] + Building.SOAP_MAKERS]
        starts += [seat_starts[name] for name in ("hearts", "in_level", "fall_chance", "jump_fall_chance")]
        self._soap_makers, self._hearts, self._in_level, self._fall, self._jump_fall = (
            slice(start, players * width, width) for start in starts
        )
        coins = next(placed for placed in of_seat if placed.block.name == "coins")
        others = [in_table[name] for name in _WORKED_OUT_OF_TABLE]
        self._worked_out = np.array(
            [coins.start + place * width for place in range(players)] + [p.start for p in others]
        )
        divisors = [coins.block.scale.divisor] * players + [placed.block.scale.divisor for placed in others]
        self._factors = reciprocals(divisors)[:, None]
        # (K, B): which of the columns that are left each of these is the sum of; the lead is own coins to begin with.
        self._left = slice(low.start, end)
        self._parts = np.zeros((self._worked_out.size, end), np.float32)
        for number, first in enumerate([*range(players + 1), 0]):
            self._parts[number, [low.start + first, high.start + first]] = 1
        for number, first in enumerate(range(cards.start, end, NUM_TREASURES), start=players + 2):
            self._parts[number, first : first + NUM_TREASURES] = 1
        self._parts = self._parts[:, self._left]

    def write(self, decisions: Decisions, rows: Floats) -> None:
        """Write the features of M rows into ``rows`` (D, M)."""
        state = decisions._state
        addresses, tables = self._find(state.num_games, decisions.game.tobytes(), decisions.seat.tobytes())
        values = state.bytes.take(addresses)
        found = self._floats.take(tables + values)
        rows[...] = found[: self._num_features]
        for features, more in self._sums:
            part = rows[features]
            part += found[more]

        unseen = state.unseen.take(decisions.game)
        chances = chances_to_fall(unseen, values[self._hearts] * values[self._in_level], values[self._soap_makers])
        rows[self._fall] = chances[..., 0]
        rows[self._jump_fall] = chances[..., 1]

        # In the order of ``_worked_out``: coins, the round, the lead, and the numbers of cards and types.
        players = self._starts.shape[1]
        carried = found[self._carried]
        np.maximum(found[self._home], carried, out=carried)  # of either hand
        numbers: Floats = self._parts @ found[self._left]
        lead = numbers[players + 1]
        lead -= np.maximum.reduce(numbers[1:players])
        numbers *= self._factors
        np.maximum(numbers, LEAST, out=numbers)
        rows[self._worked_out] = np.minimum(numbers, MOST, out=numbers)

    def _addresses(self, num_games: int, game: bytes, seat: bytes) -> tuple[Ints, Ints]:
        """(C, M): where the bytes lie, and where their tables begin, for the rows of these games and seats."""
        seats = np.frombuffer(seat, np.int64)
        addresses = self._starts.take(seats, axis=1) * num_games
        addresses += self._sizes * np.frombuffer(game, np.int64)
        addresses += self._bytes
        return addresses, self._tables.take(seats, axis=1)


_WORKED_OUT_OF_TABLE = (
    "table.round",
    "self.lead",
    "self.cards.carried",
    "self.cards.home",
    "self.types.home",
    "self.types.both",
)


def _columns(seat: int, players: int, of_seat: Sequence[Placed], of_table: Sequence[Placed]) -> list[_Column]:
    """A column for each feature, in their order, and those besides."""
    columns: list[_Column] = []
    for place in range(MAX_PLAYERS):
        own = _bytes_of_seat((seat + place) % players, players)
        for placed in of_seat:
            bytes_ = own[placed.block.name] if place < players else _whatever(0, placed.stop - placed.start)
            columns += _scaled(placed, bytes_)
    of_name = _bytes_of_table(players)
    for placed in of_table:
        columns += _scaled(placed, of_name[placed.block.name])
    for bytes_ in _bytes_besides(seat, players).values():
        columns += [_Column(byte, byte.numbers.astype(np.float32)) for byte in bytes_]
    return columns


def _scaled(placed: Placed, bytes_: list[_Byte]) -> list[_Column]:
    features = placed.block.scale.features(np.array([byte.numbers for byte in bytes_]))
    return [_Column(byte, floats) for byte, floats in zip(bytes_, features, strict=True)]
