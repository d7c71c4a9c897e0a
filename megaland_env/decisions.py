"""``Decisions``: pending decisions of many games as one batch of rows, which is all that an agent is given.

Nothing of it leads to the games or to their seeds: an agent reads ``legal`` and the public ``view``, takes its luck
from ``random``, and plans on ``fork``, whose games have luck of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, HEART_FIRST, NUM_ACTIONS, Kind
from megaland_env.cards import MAX_HEARTS, MAX_PLAYERS, NORMAL_COPIES, NUM_BUILDINGS, NUM_LEVEL_CARDS, Building
from megaland_env.engine import bits, piles, rng
from megaland_env.engine.odds import fall_chance
from megaland_env.engine.state import Bools, GameState, Ints, Words

if TYPE_CHECKING:
    from megaland_env.game import MegalandGames

NOT_BUYING = -1
BUYING_HEART = NUM_BUILDINGS
"""``view.buying`` of who pays for a heart; smaller numbers are buildings."""

# Numbers as arrays of the right type, with which NumPy works sooner.
_BUY_FIRST, _HEART_FIRST = np.array(BUY_FIRST, np.int8), np.array(HEART_FIRST, np.int8)
_PLACES = np.arange(MAX_PLAYERS)[:, None]
_LEVEL_CARD_BITS = np.uint32(1) << np.arange(NUM_LEVEL_CARDS, dtype=np.uint32)[:, None]
_BUY_BITS = np.uint32(1) << np.arange(BUY_FIRST, HEART_FIRST, dtype=np.uint32)[:, None]

_SOAP_MAKERS = np.array(NORMAL_COPIES + 1, np.uint8)  # numbers of them that one may own
_CHANCES_A_SET = np.array((MAX_HEARTS + 1) * (NORMAL_COPIES + 1))


def _chances_table() -> npt.NDArray[np.complex64]:
    """(1024 * 9 * 5,): for each set of unseen cards and numbers of hearts and of Soap Makers, two chances to fall.

    The real part is that without a jump, the imaginary part that with one; both are 0 for no hearts.
    """
    unseen = np.arange(1 << NUM_LEVEL_CARDS)[:, None, None, None]
    hearts = np.arange(MAX_HEARTS + 1)[:, None, None]
    chances = fall_chance(unseen, hearts, np.arange(NORMAL_COPIES + 1)[:, None], np.arange(2))
    chances[:, 0] = 0
    return chances.view(np.complex64).reshape(-1)


_CHANCES = _chances_table()
_11 = rng.constant(11)
_AT_SEAT = {
    purpose: np.array([rng.offset(purpose, seat=seat) for seat in range(MAX_PLAYERS)])
    for purpose in (rng.Purpose.AGENT, rng.Purpose.FORK)
}


class Decisions:
    """M decisions (or onlookers' rows), valid until the games move.

    Attributes:
        game: (M,) int64, position in the batch.
        seat: (M,) int64, who decides.
    """

    def __init__(self, games: MegalandGames, game: Ints, seat: Ints) -> None:
        self._games = games
        self._version = games._version
        self.game = game
        self.seat = seat
        self._at = seat * games.num_games + game

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
        """P."""
        return self._games.num_players

    @cached_property
    def kind(self) -> npt.NDArray[np.uint8]:
        """(M,) the ``Kind`` of each decision; ``NONE`` for a seat that is not asked."""
        state = self._state
        kind: npt.NDArray[np.uint8] = state.kind.take(self.game) * state.active.take(self._at)
        return kind

    @cached_property
    def legal_bits(self) -> Words:
        """(M,) the legal actions as sets: bit a for action a. For agents in a hurry; see bits.py."""
        return self._state.legal.take(self._at)

    @cached_property
    def legal(self) -> Bools:
        """(M, 40) the legal actions; exactly PASS for a seat that is not asked."""
        return bits.members(self.legal_bits, NUM_ACTIONS)

    @cached_property
    def view(self) -> View:
        """The public state as the deciding seats see it."""
        return View(self)

    def random(self, k: int, *, seed: int = 0) -> npt.NDArray[np.float64]:
        """(M, k) uniform numbers in [0, 1): luck for the agent that decides.

        Keyed by the game, the seat, how often the seat has decided, and the agent's own ``seed``: the same agent in the
        same game draws the same, in any batch and with any number of workers. Nothing can be computed back from it.
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

        They stand at this very decision, all other seats still pending, with *fresh* seeds: the luck to come is not
        that of the real game. The fresh seeds are keyed as ``random`` is.

        Raises:
            ValueError: ``times`` is not positive.
        """
        if times < 1:
            raise ValueError(f"times is {times}; it must be at least 1")
        hidden = np.repeat(self._hidden_words(rng.Purpose.FORK), times)
        forked = self._fresh().copy(np.repeat(self.game, times))
        counts = np.tile(np.arange(1, times + 1), len(self))
        state = forked._state
        state.seeds[:] = rng.agent_words(hidden, rng.agent_key(seed), counts)
        state.keys[:] = rng.key(state.seeds)
        state.luck[:] = state.keys + rng.round_offset(state.round)
        return forked

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


_Made = TypeVar("_Made")


class _MadeWhenRead(Generic[_Made]):
    """``cached_property`` without the lock that it takes in Python 3.11, which costs as much as a small NumPy call."""

    def __init__(self, make: Callable[[Any], _Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, view: None, owner: type) -> _MadeWhenRead[_Made]: ...

    @overload
    def __get__(self, view: object, owner: type) -> _Made: ...

    def __get__(self, view: object | None, owner: type) -> Any:
        if view is None:
            return self
        made = vars(view)[self._name] = self._make(view)
        return made


class View:
    """The public state turned to the deciding seat: self first, then clockwise. Made when read, games first.

    M rows, P players. A pile of treasures is six counts in the order of C2, buildings are in the order of C6, level
    cards in the order of C3.

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
    picks_left            (M, P)          uint8    huts, stables or storing still to do
    picked                (M, P, 6)       uint8    chosen so far, still in the hand it came from
    first_player          (M, P)          bool     who holds the first-player token
    buyer                 (M, P)          bool     whose turn of phase 2 it is
    kind                  (M,)            uint8    the ``Kind`` of decision that the game waits for, whoever is asked
    round                 (M,)            int32    from 1
    deck                  (M, 6)          uint8    treasures left in the deck
    discard               (M, 6)          uint8
    unseen                (M, 10)         bool     level cards yet to come this round
    level_card            (M,)            int8     the last one revealed in this level, or -1
    heart_supply          (M,)            uint8
    jump_supply           (M,)            uint8
    on_offer              (M, 23)         bool     in this game's market
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
        # (P, M): where the player k places to the left of the deciding seat lies in a flattened (P, N) array. Past the
        # last seat it goes on with the first: going back a whole table then makes a small number of it, and otherwise,
        # as unsigned numbers are, an enormous one.
        ahead = decisions._at + self._num_games * _PLACES[: state.num_players]
        back = ahead - self._num_games * state.num_players
        self._at = np.minimum(ahead.view(np.uint64), back.view(np.uint64), out=back.view(np.uint64)).view(np.int64)

    def _each_seat(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._at).T

    def _each_hand(self, array: Words) -> npt.NDArray[np.uint8]:
        self._decisions._fresh()
        return piles.open_(array.take(self._at)).T

    def _each_game(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._game, axis=-1).T

    def _who_is(self, seat: npt.NDArray[np.int8]) -> Bools:
        """(M, P): which places are those of one seat (N,) of each game; none is where it is ``NOBODY``."""
        who: Bools = self._at == self._each_game(seat) * self._num_games + self._game
        return who.T

    # The seats

    coins = _MadeWhenRead(lambda self: self._each_seat(self._state.coins))
    hearts = _MadeWhenRead(lambda self: self._each_seat(self._state.hearts))
    max_hearts = _MadeWhenRead(lambda self: self._each_seat(self._state.max_hearts))
    jumps = _MadeWhenRead(lambda self: self._each_seat(self._state.jumps))
    jumping = _MadeWhenRead(lambda self: self._each_seat(self._state.jumping))
    in_level = _MadeWhenRead(lambda self: self._each_seat(self._state.in_level))
    falling = _MadeWhenRead(lambda self: self._each_seat(self._state.falling))
    active = _MadeWhenRead(lambda self: self._each_seat(self._state.active))
    carried = _MadeWhenRead(lambda self: self._each_hand(self._state.carried))
    home = _MadeWhenRead(lambda self: self._each_hand(self._state.home))
    picked = _MadeWhenRead(lambda self: self._each_hand(self._state.picked))
    fish_used = _MadeWhenRead(lambda self: self._each_seat(self._state.fish_used))
    carrots_used = _MadeWhenRead(lambda self: self._each_seat(self._state.carrots_used))
    picks_left = _MadeWhenRead(lambda self: self._each_seat(self._state.picks_left))

    @_MadeWhenRead
    def buildings(self) -> npt.NDArray[np.uint8]:
        """(M, P, 23)."""
        self._decisions._fresh()
        each = self._state.buildings.reshape(NUM_BUILDINGS, -1).take(self._at.reshape(-1), axis=1)
        return each.reshape(NUM_BUILDINGS, *self._at.shape).T

    @_MadeWhenRead
    def first_player(self) -> Bools:
        """(M, P)."""
        return self._who_is(self._state.first_player)

    @_MadeWhenRead
    def buyer(self) -> Bools:
        """(M, P); false for all outside phase 2."""
        return self._who_is(self._state.buyer)

    # The table

    kind = _MadeWhenRead(lambda self: self._each_game(self._state.kind))
    round = _MadeWhenRead(lambda self: self._each_game(self._state.round))
    level_card = _MadeWhenRead(lambda self: self._each_game(self._state.level_card))
    heart_supply = _MadeWhenRead(lambda self: self._each_game(self._state.heart_supply))
    jump_supply = _MadeWhenRead(lambda self: self._each_game(self._state.jump_supply))
    supply = _MadeWhenRead(lambda self: self._each_game(self._state.building_supply))
    cost = _MadeWhenRead(lambda self: self._each_game(self._state.cost))
    deck = _MadeWhenRead(lambda self: piles.open_(self._each_game(self._state.deck)).T)
    discard = _MadeWhenRead(lambda self: piles.open_(self._each_game(self._state.discard)).T)
    paid = _MadeWhenRead(lambda self: piles.open_(self._each_game(self._state.paid)).T)

    @_MadeWhenRead
    def unseen(self) -> Bools:
        """(M, 10)."""
        return _members(self._each_game(self._state.unseen), _LEVEL_CARD_BITS)

    @_MadeWhenRead
    def on_offer(self) -> Bools:
        """(M, 23)."""
        return _members(self._each_game(self._state.on_offer), _BUY_BITS)

    @_MadeWhenRead
    def bought(self) -> Bools:
        """(M, 23)."""
        return _members(self._each_game(self._state.bought), _BUY_BITS)

    # PASS, which stands for no payment, is below every BUY action, and these are below every HEART action.

    @_MadeWhenRead
    def buying(self) -> npt.NDArray[np.int8]:
        """(M,)."""
        buying: npt.NDArray[np.int8] = self._paying - _BUY_FIRST
        np.maximum(buying, NOT_BUYING, out=buying)
        np.minimum(buying, BUYING_HEART, out=buying)
        return buying

    @_MadeWhenRead
    def heart_treasure(self) -> npt.NDArray[np.int8]:
        """(M,)."""
        treasure: npt.NDArray[np.int8] = self._paying - _HEART_FIRST
        np.maximum(treasure, -1, out=treasure)
        return treasure

    @_MadeWhenRead
    def _paying(self) -> npt.NDArray[np.int8]:
        paying: npt.NDArray[np.int8] = self._each_game(self._state.paying).view(np.int8)
        return paying

    # Chances

    @_MadeWhenRead
    def fall_chance(self) -> npt.NDArray[np.float32]:
        """(M, P)."""
        return self._chances.real.T

    @_MadeWhenRead
    def jump_fall_chance(self) -> npt.NDArray[np.float32]:
        """(M, P)."""
        return self._chances.imag.T

    @_MadeWhenRead
    def _chances(self) -> npt.NDArray[np.complex64]:
        """(P, M): both chances as one item."""
        hearts = self.hearts.T * self.in_level.T.view(np.uint8)
        soap_makers = self._state.buildings[Building.SOAP_MAKERS].take(self._at)
        return chances_to_fall(self._each_game(self._state.unseen), hearts, soap_makers)


def chances_to_fall(
    unseen: npt.NDArray[np.int16], hearts: npt.NDArray[np.uint8], soap_makers: npt.NDArray[np.uint8]
) -> npt.NDArray[np.complex64]:
    """(P, M): the chance without a jump as the real part, that with one as the imaginary part.

    Args:
        unseen: (M,) sets of level cards.
        hearts: (P, M) of who is in the level, who has some; 0 for who is not. Overwritten.
        soap_makers: (P, M) how many are owned.
    """
    hearts *= _SOAP_MAKERS
    hearts += soap_makers
    chances: npt.NDArray[np.complex64] = _CHANCES.take(unseen * _CHANCES_A_SET + hearts)
    return chances


def _members(sets: npt.NDArray[Any], bits_of: npt.NDArray[np.uint32]) -> Bools:
    """(M, k): which of k numbers are in each of (M,) sets, with the rows last in memory."""
    return (sets.astype(np.uint32) & bits_of).astype(np.bool_).T
