"""Work with a policy that was trained again is other work."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from megaland_agents.ppo import CHAMPION
from megaland_env.checksums import seal
from megaland_env.files import digest
from megaland_experiments import cli
from megaland_experiments.shared.agent_files import policies_of


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHAMPION, tmp_path / "policy"))


def test_the_policies_that_agents_read(policy: Path) -> None:
    (weights,) = policy.glob("*.safetensors")
    expected = {"policies": {str(policy): digest(weights.read_bytes())}}
    for agent in (f"ppo:path={policy}", f"explorer:policy=ppo:path={policy},share=0.1", f"ppo:path='{policy}'"):
        assert policies_of(["random", agent]) == expected
    assert policies_of(["random", "threshold:risk=0.3", "ppo", "ppo:path=no/such/folder", "x:y="]) == {}


@pytest.mark.parametrize("command", ["tournament random", "simulate", "probe"])
def test_a_policy_that_was_trained_again_is_other_work(
    command: str,
    policy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("megaland_experiments.strength.figures.tournament_figure", lambda result, players: None)
    monkeypatch.setattr("megaland_experiments.shared.result_files.png", lambda figure: b"")
    monkeypatch.setattr("megaland_experiments.probe.saving.figures", lambda result: {})
    out = str(tmp_path / "out")
    words = [*command.split(), f"ppo:path={policy}", "--players", "2", "--games", "2", "--max-rounds", "2"]
    assert cli.main([*words, "--out", out]) == 0
    assert cli.main([*words, "--out", out]) == 0
    assert "finished before" in capsys.readouterr().out
    (weights,) = policy.glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # the last weight is a little different
    weights.write_bytes(content)
    seal(policy)
    assert cli.main([*words, "--out", out]) == 2
    assert "policies is {" in capsys.readouterr().err
