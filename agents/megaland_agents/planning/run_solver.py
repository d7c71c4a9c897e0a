"""Exact optimal stopping for a level run: when to leave, and when to jump.

A run is a game against the level deck alone (L1 to L11): the other players change neither the cards nor their effect on
a player. The best play therefore follows from dynamic programming over the set of unseen cards (1,024 subsets of ten
cards), the hearts and jump tokens left, and the value of the treasures carried.

**The model.** The value carried is an integer number of *units*, and the value of a draw in units has a fixed
probability distribution, independent of earlier draws. With one unit per treasure, the value is the number of
treasures, and the model is exact. With treasures of different value it is exact if the value of a treasure does not
depend on the others, and if the treasure deck is so large that a few draws do not change its composition.

**The recursion.** For a set S of unseen cards, h hearts, k tokens and w units carried, from the last card backwards::

    home(w, k)       = w + (bazaar if w >= bazaar_at) + token * k
    fallen(w, k)     = min(kept, w) + consolation + token * k
    met(c, S, h, k, w, jumping)
                     = serpent if c is the Red Serpent (L4, even when falling or jumping)
                       + mean over the draws that c brings (Treasure Box, Soap Makers) of
                         fallen(w', k) if the damage is at least h, else
                         rest(S - c, h - damage, k, w'), after the best of trading or not if c is the Rabbit (L8)
    reveal(..., jumping) = mean over c in S of met(c, ..., jumping)                                             (L3)
    before(S, h, k, w)   = max(reveal(S, h, k, w, no jump), reveal(S, h, k - 1, w, jump) if k > 0)              (L2)
    stay(S, h, k, w)     = mean over the draw for staying of before(S, h, k, w')                                (L9)
    rest(S, h, k, w)     = max(home(w, k), stay(S, h, k, w)), and home(w, k) when S is empty                   (L11)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from megaland_env.cards import (
    BAZAAR_TREASURES,
    JUMP_SUPPLY,
    JUMP_SYMBOLS,
    MAX_HEARTS,
    NUM_LEVEL_CARDS,
    SKULLS,
    START_HEARTS,
    LevelCard,
)

Floats = npt.NDArray[np.float64]

WHOLE_DECK = (1 << NUM_LEVEL_CARDS) - 1
"""The set of all ten level cards: bit c for card c, in the order of C3."""

_LARGEST = 1000  # units carried; far more than a run can bring in any reasonable unit


@dataclass(frozen=True)
class RunModel:
    """Model of a run: what draws, coins and tokens are worth to a player, in units.

    Attributes:
        draw: probabilities that a draw is worth 0, 1, 2, ... units.
        trade: probabilities of the change in value by a trade with the Rabbit (L8), from ``-(len(trade) // 2)`` units
            upwards; empty if the player cannot trade.
        soap_makers: whether the player owns Soap Makers.
        serpent: income for meeting the Red Serpent (Temple of Zoz).
        bazaar: income for coming home with at least ``bazaar_at`` units (Bazaar of Oddities).
        bazaar_at: units that make the Bazaar pay.
        kept: most units kept when falling (Herb Hut).
        consolation: the value of the fall itself: positive for Laboratories, negative for Hospitals of neighbours.
        token: the value of a jump token left after the run.
        most_tokens: the largest number of jump tokens in the tables.
        most_carried: the largest number of units in the tables; larger values are treated as this one.

    Raises:
        ValueError: an attribute is out of range, or probabilities do not sum to 1.
    """

    draw: tuple[float, ...] = (0.0, 1.0)
    trade: tuple[float, ...] = ()
    soap_makers: bool = False
    serpent: float = 0.0
    bazaar: float = 0.0
    bazaar_at: int = BAZAAR_TREASURES
    kept: int = 0
    consolation: float = 0.0
    token: float = 0.0
    most_tokens: int = 0
    most_carried: int = NUM_LEVEL_CARDS + 3  # L1, nine times L9, the Treasure Box, Soap Makers, and a spare one

    def __post_init__(self) -> None:
        for name, chances, must in (("draw", self.draw, True), ("trade", self.trade, False)):
            if (must or chances) and not (all(chance >= 0 for chance in chances) and abs(sum(chances) - 1) < 1e-9):
                raise ValueError(f"{name} is {chances!r}; it must be probabilities that sum to 1")
        if self.trade and len(self.trade) % 2 == 0:
            raise ValueError(
                f"trade has {len(self.trade)} probabilities; it must have an odd number, with no change in the middle"
            )
        for name, number, most in (
            ("bazaar_at", self.bazaar_at, _LARGEST),
            ("kept", self.kept, _LARGEST),
            ("most_tokens", self.most_tokens, JUMP_SUPPLY),
            ("most_carried", self.most_carried, _LARGEST),
        ):
            if not 0 <= number <= most:
                raise ValueError(f"{name} is {number!r}; it must be from 0 to {most}")


@dataclass(frozen=True, eq=False)
class RunSolution:
    """Solution of a run: tables of the values of all choices.

    The axes of the tables are: set of unseen cards (1024), hearts (0 to 8; no player in a level has 0), jump tokens
    (0 to ``most_tokens``), units carried (0 to ``most_carried``). All are float64.

    Attributes:
        model: the model that was solved.
        rest: the value of the run from the choice of staying or leaving on; of coming home if no card is unseen.
        stay: the value of staying, before its draw.
        leave: (tokens, carried) the value of coming home.
        jump: the value of jumping over the next card; minus infinity without a token.
        walk: the value of not jumping over it.
    """

    model: RunModel
    rest: Floats
    stay: Floats
    leave: Floats
    jump: Floats
    walk: Floats

    def stays(self, unseen: int, hearts: int, tokens: int, carried: int) -> bool:
        """Whether staying is better than leaving; False for a tie."""
        return bool(self.stay[unseen, hearts, tokens, carried] > self.leave[tokens, carried] + TOLERANCE)

    def jumps(self, unseen: int, hearts: int, tokens: int, carried: int) -> bool:
        """Whether jumping over the next card is better than saving the token; False for a tie."""
        entry = unseen, hearts, tokens, carried
        return bool(self.jump[entry] > self.walk[entry] + TOLERANCE)

    def run(self, hearts: int = START_HEARTS, tokens: int = 0) -> float:
        """Return the value of a whole run, from entering the level (L1) on."""
        before = np.maximum(self.jump, self.walk)[WHOLE_DECK, hearts, tokens]
        return float(_after_draw(before, _draw_matrix(self.model))[0])


TOLERANCE = 1e-9
"""Largest rounding error of two sums that are equal in exact arithmetic."""


@lru_cache(maxsize=8)
def solve(model: RunModel) -> RunSolution:
    """Compute the best play in a model; the last eight solutions are cached."""
    tokens, carried = np.arange(model.most_tokens + 1)[:, None], np.arange(model.most_carried + 1)
    spared = model.token * tokens
    home = carried + model.bazaar * (carried >= model.bazaar_at) + spared
    fallen = np.minimum(model.kept, carried) + model.consolation + spared
    draw, trade = _draw_matrix(model), _trade_matrix(model)

    shape = (1 << NUM_LEVEL_CARDS, MAX_HEARTS + 1, *home.shape)
    rest, stay = np.broadcast_to(home, shape).copy(), np.full(shape, -np.inf)
    jump, walk = np.full(shape, -np.inf), rest.copy()
    for sets in _sets_by_size():
        walked, jumped = np.zeros((2, len(sets), *shape[1:]))
        for card in LevelCard:
            has = np.flatnonzero(sets >> card & 1)
            after = rest[sets[has] ^ (1 << card)]
            if card == LevelCard.RABBIT and trade is not None:
                after = np.maximum(after, _after_draw(after, trade))
            met = _met(card, after, fallen, draw, model, jumping=False)
            walked[has] += met
            # A jump makes a difference only over a card with the symbol (L5).
            jumped[has] += _met(card, after, fallen, draw, model, jumping=True) if JUMP_SYMBOLS[card] else met
        size = int(sets[0]).bit_count()
        walk[sets] = walked / size
        jump[sets, :, 1:] = jumped[:, :, :-1] / size
        stay[sets] = _after_draw(np.maximum(walk[sets], jump[sets]), draw)
        rest[sets] = np.maximum(home, stay[sets])
    return RunSolution(model, rest, stay, home, jump, walk)


def _met(card: LevelCard, after: Floats, fallen: Floats, draw: Floats, model: RunModel, *, jumping: bool) -> Floats:
    """(sets, hearts, tokens, carried) the value when the card is revealed; ``after`` is the value of surviving it."""
    over = jumping and bool(JUMP_SYMBOLS[card])
    soap = card == LevelCard.SLUDGE_CREATURE and model.soap_makers
    damage = 0 if over or soap else int(SKULLS[card])
    if damage:
        after, survived = np.empty_like(after), after
        after[:, : damage + 1] = fallen
        after[:, damage + 1 :] = survived[:, 1:-damage]
    if soap or card == LevelCard.TREASURE_BOX:  # drawn before the damage (L4)
        after = _after_draw(after, draw)
    return after + model.serpent if card == LevelCard.RED_SERPENT else after


def _sets_by_size() -> Iterable[npt.NDArray[np.int64]]:
    """Yield all non-empty sets of cards, grouped by size, the smallest first."""
    sets = np.arange(1 << NUM_LEVEL_CARDS)
    sizes = np.bitwise_count(sets)
    return (sets[sizes == size] for size in range(1, NUM_LEVEL_CARDS + 1))


def _after_draw(worth: Floats, chances: Floats) -> Floats:
    """Return the mean value after a draw; ``chances[w, v]`` is the probability that w units become v."""
    mean: Floats = worth @ chances.T
    return mean


def _draw_matrix(model: RunModel) -> Floats:
    return _steps(model, model.draw, lowest=0)


def _trade_matrix(model: RunModel) -> Floats | None:
    return _steps(model, model.trade, lowest=-(len(model.trade) // 2)) if model.trade else None


def _steps(model: RunModel, chances: tuple[float, ...], lowest: int) -> Floats:
    """(carried, carried) transition probabilities for changes by ``lowest``, ``lowest + 1``, ... units."""
    carried = np.arange(model.most_carried + 1)
    matrix = np.zeros((carried.size, carried.size))
    for change, chance in enumerate(chances, start=lowest):
        np.add.at(matrix, (carried, np.clip(carried + change, 0, model.most_carried)), chance)
    return matrix
