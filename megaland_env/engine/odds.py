"""Probabilities that follow from public information."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.cards import JUMP_SYMBOLS, MAX_HEARTS, NUM_LEVEL_CARDS, SKULLS, LevelCard


def _deadly_cards() -> npt.NDArray[np.int64]:
    """(9, 2, 2): the set of deadly cards, bit c for card c, by hearts, Soap Makers (no, yes) and jumping (no, yes)."""
    sets = np.zeros((MAX_HEARTS + 1, 2, 2), np.int64)
    for soap in range(2):
        for jumping in range(2):
            skulls = SKULLS.copy()  # L5
            if soap:
                skulls[LevelCard.SLUDGE_CREATURE] = 0
            if jumping:
                skulls[JUMP_SYMBOLS] = 0
            for hearts in range(MAX_HEARTS + 1):
                deadly = (skulls >= hearts) & (skulls > 0)
                sets[hearts, soap, jumping] = deadly @ (1 << np.arange(NUM_LEVEL_CARDS))
    return sets


DEADLY_CARDS = _deadly_cards()
_NUM_DEADLY = np.bitwise_count(np.arange(1 << NUM_LEVEL_CARDS)[:, None] & DEADLY_CARDS.reshape(-1)).reshape(-1)


def fall_chance(
    unseen: npt.NDArray[Any], hearts: npt.NDArray[Any], soap_makers: npt.NDArray[Any], jumping: npt.NDArray[Any] | bool
) -> npt.NDArray[np.float32]:
    """The probability to fall on the next level card (L3, L5, L7).

    The arguments are broadcast together.

    Args:
        unseen: the level cards yet to come this round, bit c for card c.
        hearts: number of hearts left.
        soap_makers: number of Soap Makers owned, or whether any is.
        jumping: whether the player jumps over the card.

    Returns:
        float32; 0 where no card is left.
    """
    unseen = unseen.astype(np.int64)
    owns = np.minimum(soap_makers, 1).astype(np.int64)
    deadly = _NUM_DEADLY.take(((unseen * (MAX_HEARTS + 1) + hearts) * 2 + owns) * 2 + np.asarray(jumping, np.int64))
    chance: npt.NDArray[np.float32] = deadly.astype(np.float32) / np.maximum(np.bitwise_count(unseen), 1)
    return chance
