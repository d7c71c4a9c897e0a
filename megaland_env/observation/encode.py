"""Writes observations: vectors of the features that ``features.py`` declares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby

import numpy as np

from megaland_env.decisions import Decisions, View
from megaland_env.engine.compiled import threads
from megaland_env.engine.compiled.engine import CompiledEngine
from megaland_env.engine.compiled.programs import OBSERVATIONS
from megaland_env.observation.features import (
    AFTER_SEATS,
    IN_SEAT,
    NUM_FEATURES,
    OTHERS,
    SEAT_WIDTH,
    SEATS,
    Floats,
    Placed,
)
from megaland_env.observation.lookup import Lookup
from megaland_env.scales import LEAST, MOST, reciprocals


class _Run:
    """Consecutive blocks that are scaled alike. ``axes`` is 1 to write into arrays (D, M), and 2 for (D, P, M)."""

    def __init__(self, placed: Sequence[Placed], axes: int) -> None:
        self._reads = [(p.block.read, slice(p.start, p.stop) if p.block.items else p.start) for p in placed]
        self._span = slice(placed[0].start, placed[-1].stop)
        self._divides, self._root, _ = placed[0].treatment
        self._cut = any(p.block.scale.cut for p in placed)
        if self._divides:
            divisors = [np.broadcast_to(p.block.scale.divisor, p.stop - p.start) for p in placed]
            self._factors = reciprocals(divisors).reshape(-1, *[1] * axes)

    def write(self, view: View, rows: Floats) -> None:
        for read, index in self._reads:
            rows[index] = read(view)
        if self._divides:
            part = rows[self._span]
            np.multiply(part, self._factors, out=part)
            if self._cut:
                part.clip(LEAST, MOST, out=part)
            if self._root:
                np.sqrt(part, out=part)


def _runs(placed: Sequence[Placed], axes: int) -> list[_Run]:
    return [_Run(list(run), axes) for _, run in groupby(placed, key=lambda p: p.treatment)]


_SEAT_RUNS = _runs(IN_SEAT, axes=2)
_OTHER_RUNS = _runs(OTHERS, axes=1)


def encode(decisions: Decisions, out: Floats | None = None) -> Floats:
    """Observations of the deciding seats, as vectors for a network.

    Args:
        decisions: M rows of deciding seats, or of other seats (``games.rows``).
        out: (M, D) float32 array to write into. Any layout will do; that of the result without ``out`` is the fastest.

    Returns:
        (M, D) float32, ``out`` if it was given; every value is in [-1, 1], most are in [0, 1]. It is C-contiguous if
        the compiled engine plays; with the NumPy engine it is the transposed view of a C-contiguous (D, M) array.

    Raises:
        ValueError: ``out`` has another shape or type.
    """
    shape = (len(decisions), NUM_FEATURES)
    if out is not None and (out.shape != shape or out.dtype != np.float32):
        raise ValueError(f"out must be float32 of shape {shape}, not {out.dtype} of shape {out.shape}")
    engine = decisions._fresh()._compiled
    if engine:
        written = np.empty(shape, np.float32) if out is None or not _is_plain(out) else out
        if _write_compiled(engine, decisions, written):
            if out is None or out is written:
                return written
            out[...] = written
            return out
    if out is None:
        out = np.empty(shape[::-1], np.float32).T
    rows = out.T
    if not rows.flags.c_contiguous:
        out[...] = encode(decisions)
        return out
    if len(decisions) <= _FEW:
        _lookup(decisions.num_players).write(decisions, rows)
        return out
    seats = rows[:AFTER_SEATS].reshape(len(SEATS), SEAT_WIDTH, len(decisions))
    if len(decisions) <= _PIECE:
        _write(decisions.view, seats, rows)
    else:
        for start in range(0, len(decisions), _PIECE):
            part = slice(start, start + _PIECE)
            _write(decisions[part].view, seats[..., part], rows[:, part])
    return out


def _is_plain(out: Floats) -> bool:
    return out.flags.c_contiguous and out.flags.behaved


def _write_compiled(engine: CompiledEngine, decisions: Decisions, out: Floats) -> bool:
    """Whether compiled code has written all rows: False if a game or a seat is out of range."""
    write, game, seat = OBSERVATIONS.load(), decisions.game, decisions.seat
    if len(game) < threads.FEWEST:
        return bool(write(*engine.memory, game, seat, out))
    slices: list[bool] = []
    threads.in_slices(
        len(game),
        lambda start, stop: slices.append(write(*engine.memory, game[start:stop], seat[start:stop], out[start:stop])),
    )
    return all(slices)


_FEW = 64
"""Number of rows up to which it is faster to look up each number (lookup.py)."""

_PIECE = 16384
"""Maximum number of rows that are written together. More do not fit the cache, and fewer mean more calls."""


@cache
def _lookup(players: int) -> Lookup:
    return Lookup(players, IN_SEAT, OTHERS)


def _write(view: View, seats: Floats, rows: Floats) -> None:
    """Write all features into ``rows`` (D, M), the first of which are also ``seats`` (5, features of a seat, M)."""
    players = view.coins.shape[1]
    seats[players:] = 0
    present = seats[:players].transpose(1, 0, 2)
    for run in _SEAT_RUNS:
        run.write(view, present)
    for run in _OTHER_RUNS:
        run.write(view, rows)
