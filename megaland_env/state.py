"""``GameState``: all that a batch of games is, as arrays with the games on the last, contiguous axis.

P is the number of seats, N the number of games. A rule works on some of the games: ``games`` (n,) are their positions, and
``state.at(games)`` (P, n) are the positions of their seats in any (P, N) array, for ``array.take(at)`` and ``put``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import rng
from megaland_env.actions import BUY_FIRST, PASS
from megaland_env.cards import NUM_BUILDINGS, NUM_LEVEL_CARDS
from megaland_env.config import MegalandConfig
from megaland_env.events import EventLog

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Coins = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

NOBODY = -1  # for first_player and buyer
NO_CARD = -1  # for level_card
NOT_PAYING = 0  # for paying; PASS is action 0, and nobody ever pays for that

PASS_ONLY = np.uint64(1 << PASS)
"""The legal actions of a seat that is not asked."""


class GameState:
    """The arrays of N games of P seats. In the comments: the shape, and what an entry means."""

    def __init__(self, config: MegalandConfig, num_games: int) -> None:
        self.config = config
        self.num_games = num_games
        seats = (config.num_players, num_games)

        # Chance (rng.py)
        self.seeds: Words = np.zeros(num_games, np.uint64)  # (N,)
        self.keys: Words = np.zeros(num_games, np.uint64)  # (N,) rng.key of the seed
        self.luck: Words = np.zeros(num_games, np.uint64)  # (N,) the key plus the offset of the round

        # Where the game is
        self.round: npt.NDArray[np.int32] = np.zeros(num_games, np.int32)  # (N,) from 1; 0 before the first reset
        self.steps: npt.NDArray[np.int32] = np.zeros(num_games, np.int32)  # (N,) decision moments answered
        self.kind: Bytes = np.zeros(num_games, np.uint8)  # (N,) the Kind of decision it waits for
        self.active: Bools = np.zeros(seats, np.bool_)  # (P, N) is asked now
        self.legal: Words = np.full(seats, PASS_ONLY)  # (P, N) bit a: action a is legal
        self.asked: npt.NDArray[np.uint32] = np.zeros(seats, np.uint32)  # (P, N) decisions made so far
        self.terminated: Bools = np.zeros(num_games, np.bool_)  # (N,) over by N5
        self.truncated: Bools = np.zeros(num_games, np.bool_)  # (N,) over by D4
        self.winners: Bools = np.zeros(seats, np.bool_)  # (P, N)
        self.first_player: npt.NDArray[np.int8] = np.zeros(num_games, np.int8)  # (N,)
        self.buyer: npt.NDArray[np.int8] = np.full(num_games, NOBODY, np.int8)  # (N,) whose turn of phase 2 it is

        # On the table
        self.deck: Words = np.zeros(num_games, np.uint64)  # (N,) pile
        self.discard: Words = np.zeros(num_games, np.uint64)  # (N,) pile
        self.unseen: npt.NDArray[np.uint16] = np.zeros(num_games, np.uint16)  # (N,) bit c: level card c is yet to come
        self.num_seen: Bytes = np.zeros(num_games, np.uint8)  # (N,) level cards revealed this round
        self.seen: Bytes = np.zeros((NUM_LEVEL_CARDS, num_games), np.uint8)  # (10, N) the first num_seen: in which order
        self.level_card: npt.NDArray[np.int8] = np.full(num_games, NO_CARD, np.int8)  # (N,) the last one revealed
        self.heart_supply: Bytes = np.zeros(num_games, np.uint8)  # (N,)
        self.jump_supply: Bytes = np.zeros(num_games, np.uint8)  # (N,)
        self.building_supply: Bytes = np.zeros((NUM_BUILDINGS, num_games), np.uint8)  # (23, N) copies left
        self.on_offer: Words = np.zeros(num_games, np.uint64)  # (N,) bit BUY_b: building b is in this market

        # At each seat
        self.coins: Coins = np.zeros(seats, np.int16)  # (P, N)
        self.hearts: Bytes = np.zeros(seats, np.uint8)  # (P, N) not yet lost in this level
        self.max_hearts: Bytes = np.zeros(seats, np.uint8)  # (P, N)
        self.jumps: Bytes = np.zeros(seats, np.uint8)  # (P, N) jump tokens
        self.jumping: Bools = np.zeros(seats, np.bool_)  # (P, N) has declared a jump for the coming card
        self.in_level: Bools = np.zeros(seats, np.bool_)  # (P, N)
        self.falling: Bools = np.zeros(seats, np.bool_)  # (P, N) fell on the card that is being resolved
        self.carried: Words = np.zeros(seats, np.uint64)  # (P, N) pile
        self.home: Words = np.zeros(seats, np.uint64)  # (P, N) pile
        self.buildings: Bytes = np.zeros((NUM_BUILDINGS, *seats), np.uint8)  # (23, P, N) copies owned
        self.fish_used: Bytes = np.zeros(seats, np.uint8)  # (P, N) wild fish used this round
        self.carrots_used: Bytes = np.zeros(seats, np.uint8)  # (P, N) wild carrots used this round
        self.picks_left: Bytes = np.zeros(seats, np.uint8)  # (P, N) huts, stables or storing still to do
        self.picked: Words = np.zeros(seats, np.uint64)  # (P, N) pile: chosen so far, still in its hand

        # The buyer's turn
        self.sold_out: Words = np.zeros(num_games, np.uint64)  # (N,) bit BUY_b: no copy of b is left
        self.bought: Words = np.zeros(num_games, np.uint64)  # (N,) bit BUY_b: b was bought this turn
        self.paying: Bytes = np.zeros(num_games, np.uint8)  # (N,) the BUY or HEART action that is being paid
        self.cost: Bytes = np.zeros(num_games, np.uint8)  # (N,) treasures it costs
        self.paid: Words = np.zeros(num_games, np.uint64)  # (N,) pile: treasures paid for it so far

        self.episode: npt.NDArray[np.int32] = np.full(num_games, -1, np.int32)  # (N,) resets before the current one
        self.log: EventLog | None = None
        self._rows: Ints = num_games * np.arange(config.num_players)[:, None]

    @property
    def num_players(self) -> int:
        """P."""
        return self.config.num_players

    def at(self, games: Ints) -> Ints:
        """(P, n): where the seats of ``games`` lie in a flattened (P, N) array."""
        return self._rows + games

    def at_seat(self, seats: npt.NDArray[Any], games: Ints) -> Ints:
        """(n,): where one seat of each of ``games`` lies in a flattened (P, N) array."""
        return seats.astype(np.int64) * self.num_games + games

    def start_round(self, games: Ints, rounds: npt.NDArray[np.int32] | int) -> None:
        """Set the round, and with it the luck."""
        self.round[games] = rounds
        self.luck[games] = self.keys.take(games) + rng.round_offset(self.round.take(games))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array of the state by name; the games are on the last axis of each."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray) and name != "_rows"}


def where(mask: npt.NDArray[Any]) -> Ints:
    """The positions at which a flat ``mask`` is true: ``np.flatnonzero`` without its detours."""
    return mask.nonzero()[0]


def put(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """``array`` at the flat positions ``at`` becomes ``values``: the reverse of ``array.take(at)``."""
    array.reshape(-1)[at] = values


def add(array: npt.NDArray[Any], at: Ints, values: npt.NDArray[Any] | int | np.generic) -> None:
    """Add ``values`` to ``array`` at the flat positions ``at``, no two of which are equal."""
    put(array, at, array.take(at) + values)


def buy_bit(building: npt.NDArray[Any]) -> Words:
    """The bit of the action that buys each building."""
    return np.uint64(1) << (building.astype(np.uint64) + np.uint64(BUY_FIRST))
