"""The tuning script: all variants are measured in the same way, and the result is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from megaland_env.agent import RandomAgent, make_agent
from megaland_experiments.tuning import tune
from megaland_experiments.tuning.tune import (
    AGENTS,
    PlannerVariants,
    ThresholdVariants,
    planner_numbers,
    strengths,
    threshold_numbers,
)


def test_equal_variants_are_worth_the_same_and_worse_ones_less() -> None:
    """Variants play with the same randomness, so equal ones have equal results even in few games."""
    good = {tunable.name: tunable.start for tunable in threshold_numbers()}
    found = strengths(ThresholdVariants, [good, good | {"risk": 0.0}, good], [make_agent("threshold")], 60, 1)
    assert found[0] == found[2]
    assert found[1] < found[0] - 0.2
    assert 0.5 < found[0] < 1.5  # among equals 1


def test_opponents_take_turns() -> None:
    start = [{tunable.name: tunable.start for tunable in planner_numbers()}]
    strong = strengths(PlannerVariants, start, [RandomAgent()], 20, 1)[0]
    mixed = strengths(PlannerVariants, start, [make_agent("planner"), RandomAgent()], 20, 1)[0]
    assert mixed < strong


@pytest.mark.parametrize("agent", AGENTS)
def test_the_command(agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs generations from the agent's present numbers, then from those that it has found."""
    out = tmp_path / "numbers.json"
    arguments = [agent, "--minutes", "0", "--games", "5", "--variants", "4", "--out", str(out)]
    assert tune.main(arguments) == 0
    assert "generation 1:" in capsys.readouterr().out
    written = json.loads(out.read_text())
    tunables = AGENTS[agent][0]()
    assert list(written["numbers"]) == [tunable.name for tunable in tunables]
    for tunable in tunables:
        assert tunable.low <= written["numbers"][tunable.name] <= tunable.high
    assert tune.main([*arguments, "--start", str(out)]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "4"], "--games is 4; it must be at least 5"),
        (["--variants", "1"], "--variants is 1; it must be at least 2"),
        (["--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["--start", "other.json"], "other.json has the numbers of threshold, not of planner"),
        (["--start", "nothing.json"], "No such file"),
        (["--start", "list.json"], "list.json has not been written by a search"),
        (["--opponents", "nobody"], "there is no agent 'nobody'"),
        (["--out", "nowhere/numbers.json"], "there is no folder nowhere"),
    ],
)
def test_arguments_without_meaning(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.json").write_text("[1, 2]")
    Path("other.json").write_text(json.dumps({"agent": "threshold", "numbers": {"risk": 0.5}}))
    with pytest.raises(SystemExit):
        tune.main(["planner", "--minutes", "0.001", "--out", "numbers.json", *words])
    assert message in capsys.readouterr().err
    assert not Path("numbers.json").exists()


def test_what_was_found_is_there_even_if_it_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any, **__: Any) -> None:
        raise OSError("nobody listens")

    monkeypatch.setattr(Console, "print", closed)
    out = tmp_path / "threshold.json"
    words = ["threshold", "--minutes", "0", "--games", "5", "--variants", "4", "--out", str(out)]
    assert tune.main(words) == 0
    assert json.loads(out.read_text())["generation"] == 1
