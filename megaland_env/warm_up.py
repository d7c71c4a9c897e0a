"""``megaland warm-up``: the programs of this package that Numba compiles."""

from __future__ import annotations

from megaland_env.engine.compiled import programs
from megaland_env.engine.compiled.cache import Program

PROGRAMS: tuple[Program, ...] = programs.PROGRAMS
