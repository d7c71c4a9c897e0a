"""Agents: the protocol, the random agent, and agents by name.

An agent is anything with ``act(decisions) -> (M,) actions``. A name finds it through the entry-point group
``megaland.agents``, where any installed package may announce its own; ``package.module:Class`` finds one that is not
announced. Parameters follow after a colon: ``threshold:risk=0.3``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from megaland_env import bits
from megaland_env.decisions import Decisions

ENTRY_POINT_GROUP = "megaland.agents"

_CLASS = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Z_]\w*)(?::(?P<parameters>.*))?")


@runtime_checkable
class Agent(Protocol):
    """Whatever decides."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        """(M,) a legal action for each row."""
        ...


class RandomAgent:
    """Any legal action, all alike.

    Args:
        seed: another seed is another player with other luck.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        """(M,) actions."""
        return random_legal(decisions, self.seed)


def random_legal(decisions: Decisions, seed: int = 0) -> npt.NDArray[np.uint8]:
    """(M,) a legal action for each row, uniformly, from the luck of the deciding seat."""
    legal = decisions.legal_bits
    luck = decisions.random(1, seed=seed)[:, 0] * np.bitwise_count(legal)
    return bits.nth_member(legal, luck.astype(np.uint64))


def agent_names() -> list[str]:
    """The names of all announced agents."""
    return sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def make_agent(spec: str | Agent) -> Agent:
    """An agent from its description, or the agent itself.

    Args:
        spec: ``"threshold"``, ``"threshold:risk=0.3,heart_rounds=4"``, ``"package.module:Class"`` or
            ``"package.module:Class:risk=0.3"``. Parameter values are Python literals; other words are strings.

    Raises:
        ValueError: there is no such agent, or it has no such parameter.
    """
    if not isinstance(spec, str):
        if inspect.isclass(spec) or not isinstance(spec, Agent):
            raise ValueError(f"an agent is a name or has a method act(decisions); {spec!r} is neither")
        return spec
    match = _CLASS.fullmatch(spec)
    if match:
        factory = _import_class(match["module"], match["name"], spec)
        parameters = match["parameters"] or ""
    else:
        name, _, parameters = spec.partition(":")
        factory = _announced(name)
    arguments = _parameters(parameters, spec)
    try:
        inspect.signature(factory).bind(**arguments)
    except TypeError as error:
        known = ", ".join(inspect.signature(factory).parameters) or "none"
        raise ValueError(f"agent {spec!r}: {error}; its parameters are {known}") from None
    agent = factory(**arguments)
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {spec!r} has no method act(decisions)")
    return agent


def _announced(name: str) -> Any:
    points = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not points:
        raise ValueError(f"there is no agent {name!r}; there are {', '.join(agent_names())}, or package.module:Class")
    return next(iter(points)).load()


def _import_class(module: str, name: str, spec: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {spec!r} cannot be imported: {error}") from error


def _parameters(text: str, spec: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise ValueError(f"agent {spec!r}: {part!r} is not of the form parameter=value")
        try:
            arguments[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            arguments[key.strip()] = value.strip()
    return arguments
