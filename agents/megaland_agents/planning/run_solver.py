"""Exact optimal stopping for a level run: when to leave, and when to jump.

A run is a game against the level deck alone (L1 to L11): what the others do changes neither the cards nor what they do
to a player. So the best play of a run follows from dynamic programming over the unseen cards (a set of ten, 1,024 of
them), the hearts and jump tokens left, and the worth of what is carried.

**The model.** What is carried is counted in whole *units* of worth, and each draw is worth so many units with fixed
chances, whatever was drawn before. With one unit a treasure, that is the number of treasures, and the model is the run
exactly. With treasures of different worth it is exact as long as a treasure's worth does not depend on the others, and
the treasure deck is so large that a few draws do not change it.

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

_LARGEST = 1000  # units carried; far beyond what a run can bring in any sensible unit


@dataclass(frozen=True)
class RunModel:
    """What a run is worth to a player. All worths are in units.

    Attributes:
        draw: the chances that a draw is worth 0, 1, 2, ... units.
        trade: the chances of what a trade with the Rabbit changes (L8), from ``-(len(trade) // 2)`` units upwards; none
            means that nothing can be traded.
        soap_makers: whether the player owns Soap Makers.
        serpent: paid for meeting the Red Serpent (Temple of Zoz).
        bazaar: paid for coming home with at least ``bazaar_at`` units (Bazaar of Oddities).
        bazaar_at: in units.
        kept: units kept on falling, as far as so many are carried (Herb Hut).
        consolation: the worth of falling in itself (Laboratories; less than 0: Hospitals of neighbours).
        token: the worth of a jump token that is left after the run.
        most_tokens: the most jump tokens that are told apart.
        most_carried: the most units that are told apart; more are counted as so many.

    Raises:
        ValueError: an attribute has no meaning.
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
    most_carried: int = NUM_LEVEL_CARDS + 3  # L1, nine times L9, the Treasure Box, Soap Makers, and one to spare

    def __post_init__(self) -> None:
        for name, chances, must in (("draw", self.draw, True), ("trade", self.trade, False)):
            if (must or chances) and not (all(chance >= 0 for chance in chances) and abs(sum(chances) - 1) < 1e-9):
                raise ValueError(f"{name} is {chances!r}; it must be chances that sum to 1")
        if self.trade and len(self.trade) % 2 == 0:
            raise ValueError(
                f"trade has {len(self.trade)} chances; it must have an odd number, no change in the middle"
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
    """The best play of a run.

    Every table has the axes: set of unseen cards (1024), hearts (0 to 8; nobody in a level has 0), jump tokens
    (0 to ``most_tokens``), units carried (0 to ``most_carried``).

    Attributes:
        model: what was solved.
        rest: the worth of the run from the choice of staying or leaving on; of coming home where no card is unseen.
        stay: the worth of staying, before its draw.
        leave: (tokens, carried) the worth of coming home.
        jump: the worth of jumping over the next card; minus infinity without a token.
        walk: the worth of not jumping over it.
    """

    model: RunModel
    rest: Floats
    stay: Floats
    leave: Floats
    jump: Floats
    walk: Floats

    def stays(self, unseen: int, hearts: int, tokens: int, carried: int) -> bool:
        """Whether staying is better than leaving; no where they are equal."""
        return bool(self.stay[unseen, hearts, tokens, carried] > self.leave[tokens, carried] + TOLERANCE)

    def jumps(self, unseen: int, hearts: int, tokens: int, carried: int) -> bool:
        """Whether jumping over the next card is better than saving the token; no where they are equal."""
        where = unseen, hearts, tokens, carried
        return bool(self.jump[where] > self.walk[where] + TOLERANCE)

    def run(self, hearts: int = START_HEARTS, tokens: int = 0) -> float:
        """The worth of a whole run, from entering the level (L1) on."""
        before = np.maximum(self.jump, self.walk)[WHOLE_DECK, hearts, tokens]
        return float(_after_draw(before, _draw_matrix(self.model))[0])


TOLERANCE = 1e-9
"""Of sums that would be equal if they were made of fractions."""


@lru_cache(maxsize=8)
def solve(model: RunModel) -> RunSolution:
    """The best play in a model. The last few are kept for when they are asked for again."""
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
    """(sets, hearts, tokens, carried): the worth when the card is revealed; ``after`` is that of surviving it."""
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
    """All sets of cards but the empty one, those of one card first."""
    sets = np.arange(1 << NUM_LEVEL_CARDS)
    sizes = np.bitwise_count(sets)
    return (sets[sizes == size] for size in range(1, NUM_LEVEL_CARDS + 1))


def _after_draw(worth: Floats, chances: Floats) -> Floats:
    """The mean worth after a draw; ``chances[w, v]`` is that of carrying v units after it, if it was w before."""
    mean: Floats = worth @ chances.T
    return mean


def _draw_matrix(model: RunModel) -> Floats:
    return _steps(model, model.draw, lowest=0)


def _trade_matrix(model: RunModel) -> Floats | None:
    return _steps(model, model.trade, lowest=-(len(model.trade) // 2)) if model.trade else None


def _steps(model: RunModel, chances: tuple[float, ...], lowest: int) -> Floats:
    """(carried, carried): the chances of going from one number of units to another by ``lowest``, one more, ..."""
    carried = np.arange(model.most_carried + 1)
    matrix = np.zeros((carried.size, carried.size))
    for change, chance in enumerate(chances, start=lowest):
        np.add.at(matrix, (carried, np.clip(carried + change, 0, model.most_carried)), chance)
    return matrix
