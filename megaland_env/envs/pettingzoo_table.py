"""``PettingZooTable``: the common part of both PettingZoo environments, which differ only in who acts when."""

from __future__ import annotations

import secrets
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.checks import as_integer
from megaland_env.extras import needs

with needs("the PettingZoo environment", "envs"):
    from gymnasium import logger, spaces
    from gymnasium.error import ResetNeeded

from megaland_env.actions import NUM_ACTIONS, PASS, Kind
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.decisions import Decisions
from megaland_env.engine import rng
from megaland_env.envs.seeds import checked_seed
from megaland_env.errors import IllegalActionError, illegal_action
from megaland_env.game import MegalandGames
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.render import RENDER_MODES, render
from megaland_env.rewards import Reward
from megaland_env.seats.legality import check_illegal, made_legal
from megaland_env.seats.slots import EpisodeSeeds

# Attributes that exist only while there is a game: from reset to close.
_OF_A_GAME = "agents num_agents agent_selection rewards _cumulative_rewards terminations truncations infos".split()

_ONLY = np.zeros(1, np.int64)  # the one slot of an environment

Observation = dict[str, npt.NDArray[Any]]
Info = dict[str, Any]


class PettingZooTable:
    """One game at a table whose seats are the agents ``player_0``, ``player_1``, and so on.

    Args:
        config: the configuration of the game; by default the full game for four players.
        reward: ``"win"``, ``"coins"``, ``"shaped"`` or a callable, as in ``MegalandGames``.
        engine: ``"auto"``, ``"numpy"`` or ``"compiled"``, as in ``MegalandGames``.
        illegal: the effect of an illegal action: ``"raise"`` raises an ``IllegalActionError`` before anything changes;
            ``"random"`` plays a random legal action instead, which ``illegal_actions`` counts and ``played`` shows.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``.
        **config_fields: fields of the configuration instead of ``config``, such as ``num_players=2``.

    Attributes:
        games: a batch of the one game; do not change it.
        agents: the agents that still play: all of them, and none after the end. As usual in PettingZoo, reading
            this and other attributes of a game before ``reset`` is an ``AttributeError``.
        possible_agents: all agents.
        played: the last action of each agent that was carried out.
        illegal_actions: number of illegal actions that were replaced.
        state_space: the space of ``state()``.

    Raises:
        ValueError: an argument is invalid.
    """

    agents: list[str]

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
        config = config_of(config, config_fields, type(self))
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it must be one of {RENDER_MODES}, or None")
        self.games = MegalandGames(config, reward=reward, engine=engine)
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.games.num_players)]
        self._has_game = False  # from reset to close
        self.played: dict[str, int] = {}
        self.illegal_actions = 0
        self.observation_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32),
                    "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents
        }
        self.state_space = spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32)
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._illegal = check_illegal(illegal)
        self._episodes = EpisodeSeeds(1)
        self._has_seed = False  # since the first reset
        self._asked: list[int] = []  # the seats whose decision it is
        self._one_game = np.zeros(self.games.num_players, np.int64)

    # ---------------------------------------------------------------------------------------------- what a user reads

    @property
    def config(self) -> MegalandConfig:
        """The configuration of the game."""
        return self.games.config

    @property
    def game_seed(self) -> int:
        """The seed of the game that is being played."""
        self._need_game()
        return int(self.games.seeds[0])

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of one agent: always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of one agent: always the same object."""
        return self.action_spaces[agent]

    def state(self) -> npt.NDArray[np.float32]:
        """(D,) all public facts in the order of the seats: the observation of ``player_0``, since no agent sees more.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_game()
        return self._row(0)

    def render(self) -> Any:
        """Render the game: text (``ansi``), a picture (H, W, 3) uint8 (``rgb_array``), or printed text (``human``).

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_game()
        if self.render_mode is None:
            logger.warn("You are calling render method without specifying any render mode.")
            return None
        return render(self.games, 0, self.render_mode)

    def close(self) -> None:
        """End the game; ``reset`` starts another one."""
        self._has_game = False
        for name in _OF_A_GAME:
            vars(self).pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Raise an error that says why an attribute is missing."""
        reason = "cannot be accessed before reset" if name in _OF_A_GAME else "does not exist"
        raise AttributeError(f"{name} {reason}", name=name, obj=self)

    def _need_game(self) -> None:
        if not self._has_game:
            raise ResetNeeded("no game has been started; call reset() first")

    # ---------------------------------------------------------------------------------------------- playing

    def _start(self, seed: int | None) -> None:
        """Start the game with a seed, or the next game; without any seed, one from the operating system."""
        if seed is None and self._has_seed:
            self.games.reset(self._episodes.next(_ONLY))
        else:
            given = secrets.randbits(64) if seed is None else checked_seed(seed)
            self.games.reset(self._episodes.reset(_ONLY, rng.as_words([given])))
        self._has_seed = True
        self._has_game = True
        self.agents = self.possible_agents[:]
        self.played = dict.fromkeys(self.agents, PASS)
        self._look()

    def _play(self, choices: dict[str, int]) -> dict[str, float]:
        """Carry out the choices of the agents that were asked, and return the reward of each agent."""
        played = self._for_all(PASS) | choices
        self.games.step(np.array([list(played.values())], np.uint8))
        self.played = played
        self._look()
        return dict(zip(self.possible_agents, self.games.rewards[0].tolist(), strict=True))

    def _look(self) -> None:
        """Update what is read from the game after it has moved."""
        self._asked = self.games.active[0].nonzero()[0].tolist()
        self._masks: npt.NDArray[np.int8] = self.games.legal[0].view(np.int8)  # (P, 40)
        self._rows: dict[int, npt.NDArray[np.float32]] = {}  # the observations (D,) written so far, by seat
        self._over = int(self.games.kind[0]) == Kind.NONE
        if self.render_mode == "human":
            self.render()

    def _choice(self, agent: str, action: Any) -> int:
        """Return the action as an integer that is legal.

        Raises:
            IllegalActionError: the action is not legal, and ``illegal`` is ``"raise"``.
            ValueError: the action is not an integer.
        """
        seat = self._seat[agent]
        number = as_integer(action)
        if number is None:
            raise ValueError(f"{agent} must give an action from 0 to {NUM_ACTIONS - 1}, not {action!r}")
        if 0 <= number < NUM_ACTIONS and self._masks[seat, number]:
            return number
        if self._illegal == "raise":
            raise self._refusal(agent, number)
        choices, replaced = made_legal(self._decisions_of([seat]), np.array([number], np.int64))
        self.illegal_actions += replaced
        return int(choices[0])

    def _refusal(self, agent: str, action: int) -> IllegalActionError:
        seat = self._seat[agent]
        asked = f"asked for {Kind(int(self.games.kind[0])).label!r}" if self.games.active[0, seat] else "not asked"
        return illegal_action(f"{agent} is {asked}", 0, seat, action, np.flatnonzero(self._masks[seat]).tolist())

    # ---------------------------------------------------------------------------------------------- observing

    def _row(self, seat: int) -> npt.NDArray[np.float32]:
        """(D,) the observation of a seat; those of all deciding seats are written at once, to save time."""
        if seat not in self._rows:
            self._write_rows(self._asked if seat in self._asked else [seat])
        return self._rows[seat].copy()

    def _write_rows(self, seats: list[int]) -> None:
        self._rows |= zip(seats, encode(self._decisions_of(seats)), strict=True)

    def _decisions_of(self, seats: list[int]) -> Decisions:
        return Decisions(self.games, self._one_game[: len(seats)], np.array(seats))

    def _observation(self, agent: str) -> Observation:
        seat = self._seat[agent]
        return {"observation": self._row(seat), "action_mask": self._masks[seat].copy()}

    def _infos(self) -> dict[str, Info]:
        """The infos of all agents. Results are zero until the game is over, so that the keys are always the same."""
        infos: dict[str, Info] = {
            agent: {"action_mask": mask, "win_share": 0.0, "coins": 0, "rounds": 0}
            for agent, mask in zip(self.possible_agents, self._masks.copy(), strict=True)
        }
        if self._over:
            shares, coins = self.games.win_shares[0].tolist(), self.games.coins[0].tolist()
            for agent, seat in self._seat.items():
                result = {"win_share": shares[seat], "coins": coins[seat], "rounds": int(self.games.rounds[0])}
                infos[agent] |= result
        return infos

    def _for_all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.possible_agents, value)
