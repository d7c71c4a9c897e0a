"""Megaland as a Gymnasium vector environment in which every seat of every game is the caller's."""

from __future__ import annotations

import operator
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

from megaland_env.actions import NUM_ACTIONS, PASS, Kind
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.engine import rng
from megaland_env.envs.reset_mask import checked_reset_mask
from megaland_env.game import MegalandGames
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.render import render
from megaland_env.rewards import Reward, win_shares
from megaland_env.seats.legality import check_illegal, made_legal

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Infos = dict[str, Any]
StepResult = tuple[Floats, Floats, Bools, Bools, Infos]

_RENDER_MODES = ("ansi", "rgb_array")


class MegalandMultiAgentVectorEnv(VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """N games side by side, each with P seats, and a step for all of them: for learners that play every seat.

    A step is one decision moment of every game. Who must decide stands in ``active`` (N, P): often several seats of a
    game at once, which then decide without seeing each other's choices, and in the buy phase a single one.

    - *Observation*: (N, P, D) float32, in row (i, p) what seat p of game i sees (``observation.encode``), whether it
      must decide or waits. A new array in each step, which is yours.
    - *Action*: (N, P) integers, each one of the 40 of actions.py. Only the entries of seats that are active count; the
      others may hold anything.
    - *Mask*: ``action_masks()`` (N, P, 40) bool, and ``infos["action_mask"]`` the same as int8, which is what the
      spaces of Gymnasium sample by. A seat that is not active has exactly PASS, so no row is ever empty.
    - *Reward*: (N, P) float32, what the step paid each seat, whoever's choice it was for: sum them up from one decision
      of a seat to its next.
    - *End*: terminations and truncations (N,); all seats of a game end together. Truncated are games that were cut off
      after ``max_rounds`` (D4), and no others.
    - *Infos*: a dict of arrays, each with a ``_key`` that says which games it holds for: ``action_mask`` and
      ``active``, and what is zero for a game that is not over: ``win_share`` (N, P) (1 / number of winners for each
      winner, 0 for others), ``coins`` (N, P), ``rounds`` (N,), ``episode_return`` (N, P) and ``episode_length`` (N,) in
      steps. (Gymnasium's own statistics know one reward a game.) The keys are the same in every step; those of
      ``SAME_STEP`` come on top when a game ends.
    - *Autoreset*: the three modes as Gymnasium documents them. ``NEXT_STEP`` starts a finished game anew in the step
      after, which ignores its actions and pays nothing. ``SAME_STEP`` does so at once: the last observation (P, D) is
      then in ``infos["final_obs"][i]``, and the infos of the end are in ``infos["final_info"]``. ``DISABLED`` leaves it
      to ``reset(options={"reset_mask": ...})``. The games are the same in all modes.
    - *Seeds*: ``reset(seed=s)`` gives game i the seed s + i; a sequence gives each its own. The e-th game after it in
      a slot, by autoreset or by a ``reset`` without a seed, has the seed ``rng.episode_seeds(s + i, e)``. ``np_random``
      draws the seeds of slots that were never given one.

    Args:
        num_envs: N.
        config: of all games; the default is the full game for four.
        reward: ``"win"``, ``"coins"``, ``"shaped"`` or a callable, as in ``MegalandGames``.
        autoreset_mode: an ``AutoresetMode`` or its value.
        illegal: what an illegal action of an active seat does: ``"raise"`` an ``IllegalActionError`` before anything
            changes, or play a ``"random"`` legal one, which is counted; ``played`` then says which.
        render_mode: ``"ansi"`` or ``"rgb_array"``.
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Attributes:
        games: the games; for reading.
        played: (N, P) int64, the actions that the last step carried out; PASS for seats that were not active.
        illegal_actions: how many illegal actions were replaced.
        autoreset_mode: the ``AutoresetMode``.

    Raises:
        ValueError: an argument has no meaning.
    """

    def __init__(
        self,
        num_envs: int = 1,
        config: MegalandConfig | None = None,
        *,
        reward: str | Reward = "win",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        illegal: str = "raise",
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        if render_mode is not None and render_mode not in _RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it must be one of {_RENDER_MODES}, or None")
        self.games = MegalandGames(config, num_envs, reward=reward)
        self.num_envs = self.games.num_games
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": list(_RENDER_MODES), "render_fps": 2, "autoreset_mode": self.autoreset_mode}
        players = self.games.num_players
        self.single_observation_space = spaces.Box(-1.0, 1.0, (players, NUM_FEATURES), np.float32)
        self.single_action_space = spaces.MultiDiscrete([NUM_ACTIONS] * players)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.played = np.full((self.num_envs, players), PASS, np.int64)
        self.illegal_actions = 0
        self._illegal = check_illegal(illegal)
        self._has_games = False  # since the last reset of all, until close
        self._started = False  # whether every slot has a seed
        self._slot_seeds = np.zeros(self.num_envs, np.uint64)  # (N,) what each slot was reset with
        self._episodes = np.zeros(self.num_envs, np.int64)  # (N,) games that each slot has begun since
        self._returns = np.zeros((self.num_envs, players))  # (N, P) rewards of the games that are running
        # Game by game, so that the observations can be seen as (N * P, D) without being copied.
        self._row_games = np.repeat(np.arange(self.num_envs), players)
        self._row_seats = np.tile(np.arange(players), self.num_envs)

    # ---------------------------------------------------------------------------------------------- what a user reads

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Of all games at once. Made when asked for: its bounds are arrays as large as four observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    @property
    def config(self) -> MegalandConfig:
        """The configuration of all the games."""
        return self.games.config

    @property
    def num_players(self) -> int:
        """P."""
        return self.games.num_players

    @property
    def active(self) -> Bools:
        """(N, P) the seats that must decide now."""
        self._need_games()
        return self.games.active

    @property
    def game_seeds(self) -> npt.NDArray[np.uint64]:
        """(N,) the seed of each game."""
        self._need_games()
        return self.games.seeds

    def action_masks(self) -> Bools:
        """(N, P, 40) the legal actions of every seat.

        Raises:
            ResetNeeded: there are no games.
        """
        self._need_games()
        return self.games.legal

    # ---------------------------------------------------------------------------------------------- playing

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | npt.NDArray[np.integer[Any]] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, Infos]:
        """Start all games anew, or those of ``options["reset_mask"]`` (N,) bool; ``seed`` is then still for all slots.

        Returns:
            observations (N, P, D) and infos of all games.

        Raises:
            ValueError: there is not a seed for each game, or the mask names no game or is no mask.
            ResetNeeded: only some games are to be started, and there are no others.
        """
        games = self._games_to_reset(options)
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))  # for np_random
        self._seed(seed, games)
        self._started = True
        self._has_games, self.closed = True, False
        self._start(games)
        every = self._marked()
        return self._observe(), self._infos_of(every) | self._infos_at_end(~every, every)

    def step(self, actions: npt.ArrayLike) -> StepResult:
        """Carry out one decision moment of every game.

        Args:
            actions: (N, P) integers; the entries of seats that are not active are ignored.

        Returns:
            observations (N, P, D), rewards (N, P), terminations (N,), truncations (N,) and infos.

        Raises:
            IllegalActionError: an active seat chose what it may not, and ``illegal`` is ``"raise"``; nothing changed.
            ResetNeeded: there are no games, or a game is over and nothing resets it by itself.
            ValueError: ``actions`` has another shape or is not made of integers; nothing changed.
        """
        self._need_games()
        choices = self._choices(actions)
        over_before = self._over()
        if not over_before.size:
            self.games.step(choices)
        elif self.autoreset_mode == AutoresetMode.NEXT_STEP:
            playing = np.flatnonzero(self.games.kind)
            self.games.step(choices[playing], playing)  # may raise, so it comes first
            self._start_next(over_before)
        else:
            named = ", ".join(map(str, over_before[:10]))
            raise ResetNeeded(f"these games are over: {named}; reset(options={{'reset_mask': ...}}) them first")
        self.played = choices
        rewards = self.games.rewards.copy()
        terminations, truncations = self.games.terminated.copy(), self.games.truncated.copy()
        self._returns += rewards
        over = self._over()
        infos: Infos = {}
        ended, every = self._marked(over), self._marked()
        if over.size and self.autoreset_mode == AutoresetMode.SAME_STEP:
            infos["final_obs"], infos["_final_obs"] = self._last_observations(over), ended.copy()
            infos["final_info"] = self._infos_of(ended) | self._infos_at_end(ended, ended)
            infos["_final_info"] = ended.copy()
            self._start_next(over)
            ended = ~every
        infos |= self._infos_of(every) | self._infos_at_end(ended, every)
        return self._observe(), rewards, terminations, truncations, infos

    def _choices(self, actions: npt.ArrayLike) -> Ints:
        """(N, P): the actions of active seats, made legal if so wanted; PASS for all others."""
        array = np.asarray(actions)
        shape = (self.num_envs, self.num_players)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers of shape {shape}, not {array.dtype} of shape {array.shape}")
        active = self.games.active
        choices = np.where(active, array, PASS).astype(np.int64, copy=False)
        if self._illegal == "random":
            decisions = self.games.decisions()
            at = (decisions.game, decisions.seat)
            choices[at], replaced = made_legal(decisions, choices[at])
            self.illegal_actions += replaced
        return choices

    def _over(self) -> Ints:
        return np.flatnonzero(self.games.kind == Kind.NONE)

    def _observe(self) -> Floats:
        rows = encode(self.games.rows(self._row_games, self._row_seats))
        return rows.reshape(self.num_envs, self.num_players, NUM_FEATURES)

    def render(self) -> tuple[Any, ...] | None:
        """A frame for each game: text (``ansi``) or a picture (``rgb_array``).

        Raises:
            ResetNeeded: there are no games.
        """
        self._need_games()
        if self.render_mode is None:
            return None
        return tuple(render(self.games, game, self.render_mode) for game in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Leave the games; ``reset`` starts others."""
        self._has_games = False

    def _need_games(self) -> None:
        if not self._has_games:
            raise ResetNeeded("there are no games; call reset() first")

    # ---------------------------------------------------------------------------------------------- starting games

    def _games_to_reset(self, options: dict[str, Any] | None) -> Ints:
        """(n,) positions. The options are left as they are, since wrappers read them after the environment."""
        if options is None or "reset_mask" not in options:
            return np.arange(self.num_envs)
        mask = checked_reset_mask(options["reset_mask"], self.num_envs)
        if not (self._has_games or mask.all()):
            raise ResetNeeded("there are no games; reset all of them first")
        return np.flatnonzero(mask)

    def _seed(self, seed: int | Sequence[int | None] | npt.NDArray[Any] | None, games: Ints) -> None:
        """Set ``_slot_seeds`` and ``_episodes`` of ``games`` to those of the games that are to begin."""
        if seed is None or isinstance(seed, (int, np.integer)):
            given = np.full(self.num_envs, seed is not None)
            words = self._counted_from(int(seed or 0))
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"seed names {len(seeds)} seeds; there are {self.num_envs} games")
            given = np.array([each is not None for each in seeds], np.bool_)
            words = np.array([0 if each is None else operator.index(each) % 2**64 for each in seeds], np.uint64)
        if not self._started:
            self._slot_seeds[:] = self.np_random.integers(2**64, size=self.num_envs, dtype=np.uint64)
            self._episodes[:] = -1
        self._slot_seeds[games] = np.where(given, words, self._slot_seeds)[games]
        self._episodes[games] = np.where(given, 0, self._episodes + 1)[games]

    def _counted_from(self, seed: int) -> npt.NDArray[np.uint64]:
        """(N,) seed, seed + 1, and so on."""
        return rng.as_words([seed]) + rng.as_words(np.arange(self.num_envs))

    def _start(self, games: Ints) -> None:
        """Start the games of the slots' present episodes."""
        self.games.reset(rng.episode_seeds(self._slot_seeds[games], self._episodes[games]), index=games)
        self._returns[games] = 0

    def _start_next(self, games: Ints) -> None:
        self._episodes[games] += 1
        self._start(games)

    # ---------------------------------------------------------------------------------------------- infos

    def _marked(self, games: Ints | slice = slice(None)) -> Bools:
        """(N,) true for ``games``."""
        marked = np.zeros(self.num_envs, np.bool_)
        marked[games] = True
        return marked

    def _infos_of(self, marked: Bools) -> Infos:
        """What there is to say of a game at any time, marked as such for some of them."""
        return {
            "action_mask": self.games.legal.view(np.int8),
            "_action_mask": marked.copy(),
            "active": self.games.active.copy(),
            "_active": marked.copy(),
        }

    def _infos_at_end(self, ended: Bools, marked: Bools) -> Infos:
        """What there is to say of the games that are over, with zeros for the others, marked for some of them."""
        of_seats, of_games = (self.num_envs, self.num_players), (self.num_envs,)
        infos: Infos = {
            "win_share": np.zeros(of_seats),
            "coins": np.zeros(of_seats, np.int16),
            "rounds": np.zeros(of_games, np.int32),
            "episode_return": np.zeros(of_seats),
            "episode_length": np.zeros(of_games, np.int32),
        }
        over = np.flatnonzero(ended)
        if over.size:
            infos["win_share"][over] = win_shares(self.games.winners[over])
            infos["coins"][over] = self.games.coins[over]
            infos["rounds"][over] = self.games.rounds[over]
            infos["episode_return"][over] = self._returns[over]
            infos["episode_length"][over] = self.games.steps[over]
        return infos | {f"_{name}": marked.copy() for name in infos}

    def _last_observations(self, over: Ints) -> npt.NDArray[np.object_]:
        """(N,) an observation (P, D) for each game that is over, ``None`` for the others, as Gymnasium has them."""
        seats = np.tile(np.arange(self.num_players), over.size)
        rows = np.ascontiguousarray(encode(self.games.rows(np.repeat(over, self.num_players), seats)))
        observations = np.full(self.num_envs, None, object)
        for game, observation in zip(over, rows.reshape(over.size, self.num_players, -1), strict=True):
            observations[game] = observation
        return observations
