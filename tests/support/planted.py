"""Agents with known flaws, which the analysis must find."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.heuristics.base import Actions, best_building, best_heart
from megaland_agents.heuristics.explorer import ExplorerAgent
from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_env import Building, Decisions, Kind
from megaland_env.actions import LEAVE, PASS


class NoLodge(ThresholdAgent):
    """Plays as the threshold agent, but never buys a Lodge; it buys the next best building, if there is one."""

    def _buy(self, decisions: Decisions) -> Actions:
        rounds = decisions.view.round
        others = np.arange(len(Building)) != Building.LODGE
        building = best_building(decisions, self._worth[np.minimum(rounds, self.horizon)], others)
        heart = best_heart(decisions)
        return np.where((heart != PASS) & ((rounds <= self.heart_rounds) | (building == PASS)), heart, building)


class CursedCafe(ExplorerAgent):
    """Explores, and leaves every level at once as soon as it owns a Cafe."""

    def __init__(self) -> None:
        super().__init__("threshold", explore=0.5)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """(M,) actions."""
        actions = super().act(decisions)
        cursed = (decisions.kind == Kind.RUN) & (decisions.view.buildings[:, 0, Building.CAFE] > 0)
        actions[cursed] = LEAVE
        return actions
