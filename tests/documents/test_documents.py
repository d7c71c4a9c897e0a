"""README and the pages of the site are true: examples run, commands are understood, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from megaland_agents.policy_file import save_policy
from megaland_env import NUM_ACTIONS
from megaland_env.observation import FEATURES, NUM_FEATURES, features_table
from megaland_experiments import cli
from tests.support.documents import PAGES, ROOT, Example, blocks, examples, megaland_commands

EXAMPLES = examples()
COMMANDS = megaland_commands()
SMALLER = {"200_000": "4096"}
"""Numbers of an example that are made smaller, to save time."""


def run_python(words: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.where for example in EXAMPLES])
def test_an_example_runs_as_it_stands(example: Example, tmp_path: Path) -> None:
    for name, text in example.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = example.text
    for number, smaller in SMALLER.items():
        code = code.replace(number, smaller)
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    if "policy.onnx" in code:  # which the command above it writes, from what a training has left
        layer = (torch.zeros(NUM_ACTIONS, NUM_FEATURES), torch.zeros(NUM_ACTIONS))
        policy = save_policy(tmp_path / "policy", [layer], activation="tanh", provenance={})
        assert cli.main(["export", str(policy), "--out", str(tmp_path / "policy.onnx")]) == 0
    run_python(["example.py"], tmp_path)
    if "save_sb3_policy" in code:
        assert (tmp_path / "my-policy" / "policy.json").exists()


def test_the_tournament_of_your_own_agent_can_be_played(tmp_path: Path) -> None:
    """The command is given in the folder with the agent's file, as the installed command, with fewer games."""
    page = next(path for path in PAGES if path.stem == "your-own-agent").read_text(encoding="utf-8")
    (tmp_path / "my_agents.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    (words,) = [words for where, words in COMMANDS if "--out collectors" in where]
    words[words.index("--games") + 1] = "8"
    code = "import sys; del sys.path[0]; from megaland_experiments import cli; sys.exit(cli.main())"
    run_python(["-c", code, *words], tmp_path)
    assert (tmp_path / "collectors" / "players-4.png").exists()


@pytest.mark.parametrize("words", [words for _, words in COMMANDS], ids=[where for where, _ in COMMANDS])
def test_a_command_is_understood(words: list[str]) -> None:
    """The parser of the command line takes it, with the options that it names."""
    named = next(word for word in words if not word.startswith("-"))
    assert named in cli.COMMANDS
    cli._arguments(words, named)


def test_an_unknown_option_is_not_understood(capsys: pytest.CaptureFixture[str]) -> None:
    """The test above can fail."""
    with pytest.raises(SystemExit):
        cli._arguments(["evaluate", "random", "--oponents", "random"], "evaluate")
    assert "--oponents" in capsys.readouterr().err


def test_there_are_examples_and_commands() -> None:
    """The blocks are found: their number can only fall on purpose."""
    assert len(EXAMPLES) >= 18
    assert len(COMMANDS) >= 20
    named = {words[0] for _, words in COMMANDS}
    assert {"train", "evaluate", "tournament", "play", "benchmark", "agents", "simulate", "report"} <= named


def test_the_picture_of_the_buildings_is_of_the_games_that_the_commands_above_it_record() -> None:
    """It needs agents that leave some purchases to chance, and the report must read what ``simulate`` has written."""
    page = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
    before = page[: page.index("(buildings.png)")]
    block = before[before.rindex("```console") :].replace("\\\n", " ")
    simulated, reported = (line.split() for line in block.splitlines() if line.startswith("megaland"))
    agents = [word for word in simulated[2:] if ":" in word]
    assert len(agents) == 4
    assert all(agent.startswith("explorer:policy=") for agent in agents)
    assert reported == ["megaland", "report", simulated[simulated.index("--out") + 1]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_it_links_to_is_there(path: Path) -> None:
    """Files, relative to the page, in a clone; a build of the site checks the places inside pages."""
    page = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(((?!https:)[^)#]+)\)", page):
        assert (path.parent / target).exists(), target


def test_a_link_to_a_rule_goes_to_a_rule() -> None:
    """Outside the page of the rules, links name its file, so that they open it in a clone too."""
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8").lower()
    links = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        links += re.findall(r"\]\(rules\.md#(rule-\w+)\)", text)
        assert path.name == "rules.md" or "](#rule-" not in text, path
    assert len(links) > 20
    assert [link for link in links if f"\n({link})=\n" not in rules] == []


def test_the_table_of_features_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "observation.md").read_text(encoding="utf-8")
    assert features_table() in page, "write it again: python docs/make_observation.py"


def test_the_number_of_features_is_right_wherever_it_is_given() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    given = re.findall(r"(\d+) numbers in \[-1, 1\]", text)
    assert len(given) >= 2
    given += re.findall(r"\(\w+, (\d+)\) float32", text)
    assert len(given) >= 3
    assert set(given) == {str(NUM_FEATURES)}


def test_the_ranges_of_features_are_right() -> None:
    """The table on the page about observations: a row for each part of the layout, from index to index."""
    page = (ROOT / "docs" / "observations-and-actions.md").read_text(encoding="utf-8")
    ranges = [(int(first), int(last)) for first, last in re.findall(r"^\| (\d+) to (\d+) \| ", page, re.MULTILINE)][:5]
    assert ranges[0][0] == 0
    assert all(following[0] == this[1] + 1 for this, following in pairwise(ranges))
    owners = [{FEATURES[index].partition(".")[0] for index in range(first, last + 1)} for first, last in ranges]
    assert owners == [{"self"}, {"left1", "left2", "left3", "left4"}, {"self"}, {"table"}, {"kind"}]
    assert ranges[-1][1] == NUM_FEATURES - 1


def test_every_agent_is_on_the_page_about_agents() -> None:
    announced = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    table = page[: page.index("## ")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(announced["megaland.agents"])
