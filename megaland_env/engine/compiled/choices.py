"""Random legal actions, for ``agent.random_legal`` and ``agent.random_actions``."""

from __future__ import annotations

import numpy as np
from numba import types

from megaland_env.arrays import Bytes, Ints
from megaland_env.engine import bits, piles
from megaland_env.engine.compiled import rng
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory, all_in_range, memory_to_read

SIGNATURE = (
    types.uint8[::1],
    types.int64[::1],
    types.uint64,
    types.Array(types.int64, 1, "A", readonly=True),
    types.Array(types.int64, 1, "A", readonly=True),
    types.uint8[::1],
    types.int64[:, ::1],
    types.int64,
)
"""The types of the arguments of ``choose``."""

_ONES, _TOPS = np.uint64(piles.ONES), np.uint64(piles.TOPS)
_NTH_BIT_OF_BYTE = bits.NTH_BIT_OF_BYTE
_PAIRS, _FOURS, _BYTES = np.uint64(bits.PAIRS), np.uint64(bits.FOURS), np.uint64(bits.BYTES)
_1, _2, _4, _7, _8, _11, _56 = (np.uint64(n) for n in (1, 2, 4, 7, 8, 11, 56))
_BYTE = np.uint64(0xFF)


@compiled
def choose(
    state_bytes: Bytes,
    options: Ints,
    agent_key: np.uint64,
    games: Ints,
    seats: Ints,
    chosen: Bytes,
    actions: Ints,
    first: int,
) -> bool:
    """Choose a legal action for some seats, or for all that are active.

    Args:
        state_bytes: ``GameState.bytes``.
        options: (7,) as ``memory.OPTIONS`` says.
        agent_key: ``rng.agent_key`` of the agent's own seed.
        games: (M,) the positions of the games.
        seats: (M,) the seats.
        chosen: (M,) written.
        actions: (n, P) written for n games in a row: the action of each active seat, PASS for the others.
        first: the first of these games.

    Returns:
        False if a game or a seat is out of range; nothing is written then.
    """
    memory = memory_to_read(state_bytes, options)
    if not all_in_range(memory, games, seats):
        return False
    for i in range(len(games)):
        chosen[i] = _choose(memory, games[i], seats[i], agent_key)
    for i in range(len(actions)):
        for seat in range(memory.num_players):
            actions[i, seat] = 0
            if memory.active[seat, first + i]:
                actions[i, seat] = _choose(memory, first + i, seat, agent_key)
    return True


@compiled
def _choose(memory: Memory, game: int, seat: int, agent_key: np.uint64) -> int:
    legal = memory.legal[seat, game]
    # From 0 to 1, as ``Decisions.random`` has it.
    number = np.float64(rng.agent_word(memory, game, seat, agent_key) >> _11) * 2.0**-53
    counts = _counts(legal)
    return _nth_member(legal, counts, np.uint64(number * np.float64(as_int((counts * _ONES) >> _56))))


@compiled
def _counts(members: np.uint64) -> np.uint64:
    """The number of members of a set in each byte of its word."""
    counts = members - ((members >> _1) & _PAIRS)
    counts = (counts & _FOURS) + ((counts >> _2) & _FOURS)
    return (counts + (counts >> _4)) & _BYTES


@compiled
def _nth_member(members: np.uint64, counts: np.uint64, n: np.uint64) -> int:
    """The n-th smallest number (from 0) of a set, as ``bits.nth_member``."""
    totals = counts * _ONES
    # The member is in the byte at which the running total exceeds n.
    whole_bytes = (((((_TOPS | n * _ONES) - totals) & _TOPS) >> _7) * _ONES) >> _56
    shift = whole_bytes * _8
    before = ((totals << _8) >> shift) & _BYTE
    byte = (members >> shift) & _BYTE
    return as_int(_NTH_BIT_OF_BYTE[as_int(byte * _8 + n - before)]) + as_int(shift)
