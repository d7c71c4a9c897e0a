"""Whatever a command writes reaches the disk before its name counts, so that a power loss leaves no empty file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from megaland_env import MegalandGames
from megaland_env.replay import Recorder, save_replay
from megaland_experiments import cli

SMALL = ["--players", "2", "--games", "4", "--max-rounds", "2"]


def replay(out: Path) -> None:
    recorder = Recorder(MegalandGames(num_games=1, record=True))
    recorder.reset([1])
    save_replay(out, recorder.replay(0))


def command(*words: str) -> Callable[[Path], None]:
    def run(out: Path) -> None:
        assert cli.main([out.name if word == "OUT" else word for word in words]) == 0

    return run


WRITERS: dict[str, Callable[[Path], None]] = {
    "tournament": command("tournament", "random", "threshold", *SMALL, "--out", "OUT"),
    "simulate": command("simulate", "random", *SMALL, "--out", "OUT"),
    "probe": command("probe", "random", *SMALL, "--out", "OUT"),
    "evaluate": command("evaluate", "random", *SMALL, "--json", "OUT"),
    "benchmark": command(
        "benchmark", "--players", "2", "--batch", "1", "--seconds", "0.01", "--adapters", "no", "--csv", "OUT"
    ),
    "replay": replay,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_files_are_synced_before_they_are_renamed_and_folders_afterwards(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("megaland_experiments.strength.figures.tournament_figure", lambda result, players: None)
    monkeypatch.setattr("megaland_experiments.shared.result_files.png", lambda figure: b"a picture")
    monkeypatch.setattr("megaland_experiments.probe.saving.figures", lambda result: {})
    monkeypatch.chdir(tmp_path)
    synced: set[int] = set()  # files by their inodes, since they were written last
    unsafe: set[Path] = set()  # names that a power loss may take
    named: set[Path] = set()
    sync, replace = os.fsync, os.replace

    def fsync(handle: int) -> None:
        sync(handle)
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            for path in list(unsafe):
                if path.parent.stat().st_ino == status.st_ino:
                    unsafe.remove(path)
        else:
            synced.add(status.st_ino)

    def rename(source: Any, target: Any) -> None:
        assert os.stat(source).st_ino in synced, f"{target} was renamed before it was synced"
        replace(source, target)
        unsafe.add(Path(target).absolute())
        named.add(Path(target).absolute())

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    out = tmp_path / "out"
    WRITERS[writer](out)
    assert not unsafe
    there = {path for path in tmp_path.rglob("*") if path.is_file() and path.name not in (".lock", "SHA256SUMS")}
    assert there
    assert there == {path for path in named if path.name != "SHA256SUMS"}  # no file was written in another way
