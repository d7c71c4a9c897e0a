"""The decisions of ``PlannerAgent`` (``planning/planner.py``), one at a time."""

from __future__ import annotations

import numpy as np

from megaland_agents.compiled import valuation
from megaland_agents.compiled.arrays import float32
from megaland_agents.compiled.base import legal_buildings, legal_hearts, most_held
from megaland_agents.compiled.valuation import (
    BOLDNESS,
    BUILDING,
    HEART,
    HEART_COST,
    NIGHTS,
    SMOOTH,
    SPEND,
    SPEND_WITHOUT,
    SPITE,
    hand,
    hand_unspent,
    knapsack,
    num_types,
)
from megaland_agents.planning.run_limits import KEYS, MOST_COPIES, MOST_TOKENS
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY
from megaland_env.arrays import Doubles, Floats
from megaland_env.cards import (
    BAZAAR_COINS,
    BAZAAR_TREASURES,
    BUILDING_COSTS,
    HOSPITAL_COINS,
    MAX_HEARTS,
    NUM_BUILDINGS,
    NUM_TREASURES,
    RABBIT_CARROTS,
    Building,
    Treasure,
)
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.flow import left_of, seat_after

_0, _1, _4 = float32(0), float32(1), float32(4)
_LEAST_DRAW, _LAST_NIGHT = float32(1e-3), float32(1.5)
_HOSPITAL_COINS = float32(HOSPITAL_COINS)
_ONES = np.array([sum(1 << 8 * byte for byte in range(number)) for number in range(NUM_TREASURES + 1)], np.uint64)
_, _KEYS_TEMPLES, _KEYS_BAZAARS, _KEYS_CARROTS, _KEYS_TOKEN = KEYS


@compiled
def run(carried: np.float32, limit: np.float32, numbers: Floats) -> int:
    """Stay while less than the limit of the solution is carried."""
    return STAY if carried < limit * numbers[BOLDNESS] else LEAVE


@compiled
def jump(carried: np.float32, limit: np.float32) -> int:
    """Jump if more than the limit of the solution is carried."""
    return JUMP if carried > limit else PASS


@compiled
def buy(memory: Memory, game: int, seat: int, numbers: Floats, values: Floats) -> int:
    """The first purchase of the best plan for the hand."""
    valuation.evaluate(memory, game, seat, numbers, values)
    home = memory.home[seat, game]
    falling = _falling(home)
    legal = legal_buildings(memory, game, seat)
    best = hand_unspent(values, home)
    choice = PASS
    for cost in range(NUM_TREASURES, 0, -1):  # ties go to the more expensive purchase
        first = -1
        for building in range(NUM_BUILDINGS):
            if (
                as_int(BUILDING_COSTS[building]) == cost
                and legal >> building & 1
                and (first < 0 or values[BUILDING + building] > values[BUILDING + first])
            ):
                first = building
        if first >= 0:
            paid = falling - _ONES[min(cost, num_types(home, 0))]
            knapsack(values, SPEND_WITHOUT, cost)
            plan = np.float64(values[BUILDING + first] + hand(values, SPEND_WITHOUT, paid, True))
            if plan > best:
                best = plan
                choice = BUY_FIRST + first
    hearts = legal_hearts(memory, game, seat)
    if hearts:
        treasure = most_held(home, hearts)
        number = min(piles.count(home, treasure), as_int(values[HEART_COST]))
        paid = home - piles.cards(treasure, number)
        if np.float64(values[HEART] + hand(values, SPEND, paid, False)) > best:
            choice = HEART_FIRST + treasure
    return choice


@compiled
def _falling(pile: np.uint64) -> np.uint64:
    """The counts of a pile in descending order, the order of paying."""
    falling = piles.EMPTY
    left = (1 << NUM_TREASURES) - 1
    for place in range(NUM_TREASURES):
        largest = 0
        most = -1
        for treasure in range(NUM_TREASURES):
            if left >> treasure & 1 and piles.count(pile, treasure) > most:
                largest = treasure
                most = piles.count(pile, treasure)
        left &= ~(1 << largest)
        falling |= piles.cards(place, most)
    return falling


@compiled
def value_carried(memory: Memory, game: int, seat: int, numbers: Floats, values: Floats) -> np.float32:
    """The value lost by a fall, in draws of average value: ``_Situation.carried``. It writes ``values``."""
    valuation.evaluate(memory, game, seat, numbers, values)
    home = memory.home[seat, game]
    brought = memory.carried[seat, game]
    carried = np.float32(piles.size(brought))
    usual = values[SPEND + 4] / _4
    smooth = numbers[SMOOTH]
    rough = _1 - smooth
    now = hand(values, SPEND, home + brought, True)
    gain = rough * (now - hand(values, SPEND, home, True)) + smooth * usual * carried
    if carried >= BAZAAR_TREASURES:
        gain += np.float32(BAZAAR_COINS * memory.buildings[Building.BAZAAR_OF_ODDITIES, seat, game])
    draw = rough * _worth_of_a_draw(memory, game, values, home + brought, now) + smooth * usual
    draw = max(draw, _LEAST_DRAW)

    huts = np.float32(memory.buildings[Building.HERB_HUT, seat, game])
    spared = min(huts, carried) * gain / max(carried, _1)  # L7
    spared += np.float32(memory.buildings[Building.LABORATORY, seat, game]) * draw
    hospitals = numbers[SPITE] * _HOSPITAL_COINS * np.float32(_neighbours_hospitals(memory, game, seat))
    return (gain - spared + hospitals) / draw


@compiled
def _worth_of_a_draw(memory: Memory, game: int, values: Floats, pile: np.uint64, now: np.float32) -> np.float32:
    """The mean value that one more treasure adds to a hand whose value is ``now`` (D1)."""
    deck = memory.deck[game]
    if not deck:
        deck = memory.discard[game]
    total = _0
    for treasure in range(NUM_TREASURES):
        more = hand(values, SPEND, pile + piles.cards(treasure, 1), True) - now
        total += np.float32(piles.count(deck, treasure)) * more
    return total / np.float32(max(piles.size(deck), 1))


@compiled
def _neighbours_hospitals(memory: Memory, game: int, seat: int) -> int:
    """The number of Hospitals that pay when the seat falls (L7); with two players there is one neighbour."""
    number = memory.buildings[Building.HOSPITAL, left_of(memory, seat), game]
    if memory.num_players > 2:
        right = seat_after(memory, seat, memory.num_players - 1)
        number += memory.buildings[Building.HOSPITAL, right, game]
    return number


@compiled
def key(memory: Memory, game: int, seat: int, values: Floats, parameters: Doubles) -> int:
    """The number of the solution of the run."""
    soap_makers = min(memory.buildings[Building.SOAP_MAKERS, seat, game], 1)
    temples = min(memory.buildings[Building.TEMPLE_OF_ZOZ, seat, game], MOST_COPIES)
    bazaars = min(memory.buildings[Building.BAZAAR_OF_ODDITIES, seat, game], MOST_COPIES)
    brought = memory.carried[seat, game]
    if piles.size(brought) >= BAZAAR_TREASURES:
        bazaars = 0
    carrots = as_int(piles.count(brought, Treasure.CARROT) >= RABBIT_CARROTS)
    token = 0 if values[NIGHTS] < _LAST_NIGHT else as_int(parameters[0])
    found = soap_makers * _KEYS_TEMPLES + temples
    found = found * _KEYS_BAZAARS + bazaars
    return (found * _KEYS_CARROTS + carrots) * _KEYS_TOKEN + token


@compiled
def position(memory: Memory, game: int, seat: int) -> int:
    """The position in the tables of a solution."""
    tokens = min(memory.jumps[seat, game], MOST_TOKENS)
    return (memory.unseen[game] * (MAX_HEARTS + 1) + memory.hearts[seat, game]) * (MOST_TOKENS + 1) + tokens
