"""``ThresholdAgent``: a few simple rules; the baseline for all other agents.

It leaves the level when the next card is too likely to make it fall, buys the most valuable building, and pays with the
treasures it holds most of. It does not plan, and uses no randomness.
"""

from __future__ import annotations

import numpy as np

from megaland_agents.compiled.program import THRESHOLD, Code
from megaland_agents.heuristics.base import Actions, RiskAgent, best_building, best_heart, building_worth, check_number
from megaland_env import Decisions
from megaland_env.actions import PASS


class ThresholdAgent(RiskAgent):
    """Leaves the level when the risk is too high, and buys the most valuable building.

    - *Stay or leave*: leaves if the probability of falling on the next card is above ``risk``. It ignores the other
      players, and the number of treasures it carries.
    - *Jump*: if the probability of falling without a jump is above ``jump_risk`` and a jump lowers it.
    - *Rabbit*: always trades; three carrots are the least valuable treasures that can be carried.
    - *Buy*: in the first ``heart_rounds`` rounds a heart, if it can. Otherwise the most valuable building, by its
      immediate coins plus ``COINS_PER_ROUND`` for each round left until round ``horizon``; ties go to the building that
      comes first in the rules. If there is no building to buy, a heart; it passes only if there is neither.
    - *Pay*, and the treasure a heart is bought with: the type held most; of equals, the commoner one.
    - *Keep* (Herb Hut, storing): one of each type before a second of any, the rarer type first.
    - *Reptile Stable*: swaps a treasure held at least twice, chosen as in *pay*; passes if there is none.

    Args:
        risk: the highest probability of falling at which it stays.
        jump_risk: the highest probability of falling at which it saves its jump token.
        heart_rounds: the number of rounds, from the first on, in which hearts come first.
        horizon: the last round in which it expects a building to pay.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, risk: float = 0.35, jump_risk: float = 0.1, heart_rounds: int = 3, horizon: int = 8) -> None:
        super().__init__(risk, jump_risk)
        check_number("heart_rounds", heart_rounds, "rounds")
        check_number("horizon", horizon, "rounds")
        self.heart_rounds = heart_rounds
        self.horizon = horizon
        self._worth = building_worth(horizon)

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent."""
        return self._code(THRESHOLD, self._worth, self.heart_rounds) if type(self) is ThresholdAgent else None

    def _buy(self, decisions: Decisions) -> Actions:
        rounds = decisions.view.round
        building = best_building(decisions, self._worth[np.minimum(rounds, self.horizon)])
        heart = best_heart(decisions)
        hearts_first = (heart != PASS) & ((rounds <= self.heart_rounds) | (building == PASS))
        return np.where(hearts_first, heart, building)
