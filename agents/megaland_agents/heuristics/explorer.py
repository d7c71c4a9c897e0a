"""``ExplorerAgent``: plays as another agent, but buys something at random now and then, to find out what that does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.heuristics.base import check_chance, check_seed
from megaland_env import Decisions, Kind
from megaland_env.agent import Agent, make_agent, random_legal

_OTHER_LUCK = 0x5EED
"""Whether it explores and what it then chooses are drawn apart."""


class ExplorerAgent:
    """Plays as another agent, but now and then buys whatever it can.

    An agent that always does the same in the same state gives no answer to the question what would have come of
    something else: it buys a building where it thinks well of it, and only there. Each time that this one may buy, it
    chooses with chance ``explore`` any of the legal actions instead, passing and hearts among them, all alike. So what
    is bought in its games is in part a matter of chance, as in an experiment, and what comes of it can be measured
    (experiments/megaland_experiments/analysis/buildings.py).

    Args:
        policy: the other agent, or its name.
        explore: the chance to choose at random.
        seed: another seed is another player with other luck.

    Raises:
        ValueError: there is no such agent, or ``explore`` is no chance.
    """

    def __init__(self, policy: str | Agent = "planner", explore: float = 0.2, seed: int = 0) -> None:
        check_chance("explore", explore)
        check_seed(seed)
        self.policy = make_agent(policy)
        self.explore = explore
        self.seed = seed

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """(M,) actions."""
        actions = np.array(self.policy.act(decisions), np.int64)
        buys = np.flatnonzero(decisions.kind == Kind.BUY)
        if buys.size:
            buying = decisions[buys]
            explores = buying.random(1, seed=self.seed ^ _OTHER_LUCK)[:, 0] < self.explore
            actions[buys[explores]] = random_legal(buying[explores], self.seed)
        return actions
