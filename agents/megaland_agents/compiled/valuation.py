"""Values of buildings, hearts and hands (``planning/valuation.py``), for one decision.

The attributes of a ``Valuation`` are entries of one float32 array, ``values``, and the ``Numbers`` entries of another,
``numbers``; the constants of this module are their positions. All arithmetic is in float32, in the order of the NumPy
code. Hands are piles (``engine/piles.py``).
"""

from __future__ import annotations

import numpy as np

from megaland_agents.compiled.arrays import float32
from megaland_agents.compiled.program import ROOM_FOR_VALUES
from megaland_agents.planning import valuation
from megaland_agents.planning.valuation import LAYERS
from megaland_env.actions import BUY_FIRST
from megaland_env.arrays import Floats
from megaland_env.cards import (
    BUILDING_COINS,
    BUILDING_COSTS,
    BUILDING_JUMPS,
    HALL_COINS,
    HOTEL_COINS,
    MAX_HEARTS,
    NUM_BUILDINGS,
    NUM_TREASURES,
    SMITHY_COINS,
    STAR_BUILDINGS,
    START_HEARTS,
    TOLL_COINS,
    WINNING_COINS,
    Building,
)
from megaland_env.engine import piles as words
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.buy import wild_rights

# Positions in ``numbers``.
INCOME = 0
HEART_INCOME = INCOME + NUM_BUILDINGS
DISCOUNTS = HEART_INCOME + MAX_HEARTS - START_HEARTS
PACE, TOKEN, STORE, BOLDNESS, SMOOTH, SPITE = range(DISCOUNTS + LAYERS, DISCOUNTS + LAYERS + 6)

# Positions in ``values``. ``BEST``, ``SECOND`` and what follows have an entry for each cost, from 0.
BUILDING = 0
BEST = BUILDING + NUM_BUILDINGS
SECOND = BEST + NUM_TREASURES + 1
SPEND = SECOND + NUM_TREASURES + 1
SPEND_WITHOUT = SPEND + NUM_TREASURES + 1
WILD = SPEND_WITHOUT + NUM_TREASURES + 1
DISCOUNT = WILD + NUM_TREASURES
NIGHTS, HEART, HEART_COST, STORED = range(DISCOUNT + LAYERS, DISCOUNT + LAYERS + 4)
assert STORED < ROOM_FOR_VALUES

NO_COST = 0
_0, _1, _2 = float32(0), float32(1), float32(2)
_NIGHTS = np.array(valuation.NIGHTS_LEFT, np.float32)
_NOTHING = valuation.NOTHING
_HALL_COINS, _TOLL_COINS, _SMITHY_COINS = float32(HALL_COINS), float32(TOLL_COINS), float32(SMITHY_COINS)
_HOTEL_COINS = float32(HOTEL_COINS)
_NUM_STARS = len(STAR_BUILDINGS)
_BIT = np.uint64(1)
# Added to a pile, these bring a byte to its top bit where there are more cards than so many.
_MORE_THAN = np.array([int(words.BELOW_TOPS) - number * int(words.ONES) for number in range(LAYERS)], np.uint64)
_TOPS, _ONES, _7, _56 = (np.uint64(n) for n in (words.TOPS, words.ONES, 7, 56))


@compiled
def evaluate(memory: Memory, game: int, seat: int, numbers: Floats, values: Floats) -> None:
    """Write the values for a seat: all of ``values`` but ``SPEND_WITHOUT``."""
    most_coins = 0
    for other in range(memory.num_players):
        most_coins = max(most_coins, memory.coins[other, game])
    nights = _NIGHTS[min(most_coins, WINNING_COINS)] * numbers[PACE]
    later = max(nights - _1, _0)
    values[NIGHTS] = nights
    for cost in range(NUM_TREASURES + 1):
        values[BEST + cost] = _NOTHING
        values[SECOND + cost] = _NOTHING
    for building in range(NUM_BUILDINGS):
        worth = _worth(memory, game, seat, building, numbers, nights, later)
        values[BUILDING + building] = worth
        cost = as_int(BUILDING_COSTS[building])
        if worth > values[BEST + cost]:
            values[SECOND + cost] = values[BEST + cost]
            values[BEST + cost] = worth
        elif worth > values[SECOND + cost]:
            values[SECOND + cost] = worth

    hearts = memory.max_hearts[seat, game]
    values[HEART_COST] = np.float32(valuation.HEART_COST[hearts])
    if hearts >= MAX_HEARTS or memory.heart_supply[game] == 0:
        values[HEART] = _NOTHING
    else:
        hotels = np.float32(memory.buildings[Building.HOTEL, seat, game])
        values[HEART] = numbers[HEART_INCOME + hearts - START_HEARTS] * later + hotels * _HOTEL_COINS

    owns_any = np.float32(memory.num_buildings[seat, game] > 0)
    values[STORED] = numbers[STORE] * min(later, _1) * owns_any
    for layer in range(LAYERS):
        values[DISCOUNT + layer] = numbers[DISCOUNTS + layer]
    for treasure in range(NUM_TREASURES):
        values[WILD + treasure] = np.float32(wild_rights(memory, game, seat, treasure))
    knapsack(values, SPEND, NO_COST)


@compiled
def _worth(
    memory: Memory, game: int, seat: int, building: int, numbers: Floats, nights: np.float32, later: np.float32
) -> np.float32:
    """The value of buying a building now; ``NOTHING`` where it is not on sale."""
    bought = memory.bought[game] >> np.uint64(BUY_FIRST + building) & _BIT
    if bought or memory.building_supply[building, game] == 0:
        return _NOTHING
    worth = nights if valuation.PAYS_TONIGHT[building] else later
    worth = worth * numbers[INCOME + building]
    worth += np.float32(BUILDING_COINS[building])
    if BUILDING_JUMPS[building] > 0:
        worth += _2 * numbers[TOKEN] * min(later, _1)
    if building >= _NUM_STARS:
        worth += np.float32(memory.buildings[Building.HALL_OF_ELDERS, seat, game]) * _HALL_COINS
    else:
        worth += np.float32(memory.buildings[Building.TOLL_BOOTH, seat, game]) * _TOLL_COINS
    if valuation.IS_SMITHED[building]:
        worth += np.float32(memory.buildings[Building.SMITHY, seat, game]) * _SMITHY_COINS
    if (building == Building.SOAP_MAKERS or building == Building.OSTRICH_RANCH) and memory.buildings[
        building, seat, game
    ] > 0:  # a second copy has no effect (C8, B3)
        worth *= _0
    return worth


@compiled
def knapsack(values: Floats, spend: int, without: int) -> None:
    """Write the values of the best purchases with 0 to 6 different treasures.

    Args:
        values: the values.
        spend: the position to write to.
        without: a cost of which the best building has been bought already, or ``NO_COST``.
    """
    values[spend] = _0
    for different in range(1, NUM_TREASURES + 1):
        most = values[spend + different - 1] + values[STORED]
        for cost in range(1, different + 1):
            best = values[SECOND + cost] if cost == without else values[BEST + cost]
            most = max(most, values[spend + different - cost] + best)
        values[spend + different] = most


@compiled
def hand(values: Floats, spend: int, pile: np.uint64, heart: bool) -> np.float32:
    """The value of a hand, with the purchases at ``spend``, and with a heart if that is allowed and better."""
    first = num_types(pile, 0)
    second, third, fourth = num_types(pile, 1), num_types(pile, 2), num_types(pile, 3)
    wild = first
    for treasure in range(NUM_TREASURES):
        rights = as_int(values[WILD + treasure])
        if rights > 0:
            wild += max(min(piles.count(pile, treasure) - 1, rights), 0)
    wild = min(wild, NUM_TREASURES)
    worth = _of_layers(values, spend, wild, second, third, fourth)
    if not heart:
        return worth
    most = 0
    for treasure in range(NUM_TREASURES):
        most = max(most, piles.count(pile, treasure))
    left = most - as_int(values[HEART_COST])
    if left < 0:
        return worth
    wild -= as_int(left <= 0 and most > 0)
    second -= as_int(left <= 1 and most > 1)
    third -= as_int(left <= 2 and most > 2)
    fourth -= as_int(left <= 3 and most > 3)
    with_heart = _of_layers(values, spend, wild, second, third, fourth) + values[HEART]
    return max(worth, with_heart)


@compiled
def _of_layers(values: Floats, spend: int, first: int, second: int, third: int, fourth: int) -> np.float32:
    worth = values[spend + max(first, 0)]
    worth += values[DISCOUNT + 1] * values[spend + max(second, 0)]
    worth += values[DISCOUNT + 2] * values[spend + max(third, 0)]
    worth += values[DISCOUNT + 3] * values[spend + max(fourth, 0)]
    return worth


@compiled
def num_types(pile: np.uint64, cards: int) -> int:
    """The number of types of which there are more than so many cards."""
    held = ((pile + _MORE_THAN[cards]) & _TOPS) >> _7
    return as_int((held * _ONES) >> _56)


@compiled
def hand_unspent(values: Floats, pile: np.uint64) -> float:
    """The value of a hand from which nothing is spent, in float64 as in the NumPy code."""
    return np.float64(piles.size(pile)) * np.float64(values[STORED])
