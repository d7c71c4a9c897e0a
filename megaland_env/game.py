"""``MegalandGames``: a batch of games by the rules, independent of any environment API."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env import snapshot
from megaland_env.actions import NUM_ACTIONS, Kind
from megaland_env.arrays import Bools, Bytes, Doubles, Floats, Ints, Words, constant
from megaland_env.checks import is_integer, ragged
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.decisions import Decisions
from megaland_env.engine import backend, bits, rng
from megaland_env.engine.choice import named, plays_compiled
from megaland_env.engine.compiled.cache import Program, suggest_warm_up
from megaland_env.engine.compiled.engine import COINS, NOT_PAID, SHAPED, WIN, CompiledEngine
from megaland_env.engine.events import EventColumns, EventLog, in_words
from megaland_env.engine.state import KINDS, NO, ONE, PASS_ONLY, GameState, add_at, indices_where, put_at
from megaland_env.errors import illegal_action
from megaland_env.rewards import Coins, Outcome, Reward, Shaped, Win, make_reward, win_shares

_BYTE = np.dtype(np.uint8)
_NO_ACTION = constant(255, np.uint64)
# (256,): the bit of each action; 0 for numbers that are not actions.
_BIT_OF = np.array([1 << action if action < NUM_ACTIONS else 0 for action in range(256)], np.uint64)
_NOTHING = constant(0, np.uint64)
# The rewards that compiled code pays too, by their type: a subclass may do something else.
_BUILT_IN = {Win: WIN, Coins: COINS, Shaped: SHAPED}


class Saved(NamedTuple):
    """Some games of a batch, as they were before a step."""

    games: Ints
    state: list[npt.NDArray[Any]]
    rewards: Floats
    margin_seen: npt.NDArray[np.int16]
    version: int
    logged: int


MOST_GAMES = 2**32
"""Largest number of games in a batch; far fewer fill the memory of any computer."""


class MegalandGames:
    """N games of P seats, played in parallel.

    ``reset`` starts the games. ``active``, ``kind`` and ``legal`` tell which seats must decide, what they decide and
    which actions are legal; ``decisions()`` returns the same as one batch of rows. ``step`` applies the actions and
    plays each game on to its next decision. Finished games never move, and no game resets by itself. A game with seed
    s plays the same in any batch and at any position in it.

    Before the first ``reset`` no game has been started: ``step`` and everything that reads the state of games raise
    ``ValueError``. If only some games were started, with ``index``, the others have no active seat, and naming one of
    them is an error.

    All arrays have the games on the first axis. Where possible they are views of the engine's own arrays: do not write
    to them, and copy what must outlive the next step.

    Args:
        config: the configuration of all games; by default the full game for four players.
        num_games: number of games (N).
        reward: ``"win"``, ``"coins"``, ``"shaped"``, or any callable that rewards.py describes.
        record: whether to keep an event log (events.py).
        engine: ``"numpy"``; ``"compiled"``, which is many times faster for small batches and needs the extra ``fast``;
            or ``"auto"``, the compiled one if it is ready (choice.py). Both play the same games, bit for bit.
        **config_fields: fields of the configuration, such as ``num_players=2``, in place of ``config``.

    Raises:
        TypeError: ``config`` is given together with fields of it, or a keyword is unknown.
        ValueError: ``num_games`` is not a positive integer, the reward or the engine is unknown, or a field of the
            configuration is invalid.
        ModuleNotFoundError: ``engine="compiled"`` without Numba; the message says how to install it.
    """

    def __init__(
        self,
        config: MegalandConfig | None = None,
        num_games: int = 1,
        *,
        reward: str | Reward = "win",
        record: bool = False,
        engine: str = "auto",
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        if not is_integer(num_games) or not 1 <= num_games <= MOST_GAMES:
            raise ValueError(f"num_games is {num_games!r}; it must be a positive integer of at most {MOST_GAMES:,}")
        rewards, compiled = make_reward(reward), plays_compiled(engine)
        self._attach(GameState(config, int(num_games)), rewards, record, compiled)
        self._may_compile = named(engine) == "compiled"  # what else is needed, as ``engine_for`` says

    def _attach(self, state: GameState, reward: Reward, record: bool, compiled: bool) -> None:
        self._state = state
        self._reward = reward
        self._pays_at_end_only = bool(getattr(reward, "at_end_only", False))
        self._trusts_reward = type(reward) in _BUILT_IN
        self._compiled = self._compiled_engine() if compiled else None
        self._rewards = np.zeros((state.num_players, state.num_games), np.float32)
        self._margin_seen = np.zeros((state.num_players, state.num_games), np.int16)
        if not self._pays_at_end_only:
            self._margin_seen[:] = _margins(state.coins)
        self._everyone = np.arange(state.num_games)
        self._note_started()
        self._version = 0  # number of changes, by which decisions know when they are out of date
        if record:
            state.log = EventLog(state.steps, state.episode, state.buyer)

    def _compiled_engine(self) -> CompiledEngine:
        paid = _BUILT_IN.get(type(self._reward), NOT_PAID)
        return CompiledEngine(self._state, paid, getattr(self._reward, "gamma", 1.0) if paid == SHAPED else 1.0)

    # ---------------------------------------------------------------------------------------------- state

    @property
    def engine(self) -> str:
        """The engine that plays: ``"numpy"`` or ``"compiled"``."""
        return "compiled" if self._compiled else "numpy"

    def engine_for(self, program: Program, *, plays: bool = False) -> CompiledEngine | None:
        """The compiled engine, on which an agent calls a compiled function of its own (engine/compiled/cache.py).

        Such a function could read the seeds and the cards to come: it must use only what ``View`` shows.

        Args:
            program: the function.
            plays: whether it plays the games on, so that their decisions are out of date.

        Returns:
            ``None`` where NumPy has to do it: it plays these games; or the program is not in the cache, and the
            compiled engine was not asked for by name.
        """
        if self._compiled is None:
            return None
        if not (self._may_compile or program.is_cached()):
            suggest_warm_up()
            return None
        self._version += plays
        return self._compiled

    @property
    def config(self) -> MegalandConfig:
        """The configuration of all the games."""
        return self._state.config

    @property
    def num_games(self) -> int:
        """Number of games (N)."""
        return self._state.num_games

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
        return self._state.num_players

    @property
    def seeds(self) -> Words:
        """(N,) the seeds of the games."""
        return self._state.seeds

    @property
    def steps(self) -> npt.NDArray[np.int32]:
        """(N,) the number of decision moments that each game has passed."""
        return self._state.steps

    @property
    def rounds(self) -> npt.NDArray[np.int32]:
        """(N,) the round of each game, from 1; for a finished game its last."""
        return self._state.round

    @property
    def active(self) -> Bools:
        """(N, P) the seats that must decide now."""
        self._need_games()
        return self._state.active.T

    @property
    def kind(self) -> Bytes:
        """(N,) the ``Kind`` of decision each game waits for; ``NONE`` when it is over."""
        self._need_games()
        return self._state.kind

    @property
    def legal(self) -> Bools:
        """(N, P, 40) the legal actions of every seat; exactly PASS for a seat that is not active."""
        self._need_games()
        return self._compiled.all_masks() if self._compiled else bits.members(self._state.legal.T, NUM_ACTIONS)

    @property
    def first_player(self) -> npt.NDArray[np.int8]:
        """(N,) the seat that holds the first-player token of each game."""
        self._need_games()
        return self._state.first_player

    @property
    def coins(self) -> npt.NDArray[np.int16]:
        """(N, P) the coins of each seat."""
        self._need_games()
        return self._state.coins.T

    @property
    def winners(self) -> Bools:
        """(N, P) the seats that have won; none in a truncated game."""
        self._need_games()
        return self._state.winners.T

    @property
    def win_shares(self) -> Doubles:
        """(N, P) the share of the win of each seat: 1 / number of winners for each winner, 0 for all others.

        All shares are 0 in a game that was truncated or is not over.
        """
        return win_shares(self.winners)

    @property
    def terminated(self) -> Bools:
        """(N,) whether each game is over by the rules (N5)."""
        self._need_games()
        return self._state.terminated

    @property
    def truncated(self) -> Bools:
        """(N,) whether each game was cut off after ``max_rounds`` (D4)."""
        self._need_games()
        return self._state.truncated

    @property
    def rewards(self) -> Floats:
        """(N, P) the rewards of the last ``step`` that named the game; 0 if the game was already over."""
        return self._rewards.T

    @property
    def margins_seen(self) -> npt.NDArray[np.int16]:
        """(N, P) each seat's margin when it last observed the game, the next ``Outcome.margin_before``.

        Only rewards that are paid before the end of a game need it; ``restore`` takes it for them.
        """
        return self._margin_seen.T

    # ---------------------------------------------------------------------------------------------- playing

    def reset(self, seeds: int | npt.ArrayLike, *, index: npt.ArrayLike | None = None) -> None:
        """Start games.

        Args:
            seeds: an integer s, which gives the game at position i the seed s + i (mod 2**64), or an array with a seed
                for each game.
            index: (n,) positions of the games to start; all by default.

        Raises:
            ValueError: a shape, a seed or an index is invalid; nothing has changed.
        """
        games = self._positions(index)
        words = _seed_words(seeds, games)
        self._version += 1
        self._rewards[:, games] = 0
        self._margin_seen[:, games] = 0
        self._begin(games, words)
        if not self._all_started:
            self._note_started()

    def _begin(self, games: Ints, seeds: Words) -> None:
        """Start games. Scenarios, which begin in the middle of a game (seats/scenarios.py), override this."""
        if self._compiled:
            self._compiled.begin(games, seeds)
        else:
            backend.begin(self._state, games, seeds)

    def _go_on(self, moves: backend.Moves) -> None:
        """Play games on from some stages to their next decisions."""
        if self._compiled:
            self._compiled.go_on(moves)
        else:
            backend.play_on(self._state, moves)

    def step(self, actions: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Apply the actions of one decision moment and play on to the next, in every game or in those named.

        Args:
            actions: (N, P) integers; the entries of seats that are not active are ignored.
            index: (n,) positions of the games that move; ``actions`` is then (n, P). The time taken depends on n, not
                on N.

        Raises:
            IllegalActionError: the action of an active seat is not legal; nothing has changed.
            ValueError: a shape, a dtype or an index is invalid, a game was never started, or the reward did not return
                (n, P) finite numbers; nothing has changed. Nothing has changed either when the reward raises an error
                of its own.
        """
        # Arguments that compiled code refuses are looked at here below, where every error has its message.
        compiled = self._compiled if self._trusts_reward else None
        if compiled and compiled.step(actions, index, self._rewards, self._margin_seen):
            self._version += 1
            return
        state = self._state
        named = games = self._positions(index)
        choices = self._choices(actions, games.size)
        kinds = state.kind.take(games)
        if np.count_nonzero(kinds) < games.size:  # finished games do not move
            self._check_started(games)
            waiting = indices_where(kinds)
            games, kinds, choices = games.take(waiting), kinds.take(waiting), choices.take(waiting, axis=1)
        asked, columns = self._asked(games)
        chosen = self._legal_choices(choices, asked, columns)
        saved = None if self._trusts_reward else self._save(named)
        try:
            self._version += 1
            if not self._pays_at_end_only or games is not named:  # a game that goes on has a reward of 0 already
                self._rewards[:, named] = 0
            if self._compiled:
                self._compiled.answer(games, chosen)
            else:
                put_at(state.active, asked, NO)
                put_at(state.legal, asked, PASS_ONLY)
                add_at(state.asked, asked, ONE)
                state.steps[games] += ONE
                backend.answer(state, games, kinds, chosen)
            self._pay_rewards(games)
        except BaseException:
            if saved is not None:
                self._put_back(saved)
            raise

    def decisions(self) -> Decisions:
        """All pending decisions, one row each, ordered by seat and then by position of the game.

        Raises:
            ValueError: no game was ever started.
        """
        self._need_games()
        if self._compiled:
            return Decisions(self, *self._compiled.pending())
        active = self._state.active
        seats = np.repeat(np.arange(self.num_players), [np.count_nonzero(row) for row in active])
        return Decisions(self, indices_where(active.reshape(-1)) - seats * self.num_games, seats)

    def rows(self, game: npt.ArrayLike, seat: npt.ArrayLike) -> Decisions:
        """Rows for any pairs of game (M,) and seat (M,), also for seats that are not active and for finished games.

        In a row whose seat is not active the kind is ``NONE`` and only PASS is legal.

        Raises:
            ValueError: a game or a seat is out of range, the shapes differ, or a game was never started.
        """
        games = _integer_array(game, "game", self.num_games)
        seats = _integer_array(seat, "seat", self.num_players)
        if games.shape != seats.shape or games.ndim != 1:
            raise ValueError(f"game and seat must be of one length, not of shapes {games.shape} and {seats.shape}")
        self._check_started(games)
        return Decisions(self, games, seats)

    def scatter(self, decisions: Decisions, actions: npt.ArrayLike) -> Bytes:
        """Actions (N, P) for ``step``: the given ones (M,) for ``decisions``, and PASS everywhere else.

        Raises:
            ValueError: ``decisions`` are of another batch, or ``actions`` is not (M,) integers in 0..39.
            RuntimeError: the games have moved on since ``decisions`` were made.
        """
        if decisions._fresh() is not self:
            raise ValueError("these are decisions of other games")
        answers = np.asarray(actions)
        if answers.shape != (len(decisions),) or (answers.dtype.kind not in "iu" and answers.size):
            raise ValueError(
                f"actions must be ({len(decisions)},) integers, one for each decision, "
                f"not {answers.dtype} of shape {answers.shape}"
            )
        if answers.size and not (answers.min() >= 0 and answers.max() < NUM_ACTIONS):
            wrong = answers[(answers < 0) | (answers >= NUM_ACTIONS)][0]
            raise ValueError(f"action {wrong} is not one of 0..{NUM_ACTIONS - 1}")
        scattered = np.zeros((self.num_players, self.num_games), np.uint8)
        put_at(scattered, decisions.seat * self.num_games + decisions.game, answers)
        return scattered.T

    # ---------------------------------------------------------------------------------------------- copies and words

    def snapshot(self, game: int) -> dict[str, Any]:
        """The state of one game in the words of the rules, as a plain dict that ``json.dumps`` takes (snapshot.py).

        Raises:
            ValueError: there is no such game, or it was never started.
        """
        position = int(_integer_array([game], "game", self.num_games)[0])
        self._check_started(np.array([position]))
        return snapshot.describe(self._state, position)

    @classmethod
    def restore(
        cls,
        snapshots: Sequence[Mapping[str, Any]],
        *,
        reward: str | Reward = "win",
        record: bool = False,
        margins_seen: npt.ArrayLike | None = None,
        engine: str = "auto",
    ) -> MegalandGames:
        """A batch that continues exactly as the games of the snapshots would have.

        Args:
            snapshots: one for each game.
            reward: as for the original games.
            record: whether to keep an event log from now on.
            margins_seen: (N, P) integers, ``margins_seen`` of the original games, for rewards that are paid before the
                end; by default every seat counts as having observed the game just now.
            engine: as for ``MegalandGames``.

        Raises:
            SnapshotError: a snapshot is malformed, or no game can be in such a state.
            ValueError: the reward or the engine is unknown, or ``margins_seen`` has a wrong shape, is not made of
                integers, or has a margin that a seat with these coins cannot have seen.
        """
        games = cls.__new__(cls)
        rewards, compiled = make_reward(reward), plays_compiled(engine)
        games._attach(snapshot.load(snapshots), rewards, record, compiled)
        games._may_compile = named(engine) == "compiled"
        if margins_seen is not None:
            games._margin_seen[:] = _possible_margins(margins_seen, games.coins).T
        return games

    def copy(self, index: npt.ArrayLike | None = None) -> MegalandGames:
        """A batch of any games of this one, any number of times each, with the same seeds.

        The copies share the randomness to come with the originals. Agents that plan must not have that, and use
        ``decisions.fork`` instead. The copy has no event log.

        Raises:
            ValueError: ``index`` is not a list of at least one position, or a position is out of range.
        """
        positions = np.arange(self.num_games) if index is None else _integer_array(index, "index", self.num_games)
        if positions.ndim != 1 or not positions.size:
            raise ValueError(f"index must be a list of at least one position, not of shape {positions.shape}")
        copied = copy.copy(self)
        copied._state = self._state.copy(positions)
        if self._compiled:
            copied._compiled = self._compiled.for_copy(copied._state)
        copied._everyone = np.arange(positions.size)
        copied._rewards = self._rewards.take(positions, axis=1)
        copied._margin_seen = self._margin_seen.take(positions, axis=1)
        copied._note_started()
        return copied

    def _save(self, games: Ints) -> Saved:
        """What ``_put_back`` needs to undo a step of ``games`` (n,) in which the user's reward fails."""
        return Saved(
            games,
            self._state.save(games),
            self._rewards.take(games, axis=1),
            self._margin_seen.take(games, axis=1),
            self._version,
            self._state.log.mark(),
        )

    def _put_back(self, saved: Saved) -> None:
        """Undo everything since ``_save``; nothing but a step of the saved games may have happened."""
        self._state.put_back(saved.games, saved.state)
        self._rewards[:, saved.games] = saved.rewards
        self._margin_seen[:, saved.games] = saved.margin_seen
        self._version = saved.version
        self._state.log.rewind(saved.logged)

    # ---------------------------------------------------------------------------------------------- the event log

    def event_columns(self) -> EventColumns:
        """The log of all games, except what was drained.

        Raises:
            ValueError: the games were not made with ``record=True``.
        """
        return self._log().columns()

    def events(self, game: int) -> list[dict[str, Any]]:
        """The log of the current episode of one game in words, except what was drained.

        An event reads as ``{"step": 7, "event": "draw", "seat": 2, "treasure": "egg"}``.

        Raises:
            ValueError: the games were not made with ``record=True``, or there is no such game.
        """
        columns = self._log().columns()
        position = int(_integer_array([game], "game", self.num_games)[0])
        rows = indices_where((columns.game == position) & (columns.episode == self._state.episode[position]))
        return [in_words(columns, row) for row in rows]

    def drain_events(self) -> EventColumns:
        """The log of all games since it was last drained. It is then emptied, which keeps memory bounded.

        Raises:
            ValueError: the games were not made with ``record=True``.
        """
        return self._log().drain()

    def _log(self) -> EventLog:
        if not isinstance(self._state.log, EventLog):
            raise ValueError("there is no event log; make the games with record=True")
        return self._state.log

    # ---------------------------------------------------------------------------------------------- checks

    def _positions(self, index: npt.ArrayLike | None) -> Ints:
        if index is None:
            return self._everyone
        games = _integer_array(index, "index", self.num_games)
        if games.ndim != 1:
            raise ValueError(f"index must be a list of positions, not of shape {games.shape}")
        if games.size > 1 and np.bincount(games).max() > 1:
            raise ValueError("index names a game twice")
        return games

    def _choices(self, actions: npt.ArrayLike, number: int) -> npt.NDArray[Any]:
        """The given actions as (P, n), after checks of their shape and dtype."""
        try:
            array = np.asarray(actions)
        except ValueError:
            raise ragged("actions") from None
        if array.shape != (number, self.num_players):
            raise ValueError(
                f"actions must have the shape ({number}, {self.num_players}), a row for each game and a column for "
                f"each seat, not {array.shape}"
            )
        if array.dtype.kind not in "iu" and array.size:
            raise ValueError(f"actions must be integers, not {array.dtype}")
        return np.ascontiguousarray(array.T)

    def _note_started(self) -> None:
        """Remember whether any game and whether all games were ever started, so that later checks cost nothing."""
        started = self._state.round.astype(np.bool_)
        self._any_started, self._all_started = bool(started.any()), bool(started.all())

    def _need_games(self) -> None:
        if not self._any_started:
            raise ValueError("no game was ever started; call reset(seeds) first")

    def _check_started(self, games: Ints) -> None:
        """Check that all of ``games`` were started.

        Raises:
            ValueError: a game was not.
        """
        if not self._all_started:
            self._need_games()
            never = games[self._state.round.take(games) == 0]
            if never.size:
                raise ValueError(f"game {never[0]} was never started; call reset(seeds) first")

    def _asked(self, games: Ints) -> tuple[Ints, Ints]:
        """Positions of the active seats of ``games`` in a flattened (P, N) array, and in a flattened (P, n) array."""
        active = self._state.active
        if games is self._everyone:
            asked = indices_where(active.reshape(-1))
            return asked, asked
        at = self._state.at(games).reshape(-1)
        columns = indices_where(active.take(at))
        return at.take(columns), columns

    def _legal_choices(self, choices: npt.NDArray[Any], asked: Ints, columns: Ints) -> Bytes:
        """The actions (P, n) of the active seats, and PASS for all others, after a check that each is legal."""
        answers = choices.take(columns)
        numbers = answers
        if answers.dtype != _BYTE:  # negative numbers become very large ones
            numbers = np.minimum(answers.astype(np.uint64, copy=False), _NO_ACTION).astype(np.uint8)
        right = self._state.legal.take(asked) & _BIT_OF.take(numbers)
        if np.count_nonzero(right) < right.size:
            first = indices_where(right == _NOTHING)[0]
            seat, game = divmod(int(asked[first]), self.num_games)
            self._refuse(game, seat, int(answers[first]))
        chosen = np.zeros(choices.shape, np.uint8)  # PASS is 0
        put_at(chosen, columns, numbers)
        return chosen

    def _refuse(self, game: int, seat: int, action: int) -> None:
        legal = [number for number in range(NUM_ACTIONS) if int(self._state.legal[seat, game]) >> number & 1]
        kind = Kind(int(self._state.kind[game])).label
        raise illegal_action(f"game {game}, seat {seat}, decision {kind!r}", game, seat, action, legal)

    # ---------------------------------------------------------------------------------------------- rewards

    def _pay_rewards(self, games: Ints) -> None:
        state = self._state
        if self._pays_at_end_only:
            kinds = state.kind.take(games)
            if np.count_nonzero(kinds) == games.size:
                return
            games = games.take(indices_where(kinds == KINDS[Kind.NONE]))
        at = state.at(games)
        coins = state.coins.take(at)
        margin = _margins(coins)
        over = state.kind.take(games) == KINDS[Kind.NONE]
        observes = state.active.take(at) | over
        seen = self._margin_seen.take(at)
        outcome = Outcome(
            game=games,
            terminated=state.terminated.take(games),
            truncated=state.truncated.take(games),
            winners=state.winners.take(at).T,
            coins=coins.T,
            margin=margin.T,
            margin_before=seen.T,
            observes=observes.T,
        )
        rewards = self._reward(outcome)
        if not self._trusts_reward:
            rewards = _checked_rewards(rewards, games.size, self.num_players)
        put_at(self._rewards, at, rewards.T)
        put_at(self._margin_seen, at, np.where(observes, margin, seen))


def _checked_rewards(rewards: Any, number: int, players: int) -> Floats:
    """The rewards (n, P) that a user's callable returned, after checks of their shape, dtype and values."""
    try:
        array = np.asarray(rewards)
    except ValueError:
        raise ragged("what the reward returns") from None
    if array.shape != (number, players) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"the reward returned {array.dtype} of shape {array.shape}; for {number} games of {players} seats it must "
            f"be numbers of shape ({number}, {players})"
        )
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        paid = array.astype(np.float32)
    if not np.isfinite(paid).all():
        game, seat = np.argwhere(~np.isfinite(paid))[0]
        raise ValueError(f"the reward returned {array[game, seat]} in row {game} for seat {seat}; it must be finite")
    return paid


def _margins(coins: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """(P, n): own coins minus the most of any other seat."""
    ranked = np.sort(coins, axis=0)
    best_other = np.where(coins == ranked[-1], ranked[-2], ranked[-1])  # tied leaders have each other
    margin: npt.NDArray[np.int16] = coins - best_other
    return margin


def _possible_margins(margins_seen: npt.ArrayLike, coins: npt.NDArray[np.int16]) -> npt.NDArray[Any]:
    """The margins (N, P), after a check that they can have been seen on the way to ``coins`` (N, P).

    Coins are never lost. So a margin seen earlier is at most the seat's coins now, and at least minus the coins that
    the best other seat has now.
    """
    margins = np.asarray(margins_seen)
    if margins.shape != coins.shape or margins.dtype.kind not in "iu":
        raise ValueError(
            f"margins_seen must be integers of shape {coins.shape}, not {margins.dtype} of shape {margins.shape}"
        )
    least = _margins(coins.T).T - coins
    wrong = np.argwhere((margins < least) | (margins > coins))
    if wrong.size:
        game, seat = wrong[0]
        raise ValueError(
            f"margins_seen is {margins[game, seat]} for seat {seat} of game {game}; with the coins of that game it is "
            f"from {least[game, seat]} to {coins[game, seat]}"
        )
    return margins


def _seed_words(seeds: int | npt.ArrayLike, games: Ints) -> Words:
    if is_integer(seeds):
        return rng.as_words([int(seeds)]) + rng.as_words(games)
    try:
        words = rng.as_words(seeds)
    except ValueError as error:
        raise ValueError(f"seeds must be an integer or ({games.size},) integers: {error}") from None
    if words.shape != games.shape:
        raise ValueError(f"seeds must be an integer or ({games.size},) integers, not of shape {words.shape}")
    return words


def _integer_array(values: npt.ArrayLike, what: str, limit: int) -> Ints:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{what} must be integers, not {array.dtype}")
    array = array.astype(np.int64)
    if array.size and array.view(np.uint64).max() >= limit:  # negative numbers become very large ones
        wrong = array[(array < 0) | (array >= limit)].reshape(-1)[0]
        raise ValueError(f"{what} {wrong} is out of range; it must be from 0 to {limit - 1}")
    return array
