"""Reward functions, injected into the engine: ``MegalandGames(..., reward="win")``.

A reward is any callable of an ``Outcome`` that returns (n, P) numbers. One that pays only when a game ends says so with
an attribute ``at_end_only = True`` and is then called for those games alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from megaland_env.cards import WINNING_COINS


class Outcome(NamedTuple):
    """What a step brought to n games of P seats.

    Attributes:
        game: (n,) positions in the batch.
        terminated: (n,) bool, over by N5.
        truncated: (n,) bool, over by the cut-off (D4).
        winners: (n, P) bool, all false unless terminated.
        coins: (n, P) coins now.
        margin: (n, P) own coins minus the most of any other seat, now.
        margin_before: (n, P) the same when the seat last observed the game (0 at the start).
        observes: (n, P) bool, the seats that observe now: they are asked, or the game is over.
    """

    game: npt.NDArray[np.int64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    winners: npt.NDArray[np.bool_]
    coins: npt.NDArray[np.int16]
    margin: npt.NDArray[np.int16]
    margin_before: npt.NDArray[np.int16]
    observes: npt.NDArray[np.bool_]


def win_shares(winners: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Shares of the win at each table: 1 / number of winners for each winner, 0 for everybody else (N5, D4).

    Args:
        winners: (..., P) bool, who has won; nobody in a truncated game or in one that is not over.

    Returns:
        (..., P) float64.
    """
    shares: npt.NDArray[np.float64] = winners / np.maximum(winners.sum(axis=-1, keepdims=True), 1)
    return shares


class Reward(Protocol):
    """What the engine takes as a reward."""

    def __call__(self, outcome: Outcome, /) -> npt.NDArray[Any]:
        """(n, P) what each seat is paid for the step."""
        ...


@dataclass(frozen=True)
class Win:
    """1 / number of winners for each winner, shifted so that a table's rewards sum to 0; 0 for a truncated game."""

    at_end_only = True

    def __call__(self, outcome: Outcome) -> npt.NDArray[np.float64]:
        """(n, P): 1 - 1/P for a sole winner, -1/P for the others."""
        won = outcome.winners.any(axis=1, keepdims=True)
        reward: npt.NDArray[np.float64] = win_shares(outcome.winners) - won / outcome.winners.shape[1]
        return reward


@dataclass(frozen=True)
class Coins:
    """Own coins minus the best other's, over 20, paid once at the end; also for a truncated game."""

    at_end_only = True

    def __call__(self, outcome: Outcome) -> npt.NDArray[np.float64]:
        """(n, P): the margin at the end."""
        reward: npt.NDArray[np.float64] = outcome.margin / WINNING_COINS
        return reward


@dataclass(frozen=True)
class Shaped:
    """``win`` plus potential-based shaping, gamma * Phi(s') - Phi(s) with Phi = margin / 20.

    Phi is taken at a seat's own observations, so that the terms cancel along its trajectory as the theory wants (Ng,
    Harada and Russell, 1999); it is 0 at termination and kept at truncation, where a learner bootstraps.

    Attributes:
        gamma: the discount; it must equal the learner's.
    """

    gamma: float = 1.0
    at_end_only = False

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma is {self.gamma}; it must be from 0 to 1")

    def __call__(self, outcome: Outcome) -> npt.NDArray[np.float64]:
        """(n, P): the reward of ``win`` and the difference of the potentials, for the seats that observe."""
        now = np.where(outcome.terminated[:, None], 0, outcome.margin)
        shaping = (self.gamma * now - outcome.margin_before) / WINNING_COINS
        reward: npt.NDArray[np.float64] = Win()(outcome) + outcome.observes * shaping
        return reward


NAMED: dict[str, type[Win] | type[Coins] | type[Shaped]] = {"win": Win, "coins": Coins, "shaped": Shaped}


def make_reward(reward: str | Reward) -> Reward:
    """A reward by name, or the callable itself.

    Raises:
        ValueError: there is no reward of that name.
    """
    if isinstance(reward, str):
        if reward not in NAMED:
            raise ValueError(f"there is no reward {reward!r}; there are {', '.join(NAMED)}, and any callable")
        return NAMED[reward]()
    if not callable(reward):
        raise ValueError(f"a reward is a name or a callable, not {reward!r}")
    return reward
