"""``ExplorerAgent``: plays like another agent, but sometimes buys at random, so that effects can be measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.heuristics.base import check_chance
from megaland_env import Decisions, Kind
from megaland_env.agent import Agent, make_agent, random_legal
from megaland_env.checks import check_seed

_EXPLORES = 0x5EED
"""Changes the seed for the draw of whether to explore, so that it is independent of the draw of the action."""


class ExplorerAgent:
    """Plays like another agent, but sometimes makes a random purchase.

    The games of a deterministic agent do not show what another purchase would have led to: it buys a building only
    where it values it. Whenever this agent may buy, it chooses, with probability ``explore``, uniformly among all legal
    actions instead, including hearts and passing. What is bought in its games is therefore partly random, as in an
    experiment, and the effect of a purchase can be measured (experiments/megaland_experiments/analysis/buildings.py).

    Args:
        policy: the other agent, or its name.
        explore: the probability of a random choice.
        seed: for the random choices; agents with different seeds choose independently.

    Raises:
        ValueError: there is no such agent, ``explore`` is not a probability, or ``seed`` not an integer.
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
            explores = buying.random(1, seed=self.seed ^ _EXPLORES)[:, 0] < self.explore
            actions[buys[explores]] = random_legal(buying[explores], self.seed)
        return actions
