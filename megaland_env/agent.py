"""Agents: the protocol, the random agent, and agents by name.

An agent is anything with ``act(decisions) -> (M,) actions``. A name finds it through the entry-point group
``megaland.agents``, where any installed package may announce its own; ``package.module:Class`` finds one that is not
announced. Parameters follow after a colon: ``threshold:risk=0.3``.

Importing ``package.module`` executes it. A description that comes from a file is therefore made with
``announced_only``, which allows installed agents that are announced and nothing else.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from megaland_env.decisions import Decisions
from megaland_env.engine import bits

ENTRY_POINT_GROUP = "megaland.agents"

MOST_CHARACTERS = 4096
"""Longest description of an agent; the path of a policy fits."""
MOST_NESTED = 8
"""Most agents inside each other, as in ``explorer:policy=lookahead:policy=planner`` (3)."""

_CLASS = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Z_]\w*)(?::(?P<parameters>.*))?", re.DOTALL)
_RENAMED = {"engine": "builder"}
"""Former names of agents; an error says the present one."""

_NETWORK_PATH = re.compile(r"[\\/]{2}")
"""How the name of a file on another computer begins on Windows; opening one sends it the user's credentials."""

_announced_only: ContextVar[bool] = ContextVar("announced_only", default=False)
_depth: ContextVar[int] = ContextVar("depth", default=0)


@runtime_checkable
class Agent(Protocol):
    """Whatever decides."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        """(M,) a legal action for each row."""
        ...


class RandomAgent:
    """Any legal action, each with the same probability.

    Args:
        seed: an integer; players with different seeds choose independently.

    Raises:
        ValueError: ``seed`` is not an integer.
    """

    def __init__(self, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ValueError(f"seed is {seed!r}; it must be an integer")
        self.seed = seed

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        """(M,) actions."""
        return random_legal(decisions, self.seed)


def random_legal(decisions: Decisions, seed: int = 0) -> npt.NDArray[np.uint8]:
    """(M,) a legal action for each row, uniformly, from the randomness of the deciding seat."""
    legal = decisions.legal_bits
    luck = decisions.random(1, seed=seed)[:, 0] * np.bitwise_count(legal)
    return bits.nth_member(legal, luck.astype(np.uint64))


def agent_names() -> list[str]:
    """The names of all announced agents."""
    return sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def make_agent(spec: str | Agent) -> Agent:
    """An agent from its description, or the agent itself.

    A description that nobody typed, because it stands in a file, belongs in a ``with announced_only():``.

    Args:
        spec: ``"threshold"``, ``"threshold:risk=0.3,heart_rounds=4"``, ``"package.module:Class"`` or
            ``"package.module:Class:risk=0.3"``. Parameter values are Python literals; other words are strings. The
            module is imported, which executes it; the class must have a method ``act``.

    Raises:
        ValueError: there is no such agent, it has no such parameter, or it may not be named here (``announced_only``).
    """
    if not isinstance(spec, str):
        if inspect.isclass(spec) or not isinstance(spec, Agent):
            raise ValueError(f"an agent is a name or has a method act(decisions); {spec!r} is neither")
        return spec
    if len(spec) > MOST_CHARACTERS:
        raise ValueError(f"the name of an agent has {len(spec):,} characters; it may have {MOST_CHARACTERS:,}")
    if _announced_only.get():
        check_announced(spec)
    match = _CLASS.fullmatch(spec)
    if match:
        factory = _import_class(match["module"], match["name"], spec)
        parameters = match["parameters"] or ""
    else:
        name, _, parameters = spec.partition(":")
        factory = _announced(name)
    arguments = _parameters(parameters, spec)
    _check_parameters(factory, arguments, spec)
    depth = _depth.get() + 1
    if depth > MOST_NESTED:
        raise ValueError(f"agent {spec!r}: more than {MOST_NESTED} agents are inside each other")
    token = _depth.set(depth)
    try:
        agent = factory(**arguments)
    finally:
        _depth.reset(token)
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {spec!r} has no method act(decisions)")
    return agent


# ------------------------------------------------------------------------------------------- descriptions from files


@contextmanager
def announced_only() -> Iterator[None]:
    """Allow announced agents alone, in ``make_agent`` and in whatever agents it makes, while the block runs.

    For descriptions that come from a file. Agents that take others by name, such as ``explorer:policy=planner``, call
    ``make_agent`` themselves; the block reaches these calls too. It cannot be left from inside. ::

        with announced_only():
            agent = make_agent(json_object["agent"])
    """
    token = _announced_only.set(True)
    try:
        yield
    finally:
        _announced_only.reset(token)


def check_announced(spec: str) -> None:
    """Check that a description names announced agents alone, without importing anything.

    The whole text is checked, the values of parameters included, at any depth: an agent may keep the name of another
    and make it much later. A value may be a path, as in ``ppo:path=runs/ppo-1/policy``: a policy is data, its files are
    read only if they are regular and of sane size, and nothing in them is executed. A path on another computer
    (``\\\\host\\share``) is refused, since merely opening one sends the user's credentials there on Windows.

    Args:
        spec: the description, as for ``make_agent``.

    Raises:
        ValueError: it names ``package.module:Class``, an agent that is not announced, or a path on another computer.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an agent in a file is a name; {spec!r} is none")
    if len(spec) > MOST_CHARACTERS:
        raise ValueError(f"the name of an agent has {len(spec):,} characters; it may have {MOST_CHARACTERS:,}")
    _check_value(spec, spec, 0)
    name = spec.partition(":")[0]
    if not entry_points(group=ENTRY_POINT_GROUP, name=name):
        raise ValueError(_unknown(name))


def _check_value(value: Any, spec: str, depth: int) -> None:
    """Refuse what would be a class, or a path on another computer, if an agent took ``value`` for a description."""
    if depth > 2 * MOST_NESTED:
        raise ValueError(f"agent {spec!r}: more than {MOST_NESTED} agents are inside each other")
    if isinstance(value, str):
        # Blanks are no part of a value, and an agent might remove those of a quoted one.
        text = value.strip()
        if _CLASS.fullmatch(text):
            raise ValueError(
                f"agent {spec!r} comes from a file, and a file may only name announced agents "
                f"({', '.join(agent_names())}): {text!r} would execute code. Who trusts it types its name"
            )
        if _NETWORK_PATH.match(text):
            raise ValueError(f"agent {spec!r} comes from a file, and may not name a path on another computer: {text!r}")
        for part in _split(text.partition(":")[2]):
            _check_value(_value(part.partition("=")[2]), spec, depth + 1)
    elif isinstance(value, Mapping):
        _check_value([*value, *value.values()], spec, depth)
    elif isinstance(value, bytes):
        _check_value(value.decode("latin-1"), spec, depth + 1)
    elif isinstance(value, Iterable):
        for each in value:
            _check_value(each, spec, depth + 1)


# ------------------------------------------------------------------------------------------------------ descriptions


def names_class(text: str) -> bool:
    """Whether ``package.module:Class`` stands anywhere in a description, or in a list of them."""
    return re.search(r"[A-Za-z_][\w.]*:[A-Z_]", text) is not None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``" (did you mean threshold?)"`` if a word resembles a known one, otherwise nothing."""
    close = difflib.get_close_matches(word[:100], list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _announced(name: str) -> Any:
    points = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not points:
        raise ValueError(_unknown(name))
    return next(iter(points)).load()


def _unknown(name: str) -> str:
    names = agent_names()
    hint = f" ({name} is now called {_RENAMED[name]})" if name in _RENAMED else did_you_mean(name, names)
    return f"there is no agent {name!r}{hint}; there are {', '.join(names)}, or package.module:Class"


def _import_class(module: str, name: str, spec: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {spec!r} cannot be imported: {error}") from error
    # Looked at before it is called: anything else might do something with the parameters.
    if not inspect.isclass(found) or not callable(getattr(found, "act", None)):
        raise ValueError(f"agent {spec!r}: {module}:{name} is not a class with a method act(decisions)")
    return found


def _check_parameters(factory: Any, arguments: Mapping[str, Any], spec: str) -> None:
    signature = inspect.signature(factory)
    try:
        signature.bind(**arguments)
    except TypeError as error:
        known = list(signature.parameters)
        unknown = [name for name in arguments if name not in known]
        guess = did_you_mean(unknown[0], known) if unknown else ""
        raise ValueError(f"agent {spec!r}: {error}{guess}; its parameters are {', '.join(known) or 'none'}") from None


def _split(text: str) -> list[str]:
    return [piece for piece in (piece.strip() for piece in text.split(",")) if piece]


def _value(text: str) -> Any:
    """The value of a parameter: a Python literal, otherwise the text itself."""
    text = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the syntax of a text that nobody meant as Python
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _parameters(text: str, spec: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for part in _split(text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise ValueError(f"agent {spec!r}: {part!r} is not of the form parameter=value")
        arguments[key] = _value(value)
    return arguments
