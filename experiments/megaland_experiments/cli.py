"""The command ``megaland``: train, evaluate, probe, benchmark and more, and the list of agents."""

from __future__ import annotations

import argparse
import os
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
        module: has ``run(arguments) -> int``, and is imported when the command runs.
        help: what it does.
        options: the module with ``add_arguments(parser)``, which needs NumPy alone; ``module`` by default.
        extra: brings all that it needs besides its agents.
        libraries: of that extra, which must be there before it begins.
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
        "let agents play each other, and rate them",
        "",
        "experiments",
        (*_DRAWS, "openskill", "filelock"),
    ),
    "report": Command(
        "megaland_experiments.analysis.report",
        "make a page of the tables and pictures of recorded games or a tournament",
        "megaland_experiments.analysis.report_options",
        "analysis",
        (*_DRAWS, "polars", "statsmodels", "filelock"),
    ),
    "probe": Command(
        "megaland_experiments.probe.probe", "measure what decisions an agent makes", "", "experiments", _DRAWS
    ),
    "simulate": Command(
        "megaland_experiments.records.simulate",
        "record games between agents as tables",
        "megaland_experiments.records.simulate_options",
        "analysis",
        ("rich", "polars", "filelock"),
    ),
    "benchmark": Command(
        "megaland_experiments.speed.benchmark", "measure how fast the engine and the environments are"
    ),
    "export": Command(
        "megaland_experiments.training.export",
        "write a trained policy as an ONNX model",
        "megaland_experiments.training.export_options",
        "onnx",
        ("onnx", "torch", "safetensors"),
    ),
    "play": Command("megaland_experiments.play.play", "play against agents in the terminal"),
    "watch": Command("megaland_experiments.play.watch", "step through a recorded game"),
    "agents": Command("megaland_experiments.agent_list", "list the agents that can be named, with their parameters"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand.

    Returns:
        0 if all went well, 2 for what the user can put right (one line says what), 1 for an agent that failed, 130 if
        interrupted. As usual with argparse, ``--help`` and arguments that it does not know leave by ``SystemExit``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    # An agent may stand in a file here. Only who types its name gets this folder: it may hold what somebody else has
    # sent, and a module or an announced agent there would be found in the place of a package that is not installed.
    if any(names_class(word) for word in words) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    named = next((word for word in words if not word.startswith("-")), "")
    show_traceback = "--traceback" in words
    try:
        arguments = _arguments(words, named)
        command = COMMANDS[named]
        for library in command.libraries:  # before anything is played or made
            if not is_installed(library):
                raise ModuleNotFoundError(name=library)
        status: int = import_module(command.module).run(arguments)
        return status
    except KeyboardInterrupt:
        say("interrupted", error=True)
        return INTERRUPTED
    except AgentError as error:
        if error.__cause__ is not None:  # where the agent failed is what its author has to know
            say("".join(traceback.format_exception(error.__cause__)).rstrip("\n"), error=True)
        say(f"megaland: error: {error}", error=True)
        return FAILURE
    except (ValueError, OSError, ModuleNotFoundError) as error:
        if show_traceback:
            raise
        say(f"megaland: error: {_message(error, named)}", error=True)
        return USAGE_ERROR


def _message(error: Exception, named: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        extra = COMMANDS[named].extra if named in COMMANDS else None
        return str(missing(error, extra, f"megaland {named}"))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _arguments(words: Sequence[str], named: str) -> argparse.Namespace:
    """Parse the command line; only the subcommand that was named has its options, since they cost an import."""
    parser = Parser(prog="megaland", description="The board game Megaland for reinforcement learning.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {versions()['megaland']}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    if named and named not in COMMANDS:
        guess = did_you_mean(named, COMMANDS)
        parser.error(f"there is no command {named!r}{guess}; there are {', '.join(COMMANDS)}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    chosen = parser
    for name, command in COMMANDS.items():
        sentence = f"{command.help[0].upper()}{command.help[1:]}."
        subparser = commands.add_parser(name, help=command.help, description=sentence)
        if name == named:
            import_module(command.options or command.module).add_arguments(subparser)
            chosen = subparser
    arguments, unknown = parser.parse_known_args(chosen.joined(words))
    if unknown:
        options = [option for action in chosen._actions for option in action.option_strings]
        word = next((word for word in unknown if word.startswith("-")), unknown[0])
        guess = did_you_mean(word.partition("=")[0], options)
        what = "option" if word.startswith("-") else "argument"
        chosen.error(f"there is no {what} {word!r}{guess}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
