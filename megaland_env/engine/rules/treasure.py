"""Drawing treasures (rules D)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Bools, Ints, Words
from megaland_env.cards import MAX_PLAYERS
from megaland_env.engine import piles, rng
from megaland_env.engine.events import Event
from megaland_env.engine.piles import EMPTY
from megaland_env.engine.state import GameState, add_at, indices_where, some

_SEAT_OFFSETS = np.array([rng.offset(0, seat=seat) for seat in range(MAX_PLAYERS)])
# (P, P) for each number of seats: in column f all seats in their order, from seat f.
_FROM = [np.add.outer(np.arange(seats), np.arange(seats)) % max(seats, 1) for seats in range(MAX_PLAYERS + 1)]


def draw(state: GameState, games: Ints, times: npt.NDArray[Any], address: Words, into: Words) -> None:
    """D2: several seats draw at the same event, in order from the first player, each making all of its draws in turn.

    Args:
        games: (n,) the games concerned.
        times: (P, n) number of treasures that each seat draws; may be bool.
        address: ``rng.offset`` of the first draw of each seat, without the seat: a scalar, (n,) or (P, n). The
            ``count`` of the address increases with every further draw of the seat.
        into: the hands that the treasures go to, ``state.carried`` or ``state.home``.
    """
    players, n = times.shape
    # Rows are in the order of drawing: row 0 is the first player.
    seats = _FROM[players].take(state.first_player.take(games), axis=1)
    here = seats * n
    here += np.arange(n)
    wanted = times.take(here)
    words = _SEAT_OFFSETS.take(seats)
    words += state.round_keys.take(games)
    words += address.take(here) if address.ndim == 2 else address
    first = rng.scramble(words)
    most = 1 if wanted.dtype == np.bool_ else int(wanted.max(initial=0))

    totals = piles.running_totals(state.deck.take(games))
    cards = np.zeros((players, n), np.uint64)
    draw_at_all = wanted.astype(np.bool_, copy=False)
    for place in range(players):
        for count in range(most):
            draws = wanted[place] > count if count else draw_at_all[place]
            if not some(draws):
                break
            word = rng.scramble(words[place] + rng.offset(0, count=count)) if count else first[place]
            hand = cards[place]
            hand += _draw_one(state, games, seats[place], draws, word, totals)
    state.deck[games] = piles.from_running_totals(totals)
    seats *= state.num_games
    seats += games
    add_at(into, seats, cards)


def _draw_one(state: GameState, games: Ints, seats: Ints, draws: Bools, words: Words, totals: Words) -> Words:
    """D1: one draw in each game where ``draws`` (n,) is true, uniform over the cards left in the deck.

    The draw is computed for all games, which is faster than selecting those that draw.

    Args:
        state: the batch.
        games: (n,) the games.
        seats: (n,) the seats, for the log.
        draws: (n,) bool, whether the seat draws.
        words: (n,) the random words.
        totals: (n,) the running totals of the decks; updated in place.

    Returns:
        (n,) the card drawn, as a pile.
    """
    left = piles.last_total(totals)
    if np.count_nonzero(left) < games.size:
        _reshuffle(state, games, draws, totals, left)
    treasure = piles.card_at(totals, rng.choose(words, left))
    card: Words = piles.ONE_CARD.take(treasure, mode="clip")  # NO_TREASURE, an empty pile, if no card is left
    card *= draws
    totals -= piles.running_totals(card)
    state.log.draws(games, draws, seats, treasure)
    return card


def _reshuffle(state: GameState, games: Ints, draws: Bools, totals: Words, left: Words) -> None:
    """D1: when a draw finds the deck empty, and not before, the discard pile becomes the deck.

    No order is stored, since the cards of a face-down pile are exchangeable. ``totals`` and ``left`` (n,) are updated
    in place. If the discard pile is empty too, the deck stays empty.
    """
    empty = indices_where(draws & (left == EMPTY))
    if not empty.size:
        return
    reshuffled = games.take(empty)
    totals[empty] = piles.running_totals(state.discard.take(reshuffled))
    left[empty] = piles.last_total(totals.take(empty))
    state.discard[reshuffled] = 0
    if state.log.on:
        state.log.where(Event.RESHUFFLE, reshuffled, left.take(empty))
