"""Outputs that cannot be written are found before the work by trying it, which also works for root."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from megaland_agents.ppo import CHAMPION
from megaland_experiments import cli
from megaland_experiments.matches import arena
from megaland_experiments.matches import playing as matches
from megaland_experiments.play.match import Match
from megaland_experiments.probe import command as probe_command
from megaland_experiments.records import simulation
from megaland_experiments.report import page as report
from megaland_experiments.shared.output import check_writable
from megaland_experiments.speed import benchmark
from megaland_experiments.training import learning_curves
from megaland_experiments.tuning import tune


def nobody_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make playing a game an error."""

    def play(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a game was played")

    for module in (matches, arena, probe_command, simulation):
        monkeypatch.setattr(module, "play", play)
    monkeypatch.setattr(Match, "play", play)
    monkeypatch.setattr(tune, "strengths", play)
    monkeypatch.setattr(benchmark, "measure", play)
    monkeypatch.setattr(report, "report", play)
    monkeypatch.setattr(learning_curves, "write_curve", play)


def tuned(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        tune.main([*words])
    return int(str(left.value.code))


def drawn(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        learning_curves.main([*words])
    return int(str(left.value.code))


FILES: dict[str, Callable[[str], int]] = {
    "evaluate": lambda path: cli.main(["evaluate", "random", "--json", path]),
    "play": lambda path: cli.main(["play", "--opponents", "random", "--replay", path]),
    "report": lambda path: cli.main(["report", str(Path(__file__).parent), "--out", path]),
    "benchmark": lambda path: cli.main(["benchmark", "--json", path]),
    "benchmark csv": lambda path: cli.main(["benchmark", "--csv", path]),
    "export": lambda path: cli.main(["export", "agents/checkpoints/none", "--onnx", path]),
    "tune": lambda path: tuned("threshold", "--minutes", "0.001", "--out", path),
    "learning_curves": lambda path: drawn("a=runs/none", "--out", path),
}
FOLDERS: dict[str, Callable[[str], int]] = {
    "tournament": lambda path: cli.main(["tournament", "random", "threshold", "--out", path]),
    "simulate": lambda path: cli.main(["simulate", "random", "--out", path]),
    "probe": lambda path: cli.main(["probe", "random", "--out", path]),
}


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder in which no file can be made, not even by root."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    mounted = False
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command = ["mount", "-t", "tmpfs", "-o", "size=64k,ro", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        if not mounted:
            pytest.skip("root can write everywhere, and cannot mount here")
    else:
        folder.chmod(0o555)
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)
    folder.chmod(0o755)


def one_line(capsys: pytest.CaptureFixture[str], path: str) -> str:
    error = capsys.readouterr().err.splitlines()[-1]
    assert "error: " in error
    assert path in error
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize("command", FILES)
def test_a_file_that_cannot_be_written(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody_plays(monkeypatch)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("no/x", "there is no folder"),
        ("folder", "it is a folder"),
        ("file/x", "there is no folder"),
        *([("pipe", "it is not a regular file")] if hasattr(os, "mkfifo") else []),
    ):
        assert FILES[command](str(tmp_path / name)) == 2
        assert message in one_line(capsys, str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "pipe") == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", FILES)
def test_a_file_in_a_folder_that_is_only_read(
    command: str, read_only: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody_plays(monkeypatch)
    assert FILES[command](str(read_only / "x")) == 2
    one_line(capsys, str(read_only / "x"))
    assert list(read_only.iterdir()) == []


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_that_cannot_be(
    command: str,
    tmp_path: Path,
    read_only: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nobody_plays(monkeypatch)
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below", read_only, read_only / "below"):
        assert FOLDERS[command](str(path)) == 2
        one_line(capsys, str(path))
    assert list(read_only.iterdir()) == []
    assert (tmp_path / "file").read_text() == "mine"


def test_the_check_leaves_things_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    check_writable(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device")
def test_a_device_is_not_replaced_by_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device = tmp_path / "device"  # a link, so that a failure of this test harms nothing
    device.symlink_to("/dev/null")
    assert cli.main(["evaluate", "random", "--json", str(device)]) == 2
    assert capsys.readouterr().err == f"megaland: error: {device}: it is not a regular file\n"
    assert device.is_symlink()


def test_a_disk_that_is_full_at_the_end_is_one_line_with_the_command(
    tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "x")
    small = ["--players", "2", "--games", "4", "--max-rounds", "2"]
    for words, again in (
        (["evaluate", "random", *small, "--json", out], "to measure it again: "),
        (["export", str(CHAMPION), "--onnx", out], "to write it again: "),
    ):
        with full_disk(0):
            assert cli.main(words) == 2
        shown, said = capsys.readouterr()
        assert said.startswith(f"megaland: error: {out}: No space left on device; ")
        assert len(said.splitlines()) == 1
        assert ("win share" in shown) == (words[0] == "evaluate")  # the result is not lost
        assert not Path(out).exists()
        assert cli.main(shlex.split(said.partition(again)[2])[1:]) == 0
        capsys.readouterr()
        Path(out).unlink()


def test_a_search_on_a_full_disk_says_how_to_go_on(
    tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "numbers.json")
    words = ["threshold", "--games", "10", "--variants", "4", "--opponents", "random", "--out", out]
    assert tune.main([*words, "--minutes", "0.0001"]) == 0
    written = Path(out).read_bytes()
    capsys.readouterr()
    with full_disk(0):
        assert tune.main([*words, "--minutes", "0.0001"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"error: {out}: No space left on device; to go on from the last numbers that were written: " in said
    assert Path(out).read_bytes() == written
    again = shlex.split(said.partition("that were written: ")[2])
    assert again[:3] == ["python", "-m", "megaland_experiments.tuning.tune"]
    assert again[-2:] == ["--start", out]
    assert tune.main(again[3:]) == 0
