"""The programs that Numba compiles (cache.py says what a program is)."""

from __future__ import annotations

from megaland_env.engine.compiled.cache import Program

_HERE = "megaland_env.engine.compiled"

RULES = Program("rules", f"{_HERE}.kernel", "play", "the rules")
PENDING = Program("pending", f"{_HERE}.pending", "write_pending", "the list of decisions")
MASKS = Program("masks", f"{_HERE}.masks", "write_masks", "the masks of legal actions")
CHOICES = Program("choices", f"{_HERE}.choices", "choose", "the choice among legal actions")
OBSERVATIONS = Program("observations", "megaland_env.observation.compiled.kernel", "write", "the observations")

PROGRAMS = (RULES, PENDING, MASKS, CHOICES, OBSERVATIONS)
"""All that a game, its decisions and its observations need."""
