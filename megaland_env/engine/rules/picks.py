"""Picking several treasures to keep, one at a time, for the Herb Hut (L7) and for storing (N2).

In each decision moment every seat with ``picks_left`` picks one card of its hand (D3). The cards picked are counted in
``picked``, and stay in the hand until all seats have finished.
"""

from __future__ import annotations

import numpy as np

from megaland_env.actions import PASS, TREASURE_FIRST, Kind
from megaland_env.arrays import Bytes, Ints, Words, constant
from megaland_env.engine import piles
from megaland_env.engine.piles import EMPTY
from megaland_env.engine.rules.flow import ask
from megaland_env.engine.state import ONE, ZERO, GameState, add_at, put_at, some

_TO_ACTIONS = constant(TREASURE_FIRST, np.uint64)
_PASS, _TREASURE_FIRST = constant(PASS, np.uint8), constant(TREASURE_FIRST, np.uint8)
# (64,): the first treasure of a set of types.
_LOWEST = np.array(
    [min((t for t in range(6) if types >> t & 1), default=piles.NO_TREASURE) for types in range(64)], np.uint8
)


def ask_picks(state: GameState, games: Ints, kind: Kind, hands: Words) -> Ints:
    """Ask for the next pick of each seat that has one, and return the games in which all seats have finished.

    Args:
        state: the batch.
        games: (n,) the games.
        kind: the kind of decision.
        hands: the hand that is picked from, ``state.carried`` or ``state.home``.
    """
    at = state.at(games)
    picks = state.picks_left.take(at)
    options = piles.types(hands.take(at) - state.picked.take(at))
    asked = picks > ZERO
    if state.config.skip_forced:
        asked &= np.bitwise_count(options) > ONE
    done = ask(state, games, at, kind, asked, options << _TO_ACTIONS)
    if done.size and some(picks):
        _pick_what_there_is(state, done, hands)
    return done


def _pick_what_there_is(state: GameState, games: Ints, hands: Words) -> None:
    """Make the remaining picks without a decision, in games in which every hand with picks left holds one type only."""
    at = state.at(games)
    types = piles.types(hands.take(at) - state.picked.take(at))
    add_at(state.picked, at, piles.ONE_CARD.take(_lowest(types)) * state.picks_left.take(at))
    put_at(state.picks_left, at, 0)


def take_picks(state: GameState, games: Ints, chosen: Bytes, hands: Words) -> None:
    """Carry out one pick of every seat that has one: the chosen type, or the only one if the seat was not asked."""
    at = state.at(games)
    picks = state.picks_left.take(at)
    picking = picks > ZERO
    only = _lowest(piles.types(hands.take(at) - state.picked.take(at)))
    treasure = np.where(chosen == _PASS, only, chosen - _TREASURE_FIRST)
    add_at(state.picked, at, piles.ONE_CARD.take(treasure) * picking)
    put_at(state.picks_left, at, picks - picking)


def _lowest(types: Words) -> Bytes:
    """The first treasure of each set of types; ``NO_TREASURE`` for an empty set."""
    return _LOWEST.take(types.view(np.int64))


def keep_picked(state: GameState, games: Ints, hands: Words) -> None:
    """Move the picked cards to the home hand and discard the rest of the hand, when all seats have finished."""
    at = state.at(games)
    picked = state.picked.take(at)
    hand = hands.take(at) * (picked > EMPTY)
    rest = hand - picked
    put_at(hands, at, hands.take(at) - hand)
    add_at(state.home, at, picked)
    put_at(state.picked, at, EMPTY)
    discard_hands(state, games, picked, rest)


def discard_hands(state: GameState, games: Ints, kept: Words, discarded: Words) -> None:
    """Put ``discarded`` (P, n) on the discard pile; log for each seat what was kept and what was discarded."""
    state.discard[games] = state.discard.take(games) + np.add.reduce(discarded, axis=0)
    state.log.hands(games, kept, discarded)
