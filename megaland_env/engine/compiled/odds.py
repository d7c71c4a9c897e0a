"""Probabilities that follow from public information (``engine/odds.py`` has the definitions), for one player."""

from __future__ import annotations

import numpy as np

from megaland_env.cards import NUM_LEVEL_CARDS, Building
from megaland_env.engine import odds
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory

_DEADLY = odds.DEADLY_CARDS
_SIZES = np.bitwise_count(np.arange(1 << NUM_LEVEL_CARDS)).astype(np.int64)


@compiled
def fall_chance(unseen: int, hearts: int, soap_makers: int, jumping: int) -> np.float32:
    """The probability to fall on the next level card; 0 where no card is left.

    Args:
        unseen: the level cards yet to come this round, bit c for card c.
        hearts: number of hearts left.
        soap_makers: number of Soap Makers owned.
        jumping: whether the player jumps over the card, 0 or 1.
    """
    deadly = unseen & _DEADLY[hearts, min(soap_makers, 1), jumping]
    return np.float32(_SIZES[deadly]) / np.float32(max(_SIZES[unseen], 1))


@compiled
def fall_chance_of(memory: Memory, game: int, seat: int, jumping: int) -> np.float32:
    """The same for a seat, as ``View.fall_chance`` has it; 0 if the player is not in the level."""
    hearts = memory.hearts[seat, game]
    if not memory.in_level[seat, game] or hearts == 0:
        return np.float32(0)
    return fall_chance(memory.unseen[game], hearts, memory.buildings[Building.SOAP_MAKERS, seat, game], jumping)
