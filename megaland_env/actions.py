"""The flat list of 40 actions, the kinds of decision, and names for both.

The list is the same for every configuration and player count, so one policy serves every table.
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

# Written with the functional form so that the buildings and treasures are named in one place (cards.py).
Action = IntEnum("Action", [(name, index) for index, name in enumerate(_NAMES)])  # type: ignore[misc]
Action.__doc__ = "One of the 40 actions. ``Action(7).name`` gives its name, ``Action['JUMP']`` its number."

NUM_ACTIONS = len(_NAMES)

PASS, STAY, LEAVE, JUMP, TRADE = range(5)
BUY_FIRST = 5
HEART_FIRST = BUY_FIRST + len(Building)
TREASURE_FIRST = HEART_FIRST + len(Treasure)


class Kind(IntEnum):
    """What kind of decision a game waits for (``NONE``: the game is over)."""

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
        """The kind in lower case: ``"herb_hut"``."""
        return self.name.lower()


NUM_KINDS = len(Kind)


def buy(building: Building) -> int:
    """The number of the action that buys ``building``."""
    return BUY_FIRST + building


def heart(treasure: Treasure) -> int:
    """The number of the action that buys a heart with treasures of one type (B4)."""
    return HEART_FIRST + treasure


def pick(treasure: Treasure) -> int:
    """The number of the action that pays, keeps or swaps one ``treasure``."""
    return TREASURE_FIRST + treasure


def action_name(action: int) -> str:
    """The name of an action number: ``action_name(1) == "STAY"``.

    Raises:
        ValueError: ``action`` is not in 0..39.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"action {action!r} is not one of 0..{NUM_ACTIONS - 1}")
    return _NAMES[action]
