"""The flow of a game: the stages, and what the rules of all of them need, such as asking for a decision.

Each rule is a function of the state and of the games that it applies to. It changes the state, and returns the next
stages of those games. A game that waits for a decision has no next stage until the decision is made.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.arrays import Bools, Bytes, Ints, Words
from megaland_env.cards import MAX_PLAYERS, Building
from megaland_env.engine.events import Event
from megaland_env.engine.state import KINDS, PASS_ONLY, GameState, add_at, indices_where, put_at, some


class Stage(IntEnum):
    """The stages of a game, which follow each other without a decision.

    Their order affects speed only, never a game: of the stages that games wait for, the earliest is run first, so that
    games on different paths meet again before the expensive stages. A step runs once through the level, once through
    buying and the night, and once more through the level for the games that begin a new round.
    """

    STABLES = 0  # L10
    DRAW = 1  # L1, L9, L12
    BEFORE_CARD = 2  # L2
    REVEAL = 3  # L3 to L7
    HUTS = 4  # L7
    LABORATORIES = 5  # L7
    RABBIT = 6  # L8
    STAY_OR_LEAVE = 7  # L9, L11, L12
    BEGIN_BUYING = 8  # B1
    PAYMENT = 9  # B2 to B4
    PURCHASE = 10  # B3 to B6
    TURN = 11  # B1
    END_TURN = 12  # B1
    ARCADES = 13  # B7
    NIGHT = 14  # N1, N2
    STORING = 15  # N2
    MOON = 16  # N3 to N5, D4
    ENTER = 17  # L1


Moves = list[tuple[Stage, Ints]]
"""Stages, each with the games (n,) that go on with it."""

Rule = Callable[[GameState, Ints], Moves]
"""The function of a stage."""

Answer = Callable[[GameState, Ints, Bytes], Moves]
"""The function that carries out a decision. Its third argument is (P, n): the actions, PASS for seats not asked."""


# The seat to the left of each, by the number of seats.
_LEFT_OF = [np.roll(np.arange(seats, dtype=np.int8), -1) for seats in range(MAX_PLAYERS + 1)]


def left_of(state: GameState, seats: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """(n,): the seats to the left of ``seats`` (n,), the next ones clockwise."""
    return _LEFT_OF[state.num_players].take(seats)


def part(mask: Bools, games: Ints, *arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """The games for which ``mask`` (n,) is true, and the same columns of arrays (..., n)."""
    here = indices_where(mask)
    if here.size == mask.size:
        return (games, *arrays)
    if not here.size:
        return (games[:0], *(array[..., :0] for array in arrays))
    return (games.take(here), *(array.take(here, axis=-1) for array in arrays))


# (1,): what ``any_seat`` says of a single game.
_ANY, _NONE = np.array([True]), np.array([False])
_ANY.flags.writeable = _NONE.flags.writeable = False


def any_seat(mask: npt.NDArray[Any]) -> Bools:
    """(n,): the games in which ``mask`` (P, n) is true, or not zero, for any seat."""
    if mask.shape[1] == 1:  # for one game counting is faster
        return _ANY if some(mask) else _NONE
    return np.logical_or.reduce(mask, axis=0)  # type: ignore[no-any-return]


def split(games: Ints, chosen: Bools) -> tuple[Ints, Ints]:
    """The games for which ``chosen`` (n,) is true, and the others."""
    here = indices_where(chosen)
    if here.size == games.size:
        return games, games[:0]
    if not here.size:
        return here, games
    return games.take(here), games.take(indices_where(~chosen))


def ask(state: GameState, games: Ints, at: Ints, kind: Kind, asked: Bools, legal: Words) -> Ints:
    """Ask for a decision, and return the games in which no seat is asked.

    Args:
        state: the batch.
        games: (n,) the games.
        at: ``state.at(games)``.
        kind: the kind of decision.
        asked: (P, n) the seats that must decide.
        legal: the legal actions of the seats that are asked: (P, n), or without dimensions.
    """
    waits = any_seat(asked)
    waiting = np.count_nonzero(waits)
    if not waiting:
        return games
    others = games[:0]
    if waiting < games.size:
        others = games.take(indices_where(~waits))
        games, at, asked = part(waits, games, at, asked)
        legal = legal.take(indices_where(waits), axis=1) if legal.ndim else legal
    state.kind[games] = KINDS[kind]
    put_at(state.active, at, asked)
    legal = asked * (legal ^ PASS_ONLY)
    legal ^= PASS_ONLY
    put_at(state.legal, at, legal)
    return others


def gain(state: GameState, games: Ints, at: Ints, amounts: npt.NDArray[Any], building: Building) -> None:
    """Pay ``amounts`` (P, n) of coins to the owners of a building."""
    add_at(state.coins, at, amounts.astype(np.int16))
    state.log.seats(Event.COINS, games, amounts, building, amounts)
