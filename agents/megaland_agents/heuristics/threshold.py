"""``ThresholdAgent``: the player of a few plain rules, and the yardstick for all others.

It leaves the level when the next card is too likely to make it fall, buys whatever is worth most, and pays with what it
has plenty of. It plans nothing and draws no luck.
"""

from __future__ import annotations

import numpy as np

from megaland_agents.heuristics.base import Actions, RiskAgent, best_building, best_heart, building_worth, check_number
from megaland_env import Decisions
from megaland_env.actions import PASS


class ThresholdAgent(RiskAgent):
    """Leaves when the risk is too high, and buys the most worth.

    - *Stay or leave*: leaves if the chance to fall on the next card is more than ``risk``. The others do not matter to
      it, nor does how much it carries.
    - *Jump*: if the chance to fall without a jump is more than ``jump_risk``, and less with one.
    - *Rabbit*: always trades; three carrots more are the least of what one can carry.
    - *Buy*: in the first ``heart_rounds`` rounds a heart before all else. Then the building of most worth: its coins at
      once, and ``COINS_PER_ROUND`` for each of the rounds that are left until round ``horizon``; of two alike the one
      that stands first in the rules. When there is no building to buy, a heart; it passes only when there is neither.
    - *Pay*, also which treasure a heart is bought with: of what is held most, the commoner type first.
    - *Keep* (Herb Hut, storing): types that are not yet kept before second ones, the rarer first.
    - *Reptile Stable*: swaps a treasure that is held twice, as in paying; passes if there is none.

    Args:
        risk: the highest chance to fall with which it stays.
        jump_risk: the highest chance to fall with which it saves its jump token.
        heart_rounds: so many rounds begin with buying hearts.
        horizon: the last round for which it expects a building to pay.

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

    def _buy(self, decisions: Decisions) -> Actions:
        rounds = decisions.view.round
        building = best_building(decisions, self._worth[np.minimum(rounds, self.horizon)])
        heart = best_heart(decisions)
        hearts_first = (heart != PASS) & ((rounds <= self.heart_rounds) | (building == PASS))
        return np.where(hearts_first, heart, building)
