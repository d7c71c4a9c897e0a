"""The one function that Python calls: it plays some games of a batch, one after the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from megaland_env.actions import PASS, Kind
from megaland_env.arrays import Bytes, Floats, Ints, Words
from megaland_env.cards import NUM_BUILDINGS
from megaland_env.engine.compiled import payout
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.engine import BEGIN, INVALID, NOT_PAID, ROOM_FOR_A_STEP, STEP
from megaland_env.engine.compiled.events import NUM_COLUMNS
from megaland_env.engine.compiled.memory import Memory, memory_of
from megaland_env.engine.compiled.rules import answer, play_on
from megaland_env.engine.compiled.rules.flow import choose
from megaland_env.engine.compiled.rules.setup import new_game

_PASS_BIT = np.uint64(1 << PASS)
_ANYTHING = 0xFF
_ONE, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)

SIGNATURE = (
    types.uint8[::1],
    types.int64[::1],
    types.uint64[::1],
    types.int32[::1],
    types.int64[::1],
    types.uint8[::1],
    types.int64,
    types.Array(types.int64, 2, "A"),
    types.int64,
    types.float64,
    types.float32[:, ::1],
    types.int16[:, ::1],
    types.int64,
    types.int64,
    types.boolean,
)
"""The types of the arguments of ``play``."""


@compiled
def play(
    state_bytes: Bytes,
    options: Ints,
    setting: Words,
    log: npt.NDArray[np.int32],
    games: Ints,
    named: Bytes,
    what: int,
    numbers: Ints,
    reward: int,
    gamma: float,
    rewards: Floats,
    margins_seen: npt.NDArray[np.int16],
    start: int,
    stop: int,
    check: bool,
) -> int:
    """Play games, each to its next decision.

    Args:
        state_bytes: ``GameState.bytes``.
        options: (7,) as ``memory.OPTIONS`` says.
        setting: the number of copies of each building, (23,), and then the markets that are allowed.
        log: (L,) the event log, empty if there is none (events.py).
        games: (n,) positions of the games; empty for all.
        named: (N,) zeros, for finding games that are named twice.
        what: ``STEP``, ``BEGIN`` or ``GO_ON``.
        numbers: (n, P) the actions; or (n, 1) the seeds, or the stages with which the games go on.
        reward: the number of the reward (payout.py).
        gamma: the discount factor of the shaped reward.
        rewards: (P, N) float32, written in a step.
        margins_seen: (P, N), read and written in a step.
        start: the index into ``games`` of the first to be played.
        stop: the index after the last.
        check: whether to check the arguments of all n games first.

    Returns:
        The index into ``games`` of the first game not played, which is ``stop`` unless the log is full. ``INVALID`` if
        some argument is not valid; nothing has changed then.
    """
    memory = memory_of(state_bytes, options, log, rewards, margins_seen)
    everyone = len(games) == 0
    if check:
        if not everyone and not _distinct(games, named):
            return INVALID
        if what == STEP and not _all_legal(memory, games, numbers):
            return INVALID
    for i in range(start, stop):
        if memory.log_size and memory.log_size < _used(log) + ROOM_FOR_A_STEP:
            return i
        game = i if everyone else games[i]
        if what == STEP:
            chosen = np.uint64(0)
            for seat in range(memory.num_players):
                chosen |= choose(seat, numbers[i, seat] & _ANYTHING)
            _step(memory, game, chosen, reward, gamma)
        elif what == BEGIN:
            seed = np.uint64(numbers[i, 0])
            play_on(memory, game, new_game(memory, game, seed, setting[:NUM_BUILDINGS], setting[NUM_BUILDINGS:]))
        else:
            play_on(memory, game, numbers[i, 0])
    return stop


@compiled
def _used(log: npt.NDArray[np.int32]) -> int:
    return 1 + NUM_COLUMNS * as_int(log[0])


@compiled
def _distinct(games: Ints, named: Bytes) -> bool:
    """Whether all positions are in range and no two are equal."""
    if len(games) == 1:
        return 0 <= games[0] < len(named)
    distinct = True
    checked = 0
    for game in games:
        if not 0 <= game < len(named) or named[game]:
            distinct = False
            break
        named[game] = 1
        checked += 1
    for i in range(checked):
        named[games[i]] = 0
    return distinct


@compiled
def _all_legal(memory: Memory, games: Ints, actions: Ints) -> bool:
    """Whether all games were started, and the action of every active seat is legal."""
    everyone = len(games) == 0
    wrong = np.uint64(0)  # no branches: whether a seat is asked is hard to predict
    for i in range(len(actions)):
        game = i if everyone else games[i]
        wrong |= np.uint64(memory.round[game] == 0)
    for seat in range(memory.num_players):
        for i in range(len(actions)):
            game = i if everyone else games[i]
            action = np.uint64(actions[i, seat])
            refused = ~(memory.legal[seat, game] >> (action & _63)) & _ONE | action >> _6
            wrong |= refused * np.uint64(memory.active[seat, game])
    return wrong == 0


@compiled
def _step(memory: Memory, game: int, chosen: np.uint64, reward: int, gamma: float) -> None:
    """Answer the decision of a game, play on, and pay the rewards."""
    kind = memory.kind[game]
    if reward != NOT_PAID:
        for seat in range(memory.num_players):
            memory.rewards[seat, game] = 0
    if kind == Kind.NONE:
        return  # finished games do not move
    for seat in range(memory.num_players):
        if memory.active[seat, game]:
            memory.active[seat, game] = False
            memory.legal[seat, game] = _PASS_BIT
            memory.asked[seat, game] += 1
        else:
            chosen &= ~choose(seat, _ANYTHING)  # PASS is 0
    memory.steps[game] += 1
    play_on(memory, game, answer(memory, game, kind, chosen))
    if reward != NOT_PAID:
        payout.pay(memory, game, reward, gamma)
