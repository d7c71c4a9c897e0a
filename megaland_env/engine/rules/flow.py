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
    """The parts of a round that the rules carry out. A stage ends with a decision or with the next stage.

    The order of the numbers affects speed only, never a game: while the games of a batch are at different stages, the
    stage with the lowest number is run first, so that games on different paths meet again before the expensive stages.
    A step runs once through the level, once through buying and the night, and once more through the level for the games
    that begin a new round.
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


# (1,): the two results of ``any_seat`` for a single game.
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
    """Make games wait for a decision of the seats that are asked; return the games in which no seat is asked.

    Args:
        state: the batch.
        games: (n,) the games.
        at: ``state.at(games)``.
        kind: the kind of decision.
        asked: (P, n) the seats that must decide.
        legal: the legal actions of the seats that are asked: (P, n), or without dimensions.
    """
    must_wait = any_seat(asked)
    num_waiting = np.count_nonzero(must_wait)
    if not num_waiting:
        return games
    unasked = games[:0]
    if num_waiting < games.size:
        unasked = games.take(indices_where(~must_wait))
        games, at, asked = part(must_wait, games, at, asked)
        legal = legal.take(indices_where(must_wait), axis=1) if legal.ndim else legal
    state.kind[games] = KINDS[kind]
    put_at(state.active, at, asked)
    # np.where(asked, legal, PASS_ONLY), but several times as fast for many games: ``legal ^ PASS_ONLY ^ PASS_ONLY`` is
    # ``legal``, and a seat that is not asked has 0 before the second ``^``, which makes it PASS_ONLY.
    legal_of_all = asked * (legal ^ PASS_ONLY)
    legal_of_all ^= PASS_ONLY
    put_at(state.legal, at, legal_of_all)
    return unasked


def gain(state: GameState, games: Ints, at: Ints, amounts: npt.NDArray[Any], building: Building) -> None:
    """Pay ``amounts`` (P, n) of coins to the owners of a building."""
    add_at(state.coins, at, amounts.astype(np.int16))
    state.log.seats(Event.COINS, games, amounts, building, amounts)
