"""``MegalandGames``: a batch of games. Knows the rules and no environment API."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from megaland_env import snapshot
from megaland_env.actions import NUM_ACTIONS, Kind, action_name
from megaland_env.config import ConfigFields, MegalandConfig, config_of
from megaland_env.decisions import Decisions
from megaland_env.engine import backend, bits, rng
from megaland_env.engine.events import EventColumns, EventLog, in_words
from megaland_env.engine.rng import constant
from megaland_env.engine.state import KINDS, NO, ONE, PASS_ONLY, Bools, GameState, Ints, add, put, where
from megaland_env.errors import IllegalActionError
from megaland_env.rewards import NAMED, Outcome, Reward, make_reward, win_shares

_BYTE = np.dtype(np.uint8)
_NO_ACTION = constant(255)
# (256,): the bit of an action; no bit for what is none.
_BIT_OF = np.array([1 << action if action < NUM_ACTIONS else 0 for action in range(256)], np.uint64)
_NOTHING = constant(0)


class Saved(NamedTuple):
    """Some games of a batch as they were before a step."""

    games: Ints
    state: list[npt.NDArray[Any]]
    rewards: npt.NDArray[np.float32]
    margin_seen: npt.NDArray[np.int16]
    version: int
    logged: int


class MegalandGames:
    """N games of P seats, played side by side; each goes on as soon as its own decision is made.

    ``reset`` starts the games; ``active``, ``kind`` and ``legal`` say who must decide what, or ``decisions()`` all of
    it as one batch of rows; ``step`` carries the choices out up to the next decision of each game. Finished games never
    move, and nothing resets by itself. A game of seed s plays the same in any batch and at any position in it.

    Before the first ``reset`` there are no games: what tells their state, and ``step``, raise ``ValueError``. Where
    only some were started, with ``index``, the others have no active seat, and naming one of them is an error.

    All arrays that are given out have the games first; they are views of the engine's own where that will do: read
    them, copy what you keep, and change nothing.

    Args:
        config: of all the games; the default is the full game for four.
        num_games: N.
        reward: ``"win"``, ``"coins"``, ``"shaped"``, an object of rewards.py, or any callable as described there.
        record: whether to keep an event log (events.py).
        **config_fields: instead of ``config`` its fields, such as ``num_players=2`` or ``market="random"``.

    Raises:
        TypeError: both ``config`` and fields of it are given, or there is no such keyword.
        ValueError: ``num_games`` is not positive, there is no such reward, or a field of the configuration is invalid.
    """

    def __init__(
        self,
        config: MegalandConfig | None = None,
        num_games: int = 1,
        *,
        reward: str | Reward = "win",
        record: bool = False,
        **config_fields: Unpack[ConfigFields],
    ) -> None:
        config = config_of(config, config_fields, type(self))
        if isinstance(num_games, bool) or not hasattr(num_games, "__index__") or int(num_games) < 1:
            raise ValueError(f"num_games is {num_games!r}; it must be a positive integer")
        self._attach(GameState(config, int(num_games)), make_reward(reward), record)

    def _attach(self, state: GameState, reward: Reward, record: bool) -> None:
        self._state = state
        self._reward = reward
        self._pays_at_end_only = bool(getattr(reward, "at_end_only", False))
        self._trusts_reward = type(reward) in NAMED.values()
        self._rewards = np.zeros((state.num_players, state.num_games), np.float32)
        self._margin_seen = np.zeros((state.num_players, state.num_games), np.int16)
        if not self._pays_at_end_only:
            self._margin_seen[:] = _margins(state.coins)
        self._everyone = np.arange(state.num_games)
        self._note_started()
        self._version = 0  # counts the changes, so that decisions know when they are out of date
        if record:
            state.log = EventLog(state.steps, state.episode)

    # ---------------------------------------------------------------------------------------------- what a user reads

    @property
    def config(self) -> MegalandConfig:
        """The configuration of all the games."""
        return self._state.config

    @property
    def num_games(self) -> int:
        """N."""
        return self._state.num_games

    @property
    def num_players(self) -> int:
        """P."""
        return self._state.num_players

    @property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """(N,) the seeds of the games."""
        return self._state.seeds

    @property
    def steps(self) -> npt.NDArray[np.int32]:
        """(N,) how many decision moments each game has passed."""
        return self._state.steps

    @property
    def rounds(self) -> npt.NDArray[np.int32]:
        """(N,) the round each game is in, from 1; in a finished game the last that was played."""
        return self._state.round

    @property
    def active(self) -> Bools:
        """(N, P) the seats that must decide now."""
        self._need_games()
        return self._state.active.T

    @property
    def kind(self) -> npt.NDArray[np.uint8]:
        """(N,) the ``Kind`` of decision each game waits for; ``NONE`` when it is over."""
        self._need_games()
        return self._state.kind

    @property
    def legal(self) -> Bools:
        """(N, P, 40) the legal actions of every seat; exactly PASS for a seat that is not active."""
        self._need_games()
        return bits.members(self._state.legal.T, NUM_ACTIONS)

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
        """(N, P) who has won; nobody has in a truncated game."""
        self._need_games()
        return self._state.winners.T

    @property
    def win_shares(self) -> npt.NDArray[np.float64]:
        """(N, P) the share of the win of each seat: 1 / number of winners for each winner, 0 for all others.

        All zeros for a game that was truncated or is not over.
        """
        return win_shares(self.winners)

    @property
    def terminated(self) -> Bools:
        """(N,) over by the rules (N5)."""
        self._need_games()
        return self._state.terminated

    @property
    def truncated(self) -> Bools:
        """(N,) cut off after ``max_rounds`` (D4)."""
        self._need_games()
        return self._state.truncated

    @property
    def rewards(self) -> npt.NDArray[np.float32]:
        """(N, P) what each seat was paid by the last ``step`` that named the game; 0 if it could not move."""
        return self._rewards.T

    @property
    def margins_seen(self) -> npt.NDArray[np.int16]:
        """(N, P) what ``Outcome.margin_before`` will be: each seat's margin when it last observed the game.

        Only rewards that are paid before the end keep it; ``restore`` takes it for these.
        """
        return self._margin_seen.T

    # ---------------------------------------------------------------------------------------------- playing

    def reset(self, seeds: int | npt.ArrayLike, *, index: npt.ArrayLike | None = None) -> None:
        """Start games anew.

        Args:
            seeds: an integer s gives the game at position i the seed s + i (mod 2**64); an array gives each game its
                own.
            index: (n,) positions of the games to start; all by default.

        Raises:
            ValueError: a shape or an index is wrong; nothing has changed.
        """
        games = self._positions(index)
        words = _seed_words(seeds, games)
        self._version += 1
        self._rewards[:, games] = 0
        self._margin_seen[:, games] = 0
        self._begin(games, words)
        if not self._all_started:
            self._note_started()

    def _begin(self, games: Ints, seeds: npt.NDArray[np.uint64]) -> None:
        """Start games. Scenarios, which begin in the middle of a game (seats/scenarios.py), override this."""
        backend.begin(self._state, games, seeds)

    def step(self, actions: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Carry out one decision moment of every game, or of those named, up to the next.

        Args:
            actions: (N, P) integers; the entries of seats that are not active are ignored.
            index: (n,) positions of the games that move, at a cost that goes with n; ``actions`` is then (n, P).

        Raises:
            IllegalActionError: an active seat chose what it may not; nothing has changed.
            ValueError: a shape, a type or an index is wrong, a game was never reset, or the reward is not (n, P) finite
                numbers; nothing has changed. Nor has it when the reward itself raises an error.
        """
        state = self._state
        named = games = self._positions(index)
        choices = self._choices(actions, games.size)
        kinds = state.kind.take(games)
        if np.count_nonzero(kinds) < games.size:  # finished games do not move
            self._check_started(games)
            waiting = where(kinds)
            games, kinds, choices = games.take(waiting), kinds.take(waiting), choices.take(waiting, axis=1)
        asked, columns = self._asked(games)
        chosen = self._legal_choices(choices, asked, columns)
        saved = None if self._trusts_reward else self._save(named)
        try:
            self._version += 1
            put(state.active, asked, NO)
            put(state.legal, asked, PASS_ONLY)
            add(state.asked, asked, ONE)
            state.steps[games] += ONE
            if not self._pays_at_end_only or games is not named:  # a game that goes on has been paid nothing by its end
                self._rewards[:, named] = 0
            backend.answer(state, games, kinds, chosen)
            self._pay_rewards(games)
        except BaseException:
            if saved is not None:
                self._put_back(saved)
            raise

    def decisions(self) -> Decisions:
        """All pending decisions, a row each: seat by seat, and within a seat by position.

        Raises:
            ValueError: no game was ever started.
        """
        self._need_games()
        active = self._state.active
        seats = np.repeat(np.arange(self.num_players), [np.count_nonzero(row) for row in active])
        return Decisions(self, where(active.reshape(-1)) - seats * self.num_games, seats)

    def rows(self, game: npt.ArrayLike, seat: npt.ArrayLike) -> Decisions:
        """The same for any pairs of game and seat, deciding or not, also after the end.

        A row whose seat is not asked has kind ``NONE`` and only PASS legal.

        Raises:
            ValueError: a game or a seat is out of range, the shapes differ, or a game was never started.
        """
        games = _integer_array(game, "game", self.num_games)
        seats = _integer_array(seat, "seat", self.num_players)
        if games.shape != seats.shape or games.ndim != 1:
            raise ValueError(f"game and seat must be of one length, not of shapes {games.shape} and {seats.shape}")
        self._check_started(games)
        return Decisions(self, games, seats)

    def scatter(self, decisions: Decisions, actions: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """The answers (M,) to ``decisions`` as (N, P) for ``step``; PASS everywhere else.

        Raises:
            ValueError: ``actions`` is not (M,) integers in 0..39.
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
        put(scattered, decisions.seat * self.num_games + decisions.game, answers)
        return scattered.T

    # ---------------------------------------------------------------------------------------------- copies and words

    def snapshot(self, game: int) -> dict[str, Any]:
        """One game as a plain dict that ``json.dumps`` takes, in the words of the rules (snapshot.py)."""
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
    ) -> MegalandGames:
        """A batch that continues exactly as the games of the snapshots would.

        Args:
            snapshots: one for each game.
            reward: as in the original.
            record: whether to keep an event log from now on.
            margins_seen: (N, P) integers of the original, for rewards that are paid before the end; by default all
                seats are taken to have just observed the games.

        Raises:
            SnapshotError: a snapshot is malformed, or no game can be in such a state.
            ValueError: ``margins_seen`` has another shape or is not made of integers, or no seat with these coins can
                have seen such a margin.
        """
        games = cls.__new__(cls)
        games._attach(snapshot.load(snapshots), make_reward(reward), record)
        if margins_seen is not None:
            games._margin_seen[:] = _possible_margins(margins_seen, games.coins).T
        return games

    def copy(self, index: npt.ArrayLike | None = None) -> MegalandGames:
        """A batch made of any games of this one, any number of times each, exact to the luck to come.

        The copy keeps no event log. Planners never get this: they have ``decisions.fork``.

        Raises:
            ValueError: an index is out of range.
        """
        positions = np.arange(self.num_games) if index is None else _integer_array(index, "index", self.num_games)
        if positions.ndim != 1 or not positions.size:
            raise ValueError(f"index must be a list of at least one position, not of shape {positions.shape}")
        copied = copy.copy(self)
        copied._state = self._state.copy(positions)
        copied._everyone = np.arange(positions.size)
        copied._rewards = self._rewards.take(positions, axis=1)
        copied._margin_seen = self._margin_seen.take(positions, axis=1)
        copied._note_started()
        return copied

    def _save(self, games: Ints) -> Saved:
        """What ``_put_back`` needs to undo a step of ``games`` (n,), for when code of the user's fails in it."""
        return Saved(
            games,
            self._state.save(games),
            self._rewards.take(games, axis=1),
            self._margin_seen.take(games, axis=1),
            self._version,
            0 if self._state.log is None else self._state.log.mark(),
        )

    def _put_back(self, saved: Saved) -> None:
        """Undo what has happened to the games since ``_save``; only steps of these games have."""
        self._state.put_back(saved.games, saved.state)
        self._rewards[:, saved.games] = saved.rewards
        self._margin_seen[:, saved.games] = saved.margin_seen
        self._version = saved.version
        if self._state.log is not None:
            self._state.log.rewind(saved.logged)

    # ---------------------------------------------------------------------------------------------- the event log

    def events(self, game: int | None = None) -> Any:
        """What happened: all columns (``EventColumns``), or for one game the list of its current episode in words.

        Raises:
            ValueError: the games were not made with ``record=True``, or there is no such game.
        """
        columns = self._log().columns()
        if game is None:
            return columns
        position = int(_integer_array([game], "game", self.num_games)[0])
        rows = where((columns.game == position) & (columns.episode == self._state.episode[position]))
        return [in_words(columns, row) for row in rows]

    def drain_events(self) -> EventColumns:
        """All columns, which are then forgotten: the way to keep memory bounded.

        Raises:
            ValueError: the games were not made with ``record=True``.
        """
        return self._log().drain()

    def _log(self) -> EventLog:
        if self._state.log is None:
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
        """(P, n) what was given as actions, if it is of the right form."""
        array = np.asarray(actions)
        if array.shape != (number, self.num_players):
            raise ValueError(
                f"actions must have the shape ({number}, {self.num_players}), a row for each game and a column for "
                f"each seat, not {array.shape}"
            )
        if array.dtype.kind not in "iu" and array.size:
            raise ValueError(f"actions must be integers, not {array.dtype}")
        return np.ascontiguousarray(array.T)

    def _note_started(self) -> None:
        """Remember whether any and all games were ever started, so that the checks cost nothing later."""
        started = self._state.round.astype(np.bool_)
        self._any_started, self._all_started = bool(started.any()), bool(started.all())

    def _need_games(self) -> None:
        if not self._any_started:
            raise ValueError("no game was ever started; call reset(seeds) first")

    def _check_started(self, games: Ints) -> None:
        """Whether all of ``games`` were started.

        Raises:
            ValueError: one was not.
        """
        if not self._all_started:
            self._need_games()
            never = games[self._state.round.take(games) == 0]
            if never.size:
                raise ValueError(f"game {never[0]} was never started; call reset(seeds) first")

    def _asked(self, games: Ints) -> tuple[Ints, Ints]:
        """Where the seats of ``games`` that are asked lie in a flattened (P, N), and in a flattened (P, n) array."""
        active = self._state.active
        if games is self._everyone:
            asked = where(active.reshape(-1))
            return asked, asked
        at = self._state.at(games).reshape(-1)
        columns = where(active.take(at))
        return at.take(columns), columns

    def _legal_choices(self, choices: npt.NDArray[Any], asked: Ints, columns: Ints) -> npt.NDArray[np.uint8]:
        """(P, n) the choices of the seats that are asked, PASS for the others; an error if one is not legal."""
        answers = choices.take(columns)
        numbers = answers
        if answers.dtype != _BYTE:  # negative numbers become enormous ones
            numbers = np.minimum(answers.astype(np.uint64, copy=False), _NO_ACTION).astype(np.uint8)
        right = self._state.legal.take(asked) & _BIT_OF.take(numbers)
        if np.count_nonzero(right) < right.size:
            first = where(right == _NOTHING)[0]
            seat, game = divmod(int(asked[first]), self.num_games)
            self._refuse(game, seat, int(answers[first]))
        chosen = np.zeros(choices.shape, np.uint8)  # PASS is 0
        put(chosen, columns, numbers)
        return chosen

    def _refuse(self, game: int, seat: int, action: int) -> None:
        legal = [action_name(a) for a in range(NUM_ACTIONS) if int(self._state.legal[seat, game]) >> a & 1]
        exists = 0 <= action < NUM_ACTIONS
        name = f"{action} ({action_name(action)})" if exists else f"{action}, which is not one of 0..{NUM_ACTIONS - 1},"
        kind = Kind(int(self._state.kind[game])).label
        raise IllegalActionError(
            f"game {game}, seat {seat}, decision {kind!r}: action {name} is not legal; legal are {', '.join(legal)}",
            game,
            seat,
            action,
            legal,
        )

    # ---------------------------------------------------------------------------------------------- rewards

    def _pay_rewards(self, games: Ints) -> None:
        state = self._state
        if self._pays_at_end_only:
            kinds = state.kind.take(games)
            if np.count_nonzero(kinds) == games.size:
                return
            games = games.take(where(kinds == KINDS[Kind.NONE]))
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
        put(self._rewards, at, rewards.T)
        put(self._margin_seen, at, np.where(observes, margin, seen))


def _checked_rewards(rewards: Any, number: int, players: int) -> npt.NDArray[np.float32]:
    """(n, P) what a callable of the user's returned, if it is that."""
    array = np.asarray(rewards)
    if array.shape != (number, players) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"the reward returned {array.dtype} of shape {array.shape}; for {number} games of {players} seats it must "
            f"be numbers of shape ({number}, {players})"
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold is not finite
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
    """(N, P) the margins, if they can have been seen on the way to ``coins`` (N, P).

    Coins are never lost. So a margin that was seen is at most the seat's own coins now, and at least minus the most
    that any other seat has now.
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


def _seed_words(seeds: int | npt.ArrayLike, games: Ints) -> npt.NDArray[np.uint64]:
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
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
    if array.size and not (array.min() >= 0 and array.max() < limit):
        wrong = array[(array < 0) | (array >= limit)].reshape(-1)[0]
        raise ValueError(f"{what} {wrong} is out of range; it must be from 0 to {limit - 1}")
    return array
