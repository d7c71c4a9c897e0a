"""Masks of legal actions, for ``Decisions.legal`` and ``MegalandGames.legal``."""

from __future__ import annotations

import numpy as np
from numba import types

from megaland_env.actions import NUM_ACTIONS
from megaland_env.arrays import Bools, Bytes, Ints
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory, all_in_range, memory_to_read

_ONE = np.uint64(1)

SIGNATURE = (
    types.uint8[::1],
    types.int64[::1],
    types.Array(types.int64, 1, "A", readonly=True),
    types.Array(types.int64, 1, "A", readonly=True),
    types.boolean[:, ::1],
)
"""The types of the arguments of ``write_masks``."""


@compiled
def write_masks(state_bytes: Bytes, options: Ints, games: Ints, seats: Ints, out: Bools) -> bool:
    """Write whether each action is legal.

    Args:
        state_bytes: ``GameState.bytes``.
        options: (7,) as ``memory.OPTIONS`` says.
        games: (M,) the positions of the games; empty for all seats of all games, one game after the other.
        seats: (M,) the seats.
        out: (M, 40) written.

    Returns:
        False if a game or a seat is out of range; nothing is written then.
    """
    memory = memory_to_read(state_bytes, options)
    if len(games) == 0 and len(out):
        row = 0
        for game in range(memory.num_games):
            for seat in range(memory.num_players):
                _write_mask(memory, game, seat, out, row)
                row += 1
        return True
    if not all_in_range(memory, games, seats):
        return False
    for row in range(len(games)):
        _write_mask(memory, games[row], seats[row], out, row)
    return True


@compiled
def _write_mask(memory: Memory, game: int, seat: int, out: Bools, row: int) -> None:
    legal = memory.legal[seat, game]
    for action in range(NUM_ACTIONS):
        out[row, action] = legal >> np.uint64(action) & _ONE != 0
