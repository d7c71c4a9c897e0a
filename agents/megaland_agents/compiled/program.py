"""The compiled decisions as an agent calls them. This module imports no Numba.

The actions are those that NumPy chooses. Compiled code is used for games that the compiled engine plays, if it is in
the cache, or that engine was asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_agents.planning.run_limits import LIMITS
from megaland_env import Decisions, MegalandGames
from megaland_env.arrays import Doubles, Floats, Ints
from megaland_env.engine.compiled.cache import Program
from megaland_env.engine.compiled.engine import INVALID, CompiledEngine
from megaland_env.engine.compiled.programs import RULES

AGENTS = Program(
    "agents",
    "megaland_agents.compiled.kernel",
    "run",
    "the decisions of agents",
    packages=("megaland_agents",),
    calls=(RULES,),
)
PROGRAMS: tuple[Program, ...] = (AGENTS,)
"""The programs of this package, for ``megaland warm-up``."""

PLANNER, THRESHOLD, HEARTS, SAVER, BUILDER = range(5)
"""Numbers of the agents."""
DECIDE, ROLL_OUT = range(2)
"""What to do."""
ROOM_FOR_VALUES = 128
"""The number of float32 that compiled code needs for the values of a decision (valuation.py)."""
DONE = -1
"""In place of the action with which a roll-out begins, when it has begun."""

_NOT_USED = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Code:
    """What compiled code needs to play like an agent.

    Attributes:
        agent: the number of the agent.
        parameters: (k,) float64: for a ``RiskAgent`` its risks and its own parameters; for the planner the value of a
            jump token as a part of a key (run_limits.py).
        worth: (n,) float32: for a ``RiskAgent`` the values of the buildings, flattened; for the planner what
            ``Numbers.flat`` returns.
    """

    agent: int
    parameters: Doubles
    worth: Floats


def as_limit(number: float) -> float:
    """The number with which NumPy compares a float32 array where it is compared with this one."""
    return float(np.asarray(number, np.result_type(np.float32, number)))


def decide(code: Code, decisions: Decisions) -> npt.NDArray[np.uint8] | None:
    """(M,) the actions; ``None`` where NumPy has to choose them."""
    engine = decisions.engine_for(AGENTS)
    if engine is None:
        return None
    actions = np.empty(len(decisions), np.int64)
    _run(engine, DECIDE, code, decisions.game, decisions.seat, actions, _NOT_USED)
    return actions.astype(np.uint8)


def roll_out(code: Code, games: MegalandGames, seats: Ints, actions: Ints, ends: npt.NDArray[np.int32]) -> bool:
    """Play games on, with one agent in all seats.

    Args:
        code: the agent.
        games: G games that wait for decisions; they are played in place.
        seats: (G,) a seat of each that decides now.
        actions: (G,) its action; legal.
        ends: (G,) the round at which each game stops; later than its round now.

    Returns:
        False where NumPy has to play; nothing has changed then.
    """
    engine = games.engine_for(AGENTS, plays=True)
    if engine is None:
        return False
    _run(engine, ROLL_OUT, code, np.arange(games.num_games), seats, actions.astype(np.int64), ends)
    return True


def _run(
    engine: CompiledEngine, what: int, code: Code, games: Ints, seats: Ints, actions: Ints, ends: npt.NDArray[Any]
) -> None:
    missing = np.empty(1, np.int64)
    start, stop = 0, len(games)
    agent = what, code.agent, code.parameters, code.worth, np.empty(ROOM_FOR_VALUES, np.float32)
    rows: tuple[Any, ...] = tuple(np.ascontiguousarray(array, np.int64) for array in (games, seats, actions, ends))
    while True:
        start = engine.call(AGENTS, *agent, *LIMITS.tables, missing, *rows, start, stop)
        if start == INVALID:
            raise IndexError("a row names a game or a seat that there is not")
        if start == stop:
            return
        LIMITS.add(int(missing[0]))
