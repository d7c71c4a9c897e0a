"""Whatever is read from elsewhere is a regular file of sane size; a pipe, a device or a giant ends with an error."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from megaland_env import replay
from megaland_env.files import FileError, parse_json, read_bytes
from megaland_experiments import cli
from megaland_experiments.tuning import tune

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")

DEEP = '{"format": "megaland-replay", "version": 1, "metadata": ' + "[" * 100_000


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 36)  # has no blocks


def folder(path: Path) -> None:
    path.mkdir()


def deep(path: Path) -> None:
    path.write_text(DEEP)


def just_read(path: Path) -> None:
    """Write JSON that Python's parser reads, and that whoever works on it cannot."""
    path.write_text('{"format": "megaland-replay", "version": 1, "metadata": ' + "[" * 960 + "]" * 960 + "}")


def binary(path: Path) -> None:
    path.write_bytes(b"\x80\x00")


MAKERS = (pipe, device, giant, folder, deep, just_read, binary)

# The words of a command, and the file in the folder that it reads.
READERS = {
    "watch": (["watch", "{folder}/game.json"], "game.json"),
    "policy.json": (["evaluate", "ppo:path={folder}", "--games", "2"], "policy.json"),
    "export": (["export", "{folder}", "--onnx", "{folder}/x.onnx"], "policy.json"),
    "report of a tournament": (["report", "{folder}"], "results.json"),
    "report of records": (["report", "{folder}"], "manifest.json"),
    "tournament": (
        ["tournament", "random", "threshold", "--games", "2", "--players", "2", "--out", "{folder}"],
        "settings.json",
    ),
    "simulate": (["simulate", "random", "--games", "2", "--out", "{folder}"], "manifest.json"),
    "train": (["train", "--resume", "{folder}"], "config.json"),
}


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("reader", READERS)
def test_every_command_says_what_is_wrong_with_a_file(
    reader: str, make: Callable[[Path], None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """At once, in one line, and without filling the memory."""
    words, name = READERS[reader]
    make(tmp_path / name)
    assert cli.main([word.format(folder=tmp_path) for word in words]) == 2
    error = capfd.readouterr().err
    assert error.startswith("megaland: error: ")
    assert name in error
    assert error.count("\n") == 1
    assert len(error) < 1000


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_tune(make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that a search starts from."""
    make(tmp_path / "start.json")
    with pytest.raises(SystemExit):
        tune.main(["planner", "--start", str(tmp_path / "start.json"), "--out", str(tmp_path / "out.json")])
    assert "start.json" in capsys.readouterr().err


def test_watch_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    """As a command of its own, which would hang for ever."""
    os.mkfifo(tmp_path / "game.json")
    command = [sys.executable, "-m", "megaland_experiments.cli", "watch", str(tmp_path / "game.json")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "not a regular file" in ended.stderr


def test_a_device_is_not_even_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening one may do something, such as rewind a tape."""
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(FileError, match="/dev/null is not a regular file"):
        read_bytes("/dev/null", 10)


def test_a_name_that_is_none() -> None:
    """A zero byte cannot be in a name."""
    with pytest.raises(FileError, match="null byte"):
        read_bytes("a\0b", 10)


@pytest.mark.parametrize(("begin", "end"), ["[]", ('{"a":', "}")])
def test_lists_and_objects_may_be_nested_a_hundred_times(begin: str, end: str) -> None:
    for depth in (1, 100):
        parse_json(begin * depth + "1" * (begin != "[") + end * depth, "x.json")
    for depth in (101, 960, 100_000):
        with pytest.raises(FileError, match=r"x.json is not JSON .* lists or objects are nested more than 100 deep"):
            parse_json(begin * depth + "1" * (begin != "[") + end * depth, "x.json")


def test_errors_quote_little(tmp_path: Path) -> None:
    """However long what somebody has written is."""
    file = tmp_path / "game.json"
    keys = ("format", "version", "config", "seed", "metadata", "moments", "final", "checksum")
    good = {key: {} for key in keys} | {"format": "megaland-replay", "version": 1, "seed": 0, "moments": []}
    for change in (
        {"version": "x" * 10**6},
        {"config": ["x"] * 10**6},
        {"config": {"market": ["x\x1b"] * 10**5}},
        {"config": {"x" * 10**6: 1}},
        {"moments": "x" * 10**6},
        {"moments": [[["\x1b" * 10**6, "STAY"]]]},
        {"moments": [[[0, "\x1b" * 10**6]]]},
        {"moments": [{"x" * 10**6: 1}]},
        {"seed": "x" * 10**6},
        {"metadata": "\x1b" * 10**6},
        {"x" * 10**6: 1},
        {"final": {"\x1b" * 10**6: 1}},
    ):
        file.write_text(json.dumps(good | change))
        with pytest.raises(replay.ReplayError) as error:
            replay.load_replay(file)
        assert len(str(error.value)) < 2000
        assert str(error.value).isprintable()


def test_replays_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of one that could not be written; the old one stays."""
    file = tmp_path / "game.json"
    file.write_text("old")
    game = replay.Replay(replay.MegalandConfig(2), 0, ())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*game\.json'"):
        replay.save_replay(file, game)
    assert [path.name for path in tmp_path.iterdir()] == ["game.json"]
    assert file.read_text() == "old"


def test_watch_on_the_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a pipe, too, by its name in the file system."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    reading, writing = os.pipe()
    os.close(writing)
    assert cli.main(["watch", f"/dev/fd/{reading}"]) == 2
    os.close(reading)
    assert "not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".lock", "SHA256SUMS", "games", "games/x.npz", "curve.csv"])
def test_a_folder_with_links_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a command writes or removes there would be outside of it; nothing outside changes."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    words = ["tournament", "random", "saver", "--games", "2", "--players", "2", "--max-rounds", "2"]
    run = tmp_path / "run"
    assert cli.main([*words, "--out", str(run)]) == 0
    capsys.readouterr()
    link = run / name
    if link.is_dir():
        link.rename(tmp_path / "moved")
    link.unlink(missing_ok=True)
    link.symlink_to(outside if name == "games" else outside / "file")
    status = cli.main([*words, "--out", str(run)])
    assert status == 2
    assert name in capsys.readouterr().err
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "precious"


def test_a_folder_behind_a_link_is_its_owners_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may lie on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    words = ["tournament", "random", "saver", "--games", "2", "--players", "2", "--max-rounds", "2"]
    for _ in range(2):
        assert cli.main([*words, "--out", str(tmp_path / "run")]) == 0
    assert (tmp_path / "disk" / "results.json").exists()
    capsys.readouterr()
