"""What the rules of all chapters need, such as asking for a decision.

Each rule is a function of the memory and a game. It changes the state, and returns the next stage, or ``WAIT``.

A rule that carries out a decision takes the actions of all seats as one word, ``chosen``, with a byte for each seat. A
seat that was not asked has PASS there, which is 0. (An array would do too, but Numba counts the references to it, which
takes as long as a rule.)
"""

from __future__ import annotations

import numpy as np

from megaland_env.engine.compiled import events
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.events import Event
from megaland_env.engine.compiled.memory import Memory

WAIT = -1
"""In place of a stage: the game waits for a decision, or is over."""


_BYTE = np.uint64(0xFF)


@compiled
def choose(seat: int, action: int) -> np.uint64:
    """The choice of one seat, as a part of ``chosen``."""
    return np.uint64(action) << np.uint64(8 * seat)


@compiled
def choice(chosen: np.uint64, seat: int) -> int:
    """The action of a seat."""
    return as_int((chosen >> np.uint64(8 * seat)) & _BYTE)


@compiled
def left_of(memory: Memory, seat: int) -> int:
    """The seat to the left, the next one clockwise."""
    return seat_after(memory, seat, 1)


@compiled
def seat_after(memory: Memory, seat: int, places: int) -> int:
    """The seat some places (up to P) clockwise of another."""
    after = seat + places
    return after if after < memory.num_players else after - memory.num_players


@compiled
def ask(memory: Memory, game: int, seat: int, kind: int, legal: np.uint64) -> None:
    """Ask a seat for a decision.

    Args:
        memory: the batch.
        game: the game.
        seat: the seat.
        kind: the kind of decision; the same for all seats that are asked.
        legal: the set of legal actions.
    """
    memory.kind[game] = kind
    memory.active[seat, game] = True
    memory.legal[seat, game] = legal


@compiled
def gain(memory: Memory, game: int, seat: int, amount: int, building: int) -> None:
    """Pay coins to the owner of a building."""
    if amount:
        memory.coins[seat, game] += amount
        if memory.log_size:
            events.add(memory, game, Event.COINS, seat, building, amount)
