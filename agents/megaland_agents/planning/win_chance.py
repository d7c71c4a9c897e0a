"""Win probabilities: a rough estimate from the state at the start of a round.

Each seat has a *strength*, a weighted sum of its possessions, and its probability of winning is proportional to
``exp(strength)``: a conditional logit model (McFadden 1974). The weights were fitted to the winners of 48,000 games of
2 to 5 players, between planners and simple agents. ``python -m megaland_experiments.tuning.fit_win_chance`` fits them
again, to other games: most weights then change by a few hundredths, those of rarely bought buildings by up to 25. The
weight of a coin grows as the richest player approaches 20 coins. The other weights are constant: as the end comes
nearer a possession still brings less, but a coin weighs more. Separate weights for four players improve the mean
log-likelihood by 0.004; it is -1.00 there, and -1.39 for equal probabilities.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_env import Building, View
from megaland_env.cards import START_HEARTS, WINNING_COINS

# Strength of one of each, in hundredths. Sums of integers are exact, so the result is the same in any batch.
COIN = 7
COIN_AT_THE_END = 60  # added to COIN when the richest player has 20 coins, proportionally less before
HEART = 93  # beyond those at the start
TREASURE = 13  # at home
TREASURE_TYPE = 49  # per different type at home
JUMP = 37
BUILDINGS: dict[Building, int] = {
    Building.SANDWICH_STAND: -10,
    Building.CAFE: -12,
    Building.ARCADE: 13,
    Building.BAZAAR_OF_ODDITIES: 18,
    Building.HOTEL: -22,
    Building.TEMPLE_OF_ZOZ: 46,
    Building.HERB_HUT: 29,
    Building.REPTILE_STABLE: 6,
    Building.GYM: -1,
    Building.HOSPITAL: 80,
    Building.OSTRICH_RANCH: 0,
    Building.BOWLING_ALLEY: 87,
    Building.FISH_VENDOR: 2,
    Building.SMITHY: 91,
    Building.FISHING_POND: 42,
    Building.SOAP_MAKERS: 31,
    Building.HALL_OF_ELDERS: 12,
    Building.TOLL_BOOTH: 76,
    Building.LABORATORY: 9,
    Building.LODGE: 184,
    Building.ROOT_MARKET: 20,
    Building.ARENA: -4,
    Building.ENDLESS_MINE: 273,
}
"""Strength of a copy of each building, without its immediate coins, which count as coins."""

TWO_PLAYERS = 0.74  # with two players, a difference in strength matters less

_BUILDINGS = np.array([BUILDINGS[building] for building in Building], np.int16)


def win_chances(view: View) -> npt.NDArray[np.float64]:
    """(M, P) probability of each seat to win, the deciding seat first; each row sums to 1."""
    coins, home = view.coins, view.home
    strength = view.buildings.astype(np.int16) @ _BUILDINGS
    strength += HEART * (view.max_hearts.astype(np.int16) - START_HEARTS)
    strength += TREASURE * home.sum(axis=2, dtype=np.int16)
    strength += TREASURE_TYPE * np.count_nonzero(home, axis=2).astype(np.int16)
    strength += JUMP * view.jumps.astype(np.int16)
    progress = coins.max(axis=1, keepdims=True) / WINNING_COINS
    hundredths = strength + coins * (COIN + COIN_AT_THE_END * progress)
    if view.coins.shape[1] == 2:
        hundredths *= TWO_PLAYERS
    odds = np.exp((hundredths - hundredths.max(axis=1, keepdims=True)) / 100)
    chances: npt.NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
    return chances
