"""Picking several treasures to keep, one at a time, for the Herb Hut (L7) and for storing (N2).

In each decision moment every seat with ``picks_left`` picks one card of its hand (D3). The cards picked are counted in
``picked``, and stay in the hand until all seats have finished.
"""

from __future__ import annotations

import numpy as np

from megaland_env.actions import PASS, TREASURE_FIRST
from megaland_env.engine.compiled import events, piles
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.events import Event
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.flow import ask, choice

_TO_ACTIONS = np.uint64(TREASURE_FIRST)


@compiled
def ask_picks(memory: Memory, game: int, kind: int, from_home: bool) -> bool:
    """Ask for the next pick of each seat that has one; whether any seat is asked.

    Args:
        memory: the batch.
        game: the game.
        kind: the kind of decision.
        from_home: whether the cards are picked from the home hand rather than from the carried hand.
    """
    asked = False
    for seat in range(memory.num_players):
        if memory.picks_left[seat, game] > 0:
            options = _hand(memory, game, seat, from_home) - memory.picked[seat, game]
            if not memory.skip_forced or piles.num_types(options) > 1:
                ask(memory, game, seat, kind, piles.types(options) << _TO_ACTIONS)
                asked = True
    if not asked:
        _pick_what_there_is(memory, game, from_home)
    return asked


@compiled
def _pick_what_there_is(memory: Memory, game: int, from_home: bool) -> None:
    """Make the remaining picks without a decision, when every hand with picks left holds one type only."""
    for seat in range(memory.num_players):
        picks = memory.picks_left[seat, game]
        if picks > 0:
            options = _hand(memory, game, seat, from_home) - memory.picked[seat, game]
            if options:
                memory.picked[seat, game] += piles.cards(piles.lowest_type(options), picks)
            memory.picks_left[seat, game] = 0


@compiled
def take_picks(memory: Memory, game: int, chosen: np.uint64, from_home: bool) -> None:
    """Carry out one pick of every seat that has one: the chosen type, or the only one if the seat was not asked."""
    for seat in range(memory.num_players):
        if memory.picks_left[seat, game] > 0:
            treasure = choice(chosen, seat) - TREASURE_FIRST
            if choice(chosen, seat) == PASS:
                treasure = piles.lowest_type(_hand(memory, game, seat, from_home) - memory.picked[seat, game])
            memory.picked[seat, game] += piles.cards(treasure, 1)
            memory.picks_left[seat, game] -= 1


@compiled
def keep_picked(memory: Memory, game: int, from_home: bool) -> None:
    """Move the picked cards to the home hand and discard the rest of the hand, when all seats have finished."""
    for seat in range(memory.num_players):
        picked = memory.picked[seat, game]
        if picked:
            rest = _hand(memory, game, seat, from_home) - picked
            memory.picked[seat, game] = piles.EMPTY
            if from_home:
                memory.home[seat, game] = picked
            else:
                memory.carried[seat, game] = piles.EMPTY
                memory.home[seat, game] += picked
            discard(memory, game, seat, picked, rest)


@compiled
def _hand(memory: Memory, game: int, seat: int, from_home: bool) -> np.uint64:
    return memory.home[seat, game] if from_home else memory.carried[seat, game]


@compiled
def discard(memory: Memory, game: int, seat: int, kept: np.uint64, discarded: np.uint64) -> None:
    """Put cards of a seat on the discard pile; log what was kept and what was discarded."""
    memory.discard[game] += discarded
    if memory.log_size:
        events.add_cards(memory, game, Event.KEEP, seat, kept)
        events.add_cards(memory, game, Event.DISCARD, seat, discarded)
