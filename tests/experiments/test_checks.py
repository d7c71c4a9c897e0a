"""Checks of arguments say what was wrong, and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from megaland_experiments.shared.checks import check_whole


@pytest.mark.parametrize("value", [2, 7, np.int64(2), np.uint8(7)])
def test_whole_numbers_in_the_range_are_accepted(value: object) -> None:
    check_whole("games", value, 2, 7)
    check_whole("games", value, 2)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, 1, 8, np.int64(-1)])
def test_everything_else_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(ValueError, match=r"games is .*; it must be a whole number from 2 to 7"):
        check_whole("games", value, 2, 7)


def test_a_range_may_have_no_end() -> None:
    check_whole("workers", 10**30, 1)
    with pytest.raises(ValueError, match="workers is 0; it must be a whole number of at least 1"):
        check_whole("workers", 0, 1)
