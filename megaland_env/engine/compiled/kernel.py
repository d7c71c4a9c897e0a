"""The one function that Python calls: it plays some games of a batch, one after the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_env.actions import PASS, Kind
from megaland_env.arrays import Bytes, Floats, Ints, Words
from megaland_env.cards import MAX_PLAYERS, NUM_BUILDINGS
from megaland_env.engine.compiled import payout
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory, memory_of
from megaland_env.engine.compiled.rules import answer, play_on
from megaland_env.engine.compiled.rules.setup import new_game

STEP, BEGIN, GO_ON = range(3)
"""What to do: answer decisions, start games, or go on with a stage."""

_PASS_BIT = np.uint64(1 << PASS)
_ONE = np.uint64(1)

ROOM_FOR_A_STEP = 1 << 16
"""The number of int32 of the log that must be free before a game is played: more than any step of a game needs."""

INVALID = -1


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
    margin_seen: npt.NDArray[np.int16],
    start: int,
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
        margin_seen: (P, N), read and written in a step.
        start: the index into ``games`` of the first to be played; the checks are made when it is 0.

    Returns:
        The index into ``games`` of the first game not played, which is n unless the log is full. ``INVALID`` if some
        argument is not valid for a step; nothing has changed then.
    """
    memory = memory_of(state_bytes, options, log)
    number = len(numbers)
    everyone = len(games) == 0
    chosen = np.empty(MAX_PLAYERS, np.int64)
    if start == 0:
        if not everyone and not _distinct(games, named):
            return INVALID
        if what == STEP and not _all_legal(memory, games, numbers):
            return INVALID
    for i in range(start, number):
        if memory.log_size and memory.log_size < _used(log) + ROOM_FOR_A_STEP:
            return i
        game = i if everyone else games[i]
        if what == STEP:
            _step(memory, game, numbers[i], chosen, reward, gamma, rewards, margin_seen)
        elif what == BEGIN:
            seed = np.uint64(numbers[i, 0])
            play_on(memory, game, new_game(memory, game, seed, setting[:NUM_BUILDINGS], setting[NUM_BUILDINGS:]))
        else:
            play_on(memory, game, numbers[i, 0])
    return number


@compiled
def _used(log: npt.NDArray[np.int32]) -> int:
    return 1 + 7 * np.int64(log[0])


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
    legal = True
    for i in range(len(actions)):
        game = i if everyone else games[i]
        if memory.kind[game] == Kind.NONE:
            legal &= memory.round[game] > 0
        for seat in range(memory.num_players):
            if memory.active[seat, game]:
                action = actions[i, seat]
                legal &= 0 <= action < 64 and (memory.legal[seat, game] >> np.uint64(action)) & _ONE != 0
    return legal


@compiled
def _step(
    memory: Memory,
    game: int,
    actions: Ints,
    chosen: Ints,
    reward: int,
    gamma: float,
    rewards: Floats,
    margin_seen: npt.NDArray[np.int16],
) -> None:
    """Answer the decision of a game, play on, and pay the rewards."""
    kind = memory.kind[game]
    if reward != payout.NOT_PAID:
        for seat in range(memory.num_players):
            rewards[seat, game] = 0
    if kind == Kind.NONE:
        return  # finished games do not move
    for seat in range(memory.num_players):
        if memory.active[seat, game]:
            chosen[seat] = actions[seat]
            memory.active[seat, game] = False
            memory.legal[seat, game] = _PASS_BIT
            memory.asked[seat, game] += 1
        else:
            chosen[seat] = PASS
    memory.steps[game] += 1
    play_on(memory, game, answer(memory, game, kind, chosen))
    if reward != payout.NOT_PAID:
        payout.pay(memory, game, reward, gamma, rewards, margin_seen)
