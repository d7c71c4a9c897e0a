"""Compiled code lists, shows and answers decisions as the NumPy code does, bit for bit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("numba")

from megaland_env import MegalandConfig, MegalandGames
from megaland_env.actions import Kind
from megaland_env.agent import random_actions, random_legal
from megaland_env.decisions import Decisions
from megaland_env.engine.compiled import threads
from megaland_env.observation import FEATURES, NUM_FEATURES, encode
from megaland_env.observation.features import IN_SEAT, OTHERS, SEAT_WIDTH, SEATS, Placed
from tests.support.lockstep import configurations

ODD: tuple[dict[str, Any], ...] = (
    {"num_players": 2, "star_copies": (20, 9, 7, 5, 4, 4), "market": "random"},
    {"num_players": 5, "star_copies": (1, 0, 0, 0, 0, 20), "skip_forced": False},
    {"num_players": 4, "payment": "auto", "max_rounds": 3},
    {"num_players": 3, "first_player": 2, "skip_forced": False, "market": "random"},
)


def numpy_twin(games: MegalandGames) -> MegalandGames:
    """The same games, read by NumPy code."""
    twin = copy.copy(games)
    twin._compiled = None
    return twin


def all_rows(games: MegalandGames) -> Decisions:
    """Every seat of every game, whether it decides or watches."""
    number, players = games.num_games, games.num_players
    return games.rows(np.repeat(np.arange(number), players), np.tile(np.arange(players), number))


def played(fields: dict[str, Any], number: int, seed: int) -> Iterator[MegalandGames]:
    """Games of random play at each of their decisions and after the end."""
    games = MegalandGames(MegalandConfig(**fields), number, engine="compiled")
    games.reset(seed)
    while games.kind.any():
        yield games
        games.step(random_actions(games, seed))
    yield games


def check_observations(observed: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert observed.dtype == expected.dtype == np.float32
    if observed.tobytes() != np.ascontiguousarray(expected).tobytes():
        different = (observed.view(np.int32) != np.ascontiguousarray(expected).view(np.int32)).any(axis=0)
        raise AssertionError(f"different: {[FEATURES[feature] for feature in np.flatnonzero(different)]}")


def check_equal(games: MegalandGames, seed: int) -> None:
    twin = numpy_twin(games)
    pending, expected = games.decisions(), twin.decisions()
    np.testing.assert_array_equal(pending.game, expected.game)
    np.testing.assert_array_equal(pending.seat, expected.seat)
    np.testing.assert_array_equal(games.legal, twin.legal)
    rows, twin_rows = all_rows(games), all_rows(twin)
    check_observations(encode(rows), encode(twin_rows))
    for decisions, others in ((pending, expected), (rows, twin_rows)):
        np.testing.assert_array_equal(decisions.legal, others.legal)
        assert decisions.legal.dtype == np.bool_
        chosen = random_legal(decisions, seed)
        assert chosen.dtype == np.uint8
        np.testing.assert_array_equal(chosen, random_legal(others, seed))
    np.testing.assert_array_equal(random_actions(games, seed), random_actions(twin, seed))


@pytest.mark.parametrize("number", range(8))
def test_all_seats_in_many_configurations(number: int) -> None:
    """At every decision of whole games, for those who decide, those who watch, and after the end."""
    met: set[int] = set()
    for fields in (ODD[number % len(ODD)], *islice(configurations(), 3 * number, 3 * number + 3)):
        for games in played(fields, 5, number):
            check_equal(games, seed=number - 3)
            met |= set(games.kind.tolist())
    assert met >= {Kind.NONE, Kind.RUN, Kind.BUY}


def test_every_kind_of_decision_is_met() -> None:
    met: set[int] = set()
    for games in played({"num_players": 5, "market": "random", "skip_forced": False}, 40, 1):
        met |= set(games.kind.tolist())
        check_equal(games, 0)
    assert met == set(Kind)


def test_every_block_is_as_declared() -> None:
    """The blocks themselves, without the NumPy code that writes them."""
    for players in (2, 5):
        for games in islice(played({"num_players": players, "market": "random"}, 30, 7), 25, None, 9):
            rows = all_rows(games)
            observed, view = encode(rows), all_rows(numpy_twin(games)).view

            def expected(placed: Placed, numbers: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
                width = placed.stop - placed.start
                return placed.block.scale.features(np.broadcast_to(numbers, (width, numbers.shape[-1])))

            for placed in IN_SEAT:
                numbers = np.asarray(placed.block.read(view))
                for place in range(len(SEATS)):
                    at = place * SEAT_WIDTH
                    part = observed[:, at + placed.start : at + placed.stop].T
                    if place >= players:
                        assert not part.any()
                    else:
                        of_place = numbers[..., place, :] if numbers.ndim else np.full(len(rows), numbers)
                        np.testing.assert_array_equal(part, expected(placed, of_place), placed.block.name)
            for placed in OTHERS:
                numbers = np.asarray(placed.block.read(view))
                if not numbers.ndim:
                    numbers = np.full(len(rows), numbers)
                part = observed[:, placed.start : placed.stop].T
                np.testing.assert_array_equal(part, expected(placed, numbers), placed.block.name)


@pytest.mark.parametrize("number", [1, 63, 64, 65, threads.FEWEST + 1])
def test_batches_of_every_size(number: int) -> None:
    """Those with many rows are written on several threads."""
    for games in islice(played({"num_players": 3}, number, 5), 14, 16):
        check_equal(games, 2)


@pytest.mark.parametrize("layout", ["features first", "rows first", "strided", "not aligned", "none"])
def test_out_of_every_layout(layout: str) -> None:
    (games,) = islice(played({}, 9, 3), 20, 21)
    decisions = games.decisions()
    shape = (len(decisions), NUM_FEATURES)
    size = shape[0] * shape[1]
    outs: dict[str, npt.NDArray[np.float32] | None] = {
        "features first": np.full(shape[::-1], np.nan, np.float32).T,
        "rows first": np.full(shape, np.nan, np.float32),
        "strided": np.full((shape[0] * 2, NUM_FEATURES * 3), np.nan, np.float32)[::2, ::3],
        "not aligned": np.zeros(4 * size + 1, np.uint8)[1:].view(np.float32).reshape(shape),
        "none": None,
    }
    out = outs[layout]
    written = encode(decisions, out)
    assert out is None or written is out
    np.testing.assert_array_equal(written, encode(numpy_twin(games).decisions()))


def test_rows_of_any_layout() -> None:
    (games,) = islice(played({}, 9, 3), 20, 21)
    twin = numpy_twin(games)
    for rows, others in ((each.decisions(), twin.decisions()) for each in [games]):
        for part in (slice(None, None, 2), slice(None, None, -1), slice(2, 2), np.arange(len(rows)) % 3 == 0):
            check_observations(encode(rows[part]), encode(others[part]))
            np.testing.assert_array_equal(rows[part].legal, others[part].legal)
            np.testing.assert_array_equal(random_legal(rows[part], 4), random_legal(others[part], 4))
    read_only = games.decisions()
    read_only.game.flags.writeable = read_only.seat.flags.writeable = False
    check_observations(encode(read_only), encode(twin.decisions()))


@pytest.mark.parametrize("name", ["game", "seat"])
def test_rows_out_of_range_are_refused(name: str) -> None:
    """Compiled code does not check indices where it uses them; who writes into ``game`` must not read other memory."""
    (games,) = islice(played({}, 9, 3), 20, 21)
    for call in (encode, random_legal, lambda decisions: decisions.legal):
        rows = games.decisions()
        getattr(rows, name)[0] = 10**9
        with pytest.raises(IndexError):
            call(rows)


def test_before_the_first_reset() -> None:
    games = MegalandGames(num_games=2, engine="compiled")
    for call in (games.decisions, lambda: games.legal, lambda: random_actions(games)):
        with pytest.raises(ValueError, match="no game was ever started"):
            call()
    games.reset([3], index=[1])
    assert games.decisions().game.tolist() == [1] * 4
    check_observations(encode(games.decisions()), encode(numpy_twin(games).decisions()))


def test_decisions_that_are_out_of_date_are_refused() -> None:
    games = MegalandGames(num_games=2, engine="compiled")
    games.reset(3)
    stale = [games.decisions() for _ in range(3)]
    games.step(random_actions(games))
    for decisions, call in zip(stale, (encode, random_legal, lambda decisions: decisions.legal), strict=True):
        with pytest.raises(RuntimeError, match="out of date"):
            call(decisions)
