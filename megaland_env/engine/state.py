"""``GameState``: the state of a batch of games, as arrays with the games on the last, contiguous axis.

P is the number of seats, N the number of games. A rule works on some of the games: ``games`` (n,) are their positions,
and ``state.at(games)`` (P, n) are the positions of their seats in any flattened (P, N) array, for ``array.take(at)``,
``put_at`` and ``add_at``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, PASS, Kind
from megaland_env.arrays import Bytes, Ints, Words, constant
from megaland_env.cards import NUM_BUILDINGS, NUM_LEVEL_CARDS
from megaland_env.config import MegalandConfig
from megaland_env.engine import rng
from megaland_env.engine.events import SILENT, SilentLog

NOBODY = -1  # for first_player and buyer
NO_CARD = -1  # for level_card
NOT_PAYING = 0  # for paying; PASS is action 0, and nobody ever pays for that

_BUY_BITS = np.array([1 << (BUY_FIRST + building) for building in range(NUM_BUILDINGS)], np.uint64)

PASS_ONLY = constant(1 << PASS, np.uint64)
"""The legal actions of a seat that is not asked."""

_PER_GAME = ()
_PER_SEAT = ("P",)

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True)
class Field:
    """One array of a ``GameState``.

    Attributes:
        dtype: of the array.
        axes: its shape without the games, which are the last axis; ``"P"`` stands for the number of seats.
        meaning: of an entry.
    """

    dtype: type[np.generic]
    axes: tuple[int | str, ...]
    meaning: str

    def shape(self, players: int) -> tuple[int, ...]:
        """The shape without the games, for a number of seats."""
        return tuple(players if isinstance(axis, str) else axis for axis in self.axes)

    def rows(self, players: int) -> int:
        """The number of entries of one game."""
        return math.prod(self.shape(players))

    @property
    def size(self) -> int:
        """The number of bytes of an entry."""
        return np.dtype(self.dtype).itemsize


def _field(dtype: type[_Scalar], axes: tuple[int | str, ...], meaning: str) -> npt.NDArray[_Scalar]:
    """Declare an array of ``GameState``: a ``Field`` at run time, the array itself for a type checker."""
    return Field(dtype, axes, meaning)  # type: ignore[return-value]


class GameState:
    """The arrays of N games of P seats.

    The table below declares them all; it is available as ``FIELDS``. All arrays of one dtype are rows of one block
    (rows, N), so that clearing or copying games is one operation a block. The blocks lie one after the other in
    ``bytes``, so that any mixture of entries can be read in one operation; ``places`` says where each array begins.
    """

    # Randomness (rng.py)
    seeds = _field(np.uint64, _PER_GAME, "the seed of the game")
    keys = _field(np.uint64, _PER_GAME, "rng.key of the seed")
    round_keys = _field(np.uint64, _PER_GAME, "the key plus the offset of the round")

    # Progress of the game
    round = _field(np.int32, _PER_GAME, "the round, from 1; 0 before the first reset")
    steps = _field(np.int32, _PER_GAME, "number of decision moments answered")
    episode = _field(np.int32, _PER_GAME, "number of resets before the current one; -1 before the first")
    kind = _field(np.uint8, _PER_GAME, "the Kind of decision that the game waits for")
    active = _field(np.bool_, _PER_SEAT, "whether the seat is asked now")
    legal = _field(np.uint64, _PER_SEAT, "bit a: action a is legal")
    asked = _field(np.int32, _PER_SEAT, "number of decisions made so far")
    terminated = _field(np.bool_, _PER_GAME, "whether the game is over by N5")
    truncated = _field(np.bool_, _PER_GAME, "whether the game was cut off by D4")
    winners = _field(np.bool_, _PER_SEAT, "whether the seat has won")
    first_player = _field(np.int8, _PER_GAME, "the seat that holds the first-player token")
    buyer = _field(np.int8, _PER_GAME, "the seat whose turn of phase 2 it is, or NOBODY")

    # On the table
    deck = _field(np.uint64, _PER_GAME, "the treasure deck, a pile")
    discard = _field(np.uint64, _PER_GAME, "the discard pile")
    unseen = _field(np.int16, _PER_GAME, "bit c: level card c is yet to come this round")
    num_seen = _field(np.uint8, _PER_GAME, "number of level cards revealed this round")
    seen = _field(np.uint8, (NUM_LEVEL_CARDS,), "the level cards revealed, in order; the first num_seen rows count")
    level_card = _field(np.int8, _PER_GAME, "the last level card revealed in this level, or NO_CARD")
    heart_supply = _field(np.uint8, _PER_GAME, "number of heart tokens left")
    jump_supply = _field(np.uint8, _PER_GAME, "number of jump tokens left")
    building_supply = _field(np.uint8, (NUM_BUILDINGS,), "number of copies left on the table")
    on_offer = _field(np.uint64, _PER_GAME, "bit BUY_b: building b is in this market")

    # At each seat
    coins = _field(np.int16, _PER_SEAT, "number of coins")
    hearts = _field(np.uint8, _PER_SEAT, "number of hearts not yet lost in this level")
    max_hearts = _field(np.uint8, _PER_SEAT, "number of heart tokens")
    jumps = _field(np.uint8, _PER_SEAT, "number of jump tokens")
    jumping = _field(np.bool_, _PER_SEAT, "whether the player has declared a jump for the coming card")
    in_level = _field(np.bool_, _PER_SEAT, "whether the player is in the level")
    falling = _field(np.bool_, _PER_SEAT, "whether the player fell on the card that is being resolved")
    carried = _field(np.uint64, _PER_SEAT, "the carried hand, a pile")
    home = _field(np.uint64, _PER_SEAT, "the home hand, a pile")
    buildings = _field(np.uint8, (NUM_BUILDINGS, "P"), "number of copies owned")
    num_buildings = _field(np.uint8, _PER_SEAT, "number of building cards owned in all")
    fish_used = _field(np.uint8, _PER_SEAT, "number of wild fish used this round")
    carrots_used = _field(np.uint8, _PER_SEAT, "number of wild carrots used this round")
    picks_left = _field(np.uint8, _PER_SEAT, "number of picks still to make, for huts, stables or storing")
    picked = _field(np.uint64, _PER_SEAT, "the cards picked so far, a pile; they are still in the hand too")

    # The turn of the buyer
    for_sale = _field(np.uint64, _PER_GAME, "bit BUY_b: building b is on offer, and a copy is left")
    bought = _field(np.uint64, _PER_GAME, "bit BUY_b: building b was bought this turn")
    paying = _field(np.uint8, _PER_GAME, "the BUY or HEART action that is being paid, or NOT_PAYING")
    cost = _field(np.uint8, _PER_GAME, "number of treasures that it costs")
    paid = _field(np.uint64, _PER_GAME, "the treasures paid for it so far, a pile")

    def __init__(self, config: MegalandConfig, num_games: int) -> None:
        self._allocate(config, num_games)
        self.bytes[:] = 0
        self.episode[:] = -1
        self.clear(np.arange(num_games))

    def _allocate(self, config: MegalandConfig, num_games: int) -> None:
        """Make everything but the entries of the arrays."""
        self.config = config
        self.num_games = num_games
        self.log: SilentLog = SILENT
        self._seats: Ints = num_games * np.arange(config.num_players)[:, None]
        self.bytes: Bytes = np.empty(num_games * _bytes_per_game(config.num_players), np.uint8)
        self._name_rows()

    def _name_rows(self) -> None:
        """Make the attributes: views of the rows of the blocks, which are views of ``bytes``."""
        number = self.num_games
        arrays = vars(self)
        self._blocks: list[npt.NDArray[Any]] = []
        end = 0
        for dtype, rows, fields in _layout(self.config.num_players):
            start, end = end, end + rows * dtype.itemsize * number
            block: npt.NDArray[Any] = self.bytes[start:end].view(dtype).reshape(rows, number)
            self._blocks.append(block)
            for name, first, last, shape in fields:
                array = block[first:last] if shape else block[first]
                arrays[name] = array.reshape(*shape, number) if len(shape) > 1 else array

    def clear(self, games: Ints) -> None:
        """Empty all entries of some games except ``episode``, which continues."""
        episode = self.episode.take(games)
        for block in self._blocks:
            block[:, games] = 0
        self.episode[games] = episode
        self.legal[:, games] = PASS_ONLY
        self.buyer[games] = NOBODY
        self.level_card[games] = NO_CARD

    def copy(self, games: Ints) -> GameState:
        """A batch of any games of this one, any number of times each, without a log."""
        copied = GameState.__new__(GameState)
        copied._allocate(self.config, games.size)
        for block, entries in zip(self._blocks, copied._blocks, strict=True):
            block.take(games, axis=1, out=entries, mode="clip")  # with mode "raise" NumPy would use a buffer
        return copied

    def save(self, games: Ints) -> list[npt.NDArray[Any]]:
        """All entries of some games (n,), for ``put_back``; for all games it is one copy of the memory."""
        if games.size == self.num_games:
            return [self.bytes.copy()]
        return [block.take(games, axis=1) for block in self._blocks]

    def put_back(self, games: Ints, saved: list[npt.NDArray[Any]]) -> None:
        """Restore the entries of some games from what ``save`` returned for them."""
        if games.size == self.num_games:
            self.bytes[:] = saved[0]
        else:
            for block, entries in zip(self._blocks, saved, strict=True):
                block[:, games] = entries

    def __getstate__(self) -> dict[str, Any]:
        """The state for ``copy.deepcopy`` and pickle: the bytes, without the arrays, which are views of them."""
        return {name: vars(self)[name] for name in ("config", "num_games", "log", "_seats", "bytes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._name_rows()
        self.log.read_from(self.steps, self.episode, self.buyer)

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
        return self.config.num_players

    def at(self, games: Ints) -> Ints:
        """Positions (P, n) of the seats of ``games`` in a flattened (P, N) array."""
        return self._seats + games

    def at_seat(self, seats: npt.NDArray[Any], games: Ints) -> Ints:
        """Positions (n,) of one seat of each of ``games`` in a flattened (P, N) array."""
        return seats.astype(np.int64) * self.num_games + games

    def start_round(self, games: Ints, rounds: npt.NDArray[np.int32] | int) -> None:
        """Set the round of some games, and the key of its random outcomes."""
        self.round[games] = rounds
        self.round_keys[games] = self.keys.take(games) + rng.round_offset(self.round.take(games))

    def reseed(self, seeds: Words) -> None:
        """Give every game a new seed (N,) for all random outcomes to come; nothing else changes."""
        self.seeds[:] = seeds
        self.keys[:] = rng.key(seeds)
        self.round_keys[:] = self.keys + rng.round_offset(self.round)


FIELDS: dict[str, Field] = {name: field for name, field in vars(GameState).items() if isinstance(field, Field)}
"""The arrays of a state, by name."""

for _name in FIELDS:
    # Every instance has arrays of these names. If the class had attributes of these names too, reading would be slower.
    delattr(GameState, _name)

# The fields of each dtype. Larger entries come first, so that all lie at multiples of their size.
_BLOCKS: dict[type[np.generic], dict[str, Field]] = {
    dtype: {name: field for name, field in FIELDS.items() if field.dtype is dtype}
    for dtype in sorted(dict.fromkeys(field.dtype for field in FIELDS.values()), key=lambda dtype: -dtype().itemsize)
}


class Place(NamedTuple):
    """Position of an array in ``GameState.bytes``.

    With N games the entry of game g in row r (its other dimensions flattened) has its first byte at
    ``(start + r * size) * N + g * size``.
    """

    start: int
    size: int


@cache
def places(players: int) -> dict[str, Place]:
    """The place of each array of a state, by name."""
    found: dict[str, Place] = {}
    start = 0
    for fields in _BLOCKS.values():
        for name, field in fields.items():
            found[name] = Place(start, field.size)
            start += field.rows(players) * field.size
    return found


@cache
def _layout(players: int) -> list[tuple[np.dtype[Any], int, list[tuple[str, int, int, tuple[int, ...]]]]]:
    """The dtype and the number of rows of each block, and the name, first and last row and shape of its arrays."""
    layout = []
    for dtype, fields in _BLOCKS.items():
        arrays = []
        last = 0
        for name, field in fields.items():
            first, last = last, last + field.rows(players)
            arrays.append((name, first, last, field.shape(players)))
        layout.append((np.dtype(dtype), last, arrays))
    return layout


@cache
def _bytes_per_game(players: int) -> int:
    return sum(field.rows(players) * field.size for field in FIELDS.values())


ZERO, ONE = constant(0, np.uint8), constant(1, np.uint8)
NO, YES = constant(False, np.bool_), constant(True, np.bool_)
KINDS = [constant(kind, np.uint8) for kind in Kind]
"""The kinds of decision, by number."""


def indices_where(mask: npt.NDArray[Any]) -> Ints:
    """The positions at which a flat ``mask`` is true: ``np.flatnonzero`` without its overhead."""
    return mask.nonzero()[0]


def some(mask: npt.NDArray[Any]) -> bool:
    """Whether any entry of ``mask`` is true or not zero: ``mask.any()`` in a quarter of the time."""
    return bool(np.count_nonzero(mask))


def put_at(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """Set ``array`` at the flat positions ``at`` to ``values``: the reverse of ``array.take(at)``."""
    array.reshape(-1)[at] = values


def add_at(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """Add ``values`` to ``array`` at the flat positions ``at``, no two of which are equal."""
    put_at(array, at, array.take(at) + values)


def buy_bit(building: npt.NDArray[Any]) -> Words:
    """The bit of the action that buys each building."""
    return _BUY_BITS.take(building)
