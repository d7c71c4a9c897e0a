"""Megaland as a Parallel environment of PettingZoo: all agents act in every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from megaland_env.extras import needs

with needs("the PettingZoo environment", "envs"):
    from gymnasium.error import ResetNeeded
    from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from megaland_env.envs.pettingzoo_table import Info, Observation, PettingZooTable
from megaland_env.render import RENDER_MODES

Step = tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]


class MegalandParallelEnv(PettingZooTable, ParallelEnv):  # type: ignore[misc]
    """A game of Megaland in which all agents act in every step; agents that are not asked pass.

    - *Agents*: ``player_0`` to ``player_{P-1}``, seated clockwise. A step is one decision moment, at which some of them
      are asked. They decide without seeing each other's choices.
    - *Observation*: for every agent ``{"observation": float32 (D,), "action_mask": int8 (40,)}``, from
      ``observation.encode``.
    - *Action*: for every agent one of the 40 actions of actions.py. The mask, also in the info, marks the legal ones.
      An agent that is not asked must pass: its mask allows only PASS.
    - *Reward*: for every agent the reward of this step, whoever made the move. Add the rewards up from one decision of
      an agent to its next.
    - *End*: the game ends for all agents together. Only a game that was cut off after ``max_rounds`` (D4) is truncated.
      The infos have ``win_share`` (1 / number of winners for each winner, 0 for others), ``coins`` and ``rounds``,
      which are zero before the end.
    - *Seeds*: ``reset(seed=s)`` starts the game with seed s. The e-th ``reset()`` without a seed after it starts the
      game with the seed ``rng.episode_seeds(s, e)``. If no seed was ever given, the operating system supplies one.

    The arguments and the attributes are those of ``PettingZooTable``.
    """

    metadata = {  # noqa: RUF012
        "name": "megaland_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "is_parallelizable": True,
    }

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Start a game; ``options`` are not used.

        Returns:
            observations and infos of all agents.
        """
        self._start(seed)
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> Step:
        """Carry out one decision moment.

        Args:
            actions: the action of every agent; PASS for agents that are not asked.

        Returns:
            observations, rewards, terminations, truncations and infos of all agents; empty dicts after the end.

        Raises:
            IllegalActionError: an action is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: no game has been started, or it is over and there are actions.
            ValueError: an agent is missing or unknown, or its action is not an integer; nothing has changed.
        """
        self._need_game()
        if not self.agents:
            if actions:
                raise ResetNeeded("the game is over; call reset() first")
            return {}, {}, {}, {}, {}  # as in other environments of PettingZoo, when all agents are gone
        try:
            given = actions.keys()
        except AttributeError:
            raise ValueError(f"actions must be a dict with the action of each agent, not {actions!r}") from None
        if given != self._seat.keys():
            raise ValueError(f"actions must be of {', '.join(self.agents)}, not of {', '.join(map(str, actions))}")
        rewards = self._play({agent: self._choice(agent, actions[agent]) for agent in self.agents})
        terminations = self._for_all(bool(self.games.terminated[0]))
        truncations = self._for_all(bool(self.games.truncated[0]))
        if self._over:
            self.agents = []
        return self._observations(), rewards, terminations, truncations, self._infos()

    def _observations(self) -> dict[str, Observation]:
        self._write_rows(list(self._seat.values()))
        return {agent: self._observation(agent) for agent in self.possible_agents}
