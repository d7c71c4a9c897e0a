"""The engine and its slow twin agree on every snapshot, every legal action and every event."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.lockstep import EVERYTHING, compare_many, compare_numbered, twin_alone
from tests.support.places import ROOT
from tests.support.reference_game import ReferenceGame

NUMBERS = range(20)  # configurations
GAMES_EACH = 12
MANY = 128  # games in each of the large comparisons


@pytest.mark.parametrize("number", NUMBERS)
def test_the_engine_is_its_twin(number: int) -> None:
    """C1 to D4: some games with one configuration; the styles of play reach all decisions and all buildings."""
    assert compare_numbered(number, GAMES_EACH)["games"] == GAMES_EACH


@pytest.mark.soak
@pytest.mark.parametrize("first", range(100, 228, 8))
def test_the_engine_is_its_twin_in_many_games(first: int) -> None:
    """C1 to D4: as above, over 128 configurations and 2,048 games."""
    seen = compare_many(MANY, batch=MANY // 8, first=first)
    assert seen["games"] == MANY


def test_the_comparison_meets_everything_that_can_happen() -> None:
    """Each kind of event, each building and rare situations occur in the comparison."""
    found = set().union(*(twin_alone(number, GAMES_EACH) for number in NUMBERS))
    assert set() == EVERYTHING - found


def test_a_difference_is_found_and_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin without Arcades (B7) is found to differ, and the message says where and how to reproduce it."""
    monkeypatch.setattr(ReferenceGame, "arcades_pay", lambda self: None)
    with pytest.raises(
        AssertionError, match=r"after \d+ steps of compare\(.*coins is \d+ in the engine and \d+ in the twin"
    ):
        compare_many(60, batch=GAMES_EACH)


def test_the_command_line() -> None:
    """``python -m tests.support.lockstep`` compares, counts and succeeds."""
    command = [sys.executable, "-m", "tests.support.lockstep", "--games", "4", "--batch", "2", "--workers", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 games" in done.stdout
