"""Megaland as Gymnasium vector environments with one learner in each game: twins of those of gymnasium_env.py."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the Gymnasium environment", "envs"):
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.envs.gymnasium_env import action_space, observation_space
from megaland_env.envs.reset_mask import checked_reset_mask
from megaland_env.observation import encode
from megaland_env.render import render
from megaland_env.rewards import Reward
from megaland_env.seats.opponents import OpponentSpec
from megaland_env.seats.scenarios import BuyTask, RunTask, TaskGames
from megaland_env.seats.single_learner import SingleLearnerGames

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Infos = dict[str, Any]
StepResult = tuple[Floats, npt.NDArray[np.float64], Bools, Bools, Infos]

_MODES = ("ansi", "rgb_array")


# The public classes name VectorEnv as a direct base, which is already one of OneLearnerVectorEnv: some libraries, such
# as skrl, look at ``__bases__``.


class OneLearnerVectorEnv(VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """N games side by side, each with one learner's seat; what is played in them, a subclass says.

    It does what ``SyncVectorEnv`` does with N single environments, value for value, at a fraction of the cost.

    - *Observation*: (N, D) float32. A new array in each step, which is yours.
    - *Action*: (N,) integers. ``action_masks()`` (N, 40) bool says which are legal, ``infos["action_mask"]`` as int8.
    - *Reward*: (N,) float64, all that each learner was paid since its last observation.
    - *End*: terminations and truncations (N,), as in the single environment.
    - *Infos*: dicts of arrays, each with a ``_key`` that says which games it holds for. ``action_mask``, and what is
      zero for a game that is not over, as in the single environment: ``episode_return`` and ``episode_length``, which
      are right in every mode (those of ``RecordEpisodeStatistics`` are not with ``SAME_STEP`` before Gymnasium 1.4),
      and in the full game ``win_share``, ``coins``, ``rounds`` and ``seat``. The keys are the same in every step; those
      of ``SAME_STEP`` come on top when a game ends.
    - *Autoreset*: as Gymnasium documents its three modes. ``NEXT_STEP`` starts a finished game anew in the step after,
      whose action for it is ignored and whose reward is 0. ``SAME_STEP`` does so at once: the last observation (D,) is
      then in ``infos["final_obs"][i]``, and the infos of the end are in ``infos["final_info"]``. ``DISABLED`` leaves it
      to ``reset(options={"reset_mask": ...})``. The games played are the same in all modes.
    - *Seeds*: ``reset(seed=s)`` gives game i the seed s + i; a sequence gives each its own. The e-th game after it in a
      slot, by autoreset or by a ``reset`` without a seed, has the seed ``rng.episode_seeds(s + i, e)``. ``np_random``
      draws the seeds of slots that were never given one.

    Attributes:
        games: the games; for reading.
        autoreset_mode: the ``AutoresetMode``.
    """

    def __init__(
        self, games: SingleLearnerGames, autoreset_mode: AutoresetMode | str, render_mode: str | None = None
    ) -> None:
        if render_mode is not None and render_mode not in _MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it must be one of {_MODES}, or None")
        self.games = games
        self.num_envs = games.num_games
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": list(_MODES), "render_fps": 2, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._has_games = False  # since the last reset of all, until close
        self._seeded = np.zeros(self.num_envs, np.bool_)
        self._over = np.zeros(self.num_envs, np.bool_)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._zeros = games.no_results | {"episode_return": np.float64(0), "episode_length": np.int64(0)}

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Of all games at once. Made when asked for, since its bounds are arrays as large as four observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    def action_masks(self) -> Bools:
        """(N, 40) the legal actions of each learner; exactly PASS where a game is over.

        Raises:
            ResetNeeded: there are no games.
        """
        self._need_games()
        return self.games.decisions().legal

    # ---------------------------------------------------------------------------------------------- playing

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | npt.NDArray[np.integer[Any]] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, Infos]:
        """Start all games, or those of ``options["reset_mask"]`` (N,) bool; ``seed`` is then still for all slots.

        Returns:
            observations (N, D) and infos of all games.

        Raises:
            ValueError: there is not a seed for each game, or the mask names no game or is no mask.
            ResetNeeded: only some games are to be started, and there are no others.
        """
        games = self._games_to_reset(options)
        seeds = self._seeds_of(seed)
        super().reset(seed=int(seed) if isinstance(seed, (int, np.integer)) else None)
        given = np.array([seeds[game] is not None for game in games], np.bool_)
        to_draw = games[~given & ~self._seeded[games]]
        to_go_on = games[~given & self._seeded[games]]
        self.games.reset([seeds[game] for game in games[given]], games[given])
        self.games.reset(self.np_random.integers(2**64, size=to_draw.size, dtype=np.uint64), to_draw)
        self.games.restart(to_go_on)
        self._seeded[games] = True
        self._has_games, self.closed = True, False
        self._began(games)
        return self._observe()

    def step(self, actions: npt.ArrayLike) -> StepResult:
        """Carry out the learners' choices, and play each game on until its learner is asked again or it is over.

        Args:
            actions: (N,) integers.

        Returns:
            observations (N, D), rewards (N,), terminations (N,), truncations (N,) and infos.

        Raises:
            IllegalActionError: a choice is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: there are no games, or a game is over and nothing resets it by itself.
            ValueError: ``actions`` has another shape or is not made of integers; nothing has changed.
        """
        self._need_games()
        choices = np.asarray(actions)
        if choices.shape != (self.num_envs,):
            raise ValueError(f"actions must be ({self.num_envs},) integers, not of shape {choices.shape}")
        playing = np.flatnonzero(~self._over)
        to_restart = np.flatnonzero(self._over)
        if to_restart.size and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise ResetNeeded(
                f"games that are over cannot move: {to_restart}; reset them (options={{'reset_mask': ...}})"
            )
        self.games.step(choices[playing], playing)  # the only thing that can be refused
        rewards = np.zeros(self.num_envs)
        rewards[playing] = self.games.rewards[playing]
        self._returns += rewards
        self._lengths[playing] += 1
        self._restart(to_restart)

        over = self.games.over
        truncations = over & self.games.games.truncated
        terminations = over & ~truncations
        self._over = over
        ended = np.flatnonzero(over)
        results = self._results(ended) if ended.size else {}
        finals: Infos = {}
        if ended.size and self.autoreset_mode == AutoresetMode.SAME_STEP:
            finals = self._finals(ended, results)
            self._restart(ended)
            results = {}  # those of the games that begin
        observations, infos = self._observe()
        for name, values in results.items():
            infos[name][ended] = values
        return observations, rewards, terminations, truncations, infos | finals

    def _restart(self, games: Ints) -> None:
        if games.size:
            self.games.restart(games)
            self._began(games)

    def _began(self, games: Ints) -> None:
        self._over[games] = False
        self._returns[games] = 0
        self._lengths[games] = 0

    # ---------------------------------------------------------------------------------------------- what is given back

    def _observe(self) -> tuple[Floats, Infos]:
        """The observations, and infos of games that are not over."""
        decisions = self.games.decisions()
        infos: Infos = {"action_mask": decisions.legal.view(np.int8)}
        infos |= {name: np.zeros(self.num_envs, zero.dtype) for name, zero in self._zeros.items()}
        return encode(decisions), infos | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in infos}

    def _results(self, ended: Ints) -> dict[str, npt.NDArray[Any]]:
        """What the single environment says at the end of a game: arrays (n,) for the games ``ended`` (n,)."""
        results = self.games.results(ended)
        return results | {"episode_return": self._returns[ended], "episode_length": self._lengths[ended]}

    def _finals(self, ended: Ints, results: dict[str, npt.NDArray[Any]]) -> Infos:
        """What ``SAME_STEP`` tells of the games that are over, with the last observations, before others begin."""
        decisions = self.games.decisions(ended)
        observations = np.full(self.num_envs, None, object)
        for game, observation in zip(ended, np.ascontiguousarray(encode(decisions)), strict=True):
            observations[game] = observation
        infos: Infos = {}
        for name, values in {"action_mask": decisions.legal.view(np.int8), **results}.items():
            infos |= self._info(name, ended, values)
        marked = self._marked(ended)
        return {"final_obs": observations, "_final_obs": marked, "final_info": infos, "_final_info": marked.copy()}

    def _info(self, name: str, games: Ints, values: npt.NDArray[Any]) -> Infos:
        """Values (n, ...) for some of the games, with zeros for the others."""
        array = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
        array[games] = values
        return {name: array, f"_{name}": self._marked(games)}

    def _marked(self, games: Ints) -> Bools:
        marked = np.zeros(self.num_envs, np.bool_)
        marked[games] = True
        return marked

    # ---------------------------------------------------------------------------------------------- arguments of reset

    def _games_to_reset(self, options: dict[str, Any] | None) -> Ints:
        """(n,) positions. The options are left as they are, since wrappers read them after the environment."""
        mask = None if options is None else options.get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        mask = checked_reset_mask(mask, self.num_envs)
        if not (self._has_games or mask.all()):
            raise ResetNeeded("there are no games; reset all of them first")
        return np.flatnonzero(mask)

    def _seeds_of(self, seed: int | Sequence[int | None] | npt.NDArray[Any] | None) -> list[int | None]:
        """The seed of each slot, ``None`` where there is none."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + game for game in range(self.num_envs)]
        seeds = [None if each is None else int(each) for each in seed]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed names {len(seeds)} seeds; there are {self.num_envs} games")
        return seeds

    def render(self) -> tuple[Any, ...] | None:
        """A frame for each game: text (``ansi``) or a picture (``rgb_array``).

        Raises:
            ResetNeeded: there are no games.
        """
        self._need_games()
        if self.render_mode is None:
            return None
        return tuple(
            render(self.games.games, game, self.render_mode, viewer=seat, names=self.games.names(game))
            for game, seat in enumerate(self.games.seats.tolist())
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Leave the games; ``reset`` starts others."""
        self._has_games = False

    def _need_games(self) -> None:
        if not self._has_games:
            raise ResetNeeded("there are no games; call reset() first")


class MegalandVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-v0``. The class it derives from describes the interface.

    Args:
        num_envs: N.
        config: as in ``MegalandEnv``.
        opponents: as in ``MegalandEnv``.
        seat: as in ``MegalandEnv``.
        reward: as in ``MegalandEnv``.
        illegal: as in ``MegalandEnv``.
        autoreset_mode: an ``AutoresetMode`` or its value.
        render_mode: ``"ansi"`` or ``"rgb_array"``.
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Raises:
        ValueError: an argument has no meaning.
    """

    def __init__(
        self,
        num_envs: int = 1,
        config: MegalandConfig | None = None,
        *,
        opponents: OpponentSpec = "threshold",
        seat: int | None = None,
        reward: str | Reward = "win",
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        games = SingleLearnerGames(config, num_envs, opponents=opponents, seat=seat, reward=reward, illegal=illegal)
        super().__init__(games, autoreset_mode, render_mode)

    def set_opponents(self, opponents: OpponentSpec) -> None:
        """Change who plays against the learners, from each game's end on."""
        self.games.set_opponents(opponents)


class MegalandRunVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-Run-v0``. The class it derives from describes the interface.

    Args:
        num_envs: N.
        hearts: as in ``MegalandRunEnv``.
        jumps: as in ``MegalandRunEnv``.
        value: as in ``MegalandRunEnv``.
        illegal: as in ``MegalandVectorEnv``.
        autoreset_mode: as in ``MegalandVectorEnv``.
        render_mode: as in ``MegalandVectorEnv``.

    Raises:
        ValueError: an argument has no meaning.
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
        games = TaskGames(RunTask(hearts, jumps, value), num_envs, illegal=illegal)
        super().__init__(games, autoreset_mode, render_mode)


class MegalandBuyVectorEnv(OneLearnerVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """The vector twin of ``Megaland-Buy-v0``. The class it derives from describes the interface.

    Args:
        num_envs: N.
        illegal: as in ``MegalandVectorEnv``.
        autoreset_mode: as in ``MegalandVectorEnv``.
        render_mode: as in ``MegalandVectorEnv``.

    Raises:
        ValueError: an argument has no meaning.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(TaskGames(BuyTask(), num_envs, illegal=illegal), autoreset_mode, render_mode)
