"""The list of pending decisions, for ``MegalandGames.decisions``."""

from __future__ import annotations

from numba import types

from megaland_env.arrays import Bytes, Ints
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import memory_to_read

SIGNATURE = (types.uint8[::1], types.int64[::1], types.int64[:, ::1])
"""The types of the arguments of ``write_pending``."""


@compiled
def write_pending(state_bytes: Bytes, options: Ints, rows: Ints) -> None:
    """Write the game and the seat of each active seat, ordered by seat and then by game.

    Args:
        state_bytes: ``GameState.bytes``.
        options: (7,) as ``memory.OPTIONS`` says.
        rows: (2, M) written, for the M seats that are active.
    """
    memory = memory_to_read(state_bytes, options)
    number = 0
    for seat in range(memory.num_players):
        for game in range(memory.num_games):
            if memory.active[seat, game]:
                rows[0, number] = game
                rows[1, number] = seat
                number += 1
