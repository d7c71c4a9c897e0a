"""Drawing treasures (rules D)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import piles, rng
from megaland_env.cards import MAX_PLAYERS
from megaland_env.events import Event
from megaland_env.rng import Purpose
from megaland_env.state import GameState, Ints, Words, add

_SEAT_OFFSETS = np.array([[rng.offset(0, seat=seat)] for seat in range(MAX_PLAYERS)])  # (5, 1)


def draw(
    state: GameState,
    games: Ints,
    times: npt.NDArray[Any],
    purpose: Purpose,
    into: Words,
    count: npt.NDArray[Any] | int = 0,
) -> None:
    """D2: several seats draw at one event, in order from the first player, each all of its draws one after the other.

    Args:
        games: (n,) the games concerned.
        times: (P, n) how many treasures each seat draws; booleans will do.
        purpose: what the draws are for; with ``count``, which is the number of the first of them, part of their address.
        into: the hands that they go to, ``state.carried`` or ``state.home``.
        count: a scalar, (n,) or (P, n).
    """
    players, n = times.shape
    luck = _SEAT_OFFSETS[:players] + state.luck.take(games)
    luck += rng.offset(purpose)
    if isinstance(count, np.ndarray):
        luck += rng.count_offset(count)
    most = int(times.max(initial=0))
    words = [rng.scramble(luck + rng.offset(0, count=k)) for k in range(most)]
    seats = state.first_player.take(games).astype(np.int64)
    columns = np.arange(n)
    for _ in range(players):
        here = seats * n + columns
        wanted = times.take(here)
        for k in range(most):
            drawing = np.flatnonzero(wanted > k)
            if not drawing.size:
                break
            _draw_one(state, games.take(drawing), seats.take(drawing), words[k].take(here.take(drawing)), into)
        seats += 1
        seats[seats == players] = 0


def _draw_one(state: GameState, games: Ints, seats: Ints, words: Words, into: Words) -> None:
    """D1: one draw in each game, uniform over the cards left in the deck."""
    deck = state.deck.take(games)
    left = piles.size(deck)
    if not left.all():
        _reshuffle(state, games.take(np.flatnonzero(left == 0)))
        deck = state.deck.take(games)
        left = piles.size(deck)
        if not left.all():  # both piles are empty: nothing is drawn
            none = np.flatnonzero(left == 0)
            if state.log is not None:
                state.log.add(Event.DRAW, games.take(none), seats.take(none))
            some = np.flatnonzero(left)
            games, seats, words, deck, left = (a.take(some) for a in (games, seats, words, deck, left))
    treasure = piles.card_at(deck, rng.choose(words, left))
    card = piles.ONE_CARD.take(treasure)
    deck -= card
    state.deck[games] = deck
    add(into, state.at_seat(seats, games), card)
    if state.log is not None:
        state.log.add(Event.DRAW, games, seats, treasure)


def _reshuffle(state: GameState, games: Ints) -> None:
    """D1: the discard pile becomes the deck. No order is stored: face-down cards are exchangeable."""
    state.deck[games] = state.discard.take(games)
    state.discard[games] = 0
    if state.log is not None:
        state.log.add(Event.RESHUFFLE, games.take(np.flatnonzero(state.deck.take(games))))
