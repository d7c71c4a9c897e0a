"""Tables of the components: treasures, level cards and buildings (rules C1 to C7).

Each set of components is an ``IntEnum`` in the order of the rules, so that a member is a name, an index into the state
arrays, and an index into the tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class Treasure(IntEnum):
    """The six treasures of C2."""

    GEAR = 0
    STONE = 1
    EGG = 2
    CARROT = 3
    CRYSTAL = 4
    FISH = 5

    @property
    def label(self) -> str:
        """Name of the treasure as in the rules, such as ``"egg"``."""
        return self.name.lower()


class LevelCard(IntEnum):
    """The ten level cards of C3."""

    CLOUDS = 0
    SPIRES = 1
    GREEN_MESA = 2
    TREASURE_BOX = 3
    FLOATING_EYE = 4
    RABBIT = 5
    SLUDGE_CREATURE = 6
    BATS = 7
    BITING_PLANT = 8
    RED_SERPENT = 9

    @property
    def label(self) -> str:
        """Name of the card as in the rules, such as ``"Green Mesa"``."""
        return _title(self.name)


class Building(IntEnum):
    """The 23 buildings of C6: six stars, then seventeen normal ones."""

    SANDWICH_STAND = 0
    CAFE = 1
    ARCADE = 2
    BAZAAR_OF_ODDITIES = 3
    HOTEL = 4
    TEMPLE_OF_ZOZ = 5
    HERB_HUT = 6
    REPTILE_STABLE = 7
    GYM = 8
    HOSPITAL = 9
    OSTRICH_RANCH = 10
    BOWLING_ALLEY = 11
    FISH_VENDOR = 12
    SMITHY = 13
    FISHING_POND = 14
    SOAP_MAKERS = 15
    HALL_OF_ELDERS = 16
    TOLL_BOOTH = 17
    LABORATORY = 18
    LODGE = 19
    ROOT_MARKET = 20
    ARENA = 21
    ENDLESS_MINE = 22

    @property
    def label(self) -> str:
        """Name of the building as in the rules, such as ``"Hall of Elders"``."""
        return _title(self.name)


def _title(name: str) -> str:
    return name.replace("_", " ").title().replace(" Of ", " of ")


@dataclass(frozen=True)
class LevelCardFacts:
    """One row of C3."""

    skulls: int
    jump_symbol: bool


@dataclass(frozen=True)
class BuildingFacts:
    """One row of C6: the cost, and the coins and jump tokens that the buyer gains once."""

    cost: int
    coins: int = 0
    jumps: int = 0


NUM_TREASURES = len(Treasure)
NUM_LEVEL_CARDS = len(LevelCard)
NUM_BUILDINGS = len(Building)

MIN_PLAYERS, MAX_PLAYERS = 2, 5  # C1

TREASURE_COPIES = (6, 20, 16, 30, 10, 14)  # C2
TREASURES_IN_ALL = sum(TREASURE_COPIES)

LEVEL_CARDS: dict[LevelCard, LevelCardFacts] = {  # C3
    LevelCard.CLOUDS: LevelCardFacts(0, False),
    LevelCard.SPIRES: LevelCardFacts(0, False),
    LevelCard.GREEN_MESA: LevelCardFacts(0, False),
    LevelCard.TREASURE_BOX: LevelCardFacts(0, False),
    LevelCard.FLOATING_EYE: LevelCardFacts(1, False),
    LevelCard.RABBIT: LevelCardFacts(1, True),
    LevelCard.SLUDGE_CREATURE: LevelCardFacts(1, True),
    LevelCard.BATS: LevelCardFacts(2, False),
    LevelCard.BITING_PLANT: LevelCardFacts(2, True),
    LevelCard.RED_SERPENT: LevelCardFacts(3, True),
}

START_HEARTS = 4  # C4
MAX_HEARTS = 8
HEART_SUPPLY = 32  # all heart tokens, including those dealt at the start
HEART_COSTS = {5: 2, 6: 3, 7: 4, 8: 5}  # number of the heart -> matching treasures
JUMP_SUPPLY = 14  # C5

BUILDINGS: dict[Building, BuildingFacts] = {  # C6
    Building.SANDWICH_STAND: BuildingFacts(1, coins=1),
    Building.CAFE: BuildingFacts(2, coins=2),
    Building.ARCADE: BuildingFacts(3, coins=3),
    Building.BAZAAR_OF_ODDITIES: BuildingFacts(4, coins=4),
    Building.HOTEL: BuildingFacts(5, coins=5),
    Building.TEMPLE_OF_ZOZ: BuildingFacts(6, coins=7),
    Building.HERB_HUT: BuildingFacts(1),
    Building.REPTILE_STABLE: BuildingFacts(1),
    Building.GYM: BuildingFacts(2, coins=1, jumps=2),
    Building.HOSPITAL: BuildingFacts(2),
    Building.OSTRICH_RANCH: BuildingFacts(2),
    Building.BOWLING_ALLEY: BuildingFacts(3),
    Building.FISH_VENDOR: BuildingFacts(3, coins=2),
    Building.SMITHY: BuildingFacts(3),
    Building.FISHING_POND: BuildingFacts(3),
    Building.SOAP_MAKERS: BuildingFacts(3),
    Building.HALL_OF_ELDERS: BuildingFacts(3),
    Building.TOLL_BOOTH: BuildingFacts(3),
    Building.LABORATORY: BuildingFacts(3, coins=3),
    Building.LODGE: BuildingFacts(4),
    Building.ROOT_MARKET: BuildingFacts(4, coins=4),
    Building.ARENA: BuildingFacts(5, coins=6, jumps=2),
    Building.ENDLESS_MINE: BuildingFacts(5),
}

STAR_BUILDINGS = tuple(Building)[:6]
NORMAL_BUILDINGS = tuple(Building)[6:]
STAR_COPIES = (5, 5, 5, 5, 4, 4)  # C7
NORMAL_COPIES = 4
MARKET_SIZE = 7  # types of normal buildings on offer in a game

# Coins per copy, and the rule that pays them.
ARCADE_COINS = 2  # B7
BAZAAR_COINS = 1  # L9
BAZAAR_TREASURES = 5  # L9: fewest carried treasures with which the Bazaar pays
HOTEL_COINS = 2  # B6
TEMPLE_COINS = 2  # L4
HOSPITAL_COINS = 2  # L7
SMITHY_COINS = 3  # B6
SMITHY_COSTS = (4, 5)  # B6: no other costs
HALL_COINS = 1  # B6
TOLL_COINS = 1  # B6
MOON_COINS = {Building.BOWLING_ALLEY: 1, Building.LODGE: 2, Building.ENDLESS_MINE: 3}  # N3

RABBIT_CARROTS = 3  # L8: the number of carrots discarded, and of treasures drawn
WINNING_COINS = 20  # N5

SKULLS = np.array([LEVEL_CARDS[card].skulls for card in LevelCard], dtype=np.uint8)
JUMP_SYMBOLS = np.array([LEVEL_CARDS[card].jump_symbol for card in LevelCard], dtype=np.bool_)
BUILDING_COSTS = np.array([BUILDINGS[building].cost for building in Building], dtype=np.uint8)
BUILDING_COINS = np.array([BUILDINGS[building].coins for building in Building], dtype=np.int16)
BUILDING_JUMPS = np.array([BUILDINGS[building].jumps for building in Building], dtype=np.uint8)
