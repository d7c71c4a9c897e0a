"""Which extra of this package brings a library that is not installed, and how to install it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

EXTRA_OF = {
    "PIL": "render",
    "gymnasium": "envs",
    "pettingzoo": "envs",
    "rich": "experiments",
    "openskill": "experiments",
    "matplotlib": "experiments",
    "filelock": "experiments",
    "polars": "analysis",
    "statsmodels": "analysis",
    "cmaes": "tune",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "torch": "train",
    "safetensors": "train",
    "tensorboard": "train",
    "onnx": "onnx",
}
"""The smallest extra that brings each library."""

BRINGS = {
    "envs": {"render"},
    "analysis": {"experiments"},
    "tune": {"experiments"},
    "train": {"experiments", "gymnasium"},
    "onnx": {"train", "experiments", "gymnasium"},
}
"""What else an extra brings: the whole of another extra, or a library of one."""

_ROOT = Path(__file__).parent.parent


def extra_for(library: str, extra: str | None = None) -> str | None:
    """Return the smallest extra that brings a library, or ``extra`` if that brings it too.

    Args:
        library: the name of a module, such as ``"torch.nn"``.
        extra: what somebody needs anyway, for other reasons.

    Returns:
        The extra; ``None`` if the library is in none, as one that only the user's own agent needs.
    """
    top = library.partition(".")[0]
    smallest = EXTRA_OF.get(top)
    if smallest is None or extra is None:
        return smallest
    return extra if {smallest, top} & {extra, *BRINGS.get(extra, ())} else smallest


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for a clone or for an installed package."""
    if not (_ROOT / "pyproject.toml").is_file():
        return f'pip install "megaland[{extra}]"'
    here = os.path.samefile(_ROOT, os.curdir)
    return f'pip install -e "{"." if here else _ROOT}[{extra}]"'


def is_installed(library: str) -> bool:
    """Whether a library can be found; it is not imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # something else, or None, is in its place
        return False


def missing(error: ModuleNotFoundError, extra: str | None = None, what: str = "this") -> ModuleNotFoundError:
    """Return an error that says what to install in the place of one that only says what is missing.

    Args:
        error: of an import.
        extra: what is needed anyway.
        what: what needs the library.
    """
    library = (error.name or "").partition(".")[0]
    wanted = extra_for(library, extra)
    if wanted is None:
        return error
    message = f"{what} needs {library}, which is not installed: {install_command(wanted)}"
    return ModuleNotFoundError(message, name=error.name, path=error.path)


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Say in which extra a library is, if an import in the block does not find it.

    Args:
        what: what the imports are for.
        extra: brings all of them.

    Raises:
        ModuleNotFoundError: a library is not installed; the message has the command to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(error, extra, what) from None
