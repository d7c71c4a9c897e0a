"""Decisions of agents again, for one decision at a time, compiled by Numba (the extra ``fast``).

The functions have the names of ``heuristics/`` and ``planning/``, and choose the same actions: they do the same
operations on numbers of the same types, in the same order. ``program.py`` is the way in.
"""
