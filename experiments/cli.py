"""The command ``megaland``: train, evaluate, probe, benchmark and more, and the list of agents."""

from __future__ import annotations

import argparse
import ast
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from experiments.matches import AgentError
from experiments.output import say, screen
from megaland_env.agent import ENTRY_POINT_GROUP, names_class
from megaland_env.outside_text import printable_lines

USAGE_ERROR = 2  # as argparse has it
FAILURE = 1
INTERRUPTED = 130  # as a shell has it: 128 + SIGINT

_EXTRAS = {"polars": "analysis", "cmaes": "tune", "onnx": "onnx"}
"""What to install for a package, where that is not the extra ``train``."""


class Command(NamedTuple):
    """A subcommand: a module with ``add_arguments(parser)`` and ``run(arguments) -> int``, imported only when named."""

    module: str
    help: str


COMMANDS = {
    "train": Command("experiments.train", "train a PPO agent"),
    "evaluate": Command("experiments.evaluate", "measure how strong an agent is against others"),
    "tournament": Command("experiments.tournament", "let agents play each other, and rate them"),
    "report": Command("experiments.report", "make a page of the tables and pictures of recorded games or a tournament"),
    "probe": Command("experiments.probe", "measure what decisions an agent makes"),
    "simulate": Command("experiments.simulate", "record games between agents as tables"),
    "benchmark": Command("experiments.benchmark", "measure how fast the engine and the environments are"),
    "export": Command("experiments.export", "write a trained policy as an ONNX model"),
    "play": Command("experiments.play", "play against agents in the terminal"),
    "watch": Command("experiments.watch", "step through a recorded game"),
    "agents": Command("experiments.cli", "list the agents that can be named"),
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
    named = next((word for word in words if word in COMMANDS), None)
    show_traceback = "--traceback" in words
    try:
        arguments = _parser(named).parse_args(words)
        status: int = arguments.run(arguments)
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
        say(f"megaland: error: {_message(error)}", error=True)
        return USAGE_ERROR


def _message(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get(error.name or "", "train")
        return f"this needs {error.name}, which is not installed; pip install -e '.[{extra}]' brings all that is needed"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """A parser whose messages may quote anything: also words that a shell has made of the names of files."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            super()._print_message(printable_lines(message), file)


def _parser(named: str | None) -> argparse.ArgumentParser:
    """The parser; only the subcommand that was named has its arguments, since they cost the import of its module."""
    parser = _Parser(prog="megaland", description="The board game Megaland for reinforcement learning.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('megaland')}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        sentence = f"{command.help[0].upper()}{command.help[1:]}."
        subparser = commands.add_parser(name, help=command.help, description=sentence)
        if name == named:
            module: ModuleType = import_module(command.module)
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    return parser


# ------------------------------------------------------------------------------------------------------ megaland agents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``megaland agents`` takes none."""


def run(arguments: argparse.Namespace) -> int:
    """List the agents that are announced, each with the first line of its documentation."""
    from rich.table import Table

    table = Table("agent", "what it does", box=None, pad_edge=False)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        table.add_row(point.name, first_line_of_doc(point.value))
    console = screen()
    console.print(table)
    console.print("\nParameters follow a colon: threshold:risk=0.3. An agent of your own is package.module:Class.")
    return 0


def first_line_of_doc(target: str) -> str:
    """The first line of the docstring of ``"package.module:Class"``.

    It is read from the source rather than from the class, so that a list of agents does not import all that they need.
    """
    module, _, name = target.partition(":")
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # of the package that it is in
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


if __name__ == "__main__":
    sys.exit(main())
