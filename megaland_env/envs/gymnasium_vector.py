"""Megaland as Gymnasium vector environments with one learner in each game: twins of those of gymnasium_env.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the Gymnasium environment", "envs"):
    from gymnasium.vector import AutoresetMode, VectorEnv

from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.envs.gymnasium_env import action_space, observation_space
from megaland_env.envs.vector_env import AutoresetVectorEnv, Bools, Floats, Infos, Ints, check_num_envs
from megaland_env.observation import encode
from megaland_env.render import render
from megaland_env.rewards import Reward
from megaland_env.seats.opponents import OpponentSpec
from megaland_env.seats.scenarios import BuyTask, RunTask, TaskGames
from megaland_env.seats.single_learner import SingleLearnerGames

# The public classes name VectorEnv as a direct base, which is already one of OneLearnerVectorEnv: some libraries, such
# as skrl, look at ``__bases__``.


class OneLearnerVectorEnv(AutoresetVectorEnv):
    """N games played at the same time, in each of which the caller has one seat; a subclass defines the games.

    It returns exactly what Gymnasium's ``SyncVectorEnv`` returns for N single environments, and is much faster.

    - *Observation*: (N, D) float32. A new array in each step, which the caller may keep.
    - *Action*: (N,) integers. ``action_masks()`` (N, 40) bool says which are legal, ``infos["action_mask"]`` as int8.
    - *Reward*: (N,) float64, everything that each learner was paid since its last observation.
    - *End*: terminations and truncations (N,), as in the single environment.
    - *Infos*: ``action_mask``, and values that are zero for a game that is not over, as in the single environment:
      ``episode_return`` and ``episode_length``, which are right in every mode (those of ``RecordEpisodeStatistics`` are
      not with ``SAME_STEP`` before Gymnasium 1.4), and in the full game ``win_share``, ``coins``, ``rounds`` and
      ``seat``.
    - *Autoreset*, *Seeds*: see ``AutoresetVectorEnv``.

    Attributes:
        games: the games; for reading.
        autoreset_mode: the ``AutoresetMode``.
    """

    def __init__(
        self, games: SingleLearnerGames, autoreset_mode: AutoresetMode | str, render_mode: str | None = None
    ) -> None:
        number = games.num_games
        super().__init__(number, observation_space(), action_space(), (number,), autoreset_mode, render_mode)
        self.games = games

    def action_masks(self) -> Bools:
        """(N, 40) the legal actions of each learner; exactly PASS where a game is over.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_games()
        return self.games.decisions().legal

    def _begin(self, slots: Ints, seeds: npt.NDArray[np.uint64] | None) -> None:
        if seeds is None:
            self.games.restart(slots)
        else:
            self.games.reset(seeds, slots)

    def _move(self, actions: npt.NDArray[Any], playing: Ints | None) -> npt.NDArray[np.float64]:
        self.games.step(actions if playing is None else actions[playing], playing)
        return self.games.rewards.astype(np.float64)

    def _ends(self) -> tuple[Bools, Bools]:
        return self.games.over, self.games.games.truncated

    def _observe(self, games: Ints | None) -> tuple[Floats, Infos]:
        decisions = self.games.decisions(games)
        return encode(decisions), {"action_mask": decisions.legal.view(np.int8)}

    def _results(self, games: Ints) -> Infos:
        return self.games.results(games)

    def _frame(self, game: int) -> Any:
        assert self.render_mode is not None
        viewer, names = int(self.games.seats[game]), self.games.names(game)
        return render(self.games.games, game, self.render_mode, viewer=viewer, names=names)


class MegalandVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-v0``. The class it derives from describes the interface.

    Args:
        num_envs: number of games (N).
        config: as in ``MegalandEnv``.
        opponents: as in ``MegalandEnv``.
        seat: as in ``MegalandEnv``.
        reward: as in ``MegalandEnv``.
        engine: likewise.
        illegal: as in ``MegalandEnv``.
        autoreset_mode: an ``AutoresetMode``, its name or its value, as ``"SAME_STEP"`` or ``"SameStep"``.
        render_mode: ``"ansi"`` or ``"rgb_array"``.
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        num_envs: int = 1,
        config: MegalandConfig | None = None,
        *,
        opponents: OpponentSpec = "threshold",
        seat: int | None = None,
        reward: str | Reward = "win",
        engine: str = "auto",
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        check_num_envs(num_envs)
        config = config_of(config, config_fields, type(self))
        games = SingleLearnerGames(
            config, num_envs, opponents=opponents, seat=seat, reward=reward, engine=engine, illegal=illegal
        )
        super().__init__(games, autoreset_mode, render_mode)

    def set_opponents(self, opponents: OpponentSpec) -> None:
        """Change who plays against the learners, from each game's end on."""
        self.games.set_opponents(opponents)


class MegalandRunVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-Run-v0``. The class it derives from describes the interface.

    Args:
        num_envs: number of games (N).
        hearts: as in ``MegalandRunEnv``.
        jumps: as in ``MegalandRunEnv``.
        value: as in ``MegalandRunEnv``.
        illegal: as in ``MegalandVectorEnv``.
        autoreset_mode: as in ``MegalandVectorEnv``.
        render_mode: as in ``MegalandVectorEnv``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        hearts: int = 4,
        jumps: int = 0,
        value: float | Sequence[float] = 1.0,
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        check_num_envs(num_envs)
        games = TaskGames(RunTask(hearts, jumps, value), num_envs, illegal=illegal)
        super().__init__(games, autoreset_mode, render_mode)


class MegalandBuyVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-Buy-v0``. The class it derives from describes the interface.

    Args:
        num_envs: number of games (N).
        illegal: as in ``MegalandVectorEnv``.
        autoreset_mode: as in ``MegalandVectorEnv``.
        render_mode: as in ``MegalandVectorEnv``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        check_num_envs(num_envs)
        super().__init__(TaskGames(BuyTask(), num_envs, illegal=illegal), autoreset_mode, render_mode)
