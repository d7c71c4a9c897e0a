"""Megaland as an AEC environment of PettingZoo: agents act one after the other."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from megaland_env.extras import needs

with needs("the PettingZoo environment", "envs"):
    from gymnasium.error import ResetNeeded
    from pettingzoo import AECEnv  # type: ignore[import-untyped]

from megaland_env.config import ConfigFields, MegalandConfig
from megaland_env.envs.pettingzoo_table import Info, Observation, PettingZooTable
from megaland_env.render import RENDER_MODES
from megaland_env.rewards import Reward


class MegalandAECEnv(PettingZooTable, AECEnv):  # type: ignore[misc]
    """A game of Megaland in which the deciding agents act one after the other.

    - *Agents*: ``player_0`` to ``player_{P-1}``, seated clockwise. A turn is one decision of one agent; an
      agent that is not asked has no turn. Agents that decide at the same moment have their turns in seat order from the
      first player, and the game moves when the last of them has chosen. Until then no observation changes.
    - *Observation*: ``{"observation": float32 (D,), "action_mask": int8 (40,)}``, from ``observation.encode``. An agent
      may observe at any time; if it is not asked, its mask allows only PASS.
    - *Action*: one of the 40 actions of actions.py. The mask, which is also in the info, marks the legal ones.
    - *Reward*: ``rewards`` are those of the last step. ``last()`` returns the sum of an agent's rewards since its last
      turn, including rewards for moves of others.
    - *End*: the game ends for all agents together. Each then has a last turn, with the action ``None``, in which it
      gets its last reward. Only a game that was cut off after ``max_rounds`` (D4) is truncated. The infos have
      ``win_share`` (1 / number of winners for each winner, 0 for others), ``coins`` and ``rounds``, which are zero
      before the end.
    - *Seeds*: ``reset(seed=s)`` starts the game with seed s. The e-th ``reset()`` without a seed after it starts the
      game with the seed ``rng.episode_seeds(s, e)``. If no seed was ever given, the operating system supplies one.

    The arguments and the other attributes are those of ``PettingZooTable``.
    """

    # PettingZoo must not convert it: its converter expects every agent to have a turn in each cycle.
    metadata = {  # noqa: RUF012
        "name": "megaland_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "is_parallelizable": False,
    }

    agent_selection: str
    rewards: dict[str, float]
    _cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, Info]

    def __init__(
        self,
        config: MegalandConfig | None = None,
        *,
        reward: str | Reward = "win",
        engine: str = "auto",
        illegal: str = "raise",
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        PettingZooTable.__init__(
            self, config, reward=reward, engine=engine, illegal=illegal, render_mode=render_mode, **config_fields
        )
        self._pending: dict[str, int] = {}  # the choices of this moment so far
        self._to_ask: list[str] = []  # the agents that have not yet chosen at this moment

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; ``options`` are not used."""
        self._start(seed)
        self.rewards = self._for_all(0.0)
        self._cumulative_rewards = self._for_all(0.0)
        self.terminations = self._for_all(False)
        self.truncations = self._for_all(False)
        self._skip_agent_selection = None  # state that AECEnv may have kept from the end of the game before
        self._new_moment()

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Choose for ``agent_selection``; ``None`` once the game is over.

        Raises:
            IllegalActionError: the action is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: no game has been started, or all agents have had their last turn.
            ValueError: the action is not an integer; nothing has changed.
        """
        self._need_game()
        if not self.agents:
            raise ResetNeeded("the game is over; call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._pending[agent] = self._choice(agent, action)
        rewards = self._for_all(0.0) if self._to_ask else self._play(self._pending)  # the reward may fail
        self._cumulative_rewards[agent] = 0.0
        self.rewards = rewards
        if self._to_ask:
            self.agent_selection = self._to_ask.pop(0)
            return
        if any(self.rewards.values()):  # usually all rewards before the end are 0
            self._accumulate_rewards()
        self._new_moment()

    def _new_moment(self) -> None:
        self._pending = {}
        self.infos = self._infos()
        if self._over:
            self.terminations = self._for_all(bool(self.games.terminated[0]))
            self.truncations = self._for_all(bool(self.games.truncated[0]))
            self._to_ask = self.possible_agents[:1]  # AECEnv itself gives the others their last turns
        else:
            asked = self._asked
            if len(asked) > 1:
                first = int(self.games.first_player[0])
                asked = [seat for seat in asked if seat >= first] + [seat for seat in asked if seat < first]
            self._to_ask = [self.possible_agents[seat] for seat in asked]
        self.agent_selection = self._to_ask.pop(0)

    def observe(self, agent: str) -> Observation:
        """The observation of an agent, without the pending choices of this moment.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_game()
        return self._observation(agent)
