"""The command that is printed to continue asks for the same work, for all options."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from megaland_experiments import cli

MARKET = "Herb Hut,gym,Lodge,Arena,Smithy,Hospital,Fish Vendor"
COMMON = ["--games", "6", "--seed", "5", "--market", MARKET, "--payment", "auto", "--max-rounds", "2"]
SEVERAL = ["--players", "2,3", *COMMON]
WORDS = {
    "tournament": ["random", "threshold:risk=0.3", "--lineups", "mixed", "--anchor", "threshold:risk=0.3", *SEVERAL],
    "simulate": ["random", "threshold:risk=0.3", "--decisions", "0.5", "--part", "6", *SEVERAL],
    "probe": ["threshold:risk=0.3", "--opponents", "random,random:seed=1", "--players", "3", *COMMON],
}


@pytest.mark.parametrize("command", WORDS)
def test_it_asks_for_the_same_work(
    command: str, tmp_path: Path, full_disk: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("megaland_experiments.strength.figures.tournament_figure", lambda result, players: None)
    monkeypatch.setattr("megaland_experiments.shared.result_files.png", lambda figure: b"")
    monkeypatch.setattr("megaland_experiments.probe.saving.figures", lambda result: {})
    monkeypatch.chdir(tmp_path)
    with full_disk(2):  # the settings file and its checksum
        assert cli.main([command, *WORDS[command]]) == 2
    said = capsys.readouterr().err.partition("to go on: megaland ")[2]
    (settings,) = (tmp_path / "runs").glob("*/*.json")
    before = json.loads(settings.read_text())["settings"]
    assert cli.main(shlex.split(said)) == 0
    assert json.loads(settings.read_text())["settings"] == before
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == [settings.parent.name]
    capsys.readouterr()
    assert cli.main([command, *WORDS[command]]) == 0  # and so does the command that was given at first
    assert "finished before" in capsys.readouterr().out
