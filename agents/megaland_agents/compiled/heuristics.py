"""How the agents that follow simple rules run, jump, buy, pay and keep (``heuristics/``), for one decision.

``parameters`` and ``worth`` are what ``program.Code`` says.
"""

from __future__ import annotations

from megaland_agents.compiled.base import (
    ALL_BUILDINGS,
    OWN,
    best_building,
    best_heart,
    keep,
    least_held,
    legal_treasures,
    most_held,
    pay,
    row_of_round,
    run_by_risk,
)
from megaland_env.actions import LEAVE, PASS, TREASURE_FIRST, Kind
from megaland_env.arrays import Doubles, Floats
from megaland_env.cards import BUILDING_COSTS, NUM_BUILDINGS
from megaland_env.engine.compiled import piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.odds import fall_chance_of


@compiled
def _early(memory: Memory, game: int, parameters: Doubles) -> bool:
    """Whether hearts come first, by ``heart_rounds``."""
    return memory.round[game] <= parameters[OWN]


@compiled
def buy_heart_or_best(memory: Memory, game: int, seat: int, parameters: Doubles, worth: Floats) -> int:
    """The purchase of ``ThresholdAgent`` and ``HeartsAgent``."""
    building = best_building(memory, game, seat, worth, row_of_round(memory, game, worth), ALL_BUILDINGS)
    heart = best_heart(memory, game, seat)
    if heart != PASS and (_early(memory, game, parameters) or building == PASS):
        return heart
    return building


@compiled
def hearts_pay(memory: Memory, game: int, seat: int, parameters: Doubles) -> int:
    """``HeartsAgent``: pay with the type held least, early in the game."""
    if _early(memory, game, parameters):
        return TREASURE_FIRST + least_held(memory.home[seat, game], legal_treasures(memory, game, seat))
    return pay(memory, game, seat)


@compiled
def hearts_keep(memory: Memory, game: int, seat: int, parameters: Doubles) -> int:
    """``HeartsAgent``: store the type held most, early in the game."""
    if memory.kind[game] == Kind.STORE and _early(memory, game, parameters):
        return TREASURE_FIRST + most_held(memory.home[seat, game], legal_treasures(memory, game, seat))
    return keep(memory, game, seat)


@compiled
def saver_run(memory: Memory, game: int, seat: int, parameters: Doubles) -> int:
    """``SaverAgent``: leave with ``enough`` treasures if the next card can make it fall."""
    if piles.size(memory.carried[seat, game]) >= parameters[OWN] and fall_chance_of(memory, game, seat, 0) > 0:
        return LEAVE
    return run_by_risk(memory, game, seat, parameters)


@compiled
def saver_buy(memory: Memory, game: int, seat: int, parameters: Doubles, worth: Floats) -> int:
    """``SaverAgent``: an expensive building, or what the surplus buys."""
    to_spare = piles.size(memory.home[seat, game]) - memory.num_buildings[seat, game]
    dear = cheap = 0
    for building in range(NUM_BUILDINGS):
        if BUILDING_COSTS[building] >= parameters[OWN + 1]:
            dear |= 1 << building
        if as_int(BUILDING_COSTS[building]) <= to_spare:
            cheap |= 1 << building
    row = row_of_round(memory, game, worth)
    action = best_building(memory, game, seat, worth, row, dear)
    if action == PASS:
        action = best_building(memory, game, seat, worth, row, cheap)
    if action == PASS and to_spare >= memory.max_hearts[seat, game] - 3:  # C4: the 5th costs 2, and so on
        action = best_heart(memory, game, seat)
    return action


@compiled
def builder_buy(memory: Memory, game: int, seat: int, parameters: Doubles, worth: Floats) -> int:
    """``BuilderAgent``: income first, and coins late in the game."""
    most = 0
    for other in range(memory.num_players):
        most = max(most, memory.coins[other, game])
    late = 1 if most >= parameters[OWN] else 0
    building = best_building(memory, game, seat, worth, late, ALL_BUILDINGS)
    return best_heart(memory, game, seat) if building == PASS else building
