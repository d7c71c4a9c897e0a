"""``Decisions``: pending decisions of many games as one batch of rows, which is all that an agent is given.

Nothing of it leads to the games or to their seeds: an agent reads ``legal`` and the public ``view``, takes its luck from
``random``, and plans on ``fork``, whose games have luck of their own.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from megaland_env import bits, piles, rng
from megaland_env.actions import BUY_FIRST, HEART_FIRST, NUM_ACTIONS, Kind
from megaland_env.cards import NUM_BUILDINGS, NUM_LEVEL_CARDS, Building
from megaland_env.odds import fall_chance
from megaland_env.state import Bools, GameState, Ints, Words

if TYPE_CHECKING:
    from megaland_env.game import MegalandGames

NOT_BUYING = -1
BUYING_HEART = NUM_BUILDINGS
"""``view.buying`` of who pays for a heart; smaller numbers are buildings."""


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

        Keyed by the game, the seat, how often the seat has decided, and the agent's own ``seed``: the same agent in the same
        game draws the same, in any batch and with any number of workers. Nothing can be computed back from it.
        """
        words = self._luck(rng.Purpose.AGENT, seed)
        numbers = np.empty((k, len(self)))
        for column in range(k):
            mixed = rng.scramble(words + rng.offset(0, count=column + 1))
            np.multiply(mixed >> np.uint64(11), 2.0**-53, out=numbers[column])
        return numbers.T

    def fork(self, times: int, seed: int = 0) -> MegalandGames:
        """Copies to plan with: row r becomes games ``r * times`` to ``(r + 1) * times - 1`` of a new batch.

        They stand at this very decision, all other seats still pending, with *fresh* seeds: the luck to come is not that
        of the real game. The fresh seeds are keyed as ``random`` is.

        Raises:
            ValueError: ``times`` is not positive.
        """
        if times < 1:
            raise ValueError(f"times is {times}; it must be at least 1")
        words = self._luck(rng.Purpose.FORK, seed)
        forked = self._fresh().copy(np.repeat(self.game, times))
        counts = np.tile(np.arange(1, times + 1), len(self))
        state = forked._state
        state.seeds[:] = rng.scramble(np.repeat(words, times) + rng.count_offset(counts))
        state.keys[:] = rng.key(state.seeds)
        state.luck[:] = state.keys + rng.round_offset(state.round)
        return forked

    def _luck(self, purpose: rng.Purpose, seed: int) -> Words:
        state = self._state
        keys = state.keys.take(self.game)
        address = rng.seat_offset(self.seat) + rng.count_offset(state.asked.take(self._at)) + rng.offset(purpose)
        return rng.one_way(rng.scramble(keys + address), keys) ^ rng.key(rng.as_words([seed]))

    def __repr__(self) -> str:
        kinds = np.bincount(self.kind, minlength=len(Kind))
        named = ", ".join(f"{kinds[kind]} {kind.label}" for kind in Kind if kinds[kind])
        return f"<Decisions: {len(self)} rows ({named})>"


class View:
    """The public state turned to the deciding seat: self first, then clockwise. Made when read, games first.

    M rows, P players. A pile of treasures is six counts in the order of C2, buildings are in the order of C6, level cards in
    the order of C3.

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
        seats = decisions.seat + np.arange(state.num_players)[:, None]
        seats[seats >= state.num_players] -= state.num_players
        self._seats = seats  # (P, M) who sits k places to the left of the deciding seat
        self._at = seats * state.num_games + decisions.game  # (P, M)

    def _each_seat(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._at).T

    def _each_hand(self, array: Words) -> npt.NDArray[np.uint8]:
        self._decisions._fresh()
        return piles.open_(array.take(self._at)).T

    def _each_game(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self._decisions._fresh()
        return array.take(self._game, axis=-1).T

    # The seats

    coins = cached_property(lambda self: self._each_seat(self._state.coins))
    hearts = cached_property(lambda self: self._each_seat(self._state.hearts))
    max_hearts = cached_property(lambda self: self._each_seat(self._state.max_hearts))
    jumps = cached_property(lambda self: self._each_seat(self._state.jumps))
    jumping = cached_property(lambda self: self._each_seat(self._state.jumping))
    in_level = cached_property(lambda self: self._each_seat(self._state.in_level))
    falling = cached_property(lambda self: self._each_seat(self._state.falling))
    active = cached_property(lambda self: self._each_seat(self._state.active))
    carried = cached_property(lambda self: self._each_hand(self._state.carried))
    home = cached_property(lambda self: self._each_hand(self._state.home))
    picked = cached_property(lambda self: self._each_hand(self._state.picked))
    fish_used = cached_property(lambda self: self._each_seat(self._state.fish_used))
    carrots_used = cached_property(lambda self: self._each_seat(self._state.carrots_used))
    picks_left = cached_property(lambda self: self._each_seat(self._state.picks_left))

    @cached_property
    def buildings(self) -> npt.NDArray[np.uint8]:
        """(M, P, 23)."""
        self._decisions._fresh()
        each = self._state.buildings.reshape(NUM_BUILDINGS, -1).take(self._at.reshape(-1), axis=1)
        return each.reshape(NUM_BUILDINGS, *self._at.shape).T

    @cached_property
    def first_player(self) -> Bools:
        """(M, P)."""
        return (self._seats == self._each_game(self._state.first_player)).T

    @cached_property
    def buyer(self) -> Bools:
        """(M, P); false for all outside phase 2."""
        return (self._seats == self._each_game(self._state.buyer)).T

    # The table

    round = cached_property(lambda self: self._each_game(self._state.round))
    level_card = cached_property(lambda self: self._each_game(self._state.level_card))
    heart_supply = cached_property(lambda self: self._each_game(self._state.heart_supply))
    jump_supply = cached_property(lambda self: self._each_game(self._state.jump_supply))
    supply = cached_property(lambda self: self._each_game(self._state.building_supply))
    cost = cached_property(lambda self: self._each_game(self._state.cost))
    deck = cached_property(lambda self: piles.open_(self._each_game(self._state.deck)).T)
    discard = cached_property(lambda self: piles.open_(self._each_game(self._state.discard)).T)
    paid = cached_property(lambda self: piles.open_(self._each_game(self._state.paid)).T)

    @cached_property
    def unseen(self) -> Bools:
        """(M, 10)."""
        return bits.members(self._each_game(self._state.unseen).astype(np.uint64), NUM_LEVEL_CARDS)

    @cached_property
    def on_offer(self) -> Bools:
        """(M, 23)."""
        return self._building_set(self._state.on_offer)

    @cached_property
    def bought(self) -> Bools:
        """(M, 23)."""
        return self._building_set(self._state.bought)

    def _building_set(self, words: Words) -> Bools:
        return bits.members(self._each_game(words) >> np.uint64(BUY_FIRST), NUM_BUILDINGS)

    @cached_property
    def buying(self) -> npt.NDArray[np.int8]:
        """(M,)."""
        paying = self._each_game(self._state.paying).astype(np.int8)
        buying: npt.NDArray[np.int8] = np.where(paying == 0, NOT_BUYING, np.minimum(paying - BUY_FIRST, BUYING_HEART))
        return buying.astype(np.int8)

    @cached_property
    def heart_treasure(self) -> npt.NDArray[np.int8]:
        """(M,)."""
        paying = self._each_game(self._state.paying).astype(np.int8)
        return np.where(paying < HEART_FIRST, -1, paying - HEART_FIRST).astype(np.int8)

    # Chances

    fall_chance = cached_property(lambda self: self._fall_chance(jumping=False))
    jump_fall_chance = cached_property(lambda self: self._fall_chance(jumping=True))

    def _fall_chance(self, jumping: bool) -> npt.NDArray[np.float32]:
        soap = self._state.buildings[Building.SOAP_MAKERS].take(self._at)
        unseen = self._each_game(self._state.unseen)
        chance = fall_chance(unseen, self.hearts.T, soap, jumping)
        chance *= self.in_level.T
        return chance.T


