"""``megaland warm-up``: compile the engine for this machine, so that games are played many times as fast.

The code is kept in a folder of the user's cache directory, and every later program loads it from there. It has to be
compiled again after an update of this package, of Python, NumPy or Numba, and on another processor. Code that has not
been used for long is removed.
"""

from __future__ import annotations

import argparse
from time import perf_counter

from megaland_agents.compiled import program as agents
from megaland_env.engine.compiled import programs as games
from megaland_env.engine.compiled.cache import folder, remove_old_folders
from megaland_experiments.shared.output import say

PROGRAMS = (*games.PROGRAMS, *agents.PROGRAMS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command: there are none."""


def run(arguments: argparse.Namespace) -> int:
    """Compile what is not compiled yet."""
    for program in PROGRAMS:
        ready = program.is_cached()
        began = perf_counter()
        program.load()
        took = f"loaded in {perf_counter() - began:.1f} s" if ready else f"compiled in {perf_counter() - began:.0f} s"
        say(f"{program.what}: {took}")
    remove_old_folders(PROGRAMS)
    say(f"The code is in {folder().parent}")
    return 0
