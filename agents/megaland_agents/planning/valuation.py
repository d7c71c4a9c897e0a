"""Values of buildings, hearts and hands of treasures in the course of a game, in coins, as ``planner`` uses them.

All arrays have the rows last (..., M), the memory layout of the arrays of a view.

**Nights left** until the game ends follow from the coins of the richest player (``NIGHTS_LEFT``, measured).

**A building** is worth its immediate coins (including those of Halls, Toll Booths and Smithies that the buyer owns,
B6), and an income for each night or later round left. **A heart** is worth an income for each later round, and the
coins of Hotels.

**A hand** is worth the best purchases that can be made with it. A building of cost k takes k treasures of different
types (B2). A hand is therefore split into *layers*: one of each type held, one of each type held at least twice, and so
on. ``spend[d]``, the best purchase with d different treasures, is a knapsack over the costs. The values of the layers
are added, the later ones at a discount, since a turn buys a building only once (B1). A heart takes several
treasures of one type, and so one treasure from each of several layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import Building, Decisions, View
from megaland_env.cards import (
    BUILDING_COINS,
    BUILDING_COSTS,
    BUILDING_JUMPS,
    HALL_COINS,
    HEART_COSTS,
    HOTEL_COINS,
    MAX_HEARTS,
    MOON_COINS,
    NORMAL_BUILDINGS,
    NUM_BUILDINGS,
    NUM_TREASURES,
    SMITHY_COINS,
    SMITHY_COSTS,
    STAR_BUILDINGS,
    START_HEARTS,
    TOLL_COINS,
    WINNING_COINS,
    Treasure,
)

Floats = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int8]

NIGHTS_LEFT = (
    6.2,
    5.2,
    4.7,
    4.35,
    4.0,
    3.7,
    3.4,
    3.15,
    2.9,
    2.7,
    2.5,
    2.28,
    2.06,
    1.85,
    1.63,
    1.46,
    1.29,
    1.2,
    1.11,
    1.05,
    1.0,
)
"""(21,) nights until the end, this one included, by the coins of the richest player, 0 to 20. Measured in 16,000 games
of ``threshold`` agents in steps of two coins, and interpolated. The number of players makes a difference of less than
0.3 nights."""

INCOME: dict[Building, float] = {
    Building.SANDWICH_STAND: 0.0,
    Building.CAFE: 0.0,
    Building.ARCADE: 0.60,
    Building.BAZAAR_OF_ODDITIES: 0.41,
    Building.HOTEL: 0.38,
    Building.TEMPLE_OF_ZOZ: 0.97,
    Building.HERB_HUT: 0.91,
    Building.REPTILE_STABLE: 0.23,
    Building.GYM: 0.67,
    Building.HOSPITAL: 0.58,
    Building.OSTRICH_RANCH: 0.35,
    Building.BOWLING_ALLEY: 0.88,
    Building.FISH_VENDOR: 0.49,
    Building.SMITHY: 1.60,
    Building.FISHING_POND: 0.98,
    Building.SOAP_MAKERS: 0.37,
    Building.HALL_OF_ELDERS: 0.55,
    Building.TOLL_BOOTH: 1.39,
    Building.LABORATORY: 0.27,
    Building.LODGE: 4.03,
    Building.ROOT_MARKET: 0.55,
    Building.ARENA: 1.13,
    Building.ENDLESS_MINE: 6.52,
}
"""Income of a copy, in coins: per night (Bowling Alley, Lodge, Endless Mine, Fishing Pond) or per later round."""

HEART_INCOME = (1.62, 2.16, 0.30, 0.40)
"""Income of the 5th, 6th, 7th and 8th heart per later round, in coins."""

MOST_TOKEN_WORTH = 4.0
MOST = 100.0  # bound of the other numbers, far above reasonable values
LAYERS = 4  # hands with more than four of a type are rare when buying, and a fifth layer adds little
_COSTS = range(1, NUM_TREASURES + 1)
_OF_COST = [np.flatnonzero(cost == BUILDING_COSTS) for cost in _COSTS]
PAYS_TONIGHT = np.isin(np.arange(NUM_BUILDINGS), [*MOON_COINS, Building.FISHING_POND])
_IS_STAR = np.isin(np.arange(NUM_BUILDINGS), STAR_BUILDINGS)
_IS_NORMAL = np.isin(np.arange(NUM_BUILDINGS), NORMAL_BUILDINGS)
IS_SMITHED = np.isin(BUILDING_COSTS, SMITHY_COSTS)
HEART_COST = np.array([HEART_COSTS.get(heart + 1, 99) for heart in range(MAX_HEARTS + 1)], np.int8)
_NIGHTS = np.array(NIGHTS_LEFT, np.float32)
NOTHING = np.float32(-1e6)  # value of a purchase that is not possible
_ANY_NUMBER = 100  # wild eggs are not limited


Number = float | npt.NDArray[np.float32]


@dataclass(frozen=True)
class Numbers:
    """Parameters of the values and plans, tuned by simulation (experiments/megaland_experiments/tuning/tune.py).

    Each parameter may also be an array with a value for each row: (M,), or (23, M) for ``income`` and (4, M) for
    ``heart_income``.

    Attributes:
        income: (23,) coins per copy, like ``INCOME``.
        heart_income: (4,) coins, like ``HEART_INCOME``.
        pace: factor by which ``NIGHTS_LEFT`` is multiplied.
        token: value of a jump token, in coins.
        discount: factor on the value of each further layer.
        store: value of a stored treasure, in coins.
        boldness: factor on the limit of treasures carried above which it leaves; 1 plays the solution of the run.
        smooth: degree of smoothing of the values of hands, from 0 (none) to 1 (all treasures are worth the same).
        spite: cost of a coin that a fall brings the owner of a neighbouring Hospital, in coins.

    Raises:
        ValueError: a sequence has the wrong length, or a number is out of range.
    """

    income: Sequence[float] | npt.NDArray[np.float32] = tuple(INCOME[building] for building in Building)
    heart_income: Sequence[float] | npt.NDArray[np.float32] = HEART_INCOME
    pace: Number = 0.98
    token: Number = 0.48
    discount: Number = 0.75
    store: Number = 1.04
    boldness: Number = 1.20
    smooth: Number = 0.60
    spite: Number = 0.15

    def __post_init__(self) -> None:
        for name, wanted in (("income", NUM_BUILDINGS), ("heart_income", MAX_HEARTS - START_HEARTS)):
            if len(getattr(self, name)) != wanted:
                raise ValueError(f"{name} has {len(getattr(self, name))} numbers; it must have {wanted}")
        for name, highest in (
            ("pace", MOST),
            ("token", MOST_TOKEN_WORTH),
            ("discount", 1),
            ("store", MOST),
            ("boldness", MOST),
            ("smooth", 1),
            ("spite", MOST),
        ):
            number = np.asarray(getattr(self, name))
            if not (number.dtype.kind in "iuf" and (number >= 0).all() and (number <= highest).all()):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be from 0 to {highest}")

    def flat(self) -> Floats | None:
        """(38,) the parameters as compiled code takes them (compiled/valuation.py); ``None`` if rows have their own."""
        parts = [
            _floats(part)
            for part in (
                self.income,
                self.heart_income,
                discounts(self.discount),
                self.pace,
                self.token,
                self.store,
                self.boldness,
                self.smooth,
                self.spite,
            )
        ]
        if max(part.ndim for part in parts[:3]) > 1 or max(part.ndim for part in parts[3:]) > 0:
            return None
        return np.concatenate([part.reshape(-1) for part in parts])


class Valuation:
    """Values of buildings, hearts and hands for the deciding seat of each row, in coins.

    Attributes:
        nights: (M,) nights left, this one included.
        building: (23, M) value of buying each building now; a large negative number where it is not on sale.
        heart: (M,) value of the next heart; a large negative number where none is on sale.
        heart_cost: (M,) matching treasures that the next heart costs.
        spend: (7, M) value of the best purchase with 0 to 6 different treasures.
    """

    def __init__(self, decisions: Decisions, numbers: Numbers) -> None:
        view = decisions.view
        own = view.buildings.T[:, 0]  # (23, M)
        self.nights = _NIGHTS.take(np.minimum(view.coins.max(axis=1), WINNING_COINS)) * _floats(numbers.pace)
        later = np.maximum(self.nights - 1, 0)

        worth = np.where(PAYS_TONIGHT[:, None], self.nights, later)
        worth *= _floats(numbers.income).reshape(NUM_BUILDINGS, -1)
        worth += BUILDING_COINS[:, None].astype(np.float32)
        worth[BUILDING_JUMPS > 0] += 2 * _floats(numbers.token) * np.minimum(later, 1)
        worth[_IS_NORMAL] += own[Building.HALL_OF_ELDERS] * np.float32(HALL_COINS)
        worth[_IS_STAR] += own[Building.TOLL_BOOTH] * np.float32(TOLL_COINS)
        worth[IS_SMITHED] += own[Building.SMITHY] * np.float32(SMITHY_COINS)
        for once in (Building.SOAP_MAKERS, Building.OSTRICH_RANCH):  # a second copy has no effect (C8, B3)
            worth[once] *= own[once] == 0
        on_sale = (view.supply.T > 0) & ~view.bought.T
        self.building = np.where(on_sale, worth, NOTHING)

        hearts = view.max_hearts.T[0]
        self.heart_cost = HEART_COST.take(hearts)
        income = np.broadcast_to(
            _floats(numbers.heart_income).reshape(MAX_HEARTS - START_HEARTS, -1),
            (MAX_HEARTS - START_HEARTS, later.size),
        )
        next_heart = np.minimum(hearts, MAX_HEARTS - 1) - START_HEARTS
        self.heart = income[next_heart, np.arange(later.size)] * later
        self.heart += own[Building.HOTEL] * np.float32(HOTEL_COINS)
        self.heart[(hearts >= MAX_HEARTS) | (view.heart_supply == 0)] = NOTHING

        # A treasure that is not spent can be stored if there is a building to store it in (N2).
        self._stored = _floats(numbers.store) * np.minimum(later, 1) * (own.sum(axis=0) > 0)
        best, second = [], []
        for of_cost in _OF_COST:
            ranked = np.sort(self.building[of_cost], axis=0)
            best.append(ranked[-1])
            second.append(ranked[-2] if len(ranked) > 1 else np.full_like(ranked[-1], NOTHING))
        self._best, self._second = best, second
        self.spend = self._knapsack(best)
        self._discounts = discounts(numbers.discount)
        self._wild = _wild_rights(view, own)
        self._rows = np.arange(len(decisions))

    def _knapsack(self, best: list[Floats]) -> Floats:
        spend = np.zeros((NUM_TREASURES + 1, best[0].size), np.float32)
        for different in _COSTS:
            most = spend[different - 1] + self._stored
            for cost in range(1, different + 1):
                most = np.maximum(most, spend[different - cost] + best[cost - 1])
            spend[different] = most
        return spend

    def hand(self, hand: Counts, spend: Floats | None = None, heart: bool = True) -> Floats:
        """(M,) values of hands (6, M), from which buildings, and with ``heart`` a heart, can be bought."""
        spend = self.spend if spend is None else spend
        layers = self._layers(hand)
        worth = self._of_layers(layers, spend)
        if not heart:
            return worth
        most = hand.max(axis=0)
        left = most - self.heart_cost
        thinner = [layer - ((left <= depth) & (most > depth)) for depth, layer in enumerate(layers)]
        with_heart = self._of_layers(thinner, spend) + self.heart
        better: Floats = np.where(left >= 0, np.maximum(worth, with_heart), worth)
        return better

    def _of_layers(self, layers: list[npt.NDArray[Any]], spend: Floats) -> Floats:
        flat, width = spend.reshape(-1), self._rows.size
        worth: Floats = flat.take(np.maximum(layers[0], 0) * width + self._rows)
        for depth in range(1, LAYERS):
            worth += self._discounts[depth] * flat.take(np.maximum(layers[depth], 0) * width + self._rows)
        return worth

    def hand_unspent(self, hand: Counts) -> Floats:
        """(M,) values of the treasures that are stored when no treasure of the hands (6, M) is spent."""
        stored: Floats = hand.sum(axis=0) * self._stored
        return stored

    def spend_without(self, cost: int) -> Floats:
        """(7, M) ``spend`` if the best building of a cost can no longer be bought."""
        without = list(self._best)
        without[cost - 1] = self._second[cost - 1]
        return self._knapsack(without)

    def _layers(self, hand: Counts) -> list[npt.NDArray[Any]]:
        """Arrays (M,): number of types held at least once, twice, ...; a spare wild card adds 1 to the first (B3)."""
        layers: list[npt.NDArray[Any]] = [(hand > depth).sum(axis=0, dtype=np.int64) for depth in range(LAYERS)]
        for treasure, rights in self._wild:
            layers[0] += np.clip(hand[treasure] - 1, 0, rights)
        if self._wild:
            np.minimum(layers[0], NUM_TREASURES, out=layers[0])
        return layers


def _wild_rights(view: View, own: npt.NDArray[np.uint8]) -> list[tuple[Treasure, npt.NDArray[np.int8]]]:
    """(M,) number of wild treasures left this round, for each type that is wild in some row (B3)."""
    rights = (
        (Treasure.EGG, np.where(own[Building.OSTRICH_RANCH] > 0, _ANY_NUMBER, 0)),
        (Treasure.FISH, own[Building.FISH_VENDOR] - view.fish_used.T[0]),
        (Treasure.CARROT, own[Building.ROOT_MARKET] - view.carrots_used.T[0]),
    )
    return [(treasure, number.astype(np.int8)) for treasure, number in rights if number.any()]


def discounts(discount: Number) -> list[Any]:
    """The factor on the value of each layer."""
    return [_floats(discount) ** layer for layer in range(LAYERS)]


def _floats(numbers: Any) -> Floats:
    return np.asarray(numbers, np.float32)
