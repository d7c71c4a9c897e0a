"""Randomness by address: every random outcome is a pure function of a game's seed and an address.

No stream of random numbers is shared and nothing is shuffled in advance. So a game with seed ``s`` plays the same in
any batch and at any position in it, and the choices of one seat never change the cards that another will meet. All
arithmetic is modulo 2**64.

**The mixer** (the finaliser of SplitMix64)::

    scramble(z):  z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9
                  z ^= z >> 27;  z *= 0x94D049BB133111EB
                  z ^= z >> 31;  return z

**A word**::

    key(seed)  = scramble(seed + GOLDEN)                      GOLDEN = 0x9E3779B97F4A7C15
    address    = purpose * 2**56 + round * 2**32 + seat * 2**24 + count
    mix(seed, purpose, round, seat, count) = scramble(key(seed) + GOLDEN * address)

with ``purpose < 2**8``, ``round < 2**24``, ``seat < 2**8`` and ``count < 2**24``. ``seat`` is 0 if no seat is
concerned, and ``round`` is 0 if no round is (the first round of a game is 1).

**A choice among n**: ``choose(word, n) = ((word >> 32) * n) >> 32``, for ``n < 2**32`` (its bias is below
``n / 2**32``).

**A weighted draw**: from a pile with counts ``c[0..5]`` (order of C2), ``t = choose(word, sum(c))``; the treasure drawn
is the first whose running total ``c[0] + ... + c[i]`` exceeds ``t``.

**The purposes** are numbered as in ``Purpose``: MARKET is 1, FIRST_PLAYER 2, and so on down this table to POND, 11.

**The addresses in use** (k counts from 0):

============  =====  ====  ======  ============================================================================
purpose       round  seat  count   the choice
============  =====  ====  ======  ============================================================================
MARKET        0      0     0       index into the list of allowed sets of seven normal buildings, each set in
                                   the order of C6, the list in lexicographic order
FIRST_PLAYER  0      0     0       among the P seats
REVEAL        r      0     k       reveal k of round r: among the unseen level cards, in the order of C3
ENTER         r      seat  0       weighted draw on entering the level (L1)
STAY          r      seat  j - 1   weighted draw for staying (L9) when j level cards have been seen
BOX           r      seat  0       weighted draw for the Treasure Box (L6)
SOAP          r      seat  0       weighted draw for Soap Makers (L5)
RABBIT        r      seat  0 to 2  weighted draws of one trade (L8)
LABORATORY    r      seat  k       weighted draw for Laboratory k (L7)
STABLE        r      seat  k       weighted draw for the k-th Reptile Stable used on this return (L10)
POND          r      seat  k       weighted draw for Fishing Pond k (N3)
LEARNER       0      0     0       among the P seats: where the one learner of an environment sits
OPPONENT      0      seat  0       which agent of a weighted pool plays the seat in an environment of one learner
DEAL          1      seat  k       weighted draw of treasure k that a task begins with (seats/scenarios.py)
DEAL          0      0     k       other random numbers that a task begins with
============  =====  ====  ======  ============================================================================

A draw from two empty piles uses up its address too. A seat draws at most once at each address.

**Episodes.** The e-th game that a self-resetting slot plays after ``reset(seed=s)`` has the seed
``mix(s, EPISODE, 0, 0, e)`` for e >= 1; the game right after the reset (e = 0) has the seed s itself.

**Runs.** A command that plays many games from one base seed s, such as a training run, mixes it first: game (or slot) i
has the seed ``mix(s, EPISODE, 0, seat, i)``, where ``seat`` is a number of ``Run``, which no seat has. So runs with
neighbouring base seeds share no game, and neither do a training run and an evaluation with the same base seed.
Environments do not mix: game i of ``reset(seed=s)`` has the seed s + i, as in Gymnasium, so base seeds of N
environments must lie at least N apart.

**Random numbers of agents** come from a one-way function, so that no agent can compute the game's seed: a word that the
agent never sees enters both inside the mixer and outside, as in a Davies-Meyer hash. For the ``count``-th decision of a
seat::

    hidden = mix(seed, AGENT, 0, seat, count)
    word j = scramble((hidden ^ key(agent's own seed)) + GOLDEN * j) ^ hidden          j = 1, 2, ...

The seeds of forked games are words of the same form, with FORK in place of AGENT.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.arrays import Words, constant
from megaland_env.checks import is_integer

_MODULUS = 2**64
_GOLDEN = 0x9E3779B97F4A7C15

GOLDEN = constant(_GOLDEN, np.uint64)
MULTIPLIER_1 = constant(0xBF58476D1CE4E5B9, np.uint64)
MULTIPLIER_2 = constant(0x94D049BB133111EB, np.uint64)
_24, _27, _30, _31, _32 = (constant(n, np.uint64) for n in (24, 27, 30, 31, 32))


class Purpose(IntEnum):
    """The purpose of a random word, which is part of its address."""

    MARKET = 1
    FIRST_PLAYER = 2
    REVEAL = 3
    ENTER = 4
    STAY = 5
    BOX = 6
    SOAP = 7
    RABBIT = 8
    LABORATORY = 9
    STABLE = 10
    POND = 11
    EPISODE = 12
    AGENT = 13
    FORK = 14
    LEARNER = 15
    OPPONENT = 16
    DEAL = 17


class Run(IntEnum):
    """What a base seed is for; part of the addresses of a run's game seeds."""

    ARENA = 255
    """Evaluations, tournaments, probes and records."""
    TUNING = 254
    TRAINING = 253
    FITTING = 252


def scramble(z: Words) -> Words:
    """The finaliser of SplitMix64, elementwise. ``z`` is left as it is."""
    z = z ^ (z >> _30)
    z *= MULTIPLIER_1
    z ^= z >> _27
    z *= MULTIPLIER_2
    z ^= z >> _31
    return z


def as_words(values: npt.ArrayLike) -> Words:
    """Integers, negative or large ones too, as 64-bit words (modulo 2**64).

    Raises:
        ValueError: something is no integer.
    """
    # NumPy makes floats of a list of small and large integers, so a list is taken as it is.
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.dtype.kind == "i":
        return array.astype(np.int64).view(np.uint64)
    if array.dtype.kind == "u":
        return array.astype(np.uint64)
    numbers = array.reshape(-1).tolist()
    for number in numbers:
        if not is_integer(number):
            raise ValueError(f"{number!r} is not an integer")
    return np.array([int(number) % _MODULUS for number in numbers], dtype=np.uint64).reshape(array.shape)


def key(seeds: Words) -> Words:
    """The scrambled seed, from which all words of a game are made."""
    return scramble(seeds + GOLDEN)


@cache
def offset(purpose: int, round_: int = 0, seat: int = 0, count: int = 0) -> Words:
    """``GOLDEN * address``, without dimensions: what is added to the key. The offsets of parts of an address add up."""
    address = (purpose << 56) + (round_ << 32) + (seat << 24) + count
    return constant(_GOLDEN * address % _MODULUS, np.uint64)


def count_offset(counts: npt.NDArray[Any]) -> Words:
    """The offset of the ``count`` part of an address, elementwise."""
    return counts.astype(np.uint64) * GOLDEN


def round_offset(rounds: npt.NDArray[Any]) -> Words:
    """The offset of the ``round`` part of an address, elementwise."""
    return (rounds.astype(np.uint64) << _32) * GOLDEN


def mix(seeds: npt.ArrayLike, purpose: int, round_: int = 0, seat: int = 0, count: npt.ArrayLike = 0) -> Words:
    """Random words at one address (see the docstring of the module), for any number of seeds and counts."""
    words = key(np.atleast_1d(as_words(seeds)))
    words += offset(purpose, round_, seat)
    return scramble(words + count_offset(np.asarray(count)))


def episode_seeds(seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> Words:
    """The seeds of the e-th episodes of slots that reset themselves; for e = 0 the seed itself."""
    seeds = as_words(seeds)
    episodes = np.asarray(episodes)
    return np.where(episodes == 0, seeds, mix(seeds, Purpose.EPISODE, count=episodes))


def run_seeds(seed: int, numbers: npt.ArrayLike, run: Run) -> Words:
    """The seeds of the games with these numbers in a run with the base seed ``seed`` (see the module).

    Args:
        seed: any integer.
        numbers: (n,) integers from 0 to 2**24 - 1, the range of ``count`` in an address.
        run: the kind of run.

    Returns:
        (n,) uint64, all different.
    """
    return mix(seed, Purpose.EPISODE, seat=run, count=numbers)


@lru_cache(maxsize=1024)
def agent_key(seed: int) -> Words:
    """The key of an agent's own seed, without dimensions."""
    return key(as_words([seed])).reshape(())


def agent_words(hidden: Words, agent: Words, number: npt.NDArray[Any] | int) -> Words:
    """Random word ``number`` (from 1) of an agent (see the docstring of the module); ``agent`` is its key."""
    words = hidden ^ agent
    words += offset(0, count=number) if isinstance(number, int) else count_offset(number)
    words = scramble(words)
    words ^= hidden
    return words


def choose(words: Words, among: npt.NDArray[Any] | int) -> Words:
    """A choice from 0 to ``among - 1``, by multiplication rather than by remainder."""
    chosen = words >> _32
    chosen *= constant(among, np.uint64) if isinstance(among, int) else among.astype(np.uint64, copy=False)
    chosen >>= _32
    return chosen
