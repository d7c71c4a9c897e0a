"""``megaland agents``: the available agents, their parameters, and the libraries they need.

These facts are read from the source code: importing the agents would need all of their libraries.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from megaland_env.agent import ENTRY_POINT_GROUP
from megaland_env.extras import EXTRA_OF, install_command, is_installed
from megaland_env.outside_text import printable
from megaland_experiments.shared.output import WIDTH_OF_FILES, say

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class AgentFacts:
    """Facts about an agent, from its source code.

    Attributes:
        summary: the first line of its documentation.
        parameters: each with its default, such as ``"risk=0.3"``.
        missing: the libraries that its module imports and that are not installed.
    """

    summary: str = ""
    parameters: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: ``megaland agents`` takes none."""


def run(arguments: argparse.Namespace) -> int:
    """List the available agents."""
    points = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    width = max(map(len, points), default=0)
    columns = min(WIDTH_OF_FILES, shutil.get_terminal_size((WIDTH_OF_FILES, 24)).columns)
    for name, target in sorted(points.items()):
        facts = agent_facts(target)
        lines = [facts.summary]
        if facts.parameters:
            lines.append(f"parameters: {', '.join(facts.parameters)}")
        if facts.missing:
            extras = dict.fromkeys(install_command(EXTRA_OF[library]) for library in facts.missing)
            lines.append(f"needs {' and '.join(facts.missing)}: {'; '.join(extras)}")
        first = f"{printable(name):{width}}  "
        for line in lines:
            say(textwrap.fill(printable(line), columns, initial_indent=first, subsequent_indent=" " * len(first)))
            first = " " * len(first)
    advice = "Parameters follow a colon: threshold:risk=0.3,seed=1. Name an agent of your own as package.module:Class."
    say(f"\n{textwrap.fill(advice, columns)}")
    return 0


def agent_facts(target: str) -> AgentFacts:
    """Read the facts about ``"package.module:Class"``; facts that cannot be read are left empty."""
    module, _, name = target.partition(":")
    source = _source(module)
    if source is None:
        return AgentFacts()
    for node in source.body:
        if isinstance(node, (ast.ClassDef, _Function)) and node.name == name:
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            return AgentFacts(summary, tuple(_parameters(node, _constants(source))), tuple(_missing(source)))
    return AgentFacts()


def _source(module: str) -> ast.Module | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # of the package that it is in
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    try:
        return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def _constants(source: ast.Module) -> Mapping[str, str]:
    """The constants of a module that are written as literals."""
    return {
        target.id: ast.unparse(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.UnaryOp))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _parameters(node: ast.ClassDef | _Function, constants: Mapping[str, str]) -> Iterator[str]:
    function: ast.stmt | None = node
    if isinstance(node, ast.ClassDef):
        function = next((each for each in node.body if isinstance(each, _Function) and each.name == "__init__"), None)
    if not isinstance(function, _Function):
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    pairs = [
        (each, arguments.defaults[k - first_default] if k >= first_default else None)
        for k, each in enumerate(positional)
    ]
    pairs += list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    for argument, default in pairs[isinstance(node, ast.ClassDef) :]:  # without self
        if default is None:
            yield argument.arg
        else:
            text = ast.unparse(default)
            yield f"{argument.arg}={constants.get(text, text).strip(chr(39))}"


def _missing(source: ast.Module) -> Iterator[str]:
    """The libraries of extras that a module imports and that are not installed, each once."""
    imported: dict[str, None] = {}
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            imported.update((alias.name.partition(".")[0], None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported[node.module.partition(".")[0]] = None
    for library in imported:
        if library in EXTRA_OF and not is_installed(library):
            yield library
