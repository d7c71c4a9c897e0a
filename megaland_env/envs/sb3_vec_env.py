"""Megaland as a ``VecEnv`` of Stable-Baselines3: many games in parallel, with one seat of the learner in each."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.checks import check_whole, is_integer, ragged
from megaland_env.extras import needs

with needs("the Stable-Baselines3 environment", "train"):
    import gymnasium as gym
    from gymnasium.error import ResetNeeded
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from megaland_env.actions import NUM_ACTIONS
from megaland_env.agent import Agent
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.decisions import Decisions
from megaland_env.engine import rng
from megaland_env.envs.seeds import checked_seed
from megaland_env.game import MOST_GAMES
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.render import render
from megaland_env.rewards import Reward
from megaland_env.seats.opponents import Opponents, OpponentSpec
from megaland_env.seats.single_learner import SingleLearnerGames
from megaland_env.seats.slots import blocks_of

Info = dict[str, Any]


class MegalandVecEnv(VecEnv):
    """E games in parallel for one learner, in the conventions of Stable-Baselines3.

    - *Observation*: (E, D) float32, from ``observation.encode``, for the learner's decision in each game.
    - *Action*: (E,) integers, each one of the 40 actions of actions.py. ``action_masks()``, the method that sb3-contrib
      calls, marks the legal ones.
    - *Reward*: (E,) float32, the sum of the learner's rewards since its last observation, whoever made the moves.
    - *End*: after a game that is over the next game of its slot starts at once, as usual in Stable-Baselines3.
      ``infos[i]`` then has ``terminal_observation``, ``win_share`` (1 / number of winners for each winner, 0 for
      others), ``coins``, ``rounds`` and ``seat``, and after a cut-off (D4) also ``TimeLimit.truncated``, which is true.
      ``episode`` has the entries of a ``Monitor``: ``r``, the sum of the rewards, ``l``, the number of steps, and
      ``t``, the seconds since this environment was made. So ``rollout/ep_rew_mean`` is logged without ``VecMonitor``,
      which may still be used. All other games share one empty dict.
    - *Seeds*: after ``seed(s)`` and ``reset()`` game i has the seed s + i, and the e-th game after it in that slot has
      ``rng.episode_seeds(s + i, e)``. A ``reset()`` without a seed starts the next game of each slot.

    Args:
        config: the configuration of all games, or a sequence of configurations, so that one policy learns at tables of
            several sizes. Each configuration is played in a block of rows, and the blocks are of nearly equal size.
        num_envs: number of games (E).
        opponents: the agents in the other seats: one agent or its name, P - 1 of them clockwise from the learner, or a
            weighted pool (``Opponents.of``).
        seat: the learner's seat; ``None`` draws it for each game.
        reward: ``"win"``, ``"coins"``, ``"shaped"`` or a callable, as in ``MegalandGames``.
        engine: ``"auto"``, ``"numpy"`` or ``"compiled"``, as in ``MegalandGames``.
        seed: the seed of the first ``reset``; ``None`` takes one from the operating system.
        illegal: the effect of an illegal action: ``"raise"`` raises an error, ``"random"`` plays a random legal action
            instead, which ``illegal_actions`` counts.
        render_mode: ``"rgb_array"`` for pictures (``render``, ``get_images``, ``VecVideoRecorder``), or ``None``.
        **config_fields: fields of the configuration instead of ``config``, such as ``num_players=2``.

    Raises:
        ValueError: an argument is invalid.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        config: MegalandConfig | Sequence[MegalandConfig] | None = None,
        num_envs: int = 64,
        *,
        opponents: OpponentSpec = "threshold",
        seat: int | None = None,
        reward: str | Reward = "win",
        engine: str = "auto",
        seed: int | None = None,
        illegal: str = "raise",
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode!r}; it must be 'rgb_array' or None")
        check_whole("num_envs", num_envs, 1, MOST_GAMES)
        num_envs = int(num_envs)
        several = isinstance(config, Sequence) and not config_fields
        configs = list(config) if several else [config_of(config, config_fields, type(self))]  # type: ignore[arg-type]
        self._rows = blocks_of(num_envs, len(configs))
        drawn = Opponents.of(opponents)
        self._blocks = [
            SingleLearnerGames(
                each,
                rows.stop - rows.start,
                opponents=drawn,
                seat=seat,
                reward=reward,
                engine=engine,
                illegal=illegal,
            )
            for each, rows in zip(configs, self._rows, strict=True)
        ]
        self._has_games = False  # from reset to close
        self._actions: npt.NDArray[Any] | None = None  # the argument of step_async
        self._decisions: list[Decisions] = []
        self._masks: npt.NDArray[np.bool_] | None = None
        self._encoding_seconds = 0.0
        # VecEnv.__init__ reads attributes, so everything that they need must be set before.
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._began = time.time()
        self._returns = np.zeros(num_envs)  # (E,) sum of the rewards in the current games
        self._lengths = np.zeros(num_envs, np.int64)  # (E,) number of steps in the current games
        super().__init__(
            num_envs,
            gym.spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32),
            gym.spaces.Discrete(NUM_ACTIONS),
        )
        self.metadata["render_fps"] = 2
        self.seed(secrets.randbits(32) if seed is None else seed)

    # ---------------------------------------------------------------------------------------------- what a user reads

    @property
    def blocks(self) -> tuple[SingleLearnerGames, ...]:
        """The games, with a block of rows for each configuration; do not change them."""
        return tuple(self._blocks)

    @property
    def num_players(self) -> npt.NDArray[np.int64]:
        """(E,) number of players in each game."""
        return self._joined([np.full(block.num_games, block.num_players) for block in self._blocks])

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """(E,) the learner's seat in each game."""
        self._need_games()
        return self._joined([block.seats for block in self._blocks])

    @property
    def game_seeds(self) -> npt.NDArray[np.uint64]:
        """(E,) the seed of each game."""
        self._need_games()
        return self._joined([block.games.seeds for block in self._blocks])

    @property
    def played(self) -> npt.NDArray[np.int64]:
        """(E,) the learner's last actions as carried out; with ``illegal="random"`` some may have been replaced."""
        return self._joined([block.played for block in self._blocks])

    @property
    def illegal_actions(self) -> int:
        """The number of illegal actions that were replaced by random ones."""
        return sum(block.illegal_actions for block in self._blocks)

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent so far in the ``"engine"``, in the ``"opponents"``, and in ``"encoding"``."""
        spent = {name: sum(block.seconds[name] for block in self._blocks) for name in ("engine", "opponents")}
        return spent | {"encoding": self._encoding_seconds}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(E, 40) the legal actions of the learner in each game.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_games()
        if self._masks is None:
            self._masks = self._joined([decisions.legal for decisions in self._decisions])
        return self._masks

    def set_opponents(self, opponents: OpponentSpec) -> None:
        """Change the opponents of games that start later, as leagues need it.

        Raises:
            ValueError: as in ``Opponents.of``; nothing has changed.
        """
        drawn = Opponents.of(opponents)
        for block in self._blocks:
            drawn.check_table(block.num_players)
        for block in self._blocks:
            block.set_opponents(drawn)

    # ---------------------------------------------------------------------------------------------- VecEnv: playing

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next ``reset``: game i gets seed + i; without one, SB3 draws it.

        Raises:
            ValueError: ``seed`` is not an integer from 0 to 2**64 - 1; nothing has changed.
        """
        return super().seed(None if seed is None else checked_seed(seed))

    def reset(self) -> npt.NDArray[np.float32]:
        """Start games with the seeds of ``seed``, or else the next game of each slot; return observations (E, D)."""
        seeds = [seed for seed in self._seeds if seed is not None]
        for block, rows in zip(self._blocks, self._rows, strict=True):
            if seeds:
                block.reset(rng.as_words(seeds[rows]))
            else:
                block.restart(np.arange(block.num_games))
        self._reset_seeds()
        self._reset_options()
        self._has_games, self._actions = True, None
        self._returns[:] = 0
        self._lengths[:] = 0
        return self._observe()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions (E,) for the next ``step_wait``.

        Raises:
            ResetNeeded: no game has been started.
            ValueError: ``actions`` has another shape.
        """
        self._need_games()
        try:
            choices = np.asarray(actions)
        except ValueError:
            raise ragged("actions") from None
        if choices.shape != (self.num_envs,):
            raise ValueError(f"actions must be ({self.num_envs},) integers, not of shape {choices.shape}")
        self._actions = choices

    def step_wait(self) -> VecEnvStepReturn:
        """Carry out the stored actions, and play each game on to the learner's next decision.

        Returns:
            observations (E, D), rewards (E,), dones (E,) and infos.

        Raises:
            IllegalActionError: an action is not legal, and ``illegal`` is ``"raise"``; nothing has changed.
            ResetNeeded: no game has been started.
            RuntimeError: ``step_async`` was not called before.
        """
        self._need_games()
        if self._actions is None:
            raise RuntimeError("there are no actions to carry out; call step_async(actions) first")
        actions, self._actions = self._actions, None
        rewards = np.empty(self.num_envs, np.float32)
        dones = np.zeros(self.num_envs, np.bool_)
        nothing: Info = {}  # one dict for all; to make thousands would take longer than to play the games
        infos = [nothing] * self.num_envs
        self._step_blocks(actions)
        for block, rows in zip(self._blocks, self._rows, strict=True):
            rewards[rows] = block.rewards
        self._returns += rewards
        self._lengths += 1
        for block, rows in zip(self._blocks, self._rows, strict=True):
            over = np.flatnonzero(block.over)
            if over.size:
                dones[rows.start + over] = True
                ended = rows.start + over
                for row, info in zip(ended.tolist(), self._last_words(block, over, ended), strict=True):
                    infos[row] = info
                self._returns[ended] = 0
                self._lengths[ended] = 0
                block.restart(over)
        return self._observe(), rewards, dones, infos

    def _step_blocks(self, actions: npt.NDArray[Any]) -> None:
        """Step all blocks, or none if one raises."""
        if len(self._blocks) == 1:
            self._blocks[0].step(actions)
            return
        saved = [block.save() for block in self._blocks]
        try:
            for block, rows in zip(self._blocks, self._rows, strict=True):
                block.step(actions[rows])
        except BaseException:
            for block, before in zip(self._blocks, saved, strict=True):
                block.put_back(before)
            raise

    def _last_words(
        self, block: SingleLearnerGames, over: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> list[Info]:
        """The infos of the games ``over`` (n,) of a block, whose rows among all games are ``rows`` (n,)."""
        observations = np.ascontiguousarray(self._encode(block.decisions(over)))
        results = block.results(over)
        shares, coins, rounds, seats = (results[name].tolist() for name in ("win_share", "coins", "rounds", "seat"))
        infos: list[Info] = [
            {"terminal_observation": observation, "win_share": share, "coins": own, "rounds": number, "seat": seat}
            for observation, share, own, number, seat in zip(observations, shares, coins, rounds, seats, strict=True)
        ]
        seconds = round(time.time() - self._began, 6)
        for info, paid, length in zip(infos, self._returns[rows].tolist(), self._lengths[rows].tolist(), strict=True):
            info["episode"] = {"r": round(paid, 6), "l": length, "t": seconds}
        for row in np.flatnonzero(block.games.truncated[over]):
            infos[row]["TimeLimit.truncated"] = True
        return infos

    def _observe(self) -> npt.NDArray[np.float32]:
        self._decisions = [block.decisions() for block in self._blocks]
        self._masks = None
        return self._joined([self._encode(decisions) for decisions in self._decisions])

    def _encode(self, decisions: Decisions) -> npt.NDArray[np.float32]:
        began = perf_counter()
        observations = encode(decisions)
        self._encoding_seconds += perf_counter() - began
        return observations

    def _joined(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The rows of all blocks."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    # ---------------------------------------------------------------------------------------------- VecEnv: the rest

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """A picture (H, W, 3) of each game from the view of the learner; all ``None`` without a render mode.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_games()
        if self.render_mode is None:
            return [None] * self.num_envs
        return [
            render(block.games, game, self.render_mode, viewer=int(block.seats[game]), names=block.names(game))
            for block in self._blocks
            for game in range(block.num_games)
        ]

    def close(self) -> None:
        """End the games; ``reset`` starts others."""
        self._has_games = False

    def _need_games(self) -> None:
        if not self._has_games:
            raise ResetNeeded("no game has been started; call reset() first")

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The value of an attribute for each game: its row of an array (E, ...), otherwise the same value for all."""
        return self._each(getattr(self, attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all games.

        Raises:
            ValueError: ``indices`` does not contain all games, which share their attributes.
        """
        if not self._are_all(indices):
            raise ValueError(f"the games of a MegalandVecEnv share the attribute {attr_name!r}; set it for all of them")
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method once for all games, and return the result for each of ``indices``, as ``get_attr`` does.

        Raises:
            ValueError: ``indices`` does not contain all games, and the method is not ``action_masks``: all other
                methods would affect every game. Nothing has changed.
        """
        if method_name != "action_masks" and not self._are_all(indices):
            raise ValueError(f"the games of a MegalandVecEnv share {method_name}(); call it for all of them")
        return self._each(getattr(self, method_name)(*method_args, **method_kwargs), indices)

    def _are_all(self, indices: VecEnvIndices) -> bool:
        return indices is None or set(self._get_indices(indices)) == set(range(self.num_envs))

    def _each(self, value: Any, indices: VecEnvIndices) -> list[Any]:
        if not (isinstance(value, np.ndarray) and value.shape[:1] == (self.num_envs,)):
            return [value for _ in self._get_indices(indices)]
        return list(value) if indices is None else [value[index] for index in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """False for each game: there are no wrappers."""
        return [False for _ in self._get_indices(indices)]

    # ---------------------------------------------------------------------------------------------- saving

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The opponents that have a seat or may get one, each once; ``snapshot`` refers to them by position."""
        agents: list[Agent] = []
        for block in self._blocks:
            agents += [agent for agent in block.agents if not any(agent is other for other in agents)]
        return tuple(agents)

    def snapshot(self) -> dict[str, Any]:
        """Return all games as a dict for ``json.dumps``, between two steps; agents are given by their position.

        Raises:
            ResetNeeded: no game has been started.
        """
        self._need_games()
        numbers = {id(agent): number for number, agent in enumerate(self.agents)}
        return {
            "blocks": [block.snapshot() for block in self._blocks],
            "agents": [[numbers[id(agent)] for agent in block.agents] for block in self._blocks],
            "returns": self._returns.tolist(),
            "lengths": self._lengths.tolist(),
        }

    def _running(self, snapshot: Mapping[str, Any], name: str) -> npt.NDArray[np.float64]:
        """(E,) returns or lengths of the current games; zeros for a snapshot of version 0.1."""
        values = np.asarray(snapshot.get(name, np.zeros(self.num_envs)))
        if values.shape != (self.num_envs,) or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise ValueError(f"{name} must be ({self.num_envs},) finite numbers, not of shape {values.shape}")
        return values.astype(np.float64)

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> npt.NDArray[np.float32]:
        """Continue exactly as the original would have, except that ``set_opponents`` here decides about later games.

        Args:
            snapshot: a snapshot of an environment with the same configurations and the same number of games.
            agents: the agents of the original, in the order of its ``agents``.

        Returns:
            (E, D) the observations.

        Raises:
            ValueError: the snapshot is invalid or has other configurations; nothing has changed.
        """
        parts, numbers = snapshot["blocks"], snapshot["agents"]
        if not len(parts) == len(numbers) == len(self._blocks):
            raise ValueError(f"the snapshot is of {len(parts)} configurations; there are {len(self._blocks)} here")
        for number in (number for each in numbers for number in each):
            if not is_integer(number) or not 0 <= number < len(agents):
                raise ValueError(f"the snapshot names agent {number!r}, but {len(agents)} agents were given")
        blocks = zip(self._blocks, parts, numbers, strict=True)
        prepared = [block.prepared(part, [agents[number] for number in each]) for block, part, each in blocks]
        returns, lengths = (self._running(snapshot, name) for name in ("returns", "lengths"))
        for restore in prepared:
            restore()
        self._returns[:] = returns
        self._lengths[:] = lengths
        self._reset_seeds()
        self._has_games, self._actions = True, None
        return self._observe()
