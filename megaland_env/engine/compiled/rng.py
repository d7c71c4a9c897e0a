"""Random words by address (``engine/rng.py`` has the definitions), one at a time."""

from __future__ import annotations

import numpy as np

from megaland_env.engine import rng
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.memory import Memory

_GOLDEN = np.uint64(rng.GOLDEN)
_MULTIPLIER_1, _MULTIPLIER_2 = np.uint64(rng.MULTIPLIER_1), np.uint64(rng.MULTIPLIER_2)
_27, _30, _31, _32 = (np.uint64(n) for n in (27, 30, 31, 32))
_AGENT = np.uint64(rng.offset(rng.Purpose.AGENT))
_NEXT_SEAT = np.uint64(rng.offset(0, seat=1))


@compiled
def scramble(z: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64."""
    z ^= z >> _30
    z *= _MULTIPLIER_1
    z ^= z >> _27
    z *= _MULTIPLIER_2
    z ^= z >> _31
    return z


@compiled
def key(seed: np.uint64) -> np.uint64:
    """The scrambled seed, from which all words of a game are made."""
    return scramble(seed + _GOLDEN)


@compiled
def round_key(game_key: np.uint64, round_: int) -> np.uint64:
    """The key plus the offset of a round."""
    return game_key + (np.uint64(round_) << _32) * _GOLDEN


@compiled
def word(memory: Memory, game: int, offset: np.uint64, seat: int, count: int) -> np.uint64:
    """The random word of this round at the address with the offset of its purpose, the seat and the count."""
    return scramble(memory.round_keys[game] + offset + np.uint64(seat) * _NEXT_SEAT + np.uint64(count) * _GOLDEN)


@compiled
def choose(word_: np.uint64, among: int) -> int:
    """A choice from 0 to ``among - 1``."""
    return as_int(((word_ >> _32) * np.uint64(among)) >> _32)


@compiled
def agent_word(memory: Memory, game: int, seat: int, agent_key: np.uint64) -> np.uint64:
    """The first random word of an agent for the decision of a seat; ``agent_key`` is that of the agent's own seed."""
    count = np.uint64(memory.asked[seat, game])
    hidden = scramble(memory.keys[game] + _AGENT + np.uint64(seat) * _NEXT_SEAT + count * _GOLDEN)
    return scramble((hidden ^ agent_key) + _GOLDEN) ^ hidden
