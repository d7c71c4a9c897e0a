"""The README is true: its examples run, its commands exist, its table of features is the generated one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from agents.ppo import save_policy
from experiments import cli
from megaland_env import NUM_ACTIONS
from megaland_env.observation import NUM_FEATURES, features_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "your-own-agent.md").read_text(encoding="utf-8")
PYTHON = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
EXAMPLES = PYTHON.findall(README)
COMMANDS = re.findall(r"^megaland (\w+)", README + PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"example-{k}" for k in range(len(EXAMPLES))])
def test_an_example_runs_as_it_stands(example: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    if "policy.onnx" in example:  # which the command above it writes, from what a training has left
        layer = (torch.zeros(NUM_ACTIONS, NUM_FEATURES), torch.zeros(NUM_ACTIONS))
        policy = save_policy(tmp_path / "policy", [layer], activation="tanh", provenance={})
        assert cli.main(["export", str(policy), "--out", str(tmp_path / "policy.onnx")]) == 0
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_about_agents_can_be_followed(tmp_path: Path) -> None:
    """The file that it says to write, the command to give, and what to do from Python."""
    agents, from_python, from_sb3 = PYTHON.findall(PAGE)
    (name,) = re.findall(r"\A# (\w+\.py)\n", agents)
    (tmp_path / name).write_text(agents, encoding="utf-8")
    (tmp_path / "example.py").write_text(from_python, encoding="utf-8")
    (tmp_path / "model.py").write_text(from_sb3.replace("200_000", "4096"), encoding="utf-8")
    (command,) = re.findall(r"^megaland (.*--games) \d+ (.*)$", PAGE, flags=re.MULTILINE)
    code = "import sys; del sys.path[0]; from experiments import cli; sys.exit(cli.main())"  # as the installed command
    for words in (["-c", code, *command[0].split(), "8", *command[1].split()], ["example.py"], ["model.py"]):
        done = subprocess.run(
            [sys.executable, "-W", "error", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "collectors" / "players-4.png").exists()
    assert (tmp_path / "my-policy" / "policy.json").exists()


def test_there_are_examples_and_commands() -> None:
    assert len(EXAMPLES) >= 6
    assert {"train", "evaluate", "tournament", "play", "benchmark", "agents"} <= set(COMMANDS)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_a_command_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main([command, "--help"])
    assert exit_.value.code == 0
    assert f"megaland {command}" in capsys.readouterr().out


def test_the_picture_of_the_buildings_is_of_the_games_that_the_commands_above_it_record() -> None:
    """It needs agents that leave some purchases to chance, and the report must read what ``simulate`` has written."""
    before = README[: README.index("docs/buildings.png")]
    block = before[before.rindex("```console") :].replace("\\\n", " ")
    simulated, reported = (line.split() for line in block.splitlines() if line.startswith("megaland"))
    agents = [word for word in simulated[2:] if ":" in word]
    assert len(agents) == 4
    assert all(agent.startswith("explorer:policy=") for agent in agents)
    assert reported == ["megaland", "report", simulated[simulated.index("--out") + 1]]


def test_what_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(((?!https:)[^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_table_of_features_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "observation.md").read_text(encoding="utf-8")
    assert features_table() in page, "write it anew: python docs/make_observation.py"
    assert f"**Observation**: {NUM_FEATURES} numbers" in README
