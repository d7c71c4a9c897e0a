"""Which engine plays: the batched NumPy one, or the compiled one."""

from __future__ import annotations

import os

from megaland_env.engine.compiled.cache import suggest_warm_up
from megaland_env.engine.compiled.programs import PROGRAMS
from megaland_env.extras import is_installed

ENGINES = ("auto", "numpy", "compiled")
VARIABLE = "MEGALAND_ENGINE"


def plays_compiled(engine: str) -> bool:
    """Whether the compiled engine plays.

    Args:
        engine: ``"numpy"`` or ``"compiled"``; or ``"auto"``, for what the environment variable ``MEGALAND_ENGINE``
            says. If that is not set or is ``auto`` too, the compiled engine plays where Numba is installed and its code
            is in the cache. If only the latter is missing, a line on stderr says once how to compile it.

    Raises:
        ValueError: there is no such engine.
    """
    engine = named(engine)
    if engine != "auto":
        return engine == "compiled"
    if not is_installed("numba"):
        return False
    if all(program.is_cached() for program in PROGRAMS):
        return True
    suggest_warm_up()
    return False


def named(engine: str) -> str:
    """The engine that is asked for by name: by the argument, or if that is ``"auto"``, by ``MEGALAND_ENGINE``.

    Returns:
        ``"numpy"``, ``"compiled"``, or ``"auto"`` if neither names one.

    Raises:
        ValueError: there is no such engine.
    """
    check_engine(engine)
    if engine == "auto":
        engine = os.environ.get(VARIABLE) or "auto"
        if engine not in ENGINES:
            raise ValueError(f"the environment variable {VARIABLE} is {engine!r}; it must be one of {ENGINES}")
    return engine


def check_engine(engine: str) -> None:
    """Check the name of an engine.

    Raises:
        ValueError: there is no such engine.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it must be one of {ENGINES}")
