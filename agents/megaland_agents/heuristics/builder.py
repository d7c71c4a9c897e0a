"""``BuilderAgent``: buys buildings with a steady income first."""

from __future__ import annotations

import numpy as np

from megaland_agents.compiled.program import BUILDER, Code
from megaland_agents.heuristics.base import LASTING_COINS, Actions, RiskAgent, best_building, best_heart, check_number
from megaland_env import Decisions
from megaland_env.actions import PASS
from megaland_env.cards import BUILDING_COINS


class BuilderAgent(RiskAgent):
    """Buys buildings with a steady income first, and coins late in the game.

    - *Buy*: as long as every player has fewer than ``late`` coins, the building with the highest income per round
      (``COINS_PER_ROUND``), ties broken by its immediate coins. After that, the building with the most immediate coins,
      ties broken by its income. A heart if there is no building to buy.
    - *Stay or leave*: leaves if the probability of falling on the next card is above ``risk``.

    Everything else is as described in ``HeuristicAgent`` and ``RiskAgent``.

    Args:
        late: the number of coins of the richest player from which the game counts as late.
        risk: the highest probability of falling at which it stays.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, late: int = 8, risk: float = 0.3) -> None:
        super().__init__(risk, jump_risk=0.1)
        check_number("late", late, "coins")
        self.late = late
        first = 100  # weight of the criterion that decides first: larger than any value of the other one
        early = first * LASTING_COINS + BUILDING_COINS
        self._worth = np.stack([early, LASTING_COINS + first * BUILDING_COINS]).astype(np.float32)

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent."""
        return self._code(BUILDER, self._worth, self.late) if type(self) is BuilderAgent else None

    def _buy(self, decisions: Decisions) -> Actions:
        late = decisions.view.coins.max(axis=1) >= self.late
        building = best_building(decisions, self._worth[late.astype(np.uint8)])
        return np.where(building != PASS, building, best_heart(decisions))
