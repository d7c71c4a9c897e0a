"""Megaland as Gymnasium environments with one learner: the full game against agents, and the two tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the Gymnasium environment", "envs"):
    import gymnasium as gym
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded

from megaland_env.actions import NUM_ACTIONS
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.envs.seeds import checked_seed
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.render import RENDER_MODES, render
from megaland_env.rewards import Reward
from megaland_env.seats.opponents import OpponentSpec
from megaland_env.seats.scenarios import BuyTask, RunTask, TaskGames
from megaland_env.seats.single_learner import SingleLearnerGames

Observation = npt.NDArray[np.float32]
Info = dict[str, Any]


def observation_space() -> spaces.Space[Observation]:
    """The observations of one learner: (D,) float32, ``observation.encode``."""
    box: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32)
    return box


def action_space() -> spaces.Discrete:
    """The actions of one learner: the 40 of actions.py."""
    return spaces.Discrete(NUM_ACTIONS)


# The public classes name gym.Env as a direct base, which is already one of OneLearnerEnv: some libraries look at
# ``__bases__``.


class OneLearnerEnv(gym.Env[Observation, np.int64 | int]):
    """Games in which the caller has one seat, one game after the other. Subclasses define what is played.

    - *Observation*: (D,) float32, from ``observation.encode``, for the learner's decision.
    - *Action*: one of the 40 actions of actions.py. ``action_masks()`` (40,) bool, the method that sb3-contrib calls,
      marks the legal ones. ``info["action_mask"]`` is the same as int8, the form for ``action_space.sample(mask)``.
    - *Reward*: the sum of the learner's rewards since its last observation, whoever made the moves.
    - *End*: a game that ends by the rules is terminated; only one cut off after ``max_rounds`` (D4) is truncated.
    - *Info*: ``action_mask``, and what is zero until the game is over: ``episode_return`` and ``episode_length``, and
      in the full game ``win_share`` (1 / number of winners for each winner, 0 for others), ``coins``, ``rounds`` and
      ``seat``. The keys are the same in every step.
    - *Seeds*: ``reset(seed=s)`` plays the game of seed s. The e-th ``reset()`` without a seed after it plays the game
      of ``rng.episode_seeds(s, e)``; before any seed was given, ``np_random`` draws one. ``options`` are not used.

    Attributes:
        games: the game, as a batch of one; for reading.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - as in gym.Env

    def __init__(self, games: SingleLearnerGames, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it must be one of {RENDER_MODES}, or None")
        self.games = games
        self.render_mode = render_mode
        self.observation_space = observation_space()
        self.action_space = action_space()
        self._seeded = False
        self._has_game = False  # since the last reset, until close
        self._running = False  # and it is not over
        self._return = 0.0
        self._length = 0
        # What infos have at the end, as it is before: recorders such as Minari's want the same keys in every step.
        self._not_over: Info = {name: zero.item() for name, zero in games.no_results.items()}
        self._not_over |= {"episode_return": 0.0, "episode_length": 0}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(40,) the legal actions; exactly PASS when the game is over.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_game()
        mask: npt.NDArray[np.bool_] = self.games.decisions().legal[0]
        return mask

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Start a game; the observation (D,), and ``info``.

        Raises:
            ValueError: ``seed`` is not an integer from 0 to 2**64 - 1.
        """
        seed = None if seed is None else checked_seed(seed)  # also of NumPy's types, which Gymnasium refuses
        super().reset(seed=seed)
        if seed is not None:
            self.games.reset([seed])
        elif self._seeded:
            self.games.restart([0])
        else:
            self.games.reset(self.np_random.integers(2**64, size=1, dtype=np.uint64))
        self._seeded = self._has_game = self._running = True
        self._return, self._length = 0.0, 0
        observation, info = self._observe()
        return observation, info | self._not_over

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Carry out the learner's choice, and play on until it is asked again or the game is over.

        Raises:
            IllegalActionError: the action is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: no game has been started, or it is over.
            ValueError: the action is not an integer; nothing has changed.
        """
        if not self._running:
            self._need_game()
            raise ResetNeeded("the game is over; call reset() first")
        try:
            choice = np.reshape(action, 1)
        except ValueError:
            raise ValueError(f"actions must be one integer, not {action!r}") from None
        self.games.step(choice)
        over, truncated = bool(self.games.over[0]), bool(self.games.games.truncated[0])
        reward = float(self.games.rewards[0])
        self._running = not over
        self._return += reward
        self._length += 1
        observation, info = self._observe()
        if over:
            info |= {name: values[0].item() for name, values in self.games.results([0]).items()}
            info |= {"episode_return": self._return, "episode_length": self._length}
        else:
            info |= self._not_over
        return observation, reward, over and not truncated, truncated, info

    def _observe(self) -> tuple[Observation, Info]:
        if self.render_mode == "human":
            self._rendered()
        decisions = self.games.decisions()
        return encode(decisions)[0], {"action_mask": decisions.legal[0].view(np.int8)}

    def render(self) -> Any:
        """The board as text (``ansi``) or as a picture (``rgb_array``); ``human`` has shown it already.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_game()
        if self.render_mode is None:
            gym.logger.warn(
                'nothing is rendered without a render mode, such as gymnasium.make(..., render_mode="ansi")'
            )
            return None
        return None if self.render_mode == "human" else self._rendered()

    def close(self) -> None:
        """Leave the game; ``reset`` starts another."""
        self._has_game = self._running = False
        super().close()

    def _need_game(self) -> None:
        if not self._has_game:
            raise ResetNeeded("no game has been started; call reset() first")

    def _rendered(self) -> Any:
        assert self.render_mode is not None
        viewer, names = int(self.games.seats[0]), self.games.names(0)
        return render(self.games.games, 0, self.render_mode, viewer=viewer, names=names)


class MegalandEnv(OneLearnerEnv, gym.Env[Observation, np.int64 | int]):
    """``Megaland-v0``: the full game, with agents in the other seats.

    The class it derives from describes the interface.

    Args:
        config: of the game; the default is the full game for four.
        opponents: who has the other seats: an agent or its name, P - 1 of them in seat order from the learner's left,
            or a weighted pool (``Opponents.of``).
        seat: the learner's seat; ``None`` draws it for each game.
        reward: ``"win"``, ``"coins"``, ``"shaped"`` or a callable, as in ``MegalandGames``.
        engine: ``"auto"``, ``"numpy"`` or ``"compiled"``, as in ``MegalandGames``.
        illegal: what an illegal action does: ``"raise"`` an error, or play a ``"random"`` legal one, which is counted
            (``games.illegal_actions``).
        render_mode: ``"ansi"``, ``"rgb_array"`` or ``"human"``.
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        config: MegalandConfig | None = None,
        *,
        opponents: OpponentSpec = "threshold",
        seat: int | None = None,
        reward: str | Reward = "win",
        engine: str = "auto",
        illegal: str = "raise",
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        games = SingleLearnerGames(
            config, opponents=opponents, seat=seat, reward=reward, engine=engine, illegal=illegal
        )
        super().__init__(games, render_mode)

    def set_opponents(self, opponents: OpponentSpec) -> None:
        """Change who plays against the learner, from the next game on."""
        self.games.set_opponents(opponents)


class MegalandRunEnv(OneLearnerEnv, gym.Env[Observation, np.int64 | int]):
    """``Megaland-Run-v0``: one level run alone; the reward is the value brought home.

    The class it derives from describes the interface, ``RunTask`` the task.

    Args:
        hearts: at the entrance, from 1 to 8.
        jumps: jump tokens, from 0 to 14.
        value: of each treasure brought home; one number for all, or six in the order of the rules (C2).
        illegal: as in ``MegalandEnv``.
        render_mode: as in ``MegalandEnv``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        *,
        hearts: int = 4,
        jumps: int = 0,
        value: float | Sequence[float] = 1.0,
        illegal: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(TaskGames(RunTask(hearts, jumps, value), illegal=illegal), render_mode)


class MegalandBuyEnv(OneLearnerEnv, gym.Env[Observation, np.int64 | int]):
    """``Megaland-Buy-v0``: one turn of the buy phase; the rewards are the coins gained.

    The class it derives from describes the interface, ``BuyTask`` the task.

    Args:
        illegal: as in ``MegalandEnv``.
        render_mode: as in ``MegalandEnv``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, *, illegal: str = "raise", render_mode: str | None = None) -> None:
        super().__init__(TaskGames(BuyTask(), illegal=illegal), render_mode)
