"""The progress that a training run shows, and the forms of its options."""

from __future__ import annotations

import argparse
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import megaland_experiments.training.train
from megaland_experiments.cli import main
from megaland_experiments.options import Parser, whole_number
from megaland_experiments.training import options as train_options
from megaland_experiments.training.config import PRESETS, TrainConfig, as_whole_number
from megaland_experiments.training.progress import EVERY_SECONDS, TrainProgress, clock_text


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def watched(terminal: bool, steps: int, games: int) -> tuple[TrainProgress, Clock, io.StringIO]:
    said, clock = io.StringIO(), Clock()
    console = Console(file=said, force_terminal=terminal, width=80, height=24, color_system=None)
    return TrainProgress(console, steps, games, clock), clock, said


def test_the_time_left_is_that_of_decisions_and_games() -> None:
    progress, clock, _ = watched(False, 1000, 60)
    progress.begin(100)
    assert progress.time_left() is None
    clock.now += 10
    progress.updated(300)  # 20 a second
    assert progress.time_left() == pytest.approx(35)
    with progress.games("measuring", 20) as tell:
        clock.now += 4
        tell(10)  # 0.4 seconds a game, and 50 are left
        assert progress.time_left() == pytest.approx(35 + 20)
        clock.now += 4
        tell(20)
    assert progress.time_left() == pytest.approx(35 + 16)
    clock.now += 10
    progress.updated(500)  # the games do not count as time of learning
    assert progress.time_left() == pytest.approx(25 + 16)
    progress.updated(1100)
    assert progress.time_left() == pytest.approx(16)


def test_the_line_fits_a_terminal_with_the_time_left_on_it() -> None:
    progress, clock, said = watched(True, 36_000_000, 64_000)
    shown = []
    with progress.shown():
        progress.begin(0)
        clock.now += 1200
        progress.updated(10_000_000)
        progress.learning(20_345_678, "100 %", "itself, planner, threshold, random, 4 snapshots")
        progress._bar.refresh()
        shown.append(said.getvalue())
        with progress.games("evaluating", 64_000) as tell:
            clock.now += 4000
            tell(12_345.25)  # a game under way counts in part
            progress._bar.refresh()
        shown.append(said.getvalue()[len(shown[0]) :])
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n") for text in shown]
    lines = [line for text in plain for line in text.splitlines()]
    assert max(map(len, lines)) <= 80
    assert any(
        re.match(r"learning 20,345,678 of 36,000,000 .* 52:00 left, 8,333/s, wins 100 %\s*$", line) for line in lines
    )
    assert any(re.match(r"evaluating 12,345 of 64,000 games .* \d+:\d\d:\d\d left\s*$", line) for line in lines)
    assert "…" not in "".join(lines)


def test_the_time_left_goes_on_between_two_updates() -> None:
    progress, clock, _ = watched(False, 1000, 0)
    progress.begin(0)
    clock.now += 50
    progress.updated(500)
    assert progress.time_left() == 50
    clock.now += 30  # a roll-out that is not learned from yet
    assert progress.time_left() == 20
    clock.now += 30
    assert progress.time_left() == 0


def test_without_a_terminal_there_is_a_line_every_half_minute() -> None:
    progress, clock, said = watched(False, 1000, 60)
    progress.begin(0)
    for step in range(1, 100):
        clock.now += 1
        progress.updated(step * 5)
        progress.learning(step * 5, "50 %", "itself")
    lines = said.getvalue().splitlines()
    assert len(lines) == 3
    assert EVERY_SECONDS == 30
    assert "learning 150 of 1,000 steps (15 %), about 2:50 left, 5 steps/s, wins 50 % against itself" in lines[0]
    with progress.games("measuring", 40) as tell:
        for game in range(1, 41):
            clock.now += 1
            tell(game)
    assert "measuring 21 of 40 games (52 %), about " in said.getvalue().splitlines()[3]


def test_output_that_nobody_takes_ends_nothing() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    progress = TrainProgress(Console(file=Closed(), width=80), 100, 0)
    progress.say("one")
    progress.say("two")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03")]
)
def test_a_time(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


# ------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("text", "value"), [("1e6", 10**6), ("2E6", 2 * 10**6), ("30_000", 30000), ("1.5e3", 1500), ("0", 0), ("-3", -3)]
)
def test_whole_numbers(text: str, value: int) -> None:
    found = whole_number(text)
    assert found == value
    assert type(found) is int
    assert as_whole_number(float(value), "it") == value


@pytest.mark.parametrize("text", ["1.5", "", "x", "nan", "inf", "1e99999999", "1e-3", "1,000", "0x10", "²"])
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number, such as 30000, 30_000 or 3e4"):
        whole_number(text)


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), "1", True, None])
def test_what_is_no_whole_number_in_python(value: object) -> None:
    with pytest.raises(ValueError, match=r"total_steps is .* it must be a whole number"):
        TrainConfig(total_steps=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_envs", 1e13, "num_envs is 10000000000000; it must be a whole number from 1 to 1,048,576"),
        ("rollout", 1e14, "rollout is .* from 1 to 16,777,216"),
        ("seed", 5e9, "seed is 5000000000; it must be a whole number from 0 to 4,294,967,295"),
        ("seed", -1, "seed is -1; it must be a whole number from 0"),
        ("threads", 1e9, "threads is 1000000000; it must be a whole number from 1 to 1,024"),
        ("total_steps", 0, "total_steps is 0; it must be a whole number from 1"),
        ("total_steps", 10**400, "total_steps has more digits than a float can have"),
        ("n_epochs", 1e18, "n_epochs is .* from 1 to 1,000,000,000,000,000"),
        ("eval_games", 1e12, "eval_games is .* from 0 to 16,777,216"),
        ("snapshots_kept", 1e9, "snapshots_kept is .* from 0 to 10,000"),
        ("hidden", (1e9,), r"hidden is \(1000000000,\), which makes a policy of .* weights; it may have 67,092,480"),
        ("hidden", (9000, 9000), "which makes a policy of 84,924,040 weights"),
        ("hidden", (1,) * 99, "hidden is 99 layers, .* in at most 98 layers"),
        ("hidden", (0,), "hidden is .* at least 1"),
        ("gamma", "1", "gamma is '1'; it must be a number from 0 to 1"),
        ("learning_rate", None, "learning_rate is None; it must be a number of at least 0"),
        ("learning_rate", float("inf"), "learning_rate is inf; it must be a number of at least 0"),
        ("opponents", {"itself": 1e308, "random": 1e308}, "no share may be below 0 or above 1,000,000"),
        ("opponents", {"itself": float("nan")}, "shares are numbers, and no share may be below 0"),
        ("opponents", {"itself": "0.5"}, "shares are numbers, and no share may be below 0"),
        ("opponents", {"itself": 1e-320}, "one must be above 0, and the sum of the shares at least 1e-06"),
    ],
)
def test_what_is_out_of_range(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(**{name: value})


def test_absurd_sizes_make_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--hidden", "1e9"], ["--num-envs", "1e13"], ["--opponents", "itself=1e308"]):
        assert main(["train", *words, "--out", str(tmp_path / "run")]) == 2
        assert capsys.readouterr().err.startswith("megaland: error: ")
    assert not list(tmp_path.iterdir())


def parsed(words: str) -> TrainConfig:
    parser = Parser(exit_on_error=False)
    megaland_experiments.training.train.add_arguments(parser)
    arguments = parser.parse_args(shlex.split(words))
    return TrainConfig(**PRESETS.get(arguments.preset, {}) | train_options.given(arguments))


def test_several_values_in_either_spelling() -> None:
    for words in ("--players 2,3", "--players 2 3", "--players=2,3"):
        assert parsed(words).players == (2, 3)
    for option in ("--market", "--markets"):
        assert parsed(f"{option} spread,random").markets == ("spread", "random")
        assert parsed(f"{option} random").markets == ("random",)
    assert parsed("--hidden 64,64 --players 4").hidden == (64, 64)
    for option in ("--out", "--folder"):
        assert parsed(f"{option} runs/x").folder == "runs/x"


@pytest.mark.parametrize("option", ["--total-steps", "--num-envs", "--eval-games", "--seed", "--players", "--hidden"])
def test_every_count_is_a_whole_number(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = "3" if option == "--players" else "16"
    assert parsed(f"{option} {value}") != TrainConfig()
    assert parsed(f"{option} {value}") == parsed(f"{option} {value}.0")
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parsed(f"{option} 2.5")


@pytest.mark.parametrize("words", ["--players 2,,3", "--players ,", "--market ,", "--players 2,x"])
def test_values_that_are_missing(words: str) -> None:
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parsed(words)


def test_the_command_of_a_configuration_asks_for_it() -> None:
    for words in (
        "",
        "--preset long --seed 3",
        "--players 2 3 --hidden 8 --eval-sampled --learning-rate 1e-5 --out 'a folder' --reward coins",
        "--opponents itself=0.5 'ppo:path=a b,greedy=False=0.5' --same-opponent-share 0.25",
    ):
        config = parsed(words)
        command = shlex.split(train_options.command_text(config))
        assert command[:2] == ["megaland", "train"]
        assert parsed(shlex.join(command[2:])) == config


def test_a_single_opponent_has_no_number() -> None:
    assert megaland_experiments.training.train._opponents_text(1, "random") == "random"
    assert megaland_experiments.training.train._opponents_text(3, "random") == "3 random"
