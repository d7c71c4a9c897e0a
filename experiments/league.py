"""Who the learner plays against while it trains: fixed agents, and earlier snapshots of itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agents.ppo import PPOAgent
from megaland_env.agent import Agent, make_agent


class League:
    """Opponents by name, with their weights.

    Snapshots are policies in folders of their own and are called as these are, so a league is saved by its names alone.

    Args:
        fixed: agents by name, with their weights.
        snapshot_weight: shared out evenly among the snapshots.
        most_snapshots: the oldest leaves when there are more.
        folder: where the snapshots lie.
    """

    def __init__(
        self, fixed: Mapping[str, float], snapshot_weight: float, most_snapshots: int, folder: str | Path
    ) -> None:
        self._fixed = {name: weight for name, weight in fixed.items() if weight > 0}
        self._snapshot_weight = snapshot_weight
        self._most_snapshots = most_snapshots
        self._folder = Path(folder)
        self._agents: dict[str, Agent] = {}
        self.snapshots: list[str] = []

    def path(self, name: str) -> Path:
        """Where the snapshot of this name belongs."""
        return self._folder / name

    def add(self, name: str) -> None:
        """Take in the snapshot at ``path(name)``; the oldest leaves if there are too many."""
        if self._snapshot_weight > 0 and self._most_snapshots > 0:
            self._agents.pop(name, None)  # whatever had that name before
            self.snapshots = [*(other for other in self.snapshots if other != name), name][-self._most_snapshots :]

    def pool(self) -> list[tuple[Agent, float]]:
        """The weighted opponents, for an environment."""
        pool = [(self.agent(name), weight) for name, weight in self._fixed.items()]
        return pool + [(self.agent(name), self._snapshot_weight / len(self.snapshots)) for name in self.snapshots]

    def agent(self, name: str) -> Agent:
        """The agent of a name, made when first needed; it may have left the league and still play its last games."""
        if name not in self._agents:
            self._agents[name] = make_agent(name) if name in self._fixed else PPOAgent(self.path(name), greedy=False)
        return self._agents[name]

    def name(self, agent: Agent) -> str:
        """The name of one of the league's agents."""
        return next(name for name, known in self._agents.items() if known is agent)

    def forget_all_but(self, names: list[str]) -> None:
        """Forget the agents that nobody plays against any more."""
        keep = {*names, *self._fixed, *self.snapshots}
        self._agents = {name: agent for name, agent in self._agents.items() if name in keep}

    def describe(self) -> str:
        """For the progress bar: ``"random, threshold, 5 snapshots"``."""
        number = len(self.snapshots)
        snapshots = [f"{number} snapshot{'s' if number > 1 else ''}"] if number else []
        return ", ".join([*self._fixed, *snapshots])
