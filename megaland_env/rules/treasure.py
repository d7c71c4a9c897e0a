"""Drawing treasures (rules D)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import piles, rng
from megaland_env.cards import MAX_PLAYERS
from megaland_env.events import NOTHING, Event
from megaland_env.state import GameState, Ints, Words, add, where

_SEAT_OFFSETS = np.array([rng.offset(0, seat=seat) for seat in range(MAX_PLAYERS)])
_NO_CARD = rng.constant(0)
_PLACES = np.arange(MAX_PLAYERS)[:, None]


def draw(state: GameState, games: Ints, times: npt.NDArray[Any], address: Words, into: Words) -> None:
    """D2: several seats draw at one event, in order from the first player, each all of its draws one after the other.

    Args:
        games: (n,) the games concerned.
        times: (P, n) how many treasures each seat draws; booleans will do.
        address: ``rng.offset`` of the first draw of each seat, without the seat: a scalar, (n,) or (P, n). Every
            further draw of a seat counts up.
        into: the hands that they go to, ``state.carried`` or ``state.home``.
    """
    players, n = times.shape
    # In the order of drawing: place 0 is the first player's.
    seats = _PLACES[:players] + state.first_player.take(games)
    seats -= players * (seats >= players)
    here = seats * n
    here += np.arange(n)
    wanted = times.take(here)
    luck = _SEAT_OFFSETS.take(seats)
    luck += state.luck.take(games)
    luck += address.take(here) if address.ndim == 2 else address
    most = int(wanted.max(initial=0))

    deck = state.deck.take(games)
    cards = np.zeros((players, n), np.uint64)
    for place in range(players):
        for count in range(most):
            draws = wanted[place] > count
            number = np.count_nonzero(draws)
            if number == 0:
                break
            if number == n:
                drawn = _draw_one(state, games, seats[place], deck, luck[place], count)
                cards[place] += drawn
                deck -= drawn
            else:
                here = where(draws)
                pile = deck.take(here)
                drawn = _draw_one(state, games.take(here), seats[place].take(here), pile, luck[place].take(here), count)
                cards[place, here] += drawn
                deck[here] = pile - drawn
    state.deck[games] = deck
    seats *= state.num_games
    seats += games
    add(into, seats, cards)


def _draw_one(state: GameState, games: Ints, seats: Ints, deck: Words, luck: Words, count: int) -> Words:
    """D1: one draw in each game, uniform over the cards left in the deck.

    Returns (n,): the card drawn, as a pile. ``deck`` (n,) is changed only by reshuffling.
    """
    left = piles.size(deck)
    if np.count_nonzero(left) < games.size:
        _reshuffle(state, games, deck, left)
    treasure = piles.card_at(deck, rng.choose(rng.scramble(luck + rng.offset(0, count=count)), left))
    if state.log is not None:
        item = np.where(treasure < piles.NO_TREASURE, treasure.astype(np.int8), NOTHING)
        state.log.add(Event.DRAW, games, seats, item)
    card: Words = piles.ONE_CARD.take(
        treasure, mode="clip"
    )  # where nothing is left it points past the treasures: no card
    return card


def _reshuffle(state: GameState, games: Ints, deck: Words, left: Words) -> None:
    """D1: when a draw finds the deck empty, and not before, the discard pile becomes the deck.

    No order is stored, since the cards of a face-down pile are exchangeable. ``deck`` and ``left`` (n,) are brought up
    to date; where the discard pile is empty too, they stay empty.
    """
    empty = where(left == _NO_CARD)
    reshuffled = games.take(empty)
    deck[empty] = state.discard.take(reshuffled)
    left[empty] = piles.size(deck.take(empty))
    state.discard[reshuffled] = 0
    if state.log is not None:
        state.log.add(Event.RESHUFFLE, games.take(empty[left.take(empty) > _NO_CARD]))
