"""What all heuristic agents have in common (``heuristics/base.py``), for one decision."""

from __future__ import annotations

import numpy as np

from megaland_agents.heuristics.base import COMMONNESS
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY, TREASURE_FIRST
from megaland_env.arrays import Doubles, Floats
from megaland_env.cards import NUM_BUILDINGS, NUM_TREASURES
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.odds import fall_chance_of

ALL_BUILDINGS = (1 << NUM_BUILDINGS) - 1
_ALL_TREASURES = np.uint64((1 << NUM_TREASURES) - 1)
_ALL_BUILDINGS = np.uint64(ALL_BUILDINGS)
_TREASURE_FIRST, _HEART_FIRST, _BUY_FIRST = (np.uint64(first) for first in (TREASURE_FIRST, HEART_FIRST, BUY_FIRST))
_NEVER = -32_000
RISK, JUMP_RISK, OWN = range(3)
"""Positions in the parameters of a ``RiskAgent``; ``OWN`` is the first of a subclass."""


@compiled
def legal_treasures(memory: Memory, game: int, seat: int) -> int:
    """The treasures that the seat may pay, keep or swap: bit i for treasure i."""
    return as_int((memory.legal[seat, game] >> _TREASURE_FIRST) & _ALL_TREASURES)


@compiled
def legal_hearts(memory: Memory, game: int, seat: int) -> int:
    """The treasures with which the seat may buy a heart."""
    return as_int((memory.legal[seat, game] >> _HEART_FIRST) & _ALL_TREASURES)


@compiled
def legal_buildings(memory: Memory, game: int, seat: int) -> int:
    """The buildings that the seat may buy: bit b for building b."""
    return as_int((memory.legal[seat, game] >> _BUY_FIRST) & _ALL_BUILDINGS)


@compiled
def most_held(pile: np.uint64, allowed: int) -> int:
    """The type held most among the allowed ones; ties go to the commonest."""
    best = 0
    most = _NEVER
    for treasure in range(NUM_TREASURES):
        if allowed >> treasure & 1:
            order = piles.count(pile, treasure) * NUM_TREASURES + as_int(COMMONNESS[treasure])
            if order > most:
                best = treasure
                most = order
    return best


@compiled
def least_held(pile: np.uint64, allowed: int) -> int:
    """The type held least among the allowed ones; ties go to the rarest."""
    best = 0
    most = _NEVER
    for treasure in range(NUM_TREASURES):
        if allowed >> treasure & 1:
            rank = NUM_TREASURES - 1 - as_int(COMMONNESS[treasure])
            order = rank - piles.count(pile, treasure) * NUM_TREASURES
            if order > most:
                best = treasure
                most = order
    return best


@compiled
def best_building(memory: Memory, game: int, seat: int, worth: Floats, row: int, allowed: int) -> int:
    """The action that buys the most valuable of the allowed buildings, PASS if none can be bought.

    Args:
        memory: the batch.
        game: the game.
        seat: the seat.
        worth: (rows * 23,) values of the buildings.
        row: the row that counts.
        allowed: the buildings to choose from, bit b for building b.
    """
    legal = legal_buildings(memory, game, seat) & allowed
    best = PASS
    most = np.float32(-1)
    for building in range(NUM_BUILDINGS):
        if legal >> building & 1:
            value = worth[row * NUM_BUILDINGS + building]
            if value > most:
                best = BUY_FIRST + building
                most = value
    return best


@compiled
def best_heart(memory: Memory, game: int, seat: int) -> int:
    """The action that buys a heart with the treasure held most, PASS if none can be bought."""
    legal = legal_hearts(memory, game, seat)
    return HEART_FIRST + most_held(memory.home[seat, game], legal) if legal else PASS


@compiled
def row_of_round(memory: Memory, game: int, worth: Floats) -> int:
    """The row of ``building_worth`` for the round."""
    return min(memory.round[game], len(worth) // NUM_BUILDINGS - 1)


@compiled
def pay(memory: Memory, game: int, seat: int) -> int:
    """Pay with the type held most."""
    return TREASURE_FIRST + most_held(memory.home[seat, game], legal_treasures(memory, game, seat))


@compiled
def reptile(memory: Memory, game: int, seat: int) -> int:
    """Swap the type held most, if it is held twice."""
    home = memory.home[seat, game]
    plenty = 0
    for treasure in range(NUM_TREASURES):
        if piles.count(home, treasure) > 1:
            plenty |= 1 << treasure
    return TREASURE_FIRST + most_held(home, plenty) if plenty else PASS


@compiled
def keep(memory: Memory, game: int, seat: int) -> int:
    """Keep the type kept least so far."""
    return TREASURE_FIRST + least_held(memory.picked[seat, game], legal_treasures(memory, game, seat))


@compiled
def run_by_risk(memory: Memory, game: int, seat: int, parameters: Doubles) -> int:
    """Leave if the probability of falling is above ``risk``."""
    return LEAVE if fall_chance_of(memory, game, seat, 0) > parameters[RISK] else STAY


@compiled
def jump_by_risk(memory: Memory, game: int, seat: int, parameters: Doubles) -> int:
    """Jump if the probability of falling without it is above ``jump_risk``, and less with it."""
    falls = fall_chance_of(memory, game, seat, 0)
    if falls > parameters[JUMP_RISK] and fall_chance_of(memory, game, seat, 1) < falls:
        return JUMP
    return PASS
