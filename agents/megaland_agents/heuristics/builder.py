"""``EngineAgent``: builds an engine that pays every round."""

from __future__ import annotations

import numpy as np

from megaland_agents.heuristics.base import LASTING_COINS, Actions, RiskAgent, best_building, best_heart, check_number
from megaland_env import Decisions
from megaland_env.actions import PASS
from megaland_env.cards import BUILDING_COINS


class EngineAgent(RiskAgent):
    """Builds an engine: buys what pays in every round, and late in the game coins at once.

    - *Buy*: as long as nobody has ``late`` coins, the building that brings most coins a round (``COINS_PER_ROUND``),
      and of two alike the one with more coins at once; after that the other way round. What is left buys hearts.
    - *Stay or leave*: leaves if the chance to fall on the next card is more than ``risk``.

    The rest is as for all heuristics.

    Args:
        late: it is late when somebody has so many coins.
        risk: the highest chance to fall with which it stays.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, late: int = 8, risk: float = 0.3) -> None:
        super().__init__(risk, jump_risk=0.1)
        check_number("late", late, "coins")
        self.late = late
        first = 100  # so much heavier weighs what comes first
        early = first * LASTING_COINS + BUILDING_COINS
        self._worth = np.stack([early, LASTING_COINS + first * BUILDING_COINS]).astype(np.float32)

    def _buy(self, decisions: Decisions) -> Actions:
        late = decisions.view.coins.max(axis=1) >= self.late
        building = best_building(decisions, self._worth[late.astype(np.uint8)])
        return np.where(building != PASS, building, best_heart(decisions))
