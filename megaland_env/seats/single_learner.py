"""``SingleLearnerGames``: games in which the caller has one seat and agents play the others. Knows no environment API.

It is what all environments of one learner have in common: whose seat is whose, the opponents' moves, the learner's
rewards, and the seeds of the games that a slot plays one after the other. The adapters over it only put things into the
shape that their library expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.agent import Agent
from megaland_env.checks import is_integer, ragged
from megaland_env.config import MegalandConfig
from megaland_env.decisions import Decisions
from megaland_env.engine import rng
from megaland_env.engine.state import add_at, indices_where, put_at
from megaland_env.errors import IllegalActionError
from megaland_env.game import MegalandGames
from megaland_env.rewards import Reward, make_reward, win_shares
from megaland_env.seats.legality import check_illegal, made_legal
from megaland_env.seats.opponents import Opponents, OpponentSpec
from megaland_env.seats.slots import Slots

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class SingleLearnerGames:
    """N slots, each of which plays one game after the other; the learner has one seat in each game.

    After ``reset`` and after every ``step`` each game waits for its learner, or is over and waits for ``restart``. A
    step carries out the learner's choices together with those of the opponents who are asked at the same moment, and
    then lets the opponents play on alone. Each agent is called once a moment, with all its decisions in any game.

    Args:
        config: of all the games; the default is the full game for four.
        num_games: number of games (N).
        opponents: who has the other seats (``Opponents.of``).
        seat: the learner's seat in every game; ``None`` draws it for each game, from the game's seed.
        engine: as in ``MegalandGames``.
        reward: likewise. The learner's rewards add up from one of its observations to the next.
        illegal: what an illegal choice of the learner does: ``"raise"`` an ``IllegalActionError``, or play a
            ``"random"`` legal action in its place, which is counted.

    Attributes:
        games: the games; for reading.
        seats: (N,) int64, the learner's seat in each game.
        rewards: (N,) float32, what the last step paid the learner.
        played: (N,) int64, the learner's action that was last carried out in each game.
        illegal_actions: number of illegal choices that were replaced.
        seconds: time spent so far in the ``"engine"`` and in the ``"opponents"``.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(
        self,
        config: MegalandConfig | None = None,
        num_games: int = 1,
        *,
        opponents: OpponentSpec | Opponents = "threshold",
        seat: int | None = None,
        reward: str | Reward = "win",
        engine: str = "auto",
        illegal: str = "raise",
    ) -> None:
        self.games = MegalandGames(config, num_games, reward=reward, engine=engine)
        if seat is not None and not (is_integer(seat) and 0 <= seat < self.num_players):
            raise ValueError(f"seat is {seat!r}; it must be from 0 to {self.num_players - 1}, or None to draw it")
        self._reward = reward
        self._pays_at_end_only = bool(getattr(make_reward(reward), "at_end_only", False))
        self._illegal = check_illegal(illegal)
        self._slots = Slots(self.num_players, num_games, Opponents.of(opponents), None if seat is None else int(seat))
        self.seats = self._slots.seats
        self._everyone = np.arange(num_games)
        self._seat_rows = (
            num_games * np.arange(self.num_players)[:, None]
        )  # where they begin in a flattened (P, N) array
        self._learner_at = np.arange(num_games)  # (N,) where the learner's seats lie in a flattened (P, N) array
        self.rewards = np.zeros(num_games, np.float32)
        self.played = np.zeros(num_games, np.int64)
        self.illegal_actions = 0
        self.seconds = {"engine": 0.0, "opponents": 0.0}

    # ---------------------------------------------------------------------------------------------- what a user reads

    @property
    def config(self) -> MegalandConfig:
        """The configuration of all the games."""
        return self.games.config

    @property
    def num_games(self) -> int:
        """Number of games (N)."""
        return self.games.num_games

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
        return self.games.num_players

    @property
    def over(self) -> Bools:
        """(N,) the games that have ended and wait for ``restart``; the others wait for their learner."""
        over: Bools = self.games.kind == Kind.NONE
        return over

    @property
    def win_shares(self) -> npt.NDArray[np.float64]:
        """(N,) the learner's share of the win: 1 / number of winners, 0 for a learner who has not won."""
        self.games._check_started(self._everyone)
        return self._win_shares(self._everyone)

    @property
    def coins(self) -> npt.NDArray[np.int16]:
        """(N,) the learner's coins."""
        return self._flat(self.games.coins).take(self._learner_at)

    def decisions(self, index: npt.ArrayLike | None = None) -> Decisions:
        """The learner's decisions, a row for each game, or for each of those named; kind ``NONE`` where it is over."""
        if index is None:
            self.games._check_started(self._everyone)
            return Decisions(self.games, self._everyone.copy(), self.seats.copy())
        games = np.asarray(index)
        return self.games.rows(games, self.seats[games])

    def results(self, index: npt.ArrayLike) -> dict[str, npt.NDArray[Any]]:
        """The learner's results in the games named, which are over: arrays (n,) by name."""
        games = np.asarray(index)
        self.games._check_started(games)
        return self._results(games)

    def _results(self, games: Ints) -> dict[str, npt.NDArray[Any]]:
        return {
            "win_share": self._win_shares(games),
            "coins": self._flat(self.games._state.coins.T).take(self._learner_at.take(games)).astype(np.int64),
            "rounds": self.games.rounds[games].astype(np.int64),
            "seat": self.seats[games],
        }

    def names(self, game: int) -> list[str]:
        """(P,) who plays each seat of one game: ``"learner"``, and the descriptions of the opponents."""
        return self._slots.seating.names_at(game)

    @property
    def no_results(self) -> dict[str, Any]:
        """The zeros that stand for ``results`` while a game is not over: a number for each name, of the same type."""
        return {name: values.dtype.type(0) for name, values in self._results(self._everyone[:0]).items()}

    def _win_shares(self, games: Ints) -> npt.NDArray[np.float64]:
        shares = win_shares(self.games._state.winners.T[games])
        own: npt.NDArray[np.float64] = shares[np.arange(games.size), self.seats.take(games)]
        return own

    # ---------------------------------------------------------------------------------------------- playing

    def set_opponents(self, opponents: OpponentSpec | Opponents) -> None:
        """Change who plays against the learner; a game that runs goes on with whom it began, until it is over.

        Raises:
            ValueError: as in ``Opponents.of``; nothing has changed.
        """
        self._slots.seating.set_opponents(Opponents.of(opponents))

    def reset(self, seeds: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Start new games in slots, each with a seed of its own.

        Args:
            seeds: (N,) integers, or (n,) if ``index`` is given.
            index: (n,) the slots that start; all by default.

        Raises:
            ValueError: ``seeds`` has another shape.
        """
        games = np.arange(self.num_games) if index is None else np.asarray(index)
        words = rng.as_words(seeds)
        if words.shape != games.shape:
            raise ValueError(f"seeds must be ({games.size},) integers, not of shape {words.shape}")
        self._start(games, self._slots.reset(games, words))

    def restart(self, index: npt.ArrayLike) -> None:
        """Start the next game in each of the slots named; its seed is that of the slot's next episode (rng.py).

        Raises:
            ValueError: a slot was never started with ``reset``, so it has no seed from which others could follow.
        """
        games = np.asarray(index)
        self.games._check_started(games)
        self._start(games, self._slots.restart(games))

    def _start(self, games: Ints, seeds: npt.NDArray[np.uint64]) -> None:
        self._find_learners()
        # A new game asks all seats at once (L9 of the first card: nobody can have fallen, and there are no jump tokens
        # yet), so the learner is asked from the start and no opponent moves before it.
        began = perf_counter()
        self.games.reset(seeds, index=games)
        self.seconds["engine"] += perf_counter() - began

    def _find_learners(self) -> None:
        self._learner_at = self.seats * self.num_games + self._everyone

    def step(self, actions: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Carry out the learner's choices, and play on until it is asked again or the game is over.

        Args:
            actions: (N,) integers; ignored where the game is over.
            index: (n,) the slots that move; ``actions`` is then (n,). Nothing changes in the others, nor their rewards.

        Raises:
            IllegalActionError: a choice is not legal and ``illegal`` is ``"raise"``; nothing has changed.
            ValueError: ``actions`` has another shape or is not made of integers, or a game was never started; nothing
                has changed. Nor has it when an opponent or the reward raises an error, however late in the step.
        """
        games = self._everyone if index is None else np.asarray(index)
        try:
            choices = np.asarray(actions)
        except ValueError:
            raise ragged("actions") from None
        if choices.shape != games.shape or choices.dtype.kind not in "iu":
            raise ValueError(f"actions must be ({games.size},) integers, not {choices.dtype} of shape {choices.shape}")
        self.games._check_started(games)
        playing, own = games, self._learner_at.take(games)
        waiting = indices_where(self._flat(self.games.active).take(own))
        if waiting.size < games.size:
            playing, own, choices = playing.take(waiting), own.take(waiting), choices.take(waiting)
        saved = self.save(games)
        try:
            self._play(games, playing, own, choices.astype(np.int64))
        except BaseException:
            self.put_back(saved)
            raise

    def _play(self, games: Ints, playing: Ints, own: Ints, choices: Ints) -> None:
        """Carry out ``choices`` in ``playing``, those of ``games`` whose learner is asked, and play on."""
        if self._illegal == "random":
            choices, replaced = made_legal(self.decisions(playing), choices)
            self.illegal_actions += replaced
        self._move(self._moves(playing, choices), playing)
        self.played[playing] = choices
        paid = self._flat(self.games.rewards)
        self.rewards[games] = 0
        self.rewards[playing] = paid.take(own)
        moved, learners = playing, own
        while (going_on := self._without_learner(playing, own)).size:
            playing, own = playing.take(going_on), own.take(going_on)
            self._move(self._moves(playing), playing)
            if not self._pays_at_end_only:
                add_at(self.rewards, playing, paid.take(own))
        if self._pays_at_end_only:  # nothing came before that
            self.rewards[moved] = paid.take(learners)

    def save(self, games: Ints | None = None) -> tuple[Any, ...]:
        """Save what ``put_back`` needs to undo a step of ``games`` (n,), by default of all."""
        named = self._everyone if games is None else games
        return self.games._save(named), self.rewards.take(named), self.played.take(named), self.illegal_actions

    def put_back(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since ``save``; nothing else may have been done since."""
        before, rewards, played, self.illegal_actions = saved
        self.games._put_back(before)
        self.rewards[before.games] = rewards
        self.played[before.games] = played

    def _moves(self, games: Ints, choices: Ints | None = None) -> Ints:
        """(P, n) what is chosen in ``games`` (n,), by the opponents who are asked; PASS for all other seats.

        Args:
            games: the games.
            choices: (n,) of the learner, where it is asked too.
        """
        at = self._seat_rows + games
        asked = self._flat(self.games.active).take(at)
        moves = np.zeros(asked.shape, np.int64)
        if choices is not None:
            own = self.seats.take(games) * games.size
            own += np.arange(games.size)
            put_at(asked, own, False)
            put_at(moves, own, choices)
        rows = indices_where(asked.reshape(-1))
        if not rows.size:
            return moves
        began = perf_counter()
        seats = rows // games.size
        decisions = Decisions(self.games, games.take(rows - seats * games.size), seats)
        put_at(moves, rows, self._slots.seating.answers(decisions, at.take(rows)))
        self.seconds["opponents"] += perf_counter() - began
        return moves

    def _move(self, moves: Ints, games: Ints) -> None:
        began = perf_counter()
        try:
            self.games.step(moves.T, games)
        except IllegalActionError as error:
            raise self._slots.seating.naming(error) from None
        self.seconds["engine"] += perf_counter() - began

    def _without_learner(self, games: Ints, own: Ints) -> Ints:
        """Which of ``games`` (n,) must go on, by position: they are not over, and do not wait for the learner.

        ``own`` (n,) is where the learner's seats lie in a flattened (P, N) array.
        """
        asked = self._flat(self.games.active).take(own)
        return indices_where(self.games.kind.take(games).astype(np.bool_) > asked)  # of all kinds only NONE is 0

    def _flat(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(P * N,) an (N, P) array that is a view of the engine's (P, N)."""
        return array.T.reshape(-1)

    # ---------------------------------------------------------------------------------------------- saving

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents that have a seat or may get one; ``snapshot`` names them by their position here."""
        return self._slots.seating.agents

    def snapshot(self) -> dict[str, Any]:
        """Everything but the agents, as a dict that ``json.dumps`` takes; between two steps."""
        return {
            "games": [self.games.snapshot(game) for game in range(self.num_games)],
            **self._slots.snapshot(),
            "illegal_actions": self.illegal_actions,
        }

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> None:
        """Go on exactly as the original would.

        Args:
            snapshot: from a batch of the same size and configuration.
            agents: the agents of the original, in the order of its ``agents``.

        Raises:
            ValueError: the snapshot is of other games, or nothing that ``snapshot`` could have made; nothing has
                changed.
        """
        self.prepared(snapshot, agents)()

    def prepared(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> Callable[[], None]:
        """Check everything that ``restore`` takes, and return what is then left to do, which cannot fail."""
        games = MegalandGames.restore(snapshot["games"], reward=self._reward, engine=self.games.engine)
        if games.config != self.config or games.num_games != self.num_games:
            raise ValueError("the snapshot is of another number of games, or of another configuration")
        replaced = snapshot["illegal_actions"]
        if not is_integer(replaced) or replaced < 0:
            raise ValueError(f"illegal_actions is {replaced!r}; it must be an integer from 0")
        restore_slots = self._slots.prepared(snapshot, agents)
        seats = np.asarray(snapshot["seats"])
        waits = games.active[self._everyone, seats] | (games.kind == Kind.NONE)
        if not waits.all():
            game = int(indices_where(~waits)[0])
            raise ValueError(f"game {game} neither waits for its learner in seat {seats[game]} nor is over")

        def restore() -> None:
            self.games = games
            restore_slots()
            self._find_learners()
            self.illegal_actions = int(replaced)

        return restore
