"""Setup (rules S, with the components of C4 to C7)."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import BUY_FIRST, PASS
from megaland_env.arrays import Words
from megaland_env.cards import HEART_SUPPLY, JUMP_SUPPLY, NUM_BUILDINGS, STAR_BUILDINGS, START_HEARTS
from megaland_env.engine import piles
from megaland_env.engine import rng as addresses
from megaland_env.engine.compiled import events, rng
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.events import NOTHING, Event
from megaland_env.engine.compiled.memory import Memory, clear
from megaland_env.engine.compiled.rules.night import ALL_LEVEL_CARDS, start_round
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Stage
from megaland_env.engine.state import NO_CARD, NOBODY

_1 = np.uint64(1)
_PASS_BIT = np.uint64(1 << PASS)
_WHOLE_DECK = np.uint64(piles.WHOLE_DECK)
_MARKET, _FIRST_PLAYER = (np.uint64(addresses.offset(p)) for p in (Purpose.MARKET, Purpose.FIRST_PLAYER))
_NUM_STARS = len(STAR_BUILDINGS)


@compiled
def new_game(memory: Memory, game: int, seed: np.uint64, copies: Words, markets: Words) -> int:
    """Set up a game.

    Args:
        memory: the batch.
        game: the game.
        seed: its seed.
        copies: (23,) the number of copies of each building (``rules.setup.copies_of``).
        markets: the markets that the configuration allows (``rules.setup.markets``).
    """
    episode = memory.episode[game]
    clear(memory, game)
    memory.episode[game] = episode + 1
    memory.seeds[game] = seed
    memory.keys[game] = rng.key(seed)
    start_round(memory, game, 1)

    memory.level_card[game] = NO_CARD
    memory.buyer[game] = NOBODY
    memory.deck[game] = _WHOLE_DECK
    memory.unseen[game] = ALL_LEVEL_CARDS
    for seat in range(memory.num_players):
        memory.legal[seat, game] = _PASS_BIT
        memory.hearts[seat, game] = START_HEARTS
        memory.max_hearts[seat, game] = START_HEARTS
    memory.heart_supply[game] = HEART_SUPPLY - START_HEARTS * memory.num_players  # C4
    memory.jump_supply[game] = JUMP_SUPPLY
    _set_out_market(memory, game, copies, markets)
    _draw_first_player(memory, game)
    return Stage.ENTER


@compiled
def _set_out_market(memory: Memory, game: int, copies: Words, markets: Words) -> None:
    """S1: six star buildings, and seven normal ones, which the configuration names or which are drawn."""
    drawn = rng.choose(rng.scramble(memory.keys[game] + _MARKET), len(markets))
    offered = markets[drawn]
    memory.on_offer[game] = offered
    for building in range(NUM_BUILDINGS):
        bit = _1 << np.uint64(BUY_FIRST + building)
        if offered & bit:
            memory.building_supply[building, game] = copies[building]
            if copies[building]:
                memory.for_sale[game] |= bit
            if memory.log_size and building >= _NUM_STARS:
                events.add(memory, game, Event.MARKET, NOTHING, building, NOTHING)


@compiled
def _draw_first_player(memory: Memory, game: int) -> None:
    """S2: the first player is drawn at random, or set by the configuration."""
    first = memory.first_player_set
    if first < 0:
        first = rng.choose(rng.scramble(memory.keys[game] + _FIRST_PLAYER), memory.num_players)
    memory.first_player[game] = first
    if memory.log_size:
        events.add(memory, game, Event.FIRST_PLAYER, first, NOTHING, NOTHING)
