"""Observations again, one row at a time, compiled by Numba (the extra ``fast``).

The functions take from the memory of a game what the blocks of ``features.py`` read from the view, in the same order;
places and scales are those that are declared there. ``encode.py`` decides which code writes.
"""

from __future__ import annotations

import numpy as np
from numba import types

from megaland_env.actions import BUY_FIRST, HEART_FIRST, NUM_KINDS
from megaland_env.arrays import Bytes, Floats, Ints
from megaland_env.cards import NUM_BUILDINGS, NUM_LEVEL_CARDS, NUM_TREASURES
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory, all_in_range, memory_to_read
from megaland_env.engine.compiled.odds import fall_chance_of
from megaland_env.engine.compiled.rules.flow import seat_after
from megaland_env.observation.compiled.numbers import Numbers, new_numbers, take_column, take_pile
from megaland_env.observation.features import (
    AFTER_SEATS,
    COPIES_BOUND,
    IN_HAND,
    IN_SEAT,
    NUM_FEATURES,
    OTHERS,
    SEAT_WIDTH,
    SEATS,
    Placed,
)
from megaland_env.scales import LEAST, MOST, reciprocals

SIGNATURE = (
    types.uint8[::1],
    types.int64[::1],
    types.Array(types.int64, 1, "A", readonly=True),
    types.Array(types.int64, 1, "A", readonly=True),
    types.float32[:, ::1],
)
"""The types of the arguments of ``write``."""

# The index of the first feature of each block; of those of a seat, from the first of that seat.
(
    _PRESENT,
    _ACTIVE,
    _IN_LEVEL,
    _JUMPING,
    _FALLING,
    _FIRST_PLAYER,
    _BUYER,
    _FALL_CHANCE,
    _JUMP_FALL_CHANCE,
    _COINS,
    _HEARTS,
    _MAX_HEARTS,
    _JUMPS,
    _PICKS_LEFT,
    _FISH_USED,
    _CARROTS_USED,
    _CARRIED,
    _HOME,
    _PICKED,
    _BUILDINGS,
) = (placed.start for placed in IN_SEAT)
(
    _LEAD,
    _CARDS_CARRIED,
    _CARDS_HOME,
    _TYPES_HOME,
    _TYPES_BOTH,
    _PLAYERS,
    _ROUND,
    _HEART_SUPPLY,
    _JUMP_SUPPLY,
    _COST,
    _DECK,
    _DISCARD,
    _SUPPLY,
    _PAID,
    _TURN,
    _HEART_TREASURE,
    _UNSEEN,
    _LEVEL_CARD,
    _KIND,
) = (placed.start for placed in OTHERS)


def _factors() -> Floats:
    """(D,) what the numbers are multiplied by."""

    def of(placed: Placed) -> Floats:
        width = placed.stop - placed.start
        divisor = placed.block.scale.divisor
        return reciprocals([np.broadcast_to(divisor, width)]) if divisor else np.ones(width, np.float32)

    in_seat = np.concatenate([of(placed) for placed in IN_SEAT])
    return np.concatenate([np.tile(in_seat, len(SEATS)), *(of(placed) for placed in OTHERS)])


_FACTORS = _factors()
_LEAST, _MOST = np.float32(LEAST), np.float32(MOST)
_HAND: Floats = IN_HAND.features(np.tile(np.arange(256), (NUM_TREASURES, 1)))


@compiled
def write(state_bytes: Bytes, options: Ints, games: Ints, seats: Ints, out: Floats) -> bool:
    """Write observations.

    Args:
        state_bytes: ``GameState.bytes``.
        options: (7,) as ``memory.OPTIONS`` says.
        games: (M,) the positions of the games.
        seats: (M,) the seats that observe.
        out: (M, D) written.

    Returns:
        False if a game or a seat is out of range; nothing is written then.
    """
    memory = memory_to_read(state_bytes, options)
    if not all_in_range(memory, games, seats):
        return False
    numbers = new_numbers()
    for i in range(memory.num_players * SEAT_WIDTH, AFTER_SEATS):
        numbers[i] = 0
    for i in range(len(games)):
        for place in range(memory.num_players):
            take_seat(memory, games[i], seat_after(memory, seats[i], place), numbers, place * SEAT_WIDTH)
        take_self(memory, games[i], seats[i], numbers)
        take_table(memory, games[i], numbers)
        take_turn(memory, games[i], numbers)
        take_level(memory, games[i], numbers)
        row = out[i]
        for feature in range(NUM_FEATURES):
            number = np.float32(numbers[feature]) * _FACTORS[feature]
            row[feature] = min(max(number, _LEAST), _MOST)
        # What is no scaled number: square roots, which are looked up, and chances.
        for place in range(memory.num_players):
            first = place * SEAT_WIDTH
            seat = seat_after(memory, seats[i], place)
            for treasure in range(NUM_TREASURES):
                row[first + _CARRIED + treasure] = _HAND[
                    treasure, piles.count(memory.carried[seat, games[i]], treasure)
                ]
                row[first + _HOME + treasure] = _HAND[treasure, piles.count(memory.home[seat, games[i]], treasure)]
            row[first + _FALL_CHANCE] = fall_chance_of(memory, games[i], seat, 0)
            row[first + _JUMP_FALL_CHANCE] = fall_chance_of(memory, games[i], seat, 1)
    return True


@compiled
def take_seat(memory: Memory, game: int, seat: int, numbers: Numbers, first: int) -> None:
    """Take ``SEAT_BLOCKS``, except the chances."""
    numbers[first + _PRESENT] = 1
    numbers[first + _ACTIVE] = memory.active[seat, game]
    numbers[first + _IN_LEVEL] = memory.in_level[seat, game]
    numbers[first + _JUMPING] = memory.jumping[seat, game]
    numbers[first + _FALLING] = memory.falling[seat, game]
    numbers[first + _FIRST_PLAYER] = memory.first_player[game] == seat
    numbers[first + _BUYER] = memory.buyer[game] == seat
    numbers[first + _FALL_CHANCE] = 0
    numbers[first + _JUMP_FALL_CHANCE] = 0
    numbers[first + _COINS] = memory.coins[seat, game]
    numbers[first + _HEARTS] = memory.hearts[seat, game]
    numbers[first + _MAX_HEARTS] = memory.max_hearts[seat, game]
    numbers[first + _JUMPS] = memory.jumps[seat, game]
    numbers[first + _PICKS_LEFT] = memory.picks_left[seat, game]
    numbers[first + _FISH_USED] = memory.fish_used[seat, game]
    numbers[first + _CARROTS_USED] = memory.carrots_used[seat, game]
    take_pile(numbers, first + _PICKED, memory.picked[seat, game])
    take_column(numbers, first + _BUILDINGS, memory.buildings, (seat, game))


@compiled
def take_self(memory: Memory, game: int, seat: int, numbers: Numbers) -> None:
    """Take the blocks that begin with ``self``."""
    most_of_others = 0
    for other in range(memory.num_players):
        if other != seat:
            most_of_others = max(most_of_others, memory.coins[other, game])
    carried, home = memory.carried[seat, game], memory.home[seat, game]
    numbers[_LEAD] = memory.coins[seat, game] - most_of_others
    numbers[_CARDS_CARRIED] = piles.size(carried)
    numbers[_CARDS_HOME] = piles.size(home)
    numbers[_TYPES_HOME] = piles.num_types(home)
    numbers[_TYPES_BOTH] = piles.num_types(carried | home)


@compiled
def take_table(memory: Memory, game: int, numbers: Numbers) -> None:
    """Take the other blocks up to ``table.paid``."""
    numbers[_PLAYERS] = memory.num_players
    numbers[_ROUND] = memory.round[game]
    numbers[_HEART_SUPPLY] = memory.heart_supply[game]
    numbers[_JUMP_SUPPLY] = memory.jump_supply[game]
    numbers[_COST] = memory.cost[game]
    take_pile(numbers, _DECK, memory.deck[game])
    take_pile(numbers, _DISCARD, memory.discard[game])
    take_pile(numbers, _PAID, memory.paid[game])
    take_column(numbers, _SUPPLY, memory.building_supply, (game,))
    on_offer = as_int(memory.on_offer[game]) >> BUY_FIRST
    for building in range(NUM_BUILDINGS):
        left = min(numbers[_SUPPLY + building], COPIES_BOUND)
        numbers[_SUPPLY + building] = left + ((on_offer >> building & 1) - 1) * COPIES_BOUND


@compiled
def take_turn(memory: Memory, game: int, numbers: Numbers) -> None:
    """Take the turn of the buyer."""
    paying = memory.paying[game]
    bought = as_int(memory.bought[game]) >> BUY_FIRST
    for building in range(NUM_BUILDINGS):
        numbers[_TURN + building] = bought >> building & 1
    for treasure in range(NUM_TREASURES):
        numbers[_HEART_TREASURE + treasure] = 0
    if paying >= HEART_FIRST:
        numbers[_HEART_TREASURE + paying - HEART_FIRST] = 1
    elif paying >= BUY_FIRST:
        numbers[_TURN + paying - BUY_FIRST] = (bought >> (paying - BUY_FIRST) & 1) - 1


@compiled
def take_level(memory: Memory, game: int, numbers: Numbers) -> None:
    """Take the level cards, and the kind of decision."""
    unseen = memory.unseen[game]
    for card in range(NUM_LEVEL_CARDS):
        numbers[_UNSEEN + card] = unseen >> card & 1
    for card in range(NUM_LEVEL_CARDS):
        numbers[_LEVEL_CARD + card] = 0
    if memory.level_card[game] >= 0:
        numbers[_LEVEL_CARD + memory.level_card[game]] = 1
    for kind in range(NUM_KINDS):
        numbers[_KIND + kind] = 0
    numbers[_KIND + memory.kind[game]] = 1
