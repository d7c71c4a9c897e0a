"""Megaland as a Gymnasium vector environment in which every seat of every game is the caller's."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the Gymnasium environment", "envs"):
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv

from megaland_env.actions import NUM_ACTIONS, PASS, Kind
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.envs.vector_env import AutoresetVectorEnv, Bools, Floats, Infos, Ints, check_num_envs
from megaland_env.game import MegalandGames
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.render import render
from megaland_env.rewards import Reward, win_shares
from megaland_env.seats.legality import check_illegal, made_legal
from megaland_env.seats.slots import EpisodeSeeds


class MegalandMultiAgentVectorEnv(AutoresetVectorEnv, VectorEnv[Floats, npt.NDArray[Any], npt.NDArray[Any]]):
    """N games side by side, each with P seats, and a step for all of them: for learners that play every seat.

    A step is one decision moment of every game. ``active`` (N, P) marks the seats that must decide: often several seats
    of a game, which decide without seeing each other's choices, and in the buy phase a single one.

    - *Observation*: (N, P, D) float32, in row (i, p) what seat p of game i sees (``observation.encode``), whether it
      must decide or waits. A new array in each step, which the caller may keep.
    - *Action*: (N, P) integers, each one of the 40 of actions.py. Only the entries of seats that are active count; the
      others may hold anything.
    - *Mask*: ``action_masks()`` (N, P, 40) bool, and ``infos["action_mask"]`` the same as int8, which is what the
      spaces of Gymnasium sample by. A seat that is not active has exactly PASS, so no row is ever empty.
    - *Reward*: (N, P) float32, the reward of each seat for the step, whoever made the moves. Add them up from one
      decision of a seat to its next.
    - *End*: terminations and truncations (N,); all seats of a game end together. Only a game that was cut off after
      ``max_rounds`` (D4) is truncated.
    - *Infos*: ``action_mask``, ``active``, and values that are zero for a game that is not over: ``win_share`` (N, P)
      (1 / number of winners for each winner, 0 for others), ``coins`` (N, P), ``rounds`` (N,), ``episode_return``
      (N, P) and ``episode_length`` (N,) in steps. (Gymnasium's own statistics expect one reward for each game.)
    - *Autoreset*, *Seeds*: see ``AutoresetVectorEnv``.

    Args:
        num_envs: number of games (N).
        config: of all games; the default is the full game for four.
        reward: ``"win"``, ``"coins"``, ``"shaped"`` or a callable, as in ``MegalandGames``.
        engine: ``"auto"``, ``"numpy"`` or ``"compiled"``, as in ``MegalandGames``.
        autoreset_mode: an ``AutoresetMode`` or its value.
        illegal: what an illegal action of an active seat does: ``"raise"`` an ``IllegalActionError`` before anything
            changes, or play a ``"random"`` legal one, which is counted; ``played`` then says which.
        render_mode: ``"ansi"`` or ``"rgb_array"``.
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Attributes:
        games: the games; for reading.
        played: (N, P) int64, the actions that the last step carried out; PASS for seats that were not active.
        illegal_actions: number of illegal actions that were replaced.
        autoreset_mode: the ``AutoresetMode``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        num_envs: int = 1,
        config: MegalandConfig | None = None,
        *,
        reward: str | Reward = "win",
        engine: str = "auto",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        illegal: str = "raise",
        render_mode: str | None = None,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        check_num_envs(num_envs)
        self.games = MegalandGames(config, num_envs, reward=reward, engine=engine)
        number, players = self.games.num_games, self.games.num_players
        observations = spaces.Box(-1.0, 1.0, (players, NUM_FEATURES), np.float32)
        actions = spaces.MultiDiscrete([NUM_ACTIONS] * players)
        super().__init__(number, observations, actions, (number, players), autoreset_mode, render_mode)
        self.played = np.full((number, players), PASS, np.int64)
        self.illegal_actions = 0
        self._illegal = check_illegal(illegal)
        self._episodes = EpisodeSeeds(number)
        self._lengths = np.zeros(number, np.int32)  # of the type of ``MegalandGames.steps``
        # Game by game, so that the observations can be seen as (N * P, D) without being copied.
        self._row_games = np.repeat(np.arange(self.num_envs), players)
        self._row_seats = np.tile(np.arange(players), self.num_envs)

    # ---------------------------------------------------------------------------------------------- what a user reads

    @property
    def config(self) -> MegalandConfig:
        """The configuration of all the games."""
        return self.games.config

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
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
            ResetNeeded: no game has been started.
        """
        self._need_games()
        return self.games.legal

    # ---------------------------------------------------------------------------------------------- playing

    def _begin(self, slots: Ints, seeds: npt.NDArray[np.uint64] | None) -> None:
        words = self._episodes.next(slots) if seeds is None else self._episodes.reset(slots, seeds)
        self.games.reset(words, index=slots)

    def _move(self, actions: npt.NDArray[Any], playing: Ints | None) -> Floats:
        choices = np.where(self.games.active, actions, PASS).astype(np.int64, copy=False)
        if self._illegal == "random":
            decisions = self.games.decisions()
            at = (decisions.game, decisions.seat)
            choices[at], replaced = made_legal(decisions, choices[at])
            self.illegal_actions += replaced
        self.games.step(choices if playing is None else choices[playing], playing)
        self.played = choices
        return self.games.rewards.copy()

    def _ends(self) -> tuple[Bools, Bools]:
        return self.games.kind == Kind.NONE, self.games.truncated

    def _observe(self, games: Ints | None) -> tuple[Floats, Infos]:
        if games is None:
            rows = encode(self.games.rows(self._row_games, self._row_seats))
            legal, active = self.games.legal, self.games.active.copy()
        else:
            seats = np.tile(np.arange(self.num_players), games.size)
            rows = encode(self.games.rows(np.repeat(games, self.num_players), seats))
            legal, active = self.games.legal[games], self.games.active[games]
        observations = rows.reshape(-1, self.num_players, NUM_FEATURES)
        return observations, {"action_mask": legal.view(np.int8), "active": active}

    def _results(self, games: Ints) -> Infos:
        return {
            "win_share": win_shares(self.games.winners[games]),
            "coins": self.games.coins[games],
            "rounds": self.games.rounds[games],
        }

    def _frame(self, game: int) -> Any:
        assert self.render_mode is not None
        return render(self.games, game, self.render_mode)
