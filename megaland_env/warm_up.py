"""``megaland warm-up``: the programs of this package that Numba compiles."""

from __future__ import annotations

from megaland_env.engine.compiled.cache import Program
from megaland_env.engine.compiled.engine import RULES

PROGRAMS: tuple[Program, ...] = (RULES,)
