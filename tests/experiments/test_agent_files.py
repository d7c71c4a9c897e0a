"""Work with a policy that was trained again does not continue the work with the earlier one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from megaland_agents.ppo import CHAMPION, PPOAgent
from megaland_env.checksums import seal
from megaland_env.files import digest
from megaland_experiments import cli
from megaland_experiments.matches import executors
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
    train_again(policy)
    assert cli.main([*words, "--out", out]) == 2
    assert "policies is {" in capsys.readouterr().err


def train_again(policy: Path) -> None:
    """Change the last weight a little, as training would, each time to another value."""
    (weights,) = policy.glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[-4] = (content[-4] + 1) % 256
    weights.write_bytes(content)
    (policy / "SHA256SUMS").unlink()
    seal(policy)


@pytest.mark.parametrize("command", ["tournament random", "simulate random", "probe", "evaluate"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_policy_that_is_replaced_while_a_command_begins(
    command: str,
    workers: int,
    policy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A replaced policy is an error: its games would be recorded under the checksum of the earlier one."""
    if workers == 2 and command == "probe":
        pytest.skip("it has no workers")
    agent = f"ppo:path={policy}"
    words = [*command.split(), agent, "--players", "2", "--games", "2", "--max-rounds", "2"]
    words += [] if command == "evaluate" else ["--out", str(tmp_path / "out")]
    if workers == 2:
        words += ["--workers", "2", *(["--part", "2", "--games", "4"] if "simulate" in command else [])]
        run_jobs = executors.run_jobs

        def replace_and_run(*arguments: Any) -> None:
            train_again(policy)
            run_jobs(*arguments)

        for module in ("matches.arena", "records.simulation"):
            monkeypatch.setattr(f"megaland_experiments.{module}.run_jobs", replace_and_run)
    else:
        load = PPOAgent.__init__

        def replace_and_load(self: PPOAgent, *arguments: Any, **keywords: Any) -> None:
            train_again(policy)
            load(self, *arguments, **keywords)

        monkeypatch.setattr(PPOAgent, "__init__", replace_and_load)
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert f"megaland: error: the policy {policy} was replaced after the command had begun; give the command" in said
    assert not list(tmp_path.glob("out/*/*.parquet"))
    assert not list(tmp_path.glob("out/games/*.npz"))
