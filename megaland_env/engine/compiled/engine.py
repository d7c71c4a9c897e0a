"""``CompiledEngine``: the compiled rules behind the functions of ``engine/backend.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import NUM_ACTIONS
from megaland_env.arrays import Bools, Bytes, Floats, Ints, Words
from megaland_env.engine.compiled import threads
from megaland_env.engine.compiled.cache import Program
from megaland_env.engine.compiled.programs import CHOICES, MASKS, PENDING, RULES
from megaland_env.engine.events import EventColumns, EventLog
from megaland_env.engine.rules.flow import Moves
from megaland_env.engine.rules.setup import copies_of, markets
from megaland_env.engine.state import GameState

# What to do, and which reward is paid: kernel.py and payout.py import these.
STEP, BEGIN, GO_ON = range(3)
NOT_PAID, WIN, COINS, SHAPED = range(4)
INVALID = -1

ROOM_FOR_A_STEP = 1 << 16
"""The number of int32 of the log that must be free before a game is played: more than any step of a game needs."""

_LOG_SIZE = 1 << 18
_NO_LOG = np.zeros(1, np.int32)
_EVERYONE = np.empty(0, np.int64)
_NOBODY = np.empty(0, np.int64)
_NO_CHOICES = np.empty(0, np.uint8)
_NO_ACTIONS = np.empty((0, 1), np.int64)
_COLUMNS = len(EventColumns._fields)


class CompiledEngine:
    """Plays the games of one state.

    Args:
        state: the batch.
        reward: the number of the reward that ``step`` pays.
        gamma: the discount factor of ``SHAPED``.

    Raises:
        ModuleNotFoundError: Numba is not installed; the message says how to install it.
    """

    name = "compiled"

    def __init__(self, state: GameState, reward: int = NOT_PAID, gamma: float = 1.0) -> None:
        config = state.config
        self._state = state
        self._reward = reward
        self._gamma = gamma
        self._options = np.array(
            [
                state.num_games,
                state.num_players,
                config.skip_forced,
                config.payment == "auto",
                config.max_rounds,
                -1 if config.first_player is None else config.first_player,
                0,
            ],
            np.int64,
        )
        self._setting = np.concatenate([np.array(copies_of(config), np.uint64), markets(config)])
        self._named = np.zeros(state.num_games, np.uint8)
        self._no_rewards = np.empty((state.num_players, 0), np.float32), np.empty((state.num_players, 0), np.int16)
        self._log = _NO_LOG
        self._play = RULES.load()

    def for_copy(self, state: GameState) -> CompiledEngine:
        """The same engine for another state of the same configuration, which has no event log."""
        engine = CompiledEngine.__new__(CompiledEngine)
        vars(engine).update(vars(self))
        engine._state = state
        engine._options = self._options.copy()
        engine._options[0], engine._options[-1] = state.num_games, 0
        engine._named = np.zeros(state.num_games, np.uint8)
        engine._log = _NO_LOG
        return engine

    def __getstate__(self) -> dict[str, Any]:
        """What ``copy.deepcopy`` and pickle take: all but the compiled function."""
        return {name: value for name, value in vars(self).items() if name != "_play"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._play = RULES.load()

    def begin(self, games: Ints, seeds: Words) -> None:
        """Start games and play them to their first decision; as ``backend.begin``."""
        self._run(BEGIN, games, seeds.view(np.int64)[:, None])

    def go_on(self, moves: Moves) -> None:
        """Play games on from some stages to their next decisions."""
        for stage, games in moves:
            if games.size:
                self._run(GO_ON, games, np.full((games.size, 1), int(stage)))

    def answer(self, games: Ints, chosen: Bytes) -> None:
        """Carry out decisions that are known to be legal, without paying rewards.

        Args:
            games: (n,) positions of the games.
            chosen: (P, n) the action of each seat.
        """
        if games.size:
            self._run(STEP, games, chosen.T.astype(np.int64))

    def step(
        self, actions: npt.ArrayLike, index: npt.ArrayLike | None, rewards: Floats, margin_seen: npt.NDArray[np.int16]
    ) -> bool:
        """Carry out the decisions of some games or all, and pay the rewards, as ``MegalandGames.step``.

        Args:
            actions: as for ``MegalandGames.step``.
            index: likewise.
            rewards: (P, N) float32, written.
            margin_seen: (P, N) read and written.

        Returns:
            False if an argument is not valid, or unusual; nothing has changed then.
        """
        try:
            numbers = np.asarray(actions)
            games = _EVERYONE if index is None else np.asarray(index)
        except ValueError:  # sequences of different lengths
            return False
        if numbers.dtype != np.int64:
            if numbers.dtype.kind not in "iu":
                return False
            numbers = numbers.astype(np.int64)
        elif not numbers.flags.behaved:  # read-only, or not aligned
            numbers = numbers.copy()
        count = self._state.num_games
        if index is not None:
            if games.dtype.kind not in "iu" or games.ndim != 1 or not games.size:
                return False
            games = _plain(games)
            count = games.size
        if numbers.shape != (count, self._state.num_players):
            return False
        return self._play_all(STEP, games, numbers, self._reward, rewards, margin_seen)

    def call(self, program: Program, *arguments: Any) -> Any:
        """Call another program on the games: one that takes what ``play`` takes to play a game without rewards.

        Args:
            program: its function may read and play the games, and must not log what happens.
            *arguments: what the function takes after ``state_bytes``, ``options``, ``setting``, ``log``, ``named``,
                ``rewards`` and ``margins_seen``.
        """
        return program.load()(
            self._state.bytes,
            self._options,
            self._setting,
            _NO_LOG,
            self._named,
            *self._no_rewards,
            *arguments,
        )

    # ---------------------------------------------------------------------------------------------- reading

    @property
    def memory(self) -> tuple[Bytes, Ints]:
        """What compiled functions that read the games take first: ``GameState.bytes``, and the options."""
        return self._state.bytes, self._options

    def pending(self) -> tuple[Ints, Ints]:
        """(M,) the game and (M,) the seat of each active seat, ordered by seat and then by game."""
        rows = np.empty((2, np.count_nonzero(self._state.active)), np.int64)
        PENDING.load()(*self.memory, rows)
        return rows[0], rows[1]

    def masks(self, games: Ints, seats: Ints) -> Bools | None:
        """(M, 40) the legal actions of some seats (M,) of some games (M,); ``None`` if one is out of range."""
        masks = np.empty((len(games), NUM_ACTIONS), np.bool_)
        return masks if MASKS.load()(*self.memory, games, seats, masks) else None

    def all_masks(self) -> Bools:
        """(N, P, 40) the legal actions of all seats."""
        state = self._state
        masks = np.empty((state.num_games * state.num_players, NUM_ACTIONS), np.bool_)
        MASKS.load()(*self.memory, _NOBODY, _NOBODY, masks)
        return masks.reshape(state.num_games, state.num_players, NUM_ACTIONS)

    def choose(self, games: Ints, seats: Ints, agent_key: np.uint64) -> Bytes | None:
        """(M,) random legal actions of some seats (M,) of some games (M,); ``None`` if one is out of range."""
        chosen = np.empty(len(games), np.uint8)
        done = CHOICES.load()(*self.memory, agent_key, games, seats, chosen, _NO_ACTIONS, 0)
        return chosen if done else None

    def choose_all(self, agent_key: np.uint64) -> Ints:
        """(N, P) random legal actions of all active seats, and PASS for the others."""
        state = self._state
        actions = np.empty((state.num_games, state.num_players), np.int64)
        arguments = (*self.memory, agent_key, _NOBODY, _NOBODY, _NO_CHOICES)
        choose = CHOICES.load()
        if state.num_games < threads.FEWEST:
            choose(*arguments, actions, 0)
        else:
            threads.in_slices(state.num_games, lambda start, stop: choose(*arguments, actions[start:stop], start))
        return actions

    # ---------------------------------------------------------------------------------------------- calls

    def _run(self, what: int, games: Ints, numbers: Ints) -> None:
        done = self._play_all(what, _plain(games), numbers, NOT_PAID, *self._no_rewards)
        assert done, "the games were checked before"

    def _play_all(
        self,
        what: int,
        games: Ints,
        numbers: Ints,
        reward: int,
        rewards: Floats,
        margin_seen: npt.NDArray[np.int16],
    ) -> bool:
        state = self._state
        number = len(numbers)
        arguments = (games, self._named, what, numbers, reward, self._gamma, rewards, margin_seen)
        if number >= threads.FEWEST and not isinstance(state.log, EventLog):
            if self._call(arguments, 0, 0, True) == INVALID:
                return False
            threads.in_slices(number, lambda start, stop: self._call(arguments, start, stop, False))
            return True
        if isinstance(state.log, EventLog) and self._log is _NO_LOG:
            self._log = np.zeros(_LOG_SIZE, np.int32)
            self._options[-1] = _LOG_SIZE
        start = self._call(arguments, 0, number, True)
        if start == INVALID:
            return False
        while isinstance(state.log, EventLog):
            self._move_log(state.log)
            if start == number:
                break
            start = self._call(arguments, start, number, False)
        return True

    def _call(self, arguments: tuple[Any, ...], start: int, stop: int, check: bool) -> int:
        return self._play(self._state.bytes, self._options, self._setting, self._log, *arguments, start, stop, check)

    def _move_log(self, log: EventLog) -> None:
        """Append the events that compiled code has written to the event log."""
        rows = int(self._log[0])
        if 1 + rows * _COLUMNS > _LOG_SIZE:
            raise RuntimeError(f"a step had more than {ROOM_FOR_A_STEP // _COLUMNS} events")
        log.append(self._log[1 : 1 + rows * _COLUMNS].reshape(rows, _COLUMNS))
        self._log[0] = 0


def _plain(positions: npt.NDArray[Any]) -> Ints:
    """Positions as the array that compiled code takes."""
    plain = np.ascontiguousarray(positions, np.int64)
    return plain if plain.flags.behaved else plain.copy()
