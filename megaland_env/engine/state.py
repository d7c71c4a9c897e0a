"""``GameState``: all that a batch of games is, as arrays with the games on the last, contiguous axis.

P is the number of seats, N the number of games. A rule works on some of the games: ``games`` (n,) are their positions,
and ``state.at(games)`` (P, n) are the positions of their seats in any (P, N) array, for ``array.take(at)`` and ``put``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, PASS, Kind
from megaland_env.cards import NUM_BUILDINGS, NUM_LEVEL_CARDS
from megaland_env.config import MegalandConfig
from megaland_env.engine import rng
from megaland_env.engine.events import EventLog

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Coins = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

NOBODY = -1  # for first_player and buyer
NO_CARD = -1  # for level_card
NOT_PAYING = 0  # for paying; PASS is action 0, and nobody ever pays for that

_BUY_BITS = np.array([1 << (BUY_FIRST + building) for building in range(NUM_BUILDINGS)], np.uint64)

PASS_ONLY = rng.constant(1 << PASS)
"""The legal actions of a seat that is not asked."""


class GameState:
    """The arrays of N games of P seats. In the comments: the shape, and what an entry means.

    All arrays of one dtype are rows of one block (rows, N), so that starting games anew and copying them is one
    operation a block; and the blocks lie one after the other in ``bytes``, so that any mixture of entries can be read
    in one operation (``places`` says where they lie).
    """

    # Chance (rng.py)
    seeds: Words  # (N,)
    keys: Words  # (N,) rng.key of the seed
    luck: Words  # (N,) the key plus the offset of the round

    # Where the game is
    round: npt.NDArray[np.int32]  # (N,) from 1; 0 before the first reset
    steps: npt.NDArray[np.int32]  # (N,) decision moments answered
    episode: npt.NDArray[np.int32]  # (N,) resets before the current one; -1 before the first
    kind: Bytes  # (N,) the Kind of decision it waits for
    active: Bools  # (P, N) is asked now
    legal: Words  # (P, N) bit a: action a is legal
    asked: npt.NDArray[np.int32]  # (P, N) decisions made so far
    terminated: Bools  # (N,) over by N5
    truncated: Bools  # (N,) over by D4
    winners: Bools  # (P, N)
    first_player: npt.NDArray[np.int8]  # (N,)
    buyer: npt.NDArray[np.int8]  # (N,) whose turn of phase 2 it is, or NOBODY

    # On the table
    deck: Words  # (N,) pile
    discard: Words  # (N,) pile
    unseen: npt.NDArray[np.int16]  # (N,) bit c: level card c is yet to come this round
    num_seen: Bytes  # (N,) level cards revealed this round
    seen: Bytes  # (10, N) the first num_seen: in which order
    level_card: npt.NDArray[np.int8]  # (N,) the last one revealed in this level, or NO_CARD
    heart_supply: Bytes  # (N,)
    jump_supply: Bytes  # (N,)
    building_supply: Bytes  # (23, N) copies left
    on_offer: Words  # (N,) bit BUY_b: building b is in this market

    # At each seat
    coins: Coins  # (P, N)
    hearts: Bytes  # (P, N) not yet lost in this level
    max_hearts: Bytes  # (P, N)
    jumps: Bytes  # (P, N) jump tokens
    jumping: Bools  # (P, N) has declared a jump for the coming card
    in_level: Bools  # (P, N)
    falling: Bools  # (P, N) fell on the card that is being resolved
    carried: Words  # (P, N) pile
    home: Words  # (P, N) pile
    buildings: Bytes  # (23, P, N) copies owned
    num_buildings: Bytes  # (P, N) how many those are in all
    fish_used: Bytes  # (P, N) wild fish used this round
    carrots_used: Bytes  # (P, N) wild carrots used this round
    picks_left: Bytes  # (P, N) huts, stables or storing still to do
    picked: Words  # (P, N) pile: chosen so far, still in its hand

    # The buyer's turn
    for_sale: Words  # (N,) bit BUY_b: b is on offer, and a copy is left
    bought: Words  # (N,) bit BUY_b: b was bought this turn
    paying: Bytes  # (N,) the BUY or HEART action that is being paid, or NOT_PAYING
    cost: Bytes  # (N,) treasures it costs
    paid: Words  # (N,) pile: treasures paid for it so far

    def __init__(self, config: MegalandConfig, num_games: int) -> None:
        self.config = config
        self.num_games = num_games
        self.log: EventLog | None = None
        self._seats: Ints = num_games * np.arange(config.num_players)[:, None]
        self.bytes: Bytes = np.zeros(num_games * _bytes_a_game(config.num_players), np.uint8)
        self._name_rows()
        self.episode[:] = -1
        self.clear(np.arange(num_games))

    def _name_rows(self) -> None:
        """Make the attributes: views of the rows of the blocks, which are views of ``bytes``."""
        self._blocks: dict[type, npt.NDArray[Any]] = {}
        end = 0
        for dtype in _BLOCKS:
            fields = [field for field in _fields(self.config.num_players) if field[1] == dtype]
            length = sum(rows for *_, rows in fields) * np.dtype(dtype).itemsize * self.num_games
            start, end = end, end + length
            block: npt.NDArray[Any] = self.bytes[start:end].view(dtype).reshape(-1, self.num_games)
            self._blocks[dtype] = block
            used = 0
            for name, _, shape, rows in fields:
                setattr(self, name, block[used : used + rows].reshape(*shape, self.num_games))
                used += rows

    def clear(self, games: Ints) -> None:
        """Empty everything of some games, but for ``episode``, which counts on."""
        episode = self.episode.take(games)
        for block in self._blocks.values():
            block[:, games] = 0
        self.episode[games] = episode
        self.legal[:, games] = PASS_ONLY
        self.buyer[games] = NOBODY
        self.level_card[games] = NO_CARD

    def copy(self, games: Ints) -> GameState:
        """Any games of this batch, any number of times each, as a batch of their own without a log."""
        copied = GameState.__new__(GameState)
        copied.config = self.config
        copied.num_games = games.size
        copied.log = None
        copied._seats = games.size * np.arange(self.num_players)[:, None]
        copied.bytes = np.empty(games.size * _bytes_a_game(self.num_players), np.uint8)
        copied._name_rows()
        for dtype, block in self._blocks.items():  # with mode "raise" NumPy would write elsewhere first
            block.take(games, axis=1, out=copied._blocks[dtype], mode="clip")
        return copied

    def save(self, games: Ints) -> list[npt.NDArray[Any]]:
        """All entries of some games (n,), for ``put_back``; of all games it is one copy of the memory."""
        if games.size == self.num_games:
            return [self.bytes.copy()]
        return [block.take(games, axis=1) for block in self._blocks.values()]

    def put_back(self, games: Ints, saved: list[npt.NDArray[Any]]) -> None:
        """Make some games what they were when ``save`` was called for them."""
        if games.size == self.num_games:
            self.bytes[:] = saved[0]
        else:
            for block, entries in zip(self._blocks.values(), saved, strict=True):
                block[:, games] = entries

    def __getstate__(self) -> dict[str, Any]:
        """For ``copy.deepcopy`` and pickle: the bytes alone, of which the named arrays are views."""
        return {name: vars(self)[name] for name in ("config", "num_games", "log", "_seats", "bytes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._name_rows()
        if self.log is not None:
            self.log.read_from(self.steps, self.episode)

    @property
    def num_players(self) -> int:
        """P."""
        return self.config.num_players

    def at(self, games: Ints) -> Ints:
        """(P, n): where the seats of ``games`` lie in a flattened (P, N) array."""
        return self._seats + games

    def at_seat(self, seats: npt.NDArray[Any], games: Ints) -> Ints:
        """(n,): where one seat of each of ``games`` lies in a flattened (P, N) array."""
        return seats.astype(np.int64) * self.num_games + games

    def start_round(self, games: Ints, rounds: npt.NDArray[np.int32] | int) -> None:
        """Set the round, and with it the luck."""
        self.round[games] = rounds
        self.luck[games] = self.keys.take(games) + rng.round_offset(self.round.take(games))


_DTYPES: dict[Any, type] = {
    Words: np.uint64,
    npt.NDArray[np.int32]: np.int32,
    npt.NDArray[np.int16]: np.int16,
    npt.NDArray[np.int8]: np.int8,
    Bytes: np.uint8,
    Bools: np.bool_,
}
_SEATS = (
    "active legal asked winners coins hearts max_hearts jumps jumping in_level falling carried home buildings "
    "num_buildings fish_used carrots_used picks_left picked"
).split()
_ROWS = {"seen": (NUM_LEVEL_CARDS,), "building_supply": (NUM_BUILDINGS,), "buildings": (NUM_BUILDINGS,)}


@cache
def _fields(players: int) -> list[tuple[str, type, tuple[int, ...], int]]:
    """Name, dtype, shape without the games, and number of rows of each array, as the class annotations declare them."""
    fields = []
    for name, hint in get_type_hints(GameState).items():
        shape = (*_ROWS.get(name, ()), *((players,) if name in _SEATS else ()))
        fields.append((name, _DTYPES[hint], shape, math.prod(shape)))
    return fields


class Place(NamedTuple):
    """Where an array lies in ``GameState.bytes``.

    With N games the entry of game g in row r (its other dimensions flattened) has its first byte at
    ``(start + r * size) * N + g * size``.
    """

    start: int
    size: int


# Larger entries first, so that all lie at multiples of their size.
_BLOCKS = sorted(dict.fromkeys(_DTYPES.values()), key=lambda dtype: -np.dtype(dtype).itemsize)


@cache
def places(players: int) -> dict[str, Place]:
    """Of each array of a state, by its name."""
    found: dict[str, Place] = {}
    start = 0
    for dtype in _BLOCKS:
        size = np.dtype(dtype).itemsize
        for name, _, _, rows in (field for field in _fields(players) if field[1] == dtype):
            found[name] = Place(start, size)
            start += rows * size
    return found


@cache
def _bytes_a_game(players: int) -> int:
    return sum(rows * np.dtype(dtype).itemsize for _, dtype, _, rows in _fields(players))


def small(number: int, dtype: type = np.uint8) -> npt.NDArray[Any]:
    """A number as an array without dimensions: NumPy takes it in a half of the time of an int, and a tenth of that of
    an enum's member."""
    return np.array(int(number), dtype)


ZERO, ONE = small(0), small(1)
NO, YES = small(False, np.bool_), small(True, np.bool_)
KINDS = [small(kind) for kind in Kind]
"""The kinds of decision, by number."""


def where(mask: npt.NDArray[Any]) -> Ints:
    """The positions at which a flat ``mask`` is true: ``np.flatnonzero`` without its detours."""
    return mask.nonzero()[0]


def some(mask: npt.NDArray[Any]) -> bool:
    """Whether anything in ``mask`` is true or not zero: ``mask.any()`` in a quarter of the time."""
    return bool(np.count_nonzero(mask))


def put(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """``array`` at the flat positions ``at`` becomes ``values``: the reverse of ``array.take(at)``."""
    array.reshape(-1)[at] = values


def add(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """Add ``values`` to ``array`` at the flat positions ``at``, no two of which are equal."""
    put(array, at, array.take(at) + values)


def buy_bit(building: npt.NDArray[Any]) -> Words:
    """The bit of the action that buys each building."""
    return _BUY_BITS.take(building)
