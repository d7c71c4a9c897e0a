"""What is not installed: everything else works, and the error names the smallest extra that helps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from megaland_env import extras
from megaland_experiments import agent_list, cli
from tests.support.places import ROOT

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Blocker(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
DISTRIBUTIONS = {"PIL": "pillow", "stable_baselines3": "stable-baselines3", "sb3_contrib": "sb3-contrib"}


def without(blocked: set[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code where some libraries are not installed."""
    script = f"BLOCKED = {blocked!r}\n{BLOCKED}\n{textwrap.dedent(code)}"
    command = [sys.executable, "-W", "error", "-c", script]
    environment = {**os.environ, "MEGALAND_ENGINE": "auto"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, env=environment)


# -------------------------------------------------------------------------------------------------- one table


def requirements() -> dict[str, set[str]]:
    """Of each extra: the distributions and the extras in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    for extra, lines in project["optional-dependencies"].items():
        names = {re.match(r"[\w-]+", line)[0] for line in lines}  # type: ignore[index]
        inner = [each for line in lines for each in re.findall(r"megaland\[(.*)\]", line)]
        found[extra] = (names - {"megaland"}) | {f"[{each}]" for line in inner for each in line.split(",")}
    return found


def test_the_table_is_that_of_the_project() -> None:
    """Each library is in the extra that the table says, directly, and an extra brings what the table says."""
    there = requirements()
    for library, extra in extras.EXTRA_OF.items():
        assert DISTRIBUTIONS.get(library, library) in there[extra], library
    known = {DISTRIBUTIONS.get(library, library) for library in extras.EXTRA_OF}
    for extra in ("fast", "render", "envs", "experiments", "analysis", "tune", "train", "onnx"):
        assert {name for name in there[extra] if not name.startswith("[")} <= known, extra
    for extra, brings in extras.BRINGS.items():
        for each in brings & set(there):
            assert f"[{each}]" in there[extra] or any(f"[{each}]" in there[other] for other in brings & set(there))
        for library in brings - set(there):
            reachable = there[extra].union(*(there[other] for other in brings & set(there)))
            assert library in reachable


@pytest.mark.parametrize(
    ("library", "needed", "extra"),
    [
        ("torch", None, "train"),
        ("torch.nn", "experiments", "train"),
        ("rich", "train", "train"),
        ("rich.table", None, "experiments"),
        ("rich", "analysis", "analysis"),
        ("gymnasium", "train", "train"),
        ("gymnasium", None, "envs"),
        ("gymnasium", "experiments", "envs"),
        ("torch", "onnx", "onnx"),
        ("pettingzoo", "train", "envs"),
        ("PIL", "envs", "envs"),
        ("numba", "train", "fast"),
        ("duckdb", "train", None),
    ],
)
def test_the_smallest_extra(library: str, needed: str | None, extra: str | None) -> None:
    """Or what is needed anyway, if the library is in there."""
    assert extras.extra_for(library, needed) == extra


def test_the_command_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clone, elsewhere with a clone, and from a wheel."""
    monkeypatch.chdir(ROOT)
    assert extras.install_command("envs") == 'pip install -e ".[envs]"'
    monkeypatch.chdir(tmp_path)
    assert extras.install_command("envs") == f'pip install -e "{extras._ROOT}[envs]"'
    monkeypatch.setattr(extras, "_ROOT", tmp_path)
    assert extras.install_command("envs") == 'pip install "megaland[envs]"'


# --------------------------------------------------------------------------------------------------- environments


@pytest.mark.parametrize(
    ("module", "library", "what", "extra"),
    [
        ("megaland_env.megaland_v0", "pettingzoo", "the PettingZoo environment", "envs"),
        ("megaland_env.megaland_v0", "gymnasium", "the PettingZoo environment", "envs"),
        ("megaland_env.envs.pettingzoo_aec", "pettingzoo", "the PettingZoo environment", "envs"),
        ("megaland_env.envs.pettingzoo_parallel", "pettingzoo", "the PettingZoo environment", "envs"),
        ("megaland_env.envs.gymnasium_env", "gymnasium", "the Gymnasium environment", "envs"),
        ("megaland_env.envs.gymnasium_vector", "gymnasium", "the Gymnasium environment", "envs"),
        ("megaland_env.envs.multi_agent_vector", "gymnasium", "the Gymnasium environment", "envs"),
        ("megaland_env.envs.sb3_vec_env", "stable_baselines3", "the Stable-Baselines3 environment", "train"),
        ("megaland_env.envs.sb3_vec_env", "gymnasium", "the Stable-Baselines3 environment", "train"),
        ("megaland_env.render.image", "PIL", "a picture of the board", "render"),
        ("megaland_agents.ppo", "torch", "the agent ppo", "train"),
        ("megaland_agents.ppo", "safetensors", "the agent ppo", "train"),
        ("megaland_agents.sb3_policy", "stable_baselines3", "a policy of Stable-Baselines3", "train"),
    ],
)
def test_an_adapter_says_what_to_install(module: str, library: str, what: str, extra: str) -> None:
    """In the last line; the error is still a ModuleNotFoundError with the name of the library."""
    done = without(
        {library},
        f"""
        try:
            import {module}
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] == {library!r}, error.name
            raise
        """,
    )
    last = done.stderr.strip().splitlines()[-1]
    message = f'{what} needs {library}, which is not installed: pip install -e ".[{extra}]"'
    assert last == f"ModuleNotFoundError: {message}", done.stderr


def test_the_game_needs_numpy_alone() -> None:
    """Games, agents by name, replays and the text of the board."""
    done = without(
        set(extras.EXTRA_OF),
        """
        from megaland_env import MegalandGames
        from megaland_env.agent import make_agent
        from megaland_env.render import render
        games = MegalandGames()
        games.reset(0)
        names = ["random", "planner", "threshold", "lookahead:rollouts=2", "saver", "hearts", "builder", "explorer"]
        for name in names:
            decisions = games.decisions()
            games.step(games.scatter(decisions, make_agent(name).act(decisions)))
        render(games, 0, "ansi")
        """,
    )
    assert done.returncode == 0, done.stderr


# -------------------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_help_always_works(command: str) -> None:
    """With NumPy alone."""
    words = [command, "--help"] if command else ["--help"]
    done = without(set(extras.EXTRA_OF), f"from megaland_experiments import cli\ncli.main({words!r})")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: megaland {command}".rstrip())
    assert "show this help message" in done.stdout


def test_agents_are_listed_without_any_library() -> None:
    """All of them, each with what it needs."""
    done = without(set(extras.EXTRA_OF), "from megaland_experiments import cli\nraise SystemExit(cli.main(['agents']))")
    assert done.returncode == 0, done.stderr
    from megaland_env.agent import agent_names

    for name in agent_names():
        assert re.search(rf"^{name} ", done.stdout, flags=re.MULTILINE)
    assert 'needs safetensors and torch: pip install -e ".[train]"' in done.stdout
    assert done.stdout.count("needs ") == 1


@pytest.mark.parametrize(
    ("words", "blocked", "extra"),
    [
        (["evaluate", "random", "--games", "4"], "rich", "experiments"),
        (["evaluate", "ppo", "--games", "4"], "torch", "train"),
        (["tournament", "random", "threshold", "--out", "{tmp}/x"], "filelock", "experiments"),
        (["train", "--folder", "{tmp}/x"], "rich", "train"),
        (["train", "--folder", "{tmp}/x"], "torch", "train"),
        (["simulate", "random", "--out", "{tmp}/x"], "polars", "analysis"),
        (["report", "{tmp}"], "matplotlib", "analysis"),
        (["probe", "random", "--out", "{tmp}/x"], "matplotlib", "experiments"),
        (["tournament", "random", "threshold", "--out", "{tmp}/x"], "openskill", "experiments"),
        (["export", "x", "--onnx", "{tmp}/y"], "onnx", "onnx"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_command_says_what_to_install(words: list[str], blocked: str, extra: str, tmp_path: Path) -> None:
    """The extra that brings all that the command needs, and nothing is left behind."""
    given = [word.format(tmp=tmp_path) for word in words]
    done = without({blocked}, f"from megaland_experiments import cli\nraise SystemExit(cli.main({given!r}))")
    assert done.returncode == 2, done.stderr
    message = f'megaland {words[0]} needs {blocked}, which is not installed: pip install -e ".[{extra}]"'
    assert done.stderr == f"megaland: error: {message}\n"
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------- list of agents

LOW = -1


class Made:
    """First line.

    Second line.
    """

    def __init__(self, first, low=LOW, *, word="a", other=None) -> None:  # type: ignore[no-untyped-def]
        """Nothing."""


def make_one(seed: int = 3) -> None:
    """A function."""


def test_facts_are_read_from_the_source() -> None:
    """Nothing is imported for them; what cannot be read is left empty."""
    facts = agent_list.agent_facts("tests.env.test_extras:Made")
    assert facts == agent_list.AgentFacts("First line.", ("first", "low=-1", "word=a", "other=None"))
    assert agent_list.agent_facts("tests.env.test_extras:make_one").parameters == ("seed=3",)
    nowhere = ["tests.env.test_extras:Nobody", "no_such_module:Nobody", "no_such.module:Nobody", "sys:Nobody", "", ":"]
    for target in nowhere:
        assert agent_list.agent_facts(target) == agent_list.AgentFacts()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "there is no command 'trian' (did you mean train?); there are train, evaluate"),
        (["evaluate", "random", "--oponents", "x"], "there is no option '--oponents' (did you mean --opponents?)"),
        (["evaluate", "random", "--xyz=3"], "there is no option '--xyz=3'"),
        (["evaluate", "random", "more"], "there is no argument 'more'"),
        (["evaluate", "treshold"], "there is no agent 'treshold' (did you mean threshold?)"),
        (["evaluate", "threshold:rsk=1"], "(did you mean risk?)"),
    ],
)
def test_did_you_mean(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of commands, options, agents and parameters."""
    try:
        status = cli.main(words)
    except SystemExit as exit_:
        status = exit_.code  # type: ignore[assignment]
    assert status == 2
    assert message in capsys.readouterr().err
