"""Declares the features of the observation: their order, names, meaning and scaling.

The observation contains only public facts. The vector has the same length at every table. It begins with one section
for each of five seats: first the deciding seat, then the others clockwise, with zeros where nobody sits. A few numbers
derived for the deciding player follow, and then the table. ``FEATURES`` names every index, and ``features_table``
explains them. Both are made from the declaration below, which ``encode.py`` follows.

Some public facts are left out:

- facts that follow from others: jump tokens of a seat above 7 (there are 14 in all, and the number in the supply is
  exact), picks left above 10 (only storing needs so many, and their number follows from the buildings owned), the
  winners, and whether the game was cut off (both follow from the coins at the end);
- facts that no longer matter: the order of the level cards except the last one, and the number of decisions so far;
- the configuration, such as the maximum number of rounds;
- numbers above a bound: coins above 40, rounds above 50, and copies of a building above 5, for which a game needs more
  cards than the printed one has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.cards import (
    BUILDING_COSTS,
    HEART_SUPPLY,
    JUMP_SUPPLY,
    MAX_HEARTS,
    MAX_PLAYERS,
    MIN_PLAYERS,
    NORMAL_COPIES,
    NUM_TREASURES,
    START_HEARTS,
    TREASURE_COPIES,
    Building,
    LevelCard,
    Treasure,
)
from megaland_env.decisions import View
from megaland_env.scales import Scale

FEATURES_VERSION = 1
"""Version of the layout. It changes with the place or the meaning of any feature: a network fits one version only."""

COINS_BOUND = 40
LEAD_BOUND = 20
JUMPS_BOUND = 7  # half of all tokens
PICKS_BOUND = 10
CARDS_BOUND = 16
ROUND_BOUND = 50
COPIES_BOUND = 5
DEAREST = int(BUILDING_COSTS.max())

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[Any]


# ------------------------------------------------------------------------------ how numbers are scaled


FLAG = Scale("0 or 1")
CHANCE = Scale("unchanged")
TURN = Scale("1 bought, -1 being paid for, 0 neither")
IN_PILE = Scale("n / all copies of it", TREASURE_COPIES)
# A hand has few treasures of a type; the difference between none, one and two matters more than between ten and eleven.
IN_HAND = Scale("√(n / all copies of it)", TREASURE_COPIES, root=True)
SUPPLY = Scale(f"min(n, {COPIES_BOUND}) / {COPIES_BOUND}; -1 if not in this game's market", (COPIES_BOUND,))
COPIES = Scale(f"min(n, {COPIES_BOUND}) / {COPIES_BOUND}", (COPIES_BOUND,))
LEAD = Scale(f"n / {LEAD_BOUND}, cut off at -1 and 1", (LEAD_BOUND,), cut=True)


def _part_of(whole: int) -> Scale:
    return Scale(f"n / {whole}", (whole,))


def _up_to(bound: int) -> Scale:
    return Scale(f"min(n, {bound}) / {bound}", (bound,), cut=True)


# ------------------------------------------------------------------------------ the declaration


@dataclass(frozen=True)
class Block:
    """Declaration of one feature, or of several consecutive ones with the same meaning and scaling.

    Attributes:
        name: name of the feature; if there are ``items``, the name of each feature is this name, a dot and the item.
        meaning: explanation for the documentation.
        scale: converts the numbers that ``read`` returns to features.
        read: takes the numbers from the view: an array with the features on the first axis, ([items,] [P,] M), or one
            number for all rows.
        items: what the features are about, such as the six treasures; empty for a single feature.
    """

    name: str
    meaning: str
    scale: Scale
    read: Callable[[View], Numbers | int]
    items: tuple[str, ...] = ()


def _names(members: type[IntEnum]) -> tuple[str, ...]:
    return tuple(member.name.lower() for member in members)


TREASURES = _names(Treasure)
LEVEL_CARDS = _names(LevelCard)
BUILDINGS = _names(Building)
KINDS = _names(Kind)

_EACH_TREASURE, _EACH_LEVEL_CARD, _EACH_BUILDING, _EACH_KIND = (
    np.arange(len(names), dtype=np.int8)[:, None] for names in (TREASURES, LEVEL_CARDS, BUILDINGS, KINDS)
)
# Operations with these are faster as arrays than as Python numbers.
_1, _COPIES_BOUND = np.array(1, np.int8), np.array(COPIES_BOUND, np.int8)


def _copies(counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Clip the numbers at the bound. They almost never exceed it, and to check that takes a tenth of the time."""
    return np.minimum(counts, COPIES_BOUND) if counts.max(initial=0) > COPIES_BOUND else counts


# The features of each seat; every ``read`` returns ([items,] P, M).
SEAT_BLOCKS = (
    Block("present", "a player sits here", FLAG, lambda view: 1),
    Block("active", "must decide now", FLAG, lambda view: view.active.T),
    Block("in_level", "is in the level", FLAG, lambda view: view.in_level.T),
    Block("jumping", "has declared a jump for the card that is being resolved", FLAG, lambda view: view.jumping.T),
    Block("falling", "fell on the card that is being resolved", FLAG, lambda view: view.falling.T),
    Block("first_player", "holds the first-player token", FLAG, lambda view: view.first_player.T),
    Block("buyer", "is taking a turn in the buy phase", FLAG, lambda view: view.buyer.T),
    Block("fall_chance", "probability of falling on the next level card", CHANCE, lambda view: view.fall_chance.T),
    Block("jump_fall_chance", "the same when jumping over it", CHANCE, lambda view: view.jump_fall_chance.T),
    Block("coins", "coins", _up_to(COINS_BOUND), lambda view: view.coins.T),
    Block("hearts", "hearts not yet lost in this level", _part_of(MAX_HEARTS), lambda view: view.hearts.T),
    Block("max_hearts", "hearts owned", _part_of(MAX_HEARTS), lambda view: view.max_hearts.T),
    Block("jumps", "jump tokens", _up_to(JUMPS_BOUND), lambda view: view.jumps.T),
    Block(
        "picks_left",
        "treasures still to pick (huts, stables, storing)",
        _up_to(PICKS_BOUND),
        lambda view: view.picks_left.T,
    ),
    Block("fish_used", "wild fish used this round", _part_of(NORMAL_COPIES), lambda view: view.fish_used.T),
    Block("carrots_used", "wild carrots used this round", _part_of(NORMAL_COPIES), lambda view: view.carrots_used.T),
    Block("carried", "treasures carried in the level", IN_HAND, lambda view: view.carried.T, TREASURES),
    Block("home", "treasures at home", IN_HAND, lambda view: view.home.T, TREASURES),
    Block("picked", "treasures picked so far, counted in the hand too", IN_PILE, lambda view: view.picked.T, TREASURES),
    Block("buildings", "copies owned", COPIES, lambda view: _copies(view.buildings.T), BUILDINGS),
)


def _lead(view: View) -> npt.NDArray[np.int16]:
    coins = view.coins.T
    lead: npt.NDArray[np.int16] = coins[0] - np.maximum.reduce(coins[1:], axis=0)
    return lead


def _total(counts: Numbers) -> npt.NDArray[np.uint8]:
    """(M,): the sum of (k, M) counts or flags."""
    total: npt.NDArray[np.uint8] = np.add.reduce(counts, axis=0, dtype=np.uint8)
    return total


def _types(counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(M,): the number of the six counts (6, M) that are not 0."""
    return _total(counts.astype(np.bool_))


def _on_shelf(view: View) -> npt.NDArray[np.int8]:
    """(23, M): copies left, or minus the bound, which is scaled to -1, for a building that is not in the market."""
    shelf: npt.NDArray[np.int8] = view.on_offer.T.view(np.int8) - _1
    shelf *= _COPIES_BOUND
    shelf += _copies(view.supply.T).view(np.int8)
    return shelf


def _turn(view: View) -> npt.NDArray[np.int8]:
    """(23, M): 1 if bought this turn, -1 if being paid for; a building cannot be both, so one number is enough."""
    paid_for = view.buying.T == _EACH_BUILDING
    turn: npt.NDArray[np.int8] = view.bought.T.view(np.int8) - paid_for.view(np.int8)
    return turn


# Every ``read`` returns ([items,] M). The features named "self" here can be derived from others, but a network would
# first have to learn how.
OTHER_BLOCKS = (
    Block("self.lead", "own coins minus the most coins of any other player", LEAD, _lead),
    Block("self.cards.carried", "treasures carried", _up_to(CARDS_BOUND), lambda view: _total(view.carried.T[:, 0])),
    Block("self.cards.home", "treasures at home", _up_to(CARDS_BOUND), lambda view: _total(view.home.T[:, 0])),
    Block(
        "self.types.home",
        "different treasures at home",
        _part_of(NUM_TREASURES),
        lambda view: _types(view.home.T[:, 0]),
    ),
    Block(
        "self.types.both",
        "different treasures carried or at home",
        _part_of(NUM_TREASURES),
        lambda view: _types(view.carried.T[:, 0] | view.home.T[:, 0]),
    ),
    Block("table.players", "seats at the table", _part_of(MAX_PLAYERS), lambda view: view.coins.shape[1]),
    Block("table.round", "the round, from 1", _up_to(ROUND_BOUND), lambda view: view.round),
    Block(
        "table.heart_supply",
        "heart tokens left",
        _part_of(HEART_SUPPLY - START_HEARTS * MIN_PLAYERS),
        lambda view: view.heart_supply,
    ),
    Block("table.jump_supply", "jump tokens left", _part_of(JUMP_SUPPLY), lambda view: view.jump_supply),
    Block("table.cost", "treasures that the purchase costs", _part_of(DEAREST), lambda view: view.cost),
    Block("table.deck", "treasures left in the deck", IN_PILE, lambda view: view.deck.T, TREASURES),
    Block("table.discard", "treasures on the discard pile", IN_PILE, lambda view: view.discard.T, TREASURES),
    Block("table.supply", "copies left", SUPPLY, _on_shelf, BUILDINGS),
    Block("table.paid", "treasures paid so far for the purchase", IN_PILE, lambda view: view.paid.T, TREASURES),
    Block("table.turn", "buildings bought this turn, and the one being paid for", TURN, _turn, BUILDINGS),
    Block(
        "table.heart_treasure",
        "the treasure named as the price of a heart",
        FLAG,
        lambda view: view.heart_treasure == _EACH_TREASURE,
        TREASURES,
    ),
    Block("table.unseen", "level cards still to come in this round", FLAG, lambda view: view.unseen.T, LEVEL_CARDS),
    Block(
        "table.level_card",
        "the last level card revealed in this level",
        FLAG,
        lambda view: view.level_card == _EACH_LEVEL_CARD,
        LEVEL_CARDS,
    ),
    Block("kind", "the decision that the game waits for", FLAG, lambda view: view.kind == _EACH_KIND, KINDS),
)


# --------------------------------------------------------------------------------- indices and names


@dataclass(frozen=True)
class Placed:
    """A block and the index of its first feature."""

    block: Block
    start: int

    @property
    def stop(self) -> int:
        """The index after its last feature."""
        return self.start + max(1, len(self.block.items))

    @property
    def names(self) -> list[str]:
        """Names of the features of the block."""
        return [f"{self.block.name}.{item}" for item in self.block.items] or [self.block.name]

    @property
    def treatment(self) -> tuple[bool, bool, bool]:
        """How the block is scaled. Neighbours with equal values are scaled in one operation, which saves calls."""
        return bool(self.block.scale.divisor), self.block.scale.root, bool(self.block.items)


def _place(blocks: Sequence[Block], start: int = 0) -> list[Placed]:
    """Give each block its index, one after the other."""
    placed: list[Placed] = []
    for block in blocks:
        placed.append(Placed(block, placed[-1].stop if placed else start))
    return placed


SEATS = ("self", *(f"left{k}" for k in range(1, MAX_PLAYERS)))
IN_SEAT = _place(SEAT_BLOCKS)
SEAT_WIDTH = IN_SEAT[-1].stop
AFTER_SEATS = len(SEATS) * SEAT_WIDTH
OTHERS = _place(OTHER_BLOCKS, AFTER_SEATS)

FEATURES: tuple[str, ...] = (
    *(f"{seat}.{name}" for seat in SEATS for placed in IN_SEAT for name in placed.names),
    *(name for placed in OTHERS for name in placed.names),
)
"""(D,) names, such as ``"self.coins"``, ``"left1.carried.egg"``, ``"table.unseen.bats"`` and ``"kind.run"``."""

NUM_FEATURES = len(FEATURES)
"""Number of features (D)."""


def features_table() -> str:
    """Table of all features in Markdown: index, name, meaning and scaling, where n is the number before scaling."""

    def line(start: int, stop: int, name: str, meaning: str, scaling: str) -> str:
        index = start if stop == start + 1 else f"{start}-{stop - 1}"
        return f"| {index} | `{name}` | {meaning} | {scaling} |"

    def block_line(placed: Placed, prefix: str = "") -> str:
        block = placed.block
        name = prefix + (f"{block.name}.{{{', '.join(block.items)}}}" if block.items else block.name)
        return line(placed.start, placed.stop, name, block.meaning, block.scale.text)

    lines = ["| index | name | meaning | scaling |", "|---|---|---|---|"]
    lines += [block_line(placed, "self.") for placed in IN_SEAT]
    for k, seat in enumerate(SEATS[1:], start=1):
        meaning = f"the same for the player {k} seat{'s' if k > 1 else ''} to the left; all 0 if there is none"
        lines.append(line(k * SEAT_WIDTH, (k + 1) * SEAT_WIDTH, f"{seat}.…", meaning, "as for `self`"))
    lines += [block_line(placed) for placed in OTHERS]
    return "\n".join(lines) + "\n"
