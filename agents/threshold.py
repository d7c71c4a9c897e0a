"""``ThresholdAgent``: the player of a few plain rules, and the yardstick for all others.

It leaves the level when the next card is too likely to make it fall, buys whatever is worth most, and pays with what it
has plenty of. It plans nothing and draws no luck.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import Building, Decisions, Kind
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY, TRADE, TREASURE_FIRST
from megaland_env.cards import BUILDING_COINS, NUM_BUILDINGS, NUM_TREASURES, TREASURE_COPIES

Actions = npt.NDArray[np.uint8]

COINS_PER_ROUND: dict[Building, float] = {
    Building.ARCADE: 0.3,  # 2 coins, in the rare rounds in which one is strictly last
    Building.BAZAAR_OF_ODDITIES: 0.6,  # 1 coin, if one comes home with 5 treasures
    Building.HOTEL: 0.5,  # 2 coins a heart, but few are bought
    Building.TEMPLE_OF_ZOZ: 0.8,  # 2 coins; the Red Serpent is met in less than every second level
    Building.HERB_HUT: 0.3,  # a treasure kept when falling
    Building.REPTILE_STABLE: 0.3,  # a better hand
    Building.GYM: 0.3,  # its two jumps
    Building.HOSPITAL: 1.2,  # 2 coins for either neighbour's fall
    Building.OSTRICH_RANCH: 0.2,  # larger purchases
    Building.BOWLING_ALLEY: 1.0,
    Building.FISH_VENDOR: 0.4,  # larger purchases
    Building.SMITHY: 1.5,  # 3 coins for every second round's purchase
    Building.FISHING_POND: 0.8,  # a treasure is worth a little less than a coin
    Building.SOAP_MAKERS: 0.4,  # one skull less, and a treasure
    Building.HALL_OF_ELDERS: 0.6,
    Building.TOLL_BOOTH: 0.8,
    Building.LABORATORY: 0.3,  # a treasure when falling
    Building.LODGE: 2.0,
    Building.ROOT_MARKET: 0.5,  # larger purchases
    Building.ARENA: 0.3,  # its two jumps
    Building.ENDLESS_MINE: 3.0,
}
"""What an owner gains from one copy in a round, in coins: printed, or a rough estimate. Any other building: nothing."""

_LASTING = np.array([COINS_PER_ROUND.get(building, 0.0) for building in Building], np.float32)

# Of two treasures held equally often the commoner one is given away, and the rarer one kept. Ranks from 0, the rarest.
_COMMONNESS = np.argsort(np.argsort(TREASURE_COPIES, kind="stable"), kind="stable").astype(np.int16)
_NEVER = np.int16(-32_000)
_TREASURES = slice(TREASURE_FIRST, TREASURE_FIRST + NUM_TREASURES)
_HEARTS = slice(HEART_FIRST, HEART_FIRST + NUM_TREASURES)
_BUILDINGS = slice(BUY_FIRST, BUY_FIRST + NUM_BUILDINGS)


class ThresholdAgent:
    """Leaves when the risk is too high, and buys the most worth.

    - *Stay or leave*: leaves if the chance to fall on the next card is more than ``risk``. The others do not matter to
      it, nor does how much it carries.
    - *Jump*: if the chance to fall without a jump is more than ``jump_risk``, and less with one.
    - *Rabbit*: always trades; three carrots more are the least of what one can carry.
    - *Buy*: in the first ``heart_rounds`` rounds a heart before all else. Then the building of most worth: its coins at
      once, and ``COINS_PER_ROUND`` for each of the rounds that are left until round ``horizon``; of two alike the one
      that stands first in the rules. When there is no building to buy, a heart; it passes only when there is neither.
    - *Pay*, also which treasure a heart is bought with: of what is held most, the commoner type first.
    - *Keep* (Herb Hut, storing): types that are not yet kept before second ones, the rarer first.
    - *Reptile Stable*: swaps a treasure that is held twice, as in paying; passes if there is none.

    Args:
        risk: the highest chance to fall with which it stays.
        jump_risk: the highest chance to fall with which it saves its jump token.
        heart_rounds: so many rounds begin with buying hearts.
        horizon: the last round for which it expects a building to pay.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, risk: float = 0.35, jump_risk: float = 0.1, heart_rounds: int = 3, horizon: int = 8) -> None:
        for name, chance in (("risk", risk), ("jump_risk", jump_risk)):
            if not 0 <= chance <= 1:
                raise ValueError(f"{name} is {chance!r}; it must be a chance from 0 to 1")
        for name, rounds in (("heart_rounds", heart_rounds), ("horizon", horizon)):
            if not (isinstance(rounds, (int, np.integer)) and rounds >= 0):
                raise ValueError(f"{name} is {rounds!r}; it must be a number of rounds, 0 or more")
        self.risk = risk
        self.jump_risk = jump_risk
        self.heart_rounds = heart_rounds
        self.horizon = horizon
        # (horizon + 1, 23): what each building is worth in each round; later rounds are as the last.
        rounds_left = np.arange(horizon, -1, -1)[:, None]
        self._worth = (BUILDING_COINS + _LASTING * rounds_left).astype(np.float32)
        self._answers: dict[int, Callable[[Decisions], Actions]] = {
            Kind.JUMP: self._jump,
            Kind.HERB_HUT: self._keep,
            Kind.RABBIT: self._rabbit,
            Kind.RUN: self._run,
            Kind.REPTILE: self._reptile,
            Kind.BUY: self._buy,
            Kind.PAY: self._pay,
            Kind.STORE: self._keep,
        }

    def act(self, decisions: Decisions) -> Actions:
        """(M,) actions."""
        actions = np.full(len(decisions), PASS, np.uint8)
        kinds = decisions.kind
        for kind in np.flatnonzero(np.bincount(kinds)):
            if kind == Kind.NONE:
                continue
            rows = np.flatnonzero(kinds == kind)
            whole = rows.size == kinds.size
            actions[rows] = self._answers[int(kind)](decisions if whole else decisions[rows])
        return actions

    # Each of these answers m decisions of one kind with (m,) actions.

    def _run(self, decisions: Decisions) -> Actions:
        return np.where(decisions.view.fall_chance[:, 0] > self.risk, LEAVE, STAY).astype(np.uint8)

    def _jump(self, decisions: Decisions) -> Actions:
        view = decisions.view
        falls = view.fall_chance[:, 0]
        jumps = (falls > self.jump_risk) & (view.jump_fall_chance[:, 0] < falls)
        return np.where(jumps, JUMP, PASS).astype(np.uint8)

    def _rabbit(self, decisions: Decisions) -> Actions:
        return np.full(len(decisions), TRADE, np.uint8)

    def _buy(self, decisions: Decisions) -> Actions:
        view, legal = decisions.view, decisions.legal
        buildings, hearts = legal[:, _BUILDINGS], legal[:, _HEARTS]
        worth = self._worth[np.minimum(view.round, self.horizon)]
        best = np.where(buildings, worth, -1).argmax(axis=1) + BUY_FIRST
        heart = _most_held(view.home[:, 0], hearts) + HEART_FIRST
        any_building, any_heart = buildings.any(axis=1), hearts.any(axis=1)
        heart_first = any_heart & ((view.round <= self.heart_rounds) | ~any_building)
        return np.where(heart_first, heart, np.where(any_building, best, PASS)).astype(np.uint8)

    def _pay(self, decisions: Decisions) -> Actions:
        return _as_actions(_most_held(decisions.view.home[:, 0], decisions.legal[:, _TREASURES]))

    def _reptile(self, decisions: Decisions) -> Actions:
        home = decisions.view.home[:, 0]
        plenty = home > 1
        return np.where(plenty.any(axis=1), _as_actions(_most_held(home, plenty)), PASS).astype(np.uint8)

    def _keep(self, decisions: Decisions) -> Actions:
        kept = decisions.view.picked[:, 0]
        return _as_actions(_most_held(-kept.astype(np.int16), decisions.legal[:, _TREASURES], common_first=False))


def _most_held(
    held: npt.NDArray[Any], allowed: npt.NDArray[np.bool_], common_first: bool = True
) -> npt.NDArray[np.int64]:
    """(m,) of the allowed types (m, 6) the one held most; of equals the commonest, or else the rarest."""
    rank = _COMMONNESS if common_first else NUM_TREASURES - 1 - _COMMONNESS
    order = held.astype(np.int16) * NUM_TREASURES + rank
    chosen: npt.NDArray[np.int64] = np.where(allowed, order, _NEVER).argmax(axis=1)
    return chosen


def _as_actions(treasures: npt.NDArray[np.int64]) -> Actions:
    return (treasures + TREASURE_FIRST).astype(np.uint8)
