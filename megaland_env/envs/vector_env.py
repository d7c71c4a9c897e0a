"""``AutoresetVectorEnv``: autoreset, seeds and infos, shared by the vector environments with Gymnasium's API."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the Gymnasium environment", "envs"):
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

from megaland_env.checks import check_whole, ragged
from megaland_env.engine import rng
from megaland_env.envs.seeds import checked_seeds
from megaland_env.game import MOST_GAMES

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Rewards = npt.NDArray[np.floating[Any]]
Infos = dict[str, Any]
StepResult = tuple[Floats, Any, Bools, Bools, Infos]

_MODES = ("ansi", "rgb_array")


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """A mode by its value, as in Gymnasium's environments, or by its name."""
    if isinstance(mode, str) and mode in AutoresetMode.__members__:
        return AutoresetMode[mode]
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(each.value) for each in AutoresetMode)
        raise ValueError(f"autoreset_mode is {mode!r}, no valid AutoresetMode; there are {known}") from None


def check_num_envs(num_envs: int) -> None:
    """Check a number of games that run side by side.

    Raises:
        ValueError: it is not an integer, too small or too large.
    """
    check_whole("num_envs", num_envs, 1, MOST_GAMES)


class AutoresetVectorEnv(VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """N slots, in each of which one game follows the other. Subclasses define what is played, seen and paid.

    - *Infos*: dicts of arrays, each with a ``_key`` that says for which games it holds. The keys are the same in every
      step; those of ``SAME_STEP`` are added when a game ends.
    - *Autoreset*: the three modes that Gymnasium documents. ``NEXT_STEP`` starts the next game of a slot in the step
      after the end; this step ignores the slot's action, and its reward is 0. ``SAME_STEP`` starts it at once: the last
      observation is then in ``infos["final_obs"][i]``, and the infos of the end are in ``infos["final_info"]``.
      ``DISABLED`` waits for ``reset(options={"reset_mask": ...})``. The games played are the same in all modes.
    - *Seeds*: ``reset(seed=s)`` gives game i the seed s + i; a sequence gives each game its own. The e-th game after it
      in a slot, started by autoreset or by a ``reset`` without a seed, has the seed ``rng.episode_seeds(s + i, e)``.
      ``np_random`` draws the seeds of slots that were never given one.

    Args:
        num_envs: number of games (N).
        observation_space: of one game.
        action_space: of one game.
        rewards_shape: the shape of the rewards of a step, (N,) or (N, P).
        autoreset_mode: an ``AutoresetMode``, its name or its value, as ``"SAME_STEP"`` or ``"SameStep"``.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    Attributes:
        autoreset_mode: the ``AutoresetMode``.

    Raises:
        ValueError: a mode is invalid.
    """

    def __init__(
        self,
        num_envs: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        rewards_shape: tuple[int, ...],
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
    ) -> None:
        if render_mode is not None and render_mode not in _MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it must be one of {_MODES}, or None")
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": list(_MODES), "render_fps": 2, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.action_space = batch_space(action_space, num_envs)
        self._has_games = False  # since the last reset of all, until close
        self._seeded = np.zeros(num_envs, np.bool_)  # (N,) the slots that have a seed
        self._over = np.zeros(num_envs, np.bool_)  # (N,) the games that have ended and were not yet followed by others
        self._returns = np.zeros(rewards_shape)  # of the games that are running
        # (N,) the steps of these games.
        self._lengths: npt.NDArray[np.signedinteger[Any]] = np.zeros(num_envs, np.int64)

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """The space of all observations. Made when it is read: its bounds are as large as four observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    # ---------------------------------------------------------------------------------------------- what is played

    @abstractmethod
    def _begin(self, slots: Ints, seeds: npt.NDArray[np.uint64] | None) -> None:
        """Start the games of these seeds (n,) in ``slots`` (n,), or the next games of the slots."""

    @abstractmethod
    def _move(self, actions: npt.NDArray[Any], playing: Ints | None) -> Rewards:
        """Carry out the actions of the games ``playing`` (n,), or of all, and return a new array of rewards.

        Changes nothing if it raises an error. The rewards of games that do not move are ignored.
        """

    @abstractmethod
    def _ends(self) -> tuple[Bools, Bools]:
        """(N,) the games that are over, as a new array, and (N,) those that were cut off (D4)."""

    @abstractmethod
    def _observe(self, games: Ints | None) -> tuple[Floats, Infos]:
        """Observations (n, ...) of some games or of all, and the infos (n, ...) that a game has at any time."""

    @abstractmethod
    def _results(self, games: Ints) -> Infos:
        """The infos (n, ...) that only games have that are over."""

    @abstractmethod
    def _frame(self, game: int) -> Any:
        """A picture or a text of one game."""

    # ---------------------------------------------------------------------------------------------- playing

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | npt.NDArray[np.integer[Any]] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, Infos]:
        """Start new games in all slots.

        Args:
            seed: an integer, or one for each slot, where ``None`` goes on with the seed that the slot has.
            options: ``"reset_mask"`` (N,) bool starts new games in these slots alone; ``seed`` is for all slots still.

        Returns:
            the observations and the infos of all games.

        Raises:
            ValueError: a seed is not an integer from 0 to 2**64 - 1, there is not one for each slot, or the mask is
                invalid or names no game.
            ResetNeeded: only some games are to be started, and there are no others.
        """
        slots = self._slots_to_reset(options)
        seeds = checked_seeds(seed, self.num_envs)
        given, words = self._seeds_of(seeds)
        super().reset(seed=seeds if isinstance(seeds, int) else None)  # for np_random
        to_draw = slots[~given[slots] & ~self._seeded[slots]]
        if to_draw.size:
            words[to_draw] = self.np_random.integers(2**64, size=to_draw.size, dtype=np.uint64)
            given[to_draw] = True
        self._start(slots[given[slots]], words[slots[given[slots]]])
        self._start(slots[~given[slots]])
        self._seeded[slots] = True
        self._has_games, self.closed = True, False
        return self._observe_all()

    def step(self, actions: npt.ArrayLike) -> StepResult:
        """Carry out the actions, and start the games that the autoreset mode asks for.

        Args:
            actions: integers of the shape of ``action_space``.

        Returns:
            observations, rewards, terminations (N,), truncations (N,) and infos.

        Raises:
            IllegalActionError: an action is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: no game has been started, or a game is over and nothing resets it by itself.
            ValueError: ``actions`` has another shape or is not made of integers; nothing has changed.
        """
        self._need_games()
        try:
            choices = np.asarray(actions)
        except ValueError:
            raise ragged("actions") from None
        shape = self.action_space.shape
        if choices.shape != shape or choices.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers of shape {shape}, not {choices.dtype} of shape {choices.shape}")
        to_start = np.flatnonzero(self._over)
        if to_start.size and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            named = ", ".join(map(str, to_start[:10]))
            raise ResetNeeded(f"these games are over: {named}; reset(options={{'reset_mask': ...}}) them first")
        rewards = self._move(choices, np.flatnonzero(~self._over) if to_start.size else None)
        rewards[to_start] = 0
        self._returns += rewards
        self._lengths += 1
        self._start(to_start)

        self._over, cut_off = self._ends()
        truncations = self._over & cut_off
        terminations = self._over & ~truncations
        ended = np.flatnonzero(self._over)
        results = self._results_of(ended) if ended.size else {}
        finals: Infos = {}
        if ended.size and self.autoreset_mode == AutoresetMode.SAME_STEP:
            finals = self._finals(ended, results)
            self._start(ended)
            results = {}  # the games that begin have none
        observations, infos = self._observe_all()
        for name, values in results.items():
            infos[name][ended] = values
        return observations, rewards, terminations, truncations, infos | finals

    def _start(self, slots: Ints, seeds: npt.NDArray[np.uint64] | None = None) -> None:
        if slots.size:
            self._begin(slots, seeds)
            self._over[slots] = False
            self._returns[slots] = 0
            self._lengths[slots] = 0

    # ---------------------------------------------------------------------------------------------- observations

    def _observe_all(self) -> tuple[Floats, Infos]:
        """The observations, and the infos while no game is over."""
        observations, infos = self._observe(None)
        for name, none in self._no_results.items():
            infos[name] = np.zeros((self.num_envs, *none.shape[1:]), none.dtype)
        return observations, infos | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in infos}

    @cached_property
    def _no_results(self) -> Infos:
        """The results of no games: their shapes and types."""
        return self._results_of(np.zeros(0, np.int64))

    def _results_of(self, ended: Ints) -> Infos:
        return self._results(ended) | {
            "episode_return": self._returns[ended],
            "episode_length": self._lengths[ended],
        }

    def _finals(self, ended: Ints, results: Infos) -> Infos:
        """What ``SAME_STEP`` says about the games that are over, before others take their places."""
        rows, infos = self._observe(ended)
        observations = np.full(self.num_envs, None, object)
        for game, observation in zip(ended, np.ascontiguousarray(rows), strict=True):
            observations[game] = observation
        final_infos: Infos = {}
        for name, values in (infos | results).items():
            final_infos[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            final_infos[name][ended] = values
            final_infos[f"_{name}"] = self._over.copy()
        return {
            "final_obs": observations,
            "_final_obs": self._over.copy(),
            "final_info": final_infos,
            "_final_info": self._over.copy(),
        }

    def render(self) -> tuple[Any, ...] | None:
        """A frame for each game: text (``ansi``) or a picture (``rgb_array``).

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_games()
        if self.render_mode is None:
            return None
        return tuple(self._frame(game) for game in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Leave the games; ``reset`` starts others."""
        self._has_games = False

    def _need_games(self) -> None:
        if not self._has_games:
            raise ResetNeeded("no game has been started; call reset() first")

    # ---------------------------------------------------------------------------------------------- arguments of reset

    def _slots_to_reset(self, options: dict[str, Any] | None) -> Ints:
        """(n,) positions. The options stay as they are: wrappers read them after the environment."""
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"options is {options!r}; it must be a dict or None")
        mask = None if options is None else options.get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"options['reset_mask'] must be a boolean array of shape ({self.num_envs},), not {mask!r}")
        if not mask.any():
            raise ValueError("options['reset_mask'] names no game")
        if not (self._has_games or mask.all()):
            raise ResetNeeded("no game has been started; the first reset() must start all of them")
        return np.flatnonzero(mask)

    def _seeds_of(self, seeds: int | list[int | None] | None) -> tuple[Bools, npt.NDArray[np.uint64]]:
        """(N,) the slots that are given a seed, and (N,) these seeds, modulo 2**64."""
        if isinstance(seeds, int):
            return np.ones(self.num_envs, np.bool_), rng.as_words([seeds]) + rng.as_words(np.arange(self.num_envs))
        each = [None] * self.num_envs if seeds is None else seeds
        return np.array([seed is not None for seed in each], np.bool_), rng.as_words([seed or 0 for seed in each])
