"""The built-in rewards (``megaland_env/rewards.py`` has the definitions), paid to the seats of one game."""

from __future__ import annotations

from megaland_env.actions import Kind
from megaland_env.cards import WINNING_COINS
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.engine import COINS, SHAPED
from megaland_env.engine.compiled.memory import Memory


@compiled
def pay(memory: Memory, game: int, reward: int, gamma: float) -> None:
    """Pay the rewards of a step, and note the margins that the seats have now observed.

    Args:
        memory: the batch.
        game: the game.
        reward: the number of the reward.
        gamma: the discount factor of ``SHAPED``.
    """
    over = memory.kind[game] == Kind.NONE
    if not over and reward != SHAPED:
        return
    winners = 0
    for seat in range(memory.num_players):
        winners += as_int(memory.winners[seat, game])
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
            paid += (gamma * now - memory.margins_seen[seat, game]) / WINNING_COINS
        memory.rewards[seat, game] = paid
        if observes:
            memory.margins_seen[seat, game] = margin


@compiled
def _margin(memory: Memory, game: int, seat: int) -> int:
    """Own coins minus those of the best other seat."""
    best_other = -1
    for other in range(memory.num_players):
        if other != seat:
            best_other = max(best_other, memory.coins[other, game])
    return memory.coins[seat, game] - best_other
