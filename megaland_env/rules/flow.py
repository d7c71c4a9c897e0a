"""How a game goes on: stages that need no decision, and how a decision is asked for.

Each rule is a function of the state and of the games it applies to; it returns where those games go next. A game that
waits for a decision goes nowhere until it is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.cards import Building
from megaland_env.events import Event
from megaland_env.state import PASS_ONLY, GameState, Ints, Words, add, put


class Stage(IntEnum):
    """What happens next in a game. In the order in which a batch is worked through, which no game can notice."""

    ENTER = 0  # L1
    STABLES = 1  # L10
    STAY = 2  # L9
    BEFORE_CARD = 3  # L2
    REVEAL = 4  # L3 to L7
    HUTS = 5  # L7
    LABORATORIES = 6  # L7
    RABBIT = 7  # L8
    STAY_OR_LEAVE = 8  # L9, L11, L12
    BEGIN_BUYING = 9  # B1
    END_TURN = 10  # B1
    TURN = 11  # B1
    PAYMENT = 12  # B2 to B4
    PURCHASE = 13  # B3 to B6
    ARCADES = 14  # B7
    NIGHT = 15  # N1, N2
    STORING = 16  # N2
    MOON = 17  # N3 to N5, D4


Moves = list[tuple[Stage, Ints]]
"""Which games go on with which stage."""

Rule = Callable[[GameState, Ints], Moves]
"""What happens in a stage."""

Answer = Callable[[GameState, Ints, npt.NDArray[np.uint8]], Moves]
"""What follows from a decision: the third argument is (P, n), the action of each seat, PASS where it was not asked."""


def split(games: Ints, chosen: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """The games for which ``chosen`` (n,) is true, and the others."""
    return games.take(np.flatnonzero(chosen)), games.take(np.flatnonzero(~chosen))


def ask(
    state: GameState, games: Ints, at: Ints, kind: Kind, asked: npt.NDArray[np.bool_], legal: Words | np.uint64
) -> None:
    """Let games wait for the decision of the seats that ``asked`` (P, n) marks; ``legal`` are their actions."""
    state.kind[games] = kind
    put(state.active, at, asked)
    legal = asked * (legal ^ PASS_ONLY)
    legal ^= PASS_ONLY
    put(state.legal, at, legal)


def gain(
    state: GameState, games: Ints, at: Ints, amounts: npt.NDArray[Any], building: Building
) -> None:
    """Pay ``amounts`` (P, n) of coins for a building."""
    add(state.coins, at, amounts.astype(np.int16))
    if state.log is not None:
        state.log.seats(Event.COINS, games, amounts, item=int(building), value=amounts)
