"""Where compiled code is kept, so that a machine compiles it once.

A ``Program`` is a function that Python calls, together with all that it calls. Its machine code is kept in a folder of
the user's cache directory, which nobody else may write to, since it holds code. The name of the folder is a hash of
everything that the code depends on: the source files, the versions of Python, Numba and NumPy, and the processor. So
code that no longer fits is never loaded. Numba's own cache would not notice a change in another file.

This module imports Numba only when code is compiled or loaded.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from megaland_env.extras import is_installed, needs

_PACKAGE = Path(__file__).parents[2]
_SOURCES = ("*.py", "engine/**/*.py", "observation/**/*.py")
_FOLDERS_KEPT = 8  # of other versions, the latest


class CacheError(OSError):
    """The folder for compiled code cannot be used; the message says why."""


# Hashed by identity: to hash the names takes as long as a call of a small function.
@dataclass(frozen=True, eq=False)
class Program:
    """A function that Python calls, and that is compiled with all that it calls.

    Attributes:
        name: of its file in the folder.
        module: the module of the function; it also has the ``SIGNATURE`` for which the function is compiled.
        function: the name of the function.
        what: what the function does, for messages, such as ``"the rules"``.
        packages: the names of other packages that the code depends on.
        calls: other programs whose functions it calls.
    """

    name: str
    module: str
    function: str
    what: str
    packages: tuple[str, ...] = ()
    calls: tuple[Program, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its code is kept."""
        return folder(self.packages)

    def is_cached(self) -> bool:
        """Whether Numba is installed and the code is in the cache, or this process has loaded it."""
        return self in _loaded or (is_installed("numba") and self._stamp().is_file())

    def load(self) -> Callable[..., Any]:
        """The function, compiled; from the cache if it is there.

        Raises:
            ModuleNotFoundError: Numba is not installed; the message says how to install it.
            CacheError: others may write to the folder.
        """
        return _load(self)

    def _stamp(self) -> Path:
        return self.folder / f"{self.name}.ready"


_loaded: set[Program] = set()


@cache
def _load(program: Program) -> Callable[..., Any]:
    with needs('engine="compiled"', "fast"):
        import numba  # noqa: F401
        from filelock import FileLock
    for other in program.calls:
        other.load()
    module = importlib.import_module(program.module)
    dispatcher = getattr(module, program.function)
    if dispatcher.signatures:
        return dispatcher
    with _writable_folder(program.folder) as kept:
        if kept is None:
            _say(f"Compiling {program.what}; {program.folder} is not writable, so every program has to do it again.")
            dispatcher.compile(module.SIGNATURE)
        else:
            dispatcher._cache = _numba_cache(dispatcher.py_func, kept)
            with FileLock(kept / ".lock"):
                if not program._stamp().is_file():
                    _say(f"Compiling {program.what} for this machine, once ...")
                dispatcher.compile(module.SIGNATURE)
                program._stamp().touch()
    dispatcher.disable_compile()
    _loaded.add(program)
    return dispatcher


@cache
def folder(packages: tuple[str, ...] = ()) -> Path:
    """The folder for the code of these sources on this machine; it need not exist.

    Args:
        packages: the names of other packages that the code depends on.

    Raises:
        ModuleNotFoundError: Numba is not installed; the message says how to install it.
    """
    with needs('engine="compiled"', "fast"):
        import llvmlite.binding as llvm
        from platformdirs import user_cache_path
    digest = hashlib.sha256()
    for part in (
        sys.version,
        platform.machine(),
        llvm.get_host_cpu_name(),
        str(sorted(llvm.get_host_cpu_features().items())),
        *(f"{name} {version(name)}" for name in ("numpy", "numba", "llvmlite")),
    ):
        digest.update(part.encode() + b"\0")
    sources = [(_PACKAGE, pattern) for pattern in _SOURCES]
    sources += [(_package(name), "**/*.py") for name in packages]
    for package, pattern in sources:
        for path in sorted(package.glob(pattern)):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return user_cache_path("megaland_env", appauthor=False) / digest.hexdigest()[:24]


def _package(name: str) -> Path:
    """The folder of a package."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@contextmanager
def _writable_folder(path: Path) -> Iterator[Path | None]:
    """The folder, made if need be; ``None`` if it cannot be made.

    Raises:
        CacheError: somebody else may write to it.
    """
    try:
        for made in (path.parent, path):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(made)
        writable = os.access(path, os.W_OK)
    except CacheError:
        raise
    except OSError:
        writable = False
    yield path if writable else None


def _check_private(path: Path) -> None:
    if os.name != "posix":
        return  # elsewhere the folders of a user belong to that user
    status = path.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise CacheError(
            f"{path} holds code that is executed, but somebody else may write to it; remove it, or take the rights away"
            f" with: chmod 700 {path}"
        )


def remove_old_folders(programs: Iterable[Program] = ()) -> None:
    """Remove the folders of other versions, except the latest few.

    Args:
        programs: those whose folders are kept, beside that of the programs of this package.
    """
    here = folder()
    used = {here, *(program.folder for program in programs)}
    others = [path for path in here.parent.glob("*") if path not in used and path.is_dir()]
    for path in sorted(others, key=lambda path: path.stat().st_mtime)[:-_FOLDERS_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def _numba_cache(function: Callable[..., Any], kept: Path) -> Any:
    """Numba's cache of a function, in a folder whose name says what the code depends on."""
    from numba.core import caching

    class Locator(caching._CacheLocator):
        def get_cache_path(self) -> str:
            return str(kept)

        def get_source_stamp(self) -> str:
            return kept.name

        def get_disambiguator(self) -> str:
            return "0"

        @classmethod
        def from_function(cls, function: Callable[..., Any], source: str) -> Locator:
            return cls()

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = (Locator,)

    class FunctionCache(caching.Cache):
        _impl_class = Implementation

    return FunctionCache(function)


def _say(text: str) -> None:
    print(f"megaland_env: {text}", file=sys.stderr, flush=True)


@cache
def suggest_warm_up() -> None:
    """Say once that compiled code would be faster."""
    _say("Numba is installed, but its code is not compiled yet; `megaland warm-up` makes the games faster.")
