"""``Decisions``: pending decisions of many games as one batch of rows, which is all that an agent is given.

An agent has no access to the games or to their seeds. It reads ``legal`` and the public ``view``, takes random numbers
from ``random``, and plans on the games of ``fork``, which have seeds of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, HEART_FIRST, NUM_ACTIONS, Kind
from megaland_env.arrays import Bools, Bytes, Floats, Ints, Words, constant
from megaland_env.cards import MAX_HEARTS, MAX_PLAYERS, NORMAL_COPIES, NUM_BUILDINGS, NUM_LEVEL_CARDS, Building
from megaland_env.engine import bits, piles, rng
from megaland_env.engine.odds import fall_chance
from megaland_env.engine.state import GameState

if TYPE_CHECKING:
    from megaland_env.engine.compiled.cache import Program
    from megaland_env.engine.compiled.engine import CompiledEngine
    from megaland_env.game import MegalandGames

NOT_BUYING = -1
BUYING_HEART = NUM_BUILDINGS
"""``view.buying`` while a heart is paid for; smaller numbers are buildings."""

_BUY_FIRST, _HEART_FIRST = constant(BUY_FIRST, np.int8), constant(HEART_FIRST, np.int8)
_PLACES = np.arange(MAX_PLAYERS)[:, None]
_LEVEL_CARD_BITS = np.uint32(1) << np.arange(NUM_LEVEL_CARDS, dtype=np.uint32)[:, None]
_BUY_BITS = np.uint32(1) << np.arange(BUY_FIRST, HEART_FIRST, dtype=np.uint32)[:, None]

_SOAP_MAKERS = constant(NORMAL_COPIES + 1, np.uint8)  # a player owns from 0 to NORMAL_COPIES of them
_CHANCES_PER_SET = constant((MAX_HEARTS + 1) * (NORMAL_COPIES + 1), np.int64)


def _chances_table() -> Floats:
    """Chances to fall (1024 * 9 * 5, 2) by the set of unseen cards, the number of hearts and that of Soap Makers.

    The first column is the chance without a jump, the second that with one. Both are 0 without hearts.
    """
    unseen = np.arange(1 << NUM_LEVEL_CARDS)[:, None, None, None]
    hearts = np.arange(MAX_HEARTS + 1)[:, None, None]
    chances = fall_chance(unseen, hearts, np.arange(NORMAL_COPIES + 1)[:, None], np.arange(2))
    chances[:, 0] = 0
    return chances.reshape(-1, 2)


_CHANCES = _chances_table()
_11 = constant(11, np.uint64)
_AT_SEAT = {
    purpose: np.array([rng.offset(purpose, seat=seat) for seat in range(MAX_PLAYERS)])
    for purpose in (rng.Purpose.AGENT, rng.Purpose.FORK)
}


_Made = TypeVar("_Made")


class lazy_array(Generic[_Made]):
    """A ``cached_property`` without the lock of Python 3.11, which takes as long as a small NumPy call."""

    def __init__(self, make: Callable[[Any], _Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, view: None, owner: type) -> lazy_array[_Made]: ...

    @overload
    def __get__(self, view: object, owner: type) -> _Made: ...

    def __get__(self, view: object | None, owner: type) -> Any:
        if view is None:
            return self
        made = vars(view)[self._name] = self._make(view)
        return made


class Decisions:
    """M rows of a game and a seat each, valid until the games move.

    Most are pending decisions; ``MegalandGames.rows`` also makes rows for seats that are not active.

    Attributes:
        game: (M,) int64, the position of the game in the batch.
        seat: (M,) int64, the seat that decides.
    """

    def __init__(self, games: MegalandGames, game: Ints, seat: Ints) -> None:
        self._games = games
        self._version = games._version
        self.game = game
        self.seat = seat

    def __len__(self) -> int:
        return int(self.game.size)

    def __getitem__(self, rows: npt.ArrayLike | slice) -> Decisions:
        """Some of the rows, by a slice, positions (n,) or a mask (M,)."""
        return Decisions(self._fresh(), self.game[rows], self.seat[rows])  # type: ignore[index]

    @property
    def _state(self) -> GameState:
        return self._fresh()._state

    def _fresh(self) -> MegalandGames:
        if self._games._version != self._version:
            raise RuntimeError("these decisions are out of date: the games have moved on; take games.decisions() again")
        return self._games

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
        return self._games.num_players

    @lazy_array
    def _at(self) -> Ints:
        """(M,) the position in a flattened (P, N) array."""
        at: Ints = self.seat * self._games.num_games + self.game
        return at

    @lazy_array
    def kind(self) -> Bytes:
        """(M,) the ``Kind`` of each decision; ``NONE`` for a seat that is not active."""
        state = self._state
        kind: Bytes = state.kind.take(self.game) * state.active.take(self._at)
        return kind

    @lazy_array
    def legal_bits(self) -> Words:
        """(M,) the legal actions as words, bit a for action a; faster to work with than ``legal`` (see bits.py)."""
        return self._state.legal.take(self._at)

    @lazy_array
    def legal(self) -> Bools:
        """(M, 40) the legal actions; exactly PASS for a seat that is not active."""
        engine = self._fresh()._compiled
        legal = engine.masks(self.game, self.seat) if engine else None
        return bits.members(self.legal_bits, NUM_ACTIONS) if legal is None else legal

    @lazy_array
    def view(self) -> View:
        """The public state as seen from the deciding seats."""
        return View(self)

    def random(self, k: int, *, seed: int = 0) -> npt.NDArray[np.float64]:
        """Uniform random numbers (M, k) in [0, 1) for the agent that decides.

        They are a function of the game, the seat, the number of decisions that the seat has made, and the agent's own
        ``seed``: the same agent in the same game draws the same numbers, in any batch and with any number of workers.
        The seed of the game cannot be computed from them.
        """
        hidden = self._hidden_words(rng.Purpose.AGENT)
        agent = rng.agent_key(seed)
        numbers = np.empty((k, len(self)))
        for column in range(k):
            words = rng.agent_words(hidden, agent, column + 1)
            words >>= _11
            np.multiply(words, 2.0**-53, out=numbers[column])
        return numbers.T

    def fork(self, times: int, seed: int = 0) -> MegalandGames:
        """Copies to plan with: row r becomes games ``r * times`` to ``(r + 1) * times - 1`` of a new batch.

        They are at the same decision, with all other seats still pending, but have *fresh* seeds: what they draw and
        reveal is not what the real game will. The fresh seeds are derived in the same way as ``random``.

        Raises:
            ValueError: ``times`` is not positive.
        """
        if times < 1:
            raise ValueError(f"times is {times}; it must be at least 1")
        hidden = np.repeat(self._hidden_words(rng.Purpose.FORK), times)
        forked = self._fresh().copy(np.repeat(self.game, times))
        counts = np.tile(np.arange(1, times + 1), len(self))
        forked._state.reseed(rng.agent_words(hidden, rng.agent_key(seed), counts))
        return forked

    def engine_for(self, program: Program) -> CompiledEngine | None:
        """The compiled engine, if a compiled function is to decide; see ``MegalandGames.engine_for``."""
        return self._fresh().engine_for(program)

    def _hidden_words(self, purpose: rng.Purpose) -> Words:
        state = self._state
        words = state.keys.take(self.game)
        words += rng.count_offset(state.asked.take(self._at))
        words += _AT_SEAT[purpose].take(self.seat)
        return rng.scramble(words)

    def __repr__(self) -> str:
        kinds = np.bincount(self.kind, minlength=len(Kind))
        named = ", ".join(f"{kinds[kind]} {kind.label}" for kind in Kind if kinds[kind])
        return f"<Decisions: {len(self)} rows ({named})>"


class View:
    """The public state from the point of view of the deciding seat: its own place first, then clockwise.

    M is the number of rows, P that of players. A pile of treasures is six counts in the order of C2; buildings are in
    the order of C6, level cards in the order of C3. Each array is made when it is first read.

    ====================  ==============  =======  ====================================================================
    name                  shape           dtype    meaning
    ====================  ==============  =======  ====================================================================
    coins                 (M, P)          int16
    hearts                (M, P)          uint8    not yet lost in this level
    max_hearts            (M, P)          uint8
    jumps                 (M, P)          uint8    jump tokens
    jumping               (M, P)          bool     has declared a jump for the card that is being resolved
    in_level              (M, P)          bool
    falling               (M, P)          bool     fell on the card that is being resolved
    active                (M, P)          bool     must decide now
    carried               (M, P, 6)       uint8
    home                  (M, P, 6)       uint8
    buildings             (M, P, 23)      uint8    copies owned
    fish_used             (M, P)          uint8    wild fish used this round (B3)
    carrots_used          (M, P)          uint8    wild carrots used this round (B3)
    picks_left            (M, P)          uint8    picks still to make, for huts, stables or storing
    picked                (M, P, 6)       uint8    chosen so far, still in the hand it came from
    first_player          (M, P)          bool     holds the first-player token
    buyer                 (M, P)          bool     has the turn in phase 2
    kind                  (M,)            uint8    the ``Kind`` of decision that the game waits for, whoever is asked
    round                 (M,)            int32    from 1
    deck                  (M, 6)          uint8    treasures left in the deck
    discard               (M, 6)          uint8
    unseen                (M, 10)         bool     level cards yet to come this round
    level_card            (M,)            int8     the last one revealed in this level, or -1
    heart_supply          (M,)            uint8
    jump_supply           (M,)            uint8
    on_offer              (M, 23)         bool     in the market of the game
    supply                (M, 23)         uint8    copies left on the table
    bought                (M, 23)         bool     bought by the buyer this turn
    buying                (M,)            int8     the building that is being paid for, 23 for a heart, or -1
    heart_treasure        (M,)            int8     the treasure that a heart is being paid with, or -1
    cost                  (M,)            uint8    treasures that the purchase costs
    paid                  (M, 6)          uint8    treasures paid for it so far
    fall_chance           (M, P)          float32  chance to fall on the next level card without a jump, if in the level
    jump_fall_chance      (M, P)          float32  the same when jumping over it
    ====================  ==============  =======  ====================================================================
    """

    def __init__(self, decisions: Decisions) -> None:
        state = decisions._state
        self._state = state
        self._decisions = decisions
        self._game = decisions.game
        self._num_games = np.int64(state.num_games)
        # (P, M): the position in a flattened (P, N) array of the player k places to the left of the deciding seat. Past
        # the last seat the first follows: there subtracting all P seats gives a valid position. Elsewhere it gives a
        # negative number, which as an unsigned number is very large, so the minimum is right in both cases.
        ahead = decisions._at + self._num_games * _PLACES[: state.num_players]
        back = ahead - self._num_games * state.num_players
        self._at = np.minimum(ahead.view(np.uint64), back.view(np.uint64), out=back.view(np.uint64)).view(np.int64)

    def _each_seat(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._at).T

    def _each_hand(self, array: Words) -> Bytes:
        self._decisions._fresh()
        return piles.open_(array.take(self._at)).T

    def _each_game(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._game, axis=-1).T

    def _who_is(self, seat: npt.NDArray[np.int8]) -> Bools:
        """(M, P): the places that are those of one seat (N,) of each game; all false where that is ``NOBODY``."""
        who: Bools = self._at == self._each_game(seat) * self._num_games + self._game
        return who.T

    # The seats

    coins = lazy_array(lambda self: self._each_seat(self._state.coins))
    hearts = lazy_array(lambda self: self._each_seat(self._state.hearts))
    max_hearts = lazy_array(lambda self: self._each_seat(self._state.max_hearts))
    jumps = lazy_array(lambda self: self._each_seat(self._state.jumps))
    jumping = lazy_array(lambda self: self._each_seat(self._state.jumping))
    in_level = lazy_array(lambda self: self._each_seat(self._state.in_level))
    falling = lazy_array(lambda self: self._each_seat(self._state.falling))
    active = lazy_array(lambda self: self._each_seat(self._state.active))
    carried = lazy_array(lambda self: self._each_hand(self._state.carried))
    home = lazy_array(lambda self: self._each_hand(self._state.home))
    picked = lazy_array(lambda self: self._each_hand(self._state.picked))
    fish_used = lazy_array(lambda self: self._each_seat(self._state.fish_used))
    carrots_used = lazy_array(lambda self: self._each_seat(self._state.carrots_used))
    picks_left = lazy_array(lambda self: self._each_seat(self._state.picks_left))

    @lazy_array
    def buildings(self) -> Bytes:
        """(M, P, 23) uint8, copies owned."""
        self._decisions._fresh()
        each = self._state.buildings.reshape(NUM_BUILDINGS, -1).take(self._at.reshape(-1), axis=1)
        return each.reshape(NUM_BUILDINGS, *self._at.shape).T

    @lazy_array
    def first_player(self) -> Bools:
        """(M, P) bool, holds the first-player token."""
        return self._who_is(self._state.first_player)

    @lazy_array
    def buyer(self) -> Bools:
        """(M, P) bool, has the turn in phase 2; all false outside it."""
        return self._who_is(self._state.buyer)

    # The table

    kind = lazy_array(lambda self: self._each_game(self._state.kind))
    round = lazy_array(lambda self: self._each_game(self._state.round))
    level_card = lazy_array(lambda self: self._each_game(self._state.level_card))
    heart_supply = lazy_array(lambda self: self._each_game(self._state.heart_supply))
    jump_supply = lazy_array(lambda self: self._each_game(self._state.jump_supply))
    supply = lazy_array(lambda self: self._each_game(self._state.building_supply))
    cost = lazy_array(lambda self: self._each_game(self._state.cost))
    deck = lazy_array(lambda self: piles.open_(self._each_game(self._state.deck)).T)
    discard = lazy_array(lambda self: piles.open_(self._each_game(self._state.discard)).T)
    paid = lazy_array(lambda self: piles.open_(self._each_game(self._state.paid)).T)

    @lazy_array
    def unseen(self) -> Bools:
        """(M, 10) bool, level cards yet to come this round."""
        return _members(self._each_game(self._state.unseen), _LEVEL_CARD_BITS)

    @lazy_array
    def on_offer(self) -> Bools:
        """(M, 23) bool, in the market of the game."""
        return _members(self._each_game(self._state.on_offer), _BUY_BITS)

    @lazy_array
    def bought(self) -> Bools:
        """(M, 23) bool, bought by the buyer this turn."""
        return _members(self._each_game(self._state.bought), _BUY_BITS)

    # PASS, which stands for no payment, is smaller than any BUY action, and these are smaller than any HEART action.

    @lazy_array
    def buying(self) -> npt.NDArray[np.int8]:
        """(M,) int8, the building that is being paid for, 23 for a heart, or -1."""
        buying: npt.NDArray[np.int8] = self._paying - _BUY_FIRST
        np.maximum(buying, NOT_BUYING, out=buying)
        np.minimum(buying, BUYING_HEART, out=buying)
        return buying

    @lazy_array
    def heart_treasure(self) -> npt.NDArray[np.int8]:
        """(M,) int8, the treasure that a heart is being paid with, or -1."""
        treasure: npt.NDArray[np.int8] = self._paying - _HEART_FIRST
        np.maximum(treasure, -1, out=treasure)
        return treasure

    @lazy_array
    def _paying(self) -> npt.NDArray[np.int8]:
        paying: npt.NDArray[np.int8] = self._each_game(self._state.paying).view(np.int8)
        return paying

    # Chances

    @lazy_array
    def fall_chance(self) -> Floats:
        """(M, P) float32, chance to fall on the next level card without a jump, if in the level."""
        return self._chances[..., 0].T

    @lazy_array
    def jump_fall_chance(self) -> Floats:
        """(M, P) float32, chance to fall on the next level card when jumping over it, if in the level."""
        return self._chances[..., 1].T

    @lazy_array
    def _chances(self) -> Floats:
        """(P, M, 2) both chances."""
        hearts = self.hearts.T * self.in_level.T.view(np.uint8)
        soap_makers = self._state.buildings[Building.SOAP_MAKERS].take(self._at)
        return chances_to_fall(self._each_game(self._state.unseen), hearts, soap_makers)


def chances_to_fall(unseen: npt.NDArray[np.int16], hearts: Bytes, soap_makers: Bytes) -> Floats:
    """Chances to fall on the next level card, without a jump and with one.

    Args:
        unseen: (M,) the level cards yet to come, bit c for card c.
        hearts: (P, M) the hearts of the players in the level, 0 for the others; overwritten.
        soap_makers: (P, M) number of Soap Makers owned.

    Returns:
        (P, M, 2) float32.
    """
    hearts *= _SOAP_MAKERS
    hearts += soap_makers
    chances: Floats = _CHANCES.take(unseen * _CHANCES_PER_SET + hearts, axis=0)
    return chances


def _members(sets: npt.NDArray[Any], bits_of: npt.NDArray[np.uint32]) -> Bools:
    """(M, k): which of k numbers are in each of (M,) sets. The rows are the last axis in memory."""
    return (sets.astype(np.uint32) & bits_of).astype(np.bool_).T
