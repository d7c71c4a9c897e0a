"""Agents: the protocol, the random agent, and agents by name.

An agent is any object with ``act(decisions) -> (M,) actions``. It is found by its name in the entry-point group
``megaland.agents``, where any installed package may announce agents; ``package.module:Class`` finds one that is not
announced. Parameters follow a colon: ``threshold:risk=0.3``.

Importing ``package.module`` executes it. For a description from a file, call ``make_agent`` within ``announced_only``,
which allows announced agents and nothing else.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from megaland_env.checks import check_seed
from megaland_env.decisions import Decisions
from megaland_env.engine import bits, rng
from megaland_env.game import MegalandGames

ENTRY_POINT_GROUP = "megaland.agents"

MOST_CHARACTERS = 4096
"""Longest description of an agent; the path of a policy fits."""
MOST_NESTED = 8
"""Largest depth of agents inside each other, as in ``explorer:policy=lookahead:policy=planner`` (3)."""

_CLASS = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Z_]\w*)(?::(?P<parameters>.*))?", re.DOTALL)
_RENAMED = {"engine": "builder"}
"""Former names of agents; an error says the present one."""

_NETWORK_PATH = re.compile(r"[\\/]{2}")
"""Start of a Windows path on another computer; opening such a path sends the user's credentials there."""

_ALIKE = 0.7
"""How much a word must resemble another to be suggested (``difflib``): ``seed`` is not taken for ``seconds``."""
_TELLING = 3
"""Number of characters from which the beginning of a word is suggested."""

_announced_only: ContextVar[bool] = ContextVar("announced_only", default=False)
_depth: ContextVar[int] = ContextVar("depth", default=0)


@runtime_checkable
class Agent(Protocol):
    """An object that decides for seats."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        """(M,) a legal action for each row."""
        ...


class RandomAgent:
    """Agent that chooses among the legal actions, each with the same probability.

    Args:
        seed: an integer; agents with different seeds choose independently.

    Raises:
        ValueError: ``seed`` is not an integer.
    """

    def __init__(self, seed: int = 0) -> None:
        check_seed(seed)
        self.seed = seed

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        """(M,) actions."""
        return random_legal(decisions, self.seed)


def random_legal(decisions: Decisions, seed: int = 0) -> npt.NDArray[np.uint8]:
    """(M,) legal actions, drawn uniformly with the randomness of the deciding seat."""
    engine = decisions._fresh()._compiled
    chosen = engine.choose(decisions.game, decisions.seat, np.uint64(rng.agent_key(seed))) if engine else None
    if chosen is not None:
        return chosen
    legal = decisions.legal_bits
    position = decisions.random(1, seed=seed)[:, 0] * np.bitwise_count(legal)
    return bits.nth_member(legal, position.astype(np.uint64))


def random_actions(games: MegalandGames, seed: int = 0) -> npt.NDArray[Any]:
    """(N, P) actions for ``MegalandGames.step``: those of ``random_legal`` for all pending decisions, in one call.

    Raises:
        ValueError: no game was ever started.
    """
    games._need_games()
    if games._compiled:
        return games._compiled.choose_all(np.uint64(rng.agent_key(seed)))
    decisions = games.decisions()
    return games.scatter(decisions, random_legal(decisions, seed))


def agent_names() -> list[str]:
    """Return the names of all announced agents, sorted."""
    return sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def make_agent(spec: str | Agent) -> Agent:
    """Make an agent from its description; an agent is returned as it is.

    For a description that comes from a file, call this within ``with announced_only():``.

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
    """Allow only announced agents in ``make_agent`` while the block runs.

    For descriptions that come from a file. Agents that take others by name, such as ``explorer:policy=planner``, call
    ``make_agent`` themselves; the restriction holds for these calls too, and nothing inside the block lifts it. ::

        with announced_only():
            agent = make_agent(json_object["agent"])
    """
    token = _announced_only.set(True)
    try:
        yield
    finally:
        _announced_only.reset(token)


def check_announced(spec: str) -> None:
    """Check that a description names only announced agents, without importing anything.

    The whole text is checked, with the values of parameters at any depth: an agent may store the name of another and
    make it much later. A value may be a path, as in ``ppo:path=runs/ppo-1/policy``: a policy is data, its files are
    read only if they are regular and not too large, and nothing in them is executed. A path on another computer
    (``\\\\host\\share``) is refused, since on Windows opening one sends the user's credentials there.

    Args:
        spec: the description, as for ``make_agent``.

    Raises:
        ValueError: it names ``package.module:Class``, an agent that is not announced, or a path on another computer.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an agent in a file must be a name, not {spec!r}")
    if len(spec) > MOST_CHARACTERS:
        raise ValueError(f"the name of an agent has {len(spec):,} characters; it may have {MOST_CHARACTERS:,}")
    _check_value(spec, spec, 0)
    name = spec.partition(":")[0]
    if not entry_points(group=ENTRY_POINT_GROUP, name=name):
        raise ValueError(_unknown(name))


def _check_value(value: Any, spec: str, depth: int) -> None:
    """Refuse a value that, taken as a description, would name a class or a path on another computer."""
    if depth > 2 * MOST_NESTED:
        raise ValueError(f"agent {spec!r}: more than {MOST_NESTED} agents are inside each other")
    if isinstance(value, str):
        # Surrounding blanks are not part of a value, and an agent might strip those inside quotes.
        text = value.strip()
        if _CLASS.fullmatch(text):
            raise ValueError(
                f"agent {spec!r} comes from a file, and a file may only name announced agents "
                f"({', '.join(agent_names())}): {text!r} would execute code. If you trust it, type its name yourself"
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
    """Whether a description, or a list of descriptions, names a ``package.module:Class``."""
    return re.search(r"[A-Za-z_][\w.]*:[A-Z_]", text) is not None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``" (did you mean threshold?)"`` if a word resembles a known one, otherwise nothing."""
    names = {name.lstrip("-"): name for name in known}  # the dashes of options make all of them alike
    bare = word[:100].lstrip("-")
    begin = [name for name in names if len(bare) >= _TELLING and name.startswith(bare)]
    close = begin or difflib.get_close_matches(bare, list(names), n=1, cutoff=_ALIKE)
    return f" (did you mean {names[close[0]]}?)" if close else ""


def _announced(name: str) -> Any:
    points = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not points:
        raise ValueError(_unknown(name))
    return next(iter(points)).load()


def _unknown(name: str) -> str:
    names = agent_names()
    for folder in (name, os.path.join(name, "policy")):
        if os.path.isfile(os.path.join(folder, "policy.json")):
            return f"there is no agent {name!r}, but a policy of that name: its agent is ppo:path={folder}"
    hint = f" ({name} is now called {_RENAMED[name]})" if name in _RENAMED else did_you_mean(name, names)
    return (
        f"there is no agent {name!r}{hint}; there are {', '.join(names)}, or package.module:Class "
        "(after adding an entry point, install its package again)"
    )


def _import_class(module: str, name: str, spec: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {spec!r} cannot be imported: {error}") from error
    # Checked before it is called: another callable might do anything with the parameters.
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
            warnings.simplefilter("ignore")  # about the syntax of text that is not meant as Python
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
