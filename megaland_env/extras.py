"""Optional dependencies: the extra that installs a missing library, and the command for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

EXTRA_OF = {
    "numba": "fast",
    "platformdirs": "fast",
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
"""The smallest extra that installs each library."""

BRINGS = {
    "fast": {"filelock"},
    "envs": {"render"},
    "analysis": {"experiments"},
    "tune": {"experiments"},
    "train": {"experiments", "gymnasium"},
    "onnx": {"train", "experiments", "gymnasium"},
}
"""What else an extra installs: all of another extra, or a library of one."""

_ROOT = Path(__file__).parent.parent


def extra_for(library: str, extra: str | None = None) -> str | None:
    """Return the smallest extra that installs a library, or ``extra`` if that installs it too.

    Args:
        library: the name of a module, such as ``"torch.nn"``.
        extra: an extra that is needed in any case.

    Returns:
        The extra; ``None`` if no extra has the library, such as one that only a user's own agent needs.
    """
    top = library.partition(".")[0]
    smallest = EXTRA_OF.get(top)
    if smallest is None or extra is None:
        return smallest
    return extra if {smallest, top} & {extra, *BRINGS.get(extra, ())} else smallest


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for a clone of the repository or an installed package."""
    if not (_ROOT / "pyproject.toml").is_file():
        return f'pip install "megaland[{extra}]"'
    here = os.path.samefile(_ROOT, os.curdir)
    return f'pip install -e "{"." if here else _ROOT}[{extra}]"'


def is_installed(library: str) -> bool:
    """Whether a library can be found; it is not imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # sys.modules has None or something else in its place
        return False


def missing(error: ModuleNotFoundError, extra: str | None = None, what: str = "this") -> ModuleNotFoundError:
    """Return an import error whose message says what to install.

    Args:
        error: the error of the import.
        extra: an extra that is needed in any case.
        what: what needs the library, for the message.

    Returns:
        The new error; ``error`` itself if no extra has the library.
    """
    library = (error.name or "").partition(".")[0]
    wanted = extra_for(library, extra)
    if wanted is None:
        return error
    message = f"{what} needs {library}, which is not installed: {install_command(wanted)}"
    return ModuleNotFoundError(message, name=error.name, path=error.path)


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Name the extra to install if an import in the block fails.

    Args:
        what: what the imports are for, for the message.
        extra: the extra that installs all of them.

    Raises:
        ModuleNotFoundError: a library is not installed; the message has the command to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(error, extra, what) from None
