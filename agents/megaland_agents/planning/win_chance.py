"""Who is likely to win: a rough estimate from what is on the table at the start of a round.

Each seat has a *strength*, a weighted sum of what it has, and wins with a chance in proportion to ``exp(strength)``: a
conditional logit model (McFadden 1974). The weights are those that fit best to who won 48,000 games of 2 to 5 players,
between planners and plain agents. ``python -m megaland_experiments.tuning.fit_win_chance`` fits them again, to other
games: most weights then move by a few hundredths, those of buildings that are rarely bought by up to 25. Coins weigh
more the nearer somebody is to the end. All else weighs the same throughout: what it will still bring becomes less as
the weight of a coin becomes more. Weights of their own for four players gain 0.004 in the mean log-likelihood, which is
-1.00 there, where equal chances have -1.39.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_env import Building, View
from megaland_env.cards import START_HEARTS, WINNING_COINS

# The strength of one of each, in hundredths; an integer sum is the same in any batch.
COIN = 7
COIN_AT_THE_END = 60  # so much more when somebody has 20 coins, and in proportion before
HEART = 93  # each one more than at the start
TREASURE = 13  # at home
TREASURE_TYPE = 49  # each type at home
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
"""Beside the coins at once, which are counted as coins."""

TWO_PLAYERS = 0.74  # between two, the difference in strength counts for less

_BUILDINGS = np.array([BUILDINGS[building] for building in Building], np.int16)


def win_chances(view: View) -> npt.NDArray[np.float64]:
    """(M, P) the chance of each seat to win, the deciding one first; they sum to 1."""
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
