"""The one function that Python calls: it decides, or plays roll-outs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from megaland_agents.compiled import base, heuristics, planner
from megaland_agents.compiled.arrays import uncounted
from megaland_agents.compiled.program import BUILDER, DECIDE, DONE, HEARTS, PLANNER, SAVER
from megaland_agents.planning.run_limits import JUMPING, LEAVING
from megaland_env.actions import PASS, TRADE, Kind
from megaland_env.arrays import Bytes, Doubles, Floats, Ints, Words
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.engine import INVALID, NOT_PAID, STEP
from megaland_env.engine.compiled.kernel import play
from megaland_env.engine.compiled.memory import Memory, memory_of

_ROWS = types.Array(types.int64, 1, "C", readonly=True)

SIGNATURE = (
    types.uint8[::1],
    types.int64[::1],
    types.uint64[::1],
    types.int32[::1],
    types.uint8[::1],
    types.float32[:, ::1],
    types.int16[:, ::1],
    types.int64,
    types.int64,
    types.float64[::1],
    types.float32[::1],
    types.float32[::1],
    types.int64[::1],
    types.float32[:, :, ::1],
    types.int64[::1],
    _ROWS,
    _ROWS,
    types.int64[::1],
    _ROWS,
    types.int64,
    types.int64,
)
"""The types of the arguments of ``run``."""

_MISSING = -1


@compiled
def run(
    state_bytes: Bytes,
    options: Ints,
    setting: Words,
    log: npt.NDArray[np.int32],
    named: Bytes,
    rewards: Floats,
    margins_seen: npt.NDArray[np.int16],
    what: int,
    agent: int,
    parameters: Doubles,
    worth: Floats,
    values: Floats,
    slots: Ints,
    limits: Floats,
    missing: Ints,
    games: Ints,
    seats: Ints,
    actions: Ints,
    ends: Ints,
    start: int,
    stop: int,
) -> int:
    """Decide for rows of games and seats, or play roll-outs.

    Args:
        state_bytes: ``GameState.bytes``; from here to ``margins_seen`` as for ``engine.compiled.kernel.play``.
        options: likewise.
        setting: likewise.
        log: likewise.
        named: likewise.
        rewards: likewise.
        margins_seen: likewise.
        what: ``DECIDE`` or ``ROLL_OUT``.
        agent: the number of the agent (program.py).
        parameters: its parameters.
        worth: its table of values.
        values: (128,) room for the values of a decision (valuation.py).
        slots: as ``run_limits.Tables`` says.
        limits: likewise.
        missing: (1,) where the key of a missing solution is written.
        games: (n,) positions of the games; in roll-outs no two are equal.
        seats: (n,) the seats that decide.
        actions: (n,) where decisions are written; in roll-outs what ``seats`` begin with, which becomes ``DONE``.
        ends: (n,) the rounds at which roll-outs stop; empty for ``DECIDE``.
        start: the index into ``games`` of the first to be answered or played.
        stop: the index after the last.

    Returns:
        ``stop``; or the index at which to go on when the solution for the key in ``missing`` has been added; or
        ``INVALID`` if there is no such game or seat, and nothing has changed then.
    """
    memory = memory_of(state_bytes, options, log, rewards, margins_seen)
    parameters, worth, values = uncounted(parameters), uncounted(worth), uncounted(values)
    slots, limits, missing = uncounted(slots), uncounted(limits), uncounted(missing)
    for i in range(start, stop):
        if not (0 <= games[i] < memory.num_games and 0 <= seats[i] < memory.num_players):
            return INVALID
    if what == DECIDE:
        for i in range(start, stop):
            action = decide(memory, games[i], seats[i], agent, parameters, worth, slots, limits, missing, values)
            if action == _MISSING:
                return i
            actions[i] = action
        return stop
    played = np.zeros(1, np.int64)
    chosen = np.zeros((1, memory.num_players), np.int64)
    for i in range(start, stop):
        game = played[0] = games[i]
        while memory.kind[game] != Kind.NONE and memory.round[game] < ends[i]:
            for seat in range(memory.num_players):
                if memory.active[seat, game]:
                    action = actions[i]
                    if seat != seats[i] or action == DONE:
                        action = decide(memory, game, seat, agent, parameters, worth, slots, limits, missing, values)
                    if action == _MISSING:
                        return i
                    chosen[0, seat] = action
            actions[i] = DONE
            play(
                state_bytes,
                options,
                setting,
                log,
                played,
                named,
                STEP,
                chosen,
                NOT_PAID,
                1.0,
                rewards,
                margins_seen,
                0,
                1,
                False,
            )
    return stop


@compiled
def decide(
    memory: Memory,
    game: int,
    seat: int,
    agent: int,
    parameters: Doubles,
    worth: Floats,
    slots: Ints,
    limits: Floats,
    missing: Ints,
    values: Floats,
) -> int:
    """The action of a seat; PASS if it is not active, ``_MISSING`` if a solution of the run is missing."""
    if not memory.active[seat, game]:
        return PASS
    kind = memory.kind[game]
    if agent == PLANNER and (kind == Kind.RUN or kind == Kind.JUMP):
        carried = planner.value_carried(memory, game, seat, worth, values)
        key = planner.key(memory, game, seat, values, parameters)
        at = planner.position(memory, game, seat)
        slot = slots[key]
        if slot < 0:
            missing[0] = key
            return _MISSING
        if kind == Kind.RUN:
            return planner.run(carried, limits[slot, LEAVING, at], worth)
        return planner.jump(carried, limits[slot, JUMPING, at])
    if kind == Kind.RUN:
        if agent == SAVER:
            return heuristics.saver_run(memory, game, seat, parameters)
        return base.run_by_risk(memory, game, seat, parameters)
    if kind == Kind.JUMP:
        return base.jump_by_risk(memory, game, seat, parameters)
    if kind == Kind.BUY:
        return _buy(memory, game, seat, agent, parameters, worth, values)
    if kind == Kind.RABBIT:
        return TRADE
    if kind == Kind.REPTILE:
        return base.reptile(memory, game, seat)
    if kind == Kind.PAY:
        return (
            heuristics.hearts_pay(memory, game, seat, parameters) if agent == HEARTS else base.pay(memory, game, seat)
        )
    if agent == HEARTS:
        return heuristics.hearts_keep(memory, game, seat, parameters)
    return base.keep(memory, game, seat)


@compiled
def _buy(memory: Memory, game: int, seat: int, agent: int, parameters: Doubles, worth: Floats, values: Floats) -> int:
    if agent == PLANNER:
        return planner.buy(memory, game, seat, worth, values)
    if agent == SAVER:
        return heuristics.saver_buy(memory, game, seat, parameters, worth)
    if agent == BUILDER:
        return heuristics.builder_buy(memory, game, seat, parameters, worth)
    return heuristics.buy_heart_or_best(memory, game, seat, parameters, worth)
