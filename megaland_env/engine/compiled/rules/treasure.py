"""Drawing treasures (rules D)."""

from __future__ import annotations

import numpy as np

from megaland_env.engine.compiled import events, piles, rng
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.events import NOTHING, Event
from megaland_env.engine.compiled.memory import Memory


@compiled
def draw(memory: Memory, game: int, seat: int, offset: np.uint64, count: int) -> np.uint64:
    """D1: draw one treasure, uniform over the cards left in the deck.

    Where several seats draw at the same event, the callers go through them in order from the first player (D2).

    Args:
        memory: the batch.
        game: the game.
        seat: the seat that draws.
        offset: ``rng.offset`` of the purpose.
        count: the ``count`` of the address.

    Returns:
        The card drawn, as a pile; an empty one if no card is left anywhere.
    """
    deck = memory.deck[game]
    left = piles.size(deck)
    if left == 0:
        deck = _reshuffle(memory, game)
        left = piles.size(deck)
    if left == 0:
        if memory.log_size:
            events.add(memory, game, Event.DRAW, seat, NOTHING, NOTHING)
        return piles.EMPTY
    treasure = piles.card_at(deck, rng.choose(rng.word(memory, game, offset, seat, count), left))
    card = piles.cards(treasure, 1)
    memory.deck[game] = deck - card
    if memory.log_size:
        events.add(memory, game, Event.DRAW, seat, treasure, NOTHING)
    return card


@compiled
def _reshuffle(memory: Memory, game: int) -> np.uint64:
    """D1: when a draw finds the deck empty, and not before, the discard pile becomes the deck."""
    deck = memory.discard[game]
    memory.discard[game] = piles.EMPTY
    memory.deck[game] = deck
    if memory.log_size and deck:
        events.add(memory, game, Event.RESHUFFLE, NOTHING, NOTHING, NOTHING)
    return deck
