"""The league: the learner's opponents in training, which are itself, fixed agents, and its earlier snapshots."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from megaland_agents.ppo import PPOAgent
from megaland_env.agent import Agent, announced_only, make_agent
from megaland_env.seats.self_play import SelfPlay
from megaland_experiments.training.config import ITSELF, SNAPSHOTS

MEMORY = 2000
"""Number of seats over which the strength of a snapshot is averaged."""

EQUAL = 1.0
"""The strength of a snapshot that wins as often as the others at its tables."""


class League:
    """Opponents by name, with their shares of the seats.

    The share of the snapshots goes to those that are hard to beat: each has it in proportion to the square of its
    strength, how often it wins against the learner in units of a fair share (prioritised fictitious self-play: Vinyals
    et al., 2019). When there are too many, the easiest leaves. Snapshots are policies in folders of their own and are
    called as these are, so a league is saved by its names and strengths alone.

    Args:
        shares: share of the seats of each agent by name, of ``ITSELF`` and of ``SNAPSHOTS``.
        most_snapshots: largest number of snapshots.
        folder: the folder of the snapshots.
        announced_only: whether the agents were named by a file rather than by a person, so that only announced agents
            may be made (``megaland_env.agent.announced_only``).

    Attributes:
        strengths: strength of each snapshot in the league by name, oldest first.
    """

    def __init__(
        self, shares: Mapping[str, float], most_snapshots: int, folder: str | Path, *, announced_only: bool = False
    ) -> None:
        self._snapshot_share = shares.get(SNAPSHOTS, 0.0)
        self._fixed = {name: share for name, share in shares.items() if share > 0 and name != SNAPSHOTS}
        self._most_snapshots = most_snapshots
        self._folder = Path(folder)
        self._announced_only = announced_only
        self._agents: dict[str, Agent] = {ITSELF: SelfPlay.itself}
        self.strengths: dict[str, float] = {}

    def path(self, name: str) -> Path:
        """Path of the snapshot of this name.

        Raises:
            ValueError: no snapshot has such a name; it might lead out of the folder.
        """
        if not re.fullmatch("[0-9a-z]+", name):
            raise ValueError(f"{name!r} is not the name of a snapshot")
        return self._folder / name

    def add(self, name: str, strength: float = EQUAL) -> None:
        """Add the snapshot at ``path(name)``; if there are too many, the easiest of the others leaves."""
        if self._snapshot_share > 0 and self._most_snapshots > 0:
            self._agents.pop(name, None)  # an earlier one of that name
            self.strengths.pop(name, None)
            if len(self.strengths) == self._most_snapshots:
                del self.strengths[min(self.strengths, key=lambda other: self.strengths[other])]
            self.strengths[name] = strength

    def drop(self, name: str) -> None:
        """Remove a snapshot, if it is there."""
        self._agents.pop(name, None)
        self.strengths.pop(name, None)

    def substitute(self) -> str:
        """Name of the agent that takes the seats of a snapshot that cannot be used: the newest one, or the learner."""
        return max(self.strengths, default=ITSELF)

    def note(self, agent: Agent, seats: int, wins: float) -> None:
        """Record the results of an opponent.

        Args:
            agent: the opponent.
            seats: number of its seats in games that have ended.
            wins: number of its wins there, in units of a fair share.
        """
        name = self.name(agent)
        if name in self.strengths:
            forgotten = math.exp(-seats / MEMORY)
            self.strengths[name] = forgotten * self.strengths[name] + (1 - forgotten) * wins / seats

    def pool(self) -> list[tuple[Agent, float]]:
        """The opponents with their shares, for ``SelfPlay``; the learner itself if there is no other."""
        pool = [(self.agent(name), share) for name, share in self._fixed.items()]
        squares = {name: max(strength, 0.05) ** 2 for name, strength in self.strengths.items()}  # each still plays
        whole = sum(squares.values())
        pool += [(self.agent(name), self._snapshot_share * square / whole) for name, square in squares.items()]
        return pool or [(SelfPlay.itself, 1.0)]

    def agent(self, name: str) -> Agent:
        """The agent of a name, made when first needed. A snapshot that has left the league may still finish its games.

        Raises:
            PolicyError: the snapshot is missing or damaged.
            ValueError: there is no such agent, or a file must not name it.
        """
        if name not in self._agents:
            if name in self._fixed:
                with announced_only() if self._announced_only else nullcontext():
                    self._agents[name] = make_agent(name)
            else:
                self._agents[name] = PPOAgent(self.path(name), greedy=False)
        return self._agents[name]

    def name(self, agent: Agent) -> str:
        """The name of one of the league's agents."""
        return next(name for name, known in self._agents.items() if known is agent)

    def forget_all_but(self, names: list[str]) -> None:
        """Forget the agents that are neither in the league nor in ``names``."""
        keep = {ITSELF, *names, *self._fixed, *self.strengths}
        self._agents = {name: agent for name, agent in self._agents.items() if name in keep}

    def describe(self) -> str:
        """Describe the opponents for the progress bar: ``"itself, planner, 5 snapshots"``."""
        number = len(self.strengths)
        snapshots = [f"{number} snapshot{'s' if number > 1 else ''}"] if number else []
        return ", ".join([*self._fixed, *snapshots])
