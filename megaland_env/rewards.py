"""Reward functions for ``MegalandGames(..., reward=...)``.

A reward is any callable that takes an ``Outcome`` and returns (n, P) numbers. A reward that is paid only at the end of
a game has an attribute ``at_end_only = True``; it is then called for finished games alone.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Bools, Doubles, Ints
from megaland_env.cards import WINNING_COINS
from megaland_env.checks import is_number


class Outcome(NamedTuple):
    """The outcome of a step in n games of P seats.

    Attributes:
        game: (n,) positions in the batch.
        terminated: (n,) bool, over by the rules (N5).
        truncated: (n,) bool, over by the cut-off (D4).
        winners: (n, P) bool, all false unless terminated.
        coins: (n, P) coins now.
        margin: (n, P) own coins minus the most coins of any other seat, now.
        margin_before: (n, P) the margin at the time when the seat last observed the game; 0 before that.
        observes: (n, P) bool, the seats that observe the game now, because they must decide or the game is over.
    """

    game: Ints
    terminated: Bools
    truncated: Bools
    winners: Bools
    coins: npt.NDArray[np.int16]
    margin: npt.NDArray[np.int16]
    margin_before: npt.NDArray[np.int16]
    observes: Bools


def win_shares(winners: Bools) -> Doubles:
    """Shares of the win at each table: 1 / number of winners for each winner, 0 for all others (N5, D4).

    Args:
        winners: (..., P) bool, the seats that have won; none in a truncated or unfinished game.

    Returns:
        (..., P) float64.
    """
    shares: Doubles = winners / np.maximum(winners.sum(axis=-1, keepdims=True), 1)
    return shares


class Reward(Protocol):
    """The type of a reward."""

    def __call__(self, outcome: Outcome, /) -> npt.NDArray[Any]:
        """The rewards (n, P) for the step."""
        ...


@dataclass(frozen=True)
class Win:
    """1 / number of winners for each winner, shifted so that the rewards of a game sum to 0; 0 for a truncated game."""

    at_end_only = True

    def __call__(self, outcome: Outcome) -> Doubles:
        """(n, P): 1 - 1/P for a sole winner, -1/P for the others."""
        won = outcome.winners.any(axis=1, keepdims=True)
        reward: Doubles = win_shares(outcome.winners) - won / outcome.winners.shape[1]
        return reward


@dataclass(frozen=True)
class Coins:
    """Own coins minus those of the best other seat, over 20; paid once, at the end, also of a truncated game."""

    at_end_only = True

    def __call__(self, outcome: Outcome) -> Doubles:
        """(n, P): the margin at the end, over 20."""
        reward: Doubles = outcome.margin / WINNING_COINS
        return reward


@dataclass(frozen=True)
class Shaped:
    """``win`` plus potential-based shaping: gamma * Phi(s') - Phi(s), with Phi = margin / 20.

    Phi is evaluated when a seat observes the game, so the terms cancel along its trajectory and the best policies stay
    the same (Ng, Harada and Russell, 1999). It is 0 at termination. At truncation, where a learner bootstraps, it keeps
    its value.

    Attributes:
        gamma: the discount factor, from 0 to 1; it must equal that of the learner.
    """

    gamma: float = 1.0
    at_end_only = False

    def __post_init__(self) -> None:
        if not is_number(self.gamma) or not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma is {self.gamma!r}; it must be a number from 0 to 1")

    def __call__(self, outcome: Outcome) -> Doubles:
        """(n, P): the reward of ``win``, plus the difference of the potentials for the seats that observe."""
        now = np.where(outcome.terminated[:, None], 0, outcome.margin)
        shaping = (self.gamma * now - outcome.margin_before) / WINNING_COINS
        reward: Doubles = Win()(outcome) + outcome.observes * shaping
        return reward


NAMED: dict[str, type[Win] | type[Coins] | type[Shaped]] = {"win": Win, "coins": Coins, "shaped": Shaped}


def make_reward(reward: str | Reward) -> Reward:
    """A reward by name, or the callable itself.

    Raises:
        ValueError: there is no reward of that name, or it is a class or no callable.
    """
    if isinstance(reward, str):
        if reward not in NAMED:
            raise ValueError(f"there is no reward {reward!r}; there are {', '.join(NAMED)}, and any callable")
        return NAMED[reward]()
    if inspect.isclass(reward):
        name = reward.__name__
        raise ValueError(f"reward is the class {name}; it must be an object, such as {name}()")
    if not callable(reward):
        raise ValueError(f"a reward is a name or a callable, not {reward!r}")
    return reward
