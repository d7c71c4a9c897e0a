"""``SaverAgent``: plays safe, and saves up."""

from __future__ import annotations

import numpy as np

from megaland_agents.heuristics.base import Actions, RiskAgent, best_building, best_heart, building_worth, check_number
from megaland_env import Decisions
from megaland_env.actions import LEAVE, PASS, STAY
from megaland_env.cards import BUILDING_COSTS

_HORIZON = 8  # the last round for which it expects a building to pay, as for the threshold agent


class SaverAgent(RiskAgent):
    """Plays safe: leaves early with what it has, and saves up for the expensive buildings.

    - *Stay or leave*: leaves when it carries ``enough`` treasures and the next card can make it fall, and in any case
      when the chance to fall is more than ``risk``.
    - *Buy*: the building of most worth (as the threshold agent reckons it) that costs ``dear`` treasures or more. If
      there is none, it saves what it can store, one treasure for each of its buildings, and spends only what the night
      would take: on the building of most worth that costs no more than that, else on a heart, which may cost one more.

    It jumps whenever the card could make it fall, and less so with a jump. The rest is as for all heuristics: it stores
    as many types as it can, the rare ones first.

    Args:
        risk: the highest chance to fall with which it stays.
        enough: so many treasures are worth carrying home at once.
        dear: a building of this cost is worth saving for.

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
