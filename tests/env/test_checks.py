"""Checks of arguments say what was wrong, and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from megaland_env import MegalandConfig
from megaland_env.checks import as_integer, check_whole, is_integer, is_number
from megaland_env.seats.single_learner import SingleLearnerGames


@pytest.mark.parametrize("value", [2, 7, np.int64(2), np.uint8(7)])
def test_whole_numbers_in_the_range_are_accepted(value: object) -> None:
    check_whole("games", value, 2, 7)
    check_whole("games", value, 2)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, 1, 8, np.int64(-1)])
def test_everything_else_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(ValueError, match=r"games is .*; it must be a whole number from 2 to 7"):
        check_whole("games", value, 2, 7)


@pytest.mark.parametrize(
    ("value", "integer", "number", "scalar"),
    [
        (3, True, True, 3),
        (np.uint64(2**64 - 1), True, True, 2**64 - 1),
        (np.array(3), False, False, 3),
        (2.0, False, True, None),
        (np.float32(2), False, True, None),
        (np.array(2.5), False, False, None),
        *((value, False, False, None) for value in (True, np.False_, np.array(True), np.array([3]), "3", 3j, None)),
    ],
    ids=repr,
)
def test_what_counts_as_an_integer_and_as_a_number(
    value: object, integer: bool, number: bool, scalar: int | None
) -> None:
    assert (is_integer(value), is_number(value), as_integer(value)) == (integer, number, scalar)


def test_no_bool_is_a_seat_and_no_fraction_a_count() -> None:
    with pytest.raises(ValueError, match=r"seat is True; it must be from 0 to 3, or None to draw it"):
        SingleLearnerGames(MegalandConfig(4), 2, seat=True)
    with pytest.raises(ValueError, match=r"max_rounds is array\(2\.5\); it must be an integer from 1 to"):
        MegalandConfig(max_rounds=np.array(2.5))  # type: ignore[arg-type]
    assert MegalandConfig(max_rounds=np.array(3)).max_rounds == 3  # type: ignore[arg-type]


def test_a_range_may_have_no_end() -> None:
    check_whole("workers", 10**30, 1)
    with pytest.raises(ValueError, match="workers is 0; it must be a whole number of at least 1"):
        check_whole("workers", 0, 1)
