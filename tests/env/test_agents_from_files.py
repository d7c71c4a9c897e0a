"""What a file may name as an agent: those that are announced, and never code."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import megaland_env.agent as agent_module
from megaland_agents.heuristics.explorer import ExplorerAgent
from megaland_agents.ppo import CHAMPION, PPOAgent
from megaland_env import Decisions, MegalandConfig, MegalandGames, replay
from megaland_env.agent import (
    MOST_CHARACTERS,
    MOST_NESTED,
    RandomAgent,
    announced_only,
    check_announced,
    make_agent,
)
from megaland_experiments import cli
from megaland_experiments.records import folder as records

CODE = """
from pathlib import Path
Path(__file__).with_name("executed").touch()

class Evil:
    def __init__(self, **given):
        Path(__file__).with_name("called").touch()

    def act(self, decisions):
        return decisions.legal.argmax(axis=1)

class NoAgent:
    def __init__(self, **given):
        Path(__file__).with_name("called").touch()

def Function(**given):
    Path(__file__).with_name("called").touch()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module ``evil_module`` that leaves a file when it is executed."""
    (tmp_path / "evil_module.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("evil_module", None)


HOSTILE = [
    "evil_module:Evil",
    "evil_module:Evil:seed=3",
    "evil_module:_Evil",
    "evil_module:Evil:x=\n1",
    "explorer:policy=evil_module:Evil",
    "explorer:explore=0.1,policy=evil_module:Evil",
    "explorer:policy='evil_module:Evil'",
    "explorer:policy=' evil_module:Evil '",
    "explorer:policy=['evil_module:Evil']",
    "explorer:policy={'evil_module:Evil'}",
    "explorer:policy={'evil_module:Evil':1}",
    "explorer:policy=(('evil_module:Evil'))",
    "explorer:policy=b'evil_module:Evil'",
    "lookahead:policy=explorer:policy=evil_module:Evil",
    "lookahead:policy='explorer:policy=evil_module:Evil'",
    "explorer:policy=explorer:policy='explorer:policy=evil_module:Evil'",
    "random:unknown=evil_module:Evil",
]


@pytest.mark.parametrize("spec", HOSTILE)
def test_a_file_executes_nothing(module: Path, spec: str) -> None:
    """Neither as an agent nor as the parameter of one, at any depth."""
    with announced_only(), pytest.raises(ValueError, match="file may only name announced agents"):
        make_agent(spec)
    with pytest.raises(ValueError, match="file may only name announced agents"):
        check_announced(spec)
    assert not (module / "executed").exists()


class Announced:
    """An agent of another package, which takes other agents in ways of its own."""

    made: Any = None

    def __init__(self, **given: Any) -> None:
        if "module" in given:  # puts the name of the other one together from its parameters
            self.made = make_agent(f"{given['module']}:{given['name']}")
        self.later = given.get("later")

    def act(self, decisions: Decisions) -> Any:
        return make_agent(self.later).act(decisions)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """``Announced`` as the announced agent ``other``."""
    real = agent_module.entry_points

    class Point:
        name = "other"

        @staticmethod
        def load() -> Any:
            return Announced

    def points(*, group: str, name: str | None = None) -> Any:
        return [Point] if name == "other" else real(group=group, **({} if name is None else {"name": name}))

    monkeypatch.setattr(agent_module, "entry_points", points)


@pytest.mark.usefixtures("announced")
def test_agents_of_other_packages_get_no_further(module: Path) -> None:
    """Whether they make the other agent at once, from parts of its name, or when they first act."""
    with announced_only():
        with pytest.raises(ValueError, match="announced agents"):
            make_agent("other:module=evil_module,name=Evil")
        with pytest.raises(ValueError, match="announced agents"):
            make_agent("other:later=evil_module:Evil")
        assert isinstance(make_agent("other:later=random"), Announced)
    assert not (module / "executed").exists()


def test_announced_agents_are_made() -> None:
    """With their parameters, nested ones and paths of policies included."""
    with announced_only():
        nested = make_agent("explorer:policy=explorer:policy=random,explore=0.5")
        policy = make_agent(f"ppo:path={CHAMPION}")
        made = RandomAgent(3)
        assert make_agent(made) is made  # an agent that a program has made is no text from a file
    assert isinstance(nested, ExplorerAgent)
    assert isinstance(nested.policy, ExplorerAgent)
    assert isinstance(nested.policy.policy, RandomAgent)
    assert isinstance(policy, PPOAgent)


@pytest.mark.parametrize("path", [r"\\host\share\policy", "//host/share/policy", r"'\\\\host\\share'"])
def test_a_file_may_not_name_a_path_on_another_computer(path: str) -> None:
    """On Windows, opening one sends the user's credentials there."""
    with announced_only(), pytest.raises(ValueError, match="path on another computer"):
        make_agent(f"ppo:path={path}")


def test_it_ends_with_its_block_and_cannot_be_left_from_inside(module: Path) -> None:
    """Also after an error, and in this thread alone."""
    with pytest.raises(ZeroDivisionError), announced_only():
        raise ZeroDivisionError
    with announced_only():
        with announced_only():
            pass
        with pytest.raises(ValueError, match="announced agents"):
            make_agent("evil_module:Evil")
        found = []
        thread = threading.Thread(target=lambda: found.append(make_agent("evil_module:Evil")))
        thread.start()
        thread.join()
    assert type(found[0]).__name__ == "Evil"
    assert type(make_agent("evil_module:Evil:seed=3")).__name__ == "Evil"  # somebody typed it


@pytest.mark.parametrize("name", ["NoAgent", "Function"])
def test_what_was_typed_is_looked_at_before_it_is_called(module: Path, name: str) -> None:
    """A name may be mistyped; whatever has it must not run with the parameters."""
    with pytest.raises(ValueError, match=r"is not a class with a method act\(decisions\)"):
        make_agent(f"evil_module:{name}:x=1")
    assert not (module / "called").exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (3, "an agent in a file must be a name, not 3"),
        (None, "must be a name, not None"),
        (["random"], "must be a name, not"),
        ("nobody", "there is no agent 'nobody'"),
        ("", "there is no agent ''"),
        ("x" * (MOST_CHARACTERS + 1), "4,097 characters"),
        ("explorer:policy=" * 20 + "random", "agents are inside each other"),
    ],
    ids=repr,
)
def test_other_texts_are_refused(spec: Any, message: str) -> None:
    """With the reason."""
    with pytest.raises(ValueError, match=message):
        check_announced(spec)
    if isinstance(spec, str):
        with pytest.raises(ValueError, match=message):
            make_agent(spec)


def test_depth() -> None:
    """So many agents inside each other are made, and one more is not."""
    make_agent("explorer:policy=" * (MOST_NESTED - 1) + "random")
    with pytest.raises(ValueError, match="inside each other"):
        make_agent("explorer:policy=" * MOST_NESTED + "random")


PIECES = [*"explorer:policy=,'\"[](){}\\ \n\x001.-", "random", "explore", "seed=", "evil_module:Evil", "policy="]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_is_more_than_a_value_error(text: str) -> None:
    """Whatever a file holds, an error names what is wrong, and nothing is imported."""
    for spec in (text, f"explorer:policy={text}", f"random:seed={text}"):
        with announced_only():
            try:
                agent = make_agent(spec)
            except ValueError:
                continue
        assert isinstance(agent, (RandomAgent, ExplorerAgent))
    assert "evil_module" not in sys.modules


def test_names_that_are_nearly_right() -> None:
    """The error says what was probably meant."""
    with pytest.raises(ValueError, match=r"no agent 'treshold' \(did you mean threshold\?\); there are"):
        make_agent("treshold")
    with pytest.raises(ValueError, match=r"\(did you mean explore\?\); its parameters are policy, explore, seed"):
        make_agent("explorer:explor=0.1")


def test_the_random_agent_checks_its_seed() -> None:
    """When it is made, not when it first acts."""
    with pytest.raises(ValueError, match="seed is 'x'; it must be an integer"):
        make_agent("random:seed=x")
    assert make_agent("random:seed=3").seed == 3  # type: ignore[attr-defined]
    RandomAgent(np.int64(3))  # type: ignore[arg-type]


def test_a_folder_that_was_received_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules and announcements in the working folder are found only by who types a class: it may be a received one."""
    metadata = tmp_path / "evil-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: evil\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[megaland.agents]\nevil = evil_module:Evil\n")
    (tmp_path / "evil_module.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    assert cli.main(["evaluate", "evil", "--games", "2"]) == 2
    assert str(tmp_path) not in sys.path
    assert not (tmp_path / "executed").exists()
    games = ["--games", "4", "--opponents", "random"]
    assert cli.main(["evaluate", "explorer:policy=evil_module:Evil", *games]) == 0
    assert (tmp_path / "called").exists()
    sys.modules.pop("evil_module")


def test_files_that_only_show_agents_make_none(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replay and the provenance of a policy; names in them are text."""
    name = "evil_module:Evil"
    game = MegalandGames(MegalandConfig(2), 1)
    recorder = replay.Recorder(game)
    recorder.reset(1)
    replay.save_replay(tmp_path / "game.json", recorder.replay(0, agents=[name, f"explorer:policy={name}"]))
    assert cli.main(["watch", str(tmp_path / "game.json"), "--all"]) == 0
    assert name in capsys.readouterr().out
    policy = tmp_path / "policy"
    policy.mkdir()
    description = json.loads((CHAMPION / "policy.json").read_text())
    description["provenance"] = {"config": {"opponents": {name: 1.0}}}
    (policy / "policy.json").write_text(json.dumps(description))
    (policy / "policy.safetensors").write_bytes((CHAMPION / "policy.safetensors").read_bytes())
    assert isinstance(make_agent(f"ppo:path={policy}"), PPOAgent)
    assert not (module / "executed").exists()


@pytest.mark.parametrize(
    ("command", "is_given"),
    [
        ("megaland simulate random 'a b' --out x", True),
        ("megaland simulate random; rm -rf ~", False),
        ("rm -rf ~", False),
        ("megaland simulate evil_module:Evil", False),
        ("megaland simulate 'explorer:policy=evil_module:Evil'", False),
        ("megaland simulate '", False),
        ("megaland simulate random $(rm)", False),
        (None, False),
    ],
)
def test_a_command_from_a_file_is_suggested_only_if_it_is_ours(command: str | None, is_given: bool) -> None:
    """Whoever copies it should not run anything else."""
    assert records._is_safe_to_give(command) == is_given
