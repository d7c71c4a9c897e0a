"""The command ``megaland``, with its subcommands."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from megaland_env.agent import did_you_mean, names_class
from megaland_env.extras import is_installed, missing
from megaland_experiments.matches.playing import AgentError
from megaland_experiments.options import Parser
from megaland_experiments.shared.output import say, versions

USAGE_ERROR = 2  # as argparse has it
FAILURE = 1
INTERRUPTED = 130  # as a shell has it: 128 + SIGINT


class Command(NamedTuple):
    """A subcommand.

    Attributes:
        module: the module with ``run(arguments) -> int``; imported only when the command runs.
        help: what it does, for ``megaland --help``.
        options: the module with ``add_arguments(parser)``, which needs NumPy alone; ``module`` by default.
        extra: the extra that installs all that the command needs, except what its agents need.
        libraries: the libraries of that extra that must be installed before the command begins.
    """

    module: str
    help: str
    options: str = ""
    extra: str | None = None
    libraries: tuple[str, ...] = ()


_DRAWS = ("rich", "matplotlib")

COMMANDS = {
    "train": Command(
        "megaland_experiments.training.train",
        "train a PPO agent",
        "megaland_experiments.training.options",
        "train",
        (*_DRAWS, "torch", "stable_baselines3", "sb3_contrib", "safetensors", "filelock", "tensorboard"),
    ),
    "evaluate": Command(
        "megaland_experiments.strength.evaluate",
        "measure how strong an agent is against others",
        "",
        "experiments",
        ("rich",),
    ),
    "tournament": Command(
        "megaland_experiments.strength.tournament",
        "let agents play against each other, and rate them",
        "",
        "experiments",
        (*_DRAWS, "openskill", "filelock"),
    ),
    "report": Command(
        "megaland_experiments.report.page",
        "write an HTML page with the tables and pictures of recorded games or a tournament",
        "megaland_experiments.report.options",
        "analysis",
        (*_DRAWS, "polars", "statsmodels", "filelock"),
    ),
    "probe": Command(
        "megaland_experiments.probe.command", "measure which decisions an agent makes", "", "experiments", _DRAWS
    ),
    "simulate": Command(
        "megaland_experiments.records.simulation",
        "play games between agents, and record them as tables",
        "megaland_experiments.records.simulation_options",
        "analysis",
        ("rich", "polars", "filelock"),
    ),
    "benchmark": Command(
        "megaland_experiments.speed.benchmark", "measure how fast the engine and the environments are"
    ),
    "warm-up": Command(
        "megaland_experiments.speed.warm_up",
        "compile the engine for this machine, which makes games many times as fast",
        "",
        "fast",
        ("numba", "platformdirs", "filelock"),
    ),
    "export": Command(
        "megaland_experiments.training.export",
        "write a trained policy as an ONNX model",
        "megaland_experiments.training.export_options",
        "onnx",
        ("onnx", "torch", "safetensors"),
    ),
    "play": Command("megaland_experiments.play.command", "play against agents in the terminal"),
    "watch": Command("megaland_experiments.play.watch", "step through a recorded game"),
    "agents": Command("megaland_experiments.agent_list", "list the available agents, with their parameters"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand.

    Returns:
        The exit status: 0 for success, 1 if an agent failed, 2 for an error that the user can correct (one line says
        which), 130 if interrupted. As usual with argparse, ``--help`` and unknown arguments raise ``SystemExit``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    # An agent may be defined in a file of the current folder. The folder is importable only if such an agent was typed:
    # it may hold files from somebody else, and a module there could stand in for a package that is not installed.
    if any(names_class(word) for word in words) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    named = next((word for word in words if not word.startswith("-")), "")
    show_traceback = "--traceback" in words
    try:
        arguments = _arguments(words, named)
        command = COMMANDS[named]
        for library in command.libraries:  # before anything is played or written
            if not is_installed(library):
                raise ModuleNotFoundError(name=library)
        status: int = import_module(command.module).run(arguments)
        return status
    except KeyboardInterrupt:
        say("interrupted", error=True)
        return INTERRUPTED
    except AgentError as error:
        if error.__cause__ is not None:  # the author of the agent needs its traceback
            say("".join(traceback.format_exception(error.__cause__)).rstrip("\n"), error=True)
        say(f"megaland: error: {error}", error=True)
        return FAILURE
    except (ValueError, OSError, ModuleNotFoundError) as error:
        if show_traceback:
            raise
        say(f"megaland: error: {_message(error, named)}", error=True)
        return USAGE_ERROR
    except (MemoryError, RuntimeError) as error:
        if show_traceback or not _is_about_memory(error):
            raise
        say(f"megaland: error: there is not enough memory for this: {error}".removesuffix(": "), error=True)
        return USAGE_ERROR


def _is_about_memory(error: Exception) -> bool:
    """Whether memory ran out, for which PyTorch has no class of errors."""
    return isinstance(error, MemoryError) or re.search("allocate memory|not enough memory", str(error)) is not None


def _message(error: Exception, named: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        extra = COMMANDS[named].extra if named in COMMANDS else None
        return str(missing(error, extra, f"megaland {named}"))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _arguments(words: Sequence[str], named: str) -> argparse.Namespace:
    """Parse the command line. Only the subcommand in use gets its options, since they take an import."""
    parser = Parser(prog="megaland", description="The board game Megaland for reinforcement learning.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {versions()['megaland']}")
    parser.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    chosen = parser
    if named and named not in COMMANDS:
        guess = did_you_mean(named, COMMANDS)
        parser.error(f"there is no command {named!r}{guess}; there are {', '.join(COMMANDS)}")
    for name, command in COMMANDS.items():
        sentence = f"{command.help[0].upper()}{command.help[1:]}."
        subparser = commands.add_parser(name, help=command.help, description=sentence)
        if name == named:
            import_module(command.options or command.module).add_arguments(subparser)
            chosen = subparser
    options = [option for action in chosen._actions for option in action.option_strings]
    if not named:
        wrong = [word for word in words if not any(option.startswith(word) for option in options)]
        if wrong:
            parser.error(f"there is no option {wrong[0]!r}{did_you_mean(wrong[0], options)}")
    arguments, unknown = parser.parse_known_args(chosen.joined(words))
    if isinstance(getattr(arguments, "agents", None), list) and not any(word.startswith("-") for word in unknown):
        arguments.agents += unknown  # those after an option, as in: tournament random --players 2 threshold
        unknown = []
    if unknown:
        word = next((word for word in unknown if word.startswith("-")), unknown[0])
        guess = did_you_mean(word.partition("=")[0], options)
        what = "option" if word.startswith("-") else "argument"
        chosen.error(f"there is no {what} {word!r}{guess}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
