"""Choosing several treasures to keep, one at a time: the Herb Hut (L7) and storing (N2).

In each moment every seat with ``picks_left`` picks one card of its hand (D3); what it has picked stays there, counted in
``picked``, until all have finished.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_env import bits, piles
from megaland_env.actions import PASS, TREASURE_FIRST, Kind
from megaland_env.events import Event
from megaland_env.rules.flow import ask
from megaland_env.state import GameState, Ints, Words, add, put, where

_NONE = np.uint64(0)


def ask_picks(state: GameState, games: Ints, kind: Kind, hands: Words) -> Ints:
    """Ask for the next pick of each seat that has one; the games in which all have finished are returned.

    Args:
        hands: the hand that is picked from, ``state.carried`` or ``state.home``.
    """
    done = []
    while games.size:
        at = state.at(games)
        picking = state.picks_left.take(at) > 0
        finished = ~picking.any(axis=0)
        done.append(games.take(where(finished)))
        options = piles.types(hands.take(at) - state.picked.take(at))
        asked = picking & (np.bitwise_count(options) > 1) if state.config.skip_forced else picking
        waits = asked.any(axis=0)
        here = where(waits)
        if here.size:
            legal = options.take(here, axis=1) << np.uint64(TREASURE_FIRST)
            ask(state, games.take(here), at.take(here, axis=1), kind, asked.take(here, axis=1), legal)
        games = games.take(where(~waits & ~finished))  # here every pick is forced
        if games.size:
            take_picks(state, games, np.zeros((state.num_players, games.size), np.uint8), hands)
    return np.concatenate(done) if done else games


def take_picks(state: GameState, games: Ints, chosen: npt.NDArray[np.uint8], hands: Words) -> None:
    """Carry out one pick of every seat that has one: the chosen card, or the only one there is where it was not asked."""
    at = state.at(games)
    picking = state.picks_left.take(at) > 0
    options = piles.types(hands.take(at) - state.picked.take(at))
    only = bits.nth_member(options | np.uint64(1 << piles.NO_TREASURE), np.zeros_like(options))
    treasure = np.where(chosen == PASS, only, chosen - np.uint8(TREASURE_FIRST))
    add(state.picked, at, piles.ONE_CARD.take(treasure) * picking)
    put(state.picks_left, at, state.picks_left.take(at) - picking)


def keep_picked(state: GameState, games: Ints, hands: Words) -> None:
    """When all have finished: what was picked is the home hand, or joins it; the rest of the hand is discarded."""
    at = state.at(games)
    picked = state.picked.take(at)
    hand = hands.take(at) * (picked > _NONE)
    rest = hand - picked
    put(hands, at, hands.take(at) - hand)
    add(state.home, at, picked)
    put(state.picked, at, _NONE)
    discard_hands(state, games, picked, rest)


def discard_hands(state: GameState, games: Ints, kept: Words, discarded: Words) -> None:
    """Put ``discarded`` (P, n) on the discard pile, and log it beside what was kept, seat by seat."""
    state.discard[games] = state.discard.take(games) + np.add.reduce(discarded, axis=0)
    if state.log is not None:
        for seat in range(state.num_players):
            state.log.cards(Event.KEEP, games, seat, kept[seat])
            state.log.cards(Event.DISCARD, games, seat, discarded[seat])
