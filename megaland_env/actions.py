"""The flat list of 40 actions, the kinds of decision, and names for both.

The list is the same for all configurations and numbers of players, so one policy can play any game.
"""

from __future__ import annotations

from enum import IntEnum

from megaland_env.cards import Building, Treasure

_NAMES = (
    "PASS",
    "STAY",
    "LEAVE",
    "JUMP",
    "TRADE",
    *(f"BUY_{building.name}" for building in Building),
    *(f"HEART_{treasure.name}" for treasure in Treasure),
    *(f"TREASURE_{treasure.name}" for treasure in Treasure),
)

# In the functional form, so that the names of buildings and treasures stand in one place (cards.py).
Action = IntEnum("Action", [(name, index) for index, name in enumerate(_NAMES)])  # type: ignore[misc]
Action.__doc__ = "One of the 40 actions: ``Action(7).name`` is a name, ``Action['JUMP']`` a number."

NUM_ACTIONS = len(_NAMES)

PASS, STAY, LEAVE, JUMP, TRADE = range(5)
BUY_FIRST = 5
HEART_FIRST = BUY_FIRST + len(Building)
TREASURE_FIRST = HEART_FIRST + len(Treasure)


class Kind(IntEnum):
    """Kind of decision that a game waits for; ``NONE`` if the game is over."""

    NONE = 0
    JUMP = 1  # L2
    HERB_HUT = 2  # L7
    RABBIT = 3  # L8
    RUN = 4  # L9
    REPTILE = 5  # L10
    BUY = 6  # B1
    PAY = 7  # B2 to B4
    STORE = 8  # N2

    @property
    def label(self) -> str:
        """The name of the kind in lower case, such as ``"herb_hut"``."""
        return self.name.lower()


NUM_KINDS = len(Kind)


def buy(building: Building) -> int:
    """Return the number of the action that buys ``building``."""
    return BUY_FIRST + building


def heart(treasure: Treasure) -> int:
    """Return the number of the action that buys a heart with treasures of one type (B4)."""
    return HEART_FIRST + treasure


def pick(treasure: Treasure) -> int:
    """Return the number of the action that pays, keeps or swaps one ``treasure``."""
    return TREASURE_FIRST + treasure


def action_name(action: int) -> str:
    """Return the name of an action: ``action_name(1) == "STAY"``.

    Raises:
        ValueError: ``action`` is not in 0..39.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"action {action!r} is not one of 0..{NUM_ACTIONS - 1}")
    return _NAMES[action]
