"""Limits of the value carried, from which it is better to leave the level, or to jump, by the exact solution of a run.

They depend on a few possessions of the player, which make a *key*, and on the situation in the level, which is a
position in the tables of that key. Each solution (run_solver.py) is computed when it is first needed.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_agents.planning.run_solver import TOLERANCE, RunModel, solve
from megaland_agents.planning.valuation import MOST_TOKEN_WORTH
from megaland_env.arrays import Floats, Ints
from megaland_env.cards import BAZAAR_COINS, BAZAAR_TREASURES, MAX_HEARTS, NUM_LEVEL_CARDS, TEMPLE_COINS

MOST_TOKENS = 2
MOST_COPIES = 2
"""The most Temples or Bazaars in the solver; more are treated as two."""
LEAVING, JUMPING = range(2)

_UNIT = 0.5  # unit of the solver: half the mean value of a draw
_DRAW = (0.0, 1 / 3, 1 / 3, 1 / 3)  # probabilities that a draw is worth 0, 1, 2, 3 units; the mean is 2
_TRADE = (0.0, 0.0, 0.0, 0.0, 1.0)  # trading three carrots gains about as much as one more draw
_MOST_CARRIED = 28  # units
_TOKEN_STEP = 0.25  # the value of a token is rounded to these steps, which limits the number of solutions
_POSITIONS = (1 << NUM_LEVEL_CARDS) * (MAX_HEARTS + 1) * (MOST_TOKENS + 1)

KEYS = (2, MOST_COPIES + 1, MOST_COPIES + 1, 2, round(MOST_TOKEN_WORTH / _TOKEN_STEP) + 1)
"""What a key consists of: Soap Makers, Temples, Bazaars, carrots to trade, and the value of a token; how many each."""


def pack(*parts: npt.NDArray[Any]) -> Ints:
    """(M,) the keys."""
    return np.ravel_multi_index(tuple(part.astype(np.int64) for part in parts), KEYS)


def token_steps(token: Any) -> npt.NDArray[Any]:
    """The value of a jump token, in coins, as the last part of a key."""
    steps: npt.NDArray[Any] = np.rint(np.asarray(token) / _TOKEN_STEP)
    return steps


class Tables(NamedTuple):
    """Tables of the keys that were needed so far.

    Attributes:
        slots: (keys,) int64, the slot of each key, or -1.
        limits: (slots, 2, 27648) float32, the limits for ``LEAVING`` and ``JUMPING``; the last axis is the set of
            unseen cards (1024), the hearts (9) and the jump tokens (3), flattened.
    """

    slots: Ints
    limits: Floats


class RunLimits:
    """The limits of all keys."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self.tables = Tables(np.full(np.prod(KEYS), -1), np.empty((4, 2, _POSITIONS), np.float32))

    def table(self, key: int, what: int) -> Floats:
        """(27648,) the limits of a key for ``LEAVING`` or ``JUMPING``."""
        if self.tables.slots[key] < 0:
            self.add(key)
        table: Floats = self.tables.limits[self.tables.slots[key], what]
        return table

    def add(self, key: int) -> None:
        """Compute the limits of a key, and put them into ``tables``, which become new ones."""
        with self._lock:
            slots, limits = self.tables
            if slots[key] >= 0:
                return
            if self._number == len(limits):
                limits = np.concatenate([limits, np.empty_like(limits)])
            limits[self._number] = _limits(key)
            slots = slots.copy()  # others may be reading
            slots[key] = self._number
            self._number += 1
            self.tables = Tables(slots, limits)


LIMITS = RunLimits()
"""Those that are shared by all agents."""


def _limits(key: int) -> tuple[Floats, Floats]:
    """(27648,) each: the limits for leaving and for jumping."""
    soap, temples, bazaars, carrots, token = (int(part) for part in np.unravel_index(key, KEYS))
    coin = 1 / _UNIT  # units: a coin is worth about as much as a draw
    solution = solve(
        RunModel(
            draw=_DRAW,
            trade=_TRADE if carrots else (),
            soap_makers=bool(soap),
            serpent=TEMPLE_COINS * temples * coin,
            bazaar=BAZAAR_COINS * bazaars * coin,
            bazaar_at=round(BAZAAR_TREASURES / _UNIT),
            token=token * _TOKEN_STEP * coin,
            most_tokens=MOST_TOKENS,
            most_carried=_MOST_CARRIED,
        )
    )
    return (
        _last_above(solution.stay - solution.leave) * np.float32(_UNIT),
        _first_above(solution.jump - solution.walk) * np.float32(_UNIT),
    )


def _last_above(gain: npt.NDArray[np.float64]) -> Floats:
    """Return, flattened, the largest value carried with a positive gain, interpolated; infinity if that is the last."""
    above = gain > TOLERANCE
    last = gain.shape[-1] - 1 - above[..., ::-1].argmax(axis=-1)
    here = np.take_along_axis(gain, last[..., None], -1)[..., 0]
    after = np.take_along_axis(gain, np.minimum(last + 1, gain.shape[-1] - 1)[..., None], -1)[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = last + here / (here - after)
    limit[last == gain.shape[-1] - 1] = np.inf
    limit[~above.any(axis=-1)] = -np.inf
    flat: Floats = limit.astype(np.float32).reshape(-1)
    return flat


def _first_above(gain: npt.NDArray[np.float64]) -> Floats:
    """Return, flattened, the smallest value carried with a positive gain; -inf if it is the first, inf if none has."""
    above = gain > TOLERANCE
    first = above.argmax(axis=-1)
    limit = np.where(first == 0, -np.inf, first - 0.5)
    limit[~above.any(axis=-1)] = np.inf
    flat: Floats = limit.astype(np.float32).reshape(-1)
    return flat
