"""The built-in rewards (``megaland_env/rewards.py`` has the definitions), paid to the seats of one game."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.arrays import Floats
from megaland_env.cards import WINNING_COINS
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory

NOT_PAID, WIN, COINS, SHAPED = range(4)
"""The numbers of the rewards; ``NOT_PAID`` if the caller pays them."""


@compiled
def pay(
    memory: Memory, game: int, reward: int, gamma: float, rewards: Floats, margin_seen: npt.NDArray[np.int16]
) -> None:
    """Pay the rewards of a step, and note the margins that the seats have now observed.

    Args:
        memory: the batch.
        game: the game.
        reward: the number of the reward.
        gamma: the discount factor of ``SHAPED``.
        rewards: (P, N) float32.
        margin_seen: (P, N) the margin when each seat last observed the game.
    """
    over = memory.kind[game] == Kind.NONE
    if not over and reward != SHAPED:
        return
    winners = 0
    for seat in range(memory.num_players):
        winners += np.int64(memory.winners[seat, game])
    for seat in range(memory.num_players):
        margin = _margin(memory, game, seat)
        observes = over or memory.active[seat, game]
        paid = 0.0
        if reward != COINS and winners:
            paid = (1.0 / winners if memory.winners[seat, game] else 0.0) - 1.0 / memory.num_players
        if reward == COINS:
            paid = margin / WINNING_COINS
        if reward == SHAPED and observes:
            now = 0 if memory.terminated[game] else margin
            paid += (gamma * now - margin_seen[seat, game]) / WINNING_COINS
        rewards[seat, game] = paid
        if observes:
            margin_seen[seat, game] = margin


@compiled
def _margin(memory: Memory, game: int, seat: int) -> int:
    """Own coins minus those of the best other seat."""
    best_other = -1
    for other in range(memory.num_players):
        if other != seat:
            best_other = max(best_other, memory.coins[other, game])
    return memory.coins[seat, game] - best_other
