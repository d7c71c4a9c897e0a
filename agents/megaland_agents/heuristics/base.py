"""``HeuristicAgent``: the base class of agents that follow simple rules, with the decisions that they have in common.

Each kind of decision is answered for all rows of that kind at once. Subclasses differ in what they buy and in how they
run the level (``RiskAgent``: by the probability of falling), and may override any other answer. None of them uses
randomness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_agents.compiled.program import Code, as_limit, decide
from megaland_env import Building, Decisions, Kind
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY, TRADE, TREASURE_FIRST
from megaland_env.cards import BUILDING_COINS, NUM_BUILDINGS, NUM_TREASURES, TREASURE_COPIES
from megaland_env.checks import is_integer, is_number

Actions = npt.NDArray[np.uint8]

COINS_PER_ROUND: dict[Building, float] = {
    Building.ARCADE: 0.3,  # 2 coins, in the rare rounds in which its owner is strictly last
    Building.BAZAAR_OF_ODDITIES: 0.6,  # 1 coin, if its owner comes home with 5 treasures
    Building.HOTEL: 0.5,  # 2 coins per heart, but few are bought
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
"""Coins per round that one copy brings its owner: printed, or a rough estimate; 0 for buildings not listed."""

LASTING_COINS = np.array([COINS_PER_ROUND.get(building, 0.0) for building in Building], np.float32)
"""(23,) ``COINS_PER_ROUND`` of all buildings, in the order of C6."""

# Of two treasures held equally often, the commoner one is given away and the rarer one kept. Rank 0 is the rarest.
COMMONNESS = np.argsort(np.argsort(TREASURE_COPIES, kind="stable"), kind="stable").astype(np.int16)
_NEVER = np.int16(-32_000)
TREASURES = slice(TREASURE_FIRST, TREASURE_FIRST + NUM_TREASURES)
HEARTS = slice(HEART_FIRST, HEART_FIRST + NUM_TREASURES)
BUILDINGS = slice(BUY_FIRST, BUY_FIRST + NUM_BUILDINGS)
"""Positions of these actions in a row of ``decisions.legal``."""


class HeuristicAgent(ABC):
    """Agent with one rule for each kind of decision; a subclass defines how it runs, jumps and buys.

    - *Rabbit*: always trades; three carrots are the least valuable treasures that can be carried.
    - *Pay*: with the type held most; of equals, the commoner one.
    - *Keep* (Herb Hut, storing): one of each type before a second of any, the rarer type first.
    - *Reptile Stable*: swaps a treasure held at least twice, chosen as in *pay*; passes if there is none.
    """

    def __init__(self) -> None:
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

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent; ``None`` if it cannot, as for most subclasses."""
        return None

    def act(self, decisions: Decisions) -> Actions:
        """(M,) actions."""
        code = self.compiled()
        chosen = decide(code, decisions) if code else None
        return self._act(decisions) if chosen is None else chosen

    def _act(self, decisions: Decisions) -> Actions:
        actions = np.full(len(decisions), PASS, np.uint8)
        kinds = decisions.kind
        for kind in np.flatnonzero(np.bincount(kinds)):
            if kind == Kind.NONE:
                continue
            rows = np.flatnonzero(kinds == kind)
            whole = rows.size == kinds.size
            actions[rows] = self._answers[int(kind)](decisions if whole else decisions[rows])
        return actions

    # Each of these methods takes m decisions of one kind and returns (m,) actions.

    @abstractmethod
    def _run(self, decisions: Decisions) -> Actions: ...

    @abstractmethod
    def _jump(self, decisions: Decisions) -> Actions: ...

    @abstractmethod
    def _buy(self, decisions: Decisions) -> Actions: ...

    def _rabbit(self, decisions: Decisions) -> Actions:
        return np.full(len(decisions), TRADE, np.uint8)

    def _pay(self, decisions: Decisions) -> Actions:
        return as_actions(most_held(decisions.view.home[:, 0], decisions.legal[:, TREASURES]))

    def _reptile(self, decisions: Decisions) -> Actions:
        home = decisions.view.home[:, 0]
        plenty = home > 1
        return np.where(plenty.any(axis=1), as_actions(most_held(home, plenty)), PASS).astype(np.uint8)

    def _keep(self, decisions: Decisions) -> Actions:
        kept = decisions.view.picked[:, 0]
        return as_actions(most_held(-kept.astype(np.int16), decisions.legal[:, TREASURES], common_first=False))


class RiskAgent(HeuristicAgent):
    """Agent that runs the level by the probability of falling on the next card.

    - *Stay or leave*: leaves if the probability is above ``risk``.
    - *Jump*: if the probability without a jump is above ``jump_risk`` and a jump lowers it.

    Args:
        risk: the highest probability of falling at which it stays.
        jump_risk: the highest probability of falling at which it saves its jump token.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, risk: float, jump_risk: float) -> None:
        super().__init__()
        check_chance("risk", risk)
        check_chance("jump_risk", jump_risk)
        self.risk = risk
        self.jump_risk = jump_risk

    def _code(self, agent: int, worth: npt.NDArray[np.float32], *own: float) -> Code:
        """What compiled code needs: the number of the agent, its values of buildings, and its own parameters."""
        parameters = np.array([as_limit(self.risk), as_limit(self.jump_risk), *own], np.float64)
        return Code(agent, parameters, worth.reshape(-1))

    def _run(self, decisions: Decisions) -> Actions:
        return np.where(decisions.view.fall_chance[:, 0] > self.risk, LEAVE, STAY).astype(np.uint8)

    def _jump(self, decisions: Decisions) -> Actions:
        view = decisions.view
        falls = view.fall_chance[:, 0]
        jumps = (falls > self.jump_risk) & (view.jump_fall_chance[:, 0] < falls)
        return np.where(jumps, JUMP, PASS).astype(np.uint8)


def building_worth(horizon: int) -> npt.NDArray[np.float32]:
    """(horizon + 1, 23) values of the buildings in rounds 0 to ``horizon``, in coins; later rounds use the last row.

    The value is the immediate coins plus ``COINS_PER_ROUND`` for each round left until round ``horizon``.
    """
    rounds_left = np.arange(horizon, -1, -1)[:, None]
    return (BUILDING_COINS + LASTING_COINS * rounds_left).astype(np.float32)


def best_building(
    decisions: Decisions, worth: npt.NDArray[np.float32], allowed: npt.NDArray[np.bool_] | bool = True
) -> Actions:
    """(m,) actions that buy the most valuable building, PASS where no building can be bought.

    Args:
        decisions: m decisions of kind BUY.
        worth: (m, 23) values of the buildings; ties go to the building that comes first in the rules.
        allowed: (23,) or (m, 23) buildings to choose from.
    """
    legal = decisions.legal[:, BUILDINGS] & allowed
    best = np.where(legal, worth, -1).argmax(axis=1) + BUY_FIRST
    return np.where(legal.any(axis=1), best, PASS).astype(np.uint8)


def best_heart(decisions: Decisions) -> Actions:
    """(m,) actions that buy a heart with the treasure held most, PASS where no heart can be bought."""
    legal = decisions.legal[:, HEARTS]
    best = most_held(decisions.view.home[:, 0], legal) + HEART_FIRST
    return np.where(legal.any(axis=1), best, PASS).astype(np.uint8)


def most_held(
    held: npt.NDArray[Any], allowed: npt.NDArray[np.bool_], common_first: bool = True
) -> npt.NDArray[np.int64]:
    """(m,) the type held most (m, 6) among the allowed ones (m, 6); ties go to the commonest, or to the rarest."""
    rank = COMMONNESS if common_first else NUM_TREASURES - 1 - COMMONNESS
    order = held.astype(np.int16) * NUM_TREASURES + rank
    chosen: npt.NDArray[np.int64] = np.where(allowed, order, _NEVER).argmax(axis=1)
    return chosen


def check_chance(name: str, value: float) -> None:
    """Check that a parameter is a probability.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    if not (is_number(value) and 0 <= value <= 1):
        raise ValueError(f"{name} is {value!r}; it must be a probability from 0 to 1")


def check_number(name: str, value: int, of_what: str, least: int = 0) -> None:
    """Check that a parameter is an integer that is not too small.

    Args:
        name: the name of the parameter.
        value: its value.
        of_what: the things that it counts, such as ``"coins"``; used in the message.
        least: the smallest value allowed.

    Raises:
        ValueError: it is not an integer of at least ``least``.
    """
    if not (is_integer(value) and value >= least):
        raise ValueError(f"{name} is {value!r}; it must be a number of {of_what}, {least} or more")


def as_actions(treasures: npt.NDArray[np.int64]) -> Actions:
    """(m,) the actions that pay, keep or swap these treasures."""
    return (treasures + TREASURE_FIRST).astype(np.uint8)
