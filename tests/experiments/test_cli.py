"""The command ``megaland``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Decisions, MegalandConfig
from megaland_env.agent import agent_names
from megaland_experiments import cli
from megaland_experiments.shared.output import percent, percents
from megaland_experiments.strength.evaluate import as_table, evaluate
from tests.support.places import ROOT

SMALL = ["--players", "2", "--games", "4", "--max-rounds", "3"]


class Clumsy:
    """Fails at once."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        raise ZeroDivisionError("no coins")


class Tired:
    """Is interrupted."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        raise KeyboardInterrupt


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(words)
    return (status, *capsys.readouterr())


def test_it_is_announced():
    (point,) = entry_points(group="console_scripts", name="megaland")
    assert point.load() is cli.main


@pytest.mark.parametrize(
    "words", [["--help"], ["evaluate", "--help"], ["tournament", "--help"], ["benchmark", "--help"]]
)
def test_help(words, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: megaland")
    if words == ["--help"]:
        assert all(name in text for name in cli.COMMANDS)


@pytest.mark.parametrize(
    "words", [[], ["destroy"], ["evaluate"], ["agents", "--fast"], ["evaluate", "random", "--games", "x"]]
)
def test_words_that_it_does_not_know(words, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == 2
    assert "usage: megaland" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("megaland ")


def test_the_agents(capsys):
    status, out, err = outcome(capsys, "agents")
    assert (status, err) == (0, "")
    rows = {line.partition(" ")[0]: line for line in out.splitlines() if line}
    assert all(name in rows for name in agent_names())
    assert "chooses among the legal actions" in rows["random"]


def test_evaluate_writes_what_the_table_shows(capsys, tmp_path):
    path = tmp_path / "result.json"
    status, out, err = outcome(
        capsys, "evaluate", "random", "--opponents", "random:seed=2", *SMALL, "--json", str(path)
    )
    assert (status, err) == (0, "")
    result = evaluate("random", "random:seed=2", config=MegalandConfig(num_players=2, max_rounds=3), games=4)
    written = json.loads(path.read_text())
    assert written == result.to_dict()
    shown = [cell for column in as_table(result).columns for cell in column.cells]
    assert all(str(cell).strip() in out for cell in shown)
    assert percent(written["results"]["win_share"]) in map(str, shown)
    for figure in ("mean_coins", "mean_rounds", "mean_decisions"):
        assert any(str(cell).startswith(f"{written['results'][figure]:.2f}") for cell in shown)
    assert "random against random:seed=2" in out
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "given", [["--opponents", "random,random:seed=1"], ["--opponents", "random", "--opponents", "random:seed=1"]]
)
def test_several_opponents(given, capsys):
    status, out, _ = outcome(
        capsys, "evaluate", "random", *given, "--players", "3", "--games", "3", "--max-rounds", "2"
    )
    assert status == 0
    assert "random:seed=1, 2 to the left" in out


def test_a_market_by_name(capsys):
    market = "Herb Hut,gym,Lodge,Arena,Smithy,Hospital,Fish Vendor"
    assert cli.main(["evaluate", "random", *SMALL, "--market", market, "--payment", "auto"]) == 0
    capsys.readouterr()
    status, _, err = outcome(capsys, "evaluate", "random", *SMALL, "--market", "Herb Hat,Gym")
    assert status == 2
    assert "did you mean 'Herb Hut'" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "nobody"], "there is no agent 'nobody'; there are "),
        (["evaluate", "random:risk=1"], "'risk'; its parameters are seed"),
        (["evaluate", "no.such:Agent"], "cannot be imported"),
        (["evaluate", "random", "--opponents", "random,nobody,random"], "there is no agent 'nobody'"),
        (["evaluate", "random", "--opponents", "random,random"], "2 opponents; a table of 4"),
        (["evaluate", "random", "--players", "6"], "num_players is 6; it must be from 2 to 5"),
        (["evaluate", "random", "--games", "0"], "games is 0"),
        (["evaluate", "random", "--market", "flea"], "market is 'flea'"),
        (["evaluate", "random", "--json", "no/such/folder/x.json"], "there is no folder"),
        (["evaluate", "random", "--workers", "0"], "workers is 0"),
        (["tournament", "random"], "a tournament needs at least 2 agents"),
        (["tournament", "random", "threshold", "--players", "4", "6"], "num_players is 6"),
        (["tournament", "random", "threshold", "--out", __file__], "is not a folder"),
        (["benchmark", "--players", "1"], "num_players is 1"),
        (["benchmark", "--batch", "0"], "batch is 0"),
        (["benchmark", "--seconds", "0"], "seconds is 0"),
        (["benchmark", "--csv", "no/such/folder/x.csv"], "there is no folder"),
    ],
)
def test_mistakes_of_the_user_are_one_line(words, message, capsys):
    status, _, err = outcome(capsys, *words)
    assert status == 2
    assert message in err
    assert err.startswith("megaland: error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        "train --out", "train --folder", "train --resume", "evaluate random --json", "tournament random hearts --out",
        "report", "report x --out", "probe random --out", "simulate random --out", "benchmark --json",
        "benchmark --csv", "export --out x", "export x --out", "play --replay",
    ],
)  # fmt: skip
def test_an_empty_name(words, capsys):
    """An empty name is an error; an unset variable of a shell gives one."""
    with pytest.raises(SystemExit) as left:
        cli.main([*words.split(), ""])
    assert left.value.code == 2
    assert "the name is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "random", "--games", "1e30"], "'1e30' must be a whole number, .* of at most 64 bits"),
        (["evaluate", "random", "--games", "1.5"], "'1.5' must be a whole number, such as 30000, 30_000 or 3e4$"),
        (["evaluate", "random", "--players", "2,3"], "'2,3' must be one number; give the command again for another"),
        (["evaluate", "random", "--seed", "-1"], r"--seed: '-1' must be a whole number from 0 to 2\*\*64 - 1"),
        (["tournament", "random", "hearts", "--seed", "-1"], "'-1' must be a whole number from 0 to"),
        (["simulate", "random", "--seed", "-1"], "'-1' must be a whole number from 0 to"),
        (["probe", "random", "--seed", "-1"], "'-1' must be a whole number from 0 to"),
        (["--versoin"], r"there is no option '--versoin' \(did you mean version\?\)|did you mean --version"),
        (["benchmark", "--seed", "1"], "there is no option '--seed'$"),
        (["evaluate", "random", "--agents", "3"], "there is no option '--agents'$"),
        (["evaluate", "random", "--gmaes", "3"], r"there is no option '--gmaes' \(did you mean --games\?\)"),
        (["nonsense"], "there is no command 'nonsense'; there are train, "),
        (["tournament", "random", "hearts", "--players", "2", "--foo", "bar"], "there is no option '--foo'$"),
        (["evaluate", "random", "hearts"], "there is no argument 'hearts'"),
    ],
)
def test_words_of_the_command_line_that_are_wrong(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert re.search(message, said.rstrip("\n"))
    assert words[0] in ("--versoin", *cli.COMMANDS) or "COMMAND ..." in said  # the usage names it


def test_a_market_that_is_misspelt(capsys):
    status, _, err = outcome(capsys, "evaluate", "random", "--market", "sprad")
    assert status == 2
    assert "market is 'sprad' (did you mean 'spread'?); it must be one of" in err


def test_the_help_has_a_line_for_each_short_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "\n    tournament  let agents play against each other, and rate them\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["tournament", "simulate"])
def test_agents_on_both_sides_of_an_option(command):
    for words in (["random", "--players", "2", "3", "threshold"], ["--players", "2,3", "random", "threshold"]):
        arguments = cli._arguments([command, *words], command)
        assert (arguments.agents, arguments.players) == (["random", "threshold"], (2, 3))


def test_a_policy_in_the_place_of_an_agent(capsys, tmp_path):
    policy = tmp_path / "run" / "policy"
    policy.mkdir(parents=True)
    (policy / "policy.json").write_text("{}")
    for named in (policy, policy.parent):
        status, _, err = outcome(capsys, "evaluate", "random", "--opponents", str(named))
        assert status == 2
        assert f"there is no agent '{named}', but a policy of that name: its agent is ppo:path={policy}" in err


def test_a_report_on_a_training_run(capsys, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text("{}")
    status, _, err = outcome(capsys, "report", str(tmp_path))
    assert status == 2
    assert f"{tmp_path} holds a training run" in err
    assert f"megaland train --resume {tmp_path} shows the report" in err


def test_a_mistake_with_its_traceback():
    with pytest.raises(ValueError, match="no agent 'nobody'"):
        cli.main(["--traceback", "evaluate", "nobody"])


def test_an_agent_that_fails_is_named_and_its_own_traceback_shown(capsys):
    status, _, err = outcome(capsys, "evaluate", "tests.experiments.test_cli:Clumsy", *SMALL)
    assert status == 1
    assert 'raise ZeroDivisionError("no coins")' in err
    assert (
        "megaland: error: agent 'tests.experiments.test_cli:Clumsy' raised ZeroDivisionError: no coins; it was asked"
        in err
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory for this\n"),
        (
            MemoryError("Unable to allocate 18.2 TiB"),
            "there is not enough memory for this: Unable to allocate 18.2 TiB\n",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory for this: Default"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), "not enough memory for this: Default"),
    ],
)
def test_too_little_memory_is_one_line(error, message, capsys, monkeypatch):
    def fail(arguments):
        raise error

    monkeypatch.setattr("megaland_experiments.agent_list.run", fail)
    status, _, err = outcome(capsys, "agents")
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith("megaland: error: ")
    assert message in err
    with pytest.raises(type(error)):
        cli.main(["--traceback", "agents"])


def test_other_errors_of_libraries_keep_their_traceback(monkeypatch):
    def fail(arguments):
        raise RuntimeError("a fault")

    monkeypatch.setattr("megaland_experiments.agent_list.run", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        cli.main(["agents"])


def test_interrupted(capsys):
    status, _, err = outcome(capsys, "evaluate", "tests.experiments.test_cli:Tired", *SMALL)
    assert status == 130
    assert "interrupted" in err


def test_as_a_module_and_without_heavy_imports():
    code = (
        "import sys; from megaland_experiments import cli\n"
        "assert cli.main(['agents']) == 0\n"
        f"assert cli.main(['evaluate', 'random', *{SMALL}]) == 0\n"
        "import megaland_experiments.strength.tournament\n"
        "heavy = {'torch', 'stable_baselines3', 'pettingzoo', 'matplotlib', 'openskill'}\n"
        "assert not heavy & set(sys.modules)"
    )
    root = ROOT
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=root)
    found = subprocess.run(
        [sys.executable, "-m", "megaland_experiments.cli", "agents"], check=True, capture_output=True, cwd=root
    )
    assert b"random" in found.stdout
    assert np.any([line.startswith(b"random") for line in found.stdout.splitlines()])


# ------------------------------------------------------------------------------------------------------ one spelling


def parse(*words: str) -> Any:
    """The options of a command, as ``main`` reads them."""
    return cli._arguments(words, words[0])


@pytest.mark.parametrize(
    "words",
    [["--players", "2,3"], ["--players", "2", "3"], ["--players=2,3"], ["--pl", "2", "3"]],
)
@pytest.mark.parametrize("command", ["tournament", "simulate"])
def test_several_players_in_one_spelling(command: str, words: list[str]) -> None:
    """``--players`` takes several numbers, before or after agents, and never takes an agent for a value."""
    for given in ([command, "random", "threshold", *words], [command, *words, "random", "threshold"]):
        found = parse(*given)
        assert found.players == (2, 3)
        assert found.agents == ["random", "threshold"]


def test_no_option_swallows_an_agent() -> None:
    """No option takes the name of an agent for its value, not even one that takes names."""
    for kinds in (["pairs"], ["pairs,mixed"], ["pairs", "mixed"]):
        found = parse("tournament", "--lineups", *kinds, "random", "threshold")
        assert found.agents == ["random", "threshold"]
        assert found.lineups == tuple(",".join(kinds).split(","))
    found = parse("evaluate", "--opponents", "random,saver", "threshold")
    assert found.agent == "threshold"
    assert parse("evaluate", "--opponents", "random", "--opponents", "saver", "threshold").opponents == [
        "random",
        "saver",
    ]
    found = parse("tournament", "--players", "2", "--", "3", "random")
    assert (found.players, found.agents) == ((2,), ["3", "random"])


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command, options in {
            "evaluate random": "games seed players batch workers max-rounds",
            "probe random": "games seed players max-rounds",
            "tournament random saver": "games seed workers max-rounds",
            "simulate random": "games seed workers part max-rounds",
            "play": "seed seat players max-rounds",
            "train": "total-steps num-envs seed",
        }.items()
        for option in options.split()
    ],
)
def test_every_count_may_be_written_in_any_way(command: str, option: str, capsys: Any) -> None:
    """``1e3`` is a thousand everywhere, and a fraction is none."""
    name = option.replace("-", "_")
    for word in ("1000", "1e3", "1_000", "1000.0"):
        value = getattr(parse(*command.split(), f"--{option}", word), name)
        assert (value, type(value)) == (1000, int)
    with pytest.raises(SystemExit):
        parse(*command.split(), f"--{option}", "2.5")
    assert "'2.5' must be a whole number" in capsys.readouterr().err


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name not in ("watch", "agents", "warm-up")])
def test_options_have_one_name_for_one_thing(command: str) -> None:
    """The output of every command goes to ``--out``, and no option takes more than one word."""
    parser = cli.Parser()
    options = import_module(cli.COMMANDS[command].options or cli.COMMANDS[command].module)
    options.add_arguments(parser)
    names = {name for action in parser._actions for name in action.option_strings}
    writes = {"evaluate": "--json", "benchmark": "--json", "play": "--replay"}
    assert writes.get(command, "--out") in names
    assert ("--market" in names) == (command not in ("benchmark", "export", "report"))
    for action in parser._actions:
        takes_more = action.nargs == "+" and action.option_strings
        assert not takes_more or (command, action.dest) == ("train", "opponents")  # it has no agents that follow


def test_a_line_up_of_no_kind(capsys: Any) -> None:
    """The error for an unknown kind of line-up lists the kinds."""
    with pytest.raises(SystemExit):
        parse("tournament", "random", "saver", "--lineups", "pears")
    assert "'pears' is none of pairs, mixed" in capsys.readouterr().err


def test_shares_are_shown_in_percent() -> None:
    """Shares are shown in percent everywhere; files have the fraction."""
    assert percent(0.4961) == "49.6 %"
    assert percent(0.95, 0) == "95 %"
    assert percents(0.481, 0.5123) == "48.1 to 51.2 %"
    result = evaluate("random", "random:seed=2", config=MegalandConfig(num_players=2, max_rounds=3), games=4)
    cells = [str(cell) for column in as_table(result).columns for cell in column.cells]
    assert percent(result.win_share) in cells
    assert "50.0 %" in cells
