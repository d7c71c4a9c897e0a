"""``HeartsAgent``: buys hearts first, and then goes deep into the level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.compiled.program import HEARTS, Code
from megaland_agents.heuristics.base import (
    TREASURES,
    Actions,
    RiskAgent,
    as_actions,
    best_building,
    best_heart,
    building_worth,
    check_number,
    most_held,
)
from megaland_env import Decisions, Kind
from megaland_env.actions import PASS

_HORIZON = 8  # the last round in which it expects a building to pay, as for the threshold agent


class HeartsAgent(RiskAgent):
    """Buys hearts first: spends all treasures on hearts in the first rounds, and takes high risks in the level.

    In the first ``heart_rounds`` rounds it

    - *buys* hearts as long as it can, and a building only when it cannot buy a heart;
    - *pays* for buildings with the types it holds least of, and *stores* those it holds most of, the commoner type
      first: the next heart needs matching treasures.

    After that it buys the most valuable building, by the values of the threshold agent, or a heart if there is no
    building to buy. In all rounds it leaves the level only if the probability of falling on the next card is above
    ``risk``. Everything else is as described in ``HeuristicAgent`` and ``RiskAgent``.

    Args:
        heart_rounds: the number of rounds in which hearts come first.
        risk: the highest probability of falling at which it stays.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, heart_rounds: int = 4, risk: float = 0.4) -> None:
        super().__init__(risk, jump_risk=0.1)
        check_number("heart_rounds", heart_rounds, "rounds")
        self.heart_rounds = heart_rounds
        self._worth = building_worth(_HORIZON)

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent."""
        return self._code(HEARTS, self._worth, self.heart_rounds) if type(self) is HeartsAgent else None

    def _early(self, decisions: Decisions) -> npt.NDArray[np.bool_]:
        early: npt.NDArray[np.bool_] = decisions.view.round <= self.heart_rounds
        return early

    def _buy(self, decisions: Decisions) -> Actions:
        building = best_building(decisions, self._worth[np.minimum(decisions.view.round, _HORIZON)])
        heart = best_heart(decisions)
        hearts_first = (heart != PASS) & (self._early(decisions) | (building == PASS))
        return np.where(hearts_first, heart, building)

    def _pay(self, decisions: Decisions) -> Actions:
        held: npt.NDArray[np.int16] = -decisions.view.home[:, 0].astype(np.int16)
        least = as_actions(most_held(held, decisions.legal[:, TREASURES], common_first=False))
        return np.where(self._early(decisions), least, super()._pay(decisions))

    def _keep(self, decisions: Decisions) -> Actions:
        most = as_actions(most_held(decisions.view.home[:, 0], decisions.legal[:, TREASURES]))
        early = self._early(decisions) & (decisions.kind == Kind.STORE)
        return np.where(early, most, super()._keep(decisions))
