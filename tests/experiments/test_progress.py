"""Progress: an estimate of the time left that is really shown, on a terminal and elsewhere."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Decisions, MegalandConfig
from megaland_env.agent import RandomAgent
from megaland_experiments.matches import playing as matches
from megaland_experiments.matches.playing import play
from megaland_experiments.records import simulate
from megaland_experiments.shared import progress, safe_console
from megaland_experiments.shared.progress import TimeLeft, duration, progress_bar, sentence
from megaland_experiments.strength.evaluate import evaluate


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_from_the_speed_of_this_process() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    assert left(40, 100) is None  # done before
    clock.now += 10
    assert left(40, 100) is None
    assert left(50, 100) == pytest.approx(50)
    clock.now += 40
    assert left(90, 100) == pytest.approx(10)
    assert left(100, 100) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "time left unknown"), (0.2, "0:00:00 left"), (61, "0:01:01 left"), (7322, "2:02:02 left")],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_the_line() -> None:
    assert sentence(12_000, 48_000, "games", 190) == "25 % of 48,000 games, 0:03:10 left"
    assert sentence(0, 0, "games", None) == "100 % of 0 games, time left unknown"


def test_a_line_now_and_then_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(progress, "TimeLeft", lambda: TimeLeft(clock))
    with progress_bar("games") as told:
        for done in range(0, 101, 2):
            told(done, 100)
            clock.now += 3
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 5  # in two and a half minutes
    assert lines[0] == "20 % of 100 games, 0:02:00 left"
    assert lines[-1] == "100 % of 100 games, 0:00:00 left"


def test_nothing_is_said_of_what_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("games") as told:
        told(1, 2)
    assert capsys.readouterr() == ("", "")


class Slow(RandomAgent):
    """An agent that takes some time."""

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        time.sleep(0.002)
        return super().act(decisions)


def halfway(told: list[tuple[float, float]]) -> bool:
    """Whether a progress between nothing and everything was reported."""
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    return any(0 < done < total for done, total in told)


def test_games_that_all_end_at_once_are_told_of_while_they_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "SECONDS_BETWEEN_REPORTS", 0.0)
    told: list[Any] = []
    seats = np.zeros((8, 2), np.int64)
    play(MegalandConfig(2), [RandomAgent()], seats, np.full(8, 3), progress=lambda *counts: told.append(counts))
    assert halfway(told)
    shares = [done / total for done, total in told]
    assert np.corrcoef(shares, np.arange(len(told)))[0, 1] > 0.97  # nearly in proportion to the work done


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluations_and_simulations_tell_of_games_under_way(workers: int, tmp_path: Any) -> None:
    told: list[Any] = []
    slow = "tests.experiments.test_progress:Slow"
    evaluate(slow, "random", num_players=2, games=400, workers=workers, progress=lambda *counts: told.append(counts))
    assert halfway(told)
    told.clear()
    simulate(
        [slow], tmp_path / "r", games=400, part=200, num_players=2, workers=workers,
        progress=lambda *counts: told.append(counts),
    )  # fmt: skip
    assert halfway(told)


def test_a_bar_on_a_terminal_shows_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    console = safe_console.SafeConsole(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(safe_console, "SafeConsole", lambda **options: console)
    clock = Clock()
    monkeypatch.setattr(progress, "TimeLeft", lambda: TimeLeft(clock))
    with progress_bar("games") as told:
        told(0, 1000)
        clock.now += 30
        told(250, 1000)
        time.sleep(0.3)  # the bar is drawn ten times a second
    assert "25 % of 1,000 games, 0:01:30 left" in screen.getvalue()
