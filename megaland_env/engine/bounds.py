"""An upper bound on the coins of a seat, by which restored states are checked."""

from __future__ import annotations

from collections.abc import Sequence

from megaland_env.cards import (
    ARCADE_COINS,
    BAZAAR_COINS,
    BUILDINGS,
    HALL_COINS,
    HOSPITAL_COINS,
    HOTEL_COINS,
    MAX_HEARTS,
    MOON_COINS,
    SMITHY_COINS,
    SMITHY_COSTS,
    STAR_BUILDINGS,
    START_HEARTS,
    TEMPLE_COINS,
    TOLL_COINS,
    WINNING_COINS,
    Building,
)


def most_coins(copies: Sequence[int], num_players: int) -> int:
    """An upper bound on the coins of a seat at any time of a game.

    At the start of a round no player has more than 19 coins, since with 20 the game would have ended (N5). To these the
    round adds at most what it would pay a player who owned every copy of every building on offer:

    - *Level*: 2 for each Temple of Zoz, since each level card is revealed once a round (L3, L4); 1 for each Bazaar,
      since every player returns home at most once a round (L9, L11); 2 for each Hospital and neighbour, since every
      player falls at most once a round, and with two players there is one neighbour (L7).
    - *Buy phase*: a turn buys each type at most once (B1). Each pays its own coins (C6); 3 for each Smithy if it costs
      4 or 5; 1 for each Hall of Elders if it is a normal building, or for each Toll Booth if it is a star building
      (B6). Each Hotel pays 2 for a heart bought (B6), of which there can be 4 (C4).
    - *End of the buy phase*: 2 for each Arcade (B7).
    - *Night*: 1 for each Bowling Alley, 2 for each Lodge and 3 for each Endless Mine (N3).

    Args:
        copies: (23,) the cards of each building in the game, in the order of C6; 0 for those not on offer.
        num_players: number of players (P).
    """
    most = WINNING_COINS - 1
    most += TEMPLE_COINS * copies[Building.TEMPLE_OF_ZOZ]
    most += BAZAAR_COINS * copies[Building.BAZAAR_OF_ODDITIES]
    most += HOSPITAL_COINS * copies[Building.HOSPITAL] * min(2, num_players - 1)
    for building in (building for building in Building if copies[building]):
        facts = BUILDINGS[building]
        guild = (
            (Building.TOLL_BOOTH, TOLL_COINS) if building in STAR_BUILDINGS else (Building.HALL_OF_ELDERS, HALL_COINS)
        )
        most += facts.coins + copies[guild[0]] * guild[1]
        if facts.cost in SMITHY_COSTS:
            most += SMITHY_COINS * copies[Building.SMITHY]
    most += HOTEL_COINS * copies[Building.HOTEL] * (MAX_HEARTS - START_HEARTS)
    most += ARCADE_COINS * copies[Building.ARCADE]
    return most + sum(coins * copies[building] for building, coins in MOON_COINS.items())
