"""``SaverAgent``: avoids risk, and saves for expensive buildings."""

from __future__ import annotations

import numpy as np

from megaland_agents.compiled.program import SAVER, Code
from megaland_agents.heuristics.base import Actions, RiskAgent, best_building, best_heart, building_worth, check_number
from megaland_env import Decisions
from megaland_env.actions import LEAVE, PASS, STAY
from megaland_env.cards import BUILDING_COSTS

_HORIZON = 8  # the last round in which it expects a building to pay, as for the threshold agent


class SaverAgent(RiskAgent):
    """Avoids risk: leaves the level early, and saves for expensive buildings.

    - *Stay or leave*: leaves when it carries ``enough`` treasures and the next card can make it fall, and in any case
      when the probability of falling is above ``risk``.
    - *Buy*: the most valuable building (by the values of the threshold agent) that costs at least ``dear`` treasures.
      If there is none, it spends only the treasures that it could not store at night (N2: one for each building that it
      owns): on the most valuable building they can pay for, or else on a heart, which may cost one treasure more.
    - *Jump*: whenever the card could make it fall and a jump lowers the probability.

    Everything else is as described in ``HeuristicAgent``.

    Args:
        risk: the highest probability of falling at which it stays.
        enough: the number of carried treasures with which it leaves rather than risk a fall.
        dear: the lowest cost of a building worth saving for.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, risk: float = 0.2, enough: int = 5, dear: int = 4) -> None:
        super().__init__(risk, jump_risk=0.0)
        check_number("enough", enough, "treasures")
        check_number("dear", dear, "treasures")
        self.enough = enough
        self.dear = dear
        self._is_dear = dear <= BUILDING_COSTS
        self._worth = building_worth(_HORIZON)

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent."""
        return self._code(SAVER, self._worth, self.enough, self.dear) if type(self) is SaverAgent else None

    def _run(self, decisions: Decisions) -> Actions:
        view = decisions.view
        falls = view.fall_chance[:, 0]
        content = (view.carried[:, 0].sum(axis=1) >= self.enough) & (falls > 0)
        return np.where(content | (falls > self.risk), LEAVE, STAY).astype(np.uint8)

    def _buy(self, decisions: Decisions) -> Actions:
        view = decisions.view
        worth = self._worth[np.minimum(view.round, _HORIZON)]
        to_spare = view.home[:, 0].sum(axis=1, dtype=np.int16) - view.buildings[:, 0].sum(axis=1, dtype=np.int16)
        dear = best_building(decisions, worth, self._is_dear)
        cheap = best_building(decisions, worth, to_spare[:, None] >= BUILDING_COSTS)
        heart_cost = view.max_hearts[:, 0].astype(np.int16) - 2  # C4: the 5th costs 2, and so on
        heart = np.where(to_spare >= heart_cost - 1, best_heart(decisions), PASS)
        return np.select([dear != PASS, cheap != PASS], [dear, cheap], heart).astype(np.uint8)
